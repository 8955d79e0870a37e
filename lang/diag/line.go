package diag

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// line is the one-line form of d.
func (d *Diagnostic) line() string {
	at := ""
	if !d.Span.IsZero() {
		at = fmt.Sprintf("%s:%d:%d: ", d.Span.File, d.Span.Start.Line, d.Span.Start.Col)
	}
	return fmt.Sprintf("%s%v[%s]: %s", at, d.Severity, d.Code, d.Message)
}

// OneLine returns a name, such as that of a file, for a message: a newline and other
// control characters as the escapes that a string of a script has for them.
func OneLine(name string) string {
	if !strings.ContainsFunc(name, unicode.IsControl) {
		return name
	}
	quoted := strconv.Quote(name)
	return quoted[1 : len(quoted)-1]
}
