package llvm

// Rounds of loops in scalar code whose checks are made for several of them at once, in lanes.

import (
	"fmt"
	"maps"
	"math"

	"github.com/starpush/starpush/lang/kernel/ir"
)

// precheck is what lanes can compute of the rounds of a loop before the first of these rounds runs: indices, to check them.
type precheck struct {
	w        *writer
	lanes    *lanes
	body     []*ir.Stmt
	sets     map[int]bool     // locals that the rounds assign
	stores   map[int]bool     // operands that they write
	lets     map[int]*ir.Stmt // locals that each round assigns once
	needs    map[int]bool     // those that the elements and ranges need
	elements []*ir.Expr       // that each round uses, with indices that lanes can compute
	checked  bool             // whether the check of the nest may not hold
	seen     map[*ir.Expr]bool
}

// newPrecheck looks at the rounds of a loop over the index in a slot. checked reports whether they may run where the check of the
// nest does not hold.
func (w *writer) newPrecheck(slot, width int, body []*ir.Stmt, checked bool) *precheck {
	y := &precheck{w: w, lanes: newLanes(w.fn, slot, width, body), body: body, checked: checked,
		sets: map[int]bool{}, stores: map[int]bool{}, lets: map[int]*ir.Stmt{}, needs: map[int]bool{}, seen: map[*ir.Expr]bool{}}
	ir.WalkStmts(body, func(s *ir.Stmt) {
		switch s.Kind {
		case ir.SetStmt, ir.ElementStmt:
			y.sets[s.Slot] = true
		case ir.ForStmt:
			y.sets[s.Domain[0].Slot] = true
		case ir.StoreStmt:
			y.stores[s.Operand] = true
		}
	})
	for _, s := range body { // statements in an `if` may not run
		if s.Kind == ir.SetStmt && s.Declare && !w.fn.Slots[s.Slot].Assigned && w.fn.Slots[s.Slot].Len == 0 {
			y.lets[s.Slot] = s
		}
		s.Exprs(func(e *ir.Expr) {
			ir.WalkExpr(e, func(x *ir.Expr) bool {
				if x.Op == ir.OpLoad {
					y.element(x)
				}
				return x.Op != ir.OpAnd && x.Op != ir.OpOr && x.Op != ir.OpCond && x.Op != ir.OpFold
			})
		})
		if s.Kind == ir.StoreStmt {
			y.element(w.elementOf(s))
		}
	}
	return y
}

// known reports whether the lanes can compute e.
func (y *precheck) known(e *ir.Expr) bool {
	switch e.Op {
	case ir.OpFold, ir.OpElement:
		return false
	case ir.OpSlot:
		let := y.lets[e.Slot]
		if y.sets[e.Slot] && (let == nil || !y.known(let.Value)) {
			return false
		}
		if let != nil {
			y.needs[e.Slot] = true
		}
		return true
	case ir.OpLoad:
		return !y.stores[e.Operand] && y.lanes.sideBySide(e) && y.element(e)
	}
	for _, x := range e.X {
		if !y.known(x) {
			return false
		}
	}
	return true
}

// element adds an element that each round uses, and reports whether the lanes can compute its indices.
func (y *precheck) element(at *ir.Expr) bool {
	for _, x := range at.X {
		if !y.known(x) {
			return false
		}
	}
	if len(at.X) > 0 && !y.seen[at] && (y.checked || !y.w.inBounds(at)) {
		y.seen[at] = true
		y.elements = append(y.elements, at)
	}
	return true
}

// write writes, for the lanes from the index first on, the locals that are needed and the checks of the elements. Code goes on
// at the block onFault if a lane has an index out of bounds.
func (y *precheck) write(first value, onFault string) place {
	w := y.w
	// LLVM must not see that the lanes load what the rounds load again: it would take the elements out of the vectors,
	// which is slower.
	y.lanes.first = w.ins("call i64 asm \"\", \"=r,0\"(i64 %s)", first.name)
	p := place{lanes: y.lanes, onFault: onFault, checked: y.checked}
	for _, s := range y.body {
		if s.Kind == ir.SetStmt && y.needs[s.Slot] {
			w.stmt(s, p)
		}
	}
	for _, e := range y.elements {
		w.address(e, p)
	}
	return p
}

// loaded returns, for each round, indices of type i32 that lie one after another and that the lanes of p have checked. They are loaded two at a time, if
// the rounds load more than they compute: a product with a sparse matrix of f64 with 8 entries a row takes 5.2 ns a row instead of 5.5, but
// one of f32, which adds as f64, 7.1 instead of 6.7, as it has more to compute.
func (y *precheck) loaded(p place) map[*ir.Expr][]value {
	w := y.w
	all := map[*ir.Expr][]value{}
	if !loadsMore(y.body) {
		return all
	}
	for _, at := range y.elements {
		for _, x := range at.X {
			if x.Op == ir.OpSlot && y.lets[x.Slot] != nil {
				x = y.lets[x.Slot].Value
			}
			if all[x] != nil || x.Op != ir.OpConvert || x.X[0].Op != ir.OpLoad || x.X[0].Type != ir.I32 || y.lanes.of(x).motion != varying {
				continue
			}
			indices := w.address(x.X[0], p)
			if indices.layout != adjacent {
				continue
			}
			for k := range y.lanes.width / 2 {
				both := w.ins("load i64, ptr %s, align 4", w.ins("getelementptr i64, ptr %s, i64 %d", indices.ptr, k))
				// LLVM must not see where it is from: it would load each on its own.
				pair := value{name: w.ins("call i64 asm \"\", \"=r,0\"(i64 %s)", both), typ: ir.I64}
				all[x] = append(all[x], w.binary("and", pair, intValue(math.MaxUint32)), w.binary("lshr", pair, intValue(32)))
			}
		}
	}
	return all
}

// loadsMore reports whether a body has more elements to load than values to compute, apart from indices that are converted.
func loadsMore(body []*ir.Stmt) bool {
	loads, others := 0, 0
	ir.WalkStmts(body, func(s *ir.Stmt) {
		s.Exprs(func(e *ir.Expr) {
			ir.WalkExpr(e, func(x *ir.Expr) bool {
				switch x.Op {
				case ir.OpLoad:
					loads++
				case ir.OpConst, ir.OpSlot, ir.OpField:
				case ir.OpElement: // of an array, which is in registers
					return false
				case ir.OpConvert:
					if x.Type.IsFloat() {
						others++
					}
				default:
					others++
				}
				return true
			})
		})
	})
	return loads > others
}

// withProved runs inner, where the elements of y are known to be in bounds besides others.
func (y *precheck) withProved(others map[*ir.Expr]bool, inner func()) {
	w := y.w
	outer := w.nest
	proved := maps.Clone(others)
	if proved == nil {
		proved = map[*ir.Expr]bool{}
	}
	for _, e := range y.elements {
		proved[e] = true
	}
	w.nest = &nest{proved: proved, holds: outer.holds, top: outer.top, ranges: outer.ranges}
	inner()
	w.nest = outer
}

// group is several rounds of an innermost loop, written one after another. Indices that data choose are checked for all of them
// at once, before the first: that takes fewer instructions, and the rounds have no exits, which would keep each index in a register.
type group struct {
	pre *precheck
	lo  value // the index of the first round of the loop
}

func (w *writer) newGroup(st *ir.Stmt, lo value) *group {
	return &group{w.newPrecheck(st.Domain[0].Slot, unrolled, st.Body, false), lo}
}

// groups runs the rounds from the number in the memory k to n-1, and leaves n in k. Rounds after the
// last group, and from a group with an index out of bounds on, run one by one: one of them fails, as all would use these elements.
func (w *writer) groups(g *group, k string, n value, round func(k value)) {
	several, in, rest := w.label("several"), w.label("group"), w.label("rest")
	w.jump(several)
	w.start(several)
	at := value{name: w.ins("load i64, ptr %s", k), typ: ir.I64}
	w.branch(w.compare("icmp uge", w.binary("sub", n, at), intValue(unrolled)).name, in, rest)
	w.start(in)
	var loaded map[*ir.Expr][]value
	if len(g.pre.elements) > 0 {
		loaded = g.pre.loaded(g.pre.write(w.binary("add", g.lo, at), rest))
	}
	g.pre.withProved(w.nest.proved, func() {
		outer := w.loaded
		for c := range unrolled {
			w.loaded = map[*ir.Expr]value{}
			for e, lanes := range loaded {
				w.loaded[e] = lanes[c]
			}
			round(w.binary("add", at, intValue(int64(c))))
		}
		w.loaded = outer
	})
	w.emit("store i64 %s, ptr %s", w.binary("add", at, intValue(unrolled)).name, k)
	w.jump(several)
	w.start(rest)
	w.upTo("icmp ne", k, "1", n, round)
}

// blockRounds is the number of rounds of a loop whose inner loops' ranges are checked at once, blockLanes how many of
// them at a time.
const (
	blockRounds = 64
	blockLanes  = 8
)

// block is rounds of a loop with innermost loops in it, whose ranges data choose, as in a product with a sparse matrix. Their
// ranges are checked at once, and what they take from the budget is known before they run.
type block struct {
	pre   *precheck
	loops []*ir.Stmt
	slot  int
	cost  int // of a round of an inner loop
	// narrow means that the ranges are compared as i32, as they are stored: in 64 bits, a product with a sparse matrix of 8 entries a row
	// takes 5.6 ns a row instead of 4.9, and with 16 in a vector instead of 8 it takes 5.3, as LLVM keeps fewer addresses in registers.
	narrow bool
}

// newBlock returns the block of a loop over the index in a slot, or nil if its ranges cannot be computed in lanes before its rounds.
func (w *writer) newBlock(slot int, body []*ir.Stmt, p place) *block {
	if p.lanes != nil || w.thread != nil || hasFolds(body, nil) {
		return nil
	}
	b := &block{pre: w.newPrecheck(slot, blockLanes, body, p.checked), slot: slot, narrow: true}
	nested := 0
	ir.WalkStmts(body, func(st *ir.Stmt) {
		if st.Kind == ir.ForStmt || st.Kind == ir.EachStmt {
			nested++
		}
	})
	byData := false
	for _, st := range body {
		if st.Kind != ir.ForStmt || st.Value != nil {
			continue
		}
		r := &st.Domain[0]
		if r.Closed || !b.pre.known(r.Lo) || !b.pre.known(r.Hi) {
			return nil
		}
		l := b.pre.lanes
		byData = byData || l.of(r.Lo).motion == varying || l.of(r.Hi).motion == varying
		b.loops = append(b.loops, st)
		b.cost = max(b.cost, cost(st.Body, nil))
		b.narrow = b.narrow && narrowed(r.Lo) != nil && narrowed(r.Hi) != nil
	}
	if !byData || len(b.loops) < nested || b.cost > smallCost {
		return nil
	}
	return b
}

// narrowed returns an expression of i32 that has the value of e, nil if there is none.
func narrowed(e *ir.Expr) *ir.Expr {
	if e.Op == ir.OpConvert && e.X[0].Type == ir.I32 {
		return e.X[0]
	}
	return nil
}

// inBlocks writes n rounds of a loop from lo on. round writes one; in a place without checks for a block whose check holds, and in p for
// rounds of other blocks and the last ones.
func (w *writer) inBlocks(b *block, lo, n value, c int, p place, round func(k value, p place)) {
	k, stop := w.alloca("i64"), w.alloca("i64")
	w.emit("store i64 0, ptr %s", k)
	head, some, check, fast, slow, rest, ones, done := w.label("blocks"), w.label("some"), w.label("block"), w.label("fast"), w.label("slow"), w.label("rest"), w.label("ones"), w.label("done")
	w.jump(head)
	w.start(head)
	at := value{name: w.ins("load i64, ptr %s", k), typ: ir.I64}
	w.branch(w.compare("icmp ult", at, n).name, some, done)
	w.start(some)
	end := w.binary("add", at, intValue(blockRounds))
	w.rarely(w.compare("icmp ult", w.binary("sub", n, at), intValue(blockRounds)).name, rest, check)

	w.start(check)
	first := w.binary("add", lo, at)
	proved := map[*ir.Expr]bool{}
	if !p.checked {
		maps.Copy(proved, w.nest.proved)
	}
	for _, e := range b.pre.elements {
		proved[e] = true
	}
	holds, rounds, found := b.check(first, slow, proved)
	maps.Copy(proved, found)
	w.rarely(w.not(holds).name, slow, fast)

	w.start(fast)
	outer := w.nest
	ranges := maps.Clone(outer.ranges)
	if ranges == nil {
		ranges = map[*ir.Stmt]bool{}
	}
	for _, st := range b.loops {
		ranges[st] = true
	}
	w.nest = &nest{proved: proved, holds: outer.holds, top: outer.top, ranges: ranges}
	w.counted(k, "1", end, func(at value) { round(at, place{}) })
	w.nest = outer
	w.spend(w.binary("add", w.binary("mul", rounds, intValue(int64(b.cost))), intValue(int64(c*blockRounds))))
	w.jump(head)

	w.start(slow)
	w.emit("store i64 %s, ptr %s", end.name, stop)
	w.jump(ones)
	w.start(rest)
	w.emit("store i64 %s, ptr %s", n.name, stop)
	w.jump(ones)
	w.start(ones)
	w.counted(k, "1", value{name: w.ins("load i64, ptr %s", stop), typ: ir.I64}, func(at value) {
		round(at, p)
		w.spend(intValue(1))
	})
	w.jump(head)
	w.start(done)
}

// check writes the check of the blockRounds rounds from the index first on. It returns whether it holds, the rounds of all
// inner loops, and the elements of these that are in bounds then.
func (b *block) check(first value, onFault string, others map[*ir.Expr]bool) (holds, rounds value, found map[*ir.Expr]bool) {
	w := b.pre.w
	type reach struct{ lo, hi value }
	spans := make([]reach, len(b.loops))
	var total, longest value
	limit := budget / 2 / blockRounds / len(b.loops) / b.cost
	for at := 0; at < blockRounds; at += blockLanes {
		p := b.pre.write(w.binary("add", first, intValue(int64(at))), onFault)
		for i, st := range b.loops {
			r := &st.Domain[0]
			from, to := r.Lo, r.Hi
			if b.narrow {
				from, to = narrowed(from), narrowed(to)
			}
			lo, hi := w.spread(w.expr(from, p), blockLanes), w.spread(w.expr(to, p), blockLanes)
			// A range that ends before it begins counts as too long. Its length may be any number, as hi-lo wraps around.
			n := w.choose(w.compare("icmp sle", lo, hi), w.binary("sub", hi, lo), w.spread(constant(lo.typ, -1, 0), blockLanes))
			if at == 0 {
				spans[i] = reach{lo, hi}
			} else {
				spans[i] = reach{w.combine(ir.OpMin, spans[i].lo, lo), w.combine(ir.OpMax, spans[i].hi, hi)}
			}
			if at == 0 && i == 0 {
				total, longest = n, n
				continue
			}
			total = w.binary("add", total, n)
			longest = w.choose(w.compare("icmp ult", longest, n), n, longest)
		}
	}
	pr := w.newProver(b.pre.body, others)
	pr.loops[b.slot] = span{first, w.binary("add", first, intValue(blockRounds-1)), true}
	pr.require(w.compare("icmp ule", w.across("umax", longest), constant(longest.typ, int64(limit), 0)))
	for i, st := range b.loops {
		last := pr.exact("sub", w.convert(w.across("smax", spans[i].hi), ir.I64), intValue(1))
		pr.loops[st.Domain[0].Slot] = span{w.convert(w.across("smin", spans[i].lo), ir.I64), last, true}
		pr.stmts(st.Body)
	}
	return pr.holds, w.convert(w.across("add", total), ir.I64), pr.proved() // a total of no more than budget/2
}

// prefetchDistance is how far ahead of a range its elements are prefetched, in bytes.
const prefetchDistance = 1024

// prefetch asks for the elements that later rounds of a block read one after another, in ranges such as that of st, which begins at lo.
func (w *writer) prefetch(st *ir.Stmt, lo value) {
	seen := map[int]bool{}
	ir.WalkStmts(st.Body, func(s *ir.Stmt) {
		s.Exprs(func(e *ir.Expr) {
			ir.WalkExpr(e, func(x *ir.Expr) bool {
				if x.Op != ir.OpLoad || len(x.X) != 1 || x.X[0].Op != ir.OpSlot || x.X[0].Slot != st.Domain[0].Slot || seen[x.Operand] {
					return true
				}
				seen[x.Operand] = true
				typ := w.fn.Operands[x.Operand].Elem.Stored()
				at := w.binary("add", lo, intValue(int64(prefetchDistance/typ.Size())))
				ptr := w.ins("getelementptr %s, ptr %s, %s", scalarType(typ), w.operand(x.Operand).ptr, at.text())
				w.emit("call void @%s(ptr %s, i32 0, i32 3, i32 1)", w.declare("llvm.prefetch.p0", "void", "ptr", "i32", "i32", "i32"), ptr)
				return true
			})
		})
	})
}

// across returns the lanes of x combined by an operation of LLVM.
func (w *writer) across(op string, x value) value {
	name := w.declare(fmt.Sprintf("llvm.vector.reduce.%s.%s", op, suffix(x.typ, x.width)), scalarType(x.typ), x.llvm())
	return value{name: w.ins("call %s @%s(%s)", scalarType(x.typ), name, x.text()), typ: x.typ}
}
