package main

import (
	"context"
	"fmt"
	"time"
	"unsafe"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

// goBench runs one workload through engine's Go API.
type goBench struct {
	c   *config
	ctx context.Context
	rt  *engine.Runtime
	job *engine.Job
}

// viaGo measures a workload through engine's Go API.
func viaGo(c *config, workers int) (measured, error) {
	rt, err := engine.New(engine.Options{Workers: workers, Policy: c.sched, Deterministic: c.get("deterministic", 0) > 0})
	if err != nil {
		return measured{}, err
	}
	defer rt.Close()
	ctx := context.Background()
	b := &goBench{c: c, ctx: ctx, rt: rt, job: rt.NewJob(ctx, engine.JobOptions{})}
	defer b.job.Close()
	switch c.workload {
	case "independent":
		return b.independent()
	case "chain":
		return b.chain()
	case "fanout":
		return b.fanout()
	case "random":
		return b.random()
	case "commute", "redux":
		return b.accumulate()
	case "stencil":
		return b.stencil(workers)
	case "stencilhalo":
		return b.stencilHalo(workers)
	default:
		return b.dense()
	}
}

// timed runs submit, waits for its tasks, and measures both.
func (b *goBench) timed(tasks int, submit func() error) (measured, error) {
	start := time.Now()
	if err := submit(); err != nil {
		return measured{}, err
	}
	if err := b.job.Wait(b.ctx); err != nil {
		return measured{}, err
	}
	m := measured{tasks: tasks, elapsed: time.Since(start)}
	if failed := b.job.Failures(); len(failed) > 0 {
		return m, failed[0]
	}
	return m, nil
}

func empty(*engine.TaskContext) error { return nil }

func emptyCodelet(name string, modes ...iface.AccessMode) *engine.Codelet {
	return &engine.Codelet{Name: name, Modes: modes, CPU: []engine.Impl{empty}}
}

// vectors registers h vectors of 16 f32, more where they are cut into more
// fragments, that lie in one host slice.
func (b *goBench) vectors(h int) ([]*datamgr.Handle, error) {
	size := max(16, b.c.get("frags", 1))
	home := make([]float32, size*h)
	hs := make([]*datamgr.Handle, h)
	for i := range hs {
		var err error
		hs[i], err = b.rt.Register(engine.DataSpec{
			Kind: iface.Vector, Elem: iface.F32, Dims: []int{size}, Home: unsafe.Pointer(&home[size*i]),
		})
		if err != nil {
			return nil, err
		}
	}
	return hs, nil
}

// cut splits each handle into frags fragments.
func (b *goBench) cut(hs []*datamgr.Handle, frags int) error {
	if frags == 1 {
		return nil
	}
	for _, h := range hs {
		if _, err := b.rt.Partition(h, filter.Blocks(frags)); err != nil {
			return err
		}
	}
	return nil
}

func (b *goBench) independent() (measured, error) {
	n := b.c.get("n", 100000)
	spec := engine.TaskSpec{Codelet: emptyCodelet("empty0")}
	return b.timed(n, func() error {
		for range n {
			if err := b.job.Submit(&spec); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *goBench) chain() (measured, error) {
	n := b.c.get("n", 100000)
	hs, err := b.vectors(1)
	if err != nil {
		return measured{}, err
	}
	spec := engine.TaskSpec{
		Codelet:  emptyCodelet("rw", iface.RW),
		Operands: []engine.Operand{{Handle: hs[0], Mode: iface.RW}},
	}
	return b.timed(n, func() error {
		for range n {
			if err := b.job.Submit(&spec); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *goBench) fanout() (measured, error) {
	n, group := b.c.get("n", 100000), 1+b.c.get("readers", 63)
	hs, err := b.vectors(1)
	if err != nil {
		return measured{}, err
	}
	w := engine.TaskSpec{Codelet: emptyCodelet("w", iface.W), Operands: []engine.Operand{{Handle: hs[0], Mode: iface.W}}}
	r := engine.TaskSpec{Codelet: emptyCodelet("r", iface.R), Operands: []engine.Operand{{Handle: hs[0], Mode: iface.R}}}
	return b.timed(n, func() error {
		for i := range n {
			spec := &r
			if i%group == 0 {
				spec = &w
			}
			if err := b.job.Submit(spec); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *goBench) random() (measured, error) {
	n, h := b.c.get("n", 100000), b.c.get("h", 1024)
	if h < 3 {
		return measured{}, fmt.Errorf("h must be at least 3: a task names three different handles")
	}
	hs, err := b.vectors(h)
	if err != nil {
		return measured{}, err
	}
	if err := b.cut(hs, b.c.get("frags", 1)); err != nil {
		return measured{}, err
	}
	ops := []engine.Operand{{Mode: iface.R}, {Mode: iface.R}, {Mode: iface.RW}}
	spec := engine.TaskSpec{Codelet: emptyCodelet("rrw", iface.R, iface.R, iface.RW), Operands: ops}
	x := draws(n, h)
	return b.timed(n, func() error {
		for i := 0; i < len(x); i += 3 {
			ops[0].Handle, ops[1].Handle, ops[2].Handle = hs[x[i]], hs[x[i+1]], hs[x[i+2]]
			if err := b.job.Submit(&spec); err != nil {
				return err
			}
		}
		return nil
	})
}

// accumulate is commute and redux: extra is the sum that came out.
func (b *goBench) accumulate() (measured, error) {
	n := b.c.get("n", 100000)
	var x float64
	data := engine.DataSpec{Kind: iface.Variable, Elem: iface.F64, Home: unsafe.Pointer(&x)}
	mode := iface.Commute
	if b.c.workload == "redux" {
		mode, data.Reduce = iface.Redux, datamgr.SumReduction()
	}
	h, err := b.rt.Register(data)
	if err != nil {
		return measured{}, err
	}
	add := &engine.Codelet{Name: b.c.workload, Modes: []iface.AccessMode{iface.RW}, CPU: []engine.Impl{
		func(c *engine.TaskContext) error {
			*(*float64)(c.Buffer(0).Ptr)++
			return nil
		},
	}}
	spec := engine.TaskSpec{Codelet: add, Operands: []engine.Operand{{Handle: h, Mode: mode}}}
	var sum float64
	m, err := b.timed(n, func() error {
		for range n {
			if err := b.job.Submit(&spec); err != nil {
				return err
			}
		}
		a, err := b.job.Acquire(b.ctx, h, iface.R)
		if err != nil {
			return err
		}
		sum = *(*float64)(a.Buffer().Ptr)
		return a.Release()
	})
	if err == nil && sum != float64(n) {
		err = fmt.Errorf("%s: the sum is %v, not %d", b.c.workload, sum, n)
	}
	m.extra = sum
	return m, err
}

// stencil is Task Bench's stencil_1d; extra is the efficiency.
func (b *goBench) stencil(workers int) (measured, error) {
	w, steps, ns := b.c.get("w", 16), b.c.get("t", 1000), b.c.get("ns", 0)
	if w < 2 {
		return measured{}, fmt.Errorf("w must be at least 2")
	}
	hs, err := b.vectors(2 * w)
	if err != nil {
		return measured{}, err
	}
	spin := spinner(ns)
	kernel := []engine.Impl{func(*engine.TaskContext) error { spin(); return nil }}
	spec := engine.TaskSpec{Codelet: &engine.Codelet{Name: "stencil", CPU: kernel}}
	var ops [4]engine.Operand
	m, err := b.timed(w*steps, func() error {
		for s := range steps {
			from, to := hs[s%2*w:][:w], hs[(1-s%2)*w:][:w]
			for i := range w {
				ops[0] = engine.Operand{Handle: to[i], Mode: iface.W}
				k := 1
				for j := max(i-1, 0); j <= min(i+1, w-1); j++ {
					ops[k] = engine.Operand{Handle: from[j], Mode: iface.R}
					k++
				}
				spec.Operands = ops[:k]
				if err := b.job.Submit(&spec); err != nil {
					return err
				}
			}
		}
		return nil
	})
	m.extra = efficiency(ns, m, workers)
	return m, err
}

// stencilHalo is stencil on one vector a step, through views: task i writes
// block i from the part that overlaps the blocks beside it by one element.
func (b *goBench) stencilHalo(workers int) (measured, error) {
	const size = 16
	w, steps, ns := b.c.get("w", 16), b.c.get("t", 1000), b.c.get("ns", 0)
	if w < 2 {
		return measured{}, fmt.Errorf("w must be at least 2")
	}
	sizes := make([]int, w+2)
	for i := range sizes {
		sizes[i] = size
	}
	sizes[0], sizes[w+1] = 1, 1
	var blocks, halos [2]*datamgr.View
	for i := range blocks {
		n := w*size + 2
		home := make([]float32, n)
		h, err := b.rt.Register(engine.DataSpec{Kind: iface.Vector, Elem: iface.F32, Dims: []int{n}, Home: unsafe.Pointer(&home[0])})
		if err != nil {
			return measured{}, err
		}
		if blocks[i], err = b.rt.Partition(h, filter.BlockSizes(sizes)); err != nil {
			return measured{}, err
		}
		if halos[i], err = b.rt.Partition(h, filter.BlocksHalo(w, 1)); err != nil {
			return measured{}, err
		}
	}
	spin := spinner(ns)
	kernel := []engine.Impl{func(*engine.TaskContext) error { spin(); return nil }}
	ops := []engine.Operand{{Mode: iface.W}, {Mode: iface.R}}
	spec := engine.TaskSpec{Codelet: &engine.Codelet{Name: "stencilhalo", CPU: kernel}, Operands: ops}
	m, err := b.timed(w*steps, func() error {
		for s := range steps {
			from, to := halos[s%2].Parts, blocks[1-s%2].Parts
			for i := range w {
				ops[0].Handle, ops[1].Handle = to[i+1], from[i]
				if err := b.job.Submit(&spec); err != nil {
					return err
				}
			}
		}
		return nil
	})
	m.extra = efficiency(ns, m, workers)
	return m, err
}

// efficiency is the part of the workers' time that was useful work.
func efficiency(ns int, m measured, workers int) float64 {
	return float64(ns) * 1e-9 * float64(m.tasks) / float64(workers) / m.elapsed.Seconds()
}
