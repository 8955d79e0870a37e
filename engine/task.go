package engine

// The Task that a program may keep.

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/starpush/starpush/datamgr"
)

// Task is a task that a program keeps, to wait for it or to make others wait
// for it. It stays valid after the task has ended, and need not be given back. Methods
// are safe for concurrent use; any number of goroutines may wait, any number of times.
type Task struct {
	job   *Job
	id    int64
	done  chan struct{}
	opts  *taskOptions              // what few tasks have; nil: nothing. Fixed before the submission
	times atomic.Pointer[taskTimes] // with Options.Profile
	mu    struct {
		sync.Mutex
		phase      phase // how far it has come, see advance; below submitted under the submission lock, too
		err        error
		failure    *failure
		successors []*task
		rounds     int64
		passed     int64 // of rounds, those after which others may begin
		byRound    []roundWait
		t          *task     // its record, from its submission to its end
		ends       int       // how many things its end waits for
		lost       *failure  // one of them did not run
		byData     []*task   // those of successors that wait for its data only
		sub        *Subgraph // that it owns
		rest       *taskEnd  // in phase endWaits
	}
}

// taskEnd is how a task whose kernel is over ends.
type taskEnd struct {
	f        *failure
	err      error
	epilogue bool // it ran, or will not
	whole    bool // the data is not lost, whatever f says: tasks of the sub-graph said what is
}

func (j *Job) newKept(sp *taskOptions) *Task {
	return &Task{job: j, done: make(chan struct{}), opts: sp}
}

// ID returns the number of the task in its job, from 1; 0 before it is submitted.
func (t *Task) ID() int64 { return t.id }

// Done reports whether the task has ended, its callback included.
func (t *Task) Done() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// Err returns nil while the task has not ended and when it succeeded, the
// *TaskError when it failed, a *FailedDataError when it was cancelled because
// what it needs was lost, and a *TaskError with Dropped set when its job was
// cancelled. A failure that was returned here is not returned by
// Job.Failures any more. The task's own callback may ask.
func (t *Task) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.failure != nil {
		t.mu.failure.take()
	}
	return t.mu.err
}

// Wait returns when the task has ended, with nil even if it failed (see Err);
// or when ctx ends; or with a *StuckError as Job.Wait does. A task that is
// prepared only is a *NotSubmittedError.
func (t *Task) Wait(ctx context.Context) error {
	if t.phase() < submitted {
		return &NotSubmittedError{Task: t}
	}
	return t.job.await(ctx, t.done, nil, func(u *task) bool { return u.general && u.x.public == t })
}

// addSuccessor makes u wait for t.
func (t *Task) addSuccessor(sub datamgr.Submission, u *task) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.phase == ended {
		if t.mu.failure != nil {
			u.x.lost.Store(t.mu.failure)
		}
		return false
	}
	if sp := t.opts; sp != nil {
		if t.mu.phase < submitted {
			sp.list.add(sub, u)
			return true
		}
		if s := u.special(); sp.Repeat != nil && s != nil && s.Repeat != nil {
			return t.addRoundLocked(sub, u)
		}
	}
	t.mu.successors = append(t.mu.successors, u)
	return true
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

// subgraph returns the sub-graph that t owns, or nil.
func (t *Task) subgraph() *Subgraph {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.sub
}

// waiters returns the tasks that wait explicitly for t.
func (t *Task) waiters() []*task {
	t.mu.Lock()
	defer t.mu.Unlock()
	us := append(slices.Clone(t.mu.successors), t.mu.byData...)
	for _, w := range t.mu.byRound {
		us = append(us, w.u)
	}
	return us
}

// begin records the submission of t, or of its next round, whose record is r.
func (t *Task) begin(_ datamgr.Submission, r *task) {
	t.mu.Lock()
	t.advanceLocked(submitted)
	t.mu.t = r
	t.mu.Unlock()
}

// record returns the record of t, from its submission to its end.
func (t *Task) record() *task {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.t
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

// clone copies s with what it points to, operands' handles apart.
func (s *TaskSpec) clone() TaskSpec {
	c := *s
	c.Operands, c.Args = slices.Clone(s.Operands), slices.Clone(s.Args)
	c.Workers, c.After = slices.Clone(s.Workers), slices.Clone(s.After)
	return c
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

// name tells prepared tasks that t, which is prepared too, will wait for them.
func (sp *taskOptions) name(_ datamgr.Submission, t *Task, deps []Dependency) {
	for _, d := range deps {
		if k, ok := d.(*Task); ok && k != nil && k.opts != nil && k.job.rt == t.job.rt {
			k.opts.named = append(k.opts.named, t)
		}
	}
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

// wasPrepared reports whether NewTask made the task, so that others may wait for it
// before its submission.
func (sp *taskOptions) wasPrepared() bool { return sp.list.task != nil }

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

// name is how messages call a prepared task.
func (t *Task) name() string {
	if n := t.opts.spec.Name; n != "" {
		return fmt.Sprintf("%q", n)
	}
	if c := t.opts.spec.Codelet; c != nil {
		return c.Name
	}
	return emptyCodelet.Name
}

// NotSubmittedError says that a task is waited for that is prepared only.
type NotSubmittedError struct{ Task *Task }

func (e *NotSubmittedError) Error() string {
	return fmt.Sprintf("the task %s was prepared by NewTask and not submitted; call its Submit before waiting for it", e.Task.name())
}

// SubmittedError says that something was asked of a task that only a prepared
// one can do.
type SubmittedError struct{ Task *Task }

func (e *SubmittedError) Error() string {
	return fmt.Sprintf("task %d was submitted already; only a task made by NewTask, before its Submit, can be submitted or depend on more", e.Task.ID())
}
