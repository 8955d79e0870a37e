package engine

// Handles of another runtime: an error, and nothing happens.

import (
	"context"
	"errors"
	"testing"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

func TestHandleOfAnotherRuntime(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		other, k := start(t, Options{Workers: 1})
		mine, x := ints(t, rt, make([]int64, 4)), ints(t, other, make([]int64, 4))
		now(t, j, ops(iface.RW, mine))
		now(t, k, ops(iface.RW, x)) // both were found unchanged
		must(t, other.SetReduction(x, datamgr.SumReduction()))
		now(t, k, ops(iface.Commute, x)) // it has a lock
		now(t, k, ops(iface.Redux, x))   // and an open group
		duplicate := func(*datamgr.Handle) error { _, err := j.Duplicate(x); return err }
		for name, use := range map[string]func(x *datamgr.Handle) error{
			"R": func(x *datamgr.Handle) error {
				return j.Submit(&TaskSpec{Codelet: nop, Operands: ops(iface.R, mine, iface.R, x)})
			},
			"W": func(x *datamgr.Handle) error { return j.Submit(&TaskSpec{Codelet: nop, Operands: ops(iface.W, x)}) },
			"commute": func(x *datamgr.Handle) error {
				return j.Submit(&TaskSpec{Codelet: nop, Operands: ops(iface.Commute, x)})
			},
			"redux": func(x *datamgr.Handle) error {
				return j.Submit(&TaskSpec{Codelet: nop, Operands: ops(iface.Redux, x)})
			},
			"kept": func(x *datamgr.Handle) error {
				_, err := j.SubmitTask(&TaskSpec{Codelet: nop, Operands: ops(iface.RW, x)})
				return err
			},
			"acquire":    func(x *datamgr.Handle) error { _, err := j.Acquire(context.Background(), x, iface.RW); return err },
			"try":        func(x *datamgr.Handle) error { _, err := j.TryAcquire(x, iface.R); return err },
			"copy":       func(x *datamgr.Handle) error { _, err := j.Copy(mine, x, CopyOptions{}); return err },
			"duplicate":  duplicate,
			"invalidate": func(x *datamgr.Handle) error { return j.Invalidate(x) },
			"unregister": func(x *datamgr.Handle) error { return j.Unregister(x) },
			"gather":     func(x *datamgr.Handle) error { return j.Gather(x) },
			"partition":  func(x *datamgr.Handle) error { _, err := rt.Partition(x, filter.Blocks(2)); return err },
			"reduction":  func(x *datamgr.Handle) error { return rt.SetReduction(x, nil) },
			"through":    func(x *datamgr.Handle) error { return rt.SetWriteThrough(x, 0) },
			"busy":       func(x *datamgr.Handle) error { _, err := j.Busy(x); return err },
			"wait":       func(x *datamgr.Handle) error { return j.WaitHandles(context.Background(), mine, x) },
			"wait, nil":  func(*datamgr.Handle) error { return j.WaitHandles(context.Background(), mine, nil) },
		} {
			var e *ModeError
			if err := use(x); !errors.As(err, &e) {
				t.Errorf("%s: %v", name, err)
			}
		}
		must(t, j.Wait(context.Background()))
		readable(t, k, x, 3)
		readable(t, j, mine, 1)
	})
}

// So are dependencies of another runtime, those that are nil, and removed tags.
func TestDependencyThatCannotBe(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		_, k := start(t, Options{Workers: 1})
		x, y := ints(t, rt, make([]int64, 1)), ints(t, rt, make([]int64, 1))
		task, err := k.SubmitTask(&TaskSpec{Codelet: nop})
		must(t, err)
		own, err := j.SubmitTask(&TaskSpec{Codelet: nop})
		must(t, err)
		removed, notified := j.NewTag("removed"), j.NewTag("notified and removed")
		must(t, removed.Remove())
		must(t, notified.Notify())
		must(t, notified.Remove())
		for name, d := range map[string]Dependency{"nil": nil, "nil task": (*Task)(nil), "nil gate": (*Gate)(nil), "nil tag": (*Tag)(nil),
			"task": task, "gate": k.NewGate(), "tag": k.NewTag("foreign"), "removed": removed, "notified": notified} {
			refused := func(how string, err error) {
				t.Helper()
				var e *TagError
				if tag, _ := d.(*Tag); err == nil || tag != nil && tag.job == j && (!errors.As(err, &e) || e.Tag != tag) {
					t.Errorf("%s: %s: %v", name, how, err)
				}
			}
			s := &TaskSpec{Codelet: incs, Operands: ops(iface.RW, x), After: []Dependency{own, d}}
			refused("Submit", j.Submit(s))
			_, err := j.SubmitTask(s)
			refused("SubmitTask", err)
			_, err = j.SubmitWith(s, TaskOptions{Repeat: func(*Task) bool { return false }})
			refused("SubmitWith", err)
			_, err = j.Copy(x, y, CopyOptions{After: s.After})
			refused("Copy", err)
			refused("Submit of a prepared task", j.NewTask(s, TaskOptions{}).Submit())
			p := j.NewTask(&TaskSpec{Codelet: nop}, TaskOptions{})
			refused("DependOn", p.DependOn(d))
			refused("AddEndDependency", p.AddEndDependency(own, d))
			sub := make(chan error, 1)
			_, err = j.SubmitTask(&TaskSpec{Codelet: kernel("owner", func(c *TaskContext) error {
				g, err := c.Subgraph()
				if err == nil {
					err = g.Submit(&TaskSpec{Codelet: nop, After: []Dependency{d}})
				}
				sub <- err
				return nil
			})})
			must(t, err)
			refused("Submit of a sub-graph", <-sub)
			must(t, p.Submit()) // nothing was added
		}
		must(t, j.Wait(context.Background()))
		readable(t, j, x, 0)
	})
}

// Nil is an error, or nothing, and never more than that: the runtime goes on.
func TestNilIsNoHandle(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		other, k := start(t, Options{Workers: 1})
		x, y := ints(t, rt, make([]int64, 1)), lazy(t, other, 1, nil)
		must(t, k.Submit(&TaskSpec{Codelet: bad, Operands: ops(iface.W, y)}))
		must(t, k.Wait(context.Background()))
		if k.Lost(y) == nil || j.Lost(y) != nil || j.Lost(nil) != nil {
			t.Error(k.Lost(y), j.Lost(y), j.Lost(nil))
		}
		rt.EndView(nil)
		var e *ModeError
		if err := rt.SetReduction(nil, datamgr.SumReduction()); !errors.As(err, &e) {
			t.Error(err)
		}
		p := j.NewTask(nil, TaskOptions{})
		must(t, p.Submit())
		must(t, p.Wait(context.Background()))
		now(t, j, ops(iface.RW, x))
		readable(t, j, x, 1)
		must(t, j.Wait(context.Background()))
	})
}
