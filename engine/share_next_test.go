package engine

// What a worker releases runs elsewhere while the worker does something else first.

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/sched"
)

// TestReleasedRunsElsewhere: worker 0 releases task u, which it would run next, and does
// something else first that takes until u has run. Workers that sleep are woken for u.
func TestReleasedRunsElsewhere(t *testing.T) {
	on := []int{0}
	for name, c := range map[string]struct {
		asleep int32 // workers that sleep before u is released
		submit func(j *Job, first, u, until *Codelet, x *datamgr.Handle, wait func()) error
	}{
		"callback": {2, func(j *Job, first, u, _ *Codelet, x *datamgr.Handle, wait func()) error {
			if _, err := j.SubmitWith(&TaskSpec{Codelet: first, Operands: ops(iface.RW, x), Workers: on},
				TaskOptions{Callback: func(*Task) error { wait(); return nil }}); err != nil {
				return err
			}
			return j.Submit(&TaskSpec{Codelet: u, Operands: ops(iface.RW, x)})
		}},
		"prologue": {2, func(j *Job, first, u, _ *Codelet, x *datamgr.Handle, wait func()) error {
			if err := submitAll(j, TaskSpec{Codelet: first, Operands: ops(iface.RW, x), Workers: on},
				TaskSpec{Codelet: u, Operands: ops(iface.R, x)}); err != nil {
				return err
			}
			_, err := j.SubmitWith(&TaskSpec{Codelet: nop, Operands: ops(iface.R, x)}, TaskOptions{Prologue: func(*Task) error { wait(); return nil }})
			return err
		}},
		"what was left to be ended later": {2, func(j *Job, first, u, until *Codelet, x *datamgr.Handle, _ func()) error {
			return submitAll(j, TaskSpec{Codelet: first, Workers: on},
				TaskSpec{Codelet: nop, Operands: ops(iface.R, x), Workers: on},
				TaskSpec{Codelet: nop, Operands: ops(iface.R, x), Workers: on},
				TaskSpec{Codelet: u, Operands: ops(iface.RW, x)},
				TaskSpec{Codelet: until, Workers: on})
		}},
		"a task for it alone, released before": {2, func(j *Job, first, u, until *Codelet, x *datamgr.Handle, _ func()) error {
			return submitAll(j, TaskSpec{Codelet: first, Operands: ops(iface.RW, x), Workers: on},
				TaskSpec{Codelet: until, Operands: ops(iface.R, x), Workers: on},
				TaskSpec{Codelet: u, Operands: ops(iface.R, x)})
		}},
		"a task for it alone, released behind": {2, func(j *Job, first, u, until *Codelet, x *datamgr.Handle, _ func()) error {
			return submitAll(j, TaskSpec{Codelet: first, Operands: ops(iface.RW, x), Workers: on},
				TaskSpec{Codelet: u, Operands: ops(iface.R, x)},
				TaskSpec{Codelet: until, Operands: ops(iface.R, x), Workers: on})
		}},
		"gang": {1, func(j *Job, first, u, _ *Codelet, x *datamgr.Handle, wait func()) error {
			if err := submitAll(j, TaskSpec{Codelet: first, Operands: ops(iface.RW, x), Workers: on},
				TaskSpec{Codelet: u, Operands: ops(iface.RW, x)}); err != nil {
				return err
			}
			g := &Codelet{Name: "gang", Traits: &Traits{Parallel: SPMD}, CPU: []Impl{func(c *TaskContext) error { wait(); return nil }}}
			_, err := j.SubmitWith(&TaskSpec{Codelet: g, Workers: []int{0, 1}}, TaskOptions{Size: 2})
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, p := range sched.Names() {
				rt, j := start(t, Options{Policy: p, Workers: 3})
				release, ran := make(chan struct{}), make(chan struct{})
				wait := func() {
					select {
					case <-ran:
					case <-time.After(10 * time.Second): // it would wait for ever, and the test with it
						t.Errorf("%s: it is left with a worker that does something else, and others sleep", p)
					}
				}
				x := ints(t, rt, make([]int64, 1))
				must(t, c.submit(j,
					kernel("first", func(*TaskContext) error { <-release; return nil }),
					kernel("u", func(*TaskContext) error { close(ran); return nil }),
					kernel("until", func(*TaskContext) error { wait(); return nil }), x, wait))
				for rt.parking.parked.Load() != c.asleep || c.asleep == 1 && rt.gangs.open.Load() == 0 {
					runtime.Gosched()
				}
				close(release)
				must(t, j.Wait(context.Background()))
			}
		})
	}
}

func submitAll(j *Job, specs ...TaskSpec) error {
	for i := range specs {
		if err := j.Submit(&specs[i]); err != nil {
			return err
		}
	}
	return nil
}
