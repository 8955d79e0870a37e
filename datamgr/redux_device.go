package datamgr

// Contributions on devices.
//
// A task on a device adds to a contribution that stays there for the next one, until
// the group ends: those of one device are then combined there, if its kernels can,
// and one copy brings the rest to main memory. Each is data of its own, which no view
// or task of the program sees: so it is evicted like other data when tasks need the
// room, and lost with the device when it is nowhere else.

import (
	"errors"
	"slices"
	"sync"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr/iface"
)

// there is a contribution that no task uses, and the node where it was added to last.
type deviceContribution struct {
	data *Handle
	node int
}

// newContributionDatum makes data for a contribution to h, with the initial value in main memory.
func (h *Handle) newContributionDatum() (*Handle, error) {
	desc := iface.Desc{Kind: h.kind, Elem: h.d.desc.Elem, Rank: h.rank}
	for k := range int(h.rank) {
		desc.Dim[k] = h.dim(k)
	}
	d := &Datum{reg: h.d.reg, desc: desc, box: boxOf(&desc), contribution: true}
	d.mu.wake = sync.NewCond(&d.mu.Mutex)
	d.layout(max(1, desc.Dim[max(0, int(desc.Rank)-1)]))
	d.state.Store(uint32(stateNodes))
	d.root = newFragment(d, d.box)
	c := &Handle{f0: d.root, frags: []*Fragment{d.root}, d: d, kind: desc.Kind, elem: desc.Elem, rank: desc.Rank, box: d.box, reduce: h.reduce}
	for k := range c.axes {
		c.axes[k] = int8(k)
	}
	d.whole = c
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

// ContributeOnDevice takes a contribution to h for a task on a node other than main
// memory: one that is there, if there is one that no task uses.
func (h Managed) ContributeOnDevice(node int) (Contribution, error) {
	a := h.redux
	a.mu.Lock()
	for i := len(a.mu.onDevices) - 1; i >= 0; i-- {
		if t := a.mu.onDevices[i]; t.node == node {
			a.mu.onDevices = slices.Delete(a.mu.onDevices, i, i+1)
			a.mu.Unlock()
			return Contribution{h: h.Handle, onDevice: t}, nil
		}
	}
	a.mu.Unlock()
	data, err := h.newContributionDatum()
	if err != nil {
		return Contribution{}, err
	}
	return Contribution{h: h.Handle, onDevice: deviceContribution{data, node}, fresh: true}, nil
}

// Operand returns the operand by which a task adds to a contribution on its device. ok is
// false if c is none.
func (c *Contribution) Operand() (op Operand, ok bool) {
	return Operand{Handle: c.onDevice.data, Mode: modeRW}, c.onDevice.data != nil
}

// DescribeOnDevice describes the contribution to h, which operand i of p is, in b. False: c is
// another, or in main memory.
func (c *Contribution) DescribeOnDevice(h *Handle, p *Placement, i int, b *iface.Buffer) bool {
	if c.h != h || c.onDevice.data == nil {
		return false
	}
	p.Buffer(i, c.onDevice.data, b)
	managed(h).Own(b.Ptr, b)
	return true
}

// takeOnDevices takes all contributions on devices. Nothing uses them any more.
func (a *accumulator) takeOnDevices() []deviceContribution {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := a.mu.onDevices
	a.mu.onDevices = nil
	return all
}

func freeDeviceContributions(all []deviceContribution) {
	for _, t := range all {
		t.data.d.free()
	}
}

// lostDeviceContribution returns why one of the contributions has lost its value, or nil.
func lostDeviceContribution(all []deviceContribution) any {
	for _, t := range all {
		if _, why := Fault([]Operand{{Handle: t.data, Mode: modeR}}); why != nil {
			return why
		}
	}
	return nil
}

// gatherContributions combines the contributions of each device, as far as it can, and brings the
// rest to main memory: it returns those, which have all there is to add.
func (h *Handle) gatherContributions(all []deviceContribution) (left []deviceContribution, err error) {
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
		if why := lostDeviceContribution(left); why != nil {
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
