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
	labels []place
	help   []string
	edits  []edit

	got    *lexer.Token // of an unexpected token
	expect []string     // what could have stood there
	asName bool         // got is a reserved word where a name should stand
	sure   bool         // the edits are what was meant
}

// place is a label elsewhere.
type place struct {
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
func (m *mistake) also(at Span, text string) { m.labels = append(m.labels, place{at: at, text: text}) }

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
