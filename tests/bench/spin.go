package main

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// A kernel of a given length counts rounds of a loop instead of watching a clock:
// where threads share a core, a clock goes on while the kernel does not run, and
// tasks would seem to cost less than they do. The peers' kernels are the same.

// spinSink keeps the loop from being removed.
var spinSink atomic.Uint64

func rounds(n int) {
	x := uint64(n)
	for range n {
		x = x*6364136223846793005 + 1442695040888963407
	}
	if x == 0 { // practically never: a write to shared memory would cost more than the loop
		spinSink.Add(1)
	}
}

// perNS is how many rounds take a nanosecond: the fastest of many short trials,
// which something else may have interrupted.
var perNS = sync.OnceValue(func() float64 {
	const n = 10000
	best := time.Duration(math.MaxInt64)
	for range 200 {
		start := time.Now()
		rounds(n)
		best = min(best, max(time.Since(start), 1))
	}
	return n / float64(best.Nanoseconds())
})

// spinner returns a function that works for ns nanoseconds on a core of its own.
func spinner(ns int) func() {
	if ns == 0 {
		return func() {}
	}
	n := int(math.Round(float64(ns) * perNS()))
	return func() { rounds(n) }
}
