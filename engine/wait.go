package engine

// Waiting: for tasks, for data, for room in the window; and finding out that a
// wait would never end.

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/engine/sched"
)

// waiting holds the goroutines that wait for something to change.
type waiting struct {
	n      atomic.Int32 // length of the list
	prompt atomic.Int32 // of those, the ones to wake after every task
	mu     struct {
		sync.Mutex
		list []chan struct{}
	}
}

func (q *waiting) add() chan struct{} {
	ch := make(chan struct{}, 1)
	q.mu.Lock()
	q.mu.list = append(q.mu.list, ch)
	q.n.Add(1)
	q.mu.Unlock()
	return ch
}

func (q *waiting) remove(ch chan struct{}) {
	q.mu.Lock()
	if i := slices.Index(q.mu.list, ch); i >= 0 {
		q.mu.list = slices.Delete(q.mu.list, i, i+1)
		q.n.Add(-1)
	}
	q.mu.Unlock()
}

func (q *waiting) notify() {
	q.mu.Lock()
	for _, ch := range q.mu.list {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
	q.mu.Unlock()
}

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
	ch := rt.waiting.add()
	defer rt.waiting.remove(ch)
	stall := stall{j: j}
	defer stall.stop()
	for {
		var stuck *StuckError
		sub := rt.reg.Lock()
		ok := signal != nil && closed() || ready != nil && ready(sub)
		// a callback that Close waits for must not wait for ever
		detect := j.opt.DetectStuck || called && (j.closed || rt.closed)
		switch {
		case ok || !detect:
		case !rt.callsGoOn(sub) && rt.isIdle(sub):
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
		case <-stall.due():
			stall.waited = true
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Wait returns when all tasks of the job have ended, also those that were
// submitted meanwhile: nil even if some failed (see Failures). It returns the
// cause of ctx when that ends first; a *StuckError when the job has
// DetectStuck and what is left waits for its own closed gates or held data;
// ErrWouldDeadlock in a kernel. Data that the job holds is no task.
func (j *Job) Wait(ctx context.Context) error {
	return j.await(ctx, nil, func(datamgr.Submission) bool { return j.live == j.ended.Load() }, func(t *task) bool { return t.job == j && t.kind != acquireTask })
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

// blocked calls fn for every task that waits, however indirectly, for closed gates and
// held data: those of j, or of every job when j is nil. quiet says that nothing runs;
// otherwise tasks whose end alone waits are left out, as their kernels may be running.
// The graph cannot change meanwhile: a dependency that waits itself keeps waiting.
func (rt *Runtime) blocked(sub datamgr.Submission, j *Job, quiet bool, fn func(*task)) {
	seen, walk := map[*task]bool{}, datamgr.Walk{}
	var work []*task
	visit := func(w *datamgr.Waiter) {
		if t := taskOf(w); !seen[t] {
			seen[t] = true
			work = append(work, t)
		}
	}
	for o := range rt.jobs {
		if j != nil && o != j {
			continue
		}
		for _, l := range o.lists {
			for _, t := range l.waiting {
				visit(&t.Waiter)
			}
		}
	}
	for _, a := range rt.held {
		if j == nil || a.job == j {
			a.behind(sub, walk, visit)
		}
	}
	for len(work) > 0 {
		t := work[len(work)-1]
		work = work[:len(work)-1]
		fn(t)
		walk.Successors(sub, t.accesses(), visit)
		if t.kind == duplicateTask {
			t.x.dup.Waiters(visit)
		}
		if t.kind == relayTask && (quiet || t.x.target.onlyEnds()) {
			if r := t.x.target.record(); r != nil { // else it is prepared only
				visit(&r.Waiter)
			}
		}
		if t.general && t.x.public != nil {
			for _, s := range t.x.public.waiters() {
				visit(&s.Waiter)
			}
			if sp := t.x.public.opts; sp != nil && sp.parent != nil && sp.parent.t != nil && (quiet || sp.parent.over) {
				visit(&sp.parent.t.Waiter)
			}
		}
	}
}

// stuck returns an error when a task that is needed can never run, because of
// what j itself has closed or holds; see blocked.
func (j *Job) stuck(sub datamgr.Submission, needs func(*task) bool, quiet bool) *StuckError {
	found := false
	j.rt.blocked(sub, j, quiet, func(t *task) { found = found || needs(t) })
	if !found {
		return nil
	}
	return &StuckError{Tasks: j.directly(sub)}
}

// Blocked lists the tasks that wait directly for what only the program can bring
// about: closed gates, held data, tags, prepared tasks, places of a sequence.
func (j *Job) Blocked() []StuckTask {
	sub := j.rt.reg.Lock()
	defer sub.Unlock()
	return j.directly(sub)
}

// directly lists the program's tasks that wait for closed gates and held data of
// j without another such task between, in task order.
func (j *Job) directly(sub datamgr.Submission) []StuckTask {
	var out []StuckTask
	seen := map[*task]bool{}
	add := func(t *task, l *waitlist, a *Access) {
		ends := t.kind == relayTask
		if ends {
			t = t.x.target.record()
		}
		if t == nil || !t.kind.ofProgram() || seen[t] {
			return // nil: it is prepared only
		}
		seen[t] = true
		s := StuckTask{ID: t.Order, Codelet: t.codelet, Name: t.name(), Origin: t.submittedAt(), Ended: ends}
		if l != nil {
			l.describe(sub, &s)
		}
		if a != nil {
			s.Held, s.HeldAt = a.h, a.opt.Site
		}
		out = append(out, s)
	}
	for _, l := range j.lists {
		for _, t := range l.waiting {
			add(t, l, nil)
		}
	}
	for _, a := range j.rt.held {
		if a.job != j {
			continue
		}
		first := true
		a.behind(sub, datamgr.Walk{}, func(w *datamgr.Waiter) {
			if t := taskOf(w); first && t.kind.ofProgram() {
				first = false
				add(t, nil, a)
			}
		})
	}
	slices.SortFunc(out, func(a, b StuckTask) int { return int(a.ID - b.ID) })
	return withoutIndirect(out)
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
