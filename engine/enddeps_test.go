package engine

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/enginetest"
)

// TestEndDependency: when the end of a task waits for another, that other can use its
// data, and a wait for the task waits for both.
func TestEndDependency(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		v := []int64{12}
		x := ints(t, rt, v)
		double := func(c *TaskContext, want int64) error {
			p := iface.Slice[int64](c.Buffer(0))
			if p[0] != want {
				return errors.New("unexpected value")
			}
			p[0] *= 2
			return nil
		}
		var l logged
		first := kernel("first", func(c *TaskContext) error {
			s, err := j.SubmitTask(&TaskSpec{Codelet: kernel("second", func(c *TaskContext) error {
				l.add("second")
				return double(c, 24)
			}), Operands: ops(iface.RW, x)})
			if err != nil {
				return err
			}
			if err := c.Task().AddEndDependency(s); err != nil {
				return err
			}
			l.add("first")
			return double(c, 12)
		})
		k, err := j.SubmitWith(&TaskSpec{Codelet: first, Operands: ops(iface.RW, x)}, TaskOptions{
			Epilogue: func(*Task) error { l.add("epilogue"); return nil },
			Callback: func(*Task) error { l.add("callback"); return nil },
		})
		must(t, err)
		must(t, j.Submit(&TaskSpec{Codelet: kernel("after", func(*TaskContext) error { l.add("after"); return nil }), After: []Dependency{k}}))
		must(t, k.Wait(context.Background()))
		if v[0] != 48 {
			t.Error(v)
		}
		must(t, j.Wait(context.Background()))
		if s := l.String(); s != "first second epilogue callback after" && s != "first second epilogue after callback" {
			t.Error(s)
		}
		must(t, k.Err())
		var ended *EndedError
		if err := k.AddEndDependency(j.NewGate()); !errors.As(err, &ended) {
			t.Error(err)
		}
	})
}

// Gates hold the end of a task, as often as they are named; stuck waits name
// the task.
func TestEndDependencyOnGates(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		v := []int64{1}
		x := ints(t, rt, v)
		g, h := j.NewGate(), j.NewGate()
		start := j.NewGate()
		k, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, x), After: []Dependency{start}, Name: "k"})
		must(t, err)
		must(t, k.AddEndDependency(g, h))
		must(t, k.AddEndDependency(g))
		later, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, x), After: []Dependency{k}})
		must(t, err)
		start.Open()
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, ints(t, rt, []int64{0}))}))
		stuckOn(t, k.Wait(context.Background()), g, nil)
		g.Open()
		err = later.Wait(context.Background())
		stuckOn(t, err, h, nil)
		var s *StuckError
		if errors.As(err, &s) && (len(s.Tasks) != 1 || s.Tasks[0].ID != k.ID() || !s.Tasks[0].Ended) {
			t.Error(s)
		}
		h.Open()
		must(t, later.Wait(context.Background()))
		if v[0] != 3 {
			t.Error(v)
		}
		must(t, j.Wait(context.Background()))
	})
}

// TestEndDependencyFails: when the end dependency of a task fails, tasks that depend on
// the task are cancelled; tasks that need only its data run.
func TestEndDependencyFails(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		for _, early := range []bool{false, true} {
			v := []int64{1}
			x := ints(t, rt, v)
			g, late := j.NewGate(), j.NewGate()
			k, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, x), After: []Dependency{late}})
			must(t, err)
			fails, err := j.SubmitTask(&TaskSpec{Codelet: bad, After: []Dependency{g}})
			must(t, err)
			must(t, k.AddEndDependency(fails))
			after, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, x), After: []Dependency{k}})
			must(t, err)
			reader, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: ops(iface.R, x)})
			must(t, err)
			if early {
				g.Open()
				must(t, fails.Wait(context.Background()))
				late.Open()
			} else {
				late.Open()
				g.Open()
			}
			must(t, after.Wait(context.Background()))
			must(t, reader.Wait(context.Background()))
			var lost *FailedDataError
			if err := k.Err(); !errors.As(err, &lost) || !errors.Is(err, errBoom) {
				t.Error(err)
			}
			if err := after.Err(); !errors.As(err, &lost) || !errors.Is(err, errBoom) {
				t.Error(err)
			}
			if v[0] != 2 {
				t.Error(v)
			}
			must(t, j.Wait(context.Background()))
		}
	})
}

// Ends that would wait for each other are refused; Cancel ends what waits.
func TestEndDependencyCycle(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		g := j.NewGate()
		a, err := j.SubmitTask(&TaskSpec{Codelet: incs, After: []Dependency{g}})
		must(t, err)
		b, err := j.SubmitTask(&TaskSpec{Codelet: incs, After: []Dependency{a}})
		must(t, err)
		c, err := j.SubmitTask(&TaskSpec{Codelet: incs, After: []Dependency{g}})
		must(t, err)
		must(t, c.AddEndDependency(b))
		var cycle *CycleError
		for _, d := range []*Task{a, b, c} {
			if err := a.AddEndDependency(d); !errors.As(err, &cycle) || cycle.Tasks[len(cycle.Tasks)-1] != a {
				t.Error(err)
			}
		}
		g.Open()
		must(t, j.Wait(context.Background()))

		k, err := j.SubmitTask(&TaskSpec{Codelet: incs})
		must(t, err)
		hold := j.NewGate()
		d, err := j.SubmitTask(&TaskSpec{Codelet: incs, After: []Dependency{hold}})
		must(t, err)
		must(t, d.AddEndDependency(hold))
		must(t, k.Wait(context.Background()))
		j.Cancel(errBoom)
		must(t, d.Wait(context.Background()))
		must(t, j.Wait(context.Background()))
		if err := d.Err(); !errors.Is(err, errBoom) {
			t.Error(err)
		}
	})
}

// A task whose end waits when its job is cancelled did not come to its end: its epilogue
// does not run, and what waits for it is cancelled, also what is submitted afterwards.
// Its data is as its kernel left it.
func TestCancelWhileTheEndWaits(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		x := ints(t, rt, make([]int64, 1))
		g := j.NewGate()
		var l logged
		k, err := j.SubmitWith(&TaskSpec{Operands: ops(iface.RW, x), Codelet: kernel("k", func(c *TaskContext) error {
			iface.Slice[int64](c.Buffer(0))[0]++
			return c.Task().AddEndDependency(g)
		})}, TaskOptions{
			Epilogue: func(*Task) error { l.add("epilogue"); return nil },
			Callback: func(*Task) error { l.add("callback"); return nil },
		})
		must(t, err)
		must(t, j.WaitHandles(context.Background(), x))
		enginetest.Eventually(t, "the task ends", func() bool { return k.State() == StateEnding })
		j.Cancel(errBoom)
		must(t, k.Wait(context.Background()))
		var e *TaskError
		if err := k.Err(); !errors.As(err, &e) || !e.Dropped || !errors.Is(err, errBoom) {
			t.Error(err)
		}
		after, err := j.SubmitTask(&TaskSpec{Codelet: nop, After: []Dependency{k}})
		must(t, err)
		must(t, after.Wait(context.Background()))
		var lost *FailedDataError
		if err := after.Err(); !errors.As(err, &lost) {
			t.Error(err)
		}
		if s := l.String(); s != "callback" {
			t.Error(s)
		}
		readable(t, j, x, 1)
	})
}

// The end of a task that is prepared only may wait already: nothing is cancelled or stuck
// because of that before the task is submitted.
func TestEndOfPreparedTask(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		g := j.NewGate()
		k := j.NewTask(&TaskSpec{Codelet: nop}, TaskOptions{})
		must(t, k.AddEndDependency(g))
		must(t, j.NewTask(&TaskSpec{Codelet: nop}, TaskOptions{}).AddEndDependency(j.NewGate())) // and that is all
		if b := j.Blocked(); len(b) != 0 {
			t.Error(b)
		}
		other, err := j.SubmitTask(&TaskSpec{Codelet: nop, After: []Dependency{j.NewGate()}})
		must(t, err)
		var stuck *StuckError
		if err := other.Wait(context.Background()); !errors.As(err, &stuck) {
			t.Error(err)
		}
		j.Cancel(errBoom)
		must(t, j.Wait(context.Background()))
		must(t, k.Submit())
		stuckOn(t, k.Wait(context.Background()), g, nil)
		g.Open()
		must(t, k.Wait(context.Background()))
		must(t, k.Err())
	})
}

// An end dependency is added while the task ends, and what waits for it starts and ends:
// it is added, or too late.
func TestEndDependencyAtTheEnd(t *testing.T) {
	for _, o := range configs {
		if o.Sequential {
			continue
		}
		rt, j := start(t, o)
		x, y := ints(t, rt, make([]int64, 1)), ints(t, rt, make([]int64, 1))
		for range 300 {
			g := j.NewGate()
			k, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, x), After: []Dependency{g}})
			must(t, err)
			last := k
			for range 3 { // behind its end, by data, and behind that
				last, err = j.SubmitTask(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, y), After: []Dependency{last}})
				must(t, err)
				must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, y)}))
			}
			other, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: ops(iface.R, ints(t, rt, make([]int64, 1)))})
			must(t, err)
			var wg sync.WaitGroup
			wg.Go(g.Open)
			wg.Go(func() {
				for range 20 {
					var late *EndedError
					if err := k.AddEndDependency(other); errors.As(err, &late) {
						break
					} else if err != nil {
						t.Error(err)
					}
				}
			})
			wg.Wait()
			must(t, last.Wait(context.Background()))
		}
	}
}
