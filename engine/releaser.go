package engine

// Releasers: a releaser ends tasks and schedules the tasks that this unblocks. Each
// worker owns one; other goroutines borrow one.

import (
	"cmp"
	"slices"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/engine/sched"
)

// Dispatch: what was released goes to the policy, or is run here if it has no kernel.

// dispatch pushes the tasks that w released, but for those without a kernel, which are
// light.
func (w *worker) dispatch() { w.pushReleased() }

// dispatchOutside is dispatch for a releaser that no worker owns; see pushOutside.
func (h *releaser) dispatchOutside(_ datamgr.Submission) { h.pushReleased() }

func (h *releaser) pushReleased() {
	w := h.c.Take()
	if w != nil && w.Next() != nil && h.rt.ranked.Load() {
		h.dispatchSorted(w)
		return
	}
	for w != nil {
		next := w.Next()
		if t := taskOf(w); t.kind.light() {
			h.light = append(h.light, t)
		} else {
			h.rt.push(t, h.id)
		}
		w = next
	}
}

// dispatchSorted schedules several tasks, a list that starts at w, in the order of their
// priorities: a worker takes the first that it sees, before the others are there.
func (h *releaser) dispatchSorted(w *datamgr.Waiter) {
	rt, n := h.rt, len(h.light)
	all := h.several[:0]
	for ; w != nil; w = w.Next() {
		all = append(all, taskOf(w))
	}
	slices.SortStableFunc(all, func(a, b *task) int { return cmp.Compare(rt.level(b), rt.level(a)) })
	for _, t := range all {
		if t.kind.light() {
			h.light = append(h.light, t)
		} else {
			rt.push(t, h.id)
		}
	}
	slices.Reverse(h.light[n:]) // the last one is run first
	clear(all)
	h.several = all[:0]
}

// drain dispatches what h released and runs tasks without a kernel until none is left. It
// takes the submission lock.
func (h *releaser) drain() {
	for {
		h.dispatchReleased()
		n := len(h.light)
		if n == 0 {
			return
		}
		t := h.light[n-1]
		h.light = h.light[:n-1]
		h.runLight(t)
	}
}

// borrowReleaser returns a releaser for a goroutine of the program; see returnReleaser.
func (rt *Runtime) borrowReleaser() *releaser {
	rt.busyReleasers.Add(1)
	return rt.releasers.Get().(*releaser)
}

// returnReleaser drains h and takes it back. In a Sequential runtime it runs what became
// ready.
func (rt *Runtime) returnReleaser(h *releaser) {
	h.drain()
	h.async = false
	rt.releasers.Put(h)
	rt.busyReleasers.Add(-1)
	if rt.opt.Sequential {
		rt.drain()
	}
	rt.progress()
}

// goAside calls fn on a goroutine of its own, for a task that has not ended.
func (rt *Runtime) goAside(fn func(*releaser)) {
	own := rt.borrowReleaser()
	rt.group.Add(1) // as for workers: Close has not begun to wait for the group
	go func() {
		defer rt.group.Done()
		fn(own)
		rt.returnReleaser(own)
	}()
}

// inPoll reports whether h releases for a poll, or where messages are received, which must not wait for hooks.
func (h *releaser) inPoll() bool { return h.id == sched.Outside && (h.async || h.rt.mayBeInPoll()) }

// refused ends t and reports true when it must not run: its job was cancelled, or
// what it needs was lost.
func (h *releaser) refused(t *task) bool {
	j := t.job
	if t.Order <= j.cancelled.Load() {
		f := newFailure(t, "", j.cause(), true)
		h.cancel(t, f, f.err())
		return true
	}
	if sp := t.special(); sp != nil && sp.round > 1 && sp.stopped.Load() {
		sp.dropped = true
		h.endUser(t, nil, nil)
		return true
	}
	if f := t.x.lost.Load(); f != nil {
		h.cancelFor(t, -1, f)
		return true
	}
	if i, f := datamgr.Fault(t.operands()); i >= 0 {
		h.cancelFor(t, i, f.(*failure))
		return true
	}
	return false
}

// fail ends a user task that failed with err.
func (h *releaser) fail(t *task, err error) {
	t.restoreSizes()
	err = t.stopped(err)
	f := newFailure(t, h.workerName(), err, false)
	if h.rt.hasListeners() {
		h.rt.event(TaskFailed, t, h.id, err)
	}
	t.job.addFailure(f)
	h.endUser(t, f, f.err())
}

// cancelFor cancels t because f lost what it needs: operand i, or -1 for an
// explicit dependency.
func (h *releaser) cancelFor(t *task, i int, f *failure) {
	f.cancelled.Add(1)
	e := &FailedDataError{Operand: i, Task: f.err()}
	if i >= 0 {
		e.Handle = managed(t.operands()[i].Handle).Twin()
	}
	t.job.cancelledFor(t, e)
	h.cancel(t, f, e)
}

func (h *releaser) cancel(t *task, f *failure, err error) {
	t.job.dropped.Add(1)
	if h.rt.hasListeners() {
		h.rt.event(TaskCancelled, t, h.id, err)
	}
	h.endUser(t, f, err)
}

// endUser ends a general user task; f says why its outputs are lost, or is nil.
func (h *releaser) endUser(t *task, f *failure, err error) {
	if t.x.public != nil {
		h.finish(t, f, err)
		return
	}
	h.end(t, f)
	h.retire(t)
}

// end ends a general task: what it should have written is marked first, then
// its locks and accesses end.
func (h *releaser) end(t *task, f *failure) {
	x := t.x
	x.place.Release()
	for i := range x.redux {
		x.redux[i].Return() // once its memory is released, if it is on a device
	}
	x.redux = x.redux[:0]
	if h.rt.nodes > 1 {
		if !x.started {
			datamgr.Withdraw(t.expectedOperands(), h.rt.when(t))
		}
		x.started = false
		if f == nil {
			h.rt.writeThrough(t)
		}
	}
	if f != nil {
		datamgr.Spoil(t.operands(), f)
		if x.formatted {
			spoilFormats(t.operands())
		}
	}
	x.locks.Release(h.c)
	datamgr.EndUnordered(x.unordered, h.c)
	h.c.Finish(t.accesses())
}

// Counting and recycling what has ended.

// exit fails t, because its kernel, or a function called for it, ends the worker's goroutine.
func (w *worker) exit(t *task, err error) {
	t.extend()
	w.running.Store(nil)
	w.fail(t, err)
	w.rest()
}

// rest is called when the worker finds nothing to run.
func (w *worker) rest() {
	w.pub.End(w.c)
	w.c.FinishLate()
	w.drain()
	w.flush()
	if n := len(w.light); n > 0 && w.light[n-1] == joinGang {
		w.light = w.light[:n-1] // a resting worker looks for open gangs itself, and must not leave while others rely on it to look for work
	}
	w.tally.rest(w)
}

// flush adds what ended to the job's count.
func (w *worker) flush() {
	w.tally.flush(w.id)
	if w.rt.gangs.open.Load() > 0 {
		w.light = append(w.light, joinGang)
	}
	if w.ended == 0 {
		return
	}
	if w.unweighed > 0 {
		w.job.unweighed.Add(w.unweighed)
		w.unweighed = 0
	}
	w.job.ended.Add(w.ended)
	w.ended = 0
	w.rt.progress()
}

// count says that a task of j ended.
func (w *worker) count(j *Job) {
	w.countFor(j)
	w.ended++
	if w.ended >= j.batch || w.rt.waiting.prompt.Load() > 0 || w.slow {
		w.c.FinishLate() // callers that wait for these tasks find their data free
		w.flush()
	}
}

// countFor has w count for j.
func (w *worker) countFor(j *Job) {
	if w.job != j {
		w.flush()
		w.job = j
	}
}

// recycle gives an ended task back, in batches. The caller counts the task then.
func (w *worker) recycle(t *task) {
	if t.hasExtension() { // as in clear, which is too long to be inlined
		if n := t.clearExtension(); n > 0 {
			w.countFor(t.job)
			w.unweighed += n
		}
	}
	t.clearRecord()
	fr := &w.freed[t.size()]
	if fr.n == 0 {
		fr.last = t
	}
	t.SetNext(waiterOf(fr.first))
	fr.first = t
	fr.n++
	if fr.n >= 64 {
		w.rt.giveBack(fr.first, fr.last)
		fr.first, fr.last, fr.n = nil, nil, 0
	}
}

// joinGang stands among a worker's light tasks: it looks for a gang that wants
// the worker.
var joinGang = &task{kind: joinGangMarker}

// The end of tasks that a program keeps, and of special ones:
//
//	kernel ──> sub-graph ──> epilogue ──> data released ──> successors released ──> callback ──> waiters woken
//
// With end dependencies open, the data is released first, and the epilogue waits
// for them with the rest.

// finish ends a kept task whose kernel is over; f says why its outputs are lost.
func (h *releaser) finish(t *task, f *failure, err error) {
	k := t.x.public
	if k.opts != nil && k.opts.gang != nil {
		k.opts.gang.dismiss()
		k.opts.gang = nil
	}
	g := k.subgraph()
	if g != nil && g.kernelOver(h, t, taskEnd{f: f, err: err}) {
		return
	}
	if k.opts == nil && g == nil && h.finishKept(t, f, err) {
		return
	}
	h.afterKernel(t, taskEnd{f: f, err: err})
}

// finishKept is the short way for a task that is only kept; it reports false,
// with the data still to be released, when the end of the task waits for others.
func (h *releaser) finishKept(t *task, f *failure, err error) bool {
	k := t.x.public
	k.mu.Lock()
	if k.mu.ends > 0 || k.mu.lost != nil {
		k.mu.Unlock()
		return false
	}
	k.advanceLocked(ending)
	k.mu.Unlock()
	h.end(t, f)
	k.mu.Lock()
	k.advanceLocked(ended)
	k.mu.err, k.mu.failure, k.mu.t = err, f, nil
	next := k.mu.successors
	k.mu.successors = nil
	k.mu.Unlock()
	h.releaseSuccessors(next, f)
	close(k.done)
	h.retire(t)
	return true
}

// afterKernel ends a kept task whose kernel and sub-graph are over.
func (h *releaser) afterKernel(t *task, e taskEnd) {
	k := t.x.public
	epilogue := k.opts != nil && k.opts.Epilogue != nil && e.f == nil && !k.opts.dropped
	k.mu.Lock()
	k.advanceLocked(finishing)
	waits := k.mu.ends > 0
	k.mu.Unlock()
	if epilogue && !waits {
		h.runEpilogue(t, newFailure, func(f *failure, err error) { h.release(t, taskEnd{f: f, err: err, epilogue: true}) })
		return
	}
	e.epilogue = !epilogue
	h.release(t, e)
}

// release releases the data of t; then t ends, or waits for its end dependencies.
func (h *releaser) release(t *task, e taskEnd) {
	k := t.x.public
	spoils := e.f
	if e.whole {
		spoils = nil
	}
	h.end(t, spoils)
	if g := k.subgraph(); g != nil {
		g.endViews()
	}
	if k.opts != nil && k.opts.sequence != nil {
		h.leaveSequence(k.opts)
	}
	k.mu.Lock()
	k.advanceLocked(released)
	us := k.mu.byData
	k.mu.byData = nil
	if us != nil { // of a sub-graph
		k.mu.Unlock()
		h.releaseSuccessors(us, nil) // what was lost is found out from the data
		k.mu.Lock()
	}
	if k.mu.lost != nil && e.f == nil {
		e.lose(k.mu.lost)
	}
	if k.mu.ends > 0 {
		t.nacc = 0 // nothing waits for its data any more
		k.advanceLocked(endWaits)
		k.mu.rest = &e
		k.mu.Unlock()
		k.job.halfEnded()
		return
	}
	k.mu.Unlock()
	h.endTask(t, e)
}

// endTask ends t, which waits for nothing any more.
func (h *releaser) endTask(t *task, e taskEnd) {
	k := t.x.public
	if !e.epilogue && e.f == nil {
		h.runEpilogue(t, lateFailure, func(f *failure, err error) { h.endTask(t, taskEnd{f: f, err: err, epilogue: true}) })
		return
	}
	k.mu.Lock()
	if k.mu.ends > 0 { // added by the epilogue
		k.advanceLocked(endWaits)
		k.mu.rest = &e
		k.mu.Unlock()
		return
	}
	k.advanceLocked(ending)
	k.mu.Unlock()
	sp := k.opts
	if sp == nil {
		h.markEndedAndRelease(k, e)
		h.wakeWaiters(t)
		return
	}
	next := h.wakeAfterCallback
	if sp.Repeat != nil {
		next = h.startNextRound
		if !sp.dropped {
			k.endRound(e)
		}
	} else {
		h.markEndedAndRelease(k, e)
	}
	if sp.Tag != nil {
		sub := h.rt.reg.Lock()
		sp.Tag.uncarry(sub)
		if !sp.dropped {
			sp.Tag.notify(sub, h, e.f)
		}
		sub.Unlock()
	}
	if sp.Callback == nil || sp.dropped {
		next(t, e)
		return
	}
	h.dispatchReleased() // what was released need not wait for the callback
	h.hook(k, "callback", sp.Callback, func(err error) {
		if err != nil {
			t.job.report(hookFailure(t, h.workerName(), err))
		}
		next(t, e)
	})
}

func (h *releaser) wakeAfterCallback(t *task, e taskEnd) { h.wakeWaiters(t) }

// markEndedAndRelease records that k has ended and releases its successors.
func (h *releaser) markEndedAndRelease(k *Task, e taskEnd) {
	k.mu.Lock()
	k.advanceLocked(ended)
	k.mu.err, k.mu.failure = e.err, e.f
	next := k.mu.successors
	for _, w := range k.mu.byRound {
		next = append(next, w.u)
	}
	k.mu.successors, k.mu.byRound = nil, nil
	k.mu.Unlock()
	h.releaseSuccessors(next, e.f)
}

// releaseSuccessors takes away one thing that each of us waits for; f says why it did not
// happen as it should.
func (h *releaser) releaseSuccessors(us []*task, f *failure) {
	for _, u := range us {
		if f != nil {
			u.x.lost.Store(f)
		}
		if u.Done() {
			h.c.Release(&u.Waiter)
		}
	}
}

// hookFailure describes a hook that failed when the data of t was released
// already: nothing is lost.
func hookFailure(t *task, worker string, cause error) *failure {
	f := newFailure(t, worker, cause, false)
	f.lost = nil
	return f
}

func lateFailure(t *task, worker string, cause error, _ bool) *failure {
	return hookFailure(t, worker, cause)
}

// runEpilogue runs the epilogue of t; describe makes a failure of its error.
func (h *releaser) runEpilogue(t *task, describe func(*task, string, error, bool) *failure, next func(*failure, error)) {
	h.hook(t.x.public, "epilogue", t.x.public.opts.Epilogue, func(err error) {
		if err == nil {
			next(nil, nil)
			return
		}
		f := describe(t, h.workerName(), err, false)
		t.job.addFailure(f)
		next(f, f.err())
	})
}

// wakeWaiters wakes the goroutines that wait for t, and recycles t.
func (h *releaser) wakeWaiters(t *task) {
	k := t.x.public
	k.mu.Lock()
	k.mu.t = nil
	k.mu.Unlock()
	close(k.done)
	h.retire(t)
	if k.opts != nil && k.opts.parent != nil {
		k.opts.parent.taskEnded(h, k)
	}
}

// retire gives an ended user task back and counts it.
func (h *releaser) retire(t *task) {
	j := t.job
	if h.w != nil {
		h.w.recycle(t)
		h.w.count(j)
		return
	}
	t.clear()
	t.SetNext(nil)
	h.rt.giveBack(t, t)
	j.ended.Add(1)
	h.rt.progress()
}

// dispatchReleased gives out what was released so far, except what has no kernel. It takes
// the submission lock where h is no worker's.
func (h *releaser) dispatchReleased() {
	if h.w != nil {
		h.w.dispatch()
		return
	}
	sub := h.rt.reg.Lock()
	h.dispatchOutside(sub)
	sub.Unlock()
}

func (h *releaser) workerName() string {
	if h.w == nil {
		return ""
	}
	return h.w.name
}

// halfEnded says that the kernel of a task of j is over, and its end waits for others.
func (j *Job) halfEnded() {
	j.halves.Add(1)
	j.rt.progress()
}

// runRelay is called when a dependency of the end of a task has ended.
func (h *releaser) runRelay(u *task) {
	k, f := u.x.target, u.x.lost.Load()
	u.clear()
	u.SetNext(nil)
	h.rt.giveBack(u, u)
	k.mu.Lock()
	k.mu.ends--
	e := k.mu.rest
	if f != nil && e != nil && e.f == nil {
		e.lose(f)
	} else if f != nil && e == nil && k.mu.lost == nil {
		k.mu.lost = f
	}
	if k.mu.ends > 0 || e == nil {
		k.mu.Unlock()
		return
	}
	k.mu.rest = nil
	k.advanceLocked(released)
	t := k.mu.t
	k.mu.Unlock()
	if h.inPoll() {
		h.rt.goAside(func(own *releaser) { own.endTask(t, *e) })
		return
	}
	h.endTask(t, *e)
}

// Hooks: functions of the program that run at points of a task's life.

// hook calls fn and then next with its error, or with nil. When fn ends the
// goroutine, next is called while that happens.
func (h *releaser) hook(t *Task, name string, fn Hook, next func(error)) {
	rt := h.rt
	away := func(on bool) {
		if h.w != nil {
			h.w.notIdle.Store(on)
		}
	}
	away(true)
	if h.w != nil {
		h.w.share()
	}
	rt.hooks.Add(1)
	err := callKernel(func(*TaskContext) error { return fn(t) }, nil, func(err error) {
		rt.hooks.Add(-1)
		away(false)
		next(&HookError{Hook: name, Err: err})
		h.recoverHook()
	})
	rt.hooks.Add(-1)
	away(false)
	if err != nil {
		err = &HookError{Hook: name, Err: err}
	}
	next(err)
}

// recoverHook does what the goroutine, which ends because a hook ended it, would
// have done with h.
func (h *releaser) recoverHook() {
	if h.id == sched.Outside {
		h.rt.returnReleaser(h)
		return
	}
	h.w.rest()
}
