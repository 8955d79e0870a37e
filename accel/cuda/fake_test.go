//go:build cuda

package cuda

// The driver made of C in testdata/fake, built when the tests begin. With
// STARPUSH_CUDA_LIBS=system, or another folder, they run against a real one.

import (
	"fmt"
	"os"
	"testing"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/acceltest"
	"github.com/starpush/starpush/accel/cuda/cudatest"
)

// real is set when the tests run against the driver of the machine.
var real bool

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	if libs, ok := os.LookupEnv(LibsVariable); ok {
		if real = true; libs == "system" {
			os.Unsetenv(LibsVariable)
		}
		return m.Run()
	}
	if err := cudatest.Use(); err != nil {
		fmt.Println(err)
		return 1
	}
	return m.Run()
}

// open returns the devices until the end of the test.
func open(t testing.TB) []*Device {
	t.Helper()
	all, err := Driver{}.Open()
	if err != nil {
		t.Fatal(err)
	}
	var devs []*Device
	for _, d := range all {
		devs = append(devs, d.(*Device))
		t.Cleanup(func() { d.Close() })
	}
	return devs
}

func newStream(t testing.TB, d *Device) *Stream {
	t.Helper()
	s, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s.(*Stream)
}

// breaks returns what does something to d that goes wrong.
func breaks(d *Device, f cudatest.Fault) func() {
	return func() {
		if err := cudatest.Break(int(d.dev), f); err != nil {
			panic(err)
		}
	}
}

// TestKit is what any device must do.
func TestKit(t *testing.T) {
	o := acceltest.Options{Large: 6 << 20} // more than a chunk
	if !real {
		o.Faults = func(a accel.Device) acceltest.Faults {
			d := a.(*Device)
			return acceltest.Faults{
				Alloc: breaks(d, cudatest.FailAlloc),
				Copy:  breaks(d, cudatest.FailCopy),
				Lose:  breaks(d, cudatest.Lose),
			}
		}
	}
	acceltest.Run(t, Driver{}.Open, o)
}
