//go:build linux && amd64

package llvm

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/kernel/kerneltest"
)

// narrowExpr writes an int expression of small elements.
func narrowExpr(r *rand.Rand, depth int) string {
	if depth == 0 {
		return []string{"int(a[i])", "int(b[i])", "int(c[i])", "int(d[i])", "3", "-7", "100", "n"}[r.IntN(8)]
	}
	x, y := narrowExpr(r, depth-1), narrowExpr(r, depth-1)
	switch r.IntN(9) {
	case 0:
		return fmt.Sprintf("min(%s, %s)", x, y)
	case 1:
		return fmt.Sprintf("max(%s, %s)", x, y)
	case 2:
		return fmt.Sprintf("((%s) %s %d)", x, []string{"//", "%"}[r.IntN(2)], []int{1, 2, 3, 7, 16, 255, 1000}[r.IntN(7)])
	case 3:
		return fmt.Sprintf("(-(%s))", x)
	case 4, 5:
		return fmt.Sprintf("((%s) * (%s))", x, y)
	case 6:
		return fmt.Sprintf("((%s) - (%s))", x, y)
	}
	return fmt.Sprintf("((%s) + (%s))", x, y)
}

// TestNarrow compares arithmetic of small ints with that of strips, which compute in 64 bits.
func TestNarrow(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	fewer := 0
	for range 60 {
		source := fmt.Sprintf("codelet c(a: R vector[u8], b: R vector[i8], c: R vector[u16], d: R vector[i16], x: RW vector[u8], y: RW vector[i32], z: RW vector[i64], n: int) {\n  each i in x {\n    x[i] = %s\n    y[i] = %s\n    if %s > %s { z[i] = %s }\n  }\n}\n",
			narrowExpr(r, 3), narrowExpr(r, 3), narrowExpr(r, 2), narrowExpr(r, 2), narrowExpr(r, 3))
		k, p := compiled(t, source)
		b, err := NewBody(k.fn)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.Text(), "x i16> ") {
			fewer++
		}
		const size = 77
		var results [2][]int64
		for way := range 2 {
			values := rand.New(rand.NewPCG(5, 6))
			a8, b8, c16, d16 := make([]uint8, size), make([]int8, size), make([]uint16, size), make([]int16, size)
			x, y, z := make([]uint8, size), make([]int32, size), make([]int64, size)
			for i := range size {
				v := values.Uint64()
				if i%4 == 0 {
					v = []uint64{0, 0x7F7F7F7F7F7F7F7F, 0x8080808080808080, 0xFFFFFFFFFFFFFFFF}[values.IntN(4)]
				}
				a8[i], b8[i], c16[i], d16[i] = uint8(v), int8(v>>8), uint16(v>>16), int16(v>>32)
			}
			task := &kerneltest.Task{Ctx: context.Background(), Scalars: []iface.Scalar{iface.Int(1 << 40)}, Bufs: kerneltest.Buffers(kerneltest.VectorOf(a8),
				kerneltest.VectorOf(b8), kerneltest.VectorOf(c16), kerneltest.VectorOf(d16), kerneltest.VectorOf(x), kerneltest.VectorOf(y), kerneltest.VectorOf(z))}
			if way == 0 {
				err = p.RunTask(task, nil)
			} else {
				err = k.Run(task)
			}
			if err != nil {
				t.Fatal(err)
			}
			for i := range size {
				results[way] = append(results[way], int64(x[i]), int64(y[i]), z[i])
			}
		}
		if !slices.Equal(results[0], results[1]) {
			t.Fatalf("other results than in strips:\n%s", source)
		}
	}
	if fewer < 10 {
		t.Errorf("%d of 60 bodies have arithmetic of 16 bits", fewer)
	}
}

// TestLimits gives the types of arithmetic by hand.
func TestLimits(t *testing.T) {
	for expr, want := range map[string]ir.Type{
		"int(a[i]) + int(b[i])":                       ir.I16,
		"int(a[i]) * int(b[i])":                       ir.I32,
		"int(a[i]) * 128":                             ir.I16,
		"int(a[i]) * 129":                             ir.I32,
		"int(c[i]) * int(c[i])":                       ir.I64, // 2^32
		"(int(a[i]) + 2 * int(b[i]) + 9) // 16":       ir.I16,
		"int(a[i]) + n":                               ir.I64,
		"int(a[i]) + i":                               ir.I64,
		"(int(a[i]) + 1) // n":                        ir.I64,
		"int(a[i]) - 33000":                           ir.I32,
		"max(int(a[i]), 0) % 7 - min(int(b[i]), 300)": ir.I16,
	} {
		fn := kerneltest.Lowered(t, "codelet c(a: R vector[u8], b: R vector[u8], c: R vector[u16], z: W vector[i64], n: int) { each i in z { z[i] = "+expr+" } }", nil)
		w := &writer{fn: fn, known: map[*ir.Expr]limits{}}
		if got := w.narrowType(fn.Body[0].Body[0].Value); got != want {
			t.Errorf("%s: %v, want %v", expr, got, want)
		}
	}
}
