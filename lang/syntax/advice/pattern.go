package advice

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/starpush/starpush/lang/syntax/token"
	"github.com/starpush/starpush/lang/vocab"
)

// A rule is a row of a table: a pattern of tokens, and what a text with these tokens most
// likely means.
//
// A pattern is a list of elements with blanks between them:
//
//	wait =              a sign or a word; a|b is one of several
//	ID INT FLOAT STR    a token of this kind; KW a reserved word, ANY any token
//	MODE DATA ELEM …    a word of one of the classes below
//	X                   an expression, up to the sign or word that follows in the pattern; as
//	                    the first element, the expression that ends at the next element
//	X! X?               an expression that begins like one; an expression that may be missing
//	TYPE PATH           a type; names joined by points or slashes
//	UPTO                all tokens up to ^, except those of the elements between
//	… …+                all tokens inside the bracket that the pattern opened; at least one
//	LINE                all tokens up to the end of the statement, or to a word that follows
//	REST                all tokens up to the end of the statement, or of its head
//	END EOL NL          no token: the end of the statement, of the line, of both
//
// Signs in front of an element change it:
//
//	^    the element is the token that cannot be read; it occurs once
//	~    no space comes before the element
//	& !  look at the next token without taking it: it must fit, or must not
//	\    look at the last token in the same way
//	$    capture the sign or word; other elements are captured anyway
//
// A ? behind a word makes it optional. A | in front of the pattern is the beginning of the
// statement. A pattern without ^, | and UPTO fits at its first place in the statement.
//
// The tokens between « and » are replaced by write, or all tokens of the pattern without
// them. «_ includes the space in front, and _» the space behind. The mistake is at the tokens
// between ‹ and ›, or at those that are replaced. If says begins with a colon, it is at the
// token that cannot be read, and the message names that token.
//
// In says, help and write, $1 is the first capture and $0 the token that cannot be read;
// ${1-3} is the text from the first capture to the third, ${1:60} cuts it to 60 letters, and
// ${1|mode} translates it by a table. $W is the text of write, $I the indentation, and $_ a
// blank if the replaced tokens have none in front. Without help, the help shows write.
type rule struct {
	name    string
	in      string // words that the statement begins with, or what it is: see cursor.begins; ! must not
	bracket string // the innermost open bracket: "(", "[", "any", or "none"
	pattern string
	when    func(c *cursor, m *match) bool

	says  string
	help  string
	also  string // more help
	write string // "" for nothing
	drop  bool   // the tokens are removed
	sure  bool   // the edit leaves no other reading
	waits string // what else may come at a prompt: the text is not complete

	expects string // of hints: one of the things that the parser expected; = in front: all of them; ^: the first

	find func(c *cursor) *token.Mistake // finds the mistake where the pattern fits: for rules that no pattern can say
}

// classes are the words of patterns that stand for one token.
var classes = map[string]func(c *cursor, i int) bool{
	"ID":       func(c *cursor, i int) bool { return c.Kind(i) == token.Ident },
	"KW":       func(c *cursor, i int) bool { return c.Kind(i) == token.Keyword },
	"INT":      func(c *cursor, i int) bool { return c.Kind(i) == token.Int },
	"FLOAT":    func(c *cursor, i int) bool { return c.Kind(i) == token.Float },
	"STR":      func(c *cursor, i int) bool { return c.Kind(i) == token.String },
	"ANY":      func(c *cursor, i int) bool { return c.Kind(i) != token.EOF },
	"OPERAND":  func(c *cursor, i int) bool { return c.EndsOperand(i) },               // an operand may end with it
	"START":    func(c *cursor, i int) bool { return token.StartsExpr(c.TokenAt(i)) }, // an expression begins with it
	"MODE":     func(c *cursor, i int) bool { return c.Kind(i) == token.Ident && token.ModeOf(c.Str(i)) != 0 },
	"DATA":     func(c *cursor, i int) bool { return vocab.Constructors[c.Str(i)] },
	"OPTION":   func(c *cursor, i int) bool { return taskOptions[c.Str(i)] },
	"FILTER":   func(c *cursor, i int) bool { return c.Kind(i) == token.Ident && vocab.Filters[c.Str(i)] },
	"CTYPE":    func(c *cursor, i int) bool { return c.Kind(i) == token.Ident && vocab.CTypes[c.Str(i)] }, // declares a name in C
	"ELEM":     func(c *cursor, i int) bool { return vocab.CElems[c.Str(i)] != "" },
	"MODEWORD": func(c *cursor, i int) bool { return c.Kind(i) == token.Ident && vocab.ForeignModes[c.Str(i)] != "" },
	"HELPED":   func(c *cursor, i int) bool { return vocab.StatementHelp[c.Str(i)] != "" },
	"SEMI":     func(c *cursor, i int) bool { return c.Kind(i) == token.NL && c.Str(i) == ";" },
	"WAITWORD": func(c *cursor, i int) bool { return vocab.WaitWords[c.Str(i)] },
	"WORDOP":   func(c *cursor, i int) bool { return c.Kind(i) == token.Ident && vocab.OperatorWords[c.Str(i)] != "" },
}

// ends are the words of patterns that stand for no token.
var ends = map[string]func(c *cursor, i int) bool{
	"NL":  func(c *cursor, i int) bool { return c.Kind(i) == token.NL || c.Kind(i) == token.EOF },
	"END": func(c *cursor, i int) bool { return c.Kind(i) == token.NL || c.Kind(i) == token.EOF || c.BlockEnd(i) },
	"EOL": func(c *cursor, i int) bool { return i > 0 && c.LineEnds(i-1) },
}

// translations are the tables of templates.
var translations = map[string]func(s string) string{
	"mode":      func(s string) string { return vocab.ForeignModes[s] },
	"op":        func(s string) string { return vocab.OperatorWords[s] },
	"cmp":       func(s string) string { return vocab.ForeignComparisons[s] },
	"zero":      firstValue,
	"kind":      kindOfWorker,
	"statement": func(s string) string { return vocab.StatementHelp[s] },
	"lower":     strings.ToLower,
	"trim":      strings.TrimSpace,
	"slashes":   func(s string) string { return strings.ReplaceAll(s, ".", "/") },
	"unquote":   func(s string) string { return strings.Trim(s, `"`) },
}

// opKind says how an element goes on.
type opKind uint8

const (
	opToken opKind = iota // one token
	opLook                // looks at a token, and takes none
	opUpto
	opExpr
	opInside
	opType
	opPath
	opLine
	opRest
	opEditLo
	opEditHi
	opMarkLo
	opMarkHi
)

// op is a compiled element.
type op struct {
	kind      opKind
	is        func(c *cursor, i int) bool
	words     []string // of a token: the signs and words that it may be
	at, touch bool
	optional  bool
	capture   bool
	flag      bool // of an opLook: it must not be; of an expression: it begins like one; of opInside: not empty; of an edit: with the space
	behind    bool // of an opLook: the last token
}

// program is a compiled rule.
type program struct {
	in       []string // the words of rule.in
	not      bool     // they must not be
	ops      []op
	anchored bool // at the beginning of the statement
	at       int  // the op that is the token that cannot be read, -1 for none
	fixed    int  // how many tokens come in front of it, -1 if that varies
	upto     bool
}

// markers are the signs of patterns that may touch elements.
var markers = strings.NewReplacer("«_", " «_ ", "_»", " _» ", "«", " « ", "»", " » ", "‹", " ‹ ", "›", " › ")

// compile reads the pattern of a rule. A mistake in it panics: a test compiles all rules.
func compile(r *rule) *program {
	p := &program{at: -1}
	pattern := r.pattern
	if r.in != "" {
		in, not := strings.CutPrefix(r.in, "!")
		p.in, p.not = strings.Split(in, "|"), not
	}
	if p.anchored = strings.HasPrefix(pattern, "|"); p.anchored {
		pattern = pattern[1:]
	}
	for _, e := range strings.Fields(markers.Replace(pattern)) {
		o := element(e)
		if o.at {
			if p.at >= 0 {
				panic("two ^ in " + pattern)
			}
			p.at = len(p.ops)
		}
		p.upto = p.upto || o.kind == opUpto
		p.ops = append(p.ops, o)
	}
	for _, o := range p.ops[:max(p.at, 0)] {
		switch o.kind {
		case opToken:
			if p.fixed++; o.optional {
				p.fixed = -1 << 20
			}
		case opUpto, opExpr, opInside, opType, opPath, opLine, opRest:
			p.fixed = -1 << 20
		}
	}
	return p
}

// element compiles one element.
func element(e string) op {
	switch e {
	case "«":
		return op{kind: opEditLo}
	case "«_":
		return op{kind: opEditLo, flag: true}
	case "»":
		return op{kind: opEditHi}
	case "_»":
		return op{kind: opEditHi, flag: true}
	case "‹":
		return op{kind: opMarkLo}
	case "›":
		return op{kind: opMarkHi}
	}
	var o op
	for ; len(e) > 1; e = e[1:] {
		switch e[0] {
		case '^':
			o.at = true
		case '~':
			o.touch = true
		case '$':
			o.capture = true
		case '&':
			o.kind = opLook
		case '!':
			o.kind, o.flag = opLook, true
		case '\\':
			o.kind, o.behind = opLook, true
		default:
			return o.rest(e)
		}
	}
	return o.rest(e)
}

// rest compiles an element behind its signs.
func (o op) rest(e string) op {
	multi := map[string]opKind{"UPTO": opUpto, "X": opExpr, "X!": opExpr, "X?": opExpr, "…": opInside, "…+": opInside, "TYPE": opType, "PATH": opPath, "LINE": opLine, "REST": opRest}
	if k, ok := multi[e]; ok {
		o.kind, o.capture = k, true
		o.flag, o.optional = e == "X!" || e == "…+", e == "X?"
		return o
	}
	if len(e) > 1 && strings.HasSuffix(e, "?") {
		o.optional = true
		e = strings.TrimSuffix(e, "?")
	}
	var tests []func(c *cursor, i int) bool
	for _, w := range strings.Split(e, "|") {
		switch {
		case classes[w] != nil:
			o.capture = true
			tests = append(tests, classes[w])
		case ends[w] != nil:
			if o.kind == opToken {
				o.kind = opLook
			}
			tests = append(tests, ends[w])
		case strings.ToUpper(w) == w && strings.ToLower(w) != w:
			panic("no class of tokens is called " + w)
		default:
			o.words = append(o.words, w)
			tests = append(tests, func(c *cursor, i int) bool { return c.Has(i, w) })
		}
	}
	if o.capture = o.capture && o.kind == opToken; len(tests) == 1 {
		o.is = tests[0]
		return o
	}
	o.is = func(c *cursor, i int) bool {
		return slices.ContainsFunc(tests, func(is func(c *cursor, i int) bool) bool { return is(c, i) })
	}
	return o
}

// match is where a pattern fits.
type match struct {
	lo, hi   int // the tokens [lo, hi)
	captures [][2]int
	edit     *token.Span // nil: all tokens
	mark     *token.Span // nil: see rule
	open     []int       // brackets, while the pattern is tried
}

// fit tries to fit p around the token that cannot be read; nil if it does not.
func (p *program) fit(c *cursor) *match {
	switch {
	case p.anchored:
		return p.from(c, c.from)
	case p.at >= 0 && p.fixed >= 0:
		return p.from(c, c.at-p.fixed)
	case len(p.ops) > 0 && p.ops[0].kind == opExpr && p.at > 0:
		return p.from(c, c.exprStart(c.at-p.between(0), stopAtWords))
	case p.at >= 0 || p.upto:
		for lo := c.at; lo >= c.from; lo-- {
			if m := p.from(c, lo); m != nil {
				return m
			}
		}
	default:
		for lo := c.from; lo <= c.at; lo++ {
			if m := p.from(c, lo); m != nil {
				return m
			}
		}
	}
	return nil
}

// may reports whether o may fit at token i.
func (o *op) may(c *cursor, i int) bool {
	switch o.kind {
	case opToken:
		return o.is(c, i)
	case opLook:
		return o.is(c, i) != o.flag
	}
	return true
}

// between is how many tokens the ops behind k take, up to the one that cannot be read.
func (p *program) between(k int) int {
	n := 0
	for _, o := range p.ops[k+1:] {
		if o.at {
			return n
		}
		if o.kind == opToken {
			n++
		}
	}
	return 0
}

// from fits p to the tokens from lo on.
func (p *program) from(c *cursor, lo int) *match {
	if lo < c.from {
		return nil
	}
	m := &c.match
	*m = match{lo: lo, hi: lo, captures: m.captures[:0], open: m.open[:0]}
	for k := range p.ops {
		if !p.step(c, m, k) {
			return nil
		}
	}
	return m
}

// step fits op k behind the tokens of m.
func (p *program) step(c *cursor, m *match, k int) bool {
	o, i := &p.ops[k], m.hi
	if i >= len(c.Tokens) || o.at && i != c.at || o.touch && !c.Touching(i-1) {
		return false
	}
	to := i
	switch o.kind {
	case opLook:
		if o.behind {
			i--
		}
		return (i >= 0 && o.is(c, i)) != o.flag
	case opToken:
		if !o.is(c, i) {
			return o.optional
		}
		to++
		switch {
		case c.Opens(i):
			m.open = append(m.open, i)
		case c.Closes(i) && len(m.open) > 0:
			m.open = m.open[:len(m.open)-1]
		}
	case opUpto:
		to = c.at - p.between(k)
		if n := len(m.open); to < i || n > 0 && c.open != m.open[n-1] {
			return false
		}
	case opExpr:
		if k == 0 && p.at > 0 && !p.anchored {
			to = c.at - p.between(0)
		} else {
			to = c.exprEnd(i, p.stops(k)...)
		}
		if to <= i && !o.optional || o.flag && !token.StartsExpr(c.TokenAt(i)) {
			return false
		}
	case opInside:
		if len(m.open) == 0 {
			return false
		}
		if to = c.closingOf(m.open[len(m.open)-1]); to < i || o.flag && to == i {
			return false
		}
	case opType:
		to = c.typeEnd(i)
	case opPath:
		for to++; (c.Has(to, ".") || c.Has(to, "/")) && c.Kind(to+1) == token.Ident; {
			to += 2
		}
		if c.Kind(i) != token.Ident {
			return false
		}
	case opLine:
		for stops := p.stops(k); !ends["END"](c, to) && !c.hasOne(to, stops); {
			to++
		}
	case opRest:
		to = max(i, c.end)
	case opEditLo:
		at := c.Tokens[i].Lo
		if o.flag && i > 0 {
			at = c.Tokens[i-1].Hi
		}
		m.edit = &token.Span{Lo: at, Hi: at}
		return true
	case opEditHi:
		m.close(c, m.edit, o.flag)
		return true
	case opMarkLo:
		m.mark = &token.Span{Lo: c.Tokens[i].Lo, Hi: c.Tokens[i].Lo}
		return true
	case opMarkHi:
		m.close(c, m.mark, false)
		return true
	}
	if o.capture {
		m.captures = append(m.captures, [2]int{i, to})
	}
	m.hi = to
	return to > i || o.kind != opType
}

// stops are the signs and words that may follow op k.
func (p *program) stops(k int) []string {
	for _, o := range p.ops[k+1:] {
		if o.kind < opEditLo {
			return o.words
		}
	}
	return nil
}

// hasOne reports whether token i is one of the signs and words.
func (c *cursor) hasOne(i int, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return c.Has(i, w) })
}

// close ends the range s behind the tokens of m, or, with the space, in front of the next.
func (m *match) close(c *cursor, s *token.Span, space bool) {
	if m.hi > 0 && c.Tokens[m.hi-1].Hi > s.Lo {
		s.Hi = c.Tokens[m.hi-1].Hi
	}
	if next := c.Tokens[m.hi].Lo; space && strings.TrimSpace(c.Text[s.Hi:next]) == "" {
		s.Hi = next
	}
}

// typeEnd is the token behind the type that begins at token i, i if there is none.
func (c *cursor) typeEnd(i int) int {
	if c.Kind(i) != token.Ident {
		return i
	}
	if c.Has(i+1, "[") {
		if end := c.typeEnd(i + 2); end > i+2 && c.Has(end, "]") {
			return end + 1
		}
	}
	return i + 1
}

// begins reports whether the statement begins with the word, or is a DECLARATION of
// parameters, a FUNC or CODELET, INSERTS a task, or begins with a NAME.
func (c *cursor) begins(word string) bool {
	switch word {
	case "DECLARATION":
		return c.declaration()
	case "FUNC":
		return c.declaring() == "func"
	case "INSERTS":
		return c.inserts()
	case "NAME":
		return c.Kind(c.from) == token.Ident
	}
	return c.Has(c.from, word)
}

// isAround reports whether the innermost bracket around the token is that of a rule.
func (c *cursor) isAround(bracket string) bool {
	switch bracket {
	case "none":
		return c.open < 0
	case "any":
		return c.open >= 0
	}
	return c.open >= 0 && c.Has(c.open, bracket)
}

// isExpected reports whether the parser expected what a rule says.
func (c *cursor) isExpected(what string) bool {
	got := c.base.Expect
	switch what[0] {
	case '=':
		return strings.Join(got, " ") == what[1:]
	case '^':
		return len(got) > 0 && got[0] == what[1:]
	}
	return slices.ContainsFunc(strings.Split(what, "|"), func(w string) bool { return slices.Contains(got, w) })
}

// A table is rules, and their patterns, which are compiled when the first mistake needs them.
type table struct {
	rules    []rule
	once     sync.Once
	programs []*program
}

// apply is the mistake that the first rule that fits says; nil if there is none.
func (t *table) apply(c *cursor) *token.Mistake {
	t.once.Do(func() {
		for i := range t.rules {
			t.programs = append(t.programs, compile(&t.rules[i]))
		}
	})
	for i := range t.rules {
		if m := t.rules[i].apply(c, t.programs[i]); m != nil {
			m.Rule = t.rules[i].name
			return m
		}
	}
	return nil
}

// template are the places of templates.
var template = regexp.MustCompile(`\$(?:([0-9WI_])|\{([0-9])(?:-([0-9]))?(?::([0-9]+))?(?:\|([a-z]+))?\})`)

// expand fills a template.
func (c *cursor) expand(m *match, written, text string) string {
	return template.ReplaceAllStringFunc(text, func(s string) string {
		p := template.FindStringSubmatch(s)
		switch p[1] {
		case "":
		case "W":
			return token.ClipTo(written, 72)
		case "I":
			return c.Indent(c.from)
		case "_":
			if lo := m.edit.Lo; lo > 0 && !strings.ContainsRune(" \t\r\n", rune(c.Text[lo-1])) {
				return " "
			}
			return ""
		case "0":
			return c.Str(c.at)
		default:
			k := m.captures[p[1][0]-'1']
			return c.text(k[0], k[1])
		}
		first := m.captures[p[2][0]-'1']
		last := first
		if p[3] != "" {
			last = m.captures[p[3][0]-'1']
		}
		out := c.text(first[0], last[1])
		if p[4] != "" {
			n, _ := strconv.Atoi(p[4])
			out = token.ClipTo(out, n)
		}
		if p[5] != "" {
			out = translations[p[5]](out)
		}
		return out
	})
}

// apply is the mistake that r says at the token of c; nil if it does not fit.
func (r *rule) apply(c *cursor, p *program) *token.Mistake {
	if r.expects != "" && !c.isExpected(r.expects) || p.at >= 0 && !p.ops[p.at].may(c, c.at) || r.bracket != "" && !c.isAround(r.bracket) ||
		p.in != nil && slices.ContainsFunc(p.in, c.begins) == p.not {
		return nil
	}
	if r.find != nil && r.pattern == "" {
		return r.find(c)
	}
	m := p.fit(c)
	if m == nil || r.when != nil && !r.when(c, m) {
		return nil
	}
	if r.find != nil {
		return r.find(c)
	}
	all := c.span(m.lo, m.hi)
	if m.edit == nil {
		m.edit = &all
	}
	written := c.expand(m, "", r.write)
	says, here := strings.CutPrefix(r.says, ": ")
	out := c.base
	if out == nil {
		out = &token.Mistake{Code: "E0101", At: *m.edit, Msg: c.expand(m, written, says)}
	}
	out.Sure = out.Sure || r.sure
	switch {
	case c.base != nil:
	case here:
		out.At, out.Msg = c.Span(c.at), fmt.Sprintf("unexpected %s: %s", token.Describe(c.TokenAt(c.at)), out.Msg)
	case m.mark != nil:
		out.At = *m.mark
	}
	switch {
	case r.help != "":
		out.Hint("%s", c.expand(m, written, r.help))
	case written != "":
		out.Hint("write `%s`", token.ClipTo(written, 72))
	}
	if r.also != "" {
		out.Hint("%s", c.expand(m, written, r.also))
	}
	if written != "" || r.drop {
		out.Edit(*m.edit, written)
	}
	if r.waits != "" {
		out.Got, out.Expect = c.TokenAt(c.at), []string{r.waits}
	}
	c.next = max(c.next, m.hi)
	return out
}
