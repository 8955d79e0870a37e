package engine

// Failures: what is known about a task that did not run to its end, shared by
// everything that is lost because of it.

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/starpush/starpush/datamgr"
)

// failure is the provenance of lost values. It is immutable but for the counts.
type failure struct {
	job       *Job
	id        int64
	codelet   *Codelet
	name      string
	origin    Origin
	worker    string
	cause     error
	dropped   bool
	end       bool // only the end of the task was
	lost      []*datamgr.Handle
	cancelled atomic.Int64
	taken     atomic.Bool
}

// internalCodelet names what the engine submits itself in errors.
var internalCodelet = map[kind]*Codelet{
	reduceTask:     {Name: "reduction"},
	initTask:       {Name: "initialisation"},
	acquireTask:    {Name: "acquire"},
	duplicateTask:  {Name: "copy of a duplicate"},
	gatherTask:     {Name: "gather"},
	unregisterTask: {Name: "unregistration"},
}

// newFailure describes why t did not succeed.
func newFailure(t *task, worker string, cause error, dropped bool) *failure {
	f := &failure{job: t.job, id: t.Order, codelet: t.codelet, name: t.name(), origin: t.from(),
		worker: worker, cause: cause, dropped: dropped}
	if f.codelet == nil {
		f.codelet, f.id = internalCodelet[t.kind], 0
	}
	for _, op := range t.operands() {
		if op.Mode.Writes() && !slices.Contains(f.lost, op.Handle) {
			f.lost = append(f.lost, op.Handle)
		}
	}
	return f
}

// err returns f as an error, as of now.
func (f *failure) err() *TaskError {
	return &TaskError{ID: f.id, Codelet: f.codelet, Name: f.name, Origin: f.origin, Worker: f.worker,
		Cause: f.cause, Dropped: f.dropped, Cancelled: int(f.cancelled.Load()), Lost: slices.Clone(f.lost), failure: f}
}

// take marks f as handed out: Failures does not return it any more.
func (f *failure) take() { f.taken.Store(true) }

// maxFailures is how many failures a job keeps for Failures.
const maxFailures = 1024

// Failures returns the tasks that failed and were not handed out yet, in task
// order: not by an earlier call, nor by Task.Err, nor in the *FailedDataError of
// an Acquire. Tasks that were only cancelled are not among them. A job keeps the first
// 1024 that came; Stats counts all.
func (j *Job) Failures() []*TaskError {
	j.mu.Lock()
	fs := j.mu.failures
	j.mu.failures = nil
	j.mu.Unlock()
	var out []*TaskError
	for _, f := range fs {
		if !f.taken.Swap(true) {
			out = append(out, f.err())
		}
	}
	slices.SortStableFunc(out, func(a, b *TaskError) int { return int(a.ID - b.ID) })
	return out
}

// LastCancelled returns the last task, in the order of submission, that was cancelled
// because what it needs was lost; nil: none was. Its Cause is a *FailedDataError. So who
// has been told of a failure finds out whether anything submitted since was in vain.
func (j *Job) LastCancelled() *TaskError {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.mu.orphan == nil {
		return nil
	}
	return j.mu.orphan.err()
}

// cancelledFor notes for LastCancelled that t is cancelled because of e.
func (j *Job) cancelledFor(t *task, e *FailedDataError) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if o := j.mu.orphan; t.kind == userTask && (o == nil || o.id < t.Order) {
		j.mu.orphan = newFailure(t, "", e, true)
	}
}

// stopped returns the error of a kernel of t, as one that wraps the cause, too, if it
// says that the kernel ended because its context did.
func (t *task) stopped(err error) error {
	if !errors.Is(err, context.Canceled) || t.Order > t.job.cancelled.Load() {
		return err
	}
	cause := t.job.cause() // not that of the kernel's context, which another Cancel may be about to replace
	if cause == nil || errors.Is(err, cause) {
		return err
	}
	return &stoppedError{err, cause}
}

// stoppedError is what a kernel returned whose job was cancelled, and why it was.
type stoppedError struct{ err, cause error }

func (e *stoppedError) Error() string   { return e.err.Error() + ": " + e.cause.Error() }
func (e *stoppedError) Unwrap() []error { return []error{e.err, e.cause} }

// addFailure counts a task that failed.
func (j *Job) addFailure(f *failure) {
	j.failed.Add(1)
	j.report(f)
}

// report hands f to Failures.
func (j *Job) report(f *failure) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.mu.failures) >= maxFailures {
		j.mu.failures = slices.DeleteFunc(j.mu.failures, func(f *failure) bool { return f.taken.Load() })
	}
	if len(j.mu.failures) < maxFailures {
		j.mu.failures = append(j.mu.failures, f)
	}
}
