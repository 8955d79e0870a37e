package engine

// The life of a kept task: its phases, and what Task.State reports of them.

import (
	"github.com/starpush/starpush/datamgr/invariants"
)

// phase is how far a kept task has come, by what the Task itself must know. Waiting, ready
// and running are one phase: the count of its record says whether it waits, and the workers
// say whether one runs it, so a task that is released, popped or put back costs nothing here.
// Tasks that are not kept have no phase.
//
//	prepared <──> submitting     NewTask, Submit; a Submit that fails goes back
//	   │              │
//	   │ SubmitTask   │
//	submitted <───────┘ <───────────────┐
//	   │ a prologue, or no kernel       │
//	begun                               │
//	   │ the kernel returns; a task     │
//	   │ that does not run goes on here │
//	children                            │ next round
//	   │ the sub-graph has ended        │
//	finishing                           │
//	   │ epilogue; data released        │
//	released <──> endWaits              │ end dependencies, then the epilogue if it was left out
//	   │                                │
//	ending ─────────────────────────────┘
//	   │ successors released
//	ended                        then its callback, and Wait returns
//
// A task skips what it does not have. A task that is only kept goes from submitted to
// ending and to ended.
type phase uint8

const (
	prepared   phase = iota // not submitted; also a task whose submission begins
	submitting              // its Submit checks it: it can neither be changed nor submitted again
	submitted               // waits, is ready, or runs
	begun                   // the same, and its prologue does not run again
	children                // its kernel is over, tasks of its sub-graph are not
	finishing               // the epilogue; its data is still its own
	released                // its data is others'
	endWaits                // for end dependencies
	ending                  // nothing can make its end wait any more; a repeating task: the round has ended
	ended                   // its successors are released
	phases
)

var phaseNames = [phases]string{"prepared", "submitting", "submitted", "begun", "children", "finishing", "released", "endWaits", "ending", "ended"}

func (p phase) String() string { return phaseNames[p] }

// nextPhases has the phases that may follow each, as bits: the arrows of the diagram.
var nextPhases = [phases]uint16{
	prepared:   1<<submitting | 1<<submitted,
	submitting: 1<<prepared | 1<<submitted,
	submitted:  1<<begun | 1<<children | 1<<finishing | 1<<ending,
	begun:      1<<children | 1<<finishing,
	children:   1 << finishing,
	finishing:  1 << released,
	released:   1<<endWaits | 1<<ending,
	endWaits:   1 << released,
	ending:     1<<submitted | 1<<ended,
	ended:      0,
}

// mayFollow reports whether a task goes from p to next.
func (p phase) mayFollow(next phase) bool { return nextPhases[p]>>next&1 != 0 }

// advanceLocked takes t to phase p.
func (t *Task) advanceLocked(p phase) {
	if invariants.Enabled && !t.mu.phase.mayFollow(p) {
		invariants.Violated("task %d goes from %v to %v", t.id, t.mu.phase, p)
	}
	t.mu.phase = p
}

// advance is advanceLocked for callers that do not have t.mu.
func (t *Task) advance(p phase) {
	t.mu.Lock()
	t.advanceLocked(p)
	t.mu.Unlock()
}

// phase returns how far t has come.
func (t *Task) phase() phase {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.phase
}

// TaskState is a point in the life of a task.
type TaskState uint8

// The states of a task, in the order in which it goes through them. One that
// repeats goes from StateEnding back to StateWaiting.
const (
	StatePrepared TaskState = iota // not submitted
	StateWaiting                   // for data, tasks, gates, tags, or its place on a worker
	StateReady                     // waits for a worker, or for locks
	StateRunning                   // a worker has it
	StateEnding                    // its kernel is over; its sub-graph, end dependencies or hooks are not
	StateEnded                     // Wait returns
)

var stateNames = [...]string{"prepared", "waiting", "ready", "running", "ending", "ended"}

// String returns the name of s.
func (s TaskState) String() string { return stateNames[min(int(s), len(stateNames)-1)] }

// State returns what the task does at this moment.
func (t *Task) State() TaskState {
	rt := t.job.rt
	sub := rt.reg.Lock()
	defer sub.Unlock()
	t.mu.Lock() // before it ends its record is not used for others
	defer t.mu.Unlock()
	switch p := t.mu.phase; {
	case t.Done():
		return StateEnded
	case p < submitted:
		return StatePrepared
	case p > begun:
		return StateEnding
	}
	r := t.mu.t
	if r.Waits() {
		return StateWaiting
	}
	if rt.anyWorker(func(w *worker) bool { return w.runs(&r.Waiter) }) {
		return StateRunning
	}
	return StateReady
}
