package syntax

// What follows a mistake: where the next statement begins, and what is not said twice.

import (
	"strings"

	"github.com/starpush/starpush/lang/diag"
)

// maxCrowd is how many statements too many of one line are looked at: each begins
// with a look at the rest of the line.
const maxCrowd = 20

// finish makes sure that the statement that began at token from ends at pos, and
// goes on behind the rest when it does not. read says that the statement is fine so
// far.
func (p *parser) finish(w where, from int, read bool) {
	t := p.toks[p.pos]
	if t.kind == tokNL || t.kind == tokEOF || p.blockEnd(p.pos) {
		p.crowd = 0
		return
	}
	if read {
		if p.is(p.pos, "else") && p.pos < p.loose {
			p.pos, _ = p.headEnd(p.pos) // of a block that has no braces, which was said
		} else if p.reportHabit(from, p.pos) {
			// where it ends was found, too
		} else if p.startsStatement(p.pos) && !p.misspeltInsert(p.pos-1) {
			m := p.mistakeAt(p.span(p.pos), "E0104", "two statements on one line").labelled("a new statement starts here")
			lo := p.toks[p.pos-1].hi
			m.edit(Span{lo, t.lo}, "\n"+p.indentOf(from))
			m.sure = t.kind == tokKeyword || p.isBlock(p.pos-1) || p.toks[p.pos+1].kind == tokAssign || p.is(p.pos, "print") || p.is(p.pos, "save") // else an operator may be lost
			if p.isBlock(p.pos - 1) {
				m.hint("put it on its own line")
			} else {
				m.hint("put it on its own line, or write `;` before it")
			}
			if p.crowd++; p.crowd == maxCrowd {
				for p.crowd = 0; p.toks[p.pos].kind != tokNL && p.toks[p.pos].kind != tokEOF; {
					p.pos++
				}
			}
			return
		} else {
			end, bad := p.headEnd(p.pos)
			if !bad {
				p.report(p.trailing(from))
			}
			p.pos = end
		}
	} else if end, _ := p.headEnd(p.pos); end > p.pos {
		p.pos = end
	}
	if p.is(p.pos, "{") {
		p.block(w.lenient())
		for p.is(p.pos, "else") {
			p.pos++
			p.pos, _ = p.headEnd(p.pos)
			if p.is(p.pos, "{") {
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
	end, _ := p.headEnd(p.pos)
	p.pos = max(end, next)
	return true
}

// indentOf is the white space at the start of the line of token i.
func (p *parser) indentOf(i int) string {
	line := p.src.Line(p.src.Pos(int(p.toks[i].lo)).Line)
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// misspeltInsert reports whether token i is a name that most likely means insert, as
// in `let t = insrt f(RW x)`.
func (p *parser) misspeltInsert(i int) bool {
	if p.toks[i].kind != tokIdent || p.toks[i+1].kind != tokIdent {
		return false
	}
	_, near := diag.Nearest(p.str(i), []string{"insert"})
	return near
}

// lenient is the inside of a block whose head could not be read: what may stand in
// any block may stand there.
func (w where) lenient() where {
	w.top, w.fn, w.loop = false, true, true
	return w
}

// isBlock reports whether token i is the brace at the end of a block.
func (p *parser) isBlock(i int) bool { return p.is(i, "}") }

// startsStatement reports whether token i most likely begins a statement.
func (p *parser) startsStatement(i int) bool {
	switch t := p.toks[i]; t.kind {
	case tokKeyword:
		return isStatementWord[t.text(p.text)]
	case tokIdent:
		next := p.toks[i+1]
		return next.kind == tokAssign || next.kind == tokOp && (p.is(i+1, "(") || p.is(i+1, ".") || p.is(i+1, "["))
	}
	return false
}

// trailing words what is wrong with the token at pos, which no part of the statement
// that began at token from can be.
func (p *parser) trailing(from int) *mistake {
	t := p.tokenAt(p.pos)
	m := unexpected(t, "the end of the statement")
	switch {
	case t.Value == "//":
		m.hint("comments start with `#`").edit(p.span(p.pos), "#")
	case t.Value == "/" && p.is(p.pos+1, "*"):
		m.hint("comments start with `#`")
	case p.misspeltInsert(p.pos - 1):
		m.meant(p.span(p.pos-1), "insert")
	case t.Type == tokIdent && p.is(p.pos+1, "in") && p.meantWord(m, p.pos-1, folding):
	case t.Type == tokIdent && p.pos > from+1 && p.meantWord(m, p.pos, linking):
	case p.toks[from].kind == tokKeyword && p.is(from, "insert") && p.pos == from+2 && p.toks[from+1].kind == tokIdent:
		m.hint("the operands of a task are written in parentheses: `insert %s(…)`", p.str(from+1))
	case t.Value == ":" && p.toks[from].kind == tokKeyword:
		m.hint("a block is written in braces: `{ … }`")
	case t.Value == ":" && p.pos == from+1 && p.toks[from].kind == tokIdent:
		m.hint("a new name is declared with `let %s: … = …`", p.str(from))
	case t.Value == "{":
		m.expect = nil
		m.msg = "unexpected `{`"
		m.hint("a block belongs to `if`, `for`, `while`, `func`, `codelet`, `each` or `acquire`")
	default:
		for i := from; i < p.pos; i++ {
			if p.is(i, "//") {
				m.hint("comments start with `#`; `//` divides")
				break
			}
		}
	}
	return m
}

// isFold reports whether token i of toks is the word of a fold: a name follows.
func isFold(text string, toks []token, i int) bool {
	t := toks[i]
	if t.kind != tokIdent || toks[i+1].kind != tokIdent || !foldWords[t.text(text)] {
		return false
	}
	return i == 0 || toks[i-1].kind != tokOp || toks[i-1].text(text) != "."
}

// misplacedFold is the error of a fold outside a codelet.
func misplacedFold(t token, text string) *mistake {
	w := t.text(text)
	m := &mistake{code: "E0105", at: Span{t.lo, t.hi}, msg: "`" + w + "` over a domain is only allowed in a codelet"}
	switch w {
	case "min", "max":
		return m.hint("`%s(a, b)` takes two or more values", w)
	}
	return m.hint("add up in a loop: `for i in 0..n { s += xs[i] }`")
}

// headEnd finds the end of the statement, or of its head when a block follows, that
// goes on at token i. bad says that it holds something reported already.
func (p *parser) headEnd(i int) (end int, bad bool) {
	folds, depth := 0, 0
	for ; ; i++ {
		t := p.toks[i]
		switch t.kind {
		case tokEOF:
			return i, bad
		case tokNL:
			if depth == 0 {
				return i, bad
			}
		case tokVirtual:
			if depth == 0 {
				return i, bad
			}
			depth--
		case tokOpen:
			if depth == 0 && folds == 0 {
				return i, bad
			}
			folds--
			depth++
			bad = bad || t.open
		case tokBad:
			bad = true
		case tokIdent:
			if isFold(p.text, p.toks, i) {
				folds++
			}
		case tokOp:
			switch p.text[t.lo] {
			case '{':
				if depth == 0 && folds == 0 {
					return i, bad
				}
				folds = max(0, folds-1) // a choice in brackets may have braces, too
				depth++
				bad = bad || t.open
			case '(', '[':
				if t.open {
					bad = true
				} else {
					depth++
				}
			case '}':
				if t.open {
					bad = true
				} else if depth == 0 {
					return i, bad
				} else {
					depth--
				}
			case ')', ']':
				if t.open {
					bad = true
				} else {
					depth--
				}
			}
		}
	}
}
