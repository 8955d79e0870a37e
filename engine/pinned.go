package engine

// Main memory that devices copy from and to by themselves.

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/starpush/starpush/accel"
)

// AllocPinned returns main memory for data of the program (DataSpec.Home): from the
// first device that is an accel.Pinner, where copies need not be staged, else from
// the Go heap, aligned all the same. It is zero. free gives it back: once no data has
// it as its home, and before the device is closed; nobody may use it then. A second
// call of free does nothing.
func (rt *Runtime) AllocPinned(bytes int64) (p unsafe.Pointer, free func() error, err error) {
	if bytes < 0 {
		return nil, nil, fmt.Errorf("engine: AllocPinned of %d bytes", bytes)
	}
	if rt.Closed() {
		return nil, nil, ErrClosed
	}
	for _, d := range rt.devices {
		d, ok := d.(accel.Pinner)
		if !ok {
			continue
		}
		p, err := d.AllocPinned(bytes)
		if err != nil {
			return nil, nil, fmt.Errorf("engine: %s: %w", d.Name(), err)
		}
		clear(unsafe.Slice((*byte)(p), bytes))
		return p, sync.OnceValue(func() error { return d.FreePinned(p) }), nil
	}
	heap := accel.NewHeap("pinned", bytes) // whose Free leaves the rest to the collector
	p, err = heap.Alloc(bytes)
	return p, func() error { return nil }, err
}
