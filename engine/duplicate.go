package engine

// Duplicates: copy on write.

import (
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
)

// Duplicate returns read-only data with the value that h has after the tasks
// submitted so far, as if it had been copied there and then. It takes no time and
// no memory until somebody writes h, or anything that shares elements with it:
// then the copy is made before that, by a task. Errors: *UninitError when some
// element of h has no value, *DeadHandleError, *ModeError for void data, ErrClosed.
// at says where, and may be left out. It does not wait.
//
// The duplicate is whole data, whatever h is a part of: it can be partitioned,
// duplicated and read, and outlives h. Duplicating the same handle again before
// anything was written there, or a duplicate, gives the same handle; it ends when
// it was unregistered as often as it was given out.
func (j *Job) Duplicate(h *datamgr.Handle, at ...*Site) (*datamgr.Handle, error) {
	if h == nil || h.Desc().Kind == iface.Void {
		return nil, &ModeError{Handle: h, Mode: iface.R, Other: -1, Message: "there is nothing to duplicate: " + describe(h) + " has no elements"}
	}
	rt := j.rt
	u, err := rt.reg.NewDuplicate(h, first(at))
	if err != nil {
		return nil, err
	}
	hd := rt.takeHand()
	defer rt.giveHand(hd)
	rt.reg.Lock()
	defer rt.reg.Unlock()
	if err := j.open(); err != nil {
		return nil, err
	}
	if err := rt.alive(0, h); err != nil {
		return nil, err
	}
	if old := rt.reg.Duplicated(h); old != nil {
		return old.Handle(), nil
	}
	like := &task{}
	like.setOrigin(&Origin{Site: first(at)})
	if part := h.Shared(); part != nil { // of a duplicate that still shares
		rt.unshare(j, part, like)
	}
	ops := []Operand{{Handle: h, Mode: iface.R}}
	rt.reg.Tidy(ops)
	rt.closeGroups(j, ops, like)
	rt.initialise(j, ops, like)
	if _, bad := rt.reg.Merge(ops, datamgr.MergeOptions{}); bad.Kind != datamgr.NoProblem {
		return nil, problem(ops, bad)
	}
	u.Open()
	if u.Busy() { // who reads it before and after must see the same
		rt.unshare(j, u, like)
	}
	return u.Handle(), nil
}

// unshare submits the copy of a duplicate. Submission lock held.
func (rt *Runtime) unshare(j *Job, u *datamgr.Duplicate, like *task) {
	u.Close()
	t := rt.internal(j, duplicateTask, u.Handle(), iface.W)
	from := like.from()
	t.setOrigin(&from)
	t.Priority = like.Priority
	t.x.dup = u
	t.setOperands([]Operand{{Handle: u.Alias(), Mode: iface.R}, {Handle: u.Handle(), Mode: iface.W}})
	_, _ = rt.admit(t, datamgr.MergeOptions{}) // it reads what has a value
}

// share makes the operands of t what they stand for: duplicates that t ends by
// writing are copied first, and those that still share bytes are read there.
// Submission lock held.
func (rt *Runtime) share(t *task) {
	j, x, ops := t.job, t.x, t.operands()
	for i := range ops {
		for u := ops[i].Handle.Written(ops[i].Mode); u != nil; u = ops[i].Handle.Written(ops[i].Mode) {
			rt.unshare(j, u, t)
		}
		x.copies = ops[i].Handle.Closing(ops[i].Mode, x.copies)
	}
	whole := func(op *Operand, u *datamgr.Duplicate) bool { return op.Handle == u.Handle() && op.Mode == iface.R }
	for i := range ops { // first, so that no operand is read where another ends the sharing
		op := &ops[i]
		if u := op.Handle.Shared(); u != nil && op.Mode != iface.Scratch && !whole(op, u) {
			rt.unshare(j, u, t)
		}
	}
	for i := range ops {
		op := &ops[i]
		if u := op.Handle.Shared(); u != nil && op.Mode != iface.Scratch {
			op.Handle = u.Use()
			x.shares = append(x.shares, u.Handle().Datum())
		}
	}
}

// await makes t, which is armed, wait for copies that accesses without order
// would overtake, and returns for how many; and notes which duplicates t uses.
func (x *ext) await(t *task) (waits int32) {
	if len(x.unordered) > 0 {
		for _, u := range x.copies {
			if u.Await(&t.Waiter) {
				waits++
			}
		}
	}
	for _, d := range x.shares {
		d.AddUse()
		x.unordered = append(x.unordered, d)
	}
	x.copies, x.shares = nil, nil
	return waits
}

// runDuplicate makes the copy of a duplicate.
func (w *worker) runDuplicate(t *task) error {
	x, ops := t.x, t.operands()
	if w.rt.limited {
		return x.dup.CopyApart()
	}
	if err := x.place.Prepare(0, ops); err != nil {
		return err
	}
	var from, to iface.Buffer
	x.place.Buffer(0, ops[0].Handle, &from)
	x.place.Buffer(1, ops[1].Handle, &to)
	datamgr.CopyBuffer(&to, &from)
	return nil
}
