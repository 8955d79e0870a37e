package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/enginetest"
)

// TestPollWhileIdle: idle workers call poll, one at a time, and run at once what it makes ready; none calls it after stop.
func TestPollWhileIdle(t *testing.T) {
	for _, o := range allConfigs() {
		if o.Sequential {
			continue
		}
		t.Run(fmt.Sprintf("%s-%d", o.Policy, o.Workers), func(t *testing.T) {
			rt, err := New(o)
			must(t, err)
			defer func() { must(t, rt.Close()) }()
			j := rt.NewJob(context.Background(), JobOptions{})
			x := ints(t, rt, make([]int64, 1))
			const rounds = 100
			held := make(chan *Access, rounds)
			for range rounds {
				must(t, j.AcquireFuncWith(x, iface.RW, AcquireOptions{Async: true}, func(a *Access, err error) {
					if err != nil {
						t.Error(err)
						return
					}
					held <- a
				}))
				must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, x)}))
			}
			var calls, inside atomic.Int64
			stop := rt.PollWhileIdle(func(bool) bool {
				if inside.Add(1) > 1 {
					t.Error("two workers poll at once")
				}
				defer inside.Add(-1)
				if calls.Add(1)%3 == 0 {
					select {
					case a := <-held:
						must(t, a.Release())
					default:
					}
				}
				return true
			})
			// Nothing but the poller releases the data, and the tasks need it.
			must(t, j.Submit(&TaskSpec{Codelet: nop})) // wakes a worker
			must(t, j.Wait(context.Background()))
			stop()
			n := calls.Load()
			if n == 0 {
				t.Error("no worker polled")
			}
			a, err := j.Acquire(context.Background(), x, iface.R)
			must(t, err)
			if got := iface.Slice[int64](a.Buffer())[0]; got != rounds {
				t.Errorf("%d tasks ran, want %d", got, rounds)
			}
			must(t, a.Release())
			if calls.Load() != n {
				t.Error("a worker polled after stop")
			}
			must(t, j.Close())
		})
	}
}

// TestPollUntilFalse: workers whose poller returns false sleep, so that a wait that never ends is found, and poll again after the next task.
func TestPollUntilFalse(t *testing.T) {
	for _, workers := range []int{1, 2, 4} {
		rt, err := New(Options{Workers: workers})
		must(t, err)
		j := rt.NewJob(context.Background(), JobOptions{DetectStuck: true})
		var calls atomic.Int64
		stop := rt.PollWhileIdle(func(bool) bool { return calls.Add(1)%100 != 0 })
		x := ints(t, rt, make([]int64, 1))
		for range 3 {
			before := calls.Load()
			g := j.NewGate()
			must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, x), After: []Dependency{g}}))
			must(t, j.Submit(&TaskSpec{Codelet: nop}))
			var stuck *StuckError
			if _, err := j.Acquire(context.Background(), x, iface.R); !errors.As(err, &stuck) {
				t.Errorf("an acquire behind a closed gate: %v, want a *StuckError", err)
			}
			enginetest.Eventually(t, "a worker polls", func() bool { return calls.Load() > before })
			g.Open()
			must(t, j.Wait(context.Background()))
		}
		stop()
		must(t, j.Close())
		must(t, rt.Close())
	}
}

// TestPollersTogether: several pollers are called, and stop ends its own.
func TestPollersTogether(t *testing.T) {
	rt, err := New(Options{Workers: 2})
	must(t, err)
	defer func() { must(t, rt.Close()) }()
	j := rt.NewJob(context.Background(), JobOptions{})
	var first, second atomic.Int64
	stopFirst := rt.PollWhileIdle(func(bool) bool { first.Add(1); return false })
	stopSecond := rt.PollWhileIdle(func(bool) bool { second.Add(1); return true })
	must(t, j.Submit(&TaskSpec{Codelet: nop}))
	enginetest.Eventually(t, "both are called", func() bool { return first.Load() > 10 && second.Load() > 10 })
	stopFirst()
	n, m := first.Load(), second.Load()
	enginetest.Eventually(t, "the second is called on", func() bool { return second.Load() > m+10 })
	if first.Load() != n {
		t.Error("the first was called after its stop")
	}
	stopSecond()
	stopSecond() // again does nothing
	must(t, j.Close())
}

// TestAcquireWaitsForOthers: a wait for data ends when the data is free, though it hears of no task that ends before, and in a job that finds stuck
// waits also when workers never rest.
func TestAcquireWaitsForOthers(t *testing.T) {
	rt, err := New(Options{Workers: 2})
	must(t, err)
	defer func() { must(t, rt.Close()) }()
	busy := rt.NewJob(context.Background(), JobOptions{})
	end := make(chan struct{})
	must(t, busy.Submit(&TaskSpec{Codelet: kernel("busy", func(*TaskContext) error { <-end; return nil })}))
	j := rt.NewJob(context.Background(), JobOptions{DetectStuck: true})
	x := ints(t, rt, make([]int64, 1))
	g := j.NewGate()
	must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, x), After: []Dependency{g}}))
	began := time.Now()
	var stuck *StuckError
	if _, err := j.Acquire(context.Background(), x, iface.R); !errors.As(err, &stuck) {
		t.Errorf("an acquire behind a closed gate, while a task of another job runs for %v: %v, want a *StuckError", time.Since(began), err)
	}
	time.AfterFunc(20*time.Millisecond, g.Open)
	k, err := j.SubmitTask(&TaskSpec{Codelet: kernel("opens late", func(*TaskContext) error { time.Sleep(30 * time.Millisecond); return nil })})
	must(t, err)
	must(t, k.Wait(context.Background()))
	a, err := j.Acquire(context.Background(), x, iface.R)
	must(t, err)
	must(t, a.Release())
	close(end)
	must(t, j.Close())
	must(t, busy.Close())
}

// TestPollRunsNoHooks: what is released in a poll, or as messages are, returns before the hooks of tasks run that become ready by it.
func TestPollRunsNoHooks(t *testing.T) {
	none := &Codelet{Name: "none", Modes: []iface.AccessMode{iface.RW}, Traits: &Traits{Nowhere: true}}
	for _, c := range []struct {
		name    string
		async   bool
		gate    bool
		inPoll  bool
		workers int
	}{
		{"an async access, in a poll", true, false, true, 2},
		{"an async access, in a poll of the only worker", true, false, true, 1},
		{"an access, in a poll", false, false, true, 2},
		{"a gate, in a poll", false, true, true, 2},
		{"an async access, on a goroutine", true, false, false, 2},
	} {
		for _, hook := range []string{"prologue", "start", "callback", "late callback"} {
			if hook == "late callback" && !c.gate {
				continue
			}
			t.Run(c.name+", "+hook, func(t *testing.T) {
				rt, err := New(Options{Workers: c.workers})
				must(t, err)
				defer func() { must(t, rt.Close()) }()
				j := rt.NewJob(context.Background(), JobOptions{})
				x := ints(t, rt, make([]int64, 1))
				spec := &TaskSpec{Codelet: incs, Operands: ops(iface.RW, x)}
				gate := j.NewGate()
				defer gate.Open()
				var release func()
				switch {
				case c.gate:
					if release = gate.Open; hook != "late callback" {
						spec.After = []Dependency{gate}
					}
				case c.async:
					held := make(chan *Access, 1)
					must(t, j.AcquireFuncWith(x, iface.RW, AcquireOptions{Async: true}, func(a *Access, err error) { held <- a }))
					a := <-held
					release = func() { must(t, a.Release()) }
				default:
					a, err := j.Acquire(context.Background(), x, iface.RW)
					must(t, err)
					release = func() { must(t, a.Release()) }
				}
				released := make(chan struct{})
				var options TaskOptions
				run := func(*Task) error {
					select {
					case <-released:
					case <-time.After(10 * time.Second):
						t.Errorf("a %s hook runs inside the release", hook)
					}
					return nil
				}
				switch hook {
				case "prologue":
					options.Prologue = run
				case "start":
					options.OnStart, spec.Codelet = run, none
				case "callback":
					options.Callback, spec.Codelet = run, none
				case "late callback":
					options.Callback = run
				}
				k := j.NewTask(spec, options)
				if hook == "late callback" {
					must(t, k.AddEndDependency(gate))
				}
				must(t, k.Submit())
				if hook == "late callback" {
					enginetest.Eventually(t, "the kernel has ended", func() bool { return k.phase() == endWaits })
				}
				if c.inPoll {
					var once atomic.Bool
					stop := rt.PollWhileIdle(func(bool) bool {
						if !once.Swap(true) {
							release()
							close(released)
						}
						return false
					})
					defer stop()
				} else {
					go func() {
						release()
						close(released)
					}()
				}
				must(t, k.Wait(context.Background()))
				must(t, j.Close())
			})
		}
	}
}

// TestPollGoexit: a poll that ends its goroutine costs no worker, and the pollers are called on.
func TestPollGoexit(t *testing.T) {
	for _, workers := range []int{1, 2} {
		rt, err := New(Options{Workers: workers})
		must(t, err)
		j := rt.NewJob(context.Background(), JobOptions{})
		var calls atomic.Int64
		stop := rt.PollWhileIdle(func(bool) bool {
			if calls.Add(1) <= 3 {
				runtime.Goexit()
			}
			return false
		})
		enginetest.Eventually(t, "workers poll after the end of a goroutine", func() bool { return calls.Load() > 3 })
		x := ints(t, rt, make([]int64, 1))
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, x)}))
		must(t, j.Wait(context.Background()))
		stop()
		must(t, j.Close())
		must(t, rt.Close())
	}
}

// TestPollWorked: the first poll after a task, and no other, hears that one ran.
func TestPollWorked(t *testing.T) {
	rt, err := New(Options{Workers: 1})
	must(t, err)
	defer func() { must(t, rt.Close()) }()
	const tasks = 20
	var worked, calls atomic.Int64
	stop := rt.PollWhileIdle(func(ran bool) bool {
		if ran {
			worked.Add(1)
		}
		return calls.Add(1)%50 != 0
	})
	defer stop()
	j := rt.NewJob(t.Context(), JobOptions{})
	defer func() { must(t, j.Close()) }()
	for k := range tasks {
		before := worked.Load()
		must(t, j.Submit(&TaskSpec{Codelet: nop}))
		must(t, j.Wait(t.Context()))
		for worked.Load() == before {
			runtime.Gosched() // the worker has ended the task, and polls next
		}
		if n := worked.Load(); n != int64(k)+1 {
			t.Fatalf("%d polls after %d tasks heard that one ran", n, k+1)
		}
	}
}
