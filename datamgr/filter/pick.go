package filter

// Pick: slices of one axis, one rank lower.

import "github.com/starpush/starpush/datamgr/iface"

// Pick makes one part of every index along axis k: part i is the slice at
// index i. Parts of a block are matrices, parts of a matrix vectors, parts of a
// vector variables.
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
	rank := int(parent.Rank)
	if rank < 1 {
		return nil, nil, fail(WrongKind, "pick", "", "elements", int(parent.Kind), 1,
			"`pick` needs data with an index, and the data is a %v", &parent)
	}
	if f.axis < 0 || f.axis >= rank {
		return nil, nil, fail(BadAxis, "pick", "k", "elements", f.axis, rank-1,
			"`pick` got axis %d, and the axes of a %v are 0 to %d", f.axis, &parent, rank-1)
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
	whole := Whole(parent)
	whole.Drop = f.axis
	return []int{b - a}, func(i int, p *Part) {
		*p = whole
		p.Lo[f.axis], p.Hi[f.axis] = a+i, a+i+1
	}, nil
}
