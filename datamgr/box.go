package datamgr

// Boxes: rectangular ranges of a datum's index space.

import "github.com/starpush/starpush/datamgr/iface"

// near is the number of axes whose numbers boxes and strides keep side by side. Data of more axes is rare, and
// must cost other data nothing: a view may have 100 000 parts, and each has a box, as has each of their fragments.
const near = 4

// Box is the elements lo ≤ i < hi of a datum. Axes that a datum does not have
// are 0..1, so that all boxes of a datum have the same number of axes; an axis without
// elements counts as one, so that boxes are never empty.
//
// A box of at most four axes has lo[k] and hi[k] for axis k. A wide one, of data with more, has 32 bits for each
// number: axis k is in the lower half of lo[k] and hi[k], and axis near+k in the upper half. The sign of hi[0] says
// that a box is wide. Boxes of the same elements are equal.
type Box struct{ lo, hi [near]int64 }

// wideMax is the largest size of an axis of a wide box.
const wideMax = 1<<31 - 1

// wideMark is the sign of hi[0].
const wideMark = -1 << 63

func boxOf(d *iface.Desc) Box {
	var b Box
	if d.Rank > near {
		b.hi[0] = wideMark
	}
	for k := range b.axes() {
		n := 1
		if k < int(d.Rank) {
			n = max(1, d.Dim[k])
		}
		b.set(k, 0, n)
	}
	return b
}

// wide reports whether b is of data with more than four axes.
func (b *Box) wide() bool { return b.hi[0] < 0 }

// axes returns the number of axes of b.
func (b *Box) axes() int {
	if b.wide() {
		return iface.MaxRank
	}
	return near
}

// at returns the interval of b along axis k.
func (b *Box) at(k int) (lo, hi int) {
	if b.wide() {
		return b.wideAt(k)
	}
	return int(b.lo[k]), int(b.hi[k])
}

func (b *Box) wideAt(k int) (lo, hi int) {
	if k < near {
		return int(uint32(b.lo[k])), int(uint32(b.hi[k]))
	}
	return int(b.lo[k-near] >> 32), int(b.hi[k-near] >> 32 & wideMax)
}

// from returns where b begins along axis k.
func (b *Box) from(k int) int {
	lo, _ := b.at(k)
	return lo
}

// to returns where b ends along axis k.
func (b *Box) to(k int) int {
	_, hi := b.at(k)
	return hi
}

// length returns the number of indices of b along axis k.
func (b *Box) length(k int) int {
	lo, hi := b.at(k)
	return hi - lo
}

// sameAlong reports whether b and o are the same along axis k.
func (b *Box) sameAlong(o *Box, k int) bool {
	lo, hi := b.at(k)
	from, to := o.at(k)
	return lo == from && hi == to
}

// set makes lo ≤ i < hi the interval of b along axis k.
func (b *Box) set(k, lo, hi int) {
	switch {
	case !b.wide():
		b.lo[k], b.hi[k] = int64(lo), int64(hi)
	case k < near:
		b.lo[k] = b.lo[k]&^(1<<32-1) | int64(lo)
		b.hi[k] = b.hi[k]&^(1<<32-1) | int64(hi)
	default:
		k -= near
		b.lo[k] = b.lo[k]&(1<<32-1) | int64(lo)<<32
		b.hi[k] = b.hi[k]&(1<<32-1) | int64(hi)<<32
		if k == 0 {
			b.hi[0] |= wideMark
		}
	}
}

func (b *Box) touches(o *Box) bool {
	if b.wide() {
		for k := range iface.MaxRank {
			lo, hi := b.wideAt(k)
			if from, to := o.wideAt(k); lo >= to || from >= hi {
				return false
			}
		}
		return true
	}
	for k := range b.lo {
		if b.lo[k] >= o.hi[k] || o.lo[k] >= b.hi[k] {
			return false
		}
	}
	return true
}

// has reports whether o lies in b.
func (b *Box) has(o *Box) bool {
	if b.wide() {
		for k := range iface.MaxRank {
			lo, hi := b.wideAt(k)
			if from, to := o.wideAt(k); from < lo || to > hi {
				return false
			}
		}
		return true
	}
	for k := range b.lo {
		if o.lo[k] < b.lo[k] || o.hi[k] > b.hi[k] {
			return false
		}
	}
	return true
}

// meet returns what b and o share; they must touch.
func (b *Box) meet(o *Box) Box {
	m := *b
	for k := range b.axes() {
		lo, hi := b.at(k)
		from, to := o.at(k)
		m.set(k, max(lo, from), min(hi, to))
	}
	return m
}

// hull returns the smallest box that holds b and o.
func (b *Box) hull(o *Box) Box {
	m := *b
	for k := range b.axes() {
		lo, hi := b.at(k)
		from, to := o.at(k)
		m.set(k, min(lo, from), max(hi, to))
	}
	return m
}

// size is the number of elements.
func (b *Box) size() int {
	n := 1
	for k := range b.axes() {
		n *= b.length(k)
	}
	return n
}

// around appends to out the boxes that are left of b when in is cut out of it,
// and in itself. The first axis is cut first, so that rows stay whole.
func (b *Box) around(in Box, out []Box) []Box {
	rest := *b
	for k := range b.axes() {
		lo, hi := b.at(k)
		from, to := in.at(k)
		if lo < from {
			s := rest
			s.set(k, lo, from)
			out = append(out, s)
		}
		if hi > to {
			s := rest
			s.set(k, to, hi)
			out = append(out, s)
		}
		rest.set(k, from, to)
	}
	return append(out, in)
}

// Regions: what is left of a handle when parts of it are given back.

// region is a set of elements of one datum: disjoint boxes.
type region []Box

// without returns r without the elements of b. r stays as it is.
func (r region) without(b *Box) region {
	var out region
	for i := range r {
		if !r[i].touches(b) {
			out = append(out, r[i])
			continue
		}
		around := r[i].around(r[i].meet(b), nil)
		out = append(out, around[:len(around)-1]...) // the last is what they share
	}
	return out
}

// touches reports whether r has an element of b.
func (r region) touches(b *Box) bool {
	for i := range r {
		if r[i].touches(b) {
			return true
		}
	}
	return false
}

// covers reports whether r has all elements of b.
func (r region) covers(b *Box) bool {
	n := 0
	for i := range r {
		if r[i].touches(b) {
			m := r[i].meet(b)
			n += m.size()
		}
	}
	return n == b.size()
}
