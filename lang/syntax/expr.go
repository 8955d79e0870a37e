package syntax

// Expressions: precedence climbing over the lexer that participle hands over.
//
// They are not written as tags because there are ten levels of precedence: a
// struct for each level costs participle ten allocations and more for every number
// in a script, and left-recursive operators would have to be turned round again
// afterwards.

import (
	"math"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
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
	if !startsExpr(l.Peek()) {
		return nil, participle.NextMatch
	}
	p := exprParser{lex: peeking{l}}
	x, err := p.expr()
	return x, p.advanced(err)
}

func readPostfix(l *lexer.PeekingLexer) (postfix, error) {
	if !startsPostfix(l.Peek()) {
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

// startsPostfix reports whether a primary expression begins with t.
func startsPostfix(t *lexer.Token) bool {
	switch t.Type {
	case tokIdent, tokInt, tokFloat, tokString, tokFString:
		return true
	case tokOp:
		return t.Value == "(" || t.Value == "["
	case tokKeyword:
		switch t.Value {
		case "true", "false", "none", "insert":
			return true
		}
	}
	return false
}

// startsExpr reports whether an expression begins with t.
func startsExpr(t *lexer.Token) bool {
	switch {
	case startsPostfix(t):
		return true
	case t.Type == tokOp:
		return t.Value == "-"
	case t.Type == tokKeyword:
		return t.Value == "if" || t.Value == "not"
	}
	return false
}

func (p *exprParser) peek() *lexer.Token { return p.lex.Peek() }

// is reports whether the next token is the sign or word text.
func (p *exprParser) is(text string) bool {
	t := p.lex.Peek()
	return t.Value == text && t.Type != tokString
}

// next reads a token.
func (p *exprParser) next() *lexer.Token {
	t := p.lex.Next()
	if t.Type != tokEOF {
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

// want reads the sign or word text; something else is an error that lists also
// what else could stand here.
func (p *exprParser) want(text string, also ...string) (*lexer.Token, error) {
	if !p.is(text) {
		return nil, unexpected(p.peek(), append(also, "`"+text+"`")...)
	}
	return p.next(), nil
}

// ident reads a name.
func (p *exprParser) ident() (*Ident, error) {
	if p.peek().Type != tokIdent {
		return nil, unexpected(p.peek(), "a name")
	}
	return identOf(p.next()), nil
}

func spanOf(t *lexer.Token) Span {
	return Span{int32(t.Pos.Offset), int32(t.Pos.Offset + len(t.Value))}
}

func identOf(t *lexer.Token) *Ident {
	return &Ident{exprNode: exprNode{Span: spanOf(t)}, Name: t.Value}
}

// from is the node of what was read since offset lo.
func (p *exprParser) from(lo int32) exprNode { return exprNode{Span: Span{lo, p.end}} }

// enter counts a level of the recursion.
func (p *exprParser) enter() error {
	p.depth++
	if p.depth > maxNesting {
		return &mistake{code: "E0107", at: spanOf(p.peek()), msg: "this expression nests deeper than " + itoa(maxNesting) + " levels",
			help: []string{"name parts of it with `let`, or move them into a `func`"}}
	}
	return nil
}

// grow counts a level of the tree that the recursion does not see.
func (p *exprParser) grow(other int) error {
	p.height = max(p.height, other) + 1
	if p.height > maxHeight {
		return &mistake{code: "E0107", at: spanOf(p.peek()), msg: "this expression has more than " + itoa(maxHeight) + " operators in a row",
			help: []string{"name parts of it with `let`"}}
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

// Levels of binary operators, low to high.
const (
	levelOr = iota
	levelAnd
	levelNot
	levelCmp
	levelRange
	levelAdd
	levelMul
	levelUnary
)

// levelOf is the level of a binary operator, -1 for other tokens.
func levelOf(t *lexer.Token) int {
	switch t.Type {
	case tokKeyword:
		switch t.Value {
		case "or":
			return levelOr
		case "and":
			return levelAnd
		}
	case tokOp:
		switch t.Value {
		case "==", "!=", "<", "<=", ">", ">=":
			return levelCmp
		case "..", "..=":
			return levelRange
		case "+", "-":
			return levelAdd
		case "*", "/", "//", "%":
			return levelMul
		}
	}
	return -1
}

// binary reads what binds at least as tightly as level.
func (p *exprParser) binary(level int) (Expr, error) {
	x, err := p.operand(level)
	if err != nil {
		return nil, err
	}
	// max is the tightest level that may still follow: comparisons and ranges do not chain.
	for high := levelUnary; ; {
		t := p.peek()
		l := levelOf(t)
		if l < level || l > high {
			if l >= level && (l == levelCmp || l == levelRange) {
				return nil, chained(t)
			}
			return x, nil
		}
		op := t.Value
		at := spanOf(t)
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
		if l == levelRange {
			x = &RangeExpr{exprNode: p.from(lo), Lo: x, Hi: y, Closed: op == "..="}
		} else {
			x = &Binary{exprNode: p.from(lo), Op: op, OpAt: at, X: x, Y: y}
		}
		if l == levelCmp || l == levelRange {
			high = l - 1
		} else {
			high = l
		}
	}
}

// operand reads the first operand of binary(level).
func (p *exprParser) operand(level int) (Expr, error) {
	if level <= levelNot && p.is("not") {
		if err := p.enter(); err != nil {
			return nil, err
		}
		defer func() { p.depth-- }()
		t := p.next()
		at := spanOf(t)
		x, err := p.binary(levelNot)
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
	if p.is("-") {
		if err := p.enter(); err != nil {
			return nil, err
		}
		defer func() { p.depth-- }()
		at := spanOf(p.next())
		if t := p.peek(); t.Type == tokInt {
			// the smallest int: its magnitude is no int
			if v, ok := intValue(t.Value); ok && v == 1<<63 {
				p.next()
				if !p.is("**") && !p.is("(") && !p.is("[") && !p.is(".") {
					p.height = 0
					return &IntLit{exprNode: p.from(at.Lo), Value: math.MinInt64, Text: "-" + t.Value}, nil
				}
				return nil, outOfRange(t)
			}
		}
		x, err := p.unary()
		if err != nil {
			return nil, err
		}
		if err := p.grow(0); err != nil {
			return nil, err
		}
		return &Unary{exprNode: p.from(at.Lo), Op: "-", OpAt: at, X: x}, nil
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
	at := spanOf(p.next())
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
		if t.Type != tokOp {
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
