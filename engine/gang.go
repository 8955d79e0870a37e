package engine

// Gangs: how a parallel task gets its workers.
//
// The worker that a policy gives the task to leads it. Gangs that are not
// complete stand in a queue, and only the first takes members: workers that
// have ended a task, that find nothing to run, and leaders of gangs behind it.
// So every worker that may be a member comes sooner or later, and leaders never
// wait for each other in a circle.

import (
	"sync"
	"sync/atomic"
)

// gangs is the queue of those that are not complete.
type gangs struct {
	open atomic.Int32 // length of the queue
	mu   struct {
		sync.Mutex
		queue []*gang
	}
	cond sync.Cond // the queue, or the members of a gang, changed
}

// wants reports whether g, the first in the queue, could have w as a member.
// gangs.mu held.
func (g *gang) wants(w *worker) bool {
	return g.t.Allowed == nil || g.t.Allowed.Has(w.id)
}

// joinLocked makes w a member of g, the first in the queue, and returns its rank.
func (q *gangs) joinLocked(g *gang, w *worker) int {
	g.members = append(g.members, w)
	rank := len(g.members) - 1
	if len(g.members) == g.size {
		q.mu.queue = append(q.mu.queue[:0], q.mu.queue[1:]...)
		q.open.Add(-1)
		if len(q.mu.queue) > 0 {
			w.rt.parking.wakeAll()
		}
		q.cond.Broadcast()
	}
	return rank
}

// assemble gives t, if it is parallel, its gang with all members. w leads it.
// Meanwhile it may be a member of others.
func (w *worker) assemble(t *task) {
	sp := t.special()
	if sp == nil || t.codelet.Traits == nil || t.codelet.Traits.Parallel == Single {
		return
	}
	rt := w.rt
	g := newGang(t, sp.size, t.codelet.Traits.Parallel)
	g.members = append(g.members, w)
	sp.gang = g
	g.inTurn = rt.opt.Sequential
	if g.inTurn || g.size == 1 {
		return
	}
	q := &rt.gangs
	rt.waiting.prompt.Add(1) // workers look after each task
	defer rt.waiting.prompt.Add(-1)
	q.mu.Lock()
	q.mu.queue = append(q.mu.queue, g)
	q.open.Add(1)
	if len(q.mu.queue) == 1 {
		rt.parking.wakeAll()
	}
	q.cond.Broadcast()
	for len(g.members) < g.size {
		if first := q.mu.queue[0]; first != g && first.wants(w) {
			rank := q.joinLocked(first, w)
			q.mu.Unlock()
			first.serve(w, rank, 0)
			q.mu.Lock()
			continue
		}
		q.cond.Wait()
	}
	q.mu.Unlock()
}

// help makes w a member of a gang that wants it; it reports whether one did.
func (w *worker) help() bool {
	q := &w.rt.gangs
	q.mu.Lock()
	if len(q.mu.queue) == 0 || !q.mu.queue[0].wants(w) {
		q.mu.Unlock()
		return false
	}
	g := q.mu.queue[0]
	rank := q.joinLocked(g, w)
	q.mu.Unlock()
	w.away.Store(true) // first: what the policy gives w from now on is for others to take
	defer w.away.Store(false)
	w.pub.End(w.c)
	w.dispatch()
	w.share()
	w.rt.parking.more(w.rt)
	g.serve(w, rank, 0)
	return true
}

// wanted reports whether help would.
func (w *worker) wanted() bool {
	q := &w.rt.gangs
	if q.open.Load() == 0 {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.mu.queue) > 0 && q.mu.queue[0].wants(w)
}

// summons stands among a worker's light tasks: it looks for a gang that wants
// the worker.
var summons = &task{kind: gangCall}
