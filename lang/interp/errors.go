package interp

// Run-time diagnostics: places, stacks, and raising.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
)

// place is where in which source something stands.
type place struct {
	file *syntax.File
	at   syntax.Span
}

func (p place) span() diag.Span {
	if p.file == nil {
		return diag.Span{}
	}
	return p.file.At(p.at)
}

// source returns the text at p.
func (p place) source() string {
	if p.file == nil {
		return ""
	}
	t := p.file.Source.Text
	lo, hi := int(p.at.Lo), int(p.at.Hi)
	if lo < 0 || hi > len(t) || lo > hi {
		return ""
	}
	return t[lo:hi]
}

// callSite is one call of a script function, as the stack of an error shows it.
type callSite struct {
	at   place
	text string
}

// diagnostic makes a run-time error with the stack of script calls.
func (m *Machine) diagnostic(code string, at place, message string) *diag.Diagnostic {
	d := &diag.Diagnostic{Code: code, Message: message, Span: at.span()}
	n := 0
	for f := m.cur; f != nil && f.site != nil; f = f.parent {
		if n++; n > maxStack {
			break
		}
		d.Stack = append(d.Stack, diag.Frame{Call: f.site.text, Span: f.site.at.span()})
	}
	return d
}

// maxStack bounds the calls listed in a diagnostic.
const maxStack = 16

// raise ends the running entry point with d.
func (m *Machine) raise(d *diag.Diagnostic) {
	if m.unknown { // in a plan
		m.plan.stop(d)
	}
	panic(&raised{d})
}

// fail raises a diagnostic without labels.
func (m *Machine) fail(code string, at place, format string, args ...any) {
	m.raise(m.diagnostic(code, at, fmt.Sprintf(format, args...)))
}

// failHelp raises a diagnostic with a label and a help; either may be "".
func (m *Machine) failHelp(code string, at place, label, help, format string, args ...any) {
	d := m.diagnostic(code, at, fmt.Sprintf(format, args...))
	d.Label = label
	if help != "" {
		d.Help = []string{help}
	}
	m.raise(d)
}

// label adds a cause elsewhere, if it has a place.
func label(d *diag.Diagnostic, at place, text string) {
	if at.file != nil {
		d.Labels = append(d.Labels, diag.Label{Span: at.span(), Text: text})
	}
}

// several makes one error of what may be several diagnostics.
func several(ds []*diag.Diagnostic) error {
	if len(ds) == 1 {
		return ds[0]
	}
	var out diag.Diagnostics
	for _, d := range ds {
		out = append(out, *d)
	}
	return out
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// protect runs host code; a panic in it becomes an error.
func protect(fn func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			if x, ok := r.(*raised); ok {
				panic(x) // a script function that host code called
			}
			err = &engine.PanicError{Value: r, Stack: string(debug.Stack())}
		}
	}()
	return fn()
}

// soundError is err as host code gave it, or, when it panics as soon as it is asked something,
// what that panic becomes: a nil pointer of a type of errors, say.
func soundError(err error) (sound error) {
	return cmp.Or(protect(func() error {
		if err != nil {
			_ = err.Error()
			_ = errors.Is(err, context.Canceled) // Is and Unwrap of all it wraps
		}
		return nil
	}), err)
}

// raiseHost raises what host code returned. Errors that are already about a place in
// the script go on as they are; those that functions of package lang gave the host,
// which knows no place, get that of the call.
func (m *Machine) raiseHost(at place, what string, err error) {
	var d *diag.Diagnostic
	var le *LimitError
	err = soundError(err)
	switch {
	case errors.As(err, &d) && d != nil && !d.Span.IsZero(), errors.As(err, &le) && le != nil:
		panic(&raised{err})
	case m.ctx.Err() != nil && errors.Is(err, m.ctx.Err()):
		m.raiseEnded(at)
	case d != nil && err == error(d):
		x := *d
		x.Span, x.Stack = at.span(), m.diagnostic("", at, "").Stack
		m.raise(&x)
	}
	x := m.diagnostic("R0106", at, what+": "+firstLine(err.Error()))
	x.Cause = err
	if p := (*engine.PanicError)(nil); errors.As(err, &p) {
		x.Notes = append(x.Notes, panicNote)
	}
	m.raise(x)
}

// panicNote says where the calls of a panic are.
const panicNote = "Go code panicked; its stack is shown by `starpush --verbose`, and in Go by %+v of this error"

// article writes "a vector", "an int".
func article(noun string) string {
	if noun != "" && strings.ContainsRune("aeio", rune(noun[0])) { // a u8
		return "an " + noun
	}
	return "a " + noun
}

func plural(n int64, noun string) string {
	if n == 1 {
		return fmt.Sprintf("%d %s", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
