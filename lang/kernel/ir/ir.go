package ir

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
)

// Type is the type of a value inside a body: an element type, Bool, or Open.
type Type uint8

// The types of values. The numbers of the element types are those of iface.
const (
	I8   = Type(iface.I8)
	I16  = Type(iface.I16)
	I32  = Type(iface.I32)
	I64  = Type(iface.I64)
	U8   = Type(iface.U8)
	U16  = Type(iface.U16)
	U32  = Type(iface.U32)
	U64  = Type(iface.U64)
	F32  = Type(iface.F32)
	F64  = Type(iface.F64)
	C64  = Type(iface.C64)
	C128 = Type(iface.C128)
	F16  = Type(iface.F16)
	BF16 = Type(iface.BF16)
	Bool = Type(iface.B8) // elements, and values
	// Open is the type of values whose type is unknown while a body is checked: elements
	// of a type parameter, and expressions with an error.
	Open = Bool + 1
)

// String returns the name of t in the language.
func (t Type) String() string {
	switch t {
	case Bool:
		return "bool"
	case Open:
		return "?"
	}
	return iface.Elem(t).String()
}

// IsFloat reports whether t is f32 or f64.
func (t Type) IsFloat() bool { return t == F32 || t == F64 }

// IsInt reports whether t is an integer type.
func (t Type) IsInt() bool { return t >= I8 && t <= U64 }

// IsComplex reports whether t is c64 or c128, the types of elements and of pairs.
func (t Type) IsComplex() bool { return t == C64 || t == C128 }

// Part returns the type of the parts of a complex type, and t itself for others.
func (t Type) Part() Type {
	switch t {
	case C64:
		return F32
	case C128:
		return F64
	}
	return t
}

// Is16 reports whether t is f16 or bf16, types of elements alone: their values are of type f32.
func (t Type) Is16() bool { return t == F16 || t == BF16 }

// Stored returns the type in which loads and stores of elements of type t work: the parts of a complex
// element, the bits of an f16 or bf16, and the byte of a bool.
func (t Type) Stored() Type {
	if t.Is16() {
		return U16
	}
	if t == Bool {
		return U8
	}
	return t.Part()
}

// Size returns the size of a value in bytes.
func (t Type) Size() uintptr {
	if t == Bool {
		return 1
	}
	return iface.Elem(t).Size()
}

// Op is the operation of an expression.
type Op uint8

// The operations. Both operands of arithmetic or of a comparison have the same type, which
// the rules of the language determine: conversions are explicit.
const (
	OpBad     Op = iota // an expression with an error, which was reported
	OpConst             // Int (integers, and Bool as 0 or 1) or Float
	OpSlot              // value of local Slot
	OpField             // Field of operand Operand, an I64
	OpLoad              // element X… of operand Operand; no X for a variable
	OpElement           // element X[0] of the array in local Slot, which has Int elements
	OpConvert           // X[0] as Type, as Wrap, Saturate and IntToFloat convert

	OpNeg
	OpNot
	OpAdd
	OpSub
	OpMul
	OpDiv      // of floats
	OpFloorDiv // rounds down
	OpMod      // sign of the divisor
	OpPow
	OpBitAnd // of integers, as all operations on bits
	OpBitOr
	OpBitXor
	OpBitNot
	OpShl // a count that is not from 0 to the width less 1 shifts all bits out
	OpShr // with the sign, if the type has one
	OpMin // of two; a NaN is the result
	OpMax
	OpEq
	OpNe
	OpLt
	OpLe
	OpGt
	OpGe
	OpAnd // evaluates X[1] only if X[0] is true
	OpOr  // evaluates X[1] only if X[0] is false

	OpCond   // X[0] ? X[1] : X[2]; evaluates one of the two
	OpSelect // the same; evaluates both

	OpAbs
	OpSqrt
	OpCbrt
	OpExp
	OpLog
	OpLog2
	OpSin
	OpCos
	OpTan
	OpTanh
	OpErf
	OpFloor
	OpCeil
	OpRound // halves away from zero
	OpFMA   // X[0]*X[1]+X[2], rounded once

	OpFromF16  // the F32 that is stored as X[0], a U16
	OpFromBF16 // the same for bf16
	OpToF16    // X[0], an F32, as it is stored, a U16
	OpToBF16

	OpFold // Reduce of X[0] over Domain

	OpComplex // X[0] + X[1]·i; only during lowering, after which there are no complex values
)

var opNames = map[Op]string{
	OpBad: "bad", OpConst: "const", OpSlot: "slot", OpField: "field", OpLoad: "load", OpElement: "element", OpConvert: "convert",
	OpNeg: "neg", OpNot: "not", OpAdd: "add", OpSub: "sub", OpMul: "mul", OpDiv: "div", OpFloorDiv: "floordiv",
	OpMod: "mod", OpPow: "pow", OpBitAnd: "bitand",
	OpBitOr: "bitor", OpBitXor: "bitxor", OpBitNot: "bitnot", OpShl: "shl", OpShr: "shr", OpMin: "min", OpMax: "max", OpEq: "eq", OpNe: "ne", OpLt: "lt", OpLe: "le",
	OpGt: "gt", OpGe: "ge", OpAnd: "and", OpOr: "or", OpCond: "cond", OpSelect: "select", OpAbs: "abs",
	OpSqrt: "sqrt", OpCbrt: "cbrt", OpExp: "exp", OpLog: "log", OpLog2: "log2", OpSin: "sin", OpCos: "cos",
	OpTan: "tan", OpTanh: "tanh", OpErf: "erf", OpFloor: "floor", OpCeil: "ceil", OpRound: "round", OpFMA: "fma",
	OpFromF16: "fromf16", OpFromBF16: "frombf16", OpToF16: "tof16", OpToBF16: "tobf16", OpFold: "fold", OpComplex: "complex",
}

// String returns the name of o in the text form of the representation.
func (o Op) String() string { return opNames[o] }

// Field is a field of an operand.
type Field uint8

// The fields. FieldDim0 is n, rows, nx or n0, FieldOff0 is offset, row0, x0 or offset0.
const (
	FieldDim0 Field = iota
	FieldDim1
	FieldDim2
	FieldDim3
	FieldDim4
	FieldDim5
	FieldDim6
	FieldDim7
	FieldOff0
	FieldOff1
	FieldOff2
	FieldOff3
	FieldOff4
	FieldOff5
	FieldOff6
	FieldOff7
	FieldLD
	// The distances between neighbours along all indices but the last of blocks and tensors,
	// in elements. The language has no names for them; kernels on devices take them as
	// arguments.
	FieldStride0
	FieldStride1
	FieldStride2
	FieldStride3
	FieldStride4
	FieldStride5
	FieldStride6
)

// Expr is an expression. Trees may share nodes, which are immutable once a body is lowered.
type Expr struct {
	Op      Op
	Type    Type
	Lit     bool // a literal, which adapts to the type of the other operand; only during lowering
	Field   Field
	Reduce  Op // of a fold: OpAdd, OpMul, OpMin or OpMax
	Slot    int
	Operand int
	Int     int64
	Float   float64
	X       []*Expr
	Domain  []Range // of a fold
	Pos     syntax.Span
}

// Range is the domain of one index: Lo..Hi, or Lo..=Hi when Closed.
type Range struct {
	Slot   int
	Lo, Hi *Expr
	Closed bool
	Over   int // the operand over whose axis it runs; -1 for an explicit range
	Pos    syntax.Span
}

// StmtKind is the kind of a statement.
type StmtKind uint8

// The statements.
const (
	SetStmt     StmtKind = iota // Slot = Value; for an array, the declaration: all of its elements = Value
	StoreStmt                   // element Index… of Operand = Value; no Index for a variable
	ElementStmt                 // element Index[0] of the array in Slot = Value
	IfStmt                      // if Value then Body else Else
	// ForStmt is for Domain[0], in order. If Value is not nil, the loop ends before the first round
	// in which it is false: that round and those after it would do nothing. So it may go on where
	// Value is true in another round that runs beside it. A while is a for over NoEnd.
	ForStmt
	EachStmt // for Domain, in any order; never inside another each

	// ReduceStmt is s = s Reduce Value, where s is Slot or, if Operand is not -1, element
	// Index… of Operand. Lowering makes none; package analysis replaces assignments by it
	// in loops whose rounds depend on each other through such reductions alone.
	ReduceStmt
)

// NoEnd is the upper bound of the range of a loop that its Value ends.
const NoEnd = math.MaxInt64

// Stmt is a statement. The Value of a SetStmt, StoreStmt or ElementStmt has the type of the
// local or element that it is assigned to.
type Stmt struct {
	Kind    StmtKind
	Declare bool   // SetStmt of a let: the first value of Slot
	Update  string // the operator in the source: "=", "+=", …; "" for a let
	Slot    int
	Operand int
	Index   []*Expr
	Value   *Expr
	Domain  []Range
	Body    []*Stmt
	Else    []*Stmt
	Pos     syntax.Span
	Target  syntax.Span // the left side of an assignment
	Head    syntax.Span // of an each
	Source  syntax.Expr // the right side of an assignment
	Reduce  Op          // of a ReduceStmt
}

// SlotKind is the origin of a local.
type SlotKind uint8

// The kinds of locals.
const (
	LetSlot    SlotKind = iota
	ScalarSlot          // a scalar operand, set before the body runs
	IndexSlot           // of an each, a for or a fold
)

// Slot is a local of a body.
type Slot struct {
	Name     string
	Type     Type // of an array: that of its elements
	Kind     SlotKind
	Elem     Type // of a scalar operand of type f16 or bf16, which is rounded to it
	Len      int  // of an array: the number of its elements; 0 for one value
	Assigned bool // after its declaration, too; true for every array
	// Imaginary marks the local of the imaginary part of a complex value; the local before it has the
	// real part.
	Imaginary bool
	Decl      syntax.Span
}

// MaxLen is the largest number of elements of an array in a body.
const MaxLen = 64

// ArrayWords returns the number of elements of all arrays of the body.
func (fn *Func) ArrayWords() int {
	n := 0
	for k := range fn.Slots {
		n += fn.Slots[k].Len
	}
	return n
}

// Operand is a data operand of a body. An access to complex elements has an index more than the kind
// of the data, the last: 0 for the real and 1 for the imaginary part of an element.
type Operand struct {
	Name string
	Kind iface.Kind // NoKind if its type has an error
	Elem Type
	Mode iface.AccessMode
	Node *syntax.Operand
}

// Rank returns the number of indices of an access to o.
func (o *Operand) Rank() int {
	if o.Elem.IsComplex() {
		return o.Kind.Rank() + 1
	}
	return o.Kind.Rank()
}

// Size is an operand whose first size the body sets. In the body the operand has the size of
// its capacity, and its length is a variable, one more operand behind those of the signature:
// the caller gives it the length that there is, and takes what the body leaves there.
type Size struct {
	Operand, Variable int
}

// Func is a lowered body.
type Func struct {
	Name     string
	Source   *diag.Source
	Operands []Operand // in the order of the signature, then the variables of Sizes
	Sizes    []Size
	Scalars  []int // slot of each scalar operand, -1 for strings; two slots of a complex one
	Slots    []Slot
	Body     []*Stmt
}

// NumScalars returns the number of scalar operands of fn.
func (fn *Func) NumScalars() int {
	n := len(fn.Scalars)
	for _, slot := range fn.Scalars {
		if slot >= 0 && fn.Slots[slot].Imaginary {
			n--
		}
	}
	return n
}

// TakesComplex returns the reason why a body with complex elements or scalars runs on CPU workers
// only; nil: it has none of them. Complex numbers inside of a body are floats, which run anywhere.
func (fn *Func) TakesComplex() error {
	for k := range fn.Operands {
		if o := &fn.Operands[k]; o.Elem.IsComplex() {
			return fmt.Errorf("operand `%s` has complex elements, which CPU workers alone take", o.Name)
		}
	}
	for _, slot := range fn.Scalars {
		if slot >= 0 && fn.Slots[slot].Imaginary {
			return fmt.Errorf("scalar `%s` is complex, and CPU workers alone take that", fn.Slots[slot].Name)
		}
	}
	return nil
}

// Sets reports whether the body sets the size of an operand.
func (f *Func) Sets(operand int) bool {
	return slices.ContainsFunc(f.Sizes, func(s Size) bool { return s.Operand == operand })
}

// WalkExpr calls f for e and the expressions in it, outermost first. It does not descend
// where f returns false.
func WalkExpr(e *Expr, f func(*Expr) bool) {
	if e == nil || !f(e) {
		return
	}
	for _, r := range e.Domain {
		WalkExpr(r.Lo, f)
		WalkExpr(r.Hi, f)
	}
	for _, x := range e.X {
		WalkExpr(x, f)
	}
}

// Exprs calls f for each expression of s itself, not for those of statements in it.
func (s *Stmt) Exprs(f func(*Expr)) {
	for _, r := range s.Domain {
		f(r.Lo)
		f(r.Hi)
	}
	for _, x := range s.Index {
		f(x)
	}
	if s.Value != nil {
		f(s.Value)
	}
}

// WalkStmts calls f for every statement of list and of the blocks in it.
func WalkStmts(list []*Stmt, f func(*Stmt)) {
	for _, s := range list {
		f(s)
		WalkStmts(s.Body, f)
		WalkStmts(s.Else, f)
	}
}

// UsedOperands returns the operands with an element that the body reads or writes, or a field
// that it reads.
func (fn *Func) UsedOperands() []int {
	in := make([]bool, len(fn.Operands))
	over := func(domain []Range) {
		for _, r := range domain {
			if r.Over >= 0 && r.Over < len(in) {
				in[r.Over] = true
			}
		}
	}
	WalkStmts(fn.Body, func(s *Stmt) {
		if s.Kind == StoreStmt {
			in[s.Operand] = true
		}
		over(s.Domain)
		s.Exprs(func(e *Expr) {
			WalkExpr(e, func(e *Expr) bool {
				if e.Op == OpField || e.Op == OpLoad {
					in[e.Operand] = true
				}
				over(e.Domain)
				return true
			})
		})
	})
	var out []int
	for k, is := range in {
		if is {
			out = append(out, k)
		}
	}
	return out
}

// Task is one run of a body: its data operands and its scalar operands, each in the order
// of the signature, and a context. Long runs look at that, and call GiveWay, which may run
// other tasks before it returns.
type Task interface {
	NumBuffers() int
	Buffer(i int) *iface.Buffer
	Args() []iface.Scalar
	Context() context.Context
	GiveWay()
}

// MaxIndices is the most indices of one each or fold.
const MaxIndices = 8

// Element returns the element that s, a store or an assignment to an element of an array of
// fn, writes, as an expression that loads it.
func (fn *Func) Element(s *Stmt) *Expr {
	if s.Kind == ElementStmt {
		return &Expr{Op: OpElement, Type: s.Value.Type, Slot: s.Slot, Int: int64(fn.Slots[s.Slot].Len), X: s.Index, Pos: s.Target}
	}
	return &Expr{Op: OpLoad, Type: s.Value.Type, Operand: s.Operand, X: s.Index, Pos: s.Target}
}

// InBounds reports whether e, an element of an array in a body, has a constant index that is in
// bounds.
func (e *Expr) InBounds() bool {
	x := e.X[0]
	return x.Op == OpConst && x.Int >= 0 && x.Int < e.Int
}
