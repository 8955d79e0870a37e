package engine

// Running a codelet without a task.

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/starpush/starpush/datamgr/iface"
)

// Call runs an implementation of c on the caller's goroutine, on buffers instead
// of data: no task, no order, no statistics. It is for codelets that serve as
// functions of a reduction. Inside, Worker is 0 whoever calls, and the operands
// have no handles. A panic of the implementation is a *PanicError.
func (c *Codelet) Call(ctx context.Context, bufs []*iface.Buffer, args []iface.Scalar) error {
	return c.call(ctx, bufs, args, nil)
}

// Call is c.Call, watched when the runtime has Options.Verify: an implementation
// that breaks the modes of the codelet is a *VerifyError, whose breaches have no
// handles.
func (rt *Runtime) Call(ctx context.Context, c *Codelet, bufs []*iface.Buffer, args []iface.Scalar) error {
	return c.call(ctx, bufs, args, rt.verify)
}

func (c *Codelet) call(ctx context.Context, bufs []*iface.Buffer, args []iface.Scalar, v *verifier) error {
	if c.bad != nil {
		return c.bad
	}
	if len(c.CPU) == 0 {
		return &NoImplementationError{Codelet: c}
	}
	if c.Modes != nil && len(c.Modes) != len(bufs) {
		return fmt.Errorf("engine: %s takes %d operands, and %d buffers are given", c.Name, len(c.Modes), len(bufs))
	}
	if c.Types != nil {
		if i := slices.Index(bufs, nil); i >= 0 {
			return fmt.Errorf("engine: %s is given no buffer as operand %d", c.Name, i)
		}
		if err := c.checkBuffers(bufs, args); err != nil {
			return err
		}
	}
	d := directs.Get().(*direct)
	d.job.mu.old = &generation{ctx: ctx}
	d.job.now.Store(d.job.mu.old)
	d.ops, d.tc.bufs, d.tc.set = d.ops[:0], d.tc.bufs[:0], d.tc.set[:0]
	for i, b := range bufs {
		m := iface.RW
		if c.Modes != nil {
			m = c.Modes[i]
		}
		d.ops = append(d.ops, Operand{Mode: m})
		d.tc.bufs, d.tc.set = append(d.tc.bufs, *b), append(d.tc.set, true)
	}
	d.t.codelet = c
	d.t.setArgs(args)
	d.t.setOperands(d.ops)
	fn := c.CPU[0]
	if v != nil {
		fn = v.verified(fn)
	}
	err := callKernel(fn, &d.tc, nil)
	directs.Put(d) // not when the implementation has ended the goroutine
	return err
}

// direct is what a call without a task needs. It is used again: the functions of
// a deterministic reduction are called once for each contribution.
type direct struct {
	job Job
	t   task
	w   worker
	tc  TaskContext
	ops []Operand
}

var directs = sync.Pool{New: func() any {
	d := &direct{}
	d.t.job, d.tc.t, d.tc.w = &d.job, &d.t, &d.w
	return d
}}
