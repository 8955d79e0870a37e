package datamgr

import (
	"testing"
	"unsafe"
)

// TestFragmentSize: the allocator gives three cache lines that begin at one, and
// no size between.
func TestFragmentSize(t *testing.T) {
	if n := unsafe.Sizeof(Fragment{}); n != 192 {
		t.Errorf("a fragment takes %d bytes, want 192", n)
	}
}
