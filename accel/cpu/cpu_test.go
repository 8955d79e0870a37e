package cpu

import (
	"errors"
	"math"
	"sync"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/acceltest"
)

func TestMemory(t *testing.T) {
	m := New(1 << 20).Memory()
	var none *accel.NoMemoryError
	for _, n := range []int64{1<<20 + 1, math.MaxInt64, -5} {
		if _, err := m.Alloc(n); !errors.As(err, &none) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for n := range int64(200) {
				p, err := m.Alloc(n)
				if err != nil {
					t.Error(err)
					return
				}
				if uintptr(p)%64 != 0 {
					t.Errorf("%d bytes at %p", n, p)
				}
				for i := range unsafe.Slice((*byte)(p), n) {
					unsafe.Slice((*byte)(p), n)[i] = 1
				}
				m.Free(p, n)
			}
		})
	}
	all.Wait()
	if m.Allocated() != 0 || m.Peak() == 0 || m.Peak() > 8*200 || m.Capacity() != 1<<20 {
		t.Error(m.Allocated(), m.Peak(), m.Capacity())
	}
	if c := New(0).Memory().Capacity(); c < 1<<24 {
		t.Errorf("this machine has %s", accel.Bytes(c))
	}
}

func TestDevice(t *testing.T) {
	acceltest.Run(t, func() ([]accel.Device, error) { return []accel.Device{New(1 << 24)}, nil }, acceltest.Options{Endless: true})
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 bytes", 1023: "1023 bytes", 1024: "1 KiB", 1536: "1.5 KiB", 3 << 30: "3 GiB"} {
		if got := accel.Bytes(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}
