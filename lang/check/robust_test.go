package check

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/starpush/starpush/lang/diag"
)

// TestLongScripts runs shapes that could make a careless walk quadratic, or
// exhaust the stack; each must check without error.
func TestLongScripts(t *testing.T) {
	const n = 6_000
	count := n
	repeat := func(format string) string {
		var b strings.Builder
		for i := range count {
			b.WriteString(strings.ReplaceAll(format, "%d", fmt.Sprint(i)))
		}
		return b.String()
	}
	head := "codelet w(x: W vector[f64]) { }\ncodelet rw(x: RW vector[f64]) { }\nparam k: int = 1\nregister x = vector[f64](4, fill = 0)\nprint(k, x)\n"
	scripts := map[string]string{
		"statements":  longScript(n),
		"else if":     head + "if k == 0 { insert rw(RW x) }" + repeat(" else if k == %d { insert rw(RW x) }") + "\n",
		"ifs":         head + repeat("register v%d = vector[f64](4)\nif k > %d { insert w(W v%d) } else { insert w(W x) }\nprint(v%d)\nprint(x)\n"),
		"loops":       head + repeat("for i in 0..k { insert rw(RW x) }\n"),
		"one loop":    head + "for i in 0..k {\n" + repeat("insert rw(RW x)\n") + "}\n",
		"functions":   head + repeat("func f%d(n: int) { insert rw(RW x) }\n") + repeat("f%d(1)\n"),
		"call chain":  head + repeat("func f%d(n: int) { g%d(n) }\nfunc g%d(n: int) { if n > 0 { f%d(n - 1) } }\n") + "f0(3)\n",
		"list":        "let a = [0" + repeat(", %d") + "]\nprint(a)\n",
		"acquires":    head + repeat("acquire R x as a%d\nprint(a%d[0])\nrelease a%d\n"),
		"gates":       head + repeat("let g%d = gate()\ninsert rw(RW x) with after = [g%d]\nopen(g%d)\nwait\n"),
		"params":      "param p0: int = 1\n" + repeat("param q%d: int = p0 + %d\n") + repeat("print(q%d)\n"),
		"codelets":    repeat("codelet c%d(v: RW vector[T], s: T) { each i in v { v[i] *= s } }\n"),
		"redux":       "codelet c(m: RW variable[f64]) {\nlet a = m\n" + repeat("let z%d = a\na = z%d + 1\n") + "m = a\n}\nregister x = variable[f64](reduce = sum)\n" + repeat("insert c(REDUX x)\n") + "print(x)\n",
		"inner names": head + "if k > 0 {\n" + repeat("let a%d = %d\nprint(a%d)\n") + "}\n",
	}
	count = 4900 // the parser takes 5000 operators in a row
	scripts["sum"] = "let a = 0" + repeat(" + %d") + "\nprint(a)\n"
	scripts["and"] = "let a = true" + repeat(" and true") + "\nprint(a)\n"
	for name, text := range scripts {
		t.Run(name, func(t *testing.T) {
			prog, ds := Check(testEnv(t, "testdata"), diag.NewSource("long.spu", text))
			if len(ds) > 0 {
				t.Fatalf("%d diagnostics, first: %.300s", len(ds), ds[0].Error())
			}
			if prog == nil {
				t.Fatal("no program")
			}
		})
	}
}

// TestManyErrors: errors accumulate, in time that does not explode.
func TestManyErrors(t *testing.T) {
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "let a%d = nowhere%d + 1\nregister r%d = vector[f64](4)\nprint(value(r%d))\n", i, i, i, i)
	}
	_, ds := Check(nil, diag.NewSource("bad.spu", b.String()))
	if len(ds) < 10_000 {
		t.Errorf("%d diagnostics", len(ds))
	}
}

// FuzzCheck checks arbitrary text: it never panics, and the program is there
// exactly when there are no errors.
func FuzzCheck(f *testing.F) {
	for _, pattern := range []string{"testdata/examples/*.spu", "testdata/cases/*.spu", "testdata/spec/*.spu", "testdata/modules/*.spu"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatalf("no seeds in %s, err %v", pattern, err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			for _, part := range strings.Split(string(b), "\n---\n") {
				f.Add(part)
			}
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		env := testEnv(t, "testdata/modules")
		prog, ds := Check(env, diag.NewSource("fuzz.spu", text))
		if (prog == nil) != (ds.Err() != nil) {
			t.Fatalf("program %v, diagnostics %v", prog != nil, ds)
		}
		for _, d := range ds {
			if d.Code == "" || d.Message == "" || d.Span.IsZero() {
				t.Fatalf("incomplete diagnostic %+v", d)
			}
		}
		if prog != nil {
			for _, u := range prog.Units {
				typed(t, u)
			}
		}
		s := NewSession(env)
		for _, line := range strings.SplitAfterN(text, "\n", 4) {
			if u, ds := s.Entry(diag.NewSource("<prompt>", line)); (u == nil) != (ds.Err() != nil) {
				t.Fatalf("unit %v, diagnostics %v", u != nil, ds)
			}
		}
	})
}
