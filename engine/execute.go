package engine

// How a worker runs one task: its buffers, its kernel, its end.

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
)

// run runs a task that the policy gave out.
func (w *worker) run(t *task) {
	if w.c.Late() {
		w.finishLate(t)
	}
	// Publish the task, then read the state of its data. An unordered access sets the state,
	// then looks for published tasks: one of the two sees the other (Handshakes in
	// datamgr/merge.go).
	w.pub.Begin(&t.Waiter, w.c)
	j := t.job
	if w.job != j { // a wait for the other job must not last until this task ends
		w.flush()
		w.job = j
	}
	if t.general || !w.host || t.Order <= j.cancelled.Load() {
		w.runGeneral(t)
		w.drain()
		return
	}
	w.tc.reset(t, w)
	commutes := false
	if !w.rt.reg.Unchanged(&t.Waiter) {
		var done bool
		if commutes, done = w.prepare(t); done {
			return
		}
	}
	var err error
	if w.bare && !w.rt.hasListeners() && !j.timed.Load() {
		err = w.callBare(t.codelet.CPU[0])
	} else {
		if w.rt.opt.Poison {
			w.poison(t)
		}
		err = w.kernel(t, t.codelet.CPU[0], 0)
	}
	if err != nil {
		t.extend()
		w.fail(t, err)
		w.drain()
		return
	}
	if commutes {
		t.lockPlace().ReleaseSingle(w.c)
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
		w.drain()
	}
}

// finishLate ends the accesses that were left to be ended later, unless t, which
// runs next, is a member of the same group.
func (w *worker) finishLate(t *task) {
	if !t.general && t.nacc == 1 && w.c.LateFor(&t.acc[0]) {
		return
	}
	w.c.FinishLate()
	w.drain()
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
	own := true
	for i := range ops {
		switch op := &ops[i]; op.Mode {
		case iface.Redux:
			own = w.own >= 0 // else the contribution is to be given back
		case iface.Scratch:
		case iface.Commute:
			commutes = true
			fallthrough
		default:
			state |= managed(op.Handle).State()
		}
	}
	ok := own && w.node == 0 && !w.rt.limited && (state == 0 || state.OnlyLazy())
	if ok && commutes && !t.lockPlace().AcquireSingle(w.c) {
		w.pub.End(w.c) // t may run elsewhere by now
		w.drain()
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
			err = w.preparePrivate(k, i, op)
			k++
		case iface.Redux:
			if !managed(op.Handle).Contributes(w.own, &w.tc.bufs[i]) {
				err = w.contribute(t, i)
			}
			w.tc.set[i] = true
		default:
			if state != 0 {
				err = managed(op.Handle).PrepareMain()
			}
		}
		ok = err == nil // else the general way meets the error again, and says so
	}
	if !ok {
		w.runGeneral(t)
		w.drain()
	}
	return commutes, !ok
}

// kernel calls fn, implementation impl, as the kernel of t; the buffers that are not plain are filled in.
func (w *worker) kernel(t *task, fn Impl, impl int) error {
	j := t.job
	if v := t.codelet.Variants; v != nil {
		w.tc.variant = v.next()
	}
	if w.rt.hasListeners() {
		w.rt.event(TaskStarted, t, w.id, nil)
	}
	var err error
	if !j.timed.Load() {
		err = w.call(t, fn)
	} else {
		err = w.timed(t, fn, impl)
	}
	if err == nil && !w.collects(t) {
		if w.rt.hasListeners() {
			w.done(t)
		}
	}
	return err
}

// measureObjects notes the footprints of the values that t, whose kernel is about to start, reads.
func (w *worker) measureObjects(t *task) {
	for i, op := range t.operands() {
		if op.Mode.Reads() && isObjectHandle(op.Handle) {
			managed(op.Handle).Measure(w.tc.Buffer(i))
		}
	}
}

// timed calls the kernel of t and says what it took to those who want to know.
func (w *worker) timed(t *task, fn Impl, impl int) error {
	rt, j, a := w.rt, t.job, &w.tally
	told := rt.laneOf(j).feedback != nil
	if rt.verify != nil && w.arch == cpuArch { // others' memory cannot be looked at
		fn = rt.verify.verified(fn)
	}
	var k *tallied
	if j.stats != nil {
		if k = a.begin(w, j, t.codelet); k.skip > 0 && !told && !rt.models.active.Load() {
			k.skip--
			err := w.call(t, fn)
			a.count(w, k, t)
			return err
		}
	}
	if told {
		w.laneTaskStarted(t)
	}
	if rt.models.active.Load() {
		w.measureObjects(t)
	}
	start, paused := time.Since(rt.began), w.paused
	err := w.call(t, fn)
	d := time.Since(rt.began) - start - (w.paused - paused)
	if told {
		w.laneTaskEnded(t, d)
	}
	if j.stats != nil {
		a.timed(w, k, t, d)
	}
	if err == nil && rt.models.active.Load() && t.runs() < 2 {
		w.record(t, impl, d)
	}
	return err
}

// collects reports whether something of t is still to be done when its kernel has
// returned on a device: bringing its contributions to main memory.
func (w *worker) collects(t *task) bool { return w.node > 0 && t.general && len(t.x.redux) > 0 }

// done tells that t has succeeded. The caller checks first that there is a listener.
func (w *worker) done(t *task) { w.rt.tell(TaskDone, t, w.id, nil, nil, w.variant(t)) }

// call calls fn as the kernel of t, and returns when it and what it has begun on the worker's
// stream have ended.
func (w *worker) call(t *task, fn Impl) error {
	switch {
	case w.again != nil:
		return w.callAgain(t, fn)
	case w.stream != nil:
		return w.callOnDevice(t, fn)
	case w.lookahead != nil:
		w.begins()
		defer w.ends()
	}
	return callKernel(fn, &w.tc, func(err error) { w.exit(t, err) })
}

// callAgain is call for a kernel that may run again.
func (w *worker) callAgain(t *task, fn Impl) error {
	s, sp := w.again, t.special()
	w.again = nil
	bufs, set := slices.Clone(w.tc.bufs), slices.Clone(w.tc.set)
	for {
		sp.runs++
		err := w.call(t, fn)
		if err == nil {
			return nil
		}
		if sp.runs > sp.retry || !w.mayRunAgain(t, err) {
			if sp.runs > 1 {
				err = &RetryError{Runs: sp.runs, Err: err}
			}
			return err
		}
		t.restoreSizes()
		copy(w.tc.bufs, bufs)
		copy(w.tc.set, set)
		if e := s.Restore(); e != nil {
			return &RetryError{Runs: sp.runs, Err: errors.Join(err, fmt.Errorf("its operands cannot be restored: %w", e))}
		}
		if w.rt.opt.Poison && w.node == 0 {
			w.poison(t)
		}
		t.job.retries.Add(1)
		if w.rt.hasListeners() {
			w.rt.retryEvent(t, w.id, err)
		}
	}
}

// runGeneral runs a task that may need locks, copies or private buffers, or
// must not run at all.
func (w *worker) runGeneral(t *task) {
	ops := t.operands()
	plain := !t.general
	if plain && t.marks&hasLock != 0 {
		t.lockPlace().ReleaseSingle(w.c)
	}
	x := t.extend()
	if len(w.queued) > 0 && !w.mayQueue(t) {
		w.drainQueue()
	}
	if t.kind == specialTask {
		w.runSpecial(t)
		return
	}
	for i := range ops {
		x.needLocks = x.needLocks || plain && ops[i].Mode == iface.Commute
	}
	if x.needLocks || t.state().Locks() {
		if !x.locks.Acquire(ops, x.allUnordered, w.c) {
			w.pub.End(w.c) // t may run elsewhere by now
			return
		}
	}
	if t.kind != userTask {
		w.runInternal(t)
		return
	}
	if x.formatted {
		t.settleLoss()
	}
	if w.refused(t) {
		return
	}
	w.assemble(t) // before anything that others wait for, locks apart
	datamgr.Mend(ops)
	given := w.rt.memoryWaiters.given.Load()
	if x.formatted {
		if err := w.chooseFormats(t); err != nil {
			w.cannotRun(t, given, err)
			return
		}
		ops = t.placedOperands()
	}
	if len(w.queued) == 0 || !x.place.PrepareThere(w.node, ops) {
		w.drainQueue() // a worker that waits for memory must hold none
		if err := w.placeOperands(t); err != nil {
			w.cannotRun(t, given, err)
			return
		}
	}
	if w.rt.profile != nil {
		w.rt.profile.fetched(t)
	}
	w.tc.reset(t, w)
	if err := w.preparePrivates(t); err != nil {
		w.cannotRun(t, given, err)
		return
	}
	if err := w.keepOperands(t); err != nil {
		w.cannotRun(t, given, err)
		return
	}
	x.place.Begin()
	if w.rt.nodes > 1 {
		x.started = true
		datamgr.Withdraw(t.expectedOperands(), w.rt.when(t))
	}
	if w.rt.opt.Poison && w.node == 0 {
		w.poison(t)
	}
	w.runBody(t)
}

// Kernels of general tasks.

// runBody runs the kernel of a general task, with what goes with it.
func (w *worker) runBody(t *task) {
	end := func(err error) {
		if err == nil {
			err = t.checkSizes()
		}
		if err == nil {
			i := w.implementation(t)
			if w.mayQueue(t) {
				w.launch(t, t.codelet.impls(w.arch)[i], i)
				return
			}
			if sp := t.special(); sp != nil {
				w.again, sp.kept = sp.kept, nil
			}
			err = w.kernel(t, w.body(t, t.codelet.impls(w.arch)[i]), i)
			if err != nil && w.interrupted(t, err) {
				return
			}
			if err == nil && w.collects(t) {
				if err = t.x.place.Collect(w.rt.reg); err == nil {
					if w.rt.hasListeners() {
						w.done(t)
					}
				}
			}
		}
		if err != nil {
			w.fail(t, err)
			return
		}
		if t.x.formatted {
			t.wroteFormats()
		}
		w.plant(t, false)
	}
	if sp := t.special(); sp != nil && sp.OnStart != nil {
		w.hook(t.x.public, "start hook", sp.OnStart, end)
		return
	}
	end(nil)
}

// body returns the kernel of t: fn, or what runs fn on several workers.
func (w *worker) body(t *task, fn Impl) Impl {
	sp := t.special()
	if sp == nil || sp.gang == nil {
		return fn
	}
	g := sp.gang
	if g.mode == SPMD {
		fn = g.spmd(w, fn)
	}
	return func(c *TaskContext) error {
		c.part = &part{g, 0}
		defer func() { c.part = nil }()
		return fn(c)
	}
}
