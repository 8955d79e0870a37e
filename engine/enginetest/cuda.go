//go:build cuda

package enginetest

import (
	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/cuda"
	"github.com/starpush/starpush/accel/cuda/cudatest"
)

func taggedMemoryOf(s accel.Stream) accel.Memory {
	if s, ok := s.(*cuda.Stream); ok {
		return s.Device().Memory()
	}
	return nil
}

// openCUDA opens the devices of the machine, or of the driver made of C.
func openCUDA(fake bool, capacity int64) ([]accel.Device, error) {
	if fake {
		if err := cudatest.Use(); err != nil {
			return nil, err
		}
	}
	return cuda.Driver{Memory: capacity}.Open()
}

func breakFake(_ []accel.Device, i int, f Fault, times int) (left func() int, err error) {
	kind := map[Fault]cudatest.Fault{FailKernel: cudatest.FailLaunch, FailAlloc: cudatest.FailAlloc, FailCopy: cudatest.FailCopy,
		Lose: cudatest.Lose, LoseInKernel: cudatest.Crash}[f]
	if err := cudatest.Break(i, cudatest.Mend); err != nil {
		return nil, err
	}
	for range times {
		if err := cudatest.Break(i, kind); err != nil {
			return nil, err
		}
	}
	return func() int { return cudatest.Left(i) }, nil
}
