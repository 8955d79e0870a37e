package stdlib

// std/sparse: products, solves and scalings with sparse matrices in compressed rows. Operands are the arrays
// of a matrix, ptr, col and val; the scalar A.cols follows.

import (
	"fmt"
	"math"
	"sort"

	"github.com/starpush/starpush/accel/cpu/blas"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

// sparse is a sparse matrix, or a slab of the rows of one, as kernels want it.
type sparse[T blas.Float] struct {
	ptr  []int64 // counts from the first entry of the root matrix
	col  []int32
	val  []T
	rows int
	row0 int // the first row in the root matrix
}

// sparseOf returns the matrix whose arrays are operands i to i+2.
func sparseOf[T blas.Float](k operands, i int) sparse[T] {
	ptr := k.Buffer(i)
	m := sparse[T]{ptr: iface.Slice[int64](ptr), col: iface.Slice[int32](k.Buffer(i + 1)), val: iface.Slice[T](k.Buffer(i + 2)), row0: ptr.Off[0]}
	m.rows = len(m.ptr) - 1
	return m
}

// row returns the columns and values of the entries of row i.
func (m *sparse[T]) row(i int) ([]int32, []T) {
	lo, hi := m.span(i)
	return m.col[lo:hi], m.val[lo:hi]
}

// span returns the places of the entries of row i.
func (m *sparse[T]) span(i int) (lo, hi int) {
	return int(m.ptr[i] - m.ptr[0]), int(m.ptr[i+1] - m.ptr[0])
}

// at returns the place of the entry of row i in column j, and whether there is one.
func (m *sparse[T]) at(i, j int) (int, bool) {
	lo, hi := m.span(i)
	k := lo + sort.Search(hi-lo, func(k int) bool { return m.col[lo+k] >= int32(j) })
	return k, k < hi && m.col[k] == int32(j)
}

// floatsIn makes a kernel that decides by the elements of operand i.
func floatsIn(i int, f32, f64 kernel) kernel {
	return func(k operands) error {
		if k.Buffer(i).Elem == iface.F32 {
			return f32(k)
		}
		return f64(k)
	}
}

// spmv(A, x, y, alpha, beta)
func spmv[T blas.Float](k operands) error {
	a, x, y := sparseOf[T](k, 0), iface.Slice[T](k.Buffer(3)), iface.Slice[T](k.Buffer(4))
	alpha, beta := scalar[T](k.Arg(1)), scalar[T](k.Arg(2))
	for i := range a.rows {
		col, val := a.row(i)
		val = val[:len(col)]
		var s T
		for k, j := range col {
			s += T(val[k] * x[j])
		}
		y[i] = scaled(alpha, s, beta, y[i])
	}
	return nil
}

// scaled returns alpha*s + beta*y, without a look at y if beta is 0.
func scaled[T blas.Float](alpha, s, beta, y T) T {
	if beta == 0 {
		return alpha * s
	}
	return T(alpha*s) + T(beta*y)
}

// spmm(A, B, C, alpha, beta)
func spmm[T blas.Float](k operands) error {
	a, b, c := sparseOf[T](k, 0), k.Buffer(3), k.Buffer(4)
	alpha, beta := scalar[T](k.Arg(1)), scalar[T](k.Arg(2))
	sum := make([]T, c.Dim[1])
	for i := range a.rows {
		clear(sum)
		col, val := a.row(i)
		for k, j := range col {
			for q, x := range iface.Row[T](b, int(j)) {
				sum[q] += T(val[k] * x)
			}
		}
		row := iface.Row[T](c, i)
		for q, s := range sum {
			row[q] = scaled(alpha, s, beta, row[q])
		}
	}
	return nil
}

// triangle is how rows of a triangular system are solved.
type triangle[T blas.Float] struct {
	a           sparse[T]
	x           []T
	upper, unit bool
}

// solve makes x[i] the solution of row i, where those that it depends on are known.
func (t *triangle[T]) solve(i int) error {
	col, val := t.a.row(i)
	s, pivot := t.x[i], T(1)
	if !t.unit {
		pivot = 0
	}
	for k, j := range col {
		switch {
		case int(j) == i:
			if !t.unit {
				pivot = val[k]
			}
		case int(j) > i == t.upper:
			s -= T(val[k] * t.x[j])
		}
	}
	if pivot == 0 {
		return noPivot(&t.a, i)
	}
	t.x[i] = s / pivot
	return nil
}

// noPivot is the error of a diagonal entry that is zero or is not there.
func noPivot[T blas.Float](a *sparse[T], i int) error {
	if _, ok := a.at(i, a.row0+i); !ok {
		return fmt.Errorf("row %d has no entry on the diagonal", a.row0+i)
	}
	return fmt.Errorf("the entry of row %d on the diagonal is zero", a.row0+i)
}

// trsv(A, x, uplo, diag)
func sparseTrsv[T blas.Float](k operands) error {
	t := triangle[T]{sparseOf[T](k, 0), iface.Slice[T](k.Buffer(3)), k.Arg(1).Str() == "u", k.Arg(2).Str() == "u"}
	for i := range t.a.rows {
		if t.upper {
			i = t.a.rows - 1 - i
		}
		if err := t.solve(i); err != nil {
			return err
		}
	}
	return nil
}

// trsv_level(A, rows, x, uplo, diag)
func trsvLevel[T blas.Float](k operands) error {
	t := triangle[T]{sparseOf[T](k, 0), iface.Slice[T](k.Buffer(4)), k.Arg(1).Str() == "u", k.Arg(2).Str() == "u"}
	for _, i := range iface.Slice[int32](k.Buffer(3)) {
		if i < 0 || int(i) >= t.a.rows {
			return fmt.Errorf("`rows` has the number %d, and the matrix %d rows", i, t.a.rows)
		}
		if err := t.solve(int(i)); err != nil {
			return err
		}
	}
	return nil
}

// levels(A, order, start, count, uplo)
func levels[T blas.Float](k operands) error {
	a, order, start := sparseOf[T](k, 0), iface.Slice[int32](k.Buffer(3)), iface.Slice[int32](k.Buffer(4))
	upper, count := k.Arg(1).Str() == "u", int32(0)
	level := make([]int32, a.rows)
	for i := range a.rows {
		if upper {
			i = a.rows - 1 - i
		}
		col, _ := a.row(i)
		for _, j := range col {
			if int(j) != i && int(j) > i == upper {
				level[i] = max(level[i], level[j]+1)
			}
		}
		count = max(count, level[i]+1)
	}
	clear(start)
	for _, l := range level {
		start[l+1]++
	}
	for l := range a.rows {
		start[l+1] += start[l]
	}
	next := append([]int32(nil), start...)
	for i, l := range level {
		order[next[l]] = int32(i)
		next[l]++
	}
	*one[int64](k.Buffer(5)) = int64(count)
	return nil
}

// diagonal(A, d)
func diagonal[T blas.Float](k operands) error {
	a, d := sparseOf[T](k, 0), iface.Slice[T](k.Buffer(3))
	for i := range d {
		d[i] = 0
		if at, ok := a.at(i, a.row0+i); ok {
			d[i] = a.val[at]
		}
	}
	return nil
}

// scale(l, A, r)
func scaleSparse[T blas.Float](k operands) error {
	l, a, r := iface.Slice[T](k.Buffer(0)), sparseOf[T](k, 1), iface.Slice[T](k.Buffer(4))
	for i := range a.rows {
		col, val := a.row(i)
		for k, j := range col {
			val[k] = T(l[i]*val[k]) * r[j]
		}
	}
	return nil
}

// jacobi(A, b, x, y, omega)
func jacobi[T blas.Float](k operands) error {
	a, b, x, y := sparseOf[T](k, 0), iface.Slice[T](k.Buffer(3)), iface.Slice[T](k.Buffer(4)), iface.Slice[T](k.Buffer(5))
	omega := scalar[T](k.Arg(1))
	for i := range a.rows {
		own := a.row0 + i
		col, val := a.row(i)
		s, pivot := b[i], T(0)
		for k, j := range col {
			s -= T(val[k] * x[j])
			if int(j) == own {
				pivot = val[k]
			}
		}
		if pivot == 0 {
			return noPivot(&a, i)
		}
		y[i] = x[own] + T(omega*s)/pivot
	}
	return nil
}

// ilu0(A)
func ilu0[T blas.Float](k operands) error {
	a := sparseOf[T](k, 0)
	place := make([]int, a.rows) // of the entries of a row, by columns, plus 1
	diagonal := make([]int, a.rows)
	for i := range a.rows {
		lo, hi := a.span(i)
		for at := lo; at < hi; at++ {
			place[a.col[at]] = at + 1
		}
		for at := lo; at < hi && int(a.col[at]) < i; at++ {
			p := int(a.col[at])
			f := a.val[at] / a.val[diagonal[p]]
			a.val[at] = f
			_, end := a.span(p)
			for q := diagonal[p] + 1; q < end; q++ {
				if to := place[a.col[q]]; to > 0 {
					a.val[to-1] -= T(f * a.val[q])
				}
			}
		}
		at := place[i] - 1
		switch {
		case at < 0:
			return noPivot(&a, i)
		case a.val[at] == 0:
			return fmt.Errorf("pivot %d is zero: the matrix has no incomplete LU factors without exchanging rows", i+1)
		case math.IsNaN(float64(a.val[at])):
			return fmt.Errorf("pivot %d is not a number", i+1)
		}
		diagonal[i] = at
		for at := lo; at < hi; at++ {
			place[a.col[at]] = 0
		}
	}
	return nil
}

// The rules of std/sparse.

// extent is a size as the language writes it.
type extent struct {
	op   int
	text string
	n    int
}

func (s *shapes) sparseName(op int) string {
	name := s.e.ops[op].name
	return name[:len(name)-len(".ptr")]
}

// rows returns the number of rows of the sparse matrix that begins at operand op.
func (s *shapes) rows(op int) extent {
	return extent{op, s.sparseName(op) + ".rows", s.ops[op].Dim[0] - 1}
}

// cols returns its number of columns, which is an argument.
func (s *shapes) cols(op int) extent {
	text := s.sparseName(op) + ".cols"
	for i, name := range s.e.args {
		if name == text {
			return extent{op, text, int(s.args[i].Int())}
		}
	}
	return extent{op, text, -1}
}

// along returns the size of axis k of operand op.
func (s *shapes) along(op, k int) extent { return extent{op, s.axis(op, k), s.ops[op].Dim[k]} }

// equal demands that two sizes are equal.
func (s *shapes) equal(a, b extent) error {
	if a.n == b.n {
		return nil
	}
	e := &engine.ShapeError{Operands: []int{a.op, b.op}, Details: []string{fmt.Sprintf("%s is %d", a.text, a.n), fmt.Sprintf("%s is %d", b.text, b.n)},
		Message: fmt.Sprintf("the sizes of `%s` do not fit: %s is %d, and %s is %d", s.e.name, a.text, a.n, b.text, b.n),
		Help:    fmt.Sprintf("%s must equal %s", a.text, b.text)}
	if a.op == b.op {
		e.Operands, e.Details = e.Operands[:1], []string{fmt.Sprintf("%d x %d", a.n, b.n)}
		e.Message = fmt.Sprintf("`%s` of `%s` must be square, and has size %d x %d", s.sparseName(a.op), s.e.name, a.n, b.n)
	}
	return e
}

// arrays demands that the arrays of each sparse matrix fit together, which they always do in scripts.
func (s *shapes) arrays() error {
	for i := range s.e.ops {
		if s.e.ops[i].member == "ptr" && (s.ops[i].Dim[0] < 1 || s.ops[i+1].Dim[0] != s.ops[i+2].Dim[0]) {
			return &engine.ShapeError{Operands: []int{i, i + 1, i + 2}, Help: "`ptr` has an element more than the matrix has rows; `col` and `val` have one for each entry",
				Message: fmt.Sprintf("the arrays of `%s` do not fit: %d, %d and %d elements", s.sparseName(i), s.ops[i].Dim[0], s.ops[i+1].Dim[0], s.ops[i+2].Dim[0])}
		}
	}
	return nil
}

func spmvShape(s shapes) error {
	return first(s.arrays(), s.equal(s.cols(0), s.along(3, 0)), s.equal(s.rows(0), s.along(4, 0)))
}

func spmmShape(s shapes) error {
	return first(s.arrays(), s.equal(s.cols(0), s.along(3, 0)), s.equal(s.rows(0), s.along(4, 0)), s.equal(s.along(3, 1), s.along(4, 1)))
}

func (s *shapes) squareSparse(op int) error {
	return first(s.arrays(), s.equal(s.rows(op), s.cols(op)))
}

func sparseTrsvShape(s shapes) error {
	return first(s.flags(), s.squareSparse(0), s.equal(s.rows(0), s.along(3, 0)))
}

func trsvLevelShape(s shapes) error {
	return first(s.flags(), s.squareSparse(0), s.equal(s.rows(0), s.along(4, 0)))
}

func levelsShape(s shapes) error {
	if err := first(s.flags(), s.squareSparse(0), s.equal(s.rows(0), s.along(3, 0))); err != nil {
		return err
	}
	rows := s.rows(0)
	rows.n, rows.text = rows.n+1, rows.text+" + 1"
	return s.equal(rows, s.along(4, 0))
}

func diagonalShape(s shapes) error {
	return first(s.arrays(), s.equal(s.rows(0), s.along(3, 0)))
}

func scaleSparseShape(s shapes) error {
	return first(s.arrays(), s.equal(s.along(0, 0), s.rows(1)), s.equal(s.cols(1), s.along(4, 0)))
}

func jacobiShape(s shapes) error {
	if err := first(s.arrays(), s.equal(s.rows(0), s.along(3, 0)), s.equal(s.cols(0), s.along(4, 0)), s.equal(s.rows(0), s.along(5, 0))); err != nil {
		return err
	}
	if last := s.ops[0].Off[0] + s.rows(0).n; last > s.cols(0).n {
		return &engine.ShapeError{Operands: []int{0}, Details: []string{fmt.Sprintf("rows to %d, %d columns", last, s.cols(0).n)},
			Message: fmt.Sprintf("`%s` needs rows of a square matrix", s.e.name)}
	}
	return nil
}

func ilu0Shape(s shapes) error { return s.squareSparse(0) }
