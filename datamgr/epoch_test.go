package datamgr

import (
	"slices"
	"testing"

	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

// TestBatchesAreExact: members of a group may be counted before they come, and ended
// after they did. No other access waits longer for that, and the data does not look busy.
func TestBatchesAreExact(t *testing.T) {
	const members = 3*batchSize + 5
	for _, m := range []AccessMode{modeR, modeC} {
		g := registry()
		h := register(t, g, 4)
		f := h.f0
		f.init = true
		sub := g.Lock()
		ws, as := make([]Waiter, members), make([]Access, members)
		for i := range as {
			if sub.access(&ws[i], &as[i], f, m) {
				t.Fatalf("member %d of a group in mode %v waits", i, m)
			}
		}
		if n := g.batch.left; n == 0 {
			t.Fatalf("mode %v: %d members left no rest of a batch: the test is about that", m, members)
		}
		if !sub.Busy(h, nil, 0) {
			t.Errorf("mode %v: not busy with %d members", m, members)
		}
		c := []*Completer{g.NewCompleter(), g.NewCompleter()}
		for i := range as[2:] {
			c[i%2].FinishMember(&as[2:][i])
		}
		c[0].FinishLate()
		c[1].FinishLate()
		for i := range 2 { // whether it was counted exactly or not
			var w Waiter
			var a Access
			if sub.access(&w, &a, f, m) {
				t.Fatalf("mode %v: a late member waits", m)
			}
			c[i].FinishMember(&a)
			c[i].FinishLate()
		}
		if sub.Free([]Operand{{Handle: h, Mode: modeW}}) {
			t.Errorf("mode %v: free with two members", m)
		}
		var w Waiter
		var a Access
		w.Arm()
		if !sub.access(&w, &a, f, modeW) {
			t.Errorf("mode %v: a writer does not wait for the group", m)
		}
		w.Settle(1)
		c[0].FinishMember(&as[0])
		c[1].FinishMember(&as[1])
		c[0].FinishLate()
		if c[0].Take() != nil {
			t.Errorf("mode %v: the writer goes before the last member has ended", m)
		}
		if !c[1].LateFor(&as[1]) || c[1].LateFor(&a) {
			t.Errorf("mode %v: what may wait for the group's next member", m)
		}
		c[1].FinishLate()
		if c[1].Take() != &w {
			t.Errorf("mode %v: the writer still waits", m)
		}
		c[1].Finish([]Access{a})
		if sub.Busy(h, nil, 0) {
			t.Errorf("mode %v: busy when all have ended", m)
		}
		sub.Unlock()
	}
}

// TestMemberCount ranges over what happens to the count of a last epoch, and what the
// methods say afterwards: none of the members that a batch counts before they come may
// show.
func TestMemberCount(t *testing.T) {
	type step struct {
		what string
		mode AccessMode
	}
	r, w, c := step{"join", modeR}, step{"join", modeRW}, step{"join", modeC}
	leave, other := step{what: "leave"}, step{"other", modeR}
	for _, tt := range []struct {
		steps   []step
		members int32
	}{
		{nil, 0},
		{[]step{r}, 1},
		{[]step{r, r}, 2},
		{[]step{r, r, r, leave}, 2},
		{[]step{r, r, leave, leave}, 0},
		{[]step{r, r, leave, leave, w}, 1},
		{[]step{r, r, leave, leave, w, leave, r}, 1},
		{[]step{c, c, c, leave, leave, leave}, 0},
		{[]step{c, c, leave, leave, r, r}, 2},
		{[]step{r, r, other, r, other, other}, 3},
		{slices.Repeat([]step{r}, batchSize+1), batchSize + 1},
		{slices.Repeat([]step{r}, batchSize+2), batchSize + 2},
		{slices.Repeat([]step{r}, 3*batchSize), 3 * batchSize},
	} {
		for _, asks := range []string{"idle", "is", "seal"} {
			g := registry()
			sub := g.Lock()
			var e, o memberCount
			e.set(countLast)
			o.set(countLast)
			in := map[*memberCount]int32{}
			join := func(c *memberCount, m AccessMode) {
				switch {
				case c.hasBatch(sub) && c.joinsBatch(sub, m):
				case in[c] == 0:
					if !c.idle(sub) {
						t.Fatalf("%v: not idle without members", tt.steps)
					}
					c.set(countLast + c.joining(sub, m))
				default:
					c.join(c.joining(sub, m))
				}
				in[c]++
			}
			for _, s := range tt.steps {
				switch s.what {
				case "join":
					join(&e, s.mode)
				case "other":
					join(&o, s.mode)
				case "leave":
					in[&e]--
					if e.leave(1) {
						t.Errorf("%v: a last epoch ends", tt.steps)
					}
				}
			}
			switch asks {
			case "idle":
				if got := e.idle(sub); got != (tt.members == 0) {
					t.Errorf("%v: idle is %v with %d members", tt.steps, got, tt.members)
				}
			case "is":
				for n := range tt.members + 2 {
					if got := e.is(sub, countLast+n); got != (n == tt.members) {
						t.Errorf("%v: is %d members: %v, and there are %d", tt.steps, n, got, tt.members)
					}
				}
			case "seal":
				if got := e.seal(sub); got != (tt.members == 0) {
					t.Errorf("%v: seal reports %v with %d members", tt.steps, got, tt.members)
				}
				for n := tt.members; n > 0; n-- {
					if got := e.leave(1); got != (n == 1) {
						t.Errorf("%v: leave reports %v with %d members", tt.steps, got, n)
					}
				}
			}
			sub.Unlock()
		}
	}
	var e memberCount
	e.set(countLast + countParent)
	sub := registry().Lock()
	defer sub.Unlock()
	if e.idle(sub) || e.seal(sub) {
		t.Error("the first epoch of a piece ends before the fragment that was split")
	}
	if !e.parentEnded() {
		t.Error("an epoch without members lasts longer than the fragment that was split")
	}
	if e.isFree() {
		t.Error("an epoch that has ended is free before free")
	}
	if e.free(); !e.isFree() {
		t.Error("not free after free")
	}
}

// A piece of a fragment that was split while tasks commuted on it loses the lock that it
// shares with the other pieces once those tasks, and those that commuted on the piece
// since, have ended: a batch of the latter that is left is no obstacle.
func TestSharedLockEnds(t *testing.T) {
	g := registry()
	h := register(t, g, 4)
	h.f0.init = true
	c := g.NewCompleter()
	commute := func(h *Handle, n int) (as []Access) {
		sub := g.Lock()
		defer sub.Unlock()
		as = make([]Access, n)
		for i := range as {
			var w Waiter
			ops := []Operand{{Handle: h, Mode: modeC}}
			m, p := sub.Merge(ops, MergeOptions{})
			if p.Kind != NoProblem || m.Register(sub, &w, ops, as[i:i+1]) != 0 {
				t.Fatalf("commuting task %d: problem %v, or it waits", i, p)
			}
		}
		return as
	}
	whole := commute(h, 1)
	v, err := g.Partition(h, ViewOptions{}, filter.Blocks(2))
	if err != nil {
		t.Fatal(err)
	}
	p := v.Parts[0]
	part := commute(p, 3)
	for _, a := range slices.Concat(whole, part) {
		c.FinishMember(&a)
	}
	c.FinishLate()
	f := p.f0
	if f.lock == nil || !f.lock.shared {
		t.Fatal("the piece shares no lock: the test is about that")
	}
	sub := g.Lock()
	defer sub.Unlock()
	var w Waiter
	ops, as := []Operand{{Handle: p, Mode: modeRW}}, make([]Access, 1)
	m, _ := sub.Merge(ops, MergeOptions{})
	if m.Register(sub, &w, ops, as) != 0 {
		t.Error("a writer waits for tasks that have ended")
	}
	if f.lock != nil || f.lockNeeded {
		t.Error("the piece has the lock still")
	}
}

// A task that arrives without the mutex comes before those that wait in the queue
// afterwards, and does not overtake those who did before.
func TestHeirsInOrder(t *testing.T) {
	g := registry()
	h := register(t, g, 4)
	sub := g.Lock()
	sub.lockFor(h.f0)
	sub.Unlock()
	c := g.NewCompleter()
	plain := func() *taker {
		k := taking()
		sub := g.Lock()
		k.LockSet.InitSingle(sub, &k.Waiter, h, true)
		sub.Unlock()
		return k
	}
	a, early, late := plain(), plain(), plain()
	general := taking(Operand{Handle: h, Mode: modeC})
	others := []*taker{plain(), plain(), plain()}
	if a.QueueSingle() || !a.AcquireSingle(c) {
		t.Fatal("a free lock is not given")
	}
	if !others[0].QueueSingle() || others[1].AcquireSingle(c) || !others[2].QueueSingle() {
		t.Fatal("the lock is given twice")
	}
	a.ReleaseSingle(c)
	wakes(t, c, others[0])
	if !early.QueueSingle() || general.take(c) || !late.QueueSingle() {
		t.Fatal("the lock is given twice")
	}
	for i, next := range []*taker{others[1], others[2], early} {
		slices.Concat(others, []*taker{early})[i].ReleaseSingle(c)
		wakes(t, c, next)
	}
	early.ReleaseSingle(c)
	wakes(t, c, general)
	if !general.take(c) {
		t.Fatal("a free lock is not given")
	}
	general.Release(c)
	wakes(t, c, late)
	late.ReleaseSingle(c)
	wakes(t, c)
	if !h.f0.lock.idle() {
		t.Error("the lock is still taken")
	}
}

// Marks are numbers of 32 bits: 2^32 submissions later a fragment that was left
// alone bears the mark of now.
func TestMarksComeRound(t *testing.T) {
	g := registry()
	a, b, c := register(t, g, 4), register(t, g, 4), register(t, g, 4)
	c.reduce = SumReduction()
	sub := g.Lock()
	defer sub.Unlock()
	for _, use := range []int32{0, 1, 7} {
		g.mark = 1<<32 - 1 // the next is 0, as in fragments that no submission met
		for _, f := range []*fragment{a.f0, b.f0, &c.accumulate(sub).frag} {
			f.seen, f.use = 0, use
		}
		ops := []Operand{{Handle: a, Mode: iface.W}, {Handle: b, Mode: iface.W}, {Handle: c, Mode: iface.Redux}}
		m, p := sub.Merge(ops, MergeOptions{})
		if p.Kind != NoProblem || m.Ordered != 3 || m.Shared {
			t.Errorf("use %d: %+v, problem %+v", use, m, p)
		}
	}
}
