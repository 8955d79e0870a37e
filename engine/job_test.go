package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

// A submitter that is far ahead waits for short tasks only: not for one that goes
// on until all others were submitted, with the workers busy or not.
func TestFarAheadOfLongTasks(t *testing.T) {
	for _, workers := range []int{1, 2} {
		_, j := start(t, Options{Workers: workers})
		last, ran := make(chan struct{}), atomic.Int64{}
		long := kernel("long", func(*TaskContext) error { <-last; return nil })
		short := kernel("short", func(*TaskContext) error { ran.Add(1); return nil })
		submit(t, j, &TaskSpec{Codelet: long})
		for range 20 * pauseAbove {
			submit(t, j, &TaskSpec{Codelet: short})
		}
		close(last)
		must(t, j.Wait(context.Background()))
		if n := ran.Load(); n != 20*pauseAbove {
			t.Errorf("%d workers: %d of %d tasks ran", workers, n, 20*pauseAbove)
		}
	}
}

// Nor for tasks that cannot run before the submitter goes on.
func TestFarAheadOfBlockedTasks(t *testing.T) {
	_, j := start(t, Options{Workers: 2})
	g := j.NewGate()
	var ran atomic.Int64
	count := kernel("count", func(*TaskContext) error { ran.Add(1); return nil })
	for i := range 10 * pauseAbove {
		s := &TaskSpec{Codelet: count}
		if i%2 == 0 {
			s.After = []Dependency{g}
		}
		submit(t, j, s)
	}
	g.Open()
	must(t, j.Wait(context.Background()))
	if n := ran.Load(); n != 10*pauseAbove {
		t.Errorf("%d of %d tasks ran", n, 10*pauseAbove)
	}
}

// A kernel that submits goes on, however many tasks wait behind it.
func TestFarAheadInKernel(t *testing.T) {
	_, j := start(t, Options{Workers: 1})
	var ran atomic.Int64
	count := &TaskSpec{Codelet: kernel("count", func(*TaskContext) error { ran.Add(1); return nil })}
	submit(t, j, &TaskSpec{Codelet: kernel("source", func(*TaskContext) error {
		for range 4 * pauseAbove {
			if err := j.Submit(count); err != nil {
				return err
			}
		}
		if n := ran.Load(); n != 0 {
			t.Errorf("%d tasks ran on the only worker while it submitted", n)
		}
		return nil
	})})
	must(t, j.Wait(context.Background()))
	if n := ran.Load(); n != 4*pauseAbove {
		t.Errorf("%d of %d tasks ran", n, 4*pauseAbove)
	}
}

// bounded makes a job that takes n tasks.
func bounded(t *testing.T, rt *Runtime, n int) *Job {
	t.Helper()
	j := rt.NewJob(context.Background(), JobOptions{DetectStuck: true, Bounded: true, MaxInFlight: n})
	t.Cleanup(func() { must(t, j.Close()) })
	return j
}

// untilFull submits until the job takes no more, and returns how often it did.
func untilFull(t *testing.T, submit func() error) (n int) {
	t.Helper()
	for ; ; n++ {
		err := submit()
		var full *FullError
		if errors.As(err, &full) {
			return n
		}
		if must(t, err); n > 1_000_000 {
			t.Fatal("the job takes a million tasks that cannot run")
		}
	}
}

// A job that is bounded takes as many tasks as it may, and no more, where all of them
// wait for what only the program can bring about; it takes more once that has come, and
// by as many as it is widened.
func TestBounded(t *testing.T) {
	for _, o := range []Options{{Workers: 1}, {Workers: 2}, {Sequential: true}} {
		rt, _ := start(t, o)
		x := make([]int64, 1)
		h := ints(t, rt, x)
		inc := &TaskSpec{Codelet: incs, Operands: []Operand{{Handle: h, Mode: iface.RW}}}
		for _, window := range []int{1, 7, 5000} {
			j := bounded(t, rt, window)
			ran := x[0]
			for what, hold := range map[string]func() (submit func() error, release func()){
				"behind a gate": func() (func() error, func()) {
					g := j.NewGate()
					s := *inc
					s.After = []Dependency{g}
					return func() error { return j.Submit(&s) }, g.Open
				},
				"kept": func() (func() error, func()) {
					g := j.NewGate()
					s := *inc
					s.After = []Dependency{g}
					return func() error { _, err := j.SubmitTask(&s); return err }, g.Open
				},
				"of held data": func() (func() error, func()) {
					a, err := j.Acquire(context.Background(), h, iface.RW)
					must(t, err)
					return func() error { return j.Submit(inc) }, func() { must(t, a.Release()) }
				},
				"of held data, by Go": func() (func() error, func()) {
					a, err := j.Acquire(context.Background(), h, iface.RW)
					must(t, err)
					return func() error { return j.Go(incs, RW(h)) }, func() { must(t, a.Release()) }
				},
			} {
				submit, release := hold()
				n := untilFull(t, submit)
				if n != window {
					t.Errorf("%+v: a window of %d takes %d tasks %s", o, window, n, what)
				}
				j.Widen(10)
				m := untilFull(t, submit)
				if m != 10 {
					t.Errorf("%+v: a window of %d that was widened by 10 takes %d tasks more %s", o, window, m, what)
				}
				release()
				for range 20 { // there is room again
					must(t, submit())
				}
				must(t, j.Wait(context.Background()))
				if ran += int64(n+m) + 20; x[0] != ran {
					t.Fatalf("%+v: %d tasks ran, want %d", o, x[0], ran)
				}
				j = bounded(t, rt, window)
			}
		}
	}
}

// TestBoundedInvalidates: internal tasks count against the window, too.
func TestBoundedInvalidates(t *testing.T) {
	rt, _ := start(t, Options{Workers: 1})
	h := ints(t, rt, make([]int64, 8))
	for name, op := range map[string]func(j *Job) error{
		"invalidate": func(j *Job) error { return j.Invalidate(h) },
		"gather":     func(j *Job) error { return j.Gather(h) },
	} {
		j := bounded(t, rt, 100)
		g := j.NewGate()
		submit(t, j, &TaskSpec{Codelet: kernel("set", func(*TaskContext) error { return nil }), Operands: []Operand{{Handle: h, Mode: iface.W}}, After: []Dependency{g}})
		if n := untilFull(t, func() error { return op(j) }); n != 99 {
			t.Errorf("%d times %s behind a task that does not run", n, name)
		}
		g.Open()
		must(t, j.Wait(context.Background()))
	}
}

// Tasks with many accesses or dependencies count as several, and leave no room behind
// in their records.
func TestHeavyTasks(t *testing.T) {
	rt, _ := start(t, Options{Workers: 2})
	h := ints(t, rt, make([]int64, 1600))
	if _, err := rt.Partition(h, filter.Blocks(1600)); err != nil {
		t.Fatal(err)
	}
	y := ints(t, rt, make([]int64, 1))
	for name, dependency := range map[string]bool{"accesses": false, "dependencies": true} {
		j := bounded(t, rt, 1000)
		g := j.NewGate()
		s := &TaskSpec{Codelet: incs, Operands: []Operand{{Handle: h, Mode: iface.RW}}, After: []Dependency{g}}
		if dependency {
			s.Operands[0].Handle = y
			s.After = slices.Repeat(s.After, 1600)
		}
		n := untilFull(t, func() error { return j.Submit(s) })
		if n < 9 || n > 11 { // each counts as 101
			t.Errorf("a window of 1000 takes %d tasks of 1600 %s", n, name)
		}
		g.Open()
		must(t, j.Wait(context.Background()))
		if n := j.weight - j.unweighed.Load(); n != 0 {
			t.Errorf("no task is left, and %d count", n)
		}
		// plainly, and while they run: nothing is refused
		s.After = nil
		for range 100 {
			must(t, j.Submit(s))
		}
		must(t, j.Wait(context.Background()))
		if n := j.weight - j.unweighed.Load(); n != 0 {
			t.Errorf("no task is left, and %d count", n)
		}
	}
	sub := rt.reg.Lock()
	defer sub.Unlock()
	for range 300 {
		if u := rt.newTask(sub, true); u.x != nil && u.x.generalTask != nil && cap(u.x.acc) > heavyRoom {
			t.Fatalf("a record keeps room for %d accesses", cap(u.x.acc))
		}
	}
}

// Submitters of a bounded job wait for tasks that run, however many they are.
func TestBoundedWaitsForRoom(t *testing.T) {
	rt, _ := start(t, Options{Workers: 2})
	j := bounded(t, rt, 4)
	var ran atomic.Int64
	s := &TaskSpec{Codelet: kernel("count", func(*TaskContext) error { ran.Add(1); return nil })}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 2000 {
				if err := j.Submit(s); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	must(t, j.Wait(context.Background()))
	if n := ran.Load(); n != 8000 {
		t.Errorf("%d of 8000 tasks ran", n)
	}
}
