package stdlib

// Levels 2 and 3 of std/blas, the factorisations and transpose. Arguments are
// taken by their place in the signature.

import (
	"fmt"

	"github.com/starpush/starpush/accel/cpu/blas"
	"github.com/starpush/starpush/datamgr/iface"
)

// mat is a matrix operand as the routines want it.
type mat[T iface.Go] struct {
	rows, cols, ld int
	a              []T
}

func matrix[T iface.Go](k operands, i int) mat[T] {
	b := k.Buffer(i)
	a, ld := iface.Strided[T](b)
	return mat[T]{b.Dim[0], b.Dim[1], ld, a}
}

// trans is for real elements, which are their own conjugates.
func trans(k operands, i int) blas.Trans {
	if t := k.Arg(i).Str(); t == "t" || t == "c" {
		return blas.Transposed
	}
	return blas.NoTrans
}

func uploOf(k operands, i int) blas.Uplo {
	if k.Arg(i).Str() == "u" {
		return blas.Upper
	}
	return blas.Lower
}

func sideOf(k operands, i int) blas.Side {
	if k.Arg(i).Str() == "r" {
		return blas.Right
	}
	return blas.Left
}

func diagOf(k operands, i int) blas.Diag {
	if k.Arg(i).Str() == "u" {
		return blas.Unit
	}
	return blas.NonUnit
}

// gemv(A, x, y, alpha, beta, ta)
func gemv[T blas.Float](k operands) error {
	a := matrix[T](k, 0)
	routines[T]().Gemv(trans(k, 2), a.rows, a.cols, scalar[T](k.Arg(0)), a.a, a.ld,
		iface.Slice[T](k.Buffer(1)), scalar[T](k.Arg(1)), iface.Slice[T](k.Buffer(2)))
	return nil
}

// ger(x, y, A, alpha)
func ger[T blas.Float](k operands) error {
	a := matrix[T](k, 2)
	routines[T]().Ger(a.rows, a.cols, scalar[T](k.Arg(0)), iface.Slice[T](k.Buffer(0)), iface.Slice[T](k.Buffer(1)), a.a, a.ld)
	return nil
}

// trsv(A, x, uplo, ta, diag)
func trsv[T blas.Float](k operands) error {
	a := matrix[T](k, 0)
	routines[T]().Trsv(uploOf(k, 0), trans(k, 1), diagOf(k, 2), a.rows, a.a, a.ld, iface.Slice[T](k.Buffer(1)))
	return nil
}

// gemm(A, B, C, alpha, beta, ta, tb)
func gemm[T blas.Float](k operands) error {
	a, b, c := matrix[T](k, 0), matrix[T](k, 1), matrix[T](k, 2)
	t := trans(k, 2)
	inner := a.cols
	if t == blas.Transposed {
		inner = a.rows
	}
	routines[T]().Gemm(t, trans(k, 3), c.rows, c.cols, inner, scalar[T](k.Arg(0)), a.a, a.ld, b.a, b.ld, scalar[T](k.Arg(1)), c.a, c.ld)
	return nil
}

// symm(A, B, C, alpha, beta, side, uplo)
func symm[T blas.Float](k operands) error {
	a, b, c := matrix[T](k, 0), matrix[T](k, 1), matrix[T](k, 2)
	routines[T]().Symm(sideOf(k, 2), uploOf(k, 3), c.rows, c.cols, scalar[T](k.Arg(0)), a.a, a.ld, b.a, b.ld, scalar[T](k.Arg(1)), c.a, c.ld)
	return nil
}

// syrk(A, C, alpha, beta, uplo, ta)
func syrk[T blas.Float](k operands) error {
	a, c := matrix[T](k, 0), matrix[T](k, 1)
	t := trans(k, 3)
	inner := a.cols
	if t == blas.Transposed {
		inner = a.rows
	}
	routines[T]().Syrk(uploOf(k, 2), t, c.rows, inner, scalar[T](k.Arg(0)), a.a, a.ld, scalar[T](k.Arg(1)), c.a, c.ld)
	return nil
}

// trmm(A, B, alpha, side, uplo, ta, diag)
func trmm[T blas.Float](k operands) error {
	a, b := matrix[T](k, 0), matrix[T](k, 1)
	routines[T]().Trmm(sideOf(k, 1), uploOf(k, 2), trans(k, 3), diagOf(k, 4), b.rows, b.cols, scalar[T](k.Arg(0)), a.a, a.ld, b.a, b.ld)
	return nil
}

// trsm(A, B, alpha, side, uplo, ta, diag)
func trsm[T blas.Float](k operands) error {
	a, b := matrix[T](k, 0), matrix[T](k, 1)
	routines[T]().Trsm(sideOf(k, 1), uploOf(k, 2), trans(k, 3), diagOf(k, 4), b.rows, b.cols, scalar[T](k.Arg(0)), a.a, a.ld, b.a, b.ld)
	return nil
}

// potrf(A, uplo)
func potrf[T blas.Float](k operands) error {
	a := matrix[T](k, 0)
	if bad := routines[T]().Potrf(uploOf(k, 0), a.rows, a.a, a.ld); bad > 0 {
		return notPositive(bad)
	}
	return nil
}

func notPositive(order int) error {
	return fmt.Errorf("leading minor of order %d is not positive", order)
}

// getrf_nopiv(A)
func getrfNoPiv[T blas.Float](k operands) error {
	a := matrix[T](k, 0)
	bad := blas.GetrfNoPiv(routines[T](), a.rows, a.cols, a.a, a.ld)
	if bad == 0 {
		return nil
	}
	p := a.a[(bad-1)*a.ld+bad-1]
	return badPivot(bad, p != p)
}

// badPivot returns the error of a factorisation that ends at a pivot, a NaN or a zero.
func badPivot(number int, nan bool) error {
	if nan {
		return fmt.Errorf("pivot %d is not a number", number)
	}
	return fmt.Errorf("pivot %d is zero: the matrix has no LU factors without exchanging rows", number)
}

// getrs_nopiv(A, B)
func getrsNoPiv[T blas.Float](k operands) error {
	a, b := matrix[T](k, 0), matrix[T](k, 1)
	blas.GetrsNoPiv(routines[T](), b.rows, b.cols, a.a, a.ld, b.a, b.ld)
	return nil
}

// transpose(A, B) works on squares that fit into the first-level cache, as
// either A or B is walked against its rows.
func transpose[T iface.Go](k operands) error {
	const block = 32
	a, b := matrix[T](k, 0), matrix[T](k, 1)
	for i0 := 0; i0 < a.rows; i0 += block {
		i1 := min(i0+block, a.rows)
		for j0 := 0; j0 < a.cols; j0 += block {
			j1 := min(j0+block, a.cols)
			for i := i0; i < i1; i++ {
				for j, v := range a.a[i*a.ld+j0 : i*a.ld+j1] {
					b.a[(j0+j)*b.ld+i] = v
				}
			}
		}
	}
	return nil
}
