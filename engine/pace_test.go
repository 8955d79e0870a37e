package engine

import (
	"context"
	"sync/atomic"
	"testing"
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
		for range 20 * farAhead {
			submit(t, j, &TaskSpec{Codelet: short})
		}
		close(last)
		must(t, j.Wait(context.Background()))
		if n := ran.Load(); n != 20*farAhead {
			t.Errorf("%d workers: %d of %d tasks ran", workers, n, 20*farAhead)
		}
	}
}

// Nor for tasks that cannot run before the submitter goes on.
func TestFarAheadOfBlockedTasks(t *testing.T) {
	_, j := start(t, Options{Workers: 2})
	g := j.NewGate()
	var ran atomic.Int64
	count := kernel("count", func(*TaskContext) error { ran.Add(1); return nil })
	for i := range 10 * farAhead {
		s := &TaskSpec{Codelet: count}
		if i%2 == 0 {
			s.After = []Dependency{g}
		}
		submit(t, j, s)
	}
	g.Open()
	must(t, j.Wait(context.Background()))
	if n := ran.Load(); n != 10*farAhead {
		t.Errorf("%d of %d tasks ran", n, 10*farAhead)
	}
}

// A kernel that submits goes on, however many tasks wait behind it.
func TestFarAheadInKernel(t *testing.T) {
	_, j := start(t, Options{Workers: 1})
	var ran atomic.Int64
	count := &TaskSpec{Codelet: kernel("count", func(*TaskContext) error { ran.Add(1); return nil })}
	submit(t, j, &TaskSpec{Codelet: kernel("source", func(*TaskContext) error {
		for range 4 * farAhead {
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
	if n := ran.Load(); n != 4*farAhead {
		t.Errorf("%d of %d tasks ran", n, 4*farAhead)
	}
}
