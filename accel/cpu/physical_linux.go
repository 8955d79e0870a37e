package cpu

// How much memory the machine, or the container around the process, has.

import (
	"os"
	"strconv"
	"strings"
	"syscall"
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
