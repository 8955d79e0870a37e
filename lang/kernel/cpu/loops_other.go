//go:build !amd64

package cpu

import "github.com/starpush/starpush/lang/kernel/ir"

// speedUp changes nothing: there are no faster loops for this machine.
func speedUp(any) {}

// shiftRight returns rest.
func shiftRight[T ir.Integer](count int, rest func(d, a []T)) func(d, a []T) { return rest }

// conversion returns rest.
func conversion[A, T ir.Number](rest func(d []T, a []A)) func(d []T, a []A) { return rest }
