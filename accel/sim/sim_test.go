package sim

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/accel"
)

func TestMemory(t *testing.T) {
	d, err := New(Options{Capacity: 100})
	if err != nil {
		t.Fatal(err)
	}
	if d.Name() != "sim" || d.Units() != 1 || d.Arch() != "cpu" {
		t.Errorf("%s with %d units for %s", d.Name(), d.Units(), d.Arch())
	}
	m := d.Memory()
	p, err := m.Alloc(60)
	if err != nil {
		t.Fatal(err)
	}
	if uintptr(p)%64 != 0 {
		t.Errorf("%p is not aligned", p)
	}
	b := unsafe.Slice((*byte)(p), 60)
	for i, v := range b {
		if v != Poison {
			t.Fatalf("byte %d of new memory is %x", i, v)
		}
		b[i] = 0
	}
	var none *accel.NoMemoryError
	if _, err := m.Alloc(41); !errors.As(err, &none) || none.Allocated != 60 || none.Capacity != 100 {
		t.Errorf("41 of 40 bytes: %v", err)
	}
	if _, err := m.Alloc(-1); !errors.As(err, &none) {
		t.Errorf("a size that overflowed: %v", err)
	}
	m.Free(p, 60)
	if b[59] != Poison {
		t.Error("memory that was given back keeps its content")
	}
	if m.Allocated() != 0 || m.Peak() != 60 {
		t.Errorf("%d bytes in use, at most %d", m.Allocated(), m.Peak())
	}
	if _, err := New(Options{Capacity: -1}); err == nil {
		t.Error("a device with less than nothing")
	}
}
