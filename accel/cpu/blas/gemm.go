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
// Whether a product is cut goes by its shape only, so that its bits do not depend on
// where its operands lie: a part of a matrix or a packed copy of that.
//
// Left to the library: A·Bᵀ (1.08 to 1.2), because its kernel for small products of that
// form is slow, and float32 (1.05 to 1.2).
const (
	leastCut         = 100*100*100 + 1
	leastSide        = 64
	mostSide         = 512
	cutM, cutN, cutK = 200, 64, 64
)

// meeting is what divides the distances of rows that meet in the same few lines of the
// first cache: 1 KiB. Where those of B do, its blocks are copied, 32 KiB each: A·B of 256
// 1.06 to 0.92, of 512 1.33 to 0.94, of 320 in rows 8 KiB apart 1.21 to 0.92; Aᵀ·B of 256 0.94 to
// 0.91, of 512 1.01 to 0.95. With others that costs 0.06.
const meeting = 128

// block is a copy of a block of B.
type block[T Float] [cutK * cutN]T

// worthCutting reports whether a product is one of those.
func worthCutting(tb Trans, m, n, k int) bool {
	return tb == NoTrans && min(m, n, k) >= leastSide && max(m, n, k) <= mostSide && m*n*k >= leastCut
}

// gemmByBlocks is Routines.Gemm for B as it is, as a sequence of products direct. own is
// for copies.
func gemmByBlocks[T Float](direct func(m, n, k int, a, b []T, ldb int, beta T, c []T), own *block[T], ta Trans, m, n, k int, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) {
	rows, cols, terms := even(m, cutM), even(n, cutN), even(k, cutK)
	for p := 0; p < k; p += terms {
		kp := min(terms, k-p)
		for j := 0; j < n; j += cols {
			nj := min(cols, n-j)
			right, ld := b[p*ldb+j:], ldb
			if ldb%meeting == 0 {
				for i := range kp {
					copy(own[i*nj:][:nj], right[i*ldb:])
				}
				right, ld = own[:], nj
			}
			for i := 0; i < m; i += rows {
				left := i*lda + p
				if ta == Transposed {
					left = p*lda + i
				}
				direct(min(rows, m-i), nj, kp, a[left:], right, ld, beta, c[i*ldc+j:])
			}
		}
		beta = 1
	}
}

// even is the size of parts of n that are at most most, which is a multiple of 8, and as
// even as multiples of 8 can be.
func even(n, most int) int {
	parts := (n + most - 1) / most
	return ((n+parts-1)/parts + 7) &^ 7
}
