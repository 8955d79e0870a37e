package engine

// Running a codelet without a task.

import (
	"context"
	"fmt"

	"github.com/starpush/starpush/datamgr/iface"
)

// Call runs an implementation of c on the caller's goroutine, on buffers instead
// of data: no task, no order, no statistics. It is for codelets that serve as
// functions of a reduction. Inside, Worker is 0 whoever calls, and the operands
// have no handles. A panic of the implementation is a *PanicError.
func (c *Codelet) Call(ctx context.Context, bufs []*iface.Buffer, args []iface.Scalar) error {
	if len(c.CPU) == 0 {
		return &NoImplementationError{Codelet: c}
	}
	if c.Modes != nil && len(c.Modes) != len(bufs) {
		return fmt.Errorf("engine: %s takes %d operands, and %d buffers are given", c.Name, len(c.Modes), len(bufs))
	}
	j := &Job{}
	j.mu.old = &generation{ctx: ctx}
	j.now.Store(j.mu.old)
	ops := make([]Operand, len(bufs))
	for i := range ops {
		if ops[i].Mode = iface.RW; c.Modes != nil {
			ops[i].Mode = c.Modes[i]
		}
	}
	t := &task{job: j, codelet: c}
	t.setArgs(args)
	t.setOperands(ops)
	tc := &TaskContext{t: t, w: &worker{}, bufs: make([]iface.Buffer, len(bufs)), set: make([]bool, len(bufs))}
	for i, b := range bufs {
		tc.bufs[i], tc.set[i] = *b, true
	}
	return callKernel(c.CPU[0], tc, nil)
}
