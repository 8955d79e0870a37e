package engine

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/enginetest"
)

// TestAcquireOnDevice: the bytes are on the node, and what is written there counts.
func TestAcquireOnDevice(t *testing.T) {
	dev := simulated(1<<10, 1)
	rt, j := start(t, Options{Workers: 1, Devices: dev})
	x := []int64{1, 2, 3, 4}
	h := ints(t, rt, x)
	v, err := rt.Partition(h, filter.Blocks(2))
	must(t, err)
	must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: h, Mode: iface.RW}}, Workers: []int{0}}))
	a, err := j.AcquireWith(context.Background(), h, iface.RW, AcquireOptions{Node: 1})
	must(t, err)
	got := iface.Slice[int64](a.Buffer()) // a simulated device has its memory in this process
	if !slices.Equal(got, []int64{2, 3, 4, 5}) {
		t.Errorf("on the device: %v", got)
	}
	if ram, there := present(t, j, h, 0), present(t, j, h, 1); ram.Valid != 0 || there.Valid != 32 {
		t.Errorf("while it is held RW: %+v, %+v", ram, there)
	}
	got[0], got[3] = 10, 40
	must(t, a.ReleasePart(v.Parts[0], iface.NoMode))
	must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: v.Parts[0], Mode: iface.RW}}, Workers: []int{0}}))
	must(t, a.ReleaseTo(iface.R))
	b, err := j.AcquireWith(context.Background(), v.Parts[1], iface.R, AcquireOptions{Node: 0})
	must(t, err)
	if got := iface.Slice[int64](b.Buffer()); !slices.Equal(got, []int64{4, 40}) {
		t.Errorf("beside it in main memory: %v", got)
	}
	must(t, b.Release())
	must(t, a.Release())
	if got := iface.Slice[int64](a.Buffer()); &got[0] == &x[0] {
		t.Error("that was main memory")
	}
	done := make(chan []int64, 1)
	must(t, j.AcquireFuncWith(v.Parts[1], iface.W, AcquireOptions{Node: 1}, func(a *Access, err error) {
		if err != nil {
			t.Error(err)
			done <- nil
			return
		}
		done <- slices.Clone(iface.Slice[int64](a.Buffer()))
		iface.Slice[int64](a.Buffer())[1] = 7
	}))
	if got := <-done; !slices.Equal(got, []int64{0, 0}) {
		t.Errorf("W begins with %v", got)
	}
	only, err := j.AcquireWith(context.Background(), v.Parts[1], iface.R, AcquireOptions{Node: 1, OrderOnly: true})
	must(t, err)
	if only.Buffer().Ptr != nil {
		t.Error("there are bytes before Fetch")
	}
	must(t, only.Fetch())
	if got := iface.Slice[int64](only.Buffer()); !slices.Equal(got, []int64{0, 7}) {
		t.Errorf("fetched %v", got)
	}
	must(t, only.Release())
	tried, err := j.TryAcquireWith(v.Parts[1], iface.R, AcquireOptions{Node: 1})
	must(t, err)
	if got := iface.Slice[int64](tried.Buffer()); !slices.Equal(got, []int64{0, 7}) {
		t.Errorf("tried: %v", got)
	}
	must(t, tried.Release())
	must(t, j.Unregister(h))
	must(t, j.Wait(context.Background()))
	if want := []int64{11, 4, 0, 7}; !slices.Equal(x, want) {
		t.Errorf("%v at home, want %v", x, want)
	}
	if m := rt.Nodes()[1]; m.Allocated != 0 {
		t.Errorf("%d bytes left on the device", m.Allocated)
	}
}

// TestNoRoomBesideWhatIsHeld: what the program holds on a device is not waited for
// where that could be for ever.
func TestNoRoomBesideWhatIsHeld(t *testing.T) {
	rt, j := start(t, Options{Workers: 1, Devices: simulated(80, 1)})
	big, h, o := ints(t, rt, make([]int64, 11)), ints(t, rt, make([]int64, 8)), ints(t, rt, make([]int64, 3))
	there := AcquireOptions{Node: 1}
	var full *accel.NoMemoryError
	if _, err := j.AcquireWith(context.Background(), big, iface.R, there); !errors.As(err, &full) || full.Want != 88 || full.Capacity != 80 {
		t.Errorf("more than there is: %v", err)
	}
	a, err := j.AcquireWith(context.Background(), h, iface.RW, there)
	must(t, err)
	if _, err := j.AcquireWith(context.Background(), o, iface.R, there); !errors.As(err, &full) {
		t.Errorf("beside what is held: %v", err)
	}
	must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: o, Mode: iface.RW}}}))
	must(t, j.Wait(context.Background())) // on the CPU, if not at first
	must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: o, Mode: iface.RW}}, Workers: []int{1}}))
	must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: o, Mode: iface.RW}}, Workers: []int{0}}))
	var stuck *StuckError
	if err := j.Wait(context.Background()); !errors.As(err, &stuck) || len(stuck.Tasks) != 1 || stuck.Tasks[0].Held != h {
		t.Errorf("waiting for a task that has no room: %v", err)
	}
	must(t, a.Release())
	must(t, j.Wait(context.Background()))
	b, err := j.Acquire(context.Background(), o, iface.R)
	must(t, err)
	if got := iface.Slice[int64](b.Buffer()); got[0] != 3 {
		t.Errorf("%v, want 3", got)
	}
	must(t, b.Release())
	if n := len(j.Failures()); n != 0 {
		t.Errorf("failures: %v", j.Failures())
	}
}

// TestAcquireOnDeviceInKernel: a kernel has memory that the access may need.
func TestAcquireOnDeviceInKernel(t *testing.T) {
	rt, j := start(t, Options{Workers: 1, Devices: simulated(80, 1)})
	h, o := ints(t, rt, make([]int64, 8)), ints(t, rt, make([]int64, 8))
	granted := make(chan error, 1)
	c := kernel("acquires", func(c *TaskContext) error {
		if _, err := j.TryAcquireWith(o, iface.R, AcquireOptions{Node: 1}); err != ErrWouldDeadlock {
			t.Errorf("in a kernel: %v", err)
		}
		return j.AcquireFuncWith(o, iface.RW, AcquireOptions{Node: 1}, func(a *Access, err error) {
			if err == nil {
				iface.Slice[int64](a.Buffer())[7] = 5
			}
			granted <- err
		})
	})
	must(t, j.Submit(&TaskSpec{Codelet: c, Operands: []Operand{{Handle: h, Mode: iface.RW}}, Workers: []int{1}}))
	must(t, <-granted)
	must(t, j.Wait(context.Background()))
	a, err := j.Acquire(context.Background(), o, iface.R)
	must(t, err)
	if got := iface.Slice[int64](a.Buffer())[7]; got != 5 {
		t.Errorf("%v, want 5", got)
	}
	must(t, a.Release())
}

func TestAcquireOnLostDevice(t *testing.T) {
	d := newFrail("a", 1<<10, 1)
	rt, j := start(t, Options{Workers: 1, Devices: []accel.Device{d}})
	h, o := ints(t, rt, make([]int64, 2)), ints(t, rt, make([]int64, 2))
	a, err := j.AcquireWith(context.Background(), h, iface.RW, AcquireOptions{Node: 1})
	must(t, err)
	rt.reg.Lose(1, &accel.LostError{Device: "a", Err: errWire})
	must(t, a.Release())
	var lost *accel.LostError
	if _, err := j.AcquireWith(context.Background(), o, iface.R, AcquireOptions{Node: 1}); !errors.As(err, &lost) {
		t.Errorf("on a device that is lost: %v", err)
	}
	var failed *FailedDataError
	if _, err := j.Acquire(context.Background(), h, iface.R); !errors.As(err, &failed) || !errors.Is(err, errWire) {
		t.Errorf("what was held there: %v", err)
	}
	b, err := j.Acquire(context.Background(), o, iface.R)
	must(t, err)
	must(t, b.Release())
	_ = j.Failures()
}

// releases is a listener that stops the goroutine that releases an access, while it does.
type releases struct{ ending, goOn chan struct{} }

func (l *releases) TaskEvent(e *Event) {
	if e.Kind == TaskDone && e.Internal == "acquire" {
		close(l.ending)
		<-l.goOn
	}
}

// TestNoRoomYet: a task that finds no room while the program is giving some back waits
// for it.
func TestNoRoomYet(t *testing.T) {
	l := &releases{make(chan struct{}), make(chan struct{})}
	rt, j := start(t, Options{Workers: 1, Devices: simulated(80, 1), Listener: l})
	h, x := ints(t, rt, make([]int64, 8)), make([]int64, 3)
	o := ints(t, rt, x)
	a, err := j.AcquireWith(context.Background(), h, iface.RW, AcquireOptions{Node: 1})
	must(t, err)
	released := make(chan error)
	go func() { released <- a.Release() }()
	<-l.ending
	must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, o), Workers: []int{1}}))
	roomless(t, j)
	close(l.goOn)
	must(t, <-released)
	must(t, j.Wait(context.Background()))
	for _, f := range j.Failures() {
		t.Error(f)
	}
	must(t, j.Unregister(o))
	must(t, j.Wait(context.Background()))
	if x[0] != 1 {
		t.Errorf("%v, want 1", x)
	}
}

// roomless returns when a task of j waits for room on node 1, or has failed.
func roomless(t *testing.T, j *Job) {
	t.Helper()
	enginetest.Eventually(t, "a task waits for room", func() bool {
		if j.Stats().Failed > 0 { // first: it takes the lock itself
			return true
		}
		sub := j.rt.reg.Lock()
		defer sub.Unlock()
		return len(j.rt.memoryWaiters.waiting[1]) > 0
	})
}

// TestNoMoreRoom: a task that waits for room which the program holds waits no longer when
// it is cancelled.
func TestNoMoreRoom(t *testing.T) {
	for name, end := range map[string]func(*Job){
		"cancelled": func(j *Job) { j.Cancel(errWire) },
	} {
		t.Run(name, func(t *testing.T) {
			rt, _ := start(t, Options{Workers: 1, Devices: simulated(80, 1)})
			j := rt.NewJob(context.Background(), JobOptions{DetectStuck: true})
			h, o := ints(t, rt, make([]int64, 8)), ints(t, rt, make([]int64, 3))
			a, err := j.AcquireWith(context.Background(), h, iface.RW, AcquireOptions{Node: 1})
			must(t, err)
			k, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, o), Workers: []int{1}})
			must(t, err)
			roomless(t, j)
			end(j)
			must(t, j.Wait(context.Background()))
			if err := k.Err(); !errors.Is(err, errWire) {
				t.Error(err)
			}
			must(t, a.Release())
			_ = j.Failures()
			must(t, j.Close())
		})
	}
}

// Callbacks of AcquireFunc, and what Close does about them.

// closing says how a program ends what it does: one of these may be used.
var closing = map[string]func(rt *Runtime, j *Job) error{
	"job":     func(_ *Runtime, j *Job) error { return j.Close() },
	"runtime": func(rt *Runtime, _ *Job) error { return rt.Close() },
}

// Close waits for a callback that uses data, and does not take the data away.
func TestCloseWaitsForCallbacks(t *testing.T) {
	for name, end := range closing {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
				x := make([]int64, 1)
				h := ints(t, rt, x)
				g := j.NewGate()
				began, kept := make(chan struct{}), false
				must(t, j.AcquireFunc(h, iface.RW, func(a *Access, err error) {
					close(began)
					enginetest.Eventually(t, "the job or the runtime is closed", func() bool { return j.Submit(&TaskSpec{Codelet: nop}) == ErrClosed })
					g.Open() // still allowed
					for range 1000 {
						runtime.Gosched()
					}
					kept = a.Mode() == iface.RW
					iface.Slice[int64](a.Buffer())[0] = 5
				}))
				<-began
				must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, h)}))
				must(t, j.Submit(&TaskSpec{Codelet: incs, After: []Dependency{g}}))
				must(t, end(rt, j))
				if !kept || x[0] != 6 {
					t.Errorf("the callback kept its data: %v; value %d, want 6", kept, x[0])
				}
			})
		})
	}
}

// TestAsync: an access that its callback does not release is held until the program does, and Close waits for that. One that is refused, and one
// whose callback panics, hold nothing.
func TestAsync(t *testing.T) {
	for name, end := range closing {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
				x, y, z := make([]int64, 1), make([]int64, 1), make([]int64, 1)
				hx, hy, hz := ints(t, rt, x), ints(t, rt, y), ints(t, rt, z)
				held := make(chan *Access, 1)
				must(t, j.AcquireFuncWith(hx, iface.RW, AcquireOptions{Async: true}, func(a *Access, err error) {
					iface.Slice[int64](a.Buffer())[0] = 5
					held <- a
				}))
				must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, hx)}))
				must(t, j.AcquireFuncWith(hy, iface.RW, AcquireOptions{Async: true}, func(*Access, error) { panic("async") }))
				must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, hy)}))
				must(t, j.AcquireFuncWith(hz, iface.W, AcquireOptions{Async: true}, func(a *Access, err error) {
					go func() { _ = a.Fail(errors.New("no value came")) }()
				}))
				var lost *FailedDataError
				refused := make(chan error, 1)
				must(t, j.AcquireFuncWith(hz, iface.R, AcquireOptions{Async: true}, func(a *Access, err error) { refused <- err }))
				if err := <-refused; !errors.As(err, &lost) {
					t.Errorf("of data that was lost: %v", err)
				}
				a := <-held
				if a.Mode() != iface.RW {
					t.Error("the access is not held after its callback")
				}
				released := make(chan struct{})
				go func() {
					defer close(released)
					enginetest.Eventually(t, "the job or the runtime is closed", func() bool { return j.Submit(&TaskSpec{Codelet: nop}) == ErrClosed })
					if x[0] > 5 {
						t.Error("a task ran while the data was held")
					}
					_ = a.Release()
				}()
				_ = end(rt, j) // a callback has panicked
				<-released
				if x[0] != 6 || y[0] != 1 {
					t.Errorf("%d and %d, want 6 and 1", x[0], y[0])
				}
			})
		})
	}
}

// A callback that never gets its data runs when the program ends.
func TestCloseGivesDataToCallbacks(t *testing.T) {
	for name, end := range closing {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
				h := ints(t, rt, make([]int64, 1))
				_, err := j.Acquire(context.Background(), h, iface.RW) // and forgotten
				must(t, err)
				ran := false
				must(t, j.AcquireFunc(h, iface.R, func(a *Access, err error) { ran = err == nil }))
				must(t, end(rt, j))
				if !ran {
					t.Error("the callback did not run")
				}
			})
		})
	}
}

// A callback that submits waits for room in the window, as the program does.
func TestCallbackWaitsForRoom(t *testing.T) {
	const window, tasks = 8, 100
	rt, _ := start(t, Options{Workers: 2})
	j := rt.NewJob(context.Background(), JobOptions{MaxInFlight: window})
	hold, done := make(chan struct{}), make(chan struct{})
	wait := kernel("wait", func(*TaskContext) error { <-hold; return nil })
	var submitted atomic.Int64
	must(t, j.AcquireFunc(ints(t, rt, make([]int64, 1)), iface.RW, func(*Access, error) {
		defer close(done)
		for range tasks {
			if err := j.Submit(&TaskSpec{Codelet: wait}); err != nil {
				t.Error(err)
			}
			submitted.Add(1)
		}
	}))
	enginetest.Eventually(t, "the window is full", func() bool { return submitted.Load() >= window-1 })
	time.Sleep(10 * time.Millisecond) // for submissions that do not wait
	if n := submitted.Load(); n > window {
		t.Errorf("%d tasks were submitted, into a window of %d", n, window)
	}
	close(hold)
	<-done
	must(t, j.Wait(context.Background()))
	must(t, j.Close())
}

// A callback that would wait for itself gets an error.
func TestCallbackThatWaitsForItself(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		h := ints(t, rt, make([]int64, 1))
		errs := make(chan error, 4)
		own := make(chan struct{})
		must(t, j.AcquireFunc(h, iface.RW, func(a *Access, err error) {
			errs <- j.Close()
			errs <- rt.Close()
			must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, h)}))
			close(own)
			errs <- j.Wait(context.Background())
			must(t, a.Release())
			errs <- j.Wait(context.Background())
		}))
		<-own
		for _, want := range []error{ErrWouldDeadlock, ErrWouldDeadlock} {
			if err := <-errs; err != want {
				t.Error(err)
			}
		}
		stuckOn(t, <-errs, nil, h)
		must(t, <-errs)
		readable(t, j, h, 1)
	})
	for name, end := range closing { // of a job whose waits do not look
		t.Run(name, func(t *testing.T) {
			for _, o := range configs {
				rt, err := New(o)
				must(t, err)
				j := rt.NewJob(context.Background(), JobOptions{})
				h := ints(t, rt, make([]int64, 1))
				began := make(chan struct{})
				var got error
				must(t, j.AcquireFunc(h, iface.RW, func(a *Access, err error) {
					must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, h)}))
					close(began)
					got = j.Wait(context.Background())
				}))
				<-began
				err = end(rt, j)
				var s *StuckError
				if err != nil && !errors.As(err, &s) {
					t.Error(err)
				}
				stuckOn(t, got, nil, h)
				must(t, j.Close())
				if err := rt.Close(); err != nil && !errors.As(err, &s) {
					t.Error(err)
				}
			}
		})
	}
}

// TestGateOfAClosedJob: a gate outlives its job, and still releases tasks of other jobs.
func TestGateOfAClosedJob(t *testing.T) {
	for _, o := range configs {
		rt, err := New(o)
		must(t, err)
		j, other := rt.NewJob(context.Background(), JobOptions{}), rt.NewJob(context.Background(), JobOptions{})
		g := other.NewGate()
		must(t, other.Close())
		h := ints(t, rt, make([]int64, 1))
		task, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, h), After: []Dependency{g}})
		must(t, err)
		if task.Done() {
			t.Error("the gate is closed")
		}
		g.Open()
		must(t, task.Wait(context.Background()))
		readable(t, j, h, 1)
		g = other.NewGate()
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, h), After: []Dependency{g}}))
		stuckOn(t, rt.Close(), g, nil)
		must(t, j.Close())
		sub := rt.reg.Lock()
		if n := len(rt.jobs); n != 0 {
			t.Errorf("%d jobs left", n)
		}
		sub.Unlock()
	}
}

// Waiting for a part whose view ended: also for what uses its elements since.
func TestWaitForAPartOfAnEndedView(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		h := ints(t, rt, make([]int64, 8))
		v, err := rt.Partition(h, filter.Blocks(2))
		must(t, err)
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, v.Parts[0])}))
		must(t, j.Wait(context.Background()))
		rt.EndView(v)
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, h)})) // one fragment again
		must(t, j.Wait(context.Background()))
		if n := h.Fragments(); n != 1 {
			t.Fatalf("%d fragments", n)
		}
		g := j.NewGate()
		ran := false
		must(t, j.Submit(&TaskSpec{Codelet: kernel("late", func(*TaskContext) error { ran = true; return nil }),
			Operands: ops(iface.RW, h), After: []Dependency{g}}))
		stuckOn(t, j.WaitHandles(context.Background(), v.Parts[0]), g, nil)
		g.Open()
		must(t, j.WaitHandles(context.Background(), v.Parts[0]))
		if !ran {
			t.Error("returned before the task that uses its elements")
		}
	})
}

// An acquire W that is given up loses only what had no value.
func TestRefusedWriteKeepsParts(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		h := lazy(t, rt, 9, nil)
		v, err := rt.Partition(h, filter.Blocks(3))
		must(t, err)
		must(t, j.Submit(&TaskSpec{Codelet: nines, Operands: ops(iface.W, v.Parts[0])}))
		must(t, j.Submit(&TaskSpec{Codelet: bad, Operands: ops(iface.W, v.Parts[1])}))
		must(t, j.Wait(context.Background()))
		lost := j.Failures()[0].ID
		giveUp := func(hs ...*datamgr.Handle) {
			t.Helper()
			g := j.NewGate()
			must(t, j.Submit(&TaskSpec{Codelet: nop, Operands: ops(iface.R, v.Parts[0]), After: []Dependency{g}}))
			for _, h := range hs {
				_, err := j.Acquire(context.Background(), h, iface.W)
				stuckOn(t, err, g, nil)
			}
			g.Open()
		}
		giveUp(h, h)
		readable(t, j, v.Parts[0], 9)
		lostBy(t, j, v.Parts[1], lost)
		var e *FailedDataError
		if _, err := j.Acquire(context.Background(), v.Parts[2], iface.R); !errors.As(err, &e) || !e.Task.Dropped {
			t.Errorf("what had no value reads as %v", err)
		}
		must(t, j.Submit(&TaskSpec{Codelet: nines, Operands: ops(iface.W, h)}))
		readable(t, j, h, 9)
	})
}

// Giving held data back in part.

func parts(t testing.TB, rt *Runtime, h *datamgr.Handle, fs ...filter.Filter) []*datamgr.Handle {
	t.Helper()
	v, err := rt.Partition(h, fs...)
	must(t, err)
	return v.Parts
}

// now asserts that a task with these operands can run.
func now(t testing.TB, j *Job, ops []Operand) {
	t.Helper()
	task, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: ops})
	must(t, err)
	must(t, task.Wait(context.Background()))
}

// later submits a task that has to wait for held.
func later(t testing.TB, j *Job, held *datamgr.Handle, ops []Operand) *Task {
	t.Helper()
	task, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: ops})
	must(t, err)
	stuckOn(t, task.Wait(context.Background()), nil, held)
	return task
}

func TestReleasePart(t *testing.T) {
	const R, W, RW, none = iface.R, iface.W, iface.RW, iface.NoMode
	type world struct {
		*testing.T
		rt *Runtime
		j  *Job
		h  *datamgr.Handle
		a  *Access
	}
	acquire := func(w *world, m iface.AccessMode) {
		var err error
		w.a, err = w.j.Acquire(context.Background(), w.h, m)
		must(w, err)
	}
	for name, run := range map[string]func(w *world){
		"cut before": func(w *world) {
			p := parts(w, w.rt, w.h, filter.Blocks(4))
			acquire(w, RW)
			must(w, w.a.ReleasePart(p[2], none))
			now(w, w.j, ops(RW, p[2]))
			later(w, w.j, w.h, ops(RW, p[1]))
			must(w, w.a.ReleasePart(p[1], none))
			now(w, w.j, ops(RW, p[1], R, p[2]))
		},
		"cut while held": func(w *world) {
			acquire(w, W)
			p := parts(w, w.rt, w.h, filter.Blocks(4))
			must(w, w.a.ReleasePart(p[0], none))
			now(w, w.j, ops(RW, p[0]))
			later(w, w.j, w.h, ops(R, p[3]))
			must(w, w.a.ReleasePart(p[3], R))
			now(w, w.j, ops(R, p[3]))
			later(w, w.j, w.h, ops(RW, p[3]))
		},
		"cut twice while held": func(w *world) {
			acquire(w, RW)
			p := parts(w, w.rt, w.h, filter.Blocks(2))
			q := parts(w, w.rt, p[0], filter.Blocks(2))
			must(w, w.a.ReleasePart(q[1], none))
			now(w, w.j, ops(RW, q[1]))
			later(w, w.j, w.h, ops(RW, q[0]))
			later(w, w.j, w.h, ops(R, p[1]))
			must(w, w.a.ReleasePart(p[1], none))
			now(w, w.j, ops(RW, p[1]))
		},
		"readers wait in a piece": func(w *world) {
			acquire(w, RW)
			p := parts(w, w.rt, w.h, filter.Blocks(2))
			reader := later(w, w.j, w.h, ops(R, p[0]))
			q := parts(w, w.rt, p[0], filter.Blocks(2))
			must(w, w.a.ReleasePart(p[1], none))
			now(w, w.j, ops(RW, p[1]))
			must(w, w.a.ReleasePart(q[0], none)) // the reader needs both
			later(w, w.j, w.h, ops(R, q[0]))
			must(w, w.a.ReleasePart(q[1], none)) // that was all
			must(w, reader.Wait(context.Background()))
			now(w, w.j, ops(RW, w.h))
		},
		"a writer waits for the whole": func(w *world) {
			acquire(w, RW)
			writer := later(w, w.j, w.h, ops(RW, w.h))
			p := parts(w, w.rt, w.h, filter.Blocks(2))
			must(w, w.a.ReleasePart(p[0], none))
			later(w, w.j, w.h, ops(R, p[0]))
			must(w, w.a.ReleasePart(p[1], none))
			must(w, writer.Wait(context.Background()))
		},
		"readers of the whole step in": func(w *world) {
			acquire(w, RW)
			reader := later(w, w.j, w.h, ops(R, w.h))
			p := parts(w, w.rt, w.h, filter.Blocks(2))
			must(w, w.a.ReleasePart(p[0], R))
			must(w, w.a.ReleasePart(p[1], R))
			must(w, reader.Wait(context.Background()))
			if m := w.a.Mode(); m != R {
				w.Errorf("mode %v", m)
			}
			must(w, w.a.ReleasePart(p[1], none))
			now(w, w.j, ops(RW, p[1]))
			later(w, w.j, w.h, ops(RW, p[0]))
		},
		"read only": func(w *world) {
			acquire(w, R)
			other, err := w.j.Acquire(context.Background(), w.h, R)
			must(w, err)
			p := parts(w, w.rt, w.h, filter.Blocks(2))
			must(w, w.a.ReleasePart(p[0], none))
			later(w, w.j, w.h, ops(RW, p[0]))
			must(w, other.Release())
			must(w, w.j.WaitHandles(context.Background(), p[0]))
			now(w, w.j, ops(RW, p[0]))
			later(w, w.j, w.h, ops(RW, p[1]))
		},
		"commuters and locks": func(w *world) {
			p := parts(w, w.rt, w.h, filter.Blocks(2))
			for _, h := range p { // makes locks
				must(w, w.j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: h, Mode: RW, Unordered: true}}}))
			}
			acquire(w, RW)
			task, err := w.j.SubmitTask(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: p[0], Mode: R, Unordered: true}}})
			must(w, err)
			stuckOn(w, task.Wait(context.Background()), nil, w.h)
			must(w, w.a.ReleasePart(p[0], R))
			must(w, task.Wait(context.Background()))
			must(w, w.a.ReleasePart(p[0], none))
			now(w, w.j, []Operand{{Handle: p[0], Mode: RW, Unordered: true}})
			now(w, w.j, ops(iface.Commute, p[0]))
		},
		"unordered": func(w *world) {
			p := parts(w, w.rt, w.h, filter.Blocks(2))
			var err error
			w.a, err = w.j.AcquireWith(context.Background(), w.h, RW, AcquireOptions{Unordered: true})
			must(w, err)
			later(w, w.j, w.h, ops(R, p[0]))
			must(w, w.a.ReleasePart(p[0], none))
			now(w, w.j, ops(RW, p[0]))
			must(w, w.j.WaitHandles(context.Background(), p[0]))
		},
		"what cannot be": func(w *world) {
			p := parts(w, w.rt, w.h, filter.Blocks(2))
			q := parts(w, w.rt, w.h, filter.Blocks(4))
			other := ints(w, w.rt, make([]int64, 8))
			acquire(w, RW)
			refuse := func(h *datamgr.Handle, m iface.AccessMode) {
				w.Helper()
				var e *ModeError
				if err := w.a.ReleasePart(h, m); !errors.As(err, &e) {
					w.Errorf("%v: %v", m, err)
				}
			}
			refuse(nil, R)
			refuse(other, R)
			refuse(other, none)
			refuse(p[0], iface.Commute)
			must(w, w.a.ReleasePart(p[0], RW))
			must(w, w.a.ReleasePart(p[0], W))
			must(w, w.a.ReleasePart(q[0], R))
			must(w, w.a.ReleasePart(q[0], R))
			refuse(q[0], RW)
			refuse(p[0], W)
			must(w, w.a.ReleasePart(p[0], none))
			refuse(q[1], R)
			refuse(p[0], none)
			refuse(w.h, iface.Scratch)
			must(w, w.a.ReleaseTo(R))
			refuse(p[1], W)
			must(w, w.a.ReleasePart(p[1], none))
			refuse(p[1], R)
			now(w, w.j, ops(RW, w.h))
		},
	} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
				w := &world{T: t, rt: rt, j: j, h: ints(t, rt, make([]int64, 8))}
				run(w)
				must(t, w.a.Release())
				must(t, j.Wait(context.Background()))
				now(t, j, ops(iface.RW, w.h))
			})
		})
	}
}

// Acquired for its place in the order only.
func TestOrderOnly(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		only := AcquireOptions{OrderOnly: true}
		var none *UninitError
		var gone *FailedDataError
		var mode *ModeError

		x := lazy(t, rt, 1<<20, nil)
		a, err := j.AcquireWith(context.Background(), x, iface.W, only)
		must(t, err)
		if b := a.Buffer(); b.Ptr != nil || b.Len() != 1<<20 || rt.Nodes()[0].Allocated != 0 {
			t.Errorf("%+v", b)
		}
		writer := later(t, j, x, ops(iface.W, x))
		if err := a.Fetch(); !errors.As(err, &none) {
			t.Errorf("fetching what had no value: %v", err)
		}
		if !x.Initialised() { // by the writer, not by this
			t.Error("no value although a writer was submitted")
		}
		must(t, a.Release())
		must(t, writer.Wait(context.Background()))
		if err := a.Fetch(); !errors.As(err, &mode) {
			t.Errorf("fetching what was released: %v", err)
		}

		y := ints(t, rt, []int64{3, 3})
		a, err = j.AcquireWith(context.Background(), y, iface.W, only)
		must(t, err)
		must(t, a.Fetch())
		must(t, a.Fetch())
		if s := iface.Slice[int64](a.Buffer()); s[0] != 3 || a.Mode() != iface.RW {
			t.Errorf("%v, mode %v", s, a.Mode())
		}
		iface.Slice[int64](a.Buffer())[0], iface.Slice[int64](a.Buffer())[1] = 4, 4
		must(t, a.Release())
		readable(t, j, y, 4)

		a, err = j.AcquireWith(context.Background(), y, iface.RW, only) // and does not touch the value
		must(t, err)
		must(t, a.ReleaseTo(iface.R))
		now(t, j, ops(iface.R, y))
		must(t, a.Fetch())
		must(t, a.Release())
		readable(t, j, y, 4)

		p := parts(t, rt, y, filter.Blocks(2))
		a, err = j.AcquireWith(context.Background(), y, iface.RW, only)
		must(t, err)
		must(t, a.ReleasePart(p[0], iface.NoMode))
		if err := a.Fetch(); !errors.As(err, &mode) {
			t.Errorf("fetching what was released in part: %v", err)
		}
		must(t, a.Release())

		must(t, j.Submit(&TaskSpec{Codelet: bad, Operands: ops(iface.RW, y)}))
		a, err = j.AcquireWith(context.Background(), y, iface.RW, only)
		must(t, err) // the order does not look at values
		if err := a.Fetch(); !errors.As(err, &gone) || len(j.Failures()) != 0 {
			t.Errorf("fetching what was lost: %v", err)
		}
		must(t, a.Release())

		v, err := rt.Register(DataSpec{Kind: iface.Void})
		must(t, err)
		a, err = j.AcquireWith(context.Background(), v, iface.RW, only)
		must(t, err)
		must(t, a.Fetch())
		later(t, j, v, ops(iface.R, v))
		must(t, a.Release())
	})
}

func TestNodes(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		x := ints(t, rt, []int64{3})
		for _, node := range []int{-1, 1, math.MaxInt} {
			var e *NoNodeError
			o := AcquireOptions{Node: node}
			_, err := j.AcquireWith(context.Background(), x, iface.R, o)
			if !errors.As(err, &e) || e.Node != node || len(e.Nodes) != 1 || e.Nodes[0].Name != "ram" {
				t.Error(err)
			}
			if _, err := j.TryAcquireWith(x, iface.R, o); !errors.As(err, &e) {
				t.Error(err)
			}
			if err := j.AcquireFuncWith(x, iface.R, o, func(*Access, error) { t.Error("called") }); !errors.As(err, &e) {
				t.Error(err)
			}
		}
		a, err := j.AcquireWith(context.Background(), x, iface.R, AcquireOptions{Node: 0, Site: &Site{File: "f"}})
		must(t, err)
		must(t, a.Release())
	})
}

func TestAcquireThatCannotBe(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		x := ints(t, rt, []int64{3})
		var e *ModeError
		for _, m := range []iface.AccessMode{iface.NoMode, iface.Commute, iface.Redux, iface.Scratch, 99} {
			if _, err := j.Acquire(context.Background(), x, m); !errors.As(err, &e) {
				t.Error(m, err)
			}
		}
		if _, err := j.AcquireWith(context.Background(), x, iface.RW, AcquireOptions{Partial: true}); !errors.As(err, &e) {
			t.Error(err)
		}
		if err := j.AcquireFunc(nil, iface.R, func(*Access, error) {}); !errors.As(err, &e) {
			t.Error(err)
		}
		if err := j.AcquireFunc(x, iface.R, nil); !errors.As(err, &e) {
			t.Error(err)
		}
		must(t, j.Unregister(x))
		var dead *DeadHandleError
		if _, err := j.TryAcquire(x, iface.R); !errors.As(err, &dead) {
			t.Error(err)
		}
		ro, err := rt.Register(DataSpec{Kind: iface.Variable, Elem: iface.I64, Home: ptr([]int64{1}), ReadOnly: true})
		must(t, err)
		var only *ReadOnlyError
		if _, err := j.AcquireWith(context.Background(), ro, iface.RW, AcquireOptions{OrderOnly: true}); !errors.As(err, &only) {
			t.Error(err)
		}
	})
}

// TestTryCombines: repeated TryAcquire of data with contributions succeeds some time
// after all of them have ended, without any other access, and contributions that go on
// are not refused.
func TestTryCombines(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		v := []int64{5, 5}
		h := ints(t, rt, v)
		must(t, rt.SetReduction(h, datamgr.SumReduction()))
		part := parts(t, rt, h, filter.Blocks(2))[1]
		want := int64(5)
		for _, of := range []*datamgr.Handle{h, part} {
			hold := make(chan struct{})
			if rt.Sequential() {
				close(hold)
			}
			slow := kernel("slow", func(c *TaskContext) error {
				<-hold
				iface.Slice[int64](c.Buffer(0))[0]++
				iface.Slice[int64](c.Buffer(0))[1]++
				return nil
			})
			for range 3 {
				must(t, j.Submit(&TaskSpec{Codelet: slow, Operands: ops(iface.Redux, h)}))
			}
			want += 3
			if !rt.Sequential() {
				if _, err := j.TryAcquire(of, iface.R); err != ErrBusy {
					t.Fatalf("with contributions under way: %v", err)
				}
				close(hold)
			}
			var a *Access
			var err error
			for end := time.Now().Add(20 * time.Second); ; runtime.Gosched() {
				if a, err = j.TryAcquire(of, iface.R); err == nil {
					break
				}
				if err != ErrBusy || time.Now().After(end) || rt.Sequential() {
					t.Fatal(err)
				}
			}
			for _, got := range iface.Slice[int64](a.Buffer()) {
				if got != want {
					t.Errorf("got %d, want %d", got, want)
				}
			}
			must(t, a.Release())
		}
		must(t, j.Wait(context.Background()))
	})
}
