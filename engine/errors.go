package engine

// Errors, with types and fields for programs that handle them.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
)

// ErrClosed is returned by calls on a runtime or job that was closed.
var ErrClosed = errors.New("engine: closed")

// ErrBusy is returned by Job.TryAcquire.
var ErrBusy = errors.New("engine: the data is in use")

// ErrWouldDeadlock is returned by calls that wait for tasks or data when they
// are made inside a kernel, whose worker would wait for itself.
var ErrWouldDeadlock = errors.New("engine: a kernel waits for tasks or data; its worker would wait for itself: submit a task instead")

// Why tells why data has no value.
type Why = datamgr.Why

// Reasons for data to have no value.
const (
	NeverWritten = datamgr.NeverWritten
	Invalidated  = datamgr.Invalidated
)

// FullError says that a Bounded job takes no more tasks: its window is full of tasks that
// all wait for what only the program can bring about, such as a gate that is closed, data
// that it holds, or a task that it has not submitted.
type FullError struct {
	Job      *Job
	InFlight int64 // as MaxInFlight counts them
}

func (e *FullError) Error() string {
	return fmt.Sprintf("engine: %d tasks have not ended, and all of them wait for what the program has closed, holds or has not submitted; bring that about first, or set a larger JobOptions.MaxInFlight", e.InFlight)
}

// UninitError says that an operand is read and has no value, or not in all of
// its elements.
type UninitError struct {
	Operand int // place in TaskSpec.Operands; 0 for Acquire
	Handle  *datamgr.Handle
	Why     Why
	At      *Site // where it was invalidated, if known
	Partial bool  // some elements have a value
}

func (e *UninitError) Error() string {
	some := ""
	if e.Partial {
		some = "some elements of "
	}
	if e.Why == Invalidated {
		return fmt.Sprintf("%s%s: the value was invalidated%s and not written since; write it first (W)", some, describe(e.Handle), at(e.At))
	}
	return fmt.Sprintf("%s%s: read before anything writes it; write it first (W) or register it with a value", some, describe(e.Handle))
}

// FailedDataError says that the value of an operand was lost because the task
// that should have written it failed, was cancelled or dropped.
type FailedDataError struct {
	Operand int // place in TaskSpec.Operands; 0 for Acquire; -1: an explicit dependency
	Handle  *datamgr.Handle
	Task    *TaskError // the first cause
}

func (e *FailedDataError) Error() string {
	if e.Handle == nil {
		return fmt.Sprintf("a task that had to run before did not: %v", e.Task)
	}
	return fmt.Sprintf("%s has no valid value until it is written again (W): %v", describe(e.Handle), e.Task)
}

// Unwrap returns the error of the task.
func (e *FailedDataError) Unwrap() error { return e.Task }

// DeadHandleError says that an operand was unregistered, or that the view it is
// a part of has ended.
type DeadHandleError struct {
	Operand int // -1 outside of Submit
	Handle  *datamgr.Handle
	At      *Site // where that happened, if known
	Ended   bool  // its view ended; false: its datum was unregistered
}

func (e *DeadHandleError) Error() string {
	if e.Ended {
		return fmt.Sprintf("%s is part of a view that ended%s; declare the view again", describe(e.Handle), at(e.At))
	}
	return fmt.Sprintf("%s was unregistered%s", describe(e.Handle), at(e.At))
}

// ModeError says that the access modes of a task cannot be.
type ModeError struct {
	Operand int             // place in TaskSpec.Operands; 0 for Acquire
	Handle  *datamgr.Handle // of that operand; nil when that is what is wrong
	Mode    datamgr.AccessMode
	Want    datamgr.AccessMode // what the codelet declares; NoMode when that is not the problem
	Other   int                // an operand it contradicts; -1 for none
	Message string             // the whole error
}

func (e *ModeError) Error() string { return e.Message }

// NoReductionError says that a REDUX operand has no way to combine contributions.
type NoReductionError struct {
	Operand int // place in TaskSpec.Operands
	Handle  *datamgr.Handle
}

func (e *NoReductionError) Error() string {
	return fmt.Sprintf("%s has no reduction method; register it with one", describe(e.Handle))
}

// ReadOnlyError says that a task writes data that its owner declared read-only.
type ReadOnlyError struct {
	Operand int // place in TaskSpec.Operands; 0 for Acquire
	Handle  *datamgr.Handle
	Mode    datamgr.AccessMode // in which it was to be used
}

func (e *ReadOnlyError) Error() string {
	return fmt.Sprintf("%s is read-only and cannot be used as %v; use R", describe(e.Handle), e.Mode)
}

// ShapeError says that the sizes of operands, or scalar arguments, do not fit
// together. Shape functions return it.
type ShapeError struct {
	Message  string   // the whole error
	Operands []int    // the operands at fault: places in TaskSpec.Operands
	Details  []string // what to say at each of them: "512 x 1024"
	Help     string   // what to do about it; "" for nothing
	Arg      string   // the scalar argument at fault; "" for sizes
	Cause    error    // what the message is about, such as a *PanicError; nil for most
}

// Unwrap returns the cause.
func (e *ShapeError) Unwrap() error { return e.Cause }

func (e *ShapeError) Error() string {
	if e.Help != "" {
		return e.Message + "; " + e.Help
	}
	return e.Message
}

// StuckTask is a task that nothing can set free any more.
type StuckTask struct {
	ID      int64
	Codelet *Codelet
	Name    string
	Origin  Origin
	Gate    *Gate           // the closed gate it waits for, or nil
	Held    *datamgr.Handle // the data held by an Access that it waits for, or nil
	HeldAt  *Site           // where it was acquired, if known
	Tag     *Tag            // the tag it waits for, which was never notified, or nil
	Carries *Tag            // the tag it carries itself, when that is what waits for Tag
	Circle  []*Tag          // tags that wait for each other, each for the next, if that is why
	Task    *Task           // the task it waits for, which is prepared and was not submitted, or nil
	Place   int64           // the place in the sequence of Worker that it waits for, or 0
	Worker  int
	Ended   bool // its kernel has run: its end waits, see Task.AddEndDependency

	indirect bool // others in the same list would make it come
}

// StuckError says that a wait would never end: the tasks it waits for need a
// closed gate, a tag that is never notified, a prepared task that is not submitted,
// or data that the waiting job holds itself.
type StuckError struct {
	Tasks []StuckTask // those that wait directly, in task order
}

func (e *StuckError) Error() string {
	if len(e.Tasks) == 0 {
		return "this waits for data that the job itself holds; release it first"
	}
	var s []string
	for i, t := range e.Tasks {
		if i == 4 {
			s = append(s, fmt.Sprintf("and %d more", len(e.Tasks)-i))
			break
		}
		var what string
		switch {
		case t.Gate != nil:
			what = "a closed gate"
		case len(t.Circle) > 0:
			what = fmt.Sprintf("tag %q, in a circle of tags that wait for each other (", t.Tag.name)
			for _, c := range t.Circle {
				what += c.name + " for "
			}
			what += t.Circle[0].name + "): notify one of them to start it"
		case t.Tag != nil:
			what = fmt.Sprintf("tag %q, which was never notified", t.Tag.name)
		case t.Task != nil:
			what = fmt.Sprintf("a task %s that was prepared and not submitted", t.Task.name())
		case t.Place > 0:
			what = fmt.Sprintf("place %d in the sequence of worker %d, which no task that was submitted has", t.Place, t.Worker)
			if t.indirect {
				what = fmt.Sprintf("place %d in the sequence of worker %d", t.Place, t.Worker)
			}
		default:
			what = describe(t.Held) + ", which is held"
		}
		verb := "waits"
		if t.Ended {
			verb = "has run, and its end waits"
		}
		s = append(s, fmt.Sprintf("task %d %s %s for %s", t.ID, t.Codelet.Name, verb, what))
	}
	return "this would wait for ever: " + strings.Join(s, "; ")
}

// TaskError says that a task failed. It is a snapshot: Cancelled and Lost are
// those known when it was made.
type TaskError struct {
	ID        int64             // in its job, from 1; 0: what the engine submitted itself, such as a reduction
	Codelet   *Codelet          // nil for what the engine submitted itself
	Name      string            // TaskSpec.Name
	Origin    Origin            // where it was submitted
	Worker    string            // "cpu 0"; "" when the task never started
	Cause     error             // what the kernel returned, or a *PanicError
	Dropped   bool              // not started: its job was cancelled, Cause says why
	Cancelled int               // tasks that needed its outputs and were cancelled
	Lost      []*datamgr.Handle // what it should have written, and has no valid value
	failure   *failure
}

func (e *TaskError) Error() string {
	name := e.Codelet.Name
	if e.Name != "" {
		name += " (" + e.Name + ")"
	}
	verb := "failed"
	if e.Dropped {
		verb = "was cancelled"
	}
	where := ""
	if s := e.Origin.Site.String(); s != "" {
		where = ", submitted at " + s
	}
	task := fmt.Sprintf("task %d %s", e.ID, name)
	if e.ID == 0 {
		task = "the " + name // what the engine submitted itself
	}
	return fmt.Sprintf("%s %s: %v%s", task, verb, e.Cause, where)
}

// Unwrap returns the cause.
func (e *TaskError) Unwrap() error { return e.Cause }

// Is reports whether two errors are about the same failed task.
func (e *TaskError) Is(target error) bool {
	o, ok := target.(*TaskError)
	return ok && o.failure != nil && o.failure == e.failure
}

// PanicError is the cause of a task that panicked. Error is one line; %+v adds the
// calls.
type PanicError struct {
	Value any
	Stack string // of the panicking goroutine, as debug.Stack writes it
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the value of the panic if it was an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// GoStack is Stack without the calls that caught the panic and those that called what
// panicked: it begins where panic was called.
func (e *PanicError) GoStack() string {
	lines := strings.Split(strings.TrimSpace(e.Stack), "\n")
	lo, hi := 0, len(lines)
	for k := range lines {
		if strings.HasPrefix(lines[k], "panic(") {
			lo = min(k+2, hi) // a call takes two lines
			break
		}
	}
	for k := lo + 1; k < hi; k++ {
		if i := strings.Index(lines[k], "starpush/engine.call"); i >= 0 || strings.Contains(lines[k], "starpush/lang/interp.protect(") {
			hi = k
		}
	}
	return strings.Join(lines[lo:hi], "\n") + "\n"
}

// Format implements fmt.Formatter.
func (e *PanicError) Format(f fmt.State, verb rune) {
	switch {
	case verb == 'v' && f.Flag('+'):
		fmt.Fprintf(f, "%s\n%s", e.Error(), e.GoStack())
	case verb == 'q':
		fmt.Fprintf(f, "%q", e.Error())
	default:
		fmt.Fprint(f, e.Error())
	}
}

func at(s *Site) string {
	if t := s.String(); t != "" {
		return " at " + t
	}
	return ""
}

// NoImplementationError says that a codelet has nothing that a device of this
// runtime could run.
type NoImplementationError struct {
	Codelet *Codelet
	Archs   []string // what the workers run that may run the task; nil: CPUs
}

func (e *NoImplementationError) Error() string {
	if e.Codelet == nil {
		return "a task needs a codelet; SubmitWith takes one without"
	}
	if len(e.Codelet.On) == 0 && len(e.Codelet.CPU) == 0 {
		return fmt.Sprintf("no device can run %s: it has no CPU implementation", e.Codelet.Name)
	}
	has := slices.Sorted(maps.Keys(e.Codelet.On))
	if len(e.Codelet.CPU) > 0 {
		has = append(has, cpuArch)
	}
	return fmt.Sprintf("no worker can run %s: it has implementations for %s, and the workers that may run it are for %s",
		e.Codelet.Name, strings.Join(has, ", "), strings.Join(e.Archs, ", "))
}

// NoNodeError says that data is wanted on a memory node that does not exist.
type NoNodeError struct {
	Node  int
	Nodes []NodeInfo // those there are
}

func (e *NoNodeError) Error() string {
	var names []string
	for i, n := range e.Nodes {
		names = append(names, fmt.Sprintf("%d (%s)", i, n.Name))
	}
	return fmt.Sprintf("there is no memory node %d; there is %s", e.Node, strings.Join(names, ", "))
}

// NoNUMAError says that there is no such NUMA node.
type NoNUMAError struct {
	Number int   // that the operating system gives to a node, if Node is below 0
	Node   int   // the memory node asked about, else below 0
	Have   []int // the numbers of the first memory nodes; nil: main memory is one node
}

func (e *NoNUMAError) Error() string {
	what := fmt.Sprintf("memory node %d is no NUMA node", e.Node)
	if e.Node < 0 {
		what = fmt.Sprintf("there is no memory node for NUMA node %d", e.Number)
	}
	if e.Have == nil {
		return what + ": main memory is one node; Options.NUMA makes one of each NUMA node"
	}
	var names []string
	for i, k := range e.Have {
		names = append(names, fmt.Sprintf("%d (NUMA node %d)", i, k))
	}
	return what + "; there is " + strings.Join(names, ", ")
}

// NoWorkerError says that a task is restricted to workers that do not exist.
type NoWorkerError struct {
	Workers    []int // nil: all
	Have       int
	Restricted bool     // all workers exist, and kinds, predicates or implementations leave none of them
	Codelet    *Codelet // with Restricted
}

func (e *NoWorkerError) Error() string {
	if e.Restricted {
		return fmt.Sprintf("no worker may run this task of %s: the kinds, predicates and implementations that it allows leave none of the %d workers; widen one of them", e.Codelet.Name, e.Have)
	}
	if len(e.Workers) == 0 {
		return "the task is restricted to no worker at all; leave the restriction out, or name workers"
	}
	return fmt.Sprintf("the task is restricted to workers %v; there are workers 0 to %d", e.Workers, e.Have-1)
}

// PinError says that no worker that may run a task can use its operands where they
// are pinned.
type PinError struct {
	Operand int // the first pinned operand
	Node    NodeInfo
	Codelet *Codelet
}

func (e *PinError) Error() string {
	return fmt.Sprintf("operand %d of %s is pinned to %s, and no worker that may run the task can use it there; leave the pin out, or let the task run on other workers", e.Operand, e.Codelet.Name, e.Node.Name)
}

// TooLargeError says that the data of a task does not fit the memory of any worker
// that may run it.
type TooLargeError struct {
	Codelet *Codelet
	Bytes   int64      // that it needs at once
	Nodes   []NodeInfo // where it may run
}

func (e *TooLargeError) Error() string {
	text := fmt.Sprintf("a task of %s needs %s at once", e.Codelet.Name, accel.Bytes(e.Bytes))
	for i, n := range e.Nodes {
		sep := ", and "
		if i > 0 {
			sep = ", "
		}
		text += fmt.Sprintf("%s%s has %s", sep, n.Name, accel.Bytes(n.Capacity))
	}
	return text + ": let it run on other workers, or work on smaller parts"
}

// LostWorkersError says that all workers that may run a task are those of devices
// that are lost.
type LostWorkersError struct{ Codelet *Codelet }

func (e *LostWorkersError) Error() string {
	return fmt.Sprintf("the devices that may run a task of %s are lost: let it run on other workers", e.Codelet.Name)
}

// SizeError says that a task cannot have the number of workers it asks for.
type SizeError struct {
	Size, Max int    // workers asked for, and the most there can be
	Message   string // the whole error
}

func (e *SizeError) Error() string { return e.Message }

// PlaceError says that a task cannot have its place in the sequence of a worker.
type PlaceError struct {
	Place   int64  // TaskOptions.Place
	Worker  int    // -1: none was named
	Message string // the whole error
}

func (e *PlaceError) Error() string { return e.Message }

// SubgraphError says that a task cannot be part of a sub-graph.
type SubgraphError struct {
	Operand int // at fault; -1: none
	Handle  *datamgr.Handle
	Message string
}

func (e *SubgraphError) Error() string { return e.Message }

// RepeatError says that a repeating task cannot have what was asked for.
type RepeatError struct {
	Task   *Task
	What   string
	remedy string
}

func (e *RepeatError) Error() string {
	remedy := e.remedy
	if remedy == "" {
		remedy = "make it one that does not repeat"
	}
	return fmt.Sprintf("a task that repeats cannot have %s; %s", e.What, remedy)
}

// EndedError says that something was asked of a task that has ended, or is just
// ending.
type EndedError struct{ Task *Task }

func (e *EndedError) Error() string {
	return fmt.Sprintf("task %d has ended; what its end waits for must be added before, by its kernel at the latest", e.Task.ID())
}

// CycleError says that tasks would wait for each other in a circle.
type CycleError struct {
	// Tasks are those of the circle that the program has: each waits for the next, the
	// last for the first, explicitly or by data.
	Tasks []*Task
	text  []string // all of them; nil: these
}

func (e *CycleError) Error() string {
	all := e.text
	if all == nil {
		for _, t := range e.Tasks {
			all = append(all, t.number())
		}
	}
	return fmt.Sprintf("these tasks would wait for each other: %s, %s; leave one of the dependencies out", strings.Join(all, ", "), all[0])
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

// TagError says that something was asked of a tag that it cannot do.
type TagError struct {
	Tag     *Tag // nil: there is none
	Message string
}

func (e *TagError) Error() string { return e.Message }

// HookError is the cause of a task that failed in a hook.
type HookError struct {
	Hook string // "prologue", "start hook", "epilogue" or "callback"
	Err  error  // what it returned, or a *PanicError
}

func (e *HookError) Error() string { return fmt.Sprintf("its %s: %v", e.Hook, e.Err) }

// Unwrap returns what the hook returned.
func (e *HookError) Unwrap() error { return e.Err }

// RetryError is the cause of a task whose kernel ran again (TaskOptions.Retry) and failed each time.
type RetryError struct {
	Runs int   // how often it ran
	Err  error // of the last run
}

func (e *RetryError) Error() string { return fmt.Sprintf("%v (the last of %d runs)", e.Err, e.Runs) }

// Unwrap returns the error of the last run.
func (e *RetryError) Unwrap() error { return e.Err }

// problem makes an error of what Merge found.
func problem(ops []Operand, p datamgr.Problem) error {
	h, m := ops[p.Operand].Handle, ops[p.Operand].Mode
	switch p.Kind {
	case datamgr.NoValue:
		return &UninitError{Operand: p.Operand, Handle: h, Why: p.Why, At: p.At, Partial: p.Partial}
	case datamgr.ReduxShared:
		return &ModeError{Operand: p.Operand, Handle: h, Mode: m, Other: p.Other,
			Message: fmt.Sprintf("%s shares elements with another operand of the task, and one of them is used as REDUX; REDUX must be the only use", describe(h))}
	}
	return &ModeError{Operand: p.Operand, Handle: h, Mode: m, Other: p.Other,
		Message: fmt.Sprintf("%s shares elements with %s, one of them is written, and no piece of memory can hold both: one is not contiguous and needs a packed copy; use two tasks",
			describe(h), describe(ops[p.Other].Handle))}
}

// Failures: what is known about a task that did not run to its end, shared by
// everything that is lost because of it.

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
	convertTask:    {Name: "conversion"},
}

// newFailure describes why t did not succeed.
func newFailure(t *task, worker string, cause error, dropped bool) *failure {
	f := &failure{job: t.job, id: t.Order, codelet: t.codelet, name: t.name(), origin: t.submittedAt(),
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
// because its data was lost, or nil. Its Cause is a *FailedDataError. After a failure it
// shows whether tasks submitted since then were cancelled, too.
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

// Lost returns the failure that left h, or a part of it, without a valid value, or a contribution to it that failed,
// before it is combined; nil if there is none. It does not wait: call it after WaitHandles. The failure counts as
// handed out, see Failures. For nil, and for data of another runtime, Lost returns nil.
func (j *Job) Lost(h *datamgr.Handle) *TaskError {
	if h == nil || !j.rt.reg.Owns(h) {
		return nil
	}
	sub := j.rt.reg.Lock()
	if u := managed(h).Shared(sub); u != nil {
		h = u.Alias()
	}
	open := sub.LostContribution(h)
	sub.Unlock()
	_, v := datamgr.Fault([]Operand{{Handle: h, Mode: iface.R}})
	if v == nil {
		v = open
	}
	f, ok := v.(*failure)
	if !ok {
		return nil
	}
	f.take()
	return f.err()
}

// cancelledEnd is why t counts as cancelled, although its kernel has run or may run:
// its job was, while the end waited. No data is lost by that.
func (t *Task) cancelledEnd() *failure {
	f := newFailure(t.record(), "", t.job.cause(), true)
	f.lost, f.end = nil, true
	return f
}

// lose says that a task whose kernel succeeded did not, because of f.
func (e *taskEnd) lose(f *failure) {
	e.f, e.err = f, &FailedDataError{Operand: -1, Task: f.err()}
	if f.end {
		e.err = f.err()
	}
}

// ObjectPlaceError says that a task has a Value, which is in main memory only, and that no worker there
// may run it: its codelet has implementations for devices only, or the task is for workers of a device.
// Nothing was submitted.
type ObjectPlaceError struct {
	Codelet *Codelet
	Operand int             // place in TaskSpec.Operands
	Handle  *datamgr.Handle // of that operand
}

func (e *ObjectPlaceError) Error() string {
	return fmt.Sprintf("operand %d of %s is %s, which is in main memory only, and no worker there may run the task: give the codelet an implementation in CPU, and let CPU workers run the task",
		e.Operand, e.Codelet.Name, describe(e.Handle))
}

// FormatError says why data cannot have a layout, or what data with layouts cannot be used for.
type FormatError struct {
	Operand int             // place in TaskSpec.Operands, of a task that was refused
	Handle  *datamgr.Handle // nil: none was given
	Message string          // the whole error
}

func (e *FormatError) Error() string { return e.Message }

// ConversionError says that a conversion between two layouts of some data failed.
type ConversionError struct {
	Handle  *datamgr.Handle // the data
	Codelet *Codelet        // that should have converted it
	Format  string          // the layout that it should have got; "" is that of main memory
	Cause   error
}

func (e *ConversionError) Error() string {
	return fmt.Sprintf("%s converts %s to %s: %v", e.Codelet.Name, describe(e.Handle), formatText(e.Format), e.Cause)
}

// Unwrap returns the cause.
func (e *ConversionError) Unwrap() error { return e.Cause }

func formatText(name string) string {
	if name == "" {
		return "the layout of main memory"
	}
	return fmt.Sprintf("layout %q", name)
}
