package enginetest

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/opencl"
	"github.com/starpush/starpush/accel/sim"
)

// Machines says in the help of a flag what Named understands.
const Machines = `"sim:cpu8gpu4" and the like, "opencl", "cuda", or "cuda-fake", a CUDA driver made of C`

// Machine is what tests run on.
type Machine struct {
	Name    string
	Real    bool // its drivers are not made of Go: kernels need implementations, see On
	Workers int  // CPU workers; 0: any number
	// Break makes the next n operations of a kind fail on the open device with the
	// given index. The function that it returns says how many failures are left.
	// nil: devices of this machine cannot be made to fail.
	Break func(devices []accel.Device, i int, f Fault, times int) (left func() int, err error)
	open  func(capacity int64) ([]accel.Device, error)
}

// Open returns the devices, each with a capacity in bytes; 0: all that it has. The
// capacity of simulated machines is fixed. The caller closes the devices.
func (m *Machine) Open(capacity int64) ([]accel.Device, error) { return m.open(capacity) }

// Named returns a machine. A test without the machine it was asked for is skipped,
// OpenCL only where STARPUSH_NEED_OPENCL does not say that there is some.
func Named(t testing.TB, name string) *Machine {
	t.Helper()
	m := &Machine{Name: name, Real: true}
	switch {
	case strings.HasPrefix(name, "sim:"):
		s, err := sim.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		return &Machine{Name: name, Workers: s.Workers, Break: breakSimulated, open: func(int64) ([]accel.Device, error) { return s.Open() }}
	case name == "opencl":
		m.open = openOpenCL
	case name == "cuda":
		m.open = func(capacity int64) ([]accel.Device, error) { return openCUDA(false, capacity) }
	case name == "cuda-fake":
		m.open = func(capacity int64) ([]accel.Device, error) { return openCUDA(true, capacity) }
		m.Break = breakFake
	default:
		t.Fatalf("there is no machine %q: %s", name, Machines)
	}
	devices, err := m.open(0)
	var none *accel.UnavailableError
	if errors.As(err, &none) && (none.Driver != "opencl" || os.Getenv("STARPUSH_NEED_OPENCL") == "") {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	Close(t, devices)
	return m
}

// Devices opens the devices of the machine with that name, each with a capacity in bytes; 0:
// all that it has. They are closed when the test ends. Without the machine it is skipped, as
// by Named.
func Devices(t testing.TB, name string, capacity int64) []accel.Device {
	t.Helper()
	devices, err := Named(t, name).Open(capacity)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { Close(t, devices) })
	return devices
}

// openOpenCL asks PoCL for two devices, unless POCL_DEVICES is set; the devices of other
// drivers are added to them.
func openOpenCL(capacity int64) ([]accel.Device, error) {
	if os.Getenv("POCL_DEVICES") == "" {
		if err := os.Setenv("POCL_DEVICES", "pthread pthread"); err != nil {
			return nil, err
		}
	}
	return opencl.Driver{Capacity: capacity}.Open()
}

// Close closes devices whose memory is to be free by now.
func Close(t testing.TB, devices []accel.Device) {
	t.Helper()
	for _, d := range devices {
		if n := d.Memory().Allocated(); n != 0 {
			t.Errorf("%d bytes are left on %s", n, d.Name())
		}
		if err := d.Close(); err != nil {
			t.Errorf("closing %s: %v", d.Name(), err)
		}
	}
}

// Eventually waits until cond is true. After a minute it fails the test and returns, on any
// goroutine. what says what cond is, in a sentence.
func Eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	end := time.Now().Add(time.Minute)
	for n := 0; !cond(); n++ {
		switch {
		case time.Now().After(end):
			t.Errorf("not within a minute: %s", what)
			return
		case n < 1000:
			runtime.Gosched()
		default:
			time.Sleep(100 * time.Microsecond)
		}
	}
}
