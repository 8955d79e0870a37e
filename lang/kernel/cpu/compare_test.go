package cpu

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/starpush/starpush/lang/kernel/ir"
)

// TestComparisons compares the loops of this machine with the plain ones.
func TestComparisons(t *testing.T) {
	t.Run("f64", testComparisons[float64])
	t.Run("f32", testComparisons[float32])
	t.Run("i32", testComparisons[int32])
}

func testComparisons[T ir.Number](t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	values := []T{0, 1, 2, 3}
	if f, ok := any(values).([]float64); ok {
		values = any(append(f, math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 5e-324)).([]T)
	}
	if f, ok := any(values).([]float32); ok {
		values = any(append(f, float32(math.NaN()), float32(math.Inf(1)), float32(math.Copysign(0, -1)), 1e-45)).([]T)
	}
	some := func(n int) []T {
		x := make([]T, n)
		for k := range x {
			x[k] = values[r.IntN(len(values))]
		}
		return x
	}
	for _, op := range []ir.Op{ir.OpEq, ir.OpNe, ir.OpLt, ir.OpLe, ir.OpGt, ir.OpGe} {
		loops := comparisonOf[T](op)
		for n := range 70 {
			a, b, s := some(n), some(n), some(1)[0]
			got, want := make([]bool, n+1), make([]bool, n+1)
			got[n], want[n] = true, true // not theirs
			loops.vv(got[:n], a, b)
			compareVV(op, want[:n], a, b)
			if !slices.Equal(got, want) {
				t.Fatalf("%v of %v and %v is %v instead of %v", op, a, b, got, want)
			}
			loops.vs(got[:n], a, s)
			compareVS(op, want[:n], a, s)
			if !slices.Equal(got, want) {
				t.Fatalf("%v of %v and %v is %v instead of %v", op, a, s, got, want)
			}
		}
	}
}
