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

// TestRagged runs loops with loops inside whose ranges differ between rounds, in strips and one round at a
// time, with the same bits and faults, and looks at which of them run in strips.
func TestRagged(t *testing.T) {
	for _, test := range []struct {
		loop   string // p, q and x are vectors, A is a matrix, row are the starts of ranges, and k indices into x
		strips bool
	}{
		{"each i in p { let s = q[0]; for j in row[i]..row[i + 1] { s += q[j] * x[k[j]] }; p[i] = s }", true},
		{"each i in p { let s = q[i]; for j in row[i]..row[i + 1] { s += q[j] * x[k[j]] }; p[i] += s * 2 }", true},
		{"each i in p { let s = q[i]; for j in row[i]..row[i + 1] { s = max(s, q[j] - x[i]) }; if s > 3 { p[i] = s } }", true},
		{"each i in p { let s = q[i]; for j in row[i]..row[i + 1] { s -= q[j + int(k[i])] }; p[i] = s }", true}, // may fail
		{"each i in p { let s = q[i]; for j in row[i + 1]..row[i + 2] { s -= q[j] }; p[i] = s }", true},         // the last round fails
		{"each i in p { let s = q[i]; for j in i..i + int(k[i]) { s += x[j % x.n] }; p[i] = s }", true},
		{"each i in p { let s = q[i]; for j in i..=i + 80 { s += x[(j + i) % x.n] }; p[i] = s }", true},
		{"each i in p { let s = q[i]; let u = i * 2 + 1; for j in 0..int(k[i]) { let v = x[u % x.n]; if v > 2 { s += v } }; p[i] = s }", true},
		{"each i in p { let s = q[i]; if s > 2 { for j in 0..int(k[i]) { s += x[j % x.n] } }; p[i] = s }", true},
		{"each i in p { let s = q[i]; let n = q[0]; for j in 0..int(k[i]) { s += x[j % x.n]; n += q[j % x.n] }; p[i] = s * n }", true},
		{"each i in p { let s = q[i]; for j in 0..int(k[i]) { s = x[j % x.n] * s + x[i % x.n] }; p[i] = s }", false},
		{"each i in p { p[i] = q[0]; for j in 0..int(k[i]) { p[i] += x[j % x.n] } }", false},
		{"each i in p { p[i] = q[i] + (max j in row[i]..row[i + 1] { x[k[j]] - q[i] }) }", true},
		{"for i in 0..p.n { let s = q[0]; for j in row[i]..row[i + 1] { s += q[j] * x[k[j]] }; p[i] = s }", true},
		{"for i in 0..p.n { let s = q[i]; for j in row[i]..row[i + 1] { s -= q[j + int(k[i])] }; p[i] += s }", true}, // may fail
		{"for i in 0..p.n { let s = q[i]; for j in 0..i { s += p[j] }; p[i] = s }", false},
		{"for i in 0..A.cols { let s = q[0]; for j in row[i]..row[i + 1] { s += A[0, i] * x[k[j]] }; A[1, i] = s }", true},
	} {
		raggedCase[int16](t, test.loop, test.strips)
		raggedCase[int64](t, test.loop, test.strips)
		raggedCase[uint8](t, test.loop, test.strips)
		raggedCase[float32](t, test.loop, test.strips)
		raggedCase[float64](t, test.loop, test.strips)
	}
	// In strips, sums in an order of their own differ from those of rounds one at a time. A round that changes what it
	// reads keeps the loops out of strips.
	for _, value := range []string{
		"sum j in row[i]..row[i + 1] { q[j] * x[k[j]] }",
		"sum j in row[i]..=row[i + 1] { q[j] }", // the last round may fail
		"q[i] - (sum j in i..=i + int(k[i]) { x[(j * 3) % x.n] - q[i] }) * 2",
		"prod j in i..=i + int(k[i]) { x[j % x.n] - q[i] }",
		"sum j in 0..i { x[j] }",
		"sum j in int(k[i])..int(k[i]) * 5 { x[j % x.n] * x[j % 7 % x.n] }",
	} {
		as, other := "each i in p { p[i] = "+value+" }", "each i in p { z[i] = p[i]; p[i] = "+value+" }"
		raggedSum[int32](t, as, other)
		raggedSum[float32](t, as, other)
		raggedSum[float64](t, as, other)
	}
	const nested = "each i in p { let s = q[i]; for j in row[i]..row[i + 1] { s += sum l in 0..A.cols { A[j % A.rows, l] } }; p[i] = s }"
	raggedCase[int32](t, nested, true)
	for _, elem := range []iface.Elem{iface.F32, iface.F64} { // a strip of such sums would have another order
		if fn := raggedBody(t, nested, elem); runsRagged(fn) {
			t.Errorf("%v: in strips: %s", elem, nested)
		}
	}
}

func raggedBody(t *testing.T, loop string, elem iface.Elem) *ir.Func {
	t.Helper()
	src := "codelet c(p: RW vector[T], q: R vector[T], x: R vector[T], A: RW matrix[T], row: R vector[i32], k: R vector[i32], z: RW vector[T]) {\n    " + loop + "\n}\n"
	return kerneltest.Lowered(t, src, map[byte]iface.Elem{'T': elem})
}

// runsRagged reports whether the first loop of fn runs in strips with many ranges of a loop inside.
func runsRagged(fn *ir.Func) bool {
	c, st := &compiler{fn: fn, plan: cheapest}, fn.Body[0]
	if st.Kind == ir.ForStmt {
		return c.planFor(st).strip == nil && c.carriedStrips(st) == nil && c.raggedStrips(st) != nil
	}
	return c.bestAxis(st.Domain, st.Body, nil) < 0 && c.stripEach(st, 0, true) != nil
}

// runRagged runs a body for n rounds and returns the data and the text of the fault.
func runRagged[T ir.Number](t *testing.T, p *Program, n int, long bool) (data []T, fault string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(n), 1))
	row := make([]int32, n+1)
	for i := range n {
		size := rng.IntN(6)
		if long && rng.IntN(20) == 0 {
			size = 40 + rng.IntN(700)
		}
		row[i+1] = row[i] + int32(size)
	}
	k := make([]int32, max(n, int(row[n])))
	for i := range k {
		k[i] = int32(rng.IntN(min(n, 90)))
	}
	data = make([]T, 6*n+len(k))
	for i := range data {
		data[i] = T(rng.IntN(16)) / 3
	}
	list := kerneltest.Buffers(kerneltest.VectorOf(data[:n]), kerneltest.VectorOf(data[6*n:]), kerneltest.VectorOf(data[n:2*n]),
		kerneltest.MatrixOf(data[2*n:], 3, n, n), kerneltest.VectorOf(row), kerneltest.VectorOf(k), kerneltest.VectorOf(data[5*n:6*n]))
	if err := p.Run(context.Background(), list, nil); err != nil {
		return data, err.Error()
	}
	return data, ""
}

var raggedSizes = []int{1, 2, 9, 40, 511, 700, 1600}

func raggedCase[T ir.Number](t *testing.T, loop string, strips bool) {
	t.Helper()
	fn := raggedBody(t, loop, iface.ElemOf[T]())
	if is := runsRagged(fn); is != strips {
		t.Errorf("%v: runs that way: %v\n%s", iface.ElemOf[T](), is, loop)
	}
	programs := compiledAll(fn)
	for _, n := range raggedSizes {
		for _, long := range []bool{false, true} {
			want, failed := runRagged[T](t, programs["one by one"], n, long)
			for _, name := range []string{"cheapest", "strips"} {
				sameRun(t, name+": "+loop, n, want, failed, func() ([]T, string) { return runRagged[T](t, programs[name], n, long) })
			}
		}
	}
}

// sameRun compares a run with the data and the fault of another.
func sameRun[T ir.Number](t *testing.T, what string, n int, want []T, failed string, run func() ([]T, string)) {
	t.Helper()
	got, fault := run()
	switch {
	case fault != failed:
		t.Errorf("%v, %d rounds: %q, want %q\n%s", iface.ElemOf[T](), n, fault, failed, what)
	case fault == "" && !slices.EqualFunc(got, want, sameBits[T]):
		t.Errorf("%v, %d rounds: other results\n%s", iface.ElemOf[T](), n, what)
	}
}

func raggedSum[T ir.Number](t *testing.T, loop, other string) {
	t.Helper()
	fn, not := raggedBody(t, loop, iface.ElemOf[T]()), raggedBody(t, other, iface.ElemOf[T]())
	if !runsRagged(fn) || runsRagged(not) {
		t.Errorf("%v: runs that way: %v, and %v\n%s\n%s", iface.ElemOf[T](), runsRagged(fn), runsRagged(not), loop, other)
	}
	for _, n := range raggedSizes {
		for _, long := range []bool{false, true} {
			want, failed := runRagged[T](t, compile(not, cheapest), n, long)
			sameRun(t, loop, n, want[:n], failed, func() ([]T, string) {
				got, fault := runRagged[T](t, compile(fn, cheapest), n, long)
				return got[:n], fault
			})
		}
	}
}
