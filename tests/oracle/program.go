// Package oracle says what a program in the language must do. It has programs as trees,
// writes them as scripts, and evaluates the trees by the rules of lang/SPEC.md alone: it
// shares no code with the interpreter, the kernels, the views or the engine, and imports
// none of them. Random programs of its generator are run by the tests, which hold what
// the implementation does against what the oracle says.
package oracle

import "fmt"

// A Program is a script.
type Program struct {
	Structs  []*Struct
	Codelets []*Codelet
	Funcs    []*Func
	Body     []*Stmt
}

// A Mode is an access mode; None is that of a scalar operand.
type Mode uint8

// The access modes.
const (
	None Mode = iota
	R
	W
	RW
	Commute
	Redux
	Scratch
	CommuteW // written COMMUTE, where the codelet has W
)

func (m Mode) String() string {
	return [...]string{"", "R", "W", "RW", "COMMUTE", "REDUX", "SCRATCH", "COMMUTE"}[m]
}

func (m Mode) reads() bool  { return m == R || m == RW || m == Commute }
func (m Mode) writes() bool { return m == W || m == RW || m == Commute || m == Redux || m == CommuteW }

// commutes reports whether uses in mode m run in any order.
func (m Mode) commutes() bool { return m == Commute || m == CommuteW }

// A Shape is a kind of data.
type Shape uint8

// The kinds of data, by their number of indices.
const (
	Variable Shape = iota
	Vector
	Matrix
	Block
	Tensor
	Tensor5
	Tensor6
	Tensor7
	Tensor8
	Void
)

func (s Shape) String() string {
	switch {
	case s == Void:
		return "void"
	case s >= Tensor:
		return "tensor"
	}
	return [...]string{"variable", "vector", "matrix", "block"}[s]
}

// typeOf writes the type of data of the shape with elements of a type.
func (s Shape) typeOf(elem string) string {
	if s > Tensor && s < Void {
		return fmt.Sprintf("tensor[%s, %d]", elem, s.rank())
	}
	return s.String() + "[" + elem + "]"
}

// rank is the number of indices.
func (s Shape) rank() int { return int(s) % int(Void) }

// An Operand is one in a signature. A scalar has no mode, and Elem is its type: I64 is
// written int, F64 float and C128 complex unless Exact is set. Generic stands for T.
type Operand struct {
	Name    string
	Mode    Mode
	Shape   Shape
	Elem    Type
	Exact   bool
	Generic bool
	Struct  *Struct // it is field Field of an operand with such elements; its other fields are beside it; nil: it is no field
	Field   int
	Sparse  string // "csr" and so on: the values of such a matrix, which a task has with its structure; "": none
}

// A Struct is a type of elements with fields. A vector of it is a vector for each field: that of field x of p has
// the name "p:x" (see fieldOf), in scripts and in codelets, and statements use it in all ways that the language has.
// The name p itself stands for all of them.
type Struct struct {
	Name   string
	Fields []Field
}

// A Field is one of a Struct.
type Field struct {
	Name string
	Elem Type
}

// A Codelet is a kernel of the script.
type Codelet struct {
	Name string
	Ops  []Operand
	Body []*Stmt

	// Facts known to the generator.
	Contributes map[string]string // operand: how it only contributes
	Like        map[string]string // operand: the one with whose indices it is used
	Lengths     map[string]string // operand: the size of the sparse matrix that is its length, "rows" or "cols"
	Faults      bool              // the body may fail
	Retry       int               // how often a task may run again after it failed; 0: not written
}

// A Func is a function of the script. Its parameters have types in the text.
type Func struct {
	Name   string
	Params []Param
	Result string // type; "" for none
	Body   []*Stmt
	Scalar bool // bodies of codelets may call it
}

// A Param is one of a function.
type Param struct{ Name, Type string }

// A Kind is a kind of statement.
type Kind uint8

// The statements. Each is only in bodies of codelets; Let, Assign, If, For, While, Break,
// Continue and Return, the latter in functions that bodies call, are in both.
const (
	Register Kind = iota
	Partition
	Unpartition
	Insert
	Let
	Assign
	If
	For
	While
	Each
	Acquire
	Release
	Wait
	Print
	Invalidate
	Unregister
	Prefetch
	Hint
	Evict
	Open
	Call
	Return
	Break
	Continue
	Assert
	Checkpoint
)

// A Stmt is a statement of a script or of the body of a codelet. Which fields count
// depends on its kind.
type Stmt struct {
	Kind   Kind
	Line   int      // in the text, from 1; Text sets it
	Name   string   // declared, assigned or called
	Names  []string // register: further names; loops: indices; acquire: arrays; release: array
	Data   *Data
	Refs   []*Ref // data that the statement is about
	Modes  []Mode // acquire: of each; release: to what
	Filter []Filter
	Grid   []int    // partition: the ranks that own the parts along each index, from the first again if there are more indices; nil: not written
	Slice  [][2]int // partition: what is split of each index, from and to; nil: all
	Args   []Arg    // insert and call
	With   With
	Expr   *Expr // value, condition, message of assert in Exprs
	Exprs  []*Expr
	Target *Expr
	Op     string // of an assignment: "=", "+=" and so on
	Over   *Domain
	Struct *Struct // assignment in a body: all fields of the element Expr are copied to Target
	Sparse bool    // partition: Refs are the values of sparse matrices, and all of those are meant
	Text   string  // options and nodes that change no result, as written
	Body   []*Stmt
	Else   []*Stmt
}

// Data is a constructor after register.
type Data struct {
	Shape  Shape
	Elem   Type
	Dims   []int
	LD     int     // 0: not written
	Owner  int     // 1 + the rank that owns it; 0: not written
	Fill   *Expr   // nil: none
	List   []*Expr // nil: none
	Struct *Struct // the data is structs, with Parts for the values of fields; nil: it is not
	Parts  []Data  // Fill and List of each field
	Zero   bool    // fields without values are 0
	Beside bool    // the layout is aos
	Sparse *Sparse // the data is the values of this matrix; nil: of none
	From   *Ref    // what is converted into the data, a matrix or a sparse one; nil: nothing
	Reduce string  // "", "sum", "prod", "min", "max", or codelets "init" or "init combine"
}

// Sparse is the structure of a sparse matrix. Entry k is in row Row[k] and column Col[k]. In a csr entries are
// ordered by rows, and those of row i begin at Ptr[i]; in a csc by columns. A coo has no Ptr. The entries
// of a bcsr are blocks of R x C elements, and Ptr, Row and Col count blocks.
type Sparse struct {
	Format        string // "csr", "csc", "coo" or "bcsr"
	Rows, Cols    int
	R, C          int // of a bcsr, else 0
	Ptr, Row, Col []int
}

// A Filter is one of a partition.
type Filter struct {
	Name  string
	Args  []int
	Sizes []int // nil: none
	Range []int // of pick: from and to; nil: none
	Halo  int
	// Inside is the border at both ends of the axes that are split; 0: not written, which
	// makes it the halo.
	Inside int
}

// A Ref names data: a handle, or a part of a view by its indices.
type Ref struct {
	Name  string
	Index []*Expr
}

// An Arg is one of an insert or a call: data with its mode, or a scalar.
type Arg struct {
	Mode   Mode
	Ref    *Ref
	Expr   *Expr
	Struct *Struct // Ref is field Field of structs that are meant as a whole; the other fields are beside it
	Field  int
	Sparse bool // Ref is the values of a sparse matrix, and all of that is meant
}

// With are the options of an insert that count for its meaning.
type With struct {
	After     []string // names of tasks and gates
	Sync      bool
	Unordered []*Ref
	Loose     bool // sequential = false
}

// A Domain is what a loop or a fold runs over: an operand of a codelet, one range for
// each index, in scripts the parts of a view, a list, or a grid.
type Domain struct {
	Of     string
	Ranges []Range
	Along  string // of Line: "row" or "col"
	Line   *Expr  // the entries of this row of a csr, or column of a csc, whose values Of names
	Parts  string
	List   []*Expr
	Grid   []*Expr
}

// A Range is Lo..Hi, or Lo..=Hi.
type Range struct {
	Lo, Hi *Expr
	Closed bool
}

// An Expr is an expression. Op says which: "int", "float", "imaginary", "bool", "text", "name", "elem"
// (Name[Args]), "field" (Name.Field, Ref for parts), "neg", "not", "~", the binary operators,
// "if", "call" (Name(Args)), "fold" (Name Index in Over { Args[0] }), and in scripts
// "value", "data" (both of Ref), "gate", "task" (of an insert) and "part".
type Expr struct {
	Op    string
	Name  string
	Field string
	Int   int64
	Float float64
	Args  []*Expr
	Index []string
	Over  *Domain
	Ref   *Ref
}
