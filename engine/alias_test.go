package engine

import (
	"context"
	"testing"

	"github.com/starpush/starpush/datamgr/iface"
)

// Memory that is registered twice is two pieces of data, which nothing orders but
// the program; the end of the one leaves the other alone.
func TestRegisteredTwice(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		x := []int64{0, 0}
		a, b := ints(t, rt, x), ints(t, rt, x)
		if a == b || a.Overlaps(b) {
			t.Fatal("one piece of data")
		}
		var last []Dependency
		for k := range 10 {
			h := a
			if k%2 == 1 {
				h = b
			}
			n, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, h), After: last})
			must(t, err)
			last = []Dependency{n}
		}
		must(t, j.Wait(context.Background()))
		must(t, j.Unregister(a))
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, b)}))
		must(t, j.Unregister(b))
		must(t, j.Wait(context.Background()))
		if x[0] != 11 || x[1] != 11 {
			t.Error(x)
		}
		if a.Alive() || b.Alive() {
			t.Error("alive")
		}
	})
}
