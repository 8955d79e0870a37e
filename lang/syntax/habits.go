package syntax

// Habits: what people write who come from other languages. Each habit looks at the
// token that does not fit and its neighbours, and says what is written instead, most
// often with the edit that does it. What it says takes the place of "unexpected …".

import (
	"fmt"
	"slices"
	"strings"
)

// cursor is where reading failed: token at of the statement that begins at token from
// and whose head, or line, ends at token end.
type cursor struct {
	*parser
	from, at, end int

	next int // where to go on, when that is behind end
}

// habits are tried in order.
var habits = []func(c *cursor) *mistake{
	(*cursor).doubled, (*cursor).heads, (*cursor).dashed, (*cursor).decimalComma, (*cursor).listOfGo, (*cursor).sharedType, (*cursor).typeFirst, (*cursor).operand, (*cursor).productSign, (*cursor).formatTuple, (*cursor).eachOver,
	(*cursor).registerAsValue, (*cursor).statementAsValue, (*cursor).namedView, (*cursor).registeredList, (*cursor).prefetchTo, (*cursor).filterForm, (*cursor).foldForm, (*cursor).acquireWithoutName, (*cursor).waitAsMethod, (*cursor).listRange, (*cursor).reducerSign,
	(*cursor).repeatedItem, (*cursor).rowsInList, (*cursor).sizesInBrackets, (*cursor).funcOfOneLine, (*cursor).pairHead, (*cursor).choiceInBraces, (*cursor).arrayType, (*cursor).optionsInBraces, (*cursor).optionForm, (*cursor).optionAlone, (*cursor).asserted, (*cursor).plus,
	(*cursor).loopHabit, (*cursor).choice, (*cursor).choiceOfC, (*cursor).conditionOfList, (*cursor).slice, (*cursor).openRange, (*cursor).dotsMore, (*cursor).increment,
	(*cursor).comparison, (*cursor).angles, (*cursor).wordOperator, (*cursor).membership, (*cursor).shift, (*cursor).elseIf, (*cursor).signature,
	(*cursor).letHabit, (*cursor).declared, (*cursor).assertCall, (*cursor).braces, (*cursor).namelessFunc, (*cursor).arrow, (*cursor).initial,
	(*cursor).moduleName, (*cursor).insertHabit, (*cursor).modeHabit, (*cursor).callWithModes, (*cursor).filterHabit, (*cursor).registerHabit, (*cursor).waitCall, (*cursor).paramHabit, (*cursor).oneLine, (*cursor).colonBlock, (*cursor).wordBlock,
}

// habit is what the mistake at token at most likely comes from, nil if nothing tells.
// next is the token to go on from, 0 for the end of the head.
func (p *parser) habit(from, at int) (m *mistake, next int) {
	if at >= len(p.toks) || from > at || len(p.mistakes) >= maxErrors {
		return nil, 0 // looking takes as long as the line
	}
	end, bad := p.headEnd(from)
	if bad {
		return nil, 0
	}
	c := &cursor{parser: p, from: from, at: at, end: max(end, at)}
	for _, try := range habits {
		if m := try(c); m != nil {
			return m, c.next
		}
	}
	return nil, 0
}

// mistakeOver is the mistake at the tokens [lo, hi), which names its cause.
func (c *cursor) mistakeOver(lo, hi int, format string, args ...any) *mistake {
	m := &mistake{code: "E0101", at: c.span(lo, hi), msg: fmt.Sprintf(format, args...)}
	return m
}

// mistakeHere is the mistake at the token that does not fit.
func (c *cursor) mistakeHere(format string, args ...any) *mistake {
	return c.mistakeOver(c.at, c.at+1, "unexpected %s: %s", describe(c.tokenAt(c.at)), fmt.Sprintf(format, args...))
}

// replace adds the edit that puts text in place of the tokens [lo, hi), and the help
// that tells of it.
func (c *cursor) replace(m *mistake, lo, hi int, text string) *mistake {
	return m.hint("write `%s`", clipTo(text, 72)).edit(c.span(lo, hi), text).certain()
}

// span is the range of the tokens [lo, hi).
func (c *cursor) span(lo, hi int) Span {
	if hi <= lo {
		return Span{c.toks[lo].lo, c.toks[lo].lo}
	}
	return Span{c.toks[lo].lo, c.toks[hi-1].hi}
}

// text is the text of the tokens [lo, hi).
func (c *cursor) text(lo, hi int) string {
	s := c.span(lo, hi)
	return c.source[s.Lo:s.Hi]
}

// clipTo shortens a text for a message.
func clipTo(s string, limit int) string {
	if r := []rune(s); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return s
}

// kind is the kind of token i, tokEOF outside.
func (p *parser) kindOf(i int) int8 {
	if i < 0 || i >= len(p.toks) {
		return tokEOF
	}
	return p.toks[i].kind
}

// has reports whether token i exists and is the sign or word text.
func (p *parser) has(i int, text string) bool {
	return i >= 0 && i < len(p.toks) && p.is(i, text)
}

// str is the text of token i, "" outside.
func (c *cursor) str(i int) string {
	if i < 0 || i >= len(c.toks) {
		return ""
	}
	return c.parser.str(i)
}

// touching reports whether there is nothing between the tokens i and i+1.
func (p *parser) touching(i int) bool {
	return i >= 0 && i+1 < len(p.toks) && p.toks[i].hi == p.toks[i+1].lo
}

// lineEnds reports whether a line ends behind token i.
func (p *parser) lineEnds(i int) bool {
	rest := strings.TrimLeft(p.source[p.toks[i].hi:], " \t\r")
	return rest == "" || rest[0] == '\n' || rest[0] == '#'
}

// endsOperand reports whether an operand may end with token i.
func (p *parser) endsOperand(i int) bool {
	return i >= 0 && (&scanner{text: p.source}).operandEnd(p.toks[i])
}

// opens and closes are the brackets of expressions.
func (p *parser) opens(i int) bool  { return p.has(i, "(") || p.has(i, "[") || p.has(i, "{") }
func (p *parser) closes(i int) bool { return p.has(i, ")") || p.has(i, "]") || p.has(i, "}") }

// starts are the words in front of an expression.
var exprAfter = wordSet("return", "if", "while", "then", "else", "in", "assert", "and", "or", "not", "to", "let", "wait")

// exprStart is the first token of the expression of lowest precedence that ends in front of
// token i: behind a bracket, a comma, an assignment or a word.
func (c *cursor) exprStart(i int, stop map[string]bool) int {
	depth := 0
	for i--; i >= c.from; i-- {
		switch {
		case c.closes(i):
			depth++
		case c.opens(i):
			if depth == 0 {
				return i + 1
			}
			depth--
		case depth > 0:
		case c.kindOf(i) == tokAssign, c.has(i, ","), c.has(i, ":"), c.kindOf(i) == tokNL:
			return i + 1
		case c.kindOf(i) == tokKeyword && stop[c.str(i)]:
			return i + 1
		}
	}
	return c.from
}

// exprEnd is the token behind the expression that token i belongs to.
func (c *cursor) exprEnd(i int, stop ...string) int {
	depth := 0
	for ; i < len(c.toks); i++ {
		switch k := c.kindOf(i); {
		case k == tokEOF || k == tokVirtual || depth == 0 && k == tokNL:
			return i
		case depth == 0 && slices.ContainsFunc(stop, func(s string) bool { return c.has(i, s) }):
			return i
		case c.opens(i):
			if depth == 0 && c.has(i, "{") {
				return i
			}
			depth++
		case c.closes(i):
			if depth == 0 {
				return i
			}
			depth--
		case depth == 0 && (c.has(i, ",") || k == tokAssign):
			return i
		}
	}
	return i
}

// inBracket is the innermost bracket that is open at token i, -1 for none.
func (c *cursor) inBracket(i int) int {
	depth := 0
	for i--; i >= c.from; i-- {
		switch {
		case c.closes(i):
			depth++
		case c.opens(i):
			if depth == 0 {
				return i
			}
			depth--
		}
	}
	return -1
}

var stopAtWords = wordSet("return", "while", "then", "else", "in", "assert", "to", "let", "wait", "with")

// choice is a if c else b.
func (c *cursor) choice() *mistake {
	if !c.has(c.at, "if") || !c.endsOperand(c.at-1) || c.closesBlock(c.at-1) {
		return nil
	}
	lo := c.exprStart(c.at, stopAtWords)
	hi := c.exprEnd(c.at)
	other := c.exprEnd(c.at, "else")
	if lo >= c.at || !c.has(other, "else") || c.has(hi, "{") || other+1 >= hi {
		return nil
	}
	m := c.mistakeHere("a choice begins with `if`")
	c.next = hi
	return c.replace(m, lo, hi, c.chosen(lo, hi))
}

// closesBlock reports whether token i is the end of a block of statements, where a
// new statement may begin.
func (c *cursor) closesBlock(i int) bool { return c.has(i, "}") }

// chosen writes a if c else b, the tokens [lo, hi), as if c then a else b.
func (c *cursor) chosen(lo, hi int) string {
	cond := c.exprEnd(lo, "if")
	if !c.has(cond, "if") || cond >= hi {
		return c.text(lo, hi)
	}
	other := c.exprEnd(cond+1, "else")
	if !c.has(other, "else") || other >= hi {
		return c.text(lo, hi)
	}
	return "if " + c.text(cond+1, other) + " then " + c.text(lo, cond) + " else " + c.chosen(other+1, hi)
}

// choiceOfC is c ? a : b.
func (c *cursor) choiceOfC() *mistake {
	if !c.has(c.at, "?") {
		return nil
	}
	if hi := c.exprEnd(c.at + 2); c.has(c.at+1, "?") && c.touching(c.at) && hi > c.at+2 { // a ?? b
		m := c.mistakeOver(c.at, c.at+2, "there is no operator `??`")
		return m.hint("every name has a value: leave `%s` out", clipTo(c.text(c.at, hi), 60)).edit(Span{c.toks[c.at-1].hi, c.toks[hi-1].hi}, "")
	}
	m := c.mistakeHere("a choice is written `if c then a else b`")
	lo := c.exprStart(c.at, stopAtWords)
	if c.has(lo, "if") && lo < c.at {
		return c.replace(m, c.at, c.at+1, "then")
	}
	colon := c.exprEnd(c.at+1, ":")
	hi := c.exprEnd(c.at + 1)
	if !c.has(colon, ":") || lo >= c.at || colon+1 >= hi {
		return m
	}
	return c.replace(m, lo, hi, "if "+c.text(lo, c.at)+" then "+c.text(c.at+1, colon)+" else "+c.text(colon+1, hi))
}

// elseIf is elif.
func (c *cursor) elseIf() *mistake {
	switch w := c.str(c.at); w {
	case "elif", "elsif", "elseif", "elseIf":
		if c.kindOf(c.at) == tokIdent && c.has(c.at-1, "}") {
			hi := c.at + 1
			if c.has(hi, "if") { // of else
				hi++
			}
			return c.replace(c.mistakeOver(c.at, c.at+1, "`%s` is not a word of the language", w), c.at, hi, "else if")
		}
	}
	return nil
}

// lineOf is the token behind the simple statement that begins at token lo, or its else.
func (c *cursor) lineOf(lo int) int {
	end := c.exprEnd(lo, "else")
	for c.kindOf(end) == tokAssign || c.has(end, ",") {
		end = c.exprEnd(end+1, "else")
	}
	return end
}

// oneLine is if (c) f(): a block without braces, on the line of its head.
func (c *cursor) oneLine() *mistake {
	head := c.str(c.from)
	lo := c.at
	if (c.has(lo, ":") || c.has(lo, "then")) && !c.lineEnds(lo) { // if c: f()
		lo++
	}
	if head != "if" && head != "while" && head != "for" || c.kindOf(c.from) != tokKeyword || !c.startsStatement(lo) || c.at < c.from+2 || c.inBracket(c.at) >= 0 {
		return nil
	}
	if brace, _ := c.headEnd(c.from); brace < c.at {
		return nil // behind the block
	}
	end := c.lineOf(lo)
	if c.has(end, "{") || !c.endsOperand(c.at-1) {
		return nil
	}
	m := c.mistakeHere("the block of `%s` is written in braces", head)
	body := c.text(lo, end)
	if c.has(end, "else") { // … else g()
		last := c.lineOf(end + 1)
		if head != "if" || !c.startsStatement(end+1) || c.has(last, "{") || c.has(last, "else") {
			return m.hint("write `{ %s }`, and the other block in braces, too", clipTo(body, 60))
		}
		body += " } else { " + c.text(end+1, last)
		end = last
	}
	c.next = end
	blank := ""
	if c.touching(c.at - 1) {
		blank = " "
	}
	return m.hint("write `{ %s }`", clipTo(body, 60)).edit(c.span(c.at, end), blank+"{ "+body+" }").certain()
}
