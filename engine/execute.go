package engine

// How a worker runs one task: its buffers, its kernel, its end.

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
)

// run runs a task that the policy gave out.
func (w *worker) run(t *task) {
	if w.c.Late() {
		w.finishLate(t)
	}
	// Publish the task, then read the state of its data. An unordered access sets the state,
	// then looks for published tasks: one of the two sees the other (Handshakes in
	// datamgr/merge.go).
	w.pub.Begin(&t.Waiter, w.c)
	j := t.job
	if w.job != j { // a wait for the other job must not last until this task ends
		w.flush()
		w.job = j
	}
	if t.general || t.Order <= j.cancelled.Load() || w.arch != cpuArch {
		w.runGeneral(t)
		w.drain()
		return
	}
	w.tc.reset(t, w)
	commutes := false
	if !w.rt.reg.Unchanged(&t.Waiter) {
		var done bool
		if commutes, done = w.prepare(t); done {
			return
		}
	}
	if w.rt.opt.Poison {
		w.poison(t)
	}
	var err error
	// callBare relies on worker.loop, which a Sequential runtime does not run.
	if w.rt.hasListeners() || j.timed.Load() || w.lookahead != nil || w.rt.opt.Sequential {
		err = w.kernel(t, t.codelet.CPU[0], 0)
	} else {
		err = w.callBare(t.codelet.CPU[0])
	}
	if err != nil {
		t.extend()
		w.fail(t, err)
		w.drain()
		return
	}
	if commutes {
		t.lockPlace().ReleaseSingle(w.c)
	}
	switch {
	case t.nacc == 0:
	case t.nacc == 1 && t.member():
		w.c.FinishMember(&t.acc[0])
	default:
		w.c.Finish(t.accesses())
	}
	w.recycle(t)
	w.count(j)
	if w.c.Released() {
		w.dispatch()
	}
	if len(w.light) > 0 {
		w.drain()
	}
}

// finishLate ends the accesses that were left to be ended later, unless t, which
// runs next, is a member of the same group.
func (w *worker) finishLate(t *task) {
	if !t.general && t.nacc == 1 && w.c.LateFor(&t.acc[0]) {
		return
	}
	w.c.FinishLate()
	w.drain()
	w.share()
}

// member reports whether t, which is plain and has one access, shares its data
// with others.
func (t *task) member() bool {
	m := t.ops[0].Mode
	return t.nops == 1 && (m == iface.R || m == iface.Commute || m == iface.Redux)
}

// prepare does what a plain task needs before its kernel: memory that does not
// exist yet, private copies, its lock. commutes says that it has the lock; done,
// that it was run in the general way instead, or waits for the lock.
func (w *worker) prepare(t *task) (commutes, done bool) {
	ops := t.operands()
	var state datamgr.State
	own := true
	for i := range ops {
		switch op := &ops[i]; op.Mode {
		case iface.Redux:
			own = w.own >= 0 // else the contribution is to be given back
		case iface.Scratch:
		case iface.Commute:
			commutes = true
			fallthrough
		default:
			state |= managed(op.Handle).State()
		}
	}
	ok := own && w.node == 0 && !w.rt.limited && (state == 0 || state.OnlyLazy())
	if ok && commutes && !t.lockPlace().AcquireSingle(w.c) {
		w.pub.End(w.c) // t may run elsewhere by now
		w.drain()
		return false, true
	}
	k := 0
	for i := range ops {
		if !ok {
			break
		}
		var err error
		switch op := &ops[i]; op.Mode {
		case iface.Scratch:
			err = w.preparePrivate(k, i, op)
			k++
		case iface.Redux:
			if !managed(op.Handle).Contributes(w.own, &w.tc.bufs[i]) {
				err = w.contribute(t, i)
			}
			w.tc.set[i] = true
		default:
			if state != 0 {
				err = managed(op.Handle).PrepareMain()
			}
		}
		ok = err == nil // else the general way meets the error again, and says so
	}
	if !ok {
		w.runGeneral(t)
		w.drain()
	}
	return commutes, !ok
}

// kernel calls fn, implementation impl, as the kernel of t; the buffers that are not plain are filled in.
func (w *worker) kernel(t *task, fn Impl, impl int) error {
	j := t.job
	if w.rt.hasListeners() {
		w.rt.event(TaskStarted, t, w.id, nil)
	}
	var err error
	if !j.timed.Load() {
		err = w.call(t, fn)
	} else {
		err = w.timed(t, fn, impl)
	}
	if err == nil && !w.collects(t) {
		if w.rt.hasListeners() {
			w.done(t)
		}
	}
	return err
}

// collects reports whether something of t is still to be done when its kernel has
// returned on a device: bringing its contributions to main memory.
func (w *worker) collects(t *task) bool { return w.node > 0 && t.general && len(t.x.redux) > 0 }

// done tells that t has succeeded. The caller checks first that there is a listener.
func (w *worker) done(t *task) { w.rt.event(TaskDone, t, w.id, nil) }

// call calls fn as the kernel of t, and returns when it and what it has begun on the worker's
// stream have ended.
func (w *worker) call(t *task, fn Impl) error {
	switch {
	case w.stream != nil:
		return w.callOnDevice(t, fn)
	case w.lookahead != nil:
		w.begins()
		defer w.ends()
	}
	return callKernel(fn, &w.tc, func(err error) { w.exit(t, err) })
}

// exit fails t, because its kernel, or a function called for it, ends the worker's goroutine.
func (w *worker) exit(t *task, err error) {
	t.extend()
	w.running.Store(nil)
	w.fail(t, err)
	w.rest()
}

// runGeneral runs a task that may need locks, copies or private buffers, or
// must not run at all.
func (w *worker) runGeneral(t *task) {
	ops := t.operands()
	plain := !t.general
	if plain && t.marks&hasLock != 0 {
		t.lockPlace().ReleaseSingle(w.c)
	}
	x := t.extend()
	if len(w.queued) > 0 && !w.mayQueue(t) {
		w.drainQueue()
	}
	if t.kind == specialTask {
		w.runSpecial(t)
		return
	}
	for i := range ops {
		x.needLocks = x.needLocks || plain && ops[i].Mode == iface.Commute
	}
	if x.needLocks || t.state().Locks() {
		if !x.locks.Acquire(ops, x.allUnordered, w.c) {
			w.pub.End(w.c) // t may run elsewhere by now
			return
		}
	}
	if t.kind != userTask {
		w.runInternal(t)
		return
	}
	if w.refused(t) {
		return
	}
	w.assemble(t) // before anything that others wait for, locks apart
	datamgr.Mend(ops)
	given := w.rt.memoryWaiters.given.Load()
	if len(w.queued) == 0 || !x.place.PrepareThere(w.node, ops) {
		w.drainQueue() // a worker that waits for memory must hold none
		if err := w.placeOperands(t); err != nil {
			w.cannotRun(t, given, err)
			return
		}
	}
	if w.rt.profile != nil {
		w.rt.profile.fetched(t)
	}
	w.tc.reset(t, w)
	if err := w.preparePrivates(t); err != nil {
		w.cannotRun(t, given, err)
		return
	}
	x.place.Begin()
	if w.rt.nodes > 1 {
		x.started = true
		datamgr.Withdraw(ops, w.rt.when(t))
	}
	if w.rt.opt.Poison && w.node == 0 {
		w.poison(t)
	}
	w.runBody(t)
}

// Kernels: what they see, and how they are called.

// TaskContext gives a kernel access to its task. It is valid until the kernel returns, on
// the kernel's goroutine and those it started and awaited.
type TaskContext struct {
	t    *task
	w    *worker
	bufs []iface.Buffer
	set  []bool // bufs[i] is filled in
	part *part  // of a parallel task
	keep any    // what kernels leave for those that come later
}

// NumBuffers returns the number of operands.
func (c *TaskContext) NumBuffers() int { return c.t.numOperands() }

// Buffer returns operand i, counted from 0. The memory is valid until the kernel
// returns. Operands that share elements share memory.
func (c *TaskContext) Buffer(i int) *iface.Buffer {
	b := &c.bufs[i]
	if !c.set[i] {
		c.set[i] = true
		h := c.t.operands()[i].Handle
		if c.t.general {
			c.t.x.place.Buffer(i, h, b)
		} else {
			managed(h).Fill(b)
		}
	}
	return b
}

// Node returns the memory node where operand i is: that of the worker, unless the
// task pinned it.
func (c *TaskContext) Node(i int) int {
	if n, ok := c.t.operands()[i].Pin.Node(); ok {
		return n
	}
	return c.w.node
}

// Mode returns the access mode of operand i.
func (c *TaskContext) Mode(i int) iface.AccessMode { return c.t.operands()[i].Mode }

// Args returns the scalar arguments. The slice belongs to the task.
func (c *TaskContext) Args() []iface.Scalar { return c.t.arguments() }

// Arg returns scalar argument i, counted from 0.
func (c *TaskContext) Arg(i int) iface.Scalar { return c.t.arguments()[i] }

// Stream returns the stream of the device that runs the kernel, on which an
// implementation of Codelet.On begins its work; nil on the CPU. It is of the type
// that the device's driver says.
func (c *TaskContext) Stream() accel.Stream { return c.w.stream }

// Worker returns the number of the worker that runs the kernel: 0 to
// Runtime.Workers()-1. At most one kernel runs on a worker at a time, besides one that
// gave way for a second (GiveWay).
func (c *TaskContext) Worker() int { return c.w.id }

// Keep returns where the kernels of a worker keep something for those that run
// there later, such as scratch memory: it is nil, or what another kernel left. It
// may be lost between two tasks.
func (c *TaskContext) Keep() *any { return &c.keep }

// Context ends when the task's job is cancelled. Long kernels should look at it.
func (c *TaskContext) Context() context.Context { return c.t.job.kernelContext(c.t.Order) }

// Codelet returns the codelet of the task.
func (c *TaskContext) Codelet() *Codelet { return c.t.codelet }

// TaskID returns the number of the task in its job, from 1.
func (c *TaskContext) TaskID() int64 { return c.t.Order }

// Task returns the handle of the task, or nil for a task that was submitted without one
// (Submit).
func (c *TaskContext) Task() *Task {
	if c.t.general {
		return c.t.x.public
	}
	return nil
}

// Name returns the name the task was given, "" for none.
func (c *TaskContext) Name() string { return c.t.name() }

// reset makes c the context of t, with no buffer filled in.
func (c *TaskContext) reset(t *task, w *worker) {
	c.t, c.w = t, w
	n := t.numOperands()
	if cap(c.bufs) < n {
		c.bufs, c.set = make([]iface.Buffer, max(n, 8)), make([]bool, max(n, 64)) // a cache line of their own
	}
	c.bufs, c.set = c.bufs[:n], c.set[:n]
	clear(c.set)
}

// goexitError is the panic value reported for a kernel that ended its goroutine instead
// of returning.
type goexitError struct{}

func (goexitError) Error() string {
	return "the kernel ended its goroutine (runtime.Goexit, or t.FailNow in a test)"
}

// callKernel runs fn. It returns a panic of fn as a *PanicError. When fn ends the goroutine,
// it calls exit, and the goroutine goes on ending. It must not be inlined, and calls fn
// in one place: inKernel looks for that place on the stack.
//
//go:noinline
func callKernel(fn Impl, c *TaskContext, exit func(error)) (err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			err = newPanic(v)
		} else if exit != nil {
			exit(goexitError{})
		}
	}()
	err = fn(c)
	returned = true
	if err != nil {
		err = sound(err)
	}
	return err
}

// sound calls the methods of err, which a kernel or a hook returned, and returns err. If one
// of them panics, as those of a nil pointer may, sound returns a PanicError instead: later
// calls come from goroutines where a panic would end the program.
func sound(err error) (is error) {
	defer func() {
		if v := recover(); v != nil {
			is = newPanic(v)
		}
	}()
	_ = err.Error()
	_ = errors.Is(err, context.Canceled) // Is and Unwrap of all that it wraps
	return err
}

// callBare runs fn, the kernel of a plain task, without a defer: worker.loop does what
// callKernel does about a kernel that panics or ends the goroutine. That makes a task without
// data a tenth faster. It must not be inlined either.
//
//go:noinline
func (w *worker) callBare(fn Impl) error {
	w.inBareCall = true
	err := fn(&w.tc)
	w.inBareCall = false
	if err != nil {
		err = sound(err)
	}
	return err
}

// kernelPCs are where callKernel and callBare call the kernel.
var kernelPCs = func() (at [2]uintptr) {
	look := func(pc *uintptr) Impl {
		return func(*TaskContext) error {
			var pcs [3]uintptr
			runtime.Callers(1, pcs[:]) // this function, then its caller
			*pc = pcs[1]
			return nil
		}
	}
	_ = callKernel(look(&at[0]), nil, nil)
	_ = new(worker).callBare(look(&at[1]))
	return at
}()

// inKernel reports whether the caller was called by a kernel, on any runtime.
func inKernel() bool { return onStack(kernelPCs[:]...) }

// onStack reports whether a call made at one of these places is on the caller's stack.
func onStack(where ...uintptr) bool {
	var pcs [256]uintptr
	for skip := 2; ; skip += len(pcs) {
		n := runtime.Callers(skip, pcs[:])
		for _, pc := range pcs[:n] {
			if slices.Contains(where, pc) {
				return true
			}
		}
		if n < len(pcs) {
			return false
		}
	}
}

// InKernel reports whether the caller runs inside a kernel or a hook: there calls
// that wait return ErrWouldDeadlock. It costs a look at the caller's stack while
// kernels of rt run.
func (rt *Runtime) InKernel() bool { return rt.mayBeInKernel() }

// mayBeInKernel is inKernel, for calls on rt: cheap while no kernel runs.
func (rt *Runtime) mayBeInKernel() bool {
	if rt.hooks.Load() > 0 {
		return inKernel()
	}
	return rt.anyWorker(func(w *worker) bool { return w.runs(nil) }) && inKernel()
}

// newPanic makes an error of what recover returned.
func newPanic(v any) *PanicError { return &PanicError{Value: v, Stack: string(debug.Stack())} }
