package stdlib

// std/random: data whose content depends on the seed and on places in the
// root datum. The package comment has the algorithm.

import (
	"math"

	"github.com/starpush/starpush/accel/cpu/blas"
	"github.com/starpush/starpush/datamgr/iface"
)

// generate fills operand 0. pair makes the elements 2b and 2b+1.
func generate[T blas.Float](k operands, pair func(b uint64) (T, T)) error {
	x := k.Buffer(0)
	if x.Len() == 0 {
		return nil
	}
	base, step := x.Number()
	rows, cols, rowStep, colStep := 1, x.Dim[0], 0, step[0]
	if x.Rank == 2 {
		rows, cols, rowStep, colStep = x.Dim[0], x.Dim[1], step[0], step[1]
	}
	mem, ld := iface.Strided[T](x)
	for i := range rows {
		row := mem[i*ld:][:cols]
		n := uint64(base + i*rowStep)
		last, known := uint64(0), false
		var even, odd T
		for j := range row {
			if b := n / 2; !known || b != last {
				even, odd = pair(b)
				last, known = b, true
			}
			if n%2 == 0 {
				row[j] = even
			} else {
				row[j] = odd
			}
			n += uint64(colStep)
		}
	}
	return nil
}

// uniform(x, seed, lo, hi)
func uniform32(k operands) error {
	s := newStream(k.Arg(0).Int(), uniformStream)
	lo, hi := k.Arg(1).Float(), k.Arg(2).Float()
	below := math.Nextafter32(float32(hi), float32(lo)) // the largest that may be stored
	draw := func(w uint64) float32 {
		v := float32(lo + float64(w>>40)*0x1p-24*(hi-lo))
		if v >= float32(hi) {
			return below
		}
		return v
	}
	return generate(k, func(b uint64) (float32, float32) {
		p, q := s.block(b)
		return draw(p), draw(q)
	})
}

func uniform64(k operands) error {
	s := newStream(k.Arg(0).Int(), uniformStream)
	lo, hi := k.Arg(1).Float(), k.Arg(2).Float()
	below := math.Nextafter(hi, lo)
	draw := func(w uint64) float64 {
		v := lo + float64(float64(w>>11)*0x1p-53*(hi-lo)) // no fused multiply-add: the same bits everywhere
		if v >= hi {
			return below
		}
		return v
	}
	return generate(k, func(b uint64) (float64, float64) {
		p, q := s.block(b)
		return draw(p), draw(q)
	})
}

func uniformShape(s shapes) error {
	lo, hi := s.args[1].Float(), s.args[2].Float()
	if s.ops[0].Elem == iface.F32 && (math.IsInf(float64(float32(lo)), 0) || math.IsInf(float64(float32(hi)), 0)) {
		return s.badArg("hi", "needs bounds that f32 can hold, and got %v and %v", lo, hi)
	}
	if d := hi - lo; !(d >= 0) || math.IsInf(d, 0) {
		return s.badArg("hi", "needs finite bounds with `lo` not above `hi`, and got %v and %v", lo, hi)
	}
	return nil
}

// normal(x, seed, mean, sd)
func normal[T blas.Float](k operands) error {
	s := newStream(k.Arg(0).Int(), normalStream)
	mean, sd := k.Arg(1).Float(), k.Arg(2).Float()
	return generate(k, func(b uint64) (T, T) {
		p, q := s.block(b)
		u := float64(p>>11+1) * 0x1p-53 // 0 < u ≤ 1
		sin, cos := math.Sincos(2 * math.Pi * (float64(q>>11) * 0x1p-53))
		r := sd * math.Sqrt(-2*math.Log(u))
		return T(mean + float64(r*cos)), T(mean + float64(r*sin))
	})
}

func normalShape(s shapes) error {
	mean, sd := s.args[1].Float(), s.args[2].Float()
	switch {
	case math.IsNaN(mean) || math.IsInf(mean, 0):
		return s.badArg("mean", "needs a finite mean, and got %v", mean)
	case !(sd >= 0) || math.IsInf(sd, 0):
		return s.badArg("sd", "needs a standard deviation of 0 or more, and got %v", sd)
	}
	// No number lies further from the mean than sqrt(-2*log(2^-53)) = 8.57 times sd.
	if e, far := s.ops[0].Elem, math.Abs(mean)+9*sd; math.IsInf(far, 0) || e == iface.F32 && math.IsInf(float64(float32(far)), 0) {
		return s.badArg("sd", "needs numbers that %v can hold, and got a mean of %v and a standard deviation of %v", e, mean, sd)
	}
	return nil
}
