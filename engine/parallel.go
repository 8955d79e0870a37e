package engine

// Parallel codelets: one task on several workers at once.

import (
	"errors"
	"slices"
	"sync"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/sched"
)

// Size returns the number of workers that the task has: 1 unless its codelet is
// parallel.
func (c *TaskContext) Size() int {
	if c.part == nil {
		return 1
	}
	return c.part.g.size
}

// Rank returns the number of this kernel among those of an SPMD task, 0 to
// Size()-1.
func (c *TaskContext) Rank() int {
	if c.part == nil {
		return 0
	}
	return c.part.rank
}

// Fork runs fn once for each rank, 0 to Size()-1, on the workers of a ForkJoin
// task, and returns when all have returned: the errors and panics of fn, joined.
// Only the kernel may call it, not fn. In a Sequential runtime the ranks run in
// turn. In tasks that are not ForkJoin fn runs for rank 0 alone.
func (c *TaskContext) Fork(fn func(rank int) error) error {
	if c.part == nil || c.part.g.mode != ForkJoin {
		return callRank(fn, 0, nil)
	}
	return c.part.g.call(fn)
}

// Barrier returns when all kernels of an SPMD task have called it: everything
// that they did before has happened. It is an error when one of them has
// returned instead. In tasks that are not SPMD it returns at once.
func (c *TaskContext) Barrier() error {
	if c.part == nil || c.part.g.mode != SPMD {
		return nil
	}
	return c.part.g.barrier(c.part.rank)
}

var (
	errForking = errors.New("engine: Fork was called while another Fork of the same task runs; call it from the kernel only, one after the other")
	errGone    = errors.New("engine: Barrier: a kernel of the task has returned without coming to it")
)

func newGang(t *task, size int, mode Parallelism) *gang {
	g := &gang{t: t, size: size, mode: mode}
	g.cond = sync.NewCond(&g.mu.Mutex)
	return g
}

// call runs fn on all ranks, on the caller as rank 0.
func (g *gang) call(fn func(rank int) error) error {
	if !g.begin(fn) {
		return errForking
	}
	g.returned(0, callRank(fn, 0, func(err error) { g.returned(0, err); g.wait() }))
	if g.inTurn && g.mode == ForkJoin {
		for r := 1; r < g.size; r++ {
			g.returned(r, callRank(fn, r, func(err error) { g.returned(r, err) }))
		}
	}
	return g.wait()
}

// begin gives fn to the members; false: they are busy with another.
func (g *gang) begin(fn func(rank int) error) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.fn != nil {
		return false
	}
	g.mu.fn, g.mu.running, g.mu.errs = fn, g.size, make([]error, g.size)
	g.mu.round++
	g.mu.gone, g.mu.arrived, g.mu.turn = false, 0, 0 // of a call before, of a kernel that runs again
	if g.inTurn {
		g.mu.away, g.mu.ended = make([]bool, g.size), make([]bool, g.size)
	}
	if g.inTurn && g.mode == SPMD {
		for r := 1; r < g.size; r++ {
			go g.sequentialRank(fn, r)
		}
	}
	g.cond.Broadcast()
	return true
}

// sequentialRank is a rank of an SPMD task in a Sequential runtime: a goroutine
// that runs when it is its turn, and that the leader waits for.
func (g *gang) sequentialRank(fn func(rank int) error, r int) {
	g.mu.Lock()
	for g.mu.turn != r {
		g.cond.Wait()
	}
	g.mu.Unlock()
	g.returned(r, callRank(fn, r, func(err error) { g.returned(r, err) }))
}

// returned says that rank r has returned.
func (g *gang) returned(r int, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.errs[r] = err
	g.mu.running--
	g.mu.gone = true
	if g.inTurn {
		g.mu.ended[r] = true
		for k := range g.mu.away {
			g.mu.away[k] = g.mu.ended[k] // a barrier gives up
		}
		g.passTurn(r)
	}
	g.cond.Broadcast()
}

// wait returns when all ranks have returned.
func (g *gang) wait() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.mu.running > 0 {
		g.cond.Wait()
	}
	g.mu.fn = nil
	return errors.Join(g.mu.errs...)
}

// passTurn lets the next rank after r run that can. g.mu held.
func (g *gang) passTurn(r int) {
	for k := 1; k <= g.size; k++ {
		if n := (r + k) % g.size; !g.mu.away[n] {
			g.mu.turn = n
			return
		}
	}
}

// barrier is Barrier of rank r.
func (g *gang) barrier(r int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.gone {
		return errGone
	}
	phase := g.mu.phase
	g.mu.arrived++
	if g.mu.arrived == g.size {
		g.mu.arrived = 0
		g.mu.phase++
		clear(g.mu.away)
	} else if g.inTurn {
		g.mu.away[r] = true
	}
	if g.inTurn {
		g.passTurn(r)
	}
	g.cond.Broadcast()
	for g.mu.phase == phase && !g.mu.gone || g.inTurn && g.mu.turn != r {
		g.cond.Wait()
	}
	if g.mu.phase == phase {
		return errGone
	}
	return nil
}

// serve is what a member does: it runs the calls that it is given behind the
// first done ones, until the task is over.
func (g *gang) serve(w *worker, rank, done int) {
	g.mu.Lock()
	for {
		for !g.mu.over && g.mu.round == done {
			g.cond.Wait()
		}
		if g.mu.round == done {
			g.mu.Unlock()
			return
		}
		done = g.mu.round
		fn := g.mu.fn
		g.mu.Unlock()
		w.helps(true)
		err := callRank(fn, rank, func(err error) {
			w.helps(false)
			g.returned(rank, err)
			g.serve(w, rank, done) // there may be more
			w.rest()
		})
		w.helps(false)
		g.returned(rank, err)
		g.mu.Lock()
	}
}

// dismiss lets the members go.
func (g *gang) dismiss() {
	g.mu.Lock()
	g.mu.over = true
	g.cond.Broadcast()
	g.mu.Unlock()
}

// callRank calls fn as a kernel. A panic is an error.
func callRank(fn func(rank int) error, rank int, exit func(error)) error {
	return callKernel(func(*TaskContext) error { return fn(rank) }, nil, exit)
}

// spmd makes one kernel of the ranks of an SPMD task; the others' contexts are
// made here, by the leader.
func (g *gang) spmd(w *worker, fn Impl) Impl {
	return func(c *TaskContext) error {
		all := []*TaskContext{c}
		for r := 1; r < g.size; r++ {
			k, err := g.context(w, c, r)
			if err != nil {
				return err
			}
			all = append(all, k)
		}
		return g.call(func(rank int) error { return fn(all[rank]) })
	}
}

// context makes the context of rank r; c is that of the leader, w.
func (g *gang) context(w *worker, c *TaskContext, r int) (*TaskContext, error) {
	t := g.t
	n := t.numOperands()
	k := &TaskContext{t: t, w: w, bufs: make([]iface.Buffer, n), set: make([]bool, n), part: &part{g, r}}
	m, own := w, 0
	if !g.inTurn {
		m = g.members[r]
		k.w = m
	} else {
		for _, op := range t.operands() {
			if op.Mode == iface.Scratch {
				own += r // the ranks are all on one worker
			}
		}
	}
	for i, op := range t.operands() {
		switch op.Mode {
		case iface.Scratch:
			if w.rt.limited {
				t.x.place.Private(i, r, op.Handle, &k.bufs[i])
			} else if p, err := m.workspace(own, op.Handle); err != nil {
				return nil, err
			} else {
				managed(op.Handle).Own(p, &k.bufs[i])
			}
			k.set[i] = true
			own++
			if w.rt.opt.Poison && w.arch == cpuArch {
				poison(&k.bufs[i])
			}
		case iface.Redux:
			k.bufs[i], k.set[i] = *c.Buffer(i), true
		}
	}
	return k, nil
}

// Gangs: how a parallel task gets its workers.
//
// The worker that a policy gives the task to leads it. Incomplete gangs wait in a queue.
// Workers that have ended a task or find nothing to run become members of the first that
// they may be in, which depends on the task and the policy's choice of workers only, and so
// do leaders of the gangs behind it. So of the gangs that a worker may be in it only ever
// waits in the first, every worker that may be a member comes sooner or later, and gangs
// never wait for each other in a circle.
//
// A job with MaxWorkers has one gang in the queue at a time. Leaders of its other gangs are no
// workers of its lane meanwhile: several gangs could take all the workers that the job may
// have, and none be complete. They may be members of any gang in the queue. When the gang is
// complete, one of them puts its own at the end of the queue, which keeps the order above. The
// lane gives out no tasks that would take the workers that its gang lacks (fullLocked), so
// these come as soon as what the lane runs has ended.

// may reports whether w may be a member of g: the members use the operands in the memory of
// the leader.
func (g *gang) may(w *worker) bool {
	return w.node == g.members[0].node && (g.t.Allowed == nil || g.t.Allowed.Has(w.id)) && (g.only == nil || g.only.Has(w.id))
}

// forLocked returns the gang in the queue that wants w, nil if none does: the first before
// own, the one that w leads or nil, that it may be in, unless its job has as many workers as
// it may have. Then w waits for that one: in a later gang it might wait for a worker that waits
// for it here.
func (q *gangs) forLocked(w *worker, own *gang) *gang {
	for _, g := range q.mu.queue {
		if g == own {
			break
		}
		if g.may(w) {
			if w.mayJoin(g.t.job) {
				return g
			}
			break
		}
	}
	return nil
}

// wanting returns the lane of the gang in the queue that wants w, or nil.
func (q *gangs) wanting(w *worker) *lane {
	if q.open.Load() == 0 {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if g := q.forLocked(w, nil); g != nil {
		return w.rt.laneOf(g.t.job)
	}
	return nil
}

// joinLocked makes w a member of g, which wants it, and returns its rank; below
// 0: its job has as many workers as it may have. w stays a worker of the lane keep, if
// that is not nil, and goes back there (worker.backTo).
func (q *gangs) joinLocked(g *gang, w *worker, keep *lane) int {
	freed, ok := w.joinLane(w.rt.laneOf(g.t.job), keep)
	if !ok {
		return -1
	}
	g.members = append(g.members, w)
	rank := len(g.members) - 1
	if len(g.members) == g.size {
		i := slices.Index(q.mu.queue, g)
		q.mu.queue = slices.Delete(q.mu.queue, i, i+1)
		q.open.Add(-1)
		if len(q.mu.queue) > 0 {
			w.rt.parking.wakeAll()
			q.callLocked(w.rt)
		}
		q.cond.Broadcast()
	}
	if freed != [2]*lane{} {
		q.wakeLocked(w.rt)
	}
	return rank
}

// wakeLocked wakes all workers that sleep, wait for a turn or lead gangs, after a lane was full.
func (q *gangs) wakeLocked(rt *Runtime) {
	rt.parking.wakeAll()
	q.callLocked(rt)
	q.cond.Broadcast()
}

// callLocked gives a turn to workers that wait for one (GiveWay) and that a gang wants:
// they may be the only ones that may be members.
func (q *gangs) callLocked(rt *Runtime) {
	if !rt.lanes.on.Load() || len(q.mu.queue) == 0 {
		return
	}
	rt.lanes.mu.Lock()
	waiting := slices.Clone(rt.lanes.mu.waiting)
	rt.lanes.mu.Unlock()
	for _, u := range waiting {
		if q.forLocked(u, nil) != nil {
			rt.lanes.recall(u)
		}
	}
}

// assemble gives t, if it is parallel, its gang with all members. w leads it.
// Meanwhile it may be a member of others.
func (w *worker) assemble(t *task) {
	sp := t.special()
	if sp == nil || !t.parallel() {
		return
	}
	rt := w.rt
	size, only := sp.chosen(t, w)
	g := newGang(t, size, t.codelet.Traits.Parallel)
	g.members = append(g.members, w)
	g.only = only
	sp.gang = g
	g.inTurn = rt.opt.Sequential
	if g.inTurn || g.size == 1 {
		return
	}
	q := &rt.gangs
	rt.waiting.prompt.Add(1) // workers look after each task
	defer rt.waiting.prompt.Add(-1)
	q.mu.Lock()
	q.open.Add(1)
	queued := q.enterLocked(g, w, false)
	for len(g.members) < g.size {
		before, keep := g, rt.laneOf(t.job)
		if !queued {
			before, keep = nil, nil
		}
		if other := q.forLocked(w, before); other != nil {
			if rank := q.joinLocked(other, w, keep); rank >= 0 {
				q.mu.Unlock()
				other.serve(w, rank, 0)
				w.backTo(keep)
				q.mu.Lock()
				queued = queued || q.enterLocked(g, w, true)
				continue
			}
		}
		q.cond.Wait()
		queued = queued || q.enterLocked(g, w, true)
	}
	q.mu.Unlock()
}

// enterLocked puts g, which w leads, into the queue; false: its lane has no room for it now. later
// says that it had none before.
func (q *gangs) enterLocked(g *gang, w *worker, later bool) bool {
	freed, ok := w.openGang(w.rt.laneOf(g.t.job), g.size, later)
	if freed != nil {
		q.wakeLocked(w.rt)
	}
	if !ok {
		return false
	}
	q.mu.queue = append(q.mu.queue, g)
	if len(q.mu.queue) == 1 || g.only != nil || g.t.Allowed != nil { // else those before it take all workers
		w.rt.parking.wakeAll()
		q.callLocked(w.rt)
	}
	q.cond.Broadcast()
	return true
}

// chosen returns how many workers the policy has chosen for t, which w leads, and which may
// be its members; nil: all that t allows. An invalid Size is replaced by Most, and an invalid set
// of Workers by all that the task allows.
func (sp *taskOptions) chosen(t *task, w *worker) (size int, only *sched.Set) {
	c := &sp.choice
	if size = c.Size; size < c.Least || size > c.Most {
		size = c.Most
	}
	if c.Workers == nil || size == 1 || w.rt.laneOf(t.job).most > 0 { // the workers of that job may change with each task
		return size, nil
	}
	n := 0
	for _, v := range w.rt.workers {
		if c.Workers.Has(v.id) && (t.Allowed == nil || t.Allowed.Has(v.id)) && v.node == w.node {
			n++
		}
	}
	if n < size || !c.Workers.Has(w.id) {
		return size, nil
	}
	return size, c.Workers
}

// help makes w a member of a gang that wants it; it reports whether one did.
func (w *worker) help() bool {
	q := &w.rt.gangs
	q.mu.Lock()
	g := q.forLocked(w, nil)
	if g == nil {
		q.mu.Unlock()
		return false
	}
	rank := q.joinLocked(g, w, nil)
	q.mu.Unlock()
	if rank < 0 {
		return false
	}
	w.notIdle.Store(true) // first: what the policy gives w from now on is for others to take
	defer w.notIdle.Store(false)
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
	return q.forLocked(w, nil) != nil
}
