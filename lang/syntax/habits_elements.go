package syntax

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
		return c.instead(m, lo, hi, kind+"["+long+"]")
	case uses(short) && !uses(long):
		return c.instead(m, lo, hi, kind+"["+short+"]")
	}
	c.instead(m, lo, hi, kind+"["+long+"]").guessed()
	m.help[len(m.help)-1] += ", or `" + kind + "[" + short + "]`, as the data has it"
	return m
}
