package sched

// Machine: the workers that a policy schedules for, and estimates for items.

import (
	"math"
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
	// Explain returns the function that receives the reasons why the policy gives items
	// to workers, nil while there is no listener. It is called under the policy's locks, before the item can be
	// given out. Policies that weigh workers against each other ask; the others need
	// not. Default: nil.
	Explain func() func(it *Item, c *Choice)
	// Wake asks a worker that sleeps to look for items: for policies that kept an item
	// for one worker (Push returned Nobody) and now let any worker take it, because that
	// one begins something else. Default: nothing.
	Wake func()
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
	if m.Explain == nil {
		m.Explain = func() func(*Item, *Choice) { return nil }
	}
	if m.Wake == nil {
		m.Wake = func() {}
	}
	if m.Now == nil {
		start := time.Now()
		m.Now = func() float64 { return time.Since(start).Seconds() }
	}
	return m
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
