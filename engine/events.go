package engine

// Events, which listeners receive, and profiles, which are made where events are sent.

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/engine/internal/isolate"
	"github.com/starpush/starpush/engine/perf"
	"github.com/starpush/starpush/engine/sched"
)

// event reports an event, except a submission, to the listeners of the runtime and of the
// job of t. Call it only if hasListeners.
func (rt *Runtime) event(k EventKind, t *task, worker int, err error) {
	if rt.opt.Plan == nil {
		rt.tell(k, t, worker, err, nil, "")
	}
}

// submittedEvent is event for the submission of t, which has to wait for after. It is sent
// under the lock, so that these events have the order of submissions.
func (rt *Runtime) submittedEvent(sub datamgr.Submission, t *task, after []Dependency) {
	if rt.opt.Plan != nil {
		rt.planned(sub, t, after)
		return
	}
	rt.tell(TaskSubmitted, t, -1, nil, after, "")
}

// tell sends an event to the listeners that there are.
func (rt *Runtime) tell(k EventKind, t *task, worker int, err error, after []Dependency, variant string) {
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
		Internal: kindNames[t.kind], Name: t.name(), Worker: worker, Operands: t.eventOperands(), Origin: t.submittedAt(), Parent: parent, Color: color, Err: err, Runs: t.runs(), Variant: variant, Workers: t.members(), task: t}
	if tt != nil {
		tt.mu.Lock()
		e.Profile = tt.p
		tt.mu.Unlock()
	}
	deliver(all, e)
	deliver(own, e)
	e.task = nil // it is used again
}

// retryEvent reports that the kernel of t is about to run again after err, to listeners that want to know.
func (rt *Runtime) retryEvent(t *task, worker int, err error) {
	e := &RetryEvent{Job: t.job, ID: t.Order, Worker: worker, Time: time.Now(), Runs: t.runs(), Err: err}
	for _, l := range []Listener{rt.opt.Listener, t.job.opt.Listener} {
		again, ok := l.(RetryListener)
		if !ok {
			continue
		}
		if _, ok := l.(boundedListener); ok {
			again.RetryEvent(e)
			continue
		}
		isolate.Call(func() { again.RetryEvent(e) })
	}
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
	Codelet  *Codelet // nil for what the engine inserts itself, but for conversions between layouts
	Internal string   // "", or "reduce", "init", "duplicate", "acquire", "invalidate", "unregister", "gather", "convert"
	Name     string
	Worker   int // TaskStarted and later; -1: none
	// Workers are all workers of a parallel task, Worker first, from TaskStarted on; nil:
	// Worker alone, which has all ranks in a Sequential runtime.
	Workers  []int
	Operands []Operand
	Origin   Origin
	Parent   int64   // the task in whose Subgraph it is; 0: none
	Color    int     // of the task, else of its codelet
	After    []int64 // TaskSubmitted: the tasks in TaskSpec.After
	Err      error   // TaskFailed, TaskCancelled
	Runs     int     // TaskDone, TaskFailed: how often the kernel ran, if it may run again (TaskOptions.Retry); else 0
	Variant  string  // TaskDone: of Codelet.Variants, in which its kernel ran; else ""
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

// RetryEvent is a kernel that returned an error, and is about to run again on the same worker: see TaskOptions.Retry. It comes between the TaskStarted
// event of the task and that of its end.
type RetryEvent struct {
	Job    *Job
	ID     int64 // of the task in its job
	Worker int
	Time   time.Time
	Runs   int   // so far, from 1
	Err    error // of the last of them
}

// RetryListener is a Listener that also receives kernels which run again. RetryEvent is called as TaskEvent is.
type RetryListener interface {
	Listener
	RetryEvent(*RetryEvent)
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

// Profiling: when what happened to tasks, and what workers did meanwhile.
//
// A runtime with Options.Profile takes times where events are sent (events.go)
// and in a policy that comes before the real one; without it there is neither,
// so it costs nothing. Times are kept beside the tasks, in what they do not need
// otherwise, and end in sums for each worker and codelet.

// Profile holds the times and counts of a runtime with Options.Profile up to one moment.
// Sums include tasks that run at that moment. Each is exact once nothing runs.
type Profile struct {
	Elapsed   time.Duration // since New
	Submitted int64         // tasks, those that the engine inserts itself included
	Queued    int64         // of those, how many wait for a worker now
	Running   int64         // kernels that run now
	Done      int64
	Failed    int64
	Cancelled int64 // never started
	Workers   []WorkerProfile
	Codelets  []CodeletProfile // by name
	Buses     []BusProfile
}

// WorkerProfile is the profile of one worker. Busy, Sleeping and Overhead add up to its
// whole time.
type WorkerProfile struct {
	Name     string        // "cpu 0"
	Tasks    int64         // whose kernels ended
	Busy     time.Duration // in kernels
	Sleeping time.Duration // without work: looking for some, or asleep
	Overhead time.Duration // the rest: scheduling, order, data
}

// CodeletProfile has the times of tasks of one codelet: sums over those whose kernels
// ended. Internal tasks are under their names in brackets, such as "(reduce)".
type CodeletProfile struct {
	Name           string
	Tasks          int64
	Total          time.Duration // in kernels
	Mean           time.Duration
	StdDev         time.Duration // of the population; 0 for one task
	Min, Max       time.Duration
	Waiting        time.Duration // from submitted to ready: for data, tasks, gates
	Queued         time.Duration // from ready to popped: for a worker
	Fetching       time.Duration // from popped to data ready: locks, memory, copies
	Starting       time.Duration // from data ready to start: private copies, hooks
	Releasing      time.Duration // from end to released
	Failed         int64         // of Tasks
	Flops          float64       // work of those that are done, as far as it was estimated
	Bytes          float64       // that those read and wrote of their operands, each element once for that
	squares, means float64       // for StdDev: the sum of squared differences from the mean, and the mean, in seconds
}

// BusProfile counts the copies from one memory node to another, or, when both are the
// same, between instances on it.
type BusProfile struct {
	From, To string
	Copies   int64
	Bytes    int64
	Time     time.Duration // of the copies, one by one
}

// TaskProfile says when what happened to a task: times since New, 0 for what did
// not happen or has not yet.
type TaskProfile struct {
	Job       *Job
	ID        int64
	Codelet   string
	Name      string
	Worker    int           // -1: none
	Submitted time.Duration // Submit took it
	Ready     time.Duration // it waited for nothing any more
	Pushed    time.Duration // the policy got it; the last time, if a lock was missing
	Popped    time.Duration // a worker got it; likewise
	DataReady time.Duration // its locks are taken, its memory exists and holds what it reads
	Started   time.Duration // its kernel was called
	Ended     time.Duration // its kernel returned
	Paused    time.Duration // of that time, how long its kernel gave way to tasks of other jobs
	Released  time.Duration // what waited for it was set free
	Failed    bool
	Cancelled bool // it never started
}

// taskTimes is a TaskProfile that is being written.
type taskTimes struct {
	mu sync.Mutex
	p  TaskProfile
}

// profiler belongs to a runtime with Options.Profile.
type profiler struct {
	rt        *Runtime
	silent    bool // there is no other listener
	submitted atomic.Int64
	queued    atomic.Int64
	running   atomic.Int64
	cancelled atomic.Int64
	workers   []workerTimes // the last one is for releasers that are no worker's
}

// workerTimes are the sums of one worker.
type workerTimes struct {
	mu struct {
		sync.Mutex
		tasks, failed int64
		busy, idle    time.Duration
		busySince     time.Duration // 0: no kernel runs
		idleSince     time.Duration // 0: it is at work
		paused        bool          // it was idle, and will be after the kernel that runs
		freed         time.Duration // when it last released what waited for a task
		last          *taskTimes    // the task that ended last, while its release is to come
		codelets      map[string]*CodeletProfile
	}
	_ [64]byte
}

func newProfiler(rt *Runtime) *profiler {
	p := &profiler{rt: rt, silent: rt.opt.Listener == nil, workers: make([]workerTimes, rt.opt.workersToBe()+1)}
	for i := range p.workers {
		p.workers[i].mu.codelets = map[string]*CodeletProfile{}
		p.workers[i].mu.idleSince = 1 // without work from the beginning
	}
	return p
}

// now is the time since New; never 0.
func (p *profiler) now() time.Duration { return max(1, time.Since(p.rt.began)) }

// worker returns the sums of a worker; below 0 those of all others.
func (p *profiler) worker(w int) *workerTimes {
	if w < 0 || w >= len(p.workers)-1 {
		return &p.workers[len(p.workers)-1]
	}
	return &p.workers[w]
}

// Profile returns what the runtime has done so far, and false when it was made
// without Options.Profile. It may be called at any time.
func (rt *Runtime) Profile() (Profile, bool) {
	p := rt.profile
	if p == nil {
		return Profile{}, false
	}
	now := p.now()
	out := Profile{Elapsed: now, Submitted: p.submitted.Load(), Queued: max(0, p.queued.Load()),
		Running: max(0, p.running.Load()), Cancelled: p.cancelled.Load()}
	byName := map[string]*CodeletProfile{}
	for i := range p.workers {
		w := &p.workers[i]
		w.mu.Lock()
		out.Failed += w.mu.failed
		out.Done += w.mu.tasks - w.mu.failed
		for name, c := range w.mu.codelets {
			if byName[name] == nil {
				byName[name] = &CodeletProfile{Name: name}
			}
			byName[name].join(c)
		}
		if i < len(rt.workers) {
			s := WorkerProfile{Name: rt.workers[i].name, Tasks: w.mu.tasks, Busy: w.mu.busy, Sleeping: w.mu.idle}
			if w.mu.busySince > 0 {
				s.Busy += max(0, now-w.mu.busySince)
			}
			if w.mu.idleSince > 0 {
				s.Sleeping += max(0, now-w.mu.idleSince)
			}
			s.Overhead = max(0, now-s.Busy-s.Sleeping)
			out.Workers = append(out.Workers, s)
		}
		w.mu.Unlock()
	}
	for _, c := range byName {
		c.finish()
		out.Codelets = append(out.Codelets, *c)
	}
	slices.SortFunc(out.Codelets, func(a, b CodeletProfile) int { return cmp.Compare(a.Name, b.Name) })
	if out.Buses = rt.buses(); out.Buses == nil {
		main := rt.device.Memory().Name()
		out.Buses = []BusProfile{{From: main, To: main}}
	}
	return out, true
}

// Profile says when what happened to the task, and false when its runtime was
// made without Options.Profile. Released may be set a little after Wait returned.
func (t *Task) Profile() (TaskProfile, bool) {
	tt := t.times.Load()
	if tt == nil {
		return TaskProfile{}, false
	}
	tt.mu.Lock()
	defer tt.mu.Unlock()
	return tt.p, true
}

// add counts a task that took d.
func (c *CodeletProfile) add(p *TaskProfile) {
	d := p.Ended - p.Started - p.Paused
	c.Tasks++
	if c.Tasks == 1 || d < c.Min {
		c.Min = d
	}
	c.Max = max(c.Max, d)
	c.Total += d
	delta := d.Seconds() - c.means // Welford
	c.means += delta / float64(c.Tasks)
	c.squares += delta * (d.Seconds() - c.means)
	c.Waiting += span64(p.Submitted, p.Ready)
	c.Queued += span64(p.Ready, p.Popped)
	c.Fetching += span64(p.Popped, p.DataReady)
	c.Starting += span64(p.DataReady, p.Started)
	if p.Failed {
		c.Failed++
	}
}

// span64 is the time from a to b, if both happened.
func span64(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return 0
	}
	return max(0, b-a)
}

// join adds the tasks of o (Chan, Golub, LeVeque: Updating Formulae and a
// Pairwise Algorithm for Computing Sample Variances, 1979).
func (c *CodeletProfile) join(o *CodeletProfile) {
	if o.Tasks == 0 {
		return
	}
	n, m := float64(c.Tasks), float64(o.Tasks)
	if c.Tasks == 0 || o.Min < c.Min {
		c.Min = o.Min
	}
	c.Max = max(c.Max, o.Max)
	delta := o.means - c.means
	c.squares += o.squares + delta*delta*n*m/(n+m)
	c.means += delta * m / (n + m)
	c.Tasks += o.Tasks
	c.Failed += o.Failed
	c.Flops += o.Flops
	c.Bytes += o.Bytes
	c.Total += o.Total
	c.Waiting += o.Waiting
	c.Queued += o.Queued
	c.Fetching += o.Fetching
	c.Starting += o.Starting
	c.Releasing += o.Releasing
}

// finish fills in what follows from the sums.
func (c *CodeletProfile) finish() {
	if c.Tasks > 0 {
		c.Mean = c.Total / time.Duration(c.Tasks)
		c.StdDev = time.Duration(math.Sqrt(max(0, c.squares)/float64(c.Tasks)) * float64(time.Second))
	}
}

// Where times are taken.

// event takes the time of an event of t.
func (p *profiler) event(k EventKind, t *task, worker int) {
	now := p.now()
	switch t.kind {
	case acquireTask, invalidateTask, relayTask, unregisterTask: // nothing runs
		if k == TaskDone {
			w := p.worker(worker)
			w.mu.Lock()
			w.releasedLocked(now)
			w.mu.freed = now
			w.mu.Unlock()
		}
		return
	}
	x := t.generalPart()
	if k == TaskSubmitted {
		p.submitted.Add(1)
		tt := &taskTimes{p: TaskProfile{Job: t.job, ID: t.Order, Codelet: profileName(t), Name: t.name(), Worker: -1, Submitted: now}}
		x.times = tt
		if t.general && x.public != nil {
			x.public.times.Store(tt)
		}
		return
	}
	tt := x.times
	if tt == nil {
		return // it has ended, or its submission was not seen
	}
	flops, bytes := 0.0, 0.0
	if k == TaskDone && t.codelet != nil {
		flops, bytes = t.work(), t.moved()
	}
	w := p.worker(worker)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.releasedLocked(now)
	if k == TaskStarted {
		w.beginLocked(now)
		p.running.Add(1)
		tt.mu.Lock()
		defer tt.mu.Unlock()
		tt.p.Worker, tt.p.Started = worker, now
		if tt.p.Ready == 0 { // it did not need a worker
			tt.p.Ready = now
		}
		if tt.p.DataReady == 0 {
			tt.p.DataReady = now
		}
		return
	}
	x.times = nil
	tt.mu.Lock()
	defer tt.mu.Unlock()
	tt.p.Failed, tt.p.Cancelled = k == TaskFailed, k == TaskCancelled
	if k == TaskCancelled {
		p.cancelled.Add(1)
		tt.p.Released = now
		return
	}
	w.mu.tasks++
	if tt.p.Failed {
		w.mu.failed++
	}
	if tt.p.Started == 0 { // what comes before its kernel failed
		tt.p.Released = now
		return
	}
	p.running.Add(-1)
	w.endLocked(now)
	tt.p.Ended = now
	c := w.codeletLocked(tt.p.Codelet)
	c.add(&tt.p)
	c.Flops += flops
	c.Bytes += bytes
	if worker < 0 { // nothing tells what this releaser does next
		tt.p.Released = now
		return
	}
	w.mu.last = tt
}

// profileName is what the task counts as.
func profileName(t *task) string {
	if t.codelet != nil {
		return t.codelet.Name
	}
	return "(" + kindNames[t.kind] + ")"
}

// codeletLocked returns the sums of a codelet.
func (w *workerTimes) codeletLocked(name string) *CodeletProfile {
	c := w.mu.codelets[name]
	if c == nil {
		c = &CodeletProfile{Name: name}
		w.mu.codelets[name] = c
	}
	return c
}

// releasedLocked notes that the task that ended last has released what waited
// for it: its worker went on to something else.
func (w *workerTimes) releasedLocked(now time.Duration) {
	tt := w.mu.last
	if tt == nil {
		return
	}
	w.mu.last, w.mu.freed = nil, now
	tt.mu.Lock()
	defer tt.mu.Unlock()
	tt.p.Released = now
	w.codeletLocked(tt.p.Codelet).Releasing += now - tt.p.Ended
}

// helps notes that w begins or ends a part of another worker's task.
func (w *worker) helps(begin bool) {
	p := w.rt.profile
	if p == nil {
		return
	}
	t := p.worker(w.id)
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := p.now(); begin {
		t.beginLocked(now)
	} else {
		t.endLocked(now)
	}
}

// gaveWay notes that the kernel of t, on w, gave way for so long.
func (w *worker) gaveWay(t *task, d time.Duration) {
	if w.rt.profile == nil {
		return
	}
	if tt := t.generalPart().times; tt != nil {
		tt.mu.Lock()
		tt.p.Paused += d
		tt.mu.Unlock()
	}
}

// beginLocked begins the time in a kernel.
func (w *workerTimes) beginLocked(now time.Duration) {
	w.mu.busySince = now
	if w.mu.idleSince > 0 { // it found something that no policy gave out
		w.mu.idle += now - w.mu.idleSince
		w.mu.idleSince, w.mu.paused = 0, true
	}
}

// endLocked ends the time in a kernel.
func (w *workerTimes) endLocked(now time.Duration) {
	if w.mu.busySince > 0 { // else a stand-in under the same number has ended it
		w.mu.busy += now - w.mu.busySince
	}
	w.mu.busySince = 0
	if w.mu.paused {
		w.mu.idleSince, w.mu.paused = now, false
	}
}

// fetched notes that the data of t is ready.
func (p *profiler) fetched(t *task) {
	if tt := t.x.times; tt != nil {
		tt.mu.Lock()
		defer tt.mu.Unlock()
		tt.p.DataReady = p.now()
	}
}

// profiledPolicy comes before the policy of a runtime that is profiled.
type profiledPolicy struct {
	sched.Policy
	p *profiler
}

// plain is the policy itself, for what only some policies have.
func plain(p sched.Policy) sched.Policy {
	if q, ok := p.(*profiledPolicy); ok {
		return q.Policy
	}
	return p
}

// Push takes the time at which a task is ready and given to the policy.
func (q *profiledPolicy) Push(it *sched.Item, from int) int {
	p := q.p
	now := p.now()
	ready := now
	if from >= 0 {
		w := p.worker(from)
		w.mu.Lock()
		w.releasedLocked(now)
		ready = w.mu.freed
		w.mu.Unlock()
	}
	if tt := itemTask(it).generalPart().times; tt != nil {
		tt.mu.Lock()
		if tt.p.Ready == 0 {
			tt.p.Ready = max(ready, tt.p.Submitted)
		}
		tt.p.Pushed = now
		tt.mu.Unlock()
	}
	p.queued.Add(1)
	return q.Policy.Push(it, from)
}

// Pop takes the time at which a worker gets a task, or begins to have none.
func (q *profiledPolicy) Pop(worker int) *sched.Item {
	p := q.p
	w := p.worker(worker)
	w.mu.Lock()
	w.releasedLocked(p.now())
	w.mu.Unlock()
	it := q.Policy.Pop(worker)
	now := p.now()
	w.mu.Lock()
	switch {
	case it == nil && w.mu.idleSince == 0:
		w.mu.idleSince = now
	case it != nil && w.mu.idleSince > 0:
		w.mu.idle += now - w.mu.idleSince
		w.mu.idleSince = 0
	}
	w.mu.Unlock()
	if it == nil {
		return nil
	}
	p.queued.Add(-1)
	if tt := itemTask(it).generalPart().times; tt != nil {
		tt.mu.Lock()
		tt.p.Popped, tt.p.DataReady = now, 0
		tt.mu.Unlock()
	}
	return it
}

// profileOnly is the listener of a runtime that is profiled when the program gave
// none, so that events are sent.
type profileOnly struct{}

func (profileOnly) TaskEvent(*Event) {}

// buses returns what was copied from one node to another, or within one.
func (rt *Runtime) buses() (all []BusProfile) {
	var names []string
	for _, t := range rt.reg.Traffic() {
		if names == nil {
			for _, n := range rt.Nodes() {
				names = append(names, n.Name)
			}
		}
		all = append(all, BusProfile{From: names[t.From], To: names[t.To], Copies: t.Copies, Bytes: t.Bytes, Time: t.Time})
	}
	return all
}
