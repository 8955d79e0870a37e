package engine

// Buffer and Mat: the operands of a kernel, with a Go type.

import (
	"fmt"
	"strings"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
)

// Mat is a row-major matrix in main memory: element (i, j) is Data[i*Stride+j]. Memory
// between the rows may belong to other data. Kernels given to Job.Go and Func take a Mat
// for a Matrix. Mat has the fields of gonum's blas64.General and blas32.General, so
// blas64.General(m) converts it. A Mat of a kernel is valid until the kernel returns.
type Mat[T iface.Go] struct {
	Rows, Cols int
	Data       []T // from the first element to the last; nil if there is none
	Stride     int // distance between the starts of two rows, at least 1
}

// Row returns row i, the memory itself. It panics when there is no such row, which fails
// the task of a kernel.
func (m Mat[T]) Row(i int) []T {
	if uint(i) >= uint(m.Rows) {
		panic(fmt.Sprintf("row %d of a matrix with %d rows", i, m.Rows))
	}
	if m.Cols == 0 {
		return nil
	}
	return m.Data[i*m.Stride:][:m.Cols:m.Cols]
}

// At returns element (i, j). It panics when there is none.
func (m Mat[T]) At(i, j int) T { return m.Row(i)[j] }

// Set sets element (i, j). It panics when there is none.
func (m Mat[T]) Set(i, j int, v T) { m.Row(i)[j] = v }

// matOf returns the matrix in b.
func matOf[T iface.Go](b *iface.Buffer) Mat[T] {
	data, stride := iface.Strided[T](b)
	return Mat[T]{Rows: b.Dim[0], Cols: b.Dim[1], Data: data, Stride: stride}
}

// Buffer is an operand inside a kernel: typed access to its memory, without a copy,
// with its sizes and its place in the data that it is a part of. It is valid until the
// kernel returns.
type Buffer[T iface.Go] struct {
	b *iface.Buffer // in c.bufs
	c *TaskContext  // nil: of data that the program holds
}

// Buf returns operand i of the task, counted from 0. A wrong place or element type
// panics, which fails the task with a message.
func Buf[T iface.Go](c *TaskContext, i int) Buffer[T] {
	if i < 0 || i >= c.NumBuffers() {
		panic(fmt.Sprintf("codelet %s has %d operands; there is no operand %d", c.Codelet().Name, c.NumBuffers(), i))
	}
	b := c.Buffer(i)
	if e := iface.ElemOf[T](); b.Elem != e {
		panic(fmt.Sprintf("codelet %s: operand %d is a %v, asked for as %v", c.Codelet().Name, i, &b.Desc, e))
	}
	return Buffer[T]{b, c}
}

// Slice returns the elements, row by row; nil if rows are not adjacent.
func (b Buffer[T]) Slice() []T {
	b.here()
	if !b.b.Contiguous() {
		return nil
	}
	return iface.Slice[T](b.b)
}

// Mat returns a matrix with its rows and the distance between them. It panics for other
// kinds of data.
func (b Buffer[T]) Mat() Mat[T] {
	b.here()
	if b.b.Kind != iface.Matrix {
		panic(fmt.Sprintf("Mat of %v", &b.b.Desc))
	}
	return matOf[T](b.b)
}

// Row returns row i of a matrix. It panics for other kinds of data, and when there is
// no such row.
func (b Buffer[T]) Row(i int) []T {
	b.here()
	return iface.Row[T](b.b, i)
}

// Line returns the elements along the last index where the others are idx: Line(i, j, k)
// of a tensor, Line(x, y) of a block, Line(i) of a matrix, Line() of a vector. It panics when there is no such
// line, which fails the task with a message.
func (b Buffer[T]) Line(idx ...int) []T {
	b.here()
	l, ok := iface.LineAt[T](b.b, idx...)
	if !ok {
		panic(fmt.Sprintf("Line(%s) of %v", strings.Trim(fmt.Sprint(idx), "[]"), &b.b.Desc))
	}
	return l
}

// Resize sets the sizes of the content of data with a capacity; see TaskContext.Resize. It
// panics where that returns an error, which fails the task with a message. b has the new
// sizes then, and slices taken before have the old ones.
func (b Buffer[T]) Resize(dims ...int) {
	if b.c == nil {
		panic("Resize of data that the program holds; use Access.Resize")
	}
	if err := b.c.Resize(b.c.place(b.b), dims...); err != nil {
		panic(err)
	}
}

// Capacity returns the sizes that the operand has room for, one for each index: those of Shape
// for data without a capacity.
func (b Buffer[T]) Capacity() []int {
	if b.c == nil {
		return b.Shape()
	}
	d := b.c.capacity(b.c.place(b.b))
	return d.Shape()
}

// Stride returns the distance between neighbours along index k, in elements; 1 along
// the last one.
func (b Buffer[T]) Stride(k int) int {
	if k < 0 || k >= int(b.b.Rank) {
		return 1
	}
	return b.b.Stride[k]
}

// Rows returns the number of rows of a matrix, the first size of other data.
func (b Buffer[T]) Rows() int {
	if b.b.Rank == 0 {
		return 1
	}
	return b.b.Dim[0]
}

// Cols returns the number of columns of a matrix, the second size of a block or tensor, 1 for
// other kinds.
func (b Buffer[T]) Cols() int {
	if b.b.Rank < 2 {
		return 1
	}
	return b.b.Dim[1]
}

// LD returns the distance between the starts of two rows of a matrix, in elements.
func (b Buffer[T]) LD() int {
	if b.b.Rank < 2 {
		return 1
	}
	return b.b.Stride[0]
}

// Shape returns the sizes, one for each index.
func (b Buffer[T]) Shape() []int { return b.b.Shape() }

// Offset returns the place of element 0 in the root datum, along axis k.
func (b Buffer[T]) Offset(k int) int {
	if k < 0 || k >= int(b.b.Rank) {
		return 0
	}
	return b.b.Off[k]
}

// Desc returns the description of the operand.
func (b Buffer[T]) Desc() iface.Desc { return b.b.Desc }

// Ptr is the address of element 0 for the driver of the device that has it. On a
// CPU worker it is an ordinary address.
func (b Buffer[T]) Ptr() unsafe.Pointer { return b.b.Ptr }

// here panics, which fails the task, when the elements are not in main memory.
func (b Buffer[T]) here() {
	if b.c != nil && !b.c.w.host && b.c.Node(b.c.place(b.b)) != 0 {
		panic("the elements are in the memory of a device; its driver takes their Ptr")
	}
}
