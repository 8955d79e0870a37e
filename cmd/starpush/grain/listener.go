// Package grain finds inserts whose tasks are too short for what a task costs, or too
// few for the workers, and says how all the data that they share should be split.
//
// A filter that is right for one operand may break another: the parts of a matrix and of
// a vector that one task multiplies must fit. So views whose parts are operands
// of the same tasks change together, by a factor that keeps the ratios of their sizes. Where that cannot be known, no filter is named.
package grain

import (
	"sync"
	"time"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

const (
	maxPieces = 1 << 16 // that are kept of one kind
	fewPieces = 1 << 10 // pieces above which the search for ended ones is left out
)

// pieces are handles, each with a value. Those whose data has ended are forgotten when
// there are many: a script may make temporary data for ever.
type pieces[V any] struct {
	of   map[*datamgr.Handle]V
	full int // when to look again
	gone int // that were forgotten
}

// put adds h, and reports whether there is room for it.
func (p *pieces[V]) put(h *datamgr.Handle, v V) bool {
	if len(p.of) >= max(p.full, fewPieces) {
		for x := range p.of {
			if !x.Alive() {
				delete(p.of, x)
				p.gone++
			}
		}
		p.full = 2 * len(p.of)
	}
	if len(p.of) >= maxPieces {
		return false
	}
	if p.of == nil {
		p.of = map[*datamgr.Handle]V{}
	}
	p.of[h] = v
	return true
}

// count is how many there were.
func (p *pieces[V]) count() int { return len(p.of) + p.gone }

// Listener is an engine.Listener that sums up the tasks of the last job by inserts.
// [Listener.Advice] answers. The zero value is ready to use.
type Listener struct {
	mu struct {
		sync.Mutex
		job   *engine.Job
		tasks map[int64]*task // that have not ended
		sites map[*engine.Site]*insert
		held  pieces[bool]               // what the script itself looked at
		names pieces[func(k int) string] // of views, by their first parts
	}
}

// task is one task that has not ended.
type task struct {
	codelet string
	site    *engine.Site
	ops     []engine.Operand
	started time.Time
}

// insert is what the tasks of one insert took.
type insert struct {
	codelet string
	tasks   int
	total   time.Duration // in kernels
	ops     []operand
	workers map[int]bool // that ran them
	last    int          // one of these
}

// operand is what one operand of an insert was in its tasks.
type operand struct {
	writes bool
	pieces pieces[bool]
	more   bool // than pieces has
}

// AlwaysReturns says that the methods do: they are called without a goroutine of
// their own.
func (l *Listener) AlwaysReturns() {}

// View says what the parts of a view are called; see lang.ObserveViews.
func (l *Listener) View(parts []*datamgr.Handle, name func(k int) string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(parts) > 0 {
		l.mu.names.put(parts[0], name)
	}
}

// TaskEvent implements engine.Listener.
func (l *Listener) TaskEvent(e *engine.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Kind == engine.TaskSubmitted {
		l.submittedLocked(e)
		return
	}
	t := l.mu.tasks[e.ID]
	switch {
	case t == nil || e.Job != l.mu.job:
	case e.Kind == engine.TaskStarted:
		t.started = e.Time
	default:
		delete(l.mu.tasks, e.ID)
		if e.Kind == engine.TaskDone && !t.started.IsZero() {
			l.sumLocked(t, e.Worker, e.Time.Sub(t.started))
		}
	}
}

func (l *Listener) submittedLocked(e *engine.Event) {
	if e.Job != l.mu.job {
		l.mu.job, l.mu.tasks, l.mu.sites, l.mu.held = e.Job, map[int64]*task{}, map[*engine.Site]*insert{}, pieces[bool]{}
	}
	switch {
	case e.Internal == "acquire":
		for _, o := range e.Operands {
			l.mu.held.put(o.Handle, true)
		}
	case e.Internal == "" && e.Origin.Site != nil:
		t := &task{site: e.Origin.Site, ops: append([]engine.Operand(nil), e.Operands...)}
		if t.codelet = e.Name; t.codelet == "" && e.Codelet != nil {
			t.codelet = e.Codelet.Name
		}
		l.mu.tasks[e.ID] = t
	}
}

// sumLocked adds a task that a worker has run.
func (l *Listener) sumLocked(t *task, worker int, took time.Duration) {
	s := l.mu.sites[t.site]
	if s == nil {
		s = &insert{codelet: t.codelet, ops: make([]operand, len(t.ops)), workers: map[int]bool{}, last: -1}
		l.mu.sites[t.site] = s
	}
	if worker != s.last {
		s.workers[worker], s.last = true, worker
	}
	s.tasks++
	s.total += took
	for k, o := range t.ops {
		if k >= len(s.ops) {
			break // an insert has the operands of its codelet
		}
		op := &s.ops[k]
		op.writes = op.writes || o.Mode.Writes()
		if o.Handle.Desc().Kind != iface.Void && !op.pieces.of[o.Handle] && !op.pieces.put(o.Handle, true) {
			op.more = true
		}
	}
}
