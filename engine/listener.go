package engine

// Events: what a runtime tells whoever listens.

import (
	"time"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/engine/perf"
	"github.com/starpush/starpush/engine/sched"
)

// EventKind says what happened to a task.
type EventKind uint8

// The events of a task, in the order in which they happen.
const (
	TaskSubmitted EventKind = iota + 1
	TaskStarted             // its kernel is about to run; again on another worker when the device of the first was lost
	TaskDone                // its kernel returned without error
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

// CopyListener is a Listener that is told of copies, too: by whoever made them,
// several at the same time. It must not call the runtime, and must return.
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

// ChoiceListener is a Listener that is told of choices, too, by policies that weigh
// workers against each other (dm and its kin), before the task starts. The call is
// made under the policy's lock: it must call nothing of the runtime, and must return.
type ChoiceListener interface {
	Listener
	ChoiceEvent(*ChoiceEvent)
}

// sure is a Listener that returns without a panic: it needs no goroutine of its own.
type sure interface {
	Listener
	AlwaysReturns()
}

// Listener is told what happens to tasks. Submitters and workers call its method
// on a goroutine made for that and wait for it, several at the same time: it must
// be safe for concurrent use, return soon, and call nothing of the runtime. A
// TaskStarted event comes after the TaskDone events of all tasks that the task
// waited for. The event is valid during the call; so are its operands. Watching
// tasks does not change them: a panic in it is dropped, and when it ends its
// goroutine (runtime.Goexit, t.FailNow in a test), nothing else ends.
type Listener interface {
	TaskEvent(*Event)
}
