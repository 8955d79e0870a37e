// Package sim is devices that do not exist: processors with a memory of their
// own, bounded and apart from main memory, that run the CPU implementations of
// codelets there. A copy that is missing is wrong data, on any machine.
package sim

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/starpush/starpush/accel"
)

// align is the alignment of allocations.
const align = 64

// Poison is what every byte of new memory holds.
const Poison = 0xa5

// Options describe a device.
type Options struct {
	Name     string // "" means "sim"
	Capacity int64  // of its memory, in bytes
	Units    int    // kernels that it can run at the same time; 0 means 1
}

// New makes a device. It returns an error when an option makes no sense.
func New(o Options) (accel.Device, error) {
	if o.Name == "" {
		o.Name = "sim"
	}
	if o.Units == 0 {
		o.Units = 1
	}
	if o.Capacity < 0 || o.Units < 0 {
		return nil, fmt.Errorf("sim: a device with %d bytes and %d units", o.Capacity, o.Units)
	}
	return &device{units: o.Units, mem: &memory{name: o.Name, capacity: o.Capacity}}, nil
}

type device struct {
	units int
	mem   *memory
}

func (d *device) Name() string         { return d.mem.name }
func (d *device) Arch() string         { return "cpu" }
func (d *device) Units() int           { return d.units }
func (d *device) Memory() accel.Memory { return d.mem }

// memory takes blocks from the Go heap. They are poisoned when they are given
// out and when they come back, so that a kernel that reads what nobody brought
// there, or what has gone, does not find the right value by chance.
type memory struct {
	name     string
	capacity int64
	mu       struct {
		sync.Mutex
		allocated, peak int64
	}
}

func (m *memory) Name() string    { return m.name }
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
		e := &accel.NoMemoryError{Node: m.name, Want: bytes, Allocated: m.mu.allocated, Capacity: m.capacity}
		m.mu.Unlock()
		return nil, e
	}
	m.mu.allocated += bytes
	m.mu.peak = max(m.mu.peak, m.mu.allocated)
	m.mu.Unlock()
	block := make([]byte, max(bytes, 1)+align-1)
	p := unsafe.Pointer(unsafe.SliceData(block))
	p = unsafe.Add(p, -uintptr(p)&(align-1))
	poison(p, bytes)
	return p, nil
}

func (m *memory) Free(p unsafe.Pointer, bytes int64) {
	poison(p, bytes)
	m.mu.Lock()
	m.mu.allocated -= bytes
	m.mu.Unlock()
}

func poison(p unsafe.Pointer, bytes int64) {
	if p == nil {
		return
	}
	b := unsafe.Slice((*byte)(p), bytes)
	for i := range b {
		b[i] = Poison
	}
}
