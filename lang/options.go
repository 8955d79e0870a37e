package lang

// Options of one run.

import (
	"io"
	"path"
	"path/filepath"
	"slices"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/interp"
)

// runConfig is what options write to. Mistakes are kept until the run starts.
type runConfig struct {
	interp.Config
}

// Option changes one run: Run, Start or NewSession.
type Option func(*runConfig)

// Param sets a param. v is checked against its type: any Go integer for int,
// integers and floats for float, bool, string. An unknown name is an error of Run.
func Param(name string, v any) Option {
	return func(c *runConfig) { c.Params = append(c.Params, interp.NamedValue{Name: name, Value: v}) }
}

// Bind supplies an extern handle. In a Session the name is there from the start.
func Bind(name string, d *Data) Option {
	return func(c *runConfig) {
		var b *interp.Binding
		if d != nil {
			b = &d.b
		}
		c.Bindings = append(c.Bindings, interp.NamedBinding{Name: name, Data: b})
	}
}

// BindFile supplies an extern handle with what a file holds, as `load =` does: the file
// is one of Config.Files. dims are its sizes, for a file that does not say them. In
// Session.Load the name is bound while the script runs.
func BindFile(name, file string, dims ...int) Option {
	return func(c *runConfig) {
		c.Bindings = append(c.Bindings, interp.NamedBinding{Name: name, Data: &interp.Binding{File: file, Dims: slices.Clone(dims)}})
	}
}

// FileSizes stands, in plans, for a file that the script loads and that need not be
// there: one size for a vector, rows and columns for a matrix. A
// script whose load has another shape is told so. Runs take no notice of it.
func FileSizes(file string, dims ...int) Option {
	return func(c *runConfig) {
		if c.FileSizes == nil {
			c.FileSizes = map[string][]int{}
		}
		c.FileSizes[path.Clean(filepath.ToSlash(file))] = slices.Clone(dims)
	}
}

// Late replaces the host function of the same name and signature for this run only.
func Late(f *Func) Option {
	return func(c *runConfig) {
		if f != nil && f.f != nil {
			c.Late = append(c.Late, f.f)
		}
	}
}

// Stdout says where print goes; the default is os.Stdout. One print is one Write.
func Stdout(w io.Writer) Option { return func(c *runConfig) { c.Stdout = w } }

// Deterministic fixes the order of COMMUTE uses and the tree in which REDUX
// contributions are combined: the run gives the same bits for every number of
// workers and every policy. See engine.JobOptions.Deterministic.
func Deterministic() Option { return func(c *runConfig) { c.Deterministic = true } }

// Digits bounds how many significant digits of floats print shows, and a session; those
// before the point are shown in full. 0 stands for as many as read back the same, as
// str and f-strings always have.
func Digits(n int) Option { return func(c *runConfig) { c.Digits = n } }

// WithLimits tightens, never widens, the limits of the Compiler.
func WithLimits(l Limits) Option { return func(c *runConfig) { c.Limits = c.Limits.Tighten(l) } }

// WithTotals tightens, never widens, the totals of the Compiler.
func WithTotals(t Totals) Option { return func(c *runConfig) { c.Totals = c.Totals.Tighten(t) } }

// OnEvent calls fn with what happens in the run: see Event. fn is called on a
// goroutine of its own, one event at a time and in their order; nothing waits for
// it. It may use the host's own data under the host's own locks, and must not call
// methods of the Instance, which belong to another goroutine, except Stats. A panic
// in it is dropped. While it is slow, up to 16384 events wait for it and further ones
// are left out, which the next one says ([Event.Missed]). Close delivers what is left:
// when it has returned, fn is not called any more. Only a call of fn that goes on
// for a second without an end is not waited for.
//
// Of two OnEvent the last counts. Plans have no events.
func OnEvent(fn func(Event)) Option { return func(c *runConfig) { c.OnEvent = fn } }

// ObserveViews calls fn with the parts of each view that the run declares, and with
// what part k is called in the script: for traces and graphs.
func ObserveViews(fn func(parts []*datamgr.Handle, name func(k int) string)) Option {
	return func(c *runConfig) { c.OnView = fn }
}

// Observe calls fn with the job of the run before its first statement, so that a
// progress display can read its Stats from another goroutine.
func Observe(fn func(*engine.Job)) Option { return func(c *runConfig) { c.Observe = fn } }
