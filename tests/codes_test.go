package tests

// The pages about diagnostics hold what they say: every code of the source has one,
// the first program of a page raises its code and no other, the second raises nothing.

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/stdlib"
)

// unprovoked has the codes whose pages show no program.
var unprovoked = map[string]string{
	"E0001": "a fault of starpush itself",
	"E0107": "takes a script of megabytes, or hundreds of brackets",
	"R0108": "comes from outside the script",
	"R0109": "a fault of starpush itself",
}

// TestCodesInSource holds the table against the code literals of all packages.
func TestCodesInSource(t *testing.T) {
	code := regexp.MustCompile(`^[EWR]\d{4}$`)
	raised := map[string]string{}
	fset := token.NewFileSet()
	err := filepath.WalkDir("..", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == "testdata" || len(e.Name()) > 2 && strings.HasPrefix(e.Name(), ".")):
			return filepath.SkipDir
		case e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if s, err := strconv.Unquote(lit.Value); err == nil && code.MatchString(s) && raised[s] == "" {
					raised[s] = fset.Position(lit.Pos()).String()
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	table := map[string]bool{}
	for _, c := range diag.Codes() {
		table[c.Code] = true
		if raised[c.Code] == "" {
			t.Errorf("%s has a page, and nothing raises it", c.Code)
		}
	}
	for c, at := range raised {
		if !table[c] {
			t.Errorf("%s: %s has no page in lang/diag/codes", at, c)
		}
	}
}

// TestCodePages runs the programs of all pages.
func TestCodePages(t *testing.T) {
	for _, c := range diag.Codes() {
		t.Run(c.Code, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), c.Code+".md")
			writeFile(t, name, c.Doc+"\n")
			doc, err := readDocument(name)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			var codes [][]string
			for _, b := range doc.blocks {
				switch {
				case b.kind == "spu" && b.name != "": // a file for the programs below
					writeFile(t, filepath.Join(dir, b.name), b.text)
				case b.kind == "spu" || b.kind == "spu-host":
					codes = append(codes, raisedBy(t, dir, b, c.Code == "R0110"))
				default:
					t.Errorf("a block of kind %q", b.kind)
				}
				layout(t, b)
			}
			if why := unprovoked[c.Code]; why != "" {
				if len(codes) > 0 {
					t.Errorf("the page shows %d programs, and is excused: %s", len(codes), why)
				}
				return
			}
			if len(codes) != 2 {
				t.Fatalf("the page shows %d programs: one that raises the code and one that does not are wanted", len(codes))
			}
			if got := slices.Compact(slices.Clone(codes[0])); !slices.Equal(got, []string{c.Code}) {
				t.Errorf("the first program raises %v", got)
			}
			if len(codes[1]) > 0 {
				t.Errorf("the second program raises %v", codes[1])
			}
		})
	}
}

// layout wants what parses to look as starpush fmt writes it.
func layout(t *testing.T, b *block) {
	t.Helper()
	text, err := lang.Format("example.spu", []byte(b.text))
	if err == nil && string(text) != b.text {
		t.Errorf("line %d: not in the layout of starpush fmt, which is\n%s", b.line, text)
	}
}

// raisedBy checks and runs a program and returns the codes of all it is told,
// warnings too, --verify when asked for. Programs of kind spu-host find what
// hostOptions binds.
func raisedBy(t *testing.T, dir string, b *block, verify bool) []string {
	t.Helper()
	cfg := lang.Config{
		Modules: map[string]*lang.Module{}, Loader: lang.FSLoader(os.DirFS(dir)), Files: lang.Dir(dir),
	}
	for name, codelets := range stdlib.Modules() {
		cfg.Modules[name] = lang.Must(lang.ModuleOf(codelets...))
	}
	if b.kind == "spu-host" {
		cfg.Funcs = append(cfg.Funcs, lang.Must(lang.NewFunc("setting(name: string) -> int", setting)))
	}
	comp, err := lang.NewCompiler(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	prog, ds := comp.Compile(ctx, "example.spu", []byte(b.text))
	codes := codesOf(t, ds)
	if prog == nil {
		return codes
	}
	if !strings.Contains(b.text, "extern") {
		plan, err := prog.Plan(ctx, engine.Machine{Workers: 2, PerfDir: t.TempDir()}, lang.Stdout(io.Discard))
		if err == nil {
			for _, d := range plan.Warnings() {
				codes = append(codes, d.Code)
			}
		}
	}
	rt, err := engine.New(engine.Options{Workers: 2, Verify: verify})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	opts := []lang.Option{lang.Stdout(io.Discard)}
	if b.kind == "spu-host" && slices.ContainsFunc(prog.Externs(), func(x lang.ExternInfo) bool { return x.Name == "x" }) {
		opts = append(opts, lang.Bind("x", lang.VectorOf([]float32{1, 2, 3}, lang.ReadOnly())))
	}
	inst, err := prog.Run(ctx, rt, opts...)
	if err == nil {
		err = inst.Close()
	}
	if err != nil {
		codes = append(codes, codesOf(t, err)...)
	}
	return codes
}

// setting is a host function that knows one setting.
func setting(_ context.Context, args []any) (any, error) {
	if args[0] == "size" {
		return int64(4), nil
	}
	return nil, fmt.Errorf("no setting %v", args[0])
}

// codesOf lists the codes in an error.
func codesOf(t *testing.T, err error) []string {
	t.Helper()
	var many lang.Diagnostics
	var one *lang.Diagnostic
	switch {
	case errors.As(err, &many):
	case errors.As(err, &one):
		many = lang.Diagnostics{*one}
	case err != nil:
		t.Errorf("an error without a diagnostic: %v", err)
	}
	var codes []string
	for _, d := range many {
		codes = append(codes, d.Code)
	}
	return codes
}
