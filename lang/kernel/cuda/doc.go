// Package cuda runs bodies of codelets on NVIDIA devices, in programs that are built with the
// tag cuda: the kernels of package llvm, as PTX, which the driver compiles.
package cuda
