package datamgr

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/starpush/starpush/datamgr/iface"
)

// TestAhead: whatever order tasks are added and removed in, the next one is known.
func TestAhead(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		h := &Handle{}
		var have []int64
		for i := range int64(500) {
			if len(have) > 0 && r.IntN(2) == 0 {
				k := 0
				if r.IntN(3) == 0 {
					k = r.IntN(len(have))
				}
				h.more().ahead.remove(have[k])
				have = slices.Delete(have, k, k+1)
			} else {
				v := i
				if r.IntN(4) == 0 {
					v = int64(r.IntN(500))
				}
				h.more().ahead.add(v)
				have = append(have, v)
			}
			slices.Sort(have)
			want := int64(never)
			if len(have) > 0 {
				want = have[0]
			}
			if got := h.nextUse(); got != want {
				t.Fatalf("the next of %v is %d", have, got)
			}
		}
		h.more().ahead.remove(-1) // which was never added
	}
}

// TestEvictionOrder: what no task waits for goes first, of that what need not be
// saved; then what is needed last; what was used longest ago decides between equals.
func TestEvictionOrder(t *testing.T) {
	g, _ := frailNodes(t, 100, 100)
	var hs []*Handle
	for range 6 {
		h, _ := vector(t, g, 10, 1)
		hs = append(hs, h)
	}
	n := g.nodes[1]
	use := func(i int, m AccessMode) {
		t.Helper()
		var p Placement
		if err := p.Prepare(1, []Operand{{Handle: hs[i], Mode: m}}); err != nil {
			t.Fatal(err)
		}
		p.Release()
	}
	use(0, modeRW) // dirty, no task waits for it
	use(1, modeR)
	use(2, modeR) // clean, no task waits for it
	use(3, modeRW)
	use(4, modeR)
	use(5, modeR) // as 2, and used later
	for i, when := range map[int]int64{1: 20, 3: 30, 4: 10} {
		Expect([]Operand{{Handle: hs[i], Mode: modeR}}, when)
	}
	Expect([]Operand{{Handle: hs[0], Mode: modeW}, {Handle: hs[2], Mode: iface.Scratch}}, 1) // need no value
	for _, want := range []int{2, 5, 0, 3, 1, 4} {
		if _, done := n.evict(); !done {
			t.Fatal("nothing was evicted")
		}
		gone := -1
		for i, h := range hs {
			if h != nil && managed(h).Where()[1].Allocated == 0 {
				gone, hs[i] = i, nil
			}
		}
		if gone != want {
			t.Errorf("%d was evicted, want %d", gone, want)
		}
	}
}

// TestFetch: a request takes room from other data only if it may, no more than is missing when it
// is carried out, and nothing once its task has started.
func TestFetch(t *testing.T) {
	on := func(h *Handle) int64 { return managed(h).Where()[1].Allocated }
	for _, c := range []struct {
		name      string
		capacity  int64
		before    func(g *Registry, in, out *Handle)
		request   FetchRequest // for in and out
		in, other int64        // bytes on the device afterwards
	}{
		{name: "without room", capacity: 15, in: 0, other: 80},
		{name: "with eviction", capacity: 20, request: FetchRequest{Evict: true}, in: 80, other: 0},
		{name: "has memory for what is written", capacity: 30, request: FetchRequest{Evict: true}, in: 80, other: 80,
			before: func(g *Registry, in, out *Handle) {
				if !g.Allocate(out, 1) {
					t.Error("no room")
				}
			}},
		{name: "for a task that waits", capacity: 20, request: FetchRequest{Evict: true, ForTask: true, When: 7}, in: 80, other: 0,
			before: func(_ *Registry, in, _ *Handle) { Expect([]Operand{{Handle: in, Mode: modeR}}, 7) }},
		{name: "for a task that has started", capacity: 20, request: FetchRequest{Evict: true, ForTask: true, When: 7}, in: 0, other: 80,
			before: func(_ *Registry, in, _ *Handle) {
				ops := []Operand{{Handle: in, Mode: modeR}}
				Expect(ops, 7)
				Expect(ops, 8)
				Withdraw(ops, 7)
			}},
	} {
		g, _ := twoNodes(t, c.capacity)
		in, _ := vector(t, g, 10, 1)
		out, _ := vector(t, g, 10, 1)
		other, _ := vector(t, g, 10, 1)
		prefetch(g, other, 1)
		if c.before != nil {
			c.before(g, in, out)
		}
		r := c.request
		r.Reads = []*Handle{in}
		if r.Evict {
			r.Writes = []*Handle{out}
		}
		g.Fetch(&r, 1)
		if on(in) != c.in || on(other) != c.other {
			t.Errorf("%s: %d bytes of what is read and %d of the other data, want %d and %d", c.name, on(in), on(other), c.in, c.other)
		}
		if v := managed(in).Where()[1].Valid; v != c.in {
			t.Errorf("%s: %d bytes of it are valid", c.name, v)
		}
	}
}
