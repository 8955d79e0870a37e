package syntax

// Layout pass: which newlines end a statement, and which brackets belong together.

import (
	"fmt"
	"strings"
)

// maxNesting bounds brackets, blocks and nested expressions.
const maxNesting = 200

// layout drops the newlines that are white space, pairs brackets and reports
// those without a partner. Brackets that stay open are marked, so that the
// statement they stand in is not parsed and gives no further messages.
func (s *scanner) layout() {
	s.missingOpen()
	in := s.toks
	out := make([]token, 0, len(in))
	var stack []int32 // open brackets: indices into out
	folds := []int{0} // for each of them, and in front, the folds whose { is still to come
	closeAt := s.missingBrace()
	for i := 0; i < len(in); i++ {
		t := in[i]
		switch t.kind {
		case tokNL:
			if t.text(s.text) == ";" {
				out = append(out, t)
				continue
			}
			for i+1 < len(in) && in[i+1].kind == tokNL && in[i+1].text(s.text) == "\n" {
				i++
			}
			next := in[i+1]
			stack = s.giveUp(out, stack)
			if n := len(stack); n > 0 && s.bracket(out[stack[n-1]]) != '{' {
				if !s.newStatement(out, out[stack[n-1]], next) {
					continue
				}
				out, stack = s.unclosed(out, stack, next, ", where a new statement starts")
				out = append(out, t)
				continue
			}
			if len(out) == 0 || out[len(out)-1].kind == tokNL || s.continued(out[len(out)-1]) || s.continuing(next) {
				continue
			}
			out = append(out, t)
			continue
		case tokOp:
			switch c := s.text[t.lo]; c {
			case '(', '[', '{':
				if n := len(stack); c == '{' && n > 0 && folds[n] == 0 && s.bracket(out[stack[n-1]]) != '{' {
					folds[n] += s.choiceBraces(out[stack[n-1]+1:], in[i:])
				}
				if c == '{' && len(stack) > 0 && folds[len(stack)] == 0 {
					// a { in round brackets belongs to a fold: else they are not closed
					for n := len(stack) - 1; n >= 0 && s.bracket(out[stack[n]]) != '{' && folds[n+1] == 0; n-- {
						out, stack = s.unclosed(out, stack, t, ", where a block begins")
					}
				}
				if c == '{' && folds[len(stack)] > 0 {
					folds[len(stack)]--
				}
				if len(stack) == maxNesting {
					s.errorf(int(t.lo), int(t.hi), "E0107", "brackets nest deeper than %d levels", maxNesting).
						hint("name parts of it with `let`, or move them into a `func`")
					// nothing is parsed: what nests too deep for a reader nests too deep for us
					s.toks = in[len(in)-1:]
					return
				}
				stack = append(stack, int32(len(out)))
				folds = append(folds[:len(stack)], 0)
			case ')', ']', '}':
				out, stack = s.closing(out, stack, &t)
			}
		case tokOpen:
			stack = append(stack, int32(len(out)))
			folds = append(folds[:len(stack)], 0)
		case tokIdent:
			n := len(stack)
			if s.startsFold(in, i, n > 0 && s.bracket(out[stack[n-1]]) != '{') {
				folds[n]++
			}
		case tokKeyword:
			if len(closeAt) > 0 && t.lo == closeAt[0] {
				for len(stack) > 0 {
					out, stack = s.unclosed(out, stack, t, ", where a declaration starts")
				}
				closeAt = nil
				out = append(out, token{kind: tokNL, lo: t.lo, hi: t.lo})
			}
		}
		if t.kind == tokEOF {
			stack = s.giveUp(out, stack)
			s.atEnd = len(stack) > 0
			for len(stack) > 0 {
				out, stack = s.unclosed(out, stack, t, ", where the file ends")
			}
		}
		out = append(out, t)
	}
	s.toks = out
}

// giveUp takes the round and square brackets off the stack when a string that is
// never closed ends the line: they cannot be read either, and the string is reported.
func (s *scanner) giveUp(out []token, stack []int32) []int32 {
	if k := len(out) - 1; k < 0 || out[k].kind != tokBad || !out[k].open {
		return stack
	}
	for n := len(stack) - 1; n >= 0 && s.bracket(out[stack[n]]) != '{'; n-- {
		out[stack[n]].open = true
		stack = stack[:n]
	}
	return stack
}

// continued reports whether a newline behind t is white space.
func (s *scanner) continued(t token) bool {
	switch t.kind {
	case tokAssign, tokOpen:
		return true
	case tokKeyword:
		return expectsMore[t.text(s.text)]
	case tokOp:
		switch t.text(s.text) {
		case ")", "]", "}", ":", ".", "@", "(", "[":
			return false
		}
		return true
	}
	return false
}

// continuing reports whether a line that starts with t belongs to the one before.
func (s *scanner) continuing(t token) bool {
	switch t.kind {
	case tokKeyword:
		return continues[t.text(s.text)]
	case tokOp:
		text := t.text(s.text)
		return text == "." || text == "?"
	}
	return false
}

// closing pairs the closing bracket t with the one that is open.
func (s *scanner) closing(out []token, stack []int32, t *token) ([]token, []int32) {
	c := s.text[t.lo]
	opener := map[byte]byte{')': '(', ']': '[', '}': '{'}[c]
	at := len(stack) - 1
	for at >= 0 && s.bracket(out[stack[at]]) != opener {
		at--
	}
	if at < 0 {
		t.open = true
		if s.forced == c { // its partner is reported as never closed
			s.forced = 0
			return out, stack
		}
		if n := len(stack); n > 0 && c != '}' {
			// f(a] : the wrong bracket, most likely
			o := out[stack[n-1]]
			if s.bracket(o) != '{' {
				s.mismatch(o, *t)
				out[stack[n-1]].open = true
				return out, stack[:n-1]
			}
			if margin := int32(s.indent(t.lo)); s.missing > 0 && s.lines0(t.lo)+margin == t.lo && s.indent(o.lo) == int(margin) { // for … { … )
				s.mismatch(o, *t)
				s.missing--
				out[stack[n-1]].open = true
				return append(out, token{kind: tokVirtual, lo: t.lo, hi: t.lo}), stack[:n-1]
			}
		}
		word := "bracket"
		if c == '}' {
			word = "block"
		}
		m := s.errorf(int(t.lo), int(t.hi), "E0101", "unexpected `%c`", c).labelled("no %s is open here", word)
		if after := s.beforeMissing(out, c); after != "" {
			m.hint("add `%c` after `%s`", opener, after)
		} else if !s.tooSoon(m, out, *t) {
			m.hint("leave it out, or add `%c` where it should begin", opener)
		}
		return out, stack
	}
	if c == '}' {
		s.closed = append(s.closed, [2]int32{out[stack[at]].lo, t.lo})
	}
	if at < len(stack)-1 && c != '}' {
		// ( [ ) or ( { ) : what is inside is open; a block is never closed by ) or ]
		for k := at + 1; k < len(stack); k++ {
			if s.bracket(out[stack[k]]) == '{' && k > 0 && !s.inside(out, stack[:k]) {
				t.open = true
				s.errorf(int(t.lo), int(t.hi), "E0101", "unexpected `%c`", c).labelled("no bracket is open here")
				return out, stack
			}
		}
	}
	if at < len(stack)-1 {
		where := ", where the block ends"
		if c != '}' {
			where = ""
		}
		for len(stack)-1 > at {
			s.forced = s.partner(out[stack[len(stack)-1]])[0]
			out, stack = s.unclosed(out, stack, *t, where)
		}
	}
	for c == '}' && s.missing > 0 && at > 0 && s.outer(out, stack, *t) {
		s.missing--
		out, stack = s.unclosed(out, stack, *t, ", where the block around it ends")
		at--
	}
	return out, stack[:at]
}

// tooSoon adds to m, which says that the } at t closes nothing, which } before it
// closed the block that t would close by its indentation: one that shares its line
// with what is in the block.
func (s *scanner) tooSoon(m *mistake, out []token, t token) bool {
	margin := s.indent(t.lo)
	if s.text[t.lo] != '}' || s.lines0(t.lo)+int32(margin) != t.lo {
		return false
	}
	for i := len(s.closed) - 1; i >= 0; i-- {
		open, end := s.closed[i][0], s.closed[i][1]
		if s.indent(open) != margin || s.line(open) == s.line(end) {
			continue
		}
		if s.lines0(end)+int32(s.indent(end)) == end {
			return false // where it should be
		}
		m.also(Span{end, end + 1}, fmt.Sprintf("this closes the block of line %d", s.line(open)))
		m.hint("leave out the `}` in line %d", s.line(end)).edit(Span{end, end + 1}, "")
		return true
	}
	return false
}

// outer reports whether the } at t, by its indentation, closes a block around the
// innermost one.
func (s *scanner) outer(out []token, stack []int32, t token) bool {
	margin := s.indent(t.lo)
	if s.lines0(t.lo)+int32(margin) != t.lo {
		return false
	}
	n := len(stack) - 1
	if s.indent(out[stack[n]].lo) <= margin {
		return false
	}
	for n--; n >= 0; n-- {
		if o := out[stack[n]]; s.bracket(o) != '{' || s.indent(o.lo) == margin {
			return s.bracket(o) == '{'
		}
	}
	return false
}

// inside reports whether the innermost bracket of stack is a round or square one.
func (s *scanner) inside(out []token, stack []int32) bool {
	return len(stack) > 0 && s.bracket(out[stack[len(stack)-1]]) != '{'
}

// partner is the bracket that closes the one at t.
func (s *scanner) partner(t token) string {
	switch s.text[t.lo] {
	case '(':
		return ")"
	case '[':
		return "]"
	}
	return "}"
}

// mismatch reports that o is closed by the wrong bracket.
func (s *scanner) mismatch(o, by token) {
	r := s.errorf(int(o.lo), int(o.hi), "E0102", "this `%s` is never closed", o.text(s.text)).labelled("opened here")
	r.also(Span{by.lo, by.hi}, "reading stopped here")
	r.hint("write `%s` instead of `%s`", s.partner(o), by.text(s.text)).edit(Span{by.lo, by.hi}, s.partner(o))
}

// unclosed reports the innermost open bracket, marks it and takes it off the stack.
// Reading stopped at token t, for the reason given.
func (s *scanner) unclosed(out []token, stack []int32, t token, where string) ([]token, []int32) {
	n := len(stack) - 1
	o := &out[stack[n]]
	o.open = true
	brace := s.bracket(*o) == '{'
	if len(s.mistakes) >= 10*maxErrors { // enough is said
		if brace {
			out = append(out, token{kind: tokVirtual, lo: t.lo, hi: t.lo})
		}
		return out, stack[:n]
	}
	last := out[len(out)-1]
	for k := len(out) - 1; k > int(stack[n]) && (last.kind == tokNL || last.kind == tokVirtual); k-- {
		last = out[k-1]
	}
	r := s.errorf(int(o.lo), int(o.hi), "E0102", "this `%s` is never closed", o.text(s.text)).labelled("opened here")
	stop := Span{t.lo, t.hi}
	if t.kind == tokEOF {
		stop = Span{last.hi, last.hi}
	}
	r.also(stop, "reading stopped here"+where)
	r.labels[0].atEnd = t.kind == tokEOF
	switch {
	case !brace && t.kind == tokOp && s.line(t.lo) == s.line(last.hi):
		r.hint("add `%s` before the `%s`", s.partner(*o), t.text(s.text)).edit(Span{t.lo, t.lo}, s.partner(*o))
	case !brace:
		r.hint("add `%s` at the end of line %d", s.partner(*o), s.line(last.hi)).edit(Span{last.hi, last.hi}, s.partner(*o))
	case t.kind == tokEOF && s.endsBefore(r, out[stack[n]:], last):
	case t.kind == tokEOF:
		r.hint("add `}` where the block should end").edit(Span{last.hi, last.hi}, "\n"+strings.Repeat(" ", s.indent(o.lo))+"}")
	default:
		at := s.lines0(s.dedent(out[stack[n]:], stop.Lo))
		r.hint("add `}` before line %d", s.line(at)).edit(Span{at, at}, strings.Repeat(" ", s.indent(o.lo))+"}\n")
	}
	if brace {
		out = append(out, token{kind: tokVirtual, lo: t.lo, hi: t.lo})
	}
	return out, stack[:n]
}

// endsBefore adds to r, about the { at the first of toks that is open at the end of the
// file, which ends with last, where its block ends by its indentation; false when that
// is the end of the file.
func (s *scanner) endsBefore(r *mistake, toks []token, last token) bool {
	next := s.dedent(toks, last.hi)
	if next >= last.hi {
		return false
	}
	i := 1
	for i+1 < len(toks) && toks[i+1].lo < next {
		i++
	}
	for i > 0 && (toks[i].kind == tokNL || toks[i].kind == tokVirtual) {
		i--
	}
	end := toks[i].hi // of the last statement in the block
	n := strings.IndexByte(s.text[end:s.end], '\n')
	if i == 0 || n < 0 {
		return false
	}
	at := end + int32(n) + 1
	margin := strings.Repeat(" ", s.indent(toks[0].lo))
	r.labels[0].at, r.labels[0].text = Span{at, at}, "the block seems to end here"
	r.hint("add `}` before line %d", s.line(at)).edit(Span{at, at}, margin+"}\n")
	return true
}

// bracket is the first byte of the bracket t.
func (s *scanner) bracket(t token) byte {
	if t.kind == tokOpen {
		return '{'
	}
	return s.text[t.lo]
}

// isFold reports whether the token at i is the word of a fold: a name follows.
func (s *scanner) isFold(i int) bool { return isFold(s.text, s.toks, i) }

// startsFold is isFold before newlines are dropped, which round and square brackets
// do.
func (s *scanner) startsFold(in []token, i int, inBrackets bool) bool {
	if !foldWords[in[i].text(s.text)] || i > 0 && in[i-1].kind == tokOp && in[i-1].text(s.text) == "." {
		return false
	}
	for i++; inBrackets && in[i].kind == tokNL && in[i].text(s.text) == "\n"; {
		i++
	}
	return in[i].kind == tokIdent
}

// operandEnd reports whether an operand may end with t.
func (s *scanner) operandEnd(t token) bool {
	switch t.kind {
	case tokInt, tokFloat, tokString, tokFString:
		return true
	case tokIdent:
		return modeOf(t.text(s.text)) == 0
	case tokKeyword:
		switch t.text(s.text) {
		case "true", "false", "none":
			return true
		}
	case tokOp:
		switch s.text[t.lo] {
		case ')', ']', '}':
			return true
		}
	}
	return false
}

// newStatement reports whether the line that starts with next, inside the bracket
// open, can only be a new statement: so the bracket is not closed.
func (s *scanner) newStatement(out []token, open, next token) bool {
	last := out[len(out)-1]
	switch next.kind {
	case tokKeyword:
		w := next.text(s.text)
		switch w {
		case "if", "for", "insert":
			return s.operandEnd(last) && !(w == "for" && s.bracket(open) == '[') && s.indent(next.lo) <= s.indent(open.lo)
		}
		return isStatementWord[w]
	case tokIdent:
		return s.operandEnd(last) && !foldWords[last.text(s.text)] && s.indent(next.lo) <= s.indent(open.lo)
	}
	return false
}

// missingBrace looks for the place where a block should have ended: when the text
// has more { than }, the first declaration at the left margin inside a block. It
// returns its offset, or nothing.
func (s *scanner) missingBrace() []int32 {
	depth := 0
	var first []int32
	for i, t := range s.toks {
		switch {
		case t.kind == tokOp && s.text[t.lo] == '{':
			depth++
		case t.kind == tokOp && s.text[t.lo] == '}':
			depth--
		case t.kind == tokKeyword && depth > 0 && first == nil && topLevelOnly[t.text(s.text)] &&
			(i == 0 || s.toks[i-1].kind == tokNL) && (t.lo == 0 || s.text[t.lo-1] == '\n'):
			first = []int32{t.lo}
		}
	}
	if depth <= 0 {
		return nil
	}
	s.missing = depth
	return first
}

// Brackets that are missing: where they were meant to stand.

// blockWords begin statements that have a block.
var blockWords = wordSet("if", "for", "while", "func", "codelet", "acquire", "each", "else")

// missingOpen puts a { where one is missing, so that the block it belongs to is
// read as such. It looks only when the text has more } than {: then a head without {
// has a block if the lines below it are indented deeper up to a } below the head.
func (s *scanner) missingOpen() {
	excess := 0
	for _, t := range s.toks {
		if t.kind == tokOp {
			switch s.text[t.lo] {
			case '{':
				excess--
			case '}':
				excess++
			}
		}
	}
	if excess <= 0 {
		return
	}
	out := make([]token, 0, len(s.toks)+excess)
	first, depth, braces := 0, 0, false // of this statement: first token, open brackets, whether it has {
	for i, t := range s.toks {
		switch t.kind {
		case tokOp:
			switch s.text[t.lo] {
			case '(', '[':
				depth++
			case ')', ']':
				depth--
			case '{':
				braces = true
			}
		case tokNL:
			if depth > 0 {
				break
			}
			if excess > 0 && !braces && i > first {
				if end, ok := s.blockBelow(first, i); ok {
					excess--
					if last := out[len(out)-1]; s.colonOrWord(last) && len(out) > first {
						m := s.errorf(int(last.lo), int(last.hi), "E0101", "unexpected `%s`: a block is written in braces", last.text(s.text))
						m.also(Span{end.lo, end.hi}, "this closes the block")
						at := Span{last.lo, last.hi}
						open := "{"
						if last.lo == out[len(out)-2].hi {
							open = " {"
						}
						m.hint("write `{`").edit(at, open).certain()
						out[len(out)-1] = token{kind: tokOpen, lo: last.hi, hi: last.hi}
						first, depth, braces = i+1, 0, false
						out = append(out, t)
						continue
					}
					hi := s.toks[i-1].hi
					m := s.errorf(int(hi), int(hi), "E0101", "unexpected end of line, expected `{`")
					m.also(Span{end.lo, end.hi}, "this closes the block")
					m.hint("add `{` at the end of line %d", s.line(hi)).edit(Span{hi, hi}, " {").certain()
					out = append(out, token{kind: tokOpen, lo: hi, hi: hi})
				}
			}
			first, depth, braces = i+1, 0, false
		}
		out = append(out, t)
	}
	s.toks = out
}

// colonOrWord reports whether t begins a block in other languages.
func (s *scanner) colonOrWord(t token) bool {
	switch t.text(s.text) {
	case ":", "then", "do":
		return true
	}
	return false
}

// blockBelow returns the } of the block that, by its indentation, belongs to the
// head from token first to the newline at token nl.
func (s *scanner) blockBelow(first, nl int) (end token, ok bool) {
	head := s.toks[first]
	if s.toks[first].kind == tokOp && s.text[head.lo] == '}' && first+1 < nl { // } else
		head = s.toks[first+1]
	}
	if head.kind != tokKeyword || !blockWords[head.text(s.text)] {
		return token{}, false
	}
	margin := s.indent(head.lo)
	for i := nl + 1; i < len(s.toks); i++ {
		t := s.toks[i]
		if t.kind == tokNL || s.toks[i-1].kind != tokNL || s.indent(t.lo) > margin {
			continue
		}
		return t, i > nl+1 && s.indent(t.lo) == margin && t.kind == tokOp && s.text[t.lo] == '}'
	}
	return token{}, false
}

// dedent returns where the block at the first of toks should have ended: at its
// first line that is indented no deeper than its head, at the latest at the offset end.
func (s *scanner) dedent(toks []token, end int32) int32 {
	margin := s.indent(toks[0].lo)
	for i := 2; i < len(toks) && toks[i].lo < end; i++ {
		if toks[i-1].kind == tokNL && s.text[toks[i-1].lo] == '\n' && s.indent(toks[i].lo) <= margin {
			return toks[i].lo
		}
	}
	return end
}

// maxLine is how many tokens of a line are searched for what a bracket lacks: each of
// many such brackets on a line asks.
const maxLine = 500

// beforeMissing returns what the partner of the closing bracket should have come
// after, in the statement at the end of out, "" if nothing tells: the head of a
// block on one line, or a name that an operand follows, which no name does elsewhere.
func (s *scanner) beforeMissing(out []token, closing byte) string {
	first := len(out)
	for first > 0 && out[first-1].kind != tokNL {
		if first--; len(out)-first > maxLine {
			return ""
		}
	}
	if first == len(out) {
		return ""
	}
	if closing == '}' {
		if out[first].kind != tokKeyword || !blockWords[out[first].text(s.text)] {
			return ""
		}
		for i := first + 1; i < len(out); i++ {
			if out[i].kind == tokKeyword && isStatementWord[out[i].text(s.text)] {
				return s.text[out[first].lo:out[i-1].hi]
			}
		}
		return ""
	}
	for i := len(out) - 1; i > first; i-- {
		switch t, next := out[i-1], out[i]; next.kind {
		case tokIdent, tokInt, tokFloat, tokString, tokFString:
			if name := t.text(s.text); t.kind == tokIdent && modeOf(name) == 0 && !foldWords[name] {
				return name
			}
			if k := i - 1; closing == ')' && t.kind == tokOp && s.text[t.lo] == ']' { // vector[f64] n)
				for k > first && !(out[k].kind == tokOp && s.text[out[k].lo] == '[') {
					k--
				}
				if k > first && out[k-1].kind == tokIdent {
					return s.text[out[k-1].lo:t.hi]
				}
			}
		}
	}
	return ""
}

// choiceBraces returns how many { the choice has that goes on at the first of toks, as
// in f(if c { a } else { b }); before is what the bracket around it holds so far. 0: it
// is none.
func (s *scanner) choiceBraces(before, toks []token) int {
	word, depth := len(before)-1, 0
	for ; word >= 0; word-- {
		if t := before[word]; t.kind == tokOp {
			switch s.text[t.lo] {
			case ')', ']', '}':
				depth++
			case '(', '[', '{':
				depth--
			}
		} else if depth == 0 && t.kind == tokKeyword && t.text(s.text) == "if" {
			break
		}
	}
	if word < 0 || word == len(before)-1 {
		return 0
	}
	toks = toks[:min(len(toks), maxLine)]
	next := func(i int) int { // the token behind i that is no end of a line
		for i++; i < len(toks) && toks[i].kind == tokNL; {
			i++
		}
		return min(i, len(toks)-1)
	}
	is := func(i int, text string) bool { return toks[i].text(s.text) == text }
	braces := 0
	for i := 0; ; {
		for depth := 0; ; i++ {
			if i == len(toks)-1 {
				return 0
			}
			if t := toks[i]; t.kind == tokOp {
				switch s.text[t.lo] {
				case '(', '[', '{':
					depth++
				case ')', ']', '}':
					depth--
				}
			}
			if depth == 0 {
				break
			}
		}
		braces++
		after := next(i)
		if !is(i, "}") || !is(after, "else") {
			if t := toks[after]; braces > 1 && t.kind == tokOp && !is(after, "{") && !is(after, "}") {
				return braces
			}
			return 0
		}
		if i = next(after); is(i, "if") {
			for i < len(toks)-1 && toks[i].kind != tokNL && !is(i, "{") && !is(i, "}") {
				i++
			}
		}
		if !is(i, "{") {
			return 0
		}
	}
}
