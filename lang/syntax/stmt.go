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
			last := &out[len(out)-1]
			last.Notes = append(last.Notes, itoa(len(p.mistakes)-i)+" more syntax errors are not shown")
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

// maxCrowd is how many statements too many of one line are looked at: each begins
// with a look at the rest of the line.
const maxCrowd = 20

// finish makes sure that the statement that began at token from ends at pos, and
// goes on behind the rest when it does not. read says that the statement is fine so
// far.
func (p *parser) finish(w where, from int, read bool) {
	t := p.toks[p.pos]
	if t.kind == tokNL || t.kind == tokEOF || p.blockEnd(p.pos) {
		p.crowd = 0
		return
	}
	if read {
		if p.is(p.pos, "else") && p.pos < p.loose {
			p.pos, _ = p.headEnd(p.pos) // of a block that has no braces, which was said
		} else if p.reportHabit(from, p.pos) {
			// where it ends was found, too
		} else if p.startsStatement(p.pos) && !p.misspeltInsert(p.pos-1) {
			m := p.mistakeAt(p.span(p.pos), "E0104", "two statements on one line").labelled("a new statement starts here")
			lo := p.toks[p.pos-1].hi
			m.edit(Span{lo, t.lo}, "\n"+p.indentOf(from))
			m.sure = t.kind == tokKeyword || p.isBlock(p.pos-1) || p.toks[p.pos+1].kind == tokAssign || p.is(p.pos, "print") || p.is(p.pos, "save") // else an operator may be lost
			if p.isBlock(p.pos - 1) {
				m.hint("put it on its own line")
			} else {
				m.hint("put it on its own line, or write `;` before it")
			}
			if p.crowd++; p.crowd == maxCrowd {
				for p.crowd = 0; p.toks[p.pos].kind != tokNL && p.toks[p.pos].kind != tokEOF; {
					p.pos++
				}
			}
			return
		} else {
			end, bad := p.headEnd(p.pos)
			if !bad {
				p.report(p.trailing(from))
			}
			p.pos = end
		}
	} else if end, _ := p.headEnd(p.pos); end > p.pos {
		p.pos = end
	}
	if p.is(p.pos, "{") {
		p.block(w.lenient())
		for p.is(p.pos, "else") {
			p.pos++
			p.pos, _ = p.headEnd(p.pos)
			if p.is(p.pos, "{") {
				p.block(w.lenient())
			}
		}
	}
}

// reportHabit reports where the mistake at token at of the statement that began at
// token from comes from, and goes on behind it; false when nothing tells.
func (p *parser) reportHabit(from, at int) bool {
	m, next := p.habit(from, at)
	if m == nil {
		return false
	}
	p.report(m)
	end, _ := p.headEnd(p.pos)
	p.pos = max(end, next)
	return true
}

// indentOf is the white space at the start of the line of token i.
func (p *parser) indentOf(i int) string {
	lo := strings.LastIndexByte(p.text[:p.toks[i].lo], '\n') + 1
	line := p.text[lo:p.toks[i].lo]
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// misspeltInsert reports whether token i is a name that most likely means insert, as
// in `let t = insrt f(RW x)`.
func (p *parser) misspeltInsert(i int) bool {
	if p.toks[i].kind != tokIdent || p.toks[i+1].kind != tokIdent {
		return false
	}
	_, near := diag.Nearest(p.str(i), []string{"insert"})
	return near
}

// lenient is the inside of a block whose head could not be read: what may stand in
// any block may stand there.
func (w where) lenient() where {
	w.top, w.fn, w.loop = false, true, true
	return w
}

// isBlock reports whether token i is the brace at the end of a block.
func (p *parser) isBlock(i int) bool { return p.is(i, "}") }

// startsStatement reports whether token i most likely begins a statement.
func (p *parser) startsStatement(i int) bool {
	switch t := p.toks[i]; t.kind {
	case tokKeyword:
		return isStatementWord[t.text(p.text)]
	case tokIdent:
		next := p.toks[i+1]
		return next.kind == tokAssign || next.kind == tokOp && (p.is(i+1, "(") || p.is(i+1, ".") || p.is(i+1, "["))
	}
	return false
}

// trailing words what is wrong with the token at pos, which no part of the statement
// that began at token from can be.
func (p *parser) trailing(from int) *mistake {
	t := p.tokenAt(p.pos)
	m := unexpected(t, "the end of the statement")
	switch {
	case t.Value == "//":
		m.hint("comments start with `#`").edit(p.span(p.pos), "#")
	case t.Value == "/" && p.is(p.pos+1, "*"):
		m.hint("comments start with `#`")
	case p.misspeltInsert(p.pos - 1):
		m.meant(p.span(p.pos-1), "insert")
	case t.Type == tokIdent && p.is(p.pos+1, "in") && p.meantWord(m, p.pos-1, folding):
	case t.Type == tokIdent && p.pos > from+1 && p.meantWord(m, p.pos, linking):
	case p.toks[from].kind == tokKeyword && p.is(from, "insert") && p.pos == from+2 && p.toks[from+1].kind == tokIdent:
		m.hint("the operands of a task stand in parentheses: `insert %s(…)`", p.str(from+1))
	case t.Value == ":" && p.toks[from].kind == tokKeyword:
		m.hint("a block stands in braces: `{ … }`")
	case t.Value == ":" && p.pos == from+1 && p.toks[from].kind == tokIdent:
		m.hint("a new name is declared with `let %s: … = …`", p.str(from))
	case t.Value == "{":
		m.expect = nil
		m.msg = "unexpected `{`"
		m.hint("a block belongs to `if`, `for`, `while`, `func`, `codelet`, `each` or `acquire`")
	default:
		for i := from; i < p.pos; i++ {
			if p.is(i, "//") {
				m.hint("comments start with `#`; `//` divides")
				break
			}
		}
	}
	return m
}

// isFold reports whether token i of toks is the word of a fold: a name follows.
func isFold(text string, toks []token, i int) bool {
	t := toks[i]
	if t.kind != tokIdent || toks[i+1].kind != tokIdent || !foldWords[t.text(text)] {
		return false
	}
	return i == 0 || toks[i-1].kind != tokOp || toks[i-1].text(text) != "."
}

// misplacedFold is the error of a fold outside a codelet.
func misplacedFold(t token, text string) *mistake {
	w := t.text(text)
	m := &mistake{code: "E0105", at: Span{t.lo, t.hi}, msg: "`" + w + "` over a domain may stand in a codelet only"}
	switch w {
	case "min", "max":
		return m.hint("`%s(a, b)` takes two or more values", w)
	}
	return m.hint("add up in a loop: `for i in 0..n { s += xs[i] }`")
}

// headEnd finds the end of the statement, or of its head when a block follows, that
// goes on at token i. bad says that it holds something reported already.
func (p *parser) headEnd(i int) (end int, bad bool) {
	folds, depth := 0, 0
	for ; ; i++ {
		t := p.toks[i]
		switch t.kind {
		case tokEOF:
			return i, bad
		case tokNL:
			if depth == 0 {
				return i, bad
			}
		case tokVirtual:
			if depth == 0 {
				return i, bad
			}
			depth--
		case tokOpen:
			if depth == 0 && folds == 0 {
				return i, bad
			}
			folds--
			depth++
			bad = bad || t.open
		case tokBad:
			bad = true
		case tokIdent:
			if isFold(p.text, p.toks, i) {
				folds++
			}
		case tokOp:
			switch p.text[t.lo] {
			case '{':
				if depth == 0 && folds == 0 {
					return i, bad
				}
				folds--
				depth++
				bad = bad || t.open
			case '(', '[':
				if t.open {
					bad = true
				} else {
					depth++
				}
			case '}':
				if t.open {
					bad = true
				} else if depth == 0 {
					return i, bad
				} else {
					depth--
				}
			case ')', ']':
				if t.open {
					bad = true
				} else {
					depth--
				}
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
		p.mistakeAt(at, "E0105", "`else` without an `if` before it").hint("`else` follows the `}` of its `if`")
	case topLevelOnly[word]:
		p.mistakeAt(at, "E0105", "`"+word+"` may stand at the top level of a file only").hint("move it out of the block")
	case w.codelet:
		m := p.mistakeAt(at, "E0105", "`"+word+"` may not stand in a codelet")
		if word == "while" {
			m.hint("a loop in a codelet is a `for` over a range")
		} else {
			m.hint("the body of a codelet has `each`, `for`, `if`, `let` and assignments")
		}
	case word == "each":
		p.mistakeAt(at, "E0105", "`each` may stand in a codelet only").hint("outside of codelets a loop is `for`")
	case word == "return":
		p.mistakeAt(at, "E0105", "`return` may stand in a `func` only").hint("a script ends at its last line; to leave a part out write `if`, to stop in an error `assert`")
	default:
		p.mistakeAt(at, "E0105", "`"+word+"` may stand in a loop only")
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
		p.report(m.hint("a `{` stands on the line of what it belongs to"))
		p.pos++
		p.block(w)
		return nil
	}
	if !p.reportHabit(p.begin, p.pos) {
		p.report(p.atEnd(unexpected(p.tokenAt(p.pos), "`{`"), p.pos))
	}
	return nil
}

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
	l, err := lexer.Upgrade(&sliceLexer{text: p.text, toks: p.toks[p.pos:end], end: p.toks[end].lo})
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
		m.hint("a module stands in quotes, as in `import \"std/blas\" as blas`")
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
	case p.is(i, ".") && p.toks[i+1].kind == tokInt:
		m.hint("a float has a digit on both sides of the point: `0.%s`", p.str(i+1))
	case p.is(i-1, "*") && p.is(i, "*"), p.is(i-1, "+") && p.is(i, "+"):
		m.hint("write `x += 1`")
	case p.is(i, ":") && (slices.Contains(m.expect, "`{`") || len(m.expect) > 0 && m.expect[0] == "the end of the statement" && p.toks[i+1].kind != tokOp):
		m.hint("a block stands in braces: `{ … }`")
	case this.kind == tokNL && p.str(i) == ";" && (slices.Contains(m.expect, "`,`") || slices.Contains(m.expect, "`)`")):
		m.hint("write `,`").edit(p.span(i), ",").certain()
	case p.is(i, "(") && prev.kind == tokIdent && constructors[p.str(i-1)]:
		m.hint("the element type stands in square brackets: `%s[f64]`", p.str(i-1))
	case len(m.help) == 0 && slices.Contains(m.expect, "`,`") && startsExpr(m.got):
		m.hint("add `,` after `%s`", clip(prev.text(p.text))).edit(Span{prev.hi, prev.hi}, ",")
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
		if !w.codelet && isFold(p.text, p.toks, i) {
			p.report(misplacedFold(p.toks[i], p.text))
			return false
		}
	}
	return true
}
