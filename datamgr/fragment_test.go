package datamgr

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/accel/cpu"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

func registry() *Registry { return NewRegistry(cpu.New(0).Memory()) }

func register(t testing.TB, g *Registry, dims ...int) *Handle {
	t.Helper()
	h, err := g.Register(&Spec{Kind: iface.KindOf(len(dims)), Elem: iface.F64, Dims: dims})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// covered asserts that the fragments of h are disjoint and cover exactly h.
func covered(t *testing.T, h *Handle) {
	t.Helper()
	sub := h.d.reg.Lock()
	defer sub.Unlock()
	seen := map[[2]int]int{}
	for _, f := range h.list(sub) {
		for i := f.box.from(0); i < f.box.to(0); i++ {
			for k := f.box.from(1); k < f.box.to(1); k++ {
				seen[[2]int{i, k}]++
			}
		}
	}
	n := 0
	for i := h.box.from(0); i < h.box.to(0); i++ {
		for k := h.box.from(1); k < h.box.to(1); k++ {
			n++
			if seen[[2]int{i, k}] != 1 {
				t.Fatalf("element %d %d is in %d fragments", i, k, seen[[2]int{i, k}])
			}
		}
	}
	if len(seen) != n {
		t.Fatalf("%d elements in fragments, %d in the handle", len(seen), n)
	}
	// the tree finds the same fragments
	found := 0
	h.d.root.leaves(&h.box, func(*fragment) { found++ })
	if found != len(h.list(sub)) {
		t.Fatalf("the tree finds %d fragments, the handle has %d", found, len(h.list(sub)))
	}
}

func TestFragmentsCoverHandles(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		g := registry()
		h := register(t, g, 1+r.IntN(12), 1+r.IntN(12))
		hs := []*Handle{h}
		for range 1 + r.IntN(6) {
			p := hs[r.IntN(len(hs))]
			d := p.Desc()
			var f filter.Filter
			switch {
			case d.Kind == iface.Variable:
				continue
			case d.Kind == iface.Vector:
				f = filter.Blocks(1 + r.IntN(d.Dim[0]))
			case r.IntN(4) == 0:
				f = filter.Pick(r.IntN(2))
			default:
				f = filter.Tiles(1+r.IntN(d.Dim[0]), 1+r.IntN(d.Dim[1]), 0)
			}
			v, err := g.Partition(p, ViewOptions{}, f)
			if err != nil {
				t.Fatal(err)
			}
			hs = append(hs, v.Parts...)
		}
		for _, h := range hs {
			covered(t, h)
		}
	}
}

// Declaring the same parts again cuts nothing.
func TestSameViewTwice(t *testing.T) {
	g := registry()
	h := register(t, g, 64)
	for range 3 {
		if _, err := g.Partition(h, ViewOptions{}, filter.Blocks(8)); err != nil {
			t.Fatal(err)
		}
	}
	if n := h.Fragments(); n != 8 {
		t.Errorf("%d fragments", n)
	}
}

// Parts declared one by one from one end do not make searching slow.
func TestTreeStaysFlat(t *testing.T) {
	g := registry()
	const n = 2000
	h := register(t, g, n)
	for i := range n {
		if _, err := g.Partition(h, ViewOptions{}, filter.PickRange(0, i, i+1)); err != nil {
			t.Fatal(err)
		}
	}
	deepest := int32(0)
	h.d.root.leaves(&h.d.box, func(f *fragment) { deepest = max(deepest, f.deep) })
	if deepest > 60 {
		t.Errorf("a tree of %d fragments is %d deep", n, deepest)
	}
	covered(t, h)
}

func TestEndViewEndsPartsOfParts(t *testing.T) {
	g := registry()
	h := register(t, g, 16)
	v, err := g.Partition(h, ViewOptions{}, filter.Blocks(4))
	if err != nil {
		t.Fatal(err)
	}
	in, err := g.Partition(v.Parts[1], ViewOptions{}, filter.Halves())
	if err != nil {
		t.Fatal(err)
	}
	site := &Site{File: "v.spu", Line: 2}
	g.EndView(v, site)
	if !v.Ended() || !in.Ended() || in.Parts[0].Alive() || v.Parts[0].Alive() || !h.Alive() || len(h.Views()) != 0 {
		t.Error("something lives on")
	}
	if at, ended, dead := in.Parts[1].Death(); at != site || !ended || !dead {
		t.Error(at, ended, dead)
	}
	if _, err := g.Partition(v.Parts[0], ViewOptions{}, filter.Halves()); err != ErrDead {
		t.Error(err)
	}
}

// bent is a filter of a host that breaks its promises.
type bent struct {
	split filter.Split
	err   error
}

func (f *bent) Name() string { return "bent" }
func (f *bent) Split(iface.Desc) (filter.Split, error) {
	if f.err == nil && f.split.Dims == nil {
		panic("bent")
	}
	return f.split, f.err
}

func TestHostFilters(t *testing.T) {
	g := registry()
	h := register(t, g, 8)
	part := func(lo, hi int) filter.Part {
		p := filter.Part{Drop: -1}
		p.Lo[0], p.Hi[0] = lo, hi
		return p
	}
	boom := errors.New("boom")
	for name, f := range map[string]*bent{
		"panic":         {},
		"error":         {err: boom},
		"outside":       {split: filter.Split{Dims: []int{1}, Parts: []filter.Part{part(0, 9)}}},
		"backwards":     {split: filter.Split{Dims: []int{1}, Parts: []filter.Part{part(5, 3)}}},
		"wrong number":  {split: filter.Split{Dims: []int{2}, Parts: []filter.Part{part(0, 8)}}},
		"no dimensions": {split: filter.Split{Dims: []int{}, Parts: []filter.Part{part(0, 8)}}},
	} {
		if _, err := g.Partition(h, ViewOptions{}, f); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	v, err := g.Partition(h, ViewOptions{}, &bent{split: filter.Split{Dims: []int{2}, Parts: []filter.Part{part(0, 5), part(3, 8)}}})
	if err != nil || !v.Parts[0].Overlaps(v.Parts[1]) || h.Fragments() != 3 {
		t.Error(err, h.Fragments())
	}
	if _, err := g.Partition(h, ViewOptions{}); err == nil {
		t.Error("a partition without filters")
	}
}

func TestInitialisedPart(t *testing.T) {
	g := registry()
	h := register(t, g, 4, 4)
	v, err := g.Partition(h, ViewOptions{}, filter.Tiles(2, 2, 0))
	if err != nil {
		t.Fatal(err)
	}
	write := func(p *Handle) {
		sub := g.Lock()
		defer sub.Unlock()
		var w Waiter
		w.Arm()
		ops := []Operand{{Handle: p, Mode: iface.W}}
		plain := sub.CountPlain(ops)
		acc := make([]Access, plain.Accesses)
		if n := sub.RegisterPlain(plain, &w, ops, acc); n != 0 {
			t.Errorf("%d waits", n)
		}
		sub.Completer().Finish(acc)
	}
	write(v.Parts[0])
	at := func(i, k int) [iface.MaxRank]int { return [iface.MaxRank]int{i, k} }
	for _, c := range []struct {
		lo, hi [iface.MaxRank]int
		want   bool
	}{{at(0, 0), at(2, 2), true}, {at(0, 0), at(1, 3), false}, {at(1, 1), at(2, 2), true}, {at(3, 3), at(4, 4), false}, {at(1, 1), at(2, 4), false}, {at(2, 2), at(2, 4), true}} {
		if got := h.InitialisedPart(c.lo, c.hi); got != c.want {
			t.Errorf("%v to %v: %v", c.lo, c.hi, got)
		}
	}
	if h.Initialised() || !v.Parts[0].Initialised() || v.Parts[3].Initialised() {
		t.Error("initialised")
	}
	for _, p := range v.Parts {
		write(p)
	}
	if !h.Initialised() {
		t.Error("not initialised after all parts were written")
	}
}

func BenchmarkDeclare(b *testing.B) {
	for range b.N {
		g := registry()
		h := register(b, g, 400000)
		if _, err := g.Partition(h, ViewOptions{}, filter.Blocks(100000)); err != nil {
			b.Fatal(err)
		}
		if _, err := g.Partition(h, ViewOptions{}, filter.BlocksHalo(100000, 1)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/200000, "ns/part")
}

// TestFragmentSize: the allocator gives three cache lines that begin at one, and
// no size between.
func TestFragmentSize(t *testing.T) {
	if n := unsafe.Sizeof(fragment{}); n != 192 {
		t.Errorf("a fragment takes %d bytes, want 192", n)
	}
}

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
			sub := g.Lock()
			var found []*fragment
			h.d.root.leaves(&p.box, func(f *fragment) { found = append(found, f) })
			if len(found) != 1 || found[0] != p.f0 || found[0].box != p.box {
				t.Errorf("%s: part %d is not found", c.name, i)
			}
			sub.Unlock()
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
						sub := g.Lock()
						var w Waiter
						w.Arm()
						ops := []Operand{{Handle: h, Mode: modeW}}
						m, _ := sub.Merge(ops, MergeOptions{})
						m.Register(sub, &w, ops, make([]Access, m.Ordered))
						sub.Unlock()
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

// Whatever views were declared before, idle or in use: the fragments of a part
// are those that the tree finds for it, they fill it, and each fragment is whole.
func TestFragmentsOfParts(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		g := registry()
		h := register(t, g, 24+r.IntN(200), 4+r.IntN(20))
		all := []*Handle{h}
		for range 2 + r.IntN(6) {
			of := all[r.IntN(len(all))]
			if r.IntN(3) == 0 { // what is cut now is in use
				sub := g.Lock()
				w := new(Waiter)
				w.Arm()
				mode := modeW
				if r.IntN(2) == 0 {
					mode = modeRW
				}
				ops := []Operand{{Handle: of, Mode: mode}}
				m, _ := sub.Merge(ops, MergeOptions{NoValueYet: true})
				w.Settle(m.Register(sub, w, ops, make([]Access, m.Ordered)))
				sub.Unlock()
			}
			rows, cols := of.dim(0), of.dim(1)
			fs := []filter.Filter{
				filter.Rows(1+r.IntN(rows), 0), filter.Cols(1+r.IntN(cols), 0),
				filter.Tiles(1+r.IntN(rows), 1+r.IntN(cols), 0),
			}
			if rows > 2 && cols > 2 {
				fs = append(fs, filter.Rows(1+r.IntN(rows-2), 1), filter.Cols(1+r.IntN(cols-2), 1), filter.Tiles(1+r.IntN(rows-2), 1+r.IntN(cols-2), 1))
			}
			v, err := g.Partition(of, ViewOptions{}, fs[r.IntN(len(fs))])
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, v.Parts[r.IntN(len(v.Parts))], v.Parts[r.IntN(len(v.Parts))])
			if err := consistent(g, h, append(v.Parts, all...)); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
	}
}

// consistent checks what handles know of the fragments of the datum of h.
func consistent(g *Registry, h *Handle, hs []*Handle) error {
	sub := g.Lock()
	defer sub.Unlock()
	n, size := 0, 0
	h.d.root.leaves(&h.box, func(f *fragment) { n++; size += f.box.size() })
	if n != h.d.fragments || size != h.box.size() {
		return fmt.Errorf("%d fragments of %d elements, want %d of %d", n, size, h.d.fragments, h.box.size())
	}
	for _, p := range hs {
		found := map[*fragment]bool{}
		h.d.root.leaves(&p.box, func(f *fragment) { found[f] = true })
		elements := 0
		for _, f := range p.list(sub) {
			if !found[f] || !p.box.has(&f.box) {
				return fmt.Errorf("%v has the fragment %v, which the tree does not find", p.box, f.box)
			}
			delete(found, f)
			elements += f.box.size()
		}
		if len(found) != 0 || elements != p.box.size() {
			return fmt.Errorf("%v: %d fragments are missing, %d of %d elements", p.box, len(found), elements, p.box.size())
		}
		if (p.f0 != nil) != (len(p.frags) == 1) {
			return fmt.Errorf("%v: %d fragments, but the only one is %p", p.box, len(p.frags), p.f0)
		}
	}
	return nil
}

// crossing cuts a block along each of its axes: the parts of the three views cross, and
// every element is a fragment.
func crossing(n int) (dims []int, fs []filter.Filter) {
	return []int{n, n, n}, []filter.Filter{filter.Axis(0, n, 0), filter.Axis(1, n, 0), filter.Axis(2, n, 0)}
}

// TestRoomOfViews: a view takes about as much memory as it asks for, whatever is cut
// before; it asks before it takes it, and without room or time nothing is declared, and
// what is there works as before.
func TestRoomOfViews(t *testing.T) {
	blockDims, blockViews := crossing(40)
	for _, c := range []struct {
		name string
		dims []int
		fs   []filter.Filter
	}{
		{"blocks", []int{100_000}, []filter.Filter{filter.Blocks(10_000), filter.BlocksHalo(10_000, 3), filter.Blocks(3), filter.Blocks(30_000)}},
		{"much halo", []int{4000}, []filter.Filter{filter.BlocksHalo(500, 1500), filter.Blocks(4000)}},
		{"crossing rows", []int{300, 300}, []filter.Filter{filter.Rows(300, 0), filter.Cols(300, 0), filter.Rows(20, 4), filter.Cols(10, 20)}},
		{"crossing blocks", blockDims, blockViews},
		{"tiles", []int{200, 200}, []filter.Filter{filter.Rows(199, 0), filter.Tiles(50, 40, 2), filter.Tiles(99, 99, 0)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := registry()
			h, scarred := register(t, g, c.dims...), register(t, g, c.dims...)
			var all []*Handle
			for i, f := range c.fs {
				asked, before := int64(0), allocated()
				v, err := g.Partition(h, ViewOptions{Context: t.Context(), Room: func(n int64) error { asked += n; return nil }}, f)
				if err != nil {
					t.Fatal(err)
				}
				took := allocated() - before
				if took > asked*3/2+1<<16 || asked < partBytes*int64(len(v.Parts)) {
					t.Errorf("view %d of %d parts: %d bytes asked, and %d taken", i, len(v.Parts), asked, took)
				}
				t.Logf("view %d of %d parts, %d fragments: %d bytes asked, %d taken", i, len(v.Parts), h.Fragments(), asked, took)

				reason := errors.New("no more")
				for left := range 3 { // calls that find room
					calls := 0
					_, err := g.Partition(scarred, ViewOptions{Room: func(int64) error {
						if calls++; calls > left {
							return reason
						}
						return nil
					}}, f)
					if err != reason && (err != nil || calls > left) {
						t.Errorf("view %d without room: %v", i, err)
					}
					ended, cancel := context.WithCancelCause(t.Context())
					_, err = g.Partition(scarred, ViewOptions{Context: ended, Room: func(int64) error {
						if calls--; calls <= 0 {
							cancel(reason)
						}
						return nil
					}}, f)
					if err != nil && err != reason {
						t.Errorf("view %d whose context ends: %v", i, err)
					}
					cancel(nil)
					for _, v := range scarred.Views()[i:] { // there was room, and time, for these
						g.EndView(v, nil)
					}
				}
				if v, err = g.Partition(scarred, ViewOptions{}, f); err != nil {
					t.Fatal(err)
				}
				all = append(all, v.Parts...)
				if err := consistent(g, scarred, all); err != nil {
					t.Fatalf("view %d: %v", i, err)
				}
			}
		})
	}
}

func allocated() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.TotalAlloc)
}

// TestListsOfFragments: handles do not keep more lists of fragments than there are
// fragments, times a few, also where their parts overlap much and were cut afterwards.
func TestListsOfFragments(t *testing.T) {
	g := registry()
	h := register(t, g, 4000)
	wide, err := g.Partition(h, ViewOptions{}, filter.BlocksHalo(1000, 1500))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Partition(h, ViewOptions{}, filter.Blocks(4000)); err != nil {
		t.Fatal(err)
	}
	kept := func() (n int) {
		sub := g.Lock()
		defer sub.Unlock()
		for _, p := range wide.Parts {
			if p.listed {
				n += len(p.frags)
			}
		}
		if n != h.d.listed {
			t.Errorf("%d fragments in the lists, and %d are counted", n, h.d.listed)
		}
		return n
	}
	for range 2 {
		for i, p := range wide.Parts {
			if n := p.Fragments(); n != 3001 {
				t.Fatalf("part %d has %d fragments", i, n)
			}
		}
		if n := kept(); n == 0 || n > keptMentions*h.Fragments() {
			t.Errorf("%d fragments are in lists", n)
		}
	}
	last := wide.Parts[len(wide.Parts)-1] // too late for a list
	sub := g.Lock()
	ops := []Operand{{Handle: last, Mode: modeW}}
	if n := sub.CountPlain(ops).Accesses; n != -1 {
		t.Errorf("%d accesses of a handle without a list are plain", n)
	}
	var w Waiter
	w.Arm()
	m, _ := sub.Merge(ops, MergeOptions{})
	if m.Ordered != 3001 || m.Register(sub, &w, ops, make([]Access, m.Ordered)) != 0 {
		t.Errorf("%d accesses", m.Ordered)
	}
	sub.Unlock()
	if err := consistent(g, h, wide.Parts); err != nil {
		t.Error(err)
	}
	g.EndView(wide, nil)
	if n := kept(); n != 0 {
		t.Errorf("the parts of an ended view keep %d fragments in lists", n)
	}
	if n := last.Fragments(); n != 3001 {
		t.Errorf("a part of an ended view has %d fragments", n)
	}
}
