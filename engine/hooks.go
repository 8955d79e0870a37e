package engine

// Hooks: functions of the program that run at points of a task's life.

import (
	"fmt"

	"github.com/starpush/starpush/engine/sched"
)

// Hook is a function that runs at some point of a task's life, on a worker or
// on the goroutine of the program that made that point come. It may submit
// tasks, open gates and ask the task; calls that wait return ErrWouldDeadlock.
// No two hooks of a task run at the same time, and no lock is held.
type Hook func(t *Task) error

// HookError is the cause of a task that failed in a hook.
type HookError struct {
	Hook string // "prologue", "start hook", "epilogue" or "callback"
	Err  error  // what it returned, or a *PanicError
}

func (e *HookError) Error() string { return fmt.Sprintf("its %s: %v", e.Hook, e.Err) }

// Unwrap returns what the hook returned.
func (e *HookError) Unwrap() error { return e.Err }

// hook calls fn and then next with its error, or with nil. When fn ends the
// goroutine, next is called while that happens.
func (h *hand) hook(t *Task, name string, fn Hook, next func(error)) {
	rt := h.rt
	away := func(on bool) {
		if h.w != nil {
			h.w.away.Store(on)
		}
	}
	away(true)
	if h.w != nil {
		h.w.share()
	}
	rt.hooks.Add(1)
	err := callKernel(func(*TaskContext) error { return fn(t) }, nil, func(err error) {
		rt.hooks.Add(-1)
		away(false)
		next(&HookError{Hook: name, Err: err})
		h.rescue()
	})
	rt.hooks.Add(-1)
	away(false)
	if err != nil {
		err = &HookError{Hook: name, Err: err}
	}
	next(err)
}

// rescue does what the goroutine, which ends because a hook ended it, would
// have done with h.
func (h *hand) rescue() {
	if h.id == sched.Outside {
		h.rt.giveHand(h)
		return
	}
	h.w.rest()
}
