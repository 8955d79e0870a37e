package datamgr

// Placement: where the operands of a task lie, and which copies are valid.
//
// In main memory all of a datum lies in its main instance. A handle that strides
// cannot express there (a column picked as a vector) gets a packed instance of
// its own. On another node, and in main memory where that is bounded (backing.go), a task uses an instance that holds what it needs, or
// gets one that holds just that. A task first takes its locks, then gets all its
// instances, then fetches what it reads, then each fragment that it writes
// becomes valid only in its own instance, before the kernel starts: nothing is
// left to do at its end.

import (
	"slices"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
)

// Placement holds the instances that one task uses. It belongs to the task.
type Placement struct {
	at      []*instance // by operand; nil: the main instance
	pins    []*instance
	wrote   []claimed // where other nodes are
	kept    []kept    // what was valid elsewhere when it was claimed
	private []private // memory on bounded nodes, those of one together
	held    bool      // by the program: see Hold
	aside   bool      // in memory beside main memory: see PrepareAside
	begun   bool      // nothing of kept is pinned any more
	ranks   int       // that have private memory of their own; 0: one
}

// PrepareMain makes the main instance of h exist: all that a plain task needs.
func (h Managed) PrepareMain() error {
	if h.d.void {
		return nil
	}
	return h.d.allocate()
}

// placed reports whether the operand needs an instance.
func (op *Operand) placed() bool {
	return op.Mode != modeScratch && op.Mode != modeRedux && op.Handle.bytes() > 0
}

// Prepare chooses the instances of a task on a node, fetches what it reads and
// claims what it writes. After an error nothing is pinned.
func (p *Placement) Prepare(node int, ops []Operand) error {
	p.at, p.pins, p.wrote, p.private = p.at[:0], p.pins[:0], p.wrote[:0], p.private[:0]
	for i := range ops {
		p.at = append(p.at, nil)
		op := &ops[i]
		if op.Mode == modeScratch || op.Mode == modeRedux || op.Handle.d.void {
			continue
		}
		if managed(op.Handle).State()&stateLazy != 0 {
			if err := op.Handle.d.allocate(); err != nil {
				p.Release()
				return err
			}
		}
	}
	if len(ops) > 0 {
		g := ops[0].Handle.d.reg
		for _, n := range g.admitting(node) { // the device first: see backing.go
			if err := p.admit(n, node, ops); err != nil {
				g.heard(err, n)
				p.Release()
				return err
			}
		}
	}
	for _, step := range []func(int, *Datum, []Operand) error{p.fetchDatum, p.claimDatum} {
		for i := range ops {
			d := ops[i].Handle.d
			if !ops[i].placed() || managed(ops[i].Handle).State()&(statePacked|stateNodes) == 0 || needed(ops[:i], d) {
				continue
			}
			if err := step(node, d, ops); err != nil {
				p.giveUp()
				return err
			}
		}
	}
	return nil
}

// PrepareThere is Prepare for a task that has all it needs on a node other than main
// memory: it takes no memory and waits for nothing but copies from there. False: it
// has not, or there is something to look at first; nothing is pinned.
func (p *Placement) PrepareThere(node int, ops []Operand) bool {
	p.at, p.pins, p.wrote, p.private = p.at[:0], p.pins[:0], p.wrote[:0], p.private[:0]
	if len(ops) == 0 || node == 0 {
		return node > 0
	}
	g := ops[0].Handle.d.reg
	for i := range ops {
		p.at = append(p.at, nil)
		op := &ops[i]
		if managed(op.Handle).State()&(stateLazy|stateFaults) != 0 || op.node(node) != node ||
			op.Mode == modeScratch || op.Mode == modeRedux { // the worker has only one such memory
			return false
		}
	}
	needs, _ := plan(ops, g.nodes[node], node, 1)
	if g.nodes[0].bounded || !p.present(g.nodes[node], needs, ops) {
		return false
	}
	for i := range ops {
		if op := &ops[i]; op.placed() && op.Mode.Reads() && !op.Handle.validIn(p.at[i]) {
			p.Release()
			return false
		}
	}
	for i := range ops {
		d := ops[i].Handle.d
		if !ops[i].placed() || needed(ops[:i], d) {
			continue
		}
		if p.fetchDatum(node, d, ops) != nil || p.claimDatum(node, d, ops) != nil {
			p.giveUp()
			return false
		}
	}
	return true
}

// validIn reports whether all of h is valid in in.
func (h *Handle) validIn(in *instance) bool {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	valid := true
	h.d.root.leaves(&h.box, func(f *fragment) { valid = valid && f.valid&(1<<in.layer) != 0 })
	return valid
}

// needed reports whether an operand that needs an instance of d is in ops.
func needed(ops []Operand, d *Datum) bool {
	for i := range ops {
		if ops[i].Handle.d == d && ops[i].placed() {
			return true
		}
	}
	return false
}

// fetchDatum brings what the operands on d read.
func (p *Placement) fetchDatum(node int, d *Datum, ops []Operand) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.reg.nodes[0].bounded {
		if err := p.chooseLocked(node, d, ops); err != nil {
			return err
		}
	}
	for i := range ops {
		op := &ops[i]
		if op.Handle.d == d && op.placed() && op.Mode.Reads() {
			if err := d.fetchLocked(op.Handle, p.instance(i, d)); err != nil {
				return err
			}
			if managed(op.Handle).State()&stateFaults != 0 && d.spoiledLocked(&op.Handle.box) != nil {
				return &SpoiledError{d.spoiledLocked(&op.Handle.box).why} // lost since the last check
			}
		}
	}
	return nil
}

// claimDatum makes what the operands on d write valid in their instances only.
func (p *Placement) claimDatum(_ int, d *Datum, ops []Operand) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range ops {
		op := &ops[i]
		if op.Handle.d == d && op.placed() && op.Mode.Writes() {
			if err := p.claimLocked(op, p.instance(i, d)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *Placement) instance(i int, d *Datum) *instance {
	if in := p.at[i]; in != nil {
		return in
	}
	return d.main.Load()
}

// chooseLocked pins a packed instance in main memory for every operand on d that
// is there and needs one: all at once, so that no two tasks wait for each other's.
func (p *Placement) chooseLocked(node int, d *Datum, ops []Operand) error {
	from := len(p.pins)
again:
	for i := range ops {
		op := &ops[i]
		if op.Handle.d != d || op.how() == inPlace || !op.placed() || !op.inMain(node) {
			continue
		}
		box := groupBox(ops, i)
		in, err := d.findLocked(d.reg.nodes[0], &box, op.Handle.rows()), error(nil)
		if in == nil {
			in, err = d.makeLocked(d.reg.nodes[0], box)
		}
		if in == nil {
			for _, in := range p.pins[from:] {
				in.unpinLocked(true)
			}
			p.pins = p.pins[:from]
			if err != nil {
				return err
			}
			d.mu.wake.Wait()
			goto again
		}
		in.pinLocked()
		p.pins = append(p.pins, in)
		p.at[i] = in
	}
	return nil
}

// groupBox is what the instance of operand i must hold: operands that overlap,
// one of them written, share one. They are in one memory: see Apart.
func groupBox(ops []Operand, i int) Box {
	d, box, writes := ops[i].Handle.d, ops[i].Handle.box, ops[i].Mode != modeR
	for again := true; again; {
		again = false
		for k := range ops {
			o := &ops[k]
			if o.Handle.d != d || o.how() == inPlace || o.Mode == modeScratch || o.Mode == modeRedux ||
				!o.Handle.box.touches(&box) || !writes && o.Mode == modeR {
				continue
			}
			if !writes || !box.has(&o.Handle.box) {
				box, writes, again = box.hull(&o.Handle.box), true, true
			}
		}
	}
	return box
}

// fetchLocked makes every fragment of h valid in in. The lock is free while
// bytes move, so a walk only notes what to fetch: each fragment is looked at
// again when its turn comes, and all of them once more at the end. After a copy
// that failed it is fetched from elsewhere, if there is such a place; and when where it
// came from is lost: what was nowhere else is spoiled then, see Fault.
func (d *Datum) fetchLocked(h *Handle, in *instance) error {
	bit := uint64(1) << in.layer
	var todo []*fragment
	var failed *node
	var why error
	for {
		wait := false
		todo = todo[:0]
		d.root.leaves(&h.box, func(f *fragment) {
			d.needLocked(f, in.node)
			switch {
			case f.valid&bit != 0:
			case f.arriving&bit != 0:
				wait = true
			default:
				todo = append(todo, f)
			}
		})
		switch {
		case len(todo) > 0:
			for _, f := range todo {
				if f.kids != nil || (f.valid|f.arriving)&bit != 0 {
					continue
				}
				src, dst := d.sourceLocked(f, in.node, failed), in
				if src.node == failed {
					return why
				}
				if src.node.lost.Load() != nil { // the goroutine that noticed is about to mark the lost values
					d.mu.wake.Wait()
					continue
				}
				if d.stops(src.node, in.node) { // by way of main memory, where it stays
					if dst = d.main.Load(); f.arriving&mainBit != 0 {
						d.mu.wake.Wait()
						continue
					}
				}
				// A copy of another fragment may succeed since: why stays that of the one that failed.
				if err := d.copyLocked(f, src, dst); err != nil && src.node.lost.Load() == nil {
					if failed != nil || dst.node.lost.Load() != nil {
						return err
					}
					failed, why = src.node, err
				}
			}
		case wait:
			d.mu.wake.Wait()
		default:
			return nil
		}
	}
}

// spoiledLocked returns why part of b has lost its value; nil: none has.
func (d *Datum) spoiledLocked(b *Box) (why *loss) {
	d.root.leaves(b, func(f *fragment) {
		if why == nil {
			why = f.fault
		}
	})
	return why
}

// sourceLocked is the instance where f is valid that is nearest to n; not one on the
// node not, unless there is no other.
func (d *Datum) sourceLocked(f *fragment, n, not *node) *instance {
	var best *instance
	least := 0.0
	bytes := d.bytesOf(&f.box)
	look := func(in *instance) {
		c := cost(in.node, n, bytes)
		if in.node == not {
			c += 1e12
		}
		if best == nil || c < least {
			best, least = in, c
		}
	}
	if f.valid&mainBit != 0 {
		look(d.main.Load())
	}
	if f.valid&^mainBit != 0 {
		for k, l := range d.mu.layers {
			if f.valid&(1<<(k+1)) == 0 {
				continue
			}
			for _, in := range l.insts {
				if in.box.has(&f.box) {
					look(in)
				}
			}
		}
	}
	return best
}

// copyLocked copies f from one instance to another. The lock is free meanwhile.
// After an error f is valid where it was.
func (d *Datum) copyLocked(f *fragment, src, dst *instance) error {
	bit := uint64(1) << dst.layer
	f.arriving |= bit
	f.copies++
	src.pinLocked()
	dst.pinLocked()
	d.mu.Unlock()
	err := d.reg.move(dst, src, &f.box, d.elem.Size())
	d.mu.Lock()
	f.arriving &^= bit
	f.copies--
	for _, in := range []*instance{src, dst} {
		if e := in.node.lost.Load(); e != nil && err == nil {
			err = e
		}
	}
	if err == nil {
		f.valid |= bit
	}
	for _, in := range []*instance{src, dst} {
		in.unpinLocked(true)
		if in.node.lost.Load() != nil {
			d.uselessLocked(in)
		}
	}
	d.mu.wake.Broadcast()
	return err
}

// Release unpins the instances. Those that hold nothing valid are freed.
func (p *Placement) Release() {
	if main := p.measureObjects(); main != nil {
		defer main.trim()
	}
	for _, h := range p.wrote {
		h.d.mu.Lock()
		h.d.writingLocked(&h.box, -1)
		h.d.mu.Unlock()
	}
	p.forgetKept()
	for _, in := range p.pins {
		d := in.d
		d.mu.Lock()
		if p.held {
			in.holds--
			in.unholdLocked()
		}
		in.unpinLocked(true)
		d.uselessLocked(in)
		if in.pins == 0 {
			d.mu.wake.Broadcast()
		}
		d.mu.Unlock()
		if in.outside {
			d.settle(in)
		}
	}
	p.freePrivate()
	p.pins, p.at, p.wrote, p.held, p.aside, p.ranks = p.pins[:0], p.at[:0], p.wrote[:0], false, false, 0
}

// measureObjects notes the sizes of the objects that the task wrote, before it gives them back. It
// returns main memory if there were any.
func (p *Placement) measureObjects() (main *node) {
	for _, h := range p.wrote {
		o := h.d.object
		if o == nil {
			continue
		}
		for _, in := range p.pins {
			if in.d == h.d && in.layer > 0 {
				h.d.measure(in)
				main = in.node
			}
		}
	}
	return main
}

// measure notes the size of the object in in, which is pinned and in main memory.
func (d *Datum) measure(in *instance) {
	o := d.object
	if o.Size == nil {
		return
	}
	size := int64(0)
	if o.call("measure", func() error { size = o.Size(in.ptr); return nil }) != nil {
		return // it keeps the size that it had
	}
	size = max(1, size)
	d.mu.Lock()
	defer d.mu.Unlock()
	o.size.Store(size)
	if in.gone || size == in.bytes {
		return
	}
	mem := in.node.mem
	if in.outside {
		mem = in.node.aside(d.reg)
	}
	c, ok := mem.(counter)
	if !ok {
		return
	}
	c.Grow(size - in.bytes)
	in.bytes = size
}

// Buffer describes operand i of the task, whose handle is h, in b.
func (p *Placement) Buffer(i int, h *Handle, b *iface.Buffer) {
	if i >= len(p.at) || p.at[i] == nil {
		managed(h).Fill(b)
		h.trim(&b.Desc)
		return
	}
	in := p.at[i]
	b.Ptr = in.at(&h.box, h.elem.Size())
	h.describe(&b.Desc)
	h.trim(&b.Desc)
	h.stretch(b, &in.stride)
}

// Fill describes h in the main instance, which exists. For a handle that
// strides cannot express there the last stride is not 1.
func (h Managed) Fill(b *iface.Buffer) {
	d := h.d
	h.describe(&b.Desc)
	b.Ptr = nil
	if m := d.main.Load(); m != nil && m.ptr != nil && m.node.id == 0 {
		b.Ptr = unsafe.Add(m.ptr, h.off)
	}
	h.stretch(b, &d.stride)
}

// stretch gives b, which describes h, strides of an instance.
func (h *Handle) stretch(b *iface.Buffer, of *strides) {
	b.Stride = [iface.MaxRank]int{}
	for k := range int(h.rank) {
		b.Stride[k] = of.at(h.axes.at(k))
	}
	if r := h.rank; r > 0 && b.Dim[r-1] <= 1 {
		b.Stride[r-1] = 1
	}
}

// Inside reports whether p lies in an element of h in main memory. It is false while the data has no memory
// there, and for all of void data.
func (h *Handle) Inside(p unsafe.Pointer) bool {
	d := h.d
	m := d.main.Load()
	if m == nil || m.ptr == nil || m.node.id != 0 || d.void || d.len() == 0 || h.empty != 0 {
		return false
	}
	size := int(d.elem.Size())
	if d.object != nil {
		size = int(d.object.Type.Size())
	}
	at := int(uintptr(p) - uintptr(m.ptr))
	if at < 0 || size == 0 {
		return false
	}
	at /= size
	for k := range int(d.rank) {
		step := d.stride.at(k)
		if lo, hi := h.box.at(k); at/step < lo || at/step >= hi {
			return false
		}
		at %= step
	}
	return d.rank > 0 || at == 0
}

// Gather copies values that are valid only in other instances to the main one, and frees
// idle instances. Call it in a task that uses h.
func (h Managed) Gather() error {
	d := h.d
	if d.void || h.State()&(statePacked|stateNodes) == 0 || d.main.Load() == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.fetchLocked(h.Handle, d.main.Load()); err != nil {
		return err
	}
	d.dropInLocked(&h.box)
	return nil
}

// GatherOn brings all of the operand, which is read, to a node other than main memory in
// one piece, until Release, and frees other idle instances there. If that is impossible,
// it reports false, with nothing prepared.
func (p *Placement) GatherOn(node int, ops []Operand) bool {
	h := ops[0].Handle
	d := h.d
	if d.void || d.main.Load() == nil || !d.reg.Fits(ops, node) || p.Prepare(node, ops) != nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dropInLocked(&h.box)
	return true
}

// Drop forgets the value of h: called in a task that has h W. Copies elsewhere
// hold nothing any more, and are freed.
func (h Managed) Drop() {
	d := h.d
	d.mu.Lock()
	defer d.mu.Unlock()
	d.quietLocked(&h.box)
	d.root.leaves(&h.box, func(f *fragment) { f.valid, f.had, f.fault = mainBit, hadMain, nil })
	d.dropInLocked(&h.box)
}

// Free gives the memory of the datum back: called in a task that has the whole
// datum W, after which no handle of it is used.
func (h Managed) Free() { h.d.free() }

// Claims: before its kernel starts, a task makes what it writes valid in its own
// instances only.
//
// A device may be lost between the two, or something else may go wrong. Then the value
// is what it was: each copy that was valid before is still there, since it is kept
// until the kernel starts. Main memory keeps its copies anyway, so that only where it
// has none something is to be noted.

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
	h.d.root.leaves(&h.box, func(f *fragment) {
		if f.writing == 0 || !p.claims(f) { // the program may hold it, too, and have given this part back
			p.keepLocked(f, in)
		}
		if op.Mode.Declared() == modeW {
			f.fault = nil // for data that was lost since Mend
		}
		f.takeLocked(in)
	})
	if managed(h).State()&stateNodes != 0 {
		h.d.writingLocked(&h.box, 1)
		p.wrote = append(p.wrote, claimed{h, op.Mode.Reads()})
	}
	return nil
}

// claims reports whether the task has claimed f, by another operand.
func (p *Placement) claims(f *fragment) bool {
	return slices.ContainsFunc(p.wrote, func(c claimed) bool { return c.d == f.d && c.box.touches(&f.box) })
}

// takeLocked makes f valid in in only.
func (f *fragment) takeLocked(in *instance) { f.valid, f.had = 1<<in.layer, in.node.mark() }

// keepLocked notes where f is valid besides in, which is about to become the only place.
func (p *Placement) keepLocked(f *fragment, in *instance) {
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
		if bit := uint64(1) << (k + 1); f.valid&bit == 0 || int32(k+1) == in.layer {
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
func (p *Placement) beforeLocked(f *fragment) (valid uint64, why *loss) {
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
		h.d.root.leaves(&h.box, func(f *fragment) {
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

// restore is Restore for one of the claimed operands, at once: the copies that it finds
// may go at any time. An operand that is not read will be written again and needs no
// copy. False: nothing happened.
func (p *Placement) restore(h *Handle, read bool) bool {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	had := true
	h.d.root.leaves(&h.box, func(f *fragment) {
		valid, _ := p.beforeLocked(f)
		had = had && valid != 0
	})
	if read && !had {
		return false
	}
	h.d.root.leaves(&h.box, func(f *fragment) {
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
		d.root.leaves(b, func(f *fragment) { wait = wait || f.copies > 0 })
		if !wait {
			return
		}
		d.mu.wake.Wait()
	}
}

// writingLocked counts a task that writes b from now on (1), or no more (-1).
func (d *Datum) writingLocked(b *Box, by int) {
	d.root.leaves(b, func(f *fragment) { f.writing += uint16(by) })
}

// claimBoxes makes the main instance the only valid one for the boxes, which the
// caller writes until releaseBoxes.
func (d *Datum) claimBoxes(boxes []Box) {
	d.mu.Lock()
	defer d.mu.Unlock()
	main := d.main.Load()
	for i := range boxes {
		d.quietLocked(&boxes[i])
		d.root.leaves(&boxes[i], func(f *fragment) { f.takeLocked(main) })
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

// Operands that stay on a memory node of their own.

// stays reports whether the operand is in main memory wherever the task runs.
func (op *Operand) stays() bool {
	return op.Pin.Main() || op.Handle.kind == iface.Object
}

// inMainMemory reports whether the operand lies in place in main memory and stays there.
func (op *Operand) inMainMemory() bool { return op.how() == inPlace && !op.Handle.d.spills() }

// node is where a task on the given node has the operand.
func (op *Operand) node(task int) int {
	if op.stays() {
		return 0
	}
	return task
}

// inMain reports whether a task on the given node has the operand in main memory.
func (op *Operand) inMain(node int) bool { return node == 0 || op.stays() }

// Apart returns two operands that share elements, where one is written, and that would
// not be in one piece of memory on a node other than main memory, because one of them
// stays in main memory. ok is false if there are none.
func Apart(ops []Operand) (i, k int, ok bool) {
	for i := range ops {
		for k := range i {
			a, b := &ops[i], &ops[k]
			if a.stays() != b.stays() && a.placed() && b.placed() && (a.Mode != modeR || b.Mode != modeR) && a.Handle.Overlaps(b.Handle) {
				return i, k, true
			}
		}
	}
	return 0, 0, false
}
