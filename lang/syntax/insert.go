package syntax

// insert: the expression that submits a task.

import "github.com/starpush/starpush/datamgr/iface"

// insert reads Insert.
func (p *exprParser) insert() (Expr, error) {
	t := p.next()
	in := &Insert{Word: spanOf(t)}
	for {
		name, err := p.ident()
		if err != nil {
			return nil, err
		}
		in.Path = append(in.Path, name)
		if !p.take(".") {
			break
		}
	}
	open, err := p.want("(", "`.`")
	if err != nil {
		return nil, err
	}
	in.Parens.Lo = int32(open.Pos.Offset)
	h := 0
	for !p.is(")") {
		a, err := p.taskArg()
		if err != nil {
			return nil, err
		}
		h = max(h, p.height)
		in.Args = append(in.Args, a)
		if !p.take(",") {
			break
		}
	}
	if _, err := p.want(")", "an operator", "`,`"); err != nil {
		return nil, err
	}
	in.Parens.Hi = p.end
	if p.is("with") {
		if in.With, err = p.with(); err != nil {
			return nil, err
		}
		h = max(h, p.height)
	}
	p.height = h
	if err := p.grow(0); err != nil {
		return nil, err
	}
	in.exprNode = p.from(in.Word.Lo)
	return in, nil
}

// taskArg reads TArg. A mode is one only if a name follows: R x[i], but R alone is
// something called R.
func (p *exprParser) taskArg() (*TaskArg, error) {
	lo := int32(p.peek().Pos.Offset)
	a := &TaskArg{}
	var err error
	if a.Name, err = p.argName(); err != nil {
		return nil, err
	}
	if t := p.peek(); t.Type == tokIdent && modeOf(t.Value) != iface.NoMode && p.lex.ahead(1).Type == tokIdent {
		p.lex.Next()
		a.Mode, a.ModeAt = modeOf(t.Value), spanOf(t)
	}
	if a.Mode == iface.NoMode {
		a.Value, err = p.expr()
	} else if a.Value, err = p.postfix(); err == nil && p.take("@") {
		h := p.height
		a.At, err = p.postfix()
		p.height = max(p.height, h)
	}
	if err != nil {
		return nil, err
	}
	a.Span = Span{lo, p.end}
	return a, nil
}

// with reads With. A comma belongs to it only if another "name =" follows.
func (p *exprParser) with() (*With, error) {
	w := &With{Span: spanOf(p.next())}
	h := 0
	for {
		lo := int32(p.peek().Pos.Offset)
		name, err := p.ident()
		if err != nil {
			return nil, err
		}
		if _, err := p.want("="); err != nil {
			return nil, err
		}
		x, err := p.expr()
		if err != nil {
			return nil, err
		}
		h = max(h, p.height)
		w.Options = append(w.Options, &Option{Span: Span{lo, p.end}, Name: name, Value: x})
		if !p.is(",") || p.lex.ahead(1).Type != tokIdent || p.lex.ahead(2).Value != "=" {
			break
		}
		p.next()
	}
	w.Hi = p.end
	p.height = h
	return w, nil
}
