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
	limited       []limited
	misuses       []misuse // in the order of the text
	unsure        bool     // some writes come from locals that change
	reads, writes bool
}

// contribution is the first assignment of a fold: sum, prod, min or max.
type contribution struct {
	fold string
	at   *syntax.Assign
}

// limited is an assignment that is a contribution under some folds, if at all.
type limited struct {
	at    *syntax.Assign
	folds []string
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
	b := &bodyUse{found: &Contributions{param: param}, param: param, locals: localsOf(k.Body, param), read: map[*syntax.Ident]int{}}
	b.block(k.Body, within{once: true})
	return b.found
}

// bodyUse walks over a body.
type bodyUse struct {
	found  *Contributions
	param  string
	locals *bodyLocals
	names  *types.Scope[*local]
	clock  int                   // of the versions of locals
	writes []syntax.Expr         // what was written of the operand so far
	read   map[*syntax.Ident]int // how much of writes there was where an expanded name of the operand was read
}

// within says where a statement stands.
type within struct {
	once  bool         // neither in an if nor in a for
	each  *syntax.Each // the loop around it, if it holds nothing else in between
	sole  syntax.Stmt  // the outermost loop around it, if all of them hold nothing else
	guard *guarded     // the condition around it that looks at the operand
	maybe []guard      // of the conditions around it, with locals that may hold something of the operand
}

// soleLoop is the sole of what stands in loop, which stands in here.
func (in within) soleLoop(loop syntax.Stmt) syntax.Stmt {
	if in.sole == nil && in.once {
		return loop
	}
	return in.sole
}

func (b *bodyUse) block(k *syntax.Block, in within, indices ...*syntax.Ident) {
	if k == nil {
		return
	}
	b.names = b.names.Inner()
	for _, id := range indices {
		b.names.Insert(id.Name, b.locals.of[id])
	}
	if len(k.Stmts) != 1 {
		in.each, in.sole = nil, nil
	}
	for _, s := range k.Stmts {
		b.stmt(s, in)
	}
	b.names = b.names.Parent
}

func (b *bodyUse) stmt(s syntax.Stmt, in within) {
	switch s := s.(type) {
	case *syntax.Block:
		b.block(s, in)
	case *syntax.Let:
		if s.Name == nil {
			return
		}
		l, value := b.locals.of[s.Name], b.expand(s.Value)
		l.now = b.use(value, nil) != unused
		if !l.changes {
			l.value = value
		}
		b.names.Insert(s.Name.Name, l)
	case *syntax.For:
		b.look(s.In)
		b.loop(s, func() { b.block(s.Body, within{guard: in.guard, maybe: in.maybe, sole: in.soleLoop(s)}, s.Names...) })
	case *syntax.Each:
		for _, d := range s.Domain {
			if _, size := unparen(d).(*syntax.Ident); !size {
				b.look(d)
			}
		}
		b.loop(s, func() {
			b.block(s.Body, within{once: in.once, each: s, sole: in.soleLoop(s), guard: in.guard, maybe: in.maybe}, s.Names...)
		})
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
	if l := b.names.Lookup(id.Name); l != nil {
		l.now = b.use(b.expand(a.Value), nil) != unused || a.Op != "=" && l.now
		l.version = b.tick()
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
	defer func() { b.writes = append(b.writes, target) }()
	u := b.use(value, target)
	if fold := foldOfOp[a.Op]; fold != "" {
		b.found.reads = true
		switch {
		case u == unused:
			u = fold
		case u == unsure && fold == "sum":
			u = maybeProd // m += s, and s has something of m
		case u == maybeProd: // m += s - m
			u = unsure
		case fold == "sum":
			u = joined(self, u, fold)
		default:
			u = other
		}
	}
	switch u {
	case "-self":
		u = "prod"
	case "-sum", "-min", "-max", "-" + bounds:
		u = other
	case unused:
		k := slices.IndexFunc(in.maybe, func(g guard) bool { return syntax.EqualExpr(g.value, value) })
		if k >= 0 { // if v > best { m = v }
			u = unsure
			b.found.limited = append(b.found.limited, limited{a, []string{string(in.maybe[k].fold)}})
		}
	}
	if g := in.guard; g != nil && (u == unsure || u == bounds || u == maybeProd) {
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
	case bounds, maybeProd:
		b.found.reads, b.found.unsure = true, true
		b.found.limited = append(b.found.limited, limited{a, foldsOf[u]})
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
