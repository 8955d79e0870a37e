package check

// Contributions: conditions that compare the operand with its new value, as in
// if v > m { m = v }.

import (
	"slices"

	"github.com/starpush/starpush/lang/syntax"
)

// guardedBlock is a side of an `if` whose condition compares the operand with a value.
type guardedBlock struct {
	guards []guard
	plain  bool // all guards hold in the block
	used   bool // an assignment in it is a contribution because of a guard
	wrong  bool // an assignment in it is anything else
}

// condition walks over an `if`. Its condition may read the operand if that only skips
// contributions that change nothing: if v > m { m = v }.
func (b *bodyUse) condition(s *syntax.If, in position) {
	in = position{guard: in.guard, maybeGuards: slices.Clip(in.maybeGuards)}
	cond := b.expand(s.Cond)
	if u := b.use(cond, nil); u == unused || u == unsure {
		then, otherwise := in, in
		if u == unsure {
			then.maybeGuards = append(then.maybeGuards, unsureGuards(cond, false)...)
			otherwise.maybeGuards = append(otherwise.maybeGuards, unsureGuards(cond, true)...)
		}
		b.branches(s, then, otherwise)
		return
	}
	b.found.reads = true
	at := len(b.found.misuses)
	then, otherwise := &guardedBlock{plain: true}, &guardedBlock{plain: true}
	ok := b.collectGuards(then, cond, false)
	if ok && b.collectGuards(otherwise, cond, true) {
		b.branches(s, position{guard: then, maybeGuards: in.maybeGuards}, position{guard: otherwise, maybeGuards: in.maybeGuards})
		ok = (then.used || otherwise.used) && !then.wrong && !otherwise.wrong
	} else {
		b.branches(s, in, in)
	}
	if ok && in.guard != nil {
		in.guard.used = true
	}
	if !ok {
		b.found.misuses = slices.Insert(b.found.misuses, at, misuse{kind: readsValue, at: s.Cond})
	}
}

// guard is a condition that value is larger (max) or smaller (min) than target, an element of
// the operand.
type guard struct {
	target, value syntax.Expr
	fold          use
}

// collectGuards adds the comparisons of cond, negated if not is set, with the operand to g.
// It reports false if cond reads the operand in another way.
func (b *bodyUse) collectGuards(g *guardedBlock, cond syntax.Expr, not bool) bool {
	both, _ := cond.(*syntax.Binary)
	if both != nil && (both.Op == "and" || both.Op == "or") { // first, for long chains
		before := len(g.guards)
		ok := b.collectGuards(g, both.X, not) && b.collectGuards(g, both.Y, not)
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
		return x.Op == "not" && b.collectGuards(g, x.X, !not)
	case *syntax.Binary:
		larger := x.Op == ">" || x.Op == ">="
		if !larger && x.Op != "<" && x.Op != "<=" {
			return false
		}
		value, target := x.X, x.Y
		if b.isElement(value) {
			value, target, larger = target, value, !larger
		}
		if u := b.use(value, nil); !b.isElement(target) || u != unused || b.writtenSince(target) {
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

// writtenSince reports whether element has been written since the expression was read.
func (b *bodyUse) writtenSince(element syntax.Expr) bool {
	base := element
	if x, ok := base.(*syntax.Index); ok {
		base = x.X
	}
	id, ok := base.(*syntax.Ident)
	if !ok {
		return false
	}
	return slices.ContainsFunc(b.writes[b.writesBefore[id]:], func(w syntax.Expr) bool { return syntax.EqualExpr(w, element) })
}

// unsureGuards returns the comparisons in cond, negated if not is set, with a local that may
// depend on the operand.
func unsureGuards(cond syntax.Expr, not bool) (all []guard) {
	switch x := cond.(type) {
	case *syntax.Unary:
		if x.Op == "not" {
			return unsureGuards(x.X, !not)
		}
	case *syntax.Binary:
		larger := x.Op == ">" || x.Op == ">="
		switch {
		case x.Op == "and" || x.Op == "or":
			return append(unsureGuards(x.X, not), unsureGuards(x.Y, not)...)
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
		if b.useOfAll(x.Args) != unused {
			return false
		}
		e = unparen(x.X)
	}
	id, ok := e.(*syntax.Ident)
	return ok && id.Name == b.param
}

// contribution returns the fold of the assignment of value, with use u, to target under the
// guards of g, or unused if it is no contribution.
func (g *guardedBlock) contribution(target, value syntax.Expr, u use) use {
	for _, x := range g.guards {
		switch {
		case !syntax.EqualExpr(x.target, target):
		case u == x.fold, u == unused && g.plain && syntax.EqualExpr(x.value, value):
			return x.fold
		}
	}
	return unused
}
