package syntax

// Habits of parameters and operands: (a, b int), (vector[f64] x), insert f(x: RW a) and
// insert f(a RW).

import "strings"

// sharedType is func f(a, b int) and func f(a, b: int).
func (c *cursor) sharedType() *mistake {
	if !c.declaration() || !c.has(c.at, ",") {
		return nil
	}
	open := c.inBracket(c.at)
	if open < 0 || !c.has(open, "(") || c.kindOf(c.at-1) != tokIdent || !c.has(c.at-2, ",") && c.at-2 != open {
		return nil
	}
	lo, i := c.at-1, c.at
	names := []string{c.str(lo)}
	for c.has(i, ",") && c.kindOf(i+1) == tokIdent {
		names = append(names, c.str(i+1))
		i += 2
	}
	last := i
	if c.has(i, ":") {
		i++
	}
	hi := c.right(i)
	m := c.says(lo, last, "every parameter has its type")
	if i >= hi || c.kindOf(i) != tokIdent && c.kindOf(i) != tokKeyword {
		for k := range names {
			names[k] += ": int"
		}
		return m.hint("write `%s`, each with the type that it has", clipTo(strings.Join(names, ", "), 60))
	}
	typ := c.of(i, hi)
	for k := range names {
		names[k] += ": " + typ
	}
	return c.instead(m, lo, hi, strings.Join(names, ", "))
}

// declaration reports whether the statement declares parameters.
func (c *cursor) declaration() bool { return c.declaring() != "" }

// declaring is the word by which the statement declares parameters, "" if it does not:
// func, codelet or extern.
func (c *cursor) declaring() string {
	if c.signs != "" {
		return c.signs
	}
	if c.kindOf(c.from) != tokKeyword {
		return ""
	}
	switch word := c.str(c.from); word {
	case "func", "codelet", "extern":
		return word
	}
	return ""
}

// typeFirst is codelet f(vector[f64] x), f(R vector[f64] x) and f(x: vector[f64] RW).
func (c *cursor) typeFirst() *mistake {
	open := c.inBracket(c.at)
	if !c.declaration() || open < 0 || !c.has(open, "(") {
		return nil
	}
	if k := c.at; c.kindOf(k) == tokIdent && modeOf(c.str(k)) != 0 && (c.has(k-1, "]") || c.kindOf(k-1) == tokIdent) && (c.has(k+1, ",") || c.has(k+1, ")")) {
		lo := c.left(k, nil)
		if !c.has(lo-1, ":") || modeOf(c.str(lo)) != 0 {
			return nil
		}
		m := c.here("the mode comes before the type")
		return c.instead(m, lo, k+1, c.str(k)+" "+c.of(lo, k))
	}
	lo := c.at
	for lo > open+1 && !c.has(lo-1, ",") && lo > c.at-3 {
		lo--
	}
	typ, mode := lo, ""
	if modeOf(c.str(lo)) != 0 {
		mode, typ = c.str(lo)+" ", lo+1
	}
	if !constructors[c.str(typ)] || !c.has(typ+1, "[") || c.kindOf(typ+2) != tokIdent || !c.has(typ+3, "]") || c.kindOf(typ+4) != tokIdent {
		return nil
	}
	m := c.says(lo, typ+5, "a parameter is written `name: MODE type`")
	known := mode != "" || c.declaring() == "func"
	if !known {
		mode = "RW "
	}
	c.instead(m, lo, typ+5, c.str(typ+4)+": "+mode+c.of(typ, typ+4))
	if !known {
		m.help[0] += ", or with `R` for what is only read"
		return m.guessed()
	}
	return m
}

// operand is f(x: a), insert f(x: RW a), insert f(RW: a) and insert f(a RW).
func (c *cursor) operand() *mistake {
	open := c.inBracket(c.at)
	if open < 0 || !c.has(open, "(") || c.kindOf(open-1) != tokIdent && !c.has(open-1, "]") || c.declaration() || c.kindOf(c.at-1) != tokIdent {
		return nil
	}
	first := c.has(c.at-2, "(") || c.has(c.at-2, ",")
	name := c.str(c.at - 1)
	switch {
	case c.has(c.at, ":") && first && modeOf(name) != 0 && startsExpr(c.tokenAt(c.at+1)):
		m := c.here("put a space after the mode")
		return c.instead(m, c.at-1, c.at+2, name+" "+c.str(c.at+1))
	case c.has(c.at, ":") && first && modeOf(c.str(c.at+1)) != 0 && (c.has(c.at+2, ",") || c.has(c.at+2, ")")): // x: RW
		m := c.here("the mode comes before the data")
		return c.instead(m, c.at-1, c.at+2, c.str(c.at+1)+" "+name)
	case c.has(c.at, ":") && first && startsExpr(c.tokenAt(c.at+1)):
		hi := c.right(c.at)
		m := c.here("an argument is given by name with `=`")
		return c.instead(m, c.at-1, hi, name+" = "+c.of(c.at+1, hi))
	case c.has(c.at, ":") && c.kindOf(c.at-2) == tokIdent && modeOf(c.str(c.at-2)) != 0: // R x: a
		mode, hi := c.str(c.at-2), c.right(c.at)
		m := c.here("an operand is given by name with `=`")
		if c.kindOf(c.at+1) != tokIdent {
			return m.hint("write `%s = %s x` for data, `%s = %s` for a value", name, mode, name, clip(c.of(c.at+1, max(hi, c.at+2))))
		}
		return c.instead(m, c.at-2, hi, name+" = "+mode+" "+c.of(c.at+1, hi))
	case c.kindOf(c.at) == tokIdent && modeOf(c.str(c.at)) != 0 && modeOf(name) == 0 && first && (c.has(c.at+1, ",") || c.has(c.at+1, ")")):
		m := c.here("the mode comes before the data")
		return c.instead(m, c.at-1, c.at+1, c.str(c.at)+" "+name)
	}
	return nil
}
