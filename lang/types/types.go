// Package types has the types of the language, signatures, and the objects that names denote.
// The checker, the compiler of codelet bodies and the interpreter share them. Programs that
// embed scripts use package lang instead.
//
// A Type is immutable and shared; [Same] compares two, not ==. An Object and a Module
// belong to the compilation that made them, and are immutable after it.
package types

import (
	"slices"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
)

// Kind is the outermost form of a type.
type Kind uint8

// The kinds of types.
const (
	Invalid Kind = iota // unknown because of an earlier error: fits every type, without a message
	Int
	Float
	Complex
	Bool
	String
	None
	Range
	List     // Of: the items; nil until a use determines it
	Variable // Elem or Param
	Vector
	Matrix
	Block
	Tensor
	Void
	View  // Of: the handle type of its parts
	Array // Of: the handle type it was acquired from; in a body, the type of its elements
	Task
	Gate
	Node
	Worker
	DeviceKind // cpu, cuda, opencl: type "kind"
	Reducer
	Layout  // of data on devices
	Elem    // inside codelets: an element of type Elem or Param
	Modes   // has no values
	Dense   // signatures of host codelets only: a vector or a matrix, of Elem or Param
	CSR     // a sparse matrix in compressed rows: see Sparse
	CSC     // in compressed columns
	COO     // by coordinates
	BCSR    // in compressed rows of blocks
	Structs // a vector of structs, of Struct: see Sparse
	Any     // signatures of host codelets only: data with elements, with any number of indices, of Elem or Param
)

// Type is a type of the language. Types are compared with Same, never with ==.
type Type struct {
	Kind   Kind
	Elem   iface.Elem // of handles, and of Kind Elem
	Param  byte       // 'T': an element-type parameter instead of Elem; 0 for none
	Rank   uint8      // of a Tensor with more than four indices: how many; else 0
	Of     *Type
	Struct *Struct // of Structs
}

// Struct is a type of elements with fields, which lie in an array each.
type Struct struct {
	Name   string
	Format *iface.SparseFormat // its Arrays are the fields
}

// SameStruct reports whether a and b have the same name and fields.
func SameStruct(a, b *Struct) bool {
	if a == nil || b == nil || a == b {
		return a == b
	}
	return a.Name == b.Name && slices.Equal(a.Format.Arrays, b.Format.Arrays)
}

// StructsOf returns the type of vectors of structs of type s.
func StructsOf(s *Struct) *Type { return &Type{Kind: Structs, Struct: s} }

// Fields returns the format of structs, or nil for other types.
func (t *Type) Fields() *iface.SparseFormat {
	if t.Kind != Structs {
		return nil
	}
	return t.Struct.Format
}

// Types without parts.
var (
	TInvalid = &Type{Kind: Invalid}
	TInt     = &Type{Kind: Int}
	TFloat   = &Type{Kind: Float}
	TComplex = &Type{Kind: Complex}
	TBool    = &Type{Kind: Bool}
	TString  = &Type{Kind: String}
	TNone    = &Type{Kind: None}
	TRange   = &Type{Kind: Range}
	TVoid    = &Type{Kind: Void}
	TTask    = &Type{Kind: Task}
	TGate    = &Type{Kind: Gate}
	TNode    = &Type{Kind: Node}
	TWorker  = &Type{Kind: Worker}
	TDevice  = &Type{Kind: DeviceKind}
	TReducer = &Type{Kind: Reducer}
	TLayout  = &Type{Kind: Layout}
)

// ListOf returns list[of].
func ListOf(of *Type) *Type { return &Type{Kind: List, Of: of} }

// ViewOf returns view[of].
func ViewOf(of *Type) *Type { return &Type{Kind: View, Of: of} }

// ArrayOf returns the type of an array acquired from a handle of type of, or of an array of a body with
// elements of type of.
func ArrayOf(of *Type) *Type { return &Type{Kind: Array, Of: of} }

// HandleOf returns the handle type of kind k with element type e.
func HandleOf(k iface.Kind, e iface.Elem) *Type {
	switch k {
	case iface.Variable:
		return &Type{Kind: Variable, Elem: e}
	case iface.Vector:
		return &Type{Kind: Vector, Elem: e}
	case iface.Matrix:
		return &Type{Kind: Matrix, Elem: e}
	case iface.Block:
		return &Type{Kind: Block, Elem: e}
	}
	if k.IsTensor() {
		return TensorOf(k.Rank(), e)
	}
	return TVoid
}

// TensorOf returns the type of tensors with rank indices, from 4 to iface.MaxRank, and elements of type e.
func TensorOf(rank int, e iface.Elem) *Type {
	t := &Type{Kind: Tensor, Elem: e}
	if rank > 4 {
		t.Rank = uint8(rank)
	}
	return t
}

// SameKind reports whether handles of types a and b are of the same kind of data: of tensors, with as many indices.
func SameKind(a, b *Type) bool { return a.Kind == b.Kind && a.Rank == b.Rank }

// Lower returns the type of slices of data of type t, which have an index less; t has an index.
func (t *Type) Lower() *Type {
	low := HandleOf(iface.KindOf(t.Data().Rank()-1), t.Elem)
	low.Param = t.Param
	return low
}

// Data returns the kind of data of a handle type, iface.NoKind for others.
func (t *Type) Data() iface.Kind {
	switch t.Kind {
	case Variable:
		return iface.Variable
	case Vector:
		return iface.Vector
	case Matrix:
		return iface.Matrix
	case Block:
		return iface.Block
	case Tensor:
		return iface.KindOf(max(4, int(t.Rank)))
	case Void:
		return iface.Void
	}
	return iface.NoKind
}

// IsHandle reports whether t is the type of registered data.
func (t *Type) IsHandle() bool {
	return t.Data() != iface.NoKind || t.Kind == Dense || t.Kind == Any || t.Sparse() != nil
}

var sparseFormats = map[Kind]*iface.SparseFormat{CSR: iface.Sparse("csr"), CSC: iface.Sparse("csc"), COO: iface.Sparse("coo"), BCSR: iface.Sparse("bcsr")}

// SparseKinds lists the kinds of sparse matrices.
var SparseKinds = []Kind{CSR, CSC, COO, BCSR}

// SparseOf returns the type of sparse matrices in a format with element type e.
func SparseOf(f *iface.SparseFormat, e iface.Elem) *Type {
	for k, g := range sparseFormats {
		if f == g {
			return &Type{Kind: k, Elem: e}
		}
	}
	return TInvalid
}

// Sparse returns the format of data of type t that is several arrays, a sparse matrix or structs, or nil for other
// types.
func (t *Type) Sparse() *iface.SparseFormat {
	if t.Kind == Structs {
		return t.Struct.Format
	}
	if t.Kind < CSR || t.Kind > BCSR {
		return nil
	}
	return sparseFormats[t.Kind]
}

// Member returns the type of an array of a sparse matrix of type t, or nil for other types and
// names.
func (t *Type) Member(name string) *Type {
	f := t.Sparse()
	if f == nil {
		return nil
	}
	i := f.Array(name)
	if i < 0 {
		return nil
	}
	out := HandleOf(f.Arrays[i].Kind, f.Arrays[i].Elem)
	if i == f.Values() && !f.Fields {
		out.Elem, out.Param = t.Elem, t.Param
	}
	return out
}

// Admits reports whether data of type t is of a kind that an operand of type p takes, whatever their elements.
func (p *Type) Admits(t *Type) bool {
	return SameKind(p, t) || p.Kind == Dense && t.IsDense() || p.Kind == Any && t.Data() != iface.NoKind && t.Kind != Void
}

// Admitted returns the kinds of data that an operand of type p takes.
func (p *Type) Admitted() []iface.Kind {
	switch p.Kind {
	case Dense:
		return []iface.Kind{iface.Vector, iface.Matrix}
	case Any:
		var all []iface.Kind
		for rank := range iface.MaxRank + 1 {
			all = append(all, iface.KindOf(rank))
		}
		return all
	}
	return []iface.Kind{p.Data()}
}

// IsDense reports whether t is a vector or a matrix: one of the types of Dense.
func (t *Type) IsDense() bool { return t.Kind == Vector || t.Kind == Matrix }

// IsNumber reports whether t is a real number: int or float.
func (t *Type) IsNumber() bool { return t.Kind == Int || t.Kind == Float }

// IsScalar reports whether t is int, float, complex, bool or string.
func (t *Type) IsScalar() bool { return t.Kind >= Int && t.Kind <= String }

// Same reports whether a and b are the same type. Invalid is the same as everything.
func Same(a, b *Type) bool {
	if a == b || a == nil || b == nil || a.Kind == Invalid || b.Kind == Invalid {
		return true
	}
	return SameKind(a, b) && a.Elem == b.Elem && a.Param == b.Param && Same(a.Of, b.Of) && SameStruct(a.Struct, b.Struct)
}

var kindNames = map[Kind]string{
	Invalid: "?", Int: "int", Float: "float", Complex: "complex", Bool: "bool", String: "string", None: "none",
	Range: "range", List: "list", Variable: "variable", Vector: "vector", Matrix: "matrix", Block: "block", Tensor: "tensor",
	Void: "void", View: "view", Array: "array", Task: "task", Gate: "gate", Node: "node",
	Worker: "worker", DeviceKind: "kind", Reducer: "reducer", Layout: "layout", Elem: "elem", Dense: "dense", Any: "any", CSR: "csr", CSC: "csc", COO: "coo", BCSR: "bcsr", Structs: "vector",
}

// String writes t as in the language: "list[int]", "view[matrix[f64]]", "vector[T]".
func (t *Type) String() string {
	if t == nil {
		return "?"
	}
	elem := t.Elem.String()
	if t.Kind == Structs {
		elem = t.Struct.Name
	} else if t.Param != 0 {
		elem = string(t.Param)
	}
	switch t.Kind {
	case Elem:
		return elem
	case Tensor:
		return t.Data().Type(elem)
	case Variable, Vector, Matrix, Block, Dense, Any, CSR, CSC, COO, BCSR, Structs:
		return kindNames[t.Kind] + "[" + elem + "]"
	case Array:
		if t.Of != nil && t.Of.Kind == Elem {
			return "array[" + t.Of.String() + "]"
		}
		if t.Of == nil && (t.Elem != iface.NoElem || t.Param != 0) {
			return "array[" + elem + "]"
		}
		if t.Of != nil && t.Of.Data() != iface.NoKind && t.Of.Kind != Void {
			return "array[" + strings.TrimSuffix(strings.SplitN(t.Of.String(), "[", 2)[1], "]") + "]"
		}
		return "array"
	case List, View:
		return kindNames[t.Kind] + "[" + t.Of.String() + "]"
	}
	return kindNames[t.Kind]
}
