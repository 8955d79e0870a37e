package analysis

// Arithmetic of ints whose values fit in fewer bits, as in sums of u8 elements: the same
// results, in more lanes.

import (
	"math"

	"github.com/starpush/starpush/lang/kernel/ir"
)

// Limits are the smallest and the largest value of an int, in every round.
type Limits struct {
	Lo, Hi int64
	Known  bool
}

// maxLimit bounds known limits, so that products of them do not overflow.
const maxLimit = 1 << 30

// KnownLimits has the limits of expressions that were asked for.
type KnownLimits map[*ir.Expr]Limits

// Of returns the limits of an integer, as far as they follow from its operands' types.
func (known KnownLimits) Of(e *ir.Expr) Limits {
	if l, ok := known[e]; ok {
		return l
	}
	l := known.find(e)
	if l.Lo < -maxLimit || l.Hi > maxLimit {
		l.Known = false
	}
	known[e] = l
	return l
}

func (known KnownLimits) find(e *ir.Expr) Limits {
	if !e.Type.IsInt() {
		return Limits{}
	}
	switch e.Op {
	case ir.OpConst:
		return Limits{e.Int, e.Int, e.Type != ir.U64}
	case ir.OpLoad, ir.OpElement:
		lo, hi := ir.IntRange(e.Type)
		return Limits{lo, hi, e.Type.Size() < 4}
	case ir.OpConvert:
		x := known.Of(e.X[0])
		lo, hi := ir.IntRange(e.Type)
		if e.Type.Size() == 8 { // every known value fits, but a negative one in U64
			lo, hi = math.MinInt32, math.MaxInt32
			if e.Type == ir.U64 {
				lo = 0
			}
		}
		return Limits{x.Lo, x.Hi, x.Known && x.Lo >= lo && x.Hi <= hi}
	case ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpMin, ir.OpMax:
		if e.Type != ir.I64 {
			break // it wraps
		}
		x, y := known.Of(e.X[0]), known.Of(e.X[1])
		switch {
		case !x.Known || !y.Known:
		case e.Op == ir.OpAdd:
			return Limits{x.Lo + y.Lo, x.Hi + y.Hi, true}
		case e.Op == ir.OpSub:
			return Limits{x.Lo - y.Hi, x.Hi - y.Lo, true}
		case e.Op == ir.OpMin:
			return Limits{min(x.Lo, y.Lo), min(x.Hi, y.Hi), true}
		case e.Op == ir.OpMax:
			return Limits{max(x.Lo, y.Lo), max(x.Hi, y.Hi), true}
		default:
			a, b, c, d := x.Lo*y.Lo, x.Lo*y.Hi, x.Hi*y.Lo, x.Hi*y.Hi
			return Limits{min(a, b, c, d), max(a, b, c, d), true}
		}
	case ir.OpNeg:
		if x := known.Of(e.X[0]); e.Type == ir.I64 {
			return Limits{-x.Hi, -x.Lo, x.Known}
		}
	case ir.OpFloorDiv, ir.OpMod:
		x, k := known.Of(e.X[0]), e.X[1]
		if e.Type != ir.I64 || !x.Known || k.Op != ir.OpConst || k.Int <= 0 || k.Int > maxLimit {
			break
		}
		if e.Op == ir.OpMod {
			return Limits{0, k.Int - 1, true}
		}
		return Limits{ir.FloorDiv(x.Lo, k.Int), ir.FloorDiv(x.Hi, k.Int), true}
	}
	return Limits{}
}

// NarrowType returns the smallest type in which e, arithmetic of type I64, can be computed with
// the same result; I64 if there is no smaller one.
func (known KnownLimits) NarrowType(e *ir.Expr) ir.Type {
	if e.Type != ir.I64 || !Narrows(e) {
		return ir.I64
	}
	largest := int64(0)
	var look func(e *ir.Expr) bool
	look = func(e *ir.Expr) bool {
		l := known.Of(e)
		if !l.Known {
			return false
		}
		largest = max(largest, l.Hi, -l.Lo)
		if !Narrows(e) {
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

// Narrows reports whether the operation of e, of type I64, can be computed in fewer bits.
func Narrows(e *ir.Expr) bool {
	switch e.Op {
	case ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpMin, ir.OpMax, ir.OpNeg, ir.OpFloorDiv, ir.OpMod:
		return e.Type == ir.I64
	}
	return false
}
