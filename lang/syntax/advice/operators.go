package advice

// Habits of operators, declarations and calls.

import (
	"fmt"
	"strings"

	"github.com/starpush/starpush/lang/syntax/token"
)

// openRange is x[1..] and x[..3].
func (c *cursor) openRange() *token.Mistake {
	open := c.inBracket(c.at)
	if open < 0 || !c.Has(open, "[") || c.Kind(open-1) != token.Ident {
		return nil
	}
	x := c.Str(open - 1)
	switch {
	case c.Has(c.at, "..") && c.at == open+1 && c.Has(c.at+1, "]"): // x[..]
		c.next = c.at + 2
		if c.Kind(c.at+2) == token.Assign && c.from == open-1 { // as a whole, from Rust
			return c.assignedWhole(x, c.at+2, 1)
		}
		m := c.mistakeOver(c.at, c.at+1, "a range has two ends")
		if c.inCodelet() {
			return m.Hint("in a codelet elements are used one by one: `each i in %[1]s { … %[1]s[i] … }`", x)
		}
		return c.replace(m, c.at, c.at+1, "0..len("+x+")")
	case c.Has(c.at-1, "..") && (c.Has(c.at, "]") || c.Has(c.at, ",")):
		m := c.mistakeOver(c.at-1, c.at, "a range has two ends")
		if c.Has(c.at, ",") || c.Has(c.exprStart(c.at, nil)-1, ",") {
			return m.Hint("`..` has both ends: all is `x[0..len(x)]`")
		}
		return c.replace(m, c.at-1, c.at, "..len("+x+")")
	case c.Has(c.at, "..") && (c.at == open+1 || c.Has(c.at-1, ",")):
		return c.replace(c.mistakeOver(c.at, c.at+1, "a range has two ends"), c.at, c.at+1, "0..")
	}
	return nil
}

// dotsMore is 0...n and 0..<n.
func (c *cursor) dotsMore() *token.Mistake {
	if !c.Has(c.at-1, "..") || !c.Touching(c.at-1) {
		return nil
	}
	switch {
	case c.Has(c.at, "<"):
		return c.replace(c.mistakeOver(c.at-1, c.at+1, "a range without its end is written `a..b`"), c.at-1, c.at+1, "..")
	case c.Has(c.at, "."):
		return c.replace(c.mistakeOver(c.at-1, c.at+1, "a range is written `a..b` without its end, `a..=b` with it"), c.at-1, c.at+1, "..").Guessed()
	}
	return nil
}

// comparison is <>, ===, !== and a < b < c.
func (c *cursor) comparison() *token.Mistake {
	if c.at < 1 {
		return nil
	}
	if c.Touching(c.at - 1) {
		right := map[string]string{"<>": "!=", "===": "==", "!==": "!=", "=<": "<=", "=>": ">=", "=!": "!="}[c.text(c.at-1, c.at+1)]
		if right != "" && !(c.Has(c.at-1, "=") && c.Has(c.from, "let")) {
			m := c.mistakeOver(c.at-1, c.at+1, "there is no operator `%s`", c.text(c.at-1, c.at+1))
			return c.replace(m, c.at-1, c.at+1, right)
		}
	}
	if token.LevelOf(c.TokenAt(c.at)) != token.LevelCmp || c.at+1 >= len(c.Tokens) {
		return nil
	}
	i, depth := c.at-1, 0
	for ; i > c.from; i-- {
		if c.Closes(i) {
			depth++
		} else if c.Opens(i) {
			depth--
		}
		if depth < 0 || depth == 0 && (c.Kind(i) == token.Keyword || c.Has(i, ",") || c.Kind(i) == token.Assign) {
			return nil
		}
		if depth == 0 && token.LevelOf(c.TokenAt(i)) == token.LevelCmp {
			break
		}
	}
	if i <= c.from || token.Constructors[c.Str(i-1)] || i+1 >= c.at {
		return nil
	}
	m := token.Chained(c.TokenAt(c.at))
	m.Help = nil
	middle := c.text(i+1, c.at)
	lo, hi := c.exprStart(i, exprAfter), c.exprEnd(c.at+1, "and", "or", "then", "else")
	m.Hint("write `%s`", token.ClipTo(c.text(lo, c.at)+" and "+middle+" "+c.text(c.at, hi), 72))
	return m.Edit(c.span(c.at, c.at+1), "and "+middle+" "+c.Str(c.at)).Certain()
}

// angles is vector<f64>(n).
func (c *cursor) angles() *token.Mistake {
	open := c.at
	if c.Has(c.at, ">") {
		open = c.at - 2
	}
	if !c.Has(open, "<") || !c.Has(open+2, ">") || open < 1 || !token.Constructors[c.Str(open-1)] || c.Kind(open+1) != token.Ident {
		return nil
	}
	m := c.mistakeOver(open, open+3, "the element type is written in square brackets")
	return c.typed(m, open-1, open+3, c.Str(open-1), c.Str(open+1))
}

// wordOperator is a mod b.
func (c *cursor) wordOperator() *token.Mistake {
	if c.Kind(c.at) != token.Ident || !c.EndsOperand(c.at-1) || token.OperatorWords[c.Str(c.at)] == "" {
		return nil
	}
	word, op, hi := c.Str(c.at), token.OperatorWords[c.Str(c.at)], c.at+1
	if word == "is" && c.Has(hi, "not") {
		word, op, hi = "is not", "!=", hi+1
	}
	if !token.StartsExpr(c.TokenAt(hi)) {
		return nil
	}
	m := c.replace(c.mistakeOver(c.at, hi, "there is no operator `%s`", word), c.at, hi, op)
	if word == "xor" {
		return m.Hint("for conditions; there are no operators on bits").Guessed()
	}
	return m
}

// membership is x in xs.
func (c *cursor) membership() *token.Mistake {
	at := c.at
	if c.Has(at, "not") && c.Has(at+1, "in") {
		at++
	}
	if !c.Has(at, "in") || !c.EndsOperand(c.at-1) {
		return nil
	}
	switch c.Str(c.from) {
	case "if", "while", "assert", "let", "return", "print":
	default:
		return nil
	}
	m := c.mistakeOver(c.at, at+1, "`%s` goes over a list, and tests nothing", c.text(c.at, at+1))
	return m.Hint("whether a list holds a value tells a loop: `for v in xs { if v == x { found = true } }`")
}

// shift is a << b.
func (c *cursor) shift() *token.Mistake {
	two := c.text(max(c.at-1, c.from), c.at+1)
	if two != "<<" && two != ">>" {
		return nil
	}
	if c.Kind(c.from) == token.Ident && (c.Str(c.from) == "cout" || c.Str(c.from) == "std") {
		return c.mistakeOver(c.at-1, c.at+1, "there is no operator `<<`").Hint("text is written by `print(…)`")
	}
	return c.mistakeOver(c.at-1, c.at+1, "there is no operator `%s`", two).
		Hint("write `x %s 2 ** n`", map[string]string{"<<": "*", ">>": "//"}[two])
}

// signature is func f(x int) int, func f(x: int): int and int x.
func (c *cursor) signature() *token.Mistake {
	decl := c.declaring()
	if decl == "" {
		return nil
	}
	open := c.inBracket(c.at)
	switch {
	case open >= 0 && c.Has(open, "(") && c.Kind(c.at) == token.Ident && c.Kind(c.at-1) == token.Ident && (c.Has(c.at-2, "(") || c.Has(c.at-2, ",")):
		first, second := c.Str(c.at-1), c.Str(c.at)
		last := c.exprEnd(c.at)
		m := c.mistakeHere("a parameter is written `name: type`")
		if token.ModeOf(first) != 0 && c.Has(c.at+1, ":") { // RW x: vector[f64]
			m = c.mistakeHere("the mode comes before the type")
			return c.replace(m, c.at-1, last, second+": "+first+" "+c.text(c.at+2, last))
		}
		if colon := c.exprEnd(c.at, ":"); c.Has(colon, ":") {
			return nil
		}
		if token.ModeOf(first) != 0 && decl != "func" && c.Kind(c.at+1) == token.Ident { // RW x vector[f64]
			return c.replace(c.mistakeHere("a parameter is written `name: MODE type`"), c.at-1, last, second+": "+first+" "+c.text(c.at+1, last))
		}
		if token.ModeOf(first) != 0 && decl != "func" || handleWord(first) || declares[first] && !declares[second] && !handleWord(second) {
			return c.replace(m, c.at-1, last, c.text(c.at, last)+": "+first) // the type comes first
		}
		return c.replace(m, c.at-1, last, first+": "+c.text(c.at, last))
	case open >= 0 && decl == "func" && c.Has(c.at-2, ":") && token.ModeOf(c.Str(c.at-1)) != 0 && c.Kind(c.at) == token.Ident: // x: R vector[f64]
		last := c.exprEnd(c.at)
		m := c.mistakeOver(c.at-1, c.at, "a function takes data without an access mode")
		c.replace(m, c.at-3, last, c.Str(c.at-3)+": "+c.text(c.at, last))
		m.Help[0] += fmt.Sprintf("; the tasks in it say how they use `%s`", c.Str(c.at-3))
		return m
	case open >= 0 && c.Has(c.at, "*") && c.Kind(c.at-1) == token.Ident && c.Kind(c.at+1) == token.Ident && elements[c.Str(c.at-1)] != "":
		m := c.mistakeHere("there are no pointers")
		return c.typed(m, c.at-1, c.exprEnd(c.at+1), c.Str(c.at+1)+": RW vector", c.Str(c.at-1)).Guessed()
	case open < 0 && c.Has(c.at-1, ")") && decl == "func" && (c.Has(c.at, ":") || c.Kind(c.at) == token.Ident || c.Has(c.at, "none")):
		lo := c.at
		if c.Has(lo, ":") {
			lo++
		}
		hi := c.exprEnd(lo)
		if lo >= hi || !c.Has(hi, "{") && !c.Has(hi-1, ":") || c.Kind(lo) != token.Ident {
			return nil
		}
		if c.Has(hi-1, ":") {
			hi--
		}
		m := c.mistakeHere("the type of the result follows `->`")
		return c.replace(m, c.at, hi, map[bool]string{true: " ", false: ""}[c.Touching(c.at-1)]+"-> "+c.text(lo, hi))
	case open < 0 && decl == "func" && c.Has(c.at, "=") && c.Has(c.at+1, ">"):
		return c.replace(c.mistakeOver(c.at, c.at+2, "the type of the result follows `->`"), c.at, c.at+2, "->")
	}
	return nil
}

func handleWord(w string) bool { return token.Constructors[w] }

// letHabit is let mut x, let x, let a, b = 1, 2 and let a = b = 1.
func (c *cursor) letHabit() *token.Mistake {
	if !c.Has(c.from, "let") || c.Kind(c.from) != token.Keyword {
		return nil
	}
	k := c.Kind(c.at)
	name := c.Str(c.from + 1)
	switch {
	case c.Has(c.at, "==") && c.at == c.from+2:
		return c.replace(c.mistakeHere("a name is given its value by `=`"), c.at, c.at+1, "=")
	case c.Has(c.at, "=") && c.Has(c.at-1, ":") && c.Touching(c.at-1) && c.at == c.from+3: // let x := 1
		return c.replace(c.mistakeOver(c.at-1, c.at+1, "a name is given its value by `=`"), c.from, c.at+1, "let "+name+" =")
	case k == token.Ident && c.at == c.from+2 && (name == "mut" || name == "mutable" || declares[name]):
		m := c.mistakeHere("`let` is followed by the name")
		if name == "mut" || name == "mutable" {
			m = c.mistakeOver(c.at-1, c.at, "every `let` name may change, so `%s` is not written", name)
		}
		return c.replace(m, c.from, c.at+1, "let "+c.Str(c.at))
	case (k == token.NL || k == token.EOF || c.BlockEnd(c.at)) && c.at == c.from+2:
		m := c.mistakeOver(c.from, c.at, "`let` gives a name its first value")
		return m.Hint("write `let %s = …` with the value that it begins with", name)
	case (k == token.NL || k == token.EOF || c.BlockEnd(c.at)) && c.Has(c.from+2, ":"):
		m := c.mistakeOver(c.from, c.at, "`let` gives a name its first value")
		typ := c.text(c.from+3, c.at)
		zero := map[string]string{"int": "0", "float": "0.0", "bool": "false", "string": `""`}[typ]
		if strings.HasPrefix(typ, "list[") {
			zero = "[]"
		}
		if zero == "" {
			return m.Hint("write `let %s: %s = …` with the value that it begins with", name, typ)
		}
		return m.Hint("write `let %s: %s = %s`, or another value that it begins with", name, typ, zero).Edit(token.Span{Lo: c.Tokens[c.at-1].Hi, Hi: c.Tokens[c.at-1].Hi}, " = "+zero)
	case c.Has(c.at, ",") && c.at == c.from+2, c.Has(c.at, "(") && c.at == c.from+1:
		return c.several()
	case k == token.Assign && c.Str(c.at) == "=" && !c.Has(c.at+1, ">") && c.Kind(c.at-1) == token.Ident && c.at == c.from+4 && c.Has(c.at-2, "="):
		m := c.mistakeHere("one statement gives one name its value")
		v := c.text(c.at+1, max(c.at+1, c.end))
		return m.Hint("write `let %s = %s`, and below it `let %s = %s`", c.Str(c.at-1), v, name, c.Str(c.at-1)).
			Edit(c.span(c.from, c.end), "let "+c.Str(c.at-1)+" = "+v+"\n"+c.Indent(c.from)+"let "+name+" = "+c.Str(c.at-1)).Certain()
	}
	return nil
}

// several is let a, b = 1, 2.
func (c *cursor) several() *token.Mistake {
	m := c.mistakeHere("`let` has one name")
	eq := c.from
	for eq < c.end && c.Kind(eq) != token.Assign {
		eq++
	}
	names := strings.Split(strings.Trim(c.text(c.from+1, eq), "() "), ",")
	var values []string
	if eq < c.end {
		lo, hi := eq+1, c.end
		if c.Has(lo, "(") && c.Has(hi-1, ")") {
			lo, hi = lo+1, hi-1
		}
		for lo < hi {
			n := c.exprEnd(lo)
			values = append(values, c.text(lo, n))
			lo = n + 1
		}
	}
	if len(values) != len(names) {
		return m.Hint("write a `let` for each name")
	}
	var lines []string
	for i, n := range names {
		lines = append(lines, "let "+strings.TrimSpace(n)+" = "+values[i])
	}
	return m.Hint("write a `let` for each name: `%s`", token.ClipTo(strings.Join(lines, "; "), 72)).
		Edit(c.span(c.from, c.end), strings.Join(lines, "\n"+c.Indent(c.from))).Certain()
}

// declared is x := 1, x: int = 1 and a, b = b, a.
func (c *cursor) declared() *token.Mistake {
	if c.Kind(c.from) != token.Ident || c.at != c.from+1 {
		return nil
	}
	name := c.Str(c.from)
	switch {
	case c.Has(c.at, ":") && c.Has(c.at+1, "=") && c.DeclaredBy("let", name):
		m := c.mistakeOver(c.at, c.at+2, "a name is given its value by `=`")
		return c.replace(m, c.from, c.at+2, name+" =").Guessed()
	case c.Has(c.at, ":") && c.Has(c.at+1, "="):
		m := c.mistakeOver(c.from, c.at+2, "a new name is declared with `let`")
		return c.replace(m, c.from, c.at+2, "let "+name+" =")
	case c.Has(c.at, ":") && c.Has(c.at+1, ":"):
		if name == "std" {
			return c.mistakeOver(c.from, c.at+2, "there is no module `std`").Hint("text is written by `print(…)`; the builtin functions need no module")
		}
		if c.Touching(c.at - 1) {
			m := c.mistakeOver(c.at, c.at+2, "a name of a module follows a point")
			return c.replace(m, c.at, c.at+2, ".")
		}
	case c.Has(c.at, ":") && c.Kind(c.at+1) == token.Ident:
		m := c.mistakeOver(c.from, c.at+1, "a new name is declared with `let`")
		return m.Hint("write `let %s: %s = …`", name, c.Str(c.at+1)).Edit(token.Span{Lo: c.Tokens[c.from].Lo, Hi: c.Tokens[c.from].Lo}, "let ").Certain()
	case c.Has(c.at, ",") && c.Kind(c.at+1) == token.Ident:
		if a, b := name, c.Str(c.at+1); c.Has(c.at+2, "=") && c.Has(c.at+3, b) && c.Has(c.at+4, ",") && c.Has(c.at+5, a) && c.at+6 == c.end {
			lines := []string{"let last = " + a, a + " = " + b, b + " = last"}
			return c.mistakeHere("one statement gives one name its value").
				Hint("write `%s`, `%s` and `%s`; registered data gets names that can change first: `let a = x`", lines[0], lines[1], lines[2]).
				Edit(c.span(c.from, c.end), strings.Join(lines, "\n"+c.Indent(c.from)))
		}
		return c.mistakeHere("one statement gives one name its value").Hint("write one assignment for each, with a `let` for what has to be kept")
	}
	return nil
}

// assertCall is assert(c, "why").
func (c *cursor) assertCall() *token.Mistake {
	if !c.Has(c.from, "assert") || !c.Has(c.from+1, "(") || !c.Has(c.at, ",") || c.inBracket(c.at) != c.from+1 {
		return nil
	}
	closing := c.exprEnd(c.at + 1)
	if !c.Has(closing, ")") {
		return nil
	}
	m := c.mistakeOver(c.from, closing+1, "`assert` is a statement, not a function")
	return c.replace(m, c.from, closing+1, "assert "+c.text(c.from+2, closing))
}

// braces is {1, 2} and {"a": 1}.
func (c *cursor) braces() *token.Mistake {
	if !c.Has(c.at, "{") || c.Kind(c.at-1) != token.Assign && !c.Has(c.at-1, "(") && !c.Has(c.at-1, ",") && !c.Has(c.at-1, "return") {
		return nil
	}
	end, pairs, lines := c.at, false, false
	for depth := 0; end < len(c.Tokens); end++ {
		k := c.Kind(end)
		if k == token.EOF || k == token.Virtual {
			break
		}
		if c.Opens(end) {
			depth++
		}
		pairs = pairs || c.Has(end, ":")
		lines = lines || k == token.NL
		if c.Closes(end) {
			if depth--; depth == 0 {
				break
			}
		}
	}
	if !c.Has(end, "}") {
		return nil
	}
	c.next = end + 1
	m := c.mistakeOver(c.at, c.at+1, "a list is written in square brackets")
	switch {
	case pairs:
		m.Msg = "unexpected `{`: there are no dictionaries"
		return m.Hint("write two lists, one of the keys and one of the values")
	case lines:
		return m.Hint("write `[a, b, c]`")
	}
	return c.replace(m, c.at, end+1, "["+strings.TrimSpace(c.text(c.at+1, end))+"]")
}

// namelessFunc is lambda x: x + 1 and (x) => x + 1.
func (c *cursor) namelessFunc() *token.Mistake {
	arrow := c.Has(c.at, "=") && c.Has(c.at+1, ">") && c.Touching(c.at) || c.Has(c.at, "->") && c.Has(c.from, "let") && !c.Touching(c.at-1)
	if arrow && (c.Has(c.from, "if") || c.Has(c.from, "while") || c.Has(c.from, "assert")) {
		return c.replace(c.mistakeOver(c.at, c.at+2, "there is no operator `=>`"), c.at, c.at+2, ">=")
	}
	if !arrow && !(c.at > 0 && c.Kind(c.at-1) == token.Ident && c.Str(c.at-1) == "lambda") && !(c.Has(c.at, "func") && c.at > c.from) {
		return nil
	}
	return c.mistakeHere("every function has a name").Hint("write `func f(x: float) -> float { return x + 1.0 }` at the top level, and call `f`")
}

// arrow is x->n.
func (c *cursor) arrow() *token.Mistake {
	if c.Has(c.at, "->") && c.Has(c.from, "codelet") && c.Has(c.at-1, ")") && c.inBracket(c.at) < 0 {
		return c.mistakeHere("a codelet has no result").Hint("it writes its operands: add one such as `result: W variable[f64]`, and write `result = …`")
	}
	if !c.Has(c.at, "->") || !c.EndsOperand(c.at-1) || c.Kind(c.at+1) != token.Ident || c.Has(c.from, "func") {
		return nil
	}
	return c.replace(c.mistakeOver(c.at, c.at+1, "a field follows a point"), c.at, c.at+1, ".")
}

// initial is register x = variable[f64] = 0.0.
func (c *cursor) initial() *token.Mistake {
	if !c.Has(c.from, "register") || !c.Has(c.at, "=") || c.inBracket(c.at) >= 0 || c.at+1 >= c.end || !c.Has(c.exprStart(c.at, nil)-1, "=") {
		return nil
	}
	m := c.mistakeHere("an initial value is given by `fill`")
	v := c.text(c.at+1, c.end)
	switch {
	case c.Has(c.at-1, "]"):
		return c.trimBefore(c.replace(m, c.at, c.end, "(fill = "+v+")"), c.at)
	case c.Has(c.at-2, "(") && c.Has(c.at-1, ")"):
		return c.replace(m, c.at-1, c.end, "fill = "+v+")")
	case c.Has(c.at-1, ")"):
		return c.replace(m, c.at-1, c.end, ", fill = "+v+")")
	}
	return m
}

// trimBefore extends the last edit over the white space in front of token i.
func (c *cursor) trimBefore(m *token.Mistake, i int) *token.Mistake {
	e := &m.Edits[len(m.Edits)-1]
	e.At.Lo = c.Tokens[i-1].Hi
	return m
}

// moduleName is import std/blas, from std import blas and import ( … ).
func (c *cursor) moduleName() *token.Mistake {
	if !c.Has(c.from, "import") || c.at != c.from+1 {
		return nil
	}
	if c.Has(c.at, "(") {
		return c.mistakeHere("each module has an `import` of its own").Hint("write `import \"std/blas\" as blas`")
	}
	if c.Kind(c.at) != token.Ident {
		return nil
	}
	hi := c.at + 1
	for hi+1 < c.end && (c.Has(hi, "/") || c.Has(hi, ".")) && c.Kind(hi+1) == token.Ident {
		hi += 2
	}
	path := strings.ReplaceAll(c.text(c.at, hi), ".", "/")
	m := c.mistakeHere("the name of a module is written in quotes")
	if hi == c.at+1 {
		if path == "blas" || path == "reduce" || path == "random" {
			return c.replace(m, c.at, hi, `"std/`+path+`"`)
		}
		switch path {
		case "numpy", "math", "sys", "os", "time", "scipy", "torch", "cmath", "random_", "std", "fmt":
			return m.Hint("there is no module `%s`: the builtin functions need none, and data is worked on by codelets; `starpush doc` lists them", path)
		}
		return m.Hint("a module is written `import \"std/blas\" as blas`, a file `import \"%s.spu\"`", path)
	}
	return c.replace(m, c.at, hi, `"`+path+`"`)
}

// insertHabit is insert(f, x) and insert f(&x).
func (c *cursor) insertHabit() *token.Mistake {
	if c.Kind(c.at-1) != token.Keyword || !c.Has(c.at-1, "insert") || !c.Has(c.at, "(") {
		return nil
	}
	comma := c.exprEnd(c.at + 1)
	m := c.mistakeOver(c.at-1, c.at+1, "the codelet follows `insert`, its operands in parentheses")
	if c.Kind(c.at+1) != token.Ident || !c.Has(comma, ",") || comma != c.at+2 {
		return m.Hint("write `insert f(R x, RW y)`")
	}
	return c.trimAfter(c.replace(m, c.at-1, comma+1, "insert "+c.Str(c.at+1)+"("), comma)
}

// trimAfter extends the last edit over the white space behind token i.
func (c *cursor) trimAfter(m *token.Mistake, i int) *token.Mistake {
	if i+1 < len(c.Tokens) && strings.TrimSpace(c.Text[c.Tokens[i].Hi:c.Tokens[i+1].Lo]) == "" {
		m.Edits[len(m.Edits)-1].At.Hi = c.Tokens[i+1].Lo
	}
	return m
}

// Habits of C: x++, --x.

// increment is x++ and ++x.
func (c *cursor) increment() *token.Mistake {
	sign := c.Str(c.at)
	switch {
	case c.Has(c.at-1, "-") && c.Has(c.at-2, "-") && c.Touching(c.at-2) && c.Touching(c.at-3) && c.at-2 > c.from && (c.Closes(c.at) || c.Kind(c.at) == token.NL || c.Kind(c.at) == token.EOF || c.LineEnds(c.at-1)):
		m := c.mistakeOver(c.at-2, c.at, "there is no operator `--`")
		if !c.isTarget(c.at - 2) {
			return m.Hint("write `x -= 1` as a statement of its own")
		}
		return c.replace(m, c.from, c.at, c.text(c.from, c.at-2)+" -= 1")
	case c.at-1 > c.from && c.Has(c.at-1, sign) && c.Touching(c.at-1):
		m := c.mistakeOver(c.at-1, c.at+1, "there is no operator `%s%s`", sign, sign)
		if sign != "+" {
			return nil
		}
		x := c.text(c.from, c.at-1)
		if c.isTarget(c.at-1) && (c.LineEnds(c.at) || c.Kind(c.at+1) == token.NL || c.Closes(c.at+1)) {
			c.next = c.at + 1
			return c.replace(m, c.from, c.at+1, x+" += 1")
		}
		return m.Hint("write `x += 1` as a statement of its own; texts and lists are joined by `+`")
	case c.at == c.from && (sign == "+" || sign == "-") && c.Has(c.at+1, sign) && c.Touching(c.at) && c.Kind(c.at+2) == token.Ident:
		end := c.exprEnd(c.at + 2)
		m := c.mistakeOver(c.at, c.at+2, "there is no operator `%s%s`", sign, sign)
		return c.replace(m, c.at, end, c.text(c.at+2, end)+" "+sign+"= 1")
	}
	return nil
}

// isTarget reports whether the statement consists, up to token hi, of what can be assigned:
// a name with indices and fields.
func (c *cursor) isTarget(hi int) bool {
	i := c.from + 1
	for c.Kind(c.from) == token.Ident && i < hi {
		switch {
		case c.Has(i, ".") && c.Kind(i+1) == token.Ident:
			i += 2
		case c.Has(i, "["):
			if i = c.closingOf(i) + 1; i == 0 {
				return false
			}
		default:
			return false
		}
	}
	return i == hi && c.Kind(c.from) == token.Ident
}
