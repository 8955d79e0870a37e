package analysis

// Dependences between the rounds of a `for`. Its rounds run in order, but if no round uses
// an element or local that another one writes, a back end may run them in any order. A
// local or element that each round only adds to, multiplies, or takes a minimum or maximum
// of is a reduction: a back end may compute the values of the rounds in any order and
// combine them in order.

import "github.com/starpush/starpush/lang/kernel/ir"

// Rounds are facts about the rounds of one `for`.
type Rounds struct {
	fn         *ir.Func
	loop       *ir.Stmt
	index      int              // slot of the loop
	declared   map[int]bool     // locals that each round declares
	changing   map[int]bool     // slots that change within a round: locals, indices of inner loops and folds
	values     map[int]*ir.Expr // values of locals that a round assigns once
	stored     []bool           // operands that the body writes
	reductions map[*ir.Stmt]*ir.Stmt
	forms      map[*ir.Expr]roundFormResult // results of form
}

// roundFormResult is a result of form.
type roundFormResult struct {
	roundForm
	ok bool
}

// Independent reports whether the rounds of loop, a ForStmt, depend on each other through
// reductions at most. It returns the body with reductions as ReduceStmts.
func Independent(fn *ir.Func, loop *ir.Stmt) (r *Rounds, body []*ir.Stmt, ok bool) {
	r = roundsOf(fn, loop)
	if r.dependence().Kind != NoDependence {
		return nil, nil, false
	}
	return r, r.rewrite(loop.Body), true
}

// Dependence is the reason why the rounds of a `for` have to run in order.
type Dependence struct {
	Kind  DependenceKind
	Name  string // of the local or of the operand
	Array bool   // the local is an array
}

// DependenceKind is the kind of a Dependence.
type DependenceKind uint8

// The kinds of dependences.
const (
	NoDependence   DependenceKind = iota
	CarriedLocal                  // a round uses the value that an earlier round assigned to a local
	SharedElements                // a round may use elements that another round writes
	InnerEach                     // the body has an each, and only its rounds are run in another order
	EndsEarly                     // a round may end the loop
)

// DependenceOf returns the first reason why the rounds of loop, a ForStmt, have to run in
// order.
func DependenceOf(fn *ir.Func, loop *ir.Stmt) Dependence { return roundsOf(fn, loop).dependence() }

func (r *Rounds) dependence() Dependence {
	flat := r.collect()
	if r.loop.Value != nil {
		return Dependence{Kind: EndsEarly}
	}
	if !r.localsIndependent() {
		d := Dependence{Kind: CarriedLocal}
		ir.WalkStmts(r.loop.Body, func(x *ir.Stmt) {
			if (x.Kind == ir.SetStmt || x.Kind == ir.ElementStmt) && !r.declared[x.Slot] && r.reductions[x] == nil && d.Name == "" {
				d.Name, d.Array = r.fn.Slots[x.Slot].Name, r.fn.Slots[x.Slot].Len > 0
			}
		})
		return d
	}
	for op, is := range r.stored {
		if is && !r.elementsIndependent(op) && !r.elementsReduced(op) {
			return Dependence{Kind: SharedElements, Name: r.fn.Operands[op].Name}
		}
	}
	if !flat {
		return Dependence{Kind: InnerEach}
	}
	return Dependence{}
}

// RoundsOf returns facts about the rounds of loop, a ForStmt.
func RoundsOf(fn *ir.Func, loop *ir.Stmt) *Rounds {
	r := roundsOf(fn, loop)
	r.collect()
	return r
}

// WholeBody returns facts about the body of fn, as the only round of a loop.
func WholeBody(fn *ir.Func) *Rounds {
	r := roundsOf(fn, &ir.Stmt{Kind: ir.ForStmt, Body: fn.Body, Domain: []ir.Range{{Slot: -1}}})
	r.collect()
	return r
}

func roundsOf(fn *ir.Func, loop *ir.Stmt) *Rounds {
	return &Rounds{fn: fn, loop: loop, index: loop.Domain[0].Slot, declared: map[int]bool{}, changing: map[int]bool{},
		values: map[int]*ir.Expr{}, stored: make([]bool, len(fn.Operands)), reductions: map[*ir.Stmt]*ir.Stmt{}, forms: map[*ir.Expr]roundFormResult{}}
}

// collect finds what changes in the body. It reports false if the body has an each.
func (r *Rounds) collect() bool {
	each := false
	ir.WalkStmts(r.loop.Body, func(s *ir.Stmt) {
		switch s.Kind {
		case ir.SetStmt:
			r.changing[s.Slot] = true
			if s.Declare {
				r.declared[s.Slot] = true
				if !r.fn.Slots[s.Slot].Assigned {
					r.values[s.Slot] = s.Value
				}
			}
		case ir.StoreStmt:
			r.stored[s.Operand] = true
		case ir.ElementStmt:
			r.changing[s.Slot] = true
		case ir.ForStmt:
			r.changing[s.Domain[0].Slot] = true
		case ir.EachStmt:
			each = true
			for _, d := range s.Domain {
				r.changing[d.Slot] = true
			}
		}
	})
	r.walk(func(e *ir.Expr) {
		for _, d := range e.Domain {
			r.changing[d.Slot] = true
		}
	})
	return !each
}

// walk calls f for every expression of the body.
func (r *Rounds) walk(f func(*ir.Expr)) {
	ir.WalkStmts(r.loop.Body, func(s *ir.Stmt) {
		s.Exprs(func(e *ir.Expr) { ir.WalkExpr(e, func(x *ir.Expr) bool { f(x); return true }) })
	})
}

// walkOnce calls f for the statements that run at most once in a round.
func walkOnce(list []*ir.Stmt, f func(*ir.Stmt)) {
	for _, s := range list {
		f(s)
		if s.Kind == ir.IfStmt {
			walkOnce(s.Body, f)
			walkOnce(s.Else, f)
		}
	}
}

// localsIndependent reports whether each local of the surroundings is only read, or is a
// reduction.
func (r *Rounds) localsIndependent() bool {
	sets, reads := map[int]int{}, map[int]int{}
	ir.WalkStmts(r.loop.Body, func(s *ir.Stmt) {
		if (s.Kind == ir.SetStmt || s.Kind == ir.ElementStmt) && !r.declared[s.Slot] {
			sets[s.Slot]++
		}
	})
	if len(sets) == 0 {
		return true
	}
	r.walk(func(e *ir.Expr) {
		if e.Op == ir.OpSlot {
			reads[e.Slot]++
		}
	})
	walkOnce(r.loop.Body, func(s *ir.Stmt) {
		if s.Kind != ir.SetStmt || r.declared[s.Slot] || sets[s.Slot] != 1 || reads[s.Slot] != 1 {
			return
		}
		op, e := reduction(s.Value, func(x *ir.Expr) bool { return x.Op == ir.OpSlot && x.Slot == s.Slot })
		if e != nil {
			r.reductions[s] = &ir.Stmt{Kind: ir.ReduceStmt, Reduce: op, Slot: s.Slot, Operand: -1, Value: e, Pos: s.Pos, Target: s.Target}
			delete(sets, s.Slot)
		}
	})
	return len(sets) == 0
}

// reduction returns the operation and the operand e of v if v is s op e, where isTarget
// reports true for s, and if the values of e can be combined with s in order afterwards.
func reduction(v *ir.Expr, isTarget func(*ir.Expr) bool) (op ir.Op, e *ir.Expr) {
	switch v.Op {
	case ir.OpAdd, ir.OpMul, ir.OpMin, ir.OpMax:
		if isTarget(v.X[1]) {
			return v.Op, v.X[0]
		}
		fallthrough
	case ir.OpSub:
		if isTarget(v.X[0]) {
			return v.Op, v.X[1]
		}
	}
	return 0, nil
}

// HasReductions reports whether the loop has reductions.
func (r *Rounds) HasReductions() bool { return len(r.reductions) > 0 }

// Stores reports whether the body writes operand op.
func (r *Rounds) Stores(op int) bool { return r.stored[op] }

// SingleValue returns the value of a local that a round assigns once, or nil.
func (r *Rounds) SingleValue(slot int) *ir.Expr { return r.values[slot] }

// accesses returns the indices of the elements of operand op that a round loads and stores.
func (r *Rounds) accesses(op int) (loads, stores [][]*ir.Expr) {
	ir.WalkStmts(r.loop.Body, func(s *ir.Stmt) {
		if s.Kind == ir.StoreStmt && s.Operand == op {
			stores = append(stores, s.Index)
		}
	})
	r.walk(func(e *ir.Expr) {
		if e.Op == ir.OpLoad && e.Operand == op {
			loads = append(loads, e.X)
		}
	})
	return loads, stores
}

// maxPairs is the most pairs of elements of one operand that are compared.
const maxPairs = 1 << 14

// distinct returns list without duplicates, in the memory of list.
func (r *Rounds) distinct(list [][]*ir.Expr) [][]*ir.Expr {
	seen, out := map[string]bool{}, list[:0]
	for _, x := range list {
		if at := r.fn.ExprsText(x); !seen[at] {
			seen[at] = true
			out = append(out, x)
		}
	}
	return out
}

// elementsIndependent reports whether no round uses an element of operand op that another
// round writes: along some axis their indices always differ.
func (r *Rounds) elementsIndependent(op int) bool {
	loads, stores := r.accesses(op)
	loads, stores = r.distinct(loads), r.distinct(stores)
	if len(stores)*(len(stores)+len(loads)) > maxPairs {
		return false
	}
	for k, s := range stores {
		for _, u := range append(stores[k:len(stores):len(stores)], loads...) {
			if !r.disjoint(s, u) {
				return false
			}
		}
	}
	return true
}

// disjoint reports whether the elements at a in one round and at b in another round are
// always different.
func (r *Rounds) disjoint(a, b []*ir.Expr) bool {
	for axis := range a {
		f, ok := r.form(a[axis], 32)
		g, ok2 := r.form(b[axis], 32)
		if ok && ok2 && r.indicesDiffer(f, g) {
			return true
		}
	}
	return false
}

// indicesDiffer is disjoint for one index.
func (r *Rounds) indicesDiffer(f, g roundForm) bool {
	if f.k == 0 && g.k != 0 {
		f, g = g, f
	}
	d, constant := g.minus(f).constant()
	switch {
	case f.k == g.k && f.k == 0:
		return constant && d != 0
	case f.k == g.k: // g has the value of f d/k rounds later
		return constant && d%f.k == 0 == (d == 0)
	case g.k == 0 && (f.k == 1 || f.k == -1):
		// equal in round v, where f.k*v is g-f: is v before the first round or after the last?
		v := g.minus(roundForm{rest: f.rest}).times(f.k)
		lo, ok := r.form(r.loop.Domain[0].Lo, 32)
		hi, ok2 := r.form(r.loop.Domain[0].Hi, 32)
		if !r.loop.Domain[0].Closed {
			hi.rest.c--
		}
		before, isConst := lo.minus(v).constant()
		after, isConst2 := v.minus(hi).constant()
		return ok && isConst && before > 0 || ok2 && isConst2 && after > 0
	}
	return false
}

// elementsReduced reports whether all accesses of the body to operand op are reductions into
// elements that are the same in all rounds, one reduction each.
func (r *Rounds) elementsReduced(op int) bool {
	loads, stores := r.accesses(op)
	if len(loads) != len(stores) {
		return false
	}
	found := 0
	walkOnce(r.loop.Body, func(s *ir.Stmt) {
		if s.Kind != ir.StoreStmt || s.Operand != op {
			return
		}
		for _, x := range s.Index {
			if !r.Invariant(x) {
				return
			}
		}
		at := r.fn.ExprsText(s.Index)
		how, e := reduction(s.Value, func(x *ir.Expr) bool { return x.Op == ir.OpLoad && x.Operand == op && r.fn.ExprsText(x.X) == at })
		if e != nil {
			found++
			r.reductions[s] = &ir.Stmt{Kind: ir.ReduceStmt, Reduce: how, Operand: op, Index: s.Index, Value: e, Pos: s.Pos, Target: s.Target}
		}
	})
	if found != len(stores) {
		return false
	}
	for k, a := range stores {
		for _, b := range stores[k+1:] {
			if !r.disjoint(a, b) {
				return false
			}
		}
	}
	return true
}

// rewrite returns list with reductions as ReduceStmts.
func (r *Rounds) rewrite(list []*ir.Stmt) []*ir.Stmt {
	out := make([]*ir.Stmt, len(list))
	for k, s := range list {
		switch t := r.reductions[s]; {
		case t != nil:
			out[k] = t
		case s.Kind == ir.IfStmt:
			c := *s
			c.Body, c.Else = r.rewrite(s.Body), r.rewrite(s.Else)
			out[k] = &c
		default:
			out[k] = s
		}
	}
	return out
}

// Invariant reports whether e has the same value wherever a round evaluates it.
func (r *Rounds) Invariant(e *ir.Expr) bool {
	ok := true
	ir.WalkExpr(e, func(x *ir.Expr) bool {
		switch x.Op {
		case ir.OpSlot, ir.OpElement:
			ok = ok && x.Slot != r.index && !r.changing[x.Slot]
		case ir.OpLoad:
			ok = ok && !r.stored[x.Operand]
		case ir.OpFold:
			ok = false
		}
		return ok
	})
	return ok
}

// roundForm is k times the index of the loop, and a sum that is the same in all rounds. The
// terms of that are the texts of expressions.
type roundForm struct {
	k    int64
	rest sum[string]
}

// form returns the form of e, if it has one, with locals of a round replaced by their values.
func (r *Rounds) form(e *ir.Expr, depth int) (roundForm, bool) {
	if e.Type != ir.I64 || depth == 0 {
		return roundForm{}, false
	}
	if f, known := r.forms[e]; known {
		return f.roundForm, f.ok
	}
	f, ok := r.formOf(e, depth)
	r.forms[e] = roundFormResult{f, ok}
	return f, ok
}

func (r *Rounds) formOf(e *ir.Expr, depth int) (roundForm, bool) {
	switch e.Op {
	case ir.OpConst:
		return roundForm{rest: sum[string]{c: e.Int}}, e.Int < maxCoefficient && e.Int > -maxCoefficient
	case ir.OpSlot:
		if e.Slot == r.index {
			return roundForm{k: 1}, true
		}
		if v := r.values[e.Slot]; v != nil {
			return r.form(v, depth-1)
		}
	case ir.OpNeg:
		a, ok := r.form(e.X[0], depth-1)
		return a.times(-1), ok
	case ir.OpAdd, ir.OpSub:
		a, ok := r.form(e.X[0], depth-1)
		b, ok2 := r.form(e.X[1], depth-1)
		if e.Op == ir.OpSub {
			b = b.times(-1)
		}
		s := a.plus(b)
		return s, ok && ok2 && s.small()
	case ir.OpMul:
		a, b := e.X[0], e.X[1]
		if a.Op == ir.OpConst {
			a, b = b, a
		}
		if b.Op == ir.OpConst && b.Int < 1<<20 && b.Int > -(1<<20) {
			f, ok := r.form(a, depth-1)
			f = f.times(b.Int)
			return f, ok && f.small()
		}
	}
	if !r.Invariant(e) {
		return roundForm{}, false
	}
	return roundForm{rest: sum[string]{terms: map[string]int64{r.fn.ExprText(e): 1}}}, true
}

func (a roundForm) times(n int64) roundForm { return roundForm{a.k * n, a.rest.times(n)} }

func (a roundForm) plus(b roundForm) roundForm { return roundForm{a.k + b.k, a.rest.plus(b.rest)} }

func (a roundForm) minus(b roundForm) roundForm { return a.plus(b.times(-1)) }

// constant returns the part of a that is the same in all rounds, if it is a constant.
func (a roundForm) constant() (int64, bool) { return a.rest.constant() }

// small reports whether all numbers of a are below maxCoefficient.
func (a roundForm) small() bool {
	return a.k < maxCoefficient && a.k > -maxCoefficient && a.rest.small()
}
