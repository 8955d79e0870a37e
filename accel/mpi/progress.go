package mpi

// The goroutine that drives MPI, and the turn to call the library.

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/starpush/starpush/accel/dynlib"
)

// progress is what the driving goroutine and its callers share.
//
// All calls of the library are made by the holder of the turn, one at a time: polling from one thread
// while others start operations would make them wait for the locks of the library, and less than
// MPI_THREAD_MULTIPLE is enough. A caller queues its command. If the turn is free it takes it and
// carries out the queue itself, without waking a thread; otherwise the driving goroutine
// does so the next time it has the turn. With MPI_THREAD_FUNNELED only that goroutine takes it, also
// where a function that it calls submits a command.
type progress struct {
	turn         atomic.Bool
	queued       atomic.Int32  // commands
	commandCount atomic.Uint64 // counts commands, so that one is not slept through
	polls        atomic.Uint64 // counts calls of MPI that look for what has ended and arrived
	asleep       atomic.Bool
	wake         chan struct{} // of one element

	queue struct {
		sync.Mutex
		commands []command
		closed   error // why there are no more
	}

	// Owned by the holder of the turn.
	active    active
	listeners []*listener
	closing   bool  // users start nothing any more
	ended     int32 // out of MPI_Testsome
	probed    struct {
		message uint64
		status  [4]uint64
		flag    int32
	}
	spare        []command
	failedStarts []completion // of operations that could not be started

	users atomic.Int64 // requests of users that have not ended

	pthreadSelf  uintptr        // the function of C that identifies a thread
	driverThread atomic.Uintptr // the thread in which the driving goroutine calls functions of users, 0 outside
}

// command is an operation to start, or a function to call with the turn.
type command struct {
	r  *Request
	fn func() error
	to chan error // gets the result of fn
}

// listener takes messages as they arrive.
type listener struct {
	c           *Comm
	source, tag int
	once        bool
	handle      func(*Message)
	stopped     chan struct{} // closed once handle will not be called any more

	dead bool // owned by the holder of the turn
}

// completion is something to report once the turn is given up.
type completion struct {
	r      *Request
	status Status
	err    error
	l      *listener
	m      *Message
}

// active holds the requests under way in the arrays that MPI_Testsome takes.
type active struct {
	reqs     []*Request
	handles  []uint64 // memory of as many handles
	indices  []int32
	statuses []uint64
}

func (a *active) slot(l *Library, i int) unsafe.Pointer {
	return unsafe.Add(unsafe.Pointer(unsafe.SliceData(a.handles)), uintptr(i)*l.handleBytes)
}

// grow makes room for one more.
func (a *active) grow(l *Library) {
	n := len(a.reqs) + 1
	if n <= len(a.indices) {
		return
	}
	room := max(2*n, 64)
	a.handles = append(make([]uint64, 0, room), a.handles...)[:room]
	a.indices = make([]int32, room)
	a.statuses = make([]uint64, (uintptr(room)*l.statusBytes+7)/8)
}

// start starts an operation.
func (w *World) start(r *Request) *Request {
	if !r.inner {
		w.users.Add(1)
	}
	if err := w.submit(command{r: r}); err != nil {
		w.requestEnded(r)
		r.finish(Status{}, err)
	}
	return r
}

// refuse ends an operation that was not started.
func (w *World) refuse(r *Request, err error) *Request {
	r.finish(Status{}, err)
	return r
}

// requestEnded counts a request of a user as ended.
func (w *World) requestEnded(r *Request) {
	if !r.inner && w.users.Add(-1) == 0 {
		select {
		case w.quiet <- struct{}{}:
		default:
		}
	}
}

// run calls fn with the turn and returns its error. It does not wait for fn once the world has failed or ctx has ended:
// fn may then still be called, so that callers must not read what it writes if run returns an error.
func (w *World) run(ctx context.Context, fn func() error) error {
	to := make(chan error, 1)
	if err := w.submit(command{fn: fn, to: to}); err != nil {
		return err
	}
	select {
	case err := <-to:
		return err
	default:
	}
	select {
	case err := <-to:
		return err
	case <-w.failed:
		return w.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// inDriver reports whether the caller is a function that the driving goroutine has called. That
// goroutine is locked to its thread meanwhile, so that no other runs there.
func (w *World) inDriver() bool {
	driver := w.driverThread.Load()
	return driver != 0 && dynlib.Call(w.pthreadSelf) == driver
}

// markThread makes inDriver true in functions that the caller calls, until it calls unmark.
func (w *World) markThread() (unmark func()) {
	runtime.LockOSThread()
	w.driverThread.Store(dynlib.Call(w.pthreadSelf))
	return func() {
		w.driverThread.Store(0)
		runtime.UnlockOSThread()
	}
}

// submit queues a command, and carries it out if the turn is free.
func (w *World) submit(c command) error {
	w.queue.Lock()
	if err := w.queue.closed; err != nil {
		w.queue.Unlock()
		return err
	}
	w.queue.commands = append(w.queue.commands, c)
	w.queued.Add(1)
	w.queue.Unlock()
	if w.thread >= Serialized || w.inDriver() {
		for w.queued.Load() > 0 && w.turn.CompareAndSwap(false, true) {
			w.drain()
			w.turn.Store(false)
		}
	}
	w.commandCount.Add(1)
	if w.asleep.Load() {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
	return nil
}

// drain carries out the queue, with the turn.
func (w *World) drain() {
	w.queue.Lock()
	commands := w.queue.commands
	w.queue.commands = w.spare[:0]
	w.queue.Unlock()
	w.queued.Add(-int32(len(commands)))
	for i, c := range commands {
		if c.r != nil {
			w.begin(c.r)
		} else {
			c.to <- c.fn()
		}
		commands[i] = command{}
	}
	w.spare = commands[:0]
}

// begin calls the function of MPI that starts r.
func (w *World) begin(r *Request) {
	a := &w.active
	a.grow(w.lib)
	if w.closing && !r.inner && r.kind != matched {
		r.fail = ErrClosed
	} else if code := r.post(a.slot(w.lib, len(a.reqs))); code != 0 {
		r.fail = w.lib.error(r.name, r.peer, code)
	}
	r.post = nil
	if r.fail != nil {
		w.failedStarts = append(w.failedStarts, completion{r: r, err: r.fail})
		return
	}
	a.reqs = append(a.reqs, r)
}

// cancel withdraws a receive, with the turn.
func (w *World) cancel(r *Request) error {
	for i, x := range w.active.reqs {
		if x == r && !r.cancelled {
			r.cancelled = true
			return w.lib.error("MPI_Cancel", r.peer, int32(dynlib.Call(w.lib.cancel, uintptr(w.active.slot(w.lib, i)))))
		}
	}
	return nil // it has just ended, or was cancelled before
}

// step carries out the queue and asks MPI what has ended and arrived. It needs the turn, and adds
// what has to be reported to out.
func (w *World) step(out []completion) ([]completion, error) {
	w.drain()
	out = append(out, w.failedStarts...)
	w.failedStarts = w.failedStarts[:0]
	out, err := w.test(out)
	if err != nil {
		return out, err
	}
	kept := w.listeners[:0]
	for i, l := range w.listeners {
		for range 16 { // then the others
			if l.dead {
				break
			}
			m, err := l.c.improbe(l.source, l.tag)
			if err != nil {
				kept = append(kept, w.listeners[i:]...) // out has the ones before that have stopped
				clear(w.listeners[len(kept):])
				w.listeners = kept
				return out, err
			}
			if m == nil {
				break
			}
			l.dead = l.once
			out = append(out, completion{l: l, m: m})
		}
		if l.dead {
			out = append(out, completion{l: l})
		} else {
			kept = append(kept, l)
		}
	}
	clear(w.listeners[len(kept):])
	w.listeners = kept
	return out, nil
}

// test adds the requests that have ended to out.
func (w *World) test(out []completion) ([]completion, error) {
	a, l := &w.active, w.lib
	if len(a.reqs) == 0 {
		return out, nil
	}
	code := int32(dynlib.Call(l.testsome, uintptr(len(a.reqs)), uintptr(a.slot(l, 0)), uintptr(unsafe.Pointer(&w.ended)),
		uintptr(unsafe.Pointer(&a.indices[0])), uintptr(unsafe.Pointer(&a.statuses[0]))))
	inStatus := false
	if code != 0 {
		err := l.error("MPI_Testsome", -1, code)
		if e, ok := err.(*Error); !ok || e.Class != l.errInStatus {
			return out, err
		}
		inStatus = true
	}
	n := int(w.ended)
	if n <= 0 { // 0, or MPI_UNDEFINED
		return out, nil
	}
	for k := range n {
		i, s := int(a.indices[k]), unsafe.Add(unsafe.Pointer(&a.statuses[0]), uintptr(k)*l.statusBytes)
		out = append(out, w.completion(a.reqs[i], s, inStatus))
		a.reqs[i] = nil
	}
	kept := 0
	for i, r := range a.reqs { // in their order, which is that of completions in one round
		if r != nil {
			if i != kept {
				a.reqs[kept] = r
				l.store(a.slot(l, kept), l.fetch(a.slot(l, i)))
			}
			kept++
		}
	}
	clear(a.reqs[kept:])
	a.reqs = a.reqs[:kept]
	return out, nil
}

// completion reads the status of a request that has ended.
func (w *World) completion(r *Request, s unsafe.Pointer, inStatus bool) completion {
	l, c := w.lib, completion{r: r}
	if inStatus {
		c.err = l.error(r.name, r.peer, *(*int32)(unsafe.Add(s, l.errorAt)))
	}
	if r.kind != receiving && r.kind != matched {
		return c
	}
	if r.cancelled {
		flag := new(int32)
		if dynlib.Call(l.testCancelled, uintptr(s), uintptr(unsafe.Pointer(flag))) == 0 && *flag != 0 {
			c.err = ErrCancelled
			return c
		}
	}
	c.status = l.status(s, c.err == nil)
	return c
}

// deliver reports what has ended, without the turn.
func (w *World) deliver(list []completion) {
	if len(list) == 0 {
		return
	}
	defer w.markThread()()
	for i, c := range list {
		switch {
		case c.r != nil:
			c.r.finish(c.status, c.err)
			w.requestEnded(c.r)
		case c.m != nil:
			c.l.handle(c.m)
		default:
			close(c.l.stopped)
		}
		list[i] = completion{}
	}
}

// How long the driving goroutine waits between polls once nothing has happened for Options.Spin:
// from the first to the second, or to the third while there is nothing to wait for. MPI moves data only in
// calls, so that it is never left alone altogether.
//
// spinTime is what Options.Spin is by default. It is longer than the longest nap, which systems round up to more than 1 ms: two
// ranks that polled for 1 ms took turns to sleep, each until after the other one had stopped polling, and a hop of a chain of tasks
// took 50 µs instead of 20.
const (
	spinTime = 3 * time.Millisecond
	firstNap = 20 * time.Microsecond
	longNap  = time.Millisecond
	idleNap  = 10 * time.Millisecond
	// spinPolls is how many polls come before a look at the clock and a call that lets other threads of the machine go first: both take longer than a
	// poll. A message of 8 bytes between two cores took 6.5 to 10 µs with 1, 4.5 to 6.8 with 8 and 3.7 to 3.9 with 32; between two ranks on one core it took 49, 59 and 75 µs.
	spinPolls = 8
)

// drive polls until told to stop, or until the world has failed.
func (w *World) drive() {
	d := driver{w: w, polls: 1, last: time.Now(), nap: firstNap, seen: w.commandCount.Load(), timer: time.NewTimer(time.Hour)}
	defer d.timer.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-w.failed:
			return
		default:
		}
		for range d.polls {
			if err := d.poll(); err != nil {
				w.fail(err)
				return
			}
			runtime.Gosched() // a rank that is bound to a core has one processor for all goroutines
		}
		if time.Since(d.last) < w.spin {
			yield()
			d.polls = spinPolls
			continue
		}
		d.sleep()
		d.polls = 1
	}
}

// driver is the state of the driving goroutine.
type driver struct {
	w       *World
	out     []completion
	pending bool      // there is something to wait for
	polls   int       // before the next look at the clock, and at whether w has ended
	last    time.Time // when something happened
	nap     time.Duration
	seen    uint64 // commands at that time
	timer   *time.Timer
}

// poll asks MPI once, unless another goroutine does, and reports what has ended.
func (d *driver) poll() (err error) {
	w := d.w
	d.pending = true
	if w.turn.CompareAndSwap(false, true) {
		d.out, err = w.step(d.out[:0])
		w.polls.Add(1)
		d.pending = w.users.Load() > 0 || len(w.listeners) > 0
		w.turn.Store(false)
	}
	w.deliver(d.out)
	if count := w.commandCount.Load(); len(d.out) > 0 || count != d.seen {
		d.last, d.nap, d.seen = time.Now(), firstNap, count
	}
	d.out = d.out[:0]
	return err
}

// sleep waits for a nap, or less if a command comes or w ends.
func (d *driver) sleep() {
	w := d.w
	most := longNap
	if !d.pending {
		most = idleNap
	}
	w.asleep.Store(true)
	if w.commandCount.Load() == d.seen && w.queued.Load() == 0 {
		d.timer.Reset(min(d.nap, most))
		select {
		case <-w.wake:
		case <-d.timer.C:
		case <-w.stop:
		case <-w.failed:
		}
	}
	w.asleep.Store(false)
	d.nap = min(2*d.nap, most)
}

// end refuses all further commands and ends everything that is still under way with err. MPI may go on
// to write to the memory of receives, so that all of it stays as it is for ever.
func (w *World) end(err error) {
	defer w.markThread()()
	w.queue.Lock()
	w.queue.closed = err
	w.queue.Unlock()
	for !w.turn.CompareAndSwap(false, true) {
		time.Sleep(firstNap) // a caller starts its operation
	}
	w.drain()
	for _, c := range w.failedStarts {
		c.r.finish(Status{}, c.err)
		w.requestEnded(c.r)
	}
	abandoned.Lock()
	abandoned.requests = append(abandoned.requests, w.active.reqs...)
	abandoned.Unlock()
	reqs := w.active.reqs
	w.active, w.failedStarts = active{}, nil
	for _, r := range reqs {
		r.end(Status{}, err)
		w.requestEnded(r)
	}
	for _, l := range w.listeners {
		close(l.stopped)
	}
	w.listeners = nil
	w.turn.Store(false)
}

// abandoned keeps requests whose memory MPI may still use.
var abandoned struct {
	sync.Mutex
	requests []*Request
}
