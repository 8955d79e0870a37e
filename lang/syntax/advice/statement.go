package advice

import (
	"slices"
	"strings"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax/token"
	"github.com/starpush/starpush/lang/vocab"
)

// Words of other languages that begin a statement there, misspelt words, and expressions
// without effect.

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
	c.base = m
	words.apply(c)
	if last := c.end - 1; !c.Has(c.end, "{") && c.LineEnds(last) { // its block ends by its indentation
		_, after := c.indented(last)
		c.loose = after
		c.endsBlock(after)
	}
	return m
}

// words are tried in order for a name that begins a statement and should be the word of one.
var words = table{rules: []rule{
	{name: "main of C", pattern: `| CTYPE main (`, help: "a script runs from its first line to its last: the body of `main` goes at the top level"},
	{name: "function of C", pattern: `| CTYPE ID (`,
		help: "statements are written at the top level and run from there; a function is declared by `func $2(…) -> int { … }`"},
	{name: "array of C", pattern: `| CTYPE ID [`, help: "data is registered: `register $2 = vector[f64](n)`"},
	{name: "name of C without a value", pattern: `| CTYPE ID !=`, help: "a name is made with `let` and has a value: `let $2 = 0`"},
	{name: "name of C", pattern: `| «CTYPE» ID`, help: "a name is made with `let`: `let $2 = ...`", write: "let", sure: true},
	{name: "endless loop", pattern: `| «loop» &{`, write: "while true", sure: true},
	{name: "loop until", pattern: `| « until !{ REST » &{`, write: "while not ($1)", sure: true},
	{name: "if with its letters swapped", pattern: `| «fi» !{ REST &{`, write: "if", sure: true},
	{name: "statement of other languages", pattern: `| HELPED`, help: "${1|statement}"},
	{name: "print without parentheses", pattern: `| « print REST »`, when: notEmpty,
		help: "a call has parentheses: `print(${1:60})`", write: "print($1)", sure: true},
	{name: "save without parentheses", pattern: `| save REST`, when: notEmpty, find: (*cursor).saved},
	{name: "constant of C", pattern: `| « const CTYPE » ID`, help: "a name is made with `let`: `let $2 = ...`", write: "let", sure: true},
	{name: "import from std", pattern: `| « from std import ID »`, when: wholeHead, write: `import "std/$1"`, sure: true},
	{name: "loop without its word, in a codelet", pattern: `| ANY in`, when: loopOfBody,
		help: "a loop begins with `each`, or with `for` where its rounds depend on each other: `each $1 in …`"},
	{name: "loop without its word", pattern: `| «» ANY in`, when: loopWithBlock, help: "a loop begins with `for`: `for $1 in …`", write: "for ", sure: true},
	{name: "import from a module", pattern: `| from ID`, help: "did you mean `import`, as in `import \"std/blas\" as blas`?"},
	{name: "misspelt word", find: (*cursor).misspelt},
}}

// notEmpty reports whether something is captured last.
func notEmpty(c *cursor, m *match) bool {
	last := m.captures[len(m.captures)-1]
	return last[1] > last[0]
}

// wholeHead reports whether the statement, or its head, ends with the match.
func wholeHead(c *cursor, m *match) bool { return m.hi == c.end }

// loopWithBlock reports whether a block follows, and the name is no misspelt word of a loop.
func loopWithBlock(c *cursor, m *match) bool {
	word := c.Str(c.at)
	return c.Has(c.end, "{") && !strings.HasPrefix(word, "for") && !strings.HasPrefix(word, "each")
}

// loopOfBody is loopWithBlock in the body of a codelet.
func loopOfBody(c *cursor, m *match) bool {
	return loopWithBlock(c, m) && len(c.Reported)+1 < token.MaxErrors && c.inCodelet()
}

// misspelt is a word of a statement with a mistake, or with the name behind it: waitx.
func (c *cursor) misspelt() *token.Mistake {
	word := c.Str(c.at)
	near, ok := c.statementWord(word)
	if !ok {
		return nil
	}
	if name := c.glued(c.at, near); name != "" {
		return c.base.Meant(c.Span(c.at), near+" "+name).Certain()
	}
	c.base.Meant(c.Span(c.at), near)
	if _, synonym := vocab.ForeignStatements[word]; len(word) > 1 && !synonym || vocab.OnlyForeign[word] {
		c.base.Certain()
	}
	return c.base
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

// noEffect is the mistake of the statement [c.from, c.at), an expression without effect.
func (c *cursor) noEffect() *token.Mistake {
	c.end = c.at
	if m := effects.apply(c); m != nil {
		return m
	}
	c.base = c.Mistake
	return uses.apply(c)
}

// effects are tried in order for an expression without effect that is no such expression in
// other languages.
var effects = table{rules: []rule{
	{name: "decrement", pattern: `| « X ~- ~- » EOL`, when: isPlace, says: "there is no operator `--`", write: "$1 -= 1", sure: true},
	{name: "decrement of a value", pattern: `| X « ~- ~- » EOL`, says: "there is no operator `--`",
		help: "a name is decremented by a statement of its own: `x -= 1`"},
	{name: "stream of C++", pattern: `| cout|cin «<<|>>»`, says: "there are no streams", help: "text is written by `print(…)`"},
	{name: "comment of SQL", pattern: `| « - ~- »`, when: spaceAfter, says: "unexpected `--`: " + commentHelp, write: "#"},
	{name: "comment of C behind a call", pattern: `| X «//» LINE EOL`, when: afterCall, says: "unexpected `//`: " + commentHelp, write: "#"},
	{name: "comment of SQL behind a call", pattern: `| X « - ~- » LINE EOL`, when: afterCall, says: "unexpected `--`: " + commentHelp, write: "#"},
}}

// uses are tried in order for what to do with the value of an expression without effect.
var uses = table{rules: []rule{
	{name: "wait under another name", pattern: `| WAITWORD`, when: undeclared, write: "wait", sure: true},
	{name: "assignment by ==", pattern: `| X «==» LINE`, when: comparison, help: "to assign, write `${1:32} = ${2:32}`", write: "="},
	{name: "function without parentheses", pattern: `| ID`, when: isFunc, help: "to call it, write `$1()`", write: "$1()"},
	{name: "name without parentheses", pattern: `| ID`, when: callable, help: "to call it, write `${1:32}()`; to see it, `print(${1:32})`"},
	{name: "name of a module without parentheses", pattern: `| ID . ID`, when: ofModule,
		help: "to call it, write `${1-2:32}()`; to see it, `print(${1-2:32})`"},
	{name: "value without a use", pattern: `| UPTO`, when: short, help: "to see it, write `print(${1:32})`; to keep it, `let x = ${1:32}`", write: "print($1)"},
	{name: "long value without a use", pattern: `| UPTO`, help: "to see it, `print` it; to keep it, give it a name with `let`", write: "print($1)"},
}}

const commentHelp = "comments start with `#`"

// isPlace reports whether the first capture can be assigned: a name, an element or a field.
func isPlace(c *cursor, m *match) bool {
	lo, hi := m.captures[0][0], m.captures[0][1]
	for i := lo; i < hi; i++ {
		if c.inBracket(i) < 0 && c.Kind(i) != token.Ident && !c.Has(i, ".") && !c.Has(i, "[") && !c.Has(i, "]") {
			return false
		}
	}
	return c.Kind(lo) == token.Ident
}

// spaceAfter reports whether a space follows the match.
func spaceAfter(c *cursor, m *match) bool { return !c.Touching(m.hi - 1) }

// afterCall reports whether the first capture is a call or an insert, and the rest of the
// statement follows.
func afterCall(c *cursor, m *match) bool {
	end := m.captures[0][1] - 1
	open := c.inBracket(end)
	return m.hi == c.end && c.Has(end, ")") && open > c.from && c.EndsOperand(open-1)
}

// undeclared reports whether the match is the statement, and no name of let.
func undeclared(c *cursor, m *match) bool {
	return m.hi == c.end && !c.DeclaredBy("let", c.Str(c.from))
}

// comparison reports whether the match is the statement, without logical operators.
func comparison(c *cursor, m *match) bool {
	for i := m.lo; i < m.hi; i++ {
		if (c.Has(i, "and") || c.Has(i, "or") || c.Has(i, "not")) && c.inBracket(i) < 0 {
			return false
		}
	}
	return m.hi == c.end
}

// isFunc reports whether the match is the statement, and a function of the script.
func isFunc(c *cursor, m *match) bool { return m.hi == c.end && c.DeclaredBy("func", c.Str(c.from)) }

// callable reports whether the match is the statement, and may name a function: the text
// does not make it another name.
func callable(c *cursor, m *match) bool {
	name := c.Str(c.from)
	return m.hi == c.end && !c.DeclaredBy("let", name) && !c.DeclaredBy("register", name) && !c.DeclaredBy("param", name)
}

// ofModule reports whether the match is the statement, and begins with the name of a module.
func ofModule(c *cursor, m *match) bool { return m.hi == c.end && c.imported(c.Str(c.from)) }

// short reports whether the statement fits into its help.
func short(c *cursor, m *match) bool { return len(c.text(m.lo, m.hi)) < 30 }

// imported reports whether an import gives the name.
func (c *cursor) imported(name string) bool {
	for i := range c.Tokens {
		if c.Kind(i) != token.Keyword || !c.Has(i, "import") {
			continue
		}
		if c.Has(i+2, "as") && c.Has(i+3, name) || strings.HasSuffix(strings.Trim(c.Str(i+1), `"`), name) {
			return true
		}
	}
	return false
}
