package lower

// The mixing rules: which type an operation computes in, and how values are
// converted to it.

import (
	"fmt"
	"math"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// mix returns the type in which two operands meet: a float wins over an
// integer, then the wider, then the signed; a literal takes the other side's
// type where it fits.
func mix(x, y *ir.Expr) ir.Type {
	a, b := x.Type, y.Type
	switch {
	case a == ir.Open || b == ir.Open:
		return ir.Open
	case x.Lit && !y.Lit:
		if litFits(x, b) {
			return b
		}
	case y.Lit && !x.Lit:
		if litFits(y, a) {
			return a
		}
	}
	return mixTypes(a, b)
}

// mixTypes is mix without literals.
func mixTypes(a, b ir.Type) ir.Type {
	switch {
	case a == b:
		return a
	case a.IsFloat() != b.IsFloat():
		if a.IsFloat() {
			return a
		}
		return b
	case a.Size() != b.Size():
		if a.Size() > b.Size() {
			return a
		}
		return b
	case a < b: // of equal size: the signed types have the lower numbers
		return a
	}
	return b
}

// litFits reports whether the literal x can take type t. Every integer fits a
// float type, by rounding; a float does not fit an integer type.
func litFits(x *ir.Expr, t ir.Type) bool {
	switch {
	case t == ir.F64:
		return true
	case t == ir.F32:
		if x.Type.IsInt() {
			return true
		}
		return math.IsInf(x.Float, 0) || math.IsNaN(x.Float) || !math.IsInf(float64(float32(x.Float)), 0)
	case x.Type.IsFloat():
		return false
	}
	lo, hi := ir.IntRange(t)
	return x.Int >= lo && (t == ir.U64 || x.Int <= hi)
}

// convert returns x as type t. Conversions of constants are done here.
func convert(x *ir.Expr, t ir.Type) *ir.Expr {
	if x.Type == t || x.Type == ir.Open || t == ir.Open || x.Op == ir.OpBad {
		if x.Lit {
			c := *x
			c.Lit = false
			return &c
		}
		return x
	}
	if x.Op == ir.OpConst {
		c := *x
		c.Type, c.Lit = t, false
		switch {
		case x.Type.IsFloat() && t == ir.F32:
			c.Float = float64(float32(x.Float))
		case x.Type.IsFloat() && t.IsInt():
			c.Int, c.Float = ir.Saturate(x.Float, t), 0
		case x.Type.IsInt() && t.IsFloat():
			c.Int, c.Float = 0, ir.IntToFloat(x.Int, x.Type, t)
		case x.Type.IsInt():
			c.Int = ir.Wrap(x.Int, t)
		}
		return &c
	}
	return &ir.Expr{Op: ir.OpConvert, Type: t, X: []*ir.Expr{x}, Pos: x.Pos}
}

// toType makes int(x) and float(x), whose type no longer adapts.
func (l *lowerer) toType(x *syntax.Call, e *ir.Expr, t ir.Type) *ir.Expr {
	if e.Type == ir.Open {
		return &ir.Expr{Op: ir.OpConvert, Type: t, X: []*ir.Expr{e}, Pos: x.Span}
	}
	c := *convert(e, t)
	c.Pos = x.Span
	return &c
}

// commonType is the type in which several values meet.
func commonType(args []*ir.Expr) ir.Type {
	t, any := ir.Open, false
	for _, a := range args {
		switch {
		case a.Type == ir.Open:
			return ir.Open
		case a.Lit:
		case !any:
			t, any = a.Type, true
		default:
			t = mixTypes(t, a.Type)
		}
	}
	for _, a := range args {
		switch {
		case !a.Lit || any && litFits(a, t):
		case !any:
			t, any = a.Type, true
		default:
			t = mixTypes(t, a.Type)
		}
	}
	return t
}

// stored converts v for a place of type t: integers wrap, floats round.
func (l *lowerer) stored(s *syntax.Assign, v *ir.Expr, t ir.Type) *ir.Expr {
	switch {
	case v.Type == ir.Open || t == ir.Open:
		return v
	case (v.Type == ir.Bool) != (t == ir.Bool):
		d := l.err("E0705", s.Value, fmt.Sprintf("`%s` is %s, and this value is %s", l.text(s.Target), aType(t), aType(v.Type)))
		if v.Type == ir.Bool {
			d.Help = append(d.Help, "write `if ... then 1 else 0`")
		}
		return l.bad(s.Value)
	case v.Type.IsFloat() && t.IsInt():
		d := l.err("E0703", s.Value, fmt.Sprintf("`%s` is %s, and this value is a float", l.text(s.Target), aType(t)))
		if s.Op == "/=" {
			d.Notes = append(d.Notes, "`/` always gives a float")
			d.Help = append(d.Help, fmt.Sprintf("write `%s = %s // %s`, which rounds down", l.text(s.Target), l.text(s.Target), l.operandText(s.Value)))
		} else if !l.fromFloat(d, s.Target) {
			d.Help = append(d.Help, fmt.Sprintf("write `int(%s)`, which cuts off the fraction", l.text(s.Value)))
		}
		return l.bad(s.Value)
	}
	return convert(v, t)
}

// keeps notes the calls of min and max that keep the target of an assignment, as in
// m = max(m, e): they compute in the type t of the target. It reports whether e is one.
func (l *lowerer) keeps(e, target syntax.Expr, t ir.Type) bool {
	x, ok := syntax.Unparen(e).(*syntax.Call)
	if !ok {
		return false
	}
	id, ok := syntax.Unparen(x.Fn).(*syntax.Ident)
	if !ok || id.Name != "min" && id.Name != "max" || l.find(id.Name) != nil {
		return false
	}
	found := false
	for _, a := range x.Args {
		if syntax.EqualExpr(syntax.Unparen(a.Value), target) || l.keeps(a.Value, target, t) {
			found = true
		}
	}
	if found {
		if l.kept == nil {
			l.kept = map[*syntax.Call]ir.Type{}
		}
		l.kept[x] = t
	}
	return found
}

// typeOf returns the type that the rest of the language sees.
func typeOf(t ir.Type) *types.Type {
	switch t {
	case ir.I64:
		return types.TInt
	case ir.F64:
		return types.TFloat
	case ir.Bool:
		return types.TBool
	case ir.Open:
		return types.TInvalid
	}
	return &types.Type{Kind: types.Elem, Elem: iface.Elem(t)}
}

// aType names a type with its article.
func aType(t ir.Type) string {
	switch t {
	case ir.I64:
		return "an int"
	case ir.F64:
		return "a float"
	case ir.I8, ir.I16, ir.I32, ir.U8, ir.F32:
		if t == ir.U8 {
			return "a u8"
		}
		return "an " + t.String()
	}
	return "a " + t.String()
}
