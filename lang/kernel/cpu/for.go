package cpu

import (
	"math"

	"github.com/starpush/starpush/lang/kernel/analysis"
	"github.com/starpush/starpush/lang/kernel/ir"
)

// forLoop compiles a `for` that stands in code that runs one round at a time.
func (c *compiler) forLoop(st *ir.Stmt) stmtFn {
	r := &st.Domain[0]
	lo, hi, closed, slot := c.integer(r.Lo), c.integer(r.Hi), r.Closed, r.Slot
	body := c.block(st.Body)
	rounds := func(m *machine, i int64, n uint64) {
		for ; n > 0; n-- {
			m.ints[slot] = i
			body(m)
			i++
			m.tick(1)
		}
	}
	strips := c.forStrips(st)
	if strips == nil {
		return func(m *machine) {
			i := lo(m)
			rounds(m, i, ir.Trips(i, hi(m), closed))
		}
	}
	least := uint64(shortLoop)
	if c.plan == alwaysLast {
		least = 1
	}
	return func(m *machine) {
		i := lo(m)
		count := ir.Trips(i, hi(m), closed)
		if count < least {
			rounds(m, i, count)
			return
		}
		for count > 0 {
			n := min(count, stripLen)
			if !strips(m, i, int(n)) {
				// part of a strip may be free of what could fault: all of a row but its border
				if n >= 4*shortLoop {
					n /= 2
					if !strips(m, i, int(n)) {
						n = min(n, shortLoop)
						rounds(m, i, n)
					}
				} else {
					rounds(m, i, n)
				}
			}
			i += int64(n)
			count -= n
		}
	}
}

// forStrips compiles what runs n rounds from lo on; it reports whether it did:
// it does nothing where a round might fault before others do. nil: it cannot.
func (c *compiler) forStrips(st *ir.Stmt) func(m *machine, lo int64, n int) bool {
	p := c.planFor(st)
	if p.s == nil {
		return nil
	}
	s := p.s
	t := s.names(p.body)
	if !s.enough(func() { s.block(p.body, t) }) {
		return nil
	}
	body := s.block(p.body, t)
	c.temps = max(c.temps, s.high)
	met, slot := c.met(p.want), s.axis
	return func(m *machine, lo int64, n int) bool {
		m.ints[slot] = lo
		if !met(m) {
			return false
		}
		m.ints[slot] = lo + int64(n) - 1
		if !met(m) {
			return false
		}
		m.ints[slot] = lo
		body(m, n, nil)
		m.tick(n)
		return true
	}
}

func (s *stripper) reduceStmt(st *ir.Stmt, t int) vstmt {
	switch st.Value.Type {
	case ir.I8:
		return reduceStrip[int8](s, st, t)
	case ir.I16:
		return reduceStrip[int16](s, st, t)
	case ir.I32:
		return reduceStrip[int32](s, st, t)
	case ir.I64:
		return reduceStrip[int64](s, st, t)
	case ir.U8:
		return reduceStrip[uint8](s, st, t)
	case ir.U16:
		return reduceStrip[uint16](s, st, t)
	case ir.U32:
		return reduceStrip[uint32](s, st, t)
	case ir.U64:
		return reduceStrip[uint64](s, st, t)
	case ir.F32:
		return reduceStrip[float32](s, st, t)
	}
	return reduceStrip[float64](s, st, t)
}

// reduceStrip joins the values of a strip to a name or an element, in order.
func reduceStrip[T ir.Number](s *stripper, st *ir.Stmt, t int) vstmt {
	v := numbers[T](s, st.Value, t)
	add := inOrder[T](st.Reduce)
	if op := st.Operand; op >= 0 {
		at := s.c.place(st.Element())
		return func(m *machine, n int, mask []bool) {
			x := v(m, n, mask, nil)
			e := element[T](m, op, at(m))
			*e = add(*e, x[:n], mask)
		}
	}
	slot := st.Slot
	if st.Value.Type.IsFloat() {
		return func(m *machine, n int, mask []bool) {
			x := v(m, n, mask, nil)
			m.flts[slot] = float64(add(T(m.flts[slot]), x[:n], mask))
		}
	}
	return func(m *machine, n int, mask []bool) {
		x := v(m, n, mask, nil)
		m.ints[slot] = int64(add(T(m.ints[slot]), x[:n], mask))
	}
}

// inOrder returns the loop that joins values to s one after another.
func inOrder[T ir.Number](op ir.Op) func(s T, x []T, mask []bool) T {
	switch op {
	case ir.OpAdd:
		return func(s T, x []T, mask []bool) T {
			if mask == nil {
				for _, v := range x {
					s += v
				}
				return s
			}
			for k, v := range x {
				if mask[k] {
					s += v
				}
			}
			return s
		}
	case ir.OpSub:
		return func(s T, x []T, mask []bool) T {
			for k, v := range x {
				if mask == nil || mask[k] {
					s -= v
				}
			}
			return s
		}
	}
	return func(s T, x []T, mask []bool) T {
		for k, v := range x {
			if mask == nil || mask[k] {
				s = join(op, s, v)
			}
		}
		return s
	}
}

// CPU back end: what must hold for a strip of a `for` to run without a fault.
// Strips look at all rounds of one operation before the next, so of two rounds
// that fault they might name the later one.

// met makes code that reports whether the demands hold for the round whose
// index the machine has.
func (c *compiler) met(d *analysis.Demands) func(m *machine) bool {
	type index struct {
		op, axis int
		value    intFn
	}
	var list []index
	for _, e := range d.Elements {
		for axis, x := range e.X {
			list = append(list, index{e.Operand, axis, c.exact(x)})
		}
	}
	type loop struct {
		slot   int
		lo, hi intFn
		closed bool
		met    func(m *machine) bool
	}
	var loops []loop
	for _, in := range d.Loops {
		if len(in.Elements)+len(in.Loops) > 0 {
			loops = append(loops, loop{in.Range.Slot, c.integer(in.Lo), c.integer(in.Hi), in.Range.Closed, c.met(&in.Demands)})
		}
	}
	return func(m *machine) bool {
		for k := range list {
			x := &list[k]
			if v := x.value(m); uint64(v) >= uint64(m.ops[x.op].size(x.axis)) || m.wrapped {
				m.wrapped = false
				return false
			}
		}
		for k := range loops {
			in := &loops[k]
			lo := in.lo(m)
			n := ir.Trips(lo, in.hi(m), in.closed)
			if n == 0 {
				continue
			}
			m.ints[in.slot] = lo
			if !in.met(m) {
				return false
			}
			m.ints[in.slot] = lo + int64(n-1)
			if !in.met(m) {
				return false
			}
		}
		return true
	}
}

// exact is integer for the values of demands. Code of it notes in the machine
// when what moves with an index wraps: of first and last values that lie inside,
// nothing follows then.
func (c *compiler) exact(e *ir.Expr) intFn {
	if e.Type != ir.I64 {
		return c.integer(e)
	}
	switch e.Op {
	case ir.OpAdd:
		x, y := c.exact(e.X[0]), c.exact(e.X[1])
		return func(m *machine) int64 {
			a, b := x(m), y(m)
			s := a + b
			m.wrapped = m.wrapped || (a^s)&(b^s) < 0
			return s
		}
	case ir.OpSub:
		x, y := c.exact(e.X[0]), c.exact(e.X[1])
		return func(m *machine) int64 {
			a, b := x(m), y(m)
			s := a - b
			m.wrapped = m.wrapped || (a^b)&(a^s) < 0
			return s
		}
	case ir.OpMul:
		x, y := c.exact(e.X[0]), c.exact(e.X[1])
		return func(m *machine) int64 {
			a, b := x(m), y(m)
			p := a * b
			if a != int64(int32(a)) || b != int64(int32(b)) {
				m.wrapped = m.wrapped || a != 0 && p/a != b || a == -1 && b == math.MinInt64
			}
			return p
		}
	case ir.OpNeg:
		x := c.exact(e.X[0])
		return func(m *machine) int64 {
			a := x(m)
			m.wrapped = m.wrapped || a == math.MinInt64
			return -a
		}
	case ir.OpMin, ir.OpMax:
		x, y, least := c.exact(e.X[0]), c.exact(e.X[1]), e.Op == ir.OpMin
		return func(m *machine) int64 {
			a, b := x(m), y(m)
			if (a < b) == least {
				return a
			}
			return b
		}
	case ir.OpFloorDiv:
		if k := e.X[1]; k.Op == ir.OpConst && k.Int > 0 {
			x, y := c.exact(e.X[0]), k.Int
			return func(m *machine) int64 { return ir.FloorDiv(x(m), y) }
		}
	}
	return c.integer(e)
}
