package lang

// Events of a run, for OnEvent.

import "github.com/starpush/starpush/lang/interp"

// Event is something that happened in a run. Kind says what, and which of the
// fields have a meaning; the others are zero.
//
//	Time        when it happened
//	Task        number of the task, as in `task 41`, in the order of the inserts; below 0 for what the
//	            engine adds by itself; 0 for other events
//	Codelet     what the task runs, or what the engine does: "reduce", "init", "duplicate", "acquire",
//	            "invalidate", "unregister"
//	Name        what the script calls the task (option name), "" if it does not
//	Worker      where it runs: "cpu 0"; "" when it was submitted, or cancelled by nobody's worker
//	Span        the insert; of a Print the print
//	From, To    memories that a Transfer went between: "ram", "opencl 0"
//	Data        name of the data that was copied; Bytes how much, 0 if the copy failed; Took how long
//	Text        what was printed, without the end of the line
//	Err         why a task failed or was cancelled, as the engine says it; of a Problem what Run, Start,
//	            Call, Wait, Close or Eval returns: a *Diagnostic, Diagnostics or *LimitError
//	Done, Total tasks of the script that have ended, whether well or not, and that were inserted, up to
//	            this event: progress
//	Missed      events left out before this one because the host was too slow
//
// Of one task, TaskSubmitted comes before TaskStarted, and that before the event of
// its end. TaskStarted comes after the ends of all tasks that the task waited for.
type Event = interp.Event

// EventKind says what an Event is about.
type EventKind = interp.EventKind

// The kinds of events.
const (
	TaskSubmitted = interp.TaskSubmitted // a task was inserted
	TaskStarted   = interp.TaskStarted   // its kernel is about to run; again elsewhere when a device was lost
	TaskDone      = interp.TaskDone      // its kernel returned without error
	TaskFailed    = interp.TaskFailed    // its kernel returned an error or panicked
	TaskCancelled = interp.TaskCancelled // it never started: what it needs was lost, or the run was cancelled
	Transfer      = interp.Transfer      // data was copied from one memory to another
	Print         = interp.Print         // the script printed a line
	Problem       = interp.Problem       // an entry point is about to return an error
)
