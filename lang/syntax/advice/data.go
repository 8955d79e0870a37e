package advice

// Habits of statements on data: calls in place of insert, partition and wait, types in
// front of names.

import (
	"strings"
	"unicode"

	"github.com/starpush/starpush/lang/syntax/token"
)

// submits are functions elsewhere that submit the task whose codelet is their first
// argument.
var submits = token.WordSet("insert", "submit", "spawn", "task_insert", "insert_task", "task_submit", "submit_task")

// callWithModes is insert_task(f, RW x) and f(RW x), without insert; a function takes its data without modes.
func (c *cursor) callWithModes() *token.Mistake {
	open := c.inBracket(c.at)
	if c.declaration() || c.Kind(c.at) != token.Ident || c.Kind(c.at-1) != token.Ident || token.ModeOf(c.Str(c.at-1)) == 0 || open < c.from+1 {
		return nil
	}
	lo := open - 1
	for c.Kind(lo) == token.Ident && c.Has(lo-1, ".") && lo-2 >= c.from {
		lo -= 2
	}
	if c.Kind(lo) != token.Ident || c.Has(lo-1, "insert") {
		return nil
	}
	if lo == open-1 && c.DeclaredBy("func", c.Str(lo)) {
		m := c.mistakeOver(c.at-1, c.at, "a function takes data without an access mode")
		plain := c.dropModes(m, open)
		return m.Hint("write `%s`; the tasks in it say how they use `%s`", token.ClipTo(plain, 60), c.Str(c.at)).Certain()
	}
	m := c.mistakeOver(lo, open, "a task is submitted by `insert`")
	if fn := c.Str(open + 1); submits[strings.TrimPrefix(c.Str(lo), "starpu_")] && lo == open-1 && !c.DeclaredBy("codelet", c.Str(lo)) && c.Kind(open+1) == token.Ident && c.Has(open+2, ",") {
		return m.Hint("write `insert %s(…)`", fn).Edit(token.Span{Lo: c.Tokens[lo].Lo, Hi: c.Tokens[open+3].Lo}, "insert "+fn+"(").Certain()
	}
	return m.Hint("write `insert %s(…)`", c.text(lo, open)).Edit(token.Span{Lo: c.Tokens[lo].Lo, Hi: c.Tokens[lo].Lo}, "insert ").Certain()
}

// dropModes gives m the edits that take the access modes out of the call whose bracket
// opens at token open, and returns the call without them.
func (c *cursor) dropModes(m *token.Mistake, open int) string {
	end := c.closingOf(open)
	if end < 0 {
		end = c.at
	}
	plain := c.text(open-1, open+1)
	from := c.Tokens[open].Hi
	for i := open + 1; i < end; i++ {
		if token.ModeOf(c.Str(i)) == 0 || c.Kind(i) != token.Ident || c.Kind(i+1) != token.Ident || c.Tokens[i].Lo < from {
			continue
		}
		drop := token.Span{Lo: c.Tokens[i].Lo, Hi: c.Tokens[i+1].Lo}
		m.Edit(drop, "")
		plain += c.Text[from:drop.Lo]
		from = drop.Hi
	}
	c.next = end + 1
	return plain + c.Text[from:c.Tokens[end].Hi]
}

// filterHabit is partition x by 4, partition x into 4 and partition(x, 4).
func (c *cursor) filterHabit() *token.Mistake {
	if !c.Has(c.from, "partition") || c.Kind(c.from) != token.Keyword {
		return nil
	}
	says := "`partition` has a filter behind `by`: `blocks(4)` of a vector, `rows(4)`, `cols(4)` or `tiles(4, 4)` of a matrix"
	switch {
	case c.Kind(c.at) == token.Int && c.Has(c.at-1, "by"), c.Kind(c.at) == token.Ident && c.Has(c.at-1, "by") && !c.Has(c.at+1, "("):
		m := c.mistakeHere("how data is split says a filter")
		return m.Hint("write `blocks(%[1]s)` for a vector, `rows(%[1]s)`, `cols(%[1]s)` or `tiles(%[1]s, %[1]s)` for a matrix", c.Str(c.at)).Edit(c.span(c.at, c.at+1), "blocks("+c.Str(c.at)+")")
	case c.Kind(c.at) == token.Ident && (c.Str(c.at) == "into" || c.Str(c.at) == "in") && (c.Kind(c.at+1) == token.Int || c.Kind(c.at+1) == token.Ident && !c.Has(c.at+2, "(")):
		m := c.mistakeOver(c.at, c.at+1, "%s", says)
		return c.replace(m, c.at, c.at+2, "by blocks("+c.Str(c.at+1)+")").Guessed()
	case c.Has(c.from+1, "(") && c.Has(c.at, ",") && c.at == c.from+3 && c.Has(c.at+2, ")"):
		m := c.mistakeOver(c.from, c.at+3, "%s", says)
		return c.replace(m, c.from, c.at+3, "partition "+c.Str(c.from+2)+" by blocks("+c.Str(c.at+1)+")").Guessed()
	}
	return nil
}

// registerHabit is register x, register x: vector[f64](n), register x = a, y = b and
// register vector[f64] x(n).
func (c *cursor) registerHabit() *token.Mistake {
	if token.Constructors[c.Str(c.from)] && c.Kind(c.from) == token.Ident && c.Kind(c.at) == token.Ident { // vector[f64] x
		m := c.mistakeOver(c.from, c.at+1, "data is registered under a name, which stands first")
		return m.Hint("write `register %s = %s(…)`", c.Str(c.at), c.text(c.from, c.at))
	}
	if !c.Has(c.from, "register") || c.Kind(c.from) != token.Keyword {
		return nil
	}
	name := c.Str(c.from + 1)
	k := c.Kind(c.at)
	switch {
	case token.Constructors[name] && c.at == c.from+2 && c.Has(c.at, "["):
		return c.mistakeOver(c.from+1, c.at+1, "data is registered under a name, which stands first").Hint("write `register x = %s[f64](…)`", name)
	case c.at == c.from+2 && (k == token.NL || k == token.EOF || c.BlockEnd(c.at)):
		return c.mistakeOver(c.from, c.at, "`register` gives a name to data that a constructor makes").Hint("write `register %s = vector[f64](n)`", name)
	case c.at == c.from+2 && c.Has(c.at, ":"):
		m := c.mistakeHere("data is registered with `=`")
		return c.replace(m, c.at, c.at+1, " =")
	case c.at == c.from+2 && k == token.Ident && token.Constructors[c.Str(c.at)]:
		m := c.mistakeHere("data is registered with `=`")
		return m.Hint("write `register %s = %s…`", name, c.Str(c.at)).Edit(token.Span{Lo: c.Tokens[c.at].Lo, Hi: c.Tokens[c.at].Lo}, "= ").Certain()
	case c.Has(c.at, ",") && c.Kind(c.at+1) == token.Ident && c.Has(c.at+2, "=") && c.inBracket(c.at) < 0 && c.Has(c.exprStart(c.at, nil)-1, "="):
		m := c.mistakeHere("one `register` has one constructor")
		hi := c.Tokens[c.at+1].Lo
		return m.Hint("write a `register` for each").Edit(token.Span{Lo: c.Tokens[c.at].Lo, Hi: hi}, "\n"+c.Indent(c.from)+"register ").Certain()
	}
	return nil
}

// waitCall is wait().
func (c *cursor) waitCall() *token.Mistake {
	switch c.Str(c.from) {
	case "wait":
		if c.Has(c.at, ")") && c.Has(c.at-1, "(") && c.at == c.from+2 {
			return c.replace(c.mistakeOver(c.from, c.at+1, "`wait` is a statement, not a function"), c.from, c.at+1, "wait")
		}
	case "break", "continue":
		if c.Has(c.at, "(") {
			return c.mistakeOver(c.from, c.at+1, "`%s` is a statement, not a function", c.Str(c.from)).Hint("write `%s`", c.Str(c.from))
		}
	case "insert":
		if c.Kind(c.from) != token.Keyword || c.inBracket(c.at) >= 0 {
			return nil
		}
		name := c.from + 1
		if c.Kind(c.at) == token.String && c.at == name && c.Has(c.at+1, "(") {
			m, right := c.mistakeOver(c.at, c.at+1, "the name of a codelet stands without quotes"), strings.Trim(c.Str(c.at), `"`)
			if strings.ContainsFunc(right, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
				return m.Hint("a name has letters, digits and `_`")
			}
			return c.replace(m, c.at, c.at+1, right)
		}
		for c.Has(name+1, ".") {
			name += 2
		}
		if c.at == name+1 && c.Kind(name) == token.Ident && token.StartsExpr(c.TokenAt(c.at)) && !c.Has(c.at, "(") && !c.Has(c.at, "[") {
			hi := c.at
			for c.Kind(hi) != token.NL && c.Kind(hi) != token.EOF && !c.BlockEnd(hi) && !c.Has(hi, "with") && !c.Has(hi, "{") {
				hi++
			}
			if c.Has(hi, "{") {
				return nil
			}
			m := c.mistakeOver(c.at, hi, "the operands of a task are written in parentheses")
			at := c.span(c.at, hi)
			at.Lo = c.Tokens[name].Hi
			return m.Hint("write `insert %s(%s)`", c.text(c.from+1, c.at), token.ClipTo(c.text(c.at, hi), 60)).Edit(at, "("+c.text(c.at, hi)+")").Certain()
		}
	}
	return nil
}

// saved adds to m what stands for save x to "x.npy", save x, "x.npy" and save x.
func (c *cursor) saved(m *token.Mistake) {
	x, file := c.from+1, c.end-1
	if c.Kind(file) == token.String && file > x {
		hi := file
		if last := c.Str(hi - 1); last == "to" || last == "as" || last == "in" || last == "into" || last == "," {
			hi--
		}
		if hi > x {
			c.replace(m, c.from, c.end, "save("+c.text(x, hi)+", "+c.Str(file)+")")
			return
		}
	}
	data := "x"
	if c.Kind(x) == token.Ident {
		data = c.Str(x)
	}
	m.Hint("write `save(%s, \"%s.npy\")`", data, data)
}

// paramHabit is param n int = 10.
func (c *cursor) paramHabit() *token.Mistake {
	if !c.Has(c.from, "param") && !c.Has(c.from, "extern") || c.Kind(c.from) != token.Keyword || c.at != c.from+2 || c.Kind(c.at) != token.Ident || c.Kind(c.at-1) != token.Ident {
		return nil
	}
	if declares[c.Str(c.at-1)] && !declares[c.Str(c.at)] { // param int n
		m := c.mistakeHere("the type follows the name and a colon")
		return c.replace(m, c.at-1, c.at+1, c.Str(c.at)+": "+c.Str(c.at-1))
	}
	m := c.mistakeHere("the type follows a colon")
	return m.Hint("write `%s: %s`", c.Str(c.at-1), c.Str(c.at)).Edit(token.Span{Lo: c.Tokens[c.at-1].Hi, Hi: c.Tokens[c.at-1].Hi}, ":").Certain()
}

// modeWords are other names for access modes.
var modeWords = map[string]string{
	"STARPU_R": "R", "STARPU_W": "W", "STARPU_RW": "RW", "STARPU_REDUX": "REDUX", "STARPU_SCRATCH": "SCRATCH", "STARPU_COMMUTE": "COMMUTE",
	"r": "R", "w": "W", "rw": "RW", "Rw": "RW", "in": "R", "out": "W", "inout": "RW", "input": "R", "output": "W", "read": "R", "write": "W", "readwrite": "RW", "redux": "REDUX", "scratch": "SCRATCH", "commute": "COMMUTE",
}

// modeHabit is an access mode under another name, none in acquire, and options behind
// an insert without with.
func (c *cursor) modeHabit() *token.Mistake {
	switch {
	case c.Has(c.at, "in") && (c.Has(c.at-1, ":") || c.Has(c.at-1, ",") || c.Has(c.at-1, "(")) && c.Kind(c.at+1) == token.Ident && c.inBracket(c.at) >= 0: // x: in vector[f64], f(in x)
		return c.replace(c.mistakeOver(c.at, c.at+1, "`in` is not an access mode"), c.at, c.at+1, "R")
	case c.Kind(c.at) == token.Ident && c.Kind(c.at-1) == token.Ident && modeWords[c.Str(c.at-1)] != "" && c.inBracket(c.at) >= 0 &&
		(c.Has(c.at-2, "(") || c.Has(c.at-2, ",") || c.Has(c.at-2, ":") && token.Constructors[c.Str(c.at)]):
		word := c.Str(c.at - 1)
		return c.replace(c.mistakeOver(c.at-1, c.at, "`%s` is not an access mode", word), c.at-1, c.at, modeWords[word])
	case c.Has(c.from, "acquire") && c.Kind(c.from) == token.Keyword && c.at == c.from+1 && c.Kind(c.at) == token.Ident && token.ModeOf(c.Str(c.at)) == 0:
		x := c.Str(c.at)
		return c.mistakeOver(c.at, c.at+1, "unexpected `%s`, expected an access mode (R, W or RW)", x).Hint("write `acquire R %[1]s as a` to read it, `acquire RW %[1]s as a` to change it", x)
	case c.Has(c.at, ",") && c.Has(c.at-1, ")") && c.Kind(c.at+1) == token.Ident && c.Has(c.at+2, "=") && c.inBracket(c.at) < 0 && c.Has(c.from, "insert"):
		m := c.mistakeOver(c.at, c.at+1, "options follow `with`")
		return m.Hint("write `with %s = …`", c.Str(c.at+1)).Edit(c.span(c.at, c.at+1), " with").Certain()
	}
	return nil
}

// Habits of data, views and folds: x = register …, new vector, blocks 4, partition A into
// tiles(4, 4), sum(e for i in x), acquire without a name, t.wait().

// registerAsValue is x = register vector[f64](n), let x = register … and register x = new ….
func (c *cursor) registerAsValue() *token.Mistake {
	if c.Has(c.at, "register") && c.assigned() {
		m := c.mistakeOver(c.from, c.at+1, "`register` begins the statement")
		return c.replace(m, c.from, c.at+1, "register "+c.Str(c.at-2)+" =")
	}
	if c.Has(c.from, "register") && c.Kind(c.at-1) == token.Ident && c.Str(c.at-1) == "new" && c.Has(c.at-2, "=") && token.Constructors[c.Str(c.at)] {
		m := c.mistakeOver(c.at-1, c.at, "data is made without `new`")
		m.Hint("leave `new` out").Edit(token.Span{Lo: c.Tokens[c.at-1].Lo, Hi: c.Tokens[c.at].Lo}, "").Certain()
		return m
	}
	return nil
}

// assigned reports whether the token at is what a name is set to, by x = … or let x = …,
// and goes on behind that statement then.
func (c *cursor) assigned() bool {
	lo := c.at - 2
	if !c.Has(c.at-1, "=") || c.Kind(lo) != token.Ident || c.inBracket(c.at) >= 0 {
		return false
	}
	if c.Has(lo-1, "let") {
		lo--
	}
	if lo != c.from {
		return false
	}
	c.next = c.at
	for c.Kind(c.next) != token.NL && c.Kind(c.next) != token.EOF && !c.BlockEnd(c.next) {
		c.next++
	}
	return true
}

// statementAsValue is let v = partition x by blocks(4), let a = acquire R x and let t = wait x:
// statements in place of values.
func (c *cursor) statementAsValue() *token.Mistake {
	word := c.Str(c.at)
	if c.Kind(c.at) != token.Keyword || word != "partition" && word != "acquire" && word != "wait" || !c.assigned() {
		return nil
	}
	name := c.Str(c.at - 2)
	x, arg := "x", c.at+1
	if c.Has(arg, "(") {
		arg++
	}
	if c.Kind(arg) == token.Ident {
		x = c.Str(arg)
	}
	if word == "wait" {
		m := c.mistakeOver(c.from, c.at+1, "`wait` is a statement and gives no value")
		return m.Hint("write `wait %s` alone; `value(%s)` and `acquire` wait by themselves", x, x)
	}
	m := c.mistakeOver(c.from, c.at+1, "`%s` begins the statement", word)
	switch {
	case word == "partition" && c.Kind(c.at+1) == token.Ident && c.Has(c.at+2, "by"):
		return c.replace(m, c.from, c.at+1, "partition "+name+" =")
	case word == "partition":
		return m.Hint("write `partition %s = %s by blocks(4)` for a vector, `tiles(4, 4)` for a matrix", name, x)
	case token.ModeOf(c.Str(c.at+1)) != 0 && c.at+3 == c.next:
		return c.replace(m, c.from, c.next, c.text(c.at, c.next)+" as "+name)
	}
	return m.Hint("write `acquire R %s as %s` to read it, `acquire RW %s as %s` to change it", x, name, x, name)
}

// filterWords stand for by elsewhere.
var filterWords = token.WordSet("into", "as", "with", "in", "using", "to")

// filterForm is partition A into tiles(4, 4), A.tiles(4, 4), At = tiles(A, 4, 4) and by
// blocks 4.
func (c *cursor) filterForm() *token.Mistake {
	if !c.Has(c.from, "partition") || c.Kind(c.from) != token.Keyword {
		return nil
	}
	const says = "a filter follows `by`"
	open := c.at - 1
	for i := c.from + 1; i <= c.at && c.Kind(i) != token.NL; i++ {
		if token.Filters[c.Str(i)] && c.Kind(i) == token.Ident && c.Has(i+1, "(") {
			open = i
			break
		}
	}
	switch {
	case filterWords[c.Str(c.at)] && c.Kind(c.at+1) == token.Ident && c.Has(c.at+2, "("):
		return c.replace(c.mistakeOver(c.at, c.at+1, says), c.at, c.at+1, "by")
	case (c.Kind(c.at) == token.Int || c.Kind(c.at) == token.Ident) && token.Filters[c.Str(c.at-1)] && c.Has(c.at-2, "by"):
		hi := c.at
		for c.Kind(hi) != token.NL && c.Kind(hi) != token.EOF && !c.BlockEnd(hi) && !c.Has(hi, "then") {
			hi++
		}
		m := c.mistakeHere("the arguments of a filter are written in parentheses")
		c.replace(m, c.at-1, hi, c.Str(c.at-1)+"("+c.text(c.at, hi)+")")
		c.next = hi
		return m
	case token.Filters[c.Str(open)] && c.Has(open-1, ".") && c.Kind(open-2) == token.Ident:
		return c.replace(c.mistakeOver(open-1, open+1, says), open-1, open+1, " by "+c.Str(open))
	case token.Filters[c.Str(open)] && c.Has(open-1, "=") && c.Kind(open+2) == token.Ident && c.Has(open+3, ","):
		m := c.mistakeOver(open, open+4, says)
		return c.trimAfter(c.replace(m, open, open+4, c.Str(open+2)+" by "+c.Str(open)+"("), open+3)
	}
	return nil
}

// foldForm is sum(e for i in x), sum i in x: e and sum i in 0..n e.
func (c *cursor) foldForm() *token.Mistake {
	if open := c.inBracket(c.at); c.Has(c.at, "for") && open > 0 && c.Has(open, "(") && token.FoldWords[c.Str(open-1)] && c.at > open+1 {
		end := c.closingOf(open)
		if end < 0 || c.Kind(c.at+1) != token.Ident || !c.inCodelet() {
			return nil
		}
		c.next = end + 1
		return c.generator(open, end)
	}
	word := -1
	for i := c.at - 1; i >= c.from && c.at-i < 12; i-- {
		if token.FoldWords[c.Str(i)] && c.Kind(i) == token.Ident && c.Kind(i+1) == token.Ident && (c.Has(i+2, "in") || c.Has(i+2, ",")) {
			word = i
			break
		}
	}
	if word < 0 || !c.EndsOperand(c.at-1) || c.Opens(c.at) {
		return nil
	}
	for i := word; i < c.at; i++ {
		if c.Has(i, "{") {
			return nil
		}
	}
	lo := c.at
	if c.Has(lo, ":") {
		lo++
	}
	hi := c.exprEnd(lo)
	if lo >= hi || !token.StartsExpr(c.TokenAt(lo)) || c.Has(hi, "{") {
		return nil
	}
	m := c.mistakeHere("the expression of a fold is written in braces")
	c.next = hi
	at := c.span(c.at, hi)
	at.Lo = c.Tokens[c.at-1].Hi
	return m.Hint("write `%s`", token.ClipTo(c.text(word, c.at)+" { "+c.text(lo, hi)+" }", 72)).Edit(at, " { "+c.text(lo, hi)+" }").Certain()
}

// generator is sum(e for i in x), between the parentheses at the tokens open and end. Where
// i is not an index in e, it stands for the elements, as it does elsewhere.
func (c *cursor) generator(open, end int) *token.Mistake {
	m := c.mistakeHere("a fold names its indices first")
	word, index := c.Str(open-1), c.Str(c.at+1)
	in := c.at + 2
	for c.Has(in, ",") && c.Kind(in+1) == token.Ident {
		in += 2
	}
	over := c.text(min(in+1, end), end)
	if c.Has(in+1, "range") && c.Has(in+2, "(") && c.closingOf(in+2) == end-1 { // range(n), range(a, b)
		last := c.exprEnd(in + 3)
		switch {
		case last == end-1 && last > in+3:
			over = "0.." + c.text(in+3, last)
		case c.exprEnd(last+1) == end-1:
			over = c.text(in+3, last) + ".." + c.text(last+1, end-1)
		}
	}
	if !c.Has(in, "in") || c.exprEnd(in+1, "if", "for") != end || strings.HasPrefix(over, "range") {
		return m.Hint("write `%s i in x { x[i] }`, for some of them `%s i in x { if x[i] > 0.0 then x[i] else 0.0 }`", word, word)
	}
	var values strings.Builder // e, with x[i] for i
	elements, indices := 0, 0
	for i, lo := open+1, c.Tokens[open+1].Lo; i <= c.at; i++ {
		values.WriteString(c.Text[lo:c.Tokens[i].Lo])
		if lo = c.Tokens[i].Lo; i == c.at || c.Str(i) != index || c.Has(i-1, ".") {
			continue
		}
		if c.Has(c.inBracket(i), "[") {
			indices++
			continue
		}
		elements++
		values.WriteString(over + "[" + index + "]")
		lo = c.Tokens[i].Hi
	}
	switch text := word + " " + c.text(c.at+1, in) + " in " + over + " { "; {
	case elements == 0 || in > c.at+2 || strings.Contains(over, ".."):
		return c.replace(m, open-1, end+1, text+c.text(open+1, c.at)+" }")
	case indices == 0 && in+2 == end:
		return c.replace(m, open-1, end+1, text+strings.TrimSpace(values.String())+" }").Guessed()
	default:
		return m.Hint("write `%s%s[%s] }`: %s goes over the indices", text, over, index, index)
	}
}

// inCodelet reports whether the statement is in the body of a codelet.
func (c *cursor) inCodelet() bool {
	head := c.from
	for head >= 0 && !(c.Kind(head) == token.Keyword && c.Has(head, "codelet")) {
		head--
	}
	if head < 0 || head == c.from {
		return head == c.from
	}
	open := head
	for open < c.from && !c.Has(open, "{") {
		open++
	}
	end := c.closingOf(open)
	return open < c.from && (end < 0 || end >= c.from)
}

// acquireWithoutName is acquire R x { … } and acquire R x -> a { … }.
func (c *cursor) acquireWithoutName() *token.Mistake {
	if !c.Has(c.from, "acquire") || c.Kind(c.from) != token.Keyword || token.ModeOf(c.Str(c.from+1)) == 0 || c.at < c.from+3 {
		return nil
	}
	switch {
	case c.Has(c.at, "->"), c.Has(c.at, "=") && c.Kind(c.at+1) == token.Ident:
		return c.replace(c.mistakeHere("the name for the elements follows `as`"), c.at, c.at+1, "as")
	case (c.Has(c.at, "{") || c.Kind(c.at) == token.NL || c.Kind(c.at) == token.EOF) && c.EndsOperand(c.at-1) && !c.Has(c.at-2, "as") && c.inBracket(c.at) < 0:
		x := c.text(c.from+2, c.at)
		c.next = c.at
		m := c.mistakeOver(c.from, c.at, "`acquire` gives the elements a name")
		return m.Hint("write `acquire %[1]s %[2]s as a { … }`; the elements are `a[i]`, those of a matrix `a[i, j]`", c.Str(c.from+1), x)
	}
	return nil
}

// waitAsMethod is t.wait().
func (c *cursor) waitAsMethod() *token.Mistake {
	if !c.Has(c.at, "wait") || !c.Has(c.at-1, ".") || c.at-1 <= c.from || !c.Has(c.at+1, "(") || !c.Has(c.at+2, ")") {
		return nil
	}
	c.next = c.at + 3
	m := c.mistakeOver(c.from, c.at+3, "`wait` is a statement, not a function")
	if k := c.Kind(c.next); c.Kind(c.from) != token.Ident && !c.Has(c.from, "insert") || c.inBracket(c.at) >= 0 || c.exprStart(c.at, nil) != c.from || k != token.NL && k != token.EOF && !c.BlockEnd(c.next) {
		return m.Hint("write `wait t` as a statement of its own; it gives nothing")
	}
	return c.replace(m, c.from, c.at+3, "wait "+c.text(c.from, c.at-1))
}

// listRange is for i in [0:8].
func (c *cursor) listRange() *token.Mistake {
	open := c.inBracket(c.at)
	if !c.Has(c.at, ":") || open < 0 || !c.Has(open, "[") || !c.Has(open-1, "in") || c.at == open+1 {
		return nil
	}
	end := c.closingOf(open)
	if end < 0 || strings.ContainsAny(c.text(c.at+1, end), ":,") {
		return nil
	}
	c.next = end + 1
	return c.replace(c.mistakeHere("a range is written `a..b`"), open, end+1, c.text(open+1, c.at)+".."+c.text(c.at+1, end)).Guessed()
}

// reducerSign is reduce = +.
func (c *cursor) reducerSign() *token.Mistake {
	to := map[string]string{"+": "sum", "*": "prod"}[c.Str(c.at)]
	if to == "" || !c.Has(c.at-1, "=") || c.Str(c.at-2) != "reduce" || !c.Has(c.at+1, ")") && !c.Has(c.at+1, ",") {
		return nil
	}
	return c.replace(c.mistakeHere("a reducer has a name"), c.at, c.at+1, to)
}

// Habits of whole statements: partition A by rows(3) as B, let B = A by rows(3), register
// x[3] = …, prefetch x, insert f(RW x) priority 2, and lists with conditions.

// namedView is partition A by rows(3) as B, let B = A by rows(3) and partition A, rows(3).
func (c *cursor) namedView() *token.Mistake {
	name := c.from + 1
	if c.Kind(name) != token.Ident {
		return nil
	}
	switch {
	case c.Has(c.from, "let") && c.Has(name+1, "=") && c.Kind(name+2) == token.Ident && c.at == name+3 && c.Has(c.at, "by"):
		m := c.mistakeOver(c.from, c.from+1, "views are made by `partition`")
		c.next = c.exprEnd(c.at + 1)
		return m.Hint("write `partition %s`", token.ClipTo(c.text(name, c.next), 72)).Edit(c.span(c.from, name), "partition").Certain()
	case !c.Has(c.from, "partition"):
		return nil
	case c.Has(name+1, "by") && c.Has(c.at, "as") && c.Kind(c.at+1) == token.Ident && c.LineEnds(c.at+1):
		m := c.mistakeOver(c.at, c.at+2, "the name of a view comes first")
		c.next = c.at + 2
		return c.replace(m, c.from, c.at+2, "partition "+c.Str(c.at+1)+" = "+c.text(name, c.at))
	case c.Has(name+1, ",") && token.Filters[c.Str(name+2)] && c.Has(name+3, "("):
		m := c.mistakeOver(name+1, name+2, "a filter follows `by`")
		c.next = c.at
		return m.Hint("write `partition %s by %s`", c.Str(name), token.ClipTo(c.text(name+2, c.at), 60)).Edit(c.span(name+1, name+2), " by").Certain()
	}
	return nil
}

// registeredList is register x[3] = vector[f64](n).
func (c *cursor) registeredList() *token.Mistake {
	open := c.from + 2
	if !c.Has(c.from, "register") || c.at != open || !c.Has(open, "[") || c.Kind(open-1) != token.Ident {
		return nil
	}
	end := c.closingOf(open)
	if end <= open+1 || !c.Has(end+1, "=") || !token.Constructors[c.Str(end+2)] {
		return nil
	}
	last := c.exprEnd(end + 2)
	index := "i"
	for k := end + 2; k < last; k++ {
		if c.Str(k) == index {
			index = "k"
		}
	}
	c.next = last
	m := c.mistakeOver(open, end+1, "a list of data is written on the right")
	return c.replace(m, c.from, last, "register "+c.Str(open-1)+" = ["+c.text(end+2, last)+" for "+index+" in 0.."+c.text(open+1, end)+"]")
}

// prefetchTo is prefetch x, without its memory.
func (c *cursor) prefetchTo() *token.Mistake {
	if !c.Has(c.from, "prefetch") || c.Kind(c.at) != token.NL && c.Kind(c.at) != token.EOF || !c.EndsOperand(c.at-1) || c.inBracket(c.at) >= 0 {
		return nil
	}
	m := c.mistakeOver(c.from, c.at, "`prefetch` names the memory that the data goes to")
	m.Got, m.Expect = c.TokenAt(c.at), []string{"`to`"} // more may come at the prompt
	return m.Hint("write `%s to ram`, or `to gpu(0)` for the first device", token.ClipTo(c.text(c.from, c.at), 60))
}

// switches are the options of insert that are given to be true.
var switches = token.WordSet("sync")

// optionAlone is insert f(RW x) priority 2, insert f(RW x) sync and with sync.
func (c *cursor) optionAlone() *token.Mistake {
	if !c.inserts() || c.inBracket(c.at) >= 0 {
		return nil
	}
	word := c.Str(c.at)
	switch {
	case switches[word] && c.Has(c.at-1, ")") && c.LineEnds(c.at):
		c.next = c.at + 1
		return c.replace(c.mistakeOver(c.at, c.at+1, "options follow `with`"), c.at, c.at+1, "with "+word+" = true")
	case taskOptions[word] && c.Has(c.at-1, ")") && token.StartsExpr(c.TokenAt(c.at+1)) && !c.Has(c.at+1, "("):
		c.next = c.exprEnd(c.at + 1)
		return c.replace(c.mistakeOver(c.at, c.next, "options follow `with`"), c.at, c.next, "with "+word+" = "+c.text(c.at+1, c.next))
	case c.Has(c.at, ",") && switches[c.Str(c.at+1)] && (c.LineEnds(c.at+1) || c.Has(c.at+2, ",")):
		c.next = c.at + 2
		return c.replace(c.mistakeOver(c.at+1, c.at+2, "an option is given by `=`"), c.at+1, c.at+2, c.Str(c.at+1)+" = true")
	case switches[c.Str(c.at-1)] && (c.Has(c.at-2, "with") || c.Has(c.at-2, ",")) && (c.Has(c.at, ",") || c.LineEnds(c.at-1)):
		return c.replace(c.mistakeOver(c.at-1, c.at, "an option is given by `=`"), c.at-1, c.at, c.Str(c.at-1)+" = true")
	}
	return nil
}

// conditionOfList is [x for x in xs if c].
func (c *cursor) conditionOfList() *token.Mistake {
	open := c.inBracket(c.at)
	if !c.Has(c.at, "if") || open < 0 || !c.Has(open, "[") {
		return nil
	}
	end := c.closingOf(open)
	loop := c.exprEnd(open+1, "for")
	if end < 0 || loop >= c.at || !c.Has(loop, "for") || strings.Contains(c.text(open, end), "\n") {
		return nil
	}
	name := "xs"
	if c.Has(c.from, "let") && open == c.from+3 {
		name = c.Str(c.from + 1)
	}
	c.next = end + 1
	m := c.mistakeOver(c.at, c.at+1, "a list takes all that its loop gives")
	return m.Hint("write `let %[3]s = []`, and below it a loop that appends: `%[1]s { if %[2]s { %[3]s = %[3]s + [%[4]s] } }`", c.text(loop, c.at), c.text(c.at+1, end), name, c.text(open+1, loop))
}

// Habits of parameters and operands: (a, b int), (vector[f64] x), insert f(x: RW a) and
// insert f(a RW).

// sharedType is func f(a, b int) and func f(a, b: int).
func (c *cursor) sharedType() *token.Mistake {
	if !c.declaration() || !c.Has(c.at, ",") {
		return nil
	}
	open := c.inBracket(c.at)
	if open < 0 || !c.Has(open, "(") || c.Kind(c.at-1) != token.Ident || !c.Has(c.at-2, ",") && c.at-2 != open {
		return nil
	}
	lo, i := c.at-1, c.at
	names := []string{c.Str(lo)}
	for c.Has(i, ",") && c.Kind(i+1) == token.Ident {
		names = append(names, c.Str(i+1))
		i += 2
	}
	last := i
	if c.Has(i, ":") {
		i++
	}
	hi := c.exprEnd(i)
	m := c.mistakeOver(lo, last, "every parameter has its type")
	if i >= hi || c.Kind(i) != token.Ident && c.Kind(i) != token.Keyword {
		for k := range names {
			names[k] += ": int"
		}
		return m.Hint("write `%s`, each with the type that it has", token.ClipTo(strings.Join(names, ", "), 60))
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
	if c.Signature != "" {
		return c.Signature
	}
	if c.Kind(c.from) != token.Keyword {
		return ""
	}
	switch word := c.Str(c.from); word {
	case "func", "codelet", "extern":
		return word
	}
	return ""
}

// typeFirst is codelet f(vector[f64] x), f(R vector[f64] x) and f(x: vector[f64] RW).
func (c *cursor) typeFirst() *token.Mistake {
	open := c.inBracket(c.at)
	if !c.declaration() || open < 0 || !c.Has(open, "(") {
		return nil
	}
	if k := c.at; c.Kind(k) == token.Ident && token.ModeOf(c.Str(k)) != 0 && (c.Has(k-1, "]") || c.Kind(k-1) == token.Ident) && (c.Has(k+1, ",") || c.Has(k+1, ")")) {
		lo := c.exprStart(k, nil)
		if !c.Has(lo-1, ":") || token.ModeOf(c.Str(lo)) != 0 {
			return nil
		}
		m := c.mistakeHere("the mode comes before the type")
		return c.replace(m, lo, k+1, c.Str(k)+" "+c.text(lo, k))
	}
	lo := c.at
	for lo > open+1 && !c.Has(lo-1, ",") && lo > c.at-3 {
		lo--
	}
	typ, mode := lo, ""
	if token.ModeOf(c.Str(lo)) != 0 {
		mode, typ = c.Str(lo)+" ", lo+1
	}
	if !token.Constructors[c.Str(typ)] || !c.Has(typ+1, "[") || c.Kind(typ+2) != token.Ident || !c.Has(typ+3, "]") || c.Kind(typ+4) != token.Ident {
		return nil
	}
	m := c.mistakeOver(lo, typ+5, "a parameter is written `name: MODE type`")
	known := mode != "" || c.declaring() == "func"
	if !known {
		mode = "RW "
	}
	c.replace(m, lo, typ+5, c.Str(typ+4)+": "+mode+c.text(typ, typ+4))
	if !known {
		m.Help[0] += ", or with `R` for what is only read"
		return m.Guessed()
	}
	return m
}

// operand is f(x: a), insert f(x: RW a), insert f(RW: a) and insert f(a RW).
func (c *cursor) operand() *token.Mistake {
	open := c.inBracket(c.at)
	if open < 0 || !c.Has(open, "(") || c.Kind(open-1) != token.Ident && !c.Has(open-1, "]") || c.declaration() || c.Kind(c.at-1) != token.Ident {
		return nil
	}
	first := c.Has(c.at-2, "(") || c.Has(c.at-2, ",")
	name := c.Str(c.at - 1)
	switch {
	case c.Has(c.at, ":") && first && token.ModeOf(name) != 0 && token.StartsExpr(c.TokenAt(c.at+1)):
		m := c.mistakeHere("put a space after the mode")
		return c.replace(m, c.at-1, c.at+2, name+" "+c.Str(c.at+1))
	case c.Has(c.at, ":") && first && token.ModeOf(c.Str(c.at+1)) != 0 && (c.Has(c.at+2, ",") || c.Has(c.at+2, ")")): // x: RW
		m := c.mistakeHere("the mode comes before the data")
		return c.replace(m, c.at-1, c.at+2, c.Str(c.at+1)+" "+name)
	case c.Has(c.at, ":") && first && token.StartsExpr(c.TokenAt(c.at+1)):
		hi := c.exprEnd(c.at)
		m := c.mistakeHere("an argument is given by name with `=`")
		return c.replace(m, c.at-1, hi, name+" = "+c.text(c.at+1, hi))
	case c.Has(c.at, ":") && c.Kind(c.at-2) == token.Ident && token.ModeOf(c.Str(c.at-2)) != 0: // R x: a
		mode, hi := c.Str(c.at-2), c.exprEnd(c.at)
		m := c.mistakeHere("an operand is given by name with `=`")
		if c.Kind(c.at+1) != token.Ident {
			return m.Hint("write `%s = %s x` for data, `%s = %s` for a value", name, mode, name, token.Clip(c.text(c.at+1, max(hi, c.at+2))))
		}
		return c.replace(m, c.at-2, hi, name+" = "+mode+" "+c.text(c.at+1, hi))
	case c.Kind(c.at) == token.Ident && token.ModeOf(c.Str(c.at)) != 0 && token.ModeOf(name) == 0 && first && (c.Has(c.at+1, ",") || c.Has(c.at+1, ")")):
		m := c.mistakeHere("the mode comes before the data")
		return c.replace(m, c.at-1, c.at+1, c.Str(c.at)+" "+name)
	}
	return nil
}
