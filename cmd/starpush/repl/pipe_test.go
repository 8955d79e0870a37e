//go:build unix

package repl

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestHistoryPipe: a pipe is no history; the prompt does not wait for its writer.
func TestHistoryPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip("this system has no named pipes: ", err)
	}
	done := make(chan error, 1)
	go func() {
		h, err := OpenHistory(path)
		if e := h.Add("x"); e != nil {
			t.Error(e)
		}
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil {
			t.Error("a pipe is a history")
		}
	case <-time.After(20 * time.Second):
		t.Fatal("waits for a writer")
	}
}
