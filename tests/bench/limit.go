package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/starpush/starpush/accel/cpu/blas"
)

// limit multiplies tiles on every worker at once, without a runtime: what dense
// workloads of that tile can reach. n is the number of products per worker, 0 for
// about a fifth of a second of them; extra is GFLOP/s.
func limit(c *config, workers int) (measured, error) {
	size := c.get("b", 320)
	if size < 1 || workers < 1 {
		return measured{}, fmt.Errorf("b and workers must be at least 1")
	}
	flops := 2 * float64(size) * float64(size) * float64(size)
	reps := c.get("n", 0)
	if reps == 0 {
		reps = 1 + int(10e9/flops)
	}
	p := blas.Default()
	var elapsed time.Duration
	if c.prec == "s" {
		elapsed = products(p.Float32(), size, reps, workers)
	} else {
		elapsed = products(p.Float64(), size, reps, workers)
	}
	n := reps * workers
	return measured{tasks: n, elapsed: elapsed, extra: flops * float64(n) / elapsed.Seconds() / 1e9}, nil
}

// products times reps products on each worker. Each has tiles of its own, and
// multiplies once before the clock runs, so that memory and library are there.
func products[T blas.Float](r blas.Routines[T], size, reps, workers int) time.Duration {
	var ready, done sync.WaitGroup
	begin := make(chan struct{})
	for range workers {
		ready.Add(1)
		done.Go(func() {
			var m [3][]T
			for i := range m {
				m[i] = make([]T, size*size)
				for k := range m[i] {
					m[i][k] = 1 / T(1+k%size)
				}
			}
			multiply := func() {
				r.Gemm(blas.NoTrans, blas.NoTrans, size, size, size, 1, m[0], size, m[1], size, 1, m[2], size)
			}
			multiply()
			ready.Done()
			<-begin
			for range reps {
				multiply()
			}
		})
	}
	ready.Wait()
	start := time.Now()
	close(begin)
	done.Wait()
	return time.Since(start)
}
