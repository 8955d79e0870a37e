package cpu

// Conditions in strips.

import (
	"unsafe"

	"github.com/starpush/starpush/lang/kernel/analysis"
	"github.com/starpush/starpush/lang/kernel/ir"
)

// boolean compiles a bool. The result is never in a scratch strip above t.
func (s *stripCompiler) boolean(e *ir.Expr, t int) vec[bool] {
	s.useStrip(t)
	if s.failed {
		return nil
	}
	defer s.c.reserve(t)()
	if s.isUniform(e) {
		v := s.c.boolean(e)
		return func(m *machine, n int, mask []bool, dst []bool) []bool {
			if dst == nil {
				dst = strip[bool](m, t, n)
			}
			fill(dst[:n], v(m))
			return dst
		}
	}
	switch e.Op {
	case ir.OpSlot:
		slot := e.Slot
		return func(m *machine, n int, mask []bool, dst []bool) []bool { return unsafe.Slice((*bool)(m.ptrs[slot]), n) }
	case ir.OpNot:
		x := s.boolean(e.X[0], t)
		return func(m *machine, n int, mask []bool, dst []bool) []bool {
			a := x(m, n, mask, nil)
			if dst == nil {
				dst = strip[bool](m, t, n)
			}
			for k, v := range a[:n] {
				dst[k] = !v
			}
			return dst
		}
	case ir.OpAnd, ir.OpOr:
		return s.shortCircuit(e, t)
	case ir.OpCond, ir.OpSelect:
		return choose(s, e, t, (*stripCompiler).boolean)
	}
	switch e.X[0].Type {
	case ir.Bool:
		x, y, want := s.boolean(e.X[0], t), s.boolean(e.X[1], t+1), e.Op == ir.OpEq
		return func(m *machine, n int, mask []bool, dst []bool) []bool {
			a, b := x(m, n, mask, nil)[:n], y(m, n, mask, nil)[:n]
			if dst == nil {
				dst = strip[bool](m, t, n)
			}
			for k := range dst[:n] {
				dst[k] = (a[k] == b[k]) == want
			}
			return dst
		}
	case ir.I8:
		return compare[int8](s, e, t)
	case ir.I16:
		return compare[int16](s, e, t)
	case ir.I32:
		return compare[int32](s, e, t)
	case ir.I64:
		return compare[int64](s, e, t)
	case ir.U8:
		return compare[uint8](s, e, t)
	case ir.U16:
		return compare[uint16](s, e, t)
	case ir.U32:
		return compare[uint32](s, e, t)
	case ir.U64:
		return compare[uint64](s, e, t)
	case ir.F32:
		return compare[float32](s, e, t)
	}
	return compare[float64](s, e, t)
}

// shortCircuit compiles and, or. The right side is evaluated only for rounds in which it
// decides.
func (s *stripCompiler) shortCircuit(e *ir.Expr, t int) vec[bool] {
	x := s.boolean(e.X[0], t)
	left, todo := s.useStrip(t), s.useStrip(t+1)
	y := s.boolean(e.X[1], t+2)
	and, plain := e.Op == ir.OpAnd, !analysis.MayFault(e.X[1]) && stripCost(e.X[1]) < 20
	return func(m *machine, n int, mask []bool, dst []bool) []bool {
		a := strip[bool](m, left, n)
		if r := x(m, n, mask, a); &r[0] != &a[0] {
			copy(a, r)
		}
		if dst == nil {
			dst = a
		}
		dst = dst[:n]
		sub := mask
		if !plain {
			sub = strip[bool](m, todo, n)
			some := false
			for k, v := range a {
				v = v == and && (mask == nil || mask[k])
				sub[k] = v
				some = some || v
			}
			if !some {
				copy(dst, a)
				return dst
			}
		}
		b := y(m, n, sub, nil)[:n]
		if and {
			for k := range dst {
				dst[k] = a[k] && b[k]
			}
		} else {
			for k := range dst {
				dst[k] = a[k] || b[k]
			}
		}
		return dst
	}
}

func compare[T ir.Number](s *stripCompiler, e *ir.Expr, t int) vec[bool] {
	loops := comparisonOf[T](e.Op)
	if s.isUniform(e.X[1]) {
		x, y := numbers[T](s, e.X[0], t+1), scalarOf[T](s.c, e.X[1])
		return func(m *machine, n int, mask []bool, dst []bool) []bool {
			a := x(m, n, mask, nil)
			if dst == nil {
				dst = strip[bool](m, t, n)
			}
			loops.vs(dst[:n], a, y(m))
			return dst
		}
	}
	x, y := numbers[T](s, e.X[0], t+1), numbers[T](s, e.X[1], t+2)
	return func(m *machine, n int, mask []bool, dst []bool) []bool {
		a, b := x(m, n, mask, nil), y(m, n, mask, nil)
		if dst == nil {
			dst = strip[bool](m, t, n)
		}
		loops.vv(dst[:n], a, b)
		return dst
	}
}
