package datamgr

// Strips: parts that differ along one axis only, such as blocks and rows with a
// halo, and views over data that others have cut before.

import (
	"cmp"
	"slices"
)

// strips gives each part its fragments, if all parts reach across h along all
// axes but one, and so do the fragments of h; the parts are in order along that
// axis and may overlap. False: nothing happened. One walk along the axis cuts
// all there is to cut: the parts need not be looked for in the tree, where the
// cuts of each would leave nodes behind. Submission lock held.
func (d *Datum) strips(h *Handle, parts []Handle) bool {
	axis := stripAxis(h, parts)
	if axis < 0 {
		return false
	}
	old := h.list()
	for _, f := range old {
		if !across(&f.box, &h.box, axis) {
			return false
		}
	}
	byPlace := func(a, b *Fragment) int { return cmp.Compare(a.box.lo[axis], b.box.lo[axis]) }
	if !slices.IsSortedFunc(old, byPlace) {
		old = slices.Clone(old)
		slices.SortFunc(old, byPlace)
	}
	// The ends of the parts in order: firsts and lasts are, each for themselves.
	first, last := 0, 0
	next := func(after int) int { // the first end behind a place, or the end of h
		for first < len(parts) && parts[first].box.lo[axis] <= after {
			first++
		}
		for last < len(parts) && parts[last].box.hi[axis] <= after {
			last++
		}
		at := h.box.hi[axis]
		if first < len(parts) {
			at = min(at, parts[first].box.lo[axis])
		}
		if last < len(parts) {
			at = min(at, parts[last].box.hi[axis])
		}
		return at
	}
	all := make([]*Fragment, 0, len(old)+2*len(parts))
	var slab []Fragment
	deep := int32(0)
	for _, f := range old {
		lo, hi := f.box.lo[axis], f.box.hi[axis]
		at := next(lo)
		if at >= hi {
			all, deep = append(all, f), max(deep, f.deep)
			continue
		}
		from := len(all)
		for lo < hi {
			if len(slab) == 0 {
				slab = make([]Fragment, min(256, 2*len(parts)+1)) // 256 are a whole number of pages
			}
			k := &slab[0]
			slab = slab[1:]
			k.box = f.box
			k.box.lo[axis], k.box.hi[axis] = lo, min(at, hi)
			all = append(all, k)
			if lo = at; lo < hi {
				at = next(lo)
			}
		}
		d.splitInto(f, all[from:len(all):len(all)])
		deep = max(deep, all[from].deep)
	}
	from, to := 0, 0
	for i := range parts {
		p := &parts[i]
		for all[from].box.lo[axis] < p.box.lo[axis] {
			from++
		}
		for to < len(all) && all[to].box.hi[axis] <= p.box.hi[axis] {
			to++
		}
		p.frags = all[from:to:to]
		if to-from == 1 {
			p.f0 = all[from]
		}
	}
	d.balance(deep)
	return true
}

// stripAxis returns the only axis along which the parts differ from h, when they
// are in order along it; else -1.
func stripAxis(h *Handle, parts []Handle) int {
	axis := -1
	for k := range h.box.lo {
		if parts[0].box.lo[k] == h.box.lo[k] && parts[0].box.hi[k] == h.box.hi[k] {
			continue
		}
		if axis >= 0 {
			return -1
		}
		axis = k
	}
	if axis < 0 {
		return -1
	}
	for i := range parts {
		b := &parts[i].box
		if !across(b, &h.box, axis) || i > 0 && (b.lo[axis] < parts[i-1].box.lo[axis] || b.hi[axis] < parts[i-1].box.hi[axis]) {
			return -1
		}
	}
	return axis
}

// across reports whether b is as long as box along all axes but one.
func across(b, box *Box, axis int) bool {
	for k := range b.lo {
		if k != axis && (b.lo[k] != box.lo[k] || b.hi[k] != box.hi[k]) {
			return false
		}
	}
	return true
}
