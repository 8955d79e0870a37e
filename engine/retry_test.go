package engine

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/sim"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/enginetest"
	"github.com/starpush/starpush/engine/sched"
)

var errWire = errors.New("the wire is cut")

// frail is a simulated device that fails on demand. It reaches main memory only.
type frail struct {
	accel.Device
	lost     atomic.Bool
	copies   atomic.Int64                           // that are to fail
	kernels  atomic.Int64                           // before the device is lost, if it is not 0
	unstable func(s *frailStream, bytes int64) bool // does this copy fail? nil: no
}

type frailStream struct {
	accel.Stream
	d      *frail
	failed bool // the copy before
}

// newFrail makes one; it panics when there is none.
func newFrail(name string, bytes int64, units int) *frail {
	d, err := sim.New(sim.Options{Name: name, Capacity: bytes, Units: units})
	if err != nil {
		panic(err)
	}
	return &frail{Device: d}
}

// flaky makes copies of d fail now and then, never twice in a row.
func (d *frail) flaky(seed uint64) *frail {
	var mu sync.Mutex
	r := rand.New(rand.NewPCG(seed, 1))
	d.unstable = func(s *frailStream, _ int64) bool {
		mu.Lock()
		defer mu.Unlock()
		s.failed = !s.failed && r.IntN(8) == 0
		return s.failed
	}
	return d
}

func (d *frail) Reaches(m accel.Memory) bool { return m.Name() == "ram" }

func (d *frail) NewStream() (accel.Stream, error) {
	s, err := d.Device.NewStream()
	return &frailStream{Stream: s, d: d}, err
}

func (d *frail) err() error {
	if d.lost.Load() {
		return &accel.LostError{Device: d.Name(), Err: errWire}
	}
	return nil
}

func (s *frailStream) Copy(c *accel.Copy) error {
	if err := s.d.err(); err != nil {
		return err
	}
	if s.d.copies.Load() > 0 && s.d.copies.Add(-1) >= 0 || s.d.unstable != nil && s.d.unstable(s, c.Total()) {
		return errWire
	}
	return s.Stream.Copy(c)
}

func (s *frailStream) Do(w accel.Work, fn func() error) error {
	if err := s.d.err(); err != nil {
		return err
	}
	if s.d.kernels.Load() > 0 && s.d.kernels.Add(-1) == 0 {
		s.d.lost.Store(true)
		_ = fn() // it had begun
		return s.d.err()
	}
	return s.Stream.Do(w, fn)
}

// onDevices makes a runtime with a CPU worker and these devices, one worker each.
func onDevices(t *testing.T, ds ...*frail) (*Runtime, *Job) {
	var o Options
	for _, d := range ds {
		o.Devices = append(o.Devices, d)
	}
	o.Workers = 1
	return start(t, o)
}

// firstOf returns the first element of h.
func firstOf(t *testing.T, j *Job, h *datamgr.Handle) (int64, error) {
	t.Helper()
	a, err := j.Acquire(context.Background(), h, iface.R)
	if err != nil {
		return 0, err
	}
	defer a.Release()
	return iface.Slice[int64](a.Buffer())[0], nil
}

func holds(t *testing.T, j *Job, h *datamgr.Handle, want int64) {
	t.Helper()
	if got, err := firstOf(t, j, h); err != nil || got != want {
		t.Errorf("%d, %v; want %d", got, err, want)
	}
}

// pure is a codelet that adds one to what it may write.
var pure = &Codelet{Name: "pure inc", CPU: incs.CPU, Pure: true}

// TestFailedCopy: a task whose data cannot be copied to a device runs elsewhere,
// under every policy; where it may not, it fails and says why.
func TestFailedCopy(t *testing.T) {
	for _, p := range sched.Names() {
		d := newFrail("a", 1<<10, 1)
		rt, j := start(t, Options{Workers: 1, Policy: p, Devices: []accel.Device{d}})
		h := ints(t, rt, []int64{1})
		d.copies.Store(2)
		for range 10 {
			must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: h, Mode: iface.RW}}}))
		}
		must(t, j.Wait(context.Background()))
		holds(t, j, h, 11)
		other := ints(t, rt, []int64{1}) // hints may still bring h to the device
		d.copies.Store(1 << 20)
		k, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: other, Mode: iface.RW}}, Workers: []int{1}})
		must(t, err)
		must(t, k.Wait(context.Background()))
		var failed *accel.CopyError
		if err := k.Err(); !errors.As(err, &failed) || failed.From != "ram" || failed.To != "a" || !errors.Is(err, errWire) {
			t.Errorf("%s: got %v", p, err)
		}
		d.copies.Store(0)
		j.Failures()
	}
}

// TestLostDevice: a device is lost while a kernel runs there.
func TestLostDevice(t *testing.T) {
	for _, p := range sched.Names() {
		d := newFrail("a", 1<<10, 1)
		rt, j := start(t, Options{Workers: 2, Policy: p, Devices: []accel.Device{d}})
		both, only := ints(t, rt, []int64{1}), ints(t, rt, []int64{1})
		onDevice := func(c *Codelet, hs ...*datamgr.Handle) *Task {
			s := TaskSpec{Codelet: c, Workers: []int{2}}
			for _, h := range hs {
				s.Operands = append(s.Operands, Operand{Handle: h, Mode: iface.RW})
			}
			k, err := j.SubmitTask(&s)
			must(t, err)
			return k
		}
		must(t, onDevice(pure, only).Wait(context.Background()))
		d.kernels.Store(1)
		k, err := j.SubmitTask(&TaskSpec{Codelet: pure, Operands: []Operand{{Handle: both, Mode: iface.RW}}, Workers: []int{2, 0}})
		must(t, err)
		must(t, k.Wait(context.Background())) // on the device, which it loses, and then elsewhere; or elsewhere at once
		if err := k.Err(); err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		holds(t, j, both, 2)
		d.lost.Store(true)
		var data *FailedDataError
		var lost *accel.LostError
		if _, err := firstOf(t, j, only); !errors.As(err, &lost) && !errors.As(err, &data) {
			t.Errorf("%s: data that was on the device only: %v", p, err)
		}
		// the loss is known now
		if _, err := firstOf(t, j, only); !errors.As(err, &data) || !errors.As(err, &lost) || !strings.Contains(err.Error(), "device a is lost") {
			t.Errorf("%s: data that was on the device only: %v", p, err)
		}
		var none *LostWorkersError
		if err := j.Submit(&TaskSpec{Codelet: pure, Operands: []Operand{{Handle: both, Mode: iface.RW}}, Workers: []int{2}}); !errors.As(err, &none) {
			t.Errorf("%s: a task for the lost device: %v", p, err)
		}
		for range 10 {
			must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: both, Mode: iface.RW}}}))
		}
		must(t, j.Submit(&TaskSpec{Codelet: pure, Operands: []Operand{{Handle: only, Mode: iface.RW}}})) // cancelled
		must(t, j.Submit(&TaskSpec{Codelet: kernel("set", func(c *TaskContext) error {
			iface.Slice[int64](c.Buffer(0))[0] = 7
			return nil
		}), Operands: []Operand{{Handle: only, Mode: iface.W}}}))
		must(t, j.Wait(context.Background()))
		holds(t, j, both, 12)
		holds(t, j, only, 7)
		j.Failures()
	}
}

// TestLostInKernel: what a kernel that had begun may do again.
func TestLostInKernel(t *testing.T) {
	for what, c := range map[string]struct {
		codelet *Codelet
		before  bool // the data was written on the device
		apart   bool // it is read as one operand and written as another
		again   bool
	}{
		"pure":                             {pure, false, false, true},
		"not pure":                         {incs, false, false, false},
		"on the device only":               {pure, true, false, false},
		"two operands":                     {pure, false, true, true},
		"two operands, on the device only": {pure, true, true, false},
	} {
		t.Run(what, func(t *testing.T) {
			d := newFrail("a", 1<<10, 1)
			rt, j := onDevices(t, d)
			h := ints(t, rt, []int64{1})
			spec := TaskSpec{Codelet: c.codelet, Operands: ops(iface.RW, h)}
			if c.apart {
				spec.Operands = ops(iface.R, h, iface.W, h)
			}
			hold, err := j.Acquire(context.Background(), h, iface.RW) // so that the CPU is busy when the task is ready
			must(t, err)
			if c.before {
				s := spec
				s.Workers = []int{1}
				must(t, j.Submit(&s))
			}
			busy := make(chan bool)
			started := make(chan bool)
			must(t, j.Submit(&TaskSpec{Codelet: kernel("wait", func(*TaskContext) error { close(started); <-busy; return nil }), Workers: []int{0}}))
			<-started
			d.kernels.Store(1)
			if c.before {
				d.kernels.Store(2)
			}
			k, err := j.SubmitTask(&spec)
			must(t, err)
			must(t, hold.Release())
			enginetest.Eventually(t, "the device is lost", func() bool { return d.lost.Load() })
			close(busy)
			must(t, k.Wait(context.Background()))
			var lost *accel.LostError
			switch err := k.Err(); {
			case c.again && err != nil:
				t.Errorf("not run again: %v", err)
			case !c.again && !errors.As(err, &lost):
				t.Errorf("got %v", err)
			}
			if c.again {
				holds(t, j, h, 2)
			}
			j.Failures()
		})
	}
}

// TestLostWithSubgraph: a kernel that submitted tasks to its sub-graph before its device
// was lost, or declined it, does not run again, and they do not run at all.
func TestLostWithSubgraph(t *testing.T) {
	for what, cause := range map[string]error{
		"lost":     &accel.LostError{Device: "a", Err: errWire},
		"declined": &accel.DeclinedError{Device: "a"},
	} {
		t.Run(what, func(t *testing.T) {
			rt, j := onDevices(t, newFrail("a", 1<<10, 1))
			h := ints(t, rt, []int64{1})
			var ran atomic.Int64
			add := kernel("add", func(c *TaskContext) error {
				ran.Add(1)
				iface.Slice[int64](c.Buffer(0))[0]++
				return nil
			})
			busy, tried, started := make(chan bool), make(chan bool), make(chan bool)
			split := kernel("split", func(c *TaskContext) error {
				g, err := c.Subgraph()
				if err != nil {
					return err
				}
				if err := g.Submit(&TaskSpec{Codelet: add, Operands: ops(iface.RW, h), Workers: []int{0}}); err != nil {
					return err
				}
				if c.Worker() == 0 {
					return nil
				}
				close(tried)
				return cause
			})
			split.Pure = true
			must(t, j.Submit(&TaskSpec{Codelet: kernel("wait", func(*TaskContext) error { close(started); <-busy; return nil }), Workers: []int{0}}))
			<-started
			k, err := j.SubmitTask(&TaskSpec{Codelet: split, Operands: ops(iface.RW, h)})
			must(t, err)
			<-tried
			close(busy)
			must(t, k.Wait(context.Background()))
			if err := k.Err(); !errors.Is(err, cause) || ran.Load() != 0 {
				t.Errorf("%v; %d tasks of the sub-graph ran", err, ran.Load())
			}
			j.Failures()
		})
	}
}

// TestLostAtAllocation: the loss of a device is noticed when it is asked for memory.
// Values that had no other copy are lost then, and reported as lost.
func TestLostAtAllocation(t *testing.T) {
	dev := simulated(1<<10, 1)
	rt, j := start(t, Options{Workers: 1, Devices: dev})
	there, other := ints(t, rt, []int64{1}), ints(t, rt, []int64{1})
	on := func(h *datamgr.Handle, workers ...int) *Task {
		k, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, h, iface.R, there)[:1+len(workers)], Workers: workers})
		must(t, err)
		must(t, k.Wait(context.Background()))
		return k
	}
	must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, there), Workers: []int{1}}))
	must(t, j.Wait(context.Background()))
	dev[0].(*sim.Device).LoseWhen(func(op sim.Op) bool { return op.Kind == sim.Alloc })
	var lost *accel.LostError
	if err := on(other, 1).Err(); !errors.As(err, &lost) {
		t.Errorf("a task on the device that is lost: %v", err)
	}
	if n := dev[0].Memory().Allocated(); n != 0 {
		t.Errorf("%d bytes are left in use on the device that is lost", n) // and waited for when the data goes
	}
	if _, data := datamgr.Fault(ops(iface.R, there)); data == nil {
		t.Error("data that was on the device only is not lost")
	}
	var none *LostWorkersError
	if err := j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, there), Workers: []int{1}}); !errors.As(err, &none) {
		t.Errorf("a task for the lost device: %v", err)
	}
	var data *FailedDataError
	if _, err := firstOf(t, j, there); !errors.As(err, &data) || !errors.As(err, &lost) {
		t.Errorf("data that was on the device only: %v", err)
	}
	must(t, on(ints(t, rt, []int64{1})).Err())
	j.Failures()
}

// TestLostBeforeKernel: all that a task writes was made ready on a device that is lost
// before the kernel starts. It runs elsewhere, with what main memory has.
func TestLostBeforeKernel(t *testing.T) {
	var copies atomic.Int64 // to devices
	var all []accel.Device
	for _, name := range []string{"a", "b"} {
		d, err := sim.New(sim.Options{Name: name, Capacity: 1 << 10})
		must(t, err)
		d.LoseWhen(func(op sim.Op) bool { return op.Kind == sim.Copy && op.From == "ram" && copies.Add(1) == 2 })
		all = append(all, d)
	}
	rt, j := start(t, Options{Workers: 1, Devices: all})
	h := ints(t, rt, []int64{1})
	sum, err := rt.Register(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{3}, Home: ptr(make([]int64, 3)), Reduce: datamgr.SumReduction()})
	must(t, err)
	k, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, h, iface.Redux, sum), Workers: []int{1, 2}})
	must(t, err)
	must(t, k.Wait(context.Background()))
	must(t, k.Err())
	holds(t, j, h, 2)
	holds(t, j, sum, 1)
	if (rt.reg.Lost(1) == nil) == (rt.reg.Lost(2) == nil) {
		t.Error("one device was to be lost")
	}
}

// TestLostBeforeKernelDeterministic: the same where contributions are numbered, which
// run nowhere else. The task has failed itself, with the device: what it was to write
// was in main memory, too, and is lost with the task, for that reason.
func TestLostBeforeKernelDeterministic(t *testing.T) {
	d, err := sim.New(sim.Options{Name: "a", Capacity: 1 << 10})
	must(t, err)
	copies := 0
	d.LoseWhen(func(op sim.Op) bool {
		if op.Kind == sim.Copy && op.From == "ram" {
			copies++
		}
		return copies == 2 // that of the contribution
	})
	rt, j := start(t, Options{Workers: 1, Devices: []accel.Device{d}, Deterministic: true})
	h := ints(t, rt, []int64{1})
	sum, err := rt.Register(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{3}, Home: ptr(make([]int64, 3)), Reduce: datamgr.SumReduction()})
	must(t, err)
	k, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, h, iface.Redux, sum), Workers: []int{1}})
	must(t, err)
	must(t, k.Wait(context.Background()))
	if copies != 2 || rt.reg.Lost(1) == nil {
		t.Fatalf("%d copies to the device, %v", copies, rt.reg.Lost(1))
	}
	if s := j.Stats(); s.Failed != 1 || s.Cancelled != 0 {
		t.Errorf("%d failed, %d cancelled", s.Failed, s.Cancelled)
	}
	var failed *TaskError
	var lost *accel.LostError
	if err := k.Err(); !errors.As(err, &failed) || failed.ID != k.ID() || !errors.As(err, &lost) {
		t.Errorf("the task: %v", err)
	}
	for _, x := range []*datamgr.Handle{h, sum} {
		var data *FailedDataError
		if _, err := firstOf(t, j, x); !errors.As(err, &data) || data.Task.ID != k.ID() {
			t.Errorf("%v: %v", x.Name(), err)
		}
	}
	j.Failures()
}

// TestLostContribution: the device is lost with a contribution after the kernel has
// returned. The sum is lost then, whether the loss is noticed now or later, and the end
// of the task is reported once.
func TestLostContribution(t *testing.T) {
	d := newFrail("a", 1<<10, 1)
	journal := &Journal{}
	rt, j := start(t, Options{Workers: 1, Devices: []accel.Device{d}, Listener: journal})
	sum, err := rt.Register(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{3}, Home: ptr(make([]int64, 3)), Reduce: datamgr.SumReduction()})
	must(t, err)
	c := kernel("contribute", func(*TaskContext) error { d.lost.Store(true); return nil })
	k, err := j.SubmitTask(&TaskSpec{Codelet: c, Operands: ops(iface.Redux, sum), Workers: []int{1}})
	must(t, err)
	must(t, k.Wait(context.Background()))
	var lost *accel.LostError
	if err := k.Err(); err != nil && !errors.As(err, &lost) {
		t.Errorf("the task: %v", err)
	}
	var data *FailedDataError
	if _, err := firstOf(t, j, sum); !errors.As(err, &data) || !errors.As(err, &lost) {
		t.Errorf("the sum: %v", err)
	}
	must(t, journal.Check())
	j.Failures()
}

// TestLostAfterPartialRelease: the program holds data and releases a part of it. A task
// writes that part on a device, and another task there is interrupted by the loss of the
// device. The older value in main memory is not taken for the current one.
func TestLostAfterPartialRelease(t *testing.T) {
	for node := range 2 {
		a, b := newFrail("a", 1<<10, 1), newFrail("b", 1<<10, 1)
		rt, j := onDevices(t, a, b)
		h := ints(t, rt, []int64{1, 1})
		part := parts(t, rt, h, filter.Blocks(2))[0]
		held, err := j.AcquireWith(context.Background(), h, iface.RW, AcquireOptions{Node: node})
		must(t, err)
		must(t, held.ReleasePart(part, iface.NoMode))
		first, err := j.SubmitTask(&TaskSpec{Codelet: pure, Operands: ops(iface.RW, part), Workers: []int{2}})
		must(t, err)
		must(t, first.Wait(context.Background()))
		b.kernels.Store(1)
		busy, begun := make(chan bool), make(chan bool)
		must(t, j.Submit(&TaskSpec{Codelet: kernel("wait", func(*TaskContext) error {
			close(busy)
			<-begun
			return nil
		}), Workers: []int{0}}))
		<-busy
		var once sync.Once
		again := &Codelet{Name: "again", Pure: true, CPU: []Impl{func(c *TaskContext) error {
			once.Do(func() { close(begun) })
			return incs.CPU[0](c)
		}}}
		must(t, j.Submit(&TaskSpec{Codelet: again, Operands: ops(iface.RW, part), Workers: []int{2, 0}}))
		must(t, j.Wait(context.Background()))
		must(t, held.Release())
		var lost *accel.LostError
		if v, err := firstOf(t, j, part); !errors.As(err, &lost) {
			t.Errorf("held on node %d: %d, %v", node, v, err)
		}
		j.Failures()
	}
}

// TestUnregisterLost: data of the program is unregistered while its value is on a device
// that is lost, or cannot be copied from there. Failures reports that, as the program
// reads its memory next.
func TestUnregisterLost(t *testing.T) {
	for what, happens := range map[string]func(*Runtime, *frail){
		"lost before": func(rt *Runtime, _ *frail) { rt.reg.Lose(1, &accel.LostError{Device: "a", Err: errWire}) },
		"lost then":   func(_ *Runtime, d *frail) { d.lost.Store(true) },
		"no copy":     func(_ *Runtime, d *frail) { d.copies.Store(1 << 20) },
		"a copy":      func(*Runtime, *frail) {},
	} {
		d := newFrail("a", 1<<10, 1)
		rt, j := onDevices(t, d)
		x, other := []int64{1}, []int64{1}
		h, o := ints(t, rt, x), ints(t, rt, other)
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, h), Workers: []int{1}}))
		must(t, j.Wait(context.Background()))
		happens(rt, d)
		must(t, j.Unregister(o))
		must(t, j.Unregister(h))
		must(t, j.Wait(context.Background()))
		failures := j.Failures()
		if what == "a copy" {
			if len(failures) > 0 || x[0] != 2 {
				t.Errorf("%s: %d, %v", what, x[0], failures)
			}
			continue
		}
		if len(failures) != 1 || !errors.Is(failures[0], errWire) || !slices.Equal(failures[0].Lost, []*datamgr.Handle{h}) {
			t.Errorf("%s: %d, %v", what, x[0], failures)
		}
	}
}

// TestLostUnderLoad: devices are lost while many tasks run. Every value that can
// be read is the one of the sequential reading.
func TestLostUnderLoad(t *testing.T) {
	for round := range 20 {
		a, b := newFrail("a", 300, 2).flaky(uint64(round)), newFrail("b", 300, 1)
		rt, j := start(t, Options{Workers: 2, Policy: sched.Names()[round%len(sched.Names())], Devices: []accel.Device{a, b}})
		a.kernels.Store(int64(1 + 17*round))
		b.kernels.Store(int64(100 + 40*round))
		hs := make([]*datamgr.Handle, 12)
		for i := range hs {
			hs[i] = ints(t, rt, make([]int64, 1+i))
		}
		const rounds = 40
		want := make([]int64, len(hs))
		for i := range want {
			want[i] = rounds
		}
		shared, err := rt.Register(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{3}, Home: ptr(make([]int64, 3)), Reduce: datamgr.SumReduction()})
		must(t, err)
		any := ints(t, rt, make([]int64, 4))
		for range rounds {
			for i, h := range hs {
				must(t, j.Submit(&TaskSpec{Codelet: pure, Operands: []Operand{{Handle: h, Mode: iface.RW}, {Handle: hs[(i+5)%len(hs)], Mode: iface.R}}}))
				mode := iface.Commute
				if i%2 > 0 {
					mode = iface.Redux
				}
				must(t, j.Submit(&TaskSpec{Codelet: pure, Operands: []Operand{{Handle: shared, Mode: mode}, {Handle: h, Mode: iface.R}}}))
				must(t, j.Submit(&TaskSpec{Codelet: pure, Operands: []Operand{{Handle: any, Mode: iface.RW, Unordered: true}}}))
			}
		}
		hs, want = append(hs, shared, any), append(want, rounds*int64(len(hs)), rounds*int64(len(hs)))
		must(t, j.Wait(context.Background()))
		lost := 0
		for i, h := range hs {
			switch v, err := firstOf(t, j, h); {
			case err == nil && v != want[i]:
				t.Errorf("round %d: data %d is %d, want %d", round, i, v, want[i])
			case err != nil:
				lost++
				var why *accel.LostError
				if !errors.As(err, &why) {
					t.Errorf("round %d: %v", round, err)
				}
			}
		}
		for _, f := range j.Failures() {
			var why *accel.LostError
			if !errors.As(f, &why) {
				t.Errorf("round %d: %v", round, f)
			}
		}
		must(t, j.Wait(context.Background())) // for reductions that reading began
		if st := j.Stats(); st.Done+st.Failed+st.Cancelled != st.Submitted {
			t.Errorf("round %d: %+v", round, st)
		}
		t.Logf("round %d: %d of %d lost", round, lost, len(hs))
	}
}

// toy is a device for kernels of its own kind: functions of its stream, which
// runs them later, in order.
type toy struct{ accel.Device }

func (toy) Arch() string { return "toy" }

func (d toy) NewStream() (accel.Stream, error) {
	s, err := d.Device.NewStream()
	return &toyStream{Stream: s}, err
}

type toyStream struct {
	accel.Stream
	mu    sync.Mutex
	queue []func() error
}

func (s *toyStream) launch(fn func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, fn)
}

func (s *toyStream) Do(accel.Work, func() error) error { return accel.ErrNotHere }

func (s *toyStream) Sync() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var first error
	for _, fn := range s.queue {
		if err := fn(); first == nil {
			first = err
		}
	}
	s.queue = nil
	return first
}

func (s *toyStream) Record() (accel.Event, error) { return &toyEvent{s: s}, nil }

// toyEvent is the end of what was begun on a stream.
type toyEvent struct {
	s    *toyStream
	once sync.Once
	err  error
}

func (e *toyEvent) Done() (bool, error)                     { return true, e.Sync() }
func (e *toyEvent) Since(accel.Event) (time.Duration, bool) { return 0, false }
func (e *toyEvent) Sync() error {
	e.once.Do(func() { e.err = e.s.Sync() })
	return e.err
}

// TestImplementationsByArch: codelets choose among the workers by what they have
// implementations for.
func TestImplementationsByArch(t *testing.T) {
	d := toy{newFrail("t", 1<<10, 1).Device}
	rt, j := start(t, Options{Workers: 1, Devices: []accel.Device{d}})
	if w, err := rt.Worker(1); err != nil || w.Arch != "toy" || w.Kind != "t" {
		t.Fatalf("%+v, %v", w, err)
	}
	var mu sync.Mutex
	var ran []string
	note := func(where string) {
		mu.Lock()
		defer mu.Unlock()
		ran = append(ran, where)
	}
	onCPU := func(c *TaskContext) error {
		if c.Stream() != nil {
			t.Error("a stream on the CPU")
		}
		iface.Slice[int64](c.Buffer(0))[0] += 100
		note("cpu")
		return nil
	}
	onToy := func(c *TaskContext) error {
		b := *c.Buffer(0)
		c.Stream().(*toyStream).launch(func() error {
			iface.Slice[int64](&b)[0]++
			note("toy")
			return nil
		})
		return nil
	}
	fails := func(c *TaskContext) error {
		c.Stream().(*toyStream).launch(func() error { return errWire })
		return nil
	}
	h := ints(t, rt, []int64{0})
	submit := func(c *Codelet, workers ...int) error {
		k, err := j.SubmitTask(&TaskSpec{Codelet: c, Operands: []Operand{{Handle: h, Mode: iface.RW}}, Workers: workers})
		if err != nil {
			return err
		}
		must(t, k.Wait(context.Background()))
		return k.Err()
	}
	toyOnly := &Codelet{Name: "on toys", On: map[string][]Impl{"toy": {onToy}}}
	both := &Codelet{Name: "on both", CPU: []Impl{onCPU}, On: map[string][]Impl{"toy": {onToy}}}
	for range 5 {
		must(t, submit(kernel("on CPUs", onCPU)))
		must(t, submit(toyOnly))
	}
	must(t, submit(both, 0))
	must(t, submit(both, 1))
	holds(t, j, h, 606)
	mu.Lock()
	if n := len(slices.DeleteFunc(slices.Clone(ran), func(s string) bool { return s != "toy" })); n != 6 || len(ran) != 12 {
		t.Errorf("ran on %v", ran)
	}
	mu.Unlock()
	if err := submit(&Codelet{Name: "fails", On: map[string][]Impl{"toy": {fails}}}); !errors.Is(err, errWire) {
		t.Errorf("a kernel that fails after its launch: %v", err)
	}
	j.Failures()
	var none *NoImplementationError
	if err := submit(toyOnly, 0); !errors.As(err, &none) || !strings.Contains(err.Error(), "toy") {
		t.Errorf("no worker for it: %v", err)
	}
	if err := submit(&Codelet{Name: "elsewhere", On: map[string][]Impl{"abacus": {onToy}}}); !errors.As(err, &none) {
		t.Errorf("no worker for it: %v", err)
	}
}

// TestVerifyAndOtherArchs: what cannot be looked at is not; a task that can run
// here does.
func TestVerifyAndOtherArchs(t *testing.T) {
	rt, j := start(t, Options{Workers: 1, Verify: true, Devices: []accel.Device{toy{newFrail("t", 1<<10, 1).Device}}})
	h := ints(t, rt, []int64{0})
	onToy := func(c *TaskContext) error {
		b := *c.Buffer(0)
		c.Stream().(*toyStream).launch(func() error { iface.Slice[int64](&b)[0]++; return nil })
		return nil
	}
	both := &Codelet{Name: "both", Pure: true, CPU: incs.CPU, On: map[string][]Impl{"toy": {func(*TaskContext) error { return errWire }}}}
	toyOnly := &Codelet{Name: "on toys", Pure: true, On: map[string][]Impl{"toy": {onToy}}}
	for range 10 {
		must(t, j.Submit(&TaskSpec{Codelet: both, Operands: []Operand{{Handle: h, Mode: iface.RW}}}))
		must(t, j.Submit(&TaskSpec{Codelet: toyOnly, Operands: []Operand{{Handle: h, Mode: iface.RW}}}))
	}
	must(t, j.Wait(context.Background()))
	for _, f := range j.Failures() {
		t.Error(f)
	}
	holds(t, j, h, 20)
}

// A kernel with a transient failure leaves the result of one run, whatever the mode of its operand and
// wherever it runs.
func TestKernelsRunAgain(t *testing.T) {
	machines := []struct {
		name string
		o    func() Options
		on   string // kind of the workers
	}{
		{"cpu", func() Options { return Options{Workers: 2} }, "cpu"},
		{"sequential", func() Options { return Options{Sequential: true} }, "cpu"},
		{"poison", func() Options { return Options{Workers: 1, Poison: true} }, "cpu"},
		{"verify", func() Options { return Options{Workers: 1, Verify: true} }, "cpu"},
		{"device", func() Options { return Options{Workers: 1, Devices: []accel.Device{newFrail("a", 1<<12, 1)}} }, "a"},
	}
	kinds := []Traits{{}, {Parallel: ForkJoin}, {Parallel: SPMD}}
	modes := []iface.AccessMode{iface.W, iface.RW, iface.Commute, iface.Redux}
	for _, m := range machines {
		for _, k := range kinds {
			for _, mode := range modes {
				if k.Parallel != Single && m.on != "cpu" {
					continue
				}
				o := m.o()
				rt, j := start(t, o)
				x := []int64{5, 6, 7}
				h, err := rt.Register(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{3}, Home: ptr(x), Reduce: datamgr.SumReduction()})
				must(t, err)
				const tasks = 4
				for range tasks {
					var runs atomic.Int64 // of this task: others may run beside it
					fn := func(c *TaskContext) error {
						if c.Rank() > 0 {
							_ = c.Barrier()
							return nil
						}
						for i := range iface.Slice[int64](c.Buffer(0)) {
							if p := &iface.Slice[int64](c.Buffer(0))[i]; mode == iface.W {
								*p = 10
							} else {
								*p += 10
							}
						}
						if runs.Add(1)%3 != 0 {
							return errWire
						}
						return c.Barrier()
					}
					tr := k
					tr.Retry = 2
					c := &Codelet{Name: "again", CPU: []Impl{fn}, On: enginetest.On(Impl(fn)), Traits: &tr}
					if k.Parallel != Single {
						c.On = nil
					}
					_, err := j.SubmitWith(&TaskSpec{Codelet: c, Operands: []Operand{{Handle: h, Mode: mode}}}, TaskOptions{Kinds: []string{m.on}})
					must(t, err)
				}
				a, err := j.Acquire(context.Background(), h, iface.R) // which combines contributions
				must(t, err)
				must(t, a.Release())
				must(t, j.Unregister(h))
				want := []int64{5 + 10*tasks, 6 + 10*tasks, 7 + 10*tasks}
				if mode == iface.W {
					want = []int64{10, 10, 10}
				}
				must(t, j.Wait(context.Background()))
				s := j.Stats()
				if !slices.Equal(x, want) || s.Retries != 2*tasks || s.Done != tasks || s.Failed != 0 {
					t.Errorf("%s, %v, %v: %v, want %v; %d retries, %d done, %d failed", m.name, k.Parallel, mode, x, want, s.Retries, s.Done, s.Failed)
				}
				for _, d := range o.Devices {
					must(t, errors.Join(j.Close(), rt.Close(), d.Close()))
				}
			}
		}
	}
}

// A kernel that a device does not carry out runs again there.
func TestDeviceKernelsRunAgain(t *testing.T) {
	d, err := sim.New(sim.Options{Name: "a", Capacity: 1 << 12, Units: 1})
	must(t, err)
	rt, j := start(t, Options{Workers: 1, Devices: []accel.Device{d}})
	x := []int64{1, 2}
	h := ints(t, rt, x)
	must(t, j.Submit(&TaskSpec{Codelet: anywhere("inc", incs.CPU[0]), Operands: []Operand{{Handle: h, Mode: iface.RW}}, Workers: []int{1}}))
	must(t, j.Wait(context.Background()))
	d.FailKernel(sim.Next())
	_, err = j.SubmitWith(&TaskSpec{Codelet: anywhere("inc", incs.CPU[0]), Operands: []Operand{{Handle: h, Mode: iface.RW}}, Workers: []int{1}}, TaskOptions{Retry: 1})
	must(t, err)
	must(t, j.Wait(context.Background()))
	must(t, j.Unregister(h))
	if x[0] != 3 || x[1] != 4 || j.Stats().Retries != 1 {
		t.Error(x, j.Stats().Retries)
	}
	must(t, errors.Join(j.Close(), rt.Close(), d.Close()))
}

// Sizes that a kernel set before it failed are those from before when it runs again, and values of
// Go types and arrays are restored, too.
func TestRestoredContent(t *testing.T) {
	rt, j := start(t, Options{Workers: 1})
	v, err := rt.Register(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{0}, Capacity: []int{8}})
	must(t, err)
	type pair struct{ A, B []int64 }
	arrays, err := NewArrays(rt, pair{[]int64{1}, []int64{2, 3}})
	must(t, err)
	words, err := NewValue(rt, map[string]int{"one": 1}, Interface[map[string]int]{Copy: func(dst, src *map[string]int) error { *dst = maps.Clone(*src); return nil }})
	must(t, err)
	runs := 0
	c := &Codelet{Name: "grow", Traits: &Traits{Retry: 5}, CPU: []Impl{func(c *TaskContext) error {
		runs++
		n := c.Buffer(0).Dim[0]
		if err := c.Resize(0, n+2); err != nil {
			return err
		}
		s := iface.Slice[int64](c.Buffer(0))
		s[n], s[n+1] = int64(n), int64(len(s))
		iface.Slice[int64](c.Array(1, 1))[1]++
		m := *(*map[string]int)(c.Buffer(2).Ptr)
		m["one"]++
		if runs%3 != 0 {
			return errWire
		}
		return nil
	}}}
	set := kernel("set", func(c *TaskContext) error { return c.Resize(0, 0) })
	must(t, j.Submit(&TaskSpec{Codelet: set, Operands: []Operand{{Handle: v, Mode: iface.W}}}))
	for range 2 {
		must(t, j.Submit(&TaskSpec{Codelet: c, Operands: []Operand{{Handle: v, Mode: iface.RW}, {Handle: arrays.Handle, Mode: iface.RW}, {Handle: words.Handle, Mode: iface.RW}}}))
	}
	a, err := j.Acquire(context.Background(), v, iface.R)
	must(t, err)
	if got := iface.Slice[int64](a.Buffer()); !slices.Equal(got, []int64{0, 2, 2, 4}) {
		t.Error(got)
	}
	must(t, a.Release())
	p, err := arrays.Value(context.Background(), j)
	must(t, err)
	m, err := words.Value(context.Background(), j)
	must(t, err)
	if p.B[1] != 5 || m["one"] != 3 || runs != 6 {
		t.Error(p, m, runs)
	}
}

// Failures that are no reason to run again, and the errors of kernels that fail each time.
func TestNoMoreRuns(t *testing.T) {
	ctx := context.Background()
	cases := []struct {
		name  string
		retry int // of the task; the codelet has 2
		fn    Impl
		runs  int
		text  string
	}{
		{"fails each time", 0, func(*TaskContext) error { return errWire }, 3, "the wire is cut (the last of 3 runs)"},
		{"the task has its own number", 1, func(*TaskContext) error { return errWire }, 2, "the wire is cut (the last of 2 runs)"},
		{"the task says never", -1, func(*TaskContext) error { return errWire }, 1, "the wire is cut"},
		{"panics", 0, func(*TaskContext) error { panic("a mistake") }, 1, "panic: a mistake"},
		{"ends its goroutine", 0, func(*TaskContext) error { runtime.Goexit(); return nil }, 1, "Goexit"},
		{"cancels its job", 0, func(c *TaskContext) error { c.t.job.Cancel(errWire); return c.Context().Err() }, 1, "context canceled"},
	}
	for _, c := range cases {
		for _, o := range []Options{{Workers: 2}, {Sequential: true}} {
			if c.text == "Goexit" && o.Sequential { // it would be that of the test
				continue
			}
			rt, j := start(t, o)
			h := ints(t, rt, []int64{1})
			runs := 0
			k := &Codelet{Name: "again", Traits: &Traits{Retry: 2}, CPU: []Impl{func(x *TaskContext) error { runs++; return c.fn(x) }}}
			task, err := j.SubmitWith(&TaskSpec{Codelet: k, Operands: []Operand{{Handle: h, Mode: iface.RW}}}, TaskOptions{Retry: c.retry})
			must(t, err)
			must(t, task.Wait(ctx))
			err = task.Err()
			if runs != c.runs || err == nil || !strings.Contains(err.Error(), c.text) || c.runs == 1 && strings.Contains(err.Error(), "runs)") {
				t.Errorf("%s: %d runs, %v", c.name, runs, err)
			}
			if c.text == errWire.Error() && !errors.Is(err, errWire) {
				t.Errorf("%s: %v is not the error of the kernel", c.name, err)
			}
			j.Failures()
		}
	}
	rt, j := start(t, Options{Workers: 1})
	v, err := NewValue(rt, map[string]int{})
	must(t, err)
	k := &Codelet{Name: "again", Traits: &Traits{Retry: 2}, CPU: []Impl{func(*TaskContext) error { return nil }}}
	var wrong *ModeError
	if err := j.Submit(&TaskSpec{Codelet: k, Operands: []Operand{{Handle: v.Handle, Mode: iface.RW}}}); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "Copy") {
		t.Error(err)
	}
}
