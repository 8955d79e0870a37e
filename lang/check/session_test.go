package check

import (
	"strings"
	"testing"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/diag/diagtest"
	"github.com/starpush/starpush/lang/types"
)

// entry runs one entry and compares the codes that it reports.
func entry(t *testing.T, s *Session, text, codes string) *Unit {
	t.Helper()
	u, ds := s.Entry(diag.NewSource("<prompt>", text))
	var got []string
	for _, d := range ds {
		got = append(got, d.Code)
	}
	if strings.Join(got, " ") != codes {
		t.Fatalf("entry %q: got %v, want %q\n%s", text, got, codes, diagtest.Render(t, ds))
	}
	if (u == nil) != (ds.Err() != nil) {
		t.Fatalf("entry %q: unit %v with errors %v", text, u != nil, ds)
	}
	return u
}

// TestSessionHides: what an entry declares may be used by those that follow, but not
// what a block of it does.
func TestSessionHides(t *testing.T) {
	s := NewSession(testEnv(t, "testdata/modules"))
	entry(t, s, "let s = 0", "")
	entry(t, s, "let s = 1", "")
	entry(t, s, "for i in 0..3 { let s = s + i }", "W0201")
	entry(t, s, "for i in 0..3 { let t = i }", "")
	entry(t, s, "for i in 0..3 { s = s + i }", "")
}

// TestSessionBodies: a body that uses a name of an earlier entry gets another error than
// one that uses an unknown name.
func TestSessionBodies(t *testing.T) {
	s := NewSession(testEnv(t, "testdata/modules"))
	entry(t, s, "let far = 3", "")
	entry(t, s, "register data = vector[f64](4)", "")
	for name, help := range map[string]string{"far": "pass it as an operand: `far: int`", "data": "pass it as an operand: `data: R vector[f64]`"} {
		_, ds := s.Entry(diag.NewSource("<prompt>", "codelet c(v: RW variable[f64]) { v = v + "+name+" }"))
		if len(ds) != 1 || ds[0].Code != "E0604" || len(ds[0].Help) != 1 || ds[0].Help[0] != help || len(ds[0].Labels) != 1 {
			t.Errorf("%s:\n%s", name, diagtest.Render(t, ds))
		}
	}
	entry(t, s, "codelet c(v: RW variable[f64]) { v = v + near }", "E0201")
}

func TestSession(t *testing.T) {
	env := testEnv(t, "testdata/modules")
	blas := &types.Object{Name: "blas", Kind: types.ModuleObject, Type: types.TNone, Module: env.Modules["std/blas"]}
	s := NewSession(env, blas)
	entry(t, s, "register x = vector[f32](4)", "")
	a := entry(t, s, "let n = 3", "")
	entry(t, s, "partition x by blocks(2)", "")
	entry(t, s, "for b in 0..2 { insert blas.fill(W x[b], 1.0) }", "")
	entry(t, s, "insert blas.scal(2.5, RW x[0])", "")
	entry(t, s, "insert blas.scla(2.5, RW x[0])", "E0203")
	entry(t, s, "print(m)", "E0201")
	entry(t, s, "acquire R x as xs", "")
	entry(t, s, "print(xs[0])", "")
	entry(t, s, "release xs", "")

	// A name may be declared again, with another type, in a slot of its own.
	b := entry(t, s, "let n = \"text\"", "")
	if o, p := a.Objects["n"], b.Objects["n"]; o.Slot == p.Slot || !p.Global || b.Slots <= a.Slots || p.Slot >= b.Slots {
		t.Errorf("slots: %d then %d of %d", o.Slot, p.Slot, b.Slots)
	}
	entry(t, s, "n = n + \"!\"", "")
	entry(t, s, "n = 3", "E0705")

	// After an error the names are as before, and the slots too.
	entry(t, s, "let fresh = 1\nlet broken = nothing", "E0201")
	if s.Lookup("fresh") != nil {
		t.Error("a name of a failed entry stayed")
	}

	// An expression sets _.
	u := entry(t, s, "1 + 2", "")
	if u.Last == nil || u.Last.Type.Kind != types.Int || u.Last.Slot >= u.Slots {
		t.Fatalf("last: %+v of %d slots", u.Last, u.Slots)
	}
	if u := entry(t, s, "_ * 2.5", ""); u.Last == nil || u.Last.Type.Kind != types.Float {
		t.Errorf("last: %+v", u.Last)
	}
	if u := entry(t, s, "print(_)", ""); u.Last != nil {
		t.Errorf("print has no value, and last is %+v", u.Last)
	}

	// Functions see what was there before them.
	entry(t, s, "func f(k: int) -> int { return k + len(n) }", "")
	entry(t, s, "print(f(2))", "")
	entry(t, s, "codelet c(v: RW vector[f32]) { }", "")
	entry(t, s, "insert c(R x)", "E0301")
	entry(t, s, "register acc = variable[f64]()", "")
	entry(t, s, "codelet add(v: RW variable[f64]) { }; insert add(REDUX acc)", "E0303")
	entry(t, s, "import \"lib/vec.spu\" as vec", "")
	entry(t, s, "print(vec.twice(2))", "")
	if m := s.Modules(); len(m) != 1 || m[0].Module.Name != "lib/vec.spu" {
		t.Errorf("modules: %v", m)
	}
	entry(t, s, "let g = gate()\ninsert c(RW x) with after = [g]", "")
	entry(t, s, "insert c(RW", "E0102")
	s.Forget("vec")
	entry(t, s, "print(vec.twice(2))", "E0201")
	var names []string
	for _, o := range s.Names() {
		names = append(names, o.Name)
	}
	if got, want := strings.Join(names, " "), "_ acc blas c f g n x xs"; got != want {
		t.Errorf("names %q, want %q", got, want)
	}
}

// TestSessionImportAfterError: a file that was wrong is read again.
func TestSessionImportAfterError(t *testing.T) {
	env := testEnv(t, ".")
	text := "let a = nothing"
	env.Load = func(path string, from *diag.Source) (*diag.Source, error) { return diag.NewSource(path, text), nil }
	s := NewSession(env)
	entry(t, s, "import \"m.spu\" as m", "E0201")
	text = "let a = 1"
	entry(t, s, "import \"m.spu\" as m", "")
	entry(t, s, "print(m.a)", "")
}
