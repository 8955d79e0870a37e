// Package datatest tests kinds of data: that content is the same after it was copied between memory
// nodes in every direction, used in parts, packed, saved, evicted, and after a device was lost.
//
// A program that has data of its own tests it by a Kind:
//
//	func TestComplexes(t *testing.T) {
//		datatest.TestKind(t, datatest.Arrays("complexes", func(n int) Complexes {
//			return Complexes{Re: make([]float64, n), Im: make([]float64, n)}
//		}))
//	}
//
// It lies beside the engine and not in datamgr, because only tasks and jobs move data, and
// datamgr must not import package engine.
package datatest

import (
	"errors"
	"fmt"
	"reflect"
	"unsafe"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/enginetest"
)

// Kind is a kind of data to test. Contents are numbered by seeds: the same seed gives the same content.
type Kind struct {
	Name string
	// Register registers data without a value. A larger n makes it larger, and 0 makes it empty if it can be.
	Register func(rt *engine.Runtime, n int) (*datamgr.Handle, error)
	// Fill writes the content seed to b, which may be a part. Nil: all elements get values that depend on their
	// place in the whole.
	Fill func(b *iface.Buffer, n, seed int)
	// Check returns an error if b, which may be a part, does not have the content that Fill writes. Nil: it
	// compares elements.
	Check func(b *iface.Buffer, n, seed int) error
	// Filters returns filters whose parts together are data registered with n, without overlap. Nil:
	// the data has no parts.
	Filters func(n int) []filter.Filter
	// Sizes returns the sizes that a task sets that fills data with a capacity. Nil: sizes are fixed.
	Sizes func(n, seed int) []int
	// MainOnly is set for data that is in main memory only.
	MainOnly bool
	// NoPack is set for data that cannot be packed.
	NoPack bool
	// SameTimes is set for data whose tasks take the same time whatever n is: its footprints are all the same.
	SameTimes bool

	size    int64               // what the Interface of a value says of a large one; 0: nothing
	machine *enginetest.Machine // nil: a simulated one
}

// Dense returns the kind of data with elements of type e and sizes dims(n), one for each index.
func Dense(e iface.Elem, dims func(n int) []int) Kind {
	kind := iface.KindOf(len(dims(1)))
	k := Kind{Name: kind.Type(e.String()), SameTimes: kind == iface.Variable,
		Register: func(rt *engine.Runtime, n int) (*datamgr.Handle, error) {
			return rt.Register(engine.DataSpec{Kind: kind, Elem: e, Dims: dims(n)})
		}}
	if kind == iface.Variable {
		return k
	}
	k.Filters = func(n int) (fs []filter.Filter) {
		d := dims(n)
		for axis, size := range d {
			if size > 0 {
				fs = append(fs, filter.Axis(axis, min(3, size), 0), filter.Pick(axis))
			}
		}
		counts := make([]int, len(d))
		for axis, size := range d {
			counts[axis] = min(2, size)
			if size == 0 {
				return fs
			}
		}
		if len(d) > 1 {
			fs = append(fs, filter.TilesN(counts, 0))
		}
		return fs
	}
	return k
}

// Sized returns the kind of data with a capacity and elements of type e. capacity returns the sizes that
// there is room for, and dims those that tasks set.
func Sized(e iface.Elem, capacity func(n int) []int, dims func(n, seed int) []int) Kind {
	kind := iface.KindOf(len(capacity(1)))
	return Kind{Name: fmt.Sprintf("%v[%v] with a capacity", kind, e), Sizes: dims,
		Register: func(rt *engine.Runtime, n int) (*datamgr.Handle, error) {
			return rt.Register(engine.DataSpec{Kind: kind, Elem: e, Dims: dims(n, 0), Capacity: capacity(n)})
		}}
}

// Arrays returns the kind of engine.Arrays[T]; make returns arrays with the lengths of those of size n.
func Arrays[T any](name string, make func(n int) T) Kind {
	return Kind{Name: name, Register: func(rt *engine.Runtime, n int) (*datamgr.Handle, error) {
		x, err := engine.MakeArrays(rt, make(n))
		return x.Handle, err
	}}
}

// Value returns the kind of engine.Value[T]; make returns a new value of size n with the content seed, and i says how
// values are handled.
func Value[T any](name string, make func(n, seed int) T, i engine.Interface[T]) Kind {
	equal := i.Equal
	if equal == nil {
		equal = func(a, b *T) bool {
			if e, ok := any(a).(interface{ Equal(T) bool }); ok {
				return e.Equal(*b)
			}
			return reflect.DeepEqual(a, b)
		}
	}
	size := int64(0)
	if i.Size != nil {
		v := make(large, 1)
		size = i.Size(&v)
	}
	return Kind{Name: name, MainOnly: true, SameTimes: i.Footprint == nil, size: size,
		Register: func(rt *engine.Runtime, n int) (*datamgr.Handle, error) {
			x, err := engine.MakeValue[T](rt, i)
			return x.Handle, err
		},
		Fill: func(b *iface.Buffer, n, seed int) { *(*T)(b.Ptr) = make(n, seed) },
		Check: func(b *iface.Buffer, n, seed int) error {
			if want := make(n, seed); !equal((*T)(b.Ptr), &want) {
				return fmt.Errorf("the value is %v, want %v", *(*T)(b.Ptr), want)
			}
			return nil
		}}
}

// fill writes the content seed to b.
func (k *Kind) fill(b *iface.Buffer, n, seed int) {
	if k.Fill != nil {
		k.Fill(b, n, seed)
		return
	}
	eachElement(b, func(at int, elem []byte) bool {
		for i := range elem {
			elem[i] = byteOf(b.Elem, at, i, len(elem), seed)
		}
		return true
	})
}

// check returns an error if b does not have the content seed.
func (k *Kind) check(b *iface.Buffer, n, seed int) (err error) {
	if k.Sizes != nil {
		if want := k.Sizes(n, seed); fmt.Sprint(b.Shape()) != fmt.Sprint(want) {
			return fmt.Errorf("the sizes are %v, want %v", b.Shape(), want)
		}
	}
	if k.Check != nil {
		return k.Check(b, n, seed)
	}
	eachElement(b, func(at int, elem []byte) bool {
		for i := range elem {
			if want := byteOf(b.Elem, at, i, len(elem), seed); elem[i] != want {
				err = fmt.Errorf("byte %d of element %d is %#x, want %#x", i, at, elem[i], want)
				return false
			}
		}
		return true
	})
	return err
}

// byteOf returns byte i of element at, which has size bytes. No float of such bytes is NaN, and no integer is
// negative; those of bools are 0 and 1.
func byteOf(e iface.Elem, at, i, size, seed int) byte {
	v := byte((at*size+i)*7+seed*13+1) & 0x3f
	if e == iface.B8 {
		v = v >> 1 & 1
	}
	return v
}

// eachElement calls fn with the place in the whole and the bytes of each element of b, until fn returns false.
func eachElement(b *iface.Buffer, fn func(at int, elem []byte) bool) {
	base, step := b.Number()
	size := b.Elem.Size()
	for i := range b.Len() {
		at, off := base, 0
		for axis, rest := int(b.Rank)-1, i; axis >= 0; axis-- {
			index := rest % b.Dim[axis]
			rest /= b.Dim[axis]
			at += index * step[axis]
			off += index * b.Stride[axis]
		}
		if !fn(at, unsafe.Slice((*byte)(unsafe.Add(b.Ptr, uintptr(off)*size)), size)) {
			return
		}
	}
}

// filler returns a codelet that fills its operand with the content seed. With a capacity it sets the sizes first.
func (k *Kind) filler(n, seed int) *engine.Codelet {
	return k.codelet("fill", iface.W, func(c *engine.TaskContext) error {
		if k.Sizes != nil {
			if err := c.Resize(0, k.Sizes(n, seed)...); err != nil {
				return err
			}
		}
		k.fill(c.Buffer(0), n, seed)
		return nil
	})
}

// codelet returns a codelet with one operand, whose kernel runs on the devices of real drivers, too.
func (k *Kind) codelet(name string, mode iface.AccessMode, kernel engine.Impl) *engine.Codelet {
	c := &engine.Codelet{Name: name, Modes: []iface.AccessMode{mode}, CPU: []engine.Impl{kernel}}
	if k.machine != nil && k.machine.Real {
		c.On = enginetest.On[engine.Impl](kernel)
	}
	return c
}

// checker returns a codelet that fails if its operand does not have the content seed.
func (k *Kind) checker(n, seed int) *engine.Codelet {
	return k.codelet("check", iface.R, func(c *engine.TaskContext) error { return k.check(c.Buffer(0), n, seed) })
}

// valid returns an error if k lacks a field that it must have.
func (k *Kind) valid() error {
	if k.Name == "" || k.Register == nil {
		return errors.New("datatest: a Kind needs a Name and a Register")
	}
	return nil
}
