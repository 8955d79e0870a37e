// Package tests holds what crosses packages: import boundaries, conformance
// cases, scripts, transcripts of the command.
package tests

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/starpush/starpush"

// layers orders the packages: a package may import its own layer's folder and
// every layer to its right. lang and stdlib share a layer and never meet, and so do the
// command and the examples.
var layers = [][]string{
	{"cmd/starpush", "examples"},
	{"scripts"},
	{"lang", "stdlib"},
	{"engine"},
	{"datamgr"},
	{"accel"},
}

// homes says which folders may import a third-party package. Tests may also
// import what testOnly lists.
var homes = map[string][]string{
	"github.com/alecthomas/participle/v2": {"lang/syntax"},
	"github.com/chzyer/readline":          {"cmd/starpush"},
	"github.com/fatih/color":              {"cmd/starpush"},
	"github.com/mattn/go-isatty":          {"cmd/starpush"},
	"github.com/spf13/cobra":              {"cmd/starpush"},
	"github.com/spf13/pflag":              {"cmd/starpush"},
	"golang.org/x/term":                   {"cmd/starpush"},
	"github.com/ebitengine/purego":        {"accel/dynlib"},
	"gonum.org/v1/gonum":                  {"accel/cpu/blas"},
	"github.com/sbinet/npyio":             {"datamgr/format"},
	"gorgonia.org/cu":                     {"accel/cuda"},
	"go.yaml.in/yaml/v3":                  {"engine/simulate"},
	"golang.org/x/sys":                    {"engine/perf", "accel/cpu", "accel/numa", "cmd/starpush/cli"},
	"go.starlark.net":                     {"tests/bench/peers"}, // a module of its own
	"github.com/rogpeppe/go-internal":     {"lang/diag/diagtest"},
}

var testOnly = []string{
	"github.com/google/go-cmp",
	"github.com/rogpeppe/go-internal",
	"go.uber.org/goleak",
	"pgregory.net/rapid",
}

// inLang is the order inside lang: a package may import those to its right.
var inLang = []string{"lang/diag/diagtest", "lang", "lang/interp", "lang/check", "lang/check/flow", "lang/check/redux", "lang/kernel", "lang/syntax/printer", "lang/syntax", "lang/syntax/advice", "lang/syntax/token", "lang/types", "lang/diag", "lang/vocab", "lang/kernel/elementary"}

// inKernel lists the stages of lang/kernel, and which of the others each may import. The
// rest of lang imports lang/kernel alone. lang/kernel/elementary is no stage: scripts
// compute with it, too.
var inKernel = map[string][]string{
	"lang/kernel":            {"lang/kernel/ir", "lang/kernel/lower", "lang/kernel/analysis", "lang/kernel/cpu", "lang/kernel/llvm", "lang/kernel/opencl", "lang/kernel/cuda"},
	"lang/kernel/opencl":     {"lang/kernel/ir", "lang/kernel/analysis", "lang/kernel/steps", "lang/kernel/cpu"},
	"lang/kernel/cuda":       {"lang/kernel/ir", "lang/kernel/llvm"},
	"lang/kernel/llvm":       {"lang/kernel/ir", "lang/kernel/analysis", "lang/kernel/steps", "lang/kernel/cpu", "lang/kernel/elementary"},
	"lang/kernel/steps":      {"lang/kernel/ir", "lang/kernel/analysis"},
	"lang/kernel/cpu":        {"lang/kernel/ir", "lang/kernel/analysis", "lang/kernel/elementary"},
	"lang/kernel/analysis":   {"lang/kernel/ir"},
	"lang/kernel/lower":      {"lang/kernel/ir"},
	"lang/kernel/kerneltest": {"lang/kernel/ir", "lang/kernel/lower", "lang/kernel/analysis", "lang/kernel/elementary"},
	"lang/kernel/ir":         {"lang/kernel/elementary"},
}

// below lists packages that must not import their parent, which imports them.
var below = map[string]string{"engine/perf": "engine", "engine/sched": "engine"}

// topLevel lists the names allowed at the top of the repository.
var topLevel = []string{
	"go.mod", "go.sum", "lang", "engine", "datamgr", "accel", "stdlib", "cmd", "scripts", "tests",
	"docs", "examples",
	"README.md", "LICENSE", "FEATURES.md", "RATIONALE.md", "CONTRIBUTING.md", "CHANGELOG.md", "Makefile",
	".ci", ".git", ".git-blame-ignore-revs", ".gitignore", ".gitattributes", ".github",
}

// TestImports reads the imports of every Go file, whatever its build tags.
func TestImports(t *testing.T) {
	root := ".."
	files := 0
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if n := d.Name(); n == "testdata" || n != ".." && strings.HasPrefix(n, ".") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(file, ".go") {
			return nil
		}
		files++
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		src, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, im := range src.Imports {
			p, err := strconv.Unquote(im.Path.Value)
			if err != nil {
				return err
			}
			if why := forbidden(path.Dir(rel), p, strings.HasSuffix(rel, "_test.go")); why != "" {
				t.Errorf("%s imports %s: %s", rel, p, why)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 50 {
		t.Errorf("read %d files only: the walk misses some", files)
	}
}

// TestBoundaryRules shows that the rules reject what they should.
func TestBoundaryRules(t *testing.T) {
	for _, c := range []struct {
		dir, imp string
		test, ok bool
	}{
		{"lang/interp", module + "/engine", false, true},
		{"engine", module + "/lang/diag", false, false},
		{"lang", module + "/stdlib", false, false},
		{"stdlib", module + "/lang/types", false, false},
		{"stdlib", module + "/accel/cpu/blas", false, true},
		{"datamgr", module + "/engine", false, false},
		{"accel/cpu", module + "/datamgr/iface", false, false},
		{"lang/types", module + "/lang/check", false, false},
		{"lang/check", module + "/lang/types", false, true},
		{"lang/syntax", module + "/lang/syntax/token", false, true},
		{"lang/syntax/token", module + "/lang/syntax", false, false},
		{"lang/syntax/token", module + "/lang/vocab", false, true},
		{"lang/vocab", module + "/lang/types", false, false},
		{"lang/syntax", module + "/lang/syntax/printer", false, false},
		{"lang/syntax/advice", module + "/lang/syntax", false, false},
		{"lang/check", module + "/lang/interp", false, false},
		{"lang/check", module + "/lang/check/redux", false, true},
		{"lang/check/redux", module + "/lang/check", false, false},
		{"lang/check", module + "/lang/check/flow", false, true},
		{"lang/check", module + "/lang/diag/diagtest", false, false},
		{"lang/check", module + "/lang/diag/diagtest", true, true},
		{"lang/check/flow", module + "/lang/check", false, false},
		{"lang/check", module + "/lang/kernel", false, true},
		{"lang/check", module + "/lang/kernel/cpu", false, false},
		{"lang/kernel", module + "/lang/kernel/opencl", false, true},
		{"lang/kernel", module + "/lang/kernel/kerneltest", false, false},
		{"lang/kernel/opencl", module + "/lang/kernel/cpu", false, true},
		{"lang/kernel/cpu", module + "/lang/kernel/analysis", false, true},
		{"lang/kernel/cpu", module + "/lang/kernel/lower", false, false},
		{"lang/kernel/ir", module + "/lang/kernel/elementary", false, true},
		{"lang/interp", module + "/lang/kernel/elementary", false, true},
		{"lang/kernel/elementary", module + "/lang/kernel/ir", false, false},
		{"lang/kernel/cpu", module + "/lang/kernel/lower", true, true},
		{"lang/kernel/analysis", module + "/lang/kernel/lower", false, false},
		{"lang/kernel/lower", module + "/lang/kernel/analysis", false, false},
		{"lang/kernel/lower", module + "/lang/kernel", false, false},
		{"lang/kernel/lower", module + "/lang/syntax", false, true},
		{"lang/kernel/lower", module + "/lang/check", false, false},
		{"lang/kernel/other", module + "/lang/syntax", false, false},
		{"engine", "github.com/ebitengine/purego", false, false},
		{"accel/cpu/blas", "github.com/ebitengine/purego", false, false},
		{"accel/dynlib", "github.com/ebitengine/purego", false, true},
		{"engine", "go.uber.org/goleak", false, false},
		{"engine", "go.uber.org/goleak", true, true},
		{"engine", "github.com/unknown/thing", true, false},
		{"tests", module + "/stdlib", true, true},
		{"examples/batch", module + "/stdlib", false, true},
		{"examples/batch", module + "/cmd/starpush/cli", false, false},
		{"lang", module + "/examples/batch", false, false},
		{"tests/bench", module + "/lang", false, true},
		{"tests/oracle", module + "/lang", true, true},
		{"tests/oracle", module + "/lang/types", false, false},
		{"tests/oracle", module + "/datamgr/filter", false, false},
		{"cmd/starpush/cli", module + "/lang", false, true},
		{"cmd/starpush/cli", "github.com/fatih/color", false, true},
		{"cmd/starpush/cli", module + "/scripts", false, true},
		{"lang", module + "/scripts", false, false},
		{"engine", module + "/datamgr/invariants", false, true},
		{"lang", "fmt", false, true},
		{"engine", module + "/engine/perf", false, true},
		{"cmd/starpush/cli", module + "/engine/perf", false, true},
		{"engine/perf", module + "/engine", false, false},
		{"engine/perf", module + "/datamgr/iface", false, true},
		{"engine/perf", "golang.org/x/sys/unix", false, true},
		{"engine", "golang.org/x/sys/unix", false, false},
	} {
		if why := forbidden(c.dir, c.imp, c.test); (why == "") != c.ok {
			t.Errorf("%s imports %s (test %v): %q", c.dir, c.imp, c.test, why)
		}
	}
}

// forbidden says why a file in folder dir must not import p; "" when it may.
func forbidden(dir, p string, test bool) string {
	if first, _, _ := strings.Cut(p, "/"); !strings.Contains(first, ".") {
		return "" // standard library
	}
	if !within(p, module) {
		if test {
			for _, m := range testOnly {
				if within(p, m) {
					return ""
				}
			}
		}
		for m, dirs := range homes {
			if !within(p, m) {
				continue
			}
			for _, d := range dirs {
				if within(dir, d) {
					return ""
				}
			}
			return "its home is " + strings.Join(dirs, ", ")
		}
		return "not in the table of third-party packages"
	}
	to := strings.TrimPrefix(strings.TrimPrefix(p, module), "/")
	if within(dir, "tests/oracle") && !test {
		return "what programs must do is found without the code that does it"
	}
	if within(dir, "tests") || (test && !within(dir, "lang") && !within(dir, "stdlib")) {
		return ""
	}
	if within(dir, "lang") && within(to, "lang") {
		if _, ok := inKernel[dir]; ok && dir != "lang/kernel" {
			if within(to, "lang/kernel") {
				if !slices.Contains(inKernel[dir], to) && !test {
					return "a later stage of lang/kernel, or one beside it"
				}
				return ""
			}
			dir = "lang/kernel"
		}
		if _, ok := inKernel[to]; ok && to != "lang/kernel" {
			if !test && (dir != "lang/kernel" || !slices.Contains(inKernel[dir], to)) {
				return "a stage of lang/kernel, which is used through lang/kernel"
			}
			return ""
		}
		from, dest := slices.Index(inLang, dir), slices.Index(inLang, to)
		if from < 0 || dest < 0 {
			return "a package below lang must be in the table inLang"
		}
		if dest < from && !test {
			return "against the order inside lang"
		}
		return ""
	}
	lf, lt := layer(dir), layer(to)
	switch {
	case lf < 0 || lt < 0:
		return "a folder outside the table of layers"
	case below[dir] == to && !test:
		return "its parent imports it"
	case lf == lt && home(dir) != home(to):
		return "folders of one layer never import each other"
	case lt < lf:
		return "imports go to the right only"
	}
	return ""
}

func layer(dir string) int {
	return slices.IndexFunc(layers, func(l []string) bool {
		return slices.ContainsFunc(l, func(d string) bool { return within(dir, d) })
	})
}

// home is the folder of the table that dir lies in.
func home(dir string) string {
	for _, l := range layers {
		for _, d := range l {
			if within(dir, d) {
				return d
			}
		}
	}
	return ""
}

func within(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }

// TestTopLevel keeps the top of the repository as the architecture has it.
func TestTopLevel(t *testing.T) {
	entries, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	ours := tracked()
	for _, e := range entries {
		if ours != nil && !ours[e.Name()] {
			continue // a file that is not ours
		}
		if !slices.Contains(topLevel, e.Name()) {
			t.Errorf("%s: not a name of the architecture; put it below one of %v", e.Name(), topLevel)
		}
	}
}

// tracked returns the top-level names that git tracks; nil outside a checkout.
func tracked() map[string]bool {
	cmd := exec.Command("git", "ls-files", "-z", "--full-name", "..")
	out, err := cmd.Output()
	if err != nil || len(out) == 0 {
		return nil
	}
	names := map[string]bool{}
	for _, f := range strings.Split(string(out), "\x00") {
		top, _, _ := strings.Cut(f, "/")
		names[top] = true
	}
	return names
}
