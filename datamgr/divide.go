package datamgr

// Dividing an idle fragment at once: what most views do that are declared
// before the data is used.

// fan is the number of branches of the nodes that divide makes.
const fan = 16

// divide splits the only fragment of h into the pieces, if it is idle and they
// cover it without overlapping, in order along its axes, as blocks, rows, columns
// and tiles do. It returns the fragments, one for each piece, or nil: then
// nothing happened. Cutting out one piece after another would search the tree for
// each and leave three nodes behind: 1.4 µs a part where this takes 0.5.
// Submission lock held.
func (d *Datum) divide(h *Handle, pieces []piece) []*Fragment {
	f := h.f0
	if f == nil || f.kids != nil || f.box != h.box || len(pieces) < 2 || f.tail.rem.Load() != 1 || !covers(pieces, &h.box, 0) {
		return nil
	}
	out := make([]*Fragment, len(pieces))
	var slab []Fragment
	if len(pieces) > 170 { // above 32 KiB there is no header that would shift them off the cache lines
		slab = make([]Fragment, len(pieces))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for f.copies > 0 { // copies end by themselves
		d.mu.wake.Wait()
	}
	for i := range pieces {
		k := new(Fragment)
		if slab != nil {
			k = &slab[i]
		}
		f.inherit(k, &pieces[i].box)
		if f.tail.mode == modeC && !f.unordered {
			k.lock = nil // nobody holds it or waits for it
		}
		out[i] = k
	}
	d.fragments += len(out) - 1
	nodes := out
	for len(nodes) > fan {
		nodes = group16(nodes)
	}
	kids := append([]*Fragment(nil), nodes...)
	f.kids = &kids
	depth(f, f.deep)
	return out
}

// inherit makes k the piece of f that lies in box b, idle.
func (f *Fragment) inherit(k *Fragment, b *Box) {
	k.d, k.box, k.deep = f.d, *b, f.deep+1
	k.first.mode, k.first.inline = modeR, true
	storeOwned(&k.first.rem, 1)
	storeOwnedPointer(&k.first.waiters, &activated)
	k.tail = &k.first
	k.init, k.slow, k.why, k.gone, k.open = f.init, f.slow, f.why, f.gone, f.open
	k.valid, k.lock, k.unordered, k.fault = f.valid, f.lock, f.unordered, f.fault
}

// group16 puts nodes under new ones, fan under each.
func group16(nodes []*Fragment) []*Fragment {
	n := (len(nodes) + fan - 1) / fan
	slab, lists := make([]Fragment, n), make([][]*Fragment, n)
	up := make([]*Fragment, n)
	for i := range up {
		lists[i] = nodes[i*fan : min((i+1)*fan, len(nodes)) : min((i+1)*fan, len(nodes))]
		p := &slab[i]
		p.d, p.box, p.kids = nodes[0].d, lists[i][0].box, &lists[i]
		for _, k := range lists[i][1:] {
			p.box = p.box.hull(&k.box)
		}
		up[i] = p
	}
	return up
}

// depth notes how deep everything below f lies.
func depth(f *Fragment, n int32) {
	f.deep = n
	if f.kids != nil {
		for _, k := range *f.kids {
			depth(k, n+1)
		}
	}
}

// covers reports whether the pieces fill box along axes from axis on: in groups
// that lie side by side along that axis, each of which covers the rest.
func covers(pieces []piece, box *Box, axis int) bool {
	if axis == len(box.lo) {
		return len(pieces) == 1
	}
	at := box.lo[axis]
	for len(pieces) > 0 {
		lo, hi := pieces[0].box.lo[axis], pieces[0].box.hi[axis]
		if lo != at || hi <= lo {
			return false
		}
		n := 1
		for n < len(pieces) && pieces[n].box.lo[axis] == lo && pieces[n].box.hi[axis] == hi {
			n++
		}
		if !covers(pieces[:n], box, axis+1) {
			return false
		}
		at, pieces = hi, pieces[n:]
	}
	return at == box.hi[axis]
}
