package trace

// Recent: what the last tasks did, for questions that come afterwards.

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

// recentTasks is how many tasks a Recent keeps.
const recentTasks = 1 << 16

// Recent is an engine.Listener that keeps the last tasks of one job, as many as people
// ask about, with what the policy expected of each worker. [Recent.Explain] and
// [Recent.Blocked] answer. The zero value is ready to use.
type Recent struct {
	mu struct {
		sync.Mutex
		job   *engine.Job
		all   []*happened // in the order of their submission
		byID  map[int64]*happened
		views []view
		rush  rush
	}
}

// happened is one task.
type happened struct {
	id                        int64
	codelet, internal         string
	origin                    engine.Origin
	ops                       []engine.Operand
	after                     []int64
	submitted, started, ended time.Time
	worker                    int
	gang                      []int // see engine.Event
	state                     engine.EventKind
	err                       error
	choice                    *engine.ChoiceEvent
}

// AlwaysReturns says that the methods do: they are called without a goroutine of
// their own.
func (r *Recent) AlwaysReturns() {}

// View says what the parts of a view are called; see lang.ObserveViews.
func (r *Recent) View(parts []*datamgr.Handle, name func(k int) string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.views = append(r.mu.views, view{parts, name}); len(r.mu.views) > 1024 { // the oldest are not needed any more
		r.mu.views = slices.Delete(r.mu.views, 0, 512)
	}
}

// TaskEvent implements engine.Listener.
func (r *Recent) TaskEvent(e *engine.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Kind == engine.TaskSubmitted {
		if e.Job != r.mu.job {
			r.mu.job, r.mu.all, r.mu.byID = e.Job, nil, map[int64]*happened{}
			r.mu.rush.missed = false
		}
		if n := len(r.mu.all); n >= recentTasks {
			for _, t := range r.mu.all[:n/2] {
				delete(r.mu.byID, t.id)
			}
			r.mu.all = slices.Delete(r.mu.all, 0, n/2)
		}
		t := &happened{id: e.ID, internal: e.Internal, origin: e.Origin, ops: slices.Clone(e.Operands), after: e.After, submitted: e.Time, worker: -1, state: e.Kind}
		if e.Codelet != nil {
			t.codelet = e.Codelet.Name
		}
		if e.Name != "" {
			t.codelet = e.Name
		}
		r.mu.all = append(r.mu.all, t)
		r.mu.byID[t.id] = t
		return
	}
	t := r.mu.byID[e.ID]
	if t == nil || e.Job != r.mu.job {
		return
	}
	t.state = e.Kind
	if e.Worker >= 0 {
		t.worker = e.Worker
	}
	if e.Workers != nil {
		t.gang = e.Workers
	}
	if e.Kind == engine.TaskStarted {
		t.started = e.Time
		return
	}
	t.ended, t.err = e.Time, e.Err
	r.endedLocked(e.Time)
}

// ChoiceEvent implements engine.ChoiceListener.
func (r *Recent) ChoiceEvent(e *engine.ChoiceEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.mu.byID[e.ID]; t != nil && e.Job == r.mu.job {
		t.choice = e
	}
}

// over reports whether nothing waits for t any more.
func (t *happened) over() bool { return t.state > engine.TaskStarted }

// label is what a person calls t: "task 3, scal".
func (t *happened) label() string {
	switch {
	case t.internal == "acquire":
		return "the script"
	case t.id <= 0:
		return "the " + t.internal + " of " + t.ops[0].Handle.Root().Name()
	case t.codelet == "":
		return fmt.Sprintf("task %d", t.id)
	}
	return fmt.Sprintf("task %d, %s", t.id, t.codelet)
}

// site is where t was inserted: "<entry 3>:2"; "" when that is not known.
func (t *happened) site() string {
	if s := t.origin.Site; s != nil && s.Line > 0 {
		return fmt.Sprintf("%s:%d", s.File, s.Line)
	}
	return ""
}

// vars are the loop variables at the insert: " with b = 2".
func (t *happened) vars() string {
	s := t.origin.Site
	if s == nil || len(s.VarNames) == 0 {
		return ""
	}
	var each []string
	for k, name := range s.VarNames {
		each = append(each, fmt.Sprintf("%s = %d", name, t.origin.Vars[k]))
	}
	return " with " + strings.Join(each, ", ")
}

// nameLocked is what the script calls a handle.
func (r *Recent) nameLocked(h *datamgr.Handle) string {
	for i := len(r.mu.views) - 1; i >= 0; i-- {
		if k := slices.Index(r.mu.views[i].parts, h); k >= 0 {
			return r.mu.views[i].name(k)
		}
	}
	if name := h.Name(); name != "" {
		return name
	}
	if name := h.Root().Name(); name != "" && h != h.Root() {
		return "a part of " + name
	}
	return "unnamed data"
}

// operandsLocked writes the operands as a script does, with COMMUTE W for CommuteW.
func (r *Recent) operandsLocked(t *happened) string {
	var each []string
	for _, o := range t.ops {
		each = append(each, o.Mode.String()+" "+r.nameLocked(o.Handle))
	}
	return strings.Join(each, ", ")
}

// waitsFor says by which operand t has to wait for a task that was submitted before it;
// -1 for a dependency that the program named.
func (t *happened) waitsFor(before *happened) (operand int, ok bool) {
	if before.id > 0 && slices.Contains(t.after, before.id) {
		return -1, true
	}
	for i, y := range t.ops {
		for _, x := range before.ops {
			combined := t.internal == "reduce" && x.Mode == iface.Redux
			if (combined || conflicts(x, y)) && x.Handle.Overlaps(y.Handle) {
				return i, true
			}
		}
	}
	return 0, false
}

// conflicts says whether of two uses of the same elements one waits for the other. Of
// uses without order this is so only while the first one runs.
func conflicts(x, y engine.Operand) bool {
	switch {
	case x.Mode == iface.Scratch || y.Mode == iface.Scratch, x.Mode == iface.R && y.Mode == iface.R, x.Mode == iface.Redux, y.Mode == iface.Redux:
		return false // contributions are private, and combining them is a task of its own
	}
	return !x.Unordered && !y.Unordered && !(x.Mode == y.Mode && x.Mode.Commutes())
}

// Both is a listener that tells two; either may be nil.
func Both(a, b engine.Listener) engine.Listener {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	type sure interface{ AlwaysReturns() }
	_, ok := a.(sure)
	if _, too := b.(sure); ok && too {
		return &sureBoth{both{a, b}}
	}
	return &both{a, b}
}

// sureBoth needs no goroutine of its own.
type sureBoth struct{ both }

func (*sureBoth) AlwaysReturns() {}

type both struct{ a, b engine.Listener }

func (l *both) TaskEvent(e *engine.Event) {
	l.a.TaskEvent(e)
	l.b.TaskEvent(e)
}

func (l *both) CopyEvent(e *engine.CopyEvent) {
	for _, x := range []engine.Listener{l.a, l.b} {
		if c, ok := x.(engine.CopyListener); ok {
			c.CopyEvent(e)
		}
	}
}

func (l *both) ChoiceEvent(e *engine.ChoiceEvent) {
	for _, x := range []engine.Listener{l.a, l.b} {
		if c, ok := x.(engine.ChoiceListener); ok {
			c.ChoiceEvent(e)
		}
	}
}

func (l *both) RetryEvent(e *engine.RetryEvent) {
	for _, x := range []engine.Listener{l.a, l.b} {
		if c, ok := x.(engine.RetryListener); ok {
			c.RetryEvent(e)
		}
	}
}

// Running is a task that runs.
type Running struct {
	Worker  int
	ID      int64 // in its job, from 1
	Codelet string
	Since   time.Time
}

// Running lists the tasks of the program that run now.
func (r *Recent) Running() (out []Running) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.mu.all {
		if t.state == engine.TaskStarted && t.internal == "" {
			out = append(out, Running{t.worker, t.id, t.codelet, t.started})
		}
	}
	return out
}
