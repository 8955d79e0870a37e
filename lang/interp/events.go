package interp

// Events that a run reports to its host while it goes on.

import (
	"sync"
	"time"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/diag"
)

// EventKind says what an Event is about.
type EventKind uint8

// The kinds of events; see lang.EventKind.
const (
	TaskSubmitted EventKind = iota + 1
	TaskStarted
	TaskDone
	TaskFailed
	TaskCancelled
	Transfer
	Print
	Problem
)

var eventKinds = [...]string{"none", "submitted", "started", "done", "failed", "cancelled", "transfer", "print", "problem"}

// String returns the name of the kind.
func (k EventKind) String() string {
	if int(k) < len(eventKinds) {
		return eventKinds[k]
	}
	return "event?"
}

// Event is something that happened in a run; see lang.Event.
type Event struct {
	Kind EventKind
	Time time.Time

	Task    int64
	Codelet string
	Name    string
	Worker  string
	Span    diag.Span

	From, To string
	Data     string
	Bytes    int64
	Took     time.Duration

	Text string
	Err  error

	Done, Total int64
	Missed      int64
}

// maxEvents is how many events wait for a host that is slow to take them: some
// megabytes.
const maxEvents = 1 << 14

// Close waits eventGraces times for eventGrace for a host that does not return. The wait
// is in short pieces, so that a process that was suspended for a while does not blame the
// host.
const (
	eventGraces = 20
	eventGrace  = time.Second / eventGraces
)

// events hands events to the function of the host, one at a time and in order, on a
// goroutine that lives while some wait: whatever the function does, tasks go on.
type events struct {
	fn      func(Event)
	workers []string
	nodes   []string
	data    sync.Map // *datamgr.Handle of data of the run

	mu struct {
		sync.Mutex
		queue       []Event
		done, total int64
		missed      int64
		taken       int64 // events given to the host
		closed      bool
		idle        chan struct{} // closed when no event is left; nil: no goroutine delivers
	}
}

func newEvents(rt *engine.Runtime, fn func(Event)) *events {
	e := &events{fn: fn}
	for i := range rt.Workers() {
		w, _ := rt.Worker(i)
		e.workers = append(e.workers, w.Name)
	}
	for _, n := range rt.Nodes() {
		e.nodes = append(e.nodes, n.Name)
	}
	return e
}

// AlwaysReturns tells the engine that this listener needs no goroutine of its own.
func (e *events) AlwaysReturns() {}

// TaskEvent implements engine.Listener.
func (e *events) TaskEvent(t *engine.Event) {
	ev := Event{Kind: EventKind(t.Kind), Time: t.Time, Task: t.ID, Name: t.Name, Err: t.Err, Codelet: t.Internal}
	if t.Codelet != nil {
		ev.Codelet = t.Codelet.Name
	}
	if t.Worker >= 0 && t.Worker < len(e.workers) {
		ev.Worker = e.workers[t.Worker]
	}
	if s := t.Origin.Site; s != nil {
		ev.Span, _ = SpanOf(s.Data)
	}
	e.add(ev)
	if t.Kind == engine.TaskDone && t.Internal == "unregister" && len(t.Operands) > 0 {
		e.data.Delete(t.Operands[0].Handle)
	}
}

// CopyEvent implements engine.CopyListener.
func (e *events) CopyEvent(c *engine.CopyEvent) {
	if c.Data == nil || c.From == c.To {
		return
	}
	if _, ours := e.data.Load(c.Data); !ours {
		return
	}
	e.add(Event{Kind: Transfer, Time: c.End, From: e.nodes[c.From], To: e.nodes[c.To], Data: c.Data.Name(), Bytes: c.Bytes, Took: c.End.Sub(c.Begin)})
}

// registered notes that h is data of the run. A nil e has no listener.
func (e *events) registered(h *datamgr.Handle) {
	if e != nil {
		e.data.Store(h, nil)
	}
}

func (e *events) problem(err error) {
	if e != nil && err != nil {
		e.add(Event{Kind: Problem, Time: time.Now(), Err: err})
	}
}

// add puts an event behind the others, and starts a goroutine to deliver them if there is
// none.
func (e *events) add(ev Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if ev.Task > 0 {
		switch ev.Kind {
		case TaskSubmitted:
			e.mu.total++
		case TaskDone, TaskFailed, TaskCancelled:
			e.mu.done++
		}
	}
	if e.mu.closed {
		return
	}
	if len(e.mu.queue) >= maxEvents {
		e.mu.missed++
		return
	}
	ev.Done, ev.Total, ev.Missed = e.mu.done, e.mu.total, e.mu.missed
	e.mu.missed = 0
	e.mu.queue = append(e.mu.queue, ev)
	if e.mu.idle == nil {
		e.mu.idle = make(chan struct{})
		go e.deliver()
	}
}

// deliver calls the host until no event is left. When the host ends the goroutine
// another one goes on.
func (e *events) deliver() {
	over := false
	defer func() {
		if !over {
			go e.deliver()
		}
	}()
	for {
		e.mu.Lock()
		if len(e.mu.queue) == 0 {
			close(e.mu.idle)
			e.mu.idle, e.mu.queue = nil, nil
			over = true
			e.mu.Unlock()
			return
		}
		ev := e.mu.queue[0]
		e.mu.queue = e.mu.queue[1:]
		e.mu.taken++
		e.mu.Unlock()
		e.call(ev)
	}
}

func (e *events) call(ev Event) {
	defer func() { _ = recover() }()
	e.fn(ev)
}

// close waits until the host has every event. It gives up a host that stays in one
// call: that gets no others.
func (e *events) close() {
	if e == nil {
		return
	}
	last, same := int64(-1), 0
	for {
		e.mu.Lock()
		idle, taken := e.mu.idle, e.mu.taken
		if same++; taken != last {
			same = 0
		}
		if idle == nil || same == eventGraces {
			e.mu.closed, e.mu.queue = true, nil
			e.mu.Unlock()
			return
		}
		e.mu.Unlock()
		last = taken
		t := time.NewTimer(eventGrace)
		select {
		case <-idle:
		case <-t.C:
		}
		t.Stop()
	}
}
