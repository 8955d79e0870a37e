package lang

import (
	"fmt"
	"reflect"
	"strings"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/interp"
)

// StructsOf makes v the home memory of a vector of structs, vector[Particle] in scripts: v is a slice of Go structs, or a Go
// struct with a slice for each field, all of one length, or a pointer to one. A field of the script is the
// exported Go field of that name, in upper or lower case, or the one with the name as tag:
//
//	type Particle struct {
//		X, Y float64
//		ID   int32 `spu:"id"`
//	}
//	type Particles struct {
//		X, Y []float64
//		ID   []int32 `spu:"id"`
//	}
//
// The extern must have the same fields, with these element types. Fields of a slice of structs that are not exported are left alone. Its
// fields lie apart, so tasks get copies of those that they use, and the slice has the last values after Close.
func StructsOf(v any, opts ...DataOption) (*Data, error) {
	fail := func(format string, args ...any) (*Data, error) {
		return nil, fmt.Errorf("lang: StructsOf: %s", fmt.Sprintf(format, args...))
	}
	rv := reflect.ValueOf(v)
	if rv.Kind() == reflect.Pointer && !rv.IsNil() {
		rv = rv.Elem()
	}
	b := interp.Binding{Kind: iface.Vector, Keep: v}
	add := func(f reflect.StructField, e iface.Elem, home unsafe.Pointer, step []int) error {
		name := f.Tag.Get("spu")
		if name == "" {
			name = f.Name
		}
		for _, other := range b.Fields {
			if strings.EqualFold(other.Name, name) {
				return fmt.Errorf("lang: StructsOf: two fields of %T have the name %q", v, name)
			}
		}
		b.Fields = append(b.Fields, interp.FieldBinding{Name: name, Elem: e, Home: home, Step: step})
		return nil
	}
	if rv.Kind() == reflect.Slice && rv.Type().Elem().Kind() == reflect.Struct {
		t := rv.Type().Elem()
		fields, err := iface.FieldsOf(t)
		if err != nil {
			return fail("%v", err)
		}
		b.Dims = []int{rv.Len()}
		for _, f := range fields {
			if err := add(t.Field(f.Index), f.Elem, unsafe.Add(rv.UnsafePointer(), f.Offset), []int{f.Step}); err != nil {
				return nil, err
			}
		}
		return newData(b, opts), nil
	}
	if rv.Kind() != reflect.Struct {
		return fail("%T is no slice of structs, and no struct of slices", v)
	}
	first := ""
	for i := range rv.NumField() {
		f := rv.Type().Field(i)
		e := iface.NoElem
		if f.Type.Kind() == reflect.Slice {
			e = iface.ElemOfType(f.Type.Elem())
		}
		n := 0
		if e != iface.NoElem {
			n = rv.Field(i).Len()
		}
		switch {
		case !f.IsExported():
			return fail("field %s of %T is not exported; write its name with a capital", f.Name, v)
		case e == iface.NoElem:
			return fail("field %s of %T is a %v, and must be a slice of elements, such as []float64", f.Name, v, f.Type)
		case first == "":
			first, b.Dims = f.Name, []int{n}
		case n != b.Dims[0]:
			return fail("field %s has %d elements, and %s has %d; all have the same number", f.Name, n, first, b.Dims[0])
		}
		if err := add(f, e, unsafe.Pointer(rv.Field(i).Pointer()), nil); err != nil {
			return nil, err
		}
	}
	if first == "" {
		return fail("%T has no fields", v)
	}
	return newData(b, opts), nil
}
