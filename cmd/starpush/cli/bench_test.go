package cli

import (
	"math"
	"testing"
)

func TestMeanOf(t *testing.T) {
	for _, c := range []struct {
		x               []float64
		mean, deviation float64
	}{
		{[]float64{3}, 3, 0},
		{[]float64{1, 3}, 2, math.Sqrt2},
		{[]float64{2, 4, 4, 4, 5, 5, 7, 9}, 5, math.Sqrt(32.0 / 7)},
	} {
		if mean, deviation := meanOf(c.x); math.Abs(mean-c.mean) > 1e-12 || math.Abs(deviation-c.deviation) > 1e-12 {
			t.Errorf("%v: %v ± %v, want %v ± %v", c.x, mean, deviation, c.mean, c.deviation)
		}
	}
}
