package engine

// The end of tasks that a program keeps, and of special ones:
//
//	kernel ──> sub-graph ──> epilogue ──> data released ──> successors released ──> callback ──> waiters woken
//
// With end dependencies open, the data is released first, and the epilogue waits
// for them with the rest.

import "github.com/starpush/starpush/engine/sched"

// finish ends a kept task whose kernel is over; f says why its outputs are lost.
func (h *hand) finish(t *task, f *failure, err error) {
	k := t.x.future
	if k.sp != nil && k.sp.gang != nil {
		k.sp.gang.dismiss()
		k.sp.gang = nil
	}
	g := k.subgraph()
	if g != nil && g.kernelOver(h, t, ending{f: f, err: err}) {
		return
	}
	if k.sp == nil && g == nil && h.finishKept(t, f, err) {
		return
	}
	h.afterKernel(t, ending{f: f, err: err})
}

// finishKept is the short way for a task that is only kept; it reports false,
// with the data still to be released, when the end of the task waits for others.
func (h *hand) finishKept(t *task, f *failure, err error) bool {
	k := t.x.future
	k.mu.Lock()
	if k.mu.ends > 0 || k.mu.lost != nil {
		k.mu.Unlock()
		return false
	}
	k.mu.ending = true
	k.mu.Unlock()
	h.end(t, f)
	k.mu.Lock()
	k.mu.ended, k.mu.err, k.mu.failure, k.mu.t = true, err, f, nil
	next := k.mu.successors
	k.mu.successors = nil
	k.mu.Unlock()
	h.free(next, f)
	close(k.done)
	h.retire(t)
	return true
}

// afterKernel ends a kept task whose kernel and sub-graph are over.
func (h *hand) afterKernel(t *task, e ending) {
	k := t.x.future
	epilogue := k.sp != nil && k.sp.Epilogue != nil && e.f == nil && !k.sp.dropped
	k.mu.Lock()
	waits := k.mu.ends > 0
	k.mu.Unlock()
	if epilogue && !waits {
		h.runEpilogue(t, newFailure, func(f *failure, err error) { h.release(t, ending{f: f, err: err, epilogue: true}) })
		return
	}
	e.epilogue = !epilogue
	h.release(t, e)
}

// release releases the data of t; then t ends, or waits for its end dependencies.
func (h *hand) release(t *task, e ending) {
	k := t.x.future
	spoils := e.f
	if e.whole {
		spoils = nil
	}
	h.end(t, spoils)
	if g := k.subgraph(); g != nil {
		g.endViews()
	}
	if k.sp != nil && k.sp.parent != nil {
		h.releaseData(k)
	}
	if k.sp != nil && k.sp.sequence != nil {
		h.leaveSequence(k.sp)
	}
	k.mu.Lock()
	if k.mu.lost != nil && e.f == nil {
		e.lose(k.mu.lost)
	}
	if k.mu.ends > 0 {
		t.nacc = 0 // nothing waits for its data any more
		k.mu.rest = &e
		k.mu.Unlock()
		k.job.halfEnded()
		return
	}
	k.mu.Unlock()
	h.conclude(t, e)
}

// conclude ends t, which waits for nothing any more.
func (h *hand) conclude(t *task, e ending) {
	k := t.x.future
	if !e.epilogue && e.f == nil {
		h.runEpilogue(t, lateFailure, func(f *failure, err error) { h.conclude(t, ending{f: f, err: err, epilogue: true}) })
		return
	}
	k.mu.Lock()
	if k.mu.ends > 0 { // added by the epilogue
		k.mu.rest = &e
		k.mu.Unlock()
		return
	}
	k.mu.ending = k.sp == nil || k.sp.Repeat == nil // from here on nothing keeps what waits for the end
	k.mu.Unlock()
	sp := k.sp
	if sp == nil {
		h.freeSuccessors(k, e)
		h.over(t)
		return
	}
	next := h.overAfterCallback
	if sp.Repeat != nil {
		next = h.again
		if !sp.dropped {
			k.endRound(e)
		}
	} else {
		h.freeSuccessors(k, e)
	}
	if sp.Tag != nil {
		h.rt.reg.Lock()
		sp.Tag.uncarry()
		if !sp.dropped {
			sp.Tag.notify(h, e.f)
		}
		h.rt.reg.Unlock()
	}
	if sp.Callback == nil || sp.dropped {
		next(t, e)
		return
	}
	h.giveOut() // what was released need not wait for the callback
	h.hook(k, "callback", sp.Callback, func(err error) {
		if err != nil {
			t.job.report(hookFailure(t, h.workerName(), err))
		}
		next(t, e)
	})
}

func (h *hand) overAfterCallback(t *task, e ending) { h.over(t) }

// freeSuccessors says that k has ended and releases who waits for that.
func (h *hand) freeSuccessors(k *Task, e ending) {
	k.mu.Lock()
	k.mu.ended, k.mu.err, k.mu.failure = true, e.err, e.f
	next := k.mu.successors
	for _, w := range k.mu.byRound {
		next = append(next, w.u)
	}
	k.mu.successors, k.mu.byRound = nil, nil
	k.mu.Unlock()
	h.free(next, e.f)
}

// free takes away one thing that each of us waits for; f says why it did not
// happen as it should.
func (h *hand) free(us []*task, f *failure) {
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
func (h *hand) runEpilogue(t *task, describe func(*task, string, error, bool) *failure, next func(*failure, error)) {
	h.hook(t.x.future, "epilogue", t.x.future.sp.Epilogue, func(err error) {
		if err == nil {
			next(nil, nil)
			return
		}
		f := describe(t, h.workerName(), err, false)
		t.job.addFailure(f)
		next(f, f.err())
	})
}

// over wakes who waits for t in the program, and gives t back.
func (h *hand) over(t *task) {
	k := t.x.future
	k.setRecord(nil)
	close(k.done)
	h.retire(t)
	if k.sp != nil && k.sp.parent != nil {
		k.sp.parent.taskEnded(h, k)
	}
}

// retire gives an ended user task back and counts it.
func (h *hand) retire(t *task) {
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

// giveOut gives out what was released so far, except what has no kernel.
func (h *hand) giveOut() {
	if h.id != sched.Outside {
		h.dispatch()
		return
	}
	h.rt.reg.Lock()
	h.dispatch()
	h.rt.reg.Unlock()
}

func (h *hand) workerName() string {
	if h.w == nil {
		return ""
	}
	return h.w.name
}
