package datamgr

// Instances other than the main one, sorted into layers: the instances of one
// layer are on one node and none of them overlap, so a fragment is in one of them
// at most, and a bit for each layer says where it is valid. unpinLocked and removeLocked
// wake the tasks that wait for memory on a node.

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr/iface"
)

// maxLayers is the number of validity bits of a fragment, that of the main
// instance included.
const maxLayers = 64

// layer is a set of instances.
type layer struct {
	node  *node
	insts []*instance
}

// fits reports whether rows along the axes in rows lie side by side in an
// instance that holds exactly b.
func (b *Box) fits(rows uint8) bool {
	for a := range b.axes() {
		if rows&(1<<a) == 0 {
			continue
		}
		for k := a + 1; k < b.axes(); k++ {
			if b.length(k) > 1 {
				return false
			}
		}
	}
	return true
}

// rows is the axis along which the elements of a buffer of h must lie side by
// side, as a set.
func (h *Handle) rows() uint8 {
	if r := int(h.rank); r > 0 && h.dim(r-1) > 1 {
		return 1 << h.axes.at(r-1)
	}
	return 0
}

// fitsWith reports whether one piece of memory can express op and o, which share
// elements: both are in place, or packed along the same axis.
func (op *Operand) fitsWith(o *Operand) bool {
	return op.how() == o.how() && (op.how() == inPlace || op.Handle.rows() == o.Handle.rows())
}

// findLocked returns the smallest instance on n that holds box and has rows side by
// side, or nil.
func (d *Datum) findLocked(n *node, box *Box, rows uint8) *instance {
	var best *instance
	for _, l := range d.mu.layers {
		if l.node != n {
			continue
		}
		for _, in := range l.insts {
			if !in.leaving && !in.outside && in.box.has(box) && in.box.fits(rows) && (best == nil || in.box.size() < best.box.size()) {
				best = in
			}
		}
	}
	return best
}

// makeLocked makes an instance on n for box; nil when that has to wait for one that
// is in use, because there are no layers left.
func (d *Datum) makeLocked(n *node, box Box) (*instance, error) {
	return d.makeInLocked(n, n.mem, box)
}

// makeInLocked is makeLocked with memory of mem: that of n, or what the program
// holds beside it.
func (d *Datum) makeInLocked(n *node, mem accel.Memory, box Box) (*instance, error) {
	if e := n.lost.Load(); e != nil {
		return nil, e
	}
	k := d.layerLocked(n, &box)
	if k < 0 {
		return nil, nil
	}
	in := &instance{d: d, node: n, box: box, bytes: d.bytesOf(&box), layer: int32(k + 1)}
	alloc := mem.Alloc
	if mem == n.mem {
		alloc = n.alloc
	}
	if d.object != nil {
		alloc = func(bytes int64) (unsafe.Pointer, error) { return d.allocObject(n, mem, bytes) }
	}
	p, err := alloc(in.bytes)
	if err != nil {
		return nil, err
	}
	in.ptr, in.outside = p, mem != n.mem
	var stride [iface.MaxRank]int
	s := 1
	for k := int(d.rank) - 1; k >= 0; k-- {
		stride[k] = s
		s *= box.length(k)
	}
	in.stride = stridesOf(&stride, d.rank)
	l := &d.mu.layers[k]
	l.node, l.insts = n, append(l.insts, in)
	if n.bounded && !in.outside {
		n.list(in)
	}
	return in, nil
}

// list makes in one of those that can be evicted.
func (n *node) list(in *instance) {
	n.mu.Lock()
	n.mu.insts = append(n.mu.insts, in)
	n.mu.Unlock()
}

// bytesOf is the size of an instance that holds exactly b.
func (d *Datum) bytesOf(b *Box) int64 {
	if d.object != nil {
		return d.weight()
	}
	return int64(b.size()) * int64(d.elem.Size())
}

// layerLocked finds room for box in a layer of n; -1: in none.
func (d *Datum) layerLocked(n *node, box *Box) int {
	if k := d.openLayerLocked(n, box); k >= 0 {
		return k
	}
	for k := range d.mu.layers {
		switch cleared, saved := d.clearLocked(k, n, box); {
		case cleared:
			return k
		case saved:
			return d.layerLocked(n, box) // the lock was free for a while
		}
	}
	return -1
}

// openLayerLocked is layerLocked that drops nothing.
func (d *Datum) openLayerLocked(n *node, box *Box) int {
	ls := d.mu.layers
	for k := range ls {
		if len(ls[k].insts) == 0 || ls[k].node == n && !overlapping(ls[k].insts, box) {
			return k
		}
	}
	if len(ls) < maxLayers-1 {
		d.mu.layers = append(ls, layer{})
		return len(ls)
	}
	return -1
}

func overlapping(l []*instance, box *Box) bool {
	for _, in := range l {
		if in.box.touches(box) {
			return true
		}
	}
	return false
}

// clearLocked drops what keeps box on n out of layer k, if none of it is in use.
// When something has to be saved first, it saves some of that and reports saved:
// the lock was free meanwhile.
func (d *Datum) clearLocked(k int, n *node, box *Box) (cleared, saved bool) {
	l := &d.mu.layers[k]
	inTheWay := func(in *instance) bool { return l.node != n || in.box.touches(box) }
	for _, in := range l.insts {
		if inTheWay(in) && (in.pins > 0 || in.leaving) {
			return false, false
		}
	}
	for _, in := range slices.Clone(l.insts) {
		if !inTheWay(in) {
			continue
		}
		if f := d.onlyInLocked(in); f != nil {
			return false, f.copies == 0 && d.saveLocked(f, in) == nil
		}
		if !d.dropLocked(in) {
			return false, false
		}
	}
	return true, false
}

// dropLocked frees an instance that holds nothing that is not elsewhere. False: it
// does, or is in use, or on its way out, or copies from it are under way.
func (d *Datum) dropLocked(in *instance) bool {
	bit := uint64(1) << in.layer
	busy := in.pins > 0 || in.leaving
	d.root.leaves(&in.box, func(f *fragment) {
		busy = busy || in.box.has(&f.box) && f.valid&bit != 0 && (f.copies > 0 || f.valid == bit)
	})
	if busy {
		return false
	}
	d.removeLocked(in)
	return true
}

// removeLocked frees an idle instance.
func (d *Datum) removeLocked(in *instance) {
	bit := uint64(1) << in.layer
	strays := false
	d.root.leaves(&in.box, func(f *fragment) {
		if in.box.has(&f.box) {
			strays = strays || f.valid&bit != 0 && f.valid&mainBit == 0
			f.valid &^= bit
		}
	})
	if strays {
		d.strayLocked(in.node)
	}
	l := &d.mu.layers[in.layer-1]
	l.insts = slices.DeleteFunc(l.insts, func(o *instance) bool { return o == in })
	in.gone = true
	n := in.node
	switch {
	case in.outside:
		d.reg.aside.Free(in.ptr, in.bytes) // of an object, too: it counts
		return
	case in.given:
	case d.object != nil:
		d.freeObject(n.mem, in.bytes)
	case d.noCache:
		n.mem.Free(in.ptr, in.bytes)
	default:
		n.free(in.ptr, in.bytes)
	}
	if n.bounded {
		n.mu.Lock()
		n.mu.insts = slices.DeleteFunc(n.mu.insts, func(o *instance) bool { return o == in })
		n.mu.changes++
		n.mu.wake.Broadcast()
		n.mu.Unlock()
	}
}

// dropLayersLocked frees all idle instances except the main one.
func (d *Datum) dropLayersLocked() { d.dropInLocked(&d.box) }

// dropInLocked frees the idle instances that lie in b.
func (d *Datum) dropInLocked(b *Box) {
	for k := range d.mu.layers {
		for _, in := range slices.Clone(d.mu.layers[k].insts) {
			if b.has(&in.box) {
				d.dropLocked(in)
			}
		}
	}
}

// pinLocked keeps in where it is.
func (in *instance) pinLocked() {
	in.pins++
	if n := in.node; n.bounded && !in.outside && in.pins == in.holds+1 {
		n.mu.Lock()
		n.mu.pinned++
		n.mu.Unlock()
	}
}

// unpinLocked ends pinLocked. With news it wakes the goroutines that wait for room; only
// the goroutine whose turn it is to look for room need not.
func (in *instance) unpinLocked(news bool) {
	in.pins--
	n := in.node
	if !n.bounded || in.outside || in.pins > in.holds {
		return
	}
	n.mu.Lock()
	n.mu.pinned--
	if news {
		n.mu.changes++
		n.mu.wake.Broadcast()
	}
	n.mu.Unlock()
}

// usefulLocked reports whether something is valid in in, or on its way there.
func (d *Datum) usefulLocked(in *instance) bool {
	bit := uint64(1) << in.layer
	useful := false
	d.root.leaves(&in.box, func(f *fragment) {
		useful = useful || in.box.has(&f.box) && (f.valid|f.arriving)&bit != 0
	})
	return useful
}

// uselessLocked frees in if it is idle and empty.
func (d *Datum) uselessLocked(in *instance) {
	if in.pins == 0 && !in.leaving && !in.gone && !d.mu.freed && !d.usefulLocked(in) {
		d.removeLocked(in)
	}
}

// describePart describes the elements of box, part of h, that lie in in.
func (in *instance) describePart(h *Handle, box *Box, b *iface.Buffer) {
	*b = iface.Buffer{Ptr: in.at(box, h.elem.Size())}
	h.describe(&b.Desc)
	for k := range int(h.rank) {
		a := h.axes.at(k)
		b.Dim[k], b.Stride[k] = box.length(a), in.stride.at(a)
	}
}

// counter is a memory that counts what is allocated, as accel.Usage does.
type counter interface {
	Reserve(bytes int64) error
	Keep()
	Grow(bytes int64)
	Release(bytes int64)
}

// allocObject makes a variable for an object that spills; mem counts its bytes.
func (d *Datum) allocObject(n *node, mem accel.Memory, bytes int64) (unsafe.Pointer, error) {
	if n.id != 0 {
		return nil, fmt.Errorf("datamgr: %s has no place for values of type %v: they are in main memory only", n.mem.Name(), d.object.Type)
	}
	if mem == n.mem {
		n.giveBack(bytes - (mem.Capacity() - mem.Allocated()))
	}
	if c, ok := mem.(counter); ok {
		if err := c.Reserve(bytes); err != nil {
			return nil, err
		}
		c.Keep()
	}
	return d.object.New(), nil
}

// freeObject undoes allocObject.
func (d *Datum) freeObject(mem accel.Memory, bytes int64) {
	if c, ok := mem.(counter); ok {
		c.Release(bytes)
	}
}
