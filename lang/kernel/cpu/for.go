package cpu

// Loops with for: one round at a time, or in strips with reductions that combine values in
// order.

import (
	"github.com/starpush/starpush/lang/kernel/analysis"
	"github.com/starpush/starpush/lang/kernel/ir"
)

// forLoop compiles a `for` in code that runs one round at a time.
func (c *compiler) forLoop(st *ir.Stmt) stmtFn {
	r := &st.Domain[0]
	lo, hi, closed, slot := c.integer(r.Lo), c.integer(r.Hi), r.Closed, r.Slot
	if lets, branch, ok := analysis.Settled(c.fn, st); ok {
		declare, cond, body := c.block(lets), c.boolean(branch.Value), c.block(branch.Body)
		return func(m *machine) {
			i := lo(m)
			for n := ir.Trips(i, hi(m), closed); n > 0; n-- {
				m.ints[slot] = i
				declare(m)
				m.tick(1)
				if !cond(m) {
					return
				}
				body(m)
				i++
			}
		}
	}
	body := c.block(st.Body)
	if st.Value != nil { // it has to run in order
		goesOn := c.boolean(st.Value)
		return func(m *machine) {
			i := lo(m)
			for n := ir.Trips(i, hi(m), closed); n > 0 && goesOn(m); n-- {
				m.ints[slot] = i
				body(m)
				i++
				m.tick(1)
			}
		}
	}
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
		strips = c.carriedStrips(st)
	}
	if strips == nil {
		strips = c.raggedStrips(st)
	}
	if strips == nil {
		return func(m *machine) {
			i := lo(m)
			rounds(m, i, ir.Trips(i, hi(m), closed))
		}
	}
	least := uint64(c.leastStrip())
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
				// a part of the strip may not fault: a row without its ends
				if n >= 4*minStripRounds {
					n /= 2
					if !strips(m, i, int(n)) {
						n = min(n, minStripRounds)
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

// leastStrip returns the number of rounds from which a strip runs.
func (c *compiler) leastStrip() int {
	if c.plan == alwaysLast {
		return 1
	}
	return minStripRounds
}

// forStrips compiles a function that runs n rounds from index lo in a strip. The function
// does nothing and returns false if a round may fault. It is nil if st does not run in
// strips.
func (c *compiler) forStrips(st *ir.Stmt) func(m *machine, lo int64, n int) bool {
	p := c.planFor(st)
	if p.strip == nil {
		return nil
	}
	s := p.strip
	t := s.allocateLocals(p.body, c.reserved)
	if !s.fitsStrips(func() { s.block(p.body, t) }) {
		return nil
	}
	body := s.block(p.body, t)
	c.temps = max(c.temps, s.stripCount)
	met, slot := c.demandsHold(p.demands), s.axis
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

func (s *stripCompiler) reduceStmt(st *ir.Stmt, t int) stripStmt {
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

// reduceStrip combines the values of a strip with a local or an element, in order.
func reduceStrip[T ir.Number](s *stripCompiler, st *ir.Stmt, t int) stripStmt {
	v := numbers[T](s, st.Value, t)
	add := combineInOrder[T](st.Reduce)
	if op := st.Operand; op >= 0 {
		at := s.c.address(s.c.fn.Element(st))
		return func(m *machine, n int, mask []bool) {
			x := v(m, n, mask, nil)
			e := element[T](m, op, at(m))
			*e = add(*e, x[:n], mask)
		}
	}
	slot := st.Slot
	if s.segmented && s.slots[slot] == varying {
		return reduceSegments(slot, st.Reduce, v)
	}
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

// combineInOrder returns the loop that combines values with s one after another.
func combineInOrder[T ir.Number](op ir.Op) func(s T, x []T, mask []bool) T {
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
				s = combine(op, s, v)
			}
		}
		return s
	}
}
