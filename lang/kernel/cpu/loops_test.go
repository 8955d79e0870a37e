package cpu

// The loops of this machine compared with the plain ones: the same bits, at every length and
// alignment, in place, too, and no writes after the end.

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/lang/kernel/ir"
)

func TestLoops(t *testing.T) {
	t.Run("f64", func(t *testing.T) { sameLoops[float64](t) })
	t.Run("f32", func(t *testing.T) { sameLoops[float32](t) })
	t.Run("i16", func(t *testing.T) { sameLoops[int16](t) })
	t.Run("i32", func(t *testing.T) { sameLoops[int32](t) })
	t.Run("i64", func(t *testing.T) { sameLoops[int64](t) })
	t.Run("u16", func(t *testing.T) { sameLoops[uint16](t) })
	t.Run("u32", func(t *testing.T) { sameLoops[uint32](t) })
	t.Run("u64", func(t *testing.T) { sameLoops[uint64](t) })
	t.Run("u8", func(t *testing.T) { sameLoops[uint8](t) })
}

func sameLoops[T ir.Number](t *testing.T) {
	fast, plain := loopsOf[T](), plainLoops[T]()
	r := rand.New(rand.NewPCG(1, 2))
	value := func() T {
		x := r.NormFloat64() * 50
		isFloat := T(1)/2 != 0
		switch k := r.IntN(40); {
		case k == 0 && isFloat:
			x = math.Inf(1 - 2*r.IntN(2))
		case k == 1 && isFloat:
			x = math.Copysign(0, -1)
		case k == 2 && isFloat:
			x = 1e-40
		}
		if !isFloat {
			return T(r.Uint64())
		}
		return T(x)
	}
	const room = 70
	for n := range 40 {
		for shift := range 4 {
			in := make([][]T, 3)
			for k := range in {
				in[k] = make([]T, room)
				for j := range in[k] {
					in[k][j] = value()
				}
			}
			s, u := value(), value()
			for name, f := range map[string]func(l *loops[T], d, a, b, c []T){
				"addVV":     func(l *loops[T], d, a, b, c []T) { l.addVV(d, a, b) },
				"subVV":     func(l *loops[T], d, a, b, c []T) { l.subVV(d, a, b) },
				"mulVV":     func(l *loops[T], d, a, b, c []T) { l.mulVV(d, a, b) },
				"addVS":     func(l *loops[T], d, a, b, c []T) { l.addVS(d, a, s) },
				"mulVS":     func(l *loops[T], d, a, b, c []T) { l.mulVS(d, a, s) },
				"addVVV":    func(l *loops[T], d, a, b, c []T) { l.addVVV(d, a, b, c) },
				"mulAddVVV": func(l *loops[T], d, a, b, c []T) { l.mulAddVVV(d, a, b, c) },
				"subMulVVV": func(l *loops[T], d, a, b, c []T) { l.subMulVVV(d, a, b, c) },
				"mulSubVVV": func(l *loops[T], d, a, b, c []T) { l.mulSubVVV(d, a, b, c) },
				"mulAddVSV": func(l *loops[T], d, a, b, c []T) { l.mulAddVSV(d, a, s, c) },
				"subMulVSV": func(l *loops[T], d, a, b, c []T) { l.subMulVSV(d, a, s, c) },
				"mulAddVVS": func(l *loops[T], d, a, b, c []T) { l.mulAddVVS(d, a, b, s) },
				"addMulVVS": func(l *loops[T], d, a, b, c []T) { l.addMulVVS(d, a, b, s) },
				"mulAddVSS": func(l *loops[T], d, a, b, c []T) { l.mulAddVSS(d, a, s, u) },
				"sumV":      func(l *loops[T], d, a, b, c []T) { d[0] = l.sumV(a) },
				"dotVV":     func(l *loops[T], d, a, b, c []T) { d[0] = l.dotVV(a, b) },
			} {
				if n == 0 && (name == "sumV" || name == "dotVV") {
					continue
				}
				for inPlace := range 4 { // d is a, b, c or memory of its own
					var out [2][]T
					for k, l := range []*loops[T]{fast, plain} {
						var w [4][]T
						for j := range in {
							w[j] = append([]T(nil), in[j]...)
						}
						w[3] = make([]T, room)
						f(l, w[inPlace][shift:][:n], w[0][shift:][:n], w[1][shift:][:n], w[2][shift:][:n])
						out[k] = w[inPlace]
					}
					for j := range out[0] {
						if !sameBits(out[0][j], out[1][j]) {
							t.Fatalf("%s of %d at %d, in place %d: [%d] is %v, want %v", name, n, shift, inPlace, j, out[0][j], out[1][j])
						}
					}
				}
			}
		}
	}
}

// sameBits compares the bits of values. All NaNs are equal.
func sameBits[T ir.Number](a, b T) bool {
	if a != a || b != b {
		return a != a && b != b
	}
	return fmt.Sprint(a) == fmt.Sprint(b) && *(*byte)(unsafe.Pointer(&a)) == *(*byte)(unsafe.Pointer(&b))
}

// TestConversions compares the conversions of this machine with the plain ones.
func TestConversions(t *testing.T) {
	sameConversions[int8](t)
	sameConversions[int16](t)
	sameConversions[int32](t)
	sameConversions[int64](t)
	sameConversions[uint8](t)
	sameConversions[uint16](t)
	sameConversions[uint32](t)
	sameConversions[uint64](t)
	sameConversions[float32](t)
	sameConversions[float64](t)
}

func sameConversions[A ir.Number](t *testing.T) {
	t.Helper()
	sameConversion[A, int8](t)
	sameConversion[A, int16](t)
	sameConversion[A, int32](t)
	sameConversion[A, int64](t)
	sameConversion[A, uint8](t)
	sameConversion[A, uint16](t)
	sameConversion[A, uint32](t)
	sameConversion[A, uint64](t)
	sameConversion[A, float32](t)
	sameConversion[A, float64](t)
}

func sameConversion[A, T ir.Number](t *testing.T) {
	t.Helper()
	if A(1)/2 != 0 && T(1)/2 == 0 {
		return // these saturate
	}
	r := rand.New(rand.NewPCG(3, 4))
	for n := range 70 {
		for shift := range 3 {
			a := make([]A, n+shift)
			for k := range a {
				a[k] = A(r.Int64()>>r.IntN(64)) / 3
			}
			got, want := make([]T, n+shift+3), make([]T, n+shift+3)
			conversion(convertV[A, T])(got[shift:][:n], a[shift:])
			convertV(want[shift:][:n], a[shift:])
			for k := range want {
				if !sameBits(got[k], want[k]) {
					t.Fatalf("%T to %T, %d at %d: [%d] is %v, want %v", a[0], got[0], n, shift, k, got[k], want[k])
				}
			}
		}
	}
}

// TestShiftRight compares the shifts of this machine with the plain ones.
func TestShiftRight(t *testing.T) {
	for _, count := range []int{0, 1, 4, 15} {
		sameShift[int16](t, count)
		sameShift[int32](t, count)
		sameShift[int64](t, count)
		sameShift[uint16](t, count)
	}
}

func sameShift[T ir.Integer](t *testing.T, count int) {
	t.Helper()
	a := make([]T, 77)
	for k := range a {
		a[k] = T(k*40503 - 30000)
	}
	got := make([]T, len(a))
	intDivisionLoop[T](ir.OpFloorDiv, 1<<count)(got, a)
	for k, x := range a {
		if want := x >> count; got[k] != want && T(1)<<count > 0 {
			t.Fatalf("%T, %d: %d is %d, want %d", x, count, x, got[k], want)
		}
	}
}

// TestProductSums compares the sums of products of this machine with the plain ones.
func TestProductSums(t *testing.T) {
	vsv, vvv := productSums()
	r := rand.New(rand.NewPCG(5, 6))
	for n := range 40 {
		for shift := range 3 {
			a, b, c := make([]float32, n+shift), make([]float32, n+shift), make([]float64, n+shift)
			for k := range a {
				a[k], b[k], c[k] = float32(r.NormFloat64()), float32(r.NormFloat64()), r.NormFloat64()
			}
			for name, run := range map[string]func(d []float64, fast bool){
				"c + a*s": func(d []float64, fast bool) {
					f := productSumVSV
					if fast {
						f = vsv
					}
					f(d, a[shift:], 0.3, c[shift:])
				},
				"c + a*b": func(d []float64, fast bool) {
					f := productSumVVV
					if fast {
						f = vvv
					}
					f(d, a[shift:], b[shift:], c[shift:])
				},
			} {
				got, want := make([]float64, n+3), make([]float64, n+3)
				run(got[:n], true)
				run(want[:n], false)
				if !slices.EqualFunc(got, want, sameBits[float64]) {
					t.Fatalf("%s of %d at %d: %v, want %v", name, n, shift, got, want)
				}
			}
		}
	}
}

// TestWeighted compares the weighted sums of this machine with the plain ones.
func TestWeighted(t *testing.T) {
	if !hasWeighted() {
		t.Skip("weighted sums have a loop of their own on processors with AVX2 only")
	}
	r := rand.New(rand.NewPCG(7, 8))
	for n := 1; n < 140; n++ {
		for terms := 1; terms <= maxWeighted; terms++ {
			sources, list := make([][]uint8, terms), make([]int16, terms+1)
			for k := range list {
				list[k] = int16(r.Uint64())
			}
			for k := range sources {
				sources[k] = make([]uint8, n)
				for j := range sources[k] {
					sources[k][j] = uint8(r.Uint64())
				}
			}
			got, want := make([]int16, n+3), make([]int16, n+3)
			weighted(got[:n], sources, list)
			weightedU8(want[:n], sources, list)
			if !slices.Equal(got, want) {
				t.Fatalf("%d values of %d sources: %v, want %v", n, terms, got, want)
			}
		}
	}
}
