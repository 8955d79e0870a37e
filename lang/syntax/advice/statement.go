package advice

import (
	"slices"
	"strings"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax/token"
	"github.com/starpush/starpush/lang/vocab"
)

// Words of other languages that begin a statement there, and misspelt words.

// statementWord returns the word of a statement that word is most likely a misspelling
// of, or its name in another language.
func (c *cursor) statementWord(word string) (string, bool) {
	near := c.Meant(word, func(word string) string {
		if near, ok := diag.Nearest(word, append([]string{"else"}, token.StatementWords...)); ok {
			return near
		}
		return vocab.ForeignStatements[word]
	})
	return near, near != ""
}

// notWord is E0103 for the name at token i, with what was meant; nil if it may begin a
// statement.
func (c *cursor) notWord(i int) *token.Mistake {
	if !c.notStatement(i) {
		return nil
	}
	word := c.Str(i)
	if c.Loose && elseWords[word] {
		return &token.Mistake{}
	}
	m := &token.Mistake{Code: "E0103", At: c.Span(i), Msg: "`" + word + "` is not a statement"}
	c.end, _ = c.HeadEnd(i)
	end := c.end
	near, close := c.statementWord(word)
	switch {
	case vocab.CTypes[word] && c.Kind(i+1) == token.Ident && c.Str(i+1) == "main" && c.Has(i+2, "("):
		m.Hint("a script runs from its first line to its last: the body of `main` goes at the top level")
	case vocab.CTypes[word] && c.Kind(i+1) == token.Ident && c.Has(i+2, "("):
		m.Hint("statements are written at the top level and run from there; a function is declared by `func %s(…) -> int { … }`", c.Str(i+1))
	case vocab.CTypes[word] && c.Kind(i+1) == token.Ident && c.Has(i+2, "["):
		m.Hint("data is registered: `register %s = vector[f64](n)`", c.Str(i+1))
	case vocab.CTypes[word] && c.Kind(i+1) == token.Ident && !c.Has(i+2, "="):
		m.Hint("a name is made with `let` and has a value: `let %s = 0`", c.Str(i+1))
	case vocab.CTypes[word] && c.Kind(i+1) == token.Ident:
		m.Hint("a name is made with `let`: `let %s = ...`", c.Str(i+1)).Edit(c.Span(i), "let").Certain()
	case word == "loop" && c.Has(i+1, "{"):
		c.replace(m, i, i+1, "while true")
	case word == "until" && end > i+1 && c.Has(end, "{"):
		c.replace(m, i, end, "while not ("+c.text(i+1, end)+")")
	case vocab.StatementHelp[word] != "":
		m.Hint("%s", vocab.StatementHelp[word])
	case word == "print" && end > i+1:
		args := c.text(i+1, end)
		m.Hint("a call has parentheses: `print(%s)`", token.ClipTo(args, 60)).Edit(c.span(i, end), "print("+args+")").Certain()
	case word == "save" && end > i+1:
		c.saved(m)
	case word == "const" && vocab.CTypes[c.Str(i+1)] && c.Kind(i+2) == token.Ident:
		m.Hint("a name is made with `let`: `let %s = ...`", c.Str(i+2)).Edit(c.span(i, i+2), "let").Certain()
	case word == "from" && c.Str(i+1) == "std" && c.Has(i+2, "import") && c.Kind(i+3) == token.Ident && end == i+4:
		c.replace(m, i, end, `import "std/`+c.Str(i+3)+`"`)
	case c.Has(i+1, "in") && c.Has(end, "{") && !strings.HasPrefix(word, "for") && !strings.HasPrefix(word, "each"): // i in 0..3 { … }
		if len(c.Reported)+1 < token.MaxErrors && c.inCodelet() {
			m.Hint("a loop begins with `each`, or with `for` where its rounds depend on each other: `each %s in …`", word)
			break
		}
		m.Hint("a loop begins with `for`: `for %s in …`", word).Edit(token.Span{Lo: c.Tokens[i].Lo, Hi: c.Tokens[i].Lo}, "for ").Certain()
	case word == "from" && c.Kind(i+1) == token.Ident:
		m.Hint("did you mean `import`, as in `import \"std/blas\" as blas`?")
	case close && c.glued(i, near) != "": // waitx, fori in 0..3
		m.Meant(c.Span(i), near+" "+c.glued(i, near)).Certain()
	case close:
		m.Meant(c.Span(i), near)
		if _, synonym := vocab.ForeignStatements[word]; len(word) > 1 && !synonym || vocab.OnlyForeign[word] {
			m.Certain()
		}
	}
	if last := end - 1; !c.Has(end, "{") && c.LineEnds(last) { // its block ends by its indentation
		_, after := c.indented(last)
		c.loose = after
		c.endsBlock(after)
	}
	return m
}

// notStatement reports whether the name at token i stands where only a statement
// word can: another name, a literal, a word or a block follows.
func (c *cursor) notStatement(i int) bool {
	next := c.Tokens[i+1]
	switch next.Kind {
	case token.Ident, token.Int, token.Float, token.String, token.FString:
		return true
	case token.Op:
		if _, ok := c.statementWord(c.Str(i)); ok && c.BlockEnd(i+1) {
			return true
		}
		return c.Is(i+1, "{")
	case token.Keyword:
		if _, ok := c.statementWord(c.Str(i)); ok {
			return true
		}
		switch next.Text(c.Text) {
		case "true", "false", "none", "not", "insert", "if":
			return true
		}
		if vocab.StatementHelp[c.Str(i)] != "" && token.IsStatementWord[next.Text(c.Text)] {
			return true
		}
	case token.NL, token.EOF:
		if _, ok := c.statementWord(c.Str(i)); !c.Prompt && (ok || vocab.StatementHelp[c.Str(i)] != "") && !c.DeclaredBy("func", c.Str(i)) {
			return true
		}
	}
	if vocab.StatementHelp[c.Str(i)] != "" && c.BlockEnd(i+1) && !c.Prompt { // { pass }
		return true
	}
	return false
}

// glued is the name that follows the statement word near in the word at token i: one
// that was met before, or the index of a loop. "" if there is none.
func (c *cursor) glued(i int, near string) string {
	name, ok := strings.CutPrefix(c.Str(i), near)
	if !ok || name == "" || token.IsDigit(name[0]) || name == near[len(near)-1:] || vocab.ForeignStatements[c.Str(i)] != "" { // a letter twice is a slip of the hand
		return ""
	}
	before := c.Tokens[max(0, i-token.MaxNamed):i]
	if !c.Has(i+1, "in") && !slices.ContainsFunc(before, func(t token.Token) bool { return t.Kind == token.Ident && t.Text(c.Text) == name }) {
		return ""
	}
	return name
}

// noEffect is waiting for all tasks by a word of another language.
func (c *cursor) noEffect() *token.Mistake {
	name := c.Str(c.at)
	if c.Mistake.At != c.Span(c.at) || !vocab.WaitWords[name] || c.DeclaredBy("let", name) {
		return nil
	}
	return c.Mistake.Hint("write `wait`").Edit(c.Span(c.at), "wait").Certain()
}
