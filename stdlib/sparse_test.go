package stdlib

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/starpush/starpush/datamgr/iface"
)

// plainSparse is a sparse matrix for tests, with the dense matrix of the same elements.
type plainSparse[T float32 | float64] struct {
	rows, cols int
	ptr        []int64
	col        []int32
	val        []T
}

// randomSparse returns a matrix with entries where has says so.
func randomSparse[T float32 | float64](r *rand.Rand, rows, cols int, has func(i, j int) bool) *plainSparse[T] {
	m := &plainSparse[T]{rows: rows, cols: cols, ptr: []int64{0}}
	for i := range rows {
		for j := range cols {
			if has(i, j) {
				m.col, m.val = append(m.col, int32(j)), append(m.val, T(r.IntN(15)-7))
			}
		}
		m.ptr = append(m.ptr, int64(len(m.col)))
	}
	return m
}

func (m *plainSparse[T]) bufs() []*iface.Buffer { return bufs(vec(m.ptr), vec(m.col), vec(m.val)) }

// slab returns the arrays of the rows from lo to hi.
func (m *plainSparse[T]) slab(lo, hi int) []*iface.Buffer {
	b := bufs(vec(m.ptr[lo:hi+1]), vec(m.col[m.ptr[lo]:m.ptr[hi]]), vec(m.val[m.ptr[lo]:m.ptr[hi]]))
	b[0].Off[0] = lo
	return b
}

func (m *plainSparse[T]) at(i, j int) T {
	for k := m.ptr[i]; k < m.ptr[i+1]; k++ {
		if int(m.col[k]) == j {
			return m.val[k]
		}
	}
	return 0
}

// like returns a matrix with the entries that has says, and no values.
func (m *plainSparse[T]) like(rows, cols int, has func(i, j int) bool) *plainSparse[T] {
	out := randomSparse[T](rand.New(rand.NewPCG(0, 0)), rows, cols, has)
	for k := range out.val {
		out.val[k] = 77
	}
	return out
}

func (m *plainSparse[T]) has(i, j int) bool {
	return slices.Contains(m.col[m.ptr[i]:m.ptr[i+1]], int32(j))
}

func numbers[T float32 | float64](r *rand.Rand, n int) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = T(r.IntN(9) - 4)
	}
	return out
}

func TestSparse(t *testing.T) {
	for seed := range uint64(20) {
		sparseCase[float32](t, seed)
		sparseCase[float64](t, seed)
	}
}

// sparseCase holds codelets against loops over all elements, in small whole numbers, whose sums are exact.
func sparseCase[T float32 | float64](t *testing.T, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	run := func(name string, b []*iface.Buffer, args ...iface.Scalar) {
		t.Helper()
		must(t, "std/sparse", name, b, args...)
	}
	same := func(what string, got, want []T) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d, %s: %v, want %v", seed, what, got, want)
		}
	}
	rows, cols := 1+r.IntN(12), 1+r.IntN(12)
	some := func(share int) func(i, j int) bool { return func(i, j int) bool { return r.IntN(10) < share } }
	a, b := randomSparse[T](r, rows, cols, some(4)), randomSparse[T](r, rows, cols, some(3))
	lo := r.IntN(rows)

	x, y := numbers[T](r, cols), numbers[T](r, rows)
	want := make([]T, rows)
	for i := range want {
		for j, v := range x {
			want[i] += 2 * a.at(i, j) * v
		}
		want[i] -= 3 * y[i]
	}
	run("spmv", append(a.slab(0, lo), vec(x), vec(y[:lo])), whole(int64(cols)), num(2), num(-3))
	run("spmv", append(a.slab(lo, rows), vec(x), vec(y[lo:])), whole(int64(cols)), num(2), num(-3))
	same("spmv", y, want)
	y[0] = T(math.NaN())
	run("spmv", append(a.bufs(), vec(make([]T, cols)), vec(y)), whole(int64(cols)), num(1), num(0))
	same("spmv without y", y, make([]T, rows))

	B, C := numbers[T](r, cols*3), numbers[T](r, rows*3)
	want = slices.Clone(C)
	for i := range rows {
		for q := range 3 {
			want[i*3+q] *= -1
			for j := range cols {
				want[i*3+q] += a.at(i, j) * B[j*3+q]
			}
		}
	}
	run("spmm", append(a.bufs(), dense(cols, 3, 3, B), dense(rows, 3, 3, C)), whole(int64(cols)), num(1), num(-1))
	same("spmm", C, want)

	full := make([]T, rows*cols)
	want = make([]T, rows*cols)
	both := a.like(rows, cols, func(i, j int) bool { return a.has(i, j) || b.has(i, j) || r.IntN(5) == 0 })
	n := whole(int64(cols))
	run("add", slices.Concat(a.bufs(), b.bufs(), both.bufs()), n, n, n, num(2), num(-1))
	run("dense", append(both.bufs(), dense(rows, cols, cols, full)), n)
	for i := range rows {
		for j := range cols {
			want[i*cols+j] = 2*a.at(i, j) - b.at(i, j)
		}
	}
	same("add", full, want)

	turned := a.like(cols, rows, func(i, j int) bool { return a.has(j, i) })
	run("transpose", append(a.bufs(), turned.bufs()...), n, whole(int64(rows)))
	for i := range rows {
		for j := range cols {
			if turned.at(j, i) != a.at(i, j) {
				t.Fatalf("seed %d: transposed element %d, %d is %v, want %v", seed, j, i, turned.at(j, i), a.at(i, j))
			}
		}
	}

	left, right := numbers[T](r, rows), numbers[T](r, cols)
	scaled := *a
	scaled.val = slices.Clone(a.val)
	run("scale", append(append(bufs(vec(left)), scaled.bufs()...), vec(right)), n)
	for i := range rows {
		for j := range cols {
			if scaled.at(i, j) != left[i]*a.at(i, j)*right[j] {
				t.Fatalf("seed %d: scaled element %d, %d is %v", seed, i, j, scaled.at(i, j))
			}
		}
	}
	squareCase[T](t, r, rows)
}

// squareCase is sparseCase for square matrices whose diagonal is 1 or -1.
func squareCase[T float32 | float64](t *testing.T, r *rand.Rand, n int) {
	t.Helper()
	run := func(name string, b []*iface.Buffer, args ...iface.Scalar) {
		t.Helper()
		must(t, "std/sparse", name, b, args...)
	}
	a := randomSparse[T](r, n, n, func(i, j int) bool { return i == j || r.IntN(10) < 3 })
	d := make([]T, n)
	for i := range n {
		for k := a.ptr[i]; k < a.ptr[i+1]; k++ {
			if int(a.col[k]) == i {
				a.val[k] = T(1 - 2*(i%2))
			}
		}
	}
	cols, lo := whole(int64(n)), r.IntN(n)
	run("diagonal", append(a.slab(lo, n), vec(d[lo:])), cols)
	run("diagonal", append(a.slab(0, lo), vec(d[:lo])), cols)
	for i, v := range d {
		if v != a.at(i, i) {
			t.Fatalf("diagonal %v", d)
		}
	}

	for _, uplo := range []string{"l", "u"} {
		for _, diag := range []string{"n", "u"} {
			part := func(i, j int) T {
				switch {
				case i == j && diag == "u":
					return 1
				case i == j || j > i == (uplo == "u"):
					return a.at(i, j)
				}
				return 0
			}
			x := numbers[T](r, n)
			b := make([]T, n)
			for i := range n {
				for j := range n {
					b[i] += part(i, j) * x[j]
				}
			}
			got, byLevel := slices.Clone(b), slices.Clone(b)
			run("trsv", append(a.bufs(), vec(got)), cols, str(uplo), str(diag))
			if !slices.Equal(got, x) {
				t.Fatalf("trsv %s %s: %v, want %v", uplo, diag, got, x)
			}
			order, start, count := make([]int32, n), make([]int32, n+1), int64(0)
			run("levels", append(a.bufs(), vec(order), vec(start), variable(&count)), cols, str(uplo))
			for l := range count {
				rows := order[start[l]:start[l+1]]
				if len(rows) == 0 {
					t.Fatalf("level %d of %d is empty", l, count)
				}
				for _, i := range rows {
					for _, j := range rows {
						if i != j && a.has(int(i), int(j)) && j > i == (uplo == "u") {
							t.Fatalf("row %d depends on row %d of its level", i, j)
						}
					}
				}
				run("trsv_level", append(a.bufs(), vec(rows), vec(byLevel)), cols, str(uplo), str(diag))
			}
			if !slices.Equal(byLevel, x) || start[count] != int32(n) {
				t.Fatalf("by levels: %v, want %v", byLevel, x)
			}
		}
	}

	order := make([]int32, n)
	run("rcm", append(a.bufs(), vec(order)), cols)
	inOrder := a.like(n, n, func(i, j int) bool { return a.has(int(order[i]), int(order[j])) })
	run("reorder", append(append(a.bufs(), vec(order)), inOrder.bufs()...), cols, cols)
	for i := range n {
		for j := range n {
			if inOrder.at(i, j) != a.at(int(order[i]), int(order[j])) {
				t.Fatalf("element %d, %d of the reordered matrix is %v", i, j, inOrder.at(i, j))
			}
		}
	}
	x, y, z := numbers[T](r, n), make([]T, n), make([]T, n)
	run("permute", bufs(vec(x), vec(order), vec(y)))
	run("unpermute", bufs(vec(y), vec(order), vec(z)))
	if !slices.Equal(x, z) || n > 0 && y[0] != x[order[0]] {
		t.Fatalf("permute: %v, %v, %v", x, y, z)
	}

	b := numbers[T](r, n)
	run("jacobi", append(a.slab(lo, n), vec(b[lo:]), vec(x), vec(y[lo:])), cols, num(0.5))
	run("jacobi", append(a.slab(0, lo), vec(b[:lo]), vec(x), vec(y[:lo])), cols, num(0.5))
	for i := range n {
		s := b[i]
		for j := range n {
			s -= a.at(i, j) * x[j]
		}
		if y[i] != x[i]+0.5*s/a.at(i, i) {
			t.Fatalf("jacobi: row %d is %v", i, y[i])
		}
	}

	// The incomplete factors agree with A wherever it has an entry.
	for k := range a.val {
		a.val[k] = T(r.IntN(3))
	}
	for i := range n {
		for k := a.ptr[i]; k < a.ptr[i+1]; k++ {
			if int(a.col[k]) == i {
				a.val[k] = T(4 * n)
			}
		}
	}
	f := *a
	f.val = slices.Clone(a.val)
	run("ilu0", f.bufs(), cols)
	for i := range n {
		for j := range n {
			s := T(0)
			for k := 0; k <= min(i, j); k++ {
				l := f.at(i, k)
				if k == i {
					l = 1
				}
				s += l * f.at(k, j)
			}
			if a.has(i, j) && math.Abs(float64(s-a.at(i, j))) > 1e-4 {
				t.Fatalf("ilu0: element %d, %d of L * U is %v, want %v", i, j, s, a.at(i, j))
			}
		}
	}
}

// TestReverseCuthillMcKee: the order makes a shuffled band narrow.
func TestReverseCuthillMcKee(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	place := r.Perm(300) // two parts of 200 and 98 nodes, and two nodes alone
	part := func(i int) int { return min(i/200, 1) + max(0, i-297) }
	a := randomSparse[float64](r, 300, 300, func(i, j int) bool {
		p, q := place[i], place[j]
		return p == q || part(p) == part(q) && max(p-q, q-p) <= 2 && (p+q)%7 != 0
	})
	order := make([]int32, 300)
	must(t, "std/sparse", "rcm", append(a.bufs(), vec(order)), whole(300))
	at := make([]int, 300)
	for i, j := range order {
		at[j] = i
	}
	width := 0
	for i := range 300 {
		for _, j := range a.col[a.ptr[i]:a.ptr[i+1]] {
			width = max(width, at[i]-at[j], at[j]-at[i])
		}
	}
	sorted := slices.Clone(order)
	slices.Sort(sorted)
	for i, j := range sorted {
		if int(j) != i {
			t.Fatalf("the order lacks %d", i)
		}
	}
	if width > 4 {
		t.Errorf("entries up to %d from the diagonal", width)
	}
}

func TestSparseErrors(t *testing.T) {
	m := func(rows, cols int, at ...int) *plainSparse[float64] {
		return randomSparse[float64](rand.New(rand.NewPCG(1, 1)), rows, cols, func(i, j int) bool { return slices.Contains(at, i*cols+j) })
	}
	v := func(n int) *iface.Buffer { return vec(make([]float64, n)) }
	ints := func(x ...int32) *iface.Buffer { return vec(x) }
	zero := m(2, 2, 0, 1, 3)
	zero.val = []float64{0, 1, 1}
	ragged := m(2, 2, 0, 1).bufs()
	ragged[2] = v(1)
	late := m(2, 2, 0, 3).slab(1, 2)
	two, three := whole(2), whole(3)
	l, n := str("l"), str("n")
	for _, c := range []struct {
		name string
		bufs []*iface.Buffer
		args []iface.Scalar
		want string
	}{
		{"spmv", append(m(2, 3).bufs(), v(2), v(2)), []iface.Scalar{three, num(1), num(1)}, "the sizes of `spmv` do not fit: A.cols is 3, and x.n is 2"},
		{"spmv", append(m(2, 3).bufs(), v(3), v(3)), []iface.Scalar{three, num(1), num(1)}, "A.rows is 2, and y.n is 3"},
		{"spmv", append(ragged, v(2), v(2)), []iface.Scalar{two, num(1), num(1)}, "the arrays of `A` do not fit: 3, 2 and 1 elements"},
		{"spmm", append(m(2, 3).bufs(), dense(3, 2, 2, make([]float64, 6)), dense(2, 3, 3, make([]float64, 6))), []iface.Scalar{three, num(1), num(1)}, "B.cols is 2, and C.cols is 3"},
		{"trsv", append(m(2, 3).bufs(), v(2)), []iface.Scalar{three, l, n}, "`A` of `trsv` must be square, and has size 2 x 3"},
		{"trsv", append(m(2, 2).bufs(), v(2)), []iface.Scalar{two, str("x"), n}, "`uplo` of `trsv` is \"x\""},
		{"trsv", append(m(2, 2, 0, 2).bufs(), v(2)), []iface.Scalar{two, l, n}, "row 1 has no entry on the diagonal"},
		{"trsv", append(zero.bufs(), v(2)), []iface.Scalar{two, l, n}, "the entry of row 0 on the diagonal is zero"},
		{"trsv_level", append(m(2, 2, 0, 3).bufs(), ints(2), v(2)), []iface.Scalar{two, l, str("u")}, "`rows` has the number 2, and the matrix 2 rows"},
		{"levels", append(m(2, 2, 0, 3).bufs(), ints(0, 0), ints(0, 0), variable(new(int64))), []iface.Scalar{two, l}, "A.rows + 1 is 3, and start.n is 2"},
		{"add", slices.Concat(m(2, 2, 0, 3).bufs(), m(2, 2, 1).bufs(), m(2, 2, 0, 3).bufs()), []iface.Scalar{two, two, two, num(1), num(1)}, "`C` has no entry in row 0, column 1: register it with `like = [A, B]`"},
		{"transpose", append(m(2, 2, 1).bufs(), m(2, 2, 1).bufs()...), []iface.Scalar{two, two}, "`B` has no entry in row 1, column 0: register it with `transposed = A`"},
		{"transpose", append(m(2, 2, 1).bufs(), m(2, 2, 1, 2).bufs()...), []iface.Scalar{two, two}, "the numbers of entries differ, 1 and 2: register `B` with `transposed = A`"},
		{"transpose", append(late, m(2, 1, 1).bufs()...), []iface.Scalar{two, whole(1)}, "`transpose` takes the whole of `A`, and got a slab of its rows"},
		{"reorder", slices.Concat(m(2, 2, 1).bufs(), bufs(ints(1, 1)), m(2, 2, 2).bufs()), []iface.Scalar{two, two}, "elements 0 and 1 of `order` are both 1"},
		{"reorder", slices.Concat(m(2, 2, 1).bufs(), bufs(ints(1, 0)), m(2, 2, 1).bufs()), []iface.Scalar{two, two}, "`B` has no entry in row 1, column 0: register it with `like = A, order = order`"},
		{"permute", bufs(v(2), ints(0, 2), v(2)), nil, "element 1 of `order` is 2: it has the numbers 0 to 1, each once"},
		{"permute", bufs(v(2), ints(0), v(2)), nil, "x.n is 2, and order.n is 1"},
		{"jacobi", append(m(2, 2, 0).bufs(), v(2), v(2), v(2)), []iface.Scalar{two, num(1)}, "row 0 has no entry on the diagonal|the entry of row 0 on the diagonal is zero|row 1 has no entry on the diagonal"},
		{"jacobi", append(m(3, 2, 0).bufs(), v(3), v(2), v(3)), []iface.Scalar{two, num(1)}, "`jacobi` needs rows of a square matrix"},
		{"ilu0", m(2, 2, 0, 1, 2).bufs(), []iface.Scalar{two}, "row 1 has no entry on the diagonal|pivot 1 is zero"},
		{"ilu0", zero.bufs(), []iface.Scalar{two}, "pivot 1 is zero: the matrix has no incomplete LU factors without exchanging rows"},
	} {
		got := fmt.Sprint(try(t, "std/sparse", c.name, c.bufs, c.args...))
		if !slices.ContainsFunc(strings.Split(c.want, "|"), func(w string) bool { return strings.Contains(got, w) }) {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
