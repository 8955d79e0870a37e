package lang

// Host data without copies: Go memory as the home of a handle.

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/interp"
)

// Elem lists the Go types whose values can be elements of registered data.
type Elem interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64 | ~complex64 | ~complex128 |
		iface.Float16 | iface.BFloat16 | ~bool
}

// Data is Go memory, described for the language. Give it to one run with Bind;
// the same Data may serve several runs one after the other. At once it may only if
// it is ReadOnly; else Run, Start and NewSession refuse it until the other is closed.
type Data struct{ b interp.Binding }

// A DataOption changes how Go memory is bound.
type DataOption func(*interp.Binding)

// ReadOnly makes a write to the data an error: of Run where the text shows it,
// else of the insert or acquire that wants to write (E0306).
func ReadOnly() DataOption { return func(b *interp.Binding) { b.ReadOnly = true } }

// VectorOf makes s the home memory of a vector. s must not be touched between
// Bind and Close except through Acquire. Two names may share memory only if both
// are ReadOnly: Run refuses others, as it could not keep their uses in order.
func VectorOf[T Elem](s []T, opts ...DataOption) *Data {
	return newData(interp.Binding{Kind: iface.Vector, Elem: iface.ElemOf[T](), Dims: []int{len(s)},
		Home: unsafe.Pointer(unsafe.SliceData(s)), Keep: s}, opts)
}

// VariableOf makes *p the home memory of a variable. A nil p is an error of Run.
func VariableOf[T Elem](p *T, opts ...DataOption) *Data {
	return newData(interp.Binding{Kind: iface.Variable, Elem: iface.ElemOf[T](), Home: unsafe.Pointer(p), Keep: p}, opts)
}

// MatrixOf makes s the home memory of a row-major matrix of rows x cols whose
// rows start ld elements apart; ld = 0 means cols.
func MatrixOf[T Elem](s []T, rows, cols, ld int, opts ...DataOption) (*Data, error) {
	if ld == 0 {
		ld = cols
	}
	switch {
	case rows < 0 || cols < 0:
		return nil, fmt.Errorf("lang: MatrixOf: %d x %d is not a size; rows and cols must not be negative", rows, cols)
	case ld < cols:
		return nil, fmt.Errorf("lang: MatrixOf: ld is %d, below cols %d; rows would overlap", ld, cols)
	case rows > 0 && cols > 0 && (rows-1 > (math.MaxInt-cols)/ld || (rows-1)*ld+cols > len(s)):
		return nil, fmt.Errorf("lang: MatrixOf: the slice has %d elements, too few for %d x %d with ld %d", len(s), rows, cols, ld)
	}
	return newData(interp.Binding{Kind: iface.Matrix, Elem: iface.ElemOf[T](), Dims: []int{rows, cols}, LD: ld,
		Home: unsafe.Pointer(unsafe.SliceData(s)), Keep: s}, opts), nil
}

// BlockOf makes s the home memory of a block of nx x ny x nz: element (x, y, z) is
// s[x*ldx + y*ldy + z]. ldy = 0 means nz, ldx = 0 means ny*ldy: nothing between rows
// and planes.
func BlockOf[T Elem](s []T, nx, ny, nz, ldx, ldy int, opts ...DataOption) (*Data, error) {
	if nx < 0 || ny < 0 || nz < 0 {
		return nil, fmt.Errorf("lang: BlockOf: %d x %d x %d is not a size; nx, ny and nz must not be negative", nx, ny, nz)
	}
	if ldy == 0 {
		ldy = nz
	}
	row, ok1 := extent(ny, ldy, nz) // of one plane, from its first element to its last
	if ldx == 0 && ok1 {
		ldx = ny * ldy
	}
	all, ok2 := extent(nx, ldx, row)
	switch {
	case ldy < nz:
		return nil, fmt.Errorf("lang: BlockOf: ldy is %d, below nz %d; rows would overlap", ldy, nz)
	case ok1 && (ldx < 0 || ny > 0 && ldx/ny < ldy):
		return nil, fmt.Errorf("lang: BlockOf: ldx is %d, below ny x ldy, %d x %d; planes would overlap", ldx, ny, ldy)
	case nx > 0 && ny > 0 && nz > 0 && (!ok1 || !ok2 || all > len(s)):
		return nil, fmt.Errorf("lang: BlockOf: the slice has %d elements, too few for %d x %d x %d with ldx %d and ldy %d", len(s), nx, ny, nz, ldx, ldy)
	}
	return newData(interp.Binding{Kind: iface.Block, Elem: iface.ElemOf[T](), Dims: []int{nx, ny, nz}, Step: []int{ldx, ldy},
		Home: unsafe.Pointer(unsafe.SliceData(s)), Keep: s}, opts), nil
}

// TensorOf makes s the home memory of a tensor with the sizes dims: element (i, j, k, l) is
// s[i*step[0] + j*step[1] + k*step[2] + l]. A zero in step stands for nothing between
// neighbours along that index.
func TensorOf[T Elem](s []T, dims [4]int, step [3]int, opts ...DataOption) (*Data, error) {
	return tensorOf("TensorOf", s, dims[:], step[:], opts)
}

// TensorNOf makes s the home memory of a tensor with four to eight indices and the sizes dims: element (i0, i1, …) is
// s[i0*step[0] + i1*step[1] + …], with a step for each index but the last. A zero in step stands for nothing between
// neighbours along that index, and a nil step for zeros.
func TensorNOf[T Elem](s []T, dims, step []int, opts ...DataOption) (*Data, error) {
	switch n := len(dims); {
	case n < 4 || n > iface.MaxRank:
		return nil, fmt.Errorf("lang: TensorNOf: %d sizes, and a tensor has 4 to %d", n, iface.MaxRank)
	case step == nil:
		step = make([]int, n-1)
	case len(step) != n-1:
		return nil, fmt.Errorf("lang: TensorNOf: %d steps for %d sizes; give one for each index but the last", len(step), n)
	}
	return tensorOf("TensorNOf", s, slices.Clone(dims), slices.Clone(step), opts)
}

// tensorOf is TensorNOf for the function that the caller named; it keeps dims and step.
func tensorOf[T Elem](function string, s []T, dims, step []int, opts []DataOption) (*Data, error) {
	fail := func(format string, args ...any) (*Data, error) {
		return nil, fmt.Errorf("lang: "+function+": "+format, args...)
	}
	last := len(dims) - 1
	all, fits, empty := dims[last], true, dims[last] == 0
	for _, n := range dims {
		if n < 0 {
			return fail("%d is not a size; sizes must not be negative", n)
		}
	}
	for k := last - 1; k >= 0; k-- {
		side := all // by side
		if k < last-1 && fits && !empty {
			if dims[k+1] > math.MaxInt/step[k+1] {
				fits = false
			}
			side = dims[k+1] * step[k+1]
		}
		if step[k] == 0 {
			step[k] = max(1, side)
		}
		if fits && !empty && step[k] < side {
			return fail("step[%d] is %d, below %d; elements would overlap", k, step[k], side)
		}
		empty = empty || dims[k] == 0
		if fits && !empty {
			all, fits = extent(dims[k], step[k], all)
		}
	}
	if !empty && (!fits || all > len(s)) {
		return fail("the slice has %d elements, too few for sizes %v with steps %v", len(s), dims, step)
	}
	return newData(interp.Binding{Kind: iface.KindOf(len(dims)), Elem: iface.ElemOf[T](), Dims: dims, Step: step,
		Home: unsafe.Pointer(unsafe.SliceData(s)), Keep: s}, opts), nil
}

// extent is the number of elements from the first of n runs to the last element of
// the last; false: more than an int holds.
func extent(n, apart, run int) (int, bool) {
	if n == 0 || run == 0 {
		return 0, true
	}
	if apart > 0 && n-1 > (math.MaxInt-run)/apart {
		return 0, false
	}
	return (n-1)*apart + run, true
}

// CSROf makes val the home memory of the values of a sparse matrix of rows x cols in compressed rows:
// the entries of row i are those from ptr[i] to before ptr[i+1], by ascending columns. ptr and col are copied.
func CSROf[T Elem](rows, cols int, ptr []int64, col []int32, val []T, opts ...DataOption) (*Data, error) {
	return sparseOf("CSROf", iface.SparseStructure{Format: iface.Sparse("csr"), Rows: rows, Cols: cols, R: 1, C: 1, Ptr: ptr, Col: col}, val, opts)
}

// CSCOf makes val the home memory of the values of a sparse matrix of rows x cols in compressed columns:
// the entries of column j are those from ptr[j] to before ptr[j+1], by ascending rows. ptr and row are copied.
func CSCOf[T Elem](rows, cols int, ptr []int64, row []int32, val []T, opts ...DataOption) (*Data, error) {
	return sparseOf("CSCOf", iface.SparseStructure{Format: iface.Sparse("csc"), Rows: rows, Cols: cols, R: 1, C: 1, Ptr: ptr, Row: row}, val, opts)
}

// COOOf makes val the home memory of the values of a sparse matrix of rows x cols by coordinates, in any
// order. row and col are copied.
func COOOf[T Elem](rows, cols int, row, col []int32, val []T, opts ...DataOption) (*Data, error) {
	return sparseOf("COOOf", iface.SparseStructure{Format: iface.Sparse("coo"), Rows: rows, Cols: cols, R: 1, C: 1, Row: row, Col: col}, val, opts)
}

// BCSROf makes val the home memory of the values of a sparse matrix of rows x cols in compressed rows of
// dense blocks of r x c: those of row i of blocks are the blocks from ptr[i] to before ptr[i+1], col has
// their columns, counted in blocks, and val their elements, block by block and row by row. ptr and col are copied.
func BCSROf[T Elem](rows, cols, r, c int, ptr []int64, col []int32, val []T, opts ...DataOption) (*Data, error) {
	return sparseOf("BCSROf", iface.SparseStructure{Format: iface.Sparse("bcsr"), Rows: rows, Cols: cols, R: r, C: c, Ptr: ptr, Col: col}, val, opts)
}

// sparseOf checks and copies the structure s, for the function that the caller named.
func sparseOf[T Elem](function string, s iface.SparseStructure, val []T, opts []DataOption) (*Data, error) {
	if err := s.Check(func() bool { return false }); err != nil {
		return nil, fmt.Errorf("lang: %s: %w", function, err)
	}
	s.Ptr, s.Row, s.Col = slices.Clone(s.Ptr), slices.Clone(s.Row), slices.Clone(s.Col)
	n := 1
	for _, d := range s.Dims() {
		n *= d
	}
	if len(val) != n {
		return nil, fmt.Errorf("lang: %s: val has %d elements, and the entries %d", function, len(val), n)
	}
	return newData(interp.Binding{Kind: s.Format.Arrays[s.Format.Values()].Kind, Elem: iface.ElemOf[T](), Dims: s.Dims(), Structure: &s,
		Home: unsafe.Pointer(unsafe.SliceData(val)), Keep: val}, opts), nil
}

// Sizes describes data for plans, without memory: a variable for no size, a vector
// for one, a matrix (rows, columns) for two, a block for three, a tensor for four to eight. Program.Plan takes it wherever it takes
// data; Run does not. Extern variables need nothing at all in plans.
func Sizes[T Elem](dims ...int) *Data {
	b := interp.Binding{Elem: iface.ElemOf[T](), Dims: slices.Clone(dims), NoMemory: true}
	if len(dims) <= iface.MaxRank {
		b.Kind = iface.KindOf(len(dims))
	}
	if b.Kind == iface.Matrix {
		b.LD = dims[1]
	}
	return newData(b, nil)
}

func newData(b interp.Binding, opts []DataOption) *Data {
	for _, o := range opts {
		if o != nil {
			o(&b)
		}
	}
	return &Data{b: b}
}

// Reading and writing registered data from Go.

// Handle is registered data of a run: a whole datum or a part of one. It is
// valid until its block of the script ends, or until Close of its instance.
type Handle = interp.Handle

// View is a set of handles: the parts that a partition declared.
type View = interp.View

// Mode says what an access does to data.
type Mode = iface.AccessMode

// The modes that Acquire takes.
const (
	R  = iface.R
	W  = iface.W
	RW = iface.RW
)

// Access is direct access to the main-memory copy of a handle. Its methods may
// be called from one goroutine at a time.
type Access[T Elem] struct {
	a        *engine.Access
	buf      iface.Buffer
	released bool
}

// Acquire waits for h in mode m and returns direct access to its main-memory
// copy. Nothing else can use the data in a conflicting way until Release. The
// error says so when T is not h's element type, when h has no value to read, or
// when the task that should have written it failed.
func Acquire[T Elem](ctx context.Context, h *Handle, m Mode) (*Access[T], error) {
	if !h.Exists() {
		return nil, fmt.Errorf("lang: Acquire of no handle: nil, or not from an instance")
	}
	if m != R && m != W && m != RW {
		return nil, fmt.Errorf("lang: Acquire of %v in mode %v; the modes are R, W and RW", h, m)
	}
	if err := holds[T]("Acquire", h); err != nil {
		return nil, err
	}
	a, err := h.Acquire(ctx, m)
	if err != nil {
		return nil, err
	}
	return &Access[T]{a: a, buf: *a.Buffer()}, nil
}

// holds reports, for the function that the caller named, that T is not what the
// elements of h are in Go.
func holds[T Elem](function string, h *Handle) error {
	d := h.Desc()
	switch {
	case d.Kind == iface.Void:
		return fmt.Errorf("lang: %s: %s is void and has no value", function, h.Name())
	case d.Elem != iface.ElemOf[T]():
		fits := d.Elem.GoType()
		return fmt.Errorf("lang: %s[%v]: %s is a %v, whose elements are %s in Go: use %s[%s], or a type whose underlying type is %s",
			function, reflect.TypeFor[T](), h.Name(), h.Type(), fits, function, fits, fits)
	}
	return nil
}

// Slice returns the memory itself, row by row; nil if rows are not adjacent, and
// after Release.
func (a *Access[T]) Slice() []T {
	if !a.held() || !a.buf.Contiguous() {
		return nil
	}
	return iface.Slice[T](&a.buf)
}

// Row returns row i of a matrix, the memory itself. It is nil after Release, for
// other kinds of data, and for a row that does not exist.
func (a *Access[T]) Row(i int) []T {
	if !a.held() || a.buf.Rank != 2 || i < 0 || i >= a.buf.Dim[0] {
		return nil
	}
	return iface.Row[T](&a.buf, i)
}

// Line returns the elements along the last index where the others are idx, the
// memory itself: Line(i, j, k) of a tensor,
// Line(x, y) of a block, Line(i) of a matrix, Line() of a vector. It
// is nil after Release, and for a line that does not exist.
func (a *Access[T]) Line(idx ...int) []T {
	if !a.held() {
		return nil
	}
	l, _ := iface.LineAt[T](&a.buf, idx...)
	return l
}

// Shape returns the sizes, one for each index; also after Release.
func (a *Access[T]) Shape() []int {
	if a == nil {
		return nil
	}
	return a.buf.Shape()
}

func (a *Access[T]) held() bool { return a != nil && a.a != nil && !a.released }

// Release gives the data back. It is idempotent; the slices are invalid afterwards.
func (a *Access[T]) Release() error {
	if !a.held() {
		return nil
	}
	a.released = true
	return a.a.Release()
}

// Value acquires the variable h in mode R, reads its element and releases it.
func Value[T Elem](ctx context.Context, h *Handle) (T, error) {
	var zero T
	if !h.Exists() {
		return zero, fmt.Errorf("lang: Value of no handle: nil, or not from an instance")
	}
	if d := h.Desc(); d.Kind != iface.Variable {
		return zero, fmt.Errorf("lang: Value: %s is a %v, not a variable", h.Name(), h.Type())
	}
	if err := holds[T]("Value", h); err != nil {
		return zero, err
	}
	a, err := Acquire[T](ctx, h, R)
	if err != nil {
		return zero, err
	}
	v := a.Slice()[0]
	return v, a.Release()
}

// Memory for data that devices use.

// Alloc returns n elements of memory, all zero, that make the fastest home for data
// that devices use: give it to VectorOf or MatrixOf. It is page-locked where a device
// of rt has such memory (CUDA), so that copies go on by themselves, and aligned in any
// case. It may lie outside the Go heap: call free once, after Close of the instances
// that use it, and use the slice no more.
func Alloc[T Elem](rt *engine.Runtime, n int) (s []T, free func(), err error) {
	size := int64(unsafe.Sizeof(*new(T)))
	switch {
	case rt == nil:
		return nil, nil, fmt.Errorf("lang: Alloc: the engine's runtime is nil")
	case n < 0 || int64(n) > math.MaxInt64/size:
		return nil, nil, fmt.Errorf("lang: Alloc of %d elements", n)
	}
	p, release, err := rt.AllocPinned(int64(n) * size)
	if err != nil {
		return nil, nil, fmt.Errorf("lang: Alloc of %d elements: %w", n, err)
	}
	return unsafe.Slice((*T)(p), n), func() { _ = release() }, nil
}
