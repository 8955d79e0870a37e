package engine

// Tasks that run again: because the program says that their kernels may (TaskOptions.Retry), or because
// they could not run on a device. The latter run elsewhere, or wait for memory there.
//
// A fault before the kernel starts leaves all data unchanged: a failed copy, no memory, a
// device that is lost or declines the kernel. The task then goes to a worker on another
// node, once for each node. When the device does not carry out the kernel, or is lost
// while it runs, the task runs again if it may and if what it reads is still somewhere:
// see Codelet.Pure and datamgr's Placement.Restore.

import (
	"errors"
	"fmt"
	"slices"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/sched"
)

// cannotRun handles t, which has its locks and whose kernel did not start because of err. It
// passes t to workers on another node, or parks it until there is memory; otherwise t fails,
// or is cancelled if what it reads was lost. given is as for parkForMemory.
func (w *worker) cannotRun(t *task, given uint64, err error) {
	t.x.place.Unclaim() // the device may be lost with it
	if t.x.formatted {
		t.settleLoss()
		var failed *ConversionError
		if errors.As(err, &failed) { // it would fail elsewhere, too
			w.fail(t, err)
			return
		}
	}
	var lost *accel.LostError
	if (errors.Is(err, datamgr.ErrSpoiled) || errors.As(err, &lost)) && w.refused(t) {
		return // what it reads was lost with a device
	}
	var gone *datamgr.SpoiledError
	if errors.As(err, &gone) { // a contribution that it was to add to
		others := slices.ContainsFunc(t.x.redux, func(c datamgr.Contribution) bool { return c.Lost() })
		if !others && w.node > 0 && w.elsewhere(t, false) {
			return
		}
		i := slices.IndexFunc(t.operands(), func(op Operand) bool { return op.Mode == iface.Redux })
		w.cancelFor(t, i, gone.Why.(*failure))
		return
	}
	if w.node > 0 && (w.elsewhere(t, false) || w.parkForMemory(t, given, err)) {
		return
	}
	w.fail(t, err)
}

// lostMeanwhile returns the failure that lost a value which the operands read, or nil if
// all are valid. err is the error of preparing them, which may name a failure itself.
func lostMeanwhile(ops []Operand, err error) *failure {
	if _, v := datamgr.Fault(ops); v != nil {
		return v.(*failure)
	}
	var gone *datamgr.SpoiledError
	if errors.As(err, &gone) {
		return gone.Why.(*failure)
	}
	return nil
}

// interrupted passes t, whose kernel failed with err, to workers on another node, and
// reports whether it did. It does not where the fault is not the device's, where running the
// kernel twice could change the result, and where no other worker may run it.
func (w *worker) interrupted(t *task, err error) bool {
	if w.node == 0 {
		return false
	}
	var lost *accel.LostError
	if errors.As(err, &lost) && lost.Device == w.dev.Name() {
		w.rt.reg.Lose(w.node, lost)
	}
	var declined *accel.DeclinedError
	if errors.As(err, &declined) && w.rt.reg.Lost(w.node) == nil {
		sp := t.special()
		return (sp == nil || sp.OnStart == nil) && w.elsewhere(t, false) // nothing was begun
	}
	var failed *accel.KernelError
	switch {
	case w.rt.reg.Lost(w.node) != nil:
		if w.arch == cpuArch && !t.codelet.Pure {
			return false
		}
	case !errors.As(err, &failed) || !t.codelet.Pure || t.contributes():
		return false // contributions of other tasks stay as the kernel left them
	}
	return w.elsewhere(t, true)
}

// contributes reports whether t has REDUX operands.
func (t *task) contributes() bool {
	return slices.ContainsFunc(t.operands(), func(op Operand) bool { return op.Mode == iface.Redux })
}

// elsewhere passes t, which this worker could not run, to workers on nodes where t has not
// been. It reports false if there are none, or if t cannot be run again. begun is set if its
// kernel has been called.
func (w *worker) elsewhere(t *task, begun bool) bool {
	x, rt := t.x, w.rt
	if sp := t.special(); t.kind != userTask || sp != nil && (sp.gang != nil || begun && sp.OnStart != nil) ||
		(t.job.opt.Deterministic || begun && rt.limited) && len(x.redux) > 0 {
		return false
	}
	if k := x.public; k != nil && k.subgraph().begun() {
		return false // its tasks would be submitted twice; they are cancelled with it
	}
	tried := x.tried | 1<<w.node
	var left []int
	for i, o := range rt.workers {
		if tried&(1<<o.node) == 0 && t.Allows(i) && rt.reg.Lost(o.node) == nil {
			left = append(left, i)
		}
	}
	if len(left) == 0 || begun && !x.place.Restore(t.operandsToRestore()) {
		return false
	}
	t.restoreSizes()
	sub := rt.reg.Lock()
	set := sched.NewSet(left...)
	if known, err := rt.workerSet(sub, left); err == nil && known != nil {
		set = known
	}
	sub.Unlock()
	x.tried = tried
	w.giveUpNode(t)
	t.Allowed = set
	w.push(t)
	return true
}

// giveUpNode releases the memory, contributions and locks that t got for its kernel, which
// does not run here.
func (w *worker) giveUpNode(t *task) {
	x := t.x
	if x.started {
		x.started = false
		datamgr.Expect(t.expectedOperands(), w.rt.when(t))
	}
	x.place.Release()
	x.placed = nil
	for i := range x.redux {
		x.redux[i].GiveUp()
	}
	if !t.job.opt.Deterministic { // in such a job they are numbered, and t takes the same ones again
		x.redux = x.redux[:0]
	}
	x.locks.Release(w.c)
	w.unpublish(t)
}

// lostNode is called once when a device is lost. It returns the failure recorded for data
// that had no other copy.
func (rt *Runtime) lostNode(node int, err *accel.LostError) any {
	rt.lost.Or(1 << node)
	return &failure{codelet: lostCodelet, worker: err.Device, cause: err}
}

// lostCodelet names what lost data on a device in errors.
var lostCodelet = &Codelet{Name: "device"}

// Kernels that may run again.
//
// The worker copies what the kernel reads and writes before the first run, and puts the copy back
// before each other run. Locks, memory and the workers of a gang stay the task's meanwhile: others see
// one run.

// keepOperands prepares t for a kernel that may run again.
func (w *worker) keepOperands(t *task) error {
	sp := t.special()
	if sp == nil || sp.retry == 0 || sp.runs > sp.retry {
		return nil
	}
	s := &datamgr.Snapshot{}
	ops := t.placedOperands()
	for i := range ops {
		op := &ops[i]
		if !op.Mode.Writes() || op.Handle.Desc().Kind == iface.Void || op.Mode.Declared() == iface.W && !t.x.shared {
			continue
		}
		node := w.tc.Node(i)
		if isObjectHandle(op.Handle) {
			node = 0
		}
		b := *w.tc.Buffer(i)
		if op.Mode != iface.Redux {
			b = w.tc.Room(i)
		}
		if err := s.Keep(node, op.Handle, &b); err != nil {
			return fmt.Errorf("cannot keep operand %d of %s for another run: %w", i, t.codelet.Name, err)
		}
	}
	sp.kept = s
	return nil
}

// mayRunAgain reports whether the kernel of t, which failed with err, may succeed if it runs again.
func (w *worker) mayRunAgain(t *task, err error) bool {
	var panicked *PanicError
	var lost *accel.LostError
	var declined *accel.DeclinedError
	var breach *VerifyError
	switch {
	case errors.As(err, &panicked) || errors.As(err, &breach) || errors.Is(err, goexitError{}):
		return false // a mistake of the kernel
	case errors.As(err, &lost) || errors.As(err, &declined) || w.node > 0 && w.rt.reg.Lost(w.node) != nil:
		return false // see interrupted
	case w.tc.Context().Err() != nil || t.Order <= t.job.cancelled.Load():
		return false
	}
	g := t.x.public.subgraph()
	return g == nil || !g.begun() // else its tasks would be submitted twice
}

// Tasks that wait for memory on a device because the program holds data there.
//
// Where only other tasks use the memory, a worker waits in Placement.admit (package datamgr)
// until they end. The program's holds may last for ever, so a task that needs their memory
// leaves its worker and is parked here until a release. A program that waits for such a task
// while it holds the data gets a StuckError.

// recordHold counts a as an access that holds memory on its device. Call it before
// Placement.Hold: a task that fails to get memory because of that hold must find it counted.
func (a *Access) recordHold() {
	rt := a.job.rt
	sub := rt.reg.Lock()
	defer sub.Unlock()
	if rt.memoryWaiters.holding == nil {
		rt.memoryWaiters.holding = map[int]int{}
	}
	rt.memoryWaiters.holding[a.opt.Node]++
	a.holdsMemory = true
}

// parkForMemory parks t, for which there was no memory, until the program releases some, and
// reports whether it did. It does not if err is something else or the program holds none.
// given is what memoryWaiters.given was before t looked for room.
func (w *worker) parkForMemory(t *task, given uint64, err error) bool {
	rt := w.rt
	var full *accel.NoMemoryError
	if sp := t.special(); !errors.As(err, &full) || sp != nil && sp.gang != nil {
		return false
	}
	sub := rt.reg.Lock()
	missed := rt.memoryWaiters.given.Load() != given
	holds := rt.memoryWaiters.holding[w.node] > 0
	sub.Unlock()
	if !holds && !missed {
		return false
	}
	w.giveUpNode(t)
	sub = rt.reg.Lock()
	defer sub.Unlock()
	if rt.memoryWaiters.given.Load() != given || t.Order <= t.job.cancelled.Load() {
		rt.pushOutside(sub, t)
		return true
	}
	if rt.memoryWaiters.waiting == nil {
		rt.memoryWaiters.waiting = map[int][]*task{}
	}
	rt.memoryWaiters.waiting[w.node] = append(rt.memoryWaiters.waiting[w.node], t)
	return true
}

// retryMemoryWaiters makes the tasks that wait for memory on a node ready again, after some
// was released there. kept reports that the program held it.
func (rt *Runtime) retryMemoryWaiters(node int, kept bool) {
	sub := rt.reg.Lock()
	defer sub.Unlock()
	if kept {
		rt.memoryWaiters.holding[node]--
	}
	rt.memoryWaiters.given.Add(1)
	for _, t := range rt.memoryWaiters.waiting[node] {
		rt.pushOutside(sub, t)
	}
	delete(rt.memoryWaiters.waiting, node)
}

// dropMemoryWaiters makes the tasks of j up to number id that wait for memory ready again.
// Their job was cancelled, so a worker ends them without running them.
func (j *Job) dropMemoryWaiters(sub datamgr.Submission, id int64) {
	waiting := j.rt.memoryWaiters.waiting
	for node, ts := range waiting {
		waiting[node] = slices.DeleteFunc(ts, func(t *task) bool {
			if t.job != j || t.Order > id {
				return false
			}
			j.rt.pushOutside(sub, t)
			return true
		})
	}
}
