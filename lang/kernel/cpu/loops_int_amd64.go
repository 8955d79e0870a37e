package cpu

// Loops of integers and of two types with vector instructions (SSE2, which every amd64 machine has).

import (
	"math"
	"unsafe"

	"github.com/starpush/starpush/lang/kernel/elementary"
	"github.com/starpush/starpush/lang/kernel/ir"
)

//go:noescape
func addVVi16(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func subVVi16(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func addVSi16(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func addVVVi16(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func mulVVi16(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func mulVSi16(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func mulAddVVVi16(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func subMulVVVi16(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func mulAddVSVi16(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func subMulVSVi16(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func shrVSi16(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func addVVi32(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func subVVi32(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func addVSi32(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func addVVVi32(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func shrVSi32(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func addVVi64(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func subVVi64(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func addVSi64(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func addVVVi64(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func f32ToF64(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func i32ToF64(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func f64ToF32(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func i64ToI32(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func i32ToF32(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func i32ToI64(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func u8ToI16(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func i8ToI16(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func i16ToI8(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func addProductVSV(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func addProductVVV(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func addProductVSVAVX2(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func addProductVVVAVX2(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func weightedU8AVX2(d, sources, weights unsafe.Pointer, terms, n int)

// speedUpInts is speedUp for integers of 16, 32 and 64 bits.
func speedUpInts[T ir.Integer](l *loops[T]) {
	switch unsafe.Sizeof(T(0)) {
	case 2:
		l.addVV, l.subVV, l.addVS, l.addVVV = blocksVV(addVVi16, addVV[T]), blocksVV(subVVi16, subVV[T]), blocksVS(addVSi16, addVS[T]), blocksVVV(addVVVi16, addVVV[T])
		l.mulVV, l.mulVS = blocksVV(mulVVi16, mulVV[T]), blocksVS(mulVSi16, mulVS[T])
		l.mulAddVVV, l.subMulVVV = blocksVVV(mulAddVVVi16, mulAddVVV[T]), blocksVVV(subMulVVVi16, subMulVVV[T])
		l.mulAddVSV, l.subMulVSV = blocksVSV(mulAddVSVi16, mulAddVSV[T]), blocksVSV(subMulVSVi16, subMulVSV[T])
	case 4:
		l.addVV, l.subVV, l.addVS, l.addVVV = blocksVV(addVVi32, addVV[T]), blocksVV(subVVi32, subVV[T]), blocksVS(addVSi32, addVS[T]), blocksVVV(addVVVi32, addVVV[T])
	case 8:
		l.addVV, l.subVV, l.addVS, l.addVVV = blocksVV(addVVi64, addVV[T]), blocksVV(subVVi64, subVV[T]), blocksVS(addVSi64, addVS[T]), blocksVVV(addVVVi64, addVVV[T])
	}
}

// lane returns s as the argument of a loop: floats as f64, integers as their bits.
func lane[T ir.Number](s T) float64 {
	if T(1)/2 != 0 {
		return float64(s)
	}
	return math.Float64frombits(uint64(s))
}

// shiftRight returns the loop of a>>count for signed integers, or rest if there is no faster one.
func shiftRight[T ir.Integer](count int, rest func(d, a []T)) func(d, a []T) {
	var f blockLoop
	switch any(T(0)).(type) {
	case int16:
		f = shrVSi16
	case int32:
		f = shrVSi32
	default:
		return rest
	}
	by := math.Float64frombits(uint64(count))
	return func(d, a []T) {
		a = a[:len(d)]
		n, k := head[T](len(d))
		f(startOf(d), startOf(a), nil, nil, by, 0, n)
		rest(d[k:], a[k:])
	}
}

// conversion returns the loop that converts values, or rest if there is no faster one.
func conversion[A, T ir.Number](rest func(d []T, a []A)) func(d []T, a []A) {
	var f blockLoop
	switch any(rest).(type) {
	case func([]float64, []float32):
		f = f32ToF64
	case func([]float32, []float64):
		f = f64ToF32
	case func([]float64, []int32):
		f = i32ToF64
	case func([]float32, []int32):
		f = i32ToF32
	case func([]int64, []int32), func([]uint64, []int32):
		f = i32ToI64
	case func([]int32, []int64), func([]uint32, []int64), func([]int32, []uint64), func([]uint32, []uint64):
		f = i64ToI32
	case func([]int16, []uint8), func([]uint16, []uint8):
		f = u8ToI16
	case func([]int16, []int8), func([]uint16, []int8):
		f = i8ToI16
	case func([]uint8, []int16), func([]int8, []int16), func([]uint8, []uint16), func([]int8, []uint16):
		f = i16ToI8
	default:
		return rest
	}
	return func(d []T, a []A) {
		a = a[:len(d)]
		n := len(d) / 16
		f(startOf(d), startOf(a), nil, nil, 0, 0, n)
		rest(d[16*n:], a[16*n:])
	}
}

// productSums returns the loops c + a*s and c + a*b of products of f32 that are added as f64.
func productSums() (vsv func(d []float64, a []float32, s float32, c []float64), vvv func(d []float64, a, b []float32, c []float64)) {
	sv, vv := addProductVSV, addProductVVV
	if elementary.HasAVX2() {
		sv, vv = addProductVSVAVX2, addProductVVVAVX2
	}
	return func(d []float64, a []float32, s float32, c []float64) {
			a, c = a[:len(d)], c[:len(d)]
			n := len(d) / 8
			sv(startOf(d), startOf(a), nil, startOf(c), float64(s), 0, n)
			productSumVSV(d[8*n:], a[8*n:], s, c[8*n:])
		}, func(d []float64, a, b []float32, c []float64) {
			a, b, c = a[:len(d)], b[:len(d)], c[:len(d)]
			n := len(d) / 8
			vv(startOf(d), startOf(a), startOf(b), startOf(c), 0, 0, n)
			productSumVVV(d[8*n:], a[8*n:], b[8*n:], c[8*n:])
		}
}

// hasWeighted reports whether weighted is faster than sums of products.
func hasWeighted() bool { return elementary.HasAVX2() }

// weighted is weightedU8, for processors with AVX2.
func weighted(d []int16, sources [][]uint8, weights []int16) {
	const block = 32
	n := len(d)
	if n < block {
		weightedU8(d, sources, weights)
		return
	}
	var from [maxWeighted]unsafe.Pointer
	for k, x := range sources {
		from[k] = startOf(x[:n])
	}
	weightedU8AVX2(startOf(d), unsafe.Pointer(&from), startOf(weights[:1+len(sources)]), len(sources), n/block)
	if n%block == 0 {
		return
	}
	for k, x := range sources { // the last block, with some values again
		from[k] = startOf(x[n-block : n])
	}
	weightedU8AVX2(startOf(d[n-block:]), unsafe.Pointer(&from), startOf(weights), len(sources), 1)
}
