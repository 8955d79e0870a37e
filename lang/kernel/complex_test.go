package kernel

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/kernel/elementary"
	"github.com/starpush/starpush/lang/kernel/kerneltest"
	"github.com/starpush/starpush/lang/kernel/llvm"
	"github.com/starpush/starpush/lang/kernel/opencl"
)

const complexBodies = `codelet functions(x: R vector[c128], y: R vector[c128], A: W matrix[c128], r: W matrix[f64]) {
    each i in x {
        let z = x[i]
        A[i, 0] = z * y[i]
        A[i, 1] = z / y[i]
        A[i, 2] = sqrt(z)
        A[i, 3] = exp(z)
        A[i, 4] = log(z)
        A[i, 5] = z ** 3
        A[i, 6] = if z == y[i] then conj(z) else z - y[i]
        A[i, 7] = 2.5 * z + 1.0 - z / 4.0
        r[i, 0] = abs(z)
        r[i, 1] = arg(z)
    }
}
codelet narrow(x: R vector[c64], y: R vector[c64], A: W matrix[c64]) {
    each i in x {
        A[i, 0] = x[i] * y[i]
        A[i, 1] = x[i] / y[i]
    }
}
`

// TestComplexFunctions compares bodies with complex elements, in strips and as machine code, with
// the functions that scripts use: all parts have the same bits, or both are NaN.
func TestComplexFunctions(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	special := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, 1e-200, 1e200, math.Inf(1), math.Inf(-1), math.NaN()}
	part := func() float64 {
		if rnd.IntN(3) == 0 {
			return special[rnd.IntN(len(special))]
		}
		return rnd.NormFloat64() * math.Exp(3*rnd.NormFloat64())
	}
	const n, cols = 2000, 8
	x, y := make([]complex128, n), make([]complex128, n)
	narrowX, narrowY := make([]complex64, n), make([]complex64, n)
	for i := range x {
		if x[i], y[i] = complex(part(), part()), complex(part(), part()); i%7 == 0 {
			y[i] = x[i]
		}
		narrowX[i], narrowY[i] = complex64(x[i]), complex64(y[i])
	}
	same := func(a, b float64) bool {
		return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b
	}
	f, cs := kerneltest.Codelets(t, "t.spu", complexBodies)
	for _, mode := range []Mode{Strips, Native} {
		if _, err := llvm.Open(); mode == Native && err != nil {
			continue
		}
		run := func(k int, bufs ...*iface.Buffer) {
			t.Helper()
			p, err := Compile(f, cs[k], kerneltest.Signature(cs[k]), nil, Options{Mode: mode})
			if err == nil {
				_, err = p.RunTask(&kerneltest.Task{Ctx: context.Background(), Bufs: bufs}, nil)
			}
			if err != nil {
				t.Fatalf("%v: %v", mode, err)
			}
		}
		a, r := make([]complex128, n*cols), make([]float64, n*2)
		run(0, kerneltest.VectorOf(x), kerneltest.VectorOf(y), kerneltest.MatrixOf(a, n, cols, cols), kerneltest.MatrixOf(r, n, 2, 2))
		for i, z := range x {
			w := y[i]
			last := z - w
			if z == w {
				last = complex(real(z), -imag(z))
			}
			scaled := complex(2.5*real(z), 2.5*imag(z))
			want := []complex128{iface.MulC128(z, w), iface.DivC128(z, w), elementary.SqrtComplex(z), elementary.ExpComplex(z), elementary.LogComplex(z),
				iface.MulC128(z, iface.MulC128(z, z)), last, complex(real(scaled)+1, imag(scaled)) - complex(real(z)/4, imag(z)/4)}
			for k, w := range want {
				if got := a[i*cols+k]; !same(real(got), real(w)) || !same(imag(got), imag(w)) {
					t.Fatalf("%v: function %d of %v and %v is %v, want %v", mode, k, z, y[i], got, w)
				}
			}
			if got, want := r[2*i:][:2], [2]float64{elementary.AbsComplex(z), elementary.ArgComplex(z)}; !same(got[0], want[0]) || !same(got[1], want[1]) {
				t.Fatalf("%v: abs and arg of %v are %v, want %v", mode, z, got, want)
			}
		}
		b := make([]complex64, n*2)
		run(1, kerneltest.VectorOf(narrowX), kerneltest.VectorOf(narrowY), kerneltest.MatrixOf(b, n, 2, 2))
		for i, z := range narrowX {
			for k, w := range []complex64{iface.MulC64(z, narrowY[i]), iface.DivC64(z, narrowY[i])} {
				if got := b[2*i+k]; !same(float64(real(got)), float64(real(w))) || !same(float64(imag(got)), float64(imag(w))) {
					t.Fatalf("%v: operator %d of %v and %v is %v, want %v", mode, k, z, narrowY[i], got, w)
				}
			}
		}
	}
}

// TestComplexOnDevices: bodies with complex operands have no kernels for devices, for a reason that
// names the operand. Complex locals are no obstacle.
func TestComplexOnDevices(t *testing.T) {
	for _, tt := range []struct{ source, why string }{
		{"codelet c(x: RW vector[c128]) { each i in x { x[i] *= 2.0 } }", "operand `x` has complex elements, which CPU workers alone take"},
		{"codelet c(n: R vector[f64], v: RW variable[c64]) { v += sum i in n { n[i] } }", "operand `v` has complex elements, which CPU workers alone take"},
		{"codelet c(n: W vector[f64], z: complex) { each i in n { n[i] = re(z) } }", "scalar `z` is complex, and CPU workers alone take that"},
		{"codelet c(n: RW vector[f64]) { each i in n { let z = complex(n[i], 1.0)\n n[i] = re(z * z) } }", ""},
	} {
		fn := kerneltest.Lowered(t, tt.source, nil)
		_, openCL := opencl.New(fn)
		_, cuda := llvm.NewDevice(fn)
		for kind, err := range map[string]error{"opencl": openCL, "cuda": cuda} {
			if tt.why == "" && err != nil || tt.why != "" && (err == nil || err.Error() != tt.why) {
				t.Errorf("%s\n %s: %v, want %q", tt.source, kind, err, tt.why)
			}
		}
	}
}
