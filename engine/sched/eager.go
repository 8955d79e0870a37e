package sched

// eager: one queue for all workers, first come first served.

type eager struct {
	front, back fifo
	pinned      pinned
}

func newEager(m Machine, _ settings) Policy { return &eager{pinned: make(pinned, len(m.Workers))} }

func (p *eager) Push(it *Item, from int) int {
	switch {
	case it.Allowed != nil:
		return p.pinned.push(it)
	case it.Priority > 0:
		p.front.push(it)
	default:
		p.back.push(it)
	}
	return Anyone
}

func (p *eager) Pop(w int) *Item {
	if it := p.pinned.first(w); it != nil {
		return it
	}
	// An item that comes to the back after this look may follow one that comes to the
	// front after the second; it is left for the next Pop.
	behind := p.back.n.Load() > 0
	if it := p.front.pop(); it != nil {
		return it
	}
	if behind {
		if it := p.back.pop(); it != nil {
			return it
		}
	}
	return p.pinned.other(w)
}

func (p *eager) Empty() bool {
	return p.front.n.Load() == 0 && p.back.n.Load() == 0 && p.pinned.empty()
}
