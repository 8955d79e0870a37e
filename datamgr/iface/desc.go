package iface

import (
	"fmt"
	"strings"
	"unsafe"
)

// MaxRank is the largest number of indices that data can have. It is a
// constant so that descriptions are plain values. Handles do not keep one.
const MaxRank = 8

// Kind is a kind of data: what StarPU calls a data interface.
type Kind uint8

// The kinds of data.
const (
	NoKind Kind = iota
	Variable
	Vector
	Matrix
	Void   // no bytes: ordering only
	Block  // three indices
	Tensor // four indices
	Object // a value of a Go type, which has no elements to look at
	Arrays // several arrays in one piece of memory, which its elements are the bytes of
	// tensors with more than four indices; see KindOf
	Tensor5
	Tensor6
	Tensor7
	Tensor8
)

var kindNames = [...]string{"none", "variable", "vector", "matrix", "void", "block", "tensor", "object", "arrays",
	"tensor of 5 indices", "tensor of 6 indices", "tensor of 7 indices", "tensor of 8 indices"}

// String returns the name of k in the language: "matrix". That of a tensor with more than four indices says how
// many it has, "tensor of 5 indices"; see Word and Type.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "kind?"
}

// Word returns the word for k in the language, which tensors of all ranks share.
func (k Kind) Word() string {
	if k.IsTensor() {
		return "tensor"
	}
	return k.String()
}

// IsTensor reports whether k is a kind of tensors: data with four indices or more.
func (k Kind) IsTensor() bool { return k == Tensor || k >= Tensor5 && k <= Tensor8 }

// Type writes the type of data of kind k with elements elem in the language: "matrix[f64]", "tensor[f64]" for four
// indices, "tensor[f64, 5]" for five.
func (k Kind) Type(elem string) string {
	if k >= Tensor5 && k <= Tensor8 {
		return fmt.Sprintf("tensor[%s, %d]", elem, k.Rank())
	}
	return k.String() + "[" + elem + "]"
}

// Rank returns the number of indices of data of kind k.
func (k Kind) Rank() int {
	switch k {
	case Vector, Arrays:
		return 1
	case Matrix:
		return 2
	case Block:
		return 3
	case Tensor:
		return 4
	case Tensor5, Tensor6, Tensor7, Tensor8:
		return 5 + int(k-Tensor5)
	}
	return 0
}

// Sizes returns the names that the sizes of data of kind k have in the language.
func (k Kind) Sizes() []string {
	switch k {
	case Vector, Arrays:
		return []string{"n"}
	case Matrix:
		return []string{"rows", "cols"}
	case Block:
		return []string{"nx", "ny", "nz"}
	}
	if k.IsTensor() {
		return []string{"n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7"}[:k.Rank()]
	}
	return nil
}

// KindOf returns the kind of data with rank indices, from 0 to MaxRank.
func KindOf(rank int) Kind {
	return [...]Kind{Variable, Vector, Matrix, Block, Tensor, Tensor5, Tensor6, Tensor7, Tensor8}[rank]
}

// Desc describes the data of one handle: kind, element type, sizes, and where
// it lies in its root datum. Sizes and offsets count elements.
type Desc struct {
	Kind Kind
	Elem Elem
	Rank int8
	Dim  [MaxRank]int // sizes; see Kind.Sizes
	Off  [MaxRank]int // place of element 0 in the root datum, along the axes the handle kept

	// Base and Step number the elements in the root datum, row-major over its
	// sizes: element (i, j) is number Base + i·Step[0] + j·Step[1]. A whole
	// datum may leave Step zero; see Number.
	Base int
	Step [MaxRank]int
}

// Number returns the place of element 0 in the root datum, counted row by row,
// and the distance to the neighbour along each index. Unlike Off it tells the
// parts of a filter that drops an axis from each other.
func (d *Desc) Number() (base int, step [MaxRank]int) {
	if d.Step != [MaxRank]int{} {
		return d.Base, d.Step
	}
	n := 1
	for k := int(d.Rank) - 1; k >= 0; k-- {
		step[k] = n
		n *= d.Dim[k]
	}
	return d.Base, step
}

// Len returns the number of elements: 1 for a variable and an object, 0 for void.
func (d *Desc) Len() int {
	if d.Kind == Void {
		return 0
	}
	n := 1
	for _, s := range d.Dim[:d.Rank] {
		n *= s
	}
	return n
}

// Bytes returns the size of the elements in bytes.
func (d *Desc) Bytes() int64 { return int64(d.Len()) * int64(d.Elem.Size()) }

// Shape returns the sizes, one for each index. The caller owns the slice.
func (d *Desc) Shape() []int { return append([]int(nil), d.Dim[:d.Rank]...) }

// String describes d for messages: "vector[f32] of 8", "matrix[f64] 2 x 3".
func (d *Desc) String() string {
	switch d.Kind {
	case Void, Object:
		return d.Kind.String()
	case Arrays:
		return fmt.Sprintf("arrays of %d bytes", d.Dim[0])
	case Variable:
		return d.Kind.Type(d.Elem.String())
	case Vector:
		return fmt.Sprintf("%s of %d", d.Kind.Type(d.Elem.String()), d.Dim[0])
	}
	var s []string
	for _, n := range d.Dim[:d.Rank] {
		s = append(s, fmt.Sprint(n))
	}
	return d.Kind.Type(d.Elem.String()) + " " + strings.Join(s, " x ")
}

// Runs calls fn for the elements of a box of data as they follow each other in row-major order: n elements from number first of the data on are those
// from number at of the box on. The box has dims elements along the axes, from lo on. A run is a line along the last axis or, if joined is true, as long
// as the box allows. An error of fn ends Runs, which returns it.
func (d *Desc) Runs(lo, dims []int, joined bool, fn func(first, n, at int) error) error {
	rank := int(d.Rank)
	total, run := 1, 1
	for k := range rank {
		total *= dims[k]
	}
	if total == 0 {
		return nil
	}
	for k := rank - 1; k >= 0; k-- {
		run *= dims[k]
		if !joined || dims[k] < d.Dim[k] {
			break
		}
	}
	for at := 0; at < total; at += run {
		first, stride := 0, 1
		for k, rest := rank-1, at; k >= 0; k-- {
			first += (lo[k] + rest%dims[k]) * stride
			rest, stride = rest/dims[k], stride*d.Dim[k]
		}
		if err := fn(first, run, at); err != nil {
			return err
		}
	}
	return nil
}

// Buffer is an operand as a kernel gets it: a description and the address of element 0.
// The memory belongs to the data manager and is valid until the kernel returns. The last
// index is contiguous: its stride is always 1.
type Buffer struct {
	Desc
	Ptr    unsafe.Pointer
	Stride [MaxRank]int // distance between neighbours along each index, in elements
}

// At returns the address of element i of b, counted in row-major order.
func (b *Buffer) At(i int) unsafe.Pointer {
	off := i
	if b.Rank > 1 {
		off = 0
		for k := int(b.Rank) - 1; k >= 0 && b.Dim[k] > 0; k-- {
			off += i % b.Dim[k] * b.Stride[k]
			i /= b.Dim[k]
		}
	}
	return unsafe.Add(b.Ptr, off*int(b.Elem.Size()))
}

// Contiguous reports whether the elements of b lie without gaps.
func (b *Buffer) Contiguous() bool {
	want := 1
	for k := int(b.Rank) - 1; k >= 0; k-- {
		if b.Dim[k] > 1 && b.Stride[k] != want {
			return false
		}
		want *= b.Dim[k]
	}
	return true
}

// Slice returns the elements of b without a copy, in row-major order. It panics
// when T has not the size of b's elements or when rows are not adjacent; use
// Row for those.
func Slice[T Go](b *Buffer) []T {
	b.checkSize(unsafe.Sizeof(*new(T)))
	if !b.Contiguous() {
		panic("iface: Slice of a buffer whose rows are not adjacent")
	}
	return unsafe.Slice((*T)(b.Ptr), b.Len())
}

// Lines returns how many lines b has: runs of elements along the last index,
// which are contiguous. They are the rows of a matrix; a vector and a variable
// are one line.
func (b *Buffer) Lines() int {
	n := 1
	for k := range int(b.Rank) - 1 {
		n *= b.Dim[k]
	}
	return n
}

// Line returns line i of b, counted in row-major order, without a copy. It
// panics when T has not the size of b's elements or there is no such line.
func Line[T Go](b *Buffer, i int) []T {
	b.checkSize(unsafe.Sizeof(*new(T)))
	if uint(i) >= uint(b.Lines()) {
		panic(fmt.Sprintf("iface: Line(%d) of %v", i, &b.Desc))
	}
	off, n := 0, 1
	if b.Rank > 0 {
		n = b.Dim[b.Rank-1]
	}
	for k := int(b.Rank) - 2; k >= 0; k-- {
		off += i % b.Dim[k] * b.Stride[k]
		i /= b.Dim[k]
	}
	return unsafe.Slice((*T)(unsafe.Add(b.Ptr, uintptr(off)*b.Elem.Size())), n)
}

// LineAt returns the line of b at the indices before the last one, without a copy: of a
// tensor at (i, j, k), of a block at (x, y), of a matrix at (i), of a vector at (). ok is false when there is no such
// line. It panics when T has not the size of b's elements.
func LineAt[T Go](b *Buffer, idx ...int) (line []T, ok bool) {
	if len(idx) != max(0, int(b.Rank)-1) {
		return nil, false
	}
	at := 0
	for k, i := range idx {
		if i < 0 || i >= b.Dim[k] {
			return nil, false
		}
		at = at*b.Dim[k] + i
	}
	return Line[T](b, at), true
}

// Row returns row i of a matrix, without a copy. It panics when T has not the size of
// b's elements, when b is no matrix, and when there is no such row.
func Row[T Go](b *Buffer, i int) []T {
	b.checkSize(unsafe.Sizeof(*new(T)))
	if b.Rank != 2 || uint(i) >= uint(b.Dim[0]) {
		panic(fmt.Sprintf("iface: Row(%d) of %v", i, &b.Desc))
	}
	p := unsafe.Add(b.Ptr, uintptr(i)*uintptr(b.Stride[0])*b.Elem.Size())
	return unsafe.Slice((*T)(p), b.Dim[1])
}

func (b *Buffer) checkSize(n uintptr) {
	if b.Elem.Size() != n {
		panic(fmt.Sprintf("iface: %v accessed with elements of %d bytes", &b.Desc, n))
	}
}

// Strided returns the memory of b from its first element to its last, and the
// distance between rows: element (i, j) of a matrix is mem[i*ld+j]. Memory
// between the rows belongs to other data. Data without elements has nil memory, and
// ld is at least 1. It panics when T has not the size of b's elements, and for
// data with more than two indices, whose lines have more than one distance.
func Strided[T Go](b *Buffer) (mem []T, ld int) {
	b.checkSize(unsafe.Sizeof(*new(T)))
	if b.Rank > 2 {
		panic(fmt.Sprintf("iface: Strided of %v", &b.Desc))
	}
	rows, cols := 1, 1
	switch b.Rank {
	case 1:
		cols = b.Dim[0]
	case 2:
		rows, cols = b.Dim[0], b.Dim[1]
	}
	ld = max(1, cols)
	if b.Rank == 2 && rows > 1 {
		ld = max(ld, b.Stride[0])
	}
	if rows == 0 || cols == 0 {
		return nil, ld
	}
	return unsafe.Slice((*T)(b.Ptr), (rows-1)*ld+cols), ld
}
