package tests

// P32 to P44: views. There is no partition state here: parents, parts and views
// that overlap are always usable, and what must hold are the values.

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"unsafe"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

func count(n int) []int64 {
	x := make([]int64, n)
	for i := range x {
		x[i] = int64(i)
	}
	return x
}

func TestP32(t *testing.T) {
	each(t, 1, func(w *world) {
		x := count(40)
		h := w.ints(x)
		w.submit(slow(mul, 2*ms), 2, on(RW, h))
		for k, p := range w.parts(h, filter.Blocks(4)) {
			w.must(w.job.Submit(&engine.TaskSpec{Codelet: mul, Operands: []engine.Operand{on(RW, p)},
				Args: []iface.Scalar{iface.Int(2)}, Workers: []int{k % max(1, w.workers)}}))
		}
		w.unregister(h)
		for i, v := range x {
			if v != int64(4*i) {
				w.Error(i, v)
			}
		}
	})
}

func TestP33(t *testing.T) {
	each(t, 1, func(w *world) {
		h := w.lazy(8, nil)
		local := codelet("local", func(c *engine.TaskContext) error {
			for j := range iface.Slice[int64](c.Buffer(0)) {
				iface.Slice[int64](c.Buffer(0))[j] = int64(42 + j)
			}
			return nil
		})
		for _, p := range w.parts(h, filter.Blocks(4)) {
			w.submit(local, 0, on(W, p))
		}
		if got := fmt.Sprint(w.values(h)); got != "[42 43 42 43 42 43 42 43]" {
			w.Error(got)
		}
		w.unregister(h)
		h = w.lazy(8, nil)
		v, err := w.rt.Partition(h, filter.Blocks(4))
		w.must(err)
		w.rt.EndView(v)
		w.must(w.job.Gather(h))
		var none *engine.UninitError
		if err := w.job.Submit(&engine.TaskSpec{Codelet: chk, Operands: []engine.Operand{on(R, h)}}); !errors.As(err, &none) {
			w.Error(err)
		}
		w.unregister(h)
	})
}

func TestP34(t *testing.T) {
	each(t, 1, func(w *world) {
		x := count(10)
		h := w.ints(x)
		var sizes []int
		for k, p := range w.parts(h, filter.Blocks(4)) {
			d := p.Desc()
			sizes = append(sizes, d.Len())
			w.submit(add, int64(100*k), on(RW, p))
		}
		if !slices.Equal(sizes, []int{3, 3, 2, 2}) {
			w.Error(sizes)
		}
		for _, n := range []int{11, 0} {
			var bad *filter.Error
			if _, err := w.rt.Partition(h, filter.Blocks(n)); !errors.As(err, &bad) {
				w.Error(n, err)
			}
		}
		w.unregister(h)
		for i, v := range x {
			if want := int64(i + 100*[]int{0, 0, 0, 1, 1, 1, 2, 2, 3, 3}[i]); v != want {
				w.Errorf("%d: %d, want %d", i, v, want)
			}
		}
	})
}

func TestP35(t *testing.T) {
	each(t, 1, func(w *world) {
		x := count(21)
		h := w.ints(x)
		for i, p := range w.parts(h, filter.PickRange(0, 5, 8)) {
			if got := w.values(p)[0]; got != int64(5+i) {
				w.Error(i, got)
			}
			w.run(mul, 10, on(RW, p))
			if got := w.values(p)[0]; got != int64(50+10*i) {
				w.Error(i, got)
			}
		}
		w.unregister(h)
		for i, v := range x {
			want := int64(i)
			if i >= 5 && i < 8 {
				want *= 10
			}
			if v != want {
				w.Error(i, v)
			}
		}
	})
}

func TestP36(t *testing.T) {
	each(t, 1, func(w *world) {
		x := make([]int64, 24) // 6 rows, 4 columns
		for i := range x {
			x[i] = int64(100*(i/4) + i%4)
		}
		h := w.matrix(x, 6, 4)
		v, err := w.rt.Partition(h, filter.Cols(2, 0), filter.Rows(3, 0))
		w.must(err)
		for i := range 2 {
			for j := range 3 {
				p, ok := v.Part(i, j)
				if !ok {
					w.Fatal(i, j)
				}
				w.submit(add, int64(10000*(i+1)+1000*j), on(RW, p))
			}
		}
		for _, idx := range [][]int{{2, 0}, {0, 3}, {-1, 0}, {0}, {0, 0, 0}} {
			if _, ok := v.Part(idx...); ok {
				w.Error("there is a part", idx)
			}
		}
		w.rt.EndView(v)
		w.must(w.job.Gather(h))
		w.unregister(h)
		for i, got := range x {
			r, c := i/4, i%4
			if want := int64(100*r + c + 10000*(c/2+1) + 1000*(r/2)); got != want {
				w.Errorf("(%d,%d): %d, want %d", r, c, got, want)
			}
		}
	})
}

func TestP37(t *testing.T) {
	each(t, 1, func(w *world) {
		x := []int64{1, 2, 3, 4}
		h := w.ints(x)
		v, err := w.rt.Partition(h, filter.Blocks(2))
		w.must(err)
		w.submit(inc, 0, on(RW, h)) // the parent stays usable
		w.must(w.acquire(h, RW).Release())
		w.parts(h, filter.Blocks(4))
		if _, ok := v.Part(2); ok {
			w.Error("part 2 of 2")
		}
		part, nested := v.Parts[0], w.parts(v.Parts[0], filter.Blocks(2))[0]
		site := &engine.Site{File: "p37", Line: 1}
		w.rt.EndView(v, site)
		for _, p := range []*datamgr.Handle{part, nested} {
			var dead *engine.DeadHandleError
			if err := w.job.Submit(&engine.TaskSpec{Codelet: inc, Operands: []engine.Operand{on(RW, p)}}); !errors.As(err, &dead) || !dead.Ended || dead.At != site {
				w.Error(err)
			}
			if _, err := w.rt.Partition(p, filter.Blocks(1)); !errors.As(err, &dead) {
				w.Error(err)
			}
		}
		var mode *engine.ModeError
		if err := w.job.Unregister(w.parts(h, filter.Blocks(2))[0]); !errors.As(err, &mode) {
			w.Error("unregistered a part:", err)
		}
		w.submit(inc, 0, on(RW, h))
		w.unregister(h)
		if fmt.Sprint(x) != "[3 4 5 6]" {
			w.Error(x)
		}
		var dead *engine.DeadHandleError
		if err := w.job.Unregister(h); !errors.As(err, &dead) || dead.Ended {
			w.Error("unregistered twice:", err)
		}
	})
}

func (w *world) floats(x []float64, rows, cols int, r *datamgr.Reduction) *datamgr.Handle {
	w.Helper()
	s := engine.DataSpec{Kind: iface.Vector, Elem: iface.F64, Dims: []int{rows}, Home: unsafe.Pointer(unsafe.SliceData(x)), Reduce: r}
	if cols > 0 {
		s.Kind, s.Dims = iface.Matrix, []int{rows, cols}
	}
	h, err := w.rt.Register(s)
	w.must(err)
	return h
}

func TestP38(t *testing.T) {
	each(t, 1, func(w *world) {
		const n, nb = 64, 4
		f := func(c *engine.TaskContext, i int) []float64 { return iface.Slice[float64](c.Buffer(i)) }
		gemv := codelet("gemv", func(c *engine.TaskContext) error {
			x, y := f(c, 1), f(c, 2)
			for i := range y {
				s := 0.0
				for j, a := range iface.Row[float64](c.Buffer(0), i) {
					s += a * x[j]
				}
				y[i] += s
			}
			return nil
		})
		dot := codelet("dot", func(c *engine.TaskContext) error {
			y, s := f(c, 1), 0.0
			for i, v := range f(c, 0) {
				s += v * y[i]
			}
			f(c, 2)[0] += s
			return nil
		})
		axpy := codelet("axpy", func(c *engine.TaskContext) error {
			y, a := f(c, 1), c.Arg(0).Float()
			for i, v := range f(c, 0) {
				y[i] += a * v
			}
			return nil
		})
		scale := codelet("xpay", func(c *engine.TaskContext) error {
			y, a := f(c, 1), c.Arg(0).Float()
			for i, v := range f(c, 0) {
				y[i] = v + a*y[i]
			}
			return nil
		})
		clear0 := codelet("zero", func(c *engine.TaskContext) error { clear(f(c, 0)); return nil })
		solve := func(redux bool) (worst float64, steps int) {
			a, b := make([]float64, n*n), make([]float64, n)
			for i := range n {
				for j := range n {
					switch i - j {
					case 0:
						a[i*n+j] = 2.5
					case 1, -1:
						a[i*n+j] = -1
					}
					b[i] += a[i*n+j] * float64(j+1)
				}
			}
			x, r, p, q := make([]float64, n), slices.Clone(b), slices.Clone(b), make([]float64, n)
			hs := []*datamgr.Handle{w.floats(a, n, n, nil), w.floats(x, n, 0, nil), w.floats(r, n, 0, nil), w.floats(p, n, 0, nil), w.floats(q, n, 0, datamgr.SumReduction())}
			acc, err := w.rt.Register(engine.DataSpec{Kind: iface.Variable, Elem: iface.F64, Reduce: datamgr.SumReduction()})
			w.must(err)
			at := w.parts(hs[0], filter.Tiles(nb, nb, 0))
			xs, rs, ps, qs := w.parts(hs[1], filter.Blocks(nb)), w.parts(hs[2], filter.Blocks(nb)), w.parts(hs[3], filter.Blocks(nb)), w.parts(hs[4], filter.Blocks(nb))
			do := func(c *engine.Codelet, s float64, ops ...engine.Operand) {
				w.must(w.job.Submit(&engine.TaskSpec{Codelet: c, Operands: ops, Args: []iface.Scalar{iface.Float(s)}}))
			}
			product := func(u, v []*datamgr.Handle) float64 {
				w.must(w.job.Invalidate(acc))
				for i := range nb {
					do(dot, 0, on(R, u[i]), on(R, v[i]), on(X, acc))
				}
				h := w.acquire(acc, R)
				defer h.Release()
				return iface.Slice[float64](h.Buffer())[0]
			}
			rr := product(rs, rs)
			for stop := rr * 1e-20; rr > stop && steps < 200; steps++ {
				for i := range nb {
					if redux {
						w.must(w.job.Invalidate(qs[i]))
					} else {
						do(clear0, 0, on(W, qs[i]))
					}
					for j := range nb {
						m := RW
						if redux {
							m = X
						}
						do(gemv, 0, on(R, at[i*nb+j]), on(R, ps[j]), on(m, qs[i]))
					}
				}
				alpha := rr / product(ps, qs)
				for i := range nb {
					do(axpy, alpha, on(R, ps[i]), on(RW, xs[i]))
					do(axpy, -alpha, on(R, qs[i]), on(RW, rs[i]))
				}
				next := product(rs, rs)
				for i := range nb {
					do(scale, next/rr, on(R, rs[i]), on(RW, ps[i]))
				}
				rr = next
			}
			w.unregister(append(hs, acc)...)
			for i, v := range x {
				worst = max(worst, math.Abs(v-float64(i+1)))
			}
			return worst, steps
		}
		e1, s1 := solve(false)
		e2, s2 := solve(true)
		if e1 > 1e-6 || e2 > 1e-6 || s1-s2 > 1 || s2-s1 > 1 {
			w.Errorf("errors %g %g, steps %d %d", e1, e2, s1, s2)
		}
	})
}

// The kernels of P39 to P41 on an operand of a 6 x 6 matrix: fill stores
// i + 100 j (column i, row j), check and scale take s and f.
var (
	fill6 = codelet("fill", func(c *engine.TaskContext) error {
		for j := range c.Buffer(0).Dim[0] {
			for i := range iface.Row[int64](c.Buffer(0), j) {
				iface.Row[int64](c.Buffer(0), j)[i] = int64(i + 100*j)
			}
		}
		return nil
	})
	check6 = codelet("check", func(c *engine.TaskContext) error {
		s, f := c.Arg(0).Int(), c.Arg(1).Int()
		for j := range c.Buffer(0).Dim[0] {
			for i, v := range iface.Row[int64](c.Buffer(0), j) {
				if want := s + f*int64(i+100*j); v != want {
					return fmt.Errorf("check(%d,%d) at (%d,%d): %d, want %d", s, f, i, j, v, want)
				}
			}
		}
		return nil
	})
	scale6 = codelet("scale", func(c *engine.TaskContext) error {
		err := check6.CPU[0](c)
		for j := range c.Buffer(0).Dim[0] {
			for i := range iface.Row[int64](c.Buffer(0), j) {
				iface.Row[int64](c.Buffer(0), j)[i] *= 2
			}
		}
		return err
	})
)

func (w *world) six(c *engine.Codelet, s, f int, m iface.AccessMode, h *datamgr.Handle) {
	w.Helper()
	w.must(w.job.Submit(&engine.TaskSpec{Codelet: c, Operands: []engine.Operand{on(m, h)},
		Args: []iface.Scalar{iface.Int(int64(s)), iface.Int(int64(f))}}))
}

func (w *world) eightfold(x []int64) {
	w.Helper()
	for k, v := range x {
		if want := int64(8 * (k%6 + 100*(k/6))); v != want {
			w.Errorf("element %d: %d, want %d", k, v, want)
		}
	}
}

func TestP39(t *testing.T) {
	each(t, 1, func(w *world) {
		x := make([]int64, 36)
		m := w.matrix(x, 6, 6)
		v, h := w.parts(m, filter.Cols(2, 0)), w.parts(m, filter.Rows(2, 0))
		w.six(fill6, 0, 0, W, m)
		for k := range 2 {
			w.six(scale6, 3*k, 1, RW, v[k])
		}
		for k := range 2 {
			w.six(scale6, 600*k, 2, RW, h[k])
		}
		w.six(scale6, 0, 4, RW, m)
		w.unregister(m)
		w.eightfold(x)
	})
}

// Readers can be made to meet where all workers are alike: a policy may keep tasks
// for the kind of worker that it takes to be faster.
func TestP40(t *testing.T) {
	each(t, 1, func(w *world) { readOnlyViews(w, w.workers >= 3 && w.anyWorker()) })
}

func TestP41(t *testing.T) {
	each(t, 1, func(w *world) {
		if m := readOnlyViews(w, false); m != 2 {
			w.Errorf("%d views", m)
		}
	})
}

// readOnlyViews is the sequence of P40; with meet it shows that readers of both
// views and of the whole run together.
func readOnlyViews(w *world, meet bool) (views int) {
	x := make([]int64, 36)
	m := w.matrix(x, 6, 6)
	v, h := w.parts(m, filter.Cols(2, 0)), w.parts(m, filter.Rows(2, 0))
	views = len(m.Views())
	w.six(fill6, 0, 0, W, m)
	if meet {
		c := rendezvous(3, check6)
		w.six(c, 3, 1, R, v[1])
		w.six(c, 300, 1, R, h[1])
		w.six(c, 0, 1, R, m)
	}
	check := func(f int, whole bool) {
		for k := range 2 {
			w.six(check6, 3*f*k, f, R, v[k])
			w.six(check6, 300*f*k, f, R, h[k])
		}
		if whole {
			w.six(check6, 0, f, R, m)
		}
	}
	check(1, true)
	w.six(scale6, 0, 1, RW, m)
	check(2, true)
	for k := range 2 {
		w.six(scale6, 600*k, 2, RW, h[k])
	}
	check(4, true)
	w.six(scale6, 0, 4, RW, m)
	w.unregister(m)
	w.eightfold(x)
	return views
}

func TestP42(t *testing.T) {
	each(t, 1, func(w *world) {
		x := make([]int64, 640)
		for i := range x {
			x[i] = int64(i + 1)
		}
		m := w.matrix(x, 16, 40)
		var views []*datamgr.View
		split := func(h *datamgr.Handle, f filter.Filter) []*datamgr.Handle {
			v, err := w.rt.Partition(h, f)
			w.must(err)
			views = append(views, v)
			return v.Parts
		}
		l1 := split(m, filter.Cols(4, 0))
		w.submit(mul, 12, on(RW, l1[0]))
		for i := 1; i < 4; i++ {
			l2 := split(l1[i], filter.Rows(4, 0))
			w.submit(mul, 12, on(RW, l2[0]))
			for j := 1; j < 4; j++ {
				for _, p := range split(l2[j], filter.Cols(4, 0)) {
					w.submit(mul, 12, on(RW, p))
				}
			}
		}
		for i := len(views) - 1; i >= 0; i-- {
			w.rt.EndView(views[i])
		}
		w.unregister(m)
		for i, v := range x {
			if v != int64(12*(i+1)) {
				w.Errorf("element %d: %d", i, v)
			}
		}
	})
}

func TestP43(t *testing.T) {
	each(t, 1, func(w *world) {
		x := make([]uint8, 64)
		for i := range x {
			x[i] = 9
		}
		h, err := w.rt.Register(engine.DataSpec{Kind: iface.Vector, Elem: iface.U8, Dims: []int{64}, Home: unsafe.Pointer(&x[0])})
		w.must(err)
		parts := w.parts(h, filter.Blocks(16))
		all := func(m iface.AccessMode, fn func(k int, b []uint8)) {
			var held []*engine.Access
			for k, p := range parts {
				a := w.acquire(p, m)
				fn(k, iface.Slice[uint8](a.Buffer()))
				held = append(held, a)
			}
			for _, a := range held {
				w.must(a.Release())
			}
		}
		all(R, func(k int, b []uint8) {
			if !slices.Equal(b, []uint8{9, 9, 9, 9}) {
				w.Error(k, b)
			}
		})
		w.must(w.job.Invalidate(h))
		all(W, func(k int, b []uint8) {
			if !slices.Equal(b, []uint8{0, 0, 0, 0}) { // W starts as zeros
				w.Error(k, b)
			}
			for i := range b {
				b[i] = uint8(k)
			}
		})
		right := func(b []uint8) error {
			for i, v := range b {
				if v != uint8(i/4) {
					return fmt.Errorf("element %d: %d", i, v)
				}
			}
			return nil
		}
		a := w.acquire(h, R)
		w.must(right(iface.Slice[uint8](a.Buffer())))
		w.must(a.Release())
		w.run(codelet("right", func(c *engine.TaskContext) error { return right(iface.Slice[uint8](c.Buffer(0))) }), 0, on(R, h))
		w.unregister(h)
	})
}

// Of P44 only what is no matter of state stays an error; the rest simply works.
func TestP44(t *testing.T) {
	each(t, 1, func(w *world) {
		x := count(36)
		m := w.matrix(x, 6, 6)
		v, h := w.parts(m, filter.Cols(2, 0)), w.parts(m, filter.Rows(2, 0))
		again := w.parts(m, filter.Cols(2, 0))
		w.submit(inc, 0, on(RW, v[0]))
		w.submit(inc, 0, on(RW, h[0])) // while the other view is open
		w.submit(inc, 0, on(RW, again[0]))
		lazy, err := w.rt.Register(engine.DataSpec{Kind: iface.Matrix, Elem: iface.I64, Dims: []int{6, 6}})
		w.must(err)
		var none *engine.UninitError
		if err := w.job.Submit(&engine.TaskSpec{Codelet: inc, Operands: []engine.Operand{on(R, w.parts(lazy, filter.Cols(2, 0))[0])}}); !errors.As(err, &none) {
			w.Error("reading a part of nothing:", err)
		}
		view, err := w.rt.Partition(m, filter.Rows(3, 0))
		w.must(err)
		w.rt.EndView(view)
		w.rt.EndView(view) // ending it again does nothing
		w.unregister(m, lazy)
		var dead *engine.DeadHandleError
		if err := w.job.Submit(&engine.TaskSpec{Codelet: inc, Operands: []engine.Operand{on(RW, h[1])}}); !errors.As(err, &dead) {
			w.Error(err)
		}
		for i, got := range x {
			want := int64(i)
			if i%6 < 3 {
				want += 2
			}
			if i/6 < 3 {
				want++
			}
			if got != want {
				w.Errorf("element %d: %d, want %d", i, got, want)
			}
		}
	})
}

// TestPickedColumns: parts that strides cannot express in place are packed for
// kernels and stay coherent with everything else.
func TestPickedColumns(t *testing.T) {
	each(t, 1, func(w *world) {
		const n = 5
		x := count(n * n)
		m := w.matrix(x, n, n)
		cols, rows := w.parts(m, filter.Pick(1)), w.parts(m, filter.Pick(0))
		want := count(n * n)
		for round := range 20 {
			w.submit(add, int64(round), on(RW, cols[round%n]))
			w.submit(mul, 3, on(RW, rows[(round+1)%n]))
			w.submit(add, 1, on(C, cols[(round+2)%n]))
			w.submit(inc, 0, on(RW, m))
			for i := range n {
				want[i*n+round%n] += int64(round)
			}
			for i := range n {
				want[(round+1)%n*n+i] *= 3
			}
			for i := range n {
				want[i*n+(round+2)%n]++
			}
			for i := range want {
				want[i]++
			}
		}
		for c := range n {
			for r, v := range w.values(cols[c]) {
				if v != want[r*n+c] {
					w.Errorf("(%d,%d): %d, want %d", r, c, v, want[r*n+c])
				}
			}
		}
		w.submit(inc, 0, on(RW, cols[0])) // valid only in its packed copy
		var both *engine.ModeError
		if err := w.job.Submit(&engine.TaskSpec{Codelet: inc, Operands: []engine.Operand{on(RW, m), on(R, cols[1])}}); !errors.As(err, &both) {
			w.Error("a column beside its matrix, which is written:", err)
		}
		w.unregister(m)
		for i := range want {
			if i%n == 0 {
				want[i]++
			}
			if x[i] != want[i] {
				w.Errorf("home element %d: %d, want %d", i, x[i], want[i])
			}
		}
		if b := w.rt.Nodes()[0].Allocated; b != 0 {
			w.Errorf("%d bytes left", b)
		}
	})
}
