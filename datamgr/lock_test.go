package datamgr

import (
	"testing"

	"github.com/starpush/starpush/datamgr/iface"
)

// locked registers data with unordered accesses: everybody takes its lock.
func locked(t *testing.T, g *Registry) *Handle {
	t.Helper()
	h := register(t, g, 4)
	g.Lock()
	defer g.Unlock()
	g.lockFor(h.f0)
	g.unorder(h.f0)
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

// woken lists who was released to c.
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
			g.Lock()
			writer.LockSet.One(&writer.Waiter, h, false)
			g.Unlock()
			begin = func() bool { return writer.AcquireOne(c) }
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
	g.Lock()
	both.LockSet.One(&both.Waiter, b, false)
	g.Unlock()
	if !owner.take(c) || !other.take(c) || both.AcquireOne(c) || behind.take(c) {
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
