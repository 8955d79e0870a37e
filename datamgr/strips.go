package datamgr

// Strips: parts that differ along one axis only, such as blocks and rows with a
// halo, and views over data that others have cut before.

import "slices"

// strips gives each part its fragments, if all parts reach across h along all
// axes but one; the parts are in order along that axis and may overlap, and the
// fragments of h lie anyhow. False: nothing happened. One walk along the axis cuts
// all there is to cut: the parts need not be looked for in the tree, where the
// cuts of each would leave nodes behind. Submission lock held.
func (d *Datum) strips(h *Handle, parts []Handle, g *growth) (bool, error) {
	axis := stripAxis(h, parts)
	if axis < 0 {
		return false, nil
	}
	old := h.list()
	ends := endsOf(parts, axis, h.box.lo[axis], h.box.hi[axis])
	first := make([]int, len(ends)+1) // of each interval between two ends: its fragments, then the place of its first
	n, made, at := 0, 0, 0
	side, reach := false, h.box.lo[axis] // not all fragments lie one behind the other along the axis
	for _, f := range old {
		lo, hi := f.box.lo[axis], f.box.hi[axis]
		side, reach = side || lo < reach, max(reach, hi)
		at = interval(ends, lo, at)
		k := at
		for first[k]++; ends[k] < hi; first[k]++ {
			k++
		}
		n += k - at + 1
		if k > at {
			made += k - at + 1
		}
	}
	mentions := n
	if side {
		mentions *= 2
	}
	if err := g.make(made, mentions); err != nil {
		return false, err
	}
	all := make([]*Fragment, 0, n)
	var slab []Fragment
	deep := int32(0)
	at = 0
	for _, f := range old {
		lo, hi := f.box.lo[axis], f.box.hi[axis]
		if at = interval(ends, lo, at); ends[at] >= hi {
			all, deep = append(all, f), max(deep, f.deep)
			continue
		}
		from := len(all)
		for i := at; lo < hi; i++ {
			if len(slab) == 0 {
				if err := g.ended(); err != nil {
					return false, err
				}
				slab = make([]Fragment, min(256, made)) // 256 are a whole number of pages
			}
			k := &slab[0]
			slab, made = slab[1:], made-1
			k.box = f.box
			k.box.lo[axis], k.box.hi[axis] = lo, min(ends[i], hi)
			all = append(all, k)
			lo = ends[i]
		}
		d.splitInto(f, all[from:len(all):len(all)])
		deep = max(deep, all[from].deep)
	}
	sum := 0
	for i, k := range first {
		first[i], sum = sum, sum+k
	}
	if side {
		all = inIntervals(all, ends, first, axis)
	}
	from, to, start := 0, 0, h.box.lo[axis] // start is where interval from begins
	for i := range parts {
		p := &parts[i]
		for start < p.box.lo[axis] {
			start = ends[from]
			from++
		}
		for to < len(ends) && ends[to] <= p.box.hi[axis] {
			to++
		}
		p.frags = all[first[from]:first[to]:first[to]]
		if len(p.frags) == 1 {
			p.f0 = p.frags[0]
		}
	}
	return true, d.balance(deep, g)
}

// endsOf returns where parts begin and end along an axis between first and last, in order:
// last is one of them, first is not.
func endsOf(parts []Handle, axis, first, last int) []int {
	ends := make([]int, 0, 2*len(parts)+1)
	lo, hi := 0, 0 // the beginnings are in order, and so are the ends
	for hi < len(parts) {
		at := parts[hi].box.hi[axis]
		if lo < len(parts) && parts[lo].box.lo[axis] < at {
			at = parts[lo].box.lo[axis]
			lo++
		} else {
			hi++
		}
		if at > first {
			ends, first = append(ends, at), at
		}
	}
	if last > first {
		ends = append(ends, last)
	}
	return ends
}

// interval returns the place of the first of ends behind at. Near is its place as far as
// the caller can guess.
func interval(ends []int, at, near int) int {
	if near > 0 && ends[near-1] > at {
		near, _ = slices.BinarySearch(ends, at+1)
	}
	for ends[near] <= at {
		near++
	}
	return near
}

// inIntervals puts fragments in the order of the intervals in which they lie. Those of
// interval i begin at place first[i].
func inIntervals(all []*Fragment, ends, first []int, axis int) []*Fragment {
	out, next := make([]*Fragment, len(all)), slices.Clone(first)
	at := 0
	for _, f := range all {
		at = interval(ends, f.box.lo[axis], at)
		out[next[at]] = f
		next[at]++
	}
	return out
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
