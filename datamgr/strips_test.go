package datamgr

import (
	"fmt"
	"math/rand/v2"
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
			v, err := g.Partition(of, nil, fs[r.IntN(len(fs))])
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
