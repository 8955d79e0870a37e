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

// AsComment returns what begins a comment in other languages where b ends with a word
// or a literal that ends its line, as in `x // word` and `x -- none`, and that word.
func (b *Binary) AsComment(text string) (sign Span, word Expr) {
	sign, word = b.OpAt, b.Y
	if y, ok := word.(*Unary); ok && y.Op == "-" && y.OpAt.Lo == sign.Hi {
		sign.Hi, word = y.OpAt.Hi, y.X
	}
	if op := text[sign.Lo:sign.Hi]; op != "//" && op != "--" {
		return Span{}, nil
	}
	switch word.(type) {
	case *Ident, *NoneLit, *BoolLit, *IntLit, *FloatLit, *StringLit, *ListLit:
	default:
		return Span{}, nil
	}
	rest, _, _ := strings.Cut(text[b.Range().Hi:], "\n")
	if strings.TrimSpace(rest) != "" {
		return Span{}, nil
	}
	return sign, word
}
