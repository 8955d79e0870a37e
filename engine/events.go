package engine

// Sending events.

import (
	"errors"
	"time"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/engine/internal/isolate"
	"github.com/starpush/starpush/engine/perf"
	"github.com/starpush/starpush/engine/sched"
)

// hasListeners reports whether events have a receiver: the listener of the runtime, its
// profile, or that of some job.
func (rt *Runtime) hasListeners() bool { return rt.listenerCount.Load() > 0 }

// event reports an event, except a submission, to the listeners of the runtime and of the
// job of t. Call it only if hasListeners.
func (rt *Runtime) event(k EventKind, t *task, worker int, err error) {
	if rt.opt.Plan == nil {
		rt.tell(k, t, worker, err, nil)
	}
}

// submittedEvent is event for the submission of t, which has to wait for after. It is sent
// under the lock, so that these events have the order of submissions.
func (rt *Runtime) submittedEvent(sub datamgr.Submission, t *task, after []Dependency) {
	if rt.opt.Plan != nil {
		rt.planned(sub, t, after)
		return
	}
	rt.tell(TaskSubmitted, t, -1, nil, after)
}

// tell sends an event to the listeners that there are.
func (rt *Runtime) tell(k EventKind, t *task, worker int, err error, after []Dependency) {
	var tt *taskTimes
	if rt.profile != nil {
		if k > TaskStarted && t.x != nil && t.x.generalTask != nil {
			tt = t.x.times
		}
		rt.profile.event(k, t, worker)
	}
	all, own := rt.opt.Listener, t.job.opt.Listener
	if rt.profile != nil && rt.profile.silent {
		all = nil
	}
	if all == nil && own == nil {
		return
	}
	color := 0
	if t.codelet != nil {
		color = t.codelet.Color
	}
	if t.general && t.x.color != 0 {
		color = t.x.color
	}
	var parent int64
	if sp := t.special(); sp != nil && sp.parent != nil {
		parent = sp.parent.owner.id
	}
	e := &Event{After: afterIDs(after), Kind: k, Time: time.Now(), Job: t.job, ID: t.Order, Codelet: t.codelet,
		Internal: kindNames[t.kind], Name: t.name(), Worker: worker, Operands: t.operands(), Origin: t.submittedAt(), Parent: parent, Color: color, Err: err, task: t}
	if tt != nil {
		tt.mu.Lock()
		e.Profile = tt.p
		tt.mu.Unlock()
	}
	deliver(all, e)
	deliver(own, e)
	e.task = nil // it is used again
}

// deliver calls l, if there is one, where nothing it does can harm the caller.
func deliver(l Listener, e *Event) {
	if l == nil {
		return
	}
	if l, ok := l.(boundedListener); ok {
		l.TaskEvent(e)
		return
	}
	isolate.Call(func() { l.TaskEvent(e) })
}

// listenToCopies tells the listeners of copies, if they want to know.
func (rt *Runtime) listenToCopies() {
	rt.reg.OnCopy(func(from, to int, bytes int64, data *datamgr.Handle, begin, end time.Time) {
		if ls := rt.copies.Load(); ls != nil {
			e := &CopyEvent{From: from, To: to, Bytes: bytes, Data: data, Begin: begin, End: end}
			for _, l := range *ls {
				l.CopyEvent(e)
			}
		}
	})
}

// countListeners updates the number of listeners and what they listen to.
func (rt *Runtime) countListeners(_ datamgr.Submission) {
	n, copies, choices := 0, []CopyListener(nil), []ChoiceListener(nil)
	add := func(l Listener) {
		if l == nil {
			return
		}
		n++
		if l, ok := l.(CopyListener); ok {
			copies = append(copies, l)
		}
		if l, ok := l.(ChoiceListener); ok {
			choices = append(choices, l)
		}
	}
	add(rt.opt.Listener)
	for j := range rt.jobs {
		if !j.done {
			add(j.opt.Listener)
		}
	}
	rt.copies.Store(nil)
	if copies != nil {
		rt.copies.Store(&copies)
	}
	rt.choices.Store(nil)
	if choices != nil {
		rt.choices.Store(&choices)
	}
	rt.onlyRuntimeListener.Store(n == 1 && rt.opt.Listener != nil && rt.profile == nil)
	rt.listenerCount.Store(int32(n))
}

// ErrBusyRuntime is the error of Listen while tasks are left.
var ErrBusyRuntime = errors.New("engine: tasks are left; wait for them first")

// Listen makes l the listener of the runtime, in place of Options.Listener; with nil
// there is none. No job may have unfinished tasks (ErrBusyRuntime), and no other
// goroutine may submit meanwhile.
func (rt *Runtime) Listen(l Listener) error {
	sub := rt.reg.Lock()
	defer sub.Unlock()
	for j := range rt.jobs {
		if j.live != j.ended.Load() {
			return ErrBusyRuntime
		}
	}
	switch {
	case l == nil && rt.profile != nil:
		l = profileOnly{}
		rt.profile.silent = true
	case rt.profile != nil:
		rt.profile.silent = false
	}
	rt.opt.Listener = l
	rt.countListeners(sub)
	return nil
}

// Mute stops events to the runtime's listener until Unmute or Listen: events cost more
// than short tasks do. Unlike other methods, a listener may call it. The listener does
// not see the end of tasks that are unfinished then. Mute reports false, and does
// nothing, without a listener, when it is muted already, and when a profile or a job
// listens, too.
func (rt *Runtime) Mute() bool {
	return rt.onlyRuntimeListener.Load() && rt.listenerCount.CompareAndSwap(1, 0)
}

// Unmute ends Mute.
func (rt *Runtime) Unmute() {
	sub := rt.reg.Lock()
	defer sub.Unlock()
	rt.countListeners(sub)
}

// Events, which a runtime reports to listeners.

// EventKind says what happened to a task.
type EventKind uint8

// The events of a task, in the order in which they happen.
const (
	TaskSubmitted EventKind = iota + 1
	TaskStarted             // its kernel is about to run; again on another worker when the device of the first was lost
	TaskDone                // its kernel returned without error; events of other tasks on the worker come before if it gave way
	TaskFailed              // its kernel returned an error or panicked
	TaskCancelled           // it never started: what it needs was lost, or its job was cancelled
)

var eventNames = [...]string{"none", "submitted", "started", "done", "failed", "cancelled"}

// String returns the name of the event.
func (k EventKind) String() string { return eventNames[k] }

// Event is something that happened to a task.
type Event struct {
	Kind     EventKind
	Time     time.Time
	Job      *Job
	ID       int64    // of the task in its job; below 0 for what the engine inserts itself
	Codelet  *Codelet // nil for what the engine inserts itself
	Internal string   // "", or "reduce", "init", "duplicate", "acquire", "invalidate", "unregister"
	Name     string
	Worker   int // TaskStarted and later; -1: none
	Operands []Operand
	Origin   Origin
	Parent   int64   // the task in whose Subgraph it is; 0: none
	Color    int     // of the task, else of its codelet
	After    []int64 // TaskSubmitted: the tasks in TaskSpec.After
	Err      error   // TaskFailed, TaskCancelled
	// Profile says when what happened to the task: in TaskDone, TaskFailed and
	// TaskCancelled of a runtime with Options.Profile. Released is not known yet.
	Profile TaskProfile
	task    *task // nil once the listener has returned
}

// Allows reports whether worker w may run the task: it is not restricted to others, and
// has an implementation for that worker. Listeners call it before they return, and not
// afterwards.
func (e *Event) Allows(w int) bool {
	t := e.task
	if t == nil || w < 0 || w >= len(e.Job.rt.workers) {
		return false
	}
	return t.allows(e.Job.rt.workers[w])
}

// Flops returns the work of the task, in floating-point operations, as TaskSpec.Flops or
// its codelet estimates it; 0: not known. Listeners call it before they return, and not
// afterwards.
func (e *Event) Flops() float64 {
	if e.task == nil || e.task.codelet == nil {
		return 0
	}
	return e.task.work()
}

// CopyEvent is a copy from one memory to another, or within one.
type CopyEvent struct {
	From, To   int             // memory nodes: places in Runtime.Nodes
	Bytes      int64           // 0: it failed
	Data       *datamgr.Handle // of the whole datum; nil: private memory
	Begin, End time.Time
}

// CopyListener is a Listener that receives copies, too. CopyEvent is called by the
// goroutine that made the copy, several at the same time. It must not call the runtime,
// and must return.
type CopyListener interface {
	Listener
	CopyEvent(*CopyEvent)
}

// ChoiceEvent is why the policy gave a task to a worker. Another one that has nothing
// may take it there.
type ChoiceEvent struct {
	Job *Job
	ID  int64 // of the task in its job
	sched.Choice
	Models []perf.Estimate // what the lengths of Terms are predicted from
}

// ChoiceListener is a Listener that also receives the choices of policies that weigh
// workers against each other (dm and its kin), before the task starts. The call is made
// under the policy's lock: it must call nothing of the runtime, and must return.
type ChoiceListener interface {
	Listener
	ChoiceEvent(*ChoiceEvent)
}

// boundedListener is a Listener that returns without a panic: it needs no goroutine of its own.
type boundedListener interface {
	Listener
	AlwaysReturns()
}

// Listener receives the events of tasks. Submitters and workers call its method on a
// goroutine made for that and wait for it, several at the same time: it must be safe for
// concurrent use, return soon, and call nothing of the runtime. A TaskStarted event comes
// after the TaskDone events of all tasks that the task waited for. The event is valid
// during the call; so are its operands. Watching tasks does not change them: a panic in
// it is dropped, and when it ends its goroutine (runtime.Goexit, t.FailNow in a test),
// nothing else ends.
type Listener interface {
	TaskEvent(*Event)
}
