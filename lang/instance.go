package lang

// A run of a program.

import (
	"context"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/interp"
)

// An Instance owns the handles of one run. Its methods may be called from one
// goroutine at a time.
type Instance struct{ m *interp.Machine }

// Stats counts tasks and time: per codelet and per worker.
type Stats = engine.Stats

// Call runs a script function; tasks it inserts join the same graph. It does not
// wait for them. Arguments are Go numbers, bools, strings, slices of them,
// *Handle and *View; the result is int64, float64, bool, string, []int64,
// []float64, []any for other lists, *Handle, *View or nil. Handles that a function
// returns live until Close.
func (i *Instance) Call(ctx context.Context, fn string, args ...any) (any, error) {
	return i.m.Call(ctx, fn, args)
}

// Wait returns when no task of this instance is left. Its error holds the failures
// that no call has reported yet.
func (i *Instance) Wait(ctx context.Context) error { return i.m.Wait(ctx) }

// Handle returns a registered or extern name of the script's top level.
func (i *Instance) Handle(name string) (*Handle, error) { return i.m.Handle(name) }

// Stats returns what the run has done so far. It may be called from any goroutine.
func (i *Instance) Stats() Stats { return i.m.Stats() }

// Close waits for the tasks, writes bound data home and frees the rest. Its error
// holds the failures that no call has reported yet. It is idempotent. Failed tasks
// leave what they would have written in bound data as it was or half-written.
func (i *Instance) Close() error { return i.m.Close() }
