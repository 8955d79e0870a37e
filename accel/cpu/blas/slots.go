//go:build (linux || darwin) && !android && !ios && (amd64 || arm64 || riscv64 || loong64)

package blas

import "sync/atomic"

// slots lets a number of callers in at once. Taking and giving one is an atomic
// addition while there are enough; a channel in their place was a lock that
// workers met on at every call.
type slots struct {
	free atomic.Int64  // below 0: the number of waiters, negated
	wake chan struct{} // one token for each that may go on
}

func newSlots(n int) *slots {
	s := &slots{wake: make(chan struct{})}
	s.free.Store(int64(n))
	return s
}

func (s *slots) take() {
	if s.free.Add(-1) < 0 {
		<-s.wake
	}
}

func (s *slots) give() {
	if s.free.Add(1) <= 0 {
		s.wake <- struct{}{}
	}
}
