package cpu

// Loops and folds whose ranges differ between the rounds of a strip, such as those over the rows of a sparse
// matrix: `for k in ptr[i]..ptr[i + 1] { s += a[k] * x[col[k]] }`. The ranges are often short, so the values of
// many of them lie one after another in one strip, which is then combined range by range, in order.
//
// Operations of such a strip may fault in another order than its rounds do. So a strip that faults runs again, one
// round at a time, and a round must not change what it reads.

import (
	"unsafe"

	"github.com/starpush/starpush/lang/kernel/analysis"
	"github.com/starpush/starpush/lang/kernel/ir"
)

// longRange is the number of rounds from which a range runs by itself.
const longRange = 64

// maxOuter bounds the locals of a round that a loop inside it reads.
const maxOuter = 6

// segment is one of the ranges whose values are in a strip.
type segment struct {
	round int // of the loop around
	end   int // the place behind its values
}

// raggedLoop is a loop or a fold whose range differs between the rounds of a strip.
type raggedLoop struct {
	at        *ir.Range
	lo, hi    vec[int64]
	own       int          // the scratch strip of the index; those of outer follow
	outer     []outerLocal // that it reads
	adjacent  stripStmt    // if each range begins where the one before ends
	scattered stripStmt
	alone     func(m *machine, round int)
}

// differs reports whether a bound of dom is not the same in all rounds.
func (s *stripCompiler) differs(dom []ir.Range) bool {
	for k := range dom {
		if !s.isUniform(dom[k].Lo) || !s.isUniform(dom[k].Hi) {
			return true
		}
	}
	return false
}

// prepareRagged classifies what the loop st, whose range differs between rounds, changes. It reports
// false if the loop does more than combine values with locals of the round.
func (s *stripCompiler) prepareRagged(st *ir.Stmt, changed *bool) bool {
	body := s.raggedBody(st)
	if body == nil {
		return false
	}
	for _, slot := range reducedSlots(body) {
		if s.slots[slot] != varying {
			s.slots[slot], *changed = varying, true
		}
	}
	s.raggedLoops++
	return s.fitsInner(&st.Domain[0], body)
}

// raggedBody returns the body of st with reductions, or nil if its rounds depend on each other in another
// way, or write elements.
func (s *stripCompiler) raggedBody(st *ir.Stmt) []*ir.Stmt {
	if st.Value != nil {
		return nil
	}
	_, body, ok := analysis.Independent(s.c.fn, st)
	if !ok {
		return nil
	}
	ir.WalkStmts(body, func(x *ir.Stmt) {
		ok = ok && x.Kind != ir.StoreStmt && (x.Kind != ir.ReduceStmt || x.Operand < 0)
	})
	if !ok {
		return nil
	}
	return body
}

// reducedSlots returns the locals with which list combines values.
func reducedSlots(list []*ir.Stmt) (slots []int) {
	ir.WalkStmts(list, func(x *ir.Stmt) {
		if x.Kind == ir.ReduceStmt {
			slots = append(slots, x.Slot)
		}
	})
	return slots
}

// prepareRaggedFold is prepareRagged for a fold.
func (s *stripCompiler) prepareRaggedFold(e *ir.Expr) bool {
	at := &e.Domain[0]
	inside := false // another fold
	for _, x := range []*ir.Expr{at.Lo, at.Hi} {
		ir.WalkExpr(x, func(y *ir.Expr) bool { inside = inside || y.Op == ir.OpFold; return true })
	}
	if len(e.Domain) != 1 || inside || s.c.bestAxis(e.Domain, nil, e.X[0]) != 0 {
		return false
	}
	s.raggedLoops++
	return s.fitsInner(at, valueOnly(e.X[0]))
}

// valueOnly returns a body that computes e.
func valueOnly(e *ir.Expr) []*ir.Stmt {
	return []*ir.Stmt{{Kind: ir.ReduceStmt, Slot: -1, Operand: -1, Value: e}}
}

// fitsInner reports whether body can run in strips that have rounds of many ranges.
func (s *stripCompiler) fitsInner(at *ir.Range, body []*ir.Stmt) bool {
	in := s.inner(at, varying)
	return in.prepare(body) && s.inner(at, affine).prepare(body) && len(s.outerSlots(at, body)) <= maxOuter
}

// inner returns a compiler for strips of rounds of many ranges, along index at, adjacent ones or others.
// Values that differ between the rounds of s differ in them, too.
func (s *stripCompiler) inner(at *ir.Range, index class) *stripCompiler {
	in := s.c.newStripCompiler(at.Slot)
	in.keepOrder, in.segmented = true, true
	for slot, cl := range s.slots {
		if cl != uniform {
			in.slots[slot], in.growth[slot] = varying, 0
		}
	}
	in.slots[at.Slot], in.growth[at.Slot] = index, 0
	if index == affine {
		in.growth[at.Slot] = 1
	}
	return in
}

// outerSlots returns the locals that differ between the rounds of s and that body or an expression reads; too
// many if one is an array.
func (s *stripCompiler) outerSlots(at *ir.Range, body []*ir.Stmt, exprs ...*ir.Expr) (slots []int) {
	seen := map[int]bool{at.Slot: true}
	look := func(e *ir.Expr) {
		ir.WalkExpr(e, func(x *ir.Expr) bool {
			switch {
			case x.Op != ir.OpSlot && x.Op != ir.OpElement || s.slots[x.Slot] == uniform:
			case x.Op == ir.OpElement:
				slots = append(slots, make([]int, maxOuter+1)...)
			case !seen[x.Slot]:
				seen[x.Slot] = true
				slots = append(slots, x.Slot)
			}
			return true
		})
	}
	ir.WalkStmts(body, func(st *ir.Stmt) { st.Exprs(look) })
	for _, e := range exprs {
		look(e)
	}
	return slots
}

// newRagged compiles a loop over at. The strips of an inner compiler that compile uses begin at scratch strip
// t+3+maxOuter.
func (s *stripCompiler) newRagged(at *ir.Range, body []*ir.Stmt, t int, compile func(in *stripCompiler, t int) stripStmt) *raggedLoop {
	l := &raggedLoop{at: at, own: t + 2}
	l.lo, l.hi = numbers[int64](s, at.Lo, t), numbers[int64](s, at.Hi, t+1)
	for _, slot := range s.outerSlots(at, body) {
		l.outer = append(l.outer, s.outerLocal(slot))
	}
	both := [2]stripStmt{}
	for k, index := range []class{affine, varying} {
		in := s.inner(at, index)
		in.prepare(body)
		free := in.allocateLocals(body, l.own+1+maxOuter)
		both[k] = compile(in, free)
		s.useStrip(max(in.stripCount, free) - 1)
		s.failed = s.failed || in.failed
	}
	l.adjacent, l.scattered = both[0], both[1]
	return l
}

// raggedFor compiles a `for` whose range differs between rounds.
func (s *stripCompiler) raggedFor(st *ir.Stmt, t int) stripStmt {
	body, at := s.raggedBody(st), &st.Domain[0]
	l := s.newRagged(at, body, t, func(in *stripCompiler, t int) stripStmt { return in.block(body, t) })
	for _, slot := range reducedSlots(body) {
		if _, own := s.strips[slot]; !own {
			s.failed = true
		}
	}
	if s.c.dryRun > 0 {
		return nil
	}
	needs, loop := s.outerLocals(s.outerSlots(at, body, at.Lo, at.Hi)), s.c.forLoop(st)
	results := s.outerLocals(reducedSlots(body))
	l.alone = func(m *machine, round int) {
		take(m, needs, round)
		take(m, results, round)
		loop(m)
		for _, o := range results {
			o.put(m, round)
		}
		drop(m, needs, round)
	}
	return l.run
}

// raggedFold compiles a fold whose range differs between rounds, in the order of standalone folds.
func raggedFold[T ir.Number](s *stripCompiler, e *ir.Expr, t int) vec[T] {
	op, at, result := e.Reduce, &e.Domain[0], s.useStrip(t)
	loop := foldLoop[T](op)
	body := valueOnly(e.X[0])
	l := s.newRagged(at, body, t+1, func(in *stripCompiler, t int) stripStmt {
		v := numbers[T](in, e.X[0], t)
		return func(m *machine, n int, mask []bool) {
			x, d, from := v(m, n, nil, nil)[:n], strip[T](m, result, stripLen), 0
			for _, g := range m.segments {
				sum := newTotal[T](e)
				sum.add(op, loop(x[from:g.end]))
				d[g.round], from = sum.value(op), g.end
			}
		}
	})
	if s.c.dryRun > 0 {
		return nil
	}
	needs, fold := s.outerLocals(s.outerSlots(at, body, at.Lo, at.Hi)), scalarOf[T](s.c, e)
	l.alone = func(m *machine, round int) {
		take(m, needs, round)
		strip[T](m, result, stripLen)[round] = fold(m)
		drop(m, needs, round)
	}
	nothing := newTotal[T](e)
	empty := nothing.value(op)
	return func(m *machine, n int, mask []bool, dst []T) []T {
		d := strip[T](m, result, n)
		fill(d, empty)
		l.run(m, n, mask)
		return copyTo(d, dst)
	}
}

// run runs the ranges of the n rounds of a strip.
func (l *raggedLoop) run(m *machine, n int, mask []bool) {
	lo, hi := l.lo(m, n, mask, nil)[:n], l.hi(m, n, mask, nil)[:n]
	if m.segments == nil {
		m.segments = make([]segment, 0, stripLen)
	}
	list, total, adjacent := m.segments[:0], 0, true
	var first, next int64
	for k, from := range lo {
		count := ir.Trips(from, hi[k], l.at.Closed)
		if count == 0 || mask != nil && !mask[k] {
			continue
		}
		if count >= longRange {
			l.alone(m, k)
			continue
		}
		if total+int(count) > stripLen {
			l.flush(m, list, lo, first, total, adjacent)
			list, total, adjacent = list[:0], 0, true
		}
		if total == 0 {
			first, next = from, from
		}
		adjacent = adjacent && from == next
		total += int(count)
		next = from + int64(count)
		list = append(list, segment{k, total})
	}
	if total > 0 {
		l.flush(m, list, lo, first, total, adjacent)
	}
}

// flush runs the rounds of the ranges in list, total in all. lo has the first index of each range.
func (l *raggedLoop) flush(m *machine, list []segment, lo []int64, first int64, total int, adjacent bool) {
	m.segments = list
	var kept [maxOuter]unsafe.Pointer
	for k, o := range l.outer {
		kept[k] = m.ptrs[o.slot]
		o.spread(m, l.own+1+k)
	}
	if adjacent {
		m.ints[l.at.Slot] = first
		l.adjacent(m, total, nil)
	} else {
		index, from := strip[int64](m, l.own, total), 0
		for _, g := range list {
			i := lo[g.round]
			for k := from; k < g.end; k++ {
				index[k] = i
				i++
			}
			from = g.end
		}
		m.ptrs[l.at.Slot] = unsafe.Pointer(&index[0])
		l.scattered(m, total, nil)
	}
	for k, o := range l.outer {
		m.ptrs[o.slot] = kept[k]
	}
	m.tick(total)
}

// reduceSegments combines the values of each range with a local of its round, in order.
func reduceSegments[T ir.Number](slot int, op ir.Op, v vec[T]) stripStmt {
	add := combineInOrder[T](op)
	return func(m *machine, n int, mask []bool) {
		x, sums, from := v(m, n, mask, nil)[:n], unsafe.Slice((*T)(m.ptrs[slot]), stripLen), 0
		for _, g := range m.segments {
			part := mask
			if mask != nil {
				part = mask[from:g.end]
			}
			sums[g.round] = add(sums[g.round], x[from:g.end], part)
			from = g.end
		}
	}
}

// outerLocal is a local that differs between the rounds of a strip.
type outerLocal struct {
	slot   int
	spread func(m *machine, own int)   // gives it a strip with the value of its round at each place of a segment
	take   func(m *machine, round int) // gives it its value in a round, for code that runs one round at a time
	drop   func(m *machine, round int) // undoes take
	put    func(m *machine, round int) // sets its value in a round to that of such code
}

func (s *stripCompiler) outerLocals(slots []int) (list []outerLocal) {
	for _, slot := range slots {
		list = append(list, s.outerLocal(slot))
	}
	return list
}

func take(m *machine, list []outerLocal, round int) {
	for k := range list {
		list[k].take(m, round)
	}
}

func drop(m *machine, list []outerLocal, round int) {
	for k := range list {
		list[k].drop(m, round)
	}
}

// outerLocal returns the local in a slot.
func (s *stripCompiler) outerLocal(slot int) outerLocal {
	switch s.c.fn.Slots[slot].Type {
	case ir.Bool:
		return outerOf(s, slot, func(m *machine, v bool) {
			m.ints[slot] = 0
			if v {
				m.ints[slot] = 1
			}
		}, func(m *machine) bool { return m.ints[slot] != 0 })
	case ir.I8:
		return outerNumber[int8](s, slot)
	case ir.I16:
		return outerNumber[int16](s, slot)
	case ir.I32:
		return outerNumber[int32](s, slot)
	case ir.I64:
		return outerNumber[int64](s, slot)
	case ir.U8:
		return outerNumber[uint8](s, slot)
	case ir.U16:
		return outerNumber[uint16](s, slot)
	case ir.U32:
		return outerNumber[uint32](s, slot)
	case ir.U64:
		return outerNumber[uint64](s, slot)
	case ir.F32:
		return outerNumber[float32](s, slot)
	}
	return outerNumber[float64](s, slot)
}

func outerNumber[T ir.Number](s *stripCompiler, slot int) outerLocal {
	if s.c.fn.Slots[slot].Type.IsFloat() {
		return outerOf(s, slot, func(m *machine, v T) { m.flts[slot] = float64(v) }, func(m *machine) T { return T(m.flts[slot]) })
	}
	return outerOf(s, slot, func(m *machine, v T) { m.ints[slot] = int64(v) }, func(m *machine) T { return T(m.ints[slot]) })
}

func outerOf[T any](s *stripCompiler, slot int, set func(m *machine, v T), get func(m *machine) T) outerLocal {
	if s.slots[slot] == affine {
		return growingOuter(slot, s.growth[slot])
	}
	values := func(m *machine) []T { return unsafe.Slice((*T)(m.ptrs[slot]), stripLen) }
	return outerLocal{
		slot: slot,
		spread: func(m *machine, own int) {
			v, d, from := values(m), strip[T](m, own, stripLen), 0
			for _, g := range m.segments {
				fill(d[from:g.end], v[g.round])
				from = g.end
			}
			m.ptrs[slot] = unsafe.Pointer(&d[0])
		},
		take: func(m *machine, round int) { set(m, values(m)[round]) },
		drop: func(*machine, int) {},
		put:  func(m *machine, round int) { values(m)[round] = get(m) },
	}
}

// growingOuter returns an int that grows by k from round to round. Its value for code that runs one round
// at a time is that of the first round of the strip.
func growingOuter(slot int, k int64) outerLocal {
	return outerLocal{
		slot: slot,
		spread: func(m *machine, own int) {
			first, d, from := m.ints[slot], strip[int64](m, own, stripLen), 0
			for _, g := range m.segments {
				fill(d[from:g.end], first+k*int64(g.round))
				from = g.end
			}
			m.ptrs[slot] = unsafe.Pointer(&d[0])
		},
		take: func(m *machine, round int) { m.ints[slot] += k * int64(round) },
		drop: func(m *machine, round int) { m.ints[slot] -= k * int64(round) },
	}
}

// Strips with such loops.

// mayRepeat reports whether a round of list can run again after some of its operations: it stores nothing that it
// reads, or stores one element, last.
func (s *stripCompiler) mayRepeat(list []*ir.Stmt) bool {
	stores, again := 0, true
	ir.WalkStmts(list, func(st *ir.Stmt) {
		if st.Kind == ir.StoreStmt {
			stores++
		}
		st.Exprs(func(e *ir.Expr) {
			ir.WalkExpr(e, func(x *ir.Expr) bool { again = again && (x.Op != ir.OpLoad || !s.stored[x.Operand]); return again })
		})
	})
	last := list[len(list)-1]
	if again || stores > 1 || last.Kind != ir.StoreStmt {
		return again
	}
	for _, x := range last.Index {
		if cl, _ := s.classify(x); cl == varying {
			return false
		}
	}
	return true
}

// prepareWithRagged is prepare for a body with loops whose ranges differ between rounds. It reports false if there
// is none.
func (s *stripCompiler) prepareWithRagged(list []*ir.Stmt) bool {
	s.ragged, s.keepOrder = true, true
	return s.prepare(list) && s.raggedLoops > 0 && s.mayRepeat(list)
}

// inOrderAfterFault returns body for strips along the index in slot. A strip that faults runs again as round,
// one round at a time, and so does a short one.
func (c *compiler) inOrderAfterFault(body stripStmt, round stmtFn, slot int) stripStmt {
	least := c.leastStrip()
	return func(m *machine, n int, mask []bool) {
		first := m.ints[slot]
		if n >= least && faultOf(func() { body(m, n, mask) }) == nil {
			return
		}
		for k := range n {
			m.ints[slot] = first + int64(k)
			round(m)
		}
	}
}

// raggedStrips compiles a function that runs n rounds of st from index lo, as forStrips does. It is nil if the
// rounds have no loop whose range differs between them.
func (c *compiler) raggedStrips(st *ir.Stmt) func(m *machine, lo int64, n int) bool {
	if c.plan == oneByOne {
		return nil
	}
	r, list, ok := analysis.Independent(c.fn, st)
	s := c.newStripCompiler(st.Domain[0].Slot)
	if !ok || r.HasReductions() || !s.prepareWithRagged(list) {
		return nil
	}
	t := s.allocateLocals(list, c.reserved)
	if !s.fitsStrips(func() { s.block(list, t) }) {
		return nil
	}
	body := s.block(list, t)
	c.temps = max(c.temps, s.stripCount)
	slot := s.axis
	return func(m *machine, lo int64, n int) bool {
		m.ints[slot] = lo
		if faultOf(func() { body(m, n, nil) }) != nil {
			return false
		}
		m.tick(n)
		return true
	}
}
