package filter

// Tiles: a matrix cut along both axes.

import "github.com/starpush/starpush/datamgr/iface"

// Tiles splits a matrix into p rows of q tiles, indexed [i, j]. With a halo
// the matrix carries a border of that width on all four sides, and so does
// every tile.
func Tiles(p, q, halo int) Filter {
	return &tiles{
		rows: cut{arg: "p", p: p, halo: halo, unit: "rows"},
		cols: cut{arg: "q", p: q, halo: halo, unit: "columns"},
	}
}

type tiles struct{ rows, cols cut }

func (f *tiles) Name() string { return "tiles" }

func (f *tiles) Split(parent iface.Desc) (Split, error) { return collect(f, parent) }

func (f *tiles) lazy(parent iface.Desc) ([]int, func(int, *Part), error) {
	if e := wantKind("tiles", parent, iface.Matrix); e != nil {
		return nil, nil, e
	}
	// Both are checked before either is built, so that p·q is in bounds.
	if e := f.rows.check("tiles", parent.Dim[0]); e != nil {
		return nil, nil, e
	}
	if e := f.cols.check("tiles", parent.Dim[1]); e != nil {
		return nil, nil, e
	}
	p, q := f.rows.p, f.cols.p
	if p > MaxParts/q {
		return nil, nil, fail(TooManyParts, "tiles", "p", "rows", p, MaxParts/q,
			"`tiles` makes at most %d parts, and got %d x %d", MaxParts, p, q)
	}
	_, rows, e := f.rows.parts("tiles", parent.Dim[0])
	if e != nil {
		return nil, nil, e
	}
	_, cols, e := f.cols.parts("tiles", parent.Dim[1])
	if e != nil {
		return nil, nil, e
	}
	return []int{p, q}, func(i int, t *Part) {
		r, c := rows(i/q), cols(i%q)
		*t = Part{Drop: -1}
		t.Lo[0], t.Hi[0] = r.lo, r.hi
		t.Lo[1], t.Hi[1] = c.lo, c.hi
	}, nil
}
