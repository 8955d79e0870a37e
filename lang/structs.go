package lang

import (
	"fmt"
	"reflect"
	"strings"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/interp"
)

// StructsOf makes the slices in v the home memory of a vector of structs, vector[Particle] in scripts: v is a Go
// struct with a slice for each field, all of one length, or a pointer to one. A field of the script is the
// exported Go field of that name, in upper or lower case, or the one with the name as tag:
//
//	type Particles struct {
//		X, Y []float64
//		ID   []int32 `spu:"id"`
//	}
//
// The extern must have the same fields, with these element types.
func StructsOf(v any, opts ...DataOption) (*Data, error) {
	fail := func(format string, args ...any) (*Data, error) {
		return nil, fmt.Errorf("lang: StructsOf: %s", fmt.Sprintf(format, args...))
	}
	rv := reflect.ValueOf(v)
	if rv.Kind() == reflect.Pointer && !rv.IsNil() {
		rv = rv.Elem()
	}
	if rv.Kind() == reflect.Slice && rv.Type().Elem().Kind() == reflect.Struct {
		return fail("%T has structs side by side, and each field is an array of its own; put a slice for each field into a struct", v)
	}
	if rv.Kind() != reflect.Struct {
		return fail("%T is no struct of slices", v)
	}
	b := interp.Binding{Kind: iface.Vector, Keep: v}
	first := ""
	for i := range rv.NumField() {
		f := rv.Type().Field(i)
		e := iface.NoElem
		if f.Type.Kind() == reflect.Slice {
			e = iface.ElemOfType(f.Type.Elem())
		}
		name := f.Tag.Get("spu")
		if name == "" {
			name = f.Name
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
		for _, other := range b.Fields {
			if strings.EqualFold(other.Name, name) {
				return fail("two fields of %T have the name %q", v, name)
			}
		}
		b.Fields = append(b.Fields, interp.FieldBinding{Name: name, Elem: e, Home: unsafe.Pointer(rv.Field(i).Pointer())})
	}
	if first == "" {
		return fail("%T has no fields", v)
	}
	return newData(b, opts), nil
}
