//go:build (linux || darwin) && !android && !ios && (amd64 || arm64 || riscv64 || loong64)

package blas

// The calls into the library, one routine each. A length of a character
// argument follows the arguments, as Fortran compilers have it. Every Go
// pointer becomes a uintptr in the argument list itself: SyscallN is declared
// to keep what those point to alive and in place.

import (
	"math"
	"unsafe"

	"github.com/starpush/starpush/accel/dynlib"
)

// vectorPiece is the longest vector passed at once.
const vectorPiece = math.MaxInt32

// Scal computes x = alpha·x.
func (r *libRoutines[T]) Scal(alpha T, x []T) {
	if alpha == 0 || len(x) < 128 { // the library may store zeros for alpha = 0
		r.gonumRoutines.Scal(alpha, x)
		return
	}
	c := r.get()
	defer r.pool.Put(c)
	c.alpha = alpha
	for len(x) > 0 {
		n := min(len(x), vectorPiece)
		c.n = int64(n)
		dynlib.Call(r.scal, uintptr(unsafe.Pointer(&c.n)), uintptr(unsafe.Pointer(&c.alpha)),
			uintptr(addr(x)), uintptr(unsafe.Pointer(&c.one)))
		x = x[n:]
	}
}

// Axpy computes y = alpha·x + y.
func (r *libRoutines[T]) Axpy(alpha T, x, y []T) {
	checkSame(len(x), len(y))
	if len(x) < 128 {
		r.gonumRoutines.Axpy(alpha, x, y)
		return
	}
	c := r.get()
	defer r.pool.Put(c)
	c.alpha = alpha
	for len(x) > 0 {
		n := min(len(x), vectorPiece)
		c.n = int64(n)
		dynlib.Call(r.axpy, uintptr(unsafe.Pointer(&c.n)), uintptr(unsafe.Pointer(&c.alpha)),
			uintptr(addr(x)), uintptr(unsafe.Pointer(&c.one)),
			uintptr(addr(y)), uintptr(unsafe.Pointer(&c.one)))
		x, y = x[n:], y[n:]
	}
}

// Gemv computes y = alpha·op(A)·x + beta·y.
func (r *libRoutines[T]) Gemv(ta Trans, m, n int, alpha T, a []T, lda int, x []T, beta T, y []T) {
	if m <= 0 || n <= 0 || alpha == 0 || m <= tiny/max(n, 1) || !fits(m, n, lda) {
		r.gonumRoutines.Gemv(ta, m, n, alpha, a, lda, x, beta, y)
		return
	}
	checkGemv(ta, m, n, a, lda, x, y)
	if beta != 1 { // the library may multiply by zero
		ny, _ := turned(ta, m, n)
		scaled(y[:ny], beta)
	}
	c := r.begin(m * n)
	defer r.end(c)
	c.ta, c.m, c.n, c.lda, c.alpha, c.beta = flipTrans(ta), int64(n), int64(m), int64(lda), alpha, 1
	dynlib.Call(r.gemv, uintptr(unsafe.Pointer(&c.ta)),
		uintptr(unsafe.Pointer(&c.m)), uintptr(unsafe.Pointer(&c.n)), uintptr(unsafe.Pointer(&c.alpha)),
		uintptr(addr(a)), uintptr(unsafe.Pointer(&c.lda)),
		uintptr(addr(x)), uintptr(unsafe.Pointer(&c.one)), uintptr(unsafe.Pointer(&c.beta)),
		uintptr(addr(y)), uintptr(unsafe.Pointer(&c.one)), 1)
}

// Ger computes A = alpha·x·yᵀ + A.
func (r *libRoutines[T]) Ger(m, n int, alpha T, x, y []T, a []T, lda int) {
	if m <= 0 || n <= 0 || m <= tiny/max(n, 1) || !fits(m, n, lda) {
		r.gonumRoutines.Ger(m, n, alpha, x, y, a, lda)
		return
	}
	checkGer(m, n, x, y, a, lda)
	c := r.begin(m * n)
	defer r.end(c)
	c.m, c.n, c.lda, c.alpha = int64(n), int64(m), int64(lda), alpha
	dynlib.Call(r.ger, uintptr(unsafe.Pointer(&c.m)), uintptr(unsafe.Pointer(&c.n)), uintptr(unsafe.Pointer(&c.alpha)),
		uintptr(addr(y)), uintptr(unsafe.Pointer(&c.one)),
		uintptr(addr(x)), uintptr(unsafe.Pointer(&c.one)),
		uintptr(addr(a)), uintptr(unsafe.Pointer(&c.lda)))
}

// Trsv solves op(A)·x = b in place.
func (r *libRoutines[T]) Trsv(uplo Uplo, ta Trans, diag Diag, n int, a []T, lda int, x []T) {
	if n < 64 || !fits(n, lda) {
		r.gonumRoutines.Trsv(uplo, ta, diag, n, a, lda, x)
		return
	}
	checkTrsv(n, a, lda, x)
	c := r.begin(n * n)
	defer r.end(c)
	c.uplo, c.ta, c.diag, c.n, c.lda = flip(uplo), flipTrans(ta), diagFlag(diag), int64(n), int64(lda)
	dynlib.Call(r.trsv, uintptr(unsafe.Pointer(&c.uplo)), uintptr(unsafe.Pointer(&c.ta)), uintptr(unsafe.Pointer(&c.diag)),
		uintptr(unsafe.Pointer(&c.n)), uintptr(addr(a)), uintptr(unsafe.Pointer(&c.lda)),
		uintptr(addr(x)), uintptr(unsafe.Pointer(&c.one)), 1, 1, 1)
}

// Gemm computes C = alpha·op(A)·op(B) + beta·C, as Cᵀ = op(B)ᵀ·op(A)ᵀ.
func (r *libRoutines[T]) Gemm(ta, tb Trans, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) {
	if m <= 0 || n <= 0 || k <= 0 || alpha == 0 || !fits(m, n, k, lda, ldb, ldc) || m*n <= tiny/k {
		r.gonumRoutines.Gemm(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	checkGemm(ta, tb, m, n, k, a, lda, b, ldb, c, ldc)
	if r.cuts && worthCutting(tb, m, n, k) {
		own := r.blocks.Get().(*block[T])
		gemmByBlocks(func(m, n, k int, a, b []T, ldb int, beta T, c []T) {
			r.product(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		}, own, ta, m, n, k, a, lda, b, ldb, beta, c, ldc)
		r.blocks.Put(own)
		return
	}
	r.product(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

// product is Gemm as one call of the library.
func (r *libRoutines[T]) product(ta, tb Trans, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) {
	p := r.begin(volume(m, n, k))
	defer r.end(p)
	p.ta, p.tb, p.m, p.n, p.k = transFlag(ta), transFlag(tb), int64(n), int64(m), int64(k)
	p.lda, p.ldb, p.ldc, p.alpha, p.beta = int64(lda), int64(ldb), int64(ldc), alpha, beta
	dynlib.Call(r.gemm, uintptr(unsafe.Pointer(&p.tb)), uintptr(unsafe.Pointer(&p.ta)),
		uintptr(unsafe.Pointer(&p.m)), uintptr(unsafe.Pointer(&p.n)), uintptr(unsafe.Pointer(&p.k)),
		uintptr(unsafe.Pointer(&p.alpha)), uintptr(addr(b)), uintptr(unsafe.Pointer(&p.ldb)),
		uintptr(addr(a)), uintptr(unsafe.Pointer(&p.lda)),
		uintptr(unsafe.Pointer(&p.beta)), uintptr(addr(c)), uintptr(unsafe.Pointer(&p.ldc)), 1, 1)
}

// Symm computes C = alpha·A·B + beta·C or alpha·B·A + beta·C.
func (r *libRoutines[T]) Symm(side Side, uplo Uplo, m, n int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) {
	if m <= 0 || n <= 0 || alpha == 0 || !fits(m, n, lda, ldb, ldc) || m*n <= tiny/order(side, m, n) {
		r.gonumRoutines.Symm(side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	checkSymm(side, m, n, a, lda, b, ldb, c, ldc)
	p := r.begin(volume(m, n, order(side, m, n)))
	defer r.end(p)
	p.side, p.uplo, p.m, p.n = otherSide(side), flip(uplo), int64(n), int64(m)
	p.lda, p.ldb, p.ldc, p.alpha, p.beta = int64(lda), int64(ldb), int64(ldc), alpha, beta
	dynlib.Call(r.symm, uintptr(unsafe.Pointer(&p.side)), uintptr(unsafe.Pointer(&p.uplo)),
		uintptr(unsafe.Pointer(&p.m)), uintptr(unsafe.Pointer(&p.n)),
		uintptr(unsafe.Pointer(&p.alpha)), uintptr(addr(a)), uintptr(unsafe.Pointer(&p.lda)),
		uintptr(addr(b)), uintptr(unsafe.Pointer(&p.ldb)),
		uintptr(unsafe.Pointer(&p.beta)), uintptr(addr(c)), uintptr(unsafe.Pointer(&p.ldc)), 1, 1)
}

// Syrk computes C = alpha·op(A)·op(A)ᵀ + beta·C.
func (r *libRoutines[T]) Syrk(uplo Uplo, ta Trans, n, k int, alpha T, a []T, lda int, beta T, c []T, ldc int) {
	if n <= 0 || k <= 0 || alpha == 0 || !fits(n, k, lda, ldc) || n*n <= tiny/k {
		r.gonumRoutines.Syrk(uplo, ta, n, k, alpha, a, lda, beta, c, ldc)
		return
	}
	checkSyrk(ta, n, k, a, lda, c, ldc)
	p := r.begin(volume(n, n, k) / 2)
	defer r.end(p)
	p.uplo, p.ta, p.n, p.k = flip(uplo), flipTrans(ta), int64(n), int64(k)
	p.lda, p.ldc, p.alpha, p.beta = int64(lda), int64(ldc), alpha, beta
	dynlib.Call(r.syrk, uintptr(unsafe.Pointer(&p.uplo)), uintptr(unsafe.Pointer(&p.ta)),
		uintptr(unsafe.Pointer(&p.n)), uintptr(unsafe.Pointer(&p.k)),
		uintptr(unsafe.Pointer(&p.alpha)), uintptr(addr(a)), uintptr(unsafe.Pointer(&p.lda)),
		uintptr(unsafe.Pointer(&p.beta)), uintptr(addr(c)), uintptr(unsafe.Pointer(&p.ldc)), 1, 1)
}

// Trmm computes B = alpha·op(A)·B or alpha·B·op(A).
func (r *libRoutines[T]) Trmm(side Side, uplo Uplo, ta Trans, diag Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int) {
	if m <= 0 || n <= 0 || alpha == 0 || !fits(m, n, lda, ldb) || m*n <= tiny/order(side, m, n) {
		r.gonumRoutines.Trmm(side, uplo, ta, diag, m, n, alpha, a, lda, b, ldb)
		return
	}
	checkTriangle(side, m, n, a, lda, b, ldb)
	r.triangle(r.trmm, side, uplo, ta, diag, m, n, alpha, a, lda, b, ldb)
}

// Trsm solves op(A)·X = alpha·B or X·op(A) = alpha·B in place of B.
func (r *libRoutines[T]) Trsm(side Side, uplo Uplo, ta Trans, diag Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int) {
	if m <= 0 || n <= 0 || alpha == 0 || !fits(m, n, lda, ldb) || m*n <= tiny/order(side, m, n) {
		r.gonumRoutines.Trsm(side, uplo, ta, diag, m, n, alpha, a, lda, b, ldb)
		return
	}
	checkTriangle(side, m, n, a, lda, b, ldb)
	trsm(r, r.leaf, func(m, n int, alpha T, a, b []T) {
		r.triangle(r.trsm, side, uplo, ta, diag, m, n, alpha, a, lda, b, ldb)
	}, side, uplo, ta, m, n, alpha, a, lda, b, ldb)
}

// triangle calls trmm or trsm, whose arguments are the same.
func (r *libRoutines[T]) triangle(fn uintptr, side Side, uplo Uplo, ta Trans, diag Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int) {
	p := r.begin(volume(m, n, order(side, m, n)) / 2)
	defer r.end(p)
	p.side, p.uplo, p.ta, p.diag = otherSide(side), flip(uplo), transFlag(ta), diagFlag(diag)
	p.m, p.n, p.lda, p.ldb, p.alpha = int64(n), int64(m), int64(lda), int64(ldb), alpha
	dynlib.Call(fn, uintptr(unsafe.Pointer(&p.side)), uintptr(unsafe.Pointer(&p.uplo)),
		uintptr(unsafe.Pointer(&p.ta)), uintptr(unsafe.Pointer(&p.diag)),
		uintptr(unsafe.Pointer(&p.m)), uintptr(unsafe.Pointer(&p.n)),
		uintptr(unsafe.Pointer(&p.alpha)), uintptr(addr(a)), uintptr(unsafe.Pointer(&p.lda)),
		uintptr(addr(b)), uintptr(unsafe.Pointer(&p.ldb)), 1, 1, 1, 1)
}

// Potrf is the Cholesky factorisation.
func (r *libRoutines[T]) Potrf(uplo Uplo, n int, a []T, lda int) int {
	if n <= 32 || !fits(n, lda) {
		return r.gonumRoutines.Potrf(uplo, n, a, lda)
	}
	checkMatrix("A", n, n, lda, len(a))
	p := r.begin(volume(n, n, n) / 3)
	defer r.end(p)
	p.uplo, p.n, p.lda = flip(uplo), int64(n), int64(lda)
	dynlib.Call(r.potrf, uintptr(unsafe.Pointer(&p.uplo)), uintptr(unsafe.Pointer(&p.n)),
		uintptr(addr(a)), uintptr(unsafe.Pointer(&p.lda)), uintptr(unsafe.Pointer(&p.info)), 1)
	if info := int(int32(p.info)); info != 0 {
		return max(info, 0)
	}
	for i := range n { // a NaN passes the library's test of the pivot
		if d := a[i*lda+i]; d != d {
			return i + 1
		}
	}
	return 0
}
