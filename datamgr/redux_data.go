package datamgr

// Contributions that are data.
//
// Where main memory is bounded, every contribution is a datum of its own, so that it can
// be evicted between two tasks that add to it, and before it is combined. It belongs to
// no worker: there are as many as tasks added at the same time, or, where contributions
// are numbered, one for each task. A task has all its memory at once, and this among it;
// combining has two contributions at a time, or one and the data.
//
// Elsewhere, only contributions on devices are data. A task on a device adds to one that
// stays there for the next task, until the group ends: those of one device are then
// combined there, if its kernels can, and one copy brings the rest to main memory. No
// view or task of the program sees them: so they are evicted like other data when tasks
// need the room, and lost with the device when they are nowhere else.

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr/iface"
)

// dataContributions are the contributions to one accumulator that are data and that no
// task uses; guarded by its lock.
type dataContributions struct {
	idle   []dataContribution
	leaves map[int64]*Handle // numbered, by number
	last   int64             // the highest number
}

// dataContribution is data that is a contribution, and the node where it was added to last.
type dataContribution struct {
	data *Handle
	node int
}

// newContribution makes data for a contribution to h, without memory. It has no number,
// and only the placement of tasks sees it.
func (h *Handle) newContribution() *Handle {
	desc := iface.Desc{Kind: h.kind, Elem: h.elem, Rank: h.rank}
	for k := range int(h.rank) {
		desc.Dim[k] = h.dim(k)
	}
	d := &Datum{reg: h.d.reg, object: newObject(managed(h).Object())}
	d.mu.wake = sync.NewCond(&d.mu.Mutex)
	stride := (&Spec{LD: max(1, desc.Dim[max(0, int(desc.Rank)-1)])}).strides(&desc)
	d.shape(&desc, &stride)
	d.state.Store(uint32(stateLazy | stateNodes))
	return d.newWhole(&desc)
}

// ContributeData takes data for the caller to add to a contribution to h on a node;
// TakeData makes it ready. It prefers an idle contribution of that node, so that no data
// travels.
func (h Managed) ContributeData(node int) Contribution {
	a := h.redux
	a.mu.Lock()
	defer a.mu.Unlock()
	c := Contribution{h: h.Handle, node: node}
	idle := a.mu.data.idle
	for i := len(idle) - 1; i >= 0; i-- {
		if idle[i].node == node {
			c.data = idle[i].data
			a.mu.data.idle = slices.Delete(idle, i, i+1)
			break
		}
	}
	return c
}

// ContributeOnDevice takes a contribution to h for a task on a node other than main
// memory: an idle one of that node, or else a new one, with the initial value in main
// memory.
func (h Managed) ContributeOnDevice(node int) (Contribution, error) {
	c := h.ContributeData(node)
	if c.data == nil {
		data, err := h.newContributionInMain()
		if err != nil {
			return Contribution{}, err
		}
		c.data, c.fresh = data, true
	}
	return c, nil
}

// newContributionInMain makes data for a contribution to h, with the initial value in
// main memory.
func (h *Handle) newContributionInMain() (*Handle, error) {
	c := h.newContribution()
	d := c.d
	d.contribution = true // a loss is no error of the task that adds: see Restore
	if err := d.allocate(); err != nil {
		return nil, err
	}
	ok := false
	defer func() { // the function may end the goroutine
		if !ok {
			d.free()
		}
	}()
	var b iface.Buffer
	managed(h).Own(d.main.Load().ptr, &b)
	err := guard("initialise", h.reduce, func() error { return h.reduce.Init(&b) })
	ok = err == nil
	return c, err
}

// TakeData makes c, which may be reserved, ready: if no task has added to it yet, its
// value is the initial one. p is empty, before and after.
func (c *Contribution) TakeData(p *Placement) error {
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
	c.h.describeData(p, 0, data, &b)
	err := guard("initialise", c.h.reduce, func() error { return c.h.reduce.Init(&b) })
	if ok = err == nil; ok {
		c.data, c.fresh = data, true
	}
	return err
}

// describeData describes operand i of p, which is data of a contribution to h, in b:
// the shape is that of h.
func (h *Handle) describeData(p *Placement, i int, data *Handle, b *iface.Buffer) {
	p.Buffer(i, data, b)
	at := b.Ptr
	managed(h).Own(at, b)
}

// Operand returns the operand by which a task adds to c, which is data.
func (c *Contribution) Operand() Operand { return Operand{Handle: c.data, Mode: modeRW} }

// Describe describes c, which is operand i of p, in b. It reports false if c is no data,
// or no contribution to h.
func (c *Contribution) Describe(h *Handle, p *Placement, i int, b *iface.Buffer) bool {
	if c.h != h || c.data == nil {
		return false
	}
	h.describeData(p, i, c.data, b)
	return true
}

// plantData is Plant for data: they are all combined when the last one is there.
func (c *Contribution) plantData() {
	a := c.h.redux
	a.mu.Lock()
	defer a.mu.Unlock()
	t := &a.mu.data
	if t.leaves == nil {
		t.leaves = map[int64]*Handle{}
	}
	t.leaves[c.leaf], t.last = c.data, max(t.last, c.leaf)
	c.data = nil
}

// takeData takes all contributions that are data. Nothing uses them any more.
func (a *accumulator) takeData() dataContributions {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := a.mu.data
	a.mu.data = dataContributions{}
	return all
}

func (t *dataContributions) free() {
	for _, c := range t.idle {
		c.data.d.free()
	}
	for _, c := range t.leaves {
		c.d.free()
	}
}

// CombineData is Combine where all contributions are data. p is empty, before and after.
func (h Managed) CombineData(p *Placement, none []Box, all bool) error {
	t := h.redux.takeData()
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
			h.copyWhole(into, from)
			return nil
		})
		cs = cs[1:]
	case len(none) > 0: // sum up apart, and take the sum where there is no value
		for _, c := range cs[1:] {
			if err == nil {
				err = h.combineData(p, cs[0], c)
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
		h.describeData(p, 0, op.Handle, &into)
	}
	h.describeData(p, 1, c, &from)
	err := fn(&into, &from)
	p.Release()
	return err
}

// combineData adds the contribution from to the contribution into.
func (h *Handle) combineData(p *Placement, into, from *Handle) error {
	return h.apply(p, Operand{Handle: into, Mode: modeRW}, from, h.combineOnce)
}

// fold combines the numbered contributions in their tree (redux.go), and returns
// what is to be added to the value of h, from left to right.
func (t *dataContributions) fold(h *Handle, p *Placement) (sums []*Handle, err error) {
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
			err = h.combineData(p, left, right)
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

// lostContribution returns why one of the contributions has lost its value, or nil.
func lostContribution(all []dataContribution) any {
	for _, t := range all {
		if _, why := Fault([]Operand{{Handle: t.data, Mode: modeR}}); why != nil {
			return why
		}
	}
	return nil
}

// gatherContributions combines the contributions of each device, as far as it can, and brings the
// rest to main memory: it returns those, which have all there is to add.
func (h *Handle) gatherContributions(all []dataContribution) (left []dataContribution, err error) {
	last := map[int]int{} // by node: its place in left
	for _, t := range all {
		if k, ok := last[t.node]; ok {
			done, err := h.combineOnDevice(left[k].data, t.data, h.d.reg.nodes[t.node])
			if err != nil {
				return nil, err
			}
			if done {
				continue
			}
		}
		last[t.node] = len(left)
		left = append(left, t)
	}
	for _, t := range left {
		if err := managed(t.data).Gather(); err != nil {
			return nil, err
		}
		if why := lostContribution(left); why != nil {
			return nil, &SpoiledError{why}
		}
	}
	return left, nil
}

// combineOnDevice adds the contribution from to the contribution into on a device. False: it
// cannot, or one of them was evicted, and nothing happened.
func (h *Handle) combineOnDevice(into, from *Handle, n *node) (done bool, err error) {
	here := n.dev.Arch() == hostArch
	on := h.reduce.On[n.dev.Arch()]
	if !here && on == nil || managed(into).Missing(n.id) > 0 || managed(from).Missing(n.id) > 0 {
		return false, nil
	}
	var p Placement
	ops := []Operand{{Handle: into, Mode: modeRW}, {Handle: from, Mode: modeR}}
	if p.Prepare(n.id, ops) != nil {
		return false, nil
	}
	defer p.Release()
	var x, y iface.Buffer
	p.Buffer(0, into, &x)
	p.Buffer(1, from, &y)
	managed(h).Own(x.Ptr, &x)
	managed(h).Own(y.Ptr, &y)
	s, e := n.take()
	if e != nil {
		return false, nil
	}
	defer n.give(s)
	err = guard("combine", h.reduce, func() error {
		if here {
			return s.Do(accel.Work{Name: h.reduce.Name, Bytes: 2 * h.bytes()}, func() error { return h.reduce.Combine(&x, &y) })
		}
		err := on(s, &x, &y)
		if e := s.Sync(); err == nil {
			err = e
		}
		return err
	})
	var declined *accel.DeclinedError
	switch {
	case h.d.reg.heard(err, n) != nil: // record the loss: no other goroutine may notice it
		p.Restore(ops) // or into is lost, which shows when it is brought
		return false, nil
	case errors.As(err, &declined): // both are as they were
		return false, nil
	}
	return err == nil, err
}

// hostArch is the Arch of devices whose kernels are functions of this process.
const hostArch = "cpu"
