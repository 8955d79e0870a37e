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
	trust bool // the tests pass without a fault
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
	stages := r.stages(dir)
	if hint := hints[f.name]; hint != "" {
		pkg, tests, _ := strings.Cut(hint, " ")
		first := []string{pkg, "-run", tests}
		if pkg == "./tests/oracle" { // as in stages
			first = append(first, "-args", "-kept", dir, "-shrink", "0s")
		}
		stages = append([][]string{first}, stages...)
	}
	for _, args := range stages {
		by, err := r.test(root, append([]string{"-overlay", overlay}, args...))
		if err != nil || by != "" {
			return by, err
		}
	}
	return "", nil
}

// stages are the tests that are run, one after another until one fails: those
// that notice most first. Random programs write their files to dir.
func (r *runner) stages(dir string) [][]string {
	return [][]string{
		{"./engine", "-run", "TestRandomPrograms|TestHammer", "-soak", r.quick.String(), "-args", "-kept", dir, "-shrink", "0s"},
		{"./datamgr"},
		{"./engine"},
		{"./tests", "-run", "TestP[0-9]"},
	}
}

// healthy runs the tests without any fault: then none must fail.
func (r *runner) healthy() error {
	dir, err := os.MkdirTemp("", "planted")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, args := range r.stages(dir) {
		if by, err := r.test(r.root, args); err != nil || by != "" {
			return errors.Join(err, fmt.Errorf("%s fails without any fault: %s", args[0], by))
		}
	}
	return nil
}

// test runs tests and returns which one failed, "" for none.
func (r *runner) test(root string, args []string) (string, error) {
	cmd := exec.Command("go", append([]string{"test", "-vet", "off", "-failfast", "-timeout", r.limit.String()}, args...)...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "", nil
	case !errors.As(err, &exit):
		return "", err
	case bytes.Contains(out, []byte("[build failed]")), bytes.Contains(out, []byte("[setup failed]")):
		return "", fmt.Errorf("it does not compile:\n%s", out)
	}
	return by(out), nil
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
	if how == "" {
		how = "go test failed"
	}
	return how
}
