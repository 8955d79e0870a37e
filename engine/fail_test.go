package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/sched"
)

// configs are the runtimes that behaviour must not depend on: every policy with
// 1, 2, 4 and 8 workers, and Sequential.
var configs = append(slices.Clone(parallel), Options{Sequential: true})

// parallel are those with workers. The race detector makes everything ten times
// slower: under it all but the default policy run with two numbers of workers each.
var parallel = func() (out []Options) {
	for i, p := range sched.Names() {
		for k, n := range []int{1, 2, 4, 8} {
			if !raceOn || p == sched.Default || (i+k)%2 == 0 {
				out = append(out, Options{Workers: n, Policy: p})
			}
		}
	}
	return out
}()

func everywhere(t *testing.T, fn func(t *testing.T, rt *Runtime, j *Job)) {
	for _, o := range configs {
		name := fmt.Sprintf("%s-%d", o.Policy, o.Workers)
		if o.Sequential {
			name = "sequential"
		}
		t.Run(name, func(t *testing.T) {
			rt, j := start(t, o)
			fn(t, rt, j)
		})
	}
}

var (
	errBoom = errors.New("boom")
	bad     = kernel("bad", func(*TaskContext) error { return errBoom })
)

func ops(pairs ...any) (out []Operand) {
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, Operand{Mode: pairs[i].(iface.AccessMode), Handle: pairs[i+1].(*datamgr.Handle)})
	}
	return out
}

func lazy(t testing.TB, rt *Runtime, n int, r *datamgr.Reduction) *datamgr.Handle {
	t.Helper()
	h, err := rt.Register(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{n}, Reduce: r})
	must(t, err)
	return h
}

// lostBy asserts that reading h fails because of task id.
func lostBy(t testing.TB, j *Job, h *datamgr.Handle, id int64) {
	t.Helper()
	_, err := j.Acquire(context.Background(), h, iface.R)
	var e *FailedDataError
	if !errors.As(err, &e) || e.Task.ID != id {
		t.Errorf("reading gives %v, want what task %d lost", err, id)
	}
}

func readable(t testing.TB, j *Job, h *datamgr.Handle, want int64) {
	t.Helper()
	a, err := j.Acquire(context.Background(), h, iface.R)
	if err != nil {
		t.Error(err)
		return
	}
	defer a.Release()
	for i, v := range iface.Slice[int64](a.Buffer()) {
		if v != want {
			t.Errorf("element %d: %d, want %d", i, v, want)
		}
	}
}

func TestFailureCancelsWhatDependsOnIt(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		x, y, z := make([]int64, 4), make([]int64, 4), make([]int64, 4)
		hx, hy, hz := ints(t, rt, x), ints(t, rt, y), ints(t, rt, z)
		v, err := rt.Partition(hx, filter.Blocks(2))
		must(t, err)
		site := &Site{File: "f.spu", Line: 3, Col: 5}
		gate := j.NewGate() // so that all is submitted before anything fails
		failing, err := j.SubmitTask(&TaskSpec{Codelet: bad, Operands: ops(iface.RW, v.Parts[0]), After: []Dependency{gate}, Name: "first", Origin: Origin{Site: site}})
		must(t, err)
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, v.Parts[1])}))               // free of it
		reader, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: ops(iface.R, hx, iface.W, hy)}) // needs it
		must(t, err)
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, hy)})) // needs what that lost
		after, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, hz), After: []Dependency{failing}})
		must(t, err)
		gate.Open()
		must(t, j.Wait(context.Background()))

		var e *TaskError
		if !errors.As(failing.Err(), &e) || !errors.Is(e, errBoom) || e.Codelet != bad || e.Name != "first" || e.Origin.Site != site ||
			len(e.Lost) != 1 || e.Lost[0] != v.Parts[0] || e.Worker == "" {
			t.Errorf("the failed task gives %+v", failing.Err())
		}
		var lost *FailedDataError
		if !errors.As(reader.Err(), &lost) || lost.Operand != 0 || lost.Handle != hx || !errors.Is(lost, errBoom) {
			t.Errorf("its reader gives %v", reader.Err())
		}
		if !errors.As(after.Err(), &lost) || lost.Operand != -1 {
			t.Errorf("the task after it gives %v", after.Err())
		}
		if fs := j.Failures(); len(fs) != 0 {
			t.Errorf("failures handed out twice: %v", fs)
		}
		if c := j.LastCancelled(); c == nil || c.ID != after.ID() || !c.Dropped || !errors.Is(c, errBoom) {
			t.Errorf("the last one cancelled: %v", c)
		}
		if s := j.Stats(); s.Submitted != 5 || s.Done != 1 || s.Failed != 1 || s.Cancelled != 3 {
			t.Errorf("%+v", s)
		}
		lostBy(t, j, hx, 1)
		lostBy(t, j, v.Parts[0], 1)
		lostBy(t, j, hy, 1)
		lostBy(t, j, hz, 1)
		readable(t, j, v.Parts[1], 1)
		// later tasks too, until W or invalidate
		last, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, hy)})
		must(t, err)
		must(t, j.Wait(context.Background()))
		lostBy(t, j, hy, 1)
		var why *FailedDataError
		if c := j.LastCancelled(); c == nil || c.ID != last.ID() || !errors.As(c, &why) || why.Operand != 0 {
			t.Errorf("the last one cancelled: %v", c)
		}
		must(t, j.Submit(&TaskSpec{Codelet: nines, Operands: ops(iface.W, hy)}))
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, hy)}))
		readable(t, j, hy, 10)
		must(t, j.Invalidate(hx))
		must(t, j.Submit(&TaskSpec{Codelet: nines, Operands: ops(iface.W, hx)}))
		readable(t, j, hx, 9)
	})
}

var nines = kernel("nines", func(c *TaskContext) error {
	for i := range c.NumBuffers() {
		b := c.Buffer(i)
		for k := range b.Len() {
			*element(b, k) = 9
		}
	}
	return nil
})

func TestFailuresInTaskOrderOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		for range 20 {
			must(t, j.Submit(&TaskSpec{Codelet: bad}))
		}
		must(t, j.Wait(context.Background()))
		fs := j.Failures()
		if len(fs) != 20 || len(j.Failures()) != 0 {
			t.Fatalf("%d failures", len(fs))
		}
		for i, f := range fs {
			if f.ID != int64(i+1) {
				t.Errorf("failure %d is task %d", i, f.ID)
			}
		}
	})
}

func TestEveryWayToFail(t *testing.T) {
	var cause *PanicError
	for name, c := range map[string]struct {
		kernel Impl
		is     func(error) bool
	}{
		"error":       {func(*TaskContext) error { return errBoom }, func(err error) bool { return errors.Is(err, errBoom) }},
		"panic":       {func(*TaskContext) error { panic("ouch") }, func(err error) bool { return errors.As(err, &cause) && cause.Value == "ouch" && cause.Stack != "" }},
		"nil":         {func(*TaskContext) error { panic(nil) }, func(err error) bool { return errors.As(err, &cause) }},
		"error panic": {func(*TaskContext) error { panic(errBoom) }, func(err error) bool { return errors.Is(err, errBoom) }},
		"index":       {func(c *TaskContext) error { _ = c.Arg(3); return nil }, func(err error) bool { return errors.As(err, &cause) }},
		"buffer":      {func(c *TaskContext) error { c.Buffer(1); return nil }, func(err error) bool { return errors.As(err, &cause) }},
	} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
				h := ints(t, rt, make([]int64, 1))
				must(t, j.Submit(&TaskSpec{Codelet: kernel("k", c.kernel), Operands: ops(iface.RW, h)}))
				must(t, j.Submit(&TaskSpec{Codelet: kernel("k", c.kernel), Name: "general", Operands: ops(iface.W, h)}))
				must(t, j.Wait(context.Background()))
				fs := j.Failures()
				if len(fs) != 2 || !c.is(fs[0]) || !c.is(fs[1]) {
					t.Error(fs)
				}
				must(t, j.Submit(&TaskSpec{Codelet: nines, Operands: ops(iface.W, h)}))
				readable(t, j, h, 9)
			})
		})
	}
}

// A kernel that ends its goroutine takes the worker's with it: another goes on.
func TestGoexit(t *testing.T) {
	for _, w := range []int{1, 2} {
		rt, j := start(t, Options{Workers: w})
		h := ints(t, rt, make([]int64, 1))
		exits := kernel("exits", func(*TaskContext) error { runtime.Goexit(); return nil })
		for range 5 {
			must(t, j.Submit(&TaskSpec{Codelet: exits, Operands: ops(iface.W, h)}))
			must(t, j.Submit(&TaskSpec{Codelet: nines, Operands: ops(iface.W, h)}))
			must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, h)}))
		}
		readable(t, j, h, 10)
		if fs := j.Failures(); len(fs) != 5 || !strings.Contains(fs[0].Error(), "Goexit") {
			t.Error(fs)
		}
	}
	rt, j := start(t, Options{Sequential: true})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = j.Submit(&TaskSpec{Codelet: kernel("exits", func(*TaskContext) error { runtime.Goexit(); return nil })})
		t.Error("the goroutine went on")
	}()
	<-done
	h := ints(t, rt, make([]int64, 1))
	must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, h)}))
	readable(t, j, h, 1)
}

func TestReductionFailures(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		for name, r := range map[string]*datamgr.Reduction{
			"init fails":     {Name: "r", Init: func(*iface.Buffer) error { return errBoom }, Combine: datamgr.SumReduction().Combine},
			"init panics":    {Name: "r", Init: func(*iface.Buffer) error { panic(errBoom.Error()) }, Combine: datamgr.SumReduction().Combine},
			"combine fails":  {Name: "r", Init: datamgr.SumReduction().Init, Combine: func(a, b *iface.Buffer) error { return errBoom }},
			"combine panics": {Name: "r", Init: datamgr.SumReduction().Init, Combine: func(a, b *iface.Buffer) error { panic(errBoom.Error()) }},
		} {
			x := make([]int64, 3)
			h := ints(t, rt, x)
			must(t, rt.SetReduction(h, r))
			must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.Redux, h)}))
			_, err := j.Acquire(context.Background(), h, iface.R)
			var lost *FailedDataError
			var re *datamgr.ReductionError
			if !errors.As(err, &lost) || !errors.As(err, &re) || !strings.Contains(err.Error(), "boom") {
				t.Errorf("%s: %v", name, err)
			}
			must(t, j.Submit(&TaskSpec{Codelet: nines, Operands: ops(iface.W, h)}))
			readable(t, j, h, 9)
			j.Failures()
			must(t, j.Unregister(h))
		}
		// a contribution that fails: the sum is lost, and only that
		h, y := ints(t, rt, make([]int64, 1)), ints(t, rt, make([]int64, 1))
		must(t, rt.SetReduction(h, datamgr.SumReduction()))
		for range 5 {
			must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.Redux, h, iface.RW, y)}))
		}
		must(t, j.Submit(&TaskSpec{Codelet: bad, Operands: ops(iface.Redux, h)}))
		lostBy(t, j, h, j.submitted)
		readable(t, j, y, 5)
		must(t, j.Wait(context.Background()))
		if b := rt.Nodes()[0].Allocated; b != 0 {
			t.Errorf("%d bytes of contributions left", b)
		}
	})
}

func TestShapeFunction(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		h := ints(t, rt, make([]int64, 3))
		want := &ShapeError{Message: "three is too many", Operands: []int{0}}
		c := &Codelet{Name: "c", CPU: nop.CPU, Shape: func(ops []iface.Desc, args []iface.Scalar) error {
			if args[0].Int() == 7 {
				panic("seven")
			}
			if ops[0].Dim[0] == 3 {
				return want
			}
			return nil
		}}
		s := &TaskSpec{Codelet: c, Operands: ops(iface.RW, h), Args: []iface.Scalar{iface.Int(1)}}
		if err := j.Submit(s); err != want {
			t.Error(err)
		}
		var p *PanicError
		s.Args[0] = iface.Int(7)
		if err := j.Submit(s); !errors.As(err, &p) {
			t.Error(err)
		}
		if j.Stats().Submitted != 0 {
			t.Error("something was submitted")
		}
	})
}

func TestSubmitErrors(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		x := []int64{1, 2}
		h := ints(t, rt, x)
		ro, err := rt.Register(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{2}, Home: ptr([]int64{1, 2}), ReadOnly: true, Name: "x"})
		must(t, err)
		declared := &Codelet{Name: "d", Modes: []iface.AccessMode{iface.RW}, CPU: nop.CPU}
		var (
			mode  *ModeError
			ronly *ReadOnlyError
			redux *NoReductionError
			impl  *NoImplementationError
			none  *NoWorkerError
		)
		for name, c := range map[string]struct {
			s  TaskSpec
			as any
		}{
			"no codelet":        {TaskSpec{}, &impl},
			"no implementation": {TaskSpec{Codelet: &Codelet{Name: "x"}}, &impl},
			"no mode":           {TaskSpec{Codelet: nop, Operands: []Operand{{Handle: h}}}, &mode},
			"nil handle":        {TaskSpec{Codelet: nop, Operands: []Operand{{Mode: iface.R}}}, &mode},
			"declared mode":     {TaskSpec{Codelet: declared, Operands: ops(iface.R, h)}, &mode},
			"operand count":     {TaskSpec{Codelet: declared, Operands: ops(iface.RW, h, iface.R, h)}, &mode},
			"read-only":         {TaskSpec{Codelet: nop, Operands: ops(iface.RW, ro)}, &ronly},
			"read-only W":       {TaskSpec{Codelet: nop, Operands: ops(iface.R, h, iface.W, ro)}, &ronly},
			"no reduction":      {TaskSpec{Codelet: nop, Operands: ops(iface.Redux, h)}, &redux},
			"worker -1":         {TaskSpec{Codelet: nop, Workers: []int{-1}}, &none},
			"worker 99":         {TaskSpec{Codelet: nop, Workers: []int{0, 99}}, &none},
			"no worker":         {TaskSpec{Codelet: nop, Workers: []int{}}, &none},
		} {
			if err := j.Submit(&c.s); err == nil || !errors.As(err, c.as) || err.Error() == "" {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, m := range []iface.AccessMode{iface.Commute, iface.Redux} {
			if m == iface.Redux {
				must(t, j.Wait(context.Background()))
				must(t, rt.SetReduction(h, datamgr.SumReduction()))
			}
			must(t, j.Submit(&TaskSpec{Codelet: declared, Operands: ops(m, h)}))
		}
		if err := j.Submit(&TaskSpec{Codelet: nop, Operands: ops(iface.Redux, h, iface.R, h)}); !errors.As(err, &mode) {
			t.Error("REDUX beside R:", err)
		}
	})
}

// TestCancel: the results of dropped tasks are lost, those of others stay, and the job
// goes on.
func TestCancel(t *testing.T) {
	for _, o := range parallel {
		rt, j := start(t, o)
		x, y, z := ints(t, rt, make([]int64, 1)), ints(t, rt, make([]int64, 1)), ints(t, rt, make([]int64, 1))
		entered, cause := make(chan struct{}), errors.New("stop it")
		long := kernel("long", func(c *TaskContext) error {
			close(entered)
			<-c.Context().Done()
			return context.Cause(c.Context())
		})
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, z)}))
		must(t, j.Wait(context.Background()))
		must(t, j.Submit(&TaskSpec{Codelet: long, Operands: ops(iface.W, x)}))
		<-entered
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, x)}))
		g := j.NewGate()
		gated, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, y), After: []Dependency{g}})
		must(t, err)
		j.Cancel(cause)
		must(t, j.Wait(context.Background()))
		var e *TaskError
		if !errors.As(gated.Err(), &e) || !e.Dropped || e.Cause != cause {
			t.Error(gated.Err())
		}
		if fs := j.Failures(); len(fs) != 1 || fs[0].Codelet != long || fs[0].Cause != cause {
			t.Error(fs)
		}
		if g.Opened() {
			t.Error("cancelling opened a gate")
		}
		for _, h := range []*datamgr.Handle{x, y} {
			if _, err := j.Acquire(context.Background(), h, iface.R); !errors.Is(err, cause) {
				t.Error(err)
			}
		}
		readable(t, j, z, 1)
		ran := false
		must(t, j.Submit(&TaskSpec{Codelet: kernel("later", func(c *TaskContext) error {
			ran = true
			return c.Context().Err()
		}), Operands: ops(iface.W, x)}))
		must(t, j.Wait(context.Background()))
		if !ran || len(j.Failures()) != 0 {
			t.Error("a task after Cancel:", ran)
		}
	}
}

// TestKernelTellsWhyItStopped: a kernel that returns the error of its context has
// failed for the reason that Cancel was given; what another context says stays.
func TestKernelTellsWhyItStopped(t *testing.T) {
	for _, o := range parallel {
		rt, j := start(t, o)
		x := ints(t, rt, make([]int64, 1))
		entered := make(chan struct{})
		must(t, j.Submit(&TaskSpec{Operands: ops(iface.W, x), Codelet: kernel("long", func(c *TaskContext) error {
			close(entered)
			<-c.Context().Done()
			return fmt.Errorf("gave up: %w", c.Context().Err())
		})}))
		<-entered
		j.Cancel(context.DeadlineExceeded)
		must(t, j.Wait(context.Background()))
		if fs := j.Failures(); len(fs) != 1 || !errors.Is(fs[0], context.DeadlineExceeded) || !errors.Is(fs[0], context.Canceled) {
			t.Errorf("%v", fs)
		}
		must(t, j.Submit(&TaskSpec{Operands: ops(iface.W, x), Codelet: kernel("own", func(*TaskContext) error { return context.Canceled })}))
		must(t, j.Wait(context.Background()))
		if fs := j.Failures(); len(fs) != 1 || fs[0].Cause != context.Canceled {
			t.Errorf("%v", fs)
		}
	}
}

func TestContextOfJobEnds(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, _ *Job) {
		ctx, cancel := context.WithCancelCause(context.Background())
		j := rt.NewJob(ctx, JobOptions{})
		defer j.Close()
		h := ints(t, rt, make([]int64, 1))
		g := j.NewGate()
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, h), After: []Dependency{g}}))
		cancel(errBoom)
		must(t, j.Wait(context.Background())) // the gate stays closed, and the task is dropped
		for {
			if err := j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, h)}); errors.Is(err, errBoom) {
				break
			}
		}
		if _, err := j.Acquire(context.Background(), h, iface.R); !errors.Is(err, errBoom) {
			t.Error(err)
		}
		must(t, j.Unregister(h)) // cleaning up is allowed
		must(t, j.Wait(context.Background()))
		done := rt.NewJob(ctx, JobOptions{})
		if err := done.Submit(&TaskSpec{Codelet: nop}); !errors.Is(err, errBoom) {
			t.Error(err)
		}
		must(t, done.Close())
	})
}

// endless is a kernel that ends with its context.
var endless = kernel("endless", func(c *TaskContext) error {
	<-c.Context().Done()
	return c.Context().Err()
})

// From the end of a context to the end of its watch a job takes no tasks, and has
// dropped those before.
func TestCancelWhen(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, _ *Job) {
		var none context.Context // never ends
		j := rt.NewJob(none, JobOptions{})
		x := ints(t, rt, make([]int64, 1))
		submit := func() error { return j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, x)}) }
		outer, endOuter := context.WithCancelCause(context.Background())
		inner, endInner := context.WithCancelCause(context.Background())
		other := errors.New("other")
		stopOuter, stopInner, never := j.CancelWhen(outer), j.CancelWhen(inner), j.CancelWhen(none)
		must(t, submit())
		k, err := j.SubmitTask(&TaskSpec{Codelet: endless, After: []Dependency{j.NewGate()}})
		must(t, err)
		endInner(errBoom)
		must(t, k.Wait(context.Background())) // the gate stays closed
		if err := k.Err(); !errors.Is(err, errBoom) {
			t.Error(err)
		}
		if err := submit(); err != errBoom {
			t.Error(err)
		}
		if _, err := j.Acquire(context.Background(), x, iface.R); err != errBoom {
			t.Error(err)
		}
		must(t, j.Unregister(ints(t, rt, make([]int64, 1))))
		endOuter(other)
		for range 2 {
			if err := stopInner(); err != errBoom {
				t.Error(err)
			}
		}
		stopLate := j.CancelWhen(outer)
		if err := submit(); err != other {
			t.Error(err)
		}
		if err := stopOuter(); err != other {
			t.Error(err)
		}
		if err := submit(); err != other {
			t.Error("of two watches one is left:", err)
		}
		if err := stopLate(); err != other {
			t.Error(err)
		}
		late, end := context.WithCancelCause(context.Background())
		must(t, j.CancelWhen(late)())
		end(errBoom)
		must(t, never())
		must(t, submit())
		must(t, j.Wait(context.Background()))
		must(t, j.Close())
	})
}

// However the end of a context meets submissions, none is accepted that outlives it.
func TestCancelWhenRaces(t *testing.T) {
	_, j := start(t, Options{Workers: 2})
	for n := range 2000 {
		ctx, cancel := context.WithCancelCause(context.Background())
		stop := j.CancelWhen(ctx)
		go func() {
			for range n % 64 {
				runtime.Gosched()
			}
			cancel(errBoom)
		}()
		for ctx.Err() == nil {
			if err := j.Submit(&TaskSpec{Codelet: endless}); err != nil && err != errBoom {
				t.Fatal(err)
			}
		}
		if err := stop(); err != errBoom {
			t.Fatalf("round %d ended with %v", n, err)
		}
		must(t, j.Wait(context.Background()))
		for _, f := range j.Failures() {
			if !errors.Is(f, errBoom) {
				t.Errorf("a task failed with %v", f)
			}
		}
	}
}

// The kernel of a task whose job was cancelled adds nothing to its sub-graph.
func TestCancelEndsSubgraph(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		x := ints(t, rt, make([]int64, 1))
		var before, after error
		owner, err := j.SubmitTask(&TaskSpec{Operands: ops(iface.RW, x), Codelet: kernel("owner", func(c *TaskContext) error {
			g, err := c.Subgraph()
			must(t, err)
			sub := &TaskSpec{Codelet: endless, Operands: ops(iface.RW, x)}
			before = g.Submit(sub)
			j.Cancel(errBoom)
			after = g.Submit(sub)
			return nil
		})})
		must(t, err)
		must(t, owner.Wait(context.Background()))
		if before != nil || after != errBoom {
			t.Errorf("submitted with %v before the cancel, and %v after it", before, after)
		}
		must(t, j.Wait(context.Background()))
	})
}

// Kernels that submit may race with a cancel; nothing hangs or is lost.
func TestCancelStorm(t *testing.T) {
	for _, o := range parallel {
		rt, j := start(t, o)
		hs := make([]*datamgr.Handle, 8)
		for i := range hs {
			hs[i] = ints(t, rt, make([]int64, 4))
		}
		var ran atomic.Int64
		var spawn *Codelet
		spawn = kernel("spawn", func(c *TaskContext) error {
			if n := ran.Add(1); n%3 == 0 {
				return j.Submit(&TaskSpec{Codelet: spawn, Operands: ops(iface.RW, hs[n%8], iface.R, hs[(n+1)%8])})
			}
			return nil
		})
		for i := range 3000 {
			must(t, j.Submit(&TaskSpec{Codelet: spawn, Operands: ops(iface.W, hs[i%8], iface.Scratch, hs[(i+3)%8])}))
			if i%500 == 499 {
				j.Cancel(fmt.Errorf("cancel %d", i))
			}
		}
		must(t, j.Wait(context.Background()))
		if s := j.Stats(); s.Done+s.Failed+s.Cancelled != s.Submitted {
			t.Errorf("%+v", s)
		}
	}
}

// TestUnsoundErrors: an error whose methods panic fails the task that returned it, and
// ends nothing else.
func TestUnsoundErrors(t *testing.T) {
	for what, bad := range map[string]error{
		"nil":     (*TaskError)(nil),
		"wrapped": fmt.Errorf("wrapped: %w", errors.Join((*TaskError)(nil))),
	} {
		returns := kernel("returns", func(*TaskContext) error { return bad })
		for how, submit := range map[string]func(*Job) (*Task, error){
			"kept": func(j *Job) (*Task, error) { return j.SubmitTask(&TaskSpec{Codelet: returns}) },
			"epilogue": func(j *Job) (*Task, error) {
				return j.SubmitWith(&TaskSpec{Codelet: nop}, TaskOptions{Epilogue: func(*Task) error { return bad }})
			},
			"repeated": func(j *Job) (*Task, error) {
				return j.SubmitWith(&TaskSpec{Codelet: returns}, TaskOptions{Repeat: func(*Task) bool { return false }})
			},
			"forgotten": func(j *Job) (*Task, error) { return nil, j.Submit(&TaskSpec{Codelet: returns}) },
		} {
			t.Run(what+", "+how, func(t *testing.T) {
				_, j := start(t, Options{Workers: 1})
				k, err := submit(j)
				must(t, err)
				must(t, j.Wait(context.Background()))
				fs := j.Failures()
				var p *PanicError
				if len(fs) != 1 || !errors.As(fs[0], &p) {
					t.Fatalf("failures %v", fs)
				}
				if k != nil && !errors.As(k.Err(), &p) {
					t.Errorf("the task says %v", k.Err())
				}
			})
		}
	}
}
