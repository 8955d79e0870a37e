//go:build cuda

package cuda

// The memory of a device.

import (
	"errors"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/starpush/starpush/accel"
)

// Memory is the memory of a device. cuMemAlloc and cuMemFree sometimes
// wait for the device; keep blocks and reuse them where speed matters.
type Memory struct {
	*accel.Usage
	dev *Device
}

// Host implements accel.Memory.
func (m *Memory) Host() bool { return false }

// Alloc implements accel.Memory.
func (m *Memory) Alloc(bytes int64) (unsafe.Pointer, error) {
	if err := m.Reserve(bytes); err != nil {
		return nil, err
	}
	var p cu.DevicePtr
	err := m.dev.with(func() (err error) {
		p, err = cu.MemAlloc(max(1, bytes)) // the driver has nothing of no bytes
		return m.dev.check("cuMemAlloc", err)
	})
	if err != nil {
		m.Release(bytes)
		var e *Error
		if errors.As(err, &e) && e.Code == outOfMemory {
			err = m.Full(bytes) // in pieces, or used by another program
		}
		return nil, err
	}
	m.Keep()
	return pointer(uint64(p)), nil
}

// Free implements accel.Memory.
func (m *Memory) Free(p unsafe.Pointer, bytes int64) {
	// A lost device has nothing left to free; later calls tell that it is lost.
	_ = m.dev.with(func() error { return m.dev.check("cuMemFree", cu.MemFree(cu.DevicePtr(address(p)))) })
	m.Release(bytes)
}
