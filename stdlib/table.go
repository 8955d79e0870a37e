package stdlib

// The table of codelets: one line declares one. Scalars are in the order in
// which the kernels take them.

import (
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

var floatElems = []iface.Elem{iface.F32, iface.F64}

// Documentation of the letters of BLAS, for codelets that take them.
const (
	sideDoc  = ` side = "l" has A on the left, "r" on the right.`
	uploDoc  = ` uplo = "l" is the lower triangle, "u" the upper.`
	transDoc = ` op(A) is A for ta = "n", transposed(A) for "t", its conjugate for "c".`
	tbDoc    = ` op(B) likewise, by tb.`
	diagDoc  = ` diag = "u" takes the diagonal for ones.`
)

const seedDoc = " One seed serves all parts of a datum: which numbers a part gets depends on its place."

var table = []module{
	{name: "std/blas", doc: "Dense linear algebra with the meaning of BLAS and LAPACK, row-major.", codelets: []entry{
		{
			signature: "fill(x: W dense[T], value: T)",
			doc:       "x = value, for every element of a vector or matrix.",
			elems:     iface.Elems,
			kernel: orBool(0, orHalves(0, orComplex(byElem{fill[int8], fill[int16], fill[int32], fill[int64],
				fill[uint8], fill[uint16], fill[uint32], fill[uint64], fill[float32], fill[float64]}.on(0), fillAs[complex64], fillAs[complex128]), fillAs[iface.Float16], fillAs[iface.BFloat16]), fillAs[bool]),
		},
		{
			signature: "copy(x: R dense[T], y: W dense[T])",
			doc:       "y = x, for two vectors or two matrices of one size.",
			elems:     iface.Elems, shape: sameSizes,
			kernel: bySize(copyElems[uint8], copyElems[uint16], copyElems[uint32], copyElems[uint64], copyElems[complex128]),
		},
		{
			signature: "swap(x: RW dense[T], y: RW dense[T])",
			doc:       "Exchanges the contents of two vectors or two matrices of one size.",
			elems:     iface.Elems, shape: sameSizes,
			kernel: bySize(swapElems[uint8], swapElems[uint16], swapElems[uint32], swapElems[uint64], swapElems[complex128]),
		},
		{
			signature: "scal(alpha: T, x: RW dense[T])",
			doc:       "x = alpha * x.",
			elems:     updateElems,
			kernel: orHalves(0, floatsOrComplex(scal[float32], scal[float64], scalComplex[complex64], scalComplex[complex128]),
				scalHalf(iface.ToFloat16), scalHalf(iface.ToBFloat16)),
			flops: func(s shapes) float64 { return float64(s.ops[0].Len()) },
		},
		{
			signature: "axpy(alpha: T, x: R dense[T], y: RW dense[T])",
			doc:       "y = alpha * x + y.",
			fold:      "sum",
			elems:     updateElems, shape: sameSizes,
			kernel: orHalves(0, floatsOrComplex(axpy[float32], axpy[float64], axpyComplex[complex64], axpyComplex[complex128]),
				axpyHalf(iface.ToFloat16), axpyHalf(iface.ToBFloat16)),
			flops: func(s shapes) float64 { return 2 * float64(s.ops[0].Len()) },
		},
		{
			signature: "dot(x: R vector[T], y: R vector[T], acc: RW variable[T])",
			doc:       "acc = acc + the sum of x[i] * y[i]; takes REDUX. dotc takes the conjugate of x.",
			fold:      "sum",
			elems:     numberElems, shape: sameSizes, kernel: floatsOrComplex(dot[float32], dot[float64], dotu[complex64], dotu[complex128]),
			flops: func(s shapes) float64 { return 2 * float64(s.ops[0].Len()) },
		},
		{
			signature: "dotc(x: R vector[T], y: R vector[T], acc: RW variable[T])",
			doc:       "acc = acc + the sum of conj(x[i]) * y[i]; takes REDUX.",
			fold:      "sum",
			elems:     complexElems, shape: sameSizes, kernel: complexOnly(dotc[complex64], dotc[complex128]),
			flops: func(s shapes) float64 { return 2 * float64(s.ops[0].Len()) },
		},
		{
			signature: "asum(x: R vector[T], acc: RW variable[T])",
			doc:       "acc = acc + the sum of abs(x[i]); takes REDUX.",
			fold:      "sum",
			elems:     floatElems, kernel: floats(asum[float32], asum[float64]),
			flops: func(s shapes) float64 { return float64(s.ops[0].Len()) },
		},
		{
			signature: "nrm2sq(x: R vector[T], acc: RW variable[T])",
			doc:       "acc = acc + the sum of abs(x[i]) ** 2; takes REDUX.",
			fold:      "sum",
			elems:     numberElems, kernel: floatsOrComplex(nrm2sq[float32], nrm2sq[float64], nrm2sqComplex[complex64], nrm2sqComplex[complex128]),
			flops: func(s shapes) float64 { return 2 * float64(s.ops[0].Len()) },
		},
		{
			signature: "nrm2(x: R vector[T], out: W variable[T])",
			doc:       "out = the Euclidean norm of x, without overflow in between.",
			elems:     numberElems, kernel: floatsOrComplex(nrm2[float32], nrm2[float64], nrm2Complex[complex64], nrm2Complex[complex128]),
			flops:  func(s shapes) float64 { return 2 * float64(s.ops[0].Len()) },
			bodies: bodiesOf(blasBodies, "nrm2"),
		},
		{
			signature: "iamax(x: R vector[T], out: W variable[i64])",
			doc:       "out = the place in the root datum of the first element with the largest abs(x[i]); a NaN is the largest. In a root matrix places are counted row by row.",
			elems:     floatElems, shape: notEmpty, kernel: floats(iamax[float32], iamax[float64]),
			bodies: numberedBodies(blasBodies, "iamax"),
		},
		{
			signature: "gemv(A: R matrix[T], x: R vector[T], y: RW vector[T], alpha: T = 1, beta: T = 1, ta: string = \"n\")",
			doc:       "y = alpha * op(A) * x + beta * y." + transDoc,
			fold:      "sum",
			elems:     numberElems, shape: gemvShape, kernel: floatsOrComplex(gemv[float32], gemv[float64], gemvComplex[complex64], gemvComplex[complex128]),
			flops: func(s shapes) float64 { return 2 * float64(s.ops[0].Len()) },
		},
		{
			signature: "ger(x: R vector[T], y: R vector[T], A: RW matrix[T], alpha: T = 1)",
			doc:       "A = alpha * x * transposed(y) + A.",
			fold:      "sum",
			elems:     floatElems, shape: gerShape, kernel: floats(ger[float32], ger[float64]),
			flops: func(s shapes) float64 { return 2 * float64(s.ops[2].Len()) },
		},
		{
			signature: "trsv(A: R matrix[T], x: RW vector[T], uplo: string = \"l\", ta: string = \"n\", diag: string = \"n\")",
			doc:       "Solves op(A) * x = b for a triangular A; x holds b before." + uploDoc + transDoc + diagDoc,
			elems:     numberElems, shape: trsvShape, kernel: floatsOrComplex(trsv[float32], trsv[float64], trsvComplex[complex64], trsvComplex[complex128]),
			flops: func(s shapes) float64 { return float64(s.ops[0].Len()) },
		},
		{
			signature: "gemm(A: R matrix[T], B: R matrix[T], C: RW matrix[T], alpha: T = 1, beta: T = 1, ta: string = \"n\", tb: string = \"n\")",
			doc:       "C = alpha * op(A) * op(B) + beta * C." + transDoc + tbDoc,
			fold:      "sum",
			elems:     numberElems, shape: gemmShape, kernel: floatsOrComplex(gemm[float32], gemm[float64], gemmComplex[complex64], gemmComplex[complex128]),
			flops: func(s shapes) float64 {
				_, inner := s.turned(ta)
				return 2 * float64(s.ops[2].Len()) * float64(s.ops[0].Dim[inner])
			},
		},
		{
			signature: "contract(A: R any[T], B: R any[T], C: RW any[T], spec: string, alpha: T = 1, beta: T = 1)",
			doc:       "C = alpha * the sum of products of elements of A and B + beta * C, by a specification of the indices: \"ijk,kl->ijl\" sums over k.",
			fold:      "sum",
			elems:     numberElems, shape: contractShape, flops: contractFlops,
			kernel: floatsOrComplex(contractReal[float32], contractReal[float64], contractComplex[complex64], contractComplex[complex128]),
		},
		{
			signature: "symm(A: R matrix[T], B: R matrix[T], C: RW matrix[T], alpha: T = 1, beta: T = 1, side: string = \"l\", uplo: string = \"l\")",
			doc:       "C = alpha * A * B + beta * C, or B * A, for a symmetric A; only one of its triangles is read." + sideDoc + uploDoc,
			fold:      "sum",
			elems:     floatElems, shape: symmShape, kernel: floats(symm[float32], symm[float64]),
			flops: func(s shapes) float64 { return 2 * float64(s.ops[2].Len()) * float64(s.ops[0].Dim[0]) },
		},
		{
			signature: "syrk(A: R matrix[T], C: RW matrix[T], alpha: T = 1, beta: T = 1, uplo: string = \"l\", ta: string = \"n\")",
			doc:       "C = alpha * op(A) * transposed(op(A)) + beta * C, one triangle of C." + uploDoc + transDoc,
			fold:      "sum",
			elems:     floatElems, shape: syrkShape, kernel: floats(syrk[float32], syrk[float64]),
			flops: func(s shapes) float64 { return float64(s.ops[0].Len()) * float64(s.ops[1].Dim[0]+1) },
		},
		{
			signature: "herk(A: R matrix[T], C: RW matrix[T], alpha: float = 1.0, beta: float = 1.0, uplo: string = \"l\", ta: string = \"n\")",
			doc:       "C = alpha * A * conjugate transposed(A) + beta * C for a Hermitian C, one triangle of it; ta = \"c\" takes A conjugate transposed." + uploDoc,
			fold:      "sum",
			elems:     complexElems, shape: herkShape, kernel: complexOnly(herk[complex64], herk[complex128]),
			flops: func(s shapes) float64 { return float64(s.ops[0].Len()) * float64(s.ops[1].Dim[0]+1) },
		},
		{
			signature: "trmm(A: R matrix[T], B: RW matrix[T], alpha: T = 1, side: string = \"l\", uplo: string = \"l\", ta: string = \"n\", diag: string = \"n\")",
			doc:       "B = alpha * op(A) * B, or B * op(A), for a triangular A." + sideDoc + uploDoc + transDoc + diagDoc,
			elems:     floatElems, shape: sideShape, kernel: floats(trmm[float32], trmm[float64]),
			flops: func(s shapes) float64 { return float64(s.ops[1].Len()) * float64(s.ops[0].Dim[0]) },
		},
		{
			signature: "trsm(A: R matrix[T], B: RW matrix[T], alpha: T = 1, side: string = \"l\", uplo: string = \"l\", ta: string = \"n\", diag: string = \"n\")",
			doc:       "Solves op(A) * X = alpha * B, or X * op(A), for a triangular A; X replaces B." + sideDoc + uploDoc + transDoc + diagDoc,
			elems:     numberElems, shape: sideShape, kernel: floatsOrComplex(trsm[float32], trsm[float64], trsmComplex[complex64], trsmComplex[complex128]),
			flops: func(s shapes) float64 { return float64(s.ops[1].Len()) * float64(s.ops[0].Dim[0]) },
		},
		{
			signature: "potrf(A: RW matrix[T], uplo: string = \"l\")",
			doc:       "Cholesky factorisation of a positive definite A, symmetric or Hermitian: L * op(L), or op(U) * U, in one triangle; op is the conjugate transposed." + uploDoc,
			elems:     numberElems, shape: potrfShape, kernel: floatsOrComplex(potrf[float32], potrf[float64], potrfComplex[complex64], potrfComplex[complex128]),
			flops: func(s shapes) float64 { n := float64(s.ops[0].Dim[0]); return n * n * n / 3 },
		},
		{
			signature: "getrf_nopiv(A: RW matrix[T])",
			doc:       "LU factorisation without exchanging rows: L with a unit diagonal below, U on and above the diagonal.",
			elems:     floatElems, kernel: floats(getrfNoPiv[float32], getrfNoPiv[float64]),
			flops: func(s shapes) float64 {
				m, n := float64(s.ops[0].Dim[0]), float64(s.ops[0].Dim[1])
				k := min(m, n)
				return 2 * (m*n*k - (m+n)*k*k/2 + k*k*k/3)
			},
		},
		{
			signature: "getrs_nopiv(A: R matrix[T], B: RW matrix[T])",
			doc:       "Solves A * X = B with the factors that getrf_nopiv left in A; X replaces B.",
			elems:     floatElems, shape: getrsShape, kernel: floats(getrsNoPiv[float32], getrsNoPiv[float64]),
			flops: func(s shapes) float64 { return 2 * float64(s.ops[1].Len()) * float64(s.ops[0].Dim[0]) },
		},
		{
			signature: "transpose(A: R matrix[T], B: W matrix[T])",
			doc:       "B = transposed(A).",
			elems:     iface.Elems, shape: transposeShape,
			kernel: bySize(transpose[uint8], transpose[uint16], transpose[uint32], transpose[uint64], transpose[complex128]),
		},
	}},
	{name: "std/reduce", doc: "Numbers about vectors and matrices, added to what is there, so that they take REDUX.", codelets: []entry{
		{
			signature: "sum(x: R dense[T], acc: RW variable[T])",
			doc:       "acc = acc + the sum of all elements; integers wrap.",
			fold:      "sum",
			kernel: byElem{addUp[int8, int8], addUp[int16, int16], addUp[int32, int32], addUp[int64, int64], addUp[uint8, uint8],
				addUp[uint16, uint16], addUp[uint32, uint32], addUp[uint64, uint64], addUp[float32, float64], addUp[float64, float64]}.on(0),
			bodies: bodiesOf(reduceBodies, "sum_floats", "sum_integers", "sum_float_matrix", "sum_integer_matrix"),
		},
		{
			signature: "prod(x: R dense[T], acc: RW variable[T])",
			doc:       "acc = acc * the product of all elements; integers wrap.",
			fold:      "prod",
			kernel: byElem{multiply[int8, int8], multiply[int16, int16], multiply[int32, int32], multiply[int64, int64], multiply[uint8, uint8],
				multiply[uint16, uint16], multiply[uint32, uint32], multiply[uint64, uint64], multiply[float32, float64], multiply[float64, float64]}.on(0),
			bodies: bodiesOf(reduceBodies, "prod_floats", "prod_integers", "prod_float_matrix", "prod_integer_matrix"),
		},
		{
			signature: "min(x: R dense[T], acc: RW variable[T])",
			doc:       "acc = the smallest of acc and all elements; a NaN wins.",
			fold:      "min",
			kernel: byElem{smallest[int8], smallest[int16], smallest[int32], smallest[int64],
				smallest[uint8], smallest[uint16], smallest[uint32], smallest[uint64], smallest[float32], smallest[float64]}.on(0),
			bodies: bodiesOf(reduceBodies, "min_vector", "min_matrix"),
		},
		{
			signature: "max(x: R dense[T], acc: RW variable[T])",
			doc:       "acc = the largest of acc and all elements; a NaN wins.",
			fold:      "max",
			kernel: byElem{largest[int8], largest[int16], largest[int32], largest[int64],
				largest[uint8], largest[uint16], largest[uint32], largest[uint64], largest[float32], largest[float64]}.on(0),
			bodies: bodiesOf(reduceBodies, "max_vector", "max_matrix"),
		},
		{
			signature: "count(x: R dense[T], value: T, acc: RW variable[U])",
			doc:       "acc = acc + the number of elements equal to value.",
			fold:      "sum",
			kernel: byElem{count[int8], count[int16], count[int32], count[int64],
				count[uint8], count[uint16], count[uint32], count[uint64], count[float32], count[float64]}.on(0),
			bodies: bodiesOf(reduceBodies, "count_vector", "count_matrix"),
		},
		{
			signature: "histogram(x: R dense[T], lo: float, hi: float, bins: RW vector[U])",
			doc:       "Adds the number of elements with lo <= x < hi to equal bins: bin i of n begins at lo + (hi - lo) * i / n. Elements are compared as f64.",
			fold:      "sum",
			shape:     histogramShape,
			kernel: byElem{histogram[int8], histogram[int16], histogram[int32], histogram[int64],
				histogram[uint8], histogram[uint16], histogram[uint32], histogram[uint64], histogram[float32], histogram[float64]}.on(0),
		},
		{
			signature: "argmax(x: R dense[T], out: W variable[i64])",
			doc:       "out = the place in the root datum of the first of the largest elements; a NaN is the largest. In a root matrix places are counted row by row.",
			shape:     notEmpty,
			kernel: byElem{argmax[int8], argmax[int16], argmax[int32], argmax[int64],
				argmax[uint8], argmax[uint16], argmax[uint32], argmax[uint64], argmax[float32], argmax[float64]}.on(0),
			bodies: numberedBodies(reduceBodies, "argmax_vector", "argmax_matrix"),
		},
	}},
	{name: "std/sparse", doc: "Linear algebra with sparse matrices in compressed rows.", codelets: []entry{
		{
			signature: "spmv(A: R csr[T], x: R vector[T], y: RW vector[T], alpha: T = 1, beta: T = 1)",
			doc:       "y = alpha * A * x + beta * y; with beta = 0, y is not read.",
			fold:      "sum",
			elems:     floatElems, shape: spmvShape, kernel: floatsIn(2, spmv[float32], spmv[float64]),
			bodies: &engine.Bodies{CPU: true, Source: sparseBodies, Names: []string{"spmv"}},
			flops:  func(s shapes) float64 { return 2 * float64(s.ops[2].Len()) },
		},
		{
			signature: "spmm(A: R csr[T], B: R matrix[T], C: RW matrix[T], alpha: T = 1, beta: T = 1)",
			doc:       "C = alpha * A * B + beta * C, with dense B and C; with beta = 0, C is not read.",
			fold:      "sum",
			elems:     floatElems, shape: spmmShape, kernel: floatsIn(2, spmm[float32], spmm[float64]),
			flops: func(s shapes) float64 { return 2 * float64(s.ops[2].Len()) * float64(s.ops[4].Dim[1]) },
		},
		{
			signature: "trsv(A: R csr[T], x: RW vector[T], uplo: string = \"l\", diag: string = \"n\")",
			doc:       "Solves A * x = b for one triangle of A; x holds b before. The other triangle is not read." + uploDoc + diagDoc,
			elems:     floatElems, shape: sparseTrsvShape, kernel: floatsIn(2, sparseTrsv[float32], sparseTrsv[float64]),
			flops: func(s shapes) float64 { return 2 * float64(s.ops[2].Len()) },
		},
		{
			signature: "levels(A: R csr[T], order: W vector[i32], start: W vector[i32], count: W variable[i64], uplo: string = \"l\")",
			doc: "Levels of the rows for a solve with one triangle of A: a row depends on rows of lower levels only. order has the rows level by level, " +
				"start where each level begins in it, with A.rows behind the last, and count is the number of levels." + uploDoc,
			elems: floatElems, shape: levelsShape, kernel: floatsIn(2, levels[float32], levels[float64]),
		},
		{
			signature: "trsv_level(A: R csr[T], rows: R vector[i32], x: RW vector[T], uplo: string = \"l\", diag: string = \"n\")",
			doc:       "The part of trsv that solves the rows of one level, or of several in the order of levels." + uploDoc + diagDoc,
			elems:     floatElems, shape: trsvLevelShape, kernel: floatsIn(2, trsvLevel[float32], trsvLevel[float64]),
			flops: func(s shapes) float64 { return 2 * float64(s.ops[3].Len()) },
		},
		{
			signature: "add(A: R csr[T], B: R csr[T], C: W csr[T], alpha: T = 1, beta: T = 1)",
			doc:       "C = alpha * A + beta * B. C has at least their entries: register it with like = [A, B].",
			elems:     floatElems, shape: addSparseShape, kernel: floatsIn(2, addSparse[float32], addSparse[float64]),
			flops: func(s shapes) float64 { return 2 * float64(s.ops[2].Len()+s.ops[5].Len()) },
		},
		{
			signature: "transpose(A: R csr[T], B: W csr[T])",
			doc:       "B = transposed(A). Register B with transposed = A.",
			elems:     floatElems, shape: transposeSparseShape, kernel: floatsIn(2, transposeSparse[float32], transposeSparse[float64]),
		},
		{
			signature: "dense(A: R csr[T], M: W matrix[T])",
			doc:       "M = A, with zeros where A has no entry. The other way is register A = csr[T](dense = M).",
			elems:     floatElems, shape: denseOfShape, kernel: floatsIn(2, denseOf[float32], denseOf[float64]),
		},
		{
			signature: "diagonal(A: R csr[T], d: W vector[T])",
			doc:       "d = the diagonal of A, 0 where there is no entry.",
			elems:     floatElems, shape: diagonalShape, kernel: floatsIn(2, diagonal[float32], diagonal[float64]),
		},
		{
			signature: "scale(l: R vector[T], A: RW csr[T], r: R vector[T])",
			doc:       "Multiplies row i of A by l[i] and column j by r[j].",
			elems:     floatElems, shape: scaleSparseShape, kernel: floatsIn(0, scaleSparse[float32], scaleSparse[float64]),
			flops: func(s shapes) float64 { return 2 * float64(s.ops[3].Len()) },
		},
		{
			signature: "jacobi(A: R csr[T], b: R vector[T], x: R vector[T], y: W vector[T], omega: T = 1)",
			doc:       "y = x + omega * (b - A * x) / the diagonal of A: a step of the Jacobi method. A, b and y may be slabs of rows.",
			elems:     floatElems, shape: jacobiShape, kernel: floatsIn(2, jacobi[float32], jacobi[float64]),
			flops: func(s shapes) float64 { return 2 * float64(s.ops[2].Len()) },
		},
		{
			signature: "ilu0(A: RW csr[T])",
			doc:       "Incomplete LU factorisation that keeps the structure of A: L with a unit diagonal below, U on and above the diagonal. trsv solves with both.",
			elems:     floatElems, shape: ilu0Shape, kernel: floatsIn(2, ilu0[float32], ilu0[float64]),
		},
		{
			signature: "rcm(A: R csr[T], order: W vector[i32])",
			doc:       "order = the rows of A in the reverse order of Cuthill and McKee, by the structure of A and its transposed: few diagonals of the reordered matrix have entries.",
			elems:     floatElems, shape: rcmShape, kernel: floatsIn(2, rcm[float32], rcm[float64]),
		},
		{
			signature: "reorder(A: R csr[T], order: R vector[i32], B: W csr[T])",
			doc:       "B = A with its rows and columns in an order: row i of B is row order[i] of A. Register B with like = A, order = order.",
			elems:     floatElems, shape: reorderShape, kernel: floatsIn(2, reorder[float32], reorder[float64]),
		},
		{
			signature: "permute(x: R vector[T], order: R vector[i32], y: W vector[T])",
			doc:       "y[i] = x[order[i]].",
			elems:     floatElems, shape: permuteShape, kernel: floats(permute[float32], permute[float64]),
		},
		{
			signature: "unpermute(x: R vector[T], order: R vector[i32], y: W vector[T])",
			doc:       "y[order[i]] = x[i], which undoes permute.",
			elems:     floatElems, shape: permuteShape, kernel: floats(unpermute[float32], unpermute[float64]),
		},
	}},
	{name: "std/random", doc: "Random content that depends on the seed and on the place in the root datum, and not on how it was split.", codelets: []entry{
		{
			signature: "uniform(x: W dense[T], seed: int, lo: float = 0.0, hi: float = 1.0)",
			doc:       "x = random numbers, lo <= x < hi (lo when both are equal); Philox4x32-10." + seedDoc,
			elems:     floatElems, shape: uniformShape, kernel: floats(uniform32, uniform64),
		},
		{
			signature: "normal(x: W dense[T], seed: int, mean: float = 0.0, sd: float = 1.0)",
			doc:       "x = normally distributed random numbers; Philox4x32-10, Box-Muller." + seedDoc,
			elems:     floatElems, shape: normalShape, kernel: floats(normal[float32], normal[float64]),
			bodies: numberedBodies(randomBodies, "normal_vector", "normal_matrix"),
		},
	}},
}
