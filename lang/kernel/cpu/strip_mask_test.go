package cpu

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestMasks divides and blends strips of all short lengths, whose rounds run, do not run, and are mixed, as one
// round after the other does.
func TestMasks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	bools := func(n int) []bool {
		out, kind := make([]bool, n), r.IntN(3)
		for k := range out {
			out[k] = kind == 1 || kind == 2 && r.IntN(2) == 1
		}
		return out
	}
	for n := range 40 {
		for round := range 50 {
			v, mask := bools(n), bools(n)
			if round%3 == 0 {
				mask = nil
			}
			runs := func(k int) bool { return mask == nil || mask[k] }
			yes, no := make([]bool, n), make([]bool, n)
			in, out := splitMask(v, mask, yes, no)
			for k := range n {
				if yes[k] != (runs(k) && v[k]) || no[k] != (runs(k) && !v[k]) {
					t.Fatalf("splitMask(%v, %v) gives %v and %v", v, mask, yes, no)
				}
				if yes[k] {
					in--
				}
				if no[k] {
					out--
				}
			}
			if in != 0 || out != 0 {
				t.Fatalf("splitMask(%v, %v) counts %d and %d too many", v, mask, in, out)
			}
			splitMask(v, mask, v, no)
			if !slices.Equal(v, yes) {
				t.Fatalf("splitMask into v gives %v instead of %v", v, yes)
			}
			testBlend(t, r, yes, func(x uint64) float64 { return float64(x) })
			testBlend(t, r, yes, func(x uint64) int32 { return int32(x) })
			testBlend(t, r, yes, func(x uint64) int16 { return int16(x) })
			testBlend(t, r, yes, func(x uint64) bool { return x&1 == 1 })
		}
	}
}

func testBlend[T comparable](t *testing.T, r *rand.Rand, mask []bool, make func(x uint64) T) {
	t.Helper()
	var d, x, want []T
	for k := range mask {
		d, x = append(d, make(r.Uint64())), append(x, make(r.Uint64()))
		want = append(want, d[k])
		if mask[k] {
			want[k] = x[k]
		}
	}
	if blend(d, x, mask); !slices.Equal(d, want) {
		t.Fatalf("blend(…, %v) gives %v instead of %v", mask, d, want)
	}
}
