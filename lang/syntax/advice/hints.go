package advice

import (
	"slices"
	"sort"
	"strings"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax/token"
	"github.com/starpush/starpush/lang/vocab"
)

// Hints: help that is added to what the parser says of a token that does not fit.

// hint adds help that needs the neighbours of an unexpected token.
func (c *cursor) hint(m *token.Mistake) *token.Mistake {
	if m.Got == nil || m.Code != "E0101" {
		return m
	}
	switch {
	case slices.Equal(m.Expect, []string{"the end of the statement"}):
		return c.trailing(m)
	case slices.Equal(m.Expect, []string{"a statement"}):
		return c.beginning(m)
	}
	i := sort.Search(len(c.Tokens), func(i int) bool { return c.Tokens[i].Lo >= int32(m.Got.Pos.Offset) })
	if i >= len(c.Tokens) || i == 0 {
		return m
	}
	prev, this := c.Tokens[i-1], c.Tokens[i]
	switch {
	case this.Kind == token.Ident && c.meant(m, i):
	case prev.Kind == token.Ident && this.Kind == token.Ident && c.Is(i+1, "in") && c.meantWord(m, i-1, folding):
	case prev.Kind == token.Keyword && this.Kind == token.Ident && c.Str(i-1) == "import":
		m.Hint("a module is written in quotes, as in `import \"std/blas\" as blas`")
	case prev.Kind == token.Keyword && c.Str(i-1) == "for" && c.Is(i, "("):
		m.Hint("a loop has no parentheses: `for i in 0..n { ... }`")
	case prev.Kind == token.Ident && (this.Kind == token.Ident || this.Kind == token.String):
		if near, ok := diag.Nearest(c.Str(i-1), []string{"insert", "not"}); ok {
			m.Meant(c.Span(i-1), near)
		}
	case prev.Kind == token.Ident && slices.Equal(m.Expect, []string{"`:`"}):
		c.untyped(m, i)
	case c.Is(i, "for") && slices.Contains(m.Expect, "`)`"):
		m.Hint("a list is written `[a for i in 0..n]`, a sum in a codelet `sum i in x { x[i] }`")
	case c.Is(i, ",") && slices.Equal(m.Expect, []string{"an operator", "`)`"}):
		m.Hint("parentheses hold one value; only a call has several arguments, and a list is written `[a, b]`")
	case c.Is(i, "=") && len(m.Expect) > 0 && m.Expect[0] == "an operator":
		m.Hint("equality is written `==`").Edit(c.Span(i), "==").Certain()
	case c.Is(i, "@") && slices.Contains(m.Expect, "`as`"):
		m.Hint("what a script acquires is in main memory; `prefetch … to` brings data to a device")
	case c.Is(i, "@") && prev.Kind == token.Ident:
		m.Hint("an operand begins with its access mode: `RW %s @ …`", c.Str(i-1))
	case c.Is(i, ".") && c.Is(i-1, ".."):
		m.Hint("a range is written `a..b`, without its end")
	case c.Is(i, ".") && prev.Kind == token.Int, c.Is(i-1, ".") && i > 1 && c.Tokens[i-2].Kind == token.Int:
		m.Hint("a float has a digit on both sides of the point: `1.0`")
	case c.Is(i-1, "*") && c.Is(i, "*"), c.Is(i-1, "+") && c.Is(i, "+"):
		m.Hint("write `x += 1`")
	case c.Is(i, ":") && (slices.Contains(m.Expect, "`{`") || len(m.Expect) > 0 && m.Expect[0] == "the end of the statement" && c.Tokens[i+1].Kind != token.Op):
		m.Hint("a block is written in braces: `{ … }`")
	case this.Kind == token.NL && c.Str(i) == ";" && (slices.Contains(m.Expect, "`,`") || slices.Contains(m.Expect, "`)`")):
		m.Hint("write `,`").Edit(c.Span(i), ",").Certain()
	case c.Is(i, "(") && prev.Kind == token.Ident && vocab.Constructors[c.Str(i-1)]:
		m.Hint("the element type is written in square brackets: `%s[f64]`", c.Str(i-1))
	case len(m.Help) == 0 && slices.Contains(m.Expect, "`,`") && token.StartsExpr(m.Got):
		m.Hint("add `,` after `%s`", token.Clip(prev.Text(c.Text))).Edit(token.Span{Lo: prev.Hi, Hi: prev.Hi}, ",")
	}
	switch {
	case !slices.Equal(m.Expect, []string{"`{`"}):
	case c.Is(i, "="):
		m.Hint("equality is written `==`").Edit(c.Span(i), "==").Certain()
	case c.Is(i, "then"):
		m.Hint("an `if` statement has a block: `if c { … } else { … }`; an `if` expression goes inside another statement: `let x = if c then a else b`")
	}
	return m
}

// beginning adds help about a token that begins no statement.
func (c *cursor) beginning(m *token.Mistake) *token.Mistake {
	switch m.Got.Value {
	case "//":
		m.Hint("comments start with `#`").Edit(c.Span(c.from), "#")
	case "/":
		m.Hint("comments start with `#`")
	case ":":
		if next := c.Kind(c.from + 1); next == token.Ident || next == token.Keyword {
			m.Hint("commands that begin with `:` are those of the prompt: `starpush` in a terminal, or `starpush repl`")
		}
	case "{":
		m.Hint("a block belongs to `if`, `for`, `while`, `func`, `codelet`, `each` or `acquire`")
	}
	return m
}

// untyped says how the parameter before token i is declared.
func (c *cursor) untyped(m *token.Mistake, i int) {
	name := c.Str(i - 1)
	switch {
	case c.Is(c.from, "param"):
		typ := ""
		if c.Is(i, "=") {
			typ = typeOf(c, i+1)
		}
		if typ == "" {
			m.Hint("a param has a type, as in `param %s: int = ...`", name)
			return
		}
		m.Hint("a param has a type: `param %s: %s = ...`", name, typ).Edit(token.Span{Lo: c.Tokens[i-1].Hi, Hi: c.Tokens[i-1].Hi}, ": "+typ)
	case c.Is(c.from, "func"):
		m.Hint("a parameter has a type, as in `%s: int`", name)
	case c.Is(c.from, "extern") && i == c.from+2:
		m.Hint("an extern has a type, as in `extern %s: vector[f64]`", name)
	case c.Is(c.from, "codelet"), c.Is(c.from, "extern"):
		m.Hint("data has a mode and a type, as in `%[1]s: RW vector[f64]`; a value has a type, as in `%[1]s: float`", name)
	}
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

// trailing adds help about a token behind a statement that is complete.
func (c *cursor) trailing(m *token.Mistake) *token.Mistake {
	from, t := c.from, m.Got
	switch {
	case t.Value == "//":
		m.Hint("comments start with `#`").Edit(c.Span(c.at), "#")
	case t.Value == "/" && c.Is(c.at+1, "*"):
		m.Hint("comments start with `#`")
	case c.misspeltInsert(c.at - 1):
		m.Meant(c.Span(c.at-1), "insert")
	case t.Type == token.Ident && c.Is(c.at+1, "in") && c.meantWord(m, c.at-1, folding):
	case t.Type == token.Ident && c.at > from+1 && c.meantWord(m, c.at, linking):
	case c.Tokens[from].Kind == token.Keyword && c.Is(from, "insert") && c.at == from+2 && c.Tokens[from+1].Kind == token.Ident:
		m.Hint("the operands of a task are written in parentheses: `insert %s(…)`", c.Str(from+1))
	case t.Value == ":" && c.Tokens[from].Kind == token.Keyword:
		m.Hint("a block is written in braces: `{ … }`")
	case t.Value == ":" && c.at == from+1 && c.Tokens[from].Kind == token.Ident:
		m.Hint("a new name is declared with `let %s: … = …`", c.Str(from))
	case t.Value == "{":
		m.Expect = nil
		m.Msg = "unexpected `{`"
		m.Hint("a block belongs to `if`, `for`, `while`, `func`, `codelet`, `each` or `acquire`")
	default:
		for i := from; i < c.at; i++ {
			if c.Is(i, "//") {
				m.Hint("comments start with `#`; `//` divides")
				break
			}
		}
	}
	return m
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
