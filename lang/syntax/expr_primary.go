package syntax

// Primary expressions: literals, names, lists, arguments, folds.

import "github.com/alecthomas/participle/v2/lexer"

// primary reads Primary.
func (p *exprParser) primary() (Expr, error) {
	t := p.peek()
	p.height = 0
	switch t.Type {
	case tokIdent:
		p.next()
		if foldWords[t.Value] && p.peek().Type == tokIdent {
			return p.fold(t)
		}
		return identOf(t), nil
	case tokInt:
		v, ok := intValue(t.Value)
		p.next()
		if !ok || v == 1<<63 {
			return nil, outOfRange(t)
		}
		return &IntLit{exprNode: exprNode{Span: spanOf(t)}, Value: int64(v), Text: t.Value}, nil
	case tokFloat:
		p.next()
		v, ok := floatValue(t.Value)
		if !ok {
			return nil, &mistake{code: "E0106", at: spanOf(t), msg: "`" + clip(t.Value) + "` is too large for a float",
				help: []string{"the largest is about 1.8e308; infinity is `inf`"}}
		}
		return &FloatLit{exprNode: exprNode{Span: spanOf(t)}, Value: v, Text: t.Value}, nil
	case tokString:
		p.next()
		x, f := stringOf(t)
		if f != nil {
			return nil, f
		}
		return x, nil
	case tokFString:
		p.next()
		return p.fstring(t)
	case tokKeyword:
		switch t.Value {
		case "true", "false":
			p.next()
			return &BoolLit{exprNode: exprNode{Span: spanOf(t)}, Value: t.Value == "true"}, nil
		case "none":
			p.next()
			return &NoneLit{exprNode: exprNode{Span: spanOf(t)}}, nil
		case "insert":
			return p.insert()
		case "not", "if":
			m := unexpected(t, "an operand")
			m.help = append(m.help, "put parentheses around: `("+t.Value+" …)`")
			return nil, m
		}
	case tokOp:
		switch t.Value {
		case "(":
			lo := int32(p.next().Pos.Offset)
			x, err := p.expr()
			if err != nil {
				return nil, err
			}
			if _, err := p.want(")", "an operator"); err != nil {
				return nil, err
			}
			if err := p.grow(0); err != nil {
				return nil, err
			}
			return &Paren{exprNode: p.from(lo), X: x}, nil
		case "[":
			return p.list()
		}
	}
	return nil, unexpected(t, "an expression")
}

// stringOf makes the node of a string token.
func stringOf(t *lexer.Token) (*StringLit, *mistake) {
	v, f := unescape(t.Value[1 : len(t.Value)-1])
	if f != nil {
		return nil, f.in(t.Pos.Offset + 1)
	}
	return &StringLit{exprNode: exprNode{Span: spanOf(t)}, Value: v, Text: t.Value}, nil
}

// in places a fault of a literal whose inside begins at offset at.
func (f *fault) in(at int) *mistake {
	m := &mistake{code: "E0106", at: Span{int32(at + f.lo), int32(at + f.hi)}, msg: f.msg}
	if f.help != "" {
		m.help = []string{f.help}
	}
	return m
}

// list reads a list or a comprehension.
func (p *exprParser) list() (Expr, error) {
	lo := int32(p.next().Pos.Offset)
	var items []Expr
	h := 0
	for !p.is("]") {
		x, err := p.expr()
		if err != nil {
			return nil, err
		}
		h = max(h, p.height)
		if len(items) == 0 && p.take("for") {
			return p.comprehension(lo, x)
		}
		items = append(items, x)
		if !p.take(",") {
			break
		}
	}
	if _, err := p.want("]", "an operator", "`,`"); err != nil {
		return nil, err
	}
	p.height = h
	if err := p.grow(0); err != nil {
		return nil, err
	}
	return &ListLit{exprNode: p.from(lo), Items: items}, nil
}

// comprehension reads the rest of [item for name in list].
func (p *exprParser) comprehension(lo int32, item Expr) (Expr, error) {
	h := p.height
	name, err := p.ident()
	if err != nil {
		return nil, err
	}
	if _, err := p.want("in"); err != nil {
		return nil, err
	}
	in, err := p.expr()
	if err != nil {
		return nil, err
	}
	if _, err := p.want("]", "an operator"); err != nil {
		return nil, err
	}
	if err := p.grow(h); err != nil {
		return nil, err
	}
	return &ListComp{exprNode: p.from(lo), Item: item, Var: name, In: in}, nil
}

// indices reads the inside of x[…], with the closing bracket.
func (p *exprParser) indices() ([]Expr, error) {
	var out []Expr
	h := 0
	for {
		x, err := p.expr()
		if err != nil {
			return nil, err
		}
		h = max(h, p.height)
		out = append(out, x)
		if !p.take(",") {
			break
		}
	}
	_, err := p.want("]", "an operator", "`,`")
	p.height = h
	return out, err
}

// args reads the arguments of a call, with the closing parenthesis.
func (p *exprParser) args() ([]*Arg, error) {
	var out []*Arg
	h := 0
	for !p.is(")") {
		lo := int32(p.peek().Pos.Offset)
		a := &Arg{}
		var err error
		if a.Name, err = p.argName(); err != nil {
			return nil, err
		}
		if a.Value, err = p.expr(); err != nil {
			return nil, err
		}
		h = max(h, p.height)
		a.Span = Span{lo, p.end}
		out = append(out, a)
		if !p.take(",") {
			break
		}
	}
	_, err := p.want(")", "an operator", "`,`")
	p.height = h
	return out, err
}

// argName reads "name =" if it comes next.
func (p *exprParser) argName() (*Ident, error) {
	if p.peek().Type != tokIdent || p.lex.ahead(1).Value != "=" {
		return nil, nil
	}
	t := p.next()
	p.next()
	return identOf(t), nil
}

// fold reads the rest of sum i, j in domain { body }.
func (p *exprParser) fold(op *lexer.Token) (Expr, error) {
	f := &Fold{Op: op.Value}
	for {
		name, err := p.ident()
		if err != nil {
			return nil, err
		}
		f.Names = append(f.Names, name)
		if !p.take(",") {
			break
		}
	}
	if _, err := p.want("in", "`,`"); err != nil {
		return nil, err
	}
	h := 0
	for {
		x, err := p.expr()
		if err != nil {
			return nil, err
		}
		h = max(h, p.height)
		f.Domain = append(f.Domain, x)
		if !p.take(",") {
			break
		}
	}
	if _, err := p.want("{", "an operator"); err != nil {
		return nil, err
	}
	for p.peek().Type == tokNL {
		p.next()
	}
	body, err := p.expr()
	if err != nil {
		return nil, err
	}
	f.Body = body
	for p.peek().Type == tokNL {
		p.next()
	}
	if _, err := p.want("}", "an operator"); err != nil {
		return nil, err
	}
	if err := p.grow(h); err != nil {
		return nil, err
	}
	f.exprNode = p.from(int32(op.Pos.Offset))
	return f, nil
}
