package elementary

import (
	"math"
	"math/rand/v2"
	"testing"
)

// BenchmarkFunctions measures slices of random arguments, beside package math.
func BenchmarkFunctions(b *testing.B) {
	std := map[string]func(float64) float64{"exp": math.Exp, "log": math.Log, "log2": math.Log2, "sin": math.Sin, "cos": math.Cos,
		"tan": math.Tan, "tanh": math.Tanh, "erf": math.Erf, "cbrt": math.Cbrt}
	const n = 1024
	r := rand.New(rand.NewPCG(1, 1))
	x, y, z := make([]float64, n), make([]float64, n), make([]float64, n)
	v, w := make([]float32, n), make([]float32, n)
	for k := range x {
		x[k], z[k] = 4*r.Float64(), 8*r.Float64()-4
		v[k] = float32(x[k])
	}
	run := func(name string, f func()) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				f()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/value")
		})
	}
	for _, name := range Names() {
		if name == "pow" {
			continue
		}
		f, g := Unary(name), std[name]
		run(name+"/f64", func() { f.Slice64(y, x) })
		run(name+"/f32", func() { f.Slice32(w, v) })
		run(name+"/math", func() {
			for k, x := range x {
				y[k] = g(x)
			}
		})
	}
	run("pow/f64", func() { PowSlice(y, x, z) })
	run("pow/f32", func() { PowSliceF32(w, v, v) })
	run("pow/math", func() {
		for k, x := range x {
			y[k] = math.Pow(x, z[k])
		}
	})
}
