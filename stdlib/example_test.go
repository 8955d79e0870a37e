package stdlib_test

import (
	"context"
	"fmt"
	"log"
	"slices"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/stdlib"
)

// A codelet of std/blas in a program without scripts: operands and scalars in the order
// of the signature, each kind for itself.
func ExampleModules() {
	ctx := context.Background()
	rt, err := engine.New(engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	job := rt.NewJob(ctx, engine.JobOptions{})
	defer job.Close()

	blas := stdlib.Modules()["std/blas"].Codelets
	axpy := blas[slices.IndexFunc(blas, func(c *engine.Codelet) bool { return c.Name == "axpy" })]
	fmt.Println(axpy.Signature)

	vector := func(s []float64) engine.Operand {
		h, err := rt.Register(engine.DataSpec{Kind: iface.Vector, Elem: iface.F64, Dims: []int{len(s)}, Home: unsafe.Pointer(&s[0])})
		if err != nil {
			log.Fatal(err)
		}
		return engine.Operand{Handle: h, Mode: iface.R}
	}
	x, y := vector([]float64{1, 2, 3}), vector([]float64{10, 20, 30})
	y.Mode = iface.RW
	err = job.Submit(&engine.TaskSpec{Codelet: axpy, Operands: []engine.Operand{x, y}, Args: []iface.Scalar{iface.Float(2)}})
	if err != nil {
		log.Fatal(err)
	}
	a, err := job.Acquire(ctx, y.Handle, iface.R)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Release()
	fmt.Println(iface.Slice[float64](a.Buffer()))
	// Output:
	// axpy(alpha: T, x: R dense[T], y: RW dense[T])
	// [12 24 36]
}
