package blas

// The provider that is always there: gonum's BLAS, in Go.

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// Gonum returns the provider in pure Go.
func Gonum() Provider { return gonumProvider{} }

type gonumProvider struct{}

func (gonumProvider) Name() string               { return "gonum" }
func (gonumProvider) Float32() Routines[float32] { return gonum32 }
func (gonumProvider) Float64() Routines[float64] { return gonum64 }

var impl gonum.Implementation

var gonum64 = &gonumRoutines[float64]{
	scal: impl.Dscal, axpy: impl.Daxpy, swap: impl.Dswap, dot: impl.Ddot, asum: impl.Dasum, nrm2: impl.Dnrm2,
	gemv: impl.Dgemv, ger: impl.Dger, trsv: impl.Dtrsv,
	gemm: impl.Dgemm, symm: impl.Dsymm, syrk: impl.Dsyrk, trmm: impl.Dtrmm, trsm: impl.Dtrsm,
}

var gonum32 = &gonumRoutines[float32]{
	scal: impl.Sscal, axpy: impl.Saxpy, swap: impl.Sswap, dot: impl.Sdot, asum: impl.Sasum, nrm2: impl.Snrm2,
	gemv: impl.Sgemv, ger: impl.Sger, trsv: impl.Strsv,
	gemm: impl.Sgemm, symm: impl.Ssymm, syrk: impl.Ssyrk, trmm: impl.Strmm, trsm: impl.Strsm,
}

// gonumRoutines holds gonum's functions for one element type, so that what
// stands around them is written once.
type gonumRoutines[T Float] struct {
	scal func(n int, alpha T, x []T, incX int)
	axpy func(n int, alpha T, x []T, incX int, y []T, incY int)
	swap func(n int, x []T, incX int, y []T, incY int)
	dot  func(n int, x []T, incX int, y []T, incY int) T
	asum func(n int, x []T, incX int) T
	nrm2 func(n int, x []T, incX int) T
	gemv func(tA blas.Transpose, m, n int, alpha T, a []T, lda int, x []T, incX int, beta T, y []T, incY int)
	ger  func(m, n int, alpha T, x []T, incX int, y []T, incY int, a []T, lda int)
	trsv func(ul blas.Uplo, tA blas.Transpose, d blas.Diag, n int, a []T, lda int, x []T, incX int)
	gemm func(tA, tB blas.Transpose, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int)
	symm func(s blas.Side, ul blas.Uplo, m, n int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int)
	syrk func(ul blas.Uplo, tA blas.Transpose, n, k int, alpha T, a []T, lda int, beta T, c []T, ldc int)
	trmm func(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int)
	trsm func(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int)
}

func (g *gonumRoutines[T]) Scal(alpha T, x []T) {
	if alpha == 0 { // gonum stores zeros, which hides a NaN
		for i := range x {
			x[i] *= alpha
		}
		return
	}
	g.scal(len(x), alpha, x, 1)
}

func (g *gonumRoutines[T]) Axpy(alpha T, x, y []T) {
	checkSame(len(x), len(y))
	g.axpy(len(x), alpha, x, 1, y, 1)
}

func (g *gonumRoutines[T]) Swap(x, y []T) {
	checkSame(len(x), len(y))
	g.swap(len(x), x, 1, y, 1)
}

func (g *gonumRoutines[T]) Dot(x, y []T) T {
	checkSame(len(x), len(y))
	return g.dot(len(x), x, 1, y, 1)
}

func (g *gonumRoutines[T]) Asum(x []T) T { return g.asum(len(x), x, 1) }
func (g *gonumRoutines[T]) Nrm2(x []T) T { return g.nrm2(len(x), x, 1) }

// Iamax is not gonum's, whose answer for a NaN depends on where it stands: the
// first NaN is the largest, as in LAPACK.
func (g *gonumRoutines[T]) Iamax(x []T) int {
	at, best := -1, T(-1)
	for i, v := range x {
		if v != v {
			return i
		}
		if v = T(math.Abs(float64(v))); v > best {
			at, best = i, v
		}
	}
	return at
}

func (g *gonumRoutines[T]) Gemv(ta Trans, m, n int, alpha T, a []T, lda int, x []T, beta T, y []T) {
	checkGemv(ta, m, n, a, lda, x, y)
	ny, _ := turned(ta, m, n)
	y = y[:ny]
	if m == 0 || n == 0 || alpha == 0 { // gonum leaves y as it is when there is nothing to add
		scaled(y, beta)
		return
	}
	g.gemv(gTrans(ta), m, n, alpha, a, lda, x, 1, beta, y, 1)
}

// scaled computes y = beta·y without reading y when beta is 0.
func scaled[T Float | Complex](y []T, beta T) {
	if beta == 1 {
		return
	}
	for i := range y {
		if beta == 0 {
			y[i] = 0
		} else {
			y[i] *= beta
		}
	}
}

// scaledMatrix is scaled for each row of an m×n matrix.
func scaledMatrix[T Float | Complex](m, n int, beta T, c []T, ldc int) {
	for i := range m {
		scaled(c[i*ldc:][:n], beta)
	}
}

func (g *gonumRoutines[T]) Ger(m, n int, alpha T, x, y []T, a []T, lda int) {
	checkGer(m, n, x, y, a, lda)
	if m > 0 && n > 0 {
		g.ger(m, n, alpha, x, 1, y, 1, a, lda)
	}
}

func (g *gonumRoutines[T]) Trsv(uplo Uplo, ta Trans, diag Diag, n int, a []T, lda int, x []T) {
	checkTrsv(n, a, lda, x)
	if n > 0 {
		g.trsv(gUplo(uplo), gTrans(ta), gDiag(diag), n, a, lda, x, 1)
	}
}

func (g *gonumRoutines[T]) Gemm(ta, tb Trans, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) {
	checkGemm(ta, tb, m, n, k, a, lda, b, ldb, c, ldc)
	switch {
	case m == 0 || n == 0:
	case k == 0 || alpha == 0:
		scaledMatrix(m, n, beta, c, ldc)
	default:
		ar, ac := turned(ta, m, k)
		br, bc := turned(tb, k, n)
		if (ta == Transposed || tb == NoTrans) && zeros(alpha, ar, ac, a, lda) && !finite(br, bc, b, ldb) { // as dot products
			if ta == Transposed {
				ta, a, lda = NoTrans, transposed(ar, ac, a, lda), k
			}
			if tb == NoTrans {
				tb, b, ldb = Transposed, transposed(br, bc, b, ldb), k
			}
		}
		g.gemm(gTrans(ta), gTrans(tb), m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// gonum passes over zeros of alpha·A in products, but for those that it computes as dot
// products of rows: there is no NaN where A has a zero and B an infinity or a NaN.

// zeros reports whether an m×n matrix times alpha has an element that is 0.
func zeros[T Float](alpha T, m, n int, a []T, lda int) bool {
	for i := range m {
		for _, v := range a[i*lda:][:n] {
			if alpha*v == 0 {
				return true
			}
		}
	}
	return false
}

// finite reports whether all elements of an m×n matrix are finite.
func finite[T Float](m, n int, a []T, lda int) bool {
	for i := range m {
		for _, v := range a[i*lda:][:n] {
			if v-v != 0 {
				return false
			}
		}
	}
	return true
}

// transposed returns an m×n matrix transposed, without gaps.
func transposed[T Float](m, n int, a []T, lda int) []T {
	t := make([]T, m*n)
	for i := range m {
		for j, v := range a[i*lda:][:n] {
			t[j*m+i] = v
		}
	}
	return t
}

func (g *gonumRoutines[T]) Symm(side Side, uplo Uplo, m, n int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) {
	checkSymm(side, m, n, a, lda, b, ldb, c, ldc)
	switch {
	case m == 0 || n == 0:
	case alpha == 0:
		scaledMatrix(m, n, beta, c, ldc)
	default:
		g.symm(gSide(side), gUplo(uplo), m, n, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

func (g *gonumRoutines[T]) Syrk(uplo Uplo, ta Trans, n, k int, alpha T, a []T, lda int, beta T, c []T, ldc int) {
	checkSyrk(ta, n, k, a, lda, c, ldc)
	if none := k == 0 || alpha == 0; none || beta == 0 { // gonum multiplies by a beta of 0, which keeps a NaN
		for i := range n {
			if row := c[i*ldc:][:n]; uplo == Lower {
				scaled(row[:i+1], beta)
			} else {
				scaled(row[i:], beta)
			}
		}
		if none {
			return
		}
		beta = 1
	}
	if n > 0 && ta == Transposed && zeros(alpha, k, n, a, lda) && !finite(k, n, a, lda) { // as in Gemm
		ta, a, lda = NoTrans, transposed(k, n, a, lda), k
	}
	if n > 0 {
		g.syrk(gUplo(uplo), gTrans(ta), n, k, alpha, a, lda, beta, c, ldc)
	}
}

func (g *gonumRoutines[T]) Trmm(side Side, uplo Uplo, ta Trans, diag Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int) {
	checkTriangle(side, m, n, a, lda, b, ldb)
	if n > 0 && alpha != 0 && side == Right && ta == NoTrans { // gonum leaves elements as they are that alpha makes 0
		scaledMatrix(m, n, alpha, b, ldb)
		alpha = 1
	}
	g.triangle(g.trmm, side, uplo, ta, diag, m, n, alpha, a, lda, b, ldb)
}

func (g *gonumRoutines[T]) Trsm(side Side, uplo Uplo, ta Trans, diag Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int) {
	checkTriangle(side, m, n, a, lda, b, ldb)
	g.triangle(g.trsm, side, uplo, ta, diag, m, n, alpha, a, lda, b, ldb)
}

// triangular is trmm or trsm.
type triangular[T Float] = func(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int)

// triangle calls one of them: as dot products where gonum would pass over zeros, as in Gemm.
func (g *gonumRoutines[T]) triangle(call triangular[T], side Side, uplo Uplo, ta Trans, diag Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int) {
	if m == 0 || n == 0 {
		return
	}
	k := order(side, m, n)
	switch {
	case alpha == 0:
	case side == Left && zeros(1, k, k, a, lda) && !finite(m, n, b, ldb):
		if ta == Transposed {
			a, lda, uplo = transposed(k, k, a, lda), k, 1-uplo
		}
		x := transposed(m, n, b, ldb)
		call(blas.Right, gUplo(uplo), blas.Trans, gDiag(diag), n, m, alpha, a, lda, x, m)
		for i := range m {
			for j := range n {
				b[i*ldb+j] = x[j*m+i]
			}
		}
		return
	case side == Right && ta == NoTrans && zeros(alpha, m, n, b, ldb) && !finite(k, k, a, lda):
		a, lda, uplo, ta = transposed(k, k, a, lda), k, 1-uplo, Transposed
	}
	call(gSide(side), gUplo(uplo), gTrans(ta), gDiag(diag), m, n, alpha, a, lda, b, ldb)
}

func (g *gonumRoutines[T]) Potrf(uplo Uplo, n int, a []T, lda int) int {
	checkMatrix("A", n, n, lda, len(a))
	return potrf(g, uplo, n, a, lda)
}

func gTrans(t Trans) blas.Transpose {
	switch t {
	case Transposed:
		return blas.Trans
	case ConjTransposed:
		return blas.ConjTrans
	}
	return blas.NoTrans
}

func gUplo(u Uplo) blas.Uplo {
	if u == Upper {
		return blas.Upper
	}
	return blas.Lower
}

func gSide(s Side) blas.Side {
	if s == Right {
		return blas.Right
	}
	return blas.Left
}

func gDiag(d Diag) blas.Diag {
	if d == Unit {
		return blas.Unit
	}
	return blas.NonUnit
}
