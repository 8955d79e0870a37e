package engine

// Sending events.

import (
	"time"

	"github.com/starpush/starpush/engine/internal/apart"
)

// event tells the listener about t. Called only when there is one.
func (rt *Runtime) event(k EventKind, t *task, worker int, err error) {
	if rt.opt.Plan != nil {
		if k == TaskSubmitted {
			rt.planned(t)
		}
		return
	}
	var tt *taskTimes
	if rt.profile != nil {
		if k > TaskStarted && t.x != nil && t.x.rest != nil {
			tt = t.x.times
		}
		rt.profile.event(k, t, worker)
		if rt.profile.silent {
			return
		}
	}
	color := 0
	if t.codelet != nil {
		color = t.codelet.Color
	}
	if t.general && t.x.color != 0 {
		color = t.x.color
	}
	var parent int64
	if sp := t.special(); sp != nil && sp.parent != nil {
		parent = sp.parent.owner.id
	}
	var after []int64
	if k == TaskSubmitted {
		after = rt.afterIDs()
	}
	e := &Event{After: after, Kind: k, Time: time.Now(), Job: t.job, ID: t.Order, Codelet: t.codelet,
		Internal: kindNames[t.kind], Name: t.name(), Worker: worker, Operands: t.operands(), Origin: t.from(), Parent: parent, Color: color, Err: err}
	if tt != nil {
		tt.mu.Lock()
		e.Profile = tt.p
		tt.mu.Unlock()
	}
	if l, ok := rt.opt.Listener.(sure); ok {
		l.TaskEvent(e)
		return
	}
	apart.Call(func() { rt.opt.Listener.TaskEvent(e) })
}
