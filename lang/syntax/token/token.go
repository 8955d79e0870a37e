package token

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
	EOF     = -1         // lexer.EOF
	NL      = -10 - iota // newline or ; that ends a statement
	Ident                // a name, contextual words included
	Keyword              // a reserved word
	Int                  // 42, 1_000, 0xff, 16Ki
	Float                // 1.0, 1e-6
	String               // "a\n", as written
	FString              // f"n = {n}", as written
	Assign               // = += -= *= /= &= |= ^= <<= >>=
	Op                   // all other signs
	Bad                  // what the scanner has reported already
	Virtual              // the end of a block whose } is missing
	Open                 // the beginning of a block whose { is missing
)

var symbols = map[string]lexer.TokenType{
	"EOF": EOF, "NL": NL, "Ident": Ident, "Keyword": Keyword, "Int": Int, "Float": Float,
	"String": String, "FString": FString, "Assign": Assign, "Op": Op, "Bad": Bad, "Virtual": Virtual, "Open": Open,
}

// Token is a piece of the text: bytes [lo, hi).
type Token struct {
	Lo, Hi int32
	Kind   int8
	Open   bool // a bracket that is never closed, or a closing one without a partner
}

// Text returns the bytes of t in the source s.
func (t Token) Text(s string) string { return s[t.Lo:t.Hi] }

// Definition is the participle lexer of the language: scanner and layout pass.
type Definition struct{}

// Symbols names the kinds of tokens.
func (Definition) Symbols() map[string]lexer.TokenType { return symbols }

// Lex reads all of r and serves its tokens. Texts with lexical errors give the
// diagnostics as error.
func (d Definition) Lex(filename string, r io.Reader) (lexer.Lexer, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return d.LexString(filename, string(text))
}

// LexString is Lex for a string.
func (Definition) LexString(filename, text string) (lexer.Lexer, error) {
	s := Scan(text)
	s.Layout()
	if len(s.Mistakes) > 0 {
		src := diag.NewSource(filename, text)
		ds := make(diag.Diagnostics, len(s.Mistakes))
		for i, m := range s.Mistakes {
			ds[i] = m.Diagnostic(src)
		}
		return nil, ds
	}
	return &Lexer{Text: text, Tokens: s.Tokens, End: int32(len(text))}, nil
}

// Lexer serves tokens that were scanned before. Only the offset of positions
// is set: lines and columns come from the source when a diagnostic needs them.
type Lexer struct {
	Text   string
	Shift  int32 // offset of text in the source
	Tokens []Token
	next   int
	End    int32 // where the EOF token stands
}

// Next returns the next token, EOF at the end.
func (l *Lexer) Next() (lexer.Token, error) {
	if l.next >= len(l.Tokens) || l.Tokens[l.next].Kind == EOF {
		return lexer.Token{Type: EOF, Pos: lexer.Position{Offset: int(l.End)}}, nil
	}
	t := l.Tokens[l.next]
	l.next++
	return lexer.Token{Type: lexer.TokenType(t.Kind), Value: l.Text[t.Lo-l.Shift : t.Hi-l.Shift], Pos: lexer.Position{Offset: int(t.Lo)}}, nil
}

// Words: the reserved words of the language and those that mean something only
// where the grammar asks for them.

// Reserved are the words that are never names.
var Reserved = WordSet(
	"import", "as", "param", "extern", "struct", "codelet", "func", "let", "register", "partition", "unpartition", "by", "then",
	"insert", "with", "acquire", "release", "wait", "prefetch", "to", "hint", "invalidate", "unregister", "evict", "if",
	"checkpoint", "else", "for", "in", "while", "return", "break", "continue", "assert", "each", "true", "false", "none", "and", "or", "not")

// StatementWords begin a statement.
var StatementWords = []string{
	"import", "param", "extern", "struct", "codelet", "func", "let", "register", "partition", "unpartition", "insert", "acquire",
	"release", "wait", "prefetch", "hint", "invalidate", "unregister", "evict", "checkpoint", "if", "for", "while", "return", "break",
	"continue", "assert", "each",
}

// IsStatementWord has the StatementWords.
var IsStatementWord = WordSet(StatementWords...)

// TopLevelOnly begin the statements that are visible in the whole file.
var TopLevelOnly = WordSet("import", "param", "extern", "struct", "codelet", "func")

// continues are the words that, at the start of a line, belong to the line before.
var continues = WordSet("with", "then", "else", "by", "and", "or")

// expectsMore are the words after which a newline is white space.
var expectsMore = WordSet("and", "or", "not", "in", "by", "then")

// FoldWords begin a fold when a name follows.
var FoldWords = WordSet("sum", "prod", "min", "max")

// WordSet makes a set of words.
func WordSet(words ...string) map[string]bool {
	m := make(map[string]bool, len(words))
	for _, w := range words {
		m[w] = true
	}
	return m
}

// Keywords returns the reserved words, sorted.
func Keywords() []string {
	out := make([]string, 0, len(Reserved))
	for w := range Reserved {
		out = append(out, w)
	}
	sort.Strings(out)
	return out
}

// ModeOf returns the access mode that word names, NoMode for other words.
func ModeOf(word string) iface.AccessMode {
	if len(word) == 0 || word[0] < 'C' || word[0] > 'W' {
		return iface.NoMode
	}
	m, _ := iface.ModeByName(word)
	return m
}

// Span is a range of byte offsets into the source of the file: [Lo, Hi).
type Span struct{ Lo, Hi int32 }

// Range returns s, so that embedding Span makes a Node.
func (s Span) Range() Span { return s }

// Comment is one # or ## comment; Text is all of it, without the newline.
type Comment struct {
	Span
	Text string
}

// SpanOf is the range of t.
func SpanOf(t *lexer.Token) Span {
	return Span{int32(t.Pos.Offset), int32(t.Pos.Offset + len(t.Value))}
}

// The first tokens of expressions, and the precedence of operators.

// StartsPostfix reports whether a primary expression begins with t.
func StartsPostfix(t *lexer.Token) bool {
	switch t.Type {
	case Ident, Int, Float, String, FString:
		return true
	case Op:
		return t.Value == "(" || t.Value == "["
	case Keyword:
		switch t.Value {
		case "true", "false", "none", "insert":
			return true
		}
	}
	return false
}

// StartsExpr reports whether an expression begins with t.
func StartsExpr(t *lexer.Token) bool {
	switch {
	case StartsPostfix(t):
		return true
	case t.Type == Op:
		return t.Value == "-" || t.Value == "~"
	case t.Type == Keyword:
		return t.Value == "if" || t.Value == "not"
	}
	return false
}

// BitOps are the binary operators on the bits of integers.
var BitOps = WordSet("&", "|", "^", "<<", ">>")

// Levels of binary operators, low to high.
const (
	LevelOr = iota
	LevelAnd
	LevelNot
	LevelCmp
	LevelRange
	LevelAdd
	LevelMul
	LevelUnary
)

// LevelOf is the level of a binary operator, -1 for other tokens.
func LevelOf(t *lexer.Token) int {
	switch t.Type {
	case Keyword:
		switch t.Value {
		case "or":
			return LevelOr
		case "and":
			return LevelAnd
		}
	case Op:
		switch t.Value {
		case "==", "!=", "<", "<=", ">", ">=":
			return LevelCmp
		case "..", "..=":
			return LevelRange
		case "+", "-", "|", "^":
			return LevelAdd
		case "*", "/", "//", "%", "<<", ">>", "&":
			return LevelMul
		}
	}
	return -1
}
