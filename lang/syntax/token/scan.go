package token

// Scanner: text to tokens and comments. It knows nothing of statements; newlines
// are tokens here, and the layout pass drops those that are white space.

import (
	"fmt"
	"regexp"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of a text.
const (
	maxSource = 64 << 20 // bytes
	MaxErrors = 100      // syntax errors reported in one run
)

// Scanner holds a text, its tokens and its comments.
type Scanner struct {
	List
	pos      int
	end      int
	Comments []Comment
	Mistakes []*Mistake

	badUTF8 bool // reported already
	lines   []int32
	missing int  // how many { have no }, by count
	forced  byte // the closing bracket whose partner was given up last
	AtEnd   bool // the layout pass met an open bracket at the end of the text

	closed [][2]int32 // the blocks read so far: where { and } stand

	depth    int      // of round and square brackets
	comment1 *Mistake // the first comment of another language
	endless  bool     // no */ follows
}

// Scan cuts text into tokens. The last token is EOF.
func Scan(text string) *Scanner {
	s := &Scanner{List: List{Text: text}, end: len(text)}
	if s.end > maxSource {
		s.errorf(0, 0, "E0107", "the script has %d MiB, and the limit is %d MiB", s.end>>20, maxSource>>20).
			Hint("move data into files and load them: `vector[f64](load = \"x.npy\")`")
		s.end = 0
	}
	s.Tokens = make([]Token, 0, s.end/3+2)
	if strings.HasPrefix(s.Text[:s.end], "\ufeff") {
		s.pos = len("\ufeff")
	}
	s.run()
	s.Tokens = append(s.Tokens, Token{Kind: EOF, Lo: int32(s.end), Hi: int32(s.end)})
	return s
}

// negatedFirst is what follows the ! of !a == b, where it is about a alone.
var negatedFirst = regexp.MustCompile(`^\s*[\pL_][\pL\pN_.]*(\[[^\]\n]*\])?\s*([=!]=|[<>])`)

// errorf reports a mistake in the bytes [lo, hi).
func (s *Scanner) errorf(lo, hi int, code, format string, args ...any) *Mistake {
	m := &Mistake{Code: code, At: Span{int32(lo), int32(hi)}, Msg: fmt.Sprintf(format, args...)}
	s.Mistakes = append(s.Mistakes, m)
	return m
}

// line is the number of the line of offset at.
func (s *Scanner) line(at int32) int {
	s.findLines()
	return sort.Search(len(s.lines), func(i int) bool { return s.lines[i] > at })
}

// findLines notes where the lines start, when it is first asked for one.
func (s *Scanner) findLines() {
	if s.lines != nil {
		return
	}
	s.lines = append(s.lines, 0)
	for i := 0; i < s.end; i++ {
		if s.Text[i] == '\n' {
			s.lines = append(s.lines, int32(i+1))
		}
	}
}

// indent is the number of bytes before the first word of the line of offset at.
func (s *Scanner) indent(at int32) int {
	lo := int(s.lines0(at))
	n := lo
	for n < s.end && (s.Text[n] == ' ' || s.Text[n] == '\t') {
		n++
	}
	return n - lo
}

// lines0 is the offset of the line of offset at.
func (s *Scanner) lines0(at int32) int32 { return s.lines[s.line(at)-1] }

func (s *Scanner) emit(kind int8, lo int) {
	s.Tokens = append(s.Tokens, Token{Kind: kind, Lo: int32(lo), Hi: int32(s.pos)})
}

// run scans from pos to end.
func (s *Scanner) run() {
	for s.pos < s.end {
		lo := s.pos
		c := s.Text[lo]
		switch {
		case c == ' ' || c == '\t':
			s.pos++
		case c == '\n':
			s.pos++
			s.emit(NL, lo)
		case c == '\r':
			s.pos++
			if s.pos >= s.end || s.Text[s.pos] != '\n' {
				s.errorf(lo, s.pos, "E0101", "unexpected carriage return (U+000D) without a newline").
					Hint("end lines with a newline, or with carriage return and newline")
			}
		case c == '#':
			s.comment()
		case c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z':
			if c == 'f' && lo+1 < s.end && s.Text[lo+1] == '"' {
				s.pos++
				s.str(lo, FString)
				break
			}
			if c == 'f' && lo+1 < s.end && s.Text[lo+1] == '\'' {
				s.pos++
				s.quoted(lo, true)
				break
			}
			s.word()
		case c >= '0' && c <= '9':
			s.number()
		case c == '"':
			if strings.HasPrefix(s.Text[lo:s.end], `"""`) {
				s.tripled(lo)
				break
			}
			s.str(lo, String)
		case c < utf8.RuneSelf:
			s.sign()
		default:
			r, n := utf8.DecodeRuneInString(s.Text[lo:s.end])
			if unicode.IsLetter(r) {
				s.word()
				break
			}
			s.pos += n
			s.strange(lo, r)
		}
	}
}

// comment scans from # to the end of the line.
func (s *Scanner) comment() {
	lo := s.pos
	hi := s.end
	if n := strings.IndexByte(s.Text[lo:s.end], '\n'); n >= 0 {
		hi = lo + n
	}
	s.pos = hi
	if hi > lo && s.Text[hi-1] == '\r' {
		hi--
	}
	s.checkUTF8(lo, hi)
	s.Comments = append(s.Comments, Comment{Span{int32(lo), int32(hi)}, s.Text[lo:hi]})
}

// word scans a name or a reserved word.
func (s *Scanner) word() {
	lo := s.pos
	for s.pos < s.end {
		c := s.Text[s.pos]
		if c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' {
			s.pos++
			continue
		}
		if c < utf8.RuneSelf {
			break
		}
		r, n := utf8.DecodeRuneInString(s.Text[s.pos:s.end])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r) && !unicode.Is(unicode.Mc, r) {
			break
		}
		s.pos += n
	}
	if s.pos-lo <= len("unpartition") && Reserved[s.Text[lo:s.pos]] {
		s.emit(Keyword, lo)
		return
	}
	s.emit(Ident, lo)
}

// sign scans an operator or bracket, longest first.
func (s *Scanner) sign() {
	lo := s.pos
	c := s.Text[lo]
	next := func(i int) byte {
		if lo+i < s.end {
			return s.Text[lo+i]
		}
		return 0
	}
	n, kind := 1, int8(Op)
	switch c {
	case '(', '[':
		s.depth++
	case ')', ']':
		s.depth = max(0, s.depth-1)
	case '{', '}', ',', ':', '@', '?':
	case '%':
		if s.foreignComment("%") {
			return
		}
	case ';':
		kind = NL
	case '.':
		if next(1) == '.' {
			n = 2
			if next(2) == '=' {
				n = 3
			}
		}
	case '=':
		kind = Assign
		if next(1) == '=' {
			n, kind = 2, Op
		}
	case '!':
		if next(1) != '=' {
			s.pos++
			if n := len(s.Tokens) - 1; next(1) == '(' && n >= 0 && s.Tokens[n].Kind == Ident && int(s.Tokens[n].Hi) == lo { // scale!(x)
				s.errorf(lo, s.pos, "E0101", "unexpected `!`: names have letters, digits and `_`").Hint("leave it out").Edit(Span{int32(lo), int32(s.pos)}, "").Certain()
				return
			}
			s.emit(Bad, lo)
			m := s.errorf(lo, s.pos, "E0101", "unexpected `!`: a condition is negated by `not`").Hint("write `not`").
				Edit(Span{int32(lo), int32(s.pos)}, "not"+strings.Repeat(" ", map[bool]int{true: 0, false: 1}[next(1) == ' ']))
			if m.Certain(); negatedFirst.MatchString(s.Text[s.pos:]) {
				m.Hint("`not` negates the whole comparison behind it; of its left side alone write `(not a)`").Guessed()
			}
			return
		}
		n = 2
	case '<', '>':
		switch {
		case next(1) == c && next(2) == '=':
			n, kind = 3, Assign
		case next(1) == '=', next(1) == c:
			n = 2
		}
	case '^', '~':
		if c == '^' && next(1) == '=' {
			n, kind = 2, Assign
		}
	case '&', '|':
		operand := len(s.Tokens) > 0 && operandEnd(s.Text, s.Tokens[len(s.Tokens)-1])
		if next(1) == c || c == '&' && !operand { // a && b, f(&x)
			s.pos++
			s.strange(lo, rune(c))
			return
		}
		if next(1) == '=' {
			n, kind = 2, Assign
		}
	case '+', '-', '*', '/':
		if c == '/' && (next(1) == '/' || next(1) == '*') || c == '-' && next(1) == '-' {
			if s.foreignComment(s.Text[lo : lo+2]) {
				return
			}
		}
		switch {
		case next(1) == '=':
			n, kind = 2, Assign
		case c == '-' && next(1) == '>', c == '*' && next(1) == '*', c == '/' && next(1) == '/':
			n = 2
		}
	default:
		s.pos++
		s.strange(lo, rune(c))
		return
	}
	s.pos += n
	s.emit(kind, lo)
}

// strange reports a character that no token begins with.
func (s *Scanner) strange(lo int, r rune) {
	if r == utf8.RuneError && s.pos-lo == 1 {
		s.reportUTF8(lo)
		s.emit(Bad, lo)
		return
	}
	switch r {
	case '\'', '`', '“', '”', '„', '‘', '’', '«', '»':
		s.pos = lo
		s.quoted(lo, false)
		return
	case '\\':
		rest := strings.TrimLeft(s.Text[s.pos:s.end], " \t\r")
		if strings.HasPrefix(rest, "\n") { // meant as a continuation: read it so
			s.pos = s.end - len(rest) + 1
		}
	}
	hi := min(s.pos, lo+len(strings.TrimRight(s.Text[lo:s.pos], " \t\r\n")))
	for s.pos < s.end && (s.Text[s.pos] == '&' || s.Text[s.pos] == '|') && rune(s.Text[s.pos]) == r {
		s.pos++
		hi = s.pos
	}
	s.Tokens = append(s.Tokens, Token{Kind: Bad, Lo: int32(lo), Hi: int32(hi)})
	name := "`" + Clip(s.Text[lo:hi]) + "`"
	if r < ' ' || r == 0x7f || !unicode.IsPrint(r) {
		name = "character " + fmt.Sprintf("U+%04X", r)
		if r == 0 {
			name += " (NUL)"
		}
	}
	s.habit(s.errorf(lo, hi, "E0101", "unexpected %s", name), r, lo, hi)
}

// str scans a string from its quote, which is at pos; lo is where the token begins.
func (s *Scanner) str(lo int, kind int8) {
	open := s.pos
	s.pos++
	for s.pos < s.end {
		switch c := s.Text[s.pos]; c {
		case '"':
			s.pos++
			if !s.checkUTF8(lo, s.pos) {
				kind = Bad
			}
			s.emit(kind, lo)
			return
		case '\\':
			if s.pos++; s.pos < s.end && s.Text[s.pos] != '\n' {
				s.pos++
			}
			continue
		case '\n':
		default:
			s.pos++
			continue
		}
		break
	}
	for s.pos > open+1 && s.Text[s.pos-1] == '\r' {
		s.pos--
	}
	s.emit(Bad, lo)
	s.Tokens[len(s.Tokens)-1].Open = true
	s.errorf(open, open+1, "E0102", "this string is never closed").Labelled("opened here").
		Hint("add `\"` at the end of line %d: a string stays on its line", s.line(int32(open))).Edit(Span{int32(s.pos), int32(s.pos)}, `"`)
}

// checkUTF8 reports the first invalid byte of [lo, hi).
func (s *Scanner) checkUTF8(lo, hi int) bool {
	for i := lo; i < hi; {
		if s.Text[i] < utf8.RuneSelf {
			if s.Text[i] == 0 {
				s.errorf(i, i+1, "E0101", "unexpected character U+0000 (NUL)")
				return false
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s.Text[i:hi])
		if r == utf8.RuneError && n == 1 {
			s.reportUTF8(i)
			return false
		}
		i += n
	}
	return true
}

// reportUTF8 reports an invalid byte, once for a text.
func (s *Scanner) reportUTF8(at int) {
	if s.badUTF8 {
		return
	}
	s.badUTF8 = true
	s.errorf(at, at+1, "E0101", "byte 0x%02x is not valid UTF-8", s.Text[at]).Hint("save the script as UTF-8")
}
