package engine

// Data with a Go type: handles, their views, and the values that a program reads and writes.

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"unsafe"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

// Data is registered data or a part of it: a Vector, Matrix, Block, Tensor, TensorN or Variable, or a
// *datamgr.Handle, which says nothing of its type.
type Data interface {
	// Untyped returns the handle; nil for the zero value of a typed one.
	Untyped() *datamgr.Handle
}

// Vector is a handle of a vector with elements of type T. It is a plain value: copies are
// the same vector. The zero value is no data, and an error where it is used; those of its
// methods that come from the Handle panic. All methods are safe for concurrent use.
type Vector[T iface.Go] struct {
	_ [0]T // vectors of different T do not convert to each other
	*datamgr.Handle
}

// Matrix is a handle of a row-major matrix with elements of type T; see Vector.
type Matrix[T iface.Go] struct {
	_ [0]T
	*datamgr.Handle
}

// Block is a handle of a block, data with three indices, with elements of type T; see
// Vector.
type Block[T iface.Go] struct {
	_ [0]T
	*datamgr.Handle
}

// Tensor is a handle of a tensor, data with four indices, with elements of type T; see
// Vector.
type Tensor[T iface.Go] struct {
	_ [0]T
	*datamgr.Handle
}

// TensorN is a handle of a tensor with any number of indices from four to iface.MaxRank, which is eight, with
// elements of type T; see Vector. A Tensor is one with exactly four.
type TensorN[T iface.Go] struct {
	_ [0]T
	*datamgr.Handle
}

// Variable is a handle of one element of type T; see Vector.
type Variable[T iface.Go] struct {
	_ [0]T
	*datamgr.Handle
}

// NewVector registers s as a vector. The slice stays the program's, which must leave it
// alone until the vector is unregistered, except through Acquire.
func NewVector[T iface.Go](rt *Runtime, s []T, opts ...DataOption) (Vector[T], error) {
	h, err := register[T]("NewVector", rt, iface.Vector, homeOf(s), []int{len(s)}, opts)
	return Vector[T]{Handle: h}, err
}

// MakeVector registers a vector of n elements in memory of the runtime. It has no value,
// and takes no memory, until a task writes it (W), or with the option Fill.
func MakeVector[T iface.Go](rt *Runtime, n int, opts ...DataOption) (Vector[T], error) {
	h, err := register[T]("MakeVector", rt, iface.Vector, nil, []int{n}, opts)
	return Vector[T]{Handle: h}, err
}

// NewMatrix registers s as a row-major matrix. Element (i, j) is s[i*cols+j], or
// s[i*stride+j] with the option Stride. For the slice see NewVector.
func NewMatrix[T iface.Go](rt *Runtime, s []T, rows, cols int, opts ...DataOption) (Matrix[T], error) {
	h, err := register[T]("NewMatrix", rt, iface.Matrix, homeOf(s), []int{rows, cols}, opts)
	return Matrix[T]{Handle: h}, err
}

// MakeMatrix registers a matrix in memory of the runtime; see MakeVector.
func MakeMatrix[T iface.Go](rt *Runtime, rows, cols int, opts ...DataOption) (Matrix[T], error) {
	h, err := register[T]("MakeMatrix", rt, iface.Matrix, nil, []int{rows, cols}, opts)
	return Matrix[T]{Handle: h}, err
}

// NewBlock registers s as a block. Element (x, y, z) is s[(x*ny+y)*nz+z]; the option
// Stride changes that. For the slice see NewVector.
func NewBlock[T iface.Go](rt *Runtime, s []T, nx, ny, nz int, opts ...DataOption) (Block[T], error) {
	h, err := register[T]("NewBlock", rt, iface.Block, homeOf(s), []int{nx, ny, nz}, opts)
	return Block[T]{Handle: h}, err
}

// MakeBlock registers a block in memory of the runtime; see MakeVector.
func MakeBlock[T iface.Go](rt *Runtime, nx, ny, nz int, opts ...DataOption) (Block[T], error) {
	h, err := register[T]("MakeBlock", rt, iface.Block, nil, []int{nx, ny, nz}, opts)
	return Block[T]{Handle: h}, err
}

// NewTensor registers s as a tensor with the sizes dims. Element (i, j, k, l) is
// s[((i*dims[1]+j)*dims[2]+k)*dims[3]+l]; the option Stride changes that. For the slice see
// NewVector.
func NewTensor[T iface.Go](rt *Runtime, s []T, dims [4]int, opts ...DataOption) (Tensor[T], error) {
	h, err := register[T]("NewTensor", rt, iface.Tensor, homeOf(s), dims[:], opts)
	return Tensor[T]{Handle: h}, err
}

// MakeTensor registers a tensor in memory of the runtime; see MakeVector.
func MakeTensor[T iface.Go](rt *Runtime, dims [4]int, opts ...DataOption) (Tensor[T], error) {
	h, err := register[T]("MakeTensor", rt, iface.Tensor, nil, dims[:], opts)
	return Tensor[T]{Handle: h}, err
}

// NewTensorN registers s as a tensor with four to eight indices and the sizes dims. The last index is the
// fastest: element (i0, …, in) is s[(…(i0*dims[1]+i1)*dims[2]+…)*dims[n]+in]; the option Stride changes that. For the
// slice see NewVector.
func NewTensorN[T iface.Go](rt *Runtime, s []T, dims []int, opts ...DataOption) (TensorN[T], error) {
	return registerTensor[T]("NewTensorN", rt, homeOf(s), dims, opts)
}

// MakeTensorN registers a tensor with the sizes dims in memory of the runtime; see NewTensorN and MakeVector.
func MakeTensorN[T iface.Go](rt *Runtime, dims []int, opts ...DataOption) (TensorN[T], error) {
	return registerTensor[T]("MakeTensorN", rt, nil, dims, opts)
}

func registerTensor[T iface.Go](function string, rt *Runtime, home *home, dims []int, opts []DataOption) (TensorN[T], error) {
	if n := len(dims); n < 4 || n > iface.MaxRank {
		return TensorN[T]{}, fmt.Errorf("engine: %s: %d sizes, and a tensor has 4 to %d; data with up to three indices is a Vector, Matrix or Block",
			function, n, iface.MaxRank)
	}
	h, err := register[T](function, rt, iface.KindOf(len(dims)), home, slices.Clone(dims), opts)
	return TensorN[T]{Handle: h}, err
}

// NewVariable registers *p as a variable. Like the slice of NewVector it stays the
// program's.
func NewVariable[T iface.Go](rt *Runtime, p *T, opts ...DataOption) (Variable[T], error) {
	if p == nil {
		return Variable[T]{}, fmt.Errorf("engine: NewVariable: the pointer is nil; MakeVariable[%v] makes one in memory of the runtime", reflect.TypeFor[T]())
	}
	h, err := register[T]("NewVariable", rt, iface.Variable, &home{unsafe.Pointer(p), 1, 1}, nil, opts)
	return Variable[T]{Handle: h}, err
}

// MakeVariable registers a variable in memory of the runtime; see MakeVector.
func MakeVariable[T iface.Go](rt *Runtime, opts ...DataOption) (Variable[T], error) {
	h, err := register[T]("MakeVariable", rt, iface.Variable, nil, nil, opts)
	return Variable[T]{Handle: h}, err
}

// Len returns the number of elements.
func (x Vector[T]) Len() int {
	if x.Handle == nil {
		return 0
	}
	d := x.Desc()
	return d.Len()
}

// Dims returns the sizes.
func (x Matrix[T]) Dims() (rows, cols int) {
	if x.Handle == nil {
		return 0, 0
	}
	d := x.Desc()
	return d.Dim[0], d.Dim[1]
}

// Dims returns the sizes.
func (x Block[T]) Dims() (nx, ny, nz int) {
	if x.Handle == nil {
		return 0, 0, 0
	}
	d := x.Desc()
	return d.Dim[0], d.Dim[1], d.Dim[2]
}

// Dims returns the sizes.
func (x Tensor[T]) Dims() (dims [4]int) {
	if x.Handle != nil {
		d := x.Desc()
		copy(dims[:], d.Shape())
	}
	return dims
}

// Dims returns the sizes, one for each index. The caller owns the slice.
func (x TensorN[T]) Dims() []int {
	if x.Handle == nil {
		return nil
	}
	d := x.Desc()
	return d.Shape()
}

// checkType reports that h is not data of kind k with elements of type T.
func checkType[T iface.Go](h *datamgr.Handle, k iface.Kind) error {
	e := iface.ElemOf[T]()
	if h == nil {
		return &ModeError{Other: -1, Message: "no data: the handle is nil"}
	}
	kind, elem := h.Type()
	if kind == k && elem == e {
		return nil
	}
	return &TypeError{Operand: -1, Arg: -1, Handle: h,
		Message: fmt.Sprintf("%s is no %s with elements of type %v; it is a %s", describe(h), k.Type(e.String()), reflect.TypeFor[T](), typeText(kind, elem))}
}

// checkTensor is checkType for tensors with any number of indices.
func checkTensor[T iface.Go](h *datamgr.Handle) error {
	if h != nil {
		if kind, _ := h.Type(); kind.IsTensor() {
			return checkType[T](h, kind)
		}
	}
	return checkType[T](h, iface.Tensor)
}

// typeText is the type of a handle of kind k with elements of type e: "Vector[float64]".
func typeText(k iface.Kind, e iface.Elem) string {
	names := [...]string{iface.Variable: "Variable", iface.Vector: "Vector", iface.Matrix: "Matrix", iface.Block: "Block", iface.Tensor: "Tensor",
		iface.Tensor5: "TensorN", iface.Tensor6: "TensorN", iface.Tensor7: "TensorN", iface.Tensor8: "TensorN"}
	if int(k) >= len(names) || names[k] == "" {
		return k.String()
	}
	return fmt.Sprintf("%s[%v]", names[k], e.GoType())
}

// Typed is implemented by Vector, Matrix, Block, Tensor, TensorN, Variable, Value and Arrays; P is the type itself.
type Typed[P any] interface {
	Data
	of(h *datamgr.Handle) (P, error)
}

func (Vector[T]) of(h *datamgr.Handle) (Vector[T], error) {
	return Vector[T]{Handle: h}, checkType[T](h, iface.Vector)
}

func (Matrix[T]) of(h *datamgr.Handle) (Matrix[T], error) {
	return Matrix[T]{Handle: h}, checkType[T](h, iface.Matrix)
}

func (Block[T]) of(h *datamgr.Handle) (Block[T], error) {
	return Block[T]{Handle: h}, checkType[T](h, iface.Block)
}

func (Tensor[T]) of(h *datamgr.Handle) (Tensor[T], error) {
	return Tensor[T]{Handle: h}, checkType[T](h, iface.Tensor)
}

func (TensorN[T]) of(h *datamgr.Handle) (TensorN[T], error) {
	return TensorN[T]{Handle: h}, checkTensor[T](h)
}

func (Variable[T]) of(h *datamgr.Handle) (Variable[T], error) {
	return Variable[T]{Handle: h}, checkType[T](h, iface.Variable)
}

// As returns h as a handle of type P, such as Vector[float64]. A *TypeError says that it
// is other data.
func As[P Typed[P]](h *datamgr.Handle) (P, error) {
	var p P
	q, err := p.of(h)
	if err != nil {
		return p, err
	}
	return q, nil
}

// View is the parts of data that a partition declared, as handles of type P. Its fields
// never change. Runtime.EndView(v.View) ends it.
type View[P any] struct {
	*datamgr.View
	Parts []P // row-major over Dims
}

// At returns the part at idx, which has one index for each of v.Dims: At(i), or At(i, j)
// for tiles. Where there is no such part it is the zero value of P, which is an error
// where it is used.
func (v View[P]) At(idx ...int) P {
	var none P
	if v.View == nil || len(idx) != len(v.Dims) {
		return none
	}
	k := 0
	for a, i := range idx {
		if i < 0 || i >= v.Dims[a] {
			return none
		}
		k = k*v.Dims[a] + i
	}
	return v.Parts[k]
}

// ViewOf returns v as a view with parts of type P. It takes and passes on an error, so
// that it can be called with what Partition returns:
//
//	parts, err := engine.ViewOf[engine.Vector[float64]](g.Partition(0, filter.Blocks(4)))
//
// Parts of another type are a *TypeError.
func ViewOf[P Typed[P]](v *datamgr.View, err error) (View[P], error) {
	if err != nil {
		return View[P]{}, err
	}
	if v == nil {
		return View[P]{}, errors.New("engine: ViewOf: the view is nil")
	}
	var p P
	parts := make([]P, len(v.Parts))
	for i, h := range v.Parts {
		if parts[i], err = p.of(h); err != nil {
			return View[P]{}, err
		}
	}
	return View[P]{v, parts}, nil
}

// partition declares a view of h with parts of type P.
func partition[P Typed[P]](h *datamgr.Handle, fs []filter.Filter) (View[P], error) {
	if h == nil {
		return View[P]{}, &ModeError{Other: -1, Message: "no data to partition: the handle is nil"}
	}
	rt := managed(h).Owner().(*Runtime)
	raw, err := rt.Partition(h, fs...)
	v, err := ViewOf[P](raw, err)
	var other *TypeError
	if errors.As(err, &other) {
		rt.EndView(raw)
		err = &TypeError{Operand: -1, Arg: -1, Handle: h, Message: fmt.Sprintf(
			"the parts of %s are no %v but a %s: Partition takes filters that keep the number of indices, Slices filters that take one away, such as filter.Pick", describe(h), reflect.TypeFor[P](), typeText(raw.Parts[0].Type()))}
	}
	return v, err
}

// Partition declares the view of x that the filters give, each applied to every part of
// the one before: filter.Blocks(4), filter.BlocksHalo(4, 1). It moves nothing and waits for
// nothing; x and its other views stay usable. Errors are those of Runtime.Partition, and a
// *TypeError for filters that take an index away.
func (x Vector[T]) Partition(fs ...filter.Filter) (View[Vector[T]], error) {
	return partition[Vector[T]](x.Handle, fs)
}

// Partition declares a view of x with parts that are matrices, as by filter.Rows, Cols or
// Tiles; see Vector.Partition.
func (x Matrix[T]) Partition(fs ...filter.Filter) (View[Matrix[T]], error) {
	return partition[Matrix[T]](x.Handle, fs)
}

// Partition declares a view of x with parts that are blocks, as by filter.Axis or TilesN; see
// Vector.Partition.
func (x Block[T]) Partition(fs ...filter.Filter) (View[Block[T]], error) {
	return partition[Block[T]](x.Handle, fs)
}

// Partition declares a view of x with parts that are tensors, as by filter.Axis or TilesN;
// see Vector.Partition.
func (x Tensor[T]) Partition(fs ...filter.Filter) (View[Tensor[T]], error) {
	return partition[Tensor[T]](x.Handle, fs)
}

// Partition declares a view of x with parts that have as many indices, as by filter.Axis or TilesN; see
// Vector.Partition.
func (x TensorN[T]) Partition(fs ...filter.Filter) (View[TensorN[T]], error) {
	return partition[TensorN[T]](x.Handle, fs)
}

// Slices declares a view of x with its elements, as by filter.Pick(0); see
// Vector.Partition.
func (x Vector[T]) Slices(fs ...filter.Filter) (View[Variable[T]], error) {
	return partition[Variable[T]](x.Handle, fs)
}

// Slices declares a view of x with rows, filter.Pick(0), or columns, filter.Pick(1), as
// vectors; see Vector.Partition.
func (x Matrix[T]) Slices(fs ...filter.Filter) (View[Vector[T]], error) {
	return partition[Vector[T]](x.Handle, fs)
}

// Slices declares a view of x with planes as matrices, as by filter.Pick(0); see
// Vector.Partition.
func (x Block[T]) Slices(fs ...filter.Filter) (View[Matrix[T]], error) {
	return partition[Matrix[T]](x.Handle, fs)
}

// Slices declares a view of x with the blocks along one index, as by filter.Pick(0); see
// Vector.Partition.
func (x Tensor[T]) Slices(fs ...filter.Filter) (View[Block[T]], error) {
	return partition[Block[T]](x.Handle, fs)
}

// Slices declares a view of x, which has more than four indices, with parts that have one less, as by filter.Pick(0);
// see Vector.Partition.
func (x TensorN[T]) Slices(fs ...filter.Filter) (View[TensorN[T]], error) {
	return partition[TensorN[T]](x.Handle, fs)
}

// Acquired is data that the program holds, until Release; D is how it gets at it. Its
// methods are safe for concurrent use, and the zero value is of no use.
type Acquired[D any] struct {
	*Access
	data D
}

// Data returns the memory itself: []T of a vector, *T of a variable, Mat[T] of a matrix,
// Buffer[T] of a block or tensor. It is the zero value after Release; what was returned before must
// not be used then.
func (a Acquired[D]) Data() D {
	var none D
	if a.Access == nil || a.Mode() == iface.NoMode {
		return none
	}
	return a.data
}

// acquire acquires h, whose type is checked, and gives access to it as get says.
func acquire[D any](ctx context.Context, j *Job, h *datamgr.Handle, mode iface.AccessMode, wrong error, get func(b *iface.Buffer) D) (Acquired[D], error) {
	if h != nil && wrong != nil {
		return Acquired[D]{}, wrong
	}
	a, err := j.Acquire(ctx, h, mode)
	if err != nil {
		return Acquired[D]{}, err
	}
	got := Acquired[D]{Access: a}
	if b := a.Buffer(); b.Ptr != nil || b.Len() == 0 { // in a plan there is no memory
		got.data = get(b)
	}
	return got, nil
}

// valueOf acquires h, R, and returns a copy of it as get makes it.
func valueOf[D any](ctx context.Context, j *Job, h *datamgr.Handle, wrong error, get func(b *iface.Buffer) D) (v D, err error) {
	if j.rt.opt.Plan != nil {
		return v, errPlanValue
	}
	a, err := acquire(ctx, j, h, iface.R, wrong, get)
	if err != nil {
		return v, err
	}
	return a.data, a.Release()
}

func sliceOf[T iface.Go](b *iface.Buffer) []T {
	if b.Len() == 0 {
		return nil
	}
	return iface.Slice[T](b)
}

// elementsOf returns the elements of b, row by row.
func elementsOf[T iface.Go](b *iface.Buffer) []T {
	s := make([]T, 0, b.Len())
	for l := range b.Lines() {
		s = append(s, iface.Line[T](b, l)...)
	}
	return s
}

// Acquire waits until the program may use x in mode R, W or RW, and holds it until
// Release; see Job.Acquire, whose errors it has. In mode W the elements start as zeros.
func (x Vector[T]) Acquire(ctx context.Context, j *Job, mode iface.AccessMode) (Acquired[[]T], error) {
	return acquire(ctx, j, x.Handle, mode, checkType[T](x.Handle, iface.Vector), sliceOf[T])
}

// Acquire is Vector.Acquire for a matrix.
func (x Matrix[T]) Acquire(ctx context.Context, j *Job, mode iface.AccessMode) (Acquired[Mat[T]], error) {
	return acquire(ctx, j, x.Handle, mode, checkType[T](x.Handle, iface.Matrix), matOf[T])
}

// Acquire is Vector.Acquire for a block.
func (x Block[T]) Acquire(ctx context.Context, j *Job, mode iface.AccessMode) (Acquired[Buffer[T]], error) {
	return acquire(ctx, j, x.Handle, mode, checkType[T](x.Handle, iface.Block), func(b *iface.Buffer) Buffer[T] { return Buffer[T]{b: b} })
}

// Acquire is Vector.Acquire for a tensor.
func (x Tensor[T]) Acquire(ctx context.Context, j *Job, mode iface.AccessMode) (Acquired[Buffer[T]], error) {
	return acquire(ctx, j, x.Handle, mode, checkType[T](x.Handle, iface.Tensor), func(b *iface.Buffer) Buffer[T] { return Buffer[T]{b: b} })
}

// Acquire is Vector.Acquire for a tensor.
func (x TensorN[T]) Acquire(ctx context.Context, j *Job, mode iface.AccessMode) (Acquired[Buffer[T]], error) {
	return acquire(ctx, j, x.Handle, mode, checkTensor[T](x.Handle), func(b *iface.Buffer) Buffer[T] { return Buffer[T]{b: b} })
}

// Acquire is Vector.Acquire for a variable.
func (x Variable[T]) Acquire(ctx context.Context, j *Job, mode iface.AccessMode) (Acquired[*T], error) {
	return acquire(ctx, j, x.Handle, mode, checkType[T](x.Handle, iface.Variable), func(b *iface.Buffer) *T { return (*T)(b.Ptr) })
}

// Value waits for the tasks submitted so far that write x, and returns a copy of its
// elements, which is the caller's. Errors are those of Job.Acquire; with
// Options.Plan there are no values, and that is an error.
func (x Vector[T]) Value(ctx context.Context, j *Job) ([]T, error) {
	return valueOf(ctx, j, x.Handle, checkType[T](x.Handle, iface.Vector), elementsOf[T])
}

// Value is Vector.Value for a matrix; nothing lies between the rows of the copy.
func (x Matrix[T]) Value(ctx context.Context, j *Job) (Mat[T], error) {
	return valueOf(ctx, j, x.Handle, checkType[T](x.Handle, iface.Matrix), func(b *iface.Buffer) Mat[T] {
		return Mat[T]{Rows: b.Dim[0], Cols: b.Dim[1], Data: elementsOf[T](b), Stride: max(1, b.Dim[1])}
	})
}

// Value is Vector.Value for a block: element (x, y, z) is the one at (x*ny+y)*nz+z.
func (x Block[T]) Value(ctx context.Context, j *Job) ([]T, error) {
	return valueOf(ctx, j, x.Handle, checkType[T](x.Handle, iface.Block), elementsOf[T])
}

// Value is Vector.Value for a tensor, with the elements in the order of NewTensor.
func (x Tensor[T]) Value(ctx context.Context, j *Job) ([]T, error) {
	return valueOf(ctx, j, x.Handle, checkType[T](x.Handle, iface.Tensor), elementsOf[T])
}

// Value is Vector.Value for a tensor, with the elements in the order of NewTensorN.
func (x TensorN[T]) Value(ctx context.Context, j *Job) ([]T, error) {
	return valueOf(ctx, j, x.Handle, checkTensor[T](x.Handle), elementsOf[T])
}

// Value is Vector.Value for a variable.
func (x Variable[T]) Value(ctx context.Context, j *Job) (T, error) {
	return valueOf(ctx, j, x.Handle, checkType[T](x.Handle, iface.Variable), func(b *iface.Buffer) T { return *(*T)(b.Ptr) })
}
