package main

import "testing"

// TestHistogram: the counts are those of one loop, for any number of blocks.
func TestHistogram(t *testing.T) {
	const n = 10_007
	x, bins := make([]uint32, n), make([]int64, 16)
	fill(0, x)
	count(x, bins)
	want := int64(0)
	for _, c := range bins {
		want = max(want, c)
	}
	for _, blocks := range []int{1, 7, 100} {
		top, total, err := histogram(t.Context(), n, blocks)
		if err != nil || top != want || total != n {
			t.Errorf("%d blocks: %d of %d, %v; want %d of %d", blocks, top, total, err, want, n)
		}
	}
}
