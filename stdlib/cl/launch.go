package cl

// Launching: from the operands of a task to the arguments of a kernel.

import (
	_ "embed"
	"strings"
	"unsafe"

	"github.com/starpush/starpush/accel/opencl"
	"github.com/starpush/starpush/datamgr/iface"
)

//go:embed common.cl
var common string

//go:embed dense.cl
var denseSource string

//go:embed reduce.cl
var reduceSource string

//go:embed matrix.cl
var matrixSource string

//go:embed random.cl
var randomSource string

var (
	denseText, reduceText, matrixText, randomText = common + denseSource, common + reduceSource, common + matrixSource, common + randomSource
)

// types are the element types in OpenCL C.
var types = [...]string{
	iface.I8: "char", iface.I16: "short", iface.I32: "int", iface.I64: "long",
	iface.U8: "uchar", iface.U16: "ushort", iface.U32: "uint", iface.U64: "ulong", iface.F32: "float", iface.F64: "double",
}

// bySize are types that hold elements which are only moved.
var bySize = [...]iface.Elem{1: iface.U8, 2: iface.U16, 4: iface.U32, 8: iface.U64}

// find builds a kernel for the codelet named in errors.
func find(s *opencl.Stream, codelet, text, name string, e iface.Elem, defines ...string) (*opencl.Kernel, error) {
	in := s.Device().Info()
	options := "-DT=" + types[e]
	if len(defines) > 0 {
		options += " -D" + strings.Join(defines, " -D")
	}
	if in.Doubles {
		options += " -DDOUBLES"
	} else if e == iface.F64 || text == randomText {
		return nil, &NoDoublesError{in.Name, codelet}
	}
	p, err := s.Device().Build(text, options)
	if err != nil {
		return nil, err
	}
	return p.Kernel(name)
}

// value is a scalar as an argument of an element's type.
func value(e iface.Elem, v iface.Scalar) any {
	switch e {
	case iface.I8:
		return int8(v.Int())
	case iface.I16:
		return int16(v.Int())
	case iface.I32:
		return int32(v.Int())
	case iface.I64:
		return v.Int()
	case iface.U8:
		return uint8(v.Int())
	case iface.U16:
		return uint16(v.Int())
	case iface.U32:
		return uint32(v.Int())
	case iface.U64:
		return uint64(v.Int())
	case iface.F32:
		return float32(v.Float())
	}
	return v.Float()
}

// float is a number as an argument of a floating-point type.
func float(e iface.Elem, v float64) any {
	if e == iface.F32 {
		return float32(v)
	}
	return v
}

// rounded is a factor as elements of a type hold it: one that is too small for them is 0,
// and what is multiplied by 0 is not read.
func rounded(e iface.Elem, v iface.Scalar) float64 {
	if e == iface.F32 {
		return float64(float32(v.Float()))
	}
	return v.Float()
}

// buf is the memory of an operand as an argument.
func buf(b *iface.Buffer) opencl.Buf { return opencl.Buf{Ptr: b.Ptr, Elem: int(b.Elem.Size())} }

// sheet is operands of one shape as rows and columns.
type sheet struct{ rows, cols int }

// flat makes operands rows and columns: one row when none has gaps.
func flat(bs ...*iface.Buffer) sheet {
	n := sheet{1, bs[0].Len()}
	for _, b := range bs {
		if !b.Contiguous() {
			return sheet{b.Dim[0], b.Dim[1]}
		}
	}
	return n
}

// step is the distance between rows.
func (n sheet) step(b *iface.Buffer) int64 {
	if n.rows == 1 || b.Rank < 2 {
		return int64(n.cols)
	}
	return int64(b.Stride[0])
}

func (n sheet) empty() bool { return n.rows == 0 || n.cols == 0 }

// row is the number of work-items side by side in a row of elements.
const row = 64

// cover launches a work-item for each element of a sheet, columns first.
func (n sheet) cover(s *opencl.Stream, k *opencl.Kernel, args ...any) error {
	global, local := []int{n.cols, n.rows}, []int(nil)
	if n.cols >= row/2 && k.WorkGroup() >= row {
		global[0], local = up(n.cols, row), []int{row, 1}
	}
	return s.Launch(k, global, local, append([]any{int64(n.rows), int64(n.cols)}, args...)...)
}

// line launches n work-items, or a few more.
func line(s *opencl.Stream, k *opencl.Kernel, n int, args ...any) error {
	if k.WorkGroup() < row {
		return s.Launch(k, []int{n}, nil, args...)
	}
	return s.Launch(k, []int{up(n, row)}, []int{row}, args...)
}

// up rounds n up to a multiple of m.
func up(n, m int) int { return (n + m - 1) / m * m }

// power is the largest power of 2 that is not above n.
func power(n int) int {
	p := 1
	for p <= n/2 {
		p *= 2
	}
	return p
}

// add moves an address by some elements.
func add(p unsafe.Pointer, n, size int) unsafe.Pointer { return unsafe.Add(p, n*size) }
