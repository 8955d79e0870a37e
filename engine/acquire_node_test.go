package engine

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
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

// releases is a listener that stops whoever gives back what was acquired, on the way.
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
	roomless(j)
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
func roomless(j *Job) {
	rt := j.rt
	for waits := false; !waits && j.Stats().Failed == 0; time.Sleep(time.Millisecond) {
		rt.reg.Lock()
		waits = len(rt.noRoomFor.waiting[1]) > 0
		rt.reg.Unlock()
	}
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
			roomless(j)
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
