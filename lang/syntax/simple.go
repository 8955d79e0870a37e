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
		p.noEffect(h.Target)
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

// decrement finds x-- at the end of a line, which reads as x - -y with the line below it.
func (p *parser) decrement(x Expr) (lo, hi int32, name string) {
	b, ok := x.(*Binary)
	for ok && b.Op == "-" {
		if u, neg := b.Y.(*Unary); neg && u.Op == "-" && u.OpAt.Lo == b.OpAt.Hi {
			r := b.X.Range()
			if rest := strings.TrimLeft(p.Text[u.OpAt.Hi:], " \t"); strings.HasPrefix(rest, "\n") && r.Hi == b.OpAt.Lo {
				return r.Lo, u.OpAt.Hi, p.Text[r.Lo:r.Hi]
			}
		}
		b, ok = b.X.(*Binary)
	}
	return 0, 0, ""
}

// callable reports whether x may name a function: not where the text makes it another
// name, nor a field of one that no import gives.
func (p *parser) callable(x Expr) bool {
	switch x := x.(type) {
	case *Ident:
		return !p.DeclaredBy("let", x.Name) && !p.DeclaredBy("register", x.Name) && !p.DeclaredBy("param", x.Name)
	case *Selector:
		id, ok := x.X.(*Ident)
		return ok && p.imported(id.Name)
	}
	return true
}

// imported reports whether an import gives the name.
func (p *parser) imported(name string) bool {
	for i := range p.Tokens {
		if p.Kind(i) != token.Keyword || !p.Has(i, "import") {
			continue
		}
		if p.Has(i+2, "as") && p.Has(i+3, name) || strings.HasSuffix(strings.Trim(p.Str(i+1), `"`), name) {
			return true
		}
	}
	return false
}

// noEffect reports E0105 for an expression statement.
func (p *parser) noEffect(x Expr) {
	m := p.mistakeAt(x.Range(), "E0105", "this expression has no effect")
	if _, ok := p.advise(&p.List, advice.Failure{About: advice.Effect, From: p.begin, At: p.begin, Mistake: m}); ok {
		return
	}
	src := func(e Expr) string { r := e.Range(); return token.Clip(p.Text[r.Lo:r.Hi]) }
	if lo, hi, name := p.decrement(x); name != "" {
		m.At, m.Code, m.Msg = Span{Lo: lo, Hi: hi}, "E0101", "there is no operator `--`"
		m.Hint("write `%s -= 1`", name).Edit(Span{Lo: lo, Hi: hi}, name+" -= 1").Certain()
		return
	}
	switch x := x.(type) {
	case *Unary: // { -- word
		if y, twice := x.X.(*Unary); twice && x.Op == "-" && y.Op == "-" && x.OpAt.Hi == y.OpAt.Lo && p.Text[y.OpAt.Hi] == ' ' {
			m.At, m.Code, m.Msg = Span{Lo: x.OpAt.Lo, Hi: y.OpAt.Hi}, "E0101", "unexpected `--`: comments start with `#`"
			m.Hint("write `#`").Edit(m.At, "#")
			return
		}
	case *Binary:
		if x.Op == "==" {
			m.Hint("to assign, write `%s = %s`", src(x.X), src(x.Y)).Edit(x.OpAt, "=")
			return
		}
		if at := p.meantComment(x); at.Hi > at.Lo {
			m.At, m.Code, m.Msg = at, "E0101", "unexpected `"+p.Text[at.Lo:at.Hi]+"`: comments start with `#`"
			m.Hint("write `#`").Edit(at, "#")
			return
		}
	case *Ident, *Selector:
		if id, ok := x.(*Ident); ok && p.DeclaredBy("func", id.Name) {
			m.Hint("to call it, write `%s()`", id.Name).Edit(Span{Lo: id.Hi, Hi: id.Hi}, "()")
			return
		}
		if !p.callable(x) {
			break
		}
		m.Hint("to call it, write `%s()`; to see it, `print(%s)`", src(x), src(x))
		return
	}
	r := x.Range()
	m.Edit(r, "print("+p.Text[r.Lo:r.Hi]+")")
	if r.Hi-r.Lo < 30 {
		m.Hint("to see it, write `print(%s)`; to keep it, `let x = %s`", src(x), src(x))
		return
	}
	m.Hint("to see it, `print` it; to keep it, give it a name with `let`")
}

// Comments of other languages that read as operators: f(a) // word, f(a) -- word.

// meantComment returns the sign of the comment that the statement x ends with, as in
// `f(a) // word` and `insert f(R a) -- word`: a division or subtraction of such results
// makes no sense.
func (p *parser) meantComment(x *Binary) (sign Span) {
	switch x.X.(type) {
	case *Call, *Insert:
		sign, _ = x.AsComment(p.Text)
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
