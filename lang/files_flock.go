//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package lang

import (
	"errors"
	"os"
	"syscall"
)

// lockFile marks a file as used until unlock is called, or the process ends in whatever
// way. It holds on when f is closed. A file system without locks is no error.
func lockFile(f *os.File) (unlock func(), err error) {
	unlock = func() {}
	c, err := f.SyscallConn()
	if err != nil {
		return unlock, err
	}
	e := c.Control(func(fd uintptr) {
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
		other, dupErr := syscall.Dup(int(fd)) // the lock is that of both
		if err = dupErr; err != nil {
			return
		}
		syscall.CloseOnExec(other)
		_ = syscall.Flock(other, syscall.LOCK_EX|syscall.LOCK_NB)
		unlock = func() { _ = syscall.Close(other) }
	})
	return unlock, errors.Join(err, e)
}

// removeUnlocked removes a file that no process has locked.
func removeUnlocked(r *os.Root, name string) {
	f, err := r.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
		_ = r.Remove(name)
	}
}
