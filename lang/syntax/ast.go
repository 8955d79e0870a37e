package syntax

import (
	"reflect"
	"slices"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax/token"
	"github.com/starpush/starpush/lang/types"
)

// Span is a range of byte offsets into the source of the file: [Lo, Hi).
type Span = token.Span

// Comment is one # or ## comment; Text is all of it, without the newline.
type Comment = token.Comment

// Node is any part of the tree.
type Node interface{ Range() Span }

// File is one parsed source.
type File struct {
	Source *diag.Source
	Doc    string // leading ## comment
	Stmts  []Stmt
	// Comments holds every comment in source order, for the printer.
	Comments []Comment
}

// At converts the range of n into a span of the file.
func (f *File) At(n Node) diag.Span {
	s := n.Range()
	return f.Source.Span(int(s.Lo), int(s.Hi))
}

// Text returns the source of n.
func (f *File) Text(n Node) string {
	s, t := n.Range(), f.Source.Text
	lo, hi := max(0, min(int(s.Lo), len(t))), max(0, min(int(s.Hi), len(t)))
	return t[lo:max(lo, hi)]
}

// ---- statements ------------------------------------------------------------

// Stmt is a statement.
type Stmt interface {
	Node
	stmt()
}

type stmtNode struct{ Span }

func (stmtNode) stmt() {}

func (s *stmtNode) setSpan(at Span) { s.Span = at }

// Statements. Span covers the whole statement; names and parts have their own.
type (
	// Block is { … }; its span has the braces.
	Block struct {
		stmtNode
		Stmts []Stmt
	}
	Import struct {
		stmtNode
		Path *StringLit
		As   *Ident // nil: named after the file
	}
	Param struct {
		stmtNode
		Doc   string
		Name  *Ident
		Type  *TypeExpr
		Value Expr // nil: must be given
	}
	ExternData struct {
		stmtNode
		Doc  string
		Name *Ident
		Type *TypeExpr
	}
	// Struct declares a type of elements with fields; the statements of Body are Fields.
	Struct struct {
		stmtNode
		Doc  string
		Name *Ident
		Body *Block
		Obj  *types.Object
	}
	// Field is a field of a struct.
	Field struct {
		stmtNode
		Name *Ident
		Type *TypeExpr
	}
	// Codelet is a codelet, or an extern codelet when Body is nil.
	Codelet struct {
		stmtNode
		Doc    string
		Name   *Ident
		Params []*Operand
		Sig    Span // the parentheses
		With   *With
		Body   *Block // statements: Each For If Let Assign ExprStmt
		Obj    *types.Object
	}
	Operand struct {
		Span
		Name    *Ident
		Mode    iface.AccessMode // NoMode: a scalar
		ModeAt  Span
		Type    *TypeExpr
		Default Expr
		Obj     *types.Object
	}
	Func struct {
		stmtNode
		Doc    string
		Name   *Ident
		Params []*FuncParam
		Sig    Span
		Result *TypeExpr // nil: none
		Body   *Block
		Obj    *types.Object
		Slots  int // size of the frame: set by the checker
	}
	FuncParam struct {
		Span
		Name    *Ident
		Type    *TypeExpr
		Default Expr
	}
	Let struct {
		stmtNode
		Name  *Ident
		Type  *TypeExpr // nil: inferred
		Value Expr
	}
	Register struct {
		stmtNode
		Doc   string
		Names []*Ident
		Value Expr // Call of a constructor, or a list (comprehension) of them
	}
	// Partition declares the named view Name of Of[0], or (Name nil) the default view of each of Of.
	Partition struct {
		stmtNode
		Name    *Ident
		Of      []Expr
		Filters []*FilterCall
		Over    *FilterCall // the grid of ranks that own the parts; nil: none
	}
	// FilterCall is a filter of a partition with its arguments, or the grid after over.
	FilterCall struct {
		Span
		Name *Ident
		Args []*Arg
		Obj  *types.Object // host filters; nil for built-in ones
	}
	Unpartition struct {
		stmtNode
		Of []Expr
		To Expr
	}
	// Acquire holds data until the end of Body, or until a release when Body is nil.
	Acquire struct {
		stmtNode
		Items []*AcquireItem
		Body  *Block
	}
	AcquireItem struct {
		Span
		Mode   iface.AccessMode
		ModeAt Span
		Of     Expr
		As     *Ident
	}
	Release struct {
		stmtNode
		Names []*Ident
		To    iface.AccessMode // NoMode: entirely
		ToAt  Span
	}
	Wait struct {
		stmtNode
		Of []Expr // empty: everything
	}
	// Checkpoint writes all data to a folder, from which a later run goes on.
	Checkpoint struct {
		stmtNode
		Dir Expr
	}
	Prefetch struct {
		stmtNode
		Of   []Expr
		To   Expr
		With *With
	}
	Hint struct {
		stmtNode
		Of   []Expr
		With *With
	}
	// Verb is invalidate, unregister or evict.
	Verb struct {
		stmtNode
		Verb string
		Of   []Expr
	}
	If struct {
		stmtNode
		Cond Expr
		Then *Block
		Else Stmt // *If, *Block or nil
	}
	For struct {
		stmtNode
		Names []*Ident
		In    Expr
		Body  *Block
	}
	While struct {
		stmtNode
		Cond Expr
		Body *Block
	}
	Return struct {
		stmtNode
		Value Expr
	}
	Break    struct{ stmtNode }
	Continue struct{ stmtNode }
	Assert   struct {
		stmtNode
		Cond    Expr
		Message Expr
	}
	// Assign is target op value with op one of = += -= *= /= &= |= ^= <<= >>=.
	Assign struct {
		stmtNode
		Target Expr
		Op     string
		OpAt   Span
		Value  Expr
	}
	ExprStmt struct {
		stmtNode
		X Expr
	}
	// Each is the parallel loop of codelet bodies. Domain is one operand, or one range per name.
	Each struct {
		stmtNode
		Head   Span // "each i in x", without the block
		Names  []*Ident
		Domain []Expr
		Body   *Block
	}
)

// With is the options of an insert, a codelet, a hint or a prefetch.
type With struct {
	Span
	Options []*Option
}

// Option is name = value.
type Option struct {
	Span
	Name  *Ident
	Value Expr
}

// TypeExpr is a type as written: name, name[elem], or name[elem, rank].
type TypeExpr struct {
	Span
	Name *Ident
	Elem *TypeExpr
	Rank *IntLit     // nil: none
	Type *types.Type // set by the checker
}

// ---- expressions -----------------------------------------------------------

// Expr is an expression. After checking, Type is never nil.
type Expr interface {
	Node
	Type() *types.Type
	SetType(*types.Type)
}

type exprNode struct {
	Span
	typ *types.Type
}

func (e *exprNode) Type() *types.Type     { return e.typ }
func (e *exprNode) SetType(t *types.Type) { e.typ = t }

// Expressions. Parentheses leave Paren nodes, so that the printer keeps them.
type (
	Ident struct {
		exprNode
		Name string
		Obj  *types.Object // set by the checker where the name is used or declared
	}
	IntLit struct {
		exprNode
		Value int64
		Text  string // as written
	}
	FloatLit struct {
		exprNode
		Value float64
		Text  string
	}
	// ImagLit is the imaginary number Value·i.
	ImagLit struct {
		exprNode
		Value float64
		Text  string
	}
	StringLit struct {
		exprNode
		Value string
		Text  string // as written, with quotes
	}
	// FString is f"…": Parts in order, each a text or an expression with a format.
	FString struct {
		exprNode
		Parts []FPart
		Text  string // as written
	}
	BoolLit struct {
		exprNode
		Value bool
	}
	NoneLit struct{ exprNode }
	Paren   struct {
		exprNode
		X Expr
	}
	ListLit struct {
		exprNode
		Items []Expr
	}
	// ListComp is [Item for Var in In].
	ListComp struct {
		exprNode
		Item Expr
		Var  *Ident
		In   Expr
	}
	// Unary is "-", "~" or "not".
	Unary struct {
		exprNode
		Op   string
		OpAt Span
		X    Expr
	}
	// Binary is or and == != < <= > >= + - | ^ * / // % << >> & **.
	Binary struct {
		exprNode
		Op   string
		OpAt Span
		X, Y Expr
	}
	RangeExpr struct {
		exprNode
		Lo, Hi Expr
		Closed bool
	}
	// Cond is if If then Then else Else.
	Cond struct {
		exprNode
		If, Then, Else Expr
	}
	// Call calls a function, builtin, constructor (vector[f32](…)) or module member.
	// Bound has one entry per parameter of Callee's signature (nil: default);
	// builtins without a signature and constructors have no Bound.
	Call struct {
		exprNode
		Fn     Expr
		Args   []*Arg
		Callee *types.Object // set by the checker; nil for constructors
		Bound  []Expr
	}
	Arg struct {
		Span
		Name  *Ident // nil: by position
		Value Expr
	}
	Index struct {
		exprNode
		X    Expr
		Args []Expr
	}
	Selector struct {
		exprNode
		X    Expr
		Name *Ident
	}
	// Insert submits a task. Bound has one entry per parameter of Callee's
	// signature (nil: default); TypeArgs says which element type each type
	// parameter stands for.
	Insert struct {
		exprNode
		Word     Span // "insert"
		Path     []*Ident
		Args     []*TaskArg
		Parens   Span
		With     *With
		Callee   *types.Object
		Bound    []*TaskArg
		TypeArgs map[byte]iface.Elem
	}
	TaskArg struct {
		Span
		Name   *Ident
		Mode   iface.AccessMode // NoMode: a scalar (or a handle that lacks its mode)
		ModeAt Span
		Value  Expr
		At     Expr // @ node
	}
	// Fold is sum, prod, min or max over a domain, in codelet bodies.
	Fold struct {
		exprNode
		Op     string
		Names  []*Ident
		Domain []Expr
		Body   Expr
	}
)

// Access returns the span of "RW x" in "RW x as xs".
func (it *AcquireItem) Access() Span { return Span{Lo: it.ModeAt.Lo, Hi: it.Of.Range().Hi} }

// Slice returns e as x[a..b]: an index with a range among its arguments; nil for other
// expressions. It looks at types, so the program has been checked.
func Slice(e Expr) *Index {
	x, ok := Unparen(e).(*Index)
	if !ok {
		return nil
	}
	for _, a := range x.Args {
		if t := a.Type(); t != nil && t.Kind == types.Range {
			return x
		}
	}
	return nil
}

// Unparen returns x without the parentheses around it.
func Unparen(x Expr) Expr {
	for {
		p, ok := x.(*Paren)
		if !ok {
			return x
		}
		x = p.X
	}
}

// FPart is a piece of an f-string: Text, or X with a Go format without its %.
type FPart struct {
	Text   string
	X      Expr
	Format string
}

// AsIndex writes x(i) in the source text as x[i]; "" if that makes no sense.
func (c *Call) AsIndex(text string) string {
	if len(c.Args) == 0 {
		return ""
	}
	for _, a := range c.Args {
		if a.Name != nil {
			return ""
		}
	}
	fn := c.Fn.Range()
	return text[fn.Lo:fn.Hi] + "[" + text[c.Args[0].Lo:c.Args[len(c.Args)-1].Hi] + "]"
}

// Walk calls visit for every node of f, parents before their parts, with the nodes
// around it, the outermost first. The slice is only good during the call.
func Walk(f *File, visit func(n Node, around []Node)) {
	var around []Node
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Interface:
			if !v.IsNil() {
				walk(v.Elem())
			}
		case reflect.Pointer:
			if v.IsNil() {
				return
			}
			n, ok := v.Interface().(Node)
			if ok {
				visit(n, around)
				around = append(around, n)
			}
			walk(v.Elem())
			if ok {
				around = around[:len(around)-1]
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case reflect.Struct:
			t := v.Type()
			for i := range t.NumField() {
				if f := t.Field(i); f.IsExported() && !f.Anonymous && !ignored[f.Name] && (t != reflect.TypeFor[TypeExpr]() || f.Name != "Type") {
					walk(v.Field(i))
				}
			}
		}
	}
	walk(reflect.ValueOf(f.Stmts))
}

// Idents lists the names in f, in the order of the text: declarations, uses, and the
// words that name arguments and options.
func Idents(f *File) []*Ident {
	var out []*Ident
	Walk(f, func(n Node, _ []Node) {
		if id, ok := n.(*Ident); ok {
			out = append(out, id)
		}
	})
	slices.SortStableFunc(out, func(a, b *Ident) int { return int(a.Lo - b.Lo) })
	return out
}

// Equal: trees compared without their places.

// ignored are the fields that say where something stands, or that the checker sets.
var ignored = token.WordSet("Span", "Source", "Comments", "OpAt", "ModeAt", "ToAt", "Sig", "Head", "Word", "Parens", "Obj", "Slots", "Callee",
	"Bound", "TypeArgs", "typ")

// Equal reports whether a and b hold the same program: the same trees, whatever the
// layout and the comments. Documentation may be wrapped differently.
func Equal(a, b *File) bool {
	return words(a.Doc) == words(b.Doc) && sameTree(reflect.ValueOf(a.Stmts), reflect.ValueOf(b.Stmts))
}

// EqualExpr is Equal for expressions.
func EqualExpr(a, b Expr) bool { return sameTree(reflect.ValueOf(a), reflect.ValueOf(b)) }

// words are the words of a documentation.
func words(s string) string { return strings.Join(strings.Fields(s), " ") }

func sameTree(a, b reflect.Value) bool {
	if a.Kind() != b.Kind() || a.Type() != b.Type() {
		return false
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		return sameTree(a.Elem(), b.Elem())
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !sameTree(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Struct:
		t := a.Type()
		for i := range t.NumField() {
			f := t.Field(i)
			switch {
			case ignored[f.Name] || f.Anonymous || t == reflect.TypeFor[TypeExpr]() && f.Name == "Type":
			case f.Name == "Doc":
				if words(a.Field(i).String()) != words(b.Field(i).String()) {
					return false
				}
			case !sameTree(a.Field(i), b.Field(i)):
				return false
			}
		}
		return true
	}
	return a.Equal(b)
}
