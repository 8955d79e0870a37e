package sched

// How many items wait.

// Counter is implemented by policies that can say how many items are queued.
type Counter interface {
	// Len is the number of queued items. It may be off while others push and pop.
	Len() int
}

func (r *ring) len() int { return int(r.tail.Load() - r.head.Load()) }

func (p pinned) len() (n int) {
	for w := range p {
		n += int(p[w].n.Load())
	}
	return n
}

func (p *eager) Len() int { return int(p.front.n.Load()+p.back.n.Load()) + p.pinned.len() }

func (p *prio) Len() int { return int(p.queue.n.Load()) + p.pinned.len() }

func (p *random) Len() int { return int(p.n.Load()) }

func (p *dm) Len() int { return int(p.n.Load()) }

func (p *darts) Len() int { return int(p.n.Load()) }

func (p *heteroprio) Len() int { return int(p.n.Load()) }

func (p *ws) Len() int {
	n := p.pinned.len()
	for i := range p.workers {
		n += int(p.workers[i].load() + p.workers[i].later.n.Load())
	}
	return n
}

func (p *lws) Len() int {
	n := p.submitted.len() + int(p.overflow.n.Load()+p.urgent.n.Load()+p.later.n.Load()) + p.pinned.len()
	for i := range p.workers {
		n += p.workers[i].queue.len()
	}
	return n
}
