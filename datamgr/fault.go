package datamgr

// Faults: fragments that lost their value because a task did not run.
//
// A fragment's fault is set before the accesses of the task that should have
// written it end, so whoever is ordered after it sees it, and cleared by the
// next access that writes without reading.

import "slices"

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
		if !op.Mode.Reads() || op.Handle.State()&stateFaults == 0 {
			continue
		}
		var fault any
		d.mu.Lock()
		d.root.leaves(&op.Handle.box, func(f *Fragment) {
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
		if ops[i].Handle.State()&(statePacked|stateNodes) == 0 {
			mend(ops, i)
		}
	}
}

// Mend clears the faults of what the operands write and none of them reads: what is read
// may have been lost since somebody looked, see Fault.
func Mend(ops []Operand) {
	for i := range ops {
		mend(ops, i)
	}
}

// mend is Mend for operand i.
func mend(ops []Operand, i int) {
	op := &ops[i]
	if op.Mode != modeW || op.Handle.State()&stateFaults == 0 {
		return
	}
	d := op.Handle.d
	d.mu.Lock()
	defer d.mu.Unlock()
	d.root.leaves(&op.Handle.box, func(f *Fragment) {
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
		case op.Mode.Writes():
			d.setState(stateFaults)
			l := &loss{fault}
			d.mu.Lock()
			d.root.leaves(&op.Handle.box, func(f *Fragment) { f.fault = l })
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
		d.root.leaves(&boxes[i], func(f *Fragment) { f.fault = l })
	}
}

// TakeFault returns and clears why a contribution to h was lost; nil when none was.
func (h *Handle) TakeFault() any {
	a := h.redux
	a.mu.Lock()
	f, far := a.mu.fault, slices.Clone(a.mu.there)
	a.mu.fault = nil
	a.mu.Unlock()
	if f == nil {
		f = lostThere(far)
	}
	return f
}
