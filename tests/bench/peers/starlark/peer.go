//go:build ignore

// Command peer runs the workloads of the language table in starlark-go, an
// interpreter for another small language in Go, and prints lines of the same kind.
// The bench command builds it with mod.txt as go.mod.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

var options = &syntax.FileOptions{While: true, TopLevelControl: true, GlobalReassign: true, Recursion: true}

// longScript has n statements, like those of the workload parse; a for loop counts
// as one and its body as another.
func longScript(n int) string {
	var b strings.Builder
	b.WriteString("k = 0\nnt = 4\nx = []\ny = []\nAt = []\nBt = []\nCt = []\ndef scal(x, factor): pass\ndef gemm(A, B, C, priority = 0): pass\ndef f(x): pass\n")
	for i := 0; i < n; i += 5 {
		fmt.Fprintf(&b, "a%d = %d + 2 * (3 - k)\n", i, i)
		fmt.Fprintf(&b, "scal(x[a%d], 2.5)\n", i)
		fmt.Fprintf(&b, "gemm(At[0, k], Bt[k, 1], Ct[0, 1], priority = nt - %d)\n", i)
		fmt.Fprintf(&b, "for i in range(4): f(y[i])\n")
	}
	return b.String()
}

const loop = "def run(n):\n    s = 0\n    for _ in range(n):\n        s += 1\n    return s\n"

const fib = "def fib(n):\n    if n < 2:\n        return n\n    return fib(n - 1) + fib(n - 2)\n\ndef run(n):\n    k = 0\n    while k < n:\n        fib(15)\n        k += 1973\n    return k\n"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(2)
	}
}

func run() error {
	if len(os.Args) > 2 && os.Args[1] == "-c" {
		_, err := starlark.ExecFileOptions(options, &starlark.Thread{}, "cmdline", os.Args[2], nil)
		return err
	}
	n := 0
	for _, a := range os.Args[2:] {
		if v, ok := strings.CutPrefix(a, "n="); ok {
			var err error
			if n, err = strconv.Atoi(v); err != nil {
				return err
			}
		}
	}
	work := os.Args[1]
	var elapsed time.Duration
	var err error
	switch work {
	case "parse", "check":
		elapsed, err = parse(longScript(n), work == "check")
	case "compile":
		text := longScript(n)
		start := time.Now()
		_, _, err = starlark.SourceProgramOptions(options, "long.star", text, starlark.StringDict{}.Has)
		elapsed = time.Since(start)
	case "loop":
		elapsed, err = call(loop, n)
	case "fib":
		elapsed, err = call(fib, n)
	case "start":
		elapsed, err = starts(n)
	default:
		err = fmt.Errorf("no workload %q", work)
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"runtime": "starlark-go", "workload": work, "workers": 1, "tasks": n,
		"seconds": elapsed.Seconds(), "us_per_task": elapsed.Seconds() / float64(n) * 1e6, "extra": 0,
	})
}

// parse reads a script, and resolves its names; the second time counts.
func parse(text string, resolved bool) (elapsed time.Duration, err error) {
	for range 2 {
		start := time.Now()
		f, err := options.Parse("long.star", text, 0)
		if err == nil && resolved {
			err = resolve.File(f, starlark.StringDict{}.Has, starlark.Universe.Has)
		}
		if err != nil {
			return 0, err
		}
		elapsed = time.Since(start)
	}
	return elapsed, nil
}

// call times run(n) of a script.
func call(text string, n int) (time.Duration, error) {
	thread := &starlark.Thread{}
	globals, err := starlark.ExecFileOptions(options, thread, "run.star", text, nil)
	if err != nil {
		return 0, err
	}
	start := time.Now()
	_, err = starlark.Call(thread, globals["run"], starlark.Tuple{starlark.MakeInt(n)}, nil)
	return time.Since(start), err
}

// starts runs this program n times, for a script of one line.
func starts(n int) (time.Duration, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	start := time.Now()
	for range n {
		if out, err := exec.Command(self, "-c", "print(1)").CombinedOutput(); err != nil {
			return 0, fmt.Errorf("%w: %s", err, out)
		}
	}
	return time.Since(start), nil
}
