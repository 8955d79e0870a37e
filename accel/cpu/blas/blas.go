// Package blas computes dense linear algebra on main memory: the routines of
// BLAS, and the Cholesky and LU factorisations, for float32 and float64; a part of
// them for complex64 and complex128.
//
// Matrices are row-major: element (i, j) of a matrix a with leading dimension
// lda is a[i*lda+j], and lda is at least the number of columns. Vectors are
// contiguous. Of a symmetric or triangular matrix only the triangle that is
// named is read or written.
//
// A Provider does the work: gonum (pure Go, always there) or a C library with
// the Fortran interface of BLAS and LAPACK such as OpenBLAS, which is looked
// for at run time. Providers are safe for concurrent use; OpenBLAS is set
// to use the calling thread only, because tasks are the parallelism here.
package blas

// Float is an element type of the routines.
type Float interface{ float32 | float64 }

// Uplo names the triangle of a matrix that is used.
type Uplo uint8

// The triangles.
const (
	Lower Uplo = iota
	Upper
)

// Side says on which side of the product the special matrix stands.
type Side uint8

// The sides.
const (
	Left Side = iota
	Right
)

// Trans says whether a matrix is used as it is or transposed.
type Trans uint8

// The uses of a matrix. ConjTransposed is for ComplexRoutines.
const (
	NoTrans Trans = iota
	Transposed
	ConjTransposed
)

// Diag says whether the diagonal of a triangular matrix is taken to be ones.
type Diag uint8

// The diagonals.
const (
	NonUnit Diag = iota
	Unit
)

// Provider is an implementation of the routines.
type Provider interface {
	Name() string // for reports: "gonum", "OpenBLAS 0.3.21 …"
	Float32() Routines[float32]
	Float64() Routines[float64]
	Complex64() ComplexRoutines[complex64]
	Complex128() ComplexRoutines[complex128]
}

// Routines are the routines for one element type, with the meaning of BLAS and
// LAPACK. They panic when a size is negative, a leading dimension is smaller
// than a row, or a slice is too short for its sizes: mistakes of the program,
// not of the data. Slices of size zero may be nil. Matrices and vectors that
// are written must not overlap with others of the call.
//
// Where beta is 0, the old content of the result is not read. Where alpha is 0
// the operands of the product are not read.
type Routines[T Float] interface {
	// Scal computes x = alpha·x, also for alpha = 0 (0·NaN is NaN).
	Scal(alpha T, x []T)
	// Axpy computes y = alpha·x + y; x and y have the same length, here and below.
	Axpy(alpha T, x, y []T)
	Swap(x, y []T)
	Dot(x, y []T) T
	// Asum returns the sum of |x[i]|.
	Asum(x []T) T
	// Nrm2 returns the Euclidean norm, without overflow in between.
	Nrm2(x []T) T
	// Iamax returns the first index of the largest |x[i]|, -1 when x is empty.
	Iamax(x []T) int

	// Gemv computes y = alpha·op(A)·x + beta·y for an m×n matrix A.
	Gemv(ta Trans, m, n int, alpha T, a []T, lda int, x []T, beta T, y []T)
	// Ger computes A = alpha·x·yᵀ + A for an m×n matrix A.
	Ger(m, n int, alpha T, x, y []T, a []T, lda int)
	// Trsv solves op(A)·x = b in place for an n×n triangular matrix A.
	Trsv(uplo Uplo, ta Trans, diag Diag, n int, a []T, lda int, x []T)

	// Gemm computes C = alpha·op(A)·op(B) + beta·C: C is m×n, op(A) m×k, op(B) k×n.
	Gemm(ta, tb Trans, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int)
	// Symm computes C = alpha·A·B + beta·C, or B·A on the right: C is m×n, A symmetric.
	Symm(side Side, uplo Uplo, m, n int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int)
	// Syrk computes C = alpha·op(A)·op(A)ᵀ + beta·C: C is n×n symmetric, op(A) n×k.
	Syrk(uplo Uplo, ta Trans, n, k int, alpha T, a []T, lda int, beta T, c []T, ldc int)
	// Trmm computes B = alpha·op(A)·B, or B·op(A) on the right: B is m×n, A triangular.
	Trmm(side Side, uplo Uplo, ta Trans, diag Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int)
	// Trsm solves op(A)·X = alpha·B, or X·op(A) on the right, in place of B.
	Trsm(side Side, uplo Uplo, ta Trans, diag Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int)

	// Potrf replaces the triangle of a symmetric positive definite n×n matrix
	// by its Cholesky factor: A = L·Lᵀ (Lower) or Uᵀ·U (Upper). It returns 0,
	// or the order of the first leading minor that is not positive (or is
	// NaN); the triangle is then destroyed.
	Potrf(uplo Uplo, n int, a []T, lda int) int
}

// For returns the routines of p for element type T.
func For[T Float](p Provider) Routines[T] {
	var zero T
	if _, ok := any(zero).(float32); ok {
		return any(p.Float32()).(Routines[T])
	}
	return any(p.Float64()).(Routines[T])
}
