package cpu

// Statements in code that runs one round at a time.

import (
	"unsafe"

	"github.com/starpush/starpush/lang/kernel/ir"
)

func (c *compiler) stmts(list []*ir.Stmt) []stmtFn {
	out := make([]stmtFn, len(list))
	for k, s := range list {
		out[k] = c.stmt(s)
	}
	return out
}

// block compiles several statements to one function.
func (c *compiler) block(list []*ir.Stmt) stmtFn {
	code := c.stmts(list)
	switch len(code) {
	case 0:
		return func(*machine) {}
	case 1:
		return code[0]
	case 2:
		a, b := code[0], code[1]
		return func(m *machine) { a(m); b(m) }
	}
	return func(m *machine) {
		for _, s := range code {
			s(m)
		}
	}
}

func (c *compiler) stmt(s *ir.Stmt) stmtFn {
	switch s.Kind {
	case ir.SetStmt:
		if c.fn.Slots[s.Slot].Len > 0 {
			return c.fillArray(s)
		}
		return c.set(s.Slot, s.Value)
	case ir.ElementStmt:
		return c.setElement(s)
	case ir.StoreStmt:
		return c.store(s)
	case ir.IfStmt:
		cond, then := c.boolean(s.Value), c.block(s.Body)
		if len(s.Else) == 0 {
			return func(m *machine) {
				if cond(m) {
					then(m)
				}
			}
		}
		other := c.block(s.Else)
		return func(m *machine) {
			if cond(m) {
				then(m)
			} else {
				other(m)
			}
		}
	case ir.ForStmt:
		return c.forLoop(s)
	}
	return c.each(s)
}

// set compiles slot = e.
func (c *compiler) set(slot int, e *ir.Expr) stmtFn {
	switch {
	case e.Type == ir.Bool:
		f := c.boolean(e)
		return func(m *machine) {
			m.ints[slot] = 0
			if f(m) {
				m.ints[slot] = 1
			}
		}
	case e.Type.IsFloat():
		f := c.floating(e)
		return func(m *machine) { m.flts[slot] = f(m) }
	}
	f := c.integer(e)
	return func(m *machine) { m.ints[slot] = f(m) }
}

// address compiles the address of an element, as the distance from element 0 in elements,
// with the check that it is in bounds.
func (c *compiler) address(at *ir.Expr) intFn {
	op := at.Operand
	switch len(at.X) {
	case 0:
		return func(*machine) int64 { return 0 }
	case 1:
		if x := at.X[0]; x.Op == ir.OpSlot {
			slot := x.Slot
			return func(m *machine) int64 {
				i := m.ints[slot]
				if uint64(i) >= uint64(m.ops[op].dim[0]) {
					m.outOfBounds(at, op, 0, i)
				}
				return i
			}
		}
		idx := c.integer(at.X[0])
		return func(m *machine) int64 {
			i := idx(m)
			if uint64(i) >= uint64(m.ops[op].dim[0]) {
				m.outOfBounds(at, op, 0, i)
			}
			return i
		}
	}
	if len(at.X) > 2 {
		return c.blockAddress(at)
	}
	if r, p, ok := slotPlusConstant(at.X[0]); ok {
		if s, q, ok := slotPlusConstant(at.X[1]); ok {
			return func(m *machine) int64 {
				i, j, v := m.ints[r]+p, m.ints[s]+q, &m.ops[op]
				if uint64(i) >= uint64(v.dim[0]) {
					m.outOfBounds(at, op, 0, i)
				}
				if uint64(j) >= uint64(v.dim[1]) {
					m.outOfBounds(at, op, 1, j)
				}
				return i*v.row + j
			}
		}
	}
	row, col := c.integer(at.X[0]), c.integer(at.X[1])
	return func(m *machine) int64 {
		i, j := row(m), col(m)
		v := &m.ops[op]
		if uint64(i) >= uint64(v.dim[0]) {
			m.outOfBounds(at, op, 0, i)
		}
		if uint64(j) >= uint64(v.dim[1]) {
			m.outOfBounds(at, op, 1, j)
		}
		return i*v.row + j
	}
}

// blockAddress is address for three indices or more.
func (c *compiler) blockAddress(at *ir.Expr) intFn {
	op := at.Operand
	idx := make([]intFn, len(at.X))
	for axis, x := range at.X {
		idx[axis] = c.integer(x)
	}
	last := len(idx) - 1
	return func(m *machine) int64 {
		b := m.ops[op].buf
		place := int64(0)
		for axis, f := range idx {
			i := f(m)
			if uint64(i) >= uint64(b.Dim[axis]) {
				m.outOfBounds(at, op, axis, i)
			}
			if axis < last {
				i *= int64(b.Stride[axis])
			}
			place += i
		}
		return place
	}
}

func (c *compiler) store(s *ir.Stmt) stmtFn {
	at, op := c.address(c.fn.Element(s)), s.Operand
	switch s.Value.Type {
	case ir.F32:
		return storeFloat[float32](op, at, c.floating(s.Value))
	case ir.F64:
		return storeFloat[float64](op, at, c.floating(s.Value))
	case ir.I8:
		return storeInt[int8](op, at, c.integer(s.Value))
	case ir.I16:
		return storeInt[int16](op, at, c.integer(s.Value))
	case ir.I32:
		return storeInt[int32](op, at, c.integer(s.Value))
	case ir.U8:
		return storeInt[uint8](op, at, c.integer(s.Value))
	case ir.U16:
		return storeInt[uint16](op, at, c.integer(s.Value))
	case ir.U32:
		return storeInt[uint32](op, at, c.integer(s.Value))
	}
	return storeInt[int64](op, at, c.integer(s.Value)) // I64, U64
}

// element returns the address of the element at distance i from element 0.
func element[T any](m *machine, op int, i int64) *T {
	return (*T)(unsafe.Add(m.ops[op].ptr, i*int64(unsafe.Sizeof(*new(T)))))
}

func storeFloat[T ir.Float](op int, at intFn, v fltFn) stmtFn {
	return func(m *machine) {
		x := T(v(m))
		*element[T](m, op, at(m)) = x
	}
}

func storeInt[T ir.Integer](op int, at intFn, v intFn) stmtFn {
	return func(m *machine) {
		x := T(v(m))
		*element[T](m, op, at(m)) = x
	}
}

// domain is the compiled domain of a nest of loops.
type domain struct {
	slots  []int
	lo, hi []intFn
	closed []bool
}

func (c *compiler) domain(dom []ir.Range) *domain {
	b := &domain{}
	for k := range dom {
		r := &dom[k]
		b.slots = append(b.slots, r.Slot)
		b.lo = append(b.lo, c.integer(r.Lo))
		b.hi = append(b.hi, c.integer(r.Hi))
		b.closed = append(b.closed, r.Closed)
	}
	return b
}

// domainValues are the ranges of a domain in a run, evaluated once before the rounds.
type domainValues struct {
	lo [ir.MaxIndices]int64
	n  [ir.MaxIndices]uint64
}

// eval evaluates b. It reports false if there is no round.
func (b *domain) eval(m *machine, s *domainValues) bool {
	some := true
	for k := range b.slots {
		s.lo[k] = b.lo[k](m)
		s.n[k] = ir.Trips(s.lo[k], b.hi[k](m), b.closed[k])
		some = some && s.n[k] > 0
	}
	return some
}

// run calls inner for all values of the indices from k on except that at skip. The last index
// changes fastest.
func (b *domain) run(m *machine, s *domainValues, k, skip int, inner func(m *machine)) {
	switch {
	case k == len(b.slots):
		inner(m)
		return
	case k == skip:
		b.run(m, s, k+1, skip, inner)
		return
	}
	i, slot := s.lo[k], b.slots[k]
	for n := s.n[k]; n > 0; n-- {
		m.ints[slot] = i
		b.run(m, s, k+1, skip, inner)
		i++
	}
}

// each compiles an each, in strips along the best index or one round at a time.
func (c *compiler) each(st *ir.Stmt) stmtFn {
	if axis := c.bestAxis(st.Domain, st.Body, nil); axis >= 0 {
		if code := c.stripEach(st, axis, false); code != nil {
			return code
		}
	} else if code := c.stripEach(st, len(st.Domain)-1, true); code != nil {
		return code
	}
	b, body := c.domain(st.Domain), c.block(st.Body)
	inner := func(m *machine) {
		body(m)
		m.tick(1)
	}
	return func(m *machine) {
		var s domainValues
		if b.eval(m, &s) {
			b.run(m, &s, 0, -1, inner)
		}
	}
}
