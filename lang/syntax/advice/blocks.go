package advice

// Rules of loops, blocks and heads that are functions.

import (
	"strings"

	"github.com/starpush/starpush/lang/syntax/token"
	"github.com/starpush/starpush/lang/vocab"
)

// loopHabit is a for of another language.
func (c *cursor) loopHabit() *token.Mistake {
	if !c.Has(c.from, "for") || c.Kind(c.from) != token.Keyword || c.at >= c.end+1 && !c.Has(c.at, "(") {
		return nil
	}
	brace := c.from + 1
	for !c.Has(brace, "{") && c.Kind(brace) != token.EOF && c.Kind(brace) != token.Virtual && (c.Kind(brace) != token.NL || c.has2(brace, ";") && !c.LineEnds(brace)) {
		brace++
	}
	if m := c.loopOfOneLine(brace); m != nil {
		return m
	}
	lo, hi := c.from+1, brace
	if c.Has(hi-1, ":") {
		hi--
	}
	if c.Has(lo, "(") && c.Has(hi-1, ")") {
		lo, hi = lo+1, hi-1
	}
	if c.Has(c.from+2, "=") && vocab.Constructors[c.Str(c.from+3)] { // for x = vector[f64](n)
		m := c.mistakeOver(c.from, c.from+4, "data is made by `register`")
		right := "register " + c.Str(c.from+1) + " ="
		if c.next = brace; c.Has(brace, "{") {
			m.Msg = "data is made by `register`, above the loop"
			return m.Hint("write `%s %s` there", right, token.ClipTo(c.text(c.from+3, brace), 60))
		}
		return c.replace(m, c.from, c.from+3, right)
	}
	head := c.loopHead(lo, hi)
	if head == "" {
		if parts := c.parts(lo-1, hi, ";"); len(parts) == 3 && c.Kind(lo) == token.Ident { // and no loop over a range
			c.next = brace
			return c.mistakeOver(c.from, brace, "a loop goes over a range or a list").Hint("other loops have a condition: write `while c { … }`, with the first value above and the step as its last statement")
		}
		if c.Has(c.from+1, "(") && c.at == c.from+1 {
			return c.mistakeOver(c.at, c.at+1, "a loop has no parentheses").Hint("write `for i in 0..n { … }`")
		}
		return nil
	}
	m := c.mistakeOver(c.from, brace, "a loop is written `for i in a..b { … }`")
	if strings.HasPrefix(head, "while") {
		m.Msg = "a loop with a condition is written `while c { … }`"
	}
	c.next = brace
	c.replace(m, c.from, brace, head)
	if !c.Has(brace, "{") {
		c.braced(m, brace, brace)
	}
	if strings.Contains(c.text(c.from, brace), ":") && !strings.Contains(c.text(c.from, brace), ":=") && strings.Contains(head, "..") {
		m.Guessed() // 0:n may count n or not
	}
	return m
}

// loopOfOneLine is for (int i = 0; i < n; i++) f(i) on one line, which ends at token end.
func (c *cursor) loopOfOneLine(end int) *token.Mistake {
	if !c.Has(c.from+1, "(") || c.Has(end, "{") {
		return nil
	}
	closing, depth := c.from+1, 0
	for ; closing < end; closing++ {
		if c.Opens(closing) {
			depth++
		} else if c.Closes(closing) {
			if depth--; depth == 0 {
				break
			}
		}
	}
	if closing+1 >= end || !c.StartsStatement(closing+1) {
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
func (c *cursor) has2(i int, text string) bool { return c.Str(i) == text }

// loopHead writes the head of a loop, the tokens [lo, hi) behind for, in the language;
// "" when they are nothing known.
func (c *cursor) loopHead(lo, hi int) string {
	if lo >= hi {
		if lo == hi && c.Has(lo, "{") {
			return "while true"
		}
		return ""
	}
	for c.Kind(lo) == token.Ident && (c.Kind(lo+1) == token.Ident) && (vocab.CTypes[c.Str(lo)] || c.Str(lo) == "var" || c.Str(lo) == "each") || c.Has(lo, "let") || c.Has(lo, "each") {
		lo++ // a type, or a word that declares
	}
	name := c.Str(lo)
	if c.Kind(lo) != token.Ident {
		return ""
	}
	first := lo + 1
	if c.Has(first, ":") && c.Has(first+1, "=") { // i := …
		first++
	}
	if c.Has(first, ",") && c.Kind(first+1) == token.Ident && c.Has(first+2, ":") && c.Has(first+3, "=") && c.has2(first+4, "range") {
		if c.Kind(first+5) != token.Ident || first+6 != hi {
			return ""
		}
		xs := c.Str(first + 5)
		if name == "_" {
			return "for " + c.Str(first+1) + " in " + xs
		}
		return "for " + name + " in 0..len(" + xs + ")"
	}
	switch {
	case c.Has(first, "=") && c.has2(first+1, "range") && c.Kind(first+2) != token.Op && first+3 <= hi: // for i := range n
		return "for " + name + " in 0.." + c.text(first+2, hi)
	case c.Has(first, "="):
		if len(c.parts(first, hi, ";")) == 3 {
			return c.threeParts(name, first+1, hi)
		}
		return c.upTo(name, first+1, hi, true)
	case c.Has(first, "in"), c.Kind(first) == token.Ident && c.Str(first) == "of":
		if head := c.upTo(name, first+1, hi, false); head != "" {
			return head
		}
		if c.at == c.from+1 || !c.Has(first, "in") || c.Has(c.from+1, "each") { // only the parentheses, or the words, are wrong
			return "for " + name + " in " + c.text(first+1, hi)
		}
	case token.LevelOf(c.TokenAt(first)) == token.LevelCmp: // for i < n
		return "while " + c.text(lo, hi)
	}
	return ""
}

// threeParts is a; i < b; i++ behind for i =.
func (c *cursor) threeParts(name string, lo, hi int) string {
	semi := lo
	for semi < hi && c.Str(semi) != ";" {
		semi++
	}
	second := semi + 1
	for second < hi && c.Str(second) != ";" {
		second++
	}
	if second >= hi || semi+3 > second || c.Str(semi+1) != name {
		return ""
	}
	for i, depth := lo, 0; i < hi; i++ {
		switch {
		case c.Opens(i):
			depth++
		case c.Closes(i):
			depth--
		case depth == 0 && several[c.Str(i)]:
			return ""
		}
	}
	a, op, b, step := c.text(lo, semi), c.Str(semi+2), c.text(semi+3, second), strings.ReplaceAll(c.text(second+1, hi), " ", "")
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
var several = token.WordSet(",", "?", "and", "or", "&", "&&", "|", "||")

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
		case c.Opens(i):
			depth++
		case c.Closes(i):
			depth--
		case depth > 0 || i == lo:
		case c.Has(i, ":") && i+1 < hi, c.Has(i, "to"), c.Has(i, "by"), c.Kind(i) == token.Ident && (c.Str(i) == "step" || c.Str(i) == "until" || c.Str(i) == "upto"):
			cut, sign = i, c.Str(i)
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
		if c.Kind(lo) != token.Int && (cut > lo+1 || hi > cut+2 || vocab.StatementHelp[b] != "") || strings.Contains(a, "..") {
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
func (c *cursor) colonBlock() *token.Mistake {
	if !c.Has(c.at, ":") || !c.LineEnds(c.at) || c.inBracket(c.at) >= 0 || !c.BlockHead(c.from) {
		return nil
	}
	m := c.mistakeHere("a block is written in braces")
	return c.braced(m, c.at, c.at+1)
}

// wordBlock is a block that begins with then or do, or with nothing, and most often
// ends with end.
func (c *cursor) wordBlock() *token.Mistake {
	if !c.BlockHead(c.from) || c.inBracket(c.at) >= 0 {
		return nil
	}
	switch {
	case (c.Has(c.at, "then") || c.Kind(c.at) == token.Ident && c.Str(c.at) == "do") && c.LineEnds(c.at):
		return c.braced(c.mistakeHere("a block is written in braces"), c.at, c.at+1)
	case c.Kind(c.at) == token.NL && c.Str(c.at) != ";":
		if last, _ := c.indented(c.at); last > c.at {
			m := c.mistakeOver(c.at, c.at, "unexpected end of line, expected `{`: a block is written in braces")
			m.At = token.Span{Lo: c.Tokens[c.at-1].Hi, Hi: c.Tokens[c.at-1].Hi}
			return c.braced(m, c.at, c.at)
		}
	case c.Kind(c.at) == token.Ident && c.Str(c.at) == "do" && c.Has(c.at+1, "{"):
		m := c.mistakeHere("there is nothing in front of the block")
		c.next = c.at + 1
		return c.replace(m, c.at, c.at+2, "{")
	}
	return nil
}

// braced adds to m the edit that puts braces around the block below the line of token
// at: { in place of the tokens [at, hi), } behind the last line that is indented deeper,
// in place of an end that follows.
func (c *cursor) braced(m *token.Mistake, at, hi int) *token.Mistake {
	m.Hint("a block is written `{ … }`")
	last, after := c.indented(at)
	if last <= at {
		return m
	}
	c.loose = max(c.loose, after)
	m.Certain()
	switch open := c.span(at, hi); {
	case hi == at: // at the end of the line
		m.Edit(token.Span{Lo: c.Tokens[at-1].Hi, Hi: c.Tokens[at-1].Hi}, " {")
	case c.Touching(at - 1):
		m.Edit(open, " {")
	default:
		m.Edit(open, "{")
	}
	for c.elseBelow(after) { // else: and elif c: of the same if
		head := after
		for c.Kind(head) != token.NL && c.Kind(head) != token.EOF && !(c.Has(head, ":") && c.LineEnds(head)) {
			head++
		}
		if !c.Has(head, ":") {
			break
		}
		word := "} " + map[bool]string{true: "else if", false: c.Str(after)}[c.Kind(after) == token.Ident]
		m.Edit(c.span(after, after+1), word)
		m.Edit(c.span(head, head+1), " {")
		last, after = c.indented(head)
		c.loose = max(c.loose, after)
	}
	if c.endsBlock(after) {
		return m.Edit(c.span(after, after+1), "}")
	}
	return m.Edit(token.Span{Lo: c.Tokens[last].Hi, Hi: c.Tokens[last].Hi}, "\n"+c.Indent(c.from)+"}")
}

// elseWords begin the other branch of an if elsewhere.
var elseWords = token.WordSet("elif", "elsif", "elseif", "else")

// elseBelow reports whether the else of an if whose block has no braces begins at token
// i.
func (c *cursor) elseBelow(i int) bool {
	return c.Has(c.from, "if") && i < len(c.Tokens) && (c.Has(i, "else") || c.Kind(i) == token.Ident && elseWords[c.Str(i)]) &&
		c.Indent(i) == c.Indent(c.from)
}

// endsBlock reports whether token i is the end of a block without braces, and notes it.
func (c *cursor) endsBlock(i int) bool {
	if c.Kind(i) != token.Ident || c.Str(i) != "end" && c.Str(i) != "endif" || c.Kind(i+1) != token.NL && c.Kind(i+1) != token.EOF {
		return false
	}
	c.ends = append(c.ends, i)
	return true
}

// indented finds the block that is indented deeper than the line of token from, below
// the line of token at: its last token and the first token behind it.
func (c *cursor) indented(at int) (last, after int) {
	margin := len(c.Indent(c.from))
	last = at
	for i := at + 1; i < len(c.Tokens); i++ {
		k := c.Kind(i)
		if k == token.NL {
			continue
		}
		lo := strings.LastIndexByte(c.Text[:c.Tokens[i].Lo], '\n') + 1
		starts := strings.TrimSpace(c.Text[lo:c.Tokens[i].Lo]) == ""
		if k == token.EOF || k == token.Virtual || starts && int(c.Tokens[i].Lo)-lo <= margin {
			return last, i
		}
		last = i
	}
	return last, len(c.Tokens) - 1
}

// choiceInBraces is let d = if c { a } else { b }, and a choice without its else.
func (c *cursor) choiceInBraces() *token.Mistake {
	word := c.at - 1
	for word > c.from && !c.Has(word, "if") {
		word--
	}
	if !c.Has(word, "if") || word <= c.from || c.Kind(c.from) == token.Keyword && c.Has(c.from, "if") {
		return nil
	}
	if (c.Kind(c.at) == token.NL || c.Kind(c.at) == token.EOF) && c.EndsOperand(c.at-1) {
		for i := word; i < c.at; i++ {
			if c.Has(i, "then") {
				m := c.mistakeOver(word, c.at, "a choice has two values")
				m.Got, m.Expect = c.TokenAt(c.at), []string{"`else`"} // more may come at the prompt
				return m.Hint("write `%s else …`", token.ClipTo(c.text(word, c.at), 60))
			}
		}
		return nil
	}
	if !c.Has(c.at, "{") {
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
		if open != c.at && c.Has(open-1, "else") {
			right += value
			break
		}
		head := last + 2
		if !c.Has(last+1, "else") {
			return nil
		}
		if open = c.exprEnd(head); c.Has(head, "{") {
			open = head
		} else if !c.Has(head, "if") || !c.Has(open, "{") {
			return nil
		}
		right += " then " + value + " else "
		if open > head {
			right += c.text(head, open)
		}
	}
	c.next = last + 1
	if c.Kind(last+1) == token.Op && !c.Closes(last+1) && !c.Has(last+1, ",") {
		right = "(" + right + ")" // else b would take in what follows
	}
	return c.replace(c.mistakeOver(word, last+1, "a choice between values has `then`, not braces"), word, last+1, right)
}

// arrayType is f64[], *f64 and Vector<f64> in a signature, and vector[f64]{1.0, 2.0}.
func (c *cursor) arrayType() *token.Mistake {
	switch {
	case c.Has(c.at, "]") && c.Has(c.at-1, "[") && c.Kind(c.at-2) == token.Ident && vocab.CElems[c.Str(c.at-2)] != "" && c.declaration():
		if scalar := map[string]string{"float": "float", "double": "float", "int": "int", "long": "int"}[c.Str(c.at-2)]; c.declaring() == "func" && scalar != "" {
			m := c.mistakeOver(c.at-2, c.at+1, "the items of a list have their type in square brackets")
			c.replace(m, c.at-2, c.at+1, "list["+scalar+"]").Guessed()
			m.Help[0] += ", or `vector[" + vocab.CElems[c.Str(c.at-2)] + "]` for data"
			return m
		}
		return c.typed(c.mistakeOver(c.at-2, c.at+1, "data of one index is a vector"), c.at-2, c.at+1, "vector", c.Str(c.at-2))
	case c.Has(c.at, "*") && c.Kind(c.at-1) == token.Ident && token.ModeOf(c.Str(c.at-1)) != 0 && vocab.CElems[c.Str(c.at+1)] != "" && c.declaration():
		return c.typed(c.mistakeHere("there are no pointers"), c.at, c.at+2, "vector", c.Str(c.at+1))
	case c.Has(c.at, "<") && c.Has(c.at+2, ">") && vocab.Constructors[strings.ToLower(c.Str(c.at-1))] && !vocab.Constructors[c.Str(c.at-1)] && vocab.CElems[c.Str(c.at+1)] != "":
		return c.typed(c.mistakeOver(c.at-1, c.at+3, "the element type is written in square brackets"), c.at-1, c.at+3, strings.ToLower(c.Str(c.at-1)), c.Str(c.at+1))
	}
	return nil
}

// taskOptions are the options of insert.
var taskOptions = func() map[string]bool {
	names := map[string]bool{}
	for _, o := range vocab.OptionsOf("insert") {
		names[o.Name] = true
	}
	return names
}()

// inserts reports whether the statement submits a task in front of the token that does
// not fit.
func (c *cursor) inserts() bool {
	return c.Has(c.from, "insert") || c.Has(c.from, "let") && c.Has(c.from+3, "insert")
}

// afterTasks is insert f(RW x) after t, u.
func (c *cursor) afterTasks() *token.Mistake {
	if !c.EndsOperand(c.at + 1) {
		return nil
	}
	hi := c.exprEnd(c.at + 1)
	for c.Has(hi, ",") && c.Kind(hi+1) == token.Ident && !c.Has(hi+2, "=") { // t, u
		hi = c.exprEnd(hi + 1)
	}
	right := c.text(c.at+1, hi)
	if !strings.HasPrefix(right, "[") {
		right = "[" + right + "]"
	}
	c.next = hi
	return c.replace(c.mistakeOver(c.at, hi, "options follow `with`"), c.at, hi, "with after = "+right)
}
