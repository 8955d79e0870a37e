package stdlib

// Level 1 of std/blas: element by element, over vectors and matrices.

import (
	"fmt"

	"github.com/starpush/starpush/accel/cpu/blas"
	"github.com/starpush/starpush/datamgr/iface"
)

func fill[T iface.Real](k operands) error {
	x, v := k.Buffer(0), scalar[T](k.Arg(0))
	n := runs(x)
	for i := range n {
		row := run[T](x, i, n)
		for j := range row {
			row[j] = v
		}
	}
	return nil
}

func copyElems[T iface.Go](k operands) error {
	x, y := k.Buffer(0), k.Buffer(1)
	n := runs(x, y)
	for i := range n {
		copy(run[T](y, i, n), run[T](x, i, n))
	}
	return nil
}

func swapElems[T iface.Go](k operands) error {
	x, y := k.Buffer(0), k.Buffer(1)
	n := runs(x, y)
	for i := range n {
		a, b := run[T](x, i, n), run[T](y, i, n)
		b = b[:len(a)]
		for j := range a {
			a[j], b[j] = b[j], a[j]
		}
	}
	return nil
}

func scal[T blas.Float](k operands) error {
	x, alpha, r := k.Buffer(0), scalar[T](k.Arg(0)), routines[T]()
	n := runs(x)
	for i := range n {
		r.Scal(alpha, run[T](x, i, n))
	}
	return nil
}

func axpy[T blas.Float](k operands) error {
	x, y, alpha, r := k.Buffer(0), k.Buffer(1), scalar[T](k.Arg(0)), routines[T]()
	n := runs(x, y)
	for i := range n {
		r.Axpy(alpha, run[T](x, i, n), run[T](y, i, n))
	}
	return nil
}

func dot[T blas.Float](k operands) error {
	*one[T](k.Buffer(2)) += routines[T]().Dot(iface.Slice[T](k.Buffer(0)), iface.Slice[T](k.Buffer(1)))
	return nil
}

func asum[T blas.Float](k operands) error {
	*one[T](k.Buffer(1)) += routines[T]().Asum(iface.Slice[T](k.Buffer(0)))
	return nil
}

func nrm2sq[T blas.Float](k operands) error {
	x := iface.Slice[T](k.Buffer(0))
	*one[T](k.Buffer(1)) += routines[T]().Dot(x, x)
	return nil
}

func nrm2[T blas.Float](k operands) error {
	*one[T](k.Buffer(1)) = routines[T]().Nrm2(iface.Slice[T](k.Buffer(0)))
	return nil
}

func iamax[T blas.Float](k operands) error {
	x := k.Buffer(0)
	i := routines[T]().Iamax(iface.Slice[T](x))
	if i < 0 {
		return fmt.Errorf("iamax of a vector without elements")
	}
	base, step := x.Number()
	*one[int64](k.Buffer(1)) = int64(base + i*step[0])
	return nil
}
