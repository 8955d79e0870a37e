package stdlib

// Element types: from a generic kernel to one that looks at its operands.

import (
	"fmt"

	"github.com/starpush/starpush/accel/cpu/blas"
	"github.com/starpush/starpush/datamgr/iface"
)

type kernel = func(operands) error

// floats makes a kernel that decides by the elements of its first operand.
func floats(f32, f64 kernel) kernel {
	return func(k operands) error {
		switch e := k.Buffer(0).Elem; e {
		case iface.F32:
			return f32(k)
		case iface.F64:
			return f64(k)
		default:
			return fmt.Errorf("no implementation for elements of type %v", e)
		}
	}
}

// bySize makes a kernel that moves elements without looking at them.
func bySize(one, two, four, eight, sixteen kernel) kernel {
	return func(k operands) error {
		switch e := k.Buffer(0).Elem; e.Size() {
		case 1:
			return one(k)
		case 2:
			return two(k)
		case 4:
			return four(k)
		case 8:
			return eight(k)
		case 16:
			return sixteen(k)
		default:
			return fmt.Errorf("no implementation for elements of type %v", e)
		}
	}
}

// byElem lists a kernel for each element type of real numbers, in the order of iface.Elems.
type byElem [10]kernel

// on makes a kernel that decides by the elements of operand i.
func (b byElem) on(i int) kernel {
	return func(k operands) error {
		e := k.Buffer(i).Elem
		if e < iface.I8 || e > iface.F64 {
			return fmt.Errorf("no implementation for elements of type %v", e)
		}
		return b[e-iface.I8](k)
	}
}

// routines are those of the BLAS provider for T.
func routines[T blas.Float]() blas.Routines[T] { return blas.For[T](blas.Default()) }

// scalar converts an argument to the element type.
func scalar[T iface.Real](s iface.Scalar) T {
	if half := 0.5; T(half) != 0 { // T is a float
		return T(s.Float())
	}
	return T(s.Int())
}

// runs returns how many stretches of adjacent elements the buffers, which have
// one shape, are walked in: one when all are without gaps, else one for a row.
func runs(bs ...*iface.Buffer) int {
	if bs[0].Len() == 0 {
		return 0
	}
	for _, b := range bs {
		if !b.Contiguous() {
			return bs[0].Dim[0]
		}
	}
	return 1
}

// run returns stretch i of n.
func run[T iface.Go](b *iface.Buffer, i, n int) []T {
	if n == 1 { // one row is without gaps, too
		return iface.Slice[T](b)
	}
	return iface.Row[T](b, i)
}

// one returns the element of a variable.
func one[T iface.Go](b *iface.Buffer) *T { return &iface.Slice[T](b)[0] }
