package syntax

// Statements that begin with no word of the language: assignments, calls, and what was
// meant to be one.

import (
	"strings"

	"github.com/starpush/starpush/lang/syntax/advice"
	"github.com/starpush/starpush/lang/syntax/token"
)

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
	case *Ident, *NoneLit, *BoolLit, *IntLit, *FloatLit, *StringLit, *ListLit:
		return true
	}
	return false
}
