package lang

// CPUFunc: plain Go functions as kernels. The parameters are held against the signature
// here; package engine calls the function.

import (
	"context"
	"fmt"
	"reflect"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/types"
)

// CPUFunc gives an implementation as a plain Go function with one parameter for
// each of the signature, in its order: a vector is []T, a variable *T, a matrix
// engine.Mat[T], a block Buffer[T], which does for all data; an element-typed scalar is T
// itself, int is int64 or int, float is float64, bool and string themselves; void operands
// are left out. The function may take a context.Context first, and may return an error.
// Types are checked here. Signatures with type parameters need CPU instead.
func CPUFunc(fn any) CodeletOption {
	return func(b *codeletBuild) error {
		impl, err := adaptFunc(b.sig, fn)
		if err != nil {
			return err
		}
		b.impls = append(b.impls, impl)
		return nil
	}
}

var (
	ctxType = reflect.TypeFor[context.Context]()
	errType = reflect.TypeFor[error]()
)

// adaptFunc checks fn against sig and makes an implementation of it.
func adaptFunc(sig *types.Signature, fn any) (engine.Impl, error) {
	v := reflect.ValueOf(fn)
	if v.IsValid() && v.Kind() == reflect.Func && v.IsNil() {
		return nil, fmt.Errorf("CPUFunc: the function is nil")
	}
	if !v.IsValid() || v.Kind() != reflect.Func {
		return nil, fmt.Errorf("CPUFunc wants a Go function, got %T", fn)
	}
	t := v.Type()
	if t.IsVariadic() {
		return nil, fmt.Errorf("CPUFunc: a variadic function does not fit a signature")
	}
	if t.NumOut() > 1 || (t.NumOut() == 1 && t.Out(0) != errType) {
		return nil, fmt.Errorf("CPUFunc: the function may return an error and nothing else, and this is a %v", t)
	}
	first := 0
	if t.NumIn() > 0 && t.In(0) == ctxType {
		first = 1
	}
	var want []string
	var at []int // which operand or scalar each parameter gets
	in, op, sc := first, 0, 0
	for i := range sig.Params {
		p := &sig.Params[i]
		if p.Type.Param != 0 {
			return nil, fmt.Errorf("CPUFunc: %s is %v: a signature with type parameters needs CPU and Buf", p.Name, p.Type)
		}
		if p.Type.Kind == types.Void {
			op++
			continue
		}
		if in >= t.NumIn() {
			return nil, fmt.Errorf("CPUFunc: %v has too few parameters: `%s` comes next and wants %s", t, p.Name, goTypeName(p))
		}
		if !fitsParam(p, t.In(in)) {
			return nil, fmt.Errorf("CPUFunc: `%s` is %v, so the Go parameter must be %s, not %v", p.Name, p.Type, goTypeName(p), t.In(in))
		}
		want = append(want, goTypeName(p))
		in++
		if p.Mode != iface.NoMode {
			at = append(at, op)
			op++
		} else {
			at = append(at, sc)
			sc++
		}
	}
	if in != t.NumIn() {
		return nil, fmt.Errorf("CPUFunc: %v has %d parameters, the signature wants %d: %v", t, t.NumIn()-first, len(want), want)
	}
	impl, err := engine.FuncImpl(fn, at)
	if err != nil {
		return nil, fmt.Errorf("CPUFunc: %w", err)
	}
	return impl, nil
}

// goTypeName names the Go type that a parameter wants.
func goTypeName(p *types.Param) string {
	e := p.Type.Elem.GoType()
	switch p.Type.Kind {
	case types.Vector:
		return fmt.Sprintf("[]%v", e)
	case types.Variable:
		return fmt.Sprintf("*%v", e)
	case types.Matrix:
		return fmt.Sprintf("engine.Mat[%v] or lang.Buffer[%v]", e, e)
	case types.Block, types.Dense:
		return fmt.Sprintf("lang.Buffer[%v]", e)
	case types.Elem:
		return e.String()
	case types.Int:
		return "int64 or int"
	case types.Float:
		return "float64"
	}
	return p.Type.String()
}

// fitsParam reports whether a Go parameter of type t can be given what p is.
func fitsParam(p *types.Param, t reflect.Type) bool {
	switch p.Type.Kind {
	case types.Elem:
		return iface.ElemOfKind(t.Kind()) == p.Type.Elem
	case types.Int:
		return t.Kind() == reflect.Int64 || t.Kind() == reflect.Int
	case types.Float:
		return t.Kind() == reflect.Float64
	case types.Bool:
		return t.Kind() == reflect.Bool
	case types.String:
		return t.Kind() == reflect.String
	}
	kinds := []iface.Kind{p.Type.Data()}
	if p.Type.Kind == types.Dense {
		kinds = []iface.Kind{iface.Vector, iface.Matrix}
	}
	q, ok := engine.FuncParamOf(t)
	for _, k := range kinds {
		ok = ok && q.Kinds != 0 && q.Kinds.Has(k) && q.Elem == p.Type.Elem
	}
	return ok
}

// setScalar stores a into *p as p's type; false when the sorts differ.
func setScalar[T Scalar](p *T, a iface.Scalar) bool {
	v := reflect.ValueOf(p).Elem()
	number := a.Kind() == iface.IntScalar || a.Kind() == iface.FloatScalar
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(a.Bool())
		return a.Kind() == iface.BoolScalar
	case reflect.String:
		v.SetString(a.Str())
		return a.Kind() == iface.StringScalar
	case reflect.Float32, reflect.Float64:
		v.SetFloat(a.Float())
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(a.Int()))
	default:
		v.SetInt(a.Int())
	}
	return number
}
