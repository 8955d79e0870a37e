package advice

// Rules of names and lists that are functions.

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/starpush/starpush/lang/syntax/token"
	"github.com/starpush/starpush/lang/vocab"
)

// dashed is let my-var = 3: a declared name that is joined by `-`.
func (c *cursor) dashed() *token.Mistake {
	if !c.Has(c.at, "-") || !c.dashJoins(c.at) || !c.declares(c.at-1) {
		return nil
	}
	lo, hi := c.at-1, c.at
	for c.Has(hi, "-") && c.dashJoins(hi) {
		hi += 2
	}
	dashed := c.text(lo, hi)
	name := strings.ReplaceAll(dashed, "-", "_")
	m := c.mistakeOver(lo, hi, "`%s` is not a name: names have letters, digits and `_`", token.Clip(dashed)).Hint("write `%s`", token.Clip(name))
	m.At = c.span(lo, hi)
	for i := lo; i+hi-lo < len(c.Tokens) && len(m.Edits) <= maxDashed; i++ { // here, and where it is used below
		if i > lo && (!c.Has(i+1, "-") || c.text(i, i+hi-lo) != dashed || c.Has(i-1, "-") && c.dashJoins(i-1)) {
			continue
		}
		m.Edit(c.span(i, i+hi-lo), name)
	}
	c.dashedInTexts(m, lo, dashed, name)
	if len(m.Edits) <= maxDashed && c.Kind(c.at+1) != token.Int {
		m.Certain()
	}
	return m
}

// dashedInTexts adds to m the edits of a name in the f-strings from token lo on.
func (c *cursor) dashedInTexts(m *token.Mistake, lo int, dashed, name string) {
	for _, t := range c.Tokens[lo:] {
		if t.Kind != token.FString {
			continue
		}
		text := t.Text(c.Text)
		for at := 0; len(m.Edits) <= maxDashed; {
			k := strings.Index(text[at:], dashed)
			if k < 0 {
				break
			}
			at += k + len(dashed)
			start := int32(at - len(dashed))
			if _, stop, ok := token.FieldAt(text, int(start)); ok && at <= stop && !partOfName(text, int(start), at) {
				m.Edit(token.Span{Lo: t.Lo + start, Hi: t.Lo + int32(at)}, name)
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

// maxDashed is how many uses of a name are renamed without a question.
const maxDashed = 200

// dashJoins reports whether the `-` at token i touches words on both sides.
func (c *cursor) dashJoins(i int) bool {
	word := func(k int8) bool { return k == token.Ident || k == token.Keyword || k == token.Int }
	return c.Touching(i-1) && c.Touching(i) && word(c.Kind(i-1)) && word(c.Kind(i+1))
}

// declares reports whether token i is a name that the statement declares.
func (c *cursor) declares(i int) bool {
	switch before := c.Str(i - 1); before {
	case "let", "register", "func", "codelet", "param", "partition", "as", "for":
		return c.Kind(i-1) == token.Keyword
	case "(", ",":
		switch c.Str(c.from) {
		case "func", "codelet":
			return c.inBracket(i) >= 0
		case "register", "partition", "for":
			return c.inBracket(i) < 0
		}
	}
	return false
}

// listOfGo is []int{1, 2} and [3]float{…}.
func (c *cursor) listOfGo() *token.Mistake {
	if c.Kind(c.at) != token.Ident || !c.Has(c.at-1, "]") || !c.Touching(c.at-1) || !c.Has(c.at+1, "{") {
		return nil
	}
	open := c.at - 2
	for open > c.from && !c.Has(open, "[") && open > c.at-4 {
		open--
	}
	end := c.closingOf(c.at + 1)
	if !c.Has(open, "[") || c.EndsOperand(open-1) || end < 0 {
		return nil
	}
	c.next = end + 1
	m := c.mistakeOver(open, c.at+1, "a list has no type in front of its items")
	inside := strings.Trim(c.text(c.at+2, end), ", \t")
	if strings.ContainsAny(inside, "{:\n#") {
		return m.Hint("write `[a, b, c]`")
	}
	return c.replace(m, open, end+1, "["+inside+"]")
}

// closingOf is the bracket that closes the one at token i, -1 if there is none.
func (c *cursor) closingOf(i int) int {
	depth := 0
	for ; i < len(c.Tokens); i++ {
		switch {
		case c.Kind(i) == token.EOF || c.Kind(i) == token.Virtual:
			return -1
		case c.Opens(i):
			depth++
		case c.Closes(i):
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// heads is for i in a..b for j in c..d { … } and for i in a..b, j in c..d { … }.
func (c *cursor) heads() *token.Mistake {
	if !c.Has(c.from, "for") || c.Kind(c.from) != token.Keyword || c.inBracket(c.at) >= 0 || !c.EndsOperand(c.at-1) {
		return nil
	}
	second := c.at + 1
	if c.Has(c.at, ",") && c.Has(second, "for") {
		second++
	} else if !c.Has(c.at, "for") && !c.Has(c.at, ",") {
		return nil
	}
	brace := c.exprEnd(second)
	in := c.from + 2
	if c.Kind(second) != token.Ident || !c.Has(second+1, "in") || !c.Has(in, "in") || !c.Has(brace, "{") {
		return nil
	}
	m := c.mistakeOver(c.from, brace, "each loop has a block of its own")
	third := c.exprEnd(second+2, "if", "for")
	if c.Has(third, "if") {
		return m.Hint("write `for i in a { for j in b { if c { … } } }`")
	}
	outer, inner := c.text(in+1, c.at), c.text(second+2, brace)
	i, j := c.Str(c.from+1), c.Str(second)
	n, crossed := strings.CutPrefix(outer, "0..")
	k, too := strings.CutPrefix(inner, "0..")
	uses := slices.ContainsFunc(c.Tokens[second+2:brace], func(t token.Token) bool { return t.Text(c.Text) == i })
	if crossed && too && !uses && third == brace && !strings.HasPrefix(n, "=") && !strings.HasPrefix(k, "=") {
		c.next = brace
		return c.replace(m, c.from, brace, "for "+i+", "+j+" in grid("+n+", "+k+")")
	}
	end := c.closingOf(brace)
	head := "{ for " + j + " in " + inner
	m.Hint("write `for %s in %s %s { … } }`", i, outer, head).Edit(c.span(c.at, brace), head)
	if c.Has(c.at, ",") {
		m.Edits[len(m.Edits)-1].At.Lo = c.Tokens[c.at-1].Hi
		m.Edits[len(m.Edits)-1].Text = " " + head
	}
	if end < 0 {
		return m
	}
	c.next = brace
	return m.Edit(token.Span{Lo: c.Tokens[end].Hi, Hi: c.Tokens[end].Hi}, " }").Certain()
}

// formatTuple is "%d %d" % (a, b).
func (c *cursor) formatTuple() *token.Mistake {
	open := c.inBracket(c.at)
	if !c.Has(c.at, ",") || open < 0 || !c.Has(open, "(") || !c.Has(open-1, "%") || c.Kind(open-2) != token.String {
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
	right := Interpolated(c.Str(open-2), args)
	if right == "" {
		return m.Hint("text with values in it is an f-string: `f\"n = {n}\"`")
	}
	c.next = end + 1
	return c.replace(m, open-2, end+1, right)
}

// parts cuts what the brackets at the tokens open and end hold at the commas, or other
// signs, outside of inner brackets.
func (c *cursor) parts(open, end int, sign string) [][2]int {
	var out [][2]int
	lo, depth := open+1, 0
	for i := open + 1; i <= end; i++ {
		switch {
		case i == end || depth == 0 && c.Str(i) == sign:
			out = append(out, [2]int{lo, i})
			lo = i + 1
		case c.Opens(i):
			depth++
		case c.Closes(i):
			depth--
		}
	}
	return out
}

// repeatedItem is [0; 10], which is ten items in Rust and two in Matlab.
func (c *cursor) repeatedItem() *token.Mistake {
	open := c.inBracket(c.at)
	if c.Str(c.at) != ";" || c.Kind(c.at) != token.NL || open < 0 || !c.Has(open, "[") || c.EndsOperand(open-1) || c.inCodelet() {
		return nil
	}
	end := c.closingOf(open)
	if end < 0 || len(c.parts(open, end, ";")) != 2 || len(c.parts(open, end, ",")) != 1 || c.at == open+1 || c.at+1 == end || strings.Contains(c.text(open, end), "\n") {
		return nil
	}
	switch k := c.Kind(c.at + 1); {
	case k == token.String, k == token.FString, k == token.Float, c.Has(c.at+1, "["), c.Has(c.at+1, "-"): // no number of items
		return nil
	}
	item, times := c.text(open+1, c.at), c.text(c.at+1, end)
	n, err := strconv.Atoi(times)
	names := c.at == open+2 && end == c.at+2 && c.Kind(open+1) == token.Ident && c.Kind(c.at+1) == token.Ident
	if err == nil && n < 2 || names || c.Str(open-2) == "coords" { // [0; 1], [cpu; cuda]: a comma was meant
		return nil
	}
	used, calls := map[string]bool{}, false
	for i := open + 1; i < end; i++ {
		used[c.Str(i)] = true
		calls = calls || c.Has(i, "(") && i > open+1 && c.Kind(i-1) == token.Ident && i < c.at
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
		return m.Hint("write `let v = %s`, then `[v for %s in 0..%s]`", item, name, times)
	}
	c.replace(m, open, end+1, "["+item+" for "+name+" in 0.."+times+"]")
	switch first := c.Kind(open + 1); {
	case first == token.String, first == token.FString, first == token.Keyword, c.Has(open+1, "["): // no item beside a number
	case zeros[item], err != nil && c.at == open+2 && (first == token.Int || first == token.Float): // [0; 10], [1.5; n]
	default: // [1; 2]
		m.Hint("for these two items `[%s, %s]`", item, times)
		m.Guessed()
	}
	return m
}

// rowsInList is [1, 2; 3, 4] and [x; y], which make a matrix in Matlab and Julia.
func (c *cursor) rowsInList() *token.Mistake {
	open := c.inBracket(c.at)
	if c.Str(c.at) != ";" || c.Kind(c.at) != token.NL || open < 0 || !c.Has(open, "[") || c.EndsOperand(open-1) {
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
		names = names || c.Kind(r[1]-1) == token.Ident || c.Closes(r[1]-1)
		rows = append(rows, c.text(r[0], r[1]))
	}
	c.next = end + 1
	nested := "[[" + strings.Join(rows, "], [") + "]]"
	m := c.mistakeHere("commas separate the items of a list")
	if items > 1 {
		m = c.mistakeHere("a list has no rows")
		c.replace(m, open, end+1, nested)
		m.Help[0] = "rows are lists in a list: " + m.Help[0]
		return m
	}
	c.replace(m, open, end+1, "["+strings.Join(rows, ", ")+"]")
	if names {
		m.Hint("rows of a matrix are lists in a list: `%s`; lists are joined by `+`", token.ClipTo(nested, 60)).Guessed()
	}
	return m
}

// zeros are the numbers that lists are most often filled with.
var zeros = token.WordSet("0", "0.0")

// optionsInBraces is with {priority: 3}, with (priority = 3) and, without with,
// {priority: 3}; also with priority: 3.
func (c *cursor) optionsInBraces() *token.Mistake {
	const says = "options follow `with`, without brackets"
	if c.Has(c.at, ":") && c.Has(c.at-2, "with") && c.Kind(c.at-1) == token.Ident {
		at := c.span(c.at, c.at+1)
		return c.mistakeHere("an option is given by `=`").Hint("write `%s = …`", c.Str(c.at-1)).Edit(at, " =").Certain()
	}
	with := c.Has(c.at-1, "with")
	if !c.Opens(c.at) || !with && !(c.Has(c.at, "{") && c.Has(c.at-1, ")") && c.inserts()) {
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
		name := strings.Trim(c.Str(lo), `"`)
		if lo+2 >= hi || !c.Has(lo+1, ":") && !c.Has(lo+1, "=") || !with && !taskOptions[name] {
			return nil
		}
		options = append(options, name+" = "+c.text(lo+2, hi))
	}
	m := c.mistakeHere(says)
	right := strings.Join(options, ", ")
	if !with {
		right = "with " + right
	}
	if c.Touching(c.at - 1) {
		right = " " + right
	}
	c.next = end + 1
	return c.replace(m, c.at, end+1, right)
}

// typed adds the edit that puts data of an element type, which C calls elem, in place of
// the tokens [lo, hi). Of a parameter the rest of the text tells which of two it is, or the
// help has both.
func (c *cursor) typed(m *token.Mistake, lo, hi int, kind, elem string) *token.Mistake {
	long := vocab.CElems[elem]
	if long == "" {
		long = elem
	}
	short := map[string]string{"float": "f32", "int": "i32"}[elem]
	uses := func(elem string) bool {
		for i := range c.Tokens {
			if c.Kind(i) == token.Ident && c.Has(i, elem) {
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
	c.replace(m, lo, hi, kind+"["+long+"]").Guessed()
	m.Help[len(m.Help)-1] += ", or `" + kind + "[" + short + "]`, as the data has it"
	return m
}

// isName reports whether s has only letters, digits and _.
func isName(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
