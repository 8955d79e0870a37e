package tests

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The flat packages have many files that work on the same types. Each declares an order of its
// files, from the bottom up: a file should use what lies below it. A file that uses a name which
// a file above declares is an upward reference. Some are needed, as tasks end in calls of what
// began them. floors.txt records how many each package has, a number that may only fall.
//
// The order of a package is the list of files in the comment of its doc.go that begins with
// "Files, from the bottom up". For a package without such a comment it is in floors.txt.

const floorsFile = "testdata/floors.txt"

// floorPlan is what floors.txt says of one package.
type floorPlan struct {
	upward int
	files  []string // from the bottom up
}

// TestFloors fails when a flat package has more upward references between its files than
// recorded. With STARPUSH_UPDATE=1 it records lower numbers, files that are gone, and new files,
// at the place where they cause the fewest.
func TestFloors(t *testing.T) {
	plans := readFloors(t)
	update := os.Getenv("STARPUSH_UPDATE") != ""
	uses := fileUses(t, slices.Sorted(maps.Keys(plans)))
	for _, pkg := range slices.Sorted(maps.Keys(plans)) {
		plan, use := plans[pkg], uses[pkg]
		if len(use) < 5 {
			t.Fatalf("%s: found %d files", pkg, len(use))
		}
		declared := docFloors(t, pkg)
		order := plan.files
		if declared != nil {
			order = declared
		}
		for i, f := range order {
			if slices.Index(order, f) != i {
				t.Errorf("%s: %s is in the order of files twice", pkg, f)
			}
		}
		gone := slices.DeleteFunc(slices.Clone(order), func(f string) bool { return use[f] != nil })
		var added []string
		for _, f := range slices.Sorted(maps.Keys(use)) {
			if !slices.Contains(order, f) {
				added = append(added, f)
			}
		}
		if len(gone)+len(added) > 0 {
			where := "run the test with STARPUSH_UPDATE=1 and read the diff of tests/" + floorsFile
			if declared != nil {
				where = "change the list of files in " + pkg + "/doc.go"
			}
			if !update || declared != nil {
				t.Errorf("%s: files without a place in the order: %v; files of the order that are gone: %v; %s", pkg, added, gone, where)
				continue
			}
			order = slices.DeleteFunc(slices.Clone(order), func(f string) bool { return use[f] == nil })
			for _, f := range added {
				order = use.place(order, f)
			}
		}
		up := use.upward(order)
		if update && len(up) < plan.upward {
			plan.upward = len(up)
		}
		if len(up) > plan.upward {
			t.Errorf("%s has %d upward references between files, and had %d. Move a declaration to the file where its users look down on it, or pass what a lower file reaches up for; then STARPUSH_UPDATE=1 records lower numbers. All of them, each with a name used:\n\t%s",
				pkg, len(up), plan.upward, strings.Join(up, "\n\t"))
		}
		if len(up) < plan.upward {
			t.Logf("%s has %d upward references, %d are recorded: STARPUSH_UPDATE=1 records them", pkg, len(up), plan.upward)
		}
		if plan.files = order; declared != nil {
			plan.files = nil
		}
	}
	if update && !t.Failed() {
		writeFloors(t, plans)
	}
}

// fileUse has, by file of a package and by other file, a name of that which the file uses.
type fileUse map[string]map[string]string

// upward lists the upward references in an order of files, from the bottom up.
func (u fileUse) upward(order []string) (all []string) {
	for i, f := range order {
		for _, g := range order[i+1:] {
			if name := u[f][g]; name != "" {
				all = append(all, fmt.Sprintf("%s uses %s of %s", f, name, g))
			}
		}
	}
	return all
}

// place inserts f where the order has the fewest upward references, as low as possible.
func (u fileUse) place(order []string, f string) []string {
	var best []string
	for i := range len(order) + 1 {
		o := slices.Insert(slices.Clone(order), i, f)
		if best == nil || len(u.upward(o)) < len(u.upward(best)) {
			best = o
		}
	}
	return best
}

// fileUses type-checks packages and finds what their files use of each other: names of the
// package, methods and fields.
func fileUses(t *testing.T, pkgs []string) map[string]fileUse {
	t.Helper()
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Export,Dir,GoFiles"}
	for _, p := range pkgs {
		args = append(args, module+"/"+p)
	}
	cmd := exec.Command("go", args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	type listed struct {
		ImportPath, Export, Dir string
		GoFiles                 []string
	}
	all := map[string]listed{}
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var p listed
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		all[p.ImportPath] = p
	}
	fset := token.NewFileSet()
	imp := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(all[path].Export) })
	uses := map[string]fileUse{}
	for _, p := range pkgs {
		l := all[module+"/"+p]
		use := fileUse{}
		var files []*ast.File
		for _, name := range l.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(l.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			if len(f.Decls) == 0 || name == "doc.go" {
				continue
			}
			files = append(files, f)
			use[name] = map[string]string{}
		}
		info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
		conf := types.Config{Importer: imp}
		tp, err := conf.Check(l.ImportPath, fset, files, info)
		if err != nil {
			t.Fatal(err)
		}
		file := func(pos token.Pos) string { return filepath.Base(fset.Position(pos).Filename) }
		for id, o := range info.Uses {
			local := o.Parent() != nil && o.Parent() != tp.Scope()
			if o.Pkg() != tp || !o.Pos().IsValid() || local {
				continue
			}
			from, to := file(id.Pos()), file(o.Pos())
			if had := use[from][to]; from != to && (had == "" || o.Name() < had) {
				use[from][to] = o.Name()
			}
		}
		uses[p] = use
	}
	return uses
}

var goFile = regexp.MustCompile(`\b[a-z0-9_]+\.go\b`)

// docFloors returns the order of files that doc.go of a package declares, or nil.
func docFloors(t *testing.T, pkg string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", pkg, "doc.go"), nil, parser.ParseComments)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range f.Comments {
		if text := c.Text(); strings.HasPrefix(text, "Files, from the bottom up") {
			return goFile.FindAllString(text, -1)
		}
	}
	return nil
}

// readFloors reads floors.txt: a line for each package with its number, then its files.
func readFloors(t *testing.T) map[string]*floorPlan {
	t.Helper()
	text, err := os.ReadFile(floorsFile)
	if err != nil {
		t.Fatal(err)
	}
	plans := map[string]*floorPlan{}
	var plan *floorPlan
	for line := range strings.Lines(string(text)) {
		switch fields := strings.Fields(line); {
		case len(fields) == 0 || fields[0] == "#":
		case strings.HasPrefix(line, "\t"):
			plan.files = append(plan.files, fields...)
		default:
			plan = &floorPlan{}
			if _, err := fmt.Sscan(fields[1], &plan.upward); err != nil {
				t.Fatalf("%s: %q: %v", floorsFile, line, err)
			}
			plans[fields[0]] = plan
		}
	}
	return plans
}

func writeFloors(t *testing.T, plans map[string]*floorPlan) {
	t.Helper()
	var b strings.Builder
	b.WriteString("# Upward references between the files of flat packages, see TestFloors, and the order of files\n# from the bottom up where doc.go of the package does not declare it.\n")
	for _, pkg := range slices.SortedFunc(maps.Keys(plans), cmp.Compare[string]) {
		fmt.Fprintf(&b, "%s %d\n", pkg, plans[pkg].upward)
		line := "\t"
		for _, f := range plans[pkg].files {
			if len(line)+len(f) > 110 {
				b.WriteString(strings.TrimRight(line, " ") + "\n")
				line = "\t"
			}
			line += f + " "
		}
		if line != "\t" {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
	}
	if err := os.WriteFile(floorsFile, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
