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
	"fmt"
	"slices"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/engine/sched"
)

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
	if n < 0 || s.Workers != nil || rt.nodes > 1 || !j.accepts(sub) {
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

// Prepared tasks: named before they are submitted, so that others can wait for
// them already.

// NewTask prepares a task without submitting it: it has no place in the order of data
// yet, but other tasks can wait for it explicitly. It copies s, which may be nil for a
// task that only waits. Mistakes in it are errors of Submit.
func (j *Job) NewTask(s *TaskSpec, o TaskOptions) *Task {
	if s == nil {
		s = &TaskSpec{}
	}
	sp := &taskOptions{TaskOptions: o, spec: s.clone()}
	t := j.newKept(sp)
	sp.list = waitlist{job: j, task: t}
	sub := j.rt.reg.Lock()
	sp.name(sub, t, sp.spec.After)
	sub.Unlock()
	return t
}

// DependOn makes t, which is prepared, wait for more tasks, gates and tags.
// Errors, after which nothing was added: *SubmittedError, *CycleError, *TagError for a
// tag that was removed, and those of dependencies that are nil or another runtime's.
func (t *Task) DependOn(deps ...Dependency) error {
	rt := t.job.rt
	sub := rt.reg.Lock()
	defer sub.Unlock()
	if t.phase() != prepared {
		return &SubmittedError{Task: t}
	}
	if err := rt.checkAfter(sub, deps); err != nil {
		return err
	}
	if c := t.cycle(sub, deps); c != nil {
		return c
	}
	t.opts.spec.After = append(t.opts.spec.After, deps...)
	t.opts.name(sub, t, deps)
	return nil
}

// Submit submits a prepared task. Errors, after which it is still prepared, are
// those of Job.Submit, *SubmittedError, and *CycleError when a task that waits for this
// one, however indirectly, comes first in the order of its data.
func (t *Task) Submit() error {
	rt := t.job.rt
	sub := rt.reg.Lock()
	ok := t.phase() == prepared
	if ok {
		t.advance(submitting)
	}
	sub.Unlock()
	if !ok {
		return &SubmittedError{Task: t}
	}
	err := t.job.submitSpecial(&t.opts.spec, t)
	if err != nil {
		sub = rt.reg.Lock()
		t.advance(prepared)
		sub.Unlock()
	}
	return err
}

// name tells prepared tasks that t, which is prepared too, will wait for them.
func (sp *taskOptions) name(_ datamgr.Submission, t *Task, deps []Dependency) {
	for _, d := range deps {
		if k, ok := d.(*Task); ok && k != nil && k.opts != nil && k.job.rt == t.job.rt {
			k.opts.named = append(k.opts.named, t)
		}
	}
}

// moveWaiting is called at the submission of t: tasks that waited for it on a list now
// wait for its end.
func (t *Task) moveWaiting(sub datamgr.Submission) {
	sp := t.opts
	if !sp.wasPrepared() {
		return
	}
	sp.named = nil
	waiting := sp.list.waiting
	sp.list.waiting = nil
	t.job.forget(sub, &sp.list)
	for _, u := range waiting {
		t.enqueue(sub, u)
	}
}

// enqueue is addSuccessor for u, which waited for t to be submitted.
func (t *Task) enqueue(sub datamgr.Submission, u *task) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := u.special(); t.opts.Repeat != nil && s != nil && s.Repeat != nil {
		t.addRoundLocked(sub, u) // no round has ended
		return
	}
	t.mu.successors = append(t.mu.successors, u)
}

// End dependencies: the end of a task waits for more than its kernel.

// AddEndDependency makes the end of t wait for tasks, gates and tags: t's kernel runs
// and its data is released as always, but what waits for t itself (After, Wait,
// its epilogue and callback) goes on only when they, too, have ended. It may be
// called until t has ended, in t's own kernel above all. When one of them failed
// or was cancelled, t counts as failed for those that wait for it; when its job is
// cancelled while it waits for one of them, t counts as cancelled, and its data is valid.
//
// Errors, after which nothing was added: *EndedError, *RepeatError, *TagError for a tag
// that was removed, and *CycleError when one of them waits for t, explicitly or by data,
// however indirectly.
func (t *Task) AddEndDependency(deps ...Dependency) error {
	rt := t.job.rt
	h := rt.borrowReleaser()
	defer rt.returnReleaser(h)
	sub := rt.reg.Lock()
	defer sub.Unlock()
	if t.opts != nil && t.opts.Repeat != nil {
		return &RepeatError{Task: t, What: "end dependencies"}
	}
	if slices.Contains(deps, nil) {
		return fmt.Errorf("engine: an end dependency of task %d is nil", t.id)
	}
	if t.opts != nil && t.opts.parent != nil {
		for _, d := range deps {
			if err := t.opts.parent.mayWait(d); err != nil {
				return err
			}
		}
	}
	if err := rt.checkAfter(sub, deps); err != nil {
		return err
	}
	t.mu.Lock()
	if t.mu.phase >= ending {
		t.mu.Unlock()
		return &EndedError{Task: t}
	}
	t.mu.ends++ // so that what waits for the end stays while it is looked at
	t.mu.Unlock()
	defer func() { t.relay(sub, h, nil) }()
	if c := t.cycle(sub, deps); c != nil {
		return c
	}
	if us := t.waiters(); len(us) > 0 {
		if way := behind(sub, us, func(u *task) bool {
			return u.general && u.x.public != nil && slices.Contains(deps, Dependency(u.x.public))
		}); way != nil {
			return t.circle(way)
		}
	}
	t.mu.Lock()
	t.mu.ends += len(deps)
	t.mu.Unlock()
	for _, d := range deps {
		t.relay(sub, h, d)
	}
	return nil
}

// relay makes a record by which the end of t, which counts it, waits for d; nil: for
// nothing.
func (t *Task) relay(sub datamgr.Submission, h *releaser, d Dependency) {
	u := h.rt.newTask(sub, false)
	x := u.extend()
	u.job, u.kind = t.job, relayTask
	u.setOperands(nil)
	u.accessSlots(0)
	x.target = t
	u.Arm()
	var waits int32
	if d != nil && d.addSuccessor(sub, u) {
		waits = 1
	}
	if u.Settle(waits) {
		h.light = append(h.light, u)
	}
}
