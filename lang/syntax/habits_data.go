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
		m := c.mistakeOver(c.at-1, c.at, "a function takes data without an access mode")
		plain := c.dropModes(m, open)
		return m.hint("write `%s`; the tasks in it say how they use `%s`", clipTo(plain, 60), c.str(c.at)).certain()
	}
	m := c.mistakeOver(lo, open, "a task is submitted by `insert`")
	if fn := c.str(open + 1); submits[strings.TrimPrefix(c.str(lo), "starpu_")] && lo == open-1 && !c.declaredBy("codelet", c.str(lo)) && c.kindOf(open+1) == tokIdent && c.has(open+2, ",") {
		return m.hint("write `insert %s(…)`", fn).edit(Span{c.toks[lo].lo, c.toks[open+3].lo}, "insert "+fn+"(").certain()
	}
	return m.hint("write `insert %s(…)`", c.text(lo, open)).edit(Span{c.toks[lo].lo, c.toks[lo].lo}, "insert ").certain()
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
	plain := c.text(open-1, open+1)
	from := c.toks[open].hi
	for i := open + 1; i < end; i++ {
		if modeOf(c.str(i)) == 0 || c.kindOf(i) != tokIdent || c.kindOf(i+1) != tokIdent || c.toks[i].lo < from {
			continue
		}
		drop := Span{c.toks[i].lo, c.toks[i+1].lo}
		m.edit(drop, "")
		plain += c.source[from:drop.Lo]
		from = drop.Hi
	}
	c.next = end + 1
	return plain + c.source[from:c.toks[end].hi]
}

// filterHabit is partition x by 4, partition x into 4 and partition(x, 4).
func (c *cursor) filterHabit() *mistake {
	if !c.has(c.from, "partition") || c.kindOf(c.from) != tokKeyword {
		return nil
	}
	says := "`partition` has a filter behind `by`: `blocks(4)` of a vector, `rows(4)`, `cols(4)` or `tiles(4, 4)` of a matrix"
	switch {
	case c.kindOf(c.at) == tokInt && c.has(c.at-1, "by"), c.kindOf(c.at) == tokIdent && c.has(c.at-1, "by") && !c.has(c.at+1, "("):
		m := c.mistakeHere("how data is split says a filter")
		return m.hint("write `blocks(%[1]s)` for a vector, `rows(%[1]s)`, `cols(%[1]s)` or `tiles(%[1]s, %[1]s)` for a matrix", c.str(c.at)).edit(c.span(c.at, c.at+1), "blocks("+c.str(c.at)+")")
	case c.kindOf(c.at) == tokIdent && (c.str(c.at) == "into" || c.str(c.at) == "in") && (c.kindOf(c.at+1) == tokInt || c.kindOf(c.at+1) == tokIdent && !c.has(c.at+2, "(")):
		m := c.mistakeOver(c.at, c.at+1, "%s", says)
		return c.replace(m, c.at, c.at+2, "by blocks("+c.str(c.at+1)+")").guessed()
	case c.has(c.from+1, "(") && c.has(c.at, ",") && c.at == c.from+3 && c.has(c.at+2, ")"):
		m := c.mistakeOver(c.from, c.at+3, "%s", says)
		return c.replace(m, c.from, c.at+3, "partition "+c.str(c.from+2)+" by blocks("+c.str(c.at+1)+")").guessed()
	}
	return nil
}

// registerHabit is register x, register x: vector[f64](n), register x = a, y = b and
// register vector[f64] x(n).
func (c *cursor) registerHabit() *mistake {
	if constructors[c.str(c.from)] && c.kindOf(c.from) == tokIdent && c.kindOf(c.at) == tokIdent { // vector[f64] x
		m := c.mistakeOver(c.from, c.at+1, "data is registered under a name, which stands first")
		return m.hint("write `register %s = %s(…)`", c.str(c.at), c.text(c.from, c.at))
	}
	if !c.has(c.from, "register") || c.kindOf(c.from) != tokKeyword {
		return nil
	}
	name := c.str(c.from + 1)
	k := c.kindOf(c.at)
	switch {
	case constructors[name] && c.at == c.from+2 && c.has(c.at, "["):
		return c.mistakeOver(c.from+1, c.at+1, "data is registered under a name, which stands first").hint("write `register x = %s[f64](…)`", name)
	case c.at == c.from+2 && (k == tokNL || k == tokEOF || c.blockEnd(c.at)):
		return c.mistakeOver(c.from, c.at, "`register` gives a name to data that a constructor makes").hint("write `register %s = vector[f64](n)`", name)
	case c.at == c.from+2 && c.has(c.at, ":"):
		m := c.mistakeHere("data is registered with `=`")
		return c.replace(m, c.at, c.at+1, " =")
	case c.at == c.from+2 && k == tokIdent && constructors[c.str(c.at)]:
		m := c.mistakeHere("data is registered with `=`")
		return m.hint("write `register %s = %s…`", name, c.str(c.at)).edit(Span{c.toks[c.at].lo, c.toks[c.at].lo}, "= ").certain()
	case c.has(c.at, ",") && c.kindOf(c.at+1) == tokIdent && c.has(c.at+2, "=") && c.inBracket(c.at) < 0 && c.has(c.exprStart(c.at, nil)-1, "="):
		m := c.mistakeHere("one `register` has one constructor")
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
			return c.replace(c.mistakeOver(c.from, c.at+1, "`wait` is a statement, not a function"), c.from, c.at+1, "wait")
		}
	case "break", "continue":
		if c.has(c.at, "(") {
			return c.mistakeOver(c.from, c.at+1, "`%s` is a statement, not a function", c.str(c.from)).hint("write `%s`", c.str(c.from))
		}
	case "insert":
		if c.kindOf(c.from) != tokKeyword || c.inBracket(c.at) >= 0 {
			return nil
		}
		name := c.from + 1
		if c.kindOf(c.at) == tokString && c.at == name && c.has(c.at+1, "(") {
			m, right := c.mistakeOver(c.at, c.at+1, "the name of a codelet stands without quotes"), strings.Trim(c.str(c.at), `"`)
			if strings.ContainsFunc(right, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
				return m.hint("a name has letters, digits and `_`")
			}
			return c.replace(m, c.at, c.at+1, right)
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
			m := c.mistakeOver(c.at, hi, "the operands of a task are written in parentheses")
			at := c.span(c.at, hi)
			at.Lo = c.toks[name].hi
			return m.hint("write `insert %s(%s)`", c.text(c.from+1, c.at), clipTo(c.text(c.at, hi), 60)).edit(at, "("+c.text(c.at, hi)+")").certain()
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
			c.replace(m, c.from, c.end, "save("+c.text(x, hi)+", "+c.str(file)+")")
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
		m := c.mistakeHere("the type follows the name and a colon")
		return c.replace(m, c.at-1, c.at+1, c.str(c.at)+": "+c.str(c.at-1))
	}
	m := c.mistakeHere("the type follows a colon")
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
		return c.replace(c.mistakeOver(c.at, c.at+1, "`in` is not an access mode"), c.at, c.at+1, "R")
	case c.kindOf(c.at) == tokIdent && c.kindOf(c.at-1) == tokIdent && modeWords[c.str(c.at-1)] != "" && c.inBracket(c.at) >= 0 &&
		(c.has(c.at-2, "(") || c.has(c.at-2, ",") || c.has(c.at-2, ":") && constructors[c.str(c.at)]):
		word := c.str(c.at - 1)
		return c.replace(c.mistakeOver(c.at-1, c.at, "`%s` is not an access mode", word), c.at-1, c.at, modeWords[word])
	case c.has(c.from, "acquire") && c.kindOf(c.from) == tokKeyword && c.at == c.from+1 && c.kindOf(c.at) == tokIdent && modeOf(c.str(c.at)) == 0:
		x := c.str(c.at)
		return c.mistakeOver(c.at, c.at+1, "unexpected `%s`, expected an access mode (R, W or RW)", x).hint("write `acquire R %[1]s as a` to read it, `acquire RW %[1]s as a` to change it", x)
	case c.has(c.at, ",") && c.has(c.at-1, ")") && c.kindOf(c.at+1) == tokIdent && c.has(c.at+2, "=") && c.inBracket(c.at) < 0 && c.has(c.from, "insert"):
		m := c.mistakeOver(c.at, c.at+1, "options follow `with`")
		return m.hint("write `with %s = …`", c.str(c.at+1)).edit(c.span(c.at, c.at+1), " with").certain()
	}
	return nil
}

// Habits of data, views and folds: x = register …, new vector, blocks 4, partition A into
// tiles(4, 4), sum(e for i in x), acquire without a name, t.wait().

// registerAsValue is x = register vector[f64](n), let x = register … and register x = new ….
func (c *cursor) registerAsValue() *mistake {
	if c.has(c.at, "register") && c.assigned() {
		m := c.mistakeOver(c.from, c.at+1, "`register` begins the statement")
		return c.replace(m, c.from, c.at+1, "register "+c.str(c.at-2)+" =")
	}
	if c.has(c.from, "register") && c.kindOf(c.at-1) == tokIdent && c.str(c.at-1) == "new" && c.has(c.at-2, "=") && constructors[c.str(c.at)] {
		m := c.mistakeOver(c.at-1, c.at, "data is made without `new`")
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

// statementAsValue is let v = partition x by blocks(4), let a = acquire R x and let t = wait x:
// statements in place of values.
func (c *cursor) statementAsValue() *mistake {
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
		m := c.mistakeOver(c.from, c.at+1, "`wait` is a statement and gives no value")
		return m.hint("write `wait %s` alone; `value(%s)` and `acquire` wait by themselves", x, x)
	}
	m := c.mistakeOver(c.from, c.at+1, "`%s` begins the statement", word)
	switch {
	case word == "partition" && c.kindOf(c.at+1) == tokIdent && c.has(c.at+2, "by"):
		return c.replace(m, c.from, c.at+1, "partition "+name+" =")
	case word == "partition":
		return m.hint("write `partition %s = %s by blocks(4)` for a vector, `tiles(4, 4)` for a matrix", name, x)
	case modeOf(c.str(c.at+1)) != 0 && c.at+3 == c.next:
		return c.replace(m, c.from, c.next, c.text(c.at, c.next)+" as "+name)
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
		return c.replace(c.mistakeOver(c.at, c.at+1, says), c.at, c.at+1, "by")
	case (c.kindOf(c.at) == tokInt || c.kindOf(c.at) == tokIdent) && filters[c.str(c.at-1)] && c.has(c.at-2, "by"):
		hi := c.at
		for c.kindOf(hi) != tokNL && c.kindOf(hi) != tokEOF && !c.blockEnd(hi) && !c.has(hi, "then") {
			hi++
		}
		m := c.mistakeHere("the arguments of a filter are written in parentheses")
		c.replace(m, c.at-1, hi, c.str(c.at-1)+"("+c.text(c.at, hi)+")")
		c.next = hi
		return m
	case filters[c.str(open)] && c.has(open-1, ".") && c.kindOf(open-2) == tokIdent:
		return c.replace(c.mistakeOver(open-1, open+1, says), open-1, open+1, " by "+c.str(open))
	case filters[c.str(open)] && c.has(open-1, "=") && c.kindOf(open+2) == tokIdent && c.has(open+3, ","):
		m := c.mistakeOver(open, open+4, says)
		return c.replace(m, open, open+4, c.str(open+2)+" by "+c.str(open)+"(").trimAfter(c.parser, open+3)
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
	hi := c.exprEnd(lo)
	if lo >= hi || !startsExpr(c.tokenAt(lo)) || c.has(hi, "{") {
		return nil
	}
	m := c.mistakeHere("the expression of a fold is written in braces")
	c.next = hi
	at := c.span(c.at, hi)
	at.Lo = c.toks[c.at-1].hi
	return m.hint("write `%s`", clipTo(c.text(word, c.at)+" { "+c.text(lo, hi)+" }", 72)).edit(at, " { "+c.text(lo, hi)+" }").certain()
}

// generator is sum(e for i in x), between the parentheses at the tokens open and end. Where
// i is not an index in e, it stands for the elements, as it does elsewhere.
func (c *cursor) generator(open, end int) *mistake {
	m := c.mistakeHere("a fold names its indices first")
	word, index := c.str(open-1), c.str(c.at+1)
	in := c.at + 2
	for c.has(in, ",") && c.kindOf(in+1) == tokIdent {
		in += 2
	}
	over := c.text(min(in+1, end), end)
	if c.has(in+1, "range") && c.has(in+2, "(") && c.closingOf(in+2) == end-1 { // range(n), range(a, b)
		last := c.exprEnd(in + 3)
		switch {
		case last == end-1 && last > in+3:
			over = "0.." + c.text(in+3, last)
		case c.exprEnd(last+1) == end-1:
			over = c.text(in+3, last) + ".." + c.text(last+1, end-1)
		}
	}
	if !c.has(in, "in") || c.exprEnd(in+1, "if", "for") != end || strings.HasPrefix(over, "range") {
		return m.hint("write `%s i in x { x[i] }`, for some of them `%s i in x { if x[i] > 0.0 then x[i] else 0.0 }`", word, word)
	}
	var values strings.Builder // e, with x[i] for i
	elements, indices := 0, 0
	for i, lo := open+1, c.toks[open+1].lo; i <= c.at; i++ {
		values.WriteString(c.source[lo:c.toks[i].lo])
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
	switch text := word + " " + c.text(c.at+1, in) + " in " + over + " { "; {
	case elements == 0 || in > c.at+2 || strings.Contains(over, ".."):
		return c.replace(m, open-1, end+1, text+c.text(open+1, c.at)+" }")
	case indices == 0 && in+2 == end:
		return c.replace(m, open-1, end+1, text+strings.TrimSpace(values.String())+" }").guessed()
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

// acquireWithoutName is acquire R x { … } and acquire R x -> a { … }.
func (c *cursor) acquireWithoutName() *mistake {
	if !c.has(c.from, "acquire") || c.kindOf(c.from) != tokKeyword || modeOf(c.str(c.from+1)) == 0 || c.at < c.from+3 {
		return nil
	}
	switch {
	case c.has(c.at, "->"), c.has(c.at, "=") && c.kindOf(c.at+1) == tokIdent:
		return c.replace(c.mistakeHere("the name for the elements follows `as`"), c.at, c.at+1, "as")
	case (c.has(c.at, "{") || c.kindOf(c.at) == tokNL || c.kindOf(c.at) == tokEOF) && c.endsOperand(c.at-1) && !c.has(c.at-2, "as") && c.inBracket(c.at) < 0:
		x := c.text(c.from+2, c.at)
		c.next = c.at
		m := c.mistakeOver(c.from, c.at, "`acquire` gives the elements a name")
		return m.hint("write `acquire %[1]s %[2]s as a { … }`; the elements are `a[i]`, those of a matrix `a[i, j]`", c.str(c.from+1), x)
	}
	return nil
}

// waitAsMethod is t.wait().
func (c *cursor) waitAsMethod() *mistake {
	if !c.has(c.at, "wait") || !c.has(c.at-1, ".") || c.at-1 <= c.from || !c.has(c.at+1, "(") || !c.has(c.at+2, ")") {
		return nil
	}
	c.next = c.at + 3
	m := c.mistakeOver(c.from, c.at+3, "`wait` is a statement, not a function")
	if k := c.kindOf(c.next); c.kindOf(c.from) != tokIdent && !c.has(c.from, "insert") || c.inBracket(c.at) >= 0 || c.exprStart(c.at, nil) != c.from || k != tokNL && k != tokEOF && !c.blockEnd(c.next) {
		return m.hint("write `wait t` as a statement of its own; it gives nothing")
	}
	return c.replace(m, c.from, c.at+3, "wait "+c.text(c.from, c.at-1))
}

// listRange is for i in [0:8].
func (c *cursor) listRange() *mistake {
	open := c.inBracket(c.at)
	if !c.has(c.at, ":") || open < 0 || !c.has(open, "[") || !c.has(open-1, "in") || c.at == open+1 {
		return nil
	}
	end := c.closingOf(open)
	if end < 0 || strings.ContainsAny(c.text(c.at+1, end), ":,") {
		return nil
	}
	c.next = end + 1
	return c.replace(c.mistakeHere("a range is written `a..b`"), open, end+1, c.text(open+1, c.at)+".."+c.text(c.at+1, end)).guessed()
}

// reducerSign is reduce = +.
func (c *cursor) reducerSign() *mistake {
	to := map[string]string{"+": "sum", "*": "prod"}[c.str(c.at)]
	if to == "" || !c.has(c.at-1, "=") || c.str(c.at-2) != "reduce" || !c.has(c.at+1, ")") && !c.has(c.at+1, ",") {
		return nil
	}
	return c.replace(c.mistakeHere("a reducer has a name"), c.at, c.at+1, to)
}

// Habits of whole statements: partition A by rows(3) as B, let B = A by rows(3), register
// x[3] = …, prefetch x, insert f(RW x) priority 2, and lists with conditions.

// namedView is partition A by rows(3) as B, let B = A by rows(3) and partition A, rows(3).
func (c *cursor) namedView() *mistake {
	name := c.from + 1
	if c.kindOf(name) != tokIdent {
		return nil
	}
	switch {
	case c.has(c.from, "let") && c.has(name+1, "=") && c.kindOf(name+2) == tokIdent && c.at == name+3 && c.has(c.at, "by"):
		m := c.mistakeOver(c.from, c.from+1, "views are made by `partition`")
		c.next = c.exprEnd(c.at + 1)
		return m.hint("write `partition %s`", clipTo(c.text(name, c.next), 72)).edit(c.span(c.from, name), "partition").certain()
	case !c.has(c.from, "partition"):
		return nil
	case c.has(name+1, "by") && c.has(c.at, "as") && c.kindOf(c.at+1) == tokIdent && c.lineEnds(c.at+1):
		m := c.mistakeOver(c.at, c.at+2, "the name of a view comes first")
		c.next = c.at + 2
		return c.replace(m, c.from, c.at+2, "partition "+c.str(c.at+1)+" = "+c.text(name, c.at))
	case c.has(name+1, ",") && filters[c.str(name+2)] && c.has(name+3, "("):
		m := c.mistakeOver(name+1, name+2, "a filter follows `by`")
		c.next = c.at
		return m.hint("write `partition %s by %s`", c.str(name), clipTo(c.text(name+2, c.at), 60)).edit(c.span(name+1, name+2), " by").certain()
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
	last := c.exprEnd(end + 2)
	index := "i"
	for k := end + 2; k < last; k++ {
		if c.str(k) == index {
			index = "k"
		}
	}
	c.next = last
	m := c.mistakeOver(open, end+1, "a list of data is written on the right")
	return c.replace(m, c.from, last, "register "+c.str(open-1)+" = ["+c.text(end+2, last)+" for "+index+" in 0.."+c.text(open+1, end)+"]")
}

// prefetchTo is prefetch x, without its memory.
func (c *cursor) prefetchTo() *mistake {
	if !c.has(c.from, "prefetch") || c.kindOf(c.at) != tokNL && c.kindOf(c.at) != tokEOF || !c.endsOperand(c.at-1) || c.inBracket(c.at) >= 0 {
		return nil
	}
	m := c.mistakeOver(c.from, c.at, "`prefetch` names the memory that the data goes to")
	m.got, m.expect = c.tokenAt(c.at), []string{"`to`"} // more may come at the prompt
	return m.hint("write `%s to ram`, or `to gpu(0)` for the first device", clipTo(c.text(c.from, c.at), 60))
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
		return c.replace(c.mistakeOver(c.at, c.at+1, "options follow `with`"), c.at, c.at+1, "with "+word+" = true")
	case taskOptions[word] && c.has(c.at-1, ")") && startsExpr(c.tokenAt(c.at+1)) && !c.has(c.at+1, "("):
		c.next = c.exprEnd(c.at + 1)
		return c.replace(c.mistakeOver(c.at, c.next, "options follow `with`"), c.at, c.next, "with "+word+" = "+c.text(c.at+1, c.next))
	case c.has(c.at, ",") && switches[c.str(c.at+1)] && (c.lineEnds(c.at+1) || c.has(c.at+2, ",")):
		c.next = c.at + 2
		return c.replace(c.mistakeOver(c.at+1, c.at+2, "an option is given by `=`"), c.at+1, c.at+2, c.str(c.at+1)+" = true")
	case switches[c.str(c.at-1)] && (c.has(c.at-2, "with") || c.has(c.at-2, ",")) && (c.has(c.at, ",") || c.lineEnds(c.at-1)):
		return c.replace(c.mistakeOver(c.at-1, c.at, "an option is given by `=`"), c.at-1, c.at, c.str(c.at-1)+" = true")
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
	loop := c.exprEnd(open+1, "for")
	if end < 0 || loop >= c.at || !c.has(loop, "for") || strings.Contains(c.text(open, end), "\n") {
		return nil
	}
	name := "xs"
	if c.has(c.from, "let") && open == c.from+3 {
		name = c.str(c.from + 1)
	}
	c.next = end + 1
	m := c.mistakeOver(c.at, c.at+1, "a list takes all that its loop gives")
	return m.hint("write `let %[3]s = []`, and below it a loop that appends: `%[1]s { if %[2]s { %[3]s = %[3]s + [%[4]s] } }`", c.text(loop, c.at), c.text(c.at+1, end), name, c.text(open+1, loop))
}

// Habits of parameters and operands: (a, b int), (vector[f64] x), insert f(x: RW a) and
// insert f(a RW).

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
	hi := c.exprEnd(i)
	m := c.mistakeOver(lo, last, "every parameter has its type")
	if i >= hi || c.kindOf(i) != tokIdent && c.kindOf(i) != tokKeyword {
		for k := range names {
			names[k] += ": int"
		}
		return m.hint("write `%s`, each with the type that it has", clipTo(strings.Join(names, ", "), 60))
	}
	typ := c.text(i, hi)
	for k := range names {
		names[k] += ": " + typ
	}
	return c.replace(m, lo, hi, strings.Join(names, ", "))
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
		lo := c.exprStart(k, nil)
		if !c.has(lo-1, ":") || modeOf(c.str(lo)) != 0 {
			return nil
		}
		m := c.mistakeHere("the mode comes before the type")
		return c.replace(m, lo, k+1, c.str(k)+" "+c.text(lo, k))
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
	m := c.mistakeOver(lo, typ+5, "a parameter is written `name: MODE type`")
	known := mode != "" || c.declaring() == "func"
	if !known {
		mode = "RW "
	}
	c.replace(m, lo, typ+5, c.str(typ+4)+": "+mode+c.text(typ, typ+4))
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
		m := c.mistakeHere("put a space after the mode")
		return c.replace(m, c.at-1, c.at+2, name+" "+c.str(c.at+1))
	case c.has(c.at, ":") && first && modeOf(c.str(c.at+1)) != 0 && (c.has(c.at+2, ",") || c.has(c.at+2, ")")): // x: RW
		m := c.mistakeHere("the mode comes before the data")
		return c.replace(m, c.at-1, c.at+2, c.str(c.at+1)+" "+name)
	case c.has(c.at, ":") && first && startsExpr(c.tokenAt(c.at+1)):
		hi := c.exprEnd(c.at)
		m := c.mistakeHere("an argument is given by name with `=`")
		return c.replace(m, c.at-1, hi, name+" = "+c.text(c.at+1, hi))
	case c.has(c.at, ":") && c.kindOf(c.at-2) == tokIdent && modeOf(c.str(c.at-2)) != 0: // R x: a
		mode, hi := c.str(c.at-2), c.exprEnd(c.at)
		m := c.mistakeHere("an operand is given by name with `=`")
		if c.kindOf(c.at+1) != tokIdent {
			return m.hint("write `%s = %s x` for data, `%s = %s` for a value", name, mode, name, clip(c.text(c.at+1, max(hi, c.at+2))))
		}
		return c.replace(m, c.at-2, hi, name+" = "+mode+" "+c.text(c.at+1, hi))
	case c.kindOf(c.at) == tokIdent && modeOf(c.str(c.at)) != 0 && modeOf(name) == 0 && first && (c.has(c.at+1, ",") || c.has(c.at+1, ")")):
		m := c.mistakeHere("the mode comes before the data")
		return c.replace(m, c.at-1, c.at+1, c.str(c.at)+" "+name)
	}
	return nil
}
