package interp

// Arithmetic of the language: int with overflow errors, float as IEEE 754.

import (
	"math"
	"math/bits"
)

// Why an integer operation has no result. "" means that it has one.
const (
	overflow    = "the result of %d %s %d does not fit an int (64 bit)"
	divByZero   = "%d %s %d: integer division by zero"
	negExponent = "%d %s %d: the exponent of int ** int must not be negative"
)

func addInt(a, b int64) (int64, bool) {
	c := a + b
	return c, (a^c)&(b^c) >= 0
}

func subInt(a, b int64) (int64, bool) {
	c := a - b
	return c, (a^b)&(a^c) >= 0
}

func mulInt(a, b int64) (int64, bool) {
	if int64(int32(a)) == a && int64(int32(b)) == b {
		return a * b, true
	}
	ua, ub := uint64(a), uint64(b)
	if a < 0 {
		ua = -ua
	}
	if b < 0 {
		ub = -ub
	}
	hi, lo := bits.Mul64(ua, ub)
	if (a < 0) != (b < 0) {
		return -int64(lo), hi == 0 && lo <= 1<<63
	}
	return int64(lo), hi == 0 && lo < 1<<63
}

// floorDiv rounds down; b is not 0.
func floorDiv(a, b int64) (int64, bool) {
	if b == -1 {
		return -a, a != math.MinInt64
	}
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q, true
}

// floorMod has the sign of b, which is not 0.
func floorMod(a, b int64) int64 {
	if b == -1 {
		return 0
	}
	r := a % b
	if r != 0 && (r < 0) != (b < 0) {
		r += b
	}
	return r
}

// powInt returns a ** b for b >= 0.
func powInt(a, b int64) (int64, bool) {
	switch {
	case b == 0 || a == 1:
		return 1, true
	case a == 0:
		return 0, true
	case a == -1:
		return 1 - 2*(b&1), true
	case b > 63:
		return 0, false
	}
	out, ok := int64(1), true
	for ; b > 0; b-- {
		if out, ok = mulInt(out, a); !ok {
			return 0, false
		}
	}
	return out, true
}

func floorModFloat(a, b float64) float64 {
	r := math.Mod(a, b)
	if r != 0 && (r < 0) != (b < 0) {
		r += b
	}
	return r
}

// truncInt cuts off the fraction; false when the result does not fit.
func truncInt(x float64) (int64, bool) {
	if x != x || x >= 1<<63 || x < -1<<63 {
		return 0, false
	}
	return int64(x), true
}
