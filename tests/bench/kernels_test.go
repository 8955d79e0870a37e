package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

// smallKernels are the rows with sizes that end at once.
func smallKernels() []kernelRow {
	var out []kernelRow
	for _, r := range kernelRows {
		switch r.name {
		case "mandel", "matmul", "stencil", "rowsums", "transpose", "blur":
			r.n = 32
		default:
			r.n = 2048
		}
		if r.parts > 0 {
			r.parts, r.passes = 64, 2
		}
		out = append(out, r)
	}
	return out
}

// testTools builds the programs, or skips the test where there is no compiler.
func testTools(t *testing.T) *kernelTools {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no gcc")
	}
	t.Setenv("STARPUSH_KERNEL_DIR", t.TempDir())
	tools, _, err := buildKernels(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tools.python, tools.pocl = "", false // they compile for seconds
	return tools
}

// TestKernels runs every row: the results are those of C.
func TestKernels(t *testing.T) {
	tools := testTools(t)
	var out bytes.Buffer
	rows := smallKernels()
	if err := compareKernels(t.Context(), &out, io.Discard, &options{rounds: 1, json: true}, rows, tools, nil); err != nil {
		t.Error(err)
	}
	seen := 0
	for line := range bytes.Lines(out.Bytes()) {
		var r kernelResult
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		if r.Row != rows[seen].key() {
			t.Errorf("row %s, want %s", r.Row, rows[seen].key())
		}
		for _, side := range kernelSides {
			_, ok := r.Seconds[side]
			want := side != "native" || tools.native
			ours := side == "native" || side == "strips"
			if short := rows[seen].tasks() > 0; ok != want && !(want && ours && short) { // which other work may keep from being measured
				t.Errorf("%s, %s: measured %v", r.Row, side, ok)
			}
		}
		seen++
	}
	if seen != len(rows) {
		t.Errorf("%d rows, want %d", seen, len(rows))
	}

	// Without the library there is no column of machine code, and no mean.
	tools.native = false
	out.Reset()
	if err := compareKernels(t.Context(), &out, io.Discard, &options{rounds: 1, markdown: true}, rows[:1], tools, []string{"without it"}); err != nil {
		t.Fatal(err)
	}
	if s := out.String(); !strings.Contains(s, "| mandel | "+strings.Repeat(" ", len("native")-1)+none) ||
		strings.Contains(s, "mean, native") || !strings.Contains(s, "mean, strips") || !strings.Contains(s, "without it") {
		t.Errorf("table:\n%s", s)
	}

	// Results that are not those of C are an error: here C counts with fewer bits.
	tools.c["strict double"] = tools.c["strict float"]
	dot := []kernelRow{{name: "dot", elem: "f64", n: 2048, between: 1e-13}}
	err := compareKernels(t.Context(), io.Discard, io.Discard, &options{rounds: 1}, dot, tools, nil)
	if err == nil || !strings.Contains(err.Error(), "results differ: dot: strips gives") {
		t.Errorf("results of another type: error %v", err)
	}
}

// TestOtherColumns runs two rows with Numba and PoCL, where the machine has them: what has no form for a
// device has no time there.
func TestOtherColumns(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no gcc")
	}
	t.Setenv("STARPUSH_KERNEL_DIR", t.TempDir())
	tools, _, err := buildKernels(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	others := tools.sides()[len(kernelSides):]
	if len(others) == 0 {
		t.Skip("neither Numba nor PoCL")
	}
	var out bytes.Buffer
	rows := []kernelRow{{name: "copy", elem: "f32", n: 2048}, {name: "spmv", elem: "f64", n: 2048}}
	if err := compareKernels(t.Context(), &out, io.Discard, &options{rounds: 1, json: true}, rows, tools, nil); err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		line, err := out.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		var res kernelResult
		if err := json.Unmarshal(line, &res); err != nil {
			t.Fatal(err)
		}
		for _, side := range others {
			_, ok := res.Seconds[side]
			if want := side != "pocl" || r.name != "spmv"; ok != want || want != (res.Without[side] == "") {
				t.Errorf("%s, %s: measured %v, without it because of %q", r.key(), side, ok, res.Without[side])
			}
		}
	}
}

// TestTiers runs every row with two workers and with short tasks: machine code and strips give the same bits.
func TestTiers(t *testing.T) {
	tools := testTools(t)
	if !tools.native {
		t.Skip("machine code, which is one of the columns, needs libLLVM")
	}
	var rows []kernelRow
	for _, r := range smallKernels() {
		if r.parts > 0 {
			continue
		}
		two, short := r.split(2, false), r.split(1, true)
		if two.parts < 2 || short.parts < 1 || two.workers != 2 {
			t.Errorf("%s: split into %d parts and into %d short ones", r.key(), two.parts, short.parts)
		}
		rows = append(rows, two, short)
	}
	var out bytes.Buffer
	if err := compareTiers(t.Context(), &out, io.Discard, &options{rounds: 1, workers: 2, markdown: true}, rows, tools, nil); err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if !strings.Contains(out.String(), "\n| "+r.key()+" ") {
			t.Errorf("no row %s in\n%s", r.key(), out.String())
		}
	}
}

func TestKernelOptions(t *testing.T) {
	o, rows, split, err := kernelOptions([]string{"-rows=axpy.*|dot", "--json", "rounds=2"})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, r := range rows {
		keys = append(keys, r.key())
	}
	const want = "axpy dot axpy.f32 axpy.4 axpy.16 axpy.64 axpy.256 axpy.1024 axpy.4096"
	got := strings.Join(keys, " ")
	if !o.json || o.rounds != 2 || split || strings.ReplaceAll(got, " dot.f32", "") != want {
		t.Errorf("rows %q of %+v", got, o)
	}
	for _, bad := range []string{"rows=(", "rows=nothing", "rounds=0", "size=3"} {
		if _, _, _, err := kernelOptions([]string{bad}); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
	seen := map[string]bool{}
	for _, r := range kernelRows {
		if seen[r.key()] {
			t.Errorf("two rows %s", r.key())
		}
		seen[r.key()] = true
	}
}

// TestKernelsWithoutCompiler: the command says what is missing.
func TestKernelsWithoutCompiler(t *testing.T) {
	t.Setenv("CC", "no-such-compiler")
	_, _, err := buildKernels(t.Context(), t.TempDir())
	if m := (*missing)(nil); !errors.As(err, &m) || !strings.Contains(err.Error(), "gcc") {
		t.Errorf("error %v", err)
	}
}
