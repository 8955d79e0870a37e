package syntax

import "github.com/starpush/starpush/lang/diag"

// ParseByGrammar is Parse with every statement read by participle.
func ParseByGrammar(src *diag.Source) (*File, diag.Diagnostics) {
	p := newParser(src, false)
	p.plain = true
	f := &File{Source: src, Stmts: p.stmts(where{top: true}), Comments: p.comments}
	f.Doc = p.fileDoc()
	return f, p.diagnostics()
}
