package engine

// Asking whether a value was lost.

import (
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
)

// Lost returns the failure because of which h, or a part of it, has no valid
// value; nil when no task that ended lost it. It does not wait: call it after
// WaitHandles. The failure counts as handed out, see Failures. Of nil and of data of
// another runtime nothing is lost here.
func (j *Job) Lost(h *datamgr.Handle) *TaskError {
	if h == nil || !j.rt.reg.Owns(h) {
		return nil
	}
	j.rt.reg.Lock()
	if u := h.Shared(); u != nil {
		h = u.Alias()
	}
	j.rt.reg.Unlock()
	_, v := datamgr.Fault([]Operand{{Handle: h, Mode: iface.R}})
	f, ok := v.(*failure)
	if !ok {
		return nil
	}
	f.take()
	return f.err()
}
