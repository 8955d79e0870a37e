package mpi

// The goroutine that drives MPI, and the turn to call the library.

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/starpush/starpush/accel/dynlib"
)

// progress is what the driving goroutine, other pollers and callers share.
//
// All calls of the library are made by the holder of the turn, one at a time: polling from one thread
// while others start operations would make them wait for the locks of the library, and less than
// MPI_THREAD_MULTIPLE is enough. If the turn is free a caller takes it and carries out its command
// itself, without waking a thread; otherwise it queues the command, and the holder of the turn
// carries it out when it gives the turn up. With MPI_THREAD_FUNNELED only the driving goroutine takes the turn, also
// where a function that it calls submits a command.
//
// The goroutine that polled gives the turn up to report what has ended, so that functions of users may start operations. No other one polls meanwhile.
type progress struct {
	turn         atomic.Bool
	reporting    atomic.Bool   // a goroutine reports what has ended; set by the holder of the turn, for ever once the world has ended
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
	ended     error // why there are no more commands, as queue.closed
	active    active
	listeners []*listener
	closing   bool  // users start nothing any more
	outcount  int32 // of MPI_Testsome
	caller    dynlib.Caller
	probed    struct {
		message uint64
		status  [4]uint64
		flag    int32
	}
	spare        []command
	failedStarts []completion // of operations that could not be started

	users atomic.Int64 // requests of users that have not ended
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
		w.finish(r, Status{}, err)
	}
	return r
}

// refuse ends an operation that was not started.
func (w *World) refuse(r *Request, err error) *Request {
	r.finish(Status{}, err)
	return r
}

// finish ends a request that was started, and counts it.
func (w *World) finish(r *Request, s Status, err error) {
	inner := r.inner
	r.finish(s, err)
	w.requestEnded(inner)
}

// requestEnded counts a request as ended.
func (w *World) requestEnded(inner bool) {
	if !inner && w.users.Add(-1) == 0 {
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

// inDriver reports whether the caller is a function that was passed to OnDone or Listen, on the goroutine that
// polls.
func (w *World) inDriver() bool { return w.reporting.Load() && onStack(callPC) }

// call calls fn, a function of a user, or finishes a request, which calls such functions. It must not be inlined, and does so in one place:
// inDriver looks for that place on the stack.
//
//go:noinline
func call(fn func()) { fn() }

// callPC is where call calls fn.
var callPC = func() (pc uintptr) {
	call(func() {
		var pcs [3]uintptr
		runtime.Callers(1, pcs[:]) // this function, then call
		pc = pcs[1]
	})
	return pc
}()

// onStack reports whether the goroutine is in a call from pc.
func onStack(pc uintptr) bool {
	var pcs [64]uintptr
	for skip := 2; ; skip += len(pcs) {
		n := runtime.Callers(skip, pcs[:])
		if slices.Contains(pcs[:n], pc) {
			return true
		}
		if n < len(pcs) {
			return false
		}
	}
}

// submit carries out a command if the turn is free, and otherwise queues it.
func (w *World) submit(c command) error {
	defer w.noteCommand()
	if w.thread >= Serialized && w.queued.Load() == 0 && w.turn.CompareAndSwap(false, true) {
		err := w.ended
		if err == nil {
			w.carryOut(c)
		}
		w.turn.Store(false)
		w.carryOutQueue()
		return err
	}
	w.queue.Lock()
	if err := w.queue.closed; err != nil {
		w.queue.Unlock()
		return err
	}
	w.queue.commands = append(w.queue.commands, c)
	w.queued.Add(1)
	w.queue.Unlock()
	if w.thread >= Serialized || w.inDriver() {
		w.carryOutQueue()
	}
	return nil
}

// noteCommand wakes the driving goroutine for a command.
func (w *World) noteCommand() {
	w.commandCount.Add(1)
	if w.asleep.Load() {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// carryOutQueue carries out the queue, unless the holder of the turn does.
func (w *World) carryOutQueue() {
	for w.queued.Load() > 0 && w.turn.CompareAndSwap(false, true) {
		w.drain()
		w.turn.Store(false)
	}
}

// drain carries out the queue, with the turn.
func (w *World) drain() {
	w.queue.Lock()
	commands := w.queue.commands
	w.queue.commands = w.spare[:0]
	w.queue.Unlock()
	w.queued.Add(-int32(len(commands)))
	for i, c := range commands {
		w.carryOut(c)
		commands[i] = command{}
	}
	w.spare = commands[:0]
}

// carryOut carries out a command, with the turn.
func (w *World) carryOut(c command) {
	if c.r != nil {
		w.begin(c.r)
	} else {
		c.to <- c.fn()
	}
}

// begin calls the function of MPI that starts r.
func (w *World) begin(r *Request) {
	a := &w.active
	a.grow(w.lib)
	if w.closing && !r.inner && r.kind != matched {
		r.fail = ErrClosed
	} else if code := r.begin(a.slot(w.lib, len(a.reqs))); code != 0 {
		r.fail = w.lib.error(r.name, r.peer, code)
	}
	if r.fail != nil {
		w.failedStarts = append(w.failedStarts, completion{r: r, err: r.fail})
		return
	}
	a.reqs = append(a.reqs, r)
}

// begin calls the function of MPI that starts r.
func (r *Request) begin(slot unsafe.Pointer) int32 {
	if r.post == nil {
		return r.message.start(r, slot)
	}
	code := r.post(slot)
	r.post = nil
	return code
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
	if w.queued.Load() > 0 {
		w.drain()
	}
	if len(w.failedStarts) > 0 {
		out = append(out, w.failedStarts...)
		clear(w.failedStarts)
		w.failedStarts = w.failedStarts[:0]
	}
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
	code := int32(w.caller.Call(l.testsome, uintptr(len(a.reqs)), uintptr(a.slot(l, 0)), uintptr(unsafe.Pointer(&w.outcount)),
		uintptr(unsafe.Pointer(&a.indices[0])), uintptr(unsafe.Pointer(&a.statuses[0]))))
	inStatus := false
	if code != 0 {
		err := l.error("MPI_Testsome", -1, code)
		if e, ok := err.(*Error); !ok || e.Class != l.errInStatus {
			return out, err
		}
		inStatus = true
	}
	n := int(w.outcount)
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
	call(func() {
		for i, c := range list {
			switch {
			case c.r != nil:
				w.finish(c.r, c.status, c.err)
			case c.m != nil:
				c.l.handle(c.m)
			default:
				close(c.l.stopped)
			}
			list[i] = completion{}
		}
	})
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
	// pauseWhileOthersPoll is how long the driving goroutine pauses while another one polls, which may begin a kernel meanwhile: then a message waits
	// for so long. With one processor the goroutine does not run beside a kernel, and timers of Go are exact while another one polls: a short pause without an alarm took 15 %
	// less of a hop through TCP than one of 200 µs with it.
	pauseWhileOthersPoll = 200 * time.Microsecond
	pauseOnOneProcessor  = 50 * time.Microsecond
	// A call that lets other threads go first takes less than aloneTime if there are none. Then twice as many are left out before the next, up to maxSkip.
	aloneTime = 5 * time.Microsecond
	maxSkip   = 31
)

// drive polls until told to stop, or until the world has failed.
func (w *World) drive() {
	d := newDriver(w)
	defer d.close()
	polls := 1
	for {
		if w.over() {
			return
		}
		for range polls {
			d.poll()
			runtime.Gosched() // a rank that is bound to a core has one processor for all goroutines
		}
		d.known += d.count()
		switch all := w.polls.Load(); {
		case all != d.known || w.reporting.Load(): // another goroutine polls, and what for is not over
			d.known, d.happened = all, true
			polls = 1
			d.pause()
		case d.yieldAndGoOn():
			polls = spinPolls
			d.nap = firstNap
		default:
			d.sleep()
			polls = 1
		}
	}
}

// over reports whether the world has failed, or ends.
func (w *World) over() bool { return w.isOver.Load() }

// Poller lets a goroutine that has nothing else to do poll instead of the goroutine that drives MPI, so that what arrives is reported
// on the former: no other goroutine has to be woken, which takes longer than a short message. It belongs to one goroutine at a time.
type Poller struct {
	w       *World
	out     []completion
	pending bool // there is something to wait for

	happened bool      // something, since last
	last     time.Time // when something had happened at the last look at the clock
	seen     uint64    // commands at that time
	alone    int       // how many calls of yieldAndGoOn do nothing after one that let no other thread run
	skipNext int       // how many of the next calls of yieldAndGoOn do nothing
	steps    uint64    // polls since count
}

// NewPoller returns a poller.
func (w *World) NewPoller() *Poller { return &Poller{w: w, happened: true} }

// Poll asks MPI some times what has ended and arrived, until there is something, and calls the functions passed to OnDone and Listen for that. It
// returns false if it is not worth to call it again soon: nothing has happened for Options.Spin, or since Begin, the world has ended or failed, or the
// library lets no other thread call it. The goroutine that drives MPI pauses while others poll.
func (p *Poller) Poll() bool {
	w := p.w
	if w.thread < Serialized || w.over() {
		return false
	}
	for range spinPolls {
		if p.poll() {
			p.count()
			return true
		}
	}
	p.count()
	return p.yieldAndGoOn()
}

// Begin says that the goroutine was elsewhere, such as in a kernel, and is to poll for Options.Spin from now on.
func (p *Poller) Begin() { p.happened = true }

// yieldAndGoOn returns false once nothing has happened for Options.Spin. It lets other threads of the processor go first, at each call if there are some.
func (p *Poller) yieldAndGoOn() bool {
	if p.skipNext > 0 {
		p.skipNext--
		return true
	}
	began := time.Now()
	if p.happened {
		p.happened, p.last = false, began
	}
	yield()
	now := time.Now()
	if now.Sub(p.last) >= p.w.spin {
		p.alone = 0
		return false
	}
	if p.alone = min(2*p.alone+1, maxSkip); now.Sub(began) > aloneTime {
		p.alone = 0
	}
	p.skipNext = p.alone
	return true
}

// poll asks MPI once, unless another goroutine does, and reports what has ended. It returns true if something
// has happened since the last call.
func (p *Poller) poll() bool {
	w := p.w
	p.pending = true
	if !w.reporting.Load() && w.turn.CompareAndSwap(false, true) {
		if !w.reporting.Load() {
			p.step()
		} else {
			w.turn.Store(false)
			w.carryOutQueue()
		}
	}
	count := w.commandCount.Load()
	happened := len(p.out) > 0 || count != p.seen
	if happened {
		p.happened, p.seen = true, count
		p.out = p.out[:0]
	}
	return happened
}

// step is poll with the turn, which it gives up.
func (p *Poller) step() {
	w := p.w
	var err error
	p.out, err = w.step(p.out)
	p.steps++
	p.pending = w.users.Load() > 0 || len(w.listeners) > 0
	ended := len(p.out) > 0
	if ended {
		w.reporting.Store(true) // with the turn: what others find is reported later
	}
	w.turn.Store(false)
	w.carryOutQueue() // what was queued meanwhile, also by goroutines for which functions of users may wait
	if err != nil {
		w.fail(err)
	}
	if ended {
		w.deliver(p.out)
		w.reporting.Store(false)
	}
}

// count adds the polls since the last call to those of the world, and returns how many there were.
func (p *Poller) count() uint64 {
	n := p.steps
	if n > 0 {
		p.steps = 0
		p.w.polls.Add(n)
	}
	return n
}

// driver is the state of the driving goroutine.
type driver struct {
	*Poller
	known     uint64        // polls of all
	nap       time.Duration // the next one
	timer     *time.Timer
	alarm     *alarm        // for naps below longNap; nil with one processor
	pauseTime time.Duration // how long a pause is while another goroutine polls
}

func newDriver(w *World) *driver {
	d := &driver{Poller: w.NewPoller(), nap: firstNap, timer: time.NewTimer(time.Hour), pauseTime: pauseOnOneProcessor}
	if runtime.GOMAXPROCS(0) > 1 {
		d.alarm, d.pauseTime = newAlarm(), pauseWhileOthersPoll
	}
	return d
}

// close ends the timers of d.
func (d *driver) close() {
	d.timer.Stop()
	d.alarm.close()
}

// pause waits while another goroutine polls.
func (d *driver) pause() { d.wait(d.pauseTime, nil) }

// wait waits for a time, or less if wake gets an element or the world ends. The timer ends a nap in a process with work, where Go looks at
// timers often and at events of the system seldom; the alarm ends one in a process without.
func (d *driver) wait(nap time.Duration, wake <-chan struct{}) {
	var ring <-chan struct{}
	if nap < longNap {
		ring = d.alarm.set(nap)
	}
	d.timer.Reset(nap)
	select {
	case <-wake:
	case <-d.timer.C:
	case <-ring:
	case <-d.w.stop:
	case <-d.w.failed:
	}
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
		d.wait(min(d.nap, most), w.wake)
	}
	w.asleep.Store(false)
	d.nap = min(2*d.nap, most)
}

// end refuses all further commands and ends everything that is still under way with err. MPI may go on
// to write to the memory of receives, so that all of it stays as it is for ever.
func (w *World) end(err error) {
	w.queue.Lock()
	w.queue.closed = err
	w.queue.Unlock()
	for {
		for !w.turn.CompareAndSwap(false, true) {
			time.Sleep(firstNap) // a caller starts its operation
		}
		if w.reporting.CompareAndSwap(false, true) { // for ever
			break
		}
		w.turn.Store(false) // a function of a user has not returned
		time.Sleep(firstNap)
	}
	w.ended = err
	call(func() { w.endAll(err) })
	w.turn.Store(false)
}

// endAll ends with err what is under way. It needs the turn.
func (w *World) endAll(err error) {
	w.drain()
	for _, c := range w.failedStarts {
		w.finish(c.r, Status{}, c.err)
	}
	abandoned.Lock()
	abandoned.requests = append(abandoned.requests, w.active.reqs...)
	abandoned.Unlock()
	reqs := w.active.reqs
	w.active, w.failedStarts = active{}, nil
	for _, r := range reqs {
		r.end(Status{}, err)
		w.requestEnded(r.inner)
	}
	for _, l := range w.listeners {
		close(l.stopped)
	}
	w.listeners = nil
}

// abandoned keeps requests whose memory MPI may still use.
var abandoned struct {
	sync.Mutex
	requests []*Request
}
