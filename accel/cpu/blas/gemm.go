package blas

// Products by blocks, where the library is quicker with small ones.

// Bounds of the products that are cut: OpenBLAS has kernels for AVX-512 that take
// operands of float64 where they lie, and uses them up to a work of 100³. Larger
// products are packed first, which takes longer than to call those kernels for blocks of
// 200 rows, 64 columns and 64 terms, as even as they go. In turn with the library's own
// way (0.3.21 on an AMD Zen 5, medians of the ratios of time), A·B and Aᵀ·B: 160 0.86 and
// 1.00, 192 0.80 and 0.94, 240 0.85 and 0.92, 320 0.86 and 0.90, 400 0.87 and 0.89; on an
// Intel with AVX-512, 128 0.83 and 0.77, 192 0.83 and 0.75. Tasks of 320, A·B, run 1.14 times
// as fast; 128 rows a block take 0.98 of the time of a product, and as tasks of 192
// 1.02. Blocks whose work is above 100³ lose: 320 by 64 by 64 1.15 and 1.13.
//
// Left to the library: A·Bᵀ (1.08 to 1.2), of which its kernel for small products is
// slow; A·B with rows a multiple of 1 KiB apart, which meet in the same cache lines when
// they are not packed (256 1.03, 512 1.3; Aᵀ·B of 256 0.94, and 0.98 in a matrix with rows
// 36 KiB apart); float32 (1.05 to 1.2).
const (
	leastCut         = 100*100*100 + 1
	leastSide        = 64
	mostSide         = 448
	cutM, cutN, cutK = 200, 64, 64
	meetingLd        = 128
)

// worthCutting reports whether a product is one of those.
func worthCutting(ta, tb Trans, m, n, k, lda, ldb, ldc int) bool {
	return tb == NoTrans && min(m, n, k) >= leastSide && max(m, n, k) <= mostSide && volume(m, n, k) >= leastCut &&
		(ta == Transposed || lda%meetingLd != 0 && ldb%meetingLd != 0 && ldc%meetingLd != 0)
}

// gemmByBlocks is Routines.Gemm as a sequence of products direct.
func gemmByBlocks[T Float](direct func(m, n, k int, a, b []T, beta T, c []T), ta, tb Trans, m, n, k int, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) {
	at := func(t Trans, x []T, i, j, ld int) []T { // element (i, j) of op(x) and what follows
		if t == Transposed {
			i, j = j, i
		}
		return x[i*ld+j:]
	}
	rows, cols, terms := even(m, cutM), even(n, cutN), even(k, cutK)
	for i := 0; i < m; i += rows {
		first := beta
		for p := 0; p < k; p += terms {
			for j := 0; j < n; j += cols {
				direct(min(rows, m-i), min(cols, n-j), min(terms, k-p), at(ta, a, i, p, lda), at(tb, b, p, j, ldb), first, c[i*ldc+j:])
			}
			first = 1
		}
	}
}

// even is the size of parts of n that are at most most, which is a multiple of 8, and as
// even as multiples of 8 can be.
func even(n, most int) int {
	parts := (n + most - 1) / most
	return ((n+parts-1)/parts + 7) &^ 7
}
