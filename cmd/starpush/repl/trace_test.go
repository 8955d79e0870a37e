package repl

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestTraceIntoPipe: a recording begins although nobody reads the pipe yet that it will
// be written to; looking whether it can be would wait for a reader.
func TestTraceIntoPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := exec.Command("mkfifo", pipe).Run(); err != nil {
		t.Skip("no pipes with names here: ", err)
	}
	if err := writable(pipe); err != nil {
		t.Error(err)
	}
}
