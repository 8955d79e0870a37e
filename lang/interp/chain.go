package interp

// Long chains: a + b + c + … leans to the left and may have any length, so beyond
// a few operands it becomes a loop instead of closures in closures, whose depth
// would be stack.

import (
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

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
		y, op, at := c.int(b.Y), b.Op, c.place(b)
		steps = append(steps, func(f *frame, acc int64) int64 { return f.m.intOp(op, acc, y(f), at) })
	}
	return run(c.int(list[0].X), steps)
}

// intOp applies an operator to two ints.
func (m *Machine) intOp(op string, a, b int64, at place) int64 {
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
		y, at := c.refAs(b.Y, e.Type()), c.place(b)
		steps = append(steps, func(f *frame, acc any) any { return f.m.operate("+", acc, y(f), at) })
	}
	return run(c.refAs(list[0].X, e.Type()), steps)
}
