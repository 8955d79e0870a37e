package syntax

// Literals: the values of numbers and strings, and the expressions in f-strings.

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/participle/v2/lexer"
	"github.com/starpush/starpush/lang/syntax/token"
)

// Whole is the int that x is, as text; "" when it has a fraction, or more digits than a
// float keeps.
func (x *FloatLit) Whole() string {
	if x.Value != math.Trunc(x.Value) || math.Abs(x.Value) > 1<<53 {
		return ""
	}
	return strconv.FormatInt(int64(x.Value), 10)
}

// floatValue is the value of a float literal; ok is false when it is too large.
func floatValue(text string) (float64, bool) {
	if strings.IndexByte(text, '_') >= 0 {
		text = strings.ReplaceAll(text, "_", "")
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil && !math.IsInf(v, 0)
}

// fault is a mistake inside a literal: where, from its first byte, and what.
type fault struct {
	lo, hi    int
	msg, help string
}

// unescape gives the value of the inside of a string, with Go's escapes.
func unescape(s string) (string, *fault) {
	if strings.IndexByte(s, '\\') < 0 {
		return s, nil
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			n := strings.IndexByte(s[i:], '\\')
			if n < 0 {
				n = len(s) - i
			}
			b.WriteString(s[i : i+n])
			i += n
			continue
		}
		r, multibyte, tail, err := strconv.UnquoteChar(s[i:], '"')
		if err != nil {
			_, n := utf8.DecodeRuneInString(s[min(i+1, len(s)):])
			f := &fault{lo: i, hi: i + 1 + n, msg: "unknown escape `" + s[i:i+1+n] + "` in a string",
				help: "a backslash itself is written `\\\\`"}
			if n == 1 && strings.IndexByte("xuU01234567", s[i+1]) >= 0 {
				f.msg, f.help = "bad escape `"+s[i:i+1+n]+"` in a string", "write `\\x41`, `\\u00e9`, `\\U0001f600` or `\\101`, with all digits"
			}
			return "", f
		}
		if multibyte || r < utf8.RuneSelf {
			b.WriteRune(r)
		} else {
			b.WriteByte(byte(r))
		}
		i = len(s) - len(tail)
	}
	return b.String(), nil
}

// f-strings: text, and expressions in braces with an optional format.

// fstring makes the node of the token t, which is f"…".
func (p *exprParser) fstring(t *lexer.Token) (Expr, error) {
	base := t.Pos.Offset
	out := &FString{exprNode: exprNode{Span: token.SpanOf(t)}, Text: t.Value}
	s := t.Value[:len(t.Value)-1]
	bad := func(lo, hi int, msg string, help ...string) error {
		return &token.Mistake{Code: "E0106", At: Span{Lo: int32(base + lo), Hi: int32(base + hi)}, Msg: msg, Help: help}
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
			colon, end := token.FieldEnd(s, i+1)
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

// embedded reads the expression text, which begins at offset base of the source.
func (p *exprParser) embedded(text string, base int) (Expr, error) {
	shift := func(m *token.Mistake) *token.Mistake {
		m.At = Span{Lo: m.At.Lo + int32(base), Hi: m.At.Hi + int32(base)}
		for i, l := range m.Labels {
			m.Labels[i].At = Span{Lo: l.At.Lo + int32(base), Hi: l.At.Hi + int32(base)}
		}
		for i, e := range m.Edits {
			m.Edits[i].At = Span{Lo: e.At.Lo + int32(base), Hi: e.At.Hi + int32(base)}
		}
		return m
	}
	s := token.Scan(text)
	s.Layout()
	if len(s.Mistakes) > 0 {
		m := shift(s.Mistakes[0])
		if len(m.Edits) == 0 {
			m.Help = nil // it speaks of lines
		}
		if strings.Contains(m.Msg, "`!`") && len(text) > 1 && text[len(text)-2] == '!' { // {x!r}
			m.Edits, m.Help = nil, nil
			m.Msg = "unexpected `!`: an f-string has no conversions"
			m.Hint("the text of a value is `str(x)`; a format follows `:`, as in `{x:.3f}`")
		}
		return nil, m
	}
	if len(s.Comments) > 0 {
		return nil, shift(&token.Mistake{Code: "E0101", At: s.Comments[0].Span, Msg: "a comment inside an f-string"})
	}
	for i := range s.Tokens {
		if s.IsFold(i) {
			return nil, shift(misplacedFold(s.Tokens[i], s.Text))
		}
	}
	for i := range s.Tokens {
		s.Tokens[i].Lo += int32(base)
		s.Tokens[i].Hi += int32(base)
	}
	l, err := lexer.Upgrade(&token.Lexer{Text: text, Shift: int32(base), Tokens: s.Tokens, End: int32(base + len(text))})
	if err != nil {
		return nil, err
	}
	if !token.StartsExpr(l.Peek()) {
		return nil, token.Unexpected(l.Peek(), "an expression")
	}
	in := exprParser{lex: peeking{l}, depth: p.depth}
	if err := in.enter(); err != nil {
		return nil, err
	}
	x, err := in.expr()
	if err != nil {
		return nil, embeddedEnd(err)
	}
	if t := l.Peek(); t.Type != token.EOF {
		return nil, token.Unexpected(t, "an operator", "`:`", "`}`")
	}
	p.height = in.height
	return x, nil
}

// embeddedEnd words an error at the end of an embedded expression: the file goes on.
func embeddedEnd(err error) error {
	if m, ok := err.(*token.Mistake); ok && m.Got != nil && m.Got.Type == token.EOF {
		m.Msg = strings.Replace(m.Msg, "end of file", "end of the expression", 1)
		m.Got = nil
	}
	return err
}
