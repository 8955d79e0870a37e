package sched

// Which of the waiting items a worker of lws takes after a long task: the one that
// uses most of what the last one used.

import (
	"sync"
	"sync/atomic"
)

const (
	nearItems = 8  // that are compared; more bring nothing, see BENCHMARKS.md
	patience  = 64 // choices after which the oldest goes
)

// near holds the items that are compared, oldest first. Its worker fills it from
// its queue; a worker that finds nothing elsewhere takes from it.
type near struct {
	n  atomic.Int32 // how many items there are, or are about to be
	mu struct {
		sync.Mutex
		items  []candidate
		choice int // number of the last one
	}
}

type candidate struct {
	it    *Item
	since int // the choice before it came
	uses  uses
}

// fill moves items from q, until there are enough.
func (s *near) fill(m *Machine, q *ring, r *reuse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.mu.items) < nearItems {
		s.n.Add(1) // first: an item that is nowhere lets others go to sleep
		it := q.pop()
		if it == nil {
			s.n.Add(-1)
			return
		}
		s.mu.items = append(s.mu.items, candidate{it, s.mu.choice, r.look(m, it)})
	}
}

// take takes the item that uses most of what r knows, unless that is less than
// least. Among equals the newest goes first: it was released together with what went
// before it, while the oldest belongs to what others are at. When none uses anything, or
// the oldest has waited long, that one goes, in the former case only if least is 0.
func (s *near) take(r *reuse, least int64) *Item {
	if s.n.Load() == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.mu.items
	if len(a) == 0 {
		return nil
	}
	s.mu.choice++
	best := 0
	if s.mu.choice-a[0].since <= patience {
		if least > 0 {
			best = -1
		}
		least = max(least, 1)
		for i := range a {
			if v := r.shares(&a[i].uses); v >= least {
				best, least = i, v
			}
		}
		if best < 0 {
			return nil
		}
	}
	it := a[best].it
	r.known, r.item = a[best].uses, it
	last := len(a) - 1
	copy(a[best:], a[best+1:])
	a[last].it = nil
	s.mu.items = a[:last]
	s.n.Add(-1)
	return it
}
