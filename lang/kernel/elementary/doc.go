// Package elementary computes the elementary functions of codelet bodies and scripts: exp, log,
// log2, pow, sin, cos, tan, tanh, erf and cbrt, for float64 and float32.
//
// One source serves every back end. The functions are Go in a restricted subset: arithmetic on
// float64, int64 and uint64, the operations of ops.go, lookups in constant tables, calls of
// other functions of the subset, no loops, and no branches but one: a guard
//
//	if rare { return slow(x) }
//
// with another function slow of the subset. A translator, which is a test of this package,
// turns each function into a flat list of instructions, a Program, in programs.go. Go programs
// call the Go functions; back ends that make code of their own, for vectors or devices,
// translate the Program that Lookup returns. An interpreter of Programs in the tests shows that
// both give the same bits.
//
// The results are the same on every machine, since all operations are those of IEEE 754 with
// rounding to nearest even: sums, products, quotients and fused multiply-adds. Go may fuse x*y+z
// on some processors unless the product is converted explicitly, so every product that is added
// to something is written float64(x*y), or is an argument of fma. The translator refuses others.
// Only the bits of a NaN may differ.
//
// Every result is within 1 ulp of the exact one: a unit in the last place of the result, or of
// the smallest normal number if the result is subnormal. The float32 functions compute in
// float64 and round once, to 0.51 ulp. Comments of the functions have their bounds, which
// `make ulp` measures. NaN, infinities, zeros and arguments without a result are treated as
// package math does.
//
// Slices of values are faster. The translator writes loops over slices, too: in Go, and for
// amd64 processors with AVX2 in assembly, four values at a time (vectors_amd64.s).
//
// To change a function, edit it and run STARPUSH_UPDATE=1 go test in this folder, which
// translates it again. A new function also needs a row in functions (program.go) and a
// reference in the tests.
package elementary
