package cpu

// Masks of strips: which rounds of a strip run. A mask is nil if all do. Eight rounds are looked at together:
// a bool is a byte of 0 or 1.

import (
	le "encoding/binary"
	"math/bits"
	"unsafe"
)

// allTrue are eight bools that are true.
const allTrue = 0x0101010101010101

// bytesOf returns the bools of v as bytes of 0 and 1, in the same memory.
func bytesOf(v []bool) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v))
}

// selectRounds sets yes for the rounds of mask where v is true, and returns how many there are. v and yes may be the same
// memory.
func selectRounds(v, mask, yes []bool) (in int) {
	b, y := bytesOf(v), bytesOf(yes[:len(v)])
	k := 0
	if mask == nil {
		for ; k+8 <= len(b); k += 8 {
			x := le.LittleEndian.Uint64(b[k:])
			le.LittleEndian.PutUint64(y[k:], x)
			in += bits.OnesCount64(x)
		}
		for ; k < len(b); k++ {
			in += int(b[k])
			y[k] = b[k]
		}
		return in
	}
	p := bytesOf(mask[:len(v)])
	for ; k+8 <= len(b); k += 8 {
		x := le.LittleEndian.Uint64(b[k:]) & le.LittleEndian.Uint64(p[k:])
		le.LittleEndian.PutUint64(y[k:], x)
		in += bits.OnesCount64(x)
	}
	for ; k < len(b); k++ {
		y[k] = b[k] & p[k]
		in += int(y[k])
	}
	return in
}

// splitMask divides the rounds of mask by v: yes are those where v is true, and no the others. It returns how
// many there are of each. v and yes may be the same memory.
func splitMask(v, mask, yes, no []bool) (in, out int) {
	in = selectRounds(v, mask, yes)
	y, n := bytesOf(yes[:len(v)]), bytesOf(no[:len(v)])
	k := 0
	if mask == nil {
		for ; k+8 <= len(y); k += 8 {
			le.LittleEndian.PutUint64(n[k:], le.LittleEndian.Uint64(y[k:])^allTrue)
		}
		for ; k < len(y); k++ {
			n[k] = y[k] ^ 1
		}
		return in, len(v) - in
	}
	p := bytesOf(mask[:len(v)])
	for ; k+8 <= len(y); k += 8 {
		x := le.LittleEndian.Uint64(y[k:]) ^ le.LittleEndian.Uint64(p[k:])
		le.LittleEndian.PutUint64(n[k:], x)
		out += bits.OnesCount64(x)
	}
	for ; k < len(y); k++ {
		n[k] = y[k] ^ p[k]
		out += int(n[k])
	}
	return in, out
}

// blend copies the elements of x where mask is true to d.
func blend[T any](d, x []T, mask []bool) {
	switch unsafe.Sizeof(*new(T)) {
	case 1:
		blendBits(asBits[uint8](d), asBits[uint8](x), mask)
	case 2:
		blendBits(asBits[uint16](d), asBits[uint16](x), mask)
	case 4:
		blendBits(asBits[uint32](d), asBits[uint32](x), mask)
	default:
		blendBits(asBits[uint64](d), asBits[uint64](x), mask)
	}
}

// asBits returns the elements of x, of U's size, as integers in the same memory.
func asBits[U uint8 | uint16 | uint32 | uint64, T any](x []T) []U {
	return unsafe.Slice((*U)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

// blendBits is blend for integers.
func blendBits[U uint8 | uint16 | uint32 | uint64](d, x []U, mask []bool) {
	p := bytesOf(mask[:len(d)])
	x = x[:len(d)]
	k := 0
	for ; k+8 <= len(d); k += 8 {
		switch runs := le.LittleEndian.Uint64(p[k:]); runs {
		case 0:
		case allTrue:
			copy(d[k:k+8], x[k:k+8])
		default: // without a branch for each, which could not be predicted
			to, from := d[k:k+8:k+8], x[k:k+8:k+8]
			for i := range to {
				to[i] ^= (to[i] ^ from[i]) & -U(runs&1)
				runs >>= 8
			}
		}
	}
	for ; k < len(d); k++ {
		d[k] ^= (d[k] ^ x[k]) & -U(p[k])
	}
}
