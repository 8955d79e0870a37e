package datamgr

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

func TestLabels(t *testing.T) {
	g := registry()
	h := register(t, g, 4)
	v, err := g.Partition(h, ViewOptions{}, filter.Blocks(2))
	if err != nil {
		t.Fatal(err)
	}
	p := v.Parts[0]
	if h.UserData() != nil || h.Coordinates() != nil || h.Name() != "" {
		t.Error("a new handle has labels")
	}
	at := []int{1, 2}
	h.SetCoordinates(at...)
	at[0] = 7
	h.Coordinates()[0] = 9
	if got := h.Coordinates(); !slices.Equal(got, []int{1, 2}) {
		t.Error(got)
	}
	h.SetUserData("first")
	h.SetUserData(nil)
	if h.UserData() != nil {
		t.Error(h.UserData())
	}
	h.SetUserData(at)
	h.SetName("h")
	if p.UserData() != nil || p.Coordinates() != nil || p.Name() != "" {
		t.Error("a part has the labels of the whole")
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			h.SetUserData(i)
			h.SetCoordinates(i)
			h.SetName("x")
			if _, ok := h.UserData().(int); !ok || len(h.Coordinates()) != 1 {
				t.Error("labels of two writers are mixed up")
			}
		})
	}
	all.Wait()
}

// An image has a value where its original has one, for whole data and parts, and its
// views have the same parts; what happens to the one does nothing to the other.
func TestImage(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		g, to := registry(), registry()
		h := register(t, g, 1+r.IntN(12), 1+r.IntN(12))
		h.SetName("A")
		var views []*View
		for range r.IntN(4) {
			of := h
			if len(views) > 0 && r.IntN(2) == 0 && !views[0].Ended() {
				of = views[0].Parts[r.IntN(len(views[0].Parts))]
			}
			d := of.Desc()
			f := filter.Rows(1+r.IntN(d.Dim[0]), 0)
			if d.Rank == 2 && r.IntN(2) == 0 {
				f = filter.Cols(1+r.IntN(d.Dim[1]), 0)
			} else if d.Rank != 2 {
				continue
			}
			v, err := g.Partition(of, ViewOptions{}, f)
			if err != nil {
				t.Fatal(err)
			}
			views = append(views, v)
		}
		sub := g.Lock()
		h.d.root.leaves(&h.d.box, func(f *fragment) {
			f.init, f.why = r.IntN(2) == 0, Invalidated
		})
		sub.Unlock()
		if len(views) > 1 && r.IntN(2) == 0 {
			g.EndView(views[len(views)-1], nil)
		}
		made := map[*Handle]*Handle{}
		image, err := to.Image(h)
		if err != nil {
			t.Fatal(err)
		}
		made[h] = image
		for _, v := range views {
			w, err := to.ImageView(v, made[v.Handle])
			if err != nil {
				t.Fatal(err)
			}
			if w.Ended() != v.Ended() || !slices.Equal(w.Dims, v.Dims) {
				t.Fatalf("a view of %v, ended %v; want %v, %v", w.Dims, w.Ended(), v.Dims, v.Ended())
			}
			for k, p := range v.Parts {
				made[p] = w.Parts[k]
			}
		}
		for a, b := range made {
			if da, db := a.Desc(), b.Desc(); da != db || a.Alive() != b.Alive() || a.Name() != b.Name() {
				t.Fatalf("%v alive %v is the image of %v alive %v", db, b.Alive(), da, a.Alive())
			}
			if !a.Alive() {
				continue
			}
			if a.Initialised() != b.Initialised() {
				t.Fatalf("%v: has a value %v, the image %v", a.Desc(), a.Initialised(), b.Initialised())
			}
			covered(t, b)
			for o, p := range made {
				if a.Overlaps(o) != b.Overlaps(p) {
					t.Fatal("images share other elements")
				}
			}
		}
		sub = to.Lock()
		image.d.root.leaves(&image.d.box, func(f *fragment) { f.init = true })
		sub.Unlock()
		sub.End(h, nil)
		if !image.Alive() || !image.Initialised() {
			t.Error("the image changes with its original")
		}
	}
}

// Contributions that wait to be combined wait in the image, too.
func TestImageContributions(t *testing.T) {
	g, to := registry(), registry()
	h, err := g.Register(&Spec{Kind: iface.Variable, Elem: iface.F64, Reduce: SumReduction()})
	if err != nil {
		t.Fatal(err)
	}
	sub := g.Lock()
	h.accumulate(sub)
	h.openGroup(sub)
	sub.Unlock()
	image, err := to.Image(h)
	if err != nil {
		t.Fatal(err)
	}
	sub = to.Lock()
	defer sub.Unlock()
	if got := sub.OpenGroup([]Operand{{Handle: image, Mode: iface.R}}); got != image {
		t.Errorf("to be combined before a read: %v", got)
	}
	if sub.OpenGroup([]Operand{{Handle: image, Mode: iface.Redux}}) != nil {
		t.Error("a contribution has to wait for others")
	}
}

// A handle that one registry found plain is not plain for another, however often the data
// of either changes.
func TestGenerationsOfOthers(t *testing.T) {
	g, other := registry(), registry()
	mine := register(t, g, 4)
	theirs, err := other.Register(&Spec{Kind: iface.Vector, Elem: iface.F64, Dims: []int{4}, Home: unsafe.Pointer(new([4]float64))})
	if err != nil {
		t.Fatal(err)
	}
	ops := []Operand{{Handle: theirs, Mode: iface.W}}
	sub := other.Lock()
	if p := sub.CountPlain(ops); p.Accesses != 1 || p.gen == 0 {
		t.Fatalf("a handle is not plain in its own registry: %+v", p)
	}
	sub.Unlock()
	sub = g.Lock()
	defer sub.Unlock()
	for range 1<<20 + 1 {
		if p := sub.CountPlain(ops); p.Accesses >= 0 {
			t.Fatal("a handle of another registry is plain")
		}
		mine.d.setState(stateFaults)
		mine.d.clearState(stateFaults)
	}
}

// After 2^32 changes the numbers of generations come again, but for 0.
func TestGenerationsComeRound(t *testing.T) {
	last := generations.Load()
	defer generations.Store(last)
	var g generation
	if !g.sameAs(0) {
		t.Fatal("a generation without a number has one")
	}
	for range 3 {
		generations.Store(1<<32 - 2)
		for range 3 {
			was := g.now()
			if g.bump(); g.sameAs(0) || g.sameAs(was) {
				t.Errorf("generation %d after %d", g.now(), was)
			}
		}
	}
}
