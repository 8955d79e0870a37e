package token

// Mistakes: syntax errors by offset, and the wording of "unexpected …".

import (
	"fmt"
	"strings"

	"github.com/alecthomas/participle/v2/lexer"
	"github.com/starpush/starpush/lang/diag"
)

// Mistake is a syntax error.
type Mistake struct {
	Code   string
	At     Span
	Msg    string
	label  string
	Labels []Label
	Help   []string
	Edits  []Edit

	Got    *lexer.Token // of an unexpected token
	Expect []string     // what could have stood there
	AsName bool         // got is a reserved word where a name should stand
	Sure   bool         // the edits are what was meant
	Rule   string       // the rule of advice that says so, "" for none

	// Where a parser goes on, if advice found that.
	Next  int   // the token to read next, if that is behind the statement
	Loose int   // the token behind a block that has no braces, whose statements are read for their mistakes alone
	Ends  []int // tokens that end such a block
}

// Label is a range beside that of the mistake, with its text.
type Label struct {
	At    Span
	text  string
	AtEnd bool // of the text
}

// Edit is a text in place of a range.
type Edit struct {
	At   Span
	Text string
}

// Edit adds an edit to the fix.
func (m *Mistake) Edit(at Span, text string) *Mistake {
	m.Edits = append(m.Edits, Edit{at, text})
	return m
}

// Certain says that the edits are what was meant: the text leaves no other reading.
func (m *Mistake) Certain() *Mistake { m.Sure = true; return m }

// Guessed says that the edits are most likely what was meant.
func (m *Mistake) Guessed() *Mistake { m.Sure = false; return m }

// Meant says that the word at was meant to be another.
func (m *Mistake) Meant(at Span, word string) *Mistake {
	return m.Hint("did you mean `%s`?", word).Edit(at, word)
}

// Error implements error, for the way through participle.
func (m *Mistake) Error() string { return m.Msg }

// Hint adds a help line.
func (m *Mistake) Hint(format string, args ...any) *Mistake {
	m.Help = append(m.Help, fmt.Sprintf(format, args...))
	return m
}

// Labelled sets the text at the place.
func (m *Mistake) Labelled(format string, args ...any) *Mistake {
	m.label = fmt.Sprintf(format, args...)
	return m
}

// also adds a label elsewhere.
func (m *Mistake) also(at Span, text string) { m.Labels = append(m.Labels, Label{At: at, text: text}) }

// Diagnostic places m in its source.
func (m *Mistake) Diagnostic(src *diag.Source) diag.Diagnostic {
	d := diag.Diagnostic{Code: m.Code, Message: m.Msg, Label: m.label, Help: m.Help, Span: src.Span(int(m.At.Lo), int(m.At.Hi))}
	for _, l := range m.Labels {
		d.Labels = append(d.Labels, diag.Label{Span: src.Span(int(l.At.Lo), int(l.At.Hi)), Text: l.text})
	}
	for _, e := range m.Edits {
		d.Edit(src.Span(int(e.At.Lo), int(e.At.Hi)), e.Text)
	}
	if m.Sure {
		d.Sure()
	}
	return d
}

// Unexpected is E0101 at t, where one of expect should stand.
func Unexpected(t *lexer.Token, expect ...string) *Mistake {
	m := &Mistake{Code: "E0101", At: SpanOf(t), Got: t, Expect: expect}
	m.Msg = "unexpected " + Describe(t)
	if t.Type == NL && t.Value != ";" {
		m.At.Hi = m.At.Lo
	}
	if len(expect) > 0 {
		m.Msg += ", expected " + oneOf(expect)
	}
	if t.Type == Keyword && len(expect) > 0 {
		switch expect[0] {
		case "a name", "a parameter", "a filter", "an option", "a type":
			m.AsName = true
			m.Hint("`%s` is a reserved word and cannot be a name", t.Value)
		}
	}
	return m
}

// Describe names a token in a message.
func Describe(t *lexer.Token) string {
	switch {
	case t.Type == EOF:
		return "end of file"
	case t.Type == NL && t.Value != ";":
		return "end of line"
	}
	return "`" + Clip(t.Value) + "`"
}

// Clip shortens a long token for a message.
func Clip(s string) string {
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

// Chained is the error of a < b < c and a..b..c.
func Chained(t *lexer.Token) *Mistake {
	m := Unexpected(t)
	if LevelOf(t) == LevelCmp {
		m.Msg += ": comparisons do not chain"
		return m.Hint("write `a < b and b < c`, or put parentheses around one comparison")
	}
	m.Msg += ": ranges do not chain"
	return m.Hint("for a step, write `range(a, b, step)`")
}

// OutOfRange is the error of an integer that has more than 63 bits.
func OutOfRange(t *lexer.Token) *Mistake {
	m := &Mistake{Code: "E0106", At: SpanOf(t), Msg: "`" + Clip(t.Value) + "` does not fit an int"}
	return m.Hint("an int has 64 bits: from -9223372036854775808 to 9223372036854775807; for larger numbers write a float, as in `1e20`")
}
