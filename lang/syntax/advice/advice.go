// Package advice finds what a script means that cannot be read: words, signs and orders of
// other languages, and words that are misspelt.
//
// Advise looks at the token that does not fit and at its neighbours, and returns what is
// written instead, most often with the edit that does it. It tries the rules of a table in
// order: rules.go has those that take the place of the parser's message, statement.go those
// of words that begin no statement and of expressions without effect, and hints.go those that add help to the message. A new
// rule is a row there, with a case in lang/syntax/testdata/errors. Package advice knows the
// tokens of a text alone, and no parser.
package advice

import (
	"fmt"
	"slices"

	"github.com/starpush/starpush/lang/syntax/token"
)

// A Failure is where a parser could not go on.
type Failure struct {
	About    Subject
	From, At int              // the first token of the statement, and the one that does not fit; of Effect: the one behind the expression
	Mistake  *token.Mistake   // what the parser says of it; nil: only what takes the place of that is looked for
	Reported []*token.Mistake // in the text so far

	Signature string // "codelet" or "func": the text is a signature, which has no such word
	Complete  bool   // the statement is complete in front of At
	Prompt    bool   // the text was entered at a prompt
	Loose     bool   // the statement is in a block that has no braces
}

// Subject says what a Failure is about.
type Subject uint8

// The subjects of failures.
const (
	Unexpected Subject = iota // the token At cannot be there
	Word                      // a name begins the statement: it may be a word of another language
	Effect                    // the statement is an expression without effect
)

// Advise returns the mistake that f most likely comes from. It is f.Mistake where there is
// one that only gets more help. ok is false, and f.Mistake as it was, when nothing is known.
// A mistake without a code was part of an earlier one.
func Advise(l *token.List, f Failure) (m *token.Mistake, ok bool) {
	c := &cursor{List: l, Failure: f, from: f.From, at: f.At}
	switch f.About {
	case Word:
		m = c.notWord(f.At)
	case Effect:
		m = c.noEffect()
	default:
		m = c.instead()
		if m == nil && f.Complete && c.misspeltInsert(c.at-1) {
			m = token.Unexpected(c.TokenAt(c.at), "the end of the statement").Meant(c.Span(c.at-1), "insert")
		}
		if m == nil && f.Mistake != nil {
			m = c.hint(f.Mistake)
		}
	}
	if m == nil {
		return nil, false
	}
	m.Next, m.Loose, m.Ends = c.next, c.loose, c.ends
	return m, true
}

// cursor is where reading failed: token at of the statement that begins at token from
// and whose head, or line, ends at token end.
type cursor struct {
	*token.List
	Failure
	from, at, end int
	open          int // the innermost bracket around at, -1 for none

	next  int            // where to go on, when that is behind end
	loose int            // the first token behind a block that has no braces
	ends  []int          // tokens that end such a block
	match match          // of the rule that is tried
	base  *token.Mistake // that rules add help to; nil: they make one
}

// instead is the mistake that takes the place of the parser's, nil if nothing tells.
func (c *cursor) instead() *token.Mistake {
	if c.at >= len(c.Tokens) || c.from > c.at || len(c.Reported) >= token.MaxErrors {
		return nil // looking takes as long as the line
	}
	end, bad := c.HeadEnd(c.from)
	if bad {
		return nil
	}
	c.end, c.open = max(end, c.at), c.inBracket(c.at)
	return rules.apply(c)
}

// mistakeOver is the mistake at the tokens [lo, hi), which names its cause.
func (c *cursor) mistakeOver(lo, hi int, format string, args ...any) *token.Mistake {
	m := &token.Mistake{Code: "E0101", At: c.span(lo, hi), Msg: fmt.Sprintf(format, args...)}
	return m
}

// mistakeHere is the mistake at the token that does not fit.
func (c *cursor) mistakeHere(format string, args ...any) *token.Mistake {
	return c.mistakeOver(c.at, c.at+1, "unexpected %s: %s", token.Describe(c.TokenAt(c.at)), fmt.Sprintf(format, args...))
}

// replace adds the edit that puts text in place of the tokens [lo, hi), and the help that
// shows it.
func (c *cursor) replace(m *token.Mistake, lo, hi int, text string) *token.Mistake {
	return m.Hint("write `%s`", token.ClipTo(text, 72)).Edit(c.span(lo, hi), text).Certain()
}

// span is the range of the tokens [lo, hi).
func (c *cursor) span(lo, hi int) token.Span {
	if hi <= lo {
		return token.Span{Lo: c.Tokens[lo].Lo, Hi: c.Tokens[lo].Lo}
	}
	return token.Span{Lo: c.Tokens[lo].Lo, Hi: c.Tokens[hi-1].Hi}
}

// text is the text of the tokens [lo, hi).
func (c *cursor) text(lo, hi int) string {
	s := c.span(lo, hi)
	return c.Text[s.Lo:s.Hi]
}

// starts are the words in front of an expression.
var exprAfter = token.WordSet("return", "if", "while", "then", "else", "in", "assert", "and", "or", "not", "to", "let", "wait")

// exprStart is the first token of the expression of lowest precedence that ends in front of
// token i: behind a bracket, a comma, an assignment or a word.
func (c *cursor) exprStart(i int, stop map[string]bool) int {
	depth := 0
	for i--; i >= c.from; i-- {
		switch {
		case c.Closes(i):
			depth++
		case c.Opens(i):
			if depth == 0 {
				return i + 1
			}
			depth--
		case depth > 0:
		case c.Kind(i) == token.Assign, c.Has(i, ","), c.Has(i, ":"), c.Kind(i) == token.NL:
			return i + 1
		case c.Kind(i) == token.Keyword && stop[c.Str(i)]:
			return i + 1
		}
	}
	return c.from
}

// exprEnd is the token behind the expression that token i belongs to.
func (c *cursor) exprEnd(i int, stop ...string) int {
	depth := 0
	for ; i < len(c.Tokens); i++ {
		switch k := c.Kind(i); {
		case k == token.EOF || k == token.Virtual || depth == 0 && k == token.NL:
			return i
		case depth == 0 && slices.ContainsFunc(stop, func(s string) bool { return c.Has(i, s) }):
			return i
		case c.Opens(i):
			if depth == 0 && c.Has(i, "{") {
				return i
			}
			depth++
		case c.Closes(i):
			if depth == 0 {
				return i
			}
			depth--
		case depth == 0 && (c.Has(i, ",") || k == token.Assign):
			return i
		}
	}
	return i
}

// inBracket is the innermost bracket that is open at token i, -1 for none.
func (c *cursor) inBracket(i int) int {
	depth := 0
	for i--; i >= c.from; i-- {
		switch {
		case c.Closes(i):
			depth++
		case c.Opens(i):
			if depth == 0 {
				return i
			}
			depth--
		}
	}
	return -1
}

var stopAtWords = token.WordSet("return", "while", "then", "else", "in", "assert", "to", "let", "wait", "with")

// choice is a if c else b.
func (c *cursor) choice() *token.Mistake {
	if !c.Has(c.at, "if") || !c.EndsOperand(c.at-1) || c.Has(c.at-1, "}") {
		return nil
	}
	lo := c.exprStart(c.at, stopAtWords)
	hi := c.exprEnd(c.at)
	other := c.exprEnd(c.at, "else")
	if lo >= c.at || !c.Has(other, "else") || c.Has(hi, "{") || other+1 >= hi {
		return nil
	}
	m := c.mistakeHere("a choice begins with `if`")
	c.next = hi
	return c.replace(m, lo, hi, c.chosen(lo, hi))
}

// chosen writes a if c else b, the tokens [lo, hi), as if c then a else b.
func (c *cursor) chosen(lo, hi int) string {
	cond := c.exprEnd(lo, "if")
	if !c.Has(cond, "if") || cond >= hi {
		return c.text(lo, hi)
	}
	other := c.exprEnd(cond+1, "else")
	if !c.Has(other, "else") || other >= hi {
		return c.text(lo, hi)
	}
	return "if " + c.text(cond+1, other) + " then " + c.text(lo, cond) + " else " + c.chosen(other+1, hi)
}

// lineOf is the token behind the simple statement that begins at token lo, or its else.
func (c *cursor) lineOf(lo int) int {
	end := c.exprEnd(lo, "else")
	for c.Kind(end) == token.Assign || c.Has(end, ",") {
		end = c.exprEnd(end+1, "else")
	}
	return end
}

// oneLine is if (c) f(): a block without braces, on the line of its head.
func (c *cursor) oneLine() *token.Mistake {
	head := c.Str(c.from)
	lo := c.at
	if (c.Has(lo, ":") || c.Has(lo, "then")) && !c.LineEnds(lo) { // if c: f()
		lo++
	}
	if head != "if" && head != "while" && head != "for" || c.Kind(c.from) != token.Keyword || !c.StartsStatement(lo) || c.at < c.from+2 || c.inBracket(c.at) >= 0 {
		return nil
	}
	if brace, _ := c.HeadEnd(c.from); brace < c.at {
		return nil // behind the block
	}
	end := c.lineOf(lo)
	if c.Has(end, "{") || !c.EndsOperand(c.at-1) {
		return nil
	}
	m := c.mistakeHere("the block of `%s` is written in braces", head)
	body := c.text(lo, end)
	if c.Has(end, "else") { // … else g()
		last := c.lineOf(end + 1)
		if head != "if" || !c.StartsStatement(end+1) || c.Has(last, "{") || c.Has(last, "else") {
			return m.Hint("write `{ %s }`, and the other block in braces, too", token.ClipTo(body, 60))
		}
		body += " } else { " + c.text(end+1, last)
		end = last
	}
	c.next = end
	blank := ""
	if c.Touching(c.at - 1) {
		blank = " "
	}
	return m.Hint("write `{ %s }`", token.ClipTo(body, 60)).Edit(c.span(c.at, end), blank+"{ "+body+" }").Certain()
}
