package datamgr

// Placement: where the operands of a task lie, and which copies are valid.
//
// In main memory all of a datum lies in its main instance. A handle that strides
// cannot express there (a column picked as a vector) gets a packed instance of
// its own. On another node, and in main memory where that is bounded (disk.go), a task uses an instance that holds what it needs, or
// gets one that holds just that. A task first takes its locks, then gets all its
// instances, then fetches what it reads, then each fragment that it writes
// becomes valid only in its own instance, before the kernel starts: nothing is
// left to do at its end.

import (
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
func (h *Handle) PrepareMain() error {
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
		if op.Handle.State()&stateLazy != 0 {
			if err := op.Handle.d.allocate(); err != nil {
				p.Release()
				return err
			}
		}
	}
	if len(ops) > 0 {
		g := ops[0].Handle.d.reg
		for _, n := range g.admitting(node) { // the device first: see disk.go
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
			if !ops[i].placed() || ops[i].Handle.State()&(statePacked|stateNodes) == 0 || needed(ops[:i], d) {
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
		if op.Handle.State()&(stateLazy|stateFaults) != 0 || op.node(node) != node ||
			op.Mode == modeScratch || op.Mode == modeRedux { // memory of the worker, of which there is one
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
	h.d.root.leaves(&h.box, func(f *Fragment) { valid = valid && f.valid&(1<<in.layer) != 0 })
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
			if op.Handle.State()&stateFaults != 0 && d.spoiledLocked(&op.Handle.box) != nil {
				return &SpoiledError{d.spoiledLocked(&op.Handle.box).why} // since somebody looked
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
		if op.Handle.d != d || op.Handle.how == inPlace || !op.placed() || !op.inMain(node) {
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
			if o.Handle.d != d || o.Handle.how == inPlace || o.Mode == modeScratch || o.Mode == modeRedux ||
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
	var todo []*Fragment
	var failed *node
	var why error
	for {
		wait := false
		todo = todo[:0]
		d.root.leaves(&h.box, func(f *Fragment) {
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
				if src.node.lost.Load() != nil { // whoever noticed is about to say what is lost
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
	d.root.leaves(b, func(f *Fragment) {
		if why == nil {
			why = f.fault
		}
	})
	return why
}

// sourceLocked is the instance where f is valid that is nearest to n; not one on the
// node not, unless there is no other.
func (d *Datum) sourceLocked(f *Fragment, n, not *node) *instance {
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
func (d *Datum) copyLocked(f *Fragment, src, dst *instance) error {
	bit := uint64(1) << dst.layer
	f.arriving |= bit
	f.copies++
	src.pinLocked()
	dst.pinLocked()
	d.mu.Unlock()
	err := d.reg.move(dst, src, &f.box, d.desc.Elem.Size())
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

// Buffer describes operand i of the task, whose handle is h, in b.
func (p *Placement) Buffer(i int, h *Handle, b *iface.Buffer) {
	if i >= len(p.at) || p.at[i] == nil {
		h.Fill(b)
		return
	}
	in := p.at[i]
	*b = iface.Buffer{Ptr: in.at(&h.box.lo, h.d.desc.Elem.Size())}
	h.describe(&b.Desc)
	for k := range int(h.rank) {
		b.Stride[k] = in.stride[h.axes[k]]
	}
	if r := h.rank; r > 0 && b.Dim[r-1] <= 1 {
		b.Stride[r-1] = 1
	}
}

// Fill describes h in the main instance, which exists. For a handle that
// strides cannot express there the last stride is not 1.
func (h *Handle) Fill(b *iface.Buffer) {
	d := h.d
	h.describe(&b.Desc)
	b.Stride = [iface.MaxRank]int{}
	b.Ptr = nil
	if m := d.main.Load(); m != nil && m.ptr != nil && m.node.id == 0 {
		b.Ptr = unsafe.Add(m.ptr, h.off)
	}
	for k := range int(h.rank) {
		b.Stride[k] = d.stride[h.axes[k]]
	}
	if r := h.rank; r > 0 && b.Dim[r-1] <= 1 {
		b.Stride[r-1] = 1
	}
}

// Gather copies what is valid only in other instances to the main one, and
// frees those that nobody uses. Called in a task that uses h.
func (h *Handle) Gather() error {
	d := h.d
	if d.void || h.State()&(statePacked|stateNodes) == 0 || d.main.Load() == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.fetchLocked(h, d.main.Load()); err != nil {
		return err
	}
	d.dropInLocked(&h.box)
	return nil
}

// GatherOn brings all of the operand, which is read, to a node other than main memory
// in one piece, until Release, and frees what nobody uses beside it. False: it cannot
// be, and nothing is prepared.
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
func (h *Handle) Drop() {
	d := h.d
	d.mu.Lock()
	defer d.mu.Unlock()
	d.quietLocked(&h.box)
	d.root.leaves(&h.box, func(f *Fragment) { f.valid, f.had, f.fault = mainBit, hadMain, nil })
	d.dropInLocked(&h.box)
}

// Free gives the memory of the datum back: called in a task that has the whole
// datum W, after which no handle of it is used.
func (h *Handle) Free() { h.d.free() }
