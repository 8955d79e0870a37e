package cpu

// What a device needs of this back end: values of ints and demands for the operands of
// a task, before kernels start that cannot report a fault.

import (
	"github.com/starpush/starpush/lang/kernel/analysis"
	"github.com/starpush/starpush/lang/kernel/ir"
)

// Evaluator computes int expressions and demands of a body for the operands of a task,
// without running the body. It is safe for concurrent use once its functions are made.
type Evaluator struct {
	c *compiler
	p *Program // without code: its pool and the operands that the body uses
}

// Bound are those of one task, bound by an evaluator.
type Bound struct{ m *machine }

// IntValue is an int that depends on the operands of a task.
type IntValue func(o Bound) int64

func NewEvaluator(fn *ir.Func) *Evaluator {
	return &Evaluator{c: &compiler{fn: fn, plan: oneByOne}, p: &Program{fn: fn, used: fn.UsedOperands()}}
}

// Int compiles x, an expression of sizes, scalars and constants.
func (e *Evaluator) Int(x *ir.Expr) IntValue {
	f := e.c.integer(x)
	return func(o Bound) int64 { return f(o.m) }
}

// Demands compiles a check of d.
func (e *Evaluator) Demands(d *analysis.Demands) func(o Bound) bool {
	f := e.c.met(d)
	return func(o Bound) bool { return f(o.m) }
}

// Bind takes the operands of t. The pointers of its buffers are not used. The caller
// releases them.
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

// Release gives the operands up.
func (o Bound) Release() {
	o.m.reset()
	o.m.p.pool.Put(o.m)
}

// Scalar returns a scalar operand as a value of its type: int8 to uint64, float32 or
// float64; a bool is an int32, 0 or 1.
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
