package kernel

// Diagnostics: the ones that the specification shows must come out to the
// letter, the others as written here.

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// checkAll checks every codelet of a source.
func checkAll(t *testing.T, text string) diag.Diagnostics {
	t.Helper()
	f, cs := codelets(t, "t.spu", text)
	var ds diag.Diagnostics
	for _, c := range cs {
		ds = append(ds, Check(f, c, signature(c))...)
	}
	return ds
}

func TestSpecifiedDiagnostics(t *testing.T) {
	for _, tt := range []struct{ name, src, want string }{
		{"E0601", "codelet blur(x: R vector[f64], y: W vector[f64]) {\n    each i in x { y[i] = 0.5 * (x[i] + x[i + 1]) }\n}\n", `
error[E0601] 2:40-48: ` + "`x[i + 1]` reads past the end of `x`" + `
  ^ is x.n in the last round
  2:5-16 ` + "`i` runs to x.n - 1" + `
  help: write ` + "`each i in 0..x.n - 1`, or clamp: `x[min(i + 1, x.n - 1)]`" + `
`},
		{"E0602", "codelet scan(x: RW vector[f64]) {\n    each i in 1..x.n { x[i] += x[i - 1] }\n}\n", `
error[E0602] 2:32-40: the rounds of ` + "`each`" + ` depend on each other
  ^ and reads what round i - 1 wrote
  2:24-28 round i writes this
  note: ` + "`each`" + ` runs its rounds in any order, at the same time
  help: read from a second operand, or use ` + "`for`" + `, which runs in order on one thread
`},
		{"E0605", "codelet dot(x: R vector[f64], y: R vector[f64], acc: RW variable[f64]) {\n    each i in x { acc += x[i] * y[i] }\n}\n", `
error[E0605] 2:19-22: ` + "`acc` is one value, and every round of `each` adds to it" + `
  ^ shared by all rounds
  help: write ` + "`acc += sum i in x { x[i] * y[i] }`" + `
`},
		{"E0703", "codelet total(A: R matrix[f64], acc: W variable[f64]) {\n    let s = 0\n    for i in 0..A.rows { for j in 0..A.cols { s += A[i, j] } }\n    s *= 0.5\n    acc = s\n}\n", `
error[E0703] 3:52-59: ` + "`s` is an int, and this value is a float" + `
  2:13-14 an int from here on
  help: write ` + "`let s = 0.0`" + `, which makes it a float
`},
		{"W0606", strings.Repeat("\n", 11) + `codelet sweep(u: R matrix[f64], v: W matrix[f64]) {
    each i, j in 0..v.rows, 1..v.cols - 1 {
        v[i, j] = 0.25 * (u[i, j] + u[i + 2, j] + u[i + 1, j - 1] + u[i + 1, j + 1])
    }
}
`, `
warning[W0606] 12:36-37: ` + "`v` is declared W, but its first and last columns may stay unwritten" + `
  ^ promises to write every element
  13:29-42 skips columns 0 and v.cols - 1
  help: write them too, or declare ` + "`v: RW matrix[f64]`" + `
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want[1:], show(checkAll(t, tt.src))); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestDiagnostics compares the first line of what is found with what is wanted:
// "CODE line:col message", "" for nothing.
func TestDiagnostics(t *testing.T) {
	const head = "codelet c(n: int, f: float, b: bool, s: string, x: R vector[f64], y: RW vector[f64], k: RW vector[i32], A: RW matrix[f32], v: RW variable[f64], e: RW void, g: RW vector[T], h: T) {\n"
	for _, tt := range []struct{ body, want string }{
		// names
		{"v = alpha", "E0604 2:5 a codelet body cannot use `alpha`, which is a param of the script"},
		{"v = helper(1)", "E0604 2:5 a codelet body cannot use `helper`, which is a function of the script"},
		{"v = data[0]", "E0604 2:5 a codelet body cannot use `data`, which is registered data"},
		{"print(v)", "E0604 2:1 a codelet body cannot use `print`, which is a builtin of scripts"},
		{"v = c(1)", "E0604 2:5 a codelet body cannot use `c`, which is a codelet"},
		{"v = w", "E0201 2:5 `w` is not defined"},
		{"each i in x { y[i] = x[j] }", "E0201 2:24 `j` is not defined"},
		{"each i in x { let q = x[i]\n y[i] = q }\nv = q", "E0201 4:5 `q` is not defined"},
		{"let a = 1.0\nlet a = 2.0\nv = a", "E0202 3:5 `a` is declared twice in one block"},
		{"let x = 1.0\nv = x", "E0202 2:5 `x` is declared twice in one block"},
		{"each i, i in A { A[i, i] = 1 }", "E0202 2:9 `i` is declared twice in one block"},
		{"let a = 1.0\nif b { let a = 2.0\nv = a }\nv = a", ""},
		{"let a = 1.0", "W0201 2:5 `a` is never used"},
		{"let _a = 1.0", ""},
		{"v = sin", "E0705 2:5 `sin` is a function and must be called"},
		// what can be assigned
		{"x[0] = 1", "E0603 2:1 `x` is declared R, and this writes it"},
		{"each i in x { x[i] = 1 }", "E0603 2:15 `x` is declared R, and this writes it"},
		{"n = 1", "E0204 2:1 `n` is an operand and cannot be assigned"},
		{"for q in 0..3 { q = 1 }", "E0204 2:17 `q` is an index and cannot be assigned"},
		{"y.n = 1", "E0204 2:1 this cannot be assigned"},
		{"y = 1", "E0705 2:1 `y` is a vector, and a body writes its elements one by one"},
		{"e = 1", "E0705 2:1 `e` is void and has no value"},
		// types
		{"v = if f then 1.0 else 2.0", "E0705 2:8 a condition must be a bool, and this is a float"},
		{"v = b", "E0705 2:5 `v` is a float, and this value is a bool"},
		{"v = b + 1", "E0705 2:5 `+` takes numbers, and this is a bool"},
		{"v = if b then 1.0 else b", "E0705 2:5 the two sides of `if ... then ... else` have different types: float and bool"},
		{"each i in k { k[i] = 0.5 * k[i] }", "E0703 2:22 `k[i]` is an i32, and this value is a float"},
		{"each i in k { k[i] /= 2 }", "E0703 2:23 `k[i]` is an i32, and this value is a float"},
		{"each i in k { k[i] = int(0.5 * k[i]) }", ""},
		{"v = x[f]", "E0703 2:7 an index must be an int, and this is a float"},
		{"v = x[b]", "E0705 2:7 an index must be an int, and this is a bool"},
		{"v = x[1, 2]", "E0705 2:5 `x` is a vector and takes one index, not 2"},
		{"v = A[1]", "E0705 2:5 `A` is a matrix and takes two indices, not 1"},
		{"v[0] = 1", "E0705 2:1 `v` is a variable and has no index in a codelet body"},
		{"v = n[0]", "E0705 2:5 `n` is one value and has no elements"},
		{"v = x", "E0705 2:5 `x` is a vector, and a body computes with elements"},
		{"v = e", "E0705 2:5 `e` is void and has no value"},
		{"v = s", "E0705 2:5 a codelet body has no strings"},
		{"v = \"a\"", "E0705 2:5 a codelet body has no strings"},
		{"v = [1]", "E0705 2:5 a codelet body has no lists"},
		{"v = x.rows", "E0705 2:7 a vector has no field `rows`"},
		{"v = v.n", "E0705 2:7 a variable has no field `n`"},
		{"v = 0..3", "E0705 2:5 a range can only be the domain of `each`, `for` or a fold in a codelet body"},
		{"v = sin()", "E0705 2:5 `sin` takes one argument, and none was given"},
		{"v = max(1.0)", "E0705 2:5 `max` takes two arguments or more, and one was given"},
		{"v = sin(x = 1.0)", "E0705 2:9 `sin` has no parameter `x`"},
		{"v = x(0)", "E0705 2:5 `x` is an operand and cannot be called"},
		{"v = sum i in x { x[i] > 0 }", "E0705 2:18 `sum` takes numbers, and this is a bool"},
		{"v = not f", "E0705 2:9 `not` takes a bool, and this is a float"},
		{"v = if b and f > 0 then 1 else 0", ""},
		{"v = if b == true then 1 else 0", ""},
		{"v = if b < true then 1 else 0", "E0705 2:8 `<` cannot compare a bool with a bool"},
		{"each i in g { g[i] = h * g[i] + 0.5 }", ""},
		{"let q = 0\nq = 0.5\nv = q", "E0703 3:5 `q` is an int, and this value is a float"},
		{"let q = 0.0\nq = 1\nv = q", ""},
		// loops
		{"each i in A { A[i, i] = 0 }", "E0705 2:11 `A` is a matrix and needs two indices"},
		{"each i in v { y[i] = 0 }", "E0705 2:11 `each` cannot run over `v`, which is a variable"},
		{"each i, j in 0..3 { A[i, j] = 0 }", "E0705 2:1 `each` has two names and one range"},
		{"each i in n { y[i] = 0 }", "E0705 2:11 this must be a range"},
		{"for i in y { y[i] = 0 }", "E0705 2:10 this runs over a range, and `y` is data"},
		{"for i in 0..f { y[i] = 0 }", "E0703 2:13 the bound of a range must be an int, and this is a float"},
		{"each i in y { each j in x { y[i] = x[j] } }", "E0606 2:15 `each` inside `each`"},
		{"each i in y { for q in 0..2 { each j in 0..2 { y[i] = x[j] } } }", "E0606 2:31 `each` inside `each`"},
		{"for q in 0..2 { each i in y { y[i] += q } }", ""},
		{"if n > 0 { each i in y { y[i] += n } }", ""},
		// races
		{"each i in y { y[i] = y[i] + 1 }", ""},
		{"each i in y { y[0] = 1 }", "E0602 2:15 the rounds of `each` depend on each other"},
		{"each i in 0..y.n - 1 { y[i + 1] = 1 }", "E0602 2:24 the rounds of `each` depend on each other"},
		{"each i in 0..y.n - 1 { y[i] = y[i + 1] }", "E0602 2:31 the rounds of `each` depend on each other"},
		{"each i in y { y[i] = y[0] }", "E0602 2:22 the rounds of `each` depend on each other"},
		{"each i in y { if y[0] > 0.0 { y[i] = 1 } }", "E0602 2:18 the rounds of `each` depend on each other"},
		{"each i in y { y[i] = sum j in y { y[j] } }", "E0602 2:35 the rounds of `each` depend on each other"},
		{"each i, j in A { A[i, j] = A[j, i] }", "E0602 2:28 the rounds of `each` depend on each other"},
		{"each i, j in A { A[j, i] = 1 }", ""},
		{"each i, j in A { A[i, 0] = 1 }", "E0602 2:18 the rounds of `each` depend on each other"},
		{"each i, j in A { y[i] = 1 }", "E0602 2:18 the rounds of `each` depend on each other"},
		{"each i in 0..A.rows { A[i, 0] = 1\nA[i, A.cols - 1] = A[i, 0] }", ""},
		{"each i in 0..A.rows { A[i, 0] = 1\nA[0, i] = 2 }", "E0602 3:1 the rounds of `each` depend on each other"},
		{"each i in 0..A.rows { A[i, i] = 1 }", ""},
		{"each i in 0..A.rows { for j in 0..A.cols { A[i, j] = x[j] } }", ""},
		{"each i in y { let q = i\ny[q] = 1 }", "E0602 3:1 the rounds of `each` depend on each other"},
		{"each i in x { v = x[i] }", "E0605 2:15 `v` is one value, and every round of `each` writes it"},
		{"each i in x { v = max(v, x[i]) }", "E0605 2:15 `v` is one value, and every round of `each` writes it"},
		{"let q = 0.0\neach i in x { q += x[i] }\nv = q", "E0605 3:15 `q` is one value, and every round of `each` adds to it"},
		{"each i in x { let q = 0.0\nfor j in 0..3 { q += x[i] }\ny[i] = q }", ""},
		{"for i in 0..x.n { v += x[i] }", ""},
		{"for i in 1..y.n { y[i] += y[i - 1] }", ""},
		// bounds
		{"each i in x { y[i] = x[i + 1] }", "E0601 2:22 `x[i + 1]` reads past the end of `x`"},
		{"each i in x { y[i] = x[i - 1] }", "E0601 2:22 `x[i - 1]` reads before the start of `x`"},
		{"each i in 0..x.n - 1 { y[i] = x[i + 1] }", ""},
		{"each i in 1..x.n { y[i] = x[i - 1] }", ""},
		{"each i in 0..=x.n { y[i] = x[i] }", "E0601 2:28 `x[i]` reads past the end of `x`"},
		{"each i in x { y[i] = x[x.n - i] }", "E0601 2:22 `x[x.n - i]` reads past the end of `x`"},
		{"each i in x { y[i] = x[x.n - 1 - i] }", ""},
		{"each i in x { y[i] = if i + 1 < x.n then x[i + 1] else 0.0 }", ""},
		{"each i in x { if i + 1 < x.n { y[i] = x[i + 1] } }", ""},
		{"each i in x { y[i] = if i + 1 < x.n and x[i + 1] > 0.0 then 1 else 0 }", ""},
		{"each i in x { y[i] = x[min(i + 1, x.n - 1)] }", ""},
		{"each i in x { let q = i + 1\ny[i] = x[q] }", "E0601 3:8 `x[q]` reads past the end of `x`"},
		{"each i in y { y[i] = x[i + 1] }", ""},
		{"v = sum i in x { x[i] * x[i + 2] }", "E0601 2:25 `x[i + 2]` reads past the end of `x`"},
		{"v = x[-1]", "E0601 2:5 `x[-1]` reads before the start of `x`"},
		{"v = x[x.n]", "E0601 2:5 `x[x.n]` reads past the end of `x`"},
		{"v = x[x.n - 1]", ""},
		{"each i, j in A { A[i, j] = x[j] }", ""},
		{"each i in 0..A.rows { y[i] = A[i + 1, 0] }", "E0601 2:30 `A[i + 1, 0]` reads past the end of `A`"},
		{"for q in 0..2 { each i in x { y[i] = x[i + 1] } }", "E0601 2:38 `x[i + 1]` reads past the end of `x`"},
		{"each i in x { for q in 0..n { y[i] += x[i + q] } }", ""},
		{"for i in 1..=x.n { v += x[i] }", "E0601 2:25 `x[i]` reads past the end of `x`"},
		{"for i in 0..x.n { v += x[i - 1] }", "E0601 2:24 `x[i - 1]` reads before the start of `x`"},
		{"for i in 0..x.n { for j in i..=x.n { v += x[j] } }", "E0601 2:43 `x[j]` reads past the end of `x`"},
		{"for i in 1..=A.rows { for j in 0..A.cols { v += A[i, j] } }", "E0601 2:49 `A[i, j]` reads past the end of `A`"},
		{"for i in 1..=A.rows { v += sum j in 0..A.cols { A[i, j] } }", "E0601 2:49 `A[i, j]` reads past the end of `A`"},
		{"for q in 0..n { for i in 1..=x.n { v += x[i] } }", "E0601 2:41 `x[i]` reads past the end of `x`"},
		{"if b { for i in 1..=x.n { v += x[i] } }", "E0601 2:32 `x[i]` reads past the end of `x`"},
		// rounds that may not be
		{"for i in 1..=x.n { for q in 0..n { v += x[i] } }", ""},
		{"for i in 1..=x.n { for q in i..x.n { v += x[i] } }", ""},
		{"for i in 1..=x.n { for q in 2..x.n { v += x[i] } }", ""},
		{"for i in 1..=x.n { if i < x.n { v += x[i] } }", ""},
		{"for i in 1..=x.n { v += x[i - 1] }", ""},
		{"for i in n..=x.n { v += x[i - 1] }", ""},
		{"for i in 1..=n { v += x[i] }", ""},
	} {
		src := head + tt.body + "\n}\nparam alpha: float = 1.0\nfunc helper(a: int) -> int { return a }\nregister data = vector[f64](3)\n"
		ds := slices.DeleteFunc(checkAll(t, src), func(d diag.Diagnostic) bool { return d.Code == "W0608" }) // of those that a row has no use for
		got := ""
		if len(ds) > 0 {
			d := &ds[0]
			got = strings.Join([]string{d.Code, strings.TrimSuffix(strings.SplitN(at(d.Span), "-", 2)[0], " "), d.Message}, " ")
		}
		if got != tt.want {
			t.Errorf("%s\n got  %s\n want %s", tt.body, got, tt.want)
		}
	}
}

// TestOutsideRemedies: what is to be written in place of an index outside, and that
// nothing is said about it then.
func TestOutsideRemedies(t *testing.T) {
	const head = "codelet c(n: int, x: R vector[f64], y: W vector[f64], A: RW matrix[f64], v: RW variable[f64]) {\n"
	for _, tt := range []struct{ body, help, want string }{
		{"for i in 1..=x.n { v += x[i] }", "indices count from 0: write `for i in 0..x.n`", "for i in 0..x.n { v += x[i] }"},
		{"for i in 1..y.n + 1 { y[i] = 0 }", "indices count from 0: write `for i in 0..y.n`", "for i in 0..y.n { y[i] = 0 }"},
		{"for i in 1..=x.n { v += x[i] - x[i - 1] }", "write `for i in 1..x.n`", "for i in 1..x.n { v += x[i] - x[i - 1] }"},
		{"each i in 0..=y.n { y[i] = 0 }", "write `each i in 0..y.n`", "each i in 0..y.n { y[i] = 0 }"},
		{"for i in 0..y.n { y[i + 1] = 0 }", "write `for i in 0..y.n - 1`", "for i in 0..y.n - 1 { y[i + 1] = 0 }"},
		{"for i in 0..y.n { y[i - 1] = 0 }", "write `for i in 1..y.n`", "for i in 1..y.n { y[i - 1] = 0 }"},
		{"each i, j in 0..A.rows, 1..=A.cols { A[i, j] = 0 }", "indices count from 0: write `each i, j in 0..A.rows, 0..A.cols`",
			"each i, j in 0..A.rows, 0..A.cols { A[i, j] = 0 }"},
		{"v = sum i in 1..=x.n { x[i] }", "indices count from 0: write `sum i in 0..x.n`", "v = sum i in 0..x.n { x[i] }"},
		{"for i in x.n - 4..x.n { v += x[i + 1] }", "write `for i in x.n - 4..x.n - 1`, or clamp: `x[min(i + 1, x.n - 1)]`", "for i in x.n - 4..x.n { v += x[min(i + 1, x.n - 1)] }"},
	} {
		src := head + tt.body + "\n}\n"
		ds := slices.DeleteFunc(checkAll(t, src), func(d diag.Diagnostic) bool { return d.Code == "W0608" })
		if len(ds) != 1 || len(ds[0].Help) != 1 || len(ds[0].Fixes) != 1 {
			t.Errorf("%s: %v", tt.body, ds)
			continue
		}
		if ds[0].Help[0] != tt.help {
			t.Errorf("%s\n got  %s\n want %s", tt.body, ds[0].Help[0], tt.help)
		}
		edit := ds[0].Fixes[0]
		right := src[:edit.Span.Start.Offset] + edit.NewText + src[edit.Span.End.Offset:]
		if right != head+tt.want+"\n}\n" {
			t.Errorf("%s becomes\n%s", tt.body, right)
		}
		if ds := checkAll(t, right); ds.Err() != nil {
			t.Errorf("%s: %v", tt.want, ds)
		}
	}
}

func at(s diag.Span) string {
	return strings.TrimPrefix(strings.SplitN(show(diag.Diagnostics{{Span: s}}), "] ", 2)[1], " ")
}

func TestBorders(t *testing.T) {
	for _, tt := range []struct{ sig, body, want string }{
		{"v: W vector[f64]", "each i in v { v[i] = 0 }", ""},
		{"v: W vector[f64]", "each i in 1..v.n { v[i] = 0 }", "its first element may stay unwritten"},
		{"v: W vector[f64]", "each i in 2..v.n { v[i] = 0 }", "its first elements may stay unwritten"},
		{"v: W vector[f64]", "each i in 0..v.n - 1 { v[i] = 0 }", "its last element may stay unwritten"},
		{"v: W vector[f64]", "each i in 1..v.n - 1 { v[i] = 0 }", "its first and last elements may stay unwritten"},
		{"v: W vector[f64]", "each i in 1..v.n { v[i] = 0 }\nv[0] = 1", ""},
		{"v: W vector[f64]", "each i in 1..v.n - 1 { v[i] = 0 }\nv[0] = 1", "its last element may stay unwritten"},
		{"v: W vector[f64]", "for i in 1..v.n { v[i] = 0 }", "its first element may stay unwritten"},
		{"v: RW vector[f64]", "each i in 1..v.n { v[i] = 0 }", ""},
		{"v: SCRATCH vector[f64]", "each i in 1..v.n { v[i] = 0 }", ""},
		{"v: W vector[f64], n: int", "each i in n..v.n { v[i] = 0 }", ""},
		{"v: W vector[f64]", "each i in 0..4 { v[i] = 0 }", ""},
		{"v: W vector[f64]", "v[0] = 1", ""},
		{"v: W vector[f64], x: R vector[f64]", "each i in 1..x.n { v[i] = 0 }", "its first element may stay unwritten"},
		{"v: W vector[f64], x: R vector[f64]", "each i in 2..x.n - 1 { v[i] = x[i] }", "its first elements may stay unwritten"},
		{"v: W vector[f64], x: R vector[f64]", "each i in 1..x.n - 1 { v[i] = x[i] }\nv[0] = 1", ""},
		{"v: W vector[f64], x: R vector[f64]", "for i in 1..x.n - 1 { v[i - 1] = x[i] }", ""},
		{"v: W vector[f64], x: R vector[f64]", "each i in 1..x.n - 1 { v[i] = x[i] }\nfor i in 0..x.n { v[i] = 2 }", ""},
		{"v: W vector[f64], x: R vector[f64]", "each i in 1..x.n - 1 { v[i] = x[i] }\nv[x.n - 1] = 1", ""},
		{"v: W vector[f64], n: int", "each i in 1..5 { v[i] = 0 }\nv[n] = 1", ""},
		{"v: W vector[f64], n: int", "each i in 1..n { v[i] = 0 }", "its first element may stay unwritten"},
		{"v: W vector[f64]", "each i in 1..5 { v[i] = 0 }", "its first element may stay unwritten"},
		{"v: W vector[f64]", "for i in 0..3 { v[v.n - 3 + i] = 0 }", ""},
		{"v: W vector[f64], n: int", "for i in 1..n { v[3 - i] = 0 }", ""},
		{"v: W vector[f64], n: int", "for i in 1..n { v[v.n - 1 - i] = 0 }", "its last element may stay unwritten"},
		{"v: W vector[f64], n: int", "each i in n..v.n - 1 { v[i] = 0 }", "its last element may stay unwritten"},
		{"v: W matrix[f64], x: R matrix[f64]", "each i, j in 1..x.rows - 1, 1..x.cols - 1 { v[i, j] = x[i, j] }", "its first row and first column may stay unwritten"},
		{"v: W matrix[f64], x: R matrix[f64]", "each i, j in 0..x.rows, 1..x.cols { v[i, j] = x[i, j] }", "its first column may stay unwritten"},
		{"v: W matrix[f64], x: R matrix[f64]", "each i, j in 1..x.rows, 0..x.cols { v[i, j] = x[i, j] }\nfor j in 0..x.cols { v[0, j] = 0 }", ""},
		{"v: W vector[f64], x: R vector[f64]", "each i in x { v[i] = 0 }", ""},
		{"v: W matrix[f64]", "each i, j in 1..v.rows - 1, 1..v.cols - 1 { v[i, j] = 0 }", "its first and last rows and columns may stay unwritten"},
		{"v: W matrix[f64]", "each i, j in 1..v.rows, 0..v.cols - 1 { v[i, j] = 0 }", "its first row and last column may stay unwritten"},
		{"v: W matrix[f64]", "each i in 0..v.rows { for j in 0..v.cols { v[i, j] = 0 } }", ""},
		{"v: W matrix[f64]", "for i in 0..v.rows { for j in i..v.cols { v[i, j] = 0 } }", ""},
		{"v: W variable[f64]", "v = 0", ""},
		{"v: W variable[f64], x: RW vector[f64]", "x[0] = 1", "its body never writes it"},
		{"v: W vector[f64]", "", ""},

		// shares of the size
		{"v: W vector[f64]", "for i in 0..v.n // 2 { v[i] = 0 }", "its last elements may stay unwritten"},
		{"v: W vector[f64]", "for i in 0..(v.n + 1) // 2 { v[i] = 0 }", "its last elements may stay unwritten"},
		{"v: W vector[f64]", "for i in 0..=v.n // 2 { v[i] = 0 }", "its last elements may stay unwritten"},
		{"v: W vector[f64]", "let h = v.n // 2\neach i in 0..h { v[i] = 0 }", "its last elements may stay unwritten"},
		{"v: W vector[f64]", "for i in v.n // 2..v.n { v[i] = 0 }", "its first elements may stay unwritten"},
		{"v: W vector[f64]", "for i in v.n // 4..v.n - v.n // 4 { v[i] = 0 }", "its first and last elements may stay unwritten"},
		{"v: W vector[f64]", "for i in 0..v.n // 2 { v[v.n - 1 - i] = 0 }", "its first elements may stay unwritten"},
		{"v: W vector[f64]", "for i in 0..v.n { v[v.n - 1 - i] = 0 }", ""},
		{"v: W vector[f64]", "for i in 0..v.n // 2 { v[i] = 0\nv[v.n - 1 - i] = 0 }", ""},
		{"v: W vector[f64]", "for i in 0..v.n // 2 { v[i] = 0\nv[i + v.n // 2] = 0 }", ""},
		{"v: W vector[f64]", "for i in 0..v.n // 2 { v[i] = 0 }\nfor i in v.n // 2..v.n { v[i] = 1 }", ""},
		{"v: W vector[f64]", "for i in 0..v.n // 2 { v[i] = 0 }\nv[v.n - 1] = 1", ""},
		{"v: W vector[f64]", "for i in 0..v.n // 2 { v[i] = 0 }\nv[0] = 1", "its last elements may stay unwritten"},
		{"v: W vector[f64]", "for i in 0..v.n // 2 { v[i] = 0 }\nfor i in 0..v.n // 4 { v[i] = 0 }", "its last elements may stay unwritten"},
		{"v: W vector[f64]", "for i in 0..4 * (v.n // 4) { v[i] = 0 }", ""},
		{"v: W vector[f64]", "for i in 0..v.n // 1 { v[i] = 0 }", ""},
		{"v: W vector[f64]", "for i in 0..0 - -v.n // 2 * 2 { v[i] = 0 }", ""},
		{"v: W vector[f64], x: R vector[f64]", "for i in 0..x.n // 2 { v[i] = x[2 * i] }", ""},
		{"v: W vector[f64], x: R vector[f64]", "for i in 0..v.n - x.n // 2 { v[i] = 0 }", ""},
		{"v: W vector[f64], k: int", "for i in 0..v.n // k { v[i] = 0 }", ""},
		{"v: W vector[f64], k: int", "for b in 0..k { for i in 0..v.n // 2 { v[b * (v.n // 2) + i] = 0 } }", ""},
		{"v: W vector[f64]", "for b in 0..2 { for i in 0..v.n // 2 { v[b * (v.n // 2) + i] = 0 } }", ""},
		{"v: W matrix[f64]", "for i in 0..v.rows // 2 { for j in 0..v.cols { v[i, j] = 0 } }", "its last rows may stay unwritten"},
		{"v: W matrix[f64]", "for i in 0..v.rows { for j in 0..v.rows // 2 { v[i, j] = 0 } }", ""},

		// steps
		{"v: W vector[f64]", "for i in 0..v.n // 2 { v[2 * i] = 0 }", "its body writes only 1 of every 2 elements"},
		{"v: W vector[f64]", "for i in 0..v.n // 3 { v[3 * i] = 0\nv[3 * i + 2] = 0 }", "its body writes only 2 of every 3 elements"},
		{"v: W vector[f64]", "for i in 0..v.n // 3 { v[3 * i] = 0\nif i > 1 { v[3 * i - 3] = 1 } }", "its body writes only 1 of every 3 elements"},
		{"v: W vector[f64]", "for i in 0..v.n // 2 { v[2 * i] = 0\nv[2 * i + 1] = 0 }", ""},
		{"v: W vector[f64]", "for i in 0..v.n // 2 { v[2 * i] = 0\nv[v.n - 1 - 2 * i] = 0 }", ""},
		{"v: W vector[f64]", "for i in 0..v.n // 2 { for k in 0..2 { v[2 * i + k] = 0 } }", ""},
		{"v: W vector[f64], k: int", "for i in 0..v.n // 2 { v[2 * i + k] = 0 }", ""},
		{"v: W vector[f64]", "for i in 0..v.n // 2 { v[2 * i] = 0 }\nfor i in 0..v.n { v[i] = 1 }", ""},
		{"v: W matrix[f64]", "for i in 0..v.rows { for j in 0..v.cols // 2 { v[i, 2 * j] = 0 } }", "its body writes only 1 of every 2 columns"},
	} {
		got := ""
		if ds := checkAll(t, "codelet c("+tt.sig+") {\n"+tt.body+"\n}\n"); len(ds) > 0 {
			got = strings.TrimPrefix(ds[0].Message, "`v` is declared W, but ")
			if ds[0].Code != "W0606" || ds[0].Severity != diag.Warning {
				t.Errorf("%s: %v", tt.body, ds)
			}
		}
		if got != tt.want {
			t.Errorf("%s\n got  %s\n want %s", tt.body, got, tt.want)
		}
	}
}

// TestBordersHold runs bodies of which it is said that they leave an end, or elements in
// between, and looks whether they do so for every size.
func TestBordersHold(t *testing.T) {
	from := []string{"0", "1", "v.n // 2", "v.n // 3 + 1", "v.n - v.n // 4"}
	to := []string{"v.n", "v.n - 1", "v.n // 2", "(v.n + 1) // 2", "v.n // 3 * 3", "2 * (v.n // 2)", "v.n - v.n // 3", "(v.n - 1) // 2 + v.n // 2", "-(-v.n // 2)"}
	at := []string{"i", "v.n - 1 - i", "i + v.n // 2", "i - v.n // 3", "2 * i", "3 * i + 1", "v.n - 2 * i"}
	said := map[string]int{}
	for k := range len(from) * len(to) * len(at) {
		var body strings.Builder
		for _, k := range []int{k, k * 7 % (len(from) * len(to) * len(at)), k * 11 % 97}[:1+k%3] {
			place := at[k/len(from)/len(to)%len(at)]
			fmt.Fprintf(&body, "for i in %s..%s {\nif %s >= 0 and %s < v.n { v[%s] = 1 }\n}\n", from[k%len(from)], to[k/len(from)%len(to)], place, place, place)
		}
		ds := checkAll(t, "codelet c(v: W vector[f64]) {\n"+body.String()+"}\n")
		if len(ds) == 0 {
			continue
		}
		if ds[0].Code != "W0606" {
			t.Fatalf("%v\n%s", ds, body.String())
		}
		p := compileOne(t, "codelet c(v: RW vector[f64]) {\n"+body.String()+"}\n", nil)
		for n := 4; n < 30; n++ {
			v := make([]float64, n)
			run(t, p, bufs(vectorOf(v)))
			for what, left := range map[string]bool{"first": v[0] == 0, "last": v[n-1] == 0, "only": n < 9 || slices.Contains(v, 0)} {
				if strings.Contains(ds[0].Message, what) {
					said[what]++
					if !left {
						t.Errorf("%s\n%s\nof %d: %v", ds[0].Message, body.String(), n, v)
					}
				}
			}
		}
	}
	if said["first"] < 1000 || said["last"] < 1000 || said["only"] < 100 {
		t.Errorf("too little to look at: %v", said)
	}
}

// TestEarly: an element of a W or SCRATCH operand that is certain to be read before any is written,
// and bodies that only look like it.
func TestEarly(t *testing.T) {
	for _, tt := range []struct{ body, want string }{
		{"each i in y { y[i] += 1.0 }", "y 2:15"},
		{"each i in y { y[i] = 2.0 * y[i] }", "y 2:28"},
		{"each i in y { let old = y[i]\ny[i] = old + x[i] }", "y 2:25"},
		{"each i in 1..y.n { y[i] = x[i] + y[i - 1] }", "E0602"},
		{"for i in 1..y.n { y[i] = x[i] + y[i - 1] }", "y 2:33"},
		{"v += sum i in x { x[i] }", "v 2:1"},
		{"v = max(v, max i in x { x[i] })", "v 2:9"},
		{"v = sum i in y { y[i] }\neach i in y { y[i] = 0.0 }", "y 2:18"},
		{"each i, j in A { for k in 0..x.n { A[i, j] += x[k] } }", "A 2:36"},
		{"each i, j in A { for k in 0..n { A[i, j] += x[k] } }", "A 2:34"},
		{"for t in 0..n { each i in y { y[i] += x[i] } }", "y 2:31"},
		{"for i in 0..y.n { for k in 0..x.n { y[i] += x[k] }\ny[i] *= 2.0 }", "y 2:37"},
		{"each i in y { if x[i] > 0.0 { y[i] += x[i] } }", "y 2:31"},
		{"each i in y { if y[i] > 0.0 { y[i] = x[i] } }", "y 2:18"},
		{"each i in y { y[i] = if y[i] > 0.0 then x[i] else 0.0 }", "y 2:25"},
		{"if n > 0 { v = x[0] * v }", "v 2:23"},
		{"if n > 0 { let q = y[0]\nv = q }\neach i in y { y[i] *= 2.0 }", "y 4:15"},
		// something was written before, or may have been
		{"each i in y { y[i] = 0.0 }\neach i in y { y[i] += x[i] }", ""},
		{"y[0] = x[0]\nfor i in 1..y.n { y[i] = x[i] + y[i - 1] }", ""},
		{"v = 0.0\nfor i in x { v += x[i] }", ""},
		{"if n > 0 { v = 0.0 } else { v = 1.0 }\nv += x[0]", ""},
		{"if n > 0 { v = 0.0 }\nv += x[0]", ""},
		{"for i in 0..y.n { if i == 0 { y[i] = x[i] } else { y[i] = y[i - 1] } }", ""},
		{"for i in 0..y.n { if i > 0 { y[i] = y[i - 1] } else { y[i] = x[i] } }", ""},
		{"for i in 0..y.n { y[i] = if i > 0 then y[i - 1] else x[i] }", ""},
		{"for i in 0..y.n { y[i] = if i > 0 and y[i - 1] > 0.0 then 1.0 else x[i] }", ""},
		{"for k in 0..n { if k == 0 { v = 0.0 }\nv += x[k] }", ""},
		{"for i in 0..y.n { let s = x[i]\nfor j in 0..i { s -= y[j] }\ny[i] = s }", ""},
		{"for i in 0..y.n { y[i] = x[i] - sum j in 0..i { y[j] } }", ""},
		{"for i in 0..y.n { y[i] = x[i] - sum j in 0..min(i, 3) { y[i - 1 - j] } }", ""},
		{"let s = 0.0\nfor k in 0..n { s += y[k] }\neach i in y { y[i] = s }", ""},
		// what is no read of elements
		{"each i in y { y[i] = float(y.n) }", ""},
		{"each i in y { y[i] = float(i + y.offset) }", ""},
	} {
		tt.body = strings.ReplaceAll(tt.body, "for i in x {", "for i in 0..x.n {")
		for _, mode := range []string{"W", "SCRATCH"} {
			src := strings.ReplaceAll("codelet c(n: int, x: R vector[f64], y: MODE vector[f64], A: MODE matrix[f64], v: MODE variable[f64]) {\n", "MODE", mode) + tt.body + "\n}\n"
			if got := firstEarly(t, src, mode == "W"); got != tt.want {
				t.Errorf("%s: %s\n got  %s\n want %s", mode, tt.body, got, tt.want)
			}
		}
	}
	// what a body never writes
	for _, tt := range []struct{ mode, body, want string }{
		{"SCRATCH", "each i in x { x[i] = y[i] }", "y 2:22"},
		{"SCRATCH", "each i in x { if x[i] > 0.0 { x[i] = y[i] } }", "y 2:38"},
		{"SCRATCH", "each i in x { x[i] = float(y.n) }", ""},
		{"R", "each i in x { x[i] = y[i] }", ""},
		{"RW", "each i in y { y[i] += x[i] }", ""},
	} {
		if got := firstEarly(t, "codelet c(x: RW vector[f64], y: "+tt.mode+" vector[f64]) {\n"+tt.body+"\n}\n", false); got != tt.want {
			t.Errorf("%s: %s: got %q, want %q", tt.mode, tt.body, got, tt.want)
		}
	}
}

// firstEarly is the operand and the place of the first E0607 about src, or another code
// that comes first; mended says that it has an edit.
func firstEarly(t *testing.T, src string, mended bool) string {
	t.Helper()
	for _, d := range checkAll(t, src) {
		if d.Code == "W0606" || d.Code == "W0201" || d.Code == "W0608" { // of the operands that a body has no use for
			continue
		}
		if d.Code != "E0607" {
			return d.Code
		}
		if d.Severity != diag.Error || len(d.Help) == 0 || mended != (len(d.Fixes) > 0) {
			t.Errorf("%s: %+v", src, d)
		}
		return strings.Trim(strings.Fields(d.Message)[0], "`") + " " + strings.SplitN(at(d.Span), "-", 2)[0]
	}
	return ""
}

// TestAnnotations: after Check every name of a body has its object, and every
// expression its type.
func TestAnnotations(t *testing.T) {
	f, cs := codelets(t, "t.spu", `codelet c(a: T, n: int, x: R vector[T], y: RW vector[f32], acc: RW variable[f64]) {
    let m = min(n, x.n)
    each i in 0..m {
        let q = (x[i] + 1) * a
        if i > 2 and not (y[i] == 0.0) { y[i] += float(q) }
    }
    acc = max(acc, max i in y { if y[i] > 0.5 then sqrt(y[i]) else 0.0 })
}
`)
	if ds := Check(f, cs[0], signature(cs[0])); len(ds) > 0 {
		t.Fatal(ds)
	}
	kinds := map[string]types.ObjectKind{"a": types.ScalarObject, "x": types.OperandObject, "m": types.KernelLet, "i": types.EachVar,
		"q": types.KernelLet, "acc": types.OperandObject, "min": types.BuiltinFunc}
	seen := 0
	var expr func(e syntax.Expr)
	expr = func(e syntax.Expr) {
		if e == nil {
			return
		}
		if e.Type() == nil {
			t.Errorf("%s has no type", SourceText(f.Source, e.Range()))
		}
		switch e := e.(type) {
		case *syntax.Ident:
			if e.Obj == nil {
				t.Errorf("%s has no object", e.Name)
			} else if k, ok := kinds[e.Name]; ok && e.Obj.Kind != k {
				t.Errorf("%s is of kind %v", e.Name, e.Obj.Kind)
			}
			seen++
		case *syntax.Paren:
			expr(e.X)
		case *syntax.Unary:
			expr(e.X)
		case *syntax.Binary:
			expr(e.X)
			expr(e.Y)
		case *syntax.Cond:
			expr(e.If)
			expr(e.Then)
			expr(e.Else)
		case *syntax.Index:
			expr(e.X)
			for _, a := range e.Args {
				expr(a)
			}
		case *syntax.Call:
			expr(e.Fn)
			for _, a := range e.Args {
				expr(a.Value)
			}
		case *syntax.Selector:
			expr(e.X)
		case *syntax.Fold:
			for _, d := range e.Domain {
				expr(d)
			}
			expr(e.Body)
		case *syntax.RangeExpr:
			expr(e.Lo)
			expr(e.Hi)
		}
	}
	var stmts func(list []syntax.Stmt)
	stmts = func(list []syntax.Stmt) {
		for _, s := range list {
			switch s := s.(type) {
			case *syntax.Let:
				expr(s.Name)
				expr(s.Value)
			case *syntax.Assign:
				expr(s.Target)
				expr(s.Value)
			case *syntax.If:
				expr(s.Cond)
				stmts(s.Then.Stmts)
			case *syntax.Each:
				for _, d := range s.Domain {
					expr(d)
				}
				stmts(s.Body.Stmts)
			}
		}
	}
	stmts(cs[0].Body.Stmts)
	if seen < 20 {
		t.Errorf("only %d names seen", seen)
	}
}

// TestElemErrors: what depends on element types is found with them.
func TestElemErrors(t *testing.T) {
	f, cs := codelets(t, "t.spu", "codelet half(v: RW vector[T]) {\n    each i in v { v[i] = 0.5 * v[i] }\n}\n")
	sig := signature(cs[0])
	if ds := Check(f, cs[0], sig); len(ds) > 0 {
		t.Fatal(ds)
	}
	for _, e := range iface.Elems {
		_, err := Compile(f, cs[0], sig, map[byte]iface.Elem{'T': e})
		if e.IsFloat() != (err == nil) {
			t.Errorf("%v: %v", e, err)
		}
		if err == nil {
			continue
		}
		ds, ok := err.(diag.Diagnostics)
		if !ok || len(ds) != 1 || ds[0].Code != "E0703" || ds[0].Span.Start.Line != 2 || len(ds[0].Notes) != 1 {
			t.Errorf("%v: %v", e, err)
		}
	}
	if _, err := Compile(f, cs[0], sig, nil); err == nil {
		t.Error("no element type, and no error")
	}
}

func TestOuterNames(t *testing.T) {
	f, cs := codelets(t, "t.spu", "codelet c(v: RW variable[f64]) { v = far }\n")
	ds := CheckIn(f, cs[0], signature(cs[0]), func(name string) *types.Object {
		if name == "far" {
			return &types.Object{Name: name, Kind: types.LetObject, Type: types.TFloat}
		}
		return nil
	})
	if len(ds) != 1 || ds[0].Code != "E0604" || len(ds[0].Help) != 1 || ds[0].Help[0] != "pass it as an operand: `far: float`" {
		t.Error(show(ds))
	}
}

// TestDeepNesting: trees that are far too deep are reported, and nothing
// overflows. The parser has limits of its own, so the trees are made here.
func TestDeepNesting(t *testing.T) {
	f, cs := codelets(t, "t.spu", "codelet c(v: RW variable[f64]) { v = v + 1.0 }\n")
	set := cs[0].Body.Stmts[0].(*syntax.Assign)
	leaf := set.Value.(*syntax.Binary).X
	for name, wrap := range map[string]func(e syntax.Expr) syntax.Expr{
		"unary": func(e syntax.Expr) syntax.Expr { return &syntax.Unary{Op: "-", X: e} },
		"left":  func(e syntax.Expr) syntax.Expr { return &syntax.Binary{Op: "+", X: e, Y: leaf} },
		"right": func(e syntax.Expr) syntax.Expr { return &syntax.Binary{Op: "**", X: leaf, Y: e} },
		"paren": func(e syntax.Expr) syntax.Expr {
			return &syntax.Paren{X: &syntax.Binary{Op: "-", X: e, Y: leaf}}
		},
	} {
		for _, depth := range []int{300, 1 << 20} {
			set.Value = leaf
			for range depth {
				set.Value = wrap(set.Value)
			}
			ds := Check(f, cs[0], signature(cs[0]))
			if want := depth > maxDepth; want != (len(ds) > 0) || len(ds) > 1 {
				t.Errorf("%s, %d deep: %d diagnostics", name, depth, len(ds))
			}
			if len(ds) > 0 {
				continue
			}
			p, err := Compile(f, cs[0], signature(cs[0]), nil)
			if err != nil {
				t.Fatal(err)
			}
			v := 1.0
			run(t, p, bufs(variableOf(&v)))
		}
	}
}

// TestStatementOfNothing: the parser refuses these, trees made by other tools
// may still have them.
func TestStatementOfNothing(t *testing.T) {
	f, cs := codelets(t, "t.spu", "codelet c(v: RW variable[f64]) { v = v + 1.0 }\n")
	set := cs[0].Body.Stmts[0].(*syntax.Assign)
	for _, s := range []syntax.Stmt{&syntax.ExprStmt{X: set.Value}, &syntax.Break{}, &syntax.While{}, &syntax.Return{}} {
		cs[0].Body.Stmts[0] = s
		if ds := Check(f, cs[0], signature(cs[0])); len(ds) == 0 || ds[0].Code != "E0105" {
			t.Errorf("%T: %v", s, ds)
		}
	}
}
