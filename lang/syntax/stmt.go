package syntax

// Statement driver: finds the tokens of one statement, hands them to participle,
// reads blocks, and goes on behind a mistake.

import (
	"slices"
	"sort"

	"github.com/alecthomas/participle/v2/lexer"

	"github.com/starpush/starpush/lang/diag"
)

// maxElse bounds the `else if` of one statement.
const maxElse = 50_000

// parser reads one source.
type parser struct {
	src      *diag.Source
	text     string
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
	return &parser{src: src, text: src.Text, toks: s.toks, comments: s.comments, mistakes: s.mistakes, entry: entry}
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
func (p *parser) str(i int) string { return p.toks[i].text(p.text) }

// is reports whether token i is the sign or word text.
func (p *parser) is(i int, text string) bool {
	switch t := p.toks[i]; t.kind {
	case tokKeyword, tokOp, tokAssign, tokIdent:
		return t.text(p.text) == text
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
	return &lexer.Token{Type: lexer.TokenType(t.kind), Value: t.text(p.text), Pos: lexer.Position{Offset: int(t.lo)}}
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
	word := t.text(p.text)
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
