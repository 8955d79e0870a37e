package engine

// Arrays: data that is several arrays, which are moved together.

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unsafe"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/format"
	"github.com/starpush/starpush/datamgr/iface"
)

// Arrays is a handle of data that is several arrays: the fields of T, a struct whose fields
// are exported slices of elements, such as
//
//	type Complexes struct{ Re, Im []float64 }
//
// They are ordered, locked, copied to devices and evicted together, and lie in one piece of memory of the
// runtime. Kernels take a T, whose slices are that memory; kernels for devices find each array by
// TaskContext.Array. All access modes are those of a vector. Arrays have no parts. Like other
// handles it is a plain value, and its zero value is no data.
type Arrays[T any] struct {
	_ [0]*T
	*datamgr.Handle
}

// NewArrays registers copies of the arrays of v, whose lengths they keep. The program goes on to own v. The options are
// Name, ReadOnly and ReduceArrays.
func NewArrays[T any](rt *Runtime, v T, opts ...DataOption) (Arrays[T], error) {
	o, l, err := arraysOptions("NewArrays", rt, v, opts)
	if err != nil {
		return Arrays[T]{}, err
	}
	h, err := rt.RegisterFilled(o.spec, func(b *iface.Buffer) error {
		copyArrays(arraysAt[T](l, b.Ptr), v)
		return nil
	})
	return Arrays[T]{Handle: h}, err
}

// MakeArrays registers arrays with the lengths of those of v. They have no values, and take no memory, until a
// task writes them (W).
func MakeArrays[T any](rt *Runtime, v T, opts ...DataOption) (Arrays[T], error) {
	o, _, err := arraysOptions("MakeArrays", rt, v, opts)
	if err != nil {
		return Arrays[T]{}, err
	}
	h, err := rt.Register(o.spec)
	return Arrays[T]{Handle: h}, err
}

// ReduceArrays combines contributions to Arrays: each task begins with zeros that init, which may be nil, makes neutral, and
// combine adds the contribution from to into. Both may be called on several workers at the same time.
func ReduceArrays[T any](name string, init func(dst T), combine func(into, from T)) DataOption {
	return dataOptionFunc(func(o *dataOptions) {
		o.object.reduces = reflect.TypeFor[T]()
		o.object.reduction = func(l *datamgr.Layout) *datamgr.Reduction {
			r := &datamgr.Reduction{Name: name, Kind: iface.Arrays, Init: func(dst *iface.Buffer) error {
				zero(dst)
				if init != nil {
					init(arraysAt[T](l, dst.Ptr))
				}
				return nil
			}}
			if combine != nil {
				r.Combine = func(into, from *iface.Buffer) error {
					combine(arraysAt[T](l, into.Ptr), arraysAt[T](l, from.Ptr))
					return nil
				}
			}
			return r
		}
	})
}

// arraysOptions returns the options of new Arrays like v; fn is the function of the program.
func arraysOptions[T any](fn string, rt *Runtime, v T, opts []DataOption) (o dataOptions, l *datamgr.Layout, err error) {
	t := reflect.TypeFor[T]()
	fail := func(format string, args ...any) (dataOptions, *datamgr.Layout, error) {
		return o, nil, fmt.Errorf("engine: %s[%v]: %s", fn, t, fmt.Sprintf(format, args...))
	}
	for _, opt := range opts {
		if opt != nil {
			opt.dataOption(&o)
		}
	}
	switch {
	case rt == nil:
		return fail("the runtime is nil; make one by engine.New")
	case !isArrays(t):
		return fail("arrays are the fields of a struct, all of them exported slices of elements, such as struct{ Re, Im []float64 }")
	case o.spec.Step != nil || o.fill.Kind() != iface.NoScalar || o.object.of != nil:
		return fail("Stride, Fill and Interface are for other data")
	case (o.spec.Reduce != nil || o.object.reduces != nil) && (o.object.reduces != t || o.object.reduction == nil):
		return fail("contributions to them are combined by ReduceArrays, with functions for %v", t)
	}
	l = &datamgr.Layout{Type: t}
	rv := reflect.ValueOf(v)
	for i := range t.NumField() {
		l.Arrays = append(l.Arrays, datamgr.Array{Name: t.Field(i).Name, Elem: iface.ElemOfType(t.Field(i).Type.Elem()), Len: rv.Field(i).Len()})
	}
	bytes := l.Place()
	o.spec.Kind, o.spec.Elem, o.spec.Dims, o.spec.Layout = iface.Arrays, iface.U8, []int{bytes}, l
	if o.object.reduction != nil {
		o.spec.Reduce = o.object.reduction(l)
	}
	return o, l, nil
}

// arraysAt returns the arrays that lie at p. The fields of T are slices, in the order of l.
func arraysAt[T any](l *datamgr.Layout, p unsafe.Pointer) (v T) {
	storeArrays(l, p, unsafe.Pointer(&v))
	return v
}

// copyArrays copies the elements of all arrays; dst has the lengths of src.
func copyArrays[T any](dst, src T) {
	d, s := reflect.ValueOf(dst), reflect.ValueOf(src)
	for i := range d.NumField() {
		reflect.Copy(d.Field(i), s.Field(i))
	}
}

// layoutOf is the layout of h; nil if it is not Arrays.
func layoutOf(h *datamgr.Handle) *datamgr.Layout { return managed(h).Layout() }

// Array describes array k, counted from 0, of operand i, which is Arrays: a vector in the memory where the
// operand is. It panics, which fails the task, if there is none.
func (c *TaskContext) Array(i, k int) *iface.Buffer {
	return arrayOf(c.t.placedOperands()[i].Handle, c.Buffer(i), k)
}

// Array is TaskContext.Array for Arrays that the program holds.
func (a *Access) Array(k int) *iface.Buffer { return arrayOf(a.h, a.Buffer(), k) }

func arrayOf(h *datamgr.Handle, b *iface.Buffer, k int) *iface.Buffer {
	l := layoutOf(h)
	if l == nil || k < 0 || k >= len(l.Arrays) {
		panic(fmt.Sprintf("%s has no array %d", describe(h), k))
	}
	a := &l.Arrays[k]
	out := &iface.Buffer{Ptr: unsafe.Add(b.Ptr, a.Off)}
	out.Kind, out.Elem, out.Rank, out.Dim[0], out.Stride[0] = iface.Vector, a.Elem, 1, a.Len, 1
	return out
}

// checkArrays reports that h is not Arrays of type T.
func checkArrays[T any](h *datamgr.Handle) error {
	if h == nil {
		return &ModeError{Other: -1, Message: "no data: the handle is nil"}
	}
	if t := reflect.TypeFor[T](); layoutOf(h) == nil || layoutOf(h).Type != t {
		return &TypeError{Operand: -1, Arg: -1, Handle: h, Message: fmt.Sprintf("%s is no Arrays[%v]", describe(h), t)}
	}
	return nil
}

func (Arrays[T]) of(h *datamgr.Handle) (Arrays[T], error) {
	return Arrays[T]{Handle: h}, checkArrays[T](h)
}

// Acquire is Vector.Acquire for Arrays. The slices must not be used after Release.
func (x Arrays[T]) Acquire(ctx context.Context, j *Job, mode iface.AccessMode) (Acquired[T], error) {
	return acquire(ctx, j, x.Handle, mode, checkArrays[T](x.Handle), func(b *iface.Buffer) T { return arraysAt[T](layoutOf(x.Handle), b.Ptr) })
}

// Value is Vector.Value for Arrays.
func (x Arrays[T]) Value(ctx context.Context, j *Job) (T, error) {
	return valueOf(ctx, j, x.Handle, checkArrays[T](x.Handle), func(b *iface.Buffer) T {
		return cloneArrays(arraysAt[T](layoutOf(x.Handle), b.Ptr))
	})
}

// cloneArrays returns a copy of v.
func cloneArrays[T any](v T) (out T) {
	from, to := reflect.ValueOf(v), reflect.ValueOf(&out).Elem()
	for i := range from.NumField() {
		s := reflect.MakeSlice(from.Field(i).Type(), from.Field(i).Len(), from.Field(i).Len())
		reflect.Copy(s, from.Field(i))
		to.Field(i).Set(s)
	}
	return out
}

// packArrays returns the arrays in b, which is h, as .npy files one after the other, each behind its length
// of 8 bytes, little-endian.
func packArrays(h *datamgr.Handle, b *iface.Buffer) (out []byte, err error) {
	for k := range layoutOf(h).Arrays {
		npy, err := format.Append(nil, arrayOf(h, b, k))
		if err != nil {
			return nil, err
		}
		out = append(binary.LittleEndian.AppendUint64(out, uint64(len(npy))), npy...)
	}
	return out, nil
}

// unpackArrays is Unpack for Arrays.
func (j *Job) unpackArrays(ctx context.Context, h *datamgr.Handle, data []byte, at []*Site) error {
	fail := func(err error) error { return fmt.Errorf("engine: cannot unpack into %s: %w", describe(h), err) }
	var fill []func(*iface.Buffer) error
	for _, a := range layoutOf(h).Arrays {
		if len(data) < 8 || binary.LittleEndian.Uint64(data) > uint64(len(data)-8) {
			return fail(errors.New("the bytes end too early"))
		}
		n := binary.LittleEndian.Uint64(data)
		in, err := format.Parse(data[8:8+n], format.Want{Kind: iface.Vector, Elem: a.Elem, Dims: []int{a.Len}})
		if err != nil {
			return fail(fmt.Errorf("%s: %w", a.Name, err))
		}
		fill, data = append(fill, in.Fill), data[8+n:]
	}
	if len(data) > 0 {
		return fail(fmt.Errorf("%d bytes are left over", len(data)))
	}
	a, err := j.Acquire(ctx, h, iface.W, at...)
	if err != nil {
		return err
	}
	for k, fn := range fill {
		if e := fn(a.Array(k)); err == nil {
			err = e
		}
	}
	if e := a.Release(); err == nil {
		err = e
	}
	return err
}

// layoutText lists the arrays of a layout: "Re []float64 of 3, Im []float64 of 3".
func layoutText(l *datamgr.Layout) string {
	var s []string
	for _, a := range l.Arrays {
		s = append(s, fmt.Sprintf("%s []%v of %d", a.Name, a.Elem.GoType(), a.Len))
	}
	return strings.Join(s, ", ")
}
