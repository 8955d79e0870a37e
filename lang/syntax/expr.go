package syntax

// Expressions: precedence climbing over the lexer that participle hands over.
//
// They are not written as tags because there are ten levels of precedence: a
// struct for each level costs participle ten allocations and more for every number
// in a script, and left-recursive operators would have to be turned round again
// afterwards.

import (
	"math"
	"strconv"
	"strings"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/syntax/token"
)

// maxHeight bounds the height of one expression's tree: 1 + 1 + 1 + … and f(x)[0][0]….
const maxHeight = 50_000

// exprParser reads one expression.
type exprParser struct {
	lex    source
	end    int32 // end of the last token read
	depth  int   // of the recursion
	height int   // of the tree read last
	failed error // why whole found none
}

// readExpr, readPostfix and readArgs are productions of the grammar.
func readExpr(l *lexer.PeekingLexer) (Expr, error) {
	if !token.StartsExpr(l.Peek()) {
		return nil, participle.NextMatch
	}
	p := exprParser{lex: peeking{l}}
	x, err := p.expr()
	return x, p.advanced(err)
}

func readPostfix(l *lexer.PeekingLexer) (postfix, error) {
	if !token.StartsPostfix(l.Peek()) {
		return nil, participle.NextMatch
	}
	p := exprParser{lex: peeking{l}}
	x, err := p.postfix()
	return x, p.advanced(err)
}

func readArgs(l *lexer.PeekingLexer) (args, error) {
	if l.Peek().Value != "(" {
		return nil, participle.NextMatch
	}
	p := exprParser{lex: peeking{l}}
	p.next()
	a, err := p.args()
	return argList(a), p.advanced(err)
}

// advanced makes sure that an error does not look like an alternative that was
// not taken: participle tells them apart by whether a token was read.
func (p *exprParser) advanced(err error) error {
	if err != nil && p.end == 0 {
		p.lex.Next()
	}
	return err
}

func (p *exprParser) peek() *lexer.Token { return p.lex.Peek() }

// is reports whether the next token is the sign or word text.
func (p *exprParser) is(text string) bool {
	t := p.lex.Peek()
	return t.Value == text && t.Type != token.String
}

// next reads a token.
func (p *exprParser) next() *lexer.Token {
	t := p.lex.Next()
	if t.Type != token.EOF {
		p.end = int32(t.Pos.Offset + len(t.Value))
	}
	return t
}

// take reads the sign or word text if it comes next.
func (p *exprParser) take(text string) bool {
	if !p.is(text) {
		return false
	}
	p.next()
	return true
}

// want reads the sign or word text; for other tokens it returns an error that lists the
// alternatives in also, too.
func (p *exprParser) want(text string, also ...string) (*lexer.Token, error) {
	if !p.is(text) {
		return nil, token.Unexpected(p.peek(), append(also, "`"+text+"`")...)
	}
	return p.next(), nil
}

// ident reads a name.
func (p *exprParser) ident() (*Ident, error) {
	if p.peek().Type != token.Ident {
		return nil, token.Unexpected(p.peek(), "a name")
	}
	return identOf(p.next()), nil
}

func identOf(t *lexer.Token) *Ident {
	return &Ident{exprNode: exprNode{Span: token.SpanOf(t)}, Name: t.Value}
}

// from is the node of what was read since offset lo.
func (p *exprParser) from(lo int32) exprNode { return exprNode{Span: Span{Lo: lo, Hi: p.end}} }

// enter counts a level of the recursion.
func (p *exprParser) enter() error {
	p.depth++
	if p.depth > token.MaxNesting {
		return &token.Mistake{Code: "E0107", At: token.SpanOf(p.peek()), Msg: "this expression nests deeper than " + strconv.Itoa(token.MaxNesting) + " levels",
			Help: []string{"name parts of it with `let`, or move them into a `func`"}}
	}
	return nil
}

// grow counts a level of the tree that the recursion does not see.
func (p *exprParser) grow(other int) error {
	p.height = max(p.height, other) + 1
	if p.height > maxHeight {
		return &token.Mistake{Code: "E0107", At: token.SpanOf(p.peek()), Msg: "this expression has more than " + strconv.Itoa(maxHeight) + " operators in a row",
			Help: []string{"name parts of it with `let`"}}
	}
	return nil
}

// expr reads Expr.
func (p *exprParser) expr() (Expr, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	if !p.is("if") {
		return p.binary(0)
	}
	lo := int32(p.next().Pos.Offset)
	cond, err := p.expr()
	if err != nil {
		return nil, err
	}
	h := p.height
	if _, err := p.want("then"); err != nil {
		return nil, err
	}
	then, err := p.expr()
	if err != nil {
		return nil, err
	}
	h = max(h, p.height)
	if _, err := p.want("else"); err != nil {
		return nil, err
	}
	other, err := p.expr()
	if err != nil {
		return nil, err
	}
	if err := p.grow(h); err != nil {
		return nil, err
	}
	return &Cond{exprNode: p.from(lo), If: cond, Then: then, Else: other}, nil
}

// binary reads what binds at least as tightly as level.
func (p *exprParser) binary(level int) (Expr, error) {
	x, err := p.operand(level)
	if err != nil {
		return nil, err
	}
	// max is the tightest level that may still follow: comparisons and ranges do not chain.
	for high := token.LevelUnary; ; {
		t := p.peek()
		l := token.LevelOf(t)
		if l < level || l > high {
			if l >= level && (l == token.LevelCmp || l == token.LevelRange) {
				return nil, token.Chained(t)
			}
			return x, nil
		}
		op := t.Value
		at := token.SpanOf(t)
		h := p.height
		p.next()
		y, err := p.binary(l + 1)
		if err != nil {
			return nil, err
		}
		if err := p.grow(h); err != nil {
			return nil, err
		}
		lo := x.Range().Lo
		if l == token.LevelRange {
			x = &RangeExpr{exprNode: p.from(lo), Lo: x, Hi: y, Closed: op == "..="}
		} else {
			x = &Binary{exprNode: p.from(lo), Op: op, OpAt: at, X: x, Y: y}
		}
		if l == token.LevelCmp || l == token.LevelRange {
			high = l - 1
		} else {
			high = l
		}
	}
}

// operand reads the first operand of binary(level).
func (p *exprParser) operand(level int) (Expr, error) {
	if level <= token.LevelNot && p.is("not") {
		if err := p.enter(); err != nil {
			return nil, err
		}
		defer func() { p.depth-- }()
		t := p.next()
		at := token.SpanOf(t)
		x, err := p.binary(token.LevelNot)
		if err != nil {
			return nil, err
		}
		if err := p.grow(0); err != nil {
			return nil, err
		}
		return &Unary{exprNode: p.from(at.Lo), Op: "not", OpAt: at, X: x}, nil
	}
	return p.unary()
}

// unary reads Unary and Power.
func (p *exprParser) unary() (Expr, error) {
	if op := p.peek().Value; p.is("-") || p.is("~") {
		if err := p.enter(); err != nil {
			return nil, err
		}
		defer func() { p.depth-- }()
		at := token.SpanOf(p.next())
		if t := p.peek(); op == "-" && t.Type == token.Int {
			// the smallest int: its magnitude is no int
			if v, ok := token.IntValue(t.Value); ok && v == 1<<63 {
				p.next()
				if !p.is("**") && !p.is("(") && !p.is("[") && !p.is(".") {
					p.height = 0
					return &IntLit{exprNode: p.from(at.Lo), Value: math.MinInt64, Text: "-" + t.Value}, nil
				}
				return nil, token.OutOfRange(t)
			}
		}
		x, err := p.unary()
		if err != nil {
			return nil, err
		}
		if err := p.grow(0); err != nil {
			return nil, err
		}
		return &Unary{exprNode: p.from(at.Lo), Op: op, OpAt: at, X: x}, nil
	}
	x, err := p.postfix()
	if err != nil || !p.is("**") {
		return x, err
	}
	h := p.height
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	at := token.SpanOf(p.next())
	y, err := p.unary()
	if err != nil {
		return nil, err
	}
	if err := p.grow(h); err != nil {
		return nil, err
	}
	return &Binary{exprNode: p.from(x.Range().Lo), Op: "**", OpAt: at, X: x, Y: y}, nil
}

// postfix reads Postfix.
func (p *exprParser) postfix() (Expr, error) {
	x, err := p.primary()
	for err == nil {
		lo := x.Range().Lo
		t := p.peek()
		if t.Type != token.Op {
			return x, nil
		}
		h := p.height
		switch t.Value {
		case "(":
			p.next()
			var a []*Arg
			if a, err = p.args(); err == nil {
				x = &Call{exprNode: p.from(lo), Fn: x, Args: a}
			}
		case "[":
			p.next()
			var items []Expr
			if items, err = p.indices(); err == nil {
				x = &Index{exprNode: p.from(lo), X: x, Args: items}
			}
		case ".":
			p.next()
			var name *Ident
			if name, err = p.ident(); err == nil {
				p.height = 0
				x = &Selector{exprNode: p.from(lo), X: x, Name: name}
			}
		default:
			return x, nil
		}
		if err == nil {
			err = p.grow(h)
		}
	}
	return nil, err
}

// Primary expressions: literals, names, lists, arguments, folds.

// primary reads Primary.
func (p *exprParser) primary() (Expr, error) {
	t := p.peek()
	p.height = 0
	switch t.Type {
	case token.Ident:
		p.next()
		if token.FoldWords[t.Value] && p.peek().Type == token.Ident {
			return p.fold(t)
		}
		return identOf(t), nil
	case token.Int:
		v, ok := token.IntValue(t.Value)
		p.next()
		if !ok || v == 1<<63 {
			return nil, token.OutOfRange(t)
		}
		return &IntLit{exprNode: exprNode{Span: token.SpanOf(t)}, Value: int64(v), Text: t.Value}, nil
	case token.Float:
		p.next()
		text, imaginary := strings.CutSuffix(t.Value, "i")
		v, ok := floatValue(text)
		if !ok {
			return nil, &token.Mistake{Code: "E0106", At: token.SpanOf(t), Msg: "`" + token.Clip(t.Value) + "` is too large for a float",
				Help: []string{"the largest is about 1.8e308; infinity is `inf`"}}
		}
		if imaginary {
			return &ImagLit{exprNode: exprNode{Span: token.SpanOf(t)}, Value: v, Text: t.Value}, nil
		}
		return &FloatLit{exprNode: exprNode{Span: token.SpanOf(t)}, Value: v, Text: t.Value}, nil
	case token.String:
		p.next()
		x, f := stringOf(t)
		if f != nil {
			return nil, f
		}
		return x, nil
	case token.FString:
		p.next()
		return p.fstring(t)
	case token.Keyword:
		switch t.Value {
		case "true", "false":
			p.next()
			return &BoolLit{exprNode: exprNode{Span: token.SpanOf(t)}, Value: t.Value == "true"}, nil
		case "none":
			p.next()
			return &NoneLit{exprNode: exprNode{Span: token.SpanOf(t)}}, nil
		case "insert":
			return p.insert()
		case "not", "if":
			m := token.Unexpected(t, "an operand")
			m.Help = append(m.Help, "put parentheses around: `("+t.Value+" …)`")
			return nil, m
		}
	case token.Op:
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
	return nil, token.Unexpected(t, "an expression")
}

// stringOf makes the node of a string token.
func stringOf(t *lexer.Token) (*StringLit, *token.Mistake) {
	v, f := unescape(t.Value[1 : len(t.Value)-1])
	if f != nil {
		return nil, f.in(t.Pos.Offset + 1)
	}
	return &StringLit{exprNode: exprNode{Span: token.SpanOf(t)}, Value: v, Text: t.Value}, nil
}

// in places a fault of a literal whose inside begins at offset at.
func (f *fault) in(at int) *token.Mistake {
	m := &token.Mistake{Code: "E0106", At: Span{Lo: int32(at + f.lo), Hi: int32(at + f.hi)}, Msg: f.msg}
	if f.help != "" {
		m.Help = []string{f.help}
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
		a.Span = Span{Lo: lo, Hi: p.end}
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
	if p.peek().Type != token.Ident || p.lex.ahead(1).Value != "=" {
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
	for p.peek().Type == token.NL {
		p.next()
	}
	body, err := p.expr()
	if err != nil {
		return nil, err
	}
	f.Body = body
	for p.peek().Type == token.NL {
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

// insert: the expression that submits a task.

// insert reads Insert.
func (p *exprParser) insert() (Expr, error) {
	t := p.next()
	in := &Insert{Word: token.SpanOf(t)}
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
	if t := p.peek(); t.Type == token.Ident && token.ModeOf(t.Value) != iface.NoMode && p.lex.ahead(1).Type == token.Ident {
		p.lex.Next()
		a.Mode, a.ModeAt = token.ModeOf(t.Value), token.SpanOf(t)
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
	a.Span = Span{Lo: lo, Hi: p.end}
	return a, nil
}

// with reads With. A comma belongs to it only if another "name =" follows.
func (p *exprParser) with() (*With, error) {
	w := &With{Span: token.SpanOf(p.next())}
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
		w.Options = append(w.Options, &Option{Span: Span{Lo: lo, Hi: p.end}, Name: name, Value: x})
		if !p.is(",") || p.lex.ahead(1).Type != token.Ident || p.lex.ahead(2).Value != "=" {
			break
		}
		p.next()
	}
	w.Hi = p.end
	p.height = h
	return w, nil
}

// Sources: where expressions are read from.

// source is a list of tokens with a place in it.
type source interface {
	Peek() *lexer.Token
	Next() *lexer.Token
	ahead(n int) *lexer.Token // the token n places behind the next one
}

// peeking is the lexer that participle hands over.
type peeking struct{ *lexer.PeekingLexer }

func (l peeking) ahead(n int) *lexer.Token {
	back := l.MakeCheckpoint()
	for range n {
		l.Next()
	}
	t := l.Peek()
	l.LoadCheckpoint(back)
	return t
}

// stream is the tokens of one statement; the last is EOF.
type stream struct {
	toks []lexer.Token
	pos  int
}

func (s *stream) Peek() *lexer.Token { return &s.toks[s.pos] }

func (s *stream) Next() *lexer.Token {
	t := &s.toks[s.pos]
	if s.pos < len(s.toks)-1 {
		s.pos++
	}
	return t
}

func (s *stream) ahead(n int) *lexer.Token { return &s.toks[min(s.pos+n, len(s.toks)-1)] }
