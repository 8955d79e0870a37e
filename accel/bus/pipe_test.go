//go:build unix

package bus

import (
	"errors"
	"syscall"
	"testing"
	"time"
)

// TestPipe: a pipe in the place of a table is reported; Load does not wait for a writer.
func TestPipe(t *testing.T) {
	dir := t.TempDir()
	s, err := NewStore(dir, "Some CPU @ 3 GHz")
	must(t, err)
	devices := machine(t, three(1<<20)...)
	if err := syscall.Mkfifo(s.Path(main(), devices), 0o666); err != nil {
		t.Skip(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := s.Load(main(), devices)
		done <- err
	}()
	select {
	case err := <-done:
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("loaded: %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("waits for a writer")
	}
}
