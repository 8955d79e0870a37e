package syntax

// Grammar: what participle reads of each statement, structs and tags only. The
// blocks of statements nest in the driver (stmt.go), so a production here ends
// where its block begins. Expr and postfix are productions of expr.go.
//
// Names, signs and words are captured as tokens: they carry their place. A field
// called Tokens holds all tokens of its production.

import "github.com/alecthomas/participle/v2/lexer"

type tokens = []lexer.Token

// statement is the root: one statement, of those that have more than a word.
type statement struct {
	Import      *importStmt      `parser:"@@"`
	Param       *paramStmt       `parser:"| @@"`
	Extern      *externStmt      `parser:"| @@"`
	Codelet     *codeletStmt     `parser:"| @@"`
	Func        *funcStmt        `parser:"| @@"`
	Let         *letStmt         `parser:"| @@"`
	Register    *registerStmt    `parser:"| @@"`
	Partition   *partitionStmt   `parser:"| @@"`
	Unpartition *unpartitionStmt `parser:"| @@"`
	Acquire     *acquireStmt     `parser:"| @@"`
	Release     *releaseStmt     `parser:"| @@"`
	Wait        *waitStmt        `parser:"| @@"`
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
	Elem   *typeRef `parser:"[ '[' @@ ']' ]"`
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
