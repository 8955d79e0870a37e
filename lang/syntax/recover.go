package syntax

import (
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax/token"
)

// What follows a mistake: where the next statement begins, and what is not said twice.

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
		} else if p.reportHabit(from, p.pos) {
			// where it ends was found, too
		} else if p.StartsStatement(p.pos) && !p.misspeltInsert(p.pos-1) {
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
			end, bad := p.HeadEnd(p.pos)
			if !bad {
				p.report(p.trailing(from))
			}
			p.pos = end
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

// reportHabit reports where the mistake at token at of the statement that began at
// token from comes from, and goes on behind it; false when nothing tells.
func (p *parser) reportHabit(from, at int) bool {
	m, next := p.habit(from, at)
	if m == nil {
		return false
	}
	p.report(m)
	end, _ := p.HeadEnd(p.pos)
	p.pos = max(end, next)
	return true
}

// misspeltInsert reports whether token i is a name that most likely means insert, as
// in `let t = insrt f(RW x)`.
func (p *parser) misspeltInsert(i int) bool {
	if p.Tokens[i].Kind != token.Ident || p.Tokens[i+1].Kind != token.Ident {
		return false
	}
	_, near := diag.Nearest(p.Str(i), []string{"insert"})
	return near
}

// lenient is the inside of a block whose head could not be read: what may stand in
// any block may stand there.
func (w where) lenient() where {
	w.top, w.fn, w.loop = false, true, true
	return w
}

// trailing words what is wrong with the token at pos, which no part of the statement
// that began at token from can be.
func (p *parser) trailing(from int) *token.Mistake {
	t := p.TokenAt(p.pos)
	m := token.Unexpected(t, "the end of the statement")
	switch {
	case t.Value == "//":
		m.Hint("comments start with `#`").Edit(p.Span(p.pos), "#")
	case t.Value == "/" && p.Is(p.pos+1, "*"):
		m.Hint("comments start with `#`")
	case p.misspeltInsert(p.pos - 1):
		m.Meant(p.Span(p.pos-1), "insert")
	case t.Type == token.Ident && p.Is(p.pos+1, "in") && p.meantWord(m, p.pos-1, folding):
	case t.Type == token.Ident && p.pos > from+1 && p.meantWord(m, p.pos, linking):
	case p.Tokens[from].Kind == token.Keyword && p.Is(from, "insert") && p.pos == from+2 && p.Tokens[from+1].Kind == token.Ident:
		m.Hint("the operands of a task are written in parentheses: `insert %s(…)`", p.Str(from+1))
	case t.Value == ":" && p.Tokens[from].Kind == token.Keyword:
		m.Hint("a block is written in braces: `{ … }`")
	case t.Value == ":" && p.pos == from+1 && p.Tokens[from].Kind == token.Ident:
		m.Hint("a new name is declared with `let %s: … = …`", p.Str(from))
	case t.Value == "{":
		m.Expect = nil
		m.Msg = "unexpected `{`"
		m.Hint("a block belongs to `if`, `for`, `while`, `func`, `codelet`, `each` or `acquire`")
	default:
		for i := from; i < p.pos; i++ {
			if p.Is(i, "//") {
				m.Hint("comments start with `#`; `//` divides")
				break
			}
		}
	}
	return m
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
