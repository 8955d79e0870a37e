package sched

// dm, deque model: an item goes to the worker that is expected to end it first.
// dmda, "data aware", adds the time to bring its data; dmdap keeps the queues
// sorted by priority, dmdar takes first what has its data there, dmdas does both.
// They are StarPU's policies of these names (C. Augonnet, J. Clet-Ortega,
// S. Thibault, R. Namyst: Data-aware task scheduling on multi-accelerator based
// platforms, ICPADS 2010), which go back to HEFT (H. Topcuoglu, S. Hariri,
// M.-Y. Wu, IEEE TPDS 13, 2002). The one difference: a worker that has nothing
// takes what waits for another one, if it is expected to end it no later. pheft is dmda
// for items that may have several workers; see pheft.go.

import (
	"sync"
	"sync/atomic"
)

var dmdaOptions = []Option{
	{Name: "alpha", Doc: "weight of the time when the item is expected to end", Default: 1},
	{Name: "beta", Doc: "weight of the time to bring its data", Default: 1},
	{Name: "gamma", Doc: "weight of the energy it takes, seconds for each joule", Default: 0.001},
}

// dmKind says which policy of the family it is.
type dmKind struct{ data, sorted, ready, gangs bool }

func (k dmKind) new(m Machine, set settings) Policy {
	p := &dm{m: m, kind: k, alpha: set["alpha"], beta: set["beta"], gamma: set["gamma"]}
	p.classes, p.of = m.classes()
	p.mu.workers = make([]expected, len(m.Workers))
	p.mu.idle = make(idle, len(m.Workers))
	return p
}

type dm struct {
	m                  Machine
	kind               dmKind
	alpha, beta, gamma float64
	classes            []class
	of                 []int // class of each worker
	n                  atomic.Int64
	mu                 struct {
		sync.Mutex
		workers     []expected
		idle        idle
		nextUnknown int // of the sizes that are not known, see bestTeamLocked
	}
}

// expected is a worker: its queue, and when it is expected to come to what. All
// times are in seconds.
type expected struct {
	queue         levels
	start         float64 // when the first queued item can start
	length        float64 // from then on, of what is queued
	busy          bool    // something was given out and is not known to have ended
	runs          float64 // how long that is expected to run
	teamDelay     float64 // from start on, for others: part of length, while the first item is a team that they run, too
	blockedByTeam bool    // it found nothing, because of such a team
	team          *team   // that was given out, to the worker or to another of the team
	leading       *team   // that was given to the worker
	refused       bool    // it asked for an item and got none, because it has a place in a team
}

// end is when the worker is expected to have done all it has.
func (x *expected) end(now float64) float64 {
	return max(x.start+x.teamDelay, now) + x.length - x.teamDelay
}

// add queues e.
func (x *expected) add(key int32, e entry, now float64) {
	if x.teamDelay == 0 {
		x.start = max(x.start, now)
	}
	x.length += e.length + e.transfer
	x.queue.push(key, e)
}

// items is how many items the worker has.
func (x *expected) items() int {
	if x.busy {
		return x.queue.n + 1
	}
	return x.queue.n
}

// prediction is what is expected of an item on the workers of a class.
type prediction struct {
	length, transfer, energy float64
	known, done              bool
}

func (p *dm) predict(it *Item, w int, out *prediction) {
	if out.done {
		return
	}
	out.done = true
	out.length, out.known = p.m.Estimate(it, w)
	out.length = sane(out.length)
	if p.kind.data {
		out.transfer, out.energy = sane(p.m.Transfer(it, w)), sane(p.m.Energy(it, w))
	}
}

// sane takes predictions that make no sense out of the sums.
func sane(x float64) float64 {
	if x > 0 && x < 1e12 {
		return x
	}
	return 0
}

func (p *dm) Push(it *Item, from int) int {
	if p.kind.gangs {
		if g := p.m.Gang(it); g != nil {
			return p.pushTeam(it, g, from)
		}
	}
	var few [8]prediction
	of := few[:]
	if len(p.classes) > len(of) {
		of = make([]prediction, len(p.classes))
	}
	for w := range p.m.Workers {
		if it.Allows(w) {
			p.predict(it, w, &of[p.of[w]])
		}
	}
	b := p.m.Bundle(it)
	node := p.nodeFor(it, b)
	now := p.m.Now()
	key := it.Priority
	if !p.kind.sorted {
		key = it.front()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	w, learning := p.chooseLocked(it, node, b, from, of, now)
	if b != nil && !learning {
		b.place(p.m.Workers[w].Node)
	}
	if explain := p.m.Explain(); explain != nil {
		p.explainLocked(explain, it, w, of, now)
	}
	x, e := &p.mu.workers[w], entry{it: it}
	if pr := &of[p.of[w]]; pr.known {
		e.length, e.known = pr.length, true
		// data travels while the worker does what it has; it waits for the rest
		e.transfer = max(0, now+pr.transfer-x.end(now))
	}
	x.add(key, e, now)
	p.n.Add(1)
	if w == from && x.queue.n == 1 { // it comes next
		p.mu.idle[w] = false
		return Nobody
	}
	if x.items() > 1 && !p.mu.idle[w] { // perhaps another worker would take it at once
		for v, idle := range p.mu.idle {
			if idle && p.allows(it, node, v) && p.willingLocked(v, w, &e, x.length, now) {
				w = v
				break
			}
		}
	}
	p.mu.idle[w] = false
	return w
}

// chooseLocked chooses the worker for an item. While nothing is known about it
// on some worker, it goes to such a worker, to that with the least to do: so the
// models learn about all of them. Otherwise the lowest cost wins. Between equals
// the worker that released the item comes first: its cache may hold the data. The
// first item of the bundle b, which may be nil, counts as much as all of them.
func (p *dm) chooseLocked(it *Item, node int, b *Bundle, from int, of []prediction, now float64) (best int, learning bool) {
	n, first := len(p.m.Workers), max(from, 0)
	least, leastLoad := -1, 0.0
	soonest := -1.0
	for i := range n {
		w := (first + i) % n
		if !p.allows(it, node, w) {
			continue
		}
		pr, x := &of[p.of[w]], &p.mu.workers[w]
		load := float64(x.items()) / p.m.Workers[w].Speed
		if least < 0 || !learning && !pr.known || learning == !pr.known && load < leastLoad {
			least, leastLoad = w, load
		}
		learning = learning || !pr.known
		if end := x.end(now) + pr.length; soonest < 0 || end < soonest {
			soonest = end
		}
	}
	if learning {
		return least, true
	}
	if node != anyNode {
		b = nil // it was placed
	}
	lowest := 0.0
	best = -1
	for i := range n {
		w := (first + i) % n
		if !p.allows(it, node, w) {
			continue
		}
		pr := &of[p.of[w]]
		length := pr.length
		if b != nil {
			if all, known := b.expected(w); known {
				length = max(length, all)
			}
		}
		cost := p.mu.workers[w].end(now) + length - soonest
		if p.kind.data {
			cost = p.alpha*cost + p.beta*pr.transfer + p.gamma*pr.energy
		}
		if best < 0 || cost < lowest {
			best, lowest = w, cost
		}
	}
	return best, false
}

// nodeFor returns the memory node of the bundle b of it, if it has one and a worker of that node may run it, and
// anyNode else.
func (p *dm) nodeFor(it *Item, b *Bundle) int {
	if b == nil {
		return anyNode
	}
	if node, placed := b.where(); placed {
		for w := range p.m.Workers {
			if p.allows(it, node, w) {
				return node
			}
		}
	}
	return anyNode
}

const anyNode = -1

// allows reports whether worker w may run it and is one of node.
func (p *dm) allows(it *Item, node, w int) bool {
	return it.Allows(w) && (node == anyNode || p.m.Workers[w].Node == node)
}

// willingLocked reports whether the idle worker u should take e from v; v would end e
// after length.
func (p *dm) willingLocked(u, v int, e *entry, length, now float64) bool {
	if p.of[u] == p.of[v] {
		return true
	}
	var pr prediction
	p.predict(e.it, u, &pr)
	if !pr.known || !e.known {
		// what should be learned about v is not taken away from it
		return !pr.known && p.mu.workers[v].busy
	}
	return now+pr.transfer+pr.length <= max(p.mu.workers[v].start, now)+length
}

func (p *dm) Pop(w int) *Item {
	now := p.m.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	x := &p.mu.workers[w]
	if p.kind.gangs && p.reservedLocked(w) {
		x.refused = true
		return nil
	}
	x.busy, x.start, p.mu.idle[w] = false, now, false // what it had before is over
	if p.kind.gangs {
		if it, done := p.popTeamLocked(w, now); done {
			return it
		}
	}
	var e entry
	switch {
	case x.queue.n == 0:
		var ok bool
		if e, ok = p.stealLocked(w, now); !ok {
			p.mu.idle[w] = true
			return nil
		}
		if e.team != nil {
			return e.it
		}
	case p.kind.ready:
		e = x.queue.remove(x.queue.best(func(it *Item) int64 { return p.m.Missing(it, w) }))
		x.shorten(&e)
	default:
		e, _ = x.queue.pop()
		x.shorten(&e)
	}
	p.n.Add(-1)
	x.busy, x.runs, x.start = true, e.length, now+e.transfer+e.length
	return e.it
}

// shorten says that e is not queued any more.
func (x *expected) shorten(e *entry) {
	x.length -= e.length + e.transfer
	if x.queue.n == 0 || !(x.length > 0) { // rounding adds up
		x.length = 0
	}
}

// stealLocked takes an item from another worker, from the one with most to do
// first.
func (p *dm) stealLocked(u int, now float64) (entry, bool) {
	n := len(p.mu.workers)
	most := -1
	for i := 1; i < n; i++ {
		v := (u + i) % n
		if x := &p.mu.workers[v]; x.queue.n > 0 && (most < 0 || x.length > p.mu.workers[most].length ||
			x.length == p.mu.workers[most].length && x.items() > p.mu.workers[most].items()) {
			most = v
		}
	}
	for i := range n {
		v := (u + i) % n
		if i == 0 {
			v = most
		}
		if v < 0 || v == u {
			continue
		}
		got, ok := p.stealFromLocked(u, v, now)
		if !ok {
			continue
		}
		got.transfer = 0
		if got.team == nil && p.of[u] != p.of[v] {
			var pr prediction
			p.predict(got.it, u, &pr)
			got.length, got.transfer = pr.length, pr.transfer
		}
		return got, true
	}
	return entry{}, false
}

// Share returns a worker that has nothing and would take something of w's.
func (p *dm) Share(w int) int {
	now := p.m.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	x := &p.mu.workers[w]
	if x.queue.n == 0 {
		return Nobody
	}
	for v, idle := range p.mu.idle {
		if !idle {
			continue
		}
		if e, at := x.queue.find(v); at.ok && (e.team != nil || p.willingLocked(v, w, e, e.length, now)) {
			p.mu.idle[v] = false
			return v
		}
	}
	return Nobody
}

func (p *dm) Empty() bool { return p.n.Load() == 0 }

// Started corrects what was expected: the data has come.
func (p *dm) Started(_ *Item, w int) {
	now := p.m.Now()
	p.mu.Lock()
	p.mu.workers[w].start = now + p.mu.workers[w].runs
	if tm := p.mu.workers[w].leading; tm != nil {
		tm.started = true
		p.eachOfLocked(tm, func(x *expected) { x.start = now + x.runs })
		for _, v := range tm.workers {
			if x := &p.mu.workers[v]; x.refused && x.team == tm { // another worker may have its place
				x.refused = false
				p.m.Wake(v)
			}
		}
	}
	p.mu.Unlock()
}

// eachOfLocked calls fn for the workers that have got nothing since tm was given out.
func (p *dm) eachOfLocked(tm *team, fn func(*expected)) {
	for _, v := range tm.workers {
		if x := &p.mu.workers[v]; x.team == tm {
			fn(x)
		}
	}
}

// Ended corrects what was expected: the worker is free.
func (p *dm) Ended(_ *Item, w int, _ float64) {
	now := p.m.Now()
	p.mu.Lock()
	p.mu.workers[w].start, p.mu.workers[w].busy = now, false
	if tm := p.mu.workers[w].leading; tm != nil {
		p.eachOfLocked(tm, func(x *expected) { x.start, x.busy = now, false })
	}
	p.mu.Unlock()
}
