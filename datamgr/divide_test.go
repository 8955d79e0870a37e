package datamgr

import (
	"fmt"
	"math"
	"testing"

	"github.com/starpush/starpush/datamgr/filter"
)

// Views that divide fresh data at once have one fragment a part; they are found
// by the views that overlap them, in data of any size.
func TestDivide(t *testing.T) {
	for _, c := range []struct {
		name  string
		dims  []int
		fs    []filter.Filter
		frags int // of the whole
	}{
		{"blocks", []int{1000}, []filter.Filter{filter.Blocks(300)}, 300},
		{"two", []int{10}, []filter.Filter{filter.Blocks(2)}, 2},
		{"rows", []int{40, 7}, []filter.Filter{filter.Rows(17, 0)}, 17},
		{"cols", []int{7, 40}, []filter.Filter{filter.Cols(17, 0)}, 17},
		{"tiles", []int{60, 50}, []filter.Filter{filter.Tiles(20, 10, 0)}, 200},
		{"rows of cols", []int{30, 30}, []filter.Filter{filter.Cols(5, 0), filter.Rows(6, 0)}, 30},
	} {
		g := registry()
		h := register(t, g, c.dims...)
		v, err := g.Partition(h, ViewOptions{}, c.fs...)
		if err != nil {
			t.Fatal(c.name, err)
		}
		if n := h.Fragments(); n != c.frags {
			t.Errorf("%s: %d fragments, want %d", c.name, n, c.frags)
		}
		elements := 0
		for i, p := range v.Parts {
			if n := p.Fragments(); n != 1 {
				t.Errorf("%s: part %d has %d fragments", c.name, i, n)
			}
			g.Lock()
			var found []*Fragment
			h.d.root.leaves(&p.box, func(f *Fragment) { found = append(found, f) })
			if len(found) != 1 || found[0] != p.f0 || found[0].box != p.box {
				t.Errorf("%s: part %d is not found", c.name, i)
			}
			g.Unlock()
			elements += p.box.size()
		}
		if elements != h.box.size() {
			t.Errorf("%s: the parts have %d of %d elements", c.name, elements, h.box.size())
		}
		again := filter.Filter(filter.Blocks(3))
		if len(c.dims) == 2 {
			again = filter.Rows(3, 0)
		}
		if _, err := g.Partition(h, ViewOptions{}, again); err != nil {
			t.Error(c.name, err)
		}
		if n := h.Fragments(); n < c.frags {
			t.Errorf("%s: a second view leaves %d fragments", c.name, n)
		}
	}
}

// BenchmarkViews declares views of data in one state or another; ns/part is for each part.
func BenchmarkViews(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000, 100_000} {
		root := isqrt(n)
		for _, c := range []struct {
			name string
			dims []int
			pre  []filter.Filter // declared before, not counted
			fs   []filter.Filter
			used bool
		}{
			{"blocks", []int{4 * n}, nil, []filter.Filter{filter.Blocks(n)}, false},
			{"halo", []int{4 * n}, nil, []filter.Filter{filter.BlocksHalo(n, 1)}, false},
			{"halo over blocks", []int{4 * n}, []filter.Filter{filter.Blocks(n)}, []filter.Filter{filter.BlocksHalo(n, 1)}, false},
			{"in use", []int{4 * n}, nil, []filter.Filter{filter.Blocks(n)}, true},
			{"tiles", []int{4 * root, 4 * root}, nil, []filter.Filter{filter.Tiles(root, root, 0)}, false},
			{"tiles with halo", []int{4 * root, 4 * root}, nil, []filter.Filter{filter.Tiles(root, root, 1)}, false},
			{"nested", []int{4 * n}, nil, []filter.Filter{filter.Blocks(n / 10), filter.Blocks(10)}, false},
		} {
			b.Run(fmt.Sprintf("%s/%d", c.name, n), func(b *testing.B) {
				b.ReportAllocs()
				parts := 0
				g := registry()
				for range b.N {
					b.StopTimer()
					h := register(b, g, c.dims...)
					if c.used {
						g.Lock()
						var w Waiter
						w.Arm()
						ops := []Operand{{Handle: h, Mode: modeW}}
						m, _ := g.Merge(ops, MergeOptions{})
						m.Register(&w, ops, make([]Access, m.Ordered))
						g.Unlock()
					}
					if c.pre != nil {
						if _, err := g.Partition(h, ViewOptions{}, c.pre...); err != nil {
							b.Fatal(err)
						}
					}
					b.StartTimer()
					v, err := g.Partition(h, ViewOptions{}, c.fs...)
					if err != nil {
						b.Fatal(err)
					}
					parts += len(v.Parts)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(parts), "ns/part")
			})
		}
	}
}

func isqrt(n int) int { return int(math.Sqrt(float64(n))) }
