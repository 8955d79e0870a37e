package kernel

// Lowering of expressions.

import (
	"fmt"
	"math"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/syntax"
)

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
			d.Help = append(d.Help, fmt.Sprintf("write `%s[%s]`", op.Name, IndexNames(op.Kind)))
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

// Lowering of operators and choices.

func (l *lowerer) unary(x *syntax.Unary) *Expr {
	if x.Op == "not" {
		e := l.expr(x.X)
		if e.Type != Bool && e.Type != Open {
			l.err("E0705", x.X, fmt.Sprintf("`not` takes a bool, and this is %s", aType(e.Type)))
			return l.bad(x)
		}
		return &Expr{Op: OpNot, Type: Bool, X: []*Expr{e}, Pos: x.Span}
	}
	e := l.number(x.X, "`-`")
	if e.Op == OpBad {
		return e
	}
	if e.Lit {
		c := *e
		c.Int, c.Float, c.Pos = -e.Int, -e.Float, x.Span
		return &c
	}
	return &Expr{Op: OpNeg, Type: e.Type, X: []*Expr{e}, Pos: x.Span}
}

// binary lowers chains like a + b + c, which lean to the left and can be long,
// with a loop.
func (l *lowerer) binary(x *syntax.Binary) *Expr {
	chain := []*syntax.Binary{x}
	for len(chain) <= maxDepth {
		left, ok := chain[len(chain)-1].X.(*syntax.Binary)
		if !ok {
			break
		}
		chain = append(chain, left)
	}
	if len(chain) > maxDepth {
		if !l.deep {
			l.deep = true
			d := l.err("E0705", x, fmt.Sprintf("this has more than %d operators in a row", maxDepth))
			d.Help = append(d.Help, "give parts of it a name with `let`")
		}
		return l.bad(x)
	}
	l.depth += len(chain) // the left side lies that much deeper
	e := l.expr(chain[len(chain)-1].X)
	l.depth -= len(chain)
	for i := len(chain) - 1; i >= 0; i-- {
		b := chain[i]
		e = l.operator(b, e, l.expr(b.Y))
		if i > 0 {
			l.note(b, e)
		}
	}
	return e
}

var compareOps = map[string]Op{"==": OpEq, "!=": OpNe, "<": OpLt, "<=": OpLe, ">": OpGt, ">=": OpGe}

func (l *lowerer) operator(b *syntax.Binary, x, y *Expr) *Expr {
	switch b.Op {
	case "and", "or":
		for _, side := range []struct {
			e *Expr
			x syntax.Expr
		}{{x, b.X}, {y, b.Y}} {
			if side.e.Type != Bool && side.e.Type != Open {
				l.err("E0705", side.x, fmt.Sprintf("`%s` takes bools, and this is %s", b.Op, aType(side.e.Type)))
				return l.bad(b)
			}
		}
		op := OpAnd
		if b.Op == "or" {
			op = OpOr
		}
		return &Expr{Op: op, Type: Bool, X: []*Expr{x, y}, Pos: b.Span}
	}
	op, ok := compareOps[b.Op]
	if !ok {
		return l.arith(b.Op, x, y, b, b.X, b.Y)
	}
	e := &Expr{Op: op, Type: Bool, Pos: b.Span}
	if x.Type == Bool || y.Type == Bool {
		if (x.Type == y.Type || x.Type == Open || y.Type == Open) && (op == OpEq || op == OpNe) {
			e.X = []*Expr{x, y}
			return e
		}
		l.err("E0705", b, fmt.Sprintf("`%s` cannot compare %s with %s", b.Op, aType(x.Type), aType(y.Type)))
		return l.bad(b)
	}
	t := mix(x, y)
	e.X = []*Expr{convert(x, t), convert(y, t)}
	return e
}

var arithOps = map[string]Op{"+": OpAdd, "-": OpSub, "*": OpMul, "/": OpDiv, "//": OpFloorDiv, "%": OpMod, "**": OpPow}

// arith makes x op y of numbers.
func (l *lowerer) arith(name string, x, y *Expr, at syntax.Node, xs, ys syntax.Expr) *Expr {
	op, ok := arithOps[name]
	if !ok {
		l.err("E0105", at, fmt.Sprintf("`%s` cannot stand in a codelet body", name))
		return l.bad(at)
	}
	for _, side := range []struct {
		e *Expr
		x syntax.Expr
	}{{x, xs}, {y, ys}} {
		if side.e.Type == Bool {
			d := l.err("E0705", side.x, fmt.Sprintf("`%s` takes numbers, and this is a bool", name))
			d.Help = append(d.Help, fmt.Sprintf("write `if %s then 1 else 0`", l.text(side.x)))
			return l.bad(at)
		}
	}
	t := mix(x, y)
	if op == OpDiv && t.IsInt() {
		t = F64
	}
	if x.Lit && y.Lit {
		if e := foldLits(op, convert(x, t), convert(y, t)); e != nil {
			e.Pos = at.Range()
			return e
		}
	}
	return &Expr{Op: op, Type: t, X: []*Expr{convert(x, t), convert(y, t)}, Pos: at.Range()}
}

// foldLits computes with literals; the result is a literal again, so that
// `1.0 / 3.0 * x[i]` computes in the type of x. nil: left to the running body,
// which reports what is wrong with it.
func foldLits(op Op, x, y *Expr) *Expr {
	e := &Expr{Op: OpConst, Type: x.Type, Lit: true}
	if x.Type.IsFloat() {
		v, ok := FloatOp[float64](op, x.Float, y.Float)
		e.Float = v
		if !ok {
			return nil
		}
		return e
	}
	if (op == OpFloorDiv || op == OpMod) && y.Int == 0 || op == OpPow && y.Int < 0 {
		return nil
	}
	e.Int = IntOp[int64](op, x.Int, y.Int)
	return e
}

func (l *lowerer) condExpr(x *syntax.Cond) *Expr {
	c := l.cond(x.If)
	return l.choice(OpCond, c, l.expr(x.Then), l.expr(x.Else), x, "the two sides of `if ... then ... else`")
}

// choice makes c ? a : b.
func (l *lowerer) choice(op Op, c, a, b *Expr, at syntax.Expr, what string) *Expr {
	if (a.Type == Bool) != (b.Type == Bool) && a.Type != Open && b.Type != Open {
		l.err("E0705", at, fmt.Sprintf("%s have different types: %v and %v", what, typeOf(a.Type), typeOf(b.Type)))
		return l.bad(at)
	}
	t := Bool
	if a.Type != Bool || b.Type != Bool {
		t = mix(a, b)
	}
	return &Expr{Op: op, Type: t, X: []*Expr{c, convert(a, t), convert(b, t)}, Pos: at.Range()}
}
