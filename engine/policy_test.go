package engine

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/starpush/starpush/accel/cpu"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/perf"
	"github.com/starpush/starpush/engine/sched"
	"github.com/starpush/starpush/engine/sched/schedtest"
)

// own is a policy of the program's: the last item first. It notes what it hears.
type own struct {
	m  sched.Machine
	mu struct {
		sync.Mutex
		items  []*sched.Item
		closed int
	}
	started, ended, nonsense atomic.Int64
}

func (p *own) Push(it *sched.Item, from int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.items = append(p.mu.items, it)
	if it.Allowed != nil {
		return it.Allowed.First()
	}
	return sched.Anyone
}

func (p *own) Pop(w int) *sched.Item {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, it := range slices.Backward(p.mu.items) {
		if it.Allows(w) {
			p.mu.items = slices.Delete(p.mu.items, i, i+1)
			return it
		}
	}
	return nil
}

func (p *own) Empty() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.mu.items) == 0
}

func (p *own) Started(it *sched.Item, w int) { p.started.Add(1) }

func (p *own) Ended(it *sched.Item, w int, seconds float64) {
	p.ended.Add(1)
	if seconds < 0 || it.Order <= 0 || w >= len(p.m.Workers) {
		p.nonsense.Add(1)
	}
}

func (p *own) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.closed++
}

func TestOwnPolicyConforms(t *testing.T) {
	schedtest.Run(t, func(m sched.Machine) sched.Policy { return &own{m: m} })
}

// A policy of the program's own is used, told about kernels, and closed.
func TestOwnPolicy(t *testing.T) {
	var p *own
	rt, err := New(Options{Workers: 3, Policy: "mine", NewPolicy: func(m sched.Machine) sched.Policy {
		p = &own{m: m}
		return p
	}})
	must(t, err)
	if len(p.m.Workers) != 3 || p.m.Workers[2].Arch != "cpu" || rt.Policy() != "mine" {
		t.Error(p.m.Workers, rt.Policy())
	}
	j := rt.NewJob(context.Background(), JobOptions{})
	x := make([]int64, 1)
	h := ints(t, rt, x)
	g := j.NewGate()
	for range 100 {
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, h)}))
		must(t, j.Submit(&TaskSpec{Codelet: incs, Workers: []int{1}, After: []Dependency{g}}))
	}
	g.Open()
	must(t, j.Wait(context.Background()))
	if x[0] != 100 || p.started.Load() != 200 || p.ended.Load() != 200 || p.nonsense.Load() != 0 {
		t.Error(x[0], p.started.Load(), p.ended.Load(), p.nonsense.Load())
	}
	must(t, j.Close())
	must(t, rt.Close())
	must(t, rt.Close())
	if p.mu.closed != 1 {
		t.Errorf("closed %d times", p.mu.closed)
	}

	rt, err = New(Options{NewPolicy: func(sched.Machine) sched.Policy { return &own{} }, Sequential: true})
	must(t, err)
	if rt.Policy() != "user" {
		t.Error(rt.Policy())
	}
	must(t, rt.Close())
	if _, err := New(Options{NewPolicy: func(sched.Machine) sched.Policy { return nil }}); err == nil || !strings.Contains(err.Error(), "returned nil") {
		t.Error(err)
	}
	for _, text := range []string{"nothing", "dmda:alpha", "dmda:delta=1", "dmda:alpha=-1"} {
		if _, err := New(Options{Policy: text}); err == nil || !strings.HasPrefix(err.Error(), "engine: ") {
			t.Errorf("%s: %v", text, err)
		}
	}
	rt, err = New(Options{Policy: "dmda:beta=2"})
	must(t, err)
	must(t, rt.Close())
}

// TestMachineKnowsTasks: the machine describes a queued task as the program submitted it.
func TestMachineKnowsTasks(t *testing.T) {
	var m sched.Machine
	var p *own
	rt, err := New(Options{Workers: 1, PerfDir: t.TempDir(), NewPolicy: func(machine sched.Machine) sched.Policy {
		m, p = machine, &own{m: machine}
		return p
	}})
	must(t, err)
	j := rt.NewJob(context.Background(), JobOptions{})
	a, b := ints(t, rt, make([]int64, 10)), ints(t, rt, make([]int64, 3))
	started, block := make(chan struct{}), make(chan struct{})
	must(t, j.Submit(&TaskSpec{Codelet: kernel("block", func(*TaskContext) error { close(started); <-block; return nil })}))
	<-started
	must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.R, a, iface.R, b)}))
	p.mu.Lock()
	it := p.mu.items[0]
	p.mu.Unlock()
	var ids, bytes []int64
	m.Data(it, func(id, n int64) { ids, bytes = append(ids, id), append(bytes, n) })
	if !slices.Equal(ids, []int64{a.ID(), b.ID()}) || !slices.Equal(bytes, []int64{80, 24}) {
		t.Error(ids, bytes)
	}
	if m.Kind(it) != any(incs) || m.Missing(it, 0) != 0 || m.Transfer(it, 0) != 0 || m.Energy(it, 0) != 0 {
		t.Error(m.Kind(it), m.Missing(it, 0), m.Transfer(it, 0), m.Energy(it, 0))
	}
	if _, known := m.Estimate(it, 0); known {
		t.Error("known, and never measured")
	}
	modelled := *incs
	modelled.Model = &perf.Model{Kind: perf.Common, Cost: func(c *perf.Call) float64 { return c.Bytes() / 64 },
		Energy: func(c *perf.Call) float64 { return 10 * c.Bytes() }}
	must(t, j.Submit(&TaskSpec{Codelet: &modelled, Operands: ops(iface.R, b), Priority: 1}))
	p.mu.Lock()
	it = p.mu.items[1]
	p.mu.Unlock()
	if s, known := m.Estimate(it, 0); !known || s != 24.0/64 || m.Energy(it, 0) != 240 || it.Priority != 1 {
		t.Error(s, known, m.Energy(it, 0), it.Priority)
	}
	now := m.Now()
	close(block)
	must(t, j.Wait(context.Background()))
	if m.Now() < now {
		t.Error("the clock goes backwards")
	}
	must(t, j.Close())
	must(t, rt.Close())
}

// choices notes which worker the policy chose for each task.
type choices struct {
	mu sync.Mutex
	to map[int64]int
}

func (*choices) TaskEvent(*Event) {}

func (l *choices) ChoiceEvent(e *ChoiceEvent) {
	l.mu.Lock()
	l.to[e.ID] = e.Worker
	l.mu.Unlock()
}

// TestBundle: tasks of a bundle are placed on one memory node, that where all of them together are cheapest.
func TestBundle(t *testing.T) {
	seconds := func(c *perf.Call) float64 { // the first alone is faster on the CPU
		if c.Arch == "cpu" {
			return []float64{1, 9, 9}[c.Args[0].Int()]
		}
		return 2
	}
	c := &Codelet{Name: "inc", CPU: incs.CPU, Model: &perf.Model{Kind: perf.PerArch, Cost: seconds}}
	devices := late(1<<20, 1, 1)
	for _, bundled := range []bool{false, true} {
		for _, policy := range []string{"dm", "dmda", "dmdas"} {
			rt, j := start(t, Options{Workers: 1, Devices: devices, Policy: policy})
			l := &choices{to: map[int64]int{}}
			must(t, rt.Listen(l))
			gate := j.NewGate()
			var o TaskOptions
			if bundled {
				o.Bundle = new(Bundle)
			}
			for k := range 3 {
				_, err := j.SubmitWith(&TaskSpec{Codelet: c, Args: []iface.Scalar{iface.Int(int64(k))}, After: []Dependency{gate},
					Operands: []Operand{{Handle: ints(t, rt, make([]int64, 4)), Mode: iface.RW}}}, o)
				must(t, err)
			}
			gate.Open()
			must(t, j.Wait(context.Background()))
			together := l.to[1] == l.to[2] && l.to[2] == l.to[3]
			if len(l.to) != 3 || together != bundled || (l.to[1] == 0) == bundled {
				t.Errorf("%s, in a bundle %v: workers %v", policy, bundled, l.to)
			}
		}
	}
}

// TestProcessors: CPU workers run on the processors that they are bound to, also after a kernel that ended its
// goroutine.
func TestProcessors(t *testing.T) {
	all, err := cpu.Processors()
	if err != nil {
		if _, err := New(Options{Processors: []int{0}}); err == nil {
			t.Error("bound where that cannot be")
		}
		t.Skip(err)
	}
	for _, o := range []Options{{Processors: []int{}}, {Processors: []int{all[0], 1 << 20}}, {Processors: []int{-1}}} {
		if _, err := New(o); err == nil {
			t.Errorf("processors %v are accepted", o.Processors)
		}
	}
	rt, j := start(t, Options{Workers: 3, Processors: all[max(0, len(all)-2):]})
	var mu sync.Mutex
	wrong := map[int][]int{}
	c := kernel("look", func(c *TaskContext) error {
		now, err := cpu.Processors()
		if want := rt.opt.Processors[c.Worker()%len(rt.opt.Processors)]; err != nil || !slices.Equal(now, []int{want}) {
			mu.Lock()
			wrong[c.Worker()] = now
			mu.Unlock()
		}
		return nil
	})
	leave := kernel("leave", func(*TaskContext) error { runtime.Goexit(); return nil })
	for range 3 {
		for w := range 3 {
			must(t, j.Submit(&TaskSpec{Codelet: c, Workers: []int{w}}))
			must(t, j.Submit(&TaskSpec{Codelet: leave, Workers: []int{w}}))
			must(t, j.Submit(&TaskSpec{Codelet: c, Workers: []int{w}}))
		}
		must(t, j.Wait(context.Background()))
	}
	if len(wrong) > 0 {
		t.Errorf("workers of %v on %v", rt.opt.Processors, wrong)
	}
}
