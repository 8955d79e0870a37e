package filter

// The filters that cut along one axis: blocks, halves, rows, cols, axis.

import "github.com/starpush/starpush/datamgr/iface"

// Blocks splits a vector into p parts, the first n mod p of them one longer.
func Blocks(p int) Filter { return BlocksHalo(p, 0) }

// BlockSizes splits a vector into parts of the given sizes, each 1 or more.
func BlockSizes(sizes []int) Filter { return BlockSizesHalo(sizes, 0) }

// Halves splits a vector in two, the first part one longer when n is odd.
func Halves() Filter {
	return &slabs{name: "halves", kind: iface.Vector, cut: cut{arg: "p", p: 2, unit: "elements"}}
}

// BlocksHalo splits the n-2·halo elements inside a vector into p parts, each
// with halo elements more on both sides.
func BlocksHalo(p, halo int) Filter {
	return &slabs{name: "blocks", kind: iface.Vector, cut: cut{arg: "p", p: p, halo: halo, unit: "elements"}}
}

// BlockSizesHalo is BlocksHalo with the sizes of the insides given.
func BlockSizesHalo(sizes []int, halo int) Filter {
	return &slabs{name: "blocks", kind: iface.Vector, cut: cut{sizes: own(sizes), halo: halo, unit: "elements"}}
}

// Rows splits a matrix into p slabs of rows, each with halo rows more above
// and below; the rows inside are shared out as Blocks does.
func Rows(p, halo int) Filter {
	return &slabs{name: "rows", kind: iface.Matrix, cut: cut{arg: "p", p: p, halo: halo, unit: "rows"}}
}

// RowSizes is Rows with the numbers of rows inside given.
func RowSizes(sizes []int, halo int) Filter {
	return &slabs{name: "rows", kind: iface.Matrix, cut: cut{sizes: own(sizes), halo: halo, unit: "rows"}}
}

// Cols splits a matrix into p strips of columns, each with halo columns more
// on the left and right.
func Cols(p, halo int) Filter {
	return &slabs{name: "cols", kind: iface.Matrix, axis: 1, cut: cut{arg: "p", p: p, halo: halo, unit: "columns"}}
}

// ColSizes is Cols with the numbers of columns inside given.
func ColSizes(sizes []int, halo int) Filter {
	return &slabs{name: "cols", kind: iface.Matrix, axis: 1, cut: cut{sizes: own(sizes), halo: halo, unit: "columns"}}
}

// Axis splits a block along axis k, counted from 0, into p slabs, each with halo
// planes more on both sides; the planes inside are shared out as Blocks does.
func Axis(k, p, halo int) Filter {
	return &slabs{name: "axis", kind: iface.Block, axis: k, cut: cut{arg: "p", p: p, halo: halo, unit: "planes"}}
}

// AxisSizes is Axis with the numbers of planes inside given.
func AxisSizes(k int, sizes []int, halo int) Filter {
	return &slabs{name: "axis", kind: iface.Block, axis: k, cut: cut{sizes: own(sizes), halo: halo, unit: "planes"}}
}

type slabs struct {
	name string
	kind iface.Kind
	axis int
	cut  cut
}

func (f *slabs) Name() string { return f.name }

func (f *slabs) Split(parent iface.Desc) (Split, error) { return collect(f, parent) }

func (f *slabs) lazy(parent iface.Desc) ([]int, func(int, *Part), error) {
	if e := wantKind(f.name, parent, f.kind); e != nil {
		return nil, nil, e
	}
	if rank := int(parent.Rank); f.axis < 0 || f.axis >= rank {
		return nil, nil, fail(BadAxis, f.name, "k", f.cut.unit, f.axis, rank-1,
			"`%s` got axis %d, and the axes of a %v are 0 to %d", f.name, f.axis, parent.Kind, rank-1)
	}
	n, at, e := f.cut.parts(f.name, parent.Dim[f.axis])
	if e != nil {
		return nil, nil, e
	}
	whole := Whole(parent)
	return []int{n}, func(i int, p *Part) {
		s := at(i)
		*p = whole
		p.Lo[f.axis], p.Hi[f.axis] = s.lo, s.hi
	}, nil
}

var plural = map[iface.Kind]string{
	iface.Variable: "variables", iface.Vector: "vectors", iface.Matrix: "matrices", iface.Void: "void data",
	iface.Block: "blocks",
}

func wantKind(name string, parent iface.Desc, kind iface.Kind) *Error {
	if parent.Kind == kind {
		return nil
	}
	return fail(WrongKind, name, "", "elements", int(parent.Kind), int(kind),
		"`%s` splits %s, and the data is a %v", name, plural[kind], &parent)
}
