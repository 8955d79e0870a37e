package blas

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// providers are all that this machine has; each test runs on each.
func providers(t testing.TB) []Provider {
	ps := []Provider{Gonum()}
	if p, err := OpenBLAS(""); err == nil {
		ps = append(ps, p)
	} else {
		t.Logf("gonum only: %v", err)
	}
	return ps
}

func each(t *testing.T, f32 func(*testing.T, Routines[float32]), f64 func(*testing.T, Routines[float64])) {
	for _, p := range providers(t) {
		name, _, _ := strings.Cut(p.Name(), " ")
		t.Run(name+"/f32", func(t *testing.T) { f32(t, p.Float32()) })
		t.Run(name+"/f64", func(t *testing.T) { f64(t, p.Float64()) })
	}
}

// mat is a matrix with a border: space before it and behind each row, filled
// with NaN, that no routine may read or write.
type mat[T Float] struct {
	rows, cols, ld int
	mem            []T
	a              []T // element (0,0) and on
}

const border = 3

func newMat[T Float](rows, cols, pad int) *mat[T] {
	m := &mat[T]{rows: rows, cols: cols, ld: max(1, cols+pad)}
	n := 0
	if rows > 0 && cols > 0 {
		n = (rows-1)*m.ld + cols
	}
	m.mem = make([]T, border+n+border)
	for i := range m.mem {
		m.mem[i] = T(math.NaN())
	}
	m.a = m.mem[border : border+n]
	return m
}

func (m *mat[T]) at(i, j int) *T { return &m.a[i*m.ld+j] }

// set gives the elements that keep selects random values.
func (m *mat[T]) set(rnd *rand.Rand, keep func(i, j int) bool) *mat[T] {
	for i := range m.rows {
		for j := range m.cols {
			if keep(i, j) {
				*m.at(i, j) = T(rnd.Float64()*2 - 1)
			}
		}
	}
	return m
}

func all(int, int) bool { return true }

// triangleOf selects a triangle, without the diagonal when it is unit.
func triangleOf(u Uplo, d Diag) func(i, j int) bool {
	return func(i, j int) bool {
		if i == j {
			return d == NonUnit
		}
		return (i > j) == (u == Lower)
	}
}

// dense is a plain matrix of float64 for the reference.
type dense struct {
	rows, cols int
	v          []float64
}

func newDense(rows, cols int) dense { return dense{rows, cols, make([]float64, rows*cols)} }
func (d dense) at(i, j int) *float64 {
	return &d.v[i*d.cols+j]
}

// full is what m means as a general matrix.
func (m *mat[T]) full() dense {
	d := newDense(m.rows, m.cols)
	for i := range m.rows {
		for j := range m.cols {
			*d.at(i, j) = float64(*m.at(i, j))
		}
	}
	return d
}

// sym is what the triangle u of m means as a symmetric matrix.
func (m *mat[T]) sym(u Uplo) dense {
	d := newDense(m.rows, m.cols)
	for i := range m.rows {
		for j := range m.cols {
			a, b := i, j
			if (a > b) != (u == Lower) {
				a, b = b, a
			}
			*d.at(i, j) = float64(*m.at(a, b))
		}
	}
	return d
}

// tri is what the triangle u of m means as a triangular matrix.
func (m *mat[T]) tri(u Uplo, dg Diag) dense {
	d := newDense(m.rows, m.cols)
	for i := range m.rows {
		for j := range m.cols {
			switch {
			case i == j && dg == Unit:
				*d.at(i, j) = 1
			case i == j || (i > j) == (u == Lower):
				*d.at(i, j) = float64(*m.at(i, j))
			}
		}
	}
	return d
}

func (d dense) op(t Trans) dense {
	if t == NoTrans {
		return d
	}
	e := newDense(d.cols, d.rows)
	for i := range d.rows {
		for j := range d.cols {
			*e.at(j, i) = *d.at(i, j)
		}
	}
	return e
}

func mul(a, b dense) dense {
	c := newDense(a.rows, b.cols)
	for i := range a.rows {
		for k := range a.cols {
			f := *a.at(i, k)
			for j := range b.cols {
				*c.at(i, j) += f * *b.at(k, j)
			}
		}
	}
	return c
}

// axpby computes alpha·p + beta·c, without c when beta is 0.
func axpby(alpha float64, p dense, beta float64, c dense) dense {
	d := newDense(c.rows, c.cols)
	for i := range d.v {
		d.v[i] = alpha * p.v[i]
		if beta != 0 {
			d.v[i] += beta * c.v[i]
		}
	}
	return d
}

func eps[T Float]() float64 {
	var x T = 1
	if x+1e-10 == x {
		return 1e-4
	}
	return 1e-11
}

// compare holds m against want where keep selects, and against its old memory
// elsewhere, bit for bit.
func (m *mat[T]) compare(t *testing.T, want dense, keep func(i, j int) bool, old []T) {
	t.Helper()
	inside := make(map[int]bool)
	for i := range m.rows {
		for j := range m.cols {
			if !keep(i, j) {
				continue
			}
			inside[border+i*m.ld+j] = true
			got, w := float64(*m.at(i, j)), *want.at(i, j)
			if !(math.Abs(got-w) <= eps[T]()*max(1, math.Abs(w))) {
				t.Fatalf("element %d,%d of %d x %d is %v, want %v", i, j, m.rows, m.cols, got, w)
			}
		}
	}
	for i, v := range m.mem {
		if !inside[i] && math.Float64bits(float64(v)) != math.Float64bits(float64(old[i])) {
			t.Fatalf("memory outside was written, at %d", i-border)
		}
	}
}

func (m *mat[T]) copy() []T { return append([]T(nil), m.mem...) }

var (
	uplos   = []Uplo{Lower, Upper}
	sides   = []Side{Left, Right}
	transes = []Trans{NoTrans, Transposed}
	diags   = []Diag{NonUnit, Unit}
	scales  = []float64{0, 1, -0.5}
)

// shapes have empty, tiny and larger sizes, on both sides of the sizes from
// which the library is called.
var shapes = [][3]int{{0, 3, 2}, {3, 0, 2}, {3, 2, 0}, {1, 1, 1}, {3, 5, 2}, {16, 17, 18}, {33, 40, 21}, {70, 36, 65}, {36, 70, 130}}

func TestGemm(t *testing.T) { each(t, gemm[float32], gemm[float64]) }

// cutting is a provider's Gemm by blocks, whatever the library does.
type cutting[T Float] struct{ Routines[T] }

func (r cutting[T]) Gemm(ta, tb Trans, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) {
	if m*n*k == 0 || alpha == 0 || tb == Transposed {
		r.Routines.Gemm(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	gemmByBlocks(func(m, n, k int, a, b []T, ldb int, beta T, c []T) {
		r.Routines.Gemm(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}, new(block[T]), ta, m, n, k, a, lda, b, ldb, beta, c, ldc)
}

func TestGemmByBlocks(t *testing.T) {
	each(t, func(t *testing.T, r Routines[float32]) { gemm[float32](t, cutting[float32]{r}) },
		func(t *testing.T, r Routines[float64]) { gemm[float64](t, cutting[float64]{r}) })
}

// TestWorthCutting: products are cut where that was measured to pay, into blocks that
// the library's kernels for small products take.
func TestWorthCutting(t *testing.T) {
	for _, c := range []struct {
		tb            Trans
		m, n, k, rows int
		want          bool
	}{
		{NoTrans, 192, 192, 192, 192, true},
		{NoTrans, 320, 320, 320, 160, true},
		{Transposed, 320, 320, 320, 160, false},
		{NoTrans, 100, 100, 100, 104, false}, // small already
		{NoTrans, 512, 512, 512, 176, true},
		{NoTrans, 513, 512, 512, 176, false},
		{NoTrans, 512, 512, 32, 176, false},
		{NoTrans, 1, 1, math.MaxInt, 8, false},
	} {
		if got := worthCutting(c.tb, c.m, c.n, c.k); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
		if rows := even(c.m, cutM); rows != c.rows {
			t.Errorf("%d rows in blocks of %d, not %d", c.m, rows, c.rows)
		}
	}
	for n := 1; n <= 1000; n++ {
		if size := even(n, cutN); size > cutN || size < 1 {
			t.Fatalf("%d in blocks of %d", n, size)
		}
	}
	if even(1000, cutM)*even(1000, cutN)*even(1000, cutK) >= leastCut {
		t.Error("blocks are larger than small products")
	}
}

// TestGemmWhereItLies: the bits of OpenBLAS's products do not depend on how far apart the
// rows of their operands are. Those of gonum do: its dot product of float32 begins
// with what comes before a multiple of 16 bytes.
func TestGemmWhereItLies(t *testing.T) {
	p, err := OpenBLAS("")
	if err != nil {
		t.Skip(err)
	}
	gemmWhereItLies(t, p.Float32())
	gemmWhereItLies(t, p.Float64())
}

func gemmWhereItLies[T Float](t *testing.T, r Routines[T]) {
	rnd := rand.New(rand.NewPCG(11, 12))
	for _, n := range []int{96, 150, 192, 256, 330} {
		var m [3][]T // A, B, C without gaps
		for i := range m {
			m[i] = make([]T, n*n)
			for k := range m[i] {
				m[i][k] = T(rnd.Float64() - 0.5)
			}
		}
		for _, ta := range transes {
			for _, tb := range transes {
				want := slices.Clone(m[2])
				r.Gemm(ta, tb, n, n, n, 0.3, m[0], n, m[1], n, 0.7, want, n)
				for _, ld := range []int{n + 8, 512, 1000} {
					apart := [3][]T{}
					for i := range apart {
						apart[i] = make([]T, n*ld)
						for row := range n {
							copy(apart[i][row*ld:], m[i][row*n:][:n])
						}
					}
					r.Gemm(ta, tb, n, n, n, 0.3, apart[0], ld, apart[1], ld, 0.7, apart[2], ld)
					for row := range n {
						if got := apart[2][row*ld:][:n]; !slices.Equal(got, want[row*n:][:n]) {
							t.Fatalf("%v %v of %d with rows %d apart: row %d differs", ta, tb, n, ld, row)
						}
					}
				}
			}
		}
	}
}

func gemm[T Float](t *testing.T, r Routines[T]) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, s := range append(shapes, [3]int{103, 97, 101}, [3]int{210, 70, 131}) { // the last ones are cut
		for _, ta := range transes {
			for _, tb := range transes {
				for _, alpha := range scales {
					for _, beta := range scales {
						m, n, k := s[0], s[1], s[2]
						ar, ac := turned(ta, m, k)
						br, bc := turned(tb, k, n)
						a, b, c := newMat[T](ar, ac, 2), newMat[T](br, bc, 0), newMat[T](m, n, 1)
						if alpha != 0 { // else not read
							a.set(rnd, all)
							b.set(rnd, all)
						}
						if beta != 0 {
							c.set(rnd, all)
						}
						p := newDense(m, n)
						if alpha != 0 {
							p = mul(a.full().op(ta), b.full().op(tb))
						}
						want, old := axpby(alpha, p, beta, c.full()), c.copy()
						r.Gemm(ta, tb, m, n, k, T(alpha), a.a, a.ld, b.a, b.ld, T(beta), c.a, c.ld)
						c.compare(t, want, all, old)
					}
				}
			}
		}
	}
}

// TestZeroTimesNaN: what cannot be computed with shows in a product, also where the other
// factor is 0.
func TestZeroTimesNaN(t *testing.T) { each(t, zeroTimesNaN[float32], zeroTimesNaN[float64]) }

func zeroTimesNaN[T Float](t *testing.T, r Routines[T]) {
	for _, n := range []int{2, 7, 40} {
		for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			for flags := range 4 {
				ta, tb := Trans(flags&1), Trans(flags>>1)
				zero, b, c := make([]T, n*n), make([]T, n*n), make([]T, n*n)
				b[1*n+1] = T(v)
				for side, x := range [][2][]T{{zero, b}, {b, zero}} {
					clear(c)
					r.Gemm(ta, tb, n, n, n, 1, x[0], n, x[1], n, 1, c, n)
					for i := range n {
						at := i*n + 1 // the column of b, or its row
						if side == 1 {
							at = n + i
						}
						if c[at] == c[at] {
							t.Errorf("gemm of order %d, flags %d, %v in operand %d: %v in c[%d]", n, flags, v, 1-side, c[at], at)
						}
					}
				}
				clear(c)
				r.Syrk(Uplo(tb), ta, n, n, 1, b, n, 0, c, n)
				for _, at := range []int{1, n} {
					if inTriangle := (at == n) == (Uplo(tb) == Lower); inTriangle && c[at] == c[at] {
						t.Errorf("syrk of order %d, flags %d, %v: %v in c[%d]", n, flags, v, c[at], at)
					}
				}
			}
		}
	}
}

// TestTriangleTimesNaN is the same for triangles.
func TestTriangleTimesNaN(t *testing.T) {
	each(t, triangleTimesNaN[float32], triangleTimesNaN[float64])
}

func triangleTimesNaN[T Float](t *testing.T, r Routines[T]) {
	for _, n := range []int{3, 7, 40} {
		for _, uplo := range uplos {
			for _, ta := range transes {
				for _, diag := range diags {
					for name, call := range map[string]func(side Side, a, b []T){
						"trmm": func(side Side, a, b []T) { r.Trmm(side, uplo, ta, diag, n, n, 2, a, n, b, n) },
						"trsm": func(side Side, a, b []T) { r.Trsm(side, uplo, ta, diag, n, n, 2, a, n, b, n) },
					} {
						a, b := make([]T, n*n), make([]T, n*n)
						for i := range n {
							a[i*n+i] = 1
						}
						b[1*n+1] = T(math.NaN())
						call(Left, a, b)
						row := 2 // below, or above
						if (uplo == Lower) != (ta == NoTrans) {
							row = 0
						}
						if v := b[row*n+1]; v == v {
							t.Errorf("%s of order %d, flags %d %d %d: %v below or above a NaN", name, n, uplo, ta, diag, v)
						}
						clear(b)
						from, to := 2, 1 // in the lower triangle
						if uplo == Upper {
							from, to = 1, 2
						}
						a[from*n+to] = T(math.NaN())
						if ta == Transposed {
							to = from
						}
						call(Right, a, b)
						if v := b[to]; v == v {
							t.Errorf("%s of order %d, flags %d %d %d: %v in the column of a NaN", name, n, uplo, ta, diag, v)
						}
					}
				}
			}
		}
	}
}

// TestTrmmUnderflow: an element that alpha makes 0 is 0.
func TestTrmmUnderflow(t *testing.T) { each(t, trmmUnderflow[float32], trmmUnderflow[float64]) }

func trmmUnderflow[T Float](t *testing.T, r Routines[T]) {
	tiny := T(1e-30)
	if tiny*tiny != 0 {
		tiny = T(math.Pow(10, -200))
	}
	for _, side := range sides {
		for _, uplo := range uplos {
			for _, ta := range transes {
				b := []T{tiny, tiny, tiny, tiny}
				r.Trmm(side, uplo, ta, NonUnit, 2, 2, tiny, []T{1, 1, 1, 1}, 2, b, 2)
				if !slices.Equal(b, []T{0, 0, 0, 0}) {
					t.Errorf("side %d, uplo %d, ta %d: %v", side, uplo, ta, b)
				}
			}
		}
	}
}

func TestSymm(t *testing.T) { each(t, symm[float32], symm[float64]) }

func symm[T Float](t *testing.T, r Routines[T]) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, s := range shapes {
		for _, side := range sides {
			for _, uplo := range uplos {
				for _, alpha := range scales {
					for _, beta := range scales {
						m, n := s[0], s[1]
						k := order(side, m, n)
						a, b, c := newMat[T](k, k, 1), newMat[T](m, n, 2), newMat[T](m, n, 0)
						p := newDense(m, n)
						if alpha != 0 {
							a.set(rnd, triangleOf(uplo, NonUnit))
							b.set(rnd, all)
							if side == Left {
								p = mul(a.sym(uplo), b.full())
							} else {
								p = mul(b.full(), a.sym(uplo))
							}
						}
						if beta != 0 {
							c.set(rnd, all)
						}
						want, old := axpby(alpha, p, beta, c.full()), c.copy()
						r.Symm(side, uplo, m, n, T(alpha), a.a, a.ld, b.a, b.ld, T(beta), c.a, c.ld)
						c.compare(t, want, all, old)
					}
				}
			}
		}
	}
}

func TestSyrk(t *testing.T) { each(t, syrk[float32], syrk[float64]) }

func syrk[T Float](t *testing.T, r Routines[T]) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for _, s := range shapes {
		for _, uplo := range uplos {
			for _, ta := range transes {
				for _, alpha := range scales {
					for _, beta := range scales {
						n, k := s[0], s[2]
						ar, ac := turned(ta, n, k)
						a, c := newMat[T](ar, ac, 1), newMat[T](n, n, 2)
						p := newDense(n, n)
						if alpha != 0 {
							a.set(rnd, all)
							p = mul(a.full().op(ta), a.full().op(ta).op(Transposed))
						}
						keep := triangleOf(uplo, NonUnit)
						if beta != 0 {
							c.set(rnd, keep)
						}
						want, old := axpby(alpha, p, beta, c.full()), c.copy()
						r.Syrk(uplo, ta, n, k, T(alpha), a.a, a.ld, T(beta), c.a, c.ld)
						c.compare(t, want, keep, old)
					}
				}
			}
		}
	}
}

// well makes a triangle that is far from singular.
func well[T Float](m *mat[T]) {
	n := m.rows
	for i := range n {
		for j := range n {
			if i == j {
				*m.at(i, j) += 2
			} else {
				*m.at(i, j) /= T(n)
			}
		}
	}
}

func TestTriangle(t *testing.T) { each(t, triangle[float32], triangle[float64]) }

func triangle[T Float](t *testing.T, r Routines[T]) {
	rnd := rand.New(rand.NewPCG(7, 8))
	for _, s := range shapes {
		for _, side := range sides {
			for _, uplo := range uplos {
				for _, ta := range transes {
					for _, diag := range diags {
						for _, alpha := range scales {
							m, n := s[0], s[1]
							k := order(side, m, n)
							a := newMat[T](k, k, 1).set(rnd, triangleOf(uplo, diag))
							well(a)
							if alpha == 0 {
								a = newMat[T](k, k, 1) // not read
							}
							product := func(b dense) dense {
								switch {
								case alpha == 0:
									return newDense(m, n)
								case side == Left:
									return mul(a.tri(uplo, diag).op(ta), b)
								}
								return mul(b, a.tri(uplo, diag).op(ta))
							}
							b := newMat[T](m, n, 3).set(rnd, all)
							x, old := b.full(), b.copy()
							r.Trmm(side, uplo, ta, diag, m, n, T(alpha), a.a, a.ld, b.a, b.ld)
							b.compare(t, axpby(alpha, product(x), 0, x), all, old)

							b.set(rnd, all)
							x, old = b.full(), b.copy()
							r.Trsm(side, uplo, ta, diag, m, n, T(alpha), a.a, a.ld, b.a, b.ld)
							if alpha == 0 {
								b.compare(t, newDense(m, n), all, old)
								continue
							}
							got := product(b.full()) // op(A)·X must be alpha·B
							for i, v := range got.v {
								if !(math.Abs(v-alpha*x.v[i]) <= eps[T]()) {
									t.Fatalf("side %d uplo %d ta %d diag %d %d x %d: the solution gives %v at %d, want %v",
										side, uplo, ta, diag, m, n, v, i, alpha*x.v[i])
								}
							}
							b.compare(t, b.full(), all, old)
						}
					}
				}
			}
		}
	}
}

func TestLevel2(t *testing.T) { each(t, level2[float32], level2[float64]) }

func level2[T Float](t *testing.T, r Routines[T]) {
	rnd := rand.New(rand.NewPCG(9, 10))
	for _, s := range append(shapes, [3]int{100, 130, 0}) {
		m, n := s[0], s[1]
		for _, ta := range transes {
			for _, alpha := range scales {
				for _, beta := range scales {
					ny, nx := turned(ta, m, n)
					a, x, y := newMat[T](m, n, 2), newMat[T](nx, 1, 0), newMat[T](ny, 1, 0)
					p := newDense(ny, 1)
					if alpha != 0 {
						a.set(rnd, all)
						x.set(rnd, all)
						p = mul(a.full().op(ta), x.full())
					}
					if beta != 0 {
						y.set(rnd, all)
					}
					want, old := axpby(alpha, p, beta, y.full()), y.copy()
					r.Gemv(ta, m, n, T(alpha), a.a, a.ld, x.a, T(beta), y.a)
					y.compare(t, want, all, old)
				}
			}
		}
		for _, alpha := range scales {
			a, x, y := newMat[T](m, n, 2).set(rnd, all), newMat[T](m, 1, 0).set(rnd, all), newMat[T](n, 1, 0).set(rnd, all)
			want, old := axpby(alpha, mul(x.full(), y.full().op(Transposed)), 1, a.full()), a.copy()
			r.Ger(m, n, T(alpha), x.a, y.a, a.a, a.ld)
			a.compare(t, want, all, old)
		}
		for _, uplo := range uplos {
			for _, ta := range transes {
				for _, diag := range diags {
					a := newMat[T](m, m, 2).set(rnd, triangleOf(uplo, diag))
					well(a)
					x := newMat[T](m, 1, 0).set(rnd, all)
					b, old := x.full(), x.copy()
					r.Trsv(uplo, ta, diag, m, a.a, a.ld, x.a)
					got := mul(a.tri(uplo, diag).op(ta), x.full())
					for i, v := range got.v {
						if !(math.Abs(v-b.v[i]) <= eps[T]()) {
							t.Fatalf("trsv uplo %d ta %d diag %d of %d: %v at %d, want %v", uplo, ta, diag, m, v, i, b.v[i])
						}
					}
					x.compare(t, x.full(), all, old)
				}
			}
		}
	}
}

func TestLevel1(t *testing.T) { each(t, level1[float32], level1[float64]) }

func level1[T Float](t *testing.T, r Routines[T]) {
	rnd := rand.New(rand.NewPCG(11, 12))
	for _, n := range []int{0, 1, 2, 7, 127, 128, 1000} {
		for _, alpha := range scales {
			x, y := newMat[T](n, 1, 0).set(rnd, all), newMat[T](n, 1, 0).set(rnd, all)
			want, old := axpby(alpha, x.full(), 1, y.full()), y.copy()
			r.Axpy(T(alpha), x.a, y.a)
			y.compare(t, want, all, old)

			want, old = axpby(alpha, x.full(), 0, x.full()), x.copy()
			r.Scal(T(alpha), x.a)
			x.compare(t, want, all, old)
		}
		x, y := newMat[T](n, 1, 0).set(rnd, all), newMat[T](n, 1, 0).set(rnd, all)
		fx, fy, ox, oy := x.full(), y.full(), x.copy(), y.copy()
		r.Swap(x.a, y.a)
		x.compare(t, fy, all, ox)
		y.compare(t, fx, all, oy)

		var dot, asum, sq, best float64
		at := -1
		for i := range n {
			a, b := float64(x.a[i]), float64(y.a[i])
			dot += a * b
			asum += math.Abs(a)
			sq += a * a
			if math.Abs(a) > best || i == 0 {
				at, best = i, math.Abs(a)
			}
		}
		tol := eps[T]() * float64(n+1)
		for _, c := range []struct {
			name      string
			got, want float64
		}{
			{"dot", float64(r.Dot(x.a, y.a)), dot}, {"asum", float64(r.Asum(x.a)), asum},
			{"nrm2", float64(r.Nrm2(x.a)), math.Sqrt(sq)}, {"iamax", float64(r.Iamax(x.a)), float64(at)},
		} {
			if !(math.Abs(c.got-c.want) <= tol) {
				t.Errorf("%s of %d elements is %v, want %v", c.name, n, c.got, c.want)
			}
		}
	}
	nan := T(math.NaN())
	x := make([]T, 200)
	x[150] = nan
	r.Scal(0, x)
	if x[150] == x[150] {
		t.Error("scal by 0 hides a NaN")
	}
	if got := r.Iamax([]T{1, -3, 3, nan, 9}); got != 3 {
		t.Errorf("iamax with a NaN: %d", got)
	}
	if got := r.Iamax([]T{1, -3, 3}); got != 1 {
		t.Errorf("iamax of equals: %d", got)
	}
	big := T(math.MaxFloat32 / 2)
	if got := float64(r.Nrm2([]T{big, big})); math.IsInf(got, 0) || math.Abs(got/(float64(big)*math.Sqrt2)-1) > 1e-6 {
		t.Errorf("nrm2 of large elements: %v", got)
	}
}

func TestPotrf(t *testing.T) { each(t, testPotrf[float32], testPotrf[float64]) }

func testPotrf[T Float](t *testing.T, r Routines[T]) {
	rnd := rand.New(rand.NewPCG(13, 14))
	for _, n := range []int{0, 1, 2, 3, 24, 25, 33, 64, 90} {
		for _, uplo := range uplos {
			g := newMat[T](n, n, 0).set(rnd, all)
			spd := mul(g.full(), g.full().op(Transposed))
			for i := range n {
				*spd.at(i, i) += float64(n)
			}
			keep := triangleOf(uplo, NonUnit)
			fill := func() *mat[T] {
				a := newMat[T](n, n, 2)
				for i := range n {
					for j := range n {
						if keep(i, j) {
							*a.at(i, j) = T(*spd.at(i, j))
						}
					}
				}
				return a
			}
			a := fill()
			old := a.copy()
			if got := r.Potrf(uplo, n, a.a, a.ld); got != 0 {
				t.Fatalf("potrf of order %d: leading minor %d", n, got)
			}
			f := a.tri(uplo, NonUnit)
			p := mul(f, f.op(Transposed))
			if uplo == Upper {
				p = mul(f.op(Transposed), f)
			}
			for i := range p.v {
				if !(math.Abs(p.v[i]-spd.v[i]) <= eps[T]()*float64(n+1)*2) {
					t.Fatalf("potrf of order %d, uplo %d: the factors give %v at %d, want %v", n, uplo, p.v[i], i, spd.v[i])
				}
			}
			a.compare(t, a.full(), keep, old)

			for _, bad := range []int{1, n/2 + 1, n} {
				for _, v := range []float64{-1, math.NaN()} {
					if bad < 1 || bad > n {
						continue
					}
					a = fill()
					*a.at(bad-1, bad-1) = T(v)
					if got := r.Potrf(uplo, n, a.a, a.ld); got != bad {
						t.Errorf("potrf of order %d, uplo %d with %v at %d: leading minor %d", n, uplo, v, bad, got)
					}
				}
			}
		}
	}
	if got := r.Potrf(Lower, 1, []T{0}, 1); got != 1 {
		t.Errorf("potrf of zero: %d", got)
	}
}

func TestGetrf(t *testing.T) { each(t, testGetrf[float32], testGetrf[float64]) }

func testGetrf[T Float](t *testing.T, r Routines[T]) {
	rnd := rand.New(rand.NewPCG(15, 16))
	for _, s := range [][2]int{{0, 0}, {0, 4}, {1, 1}, {5, 5}, {24, 24}, {25, 25}, {70, 70}, {60, 33}, {33, 60}} {
		m, n := s[0], s[1]
		k := min(m, n)
		fill := func() *mat[T] {
			a := newMat[T](m, n, 1).set(rnd, all)
			for i := range k {
				*a.at(i, i) += T(max(m, n))
			}
			return a
		}
		a := fill()
		before, old := a.full(), a.copy()
		if got := GetrfNoPiv(r, m, n, a.a, a.ld); got != 0 {
			t.Fatalf("getrf of %d x %d: pivot %d", m, n, got)
		}
		l, u := newDense(m, k), newDense(k, n)
		for i := range m {
			for j := range n {
				v := float64(*a.at(i, j))
				if i > j {
					*l.at(i, j) = v
				} else {
					*u.at(i, j) = v
				}
				if i == j {
					*l.at(i, j) = 1
				}
			}
		}
		got := mul(l, u)
		for i := range got.v {
			if !(math.Abs(got.v[i]-before.v[i]) <= eps[T]()*float64(max(m, n))) {
				t.Fatalf("getrf of %d x %d: the factors give %v at %d, want %v", m, n, got.v[i], i, before.v[i])
			}
		}
		a.compare(t, a.full(), all, old)
		if m == n {
			b := newMat[T](n, 3, 1).set(rnd, all)
			rhs := b.full()
			GetrsNoPiv(r, n, 3, a.a, a.ld, b.a, b.ld)
			got := mul(before, b.full())
			for i := range got.v {
				if !(math.Abs(got.v[i]-rhs.v[i]) <= eps[T]()*float64(n)) {
					t.Fatalf("getrs of order %d: %v at %d, want %v", n, got.v[i], i, rhs.v[i])
				}
			}
		}
		for _, v := range []float64{0, math.NaN()} {
			if k > 1 { // an identity with a hole: elimination leaves it where it is
				a = newMat[T](m, n, 0)
				for i := range m {
					for j := range n {
						*a.at(i, j) = 0
					}
				}
				for i := range k {
					*a.at(i, i) = 1
				}
				*a.at(k-1, k-1) = T(v)
				if got := GetrfNoPiv(r, m, n, a.a, a.ld); got != k {
					t.Errorf("getrf of %d x %d with last pivot %v: %d", m, n, v, got)
				}
			}
		}
	}
}

// TestMisuse: arguments that would reach outside are refused before anything
// is computed, by every provider.
func TestMisuse(t *testing.T) {
	each(t, misuse[float32], misuse[float64])
}

func misuse[T Float](t *testing.T, r Routines[T]) {
	x := make([]T, 100*100)
	for name, f := range map[string]func(){
		"short A":  func() { r.Gemm(NoTrans, NoTrans, 100, 100, 100, 1, x[1:], 100, x, 100, 0, x, 100) },
		"small ld": func() { r.Gemm(NoTrans, NoTrans, 50, 50, 50, 1, x, 49, x, 100, 0, x, 100) },
		"negative": func() { r.Gemm(NoTrans, NoTrans, -1, 50, 50, 1, x, 100, x, 100, 0, x, 100) },
		"huge": func() {
			r.Gemm(NoTrans, NoTrans, math.MaxInt, math.MaxInt, 1, 1, x, 100, x, math.MaxInt, 0, x, math.MaxInt)
		},
		"short x":     func() { r.Gemv(NoTrans, 100, 100, 1, x, 100, x[:99], 0, x) },
		"short y":     func() { r.Ger(100, 100, 1, x, x[:99], x, 100) },
		"trsv":        func() { r.Trsv(Lower, NoTrans, Unit, 100, x[1:], 100, x) },
		"trsm":        func() { r.Trsm(Right, Lower, NoTrans, Unit, 100, 101, 1, x, 101, x, 101) },
		"syrk":        func() { r.Syrk(Lower, Transposed, 100, 101, 1, x, 100, 0, x, 100) },
		"symm":        func() { r.Symm(Left, Lower, 101, 100, 1, x, 101, x, 100, 0, x, 100) },
		"potrf":       func() { r.Potrf(Lower, 101, x, 101) },
		"axpy":        func() { r.Axpy(1, x, x[1:]) },
		"swap":        func() { r.Swap(x, x[1:]) },
		"dot":         func() { r.Dot(x[:3], x) },
		"getrf":       func() { GetrfNoPiv(r, 101, 100, x, 100) },
		"zero leader": func() { r.Potrf(Lower, 0, x, 0) },
	} {
		func() {
			defer func() {
				if e := recover(); e == nil || !strings.HasPrefix(fmt.Sprint(e), "blas: ") {
					t.Errorf("%s: %v", name, e)
				}
			}()
			f()
		}()
	}
}

// TestConcurrent: many goroutines, more than the library has places for.
func TestConcurrent(t *testing.T) {
	for _, p := range providers(t) {
		rnd := rand.New(rand.NewPCG(17, 18))
		r := p.Float64()
		const n = 48
		a, b := newMat[float64](n, n, 0).set(rnd, all), newMat[float64](n, n, 0).set(rnd, all)
		want := mul(a.full(), b.full())
		var wg sync.WaitGroup
		for range 200 {
			wg.Go(func() {
				for range 5 {
					c := make([]float64, n*n)
					r.Gemm(NoTrans, NoTrans, n, n, n, 1, a.a, n, b.a, n, 0, c, n)
					for i := range c {
						if math.Abs(c[i]-want.v[i]) > 1e-11 {
							t.Errorf("%s: element %d is %v, want %v", p.Name(), i, c[i], want.v[i])
							return
						}
					}
				}
			})
		}
		wg.Wait()
	}
}

func TestChoose(t *testing.T) {
	if p, err := Choose("gonum"); err != nil || p.Name() != "gonum" {
		t.Errorf("gonum: %v, %v", p.Name(), err)
	}
	if p, err := Choose(""); err != nil || p == nil {
		t.Errorf("unset: %v", err)
	}
	p, err := Choose("/no/such/library.so")
	if err == nil || p.Name() != "gonum" || !strings.Contains(err.Error(), "STARPUSH_BLAS=/no/such/library.so") {
		t.Errorf("missing library: %v, %v", p.Name(), err)
	}
	if Default() == nil {
		t.Error("no default provider")
	}
	if os.Getenv(Env) == "" && DefaultErr() != nil {
		t.Errorf("default: %v", DefaultErr())
	}
	if _, err := OpenBLAS(""); err != nil {
		t.Logf("OpenBLAS: %v", err)
		return
	}
	p, err = Choose("openblas")
	if err != nil || !strings.Contains(p.Name(), "OpenBLAS") {
		t.Errorf("openblas: %v, %v", p.Name(), err)
	}
}

// TestFor: the routines of the wanted type.
func TestFor(t *testing.T) {
	p := Gonum()
	if any(For[float32](p)) != any(p.Float32()) || any(For[float64](p)) != any(p.Float64()) {
		t.Error("For mixes up the types")
	}
}

func BenchmarkGemm(b *testing.B) {
	for _, p := range providers(b) {
		for _, n := range []int{16, 64, 256} {
			name, _, _ := strings.Cut(p.Name(), " ")
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				rnd := rand.New(rand.NewPCG(1, 1)) // gonum skips zeros
				x, y := newMat[float64](n, n, 0).set(rnd, all).a, newMat[float64](n, n, 0).set(rnd, all).a
				z := make([]float64, n*n)
				for b.Loop() {
					p.Float64().Gemm(NoTrans, NoTrans, n, n, n, 1, x, n, y, n, 1, z, n)
				}
				b.ReportMetric(2*float64(n*n*n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}
