package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/enginetest"
	"github.com/starpush/starpush/engine/sched"
)

// spin runs for d and calls fn again and again.
func spin(d time.Duration, fn func()) {
	for start := time.Now(); time.Since(start) < d; {
		fn()
	}
}

// The time of the workers is divided by the weights of the jobs, as long as all of them
// have tasks, under every policy. The test looks at the time that the jobs are charged for,
// which includes what a worker waits for a processor: on a busy machine that can be more
// than its kernels take.
func TestWeights(t *testing.T) {
	for _, e := range sched.Table() {
		for _, workers := range []int{1, 2, 3} {
			t.Run(fmt.Sprintf("%s-%d", e.Name, workers), func(t *testing.T) {
				rt, common := start(t, Options{Workers: workers, Policy: e.Name})
				const tasks, each = 200, 200 * time.Microsecond
				weights := [...]int{1, 3, 1, 4} // the first is that of all jobs without a share
				type times [len(weights)]time.Duration
				var lanes [len(weights)]*lane
				charged := func() (now times) {
					s := &rt.lanes
					s.mu.Lock()
					defer s.mu.Unlock()
					for i, l := range lanes {
						now[i] = time.Duration(l.used * l.weight * float64(time.Second))
					}
					return now
				}
				var mu sync.Mutex
				var first, last times // that the jobs are charged for
				var kernels times     // that their kernels took
				var began time.Time
				var longest, longestKernel, passed time.Duration
				over := false // one has run all of its tasks
				begin := make(chan struct{})
				var met sync.WaitGroup
				met.Add(workers)
				for range workers {
					must(t, common.Submit(&TaskSpec{Codelet: kernel("block", func(*TaskContext) error { met.Done(); <-begin; return nil })}))
				}
				met.Wait()
				for i, weight := range weights {
					job, left := common, tasks
					if i > 0 {
						job = rt.NewJob(context.Background(), JobOptions{Weight: weight})
						defer func() { must(t, job.Close()) }()
					}
					lanes[i] = rt.laneOf(job)
					c := kernel("spin", func(*TaskContext) error {
						start := time.Now()
						spin(each, func() {})
						mu.Lock()
						defer mu.Unlock()
						if over {
							return nil
						}
						now := charged()
						for k := range now {
							longest = max(longest, now[k]-last[k])
						}
						last, passed = now, time.Since(began)
						d := time.Since(start)
						kernels[i] += d
						longestKernel = max(longestKernel, d)
						left--
						over = left == 0
						return nil
					})
					for k := range tasks {
						must(t, job.Submit(&TaskSpec{Codelet: c, Priority: k % 3}))
					}
				}
				first, began = charged(), time.Now()
				last = first
				close(begin)
				must(t, rt.WaitNoReady(context.Background()))
				var all time.Duration
				for i := range weights {
					all += last[i] - first[i]
				}
				if all > time.Duration(workers)*passed {
					t.Errorf("%d workers were charged for %v in %v", workers, all, passed)
				}
				for i, weight := range weights {
					used, want := last[i]-first[i], all*time.Duration(weight)/9
					if off := (used - want).Abs(); off > want/5+time.Duration(3*workers)*longest {
						t.Errorf("job %d of weight %d had %v of %v, want %v; the longest charge was %v", i, weight, used, all, want, longest)
					}
					if used+time.Duration(workers)*longestKernel < kernels[i] {
						t.Errorf("job %d was charged for %v, and its kernels took %v", i, used, kernels[i])
					}
				}
			})
		}
	}
}

// No more than MaxWorkers workers run tasks of a job, whatever tasks they are, all that
// may do, and none of its tasks waits for ever, under every policy.
func TestMaxWorkers(t *testing.T) {
	for _, e := range sched.Table() {
		for _, most := range []int{1, 2, 3, -2, -3} {
			name, largest, nodes := fmt.Sprintf("%s-%d", e.Name, most), most, most < 0
			if nodes {
				most = -most
				name, largest = fmt.Sprintf("%s-numa-%d", e.Name, most), 2
			}
			t.Run(name, func(t *testing.T) {
				o := Options{Workers: 4, Policy: e.Name}
				if nodes {
					o.Workers, o.Devices = 2, sockets(1<<20, 2, 0)
				}
				rt, common := start(t, o)
				job := rt.NewJob(context.Background(), JobOptions{MaxWorkers: most, Deterministic: chooses(e.Name)})
				defer func() { must(t, job.Close()) }()
				var now, peak atomic.Int64
				run := func(c *TaskContext) error {
					n := now.Add(1)
					must(t, c.Barrier())
					for p := peak.Load(); n > p && !peak.CompareAndSwap(p, n); p = peak.Load() {
					}
					spin(20*time.Microsecond, func() {})
					must(t, c.Barrier())
					now.Add(-1)
					return nil
				}
				one := kernel("one", run)
				gang := &Codelet{Name: "gang", CPU: []Impl{run}, Traits: &Traits{Parallel: SPMD}}
				x := ints(t, rt, make([]int64, 4))
				r := rand.New(rand.NewPCG(uint64(most), 1))
				for k := 0; k < 400 || k < 8000 && peak.Load() < int64(most); k++ { // how many run at once is for chance to say
					s := &TaskSpec{Codelet: one, Priority: r.IntN(3) - 1}
					switch r.IntN(8) {
					case 0:
						s.Workers = []int{r.IntN(4)}
					case 1:
						s.Workers = []int{r.IntN(2), 2 + r.IntN(2)}
					case 2:
						s.Operands = ops(iface.Commute, x)
					}
					if k%16 == 15 {
						_, err := job.SubmitWith(&TaskSpec{Codelet: gang}, TaskOptions{Size: r.IntN(largest + 1)})
						must(t, err)
					} else {
						must(t, job.Submit(s))
					}
					if k%8 == 7 {
						must(t, common.Submit(&TaskSpec{Codelet: nop}))
					}
					if k%100 == 99 {
						must(t, job.Wait(context.Background()))
					}
				}
				must(t, job.Wait(context.Background()))
				if p := peak.Load(); p != int64(most) {
					t.Errorf("%d at once, and the job may have %d", p, most)
				}
				var e *SizeError
				if _, err := job.SubmitWith(&TaskSpec{Codelet: gang}, TaskOptions{Size: most + 1}); !errors.As(err, &e) || e.Max != most {
					t.Errorf("a task of %d workers: %v", most+1, err)
				}
			})
		}
	}
}

// Gangs of a job with MaxWorkers do not wait for each other's workers for ever: on different nodes, where
// each could take a part of the workers that the job may have, beside gangs of another job.
func TestGangsOfLimitedJobs(t *testing.T) {
	for _, e := range sched.Table() {
		rt, common := start(t, Options{Workers: 3, Policy: e.Name, Devices: sockets(1<<20, 3, 0)})
		var jobs []*Job
		for _, most := range []int{2, 3, 4} {
			jobs = append(jobs, rt.NewJob(context.Background(), JobOptions{MaxWorkers: most, Deterministic: chooses(e.Name)}))
		}
		jobs = append(jobs, common)
		var ran atomic.Int64
		meet := &Codelet{Name: "meet", Traits: &Traits{Parallel: SPMD}, CPU: []Impl{func(c *TaskContext) error {
			if c.Rank() == 0 {
				ran.Add(1)
			}
			return c.Barrier()
		}}}
		const n = 300
		r := rand.New(rand.NewPCG(1, 1))
		for i := range n {
			j := jobs[i%len(jobs)]
			size := min(1+r.IntN(3), 2+i%len(jobs))
			_, err := j.SubmitWith(&TaskSpec{Codelet: meet}, TaskOptions{Size: size})
			must(t, err)
			if i%3 == 0 {
				must(t, j.Submit(&TaskSpec{Codelet: nop}))
			}
		}
		for _, j := range jobs {
			must(t, j.Wait(context.Background()))
			if fs := j.Failures(); len(fs) > 0 {
				t.Error(fs)
			}
		}
		if ran.Load() != n {
			t.Errorf("%s: %d of %d gangs ran", e.Name, ran.Load(), n)
		}
		for i, j := range jobs[:3] {
			rt.lanes.mu.Lock()
			if l := j.lane; l.wanted > 0 || l.later > 0 {
				t.Errorf("%s: of job %d %d workers are wanted, %d leaders wait", e.Name, i, l.wanted, l.later)
			}
			rt.lanes.mu.Unlock()
			must(t, j.Close())
		}
	}
}

// A kernel that runs for long, and gives way, does not keep others waiting; nor is it
// forgotten.
func TestGiveWay(t *testing.T) {
	for _, e := range sched.Table() {
		for _, workers := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s-%d", e.Name, workers), func(t *testing.T) {
				rt, _ := start(t, Options{Workers: workers, Policy: e.Name})
				hog := rt.NewJob(context.Background(), JobOptions{Weight: 1})
				defer func() { must(t, hog.Close()) }()
				var stop atomic.Bool
				var running sync.WaitGroup
				running.Add(workers)
				long := kernel("long", func(c *TaskContext) error {
					running.Done()
					for !stop.Load() {
						c.GiveWay()
					}
					return nil
				})
				for range workers {
					must(t, hog.Submit(&TaskSpec{Codelet: long}))
				}
				running.Wait()
				// it ends only when all of these have
				for range 5 {
					job := rt.NewJob(context.Background(), JobOptions{Weight: 1})
					x := ints(t, rt, make([]int64, 4))
					for range 10 {
						must(t, job.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, x)}))
						must(t, job.Submit(&TaskSpec{Codelet: nop, Operands: ops(iface.R, x)}))
					}
					readable(t, job, x, 10)
					must(t, job.Close())
				}
				stop.Store(true)
				must(t, hog.Wait(context.Background()))
			})
		}
	}
}

// Kernels of several jobs that run for long take turns, also those that gave way before.
func TestLongKernelsTakeTurns(t *testing.T) {
	for _, workers := range []int{1, 2} {
		rt, _ := start(t, Options{Workers: workers})
		const jobs = 4
		var rounds [jobs]atomic.Int64
		var all []*Job
		for i := range jobs {
			job := rt.NewJob(context.Background(), JobOptions{Weight: 1 + i})
			all = append(all, job)
			must(t, job.Submit(&TaskSpec{Codelet: kernel("long", func(c *TaskContext) error {
				for behind := true; behind; { // until all others have come as far
					spin(10*time.Microsecond, c.GiveWay)
					rounds[i].Add(1)
					behind = false
					for k := range rounds {
						behind = behind || rounds[k].Load() < 100
					}
				}
				return nil
			})}))
		}
		for _, job := range all {
			must(t, job.Close())
		}
	}
}

// A kernel goes on although those that it gave way to do not end: they may wait for what
// it computes.
func TestGaveWayToOneThatWaits(t *testing.T) {
	rt, _ := start(t, Options{Workers: 1})
	rt.lanes.patience = 10 * time.Millisecond
	a, b := rt.NewJob(context.Background(), JobOptions{Weight: 1}), rt.NewJob(context.Background(), JobOptions{Weight: 1})
	for range 20 {
		var waits atomic.Bool
		started := make(chan struct{})
		computes, err := a.SubmitTask(&TaskSpec{Codelet: kernel("computes", func(c *TaskContext) error {
			close(started)
			for !waits.Load() {
				c.GiveWay()
			}
			return nil
		})})
		must(t, err)
		<-started
		must(t, b.Submit(&TaskSpec{Codelet: kernel("waits", func(*TaskContext) error {
			waits.Store(true)
			<-computes.done
			return nil
		})}))
		must(t, b.Wait(context.Background()))
		must(t, a.Wait(context.Background()))
	}
	must(t, a.Close())
	must(t, b.Close())
}

// TestTasksInBetween: tasks that run while a kernel gives way may do everything: fail,
// panic, end their goroutine, add to data that the kernel adds to, have hooks and several
// workers.
func TestTasksInBetween(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, common *Job) {
		if rt.Sequential() {
			return
		}
		rt.lanes.slice = 0
		x, y := lazy(t, rt, 1, datamgr.SumReduction()), ints(t, rt, make([]int64, 1))
		add := func(b *iface.Buffer, n int64) { *(*int64)(b.Ptr) += n }
		long := func(stop *atomic.Bool, started chan<- bool) *Codelet {
			return kernel("long", func(c *TaskContext) error {
				add(c.Buffer(0), 1000)
				started <- true
				for !stop.Load() {
					c.GiveWay()
					add(c.Buffer(0), 0)
				}
				add(c.Buffer(0), 1)
				return nil
			})
		}
		for range 3 {
			a, b := rt.NewJob(context.Background(), JobOptions{Weight: 1}), rt.NewJob(context.Background(), JobOptions{Weight: 2})
			var stop atomic.Bool
			started := make(chan bool)
			for range rt.Workers() {
				must(t, a.Submit(&TaskSpec{Codelet: long(&stop, started), Operands: ops(iface.Redux, x)}))
				<-started
			}
			var hooks, ranks atomic.Int64
			hook := func(*Task) error { hooks.Add(1); return nil }
			gang := &Codelet{Name: "gang", Traits: &Traits{Parallel: SPMD}, CPU: []Impl{func(c *TaskContext) error {
				ranks.Add(1)
				return c.Barrier()
			}}}
			for range 4 {
				for _, m := range []iface.AccessMode{iface.Redux, iface.Redux} {
					must(t, b.Submit(&TaskSpec{Operands: ops(m, x), Codelet: kernel("adds", func(c *TaskContext) error { add(c.Buffer(0), 10); return nil })}))
				}
				must(t, b.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.Commute, y)}))
				must(t, b.Submit(&TaskSpec{Codelet: bad}))
				must(t, b.Submit(&TaskSpec{Codelet: kernel("panics", func(*TaskContext) error { panic("meant to") })}))
				must(t, b.Submit(&TaskSpec{Codelet: kernel("exits", func(*TaskContext) error { runtime.Goexit(); return nil })}))
				_, err := b.SubmitWith(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, y)},
					TaskOptions{Prologue: hook, OnStart: hook, Epilogue: hook, Callback: hook})
				must(t, err)
				_, err = b.SubmitWith(&TaskSpec{Codelet: gang}, TaskOptions{})
				must(t, err)
			}
			must(t, b.Wait(context.Background())) // the long ones still run
			all := int64(4 * rt.Workers())
			if n := ranks.Load(); n != all && !(chooses(rt.opt.Policy) && n >= 4 && n < all) {
				t.Errorf("%d ranks of four gangs on %d workers", n, rt.Workers())
			}
			if failed := b.Failures(); len(failed) != 12 || hooks.Load() != 16 {
				t.Errorf("%v, %d hooks", failed, hooks.Load())
			}
			stop.Store(true)
			must(t, b.Close())
			must(t, a.Close())
			readable(t, common, x, int64(rt.Workers()*1001+80))
			readable(t, common, y, 8)
			now(t, common, ops(iface.W, x))
			must(t, common.Submit(&TaskSpec{Codelet: kernel("zero", func(c *TaskContext) error {
				for i := range 2 {
					*(*int64)(c.Buffer(i).Ptr) = 0
				}
				return nil
			}), Operands: ops(iface.W, x, iface.W, y)}))
		}
	})
}

// The time in which a kernel gave way is no time of its codelet, for statistics, models
// and profiles.
func TestTimeOfKernelThatGaveWay(t *testing.T) {
	rt, _ := start(t, Options{Workers: 1, Profile: true})
	a, b := rt.NewJob(context.Background(), JobOptions{Weight: 1, Stats: true}), rt.NewJob(context.Background(), JobOptions{Weight: 1})
	started := make(chan bool)
	var slept, took time.Duration
	long, err := a.SubmitTask(&TaskSpec{Codelet: kernel("long", func(c *TaskContext) error {
		begin := time.Now()
		started <- true
		for slept == 0 {
			c.GiveWay()
		}
		took = time.Since(begin)
		return nil
	})})
	must(t, err)
	<-started
	must(t, b.Submit(&TaskSpec{Codelet: kernel("sleeps", func(*TaskContext) error {
		begin := time.Now()
		time.Sleep(50 * time.Millisecond)
		slept = time.Since(begin)
		return nil
	})}))
	must(t, b.Wait(context.Background()))
	must(t, a.Wait(context.Background()))
	p, _ := long.Profile()
	sums, _ := rt.Profile()
	i := slices.IndexFunc(sums.Codelets, func(c CodeletProfile) bool { return c.Name == "long" })
	for what, d := range map[string]time.Duration{"statistics": a.Stats().Codelets[0].Time, "profile": p.Ended - p.Started - p.Paused,
		"sums of the profile": sums.Codelets[i].Total} {
		if d > took-slept/2 || d <= 0 {
			t.Errorf("%s: %v of %v, and others ran for %v", what, d, took, slept)
		}
	}
	if w := sums.Workers[0]; w.Busy > sums.Elapsed || w.Busy < slept {
		t.Errorf("a worker was busy for %v of %v", w.Busy, sums.Elapsed)
	}
	must(t, a.Close())
	must(t, b.Close())
}

// A job that cannot use more than one worker, because of its limit or because each of its
// tasks uses the data of the one before, has no credit for what it leaves to others, nor
// has a job that comes after it.
func TestNoCreditForUnusedWorkers(t *testing.T) {
	const workers, tasks = 8, 300
	for name, o := range map[string]JobOptions{"limit": {MaxWorkers: 1}, "chain": {Weight: 1}} {
		t.Run(name, func(t *testing.T) {
			rt, _ := start(t, Options{Workers: workers})
			var ended [2]atomic.Int64
			sleeps := func(i int) *Codelet {
				return kernel("sleeps", func(*TaskContext) error {
					time.Sleep(time.Millisecond)
					if i >= 0 {
						ended[i].Add(1)
					}
					return nil
				})
			}
			narrow, wide := rt.NewJob(context.Background(), o), rt.NewJob(context.Background(), JobOptions{Weight: 1})
			x := ints(t, rt, make([]int64, 1))
			for range tasks {
				must(t, narrow.Submit(&TaskSpec{Codelet: sleeps(-1), Operands: ops(iface.RW, x)}))
			}
			for range 20 * tasks {
				must(t, wide.Submit(&TaskSpec{Codelet: sleeps(0)}))
			}
			enginetest.Eventually(t, "tasks of the wide job have run", func() bool { return ended[0].Load() >= 4*tasks })
			late := rt.NewJob(context.Background(), JobOptions{Weight: 1})
			had := ended[0].Load()
			for range 2 * tasks {
				must(t, late.Submit(&TaskSpec{Codelet: sleeps(1)}))
			}
			enginetest.Eventually(t, "tasks of the late job have run", func() bool { return ended[1].Load() >= tasks })
			if n := ended[0].Load() - had; n < tasks/2 {
				t.Errorf("a job that came later ran %d tasks, and another of the same weight %d", tasks, n)
			}
			wide.Cancel(nil)
			for _, j := range []*Job{narrow, wide, late} {
				must(t, j.Close())
			}
		})
	}
}

// Jobs without a share have no credit for the time in which those with one ran alone.
func TestNoCreditForTimeBefore(t *testing.T) {
	rt, common := start(t, Options{Workers: 1})
	var ended atomic.Int64 // of common
	submit := func(j *Job, n int) {
		c := kernel("sleeps", func(*TaskContext) error {
			time.Sleep(time.Millisecond)
			if j == common {
				ended.Add(1)
			}
			return nil
		})
		for range n {
			must(t, j.Submit(&TaskSpec{Codelet: c}))
		}
	}
	first := rt.NewJob(context.Background(), JobOptions{Weight: 1})
	submit(first, 200)
	must(t, first.Close())
	submit(common, 400)
	second := rt.NewJob(context.Background(), JobOptions{Weight: 1})
	submit(second, 100)
	must(t, second.Wait(context.Background()))
	if n := ended.Load(); n > 150 {
		t.Errorf("a job with a share ran 100 tasks, and the others of the same weight %d", n)
	}
	must(t, second.Close())
}

// A worker that lent its turn to a kernel is not kept from a task that only it may run:
// neither by workers that sleep, nor by kernels that give way.
func TestTaskOfWorkerThatLentItsTurn(t *testing.T) {
	for _, e := range sched.Table() {
		for _, sleeps := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s-%v", e.Name, sleeps), func(t *testing.T) {
				rt, _ := start(t, Options{Workers: 2, Policy: e.Name})
				rt.lanes.slice = 0
				a, b := rt.NewJob(context.Background(), JobOptions{Weight: 1}), rt.NewJob(context.Background(), JobOptions{Weight: 1})
				var stop atomic.Bool
				over, started := make(chan struct{}), make(chan bool)
				giving := kernel("gives way", func(c *TaskContext) error {
					started <- true
					for !stop.Load() {
						c.GiveWay()
					}
					return nil
				})
				must(t, a.Submit(&TaskSpec{Codelet: giving, Workers: []int{0}}))
				<-started
				must(t, b.Submit(&TaskSpec{Workers: []int{0}, Codelet: kernel("long", func(*TaskContext) error {
					started <- true
					<-over
					return nil
				})}))
				<-started
				for range 2000 { // until worker 1 waits
					rt.lanes.mu.Lock()
					n := len(rt.lanes.mu.waiting)
					rt.lanes.mu.Unlock()
					if n > 0 {
						break
					}
					time.Sleep(time.Millisecond)
				}
				if sleeps {
					stop.Store(true)
					must(t, a.Wait(context.Background()))
					for range 2000 {
						if rt.parking.idle.Load() > 0 {
							break
						}
						time.Sleep(time.Millisecond)
					}
				}
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
				defer cancel()
				for range 3 {
					must(t, b.Submit(&TaskSpec{Codelet: nop, Workers: []int{1}}))
				}
				c := rt.NewJob(context.Background(), JobOptions{Weight: 1})
				must(t, c.Submit(&TaskSpec{Codelet: nop, Workers: []int{1}}))
				if err := c.Wait(ctx); err != nil {
					t.Errorf("worker 1 did not run its task: %v", err)
				}
				stop.Store(true)
				close(over)
				for _, j := range []*Job{a, b, c} {
					must(t, j.Close())
				}
			})
		}
	}
}

// Goroutines of one kernel may give way at once.
func TestGoroutinesOfKernelGiveWay(t *testing.T) {
	rt, _ := start(t, Options{Workers: 1})
	rt.lanes.slice = 0
	a, b := rt.NewJob(context.Background(), JobOptions{Weight: 1}), rt.NewJob(context.Background(), JobOptions{Weight: 1})
	var stop atomic.Bool
	started := make(chan bool)
	must(t, a.Submit(&TaskSpec{Codelet: kernel("wide", func(c *TaskContext) error {
		started <- true
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for !stop.Load() {
					c.GiveWay()
				}
			})
		}
		all.Wait()
		return nil
	})}))
	<-started
	for range 200 {
		must(t, b.Submit(&TaskSpec{Codelet: nop}))
		must(t, b.Wait(context.Background()))
	}
	stop.Store(true)
	must(t, a.Close())
	must(t, b.Close())
}

// A worker that lent its turn becomes a member of a gang that only it can complete.
func TestGangOfWorkerThatLentItsTurn(t *testing.T) {
	rt, _ := start(t, Options{Workers: 3})
	rt.lanes.slice = 0
	var jobs [3]*Job
	for i := range jobs {
		jobs[i] = rt.NewJob(context.Background(), JobOptions{Weight: 1})
	}
	var stop atomic.Bool
	over, started := make(chan struct{}), make(chan bool)
	must(t, jobs[0].Submit(&TaskSpec{Workers: []int{0}, Codelet: kernel("gives way", func(c *TaskContext) error {
		started <- true
		for !stop.Load() {
			c.GiveWay()
		}
		return nil
	})}))
	<-started
	must(t, jobs[1].Submit(&TaskSpec{Workers: []int{0}, Codelet: kernel("long", func(*TaskContext) error {
		started <- true
		<-over
		return nil
	})}))
	<-started
	gang := &Codelet{Name: "gang", CPU: []Impl{func(c *TaskContext) error { return c.Barrier() }}, Traits: &Traits{Parallel: SPMD}}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for range 20 {
		_, err := jobs[2].SubmitWith(&TaskSpec{Codelet: gang, Workers: []int{1, 2}}, TaskOptions{Size: 2})
		must(t, err)
		if err := jobs[2].Wait(ctx); err != nil {
			t.Errorf("a gang of workers 1 and 2: %v", err)
			break
		}
		time.Sleep(time.Millisecond)
	}
	stop.Store(true)
	close(over)
	for _, j := range jobs {
		must(t, j.Close())
	}
}
