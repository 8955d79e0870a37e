package cpu

// The values of the codelets of kerneltest.Examples.

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/kernel/kerneltest"
	"github.com/starpush/starpush/lang/kernel/lower"
)

// example compiles a codelet of the examples in every way.
func example(t *testing.T, name string, targs map[byte]iface.Elem) map[string]*Program {
	t.Helper()
	f, cs := kerneltest.Codelets(t, "examples.spu", kerneltest.Examples)
	for _, c := range cs {
		if c.Name.Name == name {
			fn, ds := lower.Concrete(f, c, kerneltest.Signature(c), targs)
			if ds.Err() != nil {
				t.Fatal(ds)
			}
			return compiledAll(fn)
		}
	}
	t.Fatalf("no example %s", name)
	return nil
}

// wantClose compares floats that may differ by rounding.
func wantClose(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateApprox(1e-13, 0), cmpopts.EquateNaNs()); d != "" {
		t.Errorf("%s: %s", what, d)
	}
}

func filled(n int, f func(i int) float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = f(i)
	}
	return x
}

func TestExampleValues(t *testing.T) {
	const n = 1300
	for name, p := range example(t, "ex3_init", nil) {
		x := make([]float64, n)
		b := kerneltest.VectorOf(x)
		b.Off[0] = 40
		run(t, p, kerneltest.Buffers(b))
		wantClose(t, "init "+name, filled(n, func(i int) float64 { return float64(41 + i) }), x)
	}
	for name, p := range example(t, "ex3_dot", nil) {
		x, acc := filled(n, func(i int) float64 { return float64(i) }), 5.0
		run(t, p, kerneltest.Buffers(kerneltest.VectorOf(x), kerneltest.VectorOf(x), kerneltest.VariableOf(&acc)))
		wantClose(t, "dot "+name, 5+float64(n-1)*n*(2*n-1)/6, acc)
	}
	for name, p := range example(t, "ex5_spd", nil) {
		a := make([]float64, 6*7)
		b := kerneltest.MatrixOf(a, 6, 7, 7)
		b.Off[0], b.Off[1] = 3, 2
		run(t, p, kerneltest.Buffers(b), iface.Int(100))
		wantClose(t, "spd "+name, filled(42, func(k int) float64 {
			r, c := k/7+3, k%7+2
			v := 1 / float64(1+r+c)
			if r == c {
				v += 100
			}
			return v
		}), a)
	}
	for name, p := range example(t, "ex6_gemv", nil) {
		const rows, cols = 20, 700
		a, x := filled(rows*cols, func(k int) float64 { return float64(k % 13) }), filled(cols, func(i int) float64 { return float64(i % 7) })
		y := filled(rows, func(i int) float64 { return float64(i) })
		run(t, p, kerneltest.Buffers(kerneltest.MatrixOf(a, rows, cols, cols), kerneltest.VectorOf(x), kerneltest.VectorOf(y)))
		wantClose(t, "gemv "+name, filled(rows, func(i int) float64 {
			s := float64(i)
			for j := range cols {
				s += float64((i*cols+j)%13) * float64(j%7)
			}
			return s
		}), y)
	}
	for name, p := range example(t, "ex7_sweep", nil) {
		const rows, cols = 9, 530
		u, v := filled((rows+2)*cols, func(k int) float64 { return float64(k*k%101) / 8 }), make([]float64, rows*cols)
		run(t, p, kerneltest.Buffers(kerneltest.MatrixOf(u, rows+2, cols, cols), kerneltest.MatrixOf(v, rows, cols, cols)))
		wantClose(t, "sweep "+name, filled(rows*cols, func(k int) float64 {
			i, j := k/cols, k%cols
			at := func(i, j int) float64 { return u[i*cols+j] }
			if j == 0 || j == cols-1 {
				return at(i+1, j)
			}
			return 0.25 * (at(i, j) + at(i+2, j) + at(i+1, j-1) + at(i+1, j+1))
		}), v)
	}
	for name, p := range example(t, "ex10_smooth", nil) {
		x, tmp, y := filled(n, func(i int) float64 { return math.Sin(float64(i)) }), make([]float64, n), make([]float64, n)
		run(t, p, kerneltest.Buffers(kerneltest.VectorOf(x), kerneltest.VectorOf(tmp), kerneltest.VectorOf(y)))
		wantClose(t, "smooth "+name, filled(n, func(i int) float64 {
			lo, hi := max(i-1, 0), min(i+1, n-1)
			return (x[lo]*x[lo] + x[i]*x[i] + x[hi]*x[hi]) / 3
		}), y)
	}
	for name, p := range example(t, "ex12_pivot", nil) {
		a, piv := filled(12, func(k int) float64 { return float64(k) }), make([]int32, n)
		a32 := make([]float32, 12)
		for k, v := range a {
			a32[k] = float32(v)
		}
		run(t, p, kerneltest.Buffers(kerneltest.MatrixOf(a32, 3, 4, 4), kerneltest.VectorOf(piv)))
		for k, v := range a32 {
			if v != -float32(k) {
				t.Errorf("pivot %s: A[%d] is %v", name, k, v)
			}
		}
		for k, v := range piv {
			if v != int32(k) {
				t.Fatalf("pivot %s: piv[%d] is %v", name, k, v)
			}
		}
	}
	for name, p := range example(t, "ex13_call_price", nil) {
		s, k, tt := filled(n, func(i int) float64 { return 50 + float64(i%100) }), filled(n, func(int) float64 { return 100 }), filled(n, func(i int) float64 { return float64(i%5) / 4 })
		price := make([]float64, n)
		run(t, p, kerneltest.Buffers(kerneltest.VectorOf(s), kerneltest.VectorOf(k), kerneltest.VectorOf(tt), kerneltest.VectorOf(price)), iface.Float(0.02), iface.Float(0.3))
		wantClose(t, "call_price "+name, filled(n, func(i int) float64 { return priceOf(s[i], k[i], tt[i], 0.02, 0.3) }), price)
	}
	for name, p := range example(t, "ex13_stats", nil) {
		x, top, total := filled(n, func(i int) float64 { return float64(i * 37 % 1000) }), 3.0, 4.0
		run(t, p, kerneltest.Buffers(kerneltest.VectorOf(x), kerneltest.VariableOf(&top), kerneltest.VariableOf(&total)))
		sum := 4.0
		for _, v := range x {
			sum += v
		}
		wantClose(t, "stats "+name, []float64{999, sum}, []float64{top, total})
	}
}
