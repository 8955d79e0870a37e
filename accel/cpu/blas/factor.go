package blas

// Factorisations made of the other routines: Cholesky for providers without
// LAPACK, LU without pivoting for all. Both divide the matrix in halves until
// it is small, which leaves most of the work to gemm, syrk and trsm.

import "math"

// smallest is the order below which a matrix is factored by plain loops.
const smallest = 24

// potrf is Routines.Potrf on top of r.
func potrf[T Float](r Routines[T], uplo Uplo, n int, a []T, lda int) int {
	if n <= smallest {
		if uplo == Lower {
			return potrfLower(n, a, lda)
		}
		return potrfUpper(n, a, lda)
	}
	h := n / 2
	a22 := a[h*lda+h:]
	if bad := potrf(r, uplo, h, a, lda); bad > 0 {
		return bad
	}
	if uplo == Lower {
		a21 := a[h*lda:]
		r.Trsm(Right, Lower, Transposed, NonUnit, n-h, h, 1, a, lda, a21, lda)
		r.Syrk(Lower, NoTrans, n-h, h, -1, a21, lda, 1, a22, lda)
	} else {
		a12 := a[h:]
		r.Trsm(Left, Upper, Transposed, NonUnit, h, n-h, 1, a, lda, a12, lda)
		r.Syrk(Upper, Transposed, n-h, h, -1, a12, lda, 1, a22, lda)
	}
	if bad := potrf(r, uplo, n-h, a22, lda); bad > 0 {
		return h + bad
	}
	return 0
}

func potrfLower[T Float](n int, a []T, lda int) int {
	for j := range n {
		rj := a[j*lda:][:j+1]
		d := rj[j]
		for _, v := range rj[:j] {
			d -= v * v
		}
		if !(d > 0) {
			return j + 1
		}
		d = T(math.Sqrt(float64(d)))
		rj[j] = d
		for i := j + 1; i < n; i++ {
			ri := a[i*lda:][:j+1]
			s := ri[j]
			for k, v := range rj[:j] {
				s -= v * ri[k]
			}
			ri[j] = s / d
		}
	}
	return 0
}

func potrfUpper[T Float](n int, a []T, lda int) int {
	for j := range n {
		rj := a[j*lda:][:n]
		if !(rj[j] > 0) {
			return j + 1
		}
		d := T(math.Sqrt(float64(rj[j])))
		rj[j] = d
		for i := j + 1; i < n; i++ {
			rj[i] /= d
		}
		for i := j + 1; i < n; i++ {
			ri := a[i*lda:][:n]
			f := rj[i]
			for k := i; k < n; k++ {
				ri[k] -= f * rj[k]
			}
		}
	}
	return 0
}

// GetrfNoPiv replaces the m×n matrix a by its factors L (unit lower) and U,
// A = L·U, without exchanging rows. It returns 0, or the number (from 1) of
// the first pivot that is zero or NaN; a is then destroyed.
func GetrfNoPiv[T Float](r Routines[T], m, n int, a []T, lda int) int {
	checkMatrix("A", m, n, lda, len(a))
	return getrf(r, m, n, a, lda)
}

func getrf[T Float](r Routines[T], m, n int, a []T, lda int) int {
	k := min(m, n)
	if k <= smallest {
		return getrfSmall(m, n, a, lda)
	}
	h := k / 2
	if bad := getrf(r, m, h, a, lda); bad > 0 { // the left panel, all rows
		return bad
	}
	a12, a21, a22 := a[h:], a[h*lda:], a[h*lda+h:]
	r.Trsm(Left, Lower, NoTrans, Unit, h, n-h, 1, a, lda, a12, lda)
	r.Gemm(NoTrans, NoTrans, m-h, n-h, h, -1, a21, lda, a12, lda, 1, a22, lda)
	if bad := getrf(r, m-h, n-h, a22, lda); bad > 0 {
		return h + bad
	}
	return 0
}

func getrfSmall[T Float](m, n int, a []T, lda int) int {
	for k := range min(m, n) {
		rk := a[k*lda:][:n]
		p := rk[k]
		if p == 0 || p != p {
			return k + 1
		}
		for i := k + 1; i < m; i++ {
			ri := a[i*lda:][:n]
			f := ri[k] / p
			ri[k] = f
			for j := k + 1; j < n; j++ {
				ri[j] -= f * rk[j]
			}
		}
	}
	return 0
}

// GetrsNoPiv solves A·X = B in place of the n×cols matrix b, given the factors
// that GetrfNoPiv left in the n×n matrix a.
func GetrsNoPiv[T Float](r Routines[T], n, cols int, a []T, lda int, b []T, ldb int) {
	r.Trsm(Left, Lower, NoTrans, Unit, n, cols, 1, a, lda, b, ldb)
	r.Trsm(Left, Upper, NoTrans, NonUnit, n, cols, 1, a, lda, b, ldb)
}
