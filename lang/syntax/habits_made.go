package syntax

// Habits of data, views and folds: x = register …, new vector, blocks 4, partition A into
// tiles(4, 4), sum(e for i in x), acquire without a name, t.wait().

import "strings"

// registered is x = register vector[f64](n), let x = register … and register x = new ….
func (c *cursor) registered() *mistake {
	if c.has(c.at, "register") && c.assigned() {
		m := c.says(c.from, c.at+1, "`register` begins the statement")
		return c.instead(m, c.from, c.at+1, "register "+c.str(c.at-2)+" =")
	}
	if c.has(c.from, "register") && c.kindOf(c.at-1) == tokIdent && c.str(c.at-1) == "new" && c.has(c.at-2, "=") && constructors[c.str(c.at)] {
		m := c.says(c.at-1, c.at, "data is made without `new`")
		m.hint("leave `new` out").edit(Span{c.toks[c.at-1].lo, c.toks[c.at].lo}, "").certain()
		return m
	}
	return nil
}

// assigned reports whether the token at is what a name is set to, by x = … or let x = …,
// and goes on behind that statement then.
func (c *cursor) assigned() bool {
	lo := c.at - 2
	if !c.has(c.at-1, "=") || c.kindOf(lo) != tokIdent || c.inBracket(c.at) >= 0 {
		return false
	}
	if c.has(lo-1, "let") {
		lo--
	}
	if lo != c.from {
		return false
	}
	c.next = c.at
	for c.kindOf(c.next) != tokNL && c.kindOf(c.next) != tokEOF && !c.blockEnd(c.next) {
		c.next++
	}
	return true
}

// stated is let v = partition x by blocks(4), let a = acquire R x and let t = wait x:
// statements in place of values.
func (c *cursor) stated() *mistake {
	word := c.str(c.at)
	if c.kindOf(c.at) != tokKeyword || word != "partition" && word != "acquire" && word != "wait" || !c.assigned() {
		return nil
	}
	name := c.str(c.at - 2)
	x, arg := "x", c.at+1
	if c.has(arg, "(") {
		arg++
	}
	if c.kindOf(arg) == tokIdent {
		x = c.str(arg)
	}
	if word == "wait" {
		m := c.says(c.from, c.at+1, "`wait` is a statement and gives no value")
		return m.hint("write `wait %s` alone; `value(%s)` and `acquire` wait by themselves", x, x)
	}
	m := c.says(c.from, c.at+1, "`%s` begins the statement", word)
	switch {
	case word == "partition" && c.kindOf(c.at+1) == tokIdent && c.has(c.at+2, "by"):
		return c.instead(m, c.from, c.at+1, "partition "+name+" =")
	case word == "partition":
		return m.hint("write `partition %s = %s by blocks(4)` for a vector, `tiles(4, 4)` for a matrix", name, x)
	case modeOf(c.str(c.at+1)) != 0 && c.at+3 == c.next:
		return c.instead(m, c.from, c.next, c.of(c.at, c.next)+" as "+name)
	}
	return m.hint("write `acquire R %s as %s` to read it, `acquire RW %s as %s` to change it", x, name, x, name)
}

// filterWords stand for by elsewhere.
var filterWords = wordSet("into", "as", "with", "in", "using", "to")

// filters are the names of filters.
var filters = wordSet("blocks", "halves", "rows", "cols", "tiles", "axis", "pick")

// filterForm is partition A into tiles(4, 4), A.tiles(4, 4), At = tiles(A, 4, 4) and by
// blocks 4.
func (c *cursor) filterForm() *mistake {
	if !c.has(c.from, "partition") || c.kindOf(c.from) != tokKeyword {
		return nil
	}
	const says = "a filter follows `by`"
	open := c.at - 1
	for i := c.from + 1; i <= c.at && c.kindOf(i) != tokNL; i++ {
		if filters[c.str(i)] && c.kindOf(i) == tokIdent && c.has(i+1, "(") {
			open = i
			break
		}
	}
	switch {
	case filterWords[c.str(c.at)] && c.kindOf(c.at+1) == tokIdent && c.has(c.at+2, "("):
		return c.instead(c.says(c.at, c.at+1, says), c.at, c.at+1, "by")
	case (c.kindOf(c.at) == tokInt || c.kindOf(c.at) == tokIdent) && filters[c.str(c.at-1)] && c.has(c.at-2, "by"):
		hi := c.at
		for c.kindOf(hi) != tokNL && c.kindOf(hi) != tokEOF && !c.blockEnd(hi) && !c.has(hi, "then") {
			hi++
		}
		m := c.here("the arguments of a filter are written in parentheses")
		c.instead(m, c.at-1, hi, c.str(c.at-1)+"("+c.of(c.at, hi)+")")
		c.next = hi
		return m
	case filters[c.str(open)] && c.has(open-1, ".") && c.kindOf(open-2) == tokIdent:
		return c.instead(c.says(open-1, open+1, says), open-1, open+1, " by "+c.str(open))
	case filters[c.str(open)] && c.has(open-1, "=") && c.kindOf(open+2) == tokIdent && c.has(open+3, ","):
		m := c.says(open, open+4, says)
		return c.instead(m, open, open+4, c.str(open+2)+" by "+c.str(open)+"(").trimAfter(c.parser, open+3)
	}
	return nil
}

// foldForm is sum(e for i in x), sum i in x: e and sum i in 0..n e.
func (c *cursor) foldForm() *mistake {
	if open := c.inBracket(c.at); c.has(c.at, "for") && open > 0 && c.has(open, "(") && foldWords[c.str(open-1)] && c.at > open+1 {
		end := c.closingOf(open)
		if end < 0 || c.kindOf(c.at+1) != tokIdent || !c.inCodelet() {
			return nil
		}
		c.next = end + 1
		return c.generator(open, end)
	}
	word := -1
	for i := c.at - 1; i >= c.from && c.at-i < 12; i-- {
		if foldWords[c.str(i)] && c.kindOf(i) == tokIdent && c.kindOf(i+1) == tokIdent && (c.has(i+2, "in") || c.has(i+2, ",")) {
			word = i
			break
		}
	}
	if word < 0 || !c.endsOperand(c.at-1) || c.opens(c.at) {
		return nil
	}
	for i := word; i < c.at; i++ {
		if c.has(i, "{") {
			return nil
		}
	}
	lo := c.at
	if c.has(lo, ":") {
		lo++
	}
	hi := c.right(lo)
	if lo >= hi || !startsExpr(c.tokenAt(lo)) || c.has(hi, "{") {
		return nil
	}
	m := c.here("the expression of a fold is written in braces")
	c.next = hi
	at := c.over(c.at, hi)
	at.Lo = c.toks[c.at-1].hi
	return m.hint("write `%s`", clipTo(c.of(word, c.at)+" { "+c.of(lo, hi)+" }", 72)).edit(at, " { "+c.of(lo, hi)+" }").certain()
}

// generator is sum(e for i in x), between the parentheses at the tokens open and end. Where
// i is not an index in e, it stands for the elements, as it does elsewhere.
func (c *cursor) generator(open, end int) *mistake {
	m := c.here("a fold names its indices first")
	word, index := c.str(open-1), c.str(c.at+1)
	in := c.at + 2
	for c.has(in, ",") && c.kindOf(in+1) == tokIdent {
		in += 2
	}
	over := c.of(min(in+1, end), end)
	if c.has(in+1, "range") && c.has(in+2, "(") && c.closingOf(in+2) == end-1 { // range(n), range(a, b)
		last := c.right(in + 3)
		switch {
		case last == end-1 && last > in+3:
			over = "0.." + c.of(in+3, last)
		case c.right(last+1) == end-1:
			over = c.of(in+3, last) + ".." + c.of(last+1, end-1)
		}
	}
	if !c.has(in, "in") || c.right(in+1, "if", "for") != end || strings.HasPrefix(over, "range") {
		return m.hint("write `%s i in x { x[i] }`, for some of them `%s i in x { if x[i] > 0.0 then x[i] else 0.0 }`", word, word)
	}
	var values strings.Builder // e, with x[i] for i
	elements, indices := 0, 0
	for i, lo := open+1, c.toks[open+1].lo; i <= c.at; i++ {
		values.WriteString(c.text[lo:c.toks[i].lo])
		if lo = c.toks[i].lo; i == c.at || c.str(i) != index || c.has(i-1, ".") {
			continue
		}
		if c.has(c.inBracket(i), "[") {
			indices++
			continue
		}
		elements++
		values.WriteString(over + "[" + index + "]")
		lo = c.toks[i].hi
	}
	switch text := word + " " + c.of(c.at+1, in) + " in " + over + " { "; {
	case elements == 0 || in > c.at+2 || strings.Contains(over, ".."):
		return c.instead(m, open-1, end+1, text+c.of(open+1, c.at)+" }")
	case indices == 0 && in+2 == end:
		return c.instead(m, open-1, end+1, text+strings.TrimSpace(values.String())+" }").guessed()
	default:
		return m.hint("write `%s%s[%s] }`: %s goes over the indices", text, over, index, index)
	}
}

// inCodelet reports whether the statement stands in the body of a codelet.
func (c *cursor) inCodelet() bool {
	head := c.from
	for head >= 0 && !(c.kindOf(head) == tokKeyword && c.has(head, "codelet")) {
		head--
	}
	if head < 0 || head == c.from {
		return head == c.from
	}
	open := head
	for open < c.from && !c.has(open, "{") {
		open++
	}
	end := c.closingOf(open)
	return open < c.from && (end < 0 || end >= c.from)
}

// acquired is acquire R x { … } and acquire R x -> a { … }.
func (c *cursor) acquired() *mistake {
	if !c.has(c.from, "acquire") || c.kindOf(c.from) != tokKeyword || modeOf(c.str(c.from+1)) == 0 || c.at < c.from+3 {
		return nil
	}
	switch {
	case c.has(c.at, "->"), c.has(c.at, "=") && c.kindOf(c.at+1) == tokIdent:
		return c.instead(c.here("the name for the elements follows `as`"), c.at, c.at+1, "as")
	case (c.has(c.at, "{") || c.kindOf(c.at) == tokNL || c.kindOf(c.at) == tokEOF) && c.endsOperand(c.at-1) && !c.has(c.at-2, "as") && c.inBracket(c.at) < 0:
		x := c.of(c.from+2, c.at)
		c.next = c.at
		m := c.says(c.from, c.at, "`acquire` gives the elements a name")
		return m.hint("write `acquire %[1]s %[2]s as a { … }`; the elements are `a[i]`, those of a matrix `a[i, j]`", c.str(c.from+1), x)
	}
	return nil
}

// waited is t.wait().
func (c *cursor) waited() *mistake {
	if !c.has(c.at, "wait") || !c.has(c.at-1, ".") || c.at-1 <= c.from || !c.has(c.at+1, "(") || !c.has(c.at+2, ")") {
		return nil
	}
	c.next = c.at + 3
	m := c.says(c.from, c.at+3, "`wait` is a statement, not a function")
	if k := c.kindOf(c.next); c.kindOf(c.from) != tokIdent && !c.has(c.from, "insert") || c.inBracket(c.at) >= 0 || c.left(c.at, nil) != c.from || k != tokNL && k != tokEOF && !c.blockEnd(c.next) {
		return m.hint("write `wait t` as a statement of its own; it gives nothing")
	}
	return c.instead(m, c.from, c.at+3, "wait "+c.of(c.from, c.at-1))
}

// listRange is for i in [0:8].
func (c *cursor) listRange() *mistake {
	open := c.inBracket(c.at)
	if !c.has(c.at, ":") || open < 0 || !c.has(open, "[") || !c.has(open-1, "in") || c.at == open+1 {
		return nil
	}
	end := c.closingOf(open)
	if end < 0 || strings.ContainsAny(c.of(c.at+1, end), ":,") {
		return nil
	}
	c.next = end + 1
	return c.instead(c.here("a range is written `a..b`"), open, end+1, c.of(open+1, c.at)+".."+c.of(c.at+1, end)).guessed()
}

// reducerSign is reduce = +.
func (c *cursor) reducerSign() *mistake {
	to := map[string]string{"+": "sum", "*": "prod"}[c.str(c.at)]
	if to == "" || !c.has(c.at-1, "=") || c.str(c.at-2) != "reduce" || !c.has(c.at+1, ")") && !c.has(c.at+1, ",") {
		return nil
	}
	return c.instead(c.here("a reducer has a name"), c.at, c.at+1, to)
}
