package datamgr

import (
	"math"
	"strings"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
)

// strided makes a matrix buffer of 2 rows and 3 columns inside 2 rows of 4;
// the last column is outside.
func strided[T iface.Go](e iface.Elem, x []T) *iface.Buffer {
	b := &iface.Buffer{Desc: iface.Desc{Kind: iface.Matrix, Elem: e, Rank: 2}, Ptr: unsafe.Pointer(&x[0])}
	b.Dim = [iface.MaxRank]int{2, 3}
	b.Stride = [iface.MaxRank]int{4, 1}
	return b
}

func reduceAll[T iface.Go](t *testing.T, e iface.Elem, smallest, largest T) {
	t.Helper()
	const guard = 77
	for _, c := range []struct {
		r       *Reduction
		neutral T
		a, b    T
		want    T
	}{
		{SumReduction(), 0, 3, 5, 8}, {ProdReduction(), 1, 3, 5, 15},
		{MinReduction(), largest, 5, 3, 3}, {MaxReduction(), smallest, 3, 5, 5},
	} {
		x := []T{guard, guard, guard, guard, guard, guard, guard, guard}
		into := strided(e, x)
		if err := c.r.Init(into); err != nil {
			t.Fatal(err)
		}
		for i, v := range x {
			want := c.neutral
			if i%4 == 3 {
				want = guard
			}
			if v != want {
				t.Errorf("%s of %v: Init left %v at %d, want %v", c.r.Name, e, v, i, want)
			}
		}
		for _, from := range []T{c.a, c.b} {
			y := []T{from, from, from, guard, from, from, from, guard}
			if err := c.r.Combine(into, strided(e, y)); err != nil {
				t.Fatal(err)
			}
		}
		for i, v := range x {
			want := c.want
			if i%4 == 3 {
				want = guard
			}
			if v != want {
				t.Errorf("%s of %v: %v at %d, want %v", c.r.Name, e, v, i, want)
			}
		}
	}
}

func TestReductions(t *testing.T) {
	reduceAll[int8](t, iface.I8, math.MinInt8, math.MaxInt8)
	reduceAll[int16](t, iface.I16, math.MinInt16, math.MaxInt16)
	reduceAll[int32](t, iface.I32, math.MinInt32, math.MaxInt32)
	reduceAll[int64](t, iface.I64, math.MinInt64, math.MaxInt64)
	reduceAll[uint8](t, iface.U8, 0, math.MaxUint8)
	reduceAll[uint16](t, iface.U16, 0, math.MaxUint16)
	reduceAll[uint32](t, iface.U32, 0, math.MaxUint32)
	reduceAll[uint64](t, iface.U64, 0, math.MaxUint64)
	reduceAll(t, iface.F32, float32(math.Inf(-1)), float32(math.Inf(1)))
	reduceAll(t, iface.F64, math.Inf(-1), math.Inf(1))
}

// TestReductionForms: variables, contiguous vectors and empty vectors.
func TestReductionForms(t *testing.T) {
	v, w := 2.0, 40.0
	one := func(p *float64) *iface.Buffer {
		return &iface.Buffer{Desc: iface.Desc{Kind: iface.Variable, Elem: iface.F64}, Ptr: unsafe.Pointer(p)}
	}
	if err := SumReduction().Combine(one(&v), one(&w)); err != nil || v != 42 {
		t.Errorf("variable: %v, %v", v, err)
	}
	x := []float64{1, 2, 3}
	vec := func(n int, p *float64) *iface.Buffer {
		b := &iface.Buffer{Desc: iface.Desc{Kind: iface.Vector, Elem: iface.F64, Rank: 1}, Ptr: unsafe.Pointer(p)}
		b.Dim[0], b.Stride[0] = n, 1
		return b
	}
	if err := MaxReduction().Combine(vec(3, &x[0]), vec(3, &[]float64{0, 7, math.NaN()}[0])); err != nil || x[0] != 1 || x[1] != 7 || !math.IsNaN(x[2]) {
		t.Errorf("vector: %v, %v", x, err)
	}
	if err := SumReduction().Init(vec(0, nil)); err != nil {
		t.Errorf("empty vector: %v", err)
	}
	if err := SumReduction().Combine(vec(0, nil), vec(0, nil)); err != nil {
		t.Errorf("empty vectors: %v", err)
	}
}

func TestReductionErrors(t *testing.T) {
	void := &iface.Buffer{Desc: iface.Desc{Kind: iface.Void}}
	if err := SumReduction().Init(void); err == nil || !strings.Contains(err.Error(), "reduction sum: void has no elements") {
		t.Errorf("Init of void: %v", err)
	}
	x := make([]float64, 4)
	a := &iface.Buffer{Desc: iface.Desc{Kind: iface.Vector, Elem: iface.F64, Rank: 1, Dim: [4]int{4}}, Ptr: unsafe.Pointer(&x[0])}
	b := &iface.Buffer{Desc: iface.Desc{Kind: iface.Vector, Elem: iface.F64, Rank: 1, Dim: [4]int{3}}, Ptr: unsafe.Pointer(&x[0])}
	if err := MinReduction().Combine(a, b); err == nil || !strings.Contains(err.Error(), "vector[f64] of 3 to vector[f64] of 4") {
		t.Errorf("Combine of different shapes: %v", err)
	}
}
