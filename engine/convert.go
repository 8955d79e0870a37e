package engine

// Conversions between the layouts of data, by the worker that runs a task which needs them.

import (
	"errors"
	"time"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/internal/isolate"
)

// chooseFormats gives t, whose locks are taken, the layouts that w has, and converts what t reads. An error is
// one of a placement, or a *ConversionError.
func (w *worker) chooseFormats(t *task) error {
	ops := t.operands()
	t.x.placed = nil
	for i := range ops {
		fs := formatsOf(ops[i].Handle)
		if fs == nil || !ops[i].Mode.Reads() {
			continue
		}
		if err := w.convert(t, fs, fs.layout(w, t.codelet, i, &ops[i])); err != nil {
			return err
		}
	}
	t.x.placed = w.rt.placedOn(w, t.codelet, ops)
	return nil
}

// convert makes the value of fs, which t reads, valid in layout to. One worker converts, and others that need
// the same value wait for it.
func (w *worker) convert(t *task, fs *formats, to int) error {
	for {
		fs.mu.Lock()
		for fs.mu.busy {
			if len(w.queued) > 0 { // what converts may wait for memory that they have
				fs.mu.Unlock()
				w.drainQueue()
				fs.mu.Lock()
				continue
			}
			fs.wake.Wait()
		}
		fs.lossLocked()
		valid := fs.mu.valid
		if valid == 0 || valid&(1<<to) != 0 { // without a valid layout the fault of the data says why
			fs.mu.Unlock()
			return nil
		}
		fs.mu.busy = true
		fs.mu.Unlock()
		next := to
		if valid&1 == 0 {
			next = 0 // layouts of devices are made from that of main memory
		}
		from := 0
		for next == 0 && valid&(1<<from) == 0 {
			from++
		}
		f, err := w.runConversion(t, fs, from, next)
		fs.mu.Lock()
		if err == nil {
			fs.mu.valid |= 1 << next
		}
		if next == 0 {
			fs.mu.failed = f
		}
		fs.lossLocked()
		again := err == nil || fs.mu.valid != valid && fs.mu.valid != 0
		fs.mu.busy = false
		fs.wake.Broadcast()
		fs.mu.Unlock()
		if !again {
			return err
		}
	}
}

// runConversion converts fs from one layout to another for t. One of the two is that of main memory.
func (w *worker) runConversion(t *task, fs *formats, from, to int) (*failure, error) {
	w.drainQueue() // it may wait for memory
	rt, j := w.rt, t.job
	c, name := fs.conversion(from, to)
	ops := []Operand{{Handle: fs.handle(from), Mode: iface.R}, {Handle: fs.handle(to), Mode: iface.W}}
	node := 0
	if to > 0 && rt.convertsThere(w, c, ops) {
		node = w.node
	}
	sub := rt.reg.Lock()
	u := rt.newConversion(sub, t, c, ops)
	j.live++
	if rt.hasListeners() {
		rt.submittedEvent(sub, u, nil)
	}
	sub.Unlock()
	err := w.prepareConversion(u, node)
	if err == nil {
		err = w.callConversion(u, node)
		if err != nil && !ofDevice(err) {
			err = &ConversionError{Handle: fs.h, Codelet: c, Format: name, Cause: err}
		}
	}
	var lost *accel.LostError
	if errors.As(err, &lost) && lost.Device == w.dev.Name() {
		rt.reg.Lose(w.node, lost)
	}
	u.x.place.Release()
	kind, f := TaskDone, (*failure)(nil)
	if err != nil {
		kind, f = TaskFailed, newFailure(u, w.name, err, false)
	}
	if rt.hasListeners() {
		rt.event(kind, u, w.id, err)
	}
	u.clear()
	u.SetNext(nil)
	rt.giveBack(u, u)
	j.internal.Add(1)
	j.ended.Add(1)
	rt.progress()
	return f, err
}

// newConversion makes the record of a conversion for t.
func (rt *Runtime) newConversion(sub datamgr.Submission, t *task, c *Codelet, ops []Operand) *task {
	j := t.job
	u := rt.newTask(sub, false)
	x := u.extend()
	u.job, u.kind, u.codelet, u.marks, u.Priority = j, convertTask, c, u.marks&isWide, t.Priority
	j.internals++
	u.Order = -j.internals
	u.setOperands(ops)
	x.placed = u.operands()
	x.expected = ops[:1]
	if formatsOf(ops[0].Handle) != nil {
		x.expected = ops[1:]
	}
	u.accessSlots(0)
	from := t.submittedAt()
	u.setOrigin(&from)
	return u
}

// prepareConversion brings the operands of the conversion u to a node.
func (w *worker) prepareConversion(u *task, node int) error {
	x := u.x
	x.node = node
	if err := x.place.Prepare(node, u.operands()); err != nil {
		return err
	}
	x.place.Begin()
	return nil
}

// callConversion runs the kernel of u on the node where its operands are: that of the worker, or main memory.
func (w *worker) callConversion(u *task, node int) error {
	rt := w.rt
	w.tc.reset(u, w)
	if rt.hasListeners() {
		rt.event(TaskStarted, u, w.id, nil)
	}
	fn := u.codelet.CPU
	if node > 0 {
		fn = u.codelet.impls(w.arch)
	}
	kernel := func() (err error) {
		err = goexitError{}
		isolate.Call(func() { err = callKernel(fn[0], &w.tc, nil) })
		return err
	}
	start := time.Since(rt.began)
	var err error
	switch {
	case node == 0:
		err = kernel()
	case w.arch == cpuArch:
		err = w.stream.Do(accel.Work{Name: u.codelet.Name, Bytes: int64(u.moved())}, kernel)
	default:
		err = kernel()
		if e := w.stream.Sync(); err == nil {
			err = e
		}
	}
	if err == nil && rt.models.active.Load() {
		w.record(u, 0, time.Since(rt.began)-start)
	}
	return err
}

// ofDevice reports whether err says that a device failed, and not the function that it ran.
func ofDevice(err error) bool {
	var lost *accel.LostError
	var declined *accel.DeclinedError
	var failed *accel.KernelError
	return errors.As(err, &lost) || errors.As(err, &declined) || errors.As(err, &failed)
}

// toMain makes h, which t uses, valid in the layout of main memory. w is a worker there.
func (w *worker) toMain(t *task, h *datamgr.Handle) error {
	if fs := formatsOf(h); fs != nil {
		return w.convert(t, fs, 0)
	}
	return nil
}
