package accel

import (
	"sync"
	"unsafe"
)

// align is the alignment of allocations: a cache line, and every vector unit.
const align = 64

// Heap is memory from the Go heap, up to a capacity: a slice that a program still
// holds after its data was freed is stale, but never a fault. Large blocks come
// zeroed from the system and take pages when they are touched.
type Heap struct {
	name     string
	capacity int64
	mu       struct {
		sync.Mutex
		allocated, peak int64
	}
}

// NewHeap returns a memory of so many bytes.
func NewHeap(name string, capacity int64) *Heap { return &Heap{name: name, capacity: capacity} }

// Name implements Memory.
func (m *Heap) Name() string { return m.name }

// Host implements Memory.
func (m *Heap) Host() bool { return true }

// Capacity implements Memory.
func (m *Heap) Capacity() int64 { return m.capacity }

// Allocated implements Memory.
func (m *Heap) Allocated() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mu.allocated
}

// Peak implements Memory.
func (m *Heap) Peak() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mu.peak
}

// Alloc implements Memory.
func (m *Heap) Alloc(bytes int64) (unsafe.Pointer, error) {
	if bytes < 0 {
		bytes = 1<<63 - 1 // a size that overflowed
	}
	m.mu.Lock()
	if bytes > m.capacity-m.mu.allocated {
		e := &NoMemoryError{Node: m.name, Want: bytes, Allocated: m.mu.allocated, Capacity: m.capacity}
		m.mu.Unlock()
		return nil, e
	}
	m.mu.allocated += bytes
	m.mu.peak = max(m.mu.peak, m.mu.allocated)
	m.mu.Unlock()
	block := make([]byte, max(bytes, 1)+align-1)
	p := unsafe.Pointer(unsafe.SliceData(block))
	return unsafe.Add(p, -uintptr(p)&(align-1)), nil
}

// Free implements Memory.
func (m *Heap) Free(_ unsafe.Pointer, bytes int64) {
	m.mu.Lock()
	m.mu.allocated -= bytes
	m.mu.Unlock()
}
