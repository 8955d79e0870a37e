package check

// Where an import goes that a script lacks.

import (
	"fmt"
	"strings"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// ModuleNamed is the module of the host whose last part is short: "blas" for std/blas.
func (e *Env) ModuleNamed(short string) (name string, m *types.Module) {
	for n := range e.Modules {
		if n[strings.LastIndexByte(n, '/')+1:] == short && (name == "" || n < name) {
			name = n
		}
	}
	return name, e.Modules[name]
}

// ImportEdit is the edit that makes f import a module under its last part: behind the
// imports that are there, else above the first statement and its comment.
func ImportEdit(f *syntax.File, module string) diag.Fix {
	text, nl := f.Source.Text, "\n"
	if k := strings.IndexByte(text, '\n'); k > 0 && text[k-1] == '\r' {
		nl = "\r\n"
	}
	line := fmt.Sprintf("import %q as %s", module, module[strings.LastIndexByte(module, '/')+1:])
	last := -1
	for _, s := range f.Stmts {
		if im, ok := s.(*syntax.Import); ok {
			last = int(im.Hi)
		}
	}
	if last >= 0 {
		at := len(text)
		if k := strings.IndexByte(text[last:], '\n'); k >= 0 {
			at = last + k
			if nl == "\r\n" && text[at-1] == '\r' {
				at--
			}
		}
		return diag.Fix{Span: f.Source.Span(at, at), NewText: nl + line}
	}
	at, next := 0, len("\ufeff")
	if !strings.HasPrefix(text, "\ufeff") {
		next = 0
	}
	at = next
	above := false // the line above is a comment that belongs to what follows
	for l := range strings.Lines(text[next:]) {
		trimmed := strings.TrimSpace(l)
		comment := strings.HasPrefix(trimmed, "#")
		if trimmed != "" && !comment {
			if !above {
				at = next
			}
			break
		}
		if comment && !above {
			at = next
		}
		above = comment
		if next += len(l); trimmed == "" || strings.HasPrefix(l, "#!") {
			at, above = next, false
		}
	}
	return diag.Fix{Span: f.Source.Span(at, at), NewText: line + nl}
}
