//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package perf

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// lockDir takes the lock of a folder, which ends with the process at the latest.
// File systems that have no locks get a lock file.
func lockDir(dir string, wait time.Duration) (unlock func(), err error) {
	file := filepath.Join(dir, ".lock")
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o666)
	if errors.Is(err, fs.ErrPermission) { // another user's file can be locked, too
		f, err = os.Open(file)
	}
	if err != nil {
		return nil, fileError(file, err, remedyWrite)
	}
	err = patiently(file, wait, func() (bool, error) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
			return false, nil
		}
		return err == nil, err
	})
	switch {
	case err == nil:
		return func() { f.Close() }, nil
	case errors.Is(err, errLocked):
		f.Close()
		return nil, err
	}
	f.Close()
	return lockByFile(dir, wait)
}
