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
	"github.com/starpush/starpush/engine/sched"
)

// share is the part of n elements that belongs to a rank.
func share(n, rank, size int) (lo, hi int) { return n * rank / size, n * (rank + 1) / size }

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
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
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
		var ran, want atomic.Int64
		meet := &Codelet{Name: "meet", Traits: &Traits{Parallel: SPMD}, CPU: []Impl{func(c *TaskContext) error {
			ran.Add(1)
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
		if ran.Load() != want.Load() {
			t.Error(ran.Load(), "ranks, want", want.Load())
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
			everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
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
		_, j := start(t, Options{Workers: 4, Policy: name})
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
