package syntax

// Habits of names and literals: my-var, 3,5 and []int{1, 2}.

import (
	"slices"
	"strconv"
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
	dashed := c.text(lo, hi)
	name := strings.ReplaceAll(dashed, "-", "_")
	m := c.mistakeOver(lo, hi, "`%s` is not a name: names have letters, digits and `_`", clip(dashed)).hint("write `%s`", clip(name))
	m.at = c.span(lo, hi)
	for i := lo; i+hi-lo < len(c.toks) && len(m.edits) <= maxDashed; i++ { // here, and where it is used below
		if i > lo && (!c.has(i+1, "-") || c.text(i, i+hi-lo) != dashed || c.has(i-1, "-") && c.dashJoins(i-1)) {
			continue
		}
		m.edit(c.span(i, i+hi-lo), name)
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
		text := t.text(c.source)
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
	return c.mistakeOver(c.at, c.at+1, "`%s` stands twice", clip(word)).hint("leave one out").edit(Span{c.toks[c.at-1].hi, c.toks[c.at].hi}, "").certain()
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
		m := c.mistakeHere("digits are grouped by `_`")
		return c.replace(m, c.at-1, c.at+2, whole+"_"+c.str(c.at+1)).guessed()
	}
	m := c.mistakeHere("the decimal sign is a point") // elsewhere 3,5 may be two values, too
	return c.replace(m, c.at-1, c.at+2, c.str(c.at-1)+"."+c.str(c.at+1)).guessed()
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
	m := c.mistakeOver(open, c.at+1, "a list has no type in front of its items")
	inside := strings.Trim(c.text(c.at+2, end), ", \t")
	if strings.ContainsAny(inside, "{:\n#") {
		return m.hint("write `[a, b, c]`")
	}
	return c.replace(m, open, end+1, "["+inside+"]")
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
	brace := c.exprEnd(second)
	in := c.from + 2
	if c.kindOf(second) != tokIdent || !c.has(second+1, "in") || !c.has(in, "in") || !c.has(brace, "{") {
		return nil
	}
	m := c.mistakeOver(c.from, brace, "each loop has a block of its own")
	third := c.exprEnd(second+2, "if", "for")
	if c.has(third, "if") {
		return m.hint("write `for i in a { for j in b { if c { … } } }`")
	}
	outer, inner := c.text(in+1, c.at), c.text(second+2, brace)
	i, j := c.str(c.from+1), c.str(second)
	n, crossed := strings.CutPrefix(outer, "0..")
	k, too := strings.CutPrefix(inner, "0..")
	uses := slices.ContainsFunc(c.toks[second+2:brace], func(t token) bool { return t.text(c.source) == i })
	if crossed && too && !uses && third == brace && !strings.HasPrefix(n, "=") && !strings.HasPrefix(k, "=") {
		c.next = brace
		return c.replace(m, c.from, brace, "for "+i+", "+j+" in grid("+n+", "+k+")")
	}
	end := c.closingOf(brace)
	head := "{ for " + j + " in " + inner
	m.hint("write `for %s in %s %s { … } }`", i, outer, head).edit(c.span(c.at, brace), head)
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
	return c.mistakeHere("the product of matrices is a task").hint("`import \"std/blas\" as blas`, then `insert blas.gemm(R %s, R %s, RW C)`", x, y)
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
		hi := c.exprEnd(lo)
		args = append(args, c.text(lo, hi))
		lo = hi + 1
	}
	m := c.mistakeOver(open-1, open, "values are written in the text, between braces")
	right := Interpolated(c.str(open-2), args)
	if right == "" {
		return m.hint("text with values in it is an f-string: `f\"n = {n}\"`")
	}
	c.next = end + 1
	return c.replace(m, open-2, end+1, right)
}

// eachOver is each x { … }, without an index.
func (c *cursor) eachOver() *mistake {
	if !c.has(c.from, "each") || c.kindOf(c.from) != tokKeyword || !c.has(c.at, "{") || c.at != c.from+2 || c.kindOf(c.at-1) != tokIdent {
		return nil
	}
	c.next = c.at
	return c.replace(c.mistakeOver(c.from, c.at, "`each` names the indices that it goes over"), c.from, c.at, "each i in "+c.str(c.at-1)).guessed()
}

// Habits of lists in brackets: [0; 10], vector[f64][8, fill = 0] and with {priority: 3}.

// parts cuts what the brackets at the tokens open and end hold at the commas, or other
// signs, that stand in no inner bracket.
func (c *cursor) parts(open, end int, sign string) [][2]int {
	var out [][2]int
	lo, depth := open+1, 0
	for i := open + 1; i <= end; i++ {
		switch {
		case i == end || depth == 0 && c.str(i) == sign:
			out = append(out, [2]int{lo, i})
			lo = i + 1
		case c.opens(i):
			depth++
		case c.closes(i):
			depth--
		}
	}
	return out
}

// repeatedItem is [0; 10], which is ten items in Rust and two in Matlab.
func (c *cursor) repeatedItem() *mistake {
	open := c.inBracket(c.at)
	if c.str(c.at) != ";" || c.kindOf(c.at) != tokNL || open < 0 || !c.has(open, "[") || c.endsOperand(open-1) || c.inCodelet() {
		return nil
	}
	end := c.closingOf(open)
	if end < 0 || len(c.parts(open, end, ";")) != 2 || len(c.parts(open, end, ",")) != 1 || c.at == open+1 || c.at+1 == end || strings.Contains(c.text(open, end), "\n") {
		return nil
	}
	switch k := c.kindOf(c.at + 1); {
	case k == tokString, k == tokFString, k == tokFloat, c.has(c.at+1, "["), c.has(c.at+1, "-"): // no number of items
		return nil
	}
	item, times := c.text(open+1, c.at), c.text(c.at+1, end)
	n, err := strconv.Atoi(times)
	names := c.at == open+2 && end == c.at+2 && c.kindOf(open+1) == tokIdent && c.kindOf(c.at+1) == tokIdent
	if err == nil && n < 2 || names || c.str(open-2) == "coords" { // [0; 1], [cpu; cuda]: a comma was meant
		return nil
	}
	used, calls := map[string]bool{}, false
	for i := open + 1; i < end; i++ {
		used[c.str(i)] = true
		calls = calls || c.has(i, "(") && i > open+1 && c.kindOf(i-1) == tokIdent && i < c.at
	}
	name := "k"
	for _, other := range []string{"i", "j", "index"} {
		if !used[name] {
			break
		}
		name = other
	}
	m := c.mistakeHere("a list of equal items is a comprehension")
	c.next = end + 1
	if calls { // once, not so often
		return m.hint("write `let v = %s`, then `[v for %s in 0..%s]`", item, name, times)
	}
	c.replace(m, open, end+1, "["+item+" for "+name+" in 0.."+times+"]")
	switch first := c.kindOf(open + 1); {
	case first == tokString, first == tokFString, first == tokKeyword, c.has(open+1, "["): // no item beside a number
	case zeros[item], err != nil && c.at == open+2 && (first == tokInt || first == tokFloat): // [0; 10], [1.5; n]
	default: // [1; 2]
		m.hint("for these two items `[%s, %s]`", item, times)
		m.guessed()
	}
	return m
}

// rowsInList is [1, 2; 3, 4] and [x; y], which make a matrix in Matlab and Julia.
func (c *cursor) rowsInList() *mistake {
	open := c.inBracket(c.at)
	if c.str(c.at) != ";" || c.kindOf(c.at) != tokNL || open < 0 || !c.has(open, "[") || c.endsOperand(open-1) {
		return nil
	}
	end := c.closingOf(open)
	if end < 0 {
		return nil
	}
	var rows []string
	items, names := 0, false // in a row; whether something but numbers is an item
	for _, r := range c.parts(open, end, ";") {
		n := len(c.parts(r[0]-1, r[1], ","))
		if r[0] == r[1] || items > 0 && n != items {
			return nil // a comma was meant
		}
		items = n
		names = names || c.kindOf(r[1]-1) == tokIdent || c.closes(r[1]-1)
		rows = append(rows, c.text(r[0], r[1]))
	}
	c.next = end + 1
	nested := "[[" + strings.Join(rows, "], [") + "]]"
	m := c.mistakeHere("commas separate the items of a list")
	if items > 1 {
		m = c.mistakeHere("a list has no rows")
		c.replace(m, open, end+1, nested)
		m.help[0] = "rows are lists in a list: " + m.help[0]
		return m
	}
	c.replace(m, open, end+1, "["+strings.Join(rows, ", ")+"]")
	if names {
		m.hint("rows of a matrix are lists in a list: `%s`; lists are joined by `+`", clipTo(nested, 60)).guessed()
	}
	return m
}

// zeros are the numbers that lists are most often filled with.
var zeros = wordSet("0", "0.0")

// sizesInBrackets is vector[f64][8, fill = 0].
func (c *cursor) sizesInBrackets() *mistake {
	open := c.inBracket(c.at)
	if !c.has(c.at, "=") || open < 4 || !c.has(open, "[") || !c.has(open-1, "]") || !constructors[c.str(open-4)] {
		return nil
	}
	end := c.closingOf(open)
	if end < 0 {
		return nil
	}
	c.next = end + 1
	m := c.mistakeOver(open, end+1, "the arguments of a constructor are written in parentheses")
	return c.replace(m, open, end+1, "("+c.text(open+1, end)+")")
}

// optionsInBraces is with {priority: 3}, with (priority = 3) and, without with,
// {priority: 3}; also with priority: 3.
func (c *cursor) optionsInBraces() *mistake {
	const says = "options follow `with`, without brackets"
	if c.has(c.at, ":") && c.has(c.at-2, "with") && c.kindOf(c.at-1) == tokIdent {
		at := c.span(c.at, c.at+1)
		return c.mistakeHere("an option is given by `=`").hint("write `%s = …`", c.str(c.at-1)).edit(at, " =").certain()
	}
	with := c.has(c.at-1, "with")
	if !c.opens(c.at) || !with && !(c.has(c.at, "{") && c.has(c.at-1, ")") && c.inserts()) {
		return nil
	}
	end := c.closingOf(c.at)
	if end < 0 || end == c.at+1 {
		return nil
	}
	var options []string
	for _, p := range c.parts(c.at, end, ",") {
		lo, hi := p[0], p[1]
		if lo == hi && hi == end { // a comma at the end
			continue
		}
		name := strings.Trim(c.str(lo), `"`)
		if lo+2 >= hi || !c.has(lo+1, ":") && !c.has(lo+1, "=") || !with && !taskOptions[name] {
			return nil
		}
		options = append(options, name+" = "+c.text(lo+2, hi))
	}
	m := c.mistakeHere(says)
	right := strings.Join(options, ", ")
	if !with {
		right = "with " + right
	}
	if c.touching(c.at - 1) {
		right = " " + right
	}
	c.next = end + 1
	return c.replace(m, c.at, end+1, right)
}

// Habits of element types: vector<float>, float[], float *x.

// elements are the element types that C has other names for. The numbers of scripts have
// 64 bits, those of C that are called the same have 32.
var elements = map[string]string{"float": "f64", "double": "f64", "int": "i64", "long": "i64", "char": "i8", "unsigned": "u32", "int32_t": "i32", "int64_t": "i64", "f32": "f32", "f64": "f64"}

// typed adds the edit that puts data of an element type, which C calls elem, in place of
// the tokens [lo, hi). Of a parameter the rest of the text tells which of two it is, or the
// help has both.
func (c *cursor) typed(m *mistake, lo, hi int, kind, elem string) *mistake {
	long := elements[elem]
	if long == "" {
		long = elem
	}
	short := map[string]string{"float": "f32", "int": "i32"}[elem]
	uses := func(elem string) bool {
		for i := range c.toks {
			if c.kindOf(i) == tokIdent && c.has(i, elem) {
				return true
			}
		}
		return false
	}
	switch {
	case short == "" || !c.declaration() || uses(long) && !uses(short):
		return c.replace(m, lo, hi, kind+"["+long+"]")
	case uses(short) && !uses(long):
		return c.replace(m, lo, hi, kind+"["+short+"]")
	}
	c.replace(m, lo, hi, kind+"["+long+"]").guessed()
	m.help[len(m.help)-1] += ", or `" + kind + "[" + short + "]`, as the data has it"
	return m
}
