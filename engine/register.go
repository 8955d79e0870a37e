package engine

// Registration, the second step of a submission: it makes the record of a task that was
// admitted, inserts the tasks of the engine that must come before it, and gives it its place
// in the order of its data and dependencies.

import (
	"fmt"
	"slices"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
)

// registerGeneral gives t, a general task whose record has what a plain task has, operands
// apart, its place in the order, and reports whether it is ready. Only here can a registration
// fail: Submission.Merge finds out whether there are values to read. The tasks that must come
// before t stay then.
func (j *Job) registerGeneral(sub datamgr.Submission, t *task, s *TaskSpec, keep *Task) (ready bool, err error) {
	rt := j.rt
	var parent *Subgraph
	if keep != nil && keep.opts != nil {
		parent = keep.opts.parent
	}
	sub.Tidy(s.Operands)
	x := t.extend()
	t.setOperands(s.Operands)
	x.name, x.color, x.flops, x.public, x.allUnordered = s.Name, s.Color, s.Flops, keep, s.Unordered
	if parent != nil {
		parent.share(sub, t.operands())
	}
	rt.share(sub, t)
	ops := t.operands()
	for i := range ops {
		op := &ops[i]
		op.Unordered = op.Unordered || s.Unordered || sub.Unordered(op.Handle)
	}
	if err := t.admitFormats(); err != nil {
		rt.unused(sub, t)
		return false, err
	}
	var waits int32
	if parent != nil {
		waits, err = parent.register(sub, t, s)
	} else {
		rt.closeGroups(sub, j, ops, t)
		rt.initialise(sub, j, ops, t)
		waits, err = rt.registerAccesses(sub, t, datamgr.MergeOptions{InOrder: j.opt.Deterministic}, s.After)
	}
	if err != nil {
		rt.unused(sub, t)
		return false, err
	}
	t.weigh(sub, int(t.nacc)+len(s.After))
	if j.opt.Deterministic {
		x.reserve(sub, ops)
	}
	if keep != nil {
		if keep.id == 0 {
			keep.id = j.submitted + 1
		}
		keep.begin(sub, t)
		if keep.opts != nil {
			waits += keep.opts.attach(sub, t, s)
		}
	}
	j.count(sub, t, s)
	if waits == 0 && keep != nil {
		t.WaitsForNothing() // for Task.State
	}
	return t.Settle(waits), nil
}

// attach prepares the record of a special task; it returns how many more things
// the task waits for. One of them is the submission itself, which submitSpecial ends.
func (sp *taskOptions) attach(sub datamgr.Submission, t *task, s *TaskSpec) (waits int32) {
	sp.runs = 0
	if sp.Prologue != nil || sp.nowhere {
		t.kind = specialTask
	}
	rt := t.job.rt
	waits = 1
	if sp.Tag != nil && sp.Tag.carry(sub, t, sp.Repeat != nil) {
		waits++
	}
	if sp.Place != 0 && sp.enterSequence(sub, t, s.Workers[0]) {
		waits++
	}
	if sp.Bundle != nil && !rt.opt.Sequential {
		sp.Bundle.Add(&rt.sched, &t.Item)
	}
	return waits
}

// count counts t, which s describes, and tells the listener.
func (j *Job) count(sub datamgr.Submission, t *task, s *TaskSpec) {
	rt := j.rt
	j.submitted++
	j.live++
	t.Order = j.submitted
	if j.stats != nil {
		j.stats.submitted(sub, t.codelet)
	}
	if rt.nodes > 1 {
		datamgr.Expect(t.expectedOperands(), rt.when(t))
	}
	if rt.hasListeners() {
		rt.submittedEvent(sub, t, s.After)
	}
}

// registerAccesses registers the accesses of a general task and returns how many things
// it waits for.
func (rt *Runtime) registerAccesses(sub datamgr.Submission, t *task, opt datamgr.MergeOptions, after []Dependency) (int32, error) {
	x, ops := t.x, t.operands()
	m, bad := sub.Merge(ops, opt)
	if bad.Kind != datamgr.NoProblem {
		return 0, problem(ops, bad)
	}
	x.needLocks, x.shared = m.Locks, m.Shared
	acc := t.accessSlots(m.Ordered)
	t.Arm()
	waits := m.Register(sub, &t.Waiter, ops, acc)
	x.unordered = m.Unordered(x.unordered[:0])
	if x.copies != nil || x.shares != nil {
		waits += x.await(t)
	}
	if len(x.unordered) > 0 {
		for i := range ops {
			if ops[i].Unordered && ops[i].Mode != iface.Scratch {
				waits += managed(ops[i].Handle).AwaitMaking(sub, &t.Waiter)
			}
		}
	}
	for _, d := range after {
		if d.addSuccessor(sub, t) {
			waits++
		}
	}
	return waits, nil
}

// internal makes a task of kind k on h, submitted for job j.
func (rt *Runtime) internal(sub datamgr.Submission, j *Job, k kind, h *datamgr.Handle, m iface.AccessMode) *task {
	t := rt.newTask(sub, false)
	x := t.extend()
	t.job, t.kind, t.marks = j, k, t.marks&isWide
	t.Allowed = rt.host
	j.internals++
	t.Order = -j.internals
	x.h = h
	t.setOperands([]Operand{{Handle: h, Mode: m}})
	if k >= acquireTask { // the others come in the middle of a submission
		sub.Tidy(t.operands())
	}
	return t
}

// closeGroups submits the reductions that a task with these operands must come
// after.
func (rt *Runtime) closeGroups(sub datamgr.Submission, j *Job, ops []Operand, like *task) {
	for h := sub.OpenGroup(ops); h != nil; h = sub.OpenGroup(ops) {
		sub.CloseGroup(h)
		t := rt.internal(sub, j, reduceTask, h, iface.RW)
		from := like.submittedAt()
		t.setOrigin(&from)
		t.Priority = like.Priority
		t.x.none, t.x.all = sub.NoValueIn(h)
		t.x.making = managed(h).Make(sub)
		_, _ = rt.insertInternal(sub, t, datamgr.MergeOptions{NoValueYet: true, Reduce: h}) // one operand cannot be at fault
	}
}

// initialise submits the lazy initialisations that must come before a task with
// these operands.
func (rt *Runtime) initialise(sub datamgr.Submission, j *Job, ops []Operand, like *task) {
	for i := range ops {
		op := &ops[i]
		if !op.Mode.Reads() || !managed(op.Handle).InitOnly(sub) {
			continue
		}
		none, all := sub.NoValueIn(op.Handle)
		if len(none) == 0 {
			continue
		}
		t := rt.internal(sub, j, initTask, op.Handle, iface.RW)
		from := like.submittedAt()
		t.setOrigin(&from)
		t.Priority = like.Priority
		t.x.none, t.x.all = none, all
		t.x.making = managed(op.Handle).Make(sub)
		_, _ = rt.insertInternal(sub, t, datamgr.MergeOptions{NoValueYet: true, OnlyNew: true})
	}
}

// insertInternal registers an internal task and reports whether it is ready. A ready task with
// a kernel goes to the policy; the caller runs other ready tasks once the lock is free.
func (rt *Runtime) insertInternal(sub datamgr.Submission, t *task, opt datamgr.MergeOptions) (ready bool, err error) {
	waits, err := rt.registerAccesses(sub, t, opt, nil)
	if err != nil {
		rt.unused(sub, t)
		return false, err
	}
	if t.kind != acquireTask {
		t.job.live++
		t.weigh(sub, int(t.nacc))
	}
	if t.x.awaitsConversion {
		waits += managed(t.operands()[0].Handle).AwaitMaking(sub, &t.Waiter) // that of a duplicate is its source's
	}
	if t.kind == unregisterTask && managed(t.x.h).AwaitUnordered(sub, &t.Waiter) {
		waits++
	}
	if rt.hasListeners() {
		rt.submittedEvent(sub, t, nil)
	}
	if f := t.job.opt.OnInternal; f != nil {
		f(&Event{Kind: TaskSubmitted, Job: t.job, ID: t.Order, Internal: kindNames[t.kind], Worker: -1, Operands: t.operands(), Origin: t.submittedAt()})
	}
	if !t.Settle(waits) {
		return false, nil
	}
	if !t.kind.light() {
		rt.pushOutside(sub, t)
	}
	return true, nil
}

// unshare submits the copy of a duplicate.
func (rt *Runtime) unshare(sub datamgr.Submission, j *Job, u *datamgr.Duplicate, like *task) {
	u.Close(sub)
	t := rt.internal(sub, j, duplicateTask, u.Handle(), iface.W)
	from := like.submittedAt()
	t.setOrigin(&from)
	t.Priority = like.Priority
	t.x.dup = u
	t.setOperands([]Operand{{Handle: u.Alias(), Mode: iface.R}, {Handle: u.Handle(), Mode: iface.W}})
	_, _ = rt.insertInternal(sub, t, datamgr.MergeOptions{}) // it reads what has a value
}

// share makes the operands of t what they stand for: duplicates that t ends by
// writing are copied first, and those that still share bytes are read there.
func (rt *Runtime) share(sub datamgr.Submission, t *task) {
	j, x, ops := t.job, t.x, t.operands()
	for i := range ops {
		for u := managed(ops[i].Handle).Written(sub, ops[i].Mode); u != nil; u = managed(ops[i].Handle).Written(sub, ops[i].Mode) {
			rt.unshare(sub, j, u, t)
		}
		x.copies = managed(ops[i].Handle).Closing(sub, ops[i].Mode, x.copies)
	}
	whole := func(op *Operand, u *datamgr.Duplicate) bool { return op.Handle == u.Handle() && op.Mode == iface.R }
	for i := range ops { // first, so that no operand is read where another ends the sharing
		op := &ops[i]
		if u := managed(op.Handle).Shared(sub); u != nil && op.Mode != iface.Scratch && !whole(op, u) {
			rt.unshare(sub, j, u, t)
		}
	}
	for i := range ops {
		op := &ops[i]
		if u := managed(op.Handle).Shared(sub); u != nil && op.Mode != iface.Scratch {
			op.Handle = u.Use(sub)
			x.shares = append(x.shares, managed(u.Handle()).Datum())
		}
	}
}

// await makes t, which is armed, wait for copies that accesses without order
// would overtake, and returns for how many; and notes which duplicates t uses.
func (x *taskExtra) await(t *task) (waits int32) {
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

// admitFormats refuses what data with layouts cannot be used for, and notes which data t may use, which is
// about to be registered.
func (t *task) admitFormats() error {
	ops, x, c := t.operands(), t.x, t.codelet
	for i := range ops {
		op := &ops[i]
		fs, _ := managed(op.Handle).Formats().(*formats)
		if fs == nil {
			continue
		}
		x.formatted = x.formatted || len(fs.inUse) > 0
		fail := func(text string) error {
			return &FormatError{Operand: i, Handle: op.Handle, Message: fmt.Sprintf("%s, which has a layout of its own on devices, %s", describe(op.Handle), text)}
		}
		switch {
		case op.Mode == iface.Scratch:
			return fail("cannot be SCRATCH; pass other data of the same sizes")
		case op.Unordered:
			return fail("cannot be used without order; leave the option out")
		case t.usesTwice(i):
			return fail("is passed twice, and written, but Formats of the codelet lists only one of the operands; list both, or pass it once")
		}
		if c == nil || !slices.Contains(c.Formats, i) {
			continue
		}
		types := c.FormatTypes
		if types == nil {
			types = c.Types
		}
		if types != nil && i < len(types.Operands) {
			for _, f := range fs.declared {
				if o := &types.Operands[i]; !o.Kinds.Has(f.Kind) || o.Elem != iface.NoElem && o.Elem != f.Elem {
					return fail(fmt.Sprintf("is a %v of %v in layout %q, which codelet %s does not take; give the layout the kind and element type that the codelet declares, or let the codelet take both",
						f.Kind, f.Elem, f.Name, c.Name))
				}
			}
		}
		for k := range fs.inUse {
			if x.expected == nil {
				x.expected = slices.Clone(ops)
			}
			o := *op
			o.Handle = fs.inUse[k].h
			x.expected = append(x.expected, o)
		}
	}
	return nil
}

// usesTwice reports whether an operand before operand i is of the same data, one of them is written, and they may have
// different layouts on a device: then they would not share memory.
func (t *task) usesTwice(i int) bool {
	ops, c := t.operands(), t.codelet
	if c == nil {
		return false
	}
	for k := range i {
		if managed(ops[k].Handle).Datum() == managed(ops[i].Handle).Datum() && (ops[k].Mode.Writes() || ops[i].Mode.Writes()) &&
			slices.Contains(c.Formats, k) != slices.Contains(c.Formats, i) {
			return true
		}
	}
	return false
}

// submitConversion submits the conversion that must come before t, of the program or the engine, which reads h in main memory. It reports
// whether one is needed.
func (rt *Runtime) submitConversion(sub datamgr.Submission, t *task, h *datamgr.Handle) bool {
	fs := formatsOf(h)
	if fs == nil || rt.opt.Plan != nil || !sub.Busy(h, nil, 0) && fs.isMain() { // plans have their own, see planned
		return false
	}
	u := rt.internal(sub, t.job, convertTask, h, iface.R)
	from := t.submittedAt()
	u.setOrigin(&from)
	u.Priority = t.Priority
	u.x.making, t.x.awaitsConversion = managed(h).Make(sub), true
	_, _ = rt.insertInternal(sub, u, datamgr.MergeOptions{NoValueYet: true})
	return true
}
