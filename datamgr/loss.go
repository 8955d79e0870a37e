package datamgr

// Loss of a node: its device does not answer any more.

import (
	"errors"
	"slices"

	"github.com/starpush/starpush/accel"
)

// ErrSpoiled is matched by errors of Prepare for data that has lost its value; Fault and
// SpoiledError have the reason.
var ErrSpoiled = errors.New("datamgr: data has lost its value")

// SpoiledError is an ErrSpoiled with what was given to Spoil for the data, or by OnLoss.
type SpoiledError struct{ Why any }

func (e *SpoiledError) Error() string { return ErrSpoiled.Error() }

// Is says that e is an ErrSpoiled.
func (e *SpoiledError) Is(target error) bool { return target == ErrSpoiled }

// OnLoss sets a function that is called once when a node is lost, without locks, by the
// goroutine that noticed. Fault returns its result for data that had no other copy. Call
// OnLoss before data is registered.
func (g *Registry) OnLoss(fn func(node int, err *accel.LostError) any) { g.onLoss = fn }

// Lost returns why a node is lost; nil when it is not.
func (g *Registry) Lost(node int) *accel.LostError { return g.nodes[node].lost.Load() }

// Lose says that the device of a node is lost. Data keeps the values that are valid
// elsewhere; what was only there has none any more, until it is written again. A
// task that runs there fails, and may be able to run again: see Placement.Restore.
func (g *Registry) Lose(node int, err *accel.LostError) { g.lose(g.nodes[node], err) }

func (g *Registry) lose(n *node, err *accel.LostError) {
	if !n.lost.CompareAndSwap(nil, err) {
		return
	}
	var why any = err
	if g.onLoss != nil {
		why = g.onLoss(n.id, err)
	}
	ins := n.instancesOf(g) // instances made from now on see that n is lost before they become valid
	for _, in := range ins {
		in.d.lose(in, why)
	}
	n.giveBack(1<<63 - 1)
	n.mu.Lock()
	n.mu.changes++
	n.mu.wake.Broadcast()
	n.mu.Unlock()
}

// lose forgets what in holds.
func (d *Datum) lose(in *instance, why any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if in.gone {
		return
	}
	if d.spoilLocked(in, why) > 0 {
		d.setState(stateFaults)
	}
	if in.pins == 0 && !in.leaving {
		d.removeLocked(in)
	}
	d.mu.wake.Broadcast()
}

// spoilLocked invalidates all of in, and returns the bytes that are valid nowhere now.
// Fragments that had no value before keep their reason.
func (d *Datum) spoilLocked(in *instance, why any) (bytes int64) {
	bit := uint64(1) << in.layer
	d.root.leaves(&in.box, func(f *fragment) {
		if f.valid&bit == 0 || !in.box.has(&f.box) {
			return
		}
		if f.valid &^= bit; f.valid != 0 {
			return
		}
		f.valid, f.had = mainBit, hadMain
		if f.fault == nil {
			f.fault = &loss{why}
			bytes += d.bytesOf(&f.box)
		}
	})
	return bytes
}

// Strayed returns how often a copy of what h is a part of was taken away from a node, for
// want of room or on demand, when other nodes had copies and the main instance had none.
// A value that was once on a node is there until it is written again, unless it strayed
// since; then it is on some other node, and may be lost with that.
func (h Managed) Strayed(from int) int64 {
	d := h.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if from >= len(d.mu.strays) {
		return 0
	}
	return d.mu.strays[from]
}

func (d *Datum) strayLocked(n *node) {
	if d.mu.strays == nil {
		d.mu.strays = make([]int64, len(d.reg.nodes))
	}
	d.mu.strays[n.id]++
}

// abandon takes away what is left on n. It returns how many bytes were nowhere
// else, and why they could not be saved.
func (g *Registry) abandon(n *node) (bytes int64, err error) {
	ins := n.instancesOf(g)
	for _, in := range ins {
		d := in.d
		d.mu.Lock()
		if f := d.onlyInLocked(in); f != nil { // evict has tried, and says why only now
			if e := d.copyLocked(f, in, d.main.Load()); e != nil && err == nil {
				err = e
			}
		}
		bytes += d.spoilLocked(in, ErrSpoiled)
		if in.pins == 0 && !in.gone {
			d.removeLocked(in)
		}
		d.mu.Unlock()
	}
	return bytes, err
}

// Faults: fragments that lost their value because a task did not run.
//
// A fragment's fault is set before the accesses of the task that should have written it
// end, so later accesses see it, and is cleared by the next access that writes without
// reading.

// loss is why fragments lost their value.
type loss struct{ why any }

func (l *loss) cause() any {
	if l == nil {
		return nil
	}
	return l.why
}

// Fault returns the first operand that reads data without a valid value, and
// what was given to Spoil for it; -1 when there is none.
func Fault(ops []Operand) (int, any) {
	for i := range ops {
		op := &ops[i]
		d := op.Handle.d
		if !op.Mode.Reads() || managed(op.Handle).State()&stateFaults == 0 || op.Handle.emptyPart() {
			continue
		}
		var fault any
		d.mu.Lock()
		d.root.leaves(&op.Handle.box, func(f *fragment) {
			if fault == nil {
				fault = f.fault.cause()
			}
		})
		d.mu.Unlock()
		if fault != nil {
			return i, fault
		}
	}
	return -1, nil
}

// Mend clears the faults of what the operands write without reading, where no claim
// does: it comes after that.
func (p *Placement) Mend(ops []Operand) {
	for i := range ops {
		if managed(ops[i].Handle).State()&(statePacked|stateNodes) == 0 {
			mend(ops, i)
		}
	}
}

// Mend clears the faults of data that the operands write and none of them reads. Data
// that is read may have been lost since the last check, see Fault.
func Mend(ops []Operand) {
	for i := range ops {
		mend(ops, i)
	}
}

// mend is Mend for operand i.
func mend(ops []Operand, i int) {
	op := &ops[i]
	if op.Mode.Declared() != modeW || managed(op.Handle).State()&stateFaults == 0 {
		return
	}
	d := op.Handle.d
	d.mu.Lock()
	defer d.mu.Unlock()
	d.root.leaves(&op.Handle.box, func(f *fragment) {
		reads := func(o Operand) bool {
			return o.Handle.d == d && o.Mode.Reads() && o.Handle.box.touches(&f.box)
		}
		if f.fault != nil && !slices.ContainsFunc(ops, reads) {
			f.fault = nil
		}
	})
}

// Spoil says that what the operands should have written is lost.
func Spoil(ops []Operand, fault any) {
	for i := range ops {
		op := &ops[i]
		d := op.Handle.d
		switch {
		case op.Mode == modeRedux:
			a := op.Handle.redux
			a.mu.Lock()
			a.mu.fault = fault
			a.mu.Unlock()
		case op.Mode.Writes() && !op.Handle.emptyPart():
			d.setState(stateFaults)
			l := &loss{fault}
			d.mu.Lock()
			d.root.leaves(&op.Handle.box, func(f *fragment) { f.fault = l })
			d.mu.Unlock()
		}
	}
}

// SpoilBoxes is Spoil for boxes of the datum of h.
func SpoilBoxes(h *Handle, boxes []Box, fault any) {
	if len(boxes) == 0 {
		return
	}
	d := h.d
	d.setState(stateFaults)
	l := &loss{fault}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range boxes {
		d.root.leaves(&boxes[i], func(f *fragment) { f.fault = l })
	}
}

// LostContribution returns why a contribution to h, or to a handle that shares elements with it, was lost that has
// not been combined yet; nil when none was.
func (sub Submission) LostContribution(h *Handle) any {
	for _, f := range h.list(sub) {
		if f.open == nil {
			continue
		}
		a := f.open.redux
		a.mu.Lock()
		fault := a.mu.fault
		a.mu.Unlock()
		if fault != nil {
			return fault
		}
	}
	return nil
}

// TakeFault returns and clears why a contribution to h was lost; nil when none was.
func (h Managed) TakeFault() any {
	a := h.redux
	a.mu.Lock()
	f, far := a.mu.fault, slices.Clone(a.mu.data.idle)
	a.mu.fault = nil
	a.mu.Unlock()
	if f == nil && h.d.reg.disk == nil { // with a disk, CombineData meets it
		f = lostContribution(far)
	}
	return f
}
