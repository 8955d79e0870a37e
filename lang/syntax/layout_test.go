package syntax_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/diag/diagtest"
	"github.com/starpush/starpush/lang/syntax"
)

func parse(t *testing.T, text string) *syntax.File {
	t.Helper()
	f, ds := syntax.Parse(diag.NewSource("x.spu", text))
	if len(ds) > 0 {
		t.Fatalf("%s\nin\n%s", diagtest.Render(t, ds), text)
	}
	return f
}

// TestNewlines: where a newline ends a statement, and where it is white space.
func TestNewlines(t *testing.T) {
	for _, c := range []struct {
		text string
		same string // the same program with the newlines that count
	}{
		{"f(a,\n\n b)", "f(a, b)"},
		{"f(\na\n)", "f(a)"},
		{"let a = [1\n, 2\n]", "let a = [1, 2]"},
		{"x[\n0\n] = 1", "x[0] = 1"},
		{"register a,\nb = f()", "register a, b = f()"},
		{"func f() ->\nint {\nreturn 1 }", "func f() -> int { return 1 }"},
		{"if a { \n\n f() }", "if a { f() }"},
		{"let a = b and\nc", "let a = b and c"},
		{"let a = b or\n\n# comment\nc", "let a = b or c"},
		{"let a = not\nb", "let a = not b"},
		{"for i in\n0..3 { f() }", "for i in 0..3 { f() }"},
		{"partition x by\nf(1) then\ng(2)", "partition x by f(1) then g(2)"},
		{"let a = if b then\nc else d", "let a = if b then c else d"},
		{"let a =\n1", "let a = 1"},
		{"a +=\n1", "a += 1"},
		{"let a = 1 +\n2 *\n3 //\n4 ..\n5", "let a = 1 + 2 * 3 // 4 .. 5"},
		{"let a = 1 ==\n2", "let a = 1 == 2"},
		{"insert f(R x)\nwith priority = 1", "insert f(R x) with priority = 1"},
		{"let a = if b\nthen c\nelse d", "let a = if b then c else d"},
		{"if a { f() }\nelse { g() }", "if a { f() } else { g() }"},
		{"if a { f() }\n\n# comment\n\nelse { g() }", "if a { f() } else { g() }"},
		{"partition x\n by f(1)\n then g(2)", "partition x by f(1) then g(2)"},
		{"partition x\n by f(1)\n # comment\n over grid(2)", "partition x by f(1) over grid(2)"},
		{"partition v = x by f(1) over grid(\n2,\n3)\nover = 2", "partition v = x by f(1) over grid(2, 3); over = 2"},
		{"f(over)\nover(grid)\nover.grid = 1\nover[grid] = over - grid", "f(over); over(grid); over.grid = 1; over[grid] = over - grid"},
		{"partition x by f(1)\nover (2)", "partition x by f(1); over(2)"},
		{"partition x by f(1) over\ngrid(2)", ""},
		{"f()\nover grid(2)", ""},
		{"partition x by f(1) over grid", ""},
		{"partition x by f(1) over grid(2) then g(2)", ""},
		{"partition x by f(1) over grid(2) over grid(2)", ""},
		{"partition x over grid(2) by f(1)", ""},
		{"let a = b\n and c\n or d", "let a = b and c or d"},
		{"let a = b\n  .c\n  .d", "let a = b.c.d"},
		{"f(); g();", "f()\ng()"},
		{"f() # comment ; with\ng()", "f()\ng()"},
		{"if a { f(); g() }", "if a {\nf()\ng()\n}"},
		{"a = 1\n-b()\n", ""},
		{"let a = b\n+ c\n", ""},
		{"f\n(a)\n", ""},
		{"let a = if b then c;\nelse d\n", ""},
		{"insert f(R x);\nwith priority = 1\n", ""},
		{"codelet k(x: RW vector[T]) { x[0] = (sum i in x {\n x[i]\n}) }", "codelet k(x: RW vector[T]) { x[0] = (sum i in x { x[i] }) }"},
		{"codelet k(x: RW vector[T]) { x[0] = (sum i in x { x[i]\n+ 1 }) }", ""},
		{"f(a)\r\ng(b)\r\n", "f(a)\ng(b)\n"},
		{"\ufefff(a)", "f(a)"},
		{"wait\nwait x", "wait; wait x"},
		{"return1()\n", "return1()"},
	} {
		got, ds := syntax.Parse(diag.NewSource("x.spu", c.text))
		if c.same == "" {
			if len(ds) == 0 {
				t.Errorf("%q has no errors", c.text)
			}
			continue
		}
		if len(ds) > 0 {
			t.Errorf("%q:\n%s", c.text, diagtest.Render(t, ds))
			continue
		}
		if !syntax.Equal(got, parse(t, c.same)) {
			t.Errorf("%q is not %q", c.text, c.same)
		}
	}
}

// TestPrecedence: operators bind as the specification says.
func TestPrecedence(t *testing.T) {
	for text, same := range map[string]string{
		"a or b and c":                        "a or (b and c)",
		"not a and b":                         "(not a) and b",
		"not a == b":                          "not (a == b)",
		"a and not b or c":                    "(a and (not b)) or c",
		"a + b == c * d":                      "(a + b) == (c * d)",
		"a..b + 1":                            "a..(b + 1)",
		"0..n == r":                           "(0..n) == r",
		"a - b - c":                           "(a - b) - c",
		"a / b * c // d % e":                  "(((a / b) * c) // d) % e",
		"-a ** b":                             "-(a ** b)",
		"a ** -b ** c":                        "a ** (-(b ** c))",
		"-a * b":                              "(-a) * b",
		"--a":                                 "-(-a)",
		"-a.b[0](c)":                          "-(((a.b)[0])(c))",
		"a * -b":                              "a * (-b)",
		"if a then b else if c then d else e": "if a then b else (if c then d else e)",
		"if a then b else c + d":              "if a then b else (c + d)",
		"if a or b then c else d or e":        "if (a or b) then c else (d or e)",
		"a < b and c >= d or not e":           "((a < b) and (c >= d)) or (not e)",
		"max(a, b).c":                         "(max(a, b)).c",
		"sum + prod * min":                    "sum + (prod * min)",
		"1 - 9223372036854775807":             "1 - (9223372036854775807)",
	} {
		if got, want := shape(t, text), shape(t, same); got != want {
			t.Errorf("%s is %s, not %s", text, got, want)
		}
	}
}

// shape is an expression with a parenthesis around each operation, and none else.
func shape(t *testing.T, text string) string {
	t.Helper()
	f := parse(t, "let z = "+text)
	var show func(x syntax.Expr) string
	show = func(x syntax.Expr) string {
		switch x := x.(type) {
		case *syntax.Paren:
			return show(x.X)
		case *syntax.Unary:
			return "(" + x.Op + " " + show(x.X) + ")"
		case *syntax.Binary:
			return "(" + show(x.X) + " " + x.Op + " " + show(x.Y) + ")"
		case *syntax.RangeExpr:
			return "(" + show(x.Lo) + ".." + show(x.Hi) + ")"
		case *syntax.Cond:
			return "(if " + show(x.If) + " then " + show(x.Then) + " else " + show(x.Else) + ")"
		case *syntax.Call:
			s := "(" + show(x.Fn) + " call"
			for _, a := range x.Args {
				s += " " + show(a.Value)
			}
			return s + ")"
		case *syntax.Index:
			return "(" + show(x.X) + " at " + show(x.Args[0]) + ")"
		case *syntax.Selector:
			return "(" + show(x.X) + "." + x.Name.Name + ")"
		case *syntax.Ident:
			return x.Name
		case *syntax.IntLit:
			return fmt.Sprint(x.Value)
		}
		t.Fatalf("unexpected %T", x)
		return ""
	}
	return show(f.Stmts[0].(*syntax.Let).Value)
}

// TestContextual: words that mean something in places only are names elsewhere.
func TestContextual(t *testing.T) {
	parse(t, `
let R = 1
let sum = R + 1
let min = sum
func max(W: int, RW: int) -> int { return W + RW }
let vector = max(R, sum)
let blocks = [R, sum]
let priority = blocks[R]
let over = priority
register SCRATCH = vector[f32](3)
insert f(R, sum, R R, R x, W = R SCRATCH, name = RW)
insert REDUX.COMMUTE(REDUX REDUX)
acquire R R as W { print(W) }
partition prod by blocks(R) then max(1, 2) over grid(over, R)
for sum, prod in grid(R, R) { f(sum) }
codelet cpu(R: R vector[f32], W: RW, x: T) { each i in R { R[i] = sum j in R { min(R[j], max) } } }
`)
}

func TestLiterals(t *testing.T) {
	f := parse(t, `
let v = [42, 1_000_000, 0xff, 0XFF, 16Ki, 4Mi, 2Gi, 9223372036854775807, -9223372036854775808, 1_0Ki, 0]
let w = [1.0, 1e-6, 1.5E+3, 1_0.2_5, 0.0, 1e3]
let s = ["a\n", "\"q\"", "\x41\u00e9\U0001f600\101", "\xff", "{}", "# no comment"]
`)
	var ints []int64
	for _, x := range f.Stmts[0].(*syntax.Let).Value.(*syntax.ListLit).Items {
		ints = append(ints, x.(*syntax.IntLit).Value)
	}
	if diff := cmp.Diff([]int64{42, 1000000, 255, 255, 16384, 4 << 20, 2 << 30, 1<<63 - 1, -1 << 63, 10240, 0}, ints); diff != "" {
		t.Error(diff)
	}
	var floats []float64
	for _, x := range f.Stmts[1].(*syntax.Let).Value.(*syntax.ListLit).Items {
		floats = append(floats, x.(*syntax.FloatLit).Value)
	}
	if diff := cmp.Diff([]float64{1, 1e-6, 1500, 10.25, 0, 1000}, floats); diff != "" {
		t.Error(diff)
	}
	var texts []string
	for _, x := range f.Stmts[2].(*syntax.Let).Value.(*syntax.ListLit).Items {
		texts = append(texts, x.(*syntax.StringLit).Value)
	}
	if diff := cmp.Diff([]string{"a\n", `"q"`, "Aé😀A", "\xff", "{}", "# no comment"}, texts); diff != "" {
		t.Error(diff)
	}
}

func TestFStrings(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`f""`, ""},
		{`f"a"`, "a"},
		{`f"n = {n}, x = {x:.3f}"`, "n = |n|, x = |x:.3f"},
		{`f"{{{n}}}"`, "{|n|}"},
		{`f"{{}} {a}{b}"`, "{} |a|b"},
		{`f"{x[0, 1]:5d} {f(a, [1, 2])} {(a)}"`, "|x[0, 1]:5d| |f(a, [1, 2])| |(a)"},
		{`f"\n\t\x41{ a + b }\\"`, "\n\tA|a + b|\\"},
		{`f"é{ü}"`, "é|ü"},
		{`f"{f(a = 1)}"`, "|f(a = 1)"},
		{`f"{if a then b else c:>}"`, "|if a then b else c:>"},
	} {
		src := "let z = " + c.text
		f := parse(t, src)
		var got []string
		for _, p := range f.Stmts[0].(*syntax.Let).Value.(*syntax.FString).Parts {
			s := p.Text
			if p.X != nil {
				r := p.X.Range()
				s = "|" + src[r.Lo:r.Hi]
				if p.Format != "" {
					s += ":" + p.Format
				}
				s += "|"
			}
			got = append(got, s)
		}
		all := strings.ReplaceAll(strings.Trim(strings.Join(got, ""), "|"), "||", "|")
		if all != strings.Trim(c.want, "|") {
			t.Errorf("%s: got %q, want %q", c.text, all, c.want)
		}
	}
}

func TestDocs(t *testing.T) {
	f := parse(t, `#!/usr/bin/env starpush
# a licence
## The file.
## Second line.

## Not of n: a blank line.

param n: int = 1
## Of m.
##   indented
param m: int = 2 ## not a doc of k
param k: int = 3
# ordinary
param j: int = 4
## Of c.
codelet c(x: R vector[f32]) { }
## Of e.
extern codelet e(x: R vector[f32])
## Of d.
extern d: vector[f32]
## Of f.
func f() { }
## Of x.
register x = d()
if true {
    ## Of y.
    register y = d()
}
`)
	if want := "The file.\nSecond line."; f.Doc != want {
		t.Errorf("file: %q", f.Doc)
	}
	var docs []string
	for _, s := range f.Stmts {
		switch s := s.(type) {
		case *syntax.Param:
			docs = append(docs, s.Name.Name+": "+s.Doc)
		case *syntax.Codelet:
			docs = append(docs, s.Name.Name+": "+s.Doc)
		case *syntax.ExternData:
			docs = append(docs, s.Name.Name+": "+s.Doc)
		case *syntax.Func:
			docs = append(docs, s.Name.Name+": "+s.Doc)
		case *syntax.Register:
			docs = append(docs, s.Names[0].Name+": "+s.Doc)
		case *syntax.If:
			y := s.Then.Stmts[0].(*syntax.Register)
			docs = append(docs, y.Names[0].Name+": "+y.Doc)
		}
	}
	want := []string{"n: ", "m: Of m.\n  indented", "k: ", "j: ", "c: Of c.", "e: Of e.", "d: Of d.", "f: Of f.", "x: Of x.", "y: Of y."}
	if diff := cmp.Diff(want, docs); diff != "" {
		t.Error(diff)
	}
	if f := parse(t, "## Of f, and of the file.\nfunc f() { }"); f.Doc != "Of f, and of the file." || f.Stmts[0].(*syntax.Func).Doc != f.Doc {
		t.Errorf("file %q", f.Doc)
	}
}

// TestLimits: what nests or repeats without end is a diagnostic, in a time and a
// stack that are bounded.
func TestLimits(t *testing.T) {
	deep := func(open, inner, close string, n int) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(close, n)
	}
	for name, c := range map[string]struct {
		text string
		code string
	}{
		"parens":           {"let a = " + deep("(", "1", ")", 150), ""},
		"too many parens":  {"let a = " + deep("(", "1", ")", 100000), "E0107"},
		"open parens":      {"let a = " + strings.Repeat("(", 100000), "E0107"},
		"lists":            {"let a = " + deep("[", "1", "]", 100000), "E0107"},
		"calls":            {"let a = " + deep("f(", "1", ")", 100000), "E0107"},
		"blocks":           {deep("if a {\n", "f()", "\n}", 150), ""},
		"too many blocks":  {deep("if a {\n", "f()", "\n}", 100000), "E0107"},
		"open blocks":      {strings.Repeat("if a {", 100000), "E0107"},
		"types":            {"let a: " + deep("list[", "int", "]", 100000) + " = 1", "E0107"},
		"minus":            {"let a = " + strings.Repeat("-", 150) + "1", ""},
		"too many minuses": {"let a = " + strings.Repeat("- ", 100000) + "1", "E0107"},
		"not":              {"let a = " + strings.Repeat("not ", 100000) + "b", "E0107"},
		"power":            {"let a = " + strings.Repeat("2 ** ", 100000) + "2", "E0107"},
		"if then else":     {"let a = " + strings.Repeat("if b then c else ", 100000) + "d", "E0107"},
		"if if":            {"let a = " + strings.Repeat("if ", 100000), "E0107"},
		"sum":              {"let a = " + strings.Repeat("1 + ", 30000) + "1", ""},
		"too long a sum":   {"let a = " + strings.Repeat("1 + ", 100000) + "1", "E0107"},
		"indices":          {"let a = b" + strings.Repeat("[0]", 100000), "E0107"},
		"selectors":        {"let a = b" + strings.Repeat(".c", 100000), "E0107"},
		"else if":          {"if a { f() }" + strings.Repeat(" else if b { f() }", 30000), ""},
		"too many else if": {"if a { f() }" + strings.Repeat(" else if b { f() }", 100000), "E0107"},
		"items":            {"let a = [" + strings.Repeat("1, ", 200000) + "]", ""},
		"f-string":         {`let a = f"` + deep("{(", "1", ")}", 100000) + `"`, "E0102"},
		"folds":            {"codelet k(x: RW vector[T]) { x[0] = " + deep("sum i in x { ", "1", " }", 100000) + " }", "E0107"},
		"inserts":          {"let a = " + deep("insert f(", "1", ")", 100000), "E0107"},
		"errors":           {strings.Repeat("let = 1\n", 1000), "E0101"},
		"zero bytes":       {strings.Repeat("\x00", 1000), "E0101"},
		"not UTF-8":        {strings.Repeat("\xff\xfe", 1000), "E0101"},
	} {
		_, ds := syntax.Parse(diag.NewSource("x.spu", c.text))
		switch {
		case c.code == "" && len(ds) > 0:
			t.Errorf("%s: %s: %s", name, ds[0].Code, ds[0].Message)
		case c.code != "" && (len(ds) == 0 || ds[0].Code != c.code || len(ds) > 100):
			t.Errorf("%s: %d diagnostics, want %s", name, len(ds), c.code)
			if len(ds) > 0 {
				t.Errorf("%s: %s", ds[0].Code, ds[0].Message)
			}
		}
	}
	_, ds := syntax.Parse(diag.NewSource("x.spu", strings.Repeat(" ", 65<<20)))
	if len(ds) != 1 || ds[0].Code != "E0107" {
		t.Errorf("65 MiB: %v", ds)
	}
}
