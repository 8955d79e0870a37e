package llvm

// Statements and loops.

import (
	"maps"

	"github.com/starpush/starpush/lang/kernel/analysis"
	"github.com/starpush/starpush/lang/kernel/ir"
)

// The bytes of a value in the lanes. vectorBytes are two registers of AVX2, whose operations
// overlap: the fastest of 32, 64 and 128 for n-body on znver3. wideBytes are two of the 32
// registers of AVX-512, for bodies that compute much with what they read: on an Intel Xeon with
// it mandel takes 0.053 s instead of 0.066, price 0.038 instead of 0.046, and the stencil, which
// waits for memory, 0.41 instead of 0.29.
const (
	vectorBytes = 64
	wideBytes   = 128
)

// budget is the number of operations, as cost counts them, between two calls of the program:
// some hundred microseconds.
const budget = 1 << 19

// shortLoop is the number of rounds below which a loop does not look at the budget itself.
const shortLoop = 64

func (w *writer) stmts(list []*ir.Stmt, p place) {
	for _, st := range list {
		w.stmt(st, p)
	}
}

func (w *writer) stmt(st *ir.Stmt, p place) {
	switch st.Kind {
	case ir.SetStmt:
		w.assign(st, p)
	case ir.ElementStmt:
		w.setElement(st, p)
	case ir.StoreStmt:
		v := w.expr(st.Value, p)
		w.store(w.elementOf(st), v, p)
	case ir.IfStmt:
		w.ifStmt(st, p)
	case ir.ForStmt:
		w.inNest([]*ir.Stmt{st}, nil, p, func(p place) { w.innerFor(st, p) })
	case ir.EachStmt:
		w.inNest([]*ir.Stmt{st}, nil, p, func(p place) { w.each(st, p) })
	default:
		panic(unsupported{"a statement of another kind"})
	}
}

// innerFor writes a `for`. An innermost one in scalar code has a form without checks of elements,
// which runs if the check of the nest holds for those of the nest, and a check of its own, which
// knows the range of the loop, for others.
func (w *writer) innerFor(st *ir.Stmt, p place) {
	r := &st.Domain[0]
	lo, hi := w.expr(r.Lo, p), w.expr(r.Hi, p)
	if w.nest.ranges[st] {
		k := w.alloca("i64")
		w.emit("store i64 %s, ptr %s", lo.name, k)
		w.prefetch(st, lo)
		w.groups(w.newGroup(st, intValue(0)), k, hi, func(i value) {
			w.set(r.Slot, i)
			w.stmts(st.Body, p)
		})
		return
	}
	if p.lanes != nil || hasLoops(st.Body, nil) {
		w.forStmt(st, lo, hi, p)
		return
	}
	outer := w.nest
	pr := w.newProver([]*ir.Stmt{st}, outer.proved)
	last := hi
	if !r.Closed {
		last = pr.exact("sub", hi, intValue(1))
	}
	pr.loops[r.Slot] = span{lo, last, true}
	pr.stmts(st.Body)
	found := pr.proved()
	holds := constant(ir.Bool, 1, 0)
	if len(found) > 0 {
		holds = pr.holds
	}
	if p.checked && w.hasProved(st, outer) {
		holds = w.binary("and", holds, outer.holds)
	}
	if holds.isConstant() {
		w.forStmt(st, lo, hi, p)
		return
	}
	fast, slow, end := w.label("fast"), w.label("slow"), w.label("end")
	w.rarely(w.not(holds).name, slow, fast)
	w.start(fast)
	maps.Copy(found, outer.proved)
	w.nest = &nest{proved: found, holds: outer.holds, top: outer.top, ranges: outer.ranges}
	w.forStmt(st, lo, hi, place{})
	w.nest = outer
	w.jump(end)
	w.start(slow)
	p.checked = true
	w.forStmt(st, lo, hi, p)
	w.jump(end)
	w.start(end)
}

// hasProved reports whether the check of a nest is about an element in st.
func (w *writer) hasProved(st *ir.Stmt, n *nest) bool {
	found := false
	ir.WalkStmts([]*ir.Stmt{st}, func(s *ir.Stmt) {
		found = found || (s.Kind == ir.StoreStmt || s.Kind == ir.ElementStmt) && n.proved[w.elementOf(s)]
		s.Exprs(func(e *ir.Expr) {
			ir.WalkExpr(e, func(x *ir.Expr) bool { found = found || n.proved[x]; return !found })
		})
	})
	return found
}

// elementOf returns the element that a store or an assignment to an element of an array writes, the same expression at each call.
func (w *writer) elementOf(st *ir.Stmt) *ir.Expr {
	e := w.elements[st]
	if e == nil {
		e = w.fn.Element(st)
		w.elements[st] = e
	}
	return e
}

// assign writes slot = value.
func (w *writer) assign(st *ir.Stmt, p place) {
	slot := st.Slot
	if w.fn.Slots[slot].Len > 0 {
		w.fillArray(st, p)
		return
	}
	if p.lanes == nil || p.lanes.changes[slot].motion == uniform {
		w.set(slot, w.expr(st.Value, p))
		return
	}
	if p.lanes.changes[slot].motion == affine {
		w.set(slot, w.firstValue(st.Value, p))
		return
	}
	v := w.spread(w.expr(st.Value, p), p.lanes.width)
	if p.mask != "" && !st.Declare {
		v = w.choose(w.mask(p), v, w.get(slot, v.width))
	}
	w.set(slot, v)
}

func (w *writer) ifStmt(st *ir.Stmt, p place) {
	cond := w.expr(st.Value, p)
	side := func(in string, list []*ir.Stmt, p place) {
		yes, end := w.label("if"), w.label("end")
		if w.thread != nil {
			// LLVM makes selects of a small block unless it seldom runs, and all threads compute
			// it: mandel takes 2.46 ms on an NVIDIA H200 then, instead of 1.72.
			w.rarely(in, yes, end)
		} else {
			w.branch(in, yes, end)
		}
		w.start(yes)
		w.stmts(list, p)
		w.jump(end)
		w.start(end)
	}
	if cond.width > 0 {
		then, other := w.both(p.mask, cond), value{}
		if len(st.Else) > 0 {
			other = w.both(p.mask, w.not(cond))
		}
		side(w.any(then), st.Body, p.under(then))
		if len(st.Else) > 0 {
			side(w.any(other), st.Else, p.under(other))
		}
		return
	}
	side(cond.name, st.Body, p)
	if len(st.Else) > 0 {
		side(w.not(cond).name, st.Else, p)
	}
}

// trips returns the number of rounds of r.
func (w *writer) trips(lo, hi value, closed bool) value {
	how := "icmp slt"
	n := w.binary("sub", hi, lo)
	if closed {
		how = "icmp sle"
		n = w.binary("add", n, intValue(1))
	}
	return w.choose(w.compare(how, lo, hi), n, intValue(0))
}

// loop runs body with 0 to n-1. cost is that of a round; innermost, that no loop is in it,
// whose rounds would look at the budget.
func (w *writer) loop(n value, innermost bool, cost int, body func(k value)) {
	w.loopInParts(n, innermost, cost, nil, body)
}

// twiceCost bounds the cost of a round of a nest in scalar code that has a form without checks for
// itself.
const twiceCost = 64

// spend takes n from the budget, and calls the program if nothing is left. Kernels of devices
// have no budget.
func (w *writer) spend(n value) {
	if w.thread != nil {
		return
	}
	left := w.ins("sub i64 %s, %s", w.ins("load i64, ptr %%left"), n.name)
	w.emit("store i64 %s, ptr %%left", left)
	over, next, stop := w.label("over"), w.label("next"), w.label("stop")
	w.rarely(w.ins("icmp slt i64 %s, 0", left), over, next)
	w.start(over)
	answer := w.ins("call i32 %%pause(ptr %%words) #1")
	w.emit("store i64 %d, ptr %%left", budget)
	w.branch(w.ins("icmp eq i32 %s, 0", answer), next, stop)
	w.start(stop)
	w.emit("ret i32 %d", stopped)
	w.start(next)
}

// cost estimates the time of a block or an expression, in operations.
func cost(list []*ir.Stmt, e *ir.Expr) int {
	n := 1
	count := func(x *ir.Expr) { ir.WalkExpr(x, func(*ir.Expr) bool { n++; return n < 1<<16 }) }
	ir.WalkStmts(list, func(st *ir.Stmt) { n++; st.Exprs(count) })
	if e != nil {
		count(e)
	}
	return n
}

// hasLoops reports whether a block or an expression has loops or folds.
func hasLoops(list []*ir.Stmt, e *ir.Expr) bool {
	found := hasFolds(list, e)
	ir.WalkStmts(list, func(st *ir.Stmt) { found = found || st.Kind == ir.ForStmt || st.Kind == ir.EachStmt })
	return found
}

func hasFolds(list []*ir.Stmt, e *ir.Expr) bool {
	found := false
	look := func(e *ir.Expr) {
		ir.WalkExpr(e, func(x *ir.Expr) bool { found = found || x.Op == ir.OpFold; return !found })
	}
	ir.WalkStmts(list, func(st *ir.Stmt) { st.Exprs(look) })
	look(e)
	return found
}

// domain is the evaluated domain of an each or a fold.
type domain struct {
	ranges []ir.Range
	lo, n  []value
}

// domain writes the bounds of a domain, once before its rounds.
func (w *writer) domain(ranges []ir.Range, p place) *domain {
	d := &domain{ranges: ranges}
	for k := range ranges {
		r := &ranges[k]
		lo, hi := w.expr(r.Lo, p), w.expr(r.Hi, p)
		if lo.width > 0 || hi.width > 0 {
			panic(unsupported{"ranges that differ between lanes"})
		}
		d.lo, d.n = append(d.lo, lo), append(d.n, w.trips(lo, hi, r.Closed))
	}
	return d
}

// some writes what runs if the domain has a round.
func (w *writer) some(d *domain, inner func()) {
	all := constant(ir.Bool, 1, 0)
	for _, n := range d.n {
		all = w.binary("and", all, w.compare("icmp ne", n, intValue(0)))
	}
	in, out := w.label("some"), w.label("end")
	w.branch(all.name, in, out)
	w.start(in)
	inner()
	w.jump(out)
	w.start(out)
}

// around writes the loops over all indices from k on but that at skip, and inner in them.
func (w *writer) around(d *domain, k, skip int, innermost bool, c int, inner func()) {
	switch {
	case k == len(d.ranges):
		inner()
		return
	case k == skip:
		w.around(d, k+1, skip, innermost, c, inner)
		return
	}
	last := innermost && skip < 0 && k == len(d.ranges)-1
	w.loop(d.n[k], last, c, func(i value) {
		w.set(d.ranges[k].Slot, w.binary("add", d.lo[k], i))
		w.around(d, k+1, skip, innermost, c, inner)
	})
}

// laneWidth returns the number of lanes for a body: as many of its widest values as fit.
func (w *writer) laneWidth(l *lanes, list []*ir.Stmt, e *ir.Expr) int {
	size := uintptr(1)
	look := func(e *ir.Expr) {
		ir.WalkExpr(e, func(x *ir.Expr) bool {
			if l.of(x).motion != varying {
				return true
			}
			if t := w.narrowType(x); t != ir.I64 {
				size = max(size, t.Size())
				return false
			}
			if x.Op == ir.OpConvert && x.Type == ir.I64 && w.limitsOf(x).Known {
				return true // an operand of narrow arithmetic
			}
			size = max(size, x.Type.Size())
			return true
		})
	}
	ir.WalkStmts(list, func(st *ir.Stmt) {
		st.Exprs(look)
		if st.Kind == ir.StoreStmt || st.Kind == ir.ElementStmt {
			size = max(size, st.Value.Type.Size())
		}
	})
	look(e)
	bytes := vectorBytes
	if n := workOf(list, e); hasAVX512() && (hasLoops(list, nil) || n.calls > 0 || n.ops > 2*n.elements) {
		bytes = wideBytes
	}
	return min(bytes/int(size), 64)
}

// each writes a loop whose rounds are independent.
func (w *writer) each(st *ir.Stmt, p place) {
	d := w.domain(st.Domain, p)
	axis := w.order.Each(st)
	if last := len(st.Domain) - 1; axis < 0 && !hasFolds(st.Body, nil) && !w.scatters(st.Body, st.Domain[last].Slot) {
		axis = last
	}
	innermost, c := !hasLoops(st.Body, nil), cost(st.Body, nil)
	w.some(d, func() {
		if axis < 0 {
			why := "its folds run in lanes instead"
			if !hasFolds(st.Body, nil) {
				why = "loops of its rounds run faster than lanes, whose elements do not lie side by side"
			}
			w.note(st.Head, "one round at a time (%s), %v", why, workOf(st.Body, nil))
			inOrder := func(p place) {
				last := len(d.ranges) - 1
				slot := d.ranges[last].Slot
				b := w.newBlock(slot, st.Body, p)
				if b == nil {
					w.around(d, 0, -1, innermost, c, func() { w.stmts(st.Body, p) })
					return
				}
				w.around(d, 0, last, false, c, func() {
					w.inBlocks(b, d.lo[last], d.n[last], c, p, func(k value, p place) {
						w.set(slot, w.binary("add", d.lo[last], k))
						w.stmts(st.Body, p)
					})
				})
			}
			if p.checked && p.lanes == nil && w.thread == nil && w.nest.top == st && c <= twiceCost {
				fast, slow, end := w.label("fast"), w.label("slow"), w.label("end")
				w.rarely(w.not(w.nest.holds).name, slow, fast)
				w.start(fast)
				inOrder(place{})
				w.jump(end)
				w.start(slow)
				inOrder(p)
				w.jump(end)
				w.start(end)
				return
			}
			inOrder(p)
			return
		}
		l := newLanes(w.fn, st.Domain[axis].Slot, 0, st.Body)
		body := w.unfold(st.Body, l)
		l = newLanes(w.fn, st.Domain[axis].Slot, 0, body)
		l.width = w.laneWidth(l, body, nil)
		name := w.fn.Slots[st.Domain[axis].Slot].Name
		several := func(how string, rows int, write func()) {
			w.note(st.Head, "%d lanes of `%s` in %s%d rows of `%s`, %v", l.width, name, how, rows, w.fn.Slots[st.Domain[axis-1].Slot].Name, workOf(st.Body, nil))
			w.around(&domain{d.ranges[:axis-1], d.lo, d.n}, 0, -1, false, c, write)
		}
		if rows := w.rowsOf(st, body, l, axis); rows > 1 {
			several("", rows, func() { w.inRows(d, l, rows, body) })
			return
		}
		if rows := w.tileRows(st, body, l, axis); rows > 0 {
			several("tiles of ", rows, func() { w.inTiles(d, l, rows, c, body) })
			return
		}
		w.note(st.Head, "%d lanes of `%s`, %v", l.width, name, workOf(st.Body, nil))
		w.around(d, 0, axis, false, c, func() {
			w.inLanes(l, d.lo[axis], d.n[axis], innermost, c, func(p place) { w.stmts(body, p) })
		})
	})
}

// scatters reports whether lanes along an index would read or write elements that do not lie side by side in loops of the body, where rounds
// one by one are faster: in loops with ranges of their own, and in those whose rounds lie side by side, so that LLVM makes vectors of them. A
// sweep over 512 rows of a matrix, with a loop over 4096 columns, took 17 ms in lanes along the rows, and takes 3.1.
func (w *writer) scatters(body []*ir.Stmt, slot int) bool {
	l := newLanes(w.fn, slot, 0, body)
	found := false
	ir.WalkStmts(body, func(st *ir.Stmt) {
		if st.Kind != ir.ForStmt || l.sameRange(&st.Domain[0]) && !w.storesSideBySide(st) {
			return
		}
		w.elementsIn(st.Body, func(x *ir.Expr) { found = found || !l.sideBySide(x) })
	})
	return found
}

// storesSideBySide reports whether the rounds of a `for` do not depend on each other, and store elements that lie side by side, as do all others
// that they use.
func (w *writer) storesSideBySide(st *ir.Stmt) bool {
	r := &st.Domain[0]
	if lo, hi := r.Lo, r.Hi; lo.Op == ir.OpConst && hi.Op == ir.OpConst && hi.Int-lo.Int < shortLoop || hasLoops(st.Body, nil) {
		return false
	}
	_, body, alone := analysis.Independent(w.fn, st)
	stores := false
	ir.WalkStmts(body, func(in *ir.Stmt) {
		stores = stores || in.Kind == ir.StoreStmt
		alone = alone && in.Kind != ir.ReduceStmt && in.Kind != ir.ElementStmt
	})
	l := newLanes(w.fn, r.Slot, 0, st.Body)
	w.elementsIn(st.Body, func(x *ir.Expr) { alone = alone && l.sideBySide(x) })
	return stores && alone
}

// elementsIn calls fn with the elements of operands that a block uses.
func (w *writer) elementsIn(list []*ir.Stmt, fn func(x *ir.Expr)) {
	ir.WalkStmts(list, func(st *ir.Stmt) {
		if st.Kind == ir.StoreStmt {
			fn(w.elementOf(st))
		}
		st.Exprs(func(e *ir.Expr) {
			ir.WalkExpr(e, func(x *ir.Expr) bool {
				if x.Op == ir.OpLoad {
					fn(x)
				}
				return true
			})
		})
	})
}

// inLanes writes body for the rounds from lo on, a block of lanes at a time: full blocks without
// a mask if the elements of the nest are in bounds, and other rounds with one.
func (w *writer) inLanes(l *lanes, lo, n value, innermost bool, c int, body func(p place)) {
	width := intValue(int64(l.width))
	blocks := w.binary("udiv", n, width)
	if holds := w.nest.holds; !holds.isConstant() {
		blocks = w.choose(holds, blocks, intValue(0))
	}
	w.loop(blocks, innermost, c, func(k value) {
		l.first = w.binary("add", lo, w.binary("mul", k, width)).name
		body(place{lanes: l})
	})
	done := w.binary("mul", blocks, width)
	rest := w.binary("udiv", w.binary("add", w.binary("sub", n, done), intValue(int64(l.width-1))), width)
	w.loop(rest, innermost, c, func(k value) {
		at := w.binary("add", done, w.binary("mul", k, width))
		l.first = w.binary("add", lo, at).name
		mask := w.compare("icmp ult", w.ramp("0", 1, l.width), w.binary("sub", n, at))
		body(place{lanes: l, mask: mask.name, checked: true})
	})
}
