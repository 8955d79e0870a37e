package accel

import "unsafe"

// Pinner is a Device that copies from and to some main memory by itself: memory
// that stays where it is, which the Go heap does not promise. Copies of other main
// memory are staged.
type Pinner interface {
	Device
	// AllocPinned returns such memory. It is not part of the Go heap, must hold no Go
	// pointers, and is aligned as Memory.Alloc does.
	AllocPinned(bytes int64) (unsafe.Pointer, error)
	// FreePinned gives back what AllocPinned returned. No operation that uses it may
	// be under way, and its addresses must not be used any more.
	FreePinned(p unsafe.Pointer) error
	// Pin makes memory that exists such memory, until Unpin. Something must refer to it
	// all that time: memory that is collected may get other pages when it is used
	// again, and the device would go on with the old ones.
	Pin(p unsafe.Pointer, bytes int64) error
	// Unpin undoes Pin, under the conditions of FreePinned.
	Unpin(p unsafe.Pointer) error
}
