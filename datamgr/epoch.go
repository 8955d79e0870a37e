package datamgr

// Epochs: the order of accesses to a fragment.
//
// A fragment has a chain of epochs, each a group of accesses that may run together: any
// number of R, one W or RW, a group of COMMUTE. An access joins the last epoch when it
// fits, or appends one. An epoch counts its unfinished accesses, one more while it is the
// last, and one more while the fragment that was split to make its fragment is not
// through. At 0 its successor becomes active and the accesses waiting there are released.
//
// The goroutine that takes an epoch to 0 is the last to touch it: it reads the fields
// that it needs, recycles the epoch, then activates the successor.

import (
	"sync/atomic"
	"unsafe"

	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

const (
	modeR = iface.R
	modeC = iface.Commute
)

// Waiter is the part of a task that the order of accesses knows: how many
// things it still waits for.
type Waiter struct {
	pending    atomic.Int32
	checkedGen uint32  // Registry.generation at the submission of a task that needs nothing but order; else 0
	link       *Waiter // next in a Completer's list, or in a list of free tasks
}

// bias keeps a waiter from being released while it is being submitted.
const bias = 1 << 30

// Arm begins a submission: the waiter cannot be released before Settle.
func (w *Waiter) Arm() { storeOwned(&w.pending, bias) }

// ArmOne is Arm and Settle for a waiter that has one access and waits for nothing else:
// once that is registered, and waits, others own the waiter.
func (w *Waiter) ArmOne() { storeOwned(&w.pending, 1) }

// Settle ends a submission with the number of things that were found to wait
// for; it reports whether none is left. Then the caller owns the waiter.
func (w *Waiter) Settle(waits int32) bool {
	if waits == 0 {
		return true // not published yet
	}
	return w.pending.Add(waits-bias) == 0
}

// Done takes away one thing that w waits for and reports whether it was the
// last. Then the caller owns the waiter.
func (w *Waiter) Done() bool { return w.pending.Add(-1) == 0 }

// Next returns the waiter behind w in a list. Its owner may use the link for
// lists of its own while the waiter waits for nothing.
func (w *Waiter) Next() *Waiter { return w.link }

// SetNext links w before n.
func (w *Waiter) SetNext(n *Waiter) { w.link = n }

// epoch is one group of accesses to one fragment.
type epoch struct {
	rem     atomic.Int32
	mode    AccessMode
	inline  bool // lives in its fragment; rem is -1 while it is free
	waiters atomic.Pointer[Access]
	next    *epoch
	kids    *[]*epoch // first epochs of the pieces, when its fragment was split while it was the last
}

// Access is one access of one task to one fragment. With nil task it stands for
// the first epoch of a piece, which becomes active together with a group.
type Access struct {
	w    *Waiter
	e    *epoch
	next *Access // in a list of waiting accesses
}

// activated is the value of epoch.waiters once an epoch is active.
var activated Access

// group reports whether an epoch of mode m may have several members.
func group(m AccessMode) bool { return m == modeR || m == modeC }

// access registers one access of w to f in mode m; it reports whether w has to
// wait for it.
func (sub Submission) access(w *Waiter, a *Access, f *Fragment, m AccessMode) bool {
	e := f.tail
	a.w = w
	if b := &sub.reg.batch; b.f == f {
		if m == b.mode && b.left > 0 {
			b.left--
			a.e = e
			return false
		}
		if m != b.mode {
			sub.endBatch()
		}
	}
	if e.rem.Load() == 1 { // active and empty: use it again
		e.mode = m
		storeOwned(&e.rem, 2+sub.beginBatch(f, m))
		a.e = e
		return false
	}
	if m == e.mode && group(m) {
		a.e = e
		if e.waiters.Load() == &activated {
			e.rem.Add(1 + sub.beginBatch(f, m))
			return false
		}
		e.rem.Add(1)
		return e.enqueue(a)
	}
	n := &f.first
	if e == n || n.rem.Load() != -1 {
		n = sub.newEpoch()
	}
	n.mode, n.next = m, nil
	a.e, a.next = n, nil
	storeOwned(&n.rem, 2)
	storeOwnedPointer(&n.waiters, a)
	e.next = n
	f.tail = n
	if e.rem.Add(-1) == 0 { // it was empty, and waited for nothing but this
		storeOwnedPointer(&n.waiters, &activated)
		sub.recycle(e)
		return false
	}
	return true
}

// enqueue puts a on e's list of waiting accesses, and reports false when e is
// active already.
func (e *epoch) enqueue(a *Access) bool {
	for {
		h := e.waiters.Load()
		if h == &activated {
			return false
		}
		a.next = h
		if e.waiters.CompareAndSwap(h, a) {
			return true
		}
	}
}

// newEpoch takes an epoch from the free ones.
func (sub Submission) newEpoch() *epoch {
	g := sub.reg
	e := g.freeEpoch
	if e == nil {
		e = g.returned.Swap(nil)
	}
	if e != nil {
		g.freeEpoch = e.next
		Prefetch(unsafe.Pointer(e.next), 1)
		return e
	}
	if len(g.slab) == 0 {
		g.slab = make([]epoch, 1280) // above 32 KiB there is no header that would shift them off the cache lines
	}
	e = &g.slab[0]
	g.slab = g.slab[1:]
	return e
}

// recycle gives e back.
func (sub Submission) recycle(e *epoch) {
	if e.inline {
		e.rem.Store(-1)
		return
	}
	e.next = sub.reg.freeEpoch
	sub.reg.freeEpoch = e
}

// Completer ends accesses for one goroutine. It collects the waiters
// that it released, and the epochs to be used again.
type Completer struct {
	reg        *Registry
	head, tail *Waiter
	free, last *epoch
	frees      int
	work       []*epoch
	late       *epoch // FinishMember has accesses to it to end
	lates      int32
	_          [32]byte // two cache lines: completers of several workers do not share any
}

// NewCompleter makes a completer for one goroutine at a time.
func (g *Registry) NewCompleter() *Completer { return &Completer{reg: g} }

// Take returns the waiters released since the last Take, in order, linked by
// Next. The caller owns them.
func (c *Completer) Take() *Waiter {
	h := c.head
	c.head, c.tail = nil, nil
	return h
}

// Released reports whether there is something to Take.
func (c *Completer) Released() bool { return c.head != nil }

// Release adds a waiter that waits for nothing to those released.
func (c *Completer) Release(w *Waiter) {
	w.link = nil
	if c.tail == nil {
		c.head = w
	} else {
		c.tail.link = w
	}
	c.tail = w
}

// Finish ends accesses and releases what waited for them.
func (c *Completer) Finish(as []Access) {
	if len(as) == 1 {
		if e := as[0].e; e.rem.Add(-1) == 0 {
			c.end(e)
		}
		return
	}
	for len(as) > 0 {
		n := min(len(as), atOnce)
		c.finish(as[:n])
		as = as[n:]
	}
}

// atOnce is how many accesses are ended together.
const atOnce = 16

// finish ends a few accesses in steps: each step asks for the cache lines that
// the next one needs, of all accesses, before it goes on. Otherwise every
// atomic operation waits for its line, and those behind it with it.
func (c *Completer) finish(as []Access) {
	prefetchEpochs(&as[0], len(as))
	var next [atOnce]*epoch
	k := 0
	for i := range as {
		e := as[i].e
		if e.rem.Add(-1) != 0 {
			continue
		}
		if e.kids != nil {
			c.end(e)
			continue
		}
		n := e.next
		Prefetch(unsafe.Pointer(n), 1)
		c.recycle(e)
		next[k] = n
		k++
	}
	if k == 0 {
		return
	}
	var first [atOnce]*Access
	w := 0
	for _, n := range next[:k] {
		if a := n.waiters.Swap(&activated); a != nil {
			prefetchWaiter(a)
			first[w] = a
			w++
		}
	}
	for _, a := range first[:w] {
		c.wake(a)
	}
}

// end releases the successor of e after its count has reached 0; the caller took it
// there.
func (c *Completer) end(e *epoch) {
	if e.kids == nil {
		n := e.next
		c.recycle(e)
		c.activate(n)
		return
	}
	work := append(c.work[:0], e)
	for len(work) > 0 {
		e = work[len(work)-1]
		work = work[:len(work)-1]
		if e.kids == nil {
			n := e.next
			c.recycle(e)
			c.activate(n)
			continue
		}
		kids, shared := *e.kids, group(e.mode)
		e.kids = nil
		for _, k := range kids {
			if !shared {
				c.activate(k)
			}
			if k.rem.Add(-1) == 0 {
				work = append(work, k)
			}
		}
	}
	c.work = work[:0]
}

// activate makes e active and releases the accesses that wait there, in the
// order in which they were submitted.
func (c *Completer) activate(e *epoch) {
	if a := e.waiters.Swap(&activated); a != nil {
		c.wake(a)
	}
}

// wake releases the accesses of the list a.
func (c *Completer) wake(a *Access) {
	if a.next != nil {
		var r *Access
		pieces := false
		for a != nil {
			pieces = pieces || a.w == nil
			a.next, r, a = r, a, a.next
		}
		a = r
		if pieces {
			// first the pieces: when the tasks have ended so has e, and the
			// epochs of the pieces may be in use for something else
			for b := a; b != nil; b = b.next {
				if b.w == nil {
					c.activate(b.e)
				}
			}
		}
		for a != nil {
			next := a.next // once its task is released the access is not ours
			if a.w != nil && a.w.Done() {
				c.Release(a.w)
			}
			a = next
		}
		return
	}
	if a.w == nil {
		c.activate(a.e)
	} else if a.w.Done() {
		c.Release(a.w)
	}
}

// recycle gives e back in batches, so that workers seldom meet on a line.
func (c *Completer) recycle(e *epoch) {
	if e.inline {
		e.rem.Store(-1)
		return
	}
	e.next = c.free
	if c.free == nil {
		c.last = e
	}
	c.free = e
	if c.frees++; c.frees >= 64 {
		for {
			o := c.reg.returned.Load()
			c.last.next = o
			if c.reg.returned.CompareAndSwap(o, c.free) {
				break
			}
		}
		c.free, c.frees = nil, 0
	}
}

// split replaces f by the box in and those around it, if there is room for them.
func (d *Datum) split(sub Submission, f *Fragment, in Box, g *growth) error {
	boxes := f.box.around(in, make([]Box, 0, 5))
	if err := g.make(len(boxes), 0); err != nil {
		return err
	}
	kids := make([]*Fragment, len(boxes))
	slab := make([]Fragment, len(boxes))
	for i := range boxes {
		slab[i].box = boxes[i]
		kids[i] = &slab[i]
	}
	d.splitInto(sub, f, kids)
	return nil
}

// needsNoLock reports whether the epochs of f alone keep its accesses apart: no unordered
// access is left, and none that commute. Tasks that run are no obstacle, as the first
// unordered access to a piece waits for them; see unorder. d.mu is held.
func (f *Fragment) needsNoLock(_ Submission) bool {
	if f.lock == nil || f.unordered && f.d.unordered.Load() != 0 {
		return false
	}
	return f.tail.rem.Load() == 1 || f.unordered && !f.lockNeeded
}

// dropLock takes its lock from f. d.mu is held.
func (f *Fragment) dropLock(_ Submission) {
	f.lock, f.unordered, f.lockNeeded, f.slow = nil, false, false, f.open != nil
}

// splitInto replaces f by pieces whose boxes make up its own. Accesses submitted before
// stay as they are. If the last epoch is a group, each piece gets a group of that mode
// that becomes active together with it; otherwise it gets an empty group of readers that
// becomes active when the epoch ends. Either holds one count until then. The tree owns
// the pieces from now on.
func (d *Datum) splitInto(sub Submission, f *Fragment, pieces []*Fragment) {
	nodes, deep := pieces, f.deep+1
	for len(nodes) > fan {
		nodes = group16(nodes)
		deep++
	}
	sub.endBatch()
	d.mu.Lock()
	for f.copies > 0 { // copies end by themselves
		d.mu.wake.Wait()
	}
	for _, k := range pieces {
		f.inherit(sub, k, deep)
	}
	d.fragments += len(pieces) - 1
	noLock := f.needsNoLock(sub)
	e := f.tail
	if e.rem.Load() != 1 {
		shared := group(e.mode)
		firsts := make([]*epoch, len(pieces))
		var waits []Access
		if shared {
			waits = make([]Access, len(pieces))
		}
		for i, k := range pieces {
			first := &k.first
			first.rem.Store(2)
			first.waiters.Store(nil)
			if shared {
				first.mode = e.mode
				waits[i].e = first
				if !e.enqueue(&waits[i]) {
					first.waiters.Store(&activated)
				}
			}
			firsts[i] = first
		}
		e.kids = &firsts
		if e.rem.Add(-1) == 0 {
			d.reg.completer.end(e)
		}
	}
	switch { // with one lock for all, a piece that the program holds keeps tasks from the others
	case noLock:
		for _, k := range pieces {
			k.dropLock(sub)
		}
	case f.lock != nil:
		f.lock.shared = true
	}
	if len(pieces) > fan {
		depth(nodes, f.deep+1)
	}
	f.kids = &nodes
	d.mu.Unlock()
}

// Batches: the members of a group are counted several at a time, where they are
// submitted and where they end. Otherwise the submitter and the workers would
// fetch the line with the epoch's count from each other for every member.

// batch is the group that was joined last.
type batch struct {
	f    *Fragment
	mode AccessMode
	left int32 // members that the last epoch of f counts already, and that have not come
}

// batchSize is how many members are counted at a time, once a second one has
// come right after the first.
const batchSize = 32

// beginBatch is called when an access joins the last epoch of f, which is active.
// It returns for how many more that are to come the epoch should count.
func (sub Submission) beginBatch(f *Fragment, m AccessMode) int32 {
	b := &sub.reg.batch
	if !group(m) {
		return 0
	}
	if b.f == f && b.mode == m {
		b.left = batchSize - 1
		return b.left
	}
	sub.endBatch()
	b.f, b.mode = f, m
	return 0
}

// endBatch makes the count of the group exact: call it before a check whether a fragment
// is idle.
func (sub Submission) endBatch() {
	b := &sub.reg.batch
	if b.left > 0 {
		b.f.tail.rem.Add(-b.left) // the last epoch counts 1 for itself: it does not end
	}
	*b = batch{}
}

// FinishMember ends the only access of a task, in a mode in which others may run
// together with it. It may leave that to be done later, by FinishLate.
func (c *Completer) FinishMember(a *Access) {
	if c.late != a.e {
		c.FinishLate()
		c.late = a.e
	}
	c.lates++
}

// Late reports whether accesses were left to be ended.
func (c *Completer) Late() bool { return c.late != nil }

// LateFor reports whether they may wait until the access a ends: it is of the
// same group, which cannot end without it.
func (c *Completer) LateFor(a *Access) bool { return c.late == a.e }

// FinishLate ends the accesses that were left.
func (c *Completer) FinishLate() {
	if e, n := c.late, c.lates; e != nil {
		c.late, c.lates = nil, 0
		if e.rem.Add(-n) == 0 {
			c.end(e)
		}
	}
}

// Within reports whether all elements of h are elements of o.
func (h *Handle) Within(o *Handle) bool {
	return h.d == o.d && (h == o || o.box.has(&h.box))
}

// Waits reports whether w waits for something.
func (w *Waiter) Waits() bool { return w.pending.Load() != 0 }

// WaitsForNothing makes Waits report false, for a waiter whose submission found nothing
// to wait for. Settle(0) leaves the count as Arm set it, because Waits is rarely called.
func (w *Waiter) WaitsForNothing() { w.pending.Store(0) }

// PartitionHeld is Partition for a caller with an access to h that was registered before
// h ended for later callers: it works although h has ended since.
func (g *Registry) PartitionHeld(h *Handle, fs ...filter.Filter) (*View, error) {
	return g.partition(h, ViewOptions{}, true, fs)
}

// Stores that need no bus lock.

// storeOwned sets a value that only its owner can reach, until the owner hands
// it over by an atomic operation. An atomic store is an exchange on amd64, and
// the submission of a task that names three handles had seven of them: leaving
// them out took 15 % off it.
func storeOwned(v *atomic.Int32, x int32) { *(*int32)(unsafe.Pointer(v)) = x }

// storeOwnedPointer is storeOwned for pointers.
func storeOwnedPointer[T any](v *atomic.Pointer[T], x *T) { *(**T)(unsafe.Pointer(v)) = x }
