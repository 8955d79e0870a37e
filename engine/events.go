package engine

// Sending events.

import (
	"errors"
	"time"

	"github.com/starpush/starpush/datamgr"
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

// listenToCopies tells the listener of copies, if it wants to know.
func (rt *Runtime) listenToCopies() {
	rt.reg.OnCopy(func(from, to int, bytes int64, data *datamgr.Handle, begin, end time.Time) {
		if l := rt.copies.Load(); l != nil {
			(*l).CopyEvent(&CopyEvent{From: from, To: to, Bytes: bytes, Data: data, Begin: begin, End: end})
		}
	})
	rt.hearCopies()
}

func (rt *Runtime) hearCopies() {
	rt.copies.Store(nil)
	if l, ok := rt.opt.Listener.(CopyListener); ok {
		rt.copies.Store(&l)
	}
}

// ErrBusyRuntime says that tasks are left, so that who listens cannot change.
var ErrBusyRuntime = errors.New("engine: tasks are left; wait for them first")

// Listen makes l the listener of the runtime, in place of Options.Listener; nil:
// nobody. No task may be left, of any job, and nobody else may submit meanwhile.
func (rt *Runtime) Listen(l Listener) error {
	rt.reg.Lock()
	defer rt.reg.Unlock()
	for j := range rt.jobs {
		if j.live != j.ended.Load() {
			return ErrBusyRuntime
		}
	}
	switch {
	case l == nil && rt.profile != nil:
		l = silence{}
		rt.profile.silent = true
	case rt.profile != nil:
		rt.profile.silent = false
	}
	rt.opt.Listener = l
	rt.hearCopies()
	return nil
}
