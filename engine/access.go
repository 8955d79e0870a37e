package engine

// Acquire: a task whose kernel is the program.

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/sched"
)

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
	a, err := j.checkedAccess(h, mode, o)
	if err != nil {
		return nil, err
	}
	if ctx != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	a.granted = make(chan struct{})
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
// order is that of the call. fn may block: only tasks that the access excludes wait
// for it, and Close of the job and of the runtime, which fn must not call: they return
// ErrWouldDeadlock. Job.Wait does not wait for fn. A panic in fn is among the job's
// Failures.
func (j *Job) AcquireFunc(h *datamgr.Handle, mode iface.AccessMode, fn func(*Access, error), at ...*Site) error {
	return j.AcquireFuncWith(h, mode, AcquireOptions{Site: first(at)}, fn)
}

// AcquireFuncWith is AcquireFunc with options.
func (j *Job) AcquireFuncWith(h *datamgr.Handle, mode iface.AccessMode, o AcquireOptions, fn func(*Access, error)) error {
	if fn == nil {
		return &ModeError{Handle: h, Mode: mode, Other: -1, Message: "no function to call with " + describe(h)}
	}
	a, err := j.checkedAccess(h, mode, o)
	if err != nil {
		return err
	}
	a.fn = fn
	return j.request(a)
}

// TryAcquire is Acquire that returns ErrBusy instead of waiting while others use the
// data. If contributions to the data are pending and all have ended, TryAcquire starts to
// combine them, so that a later call succeeds. In a deterministic job it also closes the
// group of contributions while some are running, as Acquire does. It may be called in
// kernels, except with AcquireOptions.Node.
func (j *Job) TryAcquire(h *datamgr.Handle, mode iface.AccessMode, at ...*Site) (*Access, error) {
	return j.TryAcquireWith(h, mode, AcquireOptions{Site: first(at)})
}

// TryAcquireWith is TryAcquire with options.
func (j *Job) TryAcquireWith(h *datamgr.Handle, mode iface.AccessMode, o AcquireOptions) (*Access, error) {
	a, err := j.checkedAccess(h, mode, o)
	if err != nil {
		return nil, err
	}
	if o.Node > 0 && j.rt.mayBeInKernel() {
		return nil, ErrWouldDeadlock // room there may have to wait for the kernel
	}
	a.try, a.granted = true, make(chan struct{})
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

// checkedAccess makes an access, and checks what needs no lock.
func (j *Job) checkedAccess(h *datamgr.Handle, mode iface.AccessMode, o AcquireOptions) (*Access, error) {
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
	case isObjectHandle(h) && o.Node > 0:
		return fail(fmt.Sprintf("%s cannot be acquired on a device: values of Go types are in main memory only", describe(h)))
	case o.Partial && mode != iface.R:
		return fail(fmt.Sprintf("%s cannot be acquired in part as %v; use R", describe(h), mode))
	}
	if err := j.rt.checkNode(o.Node); err != nil {
		return nil, err
	}
	if j.rt.limited && o.Node == j.rt.diskNode {
		return fail(fmt.Sprintf("%s cannot be acquired on the disk, where nothing runs", describe(h)))
	}
	a := newAccess(o.Async)
	a.job, a.h, a.opt, a.mu.mode = j, h, o, mode
	return a, nil
}

// newAccess returns an access with a buffer, or without one if it is to get that when it is granted. Many accesses for messages wait at once, and
// the buffer would be a fifth of the memory that each takes.
func newAccess(async bool) *Access {
	if async {
		return &Access{}
	}
	a := &struct {
		Access
		own iface.Buffer
	}{}
	a.buf = &a.own
	return &a.Access
}

// buffers are those of accesses with AcquireOptions.Async, which have one while they are held.
var buffers = sync.Pool{New: func() any { return new(iface.Buffer) }}

// request gives a its place in the order.
func (j *Job) request(a *Access) error {
	rt, h, mode := j.rt, a.h, a.mu.mode
	hd := rt.borrowReleaser()
	defer rt.returnReleaser(hd)
	sub := rt.reg.Lock()
	defer sub.Unlock()
	if err := j.open(sub); err != nil {
		return err
	}
	if err := rt.alive(0, h); err != nil {
		return err
	}
	t := rt.internal(sub, j, acquireTask, h, mode)
	rt.share(sub, t)
	ops := t.operands()
	h = ops[0].Handle
	ops[0].Unordered = a.opt.Unordered || sub.Unordered(h)
	if managed(h).Formats() != nil && ops[0].Unordered {
		rt.unused(sub, t)
		return &FormatError{Handle: h, Message: fmt.Sprintf("%s, which has a layout of its own on devices, cannot be acquired without order; leave the option out", describe(h))}
	}
	t.setOrigin(&Origin{Site: a.opt.Site})
	if a.try {
		open := sub.OpenGroup(ops)
		// always in a deterministic job: the contributions combined must not depend on
		// timing
		if open != nil && (j.opt.Deterministic || !sub.Busy(open, nil, 0)) {
			rt.closeGroups(sub, j, ops, t)
		}
		busy := open != nil || !ops[0].Unordered && !sub.Free(ops)
		if !busy && mode.Reads() && conversionFailure(h) == nil {
			busy = rt.submitConversion(sub, t, h) // a later call finds the value converted
		}
		if busy {
			rt.unused(sub, t)
			return ErrBusy
		}
	}
	if n := a.opt.Node; n > 0 && !a.opt.OrderOnly && !rt.reg.Fits(ops, n) {
		bytes := rt.reg.Needs(ops, n)
		rt.unused(sub, t)
		return rt.noMemoryError(n, bytes)
	}
	a.t, a.hold = t, datamgr.NewHold(h, mode)
	t.x.access = a
	rt.closeGroups(sub, j, ops, t)
	opt := datamgr.MergeOptions{NoValueYet: a.opt.Partial, Hold: a.hold}
	switch {
	case a.opt.OrderOnly:
		a.convertBefore(sub, t)
		if _, bad := sub.Merge([]Operand{{Handle: h, Mode: iface.RW}}, datamgr.MergeOptions{}); bad.Kind != datamgr.NoProblem {
			a.lacks = problem(ops, bad)
		}
		opt.NoValueYet, opt.Keep = true, true
	case mode == iface.W:
		a.none, _ = sub.NoValueIn(h)
	default:
		rt.initialise(sub, j, ops, t)
		a.convertBefore(sub, t)
	}
	ready, err := rt.insertInternal(sub, t, opt)
	if ready {
		hd.light = append(hd.light, t)
	}
	if err == nil && a.fn != nil {
		j.calls++
		j.callbacks.Add(1)
	}
	return err
}

// convertBefore submits the conversion to the layout of main memory that t, which gets its place in the order, needs. One that
// must not wait had it before, or shows why it failed.
func (a *Access) convertBefore(sub datamgr.Submission, t *task) {
	if !a.try {
		a.job.rt.submitConversion(sub, t, t.operands()[0].Handle)
	}
}

// Granting an access that the program asked for, or refusing it.

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

// outcome returns what became of a, which is decided, to the program. It is called once, and clears what starts as zeros: the goroutine that granted a
// may have others to serve.
func (a *Access) outcome() (*Access, error) {
	a.mu.Lock()
	err := a.mu.err
	a.mu.Unlock()
	if err == nil {
		if a.clears {
			zero(a.buf)
		}
		return a, nil
	}
	if !a.opt.Relay {
		handOut(err)
	}
	return nil, err
}

// handOut notes that the failure in err, if there is one, was handed out.
func handOut(err error) {
	var lost *FailedDataError
	if errors.As(err, &lost) && lost.Task.failure != nil {
		lost.Task.failure.take()
	}
}

// grant starts the access of t, whose locks are taken, or refuses it.
func (h *releaser) grant(t *task) {
	a := t.x.access
	a.mu.Lock()
	err := a.mu.abandoned
	if a.mu.state = accessHeld; err != nil {
		a.mu.state = accessRefused
	}
	a.mu.Unlock()
	if a.buf == nil {
		a.buf = buffers.Get().(*iface.Buffer)
	}
	bytes := !a.opt.OrderOnly && h.rt.opt.Plan == nil
	if err == nil && bytes {
		err = a.prepare(t)
	}
	if err != nil {
		h.refuse(t, err)
		return
	}
	if !bytes {
		a.buf.Desc = a.h.Desc()
	} else if a.opt.Node == 0 && t.operands()[0].Mode == iface.W {
		if isObjectHandle(a.h) {
			managed(a.h).Clear(a.buf)
		} else {
			a.clears = !a.opt.Overwrites
		}
	}
	sub := h.rt.reg.Lock()
	a.place = len(h.rt.held)
	h.rt.held = append(h.rt.held, a)
	a.startCall(sub)
	sub.Unlock()
	if h.rt.hasListeners() {
		h.rt.event(TaskStarted, t, h.id, nil)
	}
	a.decided()
}

// grantAside is grant for data on another node, where room may have to be waited
// for. Workers do that on a goroutine of its own: a task of theirs may be the one
// that has the room.
func (h *releaser) grantAside(t *task) {
	rt := h.rt
	if h.id == sched.Outside && !rt.mayBeInKernel() {
		h.grant(t)
		return
	}
	rt.goAside(func(own *releaser) { own.grant(t) })
}

// fault returns why data of t has lost its value.
func (a *Access) fault(t *task) error {
	if f := conversionFailure(t.operands()[0].Handle); f != nil && t.operands()[0].Mode.Reads() {
		return &FailedDataError{Operand: 0, Handle: a.h, Task: f.err()}
	}
	if i, v := datamgr.Fault(t.operands()); i >= 0 {
		return &FailedDataError{Operand: 0, Handle: a.h, Task: v.(*failure).err()}
	}
	return nil
}

// prepare makes the bytes of t, which has its turn, valid where they are wanted.
func (a *Access) prepare(t *task) error {
	ops, place := t.operands(), &t.x.place
	if err := a.fault(t); err != nil {
		return err
	}
	n := a.opt.Node
	prepare := func() error { return place.Prepare(n, ops) }
	if n == 0 {
		prepare = func() error { return place.PrepareAside(ops) }
	}
	if err := prepare(); err != nil {
		if gone := a.fault(t); gone != nil { // a device was lost meanwhile
			return gone
		}
		return err
	}
	if n > 0 && ops[0].Mode == iface.W {
		gone, err := place.Zero(0, ops[0].Handle)
		if err != nil {
			a.none = append(a.none, gone...)
			return err
		}
	}
	place.Begin()
	if ops[0].Mode.Writes() {
		wroteMain(a.h)
	}
	if n > 0 {
		a.recordHold()
	}
	place.Hold()
	place.Mend(ops)
	place.Buffer(0, ops[0].Handle, a.buf)
	return nil
}

// refuse ends the access of t because of err.
func (h *releaser) refuse(t *task, err error) {
	a := t.x.access
	a.mu.Lock()
	a.mu.state, a.mu.err = accessRefused, err
	dropped := a.mu.abandoned != nil
	a.mu.Unlock()
	if len(a.none) > 0 { // registered as giving a value, which never comes
		datamgr.SpoilBoxes(a.h, a.none, newFailure(t, "", err, dropped))
	}
	sub := h.rt.reg.Lock()
	a.startCall(sub)
	sub.Unlock()
	h.endLight(t)
	a.decided()
}

// Access: what the program does with data that it holds, and giving it back.

// Buffer returns the data. Its memory is valid until Release, and so is the buffer with AcquireOptions.Async; what is written
// there in mode R is lost, or worse. With OrderOnly it has no memory before Fetch.
func (a *Access) Buffer() *iface.Buffer { return a.buf }

// Resize sets the sizes of the content of data with a capacity, as TaskContext.Resize does:
// Buffer has the new sizes. The program holds the whole of the data in main memory, and may
// write it. Errors are a *ShapeError; nothing has changed then.
func (a *Access) Resize(dims ...int) error {
	fail := func(text string) error {
		return &ShapeError{Operands: []int{0}, Message: fmt.Sprintf("cannot resize %s: %s", describe(a.h), text)}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case !a.heldLocked() || !a.mu.mode.Writes():
		return fail("the program may not write it; acquire it W or RW")
	case a.opt.OrderOnly || a.opt.Node != 0:
		return fail("it is not held in main memory")
	}
	if err := managed(a.h).Resize(dims, nil, 0); err != nil {
		return fail(err.Error())
	}
	copy(a.buf.Dim[:a.buf.Rank], dims)
	return nil
}

// Handle returns the handle that was acquired.
func (a *Access) Handle() *datamgr.Handle { return a.h }

// Mode returns what the program may do with the data: the mode of Acquire, or R
// when the right to write was given back everywhere; NoMode after Release.
func (a *Access) Mode() iface.AccessMode {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.heldLocked() {
		return iface.NoMode
	}
	return a.mu.mode
}

// heldLocked reports whether the program holds the data. a.mu held.
func (a *Access) heldLocked() bool {
	return a.mu.state == accessHeld || a.mu.state == accessFetching
}

// Release gives the data back. Doing it again does nothing. In a Sequential
// runtime the tasks that become ready run inside Release. In others the hooks of tasks that wait for nothing else, and tasks
// without a kernel, run inside Release, too, but on workers if it is called in a kernel, in a poll (Runtime.PollWhileIdle), or for an
// access with AcquireOptions.Async.
func (a *Access) Release() error {
	rt := a.job.rt
	h := a.borrowReleaser()
	sub := rt.reg.Lock()
	t := a.end(sub)
	sub.Unlock()
	if t != nil {
		h.endLight(t)
	}
	rt.returnReleaser(h)
	return nil
}

// borrowReleaser is that of the runtime for a release of a.
func (a *Access) borrowReleaser() *releaser {
	h := a.job.rt.borrowReleaser()
	h.async = a.opt.Async
	return h
}

// Fail is Release for a program that could not give the data its value: the data has lost it, as if a task that
// writes it had failed with err. Tasks that read it are cancelled, and an Acquire returns a *FailedDataError, until it is
// written again. It is a *ModeError for data that is not held, is held as R, or was released in part.
func (a *Access) Fail(err error) error {
	if err == nil {
		err = errors.New("the program gave the data no value")
	}
	a.mu.Lock()
	mode, held := a.mu.mode, a.mu.state == accessHeld
	a.mu.Unlock()
	sub := a.job.rt.reg.Lock()
	whole := held && a.hold.Whole()
	sub.Unlock()
	if !whole || !mode.Writes() {
		return &ModeError{Handle: a.h, Mode: mode, Other: -1, Message: describe(a.h) + " cannot lose its value: it is not held as W or RW as a whole; acquire it so, and call Fail before anything is released"}
	}
	f := newFailure(a.t, "", err, false)
	var of *TaskError
	if errors.As(err, &of) && of.failure != nil && of.failure.job.rt == a.job.rt {
		f = of.failure
	}
	datamgr.Spoil(a.t.operands(), f)
	return a.Release()
}

// end makes a released and returns its task, for the caller to end; nil
// when there is nothing to end, or not yet.
func (a *Access) end(sub datamgr.Submission) *task {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.heldLocked() {
		return nil
	}
	busy := a.mu.state == accessFetching || a.mu.readers > 0
	a.mu.state = accessReleased
	if busy {
		return nil // fetch does it
	}
	return a.takeTask(sub)
}

// takeTask takes the task of a that was released.
func (a *Access) takeTask(sub datamgr.Submission) *task {
	rt := a.job.rt
	n := len(rt.held) - 1
	last := rt.held[n]
	rt.held[a.place], last.place, rt.held[n] = last, a.place, nil
	rt.held = rt.held[:n]
	t := a.t
	a.t = nil
	if a.fn != nil && a.opt.Async {
		*a.buf = iface.Buffer{}
		buffers.Put(a.buf)
		a.buf = nil
		a.endCall(sub)
		a.job.callbacks.Done()
	}
	return t
}

// ReleaseTo gives part of the rights back: to R after RW or W lets readers in
// while the program goes on reading. To the mode it has, and to W after RW,
// does nothing; to NoMode it is Release. To a stronger mode it is a *ModeError.
func (a *Access) ReleaseTo(mode iface.AccessMode) error { return a.ReleasePart(a.h, mode) }

// ReleasePart is ReleaseTo for a part of the data: p is any handle of the same
// datum whose elements are all held, such as a part of a view that was declared
// before or after the acquire. Tasks that need nothing else go on, while the
// program keeps the rest; what it gave back it must not touch any more. A
// fragment that a task needed as a whole before a view cut it is given back
// with its last part; so is one that was cut after its first access without
// order, whose pieces exclude each other. When nothing is left it is Release.
func (a *Access) ReleasePart(p *datamgr.Handle, mode iface.AccessMode) error {
	if p == nil {
		return &ModeError{Mode: mode, Other: -1, Message: "no data to release: the handle is nil"}
	}
	rt := a.job.rt
	h := a.borrowReleaser()
	sub := rt.reg.Lock()
	t, err := a.lower(sub, p, mode, h)
	sub.Unlock()
	if t != nil {
		h.endLight(t)
	}
	rt.returnReleaser(h)
	return err
}

// lower is ReleasePart for a caller that holds the lock; it returns the task when
// the caller has to end it.
func (a *Access) lower(sub datamgr.Submission, p *datamgr.Handle, mode iface.AccessMode, h *releaser) (*task, error) {
	fail := func(text string) (*task, error) {
		return nil, &ModeError{Handle: p, Mode: mode, Other: -1, Message: text}
	}
	a.mu.Lock()
	has, held, fetching, read := a.mu.mode, a.heldLocked(), a.mu.state == accessFetching, a.mu.readers > 0
	a.mu.Unlock()
	if mode == iface.NoMode && p == a.h {
		return a.end(sub), nil
	}
	if !held {
		return fail(describe(a.h) + " was released already")
	}
	if fetching {
		return fail(describe(a.h) + " is being fetched; release parts of it afterwards")
	}
	if read {
		return fail(describe(a.h) + " is being read by Rows; release parts of it afterwards")
	}
	holds, writes, some := a.hold.Holds(p)
	if p == a.h { // what is left of it
		holds, writes = true, has != iface.R
	}
	switch {
	case !holds:
		return fail(fmt.Sprintf("%s is not held by this access to %s, or was released in part already", describe(p), describe(a.h)))
	case mode == iface.NoMode:
	case !writes && mode != iface.R:
		return fail(fmt.Sprintf("%s is held as R, which cannot become %v; release it and acquire it again", describe(p), mode))
	case mode == has, has == iface.RW && mode == iface.W, !some:
		return nil, nil
	case mode != iface.R:
		return fail(fmt.Sprintf("%s is held as %v, which cannot become %v; release it and acquire it again", describe(p), has, mode))
	}
	t := a.t
	x := t.x
	t.setAccesses(sub.Lower(a.hold, &t.Waiter, &x.locks, t.accesses(), p, mode == iface.NoMode, h.c))
	if !a.hold.Left() {
		return a.end(sub), nil
	}
	if !a.hold.MayWrite() {
		a.mu.Lock()
		a.mu.mode = iface.R
		a.mu.Unlock()
	}
	return nil, nil
}

// Fetch makes the bytes of data that was acquired with OrderOnly available in
// the buffer, with the value they have, whatever the mode; in mode W, too. The
// value must have been there when the data was acquired. Errors: *UninitError,
// *FailedDataError, *ModeError, and those of allocating. Again, or without
// OrderOnly, it does nothing. For data on a device it returns ErrWouldDeadlock in
// kernels: room may have to wait for them.
func (a *Access) Fetch() error { return a.fetch(nil) }

// Rows calls fn with the elements of data that was acquired with OrderOnly, with the value
// they have: some rows, those along the first index, after the other, or all at once. So
// data for which main memory has no room is read without having been there as a whole. The
// buffer is fn's until it returns, and what is released meanwhile is held until then; the first index of its Off is the number of its first row. An
// error of fn ends Rows. Other errors are those of Fetch. Rows does not make Buffer valid.
func (a *Access) Rows(fn func(*iface.Buffer) error) error { return a.fetch(fn) }

// fetch is Fetch, or with fn Rows.
func (a *Access) fetch(fn func(*iface.Buffer) error) error {
	rt := a.job.rt
	if a.opt.Node > 0 && rt.mayBeInKernel() {
		return ErrWouldDeadlock
	}
	h := rt.borrowReleaser()
	sub := rt.reg.Lock()
	buf := a.buf // a release meanwhile may take it
	t, err := a.startFetch(sub, fn != nil)
	sub.Unlock()
	if err == nil && fn != nil {
		defer a.endRows()
	}
	if t != nil {
		parts := fn != nil && a.opt.Node == 0 && managed(t.operands()[0].Handle).InParts()
		if parts {
			err = a.readRows(t, fn)
		} else {
			err = a.prepare(t)
		}
		sub = rt.reg.Lock()
		if t = a.endFetch(sub, err == nil && !parts); parts {
			fn = nil
		}
		sub.Unlock()
		if t != nil {
			h.endLight(t)
		}
	}
	rt.returnReleaser(h)
	if fn != nil && err == nil {
		err = fn(buf)
	}
	handOut(err)
	return err
}

// endRows ends a call of Rows, and an access that was released meanwhile.
func (a *Access) endRows() {
	h := a.borrowReleaser()
	sub := h.rt.reg.Lock()
	a.mu.Lock()
	var t *task
	if a.mu.readers--; a.mu.readers == 0 && a.mu.state == accessReleased {
		t = a.takeTask(sub)
	}
	a.mu.Unlock()
	sub.Unlock()
	if t != nil {
		h.endLight(t)
	}
	h.rt.returnReleaser(h)
}

// startFetch returns the task to fetch for; nil when there is nothing to
// do. If reads is set the caller reads what it fetches, and calls endRows unless there is an error.
func (a *Access) startFetch(_ datamgr.Submission, reads bool) (t *task, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer func() {
		if reads && err == nil {
			a.mu.readers++
		}
	}()
	fail := func(text string) (*task, error) {
		return nil, &ModeError{Handle: a.h, Mode: a.mu.mode, Other: -1, Message: describe(a.h) + " " + text}
	}
	switch {
	case !a.heldLocked():
		return fail("was released already")
	case !a.opt.OrderOnly || a.mu.fetched:
		return nil, nil
	case a.mu.state == accessFetching:
		return fail("is being fetched")
	case a.lacks != nil:
		return nil, a.lacks
	case !a.hold.Whole():
		return fail("was released in part; fetch it before")
	}
	if a.mu.mode == iface.W { // the value stays
		a.mu.mode = iface.RW
	}
	a.t.operands()[0].Mode = a.mu.mode
	a.mu.state = accessFetching
	return a.t, nil
}

// readRows calls fn with the elements of t, which has its turn, some rows at a time.
func (a *Access) readRows(t *task, fn func(*iface.Buffer) error) error {
	if err := a.fault(t); err != nil {
		return err
	}
	err := managed(t.operands()[0].Handle).Rows(fn)
	if gone := a.fault(t); err != nil && gone != nil { // a device was lost meanwhile
		return gone
	}
	return err
}

// endFetch ends a fetch, by which the buffer is valid if fetched is set; it returns the task
// when the caller has to end it.
func (a *Access) endFetch(sub datamgr.Submission, fetched bool) *task {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mu.fetched = fetched
	switch {
	case a.mu.state != accessReleased:
		a.mu.state = accessHeld
	case a.mu.readers == 0:
		return a.takeTask(sub)
	}
	return nil
}

// Callbacks of AcquireFunc: goroutines that the job owns and waits for.

// startCall counts the callback of a as running.
func (a *Access) startCall(_ datamgr.Submission) {
	if a.fn != nil {
		a.job.rt.calls++
	}
}

// endCall counts the callback of a as ended.
func (a *Access) endCall(_ datamgr.Submission) {
	a.job.rt.calls--
	a.job.calls--
}

// decided says that a was granted or refused, and calls or starts its callback.
func (a *Access) decided() {
	switch {
	case a.fn == nil:
		close(a.granted)
	case a.opt.Async:
		a.mu.Lock()
		refused := a.mu.err != nil
		a.mu.Unlock()
		if callAccess(a); refused {
			a.ended()
		}
	default:
		go func() {
			defer a.ended()
			defer a.Release()
			callAccess(a)
		}()
	}
}

// ended is endCall for a caller without the lock.
func (a *Access) ended() {
	rt := a.job.rt
	sub := rt.reg.Lock()
	a.endCall(sub)
	sub.Unlock()
	rt.progress()
	a.job.callbacks.Done()
}

// callAccess calls the callback of a. A panic is a failure of the job. It must
// not be inlined, and calls the callback in one place: inCallback looks for that
// place on the stack.
//
//go:noinline
func callAccess(a *Access) {
	defer func() {
		if v := recover(); v != nil {
			a.job.report(&failure{job: a.job, codelet: internalCodelet[acquireTask], origin: Origin{Site: a.opt.Site}, cause: newPanic(v)})
			_ = a.Release() // nothing if it was
		}
	}()
	a.fn(a.outcome())
}

// callbackPC is where callAccess calls the callback.
var callbackPC = func() (pc uintptr) {
	a := &Access{}
	a.fn = func(*Access, error) {
		var pcs [3]uintptr
		runtime.Callers(1, pcs[:]) // this function, then callAccess
		pc = pcs[1]
	}
	callAccess(a)
	return pc
}()

// noMemoryError returns the error of an acquire that needs more memory than a node has.
func (rt *Runtime) noMemoryError(node int, bytes int64) error {
	n := rt.Nodes()[node]
	return &accel.NoMemoryError{Node: n.Name, Want: bytes, Allocated: n.Allocated, Capacity: n.Capacity}
}
