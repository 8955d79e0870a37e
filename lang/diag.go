package lang

// The aliases of package diag: what Compile and Run say about a script.

import (
	"io"
	"os"
	"slices"
	"strconv"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/diag"
)

// A Diagnostic is one problem. It marshals to JSON and implements error: Error is
// one line, "file:line:col: error[CODE]: message", and Render(w, style) writes what
// the command writes, with the text, the cause, the remedy, the task and the call
// stack. When Go code of the host panicked, GoStack is its stack, and %+v writes both.
// Its fields:
//
//	Code, Severity  "E0301"; Error or Warning
//	Message         one plain sentence, without the place
//	Span, Label     the place to change, and why there; Labels: other places
//	Notes, Help     what else to know, and what to do; Fixes: the same as edits
//	Stack, Task     of a run: the calls, innermost first, and the task, or nil
//	Cause           the error of the host, which errors.Is and errors.As reach
type Diagnostic = diag.Diagnostic

// Diagnostics is a list of problems in the order they were found. It implements
// error; Err returns nil when there are only warnings. Render(w, style) writes all
// of them with the places, as Diagnostic.Render does; AutoStyle makes the style.
type Diagnostics = diag.Diagnostics

// Severity is Error or Warning.
type Severity = diag.Severity

// The severities.
const (
	Error   = diag.Error
	Warning = diag.Warning
)

// PanicError is the error for a panic of a kernel, of a host function, filter or shape
// rule: the cause of a Diagnostic, for errors.As.
type PanicError = engine.PanicError

// Pos is a place in a source.
type Pos = diag.Pos

// Span is a range of a source.
type Span = diag.Span

// Label is a cause elsewhere.
type Label = diag.Label

// Fix is an edit that an editor may apply.
type Fix = diag.Fix

// Frame is one script call on the stack of a run-time error.
type Frame = diag.Frame

// TaskRef names the task of a run-time error.
type TaskRef = diag.TaskRef

// Style says how diagnostics are rendered: with colour or not, how wide.
type Style = diag.Style

// AutoStyle chooses the style for w: colour when w is a terminal and NO_COLOR is
// unset, the width from COLUMNS.
func AutoStyle(w io.Writer) Style {
	st := Style{}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		st.Width = n
	}
	f, ok := w.(*os.File)
	if !ok {
		return st
	}
	if fi, err := f.Stat(); err == nil && fi.Mode()&os.ModeCharDevice != 0 {
		st.Color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	return st
}

// Explain returns the page about a code such as "E0401", as markdown.
func Explain(code string) (markdown string, ok bool) { return diag.Explain(code) }

// WarningSet chooses warnings by code. The zero value reports all, denies none. A code
// takes precedence over "W": with Silence "W0201" and Deny "W", all but W0201 are errors.
// A code in both lists is not reported. A warning that a comment of the script allows ("#
// allow W0201") is neither reported nor denied.
type WarningSet struct {
	Silence []string // codes not reported, such as "W0201"; "W" means all
	Deny    []string // codes that count as errors; "W" means all
	Used    []string // top-level names that the program uses, as by [Instance.Handle]: no W0201
}

// apply filters ds: silenced warnings go, denied ones become errors, and of a long list
// the beginning is left.
func (w WarningSet) apply(ds Diagnostics) Diagnostics {
	if len(w.Silence)+len(w.Deny) == 0 {
		return ds.Bounded()
	}
	var out Diagnostics
	for _, d := range ds {
		if d.Severity == Warning {
			if slices.Contains(w.Silence, d.Code) {
				continue
			}
			denied := slices.Contains(w.Deny, d.Code)
			if !denied && slices.Contains(w.Silence, "W") {
				continue
			}
			if denied || slices.Contains(w.Deny, "W") {
				d.Severity = Error
			}
		}
		out = append(out, d)
	}
	return out.Bounded()
}
