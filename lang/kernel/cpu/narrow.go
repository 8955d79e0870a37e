package cpu

// Arithmetic of ints that is converted to a small type: 16 bits for each value suffice if all of its values
// fit, as in `(int(a[i - 1]) + 2 * int(a[i]) + int(a[i + 1])) // 4` of u8 elements.

import (
	"github.com/starpush/starpush/lang/kernel/analysis"
	"github.com/starpush/starpush/lang/kernel/ir"
)

// narrowed returns e, arithmetic of type I64, in 16 bits with the same values, or e itself if they do not suffice.
func (s *stripCompiler) narrowed(e *ir.Expr) *ir.Expr {
	if s.c.limits == nil {
		s.c.limits = analysis.KnownLimits{}
	}
	if s.isUniform(e) || s.c.limits.NarrowType(e) != ir.I16 {
		return e
	}
	return inBits16(e)
}

// inBits16 returns e, arithmetic of constants and conversions from integers, in 16 bits.
func inBits16(e *ir.Expr) *ir.Expr {
	out := *e
	out.Type = ir.I16
	if analysis.Narrows(e) {
		out.X = make([]*ir.Expr, len(e.X))
		for k, x := range e.X {
			out.X[k] = inBits16(x)
		}
	}
	return &out
}
