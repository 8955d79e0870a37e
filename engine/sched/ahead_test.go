package sched

import "testing"

// TestAhead: what a policy says that a worker will get next it gets next, in that
// order, while nothing else happens.
func TestAhead(t *testing.T) {
	for _, e := range Table() {
		m := CPUs(2)
		missing := map[*Item]int64{}
		m.Missing = func(it *Item, w int) int64 { return missing[it] }
		m.Estimate = func(*Item, int) (float64, bool) { return 1, true }
		p := e.New(m)
		a, ok := p.(Ahead)
		if !ok {
			continue
		}
		const items = 100
		only := NewSet(1)
		for i := range items {
			it := &Item{Order: int64(i), Priority: int32(i * 7 % 3), Allowed: only}
			missing[it] = int64(i * 13 % 10)
			p.Push(it, Outside)
		}
		for left := items; left > 0; left-- {
			var next []*Item
			a.Ahead(1, 3, func(it *Item) { next = append(next, it) })
			if len(next) != min(3, left) {
				t.Fatalf("%s: %d items of %d", e.Name, len(next), left)
			}
			a.Ahead(0, 3, func(it *Item) { t.Errorf("%s: item %d may not run there", e.Name, it.Order) })
			if it := p.Pop(1); it != next[0] {
				t.Fatalf("%s: item %d came next, not %d", e.Name, it.Order, next[0].Order)
			}
		}
		a.Ahead(1, 3, func(*Item) { t.Errorf("%s: an item when there is none", e.Name) })
	}
}
