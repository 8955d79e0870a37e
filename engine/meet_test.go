package engine

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/sched"
)

// TestMeetings: tasks that may run side by side do, if there are workers: readers that
// wait for each other come together, again and again, whoever sleeps or looks for work
// when they are released.
func TestMeetings(t *testing.T) {
	for _, name := range sched.Names() {
		t.Run(name, func(t *testing.T) {
			rt, j := start(t, Options{Workers: 8, Policy: name})
			h := ints(t, rt, make([]int64, 1))
			end := time.Now().Add(*soak)
			for round := 0; round < 100 || time.Now().Before(end); round++ {
				var all sync.WaitGroup
				all.Add(4)
				here := make(chan struct{})
				go func() { all.Wait(); close(here) }()
				meet := kernel("meet", func(*TaskContext) error {
					all.Done()
					select {
					case <-here:
						return nil
					case <-time.After(time.Minute):
						return errBoom
					}
				})
				must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, h)}))
				for range 4 {
					must(t, j.Submit(&TaskSpec{Codelet: meet, Operands: ops(iface.R, h)}))
				}
				if round%3 > 0 { // else what runs releases the next
					must(t, j.Wait(context.Background()))
				}
			}
			must(t, j.Wait(context.Background()))
			for _, f := range j.Failures() {
				t.Error(f)
			}
		})
	}
}
