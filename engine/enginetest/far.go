// Package enginetest is what tests of tasks on devices share: the machines that
// the flag -machine names, and kernels that are functions of this process for
// devices that cannot call them.
package enginetest

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr/iface"
)

// Context is what of an *engine.TaskContext is needed here. This package does not
// import engine, so that engine's own tests can import it.
type Context interface {
	NumBuffers() int
	Buffer(i int) *iface.Buffer
	Mode(i int) iface.AccessMode
	Node(i int) int
	Stream() accel.Stream
}

// On makes of a kernel that is a function of this process implementations for
// devices that do not call such functions: what a Codelet has as On. Each brings the
// operands that are read from the device to main memory through the task's stream,
// calls the kernel there, and takes what it wrote back. So what was not brought to
// the device before is not what the kernel sees. Operands in main memory are used
// where they are: a Codelet can have FromMain.
func On[I ~func(C) error, C Context](kernel I) map[string][]I {
	far := I(func(c C) error {
		s := c.Stream()
		mem := memoryOf(s)
		if mem == nil {
			return fmt.Errorf("enginetest: a stream of type %T", s)
		}
		return call(c, s, mem, func() error { return kernel(c) })
	})
	return map[string][]I{"opencl": {far}, "cuda": {far}}
}

// Borrow calls fn with the elements of b, which lie in the memory of d, in main
// memory: for programs that acquired data there.
func Borrow(d accel.Device, b *iface.Buffer, mode iface.AccessMode, fn func()) error {
	s, err := d.NewStream()
	if err != nil {
		return err
	}
	err = call(&loan{b, mode, s}, s, d.Memory(), func() error { fn(); return nil })
	return errors.Join(err, s.Close())
}

// loan is the Context of one buffer.
type loan struct {
	b    *iface.Buffer
	mode iface.AccessMode
	s    accel.Stream
}

func (l *loan) NumBuffers() int           { return 1 }
func (l *loan) Buffer(int) *iface.Buffer  { return l.b }
func (l *loan) Mode(int) iface.AccessMode { return l.mode }
func (l *loan) Node(int) int              { return 1 }
func (l *loan) Stream() accel.Stream      { return l.s }

// ram is where the kernels see their operands.
var ram = accel.NewHeap("ram", 1<<40)

// span is device memory that operands take, and its image in main memory.
// Operands that share memory there share the image.
type span struct {
	lo, hi uintptr
	image  unsafe.Pointer
}

// call calls the kernel with all buffers in main memory.
func call(c Context, s accel.Stream, mem accel.Memory, kernel func() error) (err error) {
	n := c.NumBuffers()
	spans := spansOf(c)
	for i := range spans {
		v := &spans[i]
		if v.image, err = ram.Alloc(int64(v.hi - v.lo)); err != nil {
			return err
		}
		defer ram.Free(v.image, int64(v.hi-v.lo))
		for b := range v.hi - v.lo {
			*(*byte)(unsafe.Add(v.image, b)) = 0xA5 // poison: kernels must not rely on it
		}
	}
	there := make([]unsafe.Pointer, n)
	here := make([]unsafe.Pointer, n)
	for i := range n {
		b := c.Buffer(i)
		there[i] = b.Ptr
		if c.Node(i) == 0 {
			continue
		}
		for k := range spans {
			if v := &spans[k]; v.lo <= uintptr(b.Ptr) && uintptr(b.Ptr) < v.hi {
				here[i] = unsafe.Add(v.image, uintptr(b.Ptr)-v.lo)
			}
		}
	}
	// Copies are under way until Sync: nothing here may go before.
	move := func(wanted func(m iface.AccessMode) bool, back bool) error {
		var first error
		for i := range n {
			if here[i] == nil || !wanted(c.Mode(i)) {
				continue
			}
			k := copyOf(c.Buffer(i), accel.Place{Mem: ram, Ptr: here[i]}, accel.Place{Mem: mem, Ptr: there[i]}, back)
			if first = s.Copy(&k); first != nil {
				break
			}
		}
		if err := s.Sync(); first == nil {
			first = err
		}
		return first
	}
	if err := move(func(m iface.AccessMode) bool { return m.Reads() || m == iface.Redux }, false); err != nil {
		return err
	}
	for i := range n {
		if here[i] != nil {
			c.Buffer(i).Ptr = here[i]
		}
	}
	defer func() {
		for i := range n {
			c.Buffer(i).Ptr = there[i]
		}
	}()
	if err := kernel(); err != nil {
		return err
	}
	return move(iface.AccessMode.Writes, true)
}

// spansOf returns the memory that the operands take, apart from each other.
func spansOf(c Context) (spans []span) {
	for i := range c.NumBuffers() {
		b := c.Buffer(i)
		if b.Ptr == nil || b.Len() == 0 || c.Node(i) == 0 {
			continue
		}
		last := 0
		for k := range b.Rank {
			last += (b.Dim[k] - 1) * b.Stride[k]
		}
		lo := uintptr(b.Ptr)
		spans = append(spans, span{lo: lo, hi: lo + uintptr(last+1)*b.Elem.Size()})
	}
	slices.SortFunc(spans, func(a, b span) int {
		if a.lo < b.lo {
			return -1
		}
		return 1
	})
	var apart []span
	for _, v := range spans {
		if n := len(apart); n > 0 && v.lo < apart[n-1].hi {
			apart[n-1].hi = max(apart[n-1].hi, v.hi)
			continue
		}
		apart = append(apart, v)
	}
	return apart
}

// copyOf describes the copy of b's elements between here and there.
func copyOf(b *iface.Buffer, here, there accel.Place, back bool) accel.Copy {
	size := int64(b.Elem.Size())
	k := accel.Copy{Dst: here, Src: there, Bytes: size, Count: accel.Counts()}
	if back {
		k.Dst, k.Src = there, here
	}
	axes := int(b.Rank)
	if axes > 0 { // the last index is contiguous
		axes--
		k.Bytes *= int64(b.Dim[axes])
	}
	for i := range axes {
		k.Count[i] = int64(b.Dim[i])
		k.DstStep[i] = int64(b.Stride[i]) * size
		k.SrcStep[i] = k.DstStep[i]
	}
	return k
}
