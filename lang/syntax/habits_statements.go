package syntax

// Habits of whole statements: partition A by rows(3) as B, let B = A by rows(3), register
// x[3] = …, prefetch x, insert f(RW x) priority 2, and lists with conditions.

import "strings"

// namedView is partition A by rows(3) as B, let B = A by rows(3) and partition A, rows(3).
func (c *cursor) namedView() *mistake {
	name := c.from + 1
	if c.kindOf(name) != tokIdent {
		return nil
	}
	switch {
	case c.has(c.from, "let") && c.has(name+1, "=") && c.kindOf(name+2) == tokIdent && c.at == name+3 && c.has(c.at, "by"):
		m := c.says(c.from, c.from+1, "views are made by `partition`")
		c.next = c.right(c.at + 1)
		return m.hint("write `partition %s`", clipTo(c.of(name, c.next), 72)).edit(c.over(c.from, name), "partition").certain()
	case !c.has(c.from, "partition"):
		return nil
	case c.has(name+1, "by") && c.has(c.at, "as") && c.kindOf(c.at+1) == tokIdent && c.lineEnds(c.at+1):
		m := c.says(c.at, c.at+2, "the name of a view comes first")
		c.next = c.at + 2
		return c.instead(m, c.from, c.at+2, "partition "+c.str(c.at+1)+" = "+c.of(name, c.at))
	case c.has(name+1, ",") && filters[c.str(name+2)] && c.has(name+3, "("):
		m := c.says(name+1, name+2, "a filter follows `by`")
		c.next = c.at
		return m.hint("write `partition %s by %s`", c.str(name), clipTo(c.of(name+2, c.at), 60)).edit(c.over(name+1, name+2), " by").certain()
	}
	return nil
}

// registeredList is register x[3] = vector[f64](n).
func (c *cursor) registeredList() *mistake {
	open := c.from + 2
	if !c.has(c.from, "register") || c.at != open || !c.has(open, "[") || c.kindOf(open-1) != tokIdent {
		return nil
	}
	end := c.closingOf(open)
	if end <= open+1 || !c.has(end+1, "=") || !constructors[c.str(end+2)] {
		return nil
	}
	last := c.right(end + 2)
	index := "i"
	for k := end + 2; k < last; k++ {
		if c.str(k) == index {
			index = "k"
		}
	}
	c.next = last
	m := c.says(open, end+1, "a list of data is written on the right")
	return c.instead(m, c.from, last, "register "+c.str(open-1)+" = ["+c.of(end+2, last)+" for "+index+" in 0.."+c.of(open+1, end)+"]")
}

// prefetchTo is prefetch x, without its memory.
func (c *cursor) prefetchTo() *mistake {
	if !c.has(c.from, "prefetch") || c.kindOf(c.at) != tokNL && c.kindOf(c.at) != tokEOF || !c.endsOperand(c.at-1) || c.inBracket(c.at) >= 0 {
		return nil
	}
	m := c.says(c.from, c.at, "`prefetch` names the memory that the data goes to")
	m.got, m.expect = c.tokenAt(c.at), []string{"`to`"} // more may come at the prompt
	return m.hint("write `%s to ram`, or `to gpu(0)` for the first device", clipTo(c.of(c.from, c.at), 60))
}

// switches are the options of insert that are given to be true.
var switches = wordSet("sync")

// optionAlone is insert f(RW x) priority 2, insert f(RW x) sync and with sync.
func (c *cursor) optionAlone() *mistake {
	if !c.inserts() || c.inBracket(c.at) >= 0 {
		return nil
	}
	word := c.str(c.at)
	switch {
	case switches[word] && c.has(c.at-1, ")") && c.lineEnds(c.at):
		c.next = c.at + 1
		return c.instead(c.says(c.at, c.at+1, "options follow `with`"), c.at, c.at+1, "with "+word+" = true")
	case taskOptions[word] && c.has(c.at-1, ")") && startsExpr(c.tokenAt(c.at+1)) && !c.has(c.at+1, "("):
		c.next = c.right(c.at + 1)
		return c.instead(c.says(c.at, c.next, "options follow `with`"), c.at, c.next, "with "+word+" = "+c.of(c.at+1, c.next))
	case c.has(c.at, ",") && switches[c.str(c.at+1)] && (c.lineEnds(c.at+1) || c.has(c.at+2, ",")):
		c.next = c.at + 2
		return c.instead(c.says(c.at+1, c.at+2, "an option is given by `=`"), c.at+1, c.at+2, c.str(c.at+1)+" = true")
	case switches[c.str(c.at-1)] && (c.has(c.at-2, "with") || c.has(c.at-2, ",")) && (c.has(c.at, ",") || c.lineEnds(c.at-1)):
		return c.instead(c.says(c.at-1, c.at, "an option is given by `=`"), c.at-1, c.at, c.str(c.at-1)+" = true")
	}
	return nil
}

// conditionOfList is [x for x in xs if c].
func (c *cursor) conditionOfList() *mistake {
	open := c.inBracket(c.at)
	if !c.has(c.at, "if") || open < 0 || !c.has(open, "[") {
		return nil
	}
	end := c.closingOf(open)
	loop := c.right(open+1, "for")
	if end < 0 || loop >= c.at || !c.has(loop, "for") || strings.Contains(c.of(open, end), "\n") {
		return nil
	}
	name := "xs"
	if c.has(c.from, "let") && open == c.from+3 {
		name = c.str(c.from + 1)
	}
	c.next = end + 1
	m := c.says(c.at, c.at+1, "a list takes all that its loop gives")
	return m.hint("write `let %[3]s = []`, and below it a loop that appends: `%[1]s { if %[2]s { %[3]s = %[3]s + [%[4]s] } }`", c.of(loop, c.at), c.of(c.at+1, end), name, c.of(open+1, loop))
}
