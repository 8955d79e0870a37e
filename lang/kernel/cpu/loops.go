package cpu

// The innermost loops. Each computes one operation, or a few that often occur together, over
// a strip. In their names V is a strip and S one value. All strips have the length of d, and
// may be the same memory. Products are rounded before they are added, on every machine.

import "github.com/starpush/starpush/lang/kernel/ir"

// loops are the loops of one element type that have faster forms on some machines, with the
// same bits.
type loops[T ir.Number] struct {
	addVV, subVV, mulVV  func(d, a, b []T)
	addVS, mulVS         func(d, a []T, s T)
	addVVV, mulAddVVV    func(d, a, b, c []T)       // a+b+c, a*b+c
	subMulVVV, mulSubVVV func(d, a, b, c []T)       // c-a*b, a*b-c
	mulAddVSV, subMulVSV func(d, a []T, s T, c []T) // a*s+c, c-a*s
	mulAddVVS, addMulVVS func(d, a, b []T, s T)     // a*b+s, (a+b)*s
	mulAddVSS            func(d, a []T, s, t T)     // a*s+t
	sumV                 func(a []T) T
	dotVV                func(a, b []T) T
}

// loopsOf returns the fastest loops for T on this machine.
func loopsOf[T ir.Number]() *loops[T] {
	l := plainLoops[T]()
	speedUp(l)
	return l
}

func plainLoops[T ir.Number]() *loops[T] {
	return &loops[T]{addVV: addVV[T], subVV: subVV[T], mulVV: mulVV[T], addVS: addVS[T], mulVS: mulVS[T], addVVV: addVVV[T],
		mulAddVVV: mulAddVVV[T], subMulVVV: subMulVVV[T], mulSubVVV: mulSubVVV[T], mulAddVSV: mulAddVSV[T], subMulVSV: subMulVSV[T],
		mulAddVVS: mulAddVVS[T], addMulVVS: addMulVVS[T], mulAddVSS: mulAddVSS[T], sumV: sumV[T], dotVV: dotVV[T]}
}

func addVV[T ir.Number](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for k := range d {
		d[k] = a[k] + b[k]
	}
}

func addVS[T ir.Number](d, a []T, s T) {
	a = a[:len(d)]
	for k := range d {
		d[k] = a[k] + s
	}
}

func subVV[T ir.Number](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for k := range d {
		d[k] = a[k] - b[k]
	}
}

func subSV[T ir.Number](d []T, s T, b []T) {
	b = b[:len(d)]
	for k := range d {
		d[k] = s - b[k]
	}
}

func mulVV[T ir.Number](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for k := range d {
		d[k] = a[k] * b[k]
	}
}

func mulVS[T ir.Number](d, a []T, s T) {
	a = a[:len(d)]
	for k := range d {
		d[k] = a[k] * s
	}
}

func divVV[T ir.Number](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for k := range d {
		d[k] = a[k] / b[k]
	}
}

func divVS[T ir.Number](d, a []T, s T) {
	a = a[:len(d)]
	for k := range d {
		d[k] = a[k] / s
	}
}

func divSV[T ir.Number](d []T, s T, b []T) {
	b = b[:len(d)]
	for k := range d {
		d[k] = s / b[k]
	}
}

func minVV[T ir.Number](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for k := range d {
		d[k] = min(a[k], b[k])
	}
}

func maxVV[T ir.Number](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for k := range d {
		d[k] = max(a[k], b[k])
	}
}

func minVS[T ir.Number](d, a []T, s T) {
	a = a[:len(d)]
	for k := range d {
		d[k] = min(a[k], s)
	}
}

func maxVS[T ir.Number](d, a []T, s T) {
	a = a[:len(d)]
	for k := range d {
		d[k] = max(a[k], s)
	}
}

func addVVV[T ir.Number](d, a, b, c []T) {
	a, b, c = a[:len(d)], b[:len(d)], c[:len(d)]
	for k := range d {
		d[k] = a[k] + b[k] + c[k]
	}
}

func addMulVVS[T ir.Number](d, a, b []T, s T) {
	a, b = a[:len(d)], b[:len(d)]
	for k := range d {
		d[k] = (a[k] + b[k]) * s
	}
}

func mulAddVVV[T ir.Number](d, a, b, c []T) {
	a, b, c = a[:len(d)], b[:len(d)], c[:len(d)]
	for k := range d {
		d[k] = T(a[k]*b[k]) + c[k]
	}
}

func mulAddVSV[T ir.Number](d, a []T, s T, c []T) {
	a, c = a[:len(d)], c[:len(d)]
	for k := range d {
		d[k] = T(a[k]*s) + c[k]
	}
}

func mulAddVVS[T ir.Number](d, a, b []T, s T) {
	a, b = a[:len(d)], b[:len(d)]
	for k := range d {
		d[k] = T(a[k]*b[k]) + s
	}
}

func mulAddVSS[T ir.Number](d, a []T, s, t T) {
	a = a[:len(d)]
	for k := range d {
		d[k] = T(a[k]*s) + t
	}
}

func subMulVVV[T ir.Number](d, a, b, c []T) {
	a, b, c = a[:len(d)], b[:len(d)], c[:len(d)]
	for k := range d {
		d[k] = c[k] - T(a[k]*b[k])
	}
}

func mulSubVVV[T ir.Number](d, a, b, c []T) {
	a, b, c = a[:len(d)], b[:len(d)], c[:len(d)]
	for k := range d {
		d[k] = T(a[k]*b[k]) - c[k]
	}
}

func subMulVSV[T ir.Number](d, a []T, s T, c []T) {
	a, c = a[:len(d)], c[:len(d)]
	for k := range d {
		d[k] = c[k] - T(a[k]*s)
	}
}

func productSumVSV(d []float64, a []float32, s float32, c []float64) {
	a, c = a[:len(d)], c[:len(d)]
	for k := range d {
		d[k] = c[k] + float64(a[k]*s)
	}
}

func productSumVVV(d []float64, a, b []float32, c []float64) {
	a, b, c = a[:len(d)], b[:len(d)], c[:len(d)]
	for k := range d {
		d[k] = c[k] + float64(a[k]*b[k])
	}
}

// maxWeighted bounds the sources of weightedU8.
const maxWeighted = 12

// weightedU8 computes weights[0] + weights[1]*sources[0] + weights[2]*sources[1] and so on. The sources and d are
// different memory.
func weightedU8(d []int16, sources [][]uint8, weights []int16) {
	fill(d, weights[0])
	for j, x := range sources {
		w := weights[j+1]
		for k, v := range x[:len(d)] {
			d[k] += w * int16(v)
		}
	}
}

func convertV[A, T ir.Number](d []T, a []A) {
	a = a[:len(d)]
	for k := range d {
		d[k] = T(a[k])
	}
}

func fill[T any](d []T, v T) {
	for k := range d {
		d[k] = v
	}
}

func chooseVV[T any](d []T, f []bool, a, b []T) {
	f, a, b = f[:len(d)], a[:len(d)], b[:len(d)]
	for k := range d {
		v := b[k]
		if f[k] {
			v = a[k]
		}
		d[k] = v
	}
}

// Sums have eight partial sums, and an order that depends on the length alone.

func sumV[T ir.Number](a []T) T {
	var p [8]T
	for ; len(a) >= 8; a = a[8:] {
		p[0] += a[0]
		p[1] += a[1]
		p[2] += a[2]
		p[3] += a[3]
		p[4] += a[4]
		p[5] += a[5]
		p[6] += a[6]
		p[7] += a[7]
	}
	return sumRest(&p, a)
}

// sumRest adds the last values of a strip, fewer than eight, to the partial sums and returns
// their sum.
func sumRest[T ir.Number](p *[8]T, a []T) T {
	for k, x := range a {
		p[k] += x
	}
	return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]))
}

// dotVV is sumV of the products.
func dotVV[T ir.Number](a, b []T) T {
	var p [8]T
	b = b[:len(a)]
	for len(a) >= 8 && len(b) >= 8 {
		p[0] += T(a[0] * b[0])
		p[1] += T(a[1] * b[1])
		p[2] += T(a[2] * b[2])
		p[3] += T(a[3] * b[3])
		p[4] += T(a[4] * b[4])
		p[5] += T(a[5] * b[5])
		p[6] += T(a[6] * b[6])
		p[7] += T(a[7] * b[7])
		a, b = a[8:], b[8:]
	}
	return dotRest(&p, a, b)
}

func dotRest[T ir.Number](p *[8]T, a, b []T) T {
	for k, x := range a {
		p[k] += T(x * b[k])
	}
	return sumRest(p, nil)
}

func prodV[T ir.Number](a []T) T {
	var p T = 1
	for _, x := range a {
		p *= x
	}
	return p
}

func minV[T ir.Number](a []T) T {
	p := a[0]
	for _, x := range a[1:] {
		p = min(p, x)
	}
	return p
}

func maxV[T ir.Number](a []T) T {
	p := a[0]
	for _, x := range a[1:] {
		p = max(p, x)
	}
	return p
}
