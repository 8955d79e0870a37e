package syntax

// Mistakes: syntax errors by offset, and the wording of "unexpected …".

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
	"github.com/starpush/starpush/lang/diag"
)

// mistake is a syntax error.
type mistake struct {
	code   string
	at     Span
	msg    string
	label  string
	labels []label
	help   []string
	edits  []edit

	got    *lexer.Token // of an unexpected token
	expect []string     // what could have stood there
	asName bool         // got is a reserved word where a name should stand
	sure   bool         // the edits are what was meant
}

// label is a range beside that of the mistake, with its text.
type label struct {
	at    Span
	text  string
	atEnd bool // of the text
}

// edit is text in place of what is at.
type edit struct {
	at   Span
	text string
}

// edit adds an edit to the fix.
func (m *mistake) edit(at Span, text string) *mistake {
	m.edits = append(m.edits, edit{at, text})
	return m
}

// certain says that the edits are what was meant: the text leaves no other reading.
func (m *mistake) certain() *mistake { m.sure = true; return m }

// guessed says that the edits are most likely what was meant.
func (m *mistake) guessed() *mistake { m.sure = false; return m }

// meant says that the word at was meant to be another.
func (m *mistake) meant(at Span, word string) *mistake {
	return m.hint("did you mean `%s`?", word).edit(at, word)
}

// Error implements error, for the way through participle.
func (m *mistake) Error() string { return m.msg }

// hint adds a help line.
func (m *mistake) hint(format string, args ...any) *mistake {
	m.help = append(m.help, fmt.Sprintf(format, args...))
	return m
}

// labelled sets the text at the place.
func (m *mistake) labelled(format string, args ...any) *mistake {
	m.label = fmt.Sprintf(format, args...)
	return m
}

// also adds a label elsewhere.
func (m *mistake) also(at Span, text string) { m.labels = append(m.labels, label{at: at, text: text}) }

// diagnostic places m in its source.
func (m *mistake) diagnostic(src *diag.Source) diag.Diagnostic {
	d := diag.Diagnostic{Code: m.code, Message: m.msg, Label: m.label, Help: m.help, Span: src.Span(int(m.at.Lo), int(m.at.Hi))}
	for _, l := range m.labels {
		d.Labels = append(d.Labels, diag.Label{Span: src.Span(int(l.at.Lo), int(l.at.Hi)), Text: l.text})
	}
	for _, e := range m.edits {
		d.Edit(src.Span(int(e.at.Lo), int(e.at.Hi)), e.text)
	}
	if m.sure {
		d.Sure()
	}
	return d
}

// unexpected is E0101 at t, where one of expect should stand.
func unexpected(t *lexer.Token, expect ...string) *mistake {
	m := &mistake{code: "E0101", at: spanOf(t), got: t, expect: expect}
	m.msg = "unexpected " + describe(t)
	if t.Type == tokNL && t.Value != ";" {
		m.at.Hi = m.at.Lo
	}
	if len(expect) > 0 {
		m.msg += ", expected " + oneOf(expect)
	}
	if t.Type == tokKeyword && len(expect) > 0 {
		switch expect[0] {
		case "a name", "a parameter", "a filter", "an option", "a type":
			m.asName = true
			m.hint("`%s` is a reserved word and cannot be a name", t.Value)
		}
	}
	return m
}

// describe names a token in a message.
func describe(t *lexer.Token) string {
	switch {
	case t.Type == tokEOF:
		return "end of file"
	case t.Type == tokNL && t.Value != ";":
		return "end of line"
	}
	return "`" + clip(t.Value) + "`"
}

// clip shortens a long token for a message.
func clip(s string) string {
	const limit = 32
	n := 0
	for i := range s {
		if n == limit {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

// oneOf lists alternatives: "a", "a or b", "a, b or c".
func oneOf(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

func itoa(n int) string { return strconv.Itoa(n) }

// chained is the error of a < b < c and a..b..c.
func chained(t *lexer.Token) *mistake {
	m := unexpected(t)
	if levelOf(t) == levelCmp {
		m.msg += ": comparisons do not chain"
		return m.hint("write `a < b and b < c`, or put parentheses around one comparison")
	}
	m.msg += ": ranges do not chain"
	return m.hint("for a step, write `range(a, b, step)`")
}

// outOfRange is the error of an integer that has more than 63 bits.
func outOfRange(t *lexer.Token) *mistake {
	m := &mistake{code: "E0106", at: spanOf(t), msg: "`" + clip(t.Value) + "` does not fit an int"}
	return m.hint("an int has 64 bits: from -9223372036854775808 to 9223372036854775807; for larger numbers write a float, as in `1e20`")
}

// productionNames are the productions of the grammar in the words of messages.
var productionNames = map[string]string{
	"Expr": "an expression", "Postfix": "the name of some data", "TypeRef": "a type", "Operand": "a parameter", "FuncParam": "a parameter",
	"FilterCall": "a filter", "Args": "`(`", "WithClause": "`with`", "OptionItem": "an option", "AcquireItem": "an access mode (R, W or RW)",
	"CodeletHeader": "a name", "FuncHeader": "a name", "<ident>": "a name", "<string>": "a string", "<assign>": "`=`", "`none`": "",
}

// asMistake turns an error of participle into a mistake.
func asMistake(err error) *mistake {
	var m *mistake
	if errors.As(err, &m) {
		return m
	}
	var u *participle.UnexpectedTokenError
	if errors.As(err, &u) {
		t := u.Unexpected
		return unexpected(&t, expected(u)...)
	}
	var pe participle.Error
	if errors.As(err, &pe) {
		at := int32(pe.Position().Offset)
		return &mistake{code: "E0101", at: Span{at, at}, msg: pe.Message()}
	}
	return &mistake{code: "E0101", msg: err.Error()}
}

// expected reads what participle expected from its message, which gives the rest
// of the production as EBNF: the first term of it is what should have come.
func expected(u *participle.UnexpectedTokenError) []string {
	msg := u.Message()
	i := strings.Index(msg, " (expected ")
	if i < 0 {
		return nil
	}
	rest := strings.TrimSuffix(msg[i+len(" (expected "):], ")")
	return firstTerms(rest)
}

// firstTerms lists the words that an EBNF expression may begin with.
func firstTerms(s string) []string {
	s = strings.TrimSpace(s)
	if s == "" {
		return nil
	}
	switch s[0] {
	case '"':
		if n := strings.IndexByte(s[1:], '"'); n >= 0 {
			return []string{"`" + s[1:1+n] + "`"}
		}
	case '(':
		inner, rest := group(s)
		var out []string
		if strings.HasPrefix(inner, "?") {
			return firstTerms(rest)
		}
		for _, alt := range alternatives(inner) {
			out = append(out, firstTerms(alt)...)
		}
		if strings.HasPrefix(rest, "?") || strings.HasPrefix(rest, "*") {
			out = append(out, firstTerms(rest[1:])...)
		}
		return unique(out)
	}
	end := strings.IndexAny(s, " )|?*+")
	if end < 0 {
		end = len(s)
	}
	word := s[:end]
	out := []string{word}
	if name, ok := productionNames[word]; ok {
		out[0] = name
	}
	return out
}

// group splits "(a b) c" into "a b" and "c".
func group(s string) (inner, rest string) {
	depth, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 {
				return s[1:i], s[i+1:]
			}
		}
	}
	return s[1:], ""
}

// alternatives splits "a | b | c" at the top level.
func alternatives(s string) []string {
	var out []string
	depth, quoted, start := 0, false, 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == '|' && depth == 0:
			out = append(out, s[start:i])
			start = i + 1
		}
	}
	return append(out, s[start:])
}

// unique drops repeated words.
func unique(words []string) []string {
	out := words[:0]
	for _, w := range words {
		seen := false
		for _, o := range out {
			seen = seen || o == w
		}
		if !seen {
			out = append(out, w)
		}
	}
	return out
}

// What follows a mistake: where the next statement begins, and what is not said twice.

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
		return isStatementWord[t.text(p.source)]
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
			if isFold(p.source, p.toks, i) {
				folds++
			}
		case tokOp:
			switch p.source[t.lo] {
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
