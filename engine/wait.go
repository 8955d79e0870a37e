package engine

// Waiting: for tasks, for data, for room in the window.

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/engine/sched"
)

// waitUntil returns when ready reports true, or with the cause of ctx.
func (rt *Runtime) waitUntil(ctx context.Context, ready func(datamgr.Submission) bool) error {
	if ctx == nil {
		ctx = context.Background()
	}
	ch := rt.waiting.add() // before the first look: what changes later is heard of
	defer rt.waiting.remove(ch)
	for {
		sub := rt.reg.Lock()
		ok := ready(sub)
		sub.Unlock()
		if ok {
			return nil
		}
		select {
		case <-ch:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// await returns when signal is closed or ready reports true; with the cause of ctx; or with a *StuckError when j wants
// to know and nothing can go on but for what j itself holds: then needs
// tells which tasks are waited for.
func (j *Job) await(ctx context.Context, signal <-chan struct{}, ready func(datamgr.Submission) bool, needs func(*task) bool) error {
	rt := j.rt
	closed := func() bool {
		select {
		case <-signal:
			return true
		default:
			return false
		}
	}
	if signal != nil && closed() {
		return nil
	}
	if rt.mayBeInKernel() {
		return ErrWouldDeadlock
	}
	if ctx == nil {
		ctx = context.Background()
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	called := rt.inCallback()
	if called {
		sub := rt.reg.Lock()
		rt.callsWaiting++
		sub.Unlock()
		rt.progress() // it may have been the last thing that went on
		defer func() {
			sub := rt.reg.Lock()
			rt.callsWaiting--
			sub.Unlock()
		}()
	}
	// A wait for a signal alone need not hear of each task that ends.
	q, again := &rt.waiting.waitQueue, (<-chan time.Time)(nil)
	if ready == nil && !called && !rt.opt.Sequential {
		q = &rt.resting
		if j.opt.DetectStuck {
			ticker := time.NewTicker(stallTime) // for stall
			defer ticker.Stop()
			again = ticker.C
		}
	}
	ch := q.add()
	defer q.remove(ch)
	if j.opt.DetectStuck {
		goesOn := func(sub datamgr.Submission) bool { return signal != nil && closed() || ready != nil && ready(sub) }
		defer rt.noteWait(&goesOn)()
	}
	stall := stall{j: j}
	defer stall.stop()
	for {
		var stuck *StuckError
		sub := rt.reg.Lock()
		// a callback that Close waits for must not wait for ever
		detect := j.opt.DetectStuck || called && (j.closed || rt.closed)
		quiet := detect && !rt.callsGoOn(sub) && rt.isIdle(sub) // before the look at what is waited for: what ends in between is seen
		ok := signal != nil && closed() || ready != nil && ready(sub)
		switch {
		case ok || !detect:
		case quiet:
			stuck = j.stuck(sub, needs, true)
		case stall.blocked(sub):
			stuck = j.stuck(sub, needs, false)
		}
		sub.Unlock()
		switch {
		case ok:
			return nil
		case stuck != nil:
			return stuck
		}
		select {
		case <-signal:
			return nil
		case <-ch:
		case <-again:
		case <-stall.due():
			stall.waited = true
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// noteWait notes that a caller waits until goesOn reports true, for Quiescent, until forget is called.
func (rt *Runtime) noteWait(goesOn *func(datamgr.Submission) bool) (forget func()) {
	sub := rt.reg.Lock()
	rt.waits = append(rt.waits, goesOn)
	sub.Unlock()
	return func() {
		sub := rt.reg.Lock()
		rt.waits = slices.DeleteFunc(rt.waits, func(o *func(datamgr.Submission) bool) bool { return o == goesOn })
		sub.Unlock()
	}
}

// Quiescent reports whether nothing of the runtime runs or can run, but for a number of callbacks of AcquireFunc: all workers rest, no task
// is ready, and no call that waits for a job with DetectStuck is about to return. waits is how many such calls there are. It is for callers that know what
// the callbacks wait for, such as messages of other machines.
func (j *Job) Quiescent(callbacks int) (quiet bool, waits int) {
	rt := j.rt
	sub := rt.reg.Lock()
	defer sub.Unlock()
	if rt.calls-rt.callsWaiting != callbacks || !rt.isIdle(sub) {
		return false, 0
	}
	for _, goesOn := range rt.waits {
		if (*goesOn)(sub) {
			return false, 0
		}
	}
	return true, len(rt.waits)
}

// Wait returns when all tasks of the job have ended, also those that were
// submitted meanwhile: nil even if some failed (see Failures). It returns the
// cause of ctx when that ends first; a *StuckError when the job has
// DetectStuck and what is left waits for its own closed gates or held data;
// ErrWouldDeadlock in a kernel. Data that the job holds is no task.
func (j *Job) Wait(ctx context.Context) error {
	return j.await(ctx, nil, func(datamgr.Submission) bool { return j.live == j.ended.Load() }, func(t *task) bool { return t.job == j && t.kind != acquireTask })
}

// Wait returns when the task has ended, with nil even if it failed (see Err);
// or when ctx ends; or with a *StuckError as Job.Wait does. A task that is
// prepared only is a *NotSubmittedError.
func (t *Task) Wait(ctx context.Context) error {
	if t.phase() < submitted {
		return &NotSubmittedError{Task: t}
	}
	return t.job.await(ctx, t.done, nil, func(u *task) bool { return u.general && u.x.public == t })
}

// WaitHandles returns when the tasks submitted so far that use any part of the
// handles have ended. Contributions that wait to be combined stay so. Errors
// are those of Wait.
func (j *Job) WaitHandles(ctx context.Context, hs ...*datamgr.Handle) error {
	rt := j.rt
	for i, h := range hs {
		if h == nil {
			return &ModeError{Operand: i, Other: -1, Message: "no data to wait for: the handle is nil"}
		}
		if !rt.reg.Owns(h) {
			return rt.alive(i, h)
		}
	}
	rt.waiting.prompt.Add(1)
	defer rt.waiting.prompt.Add(-1)
	return j.await(ctx, nil, func(sub datamgr.Submission) bool { return !j.busy(sub, hs) }, usersOf(hs))
}

// Busy reports whether tasks submitted so far that use any part of h have not ended:
// whether WaitHandles would wait. Contributions that wait to be combined do not
// count, nor does what the job holds itself. It does not wait, and may be called
// anywhere. Errors are those of WaitHandles for h.
func (j *Job) Busy(h *datamgr.Handle) (bool, error) {
	if h == nil {
		return false, &ModeError{Other: -1, Message: "no data to ask about: the handle is nil"}
	}
	if !j.rt.reg.Owns(h) {
		return false, j.rt.alive(-1, h)
	}
	sub := j.rt.reg.Lock()
	defer sub.Unlock()
	return j.busy(sub, []*datamgr.Handle{h}), nil
}

// usersOf tells the tasks that use the handles.
func usersOf(hs []*datamgr.Handle) func(*task) bool {
	return func(t *task) bool {
		return t.kind != acquireTask && slices.ContainsFunc(t.operands(), func(op Operand) bool {
			return slices.ContainsFunc(hs, managed(op.Handle).Twin().Overlaps)
		})
	}
}

// busy reports whether tasks that use any of the handles have not ended.
func (j *Job) busy(sub datamgr.Submission, hs []*datamgr.Handle) bool {
	rt := j.rt
	busy := slices.ContainsFunc(hs, func(h *datamgr.Handle) bool {
		var held [][]datamgr.Access
		unordered := 0
		for _, a := range rt.held {
			if a.job == j {
				a.refine(sub)
				held = append(held, a.t.accesses())
				unordered += a.t.unorderedOn(h)
			}
		}
		return sub.Busy(h, held, unordered)
	})
	if busy && rt.isIdle(sub) { // held data in pieces looks busy: look for tasks that use it
		busy = false
		uses := usersOf(hs)
		rt.blocked(sub, nil, true, func(t *task) { busy = busy || uses(t) })
	}
	return busy
}

// unorderedOn counts the unordered accesses of t to the datum of h.
func (t *task) unorderedOn(h *datamgr.Handle) (n int) {
	for _, d := range t.x.unordered {
		if d == managed(h).Datum() {
			n++
		}
	}
	return n
}

// throttle waits until there is room in the job's window. It returns at once in
// kernels, which need none, and when nothing is ready or running, or nothing of the job
// ever would be: then it reports false, as only the caller can make room. It gives the lock
// of sub up while it waits. Its report holds under the lock that it returns: no other
// submitter has used the room.
func (j *Job) throttle(sub datamgr.Submission) (_ datamgr.Submission, room bool) {
	rt := j.rt
	if rt.opt.Sequential {
		return sub, rt.mayBeInKernel()
	}
	sub.Unlock()
	if rt.mayBeInKernel() {
		return rt.reg.Lock(), true
	}
	low := j.window - max(1, j.window/4)
	if j.low > 0 {
		low = min(j.low, j.window-1)
	}
	ch := rt.waiting.add()
	defer rt.waiting.remove(ch)
	stall := stall{j: j, any: true}
	defer stall.stop()
	for { // a cancelled context is no reason to return: the workers drop what is left
		sub := rt.reg.Lock()
		quiet := rt.isIdle(sub) // before the count: tasks that end in between are seen
		room := j.inFlight(sub) <= low
		if room || quiet || stall.blocked(sub) {
			return sub, room
		}
		sub.Unlock()
		select {
		case <-ch:
		case <-stall.due():
			stall.waited = true
		}
	}
}

// Waiting for some of the tasks, and asking how many there are.

// WaitTasks is Task.Wait for several tasks.
func (j *Job) WaitTasks(ctx context.Context, tasks ...*Task) error {
	for i, t := range tasks {
		if t == nil {
			return fmt.Errorf("engine: task %d to wait for is nil; leave it out", i)
		}
		if err := t.Wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// WaitLeft returns when no more than n tasks of the job are left that were
// submitted and have not ended. Errors are those of Wait.
func (j *Job) WaitLeft(ctx context.Context, n int) error {
	rt := j.rt
	rt.waiting.prompt.Add(1)
	defer rt.waiting.prompt.Add(-1)
	return j.await(ctx, nil, func(datamgr.Submission) bool { return j.live-j.ended.Load() <= int64(max(n, 0)) }, func(t *task) bool {
		return t.job == j && t.kind != acquireTask
	})
}

// WaitNoReady returns when no task of any job is ready or runs: all that are
// left wait for something that the program must do. It returns the cause of ctx
// when that ends first, and ErrWouldDeadlock in a kernel or hook.
func (rt *Runtime) WaitNoReady(ctx context.Context) error {
	if rt.mayBeInKernel() {
		return ErrWouldDeadlock
	}
	return rt.waitUntil(ctx, rt.isIdle)
}

// Unfinished returns how many tasks were submitted and have not ended, those of
// the engine itself included. While workers run it may be a few too many.
func (j *Job) Unfinished() int64 {
	sub := j.rt.reg.Lock()
	defer sub.Unlock()
	return j.live - j.ended.Load()
}

// Ready returns how many tasks of all jobs are ready or run at this moment. With
// a policy of the program's own that does not implement sched.Counter, those
// that wait in it count as one.
func (rt *Runtime) Ready() int {
	n := 0
	rt.anyWorker(func(w *worker) bool { n += w.tasks(); return false })
	s := &rt.lanes
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.mu.all {
		if c, ok := plain(l.policy).(sched.Counter); ok {
			n += c.Len()
		} else if !l.policy.Empty() {
			n++
		}
	}
	return n
}

// refine finds the pieces of the data that have no other user.
func (a *Access) refine(sub datamgr.Submission) {
	if a.hold.Split() {
		a.t.setAccesses(sub.Refine(a.hold, &a.t.Waiter, a.t.accesses()))
	}
}

// inCallback reports whether the caller was called by a callback of AcquireFunc.
// It looks only while callbacks of rt run.
func (rt *Runtime) inCallback() bool {
	sub := rt.reg.Lock()
	n := rt.calls
	sub.Unlock()
	return n > 0 && onStack(callbackPC)
}

// callsGoOn reports whether a callback runs that does not wait for tasks itself:
// it may release data and open gates.
func (rt *Runtime) callsGoOn(_ datamgr.Submission) bool { return rt.calls > rt.callsWaiting }

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

// keepPace is called now and then before a submission: at the window it waits
// for room, and before that, now and then, for workers that are far behind. The error is
// a *FullError. It gives the lock of sub up meanwhile, and returns the one that it has taken then.
func (j *Job) keepPace(sub datamgr.Submission) (datamgr.Submission, error) {
	rt := j.rt
	n := j.live - j.ended.Load()
	room := j.window - j.inFlight(sub)
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
