package iface

import (
	"math"
	"math/rand/v2"
	"testing"
)

// float16Of returns the value of the bits of a float with the given widths, by its definition.
func float16Of(b uint16, exponent, fraction int) float64 {
	e, f := int(b>>fraction)&(1<<exponent-1), float64(b&(1<<fraction-1))
	bias := 1<<(exponent-1) - 1
	v := 0.0
	switch e {
	case 0:
		v = math.Ldexp(f, 1-bias-fraction)
	case 1<<exponent - 1:
		if v = math.Inf(1); f != 0 {
			return math.NaN()
		}
	default:
		v = math.Ldexp(f+math.Ldexp(1, fraction), e-bias-fraction)
	}
	if b>>15 != 0 {
		return math.Copysign(v, -1)
	}
	return v
}

func same(a, b float64) bool {
	return a == b && math.Signbit(a) == math.Signbit(b) || a != a && b != b
}

// TestFloat16 compares all values of the two types with their definition, and each one of them, what
// lies half way to the next, and the floats beside that, with what they must be rounded to.
func TestFloat16(t *testing.T) {
	for _, typ := range []struct {
		elem               Elem
		exponent, fraction int
		from               func(uint16) float32
		to                 func(float32) uint16
	}{
		{F16, 5, 10, F16FromBits, F16Bits},
		{BF16, 8, 7, BF16FromBits, BF16Bits},
	} {
		top := uint16(1<<typ.exponent-1) << typ.fraction // an infinity
		for k := range 1 << 16 {
			b := uint16(k)
			want := float16Of(b, typ.exponent, typ.fraction)
			v := typ.from(b)
			if !same(float64(v), want) {
				t.Fatalf("%v %#04x is %v, want %v", typ.elem, b, v, want)
			}
			back := b
			if want != want {
				back |= 1 << (typ.fraction - 1) // a NaN that does not signal
			}
			if got := typ.to(v); got != back {
				t.Fatalf("%v %#04x and back is %#04x", typ.elem, b, got)
			}
			if b&0x7fff >= top {
				continue
			}
			// the next value away from zero; beyond the largest one it would be 2^emax
			next := math.Copysign(math.Ldexp(1, 1<<(typ.exponent-1)), want)
			if (b+1)&0x7fff != top {
				next = float16Of(b+1, typ.exponent, typ.fraction)
			}
			half := float32((want + next) / 2)
			if float64(half) != (want+next)/2 {
				t.Fatalf("%v: no float32 half way from %v to %v", typ.elem, want, next)
			}
			toZero, away := math.Nextafter32(half, 0), math.Nextafter32(half, float32(math.Inf(1)))
			if b>>15 != 0 {
				away = math.Nextafter32(half, float32(math.Inf(-1)))
			}
			even := b + b&1
			for _, c := range []struct {
				v    float32
				want uint16
			}{{half, even}, {toZero, b}, {away, b + 1}} {
				if got := typ.to(c.v); got != c.want {
					t.Fatalf("%v: %v is rounded to %#04x, want %#04x", typ.elem, c.v, got, c.want)
				}
			}
		}
		for _, v := range []float64{math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat32, 0x1p-149} {
			if got := float64(typ.from(typ.to(float32(v)))); math.IsInf(v, 0) && got != v || v != v && got == got {
				t.Errorf("%v: %v is rounded to %v", typ.elem, v, got)
			}
		}
		if got := typ.elem.Round(1 + 0x1p-20); got != 1 {
			t.Errorf("%v: Round gives %v, want 1", typ.elem, got)
		}
	}
	if F16.Overflows(65519) || !F16.Overflows(65520) || F16.Overflows(math.Inf(1)) || BF16.Overflows(1e38) || !BF16.Overflows(3.4e38) || !C64.Overflows(1e39) || C128.Overflows(1e308) {
		t.Error("Overflows")
	}
	if ToFloat16(65519.996).Float32() != 65504 || !math.IsInf(float64(ToFloat16(65520).Float32()), 1) {
		t.Error("the largest f16 is 65504, up to 65520")
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		b := uint16(r.Uint32())
		if Float16FromBits(b).Bits() != b || BFloat16FromBits(b).Bits() != b {
			t.Fatal("bits change")
		}
	}
	if got := ToFloat16(0.1).String(); got != "0.099975586" {
		t.Errorf("0.1 is %s", got)
	}
	if got := ToBFloat16(0.1).String(); got != "0.100097656" {
		t.Errorf("0.1 is %s", got)
	}
}
