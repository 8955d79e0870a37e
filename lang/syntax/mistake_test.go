package syntax_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/diag/diagtest"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/syntax/advice"
)

// TestErrors parses every x.spu of the archives in testdata/errors and compares the
// rendered diagnostics with x.want. STARPUSH_UPDATE=1 writes what comes out.
func TestErrors(t *testing.T) {
	diagtest.Compare(t, "testdata/errors/*.txtar", func(t *testing.T, name, text string) string {
		parse := syntax.Parse
		if strings.HasPrefix(name, "prompt") {
			parse = syntax.ParseEntry
		}
		file, ds := parse(diag.NewSource(name, text))
		checkRanges(t, file, len(text))
		return diagtest.Render(t, ds)
	})
}

// edits are texts with mistakes, and the texts that they are edited to, "" for none.
var edits = []struct{ name, src, want string }{
	{"fold over a range", foldInCodelet + "sum(x[i] for i in 0..x.n) }", foldInCodelet + "sum i in 0..x.n { x[i] } }"},
	{"fold over range(n)", foldInCodelet + "sum(x[i] for i in range(x.n)) }", foldInCodelet + "sum i in 0..x.n { x[i] } }"},
	{"fold over range(a, b)", foldInCodelet + "sum(x[i] for i in range(1, x.n)) }", foldInCodelet + "sum i in 1..x.n { x[i] } }"},
	{"fold over every second", foldInCodelet + "sum(x[i] for i in range(0, x.n, 2)) }", ""},
	{"fold over indices", foldInCodelet + "sum(x[i] * y[i] for i in x) }", foldInCodelet + "sum i in x { x[i] * y[i] } }"},
	{"fold over elements", foldInCodelet + "sum(v * v for v in x) }", ""},
	{"fold over both", foldInCodelet + "sum(x[i] * i for i in x) }", ""},
	{"fold with a condition", foldInCodelet + "sum(x[i] for i in x if x[i] > 0.0) }", ""},
	{"wait of a task", "let t = insert f(RW x)\nt.wait()", "let t = insert f(RW x)\nwait t"},
	{"wait of an insert", "insert f(RW x).wait()", "wait insert f(RW x)"},
	{"the value of a wait", "let a = t.wait()", ""},
	{"a wait in a call", "print(t.wait())", ""},
	{"two values, or one", "let x = 3,5", ""},
	{"choice", "let d = if c { 1 } else { 2 }", "let d = if c then 1 else 2"},
	{"choice in front of an operator", "let d = if c { 1 } else { 2 } + 1", "let d = (if c then 1 else 2) + 1"},
	{"after two tasks", "insert f(RW x) after t, u", "insert f(RW x) with after = [t, u]"},
	{"after, and an option", "insert f(RW x) after t, priority = 1", "insert f(RW x) with after = [t], priority = 1"},
	{"not of a name", "if !done { }", "if not done { }"},
	{"not of a side of a comparison", "if !a == b { }", ""},
	{"not of a comparison", "if !(a == b) { }", "if not (a == b) { }"},
	{"a word for bits, too", "let c = a xor b", ""},
	{"a suffix of floats", "let x = 3f + 2u", "let x = 3.0 + 2"},
	{"a loop downwards", "for (i = n; i >= 0; i -= a + 1) { f(i) }", "for i in range(n, 0 - 1, -(a+1)) { f(i) }"},
	{"a range downwards", "for i = 10:-1:0 { f(i) }", "for i in range(10, 0 - 1, -1) { f(i) }"},
	{"a closed range downwards", "for i in 10..=0 by -1 { f(i) }", "for i in range(10, 0 - 1, -1) { f(i) }"},
	{"a loop that multiplies", "for (i = 1; i < n; i *= 2) { f(i) }", ""},
	{"a loop with two conditions", "for (i = 0; i < n and c; i++) { f(i) }", ""},
	{"two names in one loop", "for (i = 0, j = n; i < j; i++) { f(i) }", ""},
	{"options in brackets", "insert f(RW x) with[after = t]", "insert f(RW x) with after = t"},
	{"options in braces", "insert f(RW x){priority: 3}", "insert f(RW x) with priority = 3"},
	{"a codelet in quotes", "insert \"f\"(RW x)", "insert f(RW x)"},
	{"no name of a codelet", "insert \"f g\"(RW x)", ""},
	{"on a kind", "insert f(RW x) on cpu", "insert f(RW x) with where = cpu"},
	{"on a device", "insert f(RW x) on gpu(0)", ""},
	{"on any device", "insert f(RW x) on gpu", "insert f(RW x) with where = [cuda, opencl]"},
	{"on a kind in capitals", "insert f(RW x) on CUDA", "insert f(RW x) with where = cuda"},
	{"an operand with its mode behind", "insert f(x: RW, 2.0)", "insert f(RW x, 2.0)"},
	{"an operand by name", "insert f(x: a, 2.0)", "insert f(x = a, 2.0)"},
	{"modes for a function", "func f(x: vector[f64], n: int, y: vector[f64]) { }\nf(RW a, (3), R b[0])\n", "func f(x: vector[f64], n: int, y: vector[f64]) { }\nf(a, (3), b[0])\n"},
	{"modes for a codelet", "codelet f(x: RW vector[f64]) { }\nf(RW a)\n", "codelet f(x: RW vector[f64]) { }\ninsert f(RW a)\n"},
	{"angles", "register x = vector<float>(10)", "register x = vector[f64](10)"},
	{"angles of a parameter", "codelet f(x: RW Vector<float>) { }\nregister x = vector[f32](3)", "codelet f(x: RW vector[f32]) { }\nregister x = vector[f32](3)"},
	{"angles of a parameter that may be either", "codelet f(x: RW Vector<float>) { }", ""},
	{"two operators, and no comment", "print(x -- y, x --y, x -- y - x)", ""},
	{"a column of names", "print([x; y])", ""},
	{"angles of f32", "register x = matrix<f32>(10, 10)", "register x = matrix[f32](10, 10)"},
	{"angles of whole numbers", "register x = vector<int>(10)", "register x = vector[i64](10)"},
	{"waiting under another name", "wait_all", "wait"},
	{"a value under such a name", "let sync = 1\nsync", ""},
	{"then", "if n > 2 then f()", "if n > 2 { f() }"},
	{"then and else", "if n > 2 then f(1, 2) else x = 3", "if n > 2 { f(1, 2) } else { x = 3 }"},
	{"then and else if", "if n > 2 then f() else if n > 1 then g()", "if n > 2 { f() } else { if n > 1 { g() } }"},
	{"product", "let x = 1\nprint(2x ** 2)", "let x = 1\nprint(2 * x ** 2)"},
	{"product behind a slash", "let x = 1\nprint(6 / 2x)", ""},
	{"product that looks like sizes", "let x4 = 1\nprint(2x4)", "let x4 = 1\nprint(2 * x4)"},
	{"sizes", "register A = matrix[f64](2x4)\npartition A by tiles(2x2)", "register A = matrix[f64](2, 4)\npartition A by tiles(2, 2)"},
	{"sizes of nothing", "print(2x4)", ""},
	{"two loops", "for i in 0..3 for j in 0..4 { f(i, j) }", "for i, j in grid(3, 4) { f(i, j) }"},
	{"three loops", "for i in 0..3 for j in 0..4 for k in 0..2 { f() }", "for i in 0..3 { for j, k in grid(4, 2) { f() } }"},
	{"loops with a condition", "for i in 0..3 for j in 0..4 if i != j { f() }", ""},
	{"a name with a dash", "let a-b = 1\nprint(f\"a-b {a-b} {a-bc}\", a-b * 2)", "let a_b = 1\nprint(f\"a-b {a_b} {a-bc}\", a_b * 2)"},
	{"function of one line", "func f(a: int) -> list[int] = [a]", "func f(a: int) -> list[int] { return [a] }"},
	{"a word and a name", "register x = vector[f64](3)\nwaitx", "register x = vector[f64](3)\nwait x"},
	{"a word and a letter", "waits", "wait"},
	{"a letter twice", "waitt", "wait"},
	{"a loop word and a name", "fori in 0..3 { f(i) }", "for i in 0..3 { f(i) }"},
	{"a loop without its word", "i in 0..3 { f(i) }", "for i in 0..3 { f(i) }"},
	{"more by one", "let xs = [1]\nxs[xs[0]].n++", "let xs = [1]\nxs[xs[0]].n += 1"},
	{"less by one above a loop", "n--\nfor i in 0..3 { }", "n -= 1\nfor i in 0..3 { }"},
	{"more by one as a value", "let b = a++", ""},
	{"less by one as a value", "return a--", ""},
	{"more by one in a call", "print(a++)", ""},
	{"a name of one letter", "f x", ""},
	{"a fold without an index", "print(max x)", ""},
	{"octal, or a zero too many", "let a = 010", ""},
	{"a zero too many", "let a = 07", "let a = 7"},
	{"thousands, or units", "let a = 4k", ""},
	{"a unit in small letters", "let a = 4ki", "let a = 4Ki"},
	{"two statements", "let a = 1 print(a)", "let a = 1\nprint(a)"},
	{"two statements, or an operator", "let s = a str(1)", ""},
	{"where for with", "insert f(RW x) where after = t", "insert f(RW x) with after = t"},
	{"an option twice", "insert f(RW x) with after after = t", "insert f(RW x) with after = t"},
	{"a codelet twice", "insert f f(RW x)", "insert f(RW x)"},
	{"a filter twice", "partition x by rows rows(2)", "partition x by rows(2)"},
	{"a name twice, or a product", "let a = x x", ""},
	{"a value for two names", "let a = b = 1", "let b = 1\nlet a = b"},
	{"a value behind an option", "let a = insert f(RW x) with after = b = 1", ""},
	{"elif if", "if a { } elif if b { }", "if a { } else if b { }"},
	{"equality of JavaScript", "assert a === b", "assert a == b"},
	{"braces that do not match", "register b = vector[u8]{2)", ""},
	{"a remainder", "if k % 2 is 0 { }", "if k % 2 == 0 { }"},
	{"a remainder of names", "let n = 3\nif k % n equals 0 { }", ""},
	{"a quotient", "if k // 2 is 0 { }", "if k // 2 == 0 { }"},
	{"a comment of MATLAB", "let a = 2 % the number of rows", "let a = 2 # the number of rows"},
	{"a loop without its word, in a codelet", "codelet c(x: W vector[f64]) { i in x { x[i] = 0.0 } }", ""},
	{"text with a prefix", "let a = u'text'", "let a = u\"text\""},
	{"transpose", "let a = b'", ""},
}

// foldInCodelet begins a codelet that adds a fold to s.
const foldInCodelet = "codelet c(x: R vector[f64], s: RW variable[f64]) { s += "

// TestCertainEdits makes the edits that leave no doubt, as `check --fix` does: they keep
// what was meant. Where there are two readings, or a rest that would be wrong, none is made.
func TestCertainEdits(t *testing.T) {
	for _, tt := range edits {
		t.Run(tt.name, func(t *testing.T) {
			text, edited := tt.src, false
			for range 10 {
				_, ds := syntax.Parse(diag.NewSource("a.spu", text))
				var fixes []diag.Fix
				for _, d := range ds {
					if d.IsSure() {
						fixes = d.Fixes
						break
					}
				}
				if fixes == nil {
					break
				}
				text, edited = diag.Apply("a.spu", text, fixes), true
			}
			switch {
			case tt.want != "":
				if d := cmp.Diff(tt.want, text); d != "" {
					t.Error(d)
				}
			case edited:
				t.Errorf("edited to %s", text)
			}
		})
	}
}

// TestRules: every rule of advice is used by a case of the archives, or of TestCertainEdits.
func TestRules(t *testing.T) {
	used := map[string]bool{}
	read := func(name, text string) {
		syntax.ParseAdvised(diag.NewSource(name, text), strings.HasPrefix(name, "prompt"), func(rule string) { used[rule] = true })
	}
	diagtest.Scripts(t, "testdata/errors/*.txtar", read)
	for _, tt := range edits {
		read("a.spu", tt.src)
	}
	seen := map[string]bool{}
	for _, rule := range advice.Rules() {
		if seen[rule] {
			t.Errorf("two rules are called %q", rule)
		}
		if seen[rule] = true; !used[rule] {
			t.Errorf("no case in testdata/errors uses the rule %q", rule)
		}
	}
}
