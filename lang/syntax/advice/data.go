package advice

// Rules of operands, folds and parameters that are functions.

import (
	"strings"

	"github.com/starpush/starpush/lang/syntax/token"
	"github.com/starpush/starpush/lang/vocab"
)

// callWithModes is insert_task(f, RW x) and f(RW x), without insert; a function takes its data without modes.
func (c *cursor) callWithModes() *token.Mistake {
	open := c.inBracket(c.at)
	if c.declaration() || c.Kind(c.at) != token.Ident || c.Kind(c.at-1) != token.Ident || token.ModeOf(c.Str(c.at-1)) == 0 || open < c.from+1 {
		return nil
	}
	lo := open - 1
	for c.Kind(lo) == token.Ident && c.Has(lo-1, ".") && lo-2 >= c.from {
		lo -= 2
	}
	if c.Kind(lo) != token.Ident || c.Has(lo-1, "insert") {
		return nil
	}
	if lo == open-1 && c.DeclaredBy("func", c.Str(lo)) {
		m := c.mistakeOver(c.at-1, c.at, "a function takes data without an access mode")
		plain := c.dropModes(m, open)
		return m.Hint("write `%s`; the tasks in it say how they use `%s`", token.ClipTo(plain, 60), c.Str(c.at)).Certain()
	}
	m := c.mistakeOver(lo, open, "a task is submitted by `insert`")
	if fn := c.Str(open + 1); vocab.SubmitWords[strings.TrimPrefix(c.Str(lo), "starpu_")] && lo == open-1 && !c.DeclaredBy("codelet", c.Str(lo)) && c.Kind(open+1) == token.Ident && c.Has(open+2, ",") {
		return m.Hint("write `insert %s(…)`", fn).Edit(token.Span{Lo: c.Tokens[lo].Lo, Hi: c.Tokens[open+3].Lo}, "insert "+fn+"(").Certain()
	}
	return m.Hint("write `insert %s(…)`", c.text(lo, open)).Edit(token.Span{Lo: c.Tokens[lo].Lo, Hi: c.Tokens[lo].Lo}, "insert ").Certain()
}

// dropModes gives m the edits that take the access modes out of the call whose bracket
// opens at token open, and returns the call without them.
func (c *cursor) dropModes(m *token.Mistake, open int) string {
	end := c.closingOf(open)
	if end < 0 {
		end = c.at
	}
	plain := c.text(open-1, open+1)
	from := c.Tokens[open].Hi
	for i := open + 1; i < end; i++ {
		if token.ModeOf(c.Str(i)) == 0 || c.Kind(i) != token.Ident || c.Kind(i+1) != token.Ident || c.Tokens[i].Lo < from {
			continue
		}
		drop := token.Span{Lo: c.Tokens[i].Lo, Hi: c.Tokens[i+1].Lo}
		m.Edit(drop, "")
		plain += c.Text[from:drop.Lo]
		from = drop.Hi
	}
	c.next = end + 1
	return plain + c.Text[from:c.Tokens[end].Hi]
}

// saved is save x to "x.npy", save x, "x.npy" and save x.
func (c *cursor) saved() *token.Mistake {
	x, file := c.from+1, c.end-1
	if c.Kind(file) == token.String && file > x {
		hi := file
		if last := c.Str(hi - 1); last == "to" || last == "as" || last == "in" || last == "into" || last == "," {
			hi--
		}
		if hi > x {
			return c.replace(c.base, c.from, c.end, "save("+c.text(x, hi)+", "+c.Str(file)+")")
		}
	}
	data := "x"
	if c.Kind(x) == token.Ident {
		data = c.Str(x)
	}
	return c.base.Hint("write `save(%s, \"%s.npy\")`", data, data)
}

// foldForm is sum(e for i in x), sum i in x: e and sum i in 0..n e.
func (c *cursor) foldForm() *token.Mistake {
	if open := c.inBracket(c.at); c.Has(c.at, "for") && open > 0 && c.Has(open, "(") && token.FoldWords[c.Str(open-1)] && c.at > open+1 {
		end := c.closingOf(open)
		if end < 0 || c.Kind(c.at+1) != token.Ident || !c.inCodelet() {
			return nil
		}
		c.next = end + 1
		return c.generator(open, end)
	}
	word := -1
	for i := c.at - 1; i >= c.from && c.at-i < 12; i-- {
		if token.FoldWords[c.Str(i)] && c.Kind(i) == token.Ident && c.Kind(i+1) == token.Ident && (c.Has(i+2, "in") || c.Has(i+2, ",")) {
			word = i
			break
		}
	}
	if word < 0 || !c.EndsOperand(c.at-1) || c.Opens(c.at) {
		return nil
	}
	for i := word; i < c.at; i++ {
		if c.Has(i, "{") {
			return nil
		}
	}
	lo := c.at
	if c.Has(lo, ":") {
		lo++
	}
	hi := c.exprEnd(lo)
	if lo >= hi || !token.StartsExpr(c.TokenAt(lo)) || c.Has(hi, "{") {
		return nil
	}
	m := c.mistakeHere("the expression of a fold is written in braces")
	c.next = hi
	at := c.span(c.at, hi)
	at.Lo = c.Tokens[c.at-1].Hi
	return m.Hint("write `%s`", token.ClipTo(c.text(word, c.at)+" { "+c.text(lo, hi)+" }", 72)).Edit(at, " { "+c.text(lo, hi)+" }").Certain()
}

// generator is sum(e for i in x), between the parentheses at the tokens open and end. Where
// i is not an index in e, it stands for the elements, as it does elsewhere.
func (c *cursor) generator(open, end int) *token.Mistake {
	m := c.mistakeHere("a fold names its indices first")
	word, index := c.Str(open-1), c.Str(c.at+1)
	in := c.at + 2
	for c.Has(in, ",") && c.Kind(in+1) == token.Ident {
		in += 2
	}
	over := c.text(min(in+1, end), end)
	if c.Has(in+1, "range") && c.Has(in+2, "(") && c.closingOf(in+2) == end-1 { // range(n), range(a, b)
		last := c.exprEnd(in + 3)
		switch {
		case last == end-1 && last > in+3:
			over = "0.." + c.text(in+3, last)
		case c.exprEnd(last+1) == end-1:
			over = c.text(in+3, last) + ".." + c.text(last+1, end-1)
		}
	}
	if !c.Has(in, "in") || c.exprEnd(in+1, "if", "for") != end || strings.HasPrefix(over, "range") {
		return m.Hint("write `%s i in x { x[i] }`, for some of them `%s i in x { if x[i] > 0.0 then x[i] else 0.0 }`", word, word)
	}
	var values strings.Builder // e, with x[i] for i
	elements, indices := 0, 0
	for i, lo := open+1, c.Tokens[open+1].Lo; i <= c.at; i++ {
		values.WriteString(c.Text[lo:c.Tokens[i].Lo])
		if lo = c.Tokens[i].Lo; i == c.at || c.Str(i) != index || c.Has(i-1, ".") {
			continue
		}
		if c.Has(c.inBracket(i), "[") {
			indices++
			continue
		}
		elements++
		values.WriteString(over + "[" + index + "]")
		lo = c.Tokens[i].Hi
	}
	switch text := word + " " + c.text(c.at+1, in) + " in " + over + " { "; {
	case elements == 0 || in > c.at+2 || strings.Contains(over, ".."):
		return c.replace(m, open-1, end+1, text+c.text(open+1, c.at)+" }")
	case indices == 0 && in+2 == end:
		return c.replace(m, open-1, end+1, text+strings.TrimSpace(values.String())+" }").Guessed()
	default:
		return m.Hint("write `%s%s[%s] }`: %s goes over the indices", text, over, index, index)
	}
}

// inCodelet reports whether the statement is in the body of a codelet.
func (c *cursor) inCodelet() bool {
	head := c.from
	for head >= 0 && !(c.Kind(head) == token.Keyword && c.Has(head, "codelet")) {
		head--
	}
	if head < 0 || head == c.from {
		return head == c.from
	}
	open := head
	for open < c.from && !c.Has(open, "{") {
		open++
	}
	end := c.closingOf(open)
	return open < c.from && (end < 0 || end >= c.from)
}

// Habits of parameters and operands: (a, b int), (vector[f64] x), insert f(x: RW a) and
// insert f(a RW).

// sharedType is func f(a, b int) and func f(a, b: int).
func (c *cursor) sharedType() *token.Mistake {
	if !c.declaration() || !c.Has(c.at, ",") {
		return nil
	}
	open := c.inBracket(c.at)
	if open < 0 || !c.Has(open, "(") || c.Kind(c.at-1) != token.Ident || !c.Has(c.at-2, ",") && c.at-2 != open {
		return nil
	}
	lo, i := c.at-1, c.at
	names := []string{c.Str(lo)}
	for c.Has(i, ",") && c.Kind(i+1) == token.Ident {
		names = append(names, c.Str(i+1))
		i += 2
	}
	last := i
	if c.Has(i, ":") {
		i++
	}
	hi := c.exprEnd(i)
	m := c.mistakeOver(lo, last, "every parameter has its type")
	if i >= hi || c.Kind(i) != token.Ident && c.Kind(i) != token.Keyword {
		for k := range names {
			names[k] += ": int"
		}
		return m.Hint("write `%s`, each with the type that it has", token.ClipTo(strings.Join(names, ", "), 60))
	}
	typ := c.text(i, hi)
	for k := range names {
		names[k] += ": " + typ
	}
	return c.replace(m, lo, hi, strings.Join(names, ", "))
}

// declaration reports whether the statement declares parameters.
func (c *cursor) declaration() bool { return c.declaring() != "" }

// declaring is the word by which the statement declares parameters, "" if it does not:
// func, codelet or extern.
func (c *cursor) declaring() string {
	if c.Signature != "" {
		return c.Signature
	}
	if c.Kind(c.from) != token.Keyword {
		return ""
	}
	switch word := c.Str(c.from); word {
	case "func", "codelet", "extern":
		return word
	}
	return ""
}
