package tests

// The declarations of package lang that docs/embedding.md lists, because go doc shows
// no more than an alias of them: they are those of the package, and all are there.

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// api has the text of each exported declaration: "func Must", "type Limits",
// "method Instance.Wait", "const Error". Bodies, comments and unexported fields
// are left out, package names of this module too.
type api map[string]string

// folders that aliases of package lang point to.
var aliasFolders = map[string]string{
	"diag": "../lang/diag", "interp": "../lang/interp", "engine": "../engine",
	"iface": "../datamgr/iface", "datamgr": "../datamgr", "graph": "../engine/graph",
}

var ownPackages = regexp.MustCompile(`\b(diag|interp|engine|iface|datamgr|graph)\.`)

// compareAPI holds one listing against package lang.
func compareAPI(t *testing.T, b *block) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "listing.go", b.text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatalf("%s:%d: %v", b.file, b.line, err)
	}
	listed, _ := declared(file)
	actual, aliases := packageAPI(t)
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		switch text, ok := actual[name]; {
		case !ok:
			t.Errorf("%s:%d: package lang has no %s", b.file, b.line, name)
		case text != listed[name]:
			t.Errorf("%s:%d: %s is\n%s\nand the listing says\n%s", b.file, b.line, name, text, listed[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(aliases)) {
		pkg, _, _ := strings.Cut(aliases[name], ".")
		if _, ok := listed["type "+name]; !ok && (pkg == "interp" || pkg == "diag") {
			t.Errorf("%s:%d: type %s is not listed:\n%s", b.file, b.line, name, actual["type "+name])
		}
	}
}

// packageAPI reads package lang: its declarations, with the definitions and methods of
// its aliases, and the types that those are of.
func packageAPI(t *testing.T) (actual api, aliases map[string]string) {
	t.Helper()
	actual, aliases = folderAPI(t, "../lang")
	cache := map[string]api{}
	for name, target := range aliases {
		pkg, typ, _ := strings.Cut(target, ".")
		dir := aliasFolders[pkg]
		if dir == "" {
			t.Fatalf("type %s = %s: in no folder of the table", name, target)
		}
		if cache[pkg] == nil {
			cache[pkg], _ = folderAPI(t, dir)
		}
		for key, text := range cache[pkg] {
			switch {
			case key == "type "+typ:
				actual["type "+name] = text
			case strings.HasPrefix(key, "method "+typ+"."):
				actual["method "+name+strings.TrimPrefix(key, "method "+typ)] = text
			}
		}
	}
	return actual, aliases
}

func folderAPI(t *testing.T, dir string) (all api, aliases map[string]string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no Go files: %v", dir, err)
	}
	all, aliases = api{}, map[string]string{}
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), f, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		a, al := declared(file)
		maps.Copy(all, a)
		maps.Copy(aliases, al)
	}
	return all, aliases
}

// declared lists the exported declarations of a file, and its aliases.
func declared(file *ast.File) (api, map[string]string) {
	out, aliases := api{}, map[string]string{}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if !ast.IsExported(name) {
				continue
			}
			key := "func " + name
			if d.Recv != nil {
				recv := receiver(d.Recv.List[0].Type)
				if !ast.IsExported(recv) {
					continue
				}
				key = "method " + recv + "." + name
			}
			d.Body, d.Doc = nil, nil
			if d.Recv != nil {
				d.Recv.List[0].Names = nil
			}
			out[key] = source(d)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					if !ast.IsExported(s.Name.Name) {
						continue
					}
					if s.Assign.IsValid() {
						aliases[s.Name.Name] = qualified(s.Type)
					}
					strip(s.Type)
					out["type "+s.Name.Name] = source(s.Type)
				case *ast.ValueSpec:
					for _, n := range s.Names {
						if ast.IsExported(n.Name) {
							out[d.Tok.String()+" "+n.Name] = ""
						}
					}
				}
			}
		}
	}
	return out, aliases
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

func qualified(e ast.Expr) string {
	if x, ok := e.(*ast.IndexExpr); ok { // an alias of a generic type
		e = x.X
	}
	if s, ok := e.(*ast.SelectorExpr); ok {
		return s.X.(*ast.Ident).Name + "." + s.Sel.Name
	}
	return ""
}

// strip removes comments, tags and unexported fields.
func strip(e ast.Expr) {
	var list *ast.FieldList
	switch e := e.(type) {
	case *ast.StructType:
		list = e.Fields
	case *ast.InterfaceType:
		list = e.Methods
	default:
		return
	}
	list.List = slices.DeleteFunc(list.List, func(f *ast.Field) bool {
		f.Doc, f.Comment, f.Tag = nil, nil, nil
		return len(f.Names) > 0 && !slices.ContainsFunc(f.Names, func(n *ast.Ident) bool { return ast.IsExported(n.Name) })
	})
	var split []*ast.Field // `A, B int` like two lines
	for _, f := range list.List {
		if len(f.Names) == 0 {
			split = append(split, f)
		}
		for _, n := range f.Names {
			split = append(split, &ast.Field{Names: []*ast.Ident{ast.NewIdent(n.Name)}, Type: f.Type})
		}
	}
	list.List = split
}

var spaces = regexp.MustCompile(`\s+`)

// source prints a node on one line.
func source(n ast.Node) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, token.NewFileSet(), n); err != nil {
		return err.Error()
	}
	text := ownPackages.ReplaceAllString(b.String(), "")
	text = strings.TrimSpace(spaces.ReplaceAllString(text, " "))
	return strings.ReplaceAll(text, "struct { }", "struct{}")
}
