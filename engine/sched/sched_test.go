package sched

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// Every policy of the table gives out each item exactly once, only to workers
// that it allows, and knows when it is empty.
func TestEveryItemOnce(t *testing.T) {
	for _, e := range Table() {
		for _, workers := range []int{1, 2, 7} {
			p := e.New(Machine{Workers: workers})
			if !p.Empty() {
				t.Errorf("%s: a new policy is not empty", e.Name)
			}
			const n = 20000
			items := make([]Item, 2*n) // half of them pushed by workers
			popped := make([]atomic.Int32, 2*n)
			var out atomic.Int64
			var all sync.WaitGroup
			for w := range workers {
				all.Go(func() {
					r := rand.New(rand.NewPCG(uint64(w), 1))
					for out.Load() < 2*n {
						it := p.Pop(w)
						if it == nil {
							runtime.Gosched()
							continue
						}
						if it.Allowed != nil && !it.Allowed.Has(w) {
							t.Errorf("%s: worker %d got an item for others", e.Name, w)
						}
						i := it.Order
						popped[i].Add(1)
						if i < n { // it releases another
							k := &items[n+i]
							k.Order = n + i
							fill(k, r, workers)
							if to := p.Push(k, w); to >= workers || to == Nobody && k.Allowed != nil {
								t.Errorf("%s: wake %d", e.Name, to)
							}
						}
						out.Add(1)
					}
				})
			}
			r := rand.New(rand.NewPCG(9, 9))
			for i := range n {
				items[i].Order = int64(i)
				fill(&items[i], r, workers)
				p.Push(&items[i], Outside)
			}
			all.Wait()
			for i := range popped {
				if k := popped[i].Load(); k != 1 {
					t.Fatalf("%s, %d workers: item %d given out %d times", e.Name, workers, i, k)
				}
			}
			if !p.Empty() {
				t.Errorf("%s: not empty at the end", e.Name)
			}
		}
	}
}

func fill(it *Item, r *rand.Rand, workers int) {
	if r.IntN(4) == 0 {
		it.Priority = int32(r.IntN(7) - 3)
	}
	if r.IntN(5) == 0 {
		it.Allowed = NewSet(r.IntN(workers), r.IntN(workers))
	}
}

// Priorities are kept as the table promises, for items that wait together.
func TestPriorities(t *testing.T) {
	for _, e := range Table() {
		p := e.New(Machine{Workers: 2})
		var items []*Item
		for i, prio := range []int32{0, 3, -1, 3, 7, 0, -5, 1} {
			items = append(items, &Item{Priority: prio, Order: int64(i)})
			p.Push(items[i], Outside)
		}
		var got []int64
		for it := p.Pop(1); it != nil; it = p.Pop(1) {
			got = append(got, it.Order)
		}
		want := []int64{4, 1, 3, 7, 0, 5, 2, 6}
		if e.Priorities == Front {
			want = []int64{1, 3, 4, 7, 0, 2, 5, 6}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", e.Name, got, want)
		}
	}
}

// A worker of lws goes on with what its last task released.
func TestLocality(t *testing.T) {
	p := newLWS(Machine{Workers: 2})
	a, b, c := &Item{Order: 1}, &Item{Order: 2}, &Item{Order: 3}
	p.Push(a, Outside)
	if to := p.Push(b, 0); to != Nobody {
		t.Error(to)
	}
	if to := p.Push(c, 0); to != Anyone {
		t.Error(to)
	}
	if it := p.Pop(0); it != b {
		t.Error(it)
	}
	if it := p.Pop(1); it != a {
		t.Error(it)
	}
	if it := p.Pop(1); it != c {
		t.Error("not taken from the neighbour:", it)
	}
}

func TestSet(t *testing.T) {
	s := NewSet(3, 64, 200)
	for w := range 300 {
		if s.Has(w) != (w == 3 || w == 64 || w == 200) {
			t.Error(w)
		}
	}
	if s.Key() != NewSet(200, 3, 64).Key() || s.Key() == NewSet(3, 64).Key() {
		t.Error("keys of sets")
	}
}

func TestTable(t *testing.T) {
	if _, ok := Lookup(Default); !ok {
		t.Error("no default policy")
	}
	if _, ok := Lookup("nothing"); ok {
		t.Error("found nothing")
	}
	for _, n := range Names() {
		if e, ok := Lookup(n); !ok || e.Doc == "" || e.New == nil {
			t.Error(n)
		}
	}
}
