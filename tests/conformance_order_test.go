package tests

// P01 to P11: dependencies and access modes, COMMUTE.

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

const ms = time.Millisecond

func TestP01(t *testing.T) {
	each(t, 1, func(w *world) {
		var order log
		var seen int64
		v := w.ints([]int64{0})
		var hs []*datamgr.Handle
		for range 4 {
			hs = append(hs, w.ints(make([]int64, 16)))
		}
		k := func(name string, d time.Duration, fn func(x *int64)) *engine.Codelet {
			return codelet(name, func(c *engine.TaskContext) error {
				order.add("+%s", name)
				time.Sleep(d)
				fn(&iface.Slice[int64](c.Buffer(0))[0])
				order.add("-%s", name)
				return nil
			})
		}
		w.submit(k("f", 4*ms, func(*int64) {}), 0, on(RW, v), on(R, hs[0]), on(RW, hs[1]))
		w.submit(k("g", 2*ms, func(x *int64) { *x = 42 }), 0, on(RW, v), on(R, hs[1]), on(RW, hs[2]))
		w.submit(k("h", 0, func(x *int64) { seen = *x }), 0, on(RW, v), on(R, hs[2]), on(RW, hs[3]))
		w.wait()
		if seen != 42 {
			w.Errorf("recorded %d", seen)
		}
		if got := fmt.Sprint(order.list()); got != "[+f -f +g -g +h -h]" {
			w.Error(got)
		}
		w.unregister(append(hs, v)...)
	})
}

func TestP02(t *testing.T) {
	eachOnOneNode(t, 4, func(w *world) {
		x := []int64{0}
		h := w.ints(x)
		w.submit(set, 7, on(W, h))
		meet := rendezvous(4, chk)
		for range 4 {
			w.submit(meet, 7, on(R, h))
		}
		w.submit(inc, 0, on(RW, h))
		meet = rendezvous(4, chk)
		for range 4 {
			w.submit(meet, 8, on(R, h))
		}
		w.unregister(h)
		if x[0] != 8 {
			w.Error(x)
		}
	})
}

func TestP03(t *testing.T) {
	each(t, 1, func(w *world) {
		h, err := w.rt.Register(engine.DataSpec{Kind: iface.Void})
		w.must(err)
		counter := 0
		c := hook("count", func() { counter++ })
		for range 1000 {
			w.submit(c, 0, on(RW, h))
		}
		w.unregister(h)
		if counter != 1000 {
			w.Error(counter)
		}
	})
}

func TestP04(t *testing.T) {
	each(t, 1, func(w *world) {
		x := make([]int64, 10)
		x[0] = 1
		v := w.ints(x)
		same := func(c *engine.TaskContext, ops ...int) error {
			for _, i := range ops[1:] {
				if c.Buffer(i).Ptr != c.Buffer(ops[0]).Ptr {
					return fmt.Errorf("operands %v are not the same memory", ops)
				}
			}
			return nil
		}
		at := func(c *engine.TaskContext, i int) *int64 { return &iface.Slice[int64](c.Buffer(i))[0] }
		two := codelet("two", func(c *engine.TaskContext) error {
			*at(c, 0) += *at(c, 1)
			return same(c, 0, 1)
		})
		three := codelet("three", func(c *engine.TaskContext) error {
			*at(c, 2) += *at(c, 0) + *at(c, 1)
			return same(c, 0, 1, 2)
		})
		for range 2 {
			w.submit(two, 0, on(RW, v), on(R, v))
			w.submit(three, 0, on(R, v), on(R, v), on(RW, v))
		}
		if got := w.values(v)[0]; got != 36 {
			w.Errorf("v[0] = %d", got)
		}
		p := w.parts(v, filter.Blocks(2))
		w.submit(codelet("four", func(c *engine.TaskContext) error {
			*at(c, 2) += *at(c, 0) + *at(c, 1)
			*at(c, 3) = *at(c, 0)
			if err := same(c, 0, 2); err != nil {
				return err
			}
			return same(c, 1, 3)
		}), 0, on(R, p[0]), on(R, p[1]), on(RW, p[0]), on(W, p[1]))
		w.unregister(v)
		if x[0] != 72 || x[5] != 72 {
			w.Error(x)
		}
	})
}

func TestP05(t *testing.T) {
	each(t, 1, func(w *world) {
		x := []int64{0}
		h := w.ints(x)
		k := int64(0)
		for _, a := range []iface.AccessMode{R, W, RW} {
			for _, b := range []iface.AccessMode{R, W, RW} {
				reads, writes, want := a.Reads() || b.Reads(), a.Writes() || b.Writes(), k
				w.submit(codelet("pair", func(c *engine.TaskContext) error {
					if c.Buffer(0).Ptr != c.Buffer(1).Ptr {
						return fmt.Errorf("%v %v: not the same memory", a, b)
					}
					v := &iface.Slice[int64](c.Buffer(0))[0]
					if reads && *v != want {
						return fmt.Errorf("%v %v: %d, want %d", a, b, *v, want)
					}
					if writes {
						*v = want + 1
					}
					return nil
				}), 0, on(a, h), on(b, h))
				if writes {
					k++
				}
			}
		}
		w.unregister(h)
		if x[0] != 8 {
			w.Error(x)
		}
	})
}

func TestP06(t *testing.T) {
	each(t, 1, func(w *world) {
		x := make([][]int64, 16)
		var hs []*datamgr.Handle
		for i := range x {
			x[i] = []int64{0}
			hs = append(hs, w.ints(x[i]))
			hs[i].SetUnordered(true)
		}
		r := rand.New(rand.NewPCG(1, 2))
		both := codelet("eat", func(c *engine.TaskContext) error {
			iface.Slice[int64](c.Buffer(0))[0]++
			iface.Slice[int64](c.Buffer(1))[0]++
			return nil
		})
		for range 1024 {
			p := r.IntN(16)
			w.submit(both, 0, on(RW, hs[p]), on(RW, hs[(p+1)%16]))
		}
		w.unregister(hs...)
		total := int64(0)
		for i := range x {
			total += x[i][0]
		}
		if total != 2048 {
			w.Error(total)
		}
	})
}

func TestP07(t *testing.T) {
	rounds := 20 // it is about a race
	if *repeat > 0 || testing.Short() {
		rounds = 1
	}
	for range rounds {
		each(t, 1, func(w *world) {
			x := []int64{12}
			v := w.ints(x)
			gA, gC := w.job.NewGate(), w.job.NewGate()
			b := codelet("B", func(c *engine.TaskContext) error {
				p := &iface.Slice[int64](c.Buffer(0))[0]
				if *p != 24 {
					return fmt.Errorf("B saw %d", *p)
				}
				*p++
				gC.Open()
				return nil
			})
			w.keep(codelet("A", func(c *engine.TaskContext) error {
				if err := w.job.Submit(&engine.TaskSpec{Codelet: b, Operands: []engine.Operand{unordered(RW, v)}}); err != nil {
					return err
				}
				time.Sleep(ms / 10)
				iface.Slice[int64](c.Buffer(0))[0] *= 2
				return nil
			}), []engine.Dependency{gA}, on(RW, v))
			w.keep(codelet("C", func(c *engine.TaskContext) error {
				p := &iface.Slice[int64](c.Buffer(0))[0]
				if *p != 25 {
					return fmt.Errorf("C saw %d", *p)
				}
				*p *= 2
				return nil
			}), []engine.Dependency{gC}, on(RW, v))
			gA.Open()
			w.wait() // Unregister does not wait, and would make B's operand dead
			w.unregister(v)
			if x[0] != 50 {
				w.Error(x)
			}
		})
		if t.Failed() {
			return
		}
	}
}

func TestP08(t *testing.T) {
	eachOnOneNode(t, 1, func(w *world) {
		x, y := []int64{0}, []int64{0}
		hx, hy := w.ints(x), w.ints(y)
		var saw log
		join := codelet("join", func(c *engine.TaskContext) error {
			saw.add("%d %d", iface.Slice[int64](c.Buffer(0))[0], iface.Slice[int64](c.Buffer(1))[0])
			return nil
		})
		w.submit(join, 0, on(R, hx), on(R, hy))
		w.submit(set, 1, on(W, hx))
		w.submit(set, 1, on(W, hy))
		w.submit(join, 0, on(R, hx), on(R, hy))
		w.submit(add, 1, on(RW, hx))
		w.submit(add, 1, on(RW, hy))
		w.unregister(hx, hy)
		if got := fmt.Sprint(saw.list()); got != "[0 0 1 1]" || x[0] != 2 || y[0] != 2 {
			w.Error(got, x, y)
		}
	})
}

func TestP09(t *testing.T) {
	each(t, 1, func(w *world) {
		for _, m := range [][2]iface.AccessMode{{R, R}, {W, R}, {W, RW}, {R, RW}} {
			for o := range int64(2) {
				x := []int64{0}
				h := w.ints(x)
				var order log
				var inside atomic.Int32
				k := func(name string, alone bool, fn func(v *int64)) *engine.Codelet {
					return codelet(name, func(c *engine.TaskContext) error {
						if alone && inside.Add(1) > 1 {
							return fmt.Errorf("commuters overlap")
						}
						order.add("%s", name)
						fn(&iface.Slice[int64](c.Buffer(0))[0])
						if alone {
							inside.Add(-1)
						}
						return nil
					})
				}
				store := func(n int64) func(*int64) { return func(v *int64) { *v = n } }
				w.keep(k("begin", false, func(v *int64) {
					if m[0].Writes() { // as R it reads beside a copy to a device
						*v = 0
					}
				}), nil, on(m[0], h))
				// c1 before c2, or the other way round by a gate that the later one opens
				g := w.job.NewGate()
				if o == 1 {
					c1 := w.keep(k("c1", true, store(1)), nil, on(C, h))
					w.keep(k("c2", true, store(2)), []engine.Dependency{c1}, on(C, h))
				} else {
					w.keep(k("c1", true, store(1)), []engine.Dependency{g}, on(C, h))
					w.keep(k("c2", true, func(v *int64) { *v = 2; g.Open() }), nil, on(C, h))
				}
				w.keep(k("c3", true, func(*int64) {}), nil, on(C, h))
				w.keep(k("end", false, func(v *int64) {
					if m[1].Writes() {
						*v++
					}
				}), nil, on(m[1], h))
				want := 1 + o
				if m[1].Writes() {
					want++
				}
				if got := w.values(h)[0]; got != want {
					w.Errorf("%v o=%d: %d, want %d", m, o, got, want)
				}
				w.unregister(h)
				l := order.list()
				if l[0] != "begin" || l[4] != "end" || (slices.Index(l, "c1") < slices.Index(l, "c2")) != (o == 1) {
					w.Error(m, o, l)
				}
			}
		}
	})
}

func TestP10(t *testing.T) {
	each(t, 1, func(w *world) {
		res, a := w.ints([]int64{0}), w.ints([]int64{0})
		held := w.acquire(a, RW)
		var order log
		w.submit(codelet("t0", func(*engine.TaskContext) error {
			time.Sleep(2 * ms)
			order.add("t0")
			return nil
		}), 0, on(RW, res), on(R, a))
		for range 9 {
			w.submit(hook("t", func() { order.add("t") }), 0, on(C, res))
		}
		time.Sleep(2 * ms)
		if l := order.list(); len(l) != 0 {
			w.Error("ran before the release:", l)
		}
		w.must(held.Release())
		w.unregister(res, a)
		if l := order.list(); len(l) != 10 || l[0] != "t0" {
			w.Error(l)
		}
	})
}

func TestP11(t *testing.T) {
	each(t, 1, func(w *world) {
		x := []int64{0}
		h := w.ints(x)
		one := slow(inc, ms/4) // the increment is not atomic: overlaps would lose some
		for range 3 {
			w.submit(one, 0, on(C, h))
		}
		w.submit(chk, 3, on(R, h))
		for range 3 {
			w.submit(one, 0, on(C, h))
		}
		w.submit(mul, 10, on(RW, h))
		w.submit(chk, 60, on(R, h))
		w.unregister(h)
		if x[0] != 60 {
			w.Error(x)
		}
	})
}
