package engine

import (
	"errors"
	"math"
	"math/bits"
	"slices"
	"testing"

	"github.com/starpush/starpush/accel/sim"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/perf"
)

// plannedID is what a plan says of a task.
type plannedID struct {
	id       int64
	internal string
	name     string
	after    []int64
}

func newPlan(t *testing.T, m Machine) (*Runtime, *[]plannedID) {
	t.Helper()
	var all []plannedID
	rt, err := m.Planner(func(p *PlannedTask) {
		all = append(all, plannedID{p.ID, p.Internal, p.Name, slices.Clone(p.After)})
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	})
	return rt, &all
}

var mustNotRun = &Codelet{Name: "never", CPU: []Impl{func(*TaskContext) error { panic("a plan ran a kernel") }}}

func TestPlanRunsNothing(t *testing.T) {
	rt, all := newPlan(t, Machine{Workers: 3})
	j := rt.NewJob(t.Context(), JobOptions{DetectStuck: true})
	const large = 1 << (bits.UintSize - 24) // elements: more than a machine of 64 bits has
	h, err := rt.Register(DataSpec{Kind: iface.Vector, Elem: iface.F64, Dims: []int{large}})
	if err != nil {
		t.Fatal(err)
	}
	full, err := rt.RegisterFilled(DataSpec{Kind: iface.Vector, Elem: iface.F64, Dims: []int{large}},
		func(*iface.Buffer) error { panic("a plan filled data") })
	if err != nil {
		t.Fatal(err)
	}
	var e *UninitError
	if err := j.Submit(&TaskSpec{Codelet: mustNotRun, Operands: []Operand{{Handle: h, Mode: iface.R}}}); !errors.As(err, &e) {
		t.Errorf("reading what nothing wrote: %v", err)
	}
	for _, o := range []Operand{{Handle: full, Mode: iface.R}, {Handle: h, Mode: iface.CommuteW}, {Handle: h, Mode: iface.W}, {Handle: h, Mode: iface.Commute}, {Handle: h, Mode: iface.RW}} {
		if err := j.Submit(&TaskSpec{Codelet: mustNotRun, Operands: []Operand{o}, Name: o.Mode.String()}); err != nil {
			t.Fatal(err)
		}
	}
	a, err := j.Acquire(t.Context(), h, iface.RW)
	if err != nil {
		t.Fatal(err)
	}
	if b := a.Buffer(); b.Dim[0] != large || b.Ptr != nil {
		t.Errorf("an acquired buffer has %d elements at %p; sizes and no memory are wanted", b.Dim[0], b.Ptr)
	}
	if err := j.Submit(&TaskSpec{Codelet: mustNotRun, Operands: []Operand{{Handle: h, Mode: iface.R}}}); err != nil {
		t.Fatal(err)
	}
	var stuck *StuckError
	if err := j.Wait(t.Context()); !errors.As(err, &stuck) {
		t.Errorf("waiting for what held data holds back: %v", err)
	}
	if err := a.Release(); err != nil {
		t.Fatal(err)
	}
	if err := j.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := rt.Nodes()[0].Allocated; got != 0 {
		t.Errorf("a plan allocated %d bytes", got)
	}
	var names []string
	for _, p := range *all {
		names = append(names, p.internal+p.name)
	}
	if want := []string{"R", "COMMUTE W", "W", "COMMUTE", "RW", "acquire", ""}; !slices.Equal(names, want) {
		t.Errorf("planned %q, want %q", names, want)
	}
}

func TestPlanTellsWhatTheEngineInserts(t *testing.T) {
	rt, all := newPlan(t, Machine{Workers: 1})
	j := rt.NewJob(t.Context(), JobOptions{})
	h, err := rt.Register(DataSpec{Kind: iface.Variable, Elem: iface.F64, Reduce: &datamgr.Reduction{Name: "sum",
		Init: func(*iface.Buffer) error { return nil }, Combine: func(into, from *iface.Buffer) error { return nil }}})
	if err != nil {
		t.Fatal(err)
	}
	first, err := j.SubmitTask(&TaskSpec{Codelet: mustNotRun, Operands: []Operand{{Handle: h, Mode: iface.Redux}}})
	if err != nil {
		t.Fatal(err)
	}
	g := j.NewGate()
	if err := j.Submit(&TaskSpec{Codelet: mustNotRun, Operands: []Operand{{Handle: h, Mode: iface.Redux}}, After: []Dependency{first, g}}); err != nil {
		t.Fatal(err)
	}
	if err := j.Submit(&TaskSpec{Codelet: mustNotRun, Operands: []Operand{{Handle: h, Mode: iface.R}}}); err != nil {
		t.Fatal(err)
	}
	g.Open()
	if err := j.Unregister(h); err != nil {
		t.Fatal(err)
	}
	if err := j.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []plannedID{{id: 1}, {id: 2, after: []int64{1}}, {id: -1, internal: "reduce"}, {id: 3}, {id: -2, internal: "unregister"}}
	for i, p := range *all {
		if i >= len(want) || p.id != want[i].id || p.internal != want[i].internal || !slices.Equal(p.after, want[i].after) {
			t.Errorf("task %d of the plan is %+v, want %+v", i, p, want)
		}
	}
	if len(*all) != len(want) {
		t.Errorf("%d tasks were planned, want %d", len(*all), len(want))
	}
}

// TestPlanForDevices plans for a machine with two memories: where tasks may run and
// what is known of their times is said for each worker.
func TestPlanForDevices(t *testing.T) {
	m, err := sim.Parse("sim:cpu2gpu1")
	if err != nil {
		t.Fatal(err)
	}
	devices, err := m.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		for _, d := range devices {
			d.Close()
		}
	}()
	var seconds [][]float64
	rt, err := Machine{Workers: 2, Devices: devices, PerfDir: t.TempDir()}.Planner(func(p *PlannedTask) {
		seconds = append(seconds, slices.Clone(p.Seconds))
	})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	j := rt.NewJob(t.Context(), JobOptions{})
	h, err := rt.RegisterFilled(DataSpec{Kind: iface.Vector, Elem: iface.F64, Dims: []int{64}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	v, err := rt.Partition(h, filter.Blocks(4))
	if err != nil {
		t.Fatal(err)
	}
	if rt.Workers() != 3 {
		t.Fatalf("the plan has %d workers, want 3", rt.Workers())
	}
	for _, ws := range [][]int{nil, {2}} {
		if err := j.Submit(&TaskSpec{Codelet: mustNotRun, Workers: ws, Operands: []Operand{{Handle: v.Parts[0], Mode: iface.RW}}}); err != nil {
			t.Fatal(err)
		}
	}
	known := &Codelet{Name: "known", CPU: mustNotRun.CPU, Model: &perf.Model{Kind: perf.PerArch, Cost: func(*perf.Call) float64 { return 0.25 }}}
	if err := j.Submit(&TaskSpec{Codelet: known, Operands: []Operand{{Handle: v.Parts[1], Mode: iface.RW}}}); err != nil {
		t.Fatal(err)
	}
	if err := j.Prefetch(h, 1, true); err != nil {
		t.Fatal(err)
	}
	if err := j.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(seconds) != 3 || seconds[2][0] != 0.25 || seconds[2][1] != 0.25 || !math.IsNaN(seconds[0][0]) || !math.IsNaN(seconds[0][2]) || seconds[1][0] >= 0 || !math.IsNaN(seconds[1][2]) {
		t.Errorf("expected times are %v; NaN where a task may run and -1 elsewhere are wanted", seconds)
	}
	for _, n := range rt.Nodes() {
		if n.Allocated != 0 {
			t.Errorf("a plan allocated %d bytes on %s", n.Allocated, n.Name)
		}
	}
}

// TestListenLater changes the listener between tasks.
func TestListenLater(t *testing.T) {
	rt, err := New(Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	j := rt.NewJob(t.Context(), JobOptions{})
	nothing := &Codelet{Name: "nothing", CPU: []Impl{func(*TaskContext) error { return nil }}}
	round := func() {
		t.Helper()
		for range 20 {
			if err := j.Submit(&TaskSpec{Codelet: nothing}); err != nil {
				t.Fatal(err)
			}
		}
		if err := j.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	first, second := &Journal{}, &Journal{}
	round()
	for _, l := range []Listener{first, second, nil} {
		if err := rt.Listen(l); err != nil {
			t.Fatal(err)
		}
		round()
	}
	if a, b := len(first.Entries()), len(second.Entries()); a != 60 || b != 60 {
		t.Errorf("%d and %d events were heard, want 60 each", a, b)
	}
	g := j.NewGate()
	if err := j.Submit(&TaskSpec{Codelet: nothing, After: []Dependency{g}}); err != nil {
		t.Fatal(err)
	}
	if err := rt.Listen(first); !errors.Is(err, ErrBusyRuntime) {
		t.Errorf("with a task left: %v", err)
	}
	g.Open()
}

// Images are for plans, which check on them what the data would allow.
func TestPlanOnImages(t *testing.T) {
	rt, err := New(Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	var said []string
	job := rt.NewJob(t.Context(), JobOptions{OnInternal: func(e *Event) {
		if e.Kind != TaskSubmitted || len(e.Operands) != 1 || e.ID >= 0 {
			t.Errorf("a wrong event: %+v", e)
		}
		said = append(said, e.Internal)
	}})
	defer job.Close()
	h, err := rt.Register(DataSpec{Kind: iface.Vector, Elem: iface.F64, Dims: []int{8}, Reduce: datamgr.SumReduction()})
	if err != nil {
		t.Fatal(err)
	}
	v, err := rt.Partition(h, filter.Blocks(2))
	if err != nil {
		t.Fatal(err)
	}
	touch := &Codelet{Name: "touch", CPU: []Impl{func(*TaskContext) error { return nil }}}
	for _, o := range []Operand{{Handle: v.Parts[0], Mode: iface.W}, {Handle: v.Parts[0], Mode: iface.Redux}} {
		if err := job.Submit(&TaskSpec{Codelet: touch, Operands: []Operand{o}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := rt.Image(h); err == nil {
		t.Error("a runtime that runs tasks made an image")
	}
	plan, all := newPlan(t, rt.Machine())
	image, err := plan.Image(h)
	if err != nil {
		t.Fatal(err)
	}
	w, err := plan.ImageView(v, image)
	if err != nil {
		t.Fatal(err)
	}
	j := plan.NewJob(t.Context(), JobOptions{})
	var e *UninitError
	if err := j.Submit(&TaskSpec{Codelet: mustNotRun, Operands: []Operand{{Handle: w.Parts[1], Mode: iface.R}}}); !errors.As(err, &e) {
		t.Errorf("reading what nothing wrote: %v", err)
	}
	if err := j.Submit(&TaskSpec{Codelet: mustNotRun, Operands: []Operand{{Handle: w.Parts[0], Mode: iface.R}}}); err != nil {
		t.Error(err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	if len(*all) != 2 || (*all)[0].internal != "reduce" {
		t.Errorf("planned %v", *all)
	}
	acc, err := job.Acquire(t.Context(), v.Parts[0], iface.R)
	if err != nil {
		t.Fatal(err)
	}
	acc.Release()
	if err := job.Unregister(h); err != nil {
		t.Fatal(err)
	}
	if want := []string{"reduce", "acquire", "unregister"}; !slices.Equal(said, want) {
		t.Errorf("the engine inserted %q, want %q", said, want)
	}
}

// TestPlanOfWork: a plan has the work that codelets estimate; where that panics it is not known.
func TestPlanOfWork(t *testing.T) {
	nothing := []Impl{func(*TaskContext) error { return nil }}
	flops := func([]iface.Desc, []iface.Scalar) float64 { return 7 }
	work := func([]iface.Desc, []iface.Scalar) (float64, float64) { return 5, 3 }
	for _, c := range []struct {
		codelet           Codelet
		flops, operations float64
	}{
		{Codelet{Flops: flops}, 7, 7},
		{Codelet{Work: work}, 0, 5},
		{Codelet{Work: func([]iface.Desc, []iface.Scalar) (float64, float64) { panic("no") }}, 0, 0},
		{Codelet{Flops: flops, Work: func([]iface.Desc, []iface.Scalar) (float64, float64) { panic("no") }}, 7, 7},
	} {
		for _, bounded := range []bool{false, true} {
			c.codelet.Name, c.codelet.CPU, c.codelet.Bounded = "c", nothing, bounded
			var got *PlannedTask
			rt, err := Machine{Workers: 1, PerfDir: t.TempDir()}.Planner(func(p *PlannedTask) { x := *p; got = &x })
			must(t, err)
			must(t, rt.NewJob(t.Context(), JobOptions{}).Submit(&TaskSpec{Codelet: &c.codelet}))
			if got == nil || got.Flops != c.flops || got.Operations != c.operations {
				t.Errorf("bounded %v: %+v, want %g and %g", bounded, got, c.flops, c.operations)
			}
			must(t, rt.Close())
		}
	}
}
