package sched

// prio: one queue for all workers, the highest priority first, equal ones in
// the order of their numbers.

type prio struct {
	queue  heap
	pinned pinned
}

func newPrio(m Machine, _ settings) Policy { return &prio{pinned: make(pinned, len(m.Workers))} }

func (p *prio) Push(it *Item, from int) int {
	if it.Allowed != nil {
		return p.pinned.push(it)
	}
	p.queue.push(it)
	return Anyone
}

func (p *prio) Pop(w int) *Item {
	if own := &p.pinned[w].heap; own.better(&p.queue) {
		if it := own.pop(); it != nil {
			return it
		}
	}
	if it := p.queue.pop(); it != nil {
		return it
	}
	return p.pinned.other(w)
}

func (p *prio) Empty() bool { return p.queue.n.Load() == 0 && p.pinned.empty() }
