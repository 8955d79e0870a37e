package disk

// Blocks that begin as the bytes of a source, such as a file of data: what tasks need is
// read from there, and what they write goes to the file of the disk, a page at a time.

import (
	"sync"
	"unsafe"

	"github.com/starpush/starpush/accel"
)

// origin is what a block began as, and which pages of it are in the file of the disk since.
//
// A copy reads bytes that nothing writes meanwhile, and no two copies write the same bytes, but
// they may have a page in common. So a page that is written in part is first copied
// whole, under the lock. The source does not change: a reader may take its bytes of a page from there
// though the page is being copied.
type origin struct {
	accel.Source
	at, n int64 // the range of the block
	mu    struct {
		sync.RWMutex
		own   []uint64 // a bit for each page that is in the file of the disk
		taken int64    // bytes that these pages count
	}
}

// AllocFrom implements accel.Lazy. The block takes no space: pages count when they are written.
func (m *memory) AllocFrom(src accel.Source, bytes int64) (unsafe.Pointer, error) {
	if m.d.closed() {
		return nil, accel.ErrClosed
	}
	o := &origin{Source: src, n: bytes}
	o.mu.own = make([]uint64, (bytes+64*page-1)/(64*page))
	return m.insert(block{n: bytes, origin: o})
}

// originOf returns the origin of the block that p is in, or nil.
func (m *memory) originOf(p uintptr) *origin {
	return m.blockOf(int64(p - base)).origin
}

// ownLocked reports whether a page is in the file of the disk.
func (o *origin) ownLocked(p int64) bool { return o.mu.own[p/64]&(1<<(p%64)) != 0 }

// read fills b, which begins at an offset of the file of the disk.
func (o *origin) read(m *memory, b []byte, at int64) error {
	for len(b) > 0 {
		n, own := o.run(at-o.at, int64(len(b)))
		var err error
		if own {
			err = m.read(b[:n], at)
		} else {
			_, err = o.ReadAt(b[:n], at-o.at)
		}
		if err != nil {
			return err
		}
		b, at = b[n:], at+n
	}
	return nil
}

// run returns how many of n bytes of the block from at on lie on the same side as the first, and
// whether that is the file of the disk.
func (o *origin) run(at, n int64) (same int64, own bool) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	p := at / page
	own = o.ownLocked(p)
	for p++; p*page < at+n && o.ownLocked(p) == own; p++ {
	}
	return min(n, p*page-at), own
}

// take makes sure that the pages with n bytes from an offset of the file of the disk are there. The
// caller then writes those bytes.
func (o *origin) take(m *memory, at, n int64) error {
	at -= o.at
	if same, own := o.run(at, n); own && same == n {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for p := at / page; p*page < at+n; p++ {
		if o.ownLocked(p) {
			continue
		}
		lo, hi := p*page, min((p+1)*page, o.n)
		if err := m.Reserve(hi - lo); err != nil {
			return err
		}
		if lo < at || hi > at+n {
			if err := o.copyPage(m, lo, hi); err != nil {
				m.Release(hi - lo)
				return err
			}
		}
		m.Keep()
		o.mu.own[p/64] |= 1 << (p % 64)
		o.mu.taken += hi - lo
	}
	return nil
}

// copyPage copies bytes of the source to the file of the disk.
func (o *origin) copyPage(m *memory, lo, hi int64) error {
	b := make([]byte, hi-lo)
	if _, err := o.ReadAt(b, lo); err != nil {
		return err
	}
	if err := o.Changed(); err != nil {
		return err
	}
	return m.write(b, o.at+lo)
}

// close closes the source when the block is freed, and returns the bytes that it counted.
func (o *origin) close() int64 {
	_ = o.Close() // it was only read
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.mu.taken
}

// closeOrigins closes the sources of blocks that were not freed.
func (m *memory) closeOrigins() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range m.mu.blocks {
		if b.origin != nil {
			_ = b.origin.Close()
		}
	}
}
