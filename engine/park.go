package engine

// Parking: workers without work sleep, and at most one looks for work.

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/starpush/starpush/engine/sched"
)

// parking holds the workers that sleep or are about to.
type parking struct {
	idle    atomic.Int32 // length of list
	looking atomic.Int32 // 1: a worker looks for work, or was woken to
	parked  atomic.Int32 // workers that sleep, or were woken and do not know yet
	mu      struct {
		sync.Mutex
		list []*worker
	}
}

// enter puts w on the list. Afterwards w looks once more for work, so that what
// is pushed before anybody sees it there is not lost.
func (p *parking) enter(w *worker) {
	p.mu.Lock()
	p.mu.list = append(p.mu.list, w)
	p.idle.Store(int32(len(p.mu.list)))
	p.mu.Unlock()
}

// leave takes w off the list. False: somebody else did, and wakes w.
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

// more is called by a worker that has found work where nobody looks for it: as long as it
// did, who pushed some woke nobody.
func (p *parking) more(rt *Runtime) {
	if p.idle.Load() > 0 && !rt.policy.Empty() {
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
		p.looking.Store(0) // and again: who pushed meanwhile, and saw somebody sleep, relied on us
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

// wakeAll wakes everybody who sleeps.
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

// push gives a ready task to the policy. Calls from outside hold the
// submission lock.
func (rt *Runtime) push(t *task, from int) {
	if rt.nodes > 1 {
		rt.pushAhead(t, from)
		return
	}
	allowed := t.Allowed // afterwards t may run already, and be used again
	w := rt.policy.Push(&t.Item, from)
	if w == sched.Nobody || w == sched.Anyone && rt.parking.idle.Load() == 0 {
		return
	}
	rt.wakeFor(w, allowed)
}

// wakeFor wakes whom the policy said, for a task that these workers may run.
func (rt *Runtime) wakeFor(w int, allowed *sched.Set) {
	switch {
	case rt.opt.Sequential || w == sched.Nobody:
	case w == sched.Anyone:
		rt.parking.wakeAny()
	case allowed == nil && rt.workers[w].away.Load(): // the policy does not know, and nor do we who would take it
		rt.parking.wakeAll()
	default:
		rt.parking.wakeOne(w, allowed)
	}
}

// share has somebody woken for what the worker released and would run next: it does
// something else first, which may take as long as it likes.
func (w *worker) share() {
	if s := w.rt.sharer; s != nil {
		w.rt.wakeFor(s.Share(w.id), nil)
	}
}

// quiet reports whether no task is ready or running: nothing will happen until
// the program does something. Submission lock held.
func (rt *Runtime) quiet() bool {
	if rt.opt.Sequential { // in the order in which work goes: from a hand to the policy to a drain
		return rt.busyHands.Load() == 0 && rt.policy.Empty() && rt.draining.Load() == 0
	}
	p := &rt.parking
	n := len(rt.workers)
	p.mu.Lock()
	all := len(p.mu.list) == n
	p.mu.Unlock()
	return all && int(p.parked.Load()) == n && rt.policy.Empty() && rt.busyHands.Load() == 0
}
