package tests

// P47 to P49: repeating tasks and tags.

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/starpush/starpush/engine"
)

func TestP47(t *testing.T) {
	const rounds = 200
	each(t, 1, func(w *world) {
		var ran [3]atomic.Int64
		var all []*engine.Task
		for i := range ran {
			s := &engine.TaskSpec{Codelet: codelet("stage", func(*engine.TaskContext) error {
				if n := ran[i].Add(1); i > 0 && ran[i-1].Load() < n {
					return errors.New("a round before its turn")
				}
				return nil
			})}
			if i > 0 {
				s.After = []engine.Dependency{all[i-1]}
			}
			calls := 0
			k, err := w.job.SubmitWith(s, engine.TaskOptions{Repeat: engine.Forever, Callback: func(k *engine.Task) error {
				if calls++; calls == rounds {
					k.Stop()
				}
				return nil
			}})
			w.must(err)
			all = append(all, k)
		}
		w.wait()
		for i := range ran {
			if n := ran[i].Load(); n != rounds {
				w.Errorf("stage %d ran %d times", i, n)
			}
		}
	})
}

func TestP48(t *testing.T) {
	const rounds = 100
	each(t, 1, func(w *world) {
		n := []int64{0}
		h := w.ints(n)
		h.SetUnordered(true)
		a, b, c, d := w.job.NewTag("A"), w.job.NewTag("B"), w.job.NewTag("C"), w.job.NewTag("D")
		w.must(b.DependsOn(a))
		w.must(c.DependsOn(a))
		w.must(d.DependsOn(b, c))
		w.must(a.DependsOn(d))
		var started atomic.Bool
		for _, tag := range []*engine.Tag{a, b, c, d} {
			calls := 0
			_, err := w.job.SubmitWith(&engine.TaskSpec{Codelet: inc, Operands: []engine.Operand{on(RW, h)}}, engine.TaskOptions{
				Tag: tag, Repeat: engine.Forever,
				OnStart: func(*engine.Task) error {
					if !started.Load() {
						return errors.New("ran before anything notified D")
					}
					return nil
				},
				Callback: func(k *engine.Task) error {
					if calls++; calls == rounds {
						k.Stop()
					}
					return nil
				}})
			w.must(err)
		}
		started.Store(true)
		w.must(d.NotifyRestart())
		w.wait()
		w.unregister(h)
		if n[0] != 4*rounds {
			w.Error(n)
		}
	})
}

func TestP49(t *testing.T) {
	each(t, 1, func(w *world) {
		tag := map[string]*engine.Tag{}
		for _, n := range []string{"A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "T"} {
			tag[n] = w.job.NewTag(n)
		}
		var order log
		run := func(name string, after ...engine.Dependency) {
			w.Helper()
			_, err := w.job.SubmitWith(&engine.TaskSpec{Codelet: hook(name, func() { order.add("%s", name) }), After: after}, engine.TaskOptions{Tag: tag[name]})
			w.must(err)
		}
		before := func(firsts, thens string) {
			w.Helper()
			at := map[string]int{}
			for i, n := range order.list() {
				at[n] = i + 1
			}
			for _, a := range firsts {
				for _, b := range thens {
					if at[string(a)] == 0 || at[string(b)] <= at[string(a)] {
						w.Errorf("%c does not come before %c: %v", a, b, order.list())
					}
				}
			}
		}
		// (1)
		w.must(tag["B"].DependsOn(tag["A"]))
		run("B")
		run("A")
		w.must(tag["B"].Wait(context.Background()))
		before("A", "B")
		// (2)
		w.must(tag["G"].DependsOn(tag["C"], tag["D"], tag["E"], tag["F"]))
		for _, n := range []string{"C", "D", "G", "E", "F"} {
			run(n)
		}
		w.must(tag["G"].Wait(context.Background()))
		before("CDEF", "G")
		// (3)
		for _, n := range []string{"J", "K", "L"} {
			w.must(tag[n].DependsOn(tag["H"], tag["I"]))
			run(n)
		}
		run("H")
		run("I")
		w.must(w.job.WaitTags(context.Background(), tag["J"], tag["K"], tag["L"]))
		before("HI", "JKL")
		// (4) ten tasks, one tag; nine of them wait until X has run
		g := w.job.NewGate()
		run("T")
		for range 9 {
			run("T", g)
		}
		x := w.keep(hook("X", func() {}), []engine.Dependency{tag["T"]})
		w.must(x.Wait(context.Background()))
		g.Open()
		// (5)
		m := w.job.NewTag("M")
		w.must(m.DependsOn(tag["A"]))
		_, err := w.job.SubmitWith(&engine.TaskSpec{}, engine.TaskOptions{Tag: m})
		w.must(err)
		w.must(m.Wait(context.Background()))
		// (6)
		var wrong *engine.TagError
		if err := m.DependsOn(m); !errors.As(err, &wrong) {
			w.Error(err)
		}
		w.wait()
	})
}
