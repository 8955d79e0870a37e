package engine

// Acquire: a task whose kernel is the program.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
)

// Access is data that the program holds. Its methods are safe for concurrent
// use. The buffer is valid until Release.
type Access struct {
	job     *Job
	h       *datamgr.Handle
	at      *Site
	t       *task         // guarded by the submission lock once granted
	granted chan struct{} // closed when the access is decided
	fn      func(*Access, error)
	try     bool
	none    []datamgr.Box // what had no value before: all that an acquire W loses that is given up
	buf     iface.Buffer
	mu      struct {
		sync.Mutex
		mode      iface.AccessMode
		state     accessState
		err       error
		abandoned error
	}
}

// accessState:
//
//	waiting ──> held ──> released
//	   └──────> refused
type accessState uint8

const (
	accessWaiting accessState = iota
	accessHeld
	accessReleased
	accessRefused
)

// Acquire waits until the program may use h in mode R, W or RW, in the order in
// which tasks and accesses were submitted, and gives direct access to its main
// memory. In mode W the elements start as zeros. at says where, and may be left
// out. Errors, besides those of Wait: *UninitError, *FailedDataError,
// *DeadHandleError, *ReadOnlyError, *ModeError, ErrClosed.
//
// Tasks that need the data wait until Release.
func (j *Job) Acquire(ctx context.Context, h *datamgr.Handle, mode iface.AccessMode, at ...*Site) (*Access, error) {
	return j.acquire(ctx, h, mode, false, at)
}

// AcquirePartial is Acquire in mode R for data of which only some elements have
// a value: it shows what there is. The others mean nothing; InitialisedPart
// tells them apart.
func (j *Job) AcquirePartial(ctx context.Context, h *datamgr.Handle, at ...*Site) (*Access, error) {
	return j.acquire(ctx, h, iface.R, true, at)
}

// AcquireFunc is Acquire that does not wait: fn is called with the access, or
// with nil and an error, on a goroutine of its own once that is decided. The
// access is released when fn returns, if fn did not do it. Its place in the
// order is that of the call. Close of the job and of the runtime wait for fn,
// which must not call them: they return ErrWouldDeadlock. A panic in fn is among
// the job's Failures.
func (j *Job) AcquireFunc(h *datamgr.Handle, mode iface.AccessMode, fn func(*Access, error), at ...*Site) error {
	if err := checkAcquire(h, mode); err != nil {
		return err
	}
	a := j.newAccess(h, mode, at)
	a.fn = fn
	return j.request(a, mode, false)
}

// TryAcquire is Acquire that returns ErrBusy instead of waiting.
func (j *Job) TryAcquire(h *datamgr.Handle, mode iface.AccessMode, at ...*Site) (*Access, error) {
	if err := checkAcquire(h, mode); err != nil {
		return nil, err
	}
	a := j.newAccess(h, mode, at)
	a.try = true
	if err := j.request(a, mode, false); err != nil {
		return nil, err
	}
	if a.abandon(ErrBusy) { // an unordered task has it
		return nil, ErrBusy
	}
	<-a.granted
	return a.outcome()
}

func (j *Job) acquire(ctx context.Context, h *datamgr.Handle, mode iface.AccessMode, partial bool, at []*Site) (*Access, error) {
	if j.rt.mayBeInKernel() {
		return nil, ErrWouldDeadlock
	}
	if err := checkAcquire(h, mode); err != nil {
		return nil, err
	}
	if ctx != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	a := j.newAccess(h, mode, at)
	if err := j.request(a, mode, partial); err != nil {
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

func (j *Job) newAccess(h *datamgr.Handle, mode iface.AccessMode, at []*Site) *Access {
	a := &Access{job: j, h: h, at: first(at), granted: make(chan struct{})}
	a.mu.mode = mode
	return a
}

// request gives a its place in the order.
func (j *Job) request(a *Access, mode iface.AccessMode, partial bool) error {
	rt, h := j.rt, a.h
	hd := rt.takeHand()
	defer rt.giveHand(hd)
	rt.reg.Lock()
	defer rt.reg.Unlock()
	if err := j.open(); err != nil {
		return err
	}
	if err := alive(0, h); err != nil {
		return err
	}
	t := rt.internal(j, acquireTask, h, mode)
	if a.try && !rt.reg.Free(t.operands()) {
		rt.unused(t)
		return ErrBusy
	}
	t.origin.Site = a.at
	t.x.access, a.t = a, t
	rt.closeGroups(j, t.operands(), t)
	rt.initialise(j, t.operands(), t)
	if mode == iface.W {
		a.none, _ = rt.reg.NoValueIn(h)
	}
	ready, err := rt.admit(t, datamgr.MergeOptions{NoValueYet: partial})
	if ready {
		hd.light = append(hd.light, t)
	}
	if err == nil && a.fn != nil {
		j.calls++
		j.callbacks.Add(1)
	}
	return err
}

// outcome is what became of a, which is decided.
func (a *Access) outcome() (*Access, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.mu.err == nil {
		return a, nil
	}
	var lost *FailedDataError
	if errors.As(a.mu.err, &lost) && lost.Task.failure != nil {
		lost.Task.failure.take()
	}
	return nil, a.mu.err
}

func checkAcquire(h *datamgr.Handle, mode iface.AccessMode) error {
	if h == nil {
		return &ModeError{Mode: mode, Other: -1, Message: "no data to acquire: the handle is nil"}
	}
	if mode != iface.R && mode != iface.W && mode != iface.RW {
		return &ModeError{Handle: h, Mode: mode, Other: -1,
			Message: fmt.Sprintf("%s cannot be acquired as %v; use R, W or RW", describe(h), mode)}
	}
	if h.ReadOnly() && mode != iface.R {
		return &ReadOnlyError{Handle: h, Mode: mode}
	}
	return nil
}

// abandon gives up an access that is not granted; false: it is decided already.
func (a *Access) abandon(err error) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.mu.state != accessWaiting {
		return false
	}
	a.mu.abandoned = err
	return true
}

// grant starts the access of t, whose locks are taken, or refuses it.
func (h *hand) grant(t *task) {
	x := t.x
	a := x.access
	ops := t.operands()
	a.mu.Lock()
	err := a.mu.abandoned
	if a.mu.state = accessHeld; err != nil {
		a.mu.state = accessRefused
	}
	a.mu.Unlock()
	var f *failure
	if err != nil {
		f = newFailure(t, "", err, true)
	} else if i, v := datamgr.Fault(ops); i >= 0 {
		err = &FailedDataError{Operand: 0, Handle: a.h, Task: v.(*failure).err()}
	} else if err = x.place.Prepare(ops); err != nil {
		f = newFailure(t, "", err, false)
	} else {
		datamgr.Mend(ops)
		x.place.Buffer(0, a.h, &a.buf)
		if ops[0].Mode == iface.W {
			zero(&a.buf)
		}
		h.rt.reg.Lock()
		h.rt.held = append(h.rt.held, a)
		a.startCallLocked()
		h.rt.reg.Unlock()
		if h.rt.opt.Listener != nil {
			h.rt.event(TaskStarted, t, h.id, nil)
		}
		a.decided()
		return
	}
	a.mu.Lock()
	a.mu.state, a.mu.err = accessRefused, err
	a.mu.Unlock()
	if f != nil { // registered as giving a value, which nobody will
		datamgr.SpoilBoxes(a.h, a.none, f)
	}
	h.rt.reg.Lock()
	a.startCallLocked()
	h.rt.reg.Unlock()
	h.endLight(t)
	a.decided()
}

// Buffer returns the data. Its memory is valid until Release; what is written
// there in mode R is lost, or worse.
func (a *Access) Buffer() *iface.Buffer { return &a.buf }

// Handle returns the handle that was acquired.
func (a *Access) Handle() *datamgr.Handle { return a.h }

// Mode returns what the program may do with the data: the mode of Acquire, or R
// after ReleaseTo(R); NoMode after Release.
func (a *Access) Mode() iface.AccessMode {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.mu.state != accessHeld {
		return iface.NoMode
	}
	return a.mu.mode
}

// Release gives the data back. Doing it again does nothing. In a Sequential
// runtime the tasks that become ready run inside Release.
func (a *Access) Release() error {
	rt := a.job.rt
	h := rt.takeHand()
	rt.reg.Lock()
	a.mu.Lock()
	held := a.mu.state == accessHeld
	if held {
		a.mu.state = accessReleased
		rt.held = slices.DeleteFunc(rt.held, func(o *Access) bool { return o == a })
	}
	a.mu.Unlock()
	t := a.t
	a.t = nil
	rt.reg.Unlock()
	if held {
		h.endLight(t)
	}
	rt.giveHand(h)
	return nil
}

// ReleaseTo gives part of the rights back: to R after RW or W lets readers in
// while the program goes on reading. To the mode it has, and to W after RW,
// does nothing; to NoMode it is Release. To a stronger mode it is a *ModeError.
func (a *Access) ReleaseTo(mode iface.AccessMode) error {
	if mode == iface.NoMode {
		return a.Release()
	}
	rt := a.job.rt
	h := rt.takeHand()
	rt.reg.Lock()
	err := a.lower(mode, h)
	rt.reg.Unlock()
	rt.giveHand(h)
	return err
}

// lower is ReleaseTo under the submission lock.
func (a *Access) lower(mode iface.AccessMode, h *hand) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	has := a.mu.mode
	if a.mu.state != accessHeld {
		return &ModeError{Handle: a.h, Mode: mode, Other: -1, Message: describe(a.h) + " was released already"}
	}
	switch {
	case mode == has, has == iface.RW && mode == iface.W:
		return nil
	case mode != iface.R:
		return &ModeError{Handle: a.h, Mode: mode, Other: -1,
			Message: fmt.Sprintf("%s is held as %v, which cannot become %v; release it and acquire it again", describe(a.h), has, mode)}
	}
	a.mu.mode = iface.R
	t := a.t
	x := t.x
	now := h.rt.reg.Downgrade(&t.Waiter, t.accesses(), nil, h.c)
	x.acc = append(x.acc[:0], now...)
	x.accMoved, t.nacc = true, int32(len(now))
	x.locks.Share(h.c)
	return nil
}

// behind calls fn for the tasks that wait because a is held. Submission lock
// held, and nothing runs.
func (a *Access) behind(fn func(*datamgr.Waiter)) {
	datamgr.Successors(a.t.accesses(), fn)
	a.t.x.locks.Queued(fn)
	a.t.x.hold.Queued(fn)
}

// zero clears the elements of b.
func zero(b *iface.Buffer) { fill(b, 0) }

// poison fills b with what looks like nothing a kernel would have written: NaN
// in floats, a pattern in integers.
func poison(b *iface.Buffer) {
	if b.Elem.IsFloat() {
		fill(b, 0xff)
		return
	}
	fill(b, 0xa5)
}

// fill sets every byte of b's elements.
func fill(b *iface.Buffer, v byte) {
	if b.Len() == 0 {
		return
	}
	row, n := 1, 1
	if b.Rank > 0 {
		row = b.Dim[b.Rank-1]
	}
	if b.Rank > 1 {
		n = b.Dim[0]
	}
	bytes := uintptr(row) * b.Elem.Size()
	for i := range n {
		p := b.Ptr
		if b.Rank > 1 {
			p = unsafe.Add(p, uintptr(i*b.Stride[0])*b.Elem.Size())
		}
		s := unsafe.Slice((*byte)(p), bytes)
		for k := range s {
			s[k] = v
		}
	}
}
