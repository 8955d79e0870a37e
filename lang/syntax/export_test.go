package syntax

import (
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax/advice"
	"github.com/starpush/starpush/lang/syntax/token"
)

// ParseByGrammar is Parse with every statement read by participle.
func ParseByGrammar(src *diag.Source) (*File, diag.Diagnostics) {
	p := newParser(src, false)
	p.plain = true
	f := &File{Source: src, Stmts: p.stmts(where{top: true}), Comments: p.comments}
	f.Doc = p.fileDoc()
	return f, p.diagnostics()
}

// ParseAdvised is Parse that names the rules of advice it used.
func ParseAdvised(src *diag.Source, entry bool, used func(rule string)) {
	p := newParser(src, entry)
	p.advise = func(l *token.List, f advice.Failure) (*token.Mistake, bool) {
		m, ok := advice.Advise(l, f)
		if ok {
			used(m.Rule)
		}
		return m, ok
	}
	p.stmts(where{top: true})
}
