package sched

import (
	"math"
	"slices"
	"testing"
)

// world is a machine of one's own: a clock, and tables of what is known.
type world struct {
	Machine
	now              float64
	exec             map[int64][]float64 // by Order and worker; negative: not known
	transfer, energy map[int64][]float64
	missing          map[int64][]int64
}

func newWorld(ws ...Worker) *world {
	m := &world{exec: map[int64][]float64{}, transfer: map[int64][]float64{}, energy: map[int64][]float64{}, missing: map[int64][]int64{}}
	at := func(x []float64, w int) float64 {
		if w < len(x) {
			return x[w]
		}
		return 0
	}
	m.Machine = Machine{
		Workers:  ws,
		Now:      func() float64 { return m.now },
		Estimate: func(it *Item, w int) (float64, bool) { v := at(m.exec[it.Order], w); return v, v > 0 },
		Transfer: func(it *Item, w int) float64 { return at(m.transfer[it.Order], w) },
		Energy:   func(it *Item, w int) float64 { return at(m.energy[it.Order], w) },
		Missing: func(it *Item, w int) int64 {
			if x := m.missing[it.Order]; w < len(x) {
				return x[w]
			}
			return 0
		},
	}
	return m
}

func (m *world) policy(t *testing.T, text string) Policy {
	t.Helper()
	e, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return e.New(m.Machine)
}

// pushes pushes items 1 to n and returns which worker's queue each went to.
func pushes(p Policy, n int) (to []int) {
	for i := range n {
		to = append(to, p.Push(&Item{Order: int64(i + 1)}, Outside))
	}
	return to
}

func orders(p Policy, w int) (out []int64) {
	for it := p.Pop(w); it != nil; it = p.Pop(w) {
		out = append(out, it.Order)
	}
	return out
}

var cpuGPU = []Worker{{}, {Arch: "gpu", Node: 1, Speed: 10}}

func TestDMEndsFirst(t *testing.T) {
	for _, name := range []string{"dm", "dmda", "dmdap", "dmdar", "dmdas"} {
		m := newWorld(cpuGPU...)
		for i := range int64(20) {
			m.exec[i+1] = []float64{10, 2}
		}
		p := m.policy(t, name)
		// the GPU ends its fifth at 10, as the CPU does its first, which came first
		to := pushes(p, 12)
		if want := []int{1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 1}; !slices.Equal(to, want) {
			t.Errorf("%s: %v, want %v", name, to, want)
		}
	}
}

func TestDMDAWeighs(t *testing.T) {
	for text, want := range map[string]int{
		"dm":                             1, // does not look at data
		"dmda":                           0, // 5 < 2 + 4
		"dmda:beta=0":                    1,
		"dmda:alpha=0,beta=1":            0,
		"dmdas:beta=0.5":                 1, // 5 > 2 + 2
		"dmda:alpha=2":                   1, // 10 > 4 + 4
		"dmda:alpha=2,beta=0,gamma=0.01": 0, // 10 + 1 < 4 + 8
		"dmda:beta=0,gamma=0":            1,
	} {
		m := newWorld(cpuGPU...)
		m.exec[1], m.transfer[1], m.energy[1] = []float64{5, 2}, []float64{0, 4}, []float64{100, 800}
		if to := pushes(m.policy(t, text), 1); to[0] != want {
			t.Errorf("%s: worker %d, want %d", text, to[0], want)
		}
	}
}

// A running item counts until it is known to have ended.
func TestDMFeedback(t *testing.T) {
	m := newWorld(Worker{}, Worker{})
	for i := range int64(9) {
		m.exec[i+1] = []float64{4, 4}
	}
	p := m.policy(t, "dmda")
	to := pushes(p, 1)
	a := p.Pop(0)
	m.now = 1
	to = append(to, p.Push(&Item{Order: 2}, Outside)) // 0 runs until 4
	p.(Feedback).Started(a, 0)                        // its data took until now: it runs until 5
	m.now = 2
	to = append(to, p.Push(&Item{Order: 3}, Outside)) // 1 has not begun, and would end its second at 10
	p.(Feedback).Ended(a, 0, 1)
	to = append(to, p.Push(&Item{Order: 4}, Outside))
	if want := []int{0, 1, 0, 0}; !slices.Equal(to, want) {
		// item 3: 0 ends it at 9, 1 at 10. Item 4: both end it at 10
		t.Errorf("%v, want %v", to, want)
	}
}

// While something is not known on some worker it is tried there, the load
// spread by speed.
func TestDMCalibrates(t *testing.T) {
	m := newWorld(Worker{}, Worker{}, Worker{Arch: "gpu", Speed: 4}, Worker{Arch: "gpu", Node: 1, Speed: 4})
	for i := range int64(10) {
		m.exec[i+1] = []float64{1, 1, -1, 3} // only the first GPU does not know
	}
	p := m.policy(t, "dm")
	if to, want := pushes(p, 3), []int{2, 2, 2}; !slices.Equal(to, want) {
		t.Errorf("one class to learn about: %v, want %v", to, want)
	}
	for i := range int64(20) {
		m.exec[i+1] = []float64{-1, -1, -1, -1}
	}
	counts := make([]int, 4)
	for _, w := range pushes(m.policy(t, "dm"), 20) {
		counts[w]++
	}
	if want := []int{2, 2, 8, 8}; !slices.Equal(counts, want) {
		t.Errorf("nothing is known: %v items, want %v", counts, want)
	}
}

// An item queued for one worker goes to another that would end it no later, and
// stays if the other would end it later.
func TestDMHelpsOut(t *testing.T) {
	m := newWorld(cpuGPU...)
	m.exec[1], m.exec[2], m.exec[3] = []float64{100, 10}, []float64{15, 4}, []float64{100, 4}
	p := m.policy(t, "dm")
	if to := pushes(p, 3); !slices.Equal(to, []int{1, 1, 1}) {
		t.Fatal(to)
	}
	a := p.Pop(1) // runs until 10
	if it := p.Pop(0); it != nil {
		t.Errorf("the CPU takes %d, and would end it at 15 instead of 14", it.Order)
	}
	m.now = 13 // the GPU takes longer than expected
	if it := p.Pop(0); it != nil {
		t.Errorf("the CPU takes %d, and would end it at 28 instead of 17", it.Order)
	}
	m.exec[2] = []float64{3, 4}
	if it := p.Pop(0); it == nil || it.Order != 2 {
		t.Error("the CPU does not take what it would end at 16 instead of 17")
	}
	p.(Feedback).Ended(a, 1, 13)
	if it := p.Pop(1); it == nil || it.Order != 3 || !p.Empty() {
		t.Error(it)
	}
}

func TestDMReadyFirst(t *testing.T) {
	for name, want := range map[string][]int64{
		"dmda":  {2, 1, 3, 4, 5},
		"dmdap": {2, 1, 4, 5, 3},
		"dmdar": {2, 5, 4, 1, 3},
		"dmdas": {2, 5, 4, 1, 3},
	} {
		m := newWorld(Worker{})
		m.missing = map[int64][]int64{1: {70}, 2: {90}, 3: {80}, 4: {20}, 5: {0}}
		p := m.policy(t, name)
		for i, prio := range []int32{0, 9, -1, 0, 0} {
			p.Push(&Item{Order: int64(i + 1), Priority: prio}, Outside)
		}
		if got := orders(p, 0); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// An item whose data is elsewhere is not passed over for ever.
func TestDMReadyIsFair(t *testing.T) {
	m := newWorld(Worker{})
	m.missing[0] = []int64{1}
	p := m.policy(t, "dmdar")
	p.Push(&Item{}, Outside)
	p.Push(&Item{Order: 1}, Outside)
	for i := range int64(1000) {
		p.Push(&Item{Order: i + 2}, Outside)
		if it := p.Pop(0); it.Order == 0 {
			return
		}
	}
	t.Error("passed over 1000 times")
}

// Predictions that make no sense do no harm.
func TestDMOddPredictions(t *testing.T) {
	for _, odd := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, math.MaxFloat64} {
		m := newWorld(cpuGPU...)
		m.Estimate = func(it *Item, w int) (float64, bool) { return odd, true }
		m.Transfer = func(it *Item, w int) float64 { return odd }
		m.Energy = m.Transfer
		p := m.policy(t, "dmdas")
		pushes(p, 10)
		if n := len(orders(p, 0)) + len(orders(p, 1)); n != 10 || !p.Empty() {
			t.Errorf("%v: %d of 10 items", odd, n)
		}
		m.Estimate = func(it *Item, w int) (float64, bool) { return 1, true }
		m.Transfer, m.Energy = nil, nil
		p.Push(&Item{}, Outside)
		if orders(p, 0); !p.Empty() {
			orders(p, 1)
		}
		if !p.Empty() {
			t.Errorf("%v: not empty afterwards", odd)
		}
	}
}

// TestBundle: the items of a bundle go to one memory node, to that where all together are expected to end first.
func TestBundle(t *testing.T) {
	workers := []Worker{{}, {}, {Arch: "gpu", Node: 1}, {Arch: "gpu", Node: 2}}
	exec := [][]float64{{1, 1, 2, 2}, {9, 9, 3, 3}, {9, 9, 4, 4}} // the first alone is faster on CPUs
	place := func(policy string, bundle func(order int64) *Bundle, only map[int64]*Set) (nodes []int) {
		m := newWorld(workers...)
		m.Bundle = func(it *Item) *Bundle { return bundle(it.Order) }
		var items []*Item
		for i, e := range exec {
			n := int64(i + 1)
			m.exec[n] = e
			it := &Item{Order: n, Allowed: only[n]}
			items = append(items, it)
			if b := bundle(n); b != nil {
				b.Add(&m.Machine, it)
			}
		}
		p := m.policy(t, policy)
		for _, it := range items {
			nodes = append(nodes, workers[p.Push(it, Outside)].Node)
		}
		return nodes
	}
	for _, policy := range []string{"dm", "dmda", "dmdap", "dmdar", "dmdas"} {
		if got := place(policy, func(int64) *Bundle { return nil }, nil); !slices.Equal(got, []int{0, 1, 2}) {
			t.Errorf("%s, no bundle: nodes %v", policy, got)
		}
		b := &Bundle{}
		if got := place(policy, func(int64) *Bundle { return b }, nil); !slices.Equal(got, []int{1, 1, 1}) {
			t.Errorf("%s, a bundle: nodes %v", policy, got)
		}
		b = &Bundle{}
		if got := place(policy, func(int64) *Bundle { return b }, map[int64]*Set{2: NewSet(0, 3)}); got[1] != 2 || got[0] != got[2] {
			t.Errorf("%s, one that may not run there: nodes %v", policy, got)
		}
		two := [2]Bundle{}
		if got := place(policy, func(n int64) *Bundle { return &two[n/3] }, nil); got[0] != got[1] {
			t.Errorf("%s, two bundles: nodes %v", policy, got)
		}
	}
}
