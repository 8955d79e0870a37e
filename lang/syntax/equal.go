package syntax

// Equal: trees compared without their places.

import (
	"reflect"
	"strings"
)

// ignored are the fields that say where something stands, or that the checker sets.
var ignored = wordSet("Span", "Source", "Comments", "OpAt", "ModeAt", "ToAt", "Sig", "Head", "Word", "Parens", "Obj", "Slots", "Callee",
	"Bound", "TypeArgs", "typ")

// Equal reports whether a and b hold the same program: the same trees, whatever the
// layout and the comments. Documentation may be wrapped differently.
func Equal(a, b *File) bool {
	return words(a.Doc) == words(b.Doc) && sameTree(reflect.ValueOf(a.Stmts), reflect.ValueOf(b.Stmts))
}

// EqualExpr is Equal for expressions.
func EqualExpr(a, b Expr) bool { return sameTree(reflect.ValueOf(a), reflect.ValueOf(b)) }

// words are the words of a documentation.
func words(s string) string { return strings.Join(strings.Fields(s), " ") }

func sameTree(a, b reflect.Value) bool {
	if a.Kind() != b.Kind() || a.Type() != b.Type() {
		return false
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		return sameTree(a.Elem(), b.Elem())
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !sameTree(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Struct:
		t := a.Type()
		for i := range t.NumField() {
			f := t.Field(i)
			switch {
			case ignored[f.Name] || f.Anonymous || t == reflect.TypeFor[TypeExpr]() && f.Name == "Type":
			case f.Name == "Doc":
				if words(a.Field(i).String()) != words(b.Field(i).String()) {
					return false
				}
			case !sameTree(a.Field(i), b.Field(i)):
				return false
			}
		}
		return true
	}
	return a.Equal(b)
}
