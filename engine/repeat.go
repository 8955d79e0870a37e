package engine

// Repeating tasks: when a round has ended, the task submits itself again.

import (
	"fmt"
	"slices"
)

// Forever is a TaskOptions.Repeat for tasks that repeat until Task.Stop.
func Forever(*Task) bool { return true }

// Stop tells a repeating task to stop: the round that runs is its last one, and
// one that has not started does not run, unless it is the first. On a task that does not repeat it does
// nothing. It does not wait.
func (t *Task) Stop() {
	if t.opts == nil || t.opts.Repeat == nil {
		return
	}
	t.opts.stopped.Store(true)
	rt := t.job.rt
	h := rt.borrowReleaser()
	sub := rt.reg.Lock()
	for o := range rt.jobs {
		o.dropFrom(sub, h, func(u *task) bool { return u.special() == t.opts && t.opts.round > 1 })
	}
	for _, d := range t.opts.spec.After {
		if k, ok := d.(*Task); ok {
			k.dropRound(h, t.opts)
		}
	}
	sub.Unlock()
	rt.returnReleaser(h)
}

// Rounds returns how often the task has run, if it repeats.
func (t *Task) Rounds() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.rounds
}

// dropRound lets the round of sp go that waits for one of t.
func (t *Task) dropRound(h *releaser, sp *taskOptions) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.byRound = slices.DeleteFunc(t.mu.byRound, func(w roundWait) bool {
		if w.u.special() != sp || sp.round == 1 {
			return false
		}
		h.releaseSuccessors([]*task{w.u}, nil)
		return true
	})
}

// endRound counts a round.
func (k *Task) endRound(e taskEnd) {
	k.mu.Lock()
	k.mu.rounds++
	k.mu.err, k.mu.failure = e.err, e.f
	k.mu.Unlock()
}

// passRounds releases the repeating tasks that wait for rounds of k that have ended,
// f says how the last one did. The next round of k has its place in the order of data
// by then: one that waits for that round comes behind it there, too, or each would
// wait for the other.
func (h *releaser) passRounds(k *Task, f *failure) {
	k.mu.Lock()
	k.mu.passed = k.mu.rounds
	var free []*task
	rest := k.mu.byRound[:0]
	for _, w := range k.mu.byRound {
		if w.need <= k.mu.passed {
			free = append(free, w.u)
		} else {
			rest = append(rest, w)
		}
	}
	clear(k.mu.byRound[len(rest):])
	k.mu.byRound = rest
	k.mu.Unlock()
	h.releaseSuccessors(free, f)
}

// startNextRound decides whether the repeating task, whose round t has ended, goes on.
func (h *releaser) startNextRound(t *task, e taskEnd) {
	k := t.x.public
	sp := k.opts
	j := k.job
	round := e.f // why this round failed
	if e.f == nil && !sp.stopped.Load() && k.cancelled() {
		e.drop(t)
	}
	if e.f != nil || sp.stopped.Load() {
		h.endRepetition(t, e, round)
		return
	}
	goOn := false
	h.hook(k, "repeat", func(k *Task) error { goOn = sp.Repeat(k); return nil }, func(err error) {
		if err != nil {
			j.report(hookFailure(t, h.workerName(), err))
		}
		if !goOn || sp.stopped.Load() {
			h.endRepetition(t, e, nil)
			return
		}
		h.resubmit(t, e)
	})
}

// drop says that t, which has run, is followed by no round because the job was cancelled.
func (e *taskEnd) drop(t *task) {
	f := newFailure(t, "", t.job.cause(), true)
	f.lost = nil
	e.f, e.err = f, f.err()
}

// endRepetition ends a repeating task; round says why its last round failed, if it did.
func (h *releaser) endRepetition(t *task, e taskEnd, round *failure) {
	sub := h.rt.reg.Lock()
	t.x.public.opts.keepTags(sub, -1)
	sub.Unlock()
	h.passRounds(t.x.public, round)
	h.markEndedAndRelease(t.x.public, e)
	h.wakeWaiters(t)
}

// resubmit submits the next round.
func (h *releaser) resubmit(t *task, e taskEnd) {
	k := t.x.public
	sp, rt, j := k.opts, h.rt, k.job
	sub := rt.reg.Lock()
	if k.cancelled() { // meanwhile, by Repeat perhaps
		sub.Unlock()
		e.drop(t)
		h.endRepetition(t, e, nil)
		return
	}
	sp.round++
	k.forgetSubgraph()
	if sp.Tag != nil {
		sp.Tag.restart(sub)
	}
	err := j.insert(sub, &sp.spec, k)
	closed := j.closed || rt.closed
	next := k.record()
	sub.Unlock()
	if err != nil {
		if !closed {
			f := hookFailure(t, h.workerName(), fmt.Errorf("repeating it: %w", err))
			j.report(f)
			e.f, e.err = f, f.err()
		}
		h.endRepetition(t, e, nil)
		return
	}
	h.passRounds(k, nil)
	if next.Done() {
		h.queue(next)
	}
	h.retire(t)
}

// forgetSubgraph makes the next round have one of its own.
func (t *Task) forgetSubgraph() {
	t.mu.Lock()
	t.mu.sub = nil
	t.mu.Unlock()
}
