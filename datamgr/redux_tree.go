package datamgr

// Contributions in a fixed tree: the same bits however tasks are scheduled.
//
// Every contribution of a group has a copy of its own, and is a leaf: the k-th
// one submitted is leaf k, from 1. Leaf 0 is the value that the handle had
// before. Node (l, k) of the tree combines leaves k·2^l to (k+1)·2^l - 1, the
// left child first, in its memory; beyond the last leaf a node is its left
// child. Nodes are combined as soon as both children are there, by whoever
// brings the second one, so copies are alive for the holes in the order in
// which tasks end, and not for tasks. Leaf 0 is known last. So the root is the
// old value with the nodes (0, 1), (1, 1), (2, 1) … added from left to right.

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
)

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
// tree. The task takes it by Take when it runs. Submission lock held, and the
// group of h open.
func (h *Handle) Reserve() Contribution {
	h.redux.leaves++
	return Contribution{h: h, leaf: h.redux.leaves}
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
		if p, err = h.d.reg.mem.Alloc(h.bytes()); err != nil {
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
		c.plantApart()
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
			err = h.Exited("combine")
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
	h.Own(into, &b[0])
	h.Own(from, &b[1])
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
