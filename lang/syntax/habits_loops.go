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
		m := c.says(c.from, c.from+4, "data is made by `register`")
		right := "register " + c.str(c.from+1) + " ="
		if c.next = brace; c.has(brace, "{") {
			m.msg = "data is made by `register`, above the loop"
			return m.hint("write `%s %s` there", right, clipTo(c.of(c.from+3, brace), 60))
		}
		return c.instead(m, c.from, c.from+3, right)
	}
	head := c.loopHead(lo, hi)
	if head == "" {
		if parts := c.parts(lo-1, hi, ";"); len(parts) == 3 && c.kindOf(lo) == tokIdent { // and no loop over a range
			c.next = brace
			return c.says(c.from, brace, "a loop goes over a range or a list").hint("other loops have a condition: write `while c { … }`, with the first value above and the step as its last statement")
		}
		if c.has(c.from+1, "(") && c.at == c.from+1 {
			return c.says(c.at, c.at+1, "a loop has no parentheses").hint("write `for i in 0..n { … }`")
		}
		return nil
	}
	m := c.says(c.from, brace, "a loop is written `for i in a..b { … }`")
	if strings.HasPrefix(head, "while") {
		m.msg = "a loop with a condition is written `while c { … }`"
	}
	c.next = brace
	c.instead(m, c.from, brace, head)
	if !c.has(brace, "{") {
		c.braced(m, brace, brace)
	}
	if strings.Contains(c.of(c.from, brace), ":") && !strings.Contains(c.of(c.from, brace), ":=") && strings.Contains(head, "..") {
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
	m := c.says(c.from, closing+1, "a loop is written `for i in a..b { … }`")
	c.next = end
	return c.instead(m, c.from, end, head+" { "+strings.TrimRight(c.of(closing+1, end), "; ")+" }")
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
		return "for " + name + " in 0.." + c.of(first+2, hi)
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
			return "for " + name + " in " + c.of(first+1, hi)
		}
	case levelOf(c.tokenAt(first)) == levelCmp: // for i < n
		return "while " + c.of(lo, hi)
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
	a, op, b, step := c.of(lo, semi), c.str(semi+2), c.of(semi+3, second), strings.ReplaceAll(c.of(second+1, hi), " ", "")
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
			return head + c.of(lo, hi)
		}
		return ""
	}
	a, b := c.of(lo, cut), c.of(cut+1, hi)
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
	m := c.here("a block is written in braces")
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
		return c.braced(c.here("a block is written in braces"), c.at, c.at+1)
	case c.kindOf(c.at) == tokNL && c.str(c.at) != ";":
		if last, _ := c.indented(c.at); last > c.at {
			m := c.says(c.at, c.at, "unexpected end of line, expected `{`: a block is written in braces")
			m.at = Span{c.toks[c.at-1].hi, c.toks[c.at-1].hi}
			return c.braced(m, c.at, c.at)
		}
	case c.kindOf(c.at) == tokIdent && c.str(c.at) == "do" && c.has(c.at+1, "{"):
		m := c.here("there is nothing in front of the block")
		c.next = c.at + 1
		return c.instead(m, c.at, c.at+2, "{")
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
	switch open := c.over(at, hi); {
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
		m.edit(c.over(after, after+1), word)
		m.edit(c.over(head, head+1), " {")
		last, after = c.indented(head)
		c.loose = max(c.loose, after)
	}
	if c.endsBlock(after) {
		return m.edit(c.over(after, after+1), "}")
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
		lo := strings.LastIndexByte(c.text[:c.toks[i].lo], '\n') + 1
		starts := strings.TrimSpace(c.text[lo:c.toks[i].lo]) == ""
		if k == tokEOF || k == tokVirtual || starts && int(c.toks[i].lo)-lo <= margin {
			return last, i
		}
		last = i
	}
	return last, len(c.toks) - 1
}
