package token

// Habits of single signs, quotes and comments, which the scanner meets.

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/starpush/starpush/lang/vocab"
)

// signHabit is what is written instead of a sign that no token begins with.
type signHabit struct {
	says string // behind "unexpected …: "
	word string // to write in its place; "" when more has to change
}

var signHabits = map[rune]signHabit{
	'–': {"the minus is written `-`", "-"}, '—': {"the minus is written `-`", "-"}, '−': {"the minus is written `-`", "-"},
	'×': {"the product is written `*`", "*"}, '·': {"the product is written `*`", "*"}, '÷': {"the quotient is written `/`", "/"},
	'≤': {"at most is written `<=`", "<="}, '≥': {"at least is written `>=`", ">="}, '≠': {"unequal is written `!=`", "!="}, '…': {"a range is written `a..b`", ".."},
	'→':      {"the type of the result follows `->`", "->"},
	'$':      {"names have letters, digits and `_`", ""},
	'\\':     {"there is no backslash continuation: break the line inside brackets or after an operator", ""},
	'\u00a0': {"this is a blank that does not break lines", " "}, '\u3000': {"this is a wide blank", " "}, '，': {"the comma is written `,`", ","}, '（': {"the bracket is written `(`", "("}, '）': {"the bracket is written `)`", ")"},
}

// habit says of the sign r in the bytes [lo, hi) what is written instead.
func (s *Scanner) habit(m *Mistake, r rune, lo, hi int) {
	h, ok := signHabits[r]
	at := Span{int32(lo), int32(hi)}
	switch text := s.Text[lo:hi]; {
	case text == "&&":
		h, ok = signHabit{"conditions are joined by `and`", "and"}, true
	case text == "||":
		h, ok = signHabit{"conditions are joined by `or`", "or"}, true
	case r == '&':
		m.Msg += ": there are no pointers"
		m.Hint("data is passed by its name and a mode, as in `insert f(RW x)`")
		return
	}
	if !ok {
		return
	}
	m.Msg += ": " + h.says
	m.Sure = r != '…' && r != '$' || hi-lo > 1
	switch word := h.word; {
	case r == '\\':
	case r == '$' && hi < s.end && s.Text[hi] == '"':
		m.Msg = "unexpected `$`: text with values in it begins with `f`"
		m.Hint("write `f`").Edit(at, "f").Certain()
	case r == '$':
		m.Hint("leave the `$` out").Edit(at, "")
	case word == " ":
		m.Hint("write a plain blank").Edit(at, word)
	default:
		m.Hint("write `%s`", word)
		if isLetter(word[0]) {
			word = s.spaced(lo, hi, word)
		}
		m.Edit(at, word)
	}
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// spaced puts blanks around word where there are none around the bytes [lo, hi).
func (s *Scanner) spaced(lo, hi int, word string) string {
	if lo > 0 && !strings.ContainsRune(" \t\n", rune(s.Text[lo-1])) {
		word = " " + word
	}
	if hi < s.end && !strings.ContainsRune(" \t\n", rune(s.Text[hi])) {
		word += " "
	}
	return word
}

// maxQuoted bounds how far the end of a text in other quotes is looked for.
const maxQuoted = 4096

// opensText reports whether the ' in front of line begins a text, as in r'a': no sign of
// the transpose touches a word.
func opensText(line string) bool {
	r, _ := utf8.DecodeRuneInString(line)
	return (unicode.IsLetter(r) || unicode.IsDigit(r)) && strings.Contains(line, "'")
}

// quoted reports a text in quotes of another kind, which begins at lo with the quote
// at pos; f says that an f comes before it.
func (s *Scanner) quoted(lo int, f bool) {
	quote, n := utf8.DecodeRuneInString(s.Text[s.pos:s.end])
	closing := quote
	switch quote {
	case '“', '„':
		closing = '”'
	case '‘':
		closing = '’'
	case '«':
		closing = '»'
	}
	open := s.pos
	s.pos += n
	line, _, _ := strings.Cut(s.Text[s.pos:min(s.end, s.pos+maxQuoted)], "\n")
	if quote == '\'' && lo > 0 && IsDigit(s.Text[lo-1]) && len(line) > 0 && IsDigit(line[0]) { // 1'000
		for s.pos < s.end && (IsDigit(s.Text[s.pos]) || s.Text[s.pos] == '\'') {
			s.pos++
		}
		s.Tokens = append(s.Tokens, Token{Kind: Bad, Lo: int32(lo), Hi: int32(s.pos)})
		group := strings.ReplaceAll(s.Text[lo:s.pos], "'", "_")
		s.errorf(lo, s.pos, "E0106", "unexpected `'`: digits are grouped by `_`").Hint("write `%s`", group).Edit(Span{int32(lo), int32(s.pos)}, group).Certain()
		return
	}
	if n := len(s.Tokens) - 1; quote == '\'' && !f && n >= 0 && int(s.Tokens[n].Hi) == lo && s.Tokens[n].Kind != Bad && operandEnd(s.Text, s.Tokens[n]) && !opensText(line) { // A'
		s.Tokens = append(s.Tokens, Token{Kind: Bad, Lo: int32(lo), Hi: int32(s.pos)})
		s.errorf(lo, s.pos, "E0101", "unexpected `'`: there is no sign for the transpose").
			Hint("`import \"std/blas\" as blas`, then `insert blas.transpose(R A, W B)`; `blas.gemm` takes transposed operands, too")
		return
	}
	end, doubled := -1, -1 // doubled: the second of two quotes that stand for one
	for i, r := range line {
		if (r == closing || quote == '“' && r == '“') && (i == 0 || line[i-1] != '\\') {
			if quote == '\'' && i > 0 && i != doubled && strings.HasPrefix(line[i+1:], "'") && strings.Count(line[i+2:], "'")%2 == 1 { // 'it''s'
				doubled = i + 1
			}
			if i == doubled || i+1 == doubled {
				continue
			}
			end = i
			s.pos += i + utf8.RuneLen(r)
			break
		}
	}
	s.Tokens = append(s.Tokens, Token{Kind: Bad, Lo: int32(lo), Hi: int32(s.pos)})
	m := s.errorf(lo, s.pos, "E0101", "unexpected `%s`: strings are written in straight double quotes", Clip(s.Text[lo:s.pos]))
	if end < 0 {
		m.Hint("write `\"text\"`")
		return
	}
	inside := strings.ReplaceAll(s.Text[open+n:open+n+end], `\'`, `'`)
	if doubled >= 0 {
		inside = strings.ReplaceAll(inside, "''", "'")
	}
	if quote == '`' && strings.Contains(inside, "${") && !f { // a template
		f, inside = true, strings.ReplaceAll(inside, "${", "{")
	}
	if f && strings.Contains(inside, `"`) {
		m.Hint("write `f\"text {x}\"`, without a `\"` inside the braces")
		return
	}
	right := `"` + strings.ReplaceAll(strings.ReplaceAll(inside, `\"`, `"`), `"`, `\"`) + `"`
	if f {
		right = "f" + right
	}
	m.Hint("write `%s`", ClipTo(right, 60)).Edit(Span{int32(lo), int32(s.pos)}, right).Certain()
}

// tripled reports a text in three quotes, which begins at lo.
func (s *Scanner) tripled(lo int) {
	n := strings.Index(s.Text[s.pos+3:s.end], `"""`)
	if n < 0 {
		s.pos += 3
		s.Tokens = append(s.Tokens, Token{Kind: Bad, Lo: int32(lo), Hi: int32(s.pos)})
		s.errorf(lo, s.pos, "E0102", "unexpected `\"\"\"`: a string is written in one pair of quotes").Hint("write `\"text\"`, with `\\n` for a new line")
		return
	}
	inside := s.Text[s.pos+3 : s.pos+3+n]
	s.pos += n + 6
	doc := len(s.Tokens) == 0 || s.Tokens[len(s.Tokens)-1].Kind == NL
	s.Tokens = append(s.Tokens, Token{Kind: Bad, Lo: int32(lo), Hi: int32(s.pos)})
	m := s.errorf(lo, lo+3, "E0101", "unexpected `\"\"\"`: a string is written in one pair of quotes")
	at := Span{int32(lo), int32(s.pos)}
	rest, _, _ := strings.Cut(s.Text[s.pos:s.end], "\n")
	switch {
	case doc && strings.TrimSpace(rest) == "": // a documentation string
		m.Msg = "unexpected `\"\"\"`: documentation is written in comments"
		var lines []string
		for _, l := range strings.Split(strings.TrimSpace(inside), "\n") {
			lines = append(lines, strings.TrimRight("# "+strings.TrimSpace(l), " "))
		}
		m.Hint("write `# %s`; `##` in front of a declaration is its documentation", ClipTo(strings.TrimSpace(strings.SplitN(strings.TrimSpace(inside), "\n", 2)[0]), 40))
		m.Certain().Edit(at, strings.Join(lines, "\n"+strings.Repeat(" ", s.indent(int32(lo)))))
	default:
		right := strconv.Quote(inside)
		m.Hint("write `%s`", ClipTo(right, 60)).Edit(at, right).Certain()
	}
}

var (
	prose     = regexp.MustCompile(`^[ \t]*(\pL[\pL\pN_]*|[0-9]+)(?:[ \t]+|:[ \t]|'|-)(\pL[\pL\pN_]*)?`)
	notOperat = WordSet("true", "false", "none", "not", "if", "insert")
)

// isProse reports whether the rest of a line behind // or -- reads like a comment, and
// like no operand: two words, or a word that begins a statement.
func isProse(rest string) bool {
	m := prose.FindStringSubmatch(rest)
	if m == nil {
		first, _, _ := strings.Cut(strings.TrimLeft(rest, " \t"), " ")
		return Reserved[first] && !notOperat[first]
	}
	first, second := m[1], m[2]
	if Reserved[first] {
		return !notOperat[first]
	}
	return second != "" && !Reserved[second] && vocab.OperatorWords[second] == "" && !FoldWords[first] && !strings.Contains(m[0], "-")
}

// foreignComment reports a comment of another language at pos, which sign begins, and
// passes over it; false when it is none. At most one message says so, with an edit
// for each comment.
func (s *Scanner) foreignComment(sign string) bool {
	lo := s.pos
	starts := len(s.Tokens) == 0 || s.Tokens[len(s.Tokens)-1].Kind == NL && s.Text[s.Tokens[len(s.Tokens)-1].Lo] == '\n'
	line := s.Text[min(s.end, lo+len(sign)):min(s.end, lo+200)]
	line, _, _ = strings.Cut(line, "\n")
	at := Span{int32(lo), int32(lo + len(sign))}
	switch sign {
	case "//":
		if !(starts && s.depth == 0) && !isProse(line) {
			return false
		}
	case "--", "%":
		if s.depth > 0 || !isProse(line) && !(starts && s.alone(lo, line)) {
			return false
		}
		if !starts && sign == "--" && !(strings.HasPrefix(line, " ") && s.Text[lo-1] == ' ') { // x --y z
			return false
		}
		if first := prose.FindStringSubmatch(line); !starts && sign == "%" && first != nil && (IsDigit(first[1][0]) || s.named(first[1])) {
			return false // n % 2 …, n % k …
		}
	case "/*":
		s.commentOfC(lo)
		return true
	}
	if s.comment1 == nil {
		s.comment1 = s.errorf(lo, lo+len(sign), "E0101", "unexpected `%s`: comments start with `#`", sign).Hint("write `#`").Certain()
	}
	s.comment1.Edit(at, "#")
	line, _, _ = strings.Cut(s.Text[lo:s.end], "\n")
	s.pos += len(line)
	return true
}

// alone reports whether what begins at lo with the sign of a comment, with the rest of
// its line behind the sign, can be no operator that continues the line above: it is
// indented no deeper, and a blank or nothing follows.
func (s *Scanner) alone(lo int, rest string) bool {
	if rest != "" && !strings.ContainsRune(" \t-%", rune(rest[0])) {
		return false
	}
	return len(s.Tokens) < 2 || s.indent(int32(lo)) <= s.indent(s.Tokens[len(s.Tokens)-2].Lo)
}

// commentOfC is foreignComment for /* … */.
func (s *Scanner) commentOfC(lo int) {
	if s.comment1 == nil {
		s.comment1 = s.errorf(lo, lo+2, "E0101", "unexpected `/*`: comments start with `#`").Hint("write `#` at the start of each line of the comment").Certain()
	}
	n := -1
	if !s.endless {
		n = strings.Index(s.Text[lo+2:s.end], "*/")
	}
	if n < 0 {
		s.endless = true
		line, _, _ := strings.Cut(s.Text[lo:s.end], "\n")
		s.pos += len(line)
		s.comment1.Guessed().Edit(Span{int32(lo), int32(lo + 2)}, "#")
		return
	}
	end := lo + 2 + n + 2
	s.pos = end
	rest, _, _ := strings.Cut(s.Text[end:s.end], "\n")
	if strings.TrimSpace(rest) != "" {
		s.comment1.Guessed()
		return // code behind it: no edit
	}
	var lines []string
	for i, l := range strings.Split(s.Text[lo+2:end-2], "\n") {
		l = strings.TrimSpace(l)
		if i > 0 {
			l = strings.TrimSpace(strings.TrimPrefix(l, "*"))
		}
		lines = append(lines, strings.TrimRight("# "+strings.TrimLeft(l, "*"), " "))
	}
	for len(lines) > 1 && lines[len(lines)-1] == "#" {
		lines = lines[:len(lines)-1]
	}
	if len(lines) > 1 && lines[0] == "#" {
		lines = lines[1:]
	}
	s.comment1.Edit(Span{int32(lo), int32(end)}, strings.Join(lines, "\n"+strings.Repeat(" ", s.indent(int32(lo)))))
}
