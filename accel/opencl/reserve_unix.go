//go:build linux || darwin

package opencl

import (
	"syscall"
	"unsafe"
)

// reserve takes a range out of the address space. Nothing can be read or written
// there, and it takes no memory.
func reserve(bytes uintptr) (uintptr, error) {
	m, err := syscall.Mmap(-1, 0, int(bytes), syscall.PROT_NONE, syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_NORESERVE)
	if err != nil {
		return 0, err
	}
	return uintptr(unsafe.Pointer(unsafe.SliceData(m))), nil
}
