package check

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
)

// TestSpecMessages reproduces each diagnostic that the specification shows: the
// script testdata/spec/CODE.spu must give the text of CODE.txt, to the letter.
func TestSpecMessages(t *testing.T) {
	files, err := filepath.Glob("testdata/spec/*.txt")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d messages found, err %v", len(files), err)
	}
	place := regexp.MustCompile(`--> ([^:]+):`)
	for _, file := range files {
		code := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(code, func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			script, err := os.ReadFile("testdata/spec/" + code + ".spu")
			if err != nil {
				t.Fatal(err)
			}
			name := place.FindStringSubmatch(string(want))[1]
			_, ds := Check(testEnv(t, "testdata"), diag.NewSource(name, string(script)))
			var all []string
			for i := range ds {
				got := render(t, ds[i:i+1])
				if got == string(want) {
					return
				}
				all = append(all, got)
			}
			t.Errorf("not reported as specified (-want +got):\n%s", cmp.Diff(string(want), strings.Join(all, "\n")))
		})
	}
}

// TestExamples checks that the worked examples of the specification are clean,
// and that every expression of them has a type afterwards.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("testdata/examples/*.spu")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d examples found, err %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			prog, ds := Check(testEnv(t, "testdata/examples"), diag.NewSource(filepath.Base(file), string(text)))
			if len(ds) > 0 {
				t.Fatalf("unexpected:\n%s", render(t, ds))
			}
			for _, u := range prog.Units {
				typed(t, u)
			}
		})
	}
}

// typed checks what the interpreter relies on.
func typed(t *testing.T, u *Unit) {
	t.Helper()
	visit := func(e syntax.Expr) {
		walkExpr(e, func(x syntax.Expr) bool {
			if x.Type() == nil {
				t.Errorf("%v: no type: %T", u.File.At(x), x)
			}
			switch x := x.(type) {
			case *syntax.Insert:
				if x.Callee == nil || len(x.Bound) != len(x.Callee.Sig.Params) {
					t.Errorf("%v: insert is not bound", u.File.At(x))
				}
			case *syntax.Call:
				if x.Callee != nil && x.Callee.Sig != nil && len(x.Bound) != len(x.Callee.Sig.Params) {
					t.Errorf("%v: call is not bound", u.File.At(x))
				}
			}
			return true
		})
	}
	walkStmts(u.File.Stmts, visit)
	for _, s := range u.File.Stmts {
		if f, ok := s.(*syntax.Func); ok {
			walkStmts(f.Body.Stmts, visit)
		}
	}
}
