//go:build cuda

package cuda

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/accel"
)

// TestUnavailable: no library, and libraries that do not start, in processes of
// their own.
func TestUnavailable(t *testing.T) {
	if os.Getenv("STARPUSH_TEST_OPEN") != "" {
		_, err := Driver{}.Open()
		if err == nil && os.Getenv("STARPUSH_TEST_OPEN") == "maybe" {
			fmt.Println("cuda: libcuda.so.1 was not found in the folder, and the machine has a driver")
			os.Exit(0)
		}
		var u *accel.UnavailableError
		if !errors.As(err, &u) || u.Driver != "cuda" || u.Remedy == "" || u.Err == nil {
			fmt.Printf("not the error that it should be: %#v\n", err)
		}
		fmt.Println(err)
		os.Exit(0)
	}
	for _, c := range []struct {
		env  []string
		want string
	}{
		{[]string{LibsVariable + "=" + t.TempDir(), "STARPUSH_TEST_OPEN=maybe"}, "cuda: libcuda.so.1 was not found"},
		{[]string{"FAKE_CUDA_INIT=100"}, "no CUDA-capable device is detected (100)"},
		{[]string{"FAKE_CUDA_DEVICES=0"}, "no CUDA-capable device is detected (100)"},
	} {
		if real && strings.HasPrefix(c.env[0], "FAKE") {
			continue
		}
		cmd := exec.Command(os.Args[0], "-test.run=^TestUnavailable$")
		cmd.Env = append(append(os.Environ(), "STARPUSH_TEST_OPEN=yes"), c.env...)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.want) || strings.Contains(string(out), "not the error") {
			t.Errorf("%v: %v\n%s", c.env, err, out)
		}
	}
}

func TestDevices(t *testing.T) {
	for _, d := range open(t) {
		major, _ := d.Capability()
		if d.Model() == "" || strings.Count(d.Bus(), ":") != 2 || major < 1 || d.Units() != 1 || d.Processors() < 1 {
			t.Errorf("%s: %q at %q, capability %d, %d units, %d processors", d.Name(), d.Model(), d.Bus(), major, d.Units(), d.Processors())
		}
	}
}

func row(dst, src accel.Place, n int64) *accel.Copy {
	return &accel.Copy{Dst: dst, Src: src, Bytes: n, Count: accel.Counts()}
}

var ram = accel.NewHeap("ram", 1<<40)

func place(b []byte) accel.Place {
	return accel.Place{Mem: ram, Ptr: unsafe.Pointer(unsafe.SliceData(b))}
}

// alloc allocates until the end of the test.
func alloc(t testing.TB, d *Device, n int64) accel.Place {
	t.Helper()
	p, err := d.Memory().Alloc(n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Memory().Free(p, n) })
	return accel.Place{Mem: d.Memory(), Ptr: p}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestPinned sends pinned memory, and memory that is pinned in part.
func TestPinned(t *testing.T) {
	d := open(t)[0]
	s := newStream(t, d)
	const n = 10000
	p, err := d.AllocPinned(n)
	ok(t, err)
	defer func() { ok(t, d.FreePinned(p)) }()
	host := unsafe.Slice((*byte)(p), n)
	for i := range host {
		host[i] = byte(i * 7)
	}
	want := bytes.Clone(host)
	dev := alloc(t, d, n)
	ok(t, s.Copy(row(dev, place(host), n)))
	ok(t, s.Sync())
	if s.chunk != nil {
		t.Error("pinned memory was staged")
	}
	clear(host)
	c := row(accel.Place{Mem: ram, Ptr: unsafe.Add(p, 1)}, accel.Place{Mem: dev.Mem, Ptr: unsafe.Add(dev.Ptr, 1)}, 10)
	c.Count[2], c.DstStep[2], c.SrcStep[2] = 500, 20, 20
	ok(t, s.Copy(c))
	ok(t, s.Sync())
	if s.chunk != nil {
		t.Error("pinned memory was staged")
	}
	for i := range host {
		if in := i >= 1 && (i-1)%20 < 10; in && host[i] != want[i] || !in && host[i] != 0 {
			t.Fatalf("byte %d is %#x", i, host[i])
		}
	}
	out := make([]byte, n)
	ok(t, s.Copy(row(place(out), dev, n)))
	ok(t, s.Sync())
	if !bytes.Equal(out, want) || s.chunk == nil {
		t.Errorf("main memory that is not pinned: staged %v", s.chunk != nil)
	}

	// ranges
	a := address(p)
	for _, r := range []struct {
		first, end uint64
		want       bool
	}{{a, a + n, true}, {a + 1, a + 1, true}, {a - 1, a + 1, false}, {a + 1, a + 1<<20, false}, {address(unsafe.Pointer(&out[0])), address(unsafe.Pointer(&out[0])) + 1, false}} {
		if isPinned(r.first, r.end) != r.want {
			t.Errorf("from %#x to %#x, pinned from %#x: %v", r.first, r.end, a, !r.want)
		}
	}
}

// TestFullDevice: a driver that has less than it said is full, not broken.
func TestFullDevice(t *testing.T) {
	if real {
		t.Skip("needs the fake driver")
	}
	d := open(t)[0]
	d.mem.Usage = accel.NewUsage(d.Name(), 4*d.mem.Capacity())
	var full *accel.NoMemoryError
	if _, err := d.Memory().Alloc(d.mem.Capacity()); !errors.As(err, &full) || full.Allocated != 0 || d.Memory().Allocated() != 0 {
		t.Errorf("%v, and %d bytes are in use", err, d.Memory().Allocated())
	}
}

// TestMemoryOption bounds what is used.
func TestMemoryOption(t *testing.T) {
	devs, err := Driver{Memory: 1 << 20}.Open()
	ok(t, err)
	for _, d := range devs {
		if c := d.Memory().Capacity(); c != 1<<20 {
			t.Errorf("%s: %d bytes", d.Name(), c)
		}
		ok(t, d.Close())
	}
}

// TestEventsAreUsedAgain: events that are never polled do not pile up.
func TestEventsAreUsedAgain(t *testing.T) {
	d := open(t)[0]
	s := newStream(t, d)
	for range 20 * prune {
		_, err := s.Record()
		ok(t, err)
		if len(s.pending) > 2*prune {
			ok(t, s.Sync())
		}
	}
	ok(t, s.Sync())
	s.settle()
	d.mu.Lock()
	n := len(d.mu.events)
	d.mu.Unlock()
	if len(s.pending) != 0 || n == 0 || n > 3*prune {
		t.Errorf("%d events are pending, %d unused", len(s.pending), n)
	}
}

// TestClock: a base that moves does not show.
func TestClock(t *testing.T) {
	d := open(t)[0]
	s := newStream(t, d)
	var all []accel.Event
	for range 20 {
		e, err := s.Record()
		ok(t, err)
		ok(t, e.Sync())
		all = append(all, e)
		d.clock.mu.far = -1 // from now on each event is the next base
	}
	for i := range all[1:] {
		if dt, ok := all[i+1].Since(all[i]); !ok || dt < 0 {
			t.Errorf("event %d: %v after the one before, %v", i+1, dt, ok)
		}
	}
	if dt, ok := all[19].Since(all[0]); !ok || dt <= 0 || d.clock.mu.at <= 0 {
		t.Errorf("the last event is %v after the first, the base at %v", dt, d.clock.mu.at)
	}
}
