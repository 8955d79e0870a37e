package tests

// Faults of devices, and their effects on tasks and data. One table for all machines
// whose devices can be broken.

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/opencl"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/enginetest"
	"github.com/starpush/starpush/stdlib"
)

// faultMachines have two devices, at least, that can be broken.
var faultMachines = []string{"sim:cpu8gpu4:memory=1048576", "cuda-fake"}

// faultCase is a task that doubles x on the first device, when something goes wrong
// there.
type faultCase struct {
	fault enginetest.Fault
	times int
	there bool // x has been written on the device, and is nowhere else
	free  bool // the task may run on the CPU, too
	runs  bool // it ends well
}

var faultCases = map[string]faultCase{
	"a kernel":                               {enginetest.FailKernel, 1, false, true, true},
	"a kernel, and there is no other worker": {enginetest.FailKernel, 1, false, false, false},
	"a kernel, with data that is there only": {enginetest.FailKernel, 1, true, true, false},

	// Idle data makes room.
	"an allocation": {enginetest.FailAlloc, 1, false, true, true},
	"an allocation, and there is no other worker": {enginetest.FailAlloc, 1, false, false, true},

	// A copy that fails is tried once more.
	"a copy":     {enginetest.FailCopy, 1, false, false, true},
	"all copies": {enginetest.FailCopy, 1000, false, true, true},
	"all copies, and there is no other worker": {enginetest.FailCopy, 1000, false, false, false},

	"the device": {enginetest.Lose, 1, false, true, true},
	"the device, and there is no other worker": {enginetest.Lose, 1, false, false, false},
	"the device, with data that is there only": {enginetest.Lose, 1, true, true, false},

	"the device at a kernel":                               {enginetest.LoseInKernel, 1, false, true, true},
	"the device at a kernel, and there is no other worker": {enginetest.LoseInKernel, 1, false, false, false},
	"the device at a kernel, with data that is there only": {enginetest.LoseInKernel, 1, true, true, false},
}

func (c faultCase) loses() bool {
	return c.fault == enginetest.Lose || c.fault == enginetest.LoseInKernel
}

// explains reports whether err says what went wrong on a device.
func (c faultCase) explains(err error, device string) bool {
	var kernel *accel.KernelError
	var full *accel.NoMemoryError
	var copying *accel.CopyError
	var lost *accel.LostError
	switch c.fault {
	case enginetest.FailKernel:
		return errors.As(err, &kernel) && kernel.Device == device
	case enginetest.FailAlloc:
		return errors.As(err, &full) && full.Node == device
	case enginetest.FailCopy:
		return errors.As(err, &copying) && copying.From == "ram" && copying.To == device
	}
	return errors.As(err, &lost) && lost.Device == device && strings.Contains(err.Error(), device)
}

// broken is a runtime with one CPU worker, and two devices with one each.
type broken struct {
	*testing.T
	rt      *engine.Runtime
	job     *engine.Job
	devices []accel.Device
	data    []*datamgr.Handle
}

func (b *broken) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// onBroken runs fn, and checks that nothing is left behind: no task, no memory.
func onBroken(t *testing.T, machine string, capacity int64, fn func(b *broken, m *enginetest.Machine)) {
	m := enginetest.Named(t, machine)
	devices, err := m.Open(capacity)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		for _, d := range devices {
			if n := d.Memory().Allocated(); n != 0 {
				t.Errorf("%d bytes are left on %s", n, d.Name())
			}
			var lost *accel.LostError
			if err := d.Close(); err != nil && !errors.As(err, &lost) {
				t.Errorf("closing %s: %v", d.Name(), err)
			}
		}
	}()
	b := &broken{T: t, devices: devices[:2]}
	b.rt, err = engine.New(engine.Options{Workers: 1, Policy: "eager", Devices: b.devices})
	b.must(err)
	b.job = b.rt.NewJob(t.Context(), engine.JobOptions{})
	fn(b, m)
	for _, h := range b.data {
		b.must(b.job.Unregister(h))
	}
	b.must(b.job.Wait(t.Context()))
	b.job.Failures()
	b.must(b.job.Close())
	b.must(b.rt.Close())
}

// vector registers n numbers.
func (b *broken) vector(n int, value float64) *datamgr.Handle {
	b.Helper()
	x := slices.Repeat([]float64{value}, n)
	h, err := b.rt.Register(engine.DataSpec{Kind: iface.Vector, Elem: iface.F64, Dims: []int{n}, Home: unsafe.Pointer(&x[0])})
	b.must(err)
	b.data = append(b.data, h)
	return h
}

// codeletOf is one of std/blas.
func codeletOf(name string) *engine.Codelet {
	all := stdlib.Modules()["std/blas"].Codelets
	return all[slices.IndexFunc(all, func(c *engine.Codelet) bool { return c.Name == name })]
}

// task submits h = 2 h.
func (b *broken) task(h *datamgr.Handle, workers ...int) (*engine.Task, error) {
	return b.job.SubmitTask(&engine.TaskSpec{Codelet: codeletOf("scal"), Args: []iface.Scalar{iface.Float(2)},
		Operands: []engine.Operand{{Handle: h, Mode: iface.RW}}, Workers: workers})
}

// fill submits h = value.
func (b *broken) fill(h *datamgr.Handle, value float64, workers ...int) (*engine.Task, error) {
	return b.job.SubmitTask(&engine.TaskSpec{Codelet: codeletOf("fill"), Args: []iface.Scalar{iface.Float(value)},
		Operands: []engine.Operand{{Handle: h, Mode: iface.W}}, Workers: workers})
}

// end waits for a task that was just submitted, and returns its error.
func (b *broken) end(k *engine.Task, err error) error {
	if err != nil {
		return err
	}
	if err := k.Wait(b.Context()); err != nil {
		return err
	}
	return k.Err()
}

// value reads the last element.
func (b *broken) value(h *datamgr.Handle) (float64, error) {
	a, err := b.job.Acquire(b.Context(), h, iface.R)
	if err != nil {
		return 0, err
	}
	defer a.Release()
	x := iface.Slice[float64](a.Buffer())
	return x[len(x)-1], nil
}

func (b *broken) holds(what string, h *datamgr.Handle, want float64) {
	b.Helper()
	if got, err := b.value(h); err != nil || got != want {
		b.Errorf("%s: %v, %v; want %v", what, got, err, want)
	}
}

// occupy keeps the CPU worker until the function it returns is called.
func (b *broken) occupy() (let func()) {
	started, busy := make(chan bool), make(chan bool)
	c := &engine.Codelet{Name: "busy", CPU: []engine.Impl{func(*engine.TaskContext) error { close(started); <-busy; return nil }}}
	b.must(b.job.Submit(&engine.TaskSpec{Codelet: c, Workers: []int{0}}))
	<-started
	return func() { close(busy) }
}

// TestFaults: a task that a device cannot run runs elsewhere, if what it reads is
// elsewhere, or fails and says why. Data that is valid elsewhere survives; what is lost
// says how. Everything else goes on.
func TestFaults(t *testing.T) {
	for _, machine := range faultMachines {
		t.Run(machine, func(t *testing.T) {
			for name, c := range faultCases {
				t.Run(name, func(t *testing.T) {
					onBroken(t, machine, 1<<20, func(b *broken, m *enginetest.Machine) { b.try(m, c) })
				})
			}
		})
	}
}

func (b *broken) try(m *enginetest.Machine, c faultCase) {
	const n = 100
	device := b.devices[0].Name()
	x, both, clean := b.vector(n, 3), b.vector(n, 5), b.vector(n, 7)
	want := 3.0
	b.must(b.end(b.job.SubmitTask(&engine.TaskSpec{Codelet: codeletOf("copy"), Workers: []int{1},
		Operands: []engine.Operand{{Handle: both, Mode: iface.R}, {Handle: clean, Mode: iface.W}}})))
	b.holds("what the device wrote", clean, 5) // brought back: now in main memory, too
	if c.there {
		want *= 2
		b.must(b.end(b.task(x, 1)))
	}

	let := b.occupy()
	left, err := m.Break(b.devices, 0, c.fault, c.times)
	b.must(err)
	on := []int{1}
	if c.free {
		on = []int{0, 1}
	}
	k, err := b.task(x, on...)
	b.must(err)
	enginetest.Eventually(b, "the device has the task", func() bool { return !c.free || c.fault == enginetest.Lose || left() != c.times })
	let()
	switch err := b.end(k, nil); {
	case c.runs && err != nil:
		b.Errorf("the task: %v", err)
	case !c.runs && (err == nil || !c.explains(err, device)):
		b.Errorf("the task ends with %v", err)
	}

	if !c.loses() {
		_, err := m.Break(b.devices, 0, c.fault, 0)
		b.must(err)
	}

	if c.runs {
		b.holds("what was computed", x, 2*want)
	} else {
		var data *engine.FailedDataError
		if v, err := b.value(x); !errors.As(err, &data) || !c.explains(err, device) {
			b.Errorf("what was lost: %v, %v", v, err)
		}
	}
	for _, h := range []*datamgr.Handle{both, clean} {
		b.holds("what is in main memory, too", h, 5)
	}

	// The program goes on, on every worker that is left; of the fault nothing is.
	for w := range 3 {
		fresh := b.vector(n, 1)
		err := b.end(b.task(fresh, w))
		var none *engine.LostWorkersError
		switch lost := c.loses() && w == 1; {
		case lost && !errors.As(err, &none) && !c.explains(err, device): // known to be, or found out now
			b.Errorf("a task for the device that is lost: %v", err)
		case !lost && err != nil:
			b.Errorf("a task on worker %d afterwards: %v", w, err)
		case !lost:
			b.holds("afterwards", fresh, 2)
		}
	}
	b.must(b.end(b.fill(x, 9)))
	b.holds("what is written again", x, 9)
}

// TestCopyBackFails: the only copy of what a device wrote is there still when it could
// not be brought back.
func TestCopyBackFails(t *testing.T) {
	for _, machine := range faultMachines {
		t.Run(machine, func(t *testing.T) {
			onBroken(t, machine, 1<<20, func(b *broken, m *enginetest.Machine) {
				x := b.vector(100, 3)
				b.must(b.end(b.task(x, 1)))
				_, err := m.Break(b.devices, 0, enginetest.FailCopy, 2) // it is tried twice
				b.must(err)
				var failed *accel.CopyError
				if v, err := b.value(x); !errors.As(err, &failed) || failed.From != b.devices[0].Name() || failed.To != "ram" {
					t.Errorf("what is on the device: %v, %v", v, err)
				}
				b.must(b.end(b.task(x, 1)))
				b.holds("after a copy that failed", x, 12)
			})
		})
	}
}

// TestDeviceMemory: tasks whose data is five times what a device has all run there. One
// with more than the device has runs elsewhere, or is refused.
func TestDeviceMemory(t *testing.T) {
	const capacity = 1 << 20
	for _, machine := range append(slices.Clone(faultMachines), "opencl") {
		t.Run(machine, func(t *testing.T) {
			onBroken(t, machine, capacity, func(b *broken, _ *enginetest.Machine) {
				mem := b.devices[0].Memory()
				n := capacity / 4 / 8
				var xs []*datamgr.Handle
				for i := range 20 {
					xs = append(xs, b.vector(n, float64(i)))
				}
				for range 2 {
					for _, x := range xs {
						_, err := b.task(x, 1)
						b.must(err)
					}
				}
				b.must(b.job.Wait(t.Context()))
				for i, x := range xs {
					b.holds("one of many", x, float64(4*i))
				}
				if p := mem.Peak(); p > capacity || p < capacity/2 {
					t.Errorf("%d bytes at once on %s, which has %d", p, mem.Name(), mem.Capacity())
				}
				large := b.vector(capacity/8+1, 1)
				var full *engine.TooLargeError
				if _, err := b.task(large, 1); !errors.As(err, &full) || full.Bytes != capacity+8 {
					t.Errorf("a task with more than the device has: %v", err)
				}
				b.must(b.end(b.task(large)))
				b.holds("more than the device has", large, 2)
			})
		})
	}
}

// TestMemoryTakenByOthers: a device has memory by its own account, and another program
// has taken it. Tasks then run elsewhere, or fail with an error that says so, and run
// there once it is back.
func TestMemoryTakenByOthers(t *testing.T) {
	const capacity = 1 << 20
	for _, machine := range append(slices.Clone(faultMachines), "opencl") {
		t.Run(machine, func(t *testing.T) {
			onBroken(t, machine, capacity, func(b *broken, _ *enginetest.Machine) {
				mem := b.devices[0].Memory()
				x, y := b.vector(100, 3), b.vector(100, 3)
				b.must(b.end(b.task(y, 1)))
				b.holds("before", y, 6)
				taken := mem.Capacity() - mem.Allocated()
				p, err := mem.Alloc(taken)
				b.must(err)
				var full *accel.NoMemoryError
				large := b.vector(capacity/16, 1)
				if err := b.end(b.task(large, 1)); !errors.As(err, &full) || full.Node != mem.Name() {
					t.Errorf("a task for the device alone: %v", err)
				}
				b.must(b.end(b.task(x)))
				b.holds("what runs anywhere", x, 6)
				b.holds("what is in main memory, too", y, 6)
				mem.Free(p, taken)
				b.must(b.end(b.fill(large, 1)))
				b.must(b.end(b.task(large, 1)))
				b.holds("there again", large, 2)
			})
		})
	}
}

// TestBadKernel: a kernel that does not fit its launch, and one that does not compile,
// fail their tasks, and the device goes on. A faulty codelet is not hidden by running it
// elsewhere.
func TestBadKernel(t *testing.T) {
	const source = "kernel void f(global double *x, long x0) { x[x0] = 1; }"
	var bad *opencl.ArgError
	var text *opencl.BuildError
	for name, c := range map[string]struct {
		source string
		local  int
		is     func(error) bool
	}{
		"too many work-items": {source, 1 << 20, func(err error) bool { return errors.As(err, &bad) }},
		"does not compile":    {"kernel void f(global double *x) { x[0] = oops; }", 1, func(err error) bool { return errors.As(err, &text) && strings.Contains(err.Error(), "oops") }},
	} {
		t.Run(name, func(t *testing.T) {
			onBroken(t, "opencl", 1<<20, func(b *broken, _ *enginetest.Machine) {
				x, y := b.vector(100, 3), b.vector(100, 3)
				on := func(k *engine.TaskContext) error {
					s := k.Stream().(*opencl.Stream)
					p, err := s.Device().Build(c.source, "")
					if err != nil {
						return err
					}
					f, err := p.Kernel("f")
					if err != nil {
						return err
					}
					return s.Launch(f, []int{c.local}, []int{c.local}, opencl.Buf{Ptr: k.Buffer(0).Ptr, Elem: 8})
				}
				wrong := &engine.Codelet{Name: "wrong", Pure: true, CPU: codeletOf("scal").CPU, On: map[string][]engine.Impl{"opencl": {on}}}
				let := b.occupy()
				err := b.end(b.job.SubmitTask(&engine.TaskSpec{Codelet: wrong, Operands: []engine.Operand{{Handle: x, Mode: iface.RW}}}))
				let()
				if !c.is(err) {
					t.Errorf("the task: %v", err)
				}
				var data *engine.FailedDataError
				if v, err := b.value(x); !errors.As(err, &data) || !c.is(err) {
					t.Errorf("what it was to write: %v, %v", v, err)
				}
				b.must(b.end(b.task(y, 1)))
				b.holds("afterwards", y, 6)
			})
		})
	}
}
