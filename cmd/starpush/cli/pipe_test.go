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
		t.Skip("this system has no named pipes: ", err)
	}
	if err := os.WriteFile(script, []byte("print(1)\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	within := func(f func()) {
		t.Helper()
		endsSoon(t, f)
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
	within(func() { // the prompt does not wait at all
		if err := writeFileNow(t.Context(), pipe, []byte("x")); err == nil || !strings.Contains(err.Error(), "no reader") {
			t.Errorf("at once: %v", err)
		}
	})
	within(func() { // not for a reader that does not read, either
		r, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			t.Error(err)
			return
		}
		defer r.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if err := writeFileNow(ctx, pipe, make([]byte, 1<<20)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("to a reader that does not read: %v", err)
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

// endsSoon fails the test if f, which must not wait for a pipe, does.
func endsSoon(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("waits for the other side of a pipe")
	}
}

// Scripts, modules and data that are read from a pipe end at --timeout and at a signal,
// whether the pipe has no writer or one that does not write.
func TestInputFromPipe(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"pipe", "pipe.csv", "pipe.spu"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o666); err != nil {
			t.Skip("this system has no named pipes: ", err)
		}
	}
	for name, text := range map[string]string{"extern.spu": "extern x: vector[f64]\nprint(x)\n", "import.spu": "import \"pipe.spu\"\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for _, writer := range []string{"none", "silent"} {
		if writer == "silent" {
			for _, name := range []string{"pipe", "pipe.csv", "pipe.spu"} {
				f, err := os.OpenFile(name, os.O_RDWR, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
			}
		}
		silent, keep, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Close()
		defer keep.Close()
		for _, args := range []string{"run pipe", "plan pipe", "bench pipe", "test pipe", "run -", "run import.spu", "run extern.spu --data x=pipe.csv"} {
			t.Run(writer+" "+args, func(t *testing.T) {
				endsSoon(t, func() {
					var out, errs bytes.Buffer
					if code := Main(append(strings.Fields(args), "--timeout", "50ms"), silent, &out, &errs, nil); code != exitLimit || !strings.Contains(errs.String(), "not read within --timeout") {
						t.Errorf("exit %d: %s", code, errs.String())
					}
				})
			})
		}
		t.Run(writer+" signal", func(t *testing.T) {
			endsSoon(t, func() {
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(50*time.Millisecond, func() { cancel(&signalError{syscall.SIGINT}) })
				a := &app{in: silent}
				a.read.reset()
				for _, name := range []string{"pipe", "-"} {
					if _, _, err := a.readScript(ctx, name); codeOf(ctx, err, false) != exitInt {
						t.Errorf("%s: %v", name, err)
					}
				}
			})
		})
	}
}
