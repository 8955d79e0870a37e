package datamgr

// Dividing data at once into all parts of a view, instead of cutting out one
// after the other.

// fan is the number of branches of the nodes that divide makes.
const fan = 16

// divide splits the only fragment of h into the parts, if they cover it without
// overlapping, in order along its axes, as blocks, rows, columns and tiles do,
// and gives each its fragment. False: nothing happened. Cutting out one part
// after another would search the tree for each and leave three nodes behind.
// Submission lock held.
func (d *Datum) divide(h *Handle, parts []Handle) bool {
	f := h.f0
	if f == nil || f.kids != nil || f.box != h.box || len(parts) < 2 || !covers(parts, &h.box, 0) {
		return false
	}
	slab, out := make([]Fragment, len(parts)), make([]*Fragment, len(parts))
	for i := range parts {
		k := &slab[i]
		k.box, out[i] = parts[i].box, k
		parts[i].f0, parts[i].frags = k, out[i:i+1:i+1]
	}
	d.splitInto(f, out)
	return true
}

// inherit makes k, whose box is set, a piece of f, idle.
func (f *Fragment) inherit(k *Fragment, deep int32) {
	k.d, k.deep = f.d, deep
	k.first.mode, k.first.inline = modeR, true
	storeOwned(&k.first.rem, 1)
	storeOwnedPointer(&k.first.waiters, &activated)
	k.tail = &k.first
	k.init, k.slow, k.why, k.gone, k.open = f.init, f.slow, f.why, f.gone, f.open
	k.valid, k.lock, k.unordered, k.fault = f.valid, f.lock, f.unordered, f.fault
	k.inMain, k.had = f.inMain, f.had
	k.writing = f.writing
}

// pieces returns what f was split into, in the order in which splitInto was given
// them. Nodes that only group them have no epochs.
func (f *Fragment) pieces() []*Fragment {
	if (*f.kids)[0].tail != nil {
		return *f.kids
	}
	var out []*Fragment
	for _, k := range *f.kids {
		out = append(out, k.pieces()...)
	}
	return out
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

// depth notes how deep inner nodes lie; the leaves know already.
func depth(nodes []*Fragment, n int32) {
	for _, f := range nodes {
		if f.kids != nil {
			f.deep = n
			depth(*f.kids, n+1)
		}
	}
}

// covers reports whether the parts fill box along axes from axis on: in groups
// that lie side by side along that axis, each of which covers the rest.
func covers(parts []Handle, box *Box, axis int) bool {
	if axis == len(box.lo) {
		return len(parts) == 1
	}
	at := box.lo[axis]
	for len(parts) > 0 {
		lo, hi := parts[0].box.lo[axis], parts[0].box.hi[axis]
		if lo != at || hi <= lo {
			return false
		}
		n := 1
		for n < len(parts) && parts[n].box.lo[axis] == lo && parts[n].box.hi[axis] == hi {
			n++
		}
		if !covers(parts[:n], box, axis+1) {
			return false
		}
		at, parts = hi, parts[n:]
	}
	return at == box.hi[axis]
}
