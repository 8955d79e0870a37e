package lang

// CPUFunc: plain Go functions as kernels. Types are checked once; common shapes
// get a direct adapter, the rest goes through reflection.

import (
	"context"
	"fmt"
	"reflect"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/types"
)

// CPUFunc gives an implementation as a plain Go function with one parameter for
// each of the signature, in its order: a vector is []T, a variable *T, a matrix
// and a block Buffer[T], an element-typed scalar T itself, int is int64 or int, float is
// float64, bool and string themselves; void operands are left out. The function
// may take a context.Context first, and may return an error. Types are checked
// here. Signatures with type parameters need CPU instead.
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

// bufferLike is implemented by every *Buffer[T].
type bufferLike interface {
	bind(*iface.Buffer)
	elem() iface.Elem
}

func (b *Buffer[T]) bind(x *iface.Buffer) { b.b = x }
func (b *Buffer[T]) elem() iface.Elem     { return elemOf[T]() }

// goElem returns the element type with Go kind k.
func goElem(k reflect.Kind) iface.Elem {
	switch k {
	case reflect.Int8:
		return iface.I8
	case reflect.Int16:
		return iface.I16
	case reflect.Int32:
		return iface.I32
	case reflect.Int64:
		return iface.I64
	case reflect.Uint8:
		return iface.U8
	case reflect.Uint16:
		return iface.U16
	case reflect.Uint32:
		return iface.U32
	case reflect.Uint64:
		return iface.U64
	case reflect.Float32:
		return iface.F32
	case reflect.Float64:
		return iface.F64
	}
	return iface.NoElem
}

// adaptFunc checks fn against sig and wraps it.
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
	var loads []func(c *engine.TaskContext) reflect.Value
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
		load, ok := loader(p, t.In(in), op, sc)
		if !ok {
			return nil, fmt.Errorf("CPUFunc: `%s` is %v, so the Go parameter must be %s, not %v", p.Name, p.Type, goTypeName(p), t.In(in))
		}
		want = append(want, goTypeName(p))
		loads = append(loads, load)
		in++
		if p.Mode != iface.NoMode {
			op++
		} else {
			sc++
		}
	}
	if in != t.NumIn() {
		return nil, fmt.Errorf("CPUFunc: %v has %d parameters, the signature wants %d: %v", t, t.NumIn()-first, len(want), want)
	}
	if impl := directAdapter(fn); impl != nil && onlyPlain(sig) {
		return impl, nil
	}
	return func(c *engine.TaskContext) error {
		args := make([]reflect.Value, 0, len(loads)+1)
		if first == 1 {
			args = append(args, reflect.ValueOf(c.Context()))
		}
		for _, l := range loads {
			args = append(args, l(c))
		}
		out := v.Call(args)
		if len(out) == 1 && !out[0].IsNil() {
			return out[0].Interface().(error)
		}
		return nil
	}, nil
}

// goNames are the Go types that elements are.
var goNames = map[iface.Elem]string{iface.I8: "int8", iface.I16: "int16", iface.I32: "int32", iface.I64: "int64", iface.U8: "uint8",
	iface.U16: "uint16", iface.U32: "uint32", iface.U64: "uint64", iface.F32: "float32", iface.F64: "float64"}

// goTypeName names the Go type that a parameter wants.
func goTypeName(p *types.Param) string {
	e := goNames[p.Type.Elem]
	switch p.Type.Kind {
	case types.Vector:
		return "[]" + e
	case types.Variable:
		return "*" + e
	case types.Matrix, types.Block, types.Dense:
		return "lang.Buffer[" + e + "]"
	case types.Elem:
		return e
	case types.Int:
		return "int64 or int"
	case types.Float:
		return "float64"
	}
	return p.Type.String()
}

// loader returns how the Go argument of type t is made for parameter p, which is
// operand op or scalar sc; false when t does not fit.
func loader(p *types.Param, t reflect.Type, op, sc int) (func(*engine.TaskContext) reflect.Value, bool) {
	switch p.Type.Kind {
	case types.Vector:
		if t.Kind() != reflect.Slice || goElem(t.Elem().Kind()) != p.Type.Elem {
			return nil, false
		}
		return func(c *engine.TaskContext) reflect.Value {
			b := c.Buffer(op)
			s := reflect.New(t).Elem()
			if n := b.Len(); n > 0 {
				s = reflect.SliceAt(t.Elem(), b.Ptr, n)
				if s.Type() != t {
					s = s.Convert(t)
				}
			}
			return s
		}, true
	case types.Variable:
		if t.Kind() != reflect.Pointer || goElem(t.Elem().Kind()) != p.Type.Elem {
			return nil, false
		}
		return func(c *engine.TaskContext) reflect.Value {
			s := reflect.NewAt(t.Elem(), c.Buffer(op).Ptr)
			if s.Type() != t {
				s = s.Convert(t)
			}
			return s
		}, true
	case types.Matrix, types.Block, types.Dense:
		like, ok := reflect.New(t).Interface().(bufferLike)
		if !ok || like.elem() != p.Type.Elem {
			return nil, false
		}
		return func(c *engine.TaskContext) reflect.Value {
			n := reflect.New(t)
			n.Interface().(bufferLike).bind(c.Buffer(op))
			return n.Elem()
		}, true
	}
	fits := false
	switch p.Type.Kind {
	case types.Elem:
		fits = goElem(t.Kind()) == p.Type.Elem
	case types.Int:
		fits = t.Kind() == reflect.Int64 || t.Kind() == reflect.Int
	case types.Float:
		fits = t.Kind() == reflect.Float64
	case types.Bool:
		fits = t.Kind() == reflect.Bool
	case types.String:
		fits = t.Kind() == reflect.String
	}
	if !fits {
		return nil, false
	}
	return func(c *engine.TaskContext) reflect.Value {
		n := reflect.New(t).Elem()
		a := c.Arg(sc)
		switch t.Kind() {
		case reflect.Bool:
			n.SetBool(a.Bool())
		case reflect.String:
			n.SetString(a.Str())
		case reflect.Float32, reflect.Float64:
			n.SetFloat(a.Float())
		case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
			n.SetUint(uint64(a.Int()))
		default:
			n.SetInt(a.Int())
		}
		return n
	}, true
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

// onlyPlain reports whether every scalar has an element type, so that the direct
// adapters, which know one Go type, fit. Void operands would shift the places.
func onlyPlain(sig *types.Signature) bool {
	for _, p := range sig.Params {
		if p.Type.Kind == types.Void {
			return false
		}
	}
	return true
}

// directAdapter returns an adapter without reflection for common shapes, or nil.
// The types are already checked.
func directAdapter(fn any) engine.Impl {
	for _, try := range []func(any) engine.Impl{direct[float32], direct[float64], direct[int32], direct[int64], direct[uint8]} {
		if impl := try(fn); impl != nil {
			return impl
		}
	}
	return nil
}

func vec[T Elem](c *engine.TaskContext, i int) []T {
	b := c.Buffer(i)
	return unsafe.Slice((*T)(b.Ptr), b.Dim[0])
}

func ref[T Elem](c *engine.TaskContext, i int) *T { return (*T)(c.Buffer(i).Ptr) }

func num[T Elem](c *engine.TaskContext, i int) T {
	a := c.Arg(i)
	if a.Kind() == iface.FloatScalar {
		return T(a.Float())
	}
	return T(a.Int())
}

func mat[T Elem](c *engine.TaskContext, i int) Buffer[T] { return Buffer[T]{b: c.Buffer(i)} }

// direct lists the shapes that have an adapter, for one element type.
func direct[T Elem](fn any) engine.Impl {
	type C = engine.TaskContext
	switch f := fn.(type) {
	case func([]T):
		return func(c *C) error { f(vec[T](c, 0)); return nil }
	case func([]T, T):
		return func(c *C) error { f(vec[T](c, 0), num[T](c, 0)); return nil }
	case func(T, []T):
		return func(c *C) error { f(num[T](c, 0), vec[T](c, 0)); return nil }
	case func([]T, T, T):
		return func(c *C) error { f(vec[T](c, 0), num[T](c, 0), num[T](c, 1)); return nil }
	case func([]T, []T):
		return func(c *C) error { f(vec[T](c, 0), vec[T](c, 1)); return nil }
	case func([]T, []T) error:
		return func(c *C) error { return f(vec[T](c, 0), vec[T](c, 1)) }
	case func([]T) error:
		return func(c *C) error { return f(vec[T](c, 0)) }
	case func(T, []T, []T):
		return func(c *C) error { f(num[T](c, 0), vec[T](c, 0), vec[T](c, 1)); return nil }
	case func([]T, []T, T):
		return func(c *C) error { f(vec[T](c, 0), vec[T](c, 1), num[T](c, 0)); return nil }
	case func([]T, []T, []T):
		return func(c *C) error { f(vec[T](c, 0), vec[T](c, 1), vec[T](c, 2)); return nil }
	case func([]T, *T):
		return func(c *C) error { f(vec[T](c, 0), ref[T](c, 1)); return nil }
	case func([]T, []T, *T):
		return func(c *C) error { f(vec[T](c, 0), vec[T](c, 1), ref[T](c, 2)); return nil }
	case func(*T):
		return func(c *C) error { f(ref[T](c, 0)); return nil }
	case func(*T, T):
		return func(c *C) error { f(ref[T](c, 0), num[T](c, 0)); return nil }
	case func(*T, *T):
		return func(c *C) error { f(ref[T](c, 0), ref[T](c, 1)); return nil }
	case func(Buffer[T]):
		return func(c *C) error { f(mat[T](c, 0)); return nil }
	case func(Buffer[T], Buffer[T], Buffer[T]):
		return func(c *C) error { f(mat[T](c, 0), mat[T](c, 1), mat[T](c, 2)); return nil }
	case func(Buffer[T], []T, []T):
		return func(c *C) error { f(mat[T](c, 0), vec[T](c, 1), vec[T](c, 2)); return nil }
	}
	return nil
}
