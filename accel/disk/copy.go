package disk

// Copies: reads and writes of the file, a row at a time.

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"unsafe"

	"github.com/starpush/starpush/accel"
)

// inside returns an error when a side of c that is on the disk is not allocated
// there.
func (m *memory) inside(c *accel.Copy) error {
	if c.Total() == 0 {
		return nil
	}
	for _, side := range []struct {
		at   accel.Place
		step *[accel.MaxCounts]int64
	}{{c.Dst, &c.DstStep}, {c.Src, &c.SrcStep}} {
		if side.at.Mem != accel.Memory(m) {
			continue
		}
		low, high := int64(0), c.Bytes
		for a, n := range c.Count {
			if n > 1 {
				low += min(0, (n-1)*side.step[a])
				high += max(0, (n-1)*side.step[a])
			}
		}
		if at := uintptr(side.at.Ptr) + uintptr(low); !m.holds(at, high-low) {
			return fmt.Errorf("disk: %d bytes at %#x of %s are copied, and are not, or not all, allocated", high-low, at, m.Name())
		}
	}
	return nil
}

// copy carries out c.
func (m *memory) copy(c *accel.Copy) error {
	fail := func(err error) error {
		return &accel.CopyError{From: c.Src.Mem.Name(), To: c.Dst.Mem.Name(), Bytes: c.Total(), Err: err}
	}
	if err := m.inside(c); err != nil { // it was when the copy was begun
		return fail(err)
	}
	n := &c.Count
	for a := range n[0] {
		for b := range n[1] {
			for e := range n[2] {
				for f := range n[3] {
					d := unsafe.Add(c.Dst.Ptr, a*c.DstStep[0]+b*c.DstStep[1]+e*c.DstStep[2]+f*c.DstStep[3])
					s := unsafe.Add(c.Src.Ptr, a*c.SrcStep[0]+b*c.SrcStep[1]+e*c.SrcStep[2]+f*c.SrcStep[3])
					if err := m.row(accel.Place{Mem: c.Dst.Mem, Ptr: d}, accel.Place{Mem: c.Src.Mem, Ptr: s}, c.Bytes); err != nil {
						return fail(err)
					}
				}
			}
		}
	}
	return nil
}

// staged is how much of a row within the file is copied at once.
const staged = 64 << 10

// row copies bytes between the file and main memory, or within the file.
func (m *memory) row(dst, src accel.Place, bytes int64) error {
	switch {
	case bytes == 0:
		return nil
	case src.Mem.Host():
		return m.write(unsafe.Slice((*byte)(src.Ptr), bytes), offset(dst.Ptr))
	case dst.Mem.Host():
		return m.read(unsafe.Slice((*byte)(dst.Ptr), bytes), offset(src.Ptr))
	}
	part := make([]byte, min(bytes, staged))
	for at := int64(0); at < bytes; at += staged {
		p := part[:min(staged, bytes-at)]
		if err := m.read(p, offset(src.Ptr)+at); err != nil {
			return err
		}
		if err := m.write(p, offset(dst.Ptr)+at); err != nil {
			return err
		}
	}
	return nil
}

func offset(p unsafe.Pointer) int64 { return int64(uintptr(p) - base) }

// read fills b. The file is as long as all blocks, so its end is an error: the file was
// cut.
func (m *memory) read(b []byte, at int64) error {
	n, err := m.file.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return m.d.failed("reading", err)
}

func (m *memory) write(b []byte, at int64) error {
	n, err := m.file.WriteAt(b, at)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	if err == nil {
		return nil
	}
	return m.d.failed("writing", err)
}

// failed says where something failed: the file may have no name.
func (d *Device) failed(what string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return fmt.Errorf("%s the file in %s: %w", what, d.dir, err)
}
