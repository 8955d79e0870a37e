package syntax_test

import (
	"reflect"
	"testing"

	"github.com/starpush/starpush/lang/syntax"
)

// checkRanges holds the range of every node against the source and against the
// node it is in.
func checkRanges(t testing.TB, f *syntax.File, size int) {
	t.Helper()
	var walk func(v reflect.Value, in syntax.Span)
	spanType := reflect.TypeOf(syntax.Span{})
	walk = func(v reflect.Value, in syntax.Span) {
		switch v.Kind() {
		case reflect.Pointer, reflect.Interface:
			if v.IsNil() {
				return
			}
			if n, ok := v.Interface().(syntax.Node); ok && v.Kind() == reflect.Pointer {
				s := n.Range()
				if s.Lo < in.Lo || s.Hi > in.Hi || s.Lo > s.Hi || s.Lo == s.Hi && s.Hi != 0 {
					t.Fatalf("%T has range %v inside %v", v.Interface(), s, in)
				}
				in = s
			}
			walk(v.Elem(), in)
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i), in)
			}
		case reflect.Struct:
			for i := range v.NumField() {
				field := v.Type().Field(i)
				if !field.IsExported() || field.Name == "Obj" || field.Name == "Callee" || field.Name == "Source" {
					continue
				}
				if field.Type == spanType {
					s := v.Field(i).Interface().(syntax.Span)
					if s != (syntax.Span{}) && (s.Lo < in.Lo || s.Hi > in.Hi || s.Lo > s.Hi) {
						t.Fatalf("%v.%s has range %v inside %v", v.Type(), field.Name, s, in)
					}
					continue
				}
				walk(v.Field(i), in)
			}
		}
	}
	all := syntax.Span{Lo: 0, Hi: int32(size)}
	last := int32(0)
	for _, s := range f.Stmts {
		if s.Range().Lo < last {
			t.Fatalf("statement at %v overlaps the one before", s.Range())
		}
		last = s.Range().Hi
		walk(reflect.ValueOf(s), all)
	}
	for _, c := range f.Comments {
		if f.Source.Text[c.Lo:c.Hi] != c.Text {
			t.Fatalf("comment %q at %v", c.Text, c.Span)
		}
	}
}
