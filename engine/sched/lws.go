package sched

// lws, local work stealing: a worker runs first what its last task released,
// in the cache that the data is still in, unless tasks are long and one that waits
// uses as much of that; an idle worker takes half of the items of the submitter or
// a neighbour. Items with a priority are kept apart: above zero before all others,
// highest first, below zero after all others.

type lws struct {
	m         Machine
	submitted ring // from outside
	overflow  fifo
	urgent    heap
	later     heap
	pinned    pinned
	workers   []local
}

type local struct {
	next  *Item // released first by the last task; the worker's own
	queue ring
	near  near // from the queue, while tasks are long
	reuse *reuse
	_     [64]byte
}

func newLWS(m Machine, _ settings) Policy {
	p := &lws{m: m, pinned: make(pinned, len(m.Workers)), workers: make([]local, len(m.Workers))}
	p.submitted.init(8192)
	for i := range p.workers {
		p.workers[i].queue.init(256)
		p.workers[i].reuse = newReuse()
	}
	return p
}

func (p *lws) Push(it *Item, from int) int {
	if it.Priority != 0 || it.Allowed != nil {
		if from != Outside && (it.Allowed != nil || it.Priority > 0) {
			p.shareNow(&p.workers[from]) // it may go first
		}
		switch {
		case it.Allowed != nil:
			return p.pinned.push(it)
		case it.Priority > 0:
			p.urgent.push(it)
		default:
			p.later.push(it)
		}
		return Anyone
	}
	if from == Outside {
		if !p.submitted.push(it) {
			p.overflow.push(it)
		}
		return Anyone
	}
	w := &p.workers[from]
	if w.next == nil {
		w.next = it
		if w.near.n.Load() != 0 { // something there may go first
			return Anyone
		}
		return Nobody
	}
	if !w.queue.push(it) {
		p.overflow.push(it)
	}
	return Anyone
}

// share lets others take what w was to run next, because something else comes
// before it.
func (p *lws) share(w *local) {
	if it := w.next; it != nil {
		w.next = nil
		if !w.queue.push(it) {
			p.overflow.push(it)
		}
	}
}

// shareNow is share for a worker that begins something else now. All others may have
// gone to sleep since Push returned Nobody for the item.
func (p *lws) shareNow(w *local) {
	if w.next != nil {
		p.share(w)
		p.m.Wake(Anyone)
	}
}

// Share lets others take what the worker was to run next.
func (p *lws) Share(id int) int {
	if w := &p.workers[id]; w.next != nil {
		p.share(w)
		return Anyone
	}
	return Nobody
}

func (p *lws) Pop(id int) *Item {
	it := p.choose(id)
	if it != nil {
		p.workers[id].reuse.given(&p.m, it)
	}
	return it
}

func (p *lws) choose(id int) *Item {
	w := &p.workers[id]
	if p.pinned[id].n.Load() != 0 { // no call whose answer is nearly always no
		if it := p.pinned.first(id); it != nil {
			p.shareNow(w)
			return it
		}
	}
	if p.urgent.n.Load() != 0 {
		if it := p.urgent.pop(); it != nil {
			p.shareNow(w)
			return it
		}
	}
	if w.reuse.long || w.near.n.Load() != 0 {
		if it := p.nearest(w); it != nil {
			return it
		}
	}
	if it := w.next; it != nil {
		w.next = nil
		return it
	}
	if it := w.queue.pop(); it != nil {
		return it
	}
	// As in eager: an item that comes after these looks may follow one that goes before it,
	// and is left for the next Pop.
	behind := p.later.n.Load() != 0
	ordinary := p.overflow.n.Load() != 0 || !p.submitted.empty()
	if p.urgent.n.Load() != 0 {
		if it := p.urgent.pop(); it != nil {
			return it
		}
	}
	var it *Item
	if ordinary {
		if it = p.overflow.take(&w.queue); it == nil {
			it = p.submitted.take(&w.queue)
		}
	}
	for i := 1; it == nil && i < len(p.workers); i++ {
		it = p.workers[(id+i)%len(p.workers)].queue.take(&w.queue)
	}
	for i := 1; it == nil && i < len(p.workers); i++ {
		it = p.workers[(id+i)%len(p.workers)].near.take(w.reuse, 0)
	}
	if it != nil {
		if !w.queue.empty() { // on their way here others may have found them nowhere, and gone to sleep
			p.m.Wake(Anyone)
		}
		return it
	}
	if behind {
		if it := p.later.pop(); it != nil {
			return it
		}
	}
	return p.pinned.other(id)
}

// nearest returns the waiting item that uses most of what the worker's last task
// used, nil when what that one released goes first, or nothing waits.
func (p *lws) nearest(w *local) *Item {
	least := int64(0)
	if w.reuse.long {
		w.near.fill(&p.m, &w.queue, w.reuse)
		if w.next != nil {
			u := w.reuse.look(&p.m, w.next)
			least = w.reuse.shares(&u)
		}
	}
	if w.next != nil {
		least = max(least, 1)
	}
	it := w.near.take(w.reuse, least)
	if it != nil {
		p.shareNow(w)
	}
	return it
}

// Peek looks at the worker's own queue only.
func (p *lws) Peek(id int) *Item { return p.workers[id].queue.peek() }

func (p *lws) Empty() bool {
	if !p.submitted.empty() || p.overflow.n.Load()+p.urgent.n.Load()+p.later.n.Load() != 0 || !p.pinned.empty() {
		return false
	}
	for i := range p.workers {
		if w := &p.workers[i]; !w.queue.empty() || w.near.n.Load() != 0 {
			return false
		}
	}
	return true
}
