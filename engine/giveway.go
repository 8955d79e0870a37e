package engine

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

import (
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/starpush/starpush/engine/sched"
)

const (
	// defaultSlice is the least time that a kernel runs before it gives way. Bodies call
	// GiveWay every 65536 elements, about every 0.1 ms.
	defaultSlice = time.Millisecond
	// defaultPatience is the longest time that a kernel waits for its turn.
	defaultPatience = time.Second
	// maxStandIns is the most stand-ins for each worker.
	maxStandIns = 8
)

// turns are the workers without a turn, and the stand-ins.
type turns struct {
	paused   []*worker     // their kernels gave way
	waiting  []*worker     // they wait between two tasks
	free     []*worker     // stand-ins without a task
	standIns []*worker     // all of them
	out      int           // how many of those are not free
	extra    int           // turns above the number of workers
	over     chan struct{} // closed when the stand-ins have to end
}

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
	freed := s.leaveLocked(w, now)
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
	freed := s.leaveLocked(w, now)
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

// anyWorker calls fn for the workers and their stand-ins until it returns true.
func (rt *Runtime) anyWorker(fn func(*worker) bool) bool {
	if slices.ContainsFunc(rt.workers, fn) {
		return true
	}
	all := rt.standIns.Load()
	return all != nil && slices.ContainsFunc(*all, fn)
}

// stand is the work of a stand-in. It begins without a turn, and once more with one when
// a kernel has ended the goroutine.
func (w *worker) stand() {
	looking := false // it never does
	for {
		if !w.hasTurn {
			select {
			case <-w.turn:
			case <-w.rt.lanes.mu.over:
				select {
				case <-w.turn: // a worker waits for it
				default:
					return
				}
			}
			w.hasTurn = true
			if w.first == nil {
				w.help()
			}
		}
		it := w.first
		if w.first = nil; it == nil {
			it = w.popLane(&looking)
		}
		if it == nil {
			w.hasTurn = false
			continue
		}
		w.run(itemTask(it))
	}
}
