package tests

// P25 to P30: access by the application.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/enginetest"
)

// value is the element of an acquired variable.
func value(a *engine.Access) *int64 { return &iface.Slice[int64](a.Buffer())[0] }

// later acquires with a callback, which has to release.
func (w *world) later(h *datamgr.Handle, m iface.AccessMode, fn func(a *engine.Access)) {
	w.Helper()
	w.must(w.job.AcquireFunc(h, m, func(a *engine.Access, err error) {
		if err != nil {
			w.Error(err)
			return
		}
		fn(a)
	}))
}

// next waits until a task has said that it runs.
func (w *world) next(ran <-chan struct{}) {
	w.Helper()
	select {
	case <-ran:
	case <-time.After(time.Minute):
		w.Fatal("a task that may run does not")
	}
}

func TestP25(t *testing.T) {
	each(t, 1, func(w *world) {
		// (1)
		x := w.lazy(1, nil)
		var ran atomic.Int32
		w.later(x, W, func(a *engine.Access) { *value(a) = 42; ran.Add(1); a.Release() })
		w.later(x, R, func(a *engine.Access) {
			if *value(a) != 42 {
				w.Error(*value(a))
			}
			ran.Add(1)
			a.Release()
		})
		w.unregister(x)
		if ran.Load() != 2 {
			w.Error("callbacks that ran:", ran.Load())
		}
		// (2)
		x = w.lazy(1, nil)
		held := w.acquire(x, W)
		done := make(chan struct{})
		w.later(x, R, func(a *engine.Access) { close(done) })
		select {
		case <-done:
			w.Error("ran while the data was held")
		case <-time.After(ms):
		}
		w.must(held.Release())
		<-done
		w.unregister(x)
		// (3) and (4)
		modes := []iface.AccessMode{R, R, W, W, R, R, RW, RW, R, R}
		for _, hold := range []bool{false, true} {
			x := w.ints([]int64{0})
			var held *engine.Access
			if hold {
				held = w.acquire(x, W)
			}
			var order log
			var all sync.WaitGroup
			var in, writers atomic.Int32
			for _, m := range modes {
				all.Add(1)
				w.later(x, m, func(a *engine.Access) {
					n := in.Add(1)
					if m != R && (n != 1 || writers.Add(1) != 1) {
						w.Error("a writer is not alone")
					}
					order.add("%v", m)
					if m != R {
						writers.Add(-1)
					}
					in.Add(-1)
					a.Release()
					all.Done()
				})
			}
			if hold {
				if l := order.list(); len(l) != 0 {
					w.Error("ran while the data was held:", l)
				}
				w.must(held.Release())
			}
			all.Wait()
			if got := strings.Join(order.list(), " "); got != "R R W W R R RW RW R R" {
				w.Error(got)
			}
			w.unregister(x)
		}
	})
}

func TestP26(t *testing.T) {
	each(t, 1, func(w *world) {
		x, f := []int64{0}, make([]int64, 16)
		hx, hf := w.ints(x), w.ints(f)
		parts := w.parts(hf, filter.Blocks(4))
		w.submit(set, 2, on(W, hx))
		count := codelet("count", func(c *engine.TaskContext) error {
			for i := range iface.Slice[int64](c.Buffer(0)) {
				iface.Slice[int64](c.Buffer(0))[i] = int64(i + 1)
			}
			return nil
		})
		w.later(hx, R, func(a *engine.Access) {
			w.must(w.job.Submit(&engine.TaskSpec{Codelet: count, Operands: []engine.Operand{on(W, parts[*value(a)])}}))
			a.Release()
		})
		w.must(w.acquire(hx, W).Release())
		w.wait()
		w.unregister(hf, hx)
		if got := fmt.Sprint(f); got != "[0 0 0 0 0 0 0 0 1 2 3 4 0 0 0 0]" {
			w.Error(got)
		}
	})
}

func TestP27(t *testing.T) {
	each(t, 1, func(w *world) {
		x := []int64{0}
		h := w.ints(x)
		for range 200 {
			a := w.acquire(h, RW)
			*value(a)++
			w.must(a.Release())
			w.run(inc, 0, on(RW, h))
			w.later(h, RW, func(a *engine.Access) { *value(a)++; a.Release() })
		}
		w.unregister(h)
		if x[0] != 600 {
			w.Error(x)
		}
	})
}

func TestP28(t *testing.T) {
	each(t, 1, func(w *world) {
		x := []int64{0}
		h := w.ints(x)
		ran := make(chan struct{}, 50)
		check := codelet("check", func(c *engine.TaskContext) error {
			ran <- struct{}{}
			return chk.CPU[0](c)
		})
		for i := range int64(50) {
			a := w.acquire(h, RW)
			*value(a)++
			w.submit(check, 4*i+1, on(R, h))
			w.submit(inc, 0, on(RW, h))
			w.submit(chk, 4*i+2, on(R, h))
			w.must(a.ReleaseTo(W))
			if a.Mode() != RW {
				w.Error(a.Mode())
			}
			if len(ran) > 0 {
				w.Error("a reader ran beside an access that may write")
			}
			w.must(a.ReleaseTo(R))
			early := i%10 == 0
			if early { // the reader runs before the release
				w.next(ran)
			}
			w.must(a.Release())
			w.later(h, RW, func(a *engine.Access) {
				*value(a)++
				w.must(a.ReleaseTo(W))
				w.must(a.ReleaseTo(R))
				w.must(a.Release())
			})
			w.submit(chk, 4*i+3, on(R, h))
			w.submit(inc, 0, on(RW, h))
			w.submit(chk, 4*i+4, on(R, h))
			if !early {
				w.next(ran)
			}
		}
		w.unregister(h)
		if x[0] != 200 {
			w.Error(x)
		}
	})
}

func TestP29(t *testing.T) {
	each(t, 1, func(w *world) {
		if w.workers == 0 {
			w.Log("a sequential runtime has no task that runs meanwhile")
			return
		}
		x := w.ints([]int64{0})
		hold := make(chan struct{})
		w.submit(hook("slow", func() { <-hold }), 0, on(RW, x))
		if a, err := w.job.TryAcquire(x, R); err != engine.ErrBusy {
			w.Fatal(a, err)
		}
		close(hold)
		var a *engine.Access
		enginetest.Eventually(w, "the data is free", func() bool {
			var err error
			if a, err = w.job.TryAcquire(x, R); err != nil && err != engine.ErrBusy {
				w.Fatal(err)
			}
			return err == nil
		})
		var started atomic.Bool
		w.submit(hook("late", func() { started.Store(true) }), 0, on(RW, x))
		time.Sleep(2 * ms)
		if started.Load() {
			w.Error("started while the data was held")
		}
		w.must(a.Release())
		w.wait()
		if a, err := w.job.TryAcquire(x, R); err != nil {
			w.Error(err)
		} else {
			a.Release()
		}
		w.unregister(x)
	})
}

func TestP30(t *testing.T) {
	each(t, 1, func(w *world) {
		x, y := w.ints([]int64{0}), w.ints([]int64{0})
		gate := w.job.NewGate()
		other := w.keep(inc, []engine.Dependency{gate}, on(RW, y))
		refused := 0
		w.run(codelet("blocks", func(c *engine.TaskContext) error {
			_, err := w.job.Acquire(context.Background(), x, RW)
			for _, err := range []error{err, other.Wait(context.Background()), w.job.Wait(context.Background()), w.job.WaitHandles(context.Background(), x), w.rt.Close(), w.job.Close()} {
				if errors.Is(err, engine.ErrWouldDeadlock) {
					refused++
				} else {
					return fmt.Errorf("call %d: %v", refused, err)
				}
			}
			return nil
		}), 0)
		if refused != 6 {
			w.Error(refused)
		}
		w.must(w.acquire(x, RW).Release())
		gate.Open()
		w.unregister(x, y)
	})
}
