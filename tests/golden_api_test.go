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
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
)

// publicPackages are the packages whose API is held.
var publicPackages = []string{
	"lang", "engine", "engine/sched", "engine/sched/schedtest", "engine/cluster", "engine/datatest", "engine/perf", "engine/graph", "engine/trace", "engine/simulate",
	"accel", "accel/acceltest", "accel/all", "accel/bus", "accel/cpu", "accel/disk", "accel/dynlib", "accel/mpi", "accel/numa", "accel/opencl", "accel/sim",
	"datamgr/filter", "datamgr/filter/filtertest", "datamgr/format", "datamgr/iface", "stdlib",
}

// TestExportedAPI compares the API with testdata/api; STARPUSH_UPDATE=1 writes it.
func TestExportedAPI(t *testing.T) {
	for _, pkg := range publicPackages {
		t.Run(pkg, func(t *testing.T) {
			got := exported(t, filepath.Join("..", filepath.FromSlash(pkg)), pkg)
			golden := filepath.Join("testdata", "api", strings.ReplaceAll(pkg, "/", "_")+".txt")
			if diff := cmp.Diff(recorded(t, golden, got), strings.Split(got, "\n")); diff != "" {
				t.Errorf("the API differs from %s; if that is meant, STARPUSH_UPDATE=1 writes it, and CHANGELOG.md says so (-want +got):\n%s", golden, diff)
			}
		})
	}
}

// recorded returns the lines of a golden file, after it was updated with got if that is asked for.
func recorded(t *testing.T, golden, got string) []string {
	t.Helper()
	if update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatalf("%v; STARPUSH_UPDATE=1 writes it", err)
	}
	return strings.Split(string(want), "\n")
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

// TestExportedAPIDatamgr holds the types of datamgr that programs reach by those of engine and lang,
// with their fields and methods.
func TestExportedAPIDatamgr(t *testing.T) {
	types := map[reflect.Type]string{}
	for _, root := range []any{
		new(engine.Runtime), new(engine.Options), new(engine.Job), new(engine.JobOptions), new(engine.TaskSpec), new(engine.Task),
		new(engine.TaskContext), new(engine.Codelet), new(engine.Access), new(engine.Event), new(engine.Vector[float64]),
		new(engine.Matrix[float64]), new(engine.Block[float64]), new(engine.Variable[float64]), new(engine.DeadHandleError), new(engine.UninitError), new(datamgr.ReductionError),
		new(lang.Config), new(lang.Compiler), new(lang.Program), new(lang.Instance), new(lang.Session), new(lang.Access[float64]),
	} {
		reach(reflect.TypeOf(root), "programs", types)
	}
	var held []string
	via := map[string]string{}
	for typ, from := range types {
		if typ.Name() != "" && strings.HasSuffix(typ.PkgPath(), "/datamgr") {
			held = append(held, describeType(typ))
			via[typ.String()] = from
		}
	}
	slices.Sort(held)
	got := strings.Join(held, "\n")
	if !strings.Contains(got, "datamgr.Handle\n\tAlive func() bool\n") {
		t.Fatalf("no Handle among the types that programs reach:\n%s", got)
	}
	golden := filepath.Join("testdata", "api", "datamgr.txt")
	lines := recorded(t, golden, got)
	for typ, from := range via {
		owner := strings.TrimPrefix(from[:strings.LastIndexByte(from, '.')+1], "*")
		if listed := slices.Contains(lines, strings.TrimSuffix(owner, ".")); !slices.Contains(lines, typ) && (listed || !strings.HasPrefix(owner, "datamgr.")) {
			t.Errorf("%s leads to %s, which %s does not list", strings.TrimPrefix(from, "*"), typ, golden)
		}
	}
	if diff := cmp.Diff(lines, strings.Split(got, "\n")); diff != "" {
		t.Errorf("programs reach other types or methods of datamgr than %s lists. Make a method that only the engine may call one of datamgr.Managed "+
			"(datamgr/handle.go), or of a type that no method or field of these leads to. If any program may call it at any time, "+
			"STARPUSH_UPDATE=1 writes the file (-want +got):\n%s", golden, diff)
	}
}

// reach adds t, and the types of this module that its exported fields and methods lead to,
// each with the field or method that led to it first.
func reach(t reflect.Type, via string, seen map[reflect.Type]string) {
	if seen[t] != "" || t.PkgPath() != "" && !strings.HasPrefix(t.PkgPath(), "github.com/starpush/starpush/") {
		return
	}
	seen[t] = via
	all := t
	if t.Name() != "" && t.Kind() != reflect.Interface {
		all = reflect.PointerTo(t) // has the methods of both
	}
	for m := range all.Methods() {
		if m.IsExported() { // those of an interface may not be
			reach(m.Type, t.String()+"."+m.Name, seen)
		}
	}
	switch t.Kind() {
	case reflect.Map:
		reach(t.Key(), via, seen)
		reach(t.Elem(), via, seen)
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Chan:
		reach(t.Elem(), via, seen)
	case reflect.Struct:
		for f := range t.Fields() {
			if f.IsExported() {
				reach(f.Type, t.String()+"."+f.Name, seen)
			}
		}
	case reflect.Func:
		for in := range t.Ins() {
			reach(in, via, seen)
		}
		for out := range t.Outs() {
			reach(out, via, seen)
		}
	}
}

// describeType writes the name of a type, its exported fields and its methods, each with
// its type.
func describeType(t reflect.Type) string {
	var b strings.Builder
	b.WriteString(t.String() + "\n")
	if t.Kind() == reflect.Struct {
		for f := range t.Fields() {
			if f.IsExported() {
				b.WriteString("\t." + f.Name + " " + f.Type.String() + "\n")
			}
		}
	}
	for m := range reflect.PointerTo(t).Methods() {
		sig := m.Type.String() // begins with the receiver
		recv := m.Type.In(0).String()
		sig = strings.TrimPrefix(strings.TrimPrefix(sig, "func("+recv), ", ")
		b.WriteString("\t" + m.Name + " func(" + sig + "\n")
	}
	return b.String()
}
