package syntax

// The commonest statements by hand. Participle copies the tokens of a statement,
// finds fields by reflection and takes a branch for every option of the grammar:
// parsing took 9.1 µs a statement, and takes 3.9. What does not fit here goes to
// participle, which reads it or says what is wrong, so the grammar alone decides
// what is a statement.

import "github.com/alecthomas/participle/v2/lexer"

// maxKept is how many tokens stay between statements.
const maxKept = 1000

// quick is head for a statement that read knows; read returns nil when it does not
// fit. What it returns holds tokens until the next statement is read.
func quick[P any](p *parser, w where, read func(x *exprParser, s *stream) *P) *P {
	end, bad := p.headEnd(p.pos)
	if bad || !p.fits(end, w) {
		p.pos = end
		return nil
	}
	if !p.plain {
		s := p.stream(end)
		x := exprParser{lex: s}
		if h := read(&x, s); h != nil {
			p.pos += s.pos
			return h
		}
		if m, ok := x.failed.(*mistake); ok && m.code == "E0107" { // large: not once more
			p.report(m)
			p.pos = end
			return nil
		}
	}
	return headTo[P](p, end)
}

// stream holds the tokens from pos to end.
func (p *parser) stream(end int) *stream {
	out := p.buf[:0]
	if n := end - p.pos + 1; n > cap(out) {
		out = make([]lexer.Token, 0, max(n, 64))
	}
	for _, t := range p.toks[p.pos:end] {
		out = append(out, lexer.Token{Type: lexer.TokenType(t.kind), Value: t.text(p.text), Pos: lexer.Position{Offset: int(t.lo)}})
	}
	out = append(out, lexer.Token{Type: tokEOF, Pos: lexer.Position{Offset: int(p.toks[end].lo)}})
	if cap(out) <= maxKept {
		p.buf = out
	}
	return &stream{toks: out}
}

// whole reads an expression; nil if there is none.
func (p *exprParser) whole() Expr {
	if !startsExpr(p.peek()) {
		return nil
	}
	p.depth, p.height = 0, 0
	x, err := p.expr()
	if err != nil {
		p.failed = err
		return nil
	}
	return x
}

// names reads names with commas between them.
func (s *stream) names() tokens {
	from := s.pos
	for s.Next().Type == tokIdent {
		if s.Peek().Value != "," {
			return s.toks[from:s.pos]
		}
		s.Next()
	}
	return nil
}

func quickSimple(x *exprParser, s *stream) *simpleStmt {
	h := &simpleStmt{Target: x.whole()}
	if h.Target == nil {
		return nil
	}
	if s.Peek().Type == tokAssign {
		h.Op = s.toks[s.pos : s.pos+1]
		s.Next()
		if h.Value = x.whole(); h.Value == nil {
			return nil
		}
	}
	return h
}

func quickLet(x *exprParser, s *stream) *letStmt {
	s.Next()
	h := &letStmt{Name: s.toks[s.pos : s.pos+1]}
	if s.Next().Type != tokIdent || s.Next().Value != "=" {
		return nil
	}
	if h.Value = x.whole(); h.Value == nil {
		return nil
	}
	return h
}

func quickRegister(x *exprParser, s *stream) *registerStmt {
	s.Next()
	h := &registerStmt{Names: s.names()}
	if h.Names == nil || s.Next().Value != "=" {
		return nil
	}
	if h.Value = x.whole(); h.Value == nil {
		return nil
	}
	return h
}

func quickFor(x *exprParser, s *stream) *forStmt {
	s.Next()
	h := &forStmt{Names: s.names()}
	if h.Names == nil || s.Next().Value != "in" {
		return nil
	}
	if h.In = x.whole(); h.In == nil {
		return nil
	}
	return h
}

func quickIf(x *exprParser, s *stream) *ifStmt {
	s.Next()
	if c := x.whole(); c != nil {
		return &ifStmt{Cond: c}
	}
	return nil
}

func quickWhile(x *exprParser, s *stream) *whileStmt {
	s.Next()
	if c := x.whole(); c != nil {
		return &whileStmt{Cond: c}
	}
	return nil
}

func quickReturn(x *exprParser, s *stream) *returnStmt {
	s.Next()
	if s.Peek().Type == tokEOF {
		return &returnStmt{}
	}
	if v := x.whole(); v != nil {
		return &returnStmt{Value: v}
	}
	return nil
}
