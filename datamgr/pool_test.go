package datamgr

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/accel"
)

// counted is memory that counts what is asked of it, and has less than it says.
type counted struct {
	*accel.Heap
	allocs, frees int
	real          int64
}

func (m *counted) Alloc(bytes int64) (unsafe.Pointer, error) {
	m.allocs++
	if m.Allocated()+bytes > m.real {
		return nil, m.Full(bytes)
	}
	return m.Heap.Alloc(bytes)
}

func (m *counted) Free(p unsafe.Pointer, bytes int64) {
	m.frees++
	m.Heap.Free(p, bytes)
}

func newCounted(bytes, real int64) *counted {
	return &counted{Heap: accel.NewHeap("counted", bytes), real: real}
}

func TestBlocksAreKept(t *testing.T) {
	m := newCounted(1000, 1000)
	p := poolOf(m, true)
	alloc := func(bytes int64) unsafe.Pointer {
		t.Helper()
		at, err := p.alloc(bytes)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	first := alloc(100)
	p.free(first, 100)
	for range 10 {
		at := alloc(100)
		if at != first {
			t.Fatal("the block is not used again")
		}
		p.free(at, 100)
	}
	if m.allocs != 1 || m.frees != 0 || p.room() != 1000 || m.Allocated() != 100 {
		t.Errorf("%d allocations, %d frees, room %d, %d bytes allocated", m.allocs, m.frees, p.room(), m.Allocated())
	}
	a, b := alloc(100), alloc(160)
	p.free(a, 100)
	p.free(b, 160) // with that it would be more than a quarter
	if m.Allocated() != 100 || p.keptBytes() != 100 {
		t.Errorf("%d bytes allocated, %d kept", m.Allocated(), p.keptBytes())
	}
	c := alloc(950) // there is room when what is kept goes back
	if m.Allocated() != 950 || p.keptBytes() != 0 || p.room() != 50 {
		t.Errorf("%d bytes allocated, %d kept, room %d", m.Allocated(), p.keptBytes(), p.room())
	}
	var full *accel.NoMemoryError
	if _, err := p.alloc(51); !errors.As(err, &full) {
		t.Errorf("more than there is: %v", err)
	}
	p.free(c, 950)
	p.free(alloc(10), 10)
	if poolOf(m, true) != p {
		t.Error("the memory has two pools")
	}
	p.close()
	if p.keptBytes() != 10 {
		t.Error("given back while somebody has the pool")
	}
	p.close()
	if m.Allocated() != 0 {
		t.Errorf("%d bytes left", m.Allocated())
	}
	if q := poolOf(m, true); q == p {
		t.Error("a pool that was closed is used again")
	} else {
		q.close()
	}
}

// TestKeptBlocksGoBack: where a device has less memory than it says, an allocation
// that fails is tried without what is kept.
func TestKeptBlocksGoBack(t *testing.T) {
	m := newCounted(1000, 300)
	p := poolOf(m, true)
	defer p.close()
	a, err := p.alloc(200)
	if err != nil {
		t.Fatal(err)
	}
	p.free(a, 200)
	b, err := p.alloc(250)
	if err != nil || m.Allocated() != 250 {
		t.Fatalf("%v; %d bytes allocated", err, m.Allocated())
	}
	p.free(b, 250)
}
