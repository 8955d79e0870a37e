//go:build (linux || darwin) && !android && !ios && (amd64 || arm64 || riscv64 || loong64)

package blas

// The library's routines for complex numbers. A row-major matrix is the transposed one for a
// column-major routine, so a product has the same ops in the other order. A Hermitian matrix is
// its conjugate there, which exchanges a matrix and its conjugate transposed in herk.

import (
	"runtime"
	"sync"
	"unsafe"

	"github.com/starpush/starpush/accel/dynlib"
)

// libComplex holds the functions of a library for one type of complex numbers.
type libComplex[T Complex] struct {
	*gonumComplex[T] // what is done in Go: vectors, and tiny and huge sizes

	gemm, herk, trsm, potrf uintptr

	slots *slots
	pool  sync.Pool // of *complexArgs[T]
}

// complexArgs is what one call passes by reference. Real factors are the real parts of alpha and beta.
type complexArgs[T Complex] struct {
	m, n, k, lda, ldb, ldc, info int64
	alpha, beta                  T
	side, uplo, ta, tb, diag     byte
}

// newComplex returns the routines of a library, those of gonum if it has none.
func newComplex[T Complex](handle uintptr, prefix string, slots *slots, g *gonumComplex[T]) ComplexRoutines[T] {
	r := &libComplex[T]{gonumComplex: g, slots: slots}
	r.pool.New = func() any { return new(complexArgs[T]) }
	for _, s := range []struct {
		name string
		to   *uintptr
	}{{"gemm", &r.gemm}, {"herk", &r.herk}, {"trsm", &r.trsm}, {"potrf", &r.potrf}} {
		fn, err := dynlib.Symbol(handle, prefix+s.name+"_")
		if err != nil {
			return g
		}
		*s.to = fn
	}
	return r
}

// begin takes a slot and an argument block; the caller defers end.
func (r *libComplex[T]) begin() *complexArgs[T] {
	r.slots.take()
	c := r.pool.Get().(*complexArgs[T])
	c.info = 0
	return c
}

func (r *libComplex[T]) end(c *complexArgs[T]) {
	r.pool.Put(c)
	r.slots.give()
	runtime.Gosched() // see long
}

func complexFlag(t Trans) byte {
	if t == ConjTransposed {
		return 'C'
	}
	return transFlag(t)
}

// Gemm computes C = alpha·op(A)·op(B) + beta·C.
func (r *libComplex[T]) Gemm(ta, tb Trans, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) {
	if m <= 0 || n <= 0 || k <= 0 || alpha == 0 || !fits(m, n, k, lda, ldb, ldc) || m*n <= tiny/k {
		r.gonumComplex.Gemm(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	checkGemm(ta, tb, m, n, k, a, lda, b, ldb, c, ldc)
	p := r.begin()
	defer r.end(p)
	p.ta, p.tb, p.m, p.n, p.k = complexFlag(ta), complexFlag(tb), int64(n), int64(m), int64(k)
	p.lda, p.ldb, p.ldc, p.alpha, p.beta = int64(lda), int64(ldb), int64(ldc), alpha, beta
	dynlib.Call(r.gemm, uintptr(unsafe.Pointer(&p.tb)), uintptr(unsafe.Pointer(&p.ta)),
		uintptr(unsafe.Pointer(&p.m)), uintptr(unsafe.Pointer(&p.n)), uintptr(unsafe.Pointer(&p.k)),
		uintptr(unsafe.Pointer(&p.alpha)), uintptr(addr(b)), uintptr(unsafe.Pointer(&p.ldb)),
		uintptr(addr(a)), uintptr(unsafe.Pointer(&p.lda)),
		uintptr(unsafe.Pointer(&p.beta)), uintptr(addr(c)), uintptr(unsafe.Pointer(&p.ldc)), 1, 1)
}

// Herk computes C = alpha·op(A)·op(A)ᴴ + beta·C.
func (r *libComplex[T]) Herk(uplo Uplo, ta Trans, n, k int, alpha float64, a []T, lda int, beta float64, c []T, ldc int) {
	if n <= 0 || k <= 0 || alpha == 0 || !fits(n, k, lda, ldc) || n*n <= tiny/k {
		r.gonumComplex.Herk(uplo, ta, n, k, alpha, a, lda, beta, c, ldc)
		return
	}
	checkHerk(ta, n, k, a, lda, c, ldc)
	p := r.begin()
	defer r.end(p)
	p.uplo, p.ta, p.n, p.k = flip(uplo), 'C', int64(n), int64(k)
	if ta == ConjTransposed {
		p.ta = 'N'
	}
	p.lda, p.ldc, p.alpha, p.beta = int64(lda), int64(ldc), realOf[T](alpha), realOf[T](beta)
	dynlib.Call(r.herk, uintptr(unsafe.Pointer(&p.uplo)), uintptr(unsafe.Pointer(&p.ta)),
		uintptr(unsafe.Pointer(&p.n)), uintptr(unsafe.Pointer(&p.k)),
		uintptr(unsafe.Pointer(&p.alpha)), uintptr(addr(a)), uintptr(unsafe.Pointer(&p.lda)),
		uintptr(unsafe.Pointer(&p.beta)), uintptr(addr(c)), uintptr(unsafe.Pointer(&p.ldc)), 1, 1)
}

// Trsm solves op(A)·X = alpha·B or X·op(A) = alpha·B in place of B.
func (r *libComplex[T]) Trsm(side Side, uplo Uplo, ta Trans, diag Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int) {
	if m <= 0 || n <= 0 || alpha == 0 || !fits(m, n, lda, ldb) || m*n <= tiny/order(side, m, n) {
		r.gonumComplex.Trsm(side, uplo, ta, diag, m, n, alpha, a, lda, b, ldb)
		return
	}
	checkTriangle(side, m, n, a, lda, b, ldb)
	p := r.begin()
	defer r.end(p)
	p.side, p.uplo, p.ta, p.diag = otherSide(side), flip(uplo), complexFlag(ta), diagFlag(diag)
	p.m, p.n, p.lda, p.ldb, p.alpha = int64(n), int64(m), int64(lda), int64(ldb), alpha
	dynlib.Call(r.trsm, uintptr(unsafe.Pointer(&p.side)), uintptr(unsafe.Pointer(&p.uplo)),
		uintptr(unsafe.Pointer(&p.ta)), uintptr(unsafe.Pointer(&p.diag)),
		uintptr(unsafe.Pointer(&p.m)), uintptr(unsafe.Pointer(&p.n)),
		uintptr(unsafe.Pointer(&p.alpha)), uintptr(addr(a)), uintptr(unsafe.Pointer(&p.lda)),
		uintptr(addr(b)), uintptr(unsafe.Pointer(&p.ldb)), 1, 1, 1, 1)
}

// Potrf is the Cholesky factorisation of a Hermitian matrix.
func (r *libComplex[T]) Potrf(uplo Uplo, n int, a []T, lda int) int {
	if n <= 32 || !fits(n, lda) {
		return r.gonumComplex.Potrf(uplo, n, a, lda)
	}
	checkMatrix("A", n, n, lda, len(a))
	p := r.begin()
	defer r.end(p)
	p.uplo, p.n, p.lda = flip(uplo), int64(n), int64(lda)
	dynlib.Call(r.potrf, uintptr(unsafe.Pointer(&p.uplo)), uintptr(unsafe.Pointer(&p.n)),
		uintptr(addr(a)), uintptr(unsafe.Pointer(&p.lda)), uintptr(unsafe.Pointer(&p.info)), 1)
	if info := int(int32(p.info)); info != 0 {
		return max(info, 0)
	}
	for i := range n { // a NaN passes the library's test of the pivot
		if d, _ := parts(a[i*lda+i]); d != d {
			return i + 1
		}
	}
	return 0
}
