package sched

import (
	"slices"
	"testing"
)

// reusing makes an lws for two workers, whose tasks take the given seconds and use the
// data that uses names.
func reusing(t *testing.T, took float64, uses map[int64][]int64) *lws {
	t.Helper()
	now := 1.0
	m := CPUs(2)
	m.Now = func() float64 { // not called beyond manyItems items
		now += manyItems * took
		return now
	}
	m.Data = func(it *Item, visit func(id, bytes int64)) {
		for _, id := range uses[it.Order] {
			visit(id, 1000)
		}
	}
	p := newLWS(m, nil).(*lws)
	for range 2 * manyItems { // enough items for the policy to notice
		p.Push(&Item{}, 0)
		if p.Pop(0) == nil {
			t.Fatal("an item is lost")
		}
	}
	return p
}

// order pushes item 1, which the worker gets, then others that it releases, and
// returns in which order it gets those.
func order(p *lws, others ...int64) []int64 {
	p.Push(&Item{Order: 1}, 0)
	p.Pop(0)
	for _, o := range others {
		p.Push(&Item{Order: o}, 0)
	}
	var got []int64
	for it := p.Pop(0); it != nil; it = p.Pop(0) {
		got = append(got, it.Order)
	}
	return got
}

// TestLWSReuse: after a long task the worker goes on with the item that uses most
// of the task's data; what its task released first goes first only otherwise.
func TestLWSReuse(t *testing.T) {
	uses := map[int64][]int64{1: {1, 2, 3}, 2: {3, 8, 9}, 3: {1, 4, 5}, 4: {6, 7}, 5: {4, 5}, 6: {2, 3, 9}, 7: {8, 2}}
	for _, c := range []struct {
		name   string
		took   float64
		others []int64
		want   []int64
	}{
		{"short", 1e-6, []int64{2, 3, 4}, []int64{2, 3, 4}},
		{"most", 1e-3, []int64{4, 2, 6, 3}, []int64{6, 2, 3, 4}},
		{"first operand", 1e-3, []int64{2, 3, 4}, []int64{3, 4, 2}},
		{"as much, newest", 1e-3, []int64{4, 2, 7}, []int64{7, 2, 4}},
		{"less", 1e-3, []int64{6, 3}, []int64{6, 3}},
		{"nothing, released first", 1e-3, []int64{4, 5}, []int64{4, 5}},
		{"one waits", 1e-3, []int64{2, 3}, []int64{3, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := order(reusing(t, c.took, uses), c.others...); !slices.Equal(got, c.want) {
				t.Errorf("%v, not %v", got, c.want)
			}
		})
	}
}

// TestLWSReusePatience: an item that uses nothing of what others use gets its turn
// while those go on and on, whether it is among the compared or still behind them.
func TestLWSReusePatience(t *testing.T) {
	uses := map[int64][]int64{0: {1}}
	p := reusing(t, 1e-3, uses)
	const strangers = 3 * nearItems
	for i := range int64(strangers) {
		uses[i+1] = []int64{100 + i}
	}
	p.Push(&Item{}, 0)
	p.Pop(0)
	p.Push(&Item{}, 0)
	for i := range int64(strangers) {
		p.Push(&Item{Order: i + 1}, 0)
	}
	met := 0
	for range strangers * 100 {
		it := p.Pop(0)
		if it == nil {
			t.Fatal("an item is lost")
		}
		if it.Order == 0 {
			p.Push(it, 0) // it releases one like itself
		} else if met++; met == strangers {
			return
		}
	}
	t.Errorf("only %d of %d items had a turn", met, strangers)
}

// TestLWSReuseEnds: when tasks become short, what was compared is not forgotten.
func TestLWSReuseEnds(t *testing.T) {
	now, took := 1.0, 1e-3
	m := CPUs(2)
	m.Now = func() float64 { return now }
	p := newLWS(m, nil).(*lws)
	const n = 4 * manyItems
	for i := range n {
		p.Push(&Item{Order: int64(i)}, 0)
	}
	got := map[int64]bool{}
	for it := p.Pop(0); it != nil; it = p.Pop(0) {
		if got[it.Order] {
			t.Fatalf("item %d twice", it.Order)
		}
		got[it.Order] = true
		if now += took; len(got) == n/2 {
			took = 0
		}
	}
	if len(got) != n || !p.Empty() {
		t.Errorf("%d of %d items, empty: %v", len(got), n, p.Empty())
	}
}

// TestLWSReuseShares: what a long task released and does not go first can be
// taken by others.
func TestLWSReuseShares(t *testing.T) {
	p := reusing(t, 1e-3, map[int64][]int64{1: {1, 2}, 2: {2}, 3: {1}, 4: {9}})
	p.Push(&Item{Order: 1}, 0)
	p.Pop(0)
	p.Push(&Item{Order: 2}, 0)
	p.Push(&Item{Order: 3}, 0)
	p.Push(&Item{Order: 4}, 0)
	if it := p.Pop(0); it == nil || it.Order != 3 {
		t.Fatalf("got %v, not item 3", it)
	}
	if p.Empty() {
		t.Error("empty although two items wait")
	}
	for _, want := range []int64{2, 4} {
		if it := p.Pop(1); it == nil || it.Order != want {
			t.Fatalf("the other worker got %v, not item %d", it, want)
		}
	}
	if !p.Empty() {
		t.Error("not empty")
	}
}

// TestLWSWakes: after a Push that returned Nobody, another worker is woken if the item's
// worker begins something else, which may take any time.
func TestLWSWakes(t *testing.T) {
	for name, first := range map[string]func(p *lws){
		"pinned": func(p *lws) { p.Push(&Item{Order: 9, Allowed: NewSet(0)}, Outside) },
		"urgent": func(p *lws) { p.Push(&Item{Order: 9, Priority: 1}, Outside) },
		"reuse":  func(p *lws) { p.Push(&Item{Order: 9}, 0) },
	} {
		woken := 0
		p := reusing(t, 1e-3, map[int64][]int64{1: {1}, 2: {2}, 9: {1}})
		p.m.Wake = func(int) {
			if p.Empty() {
				t.Errorf("%s: there is nothing to wake for yet", name)
			}
			woken++
		}
		p.Push(&Item{Order: 1}, 0)
		p.Pop(0)
		if w := p.Push(&Item{Order: 2}, 0); w != Nobody {
			t.Fatalf("%s: the item that goes next is for %d", name, w)
		}
		first(p)
		if it := p.Pop(0); it == nil || it.Order != 9 || woken != 1 {
			t.Errorf("%s: %v begins, and %d were woken", name, it, woken)
		}
		if it := p.Pop(1); it == nil || it.Order != 2 {
			t.Errorf("%s: another worker gets %v", name, it)
		}
	}
}

// TestWSWakes is the same for ws, where only items for some workers come first unasked.
func TestWSWakes(t *testing.T) {
	woken := 0
	m := CPUs(2)
	m.Wake = func(int) { woken++ }
	p := newWS(m, nil)
	if w := p.Push(&Item{Order: 2}, 0); w != Nobody {
		t.Fatalf("the item that goes next is for %d", w)
	}
	p.Push(&Item{Order: 9, Allowed: NewSet(0)}, Outside)
	if it := p.Pop(0); it == nil || it.Order != 9 || woken != 1 {
		t.Errorf("%v begins, and %d were woken", it, woken)
	}
	if it := p.Pop(1); it == nil || it.Order != 2 {
		t.Errorf("another worker gets %v", it)
	}
}
