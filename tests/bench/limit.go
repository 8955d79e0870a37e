package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/starpush/starpush/accel/cpu/blas"
)

// limit multiplies matrices of nb by nb tiles on every worker at once, each its own rows
// of tiles, without a runtime: what dense workloads of that tile can reach. n is the
// number of products per worker, 0 for about a fifth of a second of them; extra is
// GFLOP/s. As in those workloads the operands come from memory: products of the same
// three tiles again and again have them in the cache, and run at 216 instead of 172 GFLOP/s
// with tiles of 320 in f64 where they are not packed.
func limit(c *config, workers int) (measured, error) {
	size, nb := c.get("b", 320), c.get("nb", 10)
	if size < 1 || nb < 1 || workers < 1 {
		return measured{}, fmt.Errorf("b, nb and workers must be at least 1")
	}
	flops := 2 * float64(size) * float64(size) * float64(size)
	reps := c.get("n", 0)
	if reps == 0 {
		reps = 1 + int(20e9/flops)
	}
	p := blas.Default()
	var elapsed time.Duration
	if c.prec == "s" {
		elapsed = products(p.Float32(), size, nb, reps, workers)
	} else {
		elapsed = products(p.Float64(), size, nb, reps, workers)
	}
	n := reps * workers
	return measured{tasks: n, elapsed: elapsed, extra: flops * float64(n) / elapsed.Seconds() / 1e9}, nil
}

// products times reps products on each worker, which multiplies once before the clock
// runs, so that memory and library are there.
func products[T blas.Float](r blas.Routines[T], size, nb, reps, workers int) time.Duration {
	right := tilesOf[T](nb*nb, size)
	var ready, done sync.WaitGroup
	begin := make(chan struct{})
	for range workers {
		ready.Add(1)
		done.Go(func() {
			left, sum := tilesOf[T](nb, size), tilesOf[T](nb, size)
			multiply := func(k int) { // the k-th product of a row of tiles
				j, k := k/nb%nb, k%nb
				r.Gemm(blas.NoTrans, blas.NoTrans, size, size, size, 1, left[k], size, right[k*nb+j], size, 1, sum[j], size)
			}
			multiply(0)
			ready.Done()
			<-begin
			for k := range reps {
				multiply(k)
			}
		})
	}
	ready.Wait()
	start := time.Now()
	close(begin)
	done.Wait()
	return time.Since(start)
}

// tilesOf makes n tiles of size by size elements.
func tilesOf[T blas.Float](n, size int) [][]T {
	all := make([][]T, n)
	for i := range all {
		t := make([]T, size*size)
		for k := range t {
			t[k] = 1 / T(1+k%size)
		}
		all[i] = t
	}
	return all
}
