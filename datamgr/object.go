package datamgr

// Objects: data that is a value of a Go type, such as a map, a tree or an image.
//
// An object is one element, which no view cuts. Its instances are Go variables, where the
// garbage collector finds what they point to, so they are in main memory only, and the
// address in an instance or a buffer is that of the variable. Order, locks, contributions
// and holds are those of other data.
//
// Without a disk an object has no bytes as far as placement is concerned: like void data
// it needs no instance but the main one. With a disk, an object that can be packed is
// like other data of the runtime: its main instance is on the disk, its instances in main
// memory are counted with the size that it reports, evicted by packing and fetched by
// unpacking. One that cannot be packed stays in main memory, and is not counted.

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
)

// Object says how the values of a Go type are handled. It is immutable. Pointers are those of
// variables of the type. The functions may be called at once for different variables, and
// Pack, Copy, Size, Footprint and Equal for the same one. They are functions of the program: errors and
// panics of theirs are errors of what needed them.
type Object struct {
	Type   reflect.Type
	New    func() unsafe.Pointer               // makes a variable with the zero value
	Assign func(dst, src unsafe.Pointer)       // moves a value
	Copy   func(dst, src unsafe.Pointer) error // makes dst a copy that shares nothing with src; nil: it cannot be copied
	// Pack returns the value as bytes, and Unpack stores what Pack returned in a variable with the
	// zero value. Both or none are nil. Unpack must not keep data.
	Pack   func(src unsafe.Pointer) ([]byte, error)
	Unpack func(dst unsafe.Pointer, data []byte) error
	// Size estimates the bytes of the value in main memory; nil: those of the variable, or
	// of the packed value if these are more.
	Size func(src unsafe.Pointer) int64
	// Footprint returns a number that tells values apart for which tasks take different
	// times; nil: tasks take the same time for all of them.
	Footprint func(src unsafe.Pointer) uint32
	// Equal reports whether two values are the same; nil: they cannot be compared.
	Equal func(a, b unsafe.Pointer) bool
}

// object is what a datum that is an object has.
type object struct {
	*Object
	size      atomic.Int64  // bytes in main memory, as of the last time that it was measured
	footprint atomic.Uint32 // of its value, likewise
	packed    int64         // length on the disk; belongs to the copy to or from there
}

func newObject(o *Object) *object {
	if o == nil {
		return nil
	}
	s := &object{Object: o}
	s.size.Store(int64(max(1, o.Type.Size())))
	return s
}

// check reports what is missing in o.
func (o *Object) check() error {
	switch {
	case o == nil || o.Type == nil || o.New == nil || o.Assign == nil:
		return fmt.Errorf("datamgr: an object needs a type, New and Assign")
	case (o.Pack == nil) != (o.Unpack == nil):
		return fmt.Errorf("datamgr: values of %v are packed and unpacked, or neither: one of the two functions is missing", o.Type)
	}
	return nil
}

// call calls a function of the program that does something to a value; what says what.
// It has a goroutine of its own, which it may end.
func (o *object) call(what string, fn func() error) error {
	done := make(chan error, 1)
	go func() {
		err := errExit
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("panic: %v", v)
			}
			done <- err
		}()
		err = fn()
	}()
	if err := <-done; err != nil {
		return &ObjectError{Type: o.Type, What: what, Cause: err}
	}
	return nil
}

// ObjectError says that a function for values of a Go type failed.
type ObjectError struct {
	Type  reflect.Type
	What  string // "pack", "unpack", "copy"
	Cause error
}

func (e *ObjectError) Error() string {
	return fmt.Sprintf("cannot %s a value of type %v: %v", e.What, e.Type, e.Cause)
}

// Unwrap returns the cause.
func (e *ObjectError) Unwrap() error { return e.Cause }

// bytes is the value at p, packed.
func (o *object) bytes(p unsafe.Pointer) (data []byte, err error) {
	err = o.call("pack", func() (err error) {
		data, err = o.Pack(p)
		return err
	})
	return data, err
}

// duplicate makes dst, which has the zero value, a copy of src.
func (o *object) duplicate(dst, src unsafe.Pointer) error {
	if o.Copy != nil {
		return o.call("copy", func() error { return o.Copy(dst, src) })
	}
	if o.Pack == nil {
		return &ObjectError{Type: o.Type, What: "copy", Cause: fmt.Errorf("nothing says how: give Copy, or Pack and Unpack")}
	}
	data, err := o.bytes(src)
	if err != nil {
		return err
	}
	return o.call("unpack", func() error { return o.Unpack(dst, data) })
}

// Layout says where the arrays of data of kind Arrays lie in its memory. It is immutable once data was registered with it.
type Layout struct {
	Type   reflect.Type // the Go type that they are the fields of
	Arrays []Array
}

// Array is one of several arrays.
type Array struct {
	Name string
	Elem iface.Elem
	Len  int // in elements
	Off  int // in bytes, from the first byte of the data
}

// Place gives each array its place, and returns the bytes that they take; -1: they cannot be addressed. Those with the largest
// elements come first, so there are no gaps, and each is aligned for its elements.
func (l *Layout) Place() (bytes int) {
	for _, size := range []int{8, 4, 2, 1} {
		for i := range l.Arrays {
			a := &l.Arrays[i]
			if int(a.Elem.Size()) != size {
				continue
			}
			if a.Len < 0 || a.Len > (math.MaxInt-bytes)/size {
				return -1
			}
			a.Off = bytes
			bytes += a.Len * size
		}
	}
	return bytes
}

// Same reports whether data with the two layouts have the same arrays.
func (l *Layout) Same(o *Layout) bool {
	return l == o || l != nil && o != nil && l.Type == o.Type && slices.Equal(l.Arrays, o.Arrays)
}
