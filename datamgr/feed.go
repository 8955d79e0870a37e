package datamgr

// Feeding: bringing what a task will need to a node while others run there, also when
// something has to go for it.

import "slices"

// Meal is what a task that will run soon needs on a node.
type Meal struct {
	Reads []*Handle
	Room  int64     // bytes that it needs besides
	Keep  []*Handle // what others need as soon: it does not go
}

// Feed brings what is valid of m to a node, as Prefetch does, and makes room for it: what
// is needed last goes, after what only the node has of it was saved. That is what the
// task would do when its turn comes; now nobody waits for it. It returns when that is
// done.
func (g *Registry) Feed(m *Meal, to int) {
	n := g.nodes[to]
	if !n.bounded || n.lost.Load() != nil {
		return
	}
	missing := m.Room
	for _, h := range m.Reads {
		missing += h.Lacks(to)
	}
	if missing > n.room() {
		n.saveFor(missing, m.Keep)
	}
	n.enter()
	for n.room() < missing && n.evictBut(m.Keep) {
	}
	ins := make([]*instance, len(m.Reads))
	for i, h := range m.Reads {
		if h.bytes() > 0 {
			ins[i] = n.hinted(h)
		}
	}
	n.leave()
	for i, h := range m.Reads {
		h.fill(ins[i])
	}
}

// Lacks is the size of the memory that h needs on a node and has not got there.
func (h *Handle) Lacks(on int) int64 {
	d := h.d
	if h.bytes() == 0 {
		return 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.freed || on == 0 && h.inMainMemory() || d.findLocked(d.reg.nodes[on], &h.box, h.rows()) != nil {
		return 0
	}
	return d.bytesOf(&h.box)
}

// spared reports whether the instance holds something of keep.
func (in *instance) spared(keep []*Handle) bool {
	return slices.ContainsFunc(keep, func(h *Handle) bool { return h.d == in.d && in.box.touches(&h.box) })
}

// saveFor saves what goes first when bytes are needed on n, as far as nobody uses it:
// so that nobody who looks for room waits for that.
func (n *node) saveFor(bytes int64, keep []*Handle) {
	bytes -= n.room()
	n.going(nil, func(in *instance, clean bool) bool {
		if !in.spared(keep) && in.d.save(in, clean) {
			bytes -= in.bytes
		}
		return bytes <= 0
	})
}

// save makes all that in holds valid elsewhere; clean: it does not, if there is
// something. False: somebody uses it, or something is only there.
func (d *Datum) save(in *instance, clean bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for {
		if in.gone || in.pins > 0 || in.leaving || d.mu.freed {
			return false
		}
		f := d.onlyInLocked(in)
		if f == nil {
			return true
		}
		if clean || f.arriving != 0 || f.writing > 0 || d.saveLocked(f, in) != nil {
			return false
		}
	}
}

// evictBut is makeRoom for who feeds: what is in keep stays, and what has to be saved
// first, while others may wait for their turn. The caller's turn.
func (n *node) evictBut(keep []*Handle) bool {
	return n.going(nil, func(in *instance, _ bool) bool {
		if in.spared(keep) || !in.d.evict(in, false) {
			return false
		}
		n.evicted.times.Add(1)
		n.evicted.bytes.Add(in.bytes)
		return true
	})
}
