package engine

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/sim"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

// nodeOf is the memory node of the worker that runs the kernel.
func nodeOf(t *testing.T, c *TaskContext) int {
	info, err := c.w.rt.Worker(c.Worker())
	if err != nil {
		t.Error(err)
	}
	return info.Node
}

func TestDeviceWorkers(t *testing.T) {
	rt, j := start(t, Options{Workers: 2, Devices: simulated(1<<10, 3)})
	if rt.Workers() != 5 {
		t.Fatalf("%d workers", rt.Workers())
	}
	w, err := rt.Worker(4)
	if err != nil || w.Name != "sim 2" || w.Kind != "sim" || w.Node != 1 {
		t.Errorf("the last worker is %+v, %v", w, err)
	}
	if n := rt.Nodes(); len(n) != 2 || n[1].Name != "sim" || n[1].Capacity != 1<<10 {
		t.Errorf("nodes %+v", n)
	}
	h := ints(t, rt, make([]int64, 4))
	for range 20 {
		c := kernel("on the device", func(c *TaskContext) error {
			if nodeOf(t, c) != 1 {
				t.Errorf("on worker %d", c.Worker())
			}
			iface.Slice[int64](c.Buffer(0))[3]++
			return nil
		})
		if _, err := j.SubmitWith(&TaskSpec{Codelet: c, Operands: []Operand{{Handle: h, Mode: iface.RW}}}, TaskOptions{Kinds: []string{"sim"}}); err != nil {
			t.Fatal(err)
		}
	}
	a, err := j.Acquire(context.Background(), h, iface.R)
	if err != nil {
		t.Fatal(err)
	}
	if got := iface.Slice[int64](a.Buffer())[3]; got != 20 {
		t.Errorf("%v, want 20", got)
	}
	a.Release()
}

func TestDeviceOptions(t *testing.T) {
	for what, o := range map[string]Options{
		"sequential": {Sequential: true, Devices: simulated(100, 1)},
		"units":      {Devices: simulated(100, MaxWorkers+1)},
	} {
		if rt, err := New(o); err == nil {
			t.Errorf("%s: no error", what)
			rt.Close()
		}
	}
}

func TestTooLarge(t *testing.T) {
	rt, j := start(t, Options{Workers: 1, Devices: simulated(80, 1)})
	h := ints(t, rt, make([]int64, 8))
	o := ints(t, rt, make([]int64, 3))
	v, err := rt.Partition(h, filter.Blocks(2))
	if err != nil {
		t.Fatal(err)
	}
	c := kernel("big", func(c *TaskContext) error {
		if nodeOf(t, c) != 0 {
			t.Errorf("on worker %d", c.Worker())
		}
		return nil
	})
	both := []Operand{{Handle: h, Mode: iface.R}, {Handle: o, Mode: iface.RW}}
	var large *TooLargeError
	err = j.Submit(&TaskSpec{Codelet: c, Operands: both, Workers: []int{1}})
	if !errors.As(err, &large) || large.Bytes != 88 || len(large.Nodes) != 1 || !strings.Contains(err.Error(), "88 bytes") {
		t.Errorf("a task that does not fit: %v", err)
	}
	for range 20 { // wherever it may run otherwise, it runs where it fits
		if err := j.Submit(&TaskSpec{Codelet: c, Operands: both}); err != nil {
			t.Fatal(err)
		}
	}
	both[0].Handle = v.Parts[0]
	c = kernel("small", func(*TaskContext) error { return nil })
	if err := j.Submit(&TaskSpec{Codelet: c, Operands: both, Workers: []int{1}}); err != nil {
		t.Errorf("a task that fits: %v", err)
	}
	if err := j.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func TestPrivateMemoryOnDevice(t *testing.T) {
	dev := simulated(64, 2)
	rt, j := start(t, Options{Workers: 1, Devices: dev})
	x := []int64{5}
	h, err := rt.Register(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{1}, Home: ptr(x), Reduce: datamgr.SumReduction()})
	if err != nil {
		t.Fatal(err)
	}
	room := ints(t, rt, make([]int64, 4))
	c := kernel("contribute", func(c *TaskContext) error {
		if nodeOf(t, c) != 1 {
			t.Errorf("on worker %d", c.Worker())
		}
		s := iface.Slice[int64](c.Buffer(0))
		for i := range s {
			s[i] = int64(i)
		}
		iface.Slice[int64](c.Buffer(1))[0] += s[3]
		return nil
	})
	for range 50 {
		if err := j.Submit(&TaskSpec{Codelet: c, Operands: []Operand{{Handle: room, Mode: iface.Scratch}, {Handle: h, Mode: iface.Redux}}, Workers: []int{1, 2}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Unregister(h); err != nil {
		t.Fatal(err)
	}
	if err := j.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	if x[0] != 155 {
		t.Errorf("%v, want 155", x[0])
	}
	if m := dev[0].Memory(); rt.Nodes()[1].Allocated != 0 || m.Peak() < 40 {
		t.Errorf("%d bytes left, %d at most", rt.Nodes()[1].Allocated, m.Peak())
	}
}

// TestScratchStaysOnDevice: what a task had as SCRATCH on a device is there for the next
// one. The driver is asked once.
func TestScratchStaysOnDevice(t *testing.T) {
	dev := simulated(1<<10, 1)
	asked := 0
	dev[0].(*sim.Device).FailAlloc(func(sim.Op) bool { asked++; return false }) // about one at a time
	rt, j := start(t, Options{Workers: 1, Devices: dev})
	room, x := ints(t, rt, make([]int64, 4)), ints(t, rt, []int64{0})
	c := kernel("with room", func(c *TaskContext) error {
		iface.Slice[int64](c.Buffer(0))[3] = 1
		iface.Slice[int64](c.Buffer(1))[0]++
		return nil
	})
	for range 50 {
		must(t, j.Submit(&TaskSpec{Codelet: c, Operands: []Operand{{Handle: room, Mode: iface.Scratch}, {Handle: x, Mode: iface.RW}}, Workers: []int{1}}))
	}
	must(t, j.Wait(context.Background()))
	holds(t, j, x, 50)
	if asked != 2 {
		t.Errorf("%d allocations for 50 tasks with the same data and room; 2 are enough", asked)
	}
}

// TestEmptyScratch: SCRATCH data without elements is that on a device, and where main
// memory is limited, and not what the task before had in its place.
func TestEmptyScratch(t *testing.T) {
	for name, o := range map[string]Options{
		"device":  {Workers: 1, Devices: simulated(1<<10, 1)},
		"limited": onDisk(t, Options{Workers: 1}, 400*8),
	} {
		t.Run(name, func(t *testing.T) {
			rt, j := start(t, o)
			none, x, y := ints(t, rt, nil), ints(t, rt, []int64{0}), ints(t, rt, []int64{0})
			touch := kernel("touch", func(c *TaskContext) error { iface.Slice[int64](c.Buffer(0))[0]++; return nil })
			fill := kernel("fill", func(c *TaskContext) error {
				if d := c.Buffer(0).Desc; d.Kind != iface.Vector {
					t.Errorf("the empty vector is a %v", &d)
				}
				room := iface.Slice[int64](c.Buffer(0))
				for i := range room {
					room[i] = 99
				}
				iface.Slice[int64](c.Buffer(1))[0] += int64(len(room))
				return nil
			})
			at := []int{rt.Workers() - 1}
			for range 5 {
				must(t, j.Submit(&TaskSpec{Codelet: touch, Operands: []Operand{{Handle: y, Mode: iface.RW}}, Workers: at}))
				must(t, j.Submit(&TaskSpec{Codelet: fill, Operands: []Operand{{Handle: none, Mode: iface.Scratch}, {Handle: x, Mode: iface.RW}}, Workers: at}))
			}
			must(t, j.Wait(context.Background()))
			holds(t, j, x, 0)
			holds(t, j, y, 5)
		})
	}
}

// TestCloseBringsDataHome: data that was never unregistered is in the program's memory
// after Close.
func TestCloseBringsDataHome(t *testing.T) {
	dev, err := sim.New(sim.Options{Name: "other", Capacity: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	rt, err := New(Options{Workers: 1, Devices: append(simulated(1<<10, 1), dev)})
	if err != nil {
		t.Fatal(err)
	}
	x := make([]int64, 4)
	h := ints(t, rt, x)
	j := rt.NewJob(context.Background(), JobOptions{})
	inc := kernel("inc", func(c *TaskContext) error { iface.Slice[int64](c.Buffer(0))[0]++; return nil })
	for _, w := range []int{2, 1, 2} {
		if err := j.Submit(&TaskSpec{Codelet: inc, Operands: []Operand{{Handle: h, Mode: iface.RW}}, Workers: []int{w}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(j.Close(), rt.Close()); err != nil {
		t.Fatal(err)
	}
	if x[0] != 3 || dev.Memory().Allocated() != 0 {
		t.Errorf("%v at home, %d bytes on the device", x[0], dev.Memory().Allocated())
	}
}

// Ranks of a parallel task share memory, so they are on one node.
func TestParallelOnOneNode(t *testing.T) {
	rt, j := start(t, Options{Workers: 2, Devices: simulated(1<<10, 2)})
	h := ints(t, rt, make([]int64, 2))
	for _, node := range []int{0, 1} {
		c := kernel("ranks", func(c *TaskContext) error {
			if n := nodeOf(t, c); n != node || c.Size() != 2 {
				t.Errorf("rank %d of %d is on node %d, want %d", c.Rank(), c.Size(), n, node)
			}
			iface.Slice[int64](c.Buffer(0))[c.Rank()]++
			return c.Barrier()
		})
		c.Traits = &Traits{Parallel: SPMD}
		s := &TaskSpec{Codelet: c, Operands: []Operand{{Handle: h, Mode: iface.RW}}}
		if node == 1 {
			s.Workers = []int{2, 3, 1}
		}
		if err := j.Submit(s); err != nil {
			t.Fatal(err)
		}
	}
	a, err := j.Acquire(context.Background(), h, iface.R)
	if err != nil {
		t.Fatal(err)
	}
	if x := iface.Slice[int64](a.Buffer()); x[0] != 2 || x[1] != 2 {
		t.Errorf("%v", x)
	}
	a.Release()
}

// TestDuplicateAndItsPart: a part of a duplicate ends the sharing with the source
// before the whole is read, so that the task has one copy on the device, not two.
func TestDuplicateAndItsPart(t *testing.T) {
	rt, j := start(t, Options{Workers: 1, Devices: simulated(80, 1)})
	h := ints(t, rt, []int64{1, 2, 3, 4, 5, 6, 7, 8})
	dup, err := j.Duplicate(h)
	must(t, err)
	v, err := rt.Partition(dup, filter.Blocks(2))
	must(t, err)
	var sum int64
	add := kernel("add", func(c *TaskContext) error {
		for i := range c.NumBuffers() {
			for _, x := range iface.Slice[int64](c.Buffer(i)) {
				sum += x
			}
		}
		return nil
	})
	must(t, j.Submit(&TaskSpec{Codelet: add, Workers: []int{1}, Operands: []Operand{{Handle: dup, Mode: iface.R}, {Handle: v.Parts[1], Mode: iface.R}}}))
	must(t, j.Wait(context.Background()))
	if n := len(j.Failures()); n != 0 || sum != 36+26 {
		t.Errorf("sum %d, failures: %v", sum, j.Failures())
	}
}

// A device that is none is an error of New.
func TestNoDevice(t *testing.T) {
	if _, err := New(Options{Devices: []accel.Device{simulated(1<<10, 1)[0], nil}}); err == nil || !strings.Contains(err.Error(), "device 1 of Options.Devices is nil") {
		t.Error(err)
	}
}

// Devices say by their names which of them is lost, so a runtime takes no two of one name:
// it would give up the data of the other.
func TestDevicesOfOneName(t *testing.T) {
	for _, o := range []Options{
		{Devices: append(simulated(1<<10, 1), simulated(1<<10, 1)...)},
		{Devices: simulated(1<<10, 1), RAM: 1 << 20, Disk: simulated(1<<20, 1)[0]},
	} {
		rt, err := New(o)
		if err == nil {
			_ = rt.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "two devices are called sim") {
			t.Error(err)
		}
	}
}

func onDevice(h *datamgr.Handle, c *Codelet) *TaskSpec {
	return &TaskSpec{Codelet: c, Operands: []Operand{{Handle: h, Mode: iface.RW}}, Workers: []int{1}}
}

// TestRuntimesShareADevice: what one leaves there goes when the other needs room, what
// it uses is waited for, and what its program holds is an error.
func TestRuntimesShareADevice(t *testing.T) {
	dev := simulated(80, 1)
	one, j1 := start(t, Options{Workers: 1, Devices: dev})
	two, j2 := start(t, Options{Workers: 1, Devices: dev})
	x, y := make([]int64, 8), make([]int64, 8)
	h, o := ints(t, one, x), ints(t, two, y)
	must(t, j1.Submit(onDevice(h, incs)))
	must(t, j1.Wait(context.Background()))
	must(t, j2.Submit(onDevice(o, incs)))
	must(t, j2.Wait(context.Background()))
	if there, ram := present(t, j1, h, 1), present(t, j1, h, 0); there.Allocated != 0 || ram.Valid != 64 || x[0] != 1 {
		t.Errorf("what the other evicted: %+v, %+v, %v", there, ram, x[0])
	}

	busy, started := make(chan bool), make(chan bool)
	must(t, j1.Submit(onDevice(h, kernel("busy", func(c *TaskContext) error {
		close(started)
		<-busy
		iface.Slice[int64](c.Buffer(0))[0]++
		return nil
	}))))
	<-started
	k, err := j2.SubmitTask(onDevice(o, incs))
	must(t, err)
	close(busy)
	must(t, k.Wait(context.Background()))
	must(t, k.Err())

	a, err := j1.AcquireWith(context.Background(), h, iface.R, AcquireOptions{Node: 1})
	must(t, err)
	k, err = j2.SubmitTask(onDevice(o, incs))
	must(t, err)
	must(t, k.Wait(context.Background()))
	var full *accel.NoMemoryError
	if err := k.Err(); !errors.As(err, &full) || full.Want != 64 || full.Allocated != 64 || full.Capacity != 80 {
		t.Errorf("beside what the other's program holds: %v", err)
	}
	must(t, a.Release())
	must(t, j2.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: o, Mode: iface.W}}, Workers: []int{1}}))
	must(t, j2.Wait(context.Background()))
}

// TestRuntimesTakeTurns: two runtimes that both need all of a device, at once.
func TestRuntimesTakeTurns(t *testing.T) {
	dev := simulated(200, 2)
	const rounds = 300
	done := make(chan error, 2)
	for range 2 {
		go func() {
			done <- func() error {
				rt, err := New(Options{Workers: 1, Devices: dev})
				if err != nil {
					return err
				}
				j := rt.NewJob(context.Background(), JobOptions{})
				xs := [4][]int64{}
				var hs []*datamgr.Handle
				for i := range xs {
					xs[i] = make([]int64, 8+i)
					h, err := rt.Register(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{len(xs[i])}, Home: ptr(xs[i])})
					if err != nil {
						return err
					}
					hs = append(hs, h)
				}
				for k := range rounds {
					s := &TaskSpec{Codelet: incs, Workers: []int{1, 2}, Operands: []Operand{{Handle: hs[k%4], Mode: iface.RW}, {Handle: hs[(k+1)%4], Mode: iface.RW}}}
					if err := j.Submit(s); err != nil {
						return err
					}
				}
				if err := errors.Join(j.Close(), rt.Close()); err != nil {
					return err
				}
				if n := len(j.Failures()); n > 0 {
					return j.Failures()[0]
				}
				for i := range xs {
					if xs[i][0] != rounds/2 {
						return errors.New("wrong data")
					}
				}
				return nil
			}()
		}()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if n := dev[0].Memory().Allocated(); n != 0 {
		t.Errorf("%d bytes left", n)
	}
}
