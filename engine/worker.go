package engine

// Workers: goroutines that run tasks.

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/engine/perf"
	"github.com/starpush/starpush/engine/sched"
)

// worker runs tasks, one at a time.
type worker struct {
	hand
	pub     datamgr.Publisher
	tc      TaskContext
	park    chan bool // true: go on as the one who looks for work
	name    string
	kind    string // the device's name
	arch    string // what its kernels are written for
	dev     accel.Device
	stream  accel.Stream // of the kernels; nil on the CPU
	slots   []*slot      // on devices
	flights []flight     // the first one runs
	menu    *menu        // where memory is bounded
	busy    atomic.Bool  // a kernel runs, where memory is bounded
	seen    atomic.Int32 // tasks that were ready behind it when feed looked last
	node    int          // its memory node
	freed   [2]struct {  // ended tasks to give back, by size
		first, last *task
		n           int
	}
	job     *Job  // the job that ended counts for
	ended   int64 // tasks of job that ended, not yet added to it
	slow    bool  // the last task that was timed took long
	scratch []scratch
	exits   func(error) // exit
	bare    bool        // callBare runs
	tally   tally
	away    atomic.Bool             // in a gang or a hook, while the policy may take it to have nothing
	running atomic.Pointer[Codelet] // with statistics; the one that ran last, until the worker rests
	times   *perf.Recorder          // with performance models
	// what noRoomFor.given was before the task looked for room
	roomGiven uint64
	_         [64]byte
}

// newWorker makes the next worker, which is unit i of a device.
func newWorker(rt *Runtime, dev accel.Device, i, node int) *worker {
	w := &worker{hand: hand{rt: rt, c: rt.reg.NewCompleter(), id: len(rt.workers)}, park: make(chan bool, 1),
		name: fmt.Sprintf("%s %d", dev.Name(), i), kind: dev.Name(), arch: dev.Arch(), dev: dev, node: node}
	w.hand.w = w
	w.exits = w.exit
	rt.reg.AddPublisher(&w.pub)
	return w
}

// loop is the worker's goroutine. A kernel may end the goroutine, or panic where
// nothing but this stands around it; then another goes on.
func (w *worker) loop() {
	done := false
	defer func() {
		if done {
			w.rt.group.Done()
			return
		}
		defer func() { go w.loop() }()
		if w.bare {
			w.bare = false
			var err error = goexitError{}
			if v := recover(); v != nil {
				err = newPanic(v)
			}
			w.exit(err)
		}
	}()
	w.work()
	done = true
}

func (w *worker) work() {
	rt := w.rt
	p := &rt.parking
	peek, _ := rt.policy.(sched.Peeker)
	looking, spins := false, 0
	woken := false // and has not taken anything since: what others want it for may be more than one thing
	for {
		if len(w.flights) > 0 && len(w.flights) == len(w.slots) {
			w.land()
		}
		if it := rt.policy.Pop(w.id); it != nil {
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
		if len(w.flights) > 0 {
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
		if it := rt.policy.Pop(w.id); it != nil {
			if !p.leave(w) { // somebody is waking us
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
		if w.wanted() && p.leave(w) {
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
	w.settle()
	w.flush()
	if n := len(w.light); n > 0 && w.light[n-1] == summons {
		w.light = w.light[:n-1] // who rests sees for itself, and does not go while others rely on it to look for work
	}
	w.tally.rest(w)
}

// flush adds what ended to the job's count.
func (w *worker) flush() {
	w.tally.flush(w.id)
	if w.rt.gangs.open.Load() > 0 {
		w.light = append(w.light, summons)
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
		w.c.FinishLate() // who waits for the tasks that ended finds their data free
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
