//go:build cuda

package cuda

// Copies between a device and main memory that is not pinned. The driver would
// wait for such a copy; here a chunk of pinned memory lies in between, which
// functions of the stream, on a thread of the driver, fill or empty. All is in the
// stream's order, so one chunk serves copy after copy.

import "unsafe"

// chunkBytes is the size of a chunk: large enough that starting a function, some
// microseconds, does not matter.
const chunkBytes = 4 << 20

// pinnedAt reports whether one side of r, at an address, is pinned.
func (r *rows) pinnedAt(addr uint64, dst bool) bool {
	first, end := r.extent(dst)
	return isPinned(addr+uint64(first), addr+uint64(end))
}

// stage begins a copy through the stream's chunk.
func (s *Stream) stage(r *rows, dst, src side) error {
	if s.chunk == nil {
		c, err := s.dev.takeChunk()
		if err != nil {
			return err
		}
		s.chunk = c
	}
	chunk := side{host: true, addr: address(s.chunk)}
	return r.pieces(chunkBytes, func(p *rows, dstAt, srcAt int64) error {
		to, from := dst, src
		to.addr += uint64(dstAt)
		from.addr += uint64(srcAt)
		in, out := p.packed(true), p.packed(false)
		if src.host {
			if err := s.dev.check("", copyRows(s.s, chunk.addr, from.addr, &in)); err != nil {
				return err
			}
			return s.direct(&out, to, chunk)
		}
		if err := s.direct(&in, chunk, from); err != nil {
			return err
		}
		return s.dev.check("", copyRows(s.s, to.addr, chunk.addr, &out))
	})
}

// takeChunk returns an unused chunk, on the device's context.
func (d *Device) takeChunk() (unsafe.Pointer, error) {
	d.mu.Lock()
	if n := len(d.mu.chunks); n > 0 {
		c := d.mu.chunks[n-1]
		d.mu.chunks = d.mu.chunks[:n-1]
		d.mu.Unlock()
		return c, nil
	}
	d.mu.Unlock()
	a, err := hostAlloc(chunkBytes)
	if err != nil {
		return nil, d.check("", err)
	}
	notePinned(a, chunkBytes)
	return pointer(a), nil
}

func (d *Device) giveChunk(c unsafe.Pointer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.chunks = append(d.mu.chunks, c)
}
