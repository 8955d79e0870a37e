package engine

import (
	"runtime"
	"slices"
)

// Pollers: functions of the program that idle workers call.

// PollWhileIdle has a worker that finds no task call poll again and again, until poll returns false, before the worker sleeps. A program
// uses it to receive what tasks wait for, such as messages, without waking a goroutine for that: poll may release accesses and open
// gates; hooks of tasks that this makes ready, or ends, run elsewhere afterwards. It returns true to be called again soon. Only one
// goroutine at a time calls poll; other goroutines of the processor run between some of the calls. worked says that the worker has run a task since its last call.
//
// poll must not wait, and should return within microseconds. So should callbacks of AcquireOptions.Async, which it may cause.
//
// It must not submit tasks, which may have to wait for room.
//
// stop must not be called in poll.
//
// Before the last worker sleeps, poll is called at least once after the end of the last task and returns false: a runtime that rests has seen
// every message that had arrived by then. The runtime is not idle while poll returns true: waits that never end are found later. While a
// worker runs a task there may be no calls, even if other workers sleep: to receive meanwhile, the program needs a goroutine of its
// own, too. A poll that ends its goroutine is called again.
//
// stop ends the calls, and returns once no call of poll is under way. A Sequential runtime calls no poll.
func (rt *Runtime) PollWhileIdle(poll func(worked bool) bool) (stop func()) {
	p := &poller{fn: poll}
	rt.pollers.change(func(all []*poller) []*poller { return append(all, p) })
	rt.pollers.wanted.Store(true)
	rt.parking.wakeAny()
	return func() {
		rt.pollers.change(func(all []*poller) []*poller {
			return slices.DeleteFunc(all, func(o *poller) bool { return o == p })
		})
		p.mu.Lock() // after a call that is under way
		p.mu.stopped = true
		p.mu.Unlock()
	}
}

// change replaces the pollers by what fn makes of a copy of them.
func (ps *pollers) change(fn func([]*poller) []*poller) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	var all []*poller
	if old := ps.all.Load(); old != nil {
		all = slices.Clone(*old)
	}
	if all = fn(all); len(all) == 0 {
		ps.all.Store(nil)
		return
	}
	ps.all.Store(&all)
}

// missed reports whether a worker has asked for a poll (wanted) and no worker is looking for work, which would make it.
func (ps *pollers) missed(p *parking) bool {
	return ps.all.Load() != nil && ps.wanted.Load() && p.looking.Load() == 0
}

// callsBetweenYields is how many calls of poll come before one that lets other goroutines run first, which takes as long as a poll of MPI.
const callsBetweenYields = 4

// poll calls all pollers, and reports whether one of them is to be called again soon. It does so for the worker that looks for work, which w becomes if there is
// none; looking says whether w is that one, and worked whether it has run a task since the last call. The worker loop calls it only if there are pollers: a call of it for each look cost 3 % of an empty task.
func (w *worker) poll(looking *bool, worked bool) (again bool) {
	ps, p := &w.rt.pollers, &w.rt.parking
	if !*looking {
		ps.wanted.Store(true)
		if *looking = p.looking.CompareAndSwap(0, 1); !*looking {
			return false
		}
	}
	if ps.wanted.Load() {
		ps.wanted.Store(false)
	}
	if ps.calls++; ps.calls%callsBetweenYields == 0 {
		runtime.Gosched() // before the calls: the worker looks for what they find at once
	}
	all := ps.all.Load()
	if all == nil {
		return false
	}
	w.polling = true
	for _, p := range *all {
		again = p.call(worked) || again
	}
	w.polling = false
	return again
}
