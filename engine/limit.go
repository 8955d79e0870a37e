package engine

// Bounded main memory: data for which there is no room is on a disk.

import (
	"fmt"
	"slices"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/cpu"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
)

// checkLimit checks RAM and Disk.
func (o *Options) checkLimit() error {
	if o.Plan != nil { // which takes no memory
		o.RAM, o.Disk = 0, nil
	}
	switch {
	case o.RAM < 0:
		return fmt.Errorf("engine: %d bytes of main memory; the number is positive, or 0 for no limit", o.RAM)
	case o.RAM == 0 && o.Disk == nil:
		return nil
	case o.RAM == 0:
		return fmt.Errorf("engine: the disk %s is for data that main memory has no room for: say how much it has in Options.RAM", o.Disk.Name())
	case o.Disk == nil:
		return fmt.Errorf("engine: main memory of %s needs a disk for the rest, Options.Disk", accel.Bytes(o.RAM))
	case o.Sequential:
		return fmt.Errorf("engine: a Sequential runtime is the reference, and has no limit of main memory")
	case o.Disk.Memory().Host() || slices.Contains(o.Devices, o.Disk):
		return fmt.Errorf("engine: the device %s cannot be the disk", o.Disk.Name())
	}
	return nil
}

// addDisk makes the disk known, after all devices.
func (rt *Runtime) addDisk() {
	if rt.opt.Disk != nil {
		rt.limited = true
		rt.diskNode = rt.reg.AddDisk(rt.opt.Disk, cpu.New(0).Memory().Capacity())
	}
	rt.nodes = rt.reg.NumNodes()
}

// DiskNode returns the number of the disk among the memory nodes, the last; false: there
// is none.
func (rt *Runtime) DiskNode() (node int, ok bool) { return rt.diskNode, rt.limited }

// place gives t, whose locks are taken, its memory, and brings what it reads.
func (w *worker) place(t *task) error {
	x, ops := t.x, t.operands()
	if !w.rt.limited {
		ops, err := w.contributeThere(t)
		if err != nil {
			return err
		}
		return x.place.Prepare(w.node, ops)
	}
	if slices.ContainsFunc(ops, func(op Operand) bool { return op.Mode == iface.Redux }) {
		ops = slices.Clone(ops) // tasks add to data of their own
		for i := range ops {
			if ops[i].Mode != iface.Redux {
				continue
			}
			c, err := w.contributeApart(t, ops[i].Handle, w.nodeFor(&ops[i]))
			if err != nil {
				return err
			}
			pin := ops[i].Pin
			ops[i] = c.Apart()
			ops[i].Pin = pin
		}
	}
	if sp := t.special(); sp != nil && sp.gang != nil && sp.gang.mode == SPMD {
		x.place.Ranks(sp.gang.size)
	}
	return x.place.Prepare(w.node, ops)
}

// contributeApart takes a contribution to h for t to add to on a node: the one reserved for it,
// or any that nobody uses. When a function of the reduction ends the goroutine, the
// task has failed.
func (w *worker) contributeApart(t *task, h *datamgr.Handle, node int) (*datamgr.Contribution, error) {
	x := t.x
	k := slices.IndexFunc(x.redux, func(c datamgr.Contribution) bool { return c.Waits(h) })
	if k < 0 {
		k = len(x.redux)
		x.redux = append(x.redux, h.ContributeApart(node))
	}
	c := &x.redux[k]
	err := callKernel(func(*TaskContext) error { return c.TakeApart(&x.place) }, nil,
		func(error) { w.exit(h.Exited("initialise")) })
	return c, err
}

// describeApart fills in the buffer of operand i, REDUX.
func (w *worker) describeApart(t *task, i int) {
	h := t.operands()[i].Handle
	for k := range t.x.redux {
		if c := &t.x.redux[k]; c.For(h) {
			c.Describe(&t.x.place, i, &w.tc.bufs[i])
			w.tc.set[i] = true
		}
	}
}
