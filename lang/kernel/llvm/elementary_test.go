//go:build linux && amd64

package llvm

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/starpush/starpush/lang/kernel/elementary"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/kernel/kerneltest"
)

// arguments returns floats of all magnitudes, special values among them.
func arguments(r *rand.Rand, n int) []float64 {
	x := []float64{0, math.Copysign(0, -1), 1, -1, 2, 0.5, math.Inf(1), math.Inf(-1), math.NaN(), math.Pi, math.Pi / 2, 1e300, -1e300, 1e22, 710, -745, 5e-324, -5e-324, 0x1p-1022, math.MaxFloat64}
	for len(x) < n {
		switch len(x) % 4 {
		case 0:
			x = append(x, math.Float64frombits(r.Uint64()))
		case 1:
			x = append(x, r.NormFloat64()*100)
		case 2:
			x = append(x, r.NormFloat64())
		default:
			x = append(x, float64(r.IntN(100)-50))
		}
	}
	return x
}

// call runs a body of two inputs and one output in lanes and, for each value, in scalar code.
func call[T ir.Float](t *testing.T, typ, expr string, x, y []T) (lanes, scalar []T) {
	t.Helper()
	for way, loop := range []string{"each", "for"} {
		k, _ := compiled(t, fmt.Sprintf("codelet c(x: R vector[%s], y: R vector[%s], z: W vector[%s]) { %s i in 0..z.n { z[i] = %s } }", typ, typ, typ, loop, expr))
		z := make([]T, len(x))
		if err := k.Run(&kerneltest.Task{Ctx: context.Background(), Bufs: kerneltest.Buffers(kerneltest.VectorOf(x), kerneltest.VectorOf(y), kerneltest.VectorOf(z))}); err != nil {
			t.Fatal(err)
		}
		if way == 0 {
			lanes = z
		} else {
			scalar = z
		}
	}
	return lanes, scalar
}

// same reports whether two floats have the same bits, or are NaNs.
func same[T ir.Float](a, b T) bool {
	return a != a && b != b || math.Float64bits(float64(a)) == math.Float64bits(float64(b))
}

func compareCall[T ir.Float](t *testing.T, typ, expr string, x, y []T, want func(x, y T) T) {
	t.Helper()
	lanes, scalar := call(t, typ, expr, x, y)
	for i := range x {
		if w := want(x[i], y[i]); !same(lanes[i], w) || !same(scalar[i], w) {
			t.Errorf("%s of %s at %v, %v: %v in lanes, %v in scalar code, want %v", expr, typ, x[i], y[i], lanes[i], scalar[i], w)
			return
		}
	}
}

// TestElementary compares elementary functions, and others of floats, with the Go functions
// whose bits they must have.
func TestElementary(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	x, y := arguments(r, 6001), arguments(r, 6001)
	r.Shuffle(len(y), func(i, k int) { y[i], y[k] = y[k], y[i] })
	copy(y[100:], x[:50]) // equal arguments
	x32, y32 := make([]float32, len(x)), make([]float32, len(y))
	for i := range x {
		x32[i], y32[i] = float32(x[i]), float32(y[i])
		if i%4 == 0 && i > 20 {
			x32[i] = math.Float32frombits(r.Uint32())
		}
	}
	for _, name := range elementary.Names() {
		if name == "pow" {
			pow := func(a, b float64) float64 {
				if b == 2 {
					return a * a
				}
				return elementary.Pow(a, b)
			}
			pow32 := func(a, b float32) float32 {
				if b == 2 {
					return a * a
				}
				return elementary.PowF32(a, b)
			}
			compareCall(t, "f64", "pow(x[i], y[i])", x, y, pow)
			compareCall(t, "f32", "pow(x[i], y[i])", x32, y32, pow32)
			continue
		}
		f := elementary.Unary(name)
		compareCall(t, "f64", name+"(x[i])", x, y, func(a, _ float64) float64 { return f.F64(a) })
		compareCall(t, "f32", name+"(x[i])", x32, y32, func(a, _ float32) float32 { return f.F32(a) })
	}
	compareCall(t, "f64", "x[i] % y[i]", x, y, ir.FloorModFloat[float64])
	compareCall(t, "f32", "x[i] % y[i]", x32, y32, ir.FloorModFloat[float32])
	compareCall(t, "f64", "min(x[i], y[i])", x, y, func(a, b float64) float64 { return min(a, b) })
	compareCall(t, "f32", "max(x[i], y[i])", x32, y32, func(a, b float32) float32 { return max(a, b) })
	compareCall(t, "f64", "max(x[i], 0.0) + min(1.5, y[i])", x, y, func(a, b float64) float64 { return max(a, 0) + min(1.5, b) })
	compareCall(t, "f64", "round(x[i]) + floor(y[i])", x, y, func(a, b float64) float64 { return math.Round(a) + math.Floor(b) })
	compareCall(t, "f32", "round(x[i]) - ceil(y[i])", x32, y32, func(a, b float32) float32 {
		return float32(math.Round(float64(a))) - float32(math.Ceil(float64(b)))
	})
	compareCall(t, "f64", "float(int(x[i])) + sqrt(y[i])", x, y, func(a, b float64) float64 {
		return float64(ir.Saturate(a, ir.I64)) + math.Sqrt(b)
	})
	compareCall(t, "f32", "fma(x[i], y[i], x[i])", x32, y32, func(a, b float32) float32 { return ir.FMA(a, b, a) })
	compareCall(t, "f64", "abs(x[i]) // y[i]", x, y, func(a, b float64) float64 { return math.Floor(math.Abs(a) / b) })
}
