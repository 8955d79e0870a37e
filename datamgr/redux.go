package datamgr

// Contributions: REDUX is not an epoch.
//
// A handle with a reduction owns an accumulator, a fragment without bytes. A
// REDUX task is an R access on that and touches nothing else. The first access
// through another handle, or in another mode, to a fragment under an open group
// makes the submitter insert the reduction before it: RW on the handle and RW
// on its accumulator.

import (
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
)

// accumulator holds the private copies that REDUX tasks add to.
type accumulator struct {
	frag fragment // order only
	open bool     // there are contributions, as of what was submitted; submission lock
	// own holds the copy of each worker, which only that worker touches during
	// a group, and the reduction after it.
	own []unsafe.Pointer
	// contributions of the open group that have a number; submission lock
	leaves int64
	mu     struct {
		sync.Mutex
		copies []unsafe.Pointer  // of others: initialised, and not in use
		data   dataContributions // where main memory is bounded, instead of all others; elsewhere on devices
		tree   *reduxTree        // of numbered contributions, or nil
		fault  any               // a contribution was lost
	}
}

// accumulate returns h's accumulator.
func (h *Handle) accumulate(_ Submission) *accumulator {
	if h.redux == nil {
		a := &accumulator{own: make([]unsafe.Pointer, len(h.d.reg.publishers))}
		f := &a.frag
		f.initOrder()
		f.d = h.d
		h.redux = a
		h.d.reduced = append(h.d.reduced, h)
	}
	return h.redux
}

// openGroup marks h's fragments as having contributions to come.
func (h *Handle) openGroup(sub Submission) {
	if h.redux.open {
		return
	}
	h.redux.open = true
	for _, f := range h.list(sub) {
		f.open, f.slow = h, true
	}
}

// CanReduce reports whether h may be used in mode REDUX.
func (h Managed) CanReduce(_ Submission) bool { return h.reduce != nil && h.reduce.Combine != nil }

// InitOnly reports whether h is initialised by its reduction before it is first
// read.
func (h Managed) InitOnly(_ Submission) bool { return h.reduce != nil && h.reduce.Combine == nil }

// SetReduction changes the reduction of h for tasks submitted from now on. Parts
// declared later inherit it. It reports false for void data, for data with a capacity, for a reduction
// without Init, and while a task uses h or contributions are open.
func (h Managed) SetReduction(r *Reduction) bool {
	sub := h.d.reg.Lock()
	defer sub.Unlock()
	if h.d.void || h.Resizable() || h.d.formats != nil && r != nil || r != nil && r.Init == nil || sub.Busy(h.Handle, nil, 0) ||
		h.redux != nil && (h.redux.open || !h.redux.frag.tail.count.idle(sub)) {
		return false
	}
	h.reduce = r
	return true
}

// SetFormats attaches what the engine knows of other layouts to the data of h, which is the whole of it. Tasks that use
// it are not plain from now on, and it has no views. It reports false if h is a part, a
// task uses the data, or it has views, a reduction or a capacity.
func (h Managed) SetFormats(sub Submission, v any) bool {
	d := h.d
	if h.parent != nil || d.live > 0 || h.reduce != nil || h.redux != nil || h.Resizable() || d.formats != nil || sub.Busy(h.Handle, nil, 0) {
		return false
	}
	d.formats = v
	h.flags |= flagFormats
	return true
}

// Formats returns what SetFormats attached to the data of h, or nil.
func (h Managed) Formats() any { return h.d.formats }

// OpenGroup returns a handle whose contributions must be combined before a task
// with these operands: one that shares elements and is not just added to again.
func (sub Submission) OpenGroup(ops []Operand) *Handle {
	for i := range ops {
		op := &ops[i]
		if op.Mode == modeScratch {
			continue
		}
		for _, f := range op.Handle.list(sub) {
			if f.open != nil && (op.Mode != modeRedux || f.open != op.Handle) {
				return f.open
			}
		}
	}
	return nil
}

// CloseGroup ends the open group of h: the caller submits the reduction now.
func (sub Submission) CloseGroup(h *Handle) {
	h.redux.open, h.redux.leaves = false, 0
	for _, f := range h.list(sub) {
		f.open = nil
		f.d.findSlow(sub, f)
	}
}

// Making is a reduction, an initialisation or a conversion that was submitted and has not ended.
type Making struct {
	d       *Datum
	waiters []*Waiter // unordered accesses that were submitted after it; guarded by d.mu
}

// Make notes that a reduction, or an initialisation, of h is submitted. The caller says
// when it has ended.
func (h Managed) Make(_ Submission) *Making {
	m := &Making{d: h.d}
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	h.d.mu.making = append(h.d.mu.making, m)
	return m
}

// End releases to c the unordered accesses that wait for m.
func (m *Making) End(c *Completer) {
	m.d.mu.Lock()
	m.d.mu.making = slices.DeleteFunc(m.d.mu.making, func(o *Making) bool { return o == m })
	ws := m.waiters
	m.d.mu.Unlock()
	for _, w := range ws {
		if w.Done() {
			c.Release(w)
		}
	}
}

// AwaitMaking makes w, which is armed, wait for the reductions, initialisations and
// conversions of h's datum that were submitted before, and returns how many there are. It is
// for uses that the order does not put behind them: those without order, whose result would be
// overwritten, and those that read what a conversion reads.
func (h Managed) AwaitMaking(_ Submission, w *Waiter) int32 {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	for _, m := range h.d.mu.making {
		m.waiters = append(m.waiters, w)
	}
	return int32(len(h.d.mu.making))
}

// NoValueIn returns the parts of h that have no value, as of what was
// submitted.
func (sub Submission) NoValueIn(h *Handle) (none []Box, all bool) {
	all = true
	for _, f := range h.list(sub) {
		if f.init {
			all = false
		} else {
			none = append(none, f.box)
		}
	}
	return none, all
}

// Contribution is a private copy in use by one task.
type Contribution struct {
	h     *Handle
	p     unsafe.Pointer // nil: a worker's own, data, or reserved and not taken
	leaf  int64          // its number; 0: it has none
	data  *Handle        // if it is data (see dataContributions); nil before TakeData
	node  int            // where the task adds to data
	fresh bool           // it is data that was made for this task
}

// Contributes reports whether the worker has a private copy of h that was added
// to before, and describes it in b.
func (h Managed) Contributes(worker int, b *iface.Buffer) bool {
	p := h.redux.own[worker]
	if p == nil {
		return false
	}
	h.Own(p, b)
	return true
}

// Contribute takes a private copy of h for the caller to add to, and describes it in b.
// The copy is that of the worker with the given number, which runs no other task
// meanwhile; below 0 it is any idle copy.
func (h Managed) Contribute(worker int, b *iface.Buffer) (Contribution, error) {
	a := h.redux
	if worker >= 0 && worker < len(a.own) {
		if h.Contributes(worker, b) {
			return Contribution{h: h.Handle}, nil
		}
		p, err := h.newCopy(b)
		if err != nil {
			return Contribution{}, err
		}
		a.own[worker] = p
		return Contribution{h: h.Handle}, nil
	}
	a.mu.Lock()
	if n := len(a.mu.copies); n > 0 {
		p := a.mu.copies[n-1]
		a.mu.copies = a.mu.copies[:n-1]
		a.mu.Unlock()
		h.Own(p, b)
		return Contribution{h: h.Handle, p: p}, nil
	}
	a.mu.Unlock()
	p, err := h.newCopy(b)
	if err != nil {
		return Contribution{}, err
	}
	return Contribution{h: h.Handle, p: p}, nil
}

// newCopy makes a private copy with the initial value, and describes it in b.
func (h *Handle) newCopy(b *iface.Buffer) (unsafe.Pointer, error) {
	p, err := h.newMemory()
	if err != nil {
		return nil, err
	}
	if err := h.begin(p, b); err != nil {
		return nil, err
	}
	return p, nil
}

// begin makes p a private copy with the initial value, and describes it in b;
// without success, p is freed.
func (h *Handle) begin(p unsafe.Pointer, b *iface.Buffer) error {
	ok := false
	defer func() { // the function may end the goroutine
		if !ok {
			h.freeMemory(p)
		}
	}()
	managed(h).Own(p, b)
	err := guard("initialise", h.reduce, func() error { return h.reduce.Init(b) })
	managed(h).Own(p, b)
	ok = err == nil
	return err
}

// collect takes all copies, the workers' first, and the tree. Nothing uses them
// any more.
func (a *accumulator) collect() ([]unsafe.Pointer, *reduxTree) {
	var out []unsafe.Pointer
	for i, p := range a.own {
		if p != nil {
			out = append(out, p)
			a.own[i] = nil
		}
	}
	a.mu.Lock()
	out = append(out, a.mu.copies...)
	t := a.mu.tree
	a.mu.copies, a.mu.tree = nil, nil
	a.mu.Unlock()
	return out, t
}

// Return gives the copy back, to be combined later; others may add to it
// before. One with a number that was not planted is lost.
func (c *Contribution) Return() {
	if data := c.data; data != nil {
		c.data = nil
		if c.leaf > 0 {
			data.d.free()
			return
		}
		a := c.h.redux
		a.mu.Lock()
		a.mu.data.idle = append(a.mu.data.idle, dataContribution{data, c.node})
		a.mu.Unlock()
		return
	}
	p := c.p
	if p == nil {
		return
	}
	c.p = nil
	if c.leaf > 0 {
		c.h.freeMemory(p)
		return
	}
	a := c.h.redux
	a.mu.Lock()
	a.mu.copies = append(a.mu.copies, p)
	a.mu.Unlock()
}

// GiveUp is Return for a task that did not add to the copy. A copy made for the task
// alone is not combined, as it may be lost with the device that it was made for.
func (c *Contribution) GiveUp() {
	data := c.data
	if c.leaf > 0 || !c.fresh || data == nil {
		c.Return()
		return
	}
	c.data = nil
	data.d.free()
}

// Lost reports whether what others have added to c is lost.
func (c *Contribution) Lost() bool {
	data := c.data
	if data == nil || c.fresh {
		return false
	}
	_, why := Fault([]Operand{{Handle: data, Mode: modeR}})
	return why != nil
}

// Combine adds the contributions to h to the value in b, which is all of h.
// Where h had no value (none, in boxes of the datum; everywhere when all) it
// takes the contributions alone. Nothing uses the copies any more.
func (h Managed) Combine(b *iface.Buffer, none []Box, all bool) error {
	copies, tree := h.redux.collect()
	defer h.freeCopies(copies, tree)
	far := h.redux.takeData()
	defer far.free()
	left, err := h.gatherContributions(far.idle)
	if err != nil {
		return err
	}
	for _, t := range left {
		copies = append(copies, t.data.d.main.Load().ptr)
	}
	if tree != nil {
		sums, err := tree.fold(h.Handle)
		if err != nil {
			return err
		}
		copies = append(sums, copies...)
	}
	if len(copies) == 0 {
		if len(none) == 0 && !all {
			return nil
		}
		return fmt.Errorf("datamgr: no contribution to combine")
	}
	var sum iface.Buffer
	if all {
		h.Own(copies[0], &sum)
		h.copyWhole(b, &sum)
		return h.combineInto(b, copies[1:])
	}
	if len(none) == 0 {
		return h.combineInto(b, copies)
	}
	// some elements have a value: sum up apart, and take the sum where there is none
	h.Own(copies[0], &sum)
	if err := h.combineInto(&sum, copies[1:]); err != nil {
		return err
	}
	for i := range none {
		h.copyPart(b, &sum, &none[i])
	}
	if err := h.combineInto(b, copies[:1]); err != nil {
		return err
	}
	for i := range none {
		h.copyPart(b, &sum, &none[i])
	}
	return nil
}

func (h *Handle) combineInto(b *iface.Buffer, copies []unsafe.Pointer) error {
	for _, p := range copies {
		into := *b
		var from iface.Buffer
		managed(h).Own(p, &from)
		if err := guard("combine", h.reduce, func() error { return h.reduce.Combine(&into, &from) }); err != nil {
			return err
		}
	}
	return nil
}

// Initialise gives h the initial value of its reduction where it has none, in
// main memory. The caller's task has only those parts, RW.
func (h Managed) Initialise(none []Box, all bool) error {
	if err := h.d.allocate(); err != nil {
		return err
	}
	h.d.claimBoxes(none)
	defer h.d.releaseBoxes(none)
	var main iface.Buffer
	h.Fill(&main)
	if all && h.how == inPlace {
		return guard("initialise", h.reduce, func() error { return h.reduce.Init(&main) })
	}
	mem, bytes := h.d.reg.mem, h.bytes()
	p, err := mem.Alloc(bytes)
	if err != nil {
		return err
	}
	defer mem.Free(p, bytes)
	var whole iface.Buffer
	h.Own(p, &whole)
	c := whole
	if err := guard("initialise", h.reduce, func() error { return h.reduce.Init(&c) }); err != nil {
		return err
	}
	for i := range none {
		h.copyPart(&main, &whole, &none[i])
	}
	return nil
}

// InitialiseAside is Initialise where main memory is bounded: what has no value gets
// it on the disk. p is empty, before and after.
func (h Managed) InitialiseAside(p *Placement, none []Box) error {
	d := h.d
	if err := d.allocate(); err != nil {
		return err
	}
	if d.object != nil {
		return h.initialiseObject(p)
	}
	if err := p.Prepare(0, []Operand{{Handle: h.Handle, Mode: modeScratch}}); err != nil {
		return err
	}
	defer p.Release() // also when the function ends the goroutine
	var whole iface.Buffer
	p.Private(0, 0, h.Handle, &whole)
	c := whole
	if err := guard("initialise", h.reduce, func() error { return h.reduce.Init(&c) }); err != nil {
		return err
	}
	d.claimBoxes(none)
	defer d.releaseBoxes(none)
	m := d.main.Load()
	for i := range none {
		var to iface.Buffer
		m.describePart(h.Handle, &none[i], &to)
		from := whole
		h.narrow(&from, &none[i])
		if m.node.id == 0 {
			copyBuffer(&to, &from)
		} else if err := d.reg.moveBuffer(m.node, d.reg.nodes[0], &to, &from); err != nil {
			return err
		}
	}
	return nil
}

// initialiseObject is InitialiseAside for an object.
func (h Managed) initialiseObject(p *Placement) error {
	if err := p.Prepare(0, []Operand{{Handle: h.Handle, Mode: modeW}}); err != nil {
		return err
	}
	defer p.Release() // also when the function ends the goroutine
	var b iface.Buffer
	p.Buffer(0, h.Handle, &b)
	h.Clear(&b)
	return guard("initialise", h.reduce, func() error { return h.reduce.Init(&b) })
}

// copyWhole copies what src has of h to dst, or moves it if h is an object.
func (h *Handle) copyWhole(dst, src *iface.Buffer) {
	if o := h.d.object; o != nil {
		o.Assign(dst.Ptr, src.Ptr)
		return
	}
	copyBuffer(dst, src)
}

// copyPart copies the elements of box, in the datum's indices, between two
// buffers that are all of h.
func (h *Handle) copyPart(dst, src *iface.Buffer, box *Box) {
	d, s := *dst, *src
	for k := range int(h.rank) {
		a := h.axes.at(k)
		lo := box.from(a) - h.box.from(a)
		d.Ptr = unsafe.Add(d.Ptr, uintptr(lo*d.Stride[k])*d.Elem.Size())
		s.Ptr = unsafe.Add(s.Ptr, uintptr(lo*s.Stride[k])*s.Elem.Size())
		d.Dim[k] = box.length(a)
	}
	copyBuffer(&d, &s)
}

// narrow makes b, which is all of h, the elements of box, in the datum's indices.
func (h *Handle) narrow(b *iface.Buffer, box *Box) {
	size := int(b.Elem.Size())
	for k := range int(h.rank) {
		a := h.axes.at(k)
		b.Ptr = unsafe.Add(b.Ptr, (box.from(a)-h.box.from(a))*b.Stride[k]*size)
		b.Dim[k] = box.length(a)
	}
}

// Exited is the error of a function of h's reduction that ended its goroutine;
// what is "initialise" or "combine".
func (h Managed) Exited(what string) *ReductionError {
	return &ReductionError{Reduction: h.reduce.Name, What: what, Cause: errExit}
}

// DropContributions forgets the contributions to h. Nothing uses the copies any
// more.
func (h Managed) DropContributions() {
	h.freeCopies(h.redux.collect())
	all := h.redux.takeData()
	all.free()
}

// freeCopies gives the memory of copies and of a tree back.
func (h *Handle) freeCopies(copies []unsafe.Pointer, t *reduxTree) {
	for _, p := range copies {
		h.freeMemory(p)
	}
	if t == nil {
		return
	}
	for _, p := range t.spare {
		h.freeMemory(p)
	}
	for _, p := range t.nodes {
		h.freeMemory(p)
	}
}

// Contributions in a fixed tree: the same bits however tasks are scheduled.
//
// Every contribution of a group has a copy of its own, and is a leaf: the k-th one
// submitted is leaf k, from 1. Leaf 0 is the value that the handle had before. Node (l,
// k) of the tree combines leaves k·2^l to (k+1)·2^l - 1, the left child first, in its
// memory; beyond the last leaf a node is its left child. A node is combined as soon as
// both children are there, by the goroutine that adds the second one. So the number of
// live copies depends on the gaps in the order in which tasks end, not on the number of
// tasks. Leaf 0 is known last. So the root is the old value with the nodes (0, 1), (1,
// 1), (2, 1) … added from left to right.

// reduxTree holds the nodes of the open group of an accumulator, and is guarded
// by its lock.
type reduxTree struct {
	nodes map[reduxNode]unsafe.Pointer
	spare []unsafe.Pointer // memory for more leaves
	last  int64            // the highest leaf so far
	err   error            // of the leftmost node that could not be combined
	errAt int64            // its first leaf
}

// reduxNode is a node of the tree: its index, and in the last 6 bits its level.
type reduxNode uint64

func nodeAt(level uint, index int64) reduxNode { return reduxNode(index)<<6 | reduxNode(level) }

func (n reduxNode) level() uint        { return uint(n & 63) }
func (n reduxNode) index() int64       { return int64(n >> 6) }
func (n reduxNode) first() int64       { return n.index() << n.level() }
func (n reduxNode) sibling() reduxNode { return n ^ 1<<6 }
func (n reduxNode) parent() reduxNode  { return nodeAt(n.level()+1, n.index()>>1) }

// Reserve numbers the next contribution to h, which is to be combined in a fixed
// tree. The task takes it by Take when it runs. The group of h is open.
func (h Managed) Reserve(_ Submission) Contribution {
	h.redux.leaves++
	return Contribution{h: h.Handle, leaf: h.redux.leaves}
}

// Take gives the reserved contribution its private copy, initialised, and
// describes it in b.
func (c *Contribution) Take(b *iface.Buffer) error {
	h, a := c.h, c.h.redux
	var p unsafe.Pointer
	a.mu.Lock()
	if t := a.mu.tree; t != nil && len(t.spare) > 0 {
		p = t.spare[len(t.spare)-1]
		t.spare = t.spare[:len(t.spare)-1]
	}
	a.mu.Unlock()
	if p == nil {
		var err error
		if p, err = h.newMemory(); err != nil {
			return err
		}
	}
	if err := h.begin(p, b); err != nil {
		return err
	}
	c.p = p
	return nil
}

// Taken reports whether c has a number and a copy, which is to be planted.
func (c *Contribution) Taken() bool { return c.leaf > 0 && (c.p != nil || c.data != nil) }

// Plant puts the copy of a contribution that was taken in its place in the tree,
// and combines what that makes possible. Errors are those of the reduction.
func (c *Contribution) Plant() {
	if c.data != nil {
		c.plantData()
		return
	}
	p := c.p
	c.p = nil
	c.h.rise(nodeAt(0, c.leaf), p)
}

// rise puts p at node n, and combines it with its sibling if that is there, and
// so on.
func (h *Handle) rise(n reduxNode, p unsafe.Pointer) {
	a := h.redux
	for {
		a.mu.Lock()
		if a.mu.tree == nil {
			a.mu.tree = &reduxTree{nodes: map[reduxNode]unsafe.Pointer{}}
		}
		t := a.mu.tree
		if n.level() == 0 {
			t.last = max(t.last, n.index())
		}
		q, ok := t.nodes[n.sibling()]
		if !ok {
			t.nodes[n] = p
			a.mu.Unlock()
			return
		}
		delete(t.nodes, n.sibling())
		a.mu.Unlock() // the tree stays: no reduction runs before its tasks have ended
		left, right := q, p
		if n.index()&1 == 0 {
			left, right = p, q
		}
		n, p = n.parent(), left
		h.join(t, n, left, right)
	}
}

// join makes node n in the memory of its left child.
func (h *Handle) join(t *reduxTree, n reduxNode, left, right unsafe.Pointer) {
	a, returned := h.redux, false
	var err error
	defer func() {
		if !returned {
			err = managed(h).Exited("combine")
		}
		a.mu.Lock()
		if err != nil && (t.err == nil || n.first() < t.errAt) {
			t.err, t.errAt = err, n.first()
		}
		t.spare = append(t.spare, right)
		a.mu.Unlock()
		if !returned {
			h.rise(n, left) // while the goroutine ends
		}
	}()
	err = h.merge(left, right)
	returned = true
}

// merge adds the copy from to the copy into.
func (h *Handle) merge(into, from unsafe.Pointer) (err error) {
	b := mergeBuffers.Get().(*[2]iface.Buffer)
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
		if err != nil {
			err = &ReductionError{Reduction: h.reduce.Name, What: "combine", Cause: err}
		}
		mergeBuffers.Put(b)
	}()
	managed(h).Own(into, &b[0])
	managed(h).Own(from, &b[1])
	return h.reduce.Combine(&b[0], &b[1])
}

// mergeBuffers saves merge two allocations.
var mergeBuffers = sync.Pool{New: func() any { return new([2]iface.Buffer) }}

// fold returns what is to be added to the value of the handle, from left to
// right, in memory that stays the tree's. Nothing uses the copies any more.
func (t *reduxTree) fold(h *Handle) (sums []unsafe.Pointer, err error) {
	err = t.err
	var build func(n reduxNode) unsafe.Pointer
	build = func(n reduxNode) unsafe.Pointer {
		if p, ok := t.nodes[n]; ok || n.level() == 0 || n.first() > t.last {
			return p
		}
		left := build(nodeAt(n.level()-1, 2*n.index()))
		right := build(nodeAt(n.level()-1, 2*n.index()+1))
		if left == nil || right == nil { // right: beyond the last leaf
			return left
		}
		if e := h.merge(left, right); e != nil && err == nil {
			err = e
		}
		return left
	}
	for l := uint(0); l < 58 && int64(1)<<l <= t.last; l++ {
		if p := build(nodeAt(l, 1)); p != nil {
			sums = append(sums, p)
		}
	}
	return sums, err
}

// Waits reports whether c is reserved for h and was not taken yet.
func (c *Contribution) Waits(h *Handle) bool {
	return c.h == h && c.leaf > 0 && c.p == nil && c.data == nil
}
