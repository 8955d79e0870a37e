package engine

// Private memory of workers: what SCRATCH and REDUX operands of their tasks use.

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
)

// nodeFor is where a task on the worker has an operand.
func (w *worker) nodeFor(op *Operand) int {
	if op.Pin.Main() || isObjectHandle(op.Handle) {
		return 0
	}
	return w.node
}

// preparePrivate makes operand i, SCRATCH, the worker's k-th private memory.
func (w *worker) preparePrivate(k, i int, op *Operand) error {
	var p unsafe.Pointer
	if isObjectHandle(op.Handle) {
		p = managed(op.Handle).Scratch()
	} else {
		var err error
		if p, err = w.workspace(k, op.Handle); err != nil {
			return err
		}
	}
	managed(op.Handle).Own(p, &w.tc.bufs[i])
	w.tc.set[i] = true
	return nil
}

// preparePrivates fills in the buffers of SCRATCH and REDUX operands.
func (w *worker) preparePrivates(t *task) error {
	k := 0
	for i, op := range t.operands() {
		switch op.Mode {
		case iface.Scratch:
			if w.nodeFor(&op) > 0 || w.rt.limited {
				t.x.place.Private(i, 0, op.Handle, &w.tc.bufs[i])
				w.tc.set[i] = true
				continue
			}
			if err := w.preparePrivate(k, i, &op); err != nil {
				return err
			}
			k++
		case iface.Redux:
			if w.describeContribution(t, i) {
				continue
			}
			if err := w.contribute(t, i); err != nil {
				return err
			}
			if w.nodeFor(&op) > 0 {
				b := &w.tc.bufs[i]
				from := *b
				if err := t.x.place.Contribute(i, op.Handle, &from, b); err != nil {
					return err
				}
			}
			w.tc.set[i] = true
		}
	}
	return nil
}

// workspace returns the worker's k-th private memory, large enough for h.
func (w *worker) workspace(k int, h *datamgr.Handle) (unsafe.Pointer, error) {
	d := h.Desc()
	bytes := d.Bytes()
	if k == len(w.scratch) {
		w.scratch = append(w.scratch, scratch{})
	}
	s := &w.scratch[k]
	if s.p == nil || s.bytes < bytes {
		mem := w.rt.reg.Memory()
		mem.Free(s.p, s.bytes)
		*s = scratch{}
		p, err := mem.Alloc(bytes)
		if err != nil {
			return nil, err
		}
		*s = scratch{p, bytes}
	}
	return s.p, nil
}

// freeScratch gives the private memory back; the worker has stopped.
func (w *worker) freeScratch() {
	for _, s := range w.scratch {
		w.rt.reg.Memory().Free(s.p, s.bytes)
	}
	w.scratch = nil
}

// poison fills the buffers whose content the kernel must not read.
func (w *worker) poison(t *task) {
	for i, op := range t.operands() {
		if op.Mode == iface.Scratch || op.Mode.Declared() == iface.W && !(t.general && t.x.shared) {
			poison(w.tc.Buffer(i))
		}
	}
}

// Contributions to REDUX data that stay on a device.

// contributeOnDevice returns the operands of t as they are placed: what it adds to by
// REDUX on a device is data that stays there. Where the tree of contributions is
// fixed they are in main memory, as others are. When a function of the reduction ends
// the goroutine, the task has failed.
func (w *worker) contributeOnDevice(t *task) ([]Operand, error) {
	ops := t.placedOperands()
	on := func(op Operand) bool { return op.Mode == iface.Redux && w.nodeFor(&op) > 0 }
	if w.node == 0 || t.job.opt.Deterministic || !slices.ContainsFunc(ops, on) {
		return ops, nil
	}
	x := t.x
	ops = slices.Clone(ops)
	for i, op := range ops {
		if !on(op) {
			continue
		}
		var c datamgr.Contribution
		err := callKernel(func(*TaskContext) (err error) {
			c, err = managed(op.Handle).ContributeOnDevice(w.node)
			return err
		}, nil, func(error) { w.exit(t, managed(op.Handle).Exited("initialise")) })
		if err != nil {
			return nil, err
		}
		x.redux = append(x.redux, c)
		ops[i] = c.Operand()
	}
	return ops, nil
}

// describeContribution fills in the buffer of operand i, REDUX, if what t adds to is data.
func (w *worker) describeContribution(t *task, i int) bool {
	x, h := t.x, t.operands()[i].Handle
	for k := range x.redux {
		if x.redux[k].Describe(h, &x.place, i, &w.tc.bufs[i]) {
			w.tc.set[i] = true
			return true
		}
	}
	return false
}

// Bounded main memory: data for which there is no room is on a disk.

// placeOperands gives t, whose locks are taken, its memory, and brings what it reads.
func (w *worker) placeOperands(t *task) error {
	x, ops := t.x, t.placedOperands()
	if !w.rt.limited {
		ops, err := w.contributeOnDevice(t)
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
			c, err := w.contributeAside(t, ops[i].Handle, w.nodeFor(&ops[i]))
			if err != nil {
				return err
			}
			pin := ops[i].Pin
			ops[i] = c.Operand()
			ops[i].Pin = pin
		}
	}
	if sp := t.special(); sp != nil && sp.gang != nil && sp.gang.mode == SPMD {
		x.place.Ranks(sp.gang.size)
	}
	return x.place.Prepare(w.node, ops)
}

// contributeAside takes a contribution to h for t to add to on a node: the one reserved
// for it, or any idle one. If a function of the reduction ends the goroutine, the task
// fails.
func (w *worker) contributeAside(t *task, h *datamgr.Handle, node int) (*datamgr.Contribution, error) {
	x := t.x
	k := slices.IndexFunc(x.redux, func(c datamgr.Contribution) bool { return c.Waits(h) })
	if k < 0 {
		k = len(x.redux)
		x.redux = append(x.redux, managed(h).ContributeData(node))
	}
	c := &x.redux[k]
	err := callKernel(func(*TaskContext) error { return c.TakeData(&x.place) }, nil,
		func(error) { w.exit(t, managed(h).Exited("initialise")) })
	return c, err
}

// Deterministic jobs: what tasks compute is the same, to the last bit, for every number
// of workers, policy and run, a Sequential runtime included.
//
// Only two things let the order in which tasks happen to run show in results:
//
//   - COMMUTE, whose neighbouring uses run in any order. In a deterministic job
//     they are RW, or W, for the order of accesses (datamgr.MergeOptions.InOrder), so
//     they run in the order of their submission.
//   - REDUX, where tasks add to whichever private copy is at hand. In a
//     deterministic job every contribution has its own copy, and copies are
//     combined in a fixed tree over the order of submission, whose leftmost leaf
//     is the value that the handle had before (package datamgr, redux.go).
//
// Choices that the program leaves open stay open: which of several tasks without order
// (TaskSpec.Unordered, Operand.Unordered) goes first, the order of submissions that
// race, the content of SCRATCH operands and of the elements that a W operand left
// unwritten, and what a kernel makes of the number of its worker. Kernels must not depend
// on those.

// fixes reports whether a deterministic job has to look after one of the operands.
func fixes(ops []Operand) bool {
	for i := range ops {
		if ops[i].Mode.Commutes() || ops[i].Mode == iface.Redux {
			return true
		}
	}
	return false
}

// reserve numbers the contributions of a task of a deterministic job: a number
// for each REDUX operand, in their order.
func (x *taskExtra) reserve(sub datamgr.Submission, ops []Operand) {
	for i := range ops {
		if ops[i].Mode == iface.Redux {
			x.redux = append(x.redux, managed(ops[i].Handle).Reserve(sub))
		}
	}
}

// contribute takes a private copy for operand i of t, REDUX, and describes it in
// the buffer: the one reserved for it, or that of the worker. When a function of
// the reduction ends the goroutine, the task has failed.
func (w *worker) contribute(t *task, i int) error {
	h, b := t.operands()[i].Handle, &w.tc.bufs[i]
	return callKernel(func(*TaskContext) error {
		if !t.general {
			_, err := managed(h).Contribute(w.own, b) // the worker's, which is not given back
			return err
		}
		x := t.x
		for k := range x.redux {
			if c := &x.redux[k]; c.Waits(h) {
				return c.Take(b)
			}
		}
		c, err := managed(h).Contribute(w.own, b)
		if err == nil {
			x.redux = append(x.redux, c)
		}
		return err
	}, nil, func(error) { w.exit(t, managed(h).Exited("initialise")) })
}

// plant puts the numbered contributions of t, whose kernel has succeeded, in their
// trees, and ends t. It is called again when a function of a reduction ends the
// goroutine: that is no failure of t.
func (w *worker) plant(t *task, exiting bool) {
	for i := range t.x.redux {
		if c := &t.x.redux[i]; c.Taken() {
			_ = callKernel(func(*TaskContext) error { c.Plant(); return nil }, nil, func(error) { w.plant(t, true) })
		}
	}
	w.endUser(t, nil, nil)
	if exiting {
		w.rest()
	}
}

// Sizes that are known only when a task starts.

// checkSizes checks what could not be checked when t was submitted, as the sizes of data with a
// capacity were not known.
func (t *task) checkSizes() error {
	ops := t.operands()
	if !slices.ContainsFunc(ops, func(op Operand) bool { return op.Handle.Resizable() }) {
		return nil
	}
	if i := datamgr.Beyond(ops); i >= 0 {
		return &ShapeError{Operands: []int{i}, Message: fmt.Sprintf("%s lies beyond the content of its data when the task starts", describe(ops[i].Handle))}
	}
	if t.codelet.Shape == nil {
		return nil
	}
	ds := make([]iface.Desc, len(ops))
	for i := range ops {
		if ds[i] = ops[i].Handle.Content(); ops[i].Mode == iface.Scratch {
			ds[i] = ops[i].Handle.Desc()
		}
	}
	return callShape(t.codelet, ds, t.arguments())
}

func callShape(c *Codelet, ops []iface.Desc, args []iface.Scalar) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("engine: shape function of %s: %w", c.Name, newPanic(v))
		}
	}()
	return c.Shape(ops, args)
}

// Filling buffers: zeros, and what looks like nothing.

// zero clears the elements of b.
func zero(b *iface.Buffer) { fill(b, 0) }

// poison fills b with what looks like nothing a kernel would have written: NaN
// in floats, a pattern in integers.
func poison(b *iface.Buffer) {
	if b.Elem.Part().IsFloat() {
		fill(b, 0xff)
		return
	}
	fill(b, 0xa5)
}

// fill sets every byte of b's elements.
func fill(b *iface.Buffer, v byte) {
	eachRun(b, func(_ int, mem []byte) {
		for i := range mem {
			mem[i] = v
		}
	})
}
