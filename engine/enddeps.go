package engine

// End dependencies: the end of a task waits for more than its kernel.

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/starpush/starpush/datamgr"
)

// AddEndDependency makes the end of t wait for tasks, gates and tags: t's kernel runs
// and its data is released as always, but what waits for t itself (After, Wait,
// its epilogue and callback) goes on only when they, too, have ended. It may be
// called until t has ended, in t's own kernel above all. When one of them failed
// or was cancelled, t counts as failed for those that wait for it; when its job is
// cancelled while it waits for one of them, t counts as cancelled, and its data is valid.
//
// Errors, after which nothing was added: *EndedError, *RepeatError, *TagError for a tag
// that was removed, and *CycleError when one of them waits for t, explicitly or by data,
// however indirectly.
func (t *Task) AddEndDependency(deps ...Dependency) error {
	rt := t.job.rt
	h := rt.borrowReleaser()
	defer rt.returnReleaser(h)
	sub := rt.reg.Lock()
	defer sub.Unlock()
	if t.opts != nil && t.opts.Repeat != nil {
		return &RepeatError{Task: t, What: "end dependencies"}
	}
	if slices.Contains(deps, nil) {
		return fmt.Errorf("engine: an end dependency of task %d is nil", t.id)
	}
	if t.opts != nil && t.opts.parent != nil {
		for _, d := range deps {
			if err := t.opts.parent.mayWait(d); err != nil {
				return err
			}
		}
	}
	if err := rt.checkAfter(sub, deps); err != nil {
		return err
	}
	t.mu.Lock()
	if t.mu.phase >= ending {
		t.mu.Unlock()
		return &EndedError{Task: t}
	}
	t.mu.ends++ // so that what waits for the end stays while it is looked at
	t.mu.Unlock()
	defer func() { t.relay(sub, h, nil) }()
	if c := t.cycle(sub, deps); c != nil {
		return c
	}
	if us := t.waiters(); len(us) > 0 {
		if way := behind(sub, us, func(u *task) bool {
			return u.general && u.x.public != nil && slices.Contains(deps, Dependency(u.x.public))
		}); way != nil {
			return t.circle(way)
		}
	}
	t.mu.Lock()
	t.mu.ends += len(deps)
	t.mu.Unlock()
	for _, d := range deps {
		t.relay(sub, h, d)
	}
	return nil
}

// relay makes a record by which the end of t, which counts it, waits for d; nil: for
// nothing.
func (t *Task) relay(sub datamgr.Submission, h *releaser, d Dependency) {
	u := h.rt.newTask(sub, false)
	x := u.extend()
	u.job, u.kind = t.job, relayTask
	u.setOperands(nil)
	u.accessSlots(0)
	x.target = t
	u.Arm()
	var waits int32
	if d != nil && d.addSuccessor(sub, u) {
		waits = 1
	}
	if u.Settle(waits) {
		h.light = append(h.light, u)
	}
}

// onlyEnds reports whether the kernel of t is over, and its end waits.
func (t *Task) onlyEnds() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.phase == endWaits
}

// runRelay is called when a dependency of the end of a task has ended.
func (h *releaser) runRelay(u *task) {
	k, f := u.x.target, u.x.lost.Load()
	u.clear()
	u.SetNext(nil)
	h.rt.giveBack(u, u)
	k.mu.Lock()
	k.mu.ends--
	e := k.mu.rest
	if f != nil && e != nil && e.f == nil {
		e.lose(f)
	} else if f != nil && e == nil && k.mu.lost == nil {
		k.mu.lost = f
	}
	if k.mu.ends > 0 || e == nil {
		k.mu.Unlock()
		return
	}
	k.mu.rest = nil
	k.advanceLocked(released)
	t := k.mu.t
	k.mu.Unlock()
	h.endTask(t, *e)
}

// cancelledEnd is why t counts as cancelled, although its kernel has run or may run:
// its job was, while the end waited. No data is lost by that.
func (t *Task) cancelledEnd() *failure {
	f := newFailure(t.record(), "", t.job.cause(), true)
	f.lost, f.end = nil, true
	return f
}

// lose says that a task whose kernel succeeded did not, because of f.
func (e *taskEnd) lose(f *failure) {
	e.f, e.err = f, &FailedDataError{Operand: -1, Task: f.err()}
	if f.end {
		e.err = f.err()
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

// EndedError says that something was asked of a task that has ended, or is just
// ending.
type EndedError struct{ Task *Task }

func (e *EndedError) Error() string {
	return fmt.Sprintf("task %d has ended; what its end waits for must be added before, by its kernel at the latest", e.Task.ID())
}

// CycleError says that tasks would wait for each other in a circle.
type CycleError struct {
	// Tasks are those of the circle that the program has: each waits for the next, the
	// last for the first, explicitly or by data.
	Tasks []*Task
	text  []string // all of them; nil: these
}

func (e *CycleError) Error() string {
	all := e.text
	if all == nil {
		for _, t := range e.Tasks {
			all = append(all, t.number())
		}
	}
	return fmt.Sprintf("these tasks would wait for each other: %s, %s; leave one of the dependencies out", strings.Join(all, ", "), all[0])
}

// number is how messages call t in a list: by its number, once it has one.
func (t *Task) number() string {
	if t.id == 0 && t.opts != nil {
		return t.name()
	}
	return number(t.id)
}

func number(id int64) string { return strconv.FormatInt(id, 10) }
