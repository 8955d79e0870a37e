package engine

// Waiting for some of the tasks, and asking how many there are.

import (
	"context"
	"fmt"

	"github.com/starpush/starpush/engine/sched"
)

// WaitTasks is Task.Wait for several tasks.
func (j *Job) WaitTasks(ctx context.Context, tasks ...*Task) error {
	for i, t := range tasks {
		if t == nil {
			return fmt.Errorf("engine: task %d to wait for is nil; leave it out", i)
		}
		if err := t.Wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// WaitLeft returns when no more than n tasks of the job are left that were
// submitted and have not ended. Errors are those of Wait.
func (j *Job) WaitLeft(ctx context.Context, n int) error {
	rt := j.rt
	rt.waiting.prompt.Add(1)
	defer rt.waiting.prompt.Add(-1)
	return j.await(ctx, nil, func() bool { return j.live-j.ended.Load() <= int64(max(n, 0)) }, func(t *task) bool {
		return t.job == j && t.kind != acquireTask
	})
}

// WaitNoReady returns when no task of any job is ready or runs: all that are
// left wait for something that the program must do. It returns the cause of ctx
// when that ends first, and ErrWouldDeadlock in a kernel or hook.
func (rt *Runtime) WaitNoReady(ctx context.Context) error {
	if rt.mayBeInKernel() {
		return ErrWouldDeadlock
	}
	return rt.waitUntil(ctx, rt.quiet)
}

// Unfinished returns how many tasks were submitted and have not ended, those of
// the engine itself included. While workers run it may be a few too many.
func (j *Job) Unfinished() int64 {
	j.rt.reg.Lock()
	defer j.rt.reg.Unlock()
	return j.live - j.ended.Load()
}

// Ready returns how many tasks of all jobs are ready or run at this moment. With
// a policy of the program's own that does not implement sched.Counter, those
// that wait in it count as one.
func (rt *Runtime) Ready() int {
	n := 0
	for _, w := range rt.workers {
		n += w.tasks()
	}
	if c, ok := rt.plainPolicy().(sched.Counter); ok {
		return n + c.Len()
	}
	if !rt.policy.Empty() {
		n++
	}
	return n
}
