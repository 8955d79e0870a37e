package sched

// Which workers found nothing when they asked last, and have not been woken
// since.

type idle []bool

// wake returns the worker to wake for an item in w's queue: w, or, when w has
// something to do, one that has not and may run the item. It is not idle any
// more.
func (s idle) wake(w int, it *Item) int {
	for i := 0; !s[w] && i < len(s); i++ {
		if s[i] && it.Allows(i) {
			w = i
		}
	}
	s[w] = false
	return w
}
