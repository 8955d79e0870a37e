package kernel

// CPU back end: a `for` whose rounds depend on each other through reductions
// alone runs in strips like an each, with the results and the faults that its
// rounds have in order: a reduction joins the values of a strip one after
// another, and a strip that might fault runs one round at a time. A triple loop
// of products so takes a hundredth of the time.

// shortLoop is the number of rounds below which a strip costs more than it
// saves.
const shortLoop = 8

// forPlan is what is known of a `for` before code is made.
type forPlan struct {
	s    *stripper // nil: it runs one round at a time
	body []*Stmt
	want *demands
	cost float64 // of all its rounds
}

// forLoop compiles a `for` that stands in code that runs one round at a time.
func (c *compiler) forLoop(st *Stmt) stmtFn {
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
			rounds(m, i, trips(i, hi(m), closed))
		}
	}
	least := uint64(shortLoop)
	if c.plan == alwaysLast {
		least = 1
	}
	return func(m *machine) {
		i := lo(m)
		count := trips(i, hi(m), closed)
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

// planFor decides how a `for` runs.
func (c *compiler) planFor(st *Stmt) *forPlan {
	if p := c.fors[st]; p != nil {
		return p
	}
	p := &forPlan{}
	if c.fors == nil {
		c.fors = map[*Stmt]*forPlan{}
	}
	c.fors[st] = p
	e, n := estimator{c: c}, domainTrips(st.Domain)
	p.cost = n * (costScalar + e.oneByOne(st.Body, nil, 0))
	if c.plan == oneByOne {
		return p
	}
	r, body, ok := c.fn.independent(st)
	if !ok {
		return p
	}
	s := c.newStripper(st.Domain[0].Slot)
	if !s.prepare(body) {
		return p
	}
	want, _ := r.demands(s, body)
	if want == nil {
		return p
	}
	cost := costStart*e.nodes(body, nil)/8 + n*(1+e.inStrip(s, body, nil))
	if cost < p.cost || c.plan == alwaysLast {
		p.s, p.body, p.want, p.cost = s, body, want, cost
	}
	return p
}

// forStrips compiles what runs n rounds from lo on; it reports whether it did:
// it does nothing where a round might fault before others do. nil: it cannot.
func (c *compiler) forStrips(st *Stmt) func(m *machine, lo int64, n int) bool {
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
	met, slot := p.want.compile(c), s.axis
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

func (s *stripper) reduceStmt(st *Stmt, t int) vstmt {
	switch st.Value.Type {
	case I8:
		return reduceStrip[int8](s, st, t)
	case I16:
		return reduceStrip[int16](s, st, t)
	case I32:
		return reduceStrip[int32](s, st, t)
	case I64:
		return reduceStrip[int64](s, st, t)
	case U8:
		return reduceStrip[uint8](s, st, t)
	case U16:
		return reduceStrip[uint16](s, st, t)
	case U32:
		return reduceStrip[uint32](s, st, t)
	case U64:
		return reduceStrip[uint64](s, st, t)
	case F32:
		return reduceStrip[float32](s, st, t)
	}
	return reduceStrip[float64](s, st, t)
}

// reduceStrip joins the values of a strip to a name or an element, in order.
func reduceStrip[T number](s *stripper, st *Stmt, t int) vstmt {
	v := numbers[T](s, st.Value, t)
	add := inOrder[T](st.reduce)
	if op := st.Operand; op >= 0 {
		at := s.c.place(st.target())
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
func inOrder[T number](op Op) func(s T, x []T, mask []bool) T {
	switch op {
	case OpAdd:
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
	case OpSub:
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
