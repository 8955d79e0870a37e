package llvm

// Arithmetic of ints whose values fit in fewer bits.

import (
	"github.com/starpush/starpush/lang/kernel/analysis"
	"github.com/starpush/starpush/lang/kernel/ir"
)

type limits = analysis.Limits

func (w *writer) limitsOf(e *ir.Expr) limits { return analysis.KnownLimits(w.known).Of(e) }

func (w *writer) narrowType(e *ir.Expr) ir.Type { return analysis.KnownLimits(w.known).NarrowType(e) }

// narrow writes the computation of e in the type t of fewer bits.
func (w *writer) narrow(e *ir.Expr, t ir.Type, p place) value {
	if e.Op == ir.OpConst {
		return constant(t, e.Int, 0)
	}
	if !analysis.Narrows(e) {
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
