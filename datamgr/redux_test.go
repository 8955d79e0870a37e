package datamgr

import (
	"errors"
	"math"
	"strings"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/cpu"
	"github.com/starpush/starpush/accel/sim"
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

func reduceAll[T iface.Real](t *testing.T, e iface.Elem, smallest, largest T) {
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

// TestReductionBools: min of bools is true if all are, max if one is; a byte other than 0 is true.
func TestReductionBools(t *testing.T) {
	for _, c := range []struct {
		r    *Reduction
		want [4]uint8 // of false and false, false and true, true and false, true and true
	}{{MinReduction(), [4]uint8{0, 0, 0, 1}}, {MaxReduction(), [4]uint8{0, 1, 1, 1}}} {
		for i, want := range c.want {
			into, from := make([]uint8, 8), make([]uint8, 8)
			x, y := strided(iface.B8, into), strided(iface.B8, from)
			if err := c.r.Init(x); err != nil || into[0] != c.want[1]^1 || into[3] != 0 {
				t.Errorf("%s: Init left %v, %v", c.r.Name, into, err)
			}
			for k := range into {
				into[k], from[k] = uint8(i>>1)*7, uint8(i&1)*9
			}
			if err := c.r.Combine(x, y); err != nil || into[0] != want || into[6] != want {
				t.Errorf("%s of %d: %v, %v, want %d", c.r.Name, i, into, err, want)
			}
		}
	}
	for _, r := range []*Reduction{SumReduction(), ProdReduction()} {
		x := strided(iface.B8, make([]uint8, 8))
		if err := r.Init(x); err == nil || !strings.Contains(err.Error(), "bools have no arithmetic") {
			t.Errorf("%s: Init of bools: %v", r.Name, err)
		}
		if err := r.Combine(x, x); err == nil {
			t.Errorf("%s combined bools", r.Name)
		}
	}
}

// TestReductionHalves: floats of 16 bits are combined as float32, and rounded.
func TestReductionHalves(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		r                *Reduction
		neutral, a, b, f float32
		brain            float32
	}{
		{SumReduction(), 0, 2049, 3, 2051, 2048}, {ProdReduction(), 1, 300, 3, 900, 900},
		{MinReduction(), inf, 5, -3, -3, -3}, {MaxReduction(), -inf, 5, -3, 5, 5}, {SumReduction(), 0, 65504, 65504, inf, 131072},
	} {
		half := []iface.Float16{{}, {}, {}, {}, {}, {}, {}, {}}
		brain := make([]iface.BFloat16, 8)
		h, b := strided(iface.F16, half), strided(iface.BF16, brain)
		if err := errors.Join(c.r.Init(h), c.r.Init(b)); err != nil || half[0].Float32() != c.neutral || brain[6].Float32() != c.neutral || half[3].Bits() != 0 {
			t.Errorf("%s: Init left %v and %v, %v", c.r.Name, half, brain, err)
		}
		for _, v := range []float32{c.a, c.b} {
			from, brains := make([]iface.Float16, 8), make([]iface.BFloat16, 8)
			for i := range from {
				from[i], brains[i] = iface.ToFloat16(v), iface.ToBFloat16(v)
			}
			if err := errors.Join(c.r.Combine(h, strided(iface.F16, from)), c.r.Combine(b, strided(iface.BF16, brains))); err != nil {
				t.Fatal(err)
			}
		}
		if want := iface.ToFloat16(c.f); half[0] != want || half[6] != want || half[3].Bits() != 0 {
			t.Errorf("%s of f16: %v, want %v", c.r.Name, half, want)
		}
		if want := iface.ToBFloat16(c.brain); brain[0] != want || brain[6] != want {
			t.Errorf("%s of bf16: %v, want %v", c.r.Name, brain, want)
		}
	}
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
	a := &iface.Buffer{Desc: iface.Desc{Kind: iface.Vector, Elem: iface.F64, Rank: 1, Dim: [iface.MaxRank]int{4}}, Ptr: unsafe.Pointer(&x[0])}
	b := &iface.Buffer{Desc: iface.Desc{Kind: iface.Vector, Elem: iface.F64, Rank: 1, Dim: [iface.MaxRank]int{3}}, Ptr: unsafe.Pointer(&x[0])}
	if err := MinReduction().Combine(a, b); err == nil || !strings.Contains(err.Error(), "vector[f64] of 3 to vector[f64] of 4") {
		t.Errorf("Combine of different shapes: %v", err)
	}
}

// TestLossWhileCombining: what a device that is lost while it combines two contributions
// had alone is lost, and what main memory has, too, is combined there.
func TestLossWhileCombining(t *testing.T) {
	for _, mode := range []iface.AccessMode{modeR, modeRW} {
		g := NewRegistry(cpu.New(0).Memory())
		g.OnLoss(func(int, *accel.LostError) any { return "gone" })
		d, err := sim.New(sim.Options{Name: "a", Capacity: 800})
		if err != nil {
			t.Fatal(err)
		}
		d.LoseWhen(func(op sim.Op) bool { return op.Kind == sim.Kernel })
		g.AddNode(d)
		x := []float64{9, 9}
		h, err := g.Register(&Spec{Kind: iface.Vector, Elem: iface.F64, Dims: []int{2}, Home: unsafe.Pointer(&x[0]), Reduce: SumReduction()})
		if err != nil {
			t.Fatal(err)
		}
		sub := g.Lock()
		h.accumulate(sub)
		sub.Unlock()
		for _, v := range []float64{3, 4} {
			fresh, err := h.newContributionInMain()
			if err != nil {
				t.Fatal(err)
			}
			p := unsafe.Slice((*float64)(fresh.d.main.Load().ptr), 2)
			p[0], p[1] = v, v
			var at Placement
			if err := at.Prepare(1, []Operand{{Handle: fresh, Mode: mode}}); err != nil {
				t.Fatal(err)
			}
			at.Release()
			c := Contribution{h: h, data: fresh, node: 1}
			c.Return()
		}
		var b iface.Buffer
		managed(h).Fill(&b)
		err = managed(h).Combine(&b, nil, false)
		var gone *SpoiledError
		if mode == modeRW {
			if !errors.As(err, &gone) || gone.Why != "gone" {
				t.Errorf("what was on the device alone: %v", err)
			}
		} else if err != nil || x[0] != 16 || x[1] != 16 {
			t.Errorf("%v and %v, want 16", x, err)
		}
		if g.Lost(1) == nil {
			t.Error("the registry does not know that the device is lost")
		}
		if _, err := g.CloseNodes(); err != nil {
			t.Error(err)
		}
	}
}
