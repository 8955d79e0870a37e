package lower

// Lowering of expressions.

import (
	"fmt"
	"math"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/syntax/token"
)

// expr lowers an expression. The result is never nil.
func (l *lowerer) expr(x syntax.Expr) *ir.Expr {
	if x == nil {
		return &ir.Expr{Op: ir.OpBad, Type: ir.Open}
	}
	if !l.enter(x) {
		l.leave()
		return l.invalid(x)
	}
	e := l.lowerExpr(x)
	l.leave()
	l.annotate(x, e)
	return e
}

// number lowers an expression that must be a number. what names its user in messages.
func (l *lowerer) number(x syntax.Expr, what string) *ir.Expr {
	e := l.expr(x)
	if e.Type == ir.Bool {
		d := l.err("E0705", x, fmt.Sprintf("%s takes numbers, and this is a bool", what))
		d.Help = append(d.Help, fmt.Sprintf("write `if %s then 1 else 0`", l.text(x)))
		return l.invalid(x)
	}
	return e
}

// integer lowers an expression that must be an integer, converted to int. what names its
// role in messages.
func (l *lowerer) integer(x syntax.Expr, what string) *ir.Expr {
	e := l.expr(x)
	switch {
	case e.Type.IsFloat():
		d := l.err("E0703", x, fmt.Sprintf("%s must be an int, and this is a float", what))
		l.suggestInt(d, x)
		return l.invalid(x)
	case e.Type == ir.Bool:
		l.err("E0705", x, fmt.Sprintf("%s must be an int, and this is a bool", what))
		return l.invalid(x)
	case e.Type.IsComplex():
		d := l.err("E0705", x, fmt.Sprintf("%s must be an int, and this is a complex number", what))
		d.Help = append(d.Help, fmt.Sprintf("write `int(re(%s))`", l.text(x)))
		return l.invalid(x)
	case e.Type == ir.Open:
		return e
	}
	return convert(e, ir.I64)
}

func (l *lowerer) lowerExpr(x syntax.Expr) *ir.Expr {
	switch x := x.(type) {
	case *syntax.Paren:
		return l.expr(x.X)
	case *syntax.IntLit:
		return &ir.Expr{Op: ir.OpConst, Type: ir.I64, Lit: true, Int: x.Value, Pos: x.Span}
	case *syntax.FloatLit:
		return &ir.Expr{Op: ir.OpConst, Type: ir.F64, Lit: true, Float: x.Value, Pos: x.Span}
	case *syntax.ImagLit:
		z := pair(floatConst(0, ir.F64, x.Span), floatConst(x.Value, ir.F64, x.Span), x.Span)
		z.Lit = true
		return z
	case *syntax.BoolLit:
		e := &ir.Expr{Op: ir.OpConst, Type: ir.Bool, Pos: x.Span}
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
		l.err("E0105", x, "a codelet body cannot have this")
	}
	return l.invalid(x)
}

func (l *lowerer) ident(x *syntax.Ident) *ir.Expr {
	if l.find(x.Name) == nil {
		if l.inlined != nil {
			if c := l.constant(x.Name); c != nil {
				return c
			}
		}
		switch x.Name {
		case "pi":
			return &ir.Expr{Op: ir.OpConst, Type: ir.F64, Lit: true, Float: math.Pi, Pos: x.Span}
		case "inf":
			return &ir.Expr{Op: ir.OpConst, Type: ir.F64, Lit: true, Float: math.Inf(1), Pos: x.Span}
		}
	}
	en := l.lookup(x)
	if en == nil {
		return l.invalid(x)
	}
	en.used = true
	if en.bound != nil {
		return en.bound
	}
	switch en.kind {
	case arrayEntry:
		d := l.reportArray(x, "a body computes with elements")
		d.Help = append(d.Help, fmt.Sprintf("write `%s[k]`", x.Name))
		return l.invalid(x)
	case operandEntry:
		op := &l.fn.Operands[en.operand]
		switch op.Kind {
		case iface.Variable:
			return l.loaded(&ir.Expr{Op: ir.OpLoad, Type: op.Elem, Operand: en.operand, Pos: x.Span})
		case iface.NoKind:
		case iface.Void:
			l.err("E0705", x, fmt.Sprintf("`%s` is void and has no value", op.Name))
		default:
			d := l.err("E0705", x, fmt.Sprintf("`%s` is a %v, and a body computes with elements", op.Name, op.Kind))
			d.Help = append(d.Help, fmt.Sprintf("write `%s[%s]`", op.Name, ir.IndexNames(op.Kind)))
		}
		return l.invalid(x)
	case sparseEntry:
		l.reportSparse(x, en)
		return l.invalid(x)
	case scalarEntry:
		if en.slot < 0 {
			l.err("E0705", x, "a codelet body has no strings")
			return l.invalid(x)
		}
	}
	return l.local(en.slot, x.Span)
}

func (l *lowerer) unary(x *syntax.Unary) *ir.Expr {
	if x.Op == "not" {
		e := l.expr(x.X)
		if e.Type != ir.Bool && e.Type != ir.Open {
			l.err("E0705", x.X, fmt.Sprintf("`not` takes a bool, and this is %s", withArticle(e.Type)))
			return l.invalid(x)
		}
		return &ir.Expr{Op: ir.OpNot, Type: ir.Bool, X: []*ir.Expr{e}, Pos: x.Span}
	}
	if x.Op == "~" {
		return l.complement(x)
	}
	e := l.number(x.X, "`-`")
	if e.Op == ir.OpBad {
		return e
	}
	if e.Op == ir.OpComplex {
		f := l.formulaFor(e.Type, x.Span)
		if e.Lit {
			return literalArith(ir.OpMul, f.num(-1), e, x.Span)
		}
		return f.pair(f.neg(e.X[0]), f.neg(e.X[1]))
	}
	if e.Lit {
		c := *e
		c.Int, c.Float, c.Pos = -e.Int, -e.Float, x.Span
		return &c
	}
	return &ir.Expr{Op: ir.OpNeg, Type: e.Type, X: []*ir.Expr{e}, Pos: x.Span}
}

// binary lowers an operator. A chain like a + b + c, a tree that is as deep as the chain is
// long on its left, takes a loop.
func (l *lowerer) binary(x *syntax.Binary) *ir.Expr {
	chain := x.Chain(nil)
	if len(chain) > maxDepth {
		if !l.tooDeep {
			l.tooDeep = true
			d := l.err("E0705", x, fmt.Sprintf("this has more than %d operators in a row", maxDepth))
			d.Help = append(d.Help, "give parts of it a name with `let`")
		}
		return l.invalid(x)
	}
	l.depth += len(chain) // the depth of the left side
	e := l.expr(chain[0].X)
	l.depth -= len(chain)
	for _, b := range chain {
		prelude, y := l.captured(func() *ir.Expr { return l.expr(b.Y) })
		if len(prelude) > 0 && (b.Op == "and" || b.Op == "or") {
			e = l.shortCircuit(b, e, prelude, y)
		} else {
			l.prelude = append(l.prelude, prelude...)
			e = l.operator(b, e, y)
		}
		if b != x {
			l.annotate(b, e)
		}
	}
	return e
}

var compareOps = map[string]ir.Op{"==": ir.OpEq, "!=": ir.OpNe, "<": ir.OpLt, "<=": ir.OpLe, ">": ir.OpGt, ">=": ir.OpGe}

func (l *lowerer) operator(b *syntax.Binary, x, y *ir.Expr) *ir.Expr {
	switch b.Op {
	case "and", "or":
		for _, side := range []struct {
			e *ir.Expr
			x syntax.Expr
		}{{x, b.X}, {y, b.Y}} {
			if side.e.Type != ir.Bool && side.e.Type != ir.Open {
				l.err("E0705", side.x, fmt.Sprintf("`%s` takes bools, and this is %s", b.Op, withArticle(side.e.Type)))
				return l.invalid(b)
			}
		}
		op := ir.OpAnd
		if b.Op == "or" {
			op = ir.OpOr
		}
		return &ir.Expr{Op: op, Type: ir.Bool, X: []*ir.Expr{x, y}, Pos: b.Span}
	}
	op, ok := compareOps[b.Op]
	if !ok {
		return l.arith(b.Op, x, y, b, b.X, b.Y)
	}
	e := &ir.Expr{Op: op, Type: ir.Bool, Pos: b.Span}
	if x.Type == ir.Bool || y.Type == ir.Bool {
		if (x.Type == y.Type || x.Type == ir.Open || y.Type == ir.Open) && (op == ir.OpEq || op == ir.OpNe) {
			e.X = []*ir.Expr{x, y}
			return e
		}
		l.err("E0705", b, fmt.Sprintf("`%s` cannot compare %s with %s", b.Op, withArticle(x.Type), withArticle(y.Type)))
		return l.invalid(b)
	}
	if x.Type.IsComplex() || y.Type.IsComplex() {
		if x.Type == ir.Open || y.Type == ir.Open {
			e.X = []*ir.Expr{x, y}
			return e
		}
		return l.complexCompare(b, op, x, y)
	}
	t := commonType(x, y)
	e.X = []*ir.Expr{convert(x, t), convert(y, t)}
	return e
}

var arithOps = map[string]ir.Op{"+": ir.OpAdd, "-": ir.OpSub, "*": ir.OpMul, "/": ir.OpDiv, "//": ir.OpFloorDiv, "%": ir.OpMod, "**": ir.OpPow,
	"&": ir.OpBitAnd, "|": ir.OpBitOr, "^": ir.OpBitXor, "<<": ir.OpShl, ">>": ir.OpShr}

// arith lowers arithmetic x op y, of the sources xs and ys.
func (l *lowerer) arith(name string, x, y *ir.Expr, at syntax.Node, xs, ys syntax.Expr) *ir.Expr {
	op, ok := arithOps[name]
	if !ok {
		l.err("E0105", at, fmt.Sprintf("a codelet body has no operator `%s`", name))
		return l.invalid(at)
	}
	if token.BitOps[name] {
		return l.bits(name, op, x, y, at, xs, ys)
	}
	for _, side := range []struct {
		e *ir.Expr
		x syntax.Expr
	}{{x, xs}, {y, ys}} {
		if side.e.Type == ir.Bool {
			d := l.err("E0705", side.x, fmt.Sprintf("`%s` takes numbers, and this is a bool", name))
			d.Help = append(d.Help, fmt.Sprintf("write `if %s then 1 else 0`", l.text(side.x)))
			return l.invalid(at)
		}
	}
	if x.Type.IsComplex() || y.Type.IsComplex() {
		return l.complexArith(name, op, x, y, at, ys)
	}
	t := commonType(x, y)
	if op == ir.OpDiv && t.IsInt() {
		t = ir.F64
	}
	if x.Lit && y.Lit {
		if e := foldLiterals(op, convert(x, t), convert(y, t)); e != nil {
			e.Pos = at.Range()
			return e
		}
	}
	return &ir.Expr{Op: op, Type: t, X: []*ir.Expr{convert(x, t), convert(y, t)}, Pos: at.Range()}
}

// foldLiterals computes with literals. The result is a literal, so that
// `1.0 / 3.0 * x[i]` computes in the type of x. It returns nil if the operation faults, which
// the running body reports.
func foldLiterals(op ir.Op, x, y *ir.Expr) *ir.Expr {
	e := &ir.Expr{Op: ir.OpConst, Type: x.Type, Lit: true}
	if x.Type.IsFloat() {
		v, ok := ir.FloatOp[float64](op, x.Float, y.Float)
		e.Float = v
		if !ok {
			return nil
		}
		return e
	}
	if (op == ir.OpFloorDiv || op == ir.OpMod) && y.Int == 0 || op == ir.OpPow && y.Int < 0 {
		return nil
	}
	e.Int = ir.IntOp[int64](op, x.Int, y.Int)
	return e
}

func (l *lowerer) condExpr(x *syntax.Cond) *ir.Expr {
	c := l.cond(x.If)
	return l.conditional(c, func() *ir.Expr { return l.expr(x.Then) }, func() *ir.Expr { return l.expr(x.Else) }, x, "the two sides of `if ... then ... else`")
}

// conditional lowers if c then x else y. If x or y needs statements, these run in an if.
func (l *lowerer) conditional(c *ir.Expr, x, y func() *ir.Expr, at syntax.Node, what string) *ir.Expr {
	beforeX, a := l.captured(x)
	beforeY, b := l.captured(y)
	if (a.Type.IsComplex() || b.Type.IsComplex()) && len(beforeX)+len(beforeY) > 0 && a.Type != ir.Bool && b.Type != ir.Bool && a.Type != ir.Open && b.Type != ir.Open {
		t := commonType(a, b)
		slot := l.newSlot(ir.Slot{Name: "choice", Type: t, Kind: ir.LetSlot, Assigned: true, Decl: at.Range()})
		set := func(v *ir.Expr, declare bool) []*ir.Stmt {
			return l.withPrelude(func() []*ir.Stmt {
				return listOf(l.assignParts(&ir.Stmt{Kind: ir.SetStmt, Declare: declare, Slot: slot, Value: convert(v, t), Pos: at.Range(), Target: at.Range()}))
			})
		}
		l.prelude = append(l.prelude, set(floatConst(0, t.Part(), at.Range()), true)...)
		l.prelude = append(l.prelude, &ir.Stmt{Kind: ir.IfStmt, Value: c, Body: append(beforeX, set(a, false)...), Else: append(beforeY, set(b, false)...), Pos: at.Range()})
		return l.local(slot, at.Range())
	}
	e := l.choice(ir.OpCond, c, a, b, at, what)
	if len(beforeX)+len(beforeY) == 0 || e.Op == ir.OpBad {
		return e
	}
	set := l.temporary("choice", &ir.Expr{Op: ir.OpConst, Type: e.Type, Pos: at.Range()})
	l.prelude = append(l.prelude, &ir.Stmt{Kind: ir.IfStmt, Value: c, Body: append(beforeX, set(e.X[1])), Else: append(beforeY, set(e.X[2])), Pos: at.Range()})
	return set(nil).Value
}

// shortCircuit lowers `and` and `or` where the right side y needs statements.
func (l *lowerer) shortCircuit(b *syntax.Binary, x *ir.Expr, prelude []*ir.Stmt, y *ir.Expr) *ir.Expr {
	e := l.operator(b, x, y)
	if e.Op == ir.OpBad {
		return e
	}
	set := l.temporary(b.Op, x)
	value := set(nil).Value
	todo := value
	if b.Op == "or" {
		todo = &ir.Expr{Op: ir.OpNot, Type: ir.Bool, X: []*ir.Expr{value}, Pos: b.Span}
	}
	l.prelude = append(l.prelude, &ir.Stmt{Kind: ir.IfStmt, Value: todo, Body: append(prelude, set(y)), Pos: b.Span})
	return value
}

// temporary declares a local with a first value. It returns a function that gives the statement
// that sets it, or, for nil, one whose Value is the local.
func (l *lowerer) temporary(name string, first *ir.Expr) func(v *ir.Expr) *ir.Stmt {
	at := first.Pos
	slot := l.newSlot(ir.Slot{Name: name, Type: first.Type, Kind: ir.LetSlot, Assigned: true, Decl: at})
	l.prelude = append(l.prelude, &ir.Stmt{Kind: ir.SetStmt, Declare: true, Slot: slot, Value: first, Pos: at, Target: at})
	return func(v *ir.Expr) *ir.Stmt {
		if v == nil {
			v = &ir.Expr{Op: ir.OpSlot, Type: first.Type, Slot: slot, Pos: at}
		}
		return &ir.Stmt{Kind: ir.SetStmt, Slot: slot, Value: v, Update: "=", Pos: at, Target: at}
	}
}

// choice lowers c ? a : b, where a and b must both be numbers or both bools.
func (l *lowerer) choice(op ir.Op, c, a, b *ir.Expr, at syntax.Node, what string) *ir.Expr {
	if (a.Type == ir.Bool) != (b.Type == ir.Bool) && a.Type != ir.Open && b.Type != ir.Open {
		l.err("E0705", at, fmt.Sprintf("%s have different types: %v and %v", what, languageType(a.Type), languageType(b.Type)))
		return l.invalid(at)
	}
	if a.Type.IsComplex() || b.Type.IsComplex() {
		return l.complexChoice(op, c, a, b, at)
	}
	t := ir.Bool
	if a.Type != ir.Bool || b.Type != ir.Bool {
		t = commonType(a, b)
	}
	return &ir.Expr{Op: op, Type: t, X: []*ir.Expr{c, convert(a, t), convert(b, t)}, Pos: at.Range()}
}
