package interp

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// edges are the numbers where overflow happens.
var edges = []int64{0, 1, -1, 2, -2, 3, 7, -7, 10, 1 << 31, -1 << 31, 1<<31 - 1, 1 << 32, 3037000499, 3037000500, 1 << 62, -1 << 62,
	math.MaxInt64, math.MaxInt64 - 1, math.MinInt64, math.MinInt64 + 1}

func pairs() [][2]int64 {
	var out [][2]int64
	for _, a := range edges {
		for _, b := range edges {
			out = append(out, [2]int64{a, b})
		}
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		out = append(out, [2]int64{int64(rng.Uint64()) >> rng.IntN(64), int64(rng.Uint64()) >> rng.IntN(64)})
	}
	return out
}

func TestIntegerArithmetic(t *testing.T) {
	for _, p := range pairs() {
		a, b := p[0], p[1]
		x, y := big.NewInt(a), big.NewInt(b)
		check := func(op string, want *big.Int, got int64, ok bool) {
			t.Helper()
			if ok != want.IsInt64() || ok && got != want.Int64() {
				t.Fatalf("%d %s %d = %d, %v; want %v", a, op, b, got, ok, want)
			}
		}
		r, ok := addInt(a, b)
		check("+", new(big.Int).Add(x, y), r, ok)
		r, ok = subInt(a, b)
		check("-", new(big.Int).Sub(x, y), r, ok)
		r, ok = mulInt(a, b)
		check("*", new(big.Int).Mul(x, y), r, ok)
		if b != 0 {
			// big.Int divides so that the rest is not negative; turn that into rounding down
			q, m := new(big.Int).DivMod(x, y, new(big.Int))
			if b < 0 && m.Sign() != 0 {
				q.Sub(q, big.NewInt(1))
				m.Add(m, y)
			}
			r, ok = floorDiv(a, b)
			check("//", q, r, ok)
			check("%", m, floorMod(a, b), true)
		}
		if e := b & 127; a > -40 && a < 40 || e < 3 {
			r, ok = powInt(a, e)
			want := new(big.Int).Exp(x, big.NewInt(e), nil)
			if ok != want.IsInt64() || ok && r != want.Int64() {
				t.Fatalf("%d ** %d = %d, %v; want %v", a, e, r, ok, want)
			}
		}
	}
}

func TestFloatModulo(t *testing.T) {
	for _, c := range [][3]float64{{7.5, 2, 1.5}, {-7.5, 2, 0.5}, {7.5, -2, -0.5}, {-7.5, -2, -1.5}, {4, 2, 0}, {-0.5, 1, 0.5}} {
		if got := floorModFloat(c[0], c[1]); got != c[2] {
			t.Errorf("%v %% %v = %v, want %v", c[0], c[1], got, c[2])
		}
	}
	if !math.IsNaN(floorModFloat(1, 0)) {
		t.Error("1.0 % 0.0 is a number")
	}
}

func TestTruncate(t *testing.T) {
	for x, want := range map[float64]bool{0: true, -1e18: true, 9.3e18: false, math.Inf(1): false, math.NaN(): false, -9223372036854775808: true, 9223372036854775808: false} {
		if _, ok := truncInt(x); ok != want {
			t.Errorf("int(%v): %v", x, ok)
		}
	}
}

func TestRangeLen(t *testing.T) {
	for _, c := range []struct {
		r    Range
		want int64
	}{
		{Range{0, 5, 1}, 5}, {Range{5, 0, 1}, 0}, {Range{0, 5, 2}, 3}, {Range{5, 0, -2}, 3}, {Range{0, 5, -1}, 0},
		{Range{math.MinInt64, math.MinInt64 + 3, 1}, 3}, {Range{math.MaxInt64 - 2, math.MaxInt64, 5}, 1},
		{Range{0, math.MaxInt64, math.MaxInt64}, 1}, {Range{0, math.MinInt64, math.MinInt64}, 1},
	} {
		if got := c.r.Len(); got != c.want {
			t.Errorf("len(%v) = %d, want %d", c.r, got, c.want)
		}
	}
}

func TestFloatText(t *testing.T) {
	for x, want := range map[float64]string{0: "0.0", 2: "2.0", 0.1: "0.1", 1e-4: "0.0001", 9.9e-5: "9.9e-05", 1.5e-9: "1.5e-09", 1e15: "1000000000000000.0",
		1e16: "1e+16", -2.5: "-2.5", math.Inf(-1): "-inf", 123456.789: "123456.789"} {
		if got := formatFloat(x, 64); got != want {
			t.Errorf("%v is written %q, want %q", x, got, want)
		}
	}
	if got := formatFloat(float64(float32(0.1)), 32); got != "0.1" {
		t.Errorf("0.1 as f32 is written %q", got)
	}
	if got := formatFloat(math.NaN(), 64); got != "nan" {
		t.Errorf("nan is written %q", got)
	}
}

func TestTighten(t *testing.T) {
	l := Limits{Steps: 10, CallDepth: 1000}.Tighten(Limits{Steps: 20, Tasks: 5, CallDepth: 2000})
	if l.Steps != 10 || l.Tasks != 5 || l.CallDepth != 1000 || l.ScriptBytes != defaultScriptBytes || l.Output != 0 {
		t.Errorf("limits: %+v", l)
	}
	if l = (Limits{}).Tighten(Limits{CallDepth: 1000}); l.CallDepth != defaultCallDepth {
		t.Errorf("a run widened the call depth to %d", l.CallDepth)
	}
}

func TestFormatDigits(t *testing.T) {
	for _, c := range []struct {
		x      float64
		digits int
		want   string
	}{
		{1.0 / 3, 4, "0.3333"}, {-1.0 / 3, 1, "-0.3"}, {2, 4, "2.0"}, {0, 3, "0.0"}, {math.Copysign(0, -1), 3, "-0.0"},
		{123456.789, 4, "123457.0"}, {123456.789, 7, "123456.8"}, {999.9996, 4, "1000.0"}, {1000, 4, "1000.0"}, {999.6, 3, "1000.0"},
		{0.0123456, 3, "0.0123"}, {1.23456e-9, 3, "1.23e-09"}, {9.9999e-5, 2, "0.0001"}, {1.23456e300, 2, "1.2e+300"}, {9.876e15, 2, "9876000000000000.0"},
		{math.Inf(-1), 2, "-inf"}, {math.NaN(), 2, "nan"}, {0.1, 17, "0.1"}, {2.5, 1, "2.0"}, {math.MaxFloat64, 1, "1.7976931348623157e+308"},
	} {
		if got := formatDigits(c.x, 64, c.digits); got != c.want {
			t.Errorf("%v with %d digits: %s, want %s", c.x, c.digits, got, c.want)
		}
	}
	if got := formatDigits(float64(float32(0.1)), 32, 9); got != "0.1" {
		t.Errorf("0.1 of 32 bits: %s", got)
	}
}
