package filter

// The filters: those that cut along one axis or along all of them, pick, and nonzeros.

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
)

// Blocks splits a vector into p parts, the first n mod p of them one longer.
func Blocks(p int) Filter { return BlocksHalo(p, 0) }

// BlockSizes splits a vector into parts of the given sizes, each 1 or more.
func BlockSizes(sizes []int) Filter { return BlockSizesHalo(sizes, 0) }

// Halves splits a vector in two, the first part one longer when n is odd.
func Halves() Filter { return &slabs{"halves", 1, 0, cut{p: 2}} }

// BlocksHalo splits the n-2·halo elements inside a vector into p parts, each
// with halo elements more on both sides.
func BlocksHalo(p, halo int) Filter { return &slabs{"blocks", 1, 0, equal(p, halo)} }

// BlockSizesHalo is BlocksHalo with the sizes of the insides given.
func BlockSizesHalo(sizes []int, halo int) Filter {
	return &slabs{"blocks", 1, 0, explicit(sizes, halo)}
}

// Rows splits a matrix into p slabs of rows, each with halo rows more above
// and below; the rows inside are shared out as Blocks does.
func Rows(p, halo int) Filter { return &slabs{"rows", 2, 0, equal(p, halo)} }

// RowSizes is Rows with the numbers of rows inside given.
func RowSizes(sizes []int, halo int) Filter { return &slabs{"rows", 2, 0, explicit(sizes, halo)} }

// Cols splits a matrix into p strips of columns, each with halo columns more
// on the left and right.
func Cols(p, halo int) Filter { return &slabs{"cols", 2, 1, equal(p, halo)} }

// ColSizes is Cols with the numbers of columns inside given.
func ColSizes(sizes []int, halo int) Filter { return &slabs{"cols", 2, 1, explicit(sizes, halo)} }

// Axis splits data along axis k, counted from 0, into p slabs, each with halo indices
// more on both sides; those inside are shared out as Blocks does.
func Axis(k, p, halo int) Filter { return &slabs{"axis", 0, k, equal(p, halo)} }

// AxisSizes is Axis with the numbers of indices inside given.
func AxisSizes(k int, sizes []int, halo int) Filter {
	return &slabs{"axis", 0, k, explicit(sizes, halo)}
}

// slabs cuts along one axis.
type slabs struct {
	name string
	rank int // of the data; 0: any with an index
	axis int
	cut  cut
}

func (f *slabs) Name() string { return f.name }

func (f *slabs) Split(parent iface.Desc) (Split, error) { return collect(f, parent) }

func (f *slabs) lazy(parent iface.Desc) ([]int, func(int, *Part), error) {
	if e := wantRank(f.name, parent, f.rank); e != nil {
		return nil, nil, e
	}
	unit := unitOf(&parent, f.axis)
	if rank := int(parent.Rank); f.axis < 0 || f.axis >= rank {
		return nil, nil, fail(BadAxis, f.name, "k", unit, f.axis, rank-1,
			"`%s` got axis %d, and a %v has %s", f.name, f.axis, parent.Kind, axes(rank))
	}
	n, at, e := f.cut.parts(f.name, "p", unit, parent.Dim[f.axis])
	if e != nil {
		return nil, nil, e
	}
	shape := parent.Shape()
	return []int{n}, func(i int, p *Part) {
		s := at(i)
		p.whole(shape, -1)
		p.Lo[f.axis], p.Hi[f.axis] = s.lo, s.hi
	}, nil
}

// axes writes the numbers of the axes of data with rank indices.
func axes(rank int) string {
	if rank == 1 {
		return "axis 0 only"
	}
	return fmt.Sprintf("axes 0 to %d", rank-1)
}

// unitOf returns what is counted along an axis of the data: "rows" of a matrix.
func unitOf(d *iface.Desc, axis int) string {
	switch d.Rank {
	case 0, 1:
		return "elements"
	case 2:
		return [...]string{"rows", "columns"}[axis&1]
	}
	return "planes"
}

var plural = map[iface.Kind]string{
	iface.Variable: "variables", iface.Vector: "vectors", iface.Matrix: "matrices", iface.Void: "void data",
	iface.Block: "blocks", iface.Tensor: "tensors", iface.Tensor5: "tensors of 5 indices", iface.Tensor6: "tensors of 6 indices",
	iface.Tensor7: "tensors of 7 indices", iface.Tensor8: "tensors of 8 indices",
}

// wantRank reports that parent has not rank indices, or none if rank is 0.
func wantRank(name string, parent iface.Desc, rank int) *Error {
	if n := int(parent.Rank); rank == 0 && n > 0 || rank > 0 && n == rank {
		return nil
	}
	if rank == 0 {
		return fail(WrongKind, name, "", "elements", int(parent.Kind), 1,
			"`%s` needs data with an index, and the data is a %v", name, &parent)
	}
	kind := iface.KindOf(rank)
	return fail(WrongKind, name, "", "elements", int(parent.Kind), int(kind),
		"`%s` splits %s, and the data is a %v", name, plural[kind], &parent)
}

// Tiles: data cut along all of its axes.

// Tiles splits a matrix into p rows of q tiles, indexed [i, j]. With a halo
// the matrix carries a border of that width on all four sides, and so does
// every tile.
func Tiles(p, q, halo int) Filter { return TilesN([]int{p, q}, halo) }

// TilesN splits data along all of its axes, into counts[k] parts along axis k: a matrix
// with two counts, as Tiles does, a block with three. Parts are indexed by one number for
// each axis. With a halo the data carries a border of that width at both ends of
// each axis, and so does every part.
func TilesN(counts []int, halo int) Filter {
	f := &tiles{cuts: make([]cut, len(counts))}
	for k, p := range counts {
		f.cuts[k] = equal(p, halo)
	}
	return f
}

type tiles struct{ cuts []cut } // one for each axis

func (f *tiles) Name() string { return "tiles" }

func (f *tiles) Split(parent iface.Desc) (Split, error) { return collect(f, parent) }

// countNames are the names of the numbers of parts along each axis.
var countNames = [iface.MaxRank]string{"p", "q", "r", "s", "t", "u", "v", "w"}

func (f *tiles) lazy(parent iface.Desc) ([]int, func(int, *Part), error) {
	rank := len(f.cuts)
	switch {
	case int(parent.Rank) < 2:
		return nil, nil, fail(WrongKind, "tiles", "", "elements", int(parent.Kind), int(iface.Matrix),
			"`tiles` splits matrices and data of more indices, and the data is a %v", &parent)
	case int(parent.Rank) != rank:
		return nil, nil, fail(BadAxis, "tiles", "", "elements", rank, int(parent.Rank),
			"`tiles` takes a number of parts for each axis, and got %d for a %v", rank, &parent)
	}
	// All are checked before any is built, so that the product is in bounds.
	for k := range f.cuts {
		if e := f.cuts[k].check("tiles", countNames[k], unitOf(&parent, k), parent.Dim[k]); e != nil {
			return nil, nil, e
		}
	}
	n, dims := 1, make([]int, rank)
	for k := rank - 1; k >= 0; k-- {
		p := f.cuts[k].p
		if dims[k] = p; p > MaxParts/n {
			var all []string
			for j := range f.cuts {
				all = append(all, fmt.Sprint(f.cuts[j].p))
			}
			return nil, nil, fail(TooManyParts, "tiles", countNames[k], unitOf(&parent, k), p, MaxParts/n,
				"`tiles` makes at most %d parts, and got %s", MaxParts, strings.Join(all, " x "))
		}
		n *= p
	}
	var at [iface.MaxRank]func(int) span
	for k := range f.cuts {
		_, spans, e := f.cuts[k].parts("tiles", countNames[k], unitOf(&parent, k), parent.Dim[k])
		if e != nil {
			return nil, nil, e
		}
		at[k] = spans
	}
	return dims, func(i int, t *Part) {
		*t = Part{Drop: -1}
		for k := rank - 1; k >= 0; k-- {
			s := at[k](i % dims[k])
			t.Lo[k], t.Hi[k] = s.lo, s.hi
			i /= dims[k]
		}
	}, nil
}

// Inside and Within: a filter on less than all of the data.

// Inside returns f with a border of k elements at both ends of each axis that f splits,
// whatever its halo, which may be k at most: what is inside is shared out, and the border
// is in no part but by a halo. So Inside(k, Tiles(p, q, 0)) has the elements that tiles of
// a halo of k have without their halo. f is Blocks, Rows, Cols, Axis or Tiles; other
// filters have no border, and Split says so.
func Inside(k int, f Filter) Filter {
	switch f := f.(type) {
	case *slabs:
		if f.name != "halves" {
			in := *f
			in.cut.border, in.cut.inside = k, true
			return &in
		}
	case *tiles:
		in := &tiles{cuts: slices.Clone(f.cuts)}
		for a := range in.cuts {
			in.cuts[a].border, in.cuts[a].inside = k, true
		}
		return in
	}
	return borderless{f}
}

// borderless is a filter that got an Inside and has no border.
type borderless struct{ Filter }

func (f borderless) Split(iface.Desc) (Split, error) {
	return Split{}, fail(BadHalo, f.Name(), "inside", "elements", 0, 0, "`%s` has no border; leave `inside` out", f.Name())
}

// Within returns f for a box of the data only: the indices lo[k] ≤ i < hi[k] along each
// axis k. f splits the box as if it were all of the data; parts keep their place in the
// whole. lo and hi have one number for each axis of the data.
func Within(lo, hi []int, f Filter) Filter {
	return &within{lo: own(lo), hi: own(hi), f: f}
}

// IsSlice reports whether f is a filter by Within.
func IsSlice(f Filter) bool {
	_, ok := f.(*within)
	return ok
}

type within struct {
	lo, hi []int
	f      Filter
}

func (w *within) Name() string { return w.f.Name() }

// box returns the box as a part of the parent.
func (w *within) box(parent iface.Desc) (box Part, err error) {
	rank := int(parent.Rank)
	if len(w.lo) != rank || len(w.hi) != rank {
		return box, fail(BadRange, w.Name(), "slice", "elements", len(w.lo), rank,
			"a slice of %s, and the data is a %v", count(len(w.lo), "ranges"), &parent)
	}
	box.Drop = -1
	for k := range rank {
		a, b, n := w.lo[k], w.hi[k], parent.Dim[k]
		if a < 0 || b > n || a > n {
			got := b
			if a < 0 || a > n {
				got = a
			}
			return box, fail(BadRange, w.Name(), "slice", "elements", got, n,
				"the range %d..%d of the slice leaves axis %d, which has %s", a, b, k, count(n, "elements"))
		}
		if a >= b {
			return box, fail(BadRange, w.Name(), "slice", "elements", b, a, "the range %d..%d of the slice is empty", a, b)
		}
		box.Lo[k], box.Hi[k] = a, b
	}
	return box, nil
}

// move makes a part of the box a part of the parent.
func (w *within) move(p *Part) {
	for k, lo := range w.lo {
		p.Lo[k] += lo
		p.Hi[k] += lo
	}
}

func (w *within) Split(parent iface.Desc) (Split, error) {
	box, err := w.box(parent)
	if err != nil {
		return Split{}, err
	}
	slice := box.Desc(parent)
	s, err := w.f.Split(slice)
	if err == nil {
		err = s.Check(slice)
	}
	if err != nil {
		return Split{}, err
	}
	s.Parts = slices.Clone(s.Parts) // a filter of others may keep them
	for i := range s.Parts {
		w.move(&s.Parts[i])
	}
	return s, nil
}

// lazy is there for a lazy filter only, see Lazy.
func (w *within) lazy(parent iface.Desc) ([]int, func(int, *Part), error) {
	box, err := w.box(parent)
	if err != nil {
		return nil, nil, err
	}
	dims, part, _, err := Lazy(w.f, box.Desc(parent))
	if err != nil {
		return nil, nil, err
	}
	return dims, func(i int, p *Part) {
		part(i, p)
		w.move(p)
	}, nil
}

// Pick: slices of one axis, one rank lower.

// Pick makes one part of every index along axis k: part i is the slice at
// index i. Parts of a tensor have an index less, those of one with four are blocks, parts of a block matrices, parts of a matrix
// vectors, parts of a vector variables.
func Pick(axis int) Filter { return &pick{axis: axis, all: true} }

// PickRange is Pick for the indices a ≤ i < b: part i is the slice at index a+i.
func PickRange(axis, a, b int) Filter { return &pick{axis: axis, a: a, b: b} }

type pick struct {
	axis, a, b int
	all        bool
}

func (f *pick) Name() string { return "pick" }

func (f *pick) Split(parent iface.Desc) (Split, error) { return collect(f, parent) }

func (f *pick) lazy(parent iface.Desc) ([]int, func(int, *Part), error) {
	if e := wantRank("pick", parent, 0); e != nil {
		return nil, nil, e
	}
	rank := int(parent.Rank)
	if f.axis < 0 || f.axis >= rank {
		return nil, nil, fail(BadAxis, "pick", "k", "elements", f.axis, rank-1,
			"`pick` got axis %d, and a %v has %s", f.axis, parent.Kind, axes(rank))
	}
	n := parent.Dim[f.axis]
	a, b := f.a, f.b
	if f.all {
		a, b = 0, n
		if n == 0 {
			return nil, nil, fail(NoParts, "pick", "k", "elements", 0, 1, "axis %d of the %v has nothing to pick", f.axis, &parent)
		}
	}
	switch {
	case a < 0 || b > n || a > n:
		got := b
		if a < 0 || a > n {
			got = a
		}
		return nil, nil, fail(BadRange, "pick", "range", "elements", got, n,
			"`pick` got the range %d..%d, and axis %d has %s", a, b, f.axis, count(n, "elements"))
	case a >= b:
		return nil, nil, fail(BadRange, "pick", "range", "elements", b, a, "`pick` got the range %d..%d, which is empty", a, b)
	case b-a > MaxParts:
		return nil, nil, fail(TooManyParts, "pick", "range", "elements", b-a, MaxParts,
			"`pick` makes at most %d parts, and got %d", MaxParts, b-a)
	}
	shape := parent.Shape()
	return []int{b - a}, func(i int, p *Part) {
		p.whole(shape, f.axis)
		p.Lo[f.axis], p.Hi[f.axis] = a+i, a+i+1
	}, nil
}

// How one axis is cut into intervals: p nearly equal ones or given sizes, with
// or without a halo. All filters but pick are made of this.

// cut is a rule for one axis.
type cut struct {
	p     int
	sizes []int // nil: p equal parts
	halo  int

	border int  // at both ends of the axis: what is between is shared out
	inside bool // border is that of Inside, and not the halo
}

// equal returns the rule for p nearly equal parts.
func equal(p, halo int) cut { return cut{p: p, halo: halo, border: halo} }

// explicit returns the rule for parts of given sizes.
func explicit(sizes []int, halo int) cut { return cut{sizes: own(sizes), halo: halo, border: halo} }

// span is a half-open interval.
type span struct{ lo, hi int }

// check reports what is wrong with the rule for an axis of n elements, which are called
// unit; arg is the argument with the number of parts.
func (c *cut) check(name, arg, unit string, n int) *Error {
	if c.halo < 0 {
		return fail(BadHalo, name, "halo", unit, c.halo, 0, "`%s` needs a halo of 0 or more, and got %d", name, c.halo)
	}
	if c.inside {
		switch {
		case c.border < 0:
			return fail(BadHalo, name, "inside", unit, c.border, 0, "`%s` needs an `inside` of 0 or more, and got %d", name, c.border)
		case c.border < c.halo:
			return fail(BadHalo, name, "halo", unit, c.halo, c.border, "a halo of %d does not fit into a border of %d", c.halo, c.border)
		case c.border > n/2:
			return fail(BadHalo, name, "inside", unit, c.border, n/2,
				"a border of %d at both ends does not fit into %s", c.border, count(n, unit))
		}
	}
	if c.border > n/2 {
		return fail(BadHalo, name, "halo", unit, c.halo, n/2,
			"a halo of %d on both ends does not fit into %s", c.halo, count(n, unit))
	}
	in := n - 2*c.border
	tail := ""
	switch {
	case c.border > 0 && c.inside:
		tail = " inside the border"
	case c.border > 0:
		tail = " inside the halo"
	}
	inside := count(in, unit) + tail
	if c.sizes == nil {
		switch {
		case c.p < 1:
			return fail(NoParts, name, arg, unit, c.p, 1, "`%s` needs 1 part or more, and got %d", name, c.p)
		case c.p > in:
			return fail(TooManyParts, name, arg, unit, c.p, in, "`%s` cannot make %s of %s", name, count(c.p, "parts"), inside)
		case c.p > MaxParts:
			return fail(TooManyParts, name, arg, unit, c.p, MaxParts, "`%s` makes at most %d parts, and got %d", name, MaxParts, c.p)
		}
		return nil
	}
	if len(c.sizes) == 0 {
		return fail(NoParts, name, "sizes", unit, 0, 1, "`%s` needs 1 part or more, and `sizes` is empty", name)
	}
	if len(c.sizes) > MaxParts {
		return fail(TooManyParts, name, "sizes", unit, len(c.sizes), MaxParts,
			"`%s` makes at most %d parts, and got %d sizes", name, MaxParts, len(c.sizes))
	}
	sum := 0
	for i, s := range c.sizes {
		if s < 1 {
			e := fail(BadSize, name, "sizes", unit, s, 1, "part %d of `%s` has size %d; each size is 1 or more", i, name, s)
			e.Index = i
			return e
		}
		if sum > math.MaxInt-s {
			sum = math.MaxInt
			break
		}
		sum += s
	}
	if sum != in {
		return fail(SumMismatch, name, "sizes", unit, sum, in, "the parts cover %d of %s%s", sum, count(in, unit), tail)
	}
	return nil
}

// parts cuts 0..n and returns the number of parts and what the i-th one is. With a
// border of b the parts share out the n-2b elements inside, and each has the halo more on
// both sides.
func (c *cut) parts(name, arg, unit string, n int) (int, func(i int) span, *Error) {
	if e := c.check(name, arg, unit, n); e != nil {
		return 0, nil, e
	}
	more := 2 * c.halo
	begin := c.border - c.halo
	if c.sizes != nil {
		from := make([]int, len(c.sizes))
		at := begin
		for i, s := range c.sizes {
			from[i] = at
			at += s
		}
		return len(from), func(i int) span { return span{from[i], from[i] + c.sizes[i] + more} }, nil
	}
	in := n - 2*c.border
	q, r := in/c.p, in%c.p
	return c.p, func(i int) span {
		lo := begin + i*q + min(i, r)
		if i < r {
			return span{lo, lo + q + 1 + more}
		}
		return span{lo, lo + q + more}
	}, nil
}

// own keeps a list that the caller may change later; it is never nil.
func own(sizes []int) []int { return append(make([]int, 0, len(sizes)), sizes...) }

// Sparse matrices: rows or columns with about equal numbers of entries.

// Nonzeros splits a matrix into p slabs of rows, or of columns if axis is 1, with about equal numbers of
// entries, and one row at least. begin[i] is the number of entries before row i of the root matrix, with
// their number behind the last row; it must not change.
func Nonzeros(axis, p int, begin []int64) Filter { return &nonzeros{axis, p, begin} }

type nonzeros struct {
	axis, p int
	begin   []int64
}

func (f *nonzeros) Name() string { return "nonzeros" }

func (f *nonzeros) Split(parent iface.Desc) (Split, error) { return collect(f, parent) }

func (f *nonzeros) lazy(parent iface.Desc) ([]int, func(int, *Part), error) {
	if e := wantRank("nonzeros", parent, 2); e != nil {
		return nil, nil, e
	}
	if f.axis < 0 || f.axis > 1 {
		return nil, nil, fail(BadAxis, "nonzeros", "k", "rows", f.axis, 1, "`nonzeros` got axis %d, and a matrix has %s", f.axis, axes(2))
	}
	rows := parent.Dim[f.axis]
	c := equal(f.p, 0)
	if e := c.check("nonzeros", "p", [...]string{"rows", "columns"}[f.axis], rows); e != nil {
		return nil, nil, e
	}
	n := f.p
	off := parent.Off[f.axis]
	if need := off + rows + 1; len(f.begin) < need {
		return nil, nil, fail(BadRange, "nonzeros", "begin", unitOf(&parent, f.axis), len(f.begin), need,
			"`nonzeros` got %d offsets, and needs %d: one for each of the %s of the whole, and the end of the last",
			len(f.begin), need, unitOf(&parent, f.axis))
	}
	begin := f.begin[off:][:rows+1]
	bounds := make([]int, n+1)
	bounds[n] = rows
	for k := 1; k < n; k++ {
		share := begin[0] + int64(math.Round(float64(begin[rows]-begin[0])*float64(k)/float64(n)))
		row := sort.Search(rows, func(i int) bool { return begin[i] >= share })
		if row > 0 && share-begin[row-1] < begin[row]-share { // the row before is nearer
			row--
		}
		bounds[k] = min(max(row, bounds[k-1]+1), rows-(n-k))
	}
	shape := parent.Shape()
	return []int{n}, func(i int, p *Part) {
		p.whole(shape, -1)
		p.Lo[f.axis], p.Hi[f.axis] = bounds[i], bounds[i+1]
	}, nil
}
