//go:build cuda

package stdlib

// Codelets on NVIDIA devices: what accel/cuda computes, begun on the task's stream.
// A codelet is here when the device does all its element types. potrf and getrf_nopiv wait for
// their ends: whether they fail is known only then.

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/starpush/starpush/accel/cpu/blas"
	"github.com/starpush/starpush/accel/cuda"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

// deviceKernel begins one task on a device.
type deviceKernel = func(s *cuda.Stream, k operands) error

var deviceKernels = map[string]deviceKernel{
	"fill": func(s *cuda.Stream, k operands) error {
		x := k.Buffer(0)
		return s.Fill(int(x.Elem.Size()), elemBits(x.Elem, k.Arg(0)), onDevice(x))
	},
	"copy":      bySizeOn((*cuda.Stream).CopyElems),
	"swap":      bySizeOn((*cuda.Stream).SwapElems),
	"transpose": bySizeOn((*cuda.Stream).Transpose),
	"scal":      floatsOn(scalOn[float32], scalOn[float64]),
	"axpy":      floatsOn(axpyOn[float32], axpyOn[float64]),
	"dot":       floatsOn(dotOn[float32], dotOn[float64]),
	"asum":      floatsOn(asumOn[float32], asumOn[float64]),
	"nrm2sq":    floatsOn(nrm2sqOn[float32], nrm2sqOn[float64]),
	"gemv":      floatsOn(gemvOn[float32], gemvOn[float64]),
	"ger":       floatsOn(gerOn[float32], gerOn[float64]),
	"trsv":      floatsOn(trsvOn[float32], trsvOn[float64]),
	"gemm":      floatsOn(gemmOn[float32], gemmOn[float64]),
	"symm":      floatsOn(symmOn[float32], symmOn[float64]),
	"syrk":      floatsOn(syrkOn[float32], syrkOn[float64]),
	"trmm":      floatsOn(trmmOn[float32], trmmOn[float64]),
	"trsm":      floatsOn(trsmOn[float32], trsmOn[float64]),
	"potrf":     floatsOn(potrfOn[float32], potrfOn[float64]),
	"uniform":   floatsOn(uniformOn[float32], uniformOn[float64]),

	"getrf_nopiv": floatsOn(getrfNoPivOn[float32], getrfNoPivOn[float64]),
	"getrs_nopiv": floatsOn(getrsNoPivOn[float32], getrsNoPivOn[float64]),
}

// deviceImpls are the implementations of a codelet for devices.
func deviceImpls(name string) map[string][]engine.Impl {
	kernel := deviceKernels[name]
	if kernel == nil {
		return nil
	}
	return map[string][]engine.Impl{"cuda": {func(c *engine.TaskContext) error {
		s, ok := c.Stream().(*cuda.Stream)
		if !ok {
			return fmt.Errorf("`%s` for CUDA was given a stream of another driver: %T", name, c.Stream())
		}
		return kernel(s, c)
	}}}
}

func floatsOn(f32, f64 deviceKernel) deviceKernel {
	return func(s *cuda.Stream, k operands) error {
		return floats(func(k operands) error { return f32(s, k) }, func(k operands) error { return f64(s, k) })(k)
	}
}

func bySizeOn(fn func(s *cuda.Stream, size int, x, y cuda.Matrix) error) deviceKernel {
	return func(s *cuda.Stream, k operands) error {
		x, y := k.Buffer(0), k.Buffer(1)
		return fn(s, int(x.Elem.Size()), onDevice(x), onDevice(y))
	}
}

// onDevice is a buffer as the device sees it: a vector or a variable is one row.
func onDevice(b *iface.Buffer) cuda.Matrix {
	if b.Rank == 2 {
		return cuda.Matrix{Ptr: b.Ptr, Rows: b.Dim[0], Cols: b.Dim[1], LD: b.Stride[0]}
	}
	return cuda.Vector(b.Ptr, b.Len())
}

func address(k operands, i int) unsafe.Pointer { return k.Buffer(i).Ptr }

// elemBits is a number as its element type holds it.
func elemBits(e iface.Elem, v iface.Scalar) uint64 {
	switch e {
	case iface.F32:
		return uint64(math.Float32bits(float32(v.Float())))
	case iface.F64:
		return math.Float64bits(v.Float())
	}
	return uint64(v.Int())
}

func scalOn[T blas.Float](s *cuda.Stream, k operands) error {
	return cuda.Scal(s, scalar[T](k.Arg(0)), onDevice(k.Buffer(0)))
}

func axpyOn[T blas.Float](s *cuda.Stream, k operands) error {
	return cuda.Axpy(s, scalar[T](k.Arg(0)), onDevice(k.Buffer(0)), onDevice(k.Buffer(1)))
}

func dotOn[T blas.Float](s *cuda.Stream, k operands) error {
	return cuda.Dot[T](s, k.Buffer(0).Len(), address(k, 0), address(k, 1), address(k, 2))
}

func asumOn[T blas.Float](s *cuda.Stream, k operands) error {
	return cuda.Asum[T](s, k.Buffer(0).Len(), address(k, 0), address(k, 1))
}

func nrm2sqOn[T blas.Float](s *cuda.Stream, k operands) error {
	return cuda.Dot[T](s, k.Buffer(0).Len(), address(k, 0), address(k, 0), address(k, 1))
}

func gemvOn[T blas.Float](s *cuda.Stream, k operands) error {
	return cuda.Gemv(s, trans(k, 2), scalar[T](k.Arg(0)), onDevice(k.Buffer(0)), address(k, 1), scalar[T](k.Arg(1)), address(k, 2))
}

func gerOn[T blas.Float](s *cuda.Stream, k operands) error {
	return cuda.Ger(s, scalar[T](k.Arg(0)), address(k, 0), address(k, 1), onDevice(k.Buffer(2)))
}

func gemmOn[T blas.Float](s *cuda.Stream, k operands) error {
	return cuda.Gemm(s, trans(k, 2), trans(k, 3), scalar[T](k.Arg(0)), onDevice(k.Buffer(0)), onDevice(k.Buffer(1)), scalar[T](k.Arg(1)), onDevice(k.Buffer(2)))
}

func syrkOn[T blas.Float](s *cuda.Stream, k operands) error {
	return cuda.Syrk(s, uploOf(k, 2), trans(k, 3), scalar[T](k.Arg(0)), onDevice(k.Buffer(0)), scalar[T](k.Arg(1)), onDevice(k.Buffer(1)))
}

func trsmOn[T blas.Float](s *cuda.Stream, k operands) error {
	return cuda.Trsm(s, sideOf(k, 1), uploOf(k, 2), trans(k, 3), diagOf(k, 4), scalar[T](k.Arg(0)), onDevice(k.Buffer(0)), onDevice(k.Buffer(1)))
}

func potrfOn[T blas.Float](s *cuda.Stream, k operands) error {
	bad, err := cuda.Factor[T](s, uploOf(k, 0), onDevice(k.Buffer(0)))
	if err == nil && bad > 0 {
		err = notPositive(bad)
	}
	return err
}

func trsvOn[T blas.Float](s *cuda.Stream, k operands) error {
	return cuda.Trsv[T](s, uploOf(k, 0), trans(k, 1), diagOf(k, 2), onDevice(k.Buffer(0)), address(k, 1))
}

func symmOn[T blas.Float](s *cuda.Stream, k operands) error {
	return cuda.Symm(s, sideOf(k, 2), uploOf(k, 3), scalar[T](k.Arg(0)), onDevice(k.Buffer(0)), onDevice(k.Buffer(1)), scalar[T](k.Arg(1)), onDevice(k.Buffer(2)))
}

func trmmOn[T blas.Float](s *cuda.Stream, k operands) error {
	return cuda.Trmm(s, sideOf(k, 1), uploOf(k, 2), trans(k, 3), diagOf(k, 4), scalar[T](k.Arg(0)), onDevice(k.Buffer(0)), onDevice(k.Buffer(1)))
}

func getrfNoPivOn[T blas.Float](s *cuda.Stream, k operands) error {
	bad, err := cuda.GetrfNoPiv[T](s, onDevice(k.Buffer(0)))
	if err != nil || bad == 0 {
		return err
	}
	return badPivot(max(bad, -bad), bad < 0)
}

func getrsNoPivOn[T blas.Float](s *cuda.Stream, k operands) error {
	return cuda.GetrsNoPiv[T](s, onDevice(k.Buffer(0)), onDevice(k.Buffer(1)))
}

func uniformOn[T blas.Float](s *cuda.Stream, k operands) error {
	x := k.Buffer(0)
	base, step := x.Number()
	row, col := 0, step[0]
	if x.Rank == 2 {
		row, col = step[0], step[1]
	}
	return cuda.Uniform[T](s, onDevice(x), base, row, col, k.Arg(0).Int(), k.Arg(1).Float(), k.Arg(2).Float())
}
