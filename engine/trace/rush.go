package trace

// Short tasks that come in masses: to hear of each would cost more than they do.

import (
	"slices"
	"time"

	"github.com/starpush/starpush/engine"
)

// A rush is rushTasks tasks that end one after the other, each within rushTask on
// average. A Recent stops listening then.
const (
	rushTasks = 128
	rushTask  = 20 * time.Microsecond
)

// rush is how fast tasks end.
type rush struct {
	rt     *engine.Runtime // nil: all tasks are listened to
	tasks  int             // that ended since
	since  time.Time
	deaf   bool // since the last Attend
	missed bool // tasks of this job were not heard of
}

// Attend makes r listen again, if it stopped because tasks came too fast, and allows it
// to stop once more; with a nil Runtime it never stops. Tasks that had not ended when it
// stopped are forgotten. A prompt calls Attend before each entry.
func (r *Recent) Attend(rt *engine.Runtime) {
	r.mu.Lock()
	deaf, was := r.mu.rush.deaf, r.mu.rush.rt
	if deaf {
		r.mu.all = slices.DeleteFunc(r.mu.all, func(t *happened) bool {
			if t.over() {
				return false
			}
			delete(r.mu.byID, t.id)
			return true
		})
	}
	r.mu.rush = rush{rt: rt, missed: r.mu.rush.missed || deaf}
	r.mu.Unlock() // events come with locks that Unmute takes
	if deaf {
		was.Unmute()
	}
}

// endedLocked counts a task that ended then, and stops listening in a rush.
func (r *Recent) endedLocked(then time.Time) {
	u := &r.mu.rush
	if u.rt == nil || u.deaf {
		return
	}
	if u.tasks == 0 {
		u.since = then
	}
	if u.tasks++; u.tasks <= rushTasks {
		return
	}
	u.tasks = 0
	if then.Sub(u.since) < rushTasks*rushTask {
		u.deaf = u.rt.Mute()
	}
}

// Left counts the tasks of the program that r knows of and that have not ended. Missed
// says that there were more of them than those that it knows.
func (r *Recent) Left() (tasks int, missed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.mu.all {
		if !t.over() && t.internal == "" {
			tasks++
		}
	}
	return tasks, r.mu.rush.missed || r.mu.rush.deaf
}
