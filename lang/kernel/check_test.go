package kernel_test

// Diagnostics of bodies, of lowering and of the analysis.

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel"
	"github.com/starpush/starpush/lang/kernel/kerneltest"
	"github.com/starpush/starpush/lang/syntax"
)

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
			if d := cmp.Diff(tt.want[1:], kerneltest.Show(kerneltest.Check(t, tt.src))); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestDiagnostics compares the first line of each diagnostic with "CODE line:col message".
func TestDiagnostics(t *testing.T) {
	const funcs = `func itself(a: int) -> int { return itself(a) }
func one(a: int) -> int { return other(a) }
func other(a: int) -> int { return one(a) }
func outer(a: int) -> float { return alpha }
let half = 0.5
let count = 1
func constant(a: int) -> float { return half * a }
func changing(a: int) -> int { return count + a }
func printing(a: int) -> int { print(a); return a }
func inserting(a: int) -> int { insert c(); return a }
func lists(a: list[int]) -> int { return a[0] }
func nothing(a: int) { print(a) }
count = 2
`
	const head = "codelet c(n: int, f: float, b: bool, s: string, x: R vector[f64], y: RW vector[f64], k: RW vector[i32], A: RW matrix[f32], v: RW variable[f64], e: RW void, g: RW vector[T], h: T) {\n"
	for _, tt := range []struct{ body, want string }{
		// names
		{"v = alpha", "E0604 2:5 a codelet body cannot use `alpha`, which is a param of the script"},
		{"v = helper(1)", ""},
		// jumps
		{"each i in x { y[i] = 0.0\nif x[i] < 0.0 { continue }\ny[i] = x[i] }", ""},
		{"each i in x { if x[i] < 0.0 { break }\ny[i] = x[i] }", "E0105 2:31 `break` cannot end an `each`, whose rounds run at the same time"},
		{"for i in 0..n { if v > 3.0 { break }\nv += 1.0 }", ""},
		{"while v < 3.0 { v += 1.0\nif b { continue }\nv += 1.0 }", ""},
		{"while v { v += 1.0 }", "E0705 2:7 a condition must be a bool, and this is a float"},
		{"while x[x.n] > 0.0 { v += 1.0 }", "E0601 2:7 `x[x.n]` reads past the end of `x`"},
		{"while b { v += x[x.n] }", "E0601 2:16 `x[x.n]` reads past the end of `x`"},
		{"for i in 1..=x.n { if b { break }\nv += x[i] }", ""},
		{"for i in 1..=x.n { v += x[i]\nif b { break } }", ""},
		{"v = helper", "E0604 2:5 a codelet body cannot use `helper`, which is a function of the script"},
		// funcs
		{"v = helper(f)", "E0703 2:12 `a` must be an int, and this is a float"},
		{"v = helper(b)", "E0705 2:12 `a` is an int, and this value is a bool"},
		{"v = helper()", "E0705 2:5 `helper` needs a value for `a`"},
		{"v = helper(1, 2)", "E0705 2:5 `helper` takes one argument, and 2 were given"},
		{"v = helper(z = 2)", "E0705 2:12 `helper` has no parameter `z`"},
		{"v = helper(1, a = 2)", "E0705 2:15 `a` is given twice"},
		{"v = lists([1])", "E0608 2:5 a codelet body cannot call `lists`: its parameter `a` is no int, float or bool"},
		{"v = nothing(1)", "E0608 2:5 a codelet body cannot call `nothing`: its result is no int, float or bool"},
		{"v = itself(1)", "E0608 7:37 `itself` calls itself, and a codelet body calls it"},
		{"v = one(1)", "E0608 9:36 `one` calls itself through `other`, and a codelet body calls it"},
		{"v = itself(1) + itself(2)", "E0608 7:37 `itself` calls itself, and a codelet body calls it"},
		{"v = outer(1)", "E0604 10:38 a codelet body cannot use `alpha`, which is a param of the script"},
		{"v = constant(1)", ""},
		{"v = changing(1)", "E0604 14:39 a codelet body cannot use `count`, which is a `let` name of the script"},
		{"v = printing(1)", "E0604 15:32 a codelet body cannot use `print`, which is a builtin of scripts"},
		{"v = inserting(1)", "E0105 16:33 a codelet body cannot insert tasks"},
		{"k[0] = constant(1)", "E0703 2:8 `k[0]` is an i32, and this value is a float"},
		{"each i in x { y[i] = constant(i) + (sum j in 0..3 { constant(j) }) }", ""},
		{"v = data[0]", "E0604 2:5 a codelet body cannot use `data`, which is registered data"},
		{"print(v)", "E0604 2:1 a codelet body cannot use `print`, which is a builtin of scripts"},
		{"v = c(1)", "E0604 2:5 a codelet body cannot use `c`, which is a codelet"},
		{"let t = array[f64](8)\nt[0] = 1\nv = t[0] + t[t.n - 1] + sum i in t { t[i] }", ""},
		{"let t = array[T](2 * 4, fill = h)\nt[0] += h\nv = float(t[0])", ""},
		{"let t = array[f64](64)\neach i in y { y[i] = t[i % 64] }", ""},
		{"each i in y { let t = array[i32](3, fill = i)\nfor j in 0..t.n { t[j] += j }\ny[i] = t[i % 3] }", ""},
		{"let t = array[f64](n)\nv = t[0]", "E0609 2:20 the length of an array in a body must be a constant"},
		{"each i in y { let t = array[f64](n)\nt[9] = x[i]\ny[i] = t[9] + float(t.n) + sum j in t { t[j] } }", "E0609 2:34 the length of an array in a body must be a constant"},
		{"let t = array[f64](65)\nv = t[0]", "E0609 2:20 an array in a body has at most 64 elements, and this one has 65"},
		{"let t = array[f64](0)\nv = t[0]", "E0609 2:20 an array has one element or more, and this one has 0"},
		{"let t = array[f64](1.5)\nv = t[0]", "E0703 2:20 the length of an array must be an int, and this is a float"},
		{"let t = array[f64](-1)\nv = t[0]", "E0609 2:20 an array has one element or more, and this one has -1"},
		{"let t = array[int](8)\nv = t[0]", "E0609 2:15 `int` is no type of elements"},
		{"let t = array[string](8)\nv = t[0]", "E0609 2:15 `string` is no type of elements"},
		{"let t = array[U](8)\nv = t[0]", "E0609 2:15 `U` is no type of elements"},
		{"let t = array(8)\nv = t[0]", "E0609 2:9 `array` needs its element type"},
		{"let t = array[f64]\nv = t", "E0609 2:9 an array has its length in parentheses"},
		{"let t = array[f64][8]\nv = t", "E0609 2:9 an array has its length in parentheses"},
		{"let t = array[f64, 8]()\nv = t[0]", "E0609 2:9 an array has the type of its elements in brackets, and its length behind them"},
		{"let t = array[f64]()\nv = t[0]", "E0609 2:9 an array needs its length"},
		{"let t = array[f64](8, 9)\nv = t[0]", "E0609 2:23 an array takes its length, and `fill`"},
		{"let t = array[i32](8, fill = 0.5)\nv = t[0]", "E0703 2:30 the elements are of type i32, and this value is a float"},
		{"let t = array[i32](8, fill = b)\nv = t[0]", "E0705 2:30 `fill` takes numbers, and this is a bool"},
		{"let t: float = array[f64](8)\nv = t[0]", "E0105 2:8 `let` in a codelet body takes its type from its value"},
		{"v = sum i in x { array[f64](8) }", "E0609 2:18 an array gets a name where it is made"},
		{"let t = array[f64](8)\nt[0] = 1", "W0201 2:5 `t` is never used"},
		{"let t = array[f64](8)\nv = t", "E0705 3:5 `t` is an array, and a body computes with elements"},
		{"let t = array[f64](8)\nt = 1", "E0705 3:1 `t` is an array, and a body writes its elements one by one"},
		{"let t = array[f64](8)\nv = t[1, 2]", "E0705 3:5 `t` is an array and takes one index, not 2"},
		{"let t = array[f64](8)\nv = t.rows", "E0705 3:7 an array in a body has no field `rows`"},
		{"let t = array[f64](8)\nv = t.length", "E0705 3:7 an array in a body has no field `length`"},
		{"let t = array[f64](8)\nv = len(t)", "E0705 3:5 the length of `t` is its field"},
		{"let t = array[f64](8)\nv = max(t)", "E0705 3:5 a fold runs over the elements of `t` in a codelet body"},
		{"let t = array[f64](8)\nfor i in t { v = t[i] }", "E0705 3:10 `t` is an array, and this runs over a range"},
		{"let t = array[f64](8)\nv = sum i, j in t { t[i] }", "E0705 3:17 `t` is an array and needs one index"},
		{"let t = array[f64](8)\nv = t(0)", "E0705 3:5 `t` is an array and cannot be called"},
		{"let t = array[f64](8)\nv = helper(t)", "E0705 3:12 `t` is an array, and a body computes with elements"},
		{"let t = array[i32](8)\nt[0] = 0.5\nv = t[0]", "E0703 3:8 `t[0]` is an i32, and this value is a float"},
		{"let t = array[f64](8)\nlet t = 1\nv = t", "E0202 3:5 `t` is declared twice in one block"},
		{"let t = array[f64](8)\nv = t[8]", "E0601 3:5 `t[8]` reads past the end of `t`"},
		{"let t = array[f64](8)\nt[-1] = 0\nv = t[0]", "E0601 3:1 `t[-1]` writes before the start of `t`"},
		{"let t = array[f64](8)\nv = sum i in 0..=t.n { t[i] }", "E0601 3:24 `t[i]` reads past the end of `t`"},
		{"let t = array[f64](8)\neach i in x { t[0] = x[i]\ny[i] = t[0] }", "E0605 3:15 `t` is one array, and every round of `each` writes to it"},
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
		// assignments
		{"x[0] = 1", "E0603 2:1 `x` is declared R, and this writes it"},
		{"each i in x { x[i] = 1 }", "E0603 2:15 `x` is declared R, and this writes it"},
		{"n = 1", "E0204 2:1 `n` is an operand and cannot be assigned"},
		{"for q in 0..3 { q = 1 }", "E0204 2:17 `q` is an index and cannot be assigned"},
		{"y.n = 1\ny[0] = 1", ""},
		{"y.n += 1\ny[y.n - 1] = 1\nv = y.capacity", ""},
		{"y.n = y.capacity\neach i in y { y[i] = 1 }", ""},
		{"each i in y { y.n = 1 }", "E0605 2:15 `y.n` is one value, and every round of `each` writes it"},
		{"y.n = 1.5", "E0703 2:7 `y.n` is an int, and this value is a float"},
		{"y.offset = 1", "E0204 2:1 this cannot be assigned"},
		{"v = y.capacity", "E0705 2:7 `capacity` is for bodies that set `y.n`"},
		{"x.n = 1", "E0603 2:1 `x` is declared R, and this sets its size"},
		{"A.rows = 1", ""},
		{"A.cols = 1", "E0204 2:1 this cannot be assigned"},
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
		// rounds without a guarantee
		{"for i in 1..=x.n { for q in 0..n { v += x[i] } }", ""},
		{"for i in 1..=x.n { for q in i..x.n { v += x[i] } }", ""},
		{"for i in 1..=x.n { for q in 2..x.n { v += x[i] } }", ""},
		{"for i in 1..=x.n { if i < x.n { v += x[i] } }", ""},
		{"for i in 1..=x.n { v += x[i - 1] }", ""},
		{"for i in n..=x.n { v += x[i - 1] }", ""},
		{"for i in 1..=n { v += x[i] }", ""},
	} {
		src := head + tt.body + "\n}\nparam alpha: float = 1.0\nfunc helper(a: int) -> int { return a }\nregister data = vector[f64](3)\n" + funcs
		ds := slices.DeleteFunc(kerneltest.Check(t, src), func(d diag.Diagnostic) bool { return d.Code == "W0608" }) // most rows do not use all operands
		got := ""
		if len(ds) > 0 {
			d := &ds[0]
			got = strings.Join([]string{d.Code, strings.TrimSuffix(strings.SplitN(kerneltest.At(d.Span), "-", 2)[0], " "), d.Message}, " ")
		}
		if got != tt.want {
			t.Errorf("%s\n got  %s\n want %s", tt.body, got, tt.want)
		}
	}
}

// TestDeepNesting: trees that are too deep are reported, and no stack overflows. The parser
// has lower limits, so the test makes the trees itself.
func TestDeepNesting(t *testing.T) {
	f, cs := kerneltest.Codelets(t, "t.spu", "codelet c(v: RW variable[f64]) { v = v + 1.0 }\n")
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
			ds := kernel.Check(f, cs[0], kerneltest.Signature(cs[0]), nil)
			if want := depth > 2000; want != (len(ds) > 0) || len(ds) > 1 {
				t.Errorf("%s, %d deep: %d diagnostics", name, depth, len(ds))
			}
			if len(ds) > 0 {
				continue
			}
			p, err := kernel.Compile(f, cs[0], kerneltest.Signature(cs[0]), nil, kernel.Options{Mode: kernel.Strips})
			if err != nil {
				t.Fatal(err)
			}
			v := 1.0
			if _, err := p.RunTask(&kerneltest.Task{Ctx: context.Background(), Bufs: kerneltest.Buffers(kerneltest.VariableOf(&v))}, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
}
