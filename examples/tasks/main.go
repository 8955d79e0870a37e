// Command tasks uses the engine without the language: data with Go types, and Go
// functions as tasks.
//
//	go run ./examples/tasks
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/engine"
)

func main() {
	top, total, err := histogram(context.Background(), 1_000_000, 16)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("largest bin:", top, "of", total)
}

// fill writes the numbers from first on, scrambled.
func fill(first int64, x []uint32) {
	for i := range x {
		x[i] = uint32(first+int64(i)) * 2654435761
	}
}

// count adds to bins how many numbers begin with which four bits.
func count(x []uint32, bins []int64) {
	for _, e := range x {
		bins[e>>28]++
	}
}

// histogram counts n numbers in 16 bins. Each worker counts in bins of its own (REDUX),
// which are added up before the program reads them.
func histogram(ctx context.Context, n, blocks int) (top, total int64, err error) {
	rt, err := engine.New(engine.Options{})
	if err != nil {
		return 0, 0, err
	}
	defer rt.Close()
	job := rt.NewJob(ctx, engine.JobOptions{})
	defer job.Close()

	x, err1 := engine.MakeVector[uint32](rt, n)
	bins, err2 := engine.MakeVector[int64](rt, 16, engine.ReduceSum)
	if err := errors.Join(err1, err2); err != nil {
		return 0, 0, err
	}
	parts, err := x.Partition(filter.Blocks(blocks))
	if err != nil {
		return 0, 0, err
	}
	first := 0
	for _, part := range parts.Parts {
		err1 := job.Go(fill, first, engine.W(part))
		err2 := job.Go(count, engine.R(part), engine.Redux(bins)) // after the fill of its part
		if err := errors.Join(err1, err2); err != nil {
			return 0, 0, err
		}
		first += part.Len()
	}
	counts, err := bins.Value(ctx, job) // waits for the tasks that add to bins
	for _, c := range counts {
		top, total = max(top, c), total+c
	}
	return top, total, err
}
