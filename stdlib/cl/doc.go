// Package cl holds the codelets of stdlib in OpenCL C, for the devices of
// accel/opencl. A kernel begins its work on a stream and returns; what it computes
// is what the kernel for processors does, but for the order of additions of floats.
//
// The sources are in the .cl files, one text for all element types. They are
// built for a device when they are first used there; drivers keep the results.
//
//	dense.cl   element by element, transpose, gemv
//	reduce.cl  from many elements to one
//	matrix.cl  products and triangular systems
//	random.cl  std/random
//
// potrf and getrf_nopiv are missing: whether they succeed is known only when they
// have ended, and a factorisation by tiles leaves them to processors anyway.
package cl

import (
	_ "embed"
	"fmt"

	"github.com/starpush/starpush/accel/opencl"
	"github.com/starpush/starpush/datamgr/iface"
)

// Operands gives a kernel its operands; *engine.TaskContext implements it. The memory of
// its buffers is that of the stream's device.
type Operands interface {
	Buffer(i int) *iface.Buffer
	Arg(i int) iface.Scalar
}

// Kernel begins the work of one task on a stream. Operands fit each other, as the
// codelet's rule has it.
type Kernel func(s *opencl.Stream, k Operands) error

// Find returns the kernel of a codelet; nil when there is none.
func Find(module, codelet string) Kernel { return table[module][codelet] }

var table = map[string]map[string]Kernel{
	"std/blas": {
		"fill": fill, "copy": copyElems, "swap": swapElems, "scal": scal, "axpy": axpy, "transpose": transpose,
		"dot": dot, "asum": asum, "nrm2sq": nrm2sq, "nrm2": nrm2, "iamax": iamax,
		"gemv": gemv, "ger": ger, "trsv": trsv, "gemm": gemm, "symm": symm, "syrk": syrk, "trmm": trmm, "trsm": trsm,
		"getrs_nopiv": getrs,
	},
	"std/reduce": {"sum": sum, "prod": prod, "min": smallest, "max": largest, "count": count, "histogram": histogram, "argmax": argmax},
	"std/random": {"uniform": uniform, "normal": normal},
}

// NoDoublesError says that a device has no arithmetic with doubles, which an
// operand or the way to compute it needs.
type NoDoublesError struct{ Device, Codelet string }

func (e *NoDoublesError) Error() string {
	return fmt.Sprintf("%s needs double precision, which %s lacks", e.Codelet, e.Device)
}

// Supports reports whether a device can run a codelet on elements of a type.
func Supports(in *opencl.Info, module, codelet string, e iface.Elem) bool {
	if Find(module, codelet) == nil || e.IsComplex() || e.Is16() || e == iface.B8 {
		return false
	}
	return in.Doubles || e != iface.F64 && module != "std/random" && codelet != "histogram"
}
