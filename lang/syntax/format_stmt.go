package syntax

// Format: statements.

// name is a name of the source.
func (b *builder) name(x *Ident) doc { return b.tok(x.Name) }

// names is a list of names.
func (b *builder) names(xs []*Ident) doc {
	return b.commas(len(xs), func(i int) doc { return b.name(xs[i]) })
}

// exprs is a list of expressions.
func (b *builder) exprs(xs []Expr) doc {
	return b.commas(len(xs), func(i int) doc { return b.expr(xs[i]) })
}

// word is a word of the language and a space.
func (b *builder) word(s string) doc { return seq{b.tok(s), text(" ")} }

// spaced is a sign or word between spaces.
func (b *builder) spaced(s string) doc { return seq{text(" "), b.tok(s), text(" ")} }

// more indents what continues a statement on further lines.
func more(d ...doc) doc { return indented{4, seq(d)} }

// stmt is one statement.
func (b *builder) stmt(s Stmt) doc {
	switch s := s.(type) {
	case *Block:
		return b.block(s, false)
	case *Import:
		out := seq{b.word("import"), b.tok(s.Path.Text)}
		if s.As != nil {
			out = append(out, b.spaced("as"), b.name(s.As))
		}
		return out
	case *Param:
		out := seq{b.word("param"), b.name(s.Name), b.typed(s.Type)}
		return b.value(out, s.Value)
	case *ExternData:
		return seq{b.word("extern"), b.name(s.Name), b.typed(s.Type)}
	case *Codelet:
		return b.codelet(s)
	case *Func:
		return b.function(s)
	case *Let:
		out := seq{b.word("let"), b.name(s.Name)}
		if s.Type != nil {
			out = append(out, b.typed(s.Type))
		}
		return b.value(out, s.Value)
	case *Register:
		return b.value(seq{b.word("register"), grouped{body: more(b.names(s.Names))}}, s.Value)
	case *Partition:
		return b.partition(s)
	case *Unpartition:
		out := seq{b.word("unpartition"), b.exprs(s.Of)}
		if s.To != nil {
			out = append(out, b.spaced("to"), b.expr(s.To))
		}
		return grouped{body: more(out)}
	case *Acquire:
		return b.acquire(s)
	case *Release:
		out := seq{b.word("release"), b.names(s.Names)}
		if s.To != 0 {
			out = append(out, b.spaced("to"), b.tok(s.To.String()))
		}
		return grouped{body: more(out)}
	case *Wait:
		if len(s.Of) == 0 {
			return b.tok("wait")
		}
		return grouped{body: more(b.word("wait"), b.exprs(s.Of))}
	case *Prefetch:
		return grouped{body: more(b.word("prefetch"), b.exprs(s.Of), b.spaced("to"), b.expr(s.To), b.with(s.With))}
	case *Hint:
		return grouped{body: more(b.word("hint"), b.exprs(s.Of), b.with(s.With))}
	case *Verb:
		return grouped{body: more(b.word(s.Verb), b.exprs(s.Of))}
	case *If:
		return b.ifs(s)
	case *For:
		return b.loop(seq{b.word("for"), b.names(s.Names), b.spaced("in"), b.expr(s.In)}, s.Body)
	case *While:
		return b.loop(seq{b.word("while"), b.expr(s.Cond)}, s.Body)
	case *Each:
		return b.loop(seq{b.word("each"), b.names(s.Names), b.spaced("in"), b.exprs(s.Domain)}, s.Body)
	case *Return:
		if s.Value == nil {
			return b.tok("return")
		}
		return seq{b.word("return"), b.expr(s.Value)}
	case *Break:
		return b.tok("break")
	case *Continue:
		return b.tok("continue")
	case *Assert:
		out := seq{b.word("assert"), b.expr(s.Cond)}
		if s.Message != nil {
			out = append(out, b.tok(","), line{}, b.expr(s.Message))
		}
		return grouped{body: more(out)}
	case *Assign:
		return seq{b.expr(s.Target), b.spaced(s.Op), b.expr(s.Value)}
	case *ExprStmt:
		return b.expr(s.X)
	}
	return nil
}

// value is a declaration with its value, if it has one.
func (b *builder) value(head seq, x Expr) doc {
	if x == nil {
		return head
	}
	return append(head, b.spaced("="), b.expr(x))
}

// typed is ": type".
func (b *builder) typed(t *TypeExpr) doc { return seq{b.tok(":"), text(" "), b.typ(t)} }

// typ is a type.
func (b *builder) typ(t *TypeExpr) doc {
	if t.Elem == nil {
		return b.name(t.Name)
	}
	return seq{b.name(t.Name), b.tok("["), b.typ(t.Elem), b.tok("]")}
}

// with are options, on a line of their own when they do not fit.
func (b *builder) with(w *With) doc {
	if w == nil {
		return nil
	}
	return grouped{body: seq{line{}, more(b.word("with"), b.commas(len(w.Options), func(i int) doc {
		o := w.Options[i]
		return seq{b.name(o.Name), b.spaced("="), b.expr(o.Value)}
	}))}}
}

func (b *builder) codelet(c *Codelet) doc {
	var head seq
	if c.Body == nil {
		head = append(head, b.word("extern"))
	}
	head = append(head, b.word("codelet"), b.name(c.Name))
	head = append(head, b.list("(", ")", len(c.Params), true, func(i int) doc {
		o := c.Params[i]
		out := seq{b.name(o.Name), b.tok(":"), text(" ")}
		if o.Mode != 0 {
			out = append(out, b.word(o.Mode.String()))
		}
		return b.value(append(out, b.typ(o.Type)), o.Default)
	}))
	if c.With != nil {
		head = append(head, indented{8, b.with(c.With)})
	}
	if c.Body == nil {
		return grouped{body: head}
	}
	return b.loop(head, c.Body)
}

func (b *builder) function(f *Func) doc {
	head := seq{b.word("func"), b.name(f.Name)}
	head = append(head, b.list("(", ")", len(f.Params), true, func(i int) doc {
		o := f.Params[i]
		return b.value(seq{b.name(o.Name), b.typed(o.Type)}, o.Default)
	}))
	if f.Result != nil {
		head = append(head, b.spaced("->"), b.typ(f.Result))
	}
	return b.loop(head, f.Body)
}

// loop is a head with its block.
func (b *builder) loop(head seq, body *Block) doc {
	oneLine := b.sameLine(body.Span)
	out := seq{grouped{body: head}, text(" "), b.block(body, oneLine)}
	if oneLine {
		return grouped{body: out}
	}
	return out
}

func (b *builder) partition(s *Partition) doc {
	out := seq{b.word("partition")}
	if s.Name != nil {
		out = append(out, b.name(s.Name), b.spaced("="))
	}
	out = append(out, b.exprs(s.Of))
	for i, f := range s.Filters {
		word := "by"
		if i > 0 {
			word = "then"
		}
		out = append(out, line{}, b.word(word), b.name(f.Name), b.args(f.Args))
	}
	return grouped{body: more(out)}
}

func (b *builder) acquire(s *Acquire) doc {
	head := seq{b.word("acquire"), more(b.commas(len(s.Items), func(i int) doc {
		a := s.Items[i]
		return seq{b.word(a.Mode.String()), b.expr(a.Of), b.spaced("as"), b.name(a.As)}
	}))}
	if s.Body == nil {
		return grouped{body: head}
	}
	return b.loop(head, s.Body)
}

// ifs is an if with its else. All its blocks are on one line, or none.
func (b *builder) ifs(s *If) doc {
	oneLine := true
	for x := s; x != nil; {
		oneLine = oneLine && b.sameLine(x.Then.Span)
		switch e := x.Else.(type) {
		case *If:
			x = e
		case *Block:
			oneLine = oneLine && b.sameLine(e.Span)
			x = nil
		default:
			x = nil
		}
	}
	var out seq
	for x := s; x != nil; {
		out = append(out, b.word("if"), grouped{body: b.expr(x.Cond)}, text(" "), b.block(x.Then, oneLine))
		switch e := x.Else.(type) {
		case *If:
			out = append(out, b.spaced("else"))
			x = e
		case *Block:
			out = append(out, b.spaced("else"), b.block(e, oneLine))
			x = nil
		default:
			x = nil
		}
	}
	if oneLine {
		return grouped{body: out}
	}
	return out
}
