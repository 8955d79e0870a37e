// Package acceltest holds what any device must do. A driver passes with one line
// in a test:
//
//	acceltest.Run(t, opencl.Driver().Open)
//
// and with a second argument that says what the kit can ask of it and what not:
//
//	acceltest.Run(t, open, acceltest.Options{Faults: faults})
//
// Copies put every byte where it belongs and touch no other, in all directions
// and shapes; what is begun on a stream happens in order; what waits, waits; memory
// is counted and bounded; errors come once, and stay when the device is lost;
// misuse is an error and no crash; any number of goroutines may do all that at the
// same time. No test depends on how fast the device is.
package acceltest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/accel"
)

// Options say what a driver can be asked for. The zero value asks for everything
// that needs no help.
type Options struct {
	// Faults returns what breaks a device; nil when nothing can.
	Faults func(accel.Device) Faults
	// Endless is set for devices that cannot be closed, such as the machine itself:
	// nothing is wrong with using them, or their streams, after Close.
	Endless bool
	// Memory is set for devices that are memory only: they have no units.
	Memory bool
	// Large is the size of the largest copy; 0 means 4 MiB.
	Large int64
}

// Faults break a device. A field that is nil means that the device cannot fail in this way.
type Faults struct {
	Alloc  func() // the next allocation fails for want of memory
	Copy   func() // the next copy that is begun fails
	Kernel func() // the next Do fails
	Lose   func() // the device is lost from now on
}

// Run holds the devices that open returns against the rules. It is called for
// each test anew, and may return the devices of the machine or make some. Tests
// are skipped when it returns an *accel.UnavailableError.
func Run(t *testing.T, open func() ([]accel.Device, error), options ...Options) {
	t.Helper()
	var o Options
	if len(options) > 0 {
		o = options[0]
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			t.Helper()
			c.test(newKit(t, open, o))
		})
	}
}

// tests are what Run runs.
var tests = []struct {
	name string
	test func(*kit)
}{
	{"Devices", (*kit).devices},
	{"Memory", (*kit).memory},
	{"Exhaustion", (*kit).exhaustion},
	{"MemoryConcurrently", (*kit).memoryConcurrently},
	{"Copies", (*kit).copies},
	{"WithinOneAllocation", (*kit).within},
	{"LargeCopies", (*kit).large},
	{"NothingToCopy", (*kit).nothing},
	{"Order", (*kit).order},
	{"WaitAcrossStreams", (*kit).waitAcross},
	{"WaitAcrossDevices", (*kit).waitDevices},
	{"Events", (*kit).events},
	{"EventsConcurrently", (*kit).eventsConcurrently},
	{"Do", (*kit).do},
	{"DoThatEndsItsGoroutine", (*kit).doEnds},
	{"Concurrently", (*kit).concurrently},
	{"Misuse", (*kit).misuse},
	{"Closed", (*kit).closed},
	{"AllocationFails", (*kit).allocFails},
	{"CopyFails", (*kit).copyFails},
	{"KernelFails", (*kit).kernelFails},
	{"Lost", (*kit).lost},
	{"LostAtWork", (*kit).lostAtWork},
}

// kit is one run of one test.
type kit struct {
	testing.TB
	o    Options
	devs []accel.Device
	main accel.Memory
	rng  *rand.Rand
	used []buffer
	open []accel.Stream
	lose map[accel.Device]bool // lost
}

func newKit(t testing.TB, open func() ([]accel.Device, error), o Options) *kit {
	t.Helper()
	if o.Large == 0 {
		o.Large = 4 << 20
	}
	devs, err := open()
	var none *accel.UnavailableError
	if errors.As(err, &none) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(devs) == 0 {
		t.Fatal("no devices, and no error")
	}
	k := &kit{TB: t, o: o, devs: devs, main: accel.NewHeap("ram", 1<<40), rng: rand.New(rand.NewPCG(1, 2)), lose: map[accel.Device]bool{}}
	t.Cleanup(k.end)
	return k
}

// end gives everything back, and looks whether anything is left.
func (k *kit) end() {
	for _, s := range k.open {
		if err := s.Close(); err != nil && len(k.lose) == 0 {
			k.Errorf("closing a stream: %v", err)
		}
		if err := s.Close(); err != nil {
			k.Errorf("closing a stream again: %v", err)
		}
	}
	for _, b := range k.used {
		b.Mem.Free(b.Ptr, b.n)
	}
	for _, d := range k.devs {
		// a test that gave up leaves what it was about to free
		if n := d.Memory().Allocated(); n != 0 && !k.Failed() {
			k.Errorf("%s: %d bytes are allocated at the end", d.Name(), n)
		}
		if err := d.Close(); err != nil && !k.lose[d] {
			k.Errorf("%s: Close: %v", d.Name(), err)
		}
		if err := d.Close(); err != nil {
			k.Errorf("%s: the second Close: %v", d.Name(), err)
		}
	}
}

// each runs fn for each device.
func (k *kit) each(fn func(d accel.Device)) {
	for _, d := range k.devs {
		fn(d)
	}
}

// stream makes a stream that lives to the end of the test.
func (k *kit) stream(d accel.Device) accel.Stream {
	k.Helper()
	s, err := d.NewStream()
	if err != nil {
		k.Fatalf("%s: NewStream: %v", d.Name(), err)
	}
	k.open = append(k.open, s)
	return s
}

// buffer is an allocation.
type buffer struct {
	accel.Place
	n int64
}

// at is an address in b.
func (b buffer) at(offset int64) accel.Place {
	return accel.Place{Mem: b.Mem, Ptr: unsafe.Add(b.Ptr, offset)}
}

// host is the content of b, which is main memory.
func (b buffer) host() []byte { return unsafe.Slice((*byte)(b.Ptr), b.n) }

// alloc allocates until the end of the test.
func (k *kit) alloc(m accel.Memory, n int64) buffer {
	k.Helper()
	p, err := m.Alloc(n)
	if err != nil {
		k.Fatalf("%d bytes on %s: %v", n, m.Name(), err)
	}
	b := buffer{accel.Place{Mem: m, Ptr: p}, n}
	k.used = append(k.used, b)
	return b
}

// filled is main memory with n random bytes.
func (k *kit) filled(n int64) buffer {
	k.Helper()
	b := k.alloc(k.main, n)
	fill(b.host(), k.rng)
	return b
}

func fill(b []byte, rng *rand.Rand) {
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
}

// row is the description of a copy of n bytes.
func row(dst, src accel.Place, n int64) *accel.Copy {
	return &accel.Copy{Dst: dst, Src: src, Bytes: n, Count: accel.Counts()}
}

// begin begins a copy.
func (k *kit) begin(s accel.Stream, c *accel.Copy) {
	k.Helper()
	if err := s.Copy(c); err != nil {
		k.Fatalf("beginning a copy from %s to %s: %v", c.Src.Mem.Name(), c.Dst.Mem.Name(), err)
	}
}

// sync waits for s.
func (k *kit) sync(s accel.Stream) {
	k.Helper()
	if err := s.Sync(); err != nil {
		k.Fatalf("Sync: %v", err)
	}
}

// record records an event.
func (k *kit) record(s accel.Stream) accel.Event {
	k.Helper()
	e, err := s.Record()
	if err != nil {
		k.Fatalf("Record: %v", err)
	}
	return e
}

// await makes s wait for e.
func (k *kit) await(s accel.Stream, e accel.Event) {
	k.Helper()
	if err := s.Wait(e); err != nil {
		k.Fatalf("Wait: %v", err)
	}
}

// put copies all of b, main memory, to a device.
func (k *kit) put(s accel.Stream, b buffer, to accel.Memory) buffer {
	k.Helper()
	d := k.alloc(to, b.n)
	k.begin(s, row(d.Place, b.Place, b.n))
	k.sync(s)
	return d
}

// get returns the content of b.
func (k *kit) get(s accel.Stream, b buffer) []byte {
	k.Helper()
	h := k.alloc(k.main, b.n)
	k.begin(s, row(h.Place, b.Place, b.n))
	k.sync(s)
	return h.host()
}

// same compares what arrived with what should have.
func (k *kit) same(got, want []byte, format string, args ...any) {
	k.Helper()
	if bytes.Equal(got, want) {
		return
	}
	i := 0
	for i < min(len(got), len(want)) && got[i] == want[i] {
		i++
	}
	if i == min(len(got), len(want)) {
		k.Fatalf("%s: %d bytes, want %d", fmt.Sprintf(format, args...), len(got), len(want))
	}
	k.Fatalf("%s: byte %d is %#x, want %#x", fmt.Sprintf(format, args...), i, got[i], want[i])
}

// faults are those of a device.
func (k *kit) faults(d accel.Device) Faults {
	if k.o.Faults == nil {
		return Faults{}
	}
	return k.o.Faults(d)
}

// roundTrip sends data there and back.
func (k *kit) roundTrip(d accel.Device, s accel.Stream, n int64) {
	k.Helper()
	h := k.filled(n)
	k.same(k.get(s, k.put(s, h, d.Memory())), slices.Clone(h.host()), "%s: there and back", d.Name())
}
