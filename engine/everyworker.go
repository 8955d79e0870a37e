package engine

// Running a function once on each worker.

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// OnEachWorker runs fn once on each of the given workers, nil for all, on the
// worker's goroutine, and returns when that is done: for libraries that want to
// be set up in each thread. Those of devices are workers, too, whatever their
// architecture; WorkerInfo says what one is, and Runtime.Worker before. Among the
// tasks that are ready on a worker it comes first. It returns the errors and panics of fn, joined, each with its worker; a
// *NoWorkerError when there is no such worker; the cause of ctx when that ends
// before fn was started everywhere; ErrWouldDeadlock in a kernel or hook;
// ErrClosed.
func (rt *Runtime) OnEachWorker(ctx context.Context, workers []int, fn func(WorkerInfo) error) error {
	if rt.mayBeInKernel() {
		return ErrWouldDeadlock
	}
	if err := rt.open(); err != nil {
		return err
	}
	if workers == nil {
		for w := range rt.workers {
			workers = append(workers, w)
		}
	}
	if ctx == nil {
		ctx = context.Background()
	}
	j := rt.NewJob(ctx, JobOptions{})
	impl := []Impl{func(c *TaskContext) (err error) {
		w := rt.info(c.Worker())
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("engine: on worker %d: %w", w.ID, newPanic(v))
			}
		}()
		if err := fn(w); err != nil {
			return fmt.Errorf("engine: on worker %d: %w", w.ID, err)
		}
		return nil
	}}
	c := &Codelet{Name: "on each worker", Model: untimed, CPU: impl, On: map[string][]Impl{}}
	for _, arch := range rt.archs {
		if arch != cpuArch {
			c.On[arch] = impl
		}
	}
	var errs []error
	var tasks []*Task
	dropped := false
	seen := map[int]bool{}
	for _, w := range workers {
		if seen[w] {
			continue
		}
		seen[w] = true
		t, err := j.SubmitTask(&TaskSpec{Codelet: c, Workers: []int{w}, Priority: math.MaxInt32})
		if err != nil {
			j.Cancel(err)
			errs = append(errs, err)
			break
		}
		tasks = append(tasks, t)
	}
	for _, t := range tasks {
		_ = t.Wait(context.Background()) // when ctx ends the job drops what has not started
		var te *TaskError
		switch err := t.Err(); {
		case err == nil:
		case errors.As(err, &te) && te.Dropped:
			dropped = true
		case errors.As(err, &te):
			errs = append(errs, te.Cause)
		}
	}
	if dropped && ctx.Err() != nil {
		errs = append(errs, context.Cause(ctx))
	}
	return errors.Join(append(errs, j.Close())...)
}
