//go:build linux

package cli

// Scripts of strangers: each ends at the limit it goes for, and takes no more memory
// than the limits grant.

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const (
	memory  = 32 << 20 // of lists and strings, and again of data
	granted = 2 * memory
)

// greedy are scripts that take all they can get of one thing.
var greedy = []struct{ name, script, want string }{
	{"loop", "while true { }", "1048576 steps"},
	{"nested loops", "for i in 0..1_000_000_000 { for j in 0..1_000_000_000 { for k in 0..3 { } } }", "1048576 steps"},
	{"recursion", "func f(n: int) -> int { return f(n + 1) }\nprint(f(0))", "200 nested calls"},
	{"two that call each other", "func f(n: int) -> int { return g(n) + 1 }\nfunc g(n: int) -> int { return f(n) + 1 }\nprint(f(0))", "200 nested calls"},
	{"list", "let l = [1]\nwhile true { l = l + l }\nprint(l)", "bytes of lists and strings"},
	{"list in one go", "let l = [i for i in 0..1_000_000_000]\nprint(l)", "1048576 steps|bytes of lists and strings"},
	{"list of strings", "let l = [f\"number {i}\" for i in 0..1_000_000_000]\nprint(l)", "1048576 steps|bytes of lists and strings"},
	{"string", "let s = \"x\"\nwhile true { s = s + s }\nprint(s)", "bytes of lists and strings"},
	{"formatted string", "let s = \"x\"\nwhile true { s = f\"{s}{s}\" }\nprint(s)", "bytes of lists and strings"},
	{"data", "register x = vector[f64](1Gi, fill = 1)\nprint(x)", "bytes of registered data"},
	{"data in a loop", "for i in 0..1_000_000 {\n    register x = vector[f64](1Mi, fill = i)\n    print(x)\n}", "bytes of registered data"},
	{"many data", "for i in 0..1_000_000 {\n    register x = variable[f64](fill = i)\n    wait x\n}", "bytes of registered data"},
	{"parts", "register x = vector[f64](1Mi, fill = 1)\npartition v = x by blocks(1Mi)\nprint(len(v.parts))", "bytes of registered data and views"},
	{"tiles", "register x = matrix[f64](1000, 1000, fill = 1)\npartition v = x by tiles(1000, 1000)\nprint(len(v.parts))", "bytes of registered data and views"},
	{"parts of parts", "register x = vector[f64](1Mi, fill = 1)\npartition v = x by blocks(1024) then blocks(1024)\nprint(len(v.parts))", "bytes of registered data and views"},
	{"views", "register x = vector[f64](1Mi, fill = 1)\nwhile true { partition _v = x by blocks(1000) }", "bytes of registered data and views"},
	{"output", "while true { print(\"a line of output\") }", "1048576 bytes of output"},
	{"long line", "let s = \"x\"\nfor i in 0..20 { s = s + s }\nwhile true { print(s, s) }", "1048576 bytes of output"},
	{"tasks", "codelet f(x: RW vector[f64]) { each i in x { x[i] += 1.0 } }\nregister x = vector[f64](10, fill = 1)\nwhile true { insert f(RW x) }", "100000 tasks"},
	{"kernel", "codelet f(x: RW vector[f64]) { for k in 0..1_000_000_000 { each i in x { x[i] += 1.0 } } }\nregister x = vector[f64](100000, fill = 1)\ninsert f(RW x)\nprint(x)", "of wall time"},
	{"nesting", "let a = " + strings.Repeat("(", 60_000) + "1" + strings.Repeat(")", 60_000), "nest deeper than"},
	{"blocks", strings.Repeat("if true {\n", 10_000) + strings.Repeat("}\n", 10_000), "nest deeper than"},
	{"signs", "let a = " + strings.Repeat("-", 100_000) + "1", "nests deeper than"},
	{"operators", "let a = 1" + strings.Repeat("+1", 60_000), "operators in a row"},
	{"text", "let a = 1" + strings.Repeat(" + 1", 100_000), "bytes, and the limit is 131072"},
	{"statements", "let a = [0]\n" + strings.Repeat("a=a\n", 32_000) + "while true { a = a + a }", "bytes of lists and strings"},
}

func TestUntrusted(t *testing.T) {
	dir := t.TempDir()
	run := func(script string, more ...string) (code int, peak int64, stderr string) {
		t.Helper()
		file := filepath.Join(dir, "script.spu")
		if err := os.WriteFile(file, []byte(script), 0o644); err != nil {
			t.Fatal(err)
		}
		c := exec.Command("starpush", append([]string{"-q", file}, more...)...)
		var errs bytes.Buffer
		c.Stderr = &errs
		err := c.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return c.ProcessState.ExitCode(), c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10, errs.String()
	}
	_, idle, _ := run("print(1)")
	for _, g := range greedy {
		t.Run(g.name, func(t *testing.T) {
			timeout := "10m"
			if strings.Contains(g.want, "time") { // nothing else ends it
				timeout = "1s"
			}
			code, peak, said := run(g.script, "--timeout", timeout,
				"--limits", "steps=1Mi,depth=200,tasks=100000,inflight=1000,data=32Mi,mem=32Mi,output=1Mi")
			want := 4
			if strings.Contains(g.want, "deeper") || strings.Contains(g.want, "operators") || strings.Contains(g.want, "and the limit") {
				want = 3 // refused before it ran
			}
			if code != want {
				t.Errorf("exit status %d, want %d:\n%.500s", code, want, said)
			}
			found := false
			for _, text := range strings.Split(g.want, "|") {
				found = found || strings.Contains(said, text)
			}
			if !found {
				t.Errorf("want a message with %q:\n%.500s", g.want, said)
			}
			if most := idle + granted*12/10; peak > most {
				t.Errorf("%d MiB, %d MiB of them before the script: more than the %d MiB granted", peak>>20, idle>>20, granted>>20)
			}
			t.Logf("%d MiB", (peak-idle)>>20)
		})
	}
}
