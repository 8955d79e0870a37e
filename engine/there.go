package engine

// Contributions to REDUX data that stay on a device.

import (
	"slices"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
)

// contributeThere returns the operands of t as they are placed: what it adds to by
// REDUX on a device is data that stays there. Where the tree of contributions is
// fixed they are in main memory, as others are. When a function of the reduction ends
// the goroutine, the task has failed.
func (w *worker) contributeThere(t *task) ([]Operand, error) {
	ops := t.operands()
	on := func(op Operand) bool { return op.Mode == iface.Redux && w.nodeFor(&op) > 0 }
	if w.node == 0 || t.job.opt.Deterministic || !slices.ContainsFunc(ops, on) {
		return ops, nil
	}
	x := t.x
	ops = slices.Clone(ops)
	for i, op := range ops {
		if !on(op) {
			continue
		}
		var c datamgr.Contribution
		err := callKernel(func(*TaskContext) (err error) {
			c, err = op.Handle.ContributeThere(w.node)
			return err
		}, nil, func(error) { w.exit(op.Handle.Exited("initialise")) })
		if err != nil {
			return nil, err
		}
		x.redux = append(x.redux, c)
		ops[i], _ = c.Operand()
	}
	return ops, nil
}

// describeThere fills in the buffer of operand i, REDUX, if it stays on the device.
func (w *worker) describeThere(t *task, i int) bool {
	x, h := t.x, t.operands()[i].Handle
	for k := range x.redux {
		if x.redux[k].DescribeThere(h, &x.place, i, &w.tc.bufs[i]) {
			w.tc.set[i] = true
			return true
		}
	}
	return false
}
