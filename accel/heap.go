package accel

import (
	"sync"
	"unsafe"
)

// align is the alignment of allocations: a cache line, and every vector unit.
const align = 64

// Huge pages: Cholesky and GEMM are 1 to 7 % faster when the processor finds the
// addresses of a tile in one entry of its table instead of a hundred. The price is
// memory: the first touch takes 2 MiB, not 4 KiB. So a memory with less than hugeFrom in
// use has small pages, neighbouring blocks share pages, and only data that the program
// touches sparsely takes much more memory than with small pages.
const (
	hugePage  = 2 << 20
	hugeFrom  = 4 << 20 // bytes of one memory in use
	hugeBlock = 4 << 10 // smaller blocks lie among the program's own objects
)

// Heap is memory from the Go heap, up to a capacity: a slice that a program still holds
// after its data was freed is stale, but reading it is never a fault, and it holds no
// other data while the slice exists. Large blocks come zeroed from the system and take
// pages when they are touched.
type Heap struct {
	*Usage
	mu struct {
		sync.Mutex
		low, high uintptr // what huge pages were asked for last
	}
}

// NewHeap returns a memory with a capacity in bytes.
func NewHeap(name string, capacity int64) *Heap { return &Heap{Usage: NewUsage(name, capacity)} }

// Host implements Memory.
func (m *Heap) Host() bool { return true }

// Alloc implements Memory.
func (m *Heap) Alloc(bytes int64) (unsafe.Pointer, error) {
	if err := m.Reserve(bytes); err != nil {
		return nil, err
	}
	m.Keep()
	huge := bytes >= hugeBlock && m.Allocated() >= hugeFrom
	p := aligned(bytes)
	if huge {
		m.hugePages(uintptr(p), uintptr(bytes))
	}
	return p, nil
}

// aligned returns zeroed memory of the Go heap.
func aligned(bytes int64) unsafe.Pointer {
	block := make([]byte, max(bytes, 1)+align-1)
	p := unsafe.Pointer(unsafe.SliceData(block))
	return unsafe.Add(p, -uintptr(p)&(align-1))
}

// NewSlice returns n zeros of a type without pointers, aligned as Memory.Alloc aligns, which a [Heap] adopts.
// Many of them lie in huge pages: touching 80 MB for the first time takes 10 ms instead of 150.
func NewSlice[T any](n int) []T {
	bytes := int64(n) * int64(unsafe.Sizeof(*new(T)))
	p := aligned(bytes)
	if bytes >= hugeFrom {
		low, high := uintptr(p)&^(hugePage-1), (uintptr(p)+uintptr(bytes)+hugePage-1)&^(hugePage-1)
		adviseHuge(low, high-low)
	}
	return unsafe.Slice((*T)(p), n)
}

// Adopt makes memory of the Go heap memory of m, as if Alloc had returned it: aligned, and of that many bytes. It
// returns an error if m has not as much left, and false if p is not aligned.
func (m *Heap) Adopt(p unsafe.Pointer, bytes int64) (bool, error) {
	if uintptr(p)&(align-1) != 0 {
		return false, nil
	}
	if err := m.Reserve(bytes); err != nil {
		return false, err
	}
	m.Keep()
	return true, nil
}

// hugePages asks for huge pages for the block at p, which was not touched yet. The pages
// may hold other memory of the process as well, which does no harm.
func (m *Heap) hugePages(p, bytes uintptr) {
	low, high := p&^(hugePage-1), (p+bytes+hugePage-1)&^(hugePage-1)
	m.mu.Lock()
	known := m.mu.low <= low && high <= m.mu.high // by the block before, most often
	if !known {
		m.mu.low, m.mu.high = low, high
	}
	m.mu.Unlock()
	if !known {
		adviseHuge(low, high-low)
	}
}

// Free implements Memory.
func (m *Heap) Free(_ unsafe.Pointer, bytes int64) { m.Release(bytes) }
