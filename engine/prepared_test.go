package engine

import (
	"context"
	"errors"
	"testing"

	"github.com/starpush/starpush/datamgr/iface"
)

// Others can wait for a task before it is submitted.
func TestPreparedTask(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		v := make([]int64, 10)
		for i := range v {
			v[i] = 12
		}
		x := ints(t, rt, v)
		m := j.NewTask(&TaskSpec{Name: "m"}, TaskOptions{})
		for k := int64(1); k <= 4; k++ {
			must(t, j.Submit(&TaskSpec{Codelet: kernel("mul", func(c *TaskContext) error {
				for i := range iface.Slice[int64](c.Buffer(0)) {
					iface.Slice[int64](c.Buffer(0))[i] *= k
				}
				return nil
			}), Operands: ops(iface.RW, x), After: []Dependency{m}}))
		}
		var none *NotSubmittedError
		if err := m.Wait(context.Background()); !errors.As(err, &none) {
			t.Error(err)
		}
		var s *StuckError
		if err := j.Wait(context.Background()); !errors.As(err, &s) || len(s.Tasks) != 4 || s.Tasks[0].Task != m {
			t.Error(err)
		}
		if v[0] != 12 {
			t.Error("ran before the task that was not submitted")
		}
		must(t, m.Submit())
		must(t, j.Wait(context.Background()))
		for _, e := range v {
			if e != 288 {
				t.Error(v)
			}
		}
		must(t, m.Wait(context.Background()))
		var twice *SubmittedError
		if err := m.Submit(); !errors.As(err, &twice) {
			t.Error(err)
		}
		if err := m.DependOn(j.NewGate()); !errors.As(err, &twice) {
			t.Error(err)
		}
	})
}

// Graphs may be built late: from kernels, callbacks, and after a task has ended.
func TestLateGraph(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		var l logged
		k, err := j.SubmitTask(&TaskSpec{Codelet: kernel("1", func(*TaskContext) error {
			l.add("1")
			_, err := j.SubmitWith(&TaskSpec{Codelet: l.kernel("2")}, TaskOptions{Callback: func(*Task) error {
				return j.Submit(&TaskSpec{Codelet: l.kernel("3")})
			}})
			return err
		})})
		must(t, err)
		must(t, j.Wait(context.Background()))
		if l.String() != "1 2 3" {
			t.Error(l.String())
		}
		b := j.NewTask(&TaskSpec{Codelet: l.kernel("b")}, TaskOptions{})
		must(t, b.DependOn(k)) // which has ended
		must(t, b.Submit())
		must(t, b.Wait(context.Background()))

		c := j.NewTask(&TaskSpec{Codelet: l.kernel("c")}, TaskOptions{})
		_, err = j.SubmitWith(&TaskSpec{Codelet: l.kernel("a")}, TaskOptions{Callback: func(a *Task) error {
			if err := c.DependOn(a); err != nil {
				return err
			}
			return c.Submit()
		}})
		must(t, err)
		must(t, j.Wait(context.Background()))
		l.before(t, "a", "c")
		if fs := j.Failures(); len(fs) != 0 {
			t.Error(fs)
		}
	})
}

// Circles of prepared tasks are refused, in every way to close them.
func TestPreparedCycle(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		var cycle *CycleError
		a := j.NewTask(&TaskSpec{}, TaskOptions{})
		if err := a.DependOn(a); !errors.As(err, &cycle) {
			t.Error(err)
		}
		b := j.NewTask(&TaskSpec{After: []Dependency{a}}, TaskOptions{})
		c := j.NewTask(&TaskSpec{}, TaskOptions{})
		must(t, c.DependOn(b))
		if err := a.DependOn(j.NewGate(), c); !errors.As(err, &cycle) || len(cycle.Tasks) != 3 {
			t.Error(err)
		}
		submitted, err := j.SubmitTask(&TaskSpec{Codelet: nop, After: []Dependency{a}})
		must(t, err)
		if err := a.DependOn(submitted); !errors.As(err, &cycle) || len(cycle.Tasks) != 2 {
			t.Error(err)
		}
		for _, k := range []*Task{c, b, a} {
			must(t, k.Submit())
		}
		must(t, j.Wait(context.Background()))
	})
}

// A prepared task whose submission fails can be submitted again.
func TestPreparedSubmitFails(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		x := lazy(t, rt, 1, nil)
		k := j.NewTask(&TaskSpec{Codelet: nop, Operands: ops(iface.R, x)}, TaskOptions{})
		after, err := j.SubmitTask(&TaskSpec{Codelet: nop, After: []Dependency{k}})
		must(t, err)
		var none *UninitError
		if err := k.Submit(); !errors.As(err, &none) {
			t.Error(err)
		}
		must(t, j.Submit(&TaskSpec{Codelet: nop, Operands: ops(iface.W, x)}))
		must(t, k.Submit())
		must(t, after.Wait(context.Background()))
		must(t, after.Err())
	})
}
