package check

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/diag/diagtest"
)

// TestMended applies the edits of what is reported about a script, and then nothing is
// reported any more.
func TestMended(t *testing.T) {
	const head = "codelet top(x: R vector[f64], m: RW variable[f64]) { m = max(m, max i in x { x[i] }) }\n" +
		"register x, y = vector[f64](8, fill = 1.0)\nregister v = variable[f64](fill = 0.0)\nprint(x, y, v)\n"
	for _, tt := range []struct{ name, src, want string }{
		{"the reduce that the codelet does",
			"register m = variable[f64]()\ninsert top(R x, REDUX m)\nprint(value(m))\n",
			"register m = variable[f64](reduce = max)\ninsert top(R x, REDUX m)\nprint(value(m))\n"},
		{"% with data", "print(\"v = %f\" % v)\n", "print(f\"v = {value(v):f}\")\n"},
		{"format with data", "print(\"{} {}\".format(v, 3))\n", "print(f\"{value(v)} {3}\")\n"},
		{"printf and its newline", "printf(\"%d, %X\\n\", 3, 10)\n", "print(f\"{3}, {10:X}\")\n"},
		{"printf of a backslash", "printf(\"%d\\\\n\", 3)\n", "print(f\"{3}\\\\n\")\n"},
		{"sprintf keeps its newline", "print(len(sprintf(\"%d\\n\", 3)))\n", "print(len(f\"{3}\\n\"))\n"},
		{"% keeps its newline", "print(len(\"%d\\n\" % 3))\n", "print(len(f\"{3}\\n\"))\n"},
		{"a reducer of another name", "register m = variable[f64](reduce = add)\nprint(m)\n", "register m = variable[f64](reduce = sum)\nprint(m)\n"},
		{"a format for data", "print(f\"{v:.3f} {v}\")\n", "print(f\"{value(v):.3f} {v}\")\n"},
		{"a float added to a whole number",
			"codelet total(x: R vector[f64], s: W variable[f64]) {\n    let a = -1_0\n    for i in 0..x.n { a += x[i] }\n    s = a\n}\ninsert total(R x, W v)\nprint(value(v))\n",
			"codelet total(x: R vector[f64], s: W variable[f64]) {\n    let a = -1_0.0\n    for i in 0..x.n { a += x[i] }\n    s = a\n}\ninsert total(R x, W v)\nprint(value(v))\n"},
		{"two names that change places",
			"let a = x\nlet b = y\nfor t in 0..3 {\n    a, b = b, a\n    print(a, b)\n}\n",
			"let a = x\nlet b = y\nfor t in 0..3 {\n    let last = a\n    a = b\n    b = last\n    print(a, b)\n}\n"},
		{"the old value of a W operand",
			"codelet add(x: R vector[f64], s: W variable[f64]) { s += sum i in x { x[i] } }\ninsert add(R x, W v)\nprint(value(v))\n",
			"codelet add(x: R vector[f64], s: RW variable[f64]) { s += sum i in x { x[i] } }\ninsert add(R x, RW v)\nprint(value(v))\n"},
		{"sizes that are repeated", "partition x by blocks(sizes = [8 / 4] * 4)\n", "partition x by blocks(sizes = [8 // 4 for k in 0..4])\n"},
		{"sizes that are repeated among others", "let k = 6\npartition x by blocks(sizes = [1] + 2 * [(k / 2)] + [1])\n", "let k = 6\npartition x by blocks(sizes = [1] + [(k // 2) for i in 0..2] + [1])\n"},
		{"sizes of a comprehension", "partition x by blocks(sizes = [8 / 4 for k in 0..4])\n", "partition x by blocks(sizes = [8 // 4 for k in 0..4])\n"},
		{"sizes one by one", "partition x by blocks(sizes = [8 / 4, 2, 8 / 2])\n", "partition x by blocks(sizes = [8 // 4, 2, 8 // 2])\n"},
		{"sizes that have a name",
			"let s = [if k == 0 then 8 / 4 + 6 % 4 else 8 / 2 for k in 0..2]\npartition x by blocks(sizes = s)\n",
			"let s = [if k == 0 then 8 // 4 + 6 % 4 else 8 // 2 for k in 0..2]\npartition x by blocks(sizes = s)\n"},
		{"floats that are repeated", "let l: list[float] = [0.5] * 4\nprint(l)\n", "let l: list[float] = [0.5 for k in 0..4]\nprint(l)\n"},
		{"a name that is repeated", "let k = 1\nprint(3 * [k])\n", "let k = 1\nprint([k for i in 0..3])\n"},
		{"a column, a row and a column again",
			"register A = matrix[f64](4, 8, fill = 0)\nfor i in 0..4 {\n    insert top(R A[i, :], RW v)\n    insert top(R A[:, -1], RW v)\n    insert top(R A[:, 2 * i], RW v)\n}\n",
			"register A = matrix[f64](4, 8, fill = 0)\npartition A_rows = A by pick(0)\npartition A_cols = A by pick(1)\nfor i in 0..4 {\n    insert top(R A_rows[i], RW v)\n    insert top(R A_cols[A.cols - 1], RW v)\n    insert top(R A_cols[2 * i], RW v)\n}\n"},
		{"a column that is printed", "register A = matrix[f64](4, 8, fill = 0)\nprint(A[:, 0])\n", "register A = matrix[f64](4, 8, fill = 0)\npartition A_cols = A by pick(1)\nprint(A_cols[0])\n"},
		{"a view whose name is taken",
			"register A = matrix[f64](4, 8, fill = 0)\ninsert top(R A[:, 0], RW v)\nlet A_cols = 3\nprint(A_cols)\n",
			"register A = matrix[f64](4, 8, fill = 0)\npartition cols_of_A = A by pick(1)\ninsert top(R cols_of_A[0], RW v)\nlet A_cols = 3\nprint(A_cols)\n"},
		{"all of an operand", "insert top(R x[:], RW v)\n", "insert top(R x, RW v)\n"},
		{"all elements that are assigned",
			"register A = matrix[f64](4, 8, fill = 0)\ncodelet set(A: RW block[f64], s: RW variable[f64]) { A[:, :, :] = 0.0; s[:] += 1.0 }\ncodelet add(p: RW vector[f64], q: R vector[f64]) { p[:] = q[:] + 2.0 * q * float(q.n) + q[0] }\nA[:] = 1\nv[:] *= 2.0\nlet l = [1, 2]\nl[:] = 3\nprint(l)\nacquire W y as b { b[:] = 0.5 }\n",
			"register A = matrix[f64](4, 8, fill = 0)\ncodelet set(A: RW block[f64], s: RW variable[f64]) { each i, j, k in A { A[i, j, k] = 0.0 }; s += 1.0 }\ncodelet add(p: RW vector[f64], q: R vector[f64]) { each i in p { p[i] = q[i] + 2.0 * q[i] * float(q.n) + q[0] } }\n" +
				"acquire W A as a { for i in 0..a.rows { for j in 0..a.cols { a[i, j] = 1 } } }\nacquire RW v as a { a[0] *= 2.0 }\nlet l = [1, 2]\nfor i in 0..len(l) { l[i] = 3 }\nprint(l)\nacquire W y as b { for i in 0..len(b) { b[i] = 0.5 } }\n"},
		{"slices of arrays",
			"register A = matrix[f64](4, 8, fill = 0)\nacquire R A as a, R x as b {\n    print(a[:, 0])\n    print(a[1, 2:])\n    print(a[0, :-1])\n    print(b[:3])\n    print(a[:, :])\n}\n",
			"register A = matrix[f64](4, 8, fill = 0)\nacquire R A as a, R x as b {\n    print(a[0..a.rows, 0])\n    print(a[1, 2..a.cols])\n    print(a[0, 0..a.cols - 1])\n    print(b[0..3])\n    print(a)\n}\n"},
		{"options in braces", "insert top(R x, RW v) with {\"priority\": 3, name: \"t\"}\n", "insert top(R x, RW v) with priority = 3, name = \"t\"\n"},
		{"options without with", "let t = insert top(R x, RW v) { priority: 3 }\nwait t\n", "let t = insert top(R x, RW v) with priority = 3\nwait t\n"},
		{"options in parentheses", "for k in 0..2 { insert top(R x, RW v) with (priority = k,) }\n", "for k in 0..2 { insert top(R x, RW v) with priority = k }\n"},
		{"an option with a colon", "insert top(R x, RW v) with priority: 3\n", "insert top(R x, RW v) with priority = 3\n"},
		{"a repeated item", "let n = 4\nprint([0; 10], [0.5; n])\nprint([[0; n]; 2])\n", "let n = 4\nprint([0 for k in 0..10], [0.5 for k in 0..n])\nprint([[0 for k in 0..n] for i in 0..2])\n"},
		{"a repeated name", "let k = 4\nprint([true; k])\n", "let k = 4\nprint([true for i in 0..k])\n"},
		{"sizes in brackets", "register A = matrix[f64][4, 8]\nregister b = vector[f64, 8]\nregister C = matrix[f64][2][3]\nregister d = vector[f64][8, fill = 0]\nprint(A, b, C, d)\n",
			"register A = matrix[f64](4, 8)\nregister b = vector[f64](8)\nregister C = matrix[f64](2, 3)\nregister d = vector[f64](8, fill = 0)\nprint(A, b, C, d)\n"},
		{"views that are named as elsewhere",
			"register A = matrix[f64](9, 9, fill = 1)\npartition A by rows(3) as B\nlet C = A by cols(3)\nprint(B[0], C[0])\nregister D = matrix[f64](9, 9, fill = 1)\npartition D, rows(3)\nprint(D[0])\n",
			"register A = matrix[f64](9, 9, fill = 1)\npartition B = A by rows(3)\npartition C = A by cols(3)\nprint(B[0], C[0])\nregister D = matrix[f64](9, 9, fill = 1)\npartition D by rows(3)\nprint(D[0])\n"},
		{"lists of data", "register a[3] = variable[f64](fill = 1)\nlet b = [vector[f64](3, fill = i) for i in 0..2]\nprint(a[0], b[1])\n",
			"register a = [variable[f64](fill = 1) for i in 0..3]\nregister b = [vector[f64](3, fill = i) for i in 0..2]\nprint(a[0], b[1])\n"},
		{"options that lack something",
			"let t = insert top(R x, RW v) priority 2\ninsert top(R x, RW v) sync\ninsert top(R x, RW v) with priority = 1, sync\ninsert top(R x, RW v) with depends = t, where = \"cpu\"\nwait all\n",
			"let t = insert top(R x, RW v) with priority = 2\ninsert top(R x, RW v) with sync = true\ninsert top(R x, RW v) with priority = 1, sync = true\ninsert top(R x, RW v) with after = [t], where = cpu\nwait\n"},
		{"data without elements", "register w = void\nprint(w)\n", "register w = void()\nprint(w)\n"},
		{"the shape of an operand",
			"codelet set(A: W matrix[f64]) { for i in 0..A.shape[0] { for j in 0..A.shape[1] { A[i, j] = 1.0 } } }\nregister A = matrix[f64](2, 3)\ninsert set(W A)\nprint(A)\n",
			"codelet set(A: W matrix[f64]) { for i in 0..A.rows { for j in 0..A.cols { A[i, j] = 1.0 } } }\nregister A = matrix[f64](2, 3)\ninsert set(W A)\nprint(A)\n"},
		{"sizes in brackets behind let", "let b = vector[f64][8]\nprint(b)\n", "register b = vector[f64](8)\nprint(b)\n"},
		{"a function behind insert", "func f(v: vector[f64], n: int) { print(v, n) }\ninsert f(RW x, n = 3)\n", "func f(v: vector[f64], n: int) { print(v, n) }\nf(x, n = 3)\n"},
		{"modes for a function", "func f(v: vector[f64]) { print(v) }\nf(RW x)\n", "func f(v: vector[f64]) { print(v) }\nf(x)\n"},
		{"a task on any device", "insert top(R x, RW v) with where = gpu\n", "insert top(R x, RW v) with where = [cuda, opencl]\n"},
		{"on any device", "insert top(R x, RW v) on gpu\n", "insert top(R x, RW v) with where = [cuda, opencl]\n"},
		{"an operand with its mode behind", "register m = variable[f64](fill = 0)\ninsert top(x: R, m: RW)\nprint(m)\n", "register m = variable[f64](fill = 0)\ninsert top(R x, RW m)\nprint(m)\n"},
		{"angles", "register q = vector<float>(3, fill = 0)\nprint(q)\n", "register q = vector[f64](3, fill = 0)\nprint(q)\n"},
		{"waiting under another name", "wait_all\n", "wait\n"},
		{"comments of one word",
			"register q = vector[f64](4, fill=0) // data\nlet k = 3 // three\nprint(q, k) // done\ninsert top(R x, RW v) // maximum\npartition x by blocks(4) // split\nwait // all\n",
			"register q = vector[f64](4, fill=0) # data\nlet k = 3 # three\nprint(q, k) # done\ninsert top(R x, RW v) # maximum\npartition x by blocks(4) # split\nwait # all\n"},
		{"comments that are literals",
			"register q = vector[f64](4, fill=0) // 3\nlet k = 3 // none\nregister w = vector[f64](4, fill=0) // k\nlet xs = [k] // 3\nprint(q, w, xs) // none\nregister u = vector[f64](4, fill=0) // -3\nprint(u) // f(x)\ninsert top(R x, RW v) // 1\nprint(k) -- 3\n",
			"register q = vector[f64](4, fill=0) # 3\nlet k = 3 # none\nregister w = vector[f64](4, fill=0) # k\nlet xs = [k] # 3\nprint(q, w, xs) # none\nregister u = vector[f64](4, fill=0) # -3\nprint(u) # f(x)\ninsert top(R x, RW v) # 1\nprint(k) # 3\n"},
		{"a comment behind a head", "for i in 0..3 { // loop\n    print(i)\n} // end\n", "for i in 0..3 { # loop\n    print(i)\n} # end\n"},
		{"a border of parts", "partition x by blocks(2, border = 1)\nregister A = matrix[f64](8, 8, fill = 0)\npartition A by tiles(2, 2, overlap = 1)\n",
			"partition x by blocks(2, halo = 1)\nregister A = matrix[f64](8, 8, fill = 0)\npartition A by tiles(2, 2, halo = 1)\n"},
		{"a let that hides what it was to change",
			"let k = 0\nlet done = false\nwhile not done {\n    k += 1\n    let done: bool = k > 5\n}\nfor i in 0..3 { let k = k + i }\nprint(k)\n",
			"let k = 0\nlet done = false\nwhile not done {\n    k += 1\n    done = k > 5\n}\nfor i in 0..3 { k = k + i }\nprint(k)\n"},
		{"a mean is one operand of what is around it",
			"codelet mean(x: R vector[f64], m: W variable[f64]) { m = 2 / mean(x) ** 2 }\ninsert mean(R x, W v)\n",
			"codelet mean(x: R vector[f64], m: W variable[f64]) { m = 2 / (sum i in x { x[i] } / float(x.n)) ** 2 }\ninsert mean(R x, W v)\n"},
		{"a contribution instead of an assignment",
			"codelet last(x: R vector[f64], m: RW variable[f64]) { m = sum i in x { x[i] } }\nregister m = variable[f64](reduce = sum)\ninsert last(R x, REDUX m)\nprint(value(m))\n",
			"codelet last(x: R vector[f64], m: RW variable[f64]) { m += sum i in x { x[i] } }\nregister m = variable[f64](reduce = sum)\ninsert last(R x, REDUX m)\nprint(value(m))\n"},
		{"a largest value instead of an assignment",
			"codelet last(x: R vector[f64], m: RW vector[f64]) { each i in m { m[i] = x[i] } }\nregister m = vector[f64](8, reduce = max)\ninsert last(R x, REDUX m)\nprint(m)\n",
			"codelet last(x: R vector[f64], m: RW vector[f64]) { each i in m { m[i] = max(m[i], x[i]) } }\nregister m = vector[f64](8, reduce = max)\ninsert last(R x, REDUX m)\nprint(m)\n"},
		{"a copy that is cleared",
			"codelet hist(x: R vector[f64], h: RW vector[i64]) {\n    each i in h { h[i] = 0 }\n    for i in 0..x.n { h[int(x[i])] += 1 }\n}\nregister h = vector[i64](8, reduce = sum)\ninsert hist(R x, REDUX h)\nprint(h)\n",
			"codelet hist(x: R vector[f64], h: RW vector[i64]) {\n    for i in 0..x.n { h[int(x[i])] += 1 }\n}\nregister h = vector[i64](8, reduce = sum)\ninsert hist(R x, REDUX h)\nprint(h)\n"},
		{"a copy that is cleared, and declared W",
			"codelet hist(x: R vector[f64], h: W vector[i64]) {\n    each i in h {\n        h[i] = 0\n    }\n    for i in 0..x.n { h[int(x[i])] += 1 }\n}\nregister h = vector[i64](8, reduce = sum)\ninsert hist(R x, REDUX h)\nprint(h)\n",
			"codelet hist(x: R vector[f64], h: RW vector[i64]) {\n    for i in 0..x.n { h[int(x[i])] += 1 }\n}\nregister h = vector[i64](8, reduce = sum)\ninsert hist(R x, REDUX h)\nprint(h)\n"},
		{"a copy that is cleared by a for",
			"codelet hist(x: R vector[f64], h: RW vector[i64]) {\n    for i in 0..h.n {\n        h[i] = 0\n    }\n    for i in 0..x.n { h[int(x[i])] += 1 }\n}\nregister h = vector[i64](8, reduce = sum)\ninsert hist(R x, REDUX h)\nprint(h)\n",
			"codelet hist(x: R vector[f64], h: RW vector[i64]) {\n    for i in 0..x.n { h[int(x[i])] += 1 }\n}\nregister h = vector[i64](8, reduce = sum)\ninsert hist(R x, REDUX h)\nprint(h)\n"},
		{"part of a value that is computed with",
			"codelet decay(x: R vector[f64], m: RW variable[f64]) { m = m * 0.5 + x[0] }\nregister m = variable[f64](fill = 0, reduce = sum)\ninsert decay(R x, REDUX m)\nprint(value(m))\n",
			"codelet decay(x: R vector[f64], m: RW variable[f64]) { m = m * 0.5 + x[0] }\nregister m = variable[f64](fill = 0, reduce = sum)\ninsert decay(R x, RW m)\nprint(value(m))\n"},
		{"part of a value that is only read",
			"codelet spread(m: RW variable[f64], y: W vector[f64]) { each i in y { y[i] = m } }\nregister m = variable[f64](fill = 0, reduce = sum)\ninsert spread(REDUX m, W y)\n",
			"codelet spread(m: R variable[f64], y: W vector[f64]) { each i in y { y[i] = m } }\nregister m = variable[f64](fill = 0, reduce = sum)\ninsert spread(R m, W y)\n"},
		{"sizes without an element type", "register b = vector[8]\nprint(b)\n", "register b = vector[f64](8)\nprint(b)\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := head + tt.src
			var ds diag.Diagnostics
			for range 4 { // what an edit brings to light has edits of its own
				_, ds = Check(testEnv(t, "testdata/modules"), diag.NewSource("case.spu", text))
				var fixes []diag.Fix
				for _, d := range ds {
					fixes = append(fixes, d.Fixes...)
				}
				if len(fixes) == 0 {
					break
				}
				text = diag.Apply("case.spu", text, fixes)
			}
			if d := cmp.Diff(head+tt.want, text); d != "" {
				t.Error(d)
			}
			if len(ds) > 0 {
				t.Errorf("left:\n%s", diagtest.Render(t, ds))
			}
		})
	}
}

// TestModeOrContribution: a mode that is missing may be REDUX where data has a reduction.
func TestModeOrContribution(t *testing.T) {
	for reduce, sure := range map[string]bool{"": true, ", reduce = sum": false} {
		text := "codelet add(x: R vector[f64], s: RW variable[f64]) { s += sum i in x { x[i] } }\nregister x = vector[f64](8, fill = 1.0)\n" +
			"register s = variable[f64](fill = 0" + reduce + ")\ninsert add(R x, s)\nprint(value(s))\n"
		_, ds := Check(testEnv(t, "testdata/modules"), diag.NewSource("case.spu", text))
		if len(ds) != 1 || ds[0].IsSure() != sure {
			t.Errorf("%q: an edit without a doubt: %v\n%s", reduce, !sure, diagtest.Render(t, ds))
		}
	}
}

// TestProductOfMatrices: `*` of two matrices may be meant for the matrices.
func TestProductOfMatrices(t *testing.T) {
	for value, sure := range map[string]bool{"2 * A - B": true, "A * (2 * B)": false, "A / B": true} {
		text := "codelet c(A: R matrix[f64], B: R matrix[f64], C: W matrix[f64]) { C = " + value + " }\n"
		_, ds := Check(testEnv(t, "testdata/modules"), diag.NewSource("case.spu", text))
		if len(ds) != 1 || ds[0].IsSure() != sure {
			t.Errorf("%s: an edit without a doubt: %v\n%s", value, !sure, diagtest.Render(t, ds))
		}
	}
}

// TestMainIsCalled: the call of main follows all that main may use.
func TestMainIsCalled(t *testing.T) {
	const text = "func main() { print(n) }\r\nlet n = 3 # three\r\n# the end\r\n"
	_, ds := Check(testEnv(t, "testdata/modules"), diag.NewSource("case.spu", text))
	if len(ds) != 1 || !ds[0].IsSure() {
		t.Fatalf("not reported:\n%s", diagtest.Render(t, ds))
	}
	got := diag.Apply("case.spu", text, ds[0].Fixes)
	if d := cmp.Diff("func main() { print(n) }\r\nlet n = 3 # three\n\nmain()\r\n# the end\r\n", got); d != "" {
		t.Error(d)
	}
	if _, ds = Check(testEnv(t, "testdata/modules"), diag.NewSource("case.spu", got)); len(ds) > 0 {
		t.Errorf("left:\n%s", diagtest.Render(t, ds))
	}
}
