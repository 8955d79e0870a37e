package kernel

// Lowering of operators and choices.

import (
	"fmt"

	"github.com/starpush/starpush/lang/syntax"
)

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
		v, ok := floatOp[float64](op, x.Float, y.Float)
		e.Float = v
		if !ok {
			return nil
		}
		return e
	}
	if (op == OpFloorDiv || op == OpMod) && y.Int == 0 || op == OpPow && y.Int < 0 {
		return nil
	}
	e.Int = intOp[int64](op, x.Int, y.Int)
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
