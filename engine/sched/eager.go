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
	if it := p.front.pop(); it != nil {
		return it
	}
	if it := p.back.pop(); it != nil {
		return it
	}
	return p.pinned.other(w)
}

func (p *eager) Empty() bool {
	return p.front.n.Load() == 0 && p.back.n.Load() == 0 && p.pinned.empty()
}
