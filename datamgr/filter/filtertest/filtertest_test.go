package filtertest_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/filter/filtertest"
	"github.com/starpush/starpush/datamgr/iface"
)

// trial is a filter with what it promises; fits is false if it must refuse the data.
type trial struct {
	f    filter.Filter
	want filtertest.Promise
	fits bool
}

// along are filters that cut one axis into p parts, with a halo.
func along(rank, axis int, equal func(p, halo int) filter.Filter, sizes func(sizes []int, halo int) filter.Filter) func(d iface.Desc, p, halo int) []trial {
	return func(d iface.Desc, p, halo int) []trial {
		if rank > 0 && int(d.Rank) != rank {
			f := filter.Filter(nil)
			if equal != nil {
				f = equal(p, halo)
			} else {
				f = sizes(parts(d.Dim[0], p), halo)
			}
			return []trial{{f: f}}
		}
		in := d.Dim[axis] - 2*halo
		t := trial{want: filtertest.All(d, p).Border(axis, halo, halo), fits: in >= p && p > 0}
		if equal != nil {
			t.f = equal(p, halo)
		} else {
			t.f = sizes(parts(in, p), halo)
		}
		return []trial{t}
	}
}

// everyAxis are filters that take the axis to cut.
func everyAxis(equal func(k, p, halo int) filter.Filter, sizes func(k int, sizes []int, halo int) filter.Filter) func(d iface.Desc, p, halo int) []trial {
	return func(d iface.Desc, p, halo int) (all []trial) {
		for k := range int(d.Rank) {
			var e func(p, halo int) filter.Filter
			var s func(sizes []int, halo int) filter.Filter
			if equal != nil {
				e = func(p, halo int) filter.Filter { return equal(k, p, halo) }
			} else {
				s = func(list []int, halo int) filter.Filter { return sizes(k, list, halo) }
			}
			all = append(all, along(0, k, e, s)(d, p, halo)...)
		}
		return all
	}
}

// parts are p sizes with the sum n, all but the last 1.
func parts(n, p int) (sizes []int) {
	if p < 1 {
		return nil
	}
	for range p - 1 {
		sizes = append(sizes, 1)
	}
	return append(sizes, n-len(sizes))
}

// cut is data cut along all axes into min(p, its size) parts.
func cut(d iface.Desc, p, halo int, f func(counts []int) filter.Filter) trial {
	t := trial{want: filtertest.All(d), fits: d.Rank > 1 && p > 0}
	for k := range int(d.Rank) {
		in := d.Dim[k] - 2*halo
		n := min(p, max(in, 1))
		t.want = t.want.Border(k, halo, halo)
		t.want.Dims = append(t.want.Dims, n)
		t.fits = t.fits && in >= n
	}
	t.f = f(t.want.Dims)
	return t
}

// trials has the filters that each function of package filter makes, for data and a number of parts.
var trials = map[string]func(d iface.Desc, p, halo int) []trial{
	"Blocks": along(1, 0, func(p, halo int) filter.Filter {
		if halo > 0 {
			return filter.BlocksHalo(p, halo)
		}
		return filter.Blocks(p)
	}, nil),
	"BlocksHalo": along(1, 0, filter.BlocksHalo, nil),
	"BlockSizes": func(d iface.Desc, p, halo int) []trial {
		return along(1, 0, nil, func(sizes []int, _ int) filter.Filter { return filter.BlockSizes(sizes) })(d, p, 0)
	},
	"BlockSizesHalo": along(1, 0, nil, filter.BlockSizesHalo),
	"Halves": func(d iface.Desc, _, _ int) []trial {
		return along(1, 0, func(int, int) filter.Filter { return filter.Halves() }, nil)(d, 2, 0)
	},
	"Rows":      along(2, 0, filter.Rows, nil),
	"RowSizes":  along(2, 0, nil, filter.RowSizes),
	"Cols":      along(2, 1, filter.Cols, nil),
	"ColSizes":  along(2, 1, nil, filter.ColSizes),
	"Axis":      everyAxis(filter.Axis, nil),
	"AxisSizes": everyAxis(nil, filter.AxisSizes),
	"Tiles": func(d iface.Desc, p, halo int) []trial {
		if d.Rank != 2 {
			return []trial{{f: filter.Tiles(1, 1, halo)}}
		}
		return []trial{cut(d, p, halo, func(n []int) filter.Filter { return filter.Tiles(n[0], n[1], halo) })}
	},
	"TilesN": func(d iface.Desc, p, halo int) []trial {
		return []trial{cut(d, p, halo, func(n []int) filter.Filter { return filter.TilesN(n, halo) })}
	},
	"Inside": func(d iface.Desc, p, halo int) (all []trial) {
		for _, border := range []int{halo, halo + 1} {
			for k := range int(d.Rank) {
				t := trial{f: filter.Inside(border, filter.Axis(k, p, halo)), want: filtertest.All(d, p).Border(k, border, halo)}
				t.fits = p > 0 && d.Dim[k]-2*border >= p
				all = append(all, t)
			}
		}
		return all
	},
	"Within": func(d iface.Desc, p, _ int) (all []trial) {
		for k := range int(d.Rank) {
			want, lo, hi := filtertest.All(d, p), make([]int, d.Rank), d.Shape()
			lo[k], want.Lo[k] = 1, 1
			all = append(all, trial{filter.Within(lo, hi, filter.Axis(k, p, 0)), want, d.Len() > 0 && p > 0 && d.Dim[k]-1 >= p})
		}
		return all
	},
	"Pick": func(d iface.Desc, _, _ int) (all []trial) {
		for k := range int(d.Rank) {
			want := filtertest.All(d, d.Dim[k])
			want.Drop = k
			all = append(all, trial{filter.Pick(k), want, d.Dim[k] > 0})
		}
		return all
	},
	"PickRange": func(d iface.Desc, p, halo int) (all []trial) {
		for k := range int(d.Rank) {
			want := filtertest.All(d, p)
			want.Drop, want.Lo[k], want.Hi[k] = k, halo, halo+p
			all = append(all, trial{filter.PickRange(k, halo, halo+p), want, p > 0 && halo+p <= d.Dim[k]})
		}
		return all
	},
	"Nonzeros": func(d iface.Desc, p, _ int) (all []trial) {
		for k := range min(2, int(d.Rank)) {
			if d.Rank != 2 {
				continue
			}
			begin := []int64{0} // line i has i² % 5 entries
			for i := range d.Dim[k] {
				begin = append(begin, begin[i]+int64(i*i%5))
			}
			want := filtertest.All(d, p)
			want.Whole = true
			all = append(all, trial{filter.Nonzeros(k, p, begin), want, p > 0 && p <= d.Dim[k]},
				trial{f: filter.Nonzeros(k, p, begin[1:])}, trial{f: filter.Nonzeros(2-3*k, p, begin)})
		}
		return all
	},
}

// TestFilters tests each filter with various numbers of parts and halos, for data of each rank whose sizes are 0, 1 and
// primes.
func TestFilters(t *testing.T) {
	made := makers(t)
	for _, name := range made {
		if trials[name] == nil {
			t.Errorf("filter.%s makes a filter, and the table of trials has no row for it", name)
		}
	}
	for name, of := range trials {
		if !slices.Contains(made, name) {
			t.Errorf("package filter has no function %s", name)
		}
		t.Run(name, func(t *testing.T) {
			fits := 0
			for _, d := range data() {
				for _, p := range []int{0, 1, 2, 3, 7, 13} {
					for halo := range 3 {
						for _, c := range of(d, p, halo) {
							if c.f == nil {
								continue
							}
							if !c.fits {
								filtertest.TestRefused(t, c.f, d)
								continue
							}
							fits++
							filtertest.Test(t, c.f, d, c.want)
						}
					}
				}
			}
			if fits < 10 {
				t.Errorf("%d trials only", fits)
			}
		})
	}
}

// data are data of each rank that has an index.
func data() (all []iface.Desc) {
	for rank := 1; rank <= iface.MaxRank; rank++ {
		for _, sizes := range [][]int{{0, 2, 3, 1, 1, 2, 1, 1}, {1, 1, 1, 1, 1, 1, 1, 1}, {2, 3, 1, 2, 1, 1, 2, 3},
			{7, 5, 3, 2, 2, 1, 2, 1}, {13, 0, 2, 2, 1, 1, 1, 1}, {2, 13, 5, 3, 1, 2, 1, 1}} {
			d := iface.Desc{Kind: iface.KindOf(rank), Elem: iface.F64, Rank: int8(rank)}
			copy(d.Dim[:rank], sizes)
			all = append(all, d)
		}
	}
	return all
}

// makers are the exported functions of package filter that return a Filter.
func makers(t *testing.T) (names []string) {
	files, err := filepath.Glob("../*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || !fn.Name.IsExported() || fn.Type.Results == nil {
				continue
			}
			if r := fn.Type.Results.List; len(r) == 1 && fmt.Sprint(r[0].Type) == "Filter" {
				names = append(names, fn.Name.Name)
			}
		}
	}
	if len(names) == 0 {
		t.Fatal("found no filters")
	}
	return names
}

// quarters is a filter of a program.
type quarters struct{ overlap bool }

func (quarters) Name() string { return "quarters" }

func (q quarters) Split(d iface.Desc) (filter.Split, error) {
	s, err := filter.Blocks(4).Split(d)
	if err == nil && q.overlap {
		s.Parts[1].Lo[0]--
	}
	return s, err
}

// TestOwnFilter tests filters of a program: one as it should be, and one whose parts overlap.
func TestOwnFilter(t *testing.T) {
	d := iface.Desc{Kind: iface.Vector, Elem: iface.I8, Rank: 1, Dim: [iface.MaxRank]int{9}}
	filtertest.Test(t, quarters{}, d, filtertest.All(d, 4))
	var failed recorder
	filtertest.Test(&failed, quarters{overlap: true}, d, filtertest.All(d, 4))
	filtertest.Test(&failed, quarters{}, d, filtertest.All(d, 5))
	filtertest.Test(&failed, filter.Inside(1, filter.Blocks(2)), d, filtertest.All(d, 2))
	want := "quarters of vector[i8] of 9: element [2] is in 2 parts, want 1\n" +
		"quarters of vector[i8] of 9: parts are indexed by [4], want [5]\n" +
		"blocks of vector[i8] of 9: element [0] is in 0 parts, want 1\n"
	if failed.text != want {
		t.Errorf("reported:\n%swant:\n%s", failed.text, want)
	}
}

// recorder has the errors of a test.
type recorder struct {
	testing.TB
	text string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) { r.text += fmt.Sprintf(format+"\n", args...) }
