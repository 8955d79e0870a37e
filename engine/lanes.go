package engine

// Lanes: which job a worker takes its next task from, while jobs have shares.
//
// A job with a share (JobOptions.Weight, MaxWorkers) has a lane: a policy of its own,
// which holds its ready tasks. All jobs without a share have the common lane. While there
// is no other, workers ask its policy directly, and this file costs a load of one word.
// Otherwise a worker takes its next task (popLane, takeLocked) from the
// lane that has had the least of the workers' time, divided by its weight (C. Waldspurger, W. Weihl: Stride scheduling,
// MIT/LCS/TM-528, 1995), and policies are called under one lock.
//
// A kernel is not stopped. One of a lane that has had more time than another may give way
// (TaskContext.GiveWay).

import (
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/starpush/starpush/engine/sched"
)

// openLanes makes the common lane for rt.policy.
func (rt *Runtime) openLanes() {
	s := &rt.lanes
	s.common = lane{scheduler: rt.newScheduler(rt.policy), weight: 1, idle: true}
	s.slice, s.patience = defaultSlice, defaultPatience
	s.mu.all, s.mu.over = []*lane{&s.common}, make(chan struct{})
	rt.policy, rt.sharer = s.common.policy, s.common.sharer
}

// maxSpare is the most policies that are kept for later jobs.
const maxSpare = 32

// addLane makes a lane for j, a new job.
func (rt *Runtime) addLane(j *Job) {
	s := &rt.lanes
	s.mu.Lock()
	if s.mu.closed { // j gets no tasks
		s.mu.Unlock()
		return
	}
	var own scheduler
	if n := len(s.mu.spare); n > 0 {
		own = s.mu.spare[n-1]
		s.mu.spare = s.mu.spare[:n-1]
	}
	s.mu.Unlock()
	if own.policy == nil {
		p := rt.makePolicy()
		if p == nil { // Options.NewPolicy made one before, and none this time
			p = sched.Table()[0].New(rt.machine())
		}
		own = rt.newScheduler(p)
	}
	l := &lane{scheduler: own, weight: float64(max(j.opt.Weight, 1)), most: max(j.opt.MaxWorkers, 0), idle: true}
	s.mu.Lock()
	defer s.mu.Unlock()
	j.lane = l
	if !s.on.Load() {
		s.common.idle, s.common.running = s.common.emptyLocked(s), 0
		s.common.used = max(s.common.used, s.mu.clock) // it was not charged meanwhile
		for _, w := range rt.workers {                 // their time counts from their next task on
			w.lane = nil
		}
	}
	s.mu.all = append(s.mu.all, j.lane)
	s.on.Store(true)
}

// removeLane removes the lane of j, which has no tasks left.
func (rt *Runtime) removeLane(j *Job) {
	s := &rt.lanes
	s.mu.Lock()
	if s.mu.closed {
		s.mu.Unlock()
		return
	}
	s.mu.all = slices.DeleteFunc(s.mu.all, func(l *lane) bool { return l == j.lane })
	drop := len(s.mu.spare) == maxSpare
	if j.lane.closed = drop; !drop {
		s.mu.spare = append(s.mu.spare, j.lane.scheduler)
	}
	s.restLocked()
	s.mu.Unlock()
	if c, ok := plain(j.lane.policy).(sched.Closer); ok && drop {
		c.Close()
	}
}

// restLocked lets workers ask the common policy directly again once there is no other
// lane and every worker has its turn.
func (s *lanes) restLocked() {
	if len(s.mu.all) == 1 && s.mu.out+len(s.mu.paused)+len(s.mu.waiting)+s.mu.extra == 0 {
		s.on.Store(false)
	}
}

// closePolicies closes all policies. The workers have stopped.
func (rt *Runtime) closePolicies() {
	s := &rt.lanes
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.closed = true
	all := s.mu.spare
	for _, l := range s.mu.all {
		all = append(all, l.scheduler)
	}
	for _, o := range all {
		if c, ok := plain(o.policy).(sched.Closer); ok {
			c.Close()
		}
	}
}

// newScheduler looks up the optional interfaces of p.
func (rt *Runtime) newScheduler(p sched.Policy) (s scheduler) {
	s.policy = p
	if rt.profile != nil {
		s.policy = &profiledPolicy{p, rt.profile}
	}
	if !rt.opt.Sequential {
		s.feedback, _ = p.(sched.Feedback)
		s.sharer, _ = p.(sched.Sharer)
		s.leaver, _ = p.(sched.Leaver)
	}
	return s
}

// laneTaskStarted reports to the policy that gave out t that its kernel starts, if the policy
// implements sched.Feedback.
func (w *worker) laneTaskStarted(t *task) {
	if fb := w.rt.laneOf(t.job).feedback; fb != nil {
		defer w.rt.lanes.exclude()()
		fb.Started(&t.Item, w.id)
	}
}

// laneTaskEnded is laneTaskStarted for the end of the kernel, which took d.
func (w *worker) laneTaskEnded(t *task, d time.Duration) {
	if fb := w.rt.laneOf(t.job).feedback; fb != nil {
		defer w.rt.lanes.exclude()()
		fb.Ended(&t.Item, w.id, d.Seconds())
	}
}

// exclude locks out other calls of policies until the function that it returns is called:
// a worker and its stand-in have one number, and only one may call a policy at a time.
func (s *lanes) exclude() func() {
	if !s.on.Load() {
		return func() {}
	}
	s.mu.Lock()
	return s.mu.Unlock
}

// pushLane is push where jobs have shares. It returns the worker to wake.
func (rt *Runtime) pushLane(t *task, from int) int {
	s, l := &rt.lanes, rt.laneOf(t.job)
	s.mu.Lock()
	defer s.mu.Unlock()
	if l != &s.common {
		l.queued++
	}
	s.beginLocked(l)
	w := l.policy.Push(&t.Item, from)
	if w == sched.Nobody { // the worker may take its next task from another lane
		if w = sched.Anyone; l.sharer != nil {
			w = l.sharer.Share(from)
		}
	}
	if l.fullLocked() {
		return sched.Nobody // see leaveLocked
	}
	if len(s.mu.waiting) > 0 && rt.parking.idle.Load() > 0 {
		rt.parking.wakeAll() // one of those without a turn may be the only one that may run t
	}
	return w
}

// fullLocked reports whether l may have no more tasks: it has as many workers as
// JobOptions.MaxWorkers allows, those that its gangs need next included. Otherwise its other
// tasks might keep a gang waiting for as long as there are any.
func (l *lane) fullLocked() bool {
	return l.most > 0 && l.running+max(l.wanted, min(l.later, 1)) >= l.most
}

// hasRoomLocked reports whether a gang of l may have another worker.
func (l *lane) hasRoomLocked() bool { return l.most == 0 || l.running < l.most }

// emptyLocked reports whether l has no ready tasks.
func (l *lane) emptyLocked(s *lanes) bool {
	if l == &s.common {
		return l.policy.Empty()
	}
	return l.queued == 0
}

// beginLocked marks l as having ready tasks. A lane that had none starts level with the one
// that has used least, also if it has workers: it could use no more of them.
func (s *lanes) beginLocked(l *lane) {
	if l.idle {
		l.used, l.idle = max(l.used, s.mu.clock), false
	}
}

// chargeLocked adds the time since the last call for w to what its lane has used.
func (s *lanes) chargeLocked(w *worker, now time.Duration) {
	if l := w.lane; l != nil {
		l.used += (now - w.since).Seconds() / l.weight
	}
	w.since = now
}

// enterLocked counts w, which gets a task of l, as a worker of l.
func (s *lanes) enterLocked(w *worker, l *lane, now time.Duration) {
	l.running++
	w.lane, w.since = l, now
}

// leaveLocked counts w, whose task has ended, as a worker of no lane. It returns the lane
// that w leaves if that lane was full.
func (s *lanes) leaveLocked(w *worker, now time.Duration) (freed *lane) {
	s.chargeLocked(w, now)
	l := w.lane
	if l == nil {
		return nil
	}
	if l.fullLocked() {
		freed = l
	}
	w.lane = nil
	l.running--
	return freed
}

// endLocked is leaveLocked for a worker that has nothing more to do with the task: its policy may not be asked for
// the next one, and would not know. A worker of no lane may have had a task of the common lane, from before
// there were others.
func (s *lanes) endLocked(w *worker, now time.Duration) (freed *lane) {
	l := w.lane
	if l == nil {
		l = &s.common
	}
	if l.leaver != nil && !l.closed {
		l.leaver.Leave(w.id)
	}
	return s.leaveLocked(w, now)
}

// tickLocked advances the clock. Besides lanes with tasks to give out, those of kernels that
// gave way and own, if it is not nil, can use more.
func (s *lanes) tickLocked(own *lane) {
	least := math.Inf(1)
	for _, l := range s.mu.all {
		if l == own || l.used < least && !l.fullLocked() && !l.emptyLocked(s) {
			least = min(least, l.used)
		}
	}
	for _, p := range s.mu.paused {
		least = min(least, p.lane.used)
	}
	if !math.IsInf(least, 1) {
		s.mu.clock = max(s.mu.clock, least)
	}
}

// firstLocked returns the lane that has used least, among the lanes that have ready tasks,
// are not full and were not tried in this search. It returns nil if there is none.
func (s *lanes) firstLocked() (best *lane) {
	for _, l := range s.mu.all {
		if l.tried != s.mu.search && !l.fullLocked() && !l.emptyLocked(s) &&
			(best == nil || l.used < best.used) {
			best = l
		}
	}
	return best
}

// takeLocked takes a task for worker id from the lane that has used least and whose policy
// has one for it. It returns nil if no lane that has used less than limit has one.
func (s *lanes) takeLocked(id int, limit float64) (*sched.Item, *lane) {
	s.mu.search++
	for {
		l := s.firstLocked()
		if l == nil || l.used >= limit {
			return nil, nil
		}
		l.tried = s.mu.search
		if it := l.policy.Pop(id); it != nil {
			if l != &s.common {
				l.queued--
			}
			s.beginLocked(l) // pushes to the common lane that began before there were others did not
			l.idle = l.emptyLocked(s)
			return it, l
		}
	}
}

// empty reports whether no task waits in a policy. With free set it leaves out full lanes.
func (rt *Runtime) empty(free bool) bool {
	s := &rt.lanes
	if !s.on.Load() {
		return rt.policy.Empty()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.mu.all {
		if !l.emptyLocked(s) && !(free && l.fullLocked()) {
			return false
		}
	}
	return true
}

// mayJoin reports whether w may become a worker of a parallel task of j.
func (w *worker) mayJoin(j *Job) bool {
	s := &w.rt.lanes
	l := w.rt.laneOf(j)
	if l.most == 0 || !s.on.Load() {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return w.lane == l || l.hasRoomLocked()
}

// openGang counts what a gang of l that w leads needs, size workers: w, and the others as they
// come (joinLane). It reports false if another gang of l lacks workers, or l has no room for w.
// Then w is no worker of l until it tries again, so that gangs that wait keep no workers from
// each other; later says that it has tried before. It does nothing if l has no limit.
func (w *worker) openGang(l *lane, size int, later bool) (freed *lane, ok bool) {
	s := &w.rt.lanes
	if l.most == 0 {
		return nil, true
	}
	now := time.Since(w.rt.began)
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.wanted == 0 && (w.lane == l || l.hasRoomLocked()) {
		if w.lane != l {
			freed = s.endLocked(w, now)
			s.enterLocked(w, l, now)
		}
		if later {
			l.later--
		}
		l.wanted = size - 1
		return freed, true
	}
	if !later {
		l.later++
		freed = s.leaveLocked(w, now)
	}
	return freed, false
}

// joinLane counts w, which joins a parallel task, as a worker of l; it reports false if l
// has no room. If keep is not nil, it is the lane of a task that w leads, and w stays a worker
// of keep, too. The lanes in freed, nil for none, were full and may be so no more.
func (w *worker) joinLane(l, keep *lane) (freed [2]*lane, ok bool) {
	s := &w.rt.lanes
	if !s.on.Load() {
		return freed, true
	}
	now := time.Since(w.rt.began)
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.lane != l && !l.hasRoomLocked() {
		return freed, false
	}
	if l.fullLocked() {
		freed[1] = l
	}
	l.wanted = max(0, l.wanted-1)
	switch {
	case w.lane == l:
	case keep == nil:
		freed[0] = s.endLocked(w, now)
		s.enterLocked(w, l, now)
	default:
		if w.lane == nil { // its task began before there were lanes
			s.enterLocked(w, keep, now)
		}
		s.chargeLocked(w, now)
		s.enterLocked(w, l, now)
	}
	if l.fullLocked() {
		freed[1] = nil
	}
	return freed, true
}

// backTo undoes joinLane with keep; nil: w is a worker of no lane then.
func (w *worker) backTo(keep *lane) {
	s := &w.rt.lanes
	if !s.on.Load() {
		return
	}
	now := time.Since(w.rt.began)
	s.mu.Lock()
	var freed *lane
	if w.lane != nil && w.lane != keep {
		freed = s.endLocked(w, now)
		w.lane = keep
	}
	s.mu.Unlock()
	w.rt.wakeFreed(freed, nil)
}

// wakeFreed wakes all workers and leaders of gangs after freed, unless it is nil, has given up
// a worker: any of them may be one that can run its next task. That is rare. It does nothing if
// the caller has just taken a task of freed. No lock is held.
func (rt *Runtime) wakeFreed(freed, taken *lane) {
	if freed == nil || freed == taken {
		return
	}
	q := &rt.gangs
	if q.open.Load() == 0 {
		rt.parking.wakeAll()
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.wakeLocked(rt)
}

// lookAhead visits the tasks that worker w gets next, lane by lane.
func (rt *Runtime) lookAhead(w int, m *lookahead) {
	s := &rt.lanes
	if !s.on.Load() {
		rt.ahead.Ahead(w, rt.opt.Ahead, m.visit)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.mu.search++; m.tasks < rt.opt.Ahead; {
		l := s.firstLocked()
		if l == nil {
			return
		}
		l.tried = s.mu.search
		if a, ok := plain(l.policy).(sched.Ahead); ok {
			a.Ahead(w, rt.opt.Ahead-m.tasks, m.visit)
		}
	}
}

// Giving way: a kernel that runs for long lets tasks of other jobs run in between.
//
// A CPU worker has a turn while it runs a task, looks for one or sleeps; there are as
// many turns as such workers. A kernel that gives way passes its turn on, to another
// kernel that gave way before or to a stand-in: a goroutine that runs a task as the
// worker would, under its number. A stand-in whose task is over goes on with what comes
// first, until a worker waits for a turn between two tasks. A worker that comes to its
// next task passes its turn on, too, when a kernel that gave way goes first.
//
// A kernel waits for its turn no longer than a second: what others run may itself wait
// for what the kernel computes. It goes on beside them then. That is one turn too many,
// which is given up at the next end of a task.

const (
	// defaultSlice is the least time that a kernel runs before it gives way. Bodies call
	// GiveWay every 65536 elements, about every 0.1 ms.
	defaultSlice = time.Millisecond
	// defaultPatience is the longest time that a kernel waits for its turn.
	defaultPatience = time.Second
	// maxStandIns is the most stand-ins for each worker.
	maxStandIns = 8
)

// GiveWay lets ready tasks of other jobs run on this worker, if their jobs have had less
// of the workers' time for their weight (JobOptions.Weight) than the kernel's. It returns
// when it is the kernel's turn again, after a second at most. Meanwhile the kernel keeps
// its data, and that time does not count as the kernel's.
//
// A kernel that runs for long should call it every 0.1 ms or so, where it holds no lock that
// other kernels may want; bodies written in the language do. Goroutines of the kernel may
// call it, too, and wait together. Without jobs with shares a call takes a few ns. It does
// nothing in parallel tasks, on devices, with Options.RAM and with Options.Verify.
func (c *TaskContext) GiveWay() {
	if w := c.w; w != nil && w.rt.lanes.on.Load() {
		w.giveWay(c)
	}
}

// takesTurns reports whether w has a turn that it can pass on: workers of devices keep
// theirs, as they mostly wait.
func (w *worker) takesTurns() bool { return w.stream == nil && w.lookahead == nil }

func (w *worker) giveWay(c *TaskContext) {
	rt, s := w.rt, &w.rt.lanes
	if c.part != nil || rt.verify != nil || !w.takesTurns() {
		return
	}
	w.giving.Lock() // a kernel's goroutines wait together
	defer w.giving.Unlock()
	now := time.Since(rt.began)
	if now < w.nextLook {
		return
	}
	w.nextLook = now + s.slice
	runtime.Gosched() // goroutines of the program, which may have no processor but ours
	gang := rt.gangs.wanting(w)
	s.mu.Lock()
	if w.lane == nil { // it began before there were shares
		s.enterLocked(w, rt.laneOf(c.t.job), now)
	}
	if len(s.mu.free) == 0 && len(s.mu.standIns) < maxStandIns*rt.opt.Workers {
		s.mu.Unlock()
		rt.addStandIn()
		s.mu.Lock()
	}
	s.chargeLocked(w, now)
	s.tickLocked(w.lane)
	limit, p := w.lane.used, s.firstPausedLocked()
	if p != nil && p.lane.used < limit {
		limit = p.lane.used
	} else {
		p = nil
	}
	var it *sched.Item
	var l *lane
	if len(s.mu.free) > 0 {
		it, l = s.takeLocked(w.id, limit)
	}
	switch {
	case it != nil:
		s.enterLocked(s.sendLocked(w, it), l, now)
	case s.lendLocked(limit, now): // to a worker that waits
	case gang != nil && len(s.mu.free) > 0 && gang.used < limit:
		s.sendLocked(w, nil)
	case p != nil:
		s.resumeLocked(p, now)
	default:
		s.mu.Unlock()
		return
	}
	s.mu.paused = append(s.mu.paused, w)
	s.mu.Unlock()
	if rt.parking.idle.Load() > 0 {
		rt.parking.wakeAny() // one without work has a turn to spare
	}
	w.pause(c.t, now)
}

// pause waits for a turn, from begin on, in the kernel of t, which gave way.
func (w *worker) pause(t *task, begin time.Duration) {
	rt, s := w.rt, &w.rt.lanes
	w.helps(false)
	timer := time.NewTimer(s.patience)
	select {
	case <-w.turn:
	case <-timer.C:
		s.mu.Lock()
		if i := slices.Index(s.mu.paused, w); i >= 0 {
			s.mu.paused = slices.Delete(s.mu.paused, i, i+1)
			s.mu.extra++
			w.since = time.Since(rt.began)
		} else {
			<-w.turn
		}
		s.mu.Unlock()
	}
	timer.Stop()
	w.helps(true)
	now := time.Since(rt.began)
	w.paused += now - begin
	w.gaveWay(t, now-begin)
	w.nextLook = now + s.slice
}

// sendLocked gives w's turn to a free stand-in and returns it. The stand-in runs it first;
// if it is nil, it joins a gang.
func (s *lanes) sendLocked(w *worker, it *sched.Item) *worker {
	n := len(s.mu.free) - 1
	h := s.mu.free[n]
	s.mu.free = s.mu.free[:n]
	s.mu.out++
	h.id, h.name, h.first = w.id, w.name, it
	h.turn <- struct{}{}
	return h
}

// resumeLocked gives a turn to p, whose kernel gave way.
func (s *lanes) resumeLocked(p *worker, now time.Duration) {
	i := slices.Index(s.mu.paused, p)
	s.mu.paused = slices.Delete(s.mu.paused, i, i+1)
	p.since = now
	p.turn <- struct{}{}
}

// firstPausedLocked returns the worker whose kernel goes on first, of those that gave
// way; nil: there is none.
func (s *lanes) firstPausedLocked() (first *worker) {
	for _, p := range s.mu.paused {
		if first == nil || p.lane.used < first.lane.used {
			first = p
		}
	}
	return first
}

// passLocked passes a turn on: to p, or to a worker that waits for it. There is one,
// unless there are more turns than workers.
func (s *lanes) passLocked(p *worker, now time.Duration) {
	switch {
	case s.mu.extra > 0:
		s.mu.extra--
	case p != nil:
		s.resumeLocked(p, now)
	case len(s.mu.waiting) > 0:
		u := s.mu.waiting[0]
		s.mu.waiting = slices.Delete(s.mu.waiting, 0, 1)
		u.turn <- struct{}{}
	}
}

// lendLocked gives the caller's turn, with a task that only it may take, to a worker that
// waits for a turn between two tasks, if there is such a task in a lane that has used less
// than limit.
func (s *lanes) lendLocked(limit float64, now time.Duration) bool {
	for i, u := range s.mu.waiting {
		if it, l := s.takeLocked(u.id, limit); it != nil {
			s.mu.waiting = slices.Delete(s.mu.waiting, i, i+1)
			s.enterLocked(u, l, now)
			u.first = it
			u.turn <- struct{}{}
			return true
		}
	}
	return false
}

// recall gives w a turn beside the others, if it waits for one between two tasks.
func (s *lanes) recall(w *worker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.mu.waiting, w); i >= 0 {
		s.mu.waiting = slices.Delete(s.mu.waiting, i, i+1)
		s.mu.extra++
		w.turn <- struct{}{}
	}
}

// popLane takes the next task for w from the lanes; nil if there is none. A worker may pass
// its turn on and wait for the next one before that; a stand-in gets nil once it has passed
// its turn on. If *looking is set, and w has to wait, it is cleared: another worker looks for
// work then.
func (w *worker) popLane(looking *bool) *sched.Item {
	rt, s := w.rt, &w.rt.lanes
	now := time.Since(rt.began)
	s.mu.Lock()
	freed := s.endLocked(w, now)
	for rested := false; ; {
		s.tickLocked(nil)
		var p *worker // goes before all ready tasks
		var it *sched.Item
		var l *lane
		if stop := w.takesTurns() && (s.mu.extra > 0 || w.standIn && len(s.mu.waiting) > 0); !stop {
			limit := math.Inf(1)
			if w.takesTurns() {
				if p = s.firstPausedLocked(); p != nil {
					limit = p.lane.used
				}
			}
			if it, l = s.takeLocked(w.id, limit); it != nil {
				limit = l.used
				s.enterLocked(w, l, now)
			}
			if p == nil && w.takesTurns() && s.lendLocked(limit, now) {
				s.mu.extra++ // until w, or another, ends a task or finds nothing
				if it == nil {
					continue
				}
			}
			if it != nil || p == nil && !w.standIn {
				s.restLocked()
				s.mu.Unlock()
				rt.wakeFreed(freed, l)
				return it
			}
		}
		if !rested { // give out and count what w has ended before it waits
			s.mu.Unlock()
			if *looking {
				*looking = false
				rt.parking.found(rt)
			}
			w.rest()
			rt.wakeFreed(freed, nil)
			rested, freed = true, nil
			s.mu.Lock()
			continue
		}
		s.passLocked(p, now)
		if w.standIn {
			s.mu.free = append(s.mu.free, w)
			s.mu.out--
			s.restLocked()
			s.mu.Unlock()
			return nil
		}
		s.mu.waiting = append(s.mu.waiting, w)
		s.mu.Unlock()
		if w.wanted() { // callLocked may have looked before w was there
			s.recall(w)
		}
		<-w.turn
		if it := w.first; it != nil {
			w.first = nil
			return it
		}
		if w.wanted() {
			return nil // and joins
		}
		now = time.Since(rt.began)
		s.mu.Lock()
	}
}

// popAsleep is popLane for a worker that is about to sleep, or waits for a device: it
// keeps its turn. again reports that popLane would pass the turn on.
func (w *worker) popAsleep() (it *sched.Item, again bool) {
	rt, s := w.rt, &w.rt.lanes
	now := time.Since(rt.began)
	s.mu.Lock()
	freed := s.endLocked(w, now)
	var l *lane
	if again = w.takesTurns() && len(s.mu.paused)+s.mu.extra > 0; !again {
		s.tickLocked(nil)
		if it, l = s.takeLocked(w.id, math.Inf(1)); it != nil {
			s.enterLocked(w, l, now)
		} else if w.takesTurns() && s.lendLocked(math.Inf(1), now) {
			s.mu.extra++
			again = true
		}
	}
	s.mu.Unlock()
	rt.wakeFreed(freed, l)
	return it, again
}

// addStandIn makes a stand-in.
func (rt *Runtime) addStandIn() {
	s := &rt.lanes
	sub := rt.reg.Lock()
	h := newWorker(sub, rt, rt.device, 0, 0)
	sub.Unlock()
	h.standIn, h.own = true, -1
	rt.group.Add(1)
	s.mu.Lock()
	all := append(slices.Clone(s.mu.standIns), h)
	s.mu.standIns, s.mu.free = all, append(s.mu.free, h)
	rt.standIns.Store(&all)
	s.mu.Unlock()
	go h.loop()
}
