package llvm

// The check of indices before a nest of loops.

import (
	"github.com/starpush/starpush/lang/kernel/ir"
)

// nest is an outermost loop, with all that is in it.
type nest struct {
	proved map[*ir.Expr]bool // elements that are in bounds if the check of the nest holds
	holds  value             // whether it does
	top    *ir.Stmt          // the loop, if it is one statement
	ranges map[*ir.Stmt]bool // loops whose ranges have been checked, and whose rounds have been counted
}

// span is the range of an int in all rounds of a nest, both ends included.
type span struct {
	lo, hi value
	known  bool
}

// prover finds the spans of indices.
type prover struct {
	w        *writer
	assigned map[int]bool // locals that the nest assigns
	loops    map[int]span // indices of loops
	memo     map[*ir.Expr]span
	holds    value // no computation has overflowed, and all elements are in bounds
	found    map[*ir.Expr]bool
	failed   map[*ir.Expr]bool
	others   map[*ir.Expr]bool
	left     int // instructions that the check may still have
}

// inNest writes a loop, a statement or a fold. Before an outermost one it writes the check of
// elements whose bounds do not depend on data. Full blocks of lanes, and loops in scalar code,
// have a form without checks of these elements, which runs if the check of the nest holds.
func (w *writer) inNest(list []*ir.Stmt, fold *ir.Expr, p place, inner func(p place)) {
	if w.nest != nil {
		inner(p)
		return
	}
	pr := w.newProver(list, nil)
	pr.stmts(list)
	pr.expr(fold)
	w.nest = &nest{proved: pr.proved(), holds: pr.holds}
	if len(list) == 1 {
		w.nest.top = list[0]
	}
	p.checked = !pr.holds.isConstant()
	inner(p)
	w.nest = nil
}

// newProver returns a prover for a loop, which leaves out elements that others have proved.
func (w *writer) newProver(list []*ir.Stmt, others map[*ir.Expr]bool) *prover {
	pr := &prover{w: w, assigned: map[int]bool{}, loops: map[int]span{}, memo: map[*ir.Expr]span{},
		holds: constant(ir.Bool, 1, 0), found: map[*ir.Expr]bool{}, failed: map[*ir.Expr]bool{}, others: others, left: 2000}
	ir.WalkStmts(list, func(st *ir.Stmt) {
		if st.Kind == ir.SetStmt {
			pr.assigned[st.Slot] = true
		}
	})
	return pr
}

// proved returns the elements that are in bounds if the check holds.
func (pr *prover) proved() map[*ir.Expr]bool {
	out := map[*ir.Expr]bool{}
	for e := range pr.found {
		if !pr.failed[e] {
			out[e] = true
		}
	}
	return out
}

func (pr *prover) require(cond value) { pr.holds = pr.w.binary("and", pr.holds, cond) }

// stmts finds the elements of a block.
func (pr *prover) stmts(list []*ir.Stmt) {
	for _, st := range list {
		for k := range st.Domain {
			pr.loop(&st.Domain[k])
		}
		st.Exprs(pr.expr)
		if st.Kind == ir.StoreStmt || st.Kind == ir.ElementStmt {
			pr.element(pr.w.elementOf(st))
		}
		pr.stmts(st.Body)
		pr.stmts(st.Else)
	}
}

// loop finds the span of an index.
func (pr *prover) loop(r *ir.Range) {
	lo, hi := pr.span(r.Lo), pr.span(r.Hi)
	s := span{known: lo.known && hi.known}
	if s.known {
		s.lo, s.hi = lo.lo, hi.hi
		if !r.Closed {
			s.hi = pr.exact("sub", hi.hi, intValue(1))
		}
	}
	pr.loops[r.Slot] = s
}

// expr finds the elements in an expression.
func (pr *prover) expr(e *ir.Expr) {
	ir.WalkExpr(e, func(x *ir.Expr) bool {
		for k := range x.Domain {
			pr.loop(&x.Domain[k])
		}
		if x.Op == ir.OpLoad || x.Op == ir.OpElement {
			pr.element(x)
		}
		return true
	})
}

// element checks the spans of the indices of an element.
func (pr *prover) element(at *ir.Expr) {
	if at.Op == ir.OpElement {
		if pr.w.always(at) {
			return
		}
		if s := pr.span(at.X[0]); s.known && isCertain(s, at.Int) {
			pr.w.certain[at] = true
			return
		}
	}
	if len(at.X) == 0 || pr.found[at] || pr.failed[at] || pr.others[at] {
		// an element that occurs twice is in the same loops, or is checked
		return
	}
	var spans []span
	for _, x := range at.X {
		s := pr.span(x)
		if !s.known || pr.left < 0 {
			pr.failed[at] = true
			return
		}
		spans = append(spans, s)
	}
	pr.found[at] = true
	for axis, s := range spans {
		size := intValue(at.Int)
		if at.Op == ir.OpLoad {
			size = value{name: pr.w.operand(at.Operand).dim[axis], typ: ir.I64}
		}
		pr.require(pr.w.compare("icmp sge", s.lo, intValue(0)))
		pr.require(pr.w.compare("icmp slt", s.hi, size))
	}
}

// exact is arithmetic that must not overflow.
func (pr *prover) exact(op string, x, y value) value {
	w := pr.w
	if v, ok := exactConstant(op, x, y); ok {
		return v
	}
	pr.left -= 4
	name := w.declare("llvm.s"+op+".with.overflow.i64", "{ i64, i1 }", "i64", "i64")
	r := w.ins("call { i64, i1 } @%s(%s, %s)", name, x.text(), y.text())
	over := value{name: w.ins("extractvalue { i64, i1 } %s, 1", r), typ: ir.Bool}
	pr.require(w.not(over))
	return value{name: w.ins("extractvalue { i64, i1 } %s, 0", r), typ: ir.I64}
}

// exactConstant is exact for constants that are small.
func exactConstant(op string, x, y value) (value, bool) {
	const small = 1 << 30
	a, ok := constantOf(x)
	b, ok2 := constantOf(y)
	if !ok || !ok2 || max(a, -a, b, -b) >= small {
		return value{}, false
	}
	switch op {
	case "add":
		return intValue(a + b), true
	case "sub":
		return intValue(a - b), true
	}
	return intValue(a * b), true
}

// span returns the span of an int.
func (pr *prover) span(e *ir.Expr) span {
	if s, ok := pr.memo[e]; ok {
		return s
	}
	s := span{}
	if e.Type == ir.I64 && pr.left > 0 {
		s = pr.spanOf(e)
	}
	if e.Op != ir.OpSlot {
		pr.memo[e] = s
	}
	return s
}

func (pr *prover) spanOf(e *ir.Expr) span {
	w := pr.w
	same := func(v value) span { return span{v, v, true} }
	switch e.Op {
	case ir.OpConst:
		return same(intValue(e.Int))
	case ir.OpField:
		return same(w.field(e))
	case ir.OpSlot:
		switch s, isLoop := pr.loops[e.Slot]; {
		case isLoop:
			return s
		case w.lets[e.Slot] != nil && pr.assigned[e.Slot]:
			return pr.span(w.lets[e.Slot])
		case pr.assigned[e.Slot]:
			return span{}
		}
		return same(w.get(e.Slot, 0))
	case ir.OpNeg:
		if x := pr.span(e.X[0]); x.known {
			none := intValue(0)
			return span{pr.exact("sub", none, x.hi), pr.exact("sub", none, x.lo), true}
		}
		return span{}
	case ir.OpBitAnd:
		for _, k := range e.X {
			if k.Op == ir.OpConst && k.Int >= 0 {
				return span{intValue(0), intValue(k.Int), true}
			}
		}
		return span{}
	case ir.OpShr:
		if x, k := pr.span(e.X[0]), e.X[1]; x.known && k.Op == ir.OpConst {
			return span{w.shift(e, x.lo, intValue(k.Int)), w.shift(e, x.hi, intValue(k.Int)), true}
		}
		return span{}
	case ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpMin, ir.OpMax, ir.OpFloorDiv, ir.OpMod:
	default:
		return span{}
	}
	x, y := pr.span(e.X[0]), pr.span(e.X[1])
	if e.Op == ir.OpMul && e.X[0].Op == ir.OpConst {
		x, y = y, x
	}
	if e.Op == ir.OpMod && y.known && e.X[1].Op == ir.OpConst && e.X[1].Int > 0 {
		return span{intValue(0), intValue(e.X[1].Int - 1), true}
	}
	if !x.known || !y.known {
		return span{}
	}
	extreme := func(op ir.Op, a, b value) value {
		i, ok := constantOf(a)
		j, ok2 := constantOf(b)
		switch {
		case !ok || !ok2:
			return w.combine(op, a, b)
		case (i < j) == (op == ir.OpMin):
			return a
		}
		return b
	}
	switch e.Op {
	case ir.OpAdd:
		return span{pr.exact("add", x.lo, y.lo), pr.exact("add", x.hi, y.hi), true}
	case ir.OpSub:
		return span{pr.exact("sub", x.lo, y.hi), pr.exact("sub", x.hi, y.lo), true}
	case ir.OpMin:
		return span{extreme(ir.OpMin, x.lo, y.lo), extreme(ir.OpMin, x.hi, y.hi), true}
	case ir.OpMax:
		return span{extreme(ir.OpMax, x.lo, y.lo), extreme(ir.OpMax, x.hi, y.hi), true}
	case ir.OpMul:
		a, b := pr.exact("mul", x.lo, y.lo), pr.exact("mul", x.hi, y.hi)
		if y.lo.name == y.hi.name { // by a number that does not change
			return span{extreme(ir.OpMin, a, b), extreme(ir.OpMax, a, b), true}
		}
		c, d := pr.exact("mul", x.lo, y.hi), pr.exact("mul", x.hi, y.lo)
		return span{extreme(ir.OpMin, extreme(ir.OpMin, a, b), extreme(ir.OpMin, c, d)),
			extreme(ir.OpMax, extreme(ir.OpMax, a, b), extreme(ir.OpMax, c, d)), true}
	}
	if k := e.X[1]; e.Op == ir.OpFloorDiv && k.Op == ir.OpConst && k.Int > 0 {
		at := place{}
		return span{w.divide(e, x.lo, constant(ir.I64, k.Int, 0), at), w.divide(e, x.hi, constant(ir.I64, k.Int, 0), at), true}
	}
	return span{}
}
