package lang

// Memory for data that devices use.

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/starpush/starpush/engine"
)

// Alloc returns n elements of memory, all zero, that make the fastest home for data
// that devices use: give it to VectorOf or MatrixOf. It is page-locked where a device
// of rt has such memory (CUDA), so that copies go on by themselves, and aligned in any
// case. It may lie outside the Go heap: call free once, after Close of the instances
// that use it, and use the slice no more.
func Alloc[T Elem](rt *engine.Runtime, n int) (s []T, free func(), err error) {
	size := int64(unsafe.Sizeof(*new(T)))
	switch {
	case rt == nil:
		return nil, nil, fmt.Errorf("lang: Alloc: the engine's runtime is nil")
	case n < 0 || int64(n) > math.MaxInt64/size:
		return nil, nil, fmt.Errorf("lang: Alloc of %d elements", n)
	}
	p, release, err := rt.AllocPinned(int64(n) * size)
	if err != nil {
		return nil, nil, fmt.Errorf("lang: Alloc of %d elements: %w", n, err)
	}
	return unsafe.Slice((*T)(p), n), func() { _ = release() }, nil
}
