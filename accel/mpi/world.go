package mpi

// The world: all ranks that a launcher started together.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/starpush/starpush/accel/dynlib"
)

// ThreadLevel says which threads may call the MPI library.
type ThreadLevel int

// The levels of MPI.
const (
	Single     ThreadLevel = iota // there is only one
	Funneled                      // the one that initialised it
	Serialized                    // all, one at a time
	Multiple                      // all
)

func (l ThreadLevel) String() string {
	if l < Single || l > Multiple {
		return fmt.Sprintf("level %d", int(l))
	}
	return [...]string{"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"}[l]
}

// Options are settings of Init; the zero value is right for most programs.
type Options struct {
	// Spin is how long the goroutine that drives MPI polls after something has happened, before it
	// sleeps between polls: 0 is 3 ms, and a negative time none. Meanwhile it lets other goroutines and threads of its core go
	// first. Longer is faster where messages follow each other slowly, and takes time from kernels.
	Spin time.Duration
	// Silence is how long a rank may be silent before it counts as lost: 0 is 30 s, a
	// negative time for ever, and the shortest time is 500 ms. Ranks send each other beats all the time, also while
	// kernels run. A function passed to OnDone or Listen that does not return delays them: after
	// this time the rank itself reports that it is lost.
	Silence time.Duration
	// Threads is the level to ask for, Multiple if it is 0. More than Funneled is faster.
	Threads ThreadLevel

	small bool // for tests: counts are small, so that messages of some kilobytes are large
}

// World is what MPI_COMM_WORLD is: the ranks that were started together. Its methods are safe for
// concurrent use.
type World struct {
	lib    *Library
	rank   int
	size   int
	tagUB  int
	thread ThreadLevel
	spin   time.Duration
	comm   *Comm // of the user
	inner  *Comm // of the package

	maxCount, block int  // bytes of one count, and of an element of the types for more
	noLarge         bool // for tests: as with a library before MPI 4

	progress
	processes []process
	quiet     chan struct{} // gets an element when no request of users is left

	stop    chan struct{} // ends drive; finalise says how
	stopped chan struct{} // closed by the driving goroutine at its end
	failed  chan struct{} // closed when the world fails
	isOver  atomic.Bool   // one of stop and failed is closed, or will be at once
	monitor *monitor

	mu struct {
		sync.Mutex
		finalise  bool
		err       error
		finalised error // of MPI_Finalize
	}
	closeOnce sync.Once
	closed    error // what Close returns, owned by closeOnce
}

// initialised is set by the first Init: MPI is initialised once in a process.
var initialised struct {
	sync.Mutex
	done bool
}

// ErrTwice is the error of a second Init: MPI starts once in a process, even after it was closed.
var ErrTwice = errors.New("mpi: MPI was initialised before in this process, which is possible once only")

// Init initialises MPI, which every rank has to do. It starts the goroutine that drives MPI, which keeps
// an operating system thread, and ends with Close. If ctx ends before the other ranks have come, the error is that of
// ctx, and the process can only exit.
//
// A library that grants no more than MPI_THREAD_FUNNELED works, with more latency: all of its
// functions are called from that one thread. One that grants MPI_THREAD_SINGLE is an error.
func Init(ctx context.Context, o Options) (*World, error) {
	lib, err := Open()
	if err != nil {
		return nil, err
	}
	initialised.Lock()
	if initialised.done {
		initialised.Unlock()
		return nil, ErrTwice
	}
	initialised.done = true
	initialised.Unlock()
	w := &World{lib: lib, spin: o.Spin, maxCount: maxCount, block: block,
		quiet: make(chan struct{}, 1), stop: make(chan struct{}), stopped: make(chan struct{}), failed: make(chan struct{})}
	if o.small {
		w.maxCount, w.block, w.noLarge = 1000, 256, lib.family == openMPI // what counts in 64 bits is part of the interface in MPI 4
	}
	w.wake = make(chan struct{}, 1)
	if w.spin == 0 {
		w.spin = spinTime
	}
	if o.Threads == 0 {
		o.Threads = Multiple
	}
	ready := make(chan error, 1)
	go w.driveThread(o.Threads, ready)
	select {
	case err = <-ready:
	case <-ctx.Done():
		return nil, fmt.Errorf("MPI_Init_thread: %w: not all ranks have called it", ctx.Err())
	}
	if err != nil {
		return nil, err
	}
	w.monitor = newMonitor(w, o.Silence)
	return w, nil
}

// driveThread initialises and finalises MPI, which is the matter of one thread, and starts the goroutine that drives it between. That one
// has no thread of its own where MPI lets any thread call it: the scheduler of Go changes threads, twice, whenever a goroutine with a thread
// lets others go first. A message to and fro took 21 µs with it on a rank with one processor.
func (w *World) driveThread(threads ThreadLevel, ready chan<- error) {
	runtime.LockOSThread()
	defer close(w.stopped)
	if err := w.initialise(threads); err != nil {
		ready <- err
		return
	}
	ready <- nil
	if w.thread >= Serialized {
		driven := make(chan struct{})
		go func() { defer close(driven); w.drive() }()
		<-driven
	} else {
		w.drive()
	}
	err := w.Err()
	if err == nil {
		err = ErrClosed
	}
	w.end(err)
	w.mu.Lock()
	finalise := w.mu.finalise && w.mu.err == nil
	w.mu.Unlock()
	if finalise {
		err := w.lib.error("MPI_Finalize", -1, int32(dynlib.Call(w.lib.finalize)))
		w.mu.Lock()
		w.mu.finalised = err
		w.mu.Unlock()
	}
}

func (w *World) initialise(threads ThreadLevel) error {
	l := w.lib
	var flag, provided, rank, size int32
	if dynlib.Call(l.initialized, uintptr(unsafe.Pointer(&flag))); flag != 0 {
		return ErrTwice
	}
	signals := saveSignals()
	code := int32(dynlib.Call(l.initThread, 0, 0, uintptr(threads), uintptr(unsafe.Pointer(&provided))))
	signals.restore()
	if err := l.error("MPI_Init_thread", -1, code); err != nil {
		return err
	}
	w.thread = ThreadLevel(provided)
	if w.thread < Funneled {
		return fmt.Errorf("mpi: %s grants %v, and a Go program needs MPI_THREAD_FUNNELED: install a build of it with threads", l, w.thread)
	}
	w.thread = min(w.thread, threads) // it may grant more than was asked for
	// MPI 4 reports errors that belong to no communicator to MPI_COMM_SELF, MPI 3 to MPI_COMM_WORLD.
	for _, c := range []handle{l.world, l.self} {
		if err := w.returnErrors(c); err != nil {
			return err
		}
	}
	if err := l.error("MPI_Comm_rank", -1, int32(dynlib.Call(l.commRank, l.world, uintptr(unsafe.Pointer(&rank))))); err != nil {
		return err
	}
	if err := l.error("MPI_Comm_size", -1, int32(dynlib.Call(l.commSize, l.world, uintptr(unsafe.Pointer(&size))))); err != nil {
		return err
	}
	w.rank, w.size = int(rank), int(size)
	if err := mismatch(l, os.Getenv, w.size); err != nil {
		return err
	}
	var value *int32
	code = int32(dynlib.Call(l.commGetAttr, l.world, l.tagUB, uintptr(unsafe.Pointer(&value)), uintptr(unsafe.Pointer(&flag))))
	if err := l.error("MPI_Comm_get_attr", -1, code); err != nil {
		return err
	}
	if w.tagUB = 32767; flag != 0 && value != nil { // what the standard promises
		w.tagUB = int(*value)
	}
	for _, c := range []**Comm{&w.comm, &w.inner} {
		cell := new(uint64)
		if err := l.error("MPI_Comm_dup", -1, int32(dynlib.Call(l.commDup, l.world, uintptr(unsafe.Pointer(cell))))); err != nil {
			return err
		}
		*c = &Comm{w: w, h: l.fetch(unsafe.Pointer(cell))}
		if err := w.returnErrors((*c).h); err != nil {
			return err
		}
	}
	return w.introduce()
}

// mismatch returns an error if the launcher has started more processes than the library knows
// of: a launcher and a library that do not belong together make n worlds of one rank each.
func mismatch(l *Library, getenv func(string) string, size int) error {
	launch, f, ok := launched(getenv)
	if !ok || launch.Size < 0 || launch.Size == size {
		return nil
	}
	what := fmt.Sprintf("set %s to the library that belongs to the launcher", LibraryVariable)
	if f != "" && f != l.family {
		what = fmt.Sprintf("install the library of %s, or start the program with the mpirun of %s", f, l.family)
	}
	return fmt.Errorf("mpi: %s started %d processes, but %s makes a world of %d: %s", launch.Launcher, launch.Size, l, size, what)
}

// returnErrors makes functions return errors instead of ending the program.
func (w *World) returnErrors(comm handle) error {
	return w.lib.error("MPI_Comm_set_errhandler", -1, int32(dynlib.Call(w.lib.commSetErrhandler, comm, w.lib.errorsReturn)))
}

// Rank returns the number of this process, from 0.
func (w *World) Rank() int { return w.rank }

// Size returns the number of ranks.
func (w *World) Size() int { return w.size }

// TagUB returns the largest tag.
func (w *World) TagUB() int { return w.tagUB }

// Threads returns the level of threads that is used.
func (w *World) Threads() ThreadLevel { return w.thread }

// Library returns the library.
func (w *World) Library() *Library { return w.lib }

// Comm returns the communicator for the program, a duplicate of MPI_COMM_WORLD.
func (w *World) Comm() *Comm { return w.comm }

// Failed returns a channel that is closed when the world fails, because a rank is lost or the
// library does not work any more. All requests then end with the error, as soon as the library and functions passed to
// OnDone and Listen have returned, and the memory of those that were under way stays pinned for ever. A
// library may never return from a call that needs the lost rank, so that the program should not wait for requests, but
// report the error and call Abort.
func (w *World) Failed() <-chan struct{} { return w.failed }

// Err returns why the world has failed, most often a [LostError], and nil while it has not.
func (w *World) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.err
}

// fail makes the world fail, once.
func (w *World) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mu.err == nil {
		w.mu.err = err
		w.isOver.Store(true)
		close(w.failed)
	}
}

const (
	abortTime = 5 * time.Second // how long Abort waits for the library
	// Launchers forget output that they have not passed on when they end the ranks.
	outputTime = 200 * time.Millisecond
	failedTime = time.Second // how long Close waits for the goroutines of a world that has failed
)

// Abort ends all ranks, through the launcher, and this process with the exit code, without
// deferred functions. It waits for nothing but, shortly, for the launcher to pass on what this
// process has written, and does not return.
func (w *World) Abort(code int) {
	w.fail(fmt.Errorf("mpi: the program called Abort(%d)", code))
	time.Sleep(outputTime)
	go func() {
		for range 100 { // for the turn; a thread that hangs in the library never gives it up
			if w.turn.CompareAndSwap(false, true) {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		dynlib.Call(w.lib.abort, w.lib.world, uintptr(code))
		os.Exit(code)
	}()
	time.Sleep(abortTime)
	os.Exit(code)
}

// Close ends the use of MPI, which every rank has to do. It withdraws receives that have no
// message and stops listeners, waits for the other operations, then for all ranks to come to Close, and
// finalises MPI. Later calls wait for the first and return the same. If ctx ends before, or the world
// has failed, MPI is left as it is, the error says why, and the process can only exit. A function passed to
// OnDone or Listen must not call Close, which returns an error there.
func (w *World) Close(ctx context.Context) error {
	if w.inDriver() {
		return errors.New("mpi: Close: a function passed to OnDone or Listen cannot call it: call it from another goroutine")
	}
	w.closeOnce.Do(func() { w.closed = w.close(ctx) })
	return w.closed
}

func (w *World) close(ctx context.Context) error {
	err := w.settle(ctx)
	if late := w.monitor.end(ctx); err == nil {
		err = late
	}
	w.mu.Lock()
	if err == nil {
		err = w.mu.err
	}
	w.mu.finalise = err == nil
	w.mu.Unlock()
	w.isOver.Store(true)
	close(w.stop)
	if late := w.await(ctx, w.stopped); err == nil {
		err = late
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch { // the world may have failed since
	case err != nil:
		return err
	case w.mu.err != nil:
		return w.mu.err
	}
	return w.mu.finalised
}

// await waits until a goroutine of the world has ended, which it cannot do inside the library. So await gives up when ctx
// ends, and a while after the world has failed.
func (w *World) await(ctx context.Context, ended <-chan struct{}) error {
	select {
	case <-ended:
		return nil
	case <-w.failed:
	case <-ctx.Done():
		return busyError(ctx)
	}
	select {
	case <-ended:
	case <-time.After(failedTime):
	case <-ctx.Done():
	}
	return w.Err()
}

// busyError is the error of Close if ctx has ended and the driving goroutine does not react.
func busyError(ctx context.Context) error {
	return fmt.Errorf("mpi: Close: %w: a call of the MPI library, or a function passed to OnDone or Listen, has not returned", ctx.Err())
}

// settle brings all ranks to the point where they can finalise.
func (w *World) settle(ctx context.Context) error {
	err := w.run(ctx, func() error {
		w.closing = true
		for _, l := range w.listeners {
			l.dead = true
		}
		for i, r := range w.active.reqs {
			if r.kind == receiving && !r.inner && !r.cancelled {
				r.cancelled = true
				dynlib.Call(w.lib.cancel, uintptr(w.active.slot(w.lib, i)))
			}
		}
		return nil
	})
	if err != nil {
		if err == ctx.Err() {
			return busyError(ctx)
		}
		return err
	}
	for w.users.Load() > 0 {
		select {
		case <-w.quiet:
		case <-w.failed:
			return w.Err()
		case <-ctx.Done():
			return fmt.Errorf("mpi: Close: %w: operations are still under way", ctx.Err())
		}
	}
	r := &Request{w: w, name: "MPI_Ibarrier", kind: collective, peer: -1, inner: true}
	r.post = func(slot unsafe.Pointer) int32 { return int32(dynlib.Call(w.lib.ibarrier, w.inner.h, uintptr(slot))) }
	select {
	case <-w.start(r).Done():
		if _, err, _ := r.Result(); err != nil {
			return err
		}
	case <-w.failed:
		return w.Err()
	case <-ctx.Done():
		return fmt.Errorf("mpi: Close: %w: not all ranks have called it", ctx.Err())
	}
	return w.monitor.farewell(ctx)
}
