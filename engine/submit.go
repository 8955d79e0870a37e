package engine

// Submission: what a task is given, and the three steps of its way into the graph.
//
//  1. Admission (admission.go) checks all that the caller passed and waits for room in the
//     window of the job (Job.keepPace). A submission that it refuses has changed nothing.
//  2. Registration (register.go) takes a record, inserts the tasks of the engine that must
//     come before, and gives the task its place in the order of its data and dependencies.
//  3. The push (push.go) gives a task that waits for nothing to the policy.
//
// checkSpec and checkSpecial are the part of the first step that needs no lock, because it
// calls functions of the program. insert does the rest under the submission lock. Job.Submit,
// Job.Go, Task.Submit, sub-graphs and the rounds of repeating tasks all come through insert.

import (
	"unsafe"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/sched"
)

// TaskSpec describes one task. Submit copies what it needs, so a caller may use
// one TaskSpec and its slices over and over. Only Codelet is needed.
type TaskSpec struct {
	Codelet  *Codelet
	Operands []Operand      // data, in the order in which kernels number it
	Args     []iface.Scalar // plain values, likewise
	// Priority, higher, makes the task run earlier and get a lock (COMMUTE, accesses without
	// order) earlier, as far as the policy promises that, see sched.Promise.
	Priority int
	Name     string  // in errors and traces; "" for none
	Color    int     // in traces; 0: the codelet's
	Flops    float64 // estimate of the work; 0: the codelet's
	Workers  []int   // workers that may run it; nil: all
	// After lists tasks, gates and tags that the task waits for, besides the order
	// that its operands give. When such a task failed or was cancelled, this
	// one is cancelled. A tag that was removed is a *TagError.
	After []Dependency
	// Unordered gives the task no order with other tasks through its operands, as
	// Operand.Unordered does for one of them; it still excludes those that conflict
	// with it.
	Unordered bool
	Origin    Origin // where the program does it, for errors and traces

	closure unsafe.Pointer // of a codelet that the functions of Job.Go share: which of them
}

// Dependency is an explicit dependency of a task: a *Task, a *Gate or a *Tag.
type Dependency interface {
	// addSuccessor makes t wait; false: there is nothing to wait for.
	addSuccessor(sub datamgr.Submission, t *task) bool
}

// Call is one call that was on the program's stack when a task was submitted.
// It is immutable and shared.
type Call struct {
	Parent *Call  // the call around it; nil: none
	Site   *Site  // of the call
	Text   string // as written: "cholesky(t, nt)"
}

// Origin says where a task was submitted. It is plain data, stored in the task.
type Origin struct {
	Site *Site    // nil: not known
	Call *Call    // innermost call; nil at top level
	Vars [2]int64 // values of Site.VarNames, such as loop variables
}

// Submit submits a task and forgets it: its record is used again when it has
// ended. It waits only while the job's window is full (see Options.Window and
// JobOptions.MaxInFlight), and briefly when the job is far ahead of workers on short
// tasks. Errors, after which nothing was submitted: *ModeError,
// *TypeError, *ShapeError, *UninitError, *DeadHandleError, *ReadOnlyError,
// *NoReductionError, *NoImplementationError, *FullError, ErrClosed, or the cause of the
// job's context. A task whose data was lost by a failure is accepted, and
// cancelled when its turn comes.
func (j *Job) Submit(s *TaskSpec) error { return j.submit(s, nil) }

// SubmitTask is Submit for a task to keep.
func (j *Job) SubmitTask(s *TaskSpec) (*Task, error) {
	t := j.newKept(nil)
	if err := j.submit(s, t); err != nil {
		return nil, err
	}
	return t, nil
}

// submit submits a task without options. keep is nil when the program forgets the task.
func (j *Job) submit(s *TaskSpec, keep *Task) error {
	if s == nil {
		return &NoImplementationError{}
	}
	rt, c := j.rt, s.Codelet
	if c == nil || c.Traits != nil || len(c.CPU) != 1 {
		return j.submitSpecial(s, keep)
	}
	if err := j.checkSpec(s); err != nil {
		return err
	}
	sub := rt.reg.Lock()
	var err error
	if j.submitted >= j.look {
		sub, err = j.keepPace(sub)
	}
	if err == nil {
		err = j.insert(sub, s, keep)
	}
	sub.Unlock()
	if rt.opt.Sequential {
		rt.drain()
	}
	return err
}

// insert takes a task through the steps of its submission that need the lock. The second is
// written out for plain tasks, and the first only called where something is left to check:
// a call of either takes 2 to 3 ns of the 50 that such a task takes.
func (j *Job) insert(sub datamgr.Submission, s *TaskSpec, keep *Task) (err error) {
	rt := j.rt

	// admission
	plain := datamgr.Plain{Accesses: -1}
	if keep == nil && s.mayBePlain(j) {
		plain = sub.CountPlain(s.Operands)
	}
	n := plain.Accesses
	var allowed *sched.Set
	if n < 0 || s.Workers != nil || rt.nodes > 1 || j.open(sub) != nil {
		if allowed, err = j.admit(sub, s, keep, n >= 0); err != nil {
			return err
		}
	}

	// registration
	t := rt.newTask(sub, n > plainAcc || len(s.Operands) > plainOps)
	t.job, t.codelet = j, s.Codelet
	t.setOrigin(&s.Origin)
	t.setArgs(s.Args)
	if s.closure != nil {
		t.setClosure(s.closure)
	}
	t.Allowed = allowed
	if p := s.Priority; p != 0 {
		t.Priority = int32(max(min(p, 1<<30), -1<<30))
		if !rt.ranked.Load() {
			rt.ranked.Store(true)
		}
	}
	if n < 0 {
		ready, err := j.registerGeneral(sub, t, s, keep)
		if ready {
			rt.pushOutside(sub, t)
		}
		return err
	}
	t.setOperands(s.Operands)
	acc := t.accessSlots(n)
	var ready bool
	switch {
	case n == 1 && plain.Commuting == nil:
		// All is done before the access is registered, so that the record is not
		// touched any more while it waits: 36 instead of 41 ns, and a chain takes
		// 0.88 to 0.97 of the time. With more accesses, where one may end before the
		// next is registered, it brings nothing.
		j.count(sub, t, s)
		t.ArmOne()
		ready = sub.RegisterPlain(plain, &t.Waiter, s.Operands, acc) == 0
	default:
		if n >= heavyAccesses {
			t.weigh(sub, n)
		}
		t.Arm()
		waits := sub.RegisterPlain(plain, &t.Waiter, s.Operands, acc)
		j.count(sub, t, s)
		var one *datamgr.LockPlace
		if h := plain.Commuting; h != nil {
			one = t.lockPlace()
			t.marks |= hasLock
			one.InitSingle(sub, &t.Waiter, h, t.Allowed == nil && t.Priority == 0)
		}
		ready = t.Settle(waits) && (one == nil || !one.QueueSingle())
	}

	// push
	if ready {
		rt.pushOutside(sub, t)
	}
	return nil
}

// SubmitWith is SubmitTask for a task that is more than a kernel on data. A
// TaskSpec without Codelet is a task without a kernel, see Traits.Nowhere.
func (j *Job) SubmitWith(s *TaskSpec, o TaskOptions) (*Task, error) {
	sp := &taskOptions{TaskOptions: o}
	t := j.newKept(sp)
	if o.Repeat != nil && s != nil {
		sp.spec = s.clone()
	}
	if err := j.submitSpecial(s, t); err != nil {
		return nil, err
	}
	return t, nil
}

// submitSpecial submits a task that has options, or whose codelet is not plain.
// keep is nil when the program forgets the task.
func (j *Job) submitSpecial(s *TaskSpec, keep *Task) error {
	if s == nil {
		return &NoImplementationError{}
	}
	rt := j.rt
	if keep == nil {
		keep = j.newKept(nil)
	}
	spec := *s
	if spec.Codelet == nil {
		if keep.opts == nil {
			return &NoImplementationError{}
		}
		spec.Codelet = emptyCodelet
		keep.opts.spec.Codelet = emptyCodelet
	}
	if keep.opts == nil {
		keep.opts = &taskOptions{}
	}
	if err := j.checkSpecial(&spec, keep.opts); err != nil {
		return err
	}
	keep.opts.spec.Workers = spec.Workers
	sub := rt.reg.Lock()
	var err error
	if j.submitted >= j.look {
		sub, err = j.keepPace(sub)
	}
	if err == nil {
		keep.opts.round = 1
		err = j.insert(sub, &spec, keep)
	}
	var t *task
	var h *releaser
	if err == nil {
		t = keep.record() // held back, so still its record
		keep.moveWaiting(sub)
		if keep.opts.Repeat != nil {
			keep.opts.keepTags(sub, 1)
		}
		h = rt.borrowReleaser() // under the lock: else the runtime looks quiet until t is let go
	}
	sub.Unlock()
	if err != nil {
		if rt.opt.Sequential {
			rt.drain() // reductions and copies that had to come before the task
		}
		return err
	}
	if t.Done() {
		h.c.Release(&t.Waiter)
	}
	rt.returnReleaser(h)
	return nil
}
