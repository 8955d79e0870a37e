package syntax

// f-strings: text, and expressions in braces with an optional format.

import (
	"strings"

	"github.com/alecthomas/participle/v2/lexer"
)

// fstring makes the node of the token t, which is f"…".
func (p *exprParser) fstring(t *lexer.Token) (Expr, error) {
	base := t.Pos.Offset
	out := &FString{exprNode: exprNode{Span: spanOf(t)}, Text: t.Value}
	s := t.Value[:len(t.Value)-1]
	bad := func(lo, hi int, msg string, help ...string) error {
		return &mistake{code: "E0106", at: Span{int32(base + lo), int32(base + hi)}, msg: msg, help: help}
	}
	height := 0
	var text strings.Builder
	flush := func() {
		if text.Len() > 0 {
			out.Parts = append(out.Parts, FPart{Text: text.String()})
			text.Reset()
		}
	}
	for i := len(`f"`); i < len(s); {
		switch c := s[i]; {
		case (c == '{' || c == '}') && i+1 < len(s) && s[i+1] == c:
			text.WriteByte(c)
			i += 2
		case c == '}':
			return nil, bad(i, i+1, "a single `}` in an f-string", "a brace itself is written `}}`")
		case c == '{':
			flush()
			colon, end := fieldEnd(s, i+1)
			if end < 0 {
				return nil, bad(i, i+1, "this `{` is never closed in the f-string", "add `}` behind the expression; a brace itself is written `{{`")
			}
			stop := end
			if colon >= 0 {
				stop = colon
			}
			part := FPart{}
			if strings.TrimSpace(s[i+1:stop]) == "" {
				return nil, bad(i, end+1, "there is nothing between the braces", "a brace itself is written `{{`")
			}
			var err error
			if part.X, err = p.embedded(s[i+1:stop], base+i+1); err != nil {
				return nil, err
			}
			height = max(height, p.height)
			if colon >= 0 {
				part.Format = s[colon+1 : end]
			}
			out.Parts = append(out.Parts, part)
			i = end + 1
		default:
			n := strings.IndexAny(s[i:], "{}")
			if n < 0 {
				n = len(s) - i
			}
			// \{ is an escape that does not exist: it must not end the text in front of it
			if n > 0 && s[i+n-1] == '\\' && oddBackslashes(s[i:i+n]) && i+n < len(s) {
				return nil, bad(i+n-1, i+n+1, "unknown escape `\\"+s[i+n:i+n+1]+"` in a string", "a brace itself is written `{{` or `}}`")
			}
			v, f := unescape(s[i : i+n])
			if f != nil {
				return nil, f.in(base + i)
			}
			text.WriteString(v)
			i += n
		}
	}
	flush()
	p.height = height
	if err := p.grow(0); err != nil {
		return nil, err
	}
	return out, nil
}

// oddBackslashes reports whether s ends with an odd number of backslashes.
func oddBackslashes(s string) bool {
	return (len(s)-len(strings.TrimRight(s, `\`)))%2 == 1
}

// fieldEnd finds the brace that closes the field whose inside begins at i, and the
// colon in front of its format: -1 when there is none.
func fieldEnd(s string, i int) (colon, end int) {
	colon = -1
	depth, braces := 0, 0
	for ; i < len(s); i++ {
		switch s[i] {
		case '(', '[':
			depth++
		case '{':
			if colon < 0 {
				braces++
			}
		case ')', ']':
			depth = max(depth-1, 0)
		case '}':
			if braces == 0 {
				return colon, i
			}
			braces--
		case ':':
			if depth == 0 && braces == 0 && colon < 0 {
				colon = i
			}
		}
	}
	return colon, -1
}

// embedded reads the expression text, which begins at offset base of the source.
func (p *exprParser) embedded(text string, base int) (Expr, error) {
	shift := func(m *mistake) *mistake {
		m.at = Span{m.at.Lo + int32(base), m.at.Hi + int32(base)}
		for i, l := range m.labels {
			m.labels[i].at = Span{l.at.Lo + int32(base), l.at.Hi + int32(base)}
		}
		for i, e := range m.edits {
			m.edits[i].at = Span{e.at.Lo + int32(base), e.at.Hi + int32(base)}
		}
		return m
	}
	s := scan(text)
	s.layout()
	if len(s.mistakes) > 0 {
		m := shift(s.mistakes[0])
		if len(m.edits) == 0 {
			m.help = nil // it speaks of lines
		}
		if strings.Contains(m.msg, "`!`") && len(text) > 1 && text[len(text)-2] == '!' { // {x!r}
			m.edits, m.help = nil, nil
			m.msg = "unexpected `!`: an f-string has no conversions"
			m.hint("the text of a value is `str(x)`; a format follows `:`, as in `{x:.3f}`")
		}
		return nil, m
	}
	if len(s.comments) > 0 {
		return nil, shift(&mistake{code: "E0101", at: s.comments[0].Span, msg: "a comment inside an f-string"})
	}
	for i := range s.toks {
		if s.isFold(i) {
			return nil, shift(misplacedFold(s.toks[i], s.text))
		}
	}
	for i := range s.toks {
		s.toks[i].lo += int32(base)
		s.toks[i].hi += int32(base)
	}
	l, err := lexer.Upgrade(&sliceLexer{text: text, shift: int32(base), toks: s.toks, end: int32(base + len(text))})
	if err != nil {
		return nil, err
	}
	if !startsExpr(l.Peek()) {
		return nil, unexpected(l.Peek(), "an expression")
	}
	in := exprParser{lex: peeking{l}, depth: p.depth}
	if err := in.enter(); err != nil {
		return nil, err
	}
	x, err := in.expr()
	if err != nil {
		return nil, embeddedEnd(err)
	}
	if t := l.Peek(); t.Type != tokEOF {
		return nil, unexpected(t, "an operator", "`:`", "`}`")
	}
	p.height = in.height
	return x, nil
}

// embeddedEnd words an error at the end of an embedded expression: the file goes on.
func embeddedEnd(err error) error {
	if m, ok := err.(*mistake); ok && m.got != nil && m.got.Type == tokEOF {
		m.msg = strings.Replace(m.msg, "end of file", "end of the expression", 1)
		m.got = nil
	}
	return err
}
