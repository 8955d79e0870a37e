package datamgr

// Fetches: copies outside of the order, which programs ask for and the engine for its next
// tasks.
//
// They copy fragments that are valid now and are not being written. A fragment counts the
// copies under way, and the next writer waits for them. So fetches change no value, at
// whatever time they happen.

import (
	"math"
	"slices"
	"sync"
)

// FetchRequest says what to bring to a node outside of the order of tasks.
type FetchRequest struct {
	Reads []*Handle // their values

	// Evict makes room for Reads and Writes. It evicts the data that is needed last, after
	// saving values without another copy, but nothing in Keep.
	Evict  bool
	Writes []*Handle // memory is needed for them, and not their values
	Keep   []*Handle // data that other tasks need as soon

	// ForTask drops the request when the task that Expect recorded with the number When
	// no longer waits for Reads.
	ForTask bool
	When    int64
}

// Fetch brings the valid values of r.Reads to a node and returns when that is done. Without
// r.Evict it takes no room from other data, and does nothing while tasks wait for room there.
// With r.Evict it does what the task would do in its turn, and have to wait for.
func (g *Registry) Fetch(r *FetchRequest, to int) {
	n := g.nodes[to]
	if len(g.nodes) == 1 || n.lost.Load() != nil || r.late() || n.bounded && !n.enterFor(r) {
		return
	}
	var few [8]*instance
	ins := few[:0]
	for _, h := range r.Reads {
		var in *instance
		if h.bytes() > 0 {
			in = n.hinted(h)
		}
		ins = append(ins, in)
	}
	if n.bounded {
		n.leave()
	}
	for i, h := range r.Reads {
		h.fill(ins[i])
	}
}

// late reports whether the task of r has started, or will not run.
func (r *FetchRequest) late() bool {
	return r.ForTask && len(r.Reads) > 0 && !slices.ContainsFunc(r.Reads, func(h *Handle) bool { return h.expects(r.When) })
}

// enterFor takes the turn of r to look for room on n, with as much room as r may make. It
// reports false, without a turn, if tasks wait for room and r is not to.
func (n *node) enterFor(r *FetchRequest) bool {
	if !r.Evict {
		return n.tryEnter()
	}
	missing := int64(0) // as of now: the task may have its memory meanwhile
	for _, hs := range [][]*Handle{r.Reads, r.Writes} {
		for _, h := range hs {
			missing += managed(h).MissingBytes(n.id)
		}
	}
	if missing > n.room() {
		n.saveFor(missing, r.Keep)
	}
	n.enter()
	for n.room() < missing && n.evictBut(r.Keep) {
	}
	return true
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
		var next *fragment
		d.root.leaves(&h.box, func(f *fragment) {
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
				break // it is being saved
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

// Allocate makes room for h on a node, if there is some without taking any from others,
// and reports whether there is memory for it now. Its content is undefined until the next
// access.
func (g *Registry) Allocate(h *Handle, on int) bool {
	d, n := h.d, g.nodes[on]
	switch {
	case h.bytes() == 0:
		return true
	case n.lost.Load() != nil || !d.lives():
		return false
	case !n.bounded:
		return true // the main instance, or on the disk, where no task waits for it
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
func (h Managed) WontUse() {
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
func (h Managed) TransferTime(on int) (seconds float64) {
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
	d.root.leaves(&h.box, func(f *fragment) {
		if in := d.sourceLocked(f, to, nil); in != nil {
			seconds += cost(in.node, to, d.bytesOf(&f.box))
		}
	})
	return seconds
}

// Missing returns how many bytes of h are not valid on a node.
func (h Managed) Missing(on int) (bytes int64) {
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
	d.root.leaves(&h.box, func(f *fragment) {
		if f.valid&bits == 0 {
			bytes += d.bytesOf(&f.box)
		}
	})
	return bytes
}

// Presence describes the copies of some data on a memory node.
type Presence struct {
	Node                       int
	Valid, Arriving, Allocated int64 // bytes
}

// Where returns what each node has of h.
func (h Managed) Where() []Presence {
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
	d.root.leaves(&h.box, func(f *fragment) {
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

// Evict removes idle instances of h from a node other than main memory, after saving
// values without another copy. It returns the bytes that this freed.
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
func (h Managed) SetWriteThrough(nodes uint64) {
	if nodes != h.WriteThrough() {
		h.more().through.Store(nodes)
	}
}

// WriteThrough returns the nodes that SetWriteThrough was given.
func (h Managed) WriteThrough() uint64 {
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

// mayLeaveCore reports whether neither h nor what it is a part of is to stay in main
// memory.
func (h *Handle) mayLeaveCore() bool {
	for ; h != nil; h = h.parent {
		if x := h.extra.Load(); x != nil && x.inCore.Load() {
			return false
		}
	}
	return true
}

// leavesFirst reports whether SetDiscardable was called for h or what it is a part of.
func (h *Handle) leavesFirst() bool {
	for ; h != nil; h = h.parent {
		if h.discardable() {
			return true
		}
	}
	return false
}

// Uses ahead: the data that submitted tasks will read. Eviction takes data without such
// uses first, then the data that is needed last.

// ahead are the tasks that were submitted, have not started and read a handle, by
// when they are expected to run: the lowest comes first.
type ahead struct {
	mu struct {
		sync.Mutex
		tasks []int64 // sorted
		head  int     // of those still to come
	}
}

// never stands for the next use of what no task waits for.
const never = math.MaxInt64

// Expect records that a task that was submitted now will read the values in ops, and
// when, compared to others. Withdraw follows with the same number when the task has its data,
// or ends without it. With one memory only, nothing is recorded.
func Expect(ops []Operand, when int64) {
	for i := range ops {
		if op := &ops[i]; op.expected() {
			op.Handle.more().ahead.add(when)
		}
	}
}

// Withdraw removes what Expect recorded.
func Withdraw(ops []Operand, when int64) {
	for i := range ops {
		if op := &ops[i]; op.expected() {
			op.Handle.more().ahead.remove(when)
		}
	}
}

// expected reports whether the operand needs the value that its data has.
func (op *Operand) expected() bool {
	return op.Mode.Reads() && op.placed() && managed(op.Handle).State()&stateNodes != 0
}

// add adds a task, behind all others most often.
func (a *ahead) add(when int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := len(a.mu.tasks); n == a.mu.head || a.mu.tasks[n-1] <= when {
		a.mu.tasks = append(a.mu.tasks, when)
		return
	}
	i, _ := slices.BinarySearch(a.mu.tasks[a.mu.head:], when)
	a.mu.tasks = slices.Insert(a.mu.tasks, a.mu.head+i, when)
}

// remove takes off a task, which is the first most often.
func (a *ahead) remove(when int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i, found := slices.BinarySearch(a.mu.tasks[a.mu.head:], when)
	if !found {
		return
	}
	copy(a.mu.tasks[a.mu.head+1:], a.mu.tasks[a.mu.head:a.mu.head+i])
	a.mu.head++
	if n := len(a.mu.tasks); a.mu.head == n {
		a.mu.tasks, a.mu.head = a.mu.tasks[:0], 0
	} else if a.mu.head > 32 && a.mu.head > n/2 {
		a.mu.tasks = a.mu.tasks[:copy(a.mu.tasks, a.mu.tasks[a.mu.head:])]
		a.mu.head = 0
	}
}

// nextUse is the first of the tasks that read h, or never.
func (h *Handle) nextUse() int64 {
	x := h.extra.Load()
	if x == nil {
		return never
	}
	a := &x.ahead
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.mu.head == len(a.mu.tasks) {
		return never
	}
	return a.mu.tasks[a.mu.head]
}

// expects reports whether a task that Expect recorded with the number when waits to read h.
func (h *Handle) expects(when int64) bool {
	x := h.extra.Load()
	if x == nil {
		return false
	}
	a := &x.ahead
	a.mu.Lock()
	defer a.mu.Unlock()
	_, found := slices.BinarySearch(a.mu.tasks[a.mu.head:], when)
	return found
}

// maxFor is how many handles an instance remembers: most have one.
const maxFor = 8

// touch notes that in is used now, for h.
func (n *node) touch(in *instance, h *Handle) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mu.uses++
	in.used = n.mu.uses
	for _, o := range in.handles {
		if o == h {
			return
		}
	}
	if len(in.handles) == maxFor {
		in.handles[n.mu.uses%maxFor] = h
		return
	}
	in.handles = append(in.handles, h)
}

// users are the handles for which in was used.
func (in *instance) users() []*Handle {
	in.node.mu.Lock()
	defer in.node.mu.Unlock()
	return slices.Clone(in.handles)
}

// victim is an instance that could be taken away.
type victim struct {
	in         *instance
	next, used int64 // when a task needs it, when one did
	stays      bool  // while anything else can go
}

// before reports whether v should go before o: what is needed later, and what was
// not used for longer.
func (v *victim) before(o *victim) bool {
	if v.stays != o.stays {
		return o.stays
	}
	if v.next != o.next {
		return v.next > o.next
	}
	return v.used < o.used
}

// victims are the instances on a node, as a heap.
type victims []victim

// victims returns what is on n of data of g, nil for all.
func (n *node) victims(g *Registry) victims {
	n.mu.Lock()
	all := make(victims, 0, len(n.mu.insts))
	for _, in := range n.mu.insts {
		if g != nil && in.d.reg != g {
			continue
		}
		next, used := int64(never), in.used
		if discardable(in.handles) {
			used = 0
		}
		if used > 0 { // else it is discardable, or WontUse was called
			for _, h := range in.handles {
				next = min(next, h.nextUse())
			}
		}
		all = append(all, victim{in, next, used, n.id == 0 && inCore(in.handles)})
	}
	n.mu.Unlock()
	for i := len(all)/2 - 1; i >= 0; i-- {
		all.down(i)
	}
	return all
}

// discardable reports whether all handles of an instance are discardable.
func discardable(hs []*Handle) bool {
	for _, h := range hs {
		if !h.leavesFirst() {
			return false
		}
	}
	return len(hs) > 0
}

// inCore reports whether a handle of an instance has to stay in main memory.
func inCore(hs []*Handle) bool {
	return slices.ContainsFunc(hs, func(h *Handle) bool { return !h.mayLeaveCore() })
}

// going calls try for the instances on n, of data of g, nil for all, in the order in
// which they are to go, until it returns true, which going returns: those that no task waits for, of those first what
// holds nothing that is not elsewhere, for which try is called with clean set, and if
// it returns false once more later; then what is needed last. Between equals the
// least recently used goes first, and at the end what is to stay in main memory.
func (n *node) going(g *Registry, try func(in *instance, clean bool) bool) bool {
	all := n.victims(g)
	var unneeded []*instance
	for len(all) > 0 && all[0].next == never && !all[0].stays {
		in := all.pop().in
		if try(in, true) {
			return true
		}
		unneeded = append(unneeded, in)
	}
	for _, in := range unneeded {
		if try(in, false) {
			return true
		}
	}
	for len(all) > 0 {
		if try(all.pop().in, false) {
			return true
		}
	}
	return false
}

// pop takes out the one that should go first.
func (q *victims) pop() victim {
	all := *q
	first := all[0]
	last := len(all) - 1
	all[0] = all[last]
	*q = all[:last]
	q.down(0)
	return first
}

func (q victims) down(i int) {
	for {
		c := 2*i + 1
		if c >= len(q) {
			return
		}
		if c+1 < len(q) && q[c+1].before(&q[c]) {
			c++
		}
		if !q[c].before(&q[i]) {
			return
		}
		q[i], q[c] = q[c], q[i]
		i = c
	}
}

// MissingBytes is the size of the memory that h needs on a node and has not got there.
func (h Managed) MissingBytes(on int) int64 {
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

// holdsAny reports whether the instance holds something of keep.
func (in *instance) holdsAny(keep []*Handle) bool {
	return slices.ContainsFunc(keep, func(h *Handle) bool { return h.d == in.d && in.box.touches(&h.box) })
}

// saveFor saves idle instances that will be evicted when bytes are needed on n, so that
// no task that looks for room has to wait for that.
func (n *node) saveFor(bytes int64, keep []*Handle) {
	bytes -= n.room()
	n.going(nil, func(in *instance, clean bool) bool {
		if !in.holdsAny(keep) && in.d.save(in, clean) {
			in.d.mu.Lock() // an object may change its size
			bytes -= in.bytes
			in.d.mu.Unlock()
		}
		return bytes <= 0
	})
}

// save makes the values of in valid elsewhere, too, and reports whether all of them are.
// It reports false if in is in use and, with clean, if a value would have to be saved.
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

// evictBut is makeRoom for prefetches: instances in keep stay, and so do instances that
// would have to be saved first, as others may wait for their turn. The caller's turn.
func (n *node) evictBut(keep []*Handle) bool {
	return n.going(nil, func(in *instance, _ bool) bool {
		if in.holdsAny(keep) || !in.d.evict(in, false) {
			return false
		}
		n.evicted.times.Add(1)
		n.evicted.bytes.Add(in.bytes)
		return true
	})
}
