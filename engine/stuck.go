package engine

// Waits that never end: finding out that a job is stuck while others keep the runtime busy, and
// that tasks would wait for each other.

import (
	"slices"
	"time"

	"github.com/starpush/starpush/datamgr"
)

// stall watches one job for a caller that waits for it. It checks whether all of its
// tasks wait for gates that the job has closed, or for data that it holds, only when the
// job has not changed for a while: the check takes time for each waiting task.
type stall struct {
	j      *Job
	any    bool // what the tasks wait for may be closed or held by other jobs, too
	seen   jobState
	looked bool // at this state
	waited bool // this state has lasted
	timer  *time.Timer
}

// jobState changes whenever a job gets on.
type jobState struct {
	live, ended, halves int64
	lists, holds        int
}

// stallTime is how long a state has to last before it is looked at.
const stallTime = 10 * time.Millisecond

// blocked reports whether every task of the job waits, however indirectly, for
// closed gates or held data of the job, so that only the program can go on; with
// any, for what only some program can bring about.
func (s *stall) blocked(sub datamgr.Submission) bool {
	j := s.j
	now := jobState{live: j.live, ended: j.ended.Load(), halves: j.halves.Load(), lists: len(j.lists)}
	for _, a := range j.rt.held {
		if a.job == j {
			now.holds++
		}
	}
	if now != s.seen {
		s.stop()
		s.seen, s.looked, s.waited = now, false, false
	}
	for _, l := range j.lists {
		if l.gate == nil && !s.any { // others may bring it about
			s.looked = true
			return false
		}
	}
	switch {
	case !s.any && (j.calls > 0 || now.lists+now.holds == 0):
		s.looked = true // a callback may go on, or there is nothing to wait for
		return false
	case s.looked || !s.waited:
		return false
	}
	s.looked = true
	return j.allBlocked(sub, s.any)
}

// due returns a channel on which something arrives when it is time to look; nil
// when there is nothing to look at.
func (s *stall) due() <-chan time.Time {
	if s.looked || s.waited {
		return nil
	}
	if s.timer == nil {
		s.timer = time.NewTimer(stallTime)
	}
	return s.timer.C
}

func (s *stall) stop() {
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
}

// allBlocked reports whether every task of j that has not ended waits for closed
// gates or held data of j; with any, of any job. Tasks of any job may run.
func (j *Job) allBlocked(sub datamgr.Submission, any bool) bool {
	whose := j
	if any {
		whose = nil
	}
	n := int64(0)
	j.rt.blocked(sub, whose, false, func(t *task) {
		if t.job == j && t.counted() {
			n++
		}
	})
	return n == j.live-j.ended.Load()
}

// counted reports whether t is one of those that Job.live counts.
func (t *task) counted() bool { return t.kind != acquireTask && t.kind != relayTask }

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

// behind calls fn for the tasks that wait because a is held, unless walk has come to
// them. Nothing runs meanwhile.
func (a *Access) behind(sub datamgr.Submission, walk datamgr.Walk, fn func(*datamgr.Waiter)) {
	walk.Successors(sub, a.t.accesses(), fn)
	if n := a.opt.Node; n > 0 {
		for _, t := range a.job.rt.memoryWaiters.waiting[n] {
			fn(&t.Waiter)
		}
	}
	a.t.x.locks.Queued(fn)
	a.hold.Queued(fn)
}

// Circles: tasks that would wait for each other for ever. The order of data goes from
// what was submitted first to what came later, and so does what a task names in After;
// but the end of a task can wait for one submitted later (end dependencies), the last
// round of one that repeats comes after its next round is submitted, and a task that is
// prepared is named before it has its place. Each of these looks whether it would close a
// circle.

// behind follows the tasks that wait for us, by data and explicitly, and returns the way
// to the first one that fits, itself last; nil if there is none. The tasks us must wait
// themselves. Tasks that wait for the program are not followed. The graph cannot change
// meanwhile, as in blocked.
func behind(sub datamgr.Submission, us []*task, fits func(*task) bool) []*task {
	from, walk := map[*task]*task{}, datamgr.Walk{}
	var work []*task
	for _, u := range us {
		from[u] = nil
		work = append(work, u)
	}
	for len(work) > 0 {
		t := work[0]
		work = work[1:]
		if fits(t) {
			var way []*task
			for ; t != nil; t = from[t] {
				way = append(way, t)
			}
			slices.Reverse(way)
			return way
		}
		follow := func(u *task) {
			if _, seen := from[u]; !seen {
				from[u] = t
				work = append(work, u)
			}
		}
		visit := func(w *datamgr.Waiter) { follow(taskOf(w)) }
		if t.kind == relayTask {
			t.x.target.behind(sub, follow)
			continue
		}
		walk.Successors(sub, t.accesses(), visit)
		if t.kind == duplicateTask {
			t.x.dup.Waiters(visit)
		}
		if t.general && t.x.public != nil {
			t.x.public.behind(sub, follow)
		}
	}
	return nil
}

// behind calls fn for those that wait for the end of t. The task that t is part of is
// one of them: what is behind its data is behind its end.
func (t *Task) behind(_ datamgr.Submission, fn func(*task)) {
	for _, u := range t.waiters() {
		fn(u)
	}
	if t.opts != nil && t.opts.parent != nil && t.opts.parent.t != nil {
		fn(t.opts.parent.t)
	}
}

// cycle looks for a chain of tasks from t, by what waits explicitly for it, to
// one of deps.
func (t *Task) cycle(_ datamgr.Submission, deps []Dependency) *CycleError {
	from := map[*Task]*Task{t: nil}
	work := []*Task{t}
	for len(work) > 0 {
		k := work[0]
		work = work[1:]
		if slices.Contains(deps, Dependency(k)) {
			c := &CycleError{}
			for ; k != nil; k = from[k] {
				c.Tasks = append(c.Tasks, k)
			}
			return c
		}
		follow := func(next *Task) {
			if _, seen := from[next]; next != nil && !seen {
				from[next] = k
				work = append(work, next)
			}
		}
		us := k.waiters()
		if k.opts != nil {
			us = append(us, k.opts.list.waiting...)
			for _, next := range k.opts.named {
				follow(next)
			}
		}
		for _, u := range us {
			if u.kind == relayTask {
				follow(u.x.target)
			} else {
				follow(u.x.public)
			}
		}
	}
	return nil
}

// closes returns the way from tasks that wait, us, to one that a task with the
// operands and dependencies of s would come behind if it was submitted now.
func (s *TaskSpec) closes(sub datamgr.Submission, us []*task) []*task {
	if len(us) == 0 || len(s.Operands)+len(s.After) == 0 {
		return nil
	}
	return behind(sub, us, func(u *task) bool {
		if u.general && u.x.public != nil && slices.Contains(s.After, Dependency(u.x.public)) {
			return true
		}
		if s.Unordered || u.kind == relayTask {
			return false
		}
		for _, x := range u.operands() {
			for _, y := range s.Operands {
				y.Unordered = y.Unordered || sub.Unordered(y.Handle)
				if _, orders := conflict(x, y); orders {
					return true
				}
			}
		}
		return false
	})
}

// circle is the error of t, which would wait for the last task of way.
func (t *Task) circle(way []*task) *CycleError {
	c := &CycleError{Tasks: []*Task{t}, text: []string{t.number()}}
	for _, u := range slices.Backward(way) {
		switch {
		case u.kind == relayTask:
			c.Tasks, c.text = append(c.Tasks, u.x.target), append(c.text, u.x.target.number())
		case u.Order <= 0: // the engine's own
		case u.general && u.x.public != nil:
			c.Tasks, c.text = append(c.Tasks, u.x.public), append(c.text, u.x.public.number())
		default:
			c.text = append(c.text, number(u.Order))
		}
	}
	return c
}
