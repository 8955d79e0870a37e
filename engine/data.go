package engine

// Data: registering it, declaring views, and handles with a Go type.

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unsafe"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

// DataSpec describes data to register.
type DataSpec = datamgr.Spec

// Register declares data and returns the handle of all of it. Data with Home
// lives in that memory, has its value, and must be left alone by the caller
// until it is unregistered and that has ended, except through Acquire; other
// data has no value and takes no memory before it is first written.
//
// With Node, data lives in the memory of a device: Home is memory there, with the value, to which
// the last value returns when the data is unregistered; without Home the runtime
// allocates memory there, without a value. Such memory is never evicted. If the device is lost, so is a
// value that no other memory has, and the end of data with Home is a failure of its job.
// Errors are a *NoNodeError, an *accel.NoMemoryError, an *accel.LostError, and ErrWouldDeadlock in a
// kernel, for memory that the runtime would have to allocate.
//
// Memory that shares bytes with that of other data is a *datamgr.SharedMemoryError, unless
// both are ReadOnly: as the runtime orders tasks by data, nothing would order the
// tasks of both. Looking for such data takes a logarithm of the number of data with
// Home, and a step for each of them whose rows lie between those of the new one. The memory is free
// once Unregister returns; the caller orders uses of the new data after those of the
// old, and with devices waits for the end of the old one first.
func (rt *Runtime) Register(s DataSpec) (*datamgr.Handle, error) {
	if err := rt.open(); err != nil {
		return nil, err
	}
	if err := rt.checkNode(s.Node); err != nil {
		return nil, err
	}
	if s.Node > 0 && s.Home == nil && rt.mayBeInKernel() {
		return nil, ErrWouldDeadlock // room there may have to wait for the kernel
	}
	s.Unordered = s.Unordered || rt.opt.Unordered
	if s.Home == nil && slices.Contains(s.Dims, 0) && s.Capacity != nil { // no elements are a value
		return rt.RegisterFilled(s, func(*iface.Buffer) error { return nil })
	}
	return rt.reg.Register(&s)
}

// Lookup returns the handle of the data that was registered with the memory of s: its first
// element is that of s, and its elements have type T; the length of s may be another. Of
// a variable, s is the slice of its one element: unsafe.Slice(&x, 1). ok is false when there is
// no such data, or it was unregistered. Of read-only data that share memory it
// returns the one that was registered last. It takes the submission lock and time in
// proportion to the logarithm of the number of data with memory of the program. It may be
// called at any time, also in kernels.
func Lookup[T iface.Go](rt *Runtime, s []T) (h *datamgr.Handle, ok bool) {
	if rt == nil || len(s) == 0 {
		return nil, false
	}
	h = rt.reg.Lookup(unsafe.Pointer(unsafe.SliceData(s)))
	if h == nil {
		return nil, false
	}
	if _, e := h.Type(); e != iface.ElemOf[T]() {
		return nil, false
	}
	return h, true
}

// RegisterLike is Register for data of the kind, element type and sizes of h,
// which may be a part; s says the rest. If h is whole and has a capacity, so has the new data,
// which is full at first.
func (rt *Runtime) RegisterLike(h *datamgr.Handle, s DataSpec) (*datamgr.Handle, error) {
	if h == nil {
		return nil, &ModeError{Other: -1, Message: "no data to register alike: the handle is nil"}
	}
	d := h.Desc()
	s.Kind, s.Elem, s.Dims, s.Object, s.Layout = d.Kind, d.Elem, d.Shape(), managed(h).Object(), managed(h).Layout()
	if h.Resizable() && h.Parent() == nil {
		s.Capacity = d.Shape()
	}
	return rt.Register(s)
}

// RegisterFilled declares data without Home, allocates it and lets fill write
// its elements. When fill fails or panics, nothing stays registered.
func (rt *Runtime) RegisterFilled(s DataSpec, fill func(b *iface.Buffer) error) (h *datamgr.Handle, err error) {
	if err := rt.open(); err != nil {
		return nil, err
	}
	defer func() {
		if v := recover(); v != nil {
			h, err = nil, fmt.Errorf("engine: filling new data: %w", newPanic(v))
		}
	}()
	s.Unordered = s.Unordered || rt.opt.Unordered
	if rt.opt.Plan != nil { // the value is never seen
		return rt.reg.RegisterValued(&s)
	}
	return rt.reg.RegisterFilled(&s, fill)
}

// Partition declares the view of h that applying the filters in turn gives:
// each to every part of the one before. It moves nothing, waits for nothing, and
// may be called while tasks use h. Errors are a *DeadHandleError or the
// filter's, usually a *filter.Error.
func (rt *Runtime) Partition(h *datamgr.Handle, fs ...filter.Filter) (*datamgr.View, error) {
	return rt.PartitionWith(ViewOptions{}, h, fs...)
}

// ViewOptions are uncommon properties of a view: see datamgr.ViewOptions.
type ViewOptions = datamgr.ViewOptions

// PartitionWith is Partition with options. Errors may also be those of the options.
func (rt *Runtime) PartitionWith(o ViewOptions, h *datamgr.Handle, fs ...filter.Filter) (*datamgr.View, error) {
	if err := rt.open(); err != nil {
		return nil, err
	}
	if h == nil {
		return nil, &ModeError{Other: -1, Message: "no data to partition: the handle is nil"}
	}
	if !rt.reg.Owns(h) {
		return nil, rt.alive(-1, h)
	}
	v, err := rt.reg.Partition(h, o, fs...)
	if err == datamgr.ErrDead {
		return nil, rt.alive(-1, h)
	}
	return v, err
}

// EndView ends a view: its parts, and the views of its parts, are dead for later
// tasks. Tasks submitted before are not touched, nor is the data. at says
// where, and may be left out. Without a view, nil, there is nothing to end.
func (rt *Runtime) EndView(v *datamgr.View, at ...*Site) {
	if v == nil {
		return
	}
	rt.reg.EndView(v, first(at))
}

// SetReduction changes how REDUX contributions to h are combined, for tasks
// submitted from now on; nil: h takes none. No task may be using h, and
// contributions must have been combined (any other use does that). Parts
// declared later inherit it.
func (rt *Runtime) SetReduction(h *datamgr.Handle, r *datamgr.Reduction) error {
	if h == nil {
		return &ModeError{Other: -1, Message: "no data to reduce: the handle is nil"}
	}
	if !rt.reg.Owns(h) {
		return rt.alive(-1, h)
	}
	if !managed(h).SetReduction(r) {
		return fmt.Errorf("engine: the reduction of %s cannot change: it is void or has a capacity, a task uses it, contributions are open, or the reduction has no function that initialises", describe(h))
	}
	return nil
}

// Handles with a Go type: data whose kind and elements the compiler knows.

// A DataOption says more about new data: Name, Stride, Capacity, ReadOnly, Reduce, ReduceBy, Fill, HomeOn, OwnedBy.
type DataOption interface{ dataOption(*dataOptions) }

// dataOptions is what the options of new data say.
type dataOptions struct {
	spec    DataSpec
	fill    goScalar
	reduces iface.Elem // the element type that spec.Reduce is for, if for one only
	object  objectOptions
}

// objectOptions is what options of a Value say.
type objectOptions struct {
	iface     any                                      // an Interface[T]
	of        reflect.Type                             // T of the Interface
	reduces   reflect.Type                             // T of ReduceValue or ReduceArrays
	reduction func(*datamgr.Layout) *datamgr.Reduction // of ReduceArrays
}

type dataOptionFunc func(*dataOptions)

func (f dataOptionFunc) dataOption(o *dataOptions) { f(o) }

// Name names data, when it is registered, and tasks, when Job.Go inserts them: in
// messages, traces and drawings. A task with a name of its own costs some 0.1 µs more
// than one that is called as its kernel is.
type Name string

func (n Name) dataOption(o *dataOptions) { o.spec.Name = string(n) }

// Stride says how far apart neighbours lie in memory of the program: the starts of two
// rows of a matrix; of a block, the starts of two planes and of two rows, elements each.
// There is one number for each index but the last, along which elements lie side by side. A number for the last index, too, says
// how far apart they lie: kernels then get a copy of what they use, side by side, and the program finds the last values in its memory once the
// data is unregistered.
func Stride(steps ...int) DataOption {
	return dataOptionFunc(func(o *dataOptions) { o.spec.Step = steps })
}

// Capacity gives data room for more than its sizes, one number for each index: tasks change the
// sizes within the capacity, by Buffer.Resize or TaskContext.Resize. Of a slice of the program its
// capacity counts then, not its length. Methods of handles give the capacity as the sizes,
// except Content.
func Capacity(dims ...int) DataOption {
	return dataOptionFunc(func(o *dataOptions) { o.spec.Capacity = dims })
}

// HomeOn makes data live on a memory node, an index of Runtime.Nodes: p is memory there of the size of the data,
// such as Memory.Alloc of the device returns, which stays the program's and has the value. With
// p nil the runtime allocates memory there. See Register. It is an option of MakeVector
// and the like.
func HomeOn(node int, p unsafe.Pointer) DataOption {
	return dataOptionFunc(func(o *dataOptions) { o.spec.Node, o.spec.Home = node, p })
}

// OwnedBy gives data to a rank, from 0, modulo the number of ranks, where several run the program together: see Spec.Owner of
// package datamgr, and package engine/cluster.
func OwnedBy(rank int) DataOption {
	return dataOptionFunc(func(o *dataOptions) {
		if o.spec.Owner = 1 + rank; rank < 0 {
			o.spec.Owner = rank // which is an error
		}
	})
}

// ReadOnly makes every use of the data that writes an error.
func ReadOnly() DataOption {
	return dataOptionFunc(func(o *dataOptions) { o.spec.ReadOnly = true })
}

// Reducer is a way to combine what tasks contribute by Redux, as an option of new data.
type Reducer uint8

// The reducers that every element type has. Integers wrap; a NaN is the smallest and the
// largest of all.
const (
	ReduceSum Reducer = iota + 1
	ReduceProd
	ReduceMin
	ReduceMax
)

func (r Reducer) dataOption(o *dataOptions) {
	switch r {
	case ReduceSum:
		o.spec.Reduce = datamgr.SumReduction()
	case ReduceProd:
		o.spec.Reduce = datamgr.ProdReduction()
	case ReduceMin:
		o.spec.Reduce = datamgr.MinReduction()
	case ReduceMax:
		o.spec.Reduce = datamgr.MaxReduction()
	}
}

// ReduceBy combines contributions to data with elements of type T element by element:
// each task begins with neutral, and combine puts two contributions together. It may be
// called on several workers at the same time, and in any order.
func ReduceBy[T iface.Go](name string, neutral T, combine func(a, b T) T) DataOption {
	return dataOptionFunc(func(o *dataOptions) {
		o.reduces = iface.ElemOf[T]()
		o.spec.Reduce = &datamgr.Reduction{Name: name,
			Init: func(dst *iface.Buffer) error {
				fillWith(dst, neutral)
				return nil
			},
			Combine: func(into, from *iface.Buffer) error {
				for l := range into.Lines() {
					a, b := iface.Line[T](into, l), iface.Line[T](from, l)
					for i := range a {
						a[i] = combine(a[i], b[i])
					}
				}
				return nil
			}}
		if combine == nil {
			o.spec.Reduce.Combine = nil
		}
	})
}

// Reduce has contributions combined by r, whose functions work on buffers. nil: there can
// be none.
func Reduce(r *datamgr.Reduction) DataOption {
	return dataOptionFunc(func(o *dataOptions) { o.spec.Reduce = r })
}

// Number lists the Go types of numbers.
type Number interface {
	iface.Go | ~int | ~uint
}

// Fill gives new data of the runtime a value: all its elements are v, which must fit
// their type.
func Fill[T Number](v T) DataOption {
	return dataOptionFunc(func(o *dataOptions) { o.fill, _ = scalarOf(reflect.ValueOf(v)) })
}

// fillWith sets every element of b.
func fillWith[T iface.Go](b *iface.Buffer, v T) {
	for l := range b.Lines() {
		line := iface.Line[T](b, l)
		for i := range line {
			line[i] = v
		}
	}
}

// home is memory of the program, of length len and with room for cap elements.
type home struct {
	ptr      unsafe.Pointer
	len, cap int
}

func homeOf[T iface.Go](s []T) *home {
	return &home{unsafe.Pointer(unsafe.SliceData(s)), len(s), cap(s)}
}

// room returns how many elements of h the data of s may take.
func (h *home) room(s *DataSpec) int {
	if s.Capacity != nil {
		return h.cap
	}
	return h.len
}

// register registers data with elements of type T, in memory of the program unless h is
// nil. fn is the function of the program that asks for it.
func register[T iface.Go](fn string, rt *Runtime, k iface.Kind, h *home, dims []int, opts []DataOption) (*datamgr.Handle, error) {
	var o dataOptions
	for _, opt := range opts {
		if opt != nil {
			opt.dataOption(&o)
		}
	}
	e := iface.ElemOf[T]()
	o.spec.Kind, o.spec.Elem, o.spec.Dims = k, e, dims
	fail := func(format string, args ...any) (*datamgr.Handle, error) {
		return nil, fmt.Errorf("engine: %s[%v]: %s", fn, reflect.TypeFor[T](), fmt.Sprintf(format, args...))
	}
	n, err := o.spec.Extent()
	filled := o.fill.Kind() != iface.NoScalar
	switch {
	case rt == nil:
		return fail("the runtime is nil; make one by engine.New")
	case err != nil:
		return fail("%v", err)
	case e.IsComplex() && (o.spec.Reduce == datamgr.MinReduction() || o.spec.Reduce == datamgr.MaxReduction()):
		return fail("complex numbers have no order, so there is no %s of them; use ReduceSum, ReduceProd or ReduceBy", o.spec.Reduce.Name)
	case e == iface.B8 && (o.spec.Reduce == datamgr.SumReduction() || o.spec.Reduce == datamgr.ProdReduction()):
		return fail("bools have no arithmetic, so there is no %s of them; use ReduceMax for true if a contribution is, or ReduceMin for true if all are", o.spec.Reduce.Name)
	case o.spec.Reduce != nil && o.reduces != iface.NoElem && o.reduces != e:
		return fail("ReduceBy combines %v, and the data has elements of type %v", o.reduces.GoType(), e.GoType())
	case h != nil && (o.spec.Node != 0 || o.spec.Home != nil):
		return fail("a slice is in main memory; for memory on a device use Make%s with HomeOn", strings.TrimPrefix(fn, "New"))
	case filled && o.spec.Home != nil:
		return fail("Fill is for memory of the runtime; what the program gives has its value")
	case h == nil && o.spec.Home == nil && o.spec.Step != nil:
		return fail("Stride is for memory of the program; the runtime lays out what it owns")
	case h == nil && filled:
		if !o.fill.fits(e) {
			return fail("Fill: %s does not fit into %v elements", describeScalar(o.fill.Scalar), e.GoType())
		}
		v := iface.As[T](o.fill.Scalar)
		o.spec.InParts = true
		return rt.RegisterFilled(o.spec, func(b *iface.Buffer) error {
			fillWith(b, v)
			return nil
		})
	case h == nil:
		return rt.Register(o.spec)
	case filled:
		return fail("Fill is for data of the runtime; what the program gives has its value")
	case n > h.room(&o.spec):
		return fail("the slice has %d elements, and %d are needed for sizes %v%s", h.room(&o.spec), n, dims, strideText(o.spec.Step))
	}
	o.spec.Home = h.ptr
	return rt.Register(o.spec)
}

func strideText(step []int) string {
	if step == nil {
		return ""
	}
	return fmt.Sprintf(" with Stride %v", step)
}

var errPlanValue = errors.New("engine: a plan runs no tasks, so data has no values to look at")

// goScalar is an argument of Go that is no data.
type goScalar struct {
	iface.Scalar
	huge bool // a uint64 above the largest int64: the Scalar has its bits
}

// fits reports whether elements of type e can hold s, up to rounding.
func (s goScalar) fits(e iface.Elem) bool {
	if e == iface.U64 && s.Kind() == iface.IntScalar {
		return s.huge || s.Int() >= 0
	}
	return !s.huge && fitsElem(s.Scalar, e)
}

// scalarOf returns the scalar in v; false: it is none.
func scalarOf(v reflect.Value) (goScalar, bool) {
	switch v.Kind() {
	case reflect.Bool:
		return goScalar{iface.Bool(v.Bool()), false}, true
	case reflect.String:
		return goScalar{iface.Str(v.String()), false}, true
	case reflect.Float32, reflect.Float64:
		return goScalar{iface.Float(v.Float()), false}, true
	case reflect.Complex64, reflect.Complex128:
		return goScalar{iface.Complex(v.Complex()), false}, true
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return goScalar{iface.Int(v.Int()), false}, true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		u := v.Uint()
		return goScalar{iface.Int(int64(u)), int64(u) < 0}, true
	case reflect.Struct:
		switch iface.ElemOfType(v.Type()) { // Interface would allocate
		case iface.F16:
			return goScalar{iface.Float(float64(iface.F16FromBits(uint16(v.Field(0).Uint())))), false}, true
		case iface.BF16:
			return goScalar{iface.Float(float64(iface.BF16FromBits(uint16(v.Field(0).Uint())))), false}, true
		}
	}
	return goScalar{}, false
}
