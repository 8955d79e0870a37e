package engine

// Workers: goroutines that run tasks.

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/engine/perf"
	"github.com/starpush/starpush/engine/sched"
)

// worker runs tasks, one at a time.
type worker struct {
	releaser
	pub       datamgr.Publisher
	tc        TaskContext
	park      chan bool // true: go on as the worker that looks for work
	name      string
	kind      string // the device's name
	arch      string // what its kernels are written for
	dev       accel.Device
	stream    accel.Stream   // of the kernels; nil on the CPU
	slots     []*slot        // on devices
	queued    []queuedKernel // the first one runs
	lookahead *lookahead     // where memory is bounded
	node      int            // its memory node
	freed     [2]struct {    // ended tasks to give back, by size
		first, last *task
		n           int
	}
	job        *Job  // the job that ended counts for
	ended      int64 // tasks of job that ended, not yet added to it
	slow       bool  // the last task that was timed took long
	scratch    []scratch
	inBareCall bool // callBare runs, for the task of tc: it passes tc to the kernel
	tally      tally
	notIdle    atomic.Bool             // in a gang or a hook, while the policy may take it to have nothing
	running    atomic.Pointer[Codelet] // with statistics; the one that ran last, until the worker rests
	times      *perf.Recorder          // with performance models

	own      int           // its number in tables of workers; below 0: a stand-in, which is in none
	standIn  bool          // see giveway.go
	hasTurn  bool          // of a stand-in
	turn     chan struct{} // receives a turn
	giving   sync.Mutex    // held in giveWay
	nextLook time.Duration // when its kernel may give way again; guarded by giving
	paused   time.Duration // for which its kernels gave way, in all
	first    *sched.Item   // the first task of a stand-in, or after a wait for a turn
	// guarded by lanes.mu
	lane  *lane         // of its task
	since time.Duration // when its lane was last charged
	_     [64]byte
}

// newWorker makes the next worker, which is unit i of a device.
func newWorker(sub datamgr.Submission, rt *Runtime, dev accel.Device, i, node int) *worker {
	w := &worker{releaser: releaser{rt: rt, c: rt.reg.NewCompleter(), id: len(rt.workers)}, park: make(chan bool, 1),
		own: len(rt.workers), turn: make(chan struct{}, 1),
		name: fmt.Sprintf("%s %d", dev.Name(), i), kind: dev.Name(), arch: dev.Arch(), dev: dev, node: node}
	w.releaser.w = w
	sub.AddPublisher(&w.pub)
	return w
}

// loop is the worker's goroutine. A kernel may end the goroutine, or panic in callBare,
// which does not recover. Then loop ends the task and starts a goroutine that goes on as the
// worker.
func (w *worker) loop() {
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
	woken := false // and no task run since: there may be more work than one wake-up announced
	for {
		if len(w.queued) > 0 && len(w.queued) == len(w.slots) {
			w.awaitOldest()
		}
		var it *sched.Item
		if !rt.lanes.on.Load() {
			it = rt.policy.Pop(w.id)
		} else {
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
			continue
		}
		if rt.quit.Load() && p.leave(w) {
			return
		}
		if (again || w.wanted()) && p.leave(w) {
			continue
		}
		if int(p.parked.Add(1)) == len(rt.workers) {
			rt.progress()
		}
		looking, woken = <-w.park, true
		p.parked.Add(-1)
	}
}

// rest is called when the worker finds nothing to run.
func (w *worker) rest() {
	w.pub.End(w.c)
	w.c.FinishLate()
	w.drain()
	w.flush()
	if n := len(w.light); n > 0 && w.light[n-1] == joinGang {
		w.light = w.light[:n-1] // a resting worker looks for open gangs itself, and must not leave while others rely on it to look for work
	}
	w.tally.rest(w)
}

// flush adds what ended to the job's count.
func (w *worker) flush() {
	w.tally.flush(w.id)
	if w.rt.gangs.open.Load() > 0 {
		w.light = append(w.light, joinGang)
	}
	if w.ended == 0 {
		return
	}
	w.job.ended.Add(w.ended)
	w.ended = 0
	w.rt.progress()
}

// count says that a task of j ended.
func (w *worker) count(j *Job) {
	if w.job != j {
		w.flush()
		w.job = j
	}
	w.ended++
	if w.ended >= j.batch || w.rt.waiting.prompt.Load() > 0 || w.slow {
		w.c.FinishLate() // callers that wait for these tasks find their data free
		w.flush()
	}
}

// recycle gives an ended task back, in batches.
func (w *worker) recycle(t *task) {
	t.clear()
	fr := &w.freed[t.size()]
	if fr.n == 0 {
		fr.last = t
	}
	t.SetNext(waiterOf(fr.first))
	fr.first = t
	fr.n++
	if fr.n >= 64 {
		w.rt.giveBack(fr.first, fr.last)
		fr.first, fr.last, fr.n = nil, nil, 0
	}
}

// giveBack gives a list of ended tasks, whose records have one size, to the
// submitter.
func (rt *Runtime) giveBack(first, last *task) {
	r := &rt.freed(first).returned
	for {
		o := r.Load()
		last.SetNext(o)
		if r.CompareAndSwap(o, &first.Waiter) {
			return
		}
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
