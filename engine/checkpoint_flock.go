//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package engine

import (
	"errors"
	"os"
	"syscall"
)

// lockWhole locks f until it is closed, by whatever closes it. It returns false if another open file has the lock; a file
// system without locks gives all.
func lockWhole(f *os.File) bool {
	for {
		switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
		case errors.Is(err, syscall.EINTR):
		default:
			return !errors.Is(err, syscall.EWOULDBLOCK)
		}
	}
}
