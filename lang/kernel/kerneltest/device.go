package kerneltest

import (
	"errors"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr/iface"
)

// ram is the memory of operands that are on no device.
var ram = accel.NewHeap("ram", 1<<40)

// OnDevice calls run with copies of the operands in list, in a memory of the stream's device,
// each inside a larger allocation, and copies them back.
func OnDevice(s accel.Stream, mem accel.Memory, list []*iface.Buffer, run func(list []*iface.Buffer) error) (err error) {
	there := make([]*iface.Buffer, len(list))
	var back []accel.Copy
	for k, b := range list {
		n, size := b.Len(), int64(b.Elem.Size())
		if b.Rank >= 2 { // from the first element to the last
			n = 1
			for axis := range b.Rank {
				n += (b.Dim[axis] - 1) * b.Stride[axis]
			}
		}
		bytes, before := int64(n)*size, 3*size
		p, err := mem.Alloc(bytes + before)
		if err != nil {
			return err
		}
		defer mem.Free(p, bytes+before)
		c := *b
		c.Ptr = unsafe.Add(p, before)
		there[k] = &c
		to := accel.Copy{Dst: accel.Place{Mem: mem, Ptr: c.Ptr}, Src: accel.Place{Mem: ram, Ptr: b.Ptr}, Bytes: bytes}
		for i := range to.Count {
			to.Count[i] = 1
		}
		if err := s.Copy(&to); err != nil {
			return err
		}
		from := to
		from.Dst, from.Src = to.Src, to.Dst
		back = append(back, from)
	}
	err = run(there)
	for k := range back {
		if e := s.Copy(&back[k]); err == nil {
			err = e
		}
	}
	return errors.Join(err, s.Sync())
}
