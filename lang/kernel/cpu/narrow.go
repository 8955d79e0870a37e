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

// weightedSum compiles e, a sum of several u8 elements with constant weights in 16 bits, as one loop. It is nil if e is
// none, or has no faster loop of its own.
func weightedSum(s *stripCompiler, e *ir.Expr, t int) vec[int16] {
	if e.Type != ir.I16 || !hasWeighted() {
		return nil
	}
	w := &weights{list: make([]int16, 1)}
	if !w.add(e, 1) || len(w.sources) < 3 {
		return nil
	}
	vs := make([]vec[uint8], len(w.sources))
	for k, x := range w.sources {
		vs[k] = numbers[uint8](s, x, t+1+k)
	}
	list := w.list
	return func(m *machine, n int, mask []bool, dst []int16) []int16 {
		var from [maxWeighted][]uint8
		for k, v := range vs {
			from[k] = v(m, n, mask, nil)
		}
		if dst == nil {
			dst = strip[int16](m, t, n)
		}
		weighted(dst[:n], from[:len(vs)], list)
		return dst
	}
}

// weights are the parts of a sum: a constant, and u8 values with weights. All arithmetic wraps.
type weights struct {
	list    []int16 // the constant, and the weight of each source
	sources []*ir.Expr
}

// add adds e times by. It reports false if e is no such sum, or is too long.
func (w *weights) add(e *ir.Expr, by int16) bool {
	switch e.Op {
	case ir.OpConst:
		w.list[0] += by * int16(e.Int)
		return true
	case ir.OpConvert:
		if e.X[0].Type != ir.U8 || len(w.sources) == maxWeighted {
			return false
		}
		w.sources, w.list = append(w.sources, e.X[0]), append(w.list, by)
		return true
	case ir.OpAdd:
		return w.add(e.X[0], by) && w.add(e.X[1], by)
	case ir.OpSub:
		return w.add(e.X[0], by) && w.add(e.X[1], -by)
	case ir.OpNeg:
		return w.add(e.X[0], -by)
	case ir.OpMul:
		x, k := e.X[0], e.X[1]
		if isConstant(x) {
			x, k = k, x
		}
		if k.Op == ir.OpNeg {
			k, by = k.X[0], -by
		}
		return k.Op == ir.OpConst && w.add(x, by*int16(k.Int))
	}
	return false
}

func isConstant(e *ir.Expr) bool {
	return e.Op == ir.OpConst || e.Op == ir.OpNeg && e.X[0].Op == ir.OpConst
}
