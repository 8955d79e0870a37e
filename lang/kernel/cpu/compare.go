package cpu

// Comparisons of strips. The names of loops are those of loops.go.

import "github.com/starpush/starpush/lang/kernel/ir"

// comparison is one of the operators == != < <= > >= on strips of T.
type comparison[T ir.Number] struct {
	vv func(d []bool, a, b []T)
	vs func(d []bool, a []T, s T)
}

// comparisonOf returns the fastest loops for an operator on this machine.
func comparisonOf[T ir.Number](op ir.Op) comparison[T] {
	plain := comparison[T]{
		vv: func(d []bool, a, b []T) { compareVV(op, d, a, b) },
		vs: func(d []bool, a []T, s T) { compareVS(op, d, a, s) },
	}
	return fasterComparison(op, plain)
}

func compareVV[T ir.Number](op ir.Op, d []bool, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	switch op {
	case ir.OpEq:
		for k := range d {
			d[k] = a[k] == b[k]
		}
	case ir.OpNe:
		for k := range d {
			d[k] = a[k] != b[k]
		}
	case ir.OpLt:
		for k := range d {
			d[k] = a[k] < b[k]
		}
	case ir.OpLe:
		for k := range d {
			d[k] = a[k] <= b[k]
		}
	case ir.OpGt:
		for k := range d {
			d[k] = a[k] > b[k]
		}
	default:
		for k := range d {
			d[k] = a[k] >= b[k]
		}
	}
}

func compareVS[T ir.Number](op ir.Op, d []bool, a []T, s T) {
	a = a[:len(d)]
	switch op {
	case ir.OpEq:
		for k := range d {
			d[k] = a[k] == s
		}
	case ir.OpNe:
		for k := range d {
			d[k] = a[k] != s
		}
	case ir.OpLt:
		for k := range d {
			d[k] = a[k] < s
		}
	case ir.OpLe:
		for k := range d {
			d[k] = a[k] <= s
		}
	case ir.OpGt:
		for k := range d {
			d[k] = a[k] > s
		}
	default:
		for k := range d {
			d[k] = a[k] >= s
		}
	}
}
