package engine

// Access: what the program does with data that it holds, and giving it back.

import (
	"fmt"
	"slices"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
)

// Buffer returns the data. Its memory is valid until Release; what is written
// there in mode R is lost, or worse. With OrderOnly it has no memory before Fetch.
func (a *Access) Buffer() *iface.Buffer { return &a.buf }

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
// runtime the tasks that become ready run inside Release.
func (a *Access) Release() error {
	rt := a.job.rt
	h := rt.takeHand()
	rt.reg.Lock()
	t := a.endLocked()
	rt.reg.Unlock()
	if t != nil {
		h.endLight(t)
	}
	rt.giveHand(h)
	return nil
}

// endLocked makes a released and returns its task, for the caller to end; nil
// when there is nothing to end, or not yet. Submission lock held.
func (a *Access) endLocked() *task {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.heldLocked() {
		return nil
	}
	fetching := a.mu.state == accessFetching
	a.mu.state = accessReleased
	if fetching {
		return nil // Fetch does it
	}
	return a.takeTask()
}

// takeTask takes the task of a that was released. Submission lock held.
func (a *Access) takeTask() *task {
	rt := a.job.rt
	rt.held = slices.DeleteFunc(rt.held, func(o *Access) bool { return o == a })
	t := a.t
	a.t = nil
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
	h := rt.takeHand()
	rt.reg.Lock()
	t, err := a.lowerLocked(p, mode, h)
	rt.reg.Unlock()
	if t != nil {
		h.endLight(t)
	}
	rt.giveHand(h)
	return err
}

// lowerLocked is ReleasePart under the submission lock; it returns the task when
// the caller has to end it.
func (a *Access) lowerLocked(p *datamgr.Handle, mode iface.AccessMode, h *hand) (*task, error) {
	fail := func(text string) (*task, error) {
		return nil, &ModeError{Handle: p, Mode: mode, Other: -1, Message: text}
	}
	a.mu.Lock()
	has, held, fetching := a.mu.mode, a.heldLocked(), a.mu.state == accessFetching
	a.mu.Unlock()
	if mode == iface.NoMode && p == a.h {
		return a.endLocked(), nil
	}
	if !held {
		return fail(describe(a.h) + " was released already")
	}
	if fetching {
		return fail(describe(a.h) + " is being fetched; release parts of it afterwards")
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
	t.setAccesses(h.rt.reg.Lower(a.hold, &t.Waiter, &x.locks, t.accesses(), p, mode == iface.NoMode, h.c))
	if !a.hold.Left() {
		return a.endLocked(), nil
	}
	if !a.hold.MayWrite() {
		a.mu.Lock()
		a.mu.mode = iface.R
		a.mu.Unlock()
	}
	return nil, nil
}

// setAccesses replaces the accesses of a task that runs.
func (t *task) setAccesses(as []datamgr.Access) {
	x := t.x
	x.acc = append(x.acc[:0], as...)
	x.accMoved, t.nacc = true, int32(len(as))
}

// refine shows which pieces of the data nobody else uses. Submission lock held.
func (a *Access) refine() {
	if a.hold.Split() {
		a.t.setAccesses(a.job.rt.reg.Refine(a.hold, &a.t.Waiter, a.t.accesses()))
	}
}

// Fetch makes the bytes of data that was acquired with OrderOnly available in
// the buffer, with the value they have, whatever the mode; in mode W, too. The
// value must have been there when the data was acquired. Errors: *UninitError,
// *FailedDataError, *ModeError, and those of allocating. Again, or without
// OrderOnly, it does nothing. For data on a device it returns ErrWouldDeadlock in
// kernels: room may have to wait for them.
func (a *Access) Fetch() error {
	rt := a.job.rt
	if a.opt.Node > 0 && rt.mayBeInKernel() {
		return ErrWouldDeadlock
	}
	h := rt.takeHand()
	rt.reg.Lock()
	t, err := a.startFetchLocked()
	rt.reg.Unlock()
	if t != nil {
		err = a.prepare(t)
		rt.reg.Lock()
		t = a.endFetchLocked(err)
		rt.reg.Unlock()
		if t != nil {
			h.endLight(t)
		}
	}
	rt.giveHand(h)
	handOut(err)
	return err
}

// startFetchLocked returns the task to fetch for; nil when there is nothing to
// do. Submission lock held.
func (a *Access) startFetchLocked() (*task, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
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

// endFetchLocked ends a fetch; it returns the task when the caller has to end
// it. Submission lock held.
func (a *Access) endFetchLocked(err error) *task {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mu.fetched = err == nil
	if a.mu.state == accessReleased {
		return a.takeTask()
	}
	a.mu.state = accessHeld
	return nil
}

// behind calls fn for the tasks that wait because a is held, unless walk has come to
// them. Submission lock held, and nothing runs.
func (a *Access) behind(walk datamgr.Walk, fn func(*datamgr.Waiter)) {
	walk.Successors(a.t.accesses(), fn)
	if n := a.opt.Node; n > 0 {
		for _, t := range a.job.rt.noRoomFor.waiting[n] {
			fn(&t.Waiter)
		}
	}
	a.t.x.locks.Queued(fn)
	a.hold.Queued(fn)
}
