package diag

import "fmt"

// line is the one-line form of d.
func (d *Diagnostic) line() string {
	at := ""
	if !d.Span.IsZero() {
		at = fmt.Sprintf("%s:%d:%d: ", d.Span.File, d.Span.Start.Line, d.Span.Start.Col)
	}
	return fmt.Sprintf("%s%v[%s]: %s", at, d.Severity, d.Code, d.Message)
}
