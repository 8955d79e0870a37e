package engine

// Granting an access that the program asked for, or refusing it.

import (
	"errors"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/sched"
)

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

// outcome is what became of a, which is decided.
func (a *Access) outcome() (*Access, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.mu.err == nil {
		return a, nil
	}
	handOut(a.mu.err)
	return nil, a.mu.err
}

// handOut notes that the failure in err, if there is one, was handed out.
func handOut(err error) {
	var lost *FailedDataError
	if errors.As(err, &lost) && lost.Task.failure != nil {
		lost.Task.failure.take()
	}
}

// grant starts the access of t, whose locks are taken, or refuses it.
func (h *hand) grant(t *task) {
	a := t.x.access
	a.mu.Lock()
	err := a.mu.abandoned
	if a.mu.state = accessHeld; err != nil {
		a.mu.state = accessRefused
	}
	a.mu.Unlock()
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
		zero(&a.buf)
	}
	h.rt.reg.Lock()
	h.rt.held = append(h.rt.held, a)
	a.startCallLocked()
	h.rt.reg.Unlock()
	if h.rt.heard() {
		h.rt.event(TaskStarted, t, h.id, nil)
	}
	a.decided()
}

// grantAside is grant for data on another node, where room may have to be waited
// for. Workers do that on a goroutine of its own: a task of theirs may be the one
// that has the room.
func (h *hand) grantAside(t *task) {
	rt := h.rt
	if h.id == sched.Outside && !rt.mayBeInKernel() {
		h.grant(t)
		return
	}
	own := rt.takeHand()
	rt.group.Add(1) // where workers are, too: nobody has waited for them yet
	go func() {
		defer rt.group.Done()
		own.grant(t)
		rt.giveHand(own)
	}()
}

// prepare makes the bytes of t, which has its turn, valid where they are wanted.
func (a *Access) prepare(t *task) error {
	ops, place := t.operands(), &t.x.place
	fault := func() error {
		if i, v := datamgr.Fault(ops); i >= 0 {
			return &FailedDataError{Operand: 0, Handle: a.h, Task: v.(*failure).err()}
		}
		return nil
	}
	if err := fault(); err != nil {
		return err
	}
	n := a.opt.Node
	prepare := func() error { return place.Prepare(n, ops) }
	if n == 0 {
		prepare = func() error { return place.PrepareAside(ops) }
	}
	if err := prepare(); err != nil {
		if gone := fault(); gone != nil { // a device was lost meanwhile
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
	if n > 0 {
		a.holds()
	}
	place.Hold()
	place.Mend(ops)
	place.Buffer(0, ops[0].Handle, &a.buf)
	return nil
}

// refuse ends the access of t because of err.
func (h *hand) refuse(t *task, err error) {
	a := t.x.access
	a.mu.Lock()
	a.mu.state, a.mu.err = accessRefused, err
	dropped := a.mu.abandoned != nil
	a.mu.Unlock()
	if len(a.none) > 0 { // registered as giving a value, which nobody will
		datamgr.SpoilBoxes(a.h, a.none, newFailure(t, "", err, dropped))
	}
	h.rt.reg.Lock()
	a.startCallLocked()
	h.rt.reg.Unlock()
	h.endLight(t)
	a.decided()
}
