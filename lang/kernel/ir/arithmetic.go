package ir

// The arithmetic of single values, generic over the element type. It defines every
// operation: back ends call these functions or give the same results.

import (
	"math"

	"github.com/starpush/starpush/lang/kernel/elementary"
)

// Integer is the constraint of integer element types.
type Integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

// Float is the constraint of float element types.
type Float interface{ float32 | float64 }

// Number is the constraint of element types.
type Number interface{ Integer | Float }

// FloorDiv returns x/y rounded down. y is not 0. The one quotient that does not fit, the
// smallest value by -1, wraps.
func FloorDiv[T Integer](x, y T) T {
	q := x / y
	if r := x % y; r != 0 && (r < 0) != (y < 0) {
		q--
	}
	return q
}

// FloorMod returns the remainder of FloorDiv, which has the sign of y. y is not 0.
func FloorMod[T Integer](x, y T) T {
	r := x % y
	if r != 0 && (r < 0) != (y < 0) {
		r += y
	}
	return r
}

// FloorModFloat is FloorMod for floats.
func FloorModFloat[T Float](x, y T) T {
	r := T(math.Mod(float64(x), float64(y)))
	if r != 0 && (r < 0) != (y < 0) {
		r += y
	}
	return r
}

// PowInt returns x to the power of y, which is not negative. It wraps.
func PowInt[T Integer](x, y T) T {
	var r T = 1
	for {
		if y&1 != 0 {
			r *= x
		}
		if y >>= 1; y == 0 {
			return r
		}
		x *= x
	}
}

// Shl returns x shifted to the left by n bits. A count that is negative or not below the width
// shifts all bits out.
func Shl[T Integer](x, n T) T { return x << unsignedCount(n) }

// Shr is Shl to the right, with the sign of x.
func Shr[T Integer](x, n T) T { return x >> unsignedCount(n) }

// unsignedCount returns n, or a count that is above every width if it is negative.
func unsignedCount[T Integer](n T) uint64 { return uint64(int64(n)) }

// Abs returns the absolute value of x; that of the smallest integer is itself.
func Abs[T Number](x T) T {
	if x < 0 {
		return -x
	}
	if x == 0 {
		return 0 // for -0, too
	}
	return x
}

// FMA returns x*y+z, rounded once.
func FMA[T Float](x, y, z T) T {
	r := math.FMA(float64(x), float64(y), float64(z))
	if _, isF32 := any(x).(float32); !isF32 {
		return T(r)
	}
	// A float32 product is exact in float64. The sum is rounded to odd there,
	// so that rounding it to float32 gives what one rounding would.
	p, c := float64(x)*float64(y), float64(z)
	s := p + c
	if math.IsInf(s, 0) || math.IsNaN(s) {
		return T(s)
	}
	b := s - p
	if e := (p - (s - b)) + (c - b); e != 0 {
		if bits := math.Float64bits(s); bits&1 == 0 {
			if (e > 0) == (s > 0) {
				bits++
			} else {
				bits--
			}
			s = math.Float64frombits(bits)
		}
	}
	return T(s)
}

// IntOp applies op to two integers of type T. The caller excludes divisions by zero and
// negative exponents.
func IntOp[T Integer](op Op, a, b int64) int64 {
	x, y := T(a), T(b)
	switch op {
	case OpAdd:
		x += y
	case OpSub:
		x -= y
	case OpMul:
		x *= y
	case OpFloorDiv:
		x = FloorDiv(x, y)
	case OpMod:
		x = FloorMod(x, y)
	case OpPow:
		x = PowInt(x, y)
	case OpBitAnd:
		x &= y
	case OpBitOr:
		x |= y
	case OpBitXor:
		x ^= y
	case OpShl:
		x = Shl(x, y)
	case OpShr:
		x = Shr(x, y)
	case OpMin:
		x = min(x, y)
	case OpMax:
		x = max(x, y)
	}
	return int64(x)
}

// FloatOp applies op to two floats. It reports false if there is no such operation.
func FloatOp[T Float](op Op, x, y T) (T, bool) {
	switch op {
	case OpAdd:
		return x + y, true
	case OpSub:
		return x - y, true
	case OpMul:
		return x * y, true
	case OpDiv:
		return x / y, true
	case OpFloorDiv:
		return T(math.Floor(float64(x / y))), true
	case OpMod:
		return FloorModFloat(x, y), true
	case OpPow:
		return Pow(x, y), true
	case OpMin:
		return min(x, y), true
	case OpMax:
		return max(x, y), true
	}
	return 0, false
}

// Pow returns x to the power of y. A square is one product.
func Pow[T Float](x, y T) T {
	if x, ok := any(x).(float32); ok {
		return T(elementary.PowF32(x, float32(y)))
	}
	return T(elementary.Pow(float64(x), float64(y)))
}

// PowSlice sets each d[k] to Pow(x[k], y[k]). The slices have one length, and may be the same
// memory.
func PowSlice[T Float](d, x, y []T) {
	switch d := any(d).(type) {
	case []float32:
		elementary.PowSliceF32(d, any(x).([]float32), any(y).([]float32))
	case []float64:
		elementary.PowSlice(d, any(x).([]float64), any(y).([]float64))
	}
}

// IsMathFunc reports whether op is a function of one float, other than the absolute value.
func IsMathFunc(op Op) bool { return MathFunc[float64](op) != nil }

// MathFunc returns the function of one float that computes op, or nil if op is another
// kind of operation.
func MathFunc[T Float](op Op) func(T) T {
	f := roundingFuncs[op]
	if f == nil {
		e := elementary.Unary(op.String())
		if e == nil {
			return nil
		}
		if g, ok := any(e.F64).(func(T) T); ok {
			return g
		}
		return any(e.F32).(func(T) T)
	}
	if g, ok := any(f).(func(T) T); ok {
		return g
	}
	// one rounding to float64 and one to float32 give what one to float32 would
	return func(x T) T { return T(f(float64(x))) }
}

// MathSlice returns the function that sets each d[k] to MathFunc of x[k], or nil. The slices
// have one length, and may be the same memory.
func MathSlice[T Float](op Op) func(d, x []T) {
	e := elementary.Unary(op.String())
	if e == nil {
		f := MathFunc[T](op)
		if f == nil {
			return nil
		}
		return func(d, x []T) {
			for k, v := range x {
				d[k] = f(v)
			}
		}
	}
	if g, ok := any(e.Slice64).(func(d, x []T)); ok {
		return g
	}
	return any(e.Slice32).(func(d, x []T))
}

// The functions that IEEE 754 rounds correctly.
var roundingFuncs = map[Op]func(float64) float64{OpSqrt: math.Sqrt, OpFloor: math.Floor, OpCeil: math.Ceil, OpRound: math.Round}

// Neutral returns the value of a fold over no round, as an integer and as a float.
func Neutral(reduce Op, t Type) (i int64, f float64) {
	switch reduce {
	case OpMul:
		return 1, 1
	case OpMin:
		_, hi := IntRange(t)
		return hi, math.Inf(1)
	case OpMax:
		lo, _ := IntRange(t)
		return lo, math.Inf(-1)
	}
	return 0, 0
}

// IntRange returns the smallest and the largest value of an integer type. The largest of
// U64 is -1, the int64 of the same bits.
func IntRange(t Type) (lo, hi int64) {
	switch t {
	case I8:
		return math.MinInt8, math.MaxInt8
	case I16:
		return math.MinInt16, math.MaxInt16
	case I32:
		return math.MinInt32, math.MaxInt32
	case U8:
		return 0, math.MaxUint8
	case U16:
		return 0, math.MaxUint16
	case U32:
		return 0, math.MaxUint32
	case U64:
		return 0, -1
	}
	return math.MinInt64, math.MaxInt64
}

// Wrap returns v reduced to the bits of the integer type t. A value of U64 is the int64 of
// the same bits.
func Wrap(v int64, t Type) int64 {
	switch t {
	case I8:
		return int64(int8(v))
	case I16:
		return int64(int16(v))
	case I32:
		return int64(int32(v))
	case U8:
		return int64(uint8(v))
	case U16:
		return int64(uint16(v))
	case U32:
		return int64(uint32(v))
	}
	return v
}

// Saturate converts a float to the integer type t: rounded towards zero, the nearest value
// of t if it does not fit, and 0 for NaN.
func Saturate(v float64, t Type) int64 {
	if v != v {
		return 0
	}
	if t == U64 {
		switch {
		case v >= 1<<64:
			return -1
		case v <= 0:
			return 0
		}
		return int64(uint64(v))
	}
	lo, hi := IntRange(t)
	switch {
	case v >= float64(hi):
		return hi // float64(MaxInt64) is 2^63, the first value that does not fit
	case v <= float64(lo):
		return lo
	}
	return int64(v)
}

// IntToFloat converts an integer of type t to the float type f.
func IntToFloat(v int64, t, f Type) float64 {
	switch {
	case t == U64 && f == F32:
		return float64(float32(uint64(v)))
	case t == U64:
		return float64(uint64(v))
	case f == F32:
		return float64(float32(v))
	}
	return float64(v)
}

// Trips returns the number of rounds of lo..hi or lo..=hi.
func Trips(lo, hi int64, closed bool) uint64 {
	switch {
	case lo < hi && !closed:
		return uint64(hi) - uint64(lo)
	case lo <= hi && closed:
		return uint64(hi) - uint64(lo) + 1
	}
	return 0
}

// The coefficients of elementary.ArgComplex, which lowering writes into bodies.
var AtanP, AtanQ = elementary.AtanP, elementary.AtanQ
