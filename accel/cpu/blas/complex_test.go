package blas

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"strings"
	"testing"
)

// eachComplex runs a test for each provider and type.
func eachComplex(t *testing.T, c64 func(*testing.T, ComplexRoutines[complex64]), c128 func(*testing.T, ComplexRoutines[complex128])) {
	for _, p := range providers(t) {
		name, _, _ := strings.Cut(p.Name(), " ")
		t.Run(name+"/c64", func(t *testing.T) { c64(t, ForComplex[complex64](p)) })
		t.Run(name+"/c128", func(t *testing.T) { c128(t, ForComplex[complex128](p)) })
	}
}

// cmat is a matrix with NaN behind each row, which no routine may read or write.
type cmat[T Complex] struct {
	rows, cols, ld int
	a              []T
}

func randomMat[T Complex](rnd *rand.Rand, rows, cols int) *cmat[T] {
	m := &cmat[T]{rows, cols, cols + 2, make([]T, rows*(cols+2))}
	for i := range m.a {
		m.a[i] = T(cmplx.NaN())
		if i%m.ld < cols {
			m.a[i] = T(complex(rnd.Float64()*2-1, rnd.Float64()*2-1))
		}
	}
	return m
}

func (m *cmat[T]) at(i, j int) complex128 { return complex128(m.a[i*m.ld+j]) }

// op is what m means, used as t.
func (m *cmat[T]) op(t Trans) func(i, j int) complex128 {
	return func(i, j int) complex128 {
		switch t {
		case Transposed:
			return m.at(j, i)
		case ConjTransposed:
			return cmplx.Conj(m.at(j, i))
		}
		return m.at(i, j)
	}
}

// triangle is what a triangle of m means.
func (m *cmat[T]) triangle(u Uplo, d Diag) *cmat[T] {
	c := &cmat[T]{m.rows, m.cols, m.ld, append([]T(nil), m.a...)}
	for i := range m.rows {
		for j := range m.cols {
			switch {
			case i == j && d == Unit:
				c.a[i*m.ld+j] = 1
			case i != j && (i > j) != (u == Lower):
				c.a[i*m.ld+j] = 0
			}
		}
	}
	return c
}

func (m *cmat[T]) clone() *cmat[T] {
	return &cmat[T]{m.rows, m.cols, m.ld, append([]T(nil), m.a...)}
}

// expectMat compares m with a product of k terms.
func expectMat[T Complex](t *testing.T, what string, m *cmat[T], k int, want func(i, j int) complex128) {
	t.Helper()
	eps := 1e-6
	if _, ok := any(m.a[0]).(complex128); ok {
		eps = 1e-14
	}
	for i := range m.rows {
		for j := range m.ld {
			switch {
			case j >= m.cols:
				if !cmplx.IsNaN(complex128(m.a[i*m.ld+j])) {
					t.Fatalf("%s: writes behind row %d", what, i)
				}
			case cmplx.Abs(m.at(i, j)-want(i, j)) > eps*float64(k+10)*(1+cmplx.Abs(want(i, j))):
				t.Fatalf("%s: element %d, %d is %v, want %v", what, i, j, m.at(i, j), want(i, j))
			}
		}
	}
}

func dotOf(k int, x, y func(i int) complex128) (s complex128) {
	for i := range k {
		s += x(i) * y(i)
	}
	return s
}

var allTrans = []Trans{NoTrans, Transposed, ConjTransposed}

func TestComplexGemm(t *testing.T) { eachComplex(t, complexGemm[complex64], complexGemm[complex128]) }

func complexGemm[T Complex](t *testing.T, r ComplexRoutines[T]) {
	rnd := rand.New(rand.NewPCG(1, 2))
	alpha, beta := T(complex(0.5, -1)), T(complex(-0.25, 2))
	for _, s := range [][3]int{{1, 1, 1}, {3, 5, 2}, {17, 20, 23}, {40, 33, 50}} {
		m, n, k := s[0], s[1], s[2]
		for _, ta := range allTrans {
			for _, tb := range allTrans {
				ar, ac := turned(ta, m, k)
				br, bc := turned(tb, k, n)
				a, b, c := randomMat[T](rnd, ar, ac), randomMat[T](rnd, br, bc), randomMat[T](rnd, m, n)
				before, opA, opB := c.clone(), a.op(ta), b.op(tb)
				what := fmt.Sprintf("gemm %v, %d %d", s, ta, tb)
				product := func(i, j int) complex128 {
					return dotOf(k, func(l int) complex128 { return opA(i, l) }, func(l int) complex128 { return opB(l, j) })
				}
				r.Gemm(ta, tb, m, n, k, alpha, a.a, a.ld, b.a, b.ld, beta, c.a, c.ld)
				expectMat(t, what, c, k, func(i, j int) complex128 { return complex128(alpha)*product(i, j) + complex128(beta)*before.at(i, j) })
				for i := range c.rows {
					c.a[i*c.ld] = T(cmplx.NaN()) // not read
				}
				r.Gemm(ta, tb, m, n, k, alpha, a.a, a.ld, b.a, b.ld, 0, c.a, c.ld)
				expectMat(t, what+", beta 0", c, k, func(i, j int) complex128 { return complex128(alpha) * product(i, j) })
			}
		}
	}
}

func TestComplexHerk(t *testing.T) { eachComplex(t, complexHerk[complex64], complexHerk[complex128]) }

func complexHerk[T Complex](t *testing.T, r ComplexRoutines[T]) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, s := range [][2]int{{1, 1}, {5, 3}, {33, 40}} {
		n, k := s[0], s[1]
		for _, u := range []Uplo{Lower, Upper} {
			for _, ta := range []Trans{NoTrans, ConjTransposed} {
				ar, ac := turned(ta, n, k)
				a, c := randomMat[T](rnd, ar, ac), randomMat[T](rnd, n, n)
				for i := range n {
					re, _ := parts(c.a[i*c.ld+i])
					c.a[i*c.ld+i] = realOf[T](re)
				}
				before, op := c.clone(), a.op(ta)
				r.Herk(u, ta, n, k, 1.5, a.a, a.ld, -0.5, c.a, c.ld)
				expectMat(t, fmt.Sprintf("herk %v, %d %d", s, u, ta), c, k, func(i, j int) complex128 {
					if i != j && (i > j) != (u == Lower) {
						return before.at(i, j)
					}
					return 1.5*dotOf(k, func(l int) complex128 { return op(i, l) }, func(l int) complex128 { return cmplx.Conj(op(j, l)) }) - 0.5*before.at(i, j)
				})
			}
		}
	}
}

func TestComplexTriangle(t *testing.T) {
	eachComplex(t, complexTriangle[complex64], complexTriangle[complex128])
}

func complexTriangle[T Complex](t *testing.T, r ComplexRoutines[T]) {
	rnd := rand.New(rand.NewPCG(5, 6))
	alpha := T(complex(2, -1))
	for _, s := range [][2]int{{1, 1}, {4, 7}, {33, 29}} {
		m, n := s[0], s[1]
		for _, side := range []Side{Left, Right} {
			for _, u := range []Uplo{Lower, Upper} {
				for _, d := range []Diag{NonUnit, Unit} {
					for _, ta := range allTrans {
						k := order(side, m, n)
						a, b := randomMat[T](rnd, k, k), randomMat[T](rnd, m, n)
						for i := range a.a { // solutions that do not grow
							a.a[i] /= realOf[T](float64(k))
						}
						for i := range k {
							a.a[i*a.ld+i] += 2
						}
						x, op := b.clone(), a.triangle(u, d).op(ta)
						r.Trsm(side, u, ta, d, m, n, alpha, a.a, a.ld, x.a, x.ld)
						// The product is alpha·B again.
						back := x.clone()
						for i := range m {
							for j := range n {
								back.a[i*back.ld+j] = T(dotOf(k, func(l int) complex128 {
									if side == Right {
										return x.at(i, l) * op(l, j)
									}
									return op(i, l) * x.at(l, j)
								}, func(int) complex128 { return 1 }))
							}
						}
						what := fmt.Sprintf("trsm %v, %d %d %d %d", s, side, u, d, ta)
						expectMat(t, what, back, 4*k, func(i, j int) complex128 { return complex128(alpha) * b.at(i, j) })
						if side == Left {
							v := make([]T, m)
							for i := range v {
								v[i] = T(b.at(i, 0))
							}
							r.Trsv(u, ta, d, m, a.a, a.ld, v)
							for i := range v {
								if got, want := complex128(alpha)*complex128(v[i]), x.at(i, 0); cmplx.Abs(got-want) > 1e-4 {
									t.Fatalf("trsv %s: element %d is %v, want %v", what, i, got, want)
								}
							}
						}
					}
				}
			}
		}
	}
}

func TestComplexPotrf(t *testing.T) {
	eachComplex(t, complexPotrf[complex64], complexPotrf[complex128])
}

func complexPotrf[T Complex](t *testing.T, r ComplexRoutines[T]) {
	rnd := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{0, 1, 2, 24, 25, 60, 100} {
		for _, u := range []Uplo{Lower, Upper} {
			g := randomMat[T](rnd, n, n)
			a := randomMat[T](rnd, n, n)
			for i := range n {
				for j := range n {
					v := dotOf(n, func(l int) complex128 { return g.at(i, l) }, func(l int) complex128 { return cmplx.Conj(g.at(j, l)) })
					if i == j {
						v = complex(real(v)+1, 0)
					}
					if a.a[i*a.ld+j] = T(v); i != j && (i > j) != (u == Lower) {
						a.a[i*a.ld+j] = T(complex(7, 7)) // not read
					}
				}
			}
			f := a.clone()
			what := fmt.Sprintf("potrf %d, %d", n, u)
			if bad := r.Potrf(u, n, f.a, f.ld); bad != 0 {
				t.Fatalf("%s: %d", what, bad)
			}
			if n == 0 {
				continue
			}
			l := f.triangle(u, NonUnit)
			back := a.clone()
			for i := range n {
				for j := range n {
					switch {
					case i != j && (i > j) != (u == Lower):
						back.a[i*back.ld+j] = f.a[i*f.ld+j]
					case u == Lower:
						back.a[i*back.ld+j] = T(dotOf(n, func(k int) complex128 { return l.at(i, k) }, func(k int) complex128 { return cmplx.Conj(l.at(j, k)) }))
					default:
						back.a[i*back.ld+j] = T(dotOf(n, func(k int) complex128 { return cmplx.Conj(l.at(k, i)) }, func(k int) complex128 { return l.at(k, j) }))
					}
				}
			}
			expectMat(t, what, back, 4*n, a.at)
			for _, v := range []T{0, -1, T(complex(math.NaN(), 0))} {
				k := n / 2
				f := a.clone()
				f.a[k*f.ld+k] = v
				if bad := r.Potrf(u, n, f.a, f.ld); bad != k+1 {
					t.Fatalf("%s: with %v for pivot %d: %d", what, v, k+1, bad)
				}
			}
		}
	}
}

func TestComplexVectors(t *testing.T) {
	eachComplex(t, complexVectors[complex64], complexVectors[complex128])
}

func complexVectors[T Complex](t *testing.T, r ComplexRoutines[T]) {
	rnd := rand.New(rand.NewPCG(9, 10))
	alpha, beta := T(complex(0.5, 1)), T(complex(-1, 0.25))
	for _, n := range []int{0, 1, 7, 300} {
		x, y := randomMat[T](rnd, 1, n), randomMat[T](rnd, 1, n)
		xs, ys := x.a[:n], y.a[:n]
		close := func(what string, got, want complex128) {
			t.Helper()
			if cmplx.Abs(got-want) > 1e-4*(1+cmplx.Abs(want)) {
				t.Errorf("%s of %d: %v, want %v", what, n, got, want)
			}
		}
		at := func(m *cmat[T]) func(i int) complex128 { return func(i int) complex128 { return m.at(0, i) } }
		conjugate := func(i int) complex128 { return cmplx.Conj(x.at(0, i)) }
		close("dotu", complex128(r.Dotu(xs, ys)), dotOf(n, at(x), at(y)))
		close("dotc", complex128(r.Dotc(xs, ys)), dotOf(n, conjugate, at(y)))
		close("nrm2", complex(r.Nrm2(xs), 0), cmplx.Sqrt(dotOf(n, conjugate, at(x))))
		before := y.clone()
		r.Axpy(alpha, xs, ys)
		expectMat(t, "axpy", y, 1, func(_, i int) complex128 { return complex128(alpha)*x.at(0, i) + before.at(0, i) })
		before = x.clone()
		r.Scal(alpha, xs)
		expectMat(t, "scal", x, 1, func(_, i int) complex128 { return complex128(alpha) * before.at(0, i) })
	}
	for _, ta := range allTrans {
		const m, n = 5, 8
		ny, nx := turned(ta, m, n)
		a, x, y := randomMat[T](rnd, m, n), randomMat[T](rnd, 1, nx), randomMat[T](rnd, 1, ny)
		before, op := y.clone(), a.op(ta)
		r.Gemv(ta, m, n, alpha, a.a, a.ld, x.a[:nx], beta, y.a[:ny])
		expectMat(t, "gemv", y, nx, func(_, i int) complex128 {
			return complex128(alpha)*dotOf(nx, func(l int) complex128 { return op(i, l) }, func(l int) complex128 { return x.at(0, l) }) + complex128(beta)*before.at(0, i)
		})
	}
}
