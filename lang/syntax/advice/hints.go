package advice

import (
	"slices"
	"sort"
	"strings"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax/token"
)

// Hints: help that is added to what the parser says of a token that does not fit.

// hint adds help that needs the neighbours of an unexpected token.
func (c *cursor) hint(m *token.Mistake) *token.Mistake {
	if m.Got == nil || m.Code != "E0101" {
		return m
	}
	c.base = m
	switch {
	case slices.Equal(m.Expect, []string{"the end of the statement"}):
		trailing.apply(c)
		return m
	case slices.Equal(m.Expect, []string{"a statement"}):
		beginnings.apply(c)
		return m
	}
	i := sort.Search(len(c.Tokens), func(i int) bool { return c.Tokens[i].Lo >= int32(m.Got.Pos.Offset) })
	if i >= len(c.Tokens) || i == 0 {
		return m
	}
	c.at = i
	hints.apply(c)
	return m
}

// hints are tried in order for a token that cannot be there. They add help to what the parser
// says of it.
var hints = table{rules: []rule{
	{name: "misspelt word that is expected", pattern: `^&ID`, find: (*cursor).expectedWord},
	{name: "misspelt fold", pattern: `ID ^ID in`, find: (*cursor).foldWord},
	{name: "loop in parentheses", pattern: `for ^(`, help: "a loop has no parentheses: `for i in 0..n { ... }`"},
	{name: "misspelt insert or not", pattern: `ID ^&ID|STR`, find: (*cursor).insertOrNot},
	{name: "parameter without a type", pattern: `ID ^&ANY|NL`, expects: "=`:`", find: (*cursor).untyped},
	{name: "comprehension in parentheses", pattern: `^for`, expects: "`)`",
		help: "a list is written `[a for i in 0..n]`, a sum in a codelet `sum i in x { x[i] }`"},
	{name: "values in parentheses", pattern: `^,`, expects: "=an operator `)`",
		help: "parentheses hold one value; only a call has several arguments, and a list is written `[a, b]`"},
	{name: "equality", pattern: `«^=»`, expects: "^an operator", help: "equality is written `==`", write: "==", sure: true},
	{name: "place of acquired data", pattern: `^@`, expects: "`as`",
		help: "what a script acquires is in main memory; `prefetch … to` brings data to a device"},
	{name: "place without a mode", pattern: `ID ^@`, help: "an operand begins with its access mode: `RW $1 @ …`"},
	{name: "three dots and more", pattern: `.. ^.`, help: "a range is written `a..b`, without its end"},
	{name: "integer and a point", pattern: `INT . ^&ANY|NL`, help: "a float has a digit on both sides of the point: `1.0`"},
	{name: "two stars", pattern: `* ^*`, help: "write `x += 1`"},
	{name: "two plus signs", pattern: `+ ^+`, help: "write `x += 1`"},
	{name: "block by a colon", pattern: `^:`, expects: "`{`", help: "a block is written in braces: `{ … }`"},
	{name: "semicolon for a comma", pattern: `«^SEMI»`, expects: "`,`|`)`", write: ",", sure: true},
	{name: "data without an element type", pattern: `DATA ^(`, help: "the element type is written in square brackets: `$1[f64]`"},
	{name: "lost comma", pattern: `ANY «_ » ^&START`, expects: "`,`", when: noHelp, help: "add `,` after `${1:32}`", write: ","},
	{name: "equality in a head", pattern: `«^=»`, expects: "=`{`", help: "equality is written `==`", write: "==", sure: true},
	{name: "then in a statement", pattern: `^then`, expects: "=`{`",
		help: "an `if` statement has a block: `if c { … } else { … }`; an `if` expression goes inside another statement: `let x = if c then a else b`"},
}}

// noHelp reports whether the parser gives no help.
func noHelp(c *cursor, m *match) bool { return len(c.base.Help) == 0 }

// expectedWord is a misspelt word that the parser expected.
func (c *cursor) expectedWord() *token.Mistake { return c.ifMeant(c.meant(c.base, c.at)) }

// foldWord is a misspelt word of a fold.
func (c *cursor) foldWord() *token.Mistake { return c.ifMeant(c.meantWord(c.base, c.at-1, folding)) }

// ifMeant is the mistake if another word was meant, nil if not.
func (c *cursor) ifMeant(meant bool) *token.Mistake {
	if meant {
		return c.base
	}
	return nil
}

// insertOrNot is a name in front of a name or text, which may be a misspelt word.
func (c *cursor) insertOrNot() *token.Mistake {
	if near, ok := diag.Nearest(c.Str(c.at-1), []string{"insert", "not"}); ok {
		c.base.Meant(c.Span(c.at-1), near)
	}
	return c.base
}

// beginnings are tried in order for a token that begins no statement.
var beginnings = table{rules: []rule{
	{name: "comment of C", pattern: `| «^//»`, help: "comments start with `#`", write: "#"},
	{name: "long comment of C", pattern: `| ^/`, help: "comments start with `#`"},
	{name: "command of the prompt", pattern: `| ^: ID|KW`,
		help: "commands that begin with `:` are those of the prompt: `starpush` in a terminal, or `starpush repl`"},
	{name: "block without a head", pattern: `| ^{`, help: blockHelp},
}}

// blockHelp lists the statements that have blocks.
const blockHelp = "a block belongs to `if`, `for`, `while`, `func`, `codelet`, `each` or `acquire`"

// trailing are tried in order for a token behind a statement that is complete.
var trailing = table{rules: []rule{
	{name: "comment of C behind a statement", pattern: `«^//»`, help: "comments start with `#`", write: "#"},
	{name: "long comment of C behind a statement", pattern: `^/ *`, help: "comments start with `#`"},
	{name: "misspelt fold in a statement", pattern: `ID ^ID in`, find: (*cursor).foldWord},
	{name: "misspelt link", pattern: `^&ID`, find: (*cursor).linkWord},
	{name: "block by a colon behind a statement", pattern: `^:`, when: beginsWithKeyword, help: "a block is written in braces: `{ … }`"},
	{name: "name with a type", pattern: `| ID ^:`, help: "a new name is declared with `let $1: … = …`"},
	{name: "block behind a statement", pattern: `^&{`, find: (*cursor).strayBlock},
	{name: "comment that divides", pattern: `// UPTO`, help: "comments start with `#`; `//` divides"},
}}

// linkWord is a misspelt word within a statement.
func (c *cursor) linkWord() *token.Mistake {
	return c.ifMeant(c.at > c.from+1 && c.meantWord(c.base, c.at, linking))
}

// beginsWithKeyword reports whether the statement begins with a reserved word.
func beginsWithKeyword(c *cursor, m *match) bool { return c.Kind(c.from) == token.Keyword }

// strayBlock is a block that belongs to no statement.
func (c *cursor) strayBlock() *token.Mistake {
	c.base.Expect, c.base.Msg = nil, "unexpected `{`"
	return c.base.Hint(blockHelp)
}

// untyped says how the parameter before token i is declared.
func (c *cursor) untyped() *token.Mistake {
	m, i := c.base, c.at
	name := c.Str(i - 1)
	switch {
	case c.Is(c.from, "param"):
		typ := ""
		if c.Is(i, "=") {
			typ = typeOf(c, i+1)
		}
		if typ == "" {
			m.Hint("a param has a type, as in `param %s: int = ...`", name)
			return m
		}
		m.Hint("a param has a type: `param %s: %s = ...`", name, typ).Edit(token.Span{Lo: c.Tokens[i-1].Hi, Hi: c.Tokens[i-1].Hi}, ": "+typ)
	case c.Is(c.from, "func"):
		m.Hint("a parameter has a type, as in `%s: int`", name)
	case c.Is(c.from, "extern") && i == c.from+2:
		m.Hint("an extern has a type, as in `extern %s: vector[f64]`", name)
	case c.Is(c.from, "codelet"), c.Is(c.from, "extern"):
		m.Hint("data has a mode and a type, as in `%[1]s: RW vector[f64]`; a value has a type, as in `%[1]s: float`", name)
	}
	return m
}

// typeOf is the type of the literal at token i, "" for anything else.
func typeOf(c *cursor, i int) string {
	switch k := c.Tokens[i].Kind; {
	case k == token.Int:
		return "int"
	case k == token.Float:
		return "float"
	case k == token.String:
		return "string"
	case c.Is(i, "true"), c.Is(i, "false"):
		return "bool"
	}
	return ""
}

// linking are the words within statements, which nothing else can be mistaken for.
var linking = []string{"with", "by", "as", "to", "in", "then", "else", "and", "or"}

// folding are the words of folds.
var folding = []string{"sum", "prod", "min", "max"}

// meant adds what the name at token i was meant to be, if one of the words that are
// expected there looks like it.
func (c *cursor) meant(m *token.Mistake, i int) bool {
	var words []string
	for _, e := range m.Expect {
		if w := strings.Trim(e, "`"); len(w) < len(e) && token.Reserved[w] {
			words = append(words, w)
		}
	}
	return c.meantWord(m, i, words)
}

// meantWord adds which of the words the name at token i was meant to be.
func (c *cursor) meantWord(m *token.Mistake, i int, words []string) bool {
	near, ok := diag.Nearest(c.Str(i), words)
	if ok {
		m.Meant(c.Span(i), near)
	}
	return ok
}

// misspeltInsert reports whether token i is a name that most likely means insert, as
// in `let t = insrt f(RW x)`.
func (c *cursor) misspeltInsert(i int) bool {
	if c.Tokens[i].Kind != token.Ident || c.Tokens[i+1].Kind != token.Ident {
		return false
	}
	_, near := diag.Nearest(c.Str(i), []string{"insert"})
	return near
}
