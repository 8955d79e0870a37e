package engine

// Specs: tasks as programs describe them, and the uncommon options of tasks and codelets.

import (
	"slices"
	"unsafe"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/sched"
)

// TaskSpec describes one task. Submit copies what it needs, so a caller may use
// one TaskSpec and its slices over and over. Only Codelet is needed.
type TaskSpec struct {
	Codelet  *Codelet
	Operands []Operand      // data, in the order in which kernels number it
	Args     []iface.Scalar // plain values, likewise
	// Priority, higher, makes the task run earlier and get a lock (COMMUTE, accesses without
	// order) earlier, as far as the policy promises that, see sched.Promise.
	Priority int
	Name     string  // in errors and traces; "" for none
	Color    int     // in traces; 0: the codelet's
	Flops    float64 // estimate of the work; 0: the codelet's
	Workers  []int   // workers that may run it; nil: all
	// After lists tasks, gates and tags that the task waits for, besides the order
	// that its operands give. When such a task failed or was cancelled, this
	// one is cancelled. A tag that was removed is a *TagError.
	After []Dependency
	// Unordered gives the task no order with other tasks through its operands, as
	// Operand.Unordered does for one of them; it still excludes those that conflict
	// with it.
	Unordered bool
	Origin    Origin // where the program does it, for errors and traces

	closure unsafe.Pointer // of a codelet that the functions of Job.Go share: which of them
}

// Dependency is an explicit dependency of a task: a *Task, a *Gate or a *Tag.
type Dependency interface {
	// addSuccessor makes t wait; false: there is nothing to wait for.
	addSuccessor(sub datamgr.Submission, t *task) bool
}

// Call is one call that was on the program's stack when a task was submitted.
// It is immutable and shared.
type Call struct {
	Parent *Call  // the call around it; nil: none
	Site   *Site  // of the call
	Text   string // as written: "cholesky(t, nt)"
}

// Origin says where a task was submitted. It is plain data, stored in the task.
type Origin struct {
	Site *Site    // nil: not known
	Call *Call    // innermost call; nil at top level
	Vars [2]int64 // values of Site.VarNames, such as loop variables
}

// clone copies s with what it points to, operands' handles apart.
func (s *TaskSpec) clone() TaskSpec {
	c := *s
	c.Operands, c.Args = slices.Clone(s.Operands), slices.Clone(s.Args)
	c.Workers, c.After = slices.Clone(s.Workers), slices.Clone(s.After)
	return c
}

// Uncommon options of tasks and codelets. Plain tasks do not use them.

// TaskOptions are uncommon properties of a task. The zero value is a plain task.
type TaskOptions struct {
	// Prologue runs when the task waits for nothing any more, before the policy
	// sees it. An error or a panic fails the task: its kernel does not run.
	Prologue Hook
	// OnStart runs on the worker, right before the kernel. An error or a panic
	// fails the task: its kernel does not run.
	OnStart Hook
	// Epilogue runs after a kernel that succeeded, before anything that waits
	// for the task is released. An error or a panic fails the task. When the
	// end of the task waits for others (see Task.AddEndDependency), the
	// epilogue comes after them, and what waits only for the data goes on before.
	Epilogue Hook
	// Callback runs once when the task has ended, however it ended: those that
	// wait for it in the graph have been released, those in Task.Wait have not.
	// Task.Err says how it ended. An error or a panic changes nothing for the
	// task and is among the job's Failures. Nil: the codelet's, if it has one.
	Callback Hook
	// Kinds restricts the task to workers of these kinds, see WorkerInfo.Kind;
	// nil: all. Allow restricts it to workers for which it returns true; nil: all.
	// Both add to TaskSpec.Workers. Allow runs inside the submission.
	Kinds []string
	Allow func(w WorkerInfo) bool
	// Size is the number of workers that a task of a parallel codelet gets; 0:
	// as many as may run it, MaxWorkers at most. The workers share a memory node: where CPUs are on
	// several NUMA nodes, the task runs on one that has enough of them, and 0 means as many as
	// the node of the first worker that may run it has; nodes with fewer are not used then. Under the policies
	// pheft and peager that is the most: they choose between one and that, on the same nodes,
	// except in jobs that are Deterministic. A size larger than any node is a *SizeError, except
	// in a Sequential runtime: there the ranks of a task run one at a time, the lowest first,
	// each until it comes to a barrier or returns, and 0 means 1.
	Size int
	// Place is the task's place in the sequence that the job prescribes on a
	// worker, which TaskSpec.Workers names: a task with place n starts when
	// those with places 1 to n-1 have run, or will not, also those that are
	// submitted later. So no place can be left out, and none taken twice. 0: none.
	Place int64
	// Retry is how often the kernel of the task may run again after it returned an error; 0: as
	// the codelet says, below 0: never. See Traits.Retry.
	Retry int
	// Bundle is the group of tasks that the task belongs to, which policies that weigh costs
	// place as one; nil: none. It is of use for tasks that share data.
	Bundle *Bundle
	// Tag is notified when the task has ended, and makes it wait for what the
	// tag depends on. Any number of tasks may carry one tag.
	Tag *Tag
	// Repeat makes the task submit itself again when it has ended, as often as it returns
	// true; it is asked after the callback. Each round is a task of its own: its place in
	// the order of its data is the moment at which the round before ended, so what else
	// uses that data comes between two rounds, or not, as it happens, unless tags or
	// dependencies say when. A round that fails or is cancelled is the last one; so is
	// the one that runs when the job is cancelled or closed, or when Stop is called.
	// Those that wait for the task wait for its last round, except repeating tasks: their
	// n-th round waits for the n-th round of this one, its callback and Repeat included,
	// and comes after it in the order of data. One that waits for the last round cannot
	// use data that the rounds use, as the next would come behind it there: its
	// submission is a *RepeatError unless Stop was called. Where the next round would
	// come behind such a task indirectly, the task fails with a *RepeatError instead of
	// repeating. Nil: the task does not repeat.
	Repeat func(t *Task) bool
}

// Bundle is a group of tasks of one runtime that are placed as one; see sched.Bundle. The
// zero value is an empty bundle: new(Bundle) makes one.
type Bundle = sched.Bundle

// Traits are uncommon properties of a codelet.
type Traits struct {
	// Nowhere makes tasks without a kernel: they take part in the order of
	// their data and dependencies, run their hooks, and touch nothing. Their
	// operands can be R, RW or COMMUTE. The codelet has no implementation.
	Nowhere bool
	// Parallel says whether and how a task uses several workers at once. Policies
	// see one task, and some choose the number of its workers (sched.Gang); it starts
	// when it has all of them. An element of a REDUX
	// operand must be written by one rank only.
	Parallel Parallelism
	// MaxWorkers bounds the number of workers of a task of a parallel codelet; 0:
	// all there are.
	MaxWorkers int
	// Retry is how often the kernel of a task may run again after it returned an error, for tasks that
	// do not say otherwise; 0: never. It runs on the same worker, with its RW, COMMUTE and REDUX
	// operands as they were before: a copy of them is made in main memory before the kernel starts,
	// which no limit of memory counts. A fault that passes so leaves the result of a single run, and
	// the error of the last run is a *RetryError in the *TaskError. A kernel does not run again that
	// panicked or ended its goroutine, that has submitted tasks of a Subgraph, or that broke its access
	// modes (Options.Verify), nor when the job was cancelled or the device lost. Values of Go types
	// need Copy, or Pack and Unpack (Interface).
	Retry int
	// CanExecute says whether an implementation, a place in Codelet.CPU or in the
	// entry of Codelet.On for the worker's Arch, can serve a task with such operands on such a worker; nil: all can. It runs
	// inside the submission, and must give the same whenever it is asked.
	CanExecute func(w WorkerInfo, impl int, ops []iface.Desc, args []iface.Scalar) bool
	// Callback is for tasks that have none.
	Callback Hook
}

// emptyCodelet is that of tasks without one.
var emptyCodelet = &Codelet{Name: "empty", Traits: &Traits{Nowhere: true}}

// Parallelism says how a codelet uses several workers.
type Parallelism uint8

// The kinds of parallelism.
const (
	// Single codelets run on one worker.
	Single Parallelism = iota
	// ForkJoin codelets run on one worker, and the others that the task has run
	// what the kernel gives to TaskContext.Fork.
	ForkJoin
	// SPMD codelets run on all workers of the task at the same time, each with
	// its own TaskContext.Rank, and meet at TaskContext.Barrier. The ranks share
	// the memory of the operands, SCRATCH apart, and divide the work by rank.
	SPMD
)

// String returns the name of p.
func (p Parallelism) String() string {
	return [...]string{"single", "fork-join", "SPMD"}[min(p, 2)]
}

// Hook is a function that runs at some point of a task's life, on a worker or
// on the goroutine of the program that made that point come. It may submit
// tasks, open gates and ask the task; calls that wait return ErrWouldDeadlock.
// No two hooks of a task run at the same time, and no lock is held.
type Hook func(t *Task) error

// WorkerInfo describes a worker.
type WorkerInfo struct {
	ID   int    // 0 to Runtime.Workers()-1
	Name string // "cpu 0"
	Kind string // what runs its kernels: "cpu", or the name of a device
	Arch string // what its kernels are written for: "cpu", "opencl", "cuda"
	Node int    // its memory node, a place in Runtime.Nodes()
}

// NodeInfo describes a memory node.
type NodeInfo struct {
	Name      string // "ram"
	Capacity  int64  // bytes
	Allocated int64  // bytes allocated for data, host memory not counted
}
