package accel

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

// hugeAdvised reports whether the kernel knows that addr wants huge pages.
func hugeAdvised(t *testing.T, addr uintptr) bool {
	t.Helper()
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	inside := false
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var low, high uintptr
		if n, _ := fmt.Sscanf(lines.Text(), "%x-%x ", &low, &high); n == 2 {
			inside = low <= addr && addr < high
		} else if flags, ok := strings.CutPrefix(lines.Text(), "VmFlags:"); ok && inside {
			return slices.Contains(strings.Fields(flags), "hg")
		}
	}
	t.Skip("the kernel does not say what was advised")
	return false
}

// TestHugePages: the pages of a block are huge when there is enough to fill them,
// from its first byte to its last.
func TestHugePages(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage/enabled"); err != nil {
		t.Skip("no huge pages: ", err)
	}
	m := NewHeap("ram", 1<<30)
	var blocks [][]byte
	defer func() {
		for _, b := range blocks {
			m.Free(unsafe.Pointer(&b[0]), int64(len(b)))
		}
		if n := m.Allocated(); n != 0 {
			t.Errorf("%d bytes in use at the end", n)
		}
	}()
	for _, n := range []int64{hugeFrom - 1, hugeBlock - 1, 1, hugeBlock, 32 << 10, 300_000, hugePage, 5*hugePage + 7} {
		p, err := m.Alloc(n)
		if err != nil {
			t.Fatal(err)
		}
		b := unsafe.Slice((*byte)(p), n)
		blocks = append(blocks, b)
		if uintptr(p)%align != 0 {
			t.Errorf("a block of %d bytes is at %p", n, p)
		}
		b[0], b[n-1] = 1, 2
		want := m.Allocated() >= hugeFrom && n >= hugeBlock
		if !want {
			continue // others' blocks may be near
		}
		for _, k := range []int64{0, n / 2, n - 1} {
			if !hugeAdvised(t, uintptr(p)+uintptr(k)) {
				t.Errorf("byte %d of a block of %d bytes has small pages", k, n)
			}
		}
	}
	for _, b := range blocks {
		if b[len(b)-1] == 0 {
			t.Errorf("a block of %d bytes lost its last byte", len(b))
		}
	}
}

// TestSmallMemory: a program whose data are small keeps its pages small.
func TestSmallMemory(t *testing.T) {
	m := NewHeap("ram", 1<<30)
	for range 8 {
		p, err := m.Alloc(hugeFrom/8 - 1)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Free(p, hugeFrom/8-1)
	}
	if m.mu.high != 0 {
		t.Errorf("huge pages for %d bytes", m.Allocated())
	}
}
