package interp

// Expressions of type int: most of what loops of a script do.

import (
	"math"

	"github.com/starpush/starpush/lang/syntax"
)

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
		x, at := c.int(e.X), c.place(e)
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
		g, slot := c.holder(o, c.place(e)), o.Slot
		return func(f *frame) int64 { v(f); return g(f).n[slot] }
	}
	if direct, _ := c.frameOf(o); direct && !(o.Global && c.session) {
		slot := o.Slot
		return func(f *frame) int64 { return f.n[slot] }
	}
	g, slot := c.global(o, c.place(e)), o.Slot
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
	at, op := c.place(e), e.Op
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
	}
	c.bug(e, "operator %s of int", op)
	return nil
}
