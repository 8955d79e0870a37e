package disk

import (
	"os"
	"syscall"
)

// free returns how many bytes this process can still write in a folder.
func free(dir string) int64 {
	var s syscall.Statfs_t
	if syscall.Statfs(dir, &s) != nil {
		return 1 << 50
	}
	return int64(min(s.Bavail, 1<<50/uint64(s.Bsize)) * uint64(s.Bsize))
}

// punch makes a hole in a file. It is advice: not all file systems can.
func punch(f *os.File, at, bytes int64) {
	const keepSize, punchHole = 1, 2
	_ = syscall.Fallocate(int(f.Fd()), keepSize|punchHole, at, bytes)
}
