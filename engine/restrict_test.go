package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/enginetest"
	"github.com/starpush/starpush/engine/perf"
)

// Restrictions by kind, worker, set and predicate hold for every task.
func TestRestrictions(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		n := rt.Workers()
		var mu sync.Mutex
		ran := map[int]int{}
		c := kernel("where", func(c *TaskContext) error {
			mu.Lock()
			defer mu.Unlock()
			ran[c.Worker()]++
			return nil
		})
		last := func(w WorkerInfo) bool { return w.ID == n-1 }
		for name, r := range map[string]struct {
			s  TaskSpec
			o  TaskOptions
			ok []int
		}{
			"kind":      {TaskSpec{}, TaskOptions{Kinds: []string{"cuda", "cpu"}}, nil},
			"worker":    {TaskSpec{Workers: []int{n - 1}}, TaskOptions{}, []int{n - 1}},
			"set":       {TaskSpec{Workers: []int{0, n - 1}}, TaskOptions{}, []int{0, n - 1}},
			"predicate": {TaskSpec{}, TaskOptions{Allow: last}, []int{n - 1}},
			"several":   {TaskSpec{Workers: []int{0, n - 1}}, TaskOptions{Kinds: []string{"cpu"}, Allow: last}, []int{n - 1}},
		} {
			clear(ran)
			r.s.Codelet = c
			for range 10 {
				_, err := j.SubmitWith(&r.s, r.o)
				must(t, err)
			}
			must(t, j.Wait(context.Background()))
			total := 0
			for w, k := range ran {
				total += k
				if r.ok != nil && !slices.Contains(r.ok, w) {
					t.Errorf("%s: ran on worker %d", name, w)
				}
			}
			if total != 10 {
				t.Errorf("%s: %d ran", name, total)
			}
		}
		var none *NoWorkerError
		for name, r := range map[string]struct {
			s TaskSpec
			o TaskOptions
		}{
			"kind":              {TaskSpec{}, TaskOptions{Kinds: []string{"cuda"}}},
			"predicate":         {TaskSpec{}, TaskOptions{Allow: func(WorkerInfo) bool { return false }}},
			"worker and kind":   {TaskSpec{Workers: []int{99}}, TaskOptions{Kinds: []string{"cpu"}}},
			"nothing left over": {TaskSpec{Workers: []int{0}}, TaskOptions{Allow: func(w WorkerInfo) bool { return w.ID == 1 }}},
		} {
			r.s.Codelet = c
			if _, err := j.SubmitWith(&r.s, r.o); !errors.As(err, &none) || err.Error() == "" {
				t.Errorf("%s: %v", name, err)
			}
		}
		var p *PanicError
		if _, err := j.SubmitWith(&TaskSpec{Codelet: c}, TaskOptions{Allow: func(WorkerInfo) bool { panic("no") }}); !errors.As(err, &p) {
			t.Error(err)
		}
	})
}

// The implementation that runs can execute the task on its worker.
func TestCanExecute(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		var wrong, ran atomic.Int32
		impl := func(k int) Impl {
			return func(c *TaskContext) error {
				ran.Add(1)
				if k != c.Worker()%2 || len(iface.Slice[int64](c.Buffer(0))) != 3 {
					wrong.Add(1)
				}
				return nil
			}
		}
		c := &Codelet{Name: "two", CPU: []Impl{impl(0), impl(1)}, Traits: &Traits{
			CanExecute: func(w WorkerInfo, impl int, ops []iface.Desc, args []iface.Scalar) bool {
				return impl == w.ID%2 && ops[0].Dim[0] == 3
			}}}
		x, y := ints(t, rt, make([]int64, 3)), ints(t, rt, make([]int64, 4))
		for range 20 {
			must(t, j.Submit(&TaskSpec{Codelet: c, Operands: ops(iface.RW, x)}))
		}
		must(t, j.Wait(context.Background()))
		if ran.Load() != 20 || wrong.Load() != 0 {
			t.Error(ran.Load(), wrong.Load())
		}
		var none *NoWorkerError
		if err := j.Submit(&TaskSpec{Codelet: c, Operands: ops(iface.RW, y)}); !errors.As(err, &none) || none.Codelet != c {
			t.Error(err)
		}
	})
}

// Of several implementations each is tried, and the one that takes least wins;
// the reference takes the first.
func TestFastestImplementation(t *testing.T) {
	for _, o := range []Options{{Workers: 1}, {Workers: 2, Policy: "dmda"}, {Sequential: true}} {
		o.PerfDir = t.TempDir()
		rt, j := start(t, o)
		x := ints(t, rt, make([]int64, 1))
		var ran [3]atomic.Int32
		impl := func(k int) Impl {
			return func(c *TaskContext) error {
				ran[k].Add(1)
				iface.Slice[int64](c.Buffer(0))[0]++
				return nil
			}
		}
		cost := []float64{3, 1, 2}
		c := &Codelet{Name: "three", CPU: []Impl{impl(0), impl(1), impl(2)}, Model: &perf.Model{Kind: perf.PerArch, Cost: func(c *perf.Call) float64 { return cost[c.Impl] }}}
		for range 50 {
			must(t, j.Submit(&TaskSpec{Codelet: c, Operands: ops(iface.RW, x)}))
		}
		must(t, j.Wait(context.Background()))
		want := 1
		if o.Sequential {
			want = 0
		}
		if ran[want].Load() != 50 {
			t.Errorf("%+v: %d %d %d", o, ran[0].Load(), ran[1].Load(), ran[2].Load())
		}
		// without a model all are tried
		c = &Codelet{Name: "three measured", CPU: c.CPU}
		for i := range ran {
			ran[i].Store(0)
		}
		for range 100 {
			must(t, j.Submit(&TaskSpec{Codelet: c, Operands: ops(iface.RW, x)}))
		}
		must(t, j.Wait(context.Background()))
		for i := range ran {
			if n := ran[i].Load(); (n == 0) != (o.Sequential && i > 0) {
				t.Errorf("%+v: implementation %d ran %d times", o, i, n)
			}
		}
		must(t, j.Unregister(x))
	}
}

// A sequence on a worker is kept whatever the order of submission and readiness.
func TestPlaces(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		const n = 64
		var got []int64
		for batch := range 2 {
			var block []*Task
			for k := range n {
				b := j.NewTask(&TaskSpec{}, TaskOptions{})
				block = append(block, b)
				place := int64(batch*n + n - k)
				_, err := j.SubmitWith(&TaskSpec{Codelet: kernel("placed", func(*TaskContext) error { got = append(got, place); return nil }),
					Workers: []int{0}, After: []Dependency{b}}, TaskOptions{Place: place})
				must(t, err)
			}
			for k := range n {
				must(t, block[k*37%n].Submit())
			}
			must(t, j.Wait(context.Background()))
		}
		for i, p := range got {
			if p != int64(i+1) {
				t.Fatal(got)
			}
		}
		if len(got) != 2*n {
			t.Error(len(got))
		}
	})
}

// TestPlacesWaitForWhatIsMissing: an empty place in a sequence is not skipped. Tasks
// behind it still wait when the place before has ended, and a task can still take the
// place.
func TestPlacesWaitForWhatIsMissing(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		var got []int64 // one worker
		at := func(place int64) *Task {
			t.Helper()
			task, err := j.SubmitWith(&TaskSpec{Codelet: kernel("placed", func(*TaskContext) error { got = append(got, place); return nil }),
				Workers: []int{0}}, TaskOptions{Place: place})
			must(t, err)
			return task
		}
		at(6)
		at(5)
		at(3)
		must(t, at(1).Wait(context.Background()))
		at(4) // between those that are taken
		must(t, at(2).Wait(context.Background()))
		must(t, j.Wait(context.Background()))
		if want := []int64{1, 2, 3, 4, 5, 6}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}

func TestPlaceErrors(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		s := &TaskSpec{Codelet: nop, Workers: []int{0}}
		at := func(p int64) error { _, err := j.SubmitWith(s, TaskOptions{Place: p}); return err }
		var e *PlaceError
		must(t, at(1))
		must(t, j.Wait(context.Background()))
		must(t, at(3))
		for _, p := range []int64{1, 3, -1} {
			if err := at(p); !errors.As(err, &e) || e.Place != p || e.Error() == "" {
				t.Error(err)
			}
		}
		if _, err := j.SubmitWith(&TaskSpec{Codelet: nop}, TaskOptions{Place: 2}); !errors.As(err, &e) {
			t.Error(err)
		}
		var rep *RepeatError
		if _, err := j.SubmitWith(s, TaskOptions{Place: 2, Repeat: Forever}); !errors.As(err, &rep) {
			t.Error(err)
		}
		var stuck *StuckError
		if err := j.Wait(context.Background()); !errors.As(err, &stuck) || len(stuck.Tasks) != 1 || stuck.Tasks[0].Place != 2 {
			t.Error(err)
		}
		must(t, at(4))
		if err := j.Wait(context.Background()); !errors.As(err, &stuck) || len(stuck.Tasks) != 2 {
			t.Error(err)
		}
		// a task that fails, or is cancelled, does not hold up the sequence
		s.Codelet = bad
		must(t, at(2))
		must(t, j.Wait(context.Background()))
		s.Codelet = nop
		must(t, at(6))
		j.Cancel(errBoom)
		must(t, j.Wait(context.Background()))
		must(t, at(5))
		must(t, at(7))
		must(t, j.Wait(context.Background()))
		j.Failures()
	})
}

func TestOnEachWorker(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		var mu sync.Mutex
		ran := map[int]int{}
		fn := func(w WorkerInfo) error {
			mu.Lock()
			defer mu.Unlock()
			ran[w.ID]++
			return nil
		}
		must(t, rt.OnEachWorker(context.Background(), nil, fn))
		for w := range rt.Workers() {
			if ran[w] != 1 {
				t.Error(ran)
			}
		}
		clear(ran)
		last := rt.Workers() - 1
		must(t, rt.OnEachWorker(context.Background(), []int{last, last}, fn))
		if len(ran) != 1 || ran[last] != 1 {
			t.Error(ran)
		}
		var none *NoWorkerError
		if err := rt.OnEachWorker(context.Background(), []int{-1}, fn); !errors.As(err, &none) {
			t.Error(err)
		}
		if err := rt.OnEachWorker(context.Background(), nil, func(w WorkerInfo) error {
			if w.ID == last {
				return errBoom
			}
			return nil
		}); !errors.Is(err, errBoom) {
			t.Error(err)
		}
		var p *PanicError
		if err := rt.OnEachWorker(context.Background(), []int{0}, func(WorkerInfo) error { panic(1) }); !errors.As(err, &p) {
			t.Error(err)
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(errBoom)
		if err := rt.OnEachWorker(ctx, nil, fn); !errors.Is(err, errBoom) {
			t.Error(err)
		}
		k, err := j.SubmitWith(&TaskSpec{}, TaskOptions{Callback: func(*Task) error { return rt.OnEachWorker(context.Background(), nil, fn) }})
		must(t, err)
		must(t, k.Wait(context.Background()))
		if fs := j.Failures(); len(fs) != 1 || !errors.Is(fs[0], ErrWouldDeadlock) {
			t.Error(fs)
		}
	})
}

// The workers of devices are among them, also where kernels of the CPU do not run.
func TestOnEachWorkerOfDevices(t *testing.T) {
	rt, _ := start(t, Options{Workers: 2, Devices: []accel.Device{simulated(1<<10, 2)[0], toy{newFrail("toy", 1<<10, 1)}}})
	var mu sync.Mutex
	ran := map[string]int{}
	fn := func(w WorkerInfo) error {
		mu.Lock()
		defer mu.Unlock()
		ran[w.Arch]++
		return nil
	}
	must(t, rt.OnEachWorker(context.Background(), nil, fn))
	if ran["cpu"] != 4 || ran["toy"] != 1 || len(ran) != 2 {
		t.Error(ran)
	}
	var toys []int
	for i := range rt.Workers() {
		w, err := rt.Worker(i)
		must(t, err)
		if w.Arch == "toy" {
			toys = append(toys, i)
		}
	}
	must(t, rt.OnEachWorker(context.Background(), toys, fn))
	if ran["cpu"] != 4 || ran["toy"] != 2 {
		t.Error(ran)
	}
}

func TestWaitsForSome(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		var gates []*Gate
		var tasks []*Task
		for i := range 6 {
			gates = append(gates, j.NewGate())
			k, err := j.SubmitTask(&TaskSpec{Codelet: nop, Name: fmt.Sprint(i), After: []Dependency{gates[i]}})
			must(t, err)
			tasks = append(tasks, k)
		}
		if n := j.Unfinished(); n != 6 {
			t.Error(n, "unfinished")
		}
		must(t, j.WaitLeft(context.Background(), 6))
		stuckOn(t, j.WaitLeft(context.Background(), 5), gates[0], nil)
		gates[1].Open()
		gates[2].Open()
		must(t, j.WaitTasks(context.Background(), tasks[1:3]...))
		stuckOn(t, j.WaitTasks(context.Background(), tasks[1:4]...), gates[3], nil)
		must(t, j.WaitLeft(context.Background(), 4))
		must(t, rt.WaitNoReady(context.Background()))
		if n := rt.Ready(); n != 0 {
			t.Error(n, "ready")
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(errBoom)
		gates[0].Open()
		for _, g := range gates {
			g.Open()
		}
		must(t, j.WaitLeft(context.Background(), 0))
		must(t, rt.WaitNoReady(context.Background()))
		if err := j.WaitTasks(ctx, tasks[0]); err != nil && !errors.Is(err, errBoom) {
			t.Error(err)
		}
		in := make(chan error, 1)
		must(t, j.Submit(&TaskSpec{Codelet: kernel("waits", func(*TaskContext) error { in <- rt.WaitNoReady(context.Background()); return nil })}))
		if err := <-in; err != ErrWouldDeadlock {
			t.Error(err)
		}
		must(t, j.Wait(context.Background()))
	})
}

// Ready counts what runs and what could.
func TestReady(t *testing.T) {
	for _, o := range parallel {
		if o.Workers > 2 {
			continue
		}
		rt, j := start(t, o)
		enter, leave := make(chan struct{}), make(chan struct{})
		block := kernel("blocks", func(*TaskContext) error { enter <- struct{}{}; <-leave; return nil })
		for range o.Workers {
			must(t, j.Submit(&TaskSpec{Codelet: block}))
		}
		for range o.Workers {
			<-enter
		}
		for range 5 {
			must(t, j.Submit(&TaskSpec{Codelet: nop}))
		}
		if n := rt.Ready(); n != o.Workers+5 {
			t.Errorf("%+v: %d ready", o, n)
		}
		close(leave)
		must(t, j.Wait(context.Background()))
	}
}

// A submitter that has reached the upper limit goes on at the lower one.
func TestLimits(t *testing.T) {
	for _, o := range parallel {
		if o.Workers > 2 {
			continue
		}
		rt, _ := start(t, o)
		j := rt.NewJob(context.Background(), JobOptions{MaxInFlight: 8, MinInFlight: 4})
		leave := make(chan struct{})
		started := make(chan struct{}, 200)
		var most atomic.Int64
		done := make(chan error, 1)
		var after atomic.Int64
		go func() {
			for i := range 200 {
				err := j.Submit(&TaskSpec{Codelet: kernel("waits", func(*TaskContext) error { started <- struct{}{}; <-leave; return nil })})
				if err != nil {
					done <- err
					return
				}
				n := j.Unfinished()
				most.Store(max(most.Load(), n))
				if i == 8 {
					after.Store(n)
				}
			}
			done <- nil
		}()
		<-started
		enginetest.Eventually(t, "the submitter has nothing more to give", func() bool { return j.Unfinished() >= 8 })
		close(leave)
		must(t, <-done)
		must(t, j.Wait(context.Background()))
		if most.Load() > 9 || after.Load() > 5 {
			t.Errorf("%+v: %d at most, %d after it waited", o, most.Load(), after.Load())
		}
		must(t, j.Close())
	}
}
