package syntax

// Grammar: what participle reads of each statement, structs and tags only. The
// blocks of statements nest in the driver (parse.go), so a production here ends
// where its block begins. Expr and postfix are productions of expr.go.
//
// Names, signs and words are captured as tokens: they carry their place. A field
// called Tokens holds all tokens of its production.

import (
	"errors"
	"strings"
	"sync"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
	"github.com/starpush/starpush/lang/syntax/token"
)

type tokens = []lexer.Token

// statement is the root: one statement, of those that have more than a word.
type statement struct {
	Import      *importStmt      `parser:"@@"`
	Param       *paramStmt       `parser:"| @@"`
	Extern      *externStmt      `parser:"| @@"`
	Struct      *structStmt      `parser:"| @@"`
	Codelet     *codeletStmt     `parser:"| @@"`
	Func        *funcStmt        `parser:"| @@"`
	Let         *letStmt         `parser:"| @@"`
	Register    *registerStmt    `parser:"| @@"`
	Partition   *partitionStmt   `parser:"| @@"`
	Unpartition *unpartitionStmt `parser:"| @@"`
	Acquire     *acquireStmt     `parser:"| @@"`
	Release     *releaseStmt     `parser:"| @@"`
	Wait        *waitStmt        `parser:"| @@"`
	Checkpoint  *checkpointStmt  `parser:"| @@"`
	Prefetch    *prefetchStmt    `parser:"| @@"`
	Hint        *hintStmt        `parser:"| @@"`
	Verb        *verbStmt        `parser:"| @@"`
	If          *ifStmt          `parser:"| @@"`
	While       *whileStmt       `parser:"| @@"`
	For         *forStmt         `parser:"| @@"`
	Each        *eachStmt        `parser:"| @@"`
	Return      *returnStmt      `parser:"| @@"`
	Word        *wordStmt        `parser:"| @@"`
	Assert      *assertStmt      `parser:"| @@"`
	Simple      *simpleStmt      `parser:"| @@"`
	Header      *codeletHeader   `parser:"| @@"` // text of a host codelet
	FuncHeader  *funcHeader      `parser:"| @@"` // text of a host function
	Field       *fieldStmt       `parser:"| @@"` // of a struct
}

type importStmt struct {
	Path tokens `parser:"'import' @String"`
	As   tokens `parser:"[ 'as' @Ident ]"`
}

type paramStmt struct {
	Name  tokens   `parser:"'param' @Ident"`
	Type  *typeRef `parser:"':' @@"`
	Value Expr     `parser:"[ '=' @@ ]"`
}

type externStmt struct {
	Codelet *codeletHeader `parser:"'extern' ( 'codelet' @@"`
	Name    tokens         `parser:"| @Ident"`
	Type    *typeRef       `parser:"':' @@ )"`
}

type structStmt struct {
	Name tokens `parser:"'struct' @Ident"`
}

type fieldStmt struct {
	Name tokens   `parser:"@Ident ':'"`
	Type *typeRef `parser:"@@"`
}

type codeletStmt struct {
	Header *codeletHeader `parser:"'codelet' @@"`
}

type codeletHeader struct {
	Name   tokens      `parser:"@Ident"`
	Open   tokens      `parser:"@'('"`
	Params []*operand  `parser:"[ @@ { (?! ',' ')' ) ',' @@ } [ ',' ] ]"`
	Close  tokens      `parser:"@')'"`
	With   *withClause `parser:"[ @@ ]"`
}

type operand struct {
	Name    tokens   `parser:"@Ident ':'"`
	Mode    tokens   `parser:"[ (?= ( 'R' | 'W' | 'RW' | 'COMMUTE' | 'REDUX' | 'SCRATCH' ) Ident ) @Ident ]"`
	Type    *typeRef `parser:"@@"`
	Default Expr     `parser:"[ '=' @@ ]"`
	Tokens  tokens
}

type typeRef struct {
	Name   tokens   `parser:"@( Ident | 'none' )"`
	Elem   *typeRef `parser:"[ '[' @@"`
	Rank   tokens   `parser:"[ ',' @Int ] ']' ]"`
	Tokens tokens
}

type funcStmt struct {
	Header *funcHeader `parser:"'func' @@"`
}

type funcHeader struct {
	Name   tokens       `parser:"@Ident"`
	Open   tokens       `parser:"@'('"`
	Params []*funcParam `parser:"[ @@ { (?! ',' ')' ) ',' @@ } [ ',' ] ]"`
	Close  tokens       `parser:"@')'"`
	Result *typeRef     `parser:"[ '->' @@ ]"`
}

type funcParam struct {
	Name    tokens   `parser:"@Ident ':'"`
	Type    *typeRef `parser:"@@"`
	Default Expr     `parser:"[ '=' @@ ]"`
	Tokens  tokens
}

type letStmt struct {
	Name  tokens   `parser:"'let' @Ident"`
	Type  *typeRef `parser:"[ ':' @@ ]"`
	Value Expr     `parser:"'=' @@"`
}

type registerStmt struct {
	Names tokens `parser:"'register' @( Ident { ',' Ident } )"`
	Value Expr   `parser:"'=' @@"`
}

type partitionStmt struct {
	Name    tokens        `parser:"'partition' [ (?= Ident '=' ) @Ident '=' ]"`
	Of      []Expr        `parser:"@@ { ',' @@ }"`
	Filters []*filterCall `parser:"'by' @@ { 'then' @@ }"`
	Over    *gridCall     `parser:"[ 'over' @@ ]"`
}

// gridCall follows over, which is a name elsewhere.
type gridCall struct {
	Name   tokens `parser:"@'grid'"`
	Args   args   `parser:"@@"`
	Tokens tokens
}

type filterCall struct {
	Name   tokens `parser:"@Ident"`
	Args   args   `parser:"@@"`
	Tokens tokens
}

type unpartitionStmt struct {
	Of []Expr `parser:"'unpartition' @@ { ',' @@ }"`
	To Expr   `parser:"[ 'to' @@ ]"`
}

type acquireStmt struct {
	Items []*acquireItem `parser:"'acquire' @@ { ',' @@ }"`
}

type acquireItem struct {
	Mode   tokens  `parser:"@( 'R' | 'W' | 'RW' | 'COMMUTE' | 'REDUX' | 'SCRATCH' )"`
	Of     postfix `parser:"@@"`
	As     tokens  `parser:"'as' @Ident"`
	Tokens tokens
}

type releaseStmt struct {
	Names tokens `parser:"'release' @( Ident { ',' Ident } )"`
	To    tokens `parser:"[ 'to' @( 'R' | 'W' | 'RW' | 'COMMUTE' | 'REDUX' | 'SCRATCH' ) ]"`
}

type checkpointStmt struct {
	Dir Expr `parser:"'checkpoint' @@"`
}

type waitStmt struct {
	Of []Expr `parser:"'wait' [ @@ { ',' @@ } ]"`
}

type prefetchStmt struct {
	Of   []Expr      `parser:"'prefetch' @@ { ',' @@ }"`
	To   Expr        `parser:"'to' @@"`
	With *withClause `parser:"[ @@ ]"`
}

type hintStmt struct {
	Of   []Expr      `parser:"'hint' @@ { ',' @@ }"`
	With *withClause `parser:"@@"`
}

type verbStmt struct {
	Verb tokens `parser:"@( 'invalidate' | 'unregister' | 'evict' )"`
	Of   []Expr `parser:"@@ { ',' @@ }"`
}

type withClause struct {
	Options []*optionItem `parser:"'with' @@ { ',' @@ }"`
	Tokens  tokens
}

type optionItem struct {
	Name   tokens `parser:"@Ident '='"`
	Value  Expr   `parser:"@@"`
	Tokens tokens
}

type ifStmt struct {
	Cond Expr `parser:"'if' @@"`
}

type whileStmt struct {
	Cond Expr `parser:"'while' @@"`
}

type forStmt struct {
	Names tokens `parser:"'for' @( Ident { ',' Ident } )"`
	In    Expr   `parser:"'in' @@"`
}

type eachStmt struct {
	Names  tokens `parser:"'each' @( Ident { ',' Ident } )"`
	Domain []Expr `parser:"'in' @@ { ',' @@ }"`
}

type returnStmt struct {
	Value Expr `parser:"'return' [ @@ ]"`
}

type wordStmt struct {
	Word tokens `parser:"@( 'break' | 'continue' )"`
}

type assertStmt struct {
	Cond    Expr `parser:"'assert' @@"`
	Message Expr `parser:"[ ',' @@ ]"`
}

type simpleStmt struct {
	Target Expr   `parser:"@@"`
	Op     tokens `parser:"[ @Assign"`
	Value  Expr   `parser:"@@ ]"`
}

// Productions: the participle parsers of grammar.go, one for each kind of statement.

// postfix is an expression without operators in front or between: x, x[i], f(x).
type postfix interface{ Expr }

// args are the arguments of a call, with their parentheses.
type args interface{ list() []*Arg }

type argList []*Arg

func (a argList) list() []*Arg { return a }

// root is the parser of the whole grammar. It looks no token ahead: once a token
// of an alternative is read, what follows must fit, so errors point at the first
// token that does not. The few places that need more say so in their tags.
var root = sync.OnceValue(func() *participle.Parser[statement] {
	return participle.MustBuild[statement](
		participle.Lexer(token.Definition{}),
		participle.UseLookahead(0),
		participle.ParseTypeWith(readExpr),
		participle.ParseTypeWith(readPostfix),
		participle.ParseTypeWith(readArgs),
	)
})

// production reads the production P of the grammar from l, which is left behind
// its last token.
func production[P any](l *lexer.PeekingLexer) (*P, error) {
	p, err := participle.ParserForProduction[P](root())
	if err != nil {
		return nil, err
	}
	return p.ParseFromLexer(l, participle.AllowTrailing(true))
}

// The commonest statements by hand. Participle copies the tokens of a statement, finds
// fields by reflection and takes a branch for every option of the grammar: parsing took
// 9.1 µs a statement, and takes 3.9. A statement that does not fit here goes to
// participle, which reads it or reports the mistake, so the grammar alone defines the
// statements.

// maxKept is how many tokens stay between statements.
const maxKept = 1000

// quick is head for a statement that read knows; read returns nil when it does not fit.
// The result holds tokens until the next statement is read.
func quick[P any](p *parser, w where, read func(x *exprParser, s *stream) *P) *P {
	end, bad := p.HeadEnd(p.pos)
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
		if m, ok := x.failed.(*token.Mistake); ok && m.Code == "E0107" { // large: not once more
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
	for _, t := range p.Tokens[p.pos:end] {
		out = append(out, lexer.Token{Type: lexer.TokenType(t.Kind), Value: t.Text(p.Text), Pos: lexer.Position{Offset: int(t.Lo)}})
	}
	out = append(out, lexer.Token{Type: token.EOF, Pos: lexer.Position{Offset: int(p.Tokens[end].Lo)}})
	if cap(out) <= maxKept {
		p.buf = out
	}
	return &stream{toks: out}
}

// whole reads an expression; nil if there is none.
func (p *exprParser) whole() Expr {
	if !token.StartsExpr(p.peek()) {
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
	for s.Next().Type == token.Ident {
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
	if s.Peek().Type == token.Assign {
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
	if s.Next().Type != token.Ident || s.Next().Value != "=" {
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
	if s.Peek().Type == token.EOF {
		return &returnStmt{}
	}
	if v := x.whole(); v != nil {
		return &returnStmt{Value: v}
	}
	return nil
}

// Errors of participle, in the words of messages.

// productionNames are the productions of the grammar in the words of messages.
var productionNames = map[string]string{
	"Expr": "an expression", "Postfix": "the name of some data", "TypeRef": "a type", "Operand": "a parameter", "FuncParam": "a parameter",
	"FilterCall": "a filter", "GridCall": "`grid`", "Args": "`(`", "WithClause": "`with`", "OptionItem": "an option", "AcquireItem": "an access mode (R, W or RW)",
	"CodeletHeader": "a name", "FuncHeader": "a name", "<ident>": "a name", "<string>": "a string", "<assign>": "`=`", "`none`": "",
}

// asMistake turns an error of participle into a mistake.
func asMistake(err error) *token.Mistake {
	var m *token.Mistake
	if errors.As(err, &m) {
		return m
	}
	var u *participle.UnexpectedTokenError
	if errors.As(err, &u) {
		t := u.Unexpected
		return token.Unexpected(&t, expected(u)...)
	}
	var pe participle.Error
	if errors.As(err, &pe) {
		at := int32(pe.Position().Offset)
		return &token.Mistake{Code: "E0101", At: Span{Lo: at, Hi: at}, Msg: pe.Message()}
	}
	return &token.Mistake{Code: "E0101", Msg: err.Error()}
}

// expected reads what participle expected from its message, which gives the rest
// of the production as EBNF: the first term of it is what should have come.
func expected(u *participle.UnexpectedTokenError) []string {
	msg := u.Message()
	i := strings.Index(msg, " (expected ")
	if i < 0 {
		return nil
	}
	rest := strings.TrimSuffix(msg[i+len(" (expected "):], ")")
	return firstTerms(rest)
}

// firstTerms lists the words that an EBNF expression may begin with.
func firstTerms(s string) []string {
	s = strings.TrimSpace(s)
	if s == "" {
		return nil
	}
	switch s[0] {
	case '"':
		if n := strings.IndexByte(s[1:], '"'); n >= 0 {
			return []string{"`" + s[1:1+n] + "`"}
		}
	case '(':
		inner, rest := group(s)
		var out []string
		if strings.HasPrefix(inner, "?") {
			return firstTerms(rest)
		}
		for _, alt := range alternatives(inner) {
			out = append(out, firstTerms(alt)...)
		}
		if strings.HasPrefix(rest, "?") || strings.HasPrefix(rest, "*") {
			out = append(out, firstTerms(rest[1:])...)
		}
		return unique(out)
	}
	end := strings.IndexAny(s, " )|?*+")
	if end < 0 {
		end = len(s)
	}
	word := s[:end]
	out := []string{word}
	if name, ok := productionNames[word]; ok {
		out[0] = name
	}
	return out
}

// group splits "(a b) c" into "a b" and "c".
func group(s string) (inner, rest string) {
	depth, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 {
				return s[1:i], s[i+1:]
			}
		}
	}
	return s[1:], ""
}

// alternatives splits "a | b | c" at the top level.
func alternatives(s string) []string {
	var out []string
	depth, quoted, start := 0, false, 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == '|' && depth == 0:
			out = append(out, s[start:i])
			start = i + 1
		}
	}
	return append(out, s[start:])
}

// unique drops repeated words.
func unique(words []string) []string {
	out := words[:0]
	for _, w := range words {
		seen := false
		for _, o := range out {
			seen = seen || o == w
		}
		if !seen {
			out = append(out, w)
		}
	}
	return out
}
