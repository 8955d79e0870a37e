package datamgr

// Placement: where the operands of a task lie, and which copies are valid.
//
// All of a datum lies in its main instance. A handle that strides cannot
// express there (a column picked as a vector) gets a packed instance of its
// own. Instances that overlap are on different layers, and a fragment is valid
// on a layer or not. A task first takes its locks, then chooses all its
// instances, then fetches what it reads, then each fragment that it writes
// becomes valid only in its own instance, before the kernel starts: nothing is
// left to do at its end.

import (
	"slices"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
)

// maxLayers is the number of validity bits of a fragment.
const maxLayers = 64

// Placement holds the instances that one task uses. It belongs to the task.
type Placement struct {
	at   []*instance // by operand; nil: the main instance
	pins []pin
}

type pin struct {
	d  *Datum
	in *instance
}

// PrepareMain makes the main instance of h exist: all that a plain task needs.
func (h *Handle) PrepareMain() error {
	if h.d.void {
		return nil
	}
	return h.d.allocate()
}

// Prepare chooses the instances of a task, fetches what it reads and claims
// what it writes. After an error nothing is pinned.
func (p *Placement) Prepare(ops []Operand) error {
	p.at, p.pins = p.at[:0], p.pins[:0]
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
	for i := range ops {
		d := ops[i].Handle.d
		if ops[i].Mode == modeScratch || ops[i].Mode == modeRedux || d.void || ops[i].Handle.State()&statePacked == 0 || needed(ops[:i], d) {
			continue
		}
		if err := p.prepareDatum(d, ops); err != nil {
			p.Release()
			return err
		}
	}
	return nil
}

// needed reports whether an operand that needs an instance of d is in ops.
func needed(ops []Operand, d *Datum) bool {
	for i := range ops {
		if ops[i].Handle.d == d && ops[i].Mode != modeScratch && ops[i].Mode != modeRedux {
			return true
		}
	}
	return false
}

func (p *Placement) prepareDatum(d *Datum, ops []Operand) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := p.chooseLocked(d, ops); err != nil {
		return err
	}
	for i := range ops {
		op := &ops[i]
		if op.Handle.d == d && op.Mode.Reads() {
			d.fetchLocked(op.Handle, p.instance(i, d))
		}
	}
	for i := range ops {
		op := &ops[i]
		if op.Handle.d == d && op.Mode.Writes() && op.Mode != modeRedux {
			d.claimLocked(op.Handle, p.instance(i, d))
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

// chooseLocked pins a packed instance for every operand on d that needs one:
// all at once, so that no two tasks wait for each other's.
func (p *Placement) chooseLocked(d *Datum, ops []Operand) error {
	from := len(p.pins)
again:
	for i := range ops {
		op := &ops[i]
		if op.Handle.d != d || op.Handle.how == inPlace || op.Mode == modeScratch || op.Mode == modeRedux {
			continue
		}
		in, err := d.packedLocked(groupBox(ops, i))
		if in == nil {
			for _, q := range p.pins[from:] {
				q.in.pins--
			}
			p.pins = p.pins[:from]
			if err != nil {
				return err
			}
			d.mu.wake.Wait()
			goto again
		}
		in.pins++
		p.pins = append(p.pins, pin{d, in})
		p.at[i] = in
	}
	return nil
}

// groupBox is what the instance of operand i must hold: operands that overlap,
// one of them written, share one.
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

// packedLocked returns the smallest packed instance that holds box, or makes
// one; nil when that has to wait for one that is in use.
func (d *Datum) packedLocked(box Box) (*instance, error) {
	var best *instance
	for _, l := range d.mu.layers {
		for _, in := range l {
			if in.box.has(&box) && (best == nil || in.box.size() < best.box.size()) {
				best = in
			}
		}
	}
	if best != nil {
		return best, nil
	}
	layer := -1
	for k, l := range d.mu.layers {
		if !overlapping(l, &box) {
			layer = k
			break
		}
	}
	if layer < 0 && len(d.mu.layers) < maxLayers-1 {
		d.mu.layers = append(d.mu.layers, nil)
		layer = len(d.mu.layers) - 1
	}
	for k := 0; layer < 0 && k < len(d.mu.layers); k++ {
		if d.clearLocked(k, &box) {
			layer = k
		}
	}
	if layer < 0 {
		return nil, nil
	}
	size := int64(d.desc.Elem.Size())
	in := &instance{box: box, bytes: int64(box.size()) * size, layer: layer + 1}
	p, err := d.reg.mem.Alloc(in.bytes)
	if err != nil {
		return nil, err
	}
	in.ptr = p
	s := 1
	for k := int(d.desc.Rank) - 1; k >= 0; k-- {
		in.stride[k] = s
		s *= box.hi[k] - box.lo[k]
	}
	d.mu.layers[layer] = append(d.mu.layers[layer], in)
	return in, nil
}

func overlapping(l []*instance, box *Box) bool {
	for _, in := range l {
		if in.box.touches(box) {
			return true
		}
	}
	return false
}

// clearLocked drops the instances on layers[k] that overlap box, if none of
// them is in use.
func (d *Datum) clearLocked(k int, box *Box) bool {
	for _, in := range d.mu.layers[k] {
		if in.box.touches(box) && in.pins > 0 {
			return false
		}
	}
	for _, in := range slices.Clone(d.mu.layers[k]) {
		if in.box.touches(box) && !d.dropLocked(in) {
			return false
		}
	}
	return true
}

// dropLocked frees an instance that is not in use, after copying what is valid
// only there to the main instance. False: copies from it are under way.
func (d *Datum) dropLocked(in *instance) bool {
	bit := uint64(1) << in.layer
	busy := in.pins > 0
	var save []*Fragment
	d.root.leaves(&in.box, func(f *Fragment) {
		if !in.box.has(&f.box) || f.valid&bit == 0 {
			return
		}
		busy = busy || f.copies > 0
		if f.valid == bit {
			save = append(save, f)
		}
	})
	if busy {
		return false
	}
	for _, f := range save {
		copyBox(d.main.Load(), in, &f.box, d.desc.Elem.Size())
		d.reg.copied(&f.box, d.desc.Elem.Size())
		f.valid |= mainBit
	}
	d.root.leaves(&in.box, func(f *Fragment) {
		if in.box.has(&f.box) {
			f.valid &^= bit
		}
	})
	l := d.mu.layers[in.layer-1]
	for i, o := range l {
		if o == in {
			d.mu.layers[in.layer-1] = append(l[:i:i], l[i+1:]...)
		}
	}
	d.reg.mem.Free(in.ptr, in.bytes)
	return true
}

// dropLayersLocked frees all packed instances; nothing is under way.
func (d *Datum) dropLayersLocked() {
	for k := range d.mu.layers {
		for len(d.mu.layers[k]) > 0 && d.dropLocked(d.mu.layers[k][0]) {
		}
	}
}

// fetchLocked makes every fragment of h valid in in. The lock is free while
// bytes move, so a walk only notes what to fetch: each fragment is looked at
// again when its turn comes, and all of them once more at the end.
func (d *Datum) fetchLocked(h *Handle, in *instance) {
	bit := uint64(1) << in.layer
	var todo []*Fragment
	for {
		wait := false
		todo = todo[:0]
		d.root.leaves(&h.box, func(f *Fragment) {
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
				if f.kids == nil && (f.valid|f.arriving)&bit == 0 {
					d.copyLocked(f, d.sourceLocked(f), in)
				}
			}
		case wait:
			d.mu.wake.Wait()
		default:
			return
		}
	}
}

// sourceLocked is an instance where f is valid.
func (d *Datum) sourceLocked(f *Fragment) *instance {
	if f.valid&mainBit != 0 {
		return d.main.Load()
	}
	for k, l := range d.mu.layers {
		if f.valid&(1<<(k+1)) == 0 {
			continue
		}
		for _, in := range l {
			if in.box.has(&f.box) {
				return in
			}
		}
	}
	return d.main.Load()
}

func (d *Datum) copyLocked(f *Fragment, src, dst *instance) {
	bit := uint64(1) << dst.layer
	f.arriving |= bit
	f.copies++
	src.pins++
	dst.pins++
	d.mu.Unlock()
	copyBox(dst, src, &f.box, d.desc.Elem.Size())
	d.reg.copied(&f.box, d.desc.Elem.Size())
	d.mu.Lock()
	f.arriving &^= bit
	f.copies--
	f.valid |= bit
	src.pins--
	dst.pins--
	d.mu.wake.Broadcast()
}

// claimLocked makes every fragment of h valid in in only. No copy of it may be
// under way.
func (d *Datum) claimLocked(h *Handle, in *instance) {
	for {
		wait := false
		d.root.leaves(&h.box, func(f *Fragment) { wait = wait || f.copies > 0 })
		if !wait {
			break
		}
		d.mu.wake.Wait()
	}
	d.root.leaves(&h.box, func(f *Fragment) { f.valid = 1 << in.layer })
}

// claimBoxes makes the main instance the only valid one for the boxes.
func (d *Datum) claimBoxes(boxes []Box) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range boxes {
		d.root.leaves(&boxes[i], func(f *Fragment) { f.valid = mainBit })
	}
}

// Release unpins the instances. Those that hold nothing valid are freed.
func (p *Placement) Release() {
	for _, q := range p.pins {
		d := q.d
		d.mu.Lock()
		q.in.pins--
		if q.in.pins == 0 {
			useful := false
			bit := uint64(1) << q.in.layer
			d.root.leaves(&q.in.box, func(f *Fragment) {
				useful = useful || q.in.box.has(&f.box) && (f.valid|f.arriving)&bit != 0
			})
			if !useful && !d.mu.freed {
				d.dropLocked(q.in)
			}
			d.mu.wake.Broadcast()
		}
		d.mu.Unlock()
	}
	p.pins, p.at = p.pins[:0], p.at[:0]
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
	if m := d.main.Load(); m != nil && m.ptr != nil {
		b.Ptr = unsafe.Add(m.ptr, h.off)
	}
	for k := range int(h.rank) {
		b.Stride[k] = d.stride[h.axes[k]]
	}
	if r := h.rank; r > 0 && b.Dim[r-1] <= 1 {
		b.Stride[r-1] = 1
	}
}

// Gather copies what is valid only in packed instances to the main one, and
// frees the packed instances that nobody uses. Called in a task that has h RW.
func (h *Handle) Gather() error {
	d := h.d
	if d.void || h.State()&statePacked == 0 || d.main.Load() == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fetchLocked(h, d.main.Load())
	for k := range d.mu.layers {
		for _, in := range slices.Clone(d.mu.layers[k]) {
			if h.box.has(&in.box) {
				d.dropLocked(in)
			}
		}
	}
	return nil
}

// Drop forgets the value of h: called in a task that has h W. Packed copies hold
// nothing any more.
func (h *Handle) Drop() {
	d := h.d
	d.mu.Lock()
	defer d.mu.Unlock()
	d.root.leaves(&h.box, func(f *Fragment) { f.valid, f.fault = mainBit, nil })
}

// Free gives the memory of the datum back: called in a task that has the whole
// datum W, after which no handle of it is used.
func (h *Handle) Free() { h.d.free() }
