package syntax

// Assignments to all elements at once, as in other languages: x[:] = 1.0, A[:, :] = 0.

import (
	"fmt"
	"strings"
)

// dataAbove is the kind of the data x that the text above the statement declares last,
// as in x: RW vector[…] and register x = vector[…]; "" when x is something else. What
// other functions and codelets declare does not count.
func (c *cursor) dataAbove(x string) (kind string) {
	for i := 0; i < c.from; i++ {
		if end := c.bodyEnd(i); end >= 0 && end < c.from {
			i = end
			continue
		}
		if c.kindOf(i) != tokIdent || !c.has(i, x) {
			continue
		}
		at := i + 2
		switch {
		case c.has(i+1, ":") && modeOf(c.str(at)) != 0:
			at++
		case c.has(i+1, ":"):
		case c.registers(i):
			for !c.has(at-1, "=") {
				at++
			}
		case c.has(i-1, "let"), c.has(i-1, "as"), c.has(i-1, "for"):
			kind = ""
			continue
		default:
			continue
		}
		switch kind = c.str(at); kind {
		case "vector", "matrix", "block", "variable":
		default:
			kind = ""
		}
	}
	return kind
}

// registers reports whether token i is one of the names in register x, y = ….
func (c *cursor) registers(i int) bool {
	lo, hi := i, i
	for c.kindOf(lo-1) == tokIdent || c.has(lo-1, ",") {
		lo--
	}
	for c.kindOf(hi+1) == tokIdent || c.has(hi+1, ",") {
		hi++
	}
	return c.has(lo-1, "register") && c.has(hi+1, "=")
}

// bodyEnd is the } of the codelet or function that token i begins, -1: it begins none.
func (c *cursor) bodyEnd(i int) int {
	if c.kindOf(i) != tokKeyword || !c.has(i, "codelet") && !c.has(i, "func") || !c.has(i+2, "(") {
		return -1
	}
	open := c.closingOf(i + 2)
	for open >= 0 && open < len(c.toks) && !c.has(open, "{") && c.kindOf(open) != tokNL && c.kindOf(open) != tokEOF {
		open++
	}
	if open < 0 || !c.has(open, "{") {
		return -1
	}
	return c.closingOf(open)
}

// unused are the names that the tokens [lo, hi) do not have.
func (c *cursor) unused(lo, hi int, names ...string) (free []string) {
	taken := map[string]bool{}
	for i := lo; i < hi; i++ {
		taken[c.str(i)] = true
	}
	for _, n := range names {
		if !taken[n] {
			free = append(free, n)
		}
	}
	return free
}

// assignedWhole is x[..] = 1.0, x[:] = 1.0 and A[:, :] = 0, where op is the token of
// the assignment and rank the number of indices that are written.
func (c *cursor) assignedWhole(x string, op, rank int) *mistake {
	m := c.here("elements are assigned one by one")
	hi := op + 1
	for c.kindOf(hi) != tokNL && c.kindOf(hi) != tokEOF && !c.has(hi, "}") && !c.has(hi, ";") {
		hi++
	}
	c.next = hi
	kind, sign, value := c.dataAbove(x), c.str(op), c.of(op+1, hi)
	if r, known := map[string]int{"variable": 0, "vector": 1, "matrix": 2, "block": 3}[kind]; known {
		rank = r
	}
	indices := c.unused(c.from, hi, "i", "j", "k", "l", "p", "q", "r", "s")
	array := c.unused(0, len(c.toks), "a", "b", "all", x+"_all")
	if len(indices) < rank || len(array) == 0 {
		return m.hint("in a codelet write `each i in %[1]s { %[1]s[i] %[2]s … }`", x, sign)
	}
	indices = indices[:rank]
	index := strings.Join(indices, ", ")
	if c.inCodelet() && rank > 0 {
		value = c.elementwise(op+1, hi, kind, index)
	}
	if hi == op+1 || c.has(op+1, "[") || strings.ContainsAny(value, "{:\n") || strings.Contains(value, "[..]") || !c.inCodelet() && c.hasData(op+1, hi) {
		return m.hint("in a codelet write `each %[1]s in %[2]s { %[2]s[%[1]s] %[3]s … }`", index, x, sign)
	}
	element := func(x string) string {
		if rank == 0 {
			return x
		}
		return fmt.Sprintf("%s[%s]", x, index)
	}
	sure := kind != ""
	for i := op + 1; i < hi; i++ { // what it was before, where all is assigned
		sure = sure && (!c.has(i, x) || c.has(i+2, ":") || c.has(i+2, ".."))
	}
	switch {
	case c.inCodelet() && rank == 0:
		c.instead(m, c.from, hi, fmt.Sprintf("%s %s %s", x, sign, value))
	case c.inCodelet():
		c.instead(m, c.from, hi, fmt.Sprintf("each %s in %s { %s %s %s }", index, x, element(x), sign, value))
	case kind == "" || c.acquires(x): // an array or a list
		sure = false
		c.instead(m, c.from, hi, overAll(x, indices, fmt.Sprintf("%s %s %s", element(x), sign, value)))
	default:
		for i := op + 1; i < hi; i++ { // the elements of other data are acquired, too
			sure = sure && !c.has(i, "[") && (c.kindOf(i) != tokIdent || c.dataAbove(c.str(i)) == "")
		}
		mode, first, target := "W", array[0], element(array[0])
		if sign != "=" {
			mode = "RW"
		}
		if rank == 0 {
			target += "[0]"
		}
		body := overAll(first, indices, fmt.Sprintf("%s %s %s", target, sign, value))
		c.instead(m, c.from, hi, fmt.Sprintf("acquire %s %s as %s { %s }", mode, x, first, body))
	}
	if !sure {
		m.guessed()
	}
	return m
}

// elementwise is the value in the tokens [lo, hi) with the elements at index of what
// has the kind of the data that is assigned: y for y[i], and y[:].
func (c *cursor) elementwise(lo, hi int, kind, index string) string {
	var b strings.Builder
	for i := lo; i < hi; i++ {
		if i > lo {
			b.WriteString(c.text[c.toks[i-1].hi:c.toks[i].lo])
		}
		b.WriteString(c.str(i))
		if c.kindOf(i) != tokIdent || c.has(i-1, ".") || kind == "" || c.dataAbove(c.str(i)) != kind || c.has(i-1, "(") && c.has(i-2, "len") {
			continue
		}
		switch whole := c.has(i+1, "[") && (c.has(i+2, ":") || c.has(i+2, "..")) && c.has(i+3, "]"); {
		case whole:
			i += 3
			fallthrough
		case !c.has(i+1, "[") && !c.has(i+1, "."):
			b.WriteString("[" + index + "]")
		}
	}
	return b.String()
}

// hasData reports whether all of some vector, matrix or block is in the tokens [lo, hi).
func (c *cursor) hasData(lo, hi int) bool {
	for i := lo; i < hi; i++ {
		if kind := c.dataAbove(c.str(i)); c.kindOf(i) == tokIdent && kind != "" && kind != "variable" && !c.has(i-1, ".") && !c.has(i+1, ".") && !c.has(i+1, "[") {
			return true
		}
	}
	return false
}

// overAll is the statement in loops over all elements of the array x.
func overAll(x string, indices []string, statement string) string {
	sizes := (&sliced{x: x, indices: make([]sliceIndex, len(indices))}).sizes()
	for k := len(indices) - 1; k >= 0; k-- {
		statement = fmt.Sprintf("for %s in 0..%s { %s }", indices[k], sizes[k], statement)
	}
	return statement
}
