package token

// Layout pass: which newlines end a statement, and which brackets belong together.

import (
	"fmt"
	"strings"
)

// MaxNesting bounds brackets, blocks and nested expressions.
const MaxNesting = 200

// Layout drops the newlines that are white space, pairs brackets and reports
// those without a partner. Brackets that stay open are marked, so that the
// statement around them is not parsed and gives no further messages.
func (s *Scanner) Layout() {
	s.missingOpen()
	in := s.Tokens
	out := make([]Token, 0, len(in))
	var stack []int32 // open brackets: indices into out
	folds := []int{0} // for each of them, and in front, the folds whose { is still to come
	closeAt := s.missingBrace()
	for i := 0; i < len(in); i++ {
		t := in[i]
		switch t.Kind {
		case NL:
			if t.Text(s.Text) == ";" {
				out = append(out, t)
				continue
			}
			for i+1 < len(in) && in[i+1].Kind == NL && in[i+1].Text(s.Text) == "\n" {
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
			if len(out) == 0 || out[len(out)-1].Kind == NL || s.Continued(out[len(out)-1]) || s.continuing(in[i+1:]) {
				continue
			}
			out = append(out, t)
			continue
		case Op:
			switch c := s.Text[t.Lo]; c {
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
				if len(stack) == MaxNesting {
					s.errorf(int(t.Lo), int(t.Hi), "E0107", "brackets nest deeper than %d levels", MaxNesting).
						Hint("name parts of it with `let`, or move them into a `func`")
					// nothing is parsed: what nests too deep for a reader nests too deep for us
					s.Tokens = in[len(in)-1:]
					return
				}
				stack = append(stack, int32(len(out)))
				folds = append(folds[:len(stack)], 0)
			case ')', ']', '}':
				out, stack = s.closing(out, stack, &t)
			}
		case Open:
			stack = append(stack, int32(len(out)))
			folds = append(folds[:len(stack)], 0)
		case Ident:
			n := len(stack)
			if s.startsFold(in, i, n > 0 && s.bracket(out[stack[n-1]]) != '{') {
				folds[n]++
			}
		case Keyword:
			if len(closeAt) > 0 && t.Lo == closeAt[0] {
				for len(stack) > 0 {
					out, stack = s.unclosed(out, stack, t, ", where a declaration starts")
				}
				closeAt = nil
				out = append(out, Token{Kind: NL, Lo: t.Lo, Hi: t.Lo})
			}
		}
		if t.Kind == EOF {
			stack = s.giveUp(out, stack)
			s.AtEnd = len(stack) > 0
			for len(stack) > 0 {
				out, stack = s.unclosed(out, stack, t, ", where the file ends")
			}
		}
		out = append(out, t)
	}
	s.Tokens = out
}

// giveUp takes the round and square brackets off the stack when a string that is
// never closed ends the line: they cannot be read either, and the string is reported.
func (s *Scanner) giveUp(out []Token, stack []int32) []int32 {
	if k := len(out) - 1; k < 0 || out[k].Kind != Bad || !out[k].Open {
		return stack
	}
	for n := len(stack) - 1; n >= 0 && s.bracket(out[stack[n]]) != '{'; n-- {
		out[stack[n]].Open = true
		stack = stack[:n]
	}
	return stack
}

// Continued reports whether a newline behind t is white space.
func (s *Scanner) Continued(t Token) bool {
	switch t.Kind {
	case Assign, Open:
		return true
	case Keyword:
		return expectsMore[t.Text(s.Text)]
	case Op:
		switch t.Text(s.Text) {
		case ")", "]", "}", ":", ".", "@", "(", "[":
			return false
		}
		return true
	}
	return false
}

// continuing reports whether a line that starts with line belongs to the one before.
func (s *Scanner) continuing(line []Token) bool {
	t := line[0]
	switch t.Kind {
	case Keyword:
		return continues[t.Text(s.Text)]
	case Ident: // over is a name elsewhere, but no statement begins with two names
		return t.Text(s.Text) == "over" && len(line) > 1 && line[1].Kind == Ident && line[1].Text(s.Text) == "grid"
	case Op:
		text := t.Text(s.Text)
		return text == "." || text == "?"
	}
	return false
}

// closing pairs the closing bracket t with the one that is open.
func (s *Scanner) closing(out []Token, stack []int32, t *Token) ([]Token, []int32) {
	c := s.Text[t.Lo]
	opener := map[byte]byte{')': '(', ']': '[', '}': '{'}[c]
	at := len(stack) - 1
	for at >= 0 && s.bracket(out[stack[at]]) != opener {
		at--
	}
	if at < 0 {
		t.Open = true
		if s.forced == c { // its partner is reported as never closed
			s.forced = 0
			return out, stack
		}
		if n := len(stack); n > 0 && c != '}' {
			// f(a] : the wrong bracket, most likely
			o := out[stack[n-1]]
			if s.bracket(o) != '{' {
				s.mismatch(o, *t)
				out[stack[n-1]].Open = true
				return out, stack[:n-1]
			}
			if margin := int32(s.indent(t.Lo)); s.missing > 0 && s.lines0(t.Lo)+margin == t.Lo && s.indent(o.Lo) == int(margin) { // for … { … )
				s.mismatch(o, *t)
				s.missing--
				out[stack[n-1]].Open = true
				return append(out, Token{Kind: Virtual, Lo: t.Lo, Hi: t.Lo}), stack[:n-1]
			}
		}
		word := "bracket"
		if c == '}' {
			word = "block"
		}
		m := s.errorf(int(t.Lo), int(t.Hi), "E0101", "unexpected `%c`", c).Labelled("no %s is open here", word)
		if after := s.beforeMissing(out, c); after != "" {
			m.Hint("add `%c` after `%s`", opener, after)
		} else if !s.tooSoon(m, out, *t) {
			m.Hint("leave it out, or add `%c` where it should begin", opener)
		}
		return out, stack
	}
	if c == '}' {
		s.closed = append(s.closed, [2]int32{out[stack[at]].Lo, t.Lo})
	}
	if at < len(stack)-1 && c != '}' {
		// ( [ ) or ( { ) : what is inside is open; a block is never closed by ) or ]
		for k := at + 1; k < len(stack); k++ {
			if s.bracket(out[stack[k]]) == '{' && k > 0 && !s.inside(out, stack[:k]) {
				t.Open = true
				s.errorf(int(t.Lo), int(t.Hi), "E0101", "unexpected `%c`", c).Labelled("no bracket is open here")
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
func (s *Scanner) tooSoon(m *Mistake, out []Token, t Token) bool {
	margin := s.indent(t.Lo)
	if s.Text[t.Lo] != '}' || s.lines0(t.Lo)+int32(margin) != t.Lo {
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
		m.Hint("leave out the `}` in line %d", s.line(end)).Edit(Span{end, end + 1}, "")
		return true
	}
	return false
}

// outer reports whether the } at t, by its indentation, closes a block around the
// innermost one.
func (s *Scanner) outer(out []Token, stack []int32, t Token) bool {
	margin := s.indent(t.Lo)
	if s.lines0(t.Lo)+int32(margin) != t.Lo {
		return false
	}
	n := len(stack) - 1
	if s.indent(out[stack[n]].Lo) <= margin {
		return false
	}
	for n--; n >= 0; n-- {
		if o := out[stack[n]]; s.bracket(o) != '{' || s.indent(o.Lo) == margin {
			return s.bracket(o) == '{'
		}
	}
	return false
}

// inside reports whether the innermost bracket of stack is a round or square one.
func (s *Scanner) inside(out []Token, stack []int32) bool {
	return len(stack) > 0 && s.bracket(out[stack[len(stack)-1]]) != '{'
}

// partner is the bracket that closes the one at t.
func (s *Scanner) partner(t Token) string {
	switch s.Text[t.Lo] {
	case '(':
		return ")"
	case '[':
		return "]"
	}
	return "}"
}

// mismatch reports that o is closed by the wrong bracket.
func (s *Scanner) mismatch(o, by Token) {
	r := s.errorf(int(o.Lo), int(o.Hi), "E0102", "this `%s` is never closed", o.Text(s.Text)).Labelled("opened here")
	r.also(Span{by.Lo, by.Hi}, "reading stopped here")
	r.Hint("write `%s` instead of `%s`", s.partner(o), by.Text(s.Text)).Edit(Span{by.Lo, by.Hi}, s.partner(o))
}

// unclosed reports the innermost open bracket, marks it and takes it off the stack.
// Reading stopped at token t, for the reason given.
func (s *Scanner) unclosed(out []Token, stack []int32, t Token, where string) ([]Token, []int32) {
	n := len(stack) - 1
	o := &out[stack[n]]
	o.Open = true
	brace := s.bracket(*o) == '{'
	if len(s.Mistakes) >= 10*MaxErrors { // enough is said
		if brace {
			out = append(out, Token{Kind: Virtual, Lo: t.Lo, Hi: t.Lo})
		}
		return out, stack[:n]
	}
	last := out[len(out)-1]
	for k := len(out) - 1; k > int(stack[n]) && (last.Kind == NL || last.Kind == Virtual); k-- {
		last = out[k-1]
	}
	r := s.errorf(int(o.Lo), int(o.Hi), "E0102", "this `%s` is never closed", o.Text(s.Text)).Labelled("opened here")
	stop := Span{t.Lo, t.Hi}
	if t.Kind == EOF {
		stop = Span{last.Hi, last.Hi}
	}
	r.also(stop, "reading stopped here"+where)
	r.Labels[0].AtEnd = t.Kind == EOF
	switch {
	case !brace && t.Kind == Op && s.line(t.Lo) == s.line(last.Hi):
		r.Hint("add `%s` before the `%s`", s.partner(*o), t.Text(s.Text)).Edit(Span{t.Lo, t.Lo}, s.partner(*o))
	case !brace:
		r.Hint("add `%s` at the end of line %d", s.partner(*o), s.line(last.Hi)).Edit(Span{last.Hi, last.Hi}, s.partner(*o))
	case t.Kind == EOF && s.endsBefore(r, out[stack[n]:], last):
	case t.Kind == EOF:
		r.Hint("add `}` where the block should end").Edit(Span{last.Hi, last.Hi}, "\n"+strings.Repeat(" ", s.indent(o.Lo))+"}")
	default:
		at := s.lines0(s.dedent(out[stack[n]:], stop.Lo))
		r.Hint("add `}` before line %d", s.line(at)).Edit(Span{at, at}, strings.Repeat(" ", s.indent(o.Lo))+"}\n")
	}
	if brace {
		out = append(out, Token{Kind: Virtual, Lo: t.Lo, Hi: t.Lo})
	}
	return out, stack[:n]
}

// endsBefore adds to r, about the { at the first of toks that is open at the end of the
// file, which ends with last, where its block ends by its indentation; false when that
// is the end of the file.
func (s *Scanner) endsBefore(r *Mistake, toks []Token, last Token) bool {
	next := s.dedent(toks, last.Hi)
	if next >= last.Hi {
		return false
	}
	i := 1
	for i+1 < len(toks) && toks[i+1].Lo < next {
		i++
	}
	for i > 0 && (toks[i].Kind == NL || toks[i].Kind == Virtual) {
		i--
	}
	end := toks[i].Hi // of the last statement in the block
	n := strings.IndexByte(s.Text[end:s.end], '\n')
	if i == 0 || n < 0 {
		return false
	}
	at := end + int32(n) + 1
	margin := strings.Repeat(" ", s.indent(toks[0].Lo))
	r.Labels[0].At, r.Labels[0].text = Span{at, at}, "the block seems to end here"
	r.Hint("add `}` before line %d", s.line(at)).Edit(Span{at, at}, margin+"}\n")
	return true
}

// bracket is the first byte of the bracket t.
func (s *Scanner) bracket(t Token) byte {
	if t.Kind == Open {
		return '{'
	}
	return s.Text[t.Lo]
}

// IsFold reports whether the token at i is the word of a fold: a name follows.
func (s *Scanner) IsFold(i int) bool { return IsFold(s.Text, s.Tokens, i) }

// startsFold is IsFold before newlines are dropped, which round and square brackets
// do.
func (s *Scanner) startsFold(in []Token, i int, inBrackets bool) bool {
	if !FoldWords[in[i].Text(s.Text)] || i > 0 && in[i-1].Kind == Op && in[i-1].Text(s.Text) == "." {
		return false
	}
	for i++; inBrackets && in[i].Kind == NL && in[i].Text(s.Text) == "\n"; {
		i++
	}
	return in[i].Kind == Ident
}

// operandEnd reports whether an operand may end with t.
func operandEnd(text string, t Token) bool {
	switch t.Kind {
	case Int, Float, String, FString:
		return true
	case Ident:
		return ModeOf(t.Text(text)) == 0
	case Keyword:
		switch t.Text(text) {
		case "true", "false", "none":
			return true
		}
	case Op:
		switch text[t.Lo] {
		case ')', ']', '}':
			return true
		}
	}
	return false
}

// newStatement reports whether the line that starts with next, inside the bracket
// open, can only be a new statement: so the bracket is not closed.
func (s *Scanner) newStatement(out []Token, open, next Token) bool {
	last := out[len(out)-1]
	switch next.Kind {
	case Keyword:
		w := next.Text(s.Text)
		switch w {
		case "if", "for", "insert":
			return operandEnd(s.Text, last) && !(w == "for" && s.bracket(open) == '[') && s.indent(next.Lo) <= s.indent(open.Lo)
		}
		return IsStatementWord[w]
	case Ident:
		return operandEnd(s.Text, last) && !FoldWords[last.Text(s.Text)] && s.indent(next.Lo) <= s.indent(open.Lo)
	}
	return false
}

// missingBrace looks for the place where a block should have ended: when the text
// has more { than }, the first declaration at the left margin inside a block. It
// returns its offset, or nothing.
func (s *Scanner) missingBrace() []int32 {
	depth := 0
	var first []int32
	for i, t := range s.Tokens {
		switch {
		case t.Kind == Op && s.Text[t.Lo] == '{':
			depth++
		case t.Kind == Op && s.Text[t.Lo] == '}':
			depth--
		case t.Kind == Keyword && depth > 0 && first == nil && TopLevelOnly[t.Text(s.Text)] &&
			(i == 0 || s.Tokens[i-1].Kind == NL) && (t.Lo == 0 || s.Text[t.Lo-1] == '\n'):
			first = []int32{t.Lo}
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
var blockWords = WordSet("if", "for", "while", "func", "struct", "codelet", "acquire", "each", "else")

// missingOpen puts a { where one is missing, so that the block it belongs to is
// read as such. It looks only when the text has more } than {: then a head without {
// has a block if the lines below it are indented deeper up to a } below the head.
func (s *Scanner) missingOpen() {
	excess := 0
	for _, t := range s.Tokens {
		if t.Kind == Op {
			switch s.Text[t.Lo] {
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
	out := make([]Token, 0, len(s.Tokens)+excess)
	first, depth, braces := 0, 0, false // of this statement: first token, open brackets, whether it has {
	for i, t := range s.Tokens {
		switch t.Kind {
		case Op:
			switch s.Text[t.Lo] {
			case '(', '[':
				depth++
			case ')', ']':
				depth--
			case '{':
				braces = true
			}
		case NL:
			if depth > 0 {
				break
			}
			if excess > 0 && !braces && i > first {
				if end, ok := s.blockBelow(first, i); ok {
					excess--
					if last := out[len(out)-1]; s.colonOrWord(last) && len(out) > first {
						m := s.errorf(int(last.Lo), int(last.Hi), "E0101", "unexpected `%s`: a block is written in braces", last.Text(s.Text))
						m.also(Span{end.Lo, end.Hi}, "this closes the block")
						at := Span{last.Lo, last.Hi}
						open := "{"
						if last.Lo == out[len(out)-2].Hi {
							open = " {"
						}
						m.Hint("write `{`").Edit(at, open).Certain()
						out[len(out)-1] = Token{Kind: Open, Lo: last.Hi, Hi: last.Hi}
						first, depth, braces = i+1, 0, false
						out = append(out, t)
						continue
					}
					hi := s.Tokens[i-1].Hi
					m := s.errorf(int(hi), int(hi), "E0101", "unexpected end of line, expected `{`")
					m.also(Span{end.Lo, end.Hi}, "this closes the block")
					m.Hint("add `{` at the end of line %d", s.line(hi)).Edit(Span{hi, hi}, " {").Certain()
					out = append(out, Token{Kind: Open, Lo: hi, Hi: hi})
				}
			}
			first, depth, braces = i+1, 0, false
		}
		out = append(out, t)
	}
	s.Tokens = out
}

// colonOrWord reports whether t begins a block in other languages.
func (s *Scanner) colonOrWord(t Token) bool {
	switch t.Text(s.Text) {
	case ":", "then", "do":
		return true
	}
	return false
}

// blockBelow returns the } of the block that, by its indentation, belongs to the
// head from token first to the newline at token nl.
func (s *Scanner) blockBelow(first, nl int) (end Token, ok bool) {
	head := s.Tokens[first]
	if s.Tokens[first].Kind == Op && s.Text[head.Lo] == '}' && first+1 < nl { // } else
		head = s.Tokens[first+1]
	}
	if head.Kind != Keyword || !blockWords[head.Text(s.Text)] {
		return Token{}, false
	}
	margin := s.indent(head.Lo)
	for i := nl + 1; i < len(s.Tokens); i++ {
		t := s.Tokens[i]
		if t.Kind == NL || s.Tokens[i-1].Kind != NL || s.indent(t.Lo) > margin {
			continue
		}
		return t, i > nl+1 && s.indent(t.Lo) == margin && t.Kind == Op && s.Text[t.Lo] == '}'
	}
	return Token{}, false
}

// dedent returns where the block at the first of toks should have ended: at its
// first line that is indented no deeper than its head, at the latest at the offset end.
func (s *Scanner) dedent(toks []Token, end int32) int32 {
	margin := s.indent(toks[0].Lo)
	for i := 2; i < len(toks) && toks[i].Lo < end; i++ {
		if toks[i-1].Kind == NL && s.Text[toks[i-1].Lo] == '\n' && s.indent(toks[i].Lo) <= margin {
			return toks[i].Lo
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
func (s *Scanner) beforeMissing(out []Token, closing byte) string {
	first := len(out)
	for first > 0 && out[first-1].Kind != NL {
		if first--; len(out)-first > maxLine {
			return ""
		}
	}
	if first == len(out) {
		return ""
	}
	if closing == '}' {
		if out[first].Kind != Keyword || !blockWords[out[first].Text(s.Text)] {
			return ""
		}
		for i := first + 1; i < len(out); i++ {
			if out[i].Kind == Keyword && IsStatementWord[out[i].Text(s.Text)] {
				return s.Text[out[first].Lo:out[i-1].Hi]
			}
		}
		return ""
	}
	for i := len(out) - 1; i > first; i-- {
		switch t, next := out[i-1], out[i]; next.Kind {
		case Ident, Int, Float, String, FString:
			if name := t.Text(s.Text); t.Kind == Ident && ModeOf(name) == 0 && !FoldWords[name] {
				return name
			}
			if k := i - 1; closing == ')' && t.Kind == Op && s.Text[t.Lo] == ']' { // vector[f64] n)
				for k > first && !(out[k].Kind == Op && s.Text[out[k].Lo] == '[') {
					k--
				}
				if k > first && out[k-1].Kind == Ident {
					return s.Text[out[k-1].Lo:t.Hi]
				}
			}
		}
	}
	return ""
}

// choiceBraces returns how many { the choice has that goes on at the first of toks, as
// in f(if c { a } else { b }); before is what the bracket around it holds so far. 0: it
// is none.
func (s *Scanner) choiceBraces(before, toks []Token) int {
	word, depth := len(before)-1, 0
	for ; word >= 0; word-- {
		if t := before[word]; t.Kind == Op {
			switch s.Text[t.Lo] {
			case ')', ']', '}':
				depth++
			case '(', '[', '{':
				depth--
			}
		} else if depth == 0 && t.Kind == Keyword && t.Text(s.Text) == "if" {
			break
		}
	}
	if word < 0 || word == len(before)-1 {
		return 0
	}
	toks = toks[:min(len(toks), maxLine)]
	next := func(i int) int { // the token behind i that is no end of a line
		for i++; i < len(toks) && toks[i].Kind == NL; {
			i++
		}
		return min(i, len(toks)-1)
	}
	is := func(i int, text string) bool { return toks[i].Text(s.Text) == text }
	braces := 0
	for i := 0; ; {
		for depth := 0; ; i++ {
			if i == len(toks)-1 {
				return 0
			}
			if t := toks[i]; t.Kind == Op {
				switch s.Text[t.Lo] {
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
			if t := toks[after]; braces > 1 && t.Kind == Op && !is(after, "{") && !is(after, "}") {
				return braces
			}
			return 0
		}
		if i = next(after); is(i, "if") {
			for i < len(toks)-1 && toks[i].Kind != NL && !is(i, "{") && !is(i, "}") {
				i++
			}
		}
		if !is(i, "{") {
			return 0
		}
	}
}
