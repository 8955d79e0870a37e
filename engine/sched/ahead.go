package sched

// Ahead: the items that a worker will get next, for prefetching their data.

// Ahead is implemented by policies that can say what a worker will most likely get
// next.
type Ahead interface {
	// Ahead calls visit for up to n items that worker w will most likely pop next, the
	// first one first, while they are queued. visit must be quick and not use the
	// policy. Other workers may pop them all the same.
	Ahead(w, n int, visit func(*Item))
}

// ahead visits up to n entries in the order in which pop takes them, or, when there is
// a cost, best. It returns how many.
func (q *levels) ahead(n int, cost func(*Item) int64, visit func(*Item)) (seen int) {
	for i := 0; i < len(q.all) && seen < n; i++ {
		l := &q.all[i]
		items := l.items[l.head:min(l.head+look, len(l.items))]
		if cost == nil {
			for k := 0; k < len(items) && seen < n; k++ {
				visit(items[k].it)
				seen++
			}
			continue
		}
		var few [look]int64
		costs := few[:len(items)]
		for k := range items {
			if costs[k] = cost(items[k].it); costs[k] > 0 {
				continue
			}
			costs[k] = -1 // nothing comes before what costs nothing, but its like
			visit(items[k].it)
			if seen++; seen == n { // most often all is there, and few are looked at
				return seen
			}
		}
		for seen < n {
			best := -1
			for k, c := range costs {
				if c >= 0 && (best < 0 || c < costs[best]) {
					best = k
				}
			}
			if best < 0 {
				break
			}
			costs[best] = -1
			visit(items[best].it)
			seen++
		}
	}
	return seen
}

// ahead visits up to n items, the first one first. It returns how many.
func (q *heap) ahead(n int, visit func(*Item)) (seen int) {
	if q.n.Load() == 0 || n <= 0 {
		return 0
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	front := []int{} // places that may hold the next one: those whose parents were visited
	if len(q.mu.items) > 0 {
		front = append(front, 0)
	}
	for seen < n && len(front) > 0 {
		best := 0
		for k := range front {
			if q.mu.items[front[k]].before(q.mu.items[front[best]]) {
				best = k
			}
		}
		i := front[best]
		front[best] = front[len(front)-1]
		front = front[:len(front)-1]
		for _, c := range []int{2*i + 1, 2*i + 2} {
			if c < len(q.mu.items) {
				front = append(front, c)
			}
		}
		visit(q.mu.items[i])
		seen++
	}
	return seen
}

// ahead visits up to n items, the first one first. It returns how many.
func (q *fifo) ahead(n int, visit func(*Item)) (seen int) {
	if q.n.Load() == 0 || n <= 0 {
		return 0
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, it := range q.mu.items[q.mu.head:] {
		if seen == n {
			break
		}
		visit(it)
		seen++
	}
	return seen
}

// Ahead implements Ahead.
func (p *eager) Ahead(w, n int, visit func(*Item)) {
	n -= p.pinned[w].ahead(n, visit)
	n -= p.front.ahead(n, visit)
	p.back.ahead(n, visit)
}

// Ahead implements Ahead.
func (p *prio) Ahead(w, n int, visit func(*Item)) {
	n -= p.pinned[w].ahead(n, visit)
	p.queue.ahead(n, visit)
}

// Ahead implements Ahead for items that only some workers may run, and urgent ones: only
// its owner may look at a worker's own queue.
func (p *lws) Ahead(w, n int, visit func(*Item)) {
	n -= p.pinned[w].ahead(n, visit)
	p.urgent.ahead(n, visit)
}

// Ahead implements Ahead.
func (p *random) Ahead(w, n int, visit func(*Item)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.queues[w].ahead(n, nil, visit)
}

// Ahead implements Ahead.
func (p *dm) Ahead(w, n int, visit func(*Item)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var cost func(*Item) int64
	if p.kind.ready {
		cost = func(it *Item) int64 { return p.m.Missing(it, w) }
	}
	p.mu.workers[w].queue.ahead(n, cost, visit)
}

// Ahead implements Ahead: what is planned, or for this worker. Its
// later choices are not known yet.
func (p *darts) Ahead(w, n int, visit func(*Item)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n -= p.mu.stores[p.of[w]].planned.ahead(n, nil, visit)
	p.mu.pinned[w].ahead(n, nil, visit)
}
