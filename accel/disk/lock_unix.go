//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package disk

import (
	"os"
	"syscall"
)

// nameless: a file that is open can lose its name.
const nameless = true

// lock marks a file as used until it is closed, by whatever closes it.
func lock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// abandoned removes a file that is not locked. A process that has just made the file and
// not locked it yet continues with a file without a name.
func abandoned(name string) {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && lock(f) == nil {
		_ = os.Remove(name)
	}
}
