package tests

// P12 to P24: reductions, SCRATCH, lifetime of values.

import (
	"context"
	"errors"

	"testing"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

// rounds of REDUX tasks, some of them RW when plain says so.
func rounds(w *world, h *datamgr.Handle, plain func(t int) bool) {
	w.Helper()
	for k := range int64(4) {
		for t := range 32 {
			if plain(t) {
				w.submit(inc, 0, on(RW, h))
			} else {
				w.submit(redinc, 0, on(X, h))
			}
		}
		if got := w.values(h)[0]; got != 32*(k+1) {
			w.Errorf("round %d: %d", k, got)
		}
	}
}

func never(int) bool { return false }

func TestP12(t *testing.T) {
	each(t, 1, func(w *world) {
		x := []int64{0}
		h := w.ints(x)
		w.must(w.rt.SetReduction(h, datamgr.SumReduction()))
		rounds(w, h, never)
		w.unregister(h)
		if x[0] != 128 {
			w.Error(x)
		}
	})
}

func TestP13(t *testing.T) {
	each(t, 1, func(w *world) {
		h := w.lazy(1, datamgr.SumReduction())
		rounds(w, h, never)
		w.unregister(h)
	})
}

func TestP14(t *testing.T) {
	each(t, 1, func(w *world) {
		x := []int64{0}
		h := w.ints(x)
		w.must(w.rt.SetReduction(h, datamgr.SumReduction()))
		rounds(w, h, func(t int) bool { return t%10 == 0 })
		w.unregister(h)
	})
}

func TestP15(t *testing.T) {
	each(t, 1, func(w *world) {
		inits := 0
		h := w.lazy(1, &datamgr.Reduction{Name: "zero", Init: func(b *iface.Buffer) error {
			inits++
			iface.Slice[int64](b)[0] = 0
			return nil
		}})
		for range 4 {
			for range 32 {
				w.submit(inc, 0, on(RW, h))
			}
			if got := w.values(h)[0]; got != 32 {
				w.Error(got)
			}
			w.must(w.job.Invalidate(h))
		}
		if inits != 4 {
			w.Errorf("initialised %d times", inits)
		}
		w.unregister(h)
	})
}

func TestP16(t *testing.T) {
	each(t, 1, func(w *world) {
		x := make([]int64, 8)
		for i := range x {
			x[i] = int64(i)
		}
		h := w.ints(x)
		for _, p := range w.parts(h, filter.Pick(0)) {
			w.must(w.rt.SetReduction(p, datamgr.SumReduction()))
			for range 32 {
				w.submit(redinc, 0, on(X, p))
			}
		}
		for i, v := range w.values(h) {
			if v != int64(i+32) {
				w.Error(i, v)
			}
		}
		w.unregister(h)
	})
}

func TestP17(t *testing.T) {
	each(t, 1, func(w *world) {
		x := []int64{0}
		h := w.ints(x)
		first, a, b := int64(42), int64(5), int64(7) // arguments of the methods
		w.must(w.rt.SetReduction(h, &datamgr.Reduction{Name: "args",
			Init: func(d *iface.Buffer) error { iface.Slice[int64](d)[0] = first; return nil },
			Combine: func(into, from *iface.Buffer) error {
				iface.Slice[int64](into)[0] += iface.Slice[int64](from)[0] + a + b
				return nil
			}}))
		w.submit(redinc, 0, on(X, h))
		w.unregister(h)
		if x[0] != 55 {
			w.Error(x)
		}
	})
}

func TestP18(t *testing.T) {
	each(t, 1, func(w *world) {
		x := []int64{100}
		h := w.ints(x)
		w.must(w.rt.SetReduction(h, datamgr.SumReduction()))
		for range 10 {
			w.submit(redinc, 0, on(X, h))
		}
		w.submit(set, 7, on(W, h))
		w.submit(chk, 7, on(R, h))
		for range 10 {
			w.submit(redinc, 0, on(X, h))
		}
		w.unregister(h)
		if x[0] != 17 {
			w.Error(x)
		}
	})
}

func TestP19(t *testing.T) {
	each(t, 1, func(w *world) {
		x, r := make([]int64, 128), []int64{5}
		a, b, hr := w.ints(x), w.lazy(128, nil), w.ints(r)
		through := codelet("through", func(c *engine.TaskContext) error {
			p, q := iface.Slice[int64](c.Buffer(0)), iface.Slice[int64](c.Buffer(1))
			copy(q, p)
			for i := range p {
				p[i] = q[i] + 1
			}
			return nil
		})
		for range 128 {
			w.submit(through, 0, on(RW, a), on(S, b))
		}
		for range 10 {
			w.submit(set, 99, on(S, hr))
		}
		w.unregister(a, b, hr)
		for i, v := range x {
			if v != 128 {
				w.Error(i, v)
			}
		}
		if r[0] != 5 {
			w.Error(r)
		}
	})
}

func TestP20(t *testing.T) {
	each(t, 1, func(w *world) {
		h := w.lazy(128, nil)
		for range 100 {
			w.run(set, 42, on(W, h))
			w.run(chk, 42, on(R, h))
			w.must(w.job.Invalidate(h))
			w.wait()
		}
		for range 100 {
			w.submit(set, 42, on(W, h))
			w.submit(chk, 42, on(R, h))
			w.must(w.job.Invalidate(h))
		}
		w.unregister(h)
	})
}

func TestP21(t *testing.T) {
	each(t, 1, func(w *world) {
		site := &engine.Site{File: "p21", Line: 7, Col: 3}
		submit := func(m iface.AccessMode) func(*datamgr.Handle) error {
			return func(h *datamgr.Handle) error {
				return w.job.Submit(&engine.TaskSpec{Codelet: inc, Operands: []engine.Operand{on(m, h)}})
			}
		}
		for name, c := range map[string]struct {
			make func() *datamgr.Handle
			use  func(h *datamgr.Handle) error
			why  engine.Why
		}{
			"a": {func() *datamgr.Handle { return w.lazy(1, nil) }, submit(R), engine.NeverWritten},
			"b": {func() *datamgr.Handle { return w.lazy(1, nil) }, submit(RW), engine.NeverWritten},
			"c": {func() *datamgr.Handle { return w.lazy(1, nil) }, func(h *datamgr.Handle) error {
				_, err := w.job.Acquire(context.Background(), h, R)
				return err
			}, engine.NeverWritten},
			"d": {func() *datamgr.Handle {
				h := w.ints([]int64{1})
				w.must(w.job.Invalidate(h, site))
				w.wait()
				return h
			}, submit(R), engine.Invalidated},
			"e": {func() *datamgr.Handle {
				h := w.lazy(1, nil)
				w.submit(set, 1, on(W, h))
				w.must(w.job.Invalidate(h, site))
				return h
			}, submit(R), engine.Invalidated},
		} {
			h := c.make()
			var none *engine.UninitError
			if err := c.use(h); !errors.As(err, &none) || none.Why != c.why || none.Handle != h || (c.why == engine.Invalidated) != (none.At == site) {
				w.Errorf("%s: %v", name, err)
			}
			w.submit(set, 3, on(W, h))
			w.submit(chk, 3, on(R, h))
			w.unregister(h)
		}
	})
}

func TestP22(t *testing.T) {
	each(t, 1, func(w *world) {
		x := []int64{11}
		h := w.ints(x)
		w.run(set, 12, on(W, h))
		w.must(w.job.Invalidate(h))
		w.wait()
		was := x[0]
		w.unregister(h)
		if x[0] != was {
			w.Errorf("was %d, is %d", was, x[0])
		}
	})
}

func TestP23(t *testing.T) {
	each(t, 1, func(w *world) {
		before := w.rt.Nodes()[0].Allocated
		h := w.lazy(1, nil)
		var got int64
		w.submit(set, 1, on(W, h))
		gate := w.job.NewGate() // plays the slow task: the unregister must not wait for it
		w.keep(inc, []engine.Dependency{gate}, on(RW, h))
		w.submit(codelet("copy", func(c *engine.TaskContext) error {
			got = iface.Slice[int64](c.Buffer(0))[0]
			return nil
		}), 0, on(R, h))
		w.must(w.job.Unregister(h))
		var dead *engine.DeadHandleError
		if err := w.job.Submit(&engine.TaskSpec{Codelet: inc, Operands: []engine.Operand{on(RW, h)}}); !errors.As(err, &dead) || dead.Ended {
			w.Error("use after unregister:", err)
		}
		if _, err := w.job.Acquire(context.Background(), h, R); !errors.As(err, &dead) {
			w.Error("acquire after unregister:", err)
		}
		if err := w.job.Unregister(h); !errors.As(err, &dead) {
			w.Error("second unregister:", err)
		}
		gate.Open()
		w.wait()
		if got != 2 {
			w.Error(got)
		}
		if now := w.rt.Nodes()[0].Allocated; now != before {
			w.Errorf("%d bytes allocated, %d before", now, before)
		}
	})
}

func TestP24(t *testing.T) {
	each(t, 1, func(w *world) {
		const stages, flight = 64, 8
		var x, y [4]*datamgr.Handle
		for i := range x {
			x[i], y[i] = w.lazy(16, nil), w.lazy(16, nil)
		}
		room := make(chan struct{}, flight)
		record := make([]int64, stages)
		plus := codelet("plus", func(c *engine.TaskContext) error {
			for i, v := range iface.Slice[int64](c.Buffer(0)) {
				iface.Slice[int64](c.Buffer(1))[i] += v
			}
			return nil
		})
		base := w.rt.Nodes()[0].Allocated
		for l := range stages {
			room <- struct{}{}
			a, b := x[l%4], y[l%4]
			w.submit(set, int64(l), on(W, a))
			w.submit(set, int64(2*l), on(W, b))
			w.submit(plus, 0, on(R, a), on(RW, b))
			w.submit(codelet("record", func(c *engine.TaskContext) error {
				record[l] = sum(iface.Slice[int64](c.Buffer(0)))
				<-room
				return nil
			}), 0, on(R, b))
		}
		w.wait()
		for l, v := range record {
			if v != int64(48*l) {
				w.Errorf("stage %d: %d", l, v)
			}
		}
		if n := w.rt.Nodes()[0].Allocated - base; n > 8*16*8 {
			w.Errorf("%d bytes allocated", n)
		}
		w.unregister(append(x[:], y[:]...)...)
	})
}
