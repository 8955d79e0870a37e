//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package perf

import (
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestPipe: a pipe in the place of a file is reported, without waiting for a writer.
func TestPipe(t *testing.T) {
	s := newStore(t, t.TempDir())
	if err := os.MkdirAll(s.Dir(), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(s.Path(key), 0o666); err != nil {
		t.Skip(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, bad := s.List(); len(bad) != 1 || !errors.Is(bad[0], ErrCorrupt) {
			t.Errorf("listed %v", bad)
		}
		if err := s.Update(key, func(*File) {}); !errors.Is(err, ErrCorrupt) {
			t.Errorf("updated: %v", err)
		}
		if gone, err := s.Remove(key.Codelet); len(gone) != 1 || err != nil {
			t.Errorf("removed %v, %v", gone, err)
		}
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("waits for a writer")
	}
}
