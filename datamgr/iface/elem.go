// Package iface describes registered data: element types, kinds of data,
// shapes, access modes, and the buffers that kernels see. It knows nothing of
// tasks, order or memory nodes.
//
// All sizes, offsets and strides count elements, not bytes; indices count from 0. A
// matrix is row-major: element (i, j) of a [Buffer] lies i·Stride[0] + j elements
// behind Ptr. A kernel reaches its elements by [Slice], [Row] or [Strided], without a
// copy:
//
//	v := iface.Slice[float64](c.Buffer(0))          // a vector
//	for i := range b.Dim[0] {
//		row := iface.Row[float32](b, i)             // of a matrix, whatever lies between its rows
//	}
//	x := *(*int64)(b.Ptr)                           // a variable
//
// What a kernel does wrong there panics, which fails its task: a Go type of another
// size, rows that are not adjacent, a row that does not exist. The buffer of a task on
// a device has an address that means something to the device only.
//
// The types are plain values, and methods do not change them. A buffer belongs to the
// kernel that was given it, until it returns.
package iface

import (
	"fmt"
	"math"
	"reflect"
)

// Elem is an element type of registered data.
type Elem uint8

// The element types. Their order is the order of the language's documentation.
const (
	NoElem Elem = iota // void data
	I8
	I16
	I32
	I64
	U8
	U16
	U32
	U64
	F32
	F64
	C64  // two F32, the real and the imaginary part
	C128 // two F64
	F16  // a Float16, computed with as F32
	BF16 // a BFloat16, computed with as F32
	B8   // a bool in a byte: 0 is false, any other true; 1 is what is stored
)

// Elems lists every element type that data can have, in a fixed order.
var Elems = []Elem{I8, I16, I32, I64, U8, U16, U32, U64, F32, F64, C64, C128, F16, BF16, B8}

// RealElems lists those of the real numbers that Go computes with: the types of Real.
var RealElems = Elems[:10]

var elemInfo = [...]struct {
	name string
	size uintptr
}{
	NoElem: {"none", 0},
	I8:     {"i8", 1}, I16: {"i16", 2}, I32: {"i32", 4}, I64: {"i64", 8},
	U8: {"u8", 1}, U16: {"u16", 2}, U32: {"u32", 4}, U64: {"u64", 8},
	F32: {"f32", 4}, F64: {"f64", 8}, C64: {"c64", 8}, C128: {"c128", 16},
	F16: {"f16", 2}, BF16: {"bf16", 2}, B8: {"bool", 1},
}

// String returns the name of e in the language, such as "f64".
func (e Elem) String() string {
	if int(e) < len(elemInfo) {
		return elemInfo[e].name
	}
	return fmt.Sprintf("elem(%d)", uint8(e))
}

// Size returns the size of one element in bytes.
func (e Elem) Size() uintptr { return elemInfo[e].size }

// IsComplex reports whether e is a type of complex numbers.
func (e Elem) IsComplex() bool { return e == C64 || e == C128 }

// Is16 reports whether e is F16 or BF16, whose elements are computed with as F32.
func (e Elem) Is16() bool { return e == F16 || e == BF16 }

// Part returns the type of the real and the imaginary part of a complex type, F32 or F64,
// and e itself for others.
func (e Elem) Part() Elem {
	switch e {
	case C64:
		return F32
	case C128:
		return F64
	}
	return e
}

// IsFloat reports whether e is a floating-point type; a complex type is none.
func (e Elem) IsFloat() bool { return e == F32 || e == F64 || e.Is16() }

// IsSigned reports whether e is a signed integer type.
func (e Elem) IsSigned() bool { return e >= I8 && e <= I64 }

// IsInt reports whether e is an integer type, signed or not.
func (e Elem) IsInt() bool { return e >= I8 && e <= U64 }

// ElemByName finds an element type by its name in the language.
func ElemByName(name string) (Elem, bool) {
	for _, e := range Elems {
		if elemInfo[e].name == name {
			return e, true
		}
	}
	return NoElem, false
}

var goTypes = [...]reflect.Type{NoElem: nil,
	I8: reflect.TypeFor[int8](), I16: reflect.TypeFor[int16](), I32: reflect.TypeFor[int32](), I64: reflect.TypeFor[int64](),
	U8: reflect.TypeFor[uint8](), U16: reflect.TypeFor[uint16](), U32: reflect.TypeFor[uint32](), U64: reflect.TypeFor[uint64](),
	F32: reflect.TypeFor[float32](), F64: reflect.TypeFor[float64](),
	C64: reflect.TypeFor[complex64](), C128: reflect.TypeFor[complex128](),
	F16: reflect.TypeFor[Float16](), BF16: reflect.TypeFor[BFloat16](), B8: reflect.TypeFor[bool](),
}

// GoType returns the Go type of an element, such as float64; nil for NoElem.
func (e Elem) GoType() reflect.Type {
	if int(e) < len(goTypes) {
		return goTypes[e]
	}
	return nil
}

// ElemOf returns the element type whose values are T, or have its underlying type.
func ElemOf[T Go]() Elem { return ElemOfType(reflect.TypeFor[T]()) }

// ElemOfType returns the element type of the Go type t; NoElem when there is none. int and
// uint are none: their sizes are those of the machine.
func ElemOfType(t reflect.Type) Elem {
	switch t.Kind() {
	case reflect.Int8:
		return I8
	case reflect.Int16:
		return I16
	case reflect.Int32:
		return I32
	case reflect.Int64:
		return I64
	case reflect.Uint8:
		return U8
	case reflect.Uint16:
		return U16
	case reflect.Uint32:
		return U32
	case reflect.Uint64:
		return U64
	case reflect.Float32:
		return F32
	case reflect.Float64:
		return F64
	case reflect.Complex64:
		return C64
	case reflect.Complex128:
		return C128
	case reflect.Bool:
		return B8
	case reflect.Struct:
		switch t {
		case goTypes[F16]:
			return F16
		case goTypes[BF16]:
			return BF16
		}
	}
	return NoElem
}

// Go lists the Go types whose values can be elements.
type Go interface {
	Real | ~complex64 | ~complex128 | Float16 | BFloat16 | ~bool
}

// Real lists the Go types of elements that Go computes with and that are ordered: integers and floats.
type Real interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// Arithmetic of complex numbers: the formulas of the language, which bodies of codelets compute
// part by part. Those of Go differ for division, and Go may fuse a product with a sum on some
// processors; a conversion after each product excludes that.

// MulC128 returns a·b: (ac - bd) + (ad + bc)i, each product and sum rounded.
func MulC128(a, b complex128) complex128 {
	return complex(float64(real(a)*real(b))-float64(imag(a)*imag(b)), float64(real(a)*imag(b))+float64(imag(a)*real(b)))
}

// MulC64 is MulC128 for parts of 32 bits.
func MulC64(a, b complex64) complex64 {
	return complex(float32(real(a)*real(b))-float32(imag(a)*imag(b)), float32(real(a)*imag(b))+float32(imag(a)*real(b)))
}

// DivC128 returns a/b by the algorithm of Smith, which divides by the larger part of b first, so
// that intermediate values rarely overflow. The parts of a quotient by 0 are NaN. Zeros have the signs
// that follow from multiplying both numbers by -i where the imaginary part of b is larger.
func DivC128(a, b complex128) complex128 {
	x, y, p, q := real(a), imag(a), real(b), imag(b)
	swap := math.Abs(q) > math.Abs(p)
	if swap {
		x, y, p, q = y, x, q, p
	}
	r := q / p
	den := p + float64(q*r)
	im := y - float64(x*r)
	if swap {
		im = float64(x*r) - y // not -im, which differs in the sign of a zero
	}
	return complex((x+float64(y*r))/den, im/den)
}

// DivC64 is DivC128 for parts of 32 bits.
func DivC64(a, b complex64) complex64 {
	x, y, p, q := real(a), imag(a), real(b), imag(b)
	swap := math.Abs(float64(q)) > math.Abs(float64(p))
	if swap {
		x, y, p, q = y, x, q, p
	}
	r := q / p
	den := p + float32(q*r)
	im := y - float32(x*r)
	if swap {
		im = float32(x*r) - y // not -im, which differs in the sign of a zero
	}
	return complex((x+float32(y*r))/den, im/den)
}

// Field is a field of a Go struct, as data that lies in a slice of such structs.
type Field struct {
	Name   string
	Index  int // of the field in the struct, as reflect.Type.Field counts
	Elem   Elem
	Offset uintptr // in bytes, from the beginning of the struct
	Step   int     // distance between the fields of neighbours in the slice, in elements
}

// FieldsOf returns the exported fields of the struct type t. They have element types. Fields that are not exported, blank ones among
// them, are left out: no data has them. An error names the field that cannot be data, and says what to do.
func FieldsOf(t reflect.Type) ([]Field, error) {
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("%v is no struct", t)
	}
	var fields []Field
	widest := uintptr(1)
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		e := ElemOfType(f.Type)
		if e == NoElem {
			return nil, fmt.Errorf("field %s of %v is a %v, and fields are numbers of a fixed size or bools: %s", f.Name, t, f.Type, fieldHelp(f.Type))
		}
		widest = max(widest, e.Size())
		fields = append(fields, Field{Name: f.Name, Index: i, Elem: e, Offset: f.Offset, Step: int(t.Size() / e.Size())})
	}
	for _, f := range fields {
		if t.Size()%f.Elem.Size() != 0 {
			return nil, fmt.Errorf("field %s of %v has %d bytes, and the struct %d, which is no multiple: add a field `_ [%d]byte` at its end",
				f.Name, t, f.Elem.Size(), t.Size(), widest-t.Size()%widest)
		}
	}
	if len(fields) == 0 {
		return nil, fmt.Errorf("%v has no exported field, so there is no data in it: write the names of its fields with a capital", t)
	}
	return fields, nil
}

// fieldHelp says what to do about a field of type t, which is no element.
func fieldHelp(t reflect.Type) string {
	switch k := t.Kind(); {
	case k == reflect.Int || k == reflect.Uint:
		return fmt.Sprintf("use %v64", t)
	case k == reflect.Struct:
		return "put its fields into the outer struct"
	case k == reflect.Array:
		return "make each of its elements a field"
	}
	return "put it into a slice of its own, or write its name in lower case, and tasks leave it alone"
}
