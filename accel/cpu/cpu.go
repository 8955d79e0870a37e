// Package cpu is the machine's own processors and main memory.
package cpu

import (
	"runtime"
	"sync"
	"unsafe"

	"github.com/starpush/starpush/accel"
)

// align is the alignment of allocations: a cache line, and every vector unit.
const align = 64

// New returns the machine as a device. capacity bounds its memory in bytes; 0
// means what the machine has.
func New(capacity int64) accel.Device {
	if capacity <= 0 {
		capacity = physical()
	}
	return &device{mem: &memory{capacity: capacity}}
}

type device struct{ mem *memory }

func (d *device) Name() string         { return "cpu" }
func (d *device) Arch() string         { return "cpu" }
func (d *device) Units() int           { return runtime.GOMAXPROCS(0) }
func (d *device) Memory() accel.Memory { return d.mem }

// memory takes main memory from the Go heap: a slice that a program still holds
// after its data was freed is stale, but never a fault. Large blocks come
// zeroed from the system and take pages when they are touched.
type memory struct {
	capacity int64
	mu       struct {
		sync.Mutex
		allocated, peak int64
	}
}

func (m *memory) Name() string    { return "ram" }
func (m *memory) Capacity() int64 { return m.capacity }

func (m *memory) Allocated() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mu.allocated
}

func (m *memory) Peak() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mu.peak
}

func (m *memory) Alloc(bytes int64) (unsafe.Pointer, error) {
	if bytes < 0 {
		bytes = 1<<63 - 1 // a size that overflowed
	}
	m.mu.Lock()
	if bytes > m.capacity-m.mu.allocated {
		e := &accel.NoMemoryError{Node: "ram", Want: bytes, Allocated: m.mu.allocated, Capacity: m.capacity}
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

func (m *memory) Free(_ unsafe.Pointer, bytes int64) {
	m.mu.Lock()
	m.mu.allocated -= bytes
	m.mu.Unlock()
}
