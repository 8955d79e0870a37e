//go:build cuda

package cuda

// Memory for kernels' intermediate results and answers. It is the stream's, comes out
// of the reserve that Memory leaves, and is not counted.

import (
	"errors"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/starpush/starpush/accel"
)

type scratch struct {
	ptr   unsafe.Pointer
	bytes int64
}

// needWork makes s.work at least so large, on the device's context.
func (s *Stream) needWork(bytes int64) error { return s.need(&s.work, bytes) }

// Work returns bytes of the device's memory for intermediate results of kernels. Kernels on the
// stream may use it until the next call asks for more; those of this package use the same memory.
func (s *Stream) Work(bytes int64) (unsafe.Pointer, error) {
	if err := s.begin(func() error { return s.needWork(bytes) }); err != nil {
		return nil, err
	}
	return s.work.ptr, nil
}

func (s *Stream) need(b *scratch, bytes int64) error {
	if bytes <= b.bytes {
		return nil
	}
	if err := s.giveBack(b); err != nil {
		return err
	}
	p, err := cu.MemAlloc(bytes)
	if err != nil {
		return s.dev.check("cuMemAlloc", err)
	}
	*b = scratch{pointer(uint64(p)), bytes}
	return nil
}

// freeWork gives all of it back, on the device's context.
func (s *Stream) freeWork() error { return errors.Join(s.giveBack(&s.work), s.giveBack(&s.answer)) }

func (s *Stream) giveBack(b *scratch) error {
	old := *b
	*b = scratch{}
	if old.ptr == nil {
		return nil
	}
	if err := s.s.Synchronize(); err != nil { // kernels may use it
		return s.dev.check("cuStreamSynchronize", err)
	}
	return s.dev.check("cuMemFree", cu.MemFree(cu.DevicePtr(address(old.ptr))))
}

// ask calls fn with memory of the device for an int64, waits for what fn began, and
// returns the number.
func (s *Stream) ask(kernel string, fn func(answer unsafe.Pointer) error) (int64, error) {
	if err := s.kernel(kernel, func() error { return s.need(&s.answer, 8) }); err != nil {
		return 0, err
	}
	if err := fn(s.answer.ptr); err != nil {
		return 0, err
	}
	n := new(int64)
	err := s.Copy(&accel.Copy{Dst: accel.Place{Mem: answers, Ptr: unsafe.Pointer(n)}, Src: accel.Place{Mem: s.dev.mem, Ptr: s.answer.ptr},
		Bytes: 8, Count: accel.Counts()})
	if e := s.Sync(); err == nil {
		err = e
	}
	return *n, err
}

// answers is where they are copied to.
var answers = accel.NewHeap("ram", 0)
