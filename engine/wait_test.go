package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/enginetest"
	"github.com/starpush/starpush/engine/sched"
)

func stuckOn(t testing.TB, err error, gate *Gate, held *datamgr.Handle) {
	t.Helper()
	var s *StuckError
	if !errors.As(err, &s) {
		t.Errorf("got %v, want a StuckError", err)
		return
	}
	for _, k := range s.Tasks {
		if k.Gate == gate && k.Held == held {
			return
		}
	}
	if gate != nil || held != nil {
		t.Errorf("%v: %+v", err, s.Tasks)
	}
}

// Waits that would never end say so, and only those.
func TestStuck(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		x, y := ints(t, rt, make([]int64, 4)), ints(t, rt, make([]int64, 4))
		v, err := rt.Partition(x, filter.Blocks(2))
		must(t, err)
		g := j.NewGate()
		task, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, v.Parts[0]), After: []Dependency{g}})
		must(t, err)
		free, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, v.Parts[1])})
		must(t, err)
		behind, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, y), After: []Dependency{task}})
		must(t, err)
		must(t, free.Wait(context.Background()))
		must(t, j.WaitHandles(context.Background(), v.Parts[1]))
		stuckOn(t, j.Wait(context.Background()), g, nil)
		stuckOn(t, task.Wait(context.Background()), g, nil)
		stuckOn(t, behind.Wait(context.Background()), g, nil)
		stuckOn(t, j.WaitHandles(context.Background(), x), g, nil)
		stuckOn(t, j.WaitHandles(context.Background(), y), g, nil)
		_, err = j.Acquire(context.Background(), x, iface.R)
		stuckOn(t, err, g, nil)
		readable(t, j, v.Parts[1], 1)
		g.Open()
		must(t, j.Wait(context.Background()))
		must(t, j.WaitHandles(context.Background(), x, y))

		a, err := j.Acquire(context.Background(), x, iface.RW, &Site{File: "s", Line: 1})
		must(t, err)
		must(t, j.WaitHandles(context.Background(), x)) // held data is no task
		must(t, j.Wait(context.Background()))
		_, err = j.Acquire(context.Background(), v.Parts[0], iface.R)
		stuckOn(t, err, nil, nil)
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, v.Parts[0])}))
		stuckOn(t, j.Wait(context.Background()), nil, x)
		stuckOn(t, j.WaitHandles(context.Background(), x), nil, x)
		must(t, j.WaitHandles(context.Background(), v.Parts[1], y))
		must(t, a.Release())
		must(t, j.Wait(context.Background()))

		a, err = j.Acquire(context.Background(), x, iface.R)
		must(t, err)
		_, err = rt.Partition(x, filter.Blocks(4)) // cut what is held
		must(t, err)
		must(t, j.WaitHandles(context.Background(), x))
		reader, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: ops(iface.R, x)})
		must(t, err)
		must(t, reader.Wait(context.Background()))
		must(t, a.Release())
		must(t, a.Release())
	})
}

// Another job may open what this one cannot: that is no reason to give up.
func TestNotStuckBecauseOfOthers(t *testing.T) {
	for _, o := range parallel {
		rt, j := start(t, o)
		other := rt.NewJob(context.Background(), JobOptions{})
		x := ints(t, rt, make([]int64, 1))
		a, err := other.Acquire(context.Background(), x, iface.RW)
		must(t, err)
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, x)}))
		done := make(chan error)
		go func() { done <- j.Wait(context.Background()) }()
		select {
		case err := <-done:
			t.Error("gave up:", err)
		case <-time.After(5 * time.Millisecond):
		}
		must(t, a.Release())
		must(t, <-done)
		must(t, other.Close())
	}
}

func TestWaitHonoursContext(t *testing.T) {
	rt, _ := start(t, Options{Workers: 2})
	j := rt.NewJob(context.Background(), JobOptions{})
	x := ints(t, rt, make([]int64, 1))
	g := j.NewGate()
	task, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, x), After: []Dependency{g}})
	must(t, err)
	ctx, cancel := context.WithCancelCause(context.Background())
	go cancel(errBoom)
	for name, err := range map[string]error{"task": task.Wait(ctx), "job": j.Wait(ctx), "handles": j.WaitHandles(ctx, x)} {
		if err != errBoom {
			t.Error(name, err)
		}
	}
	if _, err := j.Acquire(ctx, x, iface.RW); err != errBoom {
		t.Error(err)
	}
	ctx, cancel = context.WithCancelCause(context.Background())
	time.AfterFunc(time.Millisecond, func() { cancel(errBoom) })
	if _, err := j.Acquire(ctx, x, iface.W); err != errBoom {
		t.Error(err)
	}
	g.Open()
	must(t, j.Wait(context.Background()))
	readable(t, j, x, 1) // the access that was given up wrote nothing: the value before it stays
	must(t, j.Submit(&TaskSpec{Codelet: nines, Operands: ops(iface.W, x)}))
	readable(t, j, x, 9)
	must(t, j.Close())
}

// Submit keeps to the window, and never waits for what only its caller can do.
func TestWindow(t *testing.T) {
	rt, _ := start(t, Options{Workers: 2})
	j := rt.NewJob(context.Background(), JobOptions{MaxInFlight: 8})
	var running, most atomic.Int64
	c := kernel("count", func(*TaskContext) error {
		running.Add(-1)
		return nil
	})
	for range 2000 {
		must(t, j.Submit(&TaskSpec{Codelet: c}))
		if n := running.Add(1); n > most.Load() {
			most.Store(n)
		}
	}
	must(t, j.Wait(context.Background()))
	if most.Load() > 9 {
		t.Errorf("%d tasks in flight", most.Load())
	}
	g := j.NewGate()
	x := ints(t, rt, make([]int64, 1))
	for range 100 { // all behind a gate that is opened later
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, x), After: []Dependency{g}}))
	}
	must(t, j.Submit(&TaskSpec{Codelet: kernel("submits", func(*TaskContext) error { // kernels are never held up
		for range 100 {
			if err := j.Submit(&TaskSpec{Codelet: nop}); err != nil {
				return err
			}
		}
		return nil
	})}))
	g.Open()
	must(t, j.Wait(context.Background()))
	if fs := j.Failures(); len(fs) > 0 {
		t.Error(fs)
	}
	must(t, j.Close())
}

func TestCloseWithTasksThatCannotRun(t *testing.T) {
	for _, o := range configs {
		rt, err := New(o)
		must(t, err)
		j := rt.NewJob(context.Background(), JobOptions{})
		x := ints(t, rt, make([]int64, 1))
		_, err = j.Acquire(context.Background(), x, iface.R)
		must(t, err)
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, x)}))
		must(t, j.Submit(&TaskSpec{Codelet: incs, After: []Dependency{j.NewGate()}}))
		stuckOn(t, rt.Close(), nil, x)
		stuckOn(t, rt.Close(), nil, x)
		for _, err := range []error{j.Submit(&TaskSpec{Codelet: nop}), j.Invalidate(x), j.Unregister(x)} {
			if err != ErrClosed {
				t.Error(err)
			}
		}
		if _, err := rt.Register(DataSpec{Kind: iface.Void}); err != ErrClosed {
			t.Error(err)
		}
		if _, err := j.Acquire(context.Background(), x, iface.R); err != ErrClosed {
			t.Error(err)
		}
		must(t, j.Close())

		rt, err = New(o)
		must(t, err)
		j = rt.NewJob(context.Background(), JobOptions{})
		g := j.NewGate()
		must(t, j.Submit(&TaskSpec{Codelet: incs, After: []Dependency{g}}))
		stuckOn(t, j.Close(), g, nil)
		must(t, rt.Close())
	}
}

// Several jobs use one runtime and one datum at the same time.
func TestJobsShareARuntime(t *testing.T) {
	for _, o := range configs {
		rt, j := start(t, o)
		x := make([]int64, 2)
		h := ints(t, rt, x)
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				j := rt.NewJob(context.Background(), JobOptions{DetectStuck: true, MaxInFlight: 50})
				defer j.Close()
				own := ints(t, rt, make([]int64, 1))
				for range 500 {
					if err := j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.Commute, h, iface.RW, own)}); err != nil {
						t.Error(err)
					}
				}
				readable(t, j, own, 500)
				if err := j.Wait(context.Background()); err != nil {
					t.Error(err)
				}
				if s := j.Stats(); s.Submitted != 500 || s.Done != 500 {
					t.Errorf("%+v", s)
				}
			})
		}
		all.Wait()
		readable(t, j, h, 3000)
	}
}

func TestPriorities(t *testing.T) { // P55
	for _, e := range sched.Table() {
		rt, j := start(t, Options{Workers: 1, Policy: e.Name})
		started, block := make(chan struct{}), make(chan struct{})
		must(t, j.Submit(&TaskSpec{Codelet: kernel("block", func(*TaskContext) error {
			close(started)
			<-block
			return nil
		})}))
		<-started // before it, the worker might take the tasks below as they come
		var got []int64
		c := kernel("note", func(c *TaskContext) error { got = append(got, c.Arg(0).Int()); return nil })
		for i, p := range []int{3, 1, 4, 1, 5, 9, 2, 6, 5, 3} {
			must(t, j.Submit(&TaskSpec{Codelet: c, Priority: p, Args: []iface.Scalar{iface.Int(int64(10*p + i))}}))
		}
		must(t, j.Submit(&TaskSpec{Codelet: c, Args: []iface.Scalar{iface.Int(-1)}}))
		close(block)
		must(t, j.Wait(context.Background()))
		want := []int64{95, 67, 54, 58, 42, 30, 39, 26, 11, 13, -1}
		if e.Priorities == sched.Front {
			want = []int64{30, 11, 42, 13, 54, 95, 26, 67, 58, 39, -1}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", e.Name, got, want)
		}
		_ = rt
	}
}

// TestPrioritiesOfWaitersForLocks: tasks that wait for a lock get it in the order of
// their priorities, if the policy respects priorities, and not in the order of their
// arrival.
func TestPrioritiesOfWaitersForLocks(t *testing.T) {
	for _, e := range sched.Table() {
		for _, mode := range []string{"commute", "unordered"} {
			rt, j := start(t, Options{Workers: 5, Policy: e.Name})
			priorities, want := []int{1, 5, 3, 5}, "bdca"
			if e.Priorities == sched.Front {
				priorities = []int{0, 2, -1, 0}
			}
			for range 20 {
				op := Operand{Handle: ints(t, rt, make([]int64, 4)), Mode: iface.Commute}
				if mode == "unordered" {
					op.Mode, op.Unordered = iface.RW, true
				}
				started, block := make(chan struct{}), make(chan struct{})
				must(t, j.Submit(&TaskSpec{Operands: []Operand{op}, Workers: []int{0},
					Codelet: kernel("block", func(*TaskContext) error { close(started); <-block; return nil })}))
				<-started
				got := ""
				for i, p := range priorities {
					must(t, j.Submit(&TaskSpec{Operands: []Operand{op}, Workers: []int{1, 2, 3, 4}, Priority: p,
						Codelet: kernel("note", func(*TaskContext) error { got += string(rune('a' + i)); return nil })}))
				}
				enginetest.Eventually(t, "all tasks have found the lock taken", func() bool { return rt.parking.parked.Load() >= 4 && rt.policy.Empty() })
				close(block)
				must(t, j.Wait(context.Background()))
				if e.Priorities == sched.Front && got[0] == 'b' { // the others as they came, to different workers
					got = want
				}
				if got != want {
					t.Errorf("%s, %s: %s, want %s", e.Name, mode, got, want)
				}
				must(t, j.Unregister(op.Handle))
			}
			must(t, j.Close())
			must(t, rt.Close())
		}
	}
}

// TestPrioritiesOfOneRelease: tasks freed by one release reach a worker in the order of
// their priorities, also if the worker looks before all of them are queued.
func TestPrioritiesOfOneRelease(t *testing.T) {
	for _, e := range sched.Table() {
		for _, o := range []TaskOptions{{}, {Prologue: func(*Task) error { return nil }}} {
			rt, j := start(t, Options{Workers: 1, Policy: e.Name})
			for range 20 {
				g := j.NewGate()
				last, bad := math.MaxInt, 0
				for i := range 200 {
					p := []int{i/2 - 10, i % 2}[e.Priorities%2] // all, or not positive and positive
					_, err := j.SubmitWith(&TaskSpec{Priority: p, After: []Dependency{g}, Codelet: kernel("note", func(*TaskContext) error {
						if p > last {
							bad++
						}
						last = p
						return nil
					})}, o)
					must(t, err)
				}
				g.Open()
				must(t, j.Wait(context.Background()))
				if bad > 0 {
					t.Errorf("%s: %d of 200 came too late", e.Name, bad)
				}
			}
			must(t, j.Close())
			must(t, rt.Close())
		}
	}
}

func TestWorkersRestriction(t *testing.T) { // P53
	for _, p := range sched.Names() {
		_, j := start(t, Options{Workers: 4, Policy: p})
		for _, ws := range [][]int{{0}, {3}, {1, 2}, {0, 3, 1}} {
			c := kernel("where", func(c *TaskContext) error {
				if !slices.Contains(ws, c.Worker()) {
					return fmt.Errorf("%v ran on %d", ws, c.Worker())
				}
				return nil
			})
			for range 40 {
				must(t, j.Submit(&TaskSpec{Codelet: c, Workers: ws}))
			}
		}
		must(t, j.Wait(context.Background()))
		for _, f := range j.Failures() {
			t.Error(f)
		}
	}
	// a worker that sleeps is found, when the one that was chosen is busy
	_, j := start(t, Options{Workers: 2})
	busy := make(chan struct{})
	met := kernel("meet", func(*TaskContext) error { busy <- struct{}{}; return nil })
	for range 50 {
		must(t, j.Submit(&TaskSpec{Codelet: met, Workers: []int{0, 1}}))
		must(t, j.Submit(&TaskSpec{Codelet: met, Workers: []int{0, 1}}))
		<-busy
		<-busy
	}
}

func TestStatsAndContext(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, _ *Job) {
		j := rt.NewJob(context.Background(), JobOptions{Stats: true})
		defer j.Close()
		x := ints(t, rt, make([]int64, 3))
		c := kernel("look", func(c *TaskContext) error {
			if c.NumBuffers() != 1 || c.Mode(0) != iface.RW || c.Arg(0).Int() != 5 || len(c.Args()) != 1 || c.Codelet().Name != "look" ||
				c.Worker() >= rt.Workers() || c.TaskID() != 1 || c.Name() != "n" || c.Buffer(0).Len() != 3 || c.Context().Err() != nil {
				return errors.New("wrong context")
			}
			if s := j.Stats(); !slices.Contains(s.Running, "look") {
				return fmt.Errorf("running: %v", s.Running)
			}
			return nil
		})
		must(t, j.Submit(&TaskSpec{Codelet: c, Operands: ops(iface.RW, x), Args: []iface.Scalar{iface.Int(5)}, Name: "n"}))
		for range 9 {
			must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, x)}))
		}
		must(t, j.Submit(&TaskSpec{Codelet: bad}))
		must(t, j.Wait(context.Background()))
		s := j.Stats()
		if len(j.Failures()) != 1 || s.Submitted != 11 || s.Done != 10 || s.Failed != 1 || len(s.Codelets) != 3 || len(s.Workers) != rt.Workers() {
			t.Errorf("%+v", s)
		}
		total := int64(0)
		for _, w := range s.Workers {
			total += w.Tasks
			if !strings.HasPrefix(w.Name, "cpu ") {
				t.Error(w.Name)
			}
		}
		if total != 11 || s.Codelets[1].Name != "inc" || s.Codelets[1].Tasks != 9 || s.Codelets[1].Submitted != 9 {
			t.Errorf("%+v", s)
		}
		if r := rt.Stats(); r.Submitted != 11 {
			t.Errorf("%+v", r)
		}
	})
}

func TestPoison(t *testing.T) {
	for _, o := range []Options{{Workers: 2, Poison: true}, {Sequential: true}} {
		rt, j := start(t, o)
		x := ints(t, rt, []int64{1, 2})
		f, err := rt.Register(DataSpec{Kind: iface.Matrix, Elem: iface.F32, Dims: []int{2, 2}})
		must(t, err)
		must(t, j.Submit(&TaskSpec{Codelet: kernel("look", func(c *TaskContext) error {
			for i := range 2 {
				for _, v := range iface.Slice[int64](c.Buffer(i)) {
					if v == 1 || v == 2 || v == 0 {
						return fmt.Errorf("operand %d shows %d", i, v)
					}
				}
			}
			if v := iface.Row[float32](c.Buffer(2), 1)[1]; v == v {
				return fmt.Errorf("a float shows %v", v)
			}
			return nil
		}), Operands: ops(iface.W, x, iface.Scratch, x, iface.W, f)}))
		must(t, j.Submit(&TaskSpec{Codelet: kernel("both", func(c *TaskContext) error {
			if c.Mode(0) != iface.W || iface.Slice[int64](c.Buffer(1))[0] != 9 {
				return errors.New("an operand that is read, too, was poisoned")
			}
			return nil
		}), Operands: ops(iface.W, nine(t, rt, j), iface.R, nineLast)}))
		must(t, j.Wait(context.Background()))
		for _, e := range j.Failures() {
			t.Error(e)
		}
	}
}

var nineLast *datamgr.Handle

func nine(t testing.TB, rt *Runtime, j *Job) *datamgr.Handle {
	nineLast = ints(t, rt, make([]int64, 1))
	must(t, j.Submit(&TaskSpec{Codelet: nines, Operands: ops(iface.W, nineLast)}))
	return nineLast
}

// Data is one fragment again when its views have ended and it is idle.
func TestFragmentsFallBack(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		x := make([]int64, 100)
		h := ints(t, rt, x)
		for round := range 50 {
			v, err := rt.Partition(h, filter.BlockSizes([]int{1 + round, 99 - round}))
			must(t, err)
			for _, p := range v.Parts {
				must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, p)}))
			}
			rt.EndView(v)
			must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, h)}))
		}
		must(t, j.Wait(context.Background()))
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, h)}))
		if n := h.Fragments(); n != 1 {
			t.Errorf("%d fragments", n)
		}
		readable(t, j, h, 101)
		// views are usable after it
		v, err := rt.Partition(h, filter.Blocks(4))
		must(t, err)
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, v.Parts[2])}))
		readable(t, j, v.Parts[2], 102)
		if n := h.Fragments(); n != 4 {
			t.Errorf("%d fragments", n)
		}
	})
}

func TestAllocationThatCannotBe(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		if bits.UintSize < 64 {
			t.Skip("data of 2 PiB has no size")
		}
		h := lazy(t, rt, 1<<(bits.UintSize-16), nil)
		must(t, j.Submit(&TaskSpec{Codelet: nines, Operands: ops(iface.W, h)}))
		must(t, j.Wait(context.Background()))
		if fs := j.Failures(); len(fs) != 1 || !strings.Contains(fs[0].Error(), "2 PiB") {
			t.Error(fs)
		}
		if _, err := j.Acquire(context.Background(), h, iface.W); err == nil {
			t.Error("acquired 2 PiB")
		}
		must(t, j.Submit(&TaskSpec{Codelet: nop, Operands: ops(iface.Scratch, h)}))
		must(t, j.Wait(context.Background()))
		if fs := j.Failures(); len(fs) != 1 {
			t.Error(fs)
		}
		must(t, j.Unregister(h))
		for _, dims := range [][]int{{1 << (bits.UintSize - 2), 4}, {-1, 2}, {2}} {
			if _, err := rt.Register(DataSpec{Kind: iface.Matrix, Elem: iface.F64, Dims: dims}); err == nil {
				t.Error(dims)
			}
		}
		if _, err := rt.RegisterFilled(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{4}}, func(*iface.Buffer) error { return errBoom }); err != errBoom {
			t.Error(err)
		}
		if _, err := rt.RegisterFilled(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{4}}, func(*iface.Buffer) error { panic(1) }); err == nil {
			t.Error("a panic while filling")
		}
		if b := rt.Nodes()[0].Allocated; b != 0 {
			t.Errorf("%d bytes left", b)
		}
	})
}

// 20 000 tasks of 3 operands wait behind held data, so that every round needs
// as many records, whatever the workers get done meanwhile. After the first
// round they are those of the round before.
func TestNoAllocationPerTask(t *testing.T) {
	rt, j := start(t, Options{Workers: 2})
	hs := make([]*datamgr.Handle, 16)
	for i := range hs {
		hs[i] = ints(t, rt, make([]int64, 1))
	}
	s := &TaskSpec{Codelet: nop, Operands: make([]Operand, 3), Args: []iface.Scalar{iface.Int(1)}}
	run := func() {
		var held []*Access
		for _, h := range hs {
			a, err := j.Acquire(context.Background(), h, iface.RW)
			must(t, err)
			held = append(held, a)
		}
		for i := range 20000 {
			s.Operands[0] = Operand{Handle: hs[i%16], Mode: iface.R}
			s.Operands[1] = Operand{Handle: hs[(i+5)%16], Mode: iface.R}
			s.Operands[2] = Operand{Handle: hs[(i+9)%16], Mode: iface.RW}
			must(t, j.Submit(s))
		}
		for _, a := range held {
			must(t, a.Release())
		}
		must(t, j.Wait(context.Background()))
	}
	run()
	if n := testing.AllocsPerRun(3, run); n > 2000 {
		t.Errorf("%v allocations for 20000 tasks", n)
	}
}

// Busy says of every piece of data whether a wait for it would wait.
func TestBusy(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		h, other := lazy(t, rt, 4, datamgr.SumReduction()), lazy(t, rt, 1, nil)
		busy := func(want string, hs ...*datamgr.Handle) {
			t.Helper()
			got := ""
			for _, h := range hs {
				b, err := j.Busy(h)
				must(t, err)
				got += map[bool]string{true: "x", false: "."}[b]
			}
			if got != want {
				t.Errorf("busy %q, want %q", got, want)
			}
		}
		ps := parts(t, rt, h, filter.Blocks(2))
		busy("....", h, ps[0], ps[1], other)
		must(t, j.Submit(&TaskSpec{Codelet: nop, Operands: ops(iface.W, h)}))
		g := j.NewGate()
		late, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, ps[1]), After: []Dependency{g}})
		must(t, err)
		must(t, j.WaitHandles(context.Background(), ps[0]))
		busy("x.x.", h, ps[0], ps[1], other)
		g.Open()
		must(t, late.Wait(context.Background()))
		must(t, j.WaitHandles(context.Background(), h))
		busy("....", h, ps[0], ps[1], other)

		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.Redux, h)}))
		must(t, j.WaitHandles(context.Background(), h))
		busy("...", h, ps[0], ps[1]) // what waits to be combined does not count
		a, err := j.Acquire(context.Background(), ps[0], iface.RW)
		must(t, err)
		busy("...", h, ps[0], ps[1]) // nor what the job holds itself
		behind, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: ops(iface.R, ps[0])})
		must(t, err)
		busy("xx.", h, ps[0], ps[1])
		must(t, a.Release())
		must(t, behind.Wait(context.Background()))
		must(t, j.WaitHandles(context.Background(), h))
		busy("...", h, ps[0], ps[1])

		must(t, j.Unregister(h))
		must(t, j.Wait(context.Background()))
		busy(".", h)
		var mode *ModeError
		if _, err := j.Busy(nil); !errors.As(err, &mode) {
			t.Error(err)
		}
		inside := true
		must(t, j.Submit(&TaskSpec{Codelet: kernel("asks", func(*TaskContext) error { inside, err = j.Busy(other); return err })}))
		must(t, j.Wait(context.Background()))
		if inside {
			t.Error("busy, said a kernel")
		}
	})
}

// Data that was waited for when its job was closed is given back by Close of the runtime,
// like all that jobs hold.
func TestCloseReleasesWhatCameLate(t *testing.T) {
	for _, o := range allConfigs() {
		rt, err := New(o)
		must(t, err)
		a, b := rt.NewJob(context.Background(), JobOptions{}), rt.NewJob(context.Background(), JobOptions{})
		x := ints(t, rt, make([]int64, 1))
		g := b.NewGate()
		must(t, b.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, x), After: []Dependency{g}}))
		access := make(chan *Access)
		go func() {
			h, err := a.Acquire(context.Background(), x, iface.RW)
			if err != nil {
				t.Error(err)
			}
			access <- h
		}()
		enginetest.Eventually(t, "the acquire waits", func() bool { return rt.waiters() > 0 })
		must(t, a.Close())
		g.Open()
		h := <-access
		must(t, b.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, x)}))
		late := time.AfterFunc(10*time.Second, func() { t.Error("Close waits for it"); _ = h.Release() })
		var stuck *StuckError
		if err := rt.Close(); !errors.As(err, &stuck) || len(stuck.Tasks) != 1 || stuck.Tasks[0].Held != x {
			t.Error(err)
		}
		late.Stop()
	}
}

// TestCloseJobTwiceAtOnce: each of two calls of Close returns when the job has ended.
func TestCloseJobTwiceAtOnce(t *testing.T) {
	for _, o := range allConfigs() {
		if o.Sequential {
			continue
		}
		rt, err := New(o)
		must(t, err)
		j := rt.NewJob(context.Background(), JobOptions{})
		end := make(chan struct{})
		k, err := j.SubmitTask(&TaskSpec{Codelet: kernel("long", func(*TaskContext) error { <-end; return nil })})
		must(t, err)
		first := make(chan error)
		go func() { first <- j.Close() }()
		enginetest.Eventually(t, "the job is closed", func() bool { return j.Submit(&TaskSpec{Codelet: nop}) == ErrClosed })
		time.AfterFunc(5*time.Millisecond, func() { close(end) })
		must(t, j.Close())
		if !k.Done() {
			t.Error("a task still runs")
		}
		must(t, <-first)
		must(t, j.Close())
		must(t, rt.Close())
	}
}

// waiters is how many goroutines wait for something to change.
func (rt *Runtime) waiters() int { return int(rt.waiting.n.Load() + rt.resting.n.Load()) }
