package cpu

// Checks of demands: before a strip of a for runs, and before a kernel of a device starts.

import (
	"math"

	"github.com/starpush/starpush/lang/kernel/analysis"
	"github.com/starpush/starpush/lang/kernel/ir"
)

// Evaluator computes int expressions of a body, and whether its demands hold, for the
// operands of a task, without running the body. The functions that it returns are safe for
// concurrent use.
type Evaluator struct {
	c *compiler
	p *Program // without code: the pool of machines, and the operands that the body uses
}

// Bound are the operands of one task. They are those of Evaluator.Bind, until Release.
type Bound struct{ m *machine }

// IntValue returns an int that depends on the operands of a task.
type IntValue func(o Bound) int64

// NewEvaluator returns the evaluator of a lowered body.
func NewEvaluator(fn *ir.Func) *Evaluator {
	return &Evaluator{c: &compiler{fn: fn, plan: oneByOne}, p: &Program{fn: fn, used: fn.UsedOperands(), locals: len(fn.Slots) + fn.ArrayWords()}}
}

// Int compiles x, an expression of sizes, scalars and constants.
func (e *Evaluator) Int(x *ir.Expr) IntValue {
	f := e.c.integer(x)
	return func(o Bound) int64 { return f(o.m) }
}

// Holds compiles the check whether d holds.
func (e *Evaluator) Holds(d *analysis.Demands) func(o Bound) bool {
	f := e.c.demandsHold(d)
	return func(o Bound) bool { return f(o.m) }
}

// Bind binds the operands of t, whose pointers need not be valid. The caller must release
// them.
func (e *Evaluator) Bind(t ir.Task) (Bound, error) {
	m, _ := e.p.pool.Get().(*machine)
	if m == nil {
		m = newMachine(e.p)
	}
	o := Bound{m}
	if err := m.bind(t); err != nil {
		o.Release()
		return Bound{}, err
	}
	return o, nil
}

// Release returns the memory of o to its evaluator.
func (o Bound) Release() {
	o.m.reset()
	o.m.p.pool.Put(o.m)
}

// Scalar returns the scalar operand in a slot: an int8 to uint64, float32 or float64 as its
// type is, and an int32, 0 or 1, for a bool.
func (o Bound) Scalar(slot int) any {
	i, f := o.m.ints[slot], o.m.flts[slot]
	switch o.m.p.fn.Slots[slot].Type {
	case ir.I8:
		return int8(i)
	case ir.I16:
		return int16(i)
	case ir.I32, ir.Bool:
		return int32(i)
	case ir.U8:
		return uint8(i)
	case ir.U16:
		return uint16(i)
	case ir.U32:
		return uint32(i)
	case ir.U64:
		return uint64(i)
	case ir.F32:
		return float32(f)
	case ir.F64:
		return f
	}
	return i
}

// demandsHold compiles the check whether d holds in the round whose indices m has.
func (c *compiler) demandsHold(d *analysis.Demands) func(m *machine) bool {
	type index struct {
		op, axis int
		value    intFn
		size     uint64 // of an array; 0: the operand has it
	}
	var list []index
	for _, e := range d.Elements {
		for axis, x := range e.X {
			list = append(list, index{e.Operand, axis, c.exactInteger(x), uint64(e.Int)})
		}
	}
	type loop struct {
		slot   int
		lo, hi intFn
		closed bool
		met    func(m *machine) bool
	}
	var loops []loop
	for _, in := range d.Loops {
		if len(in.Elements)+len(in.Loops) > 0 {
			loops = append(loops, loop{in.Range.Slot, c.integer(in.Lo), c.integer(in.Hi), in.Range.Closed, c.demandsHold(&in.Demands)})
		}
	}
	return func(m *machine) bool {
		for k := range list {
			x := &list[k]
			size := x.size
			if size == 0 {
				size = uint64(m.ops[x.op].size(x.axis))
			}
			if v := x.value(m); uint64(v) >= size || m.overflowed {
				m.overflowed = false
				return false
			}
		}
		for k := range loops {
			in := &loops[k]
			lo := in.lo(m)
			n := ir.Trips(lo, in.hi(m), in.closed)
			if n == 0 {
				continue
			}
			m.ints[in.slot] = lo
			if !in.met(m) {
				return false
			}
			m.ints[in.slot] = lo + int64(n-1)
			if !in.met(m) {
				return false
			}
		}
		return true
	}
}

// exactInteger is integer for the values of demands. Its code sets m.overflowed if an
// operation that moves with an index overflows: then the first and the last value being in
// bounds does not imply it for those in between.
func (c *compiler) exactInteger(e *ir.Expr) intFn {
	if e.Type != ir.I64 {
		return c.integer(e)
	}
	switch e.Op {
	case ir.OpAdd:
		x, y := c.exactInteger(e.X[0]), c.exactInteger(e.X[1])
		return func(m *machine) int64 {
			a, b := x(m), y(m)
			s := a + b
			m.overflowed = m.overflowed || (a^s)&(b^s) < 0
			return s
		}
	case ir.OpSub:
		x, y := c.exactInteger(e.X[0]), c.exactInteger(e.X[1])
		return func(m *machine) int64 {
			a, b := x(m), y(m)
			s := a - b
			m.overflowed = m.overflowed || (a^b)&(a^s) < 0
			return s
		}
	case ir.OpMul:
		x, y := c.exactInteger(e.X[0]), c.exactInteger(e.X[1])
		return func(m *machine) int64 {
			a, b := x(m), y(m)
			p := a * b
			if a != int64(int32(a)) || b != int64(int32(b)) {
				m.overflowed = m.overflowed || a != 0 && p/a != b || a == -1 && b == math.MinInt64
			}
			return p
		}
	case ir.OpNeg:
		x := c.exactInteger(e.X[0])
		return func(m *machine) int64 {
			a := x(m)
			m.overflowed = m.overflowed || a == math.MinInt64
			return -a
		}
	case ir.OpMin, ir.OpMax:
		x, y, least := c.exactInteger(e.X[0]), c.exactInteger(e.X[1]), e.Op == ir.OpMin
		return func(m *machine) int64 {
			a, b := x(m), y(m)
			if (a < b) == least {
				return a
			}
			return b
		}
	case ir.OpFloorDiv:
		if k := e.X[1]; k.Op == ir.OpConst && k.Int > 0 {
			x, y := c.exactInteger(e.X[0]), k.Int
			return func(m *machine) int64 { return ir.FloorDiv(x(m), y) }
		}
	case ir.OpShr:
		if k := e.X[1]; k.Op == ir.OpConst {
			x, y := c.exactInteger(e.X[0]), k.Int
			return func(m *machine) int64 { return ir.Shr(x(m), y) }
		}
	}
	return c.integer(e)
}
