package syntax

// Statement driver: finds the tokens of one statement, hands them to participle,
// reads blocks, and goes on behind a mistake.

import (
	"slices"
	"sort"
	"strings"

	"github.com/alecthomas/participle/v2/lexer"
	"github.com/starpush/starpush/lang/diag"
)

// maxElse bounds the `else if` of one statement.
const maxElse = 50_000

// parser reads one source.
type parser struct {
	src      *diag.Source
	source   string
	toks     []token
	pos      int
	comments []Comment
	mistakes []*mistake
	entry    bool // of a prompt
	begin    int  // the first token of the statement whose head is read

	crowd int          // statements that begin behind another on this line
	loose int          // up to this token statements stand in a block that has no braces
	ends  map[int]bool // tokens that end such a block

	buf   []lexer.Token // of the statement that is read by hand
	plain bool          // for tests: all of it by participle

	signs string // codelet or func, when the text is a signature and has no such word

	// Made when the first mistake needs them: a text of mistakes asks often.
	declared  map[[2]string]bool // each keyword with the word after it
	statement map[string]string  // what statementWord returned for a word
}

// where says what a statement stands in.
type where struct {
	top     bool // not in a block
	fn      bool // in a func
	loop    bool // in for or while
	codelet bool
}

// in is the place inside a block of w.
func (w where) in() where { w.top = false; return w }

// Parse reads a script. The File is never nil: it holds the statements that could be
// read. One run reports many mistakes, in the order of the text.
func Parse(src *diag.Source) (*File, diag.Diagnostics) { return parse(src, false) }

// ParseEntry reads what was entered at a prompt: as Parse, but an expression
// statement may be any expression.
func ParseEntry(src *diag.Source) (*File, diag.Diagnostics) { return parse(src, true) }

func parse(src *diag.Source, entry bool) (*File, diag.Diagnostics) {
	p := newParser(src, entry)
	f := &File{Source: src, Stmts: p.stmts(where{top: true}), Comments: p.comments}
	f.Doc = p.fileDoc()
	return f, p.diagnostics()
}

// newParser scans src.
func newParser(src *diag.Source, entry bool) *parser {
	s := scan(src.Text)
	s.layout()
	return &parser{src: src, source: src.Text, toks: s.toks, comments: s.comments, mistakes: s.mistakes, entry: entry}
}

// diagnostics places the mistakes, in the order of the text.
func (p *parser) diagnostics() diag.Diagnostics {
	if len(p.mistakes) == 0 {
		return nil
	}
	sort.SliceStable(p.mistakes, func(i, j int) bool { return p.mistakes[i].at.Lo < p.mistakes[j].at.Lo })
	p.dropUses()
	var out diag.Diagnostics
	for i, m := range p.mistakes {
		if i == maxErrors {
			out[len(out)-1].Omitted = len(p.mistakes) - i
			break
		}
		out = append(out, m.diagnostic(p.src))
	}
	return out
}

// dropUses leaves out the uses of reserved words that the script has tried to
// declare as names: that was said where it was tried.
func (p *parser) dropUses() {
	named := map[string]bool{}
	p.mistakes = slices.DeleteFunc(p.mistakes, func(m *mistake) bool {
		if m.got == nil || m.got.Type != tokKeyword {
			return false
		}
		if m.asName {
			named[m.got.Value] = true
			return false
		}
		return named[m.got.Value]
	})
}

// report notes a mistake.
func (p *parser) report(m *mistake) { p.mistakes = append(p.mistakes, m) }

// mistakeAt notes a mistake at a range.
func (p *parser) mistakeAt(at Span, code, msg string) *mistake {
	m := &mistake{code: code, at: at, msg: msg}
	p.report(m)
	return m
}

// str is the text of token i.
func (p *parser) str(i int) string { return p.toks[i].text(p.source) }

// is reports whether token i is the sign or word text.
func (p *parser) is(i int, text string) bool {
	switch t := p.toks[i]; t.kind {
	case tokKeyword, tokOp, tokAssign, tokIdent:
		return t.text(p.source) == text
	case tokOpen:
		return text == "{"
	}
	return false
}

// span is the range of token i.
func (p *parser) span(i int) Span { return Span{p.toks[i].lo, p.toks[i].hi} }

// tokenAt is token i as participle sees it.
func (p *parser) tokenAt(i int) *lexer.Token {
	t := p.toks[i]
	return &lexer.Token{Type: lexer.TokenType(t.kind), Value: t.text(p.source), Pos: lexer.Position{Offset: int(t.lo)}}
}

// blockEnd reports whether a block ends at token i.
func (p *parser) blockEnd(i int) bool {
	return p.toks[i].kind == tokVirtual || p.is(i, "}") && !p.toks[i].open
}

// stmts reads statements to the end of the block, or of the file.
func (p *parser) stmts(w where) []Stmt {
	var out []Stmt
	for {
		switch t := p.toks[p.pos]; {
		case t.kind == tokNL:
			p.pos++
			continue
		case t.kind == tokEOF:
			return out
		case p.blockEnd(p.pos):
			if !w.top {
				return out
			}
			p.pos++
			continue
		case p.ends[p.pos]:
			p.pos++
			continue
		}
		lo := p.toks[p.pos].lo
		from := p.pos
		p.begin = from
		in := w
		if from < p.loose {
			in = w.lenient()
		}
		s := p.stmt(in)
		if p.pos == from { // a stray sign: reported, and left out
			p.pos++
		}
		if s != nil && from >= p.loose {
			s.(interface{ setSpan(Span) }).setSpan(Span{lo, p.toks[p.pos-1].hi})
			out = append(out, s)
		}
		known := len(p.mistakes)
		p.finish(in, from, s != nil)
		if from >= p.loose && len(p.mistakes) > known && p.mistakes[len(p.mistakes)-1].code == "E0101" {
			switch s.(type) {
			case *ExprStmt, *Register, *Assert:
				out = out[:len(out)-1] // its beginning alone means something else
			}
		}
	}
}

// stmt reads one statement, without what ends it. It returns nil when there is
// nothing to keep: then the mistake is reported.
func (p *parser) stmt(w where) Stmt {
	t := p.toks[p.pos]
	if t.kind != tokKeyword {
		return p.simple(w)
	}
	word := t.text(p.source)
	if !p.mayStand(word, w) {
		return p.misplaced(word, w)
	}
	switch word {
	case "import":
		return p.importStmt(w)
	case "param":
		return p.paramStmt(w)
	case "extern":
		return p.externStmt(w)
	case "codelet":
		return p.codeletStmt(w)
	case "func":
		return p.funcStmt(w)
	case "let":
		return p.letStmt(w)
	case "register":
		return p.registerStmt(w)
	case "partition":
		return p.partitionStmt(w)
	case "unpartition":
		return p.unpartitionStmt(w)
	case "acquire":
		return p.acquireStmt(w)
	case "release":
		return p.releaseStmt(w)
	case "wait":
		return p.waitStmt(w)
	case "prefetch":
		return p.prefetchStmt(w)
	case "hint":
		return p.hintStmt(w)
	case "invalidate", "unregister", "evict":
		return p.verbStmt(w)
	case "if":
		return p.ifStmt(w)
	case "for":
		return p.forStmt(w)
	case "while":
		return p.whileStmt(w)
	case "each":
		return p.eachStmt(w)
	case "return":
		return p.returnStmt(w)
	case "break", "continue":
		return p.wordStmt(w)
	case "assert":
		return p.assertStmt(w)
	}
	return p.simple(w)
}

// codeletWords begin the statements of codelet bodies.
var codeletWords = wordSet("each", "for", "if", "let", "insert", "else", "true", "false", "none", "not")

// mayStand reports whether a statement that begins with word may stand in w.
func (p *parser) mayStand(word string, w where) bool {
	switch {
	case w.codelet:
		return codeletWords[word] && word != "else"
	case topLevelOnly[word]:
		return w.top
	case word == "each" || word == "else":
		return false
	case word == "break" || word == "continue":
		return w.loop
	case word == "return":
		return w.fn
	}
	return true
}

// misplaced reports E0105 for the statement at pos, and passes over it with its
// blocks, whose mistakes are still reported.
func (p *parser) misplaced(word string, w where) Stmt {
	at := p.span(p.pos)
	switch {
	case !isStatementWord[word] && word != "else":
		p.report(unexpected(p.tokenAt(p.pos), "a statement"))
	case word == "else":
		m := p.mistakeAt(at, "E0105", "`else` without an `if` before it").hint("`else` follows the `}` of its `if`")
		if p.entry && p.pos == 0 { // the `if` was an entry of its own
			m.hint("at the prompt on the same line: `} else {`")
		}
	case topLevelOnly[word]:
		p.mistakeAt(at, "E0105", "`"+word+"` is only allowed at the top level of a file").hint("move it out of the block")
	case w.codelet:
		m := p.mistakeAt(at, "E0105", "`"+word+"` is not allowed in a codelet")
		if word == "while" {
			m.hint("a loop in a codelet is a `for` over a range")
		} else {
			m.hint("the body of a codelet has `each`, `for`, `if`, `let` and assignments")
		}
	case word == "each":
		p.mistakeAt(at, "E0105", "`each` is only allowed in a codelet").hint("outside of codelets a loop is `for`")
	case word == "return":
		p.mistakeAt(at, "E0105", "`return` is only allowed in a `func`").hint("a script ends at its last line; to leave a part out write `if`, to stop in an error `assert`")
	default:
		p.mistakeAt(at, "E0105", "`"+word+"` is only allowed in a loop")
	}
	inside := w.lenient()
	switch word {
	case "codelet", "each":
		inside.codelet = true
	}
	p.pos++
	p.pos, _ = p.headEnd(p.pos)
	for p.is(p.pos, "{") {
		p.block(inside)
		if !p.is(p.pos, "else") {
			break
		}
		p.pos++
		p.pos, _ = p.headEnd(p.pos)
	}
	return nil
}

// block reads a block, whose { is at pos.
func (p *parser) block(w where) *Block {
	b := &Block{}
	b.Lo = p.toks[p.pos].lo
	p.pos++
	w.top = false
	b.Stmts = p.stmts(w)
	if p.blockEnd(p.pos) {
		p.pos++
	}
	b.Hi = p.toks[p.pos-1].hi
	return b
}

// body reads the block of a statement whose head is read; nil when there is none.
func (p *parser) body(w where) *Block {
	if p.is(p.pos, "{") {
		return p.block(w)
	}
	if p.toks[p.pos].kind == tokNL && p.is(p.pos+1, "{") {
		m := unexpected(p.tokenAt(p.pos), "`{`")
		m.at = Span{p.toks[p.pos-1].hi, p.toks[p.pos-1].hi}
		p.report(m.hint("put the `{` on the line of its statement"))
		p.pos++
		p.block(w)
		return nil
	}
	if !p.reportHabit(p.begin, p.pos) {
		p.report(p.atEnd(unexpected(p.tokenAt(p.pos), "`{`"), p.pos))
	}
	return nil
}

// Heads of statements: what participle reads, and what its errors are told as.

// atEnd makes an error at the end of the tokens of a head one about token i, which
// really stands there.
func (p *parser) atEnd(m *mistake, i int) *mistake {
	t := p.tokenAt(i)
	if t.Type == tokVirtual {
		t.Type = tokEOF
	}
	if t.Type == tokEOF || t.Type == tokNL || m.got != nil && m.got.Type == tokEOF {
		old := m
		m = unexpected(t, old.expect...)
		m.help = append(m.help, old.help...)
	}
	if t.Type == tokEOF || t.Type == tokNL && t.Value != ";" {
		end := int32(0)
		if i > 0 {
			end = p.toks[i-1].hi
		}
		m.at = Span{end, end}
	}
	return m
}

// head hands the tokens of the statement at pos, up to its block, to participle.
// It returns nil when they cannot be read: then pos is behind them, and the mistake
// is reported.
func head[P any](p *parser, w where) *P {
	end, bad := p.headEnd(p.pos)
	if bad || !p.fits(end, w) {
		p.pos = end
		return nil
	}
	return headTo[P](p, end)
}

// headTo is head when the tokens up to end may be read.
func headTo[P any](p *parser, end int) *P {
	l, err := lexer.Upgrade(&sliceLexer{text: p.source, toks: p.toks[p.pos:end], end: p.toks[end].lo})
	if err != nil {
		p.report(asMistake(err))
		p.pos = end
		return nil
	}
	h, err := production[P](l)
	if err != nil {
		m := asMistake(err)
		at := -1
		if m.got != nil {
			at = end
			if m.got.Type != tokEOF {
				at = p.pos + sort.Search(end-p.pos, func(i int) bool { return p.toks[p.pos+i].lo >= int32(m.got.Pos.Offset) })
				if p.toks[at].lo != int32(m.got.Pos.Offset) {
					at = -1 // inside an f-string
				}
			} else {
				m = p.atEnd(m, end)
			}
		}
		if at < 0 || !p.reportHabit(p.begin, at) {
			p.report(p.advise(m))
			p.pos = end
		}
		return nil
	}
	p.pos += int(l.RawCursor())
	return h
}

// advise adds help that needs the neighbours of an unexpected token.
func (p *parser) advise(m *mistake) *mistake {
	if m.got == nil || m.code != "E0101" {
		return m
	}
	i := sort.Search(len(p.toks), func(i int) bool { return p.toks[i].lo >= int32(m.got.Pos.Offset) })
	if i >= len(p.toks) || i == 0 {
		return m
	}
	prev, this := p.toks[i-1], p.toks[i]
	switch {
	case this.kind == tokIdent && p.meant(m, i):
	case prev.kind == tokIdent && this.kind == tokIdent && p.is(i+1, "in") && p.meantWord(m, i-1, folding):
	case prev.kind == tokKeyword && this.kind == tokIdent && p.str(i-1) == "import":
		m.hint("a module is written in quotes, as in `import \"std/blas\" as blas`")
	case prev.kind == tokKeyword && p.str(i-1) == "for" && p.is(i, "("):
		m.hint("a loop has no parentheses: `for i in 0..n { ... }`")
	case prev.kind == tokIdent && (this.kind == tokIdent || this.kind == tokString):
		if near, ok := diag.Nearest(p.str(i-1), []string{"insert", "not"}); ok {
			m.meant(p.span(i-1), near)
		}
	case prev.kind == tokIdent && slices.Equal(m.expect, []string{"`:`"}):
		p.untyped(m, i)
	case p.is(i, "for") && slices.Contains(m.expect, "`)`"):
		m.hint("a list is written `[a for i in 0..n]`, a sum in a codelet `sum i in x { x[i] }`")
	case p.is(i, ",") && slices.Equal(m.expect, []string{"an operator", "`)`"}):
		m.hint("parentheses hold one value; only a call has several arguments, and a list is written `[a, b]`")
	case p.is(i, "=") && len(m.expect) > 0 && m.expect[0] == "an operator":
		m.hint("equality is written `==`").edit(p.span(i), "==").certain()
	case p.is(i, "@") && slices.Contains(m.expect, "`as`"):
		m.hint("what a script acquires is in main memory; `prefetch … to` brings data to a device")
	case p.is(i, "@") && prev.kind == tokIdent:
		m.hint("an operand begins with its access mode: `RW %s @ …`", p.str(i-1))
	case p.is(i, ".") && p.is(i-1, ".."):
		m.hint("a range is written `a..b`, without its end")
	case p.is(i, ".") && prev.kind == tokInt, p.is(i-1, ".") && i > 1 && p.toks[i-2].kind == tokInt:
		m.hint("a float has a digit on both sides of the point: `1.0`")
	case p.is(i-1, "*") && p.is(i, "*"), p.is(i-1, "+") && p.is(i, "+"):
		m.hint("write `x += 1`")
	case p.is(i, ":") && (slices.Contains(m.expect, "`{`") || len(m.expect) > 0 && m.expect[0] == "the end of the statement" && p.toks[i+1].kind != tokOp):
		m.hint("a block is written in braces: `{ … }`")
	case this.kind == tokNL && p.str(i) == ";" && (slices.Contains(m.expect, "`,`") || slices.Contains(m.expect, "`)`")):
		m.hint("write `,`").edit(p.span(i), ",").certain()
	case p.is(i, "(") && prev.kind == tokIdent && constructors[p.str(i-1)]:
		m.hint("the element type is written in square brackets: `%s[f64]`", p.str(i-1))
	case len(m.help) == 0 && slices.Contains(m.expect, "`,`") && startsExpr(m.got):
		m.hint("add `,` after `%s`", clip(prev.text(p.source))).edit(Span{prev.hi, prev.hi}, ",")
	}
	return m
}

// constructors are the types that have an element type.
var constructors = wordSet("variable", "vector", "matrix", "block", "tensor")

// untyped says how the parameter before token i is declared.
func (p *parser) untyped(m *mistake, i int) {
	name := p.str(i - 1)
	switch {
	case p.is(p.pos, "param"):
		typ := ""
		if p.is(i, "=") {
			typ = typeOf(p, i+1)
		}
		if typ == "" {
			m.hint("a param has a type, as in `param %s: int = ...`", name)
			return
		}
		m.hint("a param has a type: `param %s: %s = ...`", name, typ).edit(Span{p.toks[i-1].hi, p.toks[i-1].hi}, ": "+typ)
	case p.is(p.pos, "func"):
		m.hint("a parameter has a type, as in `%s: int`", name)
	case p.is(p.pos, "extern") && i == p.pos+2:
		m.hint("an extern has a type, as in `extern %s: vector[f64]`", name)
	case p.is(p.pos, "codelet"), p.is(p.pos, "extern"):
		m.hint("data has a mode and a type, as in `%[1]s: RW vector[f64]`; a value has a type, as in `%[1]s: float`", name)
	}
}

// typeOf is the type of the literal at token i, "" for anything else.
func typeOf(p *parser, i int) string {
	switch k := p.toks[i].kind; {
	case k == tokInt:
		return "int"
	case k == tokFloat:
		return "float"
	case k == tokString:
		return "string"
	case p.is(i, "true"), p.is(i, "false"):
		return "bool"
	}
	return ""
}

// linking are the words within statements, which nothing else can be mistaken for.
var linking = []string{"with", "by", "as", "to", "in", "then", "else", "and", "or"}

// folding are the words of folds.
var folding = []string{"sum", "prod", "min", "max"}

// meant adds what the name at token i was meant to be, if one of the words that are
// expected there looks like it.
func (p *parser) meant(m *mistake, i int) bool {
	var words []string
	for _, e := range m.expect {
		if w := strings.Trim(e, "`"); len(w) < len(e) && reserved[w] {
			words = append(words, w)
		}
	}
	return p.meantWord(m, i, words)
}

// meantWord adds which of the words the name at token i was meant to be.
func (p *parser) meantWord(m *mistake, i int, words []string) bool {
	near, ok := diag.Nearest(p.str(i), words)
	if ok {
		m.meant(p.span(i), near)
	}
	return ok
}

// fits reports folds that may not stand where the tokens from pos to end are.
func (p *parser) fits(end int, w where) bool {
	for i := p.pos; i < end; i++ {
		if !w.codelet && isFold(p.source, p.toks, i) {
			p.report(misplacedFold(p.toks[i], p.source))
			return false
		}
	}
	return true
}

// Signatures: declarations of host codelets and functions, and whether an entry
// of a prompt is complete.

// ParseSignature reads the declaration of a host codelet, such as
// "clip(v: RW vector[f32], lo: f32, hi: f32)". The result has no body. The error is a
// diag.Diagnostics.
func ParseSignature(text string) (*Codelet, error) {
	p := newParser(diag.NewSource("signature", text), false)
	p.signs = "codelet"
	h := signatureHead[codeletHeader](p)
	if err := p.wholeText(); err != nil {
		return nil, err
	}
	c := h.lower()
	c.Span = Span{p.toks[0].lo, p.toks[p.pos-1].hi}
	return c, nil
}

// ParseFuncSignature reads the declaration of a host function or filter, such as
// "now() -> float" or "stripes(A: matrix[T], p: int) -> matrix[T]". The result has no
// body. The error is a diag.Diagnostics.
func ParseFuncSignature(text string) (*Func, error) {
	p := newParser(diag.NewSource("signature", text), false)
	p.signs = "func"
	h := signatureHead[funcHeader](p)
	if err := p.wholeText(); err != nil {
		return nil, err
	}
	f := h.lower()
	f.Span = Span{p.toks[0].lo, p.toks[p.pos-1].hi}
	return f, nil
}

// signatureHead reads a signature, which begins with a name.
func signatureHead[P any](p *parser) *P {
	if k := p.toks[p.pos].kind; k != tokIdent && k != tokBad && len(p.mistakes) == 0 {
		p.report(p.atEnd(unexpected(p.tokenAt(p.pos), "a name"), p.pos))
		return nil
	}
	return head[P](p, where{})
}

// wholeText reports what follows a signature.
func (p *parser) wholeText() error {
	if len(p.mistakes) == 0 {
		for p.toks[p.pos].kind == tokNL {
			p.pos++
		}
		if p.toks[p.pos].kind != tokEOF {
			p.report(unexpected(p.tokenAt(p.pos), "the end of the signature"))
		}
	}
	return p.diagnostics().Err()
}

// Incomplete reports whether text, entered at a prompt, needs more lines: a bracket
// is open, the last line ends where a newline is white space, or a statement waits
// for a word that may begin a line. A text with another mistake is complete.
func Incomplete(text string) bool {
	s := scan(text)
	if len(s.mistakes) > 0 {
		return false
	}
	if n := len(s.toks); n > 1 {
		last := n - 2
		for last > 0 && s.toks[last].kind == tokNL && s.toks[last].text(text) == "\n" {
			last--
		}
		if s.continued(s.toks[last]) {
			return true
		}
	}
	s.layout()
	for _, m := range s.mistakes {
		if m.code != "E0102" || len(m.labels) == 0 || !m.labels[0].atEnd {
			return false
		}
	}
	if s.atEnd {
		return true
	}
	p := newParser(diag.NewSource("", text), true)
	p.stmts(where{top: true})
	if len(p.mistakes) != 1 {
		return false
	}
	m := p.mistakes[0]
	if m.got == nil || m.got.Type != tokEOF && !(m.got.Type == tokNL && onlySpace(text[min(m.got.Pos.Offset, len(text)):])) {
		return false
	}
	for _, e := range m.expect {
		switch e {
		case "`by`", "`then`", "`else`", "`with`":
			return true
		}
	}
	return false
}

// onlySpace reports whether nothing but white space and comments is in s.
func onlySpace(s string) bool {
	toks := scan(s).toks
	for _, t := range toks {
		if t.kind != tokNL && t.kind != tokEOF {
			return false
		}
	}
	return true
}
