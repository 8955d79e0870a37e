//go:build cuda

package cuda

// BLAS on the memory of a device, with the meaning of package accel/cpu/blas: by
// cuBLAS and cuSOLVER when the machine has them, by kernels of this package otherwise.

import (
	"fmt"
	"unsafe"

	"github.com/starpush/starpush/accel/cpu/blas"
)

// Scal computes x = alpha x.
func Scal[T blas.Float](s *Stream, alpha T, x Matrix) error {
	if x.Rows*x.Cols == 0 {
		return nil
	}
	return s.run(of[T]("scal"), s.dev.spread(x.Rows*x.Cols), [3]int{threads}, bits(alpha), num(x.Rows), num(x.Cols), addr(x.Ptr), num(x.LD))
}

// Axpy computes y = alpha x + y.
func Axpy[T blas.Float](s *Stream, alpha T, x, y Matrix) error {
	if err := sameShape("axpy", x, y); err != nil || x.Rows*x.Cols == 0 {
		return err
	}
	return s.run(of[T]("axpy"), s.dev.spread(x.Rows*x.Cols), [3]int{threads}, bits(alpha), num(x.Rows), num(x.Cols), addr(x.Ptr), num(x.LD), addr(y.Ptr), num(y.LD))
}

// maxParts is the number of blocks that add up a part of a reduction each.
const maxParts = 1024

// reduce launches a kernel that adds up parts, and then adds those to acc.
func reduce[T blas.Float](s *Stream, kernel string, n int, acc unsafe.Pointer, params ...uint64) error {
	if n == 0 {
		return nil
	}
	if err := s.kernel(of[T](kernel), func() error { return s.needWork(maxParts * 8) }); err != nil {
		return err
	}
	// by the size alone: the order of additions must not depend on the device
	parts := min(maxParts, (n+4*threads-1)/(4*threads))
	if err := s.run(of[T](kernel), [3]int{parts}, [3]int{threads}, append(params, addr(s.work.ptr))...); err != nil {
		return err
	}
	return s.run(of[T]("reduce_last"), [3]int{1}, [3]int{threads}, num(parts), addr(s.work.ptr), addr(acc))
}

// Dot computes acc = acc + the sum of x[i] y[i], added up in float64.
func Dot[T blas.Float](s *Stream, n int, x, y, acc unsafe.Pointer) error {
	return reduce[T](s, "dot", n, acc, num(n), addr(x), addr(y))
}

// Asum computes acc = acc + the sum of |x[i]|, added up in float64.
func Asum[T blas.Float](s *Stream, n int, x, acc unsafe.Pointer) error {
	return reduce[T](s, "asum", n, acc, num(n), addr(x))
}

// Sum computes acc = acc + the sum of all elements, added up in float64.
func Sum[T blas.Float](s *Stream, x Matrix, acc unsafe.Pointer) error {
	return reduce[T](s, "sum", x.Rows*x.Cols, acc, num(x.Rows), num(x.Cols), addr(x.Ptr), num(x.LD))
}

// Gemv computes y = alpha op(a) x + beta y.
func Gemv[T blas.Float](s *Stream, ta blas.Trans, alpha T, a Matrix, x unsafe.Pointer, beta T, y unsafe.Pointer) error {
	m, n, row, col := a.turned(ta)
	if m == 0 {
		return nil
	}
	return s.run(of[T]("gemv"), [3]int{min(m, 64*s.dev.processors)}, [3]int{threads}, num(m), num(n), bits(alpha), addr(a.Ptr), row, col, addr(x), bits(beta), addr(y))
}

// Ger computes a = alpha x transposed(y) + a.
func Ger[T blas.Float](s *Stream, alpha T, x, y unsafe.Pointer, a Matrix) error {
	if a.Rows*a.Cols == 0 {
		return nil
	}
	return s.run(of[T]("ger"), s.dev.spread(a.Rows*a.Cols), [3]int{threads}, num(a.Rows), num(a.Cols), bits(alpha), addr(x), addr(y), addr(a.Ptr), num(a.LD))
}

// Gemm computes c = alpha op(a) op(b) + beta c.
func Gemm[T blas.Float](s *Stream, ta, tb blas.Trans, alpha T, a, b Matrix, beta T, c Matrix) error {
	m, k, ar, ac := a.turned(ta)
	kb, n, br, bc := b.turned(tb)
	if m != c.Rows || n != c.Cols || k != kb {
		return fmt.Errorf("cuda: gemm of %d x %d and %d x %d to %d x %d elements", m, k, kb, n, c.Rows, c.Cols)
	}
	if m*n == 0 {
		return nil
	}
	if l := s.dev.libs(); l.cublas != nil && k > 0 {
		return gemmLibrary(s, l, ta, tb, m, n, k, alpha, a, b, beta, c)
	}
	if alpha == 0 {
		k = 0 // the operands are not read
	}
	return s.tiles(of[T]("gemm"), m, n, num(m), num(n), num(k), bits(alpha), addr(a.Ptr), ar, ac, addr(b.Ptr), br, bc, bits(beta), addr(c.Ptr), num(c.LD), 0)
}

// tiles launches a kernel whose blocks compute tiles of 64 x 64.
func (s *Stream) tiles(name string, m, n int, params ...uint64) error {
	return s.run(name, [3]int{(n + 63) / 64, (m + 63) / 64}, [3]int{16, 16}, params...)
}

// Syrk computes c = alpha op(a) transposed(op(a)) + beta c, one triangle of c.
func Syrk[T blas.Float](s *Stream, uplo blas.Uplo, ta blas.Trans, alpha T, a Matrix, beta T, c Matrix) error {
	n, k, row, col := a.turned(ta)
	if n != c.Rows || n != c.Cols {
		return fmt.Errorf("cuda: syrk of %d x %d to %d x %d elements", n, k, c.Rows, c.Cols)
	}
	if n == 0 {
		return nil
	}
	if l := s.dev.libs(); l.cublas != nil && k > 0 {
		return syrkLibrary(s, l, uplo, ta, n, k, alpha, a, beta, c)
	}
	if alpha == 0 {
		k = 0
	}
	part := uint64(1)
	if uplo == blas.Upper {
		part = 2
	}
	return s.tiles(of[T]("gemm"), n, n, num(n), num(n), num(k), bits(alpha), addr(a.Ptr), row, col, addr(a.Ptr), col, row, bits(beta), addr(c.Ptr), num(c.LD), part)
}

// Trsm solves op(a) x = alpha b, or x op(a) on the right, in place of b.
func Trsm[T blas.Float](s *Stream, side blas.Side, uplo blas.Uplo, ta blas.Trans, diag blas.Diag, alpha T, a, b Matrix) error {
	n, err := a.orderFor("trsm", side, b)
	if err != nil {
		return err
	}
	if b.Rows*b.Cols == 0 {
		return nil
	}
	if l := s.dev.libs(); l.cublas != nil {
		return trsmLibrary(s, l, side, uplo, ta, diag, alpha, a, b)
	}
	row, col, lower := a.triangle(side, uplo, ta)
	sides, step, next := b.columns(side)
	return s.run(of[T]("trsm"), s.dev.spread(sides), [3]int{threads}, num(n), num(sides), truth(lower), truth(diag == blas.Unit),
		bits(alpha), addr(a.Ptr), row, col, addr(b.Ptr), step, next)
}

// orderFor returns the rows of m, a triangular matrix that is multiplied with b, or divides it, on
// a side; the error of the kernel if it does not fit.
func (m Matrix) orderFor(kernel string, side blas.Side, b Matrix) (int, error) {
	n := b.Rows
	if side == blas.Right {
		n = b.Cols
	}
	if m.Rows != n || m.Cols != n {
		return 0, fmt.Errorf("cuda: %s with %d x %d for %d x %d elements", kernel, m.Rows, m.Cols, b.Rows, b.Cols)
	}
	return n, nil
}

// triangle returns the elements from a row of op(m) to the next and from a column to the next, and
// whether it is a lower triangle. On the right it is that of the transposed product.
func (m Matrix) triangle(side blas.Side, uplo blas.Uplo, ta blas.Trans) (row, col uint64, lower bool) {
	_, _, row, col = m.turned(ta)
	lower = (uplo == blas.Lower) == (ta == blas.NoTrans)
	if side == blas.Right {
		row, col, lower = col, row, !lower
	}
	return row, col, lower
}

// columns returns the number of columns of m, and the elements from one of a column to the next
// and from a column to the next: of the transpose, if side is Right.
func (m Matrix) columns(side blas.Side) (n int, step, next uint64) {
	if side == blas.Right {
		return m.Rows, 1, num(m.LD)
	}
	return m.Cols, num(m.LD), 1
}

// part returns the elements of m from a row and a column on.
func part[T blas.Float](m Matrix, row, col, rows, cols int) Matrix {
	return Matrix{unsafe.Add(m.Ptr, uintptr(row*m.LD+col)*unsafe.Sizeof(T(0))), rows, cols, m.LD}
}

// Trsv solves op(a) x = b in place of b, a vector.
func Trsv[T blas.Float](s *Stream, uplo blas.Uplo, ta blas.Trans, diag blas.Diag, a Matrix, b unsafe.Pointer) error {
	if a.Rows != a.Cols {
		return fmt.Errorf("cuda: trsv with %d x %d elements", a.Rows, a.Cols)
	}
	if a.Rows == 0 {
		return nil
	}
	row, col, lower := a.triangle(blas.Left, uplo, ta)
	return s.run(of[T]("trsv"), [3]int{1}, [3]int{threads}, num(a.Rows), truth(lower), truth(diag == blas.Unit), addr(a.Ptr), row, col, addr(b))
}

// Trmm computes b = alpha op(a) b, or b op(a) on the right, for a triangular a.
func Trmm[T blas.Float](s *Stream, side blas.Side, uplo blas.Uplo, ta blas.Trans, diag blas.Diag, alpha T, a, b Matrix) error {
	n, err := a.orderFor("trmm", side, b)
	if err != nil {
		return err
	}
	if b.Rows*b.Cols == 0 {
		return nil
	}
	size := int(unsafe.Sizeof(T(0)))
	p, err := s.Work(int64(b.Rows * b.Cols * size))
	if err != nil {
		return err
	}
	old := Matrix{p, b.Rows, b.Cols, b.Cols}
	if err := s.CopyElems(size, b, old); err != nil {
		return err
	}
	row, col, lower := a.triangle(side, uplo, ta)
	_, from, fromNext := old.columns(side)
	columns, to, toNext := b.columns(side)
	return s.run(of[T]("trmm"), s.dev.spread(b.Rows*b.Cols), [3]int{threads}, num(n), num(columns), truth(lower), truth(diag == blas.Unit),
		bits(alpha), addr(a.Ptr), row, col, addr(p), from, fromNext, addr(b.Ptr), to, toNext)
}

// Symm computes c = alpha a b + beta c, or b a on the right, for a symmetric a with one triangle.
func Symm[T blas.Float](s *Stream, side blas.Side, uplo blas.Uplo, alpha T, a, b Matrix, beta T, c Matrix) error {
	if a.Rows != a.Cols {
		return fmt.Errorf("cuda: symm with %d x %d elements", a.Rows, a.Cols)
	}
	if c.Rows*c.Cols == 0 {
		return nil
	}
	n := a.Rows
	p, err := s.Work(int64(n*n) * int64(unsafe.Sizeof(T(0))))
	if err != nil {
		return err
	}
	err = s.run(of[T]("full"), s.dev.spread(n*n), [3]int{threads}, num(n), truth(uplo == blas.Lower), addr(a.Ptr), num(a.LD), addr(p))
	if err != nil {
		return err
	}
	full := Matrix{p, n, n, n}
	if side == blas.Right {
		return Gemm(s, blas.NoTrans, blas.NoTrans, alpha, b, full, beta, c)
	}
	return Gemm(s, blas.NoTrans, blas.NoTrans, alpha, full, b, beta, c)
}

// panel is the number of columns that one block factorises in GetrfNoPiv.
const panel = 64

// GetrfNoPiv replaces a by its factors L (unit lower) and U, without exchanging rows, and waits
// for the result. It returns 0, or the number, from 1, of the first pivot that is zero, or its
// negative number if it is a NaN.
func GetrfNoPiv[T blas.Float](s *Stream, a Matrix) (bad int, err error) {
	n, err := s.ask(of[T]("getrf"), func(info unsafe.Pointer) error {
		if err := s.Fill(8, 0, Vector(info, 1)); err != nil {
			return err
		}
		all := min(a.Rows, a.Cols)
		for k := 0; k < all; k += panel {
			w := min(panel, all-k)
			rows, cols := a.Rows-k-w, a.Cols-k-w
			left := part[T](a, k, k, a.Rows-k, w)
			if err := s.run(of[T]("getrf"), [3]int{1}, [3]int{threads}, num(left.Rows), num(w), addr(left.Ptr), num(a.LD), num(k), addr(info)); err != nil {
				return err
			}
			right := part[T](a, k, k+w, w, cols)
			if err := Trsm(s, blas.Left, blas.Lower, blas.NoTrans, blas.Unit, T(1), part[T](a, k, k, w, w), right); err != nil {
				return err
			}
			below, rest := part[T](a, k+w, k, rows, w), part[T](a, k+w, k+w, rows, cols)
			if err := Gemm(s, blas.NoTrans, blas.NoTrans, T(-1), below, right, 1, rest); err != nil {
				return err
			}
		}
		return nil
	})
	return int(n), err
}

// GetrsNoPiv solves a x = b in place of b, with the factors that GetrfNoPiv left in a.
func GetrsNoPiv[T blas.Float](s *Stream, a, b Matrix) error {
	if err := Trsm(s, blas.Left, blas.Lower, blas.NoTrans, blas.Unit, T(1), a, b); err != nil {
		return err
	}
	return Trsm(s, blas.Left, blas.Upper, blas.NoTrans, blas.NonUnit, T(1), a, b)
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// Potrf replaces a triangle of a symmetric positive definite matrix by its Cholesky
// factor. info is an int64 in the device's memory: it becomes 0, or the order of
// the first leading minor that is not positive.
func Potrf[T blas.Float](s *Stream, uplo blas.Uplo, a Matrix, info unsafe.Pointer) error {
	if a.Rows != a.Cols {
		return fmt.Errorf("cuda: potrf of %d x %d elements", a.Rows, a.Cols)
	}
	if l := s.dev.libs(); l.cusolver != nil && a.Rows > 0 {
		return potrfLibrary[T](s, l, uplo, a, info)
	}
	row, col := num(a.LD), uint64(1)
	if uplo == blas.Upper {
		row, col = col, row
	}
	return s.run(of[T]("potrf"), [3]int{1}, [3]int{threads}, num(a.Rows), addr(a.Ptr), row, col, addr(info))
}

// Factor is Potrf that waits for the result. It returns the order of the first leading
// minor that is not positive, or 0 if all are.
func Factor[T blas.Float](s *Stream, uplo blas.Uplo, a Matrix) (bad int, err error) {
	n, err := s.ask(of[T]("potrf"), func(info unsafe.Pointer) error { return Potrf[T](s, uplo, a, info) })
	return int(n), err
}
