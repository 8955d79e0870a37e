// Package engine runs tasks: units of work that name their data and access modes. Tasks
// run in parallel with the same result as one after the other, in the order of their
// submission.
//
// A [Runtime] owns workers and data. A [Job] groups the tasks of one program, which can
// be waited for, cancelled and counted together. A task calls a Go function on data with
// access modes:
//
//	rt, err := engine.New(engine.Options{})           // workers
//	job := rt.NewJob(ctx, engine.JobOptions{})
//	x, err := engine.NewVector(rt, []float64{…})      // data: a handle
//	view, err := x.Partition(filter.Blocks(8))        // parts: handles, too
//	for _, part := range view.Parts {
//		err = job.Go(scale, 2.0, engine.RW(part)) // func scale(by float64, v []float64)
//	}
//	a, err := x.Acquire(ctx, job, iface.R)            // after the tasks that write x
//
// [Job.Go] makes a [Codelet], which describes the work, and a [TaskSpec], which names the
// data. Programs with kernels for devices, or with kinds of data that are known only at
// run time, make both themselves and call [Job.Submit].
//
// The order comes from the access modes of the operands (package iface): tasks that read
// the same elements run side by side, one that writes waits for all that were submitted
// before and use any of them, and those submitted later wait for it. The order is kept
// for elements, not handles: parts, parts of parts, overlapping views and the whole may
// be used together, and views need no activation. Explicit dependencies, gates and tags
// add to that order.
//
// A program may register data, declare views, submit and acquire at any time, also while
// tasks run. The results depend only on the order of its calls, except for COMMUTE,
// contributions to REDUX data in floating point, and accesses without order;
// [JobOptions.Deterministic] fixes the first two. With [Options.Sequential] each task
// runs inside its Submit: the reference that every other run must agree with.
//
// # Concurrency
//
// All methods are safe for concurrent use, but a Job is meant to have one submitter at a
// time: the order of two submissions that race is not defined. Kernels and hooks may
// submit tasks. The place of a task in the order is the moment of its submission, so
// tasks of a kernel come after the task that submits them, and before or after what the
// program submits meanwhile, as it happens; a [Subgraph] or [TaskSpec].After gives them
// an order. Calls that wait return [ErrWouldDeadlock] in kernels and hooks. Callbacks of
// [Job.AcquireFunc] have a goroutine of their own and may wait; they hold their data
// until they return.
//
// Submit and Go return before the task has run. They wait while the window of the job is
// in use ([JobOptions].MaxInFlight, [Options].Window), but not where all its tasks wait
// for the program, and for moments while the job is some 2000 short tasks ahead of the
// workers. They do not in kernels and hooks. Gates, tags and tasks in After hold back a
// task, and not its submission.
//
// Repeating tasks that use the same data take turns, one round each, as the place of a
// round in the order is the end of the round before. Accesses without order wait for none
// and exclude those that conflict: [Operand].Unordered for one operand,
// [TaskSpec].Unordered for all of a task, DataSpec.Unordered and Handle.SetUnordered
// for data, [Options].Unordered for all data, [AcquireOptions].Unordered for the
// program.
//
// A context ends a wait and the job that was made with it, nothing else; a nil context
// never ends.
//
// # Errors
//
// A mistake in a submission, an acquire or a registration is the error of that call,
// which then has no effect. Errors that a program can examine are types of this package,
// or of packages accel, datamgr and filter; their fields name the operand and the handle.
// They may be wrapped: use errors.As.
//
// A kernel that returns an error or panics fails its task. Tasks that need its result are
// cancelled when their turn comes, and everything else goes on. Wait returns no error for
// it: [Task.Err] and [Job.Failures] report failures, and acquiring lost data returns a
// [*FailedDataError]. Data is valid again once a task has written it (W).
//
// A wait that can never end is a [*StuckError] in jobs with [JobOptions.DetectStuck], and
// at Close in all of them.
//
// Runtime, Job, Task, Gate, Tag, Access and Subgraph are made by functions and methods of
// this package. Their zero values are of no use: most methods panic, as they do for nil.
//
// # Ownership and lifetime
//
// The caller closes what it made in the reverse order: accesses, jobs, the runtime, and
// then its devices and disk. Closing twice does no harm, and Close waits for all that
// goes on.
//
// Memory of the program ([DataSpec] with Home) stays the program's. From Register until
// the data is unregistered and its last task has ended, the program may use it through
// Acquire only; it is kept alive, and no other data may have it. Other data is memory of the
// runtime, which exists from the first write to the unregistration. Handles and views may
// be kept for ever; calls with one that has been unregistered return an error.
//
// A Codelet, and all that it points to, belongs to the program and must not change once a
// task was submitted with it. A TaskSpec and its slices are copied by Submit. Kernels own
// their buffers until they return.
//
// # Devices
//
// A device (Options.Devices) has workers behind those of the CPUs, and usually a memory
// of its own. Before a kernel runs its operands are copied to the memory of its worker.
// NUMA nodes are devices with CPU workers (Options.NUMA).
// Internal tasks, such as reductions, run on CPU workers in main memory, where the
// program sees data, too. In a runtime with devices every task checks where its data is;
// without devices, none does.
//
// An operand may be pinned to main memory (Operand.Pin): then the kernel finds it there.
// Contributions that tasks on a device make by REDUX stay there until they are combined.
// Data may live in the memory of a device ([HomeOn]): it is there at first, and the last value
// comes back when it is unregistered.
// The program may hold data on a device, too (AcquireOptions.Node). Such a hold ends only
// when the program releases it, so no worker waits for its memory: a task that needs the
// memory is set aside until a release. Runtimes that have the same device share its
// memory and wait for each other's tasks.
//
// # Life of a task
//
//	submitted ──> ready ──> running ──> done
//	    │           │          └──────> failed
//	    │           └─────────────────> cancelled (what it needs was lost)
//	    └─────────────────────────────> cancelled (its job was cancelled)
//
// A task counts what it waits for: epochs that are not active, tasks, gates. At 0 it is
// given to the policy. A worker takes its locks, allocates its memory, copies its data
// and runs its kernel. If it failed, the data that it should have written is marked lost.
// Then its locks and accesses end, which releases its successors.
//
// Tasks with TaskOptions, Traits or a Subgraph go through more states; a task skips those
// that it does not need:
//
//	prepared      NewTask: others can wait for it, it has no place in the order
//	   │ Submit
//	waiting       for data, tasks, gates, tags, its place on a worker
//	   │ Prologue
//	ready         in the policy; tasks without a kernel never are
//	   │ popped by a worker: locks, other workers (parallel), memory, OnStart
//	running       its kernel, or one kernel for each rank
//	   │ the kernel returns: the tasks of its sub-graph may start
//	sub-graph     its operands are still its own (StateEnding, from here on)
//	   │ Epilogue; then what waits for its data is released
//	ending        end dependencies; the Epilogue comes behind them, if there are any
//	   │ waiters for the task are released, its tag is notified; Callback
//	   ├──────────> waiting: the next round of a repeating task
//	ended         Wait returns
//
// A task that fails or is cancelled goes the same way, without what it cannot do any
// more: kernel, OnStart, Epilogue, further rounds.
//
// Tasks and epochs are recycled: a fire-and-forget task costs no allocation.
package engine

// Files, from the bottom up. A file should use what lies below it; TestFloors counts the
// references upward, which may only become fewer.
//
// Arguments of programs:
//
//	options.go   options of runtimes, jobs and accesses
//	spec.go      TaskSpec, TaskOptions, Traits
//	codelet.go   Codelet, the types of operands
//
// Types and records, events and errors:
//
//	layout.go    the record of a task, in memory
//	record.go    its parts; records that are used again
//	events.go    events and profiles
//	errors.go    errors; failures of tasks
//	state.go     Runtime, Job, worker, releaser, and what they hold
//	lifecycle.go the phases of a kept task
//	task.go      Task
//	formats.go   layouts of data on devices
//
// Kernels, and checks of them:
//
//	kernel.go    TaskContext, calls of kernels
//	buffer.go    memory as kernels see it
//	verify.go    Options.Verify
//	journal.go   Journal
//
// Parts of the life of a task:
//
//	waitlist.go  lists of waiting tasks, sequences
//	tags.go      tags and gates
//	stuck.go     waits that never end
//	operands.go  private memory, contributions to REDUX data
//	stats.go     counts and times
//	push.go      pushes to the policy, sleeping workers
//	parallel.go  parallel codelets
//	subgraph.go  sub-graphs
//	prefetch.go  hints, and data of the next tasks
//	model.go     performance models, what policies ask
//	releaser.go  the end of a task
//	lanes.go     shares of jobs, giving way
//
// Execution:
//
//	queue.go     kernels on devices
//	retry.go     tasks that could not run there
//	convert.go   conversions between layouts
//	internal_tasks.go  tasks of the engine
//	execute.go   one task
//
// Submission and data:
//
//	admission.go the checks of a submission
//	register.go  its record and its place in the order
//	access.go    data that the program holds
//	data.go      registration
//	typed.go     handles with a Go type
//	gofunc.go    Go functions as kernels
//	gocall.go    the calls of those
//	arrays.go    several arrays as one
//	value.go     values of Go types
//	multiformat.go  data with layouts
//
// Drivers and the calls of programs:
//
//	checkpoint_flock.go  locks of files, on systems with flock
//	checkpoint_folder.go  the files of checkpoints
//	checkpoint_lock.go  folders of checkpoints belong to one job
//	plan.go      plans
//	idle.go      functions of the program that idle workers call
//	worker.go    the loop of a worker
//	wait.go      waiting, and room in the window
//	job.go       jobs
//	submit.go    submission
//	repeat.go    rounds of repeating tasks
//	copy.go      copies, duplicates, bytes
//	checkpoint.go  data in a folder, from which a later run goes on
//	structs.go   slices of structs, field by field
//	insert.go    Job.Go
//	runtime.go   New and Close

// Locks, in the order in which they may be taken:
//
//	the drain lock (Sequential only): one goroutine runs tasks at a time
//	a poller's lock: one goroutine at a time calls it; a call may take all that follow, and pollers.mu is a leaf
//	the submission lock (datamgr.Registry.Lock): registering accesses, handles,
//	    views, gates, tags, prepared tasks, sub-graphs, sequences, held data, a
//	    job's submission counts
//	a datum's lock (package datamgr)
//	a node's lock, an access lock, an accumulator's lock, a publisher's lock (package datamgr)
//	gangs.mu
//	lanes.mu, under which policies are called while jobs have shares
//	leaves: the lock of pools (package datamgr), Task.mu, gang.mu, Job.mu, parking.mu, waiting.mu, statistics, a profile's, policy queues
//
// The submission lock is a value: Registry.Lock returns a datamgr.Submission, whose Unlock
// ends it. A function that takes one needs the lock, and none that takes none does. keepPace
// gives the lock up meanwhile and returns the Submission of the lock that it took again.
// Names that end in Locked need the lock of a struct mu. The closures that waits call under
// the submission lock take the Submission, too: a closure must not capture one that is over
// when it runs.
//
// No lock except the drain lock and a poller's is held while a kernel, a shape function, a
// reduction, a filter, a hook or a callback runs. Only the event of a submission is sent
// under the submission lock, so that events have its order. A fetch frees the
// datum's lock while bytes move.
