package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

// withRuntime gives fn a runtime and a job, and ends both.
func withRuntime(c *config, o engine.Options, fn func(b *goBench) (measured, error)) (m measured, err error) {
	o.Policy = c.sched
	rt, err := engine.New(o)
	if err != nil {
		return measured{}, err
	}
	defer rt.Close()
	ctx := context.Background()
	b := &goBench{c: c, ctx: ctx, rt: rt, job: rt.NewJob(ctx, engine.JobOptions{})}
	defer b.job.Close()
	return fn(b)
}

// stream is random with operands drawn on the way, so that nothing but the runtime
// takes memory; extra is the most memory that was resident, in MiB.
func stream(c *config, workers int) (measured, error) {
	n, h := c.get("n", 10_000_000), c.get("h", 1024)
	if h < 3 {
		return measured{}, fmt.Errorf("h must be at least 3: a task names three different handles")
	}
	return withRuntime(c, engine.Options{Workers: workers}, func(b *goBench) (measured, error) {
		hs, err := b.vectors(h)
		if err != nil {
			return measured{}, err
		}
		ops := []engine.Operand{{Mode: iface.R}, {Mode: iface.R}, {Mode: iface.RW}}
		spec := engine.TaskSpec{Codelet: emptyCodelet("rrw", iface.R, iface.R, iface.RW), Operands: ops}
		next := drawer(h)
		m, err := b.timed(n, func() error {
			for range n {
				x := next()
				ops[0].Handle, ops[1].Handle, ops[2].Handle = hs[x[0]], hs[x[1]], hs[x[2]]
				if err := b.job.Submit(&spec); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return m, err
		}
		peak, err := resident("VmHWM")
		m.extra = float64(peak) / (1 << 20)
		return m, err
	})
}

// live submits n tasks that all wait, R R RW on h handles, lets them go and times
// both; extra is the memory of one that waits, in bytes.
func live(c *config, workers int) (measured, error) {
	n, h := c.get("n", 200_000), c.get("h", 1024)
	if h < 3 || n < 1 {
		return measured{}, fmt.Errorf("h must be at least 3 and n at least 1")
	}
	return withRuntime(c, engine.Options{Workers: workers, Window: n + 2}, func(b *goBench) (measured, error) {
		hs, err := b.vectors(h)
		if err != nil {
			return measured{}, err
		}
		// One task on all handles waits for the gate, and holds up all others.
		gate := b.job.NewGate()
		hold := engine.TaskSpec{Codelet: &engine.Codelet{Name: "hold", CPU: []engine.Impl{empty}}, After: []engine.Dependency{gate}}
		for _, x := range hs {
			hold.Operands = append(hold.Operands, engine.Operand{Handle: x, Mode: iface.RW})
		}
		if err := b.job.Submit(&hold); err != nil {
			return measured{}, err
		}
		ops := []engine.Operand{{Mode: iface.R}, {Mode: iface.R}, {Mode: iface.RW}}
		spec := engine.TaskSpec{Codelet: emptyCodelet("rrw", iface.R, iface.R, iface.RW), Operands: ops}
		next := drawer(h)
		before := heap()
		start := time.Now()
		for range n {
			x := next()
			ops[0].Handle, ops[1].Handle, ops[2].Handle = hs[x[0]], hs[x[1]], hs[x[2]]
			if err := b.job.Submit(&spec); err != nil {
				return measured{}, err
			}
		}
		submitted := time.Since(start)
		after := heap()
		m, err := b.timed(n, func() error { gate.Open(); return nil })
		m.elapsed += submitted
		m.extra = float64(after-before) / float64(n)
		return m, err
	})
}

// idle runs some tasks and then nothing for ms milliseconds; extra is the CPU time
// of that in percent of one CPU.
func idle(c *config, workers int) (measured, error) {
	return withRuntime(c, engine.Options{Workers: workers}, func(b *goBench) (measured, error) {
		spec := engine.TaskSpec{Codelet: emptyCodelet("empty0")}
		if _, err := b.timed(1000, func() error {
			for range 1000 {
				if err := b.job.Submit(&spec); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return measured{}, err
		}
		length := time.Duration(c.get("ms", 5000)) * time.Millisecond
		time.Sleep(length / 10) // workers may look around for a while
		before, err := cpuTime()
		if err != nil {
			return measured{}, err
		}
		start := time.Now()
		time.Sleep(length)
		m := measured{tasks: 1, elapsed: time.Since(start)}
		after, err := cpuTime()
		m.extra = 100 * (after - before).Seconds() / max(m.elapsed.Seconds(), 1e-9)
		return m, err
	})
}

// wake submits n tasks, each to workers that have long been parked. A task's time
// is from its submission to the start of its kernel; seconds are n times the median,
// extra is the time in µs that one in twenty exceeds.
func wake(c *config, workers int) (measured, error) {
	n := c.get("n", 200)
	if n < 1 {
		return measured{}, fmt.Errorf("n must be at least 1")
	}
	return withRuntime(c, engine.Options{Workers: workers}, func(b *goBench) (measured, error) {
		started := make(chan time.Time, 1)
		spec := engine.TaskSpec{Codelet: &engine.Codelet{Name: "wake", CPU: []engine.Impl{
			func(*engine.TaskContext) error { started <- time.Now(); return nil },
		}}}
		pause := time.Duration(c.get("ms", 5)) * time.Millisecond
		waits := make([]time.Duration, n)
		for i := range waits {
			time.Sleep(pause)
			start := time.Now()
			if err := b.job.Submit(&spec); err != nil {
				return measured{}, err
			}
			waits[i] = (<-started).Sub(start)
		}
		slices.Sort(waits)
		return measured{
			tasks: n, elapsed: waits[n/2] * time.Duration(n),
			extra: float64(waits[n*19/20].Nanoseconds()) / 1e3,
		}, b.job.Wait(b.ctx)
	})
}

// views declares views of n parts of h data, by default of as many as make 100 000
// parts. A part is a task here; extra is the memory that one takes, in bytes.
func views(c *config, workers int) (measured, error) {
	n := c.get("n", 100_000)
	reps := c.get("h", max(1, 100_000/max(n, 1)))
	if n < 1 || reps < 1 {
		return measured{}, fmt.Errorf("n and h must be at least 1")
	}
	return withRuntime(c, engine.Options{Workers: workers}, func(b *goBench) (measured, error) {
		hs := make([]*datamgr.Handle, reps)
		for i := range hs {
			var err error
			hs[i], err = b.rt.Register(engine.DataSpec{Kind: iface.Vector, Elem: iface.F32, Dims: []int{4 * n}})
			if err != nil {
				return measured{}, err
			}
		}
		f := filter.Blocks(n)
		before := heap()
		start := time.Now()
		for _, h := range hs {
			if _, err := b.rt.Partition(h, f); err != nil {
				return measured{}, err
			}
		}
		m := measured{tasks: n * reps, elapsed: time.Since(start)}
		m.extra = float64(heap()-before) / float64(m.tasks)
		runtime.KeepAlive(hs)
		return m, nil
	})
}
