package main

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

//go:embed kernels/*.spu kernels/kernels.c kernels/kernels.py
var kernelSources embed.FS

// kernelRow is a codelet with a body, and the same loops in C.
type kernelRow struct {
	name    string // of the codelet, of its script and of the function in C
	elem    string
	suffix  string // what the row adds to the name
	n       int
	parts   int     // 0: those of the script and of C
	passes  int     // with parts; 0: those of the script
	workers int     // 0: one
	least   bool    // the time is that of the shortest task, times the number of tasks: all do the same
	between float64 // how far the sums may lie apart, relative; 0: the same bits
}

func (r kernelRow) key() string { return r.name + r.suffix }

// tasks returns the number of tasks of a row of short ones.
func (r kernelRow) tasks() int { return r.parts * r.passes }

// kernelRows are the rows of the table.
var kernelRows = makeKernelRows()

func makeKernelRows() []kernelRow {
	const vectors, matrices = 1 << 20, 1024
	rows := []kernelRow{
		{name: "mandel", elem: "i32", n: matrices},
		{name: "matmul", elem: "f64", n: 768},
		{name: "nbody", elem: "f64", n: 8192 * 256},
		{name: "price", elem: "f64", n: vectors, between: 1e-13},
		{name: "scan", elem: "f64", n: vectors},
		{name: "stencil", elem: "f64", n: 2048},
	}
	for _, elem := range []string{"f64", "f32"} {
		suffix, reordered := "", 1e-13
		if elem == "f32" {
			suffix, reordered = ".f32", 1e-5
			rows = append(rows,
				kernelRow{name: "matmul", elem: elem, suffix: suffix, n: 768},
				kernelRow{name: "stencil", elem: elem, suffix: suffix, n: 2048})
		}
		for _, name := range []string{"copy", "axpy", "triad", "gather", "scatter", "spmv", "prefix"} {
			rows = append(rows, kernelRow{name: name, elem: elem, suffix: suffix, n: vectors})
		}
		// A million sums one after the other, as in C, err by as much.
		dot := 1e-12
		if elem == "f32" {
			dot = 1e-3
		}
		rows = append(rows,
			kernelRow{name: "dot", elem: elem, suffix: suffix, n: vectors, between: dot},
			kernelRow{name: "rowsums", elem: elem, suffix: suffix, n: matrices, between: reordered},
			kernelRow{name: "transpose", elem: elem, suffix: suffix, n: matrices})
	}
	rows = append(rows,
		kernelRow{name: "blur", elem: "u8", n: 2 * matrices},
		kernelRow{name: "histogram", elem: "i32", n: vectors},
		kernelRow{name: "montecarlo", elem: "i32", n: vectors})
	for _, width := range []int{4, 16, 64, 256, 1024, 4096} {
		parts := min(16384, vectors/width)
		rows = append(rows, kernelRow{name: "axpy", elem: "f64", suffix: "." + strconv.Itoa(width), n: width * parts, parts: parts, passes: max(1, 32768/parts)})
	}
	return rows
}

// kernelSides are the columns that every table has, in the order of a round.
var kernelSides = []string{"native", "strips", "strict", "fast"}

var kernelSideNames = map[string]string{"native": "native", "strips": "strips", "strict": "strict C", "fast": "fast C", "numba": "Numba", "pocl": "PoCL"}

// kernelTools are the programs of a run.
type kernelTools struct {
	starpush string
	dir      string            // for scripts
	c        map[string]string // programs by side and type of C, "strict double"
	native   bool              // LLVM is there
	python   string            // that has Numba, or ""
	script   string            // kernels.py, for it
	pocl     bool              // OpenCL has PoCL's device
}

// sides returns the columns that the machine has, in the order of a round.
func (t *kernelTools) sides() []string {
	sides := slices.Clone(kernelSides)
	if t.python != "" {
		sides = append(sides, "numba")
	}
	if t.pocl {
		sides = append(sides, "pocl")
	}
	return sides
}

// findOthers looks for what further columns need.
func (t *kernelTools) findOthers(ctx context.Context, info []byte) error {
	t.pocl = bytes.Contains(info, []byte("pthread-"))
	for _, python := range []string{"python3", "/usr/bin/python3"} { // Debian's python3-numba is for Debian's
		if _, err := output(ctx, python, "-c", "import numba"); err == nil {
			t.python, t.script = python, filepath.Join(t.dir, "kernels.py")
			src, err := kernelSources.ReadFile("kernels/kernels.py")
			if err != nil {
				return err
			}
			return os.WriteFile(t.script, src, 0o666)
		}
	}
	return nil
}

// kernels measures bodies of codelets beside C.
func kernels(ctx context.Context, args []string) error {
	o, rows, split, err := kernelOptions(args)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	tools, notes, err := buildKernels(ctx, dir)
	if err != nil {
		return err
	}
	if split {
		return compareTiers(ctx, os.Stdout, os.Stderr, o, rows, tools, notes)
	}
	return compareKernels(ctx, os.Stdout, os.Stderr, o, rows, tools, notes)
}

// kernelOptions reads the arguments: rows= is a regular expression, short asks for short tasks,
// the others are those of the other commands. split reports whether the rows are to be split into
// tasks, because they are to be short or are for several workers.
func kernelOptions(args []string) (o *options, rows []kernelRow, split bool, err error) {
	pattern, short := "", false
	var others []string
	for _, a := range args {
		a = strings.TrimLeft(a, "-")
		if value, ok := strings.CutPrefix(a, "rows="); ok {
			pattern = value
		} else if a == "short" || a == "short=1" {
			short = true
		} else {
			others = append(others, a)
		}
	}
	re, err := regexp.Compile("^(?:" + pattern + ")$")
	if err != nil {
		return nil, nil, false, fmt.Errorf("rows is a regular expression: %w", err)
	}
	if o, err = parseOptions(others, options{rounds: 5, workers: 1}); err != nil {
		return nil, nil, false, err
	}
	split = short || o.workers > 1
	var keys []string
	for _, r := range kernelRows {
		if split && r.parts > 0 { // short already
			continue
		}
		keys = append(keys, r.key())
		if pattern != "" && !re.MatchString(r.key()) {
			continue
		}
		if split {
			r = r.split(o.workers, short)
		}
		rows = append(rows, r)
	}
	if len(rows) == 0 {
		return nil, nil, false, fmt.Errorf("no row of rows=%s; there are %s", pattern, strings.Join(keys, " "))
	}
	return o, rows, split, nil
}

// buildKernels builds starpush and the programs in C.
func buildKernels(ctx context.Context, dir string) (*kernelTools, []string, error) {
	cache, err := cacheDir()
	if err != nil {
		return nil, nil, err
	}
	t := &kernelTools{dir: dir, starpush: filepath.Join(dir, "starpush"), c: map[string]string{}}
	src, err := kernelSources.ReadFile("kernels/kernels.c")
	if err != nil {
		return nil, nil, err
	}
	for side, flags := range map[string][]string{"strict": {"-ffp-contract=off"}, "fast": {"-ffast-math"}} {
		for _, real := range []string{"double", "float"} {
			all := append([]string{"-O3", "-march=native", "-DREAL=" + real, "-lm"}, flags...)
			program, err := compileSource(ctx, cache, "kernels", src, all)
			if err != nil {
				return nil, nil, &missing{"the loops in C", "gcc", err}
			}
			t.c[side+" "+real] = program
		}
	}
	if _, err := output(ctx, "go", "build", "-o", t.starpush, "github.com/starpush/starpush/cmd/starpush"); err != nil {
		return nil, nil, err
	}
	info, err := output(ctx, t.starpush, "info")
	if err != nil {
		return nil, nil, err
	}
	t.native = true
	var notes []string
	for line := range strings.Lines(string(info)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "LLVM" && f[1] == "none" {
			t.native = false
			notes = append(notes, "without machine code: "+strings.Join(f[2:], " "))
		}
	}
	return t, notes, t.findOthers(ctx, info)
}

// onDevice makes the inserts of a script's codelet go to the OpenCL device.
func onDevice(script, codelet string) string {
	re := regexp.MustCompile(`insert ` + codelet + `\((?:[^()]|\([^()]*\))*\)`)
	return re.ReplaceAllString(script, "$0 with where = opencl")
}

// kernelRun is what one run of a row measured.
type kernelRun struct {
	seconds float64 // inside the loops
	idle    float64 // seconds that as many tasks count without a loop
	sum     float64 // of the results
}

// run runs a row on one side.
func (t *kernelTools) run(ctx context.Context, r kernelRow, side string) (out kernelRun, err error) {
	if side == "strict" || side == "fast" {
		real := "double"
		if r.elem == "f32" {
			real = "float"
		}
		args := []string{r.name, strconv.Itoa(r.n)}
		if r.parts > 0 {
			args = append(args, strconv.Itoa(r.parts), strconv.Itoa(r.passes))
		}
		text, err := output(ctx, t.c[side+" "+real], args...)
		if err != nil {
			return out, err
		}
		if _, err := fmt.Sscan(string(text), &out.seconds, &out.sum); err != nil {
			return out, fmt.Errorf("%s in C printed %q: %w", r.key(), text, err)
		}
		return out, nil
	}
	if side == "numba" {
		if r.parts > 0 {
			return out, errors.New("kernels.py has no tasks")
		}
		elem := "float64"
		if r.elem == "f32" {
			elem = "float32"
		}
		text, err := output(ctx, t.python, t.script, elem, r.name, strconv.Itoa(r.n))
		if err != nil {
			return out, err
		}
		if _, err := fmt.Sscan(string(text), &out.seconds, &out.sum); err != nil {
			return out, fmt.Errorf("%s with Numba printed %q: %w", r.key(), text, err)
		}
		return out, nil
	}
	text, err := kernelSources.ReadFile("kernels/" + r.name + ".spu")
	if err != nil {
		return out, err
	}
	script := strings.ReplaceAll(string(text), "TYPE", r.elem)
	args := []string{"run", "--json", "--profile", "--cpus", strconv.Itoa(max(1, r.workers))}
	if side == "pocl" {
		script = onDevice(script, r.name)
		args = append(args, "--gpus", "opencl:1")
	} else {
		args = append(args, "--kernels", side)
	}
	file := filepath.Join(t.dir, r.key()+".spu")
	if err := os.WriteFile(file, []byte(script), 0o666); err != nil {
		return out, err
	}
	args = append(args, "-p", "n="+strconv.Itoa(r.n))
	if r.parts > 0 {
		args = append(args, "-p", "parts="+strconv.Itoa(r.parts))
	}
	if r.passes > 0 {
		args = append(args, "-p", "passes="+strconv.Itoa(r.passes))
	}
	text, err = output(ctx, t.starpush, append(args, file)...)
	if err != nil {
		return out, fmt.Errorf("%w\n%s", err, text)
	}
	return parseKernel(r, text)
}

// parseKernel finds the sum and the time of the row's codelet in what starpush printed.
func parseKernel(r kernelRow, text []byte) (out kernelRun, err error) {
	said, timed := false, false
	for line := range strings.Lines(string(text)) {
		var l struct {
			T, Text string
			Profile struct {
				Codelets []struct {
					Name       string
					Tasks      int
					Total, Min float64
				}
			}
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			return out, fmt.Errorf("%s: %w", line, err)
		}
		if l.T == "print" {
			if out.sum, err = strconv.ParseFloat(l.Text, 64); err != nil {
				return out, err
			}
			said = true
		}
		for _, c := range l.Profile.Codelets {
			seconds := c.Total
			if r.least {
				seconds = c.Min * float64(c.Tasks)
			}
			switch c.Name {
			case r.name:
				out.seconds, timed = seconds, true
			case "nothing":
				out.idle = seconds
			}
		}
	}
	if !said || !timed {
		return out, fmt.Errorf("%s: no sum or no time in %s", r.key(), text)
	}
	return out, nil
}

// kernelResult is a line of JSON: the best times of a row, in seconds. A side that
// was not there has none.
type kernelResult struct {
	Row     string             `json:"row"`
	Seconds map[string]float64 `json:"seconds"`
	Differs string             `json:"differs,omitempty"` // results that are not those of strict C
	Without map[string]string  `json:"without,omitempty"` // why a side has no time
}

// measureKernel runs a row on sides in turn. The results must be those of the last one.
func (t *kernelTools) measureKernel(ctx context.Context, r kernelRow, rounds int, sides []string) (kernelResult, error) {
	res := kernelResult{Row: r.key(), Seconds: map[string]float64{}}
	sums, idle := map[string]float64{}, map[string]float64{}
	best := func(of map[string]float64, side string, seconds float64) {
		if least, ok := of[side]; !ok || seconds < least {
			of[side] = seconds
		}
	}
	for round := range rounds + 1 {
		for i := range sides {
			side := sides[(i+round)%len(sides)]
			// Machine code and PoCL have a round more: the first one is not counted, whose
			// compiler was beside the tasks; later ones take its code from the cache.
			compiles := side == "native" || side == "pocl"
			if side == "native" && !t.native || !compiles && round == rounds || res.Without[side] != "" {
				continue
			}
			run, err := t.run(ctx, r, side)
			if err != nil && !slices.Contains(kernelSides, side) { // some bodies have no form for a device
				if res.Without == nil {
					res.Without = map[string]string{}
				}
				res.Without[side], _, _ = strings.Cut(err.Error(), "\n")
				continue
			}
			if err != nil {
				return res, fmt.Errorf("%s, %s: %w", r.key(), side, err)
			}
			sums[side] = run.sum
			if compiles && round == 0 {
				continue
			}
			best(res.Seconds, side, run.seconds)
			best(idle, side, run.idle)
		}
	}
	for side, s := range idle {
		// On a machine with other work, short tasks that do nothing may take longer: that is no measurement.
		if r.tasks() == 0 {
			break
		}
		if res.Seconds[side] -= s; res.Seconds[side] <= 0 {
			delete(res.Seconds, side)
		}
	}
	for _, side := range []string{"native", "strips", "numba", "pocl"} {
		got, ok := sums[side]
		against, between := "strict", r.between
		switch { // libraries of functions, and the order of a device
		case side == "numba":
			between = max(between, 1e-13)
		case side == "pocl" && r.elem == "f32":
			between = max(between, 1e-4)
		case side == "pocl":
			between = max(between, 1e-9)
		}
		if !slices.Contains(sides, against) {
			against, between = "strips", 0
		}
		if want := sums[against]; ok && got != want && !(math.Abs(got-want) <= between*math.Abs(want)) {
			res.Differs += fmt.Sprintf("%s: %s gives %v, %s %v. ", r.key(), side, got, kernelSideNames[against], want)
		}
	}
	return res, nil
}

// kernelGoals are the goals of a side: the geometric means of strict and of fast
// C's time by its own, and the least of strict's for a row.
var kernelGoals = map[string]struct{ strict, fast, least float64 }{
	"native": {2, 1, 0.9},
	"strips": {0.4, 0, 0.2},
}

// callGoal is the goal of a task of a few elements, in microseconds.
const callGoal = 0.35

// kernelMeans are geometric means of the rows that has selects.
type kernelMeans struct {
	what string
	has  func(r kernelRow) bool
	logs map[string]float64 // sums of logarithms of quotients, by "strict native"
	rows map[string]int     // their numbers
}

// lines writes the means of both sides, with their goals.
func (m *kernelMeans) lines() []string {
	var out []string
	for _, side := range kernelSides[:2] {
		sum, ok := m.logs["strict "+side]
		if !ok {
			continue
		}
		goals, n := kernelGoals[side], m.rows["strict "+side]
		line := fmt.Sprintf("%s, %s: %.2f × strict C (goal %.1f)", m.what, side, math.Exp(sum/float64(n)), goals.strict)
		if fast, ok := m.logs["fast "+side]; ok && goals.fast > 0 {
			line += fmt.Sprintf(", %.2f × fast C (goal %.1f)", math.Exp(fast/float64(n)), goals.fast)
		}
		out = append(out, line+".")
	}
	for _, other := range []string{"numba", "pocl"} {
		if n := m.rows[other+" native"]; n > 0 {
			out = append(out, fmt.Sprintf("%s, native: %.2f × %s, %d rows.", m.what, math.Exp(m.logs[other+" native"]/float64(n)), kernelSideNames[other], n))
		}
	}
	return out
}

// compareKernels measures and prints the rows.
func compareKernels(ctx context.Context, w, progress io.Writer, o *options, rows []kernelRow, tools *kernelTools, notes []string) error {
	t := &table{
		title: "Bodies of codelets beside C, seconds in the loops",
		head:  []string{"row", "native", "strips", "C strict", "C fast"},
	}
	sides := tools.sides()
	quotients := [][2]string{{"strict", "native"}, {"fast", "native"}, {"strict", "strips"}}
	for _, side := range sides[len(kernelSides):] {
		t.head = append(t.head, kernelSideNames[side])
		quotients = append(quotients, [2]string{side, "native"})
	}
	for _, q := range quotients {
		t.head = append(t.head, strings.ToLower(q[0])+" / "+q[1])
	}
	enc := json.NewEncoder(w)
	whole := func(r kernelRow) bool { return r.parts == 0 }
	means := []*kernelMeans{{what: "Geometric mean", has: whole, logs: map[string]float64{}, rows: map[string]int{}}}
	if slices.ContainsFunc(rows, whole) && slices.ContainsFunc(rows, func(r kernelRow) bool { return !whole(r) }) {
		means[0].what += " without the rows of short tasks"
		means = append(means, &kernelMeans{what: "Of all rows", has: func(kernelRow) bool { return true }, logs: map[string]float64{}, rows: map[string]int{}})
	} else if !whole(rows[0]) {
		means[0].has = func(kernelRow) bool { return true }
	}
	var below, differs, calls []string
	for i, r := range rows {
		fmt.Fprintf(progress, "\r%d of %d: %s          ", i+1, len(rows), r.key())
		res, err := tools.measureKernel(ctx, r, o.rounds, sides)
		if err != nil {
			return err
		}
		if res.Differs != "" {
			differs = append(differs, res.Differs)
		}
		if o.json {
			if err := enc.Encode(res); err != nil {
				return err
			}
			continue
		}
		cells := []string{res.Row}
		for _, side := range sides {
			cells = append(cells, none)
			if s, ok := res.Seconds[side]; ok {
				cells[len(cells)-1] = fmt.Sprintf("%.6f", s)
			}
		}
		quotient := func(a, b string) string {
			s, ok := res.Seconds[b]
			of, also := res.Seconds[a]
			if !ok || !also {
				return none
			}
			x := of / s
			for _, m := range means {
				if m.has(r) {
					m.logs[a+" "+b] += math.Log(x)
					m.rows[a+" "+b]++
				}
			}
			if least := kernelGoals[b].least; a == "strict" && x < least && whole(r) {
				below = append(below, fmt.Sprintf("%s %s (%.2f, goal %.1f)", res.Row, b, x, least))
			}
			return fmt.Sprintf("%.2f ×", x)
		}
		if r.tasks() > 0 && calls == nil {
			for _, side := range kernelSides[:2] {
				if s, ok := res.Seconds[side]; ok {
					calls = append(calls, fmt.Sprintf("A task of %d elements, %s: %.2f µs (goal %.2f).", r.n/r.parts, side, 1e6*s/float64(r.tasks()), callGoal))
				}
			}
		}
		for _, q := range quotients {
			cells = append(cells, quotient(q[0], q[1]))
		}
		t.add(cells...)
	}
	fmt.Fprintln(progress)
	if !o.json {
		t.notes = append(t.notes, calls...)
		for _, m := range means {
			t.notes = append(t.notes, m.lines()...)
		}
		if len(below) > 0 {
			t.notes = append(t.notes, "Below the goal of a row: "+strings.Join(below, ", ")+".")
		}
		t.notes = append(t.notes, machineNotes(ctx, fmt.Sprintf("one worker and one thread, best of %d, in turn", o.rounds))...)
		t.notes = append(t.notes, notes...)
		if err := t.write(w, o.markdown); err != nil {
			return err
		}
	}
	if len(differs) > 0 {
		return errors.New("results differ: " + strings.Join(differs, ""))
	}
	return nil
}
