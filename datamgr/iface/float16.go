package iface

// Floats of 16 bits. They are stored, and computed with as float32: an element is converted when it
// is read, and rounded when it is written.

import (
	"math"
	"strconv"
)

// Float16 is an element of type F16, a half of IEEE 754: 11 significant bits, up to 65504. It has no
// arithmetic; == compares bits.
type Float16 struct{ bits uint16 }

// BFloat16 is an element of type BF16, the upper half of a float32: 8 significant bits, and the range
// of a float32. It has no arithmetic; == compares bits.
type BFloat16 struct{ bits uint16 }

// ToFloat16 returns the Float16 nearest to v, the even one of two. A v of 65520 or more is an infinity.
func ToFloat16(v float32) Float16 { return Float16{F16Bits(v)} }

// ToBFloat16 returns the BFloat16 nearest to v, the even one of two.
func ToBFloat16(v float32) BFloat16 { return BFloat16{BF16Bits(v)} }

// Float16FromBits returns the Float16 that is stored as b.
func Float16FromBits(b uint16) Float16 { return Float16{b} }

// BFloat16FromBits returns the BFloat16 that is stored as b.
func BFloat16FromBits(b uint16) BFloat16 { return BFloat16{b} }

// Bits returns f as it is stored.
func (f Float16) Bits() uint16 { return f.bits }

// Bits returns f as it is stored.
func (f BFloat16) Bits() uint16 { return f.bits }

// Float32 returns the value of f, which a float32 holds exactly.
func (f Float16) Float32() float32 { return F16FromBits(f.bits) }

// Float32 returns the value of f, which a float32 holds exactly.
func (f BFloat16) Float32() float32 { return BF16FromBits(f.bits) }

// String returns the shortest text of the value of f as a float32.
func (f Float16) String() string { return strconv.FormatFloat(float64(f.Float32()), 'g', -1, 32) }

// String returns the shortest text of the value of f as a float32.
func (f BFloat16) String() string { return strconv.FormatFloat(float64(f.Float32()), 'g', -1, 32) }

// F16FromBits returns the value of the Float16 that is stored as b. The significant bits of a NaN are
// kept.
func F16FromBits(b uint16) float32 {
	u := uint32(b&0x7fff) << 13
	if u >= 0x7c00<<13 {
		u |= 0x7f800000 // an infinity or a NaN
	} else {
		u = math.Float32bits(math.Float32frombits(u) * 0x1p112) // the exponents of the two types differ by 112
	}
	return math.Float32frombits(u | uint32(b&0x8000)<<16)
}

// F16Bits returns the bits of the Float16 nearest to v, the even one of two. A NaN stays one, with
// its upper significant bits.
func F16Bits(v float32) uint16 {
	u := math.Float32bits(v)
	sign, u := uint16(u>>16)&0x8000, u&0x7fffffff
	switch {
	case u > 0x7f800000:
		return sign | 0x7e00 | uint16(u>>13)&0x3ff
	case u >= 0x477ff000: // 65520
		return sign | 0x7c00
	case u < 0x38800000: // below 2^-14: one unit of the sum is the smallest Float16
		return sign | uint16(math.Float32bits(math.Float32frombits(u)+0.5)-0x3f000000)
	}
	return sign | uint16((u-112<<23+0xfff+u>>13&1)>>13)
}

// BF16FromBits returns the value of the BFloat16 that is stored as b.
func BF16FromBits(b uint16) float32 { return math.Float32frombits(uint32(b) << 16) }

// BF16Bits returns the bits of the BFloat16 nearest to v, the even one of two. A NaN stays one, with
// its upper significant bits.
func BF16Bits(v float32) uint16 {
	u := math.Float32bits(v)
	if u&0x7fffffff > 0x7f800000 {
		return uint16(u>>16) | 0x40
	}
	return uint16((u + 0x7fff + u>>16&1) >> 16)
}

// Round returns v as an element of type e holds it, for the types of floats, and v for others. A value
// of 16 bits is rounded to a float32 first.
func (e Elem) Round(v float64) float64 {
	switch e {
	case F32:
		return float64(float32(v))
	case F16:
		return float64(F16FromBits(F16Bits(float32(v))))
	case BF16:
		return float64(BF16FromBits(BF16Bits(float32(v))))
	}
	return v
}

// Overflows reports whether v is finite, and an infinity as an element of type e or as a part of one.
func (e Elem) Overflows(v float64) bool {
	return !math.IsInf(v, 0) && math.IsInf(e.Part().Round(v), 0)
}
