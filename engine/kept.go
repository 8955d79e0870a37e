package engine

// The Task that a program may keep.

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// Task is a task that a program keeps, to wait for it or to make others wait
// for it. It stays valid after the task has ended, and need not be given back. Methods
// are safe for concurrent use; any number of goroutines may wait, any number of times.
type Task struct {
	job   *Job
	id    int64
	done  chan struct{}
	sp    *special                  // what few tasks have; nil: nothing. Fixed before the submission
	times atomic.Pointer[taskTimes] // with Options.Profile
	mu    struct {
		sync.Mutex
		ending     bool // too late to make its end wait
		ended      bool // its successors are released
		err        error
		failure    *failure
		successors []*task
		rounds     int64
		passed     int64 // of rounds, those after which others may begin
		byRound    []roundWait
		t          *task     // its record, from its submission to its end
		ends       int       // how many things its end waits for
		lost       *failure  // one of them did not run
		released   bool      // its data, as far as the order in its sub-graph goes
		byData     []*task   // of that order, who waits for its data
		sub        *Subgraph // that it owns
		rest       *ending   // its kernel is over, its end waits
	}
}

// ending is what is left to do for a task whose kernel is over.
type ending struct {
	f        *failure
	err      error
	epilogue bool // it ran, or will not
	whole    bool // the data is not lost, whatever f says: tasks of the sub-graph said what is
}

func (j *Job) newKept(sp *special) *Task {
	return &Task{job: j, done: make(chan struct{}), sp: sp}
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
	if t.sp != nil && t.sp.isPrepared(t.job.rt) {
		return &NotSubmittedError{Task: t}
	}
	return t.job.await(ctx, t.done, nil, func(u *task) bool { return u.general && u.x.future == t })
}

// addSuccessor makes u wait for t. Submission lock held.
func (t *Task) addSuccessor(u *task) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.ended {
		if t.mu.failure != nil {
			u.x.lost.Store(t.mu.failure)
		}
		return false
	}
	if sp := t.sp; sp != nil {
		if sp.prepared {
			sp.list.add(u)
			return true
		}
		if s := u.special(); sp.Repeat != nil && s != nil && s.Repeat != nil {
			return t.addRoundLocked(u)
		}
	}
	t.mu.successors = append(t.mu.successors, u)
	return true
}

// enqueue is addSuccessor for u, which waited for t to be submitted.
func (t *Task) enqueue(u *task) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := u.special(); t.sp.Repeat != nil && s != nil && s.Repeat != nil {
		t.addRoundLocked(u) // no round has ended
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

func (t *Task) setRecord(r *task) {
	t.mu.Lock()
	t.mu.t = r
	t.mu.Unlock()
}

// record returns the record of t, from its submission to its end.
func (t *Task) record() *task {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.t
}
