package engine

// Filling buffers: zeros, and what looks like nothing.

import (
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
)

// zero clears the elements of b.
func zero(b *iface.Buffer) { fill(b, 0) }

// poison fills b with what looks like nothing a kernel would have written: NaN
// in floats, a pattern in integers.
func poison(b *iface.Buffer) {
	if b.Elem.IsFloat() {
		fill(b, 0xff)
		return
	}
	fill(b, 0xa5)
}

// fill sets every byte of b's elements.
func fill(b *iface.Buffer, v byte) {
	if b.Len() == 0 {
		return
	}
	row := 1
	if b.Rank > 0 {
		row = b.Dim[b.Rank-1]
	}
	bytes := uintptr(row) * b.Elem.Size()
	for i := range b.Lines() {
		off := 0
		for k := int(b.Rank) - 2; k >= 0; k-- {
			off += i % b.Dim[k] * b.Stride[k]
			i /= b.Dim[k]
		}
		s := unsafe.Slice((*byte)(unsafe.Add(b.Ptr, uintptr(off)*b.Elem.Size())), bytes)
		for k := range s {
			s[k] = v
		}
	}
}
