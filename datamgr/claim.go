package datamgr

// Claims: before its kernel starts, a task makes what it writes valid in its own
// instances only.
//
// A device may be lost between the two, or something else may go wrong. Then the value
// is what it was: each copy that was valid before is still there, since it is kept
// until the kernel starts. Main memory keeps its copies anyway, so that only where it
// has none something is to be noted.

import "slices"

// claimed is what a task has claimed by one operand.
type claimed struct {
	*Handle
	reads bool
}

// kept is how things were with a fragment that a task on a device has claimed, where
// main memory had no valid copy.
type kept struct {
	d   *Datum
	box Box
	in  *instance // where it was valid, pinned until the kernel starts; or nil
	why *loss     // nil in: why it had no value
}

// claimLocked makes every fragment of the operand, which lies in in, valid there only.
// The node of in may be lost.
func (p *Placement) claimLocked(op *Operand, in *instance) error {
	h := op.Handle
	h.d.quietLocked(&h.box)
	if e := in.node.lost.Load(); e != nil {
		return e
	}
	h.d.root.leaves(&h.box, func(f *Fragment) {
		if f.writing == 0 || !p.claims(f) { // the program may hold it, too, and have given this part back
			p.keepLocked(f, in)
		}
		if op.Mode == modeW {
			f.fault = nil // for data that was lost since Mend
		}
		f.takeLocked(in)
	})
	if h.State()&stateNodes != 0 {
		h.d.writingLocked(&h.box, 1)
		p.wrote = append(p.wrote, claimed{h, op.Mode.Reads()})
	}
	return nil
}

// claims reports whether the task has claimed f, by another operand.
func (p *Placement) claims(f *Fragment) bool {
	return slices.ContainsFunc(p.wrote, func(c claimed) bool { return c.d == f.d && c.box.touches(&f.box) })
}

// takeLocked makes f valid in in only.
func (f *Fragment) takeLocked(in *instance) { f.valid, f.had = 1<<in.layer, in.node.mark() }

// keepLocked notes where f is valid besides in, which is about to become the only place.
func (p *Placement) keepLocked(f *Fragment, in *instance) {
	f.inMain = f.valid&mainBit != 0 && f.fault == nil
	if in.node.dev == nil || f.inMain {
		return
	}
	d := f.d
	if f.fault != nil {
		p.kept = append(p.kept, kept{d: d, box: f.box, why: f.fault})
		return
	}
	for k, l := range d.mu.layers {
		if bit := uint64(1) << (k + 1); f.valid&bit == 0 || k+1 == in.layer {
			continue
		}
		for _, o := range l.insts {
			if o.box.has(&f.box) {
				o.pinLocked()
				p.kept = append(p.kept, kept{d: d, box: f.box, in: o})
			}
		}
	}
}

// Begin says that the kernel starts now: others may have the memory of what was kept.
func (p *Placement) Begin() {
	if len(p.kept) > 0 && !p.begun {
		p.begun = true
		p.eachKept(func(in *instance) { in.unpinLocked(true) })
	}
}

// eachKept calls fn for the instances that are kept, with the lock of their datum.
func (p *Placement) eachKept(fn func(*instance)) {
	for _, k := range p.kept {
		if k.in != nil {
			k.d.mu.Lock()
			fn(k.in)
			k.d.mu.wake.Broadcast()
			k.d.mu.Unlock()
		}
	}
}

// forgetKept is the end of what was kept.
func (p *Placement) forgetKept() {
	if len(p.kept) == 0 {
		return
	}
	p.eachKept(func(in *instance) {
		if !p.begun {
			in.unpinLocked(true)
		}
		in.d.uselessLocked(in)
	})
	clear(p.kept)
	p.kept, p.begun = p.kept[:0], false
}

// beforeLocked returns where f, which the task has claimed, was valid before and is what it
// was; 0: nowhere. why says why it had no value even then.
func (p *Placement) beforeLocked(f *Fragment) (valid uint64, why *loss) {
	if f.inMain {
		valid = mainBit
	}
	for _, k := range p.kept {
		switch {
		case k.d != f.d || !k.box.has(&f.box):
		case k.in == nil:
			why = k.why
		case !k.in.gone && k.in.node.lost.Load() == nil:
			valid |= 1 << k.in.layer
		}
	}
	return valid, why
}

// Unclaim gives back what was claimed, if the kernel has not started: it is valid where
// it was, and what was only on the device is there still. The last holds also for
// what was lost elsewhere meanwhile; only gone, which is to be written and was not
// read, means nothing then. Before Release.
func (p *Placement) Unclaim() (gone []Box) {
	for _, h := range p.wrote {
		h.d.mu.Lock()
		h.d.root.leaves(&h.box, func(f *Fragment) {
			switch valid, why := p.beforeLocked(f); {
			case valid != 0:
				f.valid, f.had, f.fault = valid, f.had|hadMain, nil
			case why != nil:
				f.valid, f.had, f.fault = mainBit, hadMain, why
			case !h.reads:
				gone = append(gone, f.box)
			}
		})
		h.d.mu.Unlock()
	}
	return gone
}

// giveUp is Release for a task that claimed data and wrote nothing.
func (p *Placement) giveUp() (gone []Box) {
	gone = p.Unclaim()
	p.Release()
	return gone
}

// Restore is called for a task whose kernel, or what came before it, failed on a
// device and left other memories as they were: it makes what they held when the
// task began valid again, where the task reads and writes. False: something
// was only on the device, or its other copies have gone since, and what the task writes
// is not what it was. Before Release.
func (p *Placement) Restore(ops []Operand) bool {
	for i := range ops {
		if ops[i].stays() && (ops[i].Mode == modeRedux || p.changes(&ops[i])) {
			return false
		}
	}
	for _, h := range p.wrote {
		reads := func(op Operand) bool { // the same operand, or another
			return op.placed() && op.Mode.Reads() && h.d == op.Handle.d && h.box.touches(&op.Handle.box)
		}
		if !p.restore(h.Handle, h.d.contribution || slices.ContainsFunc(ops, reads)) && !h.d.contribution {
			return false
		} // else what others added to it is lost
	}
	return true
}

// changes reports whether the kernel may have changed what the operand reads.
func (p *Placement) changes(op *Operand) bool {
	return op.placed() && op.Mode.Reads() && slices.ContainsFunc(p.wrote, func(h claimed) bool {
		return h.d == op.Handle.d && h.box.touches(&op.Handle.box)
	})
}

// restore is Restore for one of the claimed operands, at once: the copies that it finds may
// go at any time. What is not read will be written again. False: nothing happened.
func (p *Placement) restore(h *Handle, read bool) bool {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	had := true
	h.d.root.leaves(&h.box, func(f *Fragment) {
		valid, _ := p.beforeLocked(f)
		had = had && valid != 0
	})
	if read && !had {
		return false
	}
	h.d.root.leaves(&h.box, func(f *Fragment) {
		valid, _ := p.beforeLocked(f)
		if valid == 0 {
			valid = mainBit
		}
		f.valid, f.had, f.fault = valid, hadMain, nil
	})
	return true
}

// quietLocked waits until no copy of a fragment in b is under way.
func (d *Datum) quietLocked(b *Box) {
	for {
		wait := false
		d.root.leaves(b, func(f *Fragment) { wait = wait || f.copies > 0 })
		if !wait {
			return
		}
		d.mu.wake.Wait()
	}
}

// writingLocked says that somebody writes b from now on (1), or no more (-1).
func (d *Datum) writingLocked(b *Box, by int) {
	d.root.leaves(b, func(f *Fragment) { f.writing += uint16(by) })
}

// claimBoxes makes the main instance the only valid one for the boxes, which the
// caller writes until releaseBoxes.
func (d *Datum) claimBoxes(boxes []Box) {
	d.mu.Lock()
	defer d.mu.Unlock()
	main := d.main.Load()
	for i := range boxes {
		d.quietLocked(&boxes[i])
		d.root.leaves(&boxes[i], func(f *Fragment) { f.takeLocked(main) })
		d.writingLocked(&boxes[i], 1)
	}
}

func (d *Datum) releaseBoxes(boxes []Box) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range boxes {
		d.writingLocked(&boxes[i], -1)
	}
}
