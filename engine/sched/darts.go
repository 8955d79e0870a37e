package sched

// darts, data-aware reactive task scheduling: instead of an item, a worker that
// needs work chooses a piece of data, the one that lets the most waiting items
// run for each byte to load; then it runs all of those. After M. Gonthier,
// L. Marchal, S. Thibault: Memory-aware scheduling of tasks sharing data on
// multiple GPUs with dynamic runtime systems, IPDPS 2022. The policy keeps a
// list of the data loaded at each worker and drops the least recently used: for a device
// the data in its memory, for a CPU worker the data that may still be in its cache.

import (
	"container/list"
	"sync"
	"sync/atomic"
)

var dartsOptions = []Option{
	{Name: "window", Doc: "how many waiting items are looked at", Default: 64, Whole: true, Least: 1},
	{Name: "cache", Doc: "bytes that the cache of a CPU worker holds", Default: 1 << 20, Whole: true, Least: 0},
}

type darts struct {
	m      Machine
	window int
	of     []int // place of each worker's data
	n      atomic.Int64
	mu     struct {
		sync.Mutex
		waiting levels   // what every worker may run
		pinned  []levels // the rest, for each worker
		taken   []int    // by each worker
		stores  []store
		idle    idle
		gains   map[int64]gain // scratch: what each piece of data is good for
		lacks   []lack         // scratch: of the items looked at
	}
}

// store is where data is loaded: a cache, or a device's memory.
type store struct {
	capacity, used int64                   // bytes
	pieces         int                     // that it can hold
	loaded         map[int64]*list.Element // of resident, by id
	recent         *list.List              // most recently used first
	planned        levels                  // items whose data is there, or will be
}

type resident struct{ id, bytes int64 }

// gain is how many items a piece of data would let run.
type gain struct {
	items, bytes int64
}

// lack is what an item needs that is not loaded.
type lack struct {
	at     place
	pieces int
	id     int64 // one of them
	bytes  int64
}

// How many pieces of data are remembered, however small they are.
const (
	maxCached   = 1 << 13 // in the cache of a CPU worker
	maxOnDevice = 1 << 18
)

func newDarts(m Machine, set settings) Policy {
	p := &darts{m: m, window: int(min(set["window"], 1<<20)), of: make([]int, len(m.Workers))}
	nodes := map[int]int{}
	for w, d := range m.Workers {
		if i, ok := nodes[d.Node]; ok && d.Node != 0 {
			p.of[w] = i
			continue
		}
		p.of[w] = len(p.mu.stores)
		nodes[d.Node] = p.of[w]
		s := store{capacity: d.Memory, pieces: maxOnDevice, loaded: map[int64]*list.Element{}, recent: list.New()}
		if d.Node == 0 {
			s.capacity, s.pieces = int64(min(set["cache"], 1<<60)), maxCached
		} else if s.capacity <= 0 {
			s.capacity = 1 << 60
		}
		p.mu.stores = append(p.mu.stores, s)
	}
	p.mu.pinned = make([]levels, len(m.Workers))
	p.mu.taken = make([]int, len(m.Workers))
	p.mu.idle = make(idle, len(m.Workers))
	p.mu.gains = map[int64]gain{}
	return p
}

func (p *darts) Push(it *Item, from int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n.Add(1)
	if it.Allowed == nil {
		p.mu.waiting.push(it.Priority, entry{it: it})
		return Anyone
	}
	best := -1
	for w := range p.mu.pinned {
		if it.Allowed.Has(w) && (best < 0 || p.mu.pinned[w].n < p.mu.pinned[best].n) {
			best = w
		}
	}
	p.mu.pinned[best].push(it.Priority, entry{it: it})
	return p.mu.idle.wake(best, it)
}

func (p *darts) Pop(w int) *Item {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &p.mu.stores[p.of[w]]
	var q *levels                                                     // where the first item with the highest priority is
	order := [...]*levels{&p.mu.pinned[w], &s.planned, &p.mu.waiting} // among equals
	if p.mu.taken[w]++; p.mu.taken[w]%fair == 0 {
		order[0], order[2] = order[2], order[0] // or those of w could keep it from what all may run
	}
	for _, o := range order {
		if e := o.first(); e != nil && (q == nil || e.it.Priority > q.first().it.Priority) {
			q = o
		}
	}
	var e entry
	switch q {
	case nil:
		var ok bool
		if e, ok = p.stealLocked(w); !ok {
			p.mu.idle[w] = true
			return nil
		}
	case &p.mu.waiting:
		e = p.chooseLocked(s)
	default:
		e, _ = q.pop()
	}
	p.mu.idle[w] = false
	p.n.Add(-1)
	p.m.Data(e.it, s.use)
	return e.it
}

// chooseLocked takes an item that waits, and plans those that can run as well
// once its data is loaded.
func (p *darts) chooseLocked(s *store) entry {
	first := p.mu.waiting.front()
	lv := &p.mu.waiting.all[first.level]
	if head := &lv.items[first.index]; head.passed > p.window {
		return p.mu.waiting.remove(first) // it was passed over often enough
	}
	clear(p.mu.gains)
	p.mu.lacks = p.mu.lacks[:0]
	fewest := -1 // of lacks: the fewest bytes
	for i := first.index; i < min(first.index+p.window, len(lv.items)); i++ {
		l := s.lacks(p.m.Data, lv.items[i].it)
		l.at = place{first.level, i, true}
		if l.pieces == 0 { // everything is there
			return p.passLocked(first, l.at)
		}
		if l.pieces == 1 {
			g := p.mu.gains[l.id]
			p.mu.gains[l.id] = gain{g.items + 1, max(l.bytes, 1)}
		}
		p.mu.lacks = append(p.mu.lacks, l)
		if fewest < 0 || l.bytes < p.mu.lacks[fewest].bytes {
			fewest = len(p.mu.lacks) - 1
		}
	}
	best := -1
	for i, l := range p.mu.lacks {
		if l.pieces != 1 {
			continue
		}
		if best < 0 || p.mu.gains[p.mu.lacks[best].id].less(p.mu.gains[l.id]) {
			best = i
		}
	}
	if best < 0 { // no single piece of data lets anything run
		return p.passLocked(first, p.mu.lacks[fewest].at)
	}
	chosen := p.mu.lacks[best]
	taken := p.passLocked(first, chosen.at)
	for _, l := range p.mu.lacks[best+1:] { // in rising order, so that places stay right
		if l.pieces == 1 && l.id == chosen.id {
			e := p.mu.waiting.remove(l.at)
			s.planned.push(e.it.Priority, e)
		}
	}
	return taken
}

// less compares items for each byte.
func (g gain) less(o gain) bool {
	return float64(g.items)*float64(o.bytes) < float64(o.items)*float64(g.bytes)
}

// passLocked takes the item at a place, and notes that the first one was passed
// over if it is another.
func (p *darts) passLocked(first, at place) entry {
	if at != first {
		p.mu.waiting.all[first.level].items[first.index].passed++
	}
	return p.mu.waiting.remove(at)
}

// lacks finds out what of an item's data is not loaded. A piece that is named
// twice counts once if it is the first that lacks.
func (s *store) lacks(data func(*Item, func(id, bytes int64)), it *Item) (l lack) {
	data(it, func(id, bytes int64) {
		if s.loaded[id] != nil || l.pieces > 0 && l.id == id {
			return
		}
		l.pieces++
		l.id = id
		l.bytes += max(bytes, 0)
	})
	return l
}

// use says that data is loaded, and forgets what has no room any more.
func (s *store) use(id, bytes int64) {
	bytes = max(bytes, 0)
	if e := s.loaded[id]; e != nil {
		s.recent.MoveToFront(e)
		return
	}
	s.loaded[id] = s.recent.PushFront(resident{id, bytes})
	s.used += bytes
	for s.used > s.capacity && s.recent.Len() > 1 || s.recent.Len() > s.pieces {
		r := s.recent.Remove(s.recent.Back()).(resident)
		delete(s.loaded, r.id)
		s.used -= r.bytes
	}
}

// stealLocked takes what is planned elsewhere, or is for another worker as well.
func (p *darts) stealLocked(w int) (entry, bool) {
	var most *levels
	for i := range p.mu.stores {
		if q := &p.mu.stores[i].planned; q.n > 0 && (most == nil || q.n > most.n) {
			most = q
		}
	}
	if most != nil {
		return most.pop()
	}
	for i := range p.mu.pinned {
		q := &p.mu.pinned[i]
		if _, at := q.find(w); at.ok {
			return q.remove(at), true
		}
	}
	return entry{}, false
}

func (p *darts) Empty() bool { return p.n.Load() == 0 }
