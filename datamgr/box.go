package datamgr

// Boxes: rectangular ranges of a datum's index space.

import "github.com/starpush/starpush/datamgr/iface"

// Box is the elements lo ≤ i < hi of a datum. Axes that a datum does not have
// are 0..1, so that every box has the same number of axes; an axis without
// elements counts as one, so that boxes are never empty.
type Box struct{ lo, hi [iface.MaxRank]int }

func boxOf(d *iface.Desc) Box {
	var b Box
	for k := range b.hi {
		b.hi[k] = 1
		if k < int(d.Rank) {
			b.hi[k] = max(1, d.Dim[k])
		}
	}
	return b
}

func (b *Box) touches(o *Box) bool {
	for k := range b.lo {
		if b.lo[k] >= o.hi[k] || o.lo[k] >= b.hi[k] {
			return false
		}
	}
	return true
}

// has reports whether o lies in b.
func (b *Box) has(o *Box) bool {
	for k := range b.lo {
		if o.lo[k] < b.lo[k] || o.hi[k] > b.hi[k] {
			return false
		}
	}
	return true
}

// meet returns what b and o share; they must touch.
func (b *Box) meet(o *Box) Box {
	var m Box
	for k := range b.lo {
		m.lo[k], m.hi[k] = max(b.lo[k], o.lo[k]), min(b.hi[k], o.hi[k])
	}
	return m
}

// hull returns the smallest box that holds b and o.
func (b *Box) hull(o *Box) Box {
	var m Box
	for k := range b.lo {
		m.lo[k], m.hi[k] = min(b.lo[k], o.lo[k]), max(b.hi[k], o.hi[k])
	}
	return m
}

// size is the number of elements.
func (b *Box) size() int {
	n := 1
	for k := range b.lo {
		n *= b.hi[k] - b.lo[k]
	}
	return n
}

// around appends to out the boxes that are left of b when in is cut out of it,
// and in itself. The first axis is cut first, so that rows stay whole.
func (b *Box) around(in Box, out []Box) []Box {
	rest := *b
	for k := range b.lo {
		if rest.lo[k] < in.lo[k] {
			s := rest
			s.hi[k] = in.lo[k]
			out = append(out, s)
		}
		if rest.hi[k] > in.hi[k] {
			s := rest
			s.lo[k] = in.hi[k]
			out = append(out, s)
		}
		rest.lo[k], rest.hi[k] = in.lo[k], in.hi[k]
	}
	return append(out, in)
}

// Regions: what is left of a handle when parts of it are given back.

// region is a set of elements of one datum: disjoint boxes.
type region []Box

// without takes the elements of b out of r, which is the caller's.
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
