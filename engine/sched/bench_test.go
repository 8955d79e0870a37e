package sched

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// BenchmarkStream is what a policy costs for each item that goes from a submitter
// to two workers, which release one more each.
func BenchmarkStream(b *testing.B) {
	for _, e := range Table() {
		b.Run(e.Name, func(b *testing.B) {
			const workers = 2
			p := e.New(CPUs(workers))
			items := make([]Item, b.N)
			var out atomic.Int64
			var all sync.WaitGroup
			n := int64(b.N)
			b.ResetTimer()
			for w := range workers {
				all.Go(func() {
					released := new(Item)
					for out.Load() < n {
						it := p.Pop(w)
						switch {
						case it == nil:
							runtime.Gosched()
						case it.Order == 0:
							released = it
						default:
							out.Add(1)
							released.Order = 0
							p.Push(released, w)
							released = new(Item)
						}
					}
				})
			}
			for i := range n {
				for i-out.Load() >= 4096 {
					runtime.Gosched()
				}
				items[i].Order = i + 1
				p.Push(&items[i], Outside)
			}
			all.Wait()
		})
	}
}
