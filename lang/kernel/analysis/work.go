package analysis

// The work of a body: how many operations a task takes, and how many bytes of operands it loads and stores. It is an
// estimate, for tasks that were never measured.

import (
	"math"

	"github.com/starpush/starpush/lang/kernel/ir"
)

// Work is what a task does, as far as its sizes and scalars show.
type Work struct {
	Operations float64 // arithmetic; functions count as many as they take
	Bytes      float64 // of elements that are loaded or stored, each time
}

// Sizes are what the work of a task depends on.
type Sizes struct {
	Field  func(operand int, f ir.Field) float64
	Scalar func(slot int) (float64, bool) // of a scalar operand; false: its value is not a number
}

// Count adds up the rounds of the loops in fn. Bounds that depend on the index of an outer loop are taken in its
// middle, which is exact for triangles. Each way of an `if` counts half. A loop without an upper bound counts as one round, as does
// one whose bounds depend on elements.
func Count(fn *ir.Func, of Sizes) Work {
	c := &counter{fn: fn, of: of, slots: make([]float64, len(fn.Slots))}
	for k := range c.slots {
		c.slots[k] = math.NaN()
		if fn.Slots[k].Kind == ir.ScalarSlot {
			if v, ok := of.Scalar(k); ok {
				c.slots[k] = v
			}
		}
	}
	c.list(fn.Body, 1)
	return c.sum
}

type counter struct {
	fn    *ir.Func
	of    Sizes
	slots []float64 // NaN: not known
	sum   Work
}

// list counts statements that run a number of times.
func (c *counter) list(all []*ir.Stmt, times float64) {
	for _, s := range all {
		switch s.Kind {
		case ir.ForStmt, ir.EachStmt:
			n := c.rounds(s.Domain, times)
			if s.Value != nil {
				c.expr(s.Value, n)
			}
			c.list(s.Body, n)
			continue
		case ir.IfStmt:
			c.expr(s.Value, times)
			c.list(s.Body, times/2)
			c.list(s.Else, times/2)
			continue
		}
		for _, x := range s.Index {
			c.expr(x, times)
		}
		if s.Value != nil {
			c.expr(s.Value, times)
		}
		switch s.Kind {
		case ir.StoreStmt:
			c.sum.Bytes += times * float64(c.fn.Operands[s.Operand].Elem.Stored().Size())
		case ir.ReduceStmt:
			c.sum.Operations += times
			if s.Operand >= 0 {
				c.sum.Bytes += 2 * times * float64(c.fn.Operands[s.Operand].Elem.Stored().Size())
			}
		case ir.SetStmt:
			c.slots[s.Slot] = c.value(s.Value)
		}
	}
}

// rounds returns how often the body of a loop runs, and puts its indices in the middle.
func (c *counter) rounds(domain []ir.Range, times float64) float64 {
	for _, r := range domain {
		lo, hi := c.value(r.Lo), c.value(r.Hi)
		n := hi - lo
		if r.Closed {
			n++
		}
		if hi >= ir.NoEnd || math.IsNaN(n) {
			n, lo = 1, math.NaN()
		}
		n = max(n, 0)
		c.slots[r.Slot] = lo + max(n-1, 0)/2
		times *= n
	}
	return times
}

// weights are how many operations a function takes, about.
var weights = map[ir.Op]float64{
	ir.OpConst: 0, ir.OpSlot: 0, ir.OpField: 0, ir.OpLoad: 0, ir.OpElement: 0, ir.OpConvert: 0, ir.OpFold: 0, ir.OpCond: 0, ir.OpSelect: 0,
	ir.OpDiv: 4, ir.OpFloorDiv: 8, ir.OpMod: 8, ir.OpSqrt: 4, ir.OpFMA: 2,
	ir.OpPow: 40, ir.OpCbrt: 20, ir.OpExp: 20, ir.OpLog: 20, ir.OpLog2: 20, ir.OpSin: 20, ir.OpCos: 20, ir.OpTan: 30, ir.OpTanh: 30, ir.OpErf: 30,
}

// expr counts an expression that is computed a number of times. Integers, which are indices mostly, count nothing.
func (c *counter) expr(e *ir.Expr, times float64) {
	if w, ok := weights[e.Op]; !ok && !e.Type.IsInt() && e.Type != ir.Bool {
		c.sum.Operations += times
	} else if ok && !e.Type.IsInt() {
		c.sum.Operations += times * w
	}
	if e.Op == ir.OpLoad {
		c.sum.Bytes += times * float64(c.fn.Operands[e.Operand].Elem.Stored().Size())
	}
	if e.Op == ir.OpFold {
		times = c.rounds(e.Domain, times)
		c.sum.Operations += times
	}
	for _, x := range e.X {
		c.expr(x, times)
	}
}

// value computes an integer expression; NaN: it is not known.
func (c *counter) value(e *ir.Expr) float64 {
	x := func(k int) float64 { return c.value(e.X[k]) }
	switch e.Op {
	case ir.OpConst:
		if e.Type.IsFloat() {
			return e.Float
		}
		return float64(e.Int)
	case ir.OpSlot:
		return c.slots[e.Slot]
	case ir.OpField:
		return c.of.Field(e.Operand, e.Field)
	case ir.OpConvert:
		return x(0)
	case ir.OpNeg:
		return -x(0)
	case ir.OpAdd:
		return x(0) + x(1)
	case ir.OpSub:
		return x(0) - x(1)
	case ir.OpMul:
		return x(0) * x(1)
	case ir.OpDiv:
		return x(0) / x(1)
	case ir.OpFloorDiv:
		return math.Floor(x(0) / x(1))
	case ir.OpMod:
		a, b := x(0), x(1)
		return a - b*math.Floor(a/b)
	case ir.OpMin:
		return min(x(0), x(1))
	case ir.OpMax:
		return max(x(0), x(1))
	case ir.OpCond, ir.OpSelect:
		return (x(1) + x(2)) / 2
	}
	return math.NaN()
}
