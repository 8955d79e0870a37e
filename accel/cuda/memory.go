//go:build cuda

package cuda

// The memory of a device.

import (
	"errors"
	"math"
	"sync"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/starpush/starpush/accel"
)

// Memory is the memory of a device. cuMemAlloc and cuMemFree wait for the device
// now and then: who needs speed keeps what it has.
type Memory struct {
	dev      *Device
	capacity int64

	mu struct {
		sync.Mutex
		allocated, peak int64
	}
}

// Name implements accel.Memory.
func (m *Memory) Name() string { return m.dev.name }

// Host implements accel.Memory.
func (m *Memory) Host() bool { return false }

// Capacity implements accel.Memory.
func (m *Memory) Capacity() int64 { return m.capacity }

// Allocated implements accel.Memory.
func (m *Memory) Allocated() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mu.allocated
}

// Peak implements accel.Memory.
func (m *Memory) Peak() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mu.peak
}

// Alloc implements accel.Memory.
func (m *Memory) Alloc(bytes int64) (unsafe.Pointer, error) {
	if bytes < 0 {
		bytes = math.MaxInt64 // a size that overflowed
	}
	if err := m.reserve(bytes); err != nil {
		return nil, err
	}
	var p cu.DevicePtr
	err := m.dev.with(func() (err error) {
		p, err = cu.MemAlloc(max(1, bytes)) // the driver has nothing of no bytes
		return m.dev.check("cuMemAlloc", err)
	})
	if err != nil {
		m.release(bytes)
		var e *Error
		if errors.As(err, &e) && e.Code == outOfMemory {
			err = m.full(bytes) // in pieces, or used by another program
		}
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.peak = max(m.mu.peak, m.mu.allocated)
	return pointer(uint64(p)), nil
}

func (m *Memory) reserve(bytes int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if bytes > m.capacity-m.mu.allocated {
		return m.fullLocked(bytes)
	}
	m.mu.allocated += bytes
	return nil
}

func (m *Memory) release(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.allocated -= bytes
}

func (m *Memory) full(bytes int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.fullLocked(bytes)
}

func (m *Memory) fullLocked(bytes int64) error {
	return &accel.NoMemoryError{Node: m.Name(), Want: bytes, Allocated: m.mu.allocated, Capacity: m.capacity}
}

// Free implements accel.Memory.
func (m *Memory) Free(p unsafe.Pointer, bytes int64) {
	// A lost device has nothing left to free; later calls tell that it is lost.
	_ = m.dev.with(func() error { return m.dev.check("cuMemFree", cu.MemFree(cu.DevicePtr(address(p)))) })
	m.release(bytes)
}
