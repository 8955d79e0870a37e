package engine

// Job: the tasks of one program.

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
)

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
	heavy     atomic.Int64 // what unfinished tasks count beyond one each, see weigh
	failed    atomic.Int64
	dropped   atomic.Int64
	internal  atomic.Int64                 // of ended: not tasks of the program
	halves    atomic.Int64                 // counts kernels that were over before their tasks could end
	descs     atomic.Pointer[[]iface.Desc] // for shape functions
	callbacks sync.WaitGroup               // of AcquireFunc
	unwatch   func() error                 // stops the watch over the job's context

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

// NewJob makes a job. When ctx ends the job is cancelled with its cause and
// takes no more tasks. The caller should Close it.
func (rt *Runtime) NewJob(ctx context.Context, o JobOptions) *Job {
	if ctx == nil {
		ctx = context.Background()
	}
	o.Deterministic = o.Deterministic || rt.opt.Deterministic
	j := &Job{rt: rt, opt: o, window: int64(rt.opt.Window), every: 256, batch: 128}
	if o.MaxInFlight > 0 {
		j.window = int64(o.MaxInFlight)
		j.low = int64(o.MinInFlight)
	}
	if j.window < 4096 {
		j.every, j.batch = 1, 1
	}
	if o.Stats {
		j.stats = newJobStats(rt.workers)
	}
	j.timed.Store(o.Stats || rt.opt.Calibrate > 0 || rt.lanes.common.feedback != nil || rt.verify != nil)
	j.mu.base = context.WithoutCancel(ctx)
	j.mu.old = newGeneration(j.mu.base)
	j.now.Store(j.mu.old)
	if (o.Weight > 0 || o.MaxWorkers > 0) && !rt.opt.Sequential {
		rt.addLane(j)
	}
	sub := rt.reg.Lock()
	rt.jobs[j] = struct{}{}
	if o.Listener != nil {
		rt.countListeners(sub)
	}
	sub.Unlock()
	j.unwatch = j.CancelWhen(ctx)
	return j
}

// Runtime returns the runtime that the job runs on.
func (j *Job) Runtime() *Runtime { return j.rt }

// Cancel drops the tasks submitted so far that have not started. The Context of running
// kernels ends with cause, and they can add no more tasks to their sub-graphs. The
// results of dropped tasks are lost, as if they had failed with cause; other data stays
// valid, and the job accepts new tasks. Cancel does not wait.
func (j *Job) Cancel(cause error) { j.cancel(cause, nil) }

// contextWatch is one CancelWhen.
type contextWatch struct {
	cause error // why the context ended, nil: it has not; guarded by the submission lock
}

// CancelWhen cancels the job with the cause of ctx when ctx ends, and from then until
// stop the job takes no more tasks: what would submit one returns that cause. So no
// task that was submitted before stop outlives ctx, even if ctx ends between a look at
// it and the submission. Unregister goes on to work. A nil ctx never ends.
//
// stop ends the watch; the job takes tasks again, unless another watch or its own
// context has ended. It returns the cause if ctx ended before, and nil otherwise: then
// nothing was cancelled, and nothing will be. A program must call it, once or more often.
func (j *Job) CancelWhen(ctx context.Context) (stop func() error) {
	if ctx == nil || ctx.Done() == nil {
		return func() error { return nil }
	}
	rt, w := j.rt, &contextWatch{}
	sub := rt.reg.Lock()
	j.watches = append(j.watches, w)
	sub.Unlock()
	end := sync.OnceFunc(func() { j.cancel(context.Cause(ctx), w) })
	if ctx.Err() != nil {
		end() // so that the next submission is refused
	}
	over := make(chan struct{})
	forget := context.AfterFunc(ctx, func() {
		defer close(over)
		end()
	})
	return sync.OnceValue(func() error {
		if !forget() {
			<-over
		} else if ctx.Err() != nil { // a context has ended before it starts the functions of AfterFunc
			end()
		}
		sub := rt.reg.Lock()
		defer sub.Unlock()
		j.watches = slices.DeleteFunc(j.watches, func(o *contextWatch) bool { return o == w })
		j.refuse = nil
		if i := slices.IndexFunc(j.watches, func(o *contextWatch) bool { return o.cause != nil }); i >= 0 {
			j.refuse = j.watches[i].cause
		}
		return w.cause
	})
}

// cancel is Cancel. w is the watch whose context ended, or nil: then the job goes on to
// take tasks.
func (j *Job) cancel(cause error, w *contextWatch) {
	if cause == nil {
		cause = context.Canceled
	}
	rt := j.rt
	h := rt.borrowReleaser()
	sub := rt.reg.Lock()
	if w != nil {
		w.cause = cause
		if j.refuse == nil {
			j.refuse = cause
		}
	}
	j.mu.Lock()
	j.mu.why = cause
	old := j.now.Load()
	j.mu.old = old
	j.cancelled.Store(j.submitted)
	j.now.Store(newGeneration(j.mu.base))
	j.mu.Unlock()
	j.dropWaiting(sub, j.submitted, h)
	j.dropMemoryWaiters(sub, j.submitted)
	sub.Unlock()
	old.cancel(cause)
	rt.returnReleaser(h)
}

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

// abandon cancels what can be cancelled and releases what the job holds.
func (j *Job) abandon() {
	j.Cancel(ErrClosed)
	rt := j.rt
	for {
		var a *Access
		sub := rt.reg.Lock()
		for _, o := range rt.held {
			if o.job == j && o.fn == nil { // a callback may be using it, and ends by itself
				a = o
			}
		}
		sub.Unlock()
		if a == nil {
			return
		}
		_ = a.Release() // always nil
	}
}

// Close waits for the job's tasks and ends the job. Tasks that wait for the
// job's own closed gates or held data while nothing else goes on are cancelled,
// what it holds is released, and a *StuckError names them. Callbacks of
// AcquireFunc are waited for. Data stays registered. Later calls that submit
// return ErrClosed; Close may be called again. In a kernel or a callback of
// AcquireFunc it returns ErrWouldDeadlock.
func (j *Job) Close() error {
	rt := j.rt
	if rt.mayBeInKernel() || rt.inCallback() {
		return ErrWouldDeadlock
	}
	sub := rt.reg.Lock()
	was := j.closed
	j.closed = true
	sub.Unlock()
	rt.progress() // callbacks that wait may have to give up
	if was {      // another call may still be waiting
		return rt.waitUntil(context.Background(), func(datamgr.Submission) bool { return j.done })
	}
	var stuck *StuckError
	over := func(datamgr.Submission) bool { return j.live == j.ended.Load() && j.calls == 0 }
	err := rt.waitUntil(context.Background(), func(sub datamgr.Submission) bool {
		if over(sub) {
			return true
		}
		if !rt.isIdle(sub) || rt.callsGoOn(sub) {
			return false
		}
		stuck = j.stuck(sub, func(t *task) bool { return t.job == j && t.kind != acquireTask }, true)
		return stuck != nil || j.live == j.ended.Load() // callbacks wait for what the job holds
	})
	j.abandon()
	err = errors.Join(err, rt.waitUntil(context.Background(), over))
	if stuck != nil {
		err = errors.Join(err, stuck)
	}
	j.callbacks.Wait()
	_ = j.unwatch() // how it ended does not matter any more
	j.now.Load().cancel(ErrClosed)
	sub = rt.reg.Lock()
	j.done = true
	if j.opt.Listener != nil {
		rt.countListeners(sub)
	}
	j.leave(sub)
	sub.Unlock()
	if j.lane != nil {
		rt.removeLane(j)
	}
	rt.progress() // others that close it
	return err
}

// leave takes the job, once it is closed, from those of the runtime: but not
// while tasks of other jobs wait for its gates.
func (j *Job) leave(_ datamgr.Submission) {
	if j.done && len(j.lists) == 0 {
		delete(j.rt.jobs, j)
	}
}

// Invalidate drops the value of h, in all views, after the tasks submitted so
// far: the next use must write. at says where, and may be left out. It does not
// wait, unless the job is Bounded, and then for room only.
func (j *Job) Invalidate(h *datamgr.Handle, at ...*Site) error {
	site := first(at)
	return j.light(invalidateTask, h, iface.W, datamgr.MergeOptions{Drop: true, DropAt: site}, site, 0)
}

// Unregister ends a datum after the tasks submitted so far: h, which must be a
// whole datum, and all its parts are dead at once for later tasks. Data with
// host memory has its value there when it has ended, other data gives its memory
// back. A value that was lost with a device, or cannot be copied from there, is among
// the Failures then. at says where, and may be left out. It does not wait; Wait does.
func (j *Job) Unregister(h *datamgr.Handle, at ...*Site) error {
	if h != nil && h.Parent() != nil {
		return &ModeError{Handle: h, Other: -1, Message: describe(h) + " is a part; only a whole datum can be unregistered, its views end with it"}
	}
	site := first(at)
	return j.light(unregisterTask, h, iface.W, datamgr.MergeOptions{Drop: true, DropAt: site}, site, 0)
}

// Gather collects the valid copies of h in one piece in main memory, after the tasks
// submitted so far, and frees other copies that are not in use. It waits only if the job
// is Bounded, and then for room.
func (j *Job) Gather(h *datamgr.Handle) error { return j.GatherTo(h, 0) }

// GatherTo is Gather on any memory node, an index of Runtime.Nodes: h is there in one
// piece then, if there is room, else in main memory. A *NoNodeError says that there is
// no such node.
func (j *Job) GatherTo(h *datamgr.Handle, node int) error {
	if err := j.rt.checkNode(node); err != nil {
		return err
	}
	return j.light(gatherTask, h, iface.R, datamgr.MergeOptions{NoValueYet: true}, nil, node)
}

// light submits something without a kernel; node is where it gathers.
func (j *Job) light(k kind, h *datamgr.Handle, m iface.AccessMode, opt datamgr.MergeOptions, at *Site, node int) error {
	if h == nil {
		return &ModeError{Other: -1, Message: "no data: the handle is nil"}
	}
	if h.ReadOnly() && k == invalidateTask {
		return &ReadOnlyError{Handle: h, Mode: m}
	}
	rt := j.rt
	if j.opt.Bounded && k != unregisterTask {
		sub := rt.reg.Lock()
		var err error
		sub, err = j.keepPace(sub)
		sub.Unlock()
		if err != nil {
			return err
		}
	}
	hd := rt.borrowReleaser()
	sub := rt.reg.Lock()
	err := j.mayEnd(sub, k)
	if err == nil {
		err = rt.alive(-1, h)
	}
	if err == nil {
		if u := managed(h).DuplicateOf(sub); u != nil && k == unregisterTask {
			if !u.Disown(sub) {
				sub.Unlock()
				rt.returnReleaser(hd)
				return nil // others have it
			}
			if managed(h).Shared(sub) != nil {
				u.Close(sub) // a copy that is never read
				u.Copied(hd.c)
			}
		}
		t := rt.internal(sub, j, k, h, m)
		t.setOrigin(&Origin{Site: at})
		t.x.node = node
		if k != gatherTask {
			rt.share(sub, t)
			rt.closeGroups(sub, j, t.operands(), t)
		}
		var ready bool
		if ready, err = rt.insertInternal(sub, t, opt); ready && k.light() {
			hd.light = append(hd.light, t)
		}
		if err == nil && k == unregisterTask {
			sub.End(h, at)
		}
	}
	sub.Unlock()
	rt.returnReleaser(hd)
	return err
}

func first(at []*Site) *Site {
	if len(at) > 0 {
		return at[0]
	}
	return nil
}

// Pace: a submitter that is far ahead of short tasks lets the workers catch up.

// A task submitted long before it runs costs more: its record has left the caches, the
// collector walks more records, and, with no more cores than workers, one worker idles
// for the submitter. With kernels of 1 µs on 2 cores this made a stencil's task take 1.6
// µs instead of 1.0. It is worth a pause for short tasks only; a program that submits
// long ones has better things to do, so there the submitter soon stops trying.
const (
	pauseAbove     = 2048                   // unfinished tasks from which on the submitter pauses
	resumeBelow    = pauseAbove / 2         // and down to which
	longTaskCutoff = 500 * time.Microsecond // workers that end no batch of tasks within this run long ones
	pollInterval   = 20 * time.Microsecond
	maxBackoff     = 1 << 16 // most tasks between two tries
)

// pace is when a job's submitter looks again how far ahead it is.
type pace struct {
	next int64 // at this submission
	gap  int64 // submissions to the next look, when the last pause brought nothing
}

// inFlight is how much of the window is in use.
func (j *Job) inFlight(_ datamgr.Submission) int64 { return j.live - j.ended.Load() + j.heavy.Load() }

// keepPace is called now and then before a submission: at the window it waits
// for room, and before that, now and then, for workers that are far behind. The error is
// a *FullError. It gives the lock of sub up meanwhile, and returns the one that it has taken then.
func (j *Job) keepPace(sub datamgr.Submission) (datamgr.Submission, error) {
	rt := j.rt
	n := j.live - j.ended.Load()
	room := j.window - n - j.heavy.Load()
	j.look = j.submitted + j.every
	if j.opt.Bounded {
		j.look = j.submitted + min(j.every, max(room, 1))
	}
	switch {
	case room <= 0:
		var made bool
		if sub, made = j.throttle(sub); j.opt.Bounded && !made {
			return sub, j.full(sub)
		}
	case n >= pauseAbove && j.submitted >= j.pace.next && !rt.opt.Sequential:
		sub.Unlock()
		caughtUp := !rt.mayBeInKernel() && j.pause(n) // kernels and hooks never wait
		sub = rt.reg.Lock()
		if caughtUp {
			j.pace.gap = 0
		} else {
			j.pace.gap = min(max(2*j.pace.gap, 512), maxBackoff)
		}
		j.pace.next = j.submitted + j.pace.gap
	}
	return sub, nil
}

// full returns an error when the window of a job that is Bounded, and what it was widened by,
// is in use and nothing makes room.
func (j *Job) full(sub datamgr.Submission) error {
	room := j.window + j.widened - j.inFlight(sub)
	if room > 0 {
		j.look = j.submitted + min(j.every, room)
		return nil
	}
	j.look = 0
	return &FullError{Job: j, InFlight: j.inFlight(sub)}
}

// Widen makes room for n tasks more in a job that is Bounded, for as long as it lives. It is how
// a program that accounts for them itself goes on after a *FullError.
func (j *Job) Widen(n int64) {
	sub := j.rt.reg.Lock()
	defer sub.Unlock()
	j.widened += max(0, n)
}

// pause waits until few tasks of n are left, and reports false when that is not
// worth it: when the tasks are long, or all workers without work.
func (j *Job) pause(n int64) bool {
	rt := j.rt
	seen := j.ended.Load()
	enough := seen + n - resumeBelow
	since := time.Now()
	for {
		time.Sleep(pollInterval)
		ended := j.ended.Load()
		if ended >= enough {
			return true
		}
		if int(rt.parking.idle.Load()) == len(rt.workers) {
			return false
		}
		if ended != seen {
			seen, since = ended, time.Now()
		} else if time.Since(since) > longTaskCutoff {
			return false
		}
	}
}
