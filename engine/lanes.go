package engine

// Lanes: which job a worker takes its next task from, while jobs have shares.
//
// A job with a share (JobOptions.Weight, MaxWorkers) has a lane: a policy of its own,
// which holds its ready tasks. All jobs without a share have the common lane. While there
// is no other, workers ask its policy directly, and this file costs a load of one word.
// Otherwise a worker takes its next task (popLane in giveway.go, takeLocked here) from the
// lane that has had the least of the workers' time, divided by its weight (C. Waldspurger, W. Weihl: Stride scheduling,
// MIT/LCS/TM-528, 1995), and policies are called under one lock.
//
// A kernel is not stopped. One of a lane that has had more time than another may give way
// (giveway.go).

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/starpush/starpush/engine/sched"
)

// lane holds the ready tasks of one job with a share, or of all jobs without.
type lane struct {
	scheduler
	weight  float64
	most    int     // workers that may run its tasks; 0: all
	queued  int     // ready tasks; those of the common lane are not counted
	running int     // workers that have a task of it
	used    float64 // seconds that workers spent on it, divided by the weight
	idle    bool    // it has no ready tasks; it gets no credit for that time
	tried   uint64  // lanes.mu.search of the last look into its policy
}

// scheduler is a policy with the optional interfaces that it implements.
type scheduler struct {
	policy   sched.Policy
	feedback sched.Feedback
	sharer   sched.Sharer
}

// lanes are the lanes of a runtime.
type lanes struct {
	on              atomic.Bool   // there are lanes besides the common one
	common          lane          // of jobs without a share
	slice, patience time.Duration // defaultSlice and defaultPatience, except in tests
	mu              struct {
		sync.Mutex
		all    []*lane // the common one first
		clock  float64 // the least that a lane that could use more has used
		search uint64
		spare  []scheduler // empty ones, of closed jobs
		closed bool
		turns
	}
}

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

// laneOf returns the lane of j.
func (rt *Runtime) laneOf(j *Job) *lane {
	if j.lane != nil {
		return j.lane
	}
	return &rt.lanes.common
}

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
	if !drop {
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

// fullLocked reports whether l has all the workers that JobOptions.MaxWorkers allows.
func (l *lane) fullLocked() bool { return l.most > 0 && l.running >= l.most }

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
	return w.lane == l || !l.fullLocked()
}

// joinLane counts w, which joins a parallel task, as a worker of l; it reports false if l
// is full. If keep is not nil, it is the lane of a task that w leads, and w stays a worker
// of keep, too.
func (w *worker) joinLane(l, keep *lane) bool {
	s := &w.rt.lanes
	if !s.on.Load() {
		return true
	}
	now := time.Since(w.rt.began)
	s.mu.Lock()
	if w.lane != l && l.fullLocked() {
		s.mu.Unlock()
		return false
	}
	var freed *lane
	switch {
	case w.lane == l:
	case keep == nil:
		freed = s.leaveLocked(w, now)
		s.enterLocked(w, l, now)
	default:
		if w.lane == nil { // its task began before there were lanes
			s.enterLocked(w, keep, now)
		}
		s.chargeLocked(w, now)
		s.enterLocked(w, l, now)
	}
	s.mu.Unlock()
	w.rt.wakeSleepers(freed)
	return true
}

// backTo undoes joinLane with keep.
func (w *worker) backTo(keep *lane) {
	s := &w.rt.lanes
	if !s.on.Load() {
		return
	}
	now := time.Since(w.rt.began)
	s.mu.Lock()
	var freed *lane
	if w.lane != nil && w.lane != keep {
		freed = s.leaveLocked(w, now)
		w.lane = keep
	}
	s.mu.Unlock()
	w.rt.wakeFreed(freed, nil)
}

// wakeSleepers wakes all workers after freed, unless it is nil, has given up a worker:
// any of them may be one that can run its next task. That is rare.
func (rt *Runtime) wakeSleepers(freed *lane) {
	if freed != nil {
		rt.parking.wakeAll()
	}
}

// wakeFreed is wakeSleepers, and wakes leaders of gangs, too. It does nothing if the
// caller has just taken a task of freed. No lock is held.
func (rt *Runtime) wakeFreed(freed, taken *lane) {
	if freed == taken {
		return
	}
	rt.wakeSleepers(freed)
	if q := &rt.gangs; freed != nil && q.open.Load() > 0 {
		q.mu.Lock()
		q.callLocked(rt)
		q.cond.Broadcast()
		q.mu.Unlock()
	}
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
