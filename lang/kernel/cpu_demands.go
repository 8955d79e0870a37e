package kernel

// CPU back end: what must hold for a strip of a `for` to run without a fault.
// Strips look at all rounds of one operation before the next, so of two rounds
// that fault they might name the later one.

// demands are the accesses of a block of statements, and of the loops in it.
type demands struct {
	list  []*Expr // with the names of the round replaced by their values
	loops []*innerLoop
}

// innerLoop is a `for` or one index of a fold.
type innerLoop struct {
	at     *Range
	lo, hi *Expr
	demands
}

// maxInner is how many loops inside a strip are looked through: each doubles the
// number of looks.
const maxInner = 3

// demander collects demands.
type demander struct {
	r     *rounds
	s     *stripper
	inner map[int]bool // indices of the loops around
	other int          // what could fault and cannot be looked at beforehand
	ok    bool
}

// demands lists what must hold for the rounds of body to run in strips; nil:
// that cannot be said. Indices that are linear in those of the loops around
// them have their extremes at the ends of these. One thing that may fault
// besides needs no look if nothing else does and no loop repeats it: strips see
// its rounds in order.
func (r *rounds) demands(s *stripper, body []*Stmt) *demands {
	d := &demander{r: r, s: s, inner: map[int]bool{}, ok: true}
	out := &demands{}
	d.stmts(out, body)
	if !d.ok || d.other > 1 {
		return nil
	}
	return out
}

func (d *demander) stmts(to *demands, list []*Stmt) {
	for _, st := range list {
		switch st.Kind {
		case StoreStmt, reduceStmt:
			d.expr(to, st.Value)
			d.expr(to, st.target())
		case ForStmt:
			in := d.enter(to, &st.Domain[0])
			d.stmts(&in.demands, st.Body)
			delete(d.inner, st.Domain[0].Slot)
		default:
			d.expr(to, st.Value)
			d.stmts(to, st.Body)
			d.stmts(to, st.Else)
		}
	}
}

func (d *demander) enter(to *demands, at *Range) *innerLoop {
	in := &innerLoop{at: at, lo: d.value(at.Lo, 32), hi: d.value(at.Hi, 32)}
	d.expr(to, at.Lo)
	d.expr(to, at.Hi)
	d.ok = d.ok && in.lo != nil && in.hi != nil && d.degree(in.lo) == 0 && d.degree(in.hi) == 0
	d.ok = d.ok && len(d.inner) < maxInner
	to.loops = append(to.loops, in)
	d.inner[at.Slot] = true
	return in
}

func (d *demander) expr(to *demands, e *Expr) {
	walkExpr(e, func(x *Expr) bool {
		switch {
		case x.Op == OpFold:
			// the order of a fold depends on whether it runs in a strip, and the
			// results of floats on the order
			d.ok = d.ok && (x.Type.IsInt() || x.Reduce == OpMin || x.Reduce == OpMax)
			in := to
			for k := range x.Domain {
				in = &d.enter(in, &x.Domain[k]).demands
			}
			d.expr(in, x.X[0])
			for k := range x.Domain {
				delete(d.inner, x.Domain[k].Slot)
			}
			return false
		case x.Op == OpLoad && len(x.X) > 0:
			for _, y := range x.X { // what the place depends on comes first
				d.expr(to, y)
			}
			d.element(to, x)
			return false
		case x.Type.IsInt() && (x.Op == OpFloorDiv || x.Op == OpMod || x.Op == OpPow):
			if x.X[1].Op != OpConst || x.X[1].Int <= 0 {
				d.unseen()
			}
		}
		return d.ok
	})
}

// unseen counts something that may fault in some round.
func (d *demander) unseen() {
	d.other++
	d.ok = d.ok && len(d.inner) == 0
}

// element demands that an access lies inside in every round.
func (d *demander) element(to *demands, at *Expr) {
	e := &Expr{Op: OpLoad, Type: at.Type, Operand: at.Operand, Pos: at.Pos}
	for _, x := range at.X {
		v := d.value(x, 32)
		if v == nil || d.degree(v) < 0 {
			d.unseen()
			return
		}
		e.X = append(e.X, v)
	}
	to.list = append(to.list, e)
}

// value is e with the names of the round replaced by their values; nil: it
// depends on something else that changes in a round.
func (d *demander) value(e *Expr, depth int) *Expr {
	if depth == 0 {
		return nil
	}
	switch e.Op {
	case OpConst, OpField:
		return e
	case OpSlot:
		if v := d.r.lets[e.Slot]; v != nil {
			return d.value(v, depth-1)
		}
		if d.r.changes[e.Slot] && !d.inner[e.Slot] {
			return nil
		}
		return e
	case OpFold:
		return nil
	case OpLoad:
		if d.r.stored[e.Operand] {
			return nil
		}
	}
	if mayFault(e) && e.Op != OpLoad && e.Op != OpAdd && e.Op != OpSub && e.Op != OpMul && e.Op != OpNeg {
		return nil
	}
	c := *e
	c.X = make([]*Expr, len(e.X))
	for k, x := range e.X {
		if c.X[k] = d.value(x, depth-1); c.X[k] == nil {
			return nil
		}
	}
	return &c
}

// degree is 0 for what is the same in all rounds, 1 for what is linear in each
// index of the loops around, and -1 for anything else.
func (d *demander) degree(e *Expr) int {
	moving := func(x *Expr) bool {
		found := false
		walkExpr(x, func(y *Expr) bool {
			found = found || y.Op == OpSlot && (y.Slot == d.r.index || d.inner[y.Slot])
			return !found
		})
		return found
	}
	if !moving(e) {
		return 0
	}
	switch e.Op {
	case OpSlot:
		return 1
	case OpNeg, OpAdd, OpSub:
		for _, x := range e.X {
			if d.degree(x) < 0 {
				return -1
			}
		}
		return 1
	case OpMul:
		if !moving(e.X[0]) {
			return d.degree(e.X[1])
		}
		if !moving(e.X[1]) {
			return d.degree(e.X[0])
		}
	}
	return -1
}

// compile makes code that reports whether the demands hold for the round whose
// index the machine has.
func (d *demands) compile(c *compiler) func(m *machine) bool {
	type index struct {
		op, axis int
		value    intFn
	}
	var list []index
	for _, e := range d.list {
		for axis, x := range e.X {
			list = append(list, index{e.Operand, axis, c.integer(x)})
		}
	}
	type loop struct {
		slot   int
		lo, hi intFn
		closed bool
		met    func(m *machine) bool
	}
	var loops []loop
	for _, in := range d.loops {
		if len(in.list)+len(in.loops) > 0 {
			loops = append(loops, loop{in.at.Slot, c.integer(in.lo), c.integer(in.hi), in.at.Closed, in.compile(c)})
		}
	}
	return func(m *machine) bool {
		for k := range list {
			x := &list[k]
			if uint64(x.value(m)) >= uint64(m.ops[x.op].dim[x.axis]) {
				return false
			}
		}
		for k := range loops {
			in := &loops[k]
			lo := in.lo(m)
			n := trips(lo, in.hi(m), in.closed)
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
