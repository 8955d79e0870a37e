package syntax

// Habits of statements on data: calls in place of insert, partition and wait, types in
// front of names.

import (
	"strings"
	"unicode"
)

// submits are functions elsewhere that submit the task whose codelet is their first
// argument.
var submits = wordSet("insert", "submit", "spawn", "task_insert", "insert_task", "task_submit", "submit_task")

// callWithModes is insert_task(f, RW x) and f(RW x), without insert; a function takes its data without modes.
func (c *cursor) callWithModes() *mistake {
	open := c.inBracket(c.at)
	if c.declaration() || c.kindOf(c.at) != tokIdent || c.kindOf(c.at-1) != tokIdent || modeOf(c.str(c.at-1)) == 0 || open < c.from+1 {
		return nil
	}
	lo := open - 1
	for c.kindOf(lo) == tokIdent && c.has(lo-1, ".") && lo-2 >= c.from {
		lo -= 2
	}
	if c.kindOf(lo) != tokIdent || c.has(lo-1, "insert") {
		return nil
	}
	if lo == open-1 && c.declaredBy("func", c.str(lo)) {
		m := c.says(c.at-1, c.at, "a function takes data without an access mode")
		plain := c.dropModes(m, open)
		return m.hint("write `%s`; the tasks in it say how they use `%s`", clipTo(plain, 60), c.str(c.at)).certain()
	}
	m := c.says(lo, open, "a task is submitted by `insert`")
	if fn := c.str(open + 1); submits[strings.TrimPrefix(c.str(lo), "starpu_")] && lo == open-1 && !c.declaredBy("codelet", c.str(lo)) && c.kindOf(open+1) == tokIdent && c.has(open+2, ",") {
		return m.hint("write `insert %s(…)`", fn).edit(Span{c.toks[lo].lo, c.toks[open+3].lo}, "insert "+fn+"(").certain()
	}
	return m.hint("write `insert %s(…)`", c.of(lo, open)).edit(Span{c.toks[lo].lo, c.toks[lo].lo}, "insert ").certain()
}

// declaredBy reports whether the word declares name somewhere in the text.
func (p *parser) declaredBy(word, name string) bool {
	if p.declared == nil {
		p.declared = map[[2]string]bool{}
		for i := range p.toks {
			if p.kindOf(i) == tokKeyword && i+1 < len(p.toks) {
				p.declared[[2]string{p.str(i), p.str(i + 1)}] = true
			}
		}
	}
	return p.declared[[2]string{word, name}]
}

// dropModes gives m the edits that take the access modes out of the call whose bracket
// opens at token open, and returns the call without them.
func (c *cursor) dropModes(m *mistake, open int) string {
	end := c.closingOf(open)
	if end < 0 {
		end = c.at
	}
	plain := c.of(open-1, open+1)
	from := c.toks[open].hi
	for i := open + 1; i < end; i++ {
		if modeOf(c.str(i)) == 0 || c.kindOf(i) != tokIdent || c.kindOf(i+1) != tokIdent || c.toks[i].lo < from {
			continue
		}
		drop := Span{c.toks[i].lo, c.toks[i+1].lo}
		m.edit(drop, "")
		plain += c.text[from:drop.Lo]
		from = drop.Hi
	}
	c.next = end + 1
	return plain + c.text[from:c.toks[end].hi]
}

// filterHabit is partition x by 4, partition x into 4 and partition(x, 4).
func (c *cursor) filterHabit() *mistake {
	if !c.has(c.from, "partition") || c.kindOf(c.from) != tokKeyword {
		return nil
	}
	says := "`partition` has a filter behind `by`: `blocks(4)` of a vector, `rows(4)`, `cols(4)` or `tiles(4, 4)` of a matrix"
	switch {
	case c.kindOf(c.at) == tokInt && c.has(c.at-1, "by"), c.kindOf(c.at) == tokIdent && c.has(c.at-1, "by") && !c.has(c.at+1, "("):
		m := c.here("how data is split says a filter")
		return m.hint("write `blocks(%[1]s)` for a vector, `rows(%[1]s)`, `cols(%[1]s)` or `tiles(%[1]s, %[1]s)` for a matrix", c.str(c.at)).edit(c.over(c.at, c.at+1), "blocks("+c.str(c.at)+")")
	case c.kindOf(c.at) == tokIdent && (c.str(c.at) == "into" || c.str(c.at) == "in") && (c.kindOf(c.at+1) == tokInt || c.kindOf(c.at+1) == tokIdent && !c.has(c.at+2, "(")):
		m := c.says(c.at, c.at+1, "%s", says)
		return c.instead(m, c.at, c.at+2, "by blocks("+c.str(c.at+1)+")").guessed()
	case c.has(c.from+1, "(") && c.has(c.at, ",") && c.at == c.from+3 && c.has(c.at+2, ")"):
		m := c.says(c.from, c.at+3, "%s", says)
		return c.instead(m, c.from, c.at+3, "partition "+c.str(c.from+2)+" by blocks("+c.str(c.at+1)+")").guessed()
	}
	return nil
}

// registerHabit is register x, register x: vector[f64](n), register x = a, y = b and
// register vector[f64] x(n).
func (c *cursor) registerHabit() *mistake {
	if constructors[c.str(c.from)] && c.kindOf(c.from) == tokIdent && c.kindOf(c.at) == tokIdent { // vector[f64] x
		m := c.says(c.from, c.at+1, "data is registered under a name, which stands first")
		return m.hint("write `register %s = %s(…)`", c.str(c.at), c.of(c.from, c.at))
	}
	if !c.has(c.from, "register") || c.kindOf(c.from) != tokKeyword {
		return nil
	}
	name := c.str(c.from + 1)
	k := c.kindOf(c.at)
	switch {
	case constructors[name] && c.at == c.from+2 && c.has(c.at, "["):
		return c.says(c.from+1, c.at+1, "data is registered under a name, which stands first").hint("write `register x = %s[f64](…)`", name)
	case c.at == c.from+2 && (k == tokNL || k == tokEOF || c.blockEnd(c.at)):
		return c.says(c.from, c.at, "`register` gives a name to data that a constructor makes").hint("write `register %s = vector[f64](n)`", name)
	case c.at == c.from+2 && c.has(c.at, ":"):
		m := c.here("data is registered with `=`")
		return c.instead(m, c.at, c.at+1, " =")
	case c.at == c.from+2 && k == tokIdent && constructors[c.str(c.at)]:
		m := c.here("data is registered with `=`")
		return m.hint("write `register %s = %s…`", name, c.str(c.at)).edit(Span{c.toks[c.at].lo, c.toks[c.at].lo}, "= ").certain()
	case c.has(c.at, ",") && c.kindOf(c.at+1) == tokIdent && c.has(c.at+2, "=") && c.inBracket(c.at) < 0 && c.has(c.left(c.at, nil)-1, "="):
		m := c.here("one `register` has one constructor")
		hi := c.toks[c.at+1].lo
		return m.hint("write a `register` for each").edit(Span{c.toks[c.at].lo, hi}, "\n"+c.indentOf(c.from)+"register ").certain()
	}
	return nil
}

// waitCall is wait().
func (c *cursor) waitCall() *mistake {
	switch c.str(c.from) {
	case "wait":
		if c.has(c.at, ")") && c.has(c.at-1, "(") && c.at == c.from+2 {
			return c.instead(c.says(c.from, c.at+1, "`wait` is a statement, not a function"), c.from, c.at+1, "wait")
		}
	case "break", "continue":
		if c.has(c.at, "(") {
			return c.says(c.from, c.at+1, "`%s` is a statement, not a function", c.str(c.from)).hint("write `%s`", c.str(c.from))
		}
	case "insert":
		if c.kindOf(c.from) != tokKeyword || c.inBracket(c.at) >= 0 {
			return nil
		}
		name := c.from + 1
		if c.kindOf(c.at) == tokString && c.at == name && c.has(c.at+1, "(") {
			m, right := c.says(c.at, c.at+1, "the name of a codelet stands without quotes"), strings.Trim(c.str(c.at), `"`)
			if strings.ContainsFunc(right, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
				return m.hint("a name has letters, digits and `_`")
			}
			return c.instead(m, c.at, c.at+1, right)
		}
		for c.has(name+1, ".") {
			name += 2
		}
		if c.at == name+1 && c.kindOf(name) == tokIdent && startsExpr(c.tokenAt(c.at)) && !c.has(c.at, "(") && !c.has(c.at, "[") {
			hi := c.at
			for c.kindOf(hi) != tokNL && c.kindOf(hi) != tokEOF && !c.blockEnd(hi) && !c.has(hi, "with") && !c.has(hi, "{") {
				hi++
			}
			if c.has(hi, "{") {
				return nil
			}
			m := c.says(c.at, hi, "the operands of a task are written in parentheses")
			at := c.over(c.at, hi)
			at.Lo = c.toks[name].hi
			return m.hint("write `insert %s(%s)`", c.of(c.from+1, c.at), clipTo(c.of(c.at, hi), 60)).edit(at, "("+c.of(c.at, hi)+")").certain()
		}
	}
	return nil
}

// saved adds to m what stands for save x to "x.npy", save x, "x.npy" and save x.
func (c *cursor) saved(m *mistake) {
	x, file := c.from+1, c.end-1
	if c.kindOf(file) == tokString && file > x {
		hi := file
		if last := c.str(hi - 1); last == "to" || last == "as" || last == "in" || last == "into" || last == "," {
			hi--
		}
		if hi > x {
			c.instead(m, c.from, c.end, "save("+c.of(x, hi)+", "+c.str(file)+")")
			return
		}
	}
	data := "x"
	if c.kindOf(x) == tokIdent {
		data = c.str(x)
	}
	m.hint("write `save(%s, \"%s.npy\")`", data, data)
}

// paramHabit is param n int = 10.
func (c *cursor) paramHabit() *mistake {
	if !c.has(c.from, "param") && !c.has(c.from, "extern") || c.kindOf(c.from) != tokKeyword || c.at != c.from+2 || c.kindOf(c.at) != tokIdent || c.kindOf(c.at-1) != tokIdent {
		return nil
	}
	if declares[c.str(c.at-1)] && !declares[c.str(c.at)] { // param int n
		m := c.here("the type follows the name and a colon")
		return c.instead(m, c.at-1, c.at+1, c.str(c.at)+": "+c.str(c.at-1))
	}
	m := c.here("the type follows a colon")
	return m.hint("write `%s: %s`", c.str(c.at-1), c.str(c.at)).edit(Span{c.toks[c.at-1].hi, c.toks[c.at-1].hi}, ":").certain()
}

// modeWords are other names for access modes.
var modeWords = map[string]string{
	"STARPU_R": "R", "STARPU_W": "W", "STARPU_RW": "RW", "STARPU_REDUX": "REDUX", "STARPU_SCRATCH": "SCRATCH", "STARPU_COMMUTE": "COMMUTE",
	"r": "R", "w": "W", "rw": "RW", "Rw": "RW", "in": "R", "out": "W", "inout": "RW", "input": "R", "output": "W", "read": "R", "write": "W", "readwrite": "RW", "redux": "REDUX", "scratch": "SCRATCH", "commute": "COMMUTE",
}

// modeHabit is an access mode under another name, none in acquire, and options behind
// an insert without with.
func (c *cursor) modeHabit() *mistake {
	switch {
	case c.has(c.at, "in") && (c.has(c.at-1, ":") || c.has(c.at-1, ",") || c.has(c.at-1, "(")) && c.kindOf(c.at+1) == tokIdent && c.inBracket(c.at) >= 0: // x: in vector[f64], f(in x)
		return c.instead(c.says(c.at, c.at+1, "`in` is not an access mode"), c.at, c.at+1, "R")
	case c.kindOf(c.at) == tokIdent && c.kindOf(c.at-1) == tokIdent && modeWords[c.str(c.at-1)] != "" && c.inBracket(c.at) >= 0 &&
		(c.has(c.at-2, "(") || c.has(c.at-2, ",") || c.has(c.at-2, ":") && constructors[c.str(c.at)]):
		word := c.str(c.at - 1)
		return c.instead(c.says(c.at-1, c.at, "`%s` is not an access mode", word), c.at-1, c.at, modeWords[word])
	case c.has(c.from, "acquire") && c.kindOf(c.from) == tokKeyword && c.at == c.from+1 && c.kindOf(c.at) == tokIdent && modeOf(c.str(c.at)) == 0:
		x := c.str(c.at)
		return c.says(c.at, c.at+1, "unexpected `%s`, expected an access mode (R, W or RW)", x).hint("write `acquire R %[1]s as a` to read it, `acquire RW %[1]s as a` to change it", x)
	case c.has(c.at, ",") && c.has(c.at-1, ")") && c.kindOf(c.at+1) == tokIdent && c.has(c.at+2, "=") && c.inBracket(c.at) < 0 && c.has(c.from, "insert"):
		m := c.says(c.at, c.at+1, "options follow `with`")
		return m.hint("write `with %s = …`", c.str(c.at+1)).edit(c.over(c.at, c.at+1), " with").certain()
	}
	return nil
}
