package syntax

// Comments of other languages that read as operators: f(a) // word, f(a) -- word.

import "strings"

// meantComment returns the sign of the comment that the statement x ends with, as in
// `f(a) // word` and `insert f(R a) -- word`, whose result nobody would divide.
func (p *parser) meantComment(x *Binary) (sign Span) {
	switch x.X.(type) {
	case *Call, *Insert:
		sign, _ = x.AsComment(p.text)
	}
	return sign
}

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
	case *Ident, *NoneLit, *BoolLit, *IntLit, *FloatLit, *StringLit, *ListLit:
		return true
	}
	return false
}
