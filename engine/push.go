package engine

// Pushes: ready tasks go to the policy, and wake workers.

import (
	"slices"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/engine/sched"
)

// pushOutside gives a ready task to the policy for a goroutine that is no worker. It needs
// the submission lock, because policies rely on pushes from outside coming one at a time.
func (rt *Runtime) pushOutside(_ datamgr.Submission, t *task) { rt.push(t, sched.Outside) }

// push gives t to the policy. It takes the submission lock where h is no worker's.
func (h *releaser) push(t *task) {
	if h.id != sched.Outside {
		h.rt.push(t, h.id)
		return
	}
	sub := h.rt.reg.Lock()
	h.rt.pushOutside(sub, t)
	sub.Unlock()
}

// push gives a ready task to the policy for worker from. Goroutines that are no worker call
// pushOutside.
func (rt *Runtime) push(t *task, from int) {
	if rt.nodes > 1 {
		rt.pushAhead(t, from)
		return
	}
	allowed := t.Allowed // afterwards t may run already, and be used again
	if rt.lanes.on.Load() {
		rt.wakeFor(rt.pushLane(t, from), allowed)
		return
	}
	w := rt.policy.Push(&t.Item, from)
	if w == sched.Nobody || w == sched.Anyone && rt.parking.idle.Load() == 0 {
		return
	}
	rt.wakeFor(w, allowed)
}

// wakeFor wakes worker w, or any for sched.Anyone, for a task that the workers in allowed may
// run.
func (rt *Runtime) wakeFor(w int, allowed *sched.Set) {
	switch {
	case rt.opt.Sequential || w == sched.Nobody:
	case w == sched.Anyone:
		rt.parking.wakeAny()
	case allowed == nil && (rt.workers[w].notIdle.Load() || rt.lanes.on.Load()): // the policy does not know, nor do we, which worker would take it
		rt.parking.wakeAll()
	default:
		rt.parking.wakeOne(w, allowed)
	}
}

// wake wakes worker w, or any for sched.Anyone, for a policy, if it sleeps.
func (rt *Runtime) wake(w int) {
	if w == sched.Anyone {
		rt.parking.wakeAny()
		return
	}
	rt.parking.wakeOne(w, nil)
}

// share wakes another worker for the tasks that w released and would run next: w does
// something else first, which may take long.
func (w *worker) share() {
	if s := w.rt.sharer; s != nil && !w.rt.lanes.on.Load() { // else it keeps nothing for w
		w.rt.wakeFor(s.Share(w.id), nil)
	}
}

// queue gives the policy t, a round that is ready, as if the program had submitted it
// just now: a worker that went on with it, as with what its tasks release, would never
// come to anything else, nor would a program that submits a task without a kernel.
func (h *releaser) queue(t *task) {
	sub := h.rt.reg.Lock()
	h.rt.pushOutside(sub, t)
	sub.Unlock()
}

// Parking: workers without work sleep, and at most one looks for work.

// enter puts w on the list. Afterwards w looks once more for work, because a push that
// came before w was on the list has not woken it.
func (p *parking) enter(w *worker) {
	p.mu.Lock()
	p.mu.list = append(p.mu.list, w)
	p.idle.Store(int32(len(p.mu.list)))
	p.mu.Unlock()
}

// leave takes w off the list. It reports false if another goroutine did, and wakes w.
func (p *parking) leave(w *worker) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.mu.list, w)
	if i < 0 {
		return false
	}
	p.mu.list = slices.Delete(p.mu.list, i, i+1)
	p.idle.Store(int32(len(p.mu.list)))
	return true
}

// found is called by the worker that looked for work and found it: if there is
// more, another looks.
func (p *parking) found(rt *Runtime) {
	p.looking.Store(0)
	p.more(rt)
}

// more is called by a worker that has found work while no other looks for it. While it
// looked, pushes woke no worker, so more wakes one if work is left.
func (p *parking) more(rt *Runtime) {
	if p.idle.Load() > 0 && !rt.empty(true) {
		p.wakeAny()
	}
}

// wakeAny wakes a worker, unless one looks for work already.
func (p *parking) wakeAny() {
	for p.idle.Load() != 0 && p.looking.Load() == 0 && p.looking.CompareAndSwap(0, 1) {
		if w := p.take(nil); w != nil {
			w.park <- true
			return
		}
		p.looking.Store(0) // try again: a push that saw a sleeping worker meanwhile relied on us
	}
}

// wakeOne wakes worker id, or, when it does not sleep, another one in set, if
// there is a set.
func (p *parking) wakeOne(id int, set *sched.Set) {
	if p.idle.Load() == 0 {
		return
	}
	w := p.take(func(w *worker) bool { return w.id == id })
	if w == nil && set != nil {
		w = p.take(func(w *worker) bool { return set.Has(w.id) })
	}
	if w != nil {
		w.park <- false
	}
}

// wakeAll wakes all sleeping workers.
func (p *parking) wakeAll() {
	for w := p.take(nil); w != nil; w = p.take(nil) {
		w.park <- false
	}
}

// take takes the last worker that fits off the list.
func (p *parking) take(fits func(*worker) bool) *worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.mu.list) - 1; i >= 0; i-- {
		if w := p.mu.list[i]; fits == nil || fits(w) {
			p.mu.list = slices.Delete(p.mu.list, i, i+1)
			p.idle.Store(int32(len(p.mu.list)))
			return w
		}
	}
	return nil
}
