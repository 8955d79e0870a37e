package engine

// Sequential consistency off: by runtime, handle, task, operand and access.

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/sched"
)

// allConfigs are all policies with 1, 2, 4 and 8 workers, and Sequential.
func allConfigs() []Options {
	out := []Options{{Sequential: true}}
	for _, p := range sched.Names() {
		for _, n := range []int{1, 2, 4, 8} {
			out = append(out, Options{Policy: p, Workers: n})
		}
	}
	return out
}

// levels are the ways to switch the order off: register makes data, spec a task.
var levels = map[string]struct {
	opt  Options
	data DataSpec
	flag bool
	spec TaskSpec
	op   Operand
}{
	"runtime": {opt: Options{Unsequenced: true}},
	"data":    {data: DataSpec{Unordered: true}},
	"handle":  {flag: true},
	"task":    {spec: TaskSpec{Unsequenced: true}},
	"operand": {op: Operand{Unordered: true}},
}

// What has no order overtakes what waits, and never meets what runs.
func TestUnsequenced(t *testing.T) {
	for name, l := range levels {
		for _, o := range allConfigs() {
			t.Run(fmt.Sprintf("%s/%s-%d", name, o.Policy, o.Workers), func(t *testing.T) {
				o.Unsequenced = l.opt.Unsequenced
				rt, j := start(t, o)
				x := make([]int64, 4)
				s := l.data
				s.Kind, s.Elem, s.Dims, s.Home = iface.Vector, iface.I64, []int{4}, ptr(x)
				h, err := rt.Register(s)
				must(t, err)
				h.SetUnordered(h.Unordered() || l.flag)
				p := parts(t, rt, h, filter.Blocks(2)) // inherit it

				submit := func(c *Codelet, h *datamgr.Handle, after ...Dependency) *Task {
					s := l.spec
					op := l.op
					op.Handle, op.Mode = h, iface.RW
					s.Codelet, s.Operands, s.After = c, []Operand{op}, after
					task, err := j.SubmitTask(&s)
					must(t, err)
					return task
				}
				g := j.NewGate()
				first := submit(incs, h, g)
				overtakes := submit(incs, p[0])
				must(t, overtakes.Wait(context.Background()))
				if first.Done() {
					t.Error("the gate is closed")
				}
				var in, met atomic.Int64
				alone := kernel("alone", func(c *TaskContext) error {
					if in.Add(1) != 1 {
						met.Add(1)
					}
					iface.Slice[int64](c.Buffer(0))[0]++
					in.Add(-1)
					return nil
				})
				for i := range 300 {
					submit(alone, []*datamgr.Handle{h, p[0]}[i%2])
				}
				g.Open()
				must(t, j.Wait(context.Background()))
				if met.Load() != 0 {
					t.Errorf("%d kernels met another that uses the same data", met.Load())
				}
				must(t, j.Unregister(h))
				must(t, j.Wait(context.Background()))
				if x[0] != 302 || x[3] != 1 {
					t.Error(x)
				}
			})
		}
	}
}

// The order of a handle comes back, and an access can be without it, too.
func TestUnsequencedAccess(t *testing.T) {
	for _, o := range allConfigs() {
		o.Unsequenced = true
		rt, j := start(t, o)
		h := ints(t, rt, []int64{0, 0})
		h.SetUnordered(false)
		g := j.NewGate()
		waits, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, h), After: []Dependency{g}})
		must(t, err)
		_, err = j.Acquire(context.Background(), h, iface.R)
		stuckOn(t, err, g, nil)
		a, err := j.AcquireWith(context.Background(), h, iface.RW, AcquireOptions{Unordered: true})
		must(t, err)
		if _, err := j.TryAcquireWith(h, iface.R, AcquireOptions{Unordered: true}); err != ErrBusy {
			t.Error(err)
		}
		g.Open()
		stuckOn(t, waits.Wait(context.Background()), nil, h) // excluded while the data is held
		iface.Slice[int64](a.Buffer())[0] = 7
		must(t, a.Release())
		must(t, waits.Wait(context.Background()))

		h.SetUnordered(true)
		other := ints(t, rt, []int64{0})
		other.SetUnordered(false)
		g = j.NewGate()
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, h, iface.RW, other), After: []Dependency{g}}))
		a, err = j.Acquire(context.Background(), h, iface.R) // its handle has no order
		must(t, err)
		if s := iface.Slice[int64](a.Buffer()); s[0] != 8 || s[1] != 1 {
			t.Error(s)
		}
		must(t, a.Release())
		_, err = j.Acquire(context.Background(), other, iface.R)
		stuckOn(t, err, g, nil)
		g.Open()
		readable(t, j, other, 1)
	}
}
