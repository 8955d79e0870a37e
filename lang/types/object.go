package types

import (
	"slices"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
)

// Param is one parameter of a signature.
type Param struct {
	Name string
	Mode iface.AccessMode // of a handle operand; NoMode for scalars and func parameters
	Type *Type            // scalars of codelets: Int Float Bool String, or Elem (an element type or T)
	// HasDefault is set if the argument may be omitted. Default is the expression for it (a
	// syntax.Expr), or nil if host code supplies the value.
	HasDefault bool
	Default    any
	Span       diag.Span // of the declaration, zero for host signatures
}

// Passed returns the mode in which a task has an argument for p that an insert writes with mode
// word. It reports false if p cannot be passed that way. COMMUTE is a mode of its own where p
// is W.
func (p *Param) Passed(word iface.AccessMode) (m iface.AccessMode, ok bool) {
	if word == iface.Commute && p.Mode == iface.W {
		return iface.CommuteW, true
	}
	return word, word == p.Mode || word.Declared() == p.Mode
}

// Signature is the signature of a codelet or function.
type Signature struct {
	Name   string
	Params []Param
	Result *Type // functions; TNone without "->"
	Text   string
	Elems  map[byte][]iface.Elem // the element types of each type parameter; without an entry: all
}

// Flat returns s as tasks have it: in the place of a sparse matrix A its arrays, such as A.ptr, A.col and
// A.val, then scalars, such as A.cols. The mode of the matrix is that of its values; the rest is read.
func (s *Signature) Flat() *Signature {
	if !slices.ContainsFunc(s.Params, func(p Param) bool { return p.Type != nil && p.Type.Sparse() != nil }) {
		return s
	}
	flat := *s
	flat.Params = nil
	for _, p := range s.Params {
		if p.Type == nil || p.Type.Sparse() == nil {
			flat.Params = append(flat.Params, p)
			continue
		}
		f := p.Type.Sparse()
		for i, a := range f.Arrays {
			q := Param{Name: p.Name + "." + a.Name, Mode: iface.R, Type: p.Type.Member(a.Name), Span: p.Span}
			if i == f.Values() || f.Fields {
				q.Mode = p.Mode
			}
			flat.Params = append(flat.Params, q)
		}
		for _, size := range f.Scalars() {
			flat.Params = append(flat.Params, Param{Name: p.Name + "." + size, Type: TInt, Span: p.Span})
		}
	}
	return &flat
}

// ObjectKind is the kind of an Object.
type ObjectKind uint8

// The kinds of objects.
const (
	BadObject ObjectKind = iota
	LetObject            // assignable
	FuncParam            // assignable parameter of a func
	LoopVar
	ParamObject   // script parameter
	HandleObject  // from register or extern
	ViewObject    // named view
	ArrayObject   // from acquire
	FuncObject    // script or host function
	CodeletObject // script or host codelet
	StructObject  // a struct
	ModuleObject
	BuiltinFunc
	BuiltinValue // pi, inf, ram, cpu, …
	FilterObject
	OperandObject // inside a codelet body: a handle operand
	ScalarObject  // inside a codelet body: a scalar operand
	KernelLet     // inside a codelet body: let
	EachVar       // inside a codelet body: index of each or of a fold
	KernelFor     // inside a codelet body: index of for
)

// Object is the entity that a name denotes. Objects of a compiled program are immutable
// and shared by all runs; per-run state lives in slots.
type Object struct {
	Name string
	Kind ObjectKind
	Type *Type
	Doc  string
	Decl diag.Span // of the name where it is declared; zero for builtins and host objects

	Sig    *Signature // funcs and codelets
	Module *Module    // ModuleObject
	Struct *Struct    // StructObject; nil after an error
	Node   any        // *syntax.Func or *syntax.Codelet that declares it; nil for host objects
	Host   any        // the host's object: *engine.Codelet, *lang.Func, …
	Kinds  []string   // host codelets: device kinds with an implementation; nil: unknown
	Fold   string     // host codelets: the fold of RW operands, such as "sum"; "": unknown
	Unit   any        // the *check.Unit whose top level declares it; nil for builtins and host objects

	Global bool // lives in the frame of its unit's top level (also in its inner blocks)
	Slot   int  // index in that frame or in the frame of its func, which the checker assigns
}

// Module is a set of exported names.
type Module struct {
	Name    string // as in import: "std/blas", "lib/vec.spu"
	Doc     string
	Members map[string]*Object
}

// Scope holds the names that a block declares. Blocks inside it have scopes whose Parent
// is this one. A zero Scope is empty, and Lookup in a nil Scope finds nothing.
type Scope[T comparable] struct {
	Parent *Scope[T]
	Depth  int          // number of scopes around it
	Names  map[string]T // the last declaration of each name
	List   []T          // all declarations, in order
}

// Inner returns a new scope inside s, which may be nil.
func (s *Scope[T]) Inner() *Scope[T] {
	if s == nil {
		return &Scope[T]{}
	}
	return &Scope[T]{Parent: s, Depth: s.Depth + 1}
}

// Lookup returns the declaration of name in s or the nearest scope around it, or the zero
// value.
func (s *Scope[T]) Lookup(name string) T {
	var none T
	for ; s != nil; s = s.Parent {
		if t := s.Names[name]; t != none {
			return t
		}
	}
	return none
}

// Insert declares name in s.
func (s *Scope[T]) Insert(name string, t T) {
	if s.Names == nil {
		s.Names = make(map[string]T, 4)
	}
	s.Names[name] = t
	s.List = append(s.List, t)
}
