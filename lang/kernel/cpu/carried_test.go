package cpu

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/kernel/kerneltest"
)

// TestCarried runs loops whose rounds use what earlier ones stored, in strips and one round at a
// time, with the same bits and faults, and looks at which of them run in strips.
func TestCarried(t *testing.T) {
	for _, test := range []struct {
		loop   string // p and q are vectors, A is a matrix, k indices into p
		strips bool
	}{
		{"for i in 1..p.n { p[i] = p[i] + p[i - 1] }", true},
		{"for i in 1..p.n { p[i] += p[i - 1] * 3 }", true},
		{"for i in 1..p.n { p[i] = p[i - 1] * q[i] + p[i] }", true},
		{"for i in 0..p.n - 1 { p[i + 1] = q[i] - p[i] * 2 }", true},
		{"for i in 7..p.n { p[i] = max(p[i - 7] - q[i], min(q[i], 5)) }", true},
		{"for i in 2..p.n - 3 { p[i] = p[i + 3] + p[i - 2] + p[i] }", true},
		{"for i in 1..q.n + int(k[0]) { p[i] = p[i - 1] + q[0] }", true},     // the last rounds fail
		{"for i in int(k[0]) - 3..p.n - 1 { p[i + 1] = p[i] + q[0] }", true}, // the first ones may
		{"for i in 1..A.rows { for j in 1..A.cols { A[i, j] = A[i - 1, j] + A[i, j - 1] - A[i, j] } }", true},
		{"for i in 0..k.n { p[k[i]] += 1 }", true},
		{"for i in 0..k.n { p[k[i]] = q[i] - p[k[i]] }", true},
		{"for i in 0..k.n { p[k[i]] = max(p[k[i]], q[i]) * 2 }", true},
		{"for i in 0..k.n { p[k[i] * 2 - 3] *= q[i] }", true}, // may fail
		{"for i in 0..k.n { p[k[i]] = q[i] * 2 }", true},
		{"for i in 0..k.n { p[k[i] - 1] = q[0] }", true},         // may fail
		{"for i in 0..k.n { p[k[i]] = q[k[i] - 2] }", true},      // either may
		{"for i in 0..k.n { p[min(i + 1, p.n - 1)] = i }", true}, // i is converted
		{"for i in 0..k.n { p[k[i] + min(i, 0)] = q[i] * 2 + i }", true},
		{"for i in 0..k.n { p[(k[i] + i) % p.n] = max(p[(k[i] + i) % p.n], q[k[i]] * q[i]) - q[i] }", false},
		{"for i in 0..k.n { p[k[i]] = p[i] }", false},
		{"for i in 0..k.n { p[k[i]] += p[k[i]] }", false}, // twice
		{"for i in 0..k.n { p[k[i]] += p[i] }", false},
		{"for i in 1..p.n { p[i] = p[i - 1] + p[0] }", false},
		{"for i in 2..p.n { p[i] = p[i - 1] + p[i - 2] }", false},
		{"for i in 1..p.n { p[i] = if q[i] > 3 then p[i - 1] else q[i] }", false},
	} {
		carriedCase[int8](t, test.loop, test.strips)
		carriedCase[uint16](t, test.loop, test.strips)
		carriedCase[int32](t, test.loop, test.strips)
		carriedCase[int64](t, test.loop, test.strips)
		carriedCase[uint64](t, test.loop, test.strips)
		carriedCase[float32](t, test.loop, test.strips)
		carriedCase[float64](t, test.loop, test.strips)
	}
	const added = "for i in 0..k.n { p[min(i + 1, p.n - 1)] -= i }" // small integers convert the sum, too
	carriedCase[int64](t, added, true)
	carriedCase[float32](t, added, true)
	carriedCase[float64](t, added, true)
}

func carriedCase[T ir.Number](t *testing.T, loop string, strips bool) {
	t.Helper()
	src := "codelet c(p: RW vector[T], q: R vector[T], A: RW matrix[T], k: R vector[i32]) {\n    " + loop + "\n}\n"
	fn := kerneltest.Lowered(t, src, map[byte]iface.Elem{'T': iface.ElemOf[T]()})
	inner := fn.Body[0]
	for inner.Body[0].Kind == ir.ForStmt {
		inner = inner.Body[0]
	}
	c := &compiler{fn: fn, plan: cheapest}
	if is := c.planFor(inner).strip == nil && c.carriedStrips(inner) != nil; is != strips {
		t.Errorf("%v: runs that way: %v\n%s", iface.ElemOf[T](), is, src)
	}
	for _, n := range []int{1, 2, 9, 40, 700, 1600} {
		var want []T
		var failed string
		for k, name := range []string{"one by one", "cheapest", "strips"} {
			rng := rand.New(rand.NewPCG(uint64(n), 1))
			vs := make([]T, 5*n)
			for i := range vs {
				vs[i] = T(rng.IntN(16)) / 2
			}
			at := make([]int32, n)
			for i := range at {
				at[i] = int32(rng.IntN(min(n, 40)))
			}
			list := kerneltest.Buffers(kerneltest.VectorOf(vs[:n]), kerneltest.VectorOf(vs[n:2*n]), kerneltest.MatrixOf(vs[2*n:], 3, n, n), kerneltest.VectorOf(at))
			got := ""
			if err := compiledAll(fn)[name].Run(context.Background(), list, nil); err != nil {
				got = err.Error()
			}
			switch {
			case k == 0:
				want, failed = vs, got
			case got != failed:
				t.Errorf("%v, %d elements, %s: %q, want %q\n%s", iface.ElemOf[T](), n, name, got, failed, src)
			case failed == "" && !slices.EqualFunc(vs, want, sameBits[T]):
				t.Errorf("%v, %d elements, %s: other results\n%s", iface.ElemOf[T](), n, name, src)
			}
		}
	}
}
