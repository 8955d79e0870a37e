package format

// Where numbers of text files go: the elements of a buffer, or a growing list.

import (
	"math/cmplx"

	"github.com/starpush/starpush/datamgr/iface"
)

// cells are the elements of a buffer seen as a matrix.
type cells interface {
	zero()
	set(i, j int, v num) bool // false: the element type cannot hold v
	add(i, j int, v num) bool // false: nor the sum
	holds(v num) bool
	lines() lineBlock
	// take adds at most `most` entries of a block that lines made, up to the first that the matrix must not
	// have or the element type cannot hold, and returns their number.
	take(m *mtx, l lineBlock, most int) int
}

type cellsOf[T iface.Go] struct {
	conversion[T]
	mem            []T
	rows, cols, ld int
}

func newCellsOf[T iface.Go](b *iface.Buffer, column bool, conv conversion[T]) cells {
	mem, ld := iface.Strided[T](b)
	c := &cellsOf[T]{conversion: conv, mem: mem, rows: 1, cols: 1, ld: ld}
	switch {
	case b.Rank == 2:
		c.rows, c.cols = b.Dim[0], b.Dim[1]
	case b.Rank == 1 && column:
		c.rows, c.ld = b.Dim[0], 1
	case b.Rank == 1:
		c.cols = b.Dim[0]
	}
	return c
}

// newCells makes the cells of b; a vector is one column or one row.
func newCells(b *iface.Buffer, column bool) cells {
	switch b.Elem {
	case iface.I8:
		return newCellsOf(b, column, reals[int8]())
	case iface.I16:
		return newCellsOf(b, column, reals[int16]())
	case iface.I32:
		return newCellsOf(b, column, reals[int32]())
	case iface.I64:
		return newCellsOf(b, column, reals[int64]())
	case iface.U8:
		return newCellsOf(b, column, reals[uint8]())
	case iface.U16:
		return newCellsOf(b, column, reals[uint16]())
	case iface.U32:
		return newCellsOf(b, column, reals[uint32]())
	case iface.U64:
		return newCellsOf(b, column, reals[uint64]())
	case iface.F32:
		return newCellsOf(b, column, reals[float32]())
	case iface.C64:
		return newCellsOf(b, column, complexes[complex64]())
	case iface.C128:
		return newCellsOf(b, column, complexes[complex128]())
	case iface.F16:
		return newCellsOf(b, column, float16s())
	case iface.BF16:
		return newCellsOf(b, column, bfloat16s())
	case iface.B8:
		return newCellsOf(b, column, bools())
	}
	return newCellsOf(b, column, reals[float64]())
}

func (c *cellsOf[T]) zero() {
	if len(c.mem) == 0 || c.ld == c.cols {
		clear(c.mem)
		return
	}
	for i := range c.rows {
		clear(c.mem[i*c.ld:][:c.cols])
	}
}

func (c *cellsOf[T]) set(i, j int, v num) bool {
	x, ok := c.of(v)
	c.mem[i*c.ld+j] = x
	return ok
}

func (c *cellsOf[T]) add(i, j int, v num) bool {
	x, ok := c.of(v)
	return ok && c.put(i, j, x)
}

// put adds x to an element, unless the sum is one that T cannot hold.
func (c *cellsOf[T]) put(i, j int, x T) bool {
	p := &c.mem[i*c.ld+j]
	s, ok := c.plus(*p, x)
	if ok {
		*p = s
	}
	return ok
}

func (c *cellsOf[T]) lines() lineBlock { return &linesOf[T]{conversion: c.conversion} }

func (c *cellsOf[T]) take(m *mtx, b lineBlock, most int) int {
	l := b.(*linesOf[T])
	for k := range min(most, len(l.val)) {
		i, j := int(l.row[k]), int(l.col[k])
		if m.symmetric && j > i || !c.put(i, j, l.val[k]) || m.symmetric && i != j && !c.put(j, i, l.val[k]) {
			return k
		}
	}
	return min(most, len(l.val))
}

// sum returns a + b, and false if T cannot hold it.
func sum[T iface.Real](a, b T) (s T, ok bool) {
	s = a + b
	switch {
	case !isFloat[T](): // a sum that went round moved against the sign of what was added
		return s, (s < a) == (b < 0)
	case s-s != 0: // only what is not finite itself makes such a sum
		return s, a-a != 0 || b-b != 0
	}
	return s, true
}

// sumComplex is sum for complex types.
func sumComplex[T complex64 | complex128](a, b T) (s T, ok bool) {
	s = a + b
	return s, finite(s) || !finite(a) || !finite(b)
}

func finite[T complex64 | complex128](x T) bool {
	return !cmplx.IsInf(complex128(x)) && !cmplx.IsNaN(complex128(x))
}

func (c *cellsOf[T]) holds(v num) bool {
	_, ok := c.of(v)
	return ok
}

// list collects elements of a file whose sizes are not known yet.
type list interface {
	push(v num) bool
	holds(v num) bool
	len() int64
	copyTo(b *iface.Buffer)
}

type listOf[T iface.Go] struct {
	conversion[T]
	v []T
}

func newList(e iface.Elem) list {
	switch e {
	case iface.I8:
		return &listOf[int8]{conversion: reals[int8]()}
	case iface.I16:
		return &listOf[int16]{conversion: reals[int16]()}
	case iface.I32:
		return &listOf[int32]{conversion: reals[int32]()}
	case iface.I64:
		return &listOf[int64]{conversion: reals[int64]()}
	case iface.U8:
		return &listOf[uint8]{conversion: reals[uint8]()}
	case iface.U16:
		return &listOf[uint16]{conversion: reals[uint16]()}
	case iface.U32:
		return &listOf[uint32]{conversion: reals[uint32]()}
	case iface.U64:
		return &listOf[uint64]{conversion: reals[uint64]()}
	case iface.F32:
		return &listOf[float32]{conversion: reals[float32]()}
	case iface.C64:
		return &listOf[complex64]{conversion: complexes[complex64]()}
	case iface.C128:
		return &listOf[complex128]{conversion: complexes[complex128]()}
	case iface.F16:
		return &listOf[iface.Float16]{conversion: float16s()}
	case iface.BF16:
		return &listOf[iface.BFloat16]{conversion: bfloat16s()}
	case iface.B8:
		return &listOf[bool]{conversion: bools()}
	}
	return &listOf[float64]{conversion: reals[float64]()}
}

func (l *listOf[T]) push(v num) bool {
	x, ok := l.of(v)
	l.v = append(l.v, x)
	return ok
}

func (l *listOf[T]) holds(v num) bool {
	_, ok := l.of(v)
	return ok
}

func (l *listOf[T]) len() int64 { return int64(len(l.v)) }

func (l *listOf[T]) copyTo(b *iface.Buffer) {
	v := l.v
	mem, ld := iface.Strided[T](b)
	if b.Rank != 2 {
		copy(mem, v)
		return
	}
	if len(mem) == 0 {
		return
	}
	for i := range b.Dim[0] {
		copy(mem[i*ld:][:b.Dim[1]], v[i*b.Dim[1]:])
	}
}
