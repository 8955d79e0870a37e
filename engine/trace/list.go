package trace

// Lists of tasks: what each does, where it was inserted, what it waits for.

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/engine"
)

// Limits of a list.
const (
	mostLines  = 40   // of it
	mostBefore = 4096 // tasks that one is looked for among, which it waits for
)

// listed is a line of a list: tasks of one insert, one after the other, in one state.
type listed struct {
	state, codelet, site, why string
	first                     int64
	tasks                     int
	took                      time.Duration // together
}

// Tasks lists the tasks of the program that r remembers, in the order of their insert:
// state, codelet, where they were inserted, and what they wait for or how long they took.
// Those of one insert in one state share a line. keep, which may be nil, chooses by
// codelet and state ("waiting", "running", "done", "failed", "cancelled"). "" when there
// is none.
func (r *Recent) Tasks(rt *engine.Runtime, keep func(codelet, state string) bool, duration func(time.Duration) string) string {
	return r.list(rt, duration, func(t *happened, state string) bool { return keep == nil || keep(t.codelet, state) })
}

// Pending lists the tasks that have not ended and use elements of h.
func (r *Recent) Pending(rt *engine.Runtime, h *datamgr.Handle, duration func(time.Duration) string) string {
	return r.list(rt, duration, func(t *happened, _ string) bool {
		return !t.over() && slices.ContainsFunc(t.ops, func(o engine.Operand) bool { return o.Handle.Overlaps(h) })
	})
}

func (r *Recent) list(rt *engine.Runtime, duration func(time.Duration) string, keep func(t *happened, state string) bool) string {
	m := machineOf(rt)
	r.mu.Lock()
	job := r.mu.job
	r.mu.Unlock()
	direct := map[int64]engine.StuckTask{}
	if job != nil {
		for _, s := range job.Blocked() { // not below our lock, which events take
			direct[s.ID] = s
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var before []*happened // that are not over
	var lines []*listed
	running := 0
	for _, t := range r.mu.all {
		if t.state == engine.TaskStarted && t.internal != "acquire" {
			running++
		}
	}
	for _, t := range r.mu.all {
		if t.internal == "" {
			state := stateOf(t)
			if keep(t, state) {
				l := &listed{state: state, codelet: t.codelet, site: t.site(), first: t.id, tasks: 1}
				switch {
				case t.state == engine.TaskStarted:
					l.why = "on " + m.worker(t.worker) + " since " + duration(time.Since(t.started))
				case t.state == engine.TaskDone:
					l.took = t.ended.Sub(t.started)
				case t.over() && t.err != nil:
					l.why, _, _ = strings.Cut(t.cause().Error(), "\n")
				case !t.over():
					l.why = r.waitsLocked(m, t, before, direct, running)
				}
				lines = join(lines, l)
			}
		}
		if !t.over() && len(before) < mostBefore {
			before = append(before, t)
		}
	}
	return listText(lines, duration)
}

// cause is why t was not done; another task's failure has the words about that task.
func (t *happened) cause() error {
	var e *engine.TaskError
	if errors.As(t.err, &e) && e.ID == t.id && e.Cause != nil {
		return e.Cause
	}
	return t.err
}

func stateOf(t *happened) string {
	if t.state == engine.TaskSubmitted {
		return "waiting"
	}
	return [...]string{engine.TaskStarted: "running", engine.TaskDone: "done", engine.TaskFailed: "failed", engine.TaskCancelled: "cancelled"}[t.state]
}

// waitsLocked says what t waits for, which has not started.
func (r *Recent) waitsLocked(m *machine, t *happened, before []*happened, direct map[int64]engine.StuckTask, running int) string {
	for k := len(before) - 1; k >= 0; k-- {
		op, ok := t.waitsFor(before[k])
		switch {
		case !ok:
		case before[k].internal == "acquire" && before[k].state == engine.TaskStarted:
			return "for " + r.nameLocked(t.ops[op].Handle) + ", which the script holds"
		case op >= 0:
			return "for " + r.nameLocked(t.ops[op].Handle) + ", which " + before[k].label() + " has"
		default:
			return "for " + before[k].label() + " to end"
		}
	}
	s, stuck := direct[t.id]
	switch {
	case stuck && s.Gate != nil:
		return "for a gate that is closed"
	case stuck && s.Held != nil:
		return "for " + r.nameLocked(s.Held) + ", which the script holds"
	case stuck:
		return "for what only the program can bring about"
	}
	return m.ready(running)
}

// join adds a line, or a task to the last one when it is one more of the same.
func join(lines []*listed, l *listed) []*listed {
	if n := len(lines); n > 0 {
		x := lines[n-1]
		same := x.why == l.why || x.state == "waiting" && x.codelet == l.codelet // one behind the other
		if x.state == l.state && x.codelet == l.codelet && x.site == l.site && same {
			x.tasks++
			x.took += l.took
			return lines
		}
	}
	return append(lines, l)
}

func listText(lines []*listed, duration func(time.Duration) string) string {
	if len(lines) == 0 {
		return ""
	}
	cut := len(lines) - mostLines
	if cut > 0 { // the last ones are those with waiting tasks
		lines = lines[cut:]
	}
	var rows [][]string
	for _, l := range lines {
		who := fmt.Sprintf("%s, task %d", l.codelet, l.first)
		if l.tasks > 1 {
			who = fmt.Sprintf("%s, %d tasks from %d", l.codelet, l.tasks, l.first)
		}
		why := l.why
		switch {
		case l.state == "done" && l.tasks > 1:
			why = duration(l.took/time.Duration(l.tasks)) + " each"
		case l.state == "done":
			why = duration(l.took)
		}
		rows = append(rows, []string{l.state, who, cmp.Or(l.site, "the prompt"), why})
	}
	text := indented(rows)
	if cut > 0 {
		lines := "lines"
		if cut == 1 {
			lines = "line"
		}
		text = fmt.Sprintf("  %d %s before these\n", cut, lines) + text
	}
	return text
}
