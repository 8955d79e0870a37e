package syntax

import (
	"reflect"
	"slices"
)

// Idents lists the names in f, in the order of the text: declarations, uses, and the
// words that name arguments and options.
func Idents(f *File) []*Ident {
	var out []*Ident
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer, reflect.Interface:
			if v.IsNil() {
				return
			}
			if id, ok := v.Interface().(*Ident); ok {
				out = append(out, id)
				return
			}
			walk(v.Elem())
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case reflect.Struct:
			t := v.Type()
			for i := range t.NumField() {
				if f := t.Field(i); f.IsExported() && !f.Anonymous && !ignored[f.Name] && (t != reflect.TypeFor[TypeExpr]() || f.Name != "Type") {
					walk(v.Field(i))
				}
			}
		}
	}
	walk(reflect.ValueOf(f.Stmts))
	slices.SortStableFunc(out, func(a, b *Ident) int { return int(a.Lo - b.Lo) })
	return out
}
