package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/disk"
	"github.com/starpush/starpush/accel/sim"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/perf"
	"github.com/starpush/starpush/engine/sched"
)

// A runtime with a device, here a simulated one: data travels where tasks run, and
// the results are those of any machine.
func ExampleOptions_devices() {
	ctx := context.Background()
	gpu, err := sim.New(sim.Options{Name: "gpu", Capacity: 1 << 20})
	if err != nil {
		log.Fatal(err)
	}
	defer gpu.Close() // after the runtime
	rt, err := engine.New(engine.Options{Workers: 1, Devices: []accel.Device{gpu}})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	job := rt.NewJob(ctx, engine.JobOptions{})
	defer job.Close()

	double := &engine.Codelet{Name: "double", Modes: []iface.AccessMode{iface.RW}, CPU: []engine.Impl{func(c *engine.TaskContext) error {
		for i := range iface.Slice[float64](c.Buffer(0)) {
			iface.Slice[float64](c.Buffer(0))[i] *= 2
		}
		return nil
	}}}
	x := []float64{1, 2, 3, 4}
	h, _ := engine.NewVector(rt, x)
	task, err := job.SubmitWith(&engine.TaskSpec{Codelet: double, Operands: []engine.Operand{engine.RW(h)}},
		engine.TaskOptions{Kinds: []string{"gpu"}})
	if err != nil {
		log.Fatal(err)
	}
	if err := task.Wait(ctx); err != nil {
		log.Fatal(err)
	}
	show := func() {
		where, _ := job.Where(h.Handle) // node by node: ram, gpu
		fmt.Println("bytes in main memory:", where[0].Valid, "on the device:", where[1].Valid)
	}
	show()
	a, err := h.Acquire(ctx, job, iface.R) // brings them back
	if err != nil {
		log.Fatal(err)
	}
	defer a.Release()
	show()
	fmt.Println(a.Data())
	// Output:
	// bytes in main memory: 0 on the device: 32
	// bytes in main memory: 32 on the device: 32
	// [2 4 6 8]
}

// More data than memory: 64 KiB of main memory for 256 KiB of data.
func ExampleOptions_disk() {
	ctx := context.Background()
	rest, err := disk.Open(os.TempDir())
	if err != nil {
		log.Fatal(err)
	}
	defer rest.Close() // after the runtime
	rt, err := engine.New(engine.Options{Workers: 2, RAM: 64 << 10, Disk: rest})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	job := rt.NewJob(ctx, engine.JobOptions{})
	defer job.Close()

	fill := &engine.Codelet{Name: "fill", Modes: []iface.AccessMode{iface.W}, CPU: []engine.Impl{func(c *engine.TaskContext) error {
		v := iface.Slice[int64](c.Buffer(0))
		for i := range v {
			v[i] = int64(c.Buffer(0).Off[0] + i) // its place in the whole vector
		}
		return nil
	}}}
	x, _ := rt.Register(engine.DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{32 << 10}})
	view, _ := rt.Partition(x, filter.Blocks(16))
	for _, part := range view.Parts {
		if err := job.Submit(&engine.TaskSpec{Codelet: fill, Operands: []engine.Operand{{Handle: part, Mode: iface.W}}}); err != nil {
			log.Fatal(err)
		}
	}
	if err := job.Wait(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println("in main memory at most 64 KiB:", rt.Stats().Nodes[0].PeakBytes <= 64<<10)
	a, err := job.Acquire(ctx, view.Parts[15], iface.R)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Release()
	last := iface.Slice[int64](a.Buffer())
	fmt.Println(last[len(last)-1])
	// Output:
	// in main memory at most 64 KiB: true
	// 32767
}

// newest is a policy of the program's own: what came last goes first.
type newest struct {
	mu    sync.Mutex
	items []*sched.Item
}

func (p *newest) Push(it *sched.Item, from int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.items = append(p.items, it)
	if it.Allowed != nil {
		return it.Allowed.First()
	}
	return sched.Anyone
}

func (p *newest) Pop(w int) *sched.Item {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, it := range slices.Backward(p.items) {
		if it.Allows(w) {
			p.items = slices.Delete(p.items, i, i+1)
			return it
		}
	}
	return nil
}

func (p *newest) Empty() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.items) == 0
}

// A policy of one's own, of the type newest: three methods, which schedtest.Run holds
// against the rules.
func ExampleOptions_newPolicy() {
	ctx := context.Background()
	rt, err := engine.New(engine.Options{Workers: 1, Policy: "newest", NewPolicy: func(sched.Machine) sched.Policy { return &newest{} }})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	job := rt.NewJob(ctx, engine.JobOptions{})
	defer job.Close()

	say := &engine.Codelet{Name: "say", CPU: []engine.Impl{func(c *engine.TaskContext) error {
		fmt.Println(c.Name())
		return nil
	}}}
	begun, carryOn := make(chan bool), make(chan bool)
	busy := &engine.Codelet{Name: "busy", CPU: []engine.Impl{func(c *engine.TaskContext) error {
		begun <- true
		<-carryOn
		return nil
	}}}
	if err := job.Submit(&engine.TaskSpec{Codelet: busy}); err != nil { // the one worker has something to do
		log.Fatal(err)
	}
	<-begun
	for _, name := range []string{"first", "second", "third"} {
		if err := job.Submit(&engine.TaskSpec{Codelet: say, Name: name}); err != nil {
			log.Fatal(err)
		}
	}
	carryOn <- true
	if err := job.Wait(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println("policy:", rt.Policy())
	// Output:
	// third
	// second
	// first
	// policy: newest
}

// A performance model: what is known of a codelet before it ever ran. Policies such
// as dmda place tasks by it.
func ExampleRuntime_Expect() {
	rt, _ := engine.New(engine.Options{Policy: "dmda"})
	defer rt.Close()

	sort := &engine.Codelet{Name: "sort", CPU: []engine.Impl{func(c *engine.TaskContext) error { return nil }},
		Model: &perf.Model{Kind: perf.PerArch, Cost: func(c *perf.Call) float64 {
			return 2e-9 * c.Bytes() // seconds
		}}}
	e, err := rt.Expect(sort, []iface.Desc{{Kind: iface.Vector, Elem: iface.F64, Rank: 1, Dim: [iface.MaxRank]int{1000}}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.0f µs, known: %v\n", 1e6*e.Seconds, e.Known)
	// Output: 16 µs, known: true
}

// counter counts the events of tasks.
type counter struct {
	mu sync.Mutex
	n  map[engine.EventKind]int
}

func (l *counter) TaskEvent(e *engine.Event) { // on several workers at the same time
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n[e.Kind]++
}

// A listener receives the events of tasks; the type counter is one. Package trace has
// listeners that record everything, for Perfetto or as a page to read.
func ExampleListener() {
	l := &counter{n: map[engine.EventKind]int{}}
	rt, _ := engine.New(engine.Options{Listener: l})
	job := rt.NewJob(context.Background(), engine.JobOptions{})

	k := 0
	fail := &engine.Codelet{Name: "fail", Modes: []iface.AccessMode{iface.RW}, CPU: []engine.Impl{func(c *engine.TaskContext) error {
		if k++; k == 3 {
			return errors.New("the third one fails")
		}
		return nil
	}}}
	var x int64
	h, _ := engine.NewVariable(rt, &x)
	for range 5 {
		if err := job.Submit(&engine.TaskSpec{Codelet: fail, Operands: []engine.Operand{engine.RW(h)}}); err != nil {
			log.Fatal(err)
		}
	}
	job.Close()
	rt.Close()
	for _, kind := range []engine.EventKind{engine.TaskSubmitted, engine.TaskStarted, engine.TaskDone, engine.TaskFailed, engine.TaskCancelled} {
		fmt.Println(kind, l.n[kind])
	}
	// Output:
	// submitted 5
	// started 3
	// done 2
	// failed 1
	// cancelled 2
}

// A plan: each task is checked and takes its place, and none runs.
func ExampleMachine_Planner() {
	rt, err := engine.Machine{Workers: 2}.Planner(func(p *engine.PlannedTask) {
		fmt.Println(p.ID, p.Codelet.Name, p.Operands[0].Mode)
	})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	job := rt.NewJob(context.Background(), engine.JobOptions{})
	defer job.Close()

	never := &engine.Codelet{Name: "never", CPU: []engine.Impl{func(c *engine.TaskContext) error {
		time.Sleep(time.Hour)
		return nil
	}}}
	x, _ := rt.Register(engine.DataSpec{Name: "x", Kind: iface.Vector, Elem: iface.F64, Dims: []int{1 << 28}}) // takes no memory
	for _, m := range []iface.AccessMode{iface.W, iface.RW} {
		if err := job.Submit(&engine.TaskSpec{Codelet: never, Operands: []engine.Operand{{Handle: x, Mode: m}}}); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// 1 never W
	// 2 never RW
}

// A loop that goes on where it was when the process was killed. The bytes of the program say how far it had come.
func ExampleJob_Checkpoint() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	run := func(steps int) []float64 {
		rt, err := engine.New(engine.Options{})
		if err != nil {
			log.Fatal(err)
		}
		defer rt.Close()
		job := rt.NewJob(ctx, engine.JobOptions{})
		defer job.Close()
		x, err := engine.NewVector(rt, []float64{1, 2, 3})
		if err != nil {
			log.Fatal(err)
		}
		first := 0
		c, err := engine.OpenCheckpoint(dir)
		switch {
		case err == nil:
			first = int(c.State()[0])
			if err := c.Restore(ctx, job, "x", x.Handle); err != nil {
				log.Fatal(err)
			}
		case !errors.Is(err, engine.ErrNoCheckpoint):
			log.Fatal(err)
		}
		for k := first; k < steps; k++ {
			if err := job.Go(func(x []float64) {
				for i := range x {
					x[i] *= 2
				}
			}, engine.RW(x)); err != nil {
				log.Fatal(err)
			}
			if err := job.Checkpoint(ctx, dir, []engine.NamedData{{Name: "x", Handle: x.Handle}}, []byte{byte(k + 1)}); err != nil {
				log.Fatal(err)
			}
		}
		out, err := x.Value(ctx, job)
		if err != nil {
			log.Fatal(err)
		}
		return out
	}
	fmt.Println(run(2)) // as if it ended here
	fmt.Println(run(3)) // one more step
	// Output:
	// [4 8 12]
	// [8 16 24]
}
