package interp

// Indices such as 3*i + 1 of a loop variable, which inserts in loops are full of:
// one closure instead of one for each operator.

import "github.com/starpush/starpush/lang/syntax"

// affineBound is what the numbers of such an index stay below, so that nothing
// can overflow.
const affineBound = 1 << 30

// intAffine compiles k*i, i*k and these plus a constant, where i is a name that
// code can read without a check; nil when e is something else. slow is e in the
// usual way, for numbers that might overflow.
func (c *compiler) intAffine(e *syntax.Binary, slow intFn) intFn {
	var add int64
	if e.Op == "+" {
		lit, ok := unparen(e.Y).(*syntax.IntLit)
		if !ok || lit.Value > affineBound {
			return nil
		}
		add = lit.Value
		if e, ok = unparen(e.X).(*syntax.Binary); !ok {
			return nil
		}
	}
	if e.Op != "*" {
		return nil
	}
	x, y := e.X, e.Y
	if _, ok := unparen(x).(*syntax.IntLit); ok {
		x, y = y, x
	}
	slot, isSlot := c.localSlot(x)
	lit, isLit := unparen(y).(*syntax.IntLit)
	if !isSlot || !isLit || lit.Value > affineBound {
		return nil
	}
	mul := lit.Value
	return func(f *frame) int64 {
		if v := f.n[slot]; uint64(v) < affineBound {
			return v*mul + add
		}
		return slow(f)
	}
}
