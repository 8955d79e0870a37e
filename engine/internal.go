package engine

// What the engine submits itself: reductions, lazy initialisations, gathering,
// invalidation, the end of data.

import (
	"fmt"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/sched"
)

// internal makes a task of kind k on h, submitted for job j. Submission lock held.
func (rt *Runtime) internal(j *Job, k kind, h *datamgr.Handle, m iface.AccessMode) *task {
	t := rt.newTask(false)
	x := t.extend()
	t.job, t.kind, t.marks = j, k, t.marks&isWide
	t.Allowed = rt.host
	j.internals++
	t.Order = -j.internals
	x.h = h
	t.setOperands([]Operand{{Handle: h, Mode: m}})
	if k >= acquireTask { // the others come in the middle of a submission
		rt.reg.Tidy(t.operands())
	}
	return t
}

// closeGroups submits the reductions that a task with these operands must come
// after. Submission lock held.
func (rt *Runtime) closeGroups(j *Job, ops []Operand, like *task) {
	for h := rt.reg.OpenGroup(ops); h != nil; h = rt.reg.OpenGroup(ops) {
		rt.reg.CloseGroup(h)
		t := rt.internal(j, reduceTask, h, iface.RW)
		from := like.from()
		t.setOrigin(&from)
		t.Priority = like.Priority
		t.x.none, t.x.all = rt.reg.NoValueIn(h)
		t.x.making = h.Make()
		_, _ = rt.admit(t, datamgr.MergeOptions{NoValueYet: true, Reduce: h}) // one operand cannot be at fault
	}
}

// initialise submits the lazy initialisations that must come before a task with
// these operands. Submission lock held.
func (rt *Runtime) initialise(j *Job, ops []Operand, like *task) {
	for i := range ops {
		op := &ops[i]
		if !op.Mode.Reads() || !op.Handle.InitOnly() {
			continue
		}
		none, all := rt.reg.NoValueIn(op.Handle)
		if len(none) == 0 {
			continue
		}
		t := rt.internal(j, initTask, op.Handle, iface.RW)
		from := like.from()
		t.setOrigin(&from)
		t.Priority = like.Priority
		t.x.none, t.x.all = none, all
		t.x.making = op.Handle.Make()
		_, _ = rt.admit(t, datamgr.MergeOptions{NoValueYet: true, OnlyNew: true})
	}
}

// admit registers an internal task and reports whether it is ready. What has a
// kernel is then given to the policy, the rest is the caller's to run once the
// lock is free. Submission lock held.
func (rt *Runtime) admit(t *task, opt datamgr.MergeOptions) (ready bool, err error) {
	waits, err := rt.register(t, opt, nil)
	if err != nil {
		rt.unused(t)
		return false, err
	}
	if t.kind != acquireTask {
		t.job.live++
		t.weigh(int(t.nacc))
	}
	if t.kind == unregisterTask && t.x.h.AwaitUnordered(&t.Waiter) {
		waits++
	}
	if rt.heard() {
		rt.event(TaskSubmitted, t, -1, nil)
	}
	if f := t.job.opt.OnInternal; f != nil {
		f(&Event{Kind: TaskSubmitted, Job: t.job, ID: t.Order, Internal: kindNames[t.kind], Worker: -1, Operands: t.operands(), Origin: t.from()})
	}
	if !t.Settle(waits) {
		return false, nil
	}
	if !t.kind.light() {
		rt.push(t, sched.Outside)
	}
	return true, nil
}

// runInternal runs a reduction, an initialisation or a gathering; its locks are
// taken.
func (w *worker) runInternal(t *task) {
	x, ops := t.x, t.operands()
	h := x.h
	if t.kind == reduceTask {
		if v := h.TakeFault(); v != nil {
			h.DropContributions()
			w.endInternal(t, v.(*failure), nil)
			return
		}
	}
	if t.kind == reduceTask || t.kind == duplicateTask {
		if _, v := datamgr.Fault(ops); v != nil {
			if t.kind == reduceTask {
				h.DropContributions()
			}
			w.endInternal(t, v.(*failure), nil)
			return
		}
	}
	if w.rt.heard() {
		w.rt.event(TaskStarted, t, w.id, nil)
	}
	what := "combine"
	exit := func(error) {
		w.failInternal(t, h.Exited(what))
		w.rest()
	}
	var err error
	switch t.kind {
	case reduceTask:
		if w.rt.limited {
			err = callKernel(func(*TaskContext) error { return h.CombineApart(&x.place, x.none, x.all) }, nil, exit)
			break
		}
		if err = x.place.Prepare(0, ops); err != nil {
			h.DropContributions()
			break
		}
		var b iface.Buffer
		x.place.Buffer(0, h, &b)
		err = callKernel(func(*TaskContext) error { return h.Combine(&b, x.none, x.all) }, nil, exit)
	case initTask:
		what = "initialise"
		err = callKernel(func(*TaskContext) error {
			if w.rt.limited {
				return h.InitialiseApart(&x.place, x.none)
			}
			return h.Initialise(x.none, x.all)
		}, nil, exit)
	case duplicateTask:
		err = w.runDuplicate(t)
	case gatherTask:
		if x.node == 0 || !x.place.GatherOn(x.node, ops) {
			err = h.Gather()
		}
	}
	if err != nil {
		if f := lostMeanwhile(ops, err); f != nil && (t.kind == reduceTask || t.kind == duplicateTask) {
			w.endInternal(t, f, nil)
			return
		}
		w.failInternal(t, err)
		return
	}
	w.endInternal(t, nil, nil)
}

// failInternal ends an internal task that failed with err.
func (w *worker) failInternal(t *task, err error) {
	f := newFailure(t, w.name, err, false)
	t.job.report(f) // not counted: it is no task of the program
	w.endInternal(t, f, err)
}

func (w *worker) endInternal(t *task, f *failure, err error) {
	j := t.job
	if w.rt.heard() {
		k := TaskDone
		switch {
		case err != nil:
			k = TaskFailed
		case f != nil:
			k = TaskCancelled
		}
		w.rt.event(k, t, w.id, err)
	}
	w.end(t, f)
	switch t.kind {
	case reduceTask, initTask:
		t.x.making.End(w.c)
		t.x.making = nil
	case duplicateTask:
		t.x.dup.Copied(w.c)
	}
	w.recycle(t)
	j.internal.Add(1)
	w.count(j)
	w.c.FinishLate()
	w.flush() // at once: Stats takes internal tasks off what has ended
}

// runLight runs what has no kernel, on whatever goroutine released it. An
// unordered access that comes first now counts its lock as held meanwhile.
func (h *hand) runLight(t *task) {
	switch t.kind {
	case relayTask:
		h.runRelay(t)
		return
	case specialTask:
		h.runSpecial(t)
		return
	case gangCall:
		h.w.help()
		return
	}
	rt, x := h.rt, t.x
	var hold *datamgr.Hold
	if t.kind == acquireTask {
		hold = x.access.hold
	} else {
		hold = datamgr.NewHold(x.h, iface.W)
	}
	rt.reg.Lock()
	rt.reg.AddHold(hold)
	rt.reg.Unlock()
	ops := t.operands()
	if (x.needLocks || t.state().Locks()) && !x.locks.Acquire(ops, false, h.c) {
		// t is not ours any more; giving the grace back may be what frees it
		rt.reg.Lock()
		rt.reg.EndHold(hold, h.c)
		rt.reg.Unlock()
		return
	}
	x.hold = hold
	if a := x.access; a != nil && a.opt.Node > 0 && !a.opt.OrderOnly {
		h.grantAside(t)
		return
	}
	if t.kind == acquireTask {
		h.grant(t)
		return
	}
	switch t.kind {
	case invalidateTask:
		x.h.Drop()
	case unregisterTask:
		if x.h.Home() {
			t.bringHome()
		}
	}
	h.endLight(t)
}

// bringHome brings the value of data that ends to the memory of the program, which reads
// it there and nowhere else: nobody but Failures tells that it is not there. What tasks lost
// was told when they failed.
func (t *task) bringHome() {
	err := t.x.h.Gather()
	if _, v := datamgr.Fault([]Operand{{Handle: t.x.h, Mode: iface.R}}); err == nil && v != nil {
		if f := v.(*failure); f.codelet == lostCodelet {
			err = f.cause
		}
	}
	if err != nil {
		t.job.report(newFailure(t, "", fmt.Errorf("the memory of the program does not have the value of %s: %w", describe(t.x.h), err), false))
	}
}

// endLight ends a light task and recycles it.
func (h *hand) endLight(t *task) {
	rt, j, root := h.rt, t.job, t.x.h
	free := t.kind == unregisterTask
	counted := t.kind != acquireTask
	node, kept := 0, false
	if !counted {
		node, kept = t.x.access.opt.Node, t.x.access.there
	}
	rt.reg.Lock()
	rt.reg.EndHold(t.x.hold, h.c)
	rt.reg.Unlock()
	if rt.heard() {
		rt.event(TaskDone, t, h.id, nil)
	}
	if free {
		root.Free()
	}
	h.end(t, nil)
	t.clear()
	t.SetNext(nil)
	rt.giveBack(t, t)
	if node > 0 {
		rt.roomAgain(node, kept)
	}
	if counted {
		j.internal.Add(1)
		j.ended.Add(1)
		rt.progress()
	}
}
