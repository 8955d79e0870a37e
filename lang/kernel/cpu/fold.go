package cpu

// Folds. A fold inside a strip has a result for each round of the strip; a standalone fold runs
// its own rounds in strips. In both cases the order depends on the body and the sizes alone.

import "github.com/starpush/starpush/lang/kernel/ir"

// foldInt compiles a standalone fold of integers.
func (c *compiler) foldInt(e *ir.Expr) intFn {
	switch e.Type {
	case ir.I8:
		return foldAs[int8](c, e)
	case ir.I16:
		return foldAs[int16](c, e)
	case ir.I32:
		return foldAs[int32](c, e)
	case ir.U8:
		return foldAs[uint8](c, e)
	case ir.U16:
		return foldAs[uint16](c, e)
	case ir.U32:
		return foldAs[uint32](c, e)
	case ir.U64:
		return foldAs[uint64](c, e)
	}
	return foldAs[int64](c, e)
}

func foldAs[T ir.Integer](c *compiler, e *ir.Expr) intFn {
	f := standaloneFold[T](c, e)
	return func(m *machine) int64 { return int64(f(m)) }
}

func (c *compiler) foldFloat(e *ir.Expr) fltFn {
	if e.Type == ir.F32 {
		f := standaloneFold[float32](c, e)
		return func(m *machine) float64 { return float64(f(m)) }
	}
	return standaloneFold[float64](c, e)
}

// neutralOf returns the value of a fold over no round.
func neutralOf[T ir.Number](e *ir.Expr) T {
	i, f := ir.Neutral(e.Reduce, e.Type)
	if e.Type.IsFloat() {
		return T(f)
	}
	return T(i)
}

// combine returns two results of a fold as one.
func combine[T ir.Number](reduce ir.Op, a, b T) T {
	switch reduce {
	case ir.OpAdd:
		return a + b
	case ir.OpMul:
		return a * b
	case ir.OpMin:
		return min(a, b)
	}
	return max(a, b)
}

// total combines the results of strips, on three levels: 64 results of a level make one of the
// next, so that rounding errors of long sums grow slowly.
type total[T ir.Number] struct {
	v     [3]T
	none  T
	count int
}

func newTotal[T ir.Number](e *ir.Expr) total[T] {
	z := neutralOf[T](e)
	return total[T]{v: [3]T{z, z, z}, none: z}
}

func (a *total[T]) add(reduce ir.Op, x T) {
	a.v[0] = combine(reduce, a.v[0], x)
	a.count++
	if a.count&63 == 0 {
		a.v[1], a.v[0] = combine(reduce, a.v[1], a.v[0]), a.none
		if a.count&4095 == 0 {
			a.v[2], a.v[1] = combine(reduce, a.v[2], a.v[1]), a.none
		}
	}
}

func (a *total[T]) value(reduce ir.Op) T {
	return combine(reduce, a.v[2], combine(reduce, a.v[1], a.v[0]))
}

// standaloneFold compiles a fold whose value is needed for one round.
func standaloneFold[T ir.Number](c *compiler, e *ir.Expr) func(m *machine) T {
	if axis := c.bestAxis(e.Domain, nil, e.X[0]); axis >= 0 {
		if f := foldStrips[T](c, e, axis); f != nil {
			return f
		}
	}
	b, body, reduce := c.domain(e.Domain), scalarOf[T](c, e.X[0]), e.Reduce
	return func(m *machine) T {
		var s domainValues
		t := newTotal[T](e)
		if b.eval(m, &s) {
			b.run(m, &s, 0, -1, func(m *machine) {
				t.add(reduce, body(m))
				m.tick(1)
			})
		}
		return t.value(reduce)
	}
}

// foldStrips compiles a standalone fold in strips along one of its indices, or returns nil if
// it cannot run in strips.
func foldStrips[T ir.Number](c *compiler, e *ir.Expr, axis int) func(m *machine) T {
	s := c.newStripCompiler(e.Domain[axis].Slot)
	body := e.X[0]
	if !s.foldable(body) {
		return nil
	}
	if !s.fitsStrips(func() { stripReducer[T](s, e, c.reserved) }) {
		return nil
	}
	reduce := stripReducer[T](s, e, c.reserved)
	c.temps = max(c.temps, s.stripCount)
	b, slot, op := c.domain(e.Domain), s.axis, e.Reduce
	run := func(m *machine, t *total[T], lo int64, count uint64) {
		for count > 0 {
			n := int(min(count, stripLen))
			m.ints[slot] = lo
			t.add(op, reduce(m, n))
			m.tick(n)
			lo += int64(n)
			count -= uint64(n)
		}
	}
	if len(b.slots) == 1 {
		return func(m *machine) T {
			var sp domainValues
			t := newTotal[T](e)
			if b.eval(m, &sp) {
				run(m, &t, sp.lo[0], sp.n[0])
			}
			return t.value(op)
		}
	}
	return func(m *machine) T {
		var sp domainValues
		t := newTotal[T](e)
		if b.eval(m, &sp) {
			lo, n := sp.lo[axis], sp.n[axis]
			b.run(m, &sp, 0, axis, func(m *machine) { run(m, &t, lo, n) })
		}
		return t.value(op)
	}
}

// foldable reports whether the folds in e have bounds that are the same in all rounds.
func (s *stripCompiler) foldable(e *ir.Expr) bool {
	return s.pass([]*ir.Stmt{{Kind: ir.SetStmt, Slot: s.axis, Value: e}}, false, new(bool))
}

// stripReducer compiles a function that folds the body over one strip.
func stripReducer[T ir.Number](s *stripCompiler, e *ir.Expr, t int) func(m *machine, n int) T {
	body := e.X[0]
	if e.Reduce == ir.OpAdd && body.Op == ir.OpMul && !s.isUniform(body.X[0]) && !s.isUniform(body.X[1]) && !s.isAffine(body) {
		x, y := numbers[T](s, body.X[0], t), numbers[T](s, body.X[1], t+1)
		dot := loopsOf[T]().dotVV
		return func(m *machine, n int) T {
			a := x(m, n, nil, nil)
			return dot(a[:n], y(m, n, nil, nil)[:n])
		}
	}
	v, loop := numbers[T](s, body, t), foldLoop[T](e.Reduce)
	return func(m *machine, n int) T { return loop(v(m, n, nil, nil)[:n]) }
}

// foldLoop returns the loop that folds the values of a strip.
func foldLoop[T ir.Number](reduce ir.Op) func(a []T) T {
	switch reduce {
	case ir.OpMul:
		return prodV[T]
	case ir.OpMin:
		return minV[T]
	case ir.OpMax:
		return maxV[T]
	}
	return loopsOf[T]().sumV
}

// stripFold compiles a fold inside a strip.
func stripFold[T ir.Number](s *stripCompiler, e *ir.Expr, t int) vec[T] {
	if s.differs(e.Domain) {
		return raggedFold[T](s, e, t)
	}
	none := neutralOf[T](e)
	body, op := e.X[0], e.Reduce
	step, l := s.useStrip(t)+1, loopsOf[T]()
	var add func(m *machine, n int, mask []bool, acc []T)
	switch {
	case op == ir.OpAdd && body.Op == ir.OpMul && !s.isUniform(body) && !s.isAffine(body):
		x, y := body.X[0], body.X[1]
		if s.isUniform(x) {
			x, y = y, x
		}
		a := numbers[T](s, x, step)
		if s.isUniform(y) {
			b := scalarOf[T](s.c, y)
			add = func(m *machine, n int, mask []bool, acc []T) { l.mulAddVSV(acc, a(m, n, mask, nil), b(m), acc) }
			break
		}
		b := numbers[T](s, y, step+1)
		add = func(m *machine, n int, mask []bool, acc []T) {
			u := a(m, n, mask, nil)
			l.mulAddVVV(acc, u, b(m, n, mask, nil), acc)
		}
	case s.isUniform(body):
		v, p := scalarOf[T](s.c, body), pairOf[T](op)
		add = func(m *machine, n int, mask []bool, acc []T) { p.vs(acc, acc, v(m)) }
	default:
		v, p := numbers[T](s, body, step), pairOf[T](op)
		add = func(m *machine, n int, mask []bool, acc []T) { p.vv(acc, acc, v(m, n, mask, nil)) }
	}
	b := s.c.domain(e.Domain)
	if len(b.slots) == 1 {
		slot := b.slots[0]
		return func(m *machine, n int, mask []bool, dst []T) []T {
			acc := strip[T](m, t, n)
			fill(acc, none)
			var sp domainValues
			b.eval(m, &sp)
			i := sp.lo[0]
			for k := sp.n[0]; k > 0; k-- {
				m.ints[slot] = i
				add(m, n, mask, acc)
				i++
				m.tick(n)
			}
			return copyTo(acc, dst)
		}
	}
	return func(m *machine, n int, mask []bool, dst []T) []T {
		acc := strip[T](m, t, n)
		fill(acc, none)
		var sp domainValues
		if b.eval(m, &sp) {
			b.run(m, &sp, 0, -1, func(m *machine) {
				add(m, n, mask, acc)
				m.tick(n)
			})
		}
		return copyTo(acc, dst)
	}
}

// copyTo returns acc, copied to dst if that is not nil. The fold itself cannot use dst, memory
// that its body may read until the last round.
func copyTo[T any](acc, dst []T) []T {
	if dst == nil {
		return acc
	}
	copy(dst, acc)
	return dst
}
