package cl

// Products and triangular systems.

import (
	"unsafe"

	"github.com/starpush/starpush/accel/opencl"
	"github.com/starpush/starpush/datamgr/iface"
)

// kinds of operands, as in matrix.cl
const (
	general int32 = iota
	symLower
	symUpper
)

// parts of a result
const (
	all int32 = iota
	lower
	upper
)

// mat is a matrix by its steps, so that a transposed one is no other thing.
type mat struct {
	p          unsafe.Pointer
	elem       iface.Elem
	rows, cols int
	down       int // from a row to the next
	right      int // from a column to the next
	kind       int32
}

func matrix(b *iface.Buffer) mat {
	if b.Rank == 1 { // a column
		return mat{b.Ptr, b.Elem, b.Dim[0], 1, 1, 1, general}
	}
	return mat{b.Ptr, b.Elem, b.Dim[0], b.Dim[1], b.Stride[0], 1, general}
}

// t is transposed(m).
func (m mat) t() mat {
	m.rows, m.cols, m.down, m.right = m.cols, m.rows, m.right, m.down
	switch m.kind {
	case symLower:
		m.kind = symUpper
	case symUpper:
		m.kind = symLower
	}
	return m
}

// op is m, or transposed(m) for "t" and "c".
func (m mat) op(flag iface.Scalar) mat {
	if flag.Str() != "n" {
		return m.t()
	}
	return m
}

// sub is a part of m, which has no triangles.
func (m mat) sub(i, j, rows, cols int) mat {
	m.p = add(m.p, i*m.down+j*m.right, int(m.elem.Size()))
	m.rows, m.cols = rows, cols
	return m
}

func (m mat) buf() opencl.Buf { return opencl.Buf{Ptr: m.p, Elem: int(m.elem.Size())} }

// args are those of an operand whose parts are read.
func (m mat) args() []any { return []any{m.buf(), int64(m.down), int64(m.right)} }

const tile, side = 64, 16 // as in matrix.cl

// multiply begins C = alpha·A·B + beta·C.
func multiply(s *opencl.Stream, codelet string, a, b, c mat, alpha, beta float64, part int32) error {
	if c.rows == 0 || c.cols == 0 || beta == 1 && (alpha == 0 || a.cols == 0) {
		return nil
	}
	if c.right != 1 && c.down == 1 { // transposed, its rows lie side by side
		flip := [...]int32{all: all, lower: upper, upper: lower}
		return multiply(s, codelet, b.t(), a.t(), c.t(), alpha, beta, flip[part])
	}
	k := a.cols
	if alpha == 0 {
		k = 0
	}
	f, err := find(s, codelet, matrixText, "gemm", c.elem)
	if err != nil {
		return err
	}
	const local = 2 * 16 * (tile + 1)
	global, group := []int{up(c.cols, tile) / tile * side, up(c.rows, tile) / tile * side}, []int{side, side}
	if f.WorkGroup() < side*side || s.Device().Info().Local < local*int64(c.elem.Size()) {
		if f, err = find(s, codelet, matrixText, "gemm_plain", c.elem); err != nil {
			return err
		}
		global, group = []int{c.cols, c.rows}, nil
	}
	args := []any{int64(c.rows), int64(c.cols), int64(k)}
	args = append(append(args, a.args()...), a.kind)
	args = append(append(args, b.args()...), b.kind)
	args = append(args, c.args()...)
	return s.Launch(f, global, group, append(args, float(c.elem, alpha), float(c.elem, beta), part)...)
}

// gemm(A, B, C, alpha, beta, ta, tb)
func gemm(s *opencl.Stream, k Operands) error {
	c := matrix(k.Buffer(2))
	return multiply(s, "gemm", matrix(k.Buffer(0)).op(k.Arg(2)), matrix(k.Buffer(1)).op(k.Arg(3)), c,
		rounded(c.elem, k.Arg(0)), rounded(c.elem, k.Arg(1)), all)
}

// symm(A, B, C, alpha, beta, side, uplo)
func symm(s *opencl.Stream, k Operands) error {
	a, b, c := matrix(k.Buffer(0)), matrix(k.Buffer(1)), matrix(k.Buffer(2))
	a.kind = symLower
	if k.Arg(3).Str() == "u" {
		a.kind = symUpper
	}
	if k.Arg(2).Str() == "r" {
		a, b = b, a
	}
	return multiply(s, "symm", a, b, c, rounded(c.elem, k.Arg(0)), rounded(c.elem, k.Arg(1)), all)
}

// syrk(A, C, alpha, beta, uplo, ta)
func syrk(s *opencl.Stream, k Operands) error {
	a, c := matrix(k.Buffer(0)).op(k.Arg(3)), matrix(k.Buffer(1))
	part := lower
	if k.Arg(2).Str() == "u" {
		part = upper
	}
	return multiply(s, "syrk", a, a.t(), c, rounded(c.elem, k.Arg(0)), rounded(c.elem, k.Arg(1)), part)
}

// triangle is a triangular matrix.
type triangle struct {
	mat
	upper, unit bool
}

func (a triangle) t() triangle { return triangle{a.mat.t(), !a.upper, a.unit} }

// diagonal is the block of n rows and columns from i on.
func (a triangle) diagonal(i, n int) triangle {
	return triangle{a.sub(i, i, n, n), a.upper, a.unit}
}

// sided puts A on the left of B, by transposing both if it is on the right.
func sided(a triangle, b mat, flag iface.Scalar) (triangle, mat) {
	if flag.Str() == "r" {
		return a.t(), b.t()
	}
	return a, b
}

func triangular(k Operands, i int, uplo, ta, diag iface.Scalar) triangle {
	a := triangle{matrix(k.Buffer(i)), uplo.Str() == "u", diag.Str() == "u"}
	if ta.Str() != "n" {
		return a.t()
	}
	return a
}

// small begins a kernel for a triangle that a work-item goes through alone.
func small(s *opencl.Stream, codelet, name string, a triangle, b mat, alpha float64) error {
	f, err := find(s, codelet, matrixText, name, b.elem)
	if err != nil {
		return err
	}
	one := map[bool]int32{true: 1}
	args := append([]any{int64(a.rows), int64(b.cols)}, a.args()...)
	args = append(append(args, one[a.upper], one[a.unit]), b.args()...)
	return line(s, f, b.cols, append(args, float(b.elem, alpha))...)
}

// block is the number of rows that small goes through.
const block = 32

// blocks calls do for the blocks of n rows, from the last on when backwards.
func blocks(n int, backwards bool, do func(i, size int) error) error {
	count := (n + block - 1) / block
	for b := range count {
		if backwards {
			b = count - 1 - b
		}
		if err := do(b*block, min(block, n-b*block)); err != nil {
			return err
		}
	}
	return nil
}

// solve begins op(A)·X = alpha·B: a block of rows at a time, and what it means for
// the rows that remain as a product.
func solve(s *opencl.Stream, codelet string, a triangle, b mat, alpha float64) error {
	if b.rows == 0 || b.cols == 0 {
		return nil
	}
	if alpha == 0 {
		return multiply(s, codelet, b, b, b, 0, 0, all)
	}
	return blocks(b.rows, a.upper, func(i, n int) error {
		x := b.sub(i, 0, n, b.cols)
		if err := small(s, codelet, "trsm", a.diagonal(i, n), x, alpha); err != nil {
			return err
		}
		from, rest := i+n, b.rows-i-n
		if a.upper {
			from, rest = 0, i
		}
		beta := alpha
		alpha = 1
		return multiply(s, codelet, a.sub(from, i, rest, n), x, b.sub(from, 0, rest, b.cols), -1, beta, all)
	})
}

// trsm(A, B, alpha, side, uplo, ta, diag)
func trsm(s *opencl.Stream, k Operands) error {
	a, b := sided(triangular(k, 0, k.Arg(2), k.Arg(3), k.Arg(4)), matrix(k.Buffer(1)), k.Arg(1))
	return solve(s, "trsm", a, b, rounded(b.elem, k.Arg(0)))
}

// trsv(A, x, uplo, ta, diag)
func trsv(s *opencl.Stream, k Operands) error {
	return solve(s, "trsv", triangular(k, 0, k.Arg(0), k.Arg(1), k.Arg(2)), matrix(k.Buffer(1)), 1)
}

// getrs_nopiv(A, B)
func getrs(s *opencl.Stream, k Operands) error {
	a, b := matrix(k.Buffer(0)), matrix(k.Buffer(1))
	if err := solve(s, "getrs_nopiv", triangle{a, false, true}, b, 1); err != nil {
		return err
	}
	return solve(s, "getrs_nopiv", triangle{a, true, false}, b, 1)
}

// trmm(A, B, alpha, side, uplo, ta, diag)
func trmm(s *opencl.Stream, k Operands) error {
	a, b := sided(triangular(k, 0, k.Arg(2), k.Arg(3), k.Arg(4)), matrix(k.Buffer(1)), k.Arg(1))
	alpha := rounded(b.elem, k.Arg(0))
	if b.rows == 0 || b.cols == 0 {
		return nil
	}
	if alpha == 0 {
		return multiply(s, "trmm", b, b, b, 0, 0, all)
	}
	// A block of rows needs those that come after it here.
	return blocks(b.rows, !a.upper, func(i, n int) error {
		x := b.sub(i, 0, n, b.cols)
		if err := small(s, "trmm", "trmm", a.diagonal(i, n), x, alpha); err != nil {
			return err
		}
		from, rest := 0, i
		if a.upper {
			from, rest = i+n, b.rows-i-n
		}
		return multiply(s, "trmm", a.sub(i, from, n, rest), b.sub(from, 0, rest, b.cols), x, alpha, 1, all)
	})
}
