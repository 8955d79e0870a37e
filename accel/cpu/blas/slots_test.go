//go:build (linux || darwin) && !android && !ios && (amd64 || arm64 || riscv64 || loong64)

package blas

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// TestSlots: at most n callers are in at a time, and all of them get in.
func TestSlots(t *testing.T) {
	const n, callers, rounds = 3, 16, 500
	s := newSlots(n)
	var in, turns atomic.Int32
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for range rounds {
				s.take()
				if k := in.Add(1); k > n {
					t.Errorf("%d are in", k)
				}
				runtime.Gosched()
				in.Add(-1)
				turns.Add(1)
				s.give()
			}
		})
	}
	all.Wait()
	if turns.Load() != callers*rounds || s.free.Load() != n {
		t.Errorf("%d turns, %d free", turns.Load(), s.free.Load())
	}
}
