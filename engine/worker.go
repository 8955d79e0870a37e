package engine

// Workers: goroutines that run tasks.

import (
	"runtime"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/cpu"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/engine/sched"
)

// bind binds the thread of a CPU worker to its processor, if Options.Processors, or the NUMA node that
// it belongs to, says which that is.
func (w *worker) bind() {
	if w.kind != cpuArch || w.standIn { // the numbers of stand-ins change
		return
	}
	all, i := w.rt.opt.Processors, w.id
	if n, ok := accel.AsNUMA(w.dev); ok {
		all, i = n.Processors(), w.unit
	}
	if len(all) == 0 {
		return
	}
	runtime.LockOSThread() // until the goroutine ends, and the thread with it
	// The processor may be gone since New looked: then the worker runs anywhere.
	_ = cpu.BindThread(all[i%len(all)])
}

// loop is the worker's goroutine. A kernel may end the goroutine, or panic in callBare,
// which does not recover. Then loop ends the task and starts a goroutine that goes on as the
// worker. It also does so if a poll ends the goroutine, which looked for work.
func (w *worker) loop() {
	w.bind()
	done := false
	defer func() {
		if done {
			w.rt.group.Done()
			return
		}
		defer func() { go w.loop() }()
		if w.inBareCall {
			w.inBareCall = false
			var err error = goexitError{}
			if v := recover(); v != nil {
				err = newPanic(v)
			}
			w.exit(w.tc.t, err)
		}
		if w.polling {
			w.polling = false
			w.rt.parking.looking.Store(0) // the new goroutine does not know that it looks for work
		}
	}()
	if w.standIn {
		w.stand()
	} else {
		w.work()
	}
	done = true
}

func (w *worker) work() {
	rt := w.rt
	p := &rt.parking
	peek, _ := rt.policy.(sched.Peeker)
	looking, spins := false, 0
	worked := false // a task ran since the last poll
	woken := false  // and no task run since: there may be more work than one wake-up announced
	for {
		if len(w.queued) > 0 && len(w.queued) == len(w.slots) {
			w.awaitOldest()
		}
		var it *sched.Item
		switch {
		case woken && len(w.queued) == 0 && w.wanted(): // it may be woken for that
		case !rt.lanes.on.Load():
			it = rt.policy.Pop(w.id)
		default:
			it = w.popLane(&looking)
		}
		if it != nil {
			switch {
			case looking:
				looking = false
				p.found(rt)
			case woken:
				p.more(rt)
			}
			spins, woken = 0, false
			if peek != nil {
				if next := peek.Peek(w.id); next != nil { // its record arrives while it runs
					datamgr.Prefetch(unsafe.Pointer(next), recordLines[0])
				}
			}
			w.run(itemTask(it))
			worked = true
			continue
		}
		if len(w.queued) > 0 {
			if looking {
				p.looking.Store(0)
			}
			looking, woken = w.await(), true
			continue
		}
		w.rest()
		if w.wanted() {
			if looking {
				looking = false
				p.looking.Store(0)
			}
			p.more(rt)
			w.help()
			continue
		}
		if rt.quit.Load() {
			if looking {
				p.looking.Store(0)
			}
			return
		}
		if !looking && spins == 0 {
			looking = p.looking.CompareAndSwap(0, 1)
		}
		if rt.pollers.all.Load() != nil {
			again := w.poll(&looking, worked)
			if worked = worked && !looking; again { // another worker may have polled
				continue
			}
		}
		if looking && spins < 40 {
			spins++
			runtime.Gosched()
			continue
		}
		p.enter(w)
		if looking {
			looking = false
			p.looking.Store(0)
		}
		spins = 0
		var again bool
		if !rt.lanes.on.Load() {
			it = rt.policy.Pop(w.id)
		} else {
			it, again = w.popAsleep()
		}
		if it != nil {
			if !p.leave(w) { // another goroutine is waking us
				looking = <-w.park
			}
			if looking {
				looking = false
				p.looking.Store(0)
			}
			p.more(rt)
			w.run(itemTask(it))
			worked = true
			continue
		}
		if rt.quit.Load() && p.leave(w) {
			return
		}
		if (again || w.wanted() || rt.pollers.missed(p)) && p.leave(w) {
			continue
		}
		if int(p.parked.Add(1)) == len(rt.workers) {
			rt.progress()
		}
		looking, woken = <-w.park, true
		p.parked.Add(-1)
	}
}

// isIdle reports whether no task is ready or running: nothing will happen until
// the program does something.
func (rt *Runtime) isIdle(_ datamgr.Submission) bool {
	if rt.opt.Sequential { // in the order in which work goes: from a releaser to the policy to a drain
		return rt.busyReleasers.Load() == 0 && rt.empty(false) && rt.draining.Load() == 0
	}
	p := &rt.parking
	n := len(rt.workers)
	p.mu.Lock()
	all := len(p.mu.list) == n
	p.mu.Unlock()
	return all && int(p.parked.Load()) == n && rt.empty(false) && rt.busyReleasers.Load() == 0
}

// The reference: without workers, tasks run on the goroutine that made them
// ready, inside its Submit, Open or Release. A task that waits for a gate or
// for held data is put off until then.

// drain runs ready tasks. In a kernel it does nothing: the caller of the kernel runs the
// tasks that it submitted.
func (rt *Runtime) drain() {
	if rt.mayBeInKernel() {
		return
	}
	rt.drainLock.Lock()
	rt.draining.Add(1)
	defer func() {
		rt.draining.Add(-1)
		rt.drainLock.Unlock()
		rt.progress()
	}()
	rt.runReady()
}

// runReady runs what is ready and what that makes ready, also when a kernel ends
// the goroutine: the program's goroutine may not come again.
func (rt *Runtime) runReady() {
	done := false
	defer func() {
		if !done {
			rt.runReady()
		}
	}()
	w := rt.workers[0]
	for {
		it := rt.policy.Pop(0)
		if it == nil {
			w.rest()
			if rt.policy.Empty() {
				done = true
				return
			}
			continue
		}
		if rt.opt.Plan != nil {
			w.skip(itemTask(it))
			continue
		}
		w.run(itemTask(it))
	}
}

// Stand-ins: workers that run tasks of other jobs while a kernel gives way.

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
