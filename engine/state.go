package engine

// What a kept task does at the moment.

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
	rt.reg.Lock()
	defer rt.reg.Unlock()
	t.mu.Lock() // before it ends its record is not used for others
	defer t.mu.Unlock()
	r := t.mu.t
	switch {
	case t.Done():
		return StateEnded
	case t.sp != nil && t.sp.prepared:
		return StatePrepared
	case r == nil || t.mu.ended || t.mu.ending || t.mu.rest != nil || t.mu.sub != nil && t.mu.sub.over:
		return StateEnding
	case r.Waits():
		return StateWaiting
	}
	for _, w := range rt.workers {
		if w.runs(&r.Waiter) {
			return StateRunning
		}
	}
	return StateReady
}
