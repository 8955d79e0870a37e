package syntax

// Habits of loops and blocks: for (i = 0; i < n; i++), for i := range xs, a block that
// begins with a colon, then or do and ends by its indentation or with end.

import (
	"strings"
)

// loopHabit is a for of another language.
func (c *cursor) loopHabit() *mistake {
	if !c.has(c.from, "for") || c.kindOf(c.from) != tokKeyword || c.at >= c.end+1 && !c.has(c.at, "(") {
		return nil
	}
	brace := c.from + 1
	for !c.has(brace, "{") && c.kindOf(brace) != tokEOF && c.kindOf(brace) != tokVirtual && (c.kindOf(brace) != tokNL || c.has2(brace, ";") && !c.lineEnds(brace)) {
		brace++
	}
	if m := c.loopOfOneLine(brace); m != nil {
		return m
	}
	lo, hi := c.from+1, brace
	if c.has(hi-1, ":") {
		hi--
	}
	if c.has(lo, "(") && c.has(hi-1, ")") {
		lo, hi = lo+1, hi-1
	}
	if c.has(c.from+2, "=") && constructors[c.str(c.from+3)] { // for x = vector[f64](n)
		m := c.mistakeOver(c.from, c.from+4, "data is made by `register`")
		right := "register " + c.str(c.from+1) + " ="
		if c.next = brace; c.has(brace, "{") {
			m.msg = "data is made by `register`, above the loop"
			return m.hint("write `%s %s` there", right, clipTo(c.text(c.from+3, brace), 60))
		}
		return c.replace(m, c.from, c.from+3, right)
	}
	head := c.loopHead(lo, hi)
	if head == "" {
		if parts := c.parts(lo-1, hi, ";"); len(parts) == 3 && c.kindOf(lo) == tokIdent { // and no loop over a range
			c.next = brace
			return c.mistakeOver(c.from, brace, "a loop goes over a range or a list").hint("other loops have a condition: write `while c { … }`, with the first value above and the step as its last statement")
		}
		if c.has(c.from+1, "(") && c.at == c.from+1 {
			return c.mistakeOver(c.at, c.at+1, "a loop has no parentheses").hint("write `for i in 0..n { … }`")
		}
		return nil
	}
	m := c.mistakeOver(c.from, brace, "a loop is written `for i in a..b { … }`")
	if strings.HasPrefix(head, "while") {
		m.msg = "a loop with a condition is written `while c { … }`"
	}
	c.next = brace
	c.replace(m, c.from, brace, head)
	if !c.has(brace, "{") {
		c.braced(m, brace, brace)
	}
	if strings.Contains(c.text(c.from, brace), ":") && !strings.Contains(c.text(c.from, brace), ":=") && strings.Contains(head, "..") {
		m.guessed() // 0:n may count n or not
	}
	return m
}

// loopOfOneLine is for (int i = 0; i < n; i++) f(i) on one line, which ends at token end.
func (c *cursor) loopOfOneLine(end int) *mistake {
	if !c.has(c.from+1, "(") || c.has(end, "{") {
		return nil
	}
	closing, depth := c.from+1, 0
	for ; closing < end; closing++ {
		if c.opens(closing) {
			depth++
		} else if c.closes(closing) {
			if depth--; depth == 0 {
				break
			}
		}
	}
	if closing+1 >= end || !c.startsStatement(closing+1) {
		return nil
	}
	head := c.loopHead(c.from+2, closing)
	if head == "" {
		return nil
	}
	m := c.mistakeOver(c.from, closing+1, "a loop is written `for i in a..b { … }`")
	c.next = end
	return c.replace(m, c.from, end, head+" { "+strings.TrimRight(c.text(closing+1, end), "; ")+" }")
}

// has2 reports whether token i is the sign text, newlines included.
func (c *cursor) has2(i int, text string) bool { return c.str(i) == text }

// loopHead writes the head of a loop, the tokens [lo, hi) behind for, in the language;
// "" when they are nothing known.
func (c *cursor) loopHead(lo, hi int) string {
	if lo >= hi {
		if lo == hi && c.has(lo, "{") {
			return "while true"
		}
		return ""
	}
	for c.kindOf(lo) == tokIdent && (c.kindOf(lo+1) == tokIdent) && (declares[c.str(lo)] || c.str(lo) == "var" || c.str(lo) == "each") || c.has(lo, "let") || c.has(lo, "each") {
		lo++ // a type, or a word that declares
	}
	name := c.str(lo)
	if c.kindOf(lo) != tokIdent {
		return ""
	}
	first := lo + 1
	if c.has(first, ":") && c.has(first+1, "=") { // i := …
		first++
	}
	if c.has(first, ",") && c.kindOf(first+1) == tokIdent && c.has(first+2, ":") && c.has(first+3, "=") && c.has2(first+4, "range") {
		if c.kindOf(first+5) != tokIdent || first+6 != hi {
			return ""
		}
		xs := c.str(first + 5)
		if name == "_" {
			return "for " + c.str(first+1) + " in " + xs
		}
		return "for " + name + " in 0..len(" + xs + ")"
	}
	switch {
	case c.has(first, "=") && c.has2(first+1, "range") && c.kindOf(first+2) != tokOp && first+3 <= hi: // for i := range n
		return "for " + name + " in 0.." + c.text(first+2, hi)
	case c.has(first, "="):
		if len(c.parts(first, hi, ";")) == 3 {
			return c.threeParts(name, first+1, hi)
		}
		return c.upTo(name, first+1, hi, true)
	case c.has(first, "in"), c.kindOf(first) == tokIdent && c.str(first) == "of":
		if head := c.upTo(name, first+1, hi, false); head != "" {
			return head
		}
		if c.at == c.from+1 || !c.has(first, "in") || c.has(c.from+1, "each") { // only the parentheses, or the words, are wrong
			return "for " + name + " in " + c.text(first+1, hi)
		}
	case levelOf(c.tokenAt(first)) == levelCmp: // for i < n
		return "while " + c.text(lo, hi)
	}
	return ""
}

// threeParts is a; i < b; i++ behind for i =.
func (c *cursor) threeParts(name string, lo, hi int) string {
	semi := lo
	for semi < hi && c.str(semi) != ";" {
		semi++
	}
	second := semi + 1
	for second < hi && c.str(second) != ";" {
		second++
	}
	if second >= hi || semi+3 > second || c.str(semi+1) != name {
		return ""
	}
	for i, depth := lo, 0; i < hi; i++ {
		switch {
		case c.opens(i):
			depth++
		case c.closes(i):
			depth--
		case depth == 0 && several[c.str(i)]:
			return ""
		}
	}
	a, op, b, step := c.text(lo, semi), c.str(semi+2), c.text(semi+3, second), strings.ReplaceAll(c.text(second+1, hi), " ", "")
	by := ""
	switch {
	case step == name+"++" || step == "++"+name || step == name+"+=1":
	case step == name+"--" || step == "--"+name || step == name+"-=1":
		by = "-1"
	case strings.HasPrefix(step, name+"+="):
		by = strings.TrimPrefix(step, name+"+=")
	case strings.HasPrefix(step, name+"-="):
		by = "-" + strings.TrimPrefix(step, name+"-=")
		if strings.ContainsAny(by[1:], "+-") {
			by = "-(" + by[1:] + ")"
		}
	case strings.HasPrefix(step, name+"="+name+"+"):
		if by = strings.TrimPrefix(step, name+"="+name+"+"); by == "1" {
			by = ""
		}
	default:
		return ""
	}
	down := strings.HasPrefix(by, "-")
	switch {
	case by == "" && (op == "<" || op == "!="):
		return "for " + name + " in " + a + ".." + b
	case by == "" && op == "<=":
		return "for " + name + " in " + a + "..=" + b
	case by == "" || down != (op == ">" || op == ">="):
		return ""
	case op == "<" || op == ">" || op == "!=":
		return "for " + name + " in range(" + a + ", " + b + ", " + by + ")"
	case op == "<=" || op == ">=":
		return "for " + name + " in " + closedRange(a, b, by)
	}
	return ""
}

// several are the signs of two loops in one, and of conditions of several parts.
var several = wordSet(",", "?", "and", "or", "&", "&&", "|", "||")

// closedRange is a range with a step that may reach its end b.
func closedRange(a, b, step string) string {
	last := " + 1"
	if strings.HasPrefix(step, "-") {
		last = " - 1"
	}
	return "range(" + a + ", " + b + last + ", " + step + ")"
}

// upTo is a:b, a:s:b, a to b, a..b by s and range(n) behind for i in; assigned says
// that = stands for in. "" when it is something else.
func (c *cursor) upTo(name string, lo, hi int, assigned bool) string {
	cut := -1
	depth := 0
	var sign string
	for i := lo; i < hi && cut < 0; i++ {
		switch {
		case c.opens(i):
			depth++
		case c.closes(i):
			depth--
		case depth > 0 || i == lo:
		case c.has(i, ":") && i+1 < hi, c.has(i, "to"), c.has(i, "by"), c.kindOf(i) == tokIdent && (c.str(i) == "step" || c.str(i) == "until" || c.str(i) == "upto"):
			cut, sign = i, c.str(i)
		}
	}
	head := "for " + name + " in "
	if cut < 0 {
		if assigned && lo < hi {
			return head + c.text(lo, hi)
		}
		return ""
	}
	a, b := c.text(lo, cut), c.text(cut+1, hi)
	switch sign {
	case ":":
		if c.kindOf(lo) != tokInt && (cut > lo+1 || hi > cut+2 || foreignHelp[b] != "") || strings.Contains(a, "..") {
			return "" // for x in xs: f(x)
		}
		if from, to, ok := strings.Cut(b, ":"); ok {
			return head + closedRange(a, strings.TrimSpace(to), strings.TrimSpace(from))
		}
		if a == "0" {
			return head + a + ".." + b
		}
		return head + a + "..=" + b
	case "to", "upto":
		return head + a + "..=" + b
	case "until":
		return head + a + ".." + b
	}
	if from, to, ok := strings.Cut(a, "..="); ok { // a..=b by s
		return head + closedRange(strings.TrimSpace(from), strings.TrimSpace(to), b)
	}
	if from, to, ok := strings.Cut(a, ".."); ok {
		return head + "range(" + strings.TrimSpace(from) + ", " + strings.TrimSpace(to) + ", " + b + ")"
	}
	return ""
}

// colonBlock is a block that begins with a colon and ends by its indentation.
func (c *cursor) colonBlock() *mistake {
	if !c.has(c.at, ":") || !c.lineEnds(c.at) || c.inBracket(c.at) >= 0 || !c.blockHead(c.from) {
		return nil
	}
	m := c.mistakeHere("a block is written in braces")
	return c.braced(m, c.at, c.at+1)
}

// wordBlock is a block that begins with then or do, or with nothing, and most often
// ends with end.
func (c *cursor) wordBlock() *mistake {
	if !c.blockHead(c.from) || c.inBracket(c.at) >= 0 {
		return nil
	}
	switch {
	case (c.has(c.at, "then") || c.kindOf(c.at) == tokIdent && c.str(c.at) == "do") && c.lineEnds(c.at):
		return c.braced(c.mistakeHere("a block is written in braces"), c.at, c.at+1)
	case c.kindOf(c.at) == tokNL && c.str(c.at) != ";":
		if last, _ := c.indented(c.at); last > c.at {
			m := c.mistakeOver(c.at, c.at, "unexpected end of line, expected `{`: a block is written in braces")
			m.at = Span{c.toks[c.at-1].hi, c.toks[c.at-1].hi}
			return c.braced(m, c.at, c.at)
		}
	case c.kindOf(c.at) == tokIdent && c.str(c.at) == "do" && c.has(c.at+1, "{"):
		m := c.mistakeHere("there is nothing in front of the block")
		c.next = c.at + 1
		return c.replace(m, c.at, c.at+2, "{")
	}
	return nil
}

// blockHead reports whether the statement at token i has a block.
func (p *parser) blockHead(i int) bool {
	if p.kindOf(i) == tokIdent {
		switch p.str(i) {
		case "def", "elif", "foreach", "function", "fn":
			return true
		}
	}
	return p.kindOf(i) == tokKeyword && blockWords[p.str(i)]
}

// braced adds to m the edit that puts braces around the block below the line of token
// at: { in place of the tokens [at, hi), } behind the last line that is indented deeper,
// in place of an end that follows.
func (c *cursor) braced(m *mistake, at, hi int) *mistake {
	m.hint("a block is written `{ … }`")
	last, after := c.indented(at)
	if last <= at {
		return m
	}
	c.loose = max(c.loose, after)
	m.certain()
	switch open := c.span(at, hi); {
	case hi == at: // at the end of the line
		m.edit(Span{c.toks[at-1].hi, c.toks[at-1].hi}, " {")
	case c.touching(at - 1):
		m.edit(open, " {")
	default:
		m.edit(open, "{")
	}
	for c.elseBelow(after) { // else: and elif c: of the same if
		head := after
		for c.kindOf(head) != tokNL && c.kindOf(head) != tokEOF && !(c.has(head, ":") && c.lineEnds(head)) {
			head++
		}
		if !c.has(head, ":") {
			break
		}
		word := "} " + map[bool]string{true: "else if", false: c.str(after)}[c.kindOf(after) == tokIdent]
		m.edit(c.span(after, after+1), word)
		m.edit(c.span(head, head+1), " {")
		last, after = c.indented(head)
		c.loose = max(c.loose, after)
	}
	if c.endsBlock(after) {
		return m.edit(c.span(after, after+1), "}")
	}
	return m.edit(Span{c.toks[last].hi, c.toks[last].hi}, "\n"+c.indentOf(c.from)+"}")
}

// elseWords begin the other branch of an if elsewhere.
var elseWords = wordSet("elif", "elsif", "elseif", "else")

// elseBelow reports whether the else of an if whose block has no braces begins at token
// i.
func (c *cursor) elseBelow(i int) bool {
	return c.has(c.from, "if") && i < len(c.toks) && (c.has(i, "else") || c.kindOf(i) == tokIdent && elseWords[c.str(i)]) &&
		c.indentOf(i) == c.indentOf(c.from)
}

// endsBlock reports whether token i is the end of a block without braces, and notes it.
func (c *cursor) endsBlock(i int) bool {
	if c.kindOf(i) != tokIdent || c.str(i) != "end" && c.str(i) != "endif" || c.kindOf(i+1) != tokNL && c.kindOf(i+1) != tokEOF {
		return false
	}
	if c.ends == nil {
		c.ends = map[int]bool{}
	}
	c.ends[i] = true
	return true
}

// indented finds the block that is indented deeper than the line of token from, below
// the line of token at: its last token and the first token behind it.
func (c *cursor) indented(at int) (last, after int) {
	margin := len(c.indentOf(c.from))
	last = at
	for i := at + 1; i < len(c.toks); i++ {
		k := c.kindOf(i)
		if k == tokNL {
			continue
		}
		lo := strings.LastIndexByte(c.source[:c.toks[i].lo], '\n') + 1
		starts := strings.TrimSpace(c.source[lo:c.toks[i].lo]) == ""
		if k == tokEOF || k == tokVirtual || starts && int(c.toks[i].lo)-lo <= margin {
			return last, i
		}
		last = i
	}
	return last, len(c.toks) - 1
}

// Habits of heads and types: func f(x) = e, for (i, j) in …, if c { a } else { b } as a
// value, f64[] and vector[f64]{…}, insert f() after t.

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
	hi := c.exprEnd(eq + 1)
	if k := c.kindOf(hi); k != tokNL && k != tokEOF {
		return nil
	}
	m := c.mistakeOver(c.at, eq+1, "the body of a function is written in braces")
	c.next = hi
	if typ == "" {
		c.replace(m, c.at, hi, "-> float { return "+c.text(eq+1, hi)+" }")
		m.help[0] += ", with the type that it gives"
		return m.guessed()
	}
	lead := ""
	if c.touching(c.at - 1) {
		lead = " "
	}
	m.hint("write `-> %s { return %s }`", typ, clipTo(c.text(eq+1, hi), 60)).edit(c.span(c.at, hi), lead+"-> "+typ+" { return "+c.text(eq+1, hi)+" }").certain()
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
	hi := c.exprEnd(c.at + 1)
	if k := c.kindOf(hi); k != tokNL && k != tokEOF {
		return nil
	}
	c.next = hi
	return c.replace(c.mistakeOver(c.at, c.at+1, "the body of a function is written in braces"), c.at, hi, "{ return "+c.text(c.at+1, hi)+" }")
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
	c.next = c.exprEnd(end + 2)
	return c.replace(c.mistakeOver(open, end+1, "the names of a loop stand without brackets"), open, end+1, c.text(open+1, end))
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
				m := c.mistakeOver(word, c.at, "a choice has two values")
				m.got, m.expect = c.tokenAt(c.at), []string{"`else`"} // more may come at the prompt
				return m.hint("write `%s else …`", clipTo(c.text(word, c.at), 60))
			}
		}
		return nil
	}
	if !c.has(c.at, "{") {
		return nil
	}
	right, last := c.text(word, c.at), 0
	for open := c.at; ; {
		if last = c.closingOf(open); last < 0 {
			return nil
		}
		value := strings.TrimSpace(c.text(open+1, last))
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
		if open = c.exprEnd(head); c.has(head, "{") {
			open = head
		} else if !c.has(head, "if") || !c.has(open, "{") {
			return nil
		}
		right += " then " + value + " else "
		if open > head {
			right += c.text(head, open)
		}
	}
	c.next = last + 1
	if c.kindOf(last+1) == tokOp && !c.closes(last+1) && !c.has(last+1, ",") {
		right = "(" + right + ")" // else b would take in what follows
	}
	return c.replace(c.mistakeOver(word, last+1, "a choice between values has `then`, not braces"), word, last+1, right)
}

// arrayType is f64[], *f64 and Vector<f64> in a signature, and vector[f64]{1.0, 2.0}.
func (c *cursor) arrayType() *mistake {
	switch {
	case c.has(c.at, "]") && c.has(c.at-1, "[") && c.kindOf(c.at-2) == tokIdent && elements[c.str(c.at-2)] != "" && c.declaration():
		if scalar := map[string]string{"float": "float", "double": "float", "int": "int", "long": "int"}[c.str(c.at-2)]; c.declaring() == "func" && scalar != "" {
			m := c.mistakeOver(c.at-2, c.at+1, "the items of a list have their type in square brackets")
			c.replace(m, c.at-2, c.at+1, "list["+scalar+"]").guessed()
			m.help[0] += ", or `vector[" + elements[c.str(c.at-2)] + "]` for data"
			return m
		}
		return c.typed(c.mistakeOver(c.at-2, c.at+1, "data of one index is a vector"), c.at-2, c.at+1, "vector", c.str(c.at-2))
	case c.has(c.at, "*") && c.kindOf(c.at-1) == tokIdent && modeOf(c.str(c.at-1)) != 0 && elements[c.str(c.at+1)] != "" && c.declaration():
		return c.typed(c.mistakeHere("there are no pointers"), c.at, c.at+2, "vector", c.str(c.at+1))
	case c.has(c.at, "<") && c.has(c.at+2, ">") && constructors[strings.ToLower(c.str(c.at-1))] && !constructors[c.str(c.at-1)] && elements[c.str(c.at+1)] != "":
		return c.typed(c.mistakeOver(c.at-1, c.at+3, "the element type is written in square brackets"), c.at-1, c.at+3, strings.ToLower(c.str(c.at-1)), c.str(c.at+1))
	case c.has(c.at, "{") && c.has(c.at-1, "]") && c.has(c.at-3, "[") && c.str(c.at-4) == "vector" && c.has(c.from, "register"):
		end := c.closingOf(c.at)
		if !c.has(end, "}") || strings.ContainsAny(c.text(c.at+1, end), "{\n") {
			return nil
		}
		c.next = end + 1
		return c.replace(c.mistakeOver(c.at, end+1, "elements are given by `list`"), c.at, end+1, "(list = ["+strings.TrimSpace(c.text(c.at+1, end))+"])")
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
		m := c.mistakeHere("an option is given by `=`")
		return m.hint("write `%s = %s`", c.str(c.at-1), c.str(c.at)).edit(Span{c.toks[c.at-1].hi, c.toks[c.at-1].hi}, " =").certain()
	case !c.inserts() || c.inBracket(c.at) >= 0 || !c.has(c.at-1, ")") || c.kindOf(c.at) != tokIdent:
		return nil
	case (word == "where" || word == "on") && taskOptions[c.str(c.at+1)] && c.has(c.at+2, "="): // where after = t
		return c.replace(c.mistakeOver(c.at, c.at+1, "options follow `with`"), c.at, c.at+1, "with")
	case taskOptions[word] && c.has(c.at+1, "="):
		m := c.mistakeOver(c.at, c.at+1, "options follow `with`")
		c.next = c.exprEnd(c.at + 2)
		return m.hint("write `with %s = …`", word).edit(Span{c.toks[c.at].lo, c.toks[c.at].lo}, "with ").certain()
	case word == "after" && c.endsOperand(c.at+1):
		hi := c.exprEnd(c.at + 1)
		for c.has(hi, ",") && c.kindOf(hi+1) == tokIdent && !c.has(hi+2, "=") { // t, u
			hi = c.exprEnd(hi + 1)
		}
		right := c.text(c.at+1, hi)
		if !strings.HasPrefix(right, "[") {
			right = "[" + right + "]"
		}
		c.next = hi
		return c.replace(c.mistakeOver(c.at, hi, "options follow `with`"), c.at, hi, "with after = "+right)
	case (word == "on" || word == "where") && c.endsOperand(c.at+1):
		hi := c.exprEnd(c.at + 1)
		c.next = hi
		m := c.mistakeOver(c.at, hi, "options follow `with`")
		if c.has(c.at+1, "gpu") && c.has(c.at+2, "(") { // gpu(0)
			return m.hint("for one device, say where an operand is: `RW x @ %s`; for a kind, `with where = cuda` or `opencl`", clip(c.text(c.at+1, hi)))
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
		return c.replace(m, c.at, hi, "with where = "+kind)
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
		at := c.span(c.at, c.at+1)
		at.Lo = c.toks[c.at-1].hi
		return c.mistakeHere("the message follows a comma").hint("write `,`").edit(at, ",").certain()
	case c.has(c.at, "=") && !c.has(c.at+1, ">") && c.endsOperand(c.at-1):
		return c.replace(c.mistakeHere("equality is written `==`"), c.at, c.at+1, "==")
	}
	return nil
}

// plus is let s = +3.
func (c *cursor) plus() *mistake {
	if !c.has(c.at, "+") || !c.touching(c.at) || c.endsOperand(c.at-1) || c.kindOf(c.at+1) != tokInt && c.kindOf(c.at+1) != tokFloat {
		return nil
	}
	return c.mistakeHere("a number has no sign, or `-`").hint("leave it out").edit(c.span(c.at, c.at+1), "").certain()
}
