package engine

// Functions of the program that panic or end their goroutine take nothing of the
// runtime with them.

import (
	"context"
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

// What the program supplies to a call runs on the caller's goroutine. When it ends
// that, the call has done nothing and holds nothing.
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
