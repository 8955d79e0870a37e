package lang

// A run of a program.

import (
	"context"
	"errors"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/interp"
)

// An Instance owns the handles of one run. Its methods may be called from one
// goroutine at a time.
type Instance struct{ m *interp.Machine }

var errNoInstance = errors.New("lang: there is no instance; Run and Start make one, unless they return an error")

// none reports whether i is nil or was not made by Run or Start.
func (i *Instance) none() bool { return i == nil || i.m == nil }

// Stats counts tasks and time: per codelet and per worker.
type Stats = engine.Stats

// Call runs a script function; tasks it inserts join the same graph. It does not
// wait for them. When ctx ends before Call has returned, the tasks of the instance that
// have not started are dropped, kernels that run see the end of their context, and the
// error wraps the cause; without an error nothing was dropped. Arguments are Go numbers, bools, strings, slices of them,
// *Handle and *View; the result is int64, float64, bool, string, []int64,
// []float64, []any for other lists, *Handle, *View or nil. Handles that a function
// returns live until Close; in a Call by a host function, until the end of the block
// of the script that called that.
func (i *Instance) Call(ctx context.Context, fn string, args ...any) (any, error) {
	if i.none() {
		return nil, errNoInstance
	}
	return i.m.Call(ctx, fn, args)
}

// Wait returns when no task of this instance is left. Its error holds the failures
// that no call has reported yet. When ctx ends before, tasks are dropped as by Call.
func (i *Instance) Wait(ctx context.Context) error {
	if i.none() {
		return errNoInstance
	}
	return i.m.Wait(ctx)
}

// Handle returns a registered or extern name of the script's top level.
func (i *Instance) Handle(name string) (*Handle, error) {
	if i.none() {
		return nil, errNoInstance
	}
	return i.m.Handle(name)
}

// Stats returns what the run has done so far. It may be called from any goroutine.
func (i *Instance) Stats() Stats {
	if i.none() {
		return Stats{}
	}
	return i.m.Stats()
}

// Close waits for the tasks, writes bound data home and frees the rest. Its error
// holds the failures that no call has reported yet. It is idempotent. Failed tasks
// leave what they would have written in bound data as it was or half-written.
func (i *Instance) Close() error {
	if i.none() {
		return nil
	}
	return i.m.Close()
}
