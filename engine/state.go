package engine

// State: the types that the engine works on, which refer to each other, and simple questions
// about them. doc.go lists the files that work on them.

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/numa"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/perf"
	"github.com/starpush/starpush/engine/sched"
)

// Runtime runs tasks. It is made by New and ended by Close. Any number of jobs
// may use it at once.
type Runtime struct {
	opt                 Options
	began               time.Time // times are taken from here: that reads one clock, and not two
	reg                 *datamgr.Registry
	device              accel.Device        // main memory, and the CPU workers
	devices             []accel.Device      // the others
	nodeOf              []int               // of each of those
	openedNUMA          *numa.Machine       // the NUMA nodes among them that New opened; nil: none
	numa                []int               // the first nodes are NUMA nodes, which the system knows by these numbers; nil: main memory is one node
	archs               []string            // of all workers, each once
	promise             sched.Promise       // what the policy makes of priorities
	ranked              atomic.Bool         // a task had a priority
	nodes               int                 // how many memory nodes there are
	listenerCount       atomic.Int32        // number of listeners; see countListeners
	onlyRuntimeListener atomic.Bool         // it is the runtime's listener alone, and no profile
	limited             bool                // main memory is bounded
	diskNode            int                 // the node of the disk; 0: there is none
	lost                atomic.Uint64       // nodes whose device is lost
	prefetchers         []*prefetcher       // by node
	ahead               sched.Ahead         // the policy, if it can tell what comes next and that is used
	host                *sched.Set          // the CPU workers, if there are others
	policy              sched.Policy        // of jobs without a share
	makePolicy          func() sched.Policy // another one
	sched               sched.Machine       // that policies schedule for
	sharer              sched.Sharer        // policy, if it keeps items for workers
	workers             []*worker
	standIns            atomic.Pointer[[]*worker] // see TaskContext.GiveWay
	quit                atomic.Bool

	_ [64]byte // what each submission writes lies apart from what workers read
	// guarded by the submission lock
	free          [2]freeTasks // by size
	slab          []task
	wideSlab      []wideTask
	jobs          map[*Job]struct{}
	held          []*Access
	memoryWaiters memoryWaiters
	calls         int                              // callbacks of AcquireFunc that run
	waits         []*func(datamgr.Submission) bool // whether the calls that wait for jobs with DetectStuck go on
	callsWaiting  int                              // of those, how many wait for tasks or data
	closed        bool
	sets          map[string]*sched.Set // worker sets of tasks, by their text
	expected      []float64             // of PlannedTask
	copies        atomic.Pointer[[]CopyListener]
	choices       atomic.Pointer[[]ChoiceListener]
	verify        *verifier // nil: kernels are not checked
	profile       *profiler // nil: no times are taken

	_             [64]byte
	parking       parking
	gangs         gangs
	lanes         lanes
	waiting       waiting
	_             [64]byte
	group         sync.WaitGroup
	releasers     sync.Pool
	busyReleasers atomic.Int32
	hooks         atomic.Int32 // functions of the program that run outside of kernels
	hungry        atomic.Int32 // workers whose lookahead is hungry
	drainLock     sync.Mutex
	draining      atomic.Int32
	closing       sync.Once
	closeErr      error
	models        models
	pins          pins
	_             [64]byte
	pollers       pollers
	resting       waitQueue // goroutines that hear of changes only while all workers sleep
}

// pins is what PinSlice has pinned. It keeps the memory alive.
type pins struct {
	mu struct {
		sync.Mutex
		live   map[*pinnedMemory]struct{}
		closed bool
	}
}

type pinnedMemory struct {
	p   unsafe.Pointer
	dev accel.Pinner
}

// Workers returns the number of workers; 1 in a Sequential runtime, whose
// worker is the goroutine that submits.
func (rt *Runtime) Workers() int { return len(rt.workers) }

// Policy returns the name of the scheduling policy.
func (rt *Runtime) Policy() string { return rt.opt.Policy }

// Sequential reports whether tasks run inside their Submit.
func (rt *Runtime) Sequential() bool { return rt.opt.Sequential }

// Began returns the time at which the runtime was made: the times of TaskProfile count
// from there.
func (rt *Runtime) Began() time.Time { return rt.began }

// Closed reports whether Close was called, or New did not make rt.
func (rt *Runtime) Closed() bool {
	if rt.reg == nil {
		return true
	}
	sub := rt.reg.Lock()
	defer sub.Unlock()
	return rt.closed
}

// open reports ErrClosed after Close.
func (rt *Runtime) open() error {
	sub := rt.reg.Lock()
	defer sub.Unlock()
	if rt.closed {
		return ErrClosed
	}
	return nil
}

// Worker describes worker i, one of 0 to Workers()-1.
func (rt *Runtime) Worker(i int) (WorkerInfo, error) {
	if i < 0 || i >= len(rt.workers) {
		return WorkerInfo{}, &NoWorkerError{Workers: []int{i}, Have: len(rt.workers)}
	}
	return rt.info(i), nil
}

func (rt *Runtime) info(i int) WorkerInfo {
	w := rt.workers[i]
	return WorkerInfo{ID: i, Name: w.name, Kind: w.kind, Arch: w.arch, Node: w.node}
}

// Nodes describes the memory nodes; the first is main memory.
func (rt *Runtime) Nodes() []NodeInfo {
	all := []NodeInfo{nodeInfo(rt.device.Memory())}
	for k, d := range rt.devices {
		if rt.nodeOf[k] == len(all) {
			all = append(all, nodeInfo(d.Memory()))
			all[rt.nodeOf[k]].Allocated -= rt.reg.Kept(rt.nodeOf[k])
		}
	}
	if rt.limited {
		all = append(all, nodeInfo(rt.opt.Disk.Memory()))
	}
	return all
}

// NodeOfNUMA returns the memory node, an index of Nodes, of the NUMA node that the operating
// system knows by a number: StarPU's starpu_memory_nodes_numa_id_to_devid. Without
// Options.NUMA, and NUMA nodes in Options.Devices, main memory is that of all of them, and no
// node has a number. The error is a *NoNUMAError.
func (rt *Runtime) NodeOfNUMA(number int) (node int, err error) {
	if node = slices.Index(rt.numa, number); node < 0 {
		return 0, &NoNUMAError{Number: number, Node: -1, Have: slices.Clone(rt.numa)}
	}
	return node, nil
}

// NUMAOfNode returns the number by which the operating system knows a memory node that is a NUMA
// node: StarPU's starpu_memory_nodes_numa_devid_to_id. Devices and disks are none. The error
// is a *NoNUMAError.
func (rt *Runtime) NUMAOfNode(node int) (number int, err error) {
	if node < 0 || node >= len(rt.numa) {
		return 0, &NoNUMAError{Node: node, Have: slices.Clone(rt.numa)}
	}
	return rt.numa[node], nil
}

func nodeInfo(m accel.Memory) NodeInfo {
	return NodeInfo{Name: m.Name(), Capacity: m.Capacity(), Allocated: m.Allocated()}
}

// cpuArch is the architecture of CPU workers in models.
const cpuArch = "cpu"

// arch is the architecture of a worker in models.
func (rt *Runtime) arch(w int) string { return rt.workers[w].kind }

// hasListeners reports whether events have a receiver: the listener of the runtime, its
// profile, or that of some job.
func (rt *Runtime) hasListeners() bool { return rt.listenerCount.Load() > 0 }

// progress tells those who wait that something changed.
func (rt *Runtime) progress() {
	if rt.waiting.n.Load() > 0 {
		rt.waiting.notify()
	}
	if rt.resting.n.Load() > 0 && int(rt.parking.parked.Load()) == len(rt.workers) {
		rt.resting.notify()
	}
}

// anyWorker calls fn for the workers and their stand-ins until it returns true.
func (rt *Runtime) anyWorker(fn func(*worker) bool) bool {
	if slices.ContainsFunc(rt.workers, fn) {
		return true
	}
	all := rt.standIns.Load()
	return all != nil && slices.ContainsFunc(*all, fn)
}

// checkpointLocks are the folders that a job has locked.
type checkpointLocks struct {
	mu struct {
		sync.Mutex
		files map[string]*os.File // by the folder
	}
}

// Job is the tasks of one program: submitted, waited for, cancelled and counted
// together. It is made by Runtime.NewJob and ended by Close. Jobs of one runtime share
// its workers, and data: tasks of two jobs that use the same data are ordered as those
// of one. Methods are safe for concurrent use.
type Job struct {
	rt     *Runtime
	opt    JobOptions
	window int64
	low    int64 // where a submitter that waits goes on; 0: three quarters of the window
	every  int64 // submissions between two looks at the window
	batch  int64 // finished tasks that a worker adds to ended at once

	lane      *lane        // its share; nil: it has none
	cancelled atomic.Int64 // tasks up to this number are not started any more
	stats     *jobStats
	timed     atomic.Bool // kernels are timed

	_ [64]byte // what each submission writes lies apart from what workers read for each task
	// guarded by the submission lock
	submitted int64 // tasks of the program; the number of the last one
	internals int64 // what the engine submitted itself; the number of the last one, negated
	live      int64 // what has to end before Wait returns, all told
	weight    int64 // what tasks count beyond one each, all told, see weigh
	look      int64 // at the window before this submission
	widened   int64 // by Widen
	pace      pace
	lists     []*waitlist       // with waiting tasks
	calls     int               // callbacks of AcquireFunc that wait for their data or run
	sequences map[int]*sequence // prescribed by workers
	closed    bool
	done      bool            // Close has nothing more to wait for
	watches   []*contextWatch // of CancelWhen, until they are stopped
	spec      TaskSpec        // that Go submits
	refuse    error           // why no more tasks are taken: the context of a watch ended

	_         [64]byte
	ended     atomic.Int64
	unweighed atomic.Int64 // of weight: what ended tasks counted
	failed    atomic.Int64
	dropped   atomic.Int64
	internal  atomic.Int64                 // of ended: not tasks of the program
	retries   atomic.Int64                 // counts kernels that ran again
	halves    atomic.Int64                 // counts kernels that were over before their tasks could end
	descs     atomic.Pointer[[]iface.Desc] // for shape functions
	callbacks sync.WaitGroup               // of AcquireFunc
	unwatch   func() error                 // stops the watch over the job's context
	locks     checkpointLocks

	mu struct {
		sync.Mutex
		failures []*failure
		orphan   *failure // the last task that was cancelled because another failed
		why      error    // cause of the last Cancel
		base     context.Context
		old      *generation // of tasks that are cancelled
	}
	now atomic.Pointer[generation] // of those that are not; set with mu, after cancelled
}

// Runtime returns the runtime that the job runs on.
func (j *Job) Runtime() *Runtime { return j.rt }

// cause is why the job was cancelled last.
func (j *Job) cause() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.mu.why
}

// kernelContext is the context of the kernel of task id.
func (j *Job) kernelContext(id int64) context.Context {
	now := j.now.Load() // first: one that is new here comes with the number that goes with it
	if id > j.cancelled.Load() {
		return now.ctx
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.mu.old.ctx
}

// inFlight is how much of the window is in use.
func (j *Job) inFlight(_ datamgr.Submission) int64 {
	return j.live - j.ended.Load() + j.weight - j.unweighed.Load()
}

// generation is the context of the kernels between two Cancels.
type generation struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
}

func newGeneration(base context.Context) *generation {
	g := &generation{}
	g.ctx, g.cancel = context.WithCancelCause(base)
	return g
}

// contextWatch is one CancelWhen.
type contextWatch struct {
	cause error // why the context ended, nil: it has not; guarded by the submission lock
}

// pace is when a job's submitter looks again how far ahead it is.
type pace struct {
	next int64 // at this submission
	gap  int64 // submissions to the next look, when the last pause brought nothing
}

// Workers, and what they run.

// releaser ends tasks and pushes those that became ready. It belongs to a worker, or is
// borrowed by a goroutine of the program; one goroutine uses it at a time.
type releaser struct {
	rt    *Runtime
	c     *datamgr.Completer
	id    int     // of the worker, or sched.Outside
	w     *worker // nil outside
	light []*task
	async bool // it releases an access with AcquireOptions.Async, perhaps on the goroutine that receives messages
	// of dispatchSorted, to be used again
	several []*task
}

// worker runs tasks, one at a time.
type worker struct {
	releaser
	pub       datamgr.Publisher
	tc        TaskContext
	park      chan bool // true: go on as the worker that looks for work
	name      string
	kind      string // the device's name, or that of CPUs
	unit      int    // its number among the workers of its device
	arch      string // what its kernels are written for
	dev       accel.Device
	stream    accel.Stream   // of the kernels; nil on the CPU
	slots     []*slot        // on devices
	queued    []queuedKernel // the first one runs
	lookahead *lookahead     // where memory is bounded
	host      bool           // arch is that of the CPU
	bare      bool           // in main memory without a bound: nothing is to be done around a kernel unless someone listens
	node      int            // its memory node
	freed     [2]struct {    // ended tasks to give back, by size
		first, last *task
		n           int
	}
	job        *Job  // the job that ended counts for
	ended      int64 // tasks of job that ended, not yet added to it
	unweighed  int64 // what they counted beyond one each, not yet added to it either
	slow       bool  // the last task that was timed took long
	scratch    []scratch
	again      *datamgr.Snapshot // of the task whose kernel is called next and may run again; nil: it may not
	inBareCall bool              // callBare runs, for the task of tc: it passes tc to the kernel
	polling    bool              // pollers are called, by the worker that looks for work
	tally      tally
	notIdle    atomic.Bool             // in a gang or a hook, while the policy may take it to have nothing
	running    atomic.Pointer[Codelet] // with statistics; the one that ran last, until the worker rests
	times      *perf.Recorder          // with performance models

	own      int           // its number in tables of workers; below 0: a stand-in, which is in none
	standIn  bool          // see TaskContext.GiveWay
	hasTurn  bool          // of a stand-in
	turn     chan struct{} // receives a turn
	giving   sync.Mutex    // held in giveWay
	nextLook time.Duration // when its kernel may give way again; guarded by giving
	paused   time.Duration // for which its kernels gave way, in all
	first    *sched.Item   // the first task of a stand-in, or after a wait for a turn
	// guarded by lanes.mu
	lane  *lane         // of its task
	since time.Duration // when its lane was last charged
	_     [64]byte
}

// isNUMA reports whether d is a NUMA node, with CPU workers.
func isNUMA(d accel.Device) bool {
	_, ok := accel.AsNUMA(d)
	return ok
}

// kindOf is what the workers of a device are: CPUs on NUMA nodes, else the device by its name.
func kindOf(d accel.Device) string {
	if isNUMA(d) {
		return cpuArch
	}
	return d.Name()
}

// newWorker makes the next worker, which is unit i of a device.
func newWorker(sub datamgr.Submission, rt *Runtime, dev accel.Device, i, node int) *worker {
	w := &worker{releaser: releaser{rt: rt, c: rt.reg.NewCompleter(), id: len(rt.workers)}, park: make(chan bool, 1),
		own: len(rt.workers), turn: make(chan struct{}, 1),
		name: fmt.Sprintf("%s %d", kindOf(dev), i), kind: kindOf(dev), arch: dev.Arch(), dev: dev, node: node}
	w.releaser.w = w
	w.host = w.arch == cpuArch
	// callBare relies on worker.loop, which a Sequential runtime does not run.
	w.bare = w.host && node == 0 && !rt.limited && !rt.opt.Poison && !rt.opt.Sequential
	sub.AddPublisher(&w.pub)
	return w
}

// runs reports whether w runs t, or any task if that is nil.
func (w *worker) runs(t *datamgr.Waiter) bool {
	if w.pub.Runs(t) {
		return true
	}
	for _, s := range w.slots {
		if s.pub.Runs(t) {
			return true
		}
	}
	return false
}

// tasks is how many tasks w runs.
func (w *worker) tasks() (n int) {
	apart := w.pub.Runs(nil)
	for _, s := range w.slots {
		if s.pub.Runs(nil) {
			n++
			apart = apart && !s.pub.Same(&w.pub)
		}
	}
	if apart {
		n++
	}
	return n
}

// scratch is private memory of a worker, kept from task to task.
type scratch struct {
	p     unsafe.Pointer
	bytes int64
}

// slot is where a worker begins a kernel.
type slot struct {
	stream accel.Stream
	pub    datamgr.Publisher // tells of the task in flight
	taken  bool
}

// queuedKernel is a task whose kernel was called and has not ended.
type queuedKernel struct {
	t     *task
	slot  *slot
	impl  int
	event accel.Event
	start time.Duration // when it was first in the queue
	over  chan bool     // closed when the event has happened, if it is watched
	count *tallied
}

// TaskContext gives a kernel access to its task. It is valid until the kernel returns, on
// the kernel's goroutine and those it started and awaited.
type TaskContext struct {
	t       *task
	w       *worker
	bufs    []iface.Buffer
	set     []bool // bufs[i] is filled in
	part    *part  // of a parallel task
	keep    any    // what kernels leave for those that come later
	variant int32  // of the kernel, a place in Codelet.Variants
}

// parking holds the workers that sleep or are about to.
type parking struct {
	idle    atomic.Int32 // length of list
	looking atomic.Int32 // 1: a worker looks for work, or was woken to
	parked  atomic.Int32 // workers that sleep, or were woken and do not know yet
	mu      struct {
		sync.Mutex
		list []*worker
	}
}

// lane holds the ready tasks of one job with a share, or of all jobs without.
type lane struct {
	scheduler
	weight  float64
	most    int     // workers that may run its tasks; 0: all
	queued  int     // ready tasks; those of the common lane are not counted
	running int     // workers that have a task of it
	wanted  int     // if most > 0: workers that its gang in the queue lacks
	later   int     // leaders of other gangs of it, which wait for that one, or for room
	used    float64 // seconds that workers spent on it, divided by the weight
	idle    bool    // it has no ready tasks; it gets no credit for that time
	tried   uint64  // lanes.mu.search of the last look into its policy
	closed  bool    // its policy is
}

// scheduler is a policy with the optional interfaces that it implements.
type scheduler struct {
	policy   sched.Policy
	feedback sched.Feedback
	sharer   sched.Sharer
	leaver   sched.Leaver
}

// lanes are the lanes of a runtime.
type lanes struct {
	on              atomic.Bool   // there are lanes besides the common one
	common          lane          // of jobs without a share
	slice, patience time.Duration // defaultSlice and defaultPatience, except in tests
	mu              struct {
		sync.Mutex
		all    []*lane // the common one first
		clock  float64 // the least that a lane that could use more has used
		search uint64
		spare  []scheduler // empty ones, of closed jobs
		closed bool
		turns
	}
}

// turns are the workers without a turn, and the stand-ins.
type turns struct {
	paused   []*worker     // their kernels gave way
	waiting  []*worker     // they wait between two tasks
	free     []*worker     // stand-ins without a task
	standIns []*worker     // all of them
	out      int           // how many of those are not free
	extra    int           // turns above the number of workers
	over     chan struct{} // closed when the stand-ins have to end
}

// laneOf returns the lane of j.
func (rt *Runtime) laneOf(j *Job) *lane {
	if j.lane != nil {
		return j.lane
	}
	return &rt.lanes.common
}

// gang is the workers of one parallel task.
type gang struct {
	t       *task
	size    int
	mode    Parallelism
	members []*worker  // the leader first; guarded by the runtime's gangs.mu until complete
	only    *sched.Set // workers that the policy chose; nil: all that the task allows
	inTurn  bool       // Sequential: there are no members, and ranks run one at a time

	mu struct {
		sync.Mutex
		round   int // calls that were given to the members
		fn      func(rank int) error
		running int // ranks of the call that have not returned
		errs    []error
		over    bool // the members can go

		gone    bool   // a rank of an SPMD task has returned
		phase   int    // barriers passed
		arrived int    // at the next one
		turn    int    // in turn: the rank that runs
		away    []bool // in turn: ranks that wait at a barrier, or have returned
		ended   []bool // in turn: ranks that have returned
	}
	cond *sync.Cond
}

// members lists the workers of t, the one that leads it first; nil: it has one, or has not
// started.
func (t *task) members() (ids []int) {
	sp := t.special()
	if sp == nil || sp.gang == nil || sp.gang.inTurn || sp.gang.size == 1 {
		return nil
	}
	for _, m := range sp.gang.members {
		ids = append(ids, m.id)
	}
	return ids
}

// gangs is the queue of those that are not complete, except those that wait for another of
// their lane.
type gangs struct {
	open atomic.Int32 // those that are not complete
	mu   struct {
		sync.Mutex
		queue []*gang
	}
	cond sync.Cond // the queue, or the members of a gang, changed
}

// part is what a kernel of a parallel task sees of the others.
type part struct {
	g    *gang
	rank int
}

// Waits: those of tasks, and those of goroutines of the program.

// waiting holds the goroutines that wait for something to change.
type waiting struct {
	waitQueue
	prompt atomic.Int32 // of those, the ones to wake after every task
}

// waitQueue holds goroutines, each by a channel that hears of a change.
type waitQueue struct {
	n  atomic.Int32 // length of the list
	mu struct {
		sync.Mutex
		list []chan struct{}
	}
}

func (q *waitQueue) add() chan struct{} {
	ch := make(chan struct{}, 1)
	q.mu.Lock()
	q.mu.list = append(q.mu.list, ch)
	q.n.Add(1)
	q.mu.Unlock()
	return ch
}

func (q *waitQueue) remove(ch chan struct{}) {
	q.mu.Lock()
	if i := slices.Index(q.mu.list, ch); i >= 0 {
		q.mu.list = slices.Delete(q.mu.list, i, i+1)
		q.n.Add(-1)
	}
	q.mu.Unlock()
}

func (q *waitQueue) notify() {
	q.mu.Lock()
	for _, ch := range q.mu.list {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
	q.mu.Unlock()
}

// poller is a function that idle workers call.
type poller struct {
	fn func(worked bool) bool
	mu struct {
		sync.Mutex // held in a call
		stopped    bool
	}
}

// pollers are those of a runtime.
type pollers struct {
	all atomic.Pointer[[]*poller] // nil: there are none
	mu  sync.Mutex                // held to replace all

	// wanted is set by a worker that goes to sleep because another one polls; that one clears it before each round of polls, and must not sleep
	// while it is set.
	wanted atomic.Bool
	calls  int // of poll, which the worker that looks for work makes
}

// memoryWaiters holds the parked tasks, by node.
type memoryWaiters struct {
	given atomic.Uint64 // counts releases of data on devices

	// guarded by the submission lock
	waiting map[int][]*task
	holding map[int]int // accesses of the program, by the node that they hold memory on
}

// waitlist holds the tasks that wait for one thing. While it holds any, its job
// knows it, so that Cancel can free them and stuck waits can name them. It is
// guarded by the submission lock.
type waitlist struct {
	job     *Job
	waiting []*task
	gate    *Gate     // the thing, or
	tag     *Tag      // the thing, or
	starts  bool      // of tag: that it opens; else that it is notified
	task    *Task     // the thing: a prepared task to be submitted
	places  *sequence // the thing: the places before, on a worker
	worker  int
}

// sequence is the order that one job prescribes on one worker. It is guarded by
// the submission lock.
type sequence struct {
	next  int64          // the place that may run
	ended map[int64]bool // of the places from next on that are taken: it has ended
	list  waitlist       // tasks whose place is behind next
}

// Tag is a name for an event: tasks carry tags and notify them when they end,
// the program may notify them, too. A tag that depends on others holds back the
// tasks that carry it until each of those was notified. All this can be said
// before any of the tasks exists.
//
// A notification is delivered once to each tag that depends on it, and is used
// up when all others of that tag have come and its tasks start. Later
// notifications of a tag do nothing until it is restarted ("or"); a repeating
// task restarts its tag with each round. So graphs of repeating tasks may be
// cyclic: NotifyRestart makes them go.
//
// When a task that carries the tag fails or is cancelled, the tag is notified,
// and what waits for it is cancelled.
type Tag struct {
	job  *Job
	name string

	// guarded by the submission lock
	removed  bool
	done     bool     // notified, since it was restarted
	lost     *failure // why the notification was a bad one
	signal   chan struct{}
	before   []*tagEdge // what it depends on
	behind   []*tagEdge // what depends on it
	opened   bool       // its tasks may start
	openLost *failure   // one of what it depends on was a bad one
	credit   int        // openings that no repeating task used
	carriers int        // tasks that carry it and have not ended
	repeats  int        // repeating tasks that carry it or wait for it, and may have another round
	starts   waitlist   // tasks that carry it and wait for it to open
	waits    waitlist   // tasks that wait for its notification
}

// tagEdge makes one tag depend on another.
type tagEdge struct {
	from, to *Tag
	tokens   int // notifications that were not used up
	lost     *failure
}

// Gate is an event that tasks can wait for. It is closed until Open.
type Gate struct {
	job  *Job
	open bool     // guarded by the submission lock
	list waitlist // tasks that name it
}

// Subgraph is the tasks that a task's kernel submits as parts of that task. They
// run after the kernel has returned, and the task has not ended before they
// have: until then its operands are its own. Read one after the other, the
// kernel comes first, then the tasks of its sub-graph in the order of their
// submission, each with its own sub-graph behind it, and then whatever was
// submitted after the task.
//
// A task of the sub-graph uses what its owner uses, or parts of that: each
// operand lies within one operand of the owner that is R, W or RW there, and
// writes only if the owner does. Besides the order that their operands give,
// they can wait for tasks of the same sub-graph, for gates and for tags. When the
// owner's kernel fails they are cancelled; when one of them fails, those that
// need its outputs are cancelled as always, and the owner counts as failed for
// those that wait for it explicitly.
//
// The methods are safe for concurrent use. They may be called until the task has
// ended: by its kernel, and by kernels and hooks of the sub-graph's tasks.
type Subgraph struct {
	owner *Task

	// guarded by the submission lock
	t      *task // the owner's record; nil when it has ended
	over   bool  // the owner's kernel has returned
	live   int   // tasks that have not ended
	held   []*task
	uses   map[*datamgr.Handle]*subUse
	views  []*datamgr.View
	rest   *taskEnd // of the owner, while tasks are left
	lost   *failure
	lostBy int64
}

// subUse is what was submitted last that uses a handle, in a sub-graph.
type subUse struct {
	h       *datamgr.Handle
	near    []*subUse // handles that share elements with h, h among them
	writer  *Task
	readers []*Task
}

// Access is data that the program holds. Its methods are safe for concurrent
// use. The buffer is valid until Release.
type Access struct {
	job     *Job
	h       *datamgr.Handle
	opt     AcquireOptions
	try     bool
	fn      func(*Access, error)
	none    []datamgr.Box // what had no value before: all that an acquire W loses that is given up
	lacks   error         // OrderOnly: why Fetch cannot be
	granted chan struct{} // closed when the access is decided
	buf     *iface.Buffer // nil: it has none while it waits, see newAccess
	clears  bool          // outcome sets the elements to zero

	// guarded by the submission lock once granted
	t     *task
	hold  *datamgr.Hold
	place int // in Runtime.held

	holdsMemory bool // it counts in memoryWaiters.holding; used by the goroutine that runs its task only

	mu struct {
		sync.Mutex
		mode      iface.AccessMode
		state     accessState
		fetched   bool // OrderOnly: buf is valid
		readers   int  // calls of Rows: what is released meanwhile ends with the last one
		err       error
		abandoned error
	}
}

// accessState:
//
//	waiting ──> held <──> fetching
//	   │          └─────────┴─────> released
//	   └──────> refused
//
// What is released while it is fetched, or read by Rows, ends when that has.
type accessState uint8

const (
	accessWaiting accessState = iota
	accessHeld
	accessFetching
	accessReleased
	accessRefused
)

// managed returns h with the methods that only the engine calls; it costs nothing.
func managed(h *datamgr.Handle) datamgr.Managed { return datamgr.Managed{Handle: h} }

func first(at []*Site) *Site {
	if len(at) > 0 {
		return at[0]
	}
	return nil
}
