package datamgr

// Held data: its release in part, and the tasks that wait for it.

import (
	"slices"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
)

// Hold is data that the program holds, or that something without a kernel uses:
// what is left of it as it is given back piece by piece, and how unordered
// accesses, which do not see it in the order, are kept away.
type Hold struct {
	h            *Handle
	held, writes region      // what is left, and of that, what may be written
	frags        []*fragment // of the accesses that are left, in their order
	locks        []lockUse   // of unordered accesses that came later, which wait for the hold
}

// NewHold makes the hold of a task that uses h in mode m.
func NewHold(h *Handle, m AccessMode) *Hold {
	whole := region(unsafe.Slice(&h.box, 1)) // regions are not changed in place, and the box of a handle is never
	o := &Hold{h: h, held: whole}
	if m != modeR {
		o.writes = whole
	}
	return o
}

// Left reports whether anything is still held.
func (o *Hold) Left() bool { return len(o.held) > 0 }

// MayWrite reports whether anything may still be written.
func (o *Hold) MayWrite() bool { return len(o.writes) > 0 }

// Whole reports whether all of the handle is still held.
func (o *Hold) Whole() bool { return o.held.covers(&o.h.box) }

// Holds reports whether all of p is still held, whether all of it may be
// written, and whether any of it may.
func (o *Hold) Holds(p *Handle) (held, writes, some bool) {
	b, ok := o.boxOf(p)
	return ok && o.held.covers(&b), ok && o.writes.covers(&b), ok && o.writes.touches(&b)
}

// boxOf returns the place of p in the datum that is held; false when p is of
// another.
func (o *Hold) boxOf(p *Handle) (Box, bool) {
	h := o.h
	twin := h.twin()
	if twin == nil || p == h {
		return p.box, p.d == h.d
	}
	b := h.box // of an alias: p is a part of its twin
	for k := range int(h.rank) {
		a := h.axes.at(k)
		lo, hi := p.box.at(k)
		if p.empty>>k&1 != 0 {
			lo = h.d.beyond(a, h.box.from(a)+p.first(k)) - h.box.from(a)
			hi = lo + 1
		}
		b.set(a, h.box.from(a)+lo, h.box.from(a)+hi)
	}
	return b, p.d == twin.d
}

// Lower gives the right to write p back, and with end the right to read it, too.
// as are the accesses of w, which holds the data by locks. It returns what is
// left of them.
//
// A piece of the order that is given back ends. One that may still be read
// becomes a read access as far as that lets others in: where its epoch is the
// last it becomes a group of readers, where readers come next the access joins
// them, and before a writer nothing changes. A fragment that is given back in
// part, because it was split while it was held, is first replaced by its pieces,
// unless something that was submitted before the split waits for all of it:
// then it ends with its last piece.
func (sub Submission) Lower(o *Hold, w *Waiter, locks *LockSet, as []Access, p *Handle, end bool, c *Completer) []Access {
	b, _ := o.boxOf(p)
	o.writes = o.writes.without(&b)
	if end {
		o.held = o.held.without(&b)
	}
	type held struct {
		e *epoch
		f *fragment
	}
	var work []held
	for i := len(as) - 1; i >= 0; i-- {
		work = append(work, held{as[i].e, o.frags[i]})
	}
	as, o.frags = nil, nil
	keep := func(e *epoch, f *fragment) {
		as, o.frags = append(as, Access{w: w, e: e}), append(o.frags, f)
	}
	for len(work) > 0 {
		e, f := work[len(work)-1].e, work[len(work)-1].f
		work = work[:len(work)-1]
		switch {
		case !o.held.touches(&f.box):
			e.leave(c)
		case !o.held.covers(&f.box) || o.writes.touches(&f.box) && !o.writes.covers(&f.box):
			kids := sub.refine(e, f, c)
			if kids != nil {
				for i, k := range slices.Backward(f.pieces(sub)) {
					work = append(work, held{kids[i], k})
				}
			}
			if kids == nil {
				keep(e, f)
			}
		case o.writes.touches(&f.box) || e.mode == modeR:
			keep(e, f)
		default:
			downgrade(sub, e, f, keep, c)
		}
	}
	o.lowerLocks(sub, locks, c)
	return as
}

// Refine replaces accesses to fragments that were split while they are held by accesses
// to the pieces, where nothing waits for the whole. It releases no waiter: it only finds
// the pieces without other users. as are the accesses of w; Refine returns the new ones.
func (sub Submission) Refine(o *Hold, w *Waiter, as []Access) []Access {
	var out []Access
	var frags []*fragment
	var add func(e *epoch, f *fragment)
	add = func(e *epoch, f *fragment) {
		kids := sub.refine(e, f, &sub.reg.completer)
		if kids == nil {
			out, frags = append(out, Access{w: w, e: e}), append(frags, f)
			return
		}
		for i, k := range f.pieces(sub) {
			add(kids[i], k)
		}
	}
	for i := range as {
		add(as[i].e, o.frags[i])
	}
	o.frags = frags
	return out
}

// Split reports whether Refine may have something to do.
func (o *Hold) Split() bool {
	for _, f := range o.frags {
		if f.kids != nil {
			return true
		}
	}
	return false
}

// leave ends one access of e.
func (e *epoch) leave(c *Completer) {
	if e.count.leave(1) {
		c.end(e)
	}
}

// downgrade turns a write access of e, to all of f, into a read access.
func downgrade(sub Submission, e *epoch, f *fragment, keep func(*epoch, *fragment), c *Completer) {
	switch {
	case e.kids != nil:
		pieces := e.pieces(sub, f)
		for i, k := range *e.kids {
			k.count.join(countMember)
			if pieces != nil {
				keep(k, pieces[i])
			} else {
				keep(k, f)
			}
		}
	case e.next == nil:
		e.count.settle(sub) // a batch is in one mode
		e.mode = modeR
		keep(e, f)
		return
	case e.next.mode == modeR:
		e.next.count.join(countMember)
		keep(e.next, f)
	default:
		keep(e, f)
		return
	}
	e.leave(c)
}

// pieces returns the pieces of f, in the order of e.kids, if e was the last epoch
// of f when f was split: what comes after it is in the pieces. Else nil.
func (e *epoch) pieces(sub Submission, f *fragment) []*fragment {
	if e.kids != nil && f.kids != nil {
		if ps := f.pieces(sub); len(ps) == len(*e.kids) {
			return ps
		}
	}
	return nil
}

// refine replaces an access of e to all of f, which was split, by accesses of
// the same mode to its pieces. It returns their epochs, in the order of the
// pieces; nil, and changes nothing, when that cannot be.
func (sub Submission) refine(e *epoch, f *fragment, c *Completer) []*epoch {
	if e.pieces(sub, f) == nil {
		return nil
	}
	out := make([]*epoch, len(*e.kids))
	for i, k := range *e.kids {
		switch {
		case e.mode == modeR: // the first group of the piece is active, and ends after e
			k.count.join(countMember)
		case k.empty(sub):
			// No access has joined the first group of readers in the piece: the access
			// takes its place. The pieces of this piece become active after it, no longer
			// together with it.
			k.mode = e.mode // empty has ended a batch in the mode before
			k.waiters.Store(nil)
			k.count.join(countMember)
		default: // readers wait there: the access comes before them
			n := sub.newEpoch()
			n.mode, n.next, n.kids = e.mode, nil, &[]*epoch{k}
			n.waiters.Store(nil)
			n.count.set(countMember + countParent)
			(*e.kids)[i] = n
			k = n
		}
		out[i] = k
	}
	e.leave(c)
	return out
}

// empty reports whether e, the first epoch of a piece whose fragment is not
// through, has no accesses.
func (e *epoch) empty(sub Submission) bool {
	n := countParent
	if e.next == nil && e.kids == nil {
		n += countLast
	}
	return e.count.is(sub, n)
}

// A Walk records the epochs that a search for tasks has visited, so that each is visited
// once: in a chain of n tasks, with a search from each, there are n²/2 pairs.
type Walk map[*epoch]stage

type stage uint8

const (
	asked  stage = 1 << iota // for the tasks that wait to join it
	passed                   // for what comes after it
)

// once reports whether w has not done s with e, and notes that it does now.
func (w Walk) once(e *epoch, s stage) bool {
	was := w[e]
	w[e] = was | s
	return was&s == 0
}

// Successors calls fn for every task that waits for one of the accesses to end,
// directly or behind such a task, unless w has come to it. Nothing
// runs meanwhile.
func (w Walk) Successors(sub Submission, as []Access, fn func(*Waiter)) {
	for i := range as {
		w.behind(sub, as[i].e, fn)
	}
}

func (w Walk) behind(sub Submission, e *epoch, fn func(*Waiter)) {
	for ; e != nil && w.once(e, passed); e = e.next {
		if e.next != nil {
			w.waiting(sub, e.next, fn)
		}
		if e.kids != nil {
			for _, k := range *e.kids {
				w.waiting(sub, k, fn)
				w.behind(sub, k, fn)
			}
		}
	}
}

// waiting calls fn for the tasks that wait to join e.
func (w Walk) waiting(sub Submission, e *epoch, fn func(*Waiter)) {
	if !w.once(e, asked) {
		return
	}
	for a := e.waiters.Load(); a != nil && a != &activated; a = a.next {
		if a.w != nil {
			fn(a.w)
			continue
		}
		w.waiting(sub, a.e, fn)
		w.behind(sub, a.e, fn)
	}
}

// Free reports whether ordered accesses with these operands would not wait, not
// even for a reduction.
func (sub Submission) Free(ops []Operand) bool {
	if sub.OpenGroup(ops) != nil {
		return false
	}
	for i := range ops {
		for _, f := range ops[i].Handle.list(sub) {
			e := f.tail
			idle := e.count.idle(sub)
			joins := ops[i].Mode == modeR && e.mode == modeR && e.waiters.Load() == &activated
			if !idle && !joins {
				return false
			}
		}
	}
	return true
}

// Busy reports whether a task that was submitted uses h and has not ended. held
// are the accesses of data that the caller holds, and unordered is how many
// others it holds on the datum; they do not count.
// Contributions that wait to be combined do not count either.
func (sub Submission) Busy(h *Handle, held [][]Access, unordered int) bool {
	if h.d.unordered.Load() != int64(unordered) {
		return true
	}
	own := func(e *epoch) int32 {
		n := int32(0)
		for _, as := range held {
			for i := range as {
				if as[i].e == e {
					n++
				}
			}
		}
		return n
	}
	// The fragments of now: a part of a view that ended does not know of those
	// that were made since. Others' accesses to them count, too.
	busy := false
	h.d.root.leaves(&h.box, func(f *fragment) {
		busy = busy || !f.tail.count.is(sub, countLast+own(f.tail)) ||
			f.open != nil && !f.open.redux.frag.tail.count.idle(sub)
	})
	return busy
}

// Memory on other nodes that the program holds.
//
// A task that waits for room relies on tasks and copies, which end by themselves. A
// program's hold does not: the program may be waiting for the very task that needs its
// room. So held memory counts as in use, but no task waits for it here; a task that has
// nothing else to wait for gets an error.

// Hold says that the program has the instances from now on, until Release.
func (p *Placement) Hold() {
	p.held = true
	for _, in := range p.pins {
		in.d.mu.Lock()
		in.holds++
		if n := in.node; n.bounded && !in.outside && in.pins == in.holds {
			n.mu.Lock()
			n.mu.pinned--
			n.mu.wake.Broadcast() // waiters for room must not count on it any more
			n.mu.Unlock()
		}
		in.d.mu.Unlock()
	}
}

// unholdLocked undoes Hold for an instance after its holds were lowered.
func (in *instance) unholdLocked() {
	if n := in.node; n.bounded && !in.outside && in.pins == in.holds+1 {
		n.mu.Lock()
		n.mu.pinned++
		n.mu.Unlock()
	}
}

// Zero fills operand i, W, which is all of h and was prepared on another node than main
// memory. After an error the operands are released, and have what they had; but gone
// was only there, and is nowhere now.
func (p *Placement) Zero(i int, h *Handle) (gone []Box, err error) {
	in := p.at[i]
	if in == nil || h.bytes() == 0 || h.kind == iface.Object { // objects are in main memory only
		return nil, nil
	}
	g := h.d.reg
	mem := g.memoryAside()
	from, err := mem.Alloc(h.bytes())
	if err == nil {
		var dst, src iface.Buffer
		p.Buffer(i, h, &dst)
		managed(h).Own(from, &src)
		clear(unsafe.Slice((*byte)(from), h.bytes()))
		err = g.moveBuffer(in.node, g.nodes[0], &dst, &src)
		mem.Free(from, h.bytes())
	}
	if err != nil {
		gone = p.giveUp()
	}
	return gone, err
}
