//go:build !amd64

package cpu

import "github.com/starpush/starpush/lang/kernel/ir"

// speedUp changes nothing: there are no faster loops for this machine.
func speedUp(any) {}

// shiftRight returns rest.
func shiftRight[T ir.Integer](count int, rest func(d, a []T)) func(d, a []T) { return rest }

// conversion returns rest.
func conversion[A, T ir.Number](rest func(d []T, a []A)) func(d []T, a []A) { return rest }

// productSums returns the plain loops.
func productSums() (vsv func(d []float64, a []float32, s float32, c []float64), vvv func(d []float64, a, b []float32, c []float64)) {
	return productSumVSV, productSumVVV
}

// hasWeighted reports false.
func hasWeighted() bool { return false }

// weighted is weightedU8.
func weighted(d []int16, sources [][]uint8, weights []int16) { weightedU8(d, sources, weights) }
