package syntax

// Statement driver: finds the tokens of one statement, hands them to participle,
// reads blocks, and goes on behind a mistake.

import (
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/alecthomas/participle/v2/lexer"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax/advice"
	"github.com/starpush/starpush/lang/syntax/token"
)

// maxElse bounds the `else if` of one statement.
const maxElse = 50_000

// parser reads one source.
type parser struct {
	token.List
	src      *diag.Source
	pos      int
	comments []Comment
	mistakes []*token.Mistake
	entry    bool // of a prompt
	begin    int  // the first token of the statement whose head is read

	crowd int          // statements that begin behind another on this line
	loose int          // up to this token statements are in a block without braces
	ends  map[int]bool // tokens that end such a block

	buf   []lexer.Token // of the statement that is read by hand
	plain bool          // for tests: all of it by participle

	signs string // codelet or func, when the text is a signature and has no such word

	advise func(*token.List, advice.Failure) (*token.Mistake, bool) // asked where the parser cannot go on
}

// where describes the surroundings of a statement.
type where struct {
	top     bool // not in a block
	fn      bool // in a func
	loop    bool // in for or while
	codelet bool
	fields  bool // in a struct
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
	s := token.Scan(src.Text)
	s.Layout()
	return &parser{List: s.List, src: src, comments: s.Comments, mistakes: s.Mistakes, entry: entry, advise: advice.Advise}
}

// diagnostics places the mistakes, in the order of the text.
func (p *parser) diagnostics() diag.Diagnostics {
	if len(p.mistakes) == 0 {
		return nil
	}
	sort.SliceStable(p.mistakes, func(i, j int) bool { return p.mistakes[i].At.Lo < p.mistakes[j].At.Lo })
	p.dropUses()
	var out diag.Diagnostics
	for i, m := range p.mistakes {
		if i == token.MaxErrors {
			out[len(out)-1].Omitted = len(p.mistakes) - i
			break
		}
		out = append(out, m.Diagnostic(p.src))
	}
	return out
}

// dropUses leaves out the uses of reserved words that the script has tried to
// declare as names: that was said where it was tried.
func (p *parser) dropUses() {
	named := map[string]bool{}
	p.mistakes = slices.DeleteFunc(p.mistakes, func(m *token.Mistake) bool {
		if m.Got == nil || m.Got.Type != token.Keyword {
			return false
		}
		if m.AsName {
			named[m.Got.Value] = true
			return false
		}
		return named[m.Got.Value]
	})
}

// report notes a mistake.
func (p *parser) report(m *token.Mistake) { p.mistakes = append(p.mistakes, m) }

// mistakeAt notes a mistake at a range.
func (p *parser) mistakeAt(at Span, code, msg string) *token.Mistake {
	m := &token.Mistake{Code: code, At: at, Msg: msg}
	p.report(m)
	return m
}

// stmts reads statements to the end of the block, or of the file.
func (p *parser) stmts(w where) []Stmt {
	var out []Stmt
	for {
		switch t := p.Tokens[p.pos]; {
		case t.Kind == token.NL:
			p.pos++
			continue
		case t.Kind == token.EOF:
			return out
		case p.BlockEnd(p.pos):
			if !w.top {
				return out
			}
			p.pos++
			continue
		case p.ends[p.pos]:
			p.pos++
			continue
		}
		lo := p.Tokens[p.pos].Lo
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
			s.(interface{ setSpan(Span) }).setSpan(Span{Lo: lo, Hi: p.Tokens[p.pos-1].Hi})
			out = append(out, s)
		}
		known := len(p.mistakes)
		p.finish(in, from, s != nil)
		if from >= p.loose && len(p.mistakes) > known && p.mistakes[len(p.mistakes)-1].Code == "E0101" {
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
	t := p.Tokens[p.pos]
	if w.fields {
		return p.fieldStmt(w)
	}
	if t.Kind != token.Keyword {
		return p.simple(w)
	}
	word := t.Text(p.Text)
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
	case "struct":
		return p.structStmt(w)
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
	case "checkpoint":
		return p.checkpointStmt(w)
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
var codeletWords = token.WordSet("each", "for", "while", "break", "continue", "if", "let", "insert", "else", "true", "false", "none", "not")

// mayStand reports whether a statement that begins with word is allowed in w.
func (p *parser) mayStand(word string, w where) bool {
	switch {
	case w.codelet:
		return codeletWords[word] && word != "else" && (w.loop || word != "break" && word != "continue")
	case token.TopLevelOnly[word]:
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
	at := p.Span(p.pos)
	switch {
	case !token.IsStatementWord[word] && word != "else":
		p.report(token.Unexpected(p.TokenAt(p.pos), "a statement"))
	case word == "else":
		m := p.mistakeAt(at, "E0105", "`else` without an `if` before it").Hint("`else` follows the `}` of its `if`")
		if p.entry && p.pos == 0 { // the `if` was an entry of its own
			m.Hint("at the prompt on the same line: `} else {`")
		}
	case token.TopLevelOnly[word]:
		p.mistakeAt(at, "E0105", "`"+word+"` is only allowed at the top level of a file").Hint("move it out of the block")
	case w.codelet && word != "break" && word != "continue":
		m := p.mistakeAt(at, "E0105", "`"+word+"` is not allowed in a codelet")
		if word == "return" {
			m.Hint("to end a round of a loop write `continue`; what a codelet computes goes to its operands")
		} else {
			m.Hint("the body of a codelet has `each`, `for`, `while`, `if`, `let` and assignments")
		}
	case word == "each":
		p.mistakeAt(at, "E0105", "`each` is only allowed in a codelet").Hint("outside of codelets a loop is `for`")
	case word == "return":
		p.mistakeAt(at, "E0105", "`return` is only allowed in a `func`").Hint("a script ends at its last line; to leave a part out write `if`, to stop in an error `assert`")
	default:
		m := p.mistakeAt(at, "E0105", "`"+word+"` is only allowed in a loop")
		if w.fn {
			m.Hint("to leave the function write `return`, to leave a part out `if`")
		} else {
			m.Hint("to leave a part of the script out write `if`, to stop in an error `assert`")
		}
	}
	inside := w.lenient()
	switch word {
	case "codelet", "each":
		inside.codelet = true
	case "struct":
		inside = where{fields: true}
	}
	p.pos++
	p.pos, _ = p.HeadEnd(p.pos)
	for p.Is(p.pos, "{") {
		p.block(inside)
		if !p.Is(p.pos, "else") {
			break
		}
		p.pos++
		p.pos, _ = p.HeadEnd(p.pos)
	}
	return nil
}

// block reads a block, whose { is at pos.
func (p *parser) block(w where) *Block {
	b := &Block{}
	b.Lo = p.Tokens[p.pos].Lo
	p.pos++
	w.top = false
	b.Stmts = p.stmts(w)
	if p.BlockEnd(p.pos) {
		p.pos++
	}
	b.Hi = p.Tokens[p.pos-1].Hi
	return b
}

// body reads the block of a statement whose head is read; nil when there is none.
func (p *parser) body(w where) *Block {
	if p.Is(p.pos, "{") {
		return p.block(w)
	}
	if p.Tokens[p.pos].Kind == token.NL && p.Is(p.pos+1, "{") {
		m := token.Unexpected(p.TokenAt(p.pos), "`{`")
		m.At = Span{Lo: p.Tokens[p.pos-1].Hi, Hi: p.Tokens[p.pos-1].Hi}
		p.report(m.Hint("put the `{` on the line of its statement"))
		p.pos++
		p.block(w)
		return nil
	}
	if !p.explained(advice.Failure{From: p.begin, At: p.pos}) {
		p.report(p.atEnd(token.Unexpected(p.TokenAt(p.pos), "`{`"), p.pos))
	}
	return nil
}

// Heads of statements: parsing by participle, and its errors.

// atEnd turns an error at the end of the tokens of a head into one about token i, which
// follows the head in the text.
func (p *parser) atEnd(m *token.Mistake, i int) *token.Mistake {
	t := p.TokenAt(i)
	if t.Type == token.Virtual {
		t.Type = token.EOF
	}
	if t.Type == token.EOF || t.Type == token.NL || m.Got != nil && m.Got.Type == token.EOF {
		old := m
		m = token.Unexpected(t, old.Expect...)
		m.Help = append(m.Help, old.Help...)
	}
	if t.Type == token.EOF || t.Type == token.NL && t.Value != ";" {
		end := int32(0)
		if i > 0 {
			end = p.Tokens[i-1].Hi
		}
		m.At = Span{Lo: end, Hi: end}
	}
	return m
}

// head hands the tokens of the statement at pos, up to its block, to participle.
// It returns nil when they cannot be read: then pos is behind them, and the mistake
// is reported.
func head[P any](p *parser, w where) *P {
	end, bad := p.HeadEnd(p.pos)
	if bad || !p.fits(end, w) {
		p.pos = end
		return nil
	}
	return headTo[P](p, end)
}

// headTo is head when the tokens up to end may be read.
func headTo[P any](p *parser, end int) *P {
	l, err := lexer.Upgrade(&token.Lexer{Text: p.Text, Tokens: p.Tokens[p.pos:end], End: p.Tokens[end].Lo})
	if err != nil {
		p.report(asMistake(err))
		p.pos = end
		return nil
	}
	h, err := production[P](l)
	if err != nil {
		m := asMistake(err)
		at := -1
		if m.Got != nil {
			at = end
			if m.Got.Type != token.EOF {
				at = p.pos + sort.Search(end-p.pos, func(i int) bool { return p.Tokens[p.pos+i].Lo >= int32(m.Got.Pos.Offset) })
				if p.Tokens[at].Lo != int32(m.Got.Pos.Offset) {
					at = -1 // inside an f-string
				}
			} else {
				m = p.atEnd(m, end)
			}
		}
		p.fail(advice.Failure{From: p.begin, At: at, Mistake: m})
		p.pos = max(p.pos, end)
		return nil
	}
	p.pos += int(l.RawCursor())
	return h
}

// fits reports folds that may not stand where the tokens from pos to end are.
func (p *parser) fits(end int, w where) bool {
	for i := p.pos; i < end; i++ {
		if !w.codelet && token.IsFold(p.Text, p.Tokens, i) {
			p.report(misplacedFold(p.Tokens[i], p.Text))
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
	c.Span = Span{Lo: p.Tokens[0].Lo, Hi: p.Tokens[p.pos-1].Hi}
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
	f.Span = Span{Lo: p.Tokens[0].Lo, Hi: p.Tokens[p.pos-1].Hi}
	return f, nil
}

// signatureHead reads a signature, which begins with a name.
func signatureHead[P any](p *parser) *P {
	if k := p.Tokens[p.pos].Kind; k != token.Ident && k != token.Bad && len(p.mistakes) == 0 {
		p.report(p.atEnd(token.Unexpected(p.TokenAt(p.pos), "a name"), p.pos))
		return nil
	}
	return head[P](p, where{})
}

// wholeText reports what follows a signature.
func (p *parser) wholeText() error {
	if len(p.mistakes) == 0 {
		for p.Tokens[p.pos].Kind == token.NL {
			p.pos++
		}
		if p.Tokens[p.pos].Kind != token.EOF {
			p.report(token.Unexpected(p.TokenAt(p.pos), "the end of the signature"))
		}
	}
	return p.diagnostics().Err()
}

// Incomplete reports whether text, entered at a prompt, needs more lines: a bracket
// is open, the last line ends where a newline is white space, or a statement waits
// for a word that may begin a line. A text with another mistake is complete.
func Incomplete(text string) bool {
	s := token.Scan(text)
	if len(s.Mistakes) > 0 {
		return false
	}
	if n := len(s.Tokens); n > 1 {
		last := n - 2
		for last > 0 && s.Tokens[last].Kind == token.NL && s.Tokens[last].Text(text) == "\n" {
			last--
		}
		if s.Continued(s.Tokens[last]) {
			return true
		}
	}
	s.Layout()
	for _, m := range s.Mistakes {
		if m.Code != "E0102" || len(m.Labels) == 0 || !m.Labels[0].AtEnd {
			return false
		}
	}
	if s.AtEnd {
		return true
	}
	p := newParser(diag.NewSource("", text), true)
	p.stmts(where{top: true})
	if len(p.mistakes) != 1 {
		return false
	}
	m := p.mistakes[0]
	if m.Got == nil || m.Got.Type != token.EOF && !(m.Got.Type == token.NL && onlySpace(text[min(m.Got.Pos.Offset, len(text)):])) {
		return false
	}
	for _, e := range m.Expect {
		switch e {
		case "`by`", "`then`", "`else`", "`with`":
			return true
		}
	}
	return false
}

// onlySpace reports whether nothing but white space and comments is in s.
func onlySpace(s string) bool {
	toks := token.Scan(s).Tokens
	for _, t := range toks {
		if t.Kind != token.NL && t.Kind != token.EOF {
			return false
		}
	}
	return true
}

// Statements that begin with no word of the language: assignments, calls, and what was
// meant to be one.

// simple reads an assignment or an expression statement.
func (p *parser) simple(w where) Stmt {
	from := p.pos
	first := p.Tokens[from]
	if first.Kind == token.Ident && p.mayBeWord(from) && p.explained(advice.Failure{About: advice.Word, From: from, At: from}) {
		p.pos, _ = p.HeadEnd(from + 1) // the name, as a word, begins no fold
		return nil
	}
	if t := p.TokenAt(from); first.Kind != token.Bad && !first.Open && !token.StartsExpr(t) {
		m := token.Unexpected(t, "a statement")
		if end, bad := p.HeadEnd(from); !bad || end == from {
			p.fail(advice.Failure{From: from, At: from, Mistake: m})
		} else {
			p.pos = end
		}
		return nil
	}
	h := quick(p, w, quickSimple)
	if h == nil {
		return nil
	}
	if len(h.Op) > 0 {
		return &Assign{Target: h.Target, Op: h.Op[0].Value, OpAt: spanAll(h.Op), Value: h.Value}
	}
	if !p.startsOrEnds() {
		return &ExprStmt{X: h.Target} // finish reports what follows
	}
	if !(p.entry && w.top) && !w.codelet && !hasEffect(h.Target) {
		m := &token.Mistake{Code: "E0105", At: h.Target.Range(), Msg: "this expression has no effect"}
		if meant, ok := p.advise(&p.List, advice.Failure{About: advice.Effect, From: p.begin, At: p.pos, Mistake: m}); ok {
			m = meant
		}
		p.report(m)
		return nil
	}
	return &ExprStmt{X: h.Target}
}

// startsOrEnds reports whether the statement ends at pos, or another begins there.
func (p *parser) startsOrEnds() bool {
	k := p.Tokens[p.pos].Kind
	return k == token.NL || k == token.EOF || p.BlockEnd(p.pos) || p.StartsStatement(p.pos)
}

// mayBeWord reports whether the name at token i, by what follows it, may have been meant as
// the word of a statement.
func (p *parser) mayBeWord(i int) bool {
	switch p.Tokens[i+1].Kind {
	case token.Assign:
		return false
	case token.Op:
		return p.Is(i+1, "{") || p.BlockEnd(i+1)
	}
	return true
}

// hasEffect reports whether x may be as a statement.
func hasEffect(x Expr) bool {
	switch x := x.(type) {
	case *Paren:
		return hasEffect(x.X)
	case *Call, *Insert:
		return true
	}
	return false
}

// Comments of other languages that read as operators: f(a) // word, f(a) -- word.

// AsComment returns what begins a comment in other languages where b ends with its line,
// as in `x // word` and `x -- none`, and what follows it.
func (b *Binary) AsComment(text string) (sign Span, rest Expr) {
	sign, rest = b.OpAt, b.Y
	if y, ok := rest.(*Unary); ok && y.Op == "-" && y.OpAt.Lo == sign.Hi {
		sign.Hi, rest = y.OpAt.Hi, y.X
	}
	if op := text[sign.Lo:sign.Hi]; op != "//" && op != "--" {
		return Span{}, nil
	}
	behind, _, _ := strings.Cut(text[b.Range().Hi:], "\n")
	if strings.TrimSpace(behind) != "" {
		return Span{}, nil
	}
	return sign, rest
}

// IsWord reports whether e is a name or a literal, which may be all of a comment.
func IsWord(e Expr) bool {
	switch e.(type) {
	case *Ident, *NoneLit, *BoolLit, *IntLit, *FloatLit, *ImagLit, *StringLit, *ListLit:
		return true
	}
	return false
}

// ReadsAsPower reports whether b, an exclusive or, is one that other languages write for a
// power: x ^ 2 or 10 ^ n, with a literal that is decimal.
func (b *Binary) ReadsAsPower() bool {
	decimal := func(x Expr, values ...int64) bool {
		n, ok := Unparen(x).(*IntLit)
		return ok && slices.Contains(values, n.Value) && n.Text == strconv.FormatInt(n.Value, 10)
	}
	return b.Op == "^" && (decimal(b.Y, 2, 3) || decimal(b.X, 2, 10))
}
