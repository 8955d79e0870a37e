package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"

	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/engine"
)

// y += a·x by blocks: a function of the program is the kernel, and each task gets two
// blocks and a number.
func Example_axpy() {
	ctx := context.Background()
	rt, err := engine.New(engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	job := rt.NewJob(ctx, engine.JobOptions{})
	defer job.Close()

	axpy := func(a float64, x, y []float64) {
		for i := range y {
			y[i] += a * x[i]
		}
	}
	x, err1 := engine.NewVector(rt, []float64{1, 2, 3, 4, 5, 6, 7, 8})
	y, err2 := engine.MakeVector[float64](rt, 8, engine.Fill(100))
	if err := errors.Join(err1, err2); err != nil {
		log.Fatal(err)
	}
	xs, err1 := x.Partition(filter.Blocks(4))
	ys, err2 := y.Partition(filter.Blocks(4))
	if err := errors.Join(err1, err2); err != nil {
		log.Fatal(err)
	}
	for b := range xs.Parts {
		if err := job.Go(axpy, 2.0, engine.R(xs.Parts[b]), engine.RW(ys.Parts[b])); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(y.Value(ctx, job)) // after all four
	// Output: [102 104 106 108 110 112 114 116] <nil>
}

// A tiled Cholesky factorisation: the tasks are inserted in the order of the sequential
// algorithm, and run as their tiles allow.
func Example_cholesky() {
	ctx := context.Background()
	rt, err := engine.New(engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()

	const n, nt = 12, 4
	a := make([]float64, n*n)
	for i := range n {
		for j := range n {
			a[i*n+j] = float64(min(i, j) + 1) // its factor is a triangle of ones
		}
	}
	A, err := engine.NewMatrix(rt, a, n, n, engine.Name("A"))
	if err != nil {
		log.Fatal(err)
	}
	job := rt.NewJob(ctx, engine.JobOptions{})
	defer job.Close()
	if err := cholesky(job, A, nt); err != nil {
		log.Fatal(err)
	}
	L, err := A.Value(ctx, job)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(L.Row(0)[:1], L.Row(n / 2)[:n/2+1], L.At(n-1, n-1))
	// Output: [1] [1 1 1 1 1 1 1] 1
}

// cholesky inserts the tasks that overwrite the lower triangle of A with its factor, in
// nt by nt tiles.
func cholesky(job *engine.Job, A engine.Matrix[float64], nt int) error {
	t, err := A.Partition(filter.Tiles(nt, nt, 0))
	if err != nil {
		return err
	}
	var errs error
	insert := func(fn any, args ...any) { errs = errors.Join(errs, job.Go(fn, args...)) }
	for k := range nt {
		insert(potrf, engine.RW(t.At(k, k)), engine.Priority(2))
		for i := k + 1; i < nt; i++ {
			insert(trsm, engine.R(t.At(k, k)), engine.RW(t.At(i, k)), engine.Priority(1))
		}
		for i := k + 1; i < nt; i++ {
			for j := k + 1; j <= i; j++ {
				insert(gemm, engine.R(t.At(i, k)), engine.R(t.At(j, k)), engine.RW(t.At(i, j)))
			}
		}
	}
	return errs
}

// potrf overwrites the lower triangle of a with its factor.
func potrf(a engine.Mat[float64]) error {
	for j := range a.Rows {
		for i := j; i < a.Rows; i++ {
			s := a.At(i, j)
			for k := range j {
				s -= a.At(i, k) * a.At(j, k)
			}
			if i == j && s <= 0 {
				return fmt.Errorf("the matrix is not positive definite: pivot %d is %g", j, s)
			}
			if i == j {
				a.Set(j, j, math.Sqrt(s))
			} else {
				a.Set(i, j, s/a.At(j, j))
			}
		}
	}
	return nil
}

// trsm solves x·lᵀ = b for x, which overwrites b.
func trsm(l, b engine.Mat[float64]) {
	for i := range b.Rows {
		row := b.Row(i)
		for j := range row {
			for k := range j {
				row[j] -= row[k] * l.At(j, k)
			}
			row[j] /= l.At(j, j)
		}
	}
}

// gemm subtracts a·bᵀ from c.
func gemm(a, b, c engine.Mat[float64]) {
	for i := range c.Rows {
		for j := range c.Cols {
			x, y := a.Row(i), b.Row(j)
			for k := range x {
				c.Row(i)[j] -= x[k] * y[k]
			}
		}
	}
}

// Heat along a rod. Parts are read with one element more on both sides, and written
// without: two views of each vector, used side by side. A part begins its next step when
// it and its neighbours have ended the last one.
func Example_stencil() {
	ctx := context.Background()
	rt, err := engine.New(engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	job := rt.NewJob(ctx, engine.JobOptions{})
	defer job.Close()

	step := func(x, y []float64) {
		for i := range y {
			y[i] = 0.25*x[i] + 0.5*x[i+1] + 0.25*x[i+2]
		}
	}
	const parts, size, steps = 4, 8, 100
	var near, own [2]engine.View[engine.Vector[float64]]
	var rod [2]engine.Vector[float64]
	for k := range rod {
		u := make([]float64, parts*size+2)
		u[0] = 100 // the left end is hot, and stays so
		var errs [3]error
		rod[k], errs[0] = engine.NewVector(rt, u)
		near[k], errs[1] = rod[k].Partition(filter.BlocksHalo(parts, 1))                           // parts that overlap
		own[k], errs[2] = rod[k].Partition(filter.BlockSizes([]int{1, size, size, size, size, 1})) // the ends, and parts that do not
		if err := errors.Join(errs[:]...); err != nil {
			log.Fatal(err)
		}
	}
	for t := range steps {
		from, to := t%2, 1-t%2
		for b := range parts {
			if err := job.Go(step, engine.R(near[from].At(b)), engine.W(own[to].At(b+1))); err != nil {
				log.Fatal(err)
			}
		}
	}
	u, err := rod[steps%2].Value(ctx, job)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.2f %.2f %.2f\n", u[1], u[10], u[20])
	// Output: 88.79 15.82 0.47
}
