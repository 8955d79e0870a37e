package syntax

// Tokens: the alphabet of the grammar, and the participle lexer that serves it.

import (
	"io"

	"github.com/alecthomas/participle/v2/lexer"

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
