package engine

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

// TestPinned: operands stay in main memory while the kernel runs on a device, in
// whatever mode and layout.
func TestPinned(t *testing.T) {
	dev := simulated(64, 1)
	rt, j := start(t, Options{Workers: 1, Devices: dev})
	ram := PinTo(0)
	xs, big := []int64{1, 2, 3, 4}, make([]int64, 100) // which would not fit there
	x, b := ints(t, rt, xs), ints(t, rt, big)
	m, err := rt.Register(DataSpec{Kind: iface.Matrix, Elem: iface.I64, Dims: []int{3, 4}, Home: ptr([]int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})})
	must(t, err)
	columns, err := rt.Partition(m, filter.Pick(1))
	must(t, err)
	sums := []int64{5}
	sum, err := rt.Register(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{1}, Home: ptr(sums), Reduce: datamgr.SumReduction()})
	must(t, err)
	c := kernel("pinned", func(c *TaskContext) error {
		if c.Node(0) != 1 || c.Node(1) != 0 || c.Node(2) != 0 {
			t.Errorf("operands on %d, %d, %d", c.Node(0), c.Node(1), c.Node(2))
		}
		x, b, col := iface.Slice[int64](c.Buffer(0)), iface.Slice[int64](c.Buffer(1)), iface.Slice[int64](c.Buffer(2))
		if &b[0] != &big[0] {
			t.Error("the operand is not in main memory")
		}
		for i := range x {
			x[i]++
			b[i] += x[i]
		}
		for i := range col {
			col[i] *= 10
		}
		scratch := iface.Slice[int64](c.Buffer(4))
		scratch[99] = 2
		iface.Slice[int64](c.Buffer(3))[0] += scratch[99]
		return nil
	})
	for range 3 {
		must(t, j.Submit(&TaskSpec{Codelet: c, Workers: []int{1}, Operands: []Operand{{Handle: x, Mode: iface.RW}, {Handle: b, Mode: iface.RW, Pin: ram},
			{Handle: columns.Parts[2], Mode: iface.RW, Pin: ram}, {Handle: sum, Mode: iface.Redux, Pin: ram}, {Handle: b, Mode: iface.Scratch, Pin: ram}}}))
	}
	must(t, j.Wait(context.Background()))
	if p := present(t, j, b, 0); p.Valid != 800 {
		t.Errorf("pinned to main memory: %+v", p)
	}
	a, err := j.Acquire(context.Background(), columns.Parts[2], iface.R)
	must(t, err)
	if got := []int64{*element(a.Buffer(), 0), *element(a.Buffer(), 2)}; !slices.Equal(got, []int64{2000, 10000}) {
		t.Errorf("column %v", got)
	}
	must(t, a.Release())
	for _, h := range []*datamgr.Handle{x, b, sum} {
		must(t, j.Unregister(h))
	}
	must(t, j.Wait(context.Background()))
	if !slices.Equal(xs, []int64{4, 5, 6, 7}) || !slices.Equal(big[:5], []int64{9, 12, 15, 18, 0}) || sums[0] != 11 {
		t.Errorf("%v %v %v", xs, big[:5], sums)
	}
}

// TestPinnedToDevice: an operand that is pinned to a device keeps the task there, and
// one that cannot be where it is pinned is an error.
func TestPinnedToDevice(t *testing.T) {
	d := newFrail("b", 1<<10, 1)
	rt, j := start(t, Options{Workers: 1, Devices: append(simulated(1<<10, 1), d)})
	h := ints(t, rt, make([]int64, 4))
	v, err := rt.Partition(h, filter.Blocks(2))
	must(t, err)
	c := kernel("where", func(c *TaskContext) error {
		if n := nodeOf(t, c); n != 2 || c.Node(0) != 2 {
			t.Errorf("on node %d, its operand on %d", n, c.Node(0))
		}
		return nil
	})
	for range 5 {
		must(t, j.Submit(&TaskSpec{Codelet: c, Operands: []Operand{{Handle: h, Mode: iface.RW, Pin: PinTo(2)}}}))
	}
	must(t, j.Wait(context.Background()))
	var pin *PinError
	err = j.Submit(&TaskSpec{Codelet: c, Workers: []int{0, 1}, Operands: []Operand{{Handle: h, Mode: iface.RW, Pin: PinTo(2)}}})
	if !errors.As(err, &pin) || pin.Operand != 0 || pin.Node.Name != "b" {
		t.Errorf("on other workers: %v", err)
	}
	err = j.Submit(&TaskSpec{Codelet: c, Operands: []Operand{{Handle: h, Mode: iface.RW, Pin: PinTo(1)}, {Handle: v.Parts[0], Mode: iface.R, Pin: PinTo(2)}}})
	if !errors.As(err, &pin) {
		t.Errorf("on two devices at once: %v", err)
	}
	var none *NoNodeError
	for _, n := range []int{-1, 3, 1 << 20} {
		if err := j.Submit(&TaskSpec{Codelet: c, Operands: []Operand{{Handle: h, Mode: iface.RW, Pin: PinTo(n)}}}); !errors.As(err, &none) {
			t.Errorf("pinned to node %d: %v", n, err)
		}
	}
	var mode *ModeError
	err = j.Submit(&TaskSpec{Codelet: c, Operands: []Operand{{Handle: h, Mode: iface.RW, Pin: PinTo(0)}, {Handle: v.Parts[1], Mode: iface.R}}})
	if !errors.As(err, &mode) || mode.Other+mode.Operand != 1 {
		t.Errorf("in two pieces of memory at once: %v", err)
	}
	must(t, j.Submit(&TaskSpec{Codelet: kernel("reads", func(c *TaskContext) error { return nil }),
		Operands: []Operand{{Handle: h, Mode: iface.R, Pin: PinTo(0)}, {Handle: v.Parts[1], Mode: iface.R}}}))
	must(t, j.Wait(context.Background()))
}

// TestPinnedWithoutDevices: there is one memory, and nothing to pin.
func TestPinnedWithoutDevices(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		x := []int64{1}
		h := ints(t, rt, x)
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: h, Mode: iface.RW, Pin: PinTo(0)}}}))
		var none *NoNodeError
		if err := j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: h, Mode: iface.RW, Pin: PinTo(1)}}}); !errors.As(err, &none) || none.Node != 1 {
			t.Errorf("pinned to a device: %v", err)
		}
		must(t, j.Wait(context.Background()))
	})
}

// foreign is a device whose kernels are not functions for the CPU.
type foreign struct{ accel.Device }

func (foreign) Arch() string { return "foreign" }

// TestPinnedForForeignKernels: only implementations that say so are given pointers
// of the host.
func TestPinnedForForeignKernels(t *testing.T) {
	rt, j := start(t, Options{Workers: 1, Devices: []accel.Device{foreign{simulated(1<<10, 1)[0]}}})
	h, o := ints(t, rt, make([]int64, 4)), ints(t, rt, make([]int64, 4))
	on := func(want int) Impl {
		return func(c *TaskContext) error {
			if c.Worker() != want {
				t.Errorf("on worker %d, want %d", c.Worker(), want)
			}
			return nil
		}
	}
	s := &TaskSpec{Operands: []Operand{{Handle: h, Mode: iface.RW}, {Handle: o, Mode: iface.RW, Pin: PinTo(0)}}}
	s.Codelet = &Codelet{Name: "own", CPU: []Impl{on(0)}, On: map[string][]Impl{"foreign": {on(0)}}}
	for range 5 {
		must(t, j.Submit(s))
	}
	s.Codelet = &Codelet{Name: "only there", On: map[string][]Impl{"foreign": {on(1)}}}
	var pin *PinError
	if err := j.Submit(s); !errors.As(err, &pin) || pin.Operand != 1 || pin.Node.Name != "ram" {
		t.Errorf("no implementation takes it: %v", err)
	}
	s.Codelet = &Codelet{Name: "takes it", On: map[string][]Impl{"foreign": {on(1)}}, FromMain: []int{1}}
	must(t, j.Submit(s))
	must(t, j.Wait(context.Background()))
}

// TestPinnedIsNotRunAgain: what a kernel did to main memory cannot be taken back when
// its device is lost; what it did there can.
func TestPinnedIsNotRunAgain(t *testing.T) {
	for _, c := range []struct {
		mode iface.AccessMode
		pin  datamgr.Pin
		want int
	}{{iface.RW, PinTo(0), 1}, {iface.Redux, PinTo(0), 1}, {iface.RW, 0, 2}, {iface.W, PinTo(0), 2}} {
		d := newFrail("a", 1<<10, 1)
		rt, j := start(t, Options{Workers: 1, Policy: "eager", Devices: []accel.Device{d}})
		x := make([]int64, 1)
		h, err := rt.Register(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{1}, Home: ptr(x), Reduce: datamgr.SumReduction()})
		must(t, err)
		busy, started, calls := make(chan bool), make(chan bool), 0
		must(t, j.Submit(&TaskSpec{Codelet: kernel("busy", func(*TaskContext) error { close(started); <-busy; return nil }), Workers: []int{0}}))
		<-started // so the task runs on the device first
		k, err := j.SubmitTask(&TaskSpec{Codelet: &Codelet{Name: "loses its device", Pure: true, CPU: []Impl{func(c *TaskContext) error {
			iface.Slice[int64](c.Buffer(0))[0] += 1
			if calls++; calls == 1 {
				rt.reg.Lose(1, &accel.LostError{Device: "a", Err: errWire})
				close(busy)
				return errWire
			}
			return nil
		}}}, Operands: []Operand{{Handle: h, Mode: c.mode, Pin: c.pin}}})
		must(t, err)
		_ = k.Wait(context.Background())
		if err := k.Err(); calls != c.want || (err == nil) != (c.want == 2) {
			t.Errorf("%v: called %d times, %v", c, calls, err)
		}
		_ = j.Wait(context.Background())
	}
}
