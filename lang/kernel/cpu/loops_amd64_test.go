package cpu

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/lang/kernel/elementary"
)

// TestProductLoops compares the bits of the two forms of the loops of products of f32 that are added as f64.
func TestProductLoops(t *testing.T) {
	if !elementary.HasAVX2() {
		t.Skip("a processor with AVX2 has a second form of these loops")
	}
	const blocks, n = 9, 9 * 8
	r := rand.New(rand.NewPCG(3, 4))
	special := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), math.MaxFloat32, 1e-45}
	number := func() float64 {
		if r.IntN(4) == 0 {
			return special[r.IntN(len(special))]
		}
		return r.NormFloat64()
	}
	type loop func(d, a, b, c unsafe.Pointer, s, t float64, n int)
	for name, forms := range map[string][2]loop{"VSV": {addProductVSV, addProductVSVAVX2}, "VVV": {addProductVVV, addProductVVVAVX2}} {
		for range 100 {
			a, b, c, s := make([]float32, n), make([]float32, n), make([]float64, n), float64(float32(number()))
			for k := range n {
				a[k], b[k], c[k] = float32(number()), float32(number()), number()
			}
			var d [2][]float64
			for k, f := range forms {
				d[k] = make([]float64, n)
				f(startOf(d[k]), startOf(a), startOf(b), startOf(c), s, 0, blocks)
			}
			for k := range n {
				if math.Float64bits(d[0][k]) != math.Float64bits(d[1][k]) {
					t.Fatalf("%s: %v + %v * (%v or %v) is %v, and with AVX2 %v", name, c[k], a[k], s, b[k], d[0][k], d[1][k])
				}
			}
		}
	}
}
