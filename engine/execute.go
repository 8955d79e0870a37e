package engine

// How a worker runs one task: its buffers, its kernel, its end.

import (
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
)

// run runs a task that the policy gave out.
func (w *worker) run(t *task) {
	if w.c.Late() {
		w.finishLate(t)
	}
	w.pub.Begin(&t.Waiter, w.c) // from now on unordered accesses see us, or we see theirs
	j := t.job
	if w.job != j { // who waits for the other job should not wait for this task
		w.flush()
		w.job = j
	}
	if t.general || t.Order <= j.cancelled.Load() || w.arch != cpuArch {
		w.runGeneral(t)
		w.settle()
		return
	}
	w.tc.reset(t, w)
	commutes := false
	if !w.rt.reg.Calm(&t.Waiter) {
		var done bool
		if commutes, done = w.prepare(t); done {
			return
		}
	}
	if w.rt.opt.Poison {
		w.poison(t)
	}
	var err error
	if w.rt.heard() || j.timed.Load() || w.menu != nil || w.rt.opt.Sequential { // there loop is not around it
		err = w.kernel(t, t.codelet.CPU[0], 0)
	} else {
		err = w.callBare(t.codelet.CPU[0])
	}
	if err != nil {
		t.extend()
		w.fail(t, err)
		w.settle()
		return
	}
	if commutes {
		t.lockPlace().ReleaseOne(w.c)
	}
	switch {
	case t.nacc == 0:
	case t.nacc == 1 && t.member():
		w.c.FinishMember(&t.acc[0])
	default:
		w.c.Finish(t.accesses())
	}
	w.recycle(t)
	w.count(j)
	if w.c.Released() {
		w.dispatch()
	}
	if len(w.light) > 0 {
		w.settle()
	}
}

// finishLate ends the accesses that were left to be ended later, unless t, which
// runs next, is a member of the same group.
func (w *worker) finishLate(t *task) {
	if !t.general && t.nacc == 1 && w.c.LateFor(&t.acc[0]) {
		return
	}
	w.c.FinishLate()
	w.settle()
	w.share()
}

// member reports whether t, which is plain and has one access, shares its data
// with others.
func (t *task) member() bool {
	m := t.ops[0].Mode
	return t.nops == 1 && (m == iface.R || m == iface.Commute || m == iface.Redux)
}

// prepare does what a plain task needs before its kernel: memory that does not
// exist yet, private copies, its lock. commutes says that it has the lock; done,
// that it was run in the general way instead, or waits for the lock.
func (w *worker) prepare(t *task) (commutes, done bool) {
	ops := t.operands()
	var state datamgr.State
	for i := range ops {
		switch op := &ops[i]; op.Mode {
		case iface.Scratch, iface.Redux:
		case iface.Commute:
			commutes = true
			fallthrough
		default:
			state |= op.Handle.State()
		}
	}
	ok := w.node == 0 && !w.rt.limited && (state == 0 || state.OnlyLazy())
	if ok && commutes && !t.lockPlace().AcquireOne(w.c) {
		w.pub.End(w.c) // t may run elsewhere by now
		w.settle()
		return false, true
	}
	k := 0
	for i := range ops {
		if !ok {
			break
		}
		var err error
		switch op := &ops[i]; op.Mode {
		case iface.Scratch:
			err = w.private(k, i, op)
			k++
		case iface.Redux:
			if !op.Handle.Contributes(w.id, &w.tc.bufs[i]) {
				err = w.contribute(t, i)
			}
			w.tc.set[i] = true
		default:
			if state != 0 {
				err = op.Handle.PrepareMain()
			}
		}
		ok = err == nil // else the general way meets the error again, and says so
	}
	if !ok {
		w.runGeneral(t)
		w.settle()
	}
	return commutes, !ok
}

// kernel calls fn, implementation impl, as the kernel of t; the buffers that are not plain are filled in.
func (w *worker) kernel(t *task, fn Impl, impl int) error {
	j := t.job
	if w.rt.heard() {
		w.rt.event(TaskStarted, t, w.id, nil)
	}
	var err error
	if !j.timed.Load() {
		err = w.call(fn)
	} else {
		err = w.timed(t, fn, impl)
	}
	if err == nil && !w.collects(t) {
		if w.rt.heard() {
			w.done(t)
		}
	}
	return err
}

// collects reports whether something of t is still to be done when its kernel has
// returned on a device: bringing its contributions to main memory.
func (w *worker) collects(t *task) bool { return w.node > 0 && t.general && len(t.x.redux) > 0 }

// done tells that t has succeeded. Who calls it asks first whether somebody hears it.
func (w *worker) done(t *task) { w.rt.event(TaskDone, t, w.id, nil) }

// call calls fn, and returns when it and what it has begun on the worker's stream
// have ended.
func (w *worker) call(fn Impl) error {
	switch {
	case w.stream != nil:
		return w.callOnDevice(fn)
	case w.menu != nil:
		w.begins()
		defer w.ends()
	}
	return callKernel(fn, &w.tc, w.exits)
}

// exit is called when a kernel ends the worker's goroutine.
func (w *worker) exit(err error) {
	t := w.tc.t
	t.extend()
	w.running.Store(nil)
	w.fail(t, err)
	w.rest()
}

// runGeneral runs a task that may need locks, copies or private buffers, or
// must not run at all.
func (w *worker) runGeneral(t *task) {
	ops := t.operands()
	plain := !t.general
	if plain && t.marks&hasLock != 0 {
		t.lockPlace().ReleaseOne(w.c)
	}
	x := t.extend()
	if len(w.flights) > 0 && !w.queues(t) {
		w.landAll()
	}
	if t.kind == specialTask {
		w.runSpecial(t)
		return
	}
	for i := range ops {
		x.needLocks = x.needLocks || plain && ops[i].Mode == iface.Commute
	}
	if x.needLocks || t.state().Locks() {
		if !x.locks.Acquire(ops, x.unsequenced, w.c) {
			w.pub.End(w.c) // t may run elsewhere by now
			return
		}
	}
	if t.kind != userTask {
		w.runInternal(t)
		return
	}
	if w.refused(t) {
		return
	}
	w.assemble(t) // before anything that others wait for, locks apart
	datamgr.Mend(ops)
	w.roomGiven = w.rt.noRoomFor.given.Load()
	if len(w.flights) == 0 || !x.place.PrepareThere(w.node, ops) {
		w.landAll() // whoever waits for room holds none
		if err := w.place(t); err != nil {
			w.unable(t, err)
			return
		}
	}
	if w.rt.profile != nil {
		w.rt.profile.fetched(t)
	}
	w.tc.reset(t, w)
	if err := w.privates(t); err != nil {
		w.unable(t, err)
		return
	}
	x.place.Begin()
	if w.rt.opt.Poison && w.node == 0 {
		w.poison(t)
	}
	w.runBody(t)
}
