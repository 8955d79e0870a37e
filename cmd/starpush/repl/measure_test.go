package repl

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/starpush/starpush/engine"
)

func TestTimes(t *testing.T) {
	for _, c := range []struct {
		runs []time.Duration
		want Times
	}{
		{[]time.Duration{3}, Times{3, 3, 3, 0, 3}},
		{[]time.Duration{100, 300}, Times{100, 200, 200, 141, 300}},
		{[]time.Duration{900, 200, 400, 400, 400, 500, 500, 700}, Times{200, 450, 500, 213, 900}},
	} {
		if got := TimesOf(c.runs); got != c.want {
			t.Errorf("%v: %+v, want %+v", c.runs, got, c.want)
		}
	}
	if got, want := TimesOf([]time.Duration{1000, 3000}).String(), "least 1 µs, median 2 µs, mean 2 µs ± 1.41 µs, largest 3 µs"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Copies from one place of a memory to another are not said to go from it to itself.
func TestCopiesWithin(t *testing.T) {
	before := []engine.BusProfile{{From: "sim 0", To: "sim 0", Copies: 1, Bytes: 8}}
	after := []engine.BusProfile{{From: "sim 0", To: "sim 0", Copies: 3, Bytes: 24, Time: time.Millisecond}, {From: "ram", To: "sim 0", Copies: 1, Bytes: 8, Time: time.Millisecond}}
	if got, want := copies(before, after), "  within sim 0  2 copies, 16 bytes in 1 ms\n  ram → sim 0  1 copy, 8 bytes in 1 ms\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestTraceIntoPipe: a recording into a pipe begins before the pipe has a reader. A check
// whether it can be written would wait for the reader.
func TestTraceIntoPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := exec.Command("mkfifo", pipe).Run(); err != nil {
		t.Skip("this system has no named pipes: ", err)
	}
	if err := writable(pipe); err != nil {
		t.Error(err)
	}
}
