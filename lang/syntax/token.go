package syntax

// Tokens: the alphabet of the grammar, and the participle lexer that serves it.

import (
	"io"
	"sort"

	"github.com/alecthomas/participle/v2/lexer"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
)

// Kinds of tokens, as participle names them.
const (
	tokEOF     = -1         // lexer.EOF
	tokNL      = -10 - iota // newline or ; that ends a statement
	tokIdent                // a name, contextual words included
	tokKeyword              // a reserved word
	tokInt                  // 42, 1_000, 0xff, 16Ki
	tokFloat                // 1.0, 1e-6
	tokString               // "a\n", as written
	tokFString              // f"n = {n}", as written
	tokAssign               // = += -= *= /=
	tokOp                   // all other signs
	tokBad                  // what the scanner has reported already
	tokVirtual              // the end of a block whose } is missing
	tokOpen                 // the beginning of a block whose { is missing
)

var symbols = map[string]lexer.TokenType{
	"EOF": tokEOF, "NL": tokNL, "Ident": tokIdent, "Keyword": tokKeyword, "Int": tokInt, "Float": tokFloat,
	"String": tokString, "FString": tokFString, "Assign": tokAssign, "Op": tokOp, "Bad": tokBad, "Virtual": tokVirtual, "Open": tokOpen,
}

// token is a piece of the text: bytes [lo, hi).
type token struct {
	lo, hi int32
	kind   int8
	open   bool // a bracket that is never closed, or a closing one without a partner
}

// text returns the bytes of t in the source s.
func (t token) text(s string) string { return s[t.lo:t.hi] }

// definition is the participle lexer of the language: scanner and layout pass.
type definition struct{}

// Symbols names the kinds of tokens.
func (definition) Symbols() map[string]lexer.TokenType { return symbols }

// Lex reads all of r and serves its tokens. Texts with lexical errors give the
// diagnostics as error.
func (d definition) Lex(filename string, r io.Reader) (lexer.Lexer, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return d.LexString(filename, string(text))
}

// LexString is Lex for a string.
func (definition) LexString(filename, text string) (lexer.Lexer, error) {
	s := scan(text)
	s.layout()
	if len(s.mistakes) > 0 {
		src := diag.NewSource(filename, text)
		ds := make(diag.Diagnostics, len(s.mistakes))
		for i, m := range s.mistakes {
			ds[i] = m.diagnostic(src)
		}
		return nil, ds
	}
	return &sliceLexer{text: text, toks: s.toks, end: int32(len(text))}, nil
}

// sliceLexer serves tokens that were scanned before. Only the offset of positions
// is set: lines and columns come from the source when a diagnostic needs them.
type sliceLexer struct {
	text  string
	shift int32 // offset of text in the source
	toks  []token
	next  int
	end   int32 // where the EOF token stands
}

// Next returns the next token, EOF at the end.
func (l *sliceLexer) Next() (lexer.Token, error) {
	if l.next >= len(l.toks) || l.toks[l.next].kind == tokEOF {
		return lexer.Token{Type: tokEOF, Pos: lexer.Position{Offset: int(l.end)}}, nil
	}
	t := l.toks[l.next]
	l.next++
	return lexer.Token{Type: lexer.TokenType(t.kind), Value: l.text[t.lo-l.shift : t.hi-l.shift], Pos: lexer.Position{Offset: int(t.lo)}}, nil
}

// Words: the reserved words of the language and those that mean something only
// where the grammar asks for them.

// reserved are the words that are never names.
var reserved = wordSet(
	"import", "as", "param", "extern", "codelet", "func", "let", "register", "partition", "unpartition", "by", "then",
	"insert", "with", "acquire", "release", "wait", "prefetch", "to", "hint", "invalidate", "unregister", "evict", "if",
	"else", "for", "in", "while", "return", "break", "continue", "assert", "each", "true", "false", "none", "and", "or", "not")

// statementWords begin a statement.
var statementWords = []string{
	"import", "param", "extern", "codelet", "func", "let", "register", "partition", "unpartition", "insert", "acquire",
	"release", "wait", "prefetch", "hint", "invalidate", "unregister", "evict", "if", "for", "while", "return", "break",
	"continue", "assert", "each",
}

var isStatementWord = wordSet(statementWords...)

// topLevelOnly begin the statements that are visible in the whole file.
var topLevelOnly = wordSet("import", "param", "extern", "codelet", "func")

// continues are the words that, at the start of a line, belong to the line before.
var continues = wordSet("with", "then", "else", "by", "and", "or")

// expectsMore are the words after which a newline is white space.
var expectsMore = wordSet("and", "or", "not", "in", "by", "then")

// foldWords begin a fold when a name follows.
var foldWords = wordSet("sum", "prod", "min", "max")

func wordSet(words ...string) map[string]bool {
	m := make(map[string]bool, len(words))
	for _, w := range words {
		m[w] = true
	}
	return m
}

// Keywords returns the reserved words, sorted.
func Keywords() []string {
	out := make([]string, 0, len(reserved))
	for w := range reserved {
		out = append(out, w)
	}
	sort.Strings(out)
	return out
}

// modeOf returns the access mode that word names, NoMode for other words.
func modeOf(word string) iface.AccessMode {
	if len(word) == 0 || word[0] < 'C' || word[0] > 'W' {
		return iface.NoMode
	}
	m, _ := iface.ModeByName(word)
	return m
}

// Sources: where expressions are read from.

// source is a list of tokens with a place in it.
type source interface {
	Peek() *lexer.Token
	Next() *lexer.Token
	ahead(n int) *lexer.Token // the token n places behind the next one
}

// peeking is the lexer that participle hands over.
type peeking struct{ *lexer.PeekingLexer }

func (l peeking) ahead(n int) *lexer.Token {
	back := l.MakeCheckpoint()
	for range n {
		l.Next()
	}
	t := l.Peek()
	l.LoadCheckpoint(back)
	return t
}

// stream is the tokens of one statement; the last is EOF.
type stream struct {
	toks []lexer.Token
	pos  int
}

func (s *stream) Peek() *lexer.Token { return &s.toks[s.pos] }

func (s *stream) Next() *lexer.Token {
	t := &s.toks[s.pos]
	if s.pos < len(s.toks)-1 {
		s.pos++
	}
	return t
}

func (s *stream) ahead(n int) *lexer.Token { return &s.toks[min(s.pos+n, len(s.toks)-1)] }
