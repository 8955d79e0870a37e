package lang_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
)

// TestUses: what a script declares and inserts, each once, with where it can run.
func TestUses(t *testing.T) {
	none := func(*lang.Task) error { return nil }
	scal := lang.Must(lang.NewCodelet("scal(f: f64, v: RW vector[f64])", lang.CPU(none)))
	blas := lang.Must(lang.ModuleOf(scal.Engine()))
	clip := lang.Must(lang.NewCodelet("clip(v: RW vector[f64])", lang.CPU(none)))
	comp := lang.Must(lang.NewCompiler(lang.Config{Modules: map[string]*lang.Module{"std/blas": blas}, Codelets: []*lang.Codelet{clip}}))
	prog, diags := comp.Compile(context.Background(), "uses.spu", []byte(`import "std/blas" as b
extern codelet far(v: RW vector[f64])
codelet mine(v: RW vector[f64]) { each i in v { v[i] = 1.0 } }
codelet _idle(v: RW vector[f64]) { each i in v { v[i] = 1.0 } }
register x = vector[f64](8, fill = 1)
insert b.scal(2.0, RW x)
insert b.scal(3.0, RW x)
insert clip(RW x)
insert mine(RW x)
if false { insert far(RW x) }
`))
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	want := map[string]struct {
		cpu          bool
		extern, host bool
		line         int
	}{"_idle": {true, false, false, 4}, "b.scal": {true, false, true, 6}, "clip": {true, false, true, 8}, "far": {false, true, false, 2}, "mine": {true, false, false, 3}}
	uses := prog.Uses()
	if len(uses) != len(want) || !slices.IsSortedFunc(uses, func(a, b lang.CodeletUse) int { return strings.Compare(a.Name, b.Name) }) {
		t.Fatalf("%+v", uses)
	}
	for _, u := range uses {
		w, ok := want[u.Name]
		if !ok || slices.Contains(u.Kinds, "cpu") != w.cpu || u.Extern != w.extern || u.Host != w.host || u.Span.Start.Line != w.line {
			t.Errorf("%+v, want %+v", u, w)
		}
		if u.Extern && u.Kinds != nil || !strings.Contains(u.Signature, "(") {
			t.Errorf("%+v", u)
		}
	}
	if (*lang.Program)(nil).Uses() != nil || (&lang.Program{}).Uses() != nil {
		t.Error("a zero program uses something")
	}
}

// TestFileSizes: plans of scripts whose files are not there yet.
func TestFileSizes(t *testing.T) {
	comp := lang.Must(lang.NewCompiler(lang.Config{Files: lang.Dir(t.TempDir())}))
	prog, diags := comp.Compile(context.Background(), "load.spu", []byte(`register x = vector[f64](load = "./far/x.npy")
register A = matrix[f32](3, 4, load = "A.bin")
register s = vector[i64](2, load = "s.csv")
codelet scal(v: RW vector[f64]) { each i in v { v[i] *= 2.0 } }
partition x by blocks(4)
for k in 0..4 { insert scal(RW x[k]) }
assert A.rows == 3 and x.n == 100
`))
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	x, a, s := lang.FileSizes("far/x.npy", 100), lang.FileSizes("A.bin", 3, 4), lang.FileSizes("./s.csv", 2)
	plan, err := prog.Plan(context.Background(), engine.Machine{Workers: 1}, x, a, s)
	if err != nil || plan.Measures().Tasks != 4 {
		t.Fatalf("%v, %d tasks", err, plan.Measures().Tasks)
	}
	for _, tt := range []struct {
		opts []lang.Option
		want string
	}{
		{[]lang.Option{x, a}, "cannot load `s.csv`"},
		{[]lang.Option{x, a, s, lang.FileSizes("t.csv", 2)}, "the script loads no such file"},
		{[]lang.Option{lang.FileSizes("far/x.npy", 10, 10), a, s}, "found sizes 10 x 10"},
		{[]lang.Option{lang.FileSizes("far/x.npy", -1), a, s}, "found sizes -1"},
		{[]lang.Option{x, lang.FileSizes("A.bin", 4, 4), s}, "expected matrix[f32] 3 x 4, found sizes 4 x 4"},
		{[]lang.Option{x, a, lang.FileSizes("s.csv")}, "expected vector[i64] of 2, found no size"},
	} {
		if _, err := prog.Plan(context.Background(), engine.Machine{Workers: 1}, tt.opts...); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %q", err, tt.want)
		}
	}
}

// TestModuleDoc: what a module is for is shown where it is asked for.
func TestModuleDoc(t *testing.T) {
	plain := lang.Must(lang.ModuleOf())
	m := &lang.Module{Doc: "Numbers about data."}
	comp := lang.Must(lang.NewCompiler(lang.Config{Modules: map[string]*lang.Module{"std/reduce": m, "std/plain": plain}}))
	rt := lang.Must(engine.New(engine.Options{Workers: 1}))
	defer rt.Close()
	session := comp.NewSession(rt)
	defer session.Close()
	if _, err := session.Eval(context.Background(), "import \"std/reduce\" as r\nimport \"std/plain\" as p"); err != nil {
		t.Fatal(err)
	}
	if doc, ok := session.Doc("r"); !ok || !strings.Contains(doc, "Numbers about data.") {
		t.Errorf("%q", doc)
	}
	if doc, ok := session.Doc("p"); !ok || strings.Contains(doc, "Numbers about data.") {
		t.Errorf("%q", doc)
	}
}
