package cpu

// Comparisons with vector instructions (SSE2, which every amd64 machine has).

import (
	"unsafe"

	"github.com/starpush/starpush/lang/kernel/ir"
)

// The loops compare n blocks of 64 bytes and write a bool for each value to d. After each block they advance
// a by stepA bytes and b by stepB: 64 for a strip, and 0 for a block that has the same value everywhere.

//go:noescape
func eqF64(d, a, b unsafe.Pointer, stepA, stepB, n int)

//go:noescape
func neF64(d, a, b unsafe.Pointer, stepA, stepB, n int)

//go:noescape
func ltF64(d, a, b unsafe.Pointer, stepA, stepB, n int)

//go:noescape
func leF64(d, a, b unsafe.Pointer, stepA, stepB, n int)

//go:noescape
func eqF32(d, a, b unsafe.Pointer, stepA, stepB, n int)

//go:noescape
func neF32(d, a, b unsafe.Pointer, stepA, stepB, n int)

//go:noescape
func ltF32(d, a, b unsafe.Pointer, stepA, stepB, n int)

//go:noescape
func leF32(d, a, b unsafe.Pointer, stepA, stepB, n int)

// compareF64 calls the loop of an operator: directly, so that blocks of one value stay on the stack.
func compareF64(op ir.Op, d, a, b unsafe.Pointer, stepA, stepB, n int) {
	switch op {
	case ir.OpEq:
		eqF64(d, a, b, stepA, stepB, n)
	case ir.OpNe:
		neF64(d, a, b, stepA, stepB, n)
	case ir.OpLt:
		ltF64(d, a, b, stepA, stepB, n)
	case ir.OpLe:
		leF64(d, a, b, stepA, stepB, n)
	case ir.OpGt: // b < a, for NaN too
		ltF64(d, b, a, stepB, stepA, n)
	default:
		leF64(d, b, a, stepB, stepA, n)
	}
}

// compareF32 is compareF64 for f32.
func compareF32(op ir.Op, d, a, b unsafe.Pointer, stepA, stepB, n int) {
	switch op {
	case ir.OpEq:
		eqF32(d, a, b, stepA, stepB, n)
	case ir.OpNe:
		neF32(d, a, b, stepA, stepB, n)
	case ir.OpLt:
		ltF32(d, a, b, stepA, stepB, n)
	case ir.OpLe:
		leF32(d, a, b, stepA, stepB, n)
	case ir.OpGt:
		ltF32(d, b, a, stepB, stepA, n)
	default:
		leF32(d, b, a, stepB, stepA, n)
	}
}

// compareBlocks compares the values of n blocks of floating-point numbers.
func compareBlocks[T ir.Number](op ir.Op, d []bool, a, b []T, stepA, stepB, n int) {
	to := unsafe.Pointer(unsafe.SliceData(d))
	if unsafe.Sizeof(T(0)) == 8 {
		compareF64(op, to, startOf(a), startOf(b), stepA, stepB, n)
	} else {
		compareF32(op, to, startOf(a), startOf(b), stepA, stepB, n)
	}
}

// fasterComparison returns loops with vector instructions for floating-point numbers, and plain for others.
func fasterComparison[T ir.Number](op ir.Op, plain comparison[T]) comparison[T] {
	switch any(T(0)).(type) {
	case float64, float32:
	default:
		return plain
	}
	return comparison[T]{
		vv: func(d []bool, a, b []T) {
			a, b = a[:len(d)], b[:len(d)]
			n, k := head[T](len(d))
			compareBlocks(op, d, a, b, 64, 64, n)
			plain.vv(d[k:], a[k:], b[k:])
		},
		vs: func(d []bool, a []T, s T) {
			a = a[:len(d)]
			n, k := head[T](len(d))
			var block [16]T // 64 or 128 bytes
			fill(block[:], s)
			compareBlocks(op, d, a, block[:], 64, 0, n)
			plain.vs(d[k:], a[k:], s)
		},
	}
}
