package perf

// The lock of a folder.

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// lockWait is how long others may hold a lock until that is an error. Each holds
// it for one file at a time, which takes milliseconds on most disks.
const lockWait = time.Minute

// lockStale is the age of a lock file that a crash left. Tests change it.
var lockStale = 30 * time.Second

// errLocked is the reason of a FileError.
var errLocked = errors.New("another process has held the lock for too long")

const remedyLocked = "look for a stopped process that uses the folder, or delete the lock file when there is none"

// patiently calls try until it succeeds, fails, or the time is up. try returns false
// while another process holds the lock.
func patiently(file string, wait time.Duration, try func() (bool, error)) error {
	end, pause := time.Now().Add(wait), time.Millisecond
	for {
		ok, err := try()
		if ok || err != nil {
			return err
		}
		if time.Now().After(end) {
			return &FileError{file, errLocked, remedyLocked}
		}
		time.Sleep(pause)
		pause = min(2*pause, 20*time.Millisecond)
	}
}

// lockByFile is the lock for systems without one: a file that only one process
// can create. One that is older than lockStale was left by a crash and is taken
// away. A process that is stopped for longer while it holds the lock can lose
// what another adds meanwhile; files stay whole in any case.
func lockByFile(dir string, wait time.Duration) (unlock func(), err error) {
	file := filepath.Join(dir, ".lock-file")
	err = patiently(file, wait, func() (bool, error) {
		f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
		if err == nil {
			f.Close() // it is empty
			return true, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return false, fileError(file, err, remedyWrite)
		}
		if fi, err := os.Stat(file); err == nil && time.Since(fi.ModTime()) > lockStale {
			os.Remove(file)
		}
		return false, nil
	})
	if err != nil {
		return nil, err
	}
	return func() { os.Remove(file) }, nil
}
