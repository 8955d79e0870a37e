package datamgr

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/starpush/starpush/datamgr/filter"
)

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
				g.Lock()
				w := new(Waiter)
				w.Arm()
				mode := modeW
				if r.IntN(2) == 0 {
					mode = modeRW
				}
				ops := []Operand{{Handle: of, Mode: mode}}
				m, _ := g.Merge(ops, MergeOptions{NoValueYet: true})
				w.Settle(m.Register(w, ops, make([]Access, m.Ordered)))
				g.Unlock()
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
	g.Lock()
	defer g.Unlock()
	n, size := 0, 0
	h.d.root.leaves(&h.box, func(f *Fragment) { n++; size += f.box.size() })
	if n != h.d.fragments || size != h.box.size() {
		return fmt.Errorf("%d fragments of %d elements, want %d of %d", n, size, h.d.fragments, h.box.size())
	}
	for _, p := range hs {
		found := map[*Fragment]bool{}
		h.d.root.leaves(&p.box, func(f *Fragment) { found[f] = true })
		elements := 0
		for _, f := range p.list() {
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
				if took > asked*3/2+1<<16 || asked < PartBytes*int64(len(v.Parts)) {
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
		g.Lock()
		defer g.Unlock()
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
	g.Lock()
	ops := []Operand{{Handle: last, Mode: modeW}}
	if n := g.CountPlain(ops); n != -1 {
		t.Errorf("%d accesses of a handle without a list are plain", n)
	}
	var w Waiter
	w.Arm()
	m, _ := g.Merge(ops, MergeOptions{})
	if m.Ordered != 3001 || m.Register(&w, ops, make([]Access, m.Ordered)) != 0 {
		t.Errorf("%d accesses", m.Ordered)
	}
	g.Unlock()
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
