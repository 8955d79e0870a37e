package engine

// Accesses that wait for an unordered task.

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/sched"
)

// blockUnordered registers a variable of value 7 and starts an unordered task on
// it that ends when stop is closed.
func blockUnordered(t *testing.T) (j *Job, h *datamgr.Handle, stop chan struct{}) {
	t.Helper()
	rt, err := New(Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rt.Close() })
	j = rt.NewJob(context.Background(), JobOptions{})
	x := 7.0
	h, err = rt.Register(DataSpec{Kind: iface.Variable, Elem: iface.F64, Home: unsafe.Pointer(&x)})
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan struct{})
	stop = make(chan struct{})
	block := &Codelet{Name: "block", CPU: []Impl{func(*TaskContext) error {
		close(started)
		<-stop
		return nil
	}}}
	if err := j.Submit(&TaskSpec{Codelet: block, Operands: []Operand{{Handle: h, Mode: iface.RW, Unordered: true}}}); err != nil {
		t.Fatal(err)
	}
	<-started
	return j, h, stop
}

// TestReadersWakeTogether queues two readers behind an unordered task: the first
// waits for the second, so both must be woken.
func TestReadersWakeTogether(t *testing.T) {
	j, h, stop := blockUnordered(t)
	ran, met := make(chan struct{}), make(chan bool, 1)
	err := j.AcquireFunc(h, iface.R, func(a *Access, err error) {
		select {
		case <-ran:
			met <- true
		case <-time.After(10 * time.Second):
			met <- false
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	read := &Codelet{Name: "read", CPU: []Impl{func(*TaskContext) error { close(ran); return nil }}}
	time.Sleep(20 * time.Millisecond) // both are in the queue, most likely in this order
	if err := j.Submit(&TaskSpec{Codelet: read, Operands: []Operand{{Handle: h, Mode: iface.R}}}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond)
	close(stop)
	if !<-met {
		t.Error("a reader slept beside a reader")
	}
	if err := j.Wait(context.Background()); err != nil {
		t.Error(err)
	}
}

// TestRefusedWriteKeepsValue gives up an acquire W that never held the data.
func TestRefusedWriteKeepsValue(t *testing.T) {
	j, h, stop := blockUnordered(t)
	if _, err := j.TryAcquire(h, iface.W); err != ErrBusy {
		t.Fatalf("got %v, want ErrBusy", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	if _, err := j.Acquire(ctx, h, iface.W); err == nil {
		t.Fatal("acquired what a task uses")
	}
	close(stop)
	a, err := j.Acquire(context.Background(), h, iface.R)
	if err != nil {
		t.Fatalf("the value is gone: %v", err)
	}
	if got := *(*float64)(a.Buffer().Ptr); got != 7 {
		t.Errorf("value %v, want 7", got)
	}
	if err := a.Release(); err != nil {
		t.Error(err)
	}
}

// TestUnorderedWaitsForValue: what tasks without order do to data is not lost to the
// reduction, or the lazy initialisation, that gives it its first value.
func TestUnorderedWaitsForValue(t *testing.T) {
	const n = 1 << 10
	add := &Codelet{Name: "add", CPU: []Impl{func(c *TaskContext) error {
		for i := range n {
			*element(c.Buffer(0), i) += c.Arg(0).Int()
		}
		return nil
	}}}
	task := func(h *datamgr.Handle, m iface.AccessMode, k int64) *TaskSpec {
		return &TaskSpec{Codelet: add, Operands: []Operand{{Handle: h, Mode: m, Unordered: m == iface.RW}}, Args: []iface.Scalar{iface.Int(k)}}
	}
	t.Run("reduction", func(t *testing.T) {
		rt, j := start(t, Options{Workers: 2})
		h := lazy(t, rt, n, datamgr.SumReduction())
		gate := j.NewGate()
		late := task(h, iface.Redux, 10)
		late.After = []Dependency{gate} // so that the reduction is late, too
		must(t, j.Submit(task(h, iface.Redux, 1)))
		must(t, j.Submit(late))
		must(t, j.Submit(task(h, iface.RW, 100)))
		must(t, j.Submit(task(h, iface.RW, 1000)))
		time.Sleep(20 * time.Millisecond) // they would run now
		gate.Open()
		must(t, j.Wait(context.Background()))
		readable(t, j, h, 1111)
	})
	t.Run("initialisation", func(t *testing.T) {
		rt, j := start(t, Options{Workers: 2})
		going := make(chan struct{})
		h := lazy(t, rt, n, &datamgr.Reduction{Init: func(b *iface.Buffer) error {
			<-going
			for i := range n {
				*element(b, i) = 1
			}
			return nil
		}})
		must(t, j.Submit(task(h, iface.RW, 10)))
		must(t, j.Submit(task(h, iface.RW, 100)))
		time.Sleep(20 * time.Millisecond)
		close(going)
		must(t, j.Wait(context.Background()))
		readable(t, j, h, 111)
	})
}

// Sequential consistency off: by runtime, handle, task, operand and access.

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
	"runtime": {opt: Options{Unordered: true}},
	"data":    {data: DataSpec{Unordered: true}},
	"handle":  {flag: true},
	"task":    {spec: TaskSpec{Unordered: true}},
	"operand": {op: Operand{Unordered: true}},
}

// TestUnordered: accesses without order overtake waiting ones, and never meet a
// conflicting one that runs.
func TestUnordered(t *testing.T) {
	for name, l := range levels {
		for _, o := range allConfigs() {
			t.Run(fmt.Sprintf("%s/%s-%d", name, o.Policy, o.Workers), func(t *testing.T) {
				o.Unordered = l.opt.Unordered
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
func TestUnorderedAccesses(t *testing.T) {
	for _, o := range allConfigs() {
		o.Unordered = true
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
