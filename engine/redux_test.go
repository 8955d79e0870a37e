package engine

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/sim"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
)

// adds adds 1 to what it has REDUX, and leaves alone what it has otherwise.
func adds(c *TaskContext) error {
	for i := range c.NumBuffers() {
		if c.Mode(i) == iface.Redux {
			for k := range iface.Slice[int64](c.Buffer(i)) {
				iface.Slice[int64](c.Buffer(i))[k]++
			}
		}
	}
	return nil
}

func reduced(t *testing.T, rt *Runtime, x []int64, r *datamgr.Reduction) *datamgr.Handle {
	t.Helper()
	h, err := rt.Register(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{len(x)}, Home: ptr(x), Reduce: r})
	must(t, err)
	return h
}

// copied is how many copies went to the device and from it.
func copied(rt *Runtime) (to, from int64) {
	for _, x := range rt.reg.Traffic() {
		if x.To > 0 {
			to += x.Copies
		} else if x.From > 0 {
			from += x.Copies
		}
	}
	return to, from
}

// TestContributionsStay: tasks on a device add to what is there, and what comes back is
// one copy.
func TestContributionsStay(t *testing.T) {
	for _, c := range []struct {
		units      int
		dev        func(accel.Device) accel.Device
		on         bool
		most, back int64
	}{
		{1, func(d accel.Device) accel.Device { return d }, false, 1, 1},
		{3, func(d accel.Device) accel.Device { return d }, false, 3, 1},
		{3, func(d accel.Device) accel.Device { return foreign{d} }, false, 3, 3},
		{3, func(d accel.Device) accel.Device { return foreign{d} }, true, 3, 1},
	} {
		r := *datamgr.SumReduction()
		if c.on {
			r.On = map[string]func(accel.Stream, *iface.Buffer, *iface.Buffer) error{
				"foreign": func(_ accel.Stream, into, from *iface.Buffer) error { return r.Combine(into, from) }}
		}
		rt, j := start(t, Options{Workers: 1, Devices: []accel.Device{c.dev(simulated(1<<10, c.units)[0])}})
		x := []int64{5, 6, 7}
		h := reduced(t, rt, x, &r)
		for range 2 { // groups
			var meet sync.WaitGroup
			meet.Add(c.units)
			there := func(name string, fn Impl) *Codelet {
				return &Codelet{Name: name, CPU: []Impl{fn}, On: map[string][]Impl{"foreign": {fn}}}
			}
			first := there("all at once", func(k *TaskContext) error {
				meet.Done()
				meet.Wait()
				return adds(k)
			})
			var workers []int
			for w := range c.units {
				workers = append(workers, 1+w)
			}
			for k := range 50 {
				s := &TaskSpec{Codelet: first, Operands: []Operand{{Handle: h, Mode: iface.Redux}}, Workers: workers}
				if k >= c.units {
					s.Codelet = there("one by one", adds)
				}
				must(t, j.Submit(s))
			}
			must(t, j.Submit(&TaskSpec{Codelet: &Codelet{Name: "host", CPU: []Impl{adds}}, Operands: []Operand{{Handle: h, Mode: iface.Redux}}, Workers: []int{0}}))
			a, err := j.Acquire(context.Background(), h, iface.R)
			must(t, err)
			must(t, a.Release())
		}
		if x[0] != 107 || x[2] != 109 {
			t.Errorf("%d units: %v, want 107 to 109", c.units, x)
		}
		if to, from := copied(rt); to > 2*c.most || from > 2*c.back || from < 2 {
			t.Errorf("%d units, %v: %d copies to the device, %d from it", c.units, c.on, to, from)
		}
		must(t, j.Unregister(h))
		must(t, j.Wait(context.Background()))
		if n := rt.Nodes(); n[0].Allocated+n[1].Allocated != 0 {
			t.Errorf("%+v after the data has ended", n)
		}
	}
}

// TestContributionsAreEvicted: they give way to tasks that need the room, and count.
func TestContributionsAreEvicted(t *testing.T) {
	rt, j := start(t, Options{Workers: 1, Devices: simulated(80, 1)})
	x := make([]int64, 4)
	h, o := reduced(t, rt, x, datamgr.SumReduction()), ints(t, rt, make([]int64, 9))
	for range 20 {
		must(t, j.Submit(&TaskSpec{Codelet: kernel("adds", adds), Operands: []Operand{{Handle: h, Mode: iface.Redux}}, Workers: []int{1}}))
		must(t, j.Submit(onDevice(o, incs)))
	}
	must(t, j.Unregister(h))
	must(t, j.Wait(context.Background()))
	if x[0] != 20 || x[3] != 20 {
		t.Errorf("%v, want 20", x)
	}
}

// TestContributionsAreLost: with the device, and only what is nowhere else.
func TestContributionsAreLost(t *testing.T) {
	d := newFrail("a", 1<<10, 1)
	rt, j := start(t, Options{Workers: 1, Devices: []accel.Device{d}})
	h, o := reduced(t, rt, make([]int64, 4), datamgr.SumReduction()), reduced(t, rt, make([]int64, 4), datamgr.SumReduction())
	for _, w := range []int{0, 1} {
		must(t, j.Submit(&TaskSpec{Codelet: kernel("adds", adds), Operands: []Operand{{Handle: h, Mode: iface.Redux}}, Workers: []int{w}}))
	}
	must(t, j.Submit(&TaskSpec{Codelet: kernel("adds", adds), Operands: []Operand{{Handle: o, Mode: iface.Redux}}, Workers: []int{0}}))
	must(t, j.Wait(context.Background()))
	rt.reg.Lose(1, &accel.LostError{Device: "a", Err: errWire})
	var failed *FailedDataError
	if _, err := j.Acquire(context.Background(), h, iface.R); !errors.As(err, &failed) || !errors.Is(err, errWire) {
		t.Errorf("with a contribution on the lost device: %v", err)
	}
	a, err := j.Acquire(context.Background(), o, iface.R)
	must(t, err)
	if x := iface.Slice[int64](a.Buffer()); x[0] != 1 {
		t.Errorf("%v, want 1", x[0])
	}
	must(t, a.Release())
}

// TestCombiningThereFails: as anywhere.
func TestCombiningThereFails(t *testing.T) {
	r := &datamgr.Reduction{Name: "broken", Init: datamgr.SumReduction().Init, Combine: func(into, from *iface.Buffer) error { panic("no") }}
	_, _, _, err := combineThere(t, simulated(1<<10, 2)[0], r)
	var failed *FailedDataError
	var broken *datamgr.ReductionError
	if !errors.As(err, &failed) || !errors.As(err, &broken) || broken.What != "combine" {
		t.Errorf("the reduction fails: %v", err)
	}
}

// combineThere has two contributions on a device combined, and returns what reading gives.
func combineThere(t *testing.T, d accel.Device, r *datamgr.Reduction) (*Runtime, *Job, *Access, error) {
	rt, j := start(t, Options{Workers: 1, Devices: []accel.Device{d}})
	h := reduced(t, rt, make([]int64, 4), r)
	meet := make(chan bool)
	fn := func(c *TaskContext) error {
		select { // two run at the same time, so there are two contributions
		case meet <- true:
		case <-meet:
		}
		return adds(c)
	}
	both := &Codelet{Name: "both", CPU: []Impl{fn}, On: map[string][]Impl{"foreign": {fn}}}
	for range 2 {
		must(t, j.Submit(&TaskSpec{Codelet: both, Operands: []Operand{{Handle: h, Mode: iface.Redux}}, Workers: []int{1, 2}}))
	}
	a, err := j.Acquire(context.Background(), h, iface.R)
	return rt, j, a, err
}

// TestLostWhileCombining: a device that is lost while it combines loses the values that
// it held, like one that is lost before, and its loss is recorded.
func TestLostWhileCombining(t *testing.T) {
	d := newFrail("a", 1<<10, 2)
	simDevice(d).LoseWhen(func(op sim.Op) bool { return op.Kind == sim.Kernel && op.Name == "sum" })
	rt, j, _, err := combineThere(t, d, datamgr.SumReduction())
	var failed *FailedDataError
	var lost *accel.LostError
	var broken *datamgr.ReductionError
	if !errors.As(err, &failed) || !errors.As(err, &lost) || errors.As(err, &broken) {
		t.Errorf("reading gives %v, want that the device is lost, not the reduction's fault", err)
	}
	if rt.reg.Lost(1) == nil {
		t.Error("the registry does not know that the device is lost")
	}
	if all := j.Failures(); len(all) > 0 {
		t.Errorf("failures: %v, want none: no task failed", all)
	}
}

// TestCombiningThereDeclined: what a device does not combine is combined in main memory.
func TestCombiningThereDeclined(t *testing.T) {
	r := *datamgr.SumReduction()
	r.On = map[string]func(accel.Stream, *iface.Buffer, *iface.Buffer) error{
		"foreign": func(accel.Stream, *iface.Buffer, *iface.Buffer) error {
			return &accel.DeclinedError{Device: "a", Kernel: "sum", Err: errWire}
		}}
	_, _, a, err := combineThere(t, foreign{simulated(1<<10, 2)[0]}, &r)
	must(t, err)
	if x := iface.Slice[int64](a.Buffer()); x[0] != 2 {
		t.Errorf("%v, want 2", x[0])
	}
	must(t, a.Release())
}

// TestContributionsStayWithDisk: where main memory is limited, too, tasks here and there
// do not take turns with one contribution.
func TestContributionsStayWithDisk(t *testing.T) {
	rt, j := start(t, onDisk(t, Options{Workers: 1, Devices: simulated(1<<10, 1)}, 1<<10))
	x := make([]int64, 4)
	h := reduced(t, rt, x, datamgr.SumReduction())
	for k := range 20 {
		must(t, j.Submit(&TaskSpec{Codelet: kernel("adds", adds), Operands: []Operand{{Handle: h, Mode: iface.Redux}}, Workers: []int{k % 2}}))
		must(t, j.Wait(context.Background()))
	}
	unregister(t, j, h)
	to, from := int64(0), int64(0)
	for _, c := range rt.reg.Traffic() {
		if c.To == 1 {
			to += c.Copies
		} else if c.From == 1 {
			from += c.Copies
		}
	}
	if x[0] != 20 || to > 2 || from > 2 {
		t.Errorf("%v; %d copies to the device, %d from it", x, to, from)
	}
}

// TestContributionOfNobodyIsNotLost: a task that could not run on a device, because that
// was lost, leaves nothing there that would be missed.
func TestContributionOfNobodyIsNotLost(t *testing.T) {
	d := newFrail("a", 1<<10, 1)
	there, evicted := make(chan bool), make(chan bool)
	simDevice(d).LoseWhen(func(op sim.Op) bool {
		if op.Kind != sim.Copy || op.Bytes != 40 {
			return false
		}
		close(there) // what it adds to x is on the device now, what it adds to y is not
		<-evicted
		return true
	})
	rt, j := start(t, onDisk(t, Options{Workers: 1, Devices: []accel.Device{d}}, 128))
	vec := func(n int) *datamgr.Handle {
		h, err := rt.RegisterFilled(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{n}, Reduce: datamgr.SumReduction()},
			func(*iface.Buffer) error { return nil })
		must(t, err)
		return h
	}
	x, y, big := vec(4), vec(5), vec(10)
	host := kernel("host", func(*TaskContext) error { <-there; return nil })
	must(t, j.Submit(&TaskSpec{Codelet: host, Operands: ops(iface.RW, big), Workers: []int{0}}))
	must(t, j.Submit(&TaskSpec{Codelet: kernel("adds", adds), Operands: []Operand{{Handle: x, Mode: iface.Redux}, {Handle: y, Mode: iface.Redux}}}))
	<-there
	must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, big), Workers: []int{0}}))
	must(t, j.WaitHandles(context.Background(), big))
	close(evicted)
	must(t, j.Wait(context.Background()))
	readable(t, j, x, 1)
	readable(t, j, y, 1)
	unregister(t, j, x, y, big)
}
