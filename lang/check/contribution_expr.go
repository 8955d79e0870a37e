package check

// Contributions: the expressions of a body.

import (
	"math"
	"strings"

	"github.com/starpush/starpush/lang/syntax"
)

// use is how the value of an expression depends on the element that is written.
type use string

// The uses. Those named sum, prod, min and max are contributions.
const (
	unused use = ""
	self   use = "self"   // the element
	unsure use = "unsure" // perhaps, through a local that is assigned again
	bounds use = "bounds" // the element, clamped between two bounds
	other  use = "other"  // in another way, or on other elements

	maybeProd use = "prod?" // the element plus something unsure: at best a product
)

// foldsOf has the folds of uses that may be contributions under some folds only.
var foldsOf = map[use][]string{bounds: {"min", "max"}, maybeProd: {"prod"}}

// negated maps the use of e to that of -e. Two signs cancel out, and one is a factor.
var negated = map[use]use{self: "-self", "-self": self, "sum": "-sum", "-sum": "sum", "min": "-min", "-min": "min", "max": "-max", "-max": "max",
	bounds: "-" + bounds, "-" + bounds: bounds, maybeProd: maybeProd,
	"prod": "prod", unused: unused, unsure: unsure, other: other}

// foldOfOp maps operators of assignments to folds.
var foldOfOp = map[string]use{"+=": "sum", "-=": "sum", "*=": "prod", "/=": "prod"}

func calledName(c *syntax.Call) string {
	if id, ok := c.Fn.(*syntax.Ident); ok {
		return id.Name
	}
	return ""
}

// use returns the use of the expanded e. target is the element that is written, or nil if e
// is not assigned to the operand.
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
		inner := b.useOfAll(x.Args)
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
		return b.useOfAll([]syntax.Expr{x.X})
	case *syntax.Binary:
		l, r := b.use(x.X, target), b.use(x.Y, target)
		switch {
		case x.Op == "+":
			return sumUse(x.X, x.Y, l, r)
		case x.Op == "-":
			return sumUse(x.X, x.Y, l, negated[r])
		case x.Op == "*":
			return productUse(x.X, x.Y, l, r)
		case x.Op == "/" && r == unused:
			return productUse(x.X, x.Y, l, r)
		case x.Op == "**" && constant(x.Y) == 1:
			return l
		}
		return combinedUse(l, r, other)
	case *syntax.RangeExpr:
		return b.useOfAll([]syntax.Expr{x.Lo, x.Hi})
	case *syntax.Cond:
		return b.condUse(x, target)
	case *syntax.Call:
		return b.callUse(x, target)
	case *syntax.Fold:
		u := b.use(x.Body, nil)
		for _, d := range x.Domain {
			if _, size := unparen(d).(*syntax.Ident); !size {
				u = combinedUse(u, b.use(d, nil), other)
			}
		}
		return u
	}
	return unused
}

// useOfAll returns the use of a value that is computed from es in any way.
func (b *bodyUse) useOfAll(es []syntax.Expr) use {
	u := unused
	for _, e := range es {
		u = combinedUse(u, b.use(e, nil), other)
	}
	return u
}

// combinedUse returns the use of two values of uses x and y that fold combines.
func combinedUse(x, y, fold use) use {
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
		return maybeProd // m + s, and s may depend on m
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
		return negated[combinedUse(negated[x], negated[y], opposite)]
	case (x == self || x == fold) && (y == unused || extreme(fold) && (y == self || y == fold)):
		return fold
	case fold == "max" && (x == self && y == "min" || x == "min" && y == self), fold == "min" && (x == self && y == "max" || x == "max" && y == self):
		return self // max(m, min(m, e))
	case extreme(fold) && (extreme(x) || x == self) && (extreme(y) || y == self || y == unused):
		return bounds
	}
	return other
}

// sumUse returns the use of x + y, with uses l and r. Adding 0 changes nothing.
func sumUse(x, y syntax.Expr, l, r use) use {
	switch {
	case constant(x) == 0:
		return r
	case constant(y) == 0:
		return l
	}
	return combinedUse(l, r, "sum")
}

// productUse returns the use of x * y or x / y, with uses l and r. A factor of 1 changes
// nothing, and -1 changes the sign.
func productUse(x, y syntax.Expr, l, r use) use {
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
	return combinedUse(l, r, "prod")
}

// either returns u if yes is set, and unsure otherwise.
func either(yes bool, u use) use {
	if yes {
		return u
	}
	return unsure
}

func (b *bodyUse) callUse(x *syntax.Call, target syntax.Expr) use {
	if calledName(x) == "len" && len(x.Args) == 1 {
		if _, size := unparen(x.Args[0].Value).(*syntax.Ident); size {
			return unused // the size is meant, which the check of the body reports
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
				continue // infinity as the neutral element changes nothing
			}
			u = combinedUse(u, v, use(name))
		}
		return u
	case name == "fma" && len(us) == 3:
		return combinedUse(us[2], productUse(x.Args[0].Value, x.Args[1].Value, us[0], us[1]), "sum")
	case (name == "int" || name == "float") && len(us) == 1:
		return us[0]
	}
	u := unused
	for _, v := range us {
		u = combinedUse(u, v, other)
	}
	return u
}

// condUse returns the use of a choice: if v > m then v else m is a max.
func (b *bodyUse) condUse(x *syntax.Cond, target syntax.Expr) use {
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
	g := &guardedBlock{plain: true}
	switch {
	case otherwise == self && b.collectGuards(g, x.If, false):
		return orOther(g.contribution(target, x.Then, then))
	case then == self && b.collectGuards(g, x.If, true):
		return orOther(g.contribution(target, x.Else, otherwise))
	}
	return other
}

func orOther(u use) use {
	if u == unused {
		return other
	}
	return u
}
