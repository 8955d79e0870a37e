package check

// Contributions: the expressions of a body.

import (
	"math"
	"strings"

	"github.com/starpush/starpush/lang/syntax"
)

// use is what an expression does with the operand: how its value depends on the element
// that is written.
type use string

// The uses. sum, prod, min and max are contributions of those names.
const (
	unused use = ""
	self   use = "self"   // the element
	unsure use = "unsure" // something of it, by way of a local that changes
	bounds use = "bounds" // the element, between two bounds
	other  use = "other"  // in another way, or other elements

	maybeProd use = "prod?" // the element and something unsure of it: a product, if at all
)

// foldsOf are the folds under which a use may be a contribution, where those are few.
var foldsOf = map[use][]string{bounds: {"min", "max"}, maybeProd: {"prod"}}

// negated are the uses of -e: of two signs nothing is left, and one alone is a factor.
var negated = map[use]use{self: "-self", "-self": self, "sum": "-sum", "-sum": "sum", "min": "-min", "-min": "min", "max": "-max", "-max": "max",
	bounds: "-" + bounds, "-" + bounds: bounds, maybeProd: maybeProd,
	"prod": "prod", unused: unused, unsure: unsure, other: other}

// foldOfOp are the folds of assignments that change.
var foldOfOp = map[string]use{"+=": "sum", "-=": "sum", "*=": "prod", "/=": "prod"}

func calledName(c *syntax.Call) string {
	if id, ok := c.Fn.(*syntax.Ident); ok {
		return id.Name
	}
	return ""
}

// use returns what the expanded e does with the operand; target is the element that is
// written, nil where e is for something else.
func (b *bodyUse) use(e, target syntax.Expr) use {
	switch x := e.(type) {
	case *syntax.Ident:
		switch {
		case x.Name == unsureName:
			return unsure
		case x.Name != b.param:
			return unused
		case target != nil && syntax.EqualExpr(x, target):
			return self
		}
		return other
	case *syntax.Index:
		inner := b.all(x.Args)
		if id, ok := unparen(x.X).(*syntax.Ident); !ok || id.Name != b.param {
			return inner
		}
		if inner == unused && target != nil && syntax.EqualExpr(x, target) {
			return self
		}
		return other
	case *syntax.Unary:
		if x.Op == "-" {
			return negated[b.use(x.X, target)]
		}
		return b.all([]syntax.Expr{x.X})
	case *syntax.Binary:
		l, r := b.use(x.X, target), b.use(x.Y, target)
		switch {
		case x.Op == "+":
			return summed(x.X, x.Y, l, r)
		case x.Op == "-":
			return summed(x.X, x.Y, l, negated[r])
		case x.Op == "*":
			return multiplied(x.X, x.Y, l, r)
		case x.Op == "/" && r == unused:
			return multiplied(x.X, x.Y, l, r)
		case x.Op == "**" && constant(x.Y) == 1:
			return l
		}
		return joined(l, r, other)
	case *syntax.RangeExpr:
		return b.all([]syntax.Expr{x.Lo, x.Hi})
	case *syntax.Cond:
		return b.chosen(x, target)
	case *syntax.Call:
		return b.called(x, target)
	case *syntax.Fold:
		u := b.use(x.Body, nil)
		for _, d := range x.Domain {
			if _, size := unparen(d).(*syntax.Ident); !size {
				u = joined(u, b.use(d, nil), other)
			}
		}
		return u
	}
	return unused
}

// all is the use of expressions whose values something else is made of.
func (b *bodyUse) all(es []syntax.Expr) use {
	u := unused
	for _, e := range es {
		u = joined(u, b.use(e, nil), other)
	}
	return u
}

// joined is the use of two operands that fold combines.
func joined(x, y, fold use) use {
	if x == unused {
		x, y = y, x
	}
	extreme := func(u use) bool { return u == "min" || u == "max" || u == bounds }
	minus := func(u use) bool { return strings.HasPrefix(string(u), "-") }
	multiple := func(u use) bool { return u == self || u == "-self" || u == "prod" }
	switch {
	case x == unused:
		return unused
	case x == maybeProd || y == maybeProd:
		return either(x == unused || y == unused, maybeProd)
	case fold == "sum" && (x == self && y == unsure || x == unsure && y == self):
		return maybeProd // m + s, and s has something of m
	case x == unsure || y == unsure:
		return unsure
	case fold == other:
		return other
	case fold == "sum" && multiple(x) && multiple(y), fold == "prod" && multiple(x) && y == unused:
		return "prod" // m + m * e is m * (1 + e)
	case fold == "sum" && (x == "-self" || x == "-sum") && y == unused:
		return "-sum"
	case extreme(fold) && minus(x) && (minus(y) || y == unused): // max(-m, e) is -min(m, -e)
		opposite := map[use]use{"min": "max", "max": "min"}[fold]
		return negated[joined(negated[x], negated[y], opposite)]
	case (x == self || x == fold) && (y == unused || extreme(fold) && (y == self || y == fold)):
		return fold
	case fold == "max" && (x == self && y == "min" || x == "min" && y == self), fold == "min" && (x == self && y == "max" || x == "max" && y == self):
		return self // max(m, min(m, e))
	case extreme(fold) && (extreme(x) || x == self) && (extreme(y) || y == self || y == unused):
		return bounds
	}
	return other
}

// summed is the use of x + y, whose uses are l and r: adding 0 changes nothing.
func summed(x, y syntax.Expr, l, r use) use {
	switch {
	case constant(x) == 0:
		return r
	case constant(y) == 0:
		return l
	}
	return joined(l, r, "sum")
}

// multiplied is the use of x * y and of x / y, whose uses are l and r: a factor of 1
// changes nothing, and one of -1 the sign.
func multiplied(x, y syntax.Expr, l, r use) use {
	for k, v := range []float64{constant(y), constant(x)} {
		u := [2]use{l, r}[k]
		switch {
		case u == unused:
		case v == 1:
			return u
		case v == -1:
			return negated[u]
		}
	}
	return joined(l, r, "prod")
}

// either is u where yes, else unsure.
func either(yes bool, u use) use {
	if yes {
		return u
	}
	return unsure
}

func (b *bodyUse) called(x *syntax.Call, target syntax.Expr) use {
	if calledName(x) == "len" && len(x.Args) == 1 {
		if _, size := unparen(x.Args[0].Value).(*syntax.Ident); size {
			return unused // meant is its size, which is said where the body is read
		}
	}
	var us []use
	for _, a := range x.Args {
		us = append(us, b.use(a.Value, target))
	}
	switch name := calledName(x); {
	case (name == "min" || name == "max") && len(us) > 1:
		u, rest := us[0], us[1:]
		for k, v := range rest {
			if math.IsInf(constant(x.Args[k+1].Value), map[string]int{"min": 1, "max": -1}[name]) {
				continue // what is larger than any, or smaller, changes nothing
			}
			u = joined(u, v, use(name))
		}
		return u
	case name == "fma" && len(us) == 3:
		return joined(us[2], multiplied(x.Args[0].Value, x.Args[1].Value, us[0], us[1]), "sum")
	case (name == "int" || name == "float") && len(us) == 1:
		return us[0]
	}
	u := unused
	for _, v := range us {
		u = joined(u, v, other)
	}
	return u
}

// chosen is the use of one of two values: if v > m then v else m keeps the largest.
func (b *bodyUse) chosen(x *syntax.Cond, target syntax.Expr) use {
	cond, then, otherwise := b.use(x.If, nil), b.use(x.Then, target), b.use(x.Else, target)
	switch {
	case cond == unsure || then == unsure || otherwise == unsure:
		return unsure
	case cond == unused && (then == self && otherwise == "-self" || then == "-self" && otherwise == self):
		return "prod"
	case cond == unused && (then == otherwise || otherwise == self && then != unused):
		return then
	case cond == unused && then == self && otherwise != unused:
		return otherwise
	case cond == unused || target == nil:
		return other
	}
	g := &guarded{plain: true}
	switch {
	case otherwise == self && b.guards(g, x.If, false):
		return orOther(g.fold(target, x.Then, then))
	case then == self && b.guards(g, x.If, true):
		return orOther(g.fold(target, x.Else, otherwise))
	}
	return other
}

func orOther(u use) use {
	if u == unused {
		return other
	}
	return u
}
