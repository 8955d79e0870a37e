//go:build cuda

package cuda

// The driver made of C in testdata/fake, built when the tests begin. With
// STARPUSH_CUDA_LIBS=system, or another folder, they run against a real one.

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"gorgonia.org/cu"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/acceltest"
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
	dir, err := os.MkdirTemp("", "fakecuda")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(dir)
	gcc := func(file, soname string, more ...string) error {
		cmd := exec.Command("gcc", append([]string{"-O1", "-g", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-shared", "-fPIC", "-pthread",
			"-Iinclude", "-Ikernels", "-Wl,-soname," + soname, "-o", filepath.Join(dir, file)}, more...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			fmt.Printf("building the fake %s: %v\n%s", file, err, out)
		}
		return err
	}
	driver := filepath.Join(dir, "libcuda.so.1")
	if gcc("libcuda.so.1", "libcuda.so.1", "testdata/fake/fake.c", "testdata/fake/kernels.c", "-lm") != nil ||
		gcc("libcublas.so.12", "libcublas.so.12", "testdata/fake/blas.c", driver, "-lm") != nil ||
		gcc("libcusolver.so.11", "libcusolver.so.11", "testdata/fake/blas.c", driver, "-lm") != nil {
		return 1
	}
	os.Setenv(LibsVariable, dir)
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

// What the fake driver understands besides its orders.
const (
	failAlloc = 1
	failCopy  = 2
	lose      = 3
)

// order tells the fake driver what to do to a device.
func (d *Device) order(what int64) {
	if err := d.with(func() error { return cu.SetLimit(200, what) }); err != nil {
		panic(err)
	}
}

// TestKit is what any device must do.
func TestKit(t *testing.T) {
	o := acceltest.Options{Large: 6 << 20} // more than a chunk
	if !real {
		o.Faults = func(a accel.Device) acceltest.Faults {
			d := a.(*Device)
			return acceltest.Faults{
				Alloc: func() { d.order(failAlloc) },
				Copy:  func() { d.order(failCopy) },
				Lose:  func() { d.order(lose) },
			}
		}
	}
	acceltest.Run(t, Driver{}.Open, o)
}
