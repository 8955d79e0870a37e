package oracle

// Registered data and its views: parts are lists of the places of their elements.

import (
	"slices"
)

// A cell is one element of a datum.
type cell struct {
	Value
	has     state        // by what was inserted
	filled  bool         // by what ran
	lost    map[int]bool // failed tasks for which it has no value; nil: it has one
	group   *group       // open contributions
	busy    bool         // tasks in order use it, and no wait for all came since
	loose   bool         // tasks without order do
	commute *commuters
}

// state says whether a cell has a value, as far as tasks were inserted.
type state uint8

const (
	unwritten state = iota
	invalidated
	written
)

// A datum is registered data.
type datum struct {
	name  string
	data  *Data
	cells []cell
	dead  bool
	whole *handle
}

// A handle is a datum or a part of it.
type handle struct {
	*datum
	shape  Shape
	dims   []int
	offset []int
	places []int // of its elements in the datum, the last index fastest
	of     *view // nil: the whole
	deflt  *view
	among  *view   // of a field: what the default view of its structs makes of it
	sparse *Sparse // of the values of all of a sparse matrix, or of a part of one; nil: it is no such data
	reduce string  // see Data; parts of another kind have none of the script
}

// A view is a set of parts.
type view struct {
	of    *handle
	dims  []int // how parts are indexed
	parts []*handle
	ended bool
	// sparse: the parts are sparse matrices. If about is set, nothing says where one ends: only all
	// parts together are known.
	sparse, about bool
}

// alive reports whether h can be used; code is the error when it cannot.
func (h *handle) alive() (code string) {
	for v := h.of; v != nil; v = v.of.of {
		if v.ended {
			code = "E0506"
		}
	}
	if h.dead {
		code = "E0403"
	}
	return code
}

// defaultView is where the default view with the parts name[i] keeps those of h: h is the handle with the name, or a field of the structs with it.
func (h *handle) defaultView(name string) **view {
	if structOf(name) != name {
		return &h.among
	}
	return &h.deflt
}

func newDatum(name string, d *Data) *datum {
	n := 1
	for _, k := range d.Dims {
		n *= k
	}
	x := &datum{name: name, data: d, cells: make([]cell, n)}
	h := &handle{datum: x, sparse: d.Sparse, reduce: d.Reduce, shape: d.Shape, dims: d.Dims, offset: make([]int, len(d.Dims))}
	for k := range n {
		h.places = append(h.places, k)
		x.cells[k].T = d.Elem
	}
	x.whole = h
	return x
}

// part is the piece of h from lo to hi on each axis, without axis drop if that is not -1.
func (h *handle) part(lo, hi []int, drop int) *handle {
	p := &handle{datum: h.datum, shape: h.shape, reduce: h.reduce}
	if drop >= 0 && !neutralOps[h.reduce] {
		p.reduce = ""
	}
	for a := range h.dims {
		if a == drop {
			p.shape--
			continue
		}
		p.dims = append(p.dims, hi[a]-lo[a])
		p.offset = append(p.offset, h.offset[a]+lo[a])
	}
	var walk func(a, at int)
	walk = func(a, at int) {
		if a == len(h.dims) {
			p.places = append(p.places, h.places[at])
			return
		}
		for i := lo[a]; i < hi[a]; i++ {
			walk(a+1, at*h.dims[a]+i)
		}
	}
	walk(0, 0)
	return p
}

// cuts are the ends of the pieces of an axis of n elements; code is the error.
func cuts(n, p int, sizes []int, halo, border int) (lo, hi []int, code string) {
	if border == 0 {
		border = halo
	}
	inside := n - 2*border
	if halo < 0 || border < halo || inside < 0 {
		return nil, nil, "E0505"
	}
	if sizes == nil {
		if p < 1 || p > inside {
			return nil, nil, "E0505"
		}
		for i := range p {
			size := inside / p
			if i < inside%p {
				size++
			}
			sizes = append(sizes, size)
		}
	} else {
		sum := 0
		for _, s := range sizes {
			if sum += s; s < 1 {
				return nil, nil, "E0505"
			}
		}
		if len(sizes) == 0 {
			return nil, nil, "E0505"
		}
		if sum != inside {
			return nil, nil, "E0502"
		}
	}
	at := border - halo
	for _, s := range sizes {
		lo, hi = append(lo, at), append(hi, at+s+2*halo)
		at += s
	}
	return lo, hi, ""
}

// split applies f to h.
func (h *handle) split(f Filter) (dims []int, parts []*handle, code string) {
	args := append(slices.Clone(f.Args), 0, 0)
	full := func() (lo, hi []int) { return make([]int, len(h.dims)), slices.Clone(h.dims) }
	along := func(axis, p int) {
		var lo, hi []int
		if lo, hi, code = cuts(h.dims[axis], p, f.Sizes, f.Halo, f.Inside); code != "" {
			return
		}
		dims = []int{len(lo)}
		for i := range lo {
			from, to := full()
			from[axis], to[axis] = lo[i], hi[i]
			parts = append(parts, h.part(from, to, -1))
		}
	}
	switch f.Name {
	case "blocks", "rows":
		along(0, args[0])
	case "halves":
		along(0, 2)
	case "cols":
		along(1, args[0])
	case "axis":
		along(args[0], args[1])
	case "tiles":
		var los, his [][]int // along each axis
		for a, n := range h.dims {
			lo, hi, code := cuts(n, args[a], nil, f.Halo, f.Inside)
			if code != "" {
				return nil, nil, code
			}
			dims, los, his = append(dims, len(lo)), append(los, lo), append(his, hi)
		}
		var walk func(lo, hi []int)
		walk = func(lo, hi []int) {
			a := len(lo)
			if a == len(h.dims) {
				parts = append(parts, h.part(lo, hi, -1))
				return
			}
			for i := range los[a] {
				walk(append(slices.Clone(lo), los[a][i]), append(slices.Clone(hi), his[a][i]))
			}
		}
		walk(nil, nil)
	case "pick":
		a, from, to := args[0], 0, h.dims[args[0]]
		if f.Range != nil {
			from, to = f.Range[0], f.Range[1]
		}
		if from < 0 || to > h.dims[a] || from >= to {
			return nil, nil, "E0505"
		}
		dims = []int{to - from}
		for i := from; i < to; i++ {
			lo, hi := full()
			lo[a], hi[a] = i, i+1
			parts = append(parts, h.part(lo, hi, a))
		}
	default:
		panic("oracle: filter " + f.Name)
	}
	return dims, parts, code
}

// slice is the box of h that ranges say; h for nil.
func (h *handle) slice(ranges [][2]int) (*handle, string) {
	if ranges == nil {
		return h, ""
	}
	var lo, hi []int
	for a, r := range ranges {
		if r[0] < 0 || r[1] > h.dims[a] || r[0] >= r[1] {
			return nil, "E0505"
		}
		lo, hi = append(lo, r[0]), append(hi, r[1])
	}
	return h.part(lo, hi, -1), ""
}

// declare makes a view of h, or of a slice of it.
func (h *handle) declare(slice [][2]int, filters []Filter) (*view, string) {
	v := &view{of: h}
	box, code := h.slice(slice)
	if code != "" {
		return nil, code
	}
	parts := []*handle{box}
	for _, f := range filters {
		var next []*handle
		var dims []int
		for k, p := range parts {
			d, s, code := p.split(f)
			if code == "" && k > 0 && len(s) != len(next)/k {
				code = "E0505" // parts of different numbers
			}
			if code != "" {
				return nil, code
			}
			dims, next = d, append(next, s...)
		}
		v.dims, parts = append(v.dims, dims...), next
	}
	for _, p := range parts {
		p.of = v
	}
	v.parts = parts
	return v, ""
}

// lines are the rows, or columns of a csc, or rows of blocks that entries are ordered by.
func (m *Sparse) lines() int { return len(m.Ptr) - 1 }

// piece is the matrix of lines lo to hi, or of a coo of these entries, and where its entries begin and end.
func (m *Sparse) piece(lo, hi int) (p *Sparse, from, to int) {
	p = &Sparse{Format: m.Format, Rows: m.Rows, Cols: m.Cols, R: m.R, C: m.C}
	if from, to = lo, hi; m.Ptr != nil {
		from, to = m.Ptr[lo], m.Ptr[hi]
		for _, at := range m.Ptr[lo : hi+1] {
			p.Ptr = append(p.Ptr, at-from)
		}
	}
	p.Row, p.Col = slices.Clone(m.Row[from:to]), slices.Clone(m.Col[from:to])
	switch m.Format {
	case "csr":
		p.Rows = hi - lo
	case "csc":
		p.Cols = hi - lo
	case "bcsr":
		p.Rows = (hi - lo) * m.R
	}
	return p, from, to
}

// declareSparse makes a view of h, a sparse matrix.
func (h *handle) declareSparse(f Filter) (*view, string) {
	n := len(h.sparse.Row)
	if h.sparse.Ptr != nil {
		n = h.sparse.lines()
	}
	args := append(slices.Clone(f.Args), 0)
	lo, hi, code := cuts(n, args[0], f.Sizes, 0, 0)
	if code != "" {
		return nil, code
	}
	v := &view{of: h, dims: []int{len(lo)}, sparse: true, about: f.Sizes == nil && (f.Name == "nonzeros" || f.Name == "entries")}
	for k := range lo {
		m, from, to := h.sparse.piece(lo[k], hi[k])
		first, last := make([]int, len(h.dims)), slices.Clone(h.dims)
		first[0], last[0] = from, to
		p := h.part(first, last, -1)
		p.sparse, p.of = m, v
		v.parts = append(v.parts, p)
	}
	return v, ""
}

// at is the part with these indices; ok is false when there is none.
func (v *view) at(index []int64) (h *handle, ok bool) {
	k := 0
	for a, i := range index {
		if i < 0 || i >= int64(v.dims[a]) {
			return nil, false
		}
		k = k*v.dims[a] + int(i)
	}
	return v.parts[k], true
}

// shares reports whether a and b have an element in common.
func (h *handle) shares(o *handle) bool {
	if h.datum != o.datum {
		return false
	}
	return slices.ContainsFunc(h.places, func(p int) bool { return slices.Contains(o.places, p) })
}

// typeText is the type of h as print shows it.
func (h *handle) typeText() string {
	if h.shape == Void {
		return "void"
	}
	return h.shape.typeOf(h.data.Elem.String())
}
