package engine

// Callbacks of AcquireFunc: goroutines that the job owns and waits for.

import (
	"runtime"
)

// startCallLocked counts the callback of a as running. Submission lock held.
func (a *Access) startCallLocked() {
	if a.fn != nil {
		a.job.rt.calls++
	}
}

// decided says that a was granted or refused, and starts its callback.
func (a *Access) decided() {
	close(a.granted)
	if a.fn == nil {
		return
	}
	go func() {
		j := a.job
		defer j.callbacks.Done()
		defer func() {
			rt := j.rt
			rt.reg.Lock()
			rt.calls--
			j.calls--
			rt.reg.Unlock()
			rt.progress()
		}()
		defer a.Release()
		callAccess(a)
	}()
}

// callAccess calls the callback of a. A panic is a failure of the job. It must
// not be inlined, and calls the callback in one place: inCallback looks for that
// place on the stack.
//
//go:noinline
func callAccess(a *Access) {
	defer func() {
		if v := recover(); v != nil {
			a.job.report(&failure{job: a.job, codelet: internalCodelet[acquireTask], origin: Origin{Site: a.opt.Site}, cause: newPanic(v)})
		}
	}()
	a.fn(a.outcome())
}

// callbackPC is where callAccess calls the callback.
var callbackPC = func() (pc uintptr) {
	a := &Access{}
	a.fn = func(*Access, error) {
		var pcs [3]uintptr
		runtime.Callers(1, pcs[:]) // this function, then callAccess
		pc = pcs[1]
	}
	callAccess(a)
	return pc
}()

// inCallback reports whether the caller was called by a callback of AcquireFunc.
// It looks only while callbacks of rt run.
func (rt *Runtime) inCallback() bool {
	rt.reg.Lock()
	n := rt.calls
	rt.reg.Unlock()
	return n > 0 && onStack(callbackPC)
}

// callsGoOn reports whether a callback runs that does not wait for tasks itself:
// it may release data and open gates. Submission lock held.
func (rt *Runtime) callsGoOn() bool { return rt.calls > rt.callsWaiting }
