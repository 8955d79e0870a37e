package engine

// Registration: the record of a task, and its place in the order.

import (
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/sched"
)

// make makes the task and lets it go.
func (j *Job) make(sub datamgr.Submission, s *TaskSpec, keep *Task) (err error) {
	rt := j.rt
	if err := j.open(sub); err != nil {
		return err
	}
	var allowed *sched.Set
	if s.Workers != nil {
		if allowed, err = rt.workerSet(sub, s.Workers); err != nil {
			return err
		}
	}
	if rt.nodes > 1 {
		if allowed, err = rt.whereItFits(sub, s, allowed); err != nil {
			return err
		}
	}
	plain := datamgr.Plain{Accesses: -1}
	if keep == nil && s.After == nil && !s.Unordered && s.Name == "" && s.Color == 0 && s.Flops == 0 &&
		!(j.opt.Deterministic && fixes(s.Operands)) {
		plain = sub.CountPlain(s.Operands)
	} else if err := rt.checkAfter(sub, s.After); err != nil {
		return err
	} else if err := checkLast(sub, s, keep); err != nil {
		return err
	}
	n := plain.Accesses
	t := rt.newTask(sub, n > plainAcc || len(s.Operands) > plainOps)
	t.job, t.codelet = j, s.Codelet
	t.setOrigin(&s.Origin)
	t.setArgs(s.Args)
	if s.closure != nil {
		t.setClosure(s.closure)
	}
	t.Allowed = allowed
	if p := s.Priority; p != 0 {
		t.Priority = int32(max(min(p, 1<<30), -1<<30))
		if !rt.ranked.Load() {
			rt.ranked.Store(true)
		}
	}
	var waits int32
	if n >= 0 {
		t.setOperands(s.Operands)
		acc := t.accessSlots(n)
		h := plain.Commuting
		if n == 1 && h == nil {
			// All is done before the access is registered, so that the record is not
			// touched any more while it waits: 36 instead of 41 ns, and a chain takes
			// 0.88 to 0.97 of the time. With more accesses, where one may end before the
			// next is registered, it brings nothing.
			j.count(sub, t, s)
			t.ArmOne()
			if sub.RegisterPlain(plain, &t.Waiter, s.Operands, acc) == 0 {
				rt.pushOutside(sub, t)
			}
			return nil
		}
		if n >= heavyAccesses {
			t.weigh(sub, n)
		}
		t.Arm()
		waits = sub.RegisterPlain(plain, &t.Waiter, s.Operands, acc)
		j.count(sub, t, s)
		var one *datamgr.LockPlace
		if h != nil {
			one = t.lockPlace()
			t.marks |= hasLock
			one.InitSingle(sub, &t.Waiter, h, t.Allowed == nil && t.Priority == 0)
		}
		if t.Settle(waits) && (one == nil || !one.QueueSingle()) {
			rt.pushOutside(sub, t)
		}
		return nil
	}
	var parent *Subgraph
	if keep != nil && keep.opts != nil {
		parent = keep.opts.parent
	}
	for i := range s.Operands {
		if h := s.Operands[i].Handle; !rt.reg.Owns(h) || !h.Alive() && parent == nil {
			rt.unused(sub, t)
			return rt.alive(i, h)
		}
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
		if op.Mode == iface.Redux && !managed(op.Handle).CanReduce(sub) {
			rt.unused(sub, t)
			return &NoReductionError{Operand: i, Handle: s.Operands[i].Handle}
		}
		op.Unordered = op.Unordered || s.Unordered || sub.Unordered(op.Handle)
	}
	if parent != nil {
		waits, err = parent.register(sub, t, s)
	} else {
		rt.closeGroups(sub, j, ops, t)
		rt.initialise(sub, j, ops, t)
		waits, err = rt.register(sub, t, datamgr.MergeOptions{InOrder: j.opt.Deterministic}, s.After)
	}
	if err != nil {
		rt.unused(sub, t)
		return err
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
	if t.Settle(waits) {
		rt.pushOutside(sub, t)
	}
	return nil
}

// attach prepares the record of a special task; it returns how many more things
// the task waits for. The caller of make ends one of them, the submission
// itself.
func (sp *taskOptions) attach(sub datamgr.Submission, t *task, s *TaskSpec) (waits int32) {
	if sp.Prologue != nil || sp.nowhere {
		t.kind = specialTask
	}
	waits = 1
	if sp.Tag != nil && sp.Tag.carry(sub, t, sp.Repeat != nil) {
		waits++
	}
	if sp.Place != 0 && sp.enterSequence(sub, t, s.Workers[0]) {
		waits++
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
		datamgr.Expect(t.operands(), rt.when(t))
	}
	if rt.hasListeners() {
		rt.submittedEvent(sub, t, s.After)
	}
}

// register registers the accesses of a general task and returns how many things
// it waits for.
func (rt *Runtime) register(sub datamgr.Submission, t *task, opt datamgr.MergeOptions, after []Dependency) (int32, error) {
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
		_, _ = rt.admit(sub, t, datamgr.MergeOptions{NoValueYet: true, Reduce: h}) // one operand cannot be at fault
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
		_, _ = rt.admit(sub, t, datamgr.MergeOptions{NoValueYet: true, OnlyNew: true})
	}
}

// admit registers an internal task and reports whether it is ready. A ready task with a
// kernel goes to the policy; the caller runs other ready tasks once the lock is free.
func (rt *Runtime) admit(sub datamgr.Submission, t *task, opt datamgr.MergeOptions) (ready bool, err error) {
	waits, err := rt.register(sub, t, opt, nil)
	if err != nil {
		rt.unused(sub, t)
		return false, err
	}
	if t.kind != acquireTask {
		t.job.live++
		t.weigh(sub, int(t.nacc))
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
	_, _ = rt.admit(sub, t, datamgr.MergeOptions{}) // it reads what has a value
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
