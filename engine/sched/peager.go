package sched

// peager: eager for items that several workers may run together: such an item gets the
// worker that takes it and those that are idle then.

import "sync/atomic"

type peager struct {
	eager
	m    Machine
	idle []atomic.Bool // by worker: it found nothing when it asked last, and no gang counts on it
}

func newPeager(m Machine, _ settings) Policy {
	n := len(m.Workers)
	return &peager{eager: eager{pinned: make(pinned, n)}, m: m, idle: make([]atomic.Bool, n)}
}

func (p *peager) Pop(w int) *Item {
	it := p.eager.Pop(w)
	if idle := it == nil; p.idle[w].Load() != idle {
		p.idle[w].Store(idle)
	}
	if it == nil {
		return nil
	}
	if g := p.m.Gang(it); g != nil {
		g.Size, g.Workers = p.size(it, g, w), nil
	}
	return it
}

// size chooses the number of workers of an item that w takes: w, and the idle ones like it
// that no other queued item needs. Any that come free may be the members, as those that are
// idle now may have something by then.
func (p *peager) size(it *Item, g *Gang, w int) int {
	size, needed := 1, p.Len()
	own := &p.m.Workers[w]
	for v := range p.idle {
		x := &p.m.Workers[v]
		if v == w || size >= g.Most || !it.Allows(v) || x.Node != own.Node || x.Arch != own.Arch || !p.idle[v].Load() {
			continue
		}
		if needed > 0 {
			needed--
		} else if p.idle[v].CompareAndSwap(true, false) {
			size++
		}
	}
	return max(size, g.Least)
}

// Share says that w is no longer idle, as it does something that Pop did not give it. The
// queue is for all workers, so there is nothing to share.
func (p *peager) Share(w int) int {
	p.idle[w].Store(false)
	return Nobody
}
