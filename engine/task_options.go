package engine

// Task options: hooks, tasks without a kernel, and other uncommon properties. Plain tasks
// do not use them.

import (
	"fmt"
	"sync/atomic"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/sched"
)

// TaskOptions are uncommon properties of a task. The zero value is a plain task.
type TaskOptions struct {
	// Prologue runs when the task waits for nothing any more, before the policy
	// sees it. An error or a panic fails the task: its kernel does not run.
	Prologue Hook
	// OnStart runs on the worker, right before the kernel. An error or a panic
	// fails the task: its kernel does not run.
	OnStart Hook
	// Epilogue runs after a kernel that succeeded, before anything that waits
	// for the task is released. An error or a panic fails the task. When the
	// end of the task waits for others (see Task.AddEndDependency), the
	// epilogue comes after them, and what waits only for the data goes on before.
	Epilogue Hook
	// Callback runs once when the task has ended, however it ended: those that
	// wait for it in the graph have been released, those in Task.Wait have not.
	// Task.Err says how it ended. An error or a panic changes nothing for the
	// task and is among the job's Failures. Nil: the codelet's, if it has one.
	Callback Hook
	// Kinds restricts the task to workers of these kinds, see WorkerInfo.Kind;
	// nil: all. Allow restricts it to workers for which it returns true; nil: all.
	// Both add to TaskSpec.Workers. Allow runs inside the submission.
	Kinds []string
	Allow func(w WorkerInfo) bool
	// Size is the number of workers that a task of a parallel codelet gets; 0:
	// as many as may run it, MaxWorkers at most. More than there are is a
	// *SizeError, except in a Sequential runtime: there the ranks of a task run
	// one at a time, the lowest first, each until it comes to a barrier or
	// returns, and 0 means 1.
	Size int
	// Place is the task's place in the sequence that the job prescribes on a
	// worker, which TaskSpec.Workers names: a task with place n starts when
	// those with places 1 to n-1 have run, or will not, also those that are
	// submitted later. So no place can be left out, and none taken twice. 0: none.
	Place int64
	// Tag is notified when the task has ended, and makes it wait for what the
	// tag depends on. Any number of tasks may carry one tag.
	Tag *Tag
	// Repeat makes the task submit itself again when it has ended, as often as it returns
	// true; it is asked after the callback. Each round is a task of its own: its place in
	// the order of its data is the moment at which the round before ended, so what else
	// uses that data comes between two rounds, or not, as it happens, unless tags or
	// dependencies say when. A round that fails or is cancelled is the last one; so is
	// the one that runs when the job is cancelled or closed, or when Stop is called.
	// Those that wait for the task wait for its last round, except repeating tasks: their
	// n-th round waits for the n-th round of this one, its callback and Repeat included,
	// and comes after it in the order of data. One that waits for the last round cannot
	// use data that the rounds use, as the next would come behind it there: its
	// submission is a *RepeatError unless Stop was called. Where the next round would
	// come behind such a task indirectly, the task fails with a *RepeatError instead of
	// repeating. Nil: the task does not repeat.
	Repeat func(t *Task) bool
}

// Traits are uncommon properties of a codelet.
type Traits struct {
	// Nowhere makes tasks without a kernel: they take part in the order of
	// their data and dependencies, run their hooks, and touch nothing. Their
	// operands can be R, RW or COMMUTE. The codelet has no implementation.
	Nowhere bool
	// Parallel says whether and how a task uses several workers at once. Policies
	// see one task; it starts when it has all its workers. An element of a REDUX
	// operand must be written by one rank only.
	Parallel Parallelism
	// MaxWorkers bounds the number of workers of a task of a parallel codelet; 0:
	// all there are.
	MaxWorkers int
	// CanExecute says whether an implementation, a place in Codelet.CPU or in the
	// entry of Codelet.On for the worker's Arch, can serve a task with such operands on such a worker; nil: all can. It runs
	// inside the submission, and must give the same whenever it is asked.
	CanExecute func(w WorkerInfo, impl int, ops []iface.Desc, args []iface.Scalar) bool
	// Callback is for tasks that have none.
	Callback Hook
}

// emptyCodelet is that of tasks without one.
var emptyCodelet = &Codelet{Name: "empty", Traits: &Traits{Nowhere: true}}

// taskOptions is what a special task has, from its submission to its end.
type taskOptions struct {
	TaskOptions
	nowhere bool // no kernel

	can      []*sched.Set // by implementation: workers that can execute it; nil: all
	sequence *sequence    // of the place
	parent   *Subgraph    // that it belongs to
	size     int          // how many workers it has
	gang     *gang        // those, from when it starts

	spec    TaskSpec // of prepared and repeating tasks
	round   int64    // that was submitted last, from 1
	stopped atomic.Bool
	dropped bool     // the round did not run: Stop was called
	list    waitlist // tasks and callers that wait for a prepared task
	named   []*Task  // prepared tasks that will wait for this one; guarded by the submission lock
}

// special returns what t has if it is a special task, else nil.
func (t *task) special() *taskOptions {
	if t.general && t.x.public != nil {
		return t.x.public.opts
	}
	return nil
}

// runSpecial does what comes before the policy sees a task; a task without a
// kernel runs here.
func (h *releaser) runSpecial(t *task) {
	rt, x := h.rt, t.x
	if h.id == sched.Outside && rt.mayBeInKernel() {
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

// body returns the kernel of t: fn, or what runs fn on several workers.
func (w *worker) body(t *task, fn Impl) Impl {
	sp := t.special()
	if sp == nil || sp.gang == nil {
		return fn
	}
	g := sp.gang
	if g.mode == SPMD {
		fn = g.spmd(w, fn)
	}
	return func(c *TaskContext) error {
		c.part = &part{g, 0}
		defer func() { c.part = nil }()
		return fn(c)
	}
}

// runBody runs the kernel of a general task, with what goes with it.
func (w *worker) runBody(t *task) {
	end := func(err error) {
		if err == nil {
			i := w.implementation(t)
			if w.mayQueue(t) {
				w.launch(t, t.codelet.impls(w.arch)[i], i)
				return
			}
			err = w.kernel(t, w.body(t, t.codelet.impls(w.arch)[i]), i)
			if err != nil && w.interrupted(t, err) {
				return
			}
			if err == nil && w.collects(t) {
				if err = t.x.place.Collect(w.rt.reg); err == nil {
					if w.rt.hasListeners() {
						w.done(t)
					}
				}
			}
		}
		if err != nil {
			w.fail(t, err)
			return
		}
		w.plant(t, false)
	}
	if sp := t.special(); sp != nil && sp.OnStart != nil {
		w.hook(t.x.public, "start hook", sp.OnStart, end)
		return
	}
	end(nil)
}

// Where a task may run, and with which implementation of its codelet.

// WorkerInfo describes a worker.
type WorkerInfo struct {
	ID   int    // 0 to Runtime.Workers()-1
	Name string // "cpu 0"
	Kind string // what runs its kernels: "cpu", or the name of a device
	Arch string // what its kernels are written for: "cpu", "opencl", "cuda"
	Node int    // its memory node, a place in Runtime.Nodes()
}

// Worker describes worker i, one of 0 to Workers()-1.
func (rt *Runtime) Worker(i int) (WorkerInfo, error) {
	if i < 0 || i >= len(rt.workers) {
		return WorkerInfo{}, &NoWorkerError{Workers: []int{i}, Have: len(rt.workers)}
	}
	return rt.info(i), nil
}

func (rt *Runtime) info(i int) WorkerInfo {
	w := rt.workers[i]
	return WorkerInfo{ID: i, Name: w.name, Kind: w.kind, Arch: w.arch, Node: w.node}
}

// trials is how often an implementation is tried before it can lose, where its
// model does not know enough by then.
const trials = 5

// implementation chooses the implementation of t on worker w: of those that can
// execute it there, the first whose time is not known yet if times are
// measured, else the one that is expected to take least. The reference, and
// jobs that must give the same bits, take the first.
func (w *worker) implementation(t *task) int {
	sp, rt := t.special(), w.rt
	n := len(t.codelet.impls(w.arch))
	if sp == nil || n == 1 {
		return 0
	}
	able := func(i int) bool { return sp.can == nil || sp.can[i].Has(w.id) }
	first := 0
	for first < n-1 && !able(first) {
		first++
	}
	if rt.opt.Sequential || t.job.opt.Deterministic || rt.openModels() != nil {
		return first
	}
	rt.learn(t.job)
	best, least := first, -1.0
	for i := first; i < n; i++ {
		if !able(i) {
			continue
		}
		c := rt.call(t, i, rt.arch(w.id))
		e := rt.table(t.codelet).Estimate(c)
		rt.freeCall(c)
		if !e.Known && e.Samples < trials {
			return i
		}
		if e.Seconds > 0 && (least < 0 || e.Seconds < least) {
			best, least = i, e.Seconds
		}
	}
	return best
}

// Places: a sequence that the program prescribes on a worker.

// sequence is the order that one job prescribes on one worker. It is guarded by
// the submission lock.
type sequence struct {
	next  int64          // the place that may run
	ended map[int64]bool // of the places from next on that are taken: it has ended
	list  waitlist       // tasks whose place is behind next
}

// enterSequence takes the place of t, which is submitted to run on worker; it
// reports whether t has to wait for the places before.
func (sp *taskOptions) enterSequence(sub datamgr.Submission, t *task, worker int) bool {
	j := t.job
	q := j.sequences[worker]
	if q == nil {
		q = &sequence{next: 1, ended: map[int64]bool{}}
		q.list = waitlist{job: j, places: q, worker: worker}
		if j.sequences == nil {
			j.sequences = map[int]*sequence{}
		}
		j.sequences[worker] = q
	}
	sp.sequence = q
	q.ended[sp.Place] = false
	if sp.Place == q.next {
		return false
	}
	q.list.add(sub, t)
	return true
}

// leaveSequence says that the task in a place has run, or will not.
func (h *releaser) leaveSequence(sp *taskOptions) {
	q := sp.sequence
	sub := h.rt.reg.Lock()
	defer sub.Unlock()
	q.ended[sp.Place] = true
	for q.ended[q.next] {
		delete(q.ended, q.next)
		q.next++
	}
	q.list.pick(sub, h, func(u *task) bool { return u.special().Place == q.next })
}

// Hooks: functions of the program that run at points of a task's life.

// Hook is a function that runs at some point of a task's life, on a worker or
// on the goroutine of the program that made that point come. It may submit
// tasks, open gates and ask the task; calls that wait return ErrWouldDeadlock.
// No two hooks of a task run at the same time, and no lock is held.
type Hook func(t *Task) error

// HookError is the cause of a task that failed in a hook.
type HookError struct {
	Hook string // "prologue", "start hook", "epilogue" or "callback"
	Err  error  // what it returned, or a *PanicError
}

func (e *HookError) Error() string { return fmt.Sprintf("its %s: %v", e.Hook, e.Err) }

// Unwrap returns what the hook returned.
func (e *HookError) Unwrap() error { return e.Err }

// hook calls fn and then next with its error, or with nil. When fn ends the
// goroutine, next is called while that happens.
func (h *releaser) hook(t *Task, name string, fn Hook, next func(error)) {
	rt := h.rt
	away := func(on bool) {
		if h.w != nil {
			h.w.notIdle.Store(on)
		}
	}
	away(true)
	if h.w != nil {
		h.w.share()
	}
	rt.hooks.Add(1)
	err := callKernel(func(*TaskContext) error { return fn(t) }, nil, func(err error) {
		rt.hooks.Add(-1)
		away(false)
		next(&HookError{Hook: name, Err: err})
		h.recoverHook()
	})
	rt.hooks.Add(-1)
	away(false)
	if err != nil {
		err = &HookError{Hook: name, Err: err}
	}
	next(err)
}

// recoverHook does what the goroutine, which ends because a hook ended it, would
// have done with h.
func (h *releaser) recoverHook() {
	if h.id == sched.Outside {
		h.rt.returnReleaser(h)
		return
	}
	h.w.rest()
}
