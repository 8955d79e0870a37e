package datamgr

// Regions: what is left of a handle when parts of it are given back.

// Datum returns what h names a part of.
func (h *Handle) Datum() *Datum { return h.d }

// Same reports whether h and o name the same elements in the same order.
func (h *Handle) Same(o *Handle) bool {
	return h.d == o.d && h.box == o.box && h.axes == o.axes && h.rank == o.rank
}

// Region is a set of elements of one datum: disjoint boxes.
type Region []Box

// without takes the elements of b out of r, which is the caller's.
func (r Region) without(b *Box) Region {
	var out Region
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
func (r Region) touches(b *Box) bool {
	for i := range r {
		if r[i].touches(b) {
			return true
		}
	}
	return false
}

// covers reports whether r has all elements of b.
func (r Region) covers(b *Box) bool {
	n := 0
	for i := range r {
		if r[i].touches(b) {
			m := r[i].meet(b)
			n += m.size()
		}
	}
	return n == b.size()
}
