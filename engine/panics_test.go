package engine

// Functions of the program that panic or end their goroutine take nothing of the
// runtime with them.

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/perf"
)

// leaves are functions that do not return.
var leaves = map[string]func(){
	"panic": func() { panic("no") },
	"exit":  runtime.Goexit,
}

// listens calls fn at every event.
type listens struct {
	fn func()
	n  atomic.Int64
}

func (l *listens) TaskEvent(*Event) { l.n.Add(1); l.fn() }

// Models fall back to what is known without them, and the listener hears the rest.
func TestFunctionsThatDoNotReturn(t *testing.T) {
	for how, leave := range leaves {
		cost := func(*perf.Call) float64 { leave(); return 1 }
		for name, m := range map[string]*perf.Model{
			"cost":   {Kind: perf.PerArch, Cost: cost},
			"size":   {Kind: perf.Regression, Size: cost},
			"params": {Kind: perf.Multiple, ParamNames: []string{"p"}, Terms: [][]float64{{1}}, Params: func(*perf.Call) []float64 { leave(); return nil }},
			"energy": {Energy: cost},
			"none":   nil,
		} {
			for _, o := range []Options{{Workers: 2, Policy: "dmda"}, {Workers: 2, Policy: "dmdas"}, {Workers: 2, Policy: "lws"}, {Sequential: true}} {
				t.Run(fmt.Sprintf("%s/%s/%s", how, name, o.Policy), func(t *testing.T) {
					o.Calibrate, o.PerfDir = 1, t.TempDir()
					l := &listens{fn: leave}
					o.Listener = l
					c := &Codelet{Name: "inc", Model: m, Kernel: func() string { leave(); return "v" }, CPU: incs.CPU}
					rt, j := start(t, o)
					x := []int64{0, 0}
					a, b := ints(t, rt, x[:1]), ints(t, rt, x[1:])
					must(t, rt.SetReduction(b, datamgr.SumReduction()))
					for range 20 {
						must(t, j.Submit(&TaskSpec{Codelet: c, Operands: ops(iface.RW, a)}))
						must(t, j.Submit(&TaskSpec{Codelet: c, Operands: ops(iface.Redux, b), Name: "n"}))
					}
					if _, err := rt.Expect(c, []iface.Desc{a.Desc()}, nil); err != nil {
						t.Error(err)
					}
					must(t, j.Wait(context.Background()))
					must(t, j.Unregister(a))
					must(t, j.Unregister(b))
					must(t, j.Close())
					must(t, rt.Close())
					if x[0] != 20 || x[1] != 20 {
						t.Error(x)
					}
					if n := l.n.Load(); n < 3*40 {
						t.Errorf("the listener heard %d events", n)
					}
				})
			}
		}
	}
}

// A codelet's Flops runs on the worker: a panic makes the work unknown, and ending
// the goroutine fails the task.
func TestFlopsThatDoNotReturn(t *testing.T) {
	for how, leave := range leaves {
		for _, o := range []Options{{Workers: 2}, {Workers: 2, Verify: true}, {Sequential: true}, {Workers: 1, Devices: simulated(1<<10, 1)}} {
			var on []int
			if o.Devices != nil {
				on = []int{1} // which asks for the time that the kernel takes, too
			}
			rt, _ := start(t, o)
			j := rt.NewJob(context.Background(), JobOptions{Stats: true})
			c := &Codelet{Name: "inc", Flops: func([]iface.Desc, []iface.Scalar) float64 { leave(); return 1 }, CPU: incs.CPU}
			x := []int64{0}
			h := ints(t, rt, x)
			aside(func() { must(t, j.Submit(&TaskSpec{Codelet: c, Operands: ops(iface.RW, h), Workers: on})) })
			must(t, j.Wait(context.Background()))
			fs := j.Failures()
			if how == "exit" != (len(fs) == 1 && strings.Contains(fs[0].Error(), "Flops")) {
				t.Errorf("%s: %v", how, fs)
			}
			must(t, j.Submit(&TaskSpec{Codelet: kernel("set", func(c *TaskContext) error { iface.Slice[int64](c.Buffer(0))[0] = 2; return nil }), Operands: ops(iface.W, h)}))
			must(t, j.Unregister(h))
			must(t, j.Close())
			must(t, rt.Close())
			if x[0] != 2 {
				t.Error(x)
			}
		}
	}
}

// TestCallsWhoseFunctionsDoNotReturn: functions passed to a call run on the caller's
// goroutine. If one ends the goroutine, the call has no effect and holds nothing.
func TestCallsWhoseFunctionsDoNotReturn(t *testing.T) {
	for how, leave := range leaves {
		for _, o := range configs {
			rt, j := start(t, o)
			h := ints(t, rt, make([]int64, 8))
			run := &Codelet{Name: "ok", CPU: incs.CPU}
			for name, call := range map[string]func() error{
				"shape": func() error {
					return j.Submit(&TaskSpec{Codelet: &Codelet{Name: "c", CPU: incs.CPU,
						Shape: func([]iface.Desc, []iface.Scalar) error { leave(); return nil }}, Operands: ops(iface.RW, h)})
				},
				"can": func() error {
					return j.Submit(&TaskSpec{Codelet: &Codelet{Name: "c", CPU: incs.CPU, Traits: &Traits{
						CanExecute: func(WorkerInfo, int, []iface.Desc, []iface.Scalar) bool { leave(); return true }}}, Operands: ops(iface.RW, h)})
				},
				"allow": func() error {
					_, err := j.SubmitWith(&TaskSpec{Codelet: run, Operands: ops(iface.RW, h)}, TaskOptions{Allow: func(WorkerInfo) bool { leave(); return true }})
					return err
				},
				"fill": func() error {
					_, err := rt.RegisterFilled(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{8}}, func(*iface.Buffer) error { leave(); return nil })
					return err
				},
				"filter": func() error {
					_, err := rt.Partition(h, leaver(leave))
					return err
				},
			} {
				before := rt.Stats().Bytes
				ended := false
				aside(func() {
					if err := call(); err == nil {
						t.Errorf("%s, %s: no error", name, how)
					}
					ended = true
				})
				if ended != (how == "panic") {
					t.Errorf("%s, %s: the call returned: %v", name, how, ended)
				}
				if n := rt.Stats().Bytes - before; n != 0 {
					t.Errorf("%s, %s: %d bytes are left", name, how, n)
				}
				aside(func() {
					must(t, j.Submit(&TaskSpec{Codelet: run, Operands: ops(iface.RW, h)}))
					must(t, j.Wait(context.Background()))
				})
			}
			must(t, j.Close())
			must(t, rt.Close())
		}
	}
}

// leaver is a filter.
type leaver func()

func (leaver) Name() string { return "leaver" }

func (l leaver) Split(iface.Desc) (filter.Split, error) { l(); return filter.Split{}, nil }

// Functions of reductions that end their goroutine: what they should have done
// failed, and everything else goes on.

// aside runs fn on a goroutine that may end in it, which in a Sequential
// runtime is where tasks run.
func aside(fn func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn()
	}()
	<-done
}

// exiting is a sum whose functions count their calls, and end the goroutine in
// some of them.
type exiting struct {
	inits, combines         atomic.Int64
	exitInit, exitCombine   int64 // the first call that does, from 1; 0: none
	again                   bool  // and all after it
	initWaits, combineWaits func()
}

func (e *exiting) reduction(combines bool) *datamgr.Reduction {
	exits := func(n, at int64) {
		if at > 0 && (n == at || n > at && e.again) {
			runtime.Goexit()
		}
	}
	r := &datamgr.Reduction{Name: "exiting", Init: func(b *iface.Buffer) error {
		exits(e.inits.Add(1), e.exitInit)
		if e.initWaits != nil {
			e.initWaits()
		}
		return datamgr.SumReduction().Init(b)
	}}
	if combines {
		r.Combine = func(into, from *iface.Buffer) error {
			exits(e.combines.Add(1), e.exitCombine)
			if e.combineWaits != nil {
				e.combineWaits()
			}
			return datamgr.SumReduction().Combine(into, from)
		}
	}
	return r
}

// exited checks that err is about function what of a reduction.
func exited(t *testing.T, err error, what string) {
	t.Helper()
	var te *TaskError
	var re *datamgr.ReductionError
	if !errors.As(err, &te) || !errors.As(err, &re) || re.What != what || re.Reduction != "exiting" ||
		!strings.Contains(err.Error(), "ended its goroutine") {
		t.Errorf("%T %v", err, err)
	}
}

// read waits for the value of h, which a reduction may have to make: in a
// Sequential runtime that happens here.
func read(j *Job, h *datamgr.Handle) {
	aside(func() {
		if a, err := j.Acquire(context.Background(), h, iface.R); err == nil {
			_ = a.Release()
		}
	})
}

// lostByExit checks that h was lost when function what of its reduction ended its
// goroutine.
func lostByExit(t *testing.T, j *Job, h *datamgr.Handle, what string) {
	t.Helper()
	read(j, h)
	a, err := j.Acquire(context.Background(), h, iface.R)
	var lost *FailedDataError
	if err == nil {
		t.Error("data can be read that was lost")
		must(t, a.Release())
	} else if !errors.As(err, &lost) {
		t.Errorf("%T %v", err, err)
	}
	exited(t, err, what)
}

// usable checks that the runtime goes on, and has given all memory back that has
// no home. The handles are then unregistered.
func usable(t *testing.T, rt *Runtime, j *Job, hs ...*datamgr.Handle) {
	t.Helper()
	for _, h := range hs {
		must(t, j.Submit(&TaskSpec{Codelet: nines, Operands: ops(iface.W, h)}))
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.Redux, h)}))
		readable(t, j, h, 10)
		must(t, j.Unregister(h))
	}
	must(t, j.Wait(context.Background()))
	if b := rt.Nodes()[0].Allocated; b != 0 {
		t.Errorf("%d bytes are left", b)
	}
}

// exitWorlds are the runtimes of these tests: plain and deterministic.
func exitWorlds(t *testing.T, fn func(t *testing.T, rt *Runtime, j *Job, general bool)) {
	for _, o := range []Options{{Workers: 1}, {Workers: 3}, {Sequential: true}, {Workers: 1, Devices: simulated(1<<20, 2)}} {
		for _, det := range []bool{false, true} {
			for _, general := range []bool{false, true} {
				o.Deterministic = det
				t.Run(fmt.Sprintf("%d workers %d devices sequential %v deterministic %v general %v", o.Workers, len(o.Devices), o.Sequential, det, general), func(t *testing.T) {
					rt, j := start(t, o)
					fn(t, rt, j, general)
				})
			}
		}
	}
}

// contribute submits n tasks that add to hs, and count in y.
func contribute(t *testing.T, j *Job, n int, general bool, y *datamgr.Handle, hs ...*datamgr.Handle) {
	t.Helper()
	for range n {
		s := TaskSpec{Codelet: incs, Operands: ops(iface.RW, y)}
		for _, h := range hs {
			s.Operands = append(s.Operands, Operand{Handle: h, Mode: iface.Redux})
		}
		if general {
			s.Name = "general"
		}
		aside(func() { must(t, j.Submit(&s)) })
	}
}

func TestExitInContribution(t *testing.T) {
	exitWorlds(t, func(t *testing.T, rt *Runtime, j *Job, general bool) {
		for _, again := range []bool{false, true} {
			e := &exiting{exitInit: 1, again: again}
			h, other := ints(t, rt, make([]int64, 3)), ints(t, rt, make([]int64, 3))
			y, z := ints(t, rt, make([]int64, 1)), ints(t, rt, make([]int64, 1))
			must(t, rt.SetReduction(h, e.reduction(true)))
			must(t, rt.SetReduction(other, datamgr.SumReduction()))
			for w := range rt.Workers() { // the task that fails is not the first of its worker
				_, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, z), Workers: []int{w}})
				must(t, err)
			}
			must(t, j.Wait(context.Background()))
			onLast := TaskSpec{Codelet: incs, Operands: ops(iface.RW, y, iface.Redux, other, iface.Redux, h), Workers: []int{rt.Workers() - 1}}
			if general {
				onLast.Name = "general"
			}
			aside(func() { must(t, j.Submit(&onLast)) }) // a device's worker, if there is one
			contribute(t, j, 5, general, z, other)
			lostByExit(t, j, h, "initialise")
			lostByExit(t, j, other, "initialise") // the failed task was to add to it
			lostByExit(t, j, y, "initialise")
			readable(t, j, z, int64(5+rt.Workers()))
			must(t, j.Wait(context.Background()))
			if f := j.Stats().Failed; f != 1 && !again || f == 0 {
				t.Errorf("%d tasks failed", f)
			}
			j.Failures()
			*e = exiting{}
			must(t, j.Submit(&TaskSpec{Codelet: nines, Operands: ops(iface.W, y)}))
			contribute(t, j, 5, general, y, other) // a group of its own
			usable(t, rt, j, h, other)
			must(t, j.Unregister(y))
			must(t, j.Unregister(z))
		}
	})
}

func TestExitInCombine(t *testing.T) {
	const n = 6 // leaves that a fixed tree combines early, late, and at last
	exitWorlds(t, func(t *testing.T, rt *Runtime, j *Job, general bool) {
		for _, value := range []bool{true, false} {
			for at := int64(1); at <= n; at++ {
				e := &exiting{exitCombine: at, again: at%2 == 0}
				h, other, y := lazy(t, rt, 3, e.reduction(true)), ints(t, rt, make([]int64, 3)), ints(t, rt, make([]int64, 1))
				must(t, rt.SetReduction(other, datamgr.SumReduction()))
				want := int64(n)
				if value {
					must(t, j.Submit(&TaskSpec{Codelet: nines, Operands: ops(iface.W, h)}))
					want += 9
				}
				contribute(t, j, n, general, y, h, other)
				read(j, h)
				if e.combines.Load() >= at {
					lostByExit(t, j, h, "combine")
				} else { // workers have copies of their own: there are fewer to combine
					readable(t, j, h, want)
				}
				readable(t, j, other, n)
				readable(t, j, y, n)
				must(t, j.Wait(context.Background()))
				if f := j.Stats().Failed; f != 0 {
					t.Errorf("%d tasks failed", f)
				}
				for _, f := range j.Failures() {
					exited(t, f, "combine")
				}
				*e = exiting{}
				usable(t, rt, j, h, other)
				must(t, j.Unregister(y))
			}
		}
	})
}

func TestExitInBothTrees(t *testing.T) {
	exitWorlds(t, func(t *testing.T, rt *Runtime, j *Job, general bool) {
		e := &exiting{exitCombine: 1, again: true}
		g, h, y := ints(t, rt, make([]int64, 3)), ints(t, rt, make([]int64, 3)), ints(t, rt, make([]int64, 1))
		must(t, rt.SetReduction(g, e.reduction(true)))
		must(t, rt.SetReduction(h, e.reduction(true)))
		contribute(t, j, 21, general, y, g, h)
		lostByExit(t, j, g, "combine")
		lostByExit(t, j, h, "combine")
		readable(t, j, y, 21)
		j.Failures()
		*e = exiting{}
		usable(t, rt, j, g, h)
		must(t, j.Unregister(y))
	})
}

func TestExitInInitialisation(t *testing.T) {
	exitWorlds(t, func(t *testing.T, rt *Runtime, j *Job, general bool) {
		e := &exiting{exitInit: 1}
		h, y := lazy(t, rt, 3, e.reduction(false)), ints(t, rt, make([]int64, 1))
		s := TaskSpec{Codelet: incs, Operands: ops(iface.R, h, iface.RW, y)}
		if general {
			s.Name = "general"
		}
		aside(func() { must(t, j.Submit(&s)) })
		lostByExit(t, j, h, "initialise")
		lostByExit(t, j, y, "initialise")
		must(t, j.Submit(&TaskSpec{Codelet: nines, Operands: ops(iface.W, h)}))
		readable(t, j, h, 9)
		must(t, j.Unregister(h))
		must(t, j.Unregister(y))
		j.Failures()
		usable(t, rt, j)
	})
}

// TestExitInSequential: ready tasks run, even if the goroutine that should run them ends
// meanwhile.
func TestExitInSequential(t *testing.T) {
	rt, j := start(t, Options{Sequential: true})
	y := ints(t, rt, make([]int64, 1))
	exits := kernel("exits", func(*TaskContext) error { runtime.Goexit(); return nil })
	g := j.NewGate()
	for range 5 {
		must(t, j.Submit(&TaskSpec{Codelet: exits, After: []Dependency{g}}))
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, y), After: []Dependency{g}}))
	}
	aside(g.Open)
	must(t, j.Wait(context.Background()))
	readable(t, j, y, 5)
	if n := len(j.Failures()); n != 5 {
		t.Errorf("%d tasks failed", n)
	}
}

// A function of a reduction that waits would wait for its own worker.
func TestReductionWaits(t *testing.T) {
	exitWorlds(t, func(t *testing.T, rt *Runtime, j *Job, general bool) {
		var inits, combines atomic.Int64
		waits := func(n *atomic.Int64) func() {
			return func() {
				n.Add(1)
				if err := j.Wait(context.Background()); err != ErrWouldDeadlock {
					t.Errorf("waiting in a function of a reduction: %v", err)
				}
			}
		}
		e := &exiting{initWaits: waits(&inits), combineWaits: waits(&combines)}
		h, y := ints(t, rt, make([]int64, 3)), ints(t, rt, make([]int64, 1))
		must(t, rt.SetReduction(h, e.reduction(true)))
		contribute(t, j, 7, general, y, h)
		readable(t, j, h, 7)
		l := lazy(t, rt, 3, e.reduction(false))
		readable(t, j, l, 0)
		if inits.Load() < 2 || combines.Load() < 1 {
			t.Error("the functions were not called")
		}
		for _, h := range []*datamgr.Handle{h, y, l} {
			must(t, j.Unregister(h))
		}
	})
}

// TestRefusedTaskInSequential: a task that is refused may have made a copy
// necessary before that was known; without workers it is made all the same.
func TestRefusedTaskInSequential(t *testing.T) {
	rt, j := start(t, Options{Sequential: true})
	source := ints(t, rt, []int64{1, 2, 3})
	empty, err := rt.Register(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{3}})
	must(t, err)
	dup, err := j.Duplicate(source)
	must(t, err)
	var none *UninitError
	if _, err := j.Copy(source, empty, CopyOptions{}); !errors.As(err, &none) {
		t.Fatalf("copy of what has no value: %v", err)
	}
	must(t, j.WaitHandles(context.Background(), dup))
}
