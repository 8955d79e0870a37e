package syntax

import (
	"strings"

	"github.com/starpush/starpush/lang/syntax/advice"
	"github.com/starpush/starpush/lang/syntax/token"
	"github.com/starpush/starpush/lang/vocab"
)

// Recovery from a mistake: where the next statement begins, and which reports would
// repeat others.

// maxCrowd is how many statements too many of one line are looked at: each begins
// with a look at the rest of the line.
const maxCrowd = 20

// finish makes sure that the statement that began at token from ends at pos, and
// goes on behind the rest when it does not. read says that the statement is fine so
// far.
func (p *parser) finish(w where, from int, read bool) {
	t := p.Tokens[p.pos]
	if t.Kind == token.NL || t.Kind == token.EOF || p.BlockEnd(p.pos) {
		p.crowd = 0
		return
	}
	if read {
		if p.Is(p.pos, "else") && p.pos < p.loose {
			p.pos, _ = p.HeadEnd(p.pos) // of a block that has no braces, which was said
		} else if p.explained(advice.Failure{From: from, At: p.pos, Complete: true}) {
			// where it ends was found, too
		} else if p.StartsStatement(p.pos) {
			m := p.mistakeAt(p.Span(p.pos), "E0104", "two statements on one line").Labelled("a new statement starts here")
			lo := p.Tokens[p.pos-1].Hi
			m.Edit(Span{Lo: lo, Hi: t.Lo}, "\n"+p.Indent(from))
			m.Sure = t.Kind == token.Keyword || p.Has(p.pos-1, "}") || p.Tokens[p.pos+1].Kind == token.Assign || p.Is(p.pos, "print") || p.Is(p.pos, "save") // else an operator may be lost
			if p.Has(p.pos-1, "}") {
				m.Hint("put it on its own line")
			} else {
				m.Hint("put it on its own line, or write `;` before it")
			}
			if p.crowd++; p.crowd == maxCrowd {
				for p.crowd = 0; p.Tokens[p.pos].Kind != token.NL && p.Tokens[p.pos].Kind != token.EOF; {
					p.pos++
				}
			}
			return
		} else {
			if end, bad := p.HeadEnd(p.pos); bad {
				p.pos = end
			} else {
				p.fail(advice.Failure{From: from, At: p.pos, Mistake: token.Unexpected(p.TokenAt(p.pos), "the end of the statement")})
			}
		}
	} else if end, _ := p.HeadEnd(p.pos); end > p.pos {
		p.pos = end
	}
	if p.Is(p.pos, "{") {
		p.block(w.lenient())
		for p.Is(p.pos, "else") {
			p.pos++
			p.pos, _ = p.HeadEnd(p.pos)
			if p.Is(p.pos, "{") {
				p.block(w.lenient())
			}
		}
	}
}

// fail reports f.Mistake, or what advice makes of it, and goes on behind the statement.
func (p *parser) fail(f advice.Failure) {
	if p.explained(f) {
		return
	}
	p.report(f.Mistake)
	p.pos, _ = p.HeadEnd(p.pos)
}

// example adds to the mistake of a statement that ends behind its first word how one is
// written.
func (p *parser) example(f advice.Failure) {
	if f.At != f.From+1 || p.Tokens[f.From].Kind != token.Keyword || len(f.Mistake.Help) > 0 {
		return
	}
	if k := p.Tokens[f.At].Kind; k != token.NL && k != token.EOF {
		return
	}
	if word := vocab.EntryNamed(vocab.Words, p.TokenAt(f.From).Value); word != nil {
		form, _, _ := strings.Cut(word.Syntax, "   ·   ")
		f.Mistake.Hint("write it as in `%s`", form)
	}
}

// explained reports what advice says of f, and goes on behind it; false: nothing.
func (p *parser) explained(f advice.Failure) bool {
	f.Reported, f.Signature, f.Prompt, f.Loose = p.mistakes, p.signs, p.entry, f.From < p.loose
	m, ok := p.advise(&p.List, f)
	if !ok {
		return false
	}
	if m == f.Mistake {
		p.example(f)
	}
	if m.Code != "" {
		p.report(m)
	}
	p.loose = max(p.loose, m.Loose)
	for _, i := range m.Ends {
		if p.ends == nil {
			p.ends = map[int]bool{}
		}
		p.ends[i] = true
	}
	end, _ := p.HeadEnd(p.pos)
	p.pos = max(end, m.Next)
	return true
}

// lenient returns the inside of a block whose head could not be read: it allows all that
// any block allows.
func (w where) lenient() where {
	w.top, w.fn, w.loop = false, true, true
	return w
}

// misplacedFold is the error of a fold outside a codelet.
func misplacedFold(t token.Token, text string) *token.Mistake {
	w := t.Text(text)
	m := &token.Mistake{Code: "E0105", At: Span{Lo: t.Lo, Hi: t.Hi}, Msg: "`" + w + "` over a domain is only allowed in a codelet"}
	switch w {
	case "min", "max":
		return m.Hint("`%s(a, b)` takes two or more values", w)
	}
	return m.Hint("add up in a loop: `for i in 0..n { s += xs[i] }`")
}
