package check

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/diag/diagtest"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

var expectation = regexp.MustCompile(`###(.*)$`)

// TestCases runs the scripts of testdata/cases. Scripts are separated by lines of three
// dashes. The expected reports of a line follow it after ###, as CODE: a part of the
// message, separated by |. Any other report is an error.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/cases/*.spu")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases, err %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		first := 1
		for _, script := range strings.Split(string(text), "\n---\n") {
			at := first
			first += strings.Count(script, "\n") + 2
			t.Run(fmt.Sprintf("%s:%d", filepath.Base(file), at), func(t *testing.T) {
				checkCase(t, script)
			})
		}
	}
}

func checkCase(t *testing.T, script string) {
	var want, source []string
	for i, line := range strings.Split(script, "\n") {
		if m := expectation.FindStringSubmatch(line); m != nil {
			for _, w := range strings.Split(m[1], " | ") {
				want = append(want, fmt.Sprintf("%d: %s", i+1, strings.TrimSpace(w)))
			}
			line = expectation.ReplaceAllString(line, "")
		}
		source = append(source, line)
	}
	prog, ds := Check(testEnv(t, "testdata/modules"), diag.NewSource("case.spu", strings.Join(source, "\n")))
	if (prog == nil) != (ds.Err() != nil) {
		t.Errorf("program %v with error %v", prog != nil, ds.Err())
	}
	used := make([]bool, len(ds))
	said := func(d diag.Diagnostic) string {
		parts := append([]string{d.Message, d.Label}, append(d.Notes, d.Help...)...)
		for _, l := range d.Labels {
			parts = append(parts, l.Text)
		}
		return strings.Join(parts, "\n")
	}
	for _, w := range want {
		line, rest, _ := strings.Cut(w, ": ")
		code, text, _ := strings.Cut(rest, ": ")
		found := false
		for i, d := range ds {
			if !used[i] && fmt.Sprint(d.Span.Start.Line) == line && d.Code == code && strings.Contains(said(d), text) {
				used[i], found = true, true
				break
			}
		}
		if !found {
			t.Errorf("not reported: line %s", w)
		}
	}
	for i, d := range ds {
		if !used[i] {
			t.Errorf("not expected:\n%s", diagtest.Render(t, diag.Diagnostics{d}))
		}
		if d.Message == "" || strings.HasSuffix(d.Message, ".") || strings.Contains(d.Message, "%!") {
			t.Errorf("message %q", d.Message)
		}
	}
	if !sort.SliceIsSorted(ds, func(i, j int) bool {
		return ds[i].Span.File == ds[j].Span.File && ds[i].Span.Start.Offset < ds[j].Span.Start.Offset
	}) {
		t.Error("diagnostics are not in the order of the text")
	}
}

// Host codelets and modules that tests offer to scripts, by signature.

var blasSigs = []string{
	"fill(x: W dense[T], value: T)", "copy(x: R dense[T], y: W dense[T])", "scal(alpha: T, x: RW dense[T])",
	"axpy(alpha: T, x: R dense[T], y: RW dense[T])", "dot(x: R vector[T], y: R vector[T], acc: RW variable[T])",
	"gemm(A: R matrix[T], B: R matrix[T], C: RW matrix[T], alpha: T = 1, beta: T = 1, ta: string = \"n\", tb: string = \"n\")",
	"syrk(A: R matrix[T], C: RW matrix[T], alpha: T = 1, beta: T = 1, uplo: string = \"l\", ta: string = \"n\")",
	"trsm(A: R matrix[T], B: RW matrix[T], alpha: T = 1, side: string = \"l\", uplo: string = \"l\", ta: string = \"n\", diag: string = \"n\")",
	"potrf(A: RW matrix[T], uplo: string = \"l\")",
}

// hostCodelet makes the object of a host codelet from its signature.
func hostCodelet(t testing.TB, text string) *types.Object {
	t.Helper()
	c, err := syntax.ParseSignature(text)
	if err != nil {
		t.Fatalf("signature %q: %v", text, err)
	}
	k := newChecker(newLoader(nil), &syntax.File{Source: diag.NewSource("host", text)}, &Unit{})
	sig := &types.Signature{Name: c.Name.Name, Result: types.TNone, Text: text, Elems: map[byte][]iface.Elem{}}
	for _, p := range c.Params {
		var pt *types.Type
		if p.Type.Name.Name == "dense" {
			pt = &types.Type{Kind: types.Dense, Param: p.Type.Elem.Name.Name[0]}
		} else {
			pt = k.resolve(p.Type, true)
		}
		sig.Params = append(sig.Params, types.Param{Name: p.Name.Name, Mode: p.Mode, Type: pt, HasDefault: p.Default != nil})
	}
	return &types.Object{Name: c.Name.Name, Kind: types.CodeletObject, Type: types.TNone, Sig: sig, Kinds: []string{"cpu"}}
}

func hostFunc(t testing.TB, text string) *types.Object {
	t.Helper()
	f, err := syntax.ParseFuncSignature(text)
	if err != nil {
		t.Fatalf("signature %q: %v", text, err)
	}
	k := newChecker(newLoader(nil), &syntax.File{Source: diag.NewSource("host", text)}, &Unit{})
	sig := &types.Signature{Name: f.Name.Name, Result: types.TNone, Text: text}
	if f.Result != nil {
		sig.Result = k.resolve(f.Result, true)
	}
	for _, p := range f.Params {
		sig.Params = append(sig.Params, types.Param{Name: p.Name.Name, Type: k.resolve(p.Type, true), HasDefault: p.Default != nil})
	}
	return &types.Object{Name: f.Name.Name, Kind: types.FuncObject, Type: types.TNone, Sig: sig}
}

// testEnv offers std/blas, the host codelets parse and clip, the function now,
// the filter stripes, and the files below dir.
func testEnv(t testing.TB, dir string) *Env {
	blas := &types.Module{Name: "std/blas", Members: map[string]*types.Object{}}
	for _, s := range blasSigs {
		o := hostCodelet(t, s)
		o.Sig.Elems['T'] = []iface.Elem{iface.F32, iface.F64}
		blas.Members[o.Name] = o
	}
	stripes := hostFunc(t, "stripes(A: matrix[T], p: int) -> matrix[T]")
	stripes.Kind = types.FilterObject
	return &Env{
		Codelets: []*types.Object{hostCodelet(t, "parse(raw: R vector[u8], rows: W vector[f64])"), hostCodelet(t, "clip(v: RW vector[f32], lo: f32, hi: f32)")},
		Funcs:    []*types.Object{hostFunc(t, "now() -> float")},
		Filters:  []*types.Object{stripes},
		Modules:  map[string]*types.Module{"std/blas": blas},
		Load: func(p string, from *diag.Source) (*diag.Source, error) {
			name := path.Join(path.Dir(from.Name), p)
			b, err := os.ReadFile(path.Join(dir, name))
			if err != nil {
				return nil, &notFound{name}
			}
			return diag.NewSource(name, string(b)), nil
		},
	}
}

type notFound struct{ name string }

func (e *notFound) Error() string        { return "no such file: " + e.name }
func (e *notFound) Is(target error) bool { return target == fs.ErrNotExist }
func (e *notFound) Near() []string       { return []string{strings.TrimSuffix(e.name, ".spu") + "s.spu"} }

// render is the text of diagnostics as a file shows it.

// TestSpecMessages reproduces each diagnostic that the specification shows: the
// script testdata/spec/CODE.spu must give the text of CODE.txt, to the letter.
// STARPUSH_UPDATE=1 writes the first report with that code there instead.
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
			first := ""
			for i := range ds {
				got := diagtest.Render(t, ds[i:i+1])
				if got == string(want) {
					return
				}
				if first == "" && ds[i].Code == code {
					first = got
				}
				all = append(all, got)
			}
			if os.Getenv("STARPUSH_UPDATE") != "" && first != "" {
				if err := os.WriteFile(file, []byte(first), 0o666); err != nil {
					t.Fatal(err)
				}
				return
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
				t.Fatalf("unexpected:\n%s", diagtest.Render(t, ds))
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
		syntax.WalkExpr(e, func(x syntax.Expr) bool {
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
	syntax.WalkExprs(u.File.Stmts, visit)
	for _, s := range u.File.Stmts {
		if f, ok := s.(*syntax.Func); ok {
			syntax.WalkExprs(f.Body.Stmts, visit)
		}
	}
}

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

// longScript is a script of about n statements, with the things that a walk
// over paths could be slow on: many names, branches, loops, calls, views.
func longScript(n int) string {
	var b strings.Builder
	b.WriteString("codelet f(x: R vector[f64], y: RW vector[f64]) { each i in y { y[i] += x[i] } }\n")
	b.WriteString("codelet w(x: W vector[f64]) { each i in x { x[i] = 1.0 } }\n")
	b.WriteString("param n: int = 4\nregister g = vector[f64](8, fill = 0)\nfunc touch(v: vector[f64]) { insert f(R g, RW v) }\n")
	for i := 0; i*10 < n; i++ {
		fmt.Fprintf(&b, "register x%d, y%d = vector[f64](8)\n", i, i)
		fmt.Fprintf(&b, "partition x%d, y%d by blocks(2)\n", i, i)
		fmt.Fprintf(&b, "for i in 0..n {\n    insert w(W x%d[i])\n    if i %% 2 == 0 { insert w(W y%d[i]) } else { insert w(W y%d[0]) }\n}\n", i, i, i)
		fmt.Fprintf(&b, "let t%d = insert f(R x%d, RW y%d) with priority = %d\n", i, i, i, i)
		fmt.Fprintf(&b, "if n > %d { wait t%d } else { touch(y%d) }\n", i, i, i)
		fmt.Fprintf(&b, "acquire R x%d as a%d {\n    print(a%d[0], x%d)\n}\n", i, i, i, i)
	}
	return b.String()
}

func BenchmarkCheck(b *testing.B) {
	text := longScript(100_000)
	src := diag.NewSource("long.spu", text)
	f, ds := syntax.Parse(src)
	if ds.Err() != nil {
		b.Fatal(ds)
	}
	n := 0
	for _, s := range f.Stmts {
		syntax.WalkStmt(s, func(syntax.Stmt) { n++ })
	}
	b.ResetTimer()
	for b.Loop() {
		if _, ds := Check(nil, src); len(ds) > 0 {
			b.Fatal(ds)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "stmts/s")
}

// TestMutations checks scripts with words taken out, doubled and exchanged:
// nothing panics, and the program is there exactly when there are no errors.
func TestMutations(t *testing.T) {
	var scripts []string
	for _, pattern := range []string{"testdata/examples/*.spu", "testdata/cases/*.spu"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			scripts = append(scripts, strings.Split(string(b), "\n---\n")...)
		}
	}
	env := testEnv(t, "testdata/modules")
	r := rand.New(rand.NewPCG(7, 7))
	for range 3000 {
		words := strings.SplitAfter(scripts[r.IntN(len(scripts))], " ")
		other := strings.SplitAfter(scripts[r.IntN(len(scripts))], " ")
		for range 1 + r.IntN(3) {
			i := r.IntN(len(words))
			switch r.IntN(4) {
			case 0:
				words = append(words[:i], words[i+1:]...)
			case 1:
				words[i] += words[i]
			case 2:
				j := r.IntN(len(words))
				words[i], words[j] = words[j], words[i]
			default:
				words[i] = other[r.IntN(len(other))]
			}
			if len(words) == 0 {
				words = []string{" "}
			}
		}
		text := strings.Join(words, "")
		func() {
			defer func() {
				if p := recover(); p != nil {
					t.Fatalf("panic %v on:\n%s", p, text)
				}
			}()
			prog, ds := Check(env, diag.NewSource("mutant.spu", text))
			if (prog == nil) != (ds.Err() != nil) {
				t.Fatalf("program %v, diagnostics %v", prog != nil, ds)
			}
			if prog != nil {
				typed(t, prog.Main)
			}
		}()
	}
}

// TestCodeletsForArithmetic: the codelet that is shown for arithmetic with data is right,
// and takes the operands.
func TestCodeletsForArithmetic(t *testing.T) {
	shown := regexp.MustCompile("`(codelet (\\w+)\\((.*), out: W (\\w+\\[\\w+\\])\\) \\{.*\\})`")
	for _, kind := range []struct{ name, sizes string }{{"vector", "4"}, {"matrix", "4, 4"}, {"block", "4, 4, 4"}} {
		for _, elem := range []string{"f64", "f32", "i32", "u8"} {
			for _, e := range []string{"x + y", "x - y", "x / y", "x * 2", "2 - x", "x / 2", "2 / x", "2.5 * x", "x + n", "n * x", "x / n", "r * x", "x - r"} {
				head := fmt.Sprintf("register x, y = %s[%s](%s, fill = 1)\nlet n = 2\nlet r = 2.5\nprint(x, y, n, r)\n", kind.name, elem, kind.sizes)
				_, ds := Check(testEnv(t, "testdata/modules"), diag.NewSource("case.spu", head+"print("+e+")\n"))
				if len(ds) != 1 || len(ds[0].Help) == 0 || !shown.MatchString(ds[0].Help[0]) {
					t.Errorf("%s %s: %s shows no codelet: %s", kind.name, elem, e, diagtest.Render(t, ds))
					continue
				}
				m := shown.FindStringSubmatch(ds[0].Help[0])
				operands := ""
				for _, w := range regexp.MustCompile(`(\w+): (R )?`).FindAllStringSubmatch(m[3], -1) {
					switch {
					case w[2] == "" && regexp.MustCompile(`\br\b`).MatchString(e):
						operands += "r, "
					case w[2] == "":
						operands += "n, "
					default:
						operands += "R x, "
					}
				}
				text := fmt.Sprintf("%s%s\nregister z = %s(%s)\ninsert %s(%sW z)\nprint(z)\n", head, m[1], m[4], kind.sizes, m[2], operands)
				if _, ds := Check(testEnv(t, "testdata/modules"), diag.NewSource("case.spu", text)); len(ds) > 0 {
					t.Errorf("%s %s: %s shows %s\n%s", kind.name, elem, e, m[1], diagtest.Render(t, ds))
				}
			}
		}
	}
}

func TestFormats(t *testing.T) {
	good := map[*types.Type][]string{
		types.TInt:    {"d", "6d", "-6d", "06d", "+d", "x", "X", "b", "o", "c", "v", "8.2f", "e", "g"},
		types.TFloat:  {"f", ".3f", "8.3f", "+.2e", "g", "G", "v", "x"},
		types.TBool:   {"t", "v", "6t"},
		types.TString: {"s", "10s", "-10s", ".3s", "q", "v", "x"},
		types.TTask:   {"v", "s"},
	}
	bad := map[*types.Type][]string{
		types.TInt:    {"", "s", "t", ".3", "dd", "d ", "%d", "999999999999d", "é"},
		types.TFloat:  {"d", "s", "3", "."},
		types.TBool:   {"d", "s"},
		types.TString: {"d", "f", ".3"},
		types.TTask:   {"d", "f"},
	}
	for typ, formats := range good {
		for _, f := range formats {
			if problem, _ := formatProblem(f, typ); problem != "" {
				t.Errorf("%q for %v: %s", f, typ, problem)
			}
		}
	}
	for typ, formats := range bad {
		for _, f := range formats {
			if problem, help := formatProblem(f, typ); problem == "" || help == "" {
				t.Errorf("%q for %v is accepted", f, typ)
			}
		}
	}
}

// TestReducerWords: only where a reducer is wanted does `add` stand for `sum`, which
// nothing calls.
func TestReducerWords(t *testing.T) {
	for src, sure := range map[string]bool{
		"register m = variable[f64](reduce = add)\nprint(m)\n":     true,
		"register m = variable[f64](reduce = \"+\")\nprint(m)\n":   true,
		"register m = variable[f64](reduce = average)\nprint(m)\n": false,
		"print(add(1, 2))\n":     false,
		"print(plus)\n":          false,
		"print(maximum(1, 2))\n": true,
	} {
		_, ds := Check(testEnv(t, "testdata/modules"), diag.NewSource("case.spu", src))
		if len(ds) != 1 || ds[0].IsSure() != sure {
			t.Errorf("%s: an edit without a doubt: %v, want %v\n%s", src, !sure, sure, diagtest.Render(t, ds))
		}
	}
}
