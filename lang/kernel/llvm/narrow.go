package llvm

// Arithmetic of ints whose values fit in fewer bits, as in sums of u8 elements: the same
// results, in more lanes.

import (
	"math"

	"github.com/starpush/starpush/lang/kernel/ir"
)

// limits are the smallest and the largest value of an int, in every round.
type limits struct {
	lo, hi int64
	known  bool
}

// maxLimit bounds known limits, so that products of them do not overflow.
const maxLimit = 1 << 30

// limitsOf returns the limits of an integer, as far as they follow from its operands' types.
func (w *writer) limitsOf(e *ir.Expr) limits {
	if l, ok := w.known[e]; ok {
		return l
	}
	l := w.findLimits(e)
	if l.lo < -maxLimit || l.hi > maxLimit {
		l.known = false
	}
	w.known[e] = l
	return l
}

func (w *writer) findLimits(e *ir.Expr) limits {
	if !e.Type.IsInt() {
		return limits{}
	}
	switch e.Op {
	case ir.OpConst:
		return limits{e.Int, e.Int, e.Type != ir.U64}
	case ir.OpLoad, ir.OpElement:
		lo, hi := ir.IntRange(e.Type)
		return limits{lo, hi, e.Type.Size() < 4}
	case ir.OpConvert:
		x := w.limitsOf(e.X[0])
		lo, hi := ir.IntRange(e.Type)
		if e.Type.Size() == 8 { // every known value fits, but a negative one in U64
			lo, hi = math.MinInt32, math.MaxInt32
			if e.Type == ir.U64 {
				lo = 0
			}
		}
		return limits{x.lo, x.hi, x.known && x.lo >= lo && x.hi <= hi}
	case ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpMin, ir.OpMax:
		if e.Type != ir.I64 {
			break // it wraps
		}
		x, y := w.limitsOf(e.X[0]), w.limitsOf(e.X[1])
		known := x.known && y.known
		switch {
		case !known:
		case e.Op == ir.OpAdd:
			return limits{x.lo + y.lo, x.hi + y.hi, true}
		case e.Op == ir.OpSub:
			return limits{x.lo - y.hi, x.hi - y.lo, true}
		case e.Op == ir.OpMin:
			return limits{min(x.lo, y.lo), min(x.hi, y.hi), true}
		case e.Op == ir.OpMax:
			return limits{max(x.lo, y.lo), max(x.hi, y.hi), true}
		default:
			a, b, c, d := x.lo*y.lo, x.lo*y.hi, x.hi*y.lo, x.hi*y.hi
			return limits{min(a, b, c, d), max(a, b, c, d), true}
		}
	case ir.OpNeg:
		if x := w.limitsOf(e.X[0]); e.Type == ir.I64 {
			return limits{-x.hi, -x.lo, x.known}
		}
	case ir.OpFloorDiv, ir.OpMod:
		x, k := w.limitsOf(e.X[0]), e.X[1]
		if e.Type != ir.I64 || !x.known || k.Op != ir.OpConst || k.Int <= 0 || k.Int > maxLimit {
			break
		}
		if e.Op == ir.OpMod {
			return limits{0, k.Int - 1, true}
		}
		return limits{ir.FloorDiv(x.lo, k.Int), ir.FloorDiv(x.hi, k.Int), true}
	}
	return limits{}
}

// narrowType returns the smallest type in which e, arithmetic of type I64, can be computed with
// the same result; I64 if there is no smaller one.
func (w *writer) narrowType(e *ir.Expr) ir.Type {
	if e.Type != ir.I64 || !narrows(e) {
		return ir.I64
	}
	largest := int64(0)
	var look func(e *ir.Expr) bool
	look = func(e *ir.Expr) bool {
		l := w.limitsOf(e)
		if !l.known {
			return false
		}
		largest = max(largest, l.hi, -l.lo)
		if !narrows(e) {
			return true // it is computed as ever, and converted
		}
		for _, x := range e.X {
			if !look(x) {
				return false
			}
		}
		return true
	}
	switch {
	case !look(e):
		return ir.I64
	case largest <= math.MaxInt16:
		return ir.I16
	}
	return ir.I32
}

// narrows reports whether the operation of e, of type I64, can be computed in fewer bits.
func narrows(e *ir.Expr) bool {
	switch e.Op {
	case ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpMin, ir.OpMax, ir.OpNeg, ir.OpFloorDiv, ir.OpMod:
		return e.Type == ir.I64
	}
	return false
}

// narrow writes the computation of e in the type t of fewer bits.
func (w *writer) narrow(e *ir.Expr, t ir.Type, p place) value {
	if e.Op == ir.OpConst {
		return constant(t, e.Int, 0)
	}
	if !narrows(e) {
		if e.Op == ir.OpConvert && e.X[0].Type.IsInt() {
			return w.convert(w.expr(e.X[0], p), t)
		}
		return w.convert(w.expr(e, p), t)
	}
	x := w.narrow(e.X[0], t, p)
	if e.Op == ir.OpNeg {
		return w.binary("sub", constant(t, 0, 0), x)
	}
	y := w.narrow(e.X[1], t, p)
	switch e.Op {
	case ir.OpAdd:
		return w.binary("add", x, y)
	case ir.OpSub:
		return w.binary("sub", x, y)
	case ir.OpMul:
		return w.binary("mul", x, y)
	case ir.OpMin, ir.OpMax:
		return w.combine(e.Op, x, y)
	}
	return w.divide(e, x, y, p)
}
