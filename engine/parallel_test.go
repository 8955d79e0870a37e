package engine

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/perf"
	"github.com/starpush/starpush/engine/sched"
)

// share is the part of n elements that belongs to a rank.
func share(n, rank, size int) (lo, hi int) { return n * rank / size, n * (rank + 1) / size }

// chooses reports whether a policy chooses the size of gangs.
func chooses(policy string) bool { return policy == "pheft" || policy == "peager" }

// whole makes a job whose parallel tasks have the size that they ask for, also under policies
// that choose it.
func whole(t *testing.T, rt *Runtime) *Job {
	j := rt.NewJob(context.Background(), JobOptions{Deterministic: true})
	t.Cleanup(func() { must(t, j.Close()) })
	return j
}

// forkInc adds 1 to each element and what it says to each.
var forkInc = &Codelet{Name: "fork inc", Traits: &Traits{Parallel: ForkJoin}, CPU: []Impl{func(c *TaskContext) error {
	x := iface.Slice[int64](c.Buffer(0))
	return c.Fork(func(rank int) error {
		lo, hi := share(len(x), rank, c.Size())
		for i := lo; i < hi; i++ {
			x[i]++
		}
		return nil
	})
}}}

// spmdSum replaces each element by the sum of all: ranks need each other.
var spmdSum = &Codelet{Name: "spmd sum", Traits: &Traits{Parallel: SPMD}, CPU: []Impl{func(c *TaskContext) error {
	x, own := iface.Slice[int64](c.Buffer(0)), iface.Slice[int64](c.Buffer(1))
	lo, hi := share(len(x), c.Rank(), c.Size())
	own[0] = 0
	for _, v := range x {
		own[0] += v
	}
	if err := c.Barrier(); err != nil {
		return err
	}
	for i := lo; i < hi; i++ {
		x[i] = own[0] % 1000003
	}
	return c.Barrier()
}}}

// Parallel tasks of every size, among others, give what they give in the
// reference.
func TestParallelTasks(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		const data, n = 3, 16
		var xs [data][]int64
		want := [data][]int64{}
		for d := range xs {
			xs[d] = make([]int64, n)
			for i := range xs[d] {
				xs[d][i] = int64(d + i)
			}
			want[d] = slices.Clone(xs[d])
		}
		work := lazy(t, rt, 1, nil)
		for d := range xs {
			x := ints(t, rt, xs[d])
			for i := range 30 {
				size := (d + i) % (rt.Workers() + 1) // 0: all there are
				switch i % 3 {
				case 0:
					_, err := j.SubmitWith(&TaskSpec{Codelet: forkInc, Operands: ops(iface.RW, x)}, TaskOptions{Size: size})
					must(t, err)
					for k := range want[d] {
						want[d][k]++
					}
				case 1:
					_, err := j.SubmitWith(&TaskSpec{Codelet: spmdSum, Operands: ops(iface.RW, x, iface.Scratch, work)}, TaskOptions{Size: size})
					must(t, err)
					sum := int64(0)
					for _, v := range want[d] {
						sum += v
					}
					for k := range want[d] {
						want[d][k] = sum % 1000003
					}
				default:
					must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, x)}))
					for k := range want[d] {
						want[d][k]++
					}
				}
			}
		}
		must(t, j.Wait(context.Background()))
		if fs := j.Failures(); len(fs) > 0 {
			t.Fatal(fs)
		}
		for d := range xs {
			if !slices.Equal(xs[d], want[d]) {
				t.Errorf("%v, want %v", xs[d], want[d])
			}
		}
	})
}

// The kernels of an SPMD task run at the same time, each on a worker of its own
// that the task may use, and in the reference in turn.
func TestRanks(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, _ *Job) {
		j := whole(t, rt)
		n := rt.Workers()
		size := n
		var workers []int
		if rt.Sequential() {
			size = 4
		} else if n > 2 {
			workers = []int{n - 1, 1, n - 2}
			slices.Sort(workers)
			workers = slices.Compact(workers)
			size = len(workers)
		}
		var mu sync.Mutex
		var order, on []int
		c := &Codelet{Name: "ranks", Traits: &Traits{Parallel: SPMD}, CPU: []Impl{func(c *TaskContext) error {
			for range 3 {
				mu.Lock()
				order = append(order, c.Rank())
				mu.Unlock()
				if err := c.Barrier(); err != nil {
					return err
				}
			}
			mu.Lock()
			on = append(on, c.Worker())
			mu.Unlock()
			if c.Size() != size {
				return errors.New("size")
			}
			return nil
		}}}
		_, err := j.SubmitWith(&TaskSpec{Codelet: c, Workers: workers}, TaskOptions{Size: size})
		must(t, err)
		must(t, j.Wait(context.Background()))
		if fs := j.Failures(); len(fs) > 0 {
			t.Fatal(fs)
		}
		for k := range 3 {
			part := order[k*size : (k+1)*size]
			if rt.Sequential() != slices.IsSorted(part) && size > 1 && rt.Sequential() {
				t.Error("ranks are not in turn:", order)
			}
			sorted := slices.Sorted(slices.Values(part))
			for i, r := range sorted {
				if r != i {
					t.Error("a rank ran ahead of a barrier:", order)
				}
			}
		}
		slices.Sort(on)
		if !rt.Sequential() && (len(slices.Compact(slices.Clone(on))) != size || workers != nil && !slices.Equal(on, workers)) {
			t.Error("ran on workers", on, "of", workers)
		}
	})
}

// Many parallel tasks at once, of sizes that do not fit beside each other, do
// not wait for each other for ever.
func TestManyGangs(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		var ran, ranks, want atomic.Int64 // want: with the sizes that tasks ask for
		meet := &Codelet{Name: "meet", Traits: &Traits{Parallel: SPMD}, CPU: []Impl{func(c *TaskContext) error {
			ran.Add(1)
			if c.Rank() == 0 {
				ranks.Add(int64(c.Size()))
			}
			return c.Barrier()
		}}}
		x := ints(t, rt, make([]int64, 1))
		for i := range 100 {
			size := 1 + i%rt.Workers()
			s := &TaskSpec{Codelet: meet}
			if i%7 == 0 {
				s.Operands = ops(iface.Commute, x)
			}
			_, err := j.SubmitWith(s, TaskOptions{Size: size})
			must(t, err)
			want.Add(int64(size))
			if i%3 == 0 {
				must(t, j.Submit(&TaskSpec{Codelet: kernel("submits", func(*TaskContext) error {
					want.Add(int64(size))
					_, err := j.SubmitWith(&TaskSpec{Codelet: meet}, TaskOptions{Size: size})
					return err
				}), Operands: ops(iface.Commute, x)}))
			}
		}
		must(t, j.Wait(context.Background()))
		if ran.Load() != ranks.Load() || ran.Load() > want.Load() || !chooses(rt.Policy()) && ran.Load() != want.Load() {
			t.Error(ran.Load(), "ranks ran of", ranks.Load(), "- the tasks ask for", want.Load())
		}
		if fs := j.Failures(); len(fs) > 0 {
			t.Error(fs)
		}
	})
}

// A rank that fails fails the task; those at a barrier do not wait for it.
func TestRanksThatFail(t *testing.T) {
	for how, fail := range map[string]func() error{
		"error":  func() error { return errBoom },
		"panic":  func() error { panic(errBoom) },
		"goexit": func() error { runtime.Goexit(); return nil },
	} {
		t.Run(how, func(t *testing.T) {
			everywhere(t, func(t *testing.T, rt *Runtime, _ *Job) {
				j := whole(t, rt)
				size := min(rt.Workers(), 3)
				if rt.Sequential() {
					size = 3
				}
				for who := range size {
					if how == "goexit" && rt.Sequential() && who == 0 {
						continue // would end the test's goroutine
					}
					var gone atomic.Int32
					spmd := &Codelet{Name: "spmd", Traits: &Traits{Parallel: SPMD}, CPU: []Impl{func(c *TaskContext) error {
						if c.Rank() == who {
							return fail()
						}
						if c.Barrier() != nil {
							gone.Add(1)
						}
						return nil
					}}}
					fork := &Codelet{Name: "fork", Traits: &Traits{Parallel: ForkJoin}, CPU: []Impl{func(c *TaskContext) error {
						err := c.Fork(func(rank int) error {
							if rank == who {
								return fail()
							}
							return nil
						})
						if e := c.Fork(func(int) error { return nil }); e != nil {
							return errors.New("a second Fork fails")
						}
						return err
					}}}
					for _, c := range []*Codelet{spmd, fork} {
						if how == "goexit" && c == fork && rt.Sequential() {
							continue // all ranks are on the test's goroutine
						}
						k, err := j.SubmitWith(&TaskSpec{Codelet: c}, TaskOptions{Size: size})
						must(t, err)
						must(t, k.Wait(context.Background()))
						err = k.Err()
						if err == nil || how != "goexit" && !errors.Is(err, errBoom) {
							t.Errorf("%s, rank %d: %v", c.Name, who, err)
						}
					}
					if int(gone.Load()) != size-1 {
						t.Errorf("rank %d: %d of %d barriers gave up", who, gone.Load(), size-1)
					}
				}
				_, err := j.SubmitWith(&TaskSpec{Codelet: forkInc, Operands: ops(iface.RW, ints(t, rt, make([]int64, 4)))}, TaskOptions{})
				must(t, err)
				must(t, j.Wait(context.Background()))
				j.Failures()
			})
		})
	}
}

func TestSizeErrors(t *testing.T) {
	rt, j := start(t, Options{Workers: 4})
	_ = rt
	two := &Codelet{Name: "two", CPU: forkInc.CPU, Traits: &Traits{Parallel: ForkJoin, MaxWorkers: 2}}
	odd := &Codelet{Name: "odd", CPU: forkInc.CPU, Traits: &Traits{Parallel: 9}}
	x := ints(t, rt, make([]int64, 4))
	for name, c := range map[string]struct {
		c       *Codelet
		size    int
		workers []int
	}{
		"more than there are":   {forkInc, 5, nil},
		"more than it may use":  {forkInc, 3, []int{0, 1, 1}},
		"more than the codelet": {two, 3, nil},
		"negative":              {forkInc, -1, nil},
		"not parallel":          {incs, 2, nil},
		"unknown kind":          {odd, 1, nil},
	} {
		var e *SizeError
		_, err := j.SubmitWith(&TaskSpec{Codelet: c.c, Operands: ops(iface.RW, x), Workers: c.workers}, TaskOptions{Size: c.size})
		if !errors.As(err, &e) || e.Error() == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	var size atomic.Int32
	two.CPU = []Impl{func(c *TaskContext) error {
		size.Store(int32(c.Size()))
		return c.Fork(func(int) error {
			if err := c.Fork(func(int) error { return nil }); err == nil {
				return errors.New("a Fork in a Fork")
			}
			return nil
		})
	}}
	must(t, j.Submit(&TaskSpec{Codelet: two, Operands: ops(iface.RW, x)}))
	must(t, j.Wait(context.Background()))
	if fs := j.Failures(); len(fs) != 0 || size.Load() != 2 {
		t.Error(fs, size.Load())
	}
}

// A task that the policy gives to a worker without work, as it thinks, is not left to
// wait for a gang that the worker is in, nor for a hook, while another worker sleeps.
func TestNobodySleepsBesideAGang(t *testing.T) {
	for _, name := range sched.Names() {
		rt, _ := start(t, Options{Workers: 4, Policy: name})
		j := whole(t, rt)
		for i := range 20 {
			end, began := make(chan struct{}), make(chan struct{}, 4)
			hold := func() error { began <- struct{}{}; <-end; return nil }
			gang := kernel("gang", func(*TaskContext) error { return hold() })
			gang.Traits = &Traits{Parallel: SPMD}
			size := 1 + i%2
			_, err := j.SubmitWith(&TaskSpec{Codelet: gang}, TaskOptions{Size: size})
			must(t, err)
			_, err = j.SubmitWith(&TaskSpec{Codelet: nop}, TaskOptions{Callback: func(*Task) error { return hold() }})
			must(t, err)
			for range size + 1 {
				<-began
			}
			late := time.AfterFunc(10*time.Second, func() {
				t.Errorf("%s: a task waits for others, and a worker sleeps", name)
				close(end)
			})
			for range 2 {
				task, err := j.SubmitTask(&TaskSpec{Codelet: nop})
				must(t, err)
				must(t, task.Wait(context.Background()))
			}
			if late.Stop() {
				close(end)
			}
			must(t, j.Wait(context.Background()))
			if t.Failed() {
				return
			}
		}
	}
}

// gangChoices notes what the policy chose for each task, and the workers that ran it.
type gangChoices struct {
	mu    sync.Mutex
	chose map[int64]ChoiceEvent
	ran   map[int64][]int
}

func (l *gangChoices) TaskEvent(e *Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Kind == TaskDone {
		l.ran[e.ID] = e.Workers
	}
}

func (l *gangChoices) ChoiceEvent(e *ChoiceEvent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.chose[e.ID] = *e
}

// TestGangSizes: pheft gives a parallel task the number of workers with which its model says that
// it ends first, within what the task, its codelet and its job allow; other policies give it the most.
func TestGangSizes(t *testing.T) {
	seconds := func(c *perf.Call) float64 { return []float64{0, 9, 4, 1, 2}[c.Workers] } // best with 3
	c := &Codelet{Name: "best with three", CPU: forkInc.CPU, Traits: &Traits{Parallel: ForkJoin}, Model: &perf.Model{Kind: perf.PerArch, Cost: seconds}}
	two := *c
	two.Traits = &Traits{Parallel: SPMD, MaxWorkers: 2}
	two.CPU = []Impl{func(c *TaskContext) error { return c.Barrier() }}
	for _, policy := range []string{"pheft", "lws", "dmda"} {
		rt, j := start(t, Options{Workers: 4, Policy: policy})
		l := &gangChoices{chose: map[int64]ChoiceEvent{}, ran: map[int64][]int{}}
		must(t, rt.Listen(l))
		for _, o := range []JobOptions{{}, {MaxWorkers: 2}, {Deterministic: true}} {
			j := j
			if o.MaxWorkers > 0 || o.Deterministic {
				j = rt.NewJob(context.Background(), o)
			}
			for _, w := range []struct {
				c       *Codelet
				size    int
				workers []int
				best    int // by the model
				most    int
			}{
				{c, 0, nil, 3, 4}, {c, 4, nil, 3, 4}, {c, 2, nil, 2, 2}, {c, 1, nil, 1, 1}, {c, 0, []int{1, 3}, 2, 2}, {&two, 0, nil, 2, 2},
			} {
				if o.MaxWorkers > 0 {
					if w.size > 2 {
						continue
					}
					w.best, w.most = min(w.best, 2), min(w.most, 2)
				}
				if policy != "pheft" || o.Deterministic {
					w.best = w.most
				}
				k, err := j.SubmitWith(&TaskSpec{Codelet: w.c, Operands: ops(iface.RW, ints(t, rt, make([]int64, 4))), Workers: w.workers}, TaskOptions{Size: w.size})
				must(t, err)
				must(t, k.Wait(context.Background()))
				must(t, k.Err())
				l.mu.Lock()
				ran := slices.Sorted(slices.Values(l.ran[k.ID()]))
				chose := l.chose[k.ID()]
				l.mu.Unlock()
				if w.best == 1 && ran == nil {
					ran = []int{0}
				}
				if len(slices.Compact(ran)) != w.best || w.workers != nil && !slices.Equal(ran, w.workers) {
					t.Errorf("%s, %+v: %s of %d on %v ran on %v, want %d", policy, o, w.c.Name, w.size, w.workers, ran, w.best)
				}
				if policy == "pheft" && (len(chose.Workers) != w.best || len(chose.Terms) == 0 || chose.Terms[len(chose.Terms)-1].Size != w.most) {
					t.Errorf("%+v: the choice is %+v", o, chose)
				}
				for i, x := range chose.Terms {
					if want := seconds(&perf.Call{Workers: x.Size}); policy == "pheft" && (x.Length != want || chose.Models[i].Seconds != want) {
						t.Errorf("with %d workers %v s, %v by the model, want %v", x.Size, x.Length, chose.Models[i].Seconds, want)
					}
				}
			}
			if o.MaxWorkers > 0 || o.Deterministic {
				must(t, j.Close())
			}
		}
	}
}

// TestGangTimes: what a parallel task took is remembered with the number of its workers. Each number is
// measured in its turn; then the fastest is used.
func TestGangTimes(t *testing.T) {
	dir := t.TempDir()
	rt, j := start(t, Options{Workers: 3, Policy: "pheft", PerfDir: dir, Calibrate: 1})
	var sizes [4]atomic.Int64
	c := &Codelet{Name: "sleeps", Traits: &Traits{Parallel: ForkJoin}, Model: &perf.Model{MinSamples: 3}, CPU: []Impl{func(c *TaskContext) error {
		sizes[c.Size()].Add(1)
		if c.Size() != 2 {
			time.Sleep(20 * time.Millisecond)
		}
		return nil
	}}}
	run := func() {
		k, err := j.SubmitWith(&TaskSpec{Codelet: c}, TaskOptions{})
		must(t, err)
		must(t, k.Wait(context.Background()))
	}
	for range 9 {
		run()
	}
	for n := 1; n <= 3; n++ {
		if got := sizes[n].Load(); got != 3 {
			t.Errorf("%d of the first 9 tasks have %d workers", got, n)
		}
	}
	for range 5 {
		run()
	}
	if got := sizes[2].Load(); got != 8 {
		t.Errorf("%d of 14 tasks have 2 workers, want 8", got)
	}
	if e, err := rt.Expect(c, nil, nil); err != nil || e.Samples != 3 || e.Seconds < 0.02 {
		t.Errorf("with all workers %v, %v", e, err)
	}
	must(t, j.Close())
	must(t, rt.Close())
	store, err := perf.NewStore(dir, "")
	must(t, err)
	files, bad := store.List()
	if len(files) != 1 || len(bad) != 0 {
		t.Fatal(files, bad)
	}
	for i, g := range files[0].Groups {
		if want := []int64{3, 8, 3}[i]; g.Workers != i+1 || g.Samples() != want {
			t.Errorf("%d workers: %d samples, want %d", g.Workers, g.Samples(), want)
		}
	}
}

// oddSizes is a policy that chooses what cannot be.
type oddSizes struct {
	own
	n int
}

func (p *oddSizes) Pop(w int) *sched.Item {
	it := p.own.Pop(w)
	if it == nil {
		return nil
	}
	if g := p.m.Gang(it); g != nil {
		p.own.mu.Lock()
		defer p.own.mu.Unlock()
		p.n++
		g.Size = []int{-1, 0, 2, 3, 99}[p.n%5]
		g.Workers = []*sched.Set{nil, sched.NewSet(), sched.NewSet(1), sched.NewSet(0, 1, 7), sched.NewSet(2, 3)}[p.n%4]
	}
	return it
}

// TestOddSizes: a policy of the program that chooses sizes and workers that cannot be lets no task wait
// for ever.
func TestOddSizes(t *testing.T) {
	rt, err := New(Options{Workers: 4, NewPolicy: func(m sched.Machine) sched.Policy { return &oddSizes{own: own{m: m}} }})
	must(t, err)
	j := rt.NewJob(context.Background(), JobOptions{})
	var ran atomic.Int64
	meet := &Codelet{Name: "meet", Traits: &Traits{Parallel: SPMD}, CPU: []Impl{func(c *TaskContext) error {
		if c.Rank() == 0 {
			ran.Add(1)
		}
		return c.Barrier()
	}}}
	for i := range 60 {
		_, err := j.SubmitWith(&TaskSpec{Codelet: meet}, TaskOptions{Size: i % 5})
		must(t, err)
	}
	must(t, j.Wait(context.Background()))
	if fs := j.Failures(); len(fs) > 0 || ran.Load() != 60 {
		t.Error(ran.Load(), fs)
	}
	must(t, j.Close())
	must(t, rt.Close())
}
