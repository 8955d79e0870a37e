package numa

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

const hugePage = 2 << 20

// mapPages maps memory that is zero.
func mapPages(bytes int64) (unsafe.Pointer, error) {
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("mmap: %w", err)
	}
	if bytes >= hugePage {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, uintptr(p), uintptr(bytes), unix.MADV_HUGEPAGE) // advice
	}
	return p, nil
}

// bindPages asks for the pages of a node for memory that was not touched yet. Where the node is
// full, pages come from others.
func bindPages(p unsafe.Pointer, bytes int64, node int) error {
	const word = 64
	mask := make([]uint64, node/word+1)
	mask[node/word] = 1 << (node % word)
	_, _, e := unix.Syscall6(unix.SYS_MBIND, uintptr(p), uintptr(bytes), unix.MPOL_PREFERRED, uintptr(unsafe.Pointer(unsafe.SliceData(mask))), uintptr(len(mask)*word+1), 0)
	if e != 0 {
		return fmt.Errorf("mbind to NUMA node %d: %w", node, e)
	}
	return nil
}

func unmapPages(p unsafe.Pointer, bytes int64) { _ = unix.MunmapPtr(p, uintptr(bytes)) } // it was mapped so
