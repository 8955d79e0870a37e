package sched

// Machine: the workers that a policy schedules for, and estimates for items.

import (
	"math"
	"sync"
	"time"
)

// Machine describes the workers of a policy. The engine sets all functions, and New
// replaces nil functions by their defaults, so that policies never call nil.
//
// Functions about an item may be called from Push until the item is given out, by any
// goroutine, also under the policy's locks: they take none that a caller of the policy
// may hold. w is the number of a worker that the item allows.
type Machine struct {
	Workers []Worker
	// Estimate predicts how long the item's kernel runs on w, in seconds; not
	// known: nothing was measured there yet, or there is no model. Default: never
	// known.
	Estimate func(it *Item, w int) (seconds float64, known bool)
	// Transfer predicts how long it takes to bring what the item reads to w's
	// memory node, in seconds. Default: 0.
	Transfer func(it *Item, w int) float64
	// Energy predicts what the item's kernel takes on w, in joules. Default: 0,
	// not known.
	Energy func(it *Item, w int) float64
	// Missing returns how many bytes that the item reads are not on w's memory node.
	// Default: 0.
	Missing func(it *Item, w int) int64
	// Data calls visit for each piece of data that the item uses: the same data
	// has the same id. Default: no data.
	Data func(it *Item, visit func(id, bytes int64))
	// Kind tells items apart that behave differently: items of one kind take
	// about equally long, relative to other kinds, on any worker. The result
	// can be compared. Default: all are of kind nil.
	Kind func(it *Item) any
	// Bundle returns the bundle of the item, nil for none. Default: none.
	Bundle func(it *Item) *Bundle
	// Gang returns the gang of an item that may run on several workers at once, nil for
	// others. Default: none.
	Gang func(it *Item) *Gang
	// Explain returns the function that receives the reasons why the policy gives items
	// to workers, nil while there is no listener. It is called under the policy's locks, before the item can be
	// given out. Policies that weigh workers against each other ask; the others need
	// not. Default: nil.
	Explain func() func(it *Item, c *Choice)
	// Wake asks a worker that sleeps to look for items, worker w or Anyone: for policies that
	// kept an item for one worker (Push returned Nobody) and now let any worker take it,
	// because that one begins something else. Default: nothing.
	Wake func(w int)
	// Now is the time in seconds since some moment. Default: the machine's
	// monotonic clock.
	Now func() float64
}

// Worker describes a worker. The zero value is a CPU worker.
type Worker struct {
	Arch  string  // what runs its kernels; "" means "cpu"
	Node  int     // its memory node; 0 is main memory
	Speed float64 // compared to a CPU worker, where nothing better is known; 0 means 1
	// Memory is how many bytes of data its memory node holds; 0: no matter.
	Memory int64
}

// CPUs is a machine of n CPU workers that knows nothing about items.
func CPUs(n int) Machine { return Machine{Workers: make([]Worker, n)}.filled() }

// filled returns m with its defaults. The workers are copied.
func (m Machine) filled() Machine {
	ws := make([]Worker, len(m.Workers))
	for i, w := range m.Workers {
		if w.Arch == "" {
			w.Arch = "cpu"
		}
		if !(w.Speed > 0) || math.IsInf(w.Speed, 0) {
			w.Speed = 1
		}
		ws[i] = w
	}
	m.Workers = ws
	if m.Estimate == nil {
		m.Estimate = func(*Item, int) (float64, bool) { return 0, false }
	}
	if m.Transfer == nil {
		m.Transfer = func(*Item, int) float64 { return 0 }
	}
	if m.Energy == nil {
		m.Energy = func(*Item, int) float64 { return 0 }
	}
	if m.Missing == nil {
		m.Missing = func(*Item, int) int64 { return 0 }
	}
	if m.Data == nil {
		m.Data = func(*Item, func(id, bytes int64)) {}
	}
	if m.Kind == nil {
		m.Kind = func(*Item) any { return nil }
	}
	if m.Bundle == nil {
		m.Bundle = func(*Item) *Bundle { return nil }
	}
	if m.Gang == nil {
		m.Gang = func(*Item) *Gang { return nil }
	}
	if m.Explain == nil {
		m.Explain = func() func(*Item, *Choice) { return nil }
	}
	if m.Wake == nil {
		m.Wake = func(int) {}
	}
	if m.Now == nil {
		start := time.Now()
		m.Now = func() float64 { return time.Since(start).Seconds() }
	}
	return m
}

// Bundle is a group of items that belong together, most often because they use the same data. The policies that
// weigh costs (dm and those after it) place it as one: the first item that becomes ready goes where all that
// were added by then are expected to cost least, and the others to workers of the same memory node, if such may
// run them. While a policy learns how long an item takes, it places the item as any other. Other policies
// ignore bundles. The zero value is an empty bundle. Any number of goroutines may use it.
type Bundle struct {
	mu struct {
		sync.Mutex
		on     []bundleCost // by worker
		placed bool
		node   int
	}
}

// bundleCost is what is expected of the items of a bundle that a worker may run.
type bundleCost struct {
	unknown bool    // of one of them nothing is
	length  float64 // the sum, in seconds
}

// Add adds an item that m's policy will get, so that the first of the bundle is placed by its costs too.
func (b *Bundle) Add(m *Machine, it *Item) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mu.placed {
		return
	}
	if b.mu.on == nil {
		b.mu.on = make([]bundleCost, len(m.Workers))
	}
	for w := range b.mu.on {
		if it.Allows(w) {
			s, known := m.Estimate(it, w)
			b.mu.on[w].length += sane(s)
			b.mu.on[w].unknown = b.mu.on[w].unknown || !known
		}
	}
}

// expected returns how long the items that were added are expected to run on worker w, in seconds, and false if
// that is not known of one of them, or none was added.
func (b *Bundle) expected(w int) (seconds float64, known bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if w >= len(b.mu.on) || b.mu.on[w].unknown {
		return 0, false
	}
	return b.mu.on[w].length, true
}

// place makes node that of the bundle, unless it has one.
func (b *Bundle) place(node int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.mu.placed {
		b.mu.placed, b.mu.node = true, node
	}
}

// where returns the memory node of the bundle, and false if it was not placed yet.
func (b *Bundle) where() (node int, placed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.node, b.mu.placed
}

// class is a set of workers that are alike: what is predicted for one of them
// holds for all.
type class struct {
	arch  string
	node  int
	speed float64
	first int // number of its first worker
	size  int
}

// classes sorts the workers; of gives the class of each.
func (m *Machine) classes() (all []class, of []int) {
	of = make([]int, len(m.Workers))
	for w, d := range m.Workers {
		c := 0
		for c < len(all) && (all[c].arch != d.Arch || all[c].node != d.Node || all[c].speed != d.Speed) {
			c++
		}
		if c == len(all) {
			all = append(all, class{d.Arch, d.Node, d.Speed, w, 0})
		}
		all[c].size++
		of[w] = c
	}
	return all, of
}
