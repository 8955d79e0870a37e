package stdlib

import (
	"errors"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/starpush/starpush/accel/cpu/blas"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

// TestComplex compares codelets on complex elements with plain loops.
func TestComplex(t *testing.T) {
	complexCodelets[complex64](t, 1e-5)
	complexCodelets[complex128](t, 1e-13)
}

func complexCodelets[T blas.Complex](t *testing.T, eps float64) {
	rnd := rand.New(rand.NewPCG(1, 1))
	const n, ld = 6, 8
	random := func() []T {
		x := make([]T, n*ld)
		for i := range x {
			x[i] = T(complex(rnd.Float64()-0.5, rnd.Float64()-0.5))
		}
		return x
	}
	conj := func(z T) T { return T(cmplx.Conj(complex128(z))) }
	check := func(what string, got []T, want func(i, j int) T) {
		t.Helper()
		for i := range n {
			for j := range n {
				if g, w := complex128(got[i*ld+j]), complex128(want(i, j)); cmplx.Abs(g-w) > eps*(1+cmplx.Abs(w)) {
					t.Fatalf("%s of %T: element %d, %d is %v, want %v", what, got[0], i, j, g, w)
				}
			}
		}
	}
	mat := func(x []T) *iface.Buffer { return dense(n, n, ld, x) }
	num := func(z complex128) iface.Scalar { return iface.Complex(z) }
	product := func(k int, f func(l int) T) (s T) {
		for l := range k {
			s += f(l)
		}
		return s
	}
	alpha, beta := complex(0.5, -1), complex(2, 0.25)
	a, b := random(), random()
	at := func(x []T) func(i, j int) T { return func(i, j int) T { return x[i*ld+j] } }
	copied := func(x []T) []T { return append([]T(nil), x...) }

	c := make([]T, n*ld)
	must(t, "std/blas", "fill", bufs(mat(c)), num(alpha))
	check("fill", c, func(i, j int) T { return T(alpha) })
	must(t, "std/blas", "copy", bufs(mat(a), mat(c)))
	check("copy", c, at(a))
	d := copied(b)
	must(t, "std/blas", "swap", bufs(mat(c), mat(d)))
	check("swap", c, at(b))
	check("swap", d, at(a))
	must(t, "std/blas", "transpose", bufs(mat(a), mat(c)))
	check("transpose", c, func(i, j int) T { return a[j*ld+i] })
	c = copied(a)
	must(t, "std/blas", "scal", bufs(mat(c)), num(alpha))
	check("scal", c, func(i, j int) T { return T(alpha) * a[i*ld+j] })
	c = copied(b)
	must(t, "std/blas", "axpy", bufs(mat(a), mat(c)), num(alpha))
	check("axpy", c, func(i, j int) T { return T(alpha)*a[i*ld+j] + b[i*ld+j] })

	c = copied(b)
	must(t, "std/blas", "gemm", bufs(mat(a), mat(b), mat(c)), num(alpha), num(beta), str("c"), str("t"))
	check("gemm", c, func(i, j int) T {
		return T(alpha)*product(n, func(l int) T { return conj(a[l*ld+i]) * b[j*ld+l] }) + T(beta)*b[i*ld+j]
	})
	for i := range n {
		d[i*ld+i] = T(complex(real(complex128(d[i*ld+i])), 0))
	}
	c = copied(d)
	must(t, "std/blas", "herk", bufs(mat(a), mat(c)), iface.Float(2), iface.Float(-1), str("u"), str("c"))
	check("herk", c, func(i, j int) T {
		if i > j {
			return d[i*ld+j]
		}
		return 2*product(n, func(l int) T { return conj(a[l*ld+i]) * a[l*ld+j] }) - d[i*ld+j]
	})
	x, y := a[:n], b[:n]
	z := append([]T(nil), y...)
	must(t, "std/blas", "gemv", bufs(mat(a), vec(x), vec(z)), num(alpha), num(beta), str("c"))
	for i := range n {
		want := T(alpha)*product(n, func(l int) T { return conj(a[l*ld+i]) * x[l] }) + T(beta)*y[i]
		if cmplx.Abs(complex128(z[i]-want)) > eps*10 {
			t.Errorf("gemv: %v, want %v", z[i], want)
		}
	}
	one := func(name string, want T, args ...*iface.Buffer) {
		t.Helper()
		v := T(alpha)
		must(t, "std/blas", name, append(args, variable(&v)))
		if name != "nrm2" {
			want += T(alpha)
		}
		if cmplx.Abs(complex128(v-want)) > eps*10 {
			t.Errorf("%s: %v, want %v", name, v, want)
		}
	}
	one("dot", product(n, func(l int) T { return x[l] * y[l] }), vec(x), vec(y))
	one("dotc", product(n, func(l int) T { return conj(x[l]) * y[l] }), vec(x), vec(y))
	square := product(n, func(l int) T { return conj(x[l]) * x[l] })
	one("nrm2sq", square, vec(x))
	one("nrm2", T(cmplx.Sqrt(complex128(square))), vec(x))

	// A Cholesky factorisation, and a solve with its factor.
	h := make([]T, n*ld)
	for i := range n {
		for j := range n {
			h[i*ld+j] = product(n, func(l int) T { return a[i*ld+l] * conj(a[j*ld+l]) })
		}
		h[i*ld+i] += 1
	}
	l := copied(h)
	must(t, "std/blas", "potrf", bufs(mat(l)), str("l"))
	for i := range n {
		for j := i + 1; j < n; j++ {
			l[i*ld+j] = 0
		}
	}
	check("potrf", h, func(i, j int) T { return product(n, func(k int) T { return l[i*ld+k] * conj(l[j*ld+k]) }) })
	c = copied(b)
	must(t, "std/blas", "trsm", bufs(mat(l), mat(c)), num(alpha), str("r"), str("l"), str("c"), str("n"))
	check("trsm", b, func(i, j int) T {
		return product(n, func(k int) T { return c[i*ld+k] * conj(l[j*ld+k]) }) / T(alpha)
	})
	z = append([]T(nil), y...)
	must(t, "std/blas", "trsv", bufs(mat(l), vec(z)), str("l"), str("t"), str("n"))
	for j := range n {
		if got := product(n, func(k int) T { return l[k*ld+j] * z[k] }); cmplx.Abs(complex128(got-y[j])) > eps*10 {
			t.Errorf("trsv: %v, want %v", got, y[j])
		}
	}
	l[0] = -1
	if err := try(t, "std/blas", "potrf", bufs(mat(l)), str("l")); err == nil || err.Error() != "leading minor of order 1 is not positive" {
		t.Errorf("potrf: %v", err)
	}
}

// TestComplexRefused: complex factors for real elements, codelets for real elements alone, and
// transposed matrices where a Hermitian one is computed.
func TestComplexRefused(t *testing.T) {
	x, z := func() *iface.Buffer { return dense(2, 2, 2, make([]float64, 4)) }, func() *iface.Buffer { return dense(2, 2, 2, make([]complex128, 4)) }
	for _, tt := range []struct {
		name string
		bufs []*iface.Buffer
		args []iface.Scalar
		want string
	}{
		{"scal", bufs(x()), []iface.Scalar{iface.Complex(1i)}, "`scal` computes with elements of type f64, and `alpha` is a complex number"},
		{"herk", bufs(z(), z()), []iface.Scalar{num(1), num(1), str("l"), str("t")}, "`herk` needs `ta` to be \"n\" or \"c\", and got \"t\": use \"c\" for the conjugate transposed"},
		{"herk", bufs(x(), x()), []iface.Scalar{num(1), num(1), str("l"), str("n")}, "`herk` computes with c64 or c128, and `A` has elements of type f64"},
		{"syrk", bufs(z(), z()), []iface.Scalar{num(1), num(1), str("l"), str("n")}, "`syrk` computes with f32 or f64, and `A` has elements of type c128"},
	} {
		var e *engine.ShapeError
		if err := try(t, "std/blas", tt.name, tt.bufs, tt.args...); !errors.As(err, &e) || e.Message != tt.want {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
	// A real matrix is its own conjugate.
	a, c := []float64{1, 2, 3, 4}, make([]float64, 4)
	must(t, "std/blas", "gemm", bufs(dense(2, 2, 2, a), dense(2, 2, 2, []float64{1, 0, 0, 1}), dense(2, 2, 2, c)), num(1), num(0), str("c"), str("n"))
	expect(t, "gemm with \"c\"", c, []float64{1, 3, 2, 4})
}

// TestHalves: fill, scal and axpy compute with floats of 16 bits as float32, and round each element once;
// copy, swap and transpose move their bits.
func TestHalves(t *testing.T) {
	halves(t, iface.ToFloat16)
	halves(t, iface.ToBFloat16)
}

func halves[T half](t *testing.T, round func(float32) T) {
	t.Helper()
	expect := func(what string, got, want []T) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s of %T: %v, want %v", what, want[0], got, want)
		}
	}
	of := func(list ...float32) (x []T) {
		for _, v := range list {
			x = append(x, round(v))
		}
		return x
	}
	x, y := of(0.1, 1, -2.5, 99, 1e4, 3), of(0.3, 7, 1e-3, 98, 5, 6)
	must(t, "std/blas", "axpy", bufs(dense(2, 2, 3, x), dense(2, 2, 3, y)), num(0.7))
	a := round(0.7).Float32()
	want := of(0.3, 7, 1e-3, 98, 5, 6)
	for _, i := range []int{0, 1, 3, 4} {
		want[i] = round(float32(a*x[i].Float32()) + want[i].Float32())
	}
	expect("axpy", y, want)
	must(t, "std/blas", "scal", bufs(vec(y)), num(1.1))
	for i, v := range want {
		want[i] = round(round(1.1).Float32() * v.Float32())
	}
	expect("scal", y, want)
	must(t, "std/blas", "copy", bufs(vec(y), vec(x)))
	expect("copy", x, y)
	must(t, "std/blas", "fill", bufs(vec(x)), num(0.1))
	expect("fill", x, of(0.1, 0.1, 0.1, 0.1, 0.1, 0.1))
	must(t, "std/blas", "swap", bufs(vec(x), vec(y)))
	expect("swap", x, want)
}
