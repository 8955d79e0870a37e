package blas

// Products by blocks, where the library is quicker with small ones.

// Bounds of the products that are cut: OpenBLAS has kernels for AVX-512 that take
// operands of float64 where they lie, and uses them up to a work of 100³. Larger
// products are packed first, which pays from 256 on. In turn with the library's own way
// (0.3.21, contiguous operands, Aᵀ·B, median of the ratios of time): 128 0.77, 192
// 0.75, 256 1.29, 320 1.32; A·B: 128 0.83, 192 0.83, 256 1.50. With blocks of 96 0.77,
// 0.79 and 1.11. Rows far apart do not gain, and float32 loses (1.19 to 1.58 of 320).
const (
	leastCut = 100*100*100 + 1
	mostCut  = 200 * 200 * 200
	mostLd   = 256
	cut      = 64
)

// gemmByBlocks is Routines.Gemm as a sequence of products direct with at most cut
// columns and cut terms.
func gemmByBlocks[T Float](direct func(m, n, k int, a, b []T, beta T, c []T), ta, tb Trans, m, n, k int, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) {
	at := func(t Trans, x []T, i, j, ld int) []T { // element (i, j) of op(x) and what follows
		if t == Transposed {
			i, j = j, i
		}
		return x[i*ld+j:]
	}
	for p := 0; p < k; p += cut {
		for j := 0; j < n; j += cut {
			direct(m, min(cut, n-j), min(cut, k-p), at(ta, a, 0, p, lda), at(tb, b, p, j, ldb), beta, c[j:])
		}
		beta = 1
	}
}
