package stdlib

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

func expect[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// moves checks the codelets that take every element type, on vectors and on
// matrices with gaps between their rows.
func moves[T iface.Real](t *testing.T) {
	t.Helper()
	x := make([]T, 8)
	must(t, "std/blas", "fill", bufs(dense(2, 3, 4, x)), num(7))
	expect(t, "fill", x, []T{7, 7, 7, 0, 7, 7, 7, 0})
	must(t, "std/blas", "fill", bufs(vec(x)), whole(3))
	expect(t, "fill by int", x, []T{3, 3, 3, 3, 3, 3, 3, 3})

	a := []T{1, 2, 3, 100, 4, 5, 6, 101}
	y := make([]T, 6)
	must(t, "std/blas", "copy", bufs(dense(2, 3, 4, a), dense(2, 3, 3, y)))
	expect(t, "copy", y, []T{1, 2, 3, 4, 5, 6})
	must(t, "std/blas", "copy", bufs(vec(a[:2]), vec(y[4:])))
	expect(t, "copy of vectors", y, []T{1, 2, 3, 4, 1, 2})

	z := []T{9, 8, 7, 6, 5, 4}
	must(t, "std/blas", "swap", bufs(dense(2, 3, 4, a), dense(2, 3, 3, z)))
	expect(t, "swap", a, []T{9, 8, 7, 100, 6, 5, 4, 101})
	expect(t, "swap", z, []T{1, 2, 3, 4, 5, 6})

	w := []T{50, 50, 50, 50, 50, 50, 50, 50, 50}
	must(t, "std/blas", "transpose", bufs(dense(2, 3, 4, a), dense(3, 2, 3, w)))
	expect(t, "transpose", w, []T{9, 6, 50, 8, 5, 50, 7, 4, 50})

	var acc T = 2
	must(t, "std/reduce", "sum", bufs(dense(2, 3, 4, a), variable(&acc)))
	expect(t, "sum", acc, 2+39)
	must(t, "std/reduce", "sum", bufs(vec([]T{1, 1, 1, 1, 1, 1, 1}), variable(&acc)))
	expect(t, "sum of a vector", acc, 48)
	acc = 2
	must(t, "std/reduce", "prod", bufs(vec([]T{1, 3, 5}), variable(&acc)))
	expect(t, "prod", acc, 30)
	acc = 5
	must(t, "std/reduce", "min", bufs(dense(2, 3, 4, a), variable(&acc)))
	expect(t, "min", acc, 4)
	must(t, "std/reduce", "max", bufs(dense(2, 3, 4, a), variable(&acc)))
	expect(t, "max", acc, 9)
	acc = 1
	must(t, "std/reduce", "count", bufs(vec([]T{1, 3, 1, 5}), variable(&acc)), whole(1))
	expect(t, "count", acc, 3)
	bins := []T{1, 1}
	must(t, "std/reduce", "histogram", bufs(dense(2, 3, 4, a), vec(bins)), num(5), num(9))
	expect(t, "histogram", bins, []T{3, 3}) // 5 6 | 7 8; 4 and 9 are outside
	var at int64
	must(t, "std/reduce", "argmax", bufs(vec([]T{1, 7, 3, 7}), variable(&at)))
	expect(t, "argmax", at, 1)

	// Nothing to do is not an error.
	none := vec([]T{})
	must(t, "std/blas", "fill", bufs(none), whole(3))
	must(t, "std/blas", "copy", bufs(dense[T](0, 3, 3, nil), dense[T](0, 3, 3, nil)))
	must(t, "std/blas", "transpose", bufs(dense[T](0, 3, 3, nil), dense[T](3, 0, 1, nil)))
	must(t, "std/reduce", "sum", bufs(none, variable(&acc)))
	expect(t, "sum of nothing", acc, 3)
}

func TestEveryElement(t *testing.T) {
	moves[int8](t)
	moves[int16](t)
	moves[int32](t)
	moves[int64](t)
	moves[uint8](t)
	moves[uint16](t)
	moves[uint32](t)
	moves[uint64](t)
	moves[float32](t)
	moves[float64](t)
}

func TestLevel1(t *testing.T) {
	level1[float32](t)
	level1[float64](t)
}

func level1[T float32 | float64](t *testing.T) {
	x, y := []T{1, -2, 3, 50, 4, 5, -6, 50}, []T{1, 1, 1, 1, 1, 1}
	must(t, "std/blas", "axpy", bufs(dense(2, 3, 4, x), dense(2, 3, 3, y)), num(2))
	expect(t, "axpy", y, []T{3, -3, 7, 9, 11, -11})
	must(t, "std/blas", "scal", bufs(dense(2, 3, 4, x)), num(-1))
	expect(t, "scal", x, []T{-1, 2, -3, 50, -4, -5, 6, 50})

	v, w := vec([]T{3, -4, 0}), vec([]T{1, 2, 9})
	var acc T = 1
	must(t, "std/blas", "dot", bufs(v, w, variable(&acc)))
	expect(t, "dot", acc, -4)
	must(t, "std/blas", "asum", bufs(v, variable(&acc)))
	expect(t, "asum", acc, 3)
	must(t, "std/blas", "nrm2sq", bufs(v, variable(&acc)))
	expect(t, "nrm2sq", acc, 28)
	must(t, "std/blas", "nrm2", bufs(v, variable(&acc)))
	expect(t, "nrm2", acc, 5)
	var at int64
	must(t, "std/blas", "iamax", bufs(v, variable(&at)))
	expect(t, "iamax", at, 1)
	must(t, "std/blas", "nrm2", bufs(vec([]T{}), variable(&acc)))
	expect(t, "nrm2 of nothing", acc, 0)
}

// TestPlaces: what searches return is the place in the root datum, however the
// operand was cut out of it.
func TestPlaces(t *testing.T) {
	m := dense(3, 4, 5, []float64{
		0, 1, 2, 3, 99,
		4, 5, 60, 7, 99,
		8, 9, 10, 11, 99,
	})
	var at int64
	find := func(mod, name string, b *iface.Buffer, want int64) {
		t.Helper()
		at = -1
		must(t, mod, name, bufs(b, variable(&at)))
		expect(t, name, at, want)
	}
	find("std/reduce", "argmax", m, 6)
	for _, c := range []struct {
		f    filter.Filter
		part int
		want int64
	}{
		{filter.Rows(3, 0), 1, 6}, {filter.Rows(3, 0), 2, 11}, {filter.Cols(2, 0), 1, 6}, {filter.Cols(2, 0), 0, 9},
		{filter.Tiles(3, 2, 0), 3, 6}, {filter.Tiles(3, 2, 0), 4, 9}, {filter.Pick(0), 1, 6}, {filter.Pick(1), 2, 6}, {filter.Pick(1), 3, 11},
	} {
		p, _ := part[float64](t, c.f, m, c.part)
		find("std/reduce", "argmax", p, c.want)
		if p.Kind == iface.Vector {
			find("std/blas", "iamax", p, c.want)
		}
	}
	nan := math.NaN()
	find("std/reduce", "argmax", vec([]float64{1, nan, 9, nan}), 1)
	find("std/reduce", "argmax", vec([]float64{math.Inf(-1), math.Inf(-1)}), 0)
}

func TestReduceFloats(t *testing.T) {
	x := make([]float32, 1<<16)
	for i := range x {
		x[i] = 0.1
	}
	var acc float32
	must(t, "std/reduce", "sum", bufs(vec(x), variable(&acc)))
	if want := float32(float64(float32(0.1)) * (1 << 16)); acc != want {
		t.Errorf("sum of f32 is %v, want %v: rounded at every step", acc, want)
	}
	v := math.Inf(1)
	must(t, "std/reduce", "min", bufs(vec([]float64{2, math.NaN()}), variable(&v)))
	if !math.IsNaN(v) {
		t.Errorf("min with a NaN: %v", v)
	}
	var i8 int8 = 100
	must(t, "std/reduce", "sum", bufs(vec([]int8{100, 100}), variable(&i8)))
	expect(t, "sums of integers wrap", i8, 44)

	// The order of a sum depends on sizes only, not on gaps between rows.
	packed, gaps := make([]float64, 35), make([]float64, 40)
	for i := range 5 {
		for j := range 7 {
			v := 1 / float64(3+i*7+j)
			packed[i*7+j], gaps[i*8+j] = v, v
		}
	}
	var a, b float64
	must(t, "std/reduce", "sum", bufs(dense(5, 7, 7, packed), variable(&a)))
	must(t, "std/reduce", "sum", bufs(dense(5, 7, 8, gaps), variable(&b)))
	if a != b {
		t.Errorf("sums of equal matrices: %v and %v", a, b)
	}
}

// farBins are histograms where the width of all bins times their number, or the bins in
// a unit, are no number, or where bins are narrower than numbers lie apart.
var farBins = []struct {
	lo, hi float64
	x      []float64
	want   []int32
}{
	{-8e307, 8e307, []float64{-6e307, -2e307, 2e307, 6e307, 7e307}, []int32{1, 1, 1, 2}},
	{0, 4e-309, []float64{0, 1.5e-309, 2.5e-309, 3e-309, 3.5e-309}, []int32{1, 1, 1, 2}},
	{0, 15e-324, []float64{0, 5e-324, 5e-324, 10e-324}, []int32{1, 2, 1}},
	{1 << 53, 1<<53 + 4, []float64{1 << 53, 1<<53 + 2}, []int32{0, 0, 1, 0, 0, 1, 0, 0}},
}

func TestHistogram(t *testing.T) {
	// Every edge of the bins falls into the bin that it begins.
	const n = 100
	for _, c := range []struct{ lo, hi float64 }{{0, 1}, {-3, 7}, {0.1, 0.3}, {1e-9, 1e9}} {
		x := make([]float64, n+1)
		for i := range x {
			x[i] = c.lo + (c.hi-c.lo)*float64(i)/n
		}
		bins := make([]int32, n)
		must(t, "std/reduce", "histogram", bufs(vec(x), vec(bins)), num(c.lo), num(c.hi))
		for i, b := range bins {
			if b != 1 {
				t.Errorf("%v to %v: bin %d has %d elements", c.lo, c.hi, i, b)
			}
		}
	}
	for _, c := range farBins {
		bins := make([]int32, len(c.want))
		must(t, "std/reduce", "histogram", bufs(vec(c.x), vec(bins)), num(c.lo), num(c.hi))
		expect(t, "histogram at the ends of f64", bins, c.want)
	}
	bins := []uint64{0, 0}
	must(t, "std/reduce", "histogram", bufs(vec([]float64{math.NaN(), math.Inf(1), math.Inf(-1), 0.999999, 0, -0.001}), vec(bins)), num(0), num(1))
	expect(t, "outside", bins, []uint64{1, 1})
}

func TestLevel3(t *testing.T) {
	level3[float32](t)
	level3[float64](t)
}

// level3 checks that operands and flags reach the routines in the right order,
// with exact numbers; package blas tests the routines.
func level3[T float32 | float64](t *testing.T) {
	a := func() *iface.Buffer { return dense(2, 3, 4, []T{1, 2, 3, 99, 4, 5, 6, 99}) }
	c := []T{1, 1, 1, 1}
	must(t, "std/blas", "gemm", bufs(a(), dense(3, 2, 2, []T{1, 0, 0, 1, 1, 1}), dense(2, 2, 2, c)), num(2), num(1), str("n"), str("n"))
	expect(t, "gemm", c, []T{9, 11, 21, 23})
	c = []T{1, 1, 1, 1, 1, 1, 1, 1, 1}
	must(t, "std/blas", "gemm", bufs(a(), dense(3, 2, 2, []T{1, 0, 0, 1, 1, 1}), dense(3, 3, 3, c)), num(1), num(0), str("t"), str("t"))
	expect(t, "gemm of transposed", c, []T{1, 4, 5, 2, 5, 7, 3, 6, 9})

	y := []T{1, 1}
	must(t, "std/blas", "gemv", bufs(a(), vec([]T{1, 0, 1}), vec(y)), num(1), num(-1), str("n"))
	expect(t, "gemv", y, []T{3, 9})
	y = []T{1, 1, 1}
	must(t, "std/blas", "gemv", bufs(a(), vec([]T{1, 2}), vec(y)), num(1), num(1), str("t"))
	expect(t, "gemv transposed", y, []T{10, 13, 16})

	m := []T{0, 0, 0, 99, 0, 0, 0, 99}
	must(t, "std/blas", "ger", bufs(vec([]T{1, 2}), vec([]T{3, 4, 5}), dense(2, 3, 4, m)), num(1))
	expect(t, "ger", m, []T{3, 4, 5, 99, 6, 8, 10, 99})

	tri := dense(2, 2, 2, []T{2, 77, 1, 4}) // lower: [2 0; 1 4]
	x := []T{2, 9}
	must(t, "std/blas", "trsv", bufs(tri, vec(x)), str("l"), str("n"), str("n"))
	expect(t, "trsv", x, []T{1, 2})
	b := []T{2, 4, 9, 10}
	must(t, "std/blas", "trsm", bufs(tri, dense(2, 2, 2, b)), num(1), str("l"), str("l"), str("n"), str("n"))
	expect(t, "trsm", b, []T{1, 2, 2, 2})
	must(t, "std/blas", "trmm", bufs(tri, dense(2, 2, 2, b)), num(1), str("l"), str("l"), str("n"), str("n"))
	expect(t, "trmm", b, []T{2, 4, 9, 10})
	must(t, "std/blas", "trmm", bufs(tri, dense(2, 2, 2, b)), num(2), str("r"), str("l"), str("t"), str("u"))
	expect(t, "trmm right, transposed, unit", b, []T{4, 12, 18, 38})
	b = []T{4, 12, 18, 38}
	must(t, "std/blas", "trsm", bufs(tri, dense(2, 2, 2, b)), num(0.5), str("r"), str("l"), str("t"), str("u"))
	expect(t, "trsm right, transposed, unit", b, []T{2, 4, 9, 10})

	s := []T{0, 0, 0, 0}
	must(t, "std/blas", "symm", bufs(tri, dense(2, 2, 2, []T{1, 0, 0, 2}), dense(2, 2, 2, s)), num(1), num(0), str("l"), str("l"))
	expect(t, "symm", s, []T{2, 2, 1, 8})
	must(t, "std/blas", "symm", bufs(tri, dense(2, 2, 2, []T{1, 0, 0, 2}), dense(2, 2, 2, s)), num(1), num(0), str("r"), str("u"))
	expect(t, "symm right, upper", s, []T{2, 77, 154, 8})

	k := []T{1, 55, 1, 1}
	must(t, "std/blas", "syrk", bufs(a(), dense(2, 2, 2, k)), num(1), num(1), str("l"), str("n"))
	expect(t, "syrk", k, []T{15, 55, 33, 78})

	p := []T{4, 66, 2, 5}
	must(t, "std/blas", "potrf", bufs(dense(2, 2, 2, p)), str("l"))
	expect(t, "potrf", p, []T{2, 66, 1, 2})
	p = []T{4, 2, 66, 5}
	must(t, "std/blas", "potrf", bufs(dense(2, 2, 2, p)), str("u"))
	expect(t, "potrf upper", p, []T{2, 1, 66, 2})

	lu := []T{2, 4, 1, 5}
	must(t, "std/blas", "getrf_nopiv", bufs(dense(2, 2, 2, lu)))
	expect(t, "getrf_nopiv", lu, []T{2, 4, 0.5, 3})
	r := []T{6, 6}
	must(t, "std/blas", "getrs_nopiv", bufs(dense(2, 2, 2, lu), dense(2, 1, 1, r)))
	expect(t, "getrs_nopiv", r, []T{1, 1})
}

func TestFactorErrors(t *testing.T) {
	bad := dense(3, 3, 3, []float64{1, 0, 0, 0, 1, 0, 0, 0, -1})
	err := try(t, "std/blas", "potrf", bufs(bad), str("l"))
	if err == nil || err.Error() != "leading minor of order 3 is not positive" {
		t.Errorf("potrf: %v", err)
	}
	err = try(t, "std/blas", "getrf_nopiv", bufs(dense(2, 2, 2, []float64{0, 1, 1, 0})))
	if err == nil || err.Error() != "pivot 1 is zero: the matrix has no LU factors without exchanging rows" {
		t.Errorf("getrf_nopiv: %v", err)
	}
	err = try(t, "std/blas", "getrf_nopiv", bufs(dense(2, 2, 2, []float64{1, 1, 1, math.NaN()})))
	if err == nil || err.Error() != "pivot 2 is not a number" {
		t.Errorf("getrf_nopiv: %v", err)
	}
}
