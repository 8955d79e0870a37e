package advice

// Slices: x[a:b], A[:, 0]. Registered data has views, of arrays and lists one index may be
// a range, and bodies of codelets work element by element.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/starpush/starpush/lang/syntax/token"
)

// sliced is x[…] with a colon in it.
type sliced struct {
	x       string
	open    int // the [
	end     int // the ]
	indices []sliceIndex
}

// sliceIndex is one index, the tokens [lo, hi), with the colons in it.
type sliceIndex struct {
	lo, hi int
	colons []int
}

func (i sliceIndex) whole() bool { return len(i.colons) == 1 && i.hi == i.lo+1 }

// whole reports whether all of x is meant: x[:], A[:, :].
func (s *sliced) whole() bool {
	return !slices.ContainsFunc(s.indices, func(i sliceIndex) bool { return !i.whole() })
}

// slice is x[a:b] and A[:, 0].
func (c *cursor) slice() *token.Mistake {
	if !c.Has(c.at, ":") {
		return nil
	}
	open := c.inBracket(c.at)
	if open < 0 || !c.Has(open, "[") || !c.EndsOperand(open-1) || c.Has(open-1, "}") {
		return nil
	}
	m := c.mistakeHere("a slice is written `x[a..b]`")
	s, ok := c.slicedAt(open)
	if !ok {
		return m.Hint("`..` has both ends: all is `x[0..len(x)]`")
	}
	c.next = s.end + 1
	mode := ""
	if c.Kind(open-2) == token.Ident && token.ModeOf(c.Str(open-2)) != 0 {
		mode = c.Str(open-2) + " "
	}
	switch {
	case s.whole() && c.Kind(s.end+1) == token.Assign && c.from == open-1: // x[:] = 1.0
		return c.assignedWhole(s.x, s.end+1, len(s.indices))
	case c.inCodelet():
		return c.sliceInBody(s)
	case mode != "" && s.whole(): // R A[:, :]
		return c.replace(c.mistakeHere("data is passed by its name"), open-1, s.end+1, s.x)
	case mode != "":
		return c.sliceOfData(s, mode)
	}
	return c.sliceOfArray(s, m)
}

// slicedAt reads the indices behind the [ at token open, if they are those of a name.
func (c *cursor) slicedAt(open int) (s sliced, ok bool) {
	s = sliced{x: c.Str(open - 1), open: open, end: c.closingOf(open)}
	if s.end < 0 || c.Kind(open-1) != token.Ident || c.Has(open-2, ".") {
		return s, false
	}
	index, depth := sliceIndex{lo: open + 1}, 0
	for i := open + 1; i <= s.end; i++ {
		switch {
		case depth == 0 && (c.Has(i, ",") || i == s.end):
			index.hi = i
			if index.lo == index.hi || len(index.colons) > 2 {
				return s, false
			}
			s.indices = append(s.indices, index)
			index = sliceIndex{lo: i + 1}
		case c.Opens(i):
			depth++
		case c.Closes(i):
			depth--
		case depth == 0 && c.Has(i, ":"):
			index.colons = append(index.colons, i)
		}
	}
	return s, len(s.indices) <= 3
}

// sizes are the names of the sizes of x by how many indices it has.
func (s *sliced) sizes() []string {
	switch len(s.indices) {
	case 1:
		return []string{"len(" + s.x + ")"}
	case 2:
		return []string{s.x + ".rows", s.x + ".cols"}
	}
	return []string{s.x + ".nx", s.x + ".ny", s.x + ".nz"}
}

// sliceOfArray is a slice of an array that acquire names, or of a list: one index may
// be a range.
func (c *cursor) sliceOfArray(s sliced, m *token.Mistake) *token.Mistake {
	var args []string
	ranges, whole, step := 0, 0, false
	for k, i := range s.indices {
		switch {
		case len(i.colons) == 0:
			args = append(args, c.text(i.lo, i.hi))
			continue
		case len(i.colons) == 2:
			step = true
		case i.whole():
			whole++
		}
		ranges++
		args = append(args, c.bound(s.sizes()[k], i.lo, i.colons[0], "0")+".."+c.bound(s.sizes()[k], i.colons[0]+1, i.hi, s.sizes()[k]))
	}
	right := strings.Join(args, ", ")
	switch {
	case step:
		return m.Hint("with a step write `[%s[i] for i in range(a, b, step)]`", s.x)
	case ranges > 1 && whole == len(s.indices): // A[:, :]
		return c.replace(c.mistakeHere("all of it is its name"), s.open-1, s.end+1, s.x)
	case ranges > 1:
		return m.Hint("one index may be a range: `%s[i, a..b]` for each `i`", s.x)
	case len(s.indices) > 1 && !c.acquires(s.x): // an array or data
		data := c.sliceOfData(s, "")
		if len(data.Edits) > 0 {
			return data
		}
		m.Hint("of data: %s", data.Help[0])
		return m.Hint("of an array, as in `acquire R %[1]s as a`, `a[%[2]s]`", s.x, strings.ReplaceAll(right, s.x+".", "a."))
	}
	return c.replace(m, s.indices[0].lo, s.end, right)
}

// acquires reports whether x is the name of an array: as x.
func (c *cursor) acquires(x string) bool {
	for i := 1; i < c.from; i++ {
		if c.Kind(i) == token.Ident && c.Has(i, x) && c.Has(i-1, "as") && !c.Has(i-2, "import") && c.Kind(i-2) != token.String {
			return true
		}
	}
	return false
}

// bound is an end of a slice that has size elements: the tokens [lo, hi), counted from
// the end if they are negative, and other if there are none.
func (c *cursor) bound(size string, lo, hi int, other string) string {
	switch {
	case lo >= hi:
		return other
	case c.Has(lo, "-"):
		return size + " - " + c.text(lo+1, hi)
	}
	return c.text(lo, hi)
}

// sliceOfData is a slice of an operand: part of a view.
func (c *cursor) sliceOfData(s sliced, mode string) *token.Mistake {
	axis, fixed, picked := 0, 0, ""
	for k, i := range s.indices {
		if len(i.colons) == 0 {
			fixed++
			axis, picked = k, c.bound(s.sizes()[k], i.lo, i.hi, "")
		} else if !i.whole() {
			return c.blocksOfData(s, mode)
		}
	}
	if fixed != 1 || len(s.indices) < 2 {
		return c.blocksOfData(s, mode)
	}
	what, name := "a plane", "planes"
	if len(s.indices) == 2 {
		what, name = [2]string{"a row", "a column"}[axis], [2]string{"rows", "cols"}[axis]
	}
	v := c.viewAbove(s, s.x+"_"+name, axis)
	if v.taken {
		v = c.viewAbove(s, name+"_of_"+s.x, axis)
	}
	part := fmt.Sprintf("%s[%s]", v.name, picked)
	m := c.mistakeHere("%s of data is a part of a view", what).Hint("write `%s`, then `%s%s`", v.statement, mode, part)
	at := c.span(s.open-1, s.end+1)
	switch {
	case v.declared:
		m.Edit(at, part).Certain()
	case v.registered && !v.taken && !c.edited(v.statement):
		m.Edit(token.Span{Lo: c.Tokens[v.top].Lo, Hi: c.Tokens[v.top].Lo}, v.statement+"\n").Edit(at, part).Certain()
	}
	return m
}

// edited reports whether the edit of another mistake makes the view.
func (c *cursor) edited(view string) bool {
	return slices.ContainsFunc(c.Reported, func(m *token.Mistake) bool {
		return slices.ContainsFunc(m.Edits, func(e token.Edit) bool { return strings.HasPrefix(e.Text, view) })
	})
}

// pickView is a view by pick, and what the text above a top-level statement has of it.
type pickView struct {
	name, statement string
	top             int  // the token that the top-level statement begins with
	registered      bool // the data is registered above it, with as many indices
	declared        bool // the view is declared above it
	taken           bool // its name is that of something else
}

// viewAbove looks for the view that picks along the axis, and for its data, above the
// top-level statement that holds the mistake.
func (c *cursor) viewAbove(s sliced, name string, axis int) pickView {
	v := pickView{name: name, statement: fmt.Sprintf("partition %s = %s by pick(%d)", name, s.x, axis)}
	kind := map[int]string{2: "matrix", 3: "block", 4: "tensor"}[len(s.indices)]
	depth, used := 0, false
	for i := range c.Tokens {
		used = used || c.Kind(i) == token.Ident && c.Has(i, name)
		switch {
		case i >= c.from:
		case c.Opens(i), c.Kind(i) == token.Open:
			depth++
		case c.Closes(i), c.Kind(i) == token.Virtual:
			depth--
		case depth > 0:
		case c.Kind(i) == token.NL:
			v.top = i + 1
		case c.Has(i, "register") && c.Has(i+1, s.x) && c.Has(i+2, "=") && c.Has(i+3, kind):
			v.registered = true
		case c.Has(i, "partition") && c.Has(i+1, name):
			v.declared = v.declared || c.text(i, min(i+9, len(c.Tokens))) == v.statement
		}
	}
	if head := c.Str(v.top); head == "func" || head == "codelet" { // its parameter may be called so, too
		v.registered, v.declared = false, false
	}
	v.taken = used && !v.declared
	return v
}

// blocksOfData is a slice of an operand that leaves more than one row or column.
func (c *cursor) blocksOfData(s sliced, mode string) *token.Mistake {
	m := c.mistakeHere("a part of data belongs to a view")
	if slices.ContainsFunc(s.indices, func(i sliceIndex) bool { return len(i.colons) == 2 }) {
		return m.Hint("views have no steps: a part is a range of neighbours")
	}
	filter, part := "blocks(sizes = [...])", "parts[i]"
	if len(s.indices) == 2 {
		rows, cols := s.indices[0], s.indices[1]
		switch {
		case cols.whole():
			filter = "rows(sizes = [...])"
		case rows.whole():
			filter = "cols(sizes = [...])"
		default:
			filter, part = "rows(sizes = [...]) then cols(sizes = [...])", "parts[i, j]"
		}
	}
	if len(s.indices) == 3 {
		return m.Hint("write `partition parts = %s by axis(0, sizes = [...])`, then `%sparts[i]`; planes are made by `pick`", s.x, mode)
	}
	return m.Hint("write `partition parts = %s by %s`, then `%s%s`", s.x, filter, mode, part)
}

// sliceInBody is a slice in a codelet.
func (c *cursor) sliceInBody(s sliced) *token.Mistake {
	m := c.mistakeHere("a body works element by element")
	free := []string{"i", "j", "k"}
	for _, i := range s.indices {
		for t := i.lo; t < i.hi; t++ {
			if n := slices.Index(free, c.Str(t)); n >= 0 && len(i.colons) == 0 {
				free = slices.Delete(free, n, n+1)
			}
		}
	}
	var names, domain, args []string
	for k, i := range s.indices {
		if len(i.colons) == 0 {
			args = append(args, c.text(i.lo, i.hi))
			continue
		}
		if len(i.colons) == 2 || len(free) == 0 {
			return m.Hint("write `each i in %s { … %s[i] … }`", s.x, s.x)
		}
		size := s.sizes()[k]
		if len(s.indices) == 1 {
			size = s.x + ".n"
		}
		domain = append(domain, c.bound(size, i.lo, i.colons[0], "0")+".."+c.bound(size, i.colons[0]+1, i.hi, size))
		names, args, free = append(names, free[0]), append(args, free[0]), free[1:]
	}
	where := strings.Join(domain, ", ")
	if s.whole() {
		where = s.x
	}
	head := strings.Join(names, ", ") + " in " + where
	element := s.x + "[" + strings.Join(args, ", ") + "]"
	return m.Hint("write `each %s { … %s … }`, and for their sum `sum %s { %s }`", head, element, head, element)
}

// Assignments to all elements at once, as in other languages: x[:] = 1.0, A[:, :] = 0.

// dataAbove is the kind of the data x that the text above the statement declares last,
// as in x: RW vector[…] and register x = vector[…]; "" when x is something else. Parameters
// of other functions and codelets do not count.
func (c *cursor) dataAbove(x string) (kind string) {
	for i := 0; i < c.from; i++ {
		if end := c.bodyEnd(i); end >= 0 && end < c.from {
			i = end
			continue
		}
		if c.Kind(i) != token.Ident || !c.Has(i, x) {
			continue
		}
		at := i + 2
		switch {
		case c.Has(i+1, ":") && token.ModeOf(c.Str(at)) != 0:
			at++
		case c.Has(i+1, ":"):
		case c.registers(i):
			for !c.Has(at-1, "=") {
				at++
			}
		case c.Has(i-1, "let"), c.Has(i-1, "as"), c.Has(i-1, "for"):
			kind = ""
			continue
		default:
			continue
		}
		switch kind = c.Str(at); kind {
		case "vector", "matrix", "block", "tensor", "variable":
		default:
			kind = ""
		}
	}
	return kind
}

// registers reports whether token i is one of the names in register x, y = ….
func (c *cursor) registers(i int) bool {
	lo, hi := i, i
	for c.Kind(lo-1) == token.Ident || c.Has(lo-1, ",") {
		lo--
	}
	for c.Kind(hi+1) == token.Ident || c.Has(hi+1, ",") {
		hi++
	}
	return c.Has(lo-1, "register") && c.Has(hi+1, "=")
}

// bodyEnd is the } of the codelet or function that token i begins, -1: it begins none.
func (c *cursor) bodyEnd(i int) int {
	if c.Kind(i) != token.Keyword || !c.Has(i, "codelet") && !c.Has(i, "func") || !c.Has(i+2, "(") {
		return -1
	}
	open := c.closingOf(i + 2)
	for open >= 0 && open < len(c.Tokens) && !c.Has(open, "{") && c.Kind(open) != token.NL && c.Kind(open) != token.EOF {
		open++
	}
	if open < 0 || !c.Has(open, "{") {
		return -1
	}
	return c.closingOf(open)
}

// unused are the names that the tokens [lo, hi) do not have.
func (c *cursor) unused(lo, hi int, names ...string) (free []string) {
	taken := map[string]bool{}
	for i := lo; i < hi; i++ {
		taken[c.Str(i)] = true
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
func (c *cursor) assignedWhole(x string, op, rank int) *token.Mistake {
	m := c.mistakeHere("elements are assigned one by one")
	hi := op + 1
	for c.Kind(hi) != token.NL && c.Kind(hi) != token.EOF && !c.Has(hi, "}") && !c.Has(hi, ";") {
		hi++
	}
	c.next = hi
	kind, sign, value := c.dataAbove(x), c.Str(op), c.text(op+1, hi)
	if r, known := map[string]int{"variable": 0, "vector": 1, "matrix": 2, "block": 3, "tensor": 4}[kind]; known {
		rank = r
	}
	indices := c.unused(c.from, hi, "i", "j", "k", "l", "p", "q", "r", "s")
	array := c.unused(0, len(c.Tokens), "a", "b", "all", x+"_all")
	if len(indices) < rank || len(array) == 0 {
		return m.Hint("in a codelet write `each i in %[1]s { %[1]s[i] %[2]s … }`", x, sign)
	}
	indices = indices[:rank]
	index := strings.Join(indices, ", ")
	if c.inCodelet() && rank > 0 {
		value = c.elementwise(op+1, hi, kind, index)
	}
	if hi == op+1 || c.Has(op+1, "[") || strings.ContainsAny(value, "{:\n") || strings.Contains(value, "[..]") || !c.inCodelet() && c.hasData(op+1, hi) {
		return m.Hint("in a codelet write `each %[1]s in %[2]s { %[2]s[%[1]s] %[3]s … }`", index, x, sign)
	}
	element := func(x string) string {
		if rank == 0 {
			return x
		}
		return fmt.Sprintf("%s[%s]", x, index)
	}
	sure := kind != ""
	for i := op + 1; i < hi; i++ { // what it was before, where all is assigned
		sure = sure && (!c.Has(i, x) || c.Has(i+2, ":") || c.Has(i+2, ".."))
	}
	switch {
	case c.inCodelet() && rank == 0:
		c.replace(m, c.from, hi, fmt.Sprintf("%s %s %s", x, sign, value))
	case c.inCodelet():
		c.replace(m, c.from, hi, fmt.Sprintf("each %s in %s { %s %s %s }", index, x, element(x), sign, value))
	case kind == "" || c.acquires(x): // an array or a list
		sure = false
		c.replace(m, c.from, hi, overAll(x, indices, fmt.Sprintf("%s %s %s", element(x), sign, value)))
	default:
		for i := op + 1; i < hi; i++ { // the elements of other data are acquired, too
			sure = sure && !c.Has(i, "[") && (c.Kind(i) != token.Ident || c.dataAbove(c.Str(i)) == "")
		}
		mode, first, target := "W", array[0], element(array[0])
		if sign != "=" {
			mode = "RW"
		}
		if rank == 0 {
			target += "[0]"
		}
		body := overAll(first, indices, fmt.Sprintf("%s %s %s", target, sign, value))
		c.replace(m, c.from, hi, fmt.Sprintf("acquire %s %s as %s { %s }", mode, x, first, body))
	}
	if !sure {
		m.Guessed()
	}
	return m
}

// elementwise is the value in the tokens [lo, hi) with the elements at index of what
// has the kind of the data that is assigned: y for y[i], and y[:].
func (c *cursor) elementwise(lo, hi int, kind, index string) string {
	var b strings.Builder
	for i := lo; i < hi; i++ {
		if i > lo {
			b.WriteString(c.Text[c.Tokens[i-1].Hi:c.Tokens[i].Lo])
		}
		b.WriteString(c.Str(i))
		if c.Kind(i) != token.Ident || c.Has(i-1, ".") || kind == "" || c.dataAbove(c.Str(i)) != kind || c.Has(i-1, "(") && c.Has(i-2, "len") {
			continue
		}
		switch whole := c.Has(i+1, "[") && (c.Has(i+2, ":") || c.Has(i+2, "..")) && c.Has(i+3, "]"); {
		case whole:
			i += 3
			fallthrough
		case !c.Has(i+1, "[") && !c.Has(i+1, "."):
			b.WriteString("[" + index + "]")
		}
	}
	return b.String()
}

// hasData reports whether all of some vector, matrix or block is in the tokens [lo, hi).
func (c *cursor) hasData(lo, hi int) bool {
	for i := lo; i < hi; i++ {
		if kind := c.dataAbove(c.Str(i)); c.Kind(i) == token.Ident && kind != "" && kind != "variable" && !c.Has(i-1, ".") && !c.Has(i+1, ".") && !c.Has(i+1, "[") {
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
