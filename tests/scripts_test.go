package tests

// Every script of scripts/ prints what its .out file says, whatever runs it.

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starpush/starpush/lang"
)

const scriptsDir = "../scripts"

// matrixFiles has the files of scripts that load a matrix.
var matrixFiles = map[string]string{"cholesky_mtx": "testdata/bcsstk13.mtx", "pagerank": "testdata/bcsstk13.mtx",
	"sparse_cg": "testdata/laplace20.mtx", "sparse_levels": "testdata/laplace20.mtx"}

// TestScripts runs all scripts with every policy and several numbers of workers
// and compares what they print. In .out files {{regexp}} stands for text that
// differs from run to run. STARPUSH_UPDATE=1 rewrites the lines without it.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(scriptsDir, "*.spu"))
	if err != nil || len(files) < 15 {
		t.Fatalf("found %d scripts: %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".spu")
		t.Run(name, func(t *testing.T) { goldenScript(t, name) })
	}
}

// machineModes are simulated machines. The .out files hold there, too: what scripts
// print of floating-point results are the digits that no order of additions changes.
var machineModes = []mode{
	{machine: "sim:cpu2gpu1"},
	{machine: "sim:cpu2gpu1:seed=7,jitter=0.3", policy: "eager"},
	{machine: "sim:cpu2gpu1", policy: "lws", deterministic: true},
	{machine: "sim:cpu8gpu4:seed=3", policy: "random"},
	{machine: "sim:numa2", policy: "ws"},
	{machine: "sim:gpu4MiB:memory=65536", policy: "eager"}, // hardly anything fits
	{machine: "sim:gpu4MiB", policy: "prio"},
}

// driverModes are OpenCL devices, and those of the CUDA driver made of C where the tests
// are built for it. They take the codelets that have an implementation for them: the
// .out files hold.
var driverModes = []mode{
	{machine: "opencl", policy: "eager", workers: 1},
	{machine: "opencl", policy: "dmdas", workers: 2},
	{machine: "opencl", policy: "ws", workers: 1, memory: 256 << 10}, // little fits
	{machine: "cuda-fake", policy: "dmdas", workers: 2},
	{machine: "cuda-fake", policy: "eager", workers: 1, memory: 256 << 10},
}

func goldenScript(t *testing.T, name string) {
	source, err := os.ReadFile(filepath.Join(scriptsDir, name+".spu"))
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join(scriptsDir, name+".out")
	text, err := os.ReadFile(golden)
	if err != nil && !update {
		t.Fatalf("%v; STARPUSH_UPDATE=1 writes it", err)
	}
	want := string(text)
	params, modes := map[string]any{}, append(allModes(1, 2, 4), mode{workers: 2, policy: "lws", verify: true})
	modes = append(modes, machineModes...)
	modes = append(modes, driverModes...)
	if file := matrixFiles[name]; file != "" {
		file, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		params["file"] = filepath.ToSlash(file)
	}
	if testing.Short() {
		modes = []mode{{workers: 2, policy: "lws"}, machineModes[0]}
		if name != "cholesky_mtx" {
			modes = append(modes, sequential)
		}
	}
	for i, m := range modes {
		t.Run(m.String(), func(t *testing.T) {
			p := program{dir: t.TempDir(), name: name + ".spu", source: string(source), params: params}
			if err := os.CopyFS(filepath.Join(p.dir, "lib"), os.DirFS(filepath.Join(scriptsDir, "lib"))); err != nil {
				t.Fatal(err)
			}
			got := p.run(t, m)
			if got.diags != "" {
				t.Fatalf("%s", got.diags)
			}
			if update && i == 0 { // the others must agree with it
				want = regenerated(want, got.stdout)
				if err := os.WriteFile(golden, []byte(want), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			found, err := matchLines(want, got.stdout)
			if err != nil {
				t.Fatalf("%v\n(-want +got):\n%s", err, cmp.Diff(want, got.stdout))
			}
			if name == "cholesky_mtx" {
				checkResidual(t, found)
			}
			if name == "acquire" {
				if _, err := os.Stat(filepath.Join(p.dir, "x.npy")); err != nil {
					t.Errorf("the script saves its vector: %v", err)
				}
			}
		})
	}
}

// checkResidual looks at the number that cholesky_mtx.spu prints last.
func checkResidual(t *testing.T, found []string) {
	t.Helper()
	if len(found) == 0 {
		t.Fatal("the .out file must leave the residual open: it differs from machine to machine")
	}
	text := found[len(found)-1]
	r, err := strconv.ParseFloat(text, 64)
	if err != nil || !(r < 1e-10) {
		t.Errorf("relative residual %s (%v); a factorisation in f64 stays below 1e-10", text, err)
	}
}

// TestScriptsCanonical wants the layout that starpush fmt gives, in the programs that
// people begin with.
func TestScriptsCanonical(t *testing.T) {
	for _, dir := range []string{scriptsDir, "../examples"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".spu" {
				return err
			}
			source, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			want, err := lang.Format(path, source)
			if err == nil && !bytes.Equal(source, want) {
				t.Errorf("%s: starpush fmt writes (-want +got):\n%s", path, cmp.Diff(string(want), string(source)))
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestScriptsComplete keeps scripts and outputs in step.
func TestScriptsComplete(t *testing.T) {
	names := map[string]string{}
	for _, ext := range []string{".spu", ".out"} {
		files, err := filepath.Glob(filepath.Join(scriptsDir, "*"+ext))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			names[strings.TrimSuffix(filepath.Base(f), ext)] += ext
		}
	}
	for _, n := range slices.Sorted(maps.Keys(names)) {
		if names[n] != ".spu.out" {
			t.Errorf("%s has %s only", n, names[n])
		}
	}
}

var hole = regexp.MustCompile(`\{\{(.+?)\}\}`)

// matchLines compares text with a golden one line by line and returns what the
// {{regexp}} of the golden one matched.
func matchLines(golden, text string) ([]string, error) {
	want, got := strings.SplitAfter(golden, "\n"), strings.SplitAfter(text, "\n")
	var found []string
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(want):
			return nil, fmt.Errorf("line %d is too much: %q", i+1, got[i])
		case i >= len(got):
			return nil, fmt.Errorf("line %d is missing: %q", i+1, want[i])
		case want[i] == got[i]:
			continue
		}
		re, err := lineRegexp(want[i])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		m := re.FindStringSubmatch(got[i])
		if m == nil {
			return nil, fmt.Errorf("line %d is %q, want %q", i+1, got[i], want[i])
		}
		found = append(found, m[1:]...)
	}
	return found, nil
}

// lineRegexp matches what a golden line stands for; each {{regexp}} is a group.
func lineRegexp(line string) (*regexp.Regexp, error) {
	var b strings.Builder
	b.WriteString("^")
	rest := 0
	for _, m := range hole.FindAllStringSubmatchIndex(line, -1) {
		b.WriteString(regexp.QuoteMeta(line[rest:m[0]]) + "(" + line[m[2]:m[3]] + ")")
		rest = m[1]
	}
	b.WriteString(regexp.QuoteMeta(line[rest:]) + "$")
	return regexp.Compile(b.String())
}

// regenerated is text with the lines of golden that still match.
func regenerated(golden, text string) string {
	want, got := strings.SplitAfter(golden, "\n"), strings.SplitAfter(text, "\n")
	for i := range min(len(want), len(got)) {
		if re, err := lineRegexp(want[i]); err == nil && hole.MatchString(want[i]) && re.MatchString(got[i]) {
			got[i] = want[i]
		}
	}
	return strings.Join(got, "")
}

// TestMatchLines shows that golden files reject what differs.
func TestMatchLines(t *testing.T) {
	for _, c := range []struct {
		golden, text string
		found        string
		ok           bool
	}{
		{"a\nb\n", "a\nb\n", "", true},
		{"a\nb\n", "a\nc\n", "", false},
		{"a\n", "a\nb\n", "", false},
		{"a\nb\n", "a\n", "", false},
		{"a\n", "a", "", false},
		{"r = {{[0-9.]+}}.\n", "r = 1.5.\n", "1.5", true},
		{"r = {{[0-9]+}} {{x|y}}\n", "r = 15 y\n", "15 y", true},
		{"r = {{[0-9]+}}\n", "r = 15 \n", "", false},
		{"a.c {{.}}\n", "abc d\n", "", false},
		{"{{(}}\n", "x\n", "", false},
	} {
		found, err := matchLines(c.golden, c.text)
		if (err == nil) != c.ok || strings.Join(found, " ") != c.found {
			t.Errorf("%q with %q: %q, %v", c.golden, c.text, found, err)
		}
	}
	if got := regenerated("x {{\\d}}\nold\ny {{\\d}}\n", "x 1\nnew\ny z\nmore\n"); got != "x {{\\d}}\nnew\ny z\nmore\n" {
		t.Errorf("regenerated: %q", got)
	}
}
