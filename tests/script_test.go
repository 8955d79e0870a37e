package tests

// Running a script through the real pipeline: package lang with the modules of
// stdlib, on an engine of the mode asked for.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/enginetest"
	"github.com/starpush/starpush/engine/sched"
	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/stdlib"
)

// patience bounds one script: a run that needs longer hangs.
const patience = 3 * time.Minute

// update says that golden files are to be rewritten.
var update = os.Getenv("STARPUSH_UPDATE") != ""

// mode is one way to run a script.
type mode struct {
	workers       int
	policy        string
	sequential    bool
	deterministic bool
	verify        bool
	machine       string // its devices, and as many CPU workers as it has: see enginetest.Named
	memory        int64  // of devices with drivers; 0: all
}

func (m mode) String() string {
	s := fmt.Sprintf("%s-%d", m.policy, m.workers)
	if m.sequential {
		s = "sequential"
	}
	if m.machine != "" {
		s = m.machine + "-" + m.policy
	}
	if m.deterministic {
		s += "-deterministic"
	}
	if m.verify {
		s += "-verify"
	}
	return s
}

var sequential = mode{sequential: true}

// allModes is sequential and every policy with each number of workers.
func allModes(workers ...int) []mode {
	modes := []mode{sequential}
	for _, p := range sched.Names() {
		for _, w := range workers {
			modes = append(modes, mode{workers: w, policy: p})
		}
	}
	return modes
}

// outcome is what a run leaves to compare.
type outcome struct {
	stdout string
	diags  string // rendered, of the check and of the run
	failed bool   // it was refused or ended with an error
}

// program is one script to run. Files it loads, saves and imports lie in dir.
type program struct {
	dir, name, source string
	params            map[string]any
}

// run compiles and runs p in mode m.
func (p program) run(t *testing.T, m mode) outcome {
	t.Helper()
	comp, err := lang.NewCompiler(lang.Config{
		Modules: stdlib.Modules(),
		Loader:  lang.FSLoader(os.DirFS(p.dir)),
		Files:   absFiles{lang.Dir(p.dir)},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var out outcome
	prog, ds := comp.Compile(ctx, p.name, []byte(p.source))
	out.diags = rendered(t, ds)
	if prog == nil {
		out.failed = true
		return out
	}
	o := engine.Options{Workers: m.workers, Policy: m.policy, Sequential: m.sequential, Verify: m.verify}
	if m.machine != "" {
		machine := enginetest.Named(t, m.machine)
		o.Workers = max(machine.Workers, m.workers)
		if o.Devices, err = machine.Open(m.memory); err != nil {
			t.Fatal(err)
		}
		defer func() {
			for _, d := range o.Devices {
				if err := d.Close(); err != nil {
					t.Errorf("closing %s: %v", d.Name(), err)
				}
			}
		}()
	}
	rt, err := engine.New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := rt.Close(); err != nil {
			t.Errorf("closing the runtime: %v", err)
		}
	}()
	var stdout bytes.Buffer
	folders, err := os.MkdirTemp("", "starpush-checkpoints")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folders)
	opts := []lang.Option{lang.Stdout(&stdout), lang.WithCheckpoints(func(name string) (string, error) { return filepath.Join(folders, name), nil })}
	if m.deterministic {
		opts = append(opts, lang.Deterministic())
	}
	for name, v := range p.params {
		opts = append(opts, lang.Param(name, v))
	}
	inst, err := prog.Run(ctx, rt, opts...)
	if err == nil {
		err = inst.Close()
	}
	if ctx.Err() != nil {
		t.Fatalf("%s, %v: still running after %v", p.name, m, patience)
	}
	out.stdout = stdout.String()
	if err != nil {
		out.failed = true
		out.diags += rendered(t, err)
	}
	return out
}

// Parts of messages that depend on the machine and the moment, and their replacements in
// golden files.
var (
	workerName  = regexp.MustCompile(`\bon cpu \d+\b`)
	workerCount = regexp.MustCompile(`\b\d+ CPU workers?\b`)
	seconds     = regexp.MustCompile(`"seconds":[-+.e\d]+`)
	testTime    = regexp.MustCompile(`(?m)^((?:ok   |FAIL |--- (?:PASS|FAIL):) \S+  )[\d.]+(?: [nµm]?s)?`)
)

// neutral replaces what differs from run to run.
func neutral(text string) string {
	text = workerName.ReplaceAllString(text, "on cpu 0")
	text = workerCount.ReplaceAllString(text, "4 CPU workers")
	text = testTime.ReplaceAllString(text, "${1}1 ms")
	return seconds.ReplaceAllString(text, `"seconds":0.01`)
}

// rendered is how an error is shown to a person.
func rendered(t *testing.T, err error) string {
	t.Helper()
	var many lang.Diagnostics
	var one *lang.Diagnostic
	switch {
	case errors.As(err, &many):
	case errors.As(err, &one):
		many = lang.Diagnostics{*one}
	case err != nil:
		t.Errorf("an error without a diagnostic: %v", err)
		return err.Error() + "\n"
	}
	var b strings.Builder
	if err := many.Render(&b, lang.Style{}); err != nil {
		t.Error(err)
	}
	return neutral(b.String())
}

// absFiles are the files of a folder and, for reading, those that absolute
// paths name.
type absFiles struct{ lang.FileSystem }

// Open opens a file.
func (f absFiles) Open(name string) (fs.File, error) {
	if filepath.IsAbs(name) {
		return os.Open(name)
	}
	return f.FileSystem.Open(name)
}
