package sim

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/starpush/starpush/accel"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// device makes a device that the test closes, and a stream of it.
func device(t testing.TB, o Options) (*Device, accel.Stream) {
	t.Helper()
	d, err := New(o)
	must(t, err)
	s, err := d.NewStream()
	must(t, err)
	t.Cleanup(func() {
		s.Close()
		d.Close()
	})
	return d, s
}

// alloc is memory of a device with what kernels see of it.
func alloc(t testing.TB, m accel.Memory, n int64) (accel.Place, []byte) {
	t.Helper()
	p, err := m.Alloc(n)
	must(t, err)
	return accel.Place{Mem: m, Ptr: p}, unsafe.Slice((*byte)(p), n)
}

// ram is main memory with n bytes of one value.
func ram(n int, value byte) (accel.Place, []byte) {
	b := make([]byte, n)
	for i := range b {
		b[i] = value
	}
	return accel.Place{Mem: accel.NewHeap("ram", 1<<40), Ptr: ptr(b)}, b
}

func row(dst, src accel.Place, n int64) *accel.Copy {
	return &accel.Copy{Dst: dst, Src: src, Bytes: n, Count: accel.Counts()}
}

// A late copy is not seen before a wait for it, however much time passes.
func TestLate(t *testing.T) {
	d, s := device(t, Options{Capacity: 100, Async: true, Late: 1})
	at, b := alloc(t, d.Memory(), 10)
	src, _ := ram(10, 7)
	must(t, s.Copy(row(at, src, 10)))
	other, err := d.NewStream()
	must(t, err)
	must(t, other.Sync())
	for range 100 {
		runtime.Gosched()
	}
	if b[9] != Poison {
		t.Errorf("a copy is done before a wait for it: %x", b[9])
	}
	// a wait on another stream reaches through
	e, err := s.Record()
	must(t, err)
	must(t, other.Wait(e))
	e, err = other.Record()
	must(t, err)
	for end, done := time.Now().Add(time.Minute), false; !done; runtime.Gosched() {
		done, err = e.Done()
		must(t, err)
		if time.Now().After(end) {
			t.Fatal("what was waited for is not done within a minute")
		}
	}
	if b[9] != 7 {
		t.Errorf("a copy that was waited for is not done: %x", b[9])
	}
	must(t, other.Close())
	// and so does Close
	must(t, s.Copy(row(at, src, 1)))
	must(t, s.Close())
	d.Memory().Free(at.Ptr, 10)
}

// How late things are, and how long they take, comes from the seed.
func TestSeed(t *testing.T) {
	run := func(seed uint64) (late string, time time.Duration) {
		d, s := device(t, Options{Capacity: 100, Async: true, Late: 0.5, Jitter: 0.5, Seed: seed, Main: Link{Latency: 1000}})
		at, _ := alloc(t, d.Memory(), 8)
		src, _ := ram(8, 1)
		st := s.(*stream)
		for range 20 {
			must(t, s.Copy(row(at, src, 8)))
			must(t, s.Sync())
		}
		st.mu.Lock()
		for range 20 {
			o := &op{}
			st.beginLocked(o)
			late += map[bool]string{true: "l", false: "e"}[o.late]
		}
		st.mu.Unlock()
		must(t, s.Sync())
		return late, d.Clock().Now()
	}
	late, time := run(1)
	again, timeAgain := run(1)
	other, timeOther := run(2)
	if late != again || time != timeAgain {
		t.Errorf("one seed: %s in %v, and %s in %v", late, time, again, timeAgain)
	}
	if late == other || time == timeOther {
		t.Errorf("two seeds: %s in %v, and %s in %v", late, time, other, timeOther)
	}
	if !strings.Contains(late, "l") || !strings.Contains(late, "e") || time <= 20*1000 || time > 30*1000 {
		t.Errorf("%s in %v", late, time)
	}
}

// since is the time between two events.
func since(t testing.TB, b, a accel.Event) time.Duration {
	t.Helper()
	got, ok := b.Since(a)
	if !ok {
		t.Error("the time between two events is not told")
	}
	return got
}

func record(t testing.TB, s accel.Stream) accel.Event {
	t.Helper()
	e, err := s.Record()
	must(t, err)
	return e
}

func TestVirtualTime(t *testing.T) {
	for _, async := range []bool{false, true} {
		clock := Virtual()
		o := Options{Name: "a", Capacity: 4000, Units: 2, Async: async, Clock: clock,
			Main:   Link{Latency: time.Millisecond, Bandwidth: 1e6},
			Peers:  map[string]Link{"b": {Latency: time.Second, Bandwidth: 1e3}},
			Kernel: Cost{Fixed: time.Minute, Bandwidth: 10, Flops: 100}}
		a, up := device(t, o)
		o.Name, o.Peers = "b", nil
		b, _ := device(t, o)
		// The streams share no bytes that either of them writes, as their copies may
		// really be done at the same time.
		first, _ := alloc(t, a.Memory(), 1000)
		at, _ := alloc(t, a.Memory(), 1000)
		peer, _ := alloc(t, b.Memory(), 1000)
		src, _ := ram(1000, 1)
		dst, _ := ram(500, 1)

		begin := record(t, up)
		must(t, up.Copy(row(first, src, 1000))) // 2 ms
		one := record(t, up)
		down, err := a.NewStream()
		must(t, err)
		must(t, down.Copy(row(dst, at, 500))) // beside it
		two := record(t, down)
		must(t, down.Copy(row(at, src, 500))) // the link is busy until 2 ms, and then for 1.5 ms
		three := record(t, down)
		must(t, down.Copy(row(peer, at, 1000))) // 2 s
		four := record(t, down)
		must(t, up.Wait(four))
		must(t, up.Do(accel.Work{Bytes: 100, Flops: 1000}, func() error { return nil })) // 60 + 10 + 10 s
		five := record(t, up)
		must(t, up.Sync())
		must(t, down.Sync())
		for i, c := range []struct {
			e    accel.Event
			want time.Duration
		}{
			{one, 2 * time.Millisecond},
			{two, 1500 * time.Microsecond},
			{three, 3500 * time.Microsecond},
			{four, 2*time.Second + 3500*time.Microsecond},
			{five, 82*time.Second + 3500*time.Microsecond},
		} {
			if got := since(t, c.e, begin); got != c.want {
				t.Errorf("event %d at %v, want %v", i, got, c.want)
			}
		}
		if got := clock.Now(); got != 82*time.Second+3500*time.Microsecond {
			t.Errorf("the clock shows %v", got)
		}
		n, busy := a.Kernels()
		if n != 1 || busy != 80*time.Second {
			t.Errorf("%d kernels in %v", n, busy)
		}
		want := []Traffic{{"a", "b", 1, 1000, 2 * time.Second}, {"a", "ram", 1, 500, 1500 * time.Microsecond}, {"ram", "a", 2, 1500, 3500 * time.Microsecond}}
		got := clock.Traffic()
		if len(got) != len(want) {
			t.Fatalf("traffic %v", got)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("traffic %v, want %v", got[i], want[i])
			}
		}
		must(t, down.Close())
	}
}

// A device runs as many kernels at a time as it has units.
func TestUnits(t *testing.T) {
	d, _ := device(t, Options{Units: 2, Kernel: Cost{Fixed: time.Second}})
	for range 5 {
		s, err := d.NewStream()
		must(t, err)
		must(t, s.Do(accel.Work{}, func() error { return nil }))
		must(t, s.Close())
	}
	if got := d.Clock().Now(); got != 3*time.Second {
		t.Errorf("5 kernels of a second on 2 units take %v", got)
	}
}

// On a real clock things take their time, at least.
func TestRealTime(t *testing.T) {
	for _, async := range []bool{false, true} {
		begin := time.Now()
		d, s := device(t, Options{Capacity: 100, Async: async, Main: Link{Latency: 3 * time.Millisecond}, Kernel: Cost{Fixed: 2 * time.Millisecond}, Clock: Real()})
		at, _ := alloc(t, d.Memory(), 8)
		src, _ := ram(8, 1)
		a := record(t, s)
		must(t, s.Copy(row(at, src, 8)))
		b := record(t, s)
		must(t, s.Do(accel.Work{}, func() error { return nil }))
		must(t, s.Sync())
		if now := d.Clock().Now(); now < 5*time.Millisecond || now > time.Since(begin) {
			t.Errorf("a copy and a kernel took %v, and the clock shows %v", time.Since(begin), now)
		}
		if got := since(t, b, a); got < 2*time.Millisecond {
			t.Errorf("a copy took %v", got)
		}
	}
}

func TestOutside(t *testing.T) {
	d, s := device(t, Options{Capacity: 1000, Async: true, Late: 1})
	at, _ := alloc(t, d.Memory(), 100)
	next, _ := alloc(t, d.Memory(), 100)
	src, _ := ram(1000, 1)
	steps := row(at, src, 10)
	steps.Count[2], steps.DstStep[2], steps.SrcStep[2] = 11, 10, 10
	back := row(accel.Place{Mem: at.Mem, Ptr: unsafe.Add(at.Ptr, 50)}, src, 10)
	back.Count[2], back.DstStep[2], back.SrcStep[2] = 7, -10, 10
	for what, c := range map[string]*accel.Copy{
		"behind it":        row(at, src, 101),
		"rows behind it":   steps,
		"rows before it":   back,
		"of main memory's": row(accel.Place{Mem: d.Memory(), Ptr: src.Ptr}, src, 1),
	} {
		if err := s.Copy(c); err == nil {
			t.Errorf("a copy to %s is no error", what)
		}
	}
	steps.Count[2] = 10
	must(t, s.Copy(steps))
	must(t, s.Sync())
	// what is freed while a copy is under way is found out
	must(t, s.Copy(row(next, at, 100)))
	d.Memory().Free(next.Ptr, 100)
	var bad *accel.CopyError
	if err := s.Sync(); !errors.As(err, &bad) || bad.Bytes != 100 {
		t.Errorf("a copy to what was freed meanwhile: %v", err)
	}
	func() {
		defer func() {
			if r := recover(); r == nil || !strings.Contains(r.(string), "100 bytes") {
				t.Errorf("freed twice: %v", r)
			}
		}()
		d.Memory().Free(next.Ptr, 100)
	}()
}

func TestCloseWithStreams(t *testing.T) {
	d, err := New(Options{Capacity: 100, Async: true, Late: 1})
	must(t, err)
	s, err := d.NewStream()
	must(t, err)
	at, b := alloc(t, d.Memory(), 8)
	src, _ := ram(8, 3)
	must(t, s.Copy(row(at, src, 8)))
	if err := d.Close(); err == nil || !strings.Contains(err.Error(), "1 streams open") {
		t.Errorf("closed with a stream open: %v", err)
	}
	if b[0] != 3 {
		t.Error("Close does not wait for what is under way")
	}
	if err := s.Copy(row(at, src, 8)); !errors.Is(err, accel.ErrClosed) {
		t.Errorf("a copy on a closed device: %v", err)
	}
	must(t, d.Close())
}

func TestOptions(t *testing.T) {
	nan := 0.0
	nan /= nan
	for _, o := range []Options{
		{Capacity: -1}, {Units: -1}, {Late: 1}, {Async: true, Late: 2}, {Async: true, Late: nan}, {Jitter: -1},
		{Jitter: nan}, {Main: Link{Latency: -1}}, {Main: Link{Bandwidth: nan}}, {Kernel: Cost{Flops: -1}},
		{Peers: map[string]Link{"x": {Bandwidth: -1}}}, {Name: "x", Peers: map[string]Link{"x": {}}},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("no error: %+v", o)
		}
	}
	d, _ := device(t, Options{})
	if d.Clock() != nil {
		t.Error("a device without costs has a clock")
	}
	if (Link{Bandwidth: 1e-300}).Time(1<<60) <= 0 || (Cost{Flops: 1e-300}).Time(0, 1e300) <= 0 {
		t.Error("times overflow")
	}
}
