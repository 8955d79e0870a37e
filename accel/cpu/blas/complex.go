package blas

// Complex numbers: their routines, and those in Go.

import (
	"math"

	"gonum.org/v1/gonum/blas"
)

// Complex is an element type of ComplexRoutines.
type Complex interface{ complex64 | complex128 }

// ComplexRoutines are the routines for one type of complex numbers, with the rules of Routines.
type ComplexRoutines[T Complex] interface {
	// Scal computes x = alpha·x, also for alpha = 0.
	Scal(alpha T, x []T)
	// Axpy computes y = alpha·x + y; x and y have the same length, here and below.
	Axpy(alpha T, x, y []T)
	// Dotu returns the sum of x[i]·y[i], and Dotc that of the conjugate of x[i] times y[i].
	Dotu(x, y []T) T
	Dotc(x, y []T) T
	// Nrm2 returns the Euclidean norm, without overflow in between.
	Nrm2(x []T) float64

	// Gemv computes y = alpha·op(A)·x + beta·y for an m×n matrix A.
	Gemv(ta Trans, m, n int, alpha T, a []T, lda int, x []T, beta T, y []T)
	// Trsv solves op(A)·x = b in place for an n×n triangular matrix A.
	Trsv(uplo Uplo, ta Trans, diag Diag, n int, a []T, lda int, x []T)

	// Gemm computes C = alpha·op(A)·op(B) + beta·C: C is m×n, op(A) m×k, op(B) k×n.
	Gemm(ta, tb Trans, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int)
	// Herk computes C = alpha·op(A)·op(A)ᴴ + beta·C: C is n×n Hermitian, op(A) n×k; ta is NoTrans or
	// ConjTransposed.
	Herk(uplo Uplo, ta Trans, n, k int, alpha float64, a []T, lda int, beta float64, c []T, ldc int)
	// Trsm solves op(A)·X = alpha·B, or X·op(A) on the right, in place of B.
	Trsm(side Side, uplo Uplo, ta Trans, diag Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int)

	// Potrf is Routines.Potrf for a Hermitian matrix: A = L·Lᴴ or Uᴴ·U.
	Potrf(uplo Uplo, n int, a []T, lda int) int
}

// ForComplex returns the routines of p for element type T.
func ForComplex[T Complex](p Provider) ComplexRoutines[T] {
	var zero T
	if _, ok := any(zero).(complex64); ok {
		return any(p.Complex64()).(ComplexRoutines[T])
	}
	return any(p.Complex128()).(ComplexRoutines[T])
}

func (gonumProvider) Complex64() ComplexRoutines[complex64]   { return gonumC64 }
func (gonumProvider) Complex128() ComplexRoutines[complex128] { return gonumC128 }

var gonumC128 = &gonumComplex[complex128]{
	scal: impl.Zscal, axpy: impl.Zaxpy, dotu: impl.Zdotu, dotc: impl.Zdotc, nrm2: impl.Dznrm2,
	gemv: impl.Zgemv, trsv: impl.Ztrsv, gemm: impl.Zgemm, herk: impl.Zherk, trsm: impl.Ztrsm,
}

var gonumC64 = &gonumComplex[complex64]{
	scal: impl.Cscal, axpy: impl.Caxpy, dotu: impl.Cdotu, dotc: impl.Cdotc,
	nrm2: func(n int, x []complex64, incX int) float64 { return float64(impl.Scnrm2(n, x, incX)) },
	gemv: impl.Cgemv, trsv: impl.Ctrsv, gemm: impl.Cgemm, trsm: impl.Ctrsm,
	herk: func(ul blas.Uplo, tA blas.Transpose, n, k int, alpha float64, a []complex64, lda int, beta float64, c []complex64, ldc int) {
		impl.Cherk(ul, tA, n, k, float32(alpha), a, lda, float32(beta), c, ldc)
	},
}

// gonumComplex holds gonum's functions for one type of complex numbers.
type gonumComplex[T Complex] struct {
	scal func(n int, alpha T, x []T, incX int)
	axpy func(n int, alpha T, x []T, incX int, y []T, incY int)
	dotu func(n int, x []T, incX int, y []T, incY int) T
	dotc func(n int, x []T, incX int, y []T, incY int) T
	nrm2 func(n int, x []T, incX int) float64
	gemv func(tA blas.Transpose, m, n int, alpha T, a []T, lda int, x []T, incX int, beta T, y []T, incY int)
	trsv func(ul blas.Uplo, tA blas.Transpose, d blas.Diag, n int, a []T, lda int, x []T, incX int)
	gemm func(tA, tB blas.Transpose, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int)
	herk func(ul blas.Uplo, tA blas.Transpose, n, k int, alpha float64, a []T, lda int, beta float64, c []T, ldc int)
	trsm func(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int)
}

func (g *gonumComplex[T]) Scal(alpha T, x []T) {
	if alpha == 0 { // gonum stores zeros, which hides a NaN
		for i := range x {
			x[i] *= alpha
		}
		return
	}
	g.scal(len(x), alpha, x, 1)
}

func (g *gonumComplex[T]) Axpy(alpha T, x, y []T) {
	checkSame(len(x), len(y))
	g.axpy(len(x), alpha, x, 1, y, 1)
}

func (g *gonumComplex[T]) Dotu(x, y []T) T {
	checkSame(len(x), len(y))
	return g.dotu(len(x), x, 1, y, 1)
}

func (g *gonumComplex[T]) Dotc(x, y []T) T {
	checkSame(len(x), len(y))
	return g.dotc(len(x), x, 1, y, 1)
}

func (g *gonumComplex[T]) Nrm2(x []T) float64 { return g.nrm2(len(x), x, 1) }

func (g *gonumComplex[T]) Gemv(ta Trans, m, n int, alpha T, a []T, lda int, x []T, beta T, y []T) {
	checkGemv(ta, m, n, a, lda, x, y)
	ny, _ := turned(ta, m, n)
	y = y[:ny]
	if m == 0 || n == 0 || alpha == 0 {
		scaled(y, beta)
		return
	}
	g.gemv(gTrans(ta), m, n, alpha, a, lda, x, 1, beta, y, 1)
}

func (g *gonumComplex[T]) Trsv(uplo Uplo, ta Trans, diag Diag, n int, a []T, lda int, x []T) {
	checkTrsv(n, a, lda, x)
	if n > 0 {
		g.trsv(gUplo(uplo), gTrans(ta), gDiag(diag), n, a, lda, x, 1)
	}
}

func (g *gonumComplex[T]) Gemm(ta, tb Trans, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) {
	checkGemm(ta, tb, m, n, k, a, lda, b, ldb, c, ldc)
	switch {
	case m == 0 || n == 0:
	case k == 0 || alpha == 0:
		scaledMatrix(m, n, beta, c, ldc)
	default:
		g.gemm(gTrans(ta), gTrans(tb), m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

func (g *gonumComplex[T]) Herk(uplo Uplo, ta Trans, n, k int, alpha float64, a []T, lda int, beta float64, c []T, ldc int) {
	checkHerk(ta, n, k, a, lda, c, ldc)
	if k == 0 || alpha == 0 || beta == 0 {
		for i := range n {
			row := c[i*ldc:][:n]
			if uplo == Lower {
				row = row[:i+1]
			} else {
				row = row[i:]
			}
			scaled(row, realOf[T](beta))
		}
		if k == 0 || alpha == 0 {
			return
		}
		beta = 1
	}
	if n > 0 {
		g.herk(gUplo(uplo), gTrans(ta), n, k, alpha, a, lda, beta, c, ldc)
	}
}

func (g *gonumComplex[T]) Trsm(side Side, uplo Uplo, ta Trans, diag Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int) {
	checkTriangle(side, m, n, a, lda, b, ldb)
	if m > 0 && n > 0 {
		g.trsm(gSide(side), gUplo(uplo), gTrans(ta), gDiag(diag), m, n, alpha, a, lda, b, ldb)
	}
}

func (g *gonumComplex[T]) Potrf(uplo Uplo, n int, a []T, lda int) int {
	checkMatrix("A", n, n, lda, len(a))
	return potrfComplex(g, uplo, n, a, lda)
}

func checkHerk[T Complex](ta Trans, n, k int, a []T, lda int, c []T, ldc int) {
	if ta == Transposed {
		panic("blas: Herk takes a matrix as it is or conjugate transposed")
	}
	checkSyrk(ta, n, k, a, lda, c, ldc)
}

// realOf returns x as a complex number.
func realOf[T Complex](x float64) T { return T(complex(x, 0)) }

// parts returns the real and the imaginary part of z.
func parts[T Complex](z T) (re, im float64) {
	w := complex128(z)
	return real(w), imag(w)
}

// conj returns the conjugate of z.
func conj[T Complex](z T) T {
	re, im := parts(z)
	return T(complex(re, -im))
}

// potrfComplex is potrf for Hermitian matrices.
func potrfComplex[T Complex](r ComplexRoutines[T], uplo Uplo, n int, a []T, lda int) int {
	if n <= smallest {
		return potrfHermitian(uplo, n, a, lda)
	}
	h := n / 2
	a22 := a[h*lda+h:]
	if bad := potrfComplex(r, uplo, h, a, lda); bad > 0 {
		return bad
	}
	if uplo == Lower {
		a21 := a[h*lda:]
		r.Trsm(Right, Lower, ConjTransposed, NonUnit, n-h, h, 1, a, lda, a21, lda)
		r.Herk(Lower, NoTrans, n-h, h, -1, a21, lda, 1, a22, lda)
	} else {
		a12 := a[h:]
		r.Trsm(Left, Upper, ConjTransposed, NonUnit, h, n-h, 1, a, lda, a12, lda)
		r.Herk(Upper, ConjTransposed, n-h, h, -1, a12, lda, 1, a22, lda)
	}
	if bad := potrfComplex(r, uplo, n-h, a22, lda); bad > 0 {
		return h + bad
	}
	return 0
}

// potrfHermitian factors a small matrix by plain loops. An element of the triangle is l(i, j) for
// i >= j: that of L, or the conjugate of that of U.
func potrfHermitian[T Complex](uplo Uplo, n int, a []T, lda int) int {
	get := func(i, j int) T {
		if uplo == Lower {
			return a[i*lda+j]
		}
		return conj(a[j*lda+i])
	}
	for j := range n {
		d, _ := parts(get(j, j))
		for k := range j {
			re, im := parts(get(j, k))
			d -= re*re + im*im
		}
		if !(d > 0) {
			return j + 1
		}
		d = math.Sqrt(d)
		a[j*lda+j] = realOf[T](d)
		for i := j + 1; i < n; i++ {
			s := get(i, j)
			for k := range j {
				s -= get(i, k) * conj(get(j, k))
			}
			re, im := parts(s)
			if s = T(complex(re/d, im/d)); uplo == Lower {
				a[i*lda+j] = s
			} else {
				a[j*lda+i] = conj(s)
			}
		}
	}
	return 0
}
