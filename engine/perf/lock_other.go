//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package perf

import "time"

// lockDir takes the lock of a folder.
func lockDir(dir string, wait time.Duration) (unlock func(), err error) {
	return lockByFile(dir, wait)
}
