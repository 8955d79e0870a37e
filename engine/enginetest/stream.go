package enginetest

import (
	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/opencl"
)

// memoryOf returns the memory of the device of a stream; nil: not known.
func memoryOf(s accel.Stream) accel.Memory {
	if s, ok := s.(*opencl.Stream); ok {
		return s.Device().Memory()
	}
	return taggedMemoryOf(s)
}
