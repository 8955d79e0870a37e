//go:build cuda

package cuda

// Memory for kernels' intermediate results. It is the stream's, comes out of the
// reserve that Memory leaves, and is not counted.

import (
	"unsafe"

	"gorgonia.org/cu"
)

type scratch struct {
	ptr   unsafe.Pointer
	bytes int64
}

// needWork makes s.work at least so large, on the device's context.
func (s *Stream) needWork(bytes int64) error {
	if bytes <= s.work.bytes {
		return nil
	}
	if err := s.freeWork(); err != nil {
		return err
	}
	p, err := cu.MemAlloc(bytes)
	if err != nil {
		return s.dev.check("cuMemAlloc", err)
	}
	s.work = scratch{pointer(uint64(p)), bytes}
	return nil
}

func (s *Stream) freeWork() error {
	old := s.work
	s.work = scratch{}
	if old.ptr == nil {
		return nil
	}
	if err := s.s.Synchronize(); err != nil { // kernels may use it
		return s.dev.check("cuStreamSynchronize", err)
	}
	return s.dev.check("cuMemFree", cu.MemFree(cu.DevicePtr(address(old.ptr))))
}
