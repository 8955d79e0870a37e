package syntax

// Lowering: what participle read of a statement becomes a node of the tree.

import (
	"math"
	"strconv"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/syntax/advice"
	"github.com/starpush/starpush/lang/syntax/token"
	"github.com/starpush/starpush/lang/vocab"
)

// spanAll is the range of a list of tokens.
func spanAll(ts tokens) Span {
	return Span{Lo: token.SpanOf(&ts[0]).Lo, Hi: token.SpanOf(&ts[len(ts)-1]).Hi}
}

// nameOf is the name that a field captured, nil for none.
func nameOf(ts tokens) *Ident {
	if len(ts) == 0 {
		return nil
	}
	return identOf(&ts[0])
}

// namesOf are the names of a list with commas.
func namesOf(ts tokens) []*Ident {
	out := make([]*Ident, 0, (len(ts)+1)/2)
	for i := 0; i < len(ts); i += 2 {
		out = append(out, identOf(&ts[i]))
	}
	return out
}

// intOf makes a number of at most one token; nil if there is none. One that no int can hold is the largest.
func intOf(ts tokens) *IntLit {
	if len(ts) == 0 {
		return nil
	}
	v, err := strconv.ParseInt(strings.ReplaceAll(ts[0].Value, "_", ""), 0, 64)
	if err != nil {
		v = math.MaxInt64
	}
	return &IntLit{exprNode: exprNode{Span: token.SpanOf(&ts[0])}, Value: v, Text: ts[0].Value}
}

// lower makes a type.
func (t *typeRef) lower() *TypeExpr {
	if t == nil {
		return nil
	}
	return &TypeExpr{Span: spanAll(t.Tokens), Name: nameOf(t.Name), Elem: t.Elem.lower(), Rank: intOf(t.Rank)}
}

// lower makes the options of a statement.
func (w *withClause) lower() *With {
	if w == nil {
		return nil
	}
	out := &With{Span: spanAll(w.Tokens)}
	for _, o := range w.Options {
		out.Options = append(out.Options, &Option{Span: spanAll(o.Tokens), Name: nameOf(o.Name), Value: o.Value})
	}
	return out
}

// lower makes a codelet without documentation and body.
func (h *codeletHeader) lower() *Codelet {
	c := &Codelet{Name: nameOf(h.Name), Sig: Span{Lo: spanAll(h.Open).Lo, Hi: spanAll(h.Close).Hi}, With: h.With.lower()}
	for _, o := range h.Params {
		op := &Operand{Span: spanAll(o.Tokens), Name: nameOf(o.Name), Type: o.Type.lower(), Default: o.Default}
		if len(o.Mode) > 0 {
			op.Mode, op.ModeAt = token.ModeOf(o.Mode[0].Value), spanAll(o.Mode)
		}
		c.Params = append(c.Params, op)
	}
	return c
}

// lower makes a function without documentation and body.
func (h *funcHeader) lower() *Func {
	f := &Func{Name: nameOf(h.Name), Sig: Span{Lo: spanAll(h.Open).Lo, Hi: spanAll(h.Close).Hi}, Result: h.Result.lower()}
	for _, o := range h.Params {
		f.Params = append(f.Params, &FuncParam{Span: spanAll(o.Tokens), Name: nameOf(o.Name), Type: o.Type.lower(), Default: o.Default})
	}
	return f
}

func (p *parser) importStmt(w where) Stmt {
	h := head[importStmt](p, w)
	if h == nil {
		return nil
	}
	path, m := stringOf(&h.Path[0])
	if m != nil {
		p.report(m)
		return nil
	}
	return &Import{Path: path, As: nameOf(h.As)}
}

func (p *parser) paramStmt(w where) Stmt {
	doc := p.docBefore(p.Tokens[p.pos].Lo)
	h := head[paramStmt](p, w)
	if h == nil {
		return nil
	}
	return &Param{Doc: doc, Name: nameOf(h.Name), Type: h.Type.lower(), Value: h.Value}
}

func (p *parser) externStmt(w where) Stmt {
	doc := p.docBefore(p.Tokens[p.pos].Lo)
	h := head[externStmt](p, w)
	if h == nil {
		return nil
	}
	if h.Codelet != nil {
		c := h.Codelet.lower()
		c.Doc = doc
		return c
	}
	return &ExternData{Doc: doc, Name: nameOf(h.Name), Type: h.Type.lower()}
}

// noBlock reads the block behind a head that could not be read, for its mistakes.
func (p *parser) noBlock(w where) {
	if p.Is(p.pos, "{") {
		p.block(w)
	}
}

// headed reports tokens between the head of a statement and its block.
func (p *parser) headed() bool {
	if p.Is(p.pos, "{") || p.Tokens[p.pos].Kind == token.NL || p.Tokens[p.pos].Kind == token.EOF || p.BlockEnd(p.pos) {
		return true
	}
	p.fail(advice.Failure{From: p.begin, At: p.pos, Mistake: token.Unexpected(p.TokenAt(p.pos), "`{`")})
	return false
}

func (p *parser) structStmt(w where) Stmt {
	doc := p.docBefore(p.Tokens[p.pos].Lo)
	inside := where{fields: true}
	h := head[structStmt](p, w)
	if h == nil || !p.headed() {
		p.noBlock(inside)
		return nil
	}
	s := &Struct{Doc: doc, Name: nameOf(h.Name)}
	if s.Body = p.body(inside); s.Body == nil {
		return nil
	}
	return s
}

func (p *parser) fieldStmt(w where) Stmt {
	if p.Tokens[p.pos].Kind == token.Ident && p.pos+1 < len(p.Tokens) && p.Tokens[p.pos+1].Kind == token.Ident { // int x
		typ, name := p.Tokens[p.pos].Text(p.Text), p.Tokens[p.pos+1].Text(p.Text)
		what := "the type of a field follows its name"
		if _, swapped := iface.ElemByName(name); swapped { // x f64
			typ, name, what = name, typ, "a field has a colon after its name"
		} else if to := vocab.ForeignElems[typ]; to != "" {
			typ = to
		}
		at := Span{Lo: p.Tokens[p.pos].Lo, Hi: p.Tokens[p.pos+1].Hi}
		p.mistakeAt(at, "E0101", what).Hint("write `%s: %s`", name, typ)
		for !p.BlockEnd(p.pos) && p.Tokens[p.pos].Kind != token.NL && p.Tokens[p.pos].Kind != token.EOF {
			p.pos++
		}
		return nil
	}
	h := head[fieldStmt](p, w)
	if h == nil {
		return nil
	}
	return &Field{Name: nameOf(h.Name), Type: h.Type.lower()}
}

func (p *parser) codeletStmt(w where) Stmt {
	doc := p.docBefore(p.Tokens[p.pos].Lo)
	inside := where{codelet: true}
	h := head[codeletStmt](p, w)
	if h == nil || !p.headed() {
		p.noBlock(inside)
		return nil
	}
	c := h.Header.lower()
	c.Doc = doc
	if c.Body = p.body(inside); c.Body == nil {
		return nil
	}
	return c
}

func (p *parser) funcStmt(w where) Stmt {
	doc := p.docBefore(p.Tokens[p.pos].Lo)
	inside := where{fn: true}
	h := head[funcStmt](p, w)
	if h == nil || !p.headed() {
		p.noBlock(inside)
		return nil
	}
	f := h.Header.lower()
	f.Doc = doc
	if f.Body = p.body(inside); f.Body == nil {
		return nil
	}
	return f
}

func (p *parser) letStmt(w where) Stmt {
	h := quick(p, w, quickLet)
	if h == nil {
		return nil
	}
	return &Let{Name: nameOf(h.Name), Type: h.Type.lower(), Value: h.Value}
}

func (p *parser) registerStmt(w where) Stmt {
	doc := p.docBefore(p.Tokens[p.pos].Lo)
	h := quick(p, w, quickRegister)
	if h == nil {
		return nil
	}
	return &Register{Doc: doc, Names: namesOf(h.Names), Value: h.Value}
}

func (p *parser) partitionStmt(w where) Stmt {
	h := head[partitionStmt](p, w)
	if h == nil {
		return nil
	}
	if len(h.Name) > 0 && len(h.Of) > 1 {
		at := h.Of[1].Range()
		p.mistakeAt(Span{Lo: at.Lo - 1, Hi: at.Lo}, "E0101", "a named view is of one handle").
			Hint("write one `partition` for each, or leave the name out: `partition x, y by …`")
		return nil
	}
	out := &Partition{Name: nameOf(h.Name), Of: h.Of}
	for _, f := range h.Filters {
		out.Filters = append(out.Filters, &FilterCall{Span: spanAll(f.Tokens), Name: nameOf(f.Name), Args: f.Args.list()})
	}
	if g := h.Over; g != nil {
		out.Over = &FilterCall{Span: spanAll(g.Tokens), Name: nameOf(g.Name), Args: g.Args.list()}
	}
	return out
}

func (p *parser) unpartitionStmt(w where) Stmt {
	h := head[unpartitionStmt](p, w)
	if h == nil {
		return nil
	}
	return &Unpartition{Of: h.Of, To: h.To}
}

func (p *parser) acquireStmt(w where) Stmt {
	h := head[acquireStmt](p, w)
	if h == nil {
		p.noBlock(w.in())
		return nil
	}
	a := &Acquire{}
	for _, i := range h.Items {
		a.Items = append(a.Items, &AcquireItem{Span: spanAll(i.Tokens), Mode: token.ModeOf(i.Mode[0].Value), ModeAt: spanAll(i.Mode),
			Of: i.Of, As: nameOf(i.As)})
	}
	if p.Is(p.pos, "{") {
		a.Body = p.block(w.in())
	}
	return a
}

func (p *parser) releaseStmt(w where) Stmt {
	h := head[releaseStmt](p, w)
	if h == nil {
		return nil
	}
	r := &Release{Names: namesOf(h.Names)}
	if len(h.To) > 0 {
		r.To, r.ToAt = token.ModeOf(h.To[0].Value), spanAll(h.To)
	}
	return r
}

func (p *parser) waitStmt(w where) Stmt {
	h := head[waitStmt](p, w)
	if h == nil {
		return nil
	}
	return &Wait{Of: h.Of}
}

func (p *parser) checkpointStmt(w where) Stmt {
	h := head[checkpointStmt](p, w)
	if h == nil {
		return nil
	}
	return &Checkpoint{Dir: h.Dir}
}

func (p *parser) prefetchStmt(w where) Stmt {
	h := head[prefetchStmt](p, w)
	if h == nil {
		return nil
	}
	return &Prefetch{Of: h.Of, To: h.To, With: h.With.lower()}
}

func (p *parser) hintStmt(w where) Stmt {
	h := head[hintStmt](p, w)
	if h == nil {
		return nil
	}
	return &Hint{Of: h.Of, With: h.With.lower()}
}

func (p *parser) verbStmt(w where) Stmt {
	h := head[verbStmt](p, w)
	if h == nil {
		return nil
	}
	return &Verb{Verb: h.Verb[0].Value, Of: h.Of}
}

func (p *parser) ifStmt(w where) Stmt {
	s, ok := p.ifChain(w, 0)
	switch {
	case !ok:
		return nil
	case s == nil: // at a prompt: if c then a else b
		return p.simple(w)
	}
	return s
}

// ifChain reads an if with its else; ok is false when a part of it could not be read.
func (p *parser) ifChain(w where, depth int) (s *If, ok bool) {
	lo := p.Tokens[p.pos].Lo
	if depth == maxElse {
		p.mistakeAt(p.Span(p.pos), "E0107", "more than "+strconv.Itoa(maxElse)+" `else if` in a row").Hint("look the case up in a list instead")
	}
	from := p.pos
	p.begin = from
	h := quick(p, w, quickIf)
	if h != nil && p.entry && w.top && depth == 0 && p.Is(p.pos, "then") {
		p.pos = from
		return nil, true
	}
	s = &If{}
	if ok = h != nil && p.headed(); ok {
		s.Cond = h.Cond
		s.Then = p.body(w.in())
		ok = s.Then != nil
	} else {
		p.noBlock(w.in())
	}
	if p.Is(p.pos, "else") {
		p.pos++
		switch {
		case p.Is(p.pos, "if") && depth > maxElse:
			p.pos++
			p.pos, _ = p.HeadEnd(p.pos)
			ok = false
		case p.Is(p.pos, "if"):
			other, fine := p.ifChain(w, depth+1)
			s.Else = other
			ok = ok && fine
		default:
			p.begin = p.pos - 1
			if b := p.body(w.in()); b != nil {
				s.Else = b
			} else {
				ok = false
			}
		}
	}
	s.Span = Span{Lo: lo, Hi: p.Tokens[p.pos-1].Hi}
	return s, ok
}

func (p *parser) whileStmt(w where) Stmt {
	inside := w.in()
	inside.loop = true
	h := quick(p, w, quickWhile)
	if h == nil || !p.headed() {
		p.noBlock(inside)
		return nil
	}
	b := p.body(inside)
	if b == nil {
		return nil
	}
	return &While{Cond: h.Cond, Body: b}
}

func (p *parser) forStmt(w where) Stmt {
	inside := w.in()
	inside.loop = true
	h := quick(p, w, quickFor)
	if h == nil || !p.headed() {
		p.noBlock(inside)
		return nil
	}
	names := namesOf(h.Names)
	b := p.body(inside)
	if b == nil {
		return nil
	}
	if w.codelet && len(names) > 1 {
		p.mistakeAt(names[1].Span, "E0101", "a `for` in a codelet has one name").Hint("write one `for` inside the other")
		return nil
	}
	return &For{Names: names, In: h.In, Body: b}
}

func (p *parser) eachStmt(w where) Stmt {
	inside := w.in()
	inside.loop = true
	lo := p.Tokens[p.pos].Lo
	h := head[eachStmt](p, w)
	if h == nil || !p.headed() {
		p.noBlock(inside)
		return nil
	}
	e := &Each{Head: Span{Lo: lo, Hi: p.Tokens[p.pos-1].Hi}, Names: namesOf(h.Names), Domain: h.Domain}
	if e.Body = p.body(inside); e.Body == nil {
		return nil
	}
	return e
}

func (p *parser) returnStmt(w where) Stmt {
	h := quick(p, w, quickReturn)
	if h == nil {
		return nil
	}
	return &Return{Value: h.Value}
}

func (p *parser) wordStmt(w where) Stmt {
	h := head[wordStmt](p, w)
	switch {
	case h == nil:
		return nil
	case h.Word[0].Value == "break":
		return &Break{}
	}
	return &Continue{}
}

func (p *parser) assertStmt(w where) Stmt {
	h := head[assertStmt](p, w)
	if h == nil {
		return nil
	}
	return &Assert{Cond: h.Cond, Message: h.Message}
}
