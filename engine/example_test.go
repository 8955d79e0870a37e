package engine_test

import (
	"context"
	"fmt"
	"log"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

// A vector of the program is scaled by blocks, four tasks side by side.
func Example() {
	ctx := context.Background()
	rt, err := engine.New(engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	job := rt.NewJob(ctx, engine.JobOptions{})
	defer job.Close()

	scale := func(by float64, v []float64) {
		for i := range v {
			v[i] *= by
		}
	}
	x, err := engine.NewVector(rt, []float64{1, 2, 3, 4, 5, 6, 7, 8})
	if err != nil {
		log.Fatal(err)
	}
	view, err := x.Partition(filter.Blocks(4)) // moves nothing, waits for nothing
	if err != nil {
		log.Fatal(err)
	}
	for _, part := range view.Parts {
		if err := job.Go(scale, 10.0, engine.RW(part)); err != nil {
			log.Fatal(err)
		}
	}

	a, err := x.Acquire(ctx, job, iface.R) // the whole: after all four
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(a.Data())
	a.Release()
	// Output: [10 20 30 40 50 60 70 80]
}

// The access modes order tasks: those that only read run side by side, one that
// writes waits for what came before, and what comes later waits for it.
func ExampleJob_Submit() {
	rt, _ := engine.New(engine.Options{Workers: 4})
	defer rt.Close()
	job := rt.NewJob(context.Background(), engine.JobOptions{})
	defer job.Close()

	set := &engine.Codelet{Name: "set", Modes: []iface.AccessMode{iface.W}, CPU: []engine.Impl{func(c *engine.TaskContext) error {
		*(*int64)(c.Buffer(0).Ptr) = c.Arg(0).Int()
		return nil
	}}}
	add := &engine.Codelet{Name: "add", Modes: []iface.AccessMode{iface.R, iface.RW}, CPU: []engine.Impl{func(c *engine.TaskContext) error {
		*(*int64)(c.Buffer(1).Ptr) += *(*int64)(c.Buffer(0).Ptr)
		return nil
	}}}

	number := engine.DataSpec{Kind: iface.Variable, Elem: iface.I64}
	x, _ := rt.Register(number)
	y, _ := rt.Register(number)
	for _, s := range []*engine.TaskSpec{
		{Codelet: set, Operands: []engine.Operand{{Handle: x, Mode: iface.W}}, Args: []iface.Scalar{iface.Int(1)}},
		{Codelet: set, Operands: []engine.Operand{{Handle: y, Mode: iface.W}}, Args: []iface.Scalar{iface.Int(40)}},
		{Codelet: add, Operands: []engine.Operand{{Handle: x, Mode: iface.R}, {Handle: y, Mode: iface.RW}}},        // after both
		{Codelet: set, Operands: []engine.Operand{{Handle: x, Mode: iface.W}}, Args: []iface.Scalar{iface.Int(7)}}, // after its reader
		{Codelet: add, Operands: []engine.Operand{{Handle: y, Mode: iface.R}, {Handle: x, Mode: iface.RW}}},
	} {
		if err := job.Submit(s); err != nil {
			log.Fatal(err)
		}
	}
	a, err := job.Acquire(context.Background(), x, iface.R)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Release()
	fmt.Println(*(*int64)(a.Buffer().Ptr))
	// Output: 48
}

// REDUX: each task adds to a private copy, and the copies are combined before
// the value is read.
func ExampleJob_Submit_reduction() {
	rt, _ := engine.New(engine.Options{Workers: 4})
	defer rt.Close()
	job := rt.NewJob(context.Background(), engine.JobOptions{})
	defer job.Close()

	add := &engine.Codelet{Name: "add", Modes: []iface.AccessMode{iface.RW}, CPU: []engine.Impl{func(c *engine.TaskContext) error {
		*(*int64)(c.Buffer(0).Ptr) += c.Arg(0).Int()
		return nil
	}}}
	sum, _ := rt.Register(engine.DataSpec{Kind: iface.Variable, Elem: iface.I64, Reduce: datamgr.SumReduction()})
	for k := range int64(101) {
		err := job.Submit(&engine.TaskSpec{Codelet: add,
			Operands: []engine.Operand{{Handle: sum, Mode: iface.Redux}}, Args: []iface.Scalar{iface.Int(k)}})
		if err != nil {
			log.Fatal(err)
		}
	}
	a, err := job.Acquire(context.Background(), sum, iface.R)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Release()
	fmt.Println(*(*int64)(a.Buffer().Ptr))
	// Output: 5050
}

// COMMUTE: each task has the data for itself, in whatever order they become ready.
// With JobOptions.Deterministic the order is that of their submission.
func ExampleJob_Submit_commute() {
	rt, _ := engine.New(engine.Options{Workers: 4})
	defer rt.Close()
	job := rt.NewJob(context.Background(), engine.JobOptions{Deterministic: true})
	defer job.Close()

	digit := &engine.Codelet{Name: "digit", Modes: []iface.AccessMode{iface.RW}, CPU: []engine.Impl{func(c *engine.TaskContext) error {
		p := (*int64)(c.Buffer(0).Ptr)
		*p = 10**p + c.Arg(0).Int()
		return nil
	}}}
	n, _ := rt.RegisterFilled(engine.DataSpec{Kind: iface.Variable, Elem: iface.I64}, func(b *iface.Buffer) error {
		*(*int64)(b.Ptr) = 0
		return nil
	})
	for k := int64(1); k <= 5; k++ {
		err := job.Submit(&engine.TaskSpec{Codelet: digit,
			Operands: []engine.Operand{{Handle: n, Mode: iface.Commute}}, Args: []iface.Scalar{iface.Int(k)}})
		if err != nil {
			log.Fatal(err)
		}
	}
	a, err := job.Acquire(context.Background(), n, iface.R)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Release()
	fmt.Println(*(*int64)(a.Buffer().Ptr))
	// Output: 12345
}

// Views overlap and coexist: rows and columns of one matrix, written by tasks that
// wait for each other where they cross.
func ExampleMatrix_Partition() {
	rt, _ := engine.New(engine.Options{Workers: 4})
	defer rt.Close()
	job := rt.NewJob(context.Background(), engine.JobOptions{})
	defer job.Close()

	add := func(m engine.Mat[int32]) {
		for i := range m.Rows {
			for j := range m.Row(i) {
				m.Row(i)[j]++
			}
		}
	}
	A, _ := engine.NewMatrix(rt, make([]int32, 4*4), 4, 4)
	rows, _ := A.Partition(filter.Rows(2, 0))
	cols, _ := A.Partition(filter.Cols(2, 0))
	for _, m := range []engine.Matrix[int32]{rows.Parts[0], cols.Parts[1], A} {
		if err := job.Go(add, engine.RW(m)); err != nil {
			log.Fatal(err)
		}
	}
	a, err := A.Acquire(context.Background(), job, iface.R)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Release()
	for i := range 4 {
		fmt.Println(a.Data().Row(i))
	}
	// Output:
	// [2 2 3 3]
	// [2 2 3 3]
	// [1 1 2 2]
	// [1 1 2 2]
}

// Data that the program holds keeps tasks away. Reading rights can be kept when the right
// to write is given back.
func ExampleJob_Acquire() {
	ctx := context.Background()
	rt, _ := engine.New(engine.Options{})
	defer rt.Close()
	job := rt.NewJob(ctx, engine.JobOptions{})
	defer job.Close()

	sum := &engine.Codelet{Name: "sum", Modes: []iface.AccessMode{iface.R, iface.W}, CPU: []engine.Impl{func(c *engine.TaskContext) error {
		total := int64(0)
		for _, e := range iface.Slice[int64](c.Buffer(0)) {
			total += e
		}
		*(*int64)(c.Buffer(1).Ptr) = total
		return nil
	}}}
	x, _ := rt.Register(engine.DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{3}})
	total, _ := rt.Register(engine.DataSpec{Kind: iface.Variable, Elem: iface.I64})

	a, err := job.Acquire(ctx, x, iface.W) // begins as zeros
	if err != nil {
		log.Fatal(err)
	}
	copy(iface.Slice[int64](a.Buffer()), []int64{1, 2, 3})
	task, err := job.SubmitTask(&engine.TaskSpec{Codelet: sum,
		Operands: []engine.Operand{{Handle: x, Mode: iface.R}, {Handle: total, Mode: iface.W}}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("held:", task.State())
	a.ReleaseTo(iface.R) // the task may read now, and so may the program
	if err := task.Wait(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println("read:", task.State(), iface.Slice[int64](a.Buffer()))
	a.Release()
	// Output:
	// held: waiting
	// read: ended [1 2 3]
}

// Data is found by its memory, and goes to another runtime as bytes.
func ExampleJob_Pack() {
	ctx := context.Background()
	rt, _ := engine.New(engine.Options{})
	defer rt.Close()
	job := rt.NewJob(ctx, engine.JobOptions{})
	defer job.Close()

	grid := []float32{1, 2, 3, 4, 5, 6}
	a, err := engine.NewMatrix(rt, grid, 2, 3, engine.Name("grid"))
	if err != nil {
		log.Fatal(err)
	}
	found, ok := engine.Lookup(rt, grid)
	fmt.Println(found.Name(), ok)
	_, err = engine.NewVector(rt, grid[4:], engine.Name("tail"))
	fmt.Println(err)

	packed, err := job.Pack(ctx, a.Handle) // after the tasks that write it
	if err != nil {
		log.Fatal(err)
	}
	b, _ := engine.MakeMatrix[float32](rt, 2, 3)
	if err := job.Unpack(ctx, b.Handle, packed); err != nil {
		log.Fatal(err)
	}
	v, _ := engine.MakeVector[float32](rt, 6, engine.Name("v"))
	fmt.Println(job.Unpack(ctx, v.Handle, packed))
	access, _ := job.Acquire(ctx, b.Handle, iface.R)
	fmt.Println(len(packed), iface.Row[float32](access.Buffer(), 1))
	access.Release()
	// Output:
	// grid true
	// datamgr: `tail` (vector[f32] of 2) shares memory with `grid` (matrix[f32] 2 x 3): register the memory once and partition it, unregister the other first, or register both as read-only
	// engine: cannot unpack into `v` (vector[f32] of 6): packed data, byte 10: expected vector[f32] of 6, found size 2 x 3 of type f32
	// 152 [4 5 6]
}
