package datamgr

// Copies between buffers of the same shape and different strides.

import (
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
)

// CopyBuffer copies the elements of src to dst, which has the same sizes and
// element type and shares no memory with it.
func CopyBuffer(dst, src *iface.Buffer) { copyBuffer(dst, src) }

// copyBuffer copies the elements of src to dst; sizes are those of dst.
func copyBuffer(dst, src *iface.Buffer) {
	var b transfer
	b.n = [iface.MaxRank]int{1, 1, 1, 1}
	for k := range int(dst.Rank) {
		b.n[k], b.ds[k], b.ss[k] = dst.Dim[k], dst.Stride[k], src.Stride[k]
	}
	b.run(dst.Ptr, src.Ptr, dst.Elem.Size())
}

// copyBox copies the elements of box between two instances that hold them.
func copyBox(dst, src *instance, box *Box, size uintptr) {
	var b transfer
	for k := range box.lo {
		b.n[k], b.ds[k], b.ss[k] = box.hi[k]-box.lo[k], dst.stride[k], src.stride[k]
	}
	b.run(dst.at(&box.lo, size), src.at(&box.lo, size), size)
}

// transfer is a copy of n[0] x n[1] x … elements.
type transfer struct{ n, ds, ss [iface.MaxRank]int }

func (b *transfer) run(dst, src unsafe.Pointer, size uintptr) {
	in := -1 // the innermost axis: one whose elements lie side by side on both sides, else the longest
	for k := range b.n {
		if b.n[k] == 0 {
			return
		}
		if b.n[k] > 1 && b.ds[k] == 1 && b.ss[k] == 1 {
			in = k
		}
	}
	row := in >= 0
	if !row {
		in = 0
		for k := range b.n {
			if b.n[k] > b.n[in] {
				in = k
			}
		}
	}
	n, ds, ss := b.n[in], b.ds[in], b.ss[in]
	b.n[in] = 1
	for i0 := range b.n[0] {
		for i1 := range b.n[1] {
			for i2 := range b.n[2] {
				for i3 := range b.n[3] {
					d := unsafe.Add(dst, uintptr(i0*b.ds[0]+i1*b.ds[1]+i2*b.ds[2]+i3*b.ds[3])*size)
					s := unsafe.Add(src, uintptr(i0*b.ss[0]+i1*b.ss[1]+i2*b.ss[2]+i3*b.ss[3])*size)
					if row {
						copy(unsafe.Slice((*byte)(d), uintptr(n)*size), unsafe.Slice((*byte)(s), uintptr(n)*size))
						continue
					}
					switch size {
					case 1:
						copyEvery[uint8](d, s, n, ds, ss)
					case 2:
						copyEvery[uint16](d, s, n, ds, ss)
					case 4:
						copyEvery[uint32](d, s, n, ds, ss)
					case 8:
						copyEvery[uint64](d, s, n, ds, ss)
					}
				}
			}
		}
	}
}

func copyEvery[T any](d, s unsafe.Pointer, n, ds, ss int) {
	size := unsafe.Sizeof(*new(T))
	for i := range n {
		*(*T)(unsafe.Add(d, uintptr(i*ds)*size)) = *(*T)(unsafe.Add(s, uintptr(i*ss)*size))
	}
}
