package accel

import (
	"errors"
	"math"
	"testing"
	"unsafe"
)

func TestCheck(t *testing.T) {
	m := NewHeap("ram", 100)
	var b [8]byte
	at := Place{m, unsafe.Pointer(&b)}
	one := Counts()
	for _, c := range []struct {
		c  Copy
		ok bool
	}{
		{Copy{Dst: at, Src: at, Bytes: 8, Count: one}, true},
		{Copy{Dst: at, Src: at, Bytes: 0, Count: one}, true},
		{Copy{Dst: at, Src: at, Bytes: 8}, true},
		{Copy{Dst: at, Src: at, Bytes: math.MaxInt64, Count: one}, true},
		{Copy{Dst: at, Src: at, Bytes: math.MaxInt64/2 + 1, Count: Counts(1, 2)}, false},
		{Copy{Dst: at, Src: at, Bytes: 1 << 20, Count: Counts(1<<20, 1<<20, 1<<20, 1<<20)}, false},
		{Copy{Dst: at, Src: at, Bytes: -8, Count: one}, false},
		{Copy{Dst: at, Src: at, Bytes: 8, Count: Counts(1, 1, 1, -1)}, false},
		{Copy{Dst: at, Src: at, Bytes: 8, Count: Counts(-1, -1)}, false},
		{Copy{Dst: at, Bytes: 8, Count: one}, false},
		{Copy{Src: at, Bytes: 8, Count: one}, false},
	} {
		if err := c.c.Check(); (err == nil) != c.ok {
			t.Errorf("%v of %d bytes: %v", c.c.Count, c.c.Bytes, err)
		}
	}
}

func TestErrors(t *testing.T) {
	why := errors.New("why")
	for _, c := range []struct {
		err  error
		want string
	}{
		{&LostError{"sim 0", why}, "the device sim 0 is lost: why"},
		{&CopyError{"ram", "sim 0", 2048, why}, "copying 2 KiB from ram to sim 0 failed: why"},
		{&KernelError{"cuda 0", "scal", why}, "kernel scal failed on cuda 0: why"},
		{&UnavailableError{"opencl", "no library", "install one", why}, "opencl: no library; install one"},
		{&UnavailableError{"opencl", "no library", "", why}, "opencl: no library"},
	} {
		if c.err.Error() != c.want || !errors.Is(c.err, why) {
			t.Errorf("%q, want %q", c.err, c.want)
		}
	}
}
