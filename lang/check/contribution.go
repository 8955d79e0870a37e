package check

// Contributions: what a codelet body does to an operand that is passed REDUX. Each task
// has a copy that other tasks of its worker may have changed, so that every write must be
// a contribution, and nothing else may look at the value.

import (
	"slices"

	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// Contributions is what a body does to one of its operands.
type Contributions struct {
	param         string
	folds         []contribution // one for each fold, in the order of the text
	misuses       []misuse       // in the order of the text
	unsure        bool           // some writes come from locals that change
	reads, writes bool
}

// contribution is the first assignment of a fold: sum, prod, min or max.
type contribution struct {
	fold string
	at   *syntax.Assign
}

// misuse is a place in a body that needs all of the value, or that loses it.
type misuse struct {
	kind   misuseKind
	at     syntax.Node    // of an assignment that is all that a loop does, the loop
	assign *syntax.Assign // of overwrites
	whole  bool           // overwrites every element, whatever the data
	once   bool           // neither in an if nor in a for
	alone  bool           // once, but for loops that at begins with and that do nothing else
}

type misuseKind uint8

const (
	overwrites misuseKind = iota // assigns what does not depend on it
	recomputes                   // assigns something else than a contribution
	looks                        // reads it for something else
)

// bodyOperand is an operand of a codelet.
type bodyOperand struct {
	codelet *types.Object
	param   string
}

// ContributionsOf reads the body of the codelet o; nil where there is none. The unit keeps
// what it finds: many inserts may name the codelet.
func ContributionsOf(o *types.Object, param string) *Contributions {
	k, ok := o.Node.(*syntax.Codelet)
	if !ok || k.Body == nil {
		return nil
	}
	u, ok := o.Unit.(*Unit)
	if !ok {
		return contributions(k, param)
	}
	key := bodyOperand{o, param}
	if found, ok := u.contributions.Load(key); ok {
		return found.(*Contributions)
	}
	found := contributions(k, param)
	u.contributions.Store(key, found)
	return found
}

func contributions(k *syntax.Codelet, param string) *Contributions {
	b := &bodyUse{found: &Contributions{param: param}, param: param, changes: map[string]bool{}, tainted: map[string]bool{}}
	b.locals(k.Body.Stmts)
	b.block(k.Body, within{once: true})
	return b.found
}

// bodyUse walks over a body.
type bodyUse struct {
	found   *Contributions
	param   string
	names   *scopeNames
	changes map[string]bool // locals that are assigned again
	tainted map[string]bool // of those, the ones that may hold something of the operand
}

// scopeNames are the locals of a block: what they stand for, nil where that changes.
type scopeNames struct {
	outer *scopeNames
	of    map[string]syntax.Expr
}

func (n *scopeNames) find(name string) (value syntax.Expr, ok bool) {
	for ; n != nil; n = n.outer {
		if v, ok := n.of[name]; ok {
			return v, true
		}
	}
	return nil, false
}

// within says where a statement stands.
type within struct {
	once  bool         // neither in an if nor in a for
	each  *syntax.Each // the loop around it, if it holds nothing else in between
	sole  syntax.Stmt  // the outermost loop around it, if all of them hold nothing else
	guard *guarded     // the condition around it that looks at the operand
}

// soleLoop is the sole of what stands in loop, which stands in here.
func (in within) soleLoop(loop syntax.Stmt) syntax.Stmt {
	if in.sole == nil && in.once {
		return loop
	}
	return in.sole
}

// guarded is an `if` whose condition compares the operand with something.
type guarded struct {
	guards []guard
	plain  bool // all of guards hold inside
	used   bool // something inside contributes by it
	wrong  bool // something inside does anything else
}

// locals finds the names that are assigned again and hold something of the operand.
func (b *bodyUse) locals(list []syntax.Stmt) {
	values := map[string][]syntax.Expr{}
	for _, s := range list {
		walkNested(s, func(s syntax.Stmt) {
			switch s := s.(type) {
			case *syntax.Let:
				if s.Name != nil {
					values[s.Name.Name] = append(values[s.Name.Name], s.Value)
				}
			case *syntax.Assign:
				if id, ok := unparen(s.Target).(*syntax.Ident); ok && id.Name != b.param {
					b.changes[id.Name] = true
					values[id.Name] = append(values[id.Name], s.Value)
				}
			}
		})
	}
	into := map[string][]string{} // the locals that are made of each name
	for name, list := range values {
		for _, v := range list {
			walkExpr(v, func(e syntax.Expr) bool {
				switch e := e.(type) {
				case *syntax.Selector:
					return false
				case *syntax.Ident:
					into[e.Name] = append(into[e.Name], name)
				}
				return true
			})
		}
	}
	for next := into[b.param]; len(next) > 0; {
		name := next[0]
		next = next[1:]
		if !b.tainted[name] {
			b.tainted[name] = true
			next = append(next, into[name]...)
		}
	}
}

func (b *bodyUse) block(k *syntax.Block, in within, indices ...*syntax.Ident) {
	if k == nil {
		return
	}
	b.names = &scopeNames{outer: b.names, of: map[string]syntax.Expr{}}
	for _, id := range indices {
		b.names.of[id.Name] = nil
	}
	if len(k.Stmts) != 1 {
		in.each, in.sole = nil, nil
	}
	for _, s := range k.Stmts {
		b.stmt(s, in)
	}
	b.names = b.names.outer
}

func (b *bodyUse) stmt(s syntax.Stmt, in within) {
	switch s := s.(type) {
	case *syntax.Block:
		b.block(s, in)
	case *syntax.Let:
		if s.Name == nil {
			return
		}
		value := syntax.Expr(nil)
		if !b.changes[s.Name.Name] {
			value = b.expand(s.Value)
		}
		b.names.of[s.Name.Name] = value
	case *syntax.For:
		b.look(s.In)
		b.block(s.Body, within{guard: in.guard, sole: in.soleLoop(s)}, s.Names...)
	case *syntax.Each:
		for _, d := range s.Domain {
			if _, size := unparen(d).(*syntax.Ident); !size {
				b.look(d)
			}
		}
		b.block(s.Body, within{once: in.once, each: s, sole: in.soleLoop(s), guard: in.guard}, s.Names...)
	case *syntax.If:
		b.condition(s, in)
	case *syntax.Assign:
		b.assign(s, in)
	}
}

// look notes that e is evaluated for something else than a contribution.
func (b *bodyUse) look(e syntax.Expr) {
	if u := b.use(b.expand(e), nil); u != unused && u != unsure {
		b.found.reads = true
		b.misuse(misuse{kind: looks, at: e})
	}
}

func (b *bodyUse) misuse(m misuse) { b.found.misuses = append(b.found.misuses, m) }

// condition walks over an `if`. A condition may look at the operand where it does no more
// than to leave out contributions that would change nothing: if v > m { m = v }.
func (b *bodyUse) condition(s *syntax.If, in within) {
	in = within{guard: in.guard}
	cond := b.expand(s.Cond)
	if u := b.use(cond, nil); u == unused || u == unsure {
		b.block(s.Then, in)
		b.otherwise(s.Else, in)
		return
	}
	b.found.reads = true
	at := len(b.found.misuses)
	then, otherwise := &guarded{plain: true}, &guarded{plain: true}
	ok := b.guards(then, cond, false)
	if ok && b.guards(otherwise, cond, true) {
		b.block(s.Then, within{guard: then})
		b.otherwise(s.Else, within{guard: otherwise})
		ok = (then.used || otherwise.used) && !then.wrong && !otherwise.wrong
	} else {
		b.block(s.Then, in)
		b.otherwise(s.Else, in)
	}
	if ok && in.guard != nil {
		in.guard.used = true
	}
	if !ok {
		b.found.misuses = slices.Insert(b.found.misuses, at, misuse{kind: looks, at: s.Cond})
	}
}

func (b *bodyUse) otherwise(s syntax.Stmt, in within) {
	if s != nil {
		b.stmt(s, in)
	}
}

func (b *bodyUse) assign(a *syntax.Assign, in within) {
	base := unparen(a.Target)
	x, element := base.(*syntax.Index)
	if element {
		base = unparen(x.X)
	}
	id, ok := base.(*syntax.Ident)
	if !ok {
		return
	}
	if _, local := b.names.find(id.Name); local {
		return
	}
	if element {
		for _, i := range x.Args {
			b.look(i)
		}
	}
	if id.Name != b.param {
		b.look(a.Value)
		if in.guard != nil {
			in.guard.wrong = true
		}
		return
	}
	b.found.writes = true
	target, value := b.expand(a.Target), b.expand(a.Value)
	u := b.use(value, target)
	if fold := foldOfOp[a.Op]; fold != "" {
		b.found.reads = true
		switch {
		case u == unused || u == unsure:
			u = fold
		case fold == "sum":
			u = joined(self, u, fold)
		default:
			u = other
		}
	}
	switch u {
	case "-self":
		u = "prod"
	case "-sum", "-min", "-max":
		u = other
	}
	if g := in.guard; g != nil && u == unsure {
		g.used = true
	} else if g != nil {
		fold := g.fold(target, value, u)
		if fold == unused {
			g.wrong = true
			return
		}
		g.used, u = true, fold
	}
	switch u {
	case unused:
		m := misuse{kind: overwrites, at: a, assign: a, once: in.once}
		if in.each != nil {
			m.at = in.each
		}
		if m.alone = in.once || in.sole != nil; in.sole != nil {
			m.at = in.sole
		}
		m.whole = in.once && (!element || in.each != nil && b.covers(in.each, x))
		b.misuse(m)
	case self:
	case unsure:
		b.found.reads, b.found.unsure = true, true
	case other:
		b.found.reads = true
		b.misuse(misuse{kind: recomputes, at: a})
	default:
		b.found.reads = true
		if !slices.ContainsFunc(b.found.folds, func(c contribution) bool { return c.fold == string(u) }) {
			b.found.folds = append(b.found.folds, contribution{string(u), a})
		}
	}
}

// covers reports whether x are the elements that each runs over, one by one.
func (b *bodyUse) covers(each *syntax.Each, x *syntax.Index) bool {
	if len(each.Domain) != 1 || len(each.Names) != len(x.Args) {
		return false
	}
	id, ok := unparen(each.Domain[0]).(*syntax.Ident)
	if !ok || id.Name != b.param {
		return false
	}
	for k, i := range x.Args {
		if id, ok := unparen(i).(*syntax.Ident); !ok || id.Name != each.Names[k].Name {
			return false
		}
	}
	return true
}
