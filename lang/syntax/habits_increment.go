package syntax

// Habits of C: x++, --x.

// increment is x++ and ++x.
func (c *cursor) increment() *mistake {
	sign := c.str(c.at)
	switch {
	case c.has(c.at-1, "-") && c.has(c.at-2, "-") && c.touching(c.at-2) && c.touching(c.at-3) && c.at-2 > c.from && (c.closes(c.at) || c.kindOf(c.at) == tokNL || c.kindOf(c.at) == tokEOF || c.lineEnds(c.at-1)):
		m := c.says(c.at-2, c.at, "there is no operator `--`")
		if !c.isTarget(c.at - 2) {
			return m.hint("write `x -= 1` as a statement of its own")
		}
		return c.instead(m, c.from, c.at, c.of(c.from, c.at-2)+" -= 1")
	case c.at-1 > c.from && c.has(c.at-1, sign) && c.touching(c.at-1):
		m := c.says(c.at-1, c.at+1, "there is no operator `%s%s`", sign, sign)
		if sign != "+" {
			return nil
		}
		x := c.of(c.from, c.at-1)
		if c.isTarget(c.at-1) && (c.lineEnds(c.at) || c.kindOf(c.at+1) == tokNL || c.closes(c.at+1)) {
			c.next = c.at + 1
			return c.instead(m, c.from, c.at+1, x+" += 1")
		}
		return m.hint("write `x += 1` as a statement of its own; texts and lists are joined by `+`")
	case c.at == c.from && (sign == "+" || sign == "-") && c.has(c.at+1, sign) && c.touching(c.at) && c.kindOf(c.at+2) == tokIdent:
		end := c.right(c.at + 2)
		m := c.says(c.at, c.at+2, "there is no operator `%s%s`", sign, sign)
		return c.instead(m, c.at, end, c.of(c.at+2, end)+" "+sign+"= 1")
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
