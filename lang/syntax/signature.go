package syntax

// Signatures: declarations of host codelets and functions, and whether an entry
// of a prompt is complete.

import (
	"github.com/starpush/starpush/lang/diag"
)

// ParseSignature reads the declaration of a host codelet, such as
// "clip(v: RW vector[f32], lo: f32, hi: f32)". The result has no body. The error is a
// diag.Diagnostics.
func ParseSignature(text string) (*Codelet, error) {
	p := newParser(diag.NewSource("signature", text), false)
	p.signs = "codelet"
	h := signatureHead[codeletHeader](p)
	if err := p.wholeText(); err != nil {
		return nil, err
	}
	c := h.lower()
	c.Span = Span{p.toks[0].lo, p.toks[p.pos-1].hi}
	return c, nil
}

// ParseFuncSignature reads the declaration of a host function or filter, such as
// "now() -> float" or "stripes(A: matrix[T], p: int) -> matrix[T]". The result has no
// body. The error is a diag.Diagnostics.
func ParseFuncSignature(text string) (*Func, error) {
	p := newParser(diag.NewSource("signature", text), false)
	p.signs = "func"
	h := signatureHead[funcHeader](p)
	if err := p.wholeText(); err != nil {
		return nil, err
	}
	f := h.lower()
	f.Span = Span{p.toks[0].lo, p.toks[p.pos-1].hi}
	return f, nil
}

// signatureHead reads a signature, which begins with a name.
func signatureHead[P any](p *parser) *P {
	if k := p.toks[p.pos].kind; k != tokIdent && k != tokBad && len(p.mistakes) == 0 {
		p.report(p.atEnd(unexpected(p.tokenAt(p.pos), "a name"), p.pos))
		return nil
	}
	return head[P](p, where{})
}

// wholeText reports what follows a signature.
func (p *parser) wholeText() error {
	if len(p.mistakes) == 0 {
		for p.toks[p.pos].kind == tokNL {
			p.pos++
		}
		if p.toks[p.pos].kind != tokEOF {
			p.report(unexpected(p.tokenAt(p.pos), "the end of the signature"))
		}
	}
	return p.diagnostics().Err()
}

// Incomplete reports whether text, entered at a prompt, needs more lines: a bracket
// is open, the last line ends where a newline is white space, or a statement waits
// for a word that may begin a line. A text with another mistake is complete.
func Incomplete(text string) bool {
	s := scan(text)
	if len(s.mistakes) > 0 {
		return false
	}
	if n := len(s.toks); n > 1 {
		last := n - 2
		for last > 0 && s.toks[last].kind == tokNL && s.toks[last].text(text) == "\n" {
			last--
		}
		if s.continued(s.toks[last]) {
			return true
		}
	}
	s.layout()
	for _, m := range s.mistakes {
		if m.code != "E0102" || len(m.labels) == 0 || !m.labels[0].atEnd {
			return false
		}
	}
	if s.atEnd {
		return true
	}
	p := newParser(diag.NewSource("", text), true)
	p.stmts(where{top: true})
	if len(p.mistakes) != 1 {
		return false
	}
	m := p.mistakes[0]
	if m.got == nil || m.got.Type != tokEOF && !(m.got.Type == tokNL && onlySpace(text[min(m.got.Pos.Offset, len(text)):])) {
		return false
	}
	for _, e := range m.expect {
		switch e {
		case "`by`", "`then`", "`else`", "`with`":
			return true
		}
	}
	return false
}

// onlySpace reports whether nothing but white space and comments is in s.
func onlySpace(s string) bool {
	toks := scan(s).toks
	for _, t := range toks {
		if t.kind != tokNL && t.kind != tokEOF {
			return false
		}
	}
	return true
}
