package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Locks of folders of checkpoints: two programs that write to one would remove each other's generations.

const checkpointLockName = ".starpush-lock"

// CheckpointInUseError says that another job, of this or another process, writes checkpoints to a folder.
type CheckpointInUseError struct {
	Dir    string
	Holder string // what is known about it
}

func (e *CheckpointInUseError) Error() string {
	holder := e.Holder
	if holder == "" {
		holder = "another program"
	}
	return fmt.Sprintf("engine: %s writes checkpoints to %s; wait until it has ended, or give each program a folder of its own", holder, e.Dir)
}

// LockCheckpoints makes dir, which must exist, the folder of j until it is closed, or its process ends in whatever way. Checkpoint does so, too. The error is
// a *CheckpointInUseError if it belongs to another job, or that of the file .starpush-lock there, which is made. Folders of systems without locks can be shared.
func (j *Job) LockCheckpoints(dir string) error {
	l := &j.locks
	l.mu.Lock()
	defer l.mu.Unlock()
	name := filepath.Join(dir, checkpointLockName)
	if f := l.mu.files[name]; f != nil {
		is, err := os.Stat(name)
		was, e := f.Stat()
		if err == nil && e == nil && os.SameFile(is, was) {
			return nil
		}
		f.Close() // the folder was removed
		delete(l.mu.files, name)
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	if !lockWhole(f) {
		defer f.Close()
		var b [200]byte
		n, _ := f.ReadAt(b[:], 0) // it may not be written yet
		return &CheckpointInUseError{Dir: dir, Holder: strings.TrimSpace(string(b[:n]))}
	}
	host, _ := os.Hostname()
	was := make([]byte, len("process "))
	if n, _ := f.ReadAt(was, 0); n == 0 || string(was[:n]) == "process " { // a file that another program wrote stays as it is
		if err = f.Truncate(0); err == nil {
			_, err = fmt.Fprintf(f, "process %d on %s\n", os.Getpid(), host)
		}
	}
	if err != nil {
		f.Close()
		return err
	}
	if l.mu.files == nil {
		l.mu.files = map[string]*os.File{}
	}
	l.mu.files[name] = f
	return nil
}

// unlock gives the folders free.
func (l *checkpointLocks) unlock() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.mu.files {
		f.Close()
	}
	l.mu.files = nil
}
