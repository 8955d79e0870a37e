package iface

import "math"

// ScalarKind is the type of a scalar argument.
type ScalarKind uint8

// The types of scalar arguments.
const (
	NoScalar ScalarKind = iota
	IntScalar
	FloatScalar
	BoolScalar
	StringScalar
)

// Scalar is an argument of a task that is not data: a plain value, copied. Its methods
// never fail: what was made as another type gives 0, "" or what comes nearest. The zero
// value is of no type.
type Scalar struct {
	bits uint64
	str  string
	kind ScalarKind
}

// Int makes an integer scalar.
func Int(v int64) Scalar { return Scalar{bits: uint64(v), kind: IntScalar} }

// Float makes a floating-point scalar.
func Float(v float64) Scalar { return Scalar{bits: math.Float64bits(v), kind: FloatScalar} }

// Bool makes a truth value.
func Bool(v bool) Scalar {
	s := Scalar{kind: BoolScalar}
	if v {
		s.bits = 1
	}
	return s
}

// Str makes a string scalar.
func Str(v string) Scalar { return Scalar{str: v, kind: StringScalar} }

// Kind returns the type of s.
func (s Scalar) Kind() ScalarKind { return s.kind }

// Int returns the value as an integer; a float is cut off.
func (s Scalar) Int() int64 {
	if s.kind == FloatScalar {
		return int64(math.Float64frombits(s.bits))
	}
	return int64(s.bits)
}

// Float returns the value as a float; an integer is converted.
func (s Scalar) Float() float64 {
	if s.kind == FloatScalar {
		return math.Float64frombits(s.bits)
	}
	return float64(int64(s.bits))
}

// Bool returns the truth value; numbers are true unless all of their bits are 0.
func (s Scalar) Bool() bool { return s.bits != 0 }

// Str returns the string; "" for other types.
func (s Scalar) Str() string { return s.str }
