package cpu

// The machine, or the container around the process: its memory and processors.

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// physical returns the bytes of memory and swap that the process may use. More
// would end in the Go runtime's fatal "out of memory", which cannot be caught.
func physical() int64 {
	total := int64(1) << 40
	var s syscall.Sysinfo_t
	if syscall.Sysinfo(&s) == nil {
		total = int64((uint64(s.Totalram) + uint64(s.Totalswap)) * uint64(s.Unit))
	}
	for _, f := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && n > 0 {
			total = min(total, n)
		}
	}
	return total
}

// Processors returns the numbers of the processors that the calling thread may use, in ascending order: those of
// the process, unless the thread is bound.
func Processors() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("the processors of this thread cannot be found out: %w", err)
	}
	var all []int
	for p := range len(set) * strconv.IntSize {
		if set.IsSet(p) {
			all = append(all, p)
		}
	}
	return all, nil
}

// BindThread makes the thread of the calling goroutine, which has called runtime.LockOSThread, run on one
// processor only. The thread ends with the goroutine unless that unlocks it.
func BindThread(processor int) error {
	var set unix.CPUSet
	set.Set(processor)
	return unix.SchedSetaffinity(0, &set)
}
