package simulate_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/graph"
	"github.com/starpush/starpush/engine/sched"
	"github.com/starpush/starpush/engine/simulate"
)

// builder makes graphs by hand. Work is in operations; a worker does one a second.
type builder struct{ g graph.Graph }

func (b *builder) data(bytes int64, home bool) int32 {
	n := int32(len(b.g.Handles))
	b.g.Handles = append(b.g.Handles, graph.Handle{Name: fmt.Sprintf("d%d", n), Datum: n, Bytes: bytes, Lo: []int{0}, Hi: []int{int(bytes)}, Elem: 1, Home: home})
	return n
}

func (b *builder) task(name string, work float64, ops ...graph.Operand) *graph.Task {
	b.g.Tasks = append(b.g.Tasks, graph.Task{ID: int64(len(b.g.Tasks) + 1), Codelet: name, Operations: work, Operands: ops, Site: -1})
	return &b.g.Tasks[len(b.g.Tasks)-1]
}

func op(m iface.AccessMode, h int32) graph.Operand { return graph.Operand{Handle: h, Mode: m} }

func (b *builder) program(t *testing.T) *simulate.Program {
	t.Helper()
	if err := b.g.Resolve(graph.Bounds{}); err != nil {
		t.Fatal(err)
	}
	p, err := simulate.NewProgram(context.Background(), &b.g)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// plain is n workers that do one operation a second, and devices that do `fast`, behind links of one byte a second and a latency of 1 s.
func plain(n, devices int, fast float64, memory int64) *simulate.Machine {
	m := &simulate.Machine{Name: "plain", Computers: 1, CPU: simulate.CPU{Workers: n, NUMA: 1, Flops: 1, Bandwidth: 1e18}}
	if devices > 0 {
		m.Devices = []simulate.Devices{{Name: "gpu", Count: devices, Units: 1, Flops: fast, Bandwidth: 1e18, Memory: memory, Link: simulate.Link{Latency: 1, Bandwidth: 1}}}
	}
	return m
}

func simulated(t *testing.T, p *simulate.Program, m *simulate.Machine, o simulate.Options) *simulate.Result {
	t.Helper()
	r, err := simulate.Run(context.Background(), p, m, o)
	if err != nil {
		t.Fatalf("%+v: %v", o, err)
	}
	return r
}

const R, W, RW = iface.R, iface.W, iface.RW

func TestChainAndFork(t *testing.T) {
	var b builder
	x, y, z := b.data(1, true), b.data(1, true), b.data(1, true)
	b.task("a", 2, op(RW, x))
	b.task("b", 3, op(R, x), op(RW, y))
	b.task("b", 3, op(R, x), op(RW, z))
	b.task("c", 1, op(R, y), op(R, z))
	p := b.program(t)
	for _, c := range []struct {
		workers int
		want    float64
	}{{1, 9}, {2, 6}, {4, 6}} {
		for _, policy := range sched.Names() {
			r := simulated(t, p, plain(c.workers, 0, 0, 0), simulate.Options{Policy: policy})
			if r.Seconds != c.want {
				t.Errorf("%s, %d workers: %v s, want %v", policy, c.workers, r.Seconds, c.want)
			}
			if b := r.Bound(); b.Path != 6 || math.Abs(b.Area-9/float64(c.workers)) > 1e-9 {
				t.Errorf("%s, %d workers: bound %+v", policy, c.workers, b)
			}
		}
	}
}

// A device is ten times as fast; 10 bytes travel for 11 s each way.
func TestDevice(t *testing.T) {
	var b builder
	x := b.data(10, true)
	b.task("a", 100, op(RW, x))
	b.task("a", 100, op(RW, x))
	b.g.Tasks = append(b.g.Tasks, graph.Task{ID: -1, Codelet: "(acquire)", Internal: "acquire", Operands: []graph.Operand{op(R, x)}, Site: -1})
	r := simulated(t, b.program(t), plain(1, 1, 10, 0), simulate.Options{Policy: "dmda"})
	// 11 s there, 10 s each, 11 s back
	if r.Seconds != 42 {
		t.Errorf("%v s, want 42", r.Seconds)
	}
	want := []simulate.LinkResult{{From: 0, To: 1, Copies: 1, Bytes: 10, Busy: 11}, {From: 1, To: 0, Copies: 1, Bytes: 10, Busy: 11}}
	if !reflect.DeepEqual(r.Links, want) {
		t.Errorf("links %+v, want %+v", r.Links, want)
	}
	if w := r.Workers[1]; w.Busy != 20 || w.Waiting != 11 || w.Idle != 11 {
		t.Errorf("the device: %+v", w)
	}
}

// Three pieces of data in room for two: the one that is needed last leaves, and comes back.
func TestEviction(t *testing.T) {
	var b builder
	d := []int32{b.data(10, true), b.data(10, true), b.data(10, true)}
	only := []float64{-1, math.NaN()} // the device alone
	for _, h := range []int32{d[0], d[1], d[2], d[0], d[1]} {
		b.task("a", 10, op(RW, h)).Seconds = only
	}
	r := simulated(t, b.program(t), plain(1, 1, 10, 20), simulate.Options{Policy: "eager", Ahead: -1})
	// d1 is needed after d0, so it leaves for d2; then d2 leaves for d1.
	if n := r.Nodes[1]; n.Evictions != 2 || n.Evicted != 20 || n.Arrived != 40 || n.Peak != 20 {
		t.Errorf("the device's memory: %+v", n)
	}
	// d0: 11+1, d1: 11+1, d1 back 11, d2: 11+1, d0: 1, d2 back 11, d1: 11+1
	if r.Seconds != 12+12+11+12+1+11+12 {
		t.Errorf("%v s, want 71", r.Seconds)
	}
}

func TestNoRoom(t *testing.T) {
	var b builder
	b.task("a", 10, op(RW, b.data(30, true))).Seconds = []float64{-1, math.NaN()}
	_, err := simulate.Run(context.Background(), b.program(t), plain(1, 1, 10, 20), simulate.Options{})
	var stuck *simulate.StuckError
	if !errors.As(err, &stuck) || stuck.Tasks != 1 {
		t.Errorf("got %v", err)
	}
}

// Data of the next task travels while one runs.
func TestPrefetch(t *testing.T) {
	var b builder
	only := []float64{-1, math.NaN()}
	for range 3 {
		b.task("a", 200, op(R, b.data(10, true))).Seconds = only
	}
	p := b.program(t)
	for _, c := range []struct {
		ahead int
		want  float64
	}{{-1, 3 * 31}, {0, 11 + 3*20}} {
		if r := simulated(t, p, plain(1, 1, 10, 0), simulate.Options{Policy: "eager", Ahead: c.ahead}); r.Seconds != c.want {
			t.Errorf("%d ahead: %v s, want %v", c.ahead, r.Seconds, c.want)
		}
	}
}

// TestWake: a worker that sleeps begins late, and the one that wakes it, or the script, loses two thirds of that.
func TestWake(t *testing.T) {
	var b builder
	x, y, z := b.data(1, true), b.data(1, true), b.data(1, true)
	b.task("a", 10, op(RW, x))
	b.task("b", 10, op(R, x), op(RW, y))
	b.task("b", 10, op(R, x), op(RW, z))
	p := b.program(t)
	for _, c := range []struct {
		workers    int
		wake, want float64
	}{
		{1, 0, 30}, {1, 3, 3 + 30}, // the script wakes the worker, which goes on by itself
		{2, 0, 20}, {2, 3, 3 + 10 + 3 + 10},
	} {
		for _, policy := range []string{"eager", "prio", "lws", "dmda"} {
			m := plain(c.workers, 0, 0, 0)
			m.CPU.Wake = c.wake
			r := simulated(t, p, m, simulate.Options{Policy: policy})
			if r.Seconds != c.want {
				t.Errorf("%s, %d workers that wake up in %v s: %v s, want %v", policy, c.workers, c.wake, r.Seconds, c.want)
			}
			if r.Rescues > 0 {
				t.Errorf("%s, %d workers that wake up in %v s: nothing happened %d times", policy, c.workers, c.wake, r.Rescues)
			}
		}
	}
}

// TestLook: a worker that looks for tasks longer than the script takes for one is woken once, and one that sleeps at once again and again.
func TestLook(t *testing.T) {
	const tasks = 200
	var b builder
	for range tasks {
		b.task("a", 0.5, op(RW, b.data(1, true)))
	}
	p := b.program(t)
	for _, policy := range []string{"eager", "prio", "lws", "dmda"} {
		m := plain(1, 0, 0, 0)
		m.CPU.Wake, m.Script.Submit = 48, 1
		sleepy := simulated(t, p, m, simulate.Options{Policy: policy}).Seconds
		m.CPU.Look = 2
		// The script wakes the worker for 32 s with its first task, and submits the last one 199 s later at the latest.
		if r := simulated(t, p, m, simulate.Options{Policy: policy}); r.Seconds != 32+tasks-2+0.5 || r.Script != 32+tasks-1 || r.Workers[0].Tasks != tasks {
			t.Errorf("%s: %v s, of the script %v, want %v and %v", policy, r.Seconds, r.Script, 32+tasks-2+0.5, 32+tasks-1)
		} else if sleepy <= r.Seconds {
			t.Errorf("%s: %v s although the worker sleeps after each task, and %v s if it looks for tasks before", policy, sleepy, r.Seconds)
		}
	}
	// Two workers: one of them has the tasks, and it is woken once, too.
	m := plain(2, 0, 0, 0)
	m.CPU.Wake, m.CPU.Look, m.Script.Submit = 48, 2, 1
	if r := simulated(t, p, m, simulate.Options{}); r.Seconds > 2*tasks {
		t.Errorf("two workers: %v s for %d tasks of half a second, and one each second", r.Seconds, tasks)
	}
}

// TestShared: a script without a processor of its own takes its time from a worker that is busy, unless another one is not.
func TestShared(t *testing.T) {
	var b builder
	for range 10 {
		b.task("a", 4, op(RW, b.data(1, true)))
	}
	p := b.program(t)
	chain := builder{}
	x := chain.data(1, true)
	for range 10 {
		chain.task("a", 4, op(RW, x))
	}
	for _, c := range []struct {
		p       *simulate.Program
		workers int
		shared  bool
		want    float64
	}{
		{p, 1, false, 40}, {p, 1, true, 40 + 9}, // at the first task the worker has none yet
		{chain.program(t), 2, true, 40},
	} {
		m := plain(c.workers, 0, 0, 0)
		m.Script.Submit, m.Script.Shared = 1, c.shared
		if r := simulated(t, c.p, m, simulate.Options{}); r.Seconds != c.want {
			t.Errorf("%d workers, shared %v: %v s, want %v", c.workers, c.shared, r.Seconds, c.want)
		}
	}
}

// TestWait: a script goes on some time after the value that it waits for is there, and later if it sleeps meanwhile.
func TestWait(t *testing.T) {
	var b builder
	x := b.data(1, true)
	for range 3 {
		b.task("a", 4, op(RW, x))
		b.g.Tasks = append(b.g.Tasks, graph.Task{ID: -1, Codelet: "(acquire)", Internal: "acquire", Operands: []graph.Operand{op(R, x)}, Site: -1})
	}
	p := b.program(t)
	for _, c := range []struct{ wait, wake, look, want float64 }{
		{0, 0, 0, 12}, {3, 0, 0, 12 + 2*3},
		{3, 9, 100, 9 + 12 + 2*3}, // only the first task finds a worker that sleeps
		{3, 9, 1, 3*(9+4) + 2*9},
	} {
		m := plain(1, 0, 0, 0)
		m.CPU.Wake, m.CPU.Look, m.Script.Wait = c.wake, c.look, c.wait
		if r := simulated(t, p, m, simulate.Options{}); r.Seconds != c.want {
			t.Errorf("%+v: %v s", c, r.Seconds)
		}
	}
}

// TestClear: the first tasks of new data wait until all of its memory is clear, once; those of data with a value do not.
func TestClear(t *testing.T) {
	var b builder
	first, second := b.data(10, false), b.data(30, false) // halves of one datum
	known := b.data(1000, true)
	half, whole := &b.g.Handles[second], &b.g.Handles[known]
	half.Datum, half.Lo, half.Hi, whole.Datum = 0, []int{10}, []int{40}, 1
	b.task("a", 5, op(W, first))
	b.task("a", 5, op(W, second))
	b.task("b", 1, op(R, first), op(RW, second))
	b.task("c", 46, op(RW, known))
	p, m := b.program(t), plain(3, 0, 0, 0)
	m.CPU.Clear = 1
	if r := simulated(t, p, m, simulate.Options{Policy: "eager"}); r.Seconds != 40+5+1 {
		t.Errorf("%v s, want 46", r.Seconds)
	}
	m.CPU.Clear = -1
	var wrong *simulate.MachineError
	if _, err := simulate.Run(t.Context(), p, m, simulate.Options{}); !errors.As(err, &wrong) || wrong.Where != "cpu.clear" {
		t.Errorf("got %v", err)
	}
}

// Two devices copy at the same time, unless their links share a bus.
func TestBus(t *testing.T) {
	var b builder
	only := [][]float64{{-1, math.NaN(), -1}, {-1, -1, math.NaN()}}
	for k := range 2 {
		b.task("a", 10, op(R, b.data(10, true))).Seconds = only[k]
	}
	p := b.program(t)
	m := plain(1, 2, 10, 0)
	if r := simulated(t, p, m, simulate.Options{}); r.Seconds != 12 {
		t.Errorf("%v s, want 12", r.Seconds)
	}
	m.Buses = []simulate.Bus{{Name: "pcie", Bandwidth: 1}}
	m.Devices[0].Bus = "pcie"
	if r := simulated(t, p, m, simulate.Options{}); r.Seconds != 22 { // the second copy begins when the bytes of the first were sent
		t.Errorf("with a bus: %v s, want 22", r.Seconds)
	}
	m.Buses[0].Bandwidth = 2 // wide enough for both, one half each
	if r := simulated(t, p, m, simulate.Options{}); r.Seconds != 17 {
		t.Errorf("with a wide bus: %v s, want 17", r.Seconds)
	}
}

// Without links between devices data goes through main memory.
func TestTwoHops(t *testing.T) {
	var b builder
	x := b.data(10, false)
	b.task("a", 10, op(W, x)).Seconds = []float64{-1, math.NaN(), -1}
	b.task("a", 10, op(R, x)).Seconds = []float64{-1, -1, math.NaN()}
	p := b.program(t)
	m := plain(1, 2, 10, 0)
	if r := simulated(t, p, m, simulate.Options{}); r.Seconds != 1+11+11+1 {
		t.Errorf("%v s, want 24", r.Seconds)
	}
	m.Devices[0].Peer = simulate.Link{Latency: 1, Bandwidth: 10}
	if r := simulated(t, p, m, simulate.Options{}); r.Seconds != 1+2+1 {
		t.Errorf("with a link: %v s, want 4", r.Seconds)
	}
}

func TestCommute(t *testing.T) {
	var b builder
	x := b.data(1, true)
	for range 4 {
		b.task("a", 2, op(iface.Commute, x))
	}
	if r := simulated(t, b.program(t), plain(4, 0, 0, 0), simulate.Options{}); r.Seconds != 8 {
		t.Errorf("%v s, want 8: one at a time", r.Seconds)
	}
}

func TestParallelTask(t *testing.T) {
	var b builder
	x := b.data(1, true)
	b.task("a", 3, op(R, x))
	b.task("p", 8, op(R, x)).Workers = 4
	b.task("p", 8, op(R, x)).Workers = 4
	p := b.program(t)
	for _, policy := range sched.Names() {
		r := simulated(t, p, plain(4, 0, 0, 0), simulate.Options{Policy: policy})
		if policy != "pheft" && policy != "peager" && r.Seconds != 7 { // 3, then 2 and 2 on all four
			t.Errorf("%s: %v s, want 7", policy, r.Seconds)
		}
		var busy float64
		for _, w := range r.Workers {
			busy += w.Busy
		}
		if math.Abs(busy-19) > 1e-9 {
			t.Errorf("%s: %v s of work, want 19", policy, busy)
		}
	}
}

// The script submits a task a second, and waits for what it reads.
func TestScript(t *testing.T) {
	var b builder
	x, y := b.data(1, true), b.data(1, true)
	b.task("a", 5, op(RW, x))
	b.g.Tasks = append(b.g.Tasks, graph.Task{ID: -1, Codelet: "(acquire)", Internal: "acquire", Operands: []graph.Operand{op(R, x)}, Site: -1})
	b.task("a", 5, op(RW, y))
	b.task("a", 5, op(RW, x))
	p := b.program(t)
	m := plain(2, 0, 0, 0)
	m.Script.Submit = 1
	if r := simulated(t, p, m, simulate.Options{}); r.Seconds != 11 { // 0 to 5, then 5 to 10 and 6 to 11
		t.Errorf("%v s, want 11", r.Seconds)
	}
	m.Script.Window = 1
	if r := simulated(t, p, m, simulate.Options{}); r.Seconds != 15 {
		t.Errorf("one task at a time: %v s, want 15", r.Seconds)
	}
}

// randomProgram has tasks that use some of a few pieces of data.
func randomProgram(t *testing.T, seed uint64) *simulate.Program {
	r := rand.New(rand.NewPCG(seed, 1))
	var b builder
	var all []int32
	for range 3 + r.IntN(10) {
		all = append(all, b.data(int64(1+r.IntN(20)), r.IntN(2) == 0))
	}
	modes := []iface.AccessMode{R, R, R, W, RW, iface.Commute, iface.Scratch}
	allowed := [][]float64{{math.NaN(), math.NaN(), math.NaN(), math.NaN()}, {-1, -1, math.NaN(), math.NaN()}, {math.NaN(), math.NaN(), -1, -1}}
	for range 20 + r.IntN(100) {
		var ops []graph.Operand
		for _, k := range r.Perm(len(all))[:1+r.IntN(3)] {
			ops = append(ops, op(modes[r.IntN(len(modes))], all[k]))
		}
		if r.IntN(15) == 0 {
			b.g.Tasks = append(b.g.Tasks, graph.Task{ID: -1, Codelet: "(acquire)", Internal: "acquire", Operands: []graph.Operand{op(R, ops[0].Handle)}, Site: -1})
			continue
		}
		if r.IntN(10) == 0 { // contributions, and what combines them
			for range 3 {
				b.task("add", float64(r.IntN(50)), op(iface.Redux, ops[0].Handle)).Seconds = allowed[0]
			}
			b.g.Tasks = append(b.g.Tasks, graph.Task{ID: -1, Codelet: "(reduce)", Internal: "reduce", Operands: []graph.Operand{op(RW, ops[0].Handle)}, Site: -1, Seconds: allowed[0]})
			continue
		}
		x := b.task(fmt.Sprint("k", r.IntN(3)), float64(r.IntN(50)), ops...)
		x.Priority, x.Seconds = r.IntN(5)-2, allowed[max(0, r.IntN(6)-3)]
		if r.IntN(10) == 0 {
			x.Workers = 2
		}
	}
	return b.program(t)
}

// TestInvariants checks laws that hold for every simulation.
func TestInvariants(t *testing.T) {
	for seed := range uint64(150) {
		p := randomProgram(t, seed)
		m := plain(2, 2, 7, []int64{0, 70, 200}[seed%3])
		if seed%2 == 0 {
			m.Devices[0].Peer = simulate.Link{Bandwidth: 3}
		}
		m.Script.Submit = []float64{0, 0.5}[seed/2%2]
		m.CPU.Wake, m.CPU.Clear = []float64{0, 0, 0.25}[seed/4%3], []float64{0, 8}[seed/12%2]
		m.CPU.Look, m.Script.Shared, m.Script.Wait = []float64{0, 0.5}[seed/24%2], seed/48%2 == 1, []float64{0, 0.125}[seed/3%2]
		for _, policy := range sched.Names() {
			what := fmt.Sprintf("seed %d, %s", seed, policy)
			r := simulated(t, p, m, simulate.Options{Policy: policy, Trace: true})
			if again := simulated(t, p, m, simulate.Options{Policy: policy, Trace: true}); !reflect.DeepEqual(again.Trace().Tasks, r.Trace().Tasks) || again.Seconds != r.Seconds || !reflect.DeepEqual(again.Links, r.Links) {
				t.Fatalf("%s: another result the second time", what)
			}
			if b := r.Bound(); r.Seconds < b.Seconds*(1-1e-9) {
				t.Errorf("%s: %v s, below the bound %+v", what, r.Seconds, b)
			}
			for _, n := range r.Nodes {
				if n.Capacity > 0 && n.Peak > n.Capacity {
					t.Errorf("%s: %d bytes in %s, which has %d", what, n.Peak, n.Name, n.Capacity)
				}
			}
			if r.Rescues > 0 {
				t.Errorf("%s: %d times no worker was woken", what, r.Rescues)
			}
			var work float64
			type span struct{ from, to float64 }
			spans := map[int][]span{}
			for i := range p.Graph.Tasks {
				task := &p.Graph.Tasks[i]
				w, from, to := r.TaskTime(i)
				for _, d := range task.Deps {
					if _, _, end := r.TaskTime(int(d)); end > from {
						t.Errorf("%s: %s starts at %v, before %s ends at %v", what, task.Label(), from, p.Graph.Tasks[d].Label(), end)
					}
				}
				if task.Light() {
					continue
				}
				if task.Seconds[w] < 0 {
					t.Errorf("%s: %s runs on worker %d, which it does not allow", what, task.Label(), w)
				}
				for _, s := range spans[w] {
					if from < s.to && s.from < to {
						t.Errorf("%s: worker %d runs two tasks at %v", what, w, from)
					}
				}
				spans[w] = append(spans[w], span{from, to})
				work += to - from
			}
			var busy float64
			for _, w := range r.Workers {
				busy += w.Busy
			}
			if busy < work*(1-1e-9) {
				t.Errorf("%s: workers were busy for %v s, and tasks ran for %v", what, busy, work)
			}
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	gone := errors.New("gone")
	cancel(gone)
	if _, err := simulate.Run(ctx, randomProgram(t, 1), plain(2, 2, 7, 0), simulate.Options{}); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
}
