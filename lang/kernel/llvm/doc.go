// Package llvm is the back end that makes machine code, through the LLVM library that a
// machine has. It writes the text of LLVM IR for a lowered body, which the library compiles;
// it needs no cgo, and no compiler on the machine.
//
// The rounds of an each are independent by the rules of the language. They run in the lanes
// of vectors, as in ISPC (Pharr and Mark, "ispc: A SPMD Compiler for High-Performance CPU
// Programming", InPar 2012): a value that all rounds share is a scalar, an int that grows by
// a constant from round to round is its first value (lanes.go), other values are vectors. Where
// rounds take different branches, a mask has the rounds that run; a while goes on until the mask
// is empty. So the order of operations
// in every round is that of the body, and the bits are those of package cpu, whose Order of
// folds it keeps.
//
//	ir ─> writer.go, expr.go, stmt.go, array.go, fold.go ─> text ─> library.go ─> machine code ─> kernel.go
//
// Indices are checked. Before a nest of loops runs, bounds.go computes the range of each index
// that depends on sizes and loops alone. If all of them are in bounds, the nest runs without
// checks of them; otherwise, it runs in a form that checks each element. Indices that depend on
// data are checked in both forms. An element out of bounds, a division by zero and a negative
// power end the run with the fault that package cpu reports.
//
// A Device is a body as kernels for NVIDIA devices, whose threads each run scalar code
// (device.go), with the same order of operations. Tests run them on the processor, too.
package llvm
