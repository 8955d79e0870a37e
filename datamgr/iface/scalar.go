package iface

import (
	"encoding/binary"
	"math"
	"unsafe"
)

// ScalarKind is the type of a scalar argument.
type ScalarKind uint8

// The types of scalar arguments.
const (
	NoScalar ScalarKind = iota
	IntScalar
	FloatScalar
	BoolScalar
	StringScalar
	ComplexScalar
)

// Scalar is an argument of a task that is not data: a plain value, copied. Its methods
// never fail: what was made as another type gives 0, "" or what comes nearest. The zero
// value is of no type.
type Scalar struct {
	bits uint64
	str  string // of a complex number: the eight bytes of the imaginary part, so that other scalars are no larger for it
	kind ScalarKind
}

// Int makes an integer scalar.
func Int(v int64) Scalar { return Scalar{bits: uint64(v), kind: IntScalar} }

// Float makes a floating-point scalar.
func Float(v float64) Scalar { return Scalar{bits: math.Float64bits(v), kind: FloatScalar} }

// Complex makes a complex scalar.
func Complex(v complex128) Scalar {
	im := binary.NativeEndian.AppendUint64(nil, math.Float64bits(imag(v)))
	return Scalar{bits: math.Float64bits(real(v)), str: string(im), kind: ComplexScalar}
}

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

// Int returns the value as an integer; a float is cut off, and so is the real part of a complex
// number.
func (s Scalar) Int() int64 {
	if s.kind == FloatScalar || s.kind == ComplexScalar {
		return int64(math.Float64frombits(s.bits))
	}
	return int64(s.bits)
}

// Float returns the value as a float; an integer is converted. Of a complex number it is the
// real part.
func (s Scalar) Float() float64 {
	if s.kind == FloatScalar || s.kind == ComplexScalar {
		return math.Float64frombits(s.bits)
	}
	return float64(int64(s.bits))
}

// Complex returns the value as a complex number; the imaginary part of others is 0.
func (s Scalar) Complex() complex128 {
	if s.kind == ComplexScalar {
		return complex(math.Float64frombits(s.bits), math.Float64frombits(binary.NativeEndian.Uint64([]byte(s.str))))
	}
	return complex(s.Float(), 0)
}

// Bool returns the truth value; numbers are true unless all of their bits are 0.
func (s Scalar) Bool() bool { return s.bits != 0 }

// Str returns the string; "" for other types.
func (s Scalar) Str() string {
	if s.kind == ComplexScalar {
		return ""
	}
	return s.str
}

// As returns the value as an element: integers wrap, floats round and are cut off for integer
// types.
func As[T Go](s Scalar) (v T) {
	p := unsafe.Pointer(&v)
	isFloat := s.kind == FloatScalar || s.kind == ComplexScalar
	switch e := ElemOf[T](); e {
	case C64:
		*(*complex64)(p) = complex64(s.Complex())
	case C128:
		*(*complex128)(p) = s.Complex()
	case F32:
		if *(*float32)(p) = float32(s.Int()); isFloat {
			*(*float32)(p) = float32(s.Float())
		}
	case F64:
		*(*float64)(p) = s.Float()
	case F16:
		*(*Float16)(p) = ToFloat16(float32(s.Float()))
	case BF16:
		*(*BFloat16)(p) = ToBFloat16(float32(s.Float()))
	case B8:
		*(*bool)(p) = s.Bool()
	default:
		switch e.Size() {
		case 1:
			*(*int8)(p) = int8(s.Int())
		case 2:
			*(*int16)(p) = int16(s.Int())
		case 4:
			*(*int32)(p) = int32(s.Int())
		case 8:
			*(*int64)(p) = s.Int()
		}
	}
	return v
}
