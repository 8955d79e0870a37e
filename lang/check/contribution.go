package check

// Contributions: the effect of a codelet body on an operand that is passed REDUX. Each task
// has a copy that other tasks of its worker may have changed, so every write must be a
// contribution, and nothing else may read the value.

import (
	"slices"

	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// Contributions is the effect of a body on one of its operands.
type Contributions struct {
	param         string
	folds         []contribution // one for each fold, in the order of the source
	limited       []conditional
	misuses       []misuse // in the order of the source
	unsure        bool     // some writes depend on locals that are assigned again
	reads, writes bool
}

// contribution is the first assignment of a fold: sum, prod, min or max.
type contribution struct {
	fold string
	at   *syntax.Assign
}

// conditional is an assignment that may be a contribution, under some folds only.
type conditional struct {
	at    *syntax.Assign
	folds []string
}

// misuse is a place in a body that needs the complete value, or that loses it.
type misuse struct {
	kind   misuseKind
	at     syntax.Node    // for an assignment that is the only statement of a loop, the loop
	assign *syntax.Assign // of overwrites
	whole  bool           // overwrites every element, for any data
	once   bool           // neither in an if nor in a for
	alone  bool           // runs once, except for loops that at begins with and that do nothing else
}

type misuseKind uint8

const (
	overwrites misuseKind = iota // assigns a value that does not depend on it
	recomputes                   // assigns another value that is no contribution
	readsValue                   // reads it for another purpose
)

// bodyOperand is an operand of a codelet.
type bodyOperand struct {
	codelet *types.Object
	param   string
}

// ContributionsOf returns the effect of the body of the codelet o on an operand, or nil if o
// has no body. The unit caches it, because many inserts may name the codelet.
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
	b := &bodyUse{found: &Contributions{param: param}, param: param, locals: localsOf(k.Body, param), writesBefore: map[*syntax.Ident]int{}}
	b.block(k.Body, position{unconditional: true})
	return b.found
}

// bodyUse is the state of a walk over a body.
type bodyUse struct {
	found        *Contributions
	param        string
	locals       *bodyLocals
	names        *types.Scope[*local]
	clock        int                   // for versions of locals
	writes       []syntax.Expr         // elements of the operand that were written so far
	writesBefore map[*syntax.Ident]int // the length of writes at each read of the operand, by its identifier
}

// position is the surroundings of a statement.
type position struct {
	unconditional bool          // neither in an if nor in a for
	each          *syntax.Each  // the enclosing loop, if the statement is all that it does
	sole          syntax.Stmt   // the outermost enclosing loop, if the statement is all that the loops do
	guard         *guardedBlock // the enclosing condition that reads the operand
	maybeGuards   []guard       // of enclosing conditions, comparisons with locals that may depend on the operand
}

// soleLoop returns the outermost loop for the body of loop, which is at in.
func (in position) soleLoop(loop syntax.Stmt) syntax.Stmt {
	if in.sole == nil && in.unconditional {
		return loop
	}
	return in.sole
}

func (b *bodyUse) block(k *syntax.Block, in position, indices ...*syntax.Ident) {
	if k == nil {
		return
	}
	b.names = b.names.Inner()
	for _, id := range indices {
		b.names.Insert(id.Name, b.locals.byIdent[id])
	}
	if len(k.Stmts) != 1 {
		in.each, in.sole = nil, nil
	}
	for _, s := range k.Stmts {
		b.stmt(s, in)
	}
	b.names = b.names.Parent
}

func (b *bodyUse) stmt(s syntax.Stmt, in position) {
	switch s := s.(type) {
	case *syntax.Block:
		b.block(s, in)
	case *syntax.Let:
		if s.Name == nil {
			return
		}
		l, value := b.locals.byIdent[s.Name], b.expand(s.Value)
		l.carries = b.use(value, nil) != unused
		if !l.reassigned {
			l.value = value
		}
		b.names.Insert(s.Name.Name, l)
	case *syntax.For:
		b.checkRead(s.In)
		b.loop(s, func() {
			b.block(s.Body, position{guard: in.guard, maybeGuards: in.maybeGuards, sole: in.soleLoop(s)}, s.Names...)
		})
	case *syntax.Each:
		for _, d := range s.Domain {
			if _, size := unparen(d).(*syntax.Ident); !size {
				b.checkRead(d)
			}
		}
		b.loop(s, func() {
			b.block(s.Body, position{unconditional: in.unconditional, each: s, sole: in.soleLoop(s), guard: in.guard, maybeGuards: in.maybeGuards}, s.Names...)
		})
	case *syntax.If:
		b.condition(s, in)
	case *syntax.Assign:
		b.assign(s, in)
	}
}

// checkRead records a misuse if e, which is no contribution, depends on the operand.
func (b *bodyUse) checkRead(e syntax.Expr) {
	if u := b.use(b.expand(e), nil); u != unused && u != unsure {
		b.found.reads = true
		b.addMisuse(misuse{kind: readsValue, at: e})
	}
}

func (b *bodyUse) addMisuse(m misuse) { b.found.misuses = append(b.found.misuses, m) }

func (b *bodyUse) assign(a *syntax.Assign, in position) {
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
		l.carries = b.use(b.expand(a.Value), nil) != unused || a.Op != "=" && l.carries
		l.version = b.nextVersion()
		return
	}
	if element {
		for _, i := range x.Args {
			b.checkRead(i)
		}
	}
	if id.Name != b.param {
		b.checkRead(a.Value)
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
			u = maybeProd // m += s, and s may depend on m
		case u == maybeProd: // m += s - m
			u = unsure
		case fold == "sum":
			u = combinedUse(self, u, fold)
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
		k := slices.IndexFunc(in.maybeGuards, func(g guard) bool { return syntax.EqualExpr(g.value, value) })
		if k >= 0 { // if v > best { m = v }
			u = unsure
			b.found.limited = append(b.found.limited, conditional{a, []string{string(in.maybeGuards[k].fold)}})
		}
	}
	if g := in.guard; g != nil && (u == unsure || u == bounds || u == maybeProd) {
		g.used = true
	} else if g != nil {
		fold := g.contribution(target, value, u)
		if fold == unused {
			g.wrong = true
			return
		}
		g.used, u = true, fold
	}
	switch u {
	case unused:
		m := misuse{kind: overwrites, at: a, assign: a, once: in.unconditional}
		if in.each != nil {
			m.at = in.each
		}
		if m.alone = in.unconditional || in.sole != nil; in.sole != nil {
			m.at = in.sole
		}
		m.whole = in.unconditional && (!element || in.each != nil && b.coversOperand(in.each, x))
		b.addMisuse(m)
	case self:
	case unsure:
		b.found.reads, b.found.unsure = true, true
	case bounds, maybeProd:
		b.found.reads, b.found.unsure = true, true
		b.found.limited = append(b.found.limited, conditional{a, foldsOf[u]})
	case other:
		b.found.reads = true
		b.addMisuse(misuse{kind: recomputes, at: a})
	default:
		b.found.reads = true
		if !slices.ContainsFunc(b.found.folds, func(c contribution) bool { return c.fold == string(u) }) {
			b.found.folds = append(b.found.folds, contribution{string(u), a})
		}
	}
}

// coversOperand reports whether x is each element of the operand in turn.
func (b *bodyUse) coversOperand(each *syntax.Each, x *syntax.Index) bool {
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
