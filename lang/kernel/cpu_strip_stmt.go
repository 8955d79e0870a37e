package kernel

// CPU back end: statements of strips.

import "unsafe"

// block compiles statements; strips from t on are free.
func (s *stripper) block(list []*Stmt, t int) vstmt {
	code := make([]vstmt, len(list))
	for k, st := range list {
		code[k] = s.stmt(st, t)
	}
	if len(code) == 1 {
		return code[0]
	}
	return func(m *machine, n int, mask []bool) {
		for _, st := range code {
			st(m, n, mask)
		}
	}
}

func (s *stripper) stmt(st *Stmt, t int) vstmt {
	defer s.c.above(t)()
	switch st.Kind {
	case SetStmt:
		if s.slots[st.Slot] != varying {
			// the scalar value of the strip's first round
			set := s.c.set(st.Slot, st.Value)
			return func(m *machine, n int, mask []bool) { set(m) }
		}
		switch st.Value.Type {
		case Bool:
			return setStrip(s, st, s.boolean(st.Value, t), t)
		case I8:
			return setStrip(s, st, numbers[int8](s, st.Value, t), t)
		case I16:
			return setStrip(s, st, numbers[int16](s, st.Value, t), t)
		case I32:
			return setStrip(s, st, numbers[int32](s, st.Value, t), t)
		case I64:
			return setStrip(s, st, numbers[int64](s, st.Value, t), t)
		case U8:
			return setStrip(s, st, numbers[uint8](s, st.Value, t), t)
		case U16:
			return setStrip(s, st, numbers[uint16](s, st.Value, t), t)
		case U32:
			return setStrip(s, st, numbers[uint32](s, st.Value, t), t)
		case U64:
			return setStrip(s, st, numbers[uint64](s, st.Value, t), t)
		case F32:
			return setStrip(s, st, numbers[float32](s, st.Value, t), t)
		}
		return setStrip(s, st, numbers[float64](s, st.Value, t), t)
	case StoreStmt:
		switch st.Value.Type {
		case I8:
			return storeStrip[int8](s, st, t)
		case I16:
			return storeStrip[int16](s, st, t)
		case I32:
			return storeStrip[int32](s, st, t)
		case I64:
			return storeStrip[int64](s, st, t)
		case U8:
			return storeStrip[uint8](s, st, t)
		case U16:
			return storeStrip[uint16](s, st, t)
		case U32:
			return storeStrip[uint32](s, st, t)
		case U64:
			return storeStrip[uint64](s, st, t)
		case F32:
			return storeStrip[float32](s, st, t)
		}
		return storeStrip[float64](s, st, t)
	case IfStmt:
		return s.ifStmt(st, t)
	case reduceStmt:
		return s.reduceStmt(st, t)
	}
	r := &st.Domain[0] // ForStmt: its bounds are uniform
	lo, hi, closed, slot := s.c.integer(r.Lo), s.c.integer(r.Hi), r.Closed, r.Slot
	body := s.block(st.Body, t)
	return func(m *machine, n int, mask []bool) {
		i := lo(m)
		for k := trips(i, hi(m), closed); k > 0; k-- {
			m.ints[slot] = i
			body(m, n, mask)
			i++
			m.tick(n)
		}
	}
}

// ifStmt masks the rounds that a branch leaves out.
func (s *stripper) ifStmt(st *Stmt, t int) vstmt {
	if cl, _ := s.classify(st.Value); cl == uniform {
		cond, then, other := s.c.boolean(st.Value), s.block(st.Body, t), s.block(st.Else, t)
		return func(m *machine, n int, mask []bool) {
			if cond(m) {
				then(m, n, mask)
			} else {
				other(m, n, mask)
			}
		}
	}
	cond := s.boolean(st.Value, t)
	yes, no := s.use(t), s.use(t+1)
	then, other := s.block(st.Body, t+2), s.block(st.Else, t+2)
	hasElse := len(st.Else) > 0
	return func(m *machine, n int, mask []bool) {
		v := cond(m, n, mask, nil)
		a, b := strip[bool](m, yes, n), strip[bool](m, no, n)
		in, out := split(v, mask, a, b)
		if in > 0 {
			then(m, n, a)
		}
		if out > 0 && hasElse {
			other(m, n, b)
		}
	}
}

// split divides the rounds of mask by v, and counts both sides. v may be yes.
func split(v, mask, yes, no []bool) (in, out int) {
	no, yes = no[:len(v)], yes[:len(v)]
	if mask == nil {
		for k, b := range v {
			yes[k], no[k] = b, !b
			if b {
				in++
			}
		}
		return in, len(v) - in
	}
	mask = mask[:len(v)]
	for k, b := range v {
		p := mask[k]
		yes[k], no[k] = b && p, !b && p
		if p {
			if b {
				in++
			} else {
				out++
			}
		}
	}
	return in, out
}

// setStrip makes a name hold the values of a strip.
func setStrip[T any](s *stripper, st *Stmt, v vec[T], t int) vstmt {
	slot, own := st.Slot, s.strips[st.Slot]
	if !s.c.fn.Slots[slot].Assigned {
		copied := st.Value.Op != OpLoad || s.stored[st.Value.Operand]
		return func(m *machine, n int, mask []bool) {
			d := strip[T](m, own, n)
			r := v(m, n, mask, d)
			if copied && &r[0] != &d[0] {
				copy(d, r)
				r = d
			}
			m.ptrs[slot] = unsafe.Pointer(&r[0])
		}
	}
	declare := st.Declare
	return func(m *machine, n int, mask []bool) {
		d := strip[T](m, own, n)
		m.ptrs[slot] = unsafe.Pointer(&d[0])
		if mask == nil || declare {
			if r := v(m, n, mask, d); &r[0] != &d[0] {
				copy(d, r)
			}
			return
		}
		for k, x := range v(m, n, mask, nil)[:n] {
			if mask[k] {
				d[k] = x
			}
		}
	}
}

// storeStrip writes the elements of a strip.
func storeStrip[T number](s *stripper, st *Stmt, t int) vstmt {
	at := newAccess(s, st.target(), t+1)
	v := numbers[T](s, st.Value, t)
	if at.contiguous {
		return func(m *machine, n int, mask []bool) {
			first, ok := at.first(m, n, mask)
			if mask == nil {
				d := unsafe.Slice(element[T](m, at.op, first), n)
				if r := v(m, n, nil, d); &r[0] != &d[0] {
					copy(d, r)
				}
				return
			}
			r := v(m, n, mask, nil)
			if !ok {
				at.check(m, n, mask)
			}
			for k, x := range r[:n] {
				if mask[k] {
					*element[T](m, at.op, first+int64(k)) = x
				}
			}
		}
	}
	return func(m *machine, n int, mask []bool) {
		r := v(m, n, mask, nil)
		if at.regular {
			first, ok := at.first(m, n, mask)
			if !ok {
				at.check(m, n, mask)
			}
			step := at.step(m)
			for k, x := range r[:n] {
				if mask == nil || mask[k] {
					*element[T](m, at.op, first+int64(k)*step) = x
				}
			}
			return
		}
		at.each(m, n, mask, func(k int, i int64) { *element[T](m, at.op, i) = r[k] })
	}
}
