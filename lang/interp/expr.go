package interp

// Expressions: names, literals, conversions, and dispatch by representation.

import (
	"math"

	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// any compiles e to a boxed value: int64, float64, bool, or a reference.
func (c *compiler) any(e syntax.Expr) refFn {
	switch reprOf(e.Type()) {
	case rInt:
		v := c.int(e)
		return func(f *frame) any { return v(f) }
	case rFloat:
		v := c.float(e)
		return func(f *frame) any { return v(f) }
	case rBool:
		v := c.bool(e)
		return func(f *frame) any { return v(f) }
	}
	return c.ref(e)
}

// anyAs compiles e to a boxed value of type want: int converts to float.
func (c *compiler) anyAs(e syntax.Expr, want *types.Type) refFn {
	switch reprOf(want) {
	case rFloat:
		v := c.float(e)
		return func(f *frame) any { return v(f) }
	case rRef:
		return c.refAs(e, want)
	}
	return c.any(e)
}

// refAs compiles e, of a type held as a reference, for a place of type want: the
// items of a list literal convert.
func (c *compiler) refAs(e syntax.Expr, want *types.Type) refFn {
	if want == nil || reprOf(e.Type()) != rRef {
		return c.any(e)
	}
	if want.Kind != types.List {
		return c.ref(e)
	}
	switch x := unparen(e).(type) {
	case *syntax.ListLit:
		return c.listLit(x, want)
	case *syntax.ListComp:
		return c.listComp(x, want)
	}
	v := c.ref(e)
	kind, at := listKind(want), c.place(e)
	if listKind(e.Type()) == kind && e.Type().Of != nil {
		return v
	}
	return func(f *frame) any {
		l, _ := v(f).(*List)
		if l == nil || l.kind == kind {
			return l
		}
		f.m.allocList(int64(l.Len()), kind, at)
		return l.as(kind)
	}
}

// ---- int ---------------------------------------------------------------------------

// localSlot returns the slot of a name that code can read without a check.
func (c *compiler) localSlot(e syntax.Expr) (int, bool) {
	id, ok := unparen(e).(*syntax.Ident)
	if !ok || id.Obj == nil || c.plan {
		return 0, false
	}
	switch id.Obj.Kind {
	case types.LetObject, types.FuncParam, types.LoopVar, types.ParamObject:
		direct, _ := c.frameOf(id.Obj)
		return id.Obj.Slot, direct && !(id.Obj.Global && c.session)
	}
	return 0, false
}

// ---- float -------------------------------------------------------------------------

// float compiles e to a float; an int expression converts.
func (c *compiler) float(e syntax.Expr) floatFn {
	if reprOf(e.Type()) == rInt {
		if lit, ok := unparen(e).(*syntax.IntLit); ok {
			x := float64(lit.Value)
			return func(*frame) float64 { return x }
		}
		v := c.int(e)
		return func(f *frame) float64 { return float64(v(f)) }
	}
	switch e := e.(type) {
	case *syntax.Paren:
		return c.float(e.X)
	case *syntax.FloatLit:
		x := e.Value
		return func(*frame) float64 { return x }
	case *syntax.Ident:
		return c.floatName(e)
	case *syntax.Unary:
		x := c.float(e.X)
		return func(f *frame) float64 { return -x(f) }
	case *syntax.Binary:
		return c.floatBinary(e)
	case *syntax.Cond:
		cond, a, b := c.bool(e.If), c.float(e.Then), c.float(e.Else)
		return func(f *frame) float64 {
			if cond(f) {
				return a(f)
			}
			return b(f)
		}
	case *syntax.Call:
		if v := c.floatCall(e); v != nil {
			return v
		}
	case *syntax.Index:
		return c.floatIndex(e)
	case *syntax.Selector:
		if o := e.Name.Obj; o != nil && o.Global {
			g, slot := c.global(o, c.place(e)), o.Slot
			return func(f *frame) float64 { return math.Float64frombits(uint64(g(f).n[slot])) }
		}
	}
	c.bug(e, "%T as float", e)
	return nil
}

func (c *compiler) floatName(e *syntax.Ident) floatFn {
	o := e.Obj
	if o.Kind == types.BuiltinValue {
		x := math.Pi
		if o.Name == "inf" {
			x = math.Inf(1)
		}
		return func(*frame) float64 { return x }
	}
	if c.plan {
		v := c.known(o)
		g, slot := c.holder(o, c.place(e)), o.Slot
		return func(f *frame) float64 { v(f); return math.Float64frombits(uint64(g(f).n[slot])) }
	}
	if direct, _ := c.frameOf(o); direct && !(o.Global && c.session) {
		slot := o.Slot
		return func(f *frame) float64 { return math.Float64frombits(uint64(f.n[slot])) }
	}
	g, slot := c.global(o, c.place(e)), o.Slot
	return func(f *frame) float64 { return math.Float64frombits(uint64(g(f).n[slot])) }
}

func (c *compiler) floatBinary(e *syntax.Binary) floatFn {
	if v := c.floatChain(e); v != nil {
		return v
	}
	x, y := c.float(e.X), c.float(e.Y)
	switch e.Op {
	case "+":
		return func(f *frame) float64 { a := x(f); return a + y(f) }
	case "-":
		return func(f *frame) float64 { a := x(f); return a - y(f) }
	case "*":
		return func(f *frame) float64 { a := x(f); return a * y(f) }
	case "/":
		return func(f *frame) float64 { a := x(f); return a / y(f) }
	case "//":
		return func(f *frame) float64 { a := x(f); return math.Floor(a / y(f)) }
	case "%":
		return func(f *frame) float64 { a := x(f); return floorModFloat(a, y(f)) }
	case "**":
		return func(f *frame) float64 { a := x(f); return math.Pow(a, y(f)) }
	}
	c.bug(e, "operator %s of float", e.Op)
	return nil
}

// floatOp applies an operator to two floats.
func floatOp(op string, a, b float64) float64 {
	switch op {
	case "+":
		return a + b
	case "-":
		return a - b
	case "*":
		return a * b
	case "/":
		return a / b
	case "//":
		return math.Floor(a / b)
	case "%":
		return floorModFloat(a, b)
	}
	return math.Pow(a, b)
}

// ---- bool --------------------------------------------------------------------------

func (c *compiler) bool(e syntax.Expr) boolFn {
	switch e := e.(type) {
	case *syntax.Paren:
		return c.bool(e.X)
	case *syntax.BoolLit:
		b := e.Value
		return func(*frame) bool { return b }
	case *syntax.Ident:
		o := e.Obj
		if c.plan {
			v := c.known(o)
			g, slot := c.holder(o, c.place(e)), o.Slot
			return func(f *frame) bool { v(f); return g(f).n[slot] != 0 }
		}
		if direct, _ := c.frameOf(o); direct && !(o.Global && c.session) {
			slot := o.Slot
			return func(f *frame) bool { return f.n[slot] != 0 }
		}
		g, slot := c.global(o, c.place(e)), o.Slot
		return func(f *frame) bool { return g(f).n[slot] != 0 }
	case *syntax.Unary:
		x := c.bool(e.X)
		return func(f *frame) bool { return !x(f) }
	case *syntax.Binary:
		return c.boolBinary(e)
	case *syntax.Cond:
		cond, a, b := c.bool(e.If), c.bool(e.Then), c.bool(e.Else)
		return func(f *frame) bool {
			if cond(f) {
				return a(f)
			}
			return b(f)
		}
	case *syntax.Call:
		if v := c.boolCall(e); v != nil {
			return v
		}
	case *syntax.Index:
		list, at := c.listItem(e)
		return func(f *frame) bool { l, k := list(f); l.in(f.m, k, at); return l.i[k] != 0 }
	case *syntax.Selector:
		if o := e.Name.Obj; o != nil && o.Global {
			g, slot := c.global(o, c.place(e)), o.Slot
			return func(f *frame) bool { return g(f).n[slot] != 0 }
		}
	}
	c.bug(e, "%T as bool", e)
	return nil
}

func (c *compiler) boolBinary(e *syntax.Binary) boolFn {
	switch e.Op {
	case "and", "or":
		if v := c.boolChain(e); v != nil {
			return v
		}
	}
	switch e.Op {
	case "and":
		x, y := c.bool(e.X), c.bool(e.Y)
		return func(f *frame) bool { return x(f) && y(f) }
	case "or":
		x, y := c.bool(e.X), c.bool(e.Y)
		return func(f *frame) bool { return x(f) || y(f) }
	}
	a, b := reprOf(e.X.Type()), reprOf(e.Y.Type())
	switch {
	case a == rInt && b == rInt:
		return c.compareInts(e)
	case (a == rInt || a == rFloat) && (b == rInt || b == rFloat):
		return compare(e.Op, c.float(e.X), c.float(e.Y))
	case a == rBool && b == rBool:
		x, y := c.bool(e.X), c.bool(e.Y)
		if e.Op == "==" {
			return func(f *frame) bool { v := x(f); return v == y(f) }
		}
		return func(f *frame) bool { v := x(f); return v != y(f) }
	}
	x, y, at := c.any(e.X), c.any(e.Y), c.place(e)
	if e.X.Type().Kind == types.String && e.Y.Type().Kind == types.String {
		s, t := func(f *frame) string { v, _ := x(f).(string); return v }, func(f *frame) string { v, _ := y(f).(string); return v }
		return compare(e.Op, s, t)
	}
	if e.Op == "!=" {
		return func(f *frame) bool { v := x(f); return !f.m.equal(v, y(f), at) }
	}
	return func(f *frame) bool { v := x(f); return f.m.equal(v, y(f), at) }
}

func (c *compiler) compareInts(e *syntax.Binary) boolFn {
	slot, isSlot := c.localSlot(e.X)
	lit, isLit := unparen(e.Y).(*syntax.IntLit)
	if isSlot && isLit {
		b := lit.Value
		switch e.Op {
		case "==":
			return func(f *frame) bool { return f.n[slot] == b }
		case "<":
			return func(f *frame) bool { return f.n[slot] < b }
		case "<=":
			return func(f *frame) bool { return f.n[slot] <= b }
		}
	}
	return compare(e.Op, c.int(e.X), c.int(e.Y))
}

// compare returns the comparison op of two operands of one type.
func compare[T int64 | float64 | string](op string, x, y func(f *frame) T) boolFn {
	switch op {
	case "==":
		return func(f *frame) bool { a := x(f); return a == y(f) }
	case "!=":
		return func(f *frame) bool { a := x(f); return a != y(f) }
	case "<":
		return func(f *frame) bool { a := x(f); return a < y(f) }
	case "<=":
		return func(f *frame) bool { a := x(f); return a <= y(f) }
	case ">":
		return func(f *frame) bool { a := x(f); return a > y(f) }
	}
	return func(f *frame) bool { a := x(f); return a >= y(f) }
}
