package engine

// Events: what a runtime tells whoever listens.

import "time"

// EventKind says what happened to a task.
type EventKind uint8

// The events of a task, in the order in which they happen.
const (
	TaskSubmitted EventKind = iota + 1
	TaskStarted             // its kernel is about to run
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
