package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

// logged is a list of what happened, in order.
type logged struct {
	mu  sync.Mutex
	all []string
}

func (l *logged) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, fmt.Sprintf(format, args...))
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.all, " ")
}

// hooks writes down each hook of a task.
func (l *logged) hooks(name string) TaskOptions {
	at := func(what string) Hook {
		return func(t *Task) error {
			l.add("%s.%s", name, what)
			return nil
		}
	}
	return TaskOptions{Prologue: at("prologue"), OnStart: at("start"), Epilogue: at("epilogue"), Callback: at("callback")}
}

func (l *logged) kernel(name string) *Codelet {
	return kernel(name, func(*TaskContext) error { l.add("%s", name); return nil })
}

// Hooks run once each, in their places, on tasks with a kernel and without.
func TestHooks(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		x := ints(t, rt, make([]int64, 1))
		var l logged
		_, err := j.SubmitWith(&TaskSpec{Codelet: l.kernel("a"), Operands: ops(iface.RW, x)}, l.hooks("a"))
		must(t, err)
		must(t, j.Wait(context.Background()))
		_, err = j.SubmitWith(&TaskSpec{Operands: ops(iface.RW, x)}, l.hooks("b"))
		must(t, err)
		must(t, j.Wait(context.Background()))
		want := "a.prologue a.start a a.epilogue a.callback b.prologue b.start b.epilogue b.callback"
		if l.String() != want {
			t.Errorf("got  %s\nwant %s", l.String(), want)
		}
	})
}

// The epilogue comes before anything that waits for the task, by data or
// explicitly; Wait returns after the callback.
func TestEpilogueBeforeSuccessors(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		v, w := make([]int64, 1), make([]int64, 1)
		x, y := ints(t, rt, v), ints(t, rt, w)
		one := kernel("one", func(c *TaskContext) error { iface.Slice[int64](c.Buffer(0))[0] = 1; return nil })
		two := kernel("two", func(c *TaskContext) error { iface.Slice[int64](c.Buffer(0))[0] = 2; return nil })
		nowhere := &Codelet{Name: "nowhere", Traits: &Traits{Nowhere: true}}
		var saw []int64
		var epilogues atomic.Int32
		hook := TaskOptions{Epilogue: func(*Task) error {
			saw = append(saw, v[0], w[0])
			epilogues.Add(1)
			return nil
		}}
		for i, c := range []*Codelet{one, two} {
			a, err := j.SubmitWith(&TaskSpec{Codelet: nowhere, Operands: ops(iface.R, x, iface.R, y)}, hook)
			must(t, err)
			must(t, j.Submit(&TaskSpec{Codelet: c, Operands: ops(iface.W, x)}))
			must(t, j.Submit(&TaskSpec{Codelet: c, Operands: ops(iface.W, y)}))
			must(t, j.Submit(&TaskSpec{Codelet: kernel("after", func(*TaskContext) error {
				if int(epilogues.Load()) <= i {
					return errors.New("the epilogue has not run")
				}
				return nil
			}), After: []Dependency{a}}))
		}
		called := false
		task, err := j.SubmitWith(&TaskSpec{Operands: ops(iface.R, x, iface.R, y)}, TaskOptions{Callback: func(*Task) error { called = true; return nil }})
		must(t, err)
		must(t, task.Wait(context.Background()))
		if !called || !slices.Equal(saw, []int64{0, 0, 1, 1}) || len(j.Failures()) != 0 {
			t.Error(called, saw)
		}
		must(t, j.Wait(context.Background()))
	})
}

// TestHooksThatFail: a hook that fails has the outcome documented for its place.
func TestHooksThatFail(t *testing.T) {
	type outcome struct{ kernel, later, failed bool } // the kernel ran; a reader of its data ran; the task failed
	errBoom := errors.New("boom")
	bad := map[string]Hook{
		"error":  func(*Task) error { return errBoom },
		"panic":  func(*Task) error { panic(errBoom) },
		"goexit": func(*Task) error { runtime.Goexit(); return nil },
	}
	for how, hook := range bad {
		for _, c := range []struct {
			name string
			o    TaskOptions
			want outcome
		}{
			{"prologue", TaskOptions{Prologue: hook}, outcome{false, false, true}},
			{"start hook", TaskOptions{OnStart: hook}, outcome{false, false, true}},
			{"epilogue", TaskOptions{Epilogue: hook}, outcome{true, false, true}},
			{"callback", TaskOptions{Callback: hook}, outcome{true, true, false}},
		} {
			for _, empty := range []bool{false, true} {
				t.Run(fmt.Sprint(how, " ", c.name, " ", empty), func(t *testing.T) {
					everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
						x := ints(t, rt, make([]int64, 1))
						var got outcome
						var task *Task
						calls := 0
						o := c.o
						if o.Callback == nil {
							o.Callback = func(*Task) error { calls++; return nil }
						} else {
							calls = 1
						}
						s := &TaskSpec{Operands: ops(iface.RW, x)}
						if !empty {
							s.Codelet = kernel("k", func(*TaskContext) error { got.kernel = true; return nil })
						} else {
							got.kernel = c.want.kernel
						}
						done := make(chan struct{})
						go func() { // which may end here
							defer close(done)
							var err error
							g := j.NewGate()
							s.After = []Dependency{g}
							task, err = j.SubmitWith(s, o)
							if err != nil {
								t.Error(err)
							}
							if err := j.Submit(&TaskSpec{Codelet: kernel("later", func(*TaskContext) error { got.later = true; return nil }), Operands: ops(iface.R, x)}); err != nil {
								t.Error(err)
							}
							g.Open()
						}()
						<-done
						must(t, j.Submit(&TaskSpec{Codelet: kernel("other", func(*TaskContext) error { return nil })})) // drains a Sequential runtime
						must(t, j.Wait(context.Background()))
						fs := j.Failures()
						got.failed = task.Err() != nil
						if got != c.want || calls != 1 {
							t.Errorf("got %+v, want %+v; %d callbacks", got, c.want, calls)
						}
						var h *HookError
						if len(fs) != 1 || !errors.As(fs[0], &h) || h.Hook != c.name || how != "goexit" && !errors.Is(fs[0], errBoom) {
							t.Error(fs)
						}
						readable(t, j, ints(t, rt, []int64{5}), 5)
					})
				})
			}
		}
	}
}

// Hooks may submit, also without end, and wait for nothing.
func TestHooksSubmit(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		v := []int64{40}
		x := ints(t, rt, v)
		inc := &TaskSpec{Codelet: incs, Operands: ops(iface.RW, x)}
		var waits atomic.Int32
		_, err := j.SubmitWith(inc, TaskOptions{Callback: func(task *Task) error {
			for _, err := range []error{j.Wait(context.Background()), task.Wait(context.Background()), rt.Close(), j.Close()} {
				if err == ErrWouldDeadlock || err == nil && task.Done() {
					waits.Add(1)
				}
			}
			if _, err := j.Acquire(context.Background(), x, iface.R); err == ErrWouldDeadlock {
				waits.Add(1)
			}
			return j.Submit(inc)
		}})
		must(t, err)
		must(t, j.Wait(context.Background()))
		if v[0] != 42 || waits.Load() != 5 {
			t.Error(v[0], waits.Load())
		}

		const n = 2000
		k, deep := 0, 0
		var next func(*Task) error
		next = func(*Task) error {
			var pcs [1024]uintptr
			deep = max(deep, runtime.Callers(0, pcs[:]))
			if k++; k == n {
				return nil
			}
			_, err := j.SubmitWith(&TaskSpec{}, TaskOptions{Callback: next})
			return err
		}
		must(t, next(nil))
		must(t, j.Wait(context.Background()))
		if k != n || deep > 200 {
			t.Error(k, "callbacks, one in another:", deep)
		}
	})
}

// A codelet's callback is for tasks that have none.
func TestCodeletCallback(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		var l logged
		c := l.kernel("k")
		c.Traits = &Traits{Callback: func(*Task) error { l.add("codelet's"); return nil }}
		must(t, j.Submit(&TaskSpec{Codelet: c}))
		must(t, j.Wait(context.Background()))
		_, err := j.SubmitWith(&TaskSpec{Codelet: c}, TaskOptions{Callback: func(*Task) error { l.add("task's"); return nil }})
		must(t, err)
		must(t, j.Wait(context.Background()))
		if l.String() != "k codelet's k task's" {
			t.Error(l.String())
		}
	})
}

// An empty task is a point that all before it have passed and none behind it.
func TestEmptyTaskBetween(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		var before, early atomic.Int32
		first := kernel("first", func(*TaskContext) error { runtime.Gosched(); before.Add(1); return nil })
		second := kernel("second", func(*TaskContext) error {
			if before.Load() != 3 {
				early.Add(1)
			}
			return nil
		})
		for range 50 {
			before.Store(0)
			var after []Dependency
			for range 3 {
				a, err := j.SubmitTask(&TaskSpec{Codelet: first})
				must(t, err)
				after = append(after, a)
			}
			e, err := j.SubmitWith(&TaskSpec{After: after}, TaskOptions{})
			must(t, err)
			for range 2 {
				must(t, j.Submit(&TaskSpec{Codelet: second, After: []Dependency{e}}))
			}
			must(t, j.Wait(context.Background()))
		}
		if early.Load() != 0 {
			t.Error(early.Load(), "were early")
		}
	})
}

// Tasks without a kernel that could not mean anything are errors.
func TestNowhereErrors(t *testing.T) {
	rt, j := start(t, Options{Workers: 1})
	x := ints(t, rt, make([]int64, 1))
	for _, m := range []iface.AccessMode{iface.W, iface.Scratch} {
		var e *ModeError
		if _, err := j.SubmitWith(&TaskSpec{Operands: ops(m, x)}, TaskOptions{}); !errors.As(err, &e) {
			t.Error(m, err)
		}
	}
	both := &Codelet{Name: "both", CPU: incs.CPU, Traits: &Traits{Nowhere: true}}
	if err := j.Submit(&TaskSpec{Codelet: both}); err == nil {
		t.Error("a codelet with and without a kernel")
	}
	var none *NoImplementationError
	_, with := j.SubmitWith(nil, TaskOptions{Repeat: Forever})
	for _, err := range []error{j.Submit(&TaskSpec{}), j.Submit(nil), with} {
		if !errors.As(err, &none) {
			t.Error(err)
		}
	}
	if err := j.Submit(&TaskSpec{Codelet: &Codelet{Name: "none"}}); !errors.As(err, &none) {
		t.Error(err)
	}
}

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

// TestPinned: operands stay in main memory while the kernel runs on a device, in
// whatever mode and layout.
func TestPinned(t *testing.T) {
	dev := simulated(64, 1)
	rt, j := start(t, Options{Workers: 1, Devices: dev})
	ram := PinTo(0)
	xs, big := []int64{1, 2, 3, 4}, make([]int64, 100) // which would not fit there
	x, b := ints(t, rt, xs), ints(t, rt, big)
	m, err := rt.Register(DataSpec{Kind: iface.Matrix, Elem: iface.I64, Dims: []int{3, 4}, Home: ptr([]int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})})
	must(t, err)
	columns, err := rt.Partition(m, filter.Pick(1))
	must(t, err)
	sums := []int64{5}
	sum, err := rt.Register(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{1}, Home: ptr(sums), Reduce: datamgr.SumReduction()})
	must(t, err)
	c := kernel("pinned", func(c *TaskContext) error {
		if c.Node(0) != 1 || c.Node(1) != 0 || c.Node(2) != 0 {
			t.Errorf("operands on %d, %d, %d", c.Node(0), c.Node(1), c.Node(2))
		}
		x, b, col := iface.Slice[int64](c.Buffer(0)), iface.Slice[int64](c.Buffer(1)), iface.Slice[int64](c.Buffer(2))
		if &b[0] != &big[0] {
			t.Error("the operand is not in main memory")
		}
		for i := range x {
			x[i]++
			b[i] += x[i]
		}
		for i := range col {
			col[i] *= 10
		}
		scratch := iface.Slice[int64](c.Buffer(4))
		scratch[99] = 2
		iface.Slice[int64](c.Buffer(3))[0] += scratch[99]
		return nil
	})
	for range 3 {
		must(t, j.Submit(&TaskSpec{Codelet: c, Workers: []int{1}, Operands: []Operand{{Handle: x, Mode: iface.RW}, {Handle: b, Mode: iface.RW, Pin: ram},
			{Handle: columns.Parts[2], Mode: iface.RW, Pin: ram}, {Handle: sum, Mode: iface.Redux, Pin: ram}, {Handle: b, Mode: iface.Scratch, Pin: ram}}}))
	}
	must(t, j.Wait(context.Background()))
	if p := present(t, j, b, 0); p.Valid != 800 {
		t.Errorf("pinned to main memory: %+v", p)
	}
	a, err := j.Acquire(context.Background(), columns.Parts[2], iface.R)
	must(t, err)
	if got := []int64{*element(a.Buffer(), 0), *element(a.Buffer(), 2)}; !slices.Equal(got, []int64{2000, 10000}) {
		t.Errorf("column %v", got)
	}
	must(t, a.Release())
	for _, h := range []*datamgr.Handle{x, b, sum} {
		must(t, j.Unregister(h))
	}
	must(t, j.Wait(context.Background()))
	if !slices.Equal(xs, []int64{4, 5, 6, 7}) || !slices.Equal(big[:5], []int64{9, 12, 15, 18, 0}) || sums[0] != 11 {
		t.Errorf("%v %v %v", xs, big[:5], sums)
	}
}

// TestPinnedToDevice: an operand that is pinned to a device keeps the task there, and
// one that cannot be where it is pinned is an error.
func TestPinnedToDevice(t *testing.T) {
	d := newFrail("b", 1<<10, 1)
	rt, j := start(t, Options{Workers: 1, Devices: append(simulated(1<<10, 1), d)})
	h := ints(t, rt, make([]int64, 4))
	v, err := rt.Partition(h, filter.Blocks(2))
	must(t, err)
	c := kernel("where", func(c *TaskContext) error {
		if n := nodeOf(t, c); n != 2 || c.Node(0) != 2 {
			t.Errorf("on node %d, its operand on %d", n, c.Node(0))
		}
		return nil
	})
	for range 5 {
		must(t, j.Submit(&TaskSpec{Codelet: c, Operands: []Operand{{Handle: h, Mode: iface.RW, Pin: PinTo(2)}}}))
	}
	must(t, j.Wait(context.Background()))
	var pin *PinError
	err = j.Submit(&TaskSpec{Codelet: c, Workers: []int{0, 1}, Operands: []Operand{{Handle: h, Mode: iface.RW, Pin: PinTo(2)}}})
	if !errors.As(err, &pin) || pin.Operand != 0 || pin.Node.Name != "b" {
		t.Errorf("on other workers: %v", err)
	}
	err = j.Submit(&TaskSpec{Codelet: c, Operands: []Operand{{Handle: h, Mode: iface.RW, Pin: PinTo(1)}, {Handle: v.Parts[0], Mode: iface.R, Pin: PinTo(2)}}})
	if !errors.As(err, &pin) {
		t.Errorf("on two devices at once: %v", err)
	}
	var none *NoNodeError
	for _, n := range []int{-1, 3, 1 << 20} {
		if err := j.Submit(&TaskSpec{Codelet: c, Operands: []Operand{{Handle: h, Mode: iface.RW, Pin: PinTo(n)}}}); !errors.As(err, &none) {
			t.Errorf("pinned to node %d: %v", n, err)
		}
	}
	var mode *ModeError
	err = j.Submit(&TaskSpec{Codelet: c, Operands: []Operand{{Handle: h, Mode: iface.RW, Pin: PinTo(0)}, {Handle: v.Parts[1], Mode: iface.R}}})
	if !errors.As(err, &mode) || mode.Other+mode.Operand != 1 {
		t.Errorf("in two pieces of memory at once: %v", err)
	}
	must(t, j.Submit(&TaskSpec{Codelet: kernel("reads", func(c *TaskContext) error { return nil }),
		Operands: []Operand{{Handle: h, Mode: iface.R, Pin: PinTo(0)}, {Handle: v.Parts[1], Mode: iface.R}}}))
	must(t, j.Wait(context.Background()))
}

// TestPinnedWithoutDevices: there is one memory, and nothing to pin.
func TestPinnedWithoutDevices(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		x := []int64{1}
		h := ints(t, rt, x)
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: h, Mode: iface.RW, Pin: PinTo(0)}}}))
		var none *NoNodeError
		if err := j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: h, Mode: iface.RW, Pin: PinTo(1)}}}); !errors.As(err, &none) || none.Node != 1 {
			t.Errorf("pinned to a device: %v", err)
		}
		must(t, j.Wait(context.Background()))
	})
}

// foreign is a device whose kernels are not functions for the CPU.
type foreign struct{ accel.Device }

func (foreign) Arch() string { return "foreign" }

// TestPinnedForForeignKernels: only implementations that say so are given pointers
// of the host.
func TestPinnedForForeignKernels(t *testing.T) {
	rt, j := start(t, Options{Workers: 1, Devices: []accel.Device{foreign{simulated(1<<10, 1)[0]}}})
	h, o := ints(t, rt, make([]int64, 4)), ints(t, rt, make([]int64, 4))
	on := func(want int) Impl {
		return func(c *TaskContext) error {
			if c.Worker() != want {
				t.Errorf("on worker %d, want %d", c.Worker(), want)
			}
			return nil
		}
	}
	s := &TaskSpec{Operands: []Operand{{Handle: h, Mode: iface.RW}, {Handle: o, Mode: iface.RW, Pin: PinTo(0)}}}
	s.Codelet = &Codelet{Name: "own", CPU: []Impl{on(0)}, On: map[string][]Impl{"foreign": {on(0)}}}
	for range 5 {
		must(t, j.Submit(s))
	}
	s.Codelet = &Codelet{Name: "only there", On: map[string][]Impl{"foreign": {on(1)}}}
	var pin *PinError
	if err := j.Submit(s); !errors.As(err, &pin) || pin.Operand != 1 || pin.Node.Name != "ram" {
		t.Errorf("no implementation takes it: %v", err)
	}
	s.Codelet = &Codelet{Name: "takes it", On: map[string][]Impl{"foreign": {on(1)}}, FromMain: []int{1}}
	must(t, j.Submit(s))
	must(t, j.Wait(context.Background()))
}

// TestPinnedIsNotRunAgain: what a kernel did to main memory cannot be taken back when
// its device is lost; what it did there can.
func TestPinnedIsNotRunAgain(t *testing.T) {
	for _, c := range []struct {
		mode iface.AccessMode
		pin  datamgr.Pin
		want int
	}{{iface.RW, PinTo(0), 1}, {iface.Redux, PinTo(0), 1}, {iface.RW, 0, 2}, {iface.W, PinTo(0), 2}} {
		d := newFrail("a", 1<<10, 1)
		rt, j := start(t, Options{Workers: 1, Policy: "eager", Devices: []accel.Device{d}})
		x := make([]int64, 1)
		h, err := rt.Register(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{1}, Home: ptr(x), Reduce: datamgr.SumReduction()})
		must(t, err)
		busy, started, calls := make(chan bool), make(chan bool), 0
		must(t, j.Submit(&TaskSpec{Codelet: kernel("busy", func(*TaskContext) error { close(started); <-busy; return nil }), Workers: []int{0}}))
		<-started // so the task runs on the device first
		k, err := j.SubmitTask(&TaskSpec{Codelet: &Codelet{Name: "loses its device", Pure: true, CPU: []Impl{func(c *TaskContext) error {
			iface.Slice[int64](c.Buffer(0))[0] += 1
			if calls++; calls == 1 {
				rt.reg.Lose(1, &accel.LostError{Device: "a", Err: errWire})
				close(busy)
				return errWire
			}
			return nil
		}}}, Operands: []Operand{{Handle: h, Mode: c.mode, Pin: c.pin}}})
		must(t, err)
		_ = k.Wait(context.Background())
		if err := k.Err(); calls != c.want || (err == nil) != (c.want == 2) {
			t.Errorf("%v: called %d times, %v", c, calls, err)
		}
		_ = j.Wait(context.Background())
	}
}
