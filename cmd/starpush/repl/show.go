package repl

// Errors at the prompt: one line where that says it all, else the full form.

import (
	"errors"
	"fmt"
	"strings"

	"github.com/starpush/starpush/lang"
)

// show writes why an entry failed.
func (s *Shell) show(src string, err error) {
	var ds lang.Diagnostics
	var one *lang.Diagnostic
	switch {
	case errors.As(err, &ds):
	case errors.As(err, &one):
		ds = lang.Diagnostics{*one}
	default:
		fmt.Fprintln(s.Err, err)
		return
	}
	if hint := s.hint(src, ds); hint != "" {
		s.complain("%s", hint)
		return
	}
	st := s.Style()
	if line, ok := short(src, ds, st.Width); ok {
		if st.Color {
			head, rest, _ := strings.Cut(line, ":")
			line = "\x1b[1;31m" + head + "\x1b[0m:" + rest
		}
		fmt.Fprintln(s.Err, line)
		return
	}
	s.render(ds)
}

// short writes a diagnostic on one line of at most width columns (0: 100):
// "error[E0203]: module `blas` has no codelet `scla`; did you mean `scal`?". Only
// one about an entry of one line can do without its place; a failed task needs
// its notes.
func short(src string, ds lang.Diagnostics, width int) (string, bool) {
	if len(ds) != 1 || strings.Contains(strings.TrimSpace(src), "\n") {
		return "", false
	}
	d := &ds[0]
	if d.Span.File != "" && !strings.HasPrefix(d.Span.File, "<") {
		return "", false // of a file: the place is not in sight
	}
	if d.Task != nil || len(d.Stack) > 0 || len(d.Help) > 1 {
		return "", false
	}
	text := fmt.Sprintf("%v[%s]: %s", d.Severity, d.Code, d.Message)
	if len(d.Help) == 1 {
		text += "; " + d.Help[0]
	}
	if width <= 0 {
		width = 100
	}
	if len([]rune(text)) > width || strings.Contains(text, "\n") {
		return "", false
	}
	return text, true
}
