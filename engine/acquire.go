package engine

// Acquire: a task whose kernel is the program.

import (
	"context"
	"fmt"
	"sync"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
)

// Access is data that the program holds. Its methods are safe for concurrent
// use. The buffer is valid until Release.
type Access struct {
	job     *Job
	h       *datamgr.Handle
	opt     AcquireOptions
	try     bool
	fn      func(*Access, error)
	none    []datamgr.Box // what had no value before: all that an acquire W loses that is given up
	lacks   error         // OrderOnly: why Fetch cannot be
	granted chan struct{} // closed when the access is decided
	buf     iface.Buffer

	// guarded by the submission lock once granted
	t    *task
	hold *datamgr.Hold

	there bool // it counts in noRoomFor.holding; of who has its task

	mu struct {
		sync.Mutex
		mode      iface.AccessMode
		state     accessState
		fetched   bool // OrderOnly: buf is valid
		err       error
		abandoned error
	}
}

// accessState:
//
//	waiting ──> held <──> fetching
//	   │          └─────────┴─────> released
//	   └──────> refused
//
// What is released while it is fetched ends when the fetch has.
type accessState uint8

const (
	accessWaiting accessState = iota
	accessHeld
	accessFetching
	accessReleased
	accessRefused
)

// AcquireOptions say how data is acquired. The zero value is what Acquire does.
type AcquireOptions struct {
	Site *Site // where the program does it, for errors
	// Node is where the bytes are wanted: an index of Runtime.Nodes. 0 is main
	// memory. On another one the buffer's pointer means something to that device
	// only: it is for what the program has the device do itself. Tasks have what is
	// left of its memory: one that would fit without the access waits for its
	// release, unless it can run elsewhere; one of a parallel codelet, which would
	// keep its workers, fails. What does not fit beside what the program holds there
	// already is a *accel.NoMemoryError, and a lost device is a *accel.LostError. A
	// node that does not exist is a *NoNodeError.
	Node int
	// OrderOnly waits for its turn and keeps others away as the mode says, and
	// does nothing with the value: the data need not have one, none is given, and
	// no memory is allocated and no copy made. The buffer has no memory before
	// Access.Fetch.
	OrderOnly bool
	// Unordered gives the access no order with others: it waits only while
	// something that conflicts with it runs or is held. So does an access to a
	// handle with SetUnordered.
	Unordered bool
	// Partial, for mode R, shows data of which only some elements have a value.
	// The others mean nothing; InitialisedPart tells them apart.
	Partial bool
}

// Acquire waits until the program may use h in mode R, W or RW, in the order in
// which tasks and accesses were submitted, and gives direct access to its main
// memory; AcquireWith does so on other nodes, too. In mode W the elements start as
// zeros. at says where, and may be left out. Errors, besides those of Wait: *UninitError, *FailedDataError,
// *DeadHandleError, *ReadOnlyError, *ModeError, *NoNodeError, ErrClosed.
//
// Tasks that need the data wait until Release. An acquire that is given up,
// because ctx ends or the wait would never end, leaves the data as it is; but
// what had no value, and would have got one from mode W, is lost from then on
// as if a task had failed.
func (j *Job) Acquire(ctx context.Context, h *datamgr.Handle, mode iface.AccessMode, at ...*Site) (*Access, error) {
	return j.AcquireWith(ctx, h, mode, AcquireOptions{Site: first(at)})
}

// AcquirePartial is Acquire in mode R with AcquireOptions.Partial.
func (j *Job) AcquirePartial(ctx context.Context, h *datamgr.Handle, at ...*Site) (*Access, error) {
	return j.AcquireWith(ctx, h, iface.R, AcquireOptions{Site: first(at), Partial: true})
}

// AcquireWith is Acquire with options.
func (j *Job) AcquireWith(ctx context.Context, h *datamgr.Handle, mode iface.AccessMode, o AcquireOptions) (*Access, error) {
	if j.rt.mayBeInKernel() {
		return nil, ErrWouldDeadlock
	}
	a, err := j.newAccess(h, mode, o)
	if err != nil {
		return nil, err
	}
	if ctx != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := j.request(a); err != nil {
		return nil, err
	}
	if err := j.await(ctx, a.granted, nil, func(t *task) bool { return t.general && t.x.access == a }); err != nil {
		if a.abandon(err) {
			return nil, err
		}
		<-a.granted // being decided just now
	}
	return a.outcome()
}

// AcquireFunc is Acquire that does not wait: fn is called with the access, or
// with nil and an error, on a goroutine of its own once that is decided. The
// access is released when fn returns, if fn did not do it. Its place in the
// order is that of the call. Close of the job and of the runtime wait for fn,
// which must not call them: they return ErrWouldDeadlock. A panic in fn is among
// the job's Failures.
func (j *Job) AcquireFunc(h *datamgr.Handle, mode iface.AccessMode, fn func(*Access, error), at ...*Site) error {
	return j.AcquireFuncWith(h, mode, AcquireOptions{Site: first(at)}, fn)
}

// AcquireFuncWith is AcquireFunc with options.
func (j *Job) AcquireFuncWith(h *datamgr.Handle, mode iface.AccessMode, o AcquireOptions, fn func(*Access, error)) error {
	if fn == nil {
		return &ModeError{Handle: h, Mode: mode, Other: -1, Message: "no function to call with " + describe(h)}
	}
	a, err := j.newAccess(h, mode, o)
	if err != nil {
		return err
	}
	a.fn = fn
	return j.request(a)
}

// TryAcquire is Acquire that returns ErrBusy instead of waiting for others who use
// the data. Contributions to it that have all ended are combined then, so that who
// tries again gets it; in a deterministic job also when they have not, as by Acquire. It may be called in kernels, but for AcquireOptions.Node.
func (j *Job) TryAcquire(h *datamgr.Handle, mode iface.AccessMode, at ...*Site) (*Access, error) {
	return j.TryAcquireWith(h, mode, AcquireOptions{Site: first(at)})
}

// TryAcquireWith is TryAcquire with options.
func (j *Job) TryAcquireWith(h *datamgr.Handle, mode iface.AccessMode, o AcquireOptions) (*Access, error) {
	a, err := j.newAccess(h, mode, o)
	if err != nil {
		return nil, err
	}
	if o.Node > 0 && j.rt.mayBeInKernel() {
		return nil, ErrWouldDeadlock // room there may have to wait for the kernel
	}
	a.try = true
	err = j.request(a)
	if err == ErrBusy && j.rt.opt.Sequential {
		err = j.request(a) // what had to be combined is now
	}
	if err != nil {
		return nil, err
	}
	if a.abandon(ErrBusy) { // an unordered task has it
		return nil, ErrBusy
	}
	<-a.granted
	return a.outcome()
}

// newAccess checks what needs no lock.
func (j *Job) newAccess(h *datamgr.Handle, mode iface.AccessMode, o AcquireOptions) (*Access, error) {
	fail := func(text string) (*Access, error) {
		return nil, &ModeError{Handle: h, Mode: mode, Other: -1, Message: text}
	}
	switch {
	case h == nil:
		return fail("no data to acquire: the handle is nil")
	case mode != iface.R && mode != iface.W && mode != iface.RW:
		return fail(fmt.Sprintf("%s cannot be acquired as %v; use R, W or RW", describe(h), mode))
	case h.ReadOnly() && mode != iface.R:
		return nil, &ReadOnlyError{Handle: h, Mode: mode}
	case o.Partial && mode != iface.R:
		return fail(fmt.Sprintf("%s cannot be acquired in part as %v; use R", describe(h), mode))
	}
	if err := j.rt.checkNode(o.Node); err != nil {
		return nil, err
	}
	if j.rt.limited && o.Node == j.rt.diskNode {
		return fail(fmt.Sprintf("%s cannot be acquired on the disk, where nothing runs", describe(h)))
	}
	a := &Access{job: j, h: h, opt: o, granted: make(chan struct{})}
	a.mu.mode = mode
	return a, nil
}

// request gives a its place in the order.
func (j *Job) request(a *Access) error {
	rt, h, mode := j.rt, a.h, a.mu.mode
	hd := rt.takeHand()
	defer rt.giveHand(hd)
	rt.reg.Lock()
	defer rt.reg.Unlock()
	if err := j.open(); err != nil {
		return err
	}
	if err := rt.alive(0, h); err != nil {
		return err
	}
	t := rt.internal(j, acquireTask, h, mode)
	rt.share(t)
	ops := t.operands()
	h = ops[0].Handle
	ops[0].Unordered = a.opt.Unordered || h.UnorderedLocked()
	t.setOrigin(&Origin{Site: a.opt.Site})
	if a.try {
		open := rt.reg.OpenGroup(ops)
		// in a deterministic job always: which contributions come together must not
		// depend on who has ended
		if open != nil && (j.opt.Deterministic || !rt.reg.Busy(open, nil, 0)) {
			rt.closeGroups(j, ops, t)
		}
		if open != nil || !ops[0].Unordered && !rt.reg.Free(ops) {
			rt.unused(t)
			return ErrBusy
		}
	}
	if n := a.opt.Node; n > 0 && !a.opt.OrderOnly && !rt.reg.Fits(ops, n) {
		bytes := rt.reg.Needs(ops, n)
		rt.unused(t)
		return rt.noRoom(n, bytes)
	}
	a.t, a.hold = t, datamgr.NewHold(h, mode)
	t.x.access = a
	rt.closeGroups(j, ops, t)
	opt := datamgr.MergeOptions{NoValueYet: a.opt.Partial, Hold: a.hold}
	switch {
	case a.opt.OrderOnly:
		if _, bad := rt.reg.Merge([]Operand{{Handle: h, Mode: iface.RW}}, datamgr.MergeOptions{}); bad.Kind != datamgr.NoProblem {
			a.lacks = problem(ops, bad)
		}
		opt.NoValueYet, opt.Keep = true, true
	case mode == iface.W:
		a.none, _ = rt.reg.NoValueIn(h)
	default:
		rt.initialise(j, ops, t)
	}
	ready, err := rt.admit(t, opt)
	if ready {
		hd.light = append(hd.light, t)
	}
	if err == nil && a.fn != nil {
		j.calls++
		j.callbacks.Add(1)
	}
	return err
}
