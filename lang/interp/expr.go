package interp

// Expressions: names, literals, conversions, and dispatch by representation.

import (
	"math"

	"github.com/starpush/starpush/lang/kernel/elementary"
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
	if want != nil && want.Kind == types.Complex && e.Type().Kind != types.Complex {
		v := c.complex(e)
		return func(f *frame) any { return v(f) }
	}
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
	kind, at := listKind(want), c.positionOf(e)
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
			g, slot := c.global(o, c.positionOf(e)), o.Slot
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
		g, slot := c.holder(o, c.positionOf(e)), o.Slot
		return func(f *frame) float64 { v(f); return math.Float64frombits(uint64(g(f).n[slot])) }
	}
	if direct, _ := c.frameOf(o); direct && !(o.Global && c.session) {
		slot := o.Slot
		return func(f *frame) float64 { return math.Float64frombits(uint64(f.n[slot])) }
	}
	g, slot := c.global(o, c.positionOf(e)), o.Slot
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
		return func(f *frame) float64 { a := x(f); return elementary.Pow(a, y(f)) }
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
	return elementary.Pow(a, b)
}

// ---- complex -----------------------------------------------------------------------

// computesComplex reports whether c.complex compiles e itself: it gives a complex number, and is
// neither a name nor an item of a list nor a call of a func.
func computesComplex(e syntax.Expr) bool {
	if e.Type() == nil || e.Type().Kind != types.Complex {
		return false
	}
	switch e := e.(type) {
	case *syntax.ImagLit, *syntax.Unary, *syntax.Binary:
		return true
	case *syntax.Call:
		return isBuiltin(e)
	case *syntax.Index:
		return e.X.Type().Kind == types.Array
	}
	return false
}

// complex compiles e, a number, to a complex number.
func (c *compiler) complex(e syntax.Expr) func(f *frame) complex128 {
	if r := reprOf(e.Type()); r == rInt || r == rFloat {
		v := c.float(e)
		return func(f *frame) complex128 { return complex(v(f), 0) }
	}
	if !computesComplex(e) {
		v := c.ref(e)
		return func(f *frame) complex128 { return complexOf(v(f)) }
	}
	switch e := e.(type) {
	case *syntax.ImagLit:
		z := complex(0, e.Value)
		return func(*frame) complex128 { return z }
	case *syntax.Unary:
		v := c.complex(e.X)
		return func(f *frame) complex128 { return -v(f) }
	case *syntax.Binary:
		return c.complexChain(e)
	case *syntax.Index:
		return c.complexIndex(e)
	case *syntax.Call:
		return c.complexCall(e)
	}
	c.bug(e, "%T as complex", e)
	return nil
}

// complexChain compiles operators whose results are complex. Those on the left are run in a loop,
// so that a long chain does not nest.
func (c *compiler) complexChain(e *syntax.Binary) func(f *frame) complex128 {
	var list []*syntax.Binary // from the last applied to the first
	for b := e; ; {
		list = append(list, b)
		left, ok := unparen(b.X).(*syntax.Binary)
		if !ok || left.Type().Kind != types.Complex {
			break
		}
		b = left
	}
	first := c.complex(list[len(list)-1].X)
	steps := make([]step[complex128], len(list))
	for k, b := range list {
		steps[len(list)-1-k] = c.complexStep(b)
	}
	if len(steps) == 1 {
		only := steps[0]
		return func(f *frame) complex128 { return only(f, first(f)) }
	}
	return run(first, steps)
}

func (c *compiler) complexStep(b *syntax.Binary) step[complex128] {
	if b.Op == "**" {
		n := c.int(b.Y)
		return func(f *frame, z complex128) complex128 { return powComplex(z, n(f)) }
	}
	op, y := b.Op, c.complex(b.Y)
	xReal, yReal := b.X.Type().Kind != types.Complex, b.Y.Type().Kind != types.Complex
	return func(f *frame, z complex128) complex128 { return complexOp(op, z, y(f), xReal, yReal) }
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
			g, slot := c.holder(o, c.positionOf(e)), o.Slot
			return func(f *frame) bool { v(f); return g(f).n[slot] != 0 }
		}
		if direct, _ := c.frameOf(o); direct && !(o.Global && c.session) {
			slot := o.Slot
			return func(f *frame) bool { return f.n[slot] != 0 }
		}
		g, slot := c.global(o, c.positionOf(e)), o.Slot
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
		if e.X.Type().Kind == types.Array {
			return c.boolElement(e)
		}
		list, at := c.listItem(e)
		return func(f *frame) bool { l, k := list(f); l.in(f.m, k, at); return l.i[k] != 0 }
	case *syntax.Selector:
		if o := e.Name.Obj; o != nil && o.Global {
			g, slot := c.global(o, c.positionOf(e)), o.Slot
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
	if e.X.Type().Kind == types.Complex || e.Y.Type().Kind == types.Complex {
		x, y, same := c.complex(e.X), c.complex(e.Y), e.Op == "=="
		return func(f *frame) bool { v := x(f); return (v == y(f)) == same }
	}
	x, y, at := c.any(e.X), c.any(e.Y), c.positionOf(e)
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

// Expressions of type int: most of what loops of a script do.

func (c *compiler) int(e syntax.Expr) intFn {
	switch e := e.(type) {
	case *syntax.Paren:
		return c.int(e.X)
	case *syntax.IntLit:
		n := e.Value
		return func(*frame) int64 { return n }
	case *syntax.Ident:
		return c.intName(e)
	case *syntax.Unary:
		x, at := c.int(e.X), c.positionOf(e)
		if e.Op == "~" {
			return func(f *frame) int64 { return ^x(f) }
		}
		return func(f *frame) int64 {
			v := x(f)
			if v == math.MinInt64 {
				f.m.fail("R0103", at, "the result of -(%d) does not fit an int (64 bit)", v)
			}
			return -v
		}
	case *syntax.Binary:
		return c.intBinary(e)
	case *syntax.Cond:
		cond, a, b := c.bool(e.If), c.int(e.Then), c.int(e.Else)
		return func(f *frame) int64 {
			if cond(f) {
				return a(f)
			}
			return b(f)
		}
	case *syntax.Call:
		if v := c.intCall(e); v != nil {
			return v
		}
	case *syntax.Index:
		return c.intIndex(e)
	case *syntax.Selector:
		return c.intField(e)
	}
	c.bug(e, "%T as int", e)
	return nil
}

func (c *compiler) intName(e *syntax.Ident) intFn {
	o := e.Obj
	if c.plan {
		v := c.known(o)
		g, slot := c.holder(o, c.positionOf(e)), o.Slot
		return func(f *frame) int64 { v(f); return g(f).n[slot] }
	}
	if direct, _ := c.frameOf(o); direct && !(o.Global && c.session) {
		slot := o.Slot
		return func(f *frame) int64 { return f.n[slot] }
	}
	g, slot := c.global(o, c.positionOf(e)), o.Slot
	return func(f *frame) int64 { return g(f).n[slot] }
}

func (c *compiler) intBinary(e *syntax.Binary) intFn {
	if v := c.intChain(e); v != nil {
		return v
	}
	v := c.intOperator(e)
	if fast := c.intAffine(e, v); fast != nil {
		return fast
	}
	return v
}

func (c *compiler) intOperator(e *syntax.Binary) intFn {
	at, op := c.positionOf(e), e.Op
	x, y := c.int(e.X), c.int(e.Y)
	slot, isSlot := c.localSlot(e.X)
	lit, isLit := unparen(e.Y).(*syntax.IntLit)
	bad := func(f *frame, why string, a, b int64) int64 {
		f.m.fail("R0103", at, why, a, op, b)
		return 0
	}
	switch op {
	case "+":
		if isSlot && isLit {
			b := lit.Value
			return func(f *frame) int64 {
				a := f.n[slot]
				if r, ok := addInt(a, b); ok {
					return r
				}
				return bad(f, overflow, a, b)
			}
		}
		if isLit {
			b := lit.Value
			return func(f *frame) int64 {
				a := x(f)
				if r, ok := addInt(a, b); ok {
					return r
				}
				return bad(f, overflow, a, b)
			}
		}
		return func(f *frame) int64 {
			a := x(f)
			b := y(f)
			if r, ok := addInt(a, b); ok {
				return r
			}
			return bad(f, overflow, a, b)
		}
	case "-":
		if isSlot && isLit {
			b := lit.Value
			return func(f *frame) int64 {
				a := f.n[slot]
				if r, ok := subInt(a, b); ok {
					return r
				}
				return bad(f, overflow, a, b)
			}
		}
		return func(f *frame) int64 {
			a := x(f)
			b := y(f)
			if r, ok := subInt(a, b); ok {
				return r
			}
			return bad(f, overflow, a, b)
		}
	case "*":
		times := func(slot int, k int64, left bool) intFn {
			return func(f *frame) int64 {
				v := f.n[slot]
				if r, ok := mulInt(v, k); ok {
					return r
				}
				if left {
					return bad(f, overflow, k, v)
				}
				return bad(f, overflow, v, k)
			}
		}
		if isSlot && isLit {
			return times(slot, lit.Value, false)
		}
		if k, ok := unparen(e.X).(*syntax.IntLit); ok {
			if slot, ok := c.localSlot(e.Y); ok {
				return times(slot, k.Value, true)
			}
		}
		return func(f *frame) int64 {
			a := x(f)
			b := y(f)
			if r, ok := mulInt(a, b); ok {
				return r
			}
			return bad(f, overflow, a, b)
		}
	case "//":
		return func(f *frame) int64 {
			a := x(f)
			b := y(f)
			if b == 0 {
				return bad(f, divByZero, a, b)
			}
			r, ok := floorDiv(a, b)
			if !ok {
				return bad(f, overflow, a, b)
			}
			return r
		}
	case "%":
		if isLit && lit.Value > 0 {
			b := lit.Value
			return func(f *frame) int64 {
				r := x(f) % b
				if r < 0 {
					r += b
				}
				return r
			}
		}
		return func(f *frame) int64 {
			a := x(f)
			b := y(f)
			if b == 0 {
				f.m.fail("R0103", at, "%d %% 0: integer division by zero", a)
			}
			return floorMod(a, b)
		}
	case "**":
		return func(f *frame) int64 {
			a := x(f)
			b := y(f)
			if b < 0 {
				return bad(f, negExponent, a, b)
			}
			r, ok := powInt(a, b)
			if !ok {
				return bad(f, overflow, a, b)
			}
			return r
		}
	case "&", "|", "^", "<<", ">>":
		return func(f *frame) int64 { a := x(f); return bitOp(op, a, y(f)) }
	}
	c.bug(e, "operator %s of int", op)
	return nil
}

// bitOp applies an operator on bits to two ints. A shift by a count that is not from 0 to 63
// shifts all bits out.
func bitOp(op string, a, b int64) int64 {
	switch op {
	case "&":
		return a & b
	case "|":
		return a | b
	case "^":
		return a ^ b
	case "<<":
		return a << uint64(b)
	}
	return a >> uint64(b)
}

// Long chains: a + b + c + … leans to the left and may have any length, so beyond
// a few operands it becomes a loop instead of closures in closures, whose depth
// would be stack.

// longChain is the number of operands from which a chain is a loop.
const longChain = 24

// spine returns the operators of a chain that all give type kind, from the first
// applied to the last, or nil when the chain is short.
func spine(e *syntax.Binary, same func(*syntax.Binary) bool) []*syntax.Binary {
	var list []*syntax.Binary
	for b := e; ; {
		list = append(list, b)
		left, ok := unparen(b.X).(*syntax.Binary)
		if !ok || !same(left) {
			break
		}
		b = left
	}
	if len(list) < longChain {
		return nil
	}
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return list
}

func ofType(k types.Kind) func(*syntax.Binary) bool {
	return func(b *syntax.Binary) bool { return b.Type().Kind == k }
}

// step applies one operator of a chain to what came before.
type step[T any] func(f *frame, acc T) T

func run[T any](first func(f *frame) T, steps []step[T]) func(f *frame) T {
	return func(f *frame) T {
		acc := first(f)
		for _, s := range steps {
			acc = s(f, acc)
		}
		return acc
	}
}

// intChain compiles a long chain of int operators; nil when e is short.
func (c *compiler) intChain(e *syntax.Binary) intFn {
	list := spine(e, ofType(types.Int))
	if list == nil {
		return nil
	}
	var steps []step[int64]
	for _, b := range list {
		y, op, at := c.int(b.Y), b.Op, c.positionOf(b)
		steps = append(steps, func(f *frame, acc int64) int64 { return f.m.intOp(op, acc, y(f), at) })
	}
	return run(c.int(list[0].X), steps)
}

// intOp applies an operator to two ints.
func (m *Machine) intOp(op string, a, b int64, at position) int64 {
	var r int64
	ok := true
	switch op {
	case "+":
		r, ok = addInt(a, b)
	case "-":
		r, ok = subInt(a, b)
	case "*":
		r, ok = mulInt(a, b)
	case "//":
		if b == 0 {
			m.fail("R0103", at, divByZero, a, op, b)
		}
		r, ok = floorDiv(a, b)
	case "%":
		if b == 0 {
			m.fail("R0103", at, "%d %% 0: integer division by zero", a)
		}
		r = floorMod(a, b)
	default:
		r = bitOp(op, a, b)
	}
	if !ok {
		m.fail("R0103", at, overflow, a, op, b)
	}
	return r
}

// floatChain compiles a long chain of float operators; nil when e is short.
func (c *compiler) floatChain(e *syntax.Binary) floatFn {
	list := spine(e, ofType(types.Float))
	if list == nil {
		return nil
	}
	var steps []step[float64]
	for _, b := range list {
		y, op := c.float(b.Y), b.Op
		steps = append(steps, func(f *frame, acc float64) float64 { return floatOp(op, acc, y(f)) })
	}
	return run(c.float(list[0].X), steps)
}

// boolChain compiles a long chain of and, or of or; nil when e is short.
func (c *compiler) boolChain(e *syntax.Binary) boolFn {
	list := spine(e, func(b *syntax.Binary) bool { return b.Op == e.Op })
	if list == nil {
		return nil
	}
	terms := []boolFn{c.bool(list[0].X)}
	for _, b := range list {
		terms = append(terms, c.bool(b.Y))
	}
	stop := e.Op == "or"
	return func(f *frame) bool {
		for _, t := range terms {
			if t(f) == stop {
				return stop
			}
		}
		return !stop
	}
}

// refChain compiles a long chain of + of strings or lists; nil when e is short.
func (c *compiler) refChain(e *syntax.Binary) refFn {
	list := spine(e, func(b *syntax.Binary) bool { return b.Type().Kind == e.Type().Kind })
	if list == nil {
		return nil
	}
	var steps []step[any]
	for _, b := range list {
		y, at := c.refAs(b.Y, e.Type()), c.positionOf(b)
		steps = append(steps, func(f *frame, acc any) any { return f.m.operate("+", acc, y(f), at) })
	}
	return run(c.refAs(list[0].X, e.Type()), steps)
}

// Indices such as 3*i + 1 of a loop variable, which inserts in loops are full of:
// one closure instead of one for each operator.

// affineBound is what the numbers of such an index stay below, so that nothing
// can overflow.
const affineBound = 1 << 30

// intAffine compiles k*i, i*k and these plus a constant, where i is a name that
// code can read without a check; nil when e is something else. slow is e in the
// usual way, for numbers that might overflow.
func (c *compiler) intAffine(e *syntax.Binary, slow intFn) intFn {
	var add int64
	if e.Op == "+" {
		lit, ok := unparen(e.Y).(*syntax.IntLit)
		if !ok || lit.Value > affineBound {
			return nil
		}
		add = lit.Value
		if e, ok = unparen(e.X).(*syntax.Binary); !ok {
			return nil
		}
	}
	if e.Op != "*" {
		return nil
	}
	x, y := e.X, e.Y
	if _, ok := unparen(x).(*syntax.IntLit); ok {
		x, y = y, x
	}
	slot, isSlot := c.localSlot(x)
	lit, isLit := unparen(y).(*syntax.IntLit)
	if !isSlot || !isLit || lit.Value > affineBound {
		return nil
	}
	mul := lit.Value
	return func(f *frame) int64 {
		if v := f.n[slot]; uint64(v) < affineBound {
			return v*mul + add
		}
		return slow(f)
	}
}
