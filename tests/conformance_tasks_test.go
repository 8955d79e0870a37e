package tests

// P45, P46, P50 and P51: tasks without a kernel, the end of tasks, callbacks,
// graphs that grow while they run.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/starpush/starpush/engine"
)

func TestP45(t *testing.T) {
	each(t, 1, func(w *world) {
		x := slices.Repeat([]int64{12}, 10)
		h := w.ints(x)
		m := w.job.NewTask(&engine.TaskSpec{Name: "M"}, engine.TaskOptions{})
		var started atomic.Int32
		for k := range int64(4) {
			c := codelet("factor", func(c *engine.TaskContext) error {
				started.Add(1)
				return elementwise(func(v, _ int64) int64 { return v * (k + 1) })(c)
			})
			w.keep(c, []engine.Dependency{m}, on(RW, h))
		}
		time.Sleep(ms)
		if n := started.Load(); n != 0 {
			w.Errorf("%d tasks started before M", n)
		}
		w.must(m.Submit())
		w.wait()
		w.unregister(h)
		for _, v := range x {
			if v != 288 {
				w.Fatal(x)
			}
		}
	})
}

// The value is looked at in the program's memory, where it is without a device.
func TestP46(t *testing.T) {
	eachOnOneNode(t, 1, func(w *world) {
		v := []int64{12}
		x := w.ints(v)
		twice := func(want int64) func(c *engine.TaskContext) error {
			return func(c *engine.TaskContext) error {
				var err error
				rows(c.Buffer(0), func(x []int64) {
					if x[0] != want {
						err = fmt.Errorf("%d, want %d", x[0], want)
					}
					x[0] *= 2
				})
				return err
			}
		}
		k := w.keep(codelet("K", func(c *engine.TaskContext) error {
			s, err := w.job.SubmitTask(&engine.TaskSpec{Codelet: slow(codelet("S", twice(24)), ms), Operands: []engine.Operand{on(RW, x)}})
			if err != nil {
				return err
			}
			if err := c.Task().AddEndDependency(s); err != nil {
				return err
			}
			time.Sleep(ms) // S must not get in between
			return twice(12)(c)
		}), nil, on(RW, x))
		w.must(k.Wait(context.Background()))
		w.must(k.Err())
		if v[0] != 48 {
			w.Errorf("%d when the wait returned", v[0])
		}
		w.unregister(x)
	})
}

func TestP50(t *testing.T) {
	each(t, 1, func(w *world) {
		// hooks of tasks with and without a kernel, each once
		hooks := func(l *log, arg int) engine.TaskOptions {
			at := func(what string) engine.Hook {
				return func(*engine.Task) error { l.add("%s %d", what, arg); return nil }
			}
			return engine.TaskOptions{Prologue: at("prologue"), OnStart: at("start"), Epilogue: at("epilogue"), Callback: at("callback")}
		}
		var l log
		for i, c := range []*engine.Codelet{nil, hook("kernel", func() { l.add("kernel 1") })} {
			_, err := w.job.SubmitWith(&engine.TaskSpec{Codelet: c}, hooks(&l, i))
			w.must(err)
			w.wait()
		}
		want := "prologue 0 start 0 epilogue 0 callback 0 prologue 1 start 1 kernel 1 epilogue 1 callback 1"
		if got := strings.Join(l.list(), " "); got != want {
			w.Errorf("got %s\nwant %s", got, want)
		}
		// the codelet's callback, unless the task has its own
		var called log
		c := codelet("k", func(*engine.TaskContext) error { return nil })
		c.Traits = &engine.Traits{Callback: func(t *engine.Task) error { called.add("codelet's of %d", t.ID()); return nil }}
		a, err := w.job.SubmitTask(&engine.TaskSpec{Codelet: c})
		w.must(err)
		w.wait()
		_, err = w.job.SubmitWith(&engine.TaskSpec{Codelet: c}, engine.TaskOptions{Callback: func(*engine.Task) error { called.add("its own"); return nil }})
		w.must(err)
		w.wait()
		if got := strings.Join(called.list(), ", "); got != fmt.Sprintf("codelet's of %d, its own", a.ID()) {
			w.Error(got)
		}
		// {A,B,C} -> E -> {F,G}, E empty
		var order log
		say := func(name string) *engine.Codelet { return hook(name, func() { order.add("%s", name) }) }
		var abc []engine.Dependency
		for _, n := range []string{"A", "B", "C"} {
			abc = append(abc, w.keep(say(n), nil))
		}
		e, err := w.job.SubmitWith(&engine.TaskSpec{After: abc}, engine.TaskOptions{})
		w.must(err)
		w.keep(say("F"), []engine.Dependency{e})
		w.keep(say("G"), []engine.Dependency{e})
		w.wait()
		got := order.list()
		slices.Sort(got[:3])
		slices.Sort(got[3:])
		if s := strings.Join(got, ""); s != "ABCFG" {
			w.Error(s)
		}
		// a callback inserts a task
		v := []int64{40}
		x := w.ints(v)
		_, err = w.job.SubmitWith(&engine.TaskSpec{Codelet: inc, Operands: []engine.Operand{on(RW, x)}}, engine.TaskOptions{
			Callback: func(*engine.Task) error {
				return w.job.Submit(&engine.TaskSpec{Codelet: inc, Operands: []engine.Operand{on(RW, x)}})
			}})
		w.must(err)
		w.wait()
		w.unregister(x)
		if v[0] != 42 {
			w.Error(v)
		}
	})
}

func TestP51(t *testing.T) {
	each(t, 1, func(w *world) {
		// (1)
		var order log
		w.submit(codelet("1", func(*engine.TaskContext) error {
			order.add("1")
			_, err := w.job.SubmitWith(&engine.TaskSpec{Codelet: hook("2", func() { order.add("2") })}, engine.TaskOptions{
				Callback: func(*engine.Task) error {
					return w.job.Submit(&engine.TaskSpec{Codelet: hook("3", func() { order.add("3") })})
				}})
			return err
		}), 0)
		w.wait()
		if got := strings.Join(order.list(), ""); got != "123" {
			w.Error(got)
		}
		// (2) with A over, and with A held back
		for _, late := range []bool{false, true} {
			var order log
			g := w.job.NewGate()
			a := w.keep(hook("A", func() { order.add("A") }), []engine.Dependency{g})
			if !late {
				g.Open()
				w.must(a.Wait(context.Background()))
			}
			b := w.keep(hook("B", func() { order.add("B") }), []engine.Dependency{a})
			g.Open()
			w.must(b.Wait(context.Background()))
			if got := strings.Join(order.list(), ""); got != "AB" {
				w.Errorf("A late %v: %s", late, got)
			}
		}
		// (3)
		ran := make(chan struct{})
		_, err := w.job.SubmitWith(&engine.TaskSpec{}, engine.TaskOptions{Callback: func(a *engine.Task) error {
			return w.job.Submit(&engine.TaskSpec{Codelet: hook("B", func() { close(ran) }), After: []engine.Dependency{a}})
		}})
		w.must(err)
		w.wait()
		select {
		case <-ran:
		default:
			w.Error("the task that was submitted in the callback of its dependency did not run")
		}
		// (4)
		k := w.job.NewTask(&engine.TaskSpec{Codelet: hook("K", func() {})}, engine.TaskOptions{})
		var cycle *engine.CycleError
		if err := k.DependOn(k); !errors.As(err, &cycle) {
			w.Error(err)
		}
		if err := k.AddEndDependency(k); !errors.As(err, &cycle) {
			w.Error(err)
		}
		w.must(k.Submit())
		var late *engine.SubmittedError
		if err := k.DependOn(w.job.NewGate()); !errors.As(err, &late) {
			w.Error(err)
		}
		w.must(k.Wait(context.Background()))
		var ended *engine.EndedError
		if err := k.AddEndDependency(w.job.NewGate()); !errors.As(err, &ended) {
			w.Error(err)
		}
	})
}
