package engine

// Runtime: workers, data, and the jobs that share them.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/cpu"
	"github.com/starpush/starpush/datamgr"
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
	sharer              sched.Sharer        // policy, if it keeps items for workers
	workers             []*worker
	standIns            atomic.Pointer[[]*worker] // see giveway.go
	quit                atomic.Bool

	_ [64]byte // what each submission writes lies apart from what workers read
	// guarded by the submission lock
	free          [2]freeTasks // by size
	slab          []task
	wideSlab      []wideTask
	jobs          map[*Job]struct{}
	held          []*Access
	memoryWaiters memoryWaiters
	calls         int // callbacks of AcquireFunc that run
	callsWaiting  int // of those, how many wait for tasks or data
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
}

// New starts a runtime. It returns an error when an option makes no sense.
func New(o Options) (*Runtime, error) {
	o, err := o.normal()
	if err != nil {
		return nil, err
	}
	dev := cpu.New(o.RAM)
	rt := &Runtime{opt: o, began: time.Now(), device: dev, reg: datamgr.NewRegistry(dev.Memory()), jobs: map[*Job]struct{}{}, sets: map[string]*sched.Set{}}
	rt.reg.Owner = rt
	if o.Verify {
		rt.verify = newVerifier()
	}
	rt.releasers.New = func() any { return &releaser{rt: rt, c: rt.reg.NewCompleter(), id: sched.Outside} }
	if o.Calibrate > 0 {
		if err := rt.openModels(); err != nil {
			return nil, err
		}
	}
	rt.listenToCopies()
	rt.gangs.cond.L = &rt.gangs.mu
	rt.addDevices()
	if err := rt.newPolicy(); err != nil {
		return nil, err
	}
	if o.Profile {
		rt.profile = newProfiler(rt)
		if o.Listener == nil {
			rt.opt.Listener = profileOnly{}
		}
	}
	sub := rt.reg.Lock()
	rt.countListeners(sub)
	sub.Unlock()
	rt.openLanes()
	for i := range o.Workers {
		sub := rt.reg.Lock()
		w := newWorker(sub, rt, rt.device, i, 0)
		sub.Unlock()
		if rt.limited {
			w.lookahead = newLookahead(w)
		}
		rt.workers = append(rt.workers, w)
	}
	if err := rt.addDeviceWorkers(); err != nil {
		return nil, err
	}
	if rt.nodes > 1 && o.Plan == nil {
		rt.openPrefetchers()
	}
	if !o.Sequential {
		for _, w := range rt.workers {
			rt.group.Add(1)
			go w.loop()
		}
	}
	return rt, nil
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

// Close waits for all tasks and callbacks, stops the workers and frees all data
// that has no host memory. When tasks are left that wait for closed gates or held
// data while nothing else goes on, it cancels them and returns a *StuckError.
// Later calls that submit or acquire return ErrClosed; Close itself may be
// called again. In a kernel or a callback of AcquireFunc it returns
// ErrWouldDeadlock. A *ModelError says that models were not saved.
func (rt *Runtime) Close() error {
	if rt.mayBeInKernel() || rt.inCallback() {
		return ErrWouldDeadlock
	}
	// once only, and others wait for it
	rt.closing.Do(func() {
		sub := rt.reg.Lock()
		rt.closed = true
		sub.Unlock()
		rt.progress() // callbacks that wait may have to give up
		rt.closeErr = rt.finish()
		rt.quit.Store(true)
		rt.closePrefetchers()
		rt.parking.wakeAll()
		close(rt.lanes.mu.over)
		rt.group.Wait()
		rt.closePolicies()
		rt.anyWorker(func(w *worker) bool { w.freeScratch(); return false })
		if err := rt.closeNodes(); err != nil {
			rt.closeErr = errors.Join(rt.closeErr, err)
		}
		if err := rt.saveModels(); err != nil {
			rt.closeErr = errors.Join(rt.closeErr, err)
		}
	})
	return rt.closeErr
}

// finish waits until no task and no callback is left, with force if need be.
func (rt *Runtime) finish() error {
	type state struct {
		live, ended  int64
		calls, holds int
	}
	var stuck *StuckError
	var forced state // what force was used on: it will not help twice
	seen := map[*Job]bool{}
	for first := true; ; first = false {
		var jobs []*Job
		var left, busy bool
		var now state
		err := rt.waitUntil(context.Background(), func(sub datamgr.Submission) bool {
			quiet := rt.isIdle(sub) // before the counts: what ends in between is seen
			jobs, left, busy, now = jobs[:0], false, false, state{calls: rt.calls, holds: len(rt.held)}
			for j := range rt.jobs {
				jobs = append(jobs, j)
				ended := j.ended.Load()
				now.live, now.ended = now.live+j.live, now.ended+ended
				left = left || j.live != ended
				busy = busy || j.calls > 0
			}
			for _, a := range rt.held {
				if !slices.Contains(jobs, a.job) { // closed while the data was waited for
					jobs = append(jobs, a.job)
				}
			}
			return !left && !busy || (first || now != forced) && quiet && !rt.callsGoOn(sub)
		})
		forced = now
		if stuck == nil && left {
			stuck = &StuckError{}
			for _, j := range jobs {
				stuck.Tasks = append(stuck.Tasks, j.Blocked()...)
			}
		}
		for _, j := range jobs {
			seen[j] = true
			j.abandon()
		}
		if left || busy {
			continue
		}
		for j := range seen {
			j.callbacks.Wait()
		}
		if stuck != nil {
			err = errors.Join(err, stuck)
		}
		return err
	}
}

// progress tells those who wait that something changed.
func (rt *Runtime) progress() {
	if rt.waiting.n.Load() > 0 {
		rt.waiting.notify()
	}
}

// The reference: without workers, tasks run on the goroutine that made them
// ready, inside its Submit, Open or Release. A task that waits for a gate or
// for held data is put off until then.

// drain runs ready tasks. In a kernel it does nothing: the caller of the kernel runs the
// tasks that it submitted.
func (rt *Runtime) drain() {
	if rt.mayBeInKernel() {
		return
	}
	rt.drainLock.Lock()
	rt.draining.Add(1)
	defer func() {
		rt.draining.Add(-1)
		rt.drainLock.Unlock()
		rt.progress()
	}()
	rt.runReady()
}

// runReady runs what is ready and what that makes ready, also when a kernel ends
// the goroutine: the program's goroutine may not come again.
func (rt *Runtime) runReady() {
	done := false
	defer func() {
		if !done {
			rt.runReady()
		}
	}()
	w := rt.workers[0]
	for {
		it := rt.policy.Pop(0)
		if it == nil {
			w.rest()
			if rt.policy.Empty() {
				done = true
				return
			}
			continue
		}
		if rt.opt.Plan != nil {
			w.skip(itemTask(it))
			continue
		}
		w.run(itemTask(it))
	}
}

// Running a function once on each worker.

// OnEachWorker runs fn once on each of the given workers, nil for all, on the
// worker's goroutine, and returns when that is done: for libraries that want to
// be set up in each thread. Those of devices are workers, too, whatever their
// architecture; WorkerInfo says what one is, and Runtime.Worker before. Among the
// tasks that are ready on a worker it comes first. It returns the errors and panics of fn, joined, each with its worker; a
// *NoWorkerError when there is no such worker; the cause of ctx when that ends
// before fn was started everywhere; ErrWouldDeadlock in a kernel or hook;
// ErrClosed.
func (rt *Runtime) OnEachWorker(ctx context.Context, workers []int, fn func(WorkerInfo) error) error {
	if rt.mayBeInKernel() {
		return ErrWouldDeadlock
	}
	if err := rt.open(); err != nil {
		return err
	}
	if workers == nil {
		for w := range rt.workers {
			workers = append(workers, w)
		}
	}
	if ctx == nil {
		ctx = context.Background()
	}
	j := rt.NewJob(ctx, JobOptions{})
	impl := []Impl{func(c *TaskContext) (err error) {
		w := rt.info(c.Worker())
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("engine: on worker %d: %w", w.ID, newPanic(v))
			}
		}()
		if err := fn(w); err != nil {
			return fmt.Errorf("engine: on worker %d: %w", w.ID, err)
		}
		return nil
	}}
	c := &Codelet{Name: "on each worker", Model: untimed, CPU: impl, On: map[string][]Impl{}}
	for _, arch := range rt.archs {
		if arch != cpuArch {
			c.On[arch] = impl
		}
	}
	var errs []error
	var tasks []*Task
	dropped := false
	seen := map[int]bool{}
	for _, w := range workers {
		if seen[w] {
			continue
		}
		seen[w] = true
		t, err := j.SubmitTask(&TaskSpec{Codelet: c, Workers: []int{w}, Priority: math.MaxInt32})
		if err != nil {
			j.Cancel(err)
			errs = append(errs, err)
			break
		}
		tasks = append(tasks, t)
	}
	for _, t := range tasks {
		_ = t.Wait(context.Background()) // when ctx ends the job drops what has not started
		var te *TaskError
		switch err := t.Err(); {
		case err == nil:
		case errors.As(err, &te) && te.Dropped:
			dropped = true
		case errors.As(err, &te):
			errs = append(errs, te.Cause)
		}
	}
	if dropped && ctx.Err() != nil {
		errs = append(errs, context.Cause(ctx))
	}
	return errors.Join(append(errs, j.Close())...)
}
