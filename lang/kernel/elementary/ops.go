package elementary

// The operations that the source of the functions is made of, beside Go's own on float64,
// int64 and uint64. The translator turns each call into one instruction of a Program.

import (
	"math"
	"math/bits"
)

// fma returns x*y+z, rounded once.
func fma(x, y, z float64) float64 { return math.FMA(x, y, z) }

// abs returns x without its sign bit.
func abs(x float64) float64 { return math.Abs(x) }

// toBits returns the bits of x.
func toBits(x float64) uint64 { return math.Float64bits(x) }

// fromBits returns the float of the bits b.
func fromBits(b uint64) float64 { return math.Float64frombits(b) }

// mulHigh returns the upper half of the product of x and y.
func mulHigh(x, y uint64) uint64 {
	hi, _ := bits.Mul64(x, y)
	return hi
}

// sel returns a if c is set, and else b. It suits conditions that rarely hold, because Go
// compiles it to a branch for floats.
func sel[T float64 | int64 | uint64](c bool, a, b T) T {
	if c {
		return a
	}
	return b
}

// pick is sel for conditions that nothing predicts: Go compiles it without a branch.
func pick(c bool, a, b float64) float64 {
	v := math.Float64bits(b)
	if c {
		v = math.Float64bits(a)
	}
	return math.Float64frombits(v)
}

const (
	// magic added to a float of less than 2^51 rounds it to an integer, to even in the
	// middle, whose two's complement is in the low bits of the sum.
	magic     = 0x1.8p52
	magicBits = 0x4338000000000000

	signBit = 1 << 63
	infBits = 0x7ff0000000000000
	nanBits = 0x7ff8000000000001 // that of math.NaN
)

// infinity returns +Inf.
func infinity() float64 { return fromBits(infBits) }

// nan returns math.NaN().
func nan() float64 { return fromBits(nanBits) }

// withSign returns y, which is not negative, with the sign of x.
func withSign(y, x float64) float64 { return fromBits(toBits(y) | toBits(x)&signBit) }

// fastSum returns the sum of a and b and its rounding error, by Dekker. a is 0, or not smaller
// in magnitude than b.
func fastSum(a, b float64) (sum, err float64) {
	sum = a + b
	return sum, (a - sum) + b
}

// exactSum returns the sum of a and b and its rounding error, by Knuth.
func exactSum(a, b float64) (sum, err float64) {
	sum = a + b
	c := sum - a
	return sum, (a - (sum - c)) + (b - c)
}

// quotient returns (nh+nl) / (dh+dl) with one division: a quotient that is a few units wrong
// in its last place, and a correction by what is left of the numerator.
func quotient(nh, nl, dh, dl float64) float64 {
	inverse := 1 / dh
	q := nh * inverse
	rest := fma(-q, dh, nh) + fma(-q, dl, nl)
	return fma(rest, inverse, q)
}
