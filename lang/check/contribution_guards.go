package check

// Contributions: conditions that compare the operand with what it is to become, as in
// if v > m { m = v }.

import (
	"slices"

	"github.com/starpush/starpush/lang/syntax"
)

// guarded is an `if` whose condition compares the operand with something.
type guarded struct {
	guards []guard
	plain  bool // all of guards hold inside
	used   bool // something inside contributes by it
	wrong  bool // something inside does anything else
}

// condition walks over an `if`. A condition may look at the operand where it does no more
// than to leave out contributions that would change nothing: if v > m { m = v }.
func (b *bodyUse) condition(s *syntax.If, in within) {
	in = within{guard: in.guard, maybe: slices.Clip(in.maybe)}
	cond := b.expand(s.Cond)
	if u := b.use(cond, nil); u == unused || u == unsure {
		then, otherwise := in, in
		if u == unsure {
			then.maybe = append(then.maybe, guardsOfUnsure(cond, false)...)
			otherwise.maybe = append(otherwise.maybe, guardsOfUnsure(cond, true)...)
		}
		b.branches(s, then, otherwise)
		return
	}
	b.found.reads = true
	at := len(b.found.misuses)
	then, otherwise := &guarded{plain: true}, &guarded{plain: true}
	ok := b.guards(then, cond, false)
	if ok && b.guards(otherwise, cond, true) {
		b.branches(s, within{guard: then, maybe: in.maybe}, within{guard: otherwise, maybe: in.maybe})
		ok = (then.used || otherwise.used) && !then.wrong && !otherwise.wrong
	} else {
		b.branches(s, in, in)
	}
	if ok && in.guard != nil {
		in.guard.used = true
	}
	if !ok {
		b.found.misuses = slices.Insert(b.found.misuses, at, misuse{kind: looks, at: s.Cond})
	}
}

// guard is a condition under which value is a larger (max) or smaller (min) one than
// target, an element of the operand.
type guard struct {
	target, value syntax.Expr
	fold          use
}

// guards adds the comparisons of cond with the operand to g; false where it looks at the
// operand in another way.
func (b *bodyUse) guards(g *guarded, cond syntax.Expr, not bool) bool {
	both, _ := cond.(*syntax.Binary)
	if both != nil && (both.Op == "and" || both.Op == "or") { // first: there may be very many in a row
		before := len(g.guards)
		ok := b.guards(g, both.X, not) && b.guards(g, both.Y, not)
		if (both.Op == "or") != not && len(g.guards) > before {
			g.plain = false
		}
		return ok
	}
	if u := b.use(cond, nil); u == unused || u == unsure {
		return true
	}
	switch x := cond.(type) {
	case *syntax.Unary:
		return x.Op == "not" && b.guards(g, x.X, !not)
	case *syntax.Binary:
		larger := x.Op == ">" || x.Op == ">="
		if !larger && x.Op != "<" && x.Op != "<=" {
			return false
		}
		value, target := x.X, x.Y
		if b.isElement(value) {
			value, target, larger = target, value, !larger
		}
		if u := b.use(value, nil); !b.isElement(target) || u != unused || b.stale(target) {
			return false
		}
		fold := use("min")
		if larger != not {
			fold = "max"
		}
		g.guards = append(g.guards, guard{target, value, fold})
		return true
	}
	return false
}

// stale reports whether the element, which a name stands for, has been written since it was read.
func (b *bodyUse) stale(element syntax.Expr) bool {
	base := element
	if x, ok := base.(*syntax.Index); ok {
		base = x.X
	}
	id, ok := base.(*syntax.Ident)
	if !ok {
		return false
	}
	return slices.ContainsFunc(b.writes[b.read[id]:], func(w syntax.Expr) bool { return syntax.EqualExpr(w, element) })
}

// guardsOfUnsure are the comparisons in cond with a local that may hold something of the
// operand: what the value is under which it is assigned, if it is.
func guardsOfUnsure(cond syntax.Expr, not bool) (all []guard) {
	switch x := cond.(type) {
	case *syntax.Unary:
		if x.Op == "not" {
			return guardsOfUnsure(x.X, !not)
		}
	case *syntax.Binary:
		larger := x.Op == ">" || x.Op == ">="
		switch {
		case x.Op == "and" || x.Op == "or":
			return append(guardsOfUnsure(x.X, not), guardsOfUnsure(x.Y, not)...)
		case !larger && x.Op != "<" && x.Op != "<=":
			return nil
		}
		for k, side := range []syntax.Expr{x.Y, x.X} {
			if id, ok := side.(*syntax.Ident); ok && id.Name == unsureName {
				fold := use("min")
				if larger != (k == 1) != not {
					fold = "max"
				}
				all = append(all, guard{value: []syntax.Expr{x.X, x.Y}[k], fold: fold})
			}
		}
	}
	return all
}

// isElement reports whether e is the operand or an element of it.
func (b *bodyUse) isElement(e syntax.Expr) bool {
	if x, ok := e.(*syntax.Index); ok {
		if b.all(x.Args) != unused {
			return false
		}
		e = unparen(x.X)
	}
	id, ok := e.(*syntax.Ident)
	return ok && id.Name == b.param
}

// fold is the contribution that is left when target becomes value, whose use is u, only
// under g; unused where that is none.
func (g *guarded) fold(target, value syntax.Expr, u use) use {
	for _, x := range g.guards {
		switch {
		case !syntax.EqualExpr(x.target, target):
		case u == x.fold, u == unused && g.plain && syntax.EqualExpr(x.value, value):
			return x.fold
		}
	}
	return unused
}
