package tests

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/stdlib"
)

// TestStdlibScripts runs scripts that use std/ modules: a script, what it
// prints, and a piece of the error it ends with.
func TestStdlibScripts(t *testing.T) {
	dir := t.TempDir()
	data, err := os.ReadFile("testdata/west0067.mtx")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "west.mtx"), data, 0o666); err != nil {
		t.Fatal(err)
	}
	comp, err := lang.NewCompiler(lang.Config{Modules: stdlib.Modules(), Files: lang.Dir(dir)})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, src, out, err string }{
		{"level 1", `
import "std/blas" as blas
register x, y = vector[f32](6)
partition x, y by blocks(2)
for b in 0..2 {
    insert blas.fill(W x[b], b + 1)
    insert blas.fill(W y[b], 10.0)
    insert blas.axpy(2.0, R x[b], RW y[b])
}
insert blas.scal(0.5, RW x)
print(y)
print(x)
register acc = variable[f32](reduce = sum)
for b in 0..2 { insert blas.dot(R x[b], R y[b], REDUX acc) }
print(value(acc))
register at = variable[i64](fill = 0)
insert blas.iamax(R y[1], W at)
print(value(at))
`, "vector[f32] 6: 12.0 12.0 12.0 14.0 14.0 14.0\nvector[f32] 6: 0.5 0.5 0.5 1.0 1.0 1.0\n60.0\n3\n", ""},
		{"matrices", `
import "std/blas" as blas
register A = matrix[f64](2, 3, list = [1, 2, 3, 4, 5, 6])
register B = matrix[f64](3, 2)
register C = matrix[f64](2, 2, fill = 1.0)
insert blas.transpose(R A, W B)
insert blas.gemm(R A, R B, RW C, beta = -1)
print(C)
insert blas.gemm(R A, R A, RW C, 1.0, 0.0, tb = "t")
insert blas.fill(W A, 7)
print(C)
print(A)
`, "matrix[f64] 2 x 2:\n  13.0 31.0\n  31.0 76.0\nmatrix[f64] 2 x 2:\n  14.0 32.0\n  32.0 77.0\nmatrix[f64] 2 x 3:\n  7.0 7.0 7.0\n  7.0 7.0 7.0\n", ""},
		{"inner sizes", `
import "std/blas" as blas
register A = matrix[f64](4, 8, fill = 1.0)
register B, C = matrix[f64](4, 4, fill = 1.0)
insert blas.gemm(R A, R B, RW C)
`, "", "E0702]: the inner sizes of `gemm` differ: 8 and 4"},
		{"bad flag", `
import "std/blas" as blas
register A, B = matrix[f64](4, 4, fill = 1.0)
insert blas.trsm(R A, RW B, side = "left")
`, "", "E0705]: `side` of `trsm` is \"left\", and must be \"l\" or \"r\""},
		{"integers", `
import "std/blas" as blas
register x = vector[i32](4, fill = 1)
insert blas.scal(2, RW x)
`, "", "i32"},
		{"two element types", `
import "std/blas" as blas
register x = vector[f32](4, fill = 1)
register y = vector[f64](4, fill = 1)
insert blas.axpy(2.0, R x, RW y)
`, "", "E0701]: `axpy` needs one element type, and got f32 and f64"},
		{"not positive", `
import "std/blas" as blas
register A = matrix[f64](3, 3, list = [1, 0, 0, 0, 1, 0, 0, 0, -1])
insert blas.potrf(RW A)
`, "", "R0101]: task `potrf` failed: leading minor of order 3 is not positive"},
		{"reduce", `
import "std/reduce" as reduce
register A = matrix[i32](2, 3, list = [3, 1, 4, 1, 5, 9])
register s, n = variable[i32](fill = 0)
register p = variable[i32](fill = 1)
register at = variable[i64](fill = 0)
register top = variable[i32](reduce = max)
register bins = vector[i64](2, fill = 0)
insert reduce.sum(R A, RW s)
insert reduce.prod(R A, RW p)
insert reduce.count(R A, 1, RW n)
insert reduce.max(R A, REDUX top)
insert reduce.argmax(R A, W at)
insert reduce.histogram(R A, 1, 5, RW bins)
print(value(s), value(p), value(n), value(top), value(at))
print(bins)
`, "23 540 2 9 5\nvector[i64] 2: 2 2\n", ""},
		{"random", `
import "std/random" as random
import "std/reduce" as reduce
register A, B = matrix[f64](7, 5)
insert random.uniform(W A, 42)
partition cols = B by pick(1)
for j in 0..5 { insert random.uniform(W cols[j], 42) }
acquire R A as a, R B as b {
    for i, j in grid(7, 5) { assert a[i, j] == b[i, j] and a[i, j] >= 0.0 and a[i, j] < 1.0 }
}
register v = vector[f32](1000)
insert random.normal(W v, 1, mean = 5.0, sd = 0.0)
register m = variable[f32](fill = 0)
insert reduce.max(R v, RW m)
print(value(m))
`, "5.0\n", ""},
		{"files", `
import "std/reduce" as reduce
register A = matrix[f64](load = "west.mtx")
register n = variable[i64](fill = 0)
insert reduce.count(R A, 0.0, RW n)
print(A.rows, A.cols, A.rows * A.cols - value(n))
save(A, "a.npy")
save(A, "a.bin")
save(A, "a.csv")
register B = matrix[f64](load = "a.npy")
register C = matrix[f64](67, 67, load = "a.bin")
register D = matrix[f64](load = "a.csv")
acquire R A as a, R B as b, R C as c, R D as d {
    for i, j in grid(67, 67) { assert a[i, j] == b[i, j] and a[i, j] == c[i, j] and a[i, j] == d[i, j] }
}
`, "67 67 294\n", ""},
		{"file of another size", `
register A = matrix[f64](66, 67, load = "west.mtx")
`, "", "expected matrix[f64] 66 x 67, found size 67 x 67"},
		{"file without sizes", `
register A = matrix[f64](load = "a.bin")
`, "", "a.bin: expected sizes for the matrix, found none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, o := range []engine.Options{{Workers: 3}, {Sequential: true}} {
				out, err := runScript(t, comp, o, c.src)
				switch {
				case c.err == "" && err != nil:
					t.Errorf("%+v: %v", o, err)
				case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
					t.Errorf("%+v: %v, want an error with %q", o, err, c.err)
				}
				if out != c.out {
					t.Errorf("%+v: printed\n%swant\n%s", o, out, c.out)
				}
			}
		})
	}
}

// runScript compiles and runs a script; the error is that of compiling or running.
func runScript(t *testing.T, comp *lang.Compiler, o engine.Options, src string) (string, error) {
	t.Helper()
	ctx := context.Background()
	prog, diags := comp.Compile(ctx, "test.spu", []byte(src))
	if err := diags.Err(); err != nil {
		return "", err
	}
	rt, err := engine.New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	var out bytes.Buffer
	inst, err := prog.Run(ctx, rt, lang.Stdout(&out))
	if inst != nil {
		if cerr := inst.Close(); err == nil {
			err = cerr
		}
	}
	return out.String(), err
}
