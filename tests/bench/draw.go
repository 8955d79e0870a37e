package main

import "slices"

// drawer returns a function that draws the operands of one task of the random
// workload: three different numbers below h, 3 or more, from the LCG that the
// peers' benchmarks use.
func drawer(h int) func() [3]int64 {
	s := uint64(12345)
	return func() (x [3]int64) {
		for k := 0; k < 3; {
			s = s*6364136223846793005 + 1442695040888963407
			if x[k] = int64((s >> 33) % uint64(h)); !slices.Contains(x[:k], x[k]) {
				k++
			}
		}
		return x
	}
}

// draws makes the operands of n tasks.
func draws(n, h int) []int64 {
	out := make([]int64, 0, 3*n)
	next := drawer(h)
	for range n {
		x := next()
		out = append(out, x[:]...)
	}
	return out
}
