package diag

import (
	"errors"
	"fmt"
	"strings"
)

// Error renders d on one line: "file:line:col: error[E0301]: message".
func (d *Diagnostic) Error() string { return d.line() }

// Error renders all diagnostics, one to a line.
func (ds Diagnostics) Error() string {
	var b strings.Builder
	for i := range ds {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(ds[i].line())
	}
	return b.String()
}

// GoStack is the stack of the Go code that panicked, when that is what d is about; ""
// otherwise.
func (d *Diagnostic) GoStack() string {
	var p interface {
		error
		GoStack() string
	}
	if d.Cause == nil || !errors.As(d.Cause, &p) {
		return ""
	}
	return p.GoStack()
}

// Format implements fmt.Formatter: %v and %s are Error, one line; %+v is that and, of a
// panic of Go code, its stack.
func (d *Diagnostic) Format(f fmt.State, verb rune) {
	if d == nil {
		fmt.Fprint(f, "<nil>")
		return
	}
	switch verb {
	case 'q':
		fmt.Fprintf(f, "%q", d.Error())
	case 'v':
		if f.Flag('#') {
			type plain Diagnostic
			fmt.Fprintf(f, "%#v", (*plain)(d))
			return
		}
		fmt.Fprint(f, d.Error())
		if stack := d.GoStack(); stack != "" && f.Flag('+') {
			fmt.Fprint(f, "\n", stack)
		}
	default:
		fmt.Fprint(f, d.Error())
	}
}

// Format implements fmt.Formatter: %v and %s are Error, one line each; %+v adds the stacks
// of Go code that panicked.
func (ds Diagnostics) Format(f fmt.State, verb rune) {
	switch {
	case verb == 'v' && f.Flag('#'):
		type plain []Diagnostic
		fmt.Fprintf(f, "%#v", plain(ds))
	case verb == 'v' && f.Flag('+'):
		for i := range ds {
			if i > 0 {
				fmt.Fprintln(f)
			}
			fmt.Fprintf(f, "%+v", &ds[i])
		}
	case verb == 'q':
		fmt.Fprintf(f, "%q", ds.Error())
	default:
		fmt.Fprint(f, ds.Error())
	}
}
