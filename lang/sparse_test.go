package lang_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
)

// spmvScript multiplies the same matrix, sparse and dense, with a vector.
const spmvScript = `
param file: string
codelet sparse(A: R csr[f64], x: R vector[f64], y: W vector[f64]) {
    each i in y { y[i] = sum k in A.row(i) { A.val[k] * x[A.col[k]] } }
}
codelet in_order(A: R csr[f64], x: R vector[f64], y: W vector[f64]) {
    each i in 0..A.rows {
        let s = 0.0
        for k in A.row(i) { s += A.val[k] * x[A.col[k]] }
        y[i] = s
    }
}
codelet dense(A: R matrix[f64], x: R vector[f64], y: W vector[f64]) {
    each i in 0..A.rows {
        let s = 0.0
        for j in 0..A.cols { if A[i, j] != 0.0 { s += A[i, j] * x[j] } }
        y[i] = s
    }
}
codelet diagonal(A: RW csr[f64], s: RW vector[i64]) {
    for i in 0..A.rows {
        for k in A.row(i) { if A.col[k] == i { A.val[k] = A.val[k] + 1.0 } }
    }
    s[0] = A.rows + 1000 * A.cols
    s[1] = A.nnz
}
codelet ramp(x: W vector[f64]) { each i in x { x[i] = 1.0 + float(i % 7) } }
register A = csr[f64](load = file)
register D = matrix[f64](load = file)
register x, y, z, d = vector[f64](A.cols)
register s = vector[i64](2, fill = 0)
insert ramp(W x)
insert sparse(R A, R x, W y)
insert in_order(R A, R x, W z)
insert dense(R D, R x, W d)
insert diagonal(RW A, RW s)
`

// TestCSR holds products with sparse matrices against those with the dense matrices of the same
// files, for each way to run bodies.
func TestCSR(t *testing.T) {
	ctx := context.Background()
	files := map[string]string{
		"general.mtx": "%%MatrixMarket matrix coordinate real general\n4 4 6\n4 1 1.5\n1 3 2\n1 1 -1\n4 4 0.25\n1 3 3\n2 2 1\n",
		"skew.mtx":    "%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 2\n2 1 5\n3 2 -1\n",
		"pattern.mtx": "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 3\n3 1\n2 2\n3 3\n",
		"array.mtx":   "%%MatrixMarket matrix array integer general\n2 2\n1\n0\n2\n3\n",
		"none.mtx":    "%%MatrixMarket matrix coordinate real general\n3 3 0\n",
	}
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, kernels := range []lang.Kernels{lang.StripKernels, lang.NativeKernels, lang.AutoKernels} {
		prog := compile(t, lang.Config{Kernels: kernels, Files: lang.Dir(".")}, spmvScript)
		for name := range files {
			t.Run(fmt.Sprint(kernels, " ", name), func(t *testing.T) {
				inst, err := prog.Run(ctx, newRuntime(t, engine.Options{Workers: 2}), lang.Param("file", name))
				if err != nil {
					t.Fatal(err)
				}
				defer inst.Close()
				read := func(name string) []float64 {
					a := lang.Must(lang.Acquire[float64](ctx, lang.Must(inst.Handle(name)), lang.R))
					defer a.Release()
					return append([]float64(nil), a.Slice()...)
				}
				y, z, want := read("y"), read("z"), read("d")
				for i := range want {
					if math.Abs(y[i]-want[i]) > 1e-12*math.Abs(want[i]) || z[i] != want[i] {
						t.Fatalf("row %d: %v and %v, want %v", i, y[i], z[i], want[i])
					}
				}
				A := lang.Must(inst.Handle("A"))
				ptr, col := A.Member("ptr"), A.Member("col")
				if A.Member("rows") != nil || ptr.Name() != "A.ptr" || ptr.Member("ptr") != nil || A.Name() != "A" {
					t.Errorf("members of %v: %v, %v", A, A.Member("rows"), ptr)
				}
				s := lang.Must(lang.Acquire[int64](ctx, lang.Must(inst.Handle("s")), lang.R))
				defer s.Release()
				n := int64(len(want))
				if s.Slice()[0] != n+1000*n || s.Slice()[1] != int64(col.Shape()[0]) || ptr.Shape()[0] != len(want)+1 {
					t.Errorf("sizes %v, with %v entries in %v rows", s.Slice(), col.Shape(), ptr.Shape())
				}
			})
		}
	}
}

// TestCSRRows writes values row by row, in an each and in order, for each way to run bodies.
func TestCSRRows(t *testing.T) {
	const script = `
param short: int = 0
codelet ramp(A: W csr[f64]) { each k in A.val { A.val[k] = 1.0 + float(k % 5) } }
codelet balance(A: RW csr[f64], d: R vector[f64], s: W vector[f64]) {
    each i in 0..A.rows {
        let t = 0.0
        for k in A.row(i) { t += A.val[k] }
        s[i] = t
        for k in A.row(i) { if t > 4.0 { A.val[k] = A.val[k] * d[A.col[k]] / t } }
    }
}
codelet balance_in_order(A: RW csr[f64], d: R vector[f64], s: W vector[f64]) {
    for i in 0..A.rows {
        let t = 0.0
        for k in A.row(i) { t += A.val[k] }
        s[i] = t
        for k in A.row(i) { if t > 4.0 { A.val[k] = A.val[k] * d[A.col[k]] / t } }
    }
}
codelet backwards(A: RW csr[f64]) {
    each i in 0..A.rows {
        let r = A.rows - 1 - i
        for k in A.row(r) { A.val[k] += float(r) + sum m in A.row(A.rows - i - 1) { float(A.col[m]) } }
    }
}
codelet backwards_in_order(A: RW csr[f64]) {
    for i in 0..A.rows {
        for k in A.row(i) { A.val[k] += float(i) + sum m in A.row(i) { float(A.col[m]) } }
    }
}
let ptr = [0]
let col = []
for i in 0..50 {
    for j in 0..(i * i) % 11 + (if i == 20 then 80 else 0) { col += [j] }
    ptr += [len(col)]
}
register A, B = csr[f64](50, 100, ptr = ptr, col = col)
register d = vector[f64](list = [0.5 + float(k) for k in 0..100 - short])
register s, t = vector[f64](50)
partition A by rows(3)
partition s by blocks(sizes = [A[b].rows for b in 0..3])
insert ramp(W A)
insert ramp(W B)
for b in 0..3 { insert balance(RW A[b], R d, W s[b]) }
insert balance_in_order(RW B, R d, W t)
for b in 0..3 { insert backwards(RW A[b]) }
for b in 0..3 { insert backwards(RW A[b]) }
partition B by rows(3)
for b in 0..3 { insert backwards_in_order(RW B[b]) }
for b in 0..3 { insert backwards_in_order(RW B[b]) }
acquire R A.val as a, R B.val as b, R s as u, R t as v {
    for k in 0..len(a) { assert a[k] == b[k], f"value {k}: {a[k]} and {b[k]}" }
    for k in 0..len(u) { assert u[k] == v[k] }
}
`
	for _, kernels := range []lang.Kernels{lang.StripKernels, lang.NativeKernels, lang.AutoKernels} {
		prog := compile(t, lang.Config{Kernels: kernels}, script)
		for _, short := range []int{0, 1, 60} {
			inst, err := prog.Run(context.Background(), newRuntime(t, engine.Options{Workers: 2}), lang.Param("short", short))
			if err == nil {
				inst.Close()
			}
			if wrong := err != nil; wrong != (short == 60) || wrong && !strings.Contains(err.Error(), "is outside `d`, which has 40 elements") {
				t.Errorf("%v, %d elements less: %v", kernels, short, err)
			}
		}
	}
	for _, c := range []struct{ body, want string }{
		{"for k in A.row(i) { A.val[k] = A.val[k] + 1.0 }", ""},
		{"let r = A.rows - 1 - i\nfor k in A.row(r) { A.val[k] = sum m in A.row(r) { A.val[m] } }", ""},
		{"for k in A.row(0) { A.val[k] = 1.0 }", "E0602"},
		{"for k in A.row(A.col[i]) { A.val[k] = 1.0 }", "E0602"},
		{"for k in A.row(i) { A.val[k] = A.val[k + 1] }", "E0602"},
		{"for k in A.row(i) { A.val[k + 1] = 1.0 }", "E0602"},
		{"for k in A.row(i) { A.val[k] = sum m in A.row(i + 1) { A.val[m] } }", "E0602"},
		{"for k in B.row(i) { A.val[k] = 1.0 }", "E0602"},
		{"for j in 0..2 { for k in A.row(i + j) { A.val[k] = 1.0 } }", "E0602"},
		{"for k in A.ptr[i]..A.ptr[i + 1] { A.val[k] = 1.0 }", "E0602"},
		{"for k in 0..A.nnz { A.val[k] = 1.0 }", "E0602"},
		{"A.val[A.ptr[i]] = 1.0", "E0602"},
	} {
		text := "codelet c(A: RW csr[f64], B: R csr[f64]) { each i in 0..A.rows { " + c.body + " } }\n"
		_, ds := lang.Must(lang.NewCompiler(lang.Config{})).Compile(context.Background(), "rows.spu", []byte(text))
		if got := fmt.Sprint(ds.Err()); (c.want == "") != (ds.Err() == nil) || !strings.Contains(got, c.want) {
			t.Errorf("%s\ngot %s, want %q", c.body, got, c.want)
		}
	}
}

// TestCSRStructure registers sparse matrices with structures of other data, which tasks write before.
func TestCSRStructure(t *testing.T) {
	const script = `
param n: int = 9
codelet ramp(A: W csr[f64]) { each k in A.val { A.val[k] = 1.0 + float(k) } }
codelet backwards(p: W vector[i64]) { each i in p { p[i] = p.n - 1 - i } }
codelet stripes(M: W matrix[f32]) { each i, j in M { M[i, j] = if (i + 2 * j) % 3 == 0 then float(i + 1) else 0.0 } }
func pattern(A: csr[f64]) -> list[int] {
    let out = []
    acquire R A.ptr as p, R A.col as c {
        for i in 0..A.rows { for k in p[i]..p[i + 1] { out += [i * A.cols + c[k - p[0]]] } }
    }
    return out
}
register A = csr[f64](2, n, ptr = [0, 2, n], col = [1, 3] + [j for j in 2..n])
register B = csr[f64](2, n, ptr = [0, 1, 2], col = [0, 2], fill = 0.5)
insert ramp(W A)
register same = csr[f64](like = A, fill = 0)
register both = csr[f64](like = [A, B, same], fill = 0)
register turned = csr[f64](n, 2, transposed = A, val = [float(k) for k in 0..A.nnz])
assert pattern(same) == pattern(A)
assert pattern(both) == [0, 1, 3] + [n + j for j in 2..n], f"{pattern(both)}"
let want = []
for j in 0..n { for i in 0..2 { if (i == 0 and (j == 1 or j == 3)) or (i == 1 and j >= 2) { want += [j * 2 + i] } } }
assert pattern(turned) == want, f"{pattern(turned)}"

partition A by rows(2)
register second = csr[f64](like = A[1], fill = 0)
assert pattern(second) == [j for j in 2..n] and second.rows == 1
register slab = csr[f64](transposed = A[1], fill = 0)
assert pattern(slab) == [j for j in 2..n] and slab.cols == 1

register S = csr[f64](3, 3, ptr = [0, 2, 3, 3], col = [0, 2, 0], fill = 1)
register p = vector[i64](3)
insert backwards(W p)
register R1 = csr[f64](like = S, order = p, fill = 0)
assert pattern(R1) == [5, 6, 8], f"{pattern(R1)}"

register M = matrix[f32](4, n, ld = n + 3)
insert stripes(W M)
register D = csr[f32](dense = M)
partition M by rows(2)
register E = csr[f32](dense = M[1])
insert stripes(W M[0])
acquire R D.ptr as q, R D.col as c, R D.val as v, R M as m {
    let k = 0
    for i in 0..4 { for j in 0..n { if (i + 2 * j) % 3 == 0 {
        assert c[k] == j and v[k] == i + 1, f"entry {k}"
        k += 1
    } } }
    assert q[4] == k
}
print(E)
register all = [csr[f64](like = x, fill = 1) for x in [A, B]]
print([x.nnz for x in all])
`
	prog := compile(t, lang.Config{}, script)
	for _, rt := range []*engine.Runtime{newRuntime(t, engine.Options{Workers: 3}), newRuntime(t, engine.Options{Workers: 1, Sequential: true})} {
		var out bytes.Buffer
		inst, err := prog.Run(context.Background(), rt, lang.Stdout(&out))
		if err != nil {
			t.Fatalf("%+v", err)
		}
		inst.Close()
		if want := "csr[f32] 2 x 9, 6 entries:\n  0:  2: 3.0  5: 3.0  8: 3.0\n  1:  0: 4.0  3: 4.0  6: 4.0\n[9, 2]\n"; out.String() != want {
			t.Errorf("printed %q, want %q", out.String(), want)
		}
	}
	const head = "register A = csr[f64](2, 2, ptr = [0, 1, 2], col = [1, 0], fill = 1)\nregister M = matrix[f32](2, 2, fill = 0)\nregister p = vector[i32](list = [0, 0])\n" +
		"register W3 = csr[f64](2, 3, ptr = [0, 1, 2], col = [1, 0], fill = 1)\nregister u = vector[i32](2)\nregister q = vector[i64](list = [5, 0])\nlet empty = [A][0..0]\n"
	for _, c := range []struct{ args, want string }{
		{"like = A, transposed = A", "`transposed` and `like` both give the csr its structure"},
		{"like = A, load = \"a.mtx\"", "`like` and `load` both give the csr its structure"},
		{"2, 2, like = A, ptr = [0, 0, 0], col = []", "`ptr` and `like` both give the csr its structure"},
		{"dense = M", "`dense` must be a matrix[f64], as its values are those of the csr, and this is a matrix[f32]"},
		{"dense = A", "`dense` must be a matrix, and this is a csr[f64]"},
		{"like = M", "`like` must be a csr, or a list of some, and this is a matrix[f32]"},
		{"transposed = [A]", "`transposed` must be a csr, and this is a list[csr[f64]]"},
		{"like = A, order = [1, 0]", "`order` must be a vector of i32 or i64, and this is a list[int]"},
		{"transposed = A, order = p", "`order` puts the rows and columns of another csr in order, and there is none"},
		{"like = A, order = u", "E0401"},
		{"like = A, order = p", "elements 0 and 1 of `order` are both 0"},
		{"like = A, order = q", "element 0 of `order` is 5, and the csr has the rows 0 to 1"},
		{"like = W3, order = p", "`order` is for a square csr, and this one is 2 x 3"},
		{"like = [A, W3]", "`like` has a csr of 2 x 2 and one of 2 x 3"},
		{"like = empty", "`like` is an empty list"},
		{"3, 2, like = A", "the csr is 3 x 2, and the data that gives it its structure makes 2 x 2"},
		{"like = A, val = [1.0]", "the list has 1 item, and the data 2 elements"},
	} {
		prog, ds := lang.Must(lang.NewCompiler(lang.Config{Files: lang.Dir(".")})).Compile(context.Background(), "wrong.spu", []byte(head+"register C = csr[f64]("+c.args+")\nprint(C)\n"))
		err := ds.Err()
		if err == nil {
			var inst *lang.Instance
			if inst, err = prog.Run(context.Background(), newRuntime(t, engine.Options{Workers: 1})); err == nil {
				inst.Close()
			}
		}
		if err == nil || !strings.Contains(fmt.Sprintf("%+v", err), c.want) {
			t.Errorf("%s:\ngot %v\nwant %s", c.args, err, c.want)
		}
	}
}

// TestCSRViews multiplies slabs of rows of sparse matrices, and holds the parts against the whole.
func TestCSRViews(t *testing.T) {
	const script = `
param rows: int = 9
param parts: int = 1
codelet spmv(A: R csr[f64], x: R vector[f64], y: RW vector[f64]) {
    for i in 0..A.rows { y[A.row0 + i] = sum k in A.row(i) { A.val[k] * x[A.col[k]] } }
}
codelet slab(A: R csr[f64], x: R vector[f64], y: W vector[f64]) {
    each i in y { y[i] = sum k in A.row(i) { A.val[k] * x[A.col[k]] } }
}
codelet add(A: RW csr[f64], c: f64) { each k in A.val { A.val[k] += c } }
codelet add_all(v: RW vector[f64], c: f64) { each k in v { v[k] += c } }
func sizes(v: view[csr[f64]]) -> list[int] { return [p.rows for p in v.parts] }
# Row i has i % 4 entries, and row 5 six more.
let ptr = [0]
let col = []
for i in 0..rows {
    let n = i % 4 + (if i == 5 then 6 else 0)
    for j in 0..n { col += [2 * j] }
    ptr += [ptr[i] + n]
}
register A = csr[f64](rows, 14, ptr = ptr, col = col, val = [float(k % 5) for k in 0..len(col)])
register x = vector[f64](list = [1.0 + float(k) for k in 0..14])
register y, z, u = vector[f64](rows, fill = 0)
partition byrows = A by rows(parts)
partition A by nonzeros(parts)
partition yr = y by blocks(sizes = sizes(byrows))
partition zn = z by blocks(sizes = [A[p].rows for p in 0..parts])
for r in 0..2 {
    for p in 0..parts {
        insert slab(R byrows[p], R x, W yr[p])
        insert slab(R A[p], R x, W zn[p])
    }
    insert spmv(R A, R x, RW u)
    acquire R y as a, R z as b, R u as c {
        for i in 0..rows { assert a[i] == c[i] and b[i] == c[i], f"row {i}: {a[i]} {b[i]} {c[i]}" }
    }
    # Each value gets 3, in parts of both views and as a whole, in this order.
    for p in 0..parts { insert add(RW byrows[p], 1.0) }
    insert add_all(RW A.val, 1.0)
    for p in 0..parts { insert add(COMMUTE A[p], 1.0) }
}
acquire R A.val as v { for k in 0..len(v) { assert v[k] == float(k % 5) + 6.0 } }
for p in byrows.parts {
    let n = 0
    for i in 0..p.rows { n += ptr[p.row0 + i + 1] - ptr[p.row0 + i] }
    assert p.nnz == n and p.val.n == n and p.col.n == n and p.ptr.n == p.rows + 1 and p.cols == 14
}
if byrows[0].rows > 1 {
    partition twice = byrows[0] by rows(2)
    assert twice[1].row0 == twice[0].rows and twice[0].nnz + twice[1].nnz == byrows[0].nnz
}
partition nested = A by rows(3) then nonzeros(2)
let most = 0
for p in 0..parts { most = max(most, A[p].nnz) }
print(nested.count, most)
unpartition byrows
unpartition A
`
	ctx := context.Background()
	prog := compile(t, lang.Config{}, script)
	for _, rt := range []*engine.Runtime{newRuntime(t, engine.Options{Workers: 3}), newRuntime(t, engine.Options{Workers: 1, Sequential: true})} {
		for _, parts := range []int{1, 2, 3, 5, 9} {
			var out bytes.Buffer
			inst, err := prog.Run(ctx, rt, lang.Param("parts", parts), lang.Stdout(&out))
			if err != nil {
				t.Fatalf("%d parts: %+v", parts, err)
			}
			inst.Close()
			most := map[int]int{1: 18, 2: 12, 3: 7, 5: 7, 9: 7}[parts] // the row of 7 entries bounds it
			if want := fmt.Sprintf("6 %d\n", most); out.String() != want {
				t.Errorf("%d parts: %q, want %q", parts, out.String(), want)
			}
		}
	}
}

// TestCSRHost runs codelets of the program on a sparse matrix.
func TestCSRHost(t *testing.T) {
	spmv := lang.Must(lang.NewCodelet("spmv(A: R csr[f64], x: R vector[f64], y: W vector[f64])",
		lang.CPUFunc(func(ptr []int64, col []int32, val []float64, cols int, x, y []float64) {
			for i := range y {
				y[i] = float64(cols)
				for k := ptr[i] - ptr[0]; k < ptr[i+1]-ptr[0]; k++ {
					y[i] += val[k] * x[col[k]]
				}
			}
		})))
	scale := lang.Must(lang.NewCodelet("scale(A: RW csr[f64], f: float)", lang.CPU(func(t *lang.Task) error {
		for k := range lang.Buf[float64](t, 2).Slice() {
			lang.Buf[float64](t, 2).Slice()[k] *= lang.Arg[float64](t, "f")
		}
		return nil
	})))
	comp := lang.Must(lang.NewCompiler(lang.Config{Codelets: []*lang.Codelet{spmv, scale}}))
	prog, ds := comp.Compile(context.Background(), "host.spu", []byte(`
register A = csr[f64](2, 3, ptr = [0, 2, 3], col = [0, 2, 1], val = [1, 2, 3])
register x = vector[f64](3, fill = 1)
register y = vector[f64](2)
insert scale(RW A, 2.0)
insert spmv(R A, R x, W y)
print(y)
`))
	if err := ds.Err(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	inst, err := prog.Run(context.Background(), newRuntime(t, engine.Options{Workers: 2}), lang.Stdout(&out))
	if err != nil {
		t.Fatal(err)
	}
	inst.Close()
	if want := "vector[f64] 2: 9.0 9.0\n"; out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}

// TestCSRFilter splits a sparse matrix by a filter of the program.
func TestCSRFilter(t *testing.T) {
	for _, c := range []struct {
		boxes      []lang.Box
		out, wrong string
	}{
		{[]lang.Box{{Lo: []int{1, 0}, Hi: []int{3, 2}}, {Lo: []int{0, 0}, Hi: []int{2, 2}}}, "[2, 2] [1, 0] [2, 2]\n", ""},
		{[]lang.Box{{Lo: []int{0, 1}, Hi: []int{3, 2}}}, "", "part 0 has columns 1 to 2; parts of a csr are whole rows, of 2 columns"},
		{[]lang.Box{{Lo: []int{0, 0}, Hi: []int{4, 2}}}, "", "part 0 covers 0..4 of axis 0, which has 3 elements"},
		{[]lang.Box{{Lo: []int{2, 0}, Hi: []int{1, 2}}}, "", "part 0 covers 2..1"},
		{nil, "", "E0505"},
	} {
		rows := lang.Must(lang.NewFilter("some(A: csr[T]) -> csr[T]", func([]int, []any) ([]lang.Box, error) { return c.boxes, nil }))
		prog := compile(t, lang.Config{Filters: []*lang.Filter{rows}}, `
register A = csr[f64](3, 2, ptr = [0, 1, 1, 2], col = [1, 0], fill = 1)
partition v = A by some()
print([p.rows for p in v.parts], [p.row0 for p in v.parts], [p.nnz + p.rows - 1 for p in v.parts])
`)
		var out bytes.Buffer
		inst, err := prog.Run(context.Background(), newRuntime(t, engine.Options{Workers: 1}), lang.Stdout(&out))
		if err == nil {
			inst.Close()
		}
		if out.String() != c.out || c.wrong == "" && err != nil || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
			t.Errorf("%v: printed %q and returned %v, want %q and %q", c.boxes, out.String(), err, c.out, c.wrong)
		}
	}
}

// formatsScript holds products with a matrix in all formats, in parts and as a whole, against the dense one.
const formatsScript = `
param file: string
param parts: int = 1
codelet csr_spmv(A: R csr[f64], x: R vector[f64], y: W vector[f64]) with flops = 2.0 * A.nnz {
    each i in y { y[i] = sum k in A.row(i) { A.val[k] * x[A.col[k]] } }
}
codelet csc_spmv(A: R csc[f64], x: R vector[f64], y: RW vector[f64]) {
    for j in 0..A.cols {
        for k in A.col(j) { y[A.row[k]] += A.val[k] * x[A.col0 + j] }
    }
}
codelet coo_spmv(A: R coo[f64], x: R vector[f64], y: RW vector[f64]) {
    for k in 0..A.nnz { y[A.row[k]] += A.val[k] * x[A.col[k]] }
}
codelet bcsr_spmv(A: R bcsr[f64], x: R vector[f64], y: W vector[f64]) with flops = 2.0 * A.nnz {
    each i in y { y[i] = sum k in A.row(i // A.r) { sum j in 0..A.c { A.val[k, i % A.r, j] * x[A.col[k] * A.c + j] } } }
}
codelet dense(A: R matrix[f64], x: R vector[f64], y: W vector[f64]) {
    each i in y { y[i] = sum j in 0..A.cols { A[i, j] * x[j] } }
}
codelet ramp(x: W vector[f64]) { each i in x { x[i] = 1.0 + float(i % 7) } }
codelet sizes(A: R csr[f64], B: R csc[f64], C: R coo[f64], D: R bcsr[f64], s: W vector[i64]) {
    s[0] = A.rows + 1000 * A.cols + 1000000 * A.nnz + A.row0
    s[1] = B.rows + 1000 * B.cols + 1000000 * B.nnz + B.col0
    s[2] = C.rows + 1000 * C.cols + 1000000 * C.nnz
    s[3] = D.rows + 1000 * D.cols + 1000000 * D.nnz + D.row0
    s[4] = D.r + 10 * D.c
}
codelet add(v: RW vector[f64], c: f64) { each k in v { v[k] += c } }
codelet add_csc(A: RW csc[f64]) { each k in A.val { A.val[k] += 1.0 } }
codelet add_coo(A: RW coo[f64]) { each k in A.val { A.val[k] += 1.0 } }
codelet add_bcsr(A: RW bcsr[f64]) { each k, i, j in A.val { A.val[k, i, j] += 1.0 } }
codelet add_tile(t: RW matrix[f64]) { each i, j in t { t[i, j] += 1.0 } }
func near(a: list[float], b: list[float]) -> bool {
    for i in 0..len(b) { if not close(a[i], b[i], tol = 1e-12) { return false } }
    return true
}

register A = csr[f64](load = file)
register B = csc[f64](load = file)
register C = coo[f64](load = file)
register D = bcsr[f64](r = 2, c = 3, load = file)
register M = matrix[f64](load = file)
register x = vector[f64](D.cols)
register y, a = vector[f64](A.rows)
register b, c = vector[f64](A.rows, fill = 0)
register d = vector[f64](D.rows)
insert ramp(W x)
insert dense(R M, R x, W y)
insert csr_spmv(R A, R x, W a)
insert bcsr_spmv(R D, R x, W d)
partition strips = B by nonzeros(min(parts, B.cols))
for p in strips.parts { insert csc_spmv(R p, R x, RW b) }
partition pieces = C by entries(min(parts, C.nnz))
for p in pieces.parts { insert coo_spmv(R p, R x, RW c) }
partition slabs = D by rows(min(parts, D.rows // D.r))
partition ds = d by blocks(sizes = [p.rows for p in slabs.parts])
for p in 0..slabs.count { insert bcsr_spmv(R slabs[p], R x, W ds[p]) }
acquire R y as v, R a as va, R b as vb, R c as vc, R d as vd {
    for i in 0..A.rows {
        let s = v[i]
        assert close(va[i], s) and close(vb[i], s) and close(vc[i], s) and close(vd[i], s), f"row {i}: {s}, {va[i]} {vb[i]} {vc[i]} {vd[i]}"
    }
}

register s = vector[i64](5)
insert sizes(R A, R B, R C, R D, W s)
acquire R s as v {
    assert v[0] == A.rows + 1000 * A.cols + 1000000 * A.nnz
    assert v[1] == v[0] and v[2] == v[0]
    assert v[3] == D.rows + 1000 * D.cols + 1000000 * D.nnz and v[4] == 32
}
let seen = 0
for p in strips.parts {
    assert p.rows == B.rows and p.val.n == p.nnz and p.row.n == p.nnz and p.ptr.n == p.cols + 1 and p.col0 == seen
    seen += p.cols
}
assert seen == B.cols

# Each value gets 3: in parts, by an array, and in parts of other views.
partition halves = B by cols(min(2, B.cols))
for p in halves.parts { insert add_csc(RW p) }
insert add(RW B.val, 1.0)
for p in strips.parts { insert add_csc(COMMUTE p) }
for p in pieces.parts { insert add_coo(RW p) }
insert add(RW C.val, 2.0)
partition bn = D by nonzeros(min(2, D.rows // D.r))
for p in bn.parts { insert add_bcsr(RW p) }
partition tiles = D.val by pick(0)
for t in tiles.parts { insert add_tile(RW t) }
insert add_bcsr(RW D)
# Those of blocks are added to zeros, too: what is not an entry of A has 3 in them.
register B2 = csr[f64](from = B)
register C2 = csr[f64](from = C)
register D2 = csr[f64](from = D)
acquire R A.val as va, R B2.val as vb, R C2.val as vc, R D2.ptr as p, R D2.col as dc, R D2.val as vd, R A.ptr as ap, R A.col as ac {
    for k in 0..A.nnz { assert vb[k] == va[k] + 3.0 and vc[k] == vb[k], f"entry {k}: {va[k]} {vb[k]} {vc[k]}" }
    for i in 0..A.rows {
        let l = p[i]
        for k in ap[i]..ap[i + 1] {
            while dc[l] < ac[k] { l += 1 }
            assert dc[l] == ac[k] and vd[l] == va[k] + 3.0
        }
    }
}
save(B, "b.mtx")
save(C, "c.mtx")
save(D, "d.mtx")
register B3 = csr[f64](load = "b.mtx")
register C3 = coo[f64](load = "c.mtx")
register D3 = bcsr[f64](r = 2, c = 3, load = "d.mtx")
acquire R B2.val as u, R B3.val as v { for k in 0..len(u) { assert u[k] == v[k] } }
acquire R C.val as u, R C3.val as v { for k in 0..len(u) { assert u[k] == v[k] } }
acquire R D.val as u, R D3.val as v { for k in 0..D.val.nx { for i in 0..2 { for j in 0..3 { assert u[k, i, j] == v[k, i, j] } } } }
`

// TestSparseFormats multiplies matrices in all formats, for each way to run bodies, and changes parts of them.
func TestSparseFormats(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	t.Chdir(dir)
	files := map[string]string{
		"small.mtx": "%%MatrixMarket matrix coordinate real general\n4 4 6\n4 1 1.5\n1 3 2\n1 1 -1\n4 4 0.25\n1 2 3\n2 2 1\n",
		"one.mtx":   "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1.5\n",
		"wide.mtx":  "%%MatrixMarket matrix coordinate integer general\n2 9 4\n1 9 3\n2 1 4\n2 8 1\n1 4 2\n",
	}
	var band strings.Builder
	n := 0
	for i := 1; i <= 30; i++ {
		for j := max(1, i-3); j <= i; j += 1 + i%2 {
			fmt.Fprintf(&band, "%d %d %d.5\n", i, j, i-2*j)
			n++
		}
	}
	files["band.mtx"] = fmt.Sprintf("%%%%MatrixMarket matrix coordinate real symmetric\n30 30 %d\n%s", n, band.String())
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, kernels := range []lang.Kernels{lang.StripKernels, lang.NativeKernels} {
		prog := compile(t, lang.Config{Kernels: kernels, Files: lang.Dir(".")}, formatsScript)
		for _, rt := range []*engine.Runtime{newRuntime(t, engine.Options{Workers: 3}), newRuntime(t, engine.Options{Workers: 1, Sequential: true})} {
			for name := range files {
				for _, parts := range []int{1, 2, 5} {
					inst, err := prog.Run(ctx, rt, lang.Param("file", name), lang.Param("parts", parts))
					if err != nil {
						t.Fatalf("%v, %s, %d parts: %+v", kernels, name, parts, err)
					}
					inst.Close()
				}
			}
		}
	}
}

// solveScript solves A x = b by conjugate gradients, with the same matrix in every format.
const solveScript = `
param file: string
codelet csr_spmv(A: R csr[f64], x: R vector[f64], y: W vector[f64]) {
    each i in y { y[i] = sum k in A.row(i) { A.val[k] * x[A.col[k]] } }
}
codelet csc_spmv(A: R csc[f64], x: R vector[f64], y: W vector[f64]) {
    each i in y { y[i] = 0.0 }
    for j in 0..A.cols { for k in A.col(j) { y[A.row[k]] += A.val[k] * x[j] } }
}
codelet coo_spmv(A: R coo[f64], x: R vector[f64], y: W vector[f64]) {
    each i in y { y[i] = 0.0 }
    for k in 0..A.nnz { y[A.row[k]] += A.val[k] * x[A.col[k]] }
}
codelet bcsr_spmv(A: R bcsr[f64], x: R vector[f64], y: W vector[f64]) {
    each i in y { y[i] = sum k in A.row(i // A.r) { sum j in 0..A.c { A.val[k, i % A.r, j] * x[A.col[k] * A.c + j] } } }
}
codelet dense_spmv(A: R matrix[f64], x: R vector[f64], y: W vector[f64]) {
    each i in y { y[i] = sum j in 0..A.cols { A[i, j] * x[j] } }
}
# The matrix is scaled to a unit diagonal, and made well conditioned: D^-1/2 A D^-1/2 + I.
codelet diagonal(A: R csr[f64], d: W vector[f64]) {
    each i in d { d[i] = sum k in A.row(i) { if A.col[k] == i then A.val[k] else 0.0 } }
}
codelet shift(d: R vector[f64], A: RW csr[f64]) {
    for i in 0..A.rows {
        for k in A.row(i) {
            A.val[k] = A.val[k] / sqrt(d[i] * d[A.col[k]])
            if A.col[k] == i { A.val[k] += 1.0 }
        }
    }
}
codelet ones(b: W vector[f64], n: i64) { each i in b { b[i] = if i < n then 1.0 else 0.0 } }
codelet copy(x: R vector[f64], y: W vector[f64]) { each i in y { y[i] = x[i] } }
codelet dot(x: R vector[f64], y: R vector[f64], s: W variable[f64]) { s = sum i in x { x[i] * y[i] } }
codelet step(rr: R variable[f64], pq: R variable[f64], p: R vector[f64], q: R vector[f64], x: RW vector[f64], r: RW vector[f64]) {
    each i in x { let a = if pq == 0.0 then 0.0 else rr / pq
        x[i] += a * p[i]
        r[i] -= a * q[i]
    }
}
codelet next(r: R vector[f64], new: R variable[f64], rr: R variable[f64], p: RW vector[f64]) {
    each i in p { p[i] = r[i] + (if rr == 0.0 then 0.0 else new / rr) * p[i] }
}
register A = csr[f64](load = file)
register dg = vector[f64](A.rows)
insert diagonal(R A, W dg)
insert shift(R dg, RW A)
register B = csc[f64](from = A)
register C = coo[f64](from = A)
register D = bcsr[f64](r = 3, c = 2, from = A)
register M = matrix[f64](from = A)
let rows = A.rows
let padded = max(D.rows, D.cols)
register D6 = bcsr[f64](r = 3, c = 3, from = A)
register xs = [vector[f64](n) for n in [rows, rows, rows, D6.rows, rows]]
for f in 0..5 {
    let n = xs[f].n
    register r, p, q = vector[f64](n)
    register rr, pq, new = variable[f64](fill = 0)
    insert ones(W r, rows)
    insert copy(R r, W p)
    insert ones(W xs[f], 0)
    for it in 0..80 {
        if f == 0 { insert csr_spmv(R A, R p, W q) }
        if f == 1 { insert csc_spmv(R B, R p, W q) }
        if f == 2 { insert coo_spmv(R C, R p, W q) }
        if f == 3 { insert bcsr_spmv(R D6, R p, W q) }
        if f == 4 { insert dense_spmv(R M, R p, W q) }
        insert dot(R r, R r, W rr)
        insert dot(R p, R q, W pq)
        insert step(R rr, R pq, R p, R q, RW xs[f], RW r)
        insert dot(R r, R r, W new)
        insert next(R r, R new, R rr, RW p)
    }
    wait
    assert value(new) < 1e-24 * rows, f"format {f} has a residual of {value(new)}"
}
acquire R xs[0] as a, R xs[1] as b, R xs[2] as c, R xs[3] as d, R xs[4] as e {
    for i in 0..rows {
        for v in [b[i], c[i], d[i], e[i]] { assert abs(v - a[i]) <= 1e-10, f"row {i}: {a[i]} and {v}" }
    }
}
`

// TestSparseSolve solves a system with the matrix of a structure in all formats.
func TestSparseSolve(t *testing.T) {
	files := lang.Dir("../tests/testdata")
	prog := compile(t, lang.Config{Kernels: lang.NativeKernels, Files: files}, solveScript)
	inst, err := prog.Run(context.Background(), newRuntime(t, engine.Options{Workers: 2}), lang.Param("file", "bcsstk13.mtx"))
	if err != nil {
		t.Fatalf("%+v", err)
	}
	inst.Close()
}

// TestSparseBind brings sparse matrices of the program and of files to a script.
func TestSparseBind(t *testing.T) {
	ctx := context.Background()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("a.mtx", []byte("%%MatrixMarket matrix coordinate real general\n2 3 3\n2 2 3\n1 1 1\n1 3 2\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	const script = `
extern A: csr[f64]
extern B: csc[f64]
extern C: coo[f64]
extern D: bcsr[f64]
codelet twice(v: RW vector[f64]) { each k in v { v[k] *= 2.0 } }
codelet more(A: RW bcsr[f64]) { each k, i, j in A.val { A.val[k, i, j] += 1.0 } }
register a = matrix[f64](from = A)
register b = matrix[f64](from = B)
register c = matrix[f64](from = C)
register d = matrix[f64](from = D)
acquire R a as u, R b as v, R c as w, R d as x {
    for i in 0..2 { for j in 0..3 { assert u[i, j] == v[i, j] and u[i, j] == w[i, j] and u[i, j] == x[i, j], f"{i}, {j}" } }
}
insert twice(RW A.val)
partition strips = B by cols(3)
for p in strips.parts { insert twice(RW p.val) }
insert twice(RW C.val)
insert more(RW D)
print(A.rows, A.cols, A.nnz, D.r, D.c)
`
	val := func() []float64 { return []float64{1, 2, 3} }
	va, vb, vc, vd := val(), []float64{1, 3, 2}, []float64{3, 1, 2}, []float64{1, 0, 2, 0, 3, 0}
	ptr := []int64{0, 2, 3}
	opts := []lang.Option{
		lang.Bind("A", lang.Must(lang.CSROf(2, 3, ptr, []int32{0, 2, 1}, va))),
		lang.Bind("B", lang.Must(lang.CSCOf(2, 3, []int64{0, 1, 2, 3}, []int32{0, 1, 0}, vb))),
		lang.Bind("C", lang.Must(lang.COOOf(2, 3, []int32{1, 0, 0}, []int32{1, 0, 2}, vc))),
		lang.Bind("D", lang.Must(lang.BCSROf(2, 3, 2, 3, []int64{0, 1}, []int32{0}, vd))),
	}
	ptr[1] = 99 // it was copied
	prog := compile(t, lang.Config{Files: lang.Dir(".")}, script)
	run := func(opts ...lang.Option) error {
		var out bytes.Buffer
		inst, err := prog.Run(ctx, newRuntime(t, engine.Options{Workers: 2}), append(opts, lang.Stdout(&out))...)
		if err != nil {
			return err
		}
		inst.Close()
		if want := "2 3 3 2 3\n"; out.String() != want {
			t.Errorf("printed %q, want %q", out.String(), want)
		}
		return nil
	}
	if err := run(opts...); err != nil {
		t.Fatalf("%+v", err)
	}
	if got, want := fmt.Sprint(va, vb, vc, vd), "[2 4 6] [2 6 4] [6 2 4] [2 1 3 1 4 1]"; got != want {
		t.Errorf("after the run: %v, want %v", got, want)
	}
	d := lang.Bind("D", lang.Must(lang.BCSROf(2, 3, 2, 3, []int64{0, 1}, []int32{0}, []float64{1, 0, 2, 0, 3, 0})))
	if err := run(lang.BindFile("A", "a.mtx"), lang.BindFile("B", "a.mtx"), lang.BindFile("C", "a.mtx"), d); err != nil {
		t.Errorf("from files: %+v", err)
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{second(lang.CSROf(2, 2, []int64{0, 2, 1}, []int32{0, 1}, []float64{1, 2})), "lang: CSROf: `ptr` goes down from 2 to 1 at row 1"},
		{second(lang.CSCOf(2, 2, []int64{0, 1, 2}, []int32{0, 2}, []float64{1, 2})), "lang: CSCOf: item 1 of `row` is 2, and the csc has 2 rows: 0 to 1"},
		{second(lang.COOOf(2, 2, []int32{0, 1}, []int32{0, -1}, []float64{1, 2})), "lang: COOOf: item 1 of `col` is -1"},
		{second(lang.BCSROf(3, 2, 2, 2, []int64{0}, nil, []float64{})), "lang: BCSROf: `rows` is 3, which is no multiple of `r`, 2; write 4"},
		{second(lang.CSROf(1, 2, []int64{0, 1}, []int32{0}, []float64{1, 2})), "lang: CSROf: val has 2 elements, and the entries 1"},
		{run(opts[1:]...), "`A` has no data: the host must bind a csr[f64]"},
		{run(append(opts[1:], lang.Bind("A", lang.VectorOf(va)))...), "`A` is bound to a vector[f64]"},
		{run(append(opts[:3:3], lang.BindFile("D", "a.mtx"))...), "a file does not say how large blocks are"},
		{run(append(opts[:3:3], lang.Bind("D", lang.Must(lang.BCSROf(2, 3, 2, 3, []int64{0, 1}, []int32{0}, []float64{2, 0, 4, 0, 6, 0}, lang.ReadOnly()))))...), "E0306"},
		{run(append(opts[:3:3], lang.Bind("D", lang.Must(lang.BCSROf(2, 3, 2, 3, []int64{0, 1}, []int32{0}, append(va, va...)[:6]))), lang.Bind("A", lang.VectorOf(va)))...), "`A` is bound to a vector[f64]"},
	} {
		if c.err == nil || !strings.Contains(fmt.Sprintf("%+v", c.err), c.want) {
			t.Errorf("got %v\nwant %s", c.err, c.want)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestCSRErrors runs scripts whose sparse matrices are wrong.
func TestCSRErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	files := map[string]string{
		"far.mtx":  "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 3 1.0\n",
		"wide.mtx": "%%MatrixMarket matrix coordinate real general\n2 3000000000 0\n",
		"ok.mtx":   "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 1.5\n",
		"sum.mtx":  "%%MatrixMarket matrix coordinate integer general\n2 2 2\n2 2 100\n2 2 100\n",
	}
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ script, want string }{
		{`register A = csr[f64](load = "far.mtx")`, "far.mtx:3: expected a column from 1 to 2, found \"3\""},
		{`register A = csr[f64](load = "wide.mtx")`, "at most 2147483647 rows and columns"},
		{`register A = csr[i8](load = "ok.mtx")`, "ok.mtx:3: expected an integer that i8 can hold, found \"1.5\""},
		{`register A = csr[i8](load = "sum.mtx")`, "expected entries of row 2, column 2 whose sum the element type holds"},
		{`register A = csr[f64](3, 2, load = "ok.mtx")`, "expected a sparse matrix of 3 x 2, found size 2 x 2"},
		{`register A = csr[f64](load = "no.mtx")`, "E0902"},
		{`register A = csr[f64](2, 2, ptr = [0, 1], col = [0])`, "`ptr` has 2 items, and a csr with 2 rows needs 3"},
		{`register A = csr[f64](1, 2, ptr = [1, 1], col = [0])`, "`ptr` begins with 1"},
		{`register A = csr[f64](2, 2, ptr = [0, 2, 1], col = [0])`, "goes down from 2 to 1 at row 1"},
		{`register A = csr[f64](1, 2, ptr = [0, 2], col = [0])`, "`col` has 1 item, and `ptr` ends with 2"},
		{`register A = csr[f64](1, 2, ptr = [0, 1], col = [2])`, "item 0 of `col` is 2, and the csr has 2 columns: 0 to 1"},
		{`register A = csr[f64](1, 2, ptr = [0, 2], col = [1, 1])`, "row 0 has column 1 behind column 1"},
		{`register A = csr[f64](1, 2, ptr = [0, 1], col = [1], val = [1, 2])`, "the list has 2 items, and the data 1 element"},
		{"let n = -1\nregister A = csr[f64](n, 2, ptr = [0], col = [])", "from 0 to 2147483647 rows"},
		{"register A = csr[f64](1, 2, ptr = [0, 1], col = [1])\nlet p = A.ptr\ncodelet c(v: RW vector[i64]) { v[0] = 2 }\ninsert c(RW p)", "E0306"},
		{"register A = csr[f64](2, 2, ptr = [0, 1, 2], col = [1, 0])\nlet n = 3\npartition v = A by rows(n)", "`rows` cannot make 3 parts of 2 rows"},
		{"register A = csr[f64](2, 2, ptr = [0, 1, 2], col = [1, 0])\nlet n = 3\npartition v = A by nonzeros(n)", "`nonzeros` cannot make 3 parts of 2 rows"},
		{"register A = csr[f64](2, 2, ptr = [0, 1, 2], col = [1, 0])\nlet n = [2, 1]\npartition v = A by rows(sizes = n)", "E0502"},
		{"register A = csr[f64](2, 2, ptr = [0, 1, 2], col = [1, 0], fill = 1)\nlet l = [A]\npartition v = A by rows(2)\nlet p = v[0].val\nunpartition v\nprint(p)", "E0506"},
		{"register A = csr[f64](2, 2, ptr = [0, 1, 2], col = [1, 0], fill = 1)\npartition v = A by rows(2)\nlet l = [v[0]]\nunregister l", "is a part, and only a whole datum can be unregistered"},
		{"register A = csr[f64](1, 2, ptr = [0, 1], col = [1], fill = 1)\nlet p = A.val\ncodelet c(v: RW vector[f64]) { v[0] += 2.0 }\ninsert c(REDUX p)", "`p` has no reduction method"},
		{"register A = csr[f64](1, 2, ptr = [0, 1], col = [1])\nlet p = A.ptr\nunregister p", "`A.ptr` is an array of the csr `A`"},
		{"register A = csr[f64](1, 2, ptr = [0, 1], col = [1], fill = 1)\ncodelet c(A: R csr[f64], y: RW vector[f64]) { for k in A.row(1) { y[0] = A.val[k] } }\nregister y = vector[f64](1, fill = 0)\ninsert c(R A, RW y)\nwait", "element 2 is outside `A.ptr`, which has 2 elements"},
		{"register A = csr[f64](1, 2, ptr = [0, 1], col = [1], fill = 1)\ncodelet c(A: RW csr[f64], y: RW vector[f64]) { A.val[0] = y[0] }\ninsert c(RW A, RW A.val)", "E0304"},
		{"register A = csr[f64](1, 2, ptr = [0, 1], col = [1], fill = 1)\ncodelet c(A: R csr[f64]) { }\nunregister A\ninsert c(R A)", "E0403"},
		{`register A = csc[f64](2, 2, ptr = [0, 1, 2], row = [0, 2])`, "item 1 of `row` is 2, and the csc has 2 rows: 0 to 1"},
		{`register A = coo[f64](2, 2, row = [0, 1], col = [0])`, "`row` has 2 items, and `col` 1 item"},
		{`register A = coo[f64](2, 2, row = [0, 9999999999], col = [0, 1])`, "item 1 of `row` is 9999999999, which is no index"},
		{`register A = bcsr[f64](4, 5, 2, 2, ptr = [0, 1, 1], col = [0])`, "`cols` is 5, which is no multiple of `c`, 2"},
		{`register A = bcsr[f64](4, 4, 2, 2, ptr = [0, 1, 1], col = [0], val = [1, 2])`, "the list has 2 items, and the data 4 elements"},
		{`register A = bcsr[f64](load = "ok.mtx")`, "`bcsr` needs `r` and `c`"},
		{"let r = 5000\nregister A = bcsr[f64](r = r, c = 1, load = \"ok.mtx\")", "a block has from 1 to 1024 rows and columns, and `r` is 5000"},
		{`register A = bcsr[f64](2, 4, 2, 4, load = "ok.mtx")`, ""},
		{`register A = bcsr[f64](4, 4, 2, 4, load = "ok.mtx")`, "expected a sparse matrix of 4 x 4, found size 2 x 4"},
		{"register A = csr[f64](1, 2, ptr = [0, 1], col = [1])\nregister B = csc[f64](from = A)", "E0401"},
		{"register A = csr[f64](1, 2, ptr = [0, 1], col = [1], fill = 1)\nregister B = csc[f32](from = A)", "`from` must be a sparse matrix with elements of type f32, which it keeps"},
		{"register A = csr[f64](1, 2, ptr = [0, 1], col = [1], fill = 1)\nregister B = csc[f64](2, 2, from = A)", "the csc is 2 x 2, and the data that gives it its structure makes 1 x 2"},
		{"register A = csr[f64](1, 2, ptr = [0, 1], col = [1], fill = 1)\nregister B = matrix[f64](2, 2, from = A)", "`A` is 1 x 2, and the matrix 2 x 2"},
		{"register A = coo[i8](1, 1, row = [0, 0], col = [0, 0], fill = 100)\nregister B = csr[i8](from = A)", "row 1, column 1 whose sum the element type holds"},
		{"register A = csc[f64](1, 2, ptr = [0, 1, 1], row = [0], fill = 1)\nlet n = 3\npartition v = A by nonzeros(n)", "`nonzeros` cannot make 3 parts of 2 columns"},
		{"register A = coo[f64](1, 2, row = [0], col = [0], fill = 1)\nlet n = 3\npartition v = A by entries(n)", "3 parts of 1 element"},
		{"register A = coo[f64](1, 2, row = [0], col = [0], fill = 1)\npartition v = A by rows(1)", "`rows` splits matrices, and `A` is a coo"},
		{"codelet c(A: R csc[f64], y: W vector[f64]) { for k in A.row(0) { y[k] = 1.0 } }", "`A` is a csc, with its entries column by column"},
		{"codelet c(A: RW coo[f64]) { for k in 0..A.nnz { A.row[k] = 1 } }", "`A.row` is part of the structure of a coo"},
	} {
		prog, ds := lang.Must(lang.NewCompiler(lang.Config{Files: lang.Dir(".")})).Compile(context.Background(), "wrong.spu", []byte(c.script))
		err := ds.Err()
		if err == nil {
			var inst *lang.Instance
			if inst, err = prog.Run(context.Background(), newRuntime(t, engine.Options{Workers: 1})); err == nil {
				inst.Close()
			}
		}
		if c.want == "" && err == nil {
			continue
		}
		if err == nil || c.want == "" || !strings.Contains(fmt.Sprintf("%+v", err), c.want) && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\ngot %v\nwant %s", c.script, err, c.want)
		}
	}
}

// TestTaskOnEmptyPartFails: a task that fails on rows without entries loses no values of other rows, and values
// that are lost elsewhere cancel no task on such rows.
func TestTaskOnEmptyPartFails(t *testing.T) {
	rt := lang.Must(engine.New(engine.Options{Workers: 2}))
	defer rt.Close()
	var out bytes.Buffer
	_, err := compile(t, lang.Config{}, `codelet scale(A: RW csr[f64], k: i64) {
    let z = 6 // k
    for i in 0..A.rows { for e in A.row(i) { A.val[e] *= float(z) } }
}
register A = csr[f64](3, 3, ptr = [0, 0, 2, 3], col = [0, 1, 2], val = [4, 5, 6])
partition v = A by rows(3)
insert scale(RW v[0], 0)
insert scale(RW v[2], 2)
print(A.val)
insert scale(RW v[1], 0)
let t = insert scale(RW v[0], 1)
wait t
print("done")
`).Run(t.Context(), rt, lang.Stdout(&out))
	wantErr(t, err, "R0101", "test.spu:7:1")
	if got, want := out.String(), "vector[f64] 3: 4.0 5.0 18.0\ndone\n"; got != want {
		t.Errorf("output %q, want %q", got, want)
	}
}
