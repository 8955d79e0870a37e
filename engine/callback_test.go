package engine

// Callbacks of AcquireFunc, and what Close does about them.

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

// closing says how a program ends what it does: one of these may be used.
var closing = map[string]func(rt *Runtime, j *Job) error{
	"job":     func(_ *Runtime, j *Job) error { return j.Close() },
	"runtime": func(rt *Runtime, _ *Job) error { return rt.Close() },
}

// Close waits for a callback that uses data, and does not take the data away.
func TestCloseWaitsForCallbacks(t *testing.T) {
	for name, end := range closing {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
				x := make([]int64, 1)
				h := ints(t, rt, x)
				g := j.NewGate()
				began, kept := make(chan struct{}), false
				must(t, j.AcquireFunc(h, iface.RW, func(a *Access, err error) {
					close(began)
					for j.Submit(&TaskSpec{Codelet: nop}) != ErrClosed {
						runtime.Gosched()
					}
					g.Open() // still allowed
					for range 1000 {
						runtime.Gosched()
					}
					kept = a.Mode() == iface.RW
					iface.Slice[int64](a.Buffer())[0] = 5
				}))
				<-began
				must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, h)}))
				must(t, j.Submit(&TaskSpec{Codelet: incs, After: []Dependency{g}}))
				must(t, end(rt, j))
				if !kept || x[0] != 6 {
					t.Errorf("the callback kept its data: %v; value %d, want 6", kept, x[0])
				}
			})
		})
	}
}

// A callback that never gets its data is told when the program ends.
func TestCloseGivesDataToCallbacks(t *testing.T) {
	for name, end := range closing {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
				h := ints(t, rt, make([]int64, 1))
				_, err := j.Acquire(context.Background(), h, iface.RW) // and forgotten
				must(t, err)
				ran := false
				must(t, j.AcquireFunc(h, iface.R, func(a *Access, err error) { ran = err == nil }))
				must(t, end(rt, j))
				if !ran {
					t.Error("the callback did not run")
				}
			})
		})
	}
}

// What would wait for itself says so.
func TestCallbackThatWaitsForItself(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		h := ints(t, rt, make([]int64, 1))
		errs := make(chan error, 4)
		own := make(chan struct{})
		must(t, j.AcquireFunc(h, iface.RW, func(a *Access, err error) {
			errs <- j.Close()
			errs <- rt.Close()
			must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, h)}))
			close(own)
			errs <- j.Wait(context.Background())
			must(t, a.Release())
			errs <- j.Wait(context.Background())
		}))
		<-own
		for _, want := range []error{ErrWouldDeadlock, ErrWouldDeadlock} {
			if err := <-errs; err != want {
				t.Error(err)
			}
		}
		stuckOn(t, <-errs, nil, h)
		must(t, <-errs)
		readable(t, j, h, 1)
	})
	for name, end := range closing { // of a job whose waits do not look
		t.Run(name, func(t *testing.T) {
			for _, o := range configs {
				rt, err := New(o)
				must(t, err)
				j := rt.NewJob(context.Background(), JobOptions{})
				h := ints(t, rt, make([]int64, 1))
				began := make(chan struct{})
				var got error
				must(t, j.AcquireFunc(h, iface.RW, func(a *Access, err error) {
					must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, h)}))
					close(began)
					got = j.Wait(context.Background())
				}))
				<-began
				err = end(rt, j)
				var s *StuckError
				if err != nil && !errors.As(err, &s) {
					t.Error(err)
				}
				stuckOn(t, got, nil, h)
				must(t, j.Close())
				if err := rt.Close(); err != nil && !errors.As(err, &s) {
					t.Error(err)
				}
			}
		})
	}
}

// A gate outlives its job: who waits for it is not forgotten.
func TestGateOfAClosedJob(t *testing.T) {
	for _, o := range configs {
		rt, err := New(o)
		must(t, err)
		j, other := rt.NewJob(context.Background(), JobOptions{}), rt.NewJob(context.Background(), JobOptions{})
		g := other.NewGate()
		must(t, other.Close())
		h := ints(t, rt, make([]int64, 1))
		task, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, h), After: []Dependency{g}})
		must(t, err)
		if task.Done() {
			t.Error("the gate is closed")
		}
		g.Open()
		must(t, task.Wait(context.Background()))
		readable(t, j, h, 1)
		g = other.NewGate()
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, h), After: []Dependency{g}}))
		stuckOn(t, rt.Close(), g, nil)
		must(t, j.Close())
		rt.reg.Lock()
		if n := len(rt.jobs); n != 0 {
			t.Errorf("%d jobs left", n)
		}
		rt.reg.Unlock()
	}
}

// Waiting for a part whose view ended: also for what uses its elements since.
func TestWaitForAPartOfAnEndedView(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		h := ints(t, rt, make([]int64, 8))
		v, err := rt.Partition(h, filter.Blocks(2))
		must(t, err)
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, v.Parts[0])}))
		must(t, j.Wait(context.Background()))
		rt.EndView(v)
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, h)})) // one fragment again
		must(t, j.Wait(context.Background()))
		if n := h.Fragments(); n != 1 {
			t.Fatalf("%d fragments", n)
		}
		g := j.NewGate()
		ran := false
		must(t, j.Submit(&TaskSpec{Codelet: kernel("late", func(*TaskContext) error { ran = true; return nil }),
			Operands: ops(iface.RW, h), After: []Dependency{g}}))
		stuckOn(t, j.WaitHandles(context.Background(), v.Parts[0]), g, nil)
		g.Open()
		must(t, j.WaitHandles(context.Background(), v.Parts[0]))
		if !ran {
			t.Error("returned before the task that uses its elements")
		}
	})
}

// An acquire W that is given up loses only what had no value.
func TestRefusedWriteKeepsParts(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		h := lazy(t, rt, 9, nil)
		v, err := rt.Partition(h, filter.Blocks(3))
		must(t, err)
		must(t, j.Submit(&TaskSpec{Codelet: nines, Operands: ops(iface.W, v.Parts[0])}))
		must(t, j.Submit(&TaskSpec{Codelet: bad, Operands: ops(iface.W, v.Parts[1])}))
		must(t, j.Wait(context.Background()))
		lost := j.Failures()[0].ID
		giveUp := func(hs ...*datamgr.Handle) {
			t.Helper()
			g := j.NewGate()
			must(t, j.Submit(&TaskSpec{Codelet: nop, Operands: ops(iface.R, v.Parts[0]), After: []Dependency{g}}))
			for _, h := range hs {
				_, err := j.Acquire(context.Background(), h, iface.W)
				stuckOn(t, err, g, nil)
			}
			g.Open()
		}
		giveUp(h, h)
		readable(t, j, v.Parts[0], 9)
		lostBy(t, j, v.Parts[1], lost)
		var e *FailedDataError
		if _, err := j.Acquire(context.Background(), v.Parts[2], iface.R); !errors.As(err, &e) || !e.Task.Dropped {
			t.Errorf("what had no value reads as %v", err)
		}
		must(t, j.Submit(&TaskSpec{Codelet: nines, Operands: ops(iface.W, h)}))
		readable(t, j, h, 9)
	})
}
