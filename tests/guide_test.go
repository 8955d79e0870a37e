package tests

// lang/STARPU.md is for people who come from StarPU: its programs run, and what its
// tables name exists.

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/starpush/starpush/cmd/starpush/cli"
	"github.com/starpush/starpush/engine/sched"
	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/stdlib"
)

const guideFile = "../lang/STARPU.md"

func TestGuide(t *testing.T) { execute(t, guideFile, 6) }

// goName is a name of the Go API in a table: Job.Submit, lang.Bind, perf.Model.Energy.
var goName = regexp.MustCompile("`((?:[a-z]+\\.)?[A-Z]\\w*(?:\\.[A-Z]\\w*)?)`")

// flagName is a flag of the command in a table.
var flagName = regexp.MustCompile("`(?:starpush run )?--([a-z-]+)")

// TestGuideNames looks for the names that the tables of the guide give.
func TestGuideNames(t *testing.T) {
	text, err := os.ReadFile(guideFile)
	if err != nil {
		t.Fatal(err)
	}
	var help strings.Builder
	if code := cli.Main([]string{"run", "--help"}, strings.NewReader(""), &help, &help, nil); code != 0 {
		t.Fatalf("starpush run --help: exit %d", code)
	}
	for _, code := range codeName.FindAllString(string(text), -1) {
		if _, ok := lang.Explain(code); !ok {
			t.Errorf("%s: there is no diagnostic %s", guideFile, code)
		}
	}
	seen := 0
	for i, line := range strings.Split(string(text), "\n") {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		for _, m := range flagName.FindAllStringSubmatch(line, -1) {
			if !strings.Contains(help.String(), "--"+m[1]+" ") {
				t.Errorf("%s:%d: `starpush run` has no flag --%s", guideFile, i+1, m[1])
			}
		}
		cells := strings.Split(strings.ReplaceAll(strings.Trim(line, "|"), `\|`, ""), "|")
		seen += lookUp(t, fmt.Sprintf("%s:%d", guideFile, i+1), strings.Join(cells[1:], "|"))
	}
	if seen < 150 {
		t.Errorf("found %d names in the tables", seen)
	}
}

// TestGuideDevices: the documents name the codelets of the standard modules that run on
// devices as the tables in the code have them.
func TestGuideDevices(t *testing.T) {
	var all, noOpenCL, cuda, bodies []string
	file, err := parser.ParseFile(token.NewFileSet(), "../stdlib/cuda.go", nil, 0) // of builds with the tag
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Names[0].Name != "deviceKernels" {
			return true
		}
		for _, e := range spec.Values[0].(*ast.CompositeLit).Elts {
			cuda = append(cuda, strings.Trim(e.(*ast.KeyValueExpr).Key.(*ast.BasicLit).Value, `"`))
		}
		return false
	})
	for name, m := range stdlib.Modules() {
		for _, c := range m.Codelets {
			if name == "std/sparse" {
				if c.On != nil || c.Bodies != nil && !c.Bodies.CPU {
					t.Errorf("%s.%s runs on devices, and the documents leave its module out", name, c.Name)
				}
				continue
			}
			all = append(all, c.Name)
			if c.On["opencl"] == nil {
				noOpenCL = append(noOpenCL, c.Name)
			}
			if c.Bodies != nil && !c.Bodies.CPU {
				bodies = append(bodies, c.Name)
			}
		}
	}
	for _, name := range cuda {
		if !slices.Contains(all, name) {
			t.Errorf("stdlib/cuda.go: there is no codelet %s", name)
		}
	}
	slices.Sort(cuda)
	slices.Sort(bodies)
	slices.Sort(noOpenCL)
	list := func(names []string) string {
		last := len(names) - 1
		return strings.Join(names[:last], ", ") + " and " + names[last]
	}
	for _, doc := range []struct{ file, want string }{
		{"../accel/cuda/doc.go", fmt.Sprintf("%d of the %d codelets of std/blas, std/reduce and std/random have kernels here: %s. %d more run as bodies of codelets of scripts: %s.",
			len(cuda), len(all), list(cuda), len(bodies), list(bodies))},
		{guideFile, fmt.Sprintf("of the %d codelets of std/blas, std/reduce and std/random %d run there: all but %s |", len(all), len(all)-len(noOpenCL), list(noOpenCL))},
		{guideFile, fmt.Sprintf("| %d of these %d run on NVIDIA devices: %s, and with the LLVM library %s;", len(cuda)+len(bodies), len(all), list(cuda), list(bodies))},
	} {
		text, err := os.ReadFile(doc.file)
		if err != nil {
			t.Fatal(err)
		}
		words := strings.NewReplacer("`", "", "\n// ", " ", "\n", " ").Replace(string(text))
		if !strings.Contains(words, doc.want) {
			t.Errorf("%s does not say: %s", doc.file, doc.want)
		}
	}
}

// TestCommandPage looks for every command and flag of starpush, and every policy, in
// docs/cli.md.
func TestCommandPage(t *testing.T) {
	page, err := os.ReadFile("../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	var help strings.Builder
	if code := cli.Main([]string{"--help"}, strings.NewReader(""), &help, &help, nil); code != 0 {
		t.Fatalf("starpush --help: exit %d", code)
	}
	_, rest, _ := strings.Cut(help.String(), "\nAvailable Commands:\n")
	commands, flags, _ := strings.Cut(rest, "\nFlags:\n")
	found := 0
	look := func(what, pattern string) {
		found++
		if !regexp.MustCompile(pattern).Match(page) {
			t.Errorf("docs/cli.md says nothing of %s", what)
		}
	}
	for line := range strings.Lines(commands) {
		if strings.HasPrefix(line, "   ") {
			continue // the rest of a description
		}
		if words := strings.Fields(line); len(words) > 0 {
			look("the command "+words[0], `\b`+words[0]+`\b`)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^ +(?:-(\w), |)--([a-z-]+)`).FindAllStringSubmatch(flags, -1) {
		if m[2] == "help" {
			continue
		}
		pattern := `--` + m[2] + `\b`
		if m[1] != "" { // either form will do
			pattern += `|\s-` + m[1] + `\b`
		}
		look("the flag --"+m[2], pattern)
	}
	for _, name := range sched.Names() {
		look("the policy "+name, "`"+name+"`")
	}
	if found < 50 {
		t.Errorf("found %d commands, flags and policies", found)
	}
}

var codeName = regexp.MustCompile(`\b[EWR]\d{4}\b`)

// guideFolders are the packages that the tables name.
var guideFolders = map[string]string{
	"engine": "engine", "lang": "lang", "datamgr": "datamgr", "filter": "datamgr/filter", "filtertest": "datamgr/filter/filtertest", "sched": "engine/sched",
	"schedtest": "engine/sched/schedtest", "perf": "engine/perf", "graph": "engine/graph", "trace": "engine/trace",
	"sim": "accel/sim", "disk": "accel/disk", "numa": "accel/numa", "bus": "accel/bus", "dynlib": "accel/dynlib", "format": "datamgr/format", "datatest": "engine/datatest", "cluster": "engine/cluster", "simulate": "engine/simulate",
	"accel": "accel", "opencl": "accel/opencl", "cuda": "accel/cuda",
}

// lookUp looks for the names of the Go API in a cell of a table, and returns how many there
// are.
func lookUp(t *testing.T, place, cell string) (seen int) {
	t.Helper()
	for _, m := range goName.FindAllStringSubmatch(cell, -1) {
		pkg, name, ok := strings.Cut(m[1], ".")
		if !ok || ast.IsExported(pkg) {
			pkg, name = "engine", m[1]
		}
		if modes := []string{"R", "W", "RW", "COMMUTE", "REDUX", "SCRATCH"}; slices.Contains(modes, name) || strings.HasPrefix(name, "STARPUSH_") || codeName.FindString(name) == name {
			continue
		}
		if known[pkg] == nil {
			known[pkg] = names(t, pkg)
		}
		seen++
		if !known[pkg][name] {
			t.Errorf("%s: package %s has no %s", place, pkg, name)
		}
	}
	return seen
}

// known holds the results of names by package.
var known = map[string]map[string]bool{}

// names lists what a package exports: F, T, T.Method, T.Field. Members of an aliased type
// are listed under the alias, too.
func names(t *testing.T, pkg string) map[string]bool {
	t.Helper()
	dir, ok := guideFolders[pkg]
	if !ok {
		t.Fatalf("a table names package %s, which is not in guideFolders", pkg)
	}
	files, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(dir), "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no Go files: %v", dir, err)
	}
	out := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					out[d.Name.Name] = true
				} else {
					out[receiver(d.Recv.List[0].Type)+"."+d.Name.Name] = true
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					declare(t, out, s)
				}
			}
		}
	}
	return out
}

func declare(t *testing.T, out map[string]bool, s ast.Spec) {
	t.Helper()
	switch s := s.(type) {
	case *ast.ValueSpec:
		for _, n := range s.Names {
			out[n.Name] = true
		}
	case *ast.TypeSpec:
		out[s.Name.Name] = true
		switch typ := s.Type.(type) {
		case *ast.StructType:
			for _, f := range typ.Fields.List {
				for _, n := range f.Names {
					out[s.Name.Name+"."+n.Name] = true
				}
			}
		case *ast.InterfaceType:
			for _, m := range typ.Methods.List {
				for _, n := range m.Names {
					out[s.Name.Name+"."+n.Name] = true
				}
			}
		case *ast.SelectorExpr: // an alias
			pkg, ok := typ.X.(*ast.Ident)
			if !ok || guideFolders[pkg.Name] == "" {
				return
			}
			for name := range names(t, pkg.Name) {
				if rest, ok := strings.CutPrefix(name, typ.Sel.Name+"."); ok {
					out[s.Name.Name+"."+rest] = true
				}
			}
		}
	}
}

// link is a link in markdown to a file of the tree, with an anchor or without.
var link = regexp.MustCompile(`\]\(([^)\s#]*)(#[^)\s]*)?\)`)

// TestLinks follows the links of all markdown files in the tree.
func TestLinks(t *testing.T) {
	list, err := exec.Command("git", "-C", "..", "ls-files", "*.md").Output()
	if err != nil {
		t.Skipf("git: %v", err)
	}
	followed := 0
	for name := range strings.FieldsSeq(string(list)) {
		file := filepath.Join("..", filepath.FromSlash(name))
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range prose(string(text)) {
			for _, m := range link.FindAllStringSubmatch(line, -1) {
				if strings.Contains(m[1], "://") {
					continue
				}
				target := file
				if m[1] != "" {
					target = filepath.Join(filepath.Dir(file), filepath.FromSlash(m[1]))
				}
				followed++
				if err := follow(target, m[2]); err != nil {
					t.Errorf("%s:%d: %v", name, i+1, err)
				}
			}
		}
	}
	if followed < 40 {
		t.Errorf("followed %d links", followed)
	}
}

// TestLengths holds the documents that a stranger reads first to their lengths.
func TestLengths(t *testing.T) {
	for name, most := range map[string]int{"README.md": 150, "CHANGELOG.md": 80} {
		text, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), "\n"); n > most {
			t.Errorf("%s has %d lines, and may have %d", name, n, most)
		}
	}
}

// sourceFile is the path of a file of the tree, as documents name it.
var sourceFile = regexp.MustCompile("`([a-z0-9_]+(?:/[a-z0-9_]+)+\\.(?:go|md|txt))`")

// TestSourceFiles looks for the files of the tree that the documents for contributors name.
func TestSourceFiles(t *testing.T) {
	found := 0
	for _, name := range []string{"CONTRIBUTING.md", "RATIONALE.md", "lang/BENCHMARKS.md", "docs/life-of-a-task.md", "docs/life-of-a-datum.md"} {
		text, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range sourceFile.FindAllStringSubmatch(string(text), -1) {
			found++
			if _, err := os.Stat(filepath.Join("..", m[1])); err != nil {
				t.Errorf("%s names %s: %v", name, m[1], err)
			}
		}
	}
	if found < 20 {
		t.Errorf("found %d files", found)
	}
}

// TestNamesOfLives: the names of code in the pages on the life of a task and of a datum are
// declared in engine or datamgr.
func TestNamesOfLives(t *testing.T) {
	declared := map[string]bool{}
	for _, dir := range []string{"engine", "engine/sched", "datamgr"} {
		files, err := filepath.Glob(filepath.Join("..", dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncDecl:
					declared[n.Name.Name] = true
				case *ast.TypeSpec:
					declared[n.Name.Name] = true
				case *ast.Field:
					for _, id := range n.Names {
						declared[id.Name] = true
					}
				}
				return true
			})
		}
	}
	name := regexp.MustCompile("`(?:[a-zA-Z]+\\.)*([a-zA-Z]+)`")
	for _, page := range []string{"life-of-a-task.md", "life-of-a-datum.md"} {
		text, err := os.ReadFile(filepath.Join("..", "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		names := name.FindAllStringSubmatch(string(text), -1)
		for _, m := range names {
			if !declared[m[1]] {
				t.Errorf("%s names %s, which is not declared", page, m[0])
			}
		}
		if len(names) < 20 {
			t.Errorf("%s has %d names", page, len(names))
		}
	}
}

var inlineCode = regexp.MustCompile("`[^`]*`")

// prose returns the lines of a file without code; those of code blocks are empty.
func prose(text string) []string {
	lines, code := strings.Split(text, "\n"), false
	for i, line := range lines {
		fence := strings.HasPrefix(line, "```")
		if fence || code {
			lines[i] = ""
		}
		code = code != fence
		lines[i] = inlineCode.ReplaceAllStringFunc(lines[i], func(s string) string { return strings.Trim(s, "`()[]") })
	}
	return lines
}

// follow says why a link leads nowhere. The anchor of a heading is what GitHub makes
// of it.
func follow(target, anchor string) error {
	if _, err := os.Stat(target); err != nil {
		return fmt.Errorf("the link leads nowhere: %w", err)
	}
	if anchor == "" {
		return nil
	}
	text, err := os.ReadFile(target)
	if err != nil {
		return err
	}
	for _, line := range prose(string(text)) {
		title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		if ok && strings.HasPrefix(line, "#") && "#"+anchorOf(title) == anchor {
			return nil
		}
	}
	return fmt.Errorf("%s has no heading %s", target, anchor)
}

var notInAnchors = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

func anchorOf(title string) string {
	return strings.ReplaceAll(notInAnchors.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), ""), " ", "-")
}
