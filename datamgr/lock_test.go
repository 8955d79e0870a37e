package datamgr

import (
	"testing"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/datamgr/invariants"
)

// locked registers data with unordered accesses: all accesses take its lock.
func locked(t *testing.T, g *Registry) *Handle {
	t.Helper()
	h := register(t, g, 4)
	sub := g.Lock()
	defer sub.Unlock()
	sub.lockFor(h.f0)
	sub.unorder(h.f0)
	return h
}

// taker is a task that wants locks.
type taker struct {
	Waiter
	LockSet
	ops []Operand
}

func taking(ops ...Operand) *taker {
	k := &taker{ops: ops}
	k.LockSet.Reset(&k.Waiter)
	return k
}

func (k *taker) take(c *Completer) bool { return k.LockSet.Acquire(k.ops, false, c) }

// woken lists the waiters released to c.
func woken(c *Completer) (ws []*Waiter) {
	for w := c.Take(); w != nil; w = w.Next() {
		ws = append(ws, w)
	}
	return ws
}

func wakes(t *testing.T, c *Completer, want ...*taker) {
	t.Helper()
	got := woken(c)
	ok := len(got) == len(want)
	for i := range want {
		ok = ok && got[i] == &want[i].Waiter
	}
	if !ok {
		t.Fatalf("woke %d, not the %d expected", len(got), len(want))
	}
}

// A writer that was woken finds a reader who came in between. The readers who
// wait behind it may run beside that one, and must not sleep until it ends: it
// may be the program, which holds the data and waits for them.
func TestReadersBesideReaders(t *testing.T) {
	for _, plain := range []bool{false, true} {
		g := registry()
		h := locked(t, g)
		c := g.NewCompleter()
		r, w := Operand{Handle: h, Mode: iface.R}, Operand{Handle: h, Mode: iface.RW}
		owner, writer, late := taking(w), taking(w), taking(r)
		begin := func() bool { return writer.take(c) }
		if plain {
			sub := g.Lock()
			writer.LockSet.InitSingle(sub, &writer.Waiter, h, false)
			sub.Unlock()
			begin = func() bool { return writer.AcquireSingle(c) }
		}
		if !owner.take(c) || begin() || late.take(c) {
			t.Fatal("a lock does not exclude")
		}
		owner.Release(c)
		wakes(t, c, writer)
		first := taking(r)
		if !first.take(c) || begin() {
			t.Fatal("a lock does not exclude")
		}
		wakes(t, c, late)
		if !late.take(c) {
			t.Fatal("readers exclude each other")
		}
		late.Release(c)
		wakes(t, c)
		first.Release(c)
		wakes(t, c, writer)
		if !begin() {
			t.Fatal("a free lock is not given")
		}
	}
}

// A plain task that was woken and becomes a general one before it used that may
// find that it lacks another lock. Then the wake-up is for the next.
func TestWakeUpOutlivesExtension(t *testing.T) {
	g := registry()
	a, b := locked(t, g), locked(t, g)
	c := g.NewCompleter()
	onA, onB := Operand{Handle: a, Mode: iface.RW}, Operand{Handle: b, Mode: iface.RW}
	owner, other := taking(onB), taking(onA)
	both := taking(onA, onB)
	behind := taking(onB)
	sub := g.Lock()
	both.LockSet.InitSingle(sub, &both.Waiter, b, false)
	sub.Unlock()
	if !owner.take(c) || !other.take(c) || both.AcquireSingle(c) || behind.take(c) {
		t.Fatal("a lock does not exclude")
	}
	owner.Release(c)
	wakes(t, c, both)
	both.Extend(&both.Waiter, &both.LockPlace)
	if both.take(c) {
		t.Fatal("a lock does not exclude")
	}
	wakes(t, c, behind)
}

// Waiters for a lock are woken by priority, equal ones in the order of their numbers,
// however they came; without Rank in the order in which they came. Those that inherit
// the lock have priority 0, and others go before them only where theirs is higher or
// they came first.
func TestOrderOfWaiters(t *testing.T) {
	type arrival struct {
		name     string
		priority int32
		number   int64
		patient  bool
		reader   bool
	}
	for _, c := range []struct {
		name string
		came []arrival
		want string // by priority
		fifo string
	}{
		{"equal", []arrival{{name: "a", number: 1}, {name: "b", number: 2}, {name: "c", number: 3}}, "abc", "abc"},
		{"by number", []arrival{{name: "b", number: 2}, {name: "c", number: 3}, {name: "a", number: 1}}, "abc", "bca"},
		{"by priority", []arrival{{name: "a", priority: 1, number: 1}, {name: "d", priority: 5, number: 4},
			{name: "c", priority: 3, number: 3}, {name: "b", priority: 5, number: 2}, {name: "e", priority: -1, number: 5}}, "bdcae", "adcbe"},
		{"readers", []arrival{{name: "a", number: 1}, {name: "r", priority: 2, number: 2, reader: true},
			{name: "b", priority: 1, number: 3}, {name: "s", priority: -1, number: 4, reader: true}}, "rsba", "arsb"},
		{"handoff queue", []arrival{{name: "p", patient: true, number: 1}, {name: "q", patient: true, number: 2}, {name: "a", number: 3},
			{name: "r", patient: true, number: 4}, {name: "b", priority: 1, number: 5}, {name: "s", patient: true, number: 6},
			{name: "c", priority: -1, number: 7}}, "bpqarsc", "pqarbsc"},
	} {
		for _, ranked := range []bool{true, false} {
			g := registry()
			arrivals := map[*Waiter]arrival{}
			want := c.fifo
			if ranked {
				want = c.want
				g.Rank = func(w *Waiter) (int32, int64) { return arrivals[w].priority, arrivals[w].number }
			}
			h := locked(t, g)
			comp := g.NewCompleter()
			owner := taking(Operand{Handle: h, Mode: iface.RW})
			if !owner.take(comp) {
				t.Fatal("the lock is not free")
			}
			takers := map[*Waiter]*taker{}
			for _, a := range c.came {
				m := iface.RW
				if a.reader {
					m = iface.R
				}
				k := taking(Operand{Handle: h, Mode: m})
				takers[&k.Waiter], arrivals[&k.Waiter] = k, a
				if a.patient {
					sub := g.Lock()
					k.LockSet.InitSingle(sub, &k.Waiter, h, true)
					sub.Unlock()
					if !k.QueueSingle() {
						t.Fatal("the lock is free")
					}
				} else if k.take(comp) {
					t.Fatal("the lock is free")
				}
			}
			got := ""
			owner.Release(comp)
			for ws := woken(comp); len(ws) > 0; ws = append(ws[1:], woken(comp)...) {
				k := takers[ws[0]]
				got += arrivals[ws[0]].name
				if arrivals[ws[0]].patient {
					if !k.AcquireSingle(comp) {
						t.Fatal("the first in the handoff queue does not have the lock")
					}
					k.ReleaseSingle(comp)
				} else if k.take(comp) {
					k.Release(comp)
				} else {
					t.Fatal("the lock is not free")
				}
			}
			if got != want {
				t.Errorf("%s, ranked %v: %s, want %s", c.name, ranked, got, want)
			}
		}
	}
}

// A waiter of a high priority that comes while the handoff queue passes the lock on does not wait for
// all of them, and none of them is forgotten.
func TestUrgentWaiterBeforeHandedOn(t *testing.T) {
	g := registry()
	priorities := map[*Waiter]int32{}
	g.Rank = func(w *Waiter) (int32, int64) { return priorities[w], 0 }
	h := locked(t, g)
	c := g.NewCompleter()
	one := func() *taker {
		k := taking(Operand{Handle: h, Mode: iface.Commute})
		sub := g.Lock()
		k.LockSet.InitSingle(sub, &k.Waiter, h, true)
		sub.Unlock()
		return k
	}
	first := one()
	if !first.AcquireSingle(c) {
		t.Fatal("the lock is not free")
	}
	var handed []*taker
	for range 5 {
		k := one()
		if !k.QueueSingle() {
			t.Fatal("the lock is free")
		}
		handed = append(handed, k)
	}
	first.ReleaseSingle(c)
	wakes(t, c, handed[0]) // the others wait without a look at the lock's mutex
	urgent, idle := taking(Operand{Handle: h, Mode: iface.RW}), taking(Operand{Handle: h, Mode: iface.RW})
	priorities[&urgent.Waiter], priorities[&idle.Waiter] = 3, -3
	if idle.take(c) || urgent.take(c) {
		t.Fatal("a lock does not exclude")
	}
	late := one()
	if !late.QueueSingle() {
		t.Fatal("the lock is free")
	}
	handed[0].ReleaseSingle(c)
	wakes(t, c, urgent)
	if !urgent.take(c) {
		t.Fatal("a free lock is not given")
	}
	urgent.Release(c)
	for _, k := range append(handed[1:], late) {
		wakes(t, c, k)
		k.ReleaseSingle(c)
	}
	wakes(t, c, idle)
}

// Of equal ones, one whose number is high gets its turn although others with lower ones
// go on coming.
func TestOldWaiterGetsItsTurn(t *testing.T) {
	g := registry()
	numbers := map[*Waiter]int64{}
	g.Rank = func(w *Waiter) (int32, int64) { return 1, numbers[w] }
	h := locked(t, g)
	c := g.NewCompleter()
	next := int64(0)
	come := func(number int64) *taker {
		k := taking(Operand{Handle: h, Mode: iface.RW})
		numbers[&k.Waiter] = number
		return k
	}
	has := come(0)
	if !has.take(c) {
		t.Fatal("the lock is not free")
	}
	old := come(1 << 40)
	waits := map[*Waiter]*taker{&old.Waiter: old}
	if old.take(c) {
		t.Fatal("a lock does not exclude")
	}
	for range 2 * fair {
		next++
		k := come(next)
		waits[&k.Waiter] = k
		if k.take(c) {
			t.Fatal("a lock does not exclude")
		}
		has.Release(c)
		has = waits[woken(c)[0]]
		if has == old {
			return
		}
		if !has.take(c) {
			t.Fatal("a free lock is not given")
		}
	}
	t.Errorf("it still waits after %d others", 2*fair)
}

// A task that started before the first unordered access to its data counts as a holder of
// the lock until its worker runs another, or none.
func TestGraceEnds(t *testing.T) {
	for _, next := range []bool{true, false} {
		g := registry()
		h := register(t, g, 4)
		var runs, after Waiter
		var p Publisher
		c := g.NewCompleter()
		sub := g.Lock()
		sub.AddPublisher(&p)
		sub.Unlock()
		p.Begin(&runs, c)
		sub = g.Lock()
		sub.lockFor(h.f0)
		sub.unorder(h.f0)
		sub.Unlock()
		k := taking(Operand{Handle: h, Mode: iface.RW})
		if k.take(c) {
			t.Fatalf("next %v: the lock is free while a task runs that started without it", next)
		}
		if next {
			p.Begin(&after, c)
		} else {
			p.End(c)
		}
		wakes(t, c, k)
		if !k.take(c) {
			t.Fatalf("next %v: the lock is not free after the task", next)
		}
		k.Release(c)
		if !h.f0.lock.idle() {
			t.Errorf("next %v: the lock is still taken", next)
		}
	}
}

// In a build with the tag invariants, counts and locks that are given back more often than
// they were taken panic.
func TestInvariants(t *testing.T) {
	if !invariants.Enabled {
		t.Skip("a build without the tag invariants")
	}
	count := func(n int32) *memberCount {
		c := new(memberCount)
		c.set(n)
		return c
	}
	c := registry().NewCompleter()
	read := func() *accessLock { // a lock of its own for each case: one that panics stays locked
		l := &accessLock{}
		l.mu.readers, l.mu.grace = 2, 1
		return l
	}
	for _, tt := range []struct {
		name     string
		violates bool
		do       func()
	}{
		{"leave", false, func() { count(countLast + countMember).leave(1) }},
		{"leave without members", true, func() { count(0).leave(1) }},
		{"leave twice at once", true, func() { count(countMember).leave(2) }},
		{"parent ends twice", true, func() { count(0).parentEnded() }},
		{"join", false, func() { count(countLast).join(batchSize) }},
		{"join after the end", true, func() { count(0).join(1) }},
		{"join a free epoch", true, func() { e := count(0); e.free(); e.join(batchSize) }},
		{"release of a reader", false, func() { read().release(false, c) }},
		{"release of no reader", true, func() { new(accessLock).release(false, c) }},
		{"release of a reader that writes", true, func() { read().release(true, c) }},
		{"end of a grace", false, func() { read().endGrace(c) }},
		{"end of no grace", true, func() { new(accessLock).endGrace(c) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			defer func() {
				if got := recover(); (got != nil) != tt.violates {
					t.Errorf("panic %v, want one: %v", got, tt.violates)
				}
			}()
			tt.do()
		})
	}
}
