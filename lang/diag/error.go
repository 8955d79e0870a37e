package diag

import "strings"

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
