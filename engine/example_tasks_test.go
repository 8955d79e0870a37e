package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

// A gate is an event of the program's: tasks wait for it besides their data.
func ExampleGate() {
	ctx := context.Background()
	rt, _ := engine.New(engine.Options{})
	defer rt.Close()
	job := rt.NewJob(ctx, engine.JobOptions{})
	defer job.Close()

	say := &engine.Codelet{Name: "say", CPU: []engine.Impl{func(c *engine.TaskContext) error {
		fmt.Println(c.Name())
		return nil
	}}}
	gate := job.NewGate()
	first, err := job.SubmitTask(&engine.TaskSpec{Codelet: say, Name: "first", After: []engine.Dependency{gate}})
	if err != nil {
		log.Fatal(err)
	}
	// No data in common: the dependency is explicit.
	if err := job.Submit(&engine.TaskSpec{Codelet: say, Name: "second", After: []engine.Dependency{first}}); err != nil {
		log.Fatal(err)
	}
	fmt.Println("the gate opens")
	gate.Open()
	if err := job.Wait(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// the gate opens
	// first
	// second
}

// Tags name what tasks wait for before any of the tasks exists.
func ExampleTag() {
	ctx := context.Background()
	rt, _ := engine.New(engine.Options{})
	defer rt.Close()
	job := rt.NewJob(ctx, engine.JobOptions{})
	defer job.Close()

	say := &engine.Codelet{Name: "say", CPU: []engine.Impl{func(c *engine.TaskContext) error {
		fmt.Println(c.Name())
		return nil
	}}}
	parsed, linked := job.NewTag("parsed"), job.NewTag("linked")
	if err := linked.DependsOn(parsed); err != nil {
		log.Fatal(err)
	}
	for _, s := range []struct {
		name string
		tag  *engine.Tag
	}{{"link", linked}, {"parse", parsed}} { // in the wrong order
		if _, err := job.SubmitWith(&engine.TaskSpec{Codelet: say, Name: s.name}, engine.TaskOptions{Tag: s.tag}); err != nil {
			log.Fatal(err)
		}
	}
	if err := linked.Wait(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// parse
	// link
}

// A task that fails takes along those that need what it should have written, and
// nothing else.
func ExampleTask_Err() {
	ctx := context.Background()
	rt, _ := engine.New(engine.Options{})
	defer rt.Close()
	job := rt.NewJob(ctx, engine.JobOptions{})
	defer job.Close()

	broken := errors.New("no signal")
	measure := &engine.Codelet{Name: "measure", Modes: []iface.AccessMode{iface.W}, CPU: []engine.Impl{func(c *engine.TaskContext) error {
		return broken
	}}}
	use := &engine.Codelet{Name: "use", Modes: []iface.AccessMode{iface.R}, CPU: []engine.Impl{func(c *engine.TaskContext) error {
		return nil
	}}}
	x, _ := rt.Register(engine.DataSpec{Name: "x", Kind: iface.Variable, Elem: iface.F64})
	if err := job.Submit(&engine.TaskSpec{Codelet: measure, Operands: []engine.Operand{{Handle: x, Mode: iface.W}}}); err != nil {
		log.Fatal(err)
	}
	task, err := job.SubmitTask(&engine.TaskSpec{Codelet: use, Operands: []engine.Operand{{Handle: x, Mode: iface.R}}})
	if err != nil {
		log.Fatal(err) // submitting it is no mistake
	}
	if err := task.Wait(ctx); err != nil {
		log.Fatal(err) // nor is waiting for it
	}
	var lost *engine.FailedDataError
	fmt.Println(errors.As(task.Err(), &lost), errors.Is(task.Err(), broken))
	fmt.Println(lost.Handle.Name(), "was to be written by", lost.Task.Codelet.Name)
	// Output:
	// true true
	// x was to be written by measure
}

// A wait that would never end is an error that names what waits for what.
func ExampleStuckError() {
	ctx := context.Background()
	rt, _ := engine.New(engine.Options{})
	defer rt.Close()
	job := rt.NewJob(ctx, engine.JobOptions{DetectStuck: true})
	defer job.Close()

	nothing := &engine.Codelet{Name: "nothing", CPU: []engine.Impl{func(c *engine.TaskContext) error { return nil }}}
	gate := job.NewGate()
	if err := job.Submit(&engine.TaskSpec{Codelet: nothing, Name: "late", After: []engine.Dependency{gate}}); err != nil {
		log.Fatal(err)
	}
	var stuck *engine.StuckError
	if errors.As(job.Wait(ctx), &stuck) {
		for _, t := range stuck.Tasks {
			fmt.Println(t.Name, "waits for a closed gate:", t.Gate == gate)
		}
	}
	gate.Open()
	fmt.Println(job.Wait(ctx))
	// Output:
	// late waits for a closed gate: true
	// <nil>
}

// Verify finds a kernel that does not do what its modes say.
func ExampleVerifyError() {
	ctx := context.Background()
	rt, _ := engine.New(engine.Options{Verify: true})
	defer rt.Close()
	job := rt.NewJob(ctx, engine.JobOptions{})
	defer job.Close()

	ramp := &engine.Codelet{Name: "ramp", Modes: []iface.AccessMode{iface.W}, Pure: true, CPU: []engine.Impl{func(c *engine.TaskContext) error {
		v := iface.Slice[float64](c.Buffer(0))
		for i := 1; i < len(v); i++ { // forgets the first
			v[i] = float64(i)
		}
		return nil
	}}}
	x, _ := rt.Register(engine.DataSpec{Name: "x", Kind: iface.Vector, Elem: iface.F64, Dims: []int{8}})
	task, err := job.SubmitTask(&engine.TaskSpec{Codelet: ramp, Operands: []engine.Operand{{Handle: x, Mode: iface.W}}})
	if err != nil {
		log.Fatal(err)
	}
	if err := task.Wait(ctx); err != nil {
		log.Fatal(err)
	}
	var v *engine.VerifyError
	if errors.As(task.Err(), &v) {
		for _, b := range v.Breaches {
			fmt.Println(b.Kind, b.Index)
		}
	}
	// Output: leaves W unwritten [0]
}

// A task whose kernel finds out what is to be done submits that as its sub-graph:
// others see one task.
func ExampleSubgraph() {
	ctx := context.Background()
	rt, _ := engine.New(engine.Options{})
	defer rt.Close()
	job := rt.NewJob(ctx, engine.JobOptions{})
	defer job.Close()

	set := &engine.Codelet{Name: "set", Modes: []iface.AccessMode{iface.W}, CPU: []engine.Impl{func(c *engine.TaskContext) error {
		for i := range iface.Slice[int32](c.Buffer(0)) {
			iface.Slice[int32](c.Buffer(0))[i] = int32(c.Arg(0).Int())
		}
		return nil
	}}}
	split := &engine.Codelet{Name: "split", Modes: []iface.AccessMode{iface.RW}, CPU: []engine.Impl{func(c *engine.TaskContext) error {
		g, err := c.Subgraph()
		if err != nil {
			return err
		}
		view, err := g.Partition(0, filter.Blocks(3)) // of operand 0
		if err != nil {
			return err
		}
		for k, part := range view.Parts {
			err := g.Submit(&engine.TaskSpec{Codelet: set,
				Operands: []engine.Operand{{Handle: part, Mode: iface.W}}, Args: []iface.Scalar{iface.Int(int64(k))}})
			if err != nil {
				return err
			}
		}
		return nil // they run now, and then whatever waits for x
	}}}
	x := make([]int32, 6)
	h, _ := engine.NewVector(rt, x)
	if _, err := job.SubmitTask(&engine.TaskSpec{Codelet: split, Operands: []engine.Operand{engine.RW(h)}}); err != nil {
		log.Fatal(err)
	}
	a, err := h.Acquire(ctx, job, iface.R)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Release()
	fmt.Println(a.Data())
	// Output: [0 0 1 1 2 2]
}

// A parallel codelet: its kernel runs on two workers at the same time.
func ExampleTraits_parallel() {
	ctx := context.Background()
	rt, _ := engine.New(engine.Options{Workers: 2})
	defer rt.Close()
	job := rt.NewJob(ctx, engine.JobOptions{})
	defer job.Close()

	ranks := &engine.Codelet{Name: "ranks", Modes: []iface.AccessMode{iface.W},
		Traits: &engine.Traits{Parallel: engine.SPMD},
		CPU: []engine.Impl{func(c *engine.TaskContext) error {
			v := iface.Slice[int64](c.Buffer(0))
			for i := c.Rank(); i < len(v); i += c.Size() { // each its share
				v[i] = int64(c.Rank())
			}
			return c.Barrier()
		}}}
	x := make([]int64, 6)
	h, _ := engine.NewVector(rt, x)
	_, err := job.SubmitWith(&engine.TaskSpec{Codelet: ranks, Operands: []engine.Operand{engine.W(h)}}, engine.TaskOptions{Size: 2})
	if err != nil {
		log.Fatal(err)
	}
	a, err := h.Acquire(ctx, job, iface.R)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Release()
	fmt.Println(a.Data())
	// Output: [0 1 0 1 0 1]
}

// A task that repeats until it is stopped, with a callback at its end.
func ExampleTaskOptions() {
	ctx := context.Background()
	rt, _ := engine.New(engine.Options{})
	defer rt.Close()
	job := rt.NewJob(ctx, engine.JobOptions{})
	defer job.Close()

	rounds := 0
	step := &engine.Codelet{Name: "step", CPU: []engine.Impl{func(c *engine.TaskContext) error {
		if rounds++; rounds == 4 {
			c.Task().Stop()
		}
		return nil
	}}}
	task, err := job.SubmitWith(&engine.TaskSpec{Codelet: step}, engine.TaskOptions{
		Repeat:   engine.Forever,
		Callback: func(t *engine.Task) error { fmt.Println("round", t.Rounds()); return nil },
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(task.Wait(ctx), task.Rounds())
	// Output:
	// round 1
	// round 2
	// round 3
	// round 4
	// <nil> 4
}

func TestCodeletCall(t *testing.T) {
	v := []float64{1, 2, 3}
	b := &iface.Buffer{Ptr: unsafe.Pointer(&v[0])}
	b.Kind, b.Elem, b.Rank, b.Dim[0], b.Stride[0] = iface.Vector, iface.F64, 1, 3, 1
	type key struct{}
	c := &engine.Codelet{Name: "scale", Modes: []iface.AccessMode{iface.RW}, CPU: []engine.Impl{func(c *engine.TaskContext) error {
		if c.Context().Value(key{}) != "here" || c.Worker() != 0 || c.NumBuffers() != 1 || c.Mode(0) != iface.RW || c.Codelet().Name != "scale" {
			return errors.New("the context is not what was given")
		}
		if c.Arg(0).Float() < 0 {
			panic("negative")
		}
		for i, x := range iface.Slice[float64](c.Buffer(0)) {
			iface.Slice[float64](c.Buffer(0))[i] = x * c.Arg(0).Float()
		}
		return nil
	}}}
	ctx := context.WithValue(context.Background(), key{}, "here")
	if err := c.Call(ctx, []*iface.Buffer{b}, []iface.Scalar{iface.Float(2)}); err != nil || v[2] != 6 {
		t.Errorf("Call: %v, data %v", err, v)
	}
	var p *engine.PanicError
	if err := c.Call(ctx, []*iface.Buffer{b}, []iface.Scalar{iface.Float(-1)}); !errors.As(err, &p) {
		t.Errorf("a panic came out as %v", err)
	}
	if err := c.Call(ctx, nil, nil); err == nil {
		t.Error("a call without buffers succeeded")
	}
	if err := (&engine.Codelet{Name: "none"}).Call(ctx, nil, nil); err == nil {
		t.Error("a codelet without implementation ran")
	}
}
