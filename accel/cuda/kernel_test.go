//go:build cuda

package cuda

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/starpush/starpush/accel"
)

func builtin(t testing.TB, d *Device) *Module {
	t.Helper()
	text, err := os.ReadFile("kernels/builtin.ptx")
	ok(t, err)
	m, err := d.Load(string(text))
	ok(t, err)
	t.Cleanup(func() { m.Unload() })
	return m
}

// TestCompilerSpeaks: what does not compile tells why.
func TestCompilerSpeaks(t *testing.T) {
	d := open(t)[0]
	_, err := d.Load("//\n.version 6.3\n.target sm_75\n.address_size 64\nthis is no PTX\n")
	var e *Error
	if !errors.As(err, &e) || !strings.Contains(err.Error(), "ptxas") || !strings.Contains(err.Error(), "(218)") {
		t.Errorf("%v", err)
	}
	if _, err := builtin(t, d).Function("no_such_kernel"); err == nil || !strings.Contains(err.Error(), "no_such_kernel") || !strings.Contains(err.Error(), "(500)") {
		t.Errorf("%v", err)
	}
}

// TestLaunchErrors: a launch that cannot be is an error of the call, and nothing
// is lost.
func TestLaunchErrors(t *testing.T) {
	devs := open(t)
	d := devs[0]
	s := newStream(t, d)
	f, err := builtin(t, d).Function("fill_b32")
	ok(t, err)
	if err := s.Launch(f, Launch{Block: [3]int{100000}}, 0, 0, 0, 0, 0); err == nil {
		t.Error("blocks of 100000 threads are launched")
	}
	if err := s.Launch(f, Launch{Shared: 1 << 30}, 0, 0, 0, 0, 0); err == nil || !strings.Contains(err.Error(), "1 GiB of shared memory") {
		t.Errorf("%v", err)
	}
	if err := s.Launch(f, Launch{}, make([]uint64, maxParams+1)...); err == nil {
		t.Error("too many parameters are passed")
	}
	if len(devs) > 1 {
		if err := newStream(t, devs[1]).Launch(f, Launch{}, 0, 0, 0, 0, 0); err == nil || !strings.Contains(err.Error(), "is on cuda 0") {
			t.Errorf("the kernel of another device: %v", err)
		}
	}
	ok(t, s.Sync())
}

// TestBadAddress: a kernel that follows a wrong address loses its device, and no
// other.
func TestBadAddress(t *testing.T) {
	if real && os.Getenv("STARPUSH_BAD_ADDRESS") == "" {
		// a process that has lost a real device cannot use it any more
		c := exec.Command(os.Args[0], "-test.run", "^TestBadAddress$")
		c.Env = append(os.Environ(), "STARPUSH_BAD_ADDRESS=1")
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	devs := open(t)
	d := devs[0]
	s := newStream(t, d)
	f, err := builtin(t, d).Function("fill_b32")
	ok(t, err)
	ok(t, s.Launch(f, Launch{}, 7, 1, 1, 64, 1))
	for range 2 {
		var lost *accel.LostError
		var e *Error
		if err := s.Sync(); !errors.As(err, &lost) || lost.Device != d.Name() || !errors.As(err, &e) || e.Code != 700 {
			t.Errorf("%v", err)
		}
	}
	if _, err := d.Memory().Alloc(8); err == nil {
		t.Error("a lost device gives memory")
	}
	for _, o := range devs[1:] {
		s := newStream(t, o)
		x, out := alloc(t, o, 8), make([]byte, 8)
		ok(t, s.Copy(row(x, place([]byte("12345678")), 8)))
		ok(t, s.Copy(row(place(out), x, 8)))
		ok(t, s.Sync())
		if string(out) != "12345678" {
			t.Errorf("%s: %q", o.Name(), out)
		}
	}
}
