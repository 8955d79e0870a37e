package syntax_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/diag/diagtest"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/syntax/printer"
	"github.com/starpush/starpush/lang/syntax/token"
)

// specFiles are the worked examples of the language's specification.
func specFiles(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/spec/*.spu")
	if err != nil || len(files) < 14 {
		t.Fatalf("found %d example scripts (%v), want at least 14", len(files), err)
	}
	return files
}

func source(t testing.TB, file string) *diag.Source {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return diag.NewSource(filepath.Base(file), string(text))
}

// rendered is ds as a person sees it.

func TestParseExamples(t *testing.T) {
	for _, file := range specFiles(t) {
		f, ds := syntax.Parse(source(t, file))
		if len(ds) > 0 {
			t.Errorf("%s:\n%s", file, diagtest.Render(t, ds))
		}
		if len(f.Stmts) == 0 || f.Doc == "" {
			t.Errorf("%s: %d statements, doc %q", file, len(f.Stmts), f.Doc)
		}
	}
}

// checkRanges holds the range of every node against the source and against the
// node it is in.
func checkRanges(t testing.TB, f *syntax.File, size int) {
	t.Helper()
	var walk func(v reflect.Value, in syntax.Span)
	spanType := reflect.TypeOf(syntax.Span{})
	walk = func(v reflect.Value, in syntax.Span) {
		switch v.Kind() {
		case reflect.Pointer, reflect.Interface:
			if v.IsNil() {
				return
			}
			if n, ok := v.Interface().(syntax.Node); ok && v.Kind() == reflect.Pointer {
				s := n.Range()
				if s.Lo < in.Lo || s.Hi > in.Hi || s.Lo > s.Hi || s.Lo == s.Hi && s.Hi != 0 {
					t.Fatalf("%T has range %v inside %v", v.Interface(), s, in)
				}
				in = s
			}
			walk(v.Elem(), in)
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i), in)
			}
		case reflect.Struct:
			for i := range v.NumField() {
				field := v.Type().Field(i)
				if !field.IsExported() || field.Name == "Obj" || field.Name == "Callee" || field.Name == "Source" {
					continue
				}
				if field.Type == spanType {
					s := v.Field(i).Interface().(syntax.Span)
					if s != (syntax.Span{}) && (s.Lo < in.Lo || s.Hi > in.Hi || s.Lo > s.Hi) {
						t.Fatalf("%v.%s has range %v inside %v", v.Type(), field.Name, s, in)
					}
					continue
				}
				walk(v.Field(i), in)
			}
		}
	}
	all := syntax.Span{Lo: 0, Hi: int32(size)}
	last := int32(0)
	for _, s := range f.Stmts {
		if s.Range().Lo < last {
			t.Fatalf("statement at %v overlaps the one before", s.Range())
		}
		last = s.Range().Hi
		walk(reflect.ValueOf(s), all)
	}
	for _, c := range f.Comments {
		if f.Source.Text[c.Lo:c.Hi] != c.Text {
			t.Fatalf("comment %q at %v", c.Text, c.Span)
		}
	}
}

func TestIncomplete(t *testing.T) {
	for text, want := range map[string]bool{
		"":                                  false,
		"# comment":                         false,
		"let a = 1":                         false,
		"let a = 1 # comment":               false,
		"for b in 0..16 {":                  true,
		"for b in 0..16 {\n  insert f(R x)": true,
		"for b in 0..16 {\n  f()\n}":        false,
		"f(a,":                              true,
		"f(a":                               true,
		"let a = [1, 2":                     true,
		"let a =":                           true,
		"let a = # comment":                 true,
		"let a = 1 +":                       true,
		"let a = b and":                     true,
		"register x, ":                      true,
		"func f() ->":                       true,
		"partition x":                       true,
		"partition x by":                    true,
		"partition x by blocks(3) then":     true,
		"let a = if b":                      true,
		"let a = if b then c":               true,
		"hint x":                            true,
		"if a { f() }":                      false,
		"if a { f() } else":                 false,
		"insert f(R x)":                     false,
		"insert f(R x) with":                false,
		"let a":                             false,
		"let = (":                           true,
		"for i in 0..3 {\n  f(i)\nf(2)":     true,
		"for i in 0..3 {\n  f(i)\n)":        false,
		"partition A into tiles(4, 4)":      false,
		"f(a]":                              false,
		"}":                                 false,
		"f(\"a":                             false,
		"let a = \"abc":                     false,
		"let a = 3 $ (":                     false,
		"prefetch x":                        false,
		"wait":                              false,
		"a;":                                false,
		"f() ; g(":                          true,
		"codelet k(x: RW vector[T]) {\n x[0] = sum i in x {": true,
	} {
		if got := syntax.Incomplete(text); got != want {
			t.Errorf("Incomplete(%q) = %v", text, got)
		}
		if got := syntax.Incomplete(text + "\n"); got != want {
			t.Errorf("Incomplete(%q) = %v", text+"\n", got)
		}
	}
}

func TestParseEntry(t *testing.T) {
	for _, text := range []string{"1 + 2", "x", "x.y", "[1, 2]", "if a then b else c", "f()", "let a = 1", "-1", "\"s\"", "import \"a\"", "not a"} {
		f, ds := syntax.ParseEntry(diag.NewSource("<prompt>", text))
		if len(ds) > 0 || len(f.Stmts) != 1 {
			t.Errorf("%s: %d statements\n%s", text, len(f.Stmts), diagtest.Render(t, ds))
		}
	}
}

func TestSignatures(t *testing.T) {
	c, err := syntax.ParseSignature("clip(v: RW vector[f32], tmp: SCRATCH vector[f32], lo: f32, hi: float = 1.0)")
	if err != nil {
		t.Fatal(err)
	}
	if c.Name.Name != "clip" || c.Body != nil || len(c.Params) != 4 || c.Params[0].Mode != iface.RW || c.Params[1].Mode != iface.Scratch ||
		c.Params[2].Mode != iface.NoMode || c.Params[0].Type.Name.Name != "vector" || c.Params[0].Type.Elem.Name.Name != "f32" || c.Params[3].Default == nil {
		t.Errorf("got %+v", c)
	}
	if c, err := syntax.ParseSignature("f() with where = [cpu], color = 3"); err != nil || len(c.With.Options) != 2 {
		t.Errorf("options: %v", err)
	}
	f, err := syntax.ParseFuncSignature("stripes(A: matrix[T], p: int = 3) -> list[matrix[T]]")
	if err != nil {
		t.Fatal(err)
	}
	if f.Name.Name != "stripes" || len(f.Params) != 2 || f.Params[1].Default == nil || f.Result.Name.Name != "list" || f.Result.Elem.Elem.Name.Name != "T" {
		t.Errorf("got %+v", f)
	}
	if f, err := syntax.ParseFuncSignature("now() -> float"); err != nil || f.Result.Name.Name != "float" {
		t.Errorf("now: %v", err)
	}
	if f, err := syntax.ParseFuncSignature("log(x: string)"); err != nil || f.Result != nil {
		t.Errorf("log: %v", err)
	}
	for text, want := range map[string]string{
		"":                            "unexpected end of file, expected a name",
		"clip":                        "unexpected end of file, expected `(`",
		"clip(v: )":                   "unexpected `)`, expected a type",
		"clip(v: RW vector[f32]) x":   "unexpected `x`, expected the end of the signature",
		"clip(v: RW vector[f32]) { }": "unexpected `{`, expected the end of the signature",
		"clip(v":                      "this `(` is never closed",
		"clip()\nclip()":              "unexpected `clip`, expected the end of the signature",
	} {
		if _, err := syntax.ParseSignature(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
		if _, err := syntax.ParseFuncSignature(text); err == nil {
			t.Errorf("%q is a function", text)
		}
	}
}

// TestSignatureHabits: foreign notations in a signature get the starpush notation as
// help, as in a script.
func TestSignatureHabits(t *testing.T) {
	for text, want := range map[string]string{
		"clip(RW v vector[f32], lo f32, hi f32)":  "v: RW vector[f32]",
		"clip(RW v: vector[f32])":                 "v: RW vector[f32]",
		"clip(RW vector[f32] v)":                  "v: RW vector[f32]",
		"clip(v RW vector[f32])":                  "v: RW vector[f32]",
		"clip(v: vector[f32] RW)":                 "RW vector[f32]",
		"clip(v: RW vector[f32], lo f32, hi f32)": "lo: f32",
		"clip(v: RW vector[f32], lo, hi f32)":     "lo: f32, hi: f32",
	} {
		var ds diag.Diagnostics
		if _, err := syntax.ParseSignature(text); !errors.As(err, &ds) || len(ds) == 0 || len(ds[0].Help) == 0 || !strings.Contains(ds[0].Help[0], "`"+want+"`") {
			t.Errorf("%q: %+v, want %s", text, ds, want)
		}
		ds = nil
		if _, ds = syntax.Parse(diag.NewSource("a.spu", "extern codelet "+text+"\n")); len(ds) == 0 || len(ds[0].Help) == 0 || !strings.Contains(ds[0].Help[0], "`"+want+"`") {
			t.Errorf("extern codelet %s: %+v, want %s", text, ds, want)
		}
	}
	var ds diag.Diagnostics
	if _, err := syntax.ParseFuncSignature("stripes(matrix[T] A, int p)"); !errors.As(err, &ds) || !strings.Contains(ds[0].Help[0], "`A: matrix[T]`") {
		t.Errorf("%+v", ds)
	}
}

func TestKeywords(t *testing.T) {
	words := token.Keywords()
	if !sort.StringsAreSorted(words) || len(words) != 41 {
		t.Errorf("%d words: %v", len(words), words)
	}
	for _, w := range words {
		if _, ds := syntax.Parse(diag.NewSource("x.spu", "let "+w+" = 1")); len(ds) != 1 || ds[0].Code != "E0101" {
			t.Errorf("%s is a name: %v", w, ds)
		}
	}
	words[0] = "changed"
	if token.Keywords()[0] == "changed" {
		t.Error("the list is shared")
	}
}

// TestEqual: trees that differ in anything but their places are not equal.
func TestEqual(t *testing.T) {
	texts := []string{
		"let a = 1", "let a = 2", "let b = 1", "let a: int = 1", "let a = 1.0", "let a = \"1\"", "let a = -1", "let a = (1)", "let a = [1]", "let a = f\"1\"",
		"a = 1", "a += 1", "f(a)", "f(a = a)", "g(a(a))", "g(a[a])", "g(a.a)", "f(a); f(a)", "if a { f() }", "if a { f() } else { }", "while a { f() }",
		"insert f(R a)", "insert f(W a)", "insert f(a)", "insert f(R a @ b)", "insert f(R a) with x = 1", "insert g.f(R a)",
		"let a = b + c", "let a = b - c", "let a = 0..1", "let a = 0..=1", "for i in a { }", "for i, j in a { }",
		"codelet f(x: R vector[T]) { }", "codelet f(x: W vector[T]) { }", "codelet f(x: W vector[U]) { }", "extern codelet f(x: R vector[T])",
		"## doc\nfunc f() { }", "## other\nfunc f() { }", "func f() -> int { }", "acquire R x as a", "acquire R x as a { }", "wait", "wait x",
		"release a", "release a to R", "partition x by f(1)", "partition y = x by f(1)", "partition x by f(1) then f(1)",
	}
	for i, a := range texts {
		for j, b := range texts {
			if got := syntax.Equal(parse(t, a), parse(t, "\n\n"+strings.ReplaceAll(b, " ", "  "))); got != (i == j) {
				t.Errorf("%q and %q: %v", a, b, got)
			}
		}
	}
}

// longScript is a script of n statements of the kinds that long scripts have.
func longScript(n int) string {
	var b strings.Builder
	for i := 0; i < n; i += 5 {
		fmt.Fprintf(&b, "let a%d = %d + 2 * (3 - %d)\n", i, i, i)
		fmt.Fprintf(&b, "insert scal(RW x[%d], 2.5)\n", i)
		fmt.Fprintf(&b, "insert blas.gemm(R At[i, k], R Bt[k, j], RW Ct[i, j]) with priority = nt - %d\n", i)
		fmt.Fprintf(&b, "for i in 0..%d { insert f(W y[i]) }\n", i)
	}
	return b.String()
}

// BenchmarkParse prints the statements parsed per second.
func BenchmarkParse(b *testing.B) {
	const n = 10000
	src := diag.NewSource("long.spu", longScript(n))
	b.ReportAllocs()
	for b.Loop() {
		if _, ds := syntax.Parse(src); len(ds) > 0 {
			b.Fatal(ds)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "stmts/s")
}

// TestLongLines: what is wrong with a line of many thousand words is found without
// looking at all of it again for every word; else these take minutes.
func TestLongLines(t *testing.T) {
	for _, word := range []string{"f() ", "wait ", "let x = 1 ", "if a { } ", "codelet f(x: R vector[f64]) { } ", "} ", ") ", "f(a] ", "x++ ", "else ", "a ? b : ", "1.2.3 "} {
		if _, ds := syntax.Parse(diag.NewSource("long.spu", strings.Repeat(word, 100_000))); ds.Err() == nil {
			t.Errorf("%q a hundred thousand times is no script", word)
		}
	}
}

// TestByGrammar: what is read by hand is read as the grammar says, and what is wrong
// gets the same messages.
func TestByGrammar(t *testing.T) {
	var texts []string
	for n, file := range specFiles(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
		rnd := rand.New(rand.NewPCG(uint64(n), 13))
		for range 10 {
			p := pieces.FindAllString(string(text), -1)
			for range 3 {
				p[rnd.IntN(len(p))] = junk[rnd.IntN(len(junk))]
			}
			texts = append(texts, strings.Join(p, ""))
		}
	}
	diagtest.Scripts(t, "testdata/*/*.txtar", func(_, text string) { texts = append(texts, text) })
	texts = append(texts, "let a = 1"+strings.Repeat(" + 1", 60_000)+"\nlet b = 2\n", "f("+strings.Repeat("-", 300)+"1)", "x = 1"+strings.Repeat(", 1", 3000))
	for _, text := range texts {
		src := diag.NewSource("a.spu", text)
		f, ds := syntax.Parse(src)
		tree, wantDs := syntax.ParseByGrammar(src)
		if got, want := diagtest.Render(t, ds), diagtest.Render(t, wantDs); got != want {
			t.Errorf("by hand:\n%s\nby the grammar:\n%s", got, want)
		} else if !reflect.DeepEqual(f, tree) {
			t.Errorf("another tree for\n%s", text)
		}
	}
}

func coveredBy(t *testing.T, text string) string {
	t.Helper()
	f, ds := syntax.Parse(diag.NewSource("x.spu", text))
	if ds.Err() != nil {
		t.Fatal(ds)
	}
	var b strings.Builder
	for _, a := range syntax.Allowances(f) {
		covered := text[a.Covers.Lo:a.Covers.Hi]
		if i := strings.IndexByte(covered, '#'); i >= 0 { // without the comment itself
			covered = covered[:i]
		}
		b.WriteString(a.Code + ": " + strings.Join(strings.Fields(covered), " ") + "\n")
	}
	return b.String()
}

// A comment covers the same statement before and after its lines are broken anew.
func TestAllowancesSurviveFormat(t *testing.T) {
	long := strings.Repeat("a_name + ", 14) + "a_name"
	for _, tt := range []struct{ text, want string }{
		{"let a = " + long + " # allow W0201\n", "W0201: let a = " + long + "\n"},
		{"# allow W0201: because\nlet a = " + long + "\n", "W0201: let a = " + long + "\n"},
		{"for i in 0..3 { let a = 1; print(a); print(" + long + ") } # allow W0201, w0401\n", "*"},
		{"for i in 0..3 {let a = 1\n} # allow W0201\n", "*"},
		{"f(1,\n 2) # allow W0201\n", "W0201: f(1, 2)\n"},
		{"func f() { # allow W0201\n let a=1\n}\n", "*"},
	} {
		out, err := printer.Format(diag.NewSource("x.spu", tt.text))
		if err != nil {
			t.Fatal(err)
		}
		before, after := coveredBy(t, tt.text), coveredBy(t, string(out))
		if tt.want != "*" && before != tt.want {
			t.Errorf("%q covers %q, want %q", tt.text, before, tt.want)
		}
		layout := strings.NewReplacer(" ", "", ";", "", ",", "")
		if before == "" || layout.Replace(before) != layout.Replace(after) {
			t.Errorf("%q covers %q, and as\n%s%q", tt.text, before, out, after)
		}
	}
}

// A comment that allows something does not part a declaration from its documentation.
func TestAllowanceInDocumentation(t *testing.T) {
	f, _ := syntax.Parse(diag.NewSource("x.spu", "let a = 1\n## What it does,\n# allow W0608\n## and how.\nfunc f() { }\n"))
	if got := f.Stmts[1].(*syntax.Func).Doc; got != "What it does,\nand how." {
		t.Errorf("the documentation is %q", got)
	}
}

// Many comments, and many statements on one line, take time in proportion to their number.
func TestAllowancesOfLongTexts(t *testing.T) {
	const n = 20_000
	for name, text := range map[string]string{
		"comments above one line": strings.Repeat("# allow W0201\n", n) + "let a = 1\n",
		"one long line":           strings.Repeat("f(); ", n) + "f() # allow " + strings.Repeat("W0201, ", n) + "W0201\n",
		"lines":                   strings.Repeat("let a = 1 # allow W0201\n", n),
	} {
		f, _ := syntax.Parse(diag.NewSource("x.spu", text))
		began := time.Now()
		if got := len(syntax.Allowances(f)); got < n {
			t.Errorf("%s: %d codes", name, got)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s took %v", name, took)
		}
	}
}
