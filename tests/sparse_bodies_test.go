package tests

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/stdlib"
)

// TestSparseProduct runs std/sparse's product by its function and as machine code of its body, on a matrix and on its rows in
// parts, and compares both with the sums in the order of the entries.
func TestSparseProduct(t *testing.T) {
	sparseProduct[float32](t, "f32")
	sparseProduct[float64](t, "f64")
}

func sparseProduct[T float32 | float64](t *testing.T, elem string) {
	const rows, cols = 211, 97
	r := rand.New(rand.NewPCG(1, 2))
	type entry struct {
		col int
		val T
	}
	lines := make([][]entry, rows)
	var text strings.Builder
	n := 0
	for i := range lines {
		for j := range cols {
			if r.IntN(cols) < i%12 {
				e := entry{j, T(r.IntN(2000)-1000) / 64}
				lines[i] = append(lines[i], e)
				fmt.Fprintf(&text, "%d %d %v\n", i+1, j+1, e.val)
				n++
			}
		}
	}
	dir := t.TempDir()
	file := fmt.Appendf(nil, "%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n%s", rows, cols, n, text.String())
	if err := os.WriteFile(filepath.Join(dir, "a.mtx"), file, 0o666); err != nil {
		t.Fatal(err)
	}
	script := strings.ReplaceAll(`
import "std/sparse"
param times: int = 1
codelet ramp(x: W vector[T], k: int) { each i in x { x[i] = float((i + x.offset) * k % 101) / 64.0 } }
register A = csr[T](load = "a.mtx")
register x = vector[T](A.cols)
register y, z, u = vector[T](A.rows)
insert ramp(W x, 7)
insert ramp(W y, 13)
insert ramp(W z, 13)
insert ramp(W u, 17)
partition A by rows(3)
partition z by blocks(3)
insert sparse.spmv(R A, R x, RW y, alpha = 0.75, beta = -0.3)
for k in 0..3 { insert sparse.spmv(R A[k], R x, RW z[k], alpha = 0.75, beta = -0.3) }
for k in 0..times { insert sparse.spmv(R A, R x, RW u, beta = 0.0) }
`, "[T]", "["+elem+"]")
	ramp := func(n, k int) []T {
		x := make([]T, n)
		for i := range x {
			x[i] = T(i*k%101) / 64
		}
		return x
	}
	x, want, product := ramp(cols, 7), ramp(rows, 13), make([]T, rows)
	for i, line := range lines {
		var s T
		for _, e := range line {
			s += T(e.val * x[e.col])
		}
		alpha, beta := T(0.75), -0.3
		product[i], want[i] = s, T(alpha*s)+T(T(beta)*want[i])
	}
	for _, kernels := range []lang.Kernels{lang.StripKernels, lang.NativeKernels, lang.AutoKernels} {
		comp := lang.Must(lang.NewCompiler(lang.Config{Kernels: kernels, Files: lang.Dir(dir), Modules: stdlib.Modules()}))
		prog, ds := comp.Compile(t.Context(), "a.spu", []byte(script))
		if err := ds.Err(); err != nil {
			t.Fatal(err)
		}
		rt := lang.Must(engine.New(engine.Options{Workers: 2}))
		inst, err := prog.Run(t.Context(), rt, lang.Param("times", 400))
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string][]T{"y": want, "z": want, "u": product} {
			a := lang.Must(lang.Acquire[T](t.Context(), lang.Must(inst.Handle(name)), lang.R))
			if !slices.Equal(a.Slice(), want) {
				t.Errorf("%s, %v: %s is %v, not %v", elem, kernels, name, a.Slice()[:9], want[:9])
			}
			a.Release()
		}
		inst.Close()
		rt.Close()
	}
}
