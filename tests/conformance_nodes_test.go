package tests

// P31, P59: two memory nodes.

import (
	"errors"
	"slices"
	"testing"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/engine"
)

// workersOn returns the workers of a node.
func (w *world) workersOn(node int) (ids []int) {
	w.Helper()
	for i := range w.rt.Workers() {
		info, err := w.rt.Worker(i)
		w.must(err)
		if info.Node == node {
			ids = append(ids, i)
		}
	}
	return ids
}

// submitOn inserts a task on a node.
func (w *world) submitOn(node int, c *engine.Codelet, ops ...engine.Operand) {
	w.Helper()
	w.must(w.job.Submit(&engine.TaskSpec{Codelet: c, Operands: ops, Workers: w.workersOn(node)}))
}

func TestP31(t *testing.T) {
	eachOnTwoNodes(t, 1<<10, func(w *world) {
		x := []int64{0}
		h := w.ints(x)
		w.must(w.rt.SetWriteThrough(h, 0, 1))
		for k := range 64 {
			w.must(w.job.Prefetch(h, k%2, k/2%2 == 0))
			w.submitOn(k%2, inc, on(RW, h))
			if k%4 == 0 {
				w.must(w.job.WontUse(h))
			}
		}
		if got := w.values(h)[0]; got != 64 {
			w.Errorf("%d, want 64", got)
		}
		lazy := w.lazy(1, nil)
		var none *engine.UninitError
		if err := w.job.Prefetch(lazy, 1, true); !errors.As(err, &none) {
			w.Errorf("prefetching data without a value: %v", err)
		}
		w.must(w.job.WontUse(lazy))
		var node *engine.NoNodeError
		if err := w.job.Prefetch(h, len(w.rt.Nodes()), true); !errors.As(err, &node) {
			w.Errorf("prefetching to a node that is not there: %v", err)
		}
		w.unregister(h, lazy)
		if x[0] != 64 {
			w.Errorf("%d at home, want 64", x[0])
		}
	})
}

func TestP59(t *testing.T) {
	const (
		words    = 1 << 18 / 8 // a vector: 256 KiB, so that the race detector has less to look at
		capacity = 4 * 8 * words
	)
	eachOnTwoNodes(t, capacity, func(w *world) {
		dev := w.devices[0]
		homes := make([][]int64, 10)
		var hs []*datamgr.Handle
		for k := range homes {
			homes[k] = slices.Repeat([]int64{int64(k)}, words)
			hs = append(hs, w.ints(homes[k]))
		}
		for range 3 {
			for _, h := range hs {
				w.submitOn(1, inc, on(RW, h))
			}
		}
		w.unregister(hs...)
		for k, x := range homes {
			if i := slices.IndexFunc(x, func(v int64) bool { return v != int64(k+3) }); i >= 0 {
				w.Fatalf("vector %d element %d is %d, want %d", k, i, x[i], k+3)
			}
		}
		if p := dev.Memory().Peak(); p > capacity || p < 8*words {
			w.Errorf("the device used %d bytes of %d", p, capacity)
		}
		if n := w.rt.Nodes()[1].Allocated; n != 0 { // what is kept for others does not count
			w.Errorf("%d bytes are left on the device", n)
		}
	})
}
