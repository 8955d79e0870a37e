package interp

// The elements that new data gets from a number.

import (
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/syntax"
)

// fillSource compiles fill = v.
func (c *compiler) fillSource(x syntax.Expr, el iface.Elem) func(f *frame, spec *engine.DataSpec) func(*iface.Buffer) error {
	at := c.positionOf(x)
	write := c.elemWriter(x, el, at)
	return func(f *frame, spec *engine.DataSpec) func(*iface.Buffer) error {
		spec.InParts = true
		set := write(f)
		m := f.m
		return func(b *iface.Buffer) error {
			return fillBuffer(b, set, func() bool { return m.ctx.Err() != nil }, m, at)
		}
	}
}

// fillBuffer stores one value everywhere, looking at the context now and then.
func fillBuffer(b *iface.Buffer, set func(p unsafe.Pointer), ended func() bool, m *Machine, at position) error {
	size := uintptr(b.Elem.Size())
	rows, cols := 1, b.Len()
	if cols == 0 {
		return nil
	}
	if !b.Contiguous() {
		rows, cols = b.Lines(), b.Dim[b.Rank-1]
	}
	for r := 0; r < rows; r++ {
		row := b.At(r * cols)
		set(row)
		line := unsafe.Slice((*byte)(row), uintptr(cols)*size)
		for n := int(size); n < len(line); n *= 2 {
			if n >= 1<<26 && ended() {
				return &raised{m.ctxError(m.ctx, at)}
			}
			copy(line[n:], line[:n])
		}
	}
	return nil
}

// elemWriter compiles a number to a store of it into an element of type el, with a
// range check.
func (c *compiler) elemWriter(x syntax.Expr, el iface.Elem, at position) func(f *frame) func(unsafe.Pointer) {
	if el == iface.B8 {
		v := c.bool(x)
		return func(f *frame) func(unsafe.Pointer) {
			a := v(f)
			return func(p unsafe.Pointer) { *(*bool)(p) = a }
		}
	}
	if reprOf(x.Type()) == rInt && el.IsInt() {
		v := c.int(x)
		return func(f *frame) func(unsafe.Pointer) {
			n := v(f)
			if !intFits(el, n) {
				f.m.outOfRange(el, n, at)
			}
			return func(p unsafe.Pointer) { writeInt(el, p, n) }
		}
	}
	if el.IsComplex() {
		v := c.complex(x)
		return func(f *frame) func(unsafe.Pointer) {
			z := v(f)
			f.m.complexFits(el, z, at)
			return func(p unsafe.Pointer) { writeComplex(el, p, z) }
		}
	}
	v := c.float(x)
	return func(f *frame) func(unsafe.Pointer) {
		a := v(f)
		if !floatFits(el, a) {
			f.m.outOfRange(el, a, at)
		}
		return func(p unsafe.Pointer) { writeFloat(el, p, a) }
	}
}

func writeInt(e iface.Elem, p unsafe.Pointer, v int64) {
	switch e {
	case iface.I8, iface.U8, iface.B8:
		*(*int8)(p) = int8(v)
	case iface.I16, iface.U16:
		*(*int16)(p) = int16(v)
	case iface.I32, iface.U32:
		*(*int32)(p) = int32(v)
	case iface.I64, iface.U64:
		*(*int64)(p) = v
	case iface.F32:
		*(*float32)(p) = float32(v)
	case iface.F64:
		*(*float64)(p) = float64(v)
	case iface.F16, iface.BF16:
		writeFloat(e, p, float64(v))
	case iface.C64, iface.C128:
		writeComplex(e, p, complex(float64(v), 0))
	}
}

func writeFloat(e iface.Elem, p unsafe.Pointer, v float64) {
	switch e {
	case iface.F32:
		*(*float32)(p) = float32(v)
	case iface.F64:
		*(*float64)(p) = v
	case iface.F16:
		*(*iface.Float16)(p) = iface.ToFloat16(float32(v))
	case iface.BF16:
		*(*iface.BFloat16)(p) = iface.ToBFloat16(float32(v))
	case iface.C64, iface.C128:
		writeComplex(e, p, complex(v, 0))
	default:
		writeInt(e, p, int64(v))
	}
}

// writeComplex stores z into an element of the complex type e.
func writeComplex(e iface.Elem, p unsafe.Pointer, z complex128) {
	if e == iface.C64 {
		*(*complex64)(p) = complex64(z)
		return
	}
	*(*complex128)(p) = z
}

// eachElem visits the elements of b row by row, with their flat index.
func eachElem(b *iface.Buffer, fn func(k int, p unsafe.Pointer)) {
	size := uintptr(b.Elem.Size())
	n := b.Len()
	if n == 0 {
		return
	}
	cols := n / b.Lines()
	for k := 0; k < n; {
		row := b.At(k)
		for j := 0; j < cols; j++ {
			fn(k, unsafe.Add(row, uintptr(j)*size))
			k++
		}
	}
}
