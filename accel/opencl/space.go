package opencl

// Addresses: ranges of the address space in which nothing ever lies.

import (
	"fmt"
	"slices"
	"sort"
	"sync"
)

// space hands out addresses of one range. It is not safe for concurrent use.
type space struct {
	base, size uintptr
	next       uintptr // where the last block ended: the next one comes there, if it can
	blocks     []block // in use, by address
}

// block is one allocation.
type block struct {
	addr, size uintptr
	mem        clMem
}

const (
	// grain is the alignment of addresses, and the least gap between two blocks:
	// the end of one is inside no other.
	grain = 256
	// wide is how much larger a range is than the memory: enough for any order of
	// allocations (J. M. Robson 1974: first fit needs about as many times the
	// memory as its largest block has bits).
	wide = 32
)

// reserved keeps ranges of closed devices: a stale address must never become one
// of other memory.
var reserved struct {
	sync.Mutex
	free []space
}

// newSpace reserves a range of addresses for a memory; size is in bytes.
func newSpace(capacity int64) (*space, error) {
	reserved.Lock()
	defer reserved.Unlock()
	least := uintptr(capacity) + uintptr(capacity)/2 + 1<<20
	for i, s := range reserved.free {
		if s.size >= least {
			reserved.free = slices.Delete(reserved.free, i, i+1)
			return &s, nil
		}
	}
	size := uintptr(1) << 30
	for size < uintptr(capacity) {
		size *= 2
	}
	var err error
	for size *= wide; size >= least; size /= 2 { // a limit of the address space may leave less
		var base uintptr
		if base, err = reserve(size); err == nil {
			return &space{base: base, size: size, next: base}, nil
		}
	}
	return nil, fmt.Errorf("no %d bytes of address space: %w", least, err)
}

// giveBack makes the range available to other devices.
func (s *space) giveBack() {
	reserved.Lock()
	defer reserved.Unlock()
	reserved.free = append(reserved.free, space{base: s.base, size: s.size, next: s.base})
}

// alloc finds a place for a block; false: the range is full.
func (s *space) alloc(bytes uintptr, mem clMem) (uintptr, bool) {
	need := (bytes + 2*grain - 1) &^ (grain - 1) // with a gap behind it
	if bytes > s.size || need > s.size {
		return 0, false
	}
	i := s.after(s.next)
	if addr := s.next; s.fits(i, addr, need) {
		s.insert(i, block{addr, bytes, mem}, need)
		return addr, true
	}
	addr := s.base
	for i := range len(s.blocks) + 1 {
		if s.fits(i, addr, need) {
			s.insert(i, block{addr, bytes, mem}, need)
			return addr, true
		}
		if i < len(s.blocks) {
			addr = s.blocks[i].end()
		}
	}
	return 0, false
}

func (b *block) end() uintptr { return b.addr + (b.size+2*grain-1)&^(grain-1) }

// fits says whether need bytes from addr are free, when block i is the next one.
func (s *space) fits(i int, addr, need uintptr) bool {
	end := s.base + s.size
	if i < len(s.blocks) {
		end = s.blocks[i].addr
	}
	return addr <= end && need <= end-addr && (i == 0 || s.blocks[i-1].end() <= addr)
}

func (s *space) insert(i int, b block, need uintptr) {
	s.blocks = slices.Insert(s.blocks, i, b)
	s.next = b.addr + need
}

// after is the place of the first block that begins at addr or later.
func (s *space) after(addr uintptr) int {
	return sort.Search(len(s.blocks), func(i int) bool { return s.blocks[i].addr >= addr })
}

// free takes the block at addr out of the table.
func (s *space) free(addr uintptr) (block, bool) {
	i := s.after(addr)
	if i == len(s.blocks) || s.blocks[i].addr != addr {
		return block{}, false
	}
	b := s.blocks[i]
	s.blocks = slices.Delete(s.blocks, i, i+1)
	return b, true
}

// find returns the block that holds bytes from addr on, and where in it.
func (s *space) find(addr, bytes uintptr) (mem clMem, offset uintptr, ok bool) {
	i := s.after(addr+1) - 1
	if i < 0 {
		return 0, 0, false
	}
	b := &s.blocks[i]
	offset = addr - b.addr
	if offset > b.size || bytes > b.size-offset {
		return 0, 0, false
	}
	return b.mem, offset, true
}
