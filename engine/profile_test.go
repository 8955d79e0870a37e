package engine

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/sched"
)

// profiled are the configurations that profiles are tested in.
func profiled() []Options {
	out := []Options{{Sequential: true, Profile: true}, {Workers: 2, Profile: true, Verify: true}, {Workers: 2, Profile: true, Listener: &Journal{}}}
	for _, p := range sched.Names() {
		for _, n := range []int{1, 3} {
			out = append(out, Options{Workers: n, Policy: p, Profile: true})
		}
	}
	return out
}

// TestProfile runs tasks of all modes, checks the profile of each against the order of
// its life and of its predecessors, and the sums against the profiles.
func TestProfile(t *testing.T) {
	spin := func(n int) *Codelet {
		return kernel(fmt.Sprint("spin", n), func(c *TaskContext) error {
			x := iface.Slice[int64](c.Buffer(0))
			for range n * 100 {
				x[0]++
			}
			return nil
		})
	}
	codelets := []*Codelet{spin(0), spin(1), spin(7)}
	modes := []iface.AccessMode{iface.RW, iface.Commute, iface.Redux, iface.RW, iface.Scratch}
	for _, o := range profiled() {
		t.Run(fmt.Sprintf("%s-%d-%v-%v", o.Policy, o.Workers, o.Sequential, o.Verify), func(t *testing.T) {
			rt, err := New(o)
			must(t, err)
			j := rt.NewJob(context.Background(), JobOptions{})
			var hs []*datamgr.Handle
			for range 3 {
				h, err := rt.Register(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{4}, Reduce: datamgr.SumReduction()})
				must(t, err)
				must(t, j.Submit(&TaskSpec{Codelet: kernel("zero", func(c *TaskContext) error {
					clear(iface.Slice[int64](c.Buffer(0)))
					return nil
				}), Operands: []Operand{{Handle: h, Mode: iface.W}}}))
				hs = append(hs, h)
			}
			const n = 200
			var tasks []*Task
			for i := range n {
				task, err := j.SubmitTask(&TaskSpec{Codelet: codelets[i%3], Operands: []Operand{{Handle: hs[i%len(hs)], Mode: modes[i%5]}}})
				must(t, err)
				tasks = append(tasks, task)
				// forgotten tasks take another way
				must(t, j.Submit(&TaskSpec{Codelet: codelets[0], Operands: []Operand{{Handle: hs[(i+1)%3], Mode: modes[i%4]}}}))
			}
			for _, h := range hs {
				must(t, j.Unregister(h))
			}
			must(t, j.Close())
			must(t, rt.Close())

			times := map[string][]time.Duration{}
			last := map[int]TaskProfile{}
			for i, task := range tasks {
				p, ok := task.Profile()
				if !ok || p.Job != j || p.ID != task.ID() || p.Failed || p.Cancelled || p.Worker < 0 || p.Worker >= rt.Workers() {
					t.Fatalf("task %d: %+v, %v", i, p, ok)
				}
				steps := []time.Duration{1, p.Submitted, p.Ready, p.Pushed, p.Popped, p.DataReady, p.Started, p.Ended, p.Released}
				for k := range steps[1:] {
					if steps[k+1] < steps[k] {
						t.Fatalf("task %d: step %d of %v comes before the one before", i, k+1, steps)
					}
				}
				if modes[i%5] == iface.RW { // the RW task before it on the same data
					if q := last[i%3]; q.Ended > p.Started || q.Ended > p.Ready {
						t.Fatalf("task %d was ready at %v and began at %v, and waits for task %d, which ended at %v", i, p.Ready, p.Started, q.ID, q.Ended)
					}
					last[i%3] = p
				}
				times[p.Codelet] = append(times[p.Codelet], p.Ended-p.Started)
			}
			checkSums(t, rt, 3+2*n, times)
		})
	}
}

// checkSums holds the profile of a runtime that has ended against the times of
// tasks; those of spin0 are not all known.
func checkSums(t *testing.T, rt *Runtime, tasks int64, times map[string][]time.Duration) {
	t.Helper()
	p, ok := rt.Profile()
	if !ok || p.Queued != 0 || p.Running != 0 || p.Failed != 0 || p.Cancelled != 0 {
		t.Fatalf("%+v, %v", p, ok)
	}
	user, all := int64(0), int64(0)
	for _, c := range p.Codelets {
		all += c.Tasks
		if c.Name[0] != '(' {
			user += c.Tasks
		}
		if c.Min > c.Mean || c.Mean > c.Max || c.Total < c.Max {
			t.Errorf("%+v", c)
		}
		ds := times[c.Name]
		if c.Name == "spin0" || len(ds) == 0 {
			continue
		}
		total, lo, hi := time.Duration(0), ds[0], ds[0]
		for _, d := range ds {
			total, lo, hi = total+d, min(lo, d), max(hi, d)
		}
		mean, squares := total.Seconds()/float64(len(ds)), 0.0
		for _, d := range ds {
			squares += (d.Seconds() - mean) * (d.Seconds() - mean)
		}
		dev := math.Sqrt(squares / float64(len(ds)))
		if c.Tasks != int64(len(ds)) || c.Total != total || c.Min != lo || c.Max != hi || math.Abs(c.StdDev.Seconds()-dev) > 1e-6*dev+2e-9 {
			t.Errorf("%+v, and the tasks took %v, %v to %v, deviation %v", c, total, lo, hi, dev)
		}
	}
	if user != tasks || p.Done != all || p.Submitted < all {
		t.Errorf("%d tasks of the program, want %d; %d done of %d submitted, %d in codelets", user, tasks, p.Done, p.Submitted, all)
	}
	count := int64(0)
	for _, w := range p.Workers {
		count += w.Tasks
		if w.Busy < 0 || w.Sleeping < 0 || w.Overhead < 0 || w.Busy+w.Sleeping+w.Overhead != p.Elapsed {
			t.Errorf("%+v in %v", w, p.Elapsed)
		}
	}
	if count != all {
		t.Errorf("workers ran %d tasks, and codelets have %d", count, all)
	}
}

// TestProfileCounters reads the counters while a kernel runs and another task
// waits for the only worker.
func TestProfileCounters(t *testing.T) {
	rt, j := start(t, Options{Workers: 1, Profile: true})
	in, out := make(chan struct{}), make(chan struct{})
	first, err := j.SubmitTask(&TaskSpec{Codelet: kernel("block", func(*TaskContext) error { close(in); <-out; return nil })})
	must(t, err)
	<-in
	h := ints(t, rt, make([]int64, 1))
	for _, m := range []iface.AccessMode{iface.RW, iface.RW} {
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: h, Mode: m}}}))
	}
	p, ok := rt.Profile()
	if !ok || p.Submitted != 3 || p.Queued != 1 || p.Running != 1 || p.Done != 0 {
		t.Errorf("%+v", p)
	}
	if q, _ := first.Profile(); q.Started == 0 || q.Ended != 0 {
		t.Errorf("%+v", q)
	}
	busy := p.Workers[0].Busy
	p, _ = rt.Profile()
	if p.Workers[0].Busy < busy || p.Workers[0].Sleeping > p.Elapsed {
		t.Errorf("%+v after %v", p.Workers[0], busy)
	}
	close(out)
	must(t, j.Wait(context.Background()))
	if p, _ = rt.Profile(); p.Done != 3 || p.Queued != 0 || p.Running != 0 {
		t.Errorf("%+v", p)
	}
}

// TestProfileFailures: tasks that fail, before and in their kernel, and tasks
// that never start.
func TestProfileFailures(t *testing.T) {
	for _, sequential := range []bool{false, true} {
		rt, j := start(t, Options{Workers: 2, Profile: true, Sequential: sequential})
		h := ints(t, rt, make([]int64, 1))
		bad := kernel("bad", func(*TaskContext) error { return errKernel })
		fails, err := j.SubmitTask(&TaskSpec{Codelet: bad, Operands: []Operand{{Handle: h, Mode: iface.RW}}})
		must(t, err)
		lost, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: h, Mode: iface.R}}})
		must(t, err)
		early, err := j.SubmitWith(&TaskSpec{Codelet: incs}, TaskOptions{Prologue: func(*Task) error { return errKernel }})
		must(t, err)
		empty, err := j.SubmitWith(&TaskSpec{}, TaskOptions{})
		must(t, err)
		must(t, j.Wait(context.Background()))
		j.Failures()
		if p, _ := fails.Profile(); !p.Failed || p.Ended == 0 {
			t.Errorf("failed: %+v", p)
		}
		if p, _ := lost.Profile(); !p.Cancelled || p.Started != 0 || p.Released == 0 {
			t.Errorf("cancelled: %+v", p)
		}
		if p, _ := early.Profile(); !p.Failed || p.Started != 0 || p.Released == 0 {
			t.Errorf("its prologue failed: %+v", p)
		}
		if p, _ := empty.Profile(); p.Failed || p.Cancelled || p.Ended == 0 {
			t.Errorf("without a kernel: %+v", p)
		}
		if p, _ := rt.Profile(); p.Done != 1 || p.Failed != 2 || p.Cancelled != 1 || p.Running != 0 {
			t.Errorf("%+v", p)
		}
	}
}

// TestProfileBus: columns of a matrix are packed for kernels, and what that
// copies is counted.
func TestProfileBus(t *testing.T) {
	rt, j := start(t, Options{Workers: 1, Profile: true})
	m, err := rt.RegisterFilled(DataSpec{Kind: iface.Matrix, Elem: iface.F64, Dims: []int{10, 3}}, func(*iface.Buffer) error { return nil })
	must(t, err)
	v, err := rt.Partition(m, filter.Pick(1))
	must(t, err)
	must(t, j.Submit(&TaskSpec{Codelet: kernel("look", func(c *TaskContext) error { c.Buffer(0); return nil }), Operands: []Operand{{Handle: v.Parts[1], Mode: iface.R}}}))
	must(t, j.Wait(context.Background()))
	p, _ := rt.Profile()
	if len(p.Buses) != 1 || p.Buses[0].Copies != 1 || p.Buses[0].Bytes != 80 {
		t.Errorf("%+v", p.Buses)
	}
}

// TestProfileOff: without the option there is no profile.
func TestProfileOff(t *testing.T) {
	rt, j := start(t, Options{Workers: 1})
	task, err := j.SubmitTask(&TaskSpec{Codelet: kernel("nothing", func(*TaskContext) error { return nil })})
	must(t, err)
	must(t, task.Wait(context.Background()))
	if _, ok := task.Profile(); ok {
		t.Error("the task has a profile")
	}
	if _, ok := rt.Profile(); ok {
		t.Error("the runtime has a profile")
	}
}
