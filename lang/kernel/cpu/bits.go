package cpu

// Loops of operations on the bits of integers.

import (
	"math/bits"

	"github.com/starpush/starpush/lang/kernel/ir"
)

// bitLoop holds the loops of an operation on bits.
type bitLoop[T ir.Number] struct {
	pair[T]
	not func(d, a []T) // of OpBitNot
}

// bitLoops returns the loops of op, for a type T of integers.
func bitLoops[T ir.Number](op ir.Op) bitLoop[T] {
	var l any
	switch any(T(0)).(type) {
	case int8:
		l = intBitLoops[int8](op)
	case int16:
		l = intBitLoops[int16](op)
	case int32:
		l = intBitLoops[int32](op)
	case int64:
		l = intBitLoops[int64](op)
	case uint8:
		l = intBitLoops[uint8](op)
	case uint16:
		l = intBitLoops[uint16](op)
	case uint32:
		l = intBitLoops[uint32](op)
	case uint64:
		l = intBitLoops[uint64](op)
	}
	return l.(bitLoop[T])
}

func intBitLoops[T ir.Integer](op ir.Op) bitLoop[T] {
	switch op {
	case ir.OpBitNot:
		return bitLoop[T]{not: notV[T]}
	case ir.OpBitAnd:
		return bitLoop[T]{pair: pair[T]{andVV[T], andVS[T], func(d []T, s T, b []T) { andVS(d, b, s) }}}
	case ir.OpBitOr:
		return bitLoop[T]{pair: pair[T]{orVV[T], orVS[T], func(d []T, s T, b []T) { orVS(d, b, s) }}}
	case ir.OpBitXor:
		return bitLoop[T]{pair: pair[T]{xorVV[T], xorVS[T], func(d []T, s T, b []T) { xorVS(d, b, s) }}}
	case ir.OpShl:
		return bitLoop[T]{pair: pair[T]{shlVV[T], shlVS[T], shlSV[T]}}
	}
	return bitLoop[T]{pair: pair[T]{shrVV[T], shrVS[T], shrSV[T]}}
}

// divisionLoop returns the loop of // or % with a constant divisor, which is not 0, for a type T of
// integers.
func divisionLoop[T ir.Number](op ir.Op, divisor int64) func(d, a []T) {
	var l any
	switch any(T(0)).(type) {
	case int8:
		l = intDivisionLoop(op, int8(divisor))
	case int16:
		l = intDivisionLoop(op, int16(divisor))
	case int32:
		l = intDivisionLoop(op, int32(divisor))
	case int64:
		l = intDivisionLoop(op, divisor)
	case uint8:
		l = intDivisionLoop(op, uint8(divisor))
	case uint16:
		l = intDivisionLoop(op, uint16(divisor))
	case uint32:
		l = intDivisionLoop(op, uint32(divisor))
	case uint64:
		l = intDivisionLoop(op, uint64(divisor))
	}
	return l.(func(d, a []T))
}

// intDivisionLoop is divisionLoop for one type. A division by a power of two that rounds down is a
// shift, and its remainder the bits that are shifted out.
func intDivisionLoop[T ir.Integer](op ir.Op, divisor T) func(d, a []T) {
	power := divisor > 0 && divisor&(divisor-1) == 0
	switch {
	case power && op == ir.OpMod:
		return func(d, a []T) { andVS(d, a, divisor-1) }
	case power:
		count := bits.TrailingZeros64(uint64(divisor))
		return shiftRight(count, func(d, a []T) {
			a = a[:len(d)]
			for k := range d {
				d[k] = a[k] >> (count & 63)
			}
		})
	case op == ir.OpMod:
		return func(d, a []T) {
			a = a[:len(d)]
			for k := range d {
				d[k] = ir.FloorMod(a[k], divisor)
			}
		}
	}
	return func(d, a []T) {
		a = a[:len(d)]
		for k := range d {
			d[k] = ir.FloorDiv(a[k], divisor)
		}
	}
}

func notV[T ir.Integer](d, a []T) {
	a = a[:len(d)]
	for k := range d {
		d[k] = ^a[k]
	}
}

func andVV[T ir.Integer](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for k := range d {
		d[k] = a[k] & b[k]
	}
}

func andVS[T ir.Integer](d, a []T, s T) {
	a = a[:len(d)]
	for k := range d {
		d[k] = a[k] & s
	}
}

func orVV[T ir.Integer](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for k := range d {
		d[k] = a[k] | b[k]
	}
}

func orVS[T ir.Integer](d, a []T, s T) {
	a = a[:len(d)]
	for k := range d {
		d[k] = a[k] | s
	}
}

func xorVV[T ir.Integer](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for k := range d {
		d[k] = a[k] ^ b[k]
	}
}

func xorVS[T ir.Integer](d, a []T, s T) {
	a = a[:len(d)]
	for k := range d {
		d[k] = a[k] ^ s
	}
}

func shlVV[T ir.Integer](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for k := range d {
		d[k] = ir.Shl(a[k], b[k])
	}
}

func shlVS[T ir.Integer](d, a []T, s T) {
	a = a[:len(d)]
	for k := range d {
		d[k] = ir.Shl(a[k], s)
	}
}

func shlSV[T ir.Integer](d []T, s T, b []T) {
	b = b[:len(d)]
	for k := range d {
		d[k] = ir.Shl(s, b[k])
	}
}

func shrVV[T ir.Integer](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for k := range d {
		d[k] = ir.Shr(a[k], b[k])
	}
}

func shrVS[T ir.Integer](d, a []T, s T) {
	a = a[:len(d)]
	for k := range d {
		d[k] = ir.Shr(a[k], s)
	}
}

func shrSV[T ir.Integer](d []T, s T, b []T) {
	b = b[:len(d)]
	for k := range d {
		d[k] = ir.Shr(s, b[k])
	}
}
