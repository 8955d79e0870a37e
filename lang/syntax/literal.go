package syntax

// Literals: the shape of numbers, and the values of numbers and strings.

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/alecthomas/participle/v2/lexer"
)

// suffixes are the binary multiples of integers.
var suffixes = map[string]uint{"Ki": 10, "Mi": 20, "Gi": 30}

// number scans an integer or a float. What is no number, but starts like one, is
// taken as a whole and reported.
func (s *scanner) number() {
	lo := s.pos
	digits := func(ok func(byte) bool) {
		for s.pos < s.end && (ok(s.text[s.pos]) || s.text[s.pos] == '_') {
			s.pos++
		}
	}
	at := func(i int) byte {
		if s.pos+i < s.end {
			return s.text[s.pos+i]
		}
		return 0
	}
	kind := int8(tokInt)
	if at(0) == '0' && at(1)|0x20 == 'x' {
		s.pos += 2
		digits(isHex)
	} else {
		digits(isDigit)
		if at(0) == '.' && isDigit(at(1)) {
			kind = tokFloat
			s.pos++
			digits(isDigit)
		}
		if at(0)|0x20 == 'e' && (isDigit(at(1)) || (at(1) == '+' || at(1) == '-') && isDigit(at(2))) {
			kind = tokFloat
			s.pos += 2
			digits(isDigit)
		}
	}
	digitsEnd := s.pos
	for s.pos < s.end {
		c := s.text[s.pos]
		if c < utf8.RuneSelf {
			if c != '_' && !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'z') {
				break
			}
			s.pos++
			continue
		}
		r, n := utf8.DecodeRuneInString(s.text[s.pos:s.end])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			break
		}
		s.pos += n
	}
	text := s.text[lo:s.pos]
	tail := s.text[digitsEnd:s.pos]
	if s.barePoint(lo, text, tail) {
		return
	}
	if why, help, meant := numberFault(text, tail, kind == tokFloat); why != "" {
		s.emit(tokBad, lo)
		r := s.errorf(lo, s.pos, "E0106", "`%s` is not a number", text).labelled("%s", why)
		at := Span{int32(lo), int32(s.pos)}
		switch group := s.digitsBefore(lo); {
		case group != "" && len(text) == 3 && tail == "" && kind == tokInt: // 1,000
			r.hint("digits are grouped by `_`: `%s_%s`", group, text).edit(Span{at.Lo - 1, at.Lo}, "_").certain()
		case meant != "":
			if help != "" {
				r.hint("%s", help).edit(at, meant)
			} else {
				r.meant(at, meant)
			}
			r.sure = !twoReadings(text, tail, meant)
		case help != "":
			r.hint("%s", help)
		case sizesTail.MatchString(tail) && kind == tokInt && s.depth > 0 && !s.named(tail):
			right := text[:len(text)-len(tail)] + ", " + tail[1:]
			if r.hint("sizes are separated by commas: `%s`", right).edit(at, right); s.inSizes() {
				r.certain()
			}
		case productTail.MatchString(tail):
			s.product(r, text[:len(text)-len(tail)], tail, at)
		}
		return
	}
	s.emit(kind, lo)
}

// exponent is what may follow the point of a float of C: 1.e3, 1.f, and 1. alone.
var exponent = regexp.MustCompile(`^\.(?:([eE][+-]?[0-9]+)|[fFdD])?(?:[^\pL\pN_.]|$)`)

// barePoint reports a float without a digit on one side of its point: .5, 5. and 5.e3.
// Its digits, text, begin at lo and end with tail.
func (s *scanner) barePoint(lo int, text, tail string) bool {
	hi, meant := s.pos, ""
	n := len(s.toks) - 1
	behind := func(i int) bool { return i >= 0 && int(s.toks[i].hi) == lo-1 }
	switch m := exponent.FindStringSubmatch(s.text[hi:min(s.end, hi+maxExponent)]); {
	case n >= 0 && s.toks[n].text(s.text) == "." && int(s.toks[n].hi) == lo && !(behind(n-1) && (s.operandEnd(s.toks[n-1]) || s.toks[n-1].text(s.text) == "..")):
		meant = "0." + text[:len(text)-len(tail)]
		s.toks = s.toks[:n]
		lo--
	case m != nil && tail == "" && strings.Trim(text, "0123456789_") == "":
		meant = text
		if t := strings.TrimLeft(text, "0"); len(t) < len(text) {
			meant = map[bool]string{true: t, false: "0"}[t != ""]
		}
		meant += ".0" + m[1]
		if hi += len(".") + len(m[1]); m[1] == "" && hi < s.end && isLetter(s.text[hi]) {
			hi++
		}
	default:
		return false
	}
	s.pos = hi
	s.emit(tokBad, lo)
	r := s.errorf(lo, hi, "E0106", "`%s` is not a number", s.text[lo:hi]).labelled("a float has a digit on both sides of the point")
	r.hint("write `%s`", meant).edit(Span{int32(lo), int32(hi)}, meant).certain()
	return true
}

// maxExponent is how far the exponent behind a point is looked for.
const maxExponent = 8

// twoReadings reports whether a number may be another one where it is written so: 010 is 8
// in C, and 4k 4000.
func twoReadings(text, tail, meant string) bool {
	if octal, err := strconv.ParseUint(text, 8, 63); err == nil && text[0] == '0' {
		decimal, _ := strconv.ParseUint(meant, 10, 63)
		return octal != decimal
	}
	return strings.HasSuffix(meant, "i") && !strings.ContainsAny(tail, "iI")
}

// productTail are the names that a product such as 2x ends with: no exponents.
var productTail = regexp.MustCompile(`^[\pL_][\pL\pN_]*$`)

// sizesTail is the second size in 100x100.
var sizesTail = regexp.MustCompile(`^x[0-9]+$`)

// product adds to m, about 2x, that a product has its sign, if x is a name: one letter,
// or one that was met before.
func (s *scanner) product(m *mistake, number, name string, at Span) {
	known := s.named(name)
	if !known && len(name) > 1 || name == "e" || name == "E" || strings.HasPrefix(strings.ToLower(number), "0x") {
		return
	}
	m.hint("a product is written `%s * %s`", number, name).edit(at, number+" * "+name)
	if n := len(s.toks) - 2; known && !(n >= 0 && dividing[s.toks[n].text(s.text)]) { // y / 2x may be y / (2 * x)
		m.certain()
	}
}

// dividing are the operators that take only the number in front of a product.
var dividing = wordSet("/", "//", "%", "**")

// named reports whether the name was met before, not too long ago.
func (s *scanner) named(name string) bool {
	return len(s.mistakes) < maxErrors && slices.ContainsFunc(s.toks[max(0, len(s.toks)-maxNamed):], func(t token) bool { return t.kind == tokIdent && t.text(s.text) == name })
}

// inSizes reports whether the innermost bracket here is that of a constructor or filter.
func (s *scanner) inSizes() bool {
	depth := 0
	for i := len(s.toks) - 1; i > 0 && s.toks[i].kind != tokNL; i-- {
		switch t := s.toks[i]; t.text(s.text) {
		case ")", "]":
			depth++
		case "[":
			depth--
		case "(":
			if depth--; depth < 0 {
				before := s.toks[i-1].text(s.text)
				return before == "]" || filters[before] || constructors[before]
			}
		}
	}
	return false
}

// digitsBefore returns the digits in front of a comma at lo - 1, "" if there are none.
func (s *scanner) digitsBefore(lo int) string {
	if lo < 2 || s.text[lo-1] != ',' || !isDigit(s.text[lo-2]) {
		return ""
	}
	from := lo - 1
	for from > 0 && isDigit(s.text[from-1]) {
		from--
	}
	return s.text[from : lo-1]
}

// typeSuffixes are what other languages write behind numbers.
var typeSuffixes = wordSet("f", "d", "u", "l", "ul", "ll", "ull", "n", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64")

// units are the sizes that other notations mean by a suffix.
var units = map[string]string{"k": "Ki", "m": "Mi", "g": "Gi", "kb": "Ki", "mb": "Mi", "gb": "Gi", "ki": "Ki", "mi": "Mi", "gi": "Gi", "kib": "Ki", "mib": "Mi", "gib": "Gi"}

// numberFault says what is wrong with the shape of a number, "" when nothing is, and
// which number was meant; tail is what follows the digits.
func numberFault(text, tail string, float bool) (why, help, meant string) {
	body := strings.TrimSuffix(text, tail)
	_, suffix := suffixes[tail]
	switch {
	case strings.EqualFold(body, "0x") && tail == "":
		return "no digits after `0x`", "", ""
	case suffix && !float && !strings.EqualFold(body[:min(2, len(body))], "0x"):
	case suffix && float:
		return "only integers take `" + tail + "`", "", ""
	case tail != "":
		hex := strings.EqualFold(body[:min(2, len(body))], "0x")
		if suffix {
			return "only decimal integers take `" + tail + "`", "", ""
		}
		lower := strings.ToLower(tail)
		switch {
		case strings.HasPrefix(text, "0b"), strings.HasPrefix(text, "0o"):
			help = "integers are decimal or hexadecimal (`0xff`)"
			base := map[byte]int{'b': 2, 'o': 8}[text[1]]
			if v, err := strconv.ParseUint(strings.ReplaceAll(text[2:], "_", ""), base, 63); err == nil {
				help += fmt.Sprintf(": `0x%x`", v)
				meant = fmt.Sprintf("0x%x", v)
			}
		case hex:
		case typeSuffixes[lower]:
			meant = body
			if !float && strings.ContainsAny(lower[:1], "fd") { // 3f is no whole number
				meant += ".0"
			}
			help = "a number has no suffix for its type: write `" + meant + "`"
		case units[lower] != "" && !float:
			meant = body + units[lower]
		case units[lower] != "":
			help = "only integers take `" + units[lower] + "`"
		}
		return "unexpected `" + tail + "` after the digits", help, meant
	}
	if strings.Contains(body, "__") || strings.HasSuffix(body, "_") || strings.Contains(body, "_.") || strings.Contains(body, "._") ||
		strings.Contains(body, "_e") || strings.Contains(body, "_E") || strings.Contains(body, "x_") || strings.Contains(body, "X_") {
		return "`_` is only allowed between two digits", "", ""
	}
	if !float && len(body) > 1 && body[0] == '0' && body[1]|0x20 != 'x' {
		if n := strings.TrimLeft(body, "0_"); n != "" {
			meant = n
		} else {
			meant = "0"
		}
		return "a decimal number does not begin with 0", "write `" + meant + "`", meant
	}
	return "", "", ""
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

// intValue is the magnitude of an integer literal; ok is false above 2^63.
func intValue(text string) (v uint64, ok bool) {
	shift := uint(0)
	if n := len(text); n > 2 && text[n-1] == 'i' {
		shift = suffixes[text[n-2:]]
		text = text[:n-2]
	}
	base := uint64(10)
	if len(text) > 2 && text[1]|0x20 == 'x' {
		base, text = 16, text[2:]
	}
	const limit = uint64(1) << 63
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '_' {
			continue
		}
		d := uint64(c - '0')
		if c > '9' {
			d = uint64(c|0x20-'a') + 10
		}
		if v > (limit-d)/base {
			return 0, false
		}
		v = v*base + d
	}
	if v > limit>>shift {
		return 0, false
	}
	return v << shift, true
}

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

// verb is a place for a value in a format of C, Go or Python, or a brace.
var verb = regexp.MustCompile(`%%|%([-+ 0#]*)([0-9]*)(\.[0-9]+)?(?:hh|h|ll|l|z)?([a-zA-Z])|\{([0-9]*)(?::([^{}]*))?\}|[{}]`)

var verbOfC = regexp.MustCompile(`%[-+0#]*[0-9.]*(?:hh|h|ll|l|z)?[dDifFeEgGsvxXu](?:[^a-zA-Z]|$)`)

// IsFormat reports whether a text has verbs such as %d in it.
func IsFormat(text string) bool { return verbOfC.MatchString(text) }

// Interpolated writes a format of other languages, which is the text of a string
// literal, with values for its verbs %d or its fields {} as an f-string; "" when they
// do not fit together.
func Interpolated(literal string, args []string) string {
	text := strings.TrimPrefix(strings.TrimSuffix(literal, `"`), `"`)
	printf, used, ok := IsFormat(literal), 0, true
	field := func(i int, format string) string {
		if i >= len(args) || strings.ContainsAny(args[i], "\"{}\n") {
			ok = false
			return ""
		}
		used = max(used, i+1)
		if format != "" {
			return "{" + args[i] + ":" + format + "}"
		}
		return "{" + args[i] + "}"
	}
	next := 0
	out := verb.ReplaceAllStringFunc(text, func(s string) string {
		m := verb.FindStringSubmatch(s)
		switch {
		case s == "%%" && printf:
			return "%"
		case s[0] == '%' && printf:
			format := m[1] + m[2] + m[3] // flags, width and precision
			switch letter := m[4]; letter {
			case "f", "e", "E", "g", "G", "x", "X", "o", "c":
				format += letter
			case "F":
				format += "f"
			case "d", "i", "u":
				if format != "" {
					format += "d"
				}
			case "s", "v":
				if format != "" {
					format += "s"
				}
			default:
				ok = false
			}
			next++
			return field(next-1, format)
		case s[0] == '{' && len(s) > 1 && !printf:
			i := next
			if m[5] != "" {
				i, _ = strconv.Atoi(m[5])
			}
			next++
			if strings.ContainsAny(m[6], "<>^,") {
				ok = false
			}
			return field(i, m[6])
		case s == "{" || s == "}":
			return s + s
		case s[0] == '{':
			return "{" + s + "}"
		}
		return s
	})
	if !ok || used != len(args) || used == 0 {
		return ""
	}
	return `f"` + out + `"`
}

// WithoutNewline is a literal without the newline at its end, for print, which writes one.
func WithoutNewline(literal string) string {
	text, ok := strings.CutSuffix(literal, `\n"`)
	if before := strings.TrimRight(text, `\`); !ok || (len(text)-len(before))%2 == 1 { // "\\n"
		return literal
	}
	return text + `"`
}
