// Package schedtest holds what any scheduling policy must do. A policy passes
// with one line in a test:
//
//	schedtest.Run(t, newMine)
//
// or, when it promises something about priorities,
//
//	schedtest.Run(t, newMine, sched.Strict)
//
// Every item is given out, none twice, only to workers that it allows, whatever
// the machine; a worker that is woken finds all items; a busy worker
// delays no other among workers that are alike; priorities are honoured as far
// as promised; nothing waits for ever behind a stream that ends; and a policy can
// be closed with items in it.
package schedtest

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/starpush/starpush/engine/sched"
)

// Run holds the policies that New makes against the rules, on machines of many
// kinds. promise is what they promise about priorities; nothing, when left out.
func Run(t *testing.T, New func(sched.Machine) sched.Policy, promise ...sched.Promise) {
	t.Helper()
	for _, m := range machines() {
		t.Run(m.name, func(t *testing.T) {
			t.Run("EveryItemOnce", func(t *testing.T) { newKit(t, m, New).everyItemOnce() })
			t.Run("WakeUps", func(t *testing.T) { newKit(t, m, New).wakeUps() })
			t.Run("Allowed", func(t *testing.T) { newKit(t, m, New).allowed() })
			if m.alike { // a slower worker need not take what is better left to a faster one
				t.Run("BusyWorker", func(t *testing.T) { newKit(t, m, New).busyWorker() })
				t.Run("Released", func(t *testing.T) { newKit(t, m, New).released() })
			}
			t.Run("Stream", func(t *testing.T) { newKit(t, m, New).stream() })
			t.Run("PinnedStream", func(t *testing.T) { newKit(t, m, New).pinnedStream() })
			t.Run("Empty", func(t *testing.T) { newKit(t, m, New).empty() })
			t.Run("Close", func(t *testing.T) { newKit(t, m, New).close() })
		})
	}
	for _, p := range promise {
		t.Run("Priorities", func(t *testing.T) { priorities(t, New, p) })
	}
}

// kit is one policy on one kind of machine.
type kit struct {
	testing.TB
	kind machine
	new  func(sched.Machine) sched.Policy
}

func newKit(t testing.TB, m machine, New func(sched.Machine) sched.Policy) *kit {
	return &kit{t, m, New}
}

func (k *kit) policy() sched.Policy { return k.new(k.kind.make()) }

func (k *kit) workers() int { return len(k.kind.make().Workers) }

// pop asks p for an item as worker w, which starts it at once: the members of its gang may get nothing else before
// it starts.
func (k *kit) pop(p sched.Policy, w int) *sched.Item {
	it := p.Pop(w)
	if fb, ok := p.(sched.Feedback); ok && it != nil {
		fb.Started(it, w)
	}
	return it
}

// fill makes an item like those of programs: some have priorities, some are
// for some workers only.
func (k *kit) fill(it *sched.Item, r *rand.Rand) {
	n := k.workers()
	if r.IntN(4) == 0 {
		it.Priority = int32(r.IntN(7) - 3)
	}
	if r.IntN(5) == 0 {
		it.Allowed = sched.NewSet(r.IntN(n), r.IntN(n))
	}
}

// check tells whether a result of Push is in range.
func (k *kit) check(to int, it *sched.Item, from int) {
	k.Helper()
	switch {
	case to >= k.workers() || to < sched.Nobody:
		k.Errorf("Push wakes %d; there are %d workers", to, k.workers())
	case to == sched.Nobody && from == sched.Outside:
		k.Error("Push from outside returns Nobody: no worker pops the item")
	case to >= 0 && it.Allowed != nil && !it.Allowed.Has(to):
		k.Errorf("Push wakes %d, which may not run the item", to)
	}
}

// everyItemOnce has all workers and a submitter at it at the same time.
func (k *kit) everyItemOnce() {
	const n = 500
	p, workers := k.policy(), k.workers()
	if !p.Empty() {
		k.Error("a new policy is not empty")
	}
	items := make([]sched.Item, 2*n) // half of them pushed by workers
	sets := make([]*sched.Set, 2*n)
	popped := make([]atomic.Int32, 2*n)
	r := rand.New(rand.NewPCG(9, 9))
	for i := range items {
		items[i].Order = int64(i)
		k.fill(&items[i], r)
		sets[i] = items[i].Allowed
	}
	var out atomic.Int64
	// A lost item is a failure, not a hang: it is lost when all is pushed and
	// every worker found nothing since anything happened last.
	var happened atomic.Int64 // pushes and items given out
	var submitted, lost atomic.Bool
	nothing := make([]atomic.Int64, workers) // happened, when the worker asked in vain
	var all sync.WaitGroup
	fb, _ := p.(sched.Feedback)
	for w := range workers {
		all.Go(func() {
			for out.Load() < 2*n && !lost.Load() {
				now := happened.Load()
				nothing[w].Store(-1) // whatever it finds now may only just have come within its reach
				it := p.Pop(w)
				if it == nil {
					nothing[w].Store(now)
					if submitted.Load() && noneHolds(nothing, happened.Load()) {
						lost.Store(true)
					}
					runtime.Gosched()
					continue
				}
				happened.Add(1)
				i := it.Order
				if sets[i] != nil && !sets[i].Has(w) {
					k.Errorf("worker %d got an item for others", w)
				}
				popped[i].Add(1)
				if fb != nil && i%5 > 0 { // some never start
					fb.Started(it, w)
				}
				if i < n { // it releases another
					it := &items[n+i]
					k.check(p.Push(it, w), &sched.Item{Allowed: sets[n+i]}, w)
					happened.Add(1)
				}
				if fb != nil && i%5 > 0 {
					fb.Ended(it, w, 1e-6*float64(i%7))
				}
				out.Add(1)
			}
		})
	}
	for i := range n {
		k.check(p.Push(&items[i], sched.Outside), &sched.Item{Allowed: sets[i]}, sched.Outside)
		happened.Add(1)
	}
	submitted.Store(true)
	all.Wait()
	for i := range popped {
		if c := popped[i].Load(); c != 1 {
			k.Fatalf("item %d given out %d times", i, c)
		}
	}
	if !p.Empty() {
		k.Error("not empty at the end")
	}
}

// noneHolds reports whether there was a moment at which every worker had found
// nothing since what happened last and held no item. One look at each does not
// tell: a worker may get an item after it was looked at. It stays without this
// count until it has said so, hence the second look.
func noneHolds(nothing []atomic.Int64, happened int64) bool {
	for range 2 {
		for w := range nothing {
			if nothing[w].Load() != happened {
				return false
			}
		}
	}
	return true
}

// allowed: each worker gets the items that are for it alone, and no other worker does.
func (k *kit) allowed() {
	p, workers := k.policy(), k.workers()
	const each = 100
	items := make([]sched.Item, workers*each)
	for i := range items {
		items[i].Order, items[i].Allowed = int64(i), sched.NewSet(i%workers)
		if to := p.Push(&items[i], sched.Outside); to != i%workers {
			k.Errorf("Push wakes %d for an item that only %d may run", to, i%workers)
		}
	}
	for w := range workers {
		for i := range each {
			it := k.pop(p, w)
			if it == nil {
				k.Fatalf("worker %d gets %d of %d items that are for it alone", w, i, each)
			}
			if !it.Allowed.Has(w) {
				k.Fatalf("worker %d gets an item for others", w)
			}
		}
		if it := k.pop(p, w); it != nil {
			k.Fatalf("worker %d gets item %d, and had all of its own", w, it.Order)
		}
	}
	if !p.Empty() {
		k.Error("not empty at the end")
	}
}

// busyWorker: what waits can be had by all workers that are like the one it
// waits for.
func (k *kit) busyWorker() {
	for _, from := range []int{sched.Outside, 0} {
		p, workers := k.policy(), k.workers()
		const n = 500
		items := make([]sched.Item, n)
		push := func(i, from int) {
			items[i].Order = int64(i)
			p.Push(&items[i], from)
		}
		push(0, sched.Outside)
		push(1, sched.Outside)
		got := 0
		for got < 2 {
			for w := range workers {
				if it := k.pop(p, w); it != nil {
					got++
				}
			}
		}
		for i := 2; i < n; i++ {
			push(i, from)
		}
		if from == 0 && k.pop(p, 0) == nil { // which then runs for ever
			k.Error("a worker gets nothing of what it released")
		}
		for left := n - 2 - from - 1; left > 0 && workers > 1; {
			before := left
			for w := 1; w < workers; w++ {
				if k.pop(p, w) != nil {
					left--
				}
			}
			if left == before {
				k.Fatalf("%d items wait for a busy worker while %d others have nothing to do", left, workers-1)
			}
		}
	}
}

// released: what a worker released, and does not run itself now, can be had by
// the others.
func (k *kit) released() {
	workers := k.workers()
	if workers == 1 {
		return
	}
	shapes := []sched.Item{{}, {Priority: 5}, {Priority: -5}, {Allowed: sched.NewSet(0)}, {Allowed: sched.NewSet(0), Priority: 5}}
	for a := range shapes {
		for b := range shapes {
			p := k.policy()
			for i, shape := range []int{a, b} {
				it := shapes[shape]
				it.Order = int64(i + 1)
				p.Push(&it, 0)
			}
			first := p.Pop(0)
			if first == nil {
				k.Fatal("a worker gets nothing of what it released")
			}
			left := shapes[[]int{b, a}[first.Order-1]]
			if second := p.Pop(workers - 1); (second != nil) != (left.Allowed == nil) {
				k.Errorf("worker 0 runs item %d of %+v and %+v, which it released, and another worker gets %+v", first.Order, shapes[a], shapes[b], second)
			}
		}
	}
}

// stream: an item of the lowest priority is given out when a stream of others
// has passed; few of those wait at any time.
func (k *kit) stream() {
	for _, priority := range []int32{0, -1, -1 << 30} {
		p, workers := k.policy(), k.workers()
		low := &sched.Item{Priority: priority}
		p.Push(low, sched.Outside)
		const n = 600
		items := make([]sched.Item, n)
		next := 0
		push := func(from int) {
			if next < n {
				items[next].Order = int64(next + 1)
				p.Push(&items[next], from)
				next++
			}
		}
		for range 4 {
			push(sched.Outside)
		}
		seen, got := false, 0
		for none := 0; none < workers; {
			none = 0
			for w := range workers {
				it := k.pop(p, w)
				if it == nil {
					none++
					continue
				}
				seen = seen || it == low
				got++
				push([]int{w, sched.Outside}[got%2])
			}
		}
		if !seen || got != n+1 {
			k.Errorf("%d of %d items were given out; the one of priority %d among them: %v", got, n+1, priority, seen)
		}
	}
}

// pinnedStream: an item that all workers may run is given out although each of them has
// a stream of others that only it may run.
func (k *kit) pinnedStream() {
	p, workers := k.policy(), k.workers()
	items := make([]sched.Item, 1000*workers)
	next := 0
	push := func(w, from int) {
		it := &items[next]
		next++
		it.Order, it.Allowed = int64(next), sched.NewSet(w)
		if it.Order > int64(2*workers) {
			it.Order++ // behind the one for all
		}
		p.Push(it, from)
	}
	for w := range workers {
		push(w, sched.Outside)
		push(w, sched.Outside)
	}
	all := &sched.Item{Order: int64(2*workers) + 1}
	p.Push(all, sched.Outside)
	for got := 0; next < len(items); {
		before := got
		for w := range workers {
			it := k.pop(p, w)
			if it == all {
				return
			}
			if it != nil && next < len(items) {
				got++
				push(w, []int{w, sched.Outside}[got%2])
			}
		}
		if got == before {
			k.Fatalf("nothing was given out after %d items", got)
		}
	}
	k.Errorf("%d items that one worker may run each were given out, and the one that all may run was not", len(items)-2*workers)
}

// empty: Empty is right whichever workers the items are for.
func (k *kit) empty() {
	p, workers := k.policy(), k.workers()
	for i := range 20 {
		it := &sched.Item{Order: int64(i), Priority: int32(i%3 - 1)}
		w := i % workers
		if i%2 == 0 {
			it.Allowed = sched.NewSet(w)
		}
		p.Push(it, sched.Outside)
		if p.Empty() {
			k.Fatalf("empty with item %d in it", i)
		}
		if c, ok := p.(sched.Counter); ok && c.Len() != 1 {
			k.Fatalf("Len is %d with one item in it", c.Len())
		}
		got := k.pop(p, w)
		for v := 0; got == nil && v < workers; v++ {
			got = k.pop(p, v)
		}
		if got != it {
			k.Fatalf("pushed %v, got %v", it, got)
		}
		if !p.Empty() {
			k.Fatalf("not empty after item %d", i)
		}
		if c, ok := p.(sched.Counter); ok && c.Len() != 0 {
			k.Fatalf("Len is %d with nothing in it", c.Len())
		}
	}
}

// close: a policy that owns something can be closed with items in it.
func (k *kit) close() {
	p := k.policy()
	r := rand.New(rand.NewPCG(5, 5))
	for i := range 100 {
		it := &sched.Item{Order: int64(i)}
		k.fill(it, r)
		p.Push(it, sched.Outside)
	}
	for w := range k.workers() {
		p.Pop(w)
	}
	if c, ok := p.(sched.Closer); ok {
		c.Close()
	}
}

// priorities holds the policy to its promise, on a machine of one worker that
// knows nothing about data.
func priorities(t testing.TB, New func(sched.Machine) sched.Policy, promise sched.Promise) {
	if promise == sched.Unordered {
		return
	}
	r := rand.New(rand.NewPCG(1, uint64(promise)))
	for round := range 50 {
		p := New(plain(1))
		var waiting []*sched.Item
		better := func(a, b *sched.Item) int {
			pa, pb := int64(a.Priority), int64(b.Priority)
			if promise == sched.Front {
				pa, pb = min(max(pa, 0), 1), min(max(pb, 0), 1)
			}
			if pa != pb {
				return int(pb - pa)
			}
			return int(a.Order - b.Order)
		}
		for i := 0; i < 200 || len(waiting) > 0; i++ {
			if i < 200 && r.IntN(5) < 3 {
				it := &sched.Item{Order: int64(i)}
				if r.IntN(3) == 0 {
					it.Priority = int32(r.IntN(7) - 3)
				}
				waiting = append(waiting, it)
				p.Push(it, sched.Outside)
				continue
			}
			it := p.Pop(0)
			if len(waiting) == 0 {
				if it != nil {
					t.Fatalf("round %d: got an item twice", round)
				}
				continue
			}
			want := slices.MinFunc(waiting, better)
			if it != want {
				t.Fatalf("round %d: got %v, should be %v", round, it, want)
			}
			waiting = slices.DeleteFunc(waiting, func(o *sched.Item) bool { return o == it })
		}
	}
}
