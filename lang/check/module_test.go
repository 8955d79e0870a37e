package check

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/diag/diagtest"
	"github.com/starpush/starpush/lang/types"
)

func checkText(t *testing.T, name, text string) (*Program, diag.Diagnostics) {
	t.Helper()
	return Check(testEnv(t, "testdata/modules"), diag.NewSource(name, text))
}

// lines lists "file:line: code" of diagnostics.
func lines(ds diag.Diagnostics) string {
	var out []string
	for i := range ds {
		d := &ds[i]
		out = append(out, strings.Join([]string{d.Span.File, string(rune('0' + d.Span.Start.Line%10)), d.Code}, ":"))
	}
	return strings.Join(out, " ")
}

func TestModuleStatements(t *testing.T) {
	_, ds := checkText(t, "main.spu", "import \"bad.spu\" as bad\nbad.f()\n")
	want := "bad.spu:1:E0903 bad.spu:2:E0903 bad.spu:4:E0903 bad.spu:5:E0903 bad.spu:6:E0903"
	if got := lines(ds); got != want {
		t.Errorf("got  %s\nwant %s\n%s", got, want, diagtest.Render(t, ds))
	}
}

func TestImportCycle(t *testing.T) {
	_, ds := checkText(t, "main.spu", "import \"a.spu\" as a\na.f()\n")
	if got := lines(ds); got != "b.spu:1:E0901" {
		t.Fatalf("got %s\n%s", got, diagtest.Render(t, ds))
	}
	if !strings.Contains(ds[0].Message, "`a.spu` imports itself through `b.spu`") {
		t.Errorf("message %q", ds[0].Message)
	}
}

func TestBrokenModule(t *testing.T) {
	_, ds := checkText(t, "main.spu", "import \"broken.spu\" as m\nm.f()\nm.g()\n")
	for _, d := range ds {
		if d.Span.File != "broken.spu" {
			t.Errorf("not caused by the module: %s", diagtest.Render(t, diag.Diagnostics{d}))
		}
	}
	if ds.Err() == nil {
		t.Error("no error")
	}
}

func TestMissingFileKeepsCause(t *testing.T) {
	_, ds := checkText(t, "main.spu", "import \"none.spu\" as m\nm.f()\n")
	if len(ds) != 1 || !errors.Is(&ds[0], fs.ErrNotExist) {
		t.Fatalf("got %v", ds)
	}
}

func TestNoLoader(t *testing.T) {
	_, ds := Check(nil, diag.NewSource("main.spu", "import \"a.spu\" as a\na.f()\n"))
	if got := lines(ds); got != "main.spu:1:E0902" {
		t.Errorf("got %s", got)
	}
}

// TestModuleOnce: a module that two files import is one unit, imported first.
func TestModuleOnce(t *testing.T) {
	files := map[string]string{
		"m.spu": "func f() -> int { return 1 }",
		"p.spu": "import \"m.spu\" as m\nfunc g() -> int { return m.f() }",
	}
	env := testEnv(t, ".")
	loads := 0
	env.Load = func(path string, from *diag.Source) (*diag.Source, error) {
		loads++
		return diag.NewSource(path, files[path]), nil
	}
	prog, ds := Check(env, diag.NewSource("main.spu", "import \"p.spu\" as p\nimport \"m.spu\" as m\nprint(p.g() + m.f())"))
	if len(ds) > 0 {
		t.Fatal(diagtest.Render(t, ds))
	}
	var names []string
	for _, u := range prog.Units {
		names = append(names, u.File.Source.Name)
	}
	if got := strings.Join(names, " "); got != "m.spu p.spu main.spu" {
		t.Errorf("units %s", got)
	}
	if prog.Main != prog.Units[2] || len(prog.Main.Imports) != 2 || prog.Main.Imports[1] != prog.Units[0] {
		t.Error("imports of main")
	}
	if o := prog.Units[0].Module.Members["f"]; o == nil || o.Kind != types.FuncObject || o.Unit != any(prog.Units[0]) {
		t.Errorf("member f: %+v", o)
	}
}
