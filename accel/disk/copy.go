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
	dst, src := m.side(c.Dst), m.side(c.Src)
	err := c.EachRow(func(to, from unsafe.Pointer) error { return row(dst, src, to, from, c.Bytes) })
	if err != nil {
		return fail(err)
	}
	if src.origin != nil {
		if err := src.origin.Changed(); err != nil {
			return fail(err)
		}
	}
	return nil
}

// side is one side of a copy: main memory, or a block of the file.
type side struct {
	m      *memory // nil: main memory
	origin *origin // of the block, or nil
}

// side returns the side of a copy that begins at p.
func (m *memory) side(p accel.Place) side {
	if p.Mem != accel.Memory(m) {
		return side{}
	}
	return side{m, m.originOf(uintptr(p.Ptr))}
}

// staged is how much of a row within the file is copied at once.
const staged = 64 << 10

// row copies bytes between the file and main memory, or within the file, from s on the side src to d on the
// side dst.
func row(dst, src side, d, s unsafe.Pointer, bytes int64) error {
	switch {
	case bytes == 0:
		return nil
	case src.m == nil:
		return dst.write(unsafe.Slice((*byte)(s), bytes), offset(d))
	case dst.m == nil:
		return src.read(unsafe.Slice((*byte)(d), bytes), offset(s))
	}
	part := make([]byte, min(bytes, staged))
	for at := int64(0); at < bytes; at += staged {
		p := part[:min(staged, bytes-at)]
		if err := src.read(p, offset(s)+at); err != nil {
			return err
		}
		if err := dst.write(p, offset(d)+at); err != nil {
			return err
		}
	}
	return nil
}

// read fills b from the file, or from the source of the block where nothing was written.
func (s side) read(b []byte, at int64) error {
	if s.origin == nil {
		return s.m.read(b, at)
	}
	return s.origin.read(s.m, b, at)
}

func (s side) write(b []byte, at int64) error {
	if s.origin != nil {
		if err := s.origin.take(s.m, at, int64(len(b))); err != nil {
			return err
		}
	}
	return s.m.write(b, at)
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
