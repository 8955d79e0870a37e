package sim

import (
	"errors"
	"testing"

	"github.com/starpush/starpush/accel"
)

// outcomes makes n operations of each kind and says which fail: "a", "c" or "k" for
// those that do, "." for others, "x" once the device is lost.
func outcomes(t *testing.T, d *Device, s accel.Stream, n int) (text string) {
	t.Helper()
	at, _ := alloc(t, d.Memory(), 8)
	defer d.Memory().Free(at.Ptr, 8)
	src, _ := ram(8, 1)
	note := func(letter string, err error) {
		var lost *accel.LostError
		switch {
		case err == nil:
			text += "."
		case errors.As(err, &lost):
			text += "x"
		default:
			text += letter
		}
	}
	for range n {
		p, err := d.Memory().Alloc(8)
		if err == nil {
			d.Memory().Free(p, 8)
		}
		note("a", err)
		err = s.Copy(row(at, src, 8))
		if err == nil {
			err = s.Sync()
		}
		note("c", err)
		note("k", s.Do(accel.Work{Name: "f"}, func() error { return nil }))
	}
	return text
}

func TestFaults(t *testing.T) {
	large := func(op Op) bool { return op.Bytes > 4 }
	for _, c := range []struct {
		name   string
		faults func() Faults
		want   string
	}{
		{"none", func() Faults { return Faults{} }, "............"},
		// the first allocation is that of the buffer
		{"nth", func() Faults { return Faults{Alloc: Nth(3), Copy: Nth(2), Kernel: Nth(4)} }, "...ac......k"},
		{"next", func() Faults { return Faults{Copy: Next(), Kernel: Next()} }, ".ck........."},
		{"after", func() Faults { return Faults{Copy: After(5)} }, "....c..c..c."},
		{"predicate", func() Faults { return Faults{Copy: large} }, ".c..c..c..c."},
		{"name", func() Faults { return Faults{Kernel: func(op Op) bool { return op.Name == "f" && op.Kind == Kernel }} }, "..k..k..k..k"},
		{"lost", func() Faults { return Faults{Lose: After(7)} }, "......xxxxxx"},
		{"lost by a copy", func() Faults {
			return Faults{Lose: func(op Op) bool { return op.Kind == Copy && op.N == 3 && op.From == "ram" }}
		}, ".......xxxxx"},
		{"chance 0", func() Faults { return Faults{Copy: Chance(0, 1), Kernel: Chance(1, 1)} }, "..k..k..k..k"},
	} {
		for _, async := range []bool{false, true} {
			d, s := device(t, Options{Capacity: 100, Async: async, Faults: c.faults()})
			if got := outcomes(t, d, s, 4); got != c.want {
				t.Errorf("%s: %s, want %s", c.name, got, c.want)
			}
		}
	}
	run := func(seed uint64) string {
		d, s := device(t, Options{Capacity: 100, Faults: Faults{Copy: Chance(0.5, seed)}})
		return outcomes(t, d, s, 50)
	}
	first, again, other := run(1), run(1), run(2)
	if first != again || first == other {
		t.Error("what fails by chance does not come from the seed")
	}
}

func TestFaultError(t *testing.T) {
	d, s := device(t, Options{Capacity: 100})
	at, b := alloc(t, d.Memory(), 8)
	src, from := ram(8, 1)
	must(t, s.Copy(row(at, src, 8)))
	d.FailCopy(Next())
	must(t, s.Copy(row(src, at, 8)))
	err := s.Sync()
	var fault *FaultError
	if !errors.As(err, &fault) || fault.Op != (Op{Kind: Copy, N: 2, Total: 3, Bytes: 8, From: "sim", To: "ram"}) {
		t.Errorf("%v: %+v", err, fault)
	}
	if want := "copying 8 bytes from sim to ram failed: a fault on demand: copy 2, of 8 bytes from sim to ram, on sim"; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
	if from[3] != Poison || b[3] != 1 {
		t.Errorf("after a copy that failed the destination is %x and the source %x", from[3], b[3])
	}
	d.FailKernel(Next())
	if err := s.Do(accel.Work{Name: "f"}, func() error { return nil }); err == nil || err.Error() != "kernel f failed on sim: a fault on demand: kernel 1, of f, on sim" {
		t.Error(err)
	}
	d.FailAlloc(Next())
	var none *accel.NoMemoryError
	if _, err := d.Memory().Alloc(5); !errors.As(err, &none) || *none != (accel.NoMemoryError{Node: "sim", Want: 5, Allocated: 8, Capacity: 100}) {
		t.Error(err)
	}
}

// The data of a lost device is gone, but not before a running kernel has ended.
func TestLose(t *testing.T) {
	for _, async := range []bool{false, true} {
		d, s := device(t, Options{Capacity: 100, Async: async})
		at, b := alloc(t, d.Memory(), 8)
		src, _ := ram(8, 1)
		must(t, s.Copy(row(at, src, 8)))
		err := s.Do(accel.Work{}, func() error {
			done := make(chan bool)
			go func() { // another goroutine
				d.Lose()
				close(done)
			}()
			<-done
			if b[0] != 1 {
				t.Errorf("the memory of a kernel that runs is %x", b[0])
			}
			b[0] = 2
			return nil
		})
		var lost *accel.LostError
		if !errors.As(err, &lost) || lost.Device != "sim" {
			t.Errorf("the device is lost under a kernel: %v", err)
		}
		if b[0] != Poison || b[7] != Poison {
			t.Errorf("the memory of a lost device is %x", b)
		}
		d.Lose()
		if again := s.Sync(); again == nil || again.Error() != "the device sim is lost: it was switched off" {
			t.Error(again)
		}
		d.Memory().Free(at.Ptr, 8)
	}
}
