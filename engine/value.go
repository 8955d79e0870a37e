package engine

// Values: data that is a value of a Go type, such as a map, a tree or an image.

import (
	"bytes"
	"context"
	"encoding"
	"fmt"
	"reflect"
	"unsafe"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
)

// Value is a handle of data that is one value of type T, which may be any type but those of
// elements: a map, a struct with pointers, a slice of strings. Tasks have it in all access modes,
// and kernels get a *T. It has no parts. It is in main memory only, so tasks that have it run
// on CPU workers. Like other handles it is a plain value, and its zero value is no data.
//
// The value belongs to the runtime from its registration on. A kernel, or the program while
// it holds the value, may use all that *T leads to, and must not keep any of it. The runtime does not
// know what a value shares with another one, or with variables of the program.
type Value[T any] struct {
	_ [0]*T // values of different T do not convert to each other
	*datamgr.Handle
}

// Interface says how values of type T are handled, as an option of NewValue and MakeValue. All
// functions may be nil, and are called on workers, at once for different values. They must not change the values that they
// read; an error or a panic is an error of what needed them.
//
// Functions that are nil follow from the type: Pack and Unpack are MarshalBinary and UnmarshalBinary, if *T has both
// (encoding.BinaryMarshaler, encoding.BinaryUnmarshaler); Copy calls the method Clone() T or Clone() *T, if T or *T has it,
// and is an assignment where T has no pointers, or else Pack and Unpack; Equal is the method Equal(T) bool or
// reflect.DeepEqual.
type Interface[T any] struct {
	// Copy makes dst, which has the zero value, a copy that shares nothing with src: for Job.Copy.
	Copy func(dst, src *T) error
	// Pack returns the value as bytes, and Unpack makes dst, which has the zero value, what Pack was given; it must not
	// keep data. Job.Pack and Job.Unpack use them, and package cluster sends values to other ranks by them. With Options.Disk, values that
	// can be packed are moved to the disk when main memory is short.
	Pack   func(src *T) ([]byte, error)
	Unpack func(dst *T, data []byte) error
	// Size estimates the bytes of the value in main memory, which Options.RAM bounds. Without it they are those
	// of a T, or those of the packed value once it was packed, if these are more. It is called when a task has written the
	// value, and only with Options.Disk.
	Size func(src *T) int64
	// Footprint returns a number that tells values apart for which tasks take different times. Performance models
	// keep the measurements for each number apart, so there should be few: the logarithm of a length, say.
	Footprint func(src *T) uint32
	// Equal reports whether two values are the same: for tests, see package datatest.
	Equal func(a, b *T) bool
}

func (i Interface[T]) dataOption(o *dataOptions) {
	o.object.iface, o.object.of = i, reflect.TypeFor[T]()
}

// ReduceValue combines contributions to a Value: each task begins with a zero value that init, which may
// be nil, makes neutral, and combine adds the contribution from to into. It may take over what from has.
// Both may be called on several workers at the same time, and contributions are
// combined in any order, unless the job is deterministic.
func ReduceValue[T any](name string, init func(dst *T), combine func(into, from *T) error) DataOption {
	return dataOptionFunc(func(o *dataOptions) {
		o.object.reduces = reflect.TypeFor[T]()
		o.spec.Reduce = &datamgr.Reduction{Name: name, Kind: iface.Object,
			Init: func(dst *iface.Buffer) error {
				p := (*T)(dst.Ptr)
				*p = *new(T)
				if init != nil {
					init(p)
				}
				return nil
			},
			Combine: func(into, from *iface.Buffer) error { return combine((*T)(into.Ptr), (*T)(from.Ptr)) }}
		if combine == nil {
			o.spec.Reduce.Combine = nil
		}
	})
}

// copyable reports whether the value of h can be copied.
func copyable(h *datamgr.Handle) bool {
	o := managed(h).Object()
	return o.Copy != nil || o.Pack != nil
}

// NewValue registers v. The options are Name, ReadOnly, ReduceValue and an Interface[T].
func NewValue[T any](rt *Runtime, v T, opts ...DataOption) (Value[T], error) {
	o, err := valueOptions[T]("NewValue", rt, opts)
	if err != nil {
		return Value[T]{}, err
	}
	h, err := rt.RegisterFilled(o.spec, func(b *iface.Buffer) error {
		*(*T)(b.Ptr) = v
		return nil
	})
	if err != nil {
		return Value[T]{}, err
	}
	if f := o.spec.Object.Footprint; f != nil && rt.opt.Plan == nil {
		managed(h).Measure(&iface.Buffer{Ptr: unsafe.Pointer(&v)})
	}
	return Value[T]{Handle: h}, nil
}

// MakeValue registers data for a value of type T that it has not got yet: a task that has it in mode W
// begins with the zero value and gives it its first one. For the options see NewValue.
func MakeValue[T any](rt *Runtime, opts ...DataOption) (Value[T], error) {
	o, err := valueOptions[T]("MakeValue", rt, opts)
	if err != nil {
		return Value[T]{}, err
	}
	h, err := rt.Register(o.spec)
	return Value[T]{Handle: h}, err
}

// valueOptions returns the options of a new Value; fn is the function of the program.
func valueOptions[T any](fn string, rt *Runtime, opts []DataOption) (o dataOptions, err error) {
	t := reflect.TypeFor[T]()
	fail := func(format string, args ...any) (dataOptions, error) {
		return o, fmt.Errorf("engine: %s[%v]: %s", fn, t, fmt.Sprintf(format, args...))
	}
	for _, opt := range opts {
		if opt != nil {
			opt.dataOption(&o)
		}
	}
	switch e := iface.ElemOfType(t); {
	case rt == nil:
		return fail("the runtime is nil; make one by engine.New")
	case e != iface.NoElem:
		return fail("a number is a Variable[%v]; use NewVariable or MakeVariable", e.GoType())
	case !isObject(t):
		return fail("values of this type cannot be data; put it into a struct, or use Variable[int64] for an int")
	case o.spec.Step != nil || o.fill.Kind() != iface.NoScalar:
		return fail("Stride and Fill are for data with elements")
	case o.object.of != nil && o.object.of != t:
		return fail("the Interface is for values of type %v", o.object.of)
	case o.spec.Reduce != nil && o.object.reduces != t:
		return fail("contributions to a Value[%v] are combined by ReduceValue, with functions for *%v", t, t)
	}
	i, _ := o.object.iface.(Interface[T])
	i.complete()
	if (i.Pack == nil) != (i.Unpack == nil) {
		return fail("an Interface has Pack and Unpack, or neither")
	}
	o.spec.Kind, o.spec.Object = iface.Object, i.object()
	return o, nil
}

// complete sets what is nil as far as the type has something for it.
func (i *Interface[T]) complete() {
	var p any = new(T)
	if i.Pack == nil && i.Unpack == nil {
		_, packs := p.(encoding.BinaryMarshaler)
		_, unpacks := p.(encoding.BinaryUnmarshaler)
		if packs && unpacks {
			i.Pack = func(src *T) ([]byte, error) { return any(src).(encoding.BinaryMarshaler).MarshalBinary() }
			i.Unpack = func(dst *T, data []byte) error {
				return any(dst).(encoding.BinaryUnmarshaler).UnmarshalBinary(bytes.Clone(data))
			}
		}
	}
	if i.Copy == nil {
		switch {
		case is[interface{ Clone() T }](p):
			i.Copy = func(dst, src *T) error { *dst = any(src).(interface{ Clone() T }).Clone(); return nil }
		case is[interface{ Clone() *T }](p):
			i.Copy = func(dst, src *T) error { *dst = *any(src).(interface{ Clone() *T }).Clone(); return nil }
		case plainType(reflect.TypeFor[T](), 0):
			i.Copy = func(dst, src *T) error { *dst = *src; return nil }
		}
	}
	if i.Equal == nil {
		i.Equal = func(a, b *T) bool { return reflect.DeepEqual(a, b) }
		if is[interface{ Equal(T) bool }](p) {
			i.Equal = func(a, b *T) bool { return any(a).(interface{ Equal(T) bool }).Equal(*b) }
		}
	}
}

func is[I any](v any) bool {
	_, ok := v.(I)
	return ok
}

// plainType reports whether an assignment copies a value of type t with all that it has.
func plainType(t reflect.Type, depth int) bool {
	switch k := t.Kind(); {
	case k >= reflect.Bool && k <= reflect.Complex128 && k != reflect.Uintptr, k == reflect.String:
		return true
	case k == reflect.Array:
		return plainType(t.Elem(), depth+1)
	case k == reflect.Struct:
		for f := range t.NumField() {
			if !plainType(t.Field(f).Type, depth+1) {
				return false
			}
		}
		return true
	}
	return false
}

// object returns i as the data manager has it.
func (i Interface[T]) object() *datamgr.Object {
	o := &datamgr.Object{Type: reflect.TypeFor[T](),
		New:    func() unsafe.Pointer { return unsafe.Pointer(new(T)) },
		Assign: func(dst, src unsafe.Pointer) { *(*T)(dst) = *(*T)(src) },
		Equal:  func(a, b unsafe.Pointer) bool { return i.Equal((*T)(a), (*T)(b)) },
	}
	if i.Copy != nil {
		o.Copy = func(dst, src unsafe.Pointer) error { return i.Copy((*T)(dst), (*T)(src)) }
	}
	if i.Pack != nil {
		o.Pack = func(src unsafe.Pointer) ([]byte, error) { return i.Pack((*T)(src)) }
		o.Unpack = func(dst unsafe.Pointer, data []byte) error { return i.Unpack((*T)(dst), data) }
	}
	if i.Size != nil {
		o.Size = func(src unsafe.Pointer) int64 { return i.Size((*T)(src)) }
	}
	if i.Footprint != nil {
		o.Footprint = func(src unsafe.Pointer) uint32 { return i.Footprint((*T)(src)) }
	}
	return o
}

// checkValue reports that h is not data of type T.
func checkValue[T any](h *datamgr.Handle) error {
	if h == nil {
		return &ModeError{Other: -1, Message: "no data: the handle is nil"}
	}
	if t := reflect.TypeFor[T](); objectType(h) != t {
		return &TypeError{Operand: -1, Arg: -1, Handle: h, Message: fmt.Sprintf("%s is no Value[%v]", describe(h), t)}
	}
	return nil
}

func (Value[T]) of(h *datamgr.Handle) (Value[T], error) { return Value[T]{Handle: h}, checkValue[T](h) }

// Acquire is Vector.Acquire for a Value: Data of what it returns is the *T. In mode W the value starts as
// the zero value. *T must not be used after Release.
func (x Value[T]) Acquire(ctx context.Context, j *Job, mode iface.AccessMode) (Acquired[*T], error) {
	return acquire(ctx, j, x.Handle, mode, checkValue[T](x.Handle), func(b *iface.Buffer) *T { return (*T)(b.Ptr) })
}

// Value waits for the tasks submitted so far that write x, and returns a copy of the value, which shares
// nothing with it. A type that cannot be copied is an error; Acquire works for all.
func (x Value[T]) Value(ctx context.Context, j *Job) (v T, err error) {
	if x.Handle != nil && isObjectHandle(x.Handle) && !copyable(x.Handle) {
		return v, fmt.Errorf("engine: nothing says how to copy %s: use Acquire, or register it with an Interface that has Copy, or Pack and Unpack", describe(x.Handle))
	}
	if j.rt.opt.Plan != nil {
		return v, errPlanValue
	}
	a, err := x.Acquire(ctx, j, iface.R)
	if err != nil {
		return v, err
	}
	err = managed(x.Handle).CopyObject(&iface.Buffer{Ptr: unsafe.Pointer(&v)}, a.Buffer())
	if e := a.Release(); err == nil {
		err = e
	}
	return v, err
}

// unpackObject is Unpack for a Value.
func (j *Job) unpackObject(ctx context.Context, h *datamgr.Handle, data []byte, at []*Site) error {
	v, err := managed(h).UnpackObject(data)
	if err != nil {
		return fmt.Errorf("engine: cannot unpack into %s: %w", describe(h), err)
	}
	a, err := j.Acquire(ctx, h, iface.W, at...)
	if err != nil {
		return err
	}
	managed(h).Object().Assign(a.Buffer().Ptr, v)
	return a.Release()
}
