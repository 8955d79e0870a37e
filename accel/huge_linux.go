package accel

import "syscall"

// adviseHuge asks the kernel for huge pages between two addresses. It is advice:
// where there are none, or the range is not all mapped, things stay as they were.
// The range is not one object of the program's, so it is given as numbers.
func adviseHuge(p, bytes uintptr) {
	_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, p, bytes, syscall.MADV_HUGEPAGE)
}
