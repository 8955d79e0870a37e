package datamgr

// Hints: copies outside of the order.
//
// They take what is valid now, and leave alone what is being written. A fragment
// counts the copies under way, and who is to write it waits for them. So they
// change no value, whenever they happen.

// Prefetch brings what is valid of h now to a node, as far as there is room
// without taking any from others. It returns when that is done.
func (g *Registry) Prefetch(h *Handle, to int) {
	n := g.nodes[to]
	if h.bytes() == 0 || len(g.nodes) == 1 || n.lost.Load() != nil {
		return
	}
	if n.bounded && !n.tryEnter() {
		return // tasks wait for room there
	}
	in := n.hinted(h)
	if n.bounded {
		n.leave()
	}
	h.fill(in)
}

// hinted returns an instance for h on n, pinned, if there is one or room for it; or nil.
// The caller's turn, where the node is bounded.
func (n *node) hinted(h *Handle) *instance {
	d := h.d
	d.mu.Lock()
	defer d.mu.Unlock()
	in := d.main.Load()
	switch {
	case in == nil || d.mu.freed:
		return nil
	case in.node == n:
	case n.bounded:
		if in = d.hintedLocked(n, h); in == nil {
			return nil
		}
	default: // the disk, and it is data of the program
		return nil
	}
	in.pinLocked()
	return in
}

// fill brings what is valid of h now to in, which hinted returned, and unpins it.
func (h *Handle) fill(in *instance) {
	if in == nil {
		return
	}
	d, n := h.d, in.node
	d.mu.Lock()
	defer d.mu.Unlock()
	bit := uint64(1) << in.layer
	for {
		var next *Fragment
		d.root.leaves(&h.box, func(f *Fragment) {
			// a fragment may be larger than h, when its view has ended
			if next == nil && f.writing == 0 && (f.valid|f.arriving)&bit == 0 && in.box.has(&f.box) {
				next = f
			}
		})
		if next == nil || d.mu.freed {
			break
		}
		src, dst := d.sourceLocked(next, n, nil), in
		if d.stops(src.node, n) {
			if dst = d.main.Load(); next.arriving&mainBit != 0 {
				break // somebody saves it
			}
		}
		if d.copyLocked(next, src, dst) != nil {
			break
		}
	}
	in.unpinLocked(true)
	if in.layer > 0 {
		d.uselessLocked(in)
	}
	d.mu.wake.Broadcast()
}

// Allocate makes room for h on a node, if there is some without taking any from
// others, and reports whether there is memory for it now. What comes next decides what
// is there.
func (g *Registry) Allocate(h *Handle, on int) bool {
	d, n := h.d, g.nodes[on]
	switch {
	case h.bytes() == 0:
		return true
	case n.lost.Load() != nil || !d.lives():
		return false
	case !n.bounded:
		return true // the main instance, or on the disk nothing that anybody waits for
	case !n.tryEnter():
		return false // tasks wait for room there
	}
	defer n.leave()
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.mu.freed && d.hintedLocked(n, h) != nil
}

// lives makes sure that the main instance exists; false: the datum has ended, or there
// is no memory.
func (d *Datum) lives() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.mu.freed && d.allocateLocked() == nil
}

// hintedLocked returns an instance for h on n, if there is one or room for it.
// The caller's turn.
func (d *Datum) hintedLocked(n *node, h *Handle) *instance {
	if in := d.findLocked(n, &h.box, h.rows()); in != nil {
		return in
	}
	if n.room() < d.bytesOf(&h.box) {
		return nil
	}
	in, err := d.makeLocked(n, h.box)
	if err != nil || in == nil {
		return nil
	}
	n.touch(in, h)
	return in
}

// WontUse says that h is not used for a while: where it lies on other nodes now,
// it is the first to go when room is needed.
func (h *Handle) WontUse() {
	d := h.d
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range d.mu.layers {
		for _, in := range l.insts {
			if n := in.node; n.bounded && !in.outside && in.box.touches(&h.box) {
				n.mu.Lock()
				in.used = 0
				n.mu.Unlock()
			}
		}
	}
}

// TransferTime predicts how long it takes to bring what is not valid of h to a node,
// in seconds.
func (h *Handle) TransferTime(on int) (seconds float64) {
	d := h.d
	if h.bytes() == 0 {
		return 0
	}
	to := d.reg.nodes[on]
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.main.Load() == nil {
		return 0
	}
	d.root.leaves(&h.box, func(f *Fragment) {
		if in := d.sourceLocked(f, to, nil); in != nil {
			seconds += cost(in.node, to, d.bytesOf(&f.box))
		}
	})
	return seconds
}

// Missing returns how many bytes of h are not valid on a node.
func (h *Handle) Missing(on int) (bytes int64) {
	d := h.d
	if h.bytes() == 0 {
		return 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	bits := uint64(0)
	if m := d.main.Load(); m != nil && m.node.id == on || m == nil && on == 0 {
		bits = mainBit
	}
	for k, l := range d.mu.layers {
		if l.node != nil && l.node.id == on && len(l.insts) > 0 {
			bits |= 1 << (k + 1)
		}
	}
	d.root.leaves(&h.box, func(f *Fragment) {
		if f.valid&bits == 0 {
			bytes += d.bytesOf(&f.box)
		}
	})
	return bytes
}

// Presence is what a memory node has of some data.
type Presence struct {
	Node                       int
	Valid, Arriving, Allocated int64 // bytes
}

// Where returns what each node has of h.
func (h *Handle) Where() []Presence {
	d := h.d
	all := make([]Presence, len(d.reg.nodes))
	for i := range all {
		all[i].Node = i
	}
	if h.bytes() == 0 {
		return all
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	bits := make([]uint64, len(all))
	if m := d.main.Load(); m != nil {
		all[m.node.id].Allocated = h.bytes()
		bits[m.node.id] = mainBit
	}
	for k, l := range d.mu.layers {
		for _, in := range l.insts {
			bits[l.node.id] |= 1 << (k + 1)
			if in.box.touches(&h.box) {
				b := in.box.meet(&h.box)
				all[l.node.id].Allocated += d.bytesOf(&b)
			}
		}
	}
	d.root.leaves(&h.box, func(f *Fragment) {
		b := f.box.meet(&h.box)
		for n := range all {
			switch {
			case f.valid&bits[n] != 0 && f.fault == nil && d.main.Load() != nil:
				all[n].Valid += d.bytesOf(&b)
			case f.arriving&bits[n] != 0:
				all[n].Arriving += d.bytesOf(&b)
			}
		}
	})
	return all
}

// Evict takes what nobody uses of h away from a node other than main memory, after
// saving what is only there. It returns the bytes that this gave back.
func (g *Registry) Evict(h *Handle, from int) (bytes int64) {
	d, n := h.d, g.nodes[from]
	n.enter()
	defer n.leave()
	d.mu.Lock()
	var ins []*instance
	for _, l := range d.mu.layers {
		for _, in := range l.insts {
			if in.node == n && in.box.touches(&h.box) {
				ins = append(ins, in)
			}
		}
	}
	d.mu.Unlock()
	for _, in := range ins {
		if d.evict(in, true) {
			bytes += in.bytes
		}
	}
	return bytes
}

// SetWriteThrough makes those who write h copy the new value to these nodes, as a
// hint: bit k is node k. Parts declared later inherit it.
func (h *Handle) SetWriteThrough(nodes uint64) {
	if nodes != h.WriteThrough() {
		h.more().through.Store(nodes)
	}
}

// WriteThrough returns the nodes that SetWriteThrough was given.
func (h *Handle) WriteThrough() uint64 {
	if x := h.extra.Load(); x != nil {
		return x.through.Load()
	}
	return 0
}

// SetDiscardable says that copies of h and its parts are the first to go from devices,
// always, as after WontUse. A value that is nowhere else is saved first.
func (h *Handle) SetDiscardable(on bool) {
	if on != h.discardable() {
		h.more().discardable.Store(on)
	}
}

func (h *Handle) discardable() bool {
	x := h.extra.Load()
	return x != nil && x.discardable.Load()
}

// SetOutOfCore says whether h and its parts may go to a disk where main memory is
// bounded, which they may at first. Else they go only when nothing else is left that
// could: a task that needs room gets it.
func (h *Handle) SetOutOfCore(on bool) {
	if x := h.extra.Load(); x != nil || !on {
		h.more().inCore.Store(!on)
	}
}

// OutOfCore reports whether neither h nor what it is a part of is to stay in main
// memory.
func (h *Handle) OutOfCore() bool {
	for ; h != nil; h = h.parent {
		if x := h.extra.Load(); x != nil && x.inCore.Load() {
			return false
		}
	}
	return true
}

// Discardable reports whether SetDiscardable was called for h or what it is a part of.
func (h *Handle) Discardable() bool {
	for ; h != nil; h = h.parent {
		if h.discardable() {
			return true
		}
	}
	return false
}
