package engine

// Job: the tasks of one program.

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
)

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

// Cancel drops the tasks submitted so far that have not started. The Context of running
// kernels ends with cause, and they can add no more tasks to their sub-graphs. The
// results of dropped tasks are lost, as if they had failed with cause; other data stays
// valid, and the job accepts new tasks. Cancel does not wait.
func (j *Job) Cancel(cause error) { j.cancel(cause, nil) }

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
		quiet := rt.isIdle(sub) && !rt.callsGoOn(sub) // before the count: what ends in between is seen
		if over(sub) {
			return true
		}
		if !quiet {
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
	j.locks.unlock()
	rt.progress() // others that close it
	return err
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
		if k == unregisterTask && h.Home() {
			rt.submitConversion(sub, t, h)
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
