package datamgr

// Epochs: the order of accesses to a fragment.
//
// A fragment has a chain of epochs, each a group of accesses that may run together: any
// number of R, one W or RW, a group of COMMUTE, or of COMMUTE W. An access joins the last epoch when it
// fits, or appends one. An epoch counts its unfinished accesses, one more while it is the
// last, and one more while the fragment that was split to make its fragment is not
// through. At 0 its successor becomes active and the accesses waiting there are released.
//
// The goroutine that takes an epoch to 0 is the last to touch it: it reads the fields
// that it needs, recycles the epoch, then activates the successor.

import (
	"sync/atomic"
	"unsafe"

	"github.com/starpush/starpush/datamgr/invariants"
)

// Waiter is the part of a task that the order of accesses knows: how many
// things it still waits for.
type Waiter struct {
	pending    atomic.Int32
	checkedGen checked // 0 for a task that needs more than order
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

// Waits reports whether w waits for something.
func (w *Waiter) Waits() bool { return w.pending.Load() != 0 }

// WaitsForNothing makes Waits report false, for a waiter whose submission found nothing
// to wait for. Settle(0) leaves the count as Arm set it, because Waits is rarely called.
func (w *Waiter) WaitsForNothing() { w.pending.Store(0) }

// Next returns the waiter behind w in a list. Its owner may use the link for
// lists of its own while the waiter waits for nothing.
func (w *Waiter) Next() *Waiter { return w.link }

// SetNext links w before n.
func (w *Waiter) SetNext(n *Waiter) { w.link = n }

// epoch is one group of accesses to one fragment.
type epoch struct {
	count   memberCount
	mode    AccessMode
	inline  bool // lives in its fragment; its count says when it is free
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
func group(m AccessMode) bool { return m&^1 != modeW } // W and RW differ in bit 0

// access registers one access of w to f in mode m; it reports whether w has to
// wait for it.
func (sub Submission) access(w *Waiter, a *Access, f *fragment, m AccessMode) bool {
	e := f.tail
	a.w = w
	if e.count.hasBatch(sub) && e.count.joinsBatch(sub, m) {
		a.e = e
		return false
	}
	// From here on the count is exact, so settled and sealSettled will do.
	if e.count.settled(sub) == countLast { // active and empty: use it again
		e.mode = m
		e.count.set(countLast + e.count.joining(sub, m))
		a.e = e
		return false
	}
	if m == e.mode && group(m) {
		a.e = e
		if e.waiters.Load() == &activated {
			e.count.join(e.count.joining(sub, m))
			return false
		}
		e.count.join(countMember)
		return e.enqueue(a)
	}
	n := &f.first
	if e == n || !n.count.isFree() {
		n = sub.newEpoch()
	}
	n.mode, n.next = m, nil
	a.e, a.next = n, nil
	n.count.set(countMember + countLast)
	storeOwnedPointer(&n.waiters, a)
	e.next = n
	f.tail = n
	if e.count.sealSettled(sub) { // it was empty, and waited for nothing but this
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
		e.count.free()
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
	_          [40]byte // two cache lines: completers of several workers do not share any
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
		if e := as[0].e; e.count.leave(1) {
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
		if !e.count.leave(1) {
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
			if k.count.parentEnded() {
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
		e.count.free()
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
func (d *Datum) split(sub Submission, f *fragment, in Box, g *growth) error {
	boxes := f.box.around(in, make([]Box, 0, 5))
	if err := g.make(len(boxes), 0); err != nil {
		return err
	}
	kids := make([]*fragment, len(boxes))
	slab := make([]fragment, len(boxes))
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
func (f *fragment) needsNoLock(sub Submission) bool {
	if f.lock == nil || f.unordered && f.d.unordered.Load() != 0 {
		return false
	}
	return f.tail.count.idle(sub) || f.unordered && !f.lockNeeded
}

// dropLock takes its lock from f. d.mu is held.
func (f *fragment) dropLock(sub Submission) {
	f.lock, f.unordered, f.lockNeeded = nil, false, false
	f.d.findSlow(sub, f)
}

// splitInto replaces f by pieces whose boxes make up its own. Accesses submitted before
// stay as they are. If the last epoch is a group, each piece gets a group of that mode
// that becomes active together with it; otherwise it gets an empty group of readers that
// becomes active when the epoch ends. Either holds one count until then. The tree owns
// the pieces from now on.
func (d *Datum) splitInto(sub Submission, f *fragment, pieces []*fragment) {
	nodes, deep := pieces, f.deep+1
	for len(nodes) > fan {
		nodes = group16(nodes)
		deep++
	}
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
	if !e.count.idle(sub) {
		shared := group(e.mode)
		firsts := make([]*epoch, len(pieces))
		var waits []Access
		if shared {
			waits = make([]Access, len(pieces))
		}
		for i, k := range pieces {
			first := &k.first
			first.count.set(countLast + countParent)
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
		if e.count.seal(sub) {
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

// memberCount counts what an epoch waits for: countMember for each unfinished member,
// countLast while the epoch is the last of its fragment, and countParent while the
// fragment that was split to make its fragment is not through. At 0 the epoch ends. An
// epoch that lives in its fragment and is not in use has a count of -1.
//
// Members of a group are counted several at a time, where they are submitted and where
// they end. Otherwise the submitter and the workers would fetch the line with the count
// from each other for every member. So the count of the epoch of Registry.batch includes
// members that have not come. The methods that take a Submission correct that first,
// where it matters: idle, is, seal and settle. Methods that access calls rely on hasBatch
// instead. Workers need no exact count: one that has a batch is of a last epoch, which
// does not end.
type memberCount struct{ n atomic.Int32 }

// The parts of a memberCount.
const (
	countMember int32 = 1
	countLast   int32 = 1
	countParent int32 = 1
	countFree   int32 = -1
)

// batch is the group that was joined last.
type batch struct {
	of   *memberCount // of a last epoch, if left > 0; may be in use for something else otherwise
	mode AccessMode
	left int32 // members that the count includes, and that have not come
}

// batchSize is how many members are counted at a time, once a second one has
// come right after the first.
const batchSize = 32

// set gives c its first value, which other goroutines reach only later by an atomic
// operation or a lock.
func (c *memberCount) set(n int32) { storeOwned(&c.n, n) }

// hasBatch reports whether the batch is of c. If not, c is exact.
func (c *memberCount) hasBatch(sub Submission) bool { return sub.reg.batch.of == c }

// joinsBatch counts a member in mode m that c, which has the batch, includes already; it
// reports false if there is none. Then c is exact. A batch in another mode ends.
func (c *memberCount) joinsBatch(sub Submission, m AccessMode) bool {
	b := &sub.reg.batch
	if b.mode != m {
		sub.endBatch()
		return false
	}
	if b.left == 0 {
		return false
	}
	b.left--
	return true
}

// joining returns what to add to c for a member in mode m of an active last epoch:
// countMember, and as much for each member that is expected after it.
func (c *memberCount) joining(sub Submission, m AccessMode) int32 {
	if !group(m) {
		return countMember
	}
	b := &sub.reg.batch
	if b.of == c && b.mode == m {
		b.left = batchSize - 1
		return batchSize * countMember
	}
	sub.endBatch()
	b.of, b.mode = c, m
	return countMember
}

// join adds members to an epoch that has not ended.
func (c *memberCount) join(n int32) {
	if now := c.n.Add(n); invariants.Enabled && now <= n {
		invariants.Violated("a member joins an epoch that has ended: its count was %d", now-n)
	}
}

// leave takes n members away and reports whether the epoch has ended. Then the caller
// owns it.
func (c *memberCount) leave(n int32) bool { return c.take(n) == 0 }

// parentEnded is leave for the fragment that was split to make the epoch's fragment.
func (c *memberCount) parentEnded() bool { return c.take(countParent) == 0 }

// seal records that the epoch is no longer the last of its fragment: it has a successor,
// or its fragment was split. It reports whether the epoch has ended; then the caller owns
// it.
func (c *memberCount) seal(sub Submission) bool {
	c.settle(sub)
	return c.sealSettled(sub)
}

// sealSettled is seal for a count that is exact.
func (c *memberCount) sealSettled(sub Submission) bool {
	c.mustBeSettled(sub)
	return c.take(countLast) == 0
}

// take subtracts n from c and returns what is left.
func (c *memberCount) take(n int32) int32 {
	left := c.n.Add(-n)
	if invariants.Enabled && left < 0 {
		invariants.Violated("the count of an epoch is %d, after %d left it", left, n)
	}
	return left
}

// idle reports whether the epoch, the last of its fragment, is active and has no members.
func (c *memberCount) idle(sub Submission) bool { return c.is(sub, countLast) }

// is reports whether c is n, without members that have not come.
func (c *memberCount) is(sub Submission, n int32) bool {
	c.settle(sub)
	return c.settled(sub) == n
}

// settled returns c, which must be exact.
func (c *memberCount) settled(sub Submission) int32 {
	c.mustBeSettled(sub)
	return c.n.Load()
}

// mustBeSettled checks that c includes no members that have not come.
func (c *memberCount) mustBeSettled(sub Submission) {
	if invariants.Enabled {
		if b := &sub.reg.batch; b.of == c && b.left > 0 {
			invariants.Violated("the count of an epoch includes %d members that have not come", b.left)
		}
	}
}

// settle makes c exact, until the next member joins.
func (c *memberCount) settle(sub Submission) {
	if b := &sub.reg.batch; b.of == c && b.left > 0 {
		sub.endBatch()
	}
}

// endBatch ends the batch: the members that have not come are not counted any more.
func (sub Submission) endBatch() {
	b := &sub.reg.batch
	if b.left > 0 {
		b.of.n.Add(-b.left) // the rest includes countLast: the epoch does not end
	}
	*b = batch{}
}

// free records that an epoch that lives in its fragment may be used again.
func (c *memberCount) free() { c.n.Store(countFree) }

// isFree reports whether free was called since set.
func (c *memberCount) isFree() bool { return c.n.Load() == countFree }

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
		if e.count.leave(n) {
			c.end(e)
		}
	}
}

// Stores that need no bus lock.

// storeOwned sets a value that only its owner can reach, until the owner hands
// it over by an atomic operation. An atomic store is an exchange on amd64, and
// the submission of a task that names three handles had seven of them: leaving
// them out took 15 % off it.
func storeOwned(v *atomic.Int32, x int32) { *(*int32)(unsafe.Pointer(v)) = x }

// storeOwnedPointer is storeOwned for pointers.
func storeOwnedPointer[T any](v *atomic.Pointer[T], x *T) { *(**T)(unsafe.Pointer(v)) = x }

// Assertions of the layout that the order relies on; the records of tasks are in layout.go
// of engine. An index other than 0 does not compile.
func _() {
	const is64 = unsafe.Sizeof(uintptr(0)) / 8 // cache lines are counted on 64-bit machines only
	var (
		zero [1]struct{}
		f    fragment
		l    accessLock
		g    Registry
		s    LockSet
	)
	_ = zero[unsafe.Offsetof(s.LockPlace)]    // LockPlace.set
	_ = zero[unsafe.Sizeof(atomic.Int32{})-4] // storeOwned: there is nothing but the value
	_ = zero[unsafe.Sizeof(atomic.Pointer[epoch]{})-unsafe.Sizeof(uintptr(0))]
	_ = zero[is64*unsafe.Sizeof(epoch{})-is64*32] // two epochs of the slab are a line
	_ = zero[is64*unsafe.Sizeof(Completer{})-is64*2*64]
	_ = zero[is64*unsafe.Offsetof(f.d)-is64*64] // what plain submissions look at is a line
	_ = zero[is64*unsafe.Sizeof(f)-is64*3*64]
	_ = zero[is64*unsafe.Offsetof(l.arrivals)-is64*64] // lines of the owner, of submitters, of all
	_ = zero[is64*unsafe.Offsetof(l.mu)-is64*2*64]
	_ = zero[is64*unsafe.Sizeof(l)-is64*5*64] // the allocator's blocks of that size begin with a line
	_ = zero[is64*(unsafe.Offsetof(g.publishers)-unsafe.Offsetof(g.generation))/64-is64]
}
