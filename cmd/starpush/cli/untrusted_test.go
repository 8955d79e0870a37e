//go:build linux

package cli

// Scripts of strangers: each ends at the limit it goes for, and takes no more memory
// than the limits grant.

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	memory  = 32 << 20 // of lists, strings, tasks and gates, and again of data
	granted = 2 * memory
	wall    = 2 * time.Second
	slack   = time.Minute // for machines that have other things to do
)

// A hostile script takes all that it can get of one thing. The files of testdata/hostile
// are such scripts: their first line says what ends a run of them, as want does.
type hostile struct {
	name, script string
	want         string // the message has one of these texts, if time does not end the run; "*": any message
	refused      bool   // before it runs
}

// longScripts are hostile by their length.
var longScripts = []hostile{
	{"nesting", "let a = " + strings.Repeat("(", 60_000) + "1" + strings.Repeat(")", 60_000), "nest deeper than", true},
	{"blocks", strings.Repeat("if true {\n", 10_000) + strings.Repeat("}\n", 10_000), "nest deeper than", true},
	{"signs", "let a = " + strings.Repeat("-", 100_000) + "1", "nests deeper than", true},
	{"operators", "let a = 1" + strings.Repeat("+1", 60_000), "operators in a row", true},
	{"text", "let a = 1" + strings.Repeat(" + 1", 100_000), "bytes, and the limit is 131072", true},
	{"statements", "let a = [0]\n" + strings.Repeat("a=a\n", 32_000) + "while true { a = a + a }", "bytes of lists, strings, tasks and gates", false},
	{"names", numbered("let a%d = %[1]d\n", 6000) + "while true { }\n", "4194304 steps", false},
	{"frames", "func f(n: int) -> int {\n" + numbered("    let a%d = n\n", 2500) + "    return f(n + 1)\n}\nprint(f(0))\n", "200 nested calls|bytes of lists, strings, tasks and gates", false},
	{"branches", "codelet nop(x: RW variable[f64]) { x += 1.0 }\nregister x = variable[f64](fill = 0)\n" +
		numbered("if value(x) > %d.0 { insert nop(RW x) }\n", 1000) + "while true { if value(x) > 1.0 { insert nop(RW x) } }\n", "*", false},
	{"codelets", numbered("codelet c%d(x: RW vector[f64]) { each i in x { x[i] += %[1]d.0 } }\n", 1500) +
		"register x = vector[f64](10, fill = 0)\nwhile true { insert c0(RW x) }\n", "*", false},
	{"body", "codelet c(x: RW vector[f64]) {\n    each i in x {\n" + strings.Repeat("        x[i] = x[i] * 1.5 + 2.0\n", 2500) +
		"    }\n}\nregister x = vector[f64](10, fill = 0)\nwhile true { insert c(RW x) }\n", "*", false},
	{"header", "extern x: matrix[f64]\nprint(x)\n", "that memory can hold", false}, // of the file that --data names
	{"header_of_sparse", "extern x: matrix[f64]\nprint(x)\n", "is more than `--limits data=", false},
}

func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// hostileScripts are all of them.
func hostileScripts(t *testing.T) (all []hostile) {
	files, err := filepath.Glob("testdata/hostile/*.spu")
	if err != nil || len(files) < 60 {
		t.Fatalf("%d hostile scripts: %v", len(files), err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(text), "\n")
		want, ok := strings.CutPrefix(first, "## want: ")
		if !ok {
			t.Fatalf("%s does not say what ends it", f)
		}
		all = append(all, hostile{name: strings.TrimSuffix(filepath.Base(f), ".spu"), script: string(text), want: want})
	}
	return append(all, longScripts...)
}

// TestHostileScripts: whatever a script goes for, a run of it ends at a limit, and so do a
// check, a plan and a graph: in time, and with no more memory than the limits grant.
func TestHostileScripts(t *testing.T) {
	if testing.Short() {
		t.Skip("starts hundreds of processes")
	}
	dir := t.TempDir()
	// A few bytes that claim more than there is in the machine, or than the limits grant.
	shape := "{'descr': '<f8', 'fortran_order': False, 'shape': (1152921504606846976, 8), }\n"
	files := map[string]string{
		"header":           "x=huge.npy",
		"header_of_sparse": "x=sparse.mtx",
	}
	for name, text := range map[string]string{
		"huge.npy":   "\x93NUMPY\x01\x00" + string(rune(len(shape))) + "\x00" + shape,
		"sparse.mtx": "%%MatrixMarket matrix coordinate real general\n30000 30000 1\n1 1 1.0\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	start := func(t *testing.T, args ...string) (code int, peak int64, took time.Duration, stderr string) {
		t.Helper()
		c := exec.Command("starpush", append([]string{"-q"}, args...)...)
		c.Dir = dir
		var errs bytes.Buffer
		c.Stderr = &errs
		begun := time.Now()
		err := c.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return c.ProcessState.ExitCode(), int64(c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) << 10, time.Since(begun), errs.String()
	}
	_, idle, _, _ := start(t, "run", "-e", "print(1)")
	for _, s := range hostileScripts(t) {
		file := filepath.Join(dir, s.name+".spu")
		var with []string
		if data := files[s.name]; data != "" {
			with = []string{"--data", data}
		}
		if err := os.WriteFile(file, []byte(s.script), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, command := range []string{"run", "check", "plan", "graph"} {
			t.Run(s.name+"/"+command, func(t *testing.T) {
				code, peak, took, said := start(t, append(append([]string{command}, with...), file, "--timeout", wall.String(),
					"--limits", "steps=4Mi,depth=200,tasks=100000,data=32Mi,mem=32Mi,output=1Mi")...)
				if code < 0 || code > 5 {
					t.Errorf("exit status %d:\n%.500s", code, said)
				}
				if most := idle + granted*3/2; peak > most {
					t.Errorf("%d MiB, %d MiB of them before the script: more than the %d MiB granted", peak>>20, idle>>20, granted>>20)
				}
				if took > wall+slack {
					t.Errorf("it took %v", took)
				}
				t.Logf("exit status %d after %v, %d MiB", code, took.Round(10*time.Millisecond), (peak-idle)>>20)
				if command != "run" || s.want == "*" {
					return
				}
				want := 4
				switch {
				case s.refused:
					want = 3
				case with != nil:
					want = 2
				}
				if code != want {
					t.Errorf("exit status %d, want %d:\n%.500s", code, want, said)
				}
				found := strings.Contains(said, "of wall time") // on a machine that has other things to do
				for _, text := range strings.Split(s.want, "|") {
					found = found || strings.Contains(said, text)
				}
				if !found {
					t.Errorf("want a message with %q:\n%.500s", s.want, said)
				}
			})
		}
	}
}
