package sched

// A queue by priority that can be looked into, for policies with one lock.

import "slices"

// entry is a queued item and what a policy thinks of it.
type entry struct {
	it       *Item
	length   float64 // predicted time of its kernel, seconds
	transfer float64 // predicted time that its worker will wait for data, seconds
	known    bool    // length is predicted
	passed   int     // how often others went first
	team     *team   // of pheft: it is in the queues of others, too; nil: it is not
}

// levels is a queue of entries by level, the highest first, those of one level
// in the order of their arrival. It has no lock.
type levels struct {
	n    int
	all  []level   // highest first
	none workerSet // workers that looked, and may run none of the items
}

type level struct {
	key   int32
	items []entry
	head  int
}

// look is how many entries a search looks at, at most.
const look = 64

func (q *levels) push(key int32, e entry) {
	i, ok := slices.BinarySearchFunc(q.all, key, func(l level, key int32) int { return int(int64(key) - int64(l.key)) })
	if !ok {
		q.all = slices.Insert(q.all, i, level{key: key})
	}
	l := &q.all[i]
	if l.head > 1024 && l.head > len(l.items)/2 {
		l.items = slices.Delete(l.items, 0, l.head)
		l.head = 0
	}
	l.items = append(l.items, e)
	q.n++
	q.none.remove(e.it.Allowed)
}

// front is where the first entry is.
func (q *levels) front() place {
	for i := range q.all {
		if l := &q.all[i]; q.n > 0 && l.head < len(l.items) {
			return place{i, l.head, true}
		}
	}
	return place{}
}

// first is the first entry, nil when there is none.
func (q *levels) first() *entry {
	if at := q.front(); at.ok {
		return &q.all[at.level].items[at.index]
	}
	return nil
}

// find returns the first entry that worker w may run; at tells remove where it is.
func (q *levels) find(w int) (e *entry, at place) {
	if q.n == 0 || q.none.has(w) {
		return nil, at
	}
	for i := range q.all {
		l := &q.all[i]
		for k := l.head; k < len(l.items); k++ {
			if l.items[k].it.Allows(w) {
				return &l.items[k], place{i, k, true}
			}
		}
	}
	q.none.add(w)
	return nil, at
}

// each calls fn for all entries, the first one first, until it returns false.
func (q *levels) each(fn func(e *entry, at place) bool) {
	for i := range q.all {
		l := &q.all[i]
		for k := l.head; k < len(l.items); k++ {
			if !fn(&l.items[k], place{i, k, true}) {
				return
			}
		}
	}
}

// where returns the place of a team that is in the queue.
func (q *levels) where(tm *team) (found place) {
	q.each(func(e *entry, at place) bool {
		if e.team == tm {
			found = at
		}
		return !found.ok
	})
	return found
}

// best returns the entry of the highest level with the lowest cost, the first
// of those that cost the same, of a bounded number. An entry that was passed over
// often goes first, whatever its cost.
func (q *levels) best(cost func(*Item) int64) (at place) {
	for i := range q.all {
		l := &q.all[i]
		if l.head == len(l.items) {
			continue
		}
		best, least := l.head, cost(l.items[l.head].it)
		for k := l.head + 1; least > 0 && k < min(l.head+look, len(l.items)); k++ {
			if c := cost(l.items[k].it); c < least {
				best, least = k, c
			}
		}
		if h := &l.items[l.head]; best != l.head {
			if h.passed++; h.passed > look {
				best = l.head
			}
		}
		return place{i, best, true}
	}
	return at
}

// place is where an entry is, until the queue changes.
type place struct {
	level, index int
	ok           bool
}

// remove removes the entry at a place. Places of later entries of its level stay
// right.
func (q *levels) remove(at place) entry {
	l := &q.all[at.level]
	e := l.items[at.index]
	copy(l.items[l.head+1:at.index+1], l.items[l.head:at.index])
	l.items[l.head] = entry{}
	l.head++
	q.n--
	switch {
	case l.head == len(l.items) && len(q.all) > look: // programs use few priorities; this one does not
		q.all = slices.Delete(q.all, at.level, at.level+1)
	case l.head == len(l.items):
		l.items, l.head = l.items[:0], 0
	}
	return e
}

// pop removes the first entry.
func (q *levels) pop() (e entry, ok bool) {
	at := q.front()
	if !at.ok {
		return e, false
	}
	return q.remove(at), true
}

// front is the level of it where positive priorities go before the others, and
// no more is promised.
func (it *Item) front() int32 {
	if it.Priority > 0 {
		return 1
	}
	return 0
}
