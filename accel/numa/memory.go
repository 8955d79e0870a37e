package numa

// The memory of a node.

import (
	"math/bits"
	"sync"
	"unsafe"

	"github.com/starpush/starpush/accel"
)

// Blocks up to largestSmall bytes are cut from chunks, one size a chunk, as a page for each would
// waste most of it; larger ones are mapped by themselves.
const (
	align        = 64
	largestSmall = 32 << 10
	chunkBytes   = 1 << 20
)

// memory is mapped apart from the Go heap, so its pages can be bound to a node.
type memory struct {
	*accel.Usage
	node int
	mu   struct {
		sync.Mutex
		free    [16][]unsafe.Pointer // small blocks, by the logarithm of their size
		chunks  []unsafe.Pointer
		closed  bool
		bindErr error // why pages could not be bound to the node
	}
}

func newMemory(name string, node int, capacity int64) *memory {
	return &memory{Usage: accel.NewUsage(name, capacity), node: node}
}

// Host implements accel.Memory.
func (m *memory) Host() bool { return true }

// class returns the number of a size among those of small blocks, and the size.
func class(bytes int64) (k int, size int64) {
	size = align
	if bytes > align {
		size = 1 << bits.Len64(uint64(bytes-1))
	}
	return bits.TrailingZeros64(uint64(size)), size
}

// Alloc implements accel.Memory.
func (m *memory) Alloc(bytes int64) (unsafe.Pointer, error) {
	if err := m.Reserve(bytes); err != nil {
		return nil, err
	}
	p, err := m.take(bytes)
	if err != nil {
		m.Release(bytes)
		full := m.Full(bytes)
		full.Err = err
		return nil, full
	}
	m.Keep()
	return p, nil
}

// take returns memory for a block.
func (m *memory) take(bytes int64) (unsafe.Pointer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.closed {
		return nil, accel.ErrClosed
	}
	if bytes > largestSmall {
		return m.pagesLocked(bytes)
	}
	k, size := class(bytes)
	if len(m.mu.free[k]) == 0 {
		chunk, err := m.pagesLocked(chunkBytes)
		if err != nil {
			return nil, err
		}
		m.mu.chunks = append(m.mu.chunks, chunk)
		for at := int64(chunkBytes) - size; at >= 0; at -= size {
			m.mu.free[k] = append(m.mu.free[k], unsafe.Add(chunk, at))
		}
	}
	last := len(m.mu.free[k]) - 1
	p := m.mu.free[k][last]
	m.mu.free[k] = m.mu.free[k][:last]
	return p, nil
}

// pagesLocked maps pages and binds them to the node. That they cannot be bound is no error:
// they are then where they are first touched.
func (m *memory) pagesLocked(bytes int64) (unsafe.Pointer, error) {
	p, err := mapPages(bytes)
	if err == nil {
		if e := bindPages(p, bytes, m.node); e != nil && m.mu.bindErr == nil {
			m.mu.bindErr = e
		}
	}
	return p, err
}

// Free implements accel.Memory.
func (m *memory) Free(p unsafe.Pointer, bytes int64) {
	if p == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Release(bytes)
	if bytes > largestSmall {
		unmapPages(p, bytes)
		return
	}
	if !m.mu.closed {
		k, _ := class(bytes)
		m.mu.free[k] = append(m.mu.free[k], p)
	}
}

// unbound returns why the pages of the node's memory are not bound to it; nil: they are. Where no
// chunk has shown that yet, it tries: it maps a page, binds it and unmaps it.
func (m *memory) unbound() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.bindErr == nil && len(m.mu.chunks) == 0 && !m.mu.closed { // try
		if p, err := m.pagesLocked(align); err == nil {
			unmapPages(p, align)
		}
	}
	return m.mu.bindErr
}

// close unmaps the chunks: nothing uses the memory any more.
func (m *memory) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.closed = true
	for _, c := range m.mu.chunks {
		unmapPages(c, chunkBytes)
	}
	m.mu.chunks, m.mu.free = nil, [16][]unsafe.Pointer{}
}
