package engine

// Tasks that a worker releases run elsewhere while the worker does something else first.

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/enginetest"
	"github.com/starpush/starpush/engine/sched"
)

// TestReleasedRunsElsewhere: worker 0 releases task u, which it would run next, and does
// something else first that takes until u has run. Workers that sleep are woken for u.
func TestReleasedRunsElsewhere(t *testing.T) {
	on := []int{0}
	for name, c := range map[string]struct {
		asleep int32 // workers that sleep before u is released
		submit func(j *Job, first, u, until *Codelet, x *datamgr.Handle, wait func()) error
	}{
		"callback": {2, func(j *Job, first, u, _ *Codelet, x *datamgr.Handle, wait func()) error {
			if _, err := j.SubmitWith(&TaskSpec{Codelet: first, Operands: ops(iface.RW, x), Workers: on},
				TaskOptions{Callback: func(*Task) error { wait(); return nil }}); err != nil {
				return err
			}
			return j.Submit(&TaskSpec{Codelet: u, Operands: ops(iface.RW, x)})
		}},
		"prologue": {2, func(j *Job, first, u, _ *Codelet, x *datamgr.Handle, wait func()) error {
			if err := submitAll(j, TaskSpec{Codelet: first, Operands: ops(iface.RW, x), Workers: on},
				TaskSpec{Codelet: u, Operands: ops(iface.R, x)}); err != nil {
				return err
			}
			_, err := j.SubmitWith(&TaskSpec{Codelet: nop, Operands: ops(iface.R, x)}, TaskOptions{Prologue: func(*Task) error { wait(); return nil }})
			return err
		}},
		"what was left to be ended later": {2, func(j *Job, first, u, until *Codelet, x *datamgr.Handle, _ func()) error {
			return submitAll(j, TaskSpec{Codelet: first, Workers: on},
				TaskSpec{Codelet: nop, Operands: ops(iface.R, x), Workers: on},
				TaskSpec{Codelet: nop, Operands: ops(iface.R, x), Workers: on},
				TaskSpec{Codelet: u, Operands: ops(iface.RW, x)},
				TaskSpec{Codelet: until, Workers: on})
		}},
		"a task for it alone, released before": {2, func(j *Job, first, u, until *Codelet, x *datamgr.Handle, _ func()) error {
			return submitAll(j, TaskSpec{Codelet: first, Operands: ops(iface.RW, x), Workers: on},
				TaskSpec{Codelet: until, Operands: ops(iface.R, x), Workers: on},
				TaskSpec{Codelet: u, Operands: ops(iface.R, x)})
		}},
		"a task for it alone, released behind": {2, func(j *Job, first, u, until *Codelet, x *datamgr.Handle, _ func()) error {
			return submitAll(j, TaskSpec{Codelet: first, Operands: ops(iface.RW, x), Workers: on},
				TaskSpec{Codelet: u, Operands: ops(iface.R, x)},
				TaskSpec{Codelet: until, Operands: ops(iface.R, x), Workers: on})
		}},
		"gang": {1, func(j *Job, first, u, _ *Codelet, x *datamgr.Handle, wait func()) error {
			begun := make(chan struct{})
			begin := kernel("first", func(c *TaskContext) error { close(begun); return first.CPU[0](c) })
			if err := submitAll(j, TaskSpec{Codelet: begin, Operands: ops(iface.RW, x), Workers: on},
				TaskSpec{Codelet: u, Operands: ops(iface.RW, x)}); err != nil {
				return err
			}
			<-begun // otherwise worker 0 may join the gang before it runs first
			g := &Codelet{Name: "gang", Traits: &Traits{Parallel: SPMD}, CPU: []Impl{func(c *TaskContext) error { wait(); return nil }}}
			_, err := j.SubmitWith(&TaskSpec{Codelet: g, Workers: []int{0, 1}}, TaskOptions{Size: 2})
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, p := range sched.Names() {
				rt, j := start(t, Options{Policy: p, Workers: 3})
				asleep := c.asleep
				if name == "gang" {
					j = whole(t, rt)
					if p == "pheft" { // the gang is not given out before its workers are free
						asleep = 2
					}
				}
				release, ran := make(chan struct{}), make(chan struct{})
				wait := func() {
					select {
					case <-ran:
					case <-time.After(10 * time.Second): // it would wait for ever, and the test with it
						t.Errorf("%s: it is left with a worker that does something else, and others sleep", p)
					}
				}
				x := ints(t, rt, make([]int64, 1))
				must(t, c.submit(j,
					kernel("first", func(*TaskContext) error { <-release; return nil }),
					kernel("u", func(*TaskContext) error { close(ran); return nil }),
					kernel("until", func(*TaskContext) error { wait(); return nil }), x, wait))
				enginetest.Eventually(t, "the others sleep", func() bool {
					return rt.parking.parked.Load() == asleep && (asleep != 1 || rt.gangs.open.Load() > 0)
				})
				close(release)
				must(t, j.Wait(context.Background()))
			}
		})
	}
}

func submitAll(j *Job, specs ...TaskSpec) error {
	for i := range specs {
		if err := j.Submit(&specs[i]); err != nil {
			return err
		}
	}
	return nil
}

// Everything at once, many times: what starts ends, and nothing is left.

// crowd is one round: jobs that do whatever a program may do to shared data.
type crowd struct {
	*testing.T
	rt *Runtime
	hs []*datamgr.Handle // whole, then parts
}

func (h *crowd) mode(r *rand.Rand) iface.AccessMode {
	return []iface.AccessMode{iface.R, iface.RW, iface.Commute, iface.Redux, iface.Scratch, iface.R}[r.IntN(6)]
}

// kernel makes a kernel that may fail in every way, after it did nothing, or
// succeeds and submits more.
func (h *crowd) kernel(j *Job, r *rand.Rand, depth int) *Codelet {
	what, seed := r.IntN(24), r.Uint64()
	return kernel("crowd", func(c *TaskContext) error {
		switch what {
		case 0:
			return errBoom
		case 1:
			panic("crowd")
		case 2:
			runtime.Goexit()
		case 3:
			if err := j.Wait(context.Background()); err != ErrWouldDeadlock {
				h.Errorf("a kernel waits: %v", err)
			}
		case 4:
			if a, err := j.TryAcquire(h.hs[0], iface.R); err == nil {
				a.Release()
			}
		case 5, 6, 7:
			if depth < 3 {
				h.submit(j, rand.New(rand.NewPCG(seed, 2)), depth+1)
			}
		}
		return c.Context().Err()
	})
}

func (h *crowd) submit(j *Job, r *rand.Rand, depth int) {
	s := &TaskSpec{Codelet: h.kernel(j, r, depth), Priority: r.IntN(3) - 1, Unordered: r.IntN(12) == 0}
	for range r.IntN(4) {
		op := Operand{Handle: h.hs[r.IntN(len(h.hs))], Mode: h.mode(r), Unordered: r.IntN(12) == 0}
		s.Operands = append(s.Operands, op)
	}
	if r.IntN(8) == 0 {
		s.Workers = []int{r.IntN(h.rt.Workers())}
	}
	var err error
	if r.IntN(3) == 0 {
		_, err = j.SubmitTask(s)
	} else {
		err = j.Submit(s)
	}
	h.accept(err)
}

// accept asserts that an error is one that such a program can get.
func (h *crowd) accept(err error) {
	var none *UninitError
	var mode *ModeError
	var gone *FailedDataError
	var stuck *StuckError
	switch {
	case err == nil, err == ErrClosed, err == ErrBusy, errors.Is(err, context.Canceled), errors.Is(err, errBoom):
	case errors.As(err, &none), errors.As(err, &mode), errors.As(err, &gone), errors.As(err, &stuck):
	default:
		h.Errorf("%T %v", err, err)
	}
}

func (h *crowd) job(r *rand.Rand) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	j := h.rt.NewJob(ctx, JobOptions{DetectStuck: r.IntN(2) == 0, MaxInFlight: []int{0, 1, 3, 40}[r.IntN(4)], Stats: r.IntN(2) == 0})
	var gates []*Gate
	for range 40 + r.IntN(80) {
		x := h.hs[r.IntN(len(h.hs))]
		switch r.IntN(30) {
		case 0:
			j.Cancel(errBoom)
		case 1:
			cancel(errBoom)
		case 2:
			g := j.NewGate()
			gates = append(gates, g)
			h.accept(j.Submit(&TaskSpec{Codelet: nop, Operands: ops(iface.R, x), After: []Dependency{g}}))
		case 3:
			for _, g := range gates {
				g.Open()
			}
			gates = nil
		case 4, 5:
			mode := []iface.AccessMode{iface.R, iface.RW, iface.W}[r.IntN(3)]
			seed, part := r.Uint64(), h.hs[len(h.hs)-1]
			h.accept(j.AcquireFuncWith(x, mode, AcquireOptions{OrderOnly: r.IntN(4) == 0, Unordered: r.IntN(6) == 0}, func(a *Access, err error) {
				h.accept(err)
				if err != nil {
					return
				}
				h.accept(a.Fetch())
				h.accept(a.ReleasePart(part, iface.NoMode))
				h.submit(j, rand.New(rand.NewPCG(seed, 3)), 3)
				if seed%5 == 0 {
					panic("callback")
				}
			}))
		case 6:
			_, err := j.Copy(x, h.hs[r.IntN(len(h.hs))], CopyOptions{})
			var shape *ShapeError
			if !errors.As(err, &shape) {
				h.accept(err)
			}
		case 7:
			d, err := j.Duplicate(x)
			h.accept(err)
			if err == nil {
				h.accept(j.Submit(&TaskSpec{Codelet: nop, Operands: ops(iface.R, d)}))
				h.accept(j.Unregister(d))
			}
		case 8:
			v, err := h.rt.Partition(x, filter.Blocks(1+r.IntN(3)))
			if err == nil {
				h.accept(j.Submit(&TaskSpec{Codelet: nop, Operands: ops(iface.RW, v.Parts[0])}))
				h.rt.EndView(v)
			}
		case 9:
			h.accept(j.Gather(x))
		case 10:
			if a, err := j.TryAcquire(x, iface.RW); err == nil {
				h.accept(a.ReleaseTo(iface.R))
				a.Release()
			}
		case 11:
			runtime.Gosched()
		default:
			h.submit(j, r, 0)
		}
	}
	if r.IntN(2) == 0 { // else Close has to deal with what waits
		for _, g := range gates {
			g.Open()
		}
		h.accept(j.Wait(context.Background()))
	}
	h.accept(j.Close())
	if s := j.Stats(); s.Submitted != s.Done+s.Failed+s.Cancelled {
		h.Errorf("after Close: %+v", s)
	}
	for _, f := range j.Failures() {
		var p *PanicError
		switch ok := errors.As(f, &p); {
		case !ok && f.Cause != error(goexitError{}):
			h.accept(f.Cause)
		case ok && p.Value != "crowd" && p.Value != "callback":
			h.Errorf("%v\n%s", f, p.Stack)
		}
	}
}

func TestCrowd(t *testing.T) {
	for i, o := range allConfigs() {
		for round := range uint64(3) {
			r := rand.New(rand.NewPCG(uint64(i), round))
			if o.Window = 0; r.IntN(2) == 0 {
				o.Window = 1 + r.IntN(8)
			}
			rt, err := New(o)
			must(t, err)
			h := &crowd{T: t, rt: rt}
			for k := range 3 {
				s := DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{6}, Reduce: datamgr.SumReduction()}
				if k > 0 {
					s.Home = ptr(make([]int64, 6))
				}
				x, err := rt.Register(s)
				must(t, err)
				h.hs = append(h.hs, x)
			}
			h.hs = append(h.hs, parts(t, rt, h.hs[0], filter.Blocks(2))...)
			h.hs = append(h.hs, parts(t, rt, h.hs[1], filter.BlocksHalo(2, 1))...)
			var all sync.WaitGroup
			for range 1 + r.IntN(3) {
				jr := rand.New(rand.NewPCG(r.Uint64(), 1))
				all.Go(func() { h.job(jr) })
			}
			if round == 0 { // close it under their feet
				for range 2 {
					all.Go(func() { h.accept(rt.Close()) })
				}
			}
			all.Wait()
			j := rt.NewJob(context.Background(), JobOptions{})
			for _, x := range h.hs[:3] {
				if err := j.Unregister(x); err != nil && err != ErrClosed {
					t.Error(err)
				}
			}
			must(t, j.Close())
			h.accept(rt.Close())
			if n := rt.Nodes()[0].Allocated; n != 0 && round > 0 {
				t.Errorf("%+v: %d bytes left", o, n)
			}
		}
	}
}
