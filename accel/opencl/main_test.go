package opencl

import (
	"errors"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/starpush/starpush/accel"
)

// TestMain asks PoCL for two devices, unless POCL_DEVICES is set.
func TestMain(m *testing.M) {
	if os.Getenv("POCL_DEVICES") == "" {
		os.Setenv("POCL_DEVICES", "pthread pthread")
	}
	goleak.VerifyTestMain(m)
}

// open opens what there is. Tests are skipped on machines without OpenCL, unless
// STARPUSH_NEED_OPENCL says that there is some.
func open(t testing.TB, d Driver) []*Device {
	t.Helper()
	found, err := d.Open()
	if un := (*accel.UnavailableError)(nil); errors.As(err, &un) && os.Getenv("STARPUSH_NEED_OPENCL") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	var out []*Device
	for _, f := range found {
		out = append(out, f.(*Device))
		t.Cleanup(func() {
			if err := f.Close(); err != nil {
				t.Errorf("closing %s: %v", f.Name(), err)
			}
		})
	}
	return out
}

func first(t testing.TB) *Device { return open(t, Driver{})[0] }

func stream(t testing.TB, d *Device) *Stream {
	t.Helper()
	s, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s.(*Stream)
}

// ram is main memory of the tests.
var ram = accel.NewHeap("ram", 1<<40)
