package lower

// Lowering of operators on the bits of integers.

import (
	"fmt"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/vocab"
)

// bits lowers x op y, of the sources xs and ys. & | ^ compute in the common type of both
// sides, shifts in the type of the left one.
func (l *lowerer) bits(name string, op ir.Op, x, y *ir.Expr, at syntax.Node, xs, ys syntax.Expr) *ir.Expr {
	if !l.hasBits(name, x, xs, at) || !l.hasBits(name, y, ys, at) {
		return l.invalid(at)
	}
	if b, ok := at.(*syntax.Binary); ok && l.check && b.ReadsAsPower() {
		d := l.report("W0703", diag.Warning, b.OpAt, "`^` is the exclusive or of bits, and this reads like a power")
		d.Help = append(d.Help, "the power is written `**`; for bits write the number as `0x2`")
		d.Edit(l.f.At(b.OpAt), "**")
	}
	if op == ir.OpShl || op == ir.OpShr {
		return l.shift(op, x, y, at, ys)
	}
	t := commonType(x, y)
	a, b := convert(x, t), convert(y, t)
	if x.Lit && y.Lit {
		e := foldLiterals(op, a, b)
		e.Pos = at.Range()
		return e
	}
	return &ir.Expr{Op: op, Type: t, X: []*ir.Expr{a, b}, Pos: at.Range()}
}

// complement lowers ~x.
func (l *lowerer) complement(x *syntax.Unary) *ir.Expr {
	e := l.expr(x.X)
	if e.Op == ir.OpBad {
		return e
	}
	if !l.hasBits("~", e, x.X, x.OpAt) {
		return l.invalid(x)
	}
	if e.Lit {
		c := *e
		c.Int, c.Pos = ^e.Int, x.Span
		return &c
	}
	return &ir.Expr{Op: ir.OpBitNot, Type: e.Type, X: []*ir.Expr{e}, Pos: x.Span}
}

// shift lowers x << y and x >> y. Back ends shift values by a count of the same type, so where
// the type of the count is wider than that of x, and the count is no constant, the shift is one
// of ints, which has the same bits.
func (l *lowerer) shift(op ir.Op, x, y *ir.Expr, at syntax.Node, ys syntax.Expr) *ir.Expr {
	if y.Op == ir.OpConst && y.Int < 0 && isLiteral(ys) {
		d := l.err("E0705", ys, fmt.Sprintf("a shift by a negative count: `%s`", l.text(ys)))
		back := "<<"
		if op == ir.OpShl {
			back = ">>"
		}
		d.Help = append(d.Help, fmt.Sprintf("to shift the other way write `%s`", back))
		return l.invalid(at)
	}
	if x.Lit && y.Lit {
		e := foldLiterals(op, x, y)
		e.Pos = at.Range()
		return e
	}
	t := x.Type
	x = convert(x, t) // a literal is an int
	switch {
	case t == ir.Open || y.Type == ir.Open:
		return &ir.Expr{Op: op, Type: t, X: []*ir.Expr{x, y}, Pos: at.Range()}
	case y.Op == ir.OpConst:
		width := int64(t.Size() * 8)
		count := y.Int
		if count < 0 || count > width {
			count = width
		}
		if op == ir.OpShl && count < width { // a product, which the analysis of indices knows
			f := &ir.Expr{Op: ir.OpConst, Type: t, Int: ir.Wrap(1<<count, t), Pos: y.Pos}
			return &ir.Expr{Op: ir.OpMul, Type: t, X: []*ir.Expr{x, f}, Pos: at.Range()}
		}
		return &ir.Expr{Op: op, Type: t, X: []*ir.Expr{x, {Op: ir.OpConst, Type: t, Int: count, Pos: y.Pos}}, Pos: at.Range()}
	case y.Type.Size() <= t.Size():
		return &ir.Expr{Op: op, Type: t, X: []*ir.Expr{x, convert(y, t)}, Pos: at.Range()}
	}
	wide := &ir.Expr{Op: op, Type: ir.I64, X: []*ir.Expr{convert(x, ir.I64), convert(y, ir.I64)}, Pos: at.Range()}
	return convert(wide, t)
}

// hasBits reports whether e, of the source x, is an integer. If it is not, it reports that
// about the operator name at a place.
func (l *lowerer) hasBits(name string, e *ir.Expr, x syntax.Expr, at syntax.Node) bool {
	switch {
	case e.Type == ir.Open || e.Type.IsInt():
		return true
	case e.Type == ir.Bool && vocab.BoolWords[name] != "":
		d := l.err("E0705", x, fmt.Sprintf("`%s` takes the bits of integers, and this is a bool", name))
		d.Help = append(d.Help, fmt.Sprintf("for conditions write `%s`", vocab.BoolWords[name]))
		return false
	}
	d := l.err("E0705", x, fmt.Sprintf("`%s` takes the bits of integers, and this is %s", name, withArticle(e.Type)))
	switch {
	case name == "^" && e.Type.IsFloat():
		d.Help = append(d.Help, "the power is written `**`")
	case e.Type.IsComplex():
	case e.Type.IsFloat():
		d.Help = append(d.Help, fmt.Sprintf("write `int(%s)`, which cuts off the fraction", l.text(x)))
	default:
		d.Help = append(d.Help, fmt.Sprintf("write `if %s then 1 else 0`", l.text(x)))
	}
	return false
}
