package tests

// P56, P57: copies as tasks, and duplicates that copy on write.

import (
	"context"
	"errors"
	"testing"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

func TestP56(t *testing.T) {
	each(t, 1, func(w *world) {
		x := []int64{42, 12}
		a, b, long := w.ints(x[:1]), w.ints(x[1:]), w.ints(make([]int64, 3))
		_, err := w.job.Copy(b, a, engine.CopyOptions{})
		w.must(err)
		w.submit(inc, 0, on(RW, a))
		if got := w.values(b)[0]; got != 42 {
			w.Error(got)
		}
		if got := w.values(a)[0]; got != 43 {
			w.Error(got)
		}
		called := 0
		task, err := w.job.Copy(b, b, engine.CopyOptions{TaskOptions: engine.TaskOptions{Callback: func(*engine.Task) error { called++; return nil }}})
		w.must(err)
		w.must(task.Wait(context.Background()))
		if got := w.values(b)[0]; got != 42 || called != 1 {
			w.Errorf("%d, callback called %d times", got, called)
		}
		var shape *engine.ShapeError
		if _, err := w.job.Copy(b, long, engine.CopyOptions{}); !errors.As(err, &shape) {
			w.Error(err)
		}
		w.unregister(a, b, long)
	})
}

func TestP57(t *testing.T) {
	each(t, 1, func(w *world) {
		before := w.rt.Nodes()[0].Allocated
		bytes := func(want int64) {
			w.Helper()
			w.wait()
			if _, disk := w.rt.DiskNode(); disk {
				return // they are there, and in main memory while they are looked at
			}
			if got := w.rt.Nodes()[0].Allocated - before; got != want {
				w.Errorf("%d bytes for duplicates, want %d", got, want)
			}
		}
		h := []int64{42}
		x := w.ints(h)
		dup := func(h *datamgr.Handle) *datamgr.Handle {
			w.Helper()
			d, err := w.job.Duplicate(h)
			w.must(err)
			return d
		}
		want := func(v int64, hs ...*datamgr.Handle) {
			w.Helper()
			for _, h := range hs {
				w.submit(chk, v, on(R, h))
				if got := w.values(h)[0]; got != v {
					w.Errorf("%d, want %d", got, v)
				}
			}
		}
		d1 := dup(x)
		w.unregister(d1)
		d1 = dup(x)
		w.must(w.job.Unregister(d1))
		d2, d3 := dup(x), dup(x)
		d4 := dup(d2)
		if d2 != d3 || d3 != d4 || d2 == d1 {
			w.Error("duplicates of one value are not one handle")
		}
		want(42, d2, d3, d4)
		bytes(0)
		w.submit(inc, 0, on(RW, x))
		d5 := dup(x)
		want(43, x)
		want(42, d2, d3, d4)
		want(43, d5)
		bytes(8)
		a := w.acquire(x, RW)
		iface.Slice[int64](a.Buffer())[0]++
		w.must(a.Release())
		d6 := dup(x)
		want(44, x, d6)
		want(42, d2, d3, d4)
		want(43, d5)
		bytes(16)
		var only *engine.ReadOnlyError
		if err := w.job.Submit(&engine.TaskSpec{Codelet: inc, Operands: []engine.Operand{on(RW, d6)}}); !errors.As(err, &only) {
			w.Error(err)
		}
		if _, err := w.job.Acquire(context.Background(), d2, W); !errors.As(err, &only) {
			w.Error(err)
		}
		w.unregister(d2, d3)
		want(42, d4)
		w.unregister(x, d4, d5)
		want(44, d6)
		w.unregister(d6)
		bytes(0)
		if h[0] != 44 {
			w.Error(h)
		}
	})
}
