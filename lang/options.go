package lang

// Options of one run.

import (
	"io"

	"slices"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/format"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/cluster"
	"github.com/starpush/starpush/lang/interp"
)

// runConfig is what options write to. Mistakes are kept until the run starts.
type runConfig struct {
	interp.Config
}

// Option changes one run: Run, Start or NewSession.
type Option func(*runConfig)

// Param sets a param. v is checked against its type: any Go integer for int,
// integers and floats for float, bool, string. An unknown name is an error of Run.
func Param(name string, v any) Option {
	return func(c *runConfig) { c.Params = append(c.Params, interp.NamedValue{Name: name, Value: v}) }
}

// Bind supplies an extern handle. In a Session the name is there from the start.
func Bind(name string, d *Data) Option {
	return func(c *runConfig) {
		var b *interp.Binding
		if d != nil {
			b = &d.b
		}
		c.Bindings = append(c.Bindings, interp.NamedBinding{Name: name, Data: b})
	}
}

// BindFile supplies an extern handle with what a file holds, as `load =` does: the file
// is one of Config.Files. dims are its sizes, for a file that does not say them. In
// Session.Load the name is bound while the script runs.
func BindFile(name, file string, dims ...int) Option {
	return func(c *runConfig) {
		c.Bindings = append(c.Bindings, interp.NamedBinding{Name: name, Data: &interp.Binding{File: file, Dims: slices.Clone(dims)}})
	}
}

// FileSizes replaces, in plans, a file that the script loads and that need not exist: one
// size for a vector, rows and columns for a matrix. If the script loads another shape,
// that is an error. Runs ignore it.
func FileSizes(file string, dims ...int) Option {
	return func(c *runConfig) {
		if c.FileSizes == nil {
			c.FileSizes = map[string][]int{}
		}
		c.FileSizes[format.Clean(file)] = slices.Clone(dims)
	}
}

// Late replaces the host function of the same name and signature for this run only.
func Late(f *Func) Option {
	return func(c *runConfig) {
		if f != nil && f.f != nil {
			c.Late = append(c.Late, f.f)
		}
	}
}

// Stdout says where print goes; the default is os.Stdout. One print is one Write.
func Stdout(w io.Writer) Option { return func(c *runConfig) { c.Stdout = w } }

// Ranks makes the run one of several processes that run the script together, each with a Runtime of its own: each executes all of the
// script, a task runs on one of them, and all read the same values. Every rank must be given the same script, params and
// data. All print and save the same, so one of them should show it. Sessions of all ranks do what that of rank 0 does: see Session.Follow. A plan without
// PlanRanks has one rank.
func Ranks(c cluster.Comm) Option { return func(o *runConfig) { o.Config.Ranks = c } }

// ObserveRanks calls fn at the end of a run on several ranks, with what each rank did: tasks, messages, times. All ranks are given it, or none.
// If the others cannot be asked, as the run was ended by one of them, the report has this rank alone.
func ObserveRanks(fn func(*cluster.Report)) Option { return func(c *runConfig) { c.OnRanks = fn } }

// PlanRanks makes a plan one for n ranks, see Plan.Ranks; 0 or 1: for one. Runs ignore it.
func PlanRanks(n int) Option { return func(c *runConfig) { c.PlanRanks = n } }

// WithCheckpoints lets the script write checkpoints: folder returns the folder of the operating system that the name in
// a `checkpoint` statement stands for, which is made if need be, or an error. Without it they are an error, as nothing is
// reachable unless configured.
func WithCheckpoints(folder func(name string) (dir string, err error)) Option {
	return func(c *runConfig) { c.Checkpoints = folder }
}

// Resume makes the run go on from a checkpoint that the same script has written, with the same params and data: see
// engine.OpenCheckpoint. Tasks, prints and saves up to there are not repeated. Of Run and Start; a nil c starts from the beginning.
// Of several ranks, rank 0 passes it, and the others open what that one has.
func Resume(c *engine.Checkpoint) Option { return func(o *runConfig) { o.Config.Resume = c } }

// Deterministic fixes the order of COMMUTE uses and the tree in which REDUX
// contributions are combined: the run gives the same bits for every number of
// workers and every policy. See engine.JobOptions.Deterministic.
func Deterministic() Option { return func(c *runConfig) { c.Deterministic = true } }

// Digits bounds how many significant digits of floats print shows, and a session; those
// before the point are shown in full. 0 stands for as many as read back the same, as
// str and f-strings always have.
func Digits(n int) Option { return func(c *runConfig) { c.Digits = n } }

// WithLimits tightens, never widens, the limits of the Compiler.
func WithLimits(l Limits) Option { return func(c *runConfig) { c.Limits = c.Limits.Tighten(l) } }

// WithTotals tightens, never widens, the totals of the Compiler.
func WithTotals(t Totals) Option { return func(c *runConfig) { c.Totals = c.Totals.Tighten(t) } }

// OnEvent calls fn with what happens in the run: see Event. fn is called on a
// goroutine of its own, one event at a time and in their order; nothing waits for
// it. It may use the host's own data under the host's own locks, and must not call
// methods of the Instance, which belong to another goroutine, except Stats. A panic
// in it is dropped. While it is slow, up to 16384 events wait for it and further ones
// are left out, which the next one says ([Event.Missed]). Close delivers what is left:
// when it has returned, fn is not called any more. Only a call of fn that goes on
// for a second without an end is not waited for.
//
// Of two OnEvent the last counts. Plans have no events.
func OnEvent(fn func(Event)) Option { return func(c *runConfig) { c.OnEvent = fn } }

// ObserveViews calls fn with the parts of each view that the run declares, and with
// what part k is called in the script: for traces and graphs.
func ObserveViews(fn func(parts []*datamgr.Handle, name func(k int) string)) Option {
	return func(c *runConfig) { c.OnView = fn }
}

// Values are the numbers that a script has read by value() in a run, in their order. The zero value has none.
type Values = interp.Values

// ReadValues makes a run append to v what value() returns, and a plan use what v holds, as far as it comes by the same calls: then the plan
// is of the tasks of that run, also where such values decide. v belongs to one run or plan at a time.
func ReadValues(v *Values) Option { return func(c *runConfig) { c.Values = v } }

// Observe calls fn with the job of the run before its first statement, so that a
// progress display can read its Stats from another goroutine.
func Observe(fn func(*engine.Job)) Option { return func(c *runConfig) { c.Observe = fn } }

// Limits of a run, and the error that reports one.

// Limits bound one run: Run or Start, and each Instance.Call, Session.Eval and Load after
// it, which begin to count anew; Totals bound all of them together. A Call that a host
// function makes counts as part of the call that it was called from. 0 means the default
// shown.
//
//	Steps       statements, rounds of loops and comprehensions, calls of script functions, items that are looked at; no limit
//	CallDepth   script call depth; 256, and 10000 at most
//	Tasks       tasks inserted in total; no limit
//	InFlight    tasks not finished: insert waits above this; 65536, and no more than take a quarter of ScriptBytes at 1 KiB each, but 1024
//	DataBytes   bytes of registered data, and what it takes beside its elements, cumulative; no limit
//	ScriptBytes bytes ever taken by lists, strings, tasks, gates and other values, cumulative; 1 GiB
//	SourceBytes bytes of text that one compilation reads, imports included; a 256th of ScriptBytes where that is set, but 64 KiB at least, else 64 MiB
//	Output      bytes printed; no limit
//	Timeout     wall time of Run, of each Call and Eval, and of a plan; none
//	MaxWorkers  workers that run its tasks at a time; all
//	Weight      share of the workers' time, beside other runs on the runtime; none
//
// MaxWorkers and Weight make tasks wait and end no run. Runs with weights 1 and 3 get a
// quarter and three quarters of the workers' time while both have tasks enough. A run
// with MaxWorkers and no Weight has the weight 1; all those with neither have it
// together. A codelet written in the language that runs for long lets tasks of other runs
// run in between; one in Go does where it calls Task.GiveWay, and otherwise runs to its
// end.
//
// Counting is exact: a script that needs n steps runs with Steps: n, and fails with n-1,
// at the same place each time; so do Tasks and the bytes. Statements before the one that
// exceeds a limit have had their effects. SourceBytes is a limit of the compiler; among
// the limits of a run it has no effect. A byte of text takes up to 250 bytes of memory
// while it is compiled.
//
// DataBytes counts 1024 for each datum, 512 for each part of a view, and 256 for each
// piece beyond one a part that a view cuts the data into: views that cross cut it into as
// many pieces as the product of their parts. A REDUX or SCRATCH operand counts its
// elements once more for each worker.
//
// ScriptBytes counts the memory of values: a list 96 and 8 for each number, 16 for each
// other item, a string 32 and its bytes, a gate 192, a task that insert gives as a value
// 384. A plan counts its record, 640 for each task, and the dependencies between them.
//
// In the window of InFlight a task counts as one more for every 16 accesses and explicit
// dependencies. Waiting is in vain where all tasks in flight wait for the script, behind
// a gate that is closed or for data that it holds: then insert goes on, and the tasks
// above the limit count 1 KiB of ScriptBytes each.
type Limits = interp.Limits

// Totals bound what an Instance or a Session does from the first statement to Close, all
// calls together; 0 means no limit. Each field counts as that of Limits does, and what
// a call used counts also when it failed. A host that keeps an instance for long bounds
// each call by Limits, so that it ends, and by Totals what may pile up: lists at the top
// level, data that functions return. Once a total is used up further calls fail with a
// *[LimitError] whose Total is true. Session.Reset begins to count anew.
//
//	Steps       as in Limits
//	Tasks       as in Limits
//	DataBytes   as in Limits: bytes ever registered
//	ScriptBytes as in Limits: bytes ever taken by values
//	Output      as in Limits
type Totals = interp.Totals

// LimitError says which limit was reached, and where. It is a target of errors.As, and
// so is the [Diagnostic] that it stands for: Error and Render write that one, R0111.
type LimitError = interp.LimitError

// Events of a run, for OnEvent.

// Event is something that happened in a run. Kind says what, and which of the fields have
// a meaning; the others are zero.
//
//	Time        when it happened
//	Task        number of the task, as in `task 41`, in the order of the inserts; below 0 for what the
//	            engine adds by itself; 0 for other events
//	Codelet     what the task runs, or what the engine does: "reduce", "init", "duplicate", "acquire",
//	            "invalidate", "unregister"
//	Name        what the script calls the task (option name), "" if it does not
//	Worker      where it runs: "cpu 0"; "" when it was submitted, or cancelled without a worker
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
// Of one task, TaskSubmitted comes before TaskStarted, and that before the event of its
// end. TaskStarted comes after the ends of all tasks that the task waited for.
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
