package sched

import (
	"slices"
	"testing"
)

// reusing makes an lws for two workers, whose tasks take so many seconds and use
// the data that uses names.
func reusing(t *testing.T, took float64, uses map[int64][]int64) *lws {
	t.Helper()
	now := 1.0
	m := CPUs(2)
	m.Now = func() float64 { return now }
	m.Data = func(it *Item, visit func(id, bytes int64)) {
		for _, id := range uses[it.Order] {
			visit(id, 1000)
		}
	}
	p := newLWS(m, nil).(*lws)
	for range 2 * manyItems { // so many items that the policy knows
		p.Push(&Item{}, 0)
		if p.Pop(0) == nil {
			t.Fatal("an item is lost")
		}
		now += took
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
	uses := map[int64][]int64{1: {1, 2, 3}, 2: {3, 8, 9}, 3: {1, 4, 5}, 4: {6, 7}, 5: {4, 5}}
	for _, c := range []struct {
		name   string
		took   float64
		others []int64
		want   []int64
	}{
		{"short", 1e-6, []int64{2, 3, 4}, []int64{2, 3, 4}},
		{"as much", 1e-3, []int64{2, 3, 4}, []int64{3, 4, 2}},
		{"less", 1e-3, []int64{2, 4, 3}, []int64{2, 3, 4}},
		{"few", 1e-3, []int64{2, 3}, []int64{2, 3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := order(reusing(t, c.took, uses), c.others...); !slices.Equal(got, c.want) {
				t.Errorf("%v, not %v", got, c.want)
			}
		})
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
	for _, want := range []int64{4, 2} {
		if it := p.Pop(1); it == nil || it.Order != want {
			t.Fatalf("the other worker got %v, not item %d", it, want)
		}
	}
	if !p.Empty() {
		t.Error("not empty")
	}
}
