package main

// draws makes the operands of the random workload: n triples of different
// numbers below h, from the LCG that the peers' benchmarks use.
func draws(n, h int) []int64 {
	out := make([]int64, 0, 3*n)
	s := uint64(12345)
	for range n {
		first := len(out)
	next:
		for len(out) < first+3 {
			s = s*6364136223846793005 + 1442695040888963407
			x := int64((s >> 33) % uint64(h))
			for _, y := range out[first:] {
				if x == y {
					continue next
				}
			}
			out = append(out, x)
		}
	}
	return out
}
