package kernel

// The mixing rules: which type an operation computes in, and how values are
// converted to it.

import "math"

// mix returns the type in which two operands meet: a float wins over an
// integer, then the wider, then the signed; a literal takes the other side's
// type where it fits.
func mix(x, y *Expr) Type {
	a, b := x.Type, y.Type
	switch {
	case a == Open || b == Open:
		return Open
	case x.Lit && !y.Lit:
		if litFits(x, b) {
			return b
		}
	case y.Lit && !x.Lit:
		if litFits(y, a) {
			return a
		}
	}
	return mixTypes(a, b)
}

// mixTypes is mix without literals.
func mixTypes(a, b Type) Type {
	switch {
	case a == b:
		return a
	case a.IsFloat() != b.IsFloat():
		if a.IsFloat() {
			return a
		}
		return b
	case a.Size() != b.Size():
		if a.Size() > b.Size() {
			return a
		}
		return b
	case a < b: // of equal size: the signed types have the lower numbers
		return a
	}
	return b
}

// litFits reports whether the literal x can take type t. Every integer fits a
// float type, by rounding; a float does not fit an integer type.
func litFits(x *Expr, t Type) bool {
	switch {
	case t == F64:
		return true
	case t == F32:
		if x.Type.IsInt() {
			return true
		}
		return math.IsInf(x.Float, 0) || math.IsNaN(x.Float) || !math.IsInf(float64(float32(x.Float)), 0)
	case x.Type.IsFloat():
		return false
	}
	lo, hi := intRange(t)
	return x.Int >= lo && (t == U64 || x.Int <= hi)
}

// intRange returns the smallest and largest value of an integer type; the
// largest of U64 is not an int64 and given as -1.
func intRange(t Type) (lo, hi int64) {
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

// wrap cuts v to the bits of integer type t. Values of U64 are kept as the
// int64 of the same bits.
func wrap(v int64, t Type) int64 {
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

// saturate converts a float to integer type t: cut off towards zero, the
// nearest value of t where it does not fit, 0 for NaN.
func saturate(v float64, t Type) int64 {
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
	lo, hi := intRange(t)
	switch {
	case v >= float64(hi):
		return hi // float64(MaxInt64) is 2^63, the first value that does not fit
	case v <= float64(lo):
		return lo
	}
	return int64(v)
}

// intToFloat converts an integer of type t, rounded to f.
func intToFloat(v int64, t, f Type) float64 {
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

// convert returns x as type t. Conversions of constants are done here.
func convert(x *Expr, t Type) *Expr {
	if x.Type == t || x.Type == Open || t == Open || x.Op == OpBad {
		if x.Lit {
			c := *x
			c.Lit = false
			return &c
		}
		return x
	}
	if x.Op == OpConst {
		c := *x
		c.Type, c.Lit = t, false
		switch {
		case x.Type.IsFloat() && t == F32:
			c.Float = float64(float32(x.Float))
		case x.Type.IsFloat() && t.IsInt():
			c.Int, c.Float = saturate(x.Float, t), 0
		case x.Type.IsInt() && t.IsFloat():
			c.Int, c.Float = 0, intToFloat(x.Int, x.Type, t)
		case x.Type.IsInt():
			c.Int = wrap(x.Int, t)
		}
		return &c
	}
	return &Expr{Op: OpConvert, Type: t, X: []*Expr{x}, Pos: x.Pos}
}
