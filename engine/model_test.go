package engine

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/perf"
	"github.com/starpush/starpush/engine/sched"
)

// calibrated runs the given number of tasks of c on vectors of n elements.
func calibrated(t *testing.T, o Options, c *Codelet, n, tasks int) error {
	t.Helper()
	rt, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	j := rt.NewJob(context.Background(), JobOptions{})
	h := lazyVector(t, rt, n)
	for range tasks {
		must(t, j.Submit(&TaskSpec{Codelet: c, Operands: []Operand{{Handle: h, Mode: iface.W}}}))
	}
	must(t, j.Wait(context.Background()))
	must(t, j.Close())
	return rt.Close()
}

// samples counts the measurements of a codelet in the files of a folder.
func samples(t *testing.T, dir, name string) (n int64) {
	t.Helper()
	s, err := perf.NewStore(dir, "")
	must(t, err)
	files, bad := s.List()
	if len(bad) > 0 {
		t.Fatal(bad)
	}
	for _, f := range files {
		if f.Codelet == name {
			n += f.Samples()
		}
	}
	return n
}

func TestModelsArePersistent(t *testing.T) {
	for _, m := range []*perf.Model{nil, {}, {Kind: perf.Regression, Name: "named"}, {Kind: perf.NonLinear}} {
		c := &Codelet{Name: "m", CPU: []Impl{func(*TaskContext) error { return nil }}, Model: m}
		name := "m"
		if m != nil && m.Name != "" {
			name = m.Name
		}
		dir := t.TempDir()
		for _, run := range []struct {
			calibrate int
			want      int64
		}{{0, 0}, {1, 123}, {1, 246}, {2, 123}, {0, 123}} {
			for _, sequential := range []bool{false, true} {
				if sequential && run.calibrate != 0 { // once is enough
					continue
				}
				must(t, calibrated(t, Options{Workers: 3, Calibrate: run.calibrate, PerfDir: dir, Sequential: sequential}, c, 100, 123))
			}
			if n := samples(t, dir, name); n != run.want {
				t.Fatalf("%+v at level %d: %d samples instead of %d", m, run.calibrate, n, run.want)
			}
		}
	}
}

func TestSequentialRunsCalibrate(t *testing.T) {
	dir := t.TempDir()
	c := &Codelet{Name: "m", CPU: []Impl{func(*TaskContext) error { return nil }}}
	must(t, calibrated(t, Options{Sequential: true, Calibrate: 1, PerfDir: dir}, c, 8, 5))
	if n := samples(t, dir, "m"); n != 5 {
		t.Errorf("%d samples", n)
	}
}

// Without models and statistics no kernel is timed, and no folder is looked for.
func TestModelsAreFreeWhenUnused(t *testing.T) {
	t.Setenv("STARPUSH_PERF_DIR", filepath.Join(t.TempDir(), "perf"))
	rt, err := New(Options{Workers: 2})
	must(t, err)
	j := rt.NewJob(context.Background(), JobOptions{})
	h := lazyVector(t, rt, 8)
	c := &Codelet{Name: "m", CPU: []Impl{func(*TaskContext) error { return nil }}, Model: &perf.Model{}}
	for range 50 {
		must(t, j.Submit(&TaskSpec{Codelet: c, Operands: []Operand{{Handle: h, Mode: iface.W}}}))
	}
	must(t, j.Wait(context.Background()))
	if j.timed.Load() || rt.models.book != nil {
		t.Error("kernels are timed without calibration")
	}
	must(t, rt.Close())
	if _, err := os.Stat(os.Getenv("STARPUSH_PERF_DIR")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of models: %v", err)
	}
}

// Kernels that fail are no measurements.
func TestFailuresAreNotMeasured(t *testing.T) {
	dir := t.TempDir()
	errBoom := errors.New("boom")
	n := 0
	c := &Codelet{Name: "m", CPU: []Impl{func(*TaskContext) error {
		if n++; n%2 == 0 {
			return errBoom
		}
		return nil
	}}}
	must(t, calibrated(t, Options{Workers: 1, Calibrate: 1, PerfDir: dir}, c, 8, 10))
	if n := samples(t, dir, "m"); n != 5 {
		t.Errorf("%d samples of 5 tasks that succeeded", n)
	}
}

// Measurements of one version of a kernel say nothing of another.
func TestKernelVersions(t *testing.T) {
	dir := t.TempDir()
	version := "v1"
	c := &Codelet{Name: "m", CPU: []Impl{func(*TaskContext) error { return nil }}, Kernel: func() string { return version }}
	must(t, calibrated(t, Options{Workers: 1, Calibrate: 1, PerfDir: dir}, c, 8, 5))
	version = "v2"
	must(t, calibrated(t, Options{Workers: 1, Calibrate: 1, PerfDir: dir}, c, 8, 7))
	c.Kernel = func() string { panic("no version") }
	must(t, calibrated(t, Options{Workers: 1, Calibrate: 1, PerfDir: dir}, c, 8, 2))
	s, err := perf.NewStore(dir, "")
	must(t, err)
	for v, want := range map[string]int64{"v1": 5, "v2": 7, "": 2} {
		if f, err := s.Load(perf.Key{Codelet: "m", Kernel: v}); err != nil || f.Samples() != want {
			t.Errorf("version %q: %v, %d samples instead of %d", v, err, f.Samples(), want)
		}
	}
}

// TestVariants: the time of a run goes to the variant that ran, which is not always the one that
// was to be the next, and predictions are of the next one. A plan takes the fastest.
func TestVariants(t *testing.T) {
	dir := t.TempDir()
	var next, runs atomic.Int32
	c := &Codelet{Name: "m", Variants: &Variants{Names: []string{"slow", "fast"}, Next: &next}}
	c.CPU = []Impl{func(c *TaskContext) error {
		switch n := runs.Add(1); {
		case n == 12:
			next.Store(1)
		case n > 12 && n%2 == 0:
			c.SetVariant(0) // the next is fast
		}
		return nil
	}}
	must(t, calibrated(t, Options{Workers: 1, Calibrate: 1, PerfDir: dir}, c, 100, 42))
	s, err := perf.NewStore(dir, "")
	must(t, err)
	must(t, s.Update(perf.Key{Codelet: "m"}, func(f *perf.File) {
		got := map[string]int64{}
		for _, g := range f.Groups {
			got[g.Variant] = g.Samples()
			sec := map[string]float64{"slow": 3, "fast": 2}[g.Variant]
			g.Entries[0].Entry = perf.Entry{Moments: perf.Moments{N: 20, Mean: sec, Min: sec, Max: sec}}
		}
		if len(got) != 2 || got["slow"] != 12+15 || got["fast"] != 15 {
			t.Errorf("%v samples", got)
		}
	}))
	ops := []iface.Desc{{Kind: iface.Vector, Elem: iface.F32, Rank: 1, Dim: [iface.MaxRank]int{100}}}
	rt, err := New(Options{Workers: 1, PerfDir: dir})
	must(t, err)
	defer rt.Close()
	for i, want := range []float64{3, 2} {
		next.Store(int32(i))
		if e, err := rt.Expect(c, ops, nil); err != nil || !e.Known || e.Seconds != want || e.Variant != c.Variants.Names[i] {
			t.Errorf("variant %d: %+v, %v", i, e, err)
		}
		var p *asking
		must(t, calibrated(t, Options{Workers: 1, PerfDir: dir, NewPolicy: func(m sched.Machine) sched.Policy {
			e, _ := sched.Lookup("eager")
			p = &asking{Policy: e.New(m), m: m}
			return p
		}}, c, 100, 1))
		if !slices.Equal(p.times, []float64{want}) {
			t.Errorf("variant %d: a policy was given %v", i, p.times)
		}
		planned := 0
		plan, err := Machine{Workers: 1, PerfDir: dir}.Planner(func(task *PlannedTask) {
			if task.Codelet == c {
				if planned++; task.Seconds[0] != 2 {
					t.Errorf("variant %d: a plan was given %v", i, task.Seconds)
				}
			}
		})
		must(t, err)
		j := plan.NewJob(context.Background(), JobOptions{})
		must(t, j.Submit(&TaskSpec{Codelet: c, Operands: []Operand{{Handle: lazyVector(t, plan, 100), Mode: iface.W}}}))
		must(t, j.Wait(context.Background()))
		must(t, plan.Close())
		if planned != 1 {
			t.Errorf("%d tasks were planned", planned)
		}
	}
	for _, i := range []int32{-1, 2} { // no variants
		next.Store(i)
		if e, err := rt.Expect(c, ops, nil); err != nil || e.Known {
			t.Errorf("variant %d: %+v, %v", i, e, err)
		}
		must(t, calibrated(t, Options{Workers: 1}, c, 100, 2))
	}
}

// TestOwnCodelets: internal tasks leave no measurements under a program's names.
func TestOwnCodelets(t *testing.T) {
	dir := t.TempDir()
	rt, err := New(Options{Workers: 2, Calibrate: 1, PerfDir: dir})
	must(t, err)
	must(t, rt.OnEachWorker(context.Background(), nil, func(WorkerInfo) error { return nil }))
	must(t, rt.Close())
	s, err := perf.NewStore(dir, "")
	must(t, err)
	if files, bad := s.List(); len(files) != 0 || len(bad) != 0 {
		t.Errorf("%d files, %v", len(files), bad)
	}
}

func TestExpect(t *testing.T) {
	dir := t.TempDir()
	c := &Codelet{Name: "m", CPU: []Impl{func(*TaskContext) error { return nil }}}
	must(t, calibrated(t, Options{Workers: 2, Calibrate: 1, PerfDir: dir}, c, 100, 1))
	s, err := perf.NewStore(dir, "")
	must(t, err)
	must(t, s.Update(perf.Key{Codelet: "m"}, func(f *perf.File) { // times that no clock decides
		f.Groups[0].Entries[0].Entry = perf.Entry{Moments: perf.Moments{N: 40, Mean: 2e-3, Min: 1e-3, Max: 3e-3}}
	}))
	rt, err := New(Options{Workers: 2, PerfDir: dir})
	must(t, err)
	defer rt.Close()
	ops := []iface.Desc{{Kind: iface.Vector, Elem: iface.F32, Rank: 1, Dim: [iface.MaxRank]int{100}}}
	e, err := rt.Expect(c, ops, nil)
	if err != nil || !e.Known || e.Seconds != 2e-3 || e.Samples != 40 || e.Source != perf.Measured {
		t.Errorf("%+v, %v", e, err)
	}
	ops[0].Dim[0] = 101
	if e, err := rt.Expect(c, ops, nil); err != nil || e.Known {
		t.Errorf("of another size: %+v, %v", e, err)
	}
	common := &Codelet{Name: "f", CPU: c.CPU, Model: &perf.Model{Kind: perf.Common, Cost: func(c *perf.Call) float64 { return c.Bytes() }}}
	if e, err := rt.Expect(common, ops, nil); err != nil || e.Seconds != 404 {
		t.Errorf("of a function: %+v, %v", e, err)
	}
	if _, err := rt.Expect(&Codelet{Name: "odd", Model: &perf.Model{Kind: perf.Common}}, ops, nil); err == nil {
		t.Error("a model without sense is accepted")
	}
	if _, err := rt.Expect(nil, nil, nil); err == nil {
		t.Error("no codelet is accepted")
	}
}

func TestModelErrors(t *testing.T) {
	c := &Codelet{Name: "m", CPU: []Impl{func(*TaskContext) error { return nil }}}
	if _, err := New(Options{Calibrate: 3}); err == nil || !strings.Contains(err.Error(), "level 3") {
		t.Errorf("level 3: %v", err)
	}
	dir := t.TempDir()
	s, err := perf.NewStore(dir, "")
	must(t, err)
	must(t, os.MkdirAll(s.Dir(), 0o777))
	must(t, os.WriteFile(s.Path(perf.Key{Codelet: "m"}), []byte("no model"), 0o666))
	var me *ModelError
	if err := calibrated(t, Options{Workers: 1, Calibrate: 1, PerfDir: dir}, c, 8, 3); !errors.As(err, &me) || !errors.Is(err, perf.ErrCorrupt) {
		t.Errorf("over a bad file Close says %v", err)
	}
}

// asking is a policy that asks for an estimate of every item.
type asking struct {
	sched.Policy
	m     sched.Machine
	known []bool
	times []float64
}

func (p *asking) Push(it *sched.Item, from int) int {
	s, known := p.m.Estimate(it, 0)
	p.known, p.times = append(p.known, known), append(p.times, s)
	return p.Policy.Push(it, from)
}

// A policy that asks for estimates gets them as soon as there are enough
// measurements, without any option.
func TestPoliciesAsk(t *testing.T) {
	dir := t.TempDir()
	var p *asking
	rt, err := New(Options{Workers: 1, PerfDir: dir, NewPolicy: func(m sched.Machine) sched.Policy {
		e, _ := sched.Lookup("eager")
		p = &asking{Policy: e.New(m), m: m}
		return p
	}})
	must(t, err)
	j := rt.NewJob(context.Background(), JobOptions{})
	h := lazyVector(t, rt, 8)
	c := &Codelet{Name: "m", CPU: []Impl{func(*TaskContext) error { return nil }}}
	// Times of zero do not count, so it may take more tasks than samples.
	tasks := 0
	for tasks < 100000 && (tasks == 0 || !p.known[tasks-1]) { // one at a time: each push comes after what ran before
		must(t, j.Submit(&TaskSpec{Codelet: c, Operands: []Operand{{Handle: h, Mode: iface.W}}}))
		must(t, j.Wait(context.Background()))
		tasks++
		if len(p.known) != tasks {
			t.Fatalf("%d questions about %d tasks", len(p.known), tasks)
		}
	}
	must(t, rt.Close())
	if tasks <= perf.DefaultMinSamples || tasks == 100000 {
		t.Errorf("known after %d tasks", tasks-1)
	}
	if s := p.times[tasks-1]; s <= 0 || math.IsInf(s, 0) {
		t.Errorf("an estimate of %g s", s)
	}
	if n := samples(t, dir, "m"); n != 0 {
		t.Errorf("level 0 wrote %d samples", n)
	}
}

// With several implementations the estimate is that of the fastest that can run.
func TestEstimateOfImplementations(t *testing.T) {
	fn := func(*TaskContext) error { return nil }
	cost := []float64{3, 1, 2}
	for _, c := range []struct {
		traits *Traits
		want   float64
	}{
		{nil, 1},
		{&Traits{CanExecute: func(_ WorkerInfo, impl int, _ []iface.Desc, _ []iface.Scalar) bool { return impl != 1 }}, 2},
		{&Traits{CanExecute: func(_ WorkerInfo, impl int, _ []iface.Desc, _ []iface.Scalar) bool { return impl == 0 }}, 3},
	} {
		var p *asking
		rt, err := New(Options{Workers: 1, PerfDir: t.TempDir(), NewPolicy: func(m sched.Machine) sched.Policy {
			e, _ := sched.Lookup("eager")
			p = &asking{Policy: e.New(m), m: m}
			return p
		}})
		must(t, err)
		j := rt.NewJob(context.Background(), JobOptions{})
		must(t, j.Submit(&TaskSpec{
			Codelet: &Codelet{Name: "m", CPU: []Impl{fn, fn, fn}, Traits: c.traits,
				Model: &perf.Model{Kind: perf.PerArch, Cost: func(c *perf.Call) float64 { return cost[c.Impl] }}},
			Operands: []Operand{{Handle: lazyVector(t, rt, 8), Mode: iface.W}},
		}))
		must(t, j.Wait(context.Background()))
		must(t, rt.Close())
		if len(p.times) != 1 || p.times[0] != c.want || !p.known[0] {
			t.Errorf("%v, %v instead of %g", p.times, p.known, c.want)
		}
	}
}

func lazyVector(t *testing.T, rt *Runtime, n int) *datamgr.Handle {
	t.Helper()
	h, err := rt.Register(DataSpec{Kind: iface.Vector, Elem: iface.F32, Dims: []int{n}})
	must(t, err)
	return h
}
