package main

// Planting one fault, and what the tests say to it.

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// fault is a small change of the source that breaks something.
type fault struct {
	name     string
	file     string // in the repository
	old, new string // old occurs in file once
	breaks   string // what does not hold any more
}

// apply returns the source of the file with the fault.
func (f *fault) apply(root string) ([]byte, error) {
	src, err := os.ReadFile(filepath.Join(root, f.file))
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(src, []byte(f.old)); n != 1 {
		return nil, fmt.Errorf("its text occurs %d times in %s instead of once; the source has changed, so change the fault in tests/planted/faults.go:\n%s", n, f.file, f.old)
	}
	return bytes.Replace(src, []byte(f.old), []byte(f.new), 1), nil
}

type runner struct {
	root  string
	quick time.Duration
	limit time.Duration
}

// plant runs the tests with the fault, the fastest to notice most first, and
// returns which one noticed it; "" for none.
func (r *runner) plant(f *fault) (string, error) {
	dir, err := os.MkdirTemp("", "planted")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	src, err := f.apply(r.root)
	if err != nil {
		return "", err
	}
	root, err := filepath.Abs(r.root)
	if err != nil {
		return "", err
	}
	changed := filepath.Join(dir, filepath.Base(f.file))
	overlay := filepath.Join(dir, "overlay.json")
	text, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(root, f.file): changed}})
	if err == nil {
		err = errors.Join(os.WriteFile(changed, src, 0o600), os.WriteFile(overlay, text, 0o600))
	}
	if err != nil {
		return "", err
	}
	for i, run := range [][]string{
		{"./engine", "-run", "TestRandomPrograms|TestHammer", "-soak", r.quick.String(), "-args", "-kept", dir, "-shrink", "0s"},
		{"./datamgr"},
		{"./engine"},
		{"./tests", "-run", "TestP[0-9]"},
	} {
		limit := r.limit
		if i == 0 {
			limit = 4*r.quick + 30*time.Second
		}
		args := append([]string{"test", "-overlay", overlay, "-vet", "off", "-failfast", "-timeout", limit.String()}, run...)
		cmd := exec.Command("go", args...)
		cmd.Dir = root
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		switch {
		case err == nil:
			continue
		case !errors.As(err, &exit):
			return "", err
		case bytes.Contains(out, []byte("[build failed]")), bytes.Contains(out, []byte("[setup failed]")):
			return "", fmt.Errorf("it does not compile:\n%s", out)
		}
		return by(out), nil
	}
	return "", nil
}

// by says in a few words which test failed, and how.
func by(out []byte) string {
	how := ""
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		line := strings.TrimSpace(s.Text())
		name, failed := strings.CutPrefix(line, "--- FAIL: ")
		switch {
		case failed:
			name, _, _ = strings.Cut(name, " ")
			return name
		case how != "":
		case strings.Contains(line, " hangs"), strings.HasPrefix(line, "panic: "), strings.HasPrefix(line, "fatal error: "):
			how = line[:min(len(line), 60)]
		}
	}
	return how
}
