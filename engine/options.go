package engine

// Options of runtimes, jobs and accesses.

import (
	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/bus"
	"github.com/starpush/starpush/engine/sched"
)

// DefaultWindow is the number of unfinished tasks above which Submit makes its
// caller wait.
const DefaultWindow = 65536

// MaxWorkers bounds Options.Workers.
const MaxWorkers = 1024

// maxAhead bounds Options.Ahead and Queue: there are as many goroutines a device, or streams.
const maxAhead = 64

// Options set up a Runtime. The zero value is the default.
type Options struct {
	// Workers is the number of CPU workers, MaxWorkers at most, apart from those of NUMA nodes in
	// Devices; 0 means GOMAXPROCS, by default one per CPU, with them.
	Workers int
	// Processors binds the thread of CPU worker i to the processor with number
	// Processors[i % len(Processors)], on Linux: kernels then find in its caches what they left there, and
	// on machines with several memories the pages that they touched first are near. nil: the
	// operating system chooses, which does better where other programs run. A Sequential
	// runtime ignores it.
	Processors []int
	// NUMA makes each NUMA node of the machine that the process may use a memory node of its own, on
	// Linux: the first one is main memory, the others come behind it, before those of Devices.
	// Workers are divided among the nodes by their processors, each bound to one of them, and work
	// on copies in the memory of their node. The workers of a parallel task are on one node, and
	// internal tasks run in main memory. Processors must be nil. On a machine with one node workers are bound, and nothing else.
	// false: main memory is one node, whatever the machine, and nothing is copied between sockets. A
	// Sequential runtime, and a plan, ignore it. The memory that the process may use (see cpu.New) is divided among
	// the nodes by their sizes: no further node has more than its share, and main memory has the rest,
	// unless RAM bounds it. Package accel/numa has more; see also Runtime.NodeOfNUMA.
	NUMA bool
	// Devices are processors beside the CPUs, each with its workers, which come
	// behind the CPU workers, and with its memory, another memory node unless a
	// device before it has the same. Bytes travel between the nodes as tasks need
	// them. No two have the same name. NUMA nodes (accel.CPUs) come first: their workers
	// are CPU workers. A Sequential runtime has no devices.
	Devices []accel.Device
	// RAM bounds main memory, in bytes; 0: it has no bound. With a bound, data that the
	// runtime owns is brought to main memory as tasks need it, and unused data moves to
	// Disk when room is needed. The operands of one task must fit: otherwise its
	// submission is an error. Data in memory of the program, and data that the program
	// holds (Acquire) or fills as a whole (RegisterFilled), is not counted. Disk is a
	// device for the rest, see package accel/disk, which the caller closes after the
	// runtime. It is the last of Runtime.Nodes.
	RAM  int64
	Disk accel.Device
	// Bus says what copies between the nodes cost, for the choice of their source and
	// for policies that ask; nil: all links are taken to be like a card in a slot, those
	// between the nodes of NUMA excepted, whose cost follows from their distances.
	Bus *bus.Table
	// Ahead is for how many of its next tasks a device's worker has data brought while
	// a kernel runs, as far as the policy can say which those are (see sched.Ahead); 0
	// means DefaultAhead, and less than 0 for none.
	Ahead int
	// Queue is the number of kernels of a device's worker that may be in flight, on
	// devices that run kernels while the worker goes on: OpenCL, CUDA. With 1 the worker
	// waits for each; 0 means DefaultQueue.
	Queue int
	// Policy names the scheduling policy, one of sched.Names(), and sets its
	// options if need be: "dmda:alpha=1,beta=2". "" means "lws", and "dmdas" with
	// devices.
	Policy string
	// NewPolicy makes the scheduling policy, when it is none of package sched; Policy is
	// then what Runtime.Policy calls it, "" for "user". See package sched for what it
	// must do, and schedtest for a test of it. It is called once for the runtime, and
	// again for every job with a share (JobOptions.Weight), which has a policy of its
	// own. A Sequential runtime uses none.
	NewPolicy func(sched.Machine) sched.Policy
	// Window is the number of unfinished tasks above which Submit waits for
	// the workers to catch up; 0 means DefaultWindow. Submit never waits when
	// nothing is ready or running, nor inside a kernel.
	Window int
	// Sequential runs each task inside its Submit, on the caller's goroutine:
	// the reference that every other run must agree with. There are no workers.
	Sequential bool
	// Plan makes a runtime that runs nothing: each task is checked, takes its place in
	// the order, is passed to this function, and counts as done. No memory is allocated
	// for data, no value exists, nothing is copied; Acquire returns buffers with sizes
	// and no memory. It runs tasks inside their Submit as Sequential does, but has all
	// the workers and Devices of the machine that is planned for. The function is called
	// under a lock, and must call nothing of the runtime.
	Plan func(*PlannedTask)
	// Unordered gives data registered with the runtime no order by default, as
	// DataSpec.Unordered does; Handle.SetUnordered(false) gives it back.
	Unordered bool
	// Listener receives the events of tasks; nil costs nothing.
	Listener Listener
	// Deterministic sets JobOptions.Deterministic for every job.
	Deterministic bool
	// Verify checks that kernels keep to the access modes of their operands: a
	// task whose kernel changes an R operand, leaves elements of a W operand
	// unwritten, or uses the content that a W or SCRATCH operand had before
	// fails with a *VerifyError. Kernels run one at a time, pure ones (see
	// Codelet.Pure) several times. Tasks go to workers whose kernels are functions of
	// this process, where they may; those that may not run unchecked.
	Verify bool
	// Profile takes times: see Runtime.Profile and Task.Profile.
	Profile bool
	// Poison fills W and SCRATCH operands with a pattern before their kernel
	// runs, so that a kernel that reads them is noticed. Always on with Sequential.
	Poison bool
	// Calibrate sets the use of performance models. With 0 policies use known times; 1
	// times all kernels and adds to the known times; 2 forgets the known times of the
	// codelets that run first. With 1 and 2 Close saves the models; an error of that is a
	// *ModelError.
	Calibrate int
	// PerfDir is the folder of performance models; "" means what perf.Root says.
	PerfDir string
}

// JobOptions set up a Job. The zero value is the default.
type JobOptions struct {
	// DetectStuck makes waits return a *StuckError as soon as nothing can go on
	// because of the job's own closed gates and held data: for jobs whose one
	// goroutine waits, opens and releases. Besides that goroutine only the job's
	// own kernels and callbacks may open its gates: while other jobs keep the
	// runtime busy, the job is stuck when all of its tasks wait.
	DetectStuck bool
	// Stats counts and times tasks by codelet and worker.
	Stats bool
	// Deterministic makes what tasks compute independent of how they are
	// scheduled: COMMUTE uses run in the order of their submission, and
	// contributions to REDUX data are combined in a fixed tree over it. It is
	// always set in a runtime with Options.Deterministic.
	Deterministic bool
	// MinInFlight is the number of unfinished tasks down to which Submit waits,
	// once it waits; 0 means three quarters of MaxInFlight. Alone it does nothing.
	MinInFlight int
	// MaxInFlight is the number of unfinished tasks above which Submit waits
	// for the workers; 0 means the runtime's window. A task with many accesses and
	// explicit dependencies counts as one more for every 16 of them.
	MaxInFlight int
	// Bounded makes Submit, Invalidate and Gather return a *FullError where waiting would
	// be in vain: there are MaxInFlight tasks, and all wait for what only the program can
	// bring about, such as a gate. Otherwise the job takes more. See Job.Widen.
	Bounded bool
	// Weight is the job's share of the workers' time, compared with other jobs, while there
	// are more ready tasks than workers: of two jobs with weights 1 and 3, the first gets a
	// quarter. A worker that ends a task takes the next one from the job that has had least
	// for its weight. A kernel of a job that has had more gives way where it calls
	// TaskContext.GiveWay, as bodies written in the language do; other kernels run to their
	// end. Time that a job does not use is not kept for later. 0: the job has no share of its
	// own; all such jobs together have the weight 1. Between jobs with shares priorities mean
	// nothing. A Sequential runtime has no shares.
	Weight int
	// MaxWorkers is the most workers that run tasks of the job at a time; 0: all. A job with
	// MaxWorkers and no Weight has the weight 1.
	MaxWorkers int
	// Listener receives the events of the job's tasks, besides Options.Listener, until
	// Close; a CopyListener receives all copies in the runtime, too. nil costs nothing.
	Listener Listener
	// OnInternal is called with the TaskSubmitted event of each task that the engine
	// submits for the job by itself, such as reductions, and of each access of the
	// program, in the order of submission. The submission lock is held: it must return,
	// and call nothing of the engine. The event, which has no Time, is valid during the
	// call; so are its operands. nil costs nothing.
	OnInternal func(*Event)
}

// AcquireOptions say how data is acquired. The zero value is what Acquire does.
type AcquireOptions struct {
	Site *Site // where the program does it, for errors
	// Node is the memory node, an index of Runtime.Nodes, on which the program gets the
	// data. 0 is main memory. On another node the buffer's pointer is valid on that
	// device only, for calls that the program makes to the device itself. Tasks use the
	// rest of the node's memory. A task that would fit without the access waits until it
	// is released, unless the task can run elsewhere; a task of a parallel codelet, which
	// would keep its workers, fails. Data that does not fit beside other data held there
	// is a *accel.NoMemoryError, a lost device is a *accel.LostError, and a node that
	// does not exist is a *NoNodeError.
	Node int
	// OrderOnly waits for its turn and keeps others away as the mode says, and
	// does nothing with the value: the data need not have one, none is given, and
	// no memory is allocated and no copy made. The buffer has no memory before
	// Access.Fetch.
	OrderOnly bool
	// Unordered gives the access no order with others: it waits only while
	// something that conflicts with it runs or is held. So does an access to a
	// handle with SetUnordered.
	Unordered bool
	// Partial, for mode R, allows reading data that has a value in some elements only.
	// The other elements are undefined; InitialisedPart tells them apart.
	Partial bool
	// Relay is for a caller that passes the value on, or the *FailedDataError instead: that failure does not count as
	// handed out, see Job.Failures.
	Relay bool
	// Overwrites, for mode W in main memory, is for a caller that writes every element or calls Access.Fail: the
	// elements do not start as zeros, but as anything.
	Overwrites bool
	// Async, for AcquireFuncWith, calls fn on the goroutine that grants the access or refuses it, often a worker. fn must not block,
	// and its return does not release the access: the program calls Release or Fail later, from any goroutine. Job.Close
	// waits for that. The release runs no hook and no task without a kernel, which workers do, and may be called where messages are received. In
	// mode W the elements are set to zero on the goroutine that calls fn, unless Overwrites is set. A chain of tasks over two ranks has a hop
	// in half the time with it.
	Async bool
}

// workersToBe is how many workers the options ask for.
func (o *Options) workersToBe() int {
	n := o.Workers
	for _, d := range o.Devices {
		n += d.Units()
	}
	return n
}
