package token

// Numbers: their shape and value, and the fields of f-strings.

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/starpush/starpush/lang/vocab"
)

// suffixes are the binary multiples of integers.
var suffixes = map[string]uint{"Ki": 10, "Mi": 20, "Gi": 30}

// number scans an integer or a float. A word that starts like a
// number, but is none, is taken as a whole and reported.
func (s *Scanner) number() {
	lo := s.pos
	digits := func(ok func(byte) bool) {
		for s.pos < s.end && (ok(s.Text[s.pos]) || s.Text[s.pos] == '_') {
			s.pos++
		}
	}
	at := func(i int) byte {
		if s.pos+i < s.end {
			return s.Text[s.pos+i]
		}
		return 0
	}
	kind := int8(Int)
	if at(0) == '0' && at(1)|0x20 == 'x' {
		s.pos += 2
		digits(isHex)
	} else {
		digits(IsDigit)
		if at(0) == '.' && IsDigit(at(1)) {
			kind = Float
			s.pos++
			digits(IsDigit)
		}
		if at(0)|0x20 == 'e' && (IsDigit(at(1)) || (at(1) == '+' || at(1) == '-') && IsDigit(at(2))) {
			kind = Float
			s.pos += 2
			digits(IsDigit)
		}
	}
	digitsEnd := s.pos
	for s.pos < s.end {
		c := s.Text[s.pos]
		if c < utf8.RuneSelf {
			if c != '_' && !IsDigit(c) && (c|0x20 < 'a' || c|0x20 > 'z') {
				break
			}
			s.pos++
			continue
		}
		r, n := utf8.DecodeRuneInString(s.Text[s.pos:s.end])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			break
		}
		s.pos += n
	}
	text := s.Text[lo:s.pos]
	tail := s.Text[digitsEnd:s.pos]
	if s.barePoint(lo, text, tail) {
		return
	}
	if tail == "i" {
		kind = Float // an imaginary number
	}
	if why, help, meant := numberFault(text, tail, kind == Float); why != "" {
		s.emit(Bad, lo)
		r := s.errorf(lo, s.pos, "E0106", "`%s` is not a number", text).Labelled("%s", why)
		at := Span{int32(lo), int32(s.pos)}
		switch group := s.digitsBefore(lo); {
		case group != "" && len(text) == 3 && tail == "" && kind == Int: // 1,000
			r.Hint("digits are grouped by `_`: `%s_%s`", group, text).Edit(Span{at.Lo - 1, at.Lo}, "_").Certain()
		case meant != "":
			if help != "" {
				r.Hint("%s", help).Edit(at, meant)
			} else {
				r.Meant(at, meant)
			}
			r.Sure = !twoReadings(text, tail, meant)
		case help != "":
			r.Hint("%s", help)
		case sizesTail.MatchString(tail) && kind == Int && s.depth > 0 && !s.named(tail):
			right := text[:len(text)-len(tail)] + ", " + tail[1:]
			if r.Hint("sizes are separated by commas: `%s`", right).Edit(at, right); s.inSizes() {
				r.Certain()
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
func (s *Scanner) barePoint(lo int, text, tail string) bool {
	hi, meant := s.pos, ""
	n := len(s.Tokens) - 1
	behind := func(i int) bool { return i >= 0 && int(s.Tokens[i].Hi) == lo-1 }
	switch m := exponent.FindStringSubmatch(s.Text[hi:min(s.end, hi+maxExponent)]); {
	case n >= 0 && s.Tokens[n].Text(s.Text) == "." && int(s.Tokens[n].Hi) == lo && !(behind(n-1) && (operandEnd(s.Text, s.Tokens[n-1]) || s.Tokens[n-1].Text(s.Text) == "..")):
		meant = "0." + text[:len(text)-len(tail)]
		s.Tokens = s.Tokens[:n]
		lo--
	case m != nil && tail == "" && strings.Trim(text, "0123456789_") == "":
		meant = text
		if t := strings.TrimLeft(text, "0"); len(t) < len(text) {
			meant = map[bool]string{true: t, false: "0"}[t != ""]
		}
		meant += ".0" + m[1]
		if hi += len(".") + len(m[1]); m[1] == "" && hi < s.end && isLetter(s.Text[hi]) {
			hi++
		}
	default:
		return false
	}
	s.pos = hi
	s.emit(Bad, lo)
	r := s.errorf(lo, hi, "E0106", "`%s` is not a number", s.Text[lo:hi]).Labelled("a float has a digit on both sides of the point")
	r.Hint("write `%s`", meant).Edit(Span{int32(lo), int32(hi)}, meant).Certain()
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
func (s *Scanner) product(m *Mistake, number, name string, at Span) {
	known := s.named(name)
	if !known && len(name) > 1 || name == "e" || name == "E" || strings.HasPrefix(strings.ToLower(number), "0x") {
		return
	}
	m.Hint("a product is written `%s * %s`", number, name).Edit(at, number+" * "+name)
	if n := len(s.Tokens) - 2; known && !(n >= 0 && dividing[s.Tokens[n].Text(s.Text)]) { // y / 2x may be y / (2 * x)
		m.Certain()
	}
}

// dividing are the operators that take only the number in front of a product.
var dividing = WordSet("/", "//", "%", "**")

// named reports whether the name was met before, not too long ago.
func (s *Scanner) named(name string) bool {
	return len(s.Mistakes) < MaxErrors && slices.ContainsFunc(s.Tokens[max(0, len(s.Tokens)-MaxNamed):], func(t Token) bool { return t.Kind == Ident && t.Text(s.Text) == name })
}

// inSizes reports whether the innermost bracket here is that of a constructor or filter.
func (s *Scanner) inSizes() bool {
	depth := 0
	for i := len(s.Tokens) - 1; i > 0 && s.Tokens[i].Kind != NL; i-- {
		switch t := s.Tokens[i]; t.Text(s.Text) {
		case ")", "]":
			depth++
		case "[":
			depth--
		case "(":
			if depth--; depth < 0 {
				before := s.Tokens[i-1].Text(s.Text)
				return before == "]" || vocab.Filters[before] || vocab.Constructors[before]
			}
		}
	}
	return false
}

// digitsBefore returns the digits in front of a comma at lo - 1, "" if there are none.
func (s *Scanner) digitsBefore(lo int) string {
	if lo < 2 || s.Text[lo-1] != ',' || !IsDigit(s.Text[lo-2]) {
		return ""
	}
	from := lo - 1
	for from > 0 && IsDigit(s.Text[from-1]) {
		from--
	}
	return s.Text[from : lo-1]
}

// typeSuffixes are what other languages write behind numbers.
var typeSuffixes = WordSet("f", "d", "u", "l", "ul", "ll", "ull", "n", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64")

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
	case tail == "i" && !strings.EqualFold(body[:min(2, len(body))], "0x"):
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
		case lower == "j" || lower == "i" || lower == "im":
			meant = body + "i"
			help = "an imaginary number is written `" + meant + "`"
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

// IsDigit reports whether c is a decimal digit.
func IsDigit(c byte) bool { return c >= '0' && c <= '9' }

func isHex(c byte) bool { return IsDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

// IntValue is the magnitude of an integer literal; ok is false above 2^63.
func IntValue(text string) (v uint64, ok bool) {
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

// MaxNamed is the number of tokens in front of a word that are searched for a name.
const MaxNamed = 10_000

// Fields of f-strings.

// FieldEnd finds the brace that closes the field whose inside begins at i, and the
// colon in front of its format: -1 when there is none.
func FieldEnd(s string, i int) (colon, end int) {
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

// FieldAt finds the expression of the f-string s that offset lies in.
func FieldAt(s string, offset int) (lo, hi int, ok bool) {
	Fields(s, func(from, to int) bool {
		if offset >= from && offset <= to {
			lo, hi, ok = from, to, true
		}
		return offset > to
	})
	return lo, hi, ok
}

// Fields calls f with the place of each expression of the f-string s until f returns false.
func Fields(s string, f func(lo, hi int) bool) {
	for i := len(`f"`); i < len(s); {
		switch {
		case (s[i] == '{' || s[i] == '}') && i+1 < len(s) && s[i+1] == s[i]:
			i += 2
		case s[i] == '{':
			colon, end := FieldEnd(s, i+1)
			if end < 0 {
				return
			}
			stop := end
			if colon >= 0 {
				stop = colon
			}
			if !f(i+1, stop) {
				return
			}
			i = end + 1
		default:
			i++
		}
	}
}
