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
	h.Own(p, b)
	if err := guard("initialise", h.reduce, func() error { return h.reduce.Init(b) }); err != nil {
		h.d.reg.mem.Free(p, h.bytes())
		return err
	}
	h.Own(p, b)
	c.p = p
	return nil
}

// plant puts the copy of a contribution in its place in the tree, and combines
// what that makes possible.
func (c Contribution) plant() {
	h, a := c.h, c.h.redux
	n, p := nodeAt(0, c.leaf), c.p
	a.mu.Lock()
	if a.mu.tree == nil {
		a.mu.tree = &reduxTree{nodes: map[reduxNode]unsafe.Pointer{}}
	}
	t := a.mu.tree
	t.last = max(t.last, c.leaf)
	for {
		q, ok := t.nodes[n.sibling()]
		if !ok {
			t.nodes[n] = p
			a.mu.Unlock()
			return
		}
		delete(t.nodes, n.sibling())
		if n.index()&1 == 0 {
			p, q = q, p
		}
		a.mu.Unlock() // the tree stays: no reduction runs before its tasks have ended
		err := h.merge(q, p)
		a.mu.Lock()
		n = n.parent()
		if err != nil && (t.err == nil || n.first() < t.errAt) {
			t.err, t.errAt = err, n.first()
		}
		t.spare = append(t.spare, p)
		p = q
	}
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
// right, and the memory that is left. Nothing uses the copies any more.
func (t *reduxTree) fold(h *Handle) (sums, rest []unsafe.Pointer, err error) {
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
		t.spare = append(t.spare, right)
		return left
	}
	for l := uint(0); l < 58 && int64(1)<<l <= t.last; l++ {
		if p := build(nodeAt(l, 1)); p != nil {
			sums = append(sums, p)
		}
	}
	return sums, t.spare, err
}

// all returns the memory of every copy.
func (t *reduxTree) all() []unsafe.Pointer {
	out := t.spare
	for _, p := range t.nodes {
		out = append(out, p)
	}
	return out
}

// Waits reports whether c is reserved for h and was not taken yet.
func (c *Contribution) Waits(h *Handle) bool { return c.h == h && c.leaf > 0 && c.p == nil }
