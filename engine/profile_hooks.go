package engine

// Where times are taken.

import (
	"time"

	"github.com/starpush/starpush/engine/sched"
)

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
	x := t.side()
	if k == TaskSubmitted {
		p.submitted.Add(1)
		tt := &taskTimes{p: TaskProfile{Job: t.job, ID: t.Order, Codelet: profileName(t), Name: t.name(), Worker: -1, Submitted: now}}
		x.times = tt
		if t.general && x.future != nil {
			x.future.times.Store(tt)
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
	if worker < 0 { // nobody says what this hand does next
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
	w.mu.busy += now - w.mu.busySince
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

// plainPolicy is the policy itself, for what only some policies have.
func (rt *Runtime) plainPolicy() sched.Policy {
	if q, ok := rt.policy.(*profiledPolicy); ok {
		return q.Policy
	}
	return rt.policy
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
	if tt := itemTask(it).side().times; tt != nil {
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
	if tt := itemTask(it).side().times; tt != nil {
		tt.mu.Lock()
		tt.p.Popped, tt.p.DataReady = now, 0
		tt.mu.Unlock()
	}
	return it
}

// silence is the listener of a runtime that is profiled when the program gave
// none, so that events are sent.
type silence struct{}

func (silence) TaskEvent(*Event) {}
