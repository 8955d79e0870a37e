package blas

// Triangular systems by halves, on top of a library whose own routine is slow.

// Orders up to which trsm leaves a system to the library, whose routine is slow with
// the kernels for AVX-512 and good with others. OpenBLAS 0.3.21, in turn with its own
// routine, the ratios of time by leaves of 32 and of 96; on an Intel with AVX-512: f64 of
// 192 0.59 and 0.79, of 64 0.91 and 1, f32 of 320 0.79 and 0.85; on an AMD Zen 5 with the
// same kernels 0.81 and 0.91, 1 and 1, 0.75 and 0.82, and with those of Haswell 0.98 and
// 0.95, 1.13 and 1, 1.07 and 1.02, f64 of 320 1 and 0.93. Leaves of 8 cost 0.10 more.
const (
	leafWide   = 32
	leafNarrow = 96
)

// trsm is Routines.Trsm with most of the work done by gemm: it solves for one half
// of the unknowns, takes them out of the other half, and solves for that, down to
// systems of the order leaf. direct is the library's routine. The operations are those
// of substitution in another order, so the backward error has the same bound (Higham,
// Accuracy and Stability of Numerical Algorithms, 2nd ed., chapter 8).
func trsm[T Float](r Routines[T], leaf int, direct func(m, n int, alpha T, a, b []T), side Side, uplo Uplo, ta Trans, m, n int, alpha T, a []T, lda int, b []T, ldb int) {
	k := order(side, m, n)
	if k <= leaf || min(m, n) < leafWide {
		direct(m, n, alpha, a, b)
		return
	}
	h := k / 2
	// The two halves of the triangle, the block between them, and the halves of B.
	a22, off := a[h*lda+h:], a[h:]
	if uplo == Lower {
		off = a[h*lda:]
	}
	solve := func(m, n int, alpha T, a, b []T) {
		trsm(r, leaf, direct, side, uplo, ta, m, n, alpha, a, lda, b, ldb)
	}
	if side == Left {
		b2 := b[h*ldb:]
		if (uplo == Lower) == (ta == NoTrans) { // op(A) is lower: from the top
			solve(h, n, alpha, a, b)
			r.Gemm(ta, NoTrans, k-h, n, h, -1, off, lda, b, ldb, alpha, b2, ldb)
			solve(k-h, n, 1, a22, b2)
			return
		}
		solve(k-h, n, alpha, a22, b2)
		r.Gemm(ta, NoTrans, h, n, k-h, -1, off, lda, b2, ldb, alpha, b, ldb)
		solve(h, n, 1, a, b)
		return
	}
	b2 := b[h:]
	if (uplo == Upper) == (ta == NoTrans) { // op(A) is upper: from the left
		solve(m, h, alpha, a, b)
		r.Gemm(NoTrans, ta, m, k-h, h, -1, b, ldb, off, lda, alpha, b2, ldb)
		solve(m, k-h, 1, a22, b2)
		return
	}
	solve(m, k-h, alpha, a22, b2)
	r.Gemm(NoTrans, ta, m, h, k-h, -1, b2, ldb, off, lda, alpha, b, ldb)
	solve(m, h, 1, a, b)
}
