package engine

// Kernels: what they see, and how they are called.

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr/iface"
)

// NumBuffers returns the number of operands.
func (c *TaskContext) NumBuffers() int { return c.t.numOperands() }

// Buffer returns operand i, counted from 0. The memory is valid until the kernel
// returns. Operands that share elements share memory.
func (c *TaskContext) Buffer(i int) *iface.Buffer {
	b := &c.bufs[i]
	if !c.set[i] {
		c.set[i] = true
		h := c.t.placedOperands()[i].Handle
		if c.t.general {
			c.t.x.place.Buffer(i, h, b)
		} else {
			managed(h).Fill(b)
		}
	}
	return b
}

// Resize sets the sizes of the content of operand i, which was registered with a capacity
// (DataSpec.Capacity), within that capacity: Buffer(i) has the new sizes from then on, and so
// have later tasks. Elements keep their places; those that the content gains have any values
// until they are written. The operand is the whole of its data, in mode W, RW or COMMUTE. If the
// task fails, or begins again on another worker, the sizes are those from before. Kernels on
// devices and parallel kernels cannot resize. Errors are a *ShapeError; nothing has changed then.
func (c *TaskContext) Resize(i int, dims ...int) error {
	if i < 0 || i >= c.NumBuffers() {
		return &ShapeError{Message: fmt.Sprintf("codelet %s has %d operands; there is no operand %d to resize", c.Codelet().Name, c.NumBuffers(), i)}
	}
	op := &c.t.operands()[i]
	fail := func(err error) error {
		return &ShapeError{Operands: []int{i}, Message: fmt.Sprintf("cannot resize operand %d of %s: %v", i, c.Codelet().Name, err)}
	}
	switch {
	case op.Handle == nil || !c.t.general:
		return fail(errors.New("its size is fixed; register the data with a capacity"))
	case !op.Mode.Writes() || op.Mode == iface.Redux:
		return fail(fmt.Errorf("it is %v in this task; declare it W or RW", op.Mode))
	case c.w.arch != cpuArch:
		return fail(errors.New("the kernel runs on a device; give the codelet an implementation for the CPU"))
	case c.part != nil:
		return fail(errors.New("the kernel runs on several workers; resize in a task of one worker"))
	}
	b := c.Buffer(i)
	if err := managed(op.Handle).Resize(dims, c.t.job, c.t.Order); err != nil {
		return fail(err)
	}
	copy(b.Dim[:b.Rank], dims)
	return nil
}

// place returns which operand b is, one of c.bufs.
func (c *TaskContext) place(b *iface.Buffer) int {
	return int((uintptr(unsafe.Pointer(b)) - uintptr(unsafe.Pointer(&c.bufs[0]))) / unsafe.Sizeof(*b))
}

// capacity describes operand i with the sizes that it has room for.
func (c *TaskContext) capacity(i int) iface.Desc {
	if h := c.t.operands()[i].Handle; h != nil && h.Resizable() {
		return h.Desc()
	}
	return c.Buffer(i).Desc
}

// Room returns operand i as Buffer does, with the sizes of its capacity: all of its memory.
// Elements beyond the content have any values. Without a capacity it is a copy of Buffer(i).
func (c *TaskContext) Room(i int) iface.Buffer {
	b := *c.Buffer(i)
	b.Desc = c.capacity(i)
	return b
}

// Node returns the memory node where operand i is: that of the worker, unless the
// task pinned it.
func (c *TaskContext) Node(i int) int {
	if n, ok := c.t.operands()[i].Pin.Node(); ok {
		return n
	}
	if c.t.kind == convertTask {
		return c.t.x.node
	}
	return c.w.node
}

// Format returns the layout of operand i, a name of Runtime.SetFormats; "" is that of main memory, the only
// one for most data, and for operands that Codelet.Formats does not list.
func (c *TaskContext) Format(i int) string {
	if !c.t.general || c.t.x.placed == nil {
		return ""
	}
	fs, h := formatsOf(c.t.operands()[i].Handle), c.t.x.placed[i].Handle
	if fs == nil || c.t.kind == convertTask {
		return ""
	}
	for k := range fs.inUse {
		if fs.inUse[k].h == h {
			return fs.inUse[k].Name
		}
	}
	return ""
}

// Mode returns the access mode in which the task has operand i. Mode(i).Declared() is R, W, RW or Scratch.
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

// SetVariant says that the kernel runs in variant i of Codelet.Variants. Without a call it
// counts for the variant that was the next when it began.
func (c *TaskContext) SetVariant(i int) { c.variant = int32(i) }

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

// call calls p, and returns false if another goroutine does. It must not be inlined, and calls the function in one place: mayBeInPoll looks for
// that place on the stack.
//
//go:noinline
func (p *poller) call(worked bool) (again bool) {
	if !p.mu.TryLock() {
		return false
	}
	defer p.mu.Unlock()
	return !p.mu.stopped && p.fn(worked)
}

// pollPC is where call calls the function.
var pollPC = func() (pc uintptr) {
	p := &poller{fn: func(bool) bool {
		var pcs [3]uintptr
		runtime.Callers(1, pcs[:]) // this function, then call
		pc = pcs[1]
		return false
	}}
	p.call(false)
	return pc
}()

// mayBeInPoll reports whether the caller was called by a poll, on any runtime. It is cheap without pollers.
func (rt *Runtime) mayBeInPoll() bool { return rt.pollers.all.Load() != nil && onStack(pollPC) }

// newPanic makes an error of what recover returned.
func newPanic(v any) *PanicError { return &PanicError{Value: v, Stack: string(debug.Stack())} }
