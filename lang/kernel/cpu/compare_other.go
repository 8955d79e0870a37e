//go:build !amd64

package cpu

import "github.com/starpush/starpush/lang/kernel/ir"

// fasterComparison returns plain: there are no faster loops for this machine.
func fasterComparison[T ir.Number](op ir.Op, plain comparison[T]) comparison[T] { return plain }
