// Package cuda drives NVIDIA devices. It exists in programs that are built with the
// tag cuda, which needs a C compiler and nothing of the CUDA toolkit:
//
//	make cuda
//
// or, for other commands, the variables of env.sh:
//
//	eval "$(sh accel/cuda/env.sh)"
//	go test -tags cuda ./accel/cuda/...
//
// Such a program starts on every machine. The driver library is looked for when
// devices are asked for: package shim.
package cuda
