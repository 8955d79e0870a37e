package sim

// Memory of devices: blocks from the Go heap that are known one by one.

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"github.com/starpush/starpush/accel"
)

// Poison is the value of every byte of new memory.
const Poison = 0xa5

// memory takes blocks from the Go heap. They are poisoned when they are given
// out and when they come back, so that a kernel that reads data that was not copied
// there, or was freed, does not find the right value by chance. Kernels, which are
// functions of this process, can follow its addresses. Host reports false all the same,
// so that programs use the way that works on every device.
type memory struct {
	*accel.Heap
	d  *Device
	mu struct {
		sync.Mutex
		blocks []block // by address
	}
}

// block is one allocation.
type block struct {
	p unsafe.Pointer
	n int64
}

// Host implements accel.Memory.
func (m *memory) Host() bool { return false }

// Alloc implements accel.Memory.
func (m *memory) Alloc(bytes int64) (unsafe.Pointer, error) {
	fault, err := m.d.ask(Op{Kind: Alloc, Bytes: bytes, To: m.Name()})
	if err != nil {
		return nil, err
	}
	if fault != nil {
		return nil, &accel.NoMemoryError{Node: m.Name(), Want: max(bytes, 1), Allocated: m.Allocated(), Capacity: m.Capacity()}
	}
	p, err := m.Heap.Alloc(bytes)
	if err != nil {
		return nil, err
	}
	poison(p, bytes)
	m.mu.Lock()
	defer m.mu.Unlock()
	i, _ := m.findLocked(p)
	m.mu.blocks = slices.Insert(m.mu.blocks, i, block{p, bytes})
	return p, nil
}

// Free implements accel.Memory.
func (m *memory) Free(p unsafe.Pointer, bytes int64) {
	if p == nil && bytes == 0 {
		return
	}
	m.mu.Lock()
	i, found := m.findLocked(p)
	found = found && m.mu.blocks[i].n == bytes
	if found {
		m.mu.blocks = slices.Delete(m.mu.blocks, i, i+1)
	}
	m.mu.Unlock()
	if !found {
		panic(fmt.Sprintf("sim: %d bytes at %p of %s are freed, and were not allocated so", bytes, p, m.Name()))
	}
	poison(p, bytes)
	m.Heap.Free(p, bytes)
}

// findLocked returns where in the list a block at p is, or would be.
func (m *memory) findLocked(p unsafe.Pointer) (int, bool) {
	return slices.BinarySearchFunc(m.mu.blocks, uintptr(p), func(b block, at uintptr) int { return cmp.Compare(uintptr(b.p), at) })
}

// holds reports whether n bytes from p on lie in one block.
func (m *memory) holds(p uintptr, n int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, found := slices.BinarySearchFunc(m.mu.blocks, p, func(b block, at uintptr) int { return cmp.Compare(uintptr(b.p), at) })
	if !found {
		i--
	}
	if i < 0 {
		return false
	}
	offset := int64(p - uintptr(m.mu.blocks[i].p))
	return offset <= m.mu.blocks[i].n && n <= m.mu.blocks[i].n-offset
}

// poisonAll is the end of what the memory of a lost device held.
func (m *memory) poisonAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range m.mu.blocks {
		poison(b.p, b.n)
	}
}

func poison(p unsafe.Pointer, bytes int64) {
	if p == nil || bytes <= 0 {
		return
	}
	b := unsafe.Slice((*byte)(p), bytes)
	b[0] = Poison
	for n := 1; n < len(b); n *= 2 { // at the speed of memory
		copy(b[n:], b[:n])
	}
}

// inside returns an error when one side of c is memory of a device and not
// allocated there.
func inside(c *accel.Copy) error {
	if c.Total() == 0 {
		return nil
	}
	for _, side := range []struct {
		at   accel.Place
		step *[accel.MaxCounts]int64
	}{{c.Dst, &c.DstStep}, {c.Src, &c.SrcStep}} {
		m, ok := side.at.Mem.(*memory)
		if !ok {
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
			return fmt.Errorf("sim: %d bytes at %#x of %s are copied, and are not, or not all, allocated", high-low, at, m.Name())
		}
	}
	return nil
}
