package engine

// Hands: by which workers, and goroutines of the program, end tasks and give out
// what that releases.

import (
	"cmp"
	"slices"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/engine/sched"
)

// hand ends tasks and gives out those that this releases: a worker's, or one
// borrowed by a goroutine of the program.
type hand struct {
	rt    *Runtime
	c     *datamgr.Completer
	id    int     // of the worker, or sched.Outside
	w     *worker // nil outside
	light []*task
	// of dispatchSorted, to be used again
	several []*task
}

// dispatch gives out what the hand released. A hand from outside holds the
// submission lock.
func (h *hand) dispatch() {
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

// dispatchSorted gives out several tasks, the first of which is w, in the order of their
// priorities: a worker takes the first that it sees, before the others are there.
func (h *hand) dispatchSorted(w *datamgr.Waiter) {
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

// settle gives out what the hand released and runs what has no kernel, until
// nothing is left. The submission lock is free.
func (h *hand) settle() {
	for {
		if h.id == sched.Outside {
			h.rt.reg.Lock()
			h.dispatch()
			h.rt.reg.Unlock()
		} else {
			h.dispatch()
		}
		n := len(h.light)
		if n == 0 {
			return
		}
		t := h.light[n-1]
		h.light = h.light[:n-1]
		h.runLight(t)
	}
}

// takeHand lends a hand to a goroutine of the program.
func (rt *Runtime) takeHand() *hand {
	rt.busyHands.Add(1)
	return rt.hands.Get().(*hand)
}

// giveHand gives out what the hand released and takes the hand back. In a
// Sequential runtime it runs what became ready.
func (rt *Runtime) giveHand(h *hand) {
	h.settle()
	rt.hands.Put(h)
	rt.busyHands.Add(-1)
	if rt.opt.Sequential {
		rt.drain()
	}
	rt.progress()
}

// refused ends t and reports true when it must not run: its job was cancelled, or
// what it needs was lost.
func (h *hand) refused(t *task) bool {
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
func (h *hand) fail(t *task, err error) {
	err = t.stopped(err)
	f := newFailure(t, h.workerName(), err, false)
	if h.rt.heard() {
		h.rt.event(TaskFailed, t, h.id, err)
	}
	t.job.addFailure(f)
	h.endUser(t, f, f.err())
}

// cancelFor cancels t because f lost what it needs: operand i, or -1 for an
// explicit dependency.
func (h *hand) cancelFor(t *task, i int, f *failure) {
	f.cancelled.Add(1)
	e := &FailedDataError{Operand: i, Task: f.err()}
	if i >= 0 {
		e.Handle = t.operands()[i].Handle.Twin()
	}
	t.job.cancelledFor(t, e)
	h.cancel(t, f, e)
}

func (h *hand) cancel(t *task, f *failure, err error) {
	t.job.dropped.Add(1)
	if h.rt.heard() {
		h.rt.event(TaskCancelled, t, h.id, err)
	}
	h.endUser(t, f, err)
}

// endUser ends a general user task; f says why its outputs are lost, or is nil.
func (h *hand) endUser(t *task, f *failure, err error) {
	if t.x.future != nil {
		h.finish(t, f, err)
		return
	}
	h.end(t, f)
	h.retire(t)
}

// end ends a general task: what it should have written is marked first, then
// its locks and accesses end.
func (h *hand) end(t *task, f *failure) {
	x := t.x
	x.place.Release()
	for i := range x.redux {
		x.redux[i].Return() // once its memory is released, if it is on a device
	}
	x.redux = x.redux[:0]
	if h.rt.nodes > 1 {
		datamgr.Met(t.operands(), h.rt.when(t))
		if f == nil {
			h.rt.writeThrough(t)
		}
	}
	if f != nil {
		datamgr.Spoil(t.operands(), f)
	}
	x.locks.Release(h.c)
	datamgr.EndUnordered(x.unordered, h.c)
	h.c.Finish(t.accesses())
}
