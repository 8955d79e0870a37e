package tests

// The exported API, one golden file for each package that other programs import: a
// change of it shows in a review.

import (
	"bytes"
	"go/ast"
	"go/build"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// publicPackages are the packages whose API is held.
var publicPackages = []string{
	"lang", "engine", "engine/sched", "engine/sched/schedtest", "engine/perf", "engine/graph", "engine/trace",
	"accel", "accel/acceltest", "accel/all", "accel/bus", "accel/cpu", "accel/disk", "accel/opencl", "accel/sim",
	"datamgr/filter", "datamgr/format", "datamgr/iface", "stdlib",
}

// TestExportedAPI compares the API with testdata/api; STARPUSH_UPDATE=1 writes it.
func TestExportedAPI(t *testing.T) {
	for _, pkg := range publicPackages {
		t.Run(pkg, func(t *testing.T) {
			got := exported(t, filepath.Join("..", filepath.FromSlash(pkg)), pkg)
			golden := filepath.Join("testdata", "api", strings.ReplaceAll(pkg, "/", "_")+".txt")
			if update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatalf("%v; STARPUSH_UPDATE=1 writes it", err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("the API differs from %s; if that is meant, STARPUSH_UPDATE=1 writes it, and CHANGELOG.md says so (-want +got):\n%s", golden, diff)
			}
		})
	}
}

// exported writes what a package exports, sorted, without comments and bodies.
func exported(t *testing.T, dir, path string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no files in %s: %v", dir, err)
	}
	linux := build.Default // the same text on every machine
	linux.GOOS, linux.GOARCH, linux.CgoEnabled = "linux", "amd64", false
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		if ok, err := linux.MatchFile(dir, filepath.Base(name)); err != nil {
			t.Fatal(err)
		} else if !ok || strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	p, err := doc.NewFromFiles(fset, files, path)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	decl := func(d ast.Decl) {
		if f, ok := d.(*ast.FuncDecl); ok {
			f.Body = nil
		}
		if err := printer.Fprint(&b, fset, d); err != nil {
			t.Fatal(err)
		}
		b.WriteByte('\n')
	}
	values := func(vs []*doc.Value) {
		for _, v := range vs {
			decl(v.Decl)
		}
	}
	funcs := func(fs []*doc.Func) {
		for _, f := range fs {
			decl(f.Decl)
		}
	}
	values(p.Consts)
	values(p.Vars)
	funcs(p.Funcs)
	for _, ty := range p.Types {
		decl(ty.Decl)
		values(ty.Consts)
		values(ty.Vars)
		funcs(ty.Funcs)
		funcs(ty.Methods)
	}
	return b.String()
}
