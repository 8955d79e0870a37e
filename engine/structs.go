package engine

// Structs: data in a slice of Go structs, field by field.

import (
	"fmt"
	"reflect"
	"slices"
	"unsafe"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

// Structs is data in a slice of structs of the program, or in a part of one: each exported field of T is a vector, which tasks
// may take alone, and tasks on different fields run side by side. Fields are numbers of a fixed size and bools.
//
// Kernels take the whole, a []T, which R, W, RW and Commute pass to Job.Go, or some fields, each a []float64 or the like:
//
//	ps, err := engine.NewStructs(rt, particles)
//	j.Go(func(p []Particle) { … }, ps.RW())
//	j.Go(func(x, v []float64) { … }, engine.RW(ps.Field("X")), engine.R(ps.Field("V")))
//
// A []T is the slice itself, in main memory. A kernel that takes a field gets a copy of it, side by side, which the runtime makes when a task first
// needs it, and again after a task that had the whole has written it; so have devices and disks an array for each field. The
// runtime never touches padding and fields that are not exported.
//
// It is a plain value. The zero value is no data. All methods are safe for concurrent use.
type Structs[T any] struct {
	_      [0]*T
	fields []iface.Field
	data   []*datamgr.Handle // of the fields
}

// NewStructs registers the structs in s, which stay the program's: it must leave the slice alone until the data is
// unregistered and that has ended. Then the slice has the last values. A task that takes the whole sees them before.
// The options are Name, to which the names of fields are added, and ReadOnly. Errors name the field that cannot be data.
func NewStructs[T any](rt *Runtime, s []T, opts ...DataOption) (Structs[T], error) {
	t := reflect.TypeFor[T]()
	fail := func(format string, args ...any) (Structs[T], error) {
		return Structs[T]{}, fmt.Errorf("engine: NewStructs[%v]: %s", t, fmt.Sprintf(format, args...))
	}
	var o dataOptions
	for _, opt := range opts {
		if opt != nil {
			opt.dataOption(&o)
		}
	}
	fields, err := iface.FieldsOf(t)
	switch {
	case rt == nil:
		return fail("the runtime is nil; make one by engine.New")
	case err != nil:
		return fail("%v", err)
	case o.spec.Step != nil || o.spec.Capacity != nil || o.spec.Node != 0 || o.spec.Home != nil || o.spec.Reduce != nil || o.object.reduction != nil ||
		o.object.of != nil || o.fill.Kind() != iface.NoScalar:
		return fail("the options of structs are Name and ReadOnly")
	}
	x := Structs[T]{fields: fields}
	for _, f := range fields {
		spec := DataSpec{Kind: iface.Vector, Elem: f.Elem, Dims: []int{len(s)}, Name: f.Name, ReadOnly: o.spec.ReadOnly}
		if o.spec.Name != "" {
			spec.Name = o.spec.Name + "." + f.Name
		}
		if len(s) > 0 {
			spec.Home, spec.Step = unsafe.Add(unsafe.Pointer(unsafe.SliceData(s)), f.Offset), []int{f.Step}
		}
		h, err := rt.Register(spec)
		if err != nil {
			for _, h := range x.data {
				rt.reg.Discard(h)
			}
			return Structs[T]{}, err
		}
		x.data = append(x.data, h)
	}
	return x, nil
}

// RegisterFields registers vectors of one length that lie in main memory, which the runtime owns, as the fields of structs of
// size bytes do: field k is offsets[k] bytes from the beginning of a struct, and size and offsets are multiples of the sizes of elements. fills are
// as of RegisterFilled; a nil one gives no value. Where Options.RAM bounds main memory, in which data is only while tasks use it, and without elements, each
// vector lies by itself. When a fill fails or panics, nothing stays registered.
func (rt *Runtime) RegisterFields(specs []DataSpec, offsets []uintptr, size uintptr, fills []func(*iface.Buffer) error) (hs []*datamgr.Handle, err error) {
	if err := rt.open(); err != nil {
		return nil, err
	}
	specs = slices.Clone(specs)
	for k := range specs {
		specs[k].Unordered = specs[k].Unordered || rt.opt.Unordered
	}
	if len(specs) > 0 && specs[0].Dims[0] > 0 && rt.opt.Plan == nil && !rt.limited {
		defer func() {
			if v := recover(); v != nil {
				hs, err = nil, fmt.Errorf("engine: filling new data: %w", newPanic(v))
			}
		}()
		return rt.reg.RegisterFields(specs, offsets, size, fills)
	}
	for k, s := range specs {
		var h *datamgr.Handle
		if fills[k] != nil {
			h, err = rt.RegisterFilled(s, fills[k])
		} else {
			h, err = rt.Register(s)
		}
		if err != nil {
			for _, h := range hs {
				rt.reg.Discard(h)
			}
			return nil, err
		}
		hs = append(hs, h)
	}
	return hs, nil
}

// Len returns the number of structs.
func (x Structs[T]) Len() int {
	if len(x.data) == 0 {
		return 0
	}
	d := x.data[0].Desc()
	return d.Len()
}

// Names returns the names of the fields, in their order. The caller owns the slice.
func (x Structs[T]) Names() []string {
	var names []string
	for _, f := range x.fields {
		names = append(names, f.Name)
	}
	return names
}

// Field returns the vector of the field with that name, for tasks that need it alone, Acquire, files and the like. It is nil where
// there is no such field, which is an error where it is used. As returns it with its Go type.
func (x Structs[T]) Field(name string) *datamgr.Handle {
	for i, f := range x.fields {
		if f.Name == name {
			return x.data[i]
		}
	}
	return nil
}

// Partition declares a view of each field, with parts by filters such as filter.Blocks(4), and returns the parts, which have
// all fields. They end with the data.
func (x Structs[T]) Partition(fs ...filter.Filter) ([]Structs[T], error) {
	var parts []Structs[T]
	for i, h := range x.data {
		v, err := partition[typedVector](h, fs)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			parts = make([]Structs[T], len(v.Parts))
		}
		for k, p := range v.Parts {
			parts[k].fields, parts[k].data = x.fields, append(parts[k].data, p.Handle)
		}
	}
	return parts, nil
}

// typedVector is a vector with any elements.
type typedVector struct{ *datamgr.Handle }

func (typedVector) of(h *datamgr.Handle) (typedVector, error) {
	if k, e := h.Type(); k != iface.Vector {
		return typedVector{}, &TypeError{Operand: -1, Arg: -1, Handle: h, Message: fmt.Sprintf("%s is a %s, and parts of structs are vectors", describe(h), typeText(k, e))}
	}
	return typedVector{h}, nil
}

// Unregister ends the data after the tasks that were submitted, as Job.Unregister does for each field. The slice has the last values
// once that has ended.
func (x Structs[T]) Unregister(j *Job) error {
	for _, h := range x.data {
		if err := j.Unregister(h); err != nil {
			return err
		}
	}
	return nil
}

// StructsOperand is all fields of Structs with an access mode, as an argument of Job.Go. It is for a parameter of type []T.
type StructsOperand struct {
	data []*datamgr.Handle
	mode iface.AccessMode
	of   reflect.Type
}

// R passes all fields to a task that reads them.
func (x Structs[T]) R() StructsOperand { return x.operand(iface.R) }

// W passes all fields to a task that overwrites them, and finds nothing in them.
func (x Structs[T]) W() StructsOperand { return x.operand(iface.W) }

// RW passes all fields to a task that reads and writes them.
func (x Structs[T]) RW() StructsOperand { return x.operand(iface.RW) }

// Commute passes all fields to a task that reads and writes them; see Commute.
func (x Structs[T]) Commute() StructsOperand { return x.operand(iface.Commute) }

func (x Structs[T]) operand(m iface.AccessMode) StructsOperand {
	return StructsOperand{x.data, m, reflect.TypeFor[T]()}
}

// operands returns ops with those of o. Kernels get the memory of the program.
func (o StructsOperand) operands(ops []Operand) []Operand {
	for _, h := range o.data {
		ops = append(ops, Operand{Handle: h, Mode: o.mode, Pin: datamgr.PinHome})
	}
	return ops
}
