package syntax

// Habits of names and literals: my-var, 3,5 and []int{1, 2}.

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// dashed is let my-var = 3: a declared name that is joined by `-`.
func (c *cursor) dashed() *mistake {
	if !c.has(c.at, "-") || !c.dashJoins(c.at) || !c.declares(c.at-1) {
		return nil
	}
	lo, hi := c.at-1, c.at
	for c.has(hi, "-") && c.dashJoins(hi) {
		hi += 2
	}
	dashed := c.of(lo, hi)
	name := strings.ReplaceAll(dashed, "-", "_")
	m := c.says(lo, hi, "`%s` is not a name: names have letters, digits and `_`", clip(dashed)).hint("write `%s`", clip(name))
	m.at = c.over(lo, hi)
	for i := lo; i+hi-lo < len(c.toks) && len(m.edits) <= maxDashed; i++ { // here, and where it is used below
		if i > lo && (!c.has(i+1, "-") || c.of(i, i+hi-lo) != dashed || c.has(i-1, "-") && c.dashJoins(i-1)) {
			continue
		}
		m.edit(c.over(i, i+hi-lo), name)
	}
	c.dashedInTexts(m, lo, dashed, name)
	if len(m.edits) <= maxDashed && c.kindOf(c.at+1) != tokInt {
		m.certain()
	}
	return m
}

// dashedInTexts adds to m the edits of a name in the f-strings from token lo on.
func (c *cursor) dashedInTexts(m *mistake, lo int, dashed, name string) {
	for _, t := range c.toks[lo:] {
		if t.kind != tokFString {
			continue
		}
		text := t.text(c.text)
		for at := 0; len(m.edits) <= maxDashed; {
			k := strings.Index(text[at:], dashed)
			if k < 0 {
				break
			}
			at += k + len(dashed)
			start := int32(at - len(dashed))
			if _, stop, ok := fieldAt(text, int(start)); ok && at <= stop && !partOfName(text, int(start), at) {
				m.edit(Span{t.lo + start, t.lo + int32(at)}, name)
			}
		}
	}
}

// partOfName reports whether text[lo:hi] goes on as a name, or as a dashed one, to a side.
func partOfName(text string, lo, hi int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:lo])
	after, _ := utf8.DecodeRuneInString(text[hi:])
	word := func(r rune) bool { return r == '_' || r == '-' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	return word(before) || word(after)
}

// doubled is insert scal scal(RW x), by rows rows(4) and with priority priority = 1.
// Elsewhere something else is lost more likely, such as a comma or a brace.
func (c *cursor) doubled() *mistake {
	word := c.str(c.at)
	if c.kindOf(c.at) != tokIdent || c.str(c.at-1) != word || !c.has(c.at-2, "insert") && !c.has(c.at-2, "by") && !c.has(c.at-2, "with") {
		return nil
	}
	c.next = c.end
	return c.says(c.at, c.at+1, "`%s` stands twice", clip(word)).hint("leave one out").edit(Span{c.toks[c.at-1].hi, c.toks[c.at].hi}, "").certain()
}

// maxDashed is how many uses of a name are renamed without a question.
const maxDashed = 200

// dashJoins reports whether the `-` at token i touches words on both sides.
func (c *cursor) dashJoins(i int) bool {
	word := func(k int8) bool { return k == tokIdent || k == tokKeyword || k == tokInt }
	return c.touching(i-1) && c.touching(i) && word(c.kindOf(i-1)) && word(c.kindOf(i+1))
}

// declares reports whether token i is a name that the statement declares.
func (c *cursor) declares(i int) bool {
	switch before := c.str(i - 1); before {
	case "let", "register", "func", "codelet", "param", "partition", "as", "for":
		return c.kindOf(i-1) == tokKeyword
	case "(", ",":
		switch c.str(c.from) {
		case "func", "codelet":
			return c.inBracket(i) >= 0
		case "register", "partition", "for":
			return c.inBracket(i) < 0
		}
	}
	return false
}

// decimalComma is let x = 3,5.
func (c *cursor) decimalComma() *mistake {
	if !c.has(c.at, ",") || c.inBracket(c.at) >= 0 || c.kindOf(c.at-1) != tokInt || c.kindOf(c.at+1) != tokInt || !c.touching(c.at-1) || !c.touching(c.at) {
		return nil
	}
	switch c.str(c.from) {
	case "let", "param", "return":
	default:
		if c.kindOf(c.from) != tokIdent {
			return nil
		}
	}
	if k := c.kindOf(c.at + 2); k != tokNL && k != tokEOF && k != tokOp && k != tokKeyword || c.has(c.at+2, ",") {
		return nil
	}
	if whole := c.str(c.at - 1); len(c.str(c.at+1)) == 3 && len(whole) <= 3 && whole != "0" { // 1,000
		m := c.here("digits are grouped by `_`")
		return c.instead(m, c.at-1, c.at+2, whole+"_"+c.str(c.at+1)).guessed()
	}
	m := c.here("the decimal sign is a point") // elsewhere 3,5 may be two values, too
	return c.instead(m, c.at-1, c.at+2, c.str(c.at-1)+"."+c.str(c.at+1)).guessed()
}

// listOfGo is []int{1, 2} and [3]float{…}.
func (c *cursor) listOfGo() *mistake {
	if c.kindOf(c.at) != tokIdent || !c.has(c.at-1, "]") || !c.touching(c.at-1) || !c.has(c.at+1, "{") {
		return nil
	}
	open := c.at - 2
	for open > c.from && !c.has(open, "[") && open > c.at-4 {
		open--
	}
	end := c.closingOf(c.at + 1)
	if !c.has(open, "[") || c.endsOperand(open-1) || end < 0 {
		return nil
	}
	c.next = end + 1
	m := c.says(open, c.at+1, "a list has no type in front of its items")
	inside := strings.Trim(c.of(c.at+2, end), ", \t")
	if strings.ContainsAny(inside, "{:\n#") {
		return m.hint("write `[a, b, c]`")
	}
	return c.instead(m, open, end+1, "["+inside+"]")
}

// closingOf is the bracket that closes the one at token i, -1 if there is none.
func (c *cursor) closingOf(i int) int {
	depth := 0
	for ; i < len(c.toks); i++ {
		switch {
		case c.kindOf(i) == tokEOF || c.kindOf(i) == tokVirtual:
			return -1
		case c.opens(i):
			depth++
		case c.closes(i):
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// heads is for i in a..b for j in c..d { … } and for i in a..b, j in c..d { … }.
func (c *cursor) heads() *mistake {
	if !c.has(c.from, "for") || c.kindOf(c.from) != tokKeyword || c.inBracket(c.at) >= 0 || !c.endsOperand(c.at-1) {
		return nil
	}
	second := c.at + 1
	if c.has(c.at, ",") && c.has(second, "for") {
		second++
	} else if !c.has(c.at, "for") && !c.has(c.at, ",") {
		return nil
	}
	brace := c.right(second)
	in := c.from + 2
	if c.kindOf(second) != tokIdent || !c.has(second+1, "in") || !c.has(in, "in") || !c.has(brace, "{") {
		return nil
	}
	m := c.says(c.from, brace, "each loop has a block of its own")
	third := c.right(second+2, "if", "for")
	if c.has(third, "if") {
		return m.hint("write `for i in a { for j in b { if c { … } } }`")
	}
	outer, inner := c.of(in+1, c.at), c.of(second+2, brace)
	i, j := c.str(c.from+1), c.str(second)
	n, crossed := strings.CutPrefix(outer, "0..")
	k, too := strings.CutPrefix(inner, "0..")
	uses := slices.ContainsFunc(c.toks[second+2:brace], func(t token) bool { return t.text(c.text) == i })
	if crossed && too && !uses && third == brace && !strings.HasPrefix(n, "=") && !strings.HasPrefix(k, "=") {
		c.next = brace
		return c.instead(m, c.from, brace, "for "+i+", "+j+" in grid("+n+", "+k+")")
	}
	end := c.closingOf(brace)
	head := "{ for " + j + " in " + inner
	m.hint("write `for %s in %s %s { … } }`", i, outer, head).edit(c.over(c.at, brace), head)
	if c.has(c.at, ",") {
		m.edits[len(m.edits)-1].at.Lo = c.toks[c.at-1].hi
		m.edits[len(m.edits)-1].text = " " + head
	}
	if end < 0 {
		return m
	}
	c.next = brace
	return m.edit(Span{c.toks[end].hi, c.toks[end].hi}, " }").certain()
}

// productSign is A @ B.
func (c *cursor) productSign() *mistake {
	if !c.has(c.at, "@") || !c.endsOperand(c.at-1) || !startsExpr(c.tokenAt(c.at+1)) || c.has(c.from, "acquire") {
		return nil
	}
	if open := c.inBracket(c.at); open >= 0 && c.has(c.from, "insert") {
		return nil
	}
	x, y := "A", "B"
	if c.kindOf(c.at-1) == tokIdent && c.kindOf(c.at+1) == tokIdent {
		x, y = c.str(c.at-1), c.str(c.at+1)
	}
	return c.here("the product of matrices is a task").hint("`import \"std/blas\" as blas`, then `insert blas.gemm(R %s, R %s, RW C)`", x, y)
}

// formatTuple is "%d %d" % (a, b).
func (c *cursor) formatTuple() *mistake {
	open := c.inBracket(c.at)
	if !c.has(c.at, ",") || open < 0 || !c.has(open, "(") || !c.has(open-1, "%") || c.kindOf(open-2) != tokString {
		return nil
	}
	end := c.closingOf(open)
	if end < 0 {
		return nil
	}
	var args []string
	for lo := open + 1; lo < end; {
		hi := c.right(lo)
		args = append(args, c.of(lo, hi))
		lo = hi + 1
	}
	m := c.says(open-1, open, "values are written in the text, between braces")
	right := Interpolated(c.str(open-2), args)
	if right == "" {
		return m.hint("text with values in it is an f-string: `f\"n = {n}\"`")
	}
	c.next = end + 1
	return c.instead(m, open-2, end+1, right)
}

// eachOver is each x { … }, without an index.
func (c *cursor) eachOver() *mistake {
	if !c.has(c.from, "each") || c.kindOf(c.from) != tokKeyword || !c.has(c.at, "{") || c.at != c.from+2 || c.kindOf(c.at-1) != tokIdent {
		return nil
	}
	c.next = c.at
	return c.instead(c.says(c.from, c.at, "`each` names the indices that it goes over"), c.from, c.at, "each i in "+c.str(c.at-1)).guessed()
}
