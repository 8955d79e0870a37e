package syntax

// Format: expressions.

// expr is an expression.
func (b *builder) expr(x Expr) doc {
	switch x := x.(type) {
	case *Ident:
		return b.name(x)
	case *IntLit:
		if x.Text[0] == '-' { // the smallest int
			return seq{b.tok("-"), b.tok(x.Text[1:])}
		}
		return b.tok(x.Text)
	case *FloatLit:
		return b.tok(x.Text)
	case *StringLit:
		return b.tok(x.Text)
	case *FString:
		return b.tok(x.Text)
	case *BoolLit:
		if x.Value {
			return b.tok("true")
		}
		return b.tok("false")
	case *NoneLit:
		return b.tok("none")
	case *Paren:
		return b.list("(", ")", 1, false, func(int) doc { return b.expr(x.X) })
	case *ListLit:
		return b.listLit(x)
	case *ListComp:
		first := b.tok("[")
		body := seq{b.expr(x.Item), line{}, b.word("for"), b.name(x.Var), b.spaced("in"), b.expr(x.In), b.leading()}
		last, trail := b.tokAnd("]")
		return seq{grouped{body: seq{first, indented{4, seq{softline{}, body}}, softline{}, last}}, trail}
	case *Unary:
		if x.Op == "not" {
			return seq{b.word("not"), b.expr(x.X)}
		}
		return seq{b.tok("-"), b.expr(x.X)}
	case *Binary:
		return grouped{body: more(b.binary(x))}
	case *RangeExpr:
		op := ".."
		if x.Closed {
			op = "..="
		}
		return seq{b.expr(x.Lo), b.tok(op), b.expr(x.Hi)}
	case *Cond:
		return grouped{body: seq{b.word("if"), b.expr(x.If), more(line{}, b.word("then"), b.expr(x.Then), line{}, b.word("else"), b.expr(x.Else))}}
	case *Call:
		return seq{b.expr(x.Fn), b.args(x.Args)}
	case *Index:
		return seq{b.expr(x.X), b.list("[", "]", len(x.Args), false, func(i int) doc { return b.expr(x.Args[i]) })}
	case *Selector:
		return seq{b.expr(x.X), b.tok("."), b.name(x.Name)}
	case *Insert:
		return b.insert(x)
	case *Fold:
		out := seq{b.word(x.Op), b.names(x.Names), b.spaced("in"), b.exprs(x.Domain), text(" "), b.tok("{")}
		body := seq{b.expr(x.Body), b.leading()}
		last, trail := b.tokAnd("}")
		return seq{grouped{body: append(out, indented{4, seq{line{}, body}}, line{}, last)}, trail}
	}
	return nil
}

// args are arguments in parentheses.
func (b *builder) args(args []*Arg) doc {
	return b.list("(", ")", len(args), true, func(i int) doc {
		a := args[i]
		if a.Name != nil {
			return seq{b.name(a.Name), b.spaced("="), b.expr(a.Value)}
		}
		return b.expr(a.Value)
	})
}

// binary is a chain of operators of one level, that breaks behind each of them.
func (b *builder) binary(x *Binary) seq {
	// the chain is collected without recursion: it may be very long
	var chain []*Binary
	var first Expr = x
	for {
		y, ok := first.(*Binary)
		if !ok || len(chain) > 0 && binaryLevel(y.Op) != binaryLevel(x.Op) {
			break
		}
		chain = append(chain, y)
		first = y.X
	}
	out := seq{b.expr(first)}
	for i := len(chain) - 1; i >= 0; i-- {
		out = append(out, text(" "), b.tok(chain[i].Op), line{}, b.expr(chain[i].Y))
	}
	return out
}

// binaryLevel is the level of precedence of an operator.
func binaryLevel(op string) int {
	switch op {
	case "or":
		return levelOr
	case "and":
		return levelAnd
	case "+", "-":
		return levelAdd
	case "*", "/", "//", "%":
		return levelMul
	case "**":
		return levelUnary
	}
	return levelCmp
}

// listLit is a list. Literals fill lines; rows that the source has are kept.
func (b *builder) listLit(x *ListLit) doc {
	plain := len(x.Items) > 0
	for _, e := range x.Items {
		plain = plain && isLiteral(e)
	}
	if !plain {
		return b.list("[", "]", len(x.Items), true, func(i int) doc { return b.expr(x.Items[i]) })
	}
	at := b.peek().hi
	force := b.newlineAfter(at) || b.remarked < len(b.comments) && b.comments[b.remarked].Lo < x.Hi
	first := b.tok("[")
	var rows seq
	var row []doc
	end := func() {
		if len(row) > 0 {
			rows = append(rows, filled{row})
			row = nil
		}
	}
	for i, e := range x.Items {
		item := seq{b.expr(e)}
		if i < len(x.Items)-1 {
			item = append(item, b.comma())
			row = append(row, item)
			if force && !b.sameLine(Span{e.Range().Hi, x.Items[i+1].Range().Lo}) {
				end()
				rows = append(rows, line{})
			}
			continue
		}
		item = append(item, b.lastComma())
		row = append(row, append(item, b.leading()))
	}
	end()
	last, trail := b.tokAnd("]")
	return seq{grouped{seq{first, indented{4, seq{softline{}, rows}}, softline{}, last}, force}, trail}
}

// isLiteral reports whether x is a literal, with or without a sign.
func isLiteral(x Expr) bool {
	switch x := x.(type) {
	case *IntLit, *FloatLit, *StringLit, *BoolLit, *NoneLit:
		return true
	case *Unary:
		return x.Op == "-" && isLiteral(x.X)
	}
	return false
}

func (b *builder) insert(x *Insert) doc {
	out := seq{b.word("insert")}
	for i, n := range x.Path {
		if i > 0 {
			out = append(out, b.tok("."))
		}
		out = append(out, b.name(n))
	}
	out = append(out, b.list("(", ")", len(x.Args), true, func(i int) doc {
		a := x.Args[i]
		var arg seq
		if a.Name != nil {
			arg = append(arg, b.name(a.Name), b.spaced("="))
		}
		if a.Mode != 0 {
			arg = append(arg, b.word(a.Mode.String()))
		}
		arg = append(arg, b.expr(a.Value))
		if a.At != nil {
			arg = append(arg, b.spaced("@"), b.expr(a.At))
		}
		return arg
	}))
	if x.With == nil {
		return out
	}
	return grouped{body: append(out, indented{4, b.with(x.With)})}
}
