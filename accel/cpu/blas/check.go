package blas

// Checks of arguments: what would make a C library read or write outside.

import "fmt"

func checkMatrix(name string, rows, cols, ld, length int) {
	switch {
	case rows < 0 || cols < 0:
		panic(fmt.Sprintf("blas: %s is %d x %d", name, rows, cols))
	case ld < max(1, cols):
		panic(fmt.Sprintf("blas: %s has %d columns and leading dimension %d", name, cols, ld))
	case rows > 0 && cols > 0 && (rows-1 > (length-cols)/ld || length < cols):
		panic(fmt.Sprintf("blas: %s is %d x %d with leading dimension %d, and has %d elements only", name, rows, cols, ld, length))
	}
}

func checkVector(name string, n, length int) {
	if n < 0 || n > length {
		panic(fmt.Sprintf("blas: %s needs %d elements and has %d", name, n, length))
	}
}

func checkSame(n, m int) {
	if n != m {
		panic(fmt.Sprintf("blas: vectors of %d and %d elements", n, m))
	}
}

// turned returns the sizes of the matrix that op takes to one of rows×cols.
func turned(t Trans, rows, cols int) (int, int) {
	if t != NoTrans {
		return cols, rows
	}
	return rows, cols
}

func order(s Side, m, n int) int {
	if s == Right {
		return n
	}
	return m
}

func checkGemv[T any](ta Trans, m, n int, a []T, lda int, x, y []T) {
	checkMatrix("A", m, n, lda, len(a))
	ny, nx := turned(ta, m, n)
	checkVector("x", nx, len(x))
	checkVector("y", ny, len(y))
}

func checkGer[T any](m, n int, x, y, a []T, lda int) {
	checkMatrix("A", m, n, lda, len(a))
	checkVector("x", m, len(x))
	checkVector("y", n, len(y))
}

func checkTrsv[T any](n int, a []T, lda int, x []T) {
	checkMatrix("A", n, n, lda, len(a))
	checkVector("x", n, len(x))
}

func checkGemm[T any](ta, tb Trans, m, n, k int, a []T, lda int, b []T, ldb int, c []T, ldc int) {
	r, s := turned(ta, m, k)
	checkMatrix("A", r, s, lda, len(a))
	r, s = turned(tb, k, n)
	checkMatrix("B", r, s, ldb, len(b))
	checkMatrix("C", m, n, ldc, len(c))
}

func checkSymm[T any](side Side, m, n int, a []T, lda int, b []T, ldb int, c []T, ldc int) {
	k := order(side, m, n)
	checkMatrix("A", k, k, lda, len(a))
	checkMatrix("B", m, n, ldb, len(b))
	checkMatrix("C", m, n, ldc, len(c))
}

func checkSyrk[T any](ta Trans, n, k int, a []T, lda int, c []T, ldc int) {
	r, s := turned(ta, n, k)
	checkMatrix("A", r, s, lda, len(a))
	checkMatrix("C", n, n, ldc, len(c))
}

func checkTriangle[T any](side Side, m, n int, a []T, lda int, b []T, ldb int) {
	k := order(side, m, n)
	checkMatrix("A", k, k, lda, len(a))
	checkMatrix("B", m, n, ldb, len(b))
}
