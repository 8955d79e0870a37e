package engine

// The Task that a program may keep.

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/engine/sched"
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

// taskOptions is what a special task has, from its submission to its end.
type taskOptions struct {
	TaskOptions
	nowhere bool              // no kernel
	retry   int               // how often the kernel may run again
	runs    int               // of the kernel of the present round, if it may run again
	kept    *datamgr.Snapshot // for that

	can      []*sched.Set // by implementation: workers that can execute it; nil: all
	sequence *sequence    // of the place
	parent   *Subgraph    // that it belongs to
	size     int          // how many workers it has, at most
	choice   sched.Gang   // of these, by the policy; belongs to it while it has the task
	gang     *gang        // those, from when it starts

	spec    TaskSpec // of prepared and repeating tasks
	round   int64    // that was submitted last, from 1
	stopped atomic.Bool
	dropped bool     // the round did not run: Stop was called
	list    waitlist // tasks and callers that wait for a prepared task
	named   []*Task  // prepared tasks that will wait for this one; guarded by the submission lock
}

// workers returns how many workers t has, if its codelet is parallel: those that the policy
// has chosen, or else will have; 0 if it is not.
func (t *task) workers() int {
	sp := t.special()
	switch {
	case sp == nil || !t.parallel():
		return 0
	case sp.gang != nil:
		return sp.gang.size
	case sp.choice.Size > 0:
		return sp.choice.Size
	}
	return sp.size
}

// parallel reports whether several workers may run t.
func (t *task) parallel() bool {
	return t.codelet != nil && t.codelet.Traits != nil && t.codelet.Traits.Parallel != Single
}

// special returns what t has if it is a special task, else nil.
func (t *task) special() *taskOptions {
	if t.general && t.x.public != nil {
		return t.x.public.opts
	}
	return nil
}

// runs returns how often the kernel of t has run, if it may run again; else 0.
func (t *task) runs() int {
	if sp := t.special(); sp != nil {
		return sp.runs
	}
	return 0
}

// wasPrepared reports whether NewTask made the task, so that others may wait for it
// before its submission.
func (sp *taskOptions) wasPrepared() bool { return sp.list.task != nil }

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

// roundWait is a repeating task that waits for a round of another.
type roundWait struct {
	u    *task
	need int64
}

// addRoundLocked makes u, the next round of a repeating task, wait for the round of t
// that has the same number. t.mu is held, and t has not ended.
func (t *Task) addRoundLocked(_ datamgr.Submission, u *task) bool {
	need := u.special().round
	if t.mu.passed >= need {
		return false
	}
	t.mu.byRound = append(t.mu.byRound, roundWait{u, need})
	return true
}

// number is how messages call t in a list: by its number, once it has one.
func (t *Task) number() string {
	if t.id == 0 && t.opts != nil {
		return t.name()
	}
	return number(t.id)
}

func number(id int64) string { return strconv.FormatInt(id, 10) }

// cancelled reports whether the job was cancelled since k was submitted.
func (k *Task) cancelled() bool { return k.id <= k.job.cancelled.Load() }

// over reports whether those that wait for t have been released.
func (t *Task) over() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.phase == ended
}

// onlyEnds reports whether the kernel of t is over, and its end waits.
func (t *Task) onlyEnds() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.phase == endWaits
}
