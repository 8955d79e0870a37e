package engine

// Internal tasks: reductions, lazy initialisations, gathering, invalidation, the end of
// data.

import (
	"fmt"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/sched"
)

// runInternal runs a reduction, an initialisation or a gathering; its locks are
// taken.
func (w *worker) runInternal(t *task) {
	x, ops := t.x, t.operands()
	h := x.h
	if t.kind == reduceTask {
		if v := managed(h).TakeFault(); v != nil {
			managed(h).DropContributions()
			w.endInternal(t, v.(*failure), nil)
			return
		}
	}
	if t.kind == duplicateTask {
		t.settleLoss()
	}
	if t.kind == reduceTask || t.kind == duplicateTask {
		if _, v := datamgr.Fault(ops); v != nil {
			if t.kind == reduceTask {
				managed(h).DropContributions()
			}
			w.endInternal(t, v.(*failure), nil)
			return
		}
	}
	if w.rt.hasListeners() {
		w.rt.event(TaskStarted, t, w.id, nil)
	}
	what := "combine"
	exit := func(error) {
		w.failInternal(t, managed(h).Exited(what))
		w.rest()
	}
	var err error
	switch t.kind {
	case reduceTask:
		if w.rt.limited {
			err = callKernel(func(*TaskContext) error { return managed(h).CombineData(&x.place, x.none, x.all) }, nil, exit)
			break
		}
		if err = x.place.Prepare(0, ops); err != nil {
			managed(h).DropContributions()
			break
		}
		var b iface.Buffer
		x.place.Buffer(0, h, &b)
		err = callKernel(func(*TaskContext) error { return managed(h).Combine(&b, x.none, x.all) }, nil, exit)
	case initTask:
		what = "initialise"
		err = callKernel(func(*TaskContext) error {
			if w.rt.limited {
				return managed(h).InitialiseAside(&x.place, x.none)
			}
			return managed(h).Initialise(x.none, x.all)
		}, nil, exit)
	case duplicateTask:
		err = w.runDuplicate(t)
	case convertTask:
		what = "convert"
		err = w.toMain(t, h)
	case gatherTask:
		if err = w.toMain(t, h); err != nil {
			break
		}
		if x.node == 0 || !x.place.GatherOn(x.node, ops) {
			err = managed(h).Gather()
		}
	}
	if err != nil {
		if f := lostMeanwhile(ops, err); f != nil && (t.kind == reduceTask || t.kind == duplicateTask) {
			w.endInternal(t, f, nil)
			return
		}
		w.failInternal(t, err)
		return
	}
	w.endInternal(t, nil, nil)
}

// failInternal ends an internal task that failed with err.
func (w *worker) failInternal(t *task, err error) {
	f := newFailure(t, w.name, err, false)
	t.job.report(f) // not counted: it is no task of the program
	w.endInternal(t, f, err)
}

func (w *worker) endInternal(t *task, f *failure, err error) {
	j := t.job
	if w.rt.hasListeners() {
		k := TaskDone
		switch {
		case err != nil:
			k = TaskFailed
		case f != nil:
			k = TaskCancelled
		}
		w.rt.event(k, t, w.id, err)
	}
	w.end(t, f)
	switch t.kind {
	case reduceTask, initTask, convertTask:
		t.x.making.End(w.c)
		t.x.making = nil
	case duplicateTask:
		t.x.dup.Copied(w.c)
	}
	w.recycle(t)
	j.internal.Add(1)
	w.count(j)
	w.c.FinishLate()
	w.flush() // at once: Stats takes internal tasks off what has ended
}

// runLight runs what has no kernel, on whatever goroutine released it. An
// unordered access that comes first now counts its lock as held meanwhile.
func (h *releaser) runLight(t *task) {
	switch t.kind {
	case relayTask:
		h.runRelay(t)
		return
	case specialTask:
		h.runSpecial(t)
		return
	case joinGangMarker:
		h.w.help()
		return
	}
	rt, x := h.rt, t.x
	var hold *datamgr.Hold
	if t.kind == acquireTask {
		hold = x.access.hold
	} else {
		hold = datamgr.NewHold(x.h, iface.W)
	}
	sub := rt.reg.Lock()
	sub.AddHold(hold)
	sub.Unlock()
	ops := t.operands()
	if (x.needLocks || t.state().Locks()) && !x.locks.Acquire(ops, false, h.c) {
		// t is not ours any more; giving the grace back may be what frees it
		sub = rt.reg.Lock()
		sub.EndHold(hold, h.c)
		sub.Unlock()
		return
	}
	x.hold = hold
	if a := x.access; a != nil && a.opt.Node > 0 && !a.opt.OrderOnly {
		h.grantAside(t)
		return
	}
	if t.kind == acquireTask {
		h.grant(t)
		return
	}
	switch t.kind {
	case invalidateTask:
		managed(x.h).Drop()
		wroteMain(x.h)
	case unregisterTask:
		if x.h.Home() {
			t.bringHome()
		}
	}
	h.endLight(t)
}

// bringHome copies the value of data that ends to the memory of the program. The program
// reads it there without a call that could return an error, so a failed copy is recorded
// for Failures. Values lost by a task were recorded when the task failed.
func (t *task) bringHome() {
	err := managed(t.x.h).BringHome()
	if f := conversionFailure(t.x.h); f != nil && err == nil {
		err = f.cause
	}
	if _, v := datamgr.Fault([]Operand{{Handle: t.x.h, Mode: iface.R}}); err == nil && v != nil {
		if f := v.(*failure); f.codelet == lostCodelet {
			err = f.cause
		}
	}
	if err != nil {
		t.job.report(newFailure(t, "", fmt.Errorf("the memory of the program does not have the value of %s: %w", describe(t.x.h), err), false))
	}
}

// endLight ends a light task and recycles it.
func (h *releaser) endLight(t *task) {
	rt, j, root := h.rt, t.job, t.x.h
	free := t.kind == unregisterTask
	counted := t.kind != acquireTask
	node, kept := 0, false
	if !counted {
		node, kept = t.x.access.opt.Node, t.x.access.holdsMemory
	}
	sub := rt.reg.Lock()
	sub.EndHold(t.x.hold, h.c)
	sub.Unlock()
	if rt.hasListeners() {
		rt.event(TaskDone, t, h.id, nil)
	}
	if free {
		freeFormats(root)
		managed(root).Free()
	}
	h.end(t, nil)
	t.clear()
	t.SetNext(nil)
	rt.giveBack(t, t)
	if node > 0 {
		rt.retryMemoryWaiters(node, kept)
	}
	if counted {
		j.internal.Add(1)
		j.ended.Add(1)
		rt.progress()
	}
}

// runDuplicate makes the copy of a duplicate.
func (w *worker) runDuplicate(t *task) error {
	x, ops := t.x, t.operands()
	if err := w.toMain(t, ops[0].Handle); err != nil {
		return err
	}
	if w.rt.limited {
		return x.dup.CopyAside()
	}
	if err := x.place.Prepare(0, ops); err != nil {
		return err
	}
	var from, to iface.Buffer
	x.place.Buffer(0, ops[0].Handle, &from)
	x.place.Buffer(1, ops[1].Handle, &to)
	datamgr.CopyBuffer(&to, &from)
	return nil
}

// Tasks with a prologue or without a kernel.

// runSpecial does what comes before the policy sees a task; a task without a
// kernel runs here.
func (h *releaser) runSpecial(t *task) {
	rt, x := h.rt, t.x
	if h.inPoll() || h.id == sched.Outside && rt.mayBeInKernel() {
		// hooks do not nest, or a chain of them could exceed any stack
		h.push(t)
		return
	}
	sp := x.public.opts
	if x.public.phase() == begun { // it is back, with the locks that it missed
		h.runWithoutKernel(t)
		return
	}
	x.public.advance(begun)
	if h.refused(t) {
		return
	}
	if sp.Prologue == nil {
		h.runWithoutKernel(t)
		return
	}
	h.hook(x.public, "prologue", sp.Prologue, func(err error) {
		switch {
		case err != nil:
			h.fail(t, err)
		case sp.nowhere:
			h.runWithoutKernel(t)
		default:
			t.kind = userTask
			h.push(t)
		}
	})
}

// runWithoutKernel runs a task without a kernel.
func (h *releaser) runWithoutKernel(t *task) {
	rt, x := h.rt, t.x
	if (x.needLocks || t.state().Locks()) && !x.locks.Acquire(t.operands(), x.allUnordered, h.c) {
		return // it comes back
	}
	if rt.hasListeners() {
		rt.event(TaskStarted, t, h.id, nil)
	}
	end := func(err error) {
		if err != nil {
			h.fail(t, err)
			return
		}
		if rt.hasListeners() {
			rt.event(TaskDone, t, h.id, nil)
		}
		h.endUser(t, nil, nil)
	}
	if sp := x.public.opts; sp.OnStart != nil {
		h.hook(x.public, "start hook", sp.OnStart, end)
		return
	}
	end(nil)
}
