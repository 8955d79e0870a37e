package kernel

// Lowering of expressions.

import (
	"fmt"
	"math"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// report adds a diagnostic. The pointer is good until the next one.
func (l *lowerer) report(code string, sev diag.Severity, at syntax.Node, msg string) *diag.Diagnostic {
	l.diags = append(l.diags, diag.Diagnostic{Code: code, Severity: sev, Message: msg, Span: l.f.At(at)})
	return &l.diags[len(l.diags)-1]
}

func (l *lowerer) err(code string, at syntax.Node, msg string) *diag.Diagnostic {
	return l.report(code, diag.Error, at, msg)
}

// text returns n as written, on one line.
func (l *lowerer) text(n syntax.Node) string { return sourceText(l.f.Source, n.Range()) }

func sourceText(src *diag.Source, s syntax.Span) string {
	if src == nil || s.Lo < 0 || int(s.Hi) > len(src.Text) || s.Lo > s.Hi {
		return ""
	}
	return strings.Join(strings.Fields(src.Text[s.Lo:s.Hi]), " ")
}

// operandText is text, in parentheses where x is more than one word.
func (l *lowerer) operandText(x syntax.Expr) string {
	switch x.(type) {
	case *syntax.Binary, *syntax.Cond, *syntax.Unary:
		return "(" + l.text(x) + ")"
	}
	return l.text(x)
}

// bad is what an error leaves of an expression.
func (l *lowerer) bad(n syntax.Node) *Expr {
	return &Expr{Op: OpBad, Type: Open, Pos: n.Range()}
}

// note sets the type of x in the tree, when checking.
func (l *lowerer) note(x syntax.Expr, e *Expr) {
	if !l.check {
		return
	}
	t := typeOf(e.Type)
	if e.Op == OpLoad && e.Type == Open {
		if n := l.fn.Operands[e.Operand].Node; n != nil && n.Obj != nil && n.Obj.Type != nil && n.Obj.Type.Param != 0 {
			t = &types.Type{Kind: types.Elem, Param: n.Obj.Type.Param}
		}
	}
	x.SetType(t)
}

func unparen(x syntax.Expr) syntax.Expr {
	for {
		p, ok := x.(*syntax.Paren)
		if !ok {
			return x
		}
		x = p.X
	}
}

// expr lowers an expression. The result is never nil.
func (l *lowerer) expr(x syntax.Expr) *Expr {
	if x == nil {
		return &Expr{Op: OpBad, Type: Open}
	}
	if !l.enter(x) {
		l.leave()
		return l.bad(x)
	}
	e := l.lowerExpr(x)
	l.leave()
	l.note(x, e)
	return e
}

// scalar lowers an expression that must be a number or a bool.
func (l *lowerer) scalar(x syntax.Expr) *Expr { return l.expr(x) }

// number lowers an expression that must be a number; what says whose it is.
func (l *lowerer) number(x syntax.Expr, what string) *Expr {
	e := l.expr(x)
	if e.Type == Bool {
		d := l.err("E0705", x, fmt.Sprintf("%s takes numbers, and this is a bool", what))
		d.Help = append(d.Help, fmt.Sprintf("write `if %s then 1 else 0`", l.text(x)))
		return l.bad(x)
	}
	return e
}

// integer lowers an expression that must be an integer, as an int.
func (l *lowerer) integer(x syntax.Expr, what string) *Expr {
	e := l.expr(x)
	switch {
	case e.Type.IsFloat():
		d := l.err("E0703", x, fmt.Sprintf("%s must be an int, and this is a float", what))
		l.toInt(d, x)
		return l.bad(x)
	case e.Type == Bool:
		l.err("E0705", x, fmt.Sprintf("%s must be an int, and this is a bool", what))
		return l.bad(x)
	case e.Type == Open:
		return e
	}
	return convert(e, I64)
}

func (l *lowerer) lowerExpr(x syntax.Expr) *Expr {
	switch x := x.(type) {
	case *syntax.Paren:
		return l.expr(x.X)
	case *syntax.IntLit:
		return &Expr{Op: OpConst, Type: I64, Lit: true, Int: x.Value, Pos: x.Span}
	case *syntax.FloatLit:
		return &Expr{Op: OpConst, Type: F64, Lit: true, Float: x.Value, Pos: x.Span}
	case *syntax.BoolLit:
		e := &Expr{Op: OpConst, Type: Bool, Pos: x.Span}
		if x.Value {
			e.Int = 1
		}
		return e
	case *syntax.Ident:
		return l.ident(x)
	case *syntax.Unary:
		return l.unary(x)
	case *syntax.Binary:
		return l.binary(x)
	case *syntax.Cond:
		return l.condExpr(x)
	case *syntax.Index:
		return l.index(x)
	case *syntax.Selector:
		return l.selector(x)
	case *syntax.Call:
		return l.call(x)
	case *syntax.Fold:
		return l.fold(x)
	case *syntax.RangeExpr:
		l.err("E0705", x, "a range can only be the domain of `each`, `for` or a fold in a codelet body")
	case *syntax.StringLit, *syntax.FString:
		l.err("E0705", x, "a codelet body has no strings")
	case *syntax.ListLit, *syntax.ListComp:
		d := l.err("E0705", x, "a codelet body has no lists")
		d.Help = append(d.Help, "pass the values in a vector operand")
	case *syntax.NoneLit:
		l.err("E0705", x, "a codelet body has no `none`")
	case *syntax.Insert:
		d := l.err("E0105", x, "a codelet body cannot insert tasks")
		d.Help = append(d.Help, "insert them from the script or from a `func`")
	default:
		l.err("E0105", x, "this cannot stand in a codelet body")
	}
	return l.bad(x)
}

func (l *lowerer) ident(x *syntax.Ident) *Expr {
	if l.find(x.Name) == nil {
		switch x.Name {
		case "pi":
			return &Expr{Op: OpConst, Type: F64, Lit: true, Float: math.Pi, Pos: x.Span}
		case "inf":
			return &Expr{Op: OpConst, Type: F64, Lit: true, Float: math.Inf(1), Pos: x.Span}
		}
	}
	en := l.lookup(x)
	if en == nil {
		return l.bad(x)
	}
	en.used = true
	switch en.kind {
	case operandEntry:
		op := &l.fn.Operands[en.operand]
		switch op.Kind {
		case iface.Variable:
			return &Expr{Op: OpLoad, Type: op.Elem, Operand: en.operand, Pos: x.Span}
		case iface.NoKind:
		case iface.Void:
			l.err("E0705", x, fmt.Sprintf("`%s` is void and has no value", op.Name))
		default:
			d := l.err("E0705", x, fmt.Sprintf("`%s` is a %v, and a body computes with elements", op.Name, op.Kind))
			d.Help = append(d.Help, fmt.Sprintf("write `%s[%s]`", op.Name, indexNames(op.Kind)))
		}
		return l.bad(x)
	case scalarEntry:
		if en.slot < 0 {
			l.err("E0705", x, "a codelet body has no strings")
			return l.bad(x)
		}
	}
	return &Expr{Op: OpSlot, Type: l.fn.Slots[en.slot].Type, Slot: en.slot, Pos: x.Span}
}
