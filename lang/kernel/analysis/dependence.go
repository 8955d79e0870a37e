package analysis

// Dependences between the rounds of a `for`. Its rounds run in order, and a
// body means that; but where no round can see what another one did, a back end
// may run them in any way it likes. What a round adds to, multiplies into or
// takes the least of is a reduction: all else of the rounds is independent.

import "github.com/starpush/starpush/lang/kernel/ir"

// Rounds looks at the body of one `for`.
type Rounds struct {
	fn      *ir.Func
	loop    *ir.Stmt
	index   int              // slot of the loop
	made    map[int]bool     // names that each round declares
	changes map[int]bool     // slots that change within a round: names, indices of inner loops and folds
	lets    map[int]*ir.Expr // values of the names that a round gives one value
	stored  []bool           // operands that the body writes
	reduced map[*ir.Stmt]*ir.Stmt
	forms   map[*ir.Expr]formed // what form found
}

// formed is what form found.
type formed struct {
	form
	ok bool
}

// Independent reports whether the rounds of loop, a ForStmt, depend on each other
// through reductions alone. It returns the body with those as reduceStmts.
func Independent(fn *ir.Func, loop *ir.Stmt) (r *Rounds, body []*ir.Stmt, ok bool) {
	r = roundsOf(fn, loop)
	if r.dependence().Kind != NoDependence {
		return nil, nil, false
	}
	return r, r.rewrite(loop.Body), true
}

// Dependence is why the rounds of a `for` have to run in order.
type Dependence struct {
	Kind DependenceKind
	Name string // of the local or of the operand
}

type DependenceKind uint8

const (
	NoDependence   DependenceKind = iota
	CarriedLocal                  // a round uses the value of a local that an earlier one left
	SharedElements                // a round may use elements that another one writes
	InnerEach                     // none was looked for: the body has an each, whose rounds are independent
)

// DependenceOf returns the first reason why the rounds of loop, a ForStmt, have to run in order.
func DependenceOf(fn *ir.Func, loop *ir.Stmt) Dependence { return roundsOf(fn, loop).dependence() }

func (r *Rounds) dependence() Dependence {
	flat := r.collect()
	if !r.names() {
		d := Dependence{Kind: CarriedLocal}
		ir.WalkStmts(r.loop.Body, func(x *ir.Stmt) {
			if x.Kind == ir.SetStmt && !r.made[x.Slot] && r.reduced[x] == nil && d.Name == "" {
				d.Name = r.fn.Slots[x.Slot].Name
			}
		})
		return d
	}
	for op, is := range r.stored {
		if is && !r.ownElements(op) && !r.reducedElements(op) {
			return Dependence{SharedElements, r.fn.Operands[op].Name}
		}
	}
	if !flat {
		return Dependence{Kind: InnerEach}
	}
	return Dependence{}
}

// WholeBody returns the body of fn as the only round of a loop.
func WholeBody(fn *ir.Func) *Rounds {
	r := roundsOf(fn, &ir.Stmt{Kind: ir.ForStmt, Body: fn.Body, Domain: []ir.Range{{Slot: -1}}})
	r.collect()
	return r
}

func roundsOf(fn *ir.Func, loop *ir.Stmt) *Rounds {
	return &Rounds{fn: fn, loop: loop, index: loop.Domain[0].Slot, made: map[int]bool{}, changes: map[int]bool{},
		lets: map[int]*ir.Expr{}, stored: make([]bool, len(fn.Operands)), reduced: map[*ir.Stmt]*ir.Stmt{}, forms: map[*ir.Expr]formed{}}
}

// collect lists what changes in the body. false: there is an each in it, whose
// rounds are the ones to make the most of.
func (r *Rounds) collect() bool {
	each := false
	ir.WalkStmts(r.loop.Body, func(s *ir.Stmt) {
		switch s.Kind {
		case ir.SetStmt:
			r.changes[s.Slot] = true
			if s.Declare {
				r.made[s.Slot] = true
				if !r.fn.Slots[s.Slot].Assigned {
					r.lets[s.Slot] = s.Value
				}
			}
		case ir.StoreStmt:
			r.stored[s.Operand] = true
		case ir.ForStmt:
			r.changes[s.Domain[0].Slot] = true
		case ir.EachStmt:
			each = true
			for _, d := range s.Domain {
				r.changes[d.Slot] = true
			}
		}
	})
	r.walk(func(e *ir.Expr) {
		for _, d := range e.Domain {
			r.changes[d.Slot] = true
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

// once calls f for the statements that run at most once in a round.
func once(list []*ir.Stmt, f func(*ir.Stmt)) {
	for _, s := range list {
		f(s)
		if s.Kind == ir.IfStmt {
			once(s.Body, f)
			once(s.Else, f)
		}
	}
}

// names reports whether names from outside are only read, or are reductions.
func (r *Rounds) names() bool {
	sets, reads := map[int]int{}, map[int]int{}
	ir.WalkStmts(r.loop.Body, func(s *ir.Stmt) {
		if s.Kind == ir.SetStmt && !r.made[s.Slot] {
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
	once(r.loop.Body, func(s *ir.Stmt) {
		if s.Kind != ir.SetStmt || r.made[s.Slot] || sets[s.Slot] != 1 || reads[s.Slot] != 1 {
			return
		}
		op, e := reduction(s.Value, func(x *ir.Expr) bool { return x.Op == ir.OpSlot && x.Slot == s.Slot })
		if e != nil {
			r.reduced[s] = &ir.Stmt{Kind: ir.ReduceStmt, Reduce: op, Slot: s.Slot, Operand: -1, Value: e, Pos: s.Pos, Target: s.Target}
			delete(sets, s.Slot)
		}
	})
	return len(sets) == 0
}

// reduction takes s op e apart, for the operations whose results for several
// rounds can be computed first and joined afterwards, in order.
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

// HasReductions reports whether rounds depend on each other through reductions.
func (r *Rounds) HasReductions() bool { return len(r.reduced) > 0 }

// Stores reports whether the body writes operand op.
func (r *Rounds) Stores(op int) bool { return r.stored[op] }

// SingleValue returns the value of a local that a round gives one value; nil: it does not.
func (r *Rounds) SingleValue(slot int) *ir.Expr { return r.lets[slot] }

// uses lists the elements of operand op that a round loads and stores.
func (r *Rounds) uses(op int) (loads, stores [][]*ir.Expr) {
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

// different returns list without what stands in it again.
func (r *Rounds) different(list [][]*ir.Expr) [][]*ir.Expr {
	seen, out := map[string]bool{}, list[:0]
	for _, x := range list {
		if at := r.fn.ExprsText(x); !seen[at] {
			seen[at] = true
			out = append(out, x)
		}
	}
	return out
}

// ownElements reports whether no round uses an element of operand op that
// another one writes: along one axis their indices are always different.
func (r *Rounds) ownElements(op int) bool {
	loads, stores := r.uses(op)
	loads, stores = r.different(loads), r.different(stores)
	if len(stores)*(len(stores)+len(loads)) > maxPairs {
		return false
	}
	for k, s := range stores {
		for _, u := range append(stores[k:len(stores):len(stores)], loads...) {
			if !r.apart(s, u) {
				return false
			}
		}
	}
	return true
}

// apart reports whether the elements at a and b differ if one of them is used in
// one round and one in another.
func (r *Rounds) apart(a, b []*ir.Expr) bool {
	for axis := range a {
		f, ok := r.form(a[axis], 32)
		g, ok2 := r.form(b[axis], 32)
		if ok && ok2 && r.differ(f, g) {
			return true
		}
	}
	return false
}

// differ is apart for one index.
func (r *Rounds) differ(f, g form) bool {
	if f.k == 0 && g.k != 0 {
		f, g = g, f
	}
	d, constant := g.minus(f).constant()
	switch {
	case f.k == g.k && f.k == 0:
		return constant && d != 0
	case f.k == g.k: // the same place d/k rounds later
		return constant && d%f.k == 0 == (d == 0)
	case g.k == 0 && (f.k == 1 || f.k == -1):
		// in round v if f.k*v is g-f; is that before the first or behind the last?
		v := g.minus(form{rest: f.rest, c: f.c}).times(f.k)
		lo, ok := r.form(r.loop.Domain[0].Lo, 32)
		hi, ok2 := r.form(r.loop.Domain[0].Hi, 32)
		if !r.loop.Domain[0].Closed {
			hi.c--
		}
		before, isConst := lo.minus(v).constant()
		after, isConst2 := v.minus(hi).constant()
		return ok && isConst && before > 0 || ok2 && isConst2 && after > 0
	}
	return false
}

// reducedElements reports whether all that the body does with operand op are
// reductions into elements that are the same in all rounds, one each.
func (r *Rounds) reducedElements(op int) bool {
	loads, stores := r.uses(op)
	if len(loads) != len(stores) {
		return false
	}
	found := 0
	once(r.loop.Body, func(s *ir.Stmt) {
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
			r.reduced[s] = &ir.Stmt{Kind: ir.ReduceStmt, Reduce: how, Operand: op, Index: s.Index, Value: e, Pos: s.Pos, Target: s.Target}
		}
	})
	if found != len(stores) {
		return false
	}
	for k, a := range stores {
		for _, b := range stores[k+1:] {
			if !r.apart(a, b) {
				return false
			}
		}
	}
	return true
}

// rewrite returns list with its reductions.
func (r *Rounds) rewrite(list []*ir.Stmt) []*ir.Stmt {
	out := make([]*ir.Stmt, len(list))
	for k, s := range list {
		switch t := r.reduced[s]; {
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

// Invariant reports whether e has one value in all rounds, whenever it is
// evaluated.
func (r *Rounds) Invariant(e *ir.Expr) bool {
	ok := true
	ir.WalkExpr(e, func(x *ir.Expr) bool {
		switch x.Op {
		case ir.OpSlot:
			ok = ok && x.Slot != r.index && !r.changes[x.Slot]
		case ir.OpLoad:
			ok = ok && !r.stored[x.Operand]
		case ir.OpFold:
			ok = false
		}
		return ok
	})
	return ok
}

// form is k times the index of the loop, and terms that are the same in all
// rounds: products with what their texts stand for, and c.
type form struct {
	k    int64
	rest map[string]int64
	c    int64
}

// form returns the form of e, if it has one. Names of a round stand for their
// values.
func (r *Rounds) form(e *ir.Expr, depth int) (form, bool) {
	if e.Type != ir.I64 || depth == 0 {
		return form{}, false
	}
	if f, known := r.forms[e]; known {
		return f.form, f.ok
	}
	f, ok := r.formOf(e, depth)
	r.forms[e] = formed{f, ok}
	return f, ok
}

func (r *Rounds) formOf(e *ir.Expr, depth int) (form, bool) {
	switch e.Op {
	case ir.OpConst:
		return form{c: e.Int}, e.Int < maxCoefficient && e.Int > -maxCoefficient
	case ir.OpSlot:
		if e.Slot == r.index {
			return form{k: 1}, true
		}
		if v := r.lets[e.Slot]; v != nil {
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
		return form{}, false
	}
	return form{rest: map[string]int64{r.fn.ExprText(e): 1}}, true
}

func (a form) times(n int64) form {
	out := form{k: a.k * n, c: a.c * n}
	if n != 0 && len(a.rest) > 0 {
		out.rest = make(map[string]int64, len(a.rest))
		for t, v := range a.rest {
			out.rest[t] = v * n
		}
	}
	return out
}

func (a form) plus(b form) form {
	out := form{k: a.k + b.k, c: a.c + b.c, rest: make(map[string]int64, len(a.rest)+len(b.rest))}
	for t, v := range a.rest {
		out.rest[t] = v
	}
	for t, v := range b.rest {
		if v += out.rest[t]; v != 0 {
			out.rest[t] = v
		} else {
			delete(out.rest, t)
		}
	}
	return out
}

func (a form) minus(b form) form { return a.plus(b.times(-1)) }

// constant returns what is known of a when its terms are none; the part that
// grows with the index does not count.
func (a form) constant() (int64, bool) { return a.c, len(a.rest) == 0 }

func (a form) small() bool {
	ok := a.k < maxCoefficient && a.k > -maxCoefficient && a.c < maxCoefficient && a.c > -maxCoefficient
	for _, v := range a.rest {
		ok = ok && v < maxCoefficient && v > -maxCoefficient
	}
	return ok
}
