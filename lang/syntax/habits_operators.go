package syntax

// Habits of operators, declarations and calls.

import (
	"fmt"
	"strings"
)

// openRange is x[1..] and x[..3].
func (c *cursor) openRange() *mistake {
	open := c.inBracket(c.at)
	if open < 0 || !c.has(open, "[") || c.kindOf(open-1) != tokIdent {
		return nil
	}
	x := c.str(open - 1)
	switch {
	case c.has(c.at, "..") && c.at == open+1 && c.has(c.at+1, "]"): // x[..]
		c.next = c.at + 2
		if c.kindOf(c.at+2) == tokAssign && c.from == open-1 { // as a whole, from Rust
			return c.assignedWhole(x, c.at+2, 1)
		}
		m := c.mistakeOver(c.at, c.at+1, "a range has two ends")
		if c.inCodelet() {
			return m.hint("in a codelet elements are used one by one: `each i in %[1]s { … %[1]s[i] … }`", x)
		}
		return c.replace(m, c.at, c.at+1, "0..len("+x+")")
	case c.has(c.at-1, "..") && (c.has(c.at, "]") || c.has(c.at, ",")):
		m := c.mistakeOver(c.at-1, c.at, "a range has two ends")
		if c.has(c.at, ",") || c.has(c.exprStart(c.at, nil)-1, ",") {
			return m.hint("`..` has both ends: all is `x[0..len(x)]`")
		}
		return c.replace(m, c.at-1, c.at, "..len("+x+")")
	case c.has(c.at, "..") && (c.at == open+1 || c.has(c.at-1, ",")):
		return c.replace(c.mistakeOver(c.at, c.at+1, "a range has two ends"), c.at, c.at+1, "0..")
	}
	return nil
}

// dotsMore is 0...n and 0..<n.
func (c *cursor) dotsMore() *mistake {
	if !c.has(c.at-1, "..") || !c.touching(c.at-1) {
		return nil
	}
	switch {
	case c.has(c.at, "<"):
		return c.replace(c.mistakeOver(c.at-1, c.at+1, "a range without its end is written `a..b`"), c.at-1, c.at+1, "..")
	case c.has(c.at, "."):
		return c.replace(c.mistakeOver(c.at-1, c.at+1, "a range is written `a..b` without its end, `a..=b` with it"), c.at-1, c.at+1, "..").guessed()
	}
	return nil
}

// comparison is <>, ===, !== and a < b < c.
func (c *cursor) comparison() *mistake {
	if c.at < 1 {
		return nil
	}
	if c.touching(c.at - 1) {
		right := map[string]string{"<>": "!=", "===": "==", "!==": "!=", "=<": "<=", "=>": ">=", "=!": "!="}[c.text(c.at-1, c.at+1)]
		if right != "" && !(c.has(c.at-1, "=") && c.has(c.from, "let")) {
			m := c.mistakeOver(c.at-1, c.at+1, "there is no operator `%s`", c.text(c.at-1, c.at+1))
			return c.replace(m, c.at-1, c.at+1, right)
		}
	}
	if levelOf(c.tokenAt(c.at)) != levelCmp || c.at+1 >= len(c.toks) {
		return nil
	}
	i, depth := c.at-1, 0
	for ; i > c.from; i-- {
		if c.closes(i) {
			depth++
		} else if c.opens(i) {
			depth--
		}
		if depth < 0 || depth == 0 && (c.kindOf(i) == tokKeyword || c.has(i, ",") || c.kindOf(i) == tokAssign) {
			return nil
		}
		if depth == 0 && levelOf(c.tokenAt(i)) == levelCmp {
			break
		}
	}
	if i <= c.from || constructors[c.str(i-1)] || i+1 >= c.at {
		return nil
	}
	m := chained(c.tokenAt(c.at))
	m.help = nil
	middle := c.text(i+1, c.at)
	lo, hi := c.exprStart(i, exprAfter), c.exprEnd(c.at+1, "and", "or", "then", "else")
	m.hint("write `%s`", clipTo(c.text(lo, c.at)+" and "+middle+" "+c.text(c.at, hi), 72))
	return m.edit(c.span(c.at, c.at+1), "and "+middle+" "+c.str(c.at)).certain()
}

// angles is vector<f64>(n).
func (c *cursor) angles() *mistake {
	open := c.at
	if c.has(c.at, ">") {
		open = c.at - 2
	}
	if !c.has(open, "<") || !c.has(open+2, ">") || open < 1 || !constructors[c.str(open-1)] || c.kindOf(open+1) != tokIdent {
		return nil
	}
	m := c.mistakeOver(open, open+3, "the element type is written in square brackets")
	return c.typed(m, open-1, open+3, c.str(open-1), c.str(open+1))
}

// operatorWords are words for operators.
var operatorWords = map[string]string{
	"mod": "%", "rem": "%", "div": "//", "is": "==", "eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">=", "AND": "and", "OR": "or", "And": "and", "Or": "or", "xor": "!=",
}

// wordOperator is a mod b.
func (c *cursor) wordOperator() *mistake {
	if c.kindOf(c.at) != tokIdent || !c.endsOperand(c.at-1) || operatorWords[c.str(c.at)] == "" {
		return nil
	}
	word, op, hi := c.str(c.at), operatorWords[c.str(c.at)], c.at+1
	if word == "is" && c.has(hi, "not") {
		word, op, hi = "is not", "!=", hi+1
	}
	if !startsExpr(c.tokenAt(hi)) {
		return nil
	}
	m := c.replace(c.mistakeOver(c.at, hi, "there is no operator `%s`", word), c.at, hi, op)
	if word == "xor" {
		return m.hint("for conditions; there are no operators on bits").guessed()
	}
	return m
}

// membership is x in xs.
func (c *cursor) membership() *mistake {
	at := c.at
	if c.has(at, "not") && c.has(at+1, "in") {
		at++
	}
	if !c.has(at, "in") || !c.endsOperand(c.at-1) {
		return nil
	}
	switch c.str(c.from) {
	case "if", "while", "assert", "let", "return", "print":
	default:
		return nil
	}
	m := c.mistakeOver(c.at, at+1, "`%s` goes over a list, and tests nothing", c.text(c.at, at+1))
	return m.hint("whether a list holds a value tells a loop: `for v in xs { if v == x { found = true } }`")
}

// shift is a << b.
func (c *cursor) shift() *mistake {
	two := c.text(max(c.at-1, c.from), c.at+1)
	if two != "<<" && two != ">>" {
		return nil
	}
	if c.kindOf(c.from) == tokIdent && (c.str(c.from) == "cout" || c.str(c.from) == "std") {
		return c.mistakeOver(c.at-1, c.at+1, "there is no operator `<<`").hint("text is written by `print(…)`")
	}
	return c.mistakeOver(c.at-1, c.at+1, "there is no operator `%s`", two).
		hint("write `x %s 2 ** n`", map[string]string{"<<": "*", ">>": "//"}[two])
}

// signature is func f(x int) int, func f(x: int): int and int x.
func (c *cursor) signature() *mistake {
	decl := c.declaring()
	if decl == "" {
		return nil
	}
	open := c.inBracket(c.at)
	switch {
	case open >= 0 && c.has(open, "(") && c.kindOf(c.at) == tokIdent && c.kindOf(c.at-1) == tokIdent && (c.has(c.at-2, "(") || c.has(c.at-2, ",")):
		first, second := c.str(c.at-1), c.str(c.at)
		last := c.exprEnd(c.at)
		m := c.mistakeHere("a parameter is written `name: type`")
		if modeOf(first) != 0 && c.has(c.at+1, ":") { // RW x: vector[f64]
			m = c.mistakeHere("the mode comes before the type")
			return c.replace(m, c.at-1, last, second+": "+first+" "+c.text(c.at+2, last))
		}
		if colon := c.exprEnd(c.at, ":"); c.has(colon, ":") {
			return nil
		}
		if modeOf(first) != 0 && decl != "func" && c.kindOf(c.at+1) == tokIdent { // RW x vector[f64]
			return c.replace(c.mistakeHere("a parameter is written `name: MODE type`"), c.at-1, last, second+": "+first+" "+c.text(c.at+1, last))
		}
		if modeOf(first) != 0 && decl != "func" || handleWord(first) || declares[first] && !declares[second] && !handleWord(second) {
			return c.replace(m, c.at-1, last, c.text(c.at, last)+": "+first) // the type comes first
		}
		return c.replace(m, c.at-1, last, first+": "+c.text(c.at, last))
	case open >= 0 && decl == "func" && c.has(c.at-2, ":") && modeOf(c.str(c.at-1)) != 0 && c.kindOf(c.at) == tokIdent: // x: R vector[f64]
		last := c.exprEnd(c.at)
		m := c.mistakeOver(c.at-1, c.at, "a function takes data without an access mode")
		c.replace(m, c.at-3, last, c.str(c.at-3)+": "+c.text(c.at, last))
		m.help[0] += fmt.Sprintf("; the tasks in it say how they use `%s`", c.str(c.at-3))
		return m
	case open >= 0 && c.has(c.at, "*") && c.kindOf(c.at-1) == tokIdent && c.kindOf(c.at+1) == tokIdent && elements[c.str(c.at-1)] != "":
		m := c.mistakeHere("there are no pointers")
		return c.typed(m, c.at-1, c.exprEnd(c.at+1), c.str(c.at+1)+": RW vector", c.str(c.at-1)).guessed()
	case open < 0 && c.has(c.at-1, ")") && decl == "func" && (c.has(c.at, ":") || c.kindOf(c.at) == tokIdent || c.has(c.at, "none")):
		lo := c.at
		if c.has(lo, ":") {
			lo++
		}
		hi := c.exprEnd(lo)
		if lo >= hi || !c.has(hi, "{") && !c.has(hi-1, ":") || c.kindOf(lo) != tokIdent {
			return nil
		}
		if c.has(hi-1, ":") {
			hi--
		}
		m := c.mistakeHere("the type of the result follows `->`")
		return c.replace(m, c.at, hi, map[bool]string{true: " ", false: ""}[c.touching(c.at-1)]+"-> "+c.text(lo, hi))
	case open < 0 && decl == "func" && c.has(c.at, "=") && c.has(c.at+1, ">"):
		return c.replace(c.mistakeOver(c.at, c.at+2, "the type of the result follows `->`"), c.at, c.at+2, "->")
	}
	return nil
}

func handleWord(w string) bool { return constructors[w] }

// letHabit is let mut x, let x, let a, b = 1, 2 and let a = b = 1.
func (c *cursor) letHabit() *mistake {
	if !c.has(c.from, "let") || c.kindOf(c.from) != tokKeyword {
		return nil
	}
	k := c.kindOf(c.at)
	name := c.str(c.from + 1)
	switch {
	case c.has(c.at, "==") && c.at == c.from+2:
		return c.replace(c.mistakeHere("a name is given its value by `=`"), c.at, c.at+1, "=")
	case c.has(c.at, "=") && c.has(c.at-1, ":") && c.touching(c.at-1) && c.at == c.from+3: // let x := 1
		return c.replace(c.mistakeOver(c.at-1, c.at+1, "a name is given its value by `=`"), c.from, c.at+1, "let "+name+" =")
	case k == tokIdent && c.at == c.from+2 && (name == "mut" || name == "mutable" || declares[name]):
		m := c.mistakeHere("`let` is followed by the name")
		if name == "mut" || name == "mutable" {
			m = c.mistakeOver(c.at-1, c.at, "every `let` name may change, so `%s` is not written", name)
		}
		return c.replace(m, c.from, c.at+1, "let "+c.str(c.at))
	case (k == tokNL || k == tokEOF || c.blockEnd(c.at)) && c.at == c.from+2:
		m := c.mistakeOver(c.from, c.at, "`let` gives a name its first value")
		return m.hint("write `let %s = …` with the value that it begins with", name)
	case (k == tokNL || k == tokEOF || c.blockEnd(c.at)) && c.has(c.from+2, ":"):
		m := c.mistakeOver(c.from, c.at, "`let` gives a name its first value")
		typ := c.text(c.from+3, c.at)
		zero := map[string]string{"int": "0", "float": "0.0", "bool": "false", "string": `""`}[typ]
		if strings.HasPrefix(typ, "list[") {
			zero = "[]"
		}
		if zero == "" {
			return m.hint("write `let %s: %s = …` with the value that it begins with", name, typ)
		}
		return m.hint("write `let %s: %s = %s`, or another value that it begins with", name, typ, zero).edit(Span{c.toks[c.at-1].hi, c.toks[c.at-1].hi}, " = "+zero)
	case c.has(c.at, ",") && c.at == c.from+2, c.has(c.at, "(") && c.at == c.from+1:
		return c.several()
	case k == tokAssign && c.str(c.at) == "=" && !c.has(c.at+1, ">") && c.kindOf(c.at-1) == tokIdent && c.at == c.from+4 && c.has(c.at-2, "="):
		m := c.mistakeHere("one statement gives one name its value")
		v := c.text(c.at+1, max(c.at+1, c.end))
		return m.hint("write `let %s = %s`, and below it `let %s = %s`", c.str(c.at-1), v, name, c.str(c.at-1)).
			edit(c.span(c.from, c.end), "let "+c.str(c.at-1)+" = "+v+"\n"+c.indentOf(c.from)+"let "+name+" = "+c.str(c.at-1)).certain()
	}
	return nil
}

// several is let a, b = 1, 2.
func (c *cursor) several() *mistake {
	m := c.mistakeHere("`let` has one name")
	eq := c.from
	for eq < c.end && c.kindOf(eq) != tokAssign {
		eq++
	}
	names := strings.Split(strings.Trim(c.text(c.from+1, eq), "() "), ",")
	var values []string
	if eq < c.end {
		lo, hi := eq+1, c.end
		if c.has(lo, "(") && c.has(hi-1, ")") {
			lo, hi = lo+1, hi-1
		}
		for lo < hi {
			n := c.exprEnd(lo)
			values = append(values, c.text(lo, n))
			lo = n + 1
		}
	}
	if len(values) != len(names) {
		return m.hint("write a `let` for each name")
	}
	var lines []string
	for i, n := range names {
		lines = append(lines, "let "+strings.TrimSpace(n)+" = "+values[i])
	}
	return m.hint("write a `let` for each name: `%s`", clipTo(strings.Join(lines, "; "), 72)).
		edit(c.span(c.from, c.end), strings.Join(lines, "\n"+c.indentOf(c.from))).certain()
}

// declared is x := 1, x: int = 1 and a, b = b, a.
func (c *cursor) declared() *mistake {
	if c.kindOf(c.from) != tokIdent || c.at != c.from+1 {
		return nil
	}
	name := c.str(c.from)
	switch {
	case c.has(c.at, ":") && c.has(c.at+1, "=") && c.declaredBy("let", name):
		m := c.mistakeOver(c.at, c.at+2, "a name is given its value by `=`")
		return c.replace(m, c.from, c.at+2, name+" =").guessed()
	case c.has(c.at, ":") && c.has(c.at+1, "="):
		m := c.mistakeOver(c.from, c.at+2, "a new name is declared with `let`")
		return c.replace(m, c.from, c.at+2, "let "+name+" =")
	case c.has(c.at, ":") && c.has(c.at+1, ":"):
		if name == "std" {
			return c.mistakeOver(c.from, c.at+2, "there is no module `std`").hint("text is written by `print(…)`; the builtin functions need no module")
		}
		if c.touching(c.at - 1) {
			m := c.mistakeOver(c.at, c.at+2, "a name of a module follows a point")
			return c.replace(m, c.at, c.at+2, ".")
		}
	case c.has(c.at, ":") && c.kindOf(c.at+1) == tokIdent:
		m := c.mistakeOver(c.from, c.at+1, "a new name is declared with `let`")
		return m.hint("write `let %s: %s = …`", name, c.str(c.at+1)).edit(Span{c.toks[c.from].lo, c.toks[c.from].lo}, "let ").certain()
	case c.has(c.at, ",") && c.kindOf(c.at+1) == tokIdent:
		if a, b := name, c.str(c.at+1); c.has(c.at+2, "=") && c.has(c.at+3, b) && c.has(c.at+4, ",") && c.has(c.at+5, a) && c.at+6 == c.end {
			lines := []string{"let last = " + a, a + " = " + b, b + " = last"}
			return c.mistakeHere("one statement gives one name its value").
				hint("write `%s`, `%s` and `%s`; registered data gets names that can change first: `let a = x`", lines[0], lines[1], lines[2]).
				edit(c.span(c.from, c.end), strings.Join(lines, "\n"+c.indentOf(c.from)))
		}
		return c.mistakeHere("one statement gives one name its value").hint("write one assignment for each, with a `let` for what has to be kept")
	}
	return nil
}

// assertCall is assert(c, "why").
func (c *cursor) assertCall() *mistake {
	if !c.has(c.from, "assert") || !c.has(c.from+1, "(") || !c.has(c.at, ",") || c.inBracket(c.at) != c.from+1 {
		return nil
	}
	closing := c.exprEnd(c.at + 1)
	if !c.has(closing, ")") {
		return nil
	}
	m := c.mistakeOver(c.from, closing+1, "`assert` is a statement, not a function")
	return c.replace(m, c.from, closing+1, "assert "+c.text(c.from+2, closing))
}

// braces is {1, 2} and {"a": 1}.
func (c *cursor) braces() *mistake {
	if !c.has(c.at, "{") || c.kindOf(c.at-1) != tokAssign && !c.has(c.at-1, "(") && !c.has(c.at-1, ",") && !c.has(c.at-1, "return") {
		return nil
	}
	end, pairs, lines := c.at, false, false
	for depth := 0; end < len(c.toks); end++ {
		k := c.kindOf(end)
		if k == tokEOF || k == tokVirtual {
			break
		}
		if c.opens(end) {
			depth++
		}
		pairs = pairs || c.has(end, ":")
		lines = lines || k == tokNL
		if c.closes(end) {
			if depth--; depth == 0 {
				break
			}
		}
	}
	if !c.has(end, "}") {
		return nil
	}
	c.next = end + 1
	m := c.mistakeOver(c.at, c.at+1, "a list is written in square brackets")
	switch {
	case pairs:
		m.msg = "unexpected `{`: there are no dictionaries"
		return m.hint("write two lists, one of the keys and one of the values")
	case lines:
		return m.hint("write `[a, b, c]`")
	}
	return c.replace(m, c.at, end+1, "["+strings.TrimSpace(c.text(c.at+1, end))+"]")
}

// namelessFunc is lambda x: x + 1 and (x) => x + 1.
func (c *cursor) namelessFunc() *mistake {
	arrow := c.has(c.at, "=") && c.has(c.at+1, ">") && c.touching(c.at) || c.has(c.at, "->") && c.has(c.from, "let") && !c.touching(c.at-1)
	if arrow && (c.has(c.from, "if") || c.has(c.from, "while") || c.has(c.from, "assert")) {
		return c.replace(c.mistakeOver(c.at, c.at+2, "there is no operator `=>`"), c.at, c.at+2, ">=")
	}
	if !arrow && !(c.at > 0 && c.kindOf(c.at-1) == tokIdent && c.str(c.at-1) == "lambda") && !(c.has(c.at, "func") && c.at > c.from) {
		return nil
	}
	return c.mistakeHere("every function has a name").hint("write `func f(x: float) -> float { return x + 1.0 }` at the top level, and call `f`")
}

// arrow is x->n.
func (c *cursor) arrow() *mistake {
	if c.has(c.at, "->") && c.has(c.from, "codelet") && c.has(c.at-1, ")") && c.inBracket(c.at) < 0 {
		return c.mistakeHere("a codelet has no result").hint("it writes its operands: add one such as `result: W variable[f64]`, and write `result = …`")
	}
	if !c.has(c.at, "->") || !c.endsOperand(c.at-1) || c.kindOf(c.at+1) != tokIdent || c.has(c.from, "func") {
		return nil
	}
	return c.replace(c.mistakeOver(c.at, c.at+1, "a field follows a point"), c.at, c.at+1, ".")
}

// initial is register x = variable[f64] = 0.0.
func (c *cursor) initial() *mistake {
	if !c.has(c.from, "register") || !c.has(c.at, "=") || c.inBracket(c.at) >= 0 || c.at+1 >= c.end || !c.has(c.exprStart(c.at, nil)-1, "=") {
		return nil
	}
	m := c.mistakeHere("an initial value is given by `fill`")
	v := c.text(c.at+1, c.end)
	switch {
	case c.has(c.at-1, "]"):
		return c.replace(m, c.at, c.end, "(fill = "+v+")").trimBefore(c.parser, c.at)
	case c.has(c.at-2, "(") && c.has(c.at-1, ")"):
		return c.replace(m, c.at-1, c.end, "fill = "+v+")")
	case c.has(c.at-1, ")"):
		return c.replace(m, c.at-1, c.end, ", fill = "+v+")")
	}
	return m
}

// trimBefore extends the last edit over the white space in front of token i.
func (m *mistake) trimBefore(p *parser, i int) *mistake {
	e := &m.edits[len(m.edits)-1]
	e.at.Lo = p.toks[i-1].hi
	return m
}

// moduleName is import std/blas, from std import blas and import ( … ).
func (c *cursor) moduleName() *mistake {
	if !c.has(c.from, "import") || c.at != c.from+1 {
		return nil
	}
	if c.has(c.at, "(") {
		return c.mistakeHere("each module has an `import` of its own").hint("write `import \"std/blas\" as blas`")
	}
	if c.kindOf(c.at) != tokIdent {
		return nil
	}
	hi := c.at + 1
	for hi+1 < c.end && (c.has(hi, "/") || c.has(hi, ".")) && c.kindOf(hi+1) == tokIdent {
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
			return m.hint("there is no module `%s`: the builtin functions need none, and data is worked on by codelets; `starpush doc` lists them", path)
		}
		return m.hint("a module is written `import \"std/blas\" as blas`, a file `import \"%s.spu\"`", path)
	}
	return c.replace(m, c.at, hi, `"`+path+`"`)
}

// insertHabit is insert(f, x) and insert f(&x).
func (c *cursor) insertHabit() *mistake {
	if c.kindOf(c.at-1) != tokKeyword || !c.has(c.at-1, "insert") || !c.has(c.at, "(") {
		return nil
	}
	comma := c.exprEnd(c.at + 1)
	m := c.mistakeOver(c.at-1, c.at+1, "the codelet follows `insert`, its operands in parentheses")
	if c.kindOf(c.at+1) != tokIdent || !c.has(comma, ",") || comma != c.at+2 {
		return m.hint("write `insert f(R x, RW y)`")
	}
	return c.replace(m, c.at-1, comma+1, "insert "+c.str(c.at+1)+"(").trimAfter(c.parser, comma)
}

// trimAfter extends the last edit over the white space behind token i.
func (m *mistake) trimAfter(p *parser, i int) *mistake {
	if i+1 < len(p.toks) && strings.TrimSpace(p.source[p.toks[i].hi:p.toks[i+1].lo]) == "" {
		m.edits[len(m.edits)-1].at.Hi = p.toks[i+1].lo
	}
	return m
}

// Habits of C: x++, --x.

// increment is x++ and ++x.
func (c *cursor) increment() *mistake {
	sign := c.str(c.at)
	switch {
	case c.has(c.at-1, "-") && c.has(c.at-2, "-") && c.touching(c.at-2) && c.touching(c.at-3) && c.at-2 > c.from && (c.closes(c.at) || c.kindOf(c.at) == tokNL || c.kindOf(c.at) == tokEOF || c.lineEnds(c.at-1)):
		m := c.mistakeOver(c.at-2, c.at, "there is no operator `--`")
		if !c.isTarget(c.at - 2) {
			return m.hint("write `x -= 1` as a statement of its own")
		}
		return c.replace(m, c.from, c.at, c.text(c.from, c.at-2)+" -= 1")
	case c.at-1 > c.from && c.has(c.at-1, sign) && c.touching(c.at-1):
		m := c.mistakeOver(c.at-1, c.at+1, "there is no operator `%s%s`", sign, sign)
		if sign != "+" {
			return nil
		}
		x := c.text(c.from, c.at-1)
		if c.isTarget(c.at-1) && (c.lineEnds(c.at) || c.kindOf(c.at+1) == tokNL || c.closes(c.at+1)) {
			c.next = c.at + 1
			return c.replace(m, c.from, c.at+1, x+" += 1")
		}
		return m.hint("write `x += 1` as a statement of its own; texts and lists are joined by `+`")
	case c.at == c.from && (sign == "+" || sign == "-") && c.has(c.at+1, sign) && c.touching(c.at) && c.kindOf(c.at+2) == tokIdent:
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
	for c.kindOf(c.from) == tokIdent && i < hi {
		switch {
		case c.has(i, ".") && c.kindOf(i+1) == tokIdent:
			i += 2
		case c.has(i, "["):
			if i = c.closingOf(i) + 1; i == 0 {
				return false
			}
		default:
			return false
		}
	}
	return i == hi && c.kindOf(c.from) == tokIdent
}
