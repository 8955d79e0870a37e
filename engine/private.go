package engine

// Private memory of workers: what SCRATCH and REDUX operands of their tasks use.

import (
	"unsafe"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
)

// private makes operand i, SCRATCH, the worker's k-th private memory.
func (w *worker) private(k, i int, op *Operand) error {
	p, err := w.workspace(k, op.Handle)
	if err != nil {
		return err
	}
	op.Handle.Own(p, &w.tc.bufs[i])
	w.tc.set[i] = true
	return nil
}

// privates fills in the buffers of SCRATCH and REDUX operands.
func (w *worker) privates(t *task) error {
	k := 0
	for i, op := range t.operands() {
		switch op.Mode {
		case iface.Scratch:
			if w.nodeFor(&op) > 0 || w.rt.limited {
				t.x.place.Private(i, 0, op.Handle, &w.tc.bufs[i])
				w.tc.set[i] = true
				continue
			}
			if err := w.private(k, i, &op); err != nil {
				return err
			}
			k++
		case iface.Redux:
			if w.rt.limited {
				w.describeApart(t, i)
				continue
			}
			if w.describeThere(t, i) {
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

// scratch is private memory of a worker, kept from task to task.
type scratch struct {
	p     unsafe.Pointer
	bytes int64
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
		if op.Mode == iface.Scratch || op.Mode == iface.W && !(t.general && t.x.shared) {
			poison(w.tc.Buffer(i))
		}
	}
}
