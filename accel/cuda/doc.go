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
//
// A Device uses the primary context of its device. Streams are the driver's; what
// begins on them goes on by itself. Copies between a device and pinned main memory
// (AllocPinned, Pin) are the device's own work, with 2D and 3D copies for rows with
// gaps; other main memory goes through a chunk of pinned memory that each stream
// has. Kernels are functions of modules, which are compiled from PTX when they
// are loaded.
//
// 21 of the 34 codelets of std/blas, std/reduce and std/random have kernels here:
// asum, axpy, copy, dot, fill, gemm, gemv, ger, getrf_nopiv, getrs_nopiv, nrm2sq,
// potrf, scal, swap, symm, syrk, transpose, trmm, trsm, trsv and uniform. 9 more run as
// bodies of codelets of scripts: argmax, count, iamax, max, min, normal, nrm2, prod and
// sum. dotc, herk and histogram run on CPU workers, and so do all tasks with complex elements.
// The kernels are in kernels/*.cu; clang compiled them to the PTX that is embedded in the
// program. gemm, syrk, trsm and potrf, and what is made of them, use cuBLAS and cuSOLVER
// instead where the machine has them: they are loaded at run time, from the folders in
// STARPUSH_CUDA_LIBS first.
//
// Results after which a context is of no use, such as an illegal address, make all
// that is done with the device an *accel.LostError from then on. Other failures are
// errors of what failed.
//
// Codelets written in the language run there, too: package lang/kernel/cuda makes their kernels.
//
// The tests need no device: testdata/fake is a driver made of C that gcc builds when
// they begin. With STARPUSH_CUDA_LIBS=system, or the names of folders, they use a real
// one.
package cuda
