package advice

// Rules of operators and declarations that are functions.

import (
	"strings"

	"github.com/starpush/starpush/lang/syntax/token"
	"github.com/starpush/starpush/lang/vocab"
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

// chainedComparison is a < b < c.
func (c *cursor) chainedComparison() *token.Mistake {
	if c.at < 1 {
		return nil
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
	if i <= c.from || vocab.Constructors[c.Str(i-1)] || i+1 >= c.at {
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
	if !c.Has(open, "<") || !c.Has(open+2, ">") || open < 1 || !vocab.Constructors[c.Str(open-1)] || c.Kind(open+1) != token.Ident {
		return nil
	}
	m := c.mistakeOver(open, open+3, "the element type is written in square brackets")
	return c.typed(m, open-1, open+3, c.Str(open-1), c.Str(open+1))
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

// pointer is float *x, a parameter of C.
func (c *cursor) pointer() *token.Mistake {
	if c.Kind(c.at-1) != token.Ident || c.Kind(c.at+1) != token.Ident || vocab.CElems[c.Str(c.at-1)] == "" {
		return nil
	}
	return c.typed(c.mistakeHere("there are no pointers"), c.at-1, c.exprEnd(c.at+1), c.Str(c.at+1)+": RW vector", c.Str(c.at-1)).Guessed()
}
