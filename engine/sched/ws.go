package sched

// ws, work stealing: a worker keeps what its tasks release and runs the newest
// first, in the cache that the data is still in; what is submitted from outside
// goes round. An idle worker takes the oldest item of the longest queue
// (R. D. Blumofe, C. E. Leiserson: Scheduling multithreaded computations by
// work stealing, J. ACM 46, 1999; they choose the victim at random).

type ws struct {
	workers []owned
	pinned  pinned
	round   int // of Push from outside
	wake    func(w int)
}

type owned struct {
	urgent   heap // priorities above 0
	released fifo
	arrived  fifo // from outside
	later    heap // priorities below 0
	taken    int  // by its worker
	_        [64]byte
}

// load is how many items of priority 0 and above wait.
func (o *owned) load() int32 { return o.urgent.n.Load() + o.released.n.Load() + o.arrived.n.Load() }

func newWS(m Machine, _ settings) Policy {
	return &ws{workers: make([]owned, len(m.Workers)), pinned: make(pinned, len(m.Workers)), wake: m.Wake}
}

func (p *ws) Push(it *Item, from int) int {
	if it.Allowed != nil {
		return p.pinned.push(it)
	}
	w := from
	if from == Outside {
		w = p.round
		p.round = (p.round + 1) % len(p.workers)
	}
	o := &p.workers[w]
	switch {
	case it.Priority > 0:
		o.urgent.push(it)
	case it.Priority < 0:
		o.later.push(it)
	case from == Outside:
		o.arrived.push(it)
	default:
		next := o.load() == 0 && p.pinned[w].n.Load() == 0
		o.released.push(it)
		if next {
			return Nobody
		}
	}
	return Anyone
}

// Share returns Anyone if w has items, which other workers may take now.
func (p *ws) Share(w int) int {
	if p.workers[w].load() != 0 {
		return Anyone
	}
	return Nobody
}

// fair is after how many items a worker looks first at what came from outside,
// so that a task that goes on releasing others cannot keep it waiting, and after how
// many that only some workers may run at all others.
const fair = 61

func (p *ws) Pop(w int) *Item {
	o := &p.workers[w]
	if it := p.pinned.first(w); it != nil {
		if o.load() != 0 { // Push may have returned Nobody for it
			p.wake(Anyone)
		}
		return it
	}
	// As in eager: items that come after these looks may follow others that go before them.
	behind := o.later.n.Load() > 0
	ordinary := o.released.n.Load()+o.arrived.n.Load() > 0
	if it := o.urgent.pop(); it != nil {
		return it
	}
	if ordinary {
		if o.taken++; o.taken%fair == 0 {
			if it := o.arrived.pop(); it != nil {
				return it
			}
		}
		if it := o.released.popNewest(); it != nil {
			return it
		}
		if it := o.arrived.pop(); it != nil {
			return it
		}
	}
	for v := p.victim(w); v != nil; v = p.victim(w) {
		if it := v.urgent.pop(); it != nil {
			return it
		}
		if it := v.released.pop(); it != nil {
			return it
		}
		if it := v.arrived.pop(); it != nil {
			return it
		}
	}
	for i := range p.workers {
		if i == 0 && !behind {
			continue
		}
		if it := p.workers[(w+i)%len(p.workers)].later.pop(); it != nil {
			return it
		}
	}
	return p.pinned.other(w)
}

// victim returns the longest queue, or nil if all are empty.
func (p *ws) victim(w int) *owned {
	var best *owned
	most := int32(0)
	for i := 1; i < len(p.workers); i++ {
		v := &p.workers[(w+i)%len(p.workers)]
		if n := v.load(); n > most {
			best, most = v, n
		}
	}
	return best
}

func (p *ws) Empty() bool {
	for i := range p.workers {
		if o := &p.workers[i]; o.load() != 0 || o.later.n.Load() != 0 {
			return false
		}
	}
	return p.pinned.empty()
}
