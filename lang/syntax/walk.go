package syntax

import "reflect"

// Walk calls visit for every node of f, parents before their parts, with the nodes
// around it, the outermost first. The slice is only good during the call.
func Walk(f *File, visit func(n Node, around []Node)) {
	var around []Node
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Interface:
			if !v.IsNil() {
				walk(v.Elem())
			}
		case reflect.Pointer:
			if v.IsNil() {
				return
			}
			n, ok := v.Interface().(Node)
			if ok {
				visit(n, around)
				around = append(around, n)
			}
			walk(v.Elem())
			if ok {
				around = around[:len(around)-1]
			}
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
}
