package syntax

// Habits of lists in brackets: [0; 10], vector[f64][8, fill = 0] and with {priority: 3}.

import (
	"strconv"
	"strings"
)

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
	if end < 0 || len(c.parts(open, end, ";")) != 2 || len(c.parts(open, end, ",")) != 1 || c.at == open+1 || c.at+1 == end || strings.Contains(c.of(open, end), "\n") {
		return nil
	}
	switch k := c.kindOf(c.at + 1); {
	case k == tokString, k == tokFString, k == tokFloat, c.has(c.at+1, "["), c.has(c.at+1, "-"): // no number of items
		return nil
	}
	item, times := c.of(open+1, c.at), c.of(c.at+1, end)
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
	m := c.here("a list of equal items is a comprehension")
	c.next = end + 1
	if calls { // once, not so often
		return m.hint("write `let v = %s`, then `[v for %s in 0..%s]`", item, name, times)
	}
	c.instead(m, open, end+1, "["+item+" for "+name+" in 0.."+times+"]")
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
		rows = append(rows, c.of(r[0], r[1]))
	}
	c.next = end + 1
	nested := "[[" + strings.Join(rows, "], [") + "]]"
	m := c.here("commas separate the items of a list")
	if items > 1 {
		m = c.here("a list has no rows")
		c.instead(m, open, end+1, nested)
		m.help[0] = "rows are lists in a list: " + m.help[0]
		return m
	}
	c.instead(m, open, end+1, "["+strings.Join(rows, ", ")+"]")
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
	m := c.says(open, end+1, "the arguments of a constructor are written in parentheses")
	return c.instead(m, open, end+1, "("+c.of(open+1, end)+")")
}

// optionsInBraces is with {priority: 3}, with (priority = 3) and, without with,
// {priority: 3}; also with priority: 3.
func (c *cursor) optionsInBraces() *mistake {
	const says = "options follow `with`, without brackets"
	if c.has(c.at, ":") && c.has(c.at-2, "with") && c.kindOf(c.at-1) == tokIdent {
		at := c.over(c.at, c.at+1)
		return c.here("an option is given by `=`").hint("write `%s = …`", c.str(c.at-1)).edit(at, " =").certain()
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
		options = append(options, name+" = "+c.of(lo+2, hi))
	}
	m := c.here(says)
	right := strings.Join(options, ", ")
	if !with {
		right = "with " + right
	}
	if c.touching(c.at - 1) {
		right = " " + right
	}
	c.next = end + 1
	return c.instead(m, c.at, end+1, right)
}
