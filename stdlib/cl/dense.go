package cl

// Element by element, and gemv.

import (
	"github.com/starpush/starpush/accel/opencl"
	"github.com/starpush/starpush/datamgr/iface"
)

func fill(s *opencl.Stream, k Operands) error {
	x := k.Buffer(0)
	n := flat(x)
	if n.empty() {
		return nil
	}
	f, err := find(s, "fill", denseText, "fill", x.Elem)
	if err != nil {
		return err
	}
	return n.cover(s, f, buf(x), n.step(x), value(x.Elem, k.Arg(0)))
}

// move launches a kernel that does not look at elements.
func move(s *opencl.Stream, name string, x, y *iface.Buffer) error {
	n := flat(x, y)
	if n.empty() {
		return nil
	}
	f, err := find(s, name, denseText, name, bySize[x.Elem.Size()])
	if err != nil {
		return err
	}
	return n.cover(s, f, buf(x), n.step(x), buf(y), n.step(y))
}

func copyElems(s *opencl.Stream, k Operands) error { return move(s, "copy", k.Buffer(0), k.Buffer(1)) }
func swapElems(s *opencl.Stream, k Operands) error { return move(s, "swap", k.Buffer(0), k.Buffer(1)) }

// scal(alpha, x)
func scal(s *opencl.Stream, k Operands) error {
	x := k.Buffer(0)
	n := flat(x)
	if n.empty() {
		return nil
	}
	f, err := find(s, "scal", denseText, "scal", x.Elem)
	if err != nil {
		return err
	}
	return n.cover(s, f, buf(x), n.step(x), value(x.Elem, k.Arg(0)))
}

// axpy(alpha, x, y)
func axpy(s *opencl.Stream, k Operands) error {
	x, y := k.Buffer(0), k.Buffer(1)
	n := flat(x, y)
	if n.empty() || rounded(x.Elem, k.Arg(0)) == 0 { // as on processors: x is not read
		return nil
	}
	f, err := find(s, "axpy", denseText, "axpy", x.Elem)
	if err != nil {
		return err
	}
	return n.cover(s, f, buf(x), n.step(x), buf(y), n.step(y), value(x.Elem, k.Arg(0)))
}

// ger(x, y, A, alpha)
func ger(s *opencl.Stream, k Operands) error {
	x, y, a := k.Buffer(0), k.Buffer(1), k.Buffer(2)
	n := sheet{a.Dim[0], a.Dim[1]}
	if n.empty() || rounded(a.Elem, k.Arg(0)) == 0 {
		return nil
	}
	f, err := find(s, "ger", denseText, "ger", a.Elem)
	if err != nil {
		return err
	}
	return n.cover(s, f, buf(x), buf(y), buf(a), n.step(a), value(a.Elem, k.Arg(0)))
}

// transpose(A, B)
func transpose(s *opencl.Stream, k Operands) error {
	a, b := k.Buffer(0), k.Buffer(1)
	rows, cols := a.Dim[0], a.Dim[1]
	if rows == 0 || cols == 0 {
		return nil
	}
	f, err := find(s, "transpose", denseText, "transpose", bySize[a.Elem.Size()])
	if err != nil {
		return err
	}
	side := 16
	for side*side > f.WorkGroup() {
		side /= 2
	}
	return s.Launch(f, []int{up(cols, side), up(rows, side)}, []int{side, side}, int64(rows), int64(cols),
		buf(a), matrixStep(a), buf(b), matrixStep(b), opencl.Local(side*(side+1)*int(a.Elem.Size())))
}

// matrixStep is the distance between rows of a matrix.
func matrixStep(b *iface.Buffer) int64 { return int64(b.Stride[0]) }

// gemv(A, x, y, alpha, beta, ta)
func gemv(s *opencl.Stream, k Operands) error {
	a, x, y := k.Buffer(0), k.Buffer(1), k.Buffer(2)
	alpha, beta := k.Arg(0), k.Arg(1)
	if y.Len() == 0 {
		return nil
	}
	if x.Len() == 0 || rounded(a.Elem, alpha) == 0 {
		return scaled(s, "gemv", y, beta)
	}
	args := []any{int64(a.Dim[0]), int64(a.Dim[1]), buf(a), matrixStep(a), buf(x), buf(y), value(a.Elem, alpha), value(a.Elem, beta)}
	if k.Arg(2).Str() != "n" {
		f, err := find(s, "gemv", denseText, "gemv_cols", a.Elem)
		if err != nil {
			return err
		}
		return line(s, f, a.Dim[1], args...)
	}
	f, err := find(s, "gemv", denseText, "gemv_rows", a.Elem)
	if err != nil {
		return err
	}
	w := power(min(row, f.WorkGroup()))
	return s.Launch(f, []int{a.Dim[0] * w}, []int{w}, append(args, opencl.Local(w*int(a.Elem.Size())))...)
}

// scaled multiplies by beta, and does not read what is multiplied by 0.
func scaled(s *opencl.Stream, codelet string, x *iface.Buffer, beta iface.Scalar) error {
	n, factor := flat(x), rounded(x.Elem, beta)
	if n.empty() || factor == 1 {
		return nil
	}
	if factor == 0 {
		f, err := find(s, codelet, denseText, "clear", x.Elem)
		if err != nil {
			return err
		}
		return n.cover(s, f, buf(x), n.step(x))
	}
	f, err := find(s, codelet, denseText, "scal", x.Elem)
	if err != nil {
		return err
	}
	return n.cover(s, f, buf(x), n.step(x), value(x.Elem, beta))
}
