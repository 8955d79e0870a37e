package engine

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/enginetest"
)

// queueing is a device whose kernels run while their worker goes on: functions that they
// give to its streams. Its memory and its copies are those of a simulated one.
type queueing struct{ accel.Device }

func newLater(bytes int64) *queueing { return &queueing{simulated(bytes, 1)[0]} }

func (*queueing) Arch() string { return "later" }

func (d *queueing) NewStream() (accel.Stream, error) {
	s, err := d.Device.NewStream()
	return &laterStream{Stream: s}, err
}

// laterStream runs one function after another.
type laterStream struct {
	accel.Stream
	mu   sync.Mutex
	last *laterEvent
	told bool // Sync has returned the error of last
}

// laterEvent is the end of a function.
type laterEvent struct {
	over chan struct{}
	err  error // the first one of the stream
}

func (s *laterStream) launch(fn func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, told, e := s.last, s.told, &laterEvent{over: make(chan struct{})}
	s.last, s.told = e, false
	go func() {
		defer close(e.over)
		if before != nil {
			<-before.over
			if !told {
				e.err = before.err
			}
		}
		if err := fn(); e.err == nil {
			e.err = err
		}
	}()
}

func (s *laterStream) Record() (accel.Event, error) {
	s.launch(func() error { return nil })
	return s.last, nil
}

func (s *laterStream) Sync() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != nil {
		<-s.last.over
		if err := s.last.err; err != nil && !s.told {
			s.told = true
			return err
		}
	}
	return s.Stream.Sync()
}

func (s *laterStream) Close() error {
	_ = s.Sync()
	return s.Stream.Close()
}

func (e *laterEvent) Sync() error { <-e.over; return e.err }
func (e *laterEvent) Done() (bool, error) {
	select {
	case <-e.over:
		return true, e.err
	default:
		return false, nil
	}
}
func (e *laterEvent) Since(accel.Event) (time.Duration, bool) { return 0, false }

// far is a codelet whose kernel is fn, later.
func far(name string, called func(), fn func(x []int64) error) *Codelet {
	return &Codelet{Name: name, On: map[string][]Impl{"later": {func(c *TaskContext) error {
		if called != nil {
			called()
		}
		x := iface.Slice[int64](c.Buffer(0))
		c.Stream().(*laterStream).launch(func() error { return fn(x) })
		return nil
	}}}}
}

// laters starts a runtime on such a device with data there.
func laters(t *testing.T, o Options, data int) (*Runtime, *Job, []*datamgr.Handle) {
	o.Workers, o.Devices = 1, []accel.Device{newLater(1 << 10)}
	rt, j := start(t, o)
	var hs []*datamgr.Handle
	touch := far("touch", nil, func([]int64) error { return nil })
	for range data {
		h := ints(t, rt, make([]int64, 10))
		hs = append(hs, h)
		must(t, j.Submit(&TaskSpec{Codelet: touch, Operands: []Operand{{Handle: h, Mode: iface.RW}}}))
	}
	must(t, j.Wait(context.Background()))
	return rt, j, hs
}

func value(t *testing.T, j *Job, h *datamgr.Handle) int64 {
	t.Helper()
	a, err := j.Acquire(context.Background(), h, iface.R)
	must(t, err)
	defer a.Release()
	return iface.Slice[int64](a.Buffer())[9]
}

func rw(h *datamgr.Handle) []Operand { return []Operand{{Handle: h, Mode: iface.RW}} }

// add adds n to all elements.
func add(n int64) func([]int64) error {
	return func(x []int64) error {
		for i := range x {
			x[i] += n
		}
		return nil
	}
}

// TestQueued: the kernel of the next task is called while the one before runs, no more
// than Options.Queue of them, and none whose data has to come first.
func TestQueued(t *testing.T) {
	for queue, want := range map[int]int{0: 1, 1: 1, 2: 2, 3: 3} {
		rt, j, hs := laters(t, Options{Queue: queue}, 5)
		var mu sync.Mutex
		var calls []int
		var gates []chan bool // kernels of different streams end in any order
		for i, h := range hs {
			gate := make(chan bool)
			gates = append(gates, gate)
			must(t, j.Submit(&TaskSpec{Codelet: far("held", func() {
				mu.Lock()
				calls = append(calls, i)
				mu.Unlock()
			}, func(x []int64) error {
				<-gate
				return add(int64(i))(x)
			}), Operands: rw(h)}))
		}
		count := func() int {
			mu.Lock()
			defer mu.Unlock()
			return len(calls)
		}
		for round := range hs {
			most := min(round+want, len(hs))
			enginetest.Eventually(t, "the kernels are called", func() bool { return count() >= most })
			if n := rt.Ready(); round == 0 && n != len(hs) {
				t.Errorf("%d tasks ready or running, of %d", n, len(hs))
			}
			if n := count(); n > most {
				t.Errorf("%d kernels called after %d have ended, with a queue of %d", n, round, queue)
			}
			mu.Lock()
			gate := gates[calls[round]]
			mu.Unlock()
			gate <- true
		}
		must(t, j.Wait(context.Background()))
		for i, h := range hs {
			if v := value(t, j, h); v != int64(i) {
				t.Errorf("%d, want %d", v, i)
			}
		}
	}
}

// TestQueuedErrors: the task whose kernel failed fails, at any place in the queue,
// whether the kernel reports the error when it is called or later.
func TestQueuedErrors(t *testing.T) {
	errBoom := errors.New("boom")
	ways := map[string]*Codelet{
		"later": far("bad", nil, func([]int64) error { return errBoom }),
		"error": {Name: "bad", On: map[string][]Impl{"later": {func(*TaskContext) error { return errBoom }}}},
		"panic": {Name: "bad", On: map[string][]Impl{"later": {func(*TaskContext) error { panic(errBoom) }}}},
		"exit":  {Name: "bad", On: map[string][]Impl{"later": {func(*TaskContext) error { runtime.Goexit(); return nil }}}},
	}
	for what, bad := range ways {
		for at := range 4 {
			_, j, hs := laters(t, Options{Queue: 3, Profile: at%2 == 0}, 4)
			var ks []*Task
			gate := make(chan bool)
			for i, h := range hs {
				c := far("good", nil, func(x []int64) error {
					if i == 0 {
						<-gate
					}
					return add(1)(x)
				})
				if i == at {
					c = bad
				}
				k, err := j.SubmitTask(&TaskSpec{Codelet: c, Operands: rw(h)})
				must(t, err)
				ks = append(ks, k)
			}
			if at > 0 {
				gate <- true
			}
			for i, k := range ks {
				must(t, k.Wait(context.Background()))
				if err := k.Err(); (err != nil) != (i == at) {
					t.Errorf("%s, %d is bad: task %d ended with %v", what, at, i, err)
				} else if err == nil && value(t, j, hs[i]) != 1 {
					t.Errorf("%s, %d is bad: task %d had no effect", what, at, i)
				}
			}
			if fs := j.Failures(); len(fs) > 1 {
				t.Errorf("%s: %v", what, fs)
			}
		}
	}
}

// TestQueuedLost: when the device is lost all that is in flight runs elsewhere, if what
// it needs is there.
func TestQueuedLost(t *testing.T) {
	d := newLater(1 << 10)
	_, j := start(t, Options{Workers: 1, Queue: 3, Devices: []accel.Device{d}})
	var hs []*datamgr.Handle
	rt := j.rt
	for range 3 {
		hs = append(hs, ints(t, rt, make([]int64, 10)))
	}
	gate := make(chan bool)
	lost := &accel.LostError{Device: d.Name(), Err: errors.New("unplugged")}
	begun := make(chan int, 10)
	var where []int
	for i, h := range hs {
		c := far("held", func() { begun <- i }, func(x []int64) error {
			<-gate
			_ = add(100)(x) // on the device, and never read
			return lost
		})
		c.CPU = []Impl{func(c *TaskContext) error {
			where = append(where, i)
			return add(7)(iface.Slice[int64](c.Buffer(0)))
		}}
		must(t, j.Submit(&TaskSpec{Codelet: c, Operands: rw(h), Workers: []int{0, 1}, Priority: 1}))
	}
	close(gate)
	must(t, j.Wait(context.Background()))
	for _, h := range hs {
		if v := value(t, j, h); v != 7 {
			t.Errorf("%d, want 7", v)
		}
	}
	if slices.Sort(where); !slices.Equal(where, []int{0, 1, 2}) {
		t.Errorf("ran on the CPU: %v", where)
	}
}

// TestQueuedWithoutData: a task without data runs the kernel that is for the device.
func TestQueuedWithoutData(t *testing.T) {
	_, j, _ := laters(t, Options{}, 0)
	ran := make(chan string, 1)
	c := &Codelet{Name: "either", CPU: []Impl{func(*TaskContext) error { ran <- "cpu"; return nil }},
		On: map[string][]Impl{"later": {func(*TaskContext) error { ran <- "later"; return nil }}}}
	must(t, j.Submit(&TaskSpec{Codelet: c, Workers: []int{1}}))
	must(t, j.Wait(context.Background()))
	if got := <-ran; got != "later" {
		t.Errorf("the kernel for %s ran on the device", got)
	}
}
