package engine

// Kernels queued behind each other, on devices whose kernels run while their worker goes
// on: the next task's kernel is begun before the one that runs has ended, so that the
// device need not wait for its host between two.
//
// A worker has a few streams, and a kernel in flight has one of them for itself, so an
// error is that of its task. Tasks that are ready together need nothing of each other.
// A task joins others in flight only if its data is there already and it takes no
// memory: nothing that it could wait for waits for them.

import (
	"errors"
	"time"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/engine/sched"
)

// DefaultQueue is the default of Options.Queue. An event costs more than waiting for a
// stream does where kernels are short: on PoCL an empty task takes 40 µs with a queue of
// two, and 3 without.
const DefaultQueue = 1

// addSlots makes the streams of w in addition to w.stream, which is one of them.
func (w *worker) addSlots() error {
	for range w.rt.opt.Queue {
		s, err := w.dev.NewStream()
		if err != nil {
			return err
		}
		k := &slot{stream: s}
		sub := w.rt.reg.Lock()
		sub.AddPublisher(&k.pub)
		sub.Unlock()
		w.slots = append(w.slots, k)
		if w.arch == cpuArch {
			break // there a kernel has ended when the call of it returns
		}
	}
	w.stream = w.slots[0].stream
	return nil
}

// mayQueue reports whether the kernel of t may be in flight while its worker goes on.
func (w *worker) mayQueue(t *task) bool {
	if len(w.slots) < 2 || t.kind != userTask || t.job.opt.MaxWorkers > 0 {
		return false
	}
	if tr := t.codelet.Traits; tr != nil && tr.Parallel != Single {
		return false
	}
	sp := t.special()
	return sp == nil || sp.OnStart == nil && sp.retry == 0 // a hook may wait for what it likes
}

// launch calls fn, the kernel of t, and leaves it in flight.
func (w *worker) launch(t *task, fn Impl, impl int) {
	f := queuedKernel{t: t, impl: impl}
	for _, s := range w.slots { // one is free: else something would have landed
		if !s.taken {
			f.slot, w.stream = s, s.stream
		}
	}
	err := callKernel(fn, &w.tc, func(err error) {
		w.drainQueue()
		_ = w.stream.Sync()
		w.kernelStarted(&f)
		w.kernelEnded(&f, err)
		w.exit(t, err)
	})
	if err == nil {
		f.event, err = w.stream.Record()
	}
	if err != nil {
		w.drainQueue()
		var lost *accel.LostError
		if e := w.stream.Sync(); errors.As(e, &lost) {
			err = e // that says more
		}
		w.kernelStarted(&f)
		w.kernelEnded(&f, err)
		w.finishQueued(t, err)
		return
	}
	f.slot.pub.Begin(&t.Waiter, w.c) // beside w.pub, which the next task has
	f.slot.taken = true
	w.queued = append(w.queued, f)
	if len(w.queued) == 1 {
		w.kernelStarted(&w.queued[0])
	}
	w.lookahead.kernelBegins()
}

// kernelStarted notes that the kernel of f is the first in the queue.
func (w *worker) kernelStarted(f *queuedKernel) {
	rt, j := w.rt, f.t.job
	if rt.hasListeners() {
		rt.event(TaskStarted, f.t, w.id, nil)
	}
	rt.reg.KernelBegins(w.node)
	if !j.timed.Load() {
		return
	}
	if j.stats != nil {
		f.count = w.tally.begin(w, j, f.t.codelet)
	}
	w.laneTaskStarted(f.t)
	f.start = max(1, time.Since(rt.began))
}

// kernelEnded notes that the kernel of f has ended.
func (w *worker) kernelEnded(f *queuedKernel, err error) {
	rt, j := w.rt, f.t.job
	rt.reg.KernelEnds(w.node)
	if f.start > 0 {
		d := time.Since(rt.began) - f.start
		w.laneTaskEnded(f.t, d)
		if j.stats != nil {
			w.tally.timed(w, f.count, f.t, d)
		}
		if err == nil && rt.models.active.Load() {
			w.record(f.t, f.impl, d)
		}
	}
	if err == nil && rt.hasListeners() {
		rt.event(TaskDone, f.t, w.id, nil)
	}
}

// awaitOldest waits for the first kernel in the queue and ends its task.
func (w *worker) awaitOldest() {
	f := w.queued[0]
	if f.over != nil {
		<-f.over
	}
	err := f.event.Sync()
	if err != nil {
		_ = f.slot.stream.Sync() // err reports its failure
	}
	w.queued = append(w.queued[:0], w.queued[1:]...)
	f.slot.taken = false
	w.kernelEnded(&f, err)
	if len(w.queued) > 0 {
		w.kernelStarted(&w.queued[0])
	} else {
		w.lookahead.kernelEnds()
	}
	w.finishQueued(f.t, err)
	f.slot.pub.End(w.c)
	w.drain()
}

// await waits for the first kernel in the queue, and ends its task, or for something to
// queue behind it; looking: w was woken to look for work.
func (w *worker) await() (looking bool) {
	w.c.FinishLate()
	w.drain()
	w.flush()
	p := &w.rt.parking
	f := &w.queued[0]
	if f.over == nil {
		over, event := make(chan bool), f.event
		f.over = over
		go func() { // awaitOldest waits for it
			defer close(over)
			_ = event.Sync() // awaitOldest asks again
		}()
	}
	p.enter(w)
	var it *sched.Item
	if !w.rt.lanes.on.Load() {
		it = w.rt.policy.Pop(w.id)
	} else {
		it, _ = w.popAsleep()
	}
	if it != nil {
		if !p.leave(w) && <-w.park { // another goroutine is waking us
			p.looking.Store(0)
		}
		p.more(w.rt)
		w.run(itemTask(it))
		return false
	}
	select {
	case looking = <-w.park:
		return looking
	case <-f.over:
		if !p.leave(w) && <-w.park {
			p.found(w.rt) // awaitOldest takes a while
		}
		w.awaitOldest()
		return false
	}
}

// drainQueue ends all tasks in flight.
func (w *worker) drainQueue() {
	if len(w.queued) == 0 {
		return
	}
	for len(w.queued) > 0 {
		w.awaitOldest()
	}
	w.share() // something comes before what they released
}

// finishQueued ends t, whose kernel ended with err.
func (w *worker) finishQueued(t *task, err error) {
	if err != nil && w.interrupted(t, err) {
		return
	}
	if err == nil && w.node > 0 {
		err = t.x.place.Collect(w.rt.reg)
	}
	if err != nil {
		w.fail(t, err)
		return
	}
	if t.x.formatted {
		t.wroteFormats()
	}
	w.plant(t, false)
}

// unpublish records that w does not run t any more: another worker may run it now.
func (w *worker) unpublish(t *task) {
	if w.pub.Runs(&t.Waiter) {
		w.pub.End(w.c)
	}
	for _, s := range w.slots {
		if s.pub.Runs(&t.Waiter) {
			s.pub.End(w.c)
		}
	}
}

// Kernels on a device that the worker waits for.

// begins says that a kernel begins to run where memory is bounded.
func (w *worker) begins() {
	w.lookahead.kernelBegins()
	w.rt.reg.KernelBegins(w.node)
}

// ends is the end of what begins began.
func (w *worker) ends() {
	w.lookahead.kernelEnds()
	w.rt.reg.KernelEnds(w.node)
}

// callOnDevice calls fn, the kernel of t, on the worker's stream and waits for what it has begun.
func (w *worker) callOnDevice(t *task, fn Impl) error {
	w.begins()
	defer w.ends() // also when the kernel ends the goroutine
	if w.arch == cpuArch {
		work := accel.Work{Name: t.codelet.Name, Flops: t.work()}
		for i := range t.operands() {
			d := t.operands()[i].Handle.Desc()
			work.Bytes += d.Bytes()
		}
		return w.stream.Do(work, func() error {
			if w.rt.opt.Poison {
				w.poison(t) // here: the device may be lost, and its memory gone, at any other time
			}
			return callKernel(fn, &w.tc, func(err error) { w.exit(t, err) })
		})
	}
	err := callKernel(fn, &w.tc, func(err error) {
		_ = w.stream.Sync()
		w.exit(t, err)
	})
	if e := w.stream.Sync(); err == nil {
		err = e
	}
	return err
}
