package engine

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/starpush/starpush/datamgr/iface"
)

// An end dependency is added while the task ends, and what waits for it starts and ends:
// it is added, or too late.
func TestEndDependencyAtTheEnd(t *testing.T) {
	for _, o := range configs {
		if o.Sequential {
			continue
		}
		rt, j := start(t, o)
		x, y := ints(t, rt, make([]int64, 1)), ints(t, rt, make([]int64, 1))
		for range 300 {
			g := j.NewGate()
			k, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, x), After: []Dependency{g}})
			must(t, err)
			last := k
			for range 3 { // behind its end, by data, and behind that
				last, err = j.SubmitTask(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, y), After: []Dependency{last}})
				must(t, err)
				must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, y)}))
			}
			other, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: ops(iface.R, ints(t, rt, make([]int64, 1)))})
			must(t, err)
			var wg sync.WaitGroup
			wg.Go(g.Open)
			wg.Go(func() {
				for range 20 {
					var late *EndedError
					if err := k.AddEndDependency(other); errors.As(err, &late) {
						break
					} else if err != nil {
						t.Error(err)
					}
				}
			})
			wg.Wait()
			must(t, last.Wait(context.Background()))
		}
	}
}
