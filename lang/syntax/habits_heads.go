package syntax

// Habits of heads and types: func f(x) = e, for (i, j) in …, if c { a } else { b } as a
// value, f64[] and vector[f64]{…}, insert f() after t.

import "strings"

// funcOfOneLine is func f(x: float) = x * x and func f(x: float): float = x * x.
func (c *cursor) funcOfOneLine() *mistake {
	if !c.has(c.from, "func") || c.kindOf(c.from) != tokKeyword || c.inBracket(c.at) >= 0 {
		return nil
	}
	if !c.has(c.at-1, ")") {
		return c.resultOfOneLine()
	}
	typ, eq := "", c.at
	if (c.has(c.at, ":") || c.has(c.at, "->")) && c.kindOf(c.at+1) == tokIdent {
		typ, eq = c.str(c.at+1), c.at+2
	}
	if !c.has(eq, "=") || !startsExpr(c.tokenAt(eq+1)) {
		return nil
	}
	hi := c.right(eq + 1)
	if k := c.kindOf(hi); k != tokNL && k != tokEOF {
		return nil
	}
	m := c.says(c.at, eq+1, "the body of a function is written in braces")
	c.next = hi
	if typ == "" {
		c.instead(m, c.at, hi, "-> float { return "+c.of(eq+1, hi)+" }")
		m.help[0] += ", with the type that it gives"
		return m.guessed()
	}
	lead := ""
	if c.touching(c.at - 1) {
		lead = " "
	}
	m.hint("write `-> %s { return %s }`", typ, clipTo(c.of(eq+1, hi), 60)).edit(c.over(c.at, hi), lead+"-> "+typ+" { return "+c.of(eq+1, hi)+" }").certain()
	return m
}

// resultOfOneLine is func f(x: float) -> float = x * x.
func (c *cursor) resultOfOneLine() *mistake {
	arrow := c.at - 1
	for arrow > c.from && !c.has(arrow, "->") {
		arrow--
	}
	if !c.has(c.at, "=") || !c.has(arrow, "->") || !startsExpr(c.tokenAt(c.at+1)) {
		return nil
	}
	hi := c.right(c.at + 1)
	if k := c.kindOf(hi); k != tokNL && k != tokEOF {
		return nil
	}
	c.next = hi
	return c.instead(c.says(c.at, c.at+1, "the body of a function is written in braces"), c.at, hi, "{ return "+c.of(c.at+1, hi)+" }")
}

// pairHead is for (i, j) in grid(n, m) and for [i, j] in ….
func (c *cursor) pairHead() *mistake {
	open := c.from + 1
	if !c.has(c.from, "for") || c.at != open || !c.has(open, "(") && !c.has(open, "[") || c.kindOf(open+1) != tokIdent || !c.has(open+2, ",") {
		return nil
	}
	end := c.closingOf(open)
	if end < 0 || !c.has(end+1, "in") || c.str(end+2) == "enumerate" || c.str(end+2) == "zip" {
		return nil
	}
	c.next = c.right(end + 2)
	return c.instead(c.says(open, end+1, "the names of a loop stand without brackets"), open, end+1, c.of(open+1, end))
}

// choiceInBraces is let d = if c { a } else { b }, and a choice without its else.
func (c *cursor) choiceInBraces() *mistake {
	word := c.at - 1
	for word > c.from && !c.has(word, "if") {
		word--
	}
	if !c.has(word, "if") || word <= c.from || c.kindOf(c.from) == tokKeyword && c.has(c.from, "if") {
		return nil
	}
	if (c.kindOf(c.at) == tokNL || c.kindOf(c.at) == tokEOF) && c.endsOperand(c.at-1) {
		for i := word; i < c.at; i++ {
			if c.has(i, "then") {
				m := c.says(word, c.at, "a choice has two values")
				m.got, m.expect = c.tokenAt(c.at), []string{"`else`"} // more may come at the prompt
				return m.hint("write `%s else …`", clipTo(c.of(word, c.at), 60))
			}
		}
		return nil
	}
	if !c.has(c.at, "{") {
		return nil
	}
	right, last := c.of(word, c.at), 0
	for open := c.at; ; {
		if last = c.closingOf(open); last < 0 {
			return nil
		}
		value := strings.TrimSpace(c.of(open+1, last))
		if value == "" || strings.ContainsAny(value, "\n;") {
			return nil
		}
		if open != c.at && c.has(open-1, "else") {
			right += value
			break
		}
		head := last + 2
		if !c.has(last+1, "else") {
			return nil
		}
		if open = c.right(head); c.has(head, "{") {
			open = head
		} else if !c.has(head, "if") || !c.has(open, "{") {
			return nil
		}
		right += " then " + value + " else "
		if open > head {
			right += c.of(head, open)
		}
	}
	c.next = last + 1
	if c.kindOf(last+1) == tokOp && !c.closes(last+1) && !c.has(last+1, ",") {
		right = "(" + right + ")" // else b would take in what follows
	}
	return c.instead(c.says(word, last+1, "a choice between values has `then`, not braces"), word, last+1, right)
}

// arrayType is f64[], *f64 and Vector<f64> in a signature, and vector[f64]{1.0, 2.0}.
func (c *cursor) arrayType() *mistake {
	switch {
	case c.has(c.at, "]") && c.has(c.at-1, "[") && c.kindOf(c.at-2) == tokIdent && elements[c.str(c.at-2)] != "" && c.declaration():
		if scalar := map[string]string{"float": "float", "double": "float", "int": "int", "long": "int"}[c.str(c.at-2)]; c.declaring() == "func" && scalar != "" {
			m := c.says(c.at-2, c.at+1, "the items of a list have their type in square brackets")
			c.instead(m, c.at-2, c.at+1, "list["+scalar+"]").guessed()
			m.help[0] += ", or `vector[" + elements[c.str(c.at-2)] + "]` for data"
			return m
		}
		return c.typed(c.says(c.at-2, c.at+1, "data of one index is a vector"), c.at-2, c.at+1, "vector", c.str(c.at-2))
	case c.has(c.at, "*") && c.kindOf(c.at-1) == tokIdent && modeOf(c.str(c.at-1)) != 0 && elements[c.str(c.at+1)] != "" && c.declaration():
		return c.typed(c.here("there are no pointers"), c.at, c.at+2, "vector", c.str(c.at+1))
	case c.has(c.at, "<") && c.has(c.at+2, ">") && constructors[strings.ToLower(c.str(c.at-1))] && !constructors[c.str(c.at-1)] && elements[c.str(c.at+1)] != "":
		return c.typed(c.says(c.at-1, c.at+3, "the element type is written in square brackets"), c.at-1, c.at+3, strings.ToLower(c.str(c.at-1)), c.str(c.at+1))
	case c.has(c.at, "{") && c.has(c.at-1, "]") && c.has(c.at-3, "[") && c.str(c.at-4) == "vector" && c.has(c.from, "register"):
		end := c.closingOf(c.at)
		if !c.has(end, "}") || strings.ContainsAny(c.of(c.at+1, end), "{\n") {
			return nil
		}
		c.next = end + 1
		return c.instead(c.says(c.at, end+1, "elements are given by `list`"), c.at, end+1, "(list = ["+strings.TrimSpace(c.of(c.at+1, end))+"])")
	}
	return nil
}

// taskOptions are the options of insert.
var taskOptions = wordSet("after", "color", "flops", "name", "order", "priority", "sequential", "sync", "unordered", "where", "worker")

// optionForm is insert f(RW x) after t, insert f(RW x) priority = 3 and with priority 3.
func (c *cursor) optionForm() *mistake {
	word := c.str(c.at)
	switch {
	case c.has(c.at-2, "with") && taskOptions[c.str(c.at-1)] && c.endsOperand(c.at) && !c.has(c.at+1, "="):
		m := c.here("an option is given by `=`")
		return m.hint("write `%s = %s`", c.str(c.at-1), c.str(c.at)).edit(Span{c.toks[c.at-1].hi, c.toks[c.at-1].hi}, " =").certain()
	case !c.inserts() || c.inBracket(c.at) >= 0 || !c.has(c.at-1, ")") || c.kindOf(c.at) != tokIdent:
		return nil
	case (word == "where" || word == "on") && taskOptions[c.str(c.at+1)] && c.has(c.at+2, "="): // where after = t
		return c.instead(c.says(c.at, c.at+1, "options follow `with`"), c.at, c.at+1, "with")
	case taskOptions[word] && c.has(c.at+1, "="):
		m := c.says(c.at, c.at+1, "options follow `with`")
		c.next = c.right(c.at + 2)
		return m.hint("write `with %s = …`", word).edit(Span{c.toks[c.at].lo, c.toks[c.at].lo}, "with ").certain()
	case word == "after" && c.endsOperand(c.at+1):
		hi := c.right(c.at + 1)
		for c.has(hi, ",") && c.kindOf(hi+1) == tokIdent && !c.has(hi+2, "=") { // t, u
			hi = c.right(hi + 1)
		}
		right := c.of(c.at+1, hi)
		if !strings.HasPrefix(right, "[") {
			right = "[" + right + "]"
		}
		c.next = hi
		return c.instead(c.says(c.at, hi, "options follow `with`"), c.at, hi, "with after = "+right)
	case (word == "on" || word == "where") && c.endsOperand(c.at+1):
		hi := c.right(c.at + 1)
		c.next = hi
		m := c.says(c.at, hi, "options follow `with`")
		if c.has(c.at+1, "gpu") && c.has(c.at+2, "(") { // gpu(0)
			return m.hint("for one device, say where an operand is: `RW x @ %s`; for a kind, `with where = cuda` or `opencl`", clip(c.of(c.at+1, hi)))
		}
		if hi > c.at+2 {
			return m.hint("write `with where = cpu`, or another kind of worker")
		}
		kind := c.str(c.at + 1)
		switch strings.ToLower(kind) {
		case "gpu", "gpus", "device", "accelerator", "accel":
			kind = "[cuda, opencl]"
		case "cpu", "cuda", "opencl":
			kind = strings.ToLower(kind)
		}
		return c.instead(m, c.at, hi, "with where = "+kind)
	}
	return nil
}

// inserts reports whether the statement submits a task in front of the token that does
// not fit.
func (c *cursor) inserts() bool {
	return c.has(c.from, "insert") || c.has(c.from, "let") && c.has(c.from+3, "insert")
}

// asserted is assert c : "why" and assert a = b.
func (c *cursor) asserted() *mistake {
	if !c.has(c.from, "assert") || c.kindOf(c.from) != tokKeyword || c.inBracket(c.at) >= 0 {
		return nil
	}
	switch {
	case c.has(c.at, ":") && c.kindOf(c.at+1) == tokString:
		at := c.over(c.at, c.at+1)
		at.Lo = c.toks[c.at-1].hi
		return c.here("the message follows a comma").hint("write `,`").edit(at, ",").certain()
	case c.has(c.at, "=") && !c.has(c.at+1, ">") && c.endsOperand(c.at-1):
		return c.instead(c.here("equality is written `==`"), c.at, c.at+1, "==")
	}
	return nil
}

// plus is let s = +3.
func (c *cursor) plus() *mistake {
	if !c.has(c.at, "+") || !c.touching(c.at) || c.endsOperand(c.at-1) || c.kindOf(c.at+1) != tokInt && c.kindOf(c.at+1) != tokFloat {
		return nil
	}
	return c.here("a number has no sign, or `-`").hint("leave it out").edit(c.over(c.at, c.at+1), "").certain()
}
