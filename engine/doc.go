// Package engine runs tasks: units of work that name the data they use and how,
// and that are ordered by that, as if they had run one after the other in the
// order of their submission.
//
// A Runtime owns workers and data. A Job is the tasks of one program: what is
// submitted, waited for, cancelled and counted together. A Codelet says what a
// task does, a TaskSpec on which data. The order comes from the access modes of
// the operands (package datamgr); explicit dependencies, gates and tags add to it.
// A task whose kernel fails does not stop the others: those that need what it
// should have written are cancelled, and everything else goes on.
//
// # Concurrency
//
// All methods are safe for concurrent use, but a Job is meant to have one
// submitter at a time: the order of two submissions that race is not defined.
// Kernels and hooks may submit tasks: their place in the order is the moment of the
// submission, like that of any task, so they come after the task that submits
// them wherever they use its data; a Subgraph changes that. Calls that wait
// return ErrWouldDeadlock in kernels and hooks.
//
// # Locks
//
// In the order in which they may be taken:
//
//	the drain lock (Sequential only): one goroutine runs tasks at a time
//	the submission lock (datamgr.Registry.Lock): registering accesses, handles,
//	    views, gates, tags, prepared tasks, sub-graphs, sequences, held data, a
//	    job's submission counts
//	a datum's lock (package datamgr)
//	a node's lock, an access lock, an accumulator's lock, a publisher's lock (package datamgr)
//	gangs.mu
//	leaves: the lock of pools (package datamgr), Task.mu, gang.mu, Job.mu, parking.mu, waiting.mu, statistics, a profile's, policy queues
//
// No lock except the drain lock is held while a kernel, a shape function, a
// reduction, a filter, a hook or a callback runs. Only the event of a submission is sent
// under the submission lock, so that events have its order. A fetch frees the
// datum's lock while bytes move.
//
// # Devices
//
// A device (Options.Devices) has workers behind those of the CPUs, and usually a
// memory of its own. Before the kernel of a task its operands are brought to the
// memory of the worker that runs it; what the engine submits itself runs on CPU
// workers, in main memory, where the program sees data, too. In a runtime with
// devices every task goes the general way, with a look at where its data is;
// without, none does for that.
//
// An operand may be pinned to main memory (Operand.Pin): then the kernel finds it
// there. What tasks on a device add by REDUX is data of its own that stays there until
// it is combined. The program may hold data on a device, too (AcquireOptions.Node).
// That does not end by itself, so no worker waits for its room: a task that has
// nothing else to wait for is set aside until a release. Runtimes that have the same
// device share its memory and wait for each other's tasks.
//
// # Life of a task
//
//	submitted ──> ready ──> running ──> done
//	    │           │          └──────> failed
//	    │           └─────────────────> cancelled (what it needs was lost)
//	    └─────────────────────────────> cancelled (its job was cancelled)
//
// A task counts what it waits for: epochs that are not active, tasks, gates. At
// 0 it is given to the policy, and a worker runs it: all its locks, its
// memory and copies, its kernel; then what it should have written is marked
// lost if it failed; then locks and accesses end, which releases its successors.
//
// Few tasks have more (TaskOptions, Traits, Subgraph), and go a longer way; what
// a task does not have, it skips:
//
//	prepared      NewTask: others can wait for it, it has no place in the order
//	   │ Submit
//	waiting       for data, tasks, gates, tags, its place on a worker
//	   │ Prologue
//	queued        in the policy; tasks without a kernel never are
//	   │ popped by a worker: locks, other workers (parallel), memory, OnStart
//	running       its kernel, or one kernel for each rank
//	   │ the kernel returns: the tasks of its sub-graph may start
//	sub-graph     its operands are still its own
//	   │ Epilogue; then what waits for its data is released
//	ending        end dependencies; the Epilogue comes behind them, if there are any
//	   │ who waits for the task is released, its tag notified; Callback
//	   ├──────────> waiting: the next round of a repeating task
//	over          Wait returns
//
// A task that fails or is cancelled goes the same way, without what it cannot do
// any more: kernel, OnStart, Epilogue, further rounds.
//
// Tasks and epochs are recycled: a fire-and-forget task costs no allocation.
package engine
