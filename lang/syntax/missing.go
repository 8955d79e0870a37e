package syntax

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
