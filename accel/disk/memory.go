package disk

// Memory: blocks of the file, known one by one.

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"unsafe"

	"github.com/starpush/starpush/accel"
)

const (
	// base is the address of the first byte of the file. No processor has memory
	// there, so such an address is never taken for one of Go's, nor followed.
	base = uintptr(1) << (bits.UintSize - 8)
	// page is what large blocks begin at a multiple of, for the sake of the system's
	// cache, and line is that of small ones.
	page, line = 4096, 64
	// hole is the least size of a block whose space is given back to the file
	// system when it is freed.
	hole = 64 << 10
	// growth is how much longer the file becomes, at least, when it must.
	growth = 1 << 20
)

// memory implements accel.Memory.
type memory struct {
	*accel.Usage
	d     *Device
	file  File
	punch func(at, bytes int64) // gives space back, as far as the system can
	mu    struct {
		sync.Mutex
		blocks []block // in use, by offset
		holes  []block // between them, by offset; no two touch
		end    int64   // behind the last block
		size   int64   // of the file
	}
}

// block is a range of the file.
type block struct {
	at, n  int64
	origin *origin // what it began as, if it is in use; nil: nothing
}

func (b block) end() int64 { return b.at + b.n }

// Host implements accel.Memory.
func (m *memory) Host() bool { return false }

// room is what a block takes: whole lines, so that each has an address of its own.
func room(bytes int64) int64 { return (max(bytes, 1) + line - 1) &^ (line - 1) }

// Alloc implements accel.Memory. Nothing is written: a file has holes where no
// data came.
func (m *memory) Alloc(bytes int64) (unsafe.Pointer, error) {
	if m.d.closed() {
		return nil, accel.ErrClosed
	}
	if err := m.Reserve(bytes); err != nil {
		return nil, err
	}
	p, err := m.insert(block{n: bytes})
	if err != nil {
		m.Release(bytes)
		return nil, err
	}
	m.Keep()
	return p, nil
}

// insert finds a place for b.
func (m *memory) insert(b block) (unsafe.Pointer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, err := m.findLocked(room(b.n), b.n >= page)
	if err != nil {
		full := m.Full(b.n)
		full.Err = err
		return nil, full
	}
	b.at = at
	if b.origin != nil {
		b.origin.at = at
	}
	i, _ := m.indexLocked(at)
	m.mu.blocks = slices.Insert(m.mu.blocks, i, b)
	return pointer(at), nil
}

// pointer makes an offset an address. No memory is mapped there, so the garbage collector
// ignores it.
func pointer(at int64) unsafe.Pointer {
	addr := base + uintptr(at)
	return *(*unsafe.Pointer)(unsafe.Pointer(&addr))
}

// findLocked takes n bytes of the file: of the first hole that is large enough, or
// behind the last block.
func (m *memory) findLocked(n int64, paged bool) (int64, error) {
	fit := func(at int64) int64 {
		if paged {
			return (at + page - 1) &^ (page - 1)
		}
		return at
	}
	for i, h := range m.mu.holes {
		at := fit(h.at)
		if at+n > h.end() {
			continue
		}
		m.mu.holes = slices.Delete(m.mu.holes, i, i+1)
		m.holeLocked(block{at: h.at, n: at - h.at})
		m.holeLocked(block{at: at + n, n: h.end() - at - n})
		return at, nil
	}
	at := fit(m.mu.end)
	if end := at + n; end > m.mu.size {
		size := max(end, m.mu.size+growth)
		if err := m.file.Truncate(size); err != nil {
			return 0, err
		}
		m.mu.size = size
	}
	m.holeLocked(block{at: m.mu.end, n: at - m.mu.end})
	m.mu.end = at + n
	return at, nil
}

// holeLocked notes that nothing lies in b.
func (m *memory) holeLocked(b block) {
	if b.n == 0 {
		return
	}
	hs := m.mu.holes
	i, _ := slices.BinarySearchFunc(hs, b.at, func(h block, at int64) int { return cmp.Compare(h.at, at) })
	if i < len(hs) && b.end() == hs[i].at {
		b.n += hs[i].n
		hs = slices.Delete(hs, i, i+1)
	}
	if i > 0 && hs[i-1].end() == b.at {
		hs[i-1].n += b.n
	} else {
		hs = slices.Insert(hs, i, b)
	}
	m.mu.holes = hs
}

// indexLocked returns where in the list the block at an offset is, or would be.
func (m *memory) indexLocked(at int64) (int, bool) {
	return slices.BinarySearchFunc(m.mu.blocks, at, func(b block, at int64) int { return cmp.Compare(b.at, at) })
}

// Free implements accel.Memory.
func (m *memory) Free(p unsafe.Pointer, bytes int64) {
	if p == nil && bytes == 0 {
		return
	}
	at := int64(uintptr(p) - base)
	var from *origin
	m.mu.Lock()
	i, found := m.indexLocked(at)
	found = found && m.mu.blocks[i].n == bytes
	if found {
		from = m.mu.blocks[i].origin
		m.mu.blocks = slices.Delete(m.mu.blocks, i, i+1)
	}
	m.mu.Unlock()
	if !found {
		panic(fmt.Sprintf("disk: %d bytes at %p of %s are freed, and were not allocated so", bytes, p, m.Name()))
	}
	if bytes >= hole && !m.d.closed() {
		m.punch(at, room(bytes)) // before the room is given out again
	}
	m.mu.Lock()
	m.holeLocked(block{at: at, n: room(bytes)})
	m.mu.Unlock()
	if from != nil {
		bytes = from.close()
	}
	m.Release(bytes)
}

// holds reports whether n bytes from p on lie in one block.
func (m *memory) holds(p uintptr, n int64) bool {
	at := int64(p - base)
	b := m.blockOf(at)
	return at-b.at <= b.n && n <= b.end()-at
}

// blockOf returns the last block that begins at an offset or before; without one, a block that holds nothing.
func (m *memory) blockOf(at int64) block {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, found := m.indexLocked(at)
	if !found {
		i--
	}
	if i < 0 {
		return block{at: at, n: -1}
	}
	return m.mu.blocks[i]
}
