//go:build unix

package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestOutputIntoPipe: what a flag writes into a pipe waits for a reader until --timeout, or
// until the command is interrupted, and no longer.
func TestOutputIntoPipe(t *testing.T) {
	dir := t.TempDir()
	pipe, script := filepath.Join(dir, "pipe"), filepath.Join(dir, "s.spu")
	if err := syscall.Mkfifo(pipe, 0o666); err != nil {
		t.Skip(err)
	}
	if err := os.WriteFile(script, []byte("print(1)\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	within := func(f func()) {
		t.Helper()
		done := make(chan struct{})
		go func() {
			defer close(done)
			f()
		}()
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			t.Fatal("waits for a reader")
		}
	}
	for _, flag := range []string{"--report", "--trace"} {
		within(func() {
			var out, errs bytes.Buffer
			if code := Main([]string{"run", script, flag, pipe, "--timeout", "100ms"}, strings.NewReader(""), &out, &errs, nil); code != exitFailed || !strings.Contains(errs.String(), "had no reader within --timeout") {
				t.Errorf("%s: exit %d, %s", flag, code, errs.String())
			}
		})
	}
	within(func() {
		ctx, cancel := context.WithCancelCause(context.Background())
		stopped := errors.New("stopped")
		cancel(stopped)
		if err := writeFileWithin(ctx, pipe, []byte("x")); err == nil || !strings.Contains(err.Error(), "no reader") {
			t.Errorf("after the end: %v", err)
		}
	})
	within(func() { // a reader gets it all
		got := make(chan []byte, 1)
		go func() {
			text, err := os.ReadFile(pipe)
			if err != nil {
				t.Error(err)
			}
			got <- text
		}()
		if err := writeFileWithin(context.Background(), pipe, bytes.Repeat([]byte("x"), 1<<20)); err != nil {
			t.Error(err)
		}
		if text := <-got; len(text) != 1<<20 {
			t.Errorf("the reader got %d bytes", len(text))
		}
	})
}
