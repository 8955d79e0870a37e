package datamgr

// Contributions where main memory is bounded: each is a datum of its own, so that it
// can be evicted between two tasks that add to it, and before it is combined. It
// belongs to no worker: there are as many as tasks added at the same time, or, where
// contributions are numbered, one for each task. A task has all its memory at once,
// and this among it; combining has two contributions at a time, or one and the data.

import (
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
)

// contributionPool are the contributions of an accumulator; guarded by its lock.
type contributionPool struct {
	idle   []deviceContribution
	leaves map[int64]*Handle // numbered, by number
	last   int64             // the highest number
}

// newContribution makes data for a contribution to h. It has no number, and only
// the placement of tasks sees it.
func (h *Handle) newContribution() *Handle {
	desc := iface.Desc{Kind: h.kind, Elem: h.d.desc.Elem, Rank: h.rank}
	for k := range int(h.rank) {
		desc.Dim[k] = h.dim(k)
	}
	d := &Datum{reg: h.d.reg, desc: desc, box: boxOf(&desc)}
	d.mu.wake = sync.NewCond(&d.mu.Mutex)
	if desc.Rank > 0 {
		d.layout(desc.Dim[desc.Rank-1])
	}
	d.state.Store(uint32(stateLazy | stateNodes))
	d.root = newFragment(d, d.box)
	d.whole = &Handle{f0: d.root, frags: []*Fragment{d.root}, d: d, kind: desc.Kind, elem: desc.Elem, rank: desc.Rank, box: d.box}
	for k := range d.whole.axes {
		d.whole.axes[k] = int8(k)
	}
	return d.whole
}

// ContributeFromPool takes data for the caller to add to a contribution to h on a node;
// TakeFromPool makes it ready. It prefers an idle contribution of that node, so that no
// data travels.
func (h Managed) ContributeFromPool(node int) Contribution {
	a := h.redux
	a.mu.Lock()
	defer a.mu.Unlock()
	c := Contribution{h: h.Handle, onDevice: deviceContribution{node: node}}
	idle := a.mu.apart.idle
	for i := len(idle) - 1; i >= 0; i-- {
		if idle[i].node == node {
			c.data = idle[i].data
			a.mu.apart.idle = slices.Delete(idle, i, i+1)
			break
		}
	}
	return c
}

// TakeFromPool makes c, which may be reserved, ready: if no task has added to it yet, its
// value is the initial one. p is empty, before and after.
func (c *Contribution) TakeFromPool(p *Placement) error {
	if c.data != nil {
		return nil
	}
	data := c.h.newContribution()
	ok := false
	defer func() { // the function may end the goroutine
		p.Release()
		if !ok {
			data.d.free()
		}
	}()
	if err := p.Prepare(0, []Operand{{Handle: data, Mode: modeW}}); err != nil {
		return err
	}
	var b iface.Buffer
	c.h.describeFromPool(p, 0, data, &b)
	err := guard("initialise", c.h.reduce, func() error { return c.h.reduce.Init(&b) })
	if ok = err == nil; ok {
		c.data, c.fresh = data, true
	}
	return err
}

// describeFromPool describes operand i of p, which is data of a contribution to h, in b:
// the shape is that of h.
func (h *Handle) describeFromPool(p *Placement, i int, data *Handle, b *iface.Buffer) {
	p.Buffer(i, data, b)
	at := b.Ptr
	managed(h).Own(at, b)
}

// For reports whether c is to h.
func (c *Contribution) For(h *Handle) bool { return c.h == h }

// FromPool is the operand by which a task adds to c.
func (c *Contribution) FromPool() Operand { return Operand{Handle: c.data, Mode: modeRW} }

// Describe describes c, which is operand i of p, in b.
func (c *Contribution) Describe(p *Placement, i int, b *iface.Buffer) {
	c.h.describeFromPool(p, i, c.data, b)
}

// returnToPool is Return.
func (c *Contribution) returnToPool() {
	data := c.data
	c.data = nil
	if c.leaf > 0 {
		data.d.free()
		return
	}
	a := c.h.redux
	a.mu.Lock()
	a.mu.apart.idle = append(a.mu.apart.idle, deviceContribution{data, c.onDevice.node})
	a.mu.Unlock()
}

// plantFromPool is Plant: they are all combined when the last one is there.
func (c *Contribution) plantFromPool() {
	a := c.h.redux
	a.mu.Lock()
	defer a.mu.Unlock()
	t := &a.mu.apart
	if t.leaves == nil {
		t.leaves = map[int64]*Handle{}
	}
	t.leaves[c.leaf], t.last = c.data, max(t.last, c.leaf)
	c.data = nil
}

// dropPool forgets all contributions to h.
func (a *accumulator) dropPool() {
	a.mu.Lock()
	t := a.mu.apart
	a.mu.apart = contributionPool{}
	a.mu.Unlock()
	t.free()
}

func (t *contributionPool) free() {
	for _, c := range t.idle {
		c.data.d.free()
	}
	for _, c := range t.leaves {
		c.d.free()
	}
}

// CombinePool is Combine where contributions are data. p is empty, before and after.
func (h Managed) CombinePool(p *Placement, none []Box, all bool) error {
	a := h.redux
	a.mu.Lock()
	t := a.mu.apart
	a.mu.apart = contributionPool{}
	a.mu.Unlock()
	defer t.free()
	defer p.Release() // a function of the reduction may end the goroutine
	cs, err := t.fold(h.Handle, p)
	if err != nil {
		return err
	}
	for _, c := range t.idle {
		cs = append(cs, c.data)
	}
	if len(cs) == 0 {
		if len(none) == 0 && !all {
			return nil
		}
		return fmt.Errorf("datamgr: no contribution to combine")
	}
	switch {
	case all:
		err = h.apply(p, Operand{Handle: h.Handle, Mode: modeW}, cs[0], func(into, from *iface.Buffer) error {
			copyBuffer(into, from)
			return nil
		})
		cs = cs[1:]
	case len(none) > 0: // sum up apart, and take the sum where there is no value
		for _, c := range cs[1:] {
			if err == nil {
				err = h.combineFromPool(p, cs[0], c)
			}
		}
		if err == nil {
			err = h.apply(p, Operand{Handle: h.Handle, Mode: modeRW}, cs[0], func(b, sum *iface.Buffer) error {
				return h.takeWhereNone(b, sum, none)
			})
		}
		cs = nil
	}
	for _, c := range cs {
		if err == nil {
			err = h.apply(p, Operand{Handle: h.Handle, Mode: modeRW}, c, h.combineOnce)
		}
	}
	return err
}

// takeWhereNone adds sum to b, but where there is no value.
func (h *Handle) takeWhereNone(b, sum *iface.Buffer, none []Box) error {
	for i := range none {
		h.copyPart(b, sum, &none[i])
	}
	if err := h.combineOnce(b, sum); err != nil {
		return err
	}
	for i := range none {
		h.copyPart(b, sum, &none[i])
	}
	return nil
}

// combineOnce adds the contribution from to the value in into.
func (h *Handle) combineOnce(into, from *iface.Buffer) error {
	i, f := *into, *from
	return guard("combine", h.reduce, func() error { return h.reduce.Combine(&i, &f) })
}

// apply calls fn with an operand, which is h or of its shape, and a contribution.
func (h *Handle) apply(p *Placement, op Operand, c *Handle, fn func(into, from *iface.Buffer) error) error {
	if err := p.Prepare(0, []Operand{op, {Handle: c, Mode: modeR}}); err != nil {
		return err
	}
	var into, from iface.Buffer
	if op.Handle == h {
		p.Buffer(0, h, &into)
	} else {
		h.describeFromPool(p, 0, op.Handle, &into)
	}
	h.describeFromPool(p, 1, c, &from)
	err := fn(&into, &from)
	p.Release()
	return err
}

// combineFromPool adds the contribution from to the contribution into.
func (h *Handle) combineFromPool(p *Placement, into, from *Handle) error {
	return h.apply(p, Operand{Handle: into, Mode: modeRW}, from, h.combineOnce)
}

// fold combines the numbered contributions in their tree (redux_tree.go), and returns
// what is to be added to the value of h, from left to right.
func (t *contributionPool) fold(h *Handle, p *Placement) (sums []*Handle, err error) {
	var build func(n reduxNode) *Handle
	build = func(n reduxNode) *Handle {
		if n.level() == 0 || n.first() > t.last {
			return t.leaves[n.first()]
		}
		left := build(nodeAt(n.level()-1, 2*n.index()))
		right := build(nodeAt(n.level()-1, 2*n.index()+1))
		if left == nil || right == nil {
			return left
		}
		if err == nil {
			err = h.combineFromPool(p, left, right)
		}
		return left
	}
	for l := uint(0); l < 58 && int64(1)<<l <= t.last; l++ {
		if c := build(nodeAt(l, 1)); c != nil {
			sums = append(sums, c)
		}
	}
	return sums, err
}

// InitialiseAside is Initialise where main memory is bounded: what has no value gets
// it on the disk. p is empty, before and after.
func (h Managed) InitialiseAside(p *Placement, none []Box) error {
	d := h.d
	if err := d.allocate(); err != nil {
		return err
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

// narrow makes b, which is all of h, the elements of box, in the datum's indices.
func (h *Handle) narrow(b *iface.Buffer, box *Box) {
	size := int(b.Elem.Size())
	for k := range int(h.rank) {
		a := h.axes[k]
		b.Ptr = unsafe.Add(b.Ptr, (box.lo[a]-h.box.lo[a])*b.Stride[k]*size)
		b.Dim[k] = box.hi[a] - box.lo[a]
	}
}

// describePart describes the elements of box, part of h, that lie in in.
func (in *instance) describePart(h *Handle, box *Box, b *iface.Buffer) {
	*b = iface.Buffer{Ptr: in.at(&box.lo, h.d.desc.Elem.Size())}
	h.describe(&b.Desc)
	for k := range int(h.rank) {
		a := h.axes[k]
		b.Dim[k], b.Stride[k] = box.hi[a]-box.lo[a], in.stride[a]
	}
}

// CopyAside gives the duplicate the value of its source where main memory is bounded:
// fragment by fragment, from wherever it is to the duplicate's main instance.
func (u *Duplicate) CopyAside() error {
	to, from := u.h.d, u.alias.d
	if err := to.allocate(); err != nil {
		return err
	}
	to.claimBoxes([]Box{to.box})
	defer to.releaseBoxes([]Box{to.box})
	dst := to.main.Load()
	from.mu.Lock()
	defer from.mu.Unlock()
	var todo []Box
	from.root.leaves(&u.alias.box, func(f *Fragment) { todo = append(todo, f.box.meet(&u.alias.box)) })
	for len(todo) > 0 {
		box := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		var fs []*Fragment
		from.root.leaves(&box, func(f *Fragment) { fs = append(fs, f) })
		if len(fs) != 1 { // it was split since
			for _, f := range fs {
				todo = append(todo, f.box.meet(&box))
			}
			continue
		}
		f := fs[0]
		src := from.sourceLocked(f, dst.node, nil)
		if src.node.lost.Load() != nil { // the goroutine that noticed is about to mark the lost values
			from.mu.wake.Wait()
			todo = append(todo, box)
			continue
		}
		f.copies++
		src.pinLocked()
		from.mu.Unlock()
		var a, b iface.Buffer
		src.describePart(u.alias, &box, &a)
		dst.describePart(u.h, &to.box, &b)
		b.Dim = a.Dim
		for k := range int(u.h.rank) {
			b.Ptr = unsafe.Add(b.Ptr, (box.lo[u.alias.axes[k]]-u.alias.box.lo[u.alias.axes[k]])*b.Stride[k]*int(b.Elem.Size()))
		}
		err := to.reg.moveBuffer(dst.node, src.node, &b, &a)
		from.mu.Lock()
		f.copies--
		src.unpinLocked(true)
		lost := src.node.lost.Load() != nil
		if lost {
			from.uselessLocked(src)
		}
		from.mu.wake.Broadcast()
		switch {
		case lost: // it is elsewhere, or spoiled by now
			todo = append(todo, box)
		case err != nil:
			return err
		}
	}
	if why := from.spoiledLocked(&u.alias.box); why != nil {
		return &SpoiledError{why.why}
	}
	return nil
}
