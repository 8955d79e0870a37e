package cpu

// Arrays of a body. In code that runs one round at a time, and where all rounds of a strip have the
// same values, the elements follow the locals of the machine. Otherwise each element has a scratch
// strip, and the strips of an array lie side by side.

import (
	"unsafe"

	"github.com/starpush/starpush/lang/kernel/ir"
)

// arrayBase returns the place of the first element of an array among the locals of a machine.
func (c *compiler) arrayBase(slot int) int64 {
	at := len(c.fn.Slots)
	for k := range slot {
		at += c.fn.Slots[k].Len
	}
	return int64(at)
}

// arrayElement compiles the place of an element among the locals of a machine, with the check that
// it is in bounds.
func (c *compiler) arrayElement(e *ir.Expr) intFn {
	base, n := c.arrayBase(e.Slot), uint64(e.Int)
	if x := e.X[0]; e.InBounds() {
		at := base + x.Int
		return func(*machine) int64 { return at }
	}
	idx := c.integer(e.X[0])
	return func(m *machine) int64 {
		i := idx(m)
		if uint64(i) >= n {
			m.outOfBounds(e, 0, 0, i)
		}
		return base + i
	}
}

// fillArray compiles the declaration of an array.
func (c *compiler) fillArray(s *ir.Stmt) stmtFn {
	base, n := c.arrayBase(s.Slot), int64(c.fn.Slots[s.Slot].Len)
	if s.Value.Type.IsFloat() {
		v := c.floating(s.Value)
		return func(m *machine) { fill(m.flts[base:base+n], v(m)) }
	}
	v := c.integer(s.Value)
	return func(m *machine) { fill(m.ints[base:base+n], v(m)) }
}

// setElement compiles an assignment to an element of an array.
func (c *compiler) setElement(s *ir.Stmt) stmtFn {
	at := c.arrayElement(c.fn.Element(s))
	if s.Value.Type.IsFloat() {
		v := c.floating(s.Value)
		return func(m *machine) {
			x := v(m)
			m.flts[at(m)] = x
		}
	}
	v := c.integer(s.Value)
	return func(m *machine) {
		x := v(m)
		m.ints[at(m)] = x
	}
}

// fillArray compiles the declaration of an array. Scratch strips from t on are free.
func (s *stripCompiler) fillArray(st *ir.Stmt, t int) stripStmt {
	if s.slots[st.Slot] != varying {
		set := s.c.fillArray(st)
		return func(m *machine, n int, mask []bool) { set(m) }
	}
	switch st.Value.Type {
	case ir.I8:
		return fillStrips[int8](s, st, t)
	case ir.I16:
		return fillStrips[int16](s, st, t)
	case ir.I32:
		return fillStrips[int32](s, st, t)
	case ir.I64:
		return fillStrips[int64](s, st, t)
	case ir.U8:
		return fillStrips[uint8](s, st, t)
	case ir.U16:
		return fillStrips[uint16](s, st, t)
	case ir.U32:
		return fillStrips[uint32](s, st, t)
	case ir.U64:
		return fillStrips[uint64](s, st, t)
	case ir.F32:
		return fillStrips[float32](s, st, t)
	}
	return fillStrips[float64](s, st, t)
}

func fillStrips[T ir.Number](s *stripCompiler, st *ir.Stmt, t int) stripStmt {
	own, elements := s.strips[st.Slot], s.c.fn.Slots[st.Slot].Len
	if s.isUniform(st.Value) {
		v := scalarOf[T](s.c, st.Value)
		return func(m *machine, n int, mask []bool) {
			x := v(m)
			for k := range elements {
				fill(strip[T](m, own+k, n), x)
			}
		}
	}
	v := numbers[T](s, st.Value, t)
	return func(m *machine, n int, mask []bool) {
		x := v(m, n, mask, nil)
		for k := range elements {
			copy(strip[T](m, own+k, n), x)
		}
	}
}

// setElement compiles an assignment to an element of an array. Scratch strips from t on are free.
func (s *stripCompiler) setElement(st *ir.Stmt, t int) stripStmt {
	if s.slots[st.Slot] != varying {
		set := s.c.setElement(st)
		return func(m *machine, n int, mask []bool) { set(m) }
	}
	switch st.Value.Type {
	case ir.I8:
		return setElementStrip[int8](s, st, t)
	case ir.I16:
		return setElementStrip[int16](s, st, t)
	case ir.I32:
		return setElementStrip[int32](s, st, t)
	case ir.I64:
		return setElementStrip[int64](s, st, t)
	case ir.U8:
		return setElementStrip[uint8](s, st, t)
	case ir.U16:
		return setElementStrip[uint16](s, st, t)
	case ir.U32:
		return setElementStrip[uint32](s, st, t)
	case ir.U64:
		return setElementStrip[uint64](s, st, t)
	case ir.F32:
		return setElementStrip[float32](s, st, t)
	}
	return setElementStrip[float64](s, st, t)
}

func setElementStrip[T ir.Number](s *stripCompiler, st *ir.Stmt, t int) stripStmt {
	e, own := s.c.fn.Element(st), s.strips[st.Slot]
	v := numbers[T](s, st.Value, t)
	if !s.isUniform(e.X[0]) {
		idx := numbers[int64](s, e.X[0], t+1)
		return func(m *machine, n int, mask []bool) {
			x := v(m, n, mask, nil)[:n]
			for k, i := range idx(m, n, mask, nil)[:n] {
				if mask != nil && !mask[k] {
					continue
				}
				if uint64(i) >= uint64(e.Int) {
					m.outOfBounds(e, 0, 0, i)
				}
				*stripElement[T](m, own+int(i), k) = x[k]
			}
		}
	}
	at := s.c.uniformElement(e)
	return func(m *machine, n int, mask []bool) {
		if mask == nil && e.InBounds() {
			d := strip[T](m, own+int(e.X[0].Int), n)
			if r := v(m, n, nil, d); &r[0] != &d[0] {
				copy(d, r)
			}
			return
		}
		x := v(m, n, mask, nil)[:n]
		i, ok := at(m, n, mask)
		if !ok {
			return
		}
		d := strip[T](m, own+i, n)
		if mask == nil {
			copy(d, x)
			return
		}
		for k, y := range x {
			if mask[k] {
				d[k] = y
			}
		}
	}
}

// stripElement returns the address of the value of a scratch strip in round k.
func stripElement[T any](m *machine, t, k int) *T {
	return (*T)(unsafe.Add(unsafe.Pointer(&m.arena[t*stripLen]), uintptr(k)*unsafe.Sizeof(*new(T))))
}

// uniformElement compiles the index of an element, the same in all rounds of a strip, with the
// check that it is in bounds. It reports false if it is not, and no round runs.
func (c *compiler) uniformElement(e *ir.Expr) func(m *machine, n int, mask []bool) (int, bool) {
	if x := e.X[0]; e.InBounds() {
		i := int(x.Int)
		return func(*machine, int, []bool) (int, bool) { return i, true }
	}
	idx, size := c.integer(e.X[0]), uint64(e.Int)
	return func(m *machine, n int, mask []bool) (int, bool) {
		i := idx(m)
		if uint64(i) < size {
			return int(i), true
		}
		for k := range n {
			if mask == nil || mask[k] {
				m.outOfBounds(e, 0, 0, i)
			}
		}
		return 0, false
	}
}

// elementStrip compiles the load of an element of an array that differs between rounds.
func elementStrip[T ir.Number](s *stripCompiler, e *ir.Expr, t int) vec[T] {
	if s.slots[e.Slot] != varying { // its index differs
		return sharedElementStrip[T](s, e, t)
	}
	own := s.strips[e.Slot]
	if s.isUniform(e.X[0]) {
		at := s.c.uniformElement(e)
		return func(m *machine, n int, mask []bool, dst []T) []T {
			i, ok := at(m, n, mask)
			if !ok {
				if dst == nil {
					dst = strip[T](m, t, n)
				}
				clear(dst[:n])
				return dst
			}
			return strip[T](m, own+i, n)
		}
	}
	idx := numbers[int64](s, e.X[0], t+1) // not t: the sizes of values differ
	return func(m *machine, n int, mask []bool, dst []T) []T {
		at := idx(m, n, mask, nil)[:n]
		if dst == nil {
			dst = strip[T](m, t, n)
		}
		dst = dst[:n]
		for k, i := range at {
			switch {
			case uint64(i) < uint64(e.Int):
				dst[k] = *stripElement[T](m, own+int(i), k)
			case mask == nil || mask[k]:
				m.outOfBounds(e, 0, 0, i)
			default:
				dst[k] = 0
			}
		}
		return dst
	}
}

// sharedElementStrip compiles the load of elements of an array that is the same in all rounds.
func sharedElementStrip[T ir.Number](s *stripCompiler, e *ir.Expr, t int) vec[T] {
	base, float := s.c.arrayBase(e.Slot), e.Type.IsFloat()
	idx := numbers[int64](s, e.X[0], t+1) // not t: the sizes of values differ
	return func(m *machine, n int, mask []bool, dst []T) []T {
		at := idx(m, n, mask, nil)[:n]
		if dst == nil {
			dst = strip[T](m, t, n)
		}
		dst = dst[:n]
		for k, i := range at {
			switch {
			case uint64(i) >= uint64(e.Int):
				if mask == nil || mask[k] {
					m.outOfBounds(e, 0, 0, i)
				}
				dst[k] = 0
			case float:
				dst[k] = T(m.flts[base+i])
			default:
				dst[k] = T(m.ints[base+i])
			}
		}
		return dst
	}
}
