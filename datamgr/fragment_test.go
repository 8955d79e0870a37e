package datamgr

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/starpush/starpush/accel/cpu"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

func registry() *Registry { return NewRegistry(cpu.New(0).Memory()) }

func register(t testing.TB, g *Registry, dims ...int) *Handle {
	t.Helper()
	k := [...]iface.Kind{1: iface.Vector, 2: iface.Matrix, 3: iface.Block}[len(dims)]
	h, err := g.Register(&Spec{Kind: k, Elem: iface.F64, Dims: dims})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// covered asserts that the fragments of h are disjoint and cover exactly h.
func covered(t *testing.T, h *Handle) {
	t.Helper()
	h.d.reg.Lock()
	defer h.d.reg.Unlock()
	seen := map[[2]int]int{}
	for _, f := range h.list() {
		for i := f.box.lo[0]; i < f.box.hi[0]; i++ {
			for k := f.box.lo[1]; k < f.box.hi[1]; k++ {
				seen[[2]int{i, k}]++
			}
		}
	}
	n := 0
	for i := h.box.lo[0]; i < h.box.hi[0]; i++ {
		for k := h.box.lo[1]; k < h.box.hi[1]; k++ {
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
	h.d.root.leaves(&h.box, func(*Fragment) { found++ })
	if found != len(h.list()) {
		t.Fatalf("the tree finds %d fragments, the handle has %d", found, len(h.list()))
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
	h.d.root.leaves(&h.d.box, func(f *Fragment) { deepest = max(deepest, f.deep) })
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
		g.Lock()
		defer g.Unlock()
		var w Waiter
		w.Arm()
		ops := []Operand{{Handle: p, Mode: iface.W}}
		acc := make([]Access, g.CountPlain(ops))
		if n := g.RegisterPlain(&w, ops, acc); n != 0 {
			t.Errorf("%d waits", n)
		}
		g.Completer().Finish(acc)
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
