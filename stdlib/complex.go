package stdlib

// Codelets of std/blas on complex elements, and on those of 16 bits, which run on CPU workers.

import (
	"errors"
	"fmt"
	"slices"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/cpu/blas"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

var (
	complexElems = []iface.Elem{iface.C64, iface.C128}
	numberElems  = []iface.Elem{iface.F32, iface.F64, iface.C64, iface.C128}
	updateElems  = append(slices.Clone(numberElems), iface.F16, iface.BF16)
)

// floatsOrComplex makes a kernel that decides by the elements of its first operand: floats, or complex
// numbers.
func floatsOrComplex(f32, f64, c64, c128 kernel) kernel {
	real := floats(f32, f64)
	return func(k operands) error {
		switch k.Buffer(0).Elem {
		case iface.C64:
			return c64(k)
		case iface.C128:
			return c128(k)
		}
		return real(k)
	}
}

// complexOnly is floatsOrComplex for codelets that real numbers do not have.
func complexOnly(c64, c128 kernel) kernel {
	none := func(k operands) error {
		return fmt.Errorf("no implementation for elements of type %v", k.Buffer(0).Elem)
	}
	return floatsOrComplex(none, none, c64, c128)
}

// orComplex adds a kernel for complex elements to one that decides by the real elements of its
// first operand.
func orComplex(real, c64, c128 kernel) kernel {
	return func(k operands) error {
		if k.Buffer(0).Elem.IsComplex() {
			return floatsOrComplex(nil, nil, c64, c128)(k)
		}
		return real(k)
	}
}

// orHalves adds kernels for elements of 16 bits to one that decides by the elements of operand i.
func orHalves(i int, other, f16, bf16 kernel) kernel {
	return func(k operands) error {
		switch k.Buffer(i).Elem {
		case iface.F16:
			return f16(k)
		case iface.BF16:
			return bf16(k)
		}
		return other(k)
	}
}

// orBool makes a kernel that is b if operand i has elements of type bool.
func orBool(i int, other, b kernel) kernel {
	return func(k operands) error {
		if k.Buffer(i).Elem == iface.B8 {
			return b(k)
		}
		return other(k)
	}
}

var (
	errComplex = errors.New("complex elements are for CPU workers")
	errHalves  = errors.New("elements of 16 bits are for CPU workers")
	errBools   = errors.New("elements of type bool are for CPU workers")
)

// realOnly returns implementations for devices that decline tasks with complex elements, and with those
// of f16, bf16 and bool.
func realOnly(codelet, arch string, impls []engine.Impl) []engine.Impl {
	out := make([]engine.Impl, len(impls))
	for i, impl := range impls {
		out[i] = func(c *engine.TaskContext) error {
			switch e := c.Buffer(0).Elem; {
			case e.IsComplex():
				return &accel.DeclinedError{Device: arch, Kernel: codelet, Err: errComplex}
			case e.Is16():
				return &accel.DeclinedError{Device: arch, Kernel: codelet, Err: errHalves}
			case e == iface.B8:
				return &accel.DeclinedError{Device: arch, Kernel: codelet, Err: errBools}
			}
			return impl(c)
		}
	}
	return out
}

// onComplex are the routines of the BLAS provider for T.
func onComplex[T blas.Complex]() blas.ComplexRoutines[T] { return blas.ForComplex[T](blas.Default()) }

// complexTrans is trans for complex elements.
func complexTrans(k operands, i int) blas.Trans {
	switch k.Arg(i).Str() {
	case "t":
		return blas.Transposed
	case "c":
		return blas.ConjTransposed
	}
	return blas.NoTrans
}

func fillAs[T iface.Go](k operands) error {
	x, v := k.Buffer(0), iface.As[T](k.Arg(0))
	n := runs(x)
	for i := range n {
		row := run[T](x, i, n)
		for j := range row {
			row[j] = v
		}
	}
	return nil
}

// half is a type of elements of 16 bits.
type half interface {
	iface.Float16 | iface.BFloat16
	Float32() float32
}

// scalHalf rounds each product, of float32.
func scalHalf[T half](round func(float32) T) kernel {
	return func(k operands) error {
		x, alpha := k.Buffer(0), iface.As[T](k.Arg(0)).Float32()
		n := runs(x)
		for i := range n {
			row := run[T](x, i, n)
			for j, v := range row {
				row[j] = round(alpha * v.Float32())
			}
		}
		return nil
	}
}

// axpyHalf computes alpha * x + y in float32, and rounds that.
func axpyHalf[T half](round func(float32) T) kernel {
	return func(k operands) error {
		x, y, alpha := k.Buffer(0), k.Buffer(1), iface.As[T](k.Arg(0)).Float32()
		n := runs(x, y)
		for i := range n {
			from, to := run[T](x, i, n), run[T](y, i, n)
			for j, v := range from {
				to[j] = round(float32(alpha*v.Float32()) + to[j].Float32())
			}
		}
		return nil
	}
}

func scalComplex[T blas.Complex](k operands) error {
	x, alpha, r := k.Buffer(0), iface.As[T](k.Arg(0)), onComplex[T]()
	n := runs(x)
	for i := range n {
		r.Scal(alpha, run[T](x, i, n))
	}
	return nil
}

func axpyComplex[T blas.Complex](k operands) error {
	x, y, alpha, r := k.Buffer(0), k.Buffer(1), iface.As[T](k.Arg(0)), onComplex[T]()
	n := runs(x, y)
	for i := range n {
		r.Axpy(alpha, run[T](x, i, n), run[T](y, i, n))
	}
	return nil
}

func dotu[T blas.Complex](k operands) error {
	*one[T](k.Buffer(2)) += onComplex[T]().Dotu(iface.Slice[T](k.Buffer(0)), iface.Slice[T](k.Buffer(1)))
	return nil
}

func dotc[T blas.Complex](k operands) error {
	*one[T](k.Buffer(2)) += onComplex[T]().Dotc(iface.Slice[T](k.Buffer(0)), iface.Slice[T](k.Buffer(1)))
	return nil
}

func nrm2sqComplex[T blas.Complex](k operands) error {
	x := iface.Slice[T](k.Buffer(0))
	*one[T](k.Buffer(1)) += T(complex(real(complex128(onComplex[T]().Dotc(x, x))), 0))
	return nil
}

func nrm2Complex[T blas.Complex](k operands) error {
	*one[T](k.Buffer(1)) = T(complex(onComplex[T]().Nrm2(iface.Slice[T](k.Buffer(0))), 0))
	return nil
}

func gemvComplex[T blas.Complex](k operands) error {
	a := matrix[T](k, 0)
	onComplex[T]().Gemv(complexTrans(k, 2), a.rows, a.cols, iface.As[T](k.Arg(0)), a.a, a.ld,
		iface.Slice[T](k.Buffer(1)), iface.As[T](k.Arg(1)), iface.Slice[T](k.Buffer(2)))
	return nil
}

func trsvComplex[T blas.Complex](k operands) error {
	a := matrix[T](k, 0)
	onComplex[T]().Trsv(uploOf(k, 0), complexTrans(k, 1), diagOf(k, 2), a.rows, a.a, a.ld, iface.Slice[T](k.Buffer(1)))
	return nil
}

func gemmComplex[T blas.Complex](k operands) error {
	a, b, c := matrix[T](k, 0), matrix[T](k, 1), matrix[T](k, 2)
	t := complexTrans(k, 2)
	inner := a.cols
	if t != blas.NoTrans {
		inner = a.rows
	}
	onComplex[T]().Gemm(t, complexTrans(k, 3), c.rows, c.cols, inner, iface.As[T](k.Arg(0)), a.a, a.ld, b.a, b.ld, iface.As[T](k.Arg(1)), c.a, c.ld)
	return nil
}

// herk(A, C, alpha, beta, uplo, ta)
func herk[T blas.Complex](k operands) error {
	a, c := matrix[T](k, 0), matrix[T](k, 1)
	t := complexTrans(k, 3)
	inner := a.cols
	if t != blas.NoTrans {
		inner = a.rows
	}
	onComplex[T]().Herk(uploOf(k, 2), t, c.rows, inner, k.Arg(0).Float(), a.a, a.ld, k.Arg(1).Float(), c.a, c.ld)
	return nil
}

func trsmComplex[T blas.Complex](k operands) error {
	a, b := matrix[T](k, 0), matrix[T](k, 1)
	onComplex[T]().Trsm(sideOf(k, 1), uploOf(k, 2), complexTrans(k, 3), diagOf(k, 4), b.rows, b.cols, iface.As[T](k.Arg(0)), a.a, a.ld, b.a, b.ld)
	return nil
}

func potrfComplex[T blas.Complex](k operands) error {
	a := matrix[T](k, 0)
	if bad := onComplex[T]().Potrf(uploOf(k, 0), a.rows, a.a, a.ld); bad > 0 {
		return notPositive(bad)
	}
	return nil
}
