//go:build cuda

package cuda

// Pinned main memory: devices read and write it directly. Other main memory, the
// Go heap above all, goes through a chunk of it; see stage.go.

import (
	"cmp"
	"slices"
	"sync"
	"unsafe"

	"github.com/starpush/starpush/accel"
)

// pinned is what the driver knows to be pinned, sorted by address.
var pinned struct {
	sync.RWMutex
	ranges []pinnedRange
}

type pinnedRange struct{ first, end uint64 }

func notePinned(first uint64, bytes int64) {
	pinned.Lock()
	defer pinned.Unlock()
	i, _ := slices.BinarySearchFunc(pinned.ranges, first, func(r pinnedRange, a uint64) int { return cmp.Compare(r.first, a) })
	pinned.ranges = slices.Insert(pinned.ranges, i, pinnedRange{first, first + uint64(bytes)})
}

func forgetPinned(first uint64) {
	pinned.Lock()
	defer pinned.Unlock()
	pinned.ranges = slices.DeleteFunc(pinned.ranges, func(r pinnedRange) bool { return r.first == first })
}

// isPinned reports whether all from first to end lies in one range.
func isPinned(first, end uint64) bool {
	pinned.RLock()
	defer pinned.RUnlock()
	i, exact := slices.BinarySearchFunc(pinned.ranges, first, func(r pinnedRange, a uint64) int { return cmp.Compare(r.first, a) })
	if !exact {
		i--
	}
	return i >= 0 && end <= pinned.ranges[i].end
}

var _ accel.Pinner = (*Device)(nil)

// AllocPinned allocates main memory that copies from and to devices need not
// stage. It is not part of the Go heap, and must hold no Go pointers.
func (d *Device) AllocPinned(bytes int64) (p unsafe.Pointer, err error) {
	err = d.with(func() error {
		a, err := hostAlloc(max(1, bytes))
		if err != nil {
			return d.check("", err)
		}
		notePinned(a, max(1, bytes))
		p = pointer(a)
		return nil
	})
	return p, err
}

// FreePinned gives back what AllocPinned returned. Nothing that uses it may be
// under way.
func (d *Device) FreePinned(p unsafe.Pointer) error {
	return d.with(func() error { return d.check("", freePinned(p)) })
}

func freePinned(p unsafe.Pointer) error {
	forgetPinned(address(p))
	return hostFree(address(p))
}

// Pin pins memory that exists, such as a mapped file or a slice. Memory of the Go heap
// stays where it is and keeps its pages as long as something refers to it, which the caller
// must see to until Unpin.
func (d *Device) Pin(p unsafe.Pointer, bytes int64) error {
	return d.with(func() error {
		if err := hostRegister(address(p), bytes); err != nil {
			return d.check("", err)
		}
		notePinned(address(p), bytes)
		return nil
	})
}

// Unpin undoes Pin, before the memory goes.
func (d *Device) Unpin(p unsafe.Pointer) error {
	return d.with(func() error {
		forgetPinned(address(p))
		return d.check("", hostUnregister(address(p)))
	})
}
