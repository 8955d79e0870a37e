package cpu

// Loops with vector instructions (SSE2, which every amd64 machine has), with the bits of the
// plain loops.

import (
	"unsafe"

	"github.com/starpush/starpush/lang/kernel/ir"
)

// blockLoop is a loop over n blocks of 64 bytes. It ignores arguments that its operation does
// not have. Sums write eight partial sums to d.
type blockLoop func(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func addVVf64(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func subVVf64(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func mulVVf64(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func addVSf64(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func mulVSf64(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func addVVVf64(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func mulAddVVVf64(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func subMulVVVf64(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func mulSubVVVf64(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func mulAddVSVf64(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func subMulVSVf64(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func mulAddVVSf64(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func addMulVVSf64(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func mulAddVSSf64(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func sumVf64(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func dotVVf64(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func addVVf32(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func subVVf32(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func mulVVf32(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func addVSf32(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func mulVSf32(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func addVVVf32(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func mulAddVVVf32(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func subMulVVVf32(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func mulSubVVVf32(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func mulAddVSVf32(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func subMulVSVf32(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func mulAddVVSf32(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func addMulVVSf32(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func mulAddVSSf32(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func sumVf32(d, a, b, c unsafe.Pointer, s, t float64, n int)

//go:noescape
func dotVVf32(d, a, b, c unsafe.Pointer, s, t float64, n int)

// speedUp replaces loops by those of this machine.
func speedUp(l any) {
	switch l := l.(type) {
	case *loops[float64]:
		l.addVV, l.subVV, l.mulVV = blocksVV(addVVf64, addVV[float64]), blocksVV(subVVf64, subVV[float64]), blocksVV(mulVVf64, mulVV[float64])
		l.addVS, l.mulVS = blocksVS(addVSf64, addVS[float64]), blocksVS(mulVSf64, mulVS[float64])
		l.addVVV, l.mulAddVVV = blocksVVV(addVVVf64, addVVV[float64]), blocksVVV(mulAddVVVf64, mulAddVVV[float64])
		l.subMulVVV, l.mulSubVVV = blocksVVV(subMulVVVf64, subMulVVV[float64]), blocksVVV(mulSubVVVf64, mulSubVVV[float64])
		l.mulAddVSV, l.subMulVSV = blocksVSV(mulAddVSVf64, mulAddVSV[float64]), blocksVSV(subMulVSVf64, subMulVSV[float64])
		l.mulAddVVS, l.addMulVVS = blocksVVS(mulAddVVSf64, mulAddVVS[float64]), blocksVVS(addMulVVSf64, addMulVVS[float64])
		l.mulAddVSS = blocksVSS(mulAddVSSf64, mulAddVSS[float64])
		l.sumV, l.dotVV = sumBlocks64, dotBlocks64
	case *loops[float32]:
		l.addVV, l.subVV, l.mulVV = blocksVV(addVVf32, addVV[float32]), blocksVV(subVVf32, subVV[float32]), blocksVV(mulVVf32, mulVV[float32])
		l.addVS, l.mulVS = blocksVS(addVSf32, addVS[float32]), blocksVS(mulVSf32, mulVS[float32])
		l.addVVV, l.mulAddVVV = blocksVVV(addVVVf32, addVVV[float32]), blocksVVV(mulAddVVVf32, mulAddVVV[float32])
		l.subMulVVV, l.mulSubVVV = blocksVVV(subMulVVVf32, subMulVVV[float32]), blocksVVV(mulSubVVVf32, mulSubVVV[float32])
		l.mulAddVSV, l.subMulVSV = blocksVSV(mulAddVSVf32, mulAddVSV[float32]), blocksVSV(subMulVSVf32, subMulVSV[float32])
		l.mulAddVVS, l.addMulVVS = blocksVVS(mulAddVVSf32, mulAddVVS[float32]), blocksVVS(addMulVVSf32, addMulVVS[float32])
		l.mulAddVSS = blocksVSS(mulAddVSSf32, mulAddVSS[float32])
		l.sumV, l.dotVV = sumBlocks32, dotBlocks32
	case *loops[int16]:
		speedUpInts(l)
	case *loops[int32]:
		speedUpInts(l)
	case *loops[int64]:
		speedUpInts(l)
	case *loops[uint16]:
		speedUpInts(l)
	case *loops[uint32]:
		speedUpInts(l)
	case *loops[uint64]:
		speedUpInts(l)
	}
}

// head returns the number of blocks that n values of type T fill, and the number of values in
// them.
func head[T ir.Number](n int) (blocks, values int) {
	per := 64 / int(unsafe.Sizeof(T(0)))
	return n / per, n / per * per
}

func startOf[T ir.Number](s []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(s)) }

func blocksVV[T ir.Number](f blockLoop, rest func(d, a, b []T)) func(d, a, b []T) {
	return func(d, a, b []T) {
		a, b = a[:len(d)], b[:len(d)]
		n, k := head[T](len(d))
		f(startOf(d), startOf(a), startOf(b), nil, 0, 0, n)
		rest(d[k:], a[k:], b[k:])
	}
}

func blocksVS[T ir.Number](f blockLoop, rest func(d, a []T, s T)) func(d, a []T, s T) {
	return func(d, a []T, s T) {
		a = a[:len(d)]
		n, k := head[T](len(d))
		f(startOf(d), startOf(a), nil, nil, lane(s), 0, n)
		rest(d[k:], a[k:], s)
	}
}

func blocksVVV[T ir.Number](f blockLoop, rest func(d, a, b, c []T)) func(d, a, b, c []T) {
	return func(d, a, b, c []T) {
		a, b, c = a[:len(d)], b[:len(d)], c[:len(d)]
		n, k := head[T](len(d))
		f(startOf(d), startOf(a), startOf(b), startOf(c), 0, 0, n)
		rest(d[k:], a[k:], b[k:], c[k:])
	}
}

func blocksVSV[T ir.Number](f blockLoop, rest func(d, a []T, s T, c []T)) func(d, a []T, s T, c []T) {
	return func(d, a []T, s T, c []T) {
		a, c = a[:len(d)], c[:len(d)]
		n, k := head[T](len(d))
		f(startOf(d), startOf(a), nil, startOf(c), lane(s), 0, n)
		rest(d[k:], a[k:], s, c[k:])
	}
}

func blocksVVS[T ir.Number](f blockLoop, rest func(d, a, b []T, s T)) func(d, a, b []T, s T) {
	return func(d, a, b []T, s T) {
		a, b = a[:len(d)], b[:len(d)]
		n, k := head[T](len(d))
		f(startOf(d), startOf(a), startOf(b), nil, lane(s), 0, n)
		rest(d[k:], a[k:], b[k:], s)
	}
}

func blocksVSS[T ir.Number](f blockLoop, rest func(d, a []T, s, t T)) func(d, a []T, s, t T) {
	return func(d, a []T, s, t T) {
		a = a[:len(d)]
		n, k := head[T](len(d))
		f(startOf(d), startOf(a), nil, nil, lane(s), lane(t), n)
		rest(d[k:], a[k:], s, t)
	}
}

// A round of a sum takes 8 values: a block of f64, or half a block of f32.

func sumBlocks64(a []float64) float64 {
	var p [8]float64
	n := len(a) / 8
	sumVf64(unsafe.Pointer(&p), startOf(a), nil, nil, 0, 0, n)
	return sumRest(&p, a[8*n:])
}

func dotBlocks64(a, b []float64) float64 {
	var p [8]float64
	b = b[:len(a)]
	n := len(a) / 8
	dotVVf64(unsafe.Pointer(&p), startOf(a), startOf(b), nil, 0, 0, n)
	return dotRest(&p, a[8*n:], b[8*n:])
}

func sumBlocks32(a []float32) float32 {
	var p [8]float32
	n := len(a) / 8
	sumVf32(unsafe.Pointer(&p), startOf(a), nil, nil, 0, 0, n)
	return sumRest(&p, a[8*n:])
}

func dotBlocks32(a, b []float32) float32 {
	var p [8]float32
	b = b[:len(a)]
	n := len(a) / 8
	dotVVf32(unsafe.Pointer(&p), startOf(a), startOf(b), nil, 0, 0, n)
	return dotRest(&p, a[8*n:], b[8*n:])
}
